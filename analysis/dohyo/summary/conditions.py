"""Declares every condition of a trial once, as a field of `Conditions`, in the order of the tables.

A declaration says what the condition means, where it must be equal, and how it is read and shown. It also says whether
phases may differ, and how rounds are merged. Tables, summary.json, summary.csv, `dohyo compare` and
docs/summary-json.md use the declarations, so that adding a condition takes only one entry here.
`python -m dohyo.summary.conditions` prints the table for docs/summary-json.md.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Literal, TypeVar

from msgspec import defstruct, structs

from dohyo.evidence import json_values, records
from dohyo.evidence.conductor_records import furthest
from dohyo.evidence.host_metrics import NOTED, Taken
from dohyo.evidence.json_values import Whole
from dohyo.evidence.text_file import Warn
from dohyo.figures import counted, scaled
from dohyo.metrics import KINDS, table
from dohyo.scenario.phases import LOAD, RUN
from dohyo.scenario.properties import plain
from dohyo.scenario.setup import NOT_KNOWN
from dohyo.summary.phase import Phase

T = TypeVar("T")

# Scope in which a condition must be equal. systems: between the systems of one experiment, and between two experiments.
# experiments: only between two experiments; `dohyo compare` rejects unequal ones.
Equal = Literal["systems", "experiments"]
# How the values of rounds are merged. same: all rounds have the same value, unless an inventory, a server or a client
# was changed in between. Measured values may differ. most: the value furthest from 0 is used. mean: their mean is used.
OverRounds = Literal["same", "most", "mean"]


@dataclass(frozen=True)
class ConditionSources:
    """Evidence of a trial, or of one of its phases, from which conditions are read.

    :ivar stated: conditions in conditions.json, by name
    :ivar facts: all other content of conditions.json
    :ivar trial: content of trial.json
    :ivar phases: runs that count; the load if there are no such runs
    :ivar shares: processor time that other processes and the hypervisor took in these runs
    """

    stated: Mapping[str, Any]
    facts: records.ReadBack
    trial: records.TrialSettings
    phases: Sequence[Phase]
    shares: Sequence[Taken]

    @property
    def settings(self) -> records.PhaseSettings:
        """Returns the settings of the first of `phases`, or of the phase `run` if there are none."""
        return self.trial.phase(self.phases[0].kind if self.phases else RUN)

    @property
    def is_measured(self) -> bool:
        """Returns whether there are runs, or the load itself is measured."""
        return self.trial.load_is_measured or any(phase.kind != LOAD for phase in self.phases)

    @property
    def reports(self) -> list[records.ClientReport]:
        """Returns the content of client.json of every client in every run."""
        return [client.report for phase in self.phases for client in phase.clients]

    def reported(self, name: str) -> Any:
        """Returns the value of a field of client.json; None unless all clients report the same value."""
        return _same(getattr(report, name) for report in self.reports)

    def most(self, name: str) -> Any:
        """Returns the largest value that a client reports for a field of client.json."""
        return max((value for report in self.reports if (value := getattr(report, name)) is not None), default=None)


@dataclass(frozen=True)
class Condition:
    """The properties of a condition, without its value.

    :ivar about: meaning, in Markdown
    :ivar unit: unit as in docs/summary-json.md; empty for texts, counts and shares
    :ivar read: function that reads the value from the evidence; None if the running server states it
    :ivar equal: where the condition must be equal; None if it may differ
    :ivar by_phase: whether the condition may differ between the phases of a trial
    :ivar over_rounds: how the values of a system's rounds are merged
    :ivar label: name in tables; empty if it is not shown, or is contained in another condition's text
    :ivar text: function that returns the value as text, or None to leave it out; if None, the value itself is shown
    :ivar also: other conditions that the text contains
    :ivar name: name of the field, in summary.json and summary.csv
    :ivar kind: JSON type
    """

    about: str
    unit: str = ""
    read: Callable[[ConditionSources], Any] | None = None
    equal: Equal | None = None
    by_phase: bool = False
    over_rounds: OverRounds = "same"
    label: str = ""
    text: Callable[[Conditions], str | None] | None = None
    also: tuple[str, ...] = ()
    name: str = ""
    kind: str = ""

    @property
    def group(self) -> tuple[str, ...]:
        """Returns the names of the conditions that the text contains, beginning with this one."""
        return (self.name, *self.also)


def _of(about: str, unit: str = "", **more: Any) -> Any:
    """Returns a field that declares a condition."""
    return field(default=None, metadata={"condition": Condition(about, unit, **more)})


# ---- how single conditions are read ----------------------------------------------------------------------------------


def _same(values: Iterable[T | None]) -> T | None:
    """Returns the common value; None if the values differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _tenths(value: Any) -> Any:
    return round(value, 1) if isinstance(value, float) else value


