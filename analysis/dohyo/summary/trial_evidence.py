"""Computes a trial from its folder in `raw/`: its numbers, or the reason why they are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

from msgspec import structs

from dohyo.bad_input import BadInputError
from dohyo.evidence import accounting
from dohyo.evidence.conductor_records import nodes
from dohyo.evidence.events import Event
from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.healing import HealingLogs
from dohyo.evidence.host_metrics import Taken
from dohyo.evidence.rows import Run, rows
from dohyo.metrics import Row
from dohyo.operations import OVERALL, is_call, is_failure
from dohyo.scenario.phases import LOAD, MAX, OWN, PROBE, RUN
from dohyo.scenario.properties import find as find_property
from dohyo.scenario.search import Settings
from dohyo.statistics import trend
from dohyo.summary import conditions, knee, notes, probes, requested_settings, validity
from dohyo.summary.conditions import Conditions, ConditionSources
from dohyo.summary.phase import Phase, add_all, parts_of
from dohyo.summary.probes import Probe, Search
from dohyo.summary.results import Status, Trial
from dohyo.summary.rounds import Counted, rows_of
from dohyo.summary.trial_folder import NO_STATE, TrialFolder


def read(facts: TrialFolder) -> tuple[Trial, Counted]:
    """Returns a trial with the runs and histograms of its rows; it has no numbers if a folder cannot be read."""
    try:
        return _read(facts)
    except OSError as error:
        why = f"{error.filename}: cannot be read: {error.strerror or error}"
        facts.warn(why)
        system = facts.settings.system or facts.path.name
        return Trial(facts.path.name, system, system, "invalid", why), {}


def _read(facts: TrialFolder) -> tuple[Trial, Counted]:
    """Returns a trial from its evidence.

    :raises OSError: if one of its folders cannot be read
    """
    facts.read()
    status, reason = _judged(facts)
    shown = [
        *(facts.measured if status == "ok" else []),
        *(facts.aside if not any(phase.problems for phase in facts.aside) else []),
    ]
    measured = {part: _counted([phase for phase in facts.phases if phase.part == part]) for part in parts_of(shown)}
    rows = rows_of(measured)
    conditions_of_all, by_phase = _conditions(facts)
    system = facts.settings.system or facts.path.name
    trial = Trial(
        name=facts.path.name,
        system=system,
        title=facts.read_back.title or system,
        status=status,
        reason=reason,
        point=facts.settings.matrix_point,
        round=facts.settings.round if facts.settings.rounds > 1 else None,
        conditions=conditions_of_all,
        by_phase=by_phase,
        deviations=facts.read_back.differences,
        exceeded={name: str(value) for name, value in facts.read_back.exceeded.items()},
        rows=rows,
        load_is_measured=facts.settings.load_is_measured,
        system_failed=facts.system_failed,
        warmups={phase.name: phase.warmup for phase in facts.runs},
        load=next((phase.curve for phase in facts.load if phase in shown), None),
        canary=facts.canary,
        search=_search(facts),
        asked_workload=requested_settings.workload(facts.requested),
        asked_servers=requested_settings.servers(facts.requested),
        configured={**facts.read_back.values, **facts.read_back.server_settings},
        notes=list(notes.of_trial(facts)),
        servers=facts.servers.all(),
        spans=list(facts.servers.spans()),
        hosts=facts.metrics.all(),
        taken=facts.shares,
        host_metrics=facts.metrics,
        events=_events(facts, rows),
        clients=[
            structs.replace(client, rows=[row for row in client.rows if (row.phase, row.discarded) in measured])
            for client in facts.clients
        ],
        **_of_runs(facts, facts.counted if status == "ok" else []),
    )
    return trial, measured


def _of_runs(facts: TrialFolder, valid: Sequence[Phase]) -> dict[str, Any]:
    """Returns the fields of a trial that describe its runs.

    :param valid: the runs that count; empty unless the trial is "ok"
    """
    healing = HealingLogs(facts.path / "server", facts.warn)
    return {
        # Include discarded runs, because later runs do not detect what a discarded one lost.
        "accounting": accounting.of_all(client.report.accounting for run in facts.measured for client in run.clients),
        "faults": [faulted for phase in valid if (faulted := phase.healed(healing))],
        "trends": _trends(valid),
        "collapses": [when for phase in valid for when in phase.collapses()],
        "level_changes": [when for phase in valid for when in phase.level_changes()],
        "cold": [phase.name for phase in valid if phase.conducted.warmup_steady is False],
        "nodes": nodes([phase.conducted for phase in facts.counted or facts.load], [phase.run for phase in valid]),
    }


def _events(facts: TrialFolder, rows: Sequence[Row]) -> list[Event]:
    return [
        event
        for phase in facts.phases
        for event in phase.events(
            [
                *(_pauses(facts, phase, rows) if phase in facts.measured else []),
                *phase.level_events(facts.servers, facts.metrics),
            ],
            measured=phase in facts.measured,
        )
    ]


def _pauses(facts: TrialFolder, phase: Phase, rows: Sequence[Row]) -> list[Event]:
    """Returns the pauses of the servers' JVMs that are long compared with the clients' latencies."""
    calls = [row for row in rows if (row.phase, row.discarded) == phase.part and is_call(row.operation)]
    p99s = [row.p99_ms for row in calls if row.p99_ms is not None and not is_failure(row.operation)]
    timeout, default = facts.settings.properties.operationtimeout, find_property("operationtimeout")
    if timeout is None and default and default.default:
        timeout = float(default.default)
    return facts.servers.events(phase.kind, phase.number, max(p99s, default=None), timeout)


def _search(facts: TrialFolder) -> Search | None:
    """Returns the result of the search's probes. Nothing else in the trial depends on them."""
    settings = probes.stated(facts.settings.search)
    if settings is None:
        return None
    runs = [phase for phase in facts.counted if phase.kind != LOAD]
    facts.probes = facts.phases_of(PROBE)
    facts.read_clients(facts.probes)
    metrics = facts.metrics_of(facts.probes)
    for phase in facts.probes:
        phase.cpus = metrics.cpus()
    closed_loop = probes.rate_of(rows(RUN, [phase.run for phase in runs], {}))
    problems = [problem for phase in runs for problem in phase.problems]
    tried = [_probe(phase, facts, metrics.shares, settings) for phase in facts.probes]
    return probes.result(settings, closed_loop, problems, tried)


