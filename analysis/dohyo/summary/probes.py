"""The result of the probes of a search for the highest rate, and the rate to try next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dohyo.evidence.rows import succeeded
from dohyo.metrics import Row
from dohyo.operations import INTENDED, OVERALL, is_success
from dohyo.scenario import slo
from dohyo.scenario.search import Settings
from dohyo.summary import knee
from dohyo.summary.knee import Knee, Tried


def stated(settings: Settings | None) -> Settings | None:
    """The settings in a trial's trial.json; None where they are not bounds of anything."""
    try:
        return settings if settings and slo.bounds(settings.slo) else None
    except ValueError:
        return None


@dataclass(frozen=True)
class Probe:
    """One rate that was tried.

    :ivar target: operations per second asked of all clients together; None: not known
    :ivar held: None: it is not valid, and says nothing about the rate
    :ivar reason: why it did not hold, or is not valid
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

    :ivar closed_loop: mean of the runs before it, which had no target rate
    :ivar maximum: the highest rate that held, below one that did not, of a search that came to its end; None: there is
        no more than bounds
    :ivar held: the highest rate that held, below every one that did not: the maximum is not below it
    :ivar unmet: the lowest rate that did not hold
    :ivar next_target: the rate to try next; None when the search is over
    :ivar complete: it came to its end: no rate is to be tried, and none was without an answer
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
        """Whether it is known that no rate holds."""
        return self.complete and self.held is None and self.unmet is not None

    @property
    def best(self) -> Probe | None:
        """The probe of the maximum."""
        return next((probe for probe in self.probes if probe.held and probe.target == self.maximum), None)


@dataclass(frozen=True)
class MeasuredProbe:
    """A run or a probe: its rows, or why they do not count.

    :ivar doubts: why a probe says nothing of its rate unless it held: none of them makes a system faster
    """

    rows: Sequence[Row]
    problems: Sequence[str]
    number: int = 0
    target: float | None = None
    doubts: Sequence[str] = ()

    @property
    def rate(self) -> float | None:
        """Operations per second that succeeded."""
        overall = next((row for row in self.rows if row.operation == OVERALL), None)
        return succeeded(self.rows, overall)[0] if overall and overall.ops_per_second is not None else None


def result(settings: Settings, runs: MeasuredProbe, probes: Sequence[MeasuredProbe]) -> Search:
    """The state of the search, and the rate to try next.

    :param runs: what was measured before, without a target rate
    :param probes: in the order in which they were measured
    """
    start = max(runs.rate or 0.0, 0.0)
    judged = [_judged(settings, probe) for probe in probes]
    tried = [
        Tried(probe.target, (probe.reason,) if probe.reason else ())
        for probe in judged
        if probe.held is not None and probe.target is not None
    ]
    state = Knee(settings.slo, start, settings.probes, settings.precision, tuple(tried))
    problems = [*runs.problems, *(probe.reason or "" for probe in judged if probe.held is None)]
    if not problems and not start:
        problems = ["the runs before it have no rate to begin at"]
    next_target = None if problems else state.next_target()
    if problems:
        sofar = f"; before that, {state.conclusion()}" if start and tried else ""
        conclusion = f"the search for {settings.slo} was ended: {problems[0]}{sofar}"
    elif next_target is not None:
        conclusion = f"the search for {settings.slo} is not finished"
    else:
        conclusion = state.conclusion()
    held, unmet = (each.target if each else None for each in (state.held, state.unmet))
    complete = next_target is None and not problems
    return Search(
        slo=settings.slo,
        closed_loop=runs.rate,
        maximum=held if complete and state.is_sure else None,
        held=held,
        unmet=unmet,
        next_target=next_target,
        complete=complete,
        conclusion=conclusion,
        probes=judged,
    )


def _judged(settings: Settings, probe: MeasuredProbe) -> Probe:
    held: bool | None = None
    reason: str | None = None
    if probe.problems:
        reason = probe.problems[0]
    elif probe.target is None or probe.target <= 0 or probe.rate is None:
        reason = f"probe-{probe.number}: its rate is not known"
    else:
        try:
            broken = knee.broken(slo.bounds(settings.slo), intended(probe.rows), probe.target, probe.rate)
        except ValueError as error:
            reason = f"probe-{probe.number}: {error}"
        else:
            held = None if broken and probe.doubts else not broken
            reason = probe.doubts[0] if held is None else " and ".join(broken) or None
    return Probe(probe.number, probe.target, probe.rate, held, reason, list(probe.rows))


def percentiles(row: Row) -> dict[str, float | None]:
    """In ms, by the names that bounds have for them."""
    return {percentile: getattr(row, name) for percentile, name in slo.PERCENTILES.items()}


def intended(rows: Sequence[Row]) -> Mapping[str, Mapping[str, float | None]]:
    """Percentiles in ms from the intended start, by operation, of those that succeeded."""
    found = {}
    for row in rows:
        name = row.operation.removeprefix(INTENDED)
        if name != row.operation and is_success(name):
            found[name] = percentiles(row)
    return found
