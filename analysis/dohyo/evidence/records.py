"""Reads JSON files that Dohyo's programs wrote. The result is a record, which declares the fields and their types.

A file may be from an earlier version, damaged, or malicious. A field that is missing or null has its default value. A
value of another type is ignored with a warning that names the file, the field and the value; the other fields are used.
"""

from __future__ import annotations

import sys
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from dohyo.evidence import json_values
from dohyo.evidence.accounting import AccountingReport
from dohyo.evidence.json_values import Number, Whole
from dohyo.evidence.result_lines import Operation
from dohyo.evidence.text_file import Warn, limited
from dohyo.scenario import faults, properties, search
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.phases import LOAD, PROBE, RUN

# Length of a window in seconds; at most a year, as in maxexecutiontime. Evaluating a longer one would take hours.
Window = Annotated[float, Meta(ge=0, le=366 * 86_400)]
Name = Annotated[str, Meta(min_length=1)]
Said = str | int | float | bool  # type of a value that is shown exactly as it was written
FORMAT = 2  # version of the evidence's format: `format` in experiment.json; version 1 did not write it

R = TypeVar("R", bound=Struct)


def read(path: Path, record: type[R], warn: Warn) -> R:
    """Reads a file. Missing fields have their default values, as do all fields of a missing file.

    :param warn: receives `path: field is value: why` for each value that is ignored
    """
    warn = limited(path, warn)
    return decoded(json_values.read_object(path, warn), record, lambda problem: warn(f"{path}: {problem}"))


def decoded(content: Any, record: type[R], complain: Warn) -> R:
    """Converts the content of a file to a record. Missing fields have their default values.

    :param complain: receives `field is value: why` for each value that is ignored
    """
    value = _part(content, record, complain, "")
    return record() if value is UNSET else value


def _part(content: Any, kind: Any, complain: Warn, path: str) -> Any:
    """Converts a value to a type. Leaves out parts of a wrong type, and returns UNSET if nothing remains."""
    try:
        return msgspec.convert(content, kind, strict=False)
    except msgspec.ValidationError as error:
        why = str(error)
    except RecursionError:
        why = "it is nested too deeply"
    if isinstance(kind, UnionType):
        # An empty object stands for settings that were not requested.
        if content == {} and NoneType in get_args(kind) and any(map(is_dataclass, get_args(kind))):
            return None
        kinds = [alternative for alternative in get_args(kind) if alternative not in (NoneType, UnsetType)]
        kind = kinds[0] if len(kinds) == 1 else kind
    inside = f"{path}." if path else ""
    if isinstance(content, dict) and isinstance(kind, type) and issubclass(kind, Struct):
        fields = [member for member in structs.fields(kind) if content.get(member.encode_name) is not None]
        parts = {
            member.name: _part(content[member.encode_name], member.type, complain, inside + member.encode_name)
            for member in fields
        }
        return kind(**{name: part for name, part in parts.items() if part is not UNSET})
    if isinstance(content, dict) and get_origin(kind) is dict:
        inner = get_args(kind)[1]
        # If None is allowed, an entry of a wrong type becomes None: without the entry, sums would be too small.
        unknown = None if NoneType in get_args(inner) else UNSET
        values = {
            key: UNSET if value is None else _part(value, inner, complain, inside + key)
            for key, value in content.items()
        }
        entries_by_key = {key: unknown if value is UNSET else value for key, value in values.items()}
        return {key: value for key, value in entries_by_key.items() if value is not UNSET}
    if isinstance(content, list) and get_origin(kind) is list:
        inner = get_args(kind)[0]
        entries = [_part(entry, inner, complain, f"{path}[{index}]") for index, entry in enumerate(content)]
        return [entry for entry in entries if entry is not UNSET]
    complain(f"{path or 'it'} is {_shown(content)}: {why[:1].lower()}{why[1:]}")
    return UNSET


def _shown(value: Any) -> str:
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else f"{value!a:.60}"