def _pairs(settings: Mapping[str, Any]) -> str | None:
    return ", ".join(f"{key}={plain(value)}" for key, value in settings.items()) if settings else None


def _target(sources: ConditionSources) -> float | None:
    """Returns the target rate of each client, or the mean if clients or runs differ; None without a target rate."""
    rates = [target for report in sources.reports if sources.is_measured and (target := report.target)]
    return _same(rates) or (statistics.fmean(rates) if rates else None)  # YCSB's 0 means no target


def _measured(sources: ConditionSources) -> float | None:
    seconds = [phase.run.seconds for phase in sources.phases if phase.run.seconds is not None]
    return statistics.fmean(seconds) if seconds and sources.is_measured else None


def _warmup(sources: ConditionSources) -> float | None:
    warmups = [phase.warmup for phase in sources.phases if phase.kind != LOAD]
    return statistics.fmean(warmups) if warmups else sources.settings.warmup


def _client_hosts(phases: Sequence[Phase]) -> str | None:
    """Returns a text that says on which hosts the clients ran; None if that is unknown or there is only one host."""
    clients = {host for phase in phases for host in phase.conducted.clients}
    servers = {host for phase in phases for host in phase.conducted.nodes}
    shared = clients & servers
    if not clients or not servers or len(clients | servers) == 1:
        return None
    if not shared:
        return "hosts of their own"
    return f"the servers' hosts{'' if shared == clients else f' ({len(shared)} of {len(clients)})'}"


def _client_cpus(cpus: Sequence[str | None]) -> str | None:
    """Returns the distinct lists of processors to which clients were bound; None if no client was bound."""
    return "; ".join(sorted({processors or "all" for processors in cpus})) if any(cpus) else None


def _price(facts: records.ReadBack) -> float | None:
    """Returns the total price of the servers' hosts, in US$ per hour; None if the price of a host is unknown."""
    prices = [json_values.number(price) or 0.0 for price in facts.usd_per_hour.values()]
    total = sum(prices)
    return total if total > 0 and math.isfinite(total) and min(prices) > 0 else None


# ---- how single conditions are shown ---------------------------------------------------------------------------------


def _or_unknown(count: int | None) -> str:
    return "?" if count is None else f"{count}"


def _load(conditions: Conditions) -> str:
    clients = "? clients" if conditions.clients is None else counted(conditions.clients, "client")
    threads = f" \N{MULTIPLICATION SIGN} {counted(conditions.threads, 'thread')}" if conditions.threads else ""
    return f"{clients}{threads}"


def _transport(conditions: Conditions) -> str:
    """Returns a text with a client's connections to the servers and the threads that serve them."""
    loops, carried = conditions.event_loops, ""
    if loops is not None:
        carried = f" on {counted(loops, 'event loop')}" if loops else " on the client's own threads"
    loop = f", client.loop={conditions.loop}" if conditions.loop else ""
    connections = "? connections" if conditions.connections is None else counted(conditions.connections, "connection")
    return f"{connections} per client{carried}{loop}"


