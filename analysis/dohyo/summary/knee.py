"""The knee of a system: the highest rate at which it still answers in time. Decisions alone, without input and output.

A search asks for one probe after the other: first at the closed-loop maximum, then at half of it and so on until a rate
holds (or a quarter more until one does not), then in the middle of the two. In the end the lowest rate that did not
hold is tried once more. docs/knee.md says why, and how far to trust it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dohyo.evidence.hdr_log import BEYOND
from dohyo.figures import milliseconds, rate
from dohyo.scenario.slo import Bound

# How far the achieved rate may stay behind the target, as a share of it. The rest are operations at the edges of the
# window and timers; a system that is too slow falls behind by more in any window of seconds.
TOLERANCE = 0.01
# Steps while only one side of the bracket is known. Nobody knows how far down a bound on latency leads; but no rate far
# above the closed-loop maximum can be reached with the same threads.
DOWN = 2.0
UP = 1.25
# Share of the closed-loop maximum below which it is not the rate that breaks the bound.
FLOOR = 1e-3


# Latencies in ms by operation and percentile, None where one is not known.
Latencies = Mapping[str, Mapping[str, float | None]]


def broken(asked: Sequence[Bound], latencies: Latencies, target: float, achieved: float) -> tuple[str, ...]:
    """The bounds that did not hold at a rate, in words; empty if all held.

    :param latencies: from the intended start, of the operations that succeeded
    :param target: operations per second that were asked for
    :param achieved: operations per second that succeeded
    :raises ValueError: if a latency that is bounded is not known
    """
    if not latencies:
        raise ValueError("no latencies from the intended start are known")
    found = [f"only {rate(achieved)} op/s"] if achieved < target * (1 - TOLERANCE) else []
    for bound in asked:
        for operation in [bound.operation] if bound.operation else latencies:
            value = latencies.get(operation, {}).get(bound.percentile)
            if value is None:
                raise ValueError(
                    f"the {bound.percentile} of {operation} from the intended start is not known: {BEYOND} operations"
                    " must be beyond it; give a longer search.duration"
                )
            if value >= bound.limit_ms:
                found.append(f"{operation} {bound.percentile} {milliseconds(value)} ms")
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Tried:
    """A rate that was tried, in operations per second, and what did not hold at it."""

    target: float
    broken: tuple[str, ...] = ()


@dataclass(frozen=True)
class Knee:
    """A search as far as it has come.

    :ivar slo: text of the bounds
    :ivar start: the closed-loop maximum, operations per second, above 0
    :ivar most: probes that it may take
    :ivar precision: how near the two sides of the bracket are in the end, as a share of the lower one
    """

    slo: str
    start: float
    most: int
    precision: float
    tried: tuple[Tried, ...] = ()

    @property
    def _last(self) -> list[Tried]:
        """Of a rate that was tried again what came of it then."""
        return list({each.target: each for each in self.tried}.values())

    @property
    def unmet(self) -> Tried | None:
        """The lowest rate that did not hold."""
        return min((each for each in self._last if each.broken), key=lambda each: each.target, default=None)

    @property
    def is_sure(self) -> bool:
        """Whether the lowest rate that did not hold was tried twice: one bad second is not the system's limit."""
        return self.unmet is not None and sum(each.target == self.unmet.target for each in self.tried) > 1

    @property
    def held(self) -> Tried | None:
        """The highest rate that held and is below every one that did not: of two that contradict the lower counts."""
        limit = self.unmet.target if self.unmet else math.inf
        below = (each for each in self._last if not each.broken and each.target < limit)
        return max(below, key=lambda each: each.target, default=None)

    @property
    def apart(self) -> float:
        """How far the two sides of the bracket are apart, as a share of the lower one."""
        return self.unmet.target / self.held.target - 1 if self.unmet and self.held else math.inf

    def next_target(self) -> float | None:
        """The rate to try next; None when the search is over."""
        if len(self.tried) >= self.most:
            return None
        following = self._new_target()
        return self.unmet.target if following is None and self.unmet and not self.is_sure else following

    def _new_target(self) -> float | None:
        """The rate to try next of those that were not tried yet."""
        if self.apart <= self.precision:
            return None
        if self.held and self.unmet:
            # The geometric middle, because the precision is a ratio: each step halves it wherever the bracket lies.
            return rounded(math.sqrt(self.held.target * self.unmet.target))
        if self.unmet:
            lower = self.unmet.target / DOWN
            return rounded(lower) if lower >= self.start * FLOOR else None
        return rounded(self.held.target * UP if self.held else self.start)

    def conclusion(self) -> str:
        """The result of the search as a sentence."""
        held, unmet = self.held, self.unmet
        if held and unmet:
            left = f"before {rate(unmet.target)} op/s was tried again" if not self.is_sure else ""
            if self.apart > self.precision:
                left = f"with the two {self.apart:.0%} apart"
            used_up = left and len(self.tried) >= self.most
            return (
                f"{rate(held.target)} op/s met {self.slo}, {held.target / self.start:.0%} of the closed-loop maximum"
                f" of {rate(self.start)} op/s; {rate(unmet.target)} op/s had {' and '.join(unmet.broken)}"
                + (f"; search.probes={self.most} ended the search {left}" if used_up else "")
            )
        if unmet:
            return (
                f"no rate met {self.slo}: the lowest tried, {rate(unmet.target)} op/s, had {' and '.join(unmet.broken)}"
            )
        if held:
            return (
                f"every rate tried met {self.slo}, up to {rate(held.target)} op/s; the maximum is above it, and a"
                " larger search.probes would find it"
            )
        return "no rate was tried"


def rounded(target: float) -> float:
    """A readable rate: four digits, which is finer than any precision."""
    return float(f"{target:.4g}")
