"""Compares what faults cost in two experiments; docs/method.md#two-experiments has the rule.

A time beyond the window has no ratio and no mean, so ranks decide instead of intervals.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from dohyo.summary.fault_figures import (
    NEVER,
    OF_FAULTS,
    OF_RUNS,
    FaultFigure,
    SameFault,
    of_healing,
    same_faults,
)
from dohyo.summary.results import ChangeVerdict, Trial

# Largest probability with which chance may put all rounds of one experiment beyond all of the other: with four
# rounds each it is 1 / 70.
_CHANCE = 0.025
# Factor by which a round may lose more than the worst round before.
_AS_MUCH = 2
# Resolution of all figures in seconds.
_SECOND = 1.0


@dataclass(frozen=True)
class FaultChange:
    """A figure of a fault before and after, a value for each round; None: beyond the window.

    :ivar fault: fault, such as "kill(node2)"; `figure` is its figure
    :ivar words: both sides as text
    :ivar verdict: None if the figure is neither good nor bad
    """

    system: str
    point: dict[str, str]
    phase: str
    fault: str
    figure: str
    before: list[float | None]
    after: list[float | None]
    words: tuple[str, str]
    verdict: ChangeVerdict | None
    reason: str | None = None


def fault_changes(
    before: Sequence[Trial], after: Sequence[Trial], margin: float, other_rates: Collection[str] = ()
) -> Iterator[FaultChange]:
    """Yields each figure of each fault in either experiment; a figure that one side lacks is inconclusive.

    :param before: valid rounds of a system at a point
    :param after: valid rounds in the other experiment
    :param other_rates: phases with different rates, in which counts, latencies and the healing of written records
        cannot be compared
    """
    one, other = ({(each.phase, each.number, each.name): each for each in same_faults(of)} for of in (before, after))
    for at, named in (one | other).items():
        sides = [of.get(at) or replace(named, found=[]) for of in (one, other)]
        figures = [*OF_FAULTS, *(OF_RUNS if named.number == 1 else ())]
        if named.phase in other_rates:
            figures = [each for each in figures if each.in_seconds or each.counts_wrong]
        else:
            figures += _of_healing(*sides)
        for figure in figures:
            rounds = [_of_rounds(figure, each, trials) for each, trials in zip(sides, (before, after), strict=True)]
            found = [_known(values) for values in rounds]
            if not any(found):
                continue
            verdict, reason = _verdict(figure, rounds[0], rounds[1], margin) if figure.judged else (None, None)
            samples = [[None if value == NEVER else value for value in values] for values in found]
            yield FaultChange(
                named.trial.system,
                named.trial.point,
                named.phase,
                named.name,
                figure.head,
                samples[0],
                samples[1],
                (figure.words(found[0], len(rounds[0])), figure.words(found[1], len(rounds[1]))),
                verdict,
                reason,
            )


def worse_loss(before: Sequence[float], after: Sequence[float], *, whole_before: bool) -> str | None:
    """Returns why a loss is a regression for any number of rounds; None without a loss or if as much was lost before.

    :param before: records lost in each round, if known
    :param after: the same in the other experiment
    :param whole_before: True if the losses of every round before are known
    """
    most, worst = max(before, default=0.0), max(after, default=0.0)
    if worst <= _AS_MUCH * most:
        return None
    if most:
        return f"at most {most:,.0f} in a round before"
    return "there was none before" if whole_before else "none is known before"


def _of_healing(*sides: SameFault) -> Iterator[FaultFigure]:
    """Yields the figures of each kind that either side knows, without times if one side had nothing to heal."""
    for what in dict.fromkeys(what for side in sides for what in side.healing):
        idle = any(what in side.healing and {did.count for did in side.healing[what]} == {0} for side in sides)
        yield from (
            replace(figure, head=f"{what}: {figure.head}")
            for figure in of_healing(what)
            if not (idle and figure.in_seconds)
        )


def _of_rounds(figure: FaultFigure, fault: SameFault, trials: Sequence[Trial]) -> list[float | None]:
    """Returns a value for each round with the fault, because runs of a round are not independent; None: unknown."""
    of_rounds = (
        [(run, cost) for run, cost in fault.found if any(run is each for each in trial.faults)] for trial in trials
    )
    # Good runs of the round do not compensate for lost or wrong records.
    of_round = max if figure.counts_wrong else statistics.median
    return [of_round(values) if (values := figure.values(found)) else None for found in of_rounds if found]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _verdict(
    figure: FaultFigure, all_before: Sequence[float | None], all_after: Sequence[float | None], margin: float
) -> tuple[ChangeVerdict, str | None]:
    before, after = _known(all_before), _known(all_after)
    if figure.counts_wrong and (worse := worse_loss(before, after, whole_before=None not in all_before)):
        return "regression", worse
    if not before or not after:
        return "inconclusive", f"not known {'after' if before else 'before'}"
    finite = [value for value in (*before, *after) if value != NEVER]
    known_to = max(_SECOND if figure.in_seconds else 0.0, margin * max(finite, default=0.0))
    enough = 1 / math.comb(len(before) + len(after), len(before)) <= _CHANCE
    # The difference of two infinite times is not a number.
    alike = set(before) == set(after) == {NEVER} or (
        NEVER not in (*before, *after) and max(*before, *after) - min(*before, *after) <= known_to
    )
    more, less = min(after) > max(before) + known_to, max(after) < min(before) - known_to
    if not enough:
        return "inconclusive", f"{len(before)} and {len(after)} rounds; 4 each would tell"
    if None in (*all_before, *all_after):
        return "inconclusive", "not known in all rounds"
    if alike:
        return "within", None
    return ("regression" if more else "improvement" if less else "inconclusive"), None
