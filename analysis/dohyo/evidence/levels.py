"""Finds changes in the level of a long run's throughput by seeded binary segmentation.

The method was published by Kovács, Bühlmann, Li and Munk ("Seeded binary segmentation: a general methodology for fast
and optimal changepoint detection", Biometrika 110, 2023). The package changeforest uses it to find changes of the mean.

The method needs the scatter within a level. A database's throughput is not independent from second to second, and a
compaction every few minutes is not a change of level. The scatter is therefore estimated from the median difference of
neighbouring means over about `LEVEL_SECONDS`; changes hardly affect it. `benchmarks/levels.py` checks the constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from changeforest import Control, changeforest
from numpy.typing import NDArray

LEAST_SECONDS = 3600  # minimum length of a run; a shorter run contains too few levels to estimate the scatter
LEVEL_SECONDS = 300  # minimum length of a level
LEAST_FACTOR = 1.1  # minimum factor of a change; smaller changes are not reported, even if they are certain
_BLOCK_SECONDS = 30  # length of the blocks; the method is applied to the mean of each block
_PENALTY = 4.0  # minimum gain of a change: in units of the scatter, divided by the logarithm of the number of blocks
_NORMAL = 1.4826  # factor from the median absolute deviation to the standard deviation of a normal distribution


@dataclass(frozen=True)
class LevelChange:
    """A change of level. Times are in seconds from the start of the series."""

    begin: int  # start of the level before the change; `end` is the end of the level after it
    second: int  # time of the change, accurate to about `_BLOCK_SECONDS`
    end: int
    before: float  # level before the change, the median of means over `_BLOCK_SECONDS`
    after: float  # level after the change, computed in the same way


def changes(series: Sequence[float]) -> list[LevelChange]:
    """Finds the changes in a series of seconds, in chronological order. Ignores series shorter than `LEAST_SECONDS`."""
    if len(series) < LEAST_SECONDS:
        return []
    count = len(series) // _BLOCK_SECONDS
    blocks = np.asarray(series[: count * _BLOCK_SECONDS], dtype=float).reshape(count, _BLOCK_SECONDS).mean(axis=1)
    scatter = _scatter(blocks)
    least = LEVEL_SECONDS // _BLOCK_SECONDS
    control = Control(minimal_relative_segment_length=least / count, minimal_gain_to_split=_PENALTY * math.log(count))
    splits = changeforest((blocks / scatter).reshape(-1, 1), "change_in_mean", "sbs", control).split_points()
    ends = _worth_telling(blocks, [0, *map(int, splits), count])
    # Use medians, because a block may contain seconds of two levels, and a short level may seem longer than it is.
    medians = [float(np.median(blocks[begin:end])) for begin, end in pairwise(ends)]
    return [
        LevelChange(*(boundary * _BLOCK_SECONDS for boundary in ends[index : index + 3]), *medians[index : index + 2])
        for index in range(len(medians) - 1)
    ]


def _scatter(blocks: NDArray[np.float64]) -> float:
    """Returns the standard deviation of independent blocks whose means over a level scatter like those of `blocks`.

    Three lengths are used, and the largest result counts: means over a length hide cycles of exactly that length.
    """
    level = LEVEL_SECONDS // _BLOCK_SECONDS
    scatters = [0.0]
    for length in (level * 4 // 5, level, level * 4 // 3):
        means = np.convolve(blocks, np.full(length, 1 / length), "valid")
        differences = np.abs(means[length:] - means[:-length])
        scatters.append(_NORMAL * float(np.median(differences)) * math.sqrt(length / 2))
    # For a series without scatter, use a millionth of its mean.
    return max(*scatters, 1e-6 * float(blocks.mean()), 1e-9)


def _worth_telling(blocks: NDArray[np.float64], ends: list[int]) -> list[int]:
    """Removes the smallest change repeatedly until all changes are at least `LEAST_FACTOR`."""
    while len(ends) > 2:
        means = [max(float(blocks[begin:end].mean()), 1e-9) for begin, end in pairwise(ends)]
        factors = [abs(math.log(after / before)) for before, after in pairwise(means)]
        smallest = min(range(len(factors)), key=factors.__getitem__)
        if factors[smallest] >= math.log(LEAST_FACTOR):
            break
        del ends[smallest + 1]
    return ends
