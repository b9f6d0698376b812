"""From an experiment's evidence (`results/<id>/raw`) to its summary.

Everything in a summary can be recomputed from the evidence: `summarise` reads nothing else and writes nothing.
A trial gets numbers only when all its clients report a valid run and their logs agree with each other.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, get_args

from dohyo.hdr_log import Latencies, merge_log
from dohyo.results import Conditions, Phase, Row, Run, Status, Summary, Trial, merge, rows
from dohyo.text_file import Warn, lines
from dohyo.ycsb_log import ClientLog, Operation, read_log

__all__ = ["Conditions", "Row", "Summary", "Trial", "summarise"]

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

    `experiment`: the folder with `raw/<trial>/…`. Trials that did not finish, and files that are missing or broken,
    become reasons and warnings. Raises FileNotFoundError when there is no `raw` folder.
    """
    raw = experiment / "raw"
    if not raw.is_dir():
        raise FileNotFoundError(f"{experiment} is not the folder of an experiment: it has no folder 'raw'")
    evidence = [_Evidence(folder) for folder in sorted(raw.iterdir()) if folder.is_dir()]
    trials = [each.trial() for each in evidence]
    return Summary(
        name=experiment.resolve().name,
        trials=trials,
        unequal=unequal(trials),
        notes=_notes(trials),
        warnings=[warning for each in evidence for warning in each.warnings],
    )


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
    notes = []
    sizes = {(trial.conditions.recordcount, trial.conditions.record_bytes) for trial in trials}
    for records, record_bytes in sorted((r, b) for r, b in sizes if r is not None and b is not None):
        size = records * record_bytes
        if size < SMALL_DATA_BYTES:
            data = f"{records:,} records \N{MULTIPLICATION SIGN} {record_bytes:,} B = {_size(size)}"
            notes.append(f"small data: {data}: fits every cache; not a sizing result")
    return notes


def _size(size: int) -> str:
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:,.4g} {unit}"
    return f"{size} B"


@dataclass
class _ClientPhase:
    """One client's part of a phase: `load/<host>` or `run-<n>/<host>`."""

    host: str
    report: dict[str, Any]  # client.json
    log: ClientLog | None

    @property
    def seconds(self) -> float | None:
        measured = self.report.get("measured_seconds")
        if isinstance(measured, int | float):
            return float(measured)
        return self.log.runtime_ms / 1000 if self.log and self.log.runtime_ms is not None else None


@dataclass
class _Phase:
    """One phase of a trial, over all clients."""

    name: str  # folder: load, run-1, …
    clients: list[_ClientPhase] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # why its numbers must not be shown
    run: Run = field(default_factory=Run)


