"""Rows of numbers: what several clients and repeats did, added up by operation type."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.ycsb_log import NOT_FOUND, OK, Operation
from dohyo.operations import OVERALL, READ_MODIFY_WRITE, is_call, order

# "load", or the name of a phase after it: "run" where a scenario names none.
Phase = str
LOAD = "load"
RUN = "run"
# The runs of a search for the highest rate, which are beside all phases.
PROBE = "probe"


@dataclass(frozen=True)
class Row:
    """One operation type of one system. None: not known; never a guess."""

    phase: Phase
    operation: str
    repeats: int
    operations: int | None = None  # sum over clients and repeats
    records: int | None = None
    ops_per_second: float | None = None  # mean over the repeats
    ops_per_second_stddev: float | None = None  # sample standard deviation; None for a single repeat
    records_per_second: float | None = None
    records_per_second_stddev: float | None = None
    mean_ms: float | None = None
    p50_ms: float | None = None
    p90_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    p99_9_ms: float | None = None
    max_ms: float | None = None
    errors: int | None = None  # records that were neither OK nor NOT_FOUND
    not_found: int | None = None
    latency_source: Literal["histograms", "log"] | None = None
    discarded: bool = False  # of the first repeats, which do not count


@dataclass
class Run:
    """One repetition: what one client or all clients together did in it."""

    seconds: float | None = None  # of the client that took longest
    operations: int | None = None  # attempted, of all types
    records: int | None = None
    by_operation: dict[str, Operation] = field(default_factory=dict)


def together(clients: Sequence[Run]) -> Run:
    """What several clients did in one repetition. What one of them does not say is unknown of the whole."""
    seconds = [client.seconds for client in clients if client.seconds is not None]
    parts: dict[str, list[Operation]] = {}
    for client in clients:
        for name, operation in client.by_operation.items():
            parts.setdefault(name, []).append(operation)
    return Run(
        seconds=max(seconds) if seconds and len(seconds) == len(clients) else None,
        operations=_sum([client.operations for client in clients]),
        records=_sum([client.records for client in clients]),
        by_operation={name: merge(operations) for name, operations in parts.items()},
    )


def in_sequence(runs: Sequence[Run]) -> Run:
    """Seconds, operations and records of several repetitions one after the other."""
    seconds = [run.seconds for run in runs if run.seconds is not None]
    return Run(
        seconds=sum(seconds) if seconds and len(seconds) == len(runs) else None,
        operations=_sum([run.operations for run in runs]),
        records=_sum([run.records for run in runs]),
    )


def merge(parts: Sequence[Operation]) -> Operation:
    """Adds up what several clients or repeats say about one operation type.

    What one of them does not say is unknown of the whole. Percentiles survive only when there is one part: they
    cannot be added.
    """
    if len(parts) == 1:
        return replace(parts[0])
    operations = _sum([part.operations for part in parts])
    weights = [(part.operations, part.mean_us) for part in parts]
    known = [(count, mean) for count, mean in weights if count and mean is not None]
    maxima = [part.max_us for part in parts if part.max_us is not None]
    returns: dict[str, int] = {}
    if all(part.returns for part in parts):
        for part in parts:
            for name, count in part.returns.items():
                returns[name] = returns.get(name, 0) + count
    return Operation(
        operations=operations,
        records=_sum([part.records for part in parts]),
        mean_us=sum(count * mean for count, mean in known) / operations
        if operations and sum(count for count, _ in known) == operations
        else None,
        max_us=max(maxima) if len(maxima) == len(parts) else None,
        returns=returns,
        whole_milliseconds=any(part.whole_milliseconds for part in parts),
    )


def rows(
    phase: Phase, runs: Sequence[Run], latencies: Mapping[str, Latencies], *, discarded: bool = False
) -> list[Row]:
    """One row per operation type, [OVERALL] first.

    Rates are operations of all clients / measured seconds, per repeat, then their mean. Latencies are those of
    `latencies` (merged over all clients and repeats) where these hold every operation that the result lines count;
    else those that the log states, as far as `merge` leaves any.
    """
    names = sorted({name for run in runs for name in run.by_operation} | set(latencies), key=order)
    result = [_overall(phase, runs)]
    for name in names:
        per_run = [run.by_operation.get(name) for run in runs]
        known = [operation for operation in per_run if operation is not None]
        total = merge(known) if known else Operation(operations=latencies[name].count)
        errors, not_found = _failures(total.returns)
        # An operation type that a repeat does not list did not happen in it.
        ops = _rate([0 if each is None else each.operations for each in per_run], runs)
        records = _rate([0 if each is None else _records(name, each) for each in per_run], runs)
        result.append(
            replace(
                _with_latency(Row(phase, name, len(runs)), total, latencies.get(name)),
                operations=total.operations,
                records=_records(name, total),
                ops_per_second=ops[0] if known else None,
                ops_per_second_stddev=ops[1] if known else None,
                records_per_second=records[0] if known else None,
                records_per_second_stddev=records[1] if known else None,
                errors=errors,
                not_found=not_found,
            )
        )
    return [replace(row, discarded=discarded) for row in result]


def _overall(phase: Phase, runs: Sequence[Run]) -> Row:
    ops = _rate([run.operations for run in runs], runs)
    records = _rate([run.records for run in runs], runs)
    # A READ-MODIFY-WRITE's statuses are those of its READ and its UPDATE over again.
    parts = [
        _failures(operation.returns)
        for run in runs
        for name, operation in run.by_operation.items()
        if is_call(name) and "-" not in name and name != READ_MODIFY_WRITE
    ]
    return Row(
        phase,
        OVERALL,
        len(runs),
        operations=_sum([run.operations for run in runs]),
        records=_sum([run.records for run in runs]),
        ops_per_second=ops[0],
        ops_per_second_stddev=ops[1],
        records_per_second=records[0],
        records_per_second_stddev=records[1],
        errors=_sum([errors for errors, _ in parts]),
        not_found=_sum([not_found for _, not_found in parts]),
    )


def _with_latency(row: Row, stated: Operation, merged: Latencies | None) -> Row:
    if merged is not None and merged.count and merged.count == stated.operations:
        at = merged.percentiles_ms([50, 90, 95, 99, 99.9])
        return replace(
            row,
            mean_ms=merged.mean_ms,
            p50_ms=at[50],
            p90_ms=at[90],
            p95_ms=at[95],
            p99_ms=at[99],
            p99_9_ms=at[99.9],
            max_ms=merged.max_ms,
            latency_source="histograms",
        )
    at = stated.percentiles_us
    return replace(
        row,
        mean_ms=_ms(stated.mean_us),
        p50_ms=_ms(at.get(50)),
        p90_ms=_ms(at.get(90)),
        p95_ms=_ms(at.get(95)),
        p99_ms=_ms(at.get(99)),
        p99_9_ms=_ms(at.get(99.9)),
        max_ms=_ms(stated.max_us),
        latency_source="log" if at or stated.mean_us is not None else None,
    )


def _records(name: str, of: Operation) -> int | None:
    """Records that succeeded.

    There is one return code per record. A SCAN has one for any number of records, so only its own line tells.
    """
    if name.startswith("SCAN") or not of.returns:
        return of.records
    return sum(count for status, count in of.returns.items() if status in OK)


def _failures(returns: Mapping[str, int]) -> tuple[int | None, int | None]:
    """Errors and not found; unknown where a log has no `Return=` lines."""
    if not returns:
        return None, None
    errors = sum(count for name, count in returns.items() if name not in OK | NOT_FOUND)
    return errors, sum(returns.get(name, 0) for name in NOT_FOUND)


def _rate(counts: Sequence[int | None], runs: Sequence[Run]) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation of counts per second; None where a count or a duration is not known."""
    rates = [count / run.seconds for count, run in zip(counts, runs, strict=True) if count is not None and run.seconds]
    if not rates or len(rates) < len(runs):
        return None, None
    return statistics.fmean(rates), statistics.stdev(rates) if len(rates) > 1 else None


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _ms(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1000
