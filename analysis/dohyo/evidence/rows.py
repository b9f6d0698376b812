"""Sums the counts of clients and repeats for each operation type, and computes the rows of the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import stdev
from typing import Any

from msgspec import structs

from dohyo import statistics
from dohyo.evidence.hdr_log import Latencies, is_known
from dohyo.evidence.result_lines import NOT_FOUND, Operation, failures, successes
from dohyo.metrics import PERCENTILES, Row, Samples
from dohyo.operations import OVERALL, READ_MODIFY_WRITE, is_call, is_not_found, order
from dohyo.statistics import total


@dataclass
class Run:
    """Totals of one client, or of all clients together, in one run."""

    seconds: float | None = None  # measured window of the slowest client
    operations: int | None = None  # number of operations of all types, without failed ones
    records: int | None = None
    server_cpu_seconds: float | None = None  # user and system time in the measured window
    client_cpu_seconds: float | None = None
    by_operation: dict[str, Operation] = field(default_factory=dict)
    # The known percentiles of this run, by name (p50_ms, p99_ms) and operation type.
    percentiles_ms: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def returns(self) -> dict[str, int]:
        """Returns the number of records for each status, over all operation types."""
        return _added(operation.returns for operation in self.own.values())

    @property
    def own(self) -> dict[str, Operation]:
        """Returns the operation types that count each record once: not READ-MODIFY-WRITE, but its READ and UPDATE."""
        return {name: operation for name, operation in self.by_operation.items() if is_call(name) and "-" not in name}


def together(clients: Sequence[Run]) -> Run:
    """Sums the totals of the clients of one run. A total that one client does not report is unknown in the sum."""
    seconds = [client.seconds for client in clients if client.seconds is not None]
    parts: dict[str, list[Operation]] = {}
    for client in clients:
        for name, operation in client.by_operation.items():
            parts.setdefault(name, []).append(operation)
    return Run(
        seconds=max(seconds) if seconds and len(seconds) == len(clients) else None,
        operations=total([client.operations for client in clients]),
        records=total([client.records for client in clients]),
        client_cpu_seconds=total([client.client_cpu_seconds for client in clients]),
        by_operation={name: merge(operations) for name, operations in parts.items()},
    )


def merge(parts: Sequence[Operation]) -> Operation:
    """Sums the counts of one operation type over several clients or repeats.

    A count that one part does not report is unknown in the sum. Percentiles cannot be added: they are kept only if
    there is a single part.
    """
    if len(parts) == 1:
        return structs.replace(parts[0])
    operations = total([part.operations for part in parts])
    weighted = [(part.operations, part.mean_us) for part in parts if part.operations and part.mean_us is not None]
    maxima = [part.max_us for part in parts if part.max_us is not None]
    return Operation(
        operations=operations,
        records=total([part.records for part in parts]),
        mean_us=sum(count * mean for count, mean in weighted) / operations
        if operations and sum(count for count, _ in weighted) == operations
        else None,
        max_us=max(maxima) if len(maxima) == len(parts) else None,
        returns=_added(part.returns for part in parts) if all(part.returns for part in parts) else {},
        whole_milliseconds=any(part.whole_milliseconds for part in parts),
    )


def _added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sums the counts for each name over all parts."""
    result: Counter[str] = Counter()
    for part in parts:
        result.update(part)
    return dict(result)


