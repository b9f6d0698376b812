"""Evaluates the histogram logs of a run's clients over time. A single pass over the logs gives all results."""

from __future__ import annotations

from collections.abc import Mapping

from dohyo.evidence.events import Seconds
from dohyo.evidence.hdr_log import Interval
from dohyo.evidence.latency_slots import MOST_SLOTS, OverTime
from dohyo.evidence.load_curve import Inserted


class Timeline:
    """Sums the intervals of all clients in a run or a load.

    :ivar operations: operation types that have a log
    :ivar seconds: numbers of operations, of errors and of operations that found nothing, for each second
    :ivar latencies: percentiles and heat map for each time slot
    :ivar waited: like `latencies`, but measured from the intended start; empty for a run without faults
    :ivar inserted: inserts of a load over time; empty for a run
    """

    def __init__(self, *, load: bool = False, faults: bool = False, most_slots: int = MOST_SLOTS) -> None:
        """:param most_slots: maximum number of time slots in `latencies` and `waited`"""
        self._load = load
        self._faults = faults
        self.operations: set[str] = set()
        self.seconds = Seconds()
        self.latencies = OverTime(most_slots)
        self.waited = OverTime(most_slots, intended=True)
        self.inserted = Inserted()

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
