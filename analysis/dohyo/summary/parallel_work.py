"""Divides work among several processes if it is large enough."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import TypeVar

# Minimum number of bytes to read for which several processes are started. Each process needs a second to start, and 100
# to 200 MB of memory to read histogram logs.
WORTH_BYTES = 32 * 1024 * 1024
MOST_PROCESSES = 8

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def divided(items: Sequence[_Part], size: int) -> list[Sequence[_Part]]:
    """Divides the items into consecutive lists, one for each process.

    :param size: bytes to read for all items
    """
    processes = min(MOST_PROCESSES, len(os.sched_getaffinity(0)), len(items)) if size >= WORTH_BYTES else 1
    ends = [len(items) * number // max(1, processes) for number in range(max(1, processes) + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)]


def each(function: Callable[[_Part], _Result], parts: Sequence[_Part]) -> Iterator[_Result]:
    """Yields the function's results for the parts in order; a single part runs in this process."""
    if len(parts) < 2:
        yield from map(function, parts)
        return
    # Spawn instead of fork: a fork would copy locks that threads of the display or of a library hold.
    with ProcessPoolExecutor(len(parts), multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(function, parts)
