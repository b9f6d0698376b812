"""The property slo: bounds on percentiles of the latency that a rate must hold, such as p99<10ms,read.p99.9<500us."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dohyo.metrics import METRICS
from dohyo.metrics import PERCENTILES as MEASURED
from dohyo.operations import READ_MODIFY_WRITE

# The names of operations in a bound, like those of the properties of their shares, and YCSB's names for them.
OPERATIONS = {
    "read": "READ",
    "update": "UPDATE",
    "insert": "INSERT",
    "scan": "SCAN",
    "readmodifywrite": READ_MODIFY_WRITE,
}
# By the name that bounds and heads have for it, the field of a row.
PERCENTILES = {METRICS[name].head: name for name in MEASURED}
_UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_BOUND = re.compile(
    rf"(?:({'|'.join(OPERATIONS)})\.)?({'|'.join(map(re.escape, PERCENTILES))})"
    r"<([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)"
)


@dataclass(frozen=True)
class Bound:
    """One condition on the latencies.

    :ivar operation: YCSB's name; None: every operation of the mix
    :ivar percentile: one of `PERCENTILES`
    """

    operation: str | None
    percentile: str
    limit_ms: float


def bounds(text: str) -> list[Bound]:
    """The bounds of a text such as "p99<10ms,read.p99.9<500us"; blanks and upper case do not matter.

    :raises ValueError: if it is not one
    """
    found = []
    for part in plain(text).split(","):
        match = _BOUND.fullmatch(part)
        if match is None or float(match[3]) == 0:
            raise ValueError(f"'{part}' is no bound on a percentile")
        found.append(Bound(OPERATIONS.get(match[1]), match[2], float(match[3]) * _UNITS_MS[match[4]]))
    return found


def plain(text: str) -> str:
    """The text of bounds as it is kept: without blanks, in lower case."""
    return "".join(text.split()).lower()
