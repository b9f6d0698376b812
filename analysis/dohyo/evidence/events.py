"""Evaluates the histogram logs of a run's clients over time, and finds events: dips of the throughput, and errors.

A single pass over the logs gives all results.

Times are in seconds after the agreed instant, at which all clients begin their warm-up. docs/method.md defines a dip.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from msgspec import Struct

from dohyo.evidence.hdr_log import Interval, divided
from dohyo.evidence.json_values import Number, Whole
from dohyo.evidence.latency_slots import MOST_SLOTS, OverTime
from dohyo.evidence.load_curve import Inserted
from dohyo.operations import calls, is_call, is_failure, is_not_found, is_success

# A dip is a series of at least DIP_SECONDS seconds, each with less than DIP_SHARE of the run's mean throughput.
DIP_SECONDS = 3
DIP_SHARE = 0.5
COLLAPSE_SECONDS = 10  # minimum length of a dip that is called a collapse
# Minimum mean for dips, in operations per second. If it is lower, some seconds have less than half of it by chance.
_DIP_LEAST_MEAN = 10
# Errors less than _ERRORS_APART seconds apart are one event. More than _MOST_ERROR_EVENTS events become one.
_ERRORS_APART = 3
_MOST_ERROR_EVENTS = 5


class Event(Struct, frozen=True):
    """An event in a run that may explain its figures."""

    run: Whole | None = None  # number of the run; None in the load
    at: Number | None = None  # start, in seconds after the agreed instant; None if it was before that
    until: Number | None = None  # end, in the same unit; None if the event has no duration
    what: str = ""
    host: str | None = None  # host on which it happened; None if it concerns all clients together
    phase: str = "run"  # name of the run's phase

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


def in_order(events: Iterable[Event]) -> list[Event]:
    """Sorts events by time; events before the start come first."""
    return sorted(events, key=lambda event: -1.0 if event.at is None else event.at)


class Seconds:
    """Counts the operations of all clients in each second of a run's measured window, from their histogram logs."""

    def __init__(self) -> None:
        self.by_operation: defaultdict[str, Counter[int]] = defaultdict(Counter)  # operation type -> second -> count
        self._ends: dict[str, float] = {}  # client -> end of the last interval in its logs

    def add(self, client: str, operation: str, interval: Interval) -> None:
        """Adds one interval of a client's log."""
        covered = interval.covered()
        if not is_call(operation) or not covered:
            return
        self._ends[client] = max(interval.since_start + interval.seconds, self._ends.get(client, 0))
        parts = divided(interval.histogram.total, len(covered))
        for second, count in zip(covered, parts, strict=True):
            self.by_operation[operation][second] += count

    def merge(self, other: Seconds) -> None:
        """Adds the counts of other clients."""
        self._ends |= other._ends
        for operation, seconds in other.by_operation.items():
            self.by_operation[operation].update(seconds)

    def throughput(self, measured: float | None = None) -> list[int]:
        """Counts the operations without error of all clients, for each full second in which every client measured.

        :param measured: length of the shortest measured window of any client. If it is None, the time that all logs
            cover is used. A log ends with the last operation, which may be long before the end of the window
        """
        return self._by_second([name for name in self.by_operation if not is_failure(name)], measured)

    def successes(self, measured: float | None = None) -> list[int]:
        """Returns the same as `throughput`, but without operations that found nothing."""
        return self._by_second([name for name in self.by_operation if is_success(name)], measured)

    def errors(self) -> dict[int, int]:
        """Returns the number of failed operations for each second that has any."""
        return self._each(is_failure)

    def not_found(self) -> dict[int, int]:
        """Returns the number of operations that found nothing, for each second that has any."""
        return self._each(is_not_found)

    def _by_second(self, names: Sequence[str], measured: float | None) -> list[int]:
        end = measured if measured is not None else min(self._ends.values(), default=0.0)
        whole = int(end + 0.1) if self._ends else 0  # an incomplete last second counts if it has at least 0.9 s
        return [max(0, calls({name: self.by_operation[name][second] for name in names})) for second in range(whole)]

    def _each(self, kind: Callable[[str], bool]) -> dict[int, int]:
        of_kind = {name: counts for name, counts in self.by_operation.items() if kind(name)}
        seconds = sorted({second for counts in of_kind.values() for second in counts})
        by_second = {second: calls({name: counts[second] for name, counts in of_kind.items()}) for second in seconds}
        return {second: count for second, count in by_second.items() if count > 0}

    def events(self, run: int | None, warmup: float, measured: float | None, phase: str, shortest: int) -> list[Event]:
        """Returns the errors and the dips of at least `shortest` seconds as events; `run` is None for the load."""
        result = [
            Event(run, warmup + first, warmup + end, f"throughput below half of the mean ({depth})", phase=phase)
            for first, end, depth in dips(self.throughput(measured), shortest)
        ]
        errors = self.errors()
        stretches = _stretches(sorted(errors), _ERRORS_APART)
        if len(stretches) > _MOST_ERROR_EVENTS:
            stretches = [(stretches[0][0], stretches[-1][1])]
        for first, end in stretches:
            counts = [count for second, count in errors.items() if first <= second < end]
            seconds = f", in {len(counts)} seconds" if len(counts) < end - first else ""
            description = f"{sum(counts):,.0f} failed operations{seconds}"
            result.append(Event(run, warmup + first, warmup + end, description, phase=phase))
        return result