def _skew(conditions: Conditions) -> str | None:
    """Returns a text with the differences between the clients' starts and ends; None for a single client."""
    if (conditions.clients or 0) < 2 or conditions.start_skew_ms is None:
        return None
    parts = (
        ("start", conditions.start_skew_ms),
        ("end", conditions.end_skew_ms),
        ("clocks \N{PLUS-MINUS SIGN}", conditions.clock_error_ms),
    )
    return ", ".join(f"{name} {value:.1f} ms" for name, value in parts if value is not None)


def _taken(conditions: Conditions) -> str:
    """Returns a text with the shares that other processes and the hypervisor took; "below 5%" for small shares."""
    parts = (("other processes", conditions.other_cpu), ("hypervisor", conditions.stolen_cpu))
    shares = [
        f"{who} {'below' if share < NOTED else 'up to'} {max(share, NOTED):.0%}"
        for who, share in parts
        if share is not None
    ]
    return f"{', '.join(shares)} of a host's processors"


def _window(conditions: Conditions) -> str | None:
    if conditions.measured_seconds is None:
        return None
    warmup = f" after {conditions.warmup_seconds:.0f} s" if conditions.warmup_seconds else ""
    return f"{conditions.measured_seconds:,.1f} s{warmup}"


def _overlap(conditions: Conditions) -> str:
    """Returns text such as " (2 + 2 > 3)"; empty if the numbers of copies do not determine the consistency."""
    write, read, replication = conditions.write_copies, conditions.read_copies, conditions.replication or ""
    if write is None or read is None or not replication.isdecimal() or len(replication) > 9:
        return ""
    overlap = write + read > int(replication)
    if conditions.consistency != ("strong" if overlap else "eventual"):
        return ""
    sign = ">" if overlap else "\N{LESS-THAN OR EQUAL TO}"
    return f" ({write} + {read} {sign} {replication})"


