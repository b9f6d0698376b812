"""Evaluates the probes of a search for the highest rate, and determines the rate to try next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dohyo.evidence.rows import succeeded
from dohyo.metrics import Row
from dohyo.operations import INTENDED, OVERALL, is_success
from dohyo.scenario import slo
from dohyo.scenario.phases import MOST_AGAIN
from dohyo.scenario.search import Settings
from dohyo.summary import knee, validity
from dohyo.summary.knee import Knee


def stated(settings: Settings | None) -> Settings | None:
    """Returns the settings of the search; None if they contain no valid latency bounds."""
    try:
        return settings if settings and slo.bounds(settings.slo) else None
    except ValueError:
        return None


@dataclass(frozen=True)
class Probe:
    """A rate that was tried.

    :ivar target: requested operations per second of all clients together; None if unknown
    :ivar held: whether the rate held; None if the probe is invalid, so that it says nothing about the rate
    :ivar reason: why the rate did not hold, or why the probe is invalid
    """

    number: int
    target: float | None = None
    achieved: float | None = None
    held: bool | None = None
    reason: str | None = None
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Search:
    """The state of a search. Rates are operations per second of all clients together.

    :ivar closed_loop: mean rate of the runs before the search; these runs had no target rate
    :ivar maximum: highest rate that held, if a higher one failed twice; None if not, or if the search is incomplete
    :ivar held: highest rate that held and is lower than every rate that did not; the maximum is at least as high
    :ivar unmet: lowest rate that did not hold
    :ivar next_target: rate to try next; None when the search is over
    :ivar complete: whether no rate is left to try and every probe was valid, but for disturbed ones that were repeated
    """

    slo: str
    closed_loop: float | None = None
    maximum: float | None = None
    held: float | None = None
    unmet: float | None = None
    next_target: float | None = None
    complete: bool = False
    conclusion: str = ""
    probes: list[Probe] = field(default_factory=list)

    @property
    def in_vain(self) -> bool:
        """Returns whether the search has shown that no rate holds."""
        return self.complete and self.held is None and self.unmet is not None

    @property
    def best(self) -> Probe | None:
        """Returns the probe that found the maximum."""
        return next((probe for probe in self.probes if probe.held and probe.target == self.maximum), None)


def rate_of(rows: Sequence[Row]) -> float | None:
    """Returns the successful operations per second of a run or a probe."""
    overall = next((row for row in rows if row.operation == OVERALL), None)
    return succeeded(rows, overall)[0] if overall and overall.ops_per_second is not None else None


def judged(settings: Settings, probe: Probe, problems: Sequence[str], doubts: Sequence[str]) -> Probe:
    """Returns the probe with its outcome: whether its rate held, and the reason if it did not.

    :param problems: why the probe is invalid
    :param doubts: reasons outside the system why the rate may not have held; ignored if it held
    """
    if problems:
        return replace(probe, reason=problems[0])
    if probe.target is None or probe.target <= 0 or probe.achieved is None:
        return replace(probe, reason=f"probe-{probe.number}: its rate is not known")
    try:
        broken = knee.broken(slo.bounds(settings.slo), intended(probe.rows), probe.target, probe.achieved)
    except ValueError as error:
        return replace(probe, reason=f"probe-{probe.number}: {error}")
    if broken and doubts:
        return replace(probe, reason=doubts[0])
    return replace(probe, held=not broken, reason=" and ".join(broken) or None)


def result(
    settings: Settings, closed_loop: float | None, problems_before: Sequence[str], probes: Sequence[Probe]
) -> Search:
    """Returns the state of the search, with the rate to try next.

    :param closed_loop: rate of the runs before the search, without a target rate
    :param problems_before: why the runs before the search do not count
    :param probes: judged probes in the order in which they were measured
    """
    start = max(closed_loop or 0.0, 0.0)
    tried = [
        (probe.target, probe.reason or "") for probe in probes if probe.held is not None and probe.target is not None
    ]
    state = Knee(settings, start, tuple(tried))
    unknown = [probe.reason or "" for probe in probes if probe.held is None]
    # Others may have ended, so the same rate is tried again.
    again = len(unknown) <= MOST_AGAIN and all(map(validity.may_pass, unknown))
    problems = [*problems_before, *([] if again else unknown)]
    if not problems and not start:
        problems = ["the runs before it have no rate, so there is no first rate to try"]
    next_target = None if problems else state.next_target()
    if problems:
        sofar = f"; before that, {state.conclusion()}" if start and tried else ""
        conclusion = f"the search for {settings.slo} was ended: {problems[0]}{sofar}"
    elif next_target is not None:
        conclusion = f"the search for {settings.slo} is not finished"
    else:
        conclusion = state.conclusion()
    complete = next_target is None and not problems
    return Search(
        slo=settings.slo,
        closed_loop=closed_loop,
        maximum=state.held if complete and state.is_sure else None,
        held=state.held,
        unmet=state.unmet,
        next_target=next_target,
        complete=complete,
        conclusion=conclusion,
        probes=list(probes),
    )


def percentiles(row: Row) -> dict[str, float | None]:
    """Returns percentiles in ms, by the names that latency bounds use."""
    return {percentile: getattr(row, name) for percentile, name in slo.PERCENTILES.items()}


def intended(rows: Sequence[Row]) -> Mapping[str, Mapping[str, float | None]]:
    """Returns the latency percentiles from the intended start, in ms, for each type of successful operation."""
    latencies = {}
    for row in rows:
        name = row.operation.removeprefix(INTENDED)
        if name != row.operation and is_success(name):
            latencies[name] = percentiles(row)
    return latencies