def rows(phase: str, runs: Sequence[Run], latencies: Mapping[str, Latencies], *, discarded: bool = False) -> list[Row]:
    """Returns one row per operation type, [OVERALL] first.

    A rate is the geometric mean of the repeats' rates (operations of all clients / measured seconds), with its interval
    over the repeats. Latencies come from `latencies` (merged over all clients and repeats) if these contain exactly the
    operations that the result lines count. Otherwise they come from the result lines, as far as `merge` keeps them.
    """
    names = sorted({name for run in runs for name in run.by_operation} | set(latencies), key=order)
    result = [_overall(phase, runs)]
    for name in names:
        per_run = [run.by_operation.get(name) for run in runs]
        operations = [operation for operation in per_run if operation is not None]
        merged = merge(operations) if operations else Operation(operations=latencies[name].count)
        errors, not_found = _failures(merged.returns)
        # If a repeat has no result lines for an operation type, it had no such operations.
        ops = _rates([0 if operation is None else operation.operations for operation in per_run], runs)
        records = _rates([0 if operation is None else records_of(name, operation) for operation in per_run], runs)
        counts = (merged.operations, records_of(name, merged))
        row = Row(phase, name, len(runs), *counts, errors=errors, not_found=not_found)
        row = _with_latency(row, merged, latencies.get(name))
        result.append(_of_runs(row, runs, ops, records) if operations else row)
    return [replace(row, discarded=discarded) for row in result]


def _overall(phase: str, runs: Sequence[Run]) -> Row:
    ops = _rates([run.operations for run in runs], runs)
    records = _rates([run.records for run in runs], runs)
    parts = [_failures(operation.returns) for run in runs for operation in run.own.values()]
    row = Row(
        phase,
        OVERALL,
        len(runs),
        operations=total([run.operations for run in runs]),
        records=total([run.records for run in runs]),
        errors=total([errors for errors, _ in parts]),
        not_found=total([not_found for _, not_found in parts]),
        server_cpu_us_per_record=_us_per_record([run.server_cpu_seconds for run in runs], runs),
        client_cpu_us_per_record=_us_per_record([run.client_cpu_seconds for run in runs], runs),
    )
    return _of_runs(row, runs, ops, records)


def sampled(
    row: Row,
    sample_kind: Samples,
    ops: Sequence[float],
    records: Sequence[float],
    p99_ms: Sequence[float] = (),
    p50_ms: Sequence[float] = (),
) -> Row:
    """Adds the geometric means of a row's samples (rounds or runs) and their intervals to the row.

    :param ops: operations per second of each sample
    :param records: records per second of each sample
    :param p99_ms: p99 of each sample; empty if one of them is not known
    :param p50_ms: p50 of each sample; empty if one of them is not known
    """
    several = len(ops) > 1
    p50_ms, p99_ms = (samples if several and len(samples) == len(ops) else [] for samples in (p50_ms, p99_ms))
    figures: dict[str, Any] = {}
    for name, rates in (("ops_per_second", ops), ("records_per_second", records)):
        low, high = interval(rates, row.confidence, 1 + row.resolution)
        figures |= {
            name: statistics.geometric(rates) if rates else None,
            f"{name}_stddev": stdev(rates) if len(rates) > 1 else None,
            f"{name}_low": low,
            f"{name}_high": high,
            f"{name}_samples": list(rates) if len(rates) > 1 else [],
        }
    low, high = interval(p99_ms, row.confidence, 1 + row.blur("p99_ms"), row.p99_ms)
    figures |= {"p99_ms_low": low, "p99_ms_high": high, "p99_ms_samples": list(p99_ms), "p50_ms_samples": list(p50_ms)}
    return replace(row, **figures, sampled=sample_kind if several else None)


def succeeded(rows: Sequence[Row], overall: Row) -> list[float]:
    """Returns the mean and each sample of the rate in operations per second, without operations that found nothing.

    :param rows: rows of all operation types
    :param overall: row of all operation types together
    """
    rates = [overall.ops_per_second or 0.0, *overall.ops_per_second_samples]
    for row in rows:
        # Leave out READ-MODIFY-WRITE: READ already counts the records that were not found.
        is_one = is_call(row.operation) and not row.operation.startswith(READ_MODIFY_WRITE)
        if (row.phase, row.discarded) == (overall.phase, overall.discarded) and is_one and is_not_found(row.operation):
            found_nothing = [row.ops_per_second or 0.0, *row.ops_per_second_samples]
            rates = [max(0.0, rate - empty_rate) for rate, empty_rate in zip(rates, found_nothing, strict=False)]
    return rates


