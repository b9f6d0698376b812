"""Where the level of a long run's throughput changed, by seeded binary segmentation.

The method: Kovács, Bühlmann, Li and Munk, "Seeded binary segmentation: a general methodology for fast and optimal
changepoint detection" (Biometrika 110, 2023), for changes of the mean, in the package changeforest. It needs to know
how far levels scatter without a change: seconds of a database are not independent, and a compaction every few minutes
is no change of level. That is estimated from the differences of neighbouring means over about `LEVEL_SECONDS`, by their
median, which the changes themselves hardly move. `benchmarks/levels.py` shows what the constants are worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from changeforest import Control, changeforest
from numpy.typing import NDArray

# Shorter runs are too few levels to tell what their scatter is.
LEAST_SECONDS = 3600
# What does not last so long is no level.
LEVEL_SECONDS = 300
# Changes by less than this factor are not told, however certain they are.
LEAST_FACTOR = 1.1
# Means over so many seconds are what is divided.
_BLOCK_SECONDS = 30
# Of the gain that a change must have, in units of the scatter: by how many logarithms of the number of blocks.
_PENALTY = 4.0
# A median absolute deviation times this is a standard deviation, if the deviations are normal.
_NORMAL = 1.4826


@dataclass(frozen=True)
class LevelChange:
    """A change of level.

    :ivar at: second of the series, to about `_BLOCK_SECONDS`
    :ivar begin: of the level before it; of the one after it `end` is the end
    :ivar before: the level before it, as the median of means over `_BLOCK_SECONDS`
    :ivar after: the same of the one after it
    """

    begin: int
    at: int
    end: int
    before: float
    after: float


def changes(series: Sequence[float]) -> list[LevelChange]:
    """Of a series by the second, in order; none where it is shorter than `LEAST_SECONDS`."""
    if len(series) < LEAST_SECONDS:
        return []
    count = len(series) // _BLOCK_SECONDS
    blocks = np.asarray(series[: count * _BLOCK_SECONDS], dtype=float).reshape(count, _BLOCK_SECONDS).mean(axis=1)
    scatter = _scatter(blocks)
    least = LEVEL_SECONDS // _BLOCK_SECONDS
    control = Control(minimal_relative_segment_length=least / count, minimal_gain_to_split=_PENALTY * math.log(count))
    found = changeforest((blocks / scatter).reshape(-1, 1), "change_in_mean", "sbs", control).split_points()
    ends = _worth_telling(blocks, [0, *map(int, found), count])
    # A block may have seconds of two levels, and a short level is found some blocks too long: the median has neither.
    medians = [float(np.median(blocks[begin:end])) for begin, end in pairwise(ends)]
    return [
        LevelChange(*(each * _BLOCK_SECONDS for each in ends[place : place + 3]), *medians[place : place + 2])
        for place in range(len(medians) - 1)
    ]


def _scatter(blocks: NDArray[np.float64]) -> float:
    """Standard deviation that independent blocks would need for means of a level to scatter as they do.

    The largest of three lengths: one alone would see nothing of what comes back after just that time.
    """
    level = LEVEL_SECONDS // _BLOCK_SECONDS
    found = [0.0]
    for length in (level * 4 // 5, level, level * 4 // 3):
        means = np.convolve(blocks, np.full(length, 1 / length), "valid")
        differences = np.abs(means[length:] - means[:-length])
        found.append(_NORMAL * float(np.median(differences)) * math.sqrt(length / 2))
    # A series without any scatter has no unit to measure its changes in: a millionth of its mean does.
    return max(*found, 1e-6 * float(blocks.mean()), 1e-9)


def _worth_telling(blocks: NDArray[np.float64], ends: list[int]) -> list[int]:
    """Without the smallest changes, one by one, until all are large enough."""
    while len(ends) > 2:
        means = [max(float(blocks[begin:end].mean()), 1e-9) for begin, end in pairwise(ends)]
        factors = [abs(math.log(after / before)) for before, after in pairwise(means)]
        smallest = min(range(len(factors)), key=factors.__getitem__)
        if factors[smallest] >= math.log(LEAST_FACTOR):
            break
        del ends[smallest + 1]
    return ends
