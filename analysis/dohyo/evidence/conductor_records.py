"""Reads the conductor's record of a run (`clients.json`), and summarises several runs for each client and each node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET, Struct, UnsetType, field, structs

from dohyo.evidence.events import Event
from dohyo.evidence.json_values import Number
from dohyo.evidence.rows import Run
from dohyo.metrics import Row
from dohyo.statistics import total


class Client(Struct, frozen=True):
    """One client in a run, or a summary of all repeats. Each time in a summary is the one furthest from 0."""

    host: str = ""
    state: str | None = None  # ended, failed, vanished or stopped; in a summary, the first state that is not "ended"
    reason: str | None = None
    start_ms: Number | None = None  # time from the agreed instant to the client's start
    end_ms: Number | None = None  # time from the earliest end of any client to this client's end
    offset_ms: Number | None = None  # clock of the client's host minus the controller's clock
    offset_error_ms: Number | None = None
    rows: list[Row] = []  # results from the client's own logs


class Node(Struct, frozen=True):
    """The servers on one host in a run, or a summary of all repeats."""

    host: str = ""
    state: str | None = None  # ran, ended or vanished; in a summary, the first state that is not "ran"
    reason: str | None = None
    cpu_seconds: Number | None = None  # user and system time in the measured windows
    cpu_cores: float | None = None  # CPU seconds per measured second
    cpu_us_per_record: float | None = None  # CPU time of this node, divided by the records of the whole cluster
    memory_mb: Number | None = None  # resident memory; the largest of all repeats
    offset_ms: Number | UnsetType | None = UNSET  # host's clock minus the controller's; unset in a summary


class Conducted(Struct, frozen=True, rename={"limit_ms": "offset_limit_ms", "why_not": "failure"}):
    """The content of `clients.json` of one run; defaults if the file is missing."""

    clients: dict[str, Client] = {}
    nodes: dict[str, Node] = {}
    # Agreed instant at which all clients begin, in seconds since 1970 on the controller's clock.
    agreed: Number | None = None
    start_skew_ms: Number | None = None
    end_skew_ms: Number | None = None
    # Whether all clients had a steady rate and idle JIT compilers when the window began; None if this was not requested
    # or is not known.
    warmup_steady: bool | None = None
    warmup_seconds: Number | None = None  # seconds from the agreed instant to the window
    limit_ms: Number | None = None  # largest difference allowed between the clients' starts
    valid: bool = True
    why_not: str = ""
    seen: list[Event] = field(default_factory=list, name="events")

    @property
    def failure(self) -> str:
        """Returns why the run does not count, or an empty string if it does."""
        return "" if self.valid else self.why_not or "its clients did not run together"

    def reason(self, host: str) -> str:
        """Returns why a client left no results, or an empty string if the reason is not known."""
        facts = self.clients.get(host, Client())
        return facts.reason or ("" if facts.state in (None, "", "ended") else f"its client has {facts.state}")

    def offset_error_ms(self) -> float | None:
        """Returns the largest error of the clients' clock offsets, or None if no error is known."""
        return furthest(facts.offset_error_ms for facts in self.clients.values())

    def offsets_ms(self) -> dict[str, float]:
        """Returns the offset from the controller's clock for each host where it is known."""
        hosts: dict[str, Node | Client] = {**self.nodes, **self.clients}
        return {host: facts.offset_ms for host, facts in hosts.items() if isinstance(facts.offset_ms, float)}

    def clock_error_ms(self, host: str) -> float | None:
        """Returns the error of the clock offset on a client's host, or None for other hosts."""
        return self.clients[host].offset_error_ms if host in self.clients else None

    def server_cpu_seconds(self) -> float | None:
        """Returns the processor time of all servers in the measured window; None if that of a server is not known."""
        # A host without servers ran, and has neither a time nor memory.
        servers = [
            facts
            for facts in self.nodes.values()
            if (facts.state, facts.cpu_seconds, facts.memory_mb) != ("ran", None, None)
        ]
        return total([facts.cpu_seconds for facts in servers])

    def events(self, phase: str, run: int | None) -> list[Event]:
        """Returns the events that the conductor observed on the hosts; `run` is None for the load."""
        return [
            structs.replace(event, run=run, until=None, host=event.host or None, phase=phase) for event in self.seen
        ]


def client(host: str, phases: Sequence[Conducted], rows: list[Row]) -> Client:
    """Summarises one client over the given runs."""
    facts = [phase.clients[host] for phase in phases if host in phase.clients]
    state, reason = _state(facts, "ended")
    names = ("start_ms", "end_ms", "offset_ms", "offset_error_ms")
    times = {name: furthest(getattr(record, name) for record in facts) for name in names}
    return Client(host, state, reason, **times, rows=rows)


def nodes(phases: Sequence[Conducted], runs: Sequence[Run]) -> list[Node]:
    """Summarises each node over several runs: `phases` are the conductor's records, `runs` the clients' results."""
    seconds, records = total([run.seconds for run in runs]), total([run.records for run in runs])
    result = []
    for host in sorted({host for phase in phases for host in phase.nodes}):
        facts = [phase.nodes.get(host, Node()) for phase in phases]
        state, reason = _state(facts, "ran")
        cpu = total([node.cpu_seconds for node in facts])
        cores = cpu / seconds if cpu is not None and seconds else None
        us_per_record = cpu / records * 1e6 if cpu is not None and records else None
        memory_mb = furthest(node.memory_mb for node in facts)
        result.append(Node(host, state, reason, cpu, cores, us_per_record, memory_mb))
    return result


def furthest(values: Iterable[float | None]) -> float | None:
    """Returns the value that is furthest from 0, or None if no value is known."""
    return max((value for value in values if value is not None), key=abs, default=None)


def _state(facts: Sequence[Client | Node], good: str) -> tuple[str | None, str | None]:
    states = [(record.state, record.reason) for record in facts if record.state is not None]
    state, reason = next((pair for pair in states if pair[0] != good), (good, "")) if states else (None, "")
    return state, reason or None