class ClientReport(Struct, frozen=True):
    """client.json: a client's report on its part of a run. The class Results in ycsb-bindings/client writes it."""

    phase: str | None = None
    binding: str | None = None
    threads: Whole | None = None
    batchsize: Whole | None = None
    inflight: Whole | None = None
    readbeforewrite: bool | None = None
    target: Number | None = None
    loop: str | None = None
    arrival: str | None = None
    tablecount: Whole | None = None
    agreed_start_ms: Number | None = None
    skew_ms: Number | None = None
    warmup_seconds: Number | None = None
    measured_seconds: Window | None = None
    missed_operations: Whole | None = None
    operations: Whole | None = None
    failed_operations: Whole | None = None
    records: Whole | None = None
    retried_records: Whole | None = None
    retried_requests: Whole | None = None
    retries: Whole | None = None
    connections: Whole | None = None
    event_loops: Whole | None = None
    cpu_seconds: Number | None = None
    cpus: str | None = None
    busiest_thread: str | None = None
    busiest_thread_share: Number | None = None
    inserted: Whole | None = None
    passed_over: Whole | None = None
    unacknowledged_inserts: Whole | None = None
    operations_by_type: dict[str, Operation] = {}
    accounting: AccountingReport | None = None
    first_error: str | None = None
    valid: bool | None = None
    reason: str | None = None
    exit: Whole | None = None

    def __bool__(self) -> bool:
        """Returns whether any field differs from its default."""
        return self != ClientReport()


class WorkloadSettings(Struct, frozen=True, rename={"threads_of": "threadcount.of", "loop": "client.loop"}):
    """The properties that the summary uses or compares with the clients' reports, with their defaults."""

    recordcount: Whole | None = None
    insertstart: Whole = 0
    insertcount: Whole | None = None
    fieldcount: Whole = 10
    fieldlength: Whole = 100
    batchsize: Whole = 1
    inflight: Whole = 1
    tablecount: Whole = 1
    readbeforewrite: bool = False
    retries: Whole = 0
    arrival: str = "uniform"
    loop: str | None = None
    threads_of: str = "each"  # "each" if threadcount is the number of threads of each client; "all" if it is their sum
    target: Number | None = None
    operationtimeout: Number | None = None

    @property
    def records(self) -> int | None:
        """Returns the number of records to load, or None if it is not known."""
        return self.insertcount or (None if self.recordcount is None else self.recordcount - self.insertstart)


class PhaseSettings(Struct, frozen=True):
    """The clients' settings in a phase. None means that the trial's setting applies."""

    name: str | None = None
    properties: WorkloadSettings | None = None
    threads: Whole | None = None
    warmup: Number | None = None
    duration: Number | None = None
    maxnotfoundrate: Number | None = None
    faults: str = faults.NONE
    share: Number | None = None
    measured: bool = False  # whether a load is compared like a run

    @property
    def workload(self) -> WorkloadSettings:
        """Returns the phase's own properties, or the defaults if the phase sets no properties."""
        return self.properties or WorkloadSettings()

    @property
    def not_found_limit(self) -> float:
        """Returns the share of the records that may be missing: `maxnotfoundrate`, or its default if it is not set."""
        default = float(properties.known()["maxnotfoundrate"].default or 0)
        return default if self.maxnotfoundrate is None else self.maxnotfoundrate


class TurnSettings(Struct, frozen=True):
    """The turns of trials whose servers ran at the same time. `order` names the trial of each turn."""

    order: list[str] = []


class TrialSettings(Struct, frozen=True, rename=lambda name: f"trial_{name}"):
    """A trial's trial.json, which the package `planning` writes. The variables of the systems are left out."""

    system: str | None = None
    name: str | None = None
    point: dict[str, Said] = {}
    round: Whole | None = None
    rounds: Whole = 1
    properties: WorkloadSettings = WorkloadSettings()
    load: PhaseSettings = PhaseSettings()
    precondition: PhaseSettings = PhaseSettings()
    phases: list[PhaseSettings] = field(default_factory=lambda: [PhaseSettings(RUN)])
    threads: Whole | None = None
    repeats: Whole | None = None
    turns: TurnSettings = TurnSettings()
    discard: Whole = 0
    warmup: Number | None = None
    duration: Number | None = None
    strict: bool = False
    max_other_cpu: Said | None = None
    reuse: Said | None = None
    search: search.Settings | None = None
    scale: Number | None = None
    full: WorkloadSettings = WorkloadSettings()  # properties at scale 1

    @property
    def planned(self) -> list[str]:
        """Returns the names of the phases after the load, in order."""
        return [phase.name or "" for phase in self.phases]

    @property
    def load_is_measured(self) -> bool:
        """Returns whether the load is compared like a run."""
        return self.load.measured or not self.planned

    @property
    def matrix_point(self) -> dict[str, str]:
        """Returns the point of the matrix: dimension → value."""
        return {key: str(value) for key, value in self.point.items()}

    def phase(self, name: str) -> PhaseSettings:
        """Returns the settings of a phase, the load, or the probes of a search.

        If a phase lacks a setting, the trial's setting applies. Probes use the last phase's settings, at other target
        rates.
        """
        if name == PROBE:
            last = self.phases[-1] if self.phases else PhaseSettings()
            return PhaseSettings(name, warmup=self.warmup, maxnotfoundrate=last.maxnotfoundrate)
        phases = [phase for phase in self.phases if phase.name == name] or [PhaseSettings()]
        settings = self.load if name == LOAD else phases[0]
        names = ("properties", "threads", "warmup", "duration")
        inherited = {key: getattr(self, key) for key in names if getattr(settings, key) is None}
        if name == LOAD:
            inherited["warmup"] = 0.0  # all its records count
        return structs.replace(settings, name=name, **inherited)