# ---- the conditions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conditions:
    """The conditions of a trial; None if unknown."""

    version: str | None = _of("version of the system")
    attached: str | None = _of(
        "where the servers run, if Dohyo [did not start them](attach.md); null if Dohyo started them", label="attached"
    )
    replication: str | None = _of("copies of each record", equal="systems", label="replication")
    write_acks: str | None = _of(
        "replicas that must store a write before it is acknowledged: `one`, `quorum` or `all`. If a system `exceeded`"
        " the request, the requested value is compared",
        equal="systems",
        label="acks",
        text=lambda conditions: f"write {conditions.write_acks or '?'}, read {conditions.read_acks or '?'}",
        also=("read_acks",),
    )
    read_acks: str | None = _of(
        "replicas that must answer a read. A system that is `strong` with `one` reads from a primary; its value is not"
        " compared",
        equal="systems",
    )
    consistency: str | None = _of(
        "`strong` if write_copies + read_copies > replication, otherwise `eventual`; the system's own term if this rule"
        " does not apply to it",
        equal="systems",
        label="consistency",
        text=lambda conditions: f"{conditions.consistency}{_overlap(conditions)}",
    )
    durability: str | None = _of(
        "`memory` or `disk`: where a write is stored when it is acknowledged; `none` without a log",
        equal="systems",
        label="durability",
    )
    compression: str | None = _of("compression of the stored data", equal="systems", label="compression")
    profile: str | None = _of(
        "`vanilla` or `tuned`: where the servers' [settings](conditions.md#profiles) come from",
        equal="systems",
        label="profile",
    )
    tuned: str | None = _of(
        "settings of the profile that differ from the package, such as `cassandra_memtable=trie`; null if none",
        read=lambda sources: _pairs(sources.facts.tuned),
        label="tuned",
    )
    settings: str | None = _of(
        "settings of the scenario or the inventory that differ from the profile; null if none",
        read=lambda sources: _pairs(sources.facts.settings),
        label="settings",
    )
    disks: str | None = _of(
        "[layout and number](conditions.md#disks) of the disks with a server's data", equal="systems", label="disks"
    )
    clients: int | None = _of(
        "number of client processes",
        read=lambda sources: len(sources.phases[0].clients) or None if sources.phases else None,
        equal="systems",
        label="load",
        text=_load,
        also=("threads",),
    )
    threads: int | None = _of(
        "number of threads per client",
        read=lambda sources: sources.reported("threads") or sources.settings.threads,
        equal="systems",
        by_phase=True,
    )
    start_skew_ms: float | None = _of(
        "time between the starts of the first and the last client, in the worst repeat",
        "ms",
        read=lambda sources: furthest(phase.conducted.start_skew_ms for phase in sources.phases),
        over_rounds="most",
        label="skew",
        text=_skew,
        also=("end_skew_ms", "clock_error_ms"),
    )
    end_skew_ms: float | None = _of(
        "time between the ends of the first and the last client, in the worst repeat",
        "ms",
        read=lambda sources: furthest(phase.conducted.end_skew_ms for phase in sources.phases),
        over_rounds="most",
    )
    clock_error_ms: float | None = _of(
        "largest uncertainty of the clients' clocks",
        "ms",
        read=lambda sources: furthest(phase.conducted.offset_error_ms() for phase in sources.phases),
        over_rounds="most",
    )
    client_hosts: str | None = _of(
        "`the servers' hosts`, or `hosts of their own`; null with a single host",
        read=lambda sources: _client_hosts(sources.phases),
        equal="systems",
        label="clients on",
    )
    other_cpu: float | None = _of(
        "share of a host's processors that [other processes](method.md#other-processes) used: the maximum over hosts"
        " and runs that count; null if not known",
        read=lambda sources: furthest(share.other for share in sources.shares),
        over_rounds="most",
        label="others",
        text=_taken,
        also=("stolen_cpu",),
    )
    stolen_cpu: float | None = _of(
        "share of a host's processors that the hypervisor took",
        read=lambda sources: furthest(share.stolen for share in sources.shares),
        over_rounds="most",
    )
    scale: float | None = _of(
        "share of the scenario's records and operations that was loaded and executed (`--scale`); null if all were",
        read=lambda sources: sources.trial.scale,
        equal="experiments",
        label="size",
        text=lambda conditions: (
            None if conditions.scale is None else scaled(conditions.scale, conditions.full_recordcount)
        ),
        also=("full_recordcount",),
    )
    full_recordcount: int | None = _of(
        "number of records before scaling; null without `scale`", read=lambda sources: sources.trial.full.records
    )
    recordcount: int | None = _of(
        "records loaded before the run", read=lambda sources: sources.trial.properties.records, equal="systems"
    )
    record_bytes: int | None = _of(
        "fields × length, without keys",
        "bytes",
        read=lambda sources: sources.trial.properties.fieldcount * sources.trial.properties.fieldlength,
        equal="systems",
    )
    batchsize: int | None = _of(
        "records per operation",
        read=lambda sources: sources.reported("batchsize") or sources.settings.workload.batchsize,
        equal="systems",
        by_phase=True,
        label="batch",
    )
    inflight: int | None = _of(
        "operations in flight per logical client",
        read=lambda sources: sources.reported("inflight") or sources.settings.workload.inflight,
        equal="systems",
        by_phase=True,
        label="in flight",
    )
    retries: int | None = _of(
        "how many times a binding, or its driver,"
        " [may send a request again](conditions.md#requests-that-are-sent-again); null if not known",
        read=lambda sources: sources.reported("retries"),
        equal="systems",
        by_phase=True,
        label="retries",
    )
    connections: int | None = _of(
        "connections from a client to all servers, at the end of its window: the maximum over clients and runs that"
        " count; null if not known",
        read=lambda sources: sources.most("connections"),
        over_rounds="most",
        label="transport",
        text=_transport,
        also=("event_loops", "loop"),
    )
    event_loops: int | None = _of(
        "threads of the driver that serve a client's connections: the maximum over clients; 0: the client's own threads"
        " serve them; null if not known",
        read=lambda sources: sources.most("event_loops"),
    )
    loop: str | None = _of(
        "`events` or `threads`: how the client [ran its logical clients](conditions.md#connections); null if not known",
        read=lambda sources: loop if (loop := sources.reported("loop")) in ("events", "threads") else None,
        equal="experiments",
    )
    read_before_write: bool | None = _of(
        "whether an update first reads its record; null if there are no updates",
        read=lambda sources: sources.reported("readbeforewrite"),
        equal="systems",
        by_phase=True,
        label="updates",
        text=lambda conditions: "read before write" if conditions.read_before_write else "without reading",
    )
    faults: str | None = _of(
        "what was [done to the servers](faults.md#what-is-measured-under-a-fault) in the window; null without faults",
        read=lambda sources: _same(phase.faults.asked if phase.faults else None for phase in sources.phases),
        equal="experiments",
        by_phase=True,
        label="faults",
    )
    target: float | None = _of(
        "target rate of each client in operations/s; the mean if clients, runs or rounds differ; null without a target",
        "1/s",
        read=_target,
        equal="experiments",
        by_phase=True,
        label="target",
        text=lambda conditions: None if conditions.target is None else f"{conditions.target:,.0f} op/s per client",
    )
    measured_seconds: float | None = _of(
        "measured window of the client that took longest, mean over the repeats",
        "s",
        read=_measured,
        by_phase=True,
        over_rounds="mean",
        label="measured",
        text=_window,
        also=("warmup_seconds",),
    )
    warmup_seconds: float | None = _of(
        "warm-up before the measured window, mean over the repeats",
        "s",
        read=_warmup,
        by_phase=True,
        over_rounds="mean",
    )
    interleaved: int | None = _of(
        "systems that ran at the same time, with windows that [took turns](interleaving.md); null if only one ran",
        read=lambda sources: len({*sources.trial.turns.order}) or None,
        equal="systems",
        label="windows",
        text=lambda conditions: f"{conditions.interleaved} systems take turns" if conditions.interleaved else None,
    )
    nodes: int | None = _of("number of servers", equal="systems", label="servers")
    write_copies: int | None = _of(
        "copies that acknowledge a write",
        equal="experiments",
        label="copies",
        text=lambda conditions: (
            f"write {_or_unknown(conditions.write_copies)}, read {_or_unknown(conditions.read_copies)}"
        ),
        also=("read_copies",),
    )
    read_copies: int | None = _of("copies that answer a read", equal="experiments")
    heap: str | None = _of("heap of the server, if it is a JVM", label="heap")
    memory: str | None = _of("limit on the caches or the data of a server without a heap", label="memory")
    memory_budget: str | None = _of(
        "memory that all processes of the system may use [on each host](conditions.md#memory-and-processors), including"
        " the page cache, and whether the kernel enforces it; null without a budget",
        equal="systems",
        label="memory budget",
    )
    server_cpus: str | None = _of(
        "processors that servers were bound to, as in `0-3,8`; null for all",
        equal="systems",
        label="servers on processors",
    )
    client_cpus: str | None = _of(
        "processors that clients were bound to; null for all",
        read=lambda sources: _client_cpus([report.cpus for report in sources.reports]),
        equal="systems",
        label="clients on processors",
    )
    jdk: str | None = _of("JDK of the server, if it is a JVM", label="JDK")
    gc: str | None = _of("collector of the server, if it is a JVM", label="collector")
    usd_per_hour: float | None = _of(
        "total price of the servers' hosts, from the inventory; null if the price of a host is not known",
        "US$/h",
        read=lambda sources: _price(sources.facts),
        label="price",
        text=lambda conditions: f"${conditions.usd_per_hour:,.2f} per hour for the servers' hosts",
    )


