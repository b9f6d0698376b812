"""What faults cost in two experiments compared; docs/method.md#two-experiments has the rule.

A time that is not in the window has no ratio and no mean, so that ranks decide and not intervals.
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

# That all rounds of one experiment are on one side of all of the other has this probability if nothing has changed:
# 1 / 70 with four rounds each.
_CHANCE = 0.025
# A round may lose so many times what the worst round before has lost.
_AS_MUCH = 2
# All figures in seconds are known to one.
_SECOND = 1.0


@dataclass(frozen=True)
class FaultChange:
    """One figure of a fault before and after, of each round; None among them: not in the window.

    :ivar fault: such as "kill(node2)"; its figure is `figure`
    :ivar words: both in words
    :ivar verdict: None: the figure is neither good nor bad
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
    """Each figure of each fault that either has; what one of them does not know is inconclusive.

    :param before: the rounds of a system at a point that are valid
    :param after: those of the other experiment
    :param other_rates: phases that were at other rates: counts, latencies, and how long it takes to heal what was
        written say nothing there
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
    """Why a loss is a regression whatever the number of rounds; None: it is none, or as much was lost before.

    :param before: records lost in each round, as far as it is known
    :param after: those of the other experiment
    :param whole_before: it is known of each round before
    """
    most, worst = max(before, default=0.0), max(after, default=0.0)
    if worst <= _AS_MUCH * most:
        return None
    if most:
        return f"at most {most:,.0f} in a round before"
    return "there was none before" if whole_before else "none is known before"


def _of_healing(*sides: SameFault) -> Iterator[FaultFigure]:
    """The figures of each kind that either side knows; where one had nothing to heal, it has no times."""
    for what in dict.fromkeys(what for side in sides for what in side.healing):
        idle = any(what in side.healing and {did.count for did in side.healing[what]} == {0} for side in sides)
        yield from (
            replace(figure, head=f"{what}: {figure.head}")
            for figure in of_healing(what)
            if not (idle and figure.in_seconds)
        )


def _of_rounds(figure: FaultFigure, fault: SameFault, trials: Sequence[Trial]) -> list[float | None]:
    """One value for each round that has the fault, as runs of a round are not independent; None: not known."""
    of_rounds = (
        [(run, cost) for run, cost in fault.found if any(run is each for each in trial.faults)] for trial in trials
    )
    # What no system may do is not made good by the other runs of the round.
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
    # Of infinity less infinity nobody knows what it is.
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
