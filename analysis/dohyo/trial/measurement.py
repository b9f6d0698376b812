"""Runs the measuring part of a trial: load → settle → (settle → warm-up → measure → stats) × phases × repeats → search.

It begins when the servers are up and have tables. The servers are stopped after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dohyo.scenario import faults
from dohyo.scenario.phases import MOST_AGAIN, most_again
from dohyo.systems.context import Context
from dohyo.systems.system import System
from dohyo.trial import clients
from dohyo.trial.clients import ClientPhase
from dohyo.trial.processes import tool
from dohyo.trial.servers import ServerSteps
from dohyo.trial.turns import OwnTurns
from dohyo.trial.world import Host, World, program, write_json

# Seconds within which the servers must be ready after the last fault.
FAULT_PATIENCE = 1200


# Function that runs a phase on the clients of all hosts together. Its arguments are those of conducting.conductor.Plan,
# the phase, and the folder of the phase's files on the control machine. It returns the content of clients.json, and the
# hosts whose connection was lost.
Conduct = Callable[[Mapping[str, Any], ClientPhase, Path], tuple[Mapping[str, Any], list[str]]]


@dataclass
class Measuring:
    """The part of a trial that measures, and its state.

    :ivar turns: turns of the trial for the load, each run and the end, if it takes turns with other trials
    :ivar inserted: number of keys for new records that the client of each host has used
    :ivar counted: number of runs so far
    :ivar preconditionings: number of times that the updates of the preconditioning were written
    :ivar vanished: hosts that were lost while clients ran
    """

    world: World
    servers: ServerSteps
    conduct: Conduct
    turns: OwnTurns = field(default_factory=lambda: OwnTurns({}))
    inserted: dict[str, int] = field(default_factory=dict)
    counted: int = 0
    preconditionings: int = 0
    vanished: list[str] = field(default_factory=list)

    @property
    def values(self) -> Mapping[str, Any]:
        """Variables of the trial."""
        return self.world.first.values

    @property
    def _phases(self) -> list[str]:
        """Names of the measured phases."""
        return [phase["name"] for phase in self.values["trial_phases"]]

    @property
    def folder(self) -> Path:
        """Folder of the trial, on the control machine."""
        return Path(self.values["trial_dir"])

    # ---- the steps, in their order ----------------------------------------------------------------------------------

    def load(self) -> None:
        """Loads the tables. The scenario's target rate applies to the runs, not to the load."""
        properties = {**self.values["trial_properties"], "target": 0}
        self.run({"properties": properties, **self.values["trial_load"], "name": "load"}, 0)

    def settle_load(self) -> None:
        """Lets the servers settle after the load, and fails if the load is incomplete.

        A system counts its rows only up to a limit that it sets, so a larger load is not checked.

        :raises StepError: if there are fewer rows than records
        """
        settled = self.servers.settle("stats/load")
        write_json(self.folder / "settled.json", settled)
        expected, rows = Context(self.values).records, sum(settled["rows"].values())
        if settled["rows"] and rows < expected:
            message = f"only {rows} of {expected} records are in the tables, though every insert was acknowledged"
            self.world.refuse("Check that the load is complete", message)

    def measure(self) -> None:
        """Measures all phases as often as the scenario says, searches for the highest rate, and counts the rows.

        A repeat that was disturbed does not count, and is measured again at once.
        """
        phases = self.values["trial_phases"]
        number, last, again = 0, int(self.values["trial_repeats"]), self.most_again
        while number < last:
            number += 1
            for phase in phases:
                with self.turns.turn():
                    self.measure_phase(phase, number, is_first=number == 1 and phase == phases[0])
            if again and self.is_set_aside(number):
                last, again = last + 1, again - 1
        # The trial keeps its last turn until its end.
        self.turns.wait()
        if self.values["trial_search"]:
            self.search()
        rows = json.loads((self.folder / "settled.json").read_text("utf-8"))["rows"]
        # `dohyo` later decides from the evidence of all clients whether a row is missing.
        if rows and any(self.inserted.values()):
            with_new = int(self.values["trial_properties"]["recordcount"]) + sum(self.inserted.values())
            write_json(self.folder / "counted.json", {"rows": self.servers.count(with_new)})

    def measure_phase(self, phase: Mapping[str, Any], number: int, is_first: bool) -> None:
        """Measures one run of one phase, with the steps before and after it.

        :param is_first: whether this is the first run after the load
        """
        folder = f"{phase['name']}-{number}"
        settles = self.values["trial_settle"] == "phases"
        if settles and not is_first:
            # Save statistics before the run, too, because the servers' work while settling does not belong to the run.
            write_json(self.folder / folder / "settled.json", self.servers.settle(f"stats/{folder}-before"))
        # Earlier runs have the same effect on later ones as preconditioning, unless the servers settle in between.
        if self.values["trial_precondition"] and (settles or is_first):
            self.preconditionings += 1
            self.run(self.values["trial_precondition"], self.preconditionings)
        if "share" in phase:
            # The rate of the phase `own` is a share of the rate of the first phase, `max` (docs/scenarios.md).
            self.fetch(f"{self.values['trial_phases'][0]['name']}-{number}", self.folder)
            target = self.world.ask_dohyo("own-target", self.folder)
            phase = {
                **phase,
                "properties": {**phase.get("properties", self.values["trial_properties"]), "target": target},
            }
        self.run(phase, number)
        self.servers.keep_stats(f"stats/{folder}")

    @property
    def most_again(self) -> int:
        """Maximum number of repeats that are measured again; 0 if the scenario does not limit others."""
        return most_again(self.values["trial_max_other_cpu"])

    def is_set_aside(self, number: int) -> bool:
        """Returns whether others disturbed a repeat, and if so, records in the evidence that it does not count.

        Trials that take turns have one window in each block, and are not measured again.
        """
        values = self.values
        folders = [self.folder / f"{phase['name']}-{number}" for phase in values["trial_phases"]]
        discarded = number <= int(values["trial_discard"])
        if not folders or discarded or values["trial_turns"]:
            return False
        # A trial without an experiment may be measured where only Ansible is installed.
        if not Path(str(values["dohyo_program"])).exists():
            return False
        for folder in folders:
            self.fetch(folder.name, self.folder)
        self.fetch("hosts", self.folder, [*self.world.hosts])
        if why := self.world.ask_dohyo("disturbed", self.folder):
            self.world.event("note", text=f"{values['trial_system']}: {why}; measured again")
            for folder in folders:
                write_json(folder / "disturbed.json", {"why": why})
        return bool(why)

    def search(self) -> None:
        """Searches for the highest rate (docs/knee.md). The evidence of the earlier probes determines the next one."""
        search, base = self.values["trial_search"], self.values["trial_phases"][0]
        for number in range(1, int(search["probes"]) + MOST_AGAIN + 1):
            self.fetch("" if number == 1 else f"probe-{number - 1}", self.folder)
            if self.most_again:
                self.fetch("hosts", self.folder, [*self.world.hosts])
            target = json.loads(self.world.ask_dohyo("next-probe", self.folder))["target"]
            if target is None:
                return
            properties = {**base.get("properties", self.values["trial_properties"]), "target": target}
            probe = {**base, "name": "probe", "properties": properties, "duration": search["duration"]}
            self.measure_phase(probe, number, is_first=False)

    def clients_alone(self) -> None:
        """Runs each phase in the playbook's variables once, on clients that need no servers."""
        values = self.world.first.values
        results = Path(values["clients_results"])
        for description in values["clients_phases"]:
            phase = ClientPhase(
                name=f"{values['clients_prefix']}{description['name']}",
                number=1,
                properties=description["properties"],
                threads=int(description["threads"]),
                warmup=seconds(description["warmup"]),
                duration=seconds(description["duration"]),
                binding=values["client_binding"],
                measured=Context(values).flag("clients_measured"),
            )
            self.drive(phase, results / phase.folder)
            self.fetch(phase.folder, results)

    # ---- the clients ------------------------------------------------------------------------------------------------

    def run(self, description: Mapping[str, Any], number: int) -> None:
        """Runs the load or a run on the clients.

        :param description: the phase as in the trial's variables
        :param number: number of the run, from 1; 0 for the load
        :raises StepError: if the run does not count
        """
        world = self.world
        phase = self.phase_of(description, number)
        results = self.folder / phase.folder
        world.phase(phase.name, number or None, [str(results / name) for name in world.clients])
        if phase.faults:
            self.prepare(phase)
        self.drive(phase, results)

    def drive(self, phase: ClientPhase, results: Path) -> None:
        """Runs a phase on the clients.

        :param results: folder of the phase on the control machine
        :raises StepError: if the run does not count
        """
        world = self.world
        plan = clients.plan_of(phase, world.hosts, world.databases, world.clients, self.inserted)
        report, self.vanished = self.conduct(plan, phase, results)
        self.inserted = {name: client["inserted"] for name, client in report["clients"].items() if client["inserted"]}
        # Connections to hosts that were switched off are broken.
        back = [name for name in phase.switched if name not in self.vanished]
        world.on(back, "Close the connections to hosts that were off", lambda host: host.reset())
        hosts_are_well = not self.vanished and all(node["state"] == "ran" for node in report["nodes"].values())
        if not report["valid"] and not (phase.tolerant and hosts_are_well):
            world.refuse("Check that the run counts", report["failure"])

    def phase_of(self, description: Mapping[str, Any], number: int) -> ClientPhase:
        """Returns the phase that the trial's variables describe. The values of the whole trial are the defaults."""
        values, system = self.values, self.servers.first
        properties = description.get("properties", values["trial_properties"])
        attached = self.servers.is_attached
        connection = values["system_secrets"][system.role]["client_properties"]
        if number:
            self.counted += 1
        requested_faults = description.get("faults", "none") if number else "none"
        name = description["name"]
        return ClientPhase(
            name=name,
            number=number,
            properties=properties,
            threads=int(description.get("threads", values["trial_threads"])),
            warmup=seconds(description.get("warmup", values["trial_warmup"])),
            duration=seconds(description.get("duration", values["trial_duration"])),
            binding=system.binding,
            # In a trial without runs, the load is measured.
            measured=number > 0 or not values["trial_phases"],
            tolerant=name == "probe",
            of_trial=max(self.counted, 1),
            faults_asked=requested_faults,
            faults=faults.on_hosts(requested_faults, self.world.databases, system.role),
            connection=connection,
            # Credentials do not belong in the evidence.
            hidden=[key for key in connection if key not in system.attached.client_properties] if attached else [],
            servers="" if attached else system.role,
            # Only runs that take turns pause their clients.
            windows=int(values["trial_repeats"]) if values["trial_turns"] and name in self._phases else 1,
        )

    def prepare(self, phase: ClientPhase) -> None:
        """Starts, on every database host, a program that waits for the window and then executes that host's faults."""
        addresses = {name: self.world.hosts[name].values["dohyo_address"] for name in self.world.databases}

        def serve(host: Host) -> None:
            plan = {**fault_facts(host, self.servers.first), "events": events_of(phase.faults, host.name, addresses)}
            argv = [tool(host), "faults", "serve", host.name]
            program(host, argv, stdin=json.dumps(plan), root=Context(host.values).systemd)

        self.world.on(self.world.databases, "Prepare the faults", serve)

    def fetch(self, folder: str, results: Path, names: Sequence[str] = ()) -> None:
        """Fetches a folder of the clients' files, or all folders if the name is empty.

        :param results: destination on the control machine
        :param names: hosts with the folder; by default the hosts of clients
        """

        def pull(host: Host) -> None:
            source = f"{host.values['dohyo_home']}/{clients.files_of(clients.lane_of(host.values))}/{folder}".rstrip(
                "/"
            )
            host.pull(source, results / folder)

        self.world.on(names or self.world.clients, "Fetch the last output of the clients", pull)


def fault_facts(host: Host, system: System) -> dict[str, Any]:
    """Returns facts about a host for the agent's command `faults`."""
    unit = f"dohyo-{host.values['dohyo_deployment']}-fault.service"
    return {
        "role": system.role,
        "spared": list(system.spared),
        "folders": host.values["dohyo_data"],
        "unit": unit if Context(host.values).systemd else "",
        "patience": FAULT_PATIENCE,
    }


def events_of(planned: Sequence[Mapping[str, Any]], host: str, addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """Returns the faults that the agent's command `faults` executes on a host.

    :param planned: result of dohyo.scenario.faults.on_hosts
    :param addresses: addresses of all database hosts; a partition cuts the host off from some of them
    """
    return [
        {
            "n": number,
            "kind": fault["kind"],
            "at": fault["at"],
            "rate": fault["rate"],
            "apart": [addresses[name] for group in fault["groups"] if host not in group for name in group],
        }
        for number, fault in enumerate(planned)
        if host in fault["hosts"]
    ]


def seconds(value: Any) -> int | float:
    """Returns seconds as a number, because ansible-playbook -e passes them as text."""
    number = float(value)
    return int(number) if number.is_integer() else number
