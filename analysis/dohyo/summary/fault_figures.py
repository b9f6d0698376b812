"""Summarises the costs of faults over several runs, with the median and the range of each figure.

No mean is computed, because a time is infinite if its event did not happen in a run.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dohyo.evidence.accounting import Accounting
from dohyo.evidence.fault_costs import FaultCost, FaultedRun
from dohyo.evidence.healing import Healing
from dohyo.figures import milliseconds, rate, whole
from dohyo.summary.results import Trial

NEVER = math.inf


def _seconds(value: float) -> str:
    return f"{value:,.0f}"


def _tenths(value: float) -> str:
    return f"{value:,.1f}"


def _count(value: float) -> str:
    return whole(round(value))


@dataclass(frozen=True)
class FaultFigure:
    """A figure of a fault, or of a run with faults. Less is better, except for the rate before the fault.

    :ivar head: column head
    :ivar compute: function that returns the figure of a run and one of its faults; None if unknown
    :ivar write: function that formats the number
    :ivar counts_wrong: whether it counts lost or wrong records; a single one is too many
    :ivar judged: whether a change of the figure between two experiments counts as an improvement or a regression
    :ivar never: text for a run in which the event did not happen
    """

    head: str
    compute: Callable[[FaultedRun, FaultCost], float | None]
    write: Callable[[float], str] = _seconds
    counts_wrong: bool = False
    judged: bool = True
    never: str = "not in the window"

    @property
    def in_seconds(self) -> bool:
        """Returns whether the figure is a time, which is known to the second."""
        return self.head.endswith(" s")

    def values(self, cases: Sequence[tuple[FaultedRun, FaultCost]]) -> list[float]:
        """Returns the known values of the figure for these runs and faults."""
        return [value for run, fault in cases if (value := self.compute(run, fault)) is not None]

    def words(self, values: Sequence[float], runs: int | None = None) -> str:
        """Returns the median and, for several runs, the range.

        :param runs: number of runs, including those without a known value
        """
        if not values:
            return "\N{EN DASH}"
        middle = self._word(statistics.median(values))
        low, high = self._word(min(values)), self._word(max(values))
        note = f" ({len(values)} of {runs} known)" if runs is not None and len(values) < runs else ""
        return (middle if len(values) == 1 or low == high else f"{middle} [{low}, {high}]") + note

    def _word(self, value: float) -> str:
        return self.never if value == NEVER else self.write(value)


def _reached(seconds: float | None, reached: bool | None) -> float | None:
    return None if reached is None else seconds if reached else NEVER


def _accounted(count: Callable[[Accounting], int]) -> Callable[[FaultedRun, FaultCost], float | None]:
    return lambda run, _: None if run.accounting is None else count(run.accounting)


def _read_back(count: Callable[[Accounting], int]) -> Callable[[FaultedRun, FaultCost], float | None]:
    """Returns a function that applies `count` to a run. A count of 0 is known only if all records were read back."""

    def determined(run: FaultedRun, _: FaultCost) -> float | None:
        number = count(run.accounting) if run.accounting else 0
        whole = run.accounting and run.accounting.read_back and not run.accounting.unreadable
        return number if number or whole else None

    return determined


def _unreadable(run: FaultedRun, _: FaultCost) -> float | None:
    return run.accounting.unreadable if run.accounting and run.accounting.read_back else None


# Counts of lost and wrong records. A single one is too many.
WRONG: dict[str, Callable[[Accounting], int]] = {
    "lost": lambda account: account.lost + account.missing,
    "corrupt": lambda account: account.corrupt + account.corrupt_reads,
    "never written": lambda account: account.unwritten + account.unwritten_reads,
}
LOST, _CORRUPT, _NEVER_WRITTEN = (
    FaultFigure(head, _read_back(count), write=_count, counts_wrong=True) for head, count in WRONG.items()
)
BEFORE = FaultFigure("before op/s", lambda run, _: run.before_ops_per_second, write=rate)
NO_SUCCESS = FaultFigure("no success s", lambda _, fault: fault.zero_seconds)
RECOVERY = FaultFigure("fault to 90 % s", lambda _, fault: _reached(fault.recovery_seconds, fault.recovered))
RESTORE = FaultFigure("return to 90 % s", lambda _, fault: _reached(fault.restore_seconds, fault.restored))
OF_FAULTS = (
    NO_SUCCESS,
    FaultFigure("below half s", lambda _, fault: fault.low_seconds),
    RECOVERY,
    RESTORE,
    FaultFigure("worst p99 ms", lambda _, fault: fault.worst_p99_ms, write=milliseconds),
)
ERRORS = FaultFigure("errors", lambda run, _: sum(run.errors.values()), write=_count)
OF_RUNS = (
    ERRORS,
    FaultFigure("maybe", _accounted(lambda account: account.maybe), write=_count),
    LOST,
    FaultFigure("stale", _accounted(lambda account: account.stale_reads), write=_count),
    _CORRUPT,
    _NEVER_WRITTEN,
    FaultFigure("unreadable", _unreadable, write=_count),
)


def of_healing(kind: str) -> tuple[FaultFigure, ...]:
    """Returns the figures of one kind of healing, the work by which servers recover from a fault."""

    def figure(head: str, compute: Callable[[FaultCost, Healing], float | None], **more: Any) -> FaultFigure:
        def find(_: FaultedRun, fault: FaultCost) -> float | None:
            return next((compute(fault, did) for did in fault.healing if did.what == kind), None)

        return FaultFigure(head, find, write=_tenths, **more)

    def number(head: str, compute: Callable[[Healing], float | None]) -> FaultFigure:
        return replace(figure(head, lambda _, did: compute(did)), write=_count, judged=False)

    return (
        number("times", lambda did: did.count),
        number("amount", lambda did: did.amount),
        figure("first s", lambda fault, did: None if did.begin is None else did.begin - fault.at),
        figure("last s", _ended, never="not finished"),
        figure("lasted s", lambda _, did: NEVER if did.unfinished else did.seconds, never="not finished"),
    )


def _ended(fault: FaultCost, did: Healing) -> float | None:
    return NEVER if did.unfinished else None if did.end is None else did.end - fault.at


@dataclass(frozen=True)
class SameFault:
    """One fault of a system at a point, in all runs in which it was injected.

    :ivar trial: first trial with the fault
    :ivar number: position of the fault among the faults of a run, sorted by name and then by time, from 1
    :ivar cases: runs, each with the cost of that fault
    """

    trial: Trial
    phase: str
    number: int
    cases: list[tuple[FaultedRun, FaultCost]]

    @property
    def name(self) -> str:
        """Returns the name, such as "kill(node2)"."""
        return str(self.cases[0][1])

    def words(self, figures: Iterable[FaultFigure], runs: int | None = None) -> list[str]:
        """Returns the figures of all runs as text.

        :param runs: number of runs that count; default: all
        """
        runs = len(self.cases) if runs is None else runs
        return [figure.words(figure.values(self.cases), runs) for figure in figures]

    @property
    def healing(self) -> dict[str, list[Healing]]:
        """Returns how the servers healed in each run, by kind of healing."""
        together: dict[str, list[Healing]] = {}
        for _, fault in self.cases:
            for did in fault.healing:
                together.setdefault(did.what, []).append(did)
        return together


def same_faults(trials: Iterable[Trial]) -> list[SameFault]:
    """Returns every fault of every system, combined over all rounds and repeats."""
    together: dict[tuple[str, str, int], SameFault] = {}
    for trial in trials:
        for run in trial.faults:
            # Number faults by name, not by time, because hosts may execute faults of the same second in any order.
            by_name = sorted(run.faults, key=lambda fault: (str(fault), fault.at))
            for fault in run.faults:
                number = 1 + next(index for index, candidate in enumerate(by_name) if candidate is fault)
                key = (trial.compared_as, run.phase, number)
                together.setdefault(key, SameFault(trial, run.phase, number, [])).cases.append((run, fault))
    return list(together.values())
