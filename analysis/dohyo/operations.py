"""Parses YCSB's names of operation types and outcomes, and determines which of them are operations of the workload."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

OVERALL = "OVERALL"
READ_MODIFY_WRITE = "READ-MODIFY-WRITE"
INTENDED = "Intended-"
FAILED, NOT_FOUND = "-FAILED", "-NOT_FOUND"
_CALLS = frozenset({"READ", "UPDATE", "INSERT", "SCAN", "DELETE"})
# Names of calls that did not succeed. They end with FAILED, NOT_FOUND or, with YCSB's property latencytrackederrors or
# reportlatencyforeacherror, the status of the call.
_OUTCOME = re.compile(rf"(?:{INTENDED})?({READ_MODIFY_WRITE}|{'|'.join(sorted(_CALLS))})-([\w.]+)")
_ORDER = (OVERALL, "READ", "UPDATE", READ_MODIFY_WRITE, "INSERT", "SCAN", "DELETE")
# Names in YCSB's logs that are not operation types: an additional latency of scans, and metrics of the client.
_NO_OPERATION = re.compile(
    r"(Intended-)?(SCAN-LATENCY-PER-RECORD|CLEANUP|THREAD_COUNT|SYS_LOAD_AVG|GCS|GCS_TIME|USED_MEM_MB|(TOTAL_GC|MAX_|MIN_).*)"
)


@lru_cache  # called for every interval of a log
def operation(metric: str) -> str | None:
    """Returns the operation type of a metric in YCSB's logs, or None if the metric must not be counted.

    With `measurementtype=hdrhistogram+histogram` or `+raw`, YCSB prints each type twice. Only HdrREAD is counted.
    """
    if re.match(r"(Bucket|Raw)[A-Z]", metric) or _NO_OPERATION.fullmatch(metric.removeprefix("Hdr")):
        return None
    return metric[3:] if re.match(r"Hdr[A-Z]", metric) else metric


def plain_name(tag: str) -> str:
    """Converts the name of an operation type to upper case, as in YCSB. Other names remain unchanged."""
    return tag.upper() if tag.upper() in {*_CALLS, READ_MODIFY_WRITE} else tag


def is_call(name: str) -> bool:
    """Returns whether the name, such as READ or READ-FAILED, stands for database calls, whatever their outcome."""
    return name.partition("-")[0] in _CALLS


def outcome(name: str) -> tuple[str, str] | None:
    """Splits a name such as READ-FAILED into operation type and status. Returns None for other names."""
    match = _OUTCOME.fullmatch(name)
    return (match[1], match[2]) if match else None


def is_failure(name: str) -> bool:
    """Returns whether the name stands for operations that ended with an error."""
    return name.endswith(FAILED) or (outcome(name) is not None and not is_not_found(name))


def is_not_found(name: str) -> bool:
    """Returns whether the name stands for operations that found nothing."""
    return name.endswith(NOT_FOUND)


def is_success(name: str) -> bool:
    """Returns whether the name stands for successful calls, which ended neither with an error nor with NOT_FOUND."""
    return is_call(name) and not is_failure(name) and not is_not_found(name)


def has_latency(name: str) -> bool:
    """Returns whether the name stands for latencies of successful calls, from the actual or the intended start."""
    return is_success(name.removeprefix(INTENDED))


def is_known(name: str) -> bool:
    """Returns whether the meaning of the name is known, so that `calls` counts it correctly."""
    return is_call(name) or name.startswith((INTENDED, "VERIFY"))


def calls(counts: Mapping[str, int]) -> int:
    """Returns the number of operations that the workload attempted.

    YCSB counts a READ-MODIFY-WRITE three times: as itself, as a READ and as an UPDATE. If it failed after the READ,
    the result is one too high. `Intended-…` counts the same operations again, and VERIFY is not an operation.

    :param counts: number of operations for each name in the log
    """
    total = 0
    for name, count in counts.items():
        if name.startswith(READ_MODIFY_WRITE):
            total -= 0 if is_failure(name) else count
        elif is_call(name):
            total += count
    return total


def order(name: str) -> tuple[int, str, bool]:
    """Returns a sort key for rows that puts an operation type's failures and intended latencies next to it."""
    plain = name.removeprefix(INTENDED)
    # Compare the longest name first, because READ-MODIFY-WRITE also begins with READ-.
    for listed in sorted(_ORDER, key=len, reverse=True):
        if plain == listed or plain.startswith(listed + "-"):
            return _ORDER.index(listed), plain, plain != name
    return len(_ORDER), plain, plain != name
