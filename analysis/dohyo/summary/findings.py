"""Compares the figures of two experiments that have no ratio: shares (errors, missing records, stale reads), losses,
costs of faults, and figures that one experiment lacks. docs/method.md#two-experiments explains the rules.

The costs of faults are compared by ranks instead of intervals, because a time beyond the window has no mean.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

from dohyo import statistics
from dohyo.figures import UNKNOWN, whole
from dohyo.operations import is_success
from dohyo.summary import fault_figures
from dohyo.summary.fault_figures import NEVER, WRONG, FaultFigure, SameFault, of_healing, same_faults
from dohyo.summary.results import ChangeVerdict, Trial

# Difference within which two shares count as equal: a tenth of the share of errors that makes a run invalid.
SHARE_MARGIN = 0.0001
# Degrees of freedom of a binomial error, which do not depend on the number of rounds.
_MANY = 1e6
# Largest accepted probability that all rounds of one experiment lie beyond all rounds of the other by chance. With four
# rounds each, that probability is 1 / 70.
_CHANCE = 0.025
# Factor by which the losses of a round may exceed those of the worst round of the first experiment.
_AS_MUCH = 2
# Resolution of the times of faults, in seconds.
_SECOND = 1.0


@dataclass(frozen=True)
class Finding:
    """A figure in both experiments that has no ratio.

    :ivar phase: None for all phases together
    :ivar fault: fault that the figure belongs to, such as "kill(node2)"; None for other figures
    :ivar figure: name of the figure, such as "errors", or "READ p99" if one experiment lacks it
    :ivar before: values of the rounds, None for a time beyond the window; empty if unknown
    :ivar words: the figure in the first and the second experiment, as text
    :ivar verdict: None if the figure is neither good nor bad
    """

    system: str
    point: dict[str, str]
    phase: str | None
    fault: str | None
    figure: str
    before: Sequence[float | None]
    after: Sequence[float | None]
    words: tuple[str, str]
    verdict: ChangeVerdict | None
    reason: str | None = None


def finding(
    trial: Trial,
    phase: str | None,
    figure: str,
    values: Sequence[Sequence[float | None]],
    texts: Sequence[str],
    verdict: ChangeVerdict | None,
    reason: str | None,
    fault: str | None = None,
) -> Finding:
    """Returns a finding; `values` and `texts` have an entry for each experiment."""
    (before, after), (one, other) = values, texts
    return Finding(trial.system, trial.point, phase, fault, figure, before, after, (one, other), verdict, reason)


# A number of events, and the number of attempts in the same round.
_Counted = tuple[int, int]


def findings(
    before: Sequence[Trial], after: Sequence[Trial], margin: float, other_rates: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yields shares that are above 0 in any round, unequal rows per scan and, without faults, losses.

    :param before: all rounds of a system at a point
    :param after: all rounds in the other experiment
    :param other_rates: phases with different rates; if they had faults, their errors are compared as shares, not counts
    """
    one, other = ([trial for trial in rounds if trial.status == "ok"] for rounds in (before, after))
    phases = [_phases(rounds) for rounds in (one, other)]
    under_faults = {run.phase for trial in (*one, *other) for run in trial.faults}
    for phase in (name for name in phases[0] if name in phases[1]):
        if phase in under_faults and phase not in other_rates:
            continue
        for name, key in (("errors", "errors"), ("not found", "not_found")):
            rounds = [
                [_records(trial, phase, key) for trial in side if phase in _phases([trial])] for side in (one, other)
            ]
            yield from _share(one[0], phase, name, rounds[0], rounds[1], margin)
    for phase in (name for name in phases[0] if name in phases[1]):
        yield from _scans(one, other, phase, margin)
    if set(phases[0]) - under_faults:
        accounts = [[trial.accounting for trial in side] for side in (one, other)]
        rounds = [
            [(account.stale_reads, account.reads) if account and account.reads else None for account in side]
            for side in accounts
        ]
        yield from _share(one[0], None, "stale reads", rounds[0], rounds[1], margin)
    if not under_faults:
        yield from _losses(before, after)


def _phases(rounds: Sequence[Trial]) -> list[str]:
    return list(dict.fromkeys(row.phase for trial in rounds for row in trial.measured_rows))