def disturbed(folder: Path) -> str:
    """Returns why others disturbed the last repeat of a trial; empty if they did not, or if this is not known.

    :param folder: folder of a trial in `raw/`, which may still be running
    """
    files = TrialFolder(folder, [])
    files.read_conditions()
    # The trial waits, so leave out the load and the other repeats, which may have many clients and last for hours.
    runs = files.phases_of(*files.settings.planned)
    last = max((run.number or 0 for run in runs), default=0)
    runs = [run for run in runs if run.number == last]
    files.read_clients(runs)
    shares = files.metrics_of(runs).shares
    problems = [problem for run in runs for problem in validity.disturbing(files, run, shares)]
    return _first(problems) if problems else ""


def own_target(folder: Path) -> float:
    """Returns the rate of the phase `own` in operations per second of all clients: a share of the last run of `max`.

    :param folder: folder of a trial in `raw/`, which may still be running
    :raises BadInputError: if the last run of `max` has no valid rate
    """
    files = TrialFolder(folder, [])
    last = files.phases_of(MAX)[-1:]
    files.read_clients(last)
    rates = [row.ops_per_second for row in rows(MAX, [phase.run for phase in last], {}) if row.operation == OVERALL]
    share = files.settings.phase(OWN).share
    why = next((problem for phase in last for problem in phase.problems), "it has no rate")
    if not share or not rates or not rates[0] or last[0].problems:
        raise BadInputError(f"{folder.name}: {OWN} has no rate, as {MAX} is not valid: {why}")
    return knee.rounded(share * rates[0])


