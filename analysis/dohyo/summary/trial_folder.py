"""Reads the evidence of one trial in `raw/`, and turns it into records and phases."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from dohyo.evidence import canary, manifest, records
from dohyo.evidence.conductor_records import Client
from dohyo.evidence.conductor_records import client as conducted_client
from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.host_metrics import HostMetrics
from dohyo.evidence.json_values import mapping, read_object
from dohyo.evidence.latency_slots import MOST_SLOTS
from dohyo.evidence.rows import rows
from dohyo.evidence.servers import Servers, Step
from dohyo.evidence.text_file import limited
from dohyo.metrics import Row
from dohyo.scenario.phases import EQUAL, LOAD, PRECONDITION, PROBE
from dohyo.scenario.properties import of_the_workload
from dohyo.summary import conditions, parallel_work
from dohyo.summary.phase import Part, Phase, add_all, parts_of

R = TypeVar("R", bound=Struct)

# Problem of a trial without state.json, which is written before a trial begins and says how the trial ended.
NO_STATE = "state.json: is missing"
# Maximum number of time slots of all runs of a trial together: six runs of half an hour with a slot for each second.
_MOST_SLOTS_OF_A_TRIAL = 6 * MOST_SLOTS


class TrialFolder:
    """Reads the evidence of a trial, for its checks and its numbers. Only `read` sets the attributes from `changed` on.

    :ivar warnings: list to which warnings about missing or damaged files are added
    :ivar state: content of state.json
    :ivar requested: content of trial.json, unchecked
    :ivar settings: content of trial.json as a record
    :ivar damaged: problems with values in trial.json
    :ivar shared_load: trial that made the load from which the servers started; empty if loads are not reused
    :ivar phases: the load and all runs
    :ivar probes: probes of the search for the highest rate
    :ivar preconditionings: updates before runs
    :ivar changed: differences from the manifest
    :ivar read_back: content of conditions.json without the conditions, which are in `stated`
    :ivar canary: speed of the hosts before the trial
    :ivar shares: processor time that other processes and the hypervisor took in the runs that count
    """

    def __init__(self, path: Path, warnings: list[str]) -> None:
        self.path = path
        self.warnings = warnings
        self.state = self._record("state.json", records.TrialState)
        self.requested = read_object(path / "trial.json", self.warn)
        self.damaged: list[str] = []
        self.settings = records.decoded(
            self.requested, records.TrialSettings, lambda problem: self.damaged.append(f"trial.json: {problem}")
        )
        self.warnings += [f"{path}/{problem}" for problem in self.damaged]
        self.shared_load = self._record("kept.json", records.KeptLoad) if self.settings.reuse else records.KeptLoad()
        self.phases: list[Phase] = []
        self.probes: list[Phase] = []

    def read(self) -> None:
        """Reads the evidence of all clients, servers and hosts.

        :raises OSError: if one of the trial's folders cannot be read
        """
        self.changed = self._changed()
        self.read_conditions()
        self.canary = canary.read(self._record("canary.json", records.CanaryFile))
        self.phases = self.phases_of()
        self.clients = self.read_clients(self.phases)
        self.preconditionings = self.phases_of(PRECONDITION)
        self.read_clients(self.preconditionings)
        windows = [window for phase in self.counted for window in phase.window]
        self.servers = Servers(self.path / "server", windows, self._steps(), self.warn)
        self.metrics = self._host_metrics()
        cpus = self.metrics.cpus()
        strong = str(self.stated.get("consistency", "")).startswith("strong")
        for phase in self.counted:
            phase.cpus = cpus
        for phase in self.measured:
            phase.strong = strong
        runs = {window.key for window in windows}
        self.shares = [share for share in self.metrics.shares if (share.phase, share.run) in runs]
        self._check_samples()

    @property
    def load(self) -> list[Phase]:
        """Returns the load; empty without a load."""
        return [phase for phase in self.phases if phase.kind == LOAD]

    @property
    def runs(self) -> list[Phase]:
        """Returns the runs, including discarded ones."""
        return [phase for phase in self.phases if phase.kind != LOAD]

    @property
    def aside(self) -> list[Phase]:
        """Returns the load if it is not measured."""
        return [] if self.settings.load_is_measured else self.load

    @property
    def measured(self) -> list[Phase]:
        """Returns the runs, and the load if it is measured. They have numbers only if the trial is valid."""
        return [*(self.load if self.settings.load_is_measured else ()), *self.runs]

    @property
    def counted(self) -> list[Phase]:
        """Returns the runs that were not discarded, and the load if it is measured."""
        return [phase for phase in self.measured if not phase.discarded]

    @property
    def system_failed(self) -> bool:
        """Returns whether the system failed under load."""
        return any(phase.system_failed for phase in (*self.phases, *self.preconditionings))

    def seconds(self) -> float | None:
        """Returns the duration of the trial; None if it did not finish."""
        try:
            began, ended = (datetime.fromisoformat(time or "") for time in (self.state.started, self.state.finished))
            return (ended - began).total_seconds() if self.state.status == "done" else None
        except (ValueError, TypeError):  # only one of the times has a time zone
            return None

    def workload(self) -> dict[str, str]:
        """Returns the properties of the trial and its phases that define the workload, except matrix dimensions."""
        phases = self.requested.get("trial_phases")
        runs = [mapping(entry) for entry in phases] if isinstance(phases, list) else []
        sources = {"": self.requested.get("trial_properties")}
        # Some rounds lack the phase `equal`.
        sources |= {f"{run.get('name')}.": run.get("properties") for run in runs if run.get("name") != EQUAL}
        return {
            f"{prefix}{key}": str(value)
            for prefix, source in sources.items()
            for key, value in mapping(source).items()
            if key in of_the_workload() and not {key, f"{prefix}{key}"} & self.settings.point.keys()
        }

    def _changed(self) -> list[str]:
        """Returns the differences between the files and the manifest, and warns about them."""
        problems = manifest.problems(self.path, self.state.manifest)
        if not (self.path / "state.json").is_file():
            problems = [NO_STATE, *problems]
        for problem in problems:
            self.warn(f"{self.path}/{problem}")
        return problems

    def read_conditions(self) -> None:
        """Reads conditions.json: a record of general facts, and the conditions by name."""
        path = self.path / "conditions.json"
        warn = limited(path, self.warn)
        content = read_object(path, warn)

        def complain(problem: str) -> None:
            warn(f"{path}: {problem}")

        self.read_back = records.decoded(content, records.ReadBack, complain)
        self.stated = conditions.stated(content, complain)

    def phases_of(self, *names: str) -> list[Phase]:
        """Returns the runs of these phases. The results of their clients have not been read.

        Without names, these are the load and the runs of all planned phases.
        """
        load = self.path / LOAD
        loads = [load] if not names and load.is_dir() else []
        folders = [*loads, *self.numbered(names or self.settings.planned)]
        most_slots = min(MOST_SLOTS, max(1, _MOST_SLOTS_OF_A_TRIAL // max(1, len(folders))))
        return [Phase(folder, self.settings, self.warn, most_slots) for folder in folders]

    def read_clients(self, phases: Sequence[Phase]) -> list[Client]:
        """Reads the results of all clients into the phases, and returns the clients."""
        result = []
        counted = [phase.conducted for phase in phases if phase.kind != LOAD and not phase.discarded]
        conducted = counted or [phase.conducted for phase in phases]
        hosts = sorted({host for phase in phases for host in phase.hosts()})
        size = sum(log.stat().st_size for phase in phases for log in phase.folder.glob("*/*.hdr"))
        parts = [(copy.deepcopy(phases), part) for part in parallel_work.divided(hosts, size)]
        for read, clients, warnings in parallel_work.each(_read_hosts, parts):
            self.warnings += warnings
            for phase, of_part in zip(phases, read, strict=True):
                phase.add(of_part)
            result += [conducted_client(host, conducted, of_client) for host, of_client in clients.items()]
        return result

    def _host_metrics(self) -> HostMetrics:
        """Returns the hosts' resource use during the load and the runs that count."""
        windows = [window for phase in self.phases if not phase.discarded for window in phase.window]
        hosts = {host for phase in self.phases for host in (*phase.conducted.clients, *phase.conducted.nodes)}
        return HostMetrics(self.path / "hosts", windows, sorted(hosts), self.warn)

    def metrics_of(self, phases: Sequence[Phase]) -> HostMetrics:
        """Returns the hosts' resource use in other runs.

        It gives no warnings, because during a trial the samples may still be on the hosts.
        """
        windows = [window for phase in phases for window in phase.window]
        return HostMetrics(self.path / "hosts", windows, [], lambda _: None)

    def _check_samples(self) -> None:
        """Warns about hosts whose samples cover less than half of the measured windows."""
        measured = sum(phase.run.seconds or 0.0 for phase in self.counted if phase.window)
        kinds = {phase.kind for phase in self.counted}
        hosts = self.path / "hosts"
        uses = self.metrics.all()
        ill = {host for phase in self.counted for host in phase.ill}  # a host that a fault stopped has no samples
        for host in sorted(path.name for path in hosts.iterdir()) if hosts.is_dir() else ():
            covered = sum(use.covered_seconds for use in uses if use.host == host and use.phase in kinds)
            if covered < measured / 2 and host not in ill:
                self.warn(f"{self.path}/hosts/{host}: samples cover {covered:.0f} of {measured:.0f} measured seconds")

    def _steps(self) -> list[Step]:
        """Returns the steps of the trial (load, runs and probes) in order."""
        in_time = sorted(self.runs, key=lambda run: (run.number or 0, self.settings.planned.index(run.kind)))
        # Servers that started from a copy of a load did not count its operations.
        first = (
            [Step(LOAD, LOAD, counts=False)]
            if self.shared_load.load
            else [Step(phase.name, phase.kind, counts=not phase.discarded) for phase in self.load]
        )
        return [
            *first,
            *(Step(phase.name, phase.kind, counts=not phase.discarded, restarted=phase.restarted) for phase in in_time),
            *(Step(folder.name, PROBE, counts=False) for folder in self.numbered([PROBE])),
        ]

    def counted_rows(self) -> Mapping[str, int | None] | None:
        """Returns the row count of each table after the last run; None if no run inserts: rows are then not counted."""
        counted = (self.path / "counted.json").is_file()
        return self._record("counted.json", records.CountedRows).rows if counted else None

    def inserted(self) -> list[tuple[str, records.ClientReport]]:
        """Returns the host and the report of each client in all runs and probes."""
        hosts = [
            host for run in self.numbered([*self.settings.planned, PROBE]) for host in run.iterdir() if host.is_dir()
        ]
        # Warnings about broken files are given when the run is read, so none are needed here.
        return [(host.name, records.read(host / "client.json", records.ClientReport, lambda _: None)) for host in hosts]

    def settled(self) -> list[str]:
        """Returns the notes that were recorded when servers settled after the load, or again before runs."""
        files = [self.path, *(phase.folder for phase in self.runs)]
        settled = [records.read(folder / "settled.json", records.Settled, self.warn) for folder in files]
        return list(dict.fromkeys(note for record in settled for note in record.notes))

    def numbered(self, names: Sequence[str]) -> list[Path]:
        """Returns the folders of runs in the order of `names`, then by number."""
        entries = [(path, re.fullmatch(r"([a-z][a-z0-9-]*)-([0-9]{1,9})", path.name)) for path in self.path.iterdir()]
        runs = [
            (names.index(match[1]), int(match[2]), path)
            for path, match in entries
            if match is not None and match[1] in names and path.is_dir()
        ]
        return [path for _, _, path in sorted(runs)]

    def warn(self, message: str) -> None:
        self.warnings.append(message)

    def _record(self, name: str, record: type[R]) -> R:
        return records.read(self.path / name, record, self.warn)


def _read_hosts(work: tuple[Sequence[Phase], Sequence[str]]) -> tuple[Sequence[Phase], dict[str, list[Row]], list[str]]:
    """Reads the results of clients one host at a time, so that only one client's histograms are in memory.

    :param work: phases whose results have not been read, and the hosts to read
    :return: these phases with their results, the rows of each host's client, and warnings
    """
    phases, hosts = work
    clients: dict[str, list[Row]] = {}
    warnings: list[str] = []
    for host in hosts:
        latencies: dict[Part, dict[str, Latencies]] = {}
        for phase in phases:
            add_all(latencies.setdefault(phase.part, {}), phase.read(host, warnings.append))
        clients[host] = []
        for part in parts_of(phases):
            kind, discarded = part
            last = [phase.clients[-1] for phase in phases if phase.part == part and phase.clients]
            runs = [client.run for client in last if client.host == host]
            clients[host] += rows(kind, runs, latencies[part], discarded=discarded) if runs else []
    return phases, clients, warnings
