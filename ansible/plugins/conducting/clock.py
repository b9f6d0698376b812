"""Computes the offset of a host's clock from the controller's clock, from round trips between controller and agent."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """The clock offset computed from one round trip.

    :ivar offset: the host's clock minus the controller's, in seconds, if both directions took equally long
    :ivar error: maximum error of the offset, in seconds: half of the round trip, if one direction took no time
    """

    offset: float
    error: float


class HostClock:
    """The latest round trips. The best of them is the shortest, which has the smallest maximum error."""

    KEPT = 200

    def __init__(self) -> None:
        self._readings: deque[Reading] = deque(maxlen=self.KEPT)
        self.count = 0

    def add(self, sent: float, host_time: float, received: float) -> None:
        """Adds one round trip. Times are in seconds; ``sent`` and ``received`` are read from the controller's clock."""
        self._readings.append(Reading(host_time - (sent + received) / 2, (received - sent) / 2))
        self.count += 1

    @property
    def latest(self) -> Reading:
        """The latest reading.

        :raises IndexError: before the first reading
        """
        return self._readings[-1]

    @property
    def best(self) -> Reading:
        """The best reading.

        :raises ValueError: before the first reading
        """
        return min(self._readings, key=lambda reading: reading.error)