def _judged(facts: TrialFolder) -> tuple[Status, str | None]:
    """Returns the trial's status, and the reason if it is not "ok"."""
    status, reason = _state(facts)
    problems = validity.problems(facts)
    if status == "ok" and problems:
        return "failed" if facts.system_failed else "invalid", _first(problems)
    broken = next((run for run in facts.measured if run.conducted.failure), None)
    if status == "failed" and broken is not None:
        # The run's failure explains best why the trial has no valid numbers. The reason in state.json may
        # also name a dead server.
        why = broken.conducted.failure
        also = (reason or "").partition(why)[2]
        failed = any(run.system_failed for run in facts.measured)
        return "failed" if failed else "invalid", f"{broken.name}: {why}{also}"
    return status, reason or (_first(problems) if problems else None)


def _state(facts: TrialFolder) -> tuple[Status, str | None]:
    """Returns the trial's status and reason according to state.json."""
    if NO_STATE in facts.changed:
        return "invalid", NO_STATE
    state = facts.state
    status = state.status
    if status == "done":
        return "ok", None
    if status not in get_args(Status):
        return "failed", f"unknown state {status!r} in state.json"
    default = {"pending": "not started", "running": "not finished", "interrupted": "interrupted"}
    return cast(Status, status), state.reason or default.get(status, "no reason was recorded")


def _conditions(facts: TrialFolder) -> tuple[Conditions, dict[str, dict[str, Any]]]:
    """Returns the conditions of the trial and, for each phase, those that differ between phases."""

    def read(phases: Sequence[Phase]) -> Conditions:
        return conditions.read(ConditionSources(facts.stated, facts.read_back, facts.settings, phases, facts.shares))

    phases = facts.counted or facts.load
    of_phases = {phase.kind: [candidate for candidate in phases if candidate.kind == phase.kind] for phase in phases}
    of_trial = read(phases)
    differing = conditions.by_phase({kind: read(of_kind) for kind, of_kind in of_phases.items()})
    several = dict.fromkeys(name for of_phase in differing.values() for name in of_phase)
    return replace(of_trial, **several), differing


def _probe(phase: Phase, facts: TrialFolder, shares: Sequence[Taken], settings: Settings) -> Probe:
    """Returns a probe with its measurements, judged by whether its rate held."""
    targets = [client.report.target for client in phase.clients]
    rates = [target for target in targets if target is not None]
    # Add up the clients' targets, because each client received a share.
    target = knee.rounded(sum(rates)) if rates and not phase.missing and len(rates) == len(targets) else None
    # Records that are not found make a system faster, so they are a problem and not only a doubt.
    problems = [*phase.problems, *(f"{phase.name}{why}" for why in validity.not_found(phase))]
    # Others come first: they may be why the client was late, and they may end, so that the rate is tried again.
    doubts = [*validity.disturbing(facts, phase, shares), *validity.run_problems(phase)]
    measured = rows(PROBE, [phase.run], phase.latencies)
    probe = Probe(phase.number or 0, target, probes.rate_of(measured), rows=measured)
    return probes.judged(settings, probe, problems, doubts)


def _trends(phases: Sequence[Phase]) -> dict[str, float]:
    """Returns the trend of the throughput for each phase.

    Loads are left out, because they slow down as tables grow. Runs with faults are also left out.
    """
    of_phases: dict[str, list[list[int]]] = {}
    for phase in phases:
        if phase.kind != LOAD and phase.faults is None:
            of_phases.setdefault(phase.kind, []).append(phase.throughput)
    return {kind: slope for kind, series in of_phases.items() if (slope := trend(series)) is not None}


def _counted(phases: Sequence[Phase]) -> tuple[list[Run], dict[str, Latencies]]:
    """Returns the runs of one part, and their merged latencies."""
    latencies: dict[str, Latencies] = {}
    for phase in phases:
        add_all(latencies, phase.latencies)
    return [phase.run for phase in phases], latencies


def _first(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"{problems[0]} (and {len(problems) - 1} more)"