class SetAside(Struct, frozen=True):
    """A run's disturbed.json: why the run does not count, and was measured again."""

    why: str = ""


class TrialState(Struct, frozen=True):
    """A trial's state.json: its progress."""

    status: str = "pending"
    reason: str | None = None
    started: str | None = None
    finished: str | None = None
    manifest: str | None = None


class FaultOnHost(Struct, frozen=True):
    """A fault on one host."""

    at: Number | None = None  # start, in seconds since the window began, on the controller's clock
    error: str | None = None


class FaultEvent(Struct, frozen=True):
    """A fault, or an event that ended a fault; see docs/faults.md."""

    kind: str = ""
    target: str = ""  # requested target; for an event that undid a fault at the end of the run, the host
    # Requested start, in seconds since the window began; None if the event undid a fault at the end of the run.
    planned: Number | None = None
    # Start of the event, in seconds since the window began, on the controller's clock; None if it was not carried out.
    began: Number | None = None
    hosts: dict[str, FaultOnHost] = {}


class Faults(Struct, frozen=True):
    """faults.json, which the conductor writes: the faults of a run."""

    asked: str = faults.NONE
    # Start of the window, in seconds since 1970 on the controller's clock; `window_ended` is its planned end.
    window_began: Number | None = None
    window_ended: Number | None = None
    events: list[FaultEvent] = []
    undone: list[FaultEvent] = []
    # Time at which all servers were ready again, in seconds since the window began; None if not known.
    whole: Number | None = None


class KeptLoad(Struct, frozen=True):
    """A trial's kept.json, which names the trial that loaded the data with which the servers started."""

    load: str | None = None
    note: str | None = None


class Settled(Struct, frozen=True):
    """settled.json: notes on how the servers settled."""

    notes: list[str] = []


class CountedRows(Struct, frozen=True):
    """counted.json: the number of rows in each table, as the servers counted them."""

    rows: dict[str, Whole | None] = {}


class ReadBack(Struct, frozen=True):
    """conditions.json except for the conditions themselves, which `dohyo.summary.conditions` declares."""

    title: str | None = None
    tuned: dict[str, Said | list[Said]] = {}
    settings: dict[str, Said | list[Said]] = {}
    values: dict[str, Any] = {}  # all variables and further settings with which the servers started
    server_settings: dict[str, Said] = {}  # settings that the server itself reports
    differences: list[str] = []
    exceeded: dict[str, Said] = {}  # condition → requested value, where the server can only provide a stricter one
    notes: list[str] = []
    usd_per_hour: dict[str, Said | None] = {}  # price of each host; inventories may state a number, a string or nothing


class CanaryReading(Struct, frozen=True):
    """A figure that the canary measured on a host in each time slice."""

    name: str = ""
    of: str | None = None
    unit: str = ""
    slices: list[Number] = []


class CanaryPart(Struct, frozen=True):
    """The measurements of a host, or of the network from it to other hosts. `problems` says why some are missing."""

    figures: list[CanaryReading] = []
    problems: list[str] = []


class CanaryFile(Struct, frozen=True):
    """canary.json: the measurements of each host."""

    at: str | None = None
    hosts: dict[str, CanaryPart] = {}
    network: dict[str, CanaryPart] = {}


class PlannedFacts(Struct, frozen=True):
    """A planned trial of the experiment."""

    name: str | None = None
    system: str | None = None
    point: dict[str, Said] = {}
    round: Whole | None = None


class ExperimentFacts(Struct, frozen=True):
    """An experiment's experiment.json. Any field may be missing."""

    format: Whole = 1
    id: str | None = None
    scenario: str | None = None
    scenario_sha256: str | None = None
    title: str | None = None
    status: str | None = None
    started: str | None = None
    finished: str | None = None
    inventory: str | UnsetType | None = UNSET
    systems: list[Name] = []
    plan: list[Name] = []
    trials: list[PlannedFacts] = []
    rounds: Whole | None = None
    rounds_ended: str | None = None
    precision: Number | None = None
    until_decided: bool = False
    alike: Annotated[float, Meta(gt=0, le=sys.float_info.max)] | None = None
    matrix: dict[str, Any] = {}
    hosts: Hosts | None = None
    host: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    named: bool = False
    equal_targets: dict[str, Number] = {}
