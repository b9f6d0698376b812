"""When a warm-up is over: the rate of all clients together, second by second, and the work of JIT compilers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean, linear_regression

# What a client with warmup=steady writes once a second: seconds since the agreed instant, its operations until then.
LOG = "warmup.txt"
# Seconds: no warm-up ends before.
LEAST = 5
# The rate of the later half of what is looked at differs from that of the earlier one by at most this share.
MOST_CHANGE = 0.05
# It rises or falls by at most this share of its mean per second, also where the standard error of that is added.
MOST_SLOPE = 0.02
# Over the last `LEAST` seconds the JIT compilers of one host have used at most that much of one processor.
MOST_COMPILING = 0.1


def is_steady(rates: Sequence[float]) -> bool:
    """Whether a rate is steady by now. docs/method.md#warm-up has the rule and its sources.

    :param rates: operations per second, one value for each second since the first operation
    """
    if len(rates) < LEAST:
        return False
    last = rates[-max(LEAST, len(rates) // 2) :]
    half = len(last) // 2
    mean = fmean(last)
    change = fmean(last[-half:]) - fmean(last[:half])
    slope, begin = linear_regression(range(len(last)), last)
    left = sum((rate - begin - slope * second) ** 2 for second, rate in enumerate(last))
    spread = len(last) * (len(last) ** 2 - 1) / 12  # of the seconds around their mean
    error = sqrt(left / (len(last) - 2) / spread)
    return mean > 0 and abs(change) <= MOST_CHANGE * mean and abs(slope) + error <= MOST_SLOPE * mean


def compiling(samples: Sequence[tuple[float, float]]) -> float:
    """How much of one processor a host's JIT compilers use: the mean of the last `LEAST` seconds, or of all if fewer.

    :param samples: successive instants in seconds, each with the processor seconds used until then
    """
    if len(samples) < 2:
        return 0.0
    until, used = samples[-1]
    since, before = next((sample for sample in reversed(samples) if until - sample[0] >= LEAST), samples[0])
    return (used - before) / (until - since)


class Progress:
    """What the clients have reported of their warm-up."""

    def __init__(self, clients: Iterable[str]) -> None:
        # By client: operations at the end of each whole second, and the last line.
        self._done: dict[str, list[float]] = {name: [0.0] for name in clients}
        self._last: dict[str, tuple[float, float]] = dict.fromkeys(self._done, (0.0, 0.0))

    def add(self, client: str, text: str) -> None:
        """Takes further whole lines of a client's log."""
        done = self._done[client]
        for line in text.splitlines():
            before, less = self._last[client]
            after, more = self._last[client] = float(line.split()[0]), float(line.split()[1])
            # Lines come a little late; in between operations count in proportion.
            while len(done) <= after:
                done.append(less + (more - less) * (len(done) - before) / (after - before))

    @property
    def seconds(self) -> int:
        """Whole seconds that all clients have reported."""
        return min(map(len, self._done.values()), default=1) - 1

    def rates(self) -> list[float]:
        """Operations of all clients together in each of these seconds."""
        total = [sum(at) for at in zip(*self._done.values(), strict=False)]
        return [after - before for before, after in pairwise(total)]
