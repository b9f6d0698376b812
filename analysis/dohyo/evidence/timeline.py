"""What the clients of a run did over time. Each interval of their histogram logs is taken once, for all who ask."""

from __future__ import annotations

from collections.abc import Mapping

from dohyo.evidence.events import Seconds
from dohyo.evidence.hdr_log import Interval
from dohyo.evidence.load_curve import Inserted
from dohyo.evidence.over_time import MOST_SLOTS, OverTime


class Timeline:
    """Adds up the intervals of all clients of a run, or of a load.

    :ivar operations: the types that any log is of
    :ivar seconds: operations, errors and what was not found, by second
    :ivar latencies: percentiles and the heat map, by slot
    :ivar waited: the same of latencies from the intended start; nothing of a run without faults
    :ivar inserted: how the rows of a load became more; nothing of a run
    """

    def __init__(self, *, load: bool = False, faults: bool = False, most_slots: int = MOST_SLOTS) -> None:
        """`most_slots`: bound of the slots of `latencies`."""
        self._load = load
        self._faults = faults
        self.operations: set[str] = set()
        self.seconds = Seconds()
        self.latencies = OverTime(most_slots)
        self.waited = OverTime(most_slots, intended=True)
        self.inserted = Inserted()

    def add(self, client: str, operation: str, interval: Interval) -> None:
        """Takes one interval of a client's log."""
        self.operations.add(operation)
        self.seconds.add(client, operation, interval)
        self.latencies.add(operation, interval)
        if self._faults:
            self.waited.add(operation, interval)
        if self._load:
            self.inserted.add(operation, interval)

    def merge(self, other: Timeline) -> None:
        """Adds what another one has of other clients."""
        self.operations |= other.operations
        self.seconds.merge(other.seconds)
        self.latencies.merge(other.latencies)
        self.waited.merge(other.waited)
        self.inserted.merge(other.inserted)


def when(by_second: Mapping[int, int], warmup: float) -> str:
    """When something happened, and when most of it; empty where that is not known.

    :param by_second: counts above 0, by second of the measured window
    """
    if not by_second:
        return ""
    worst = max(by_second, key=lambda second: by_second[second])
    first, last = min(by_second), max(by_second)
    most = f"second {warmup + worst:.0f}"
    if first == last:
        return f"in {most}"
    return f"in seconds {warmup + first:.0f}\N{EN DASH}{warmup + last + 1:.0f}, most in {most} ({by_second[worst]:,})"
