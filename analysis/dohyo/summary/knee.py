"""Chooses the rates of a search for the knee: the highest rate at which a system still answers in time. Does no I/O.

A search runs one probe after another. The first has the rate of the closed-loop maximum. The rate is then halved until
it holds, or raised by a quarter until it does not. Further probes bisect the interval between the two rates. Finally,
the lowest rate that did not hold is tried again. docs/knee.md gives the reasons and limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dohyo.evidence.hdr_log import BEYOND
from dohyo.figures import milliseconds, rate
from dohyo.scenario.search import Settings
from dohyo.scenario.slo import Bound

# Share of the target by which the achieved rate may fall short, because of timers and of operations at the window's
# edges. A system that is too slow falls short by more.
TOLERANCE = 0.01
# Factors between successive rates while only one side of the bracket is known. Latency bounds may need much lower
# rates, but the same threads cannot exceed the closed-loop maximum by much.
DOWN = 2.0
UP = 1.25
# Share of the closed-loop maximum below which no rate is tried, because a failure there does not depend on the rate.
FLOOR = 1e-3


# Latencies in ms by operation and percentile; None if unknown.
Latencies = Mapping[str, Mapping[str, float | None]]


def broken(bounds: Sequence[Bound], latencies: Latencies, target: float, achieved: float) -> tuple[str, ...]:
    """Returns the reasons why a rate did not hold: it was not reached, or violated latency bounds; empty if it held.

    :param latencies: latencies of successful operations, from the intended start
    :param target: requested operations per second
    :param achieved: successful operations per second
    :raises ValueError: if a bounded latency is not known
    """
    if not latencies:
        raise ValueError("no latencies from the intended start are known")
    violations = [f"only {rate(achieved)} op/s"] if achieved < target * (1 - TOLERANCE) else []
    for bound in bounds:
        for operation in [bound.operation] if bound.operation else latencies:
            value = latencies.get(operation, {}).get(bound.percentile)
            if value is None:
                raise ValueError(
                    f"{operation} {bound.percentile}: fewer than {BEYOND} operations exceed it;"
                    " set a longer search.duration"
                )
            if value >= bound.limit_ms:
                violations.append(f"{operation} {bound.percentile} {milliseconds(value)} ms")
    return tuple(dict.fromkeys(violations))


@dataclass(frozen=True)
class Knee:
    """The state of a search. Two rates form its bracket: the highest that held and the lowest that did not.

    :ivar start: closed-loop maximum in operations per second, above 0
    :ivar tried: each tried rate in operations per second, and the bounds that did not hold, as text; empty if all held
    """

    settings: Settings
    start: float
    tried: tuple[tuple[float, str], ...] = ()

    @property
    def _last(self) -> dict[float, str]:
        """Returns the result of the latest attempt at each rate."""
        return dict(self.tried)

    @property
    def unmet(self) -> float | None:
        """Returns the lowest rate that did not hold."""
        return min((target for target, broken in self._last.items() if broken), default=None)

    @property
    def is_sure(self) -> bool:
        """Returns whether the lowest rate that did not hold was tried twice, because one bad second proves no limit."""
        return self.unmet is not None and sum(target == self.unmet for target, _ in self.tried) > 1

    @property
    def held(self) -> float | None:
        """Returns the highest rate that held and is lower than every rate that did not hold."""
        limit = self.unmet or math.inf
        return max((target for target, broken in self._last.items() if not broken and target < limit), default=None)

    @property
    def apart(self) -> float:
        """Returns the distance between the two sides of the bracket, as a share of the lower one."""
        return self.unmet / self.held - 1 if self.unmet and self.held else math.inf

    def next_target(self) -> float | None:
        """Returns the rate to try next; None when the search is over."""
        if len(self.tried) >= self.settings.probes:
            return None
        following = self._new_target()
        return self.unmet if following is None and not self.is_sure else following

    def _new_target(self) -> float | None:
        """Returns the next rate that has not been tried yet."""
        if self.apart <= self.settings.precision:
            return None
        if self.held and self.unmet:
            # Bisect by the geometric mean, because the precision limits the ratio of the two sides.
            return rounded(math.sqrt(self.held * self.unmet))
        if self.unmet:
            lower = self.unmet / DOWN
            return rounded(lower) if lower >= self.start * FLOOR else None
        return rounded(self.held * UP if self.held else self.start)

    def conclusion(self) -> str:
        """Returns the result of the search as a sentence."""
        held, unmet, slo, most = self.held, self.unmet, self.settings.slo, self.settings.probes
        if held and unmet:
            remark = "before a second try" if not self.is_sure else ""
            if self.apart > self.settings.precision:
                remark = f"with rates {self.apart:.0%} apart"
            met, missed = f"{rate(held)} op/s met {slo}", f"{rate(unmet)} op/s had {self._last[unmet]}"
            if remark and len(self.tried) >= most:
                return f"{met}; {missed}; search.probes={most} ended it {remark}"
            return f"{met} ({held / self.start:.0%} of the closed-loop maximum of {rate(self.start)}); {missed}"
        if unmet:
            return f"no rate met {slo}: the lowest tried, {rate(unmet)} op/s, had {self._last[unmet]}"
        if held:
            return f"every rate tried met {slo}, up to {rate(held)} op/s; set a larger search.probes"
        return "no rate was tried"


def rounded(target: float) -> float:
    """Returns the rate rounded to four digits, which is finer than any precision."""
    return float(f"{target:.4g}")
