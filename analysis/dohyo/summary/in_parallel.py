"""Work that is divided among processes if it is long enough."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import TypeVar

# A process needs a second to start, and 100 to 200 MB when it reads histogram logs: less than this is not divided, and
# more processes than these are not started.
WORTH_BYTES = 32 * 1024 * 1024
MOST_PROCESSES = 8

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


def divided(items: Sequence[_Part], size: int) -> list[Sequence[_Part]]:
    """Neighbouring items, as many lists of them as processes are worth it.

    :param size: bytes to be read for all of them
    """
    processes = min(MOST_PROCESSES, len(os.sched_getaffinity(0)), len(items)) if size >= WORTH_BYTES else 1
    ends = [len(items) * number // max(1, processes) for number in range(max(1, processes) + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)]


def each(function: Callable[[_Part], _Result], parts: Sequence[_Part]) -> Iterator[_Result]:
    """The function's results for the parts, in their order; a single part runs in this process."""
    if len(parts) < 2:
        yield from map(function, parts)
        return
    # Spawned, not forked: there may be threads (a display, those of libraries), whose locks a fork would keep shut.
    with ProcessPoolExecutor(len(parts), multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(function, parts)
