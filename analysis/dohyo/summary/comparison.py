"""Computes ratios of measured figures and their intervals; docs/method.md#statistics explains the method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations, product
from operator import attrgetter
from statistics import fmean

from dohyo import statistics
from dohyo.evidence.fault_costs import FULL_SHARE
from dohyo.evidence.rows import sampled, succeeded
from dohyo.figures import point_name, rate
from dohyo.metrics import METRICS, Row, Samples
from dohyo.operations import INTENDED, OVERALL, has_latency
from dohyo.scenario.phases import AT_RATE, MAX, OWN, PROBE
from dohyo.statistics import Errors, Estimate, Ratio
from dohyo.summary.knee import TOLERANCE
from dohyo.summary.probes import Search
from dohyo.summary.results import Figure, Neighbours, Pair, Trial

# Key of a compared figure: phase, operation and name.
Key = tuple[str, str, Figure]
_PERCENTILES: tuple[Figure, ...] = ("p50_ms", "p99_ms")
# Kinds of samples, best first: a mean over rounds predicts the next experiment better than a mean over runs.
_STRENGTH: tuple[Samples | None, ...] = ("rounds", "runs", None)


def at_points(
    trials: Sequence[Trial], has: Callable[[Trial], object] = bool, *, apart: bool = True
) -> list[list[Trial]]:
    """Groups trials that can be compared: those with the same faults and the same values of all shared dimensions.

    A trial without a dimension that other systems share is in the groups of all its values.

    :param trials: all trials of the experiment; also trials without numbers define its dimensions
    :param has: whether a trial has what is compared; other trials are left out
    :param apart: False: only dimensions of all trials distinguish groups, so that no trial is in several
    """
    values = {
        key: list(dict.fromkeys(trial.point[key] for trial in trials if key in trial.point))
        for key in shared_dimensions(trials, apart=apart)
    }
    points: dict[tuple[str, ...], list[Trial]] = {}
    compared = list(filter(has, trials))
    for trial in compared:
        faults = (trial.conditions.faults, *(conditions.get("faults") for conditions in trial.by_phase.values()))
        possible = ([trial.point[key]] if key in trial.point else of_all for key, of_all in values.items())
        for point in product(*possible):
            points.setdefault((*point, *dict.fromkeys(filter(None, faults))), []).append(trial)
    if sum(map(len, points.values())) == len(compared):
        return list(points.values())
    groups = {frozenset(trial.name for trial in group): group for group in points.values()}
    # A combination of values at which no trial was measured has only trials without these dimensions.
    return [group for names, group in groups.items() if not any(names < others for others in groups)]


def shared_dimensions(trials: Sequence[Trial], *, apart: bool = True) -> list[str]:
    """Returns the dimensions of all trials and, if `apart`, those in which several systems have the same value."""
    # A trial whose trial.json is lost has no numbers and no point. The other trials still have common dimensions.
    stated = [trial for trial in trials if trial.measured_rows or trial.asked_workload] or trials
    systems: dict[tuple[str, str], set[str]] = {}
    for trial in stated:
        for item in trial.point.items():
            systems.setdefault(item, set()).add(trial.system)
    several = {key for (key, _), of_value in systems.items() if len(of_value) > 1 and apart}
    every = {key for key, _ in systems if all(key in trial.point for trial in stated)}
    return [key for key in dict.fromkeys(key for key, _ in systems) if key in several | every]


def equal_rate(trials: Sequence[Trial], phase: str) -> float | None:
    """Returns the rate (op/s of all clients) at which the trials' latencies may be ranked; None if rates differ. It is
    the common target rate of the phase, which all trials must have kept in every round within `knee.TOLERANCE`.
    """
    measured = [trial for trial in trials if trial.overall(phase)]
    targets = {target_of(trial, phase) for trial in measured}
    target = targets.pop() if len(targets) == 1 else None
    if not target or behind(measured, phase):
        return None
    # Some rounds or runs may have had no target. A rate is known to one operation.
    rows = [(trial, row) for trial in measured for row in trial.overall(phase)]
    above = (max(succeeded(trial.rows, row)) > target * (1 + TOLERANCE + row.resolution) for trial, row in rows)
    return None if any(above) else target


def is_paced(trials: Sequence[Trial], phase: str) -> bool:
    """Returns whether any trial had a target rate in the phase; if so, rates do not show which system is faster."""
    measured = [trial for trial in trials if trial.overall(phase)]
    return phase in AT_RATE or (phase != PROBE and any(target_of(trial, phase) for trial in measured))


def is_ranked(trials: Sequence[Trial], key: Key) -> bool:
    """Returns whether a figure of trials at a point is compared: latencies at an equal rate, rates without a target."""
    is_latency = METRICS[key[2]].unit == "ms"
    return equal_rate(trials, key[0]) is not None if is_latency else not is_paced(trials, key[0])


def rate_figure(trials: Sequence[Trial], phase: str) -> Figure:
    """Returns the figure by which the phase is ranked. It is records per second, because batch sizes may differ. If the
    records of any trial are unknown, it is operations per second for all trials.
    """
    has_records = all(row.records_per_second is not None for trial in trials for row in trial.overall(phase))
    return "records_per_second" if has_records else "ops_per_second"


def latencies_at(trials: Sequence[Trial], phases: Sequence[str]) -> tuple[str, ...]:
    """Returns texts that say at which rate latencies were measured, the longest text first; empty without latencies."""
    fast = _latencies_at(trials, [phase for phase in phases if phase not in AT_RATE])
    at_rate = [phase for phase in phases if phase in AT_RATE]
    slow = _latencies_at(trials, at_rate)
    if fast and slow:
        return f"{fast[0]} in {MAX}, {slow[0]} in {at_rate[0]}", f"{fast[-1]} / {slow[-1].removeprefix('at ')}"
    return fast or slow


def _latencies_at(trials: Sequence[Trial], phases: Sequence[str]) -> tuple[str, ...]:
    groups = _groups(trials, phases)
    if not groups:
        return ()
    equal = {equal_rate(*group) for group in groups}
    if None not in equal:
        rates = " or ".join(rate(target) for target in sorted(filter(None, equal)))
        return f"at equal rate {rates} op/s", f"at {rates} op/s"
    measured = [(trial, phase) for of_point, phase in groups for trial in of_point if trial.overall(phase)]
    if any(target_of(trial, phase) or not trial.target_is_known for trial, phase in measured):
        return "at its own rate", "at own rate"
    return "at its own maximum rate", "at own maximum", "at own max"


def behind(trials: Sequence[Trial], phase: str) -> list[tuple[str, float, float]]:
    """Returns the system, the target rate and the lowest rate of each trial that missed its target in any round."""
    lowest = [(trial, min(succeeded(trial.rows, row))) for trial in trials for row in trial.overall(phase)]
    targets = [(trial.system, target_of(trial, phase), rate) for trial, rate in lowest]
    return [(name, target, rate) for name, target, rate in targets if target and rate < target * (1 - TOLERANCE)]


def behind_own(trial: Trial) -> tuple[float, float] | None:
    """Returns the target rate and the achieved rate of the phase `own` if the trial missed its target; otherwise None.

    With faults, the achieved rate is the rate before the first fault, and `FULL_SHARE` of the target is enough.
    """
    faulted = [run.before_ops_per_second for run in trial.faults if run.phase == OWN]
    reached = faulted or [succeeded(trial.rows, row)[0] for row in trial.overall(OWN)]
    rates = [value for value in reached if value is not None]
    target = target_of(trial, OWN)
    if not rates or not target:
        return None
    mean = fmean(rates)
    return (target, mean) if mean < target * (FULL_SHARE if faulted else 1 - TOLERANCE) else None


def slowest_rates(trials: Sequence[Trial], phase: str, waiting: Collection[str] = ()) -> dict[str, float]:
    """Returns the op/s of the slowest system with a valid rate in the phase, for each point.

    :param waiting: points whose rate is not yet known; they are left out, with the points that are compared with them
    """
    slowest: dict[str, float] = {}
    # A system without a dimension has one rate, which is that of all values.
    for together in at_points(trials, apart=False):
        points = {point_name(trial.point) for trial in together}
        rates = [row.ops_per_second for trial in together for row in trial.overall(phase) if row.ops_per_second]
        if rates and points.isdisjoint(waiting):
            slowest |= dict.fromkeys(points, min(rates))
    return slowest


def is_equal(trials: Sequence[Trial], phases: Sequence[str]) -> bool:
    """Returns whether latencies may be ranked at every point and in every phase."""
    return all(equal_rate(*group) is not None for group in _groups(trials, phases))


def different_rates(before: Trial, after: Trial, phase: str) -> tuple[float, float] | None:
    """Returns the two rates (op/s) at which latencies were measured; None if they agree within `knee.TOLERANCE`."""
    rates = [row.ops_per_second or 0.0 for trial in (before, after) for row in trial.overall(phase)]
    if len(rates) != 2 or equal_rate((before, after), phase) or min(rates) >= max(rates) * (1 - TOLERANCE):
        return None
    return rates[0], rates[1]


def _groups(trials: Sequence[Trial], phases: Sequence[str]) -> list[tuple[list[Trial], str]]:
    return [
        (of_point, phase)
        for of_point in at_points(trials, attrgetter("rows"))
        for phase in phases
        if _has_latencies(of_point, phase)
    ]


def target_of(trial: Trial, phase: str) -> float | None:
    """Returns the target rate of all clients together, in op/s, or None if it is not set or unknown."""
    different = trial.by_phase.get(phase, {})
    target = different.get("target", trial.conditions.target)
    return target * (different.get("clients", trial.conditions.clients) or 1) if target else None


def same_target(before: Trial, after: Trial, phase: str) -> bool:
    """Returns whether both trials had the same target rate within `knee.TOLERANCE`, even if they did not reach it."""
    one, other = (target_of(trial, phase) or 0.0 for trial in (before, after))
    return min(one, other) >= max(one, other) * (1 - TOLERANCE)


def _has_latencies(trials: Sequence[Trial], phase: str) -> bool:
    if phase == PROBE:
        return bool(trials)
    rows = [row for trial in trials for row in trial.rows if row.phase == phase]
    return any(latency is not None for row in rows for latency in (row.p50_ms, row.p99_ms, row.max_ms))


def comparisons(trials: Sequence[Trial], rounds: Sequence[Trial] = ()) -> list[Pair]:
    """Returns the ratios of the best trial to every other trial, for each point and figure.

    Rates are compared only without a target rate, latencies only at an equal rate. The p50 of an operation is compared
    only if a trial's p99 is unknown in some round. A rate of 0 has no ratio.

    :param rounds: the single rounds if `trials` are merged; only single rounds contain the searches
    """
    result: dict[tuple[Key, str, str], Pair] = {}
    for key, ranked, rows, paired in _rankings(trials, rounds):
        ratios = pairs(key, rows, paired=paired)
        for name in rows:
            if name != ranked[0]:
                # Two systems without a dimension meet at each of its values.
                result.setdefault((key, ranked[0], name), ratios[ranked[0], name])
    return list(result.values())


def neighbours(trials: Sequence[Trial], rounds: Sequence[Trial], alike: float) -> list[Neighbours]:
    """Returns the pairs of trials that follow each other in the rankings of `comparisons`.

    In an experiment with several rounds, a pair is open if one of the trials has a single valid round. Repeats within a
    start do not show how much starts differ.

    :param alike: two neighbours are alike if the interval of their ratio lies between 1 / (1 + alike) and 1 + alike
    """
    result: dict[tuple[Key, str, str], Neighbours] = {}
    has_rounds = any(round_.round is not None for round_ in rounds)
    for key, ranked, rows, paired in _rankings(trials, rounds):
        ratios = pairs(key, rows, paired=paired)
        for ahead, behind in pairwise(ranked):
            pair = ratios[ahead, behind]
            is_single = has_rounds and pair.sampled == "runs"
            entry = Neighbours(pair, "open", more=1) if is_single else _neighbours(pair, rows, alike, paired)
            result.setdefault((key, ahead, behind), entry)
    return list(result.values())


def _neighbours(neighbour: Pair, rows: Mapping[str, Row], alike: float, paired: bool) -> Neighbours:
    if neighbour.low is not None and neighbour.high is not None:
        if neighbour.tie is False:
            return Neighbours(neighbour, "faster")
        if statistics.is_alike(neighbour.low, neighbour.high, alike):
            return Neighbours(neighbour, "alike")
    names, means, errors = _means(neighbour.figure, rows, paired=paired)
    if neighbour.of not in names or neighbour.to not in names:
        return Neighbours(neighbour, "open")
    pair = names.index(neighbour.of), names.index(neighbour.to)
    return Neighbours(neighbour, "open", statistics.more_to_decide(means, pair, alike, errors))


def _rankings(
    trials: Sequence[Trial], rounds: Sequence[Trial]
) -> Iterator[tuple[Key, list[str], dict[str, Row], bool]]:
    """Yields a tuple for each figure at each point: key, names of the trials (best first), their rows by name, and
    whether their windows took turns."""
    for together in at_points(trials, attrgetter("rows")):
        # A system without numbers has no ratios, so its missing rounds do not matter.
        paired = took_turns([trial for trial in together if trial.measured_rows], rounds)
        by_trial = {
            trial.name: figures(trial, trials, _PERCENTILES) | maximum(trial, rounds or trials) for trial in together
        }
        for key in dict.fromkeys(key for trial_rows in by_trial.values() for key in trial_rows):
            if key[2] == "p50_ms" and all(
                (*key[:2], "p99_ms") in trial_rows for trial_rows in by_trial.values() if key in trial_rows
            ):
                continue
            if not is_ranked(together, key):
                continue
            rows = {name: trial_rows[key] for name, trial_rows in by_trial.items() if key in trial_rows}
            values = {name: value for name, row in rows.items() if (value := centre(row, key[2]))}
            if values:
                sign = 1 if METRICS[key[2]].less_is_better else -1
                ranked = sorted(values, key=lambda name: sign * values[name])
                yield key, ranked, {name: rows[name] for name in values}, paired


def took_turns(trials: Sequence[Trial], rounds: Sequence[Trial]) -> bool:
    """Returns whether the windows of these trials took turns in every round, so that ratios are taken round by round. A
    valid round of one trial must then be valid for all of them.

    :param trials: trials at a point, merged over the rounds
    :param rounds: rounds of all systems and points
    """
    valid = [{round_.round for round_ in rounds_of(trial, rounds) if round_.status == "ok"} for trial in trials]
    # Count rounds, because windows of the same round are not independent samples.
    enough = bool(valid) and len(valid[0]) >= statistics.TOGETHER_LEAST
    same = all(numbers == valid[0] for numbers in valid)
    return enough and same and all(trial.conditions.interleaved for trial in trials)


def figures(trial: Trial, among: Sequence[Trial] = (), percentiles: Sequence[Figure] = ("p99_ms",)) -> dict[Key, Row]:
    """Returns the compared figures of a trial: each phase's rate of all operations, and each operation's percentiles.

    :param among: trials with which this one is compared; the unit of the rate depends on them
    """
    rows = trial.measured_rows
    names = {(row.phase, row.operation) for row in rows}
    units = {phase: rate_figure([trial, *among], phase) for phase in {row.phase for row in rows}}
    return {key: row for row in rows for key in _figures(row, names, units[row.phase], percentiles)}


def maximum(trial: Trial, rounds: Sequence[Trial]) -> dict[Key, Row]:
    """Returns the highest rate that the searches found, averaged over the rounds, as a row of the phase `PROBE`. Empty
    without a search, or if a search found no rate that held.

    :param rounds: rounds of all systems and points
    """
    searches = searches_of(trial, rounds)
    maxima = [search.maximum for search in searches if search.maximum]
    if not maxima or len(maxima) < len(searches):
        return {}
    confidence = max((row.confidence for row in trial.rows), default=statistics.CONFIDENCE)
    # The true maximum is above the highest rate that held, by less than the last step.
    step = max(search.unmet / search.maximum - 1 for search in searches if search.maximum and search.unmet)
    row = Row(PROBE, OVERALL, len(maxima), confidence=confidence, resolution=step)
    row = sampled(row, "rounds", maxima, [], [])
    return {(PROBE, OVERALL, "ops_per_second"): row}


def rounds_of(trial: Trial, rounds: Sequence[Trial]) -> list[Trial]:
    """Returns the rounds of a system at a point; if it has only one round, this is the trial itself.

    :param rounds: rounds of all systems and points
    """
    # Trials that were started by hand may have the same system and point without being rounds.
    if any(round_ is trial for round_ in rounds):
        return [trial]
    return [round_ for round_ in rounds if (round_.system, round_.point) == (trial.system, trial.point)]


def searches_of(trial: Trial, rounds: Sequence[Trial]) -> list[Search]:
    """Returns the searches for the highest rate in the valid rounds of a system at a point.

    The list is empty if the system failed under load in any round, because the other rounds are not representative.
    """
    if trial.system_failed:
        return []
    return [round_.search for round_ in rounds_of(trial, rounds) if round_.status == "ok" and round_.search]


def _figures(row: Row, names: set[tuple[str, str]], unit: Figure, percentiles: Sequence[Figure]) -> Iterator[Key]:
    if row.operation == OVERALL:
        # A common target rate does not show which system is faster.
        if row.phase not in AT_RATE and getattr(row, unit) is not None:
            yield row.phase, row.operation, unit
        return
    if has_own_latency(row, names):
        yield from ((row.phase, row.operation, name) for name in percentiles if samples(row, name))


def has_own_latency(row: Row, names: Container[tuple[str, str]]) -> bool:
    """Returns whether a row's latency is compared: if there is one from the intended start, only that one is.

    :param names: phases and operations of all rows
    """
    # Intended-READ itself passes, because there is no Intended-Intended-READ.
    return has_latency(row.operation) and (row.phase, INTENDED + row.operation) not in names


def pairs(key: Key, rows: Mapping[str, Row], *, paired: bool = False) -> dict[tuple[str, str], Pair]:
    """Returns the ratio of each trial to every other one. Its interval accounts for multiple comparisons.

    A trial with a single run has no interval: the seconds of one run do not predict the next run
    (benchmarks/README.md#what-intervals-and-verdicts-are-worth).

    :param rows: rows of the trials at a point, by name; the figure must be above 0 in all of them
    :param paired: whether the windows of the trials took turns in every round
    """
    names, means, errors = _means(key[2], rows, paired=paired)
    ratios = statistics.ratios(means, errors)
    indexes = {name: index for index, name in enumerate(names)}
    return {
        (first, second): _pair(key, first, second, rows, ratios.get((indexes.get(first, -1), indexes.get(second, -1))))
        for first, second in permutations(rows, 2)
    }


def change(
    key: Key, first: str, second: str, rows: Mapping[str, Row], rest: Sequence[tuple[Estimate, Estimate]] = ()
) -> Pair:
    """Returns the ratio of a figure between two experiments.

    :param rows: rows of both experiments, by name; the figure must be above 0 in both
    :param rest: `estimates` of the figure for other systems, whose intervals are computed together with this one
    """
    means = estimates(key[2], rows[first], rows[second])
    return _pair(key, first, second, rows, statistics.changes([means, *rest])[0] if means else None)


def estimates(figure: Figure, above: Row, below: Row) -> tuple[Estimate, Estimate] | None:
    """Returns the means of the figure's logarithms over the rounds of two rows; None if either has no interval, or if
    only one of them has several rounds.
    """
    if above.sampled != below.sampled:
        return None
    one, other = (statistics.logarithms(samples(row, figure), row.confidence) for row in (above, below))
    return (one, other) if one and other else None


def _means(figure: Figure, rows: Mapping[str, Row], *, paired: bool) -> tuple[list[str], list[Estimate], Errors | None]:
    """Returns the names of the rows with an interval, the means of their logarithms, and the errors of differences.

    If a row has several rounds, rows with a single one have no interval: runs of a round scatter less than rounds.

    :param paired: whether the windows of the rows took turns in every round
    """
    kind = min((row.sampled for row in rows.values()), key=_STRENGTH.index)
    same = {name: row for name, row in rows.items() if row.sampled == kind}
    logarithms = {name: statistics.logarithms(samples(row, figure), row.confidence) for name, row in same.items()}
    means = {name: mean for name, mean in logarithms.items() if mean}
    level = max((mean.confidence for mean in means.values()), default=statistics.CONFIDENCE)
    joint = statistics.together([samples(rows[name], figure) for name in means], level) if paired else None
    return list(means), *(joint or (list(means.values()), None))


def _pair(key: Key, first: str, second: str, rows: Mapping[str, Row], ratio: Ratio | None) -> Pair:
    above, below = rows[first], rows[second]
    unlike = {above.sampled, below.sampled} == {"rounds", "runs"}
    result = Pair(
        *key,
        of=first,
        to=second,
        ratio=centre(above, key[2]) / centre(below, key[2]),
        sampled=max((above.sampled, below.sampled), key=_STRENGTH.index),
        # Beside several rounds, the runs of a single round are one sample.
        samples=1 if unlike else min(len(samples(row, key[2])) for row in (above, below)),
    )
    if ratio is None:
        return result
    # An interval is at least as wide as the resolution of the figures.
    least = (1 + above.blur(key[2])) * (1 + below.blur(key[2]))
    low, high = min(ratio.low, ratio.value / least), max(ratio.high, ratio.value * least)
    return replace(result, low=low, high=high, tie=low <= 1 <= high, confidence=ratio.confidence)


def samples(row: Row, figure: Figure) -> list[float]:
    """Returns the figure in each round or run; empty for a single run."""
    values: list[float] = getattr(row, f"{figure}_samples")
    return values


def centre(row: Row, figure: Figure) -> float:
    """Returns the value from which ratios are computed: the geometric mean of the rounds or runs, or the single value.

    Tables instead show the p99 of the merged histograms of all rounds, which a single bad round can determine.
    """
    values = samples(row, figure)
    return statistics.geometric(values) if values else getattr(row, figure) or 0.0
