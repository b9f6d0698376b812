"""From an experiment's evidence (`results/<id>/raw`) to its summary.

Everything in a summary can be recomputed from the evidence: `summarise` reads nothing else and writes nothing.
A trial gets numbers only when all its clients report a valid run and their logs agree with each other.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast, get_args

from dohyo import client_folder, knee, published, search
from dohyo.client_folder import ClientFolder
from dohyo.conditions import scaled
from dohyo.conducted import Client, Conducted, furthest, nodes
from dohyo.conducted import client as conducted_client
from dohyo.events import Event, Seconds, in_order
from dohyo.figures import size as size_of
from dohyo.hdr_log import Latencies
from dohyo.json_values import listing, mapping, number, read_object, whole
from dohyo.results import Conditions, Status, Summary, Trial
from dohyo.rows import Phase, Row, Run, in_sequence, rows, together
from dohyo.search import Search
from dohyo.text_file import Warn

# What must be equal between systems (docs: "conditions"). The scenario sets the last six itself, for all alike, but a
# number of clients or a property given by hand can still differ.
FAIR = (
    "replication", "write_acks", "read_acks", "consistency", "durability", "compression",
    "clients", "threads", "batchsize", "inflight", "recordcount", "record_bytes",
)  # fmt: skip
_READ_BACK = (
    "version", "replication", "write_acks", "read_acks", "consistency", "durability", "compression",
    "heap", "memory", "jdk", "gc",
)  # fmt: skip
_COUNTED = ("nodes", "write_copies", "read_copies")

# Below this a data set fits the memory of every machine that runs a database, caches included: such a run says
# nothing about disks.
SMALL_DATA_BYTES = 1_000_000_000

# Clients that began further apart than this did not load the system together. An operation takes milliseconds and a
# measured window tens of seconds.
_MAX_SKEW_MS = 1000.0


def summarise(experiment: Path) -> Summary:
    """Summarises all trials of an experiment.

    `experiment`: the folder with `raw/<trial>/…` and perhaps `published/`. Trials that did not finish, and files that
    are missing or broken, become reasons and warnings. Raises FileNotFoundError when there is no `raw` folder.
    """
    raw = experiment / "raw"
    if not raw.is_dir():
        raise FileNotFoundError(f"{experiment} is not the folder of an experiment: it has no folder 'raw'")
    evidence = [_Evidence(folder) for folder in sorted(raw.iterdir()) if folder.is_dir()]
    trials = [each.trial() for each in evidence]
    warnings: list[str] = []
    reference = published.kept(experiment / "published", warnings.append)
    return Summary(
        name=experiment.resolve().name,
        trials=trials,
        unequal=unequal(trials),
        notes=_notes(trials),
        warnings=[warning for each in evidence for warning in each.warnings] + warnings,
        published=reference,
    )


def read_trial(folder: Path) -> Trial:
    """Summarises one trial from its folder in `raw/`, as far as it has come."""
    return _Evidence(folder).trial()


def unequal(trials: Sequence[Trial]) -> dict[str, dict[str, str]]:
    """The conditions that are not the same (or not known) for all trials that ran: condition → trial → value."""
    ran = [trial for trial in trials if trial.rows]
    result = {}
    for name in FAIR:
        values = {trial.name: getattr(trial.conditions, name) for trial in ran}
        if len(set(values.values())) > 1:
            result[name] = {trial: "unknown" if value is None else str(value) for trial, value in values.items()}
    return result


def _notes(trials: Sequence[Trial]) -> list[str]:
    scales = {(trial.conditions.scale, trial.conditions.full_recordcount) for trial in trials}
    notes = [
        f"{scaled(scale, full)}: not the full scenario" for scale, full in sorted(s for s in scales if None not in s)
    ]
    sizes = {(trial.conditions.recordcount, trial.conditions.record_bytes) for trial in trials}
    for records, record_bytes in sorted((r, b) for r, b in sizes if r is not None and b is not None):
        size = records * record_bytes
        if size < SMALL_DATA_BYTES:
            data = f"{records:,} records \N{MULTIPLICATION SIGN} {record_bytes:,} B = {size_of(size)}"
            notes.append(f"small data: {data}: fits every cache; not a sizing result")
    return notes


class _Phase:
    """One phase of a trial, over all clients."""

    def __init__(self, folder: Path, warn: Warn) -> None:
        self.folder = folder
        self.name = folder.name  # load, run-1, …
        self.kind: Phase = "load" if self.name == "load" else "run"
        self.number = None if self.kind == "load" else int(self.name.rpartition("-")[2])
        self.conducted = Conducted(read_object(folder / "clients.json", warn))
        self.clients: list[ClientFolder] = []
        self.missing: list[str] = []  # hosts whose client has left nothing
        self.seconds = Seconds()

    def hosts(self) -> set[str]:
        """Hosts that have, or should have, left results."""
        return {path.name for path in self.folder.iterdir() if path.is_dir()} | set(self.conducted.clients)

    def read(self, host: str, latencies: dict[str, Latencies], warn: Warn) -> None:
        """Reads what the client on a host has left."""
        if (self.folder / host).is_dir():
            self.clients.append(client_folder.read(self.folder / host, latencies, self.seconds, warn))
        else:
            self.missing.append(host)

    @cached_property
    def run(self) -> Run:
        """What all clients did together."""
        return together([client.run for client in self.clients])

    @property
    def problems(self) -> list[str]:
        """Why its numbers must not be shown."""
        if self.conducted.failure:
            return [f"{self.name}: {self.conducted.failure}"]  # the clients' own failures follow from it
        found = []
        for client in self.clients:
            # What was seen from outside says more of a client that has left nothing than its folder does.
            reason = self.conducted.reason(client.host) if not client.report else ""
            found += [
                f"{self.name} on {client.host}: {problem}" for problem in ([reason] if reason else client.problems)
            ]
        if not self.clients:
            return [*found, f"{self.name}: no client has left results"]
        return found + [
            f"{self.name} on {host}: {self.conducted.reason(host) or 'the client has left nothing'}"
            for host in self.missing
        ]

    def events(self, warmup: float) -> list[Event]:
        """What happened in it. The load has no dips: it may wait for compactions as it likes."""
        events = self.conducted.events(self.number)
        if self.number is not None:
            events += self.seconds.events(self.number, warmup, self.run.seconds)
        return in_order(events)


class _Evidence:
    """Reads one trial's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        self._settings = self._read("trial.json")
        self._properties = mapping(self._settings.get("trial_properties"))

    def trial(self) -> Trial:
        facts = self._read("conditions.json")
        phases = [_Phase(folder, self._warn) for folder in self._folders("load") + self._folders(r"run-\d+")]
        latencies: dict[Phase, dict[str, Latencies]] = {"load": {}, "run": {}}
        clients = self._clients(phases, latencies)
        load = [phase for phase in phases if phase.kind == "load"]
        runs = [phase for phase in phases if phase.kind == "run"]
        status, reason = self._judged(phases, len(runs))

        shown: set[Phase] = set()
        if runs and status == "ok":
            shown.add("run")
        if load and not any(phase.problems for phase in load):
            shown.add("load")
        result: list[Row] = []
        phases_by_kind: list[tuple[Phase, list[_Phase]]] = [("run", runs), ("load", load)]
        for kind, of_kind in phases_by_kind:
            if kind in shown:
                result += rows(kind, [phase.run for phase in of_kind], latencies[kind])
        measured = Run() if status != "ok" else in_sequence([phase.run for phase in runs])
        system = str(self._settings.get("trial_system") or self.folder.name)
        return Trial(
            name=self.folder.name,
            system=system,
            title=str(facts.get("title") or system),
            status=status,
            reason=reason,
            conditions=self._conditions(facts, runs or load),
            deviations=[str(difference) for difference in listing(facts.get("differences"))],
            notes=[str(note) for note in listing(facts.get("notes"))] + self._remarks(phases),
            rows=result,
            clients=[replace(client, rows=[row for row in client.rows if row.phase in shown]) for client in clients],
            nodes=nodes([phase.conducted for phase in runs or load], measured.seconds, measured.records),
            events=[event for phase in phases for event in phase.events(self._warmup(phase))],
            search=self._search(runs),
        )

    def _clients(self, phases: Sequence[_Phase], latencies: dict[Phase, dict[str, Latencies]]) -> list[Client]:
        """Reads all clients' folders, one host after the other, so that memory holds one client's histograms."""
        result = []
        conducted = [phase.conducted for phase in phases if phase.kind == "run"] or [p.conducted for p in phases]
        for host in sorted({host for phase in phases for host in phase.hosts()}):
            own: dict[Phase, dict[str, Latencies]] = {"load": {}, "run": {}}
            for phase in phases:
                phase.read(host, own[phase.kind], self._warn)
            of_client: list[Row] = []
            for kind in ("run", "load"):
                runs = [c.run for phase in phases if phase.kind == kind for c in phase.clients if c.host == host]
                of_client += rows(kind, runs, own[kind]) if runs else []
                for name, merged in own[kind].items():
                    latencies[kind].setdefault(name, Latencies()).add_all(merged)
            result.append(conducted_client(host, conducted, of_client))
        return result

    def _judged(self, phases: Sequence[_Phase], runs: int) -> tuple[Status, str | None]:
        """The trial's status, and why it is not "ok"."""
        status, reason = self._state()
        problems = [problem for phase in phases for problem in phase.problems]
        wanted = self._settings.get("trial_repeats")
        if status == "ok" and isinstance(wanted, int) and runs != wanted:
            problems.append(f"{runs} of {wanted} repeats have left results")
        if status == "ok" and problems:
            return "invalid", _first(problems)
        if status == "failed" and (broken := [p for p in phases if p.kind == "run" and p.conducted.failure]):
            # It was measured, and conducting says best why that does not count; the trial may know of a dead
            # server besides.
            why = broken[0].conducted.failure
            also = (reason or "").partition(why)[2]
            return "invalid", f"{broken[0].name}: {why}{also}"
        return status, reason or (_first(problems) if problems else None)

    def _warmup(self, phase: _Phase) -> float:
        stated = [number(client.report.get("warmup_seconds")) for client in phase.clients]
        known = [seconds for seconds in stated if seconds is not None]
        return known[0] if known else number(self._settings.get("trial_warmup")) or 0.0

    def _state(self) -> tuple[Status, str | None]:
        state = self._read("state.json")
        status = str(state.get("status", "pending"))
        reason = state.get("reason")
        if status == "done":
            return "ok", None
        if status not in get_args(Status):
            return "failed", f"unknown state {status!r} in state.json"
        default = {"pending": "not started", "running": "not finished", "interrupted": "interrupted"}
        return cast(Status, status), str(reason or default.get(status, "no reason was recorded"))

    def _folders(self, pattern: str) -> list[Path]:
        found = [path for path in self.folder.iterdir() if path.is_dir() and re.fullmatch(pattern, path.name)]
        return sorted(found, key=lambda path: (len(path.name), path.name))  # run-10 after run-9

    def _conditions(self, facts: Mapping[str, Any], phases: Sequence[_Phase]) -> Conditions:
        """What the server and the clients report; what they do not, from the trial's settings."""
        clients = phases[0].clients if phases else []
        reports = [client.report for client in clients]
        seconds = [phase.run.seconds for phase in phases if phase.run.seconds is not None]
        stated: dict[str, Any] = {name: str(facts[name]) for name in _READ_BACK if facts.get(name) is not None}
        stated |= {name: facts[name] for name in _COUNTED if isinstance(facts.get(name), int)}
        return Conditions(
            **stated,
            clients=len(clients) or None,
            start_skew_ms=furthest(phase.conducted.start_skew_ms for phase in phases),
            end_skew_ms=furthest(phase.conducted.end_skew_ms for phase in phases),
            clock_error_ms=furthest(phase.conducted.offset_error_ms() for phase in phases),
            threads=_same(reports, "threads") or whole(self._settings.get("trial_threads")),
            batchsize=_same(reports, "batchsize") or whole(self._properties.get("batchsize", 1)),
            inflight=_same(reports, "inflight") or whole(self._properties.get("inflight", 1)),
            target=_target(reports),
            recordcount=whole(self._properties.get("recordcount")),
            scale=number(self._settings.get("trial_scale")),
            full_recordcount=whole(mapping(self._settings.get("trial_full")).get("recordcount")),
            record_bytes=self._record_bytes(),
            warmup_seconds=number(self._settings.get("trial_warmup")),
            measured_seconds=statistics.fmean(seconds) if seconds and phases[0].name != "load" else None,
        )

    def _record_bytes(self) -> int | None:
        # YCSB's own defaults: 10 fields of 100 bytes.
        count = whole(self._properties.get("fieldcount", 10))
        length = whole(self._properties.get("fieldlength", 100))
        return count * length if count is not None and length is not None else None

    def _remarks(self, phases: Sequence[_Phase]) -> list[str]:
        remarks = []
        for phase in phases:
            for client in phase.clients:
                skew = number(client.report.get("skew_ms"))
                if skew is not None and abs(skew) > _MAX_SKEW_MS:
                    remarks.append(f"{phase.name} on {client.host} began {skew:,.0f} ms after the agreed instant")
        # New records are counted from recordcount on by every run.
        if number(self._properties.get("insertproportion")) and sum(phase.kind == "run" for phase in phases) > 1:
            remarks.append("every run inserts the same records: from the second on they are written over")
        return remarks

    def _search(self, runs: Sequence[_Phase]) -> Search | None:
        """What its probes have come to; nothing else of the trial has anything of them."""
        settings = search.stated(self._settings.get("trial_search"))
        if settings is None:
            return None
        probes = []
        for phase in (_Phase(folder, self._warn) for folder in self._folders(r"probe-\d+")):
            latencies: dict[str, Latencies] = {}
            for host in sorted(phase.hosts()):
                phase.read(host, latencies, self._warn)
            measured = rows("probe", [phase.run], latencies)
            targets = [number(client.report.get("target")) for client in phase.clients]
            known = [target for target in targets if target is not None]
            # Each client was given its share of it.
            target = knee.rounded(sum(known)) if known and not phase.missing and len(known) == len(targets) else None
            probes.append(search.Measured(measured, phase.problems, phase.number or 0, target))
        before = search.Measured(
            rows("run", [phase.run for phase in runs], {}), [problem for phase in runs for problem in phase.problems]
        )
        return search.result(settings, before, probes)

    def _warn(self, message: str) -> None:
        self.warnings.append(message)

    def _read(self, name: str) -> dict[str, Any]:
        return read_object(self.folder / name, self._warn)


def _first(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"{problems[0]} (and {len(problems) - 1} more)"


def _same(reports: Sequence[Mapping[str, Any]], key: str) -> int | None:
    """The value that all clients report, None when they do not agree."""
    values = {whole(report.get(key)) for report in reports}
    return values.pop() if len(values) == 1 else None


def _target(reports: Sequence[Mapping[str, Any]]) -> float | None:
    values = {number(report.get("target")) for report in reports}
    target = values.pop() if len(values) == 1 else None
    return target if target else None  # YCSB's 0 means no target
