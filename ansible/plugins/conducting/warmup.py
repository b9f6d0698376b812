"""Decides when a warm-up is over, from the total rate of all clients and the processor time of the JIT compilers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean, linear_regression

# Log of a client with warmup=steady: one line per second with the seconds since the start and the total operations.
LOG = "warmup.txt"
# Minimum seconds of a warm-up.
LEAST = 5
# Maximum difference between the rates in the first and the second half of the checked seconds, as a share of the mean.
MOST_CHANGE = 0.05
# Maximum slope of the rate, per second, plus the slope's standard error; as a share of the mean.
MOST_SLOPE = 0.02
# Maximum number of processors that the JIT compilers on a host may use, as a mean over the last `LEAST` seconds.
MOST_COMPILING = 0.1


def is_steady(rates: Sequence[float]) -> bool:
    """Returns whether a rate is steady at the end; docs/method.md#warm-up explains the rule and names its sources.

    :param rates: operations per second, one value for each second since the first operation
    """
    if len(rates) < LEAST:
        return False
    last = rates[-max(LEAST, len(rates) // 2) :]
    half = len(last) // 2
    mean = fmean(last)
    change = fmean(last[-half:]) - fmean(last[:half])
    slope, begin = linear_regression(range(len(last)), last)
    residual = sum((rate - begin - slope * second) ** 2 for second, rate in enumerate(last))
    spread = len(last) * (len(last) ** 2 - 1) / 12  # sum of squares of the seconds around their mean
    error = sqrt(residual / (len(last) - 2) / spread)
    return mean > 0 and abs(change) <= MOST_CHANGE * mean and abs(slope) + error <= MOST_SLOPE * mean


def compiling(samples: Sequence[tuple[float, float]]) -> float:
    """Returns how many processors JIT compilers used on average in the last `LEAST` seconds, or since the first sample.

    :param samples: successive times in seconds, each with the processor seconds used until then
    """
    if len(samples) < 2:
        return 0.0
    until, used = samples[-1]
    since, before = next((sample for sample in reversed(samples) if until - sample[0] >= LEAST), samples[0])
    return (used - before) / (until - since)


class Progress:
    """Operations that the clients reported during the warm-up."""

    def __init__(self, clients: Iterable[str]) -> None:
        # For each client: the operations at the end of each whole second, and the last line of its log.
        self._counts: dict[str, list[float]] = {name: [0.0] for name in clients}
        self._last: dict[str, tuple[float, float]] = dict.fromkeys(self._counts, (0.0, 0.0))

    def add(self, client: str, text: str) -> None:
        """Adds more complete lines from a client's log."""
        counts = self._counts[client]
        for line in text.splitlines():
            before, less = self._last[client]
            after, more = self._last[client] = float(line.split()[0]), float(line.split()[1])
            # Lines are not exactly one second apart, so interpolate the operations at the end of the second.
            while len(counts) <= after:
                counts.append(less + (more - less) * (len(counts) - before) / (after - before))

    @property
    def seconds(self) -> int:
        """Number of whole seconds that all clients have reported."""
        return min(map(len, self._counts.values()), default=1) - 1

    def rates(self) -> list[float]:
        """Returns the total operations of all clients, for each second that all of them have reported."""
        total = [sum(counts) for counts in zip(*self._counts.values(), strict=False)]
        return [after - before for before, after in pairwise(total)]
