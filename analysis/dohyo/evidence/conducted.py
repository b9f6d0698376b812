"""What conducting the clients of a phase saw (`clients.json`), and what it comes to for each client and each node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dohyo.evidence.events import Event
from dohyo.evidence.json_values import listing, mapping, number, text
from dohyo.metrics import Row


@dataclass(frozen=True)
class Client:
    """One client over all repeats. Times are those of the repeat in which they were furthest from 0."""

    host: str
    state: str | None = None  # ended, failed, vanished or stopped: the first that is not "ended"
    reason: str | None = None
    start_ms: float | None = None  # from the agreed instant to its real start
    end_ms: float | None = None  # from the earliest end of any client to its own
    offset_ms: float | None = None  # its clock against the controller's
    offset_error_ms: float | None = None
    rows: list[Row] = field(default_factory=list)  # from its own logs


@dataclass(frozen=True)
class Node:
    """The servers on one host, over all repeats."""

    host: str
    state: str | None = None  # ran, ended or vanished: the first that is not "ran"
    reason: str | None = None
    cpu_seconds: float | None = None  # user and system, in the measured windows
    cpu_cores: float | None = None  # CPU seconds per measured second
    cpu_us_per_record: float | None = None  # of this node, per record of the whole cluster
    memory_mb: float | None = None  # resident; the most of any repeat


class Conducted:
    """The `clients.json` of one phase; an empty one where there is none."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.clients = {host: mapping(facts) for host, facts in mapping(content.get("clients")).items()}
        self.nodes = {host: mapping(facts) for host, facts in mapping(content.get("nodes")).items()}
        # The instant at which all began, in seconds since 1970 on the controller's clock.
        self.agreed = number(content.get("agreed"))
        self.start_skew_ms = number(content.get("start_skew_ms"))
        self.end_skew_ms = number(content.get("end_skew_ms"))
        # Whether the rate of all clients was steady, and the JIT compilers at rest, when the window began; None where
        # nobody asked, or could tell.
        self.warmup_steady = steady if isinstance(steady := content.get("warmup_steady"), bool) else None
        # From the agreed instant to the window.
        self.warmup_seconds = number(content.get("warmup_seconds"))
        # How far apart they were allowed to begin.
        self.limit_ms = number(content.get("offset_limit_ms"))
        self._events = [mapping(event) for event in listing(content.get("events"))]
        self.failure = ""  # why the run does not count
        if content.get("valid") is False:
            self.failure = text(content.get("failure")) or "its clients did not run together"

    def reason(self, host: str) -> str:
        """What became of a client that has left nothing; empty where that is not known."""
        facts = self.clients.get(host, {})
        state = text(facts.get("state"))
        return text(facts.get("reason")) or ("" if state in ("", "ended") else f"its client has {state}")

    def offset_error_ms(self) -> float | None:
        """How exactly the clocks are known: the worst of them."""
        return _furthest(self.clients.values(), "offset_error_ms")

    def offsets_ms(self) -> dict[str, float]:
        """The clock of each host against the controller's, where it is known."""
        return _known(self.nodes | self.clients, "offset_ms")

    def errors_ms(self) -> dict[str, float]:
        """How exactly that is known of each client's host."""
        return _known(self.clients, "offset_error_ms")

    def server_cpu_seconds(self) -> float | None:
        """Processor time of all servers in the measured window; hosts without servers have none."""
        known = [number(facts.get("cpu_seconds")) for facts in self.nodes.values()]
        stated = [seconds for seconds in known if seconds is not None]
        return sum(stated) if stated else None

    def events(self, phase: str, run: int | None) -> list[Event]:
        """What was seen of the hosts."""
        return [
            Event(run, number(event.get("at")), None, text(event.get("what")), text(event.get("host")) or None, phase)
            for event in self._events
        ]


def client(host: str, phases: Sequence[Conducted], rows: list[Row]) -> Client:
    """One client over all phases given."""
    facts = [phase.clients[host] for phase in phases if host in phase.clients]
    state, reason = _state(facts, "ended")
    return Client(
        host=host,
        state=state,
        reason=reason,
        start_ms=_furthest(facts, "start_ms"),
        end_ms=_furthest(facts, "end_ms"),
        offset_ms=_furthest(facts, "offset_ms"),
        offset_error_ms=_furthest(facts, "offset_error_ms"),
        rows=rows,
    )


def nodes(phases: Sequence[Conducted], seconds: float | None, records: int | None) -> list[Node]:
    """All nodes over all phases given, which measured `records` in `seconds`."""
    result = []
    for host in sorted({host for phase in phases for host in phase.nodes}):
        facts = [phase.nodes.get(host, {}) for phase in phases]
        state, reason = _state(facts, "ran")
        known = [cpu for cpu in (number(each.get("cpu_seconds")) for each in facts) if cpu is not None]
        cpu = sum(known) if len(known) == len(phases) else None
        result.append(
            Node(
                host=host,
                state=state,
                reason=reason,
                cpu_seconds=cpu,
                cpu_cores=cpu / seconds if cpu is not None and seconds else None,
                cpu_us_per_record=cpu / records * 1e6 if cpu is not None and records else None,
                memory_mb=_furthest(facts, "memory_mb"),
            )
        )
    return result


def furthest(values: Iterable[float | None]) -> float | None:
    """The value that is furthest from 0; None where none is known."""
    return max((value for value in values if value is not None), key=abs, default=None)


def _known(hosts: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, float]:
    values = {host: number(facts.get(key)) for host, facts in hosts.items()}
    return {host: value for host, value in values.items() if value is not None}


def _furthest(facts: Iterable[Mapping[str, Any]], key: str) -> float | None:
    return furthest(number(each.get(key)) for each in facts)


def _state(facts: Sequence[Mapping[str, Any]], good: str) -> tuple[str | None, str | None]:
    states = [(text(each.get("state")), text(each.get("reason"))) for each in facts if each.get("state") is not None]
    state, reason = next((pair for pair in states if pair[0] != good), (good, "")) if states else (None, "")
    return state, reason or None
