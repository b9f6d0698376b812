"""Who won, by how much, and whether that is more than noise: in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dohyo.evidence.rows import LOAD, RUN, Row
from dohyo.figures import point_name, rate
from dohyo.operations import OVERALL
from dohyo.report.measured import systems_of
from dohyo.summary.results import Summary, Trial


@dataclass(frozen=True)
class Result:
    """What one system did in one phase at one point: a rate, and how far it may be from the true one.

    :ivar margin: to both sides; None where a single run says nothing of that
    :ivar unit: of the rate, such as "records/s"
    """

    system: str
    value: float
    margin: float | None
    unit: str

    def __str__(self) -> str:
        margin = "" if self.margin is None else f" ± {rate(self.margin)}"
        return f"{rate(self.value)}{margin} {self.unit}"


@dataclass(frozen=True)
class Comparison:
    """All systems in one phase at one point of the matrix, the fastest first.

    :ivar where: phase and point in words; empty where there is only one
    """

    where: str
    results: list[Result]

    @property
    def ratio(self) -> float:
        """How many times as fast the first is as the second."""
        second = self.results[1].value
        return self.results[0].value / second if second else float("inf")

    @property
    def is_tie(self) -> bool | None:
        """Whether the difference of the first two is inside the noise; None where the noise is not known."""
        return overlap(self.results[0], self.results[1])


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, and what a reader must know before believing it.

    :ivar caveats: what speaks against trusting it
    """

    sentence: str
    caveats: list[str]
    comparisons: list[Comparison]


def overlap(first: Result, second: Result) -> bool | None:
    """Whether two results can not be told apart; None where one of them has no known margin.

    The margin is the standard deviation of the repeats, so this is a rule of thumb and no test of significance.
    """
    if first.margin is None or second.margin is None:
        return None
    return abs(first.value - second.value) <= first.margin + second.margin


def verdict(summary: Summary) -> Verdict:
    """The sentence over all phases and points at which at least two systems have numbers."""
    comparisons = _comparisons(summary)
    return Verdict(_sentence(summary, comparisons), _caveats(summary, comparisons), comparisons)


def result(trial: Trial, phase: str) -> Result | None:
    """What counts of a trial in a phase, after a search its maximum; None where it has no valid numbers."""
    if trial.status == "ok" and trial.search is not None:
        maximum = trial.search.maximum
        return Result(trial.system, maximum, None, f"operations/s under {trial.search.slo}") if maximum else None
    return throughput(trial, phase)


def throughput(trial: Trial, phase: str) -> Result | None:
    """The mean rate of a trial in a phase; None where it has no valid numbers."""
    row = next(
        (row for row in trial.rows if row.phase == phase and not row.discarded and row.operation == OVERALL), None
    )
    return _rate(trial.system, row) if row and trial.status == "ok" else None


def _rate(system: str, row: Row) -> Result | None:
    if row.records_per_second is not None:
        return Result(system, row.records_per_second, row.records_per_second_stddev, "records/s")
    if row.ops_per_second is not None:
        return Result(system, row.ops_per_second, row.ops_per_second_stddev, "operations/s")
    return None


def phases_of(summary: Summary) -> list[str]:
    """The phases that were to be measured, in order."""
    return list(dict.fromkeys(row.phase for trial in summary.compared for row in trial.rows if not trial.is_aside(row)))


def _comparisons(summary: Summary) -> list[Comparison]:
    phases = phases_of(summary)
    trials = summary.compared
    # A dimension that not all systems have is none that they are compared at.
    shared = [key for key in summary.dimensions if all(key in trial.point for trial in trials if trial.rows)]
    points: dict[str, list[Trial]] = {}
    for trial in trials:
        points.setdefault(point_name({key: trial.point[key] for key in shared if key in trial.point}), []).append(trial)
    found = []
    for phase in phases:
        for point, at_point in points.items():
            best: dict[str, Result] = {}
            for trial in at_point:
                each = result(trial, phase)
                # Of variants of one system its best one is compared.
                if each and (each.system not in best or best[each.system].value < each.value):
                    best[each.system] = each
            if len(best) > 1 and len({each.unit for each in best.values()}) == 1:
                which = [phase if phase not in (RUN, LOAD) or len(phases) > 1 else "", point if len(points) > 1 else ""]
                ordered = sorted(best.values(), key=lambda each: -each.value)
                found.append(Comparison(" ".join(filter(None, which)), ordered))
    return found


