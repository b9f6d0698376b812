"""Finds changes in the level of a long run's throughput by seeded binary segmentation.

The method is that of Kovács, Bühlmann, Li and Munk in the package changeforest, for changes of the mean. See "Seeded
binary segmentation: a general methodology for fast and optimal changepoint detection" (Biometrika 110, 2023). It must
know the scatter without changes. The seconds of a database are not independent, and a compaction every few minutes does
not change the level. The scatter is estimated from the differences of neighbouring means over about `LEVEL_SECONDS`, by
their median, which the changes hardly affect. `benchmarks/levels.py` evaluates the constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from changeforest import Control, changeforest
from numpy.typing import NDArray

# Shorter runs have too few levels to estimate their scatter.
LEAST_SECONDS = 3600
# Least length of a level.
LEVEL_SECONDS = 300
# Changes by a smaller factor are not reported, however certain they are.
LEAST_FACTOR = 1.1
# Length of the blocks whose means are segmented.
_BLOCK_SECONDS = 30
# Least gain of a change, in units of the scatter: a multiple of the logarithm of the number of blocks.
_PENALTY = 4.0
# Factor from a median absolute deviation to a standard deviation, for normal deviations.
_NORMAL = 1.4826


@dataclass(frozen=True)
class LevelChange:
    """A change of level.

    :ivar at: second of the series, to about `_BLOCK_SECONDS`
    :ivar begin: start of the level before the change; `end` is the end of the level after it
    :ivar before: level before the change, the median of means over `_BLOCK_SECONDS`
    :ivar after: level after the change, computed in the same way
    """

    begin: int
    at: int
    end: int
    before: float
    after: float


def changes(series: Sequence[float]) -> list[LevelChange]:
    """Finds the changes in a series by second, in order; none if it is shorter than `LEAST_SECONDS`."""
    if len(series) < LEAST_SECONDS:
        return []
    count = len(series) // _BLOCK_SECONDS
    blocks = np.asarray(series[: count * _BLOCK_SECONDS], dtype=float).reshape(count, _BLOCK_SECONDS).mean(axis=1)
    scatter = _scatter(blocks)
    least = LEVEL_SECONDS // _BLOCK_SECONDS
    control = Control(minimal_relative_segment_length=least / count, minimal_gain_to_split=_PENALTY * math.log(count))
    found = changeforest((blocks / scatter).reshape(-1, 1), "change_in_mean", "sbs", control).split_points()
    ends = _worth_telling(blocks, [0, *map(int, found), count])
    # A block may have seconds of two levels, and a short level may be found some blocks too long: hence medians.
    medians = [float(np.median(blocks[begin:end])) for begin, end in pairwise(ends)]
    return [
        LevelChange(*(each * _BLOCK_SECONDS for each in ends[place : place + 3]), *medians[place : place + 2])
        for place in range(len(medians) - 1)
    ]


def _scatter(blocks: NDArray[np.float64]) -> float:
    """Returns the standard deviation with which independent blocks would have means that scatter like these.

    Uses the largest of three lengths: with one length, a cycle of just that length would not be seen.
    """
    level = LEVEL_SECONDS // _BLOCK_SECONDS
    found = [0.0]
    for length in (level * 4 // 5, level, level * 4 // 3):
        means = np.convolve(blocks, np.full(length, 1 / length), "valid")
        differences = np.abs(means[length:] - means[:-length])
        found.append(_NORMAL * float(np.median(differences)) * math.sqrt(length / 2))
    # In a series without scatter, a millionth of its mean is the unit for its changes.
    return max(*found, 1e-6 * float(blocks.mean()), 1e-9)


def _worth_telling(blocks: NDArray[np.float64], ends: list[int]) -> list[int]:
    """Removes the smallest changes, one by one, until all are at least `LEAST_FACTOR`."""
    while len(ends) > 2:
        means = [max(float(blocks[begin:end].mean()), 1e-9) for begin, end in pairwise(ends)]
        factors = [abs(math.log(after / before)) for before, after in pairwise(means)]
        smallest = min(range(len(factors)), key=factors.__getitem__)
        if factors[smallest] >= math.log(LEAST_FACTOR):
            break
        del ends[smallest + 1]
    return ends