def interval(
    samples: Sequence[float], confidence: float, least: float, shown: float | None = None
) -> tuple[float | None, float | None]:
    """Returns the interval of the samples' geometric mean, or (None, None) if it is not known.

    :param least: minimum factor by which the interval extends in either direction
    :param shown: value that is shown with the interval and must be within it; by default the geometric mean
    """
    estimate = statistics.logarithms(samples, confidence)
    if estimate is None:
        return None, None
    factor = max(estimate.factor, least)
    centre = statistics.geometric(samples)
    shown = centre if shown is None else shown
    return min(centre / factor, shown / least), max(centre * factor, shown * least)


def _of_runs(row: Row, runs: Sequence[Run], ops: Sequence[float], records: Sequence[float]) -> Row:
    """Adds the rates and percentiles of a row's runs, with their intervals, to the row."""
    p50_ms, p99_ms = (
        [by_type[row.operation] for run in runs if row.operation in (by_type := run.percentiles_ms.get(name, {}))]
        for name in ("p50_ms", "p99_ms")
    )
    counts = [operation.operations for run in runs if (operation := run.by_operation.get(row.operation))]
    row = counted(row, counts if row.operation != OVERALL else [run.operations for run in runs])
    return sampled(row, "runs", ops, records, p99_ms, p50_ms)


def counted(row: Row, operations: Sequence[int | None]) -> Row:
    """Adds the resolution of a row's rates to the row: 1 / the smallest number of operations in a round or run.

    :param operations: number of operations in each round or run
    """
    fewest = min((count for count in operations if count), default=None)
    return replace(row, resolution=max(row.resolution, 1 / fewest)) if fewest else row


def _with_latency(row: Row, stated: Operation, merged: Latencies | None) -> Row:
    count = stated.operations or 0
    percentiles = {name: percentile for name, percentile in PERCENTILES.items() if is_known(percentile, count)}
    values_ms: Mapping[float, float | None]
    if merged is not None and merged.count and merged.count == stated.operations:
        row = replace(row, mean_ms=merged.mean_ms, max_ms=merged.max_ms, latency_source="histograms")
        values_ms = merged.percentiles_ms(list(percentiles.values()))
    else:
        row = replace(row, mean_ms=_ms(stated.mean_us), max_ms=_ms(stated.max_us))
        if stated.percentiles_us or stated.mean_us is not None:
            row = replace(row, latency_source="log")
        values_ms = {percentile: _ms(stated.percentiles_us.get(percentile)) for percentile in percentiles.values()}
    numbers: dict[str, Any] = {name: values_ms.get(percentile) for name, percentile in percentiles.items()}
    return replace(row, **numbers)


def records_of(name: str, operation: Operation) -> int | None:
    """Returns the number of successful records of an operation type.

    Return codes count records, except that a SCAN has only one: a separate result line states the records of SCANs.
    """
    if name.startswith("SCAN") or not operation.returns:
        return operation.records
    return successes(operation.returns)


def _failures(returns: Mapping[str, int]) -> tuple[int | None, int | None]:
    """Returns the numbers of records with errors and of records not found; None for both if no status is known."""
    return (failures(returns), returns.get(NOT_FOUND, 0)) if returns else (None, None)


def _rates(counts: Sequence[int | None], runs: Sequence[Run]) -> list[float]:
    """Returns the rate of each run (its count per second), or [] if a count or a duration is not known."""
    rates = [count / run.seconds for count, run in zip(counts, runs, strict=True) if count is not None and run.seconds]
    return rates if len(rates) == len(runs) else []


def _us_per_record(seconds: Sequence[float | None], runs: Sequence[Run]) -> float | None:
    time, records = total(seconds), total([run.records for run in runs])
    return time / records * 1e6 if time is not None and records else None


def _ms(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1000
