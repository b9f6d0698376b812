"""Computes how the number of loaded rows grows over time, which shows whether a system slows down as its tables grow.

The histogram logs of all clients count the inserts of each second; see docs/method.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from dohyo.evidence.hdr_log import Interval
from dohyo.operations import is_call, is_failure

# Minimum duration of a load for `slowdown`. With one value per second, the logs are too coarse for a shorter load.
SHORTEST_SECONDS = 10.0
TENTHS = 10
_BINS_PER_SECOND = 10  # inserts are counted in tenths of a second, because the clients' intervals begin a few ms apart


@dataclass(frozen=True)
class LoadCurve:
    """The progress of a load, over all clients."""

    rows: int  # number of inserted rows
    tenths: list[float]  # seconds after the start at which 10 %, 20 %, … 100 % of the rows were inserted
    # Duration of the last tenth divided by that of the first, 1.0 at a constant rate; None for a load shorter than
    # `SHORTEST_SECONDS`.
    slowdown: float | None
    # Seconds after the start, and the number of rows inserted until then; for load.csv.
    points: list[tuple[float, int]] = field(default_factory=list, repr=False)


class Inserted:
    """Counts the inserts of all clients during a load over time, from their histogram logs."""

    def __init__(self) -> None:
        self._bins: defaultdict[int, float] = defaultdict(float)  # tenth of a second -> inserts

    def add(self, operation: str, interval: Interval) -> None:
        """Adds one interval of a client's log. The inserts are spread evenly over the interval."""
        if not is_call(operation) or is_failure(operation):
            return
        covered = interval.covered(_BINS_PER_SECOND)
        for position in covered:
            self._bins[position] += interval.histogram.total / len(covered)

    def merge(self, other: Inserted) -> None:
        """Adds the inserts of other clients."""
        for position, count in other._bins.items():
            self._bins[position] += count

    def curve(self, rows: int | None, measured: float | None) -> LoadCurve | None:
        """Returns the curve, or None if it is not known.

        :param rows: number of inserted rows. Each operation counts as the same number of rows, although the last batch
            may be smaller
        :param measured: duration of the slowest client in seconds
        """
        if not self._bins or not rows or not measured or measured < 0:
            return None
        # Leave out inserts after the end, which a damaged log may contain.
        last = int(min(max(self._bins), (measured + 1) * _BINS_PER_SECOND))
        inserted = [0.0, *accumulate(self._bins.get(position, 0.0) for position in range(last + 1))]
        if inserted[-1] <= 0:
            return None

        def at(share: float) -> float:
            """Returns the seconds until this share was inserted, interpolated between the ends of two bins."""
            target = share * inserted[-1]
            upper = max(1, bisect_left(inserted, target))
            low, high = inserted[upper - 1 : upper + 1]
            inside = (target - low) / (high - low) if high > low else 1.0
            return min((upper - 1 + inside) / _BINS_PER_SECOND, measured)

        tenths = [*(at(tenth / TENTHS) for tenth in range(1, TENTHS)), measured]
        points = [
            (float(second), round(rows * count / inserted[-1]))
            for second, count in enumerate(inserted[: last + 1 : _BINS_PER_SECOND])
            if second < measured
        ]
        steps = [later - earlier for earlier, later in pairwise([0.0, *tenths])]
        return LoadCurve(
            rows=rows,
            tenths=[round(seconds, 3) for seconds in tenths],
            slowdown=steps[-1] / steps[0] if measured >= SHORTEST_SECONDS and steps[0] > 0 else None,
            points=[*points, (round(measured, 3), rows)],
        )
