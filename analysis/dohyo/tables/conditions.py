"""The conditions as text: those that are equal for all systems in one line, the rest side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from dohyo.evidence.accounting import Accounting, together
from dohyo.evidence.host_metrics import NOTED
from dohyo.figures import UNKNOWN, scaled
from dohyo.summary.results import Conditions, Trial


@dataclass(frozen=True)
class Condition:
    """One condition of one system, in words.

    :ivar fields: the fields of ``Conditions`` that it shows
    """

    label: str
    value: str
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.label} {self.value}"


# More values than this, over the points of a matrix, are shown by the first and the last of them.
_MOST_VALUES = 3


def readable(trials: Sequence[Trial]) -> list[Condition]:
    """The known conditions of a system, in the order in which they are shown.

    :param trials: the system at each point of the matrix
    """
    found: dict[str, list[Condition]] = {}
    # A sum: of many points only the first and the last value are shown, and a loss at another one would not be seen.
    accounts = together(trial.accounting for trial in trials)
    for trial in trials:
        for condition in _of_trial(trial, accounts):
            found.setdefault(condition.label, []).append(condition)
    return [Condition(label, _values(each), each[0].fields) for label, each in found.items()]


def _values(conditions: Sequence[Condition]) -> str:
    values = list(dict.fromkeys(condition.value for condition in conditions))
    return " / ".join(values) if len(values) <= _MOST_VALUES else f"{values[0]} … {values[-1]}"


def _of_trial(trial: Trial, accounts: Accounting | None) -> list[Condition]:
    system = Condition("system", " ".join(filter(None, (trial.title, trial.conditions.version))))
    accounted = [Condition("accounting", str(accounts), ("accounting",))] if accounts else []
    return [system, *accounted, *_known(trial.conditions), *_phases(trial)]


def _known(of: Conditions) -> Iterator[Condition]:
    return (piece for piece in _all(of) if any(getattr(of, name) is not None for name in piece.fields))


def _phases(trial: Trial) -> Iterator[Condition]:
    """What differs from phase to phase."""
    nothing = replace(trial.conditions, **dict.fromkeys(each.name for each in fields(trial.conditions)))
    for phase, differing in trial.by_phase.items():
        of = replace(nothing, **differing, clients=trial.conditions.clients if "threads" in differing else None)
        yield Condition(f"phase {phase}", ", ".join(map(str, _known(of))), tuple(differing))


def _all(of: Conditions) -> Iterator[Condition]:
    yield Condition("attached", f"{of.attached}", ("attached",))
    yield Condition("replication", f"{of.replication}", ("replication",))
    yield Condition("acks", f"write {of.write_acks or '?'}, read {of.read_acks or '?'}", ("write_acks", "read_acks"))
    yield Condition("consistency", f"{of.consistency}{_overlap(of)}", ("consistency",))
    yield Condition("durability", f"{of.durability}", ("durability",))
    yield Condition("compression", f"{of.compression}", ("compression",))
    yield Condition("profile", f"{of.profile}", ("profile",))
    yield Condition("tuned", f"{of.tuned}", ("tuned",))
    yield Condition("settings", f"{of.settings}", ("settings",))
    yield Condition("disks", f"{of.disks}", ("disks",))
    threads = f" \N{MULTIPLICATION SIGN} {_number(of.threads, 'thread')}" if of.threads else ""
    yield Condition("load", f"{_number(of.clients, 'client')}{threads}", ("clients", "threads"))
    if (of.clients or 0) > 1 and of.start_skew_ms is not None:
        yield Condition("skew", _skew(of), ("start_skew_ms", "end_skew_ms", "clock_error_ms"))
    yield Condition("clients on", f"{of.client_hosts}", ("client_hosts",))
    yield Condition("others", _taken(of), ("other_cpu", "stolen_cpu"))
    if of.scale is not None:
        yield Condition("size", scaled(of.scale, of.full_recordcount), ("scale", "full_recordcount"))
    yield Condition("batch", f"{of.batchsize}", ("batchsize",))
    yield Condition("in flight", f"{of.inflight}", ("inflight",))
    yield Condition("retries", f"{of.retries}", ("retries",))
    yield Condition("transport", _transport(of), ("connections", "event_loops", "loop"))
    if of.read_before_write is not None:
        yield Condition(
            "updates", "read before write" if of.read_before_write else "without reading", ("read_before_write",)
        )
    yield Condition("faults", f"{of.faults}", ("faults",))
    if of.target is not None:
        yield Condition("target", f"{of.target:,.0f} op/s per client", ("target",))
    if of.measured_seconds is not None:
        warmup = f" after {of.warmup_seconds:.0f} s" if of.warmup_seconds else ""
        yield Condition("measured", f"{of.measured_seconds:,.1f} s{warmup}", ("measured_seconds",))
    yield Condition("servers", f"{of.nodes}", ("nodes",))
    copies = f"write {_shown(of.write_copies)}, read {_shown(of.read_copies)}"
    yield Condition("copies", copies, ("write_copies", "read_copies"))
    yield Condition("heap", f"{of.heap}", ("heap",))
    yield Condition("memory", f"{of.memory}", ("memory",))
    yield Condition("memory budget", f"{of.memory_budget}", ("memory_budget",))
    yield Condition("servers on processors", f"{of.server_cpus}", ("server_cpus",))
    yield Condition("clients on processors", f"{of.client_cpus}", ("client_cpus",))
    yield Condition("JDK", f"{of.jdk}", ("jdk",))
    yield Condition("collector", f"{of.gc}", ("gc",))
    if of.usd_per_hour is not None:
        yield Condition("price", f"${of.usd_per_hour:,.2f} per hour for the servers' hosts", ("usd_per_hour",))


def _number(count: int | None, what: str) -> str:
    return f"{count or '?'} {what}{'' if count == 1 else 's'}"


def _shown(count: int | None) -> str:
    return "?" if count is None else f"{count}"


def _transport(of: Conditions) -> str:
    """How each client is connected."""
    carried = f" on {_number(of.event_loops, 'event loop')}" if of.event_loops else " on the client's own threads"
    loop = f", client.loop={of.loop}" if of.loop else ""
    return f"{_number(of.connections, 'connection')} per client{'' if of.event_loops is None else carried}{loop}"


def _skew(of: Conditions) -> str:
    """How far apart the clients began and ended; the worst of the repeats."""
    parts = (("start", of.start_skew_ms), ("end", of.end_skew_ms), ("clocks \N{PLUS-MINUS SIGN}", of.clock_error_ms))
    return ", ".join(f"{name} {value:.1f} ms" for name, value in parts if value is not None)


def _taken(of: Conditions) -> str:
    """The processor time that somebody else took; amounts too small to matter count as equal."""
    parts = (("other processes", of.other_cpu), ("hypervisor", of.stolen_cpu))
    said = [
        f"{who} {'below' if share < NOTED else 'up to'} {max(share, NOTED):.0%}"
        for who, share in parts
        if share is not None
    ]
    return f"{', '.join(said)} of a host's processors"


def _overlap(of: Conditions) -> str:
    """NW + NR > RF with its figures, where they are what decides, and not that all ask one primary."""
    if of.write_copies is None or of.read_copies is None or not (of.replication or "").isdecimal():
        return ""
    overlap = of.write_copies + of.read_copies > int(of.replication or 0)
    if of.consistency != ("strong" if overlap else "eventual"):
        return ""
    sign = ">" if of.consistency == "strong" else "\N{LESS-THAN OR EQUAL TO}"
    return f" ({of.write_copies} + {of.read_copies} {sign} {of.replication})"


def common(systems: Sequence[Sequence[Trial]]) -> list[Condition]:
    """The conditions that are the same for all systems, each with its trials."""
    first, *others = map(readable, systems)
    return [condition for condition in first if all(condition in other for other in others)]


def different(systems: Sequence[Sequence[Trial]]) -> list[list[Condition]]:
    """Those that differ: a list per condition, with one entry per system."""
    same = common(systems)
    rows: dict[str, list[Condition]] = {}
    for position, trials in enumerate(systems):
        for condition in readable(trials):
            if condition not in same:
                unknown = Condition(condition.label, UNKNOWN, condition.fields)
                rows.setdefault(condition.label, [unknown] * len(systems))[position] = condition
    return list(rows.values())