def _records(trial: Trial, phase: str, key: str) -> _Counted | None:
    """Returns the number of records of a phase that had this outcome. A scan counts as one record."""
    tried = count = 0
    for row in trial.measured_rows:
        # A READ-MODIFY-WRITE is counted as a READ and an UPDATE.
        if row.phase != phase or not is_success(row.operation) or "-" in row.operation:
            continue
        succeeded = row.operations if row.operation == "SCAN" else row.records
        if succeeded is None or row.errors is None or row.not_found is None:
            return None
        tried += succeeded + row.errors + row.not_found
        count += getattr(row, key)
    return (count, tried) if tried else None


def _scans(before: Sequence[Trial], after: Sequence[Trial], phase: str, margin: float) -> Iterator[Finding]:
    """Yields the rows per scan if they differ, because rates and latencies then measure different work."""
    lengths = [
        [
            row.records / row.operations
            for trial in rounds
            for row in trial.measured_rows
            if (row.phase, row.operation) == (phase, "SCAN") and row.records is not None and row.operations
        ]
        for rounds in (before, after)
    ]
    if not all(lengths):
        return
    one, other = map(fmean, lengths)
    if min(one, other) < max(one, other) * (1 - margin):
        texts, why = (f"{one:,.1f}", f"{other:,.1f}"), "scans of different length are different work"
        yield finding(before[0], phase, "rows per scan", lengths, texts, "inconclusive", why)


def _share(
    trial: Trial,
    phase: str | None,
    figure: str,
    before: Sequence[_Counted | None],
    after: Sequence[_Counted | None],
    margin: float,
) -> Iterator[Finding]:
    """Yields a share if it is above 0 in any round, or known in only some of them."""
    counts = [[count for count in rounds if count] for rounds in (before, after)]
    if not any(counts):
        return
    missing = [f"not known in {len(rounds) - len(side)} of {len(rounds)} rounds {when}"
               for rounds, side, when in zip((before, after), counts, ("before", "after"), strict=True)
               if len(side) < len(rounds)]  # fmt: skip
    if not any(number for side in counts for number, _ in side) and not missing:
        return
    shares = [[number / total for number, total in side] for side in counts]
    verdict: ChangeVerdict = "inconclusive"
    reason: str | None = None
    if all(len(side) > 1 for side in counts):
        verdict, reason = _judged(counts[0], counts[1], margin)
    elif all(counts):
        single = [len(side) == 1 for side in counts]
        reason = f"one round {'each' if all(single) else 'before' if single[0] else 'after'}"
    if missing and verdict != "regression":
        verdict, reason = "inconclusive", " and ".join(missing)
    texts = [f"{_points(fmean(side))} %" if side else UNKNOWN for side in shares]
    yield finding(trial, phase, figure, shares, texts, verdict, reason)


def _judged(before: Sequence[_Counted], after: Sequence[_Counted], margin: float) -> tuple[ChangeVerdict, str | None]:
    """Returns the verdict from Welch's interval of the difference, because a share of 0 has no ratio."""
    one, other = _estimate(before), _estimate(after)
    error = math.hypot(one.error, other.error)
    freedom = error**4 / sum(estimate.error**4 / estimate.freedom for estimate in (one, other))
    half, difference = statistics.student_t(max(freedom, 1)) * error, other.mean - one.mean
    none = max(SHARE_MARGIN, margin * max(one.mean, other.mean))
    if max(abs(difference - half), abs(difference + half)) <= none:
        return "within", None
    if difference - half > none:
        return "regression", None
    if difference + half < -none:
        return "improvement", None
    ends = (max(-1.0, difference - half), min(1.0, difference + half))
    return "inconclusive", f"{_points(ends[0])} to {_points(ends[1])} percentage points more"


def _estimate(rounds: Sequence[_Counted]) -> statistics.Estimate:
    """Returns the mean of the rounds' shares, with the larger of two errors.

    Rounds may have the same count by chance, with no scatter between them. The binomial error then applies. It is
    computed for one event more than was counted, because 0 of n does not prove a probability of 0.
    """
    shares = [number / total for number, total in rounds]
    estimate = statistics.Estimate(len(shares), fmean(shares), stdev(shares) / math.sqrt(len(shares)), len(shares) - 1)
    total = sum(total for _, total in rounds)
    likely = min(0.5, (sum(number for number, _ in rounds) + 1) / (total + 2))
    binomial = math.sqrt(likely * (1 - likely) / total)
    return estimate if estimate.error > binomial else replace(estimate, error=binomial, freedom=_MANY)


