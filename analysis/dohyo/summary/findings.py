"""What is compared of two experiments beside ratios and the cost of faults: shares of errors, of what was not found and
of stale reads, losses, and figures that one of the two does not know. docs/method.md#two-experiments has the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import NamedTuple

from dohyo import statistics
from dohyo.evidence.accounting import Accounting
from dohyo.figures import UNKNOWN, whole
from dohyo.operations import is_success
from dohyo.summary.fault_changes import worse_loss
from dohyo.summary.results import ChangeVerdict, Trial

# A share counts as the same within a hundredth of a percent: a tenth of the errors that make a run invalid.
SHARE_MARGIN = 0.0001
# Counts within a round are known as exactly as chance allows, not as the few rounds do.
_MANY = 1e6


@dataclass(frozen=True)
class Finding:
    """One figure before and after that is no ratio.

    :ivar phase: None: of all phases together
    :ivar figure: such as "errors", or "READ p99" if it is not known
    :ivar before: share or count of each round; empty: not known in each round
    :ivar words: both in words
    """

    system: str
    point: dict[str, str]
    phase: str | None
    figure: str
    before: list[float]
    after: list[float]
    words: tuple[str, str]
    verdict: ChangeVerdict
    reason: str | None = None


class _Counted(NamedTuple):
    """So many of all that were tried in a round."""

    found: int
    of: int


def findings(
    before: Sequence[Trial], after: Sequence[Trial], margin: float, other_rates: Sequence[str] = ()
) -> Iterator[Finding]:
    """Each share of records that is not 0 in all rounds, and each loss outside of faults.

    :param before: all rounds of a system at a point
    :param after: those of the other experiment
    :param other_rates: phases that were at other rates: there errors under faults are not compared as counts
    """
    one, other = ([trial for trial in rounds if trial.status == "ok"] for rounds in (before, after))
    phases = [_phases(rounds) for rounds in (one, other)]
    under_faults = {run.phase for trial in (*one, *other) for run in trial.faults}
    for phase in (each for each in phases[0] if each in phases[1]):
        if phase in under_faults and phase not in other_rates:
            continue
        for name, key in (("errors", "errors"), ("not found", "not_found")):
            rounds = [[_records(trial, phase, key) for trial in of if _has(trial, phase)] for of in (one, other)]
            yield from _share(one[0], phase, name, rounds[0], rounds[1], margin)
    for phase in (each for each in phases[0] if each in phases[1]):
        yield from _scans(one, other, phase, margin)
    if set(phases[0]) - under_faults:
        rounds = [[_stale(trial.accounting) for trial in of] for of in (one, other)]
        yield from _share(one[0], None, "stale reads", rounds[0], rounds[1], margin)
    if not under_faults:
        yield from _losses(before, after)


def _has(trial: Trial, phase: str) -> bool:
    return any(row.phase == phase and not trial.is_aside(row) for row in trial.rows)


def _phases(rounds: Sequence[Trial]) -> list[str]:
    return list(dict.fromkeys(row.phase for trial in rounds for row in trial.rows if not trial.is_aside(row)))


def _records(trial: Trial, phase: str, key: str) -> _Counted | None:
    """Records of a phase with that outcome. A scan has one outcome for any number of records."""
    tried = count = 0
    for row in trial.rows:
        # A READ-MODIFY-WRITE counts as its READ and its UPDATE.
        if row.phase != phase or trial.is_aside(row) or not is_success(row.operation) or "-" in row.operation:
            continue
        succeeded = row.operations if row.operation == "SCAN" else row.records
        if succeeded is None or row.errors is None or row.not_found is None:
            return None
        tried += succeeded + row.errors + row.not_found
        count += getattr(row, key)
    return _Counted(count, tried) if tried else None


def _scans(before: Sequence[Trial], after: Sequence[Trial], phase: str, margin: float) -> Iterator[Finding]:
    """Rows per scan, if they are not the same: then neither rates nor latencies are of the same work."""
    found = [
        [
            row.records / row.operations
            for trial in rounds
            for row in trial.rows
            if (row.phase, row.operation) == (phase, "SCAN")
            and not trial.is_aside(row)
            and row.records is not None
            and row.operations
        ]
        for rounds in (before, after)
    ]
    if not all(found):
        return
    one, other = map(fmean, found)
    if min(one, other) < max(one, other) * (1 - margin):
        words, why = (f"{one:,.1f}", f"{other:,.1f}"), "scans of another length are other work"
        yield Finding(
            before[0].system, before[0].point, phase, "rows per scan", found[0], found[1], words, "inconclusive", why
        )


def _stale(of: Accounting | None) -> _Counted | None:
    return _Counted(of.stale_reads, of.reads) if of and of.reads else None


def _share(
    trial: Trial,
    phase: str | None,
    figure: str,
    before: Sequence[_Counted | None],
    after: Sequence[_Counted | None],
    margin: float,
) -> Iterator[Finding]:
    """The shares of the rounds; none if they are 0 wherever they are known, or known nowhere."""
    known = [[each for each in rounds if each] for rounds in (before, after)]
    if not any(known):
        return
    missing = [f"not known in {len(rounds) - len(of)} of {len(rounds)} rounds {when}"
               for rounds, of, when in zip((before, after), known, ("before", "after"), strict=True)
               if len(of) < len(rounds)]  # fmt: skip
    if not any(each.found for of in known for each in of) and not missing:
        return
    shares = [[each.found / each.of for each in of] for of in known]
    verdict: ChangeVerdict = "inconclusive"
    reason: str | None = None
    if all(len(of) > 1 for of in known):
        verdict, reason = _judged(known[0], known[1], margin)
    elif all(known):
        single = [len(of) == 1 for of in known]
        reason = f"one round {'each' if all(single) else 'before' if single[0] else 'after'}"
    if missing and verdict != "regression":
        verdict, reason = "inconclusive", " and ".join(missing)
    words = [_percent(fmean(of)) if of else UNKNOWN for of in shares]
    yield Finding(trial.system, trial.point, phase, figure, shares[0], shares[1], (words[0], words[1]), verdict, reason)


def _judged(before: Sequence[_Counted], after: Sequence[_Counted], margin: float) -> tuple[ChangeVerdict, str | None]:
    """The verdict of Welch's interval of the difference: a share of 0 has no ratio."""
    one, other = _estimate(before), _estimate(after)
    error = math.hypot(one.error, other.error)
    freedom = error**4 / sum(each.error**4 / each.freedom for each in (one, other))
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
    """The mean of the rounds' shares, known as exactly as the rounds and the counts allow.

    Rounds that happen to have the same count do not scatter, and counts do: that error is the binomial one, with one
    more than was counted, because 0 of n does not mean that there are none.
    """
    shares = [each.found / each.of for each in rounds]
    found = statistics.Estimate(len(shares), fmean(shares), stdev(shares) / math.sqrt(len(shares)), len(shares) - 1)
    total = sum(each.of for each in rounds)
    likely = min(0.5, (sum(each.found for each in rounds) + 1) / (total + 2))
    binomial = math.sqrt(likely * (1 - likely) / total)
    return found if found.error > binomial else replace(found, error=binomial, freedom=_MANY)


_LOSSES: tuple[tuple[str, Callable[[Accounting], int]], ...] = (
    ("lost", lambda of: of.lost + of.missing),
    ("corrupt", lambda of: of.corrupt + of.corrupt_reads),
    ("never written", lambda of: of.unwritten + of.unwritten_reads),
)


def _losses(before: Sequence[Trial], after: Sequence[Trial]) -> Iterator[Finding]:
    """What no system may do, also in rounds that are invalid because of it."""
    for figure, count in _LOSSES:
        one, other = (
            [float(count(trial.accounting)) for trial in rounds if trial.accounting] for rounds in (before, after)
        )
        reason = worse_loss(one, other, whole_before=len(one) == len(before))
        if reason:
            words = (whole(round(max(one))) if one else UNKNOWN, whole(round(max(other))))
            yield Finding(before[0].system, before[0].point, None, figure, one, other, words, "regression", reason)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _points(share: float) -> str:
    return f"{100 * share:.2g}" if abs(share) < 0.1 else f"{100 * share:.0f}"
