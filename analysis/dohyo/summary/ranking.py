"""The ranking: the rates that decide, and the contests that `Summary.comparisons` makes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dohyo.figures import rate
from dohyo.metrics import Row, Samples
from dohyo.operations import OVERALL
from dohyo.scenario.phases import AT_RATE, LOAD, PROBE
from dohyo.summary.comparison import Key, figures, is_paced, maximum, samples
from dohyo.summary.results import Figure, Neighbours, Pair, Summary, Trial

UNITS: dict[Figure, str] = {
    "records_per_second": "records/s", "ops_per_second": "operations/s", "p50_ms": "ms", "p99_ms": "ms",
}  # fmt: skip


@dataclass(frozen=True)
class Contest:
    """The best system in one figure at one point against each other system, the nearest first.

    :ivar pairs: at least one
    """

    pairs: list[Pair]

    @property
    def nearest(self) -> Pair:
        """The best against the one that is nearest to it."""
        return self.pairs[0]

    @property
    def is_won(self) -> bool:
        """Whether the best is better than every other one by more than noise."""
        return all(pair.tie is False for pair in self.pairs)

    @property
    def is_unclear(self) -> bool:
        """Whether nobody can tell the best from one of the others."""
        return any(pair.is_unclear for pair in self.pairs)

    @property
    def is_tied(self) -> bool:
        """Whether the best is no better than one of the others, or nobody can tell."""
        return any(pair.tie for pair in self.pairs)

    @property
    def is_preliminary(self) -> bool:
        """Whether no pair has an interval."""
        return all(pair.tie is None for pair in self.pairs)


@dataclass(frozen=True)
class Rate:
    """A mean rate of a trial, with its 95 % confidence interval as far as that is known."""

    row: Row
    figure: Figure

    @property
    def mean(self) -> float:
        """Records per second; operations per second where records are not known."""
        return float(getattr(self.row, self.figure))

    @property
    def low(self) -> float | None:
        """Lower end of the interval; None: not known."""
        return self._end("low")

    @property
    def high(self) -> float | None:
        """Upper end of the interval; None: not known."""
        return self._end("high")

    def _end(self, which: str) -> float | None:
        end: float | None = getattr(self.row, f"{self.figure}_{which}")
        return end

    @property
    def unit(self) -> str:
        """Such as "records/s"."""
        return UNITS[self.figure]

    @property
    def sampled(self) -> tuple[Samples | None, int]:
        """What the interval is over, and how many."""
        return self.row.sampled, len(samples(self.row, self.figure))

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return rate(self.mean)
        return f"{rate(self.mean)} [{rate(self.low)}, {rate(self.high)}]"


def throughput(summary: Summary, trial: Trial, phase: str) -> Rate | None:
    """The mean rate of a trial in a phase; None where it has no valid numbers."""
    if not _is_valid(summary, trial):
        return None
    found = figures(trial, summary.compared)
    return next((Rate(row, key[2]) for key, row in found.items() if key[:2] == (phase, OVERALL)), None)


def phases_of(summary: Summary) -> list[str]:
    """The phases that were to be measured, in order; a load that is measured is the first."""
    found = dict.fromkeys(row.phase for trial in summary.compared for row in trial.rows if not trial.is_aside(row))
    return sorted(found, key=lambda phase: phase != LOAD)


def decisive_phases(summary: Summary, trial: Trial) -> list[str]:
    """The phases whose rates decide: after a search its maximum alone, and never those of `equal` or `own`."""
    if any(each.search for each in rounds_of(summary, trial)):
        return [PROBE]
    return [phase for phase in phases_of(summary) if phase not in AT_RATE]


def decisive(summary: Summary, trial: Trial) -> dict[Key, Rate]:
    """The rates of a trial that decide."""
    if not _is_valid(summary, trial):
        return {}
    found = figures(trial, summary.compared) | maximum(trial, summary.trials)
    phases = decisive_phases(summary, trial)
    return {key: Rate(row, key[2]) for key, row in found.items() if key[0] in phases and key[1] == OVERALL}


def contests(summary: Summary) -> list[Contest]:
    """All phases and points at which at least two systems have numbers: their rates or, if every phase had a target
    rate, their latencies at it. Of variants of a system the one counts that is hardest to tell from the best.
    """
    found = _contests(summary, [pair for pair in summary.comparisons if pair.operation == OVERALL])
    if not found and all(is_paced(summary.compared, phase) for phase in phases_of(summary)):
        found = _contests(summary, [pair for pair in summary.comparisons if pair.operation != OVERALL])
    return found


def deciding_neighbours(summary: Summary) -> list[Neighbours]:
    """The neighbours in the rankings that decide, those of rates; latencies if every phase had a target rate."""
    phases = {trial.name: decisive_phases(summary, trial) for trial in summary.compared}
    found = [each for each in summary.neighbours if each.pair.phase in phases[each.pair.of]]
    of_rates = [each for each in found if each.pair.operation == OVERALL]
    paced = all(is_paced(summary.compared, phase) for phase in phases_of(summary))
    return of_rates or (found if paced else [])


def _contests(summary: Summary, pairs: Sequence[Pair]) -> list[Contest]:
    system = {trial.name: trial.system for trial in summary.compared}
    phases = {trial.name: decisive_phases(summary, trial) for trial in summary.compared}
    nearest: dict[tuple[str, str, Figure, str], dict[str, Pair]] = {}
    for pair in pairs:
        if pair.phase in phases[pair.of] and system[pair.of] != system[pair.to]:
            others = nearest.setdefault((pair.phase, pair.operation, pair.figure, pair.of), {})
            known = others.setdefault(system[pair.to], pair)
            others[system[pair.to]] = min(known, pair, key=lambda each: (each.tie is False, distance(each)))
    return [Contest(sorted(others.values(), key=distance)) for others in nearest.values()]


def distance(pair: Pair) -> float:
    """How far apart the two are: sort key."""
    return abs(math.log(pair.ratio))


def rounds_of(summary: Summary, trial: Trial) -> list[Trial]:
    """The trials that one which is compared is made of: itself, or its rounds."""
    return [each for each in summary.trials if (each.system, each.point) == (trial.system, trial.point)]


def _is_valid(summary: Summary, trial: Trial) -> bool:
    """Of several rounds there are numbers of valid ones alone; logs of others have them of invalid runs, too."""
    return trial.status == "ok" or all(trial is not each for each in summary.trials)
