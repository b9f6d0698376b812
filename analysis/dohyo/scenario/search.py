"""Settings of the search for the highest rate at which latency bounds hold; summary/probes.py reads its results."""

from __future__ import annotations

from dataclasses import dataclass

from dohyo.bad_input import BadInputError
from dohyo.operations import READ_MODIFY_WRITE
from dohyo.scenario import slo
from dohyo.scenario.scenario import Scenario, conflict


@dataclass(frozen=True)
class Settings:
    """Settings of a search.

    :ivar slo: bounds, as in the property
    :ivar probes: maximum number of probes
    :ivar duration: measured window of a probe, in seconds
    :ivar precision: maximum gap, as a share, between the highest rate that met the bounds and the lowest that failed
    """

    slo: str
    probes: int
    duration: int
    precision: float


def asked(scenario: Scenario) -> Settings | None:
    """Returns the settings of a scenario's search, or None without a search."""
    if scenario["search"] == "none":
        return None
    return Settings(
        slo=scenario["slo"],
        probes=scenario.number("search.probes"),
        duration=scenario.number("search.duration") or _run(scenario).duration,
        precision=float(scenario["search.precision"]),
    )


def _run(scenario: Scenario) -> Scenario:
    """Returns the scenario of the only phase. The probes differ from its runs only in rate and duration."""
    return scenario.of(scenario.phases[0])


def check(scenario: Scenario) -> None:
    """Checks that the properties of a search are valid together.

    :raises BadInputError: naming the property that is missing or contradicts another
    """
    if scenario["search"] != "none" and not scenario.phases:
        raise conflict(scenario, "search", "phases", reason="a search needs a phase after the load; set phases=run")
    settings = asked(scenario)
    if settings is None:
        # search=none on the command line disables the search of a file.
        keys = [key for key in scenario.values if key == "slo" or key.startswith("search.")]
        if keys and "search" not in scenario.values:
            reason = f"needs search=max; add it, or leave out {', '.join(keys)}"
            raise conflict(scenario, keys[0], reason=reason)
        return
    if not settings.slo:
        raise BadInputError("search=max: slo is missing; set the bounds on latency, such as slo=p99<10ms")
    if len(scenario.phases) > 1:
        reason = f"a search uses the mix of one phase; set phases={scenario.phases[-1]}"
        raise conflict(scenario, "search", "phases", reason=reason)
    run = _run(scenario)
    if float(run["target"]):
        raise BadInputError(
            f"search=max and target={run['target']}: the search begins at the systems' highest rate; leave one out"
        )
    if not settings.duration:
        raise BadInputError(
            "search=max: nothing ends a probe, as operationcount does not fit every rate; set search.duration=60s"
        )
    mixed = _mix(run)
    for bound in slo.bounds(settings.slo):
        if bound.operation and bound.operation not in mixed:
            way_out = "leave it out, or set its proportion"
            reason = f"there is no {bound.operation} in the mix, only {', '.join(mixed)}; {way_out}"
            raise conflict(scenario, "slo", reason=reason)


def _mix(run: Scenario) -> list[str]:
    """Returns YCSB's names for the operations in the mix. A read-modify-write also adds those of its two parts."""
    names = [name for key, name in slo.OPERATIONS.items() if float(run[f"{key}proportion"])]
    halves = ["READ", "UPDATE"] if READ_MODIFY_WRITE in names else []
    return list(dict.fromkeys([*halves, *names]))


def lengths(scenario: Scenario) -> list[int]:
    """Returns the duration of each possible probe in seconds, including its warm-up. A search may need fewer probes."""
    settings = asked(scenario)
    return [_run(scenario).warmup + settings.duration] * settings.probes if settings else []


def words(scenario: Scenario) -> str:
    """Returns a description of a search and its maximum duration; empty without a search."""
    settings = asked(scenario)
    if settings is None:
        return ""
    window = f"{_run(scenario).warmup_words} + {settings.duration} s"
    return f"at most {settings.probes} × ({window}) for the highest rate with {settings.slo}"
