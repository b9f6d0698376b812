"""Ranks the systems: selects the rates that decide the ranking, and builds contests from `Summary.comparisons`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from dohyo.figures import half_interval, rate
from dohyo.metrics import Row, Samples
from dohyo.operations import OVERALL
from dohyo.scenario.phases import AT_RATE, LOAD, PROBE
from dohyo.summary.comparison import Key, at_points, figures, is_paced, is_ranked, maximum, rounds_of, samples
from dohyo.summary.results import Figure, Neighbours, Pair, Summary, Trial

UNITS: dict[Figure, str] = {
    "records_per_second": "records/s", "ops_per_second": "operations/s", "p50_ms": "ms", "p99_ms": "ms",
}  # fmt: skip


# A comparison of the best system with every other system, in one figure at one point. The closest pair is the first.
Contest = Sequence[Pair]


def is_won(contest: Contest) -> bool:
    """Returns whether the best system's lead over every other system is larger than the noise."""
    return all(pair.tie is False for pair in contest)


def is_unclear(contest: Contest) -> bool:
    """Returns whether the noise is too large to distinguish the best system from another one."""
    return any(pair.is_unclear for pair in contest)


def is_tied(contest: Contest) -> bool:
    """Returns whether the best system ties with another one, or cannot be distinguished from it."""
    return any(pair.tie for pair in contest)


def is_preliminary(contest: Contest) -> bool:
    """Returns whether no pair has an interval."""
    return all(pair.tie is None for pair in contest)


@dataclass(frozen=True)
class Rate:
    """The mean rate of a trial, with its confidence interval if known."""

    row: Row
    figure: Figure

    @property
    def mean(self) -> float:
        """Returns records per second, or operations per second if records are unknown."""
        return float(getattr(self.row, self.figure))

    @property
    def low(self) -> float | None:
        """Returns the lower end of the interval; None if unknown."""
        end: float | None = getattr(self.row, f"{self.figure}_low")
        return end

    @property
    def high(self) -> float | None:
        """Returns the upper end of the interval; None if unknown."""
        end: float | None = getattr(self.row, f"{self.figure}_high")
        return end

    @property
    def plus_minus(self) -> str:
        """Returns the upper part of the interval, such as "± 3%"; empty if it is unknown."""
        if self.high is None or not self.mean:
            return ""
        half = half_interval(self.mean, self.high, least=0.95)
        return f"\N{PLUS-MINUS SIGN} {half}" if half.endswith("%") else half

    @property
    def unit(self) -> str:
        """Returns the unit, such as "records/s"."""
        return UNITS[self.figure]

    @property
    def sampled(self) -> Samples | None:
        """Returns the kind of samples from which the interval was computed."""
        return self.row.sampled

    @property
    def samples(self) -> int:
        """Returns the number of samples from which the interval was computed."""
        return len(samples(self.row, self.figure))

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return rate(self.mean)
        return f"{rate(self.mean)} [{rate(self.low)}, {rate(self.high)}]"


def throughput(summary: Summary, trial: Trial, phase: str) -> Rate | None:
    """Returns the mean rate of a trial in a phase; None without valid numbers."""
    if not _is_valid(summary, trial):
        return None
    rows = figures(trial, _valid(summary))
    return next((Rate(row, key[2]) for key, row in rows.items() if key[:2] == (phase, OVERALL)), None)


def phases_of(summary: Summary) -> list[str]:
    """Returns the measured phases in order; a measured load comes first."""
    phases = dict.fromkeys(row.phase for trial in summary.compared for row in trial.measured_rows)
    return sorted(phases, key=lambda phase: phase != LOAD)


def decisive_phases(summary: Summary, trial: Trial) -> list[str]:
    """Returns the phases whose rates decide the ranking: after a search, only its maximum; never `equal` or `own`."""
    if any(round_.search for round_ in rounds_of(trial, summary.trials)):
        return [PROBE]
    return [phase for phase in phases_of(summary) if phase not in AT_RATE]


def decisive(summary: Summary, trial: Trial) -> dict[Key, Rate]:
    """Returns the rates of a trial that decide the ranking."""
    if not _is_valid(summary, trial):
        return {}
    rows = figures(trial, _valid(summary)) | maximum(trial, summary.trials)
    phases = decisive_phases(summary, trial)
    return {key: Rate(row, key[2]) for key, row in rows.items() if key[0] in phases and key[1] == OVERALL}


def contests(summary: Summary) -> list[Contest]:
    """Returns a contest for each phase and point at which at least two systems have numbers.

    Contests compare rates or, if every phase had a target rate, latencies. If a system has several variants, the one
    nearest to the best system represents it.
    """
    result = _contests(summary, [pair for pair in summary.comparisons if pair.operation == OVERALL])
    if not result and all(is_paced(summary.compared, phase) for phase in phases_of(summary)):
        result = _contests(summary, [pair for pair in summary.comparisons if pair.operation != OVERALL])
    return result


def deciding_neighbours(summary: Summary) -> list[Neighbours]:
    """Returns the neighbours in the rankings by rate, or by latency if every phase had a target rate."""
    phases = {trial.name: decisive_phases(summary, trial) for trial in summary.compared}
    neighbours = [neighbour for neighbour in summary.neighbours if neighbour.pair.phase in phases[neighbour.pair.of]]
    of_rates = [neighbour for neighbour in neighbours if neighbour.pair.operation == OVERALL]
    paced = all(is_paced(summary.compared, phase) for phase in phases_of(summary))
    return of_rates or (neighbours if paced else [])


def _contests(summary: Summary, pairs: Sequence[Pair]) -> list[Contest]:
    system = {trial.name: trial.system for trial in summary.compared}
    phases = {trial.name: decisive_phases(summary, trial) for trial in summary.compared}
    contests: list[Contest] = []
    for point in at_points(summary.compared, attrgetter("rows")):
        names = {trial.name for trial in point}
        here = [pair for pair in pairs if pair.of in names and pair.to in names and is_ranked(point, pair.key)]
        # The best system at one point may be at another one, where it is not the best.
        beaten = {(pair.key, pair.to) for pair in here}
        nearest: dict[Key, dict[str, Pair]] = {}
        for pair in here:
            decides = pair.phase in phases[pair.of] and pair.phase in phases[pair.to]
            if decides and system[pair.of] != system[pair.to] and (pair.key, pair.of) not in beaten:
                rivals = nearest.setdefault(pair.key, {})
                previous = rivals.setdefault(system[pair.to], pair)
                rivals[system[pair.to]] = min(
                    previous, pair, key=lambda candidate: (candidate.tie is False, distance(candidate))
                )
        contests += [sorted(rivals.values(), key=distance) for rivals in nearest.values()]
    return contests


def distance(pair: Pair) -> float:
    """Returns a sort key: how far apart the two trials of a pair are."""
    return abs(math.log(pair.ratio))


def _valid(summary: Summary) -> list[Trial]:
    """Returns the trials whose numbers are compared. Only their unknown records decide the unit of the rates."""
    return [trial for trial in summary.compared if _is_valid(summary, trial)]


def _is_valid(summary: Summary, trial: Trial) -> bool:
    """Returns whether a trial's numbers count. Merged trials contain only valid rounds, but logs of other clients may
    contain numbers of invalid runs.
    """
    return trial.status == "ok" or all(trial is not candidate for candidate in summary.trials)
