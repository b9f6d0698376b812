"""Computes the offset of a host's clock from the controller's, from round trips over the connection to its agent."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """One round trip.

    :ivar offset: the host's clock minus the controller's, in seconds, if both directions took equally long
    :ivar error: bound of the offset's error in seconds: half the round trip, as if one direction had taken no time
    """

    offset: float
    error: float


class HostClock:
    """The best of the latest round trips: the shortest one was delayed least, so it bounds the error best."""

    KEPT = 200

    def __init__(self) -> None:
        self._readings: deque[Reading] = deque(maxlen=self.KEPT)
        self.count = 0

    def add(self, sent: float, host_time: float, received: float) -> None:
        """Adds one round trip; ``sent`` and ``received`` by the controller's clock, all in seconds."""
        self._readings.append(Reading(host_time - (sent + received) / 2, (received - sent) / 2))
        self.count += 1

    @property
    def best(self) -> Reading:
        """The best reading.

        :raises ValueError: before the first one
        """
        return min(self._readings, key=lambda reading: reading.error)
