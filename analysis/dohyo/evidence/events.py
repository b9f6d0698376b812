"""Events of a run: dips of the throughput, errors, and lost hosts and servers.

The time axis of all of them is seconds after the agreed instant, warm-up included. docs/method.md defines a dip.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from dohyo.evidence.hdr_log import Interval, divided
from dohyo.operations import calls, is_call, is_failure, is_not_found, is_success

# A dip is at least so many seconds in a row, each with less than this share of the run's mean.
DIP_SECONDS = 3
DIP_SHARE = 0.5
# A dip that lasts so long is a collapse.
COLLAPSE_SECONDS = 10
# With fewer operations per second than this, chance alone makes seconds with less than half of them.
_DIP_LEAST_MEAN = 10
# Seconds with errors that lie no further apart are one event; more events than the second number become a single one.
_ERRORS_APART = 3
_MOST_ERROR_EVENTS = 5


@dataclass(frozen=True)
class Event:
    """Something that a reader of the numbers must know.

    :ivar run: number of the run; None in the load
    :ivar at: seconds after the agreed instant; None before it
    :ivar until: the same for the end of what lasts
    :ivar host: where it was; None for what all clients together saw
    :ivar phase: name of the phase that the run is of
    """

    run: int | None
    at: float | None
    until: float | None
    what: str
    host: str | None = None
    phase: str = "run"

    def __str__(self) -> str:
        which = "load" if self.run is None else f"{self.phase} {self.run}"
        if self.at is None:
            when = "before the start"
        elif self.until is None:
            when = f"second {self.at:.0f}"
        else:
            when = f"seconds {self.at:.0f}\N{EN DASH}{self.until:.0f}"
        host = f"{self.host}: " if self.host and self.host not in self.what else ""
        return f"{which}, {when}: {host}{self.what}"


@dataclass(frozen=True)
class Dip:
    """Seconds in a row in which the throughput was low.

    :ivar first: second of the measured window
    :ivar seconds: how many
    :ivar lowest: operations in the worst of them
    :ivar mean: operations per second of the whole run
    """

    first: int
    seconds: int
    lowest: int
    mean: float


def in_order(events: Iterable[Event]) -> list[Event]:
    """By time; what was before the start first."""
    return sorted(events, key=lambda event: -1.0 if event.at is None else event.at)


class Seconds:
    """Counts of all clients of a run by second of the measured window, from the intervals of their histogram logs."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[int]] = defaultdict(Counter)  # operation -> second -> operations
        self._ends: dict[str, float] = {}  # client -> end of what its logs cover

    def add(self, client: str, operation: str, interval: Interval) -> None:
        """Takes one interval of a client's log."""
        covered = interval.covered()
        if not is_call(operation) or not covered:
            return
        self._ends[client] = max(interval.since_start + interval.seconds, self._ends.get(client, 0))
        parts = divided(interval.histogram.total, len(covered))
        for second, count in zip(covered, parts, strict=True):
            self._counts[operation][second] += count

    def merge(self, other: Seconds) -> None:
        """Adds what another one has counted of other clients."""
        self._ends |= other._ends
        for operation, seconds in other._counts.items():
            self._counts[operation].update(seconds)

    @property
    def by_operation(self) -> Mapping[str, Mapping[int, int]]:
        """Operations by type, as the logs name it, and second."""
        return self._counts

    def throughput(self, measured: float | None = None) -> list[int]:
        """Operations without error of all clients, for each whole second in which all of them measured.

        :param measured: length of the shortest client's measured window; None: not known, then what all logs cover. A
            log ends with the last answer, which may be long before the window does.
        """
        return self._by_second([name for name in self._counts if not is_failure(name)], measured)

    def successes(self, measured: float | None = None) -> list[int]:
        """The same without those that found nothing."""
        return self._by_second([name for name in self._counts if is_success(name)], measured)

    def errors(self) -> dict[int, int]:
        """Operations that failed, for each second that has any."""
        return self._each(is_failure)

    def not_found(self) -> dict[int, int]:
        """Operations that found nothing, for each second that has any."""
        return self._each(is_not_found)

    def _by_second(self, names: Sequence[str], measured: float | None) -> list[int]:
        end = measured if measured is not None else min(self._ends.values(), default=0.0)
        whole = round(end - 0.4) if self._ends else 0  # a last second of 0.9 s still tells the rate
        return [max(0, calls({name: self._counts[name][second] for name in names})) for second in range(whole)]

    def _each(self, kind: Callable[[str], bool]) -> dict[int, int]:
        names = [name for name in self._counts if kind(name)]
        found = {
            second: calls({name: self._counts[name][second] for name in names})
            for second in sorted({second for name in names for second in self._counts[name]})
        }
        return {second: count for second, count in found.items() if count > 0}

    def events(
        self, run: int | None, warmup: float, measured: float | None, phase: str = "run", shortest: int = DIP_SECONDS
    ) -> list[Event]:
        """The errors of the run, and its dips of at least `shortest` seconds."""
        result = []
        for dip in dips(self.throughput(measured)):
            if dip.seconds < shortest:
                continue
            what = f"throughput below half of the mean (down to {dip.lowest:,.0f} of {dip.mean:,.0f} op/s)"
            begin = warmup + dip.first
            result.append(Event(run, begin, begin + dip.seconds, what, phase=phase))
        errors = self.errors()
        stretches = _stretches(sorted(errors), _ERRORS_APART)
        if len(stretches) > _MOST_ERROR_EVENTS:
            stretches = [(stretches[0][0], stretches[-1][1])]
        for first, end in stretches:
            here = [count for second, count in errors.items() if first <= second < end]
            seconds = f", in {len(here)} seconds" if len(here) < end - first else ""
            what = f"{sum(here):,.0f} failed operations{seconds}"
            result.append(Event(run, warmup + first, warmup + end, what, phase=phase))
        return result


def dips(throughput: Sequence[int]) -> list[Dip]:
    """What is a dip of operations in each second."""
    mean = sum(throughput) / len(throughput) if throughput else 0.0
    if mean < _DIP_LEAST_MEAN:
        return []
    result = []
    for low, seconds in groupby(range(len(throughput)), key=lambda second: throughput[second] < DIP_SHARE * mean):
        stretch = list(seconds)
        if low and len(stretch) >= DIP_SECONDS:
            lowest = min(throughput[second] for second in stretch)
            result.append(Dip(stretch[0], len(stretch), lowest, mean))
    return result


def collapses(throughput: Sequence[int], warmup: float) -> list[str]:
    """The long dips of operations per second: when they were, and how deep."""
    return [
        f"seconds {warmup + dip.first:.0f}\N{EN DASH}{warmup + dip.first + dip.seconds:.0f}"
        f" (down to {dip.lowest:,.0f} of {dip.mean:,.0f} op/s)"
        for dip in dips(throughput)
        if dip.seconds >= COLLAPSE_SECONDS
    ]


def _stretches(seconds: Sequence[int], apart: int) -> list[tuple[int, int]]:
    """Joins seconds less than `apart` from each other: first second, and the first one after the stretch."""
    gaps = [(before, after) for before, after in pairwise(seconds) if after - before >= apart]
    begins = [*seconds[:1], *(after for _, after in gaps)]
    ends = [*(before + 1 for before, _ in gaps), *(last + 1 for last in seconds[-1:])]
    return list(zip(begins, ends, strict=True))
