"""YCSB's operation types: how their names and counts relate to the operations of the workload."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

OVERALL = "OVERALL"
READ_MODIFY_WRITE = "READ-MODIFY-WRITE"
INTENDED = "Intended-"
FAILED, NOT_FOUND = "-FAILED", "-NOT_FOUND"
_CALLS = frozenset({"READ", "UPDATE", "INSERT", "SCAN", "DELETE"})
# Outcomes of calls without success: FAILED, NOT_FOUND, or the status with which YCSB's latencytrackederrors and
# reportlatencyforeacherror report them.
_OUTCOME = re.compile(rf"(?:{INTENDED})?({READ_MODIFY_WRITE}|{'|'.join(sorted(_CALLS))})-([\w.]+)")
_ORDER = (OVERALL, "READ", "UPDATE", READ_MODIFY_WRITE, "INSERT", "SCAN", "DELETE")
# A second latency of scans, and metrics of the client: disconnecting, threads, memory, garbage collection.
_NO_OPERATION = re.compile(
    r"(Intended-)?(SCAN-LATENCY-PER-RECORD|CLEANUP|THREAD_COUNT|SYS_LOAD_AVG|GCS|GCS_TIME|USED_MEM_MB|(TOTAL_GC|MAX_|MIN_).*)"
)


@lru_cache  # called for every interval of a log
def operation(metric: str) -> str | None:
    """Returns the operation type of a metric; None if the metric is not about operations, or a second view of a type.

    With `measurementtype=hdrhistogram+histogram` (`+raw`) YCSB prints each type twice, as HdrREAD and BucketREAD.
    """
    if re.match(r"(Bucket|Raw)[A-Z]", metric) or _NO_OPERATION.fullmatch(metric.removeprefix("Hdr")):
        return None
    return metric[3:] if re.match(r"Hdr[A-Z]", metric) else metric


def plain_name(tag: str) -> str:
    """Converts the name of an operation type in small letters to YCSB's name; returns other names unchanged."""
    return tag.upper() if tag.upper() in {*_CALLS, READ_MODIFY_WRITE} else tag


def is_call(name: str) -> bool:
    """Returns whether the name stands for calls to the database, successful (READ) or failed (READ-FAILED)."""
    return name.partition("-")[0] in _CALLS


def outcome(name: str) -> tuple[str, str] | None:
    """Returns operation type and status of calls that did not succeed; None for other names."""
    found = _OUTCOME.fullmatch(name)
    return (found[1], found[2]) if found else None


def is_failure(name: str) -> bool:
    """Returns whether the name stands for operations that ended with an error."""
    return name.endswith(FAILED) or (outcome(name) is not None and not is_not_found(name))


def is_not_found(name: str) -> bool:
    """Returns whether the name stands for operations that found nothing."""
    return name.endswith(NOT_FOUND)


def is_success(name: str) -> bool:
    """Returns whether the name stands for successful calls, neither failed ones nor those that found nothing."""
    return is_call(name) and not is_failure(name) and not is_not_found(name)


def has_latency(name: str) -> bool:
    """Returns whether the name stands for latencies of successful calls, also for those from the intended start."""
    return is_success(name.removeprefix(INTENDED))


def is_known(name: str) -> bool:
    """Returns whether it is known how the name's count relates to the workload's operations."""
    return is_call(name) or name.startswith((INTENDED, "VERIFY"))


def calls(counts: Mapping[str, int]) -> int:
    """Returns the attempted operations of the workload, from counts by name.

    YCSB counts a READ-MODIFY-WRITE three times: as itself, as a READ and as an UPDATE (a failed one may have had only
    the READ: then the result is one too high). `Intended-…` is a second view of the same operations; VERIFY is not an
    operation.
    """
    total = 0
    for name, count in counts.items():
        if name.startswith(READ_MODIFY_WRITE):
            total -= 0 if is_failure(name) else count
        elif is_call(name):
            total += count
    return total


def order(name: str) -> tuple[int, str, bool]:
    """Returns a sort key for rows that keeps an operation with its failures and its intended latencies."""
    plain = name.removeprefix(INTENDED)
    # Longest name first: READ-MODIFY-WRITE is not a READ.
    for known in sorted(_ORDER, key=len, reverse=True):
        if plain == known or plain.startswith(known + "-"):
            return _ORDER.index(known), plain, plain != name
    return len(_ORDER), plain, plain != name
