"""One trial, from its folder in `raw/`: its numbers, or the reason why there are none."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from msgspec import Struct

from dohyo.bad_input import BadInputError
from dohyo.evidence import accounting, canary, manifest, records
from dohyo.evidence.conducted import Client, nodes
from dohyo.evidence.conducted import client as conducted_client
from dohyo.evidence.events import Event
from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.healing import HealingLogs
from dohyo.evidence.host_metrics import HostMetrics, Taken
from dohyo.evidence.json_values import mapping, read_object
from dohyo.evidence.over_time import MOST_SLOTS
from dohyo.evidence.rows import Run, in_sequence, rows
from dohyo.evidence.servers import Servers, Step
from dohyo.metrics import Row
from dohyo.operations import OVERALL, is_call, is_failure
from dohyo.scenario.phases import LOAD, MAX, OWN, PROBE, RUN
from dohyo.scenario.properties import find as find_property
from dohyo.scenario.properties import of_the_workload
from dohyo.statistics import trend
from dohyo.summary import conditions, in_parallel, knee, probes, trial_notes, validity
from dohyo.summary.asked import asked
from dohyo.summary.batch import Batch
from dohyo.summary.conditions import Conditions
from dohyo.summary.phase import Phase, add_all, parts_of
from dohyo.summary.probes import Search
from dohyo.summary.results import Status, Trial
from dohyo.summary.rounds import Counted, rows_of
from dohyo.summary.validity import TrialFacts

R = TypeVar("R", bound=Struct)

# state.json is written before a trial begins. Without it, nothing tells how the trial ended.
_NO_STATE = "state.json: is missing"
# Bound of what is known over time of all runs of a trial together, in slots: six of half an hour by the second.
_MOST_SLOTS_OF_A_TRIAL = 6 * MOST_SLOTS


class TrialEvidence:
    """Reads one trial's folder.

    :ivar state: state.json
    :ivar settings: trial.json
    :ivar phases: the load and the runs, as far as they were read
    :ivar measured: what its rows are computed from
    :ivar facts: what its checks have seen; None: the folder could not be read
    """

    def __init__(self, folder: Path, warnings: list[str]) -> None:
        self.folder = folder
        self.warnings = warnings
        self.measured: Counted = {}
        self.phases: list[Phase] = []
        self.facts: TrialFacts | None = None
        self.state = self._read("state.json", records.TrialState)
        self._asked = read_object(folder / "trial.json", self._warn)
        self._damaged: list[str] = []  # of trial.json
        self.settings = records.decoded(
            self._asked, records.TrialSettings, lambda what: self._damaged.append(f"trial.json: {what}")
        )
        self.warnings += [f"{folder}/{what}" for what in self._damaged]
        # Which trial has loaded what its servers started from, where that may be another one's.
        self._kept = self._read("kept.json", records.KeptLoad) if self.settings.reuse else records.KeptLoad()
        self._system = self.settings.system or folder.name

    # ---- what is asked of it ------------------------------------------------------------------------------------

    def trial(self) -> Trial:
        """Returns the trial; one without numbers where one of its folders cannot be read."""
        try:
            return self._trial()
        except OSError as error:
            why = f"{error.filename}: cannot be read: {error.strerror or error}"
            self._warn(why)
            return Trial(self.folder.name, self._system, self._system, "invalid", why)

    def seconds(self) -> float | None:
        """Returns how long the trial took; None where it did not come to its end."""
        try:
            began, ended = (datetime.fromisoformat(at or "") for at in (self.state.started, self.state.finished))
        except ValueError:
            return None
        return (ended - began).total_seconds() if self.state.status == "done" else None

    def workload(self) -> dict[str, str]:
        """Returns the properties that say what is measured, without those of the matrix."""
        own = of_the_workload() - self.settings.point.keys()
        return {key: str(value) for key, value in mapping(self._asked.get("trial_properties")).items() if key in own}

    def own_target(self) -> float:
        """Returns the rate of the phase `own`; see :func:`dohyo.summary.summary.own_target`."""
        last = self._phases(self._numbered([MAX]))[-1:]
        self._clients(last)
        found = [row.ops_per_second for row in rows(MAX, [each.run for each in last], {}) if row.operation == OVERALL]
        share = self.settings.phase(OWN).share
        why = next((problem for each in last for problem in each.problems), "there is no rate of it")
        if not share or not found or not found[0] or last[0].problems:
            raise BadInputError(f"{self.folder.name}: {OWN} has no rate, as {MAX} is not valid: {why}")
        return knee.rounded(share * found[0])

    # ---- from the evidence to a trial -----------------------------------------------------------------------------

    def _trial(self) -> Trial:
        """The trial in its evidence.

        :raises OSError: where a folder of it cannot be read
        """
        changed = self._changed()
        read_back, stated = self._read_back()
        hosts = canary.read(self._read("canary.json", records.CanaryFile))
        self.phases = self._phases(self._folders())
        clients = self._clients(self.phases)
        load, runs = ([phase for phase in self.phases if (phase.kind == LOAD) == loads] for loads in (True, False))
        # A load that is measured has numbers only in a trial that is good.
        aside, measured = ([], [*load, *runs]) if self.settings.load_is_measured else (load, runs)
        counted = [phase for phase in measured if not phase.discarded]
        windows = [window for phase in counted for window in phase.window]
        servers = Servers(self.folder / "server", self._system, windows, self._steps(load, runs), self._warn)
        metrics = self._host_metrics()
        taken = [each for each in metrics.taken if (each.phase, each.run) in {window.key for window in windows}]
        self._check_samples(metrics, counted)
        self.facts = self._checked(
            changed, stated, measured, servers, metrics, taken, validity.at_work(read_back.notes)
        )
        status, reason = self._judged(self.facts)
        valid = counted if status == "ok" else []
        shown = [
            *(measured if status == "ok" else []),
            *(aside if not any(phase.problems for phase in aside) else []),
        ]
        self.measured = {part: _counted([phase for phase in self.phases if phase.part == part])
                         for part in parts_of(shown)}  # fmt: skip
        found = rows_of(self.measured)
        all_runs = in_sequence([phase.run for phase in valid])
        of_trial, by_phase = self._conditions(read_back, stated, counted or load, taken)
        healing = HealingLogs(self.folder / "server", self._system, self._warn)
        return Trial(
            name=self.folder.name,
            system=self._system,
            title=read_back.title or self._system,
            status=status,
            reason=reason,
            point=self.settings.matrix_point,
            round=self.settings.round if self.settings.rounds > 1 else None,
            conditions=of_trial,
            by_phase=by_phase,
            deviations=read_back.differences,
            exceeded={name: str(value) for name, value in read_back.exceeded.items()},
            notes=[
                *read_back.notes,
                *trial_notes.of_the_load(self._kept, self._settled(runs), load),
                *trial_notes.of_runs(counted, [*aside, *counted]),
                *servers.notes(),
                *trial_notes.of_clients(counted, metrics.all()),
                *metrics.notes(),
                *(hosts.problems if hosts else ()),
            ],
            # Also for discarded runs: what one of them has lost, no later run finds.
            accounting=accounting.of_all(client.report.accounting for run in measured for client in run.clients),
            faults=[faulted for phase in valid if (faulted := phase.healed(healing))],
            rows=found,
            load_is_measured=self.settings.load_is_measured,
            trends=_trends(valid),
            collapses=[when for phase in valid for when in phase.collapses()],
            level_changes=[when for phase in valid for when in phase.level_changes()],
            system_failed=any(phase.system_failed for phase in self.phases),
            warmups={phase.name: phase.warmup for phase in runs},
            cold=[phase.name for phase in valid if phase.conducted.warmup_steady is False],
            load=next((phase.curve for phase in load if phase in shown), None),
            clients=[
                replace(client, rows=[row for row in client.rows if (row.phase, row.discarded) in self.measured])
                for client in clients
            ],
            nodes=nodes([phase.conducted for phase in counted or load], all_runs.seconds, all_runs.records),
            servers=servers.all(),
            spans=list(servers.spans()),
            hosts=metrics.all(),
            taken=taken,
            host_metrics=metrics,
            events=self._events(measured, servers, metrics, found),
            canary=hosts,
            search=self._search([phase for phase in counted if phase.kind != LOAD]),
            asked=asked(self._asked),
            configured={**read_back.values, **read_back.server_settings},
        )

    def _checked(
        self,
        changed: Sequence[str],
        stated: Mapping[str, Any],
        measured: Sequence[Phase],
        servers: Servers,
        metrics: HostMetrics,
        taken: Sequence[Taken],
        at_work: Sequence[str],
    ) -> TrialFacts:
        """Returns what the checks need."""
        counted_rows = (self.folder / "counted.json").is_file()
        return TrialFacts(
            folder=self.folder,
            state=self.state,
            settings=self.settings,
            kept=self._kept,
            changed=changed,
            damaged=self._damaged,
            phases=self.phases,
            measured=measured,
            cpus={use.host: use.cpus for use in metrics.all() if use.cpus},
            taken=taken,
            at_work=at_work,
            attached="attached" in stated,
            strong=str(stated.get("consistency", "")).startswith("strong"),
            pending=servers.pending_compactions(LOAD),
            # Counted only where runs have inserted records.
            rows=self._read("counted.json", records.CountedRows).rows if counted_rows else None,
            inserted=self._inserted() if counted_rows else [],
        )

    def _judged(self, facts: TrialFacts) -> tuple[Status, str | None]:
        """Returns the trial's status, and why it is not "ok"."""
        status, reason = self._state(facts)
        problems = facts.problems()
        if status == "ok" and problems:
            return "failed" if any(phase.system_failed for phase in self.phases) else "invalid", _first(problems)
        broken = next((run for run in facts.measured if run.conducted.failure), None)
        if status == "failed" and broken is not None:
            # It was measured, and conducting says best why that does not count; the trial may know of a dead
            # server besides.
            why = broken.conducted.failure
            also = (reason or "").partition(why)[2]
            failed = any(run.system_failed for run in facts.measured)
            return "failed" if failed else "invalid", f"{broken.name}: {why}{also}"
        return status, reason or (_first(problems) if problems else None)

    def _state(self, facts: TrialFacts) -> tuple[Status, str | None]:
        """Returns how the trial ended, as it says itself."""
        if _NO_STATE in facts.changed:
            return "invalid", _NO_STATE
        status = self.state.status
        if status == "done":
            return "ok", None
        if status not in get_args(Status):
            return "failed", f"unknown state {status!r} in state.json"
        default = {"pending": "not started", "running": "not finished", "interrupted": "interrupted"}
        return cast(Status, status), self.state.reason or default.get(status, "no reason was recorded")

    def _conditions(
        self, read_back: records.ReadBack, stated: Mapping[str, Any], phases: Sequence[Phase], taken: Sequence[Taken]
    ) -> tuple[Conditions, dict[str, dict[str, Any]]]:
        """Returns the conditions, and those that differ from phase to phase."""

        def read(kind: str, of_kind: Sequence[Phase]) -> Conditions:
            return conditions.read(
                conditions.ConditionSources(stated, read_back, self.settings, self.settings.phase(kind), of_kind, taken)
            )

        of_phases = {phase.kind: [each for each in phases if each.kind == phase.kind] for phase in phases}
        of_trial = read(next(iter(of_phases), RUN), phases)
        differing = conditions.by_phase({kind: read(kind, of_kind) for kind, of_kind in of_phases.items()})
        several = dict.fromkeys(name for of_phase in differing.values() for name in of_phase)
        return replace(of_trial, **several), differing

    def _events(
        self, measured: Sequence[Phase], servers: Servers, metrics: HostMetrics, found: Sequence[Row]
    ) -> list[Event]:
        return [
            event
            for phase in self.phases
            for event in phase.events(
                [
                    *(self._pauses(servers, phase, found) if phase in measured else []),
                    *phase.level_events(servers, metrics),
                ],
                measured=phase in measured,
            )
        ]

    def _pauses(self, servers: Servers, phase: Phase, measured: Sequence[Row]) -> list[Event]:
        """Pauses of the servers' JVMs that are long beside what the clients measured."""
        calls = [row for row in measured if (row.phase, row.discarded) == phase.part and is_call(row.operation)]
        known = [row.p99_ms for row in calls if row.p99_ms is not None and not is_failure(row.operation)]
        timeout, default = self.settings.properties.operationtimeout, find_property("operationtimeout")
        if timeout is None and default and default.default:
            timeout = float(default.default)
        return servers.events(phase.kind, phase.number, max(known, default=None), timeout)

    def _search(self, runs: Sequence[Phase]) -> Search | None:
        """Returns the result of its probes; nothing else in the trial depends on them.

        :param runs: those before the search that count
        """
        settings = probes.stated(self.settings.search)
        if settings is None or self.facts is None:
            return None
        tries = self._phases(self._numbered([PROBE]))
        self._clients(tries)
        # While it searches, the samples are still on the hosts.
        windows = [window for phase in tries for window in phase.window]
        facts = replace(self.facts, taken=HostMetrics(self.folder / "hosts", windows, [], lambda _: None).taken)
        before = probes.MeasuredProbe(
            rows(RUN, [phase.run for phase in runs], {}), [problem for phase in runs for problem in phase.problems]
        )
        return probes.result(settings, before, [_probe(phase, facts) for phase in tries])

    # ---- reading ----------------------------------------------------------------------------------------------------

    def _changed(self) -> list[str]:
        """Returns what is not as the manifest says, and warns of it."""
        found = manifest.problems(self.folder, self.state.manifest)
        if not (self.folder / "state.json").is_file():
            found = [_NO_STATE, *found]
        for problem in found:
            self._warn(f"{self.folder}/{problem}")
        return found

    def _read_back(self) -> tuple[records.ReadBack, dict[str, Any]]:
        """Returns conditions.json: the conditions in it by name, after the rest."""
        path = self.folder / "conditions.json"
        content = read_object(path, self._warn)

        def complain(what: str) -> None:
            self._warn(f"{path}: {what}")

        return records.decoded(content, records.ReadBack, complain), conditions.stated(content, complain)

    def _phases(self, folders: Sequence[Path]) -> list[Phase]:
        """Returns the load and runs in these folders; nothing of their clients has been read yet."""
        most_slots = min(MOST_SLOTS, max(1, _MOST_SLOTS_OF_A_TRIAL // max(1, len(folders))))
        return [Phase(folder, self.settings, self._warn, most_slots) for folder in folders]

    def _clients(self, phases: Sequence[Phase]) -> list[Client]:
        """Reads all clients' folders into the phases."""
        result = []
        counted = [phase.conducted for phase in phases if phase.kind != LOAD and not phase.discarded]
        conducted = counted or [phase.conducted for phase in phases]
        hosts = sorted({host for phase in phases for host in phase.hosts()})
        size = sum(log.stat().st_size for phase in phases for log in phase.folder.glob("*/*.hdr"))
        batches = [Batch(copy.deepcopy(phases), part) for part in in_parallel.divided(hosts, size)]
        for batch in in_parallel.each(Batch.read, batches):
            self.warnings += batch.warnings
            for phase, read in zip(phases, batch.phases, strict=True):
                phase.add(read)
            result += [conducted_client(host, conducted, of_client) for host, of_client in batch.clients]
        return result

    def _host_metrics(self) -> HostMetrics:
        """Returns the use of the hosts in the load and in the runs that count."""
        windows = [window for phase in self.phases if not phase.discarded for window in phase.window]
        wanted = {host for phase in self.phases for host in (*phase.conducted.clients, *phase.conducted.nodes)}
        return HostMetrics(self.folder / "hosts", windows, sorted(wanted), self._warn)

    def _check_samples(self, metrics: HostMetrics, counted: Sequence[Phase]) -> None:
        """Warns of hosts whose samples are not of the measured windows, or of less than half of them."""
        measured = sum(phase.run.seconds or 0.0 for phase in counted if phase.window)
        kinds = {phase.kind for phase in counted}
        hosts = self.folder / "hosts"
        ill = {host for phase in counted for host in phase.ill}  # without power there is no sample either
        for host in sorted(path.name for path in hosts.iterdir()) if hosts.is_dir() else ():
            covered = sum(use.covered_seconds for use in metrics.all() if use.host == host and use.phase in kinds)
            if covered < measured / 2 and host not in ill:
                self._warn(
                    f"{self.folder}/hosts/{host}: has samples of {covered:.0f} of {measured:.0f} measured seconds"
                )

    def _steps(self, load: Sequence[Phase], runs: Sequence[Phase]) -> list[Step]:
        """Returns the steps of the trial, in order."""
        in_time = sorted(runs, key=lambda run: (run.number or 0, self.settings.planned.index(run.kind)))
        # Servers that were started again from a copy of it have counted nothing of the load.
        first = (
            [Step(LOAD, LOAD, counts=False)]
            if self._kept.load
            else [Step(phase.name, phase.kind, counts=not phase.discarded) for phase in load]
        )
        return [
            *first,
            *(Step(phase.name, phase.kind, counts=not phase.discarded, restarted=phase.restarted) for phase in in_time),
            *(Step(folder.name, PROBE, counts=False) for folder in self._numbered([PROBE])),
        ]

    def _inserted(self) -> list[tuple[str, records.ClientReport]]:
        """Returns host and report of each client of all runs and probes."""
        hosts = [
            host for run in self._numbered([*self.settings.planned, PROBE]) for host in run.iterdir() if host.is_dir()
        ]
        # A broken file is warned of where the run is read.
        return [(host.name, records.read(host / "client.json", records.ClientReport, lambda _: None)) for host in hosts]

    def _settled(self, runs: Sequence[Phase]) -> list[str]:
        """Returns notes on where reads came from: after the load, and where servers settled again before runs."""
        files = [self.folder, *(phase.folder for phase in runs)]
        settled = [records.read(folder / "settled.json", records.Settled, self._warn) for folder in files]
        return list(dict.fromkeys(note for each in settled for note in each.notes))

    def _folders(self) -> list[Path]:
        """Returns the folder of the load, then those of each phase's runs."""
        load = self.folder / LOAD
        return [*([load] if load.is_dir() else []), *self._numbered(self.settings.planned)]

    def _numbered(self, names: Sequence[str]) -> list[Path]:
        """Returns the folders of runs, by name in that order, then by number."""
        found = [(path, re.fullmatch(r"([a-z][a-z0-9-]*)-([0-9]{1,9})", path.name)) for path in self.folder.iterdir()]
        runs = [
            (names.index(match[1]), int(match[2]), path)
            for path, match in found
            if match is not None and match[1] in names and path.is_dir()
        ]
        return [path for _, _, path in sorted(runs)]

    def _warn(self, message: str) -> None:
        self.warnings.append(message)

    def _read(self, name: str, record: type[R]) -> R:
        return records.read(self.folder / name, record, self._warn)


def _probe(phase: Phase, facts: TrialFacts) -> probes.MeasuredProbe:
    """Returns what a probe has measured, and what speaks against it."""
    targets = [client.report.target for client in phase.clients]
    known = [target for target in targets if target is not None]
    # Each client was given its share of it.
    target = knee.rounded(sum(known)) if known and not phase.missing and len(known) == len(targets) else None
    run = validity.RunFacts(phase)
    # What is not found makes a system faster, so it is no mere doubt.
    problems = [*phase.problems, *(f"{phase.name}{why}" for why in validity.not_found(run))]
    doubts = [*run.problems(), *validity.disturbing(facts, phase)]
    measured = rows(PROBE, [phase.run], phase.latencies)
    return probes.MeasuredProbe(measured, problems, phase.number or 0, target, doubts)


def _trends(phases: Sequence[Phase]) -> dict[str, float]:
    """Returns by phase whether the throughput of its runs rose or fell.

    Loads are left out, because they slow down as their tables grow, and so are runs with faults.
    """
    of_phases: dict[str, list[list[int]]] = {}
    for phase in phases:
        if phase.kind != LOAD and phase.faults is None:
            of_phases.setdefault(phase.kind, []).append(phase.throughput)
    return {kind: found for kind, series in of_phases.items() if (found := trend(series)) is not None}


def _counted(phases: Sequence[Phase]) -> tuple[list[Run], dict[str, Latencies]]:
    """Returns the runs of one part, and their latencies together."""
    latencies: dict[str, Latencies] = {}
    for phase in phases:
        add_all(latencies, phase.latencies)
    return [phase.run for phase in phases], latencies


def _first(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"{problems[0]} (and {len(problems) - 1} more)"
