"""Latencies over time, of all clients of a run together: percentiles and a heat map by time slots.

Memory has a bound, whatever the number of clients and the length of the run: a slot is a second until there are
more than `MOST_SLOTS` of them; then slots are twice as long, as often as that is needed. In a slot, eight neighbouring
counters of the logs' histograms are one: its percentiles are at most 0.8 % too high. (Over the whole run percentiles
keep the logs' own three digits, see `hdr_log.Latencies`.)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from hdrh.histogram import HdrHistogram

from dohyo.evidence.hdr_log import MAX_LATENCY_US, Interval
from dohyo.operations import INTENDED, READ_MODIFY_WRITE, is_failure

MOST_SLOTS = 3600
# Rows of a heat map: each is 19 % higher than the one below.
HEAT_ROWS_PER_DOUBLING = 4
_NEIGHBOURS = 8
# No client writes such an interval, or one so late; a damaged log must not cost memory.
_LONGEST_INTERVAL = 3600.0
_LATEST_SECOND = 10_000_000.0

# Operations by index of the histogram's counters, eight neighbours as one.
_Counts = dict[int, int]


@dataclass(frozen=True)
class Slot:
    """What all clients did in one stretch of time.

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
        self._slots: dict[str, dict[int, _Counts]] = {}  # operation -> slot -> counts

    def add(self, operation: str, interval: Interval) -> None:
        """Takes one interval of a client's log. It is a second but for some ms: the nearest second is its."""
        begin = interval.since_start
        if not interval.histogram.get_total_count() or interval.seconds > _LONGEST_INTERVAL:
            return
        if 0 <= begin < _LATEST_SECOND:
            self._put(operation, round(begin) // self._seconds, _coarse(interval.histogram))

    def together(self, percentiles: Sequence[float] = (50, 99)) -> Iterator[Slot]:
        """The slots over all operations that succeeded; a READ-MODIFY-WRITE is there as its READ and its UPDATE."""
        names = [
            name for name in self._slots if not is_failure(name) and not name.startswith((INTENDED, READ_MODIFY_WRITE))
        ]
        for position in sorted({position for name in names for position in self._slots[name]}):
            total: _Counts = {}
            for name in names:
                _add(total, self._slots[name].get(position, {}))
            yield _slot(position * self._seconds, self._seconds, total, percentiles)

    def _put(self, operation: str, position: int, counts: _Counts) -> None:
        slots = self._slots.setdefault(operation, {})
        _add(slots.setdefault(position, {}), counts)
        while len(self._slots[operation]) > self._most:
            self._double()

    def _double(self) -> None:
        self._seconds *= 2
        for operation, slots in self._slots.items():
            joined: dict[int, _Counts] = {}
            for position, counts in slots.items():
                _add(joined.setdefault(position // 2, {}), counts)
            self._slots[operation] = joined


def _add(into: _Counts, counts: Mapping[int, int]) -> None:
    for index, count in counts.items():
        into[index] = into.get(index, 0) + count


def _coarse(histogram: HdrHistogram) -> _Counts:
    # Only between the least and the highest value: the rest of the 30,000 counters is empty.
    first = histogram._counts_index_for(histogram.get_min_value())
    last = histogram._counts_index_for(histogram.get_max_value())
    result: _Counts = {}
    for index, count in enumerate(histogram.counts[first : last + 1], first):
        if count:
            result[index // _NEIGHBOURS] = result.get(index // _NEIGHBOURS, 0) + count
    return result


def _slot(start: float, seconds: float, counts: _Counts, percentiles: Sequence[float]) -> Slot:
    indexes = sorted(counts)
    cumulated = list(accumulate(counts[index] for index in indexes))
    total = cumulated[-1]
    at = {
        percentile: _highest_us(indexes[bisect_left(cumulated, max(1, math.ceil(percentile * total / 100)))]) / 1000
        for percentile in percentiles
    }
    heat: dict[float, int] = {}
    for index in indexes:
        row = _heat_row(index)
        heat[row] = heat.get(row, 0) + counts[index]
    return Slot(start, seconds, total, at, heat)


@cache
def _layout() -> HdrHistogram:
    return HdrHistogram(1, MAX_LATENCY_US, 3)


@cache
def _highest_us(index: int) -> int:
    last = index * _NEIGHBOURS + _NEIGHBOURS - 1
    return int(_layout().get_highest_equivalent_value(_layout().get_value_from_index(last)))


@cache
def _heat_row(index: int) -> float:
    """Upper end in ms of the row of the heat map that the bucket's highest latency is in."""
    row = math.ceil(round(math.log2(_highest_us(index) + 1) * HEAT_ROWS_PER_DOUBLING, 6))
    return float(2 ** (row / HEAT_ROWS_PER_DOUBLING) / 1000)