def _losses(before: Sequence[Trial], after: Sequence[Trial]) -> Iterator[Finding]:
    """Yields lost and wrong records, including those of rounds that are invalid because of them."""
    for figure, count in WRONG.items():
        one, other = (
            [float(count(trial.accounting)) for trial in rounds if trial.accounting] for rounds in (before, after)
        )
        reason = worse_loss(one, other, whole_before=len(one) == len(before))
        if reason:
            texts = (whole(round(max(one))) if one else UNKNOWN, whole(round(max(other))))
            yield finding(before[0], None, figure, (one, other), texts, "regression", reason)


def _points(share: float) -> str:
    return f"{100 * share:.2g}" if abs(share) < 0.1 else f"{100 * share:.0f}"


def fault_changes(
    before: Sequence[Trial], after: Sequence[Trial], margin: float, other_rates: Collection[str] = ()
) -> Iterator[Finding]:
    """Yields each figure of each fault in either experiment. A figure that one experiment lacks is inconclusive.

    :param before: valid rounds of a system at a point
    :param after: valid rounds in the other experiment
    :param other_rates: phases with different rates, in which counts, latencies and the healing of written records
        cannot be compared
    """
    one, other = (
        {(fault.phase, fault.number, fault.name): fault for fault in same_faults(trials)} for trials in (before, after)
    )
    for key, named in (one | other).items():
        sides = [faults.get(key) or replace(named, cases=[]) for faults in (one, other)]
        figures = [*fault_figures.OF_FAULTS, *(fault_figures.OF_RUNS if named.number == 1 else ())]
        if named.phase in other_rates:
            figures = [figure for figure in figures if figure.in_seconds or figure.counts_wrong]
        else:
            figures += _of_healing(*sides)
        for figure in figures:
            rounds = [_of_rounds(figure, side, trials) for side, trials in zip(sides, (before, after), strict=True)]
            present = [_known(values) for values in rounds]
            if not any(present):
                continue
            verdict, reason = _of_fault(figure, rounds[0], rounds[1], margin) if figure.judged else (None, None)
            samples = [[None if value == NEVER else value for value in values] for values in present]
            texts = [
                figure.words(side_values, len(values)) for side_values, values in zip(present, rounds, strict=True)
            ]
            yield finding(named.trial, named.phase, figure.head, samples, texts, verdict, reason, named.name)


def worse_loss(before: Sequence[float], after: Sequence[float], *, whole_before: bool) -> str | None:
    """Returns why a loss is a regression even with few rounds; None if it is at most twice the loss before.

    :param before: records lost in each round, if known
    :param after: the same in the other experiment
    :param whole_before: whether the losses of all rounds of the first experiment are known
    """
    most, worst = max(before, default=0.0), max(after, default=0.0)
    if worst <= _AS_MUCH * most:
        return None
    if most:
        return f"at most {most:,.0f} in any round of the earlier experiment"
    return "there were none before" if whole_before else "the number before is unknown"


def _of_healing(*sides: SameFault) -> Iterator[FaultFigure]:
    """Yields the figures of each kind of healing in either experiment, without times if one had nothing to heal."""
    for kind in dict.fromkeys(kind for side in sides for kind in side.healing):
        idle = any(kind in side.healing and {did.count for did in side.healing[kind]} == {0} for side in sides)
        for figure in of_healing(kind):
            if not (idle and figure.in_seconds):
                yield replace(figure, head=f"{kind}: {figure.head}")


def _of_rounds(figure: FaultFigure, fault: SameFault, trials: Sequence[Trial]) -> list[float | None]:
    """Returns one value for each round with the fault, because runs of a round are not independent; None if unknown."""
    of_rounds = (
        [(run, cost) for run, cost in fault.cases if any(run is candidate for candidate in trial.faults)]
        for trial in trials
    )
    # Use the worst run of a round, because good runs do not compensate for lost or wrong records.
    of_round = max if figure.counts_wrong else median
    return [of_round(values) if (values := figure.values(cases)) else None for cases in of_rounds if cases]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _of_fault(
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
        return "inconclusive", f"{len(before)} and {len(after)} rounds; 4 in each experiment would be needed"
    if None in (*all_before, *all_after):
        return "inconclusive", "not known in all rounds"
    if alike:
        return "within", None
    return ("regression" if more else "improvement" if less else "inconclusive"), None