class Timeline:
    """Sums the intervals of all clients in a run or a load."""

    def __init__(self, *, load: bool = False, faults: bool = False, most_slots: int = MOST_SLOTS) -> None:
        """:param most_slots: maximum number of time slots in `latencies` and `waited`"""
        self._load = load
        self._faults = faults
        self.operations: set[str] = set()  # operation types that have a log
        self.seconds = Seconds()  # numbers of operations, of errors and of operations that found nothing
        self.latencies = OverTime(most_slots)
        self.waited = OverTime(most_slots, intended=True)  # latencies from the intended start; empty without faults
        self.inserted = Inserted()  # inserts of a load over time; empty for a run

    def add(self, client: str, operation: str, interval: Interval) -> None:
        """Adds one interval of a client's log."""
        self.operations.add(operation)
        self.seconds.add(client, operation, interval)
        self.latencies.add(operation, interval)
        if self._faults:
            self.waited.add(operation, interval)
        if self._load:
            self.inserted.add(operation, interval)

    def merge(self, other: Timeline) -> None:
        """Adds the results of other clients."""
        self.operations |= other.operations
        self.seconds.merge(other.seconds)
        self.latencies.merge(other.latencies)
        self.waited.merge(other.waited)
        self.inserted.merge(other.inserted)


def dips(throughput: Sequence[int], shortest: int) -> list[tuple[int, int, str]]:
    """Finds the dips of at least `shortest` seconds in a series with the number of operations for each second.

    :returns: first second and end of each dip, and the rate of its worst second as text
    """
    mean = sum(throughput) / len(throughput) if throughput else 0.0
    if mean < _DIP_LEAST_MEAN:
        return []
    result = []
    for low, seconds in groupby(range(len(throughput)), key=lambda second: throughput[second] < DIP_SHARE * mean):
        stretch = list(seconds)
        if low and len(stretch) >= shortest:
            lowest = min(throughput[second] for second in stretch)
            result.append((stretch[0], stretch[-1] + 1, f"down to {lowest:,.0f} of {mean:,.0f} op/s"))
    return result


def collapses(throughput: Sequence[int], warmup: float) -> list[str]:
    """Describes each dip of at least `COLLAPSE_SECONDS`: when it began and ended, and its lowest rate."""
    return [
        f"seconds {warmup + first:.0f}\N{EN DASH}{warmup + end:.0f} ({depth})"
        for first, end, depth in dips(throughput, COLLAPSE_SECONDS)
    ]


def _stretches(seconds: Sequence[int], apart: int) -> list[tuple[int, int]]:
    """Joins seconds that are less than `apart` seconds apart. Returns the first second and the end of each stretch."""
    gaps = [(before, after) for before, after in pairwise(seconds) if after - before >= apart]
    begins = [*seconds[:1], *(after for _, after in gaps)]
    ends = [*(before + 1 for before, _ in gaps), *(last + 1 for last in seconds[-1:])]
    return list(zip(begins, ends, strict=True))


def when(by_second: Mapping[int, int], warmup: float) -> str:
    """Describes when events happened, and which second had the most. Returns "" if there were none.

    :param by_second: number of events in each second of the measured window in which any happened
    """
    if not by_second:
        return ""
    worst = max(by_second, key=lambda second: by_second[second])
    first, last = min(by_second), max(by_second)
    most = f"second {warmup + worst:.0f}"
    if first == last:
        return f"in {most}"
    return f"in seconds {warmup + first:.0f}\N{EN DASH}{warmup + last + 1:.0f}, most in {most} ({by_second[worst]:,})"
