"""Finds reasons to doubt a comparison of two experiments: distrust of either of them, and differences between their
hosts. docs/method.md#two-experiments explains the rules.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dohyo.evidence import canary
from dohyo.evidence.canary import Canary, CanaryFigure
from dohyo.summary.comparison import rounds_of, target_of
from dohyo.summary.notes import UNSTEADY, notes_of
from dohyo.summary.results import ChangeVerdict, Summary, Trial
from dohyo.summary.trust import COMPUTING, MOST_DRIFTS, doubts

# Beginnings of reasons that the comparison already reports in another form: a figure, an interval, an unequal condition
# or a trial without numbers.
_WEIGHED = re.compile(
    "no valid numbers|no records|no highest rate|interrupted rounds|invalid rounds|one round|[0-9]+ rounds|less exact"
    "|not decided"
    "|p99 not compared"
    "|unequal |too noisy|a preliminary|some comparisons are preliminary|the hosts differed|the hosts favoured"
    "|hosts differed"
    "|.* of the hosts too unsteady|a target rate|the equal rate was|a share of a system's|no latencies at an equal"
    "|faults in the|lost or stale under|not read back under|stricter |scale |small data|clients on the servers' host"
)
# Reasons about the system's own behaviour. If only the first experiment has one, the comparison is not in doubt.
_OF_THE_SYSTEM = re.compile(r"collapsed|not steady$|changes of level")
_FIRST, _SECOND = "the first experiment", "the second experiment"


@dataclass(frozen=True)
class Caution:
    """A reason to distrust one experiment or both, or a difference between their hosts.

    :ivar holds: experiment to which the reason applies (`before`, `after` or `both`); `between`: the hosts differ
    :ivar verdict: "inconclusive" if the reason puts the system's figures in doubt
    """

    system: str
    point: dict[str, str]
    holds: Literal["before", "after", "both", "between"]
    text: str
    verdict: ChangeVerdict | None = None


def of_reasons(before: Summary, first: Trial, after: Summary, second: Trial) -> Iterator[Caution]:
    """Yields reasons to distrust a system's figures at a point, except those that the comparison reports elsewhere."""
    one, other = (
        {reason.short: reason.text for reason in doubts(_alone(summary, trial))}
        for summary, trial in ((before, first), (after, second))
    )
    for short in one | other:
        if _WEIGHED.match(short):
            continue
        if short in one and short in other:
            doubt: ChangeVerdict | None = "inconclusive" if _is_worse(short, first, second) else None
            yield Caution(first.system, first.point, "both", other[short], doubt)
        elif short in other:
            yield Caution(first.system, first.point, "after", other[short], "inconclusive")
        else:
            verdict: ChangeVerdict | None = None if _OF_THE_SYSTEM.match(short) else "inconclusive"
            yield Caution(first.system, first.point, "before", one[short], verdict)


def _is_worse(short: str, first: Trial, second: Trial) -> bool:
    """Returns whether a reason that applies to both experiments is clearly stronger in the second one."""
    if short == "not steady":
        return any(
            abs(math.log(trend)) > abs(math.log(first.trends.get(phase, 1.0))) + math.log(UNSTEADY)
            for phase, trend in second.trends.items()
            if target_of(second, phase) is None
        )
    counts = {
        "collapsed": lambda trial: len(trial.collapses),
        "changes of level": lambda trial: len(trial.level_changes),
    }
    return short in counts and counts[short](second) > counts[short](first)


def _alone(summary: Summary, trial: Trial) -> Summary:
    """Returns the part of a summary that concerns one system at one point of the matrix."""
    rounds = rounds_of(trial, summary.trials)
    other_names = {candidate.name for candidate in summary.trials} - {candidate.name for candidate in rounds}
    warnings = [text for text in summary.warnings if not any(f"/{name}/" in text for name in other_names)]
    merged = [trial] if summary.merged else []
    return Summary(summary.name, rounds, merged, notes=notes_of([trial], rounds), warnings=warnings)


def of_hosts(before: Sequence[Trial], after: Sequence[Trial]) -> tuple[list[Caution], list[float]]:
    """Returns the differences between a system's hosts in two experiments, and the ratios (after / before) of computing
    speeds that differ.

    :param before: valid rounds of the first experiment, at least one
    :param after: valid rounds of the second experiment
    """
    system, point = before[0].system, before[0].point
    sides = [[trial.canary for trial in rounds if trial.canary] for rounds in (before, after)]
    if not any(sides):
        return [], []
    if not all(sides):
        which: Literal["before", "after"] = "after" if sides[0] else "before"
        text = f"The hosts have no canary in {_SECOND if sides[0] else _FIRST}, so they may have differed."
        return [Caution(system, point, which, text, "inconclusive")], []
    comparison = canary.compare({_FIRST: _usual(sides[0]), _SECOND: _usual(sides[1])})
    if comparison is None:
        text = "No host has a canary in both experiments, so the hosts may have differed."
        return [Caution(system, point, "between", text)], []
    drifts = sorted(comparison.drifts, key=lambda drift: drift.figure not in COMPUTING)
    sentences = [f"Hosts differed: {drift.what}." for drift in drifts[:MOST_DRIFTS]]
    if (more := len(drifts) - MOST_DRIFTS) > 0:
        sentences.append(f"{more} other figure{'s' if more > 1 else ''} of the hosts also differed.")
    if comparison.unsteady:
        which_figures = ", ".join(comparison.unsteady)
        sentences.append(f"Hosts may have differed in {which_figures}: too unsteady to tell.")
    computed = [
        drift.value / drift.usual if drift.trial == _SECOND else drift.usual / drift.value
        for drift in drifts
        if drift.figure in COMPUTING
    ]
    return [Caution(system, point, "between", text) for text in sentences], computed


def _usual(canaries: Sequence[Canary]) -> Canary:
    """Returns a canary whose figures are medians over the trials of one experiment."""
    figures: dict[tuple[str, str, str | None], list[CanaryFigure]] = {}
    for measurement in canaries:
        for figure in measurement.figures:
            figures.setdefault((figure.host, figure.name, figure.of), []).append(figure)
    return Canary(
        None,
        [
            replace(
                values[0],
                median=statistics.median(figure.median for figure in values),
                low=statistics.median(figure.low for figure in values),
                high=statistics.median(figure.high for figure in values),
                slices=min(figure.slices for figure in values),
            )
            for values in figures.values()
        ],
    )
