"""Divides work among processes if it is long enough."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import TypeVar

# Bytes that are worth a process, which needs a second to start and 100 to 200 MB to read histogram logs. More processes
# than these are not started.
WORTH_BYTES = 32 * 1024 * 1024
MOST_PROCESSES = 8

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def divided(items: Sequence[_Part], size: int) -> list[Sequence[_Part]]:
    """Returns the items in consecutive lists, one for each process that is worth it.

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
    # Spawn instead of fork: a fork would copy locks that other threads hold, of a display or a library.
    with ProcessPoolExecutor(len(parts), multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(function, parts)