class _Evidence:
    """Reads one trial's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        self._settings = self._read_json("trial.json")
        self._properties = _mapping(self._settings.get("trial_properties"))

    def trial(self) -> Trial:
        status, reason = self._state()
        facts = self._read_json("conditions.json")
        latencies: dict[Phase, dict[str, Latencies]] = {"load": {}, "run": {}}
        load = [self._phase(path, latencies["load"]) for path in self._folders("load")]
        runs = [self._phase(path, latencies["run"]) for path in self._folders(r"run-\d+")]
        problems = [problem for phase in [*load, *runs] for problem in phase.problems]
        wanted = self._settings.get("trial_repeats")
        if status == "ok" and isinstance(wanted, int) and len(runs) != wanted:
            problems.append(f"{len(runs)} of {wanted} repeats have left results")
        if status == "ok" and problems:
            status, reason = "invalid", _first(problems)
        elif reason is None and problems:
            reason = _first(problems)

        result: list[Row] = []
        if runs and status == "ok":
            result += rows("run", [phase.run for phase in runs], latencies["run"])
        if load and not any(phase.problems for phase in load):
            result += rows("load", [phase.run for phase in load], latencies["load"])
        system = str(self._settings.get("trial_system") or self.folder.name)
        conditions = self._conditions(facts, runs or load)
        return Trial(
            name=self.folder.name,
            system=system,
            title=str(facts.get("title") or system),
            status=status,
            reason=reason,
            conditions=conditions,
            deviations=[str(difference) for difference in _list(facts.get("differences"))],
            notes=[str(note) for note in _list(facts.get("notes"))] + self._remarks([*load, *runs]),
            rows=result,
        )

    def _state(self) -> tuple[Status, str | None]:
        state = self._read_json("state.json")
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

    def _phase(self, folder: Path, latencies: dict[str, Latencies]) -> _Phase:
        phase = _Phase(folder.name)
        for host in sorted(path for path in folder.iterdir() if path.is_dir()):
            self._client(phase, host, latencies)
        if not phase.clients:
            phase.problems.append(f"{folder.name}: no client has left results")
        seconds = [client.seconds for client in phase.clients]
        phase.run.seconds = None if None in seconds or not seconds else max(cast(list[float], seconds))
        phase.run.operations = _total(client.report.get("operations") for client in phase.clients)
        phase.run.records = _total(client.report.get("records") for client in phase.clients)
        return phase

    def _client(self, phase: _Phase, folder: Path, latencies: dict[str, Latencies]) -> None:
        def problem(what: str) -> None:
            phase.problems.append(f"{phase.name} on {folder.name}: {what}")

        report = self._read_json(str((folder / "client.json").relative_to(self.folder)))
        logs = [log for log in read_log(folder / "result.txt", self._warn) if log.has_results]
        client = _ClientPhase(folder.name, report, logs[-1] if logs else None)
        phase.clients.append(client)
        if (failure := _failure(folder, report)) is not None:
            problem(failure)
            return
        if client.log is None or client.log.cut:
            problem(client.log.cut if client.log and client.log.cut else "no result lines in result.txt")
            return
        merged = self._histograms(folder, latencies)
        for name, operation in _agreed(client.log.operations, report, problem).items():
            counted = merged.get(name)
            if counted is not None and counted != operation.operations:
                problem(f"{name}.hdr holds {counted} operations, the result lines {operation.operations}")
            known = phase.run.by_operation.get(name)
            phase.run.by_operation[name] = operation if known is None else merge([known, operation])

    def _histograms(self, folder: Path, latencies: dict[str, Latencies]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for path in sorted(folder.glob("*.hdr")):
            operation, added = merge_log(path, latencies, self._warn)
            counts[operation] = counts.get(operation, 0) + added
        return counts

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
            threads=_same(reports, "threads") or _int(self._settings.get("trial_threads")),
            batchsize=_same(reports, "batchsize") or _int(self._properties.get("batchsize", 1)),
            inflight=_same(reports, "inflight") or _int(self._properties.get("inflight", 1)),
            target=_target(reports),
            recordcount=_int(self._properties.get("recordcount")),
            record_bytes=self._record_bytes(),
            warmup_seconds=_float(self._settings.get("trial_warmup")),
            measured_seconds=statistics.fmean(seconds) if seconds and phases[0].name != "load" else None,
        )

    def _record_bytes(self) -> int | None:
        # YCSB's own defaults: 10 fields of 100 bytes.
        count = _int(self._properties.get("fieldcount", 10))
        length = _int(self._properties.get("fieldlength", 100))
        return count * length if count is not None and length is not None else None

    def _remarks(self, phases: Sequence[_Phase]) -> list[str]:
        remarks = []
        for phase in phases:
            for client in phase.clients:
                skew = _float(client.report.get("skew_ms"))
                if skew is not None and abs(skew) > _MAX_SKEW_MS:
                    remarks.append(f"{phase.name} on {client.host} began {skew:,.0f} ms after the agreed instant")
        return remarks

    def _warn(self, message: str) -> None:
        self.warnings.append(message)

    def _read_json(self, name: str) -> dict[str, Any]:
        """The object in a file of the trial's folder; empty when there is no such file."""
        path = self.folder / name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            self._warn(f"{path}: cannot be read as JSON: {error}")
            return {}
        return _mapping(content)


def _failure(folder: Path, report: Mapping[str, Any]) -> str | None:
    """Why the client's run is not valid; None when it is."""
    try:
        code = (folder / "exit").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        code = ""
    if report.get("valid") is False:
        return str(report.get("reason") or "the client calls its run invalid")
    if code not in ("", "0"):
        errors = [line for _, line in lines(folder / "status.txt", lambda _: None) if line.startswith("ERROR: ")]
        said = f": {errors[-1].removeprefix('ERROR: ').strip()}" if errors else ""
        return f"the client ended with exit code {code}{said}"
    if not report:
        return "the client has left no client.json"
    return None


def _agreed(logged: Mapping[str, Operation], report: Mapping[str, Any], problem: Warn) -> dict[str, Operation]:
    """Result lines of a client, completed from and checked against its client.json."""
    result = {name: replace(operation) for name, operation in logged.items()}
    for name, content in _mapping(report.get("operations_by_type")).items():
        facts = _mapping(content)
        operation = result.get(name)
        if operation is None:
            problem(f"client.json counts {name}, the result lines do not")
            continue
        for key, value in (("operations", operation.operations), ("recordcount", operation.records)):
            if value is not None and facts.get(key) is not None and facts[key] != value:
                problem(f"client.json counts {facts[key]} {key} of {name}, the result lines {value}")
        if operation.records is None:
            operation.records = _int(facts.get("records"))
        statuses = {str(status): count for status, count in _mapping(facts.get("statuses")).items() if count}
        if statuses and operation.returns and statuses != {k: v for k, v in operation.returns.items() if v}:
            problem(f"client.json and the result lines differ in the statuses of {name}")
    return result


def _first(problems: Sequence[str]) -> str:
    return problems[0] if len(problems) == 1 else f"{problems[0]} (and {len(problems) - 1} more)"


def _total(counts: Any) -> int | None:
    known = [_int(count) for count in counts]
    return sum(cast(list[int], known)) if known and None not in known else None


def _same(reports: Sequence[Mapping[str, Any]], key: str) -> int | None:
    """The value that all clients report, None when they do not agree."""
    values = {_int(report.get(key)) for report in reports}
    return values.pop() if len(values) == 1 else None


def _target(reports: Sequence[Mapping[str, Any]]) -> float | None:
    values = {_float(report.get("target")) for report in reports}
    target = values.pop() if len(values) == 1 else None
    return target if target else None  # YCSB's 0 means no target


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
