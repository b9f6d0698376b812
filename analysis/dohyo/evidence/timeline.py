"""What the clients of a run did over time. Each interval of their histogram logs is taken once, for all who ask."""

from __future__ import annotations

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