def _named(member: Field[Any]) -> Condition:
    declared: Condition = member.metadata["condition"]
    return replace(declared, name=member.name, kind=KINDS.get(str(member.type).removesuffix(" | None"), "string"))


# All conditions by name, in the order of the tables.
CONDITIONS = {member.name: _named(member) for member in fields(Conditions)}
# Names of the conditions that the running server states.
STATED = [name for name, condition in CONDITIONS.items() if condition.read is None]
_Stated = defstruct(
    "_Stated",
    [(name, (Whole if CONDITIONS[name].kind == "integer" else records.Said) | None, None) for name in STATED],
    frozen=True,
)


def stated(content: Any, complain: Warn) -> dict[str, Any]:
    """Returns the known conditions that the servers stated, by name.

    Earlier versions called attached servers strongly consistent without knowing their replication or their write
    acknowledgements. The consistency of such servers is changed to unknown.

    :param content: content of conditions.json
    :param complain: function that is called with `field is value: why` for each value of a wrong type
    """
    decoded = structs.asdict(records.decoded(content, _Stated, complain))
    conditions = {
        name: value if CONDITIONS[name].kind == "integer" else str(value)
        for name, value in decoded.items()
        if value is not None
    }
    unsure = NOT_KNOWN in (conditions.get("replication"), conditions.get("write_acks"))
    if "attached" in conditions and "write_copies" in conditions and unsure:
        conditions["consistency"] = NOT_KNOWN
    return conditions


