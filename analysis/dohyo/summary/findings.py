"""Compares figures of two experiments that have no ratio: shares of errors, of records not found and of stale reads,
losses, and figures that one experiment lacks. docs/method.md#two-experiments has the rules.
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

# Shares within a hundredth of a percent are the same: a tenth of the errors that make a run invalid.
SHARE_MARGIN = 0.0001
# Degrees of freedom of a binomial error, which the number of rounds does not limit.
_MANY = 1e6


@dataclass(frozen=True)
class Finding:
    """A figure before and after without a ratio.

    :ivar phase: None for all phases together
    :ivar figure: figure, such as "errors", or "READ p99" if it is not known
    :ivar before: share or count of each round; empty if it is not known in each round
    :ivar words: both sides as text
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
    """A count out of all attempts in a round."""

    found: int
    of: int


def findings(
    before: Sequence[Trial], after: Sequence[Trial], margin: float, other_rates: Sequence[str] = ()
) -> Iterator[Finding]:
    """Yields each share of records that is not 0 in all rounds, and each loss outside of faults.

    :param before: all rounds of a system at a point
    :param after: all rounds in the other experiment
    :param other_rates: phases with different rates, in which errors under faults are not compared as counts
    """
    one, other = ([trial for trial in rounds if trial.status == "ok"] for rounds in (before, after))
    phases = [_phases(rounds) for rounds in (one, other)]
    under_faults = {run.phase for trial in (*one, *other) for run in trial.faults}
    for phase in (each for each in phases[0] if each in phases[1]):
        if phase in under_faults and phase not in other_rates:
            continue
        for name, key in (("errors", "errors"), ("not found", "not_found")):
            rounds = [[_records(each, phase, key) for each in of if phase in _phases([each])] for of in (one, other)]
            yield from _share(one[0], phase, name, rounds[0], rounds[1], margin)
    for phase in (each for each in phases[0] if each in phases[1]):
        yield from _scans(one, other, phase, margin)
    if set(phases[0]) - under_faults:
        rounds = [[_stale(trial.accounting) for trial in of] for of in (one, other)]
        yield from _share(one[0], None, "stale reads", rounds[0], rounds[1], margin)
    if not under_faults:
        yield from _losses(before, after)


def _phases(rounds: Sequence[Trial]) -> list[str]:
    return list(dict.fromkeys(row.phase for trial in rounds for row in trial.measured_rows))


def _records(trial: Trial, phase: str, key: str) -> _Counted | None:
    """Returns the records of a phase with that outcome. A scan has one outcome for any number of records."""
    tried = count = 0
    for row in trial.measured_rows:
        # A READ-MODIFY-WRITE counts as its READ and its UPDATE.
        if row.phase != phase or not is_success(row.operation) or "-" in row.operation:
            continue
        succeeded = row.operations if row.operation == "SCAN" else row.records
        if succeeded is None or row.errors is None or row.not_found is None:
            return None
        tried += succeeded + row.errors + row.not_found
        count += getattr(row, key)
    return _Counted(count, tried) if tried else None


def _scans(before: Sequence[Trial], after: Sequence[Trial], phase: str, margin: float) -> Iterator[Finding]:
    """Yields rows per scan if they differ: then rates and latencies measure different work."""
    found = [
        [
            row.records / row.operations
            for trial in rounds
            for row in trial.measured_rows
            if (row.phase, row.operation) == (phase, "SCAN") and row.records is not None and row.operations
        ]
        for rounds in (before, after)
    ]
    if not all(found):
        return
    one, other = map(fmean, found)
    if min(one, other) < max(one, other) * (1 - margin):
        words, why = (f"{one:,.1f}", f"{other:,.1f}"), "scans of different length are different work"
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
    """Yields the shares of the rounds, unless all known shares are 0 or none is known."""
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
    """Returns the verdict of Welch's interval of the difference; a share of 0 has no ratio."""
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
    """Returns the mean of the rounds' shares, with the larger of two errors.

    Rounds may have the same count by chance, with no scatter between them. The binomial error then applies, with one
    more than was counted, because 0 of n does not prove a probability of 0.
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
    """Yields lost and wrong records, also of rounds that are invalid because of them."""
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