def _sentence(summary: Summary, comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return _nothing_to_compare(summary)
    if len(comparisons) == 1:
        return _one(comparisons[0])
    ahead: Counter[str] = Counter()
    ratios: dict[str, list[float]] = {}
    for each in comparisons:
        if each.is_tie:
            ahead[""] += 1
        else:
            ahead[each.results[0].system] += 1
            ratios.setdefault(each.results[0].system, []).append(each.ratio)
    parts = []
    for system, count in sorted(ahead.items(), key=lambda item: (item[0] == "", -item[1])):
        if system:
            low, high = min(ratios[system]), max(ratios[system])
            times = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
            parts.append(
                f"{system} was the fastest in {count} of {len(comparisons)} comparisons ({times} times the second)"
            )
        else:
            parts.append(f"{count} {'was a tie' if count == 1 else 'were ties'}")
    unknown = " — one run each, so how much of that is noise is not known" if _unknown(comparisons) else ""
    return f"{'; '.join(parts)}{unknown}."


def _one(comparison: Comparison) -> str:
    first, second = comparison.results[:2]
    others = "".join(f", {each.system} {each}" for each in comparison.results[2:])
    numbers = f"{first.system} {first}, {second.system} {second}{others}"
    if comparison.is_tie:
        return f"A tie: {first.system} and {second.system} differ by less than their repeats do ({numbers})."
    faster = f"{first.system} was {comparison.ratio:.2f} times as fast as {second.system}"
    if comparison.is_tie is None:
        return f"{faster} in a single run, so how much of that is noise is not known ({numbers})."
    return f"{faster}, beyond the spread of the repeats ({numbers})."


def _unknown(comparisons: Sequence[Comparison]) -> bool:
    return any(each.is_tie is None for each in comparisons)


def _nothing_to_compare(summary: Summary) -> str:
    measured = [
        (trial, found)
        for trial in summary.compared
        for phase in phases_of(summary)
        if (found := result(trial, phase)) is not None
    ]
    if not measured:
        return "No system has valid numbers: there is no winner."
    systems = systems_of([trial for trial, _ in measured])
    if len(systems) > 1:
        return f"{', '.join(systems)} were not measured at the same point: there is nothing to compare."
    ordered = sorted((found for _, found in measured), key=lambda each: -each.value)
    if len(ordered) == 1:
        return f"Only {systems[0]} has valid numbers, so there is no comparison: {ordered[0]}."
    return (
        f"Only {systems[0]} has valid numbers, so there is no comparison of systems; it reached {ordered[-1]} to"
        f" {ordered[0]}."
    )


def _caveats(summary: Summary, comparisons: Sequence[Comparison]) -> list[str]:
    found = []
    if summary.unequal:
        names = ", ".join(name.replace("_", " ") for name in summary.unequal)
        found.append(f"The conditions are not equal: {names}. They are marked in the table of conditions.")
    bad = [trial for trial in summary.compared if trial.status != "ok"]
    if bad:
        found.append(
            f"{len(bad)} of {len(summary.compared)} have no valid numbers: {', '.join(each.name for each in bad)}."
        )
    if summary.canary is not None and summary.canary.drifts:
        found.append(f"The hosts were not the same before all trials: {summary.canary.drifts[0].what}.")
    if any(each.is_tie is not None for each in comparisons):
        found.append("± is the standard deviation of the repeats; results whose intervals overlap are called a tie.")
    targets = any(trial.conditions.target for trial in summary.compared)
    if targets:
        found.append("A target rate was set: compare latencies, not throughput.")
    return [*found, *(f"{note[:1].upper()}{note[1:]}." for note in summary.notes)]
