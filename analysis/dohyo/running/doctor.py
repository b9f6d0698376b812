"""Checks whether the clients are fast enough: compares their rate without a database with the rate that the scenario
needs. ansible/doctor.yml measures; docs/clients.md#how-much-client explains the rule.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dohyo import terminal
from dohyo.ansible import availability
from dohyo.ansible.playbook import build_client, play
from dohyo.bad_input import BadInputError
from dohyo.evidence import experiment_folder
from dohyo.evidence.records import ExperimentFacts
from dohyo.figures import UNKNOWN, point_name, rate
from dohyo.operations import OVERALL
from dohyo.places import RESULTS
from dohyo.planning import plan
from dohyo.report import site
from dohyo.running.experiment import only_one, read_json
from dohyo.scenario import published
from dohyo.scenario.phases import INSERT, LOAD, PROPORTIONS
from dohyo.scenario.scenario import Scenario
from dohyo.signals import Interruption, Signals
from dohyo.summary import summary_file

# Seconds of each phase. The warm-up only has to be long enough to compile the client's code.
WARMUP, WINDOW = 3, 3
# The client is the bottleneck if its rate without a database is less than this multiple of the wanted rate, ...
MARGIN = 3
# ... or if it needs more than this share of its processors at the wanted rate, with the driver of a database.
SHARE = 0.5


@dataclass(frozen=True)
class Alone:
    """The result of one host's client in a phase at full speed without a database.

    :ivar processors: number of processors that the client may use
    :ivar ops: operations per second
    :ivar records: records per second
    :ivar cpu: processor seconds per operation
    """

    host: str
    phase: str
    processors: int
    ops: float
    records: float
    cpu: float


@dataclass(frozen=True)
class Wanted:
    """A rate that all clients together must reach.

    :ivar ops: operations per second
    :ivar source: description of where the rate comes from
    :ivar cpu: processor seconds per operation that a client with the driver uses; None if not yet measured
    """

    ops: float
    source: str
    cpu: float | None = None


def bound(alone: Alone, target: Wanted, clients: int) -> str:
    """Returns the reason why the client is the bottleneck on its host, or "" if it is not.

    :param clients: number of hosts among which the rate is divided
    """
    per_client = target.ops / clients
    if alone.ops < MARGIN * per_client:
        return f"{rate(alone.ops)} operations/s without a database are less than {MARGIN} × {rate(per_client)}"
    if target.cpu is not None and per_client * target.cpu > SHARE * alone.processors:
        needed = f"{per_client * target.cpu:.2g} of {alone.processors} processors"
        return f"{rate(per_client)} operations/s through a driver would need {needed}, which is more than {SHARE:.0%}"
    return ""


def wanted_of(scenario: Scenario, phase: str, inventory: Path | None, results: Path = RESULTS) -> list[Wanted]:
    """Returns the wanted rates of a phase: its target, the latest rates on these hosts, or the highest published rate.

    :param scenario: the scenario at one point of its matrix
    :param results: folder with the experiments
    """
    of_phase = scenario.of(phase)
    measured = _measured(scenario, phase, inventory, results)
    if target := float(of_phase["target"] or 0):
        return [Wanted(target, "target", max((row.cpu for row in measured if row.cpu is not None), default=None))]
    if measured:
        return measured
    point = {**scenario.point, "phase": phase}
    figures = [
        (figure.ops_per_second or (figure.records_per_second or 0) / of_phase.number("batchsize"), figure)
        for file in scenario.published
        for figure in published.load(file).figures
        if not figure.per_client and all(point.get(key, values[0]) in values for key, values in figure.at.items())
    ]
    highest, figure = max(figures, key=lambda candidate: candidate[0], default=(0.0, None))
    return [Wanted(highest, f"published: {figure.system}")] if figure is not None and highest else []


def _measured(scenario: Scenario, phase: str, inventory: Path | None, results: Path) -> list[Wanted]:
    """Returns the rates of each system in the newest experiment that contains the phase."""
    identity = (scenario.name, str(inventory) if inventory else None)
    batch = scenario.of(phase).number("batchsize")
    name = LOAD if phase == INSERT else phase
    for folder in site.experiments(results):
        try:
            facts = experiment_folder.strictly(folder / experiment_folder.FACTS, ExperimentFacts)
            trials = summary_file.read(folder).compared if (facts.scenario, facts.inventory) == identity else []
        except BadInputError:
            continue  # the experiment is incomplete, or another version wrote it
        targets = [
            Wanted(row.ops_per_second, f"{trial.system} in {folder.name}", cpu)
            for trial in trials
            if trial.status == "ok" and trial.point.items() <= scenario.point.items()
            if trial.by_phase.get(name, {}).get("batchsize", trial.conditions.batchsize) == batch
            for row in trial.rows
            if row.phase == name and row.operation == OVERALL and row.ops_per_second
            for cost in [row.client_cpu_us_per_record]
            for cpu in [cost * 1e-6 * (row.records_per_second or 0) / row.ops_per_second if cost else None]
        ]
        if targets:
            return targets
    return []


def examine(scenario: Scenario, inventory: Path | None, console: Console) -> int:
    """Measures the clients' hosts and prints the table. Returns the exit code: 1 if a client is the bottleneck.

    A matrix is measured at its first point.

    :param inventory: None for this machine
    :raises BadInputError: if an experiment of this checkout is running, or the client cannot be built
    :raises Interruption: if a signal arrives while the client is built; later signals only change the exit code
    """
    point = scenario.points[0][1] if scenario.points else scenario
    phases = phases_of(point)
    for reason in skipped(point, inventory):
        terminal.say(reason)
    with only_one(), tempfile.TemporaryDirectory() as name:
        signals = Signals()
        with signals.held_back("interrupted: ending the clients"):
            build_client(signals)
            phrase = "the phase" if len(phases) == 1 else f"each of {len(phases)} phases"
            terminal.say(f"{scenario.name} without a database, {WARMUP} + {WINDOW} s for {phrase}")
            variables = {"doctor_phases": phases, "doctor_results": name, "trial_client_heap": point["client_heap"]}
            try:
                failure = play("doctor.yml", inventory, Path(name), check=signals.check, variables=variables)
            except Interruption as interruption:
                terminal.say(f"interrupted {interruption}; the clients end by themselves within seconds", err=True)
                return interruption.exit_code
        if failure is not None:
            terminal.say(f"ERROR: the clients could not be measured: {failure}", err=True)
            return 1
        measurements = [
            _read(Path(name) / f"doctor-{phase['name']}-1" / host / "client.json", host, phase["name"], processors)
            for phase in phases
            for host, processors in read_json(Path(name) / "processors.json").items()
        ]
    by_phase = {phase["name"]: wanted_of(point, phase["name"], inventory) for phase in phases}
    return show(measurements, by_phase, point_name(point.point), console)


def skipped(scenario: Scenario, inventory: Path | None) -> list[str]:
    """Returns a line for each system that a run would skip on these hosts, with the reason."""
    return [f"{name} will be skipped: {reason}" for name, reason in availability.skipped(scenario, inventory).items()]


def phases_of(scenario: Scenario) -> list[dict[str, Any]]:
    """Returns the phases that ansible/doctor.yml measures: the scenario's phases, or the load if there are no runs.

    :param scenario: the scenario at one point of its matrix
    """
    planned = plan.phases_of(scenario)
    runs = planned["trial_phases"]
    if not runs:
        inserts = {**dict.fromkeys(PROPORTIONS, "0"), "insertproportion": "1"}
        runs = [{**planned["trial_load"], "properties": {**planned["trial_load"]["properties"], **inserts}}]
    # Random arrivals would limit the speed, and records that were never written cannot be verified.
    alone = {"target": "0", "arrival": "uniform", "dataintegrity": "false", "verify": "none", "warmup": "fixed"}
    return [{**run, "properties": {**run["properties"], **alone}, "warmup": WARMUP, "duration": WINDOW} for run in runs]


def _read(file: Path, host: str, phase: str, processors: int) -> Alone:
    wrote = read_json(file)
    seconds, operations = wrote["measured_seconds"], wrote["operations"]
    cpu = wrote["cpu_seconds"] / max(1, operations)
    return Alone(host, phase, processors, operations / seconds, wrote["records"] / seconds, cpu)


def show(measurements: Sequence[Alone], targets_by_phase: dict[str, list[Wanted]], point: str, console: Console) -> int:
    """Prints the clients' rates and whether they are high enough. Returns the exit code.

    :param targets_by_phase: the wanted rates for each phase
    :param point: description of the point of the matrix
    """
    clients = len({alone.host for alone in measurements})
    heads = ["host", "phase", "processors", "ops/s", "records/s", "CPU µs/op"]
    rows = [[*heads, "wanted", "margin", "with a driver", ""]]
    reasons = []
    for alone in measurements:
        used = f"{alone.ops * alone.cpu:.2g} of {alone.processors}"
        cells = [alone.host, alone.phase, used, rate(alone.ops), rate(alone.records), f"{alone.cpu * 1e6:.3g}"]
        if not targets_by_phase[alone.phase]:
            rows.append([*cells, *[UNKNOWN] * 3, "no rate is known: add --set target=N, or measure once"])
        for goal in targets_by_phase[alone.phase]:
            share = goal.ops / clients
            driven = UNKNOWN if goal.cpu is None else f"{share * goal.cpu:.2g} processors"
            reason = bound(alone, goal, clients)
            verdict = "BOUND BY THE CLIENT" if reason else "enough"
            rows.append([*cells, f"{rate(share)} ({goal.source})", f"{rate(alone.ops / share)} ×", driven, verdict])
            if reason:
                reasons.append(f"{alone.host}, {alone.phase} ({goal.source}): {reason}")
    lines = terminal.aligned(rows)
    if point:
        lines.append(f"at {point}, the first point of the matrix")
    lines += reasons
    if reasons:
        out = "add client hosts or processors, or lower the target"
        lines.append(f"the client will be the bottleneck: {out} (docs/clients.md)")
    if any(target.cpu is None for targets in targets_by_phase.values() for target in targets):
        lines.append("without a database's driver, which may cost many times as much; a run on these hosts adds it")
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    return 1 if reasons else 0
