"""Latencies over time, of all clients of a run together: percentiles and a heat map by time slots.

Memory has a bound, whatever the number of clients and the length of the run: a slot is a second until there are
more than `MOST_SLOTS` of them; then slots are twice as long, as often as that is needed. In a slot, eight neighbouring
counters of the logs' histograms are one: its percentiles are at most 0.8 % too high. (Over the whole run percentiles
keep the logs' own three digits, see `hdr_log.Latencies`.)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from pyhdrh import add_array

from dohyo.evidence.hdr_log import Histogram, Interval, rank, standard_layout
from dohyo.operations import INTENDED, READ_MODIFY_WRITE, is_failure

# An hour by the second. A slot of one operation type takes 4 to 20 kB.
MOST_SLOTS = 3600
# Rows of a heat map: each is 19 % higher than the one below.
HEAT_ROWS_PER_DOUBLING = 4
_NEIGHBOURS = 8
_WORD = 8
# No client writes such an interval, or one so late; a damaged log must not cost memory.
_LONGEST_INTERVAL = 3600.0
_LATEST_SECOND = 10_000_000.0


@dataclass(frozen=True)
class Slot:
    """What all clients did of one operation type in one stretch of time.

    :ivar start: seconds after the start of the logs
    :ivar seconds: its length
    :ivar operations: how many began in it, as far as intervals tell: each counts where its interval begins
    :ivar percentiles_ms: by percentile (0..100)
    :ivar heat: operations by upper end of the latency in ms, which is 2 ** (n / `HEAT_ROWS_PER_DOUBLING`) µs
    """

    start: float
    seconds: float
    operations: int
    percentiles_ms: dict[float, float]
    heat: dict[float, int]


class OverTime:
    """Adds up intervals of the histogram logs of all clients by time."""

    def __init__(self, most_slots: int = MOST_SLOTS) -> None:
        """`most_slots`: bound of the number of slots of each operation type."""
        self._most = most_slots
        self._seconds = 1  # length of a slot
        self._slots: dict[str, dict[int, Histogram]] = {}  # operation -> slot -> counts, eight neighbours as one

    @property
    def operations(self) -> list[str]:
        """The operation types that there are."""
        return sorted(self._slots)

    @property
    def slot_seconds(self) -> int:
        """Length of a slot."""
        return self._seconds

    def add(self, operation: str, interval: Interval) -> None:
        """Takes one interval of a client's log. It is a second but for some ms: the nearest second is its."""
        begin = interval.since_start
        if not interval.histogram.total or interval.seconds > _LONGEST_INTERVAL or not 0 <= begin < _LATEST_SECOND:
            return
        self._put(operation, round(begin) // self._seconds, _coarse(interval.histogram))

    def merge(self, other: OverTime) -> None:
        """Adds what another one has of other clients."""
        while self._seconds < other._seconds:
            self._double()
        for operation, slots in other._slots.items():
            for position, counts in slots.items():
                self._put(operation, position * other._seconds // self._seconds, counts)

    def slots(self, operation: str, percentiles: Sequence[float] = (50, 99)) -> Iterator[Slot]:
        """The slots of an operation type that have any operation, in order."""
        for position, counts in sorted(self._slots.get(operation, {}).items()):
            yield _slot(position * self._seconds, self._seconds, counts, percentiles)

    def together(self, percentiles: Sequence[float] = (50, 99)) -> Iterator[Slot]:
        """The slots over all operations that succeeded; a READ-MODIFY-WRITE is there as its READ and its UPDATE."""
        names = [
            name for name in self._slots if not is_failure(name) and not name.startswith((INTENDED, READ_MODIFY_WRITE))
        ]
        for position in sorted({position for name in names for position in self._slots[name]}):
            total = Histogram(standard_layout())
            for name in names:
                if (counts := self._slots[name].get(position)) is not None:
                    total.add(counts)
            yield _slot(position * self._seconds, self._seconds, total, percentiles)

    def _put(self, operation: str, position: int, counts: Histogram) -> None:
        slots = self._slots.setdefault(operation, {})
        into = slots.get(position)
        if into is None:
            into = slots[position] = Histogram(counts.layout)
        into.add(counts)
        while len(slots) > self._most:
            self._double()
            slots = self._slots[operation]

    def _double(self) -> None:
        self._seconds *= 2
        for operation, slots in self._slots.items():
            joined: dict[int, Histogram] = {}
            for position, counts in slots.items():
                into = joined.setdefault(position // 2, counts)
                if into is not counts:
                    into.add(counts)
            self._slots[operation] = joined


def _coarse(histogram: Histogram) -> Histogram:
    """Eight neighbouring counters as one. Its indexes are those of the histogram by eight."""
    layout = standard_layout()
    if histogram.layout is not layout:
        histogram = histogram.converted(layout)
    counts = histogram.counts[::_NEIGHBOURS]
    address = counts.buffer_info()[0]
    for offset in range(1, _NEIGHBOURS):
        part = histogram.counts[offset::_NEIGHBOURS]
        add_array(address, part.buffer_info()[0], len(part), _WORD)
    return Histogram(layout, histogram.first // _NEIGHBOURS, counts, histogram.total)


def _slot(start: float, seconds: float, counts: Histogram, percentiles: Sequence[float]) -> Slot:
    cumulated = list(accumulate(counts.counts))
    at = {
        percentile: _highest_us(counts.first + bisect_left(cumulated, rank(percentile, counts.total))) / 1000
        for percentile in percentiles
    }
    heat: dict[float, int] = {}
    for index, count in enumerate(counts.counts, counts.first):
        if count:
            row = _heat_row(index)
            heat[row] = heat.get(row, 0) + count
    return Slot(start, seconds, counts.total, at, heat)


@cache
def _highest_us(index: int) -> int:
    layout = standard_layout()
    last = index * _NEIGHBOURS + _NEIGHBOURS - 1
    return int(layout.get_highest_equivalent_value(layout.get_value_from_index(last)))


@cache
def _heat_row(index: int) -> float:
    """Upper end in ms of the row of the heat map that the bucket's highest latency is in."""
    row = math.ceil(round(math.log2(_highest_us(index) + 1) * HEAT_ROWS_PER_DOUBLING, 6))
    return float(2 ** (row / HEAT_ROWS_PER_DOUBLING) / 1000)
