"""Ratios of what was measured, each with its interval; docs/method.md#statistics says how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dohyo import statistics
from dohyo.evidence.rows import PROBE, Row, Samples, sampled
from dohyo.operations import INTENDED, OVERALL, is_call
from dohyo.statistics import Estimate
from dohyo.summary.probes import Search
from dohyo.summary.results import Figure, Pair, Trial

# Phase, operation and figure.
Key = tuple[str, str, Figure]
# The less a mean of such samples says of the next experiment, the later.
_STRENGTH: tuple[Samples | None, ...] = ("rounds", "runs", "batches", None)


def at_points(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Trials that are compared with each other: those that agree in the dimensions of the matrix that all have."""
    shared = [key for key in trials[0].point if all(key in trial.point for trial in trials)] if trials else []
    points: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        points.setdefault(tuple(trial.point[key] for key in shared), []).append(trial)
    return list(points.values())


def comparisons(trials: Sequence[Trial], rounds: Sequence[Trial] = ()) -> list[Pair]:
    """At each point and for each figure the best of the trials against each other one.

    :param rounds: where `trials` are merged, what they are merged of: the searches are there
    """
    result = []
    for together in at_points([trial for trial in trials if trial.rows]):
        of = {trial.name: figures(trial) | maximum(trial, rounds or trials) for trial in together}
        for key in dict.fromkeys(key for found in of.values() for key in found):
            known = {name: found[key] for name, found in of.items() if key in found}
            values = {name: getattr(row, key[2]) for name, row in known.items()}
            best = (min if key[2] == "p99_ms" else max)(values, key=lambda name: values[name])
            result += [pair(key, best, other, known) for other in known if other != best]
    return result


def figures(trial: Trial) -> dict[Key, Row]:
    """What is compared of a trial: of each phase the rate of all operations, and the p99 of each operation."""
    measured = [row for row in trial.rows if not trial.is_aside(row)]
    names = {(row.phase, row.operation) for row in measured}
    return {key: row for row in measured for key in _figures(row, names)}


def maximum(trial: Trial, rounds: Sequence[Trial]) -> dict[Key, Row]:
    """What the searches for the highest rate came to, as a row of the phase `PROBE`: their mean, over the rounds.

    Nothing without a search, and where one of them found no rate that held.

    :param rounds: of all systems and points
    """
    found = searches_of(trial, rounds)
    maxima = [search.maximum for search in found if search.maximum]
    if not maxima or len(maxima) < len(found):
        return {}
    confidence = max((row.confidence for row in trial.rows), default=statistics.CONFIDENCE)
    # The highest rate that held is below the true one by a part of the last step.
    step = max(search.unmet / search.maximum - 1 for search in found if search.maximum and search.unmet)
    row = Row(PROBE, OVERALL, len(maxima), confidence=confidence, resolution=step)
    row = sampled(row, "rounds", maxima, [], [])
    return {(PROBE, OVERALL, "ops_per_second"): row}


def searches_of(trial: Trial, rounds: Sequence[Trial]) -> list[Search]:
    """What the valid rounds of a system at a point have found, where they have searched for the highest rate.

    :param rounds: of all systems and points
    """
    place = (trial.system, trial.point, "ok")
    return [each.search for each in rounds if (each.system, each.point, each.status) == place and each.search]


def _figures(row: Row, names: set[tuple[str, str]]) -> Iterator[Key]:
    if row.operation == OVERALL:
        if row.records_per_second or row.ops_per_second:
            yield row.phase, row.operation, "records_per_second" if row.records_per_second else "ops_per_second"
        return
    plain = row.operation.removeprefix(INTENDED)
    # With a target rate it is what a user waits for that counts.
    superseded = row.operation == plain and (row.phase, INTENDED + plain) in names
    succeeded = is_call(plain) and not plain.endswith(("-FAILED", "-NOT_FOUND"))
    if row.p99_ms and row.p99_ms_samples and succeeded and not superseded:
        yield row.phase, row.operation, "p99_ms"


def pair(key: Key, of: str, to: str, rows: Mapping[str, Row]) -> Pair:
    """A figure of one trial by that of another one."""
    above, below = rows[of], rows[to]
    logarithms = [_logarithm(row, key[2]) for row in (above, below)]
    result = Pair(
        *key,
        of=of,
        to=to,
        ratio=getattr(above, key[2]) / getattr(below, key[2]),
        sampled=max((above.sampled, below.sampled), key=_STRENGTH.index),
        samples=min(len(samples(row, key[2])) for row in (above, below)),
    )
    if logarithms[0] is None or logarithms[1] is None:
        return result
    ratio = statistics.ratio(logarithms[0], logarithms[1], (1 + above.blur(key[2])) * (1 + below.blur(key[2])))
    return replace(result, low=ratio.low, high=ratio.high, tie=ratio.is_tie)


def samples(row: Row, figure: Figure) -> list[float]:
    """The figure in each round, run or batch."""
    found: list[float] = getattr(row, f"{figure}_samples")
    return found


def _logarithm(row: Row, figure: Figure) -> Estimate | None:
    """Of the figure as it is shown, which is above 0: the ratio of two figures is that of what the tables say."""
    found, shown = samples(row, figure), getattr(row, figure)
    of = statistics.correlated(found) if row.sampled == "batches" else statistics.independent(found, row.confidence)
    if of is None or not of.mean or not shown:
        return None
    # A batch may have no operation, and the p99 of all rounds together is not the mean of theirs.
    return statistics.logarithm(replace(of, mean=shown, error=of.error / of.mean * shown))
