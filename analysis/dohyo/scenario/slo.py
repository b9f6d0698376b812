"""The property slo: bounds on latency percentiles that a rate must meet, such as p99<10ms,read.p99.9<500us."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dohyo.metrics import METRICS
from dohyo.metrics import PERCENTILES as MEASURED
from dohyo.operations import READ_MODIFY_WRITE

# YCSB's name for each operation, by the name used in bounds, which is also the prefix of the operation's proportion.
OPERATIONS = {
    "read": "READ",
    "update": "UPDATE",
    "insert": "INSERT",
    "scan": "SCAN",
    "readmodifywrite": READ_MODIFY_WRITE,
}
# Field of a row, by its name in bounds and table headings.
PERCENTILES = {METRICS[name].head: name for name in MEASURED}
_UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_BOUND = re.compile(
    rf"(?:({'|'.join(OPERATIONS)})\.)?({'|'.join(map(re.escape, PERCENTILES))})"
    r"<([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)"
)


@dataclass(frozen=True)
class Bound:
    """One bound on latencies.

    :ivar operation: YCSB's name for the type; None for every operation in the mix
    :ivar percentile: one of `PERCENTILES`
    :ivar limit_ms: exclusive upper limit, in milliseconds
    """

    operation: str | None
    percentile: str
    limit_ms: float


def bounds(text: str) -> list[Bound]:
    """Returns the bounds in a text such as "p99<10ms,read.p99.9<500us"; blanks and case are ignored.

    :raises ValueError: if a part is not a bound
    """
    parsed = []
    for part in plain(text).split(","):
        match = _BOUND.fullmatch(part)
        if match is None or float(match[3]) == 0:
            raise ValueError(f"'{part}' is not a bound on a percentile")
        parsed.append(Bound(OPERATIONS.get(match[1]), match[2], float(match[3]) * _UNITS_MS[match[4]]))
    return parsed


def plain(text: str) -> str:
    """Returns the text of bounds in canonical form: without blanks, in lower case."""
    return "".join(text.split()).lower()
