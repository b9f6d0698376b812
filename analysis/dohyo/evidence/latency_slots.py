"""Computes the latencies of all clients of a run over time: percentiles and a heat map for each time slot.

All successful operations count; a READ-MODIFY-WRITE counts as its READ and its UPDATE. Memory is bounded for any number
of clients and any length of the run. A slot is one second long; if there are more than `MOST_SLOTS` slots, their length
is doubled. A slot merges groups of eight neighbouring counters of the logs' histograms, so its percentiles are at most
0.8 % too high. (`hdr_log.Latencies` computes percentiles of the whole run with full precision.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from dohyo.evidence.hdr_log import Counters, Integers, Interval, divided, rank, standard_layout
from dohyo.operations import INTENDED, READ_MODIFY_WRITE, is_failure

# Maximum number of slots: about the width of a screen in pixels, or half an hour at one slot per second. A slot takes 4
# to 20 kB of memory.
MOST_SLOTS = 1800
# Rows of a heat map per doubling of the latency. A row ends 19 % above its start, but spans at least one counter.
HEAT_ROWS_PER_DOUBLING = 4
_NEIGHBOURS = 8
_SHIFT = _NEIGHBOURS.bit_length() - 1  # numpy shifts several times faster than it divides


@dataclass(frozen=True)
class Slot:
    """Totals of all clients in one time slot."""

    start: float  # seconds after the start of the logs
    seconds: float  # length of the slot
    operations: int  # number of operations that ended in the slot; intervals of several seconds are spread evenly
    percentiles_ms: dict[float, float]  # latencies by percentile (0..100)
    heat: dict[int, int]  # number of operations for each row of the heat map; see `heat_row_ms`


class OverTime:
    """Sums the histogram logs of all clients for each time slot."""

    def __init__(self, most_slots: int = MOST_SLOTS, *, intended: bool = False) -> None:
        """:param most_slots: maximum number of slots
        :param intended: whether to use latencies from the intended start instead of those from the actual start
        """
        self._most = most_slots
        self._intended = intended
        self._seconds = 1  # length of a slot
        self._slots: defaultdict[int, Counters] = defaultdict(Counters)  # sums of eight counters of the logs

    def add(self, operation: str, interval: Interval) -> None:
        """Adds one interval of a client's log."""
        covered = interval.covered()
        plain = operation.removeprefix(INTENDED)
        if is_failure(operation) or plain.startswith(READ_MODIFY_WRITE) or (plain != operation) != self._intended:
            return
        if not interval.histogram.total or not covered:
            return
        histogram = interval.histogram.converted(standard_layout())
        # Distribute the counters' remainders over the seconds; otherwise one second would receive all slow operations.
        parts = divided(histogram.counts, len(covered), np.arange(len(histogram.counts)) % len(covered))
        for second, counts in zip(covered, parts, strict=True):
            self._slots[second // self._seconds].add(histogram.indexes >> _SHIFT, counts, int(counts.sum()))
            self._keep_bound()

    def merge(self, other: OverTime) -> None:
        """Adds the latencies of other clients."""
        while self._seconds < other._seconds:
            self._double()
        for position, counts in other._slots.items():
            self._slots[position * other._seconds // self._seconds].merge(counts)
            self._keep_bound()

    def slots(self, percentiles: Sequence[float] = (50, 99)) -> Iterator[Slot]:
        """Yields the slots that contain operations, in order.

        :param percentiles: percentiles (0..100) to compute for each slot
        """
        for position, counts in sorted(self._slots.items()):
            ranks = [rank(percentile, counts.total) for percentile in percentiles]
            latencies_ms = [_highest_us(index) / 1000 for index in counts.at_ranks(ranks)]
            percentiles_ms = dict(zip(percentiles, latencies_ms, strict=True))
            yield Slot(position * self._seconds, self._seconds, counts.total, percentiles_ms, _heat(counts))

    def _keep_bound(self) -> None:
        while len(self._slots) > self._most:
            self._double()

    def _double(self) -> None:
        slots, self._slots = self._slots, defaultdict(Counters)
        self._seconds *= 2
        for position, counts in slots.items():
            self._slots[position // 2].merge(counts)


def heat_row_ms(row: int) -> tuple[float, float]:
    """Returns the lower and the upper end, in ms, of a row of the heat map. A row consists of whole counters."""
    low, high = _heat_ends_us()[row]
    return max(low, 1) / 1000, high / 1000


def _heat(counts: Counters) -> dict[int, int]:
    used = counts.counts.nonzero()[0]
    rows = _heat_rows()[counts.first + used]
    begins = np.flatnonzero(np.diff(rows, prepend=-1))  # the rows are in ascending order
    sums = np.add.reduceat(counts.counts[used], begins)
    return dict(zip(rows[begins].tolist(), sums.tolist(), strict=True))


@cache
def _highest_us(index: int) -> int:
    layout = standard_layout()
    last = index * _NEIGHBOURS + _NEIGHBOURS - 1
    return int(layout.get_highest_equivalent_value(layout.get_value_from_index(last)))


@cache
def _heat_rows() -> Integers:
    """Returns, for each counter of a slot, the row of the heat map that contains its highest latency."""
    highest = [_highest_us(index) for index in range(standard_layout().counts_len // _NEIGHBOURS + 1)]
    doublings = np.log2(np.array(highest) + 1.0)
    return np.ceil(np.round(doublings * HEAT_ROWS_PER_DOUBLING, 6)).astype(np.int64)


@cache
def _heat_ends_us() -> dict[int, tuple[int, int]]:
    """Returns both ends of each row that contains counters. Low rows may be narrower than a counter, and then empty."""
    highest = {int(row): _highest_us(index) + 1 for index, row in enumerate(_heat_rows())}
    return dict(zip(highest, pairwise([0, *highest.values()]), strict=True))
