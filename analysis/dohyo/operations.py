"""YCSB's operation types: how their names and their counts relate to what the workload asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

OVERALL = "OVERALL"
READ_MODIFY_WRITE = "READ-MODIFY-WRITE"
INTENDED = "Intended-"
FAILED, NOT_FOUND = "-FAILED", "-NOT_FOUND"
_CALLS = frozenset({"READ", "UPDATE", "INSERT", "SCAN", "DELETE"})
# What became of calls that did not succeed: FAILED, NOT_FOUND, or the status by which YCSB's latencytrackederrors and
# reportlatencyforeacherror tell them apart.
_OUTCOME = re.compile(rf"(?:{INTENDED})?({READ_MODIFY_WRITE}|{'|'.join(sorted(_CALLS))})-([\w.]+)")
_ORDER = (OVERALL, "READ", "UPDATE", READ_MODIFY_WRITE, "INSERT", "SCAN", "DELETE")
# A second latency of scans, and metrics of the client itself: disconnecting, its threads, memory, garbage collection.
_NO_OPERATION = re.compile(
    r"(Intended-)?(SCAN-LATENCY-PER-RECORD|CLEANUP|THREAD_COUNT|SYS_LOAD_AVG|GCS|GCS_TIME|USED_MEM_MB|(TOTAL_GC|MAX_|MIN_).*)"
)


@lru_cache  # asked for every interval of a log
def operation(metric: str) -> str | None:
    """The operation type behind a metric's name; None when it is none, or a second view of one.

    With `measurementtype=hdrhistogram+histogram` (`+raw`) YCSB prints each type twice, as HdrREAD and BucketREAD.
    """
    if re.match(r"(Bucket|Raw)[A-Z]", metric) or _NO_OPERATION.fullmatch(metric.removeprefix("Hdr")):
        return None
    return metric[3:] if re.match(r"Hdr[A-Z]", metric) else metric


def plain_name(tag: str) -> str:
    """Returns YCSB's name of an operation type that a client writes in small letters; any other name as it is."""
    return tag.upper() if tag.upper() in {*_CALLS, READ_MODIFY_WRITE} else tag


def is_call(name: str) -> bool:
    """Whether the name stands for calls to the database, succeeded (READ) or failed (READ-FAILED)."""
    return name.partition("-")[0] in _CALLS


def outcome(name: str) -> tuple[str, str] | None:
    """The operation type of calls that did not succeed, and their status; None for other names."""
    found = _OUTCOME.fullmatch(name)
    return (found[1], found[2]) if found else None


def is_failure(name: str) -> bool:
    """Whether the name stands for operations that ended with an error."""
    return name.endswith(FAILED) or (outcome(name) is not None and not is_not_found(name))


def is_not_found(name: str) -> bool:
    """Whether the name stands for operations that found nothing."""
    return name.endswith(NOT_FOUND)


def is_success(name: str) -> bool:
    """Whether the name stands for calls that neither failed nor found nothing."""
    return is_call(name) and not is_failure(name) and not is_not_found(name)


def is_known(name: str) -> bool:
    """Whether it is known how the name's count relates to the workload's operations."""
    return is_call(name) or name.startswith((INTENDED, "VERIFY"))


def calls(counts: Mapping[str, int]) -> int:
    """Operations of the workload, attempted, from counts by name.

    A READ-MODIFY-WRITE is counted three times by YCSB: as itself, and as the READ and the UPDATE that it consists
    of (a failed one may have had only the READ: then the result is one too high). `Intended-…` is a second view of the
    same operations, VERIFY no operation at all.
    """
    total = 0
    for name, count in counts.items():
        if name.startswith(READ_MODIFY_WRITE):
            total -= 0 if is_failure(name) else count
        elif is_call(name):
            total += count
    return total


def order(name: str) -> tuple[int, str, bool]:
    """Sort key of the rows of a table: each operation beside its failures and its intended latencies."""
    plain = name.removeprefix(INTENDED)
    # The longest name first: READ-MODIFY-WRITE is not a kind of READ.
    for known in sorted(_ORDER, key=len, reverse=True):
        if plain == known or plain.startswith(known + "-"):
            return _ORDER.index(known), plain, plain != name
    return len(_ORDER), plain, plain != name