def read(sources: ConditionSources) -> Conditions:
    """Reads all conditions of a trial, or of one of its phases."""
    return Conditions(
        **{
            name: sources.stated.get(name) if condition.read is None else condition.read(sources)
            for name, condition in CONDITIONS.items()
        }
    )


def by_phase(of_phases: Mapping[str, Conditions]) -> dict[str, dict[str, Any]]:
    """Returns the conditions that differ between phases: phase → name → value.

    If one text shows several conditions, all of them are returned.
    """
    differing: dict[str, dict[str, Any]] = {}
    for condition in CONDITIONS.values():
        group = [name for name in condition.group if CONDITIONS[name].by_phase] if condition.label else []
        values = {phase: [getattr(conditions, name) for name in group] for phase, conditions in of_phases.items()}
        # Round to tenths: windows end with their last operation, so their lengths vary slightly.
        if len({tuple(map(_tenths, of_phase)) for of_phase in values.values()}) > 1:
            for phase, of_phase in values.items():
                differing.setdefault(phase, {}).update(zip(group, of_phase, strict=True))
    return differing


def over_rounds(rounds: Sequence[Conditions]) -> dict[str, Any]:
    """Returns the measured conditions over all rounds, by name."""
    merged: dict[str, Any] = {}
    for name, condition in CONDITIONS.items():
        values = [value for conditions in rounds if (value := getattr(conditions, name)) is not None]
        if condition.over_rounds == "most":
            merged[name] = furthest(values)
        elif condition.over_rounds == "mean":
            merged[name] = statistics.fmean(values) if values else None
    return merged


def shown(conditions: Conditions) -> Iterator[tuple[Condition, str]]:
    """Yields the known conditions that tables show, with their values as text."""
    for condition in CONDITIONS.values():
        if condition.label and any(getattr(conditions, name) is not None for name in condition.group):
            text = condition.text(conditions) if condition.text else str(getattr(conditions, condition.name))
            if text is not None:
                yield condition, text


def reference() -> str:
    """Returns the table of conditions for docs/summary-json.md."""
    heads = ("key", "type", "unit", "must be equal between", "meaning")
    return table(heads, ((f"`{condition.name}`", condition.kind, condition.unit, condition.equal or "", condition.about)
                         for condition in CONDITIONS.values()))  # fmt: skip


if __name__ == "__main__":
    print(reference(), end="")
