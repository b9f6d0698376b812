"""Reads one run of a trial's phase, or the trial's load: what all clients did, and whether it counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dohyo.evidence import accounting, client_folder, events, fault_costs, levels, records
from dohyo.evidence.client_folder import ClientFolder
from dohyo.evidence.conductor_records import Conducted
from dohyo.evidence.events import Event, Timeline, collapses, when
from dohyo.evidence.fault_costs import FaultedRun
from dohyo.evidence.hdr_log import Latencies, is_known
from dohyo.evidence.healing import HealingLogs
from dohyo.evidence.host_metrics import HostMetrics
from dohyo.evidence.levels import LevelChange
from dohyo.evidence.load_curve import LoadCurve
from dohyo.evidence.result_lines import OK
from dohyo.evidence.rows import Run, together
from dohyo.evidence.servers import Servers, Window
from dohyo.evidence.text_file import Warn
from dohyo.scenario.phases import LOAD
from dohyo.summary import level_changes
from dohyo.summary.level_changes import in_words

# Largest delay of a client's start after the agreed instant, in ms. A later client did not load the system together
# with the others; a single client missed part of its own window. If the limit for the distance between clients'
# starts (client_skew_limit_ms) is larger, it replaces this one.
LATE_MS = 50.0

# Fields of client.json that must be equal for all clients of a run. A target rate may be divided unevenly.
SAME_FOR_ALL = (
    "binding", "threads", "batchsize", "inflight", "tablecount", "readbeforewrite", "retries", "arrival", "loop",
)  # fmt: skip

# Exit code of a client whose database failed, with too many errors or without a success for too long.
_DATABASE_FAILED = 5

# File with the faults of a run.
FAULTS = "faults.json"

# File in each run of a repeat that others disturbed.
SET_ASIDE = "disturbed.json"

# Part of a trial whose results are summed separately: the name of a phase, and True for its discarded runs.
Part = tuple[str, bool]


class Phase:
    """One run of a trial's phase, or the trial's load, over all clients.

    :ivar cpus: number of processors for each host on which it is known; only for runs that count and probes
    :ivar strong: whether the servers promise that a read sees the last acknowledged write; only for measured runs
    """

    def __init__(self, folder: Path, trial: records.TrialSettings, warn: Warn, most_slots: int) -> None:
        """:param most_slots: maximum number of time slots with latencies"""
        self.folder = folder
        self.name = folder.name  # load, run-1, update-2, …
        self.kind, _, run = (LOAD, "", "") if self.name == LOAD else self.name.rpartition("-")
        self.number = int(run) if run else None
        set_aside = folder / SET_ASIDE
        # Why the run was set aside and measured again; None if it was not.
        self.set_aside = records.read(set_aside, records.SetAside, warn).why if set_aside.exists() else None
        self.discarded = self.number is not None and (self.number <= trial.discard or self.set_aside is not None)
        self.settings = trial.phase(self.kind)
        self.part: Part = (self.kind, self.discarded)
        self.conducted = records.read(folder / "clients.json", Conducted, warn)
        has_faults = (folder / FAULTS).exists()
        self.faults = records.read(folder / FAULTS, records.Faults, warn) if has_faults else None
        self.clients: list[ClientFolder] = []
        self.missing: list[str] = []  # hosts whose client left no results
        self.latencies: dict[str, Latencies] = {}  # operation type → latencies of all clients
        self.timeline = Timeline(load=self.kind == LOAD, faults=has_faults, most_slots=most_slots)
        self.cpus: Mapping[str, int] = {}
        self.strong = False

    def hosts(self) -> set[str]:
        """Returns the hosts that have results or should have them."""
        return {path.name for path in self.folder.iterdir() if path.is_dir()} | set(self.conducted.clients)

    def read(self, host: str, warn: Warn) -> dict[str, Latencies]:
        """Reads the results of the client on a host, and returns its latencies."""
        latencies: dict[str, Latencies] = {}
        if not (self.folder / host).is_dir():
            self.missing.append(host)
            return latencies

        client = client_folder.read(self.folder / host, latencies, partial(self.timeline.add, host), warn)
        client.run.percentiles_ms = _percentiles_ms(latencies, client.run)
        client.histograms = {name: merged.encoded() for name, merged in latencies.items()}
        self.clients.append(client)
        add_all(self.latencies, latencies)
        return latencies

    def add(self, other: Phase) -> None:
        """Adds the results of other hosts, which another object read for this run."""
        self.clients += other.clients
        self.missing += other.missing
        add_all(self.latencies, other.latencies)
        self.timeline.merge(other.timeline)

    @cached_property
    def run(self) -> Run:
        """Returns the sum over all clients, with the processor time that the servers used."""
        run = together([client.run for client in self.clients])
        return replace(
            run,
            server_cpu_seconds=self.conducted.server_cpu_seconds(),
            percentiles_ms=_percentiles_ms(self.latencies, run),
        )

    @property
    def shortest(self) -> float | None:
        """Returns the shortest measured window of any client, in seconds; None if unknown."""
        return min((client.run.seconds for client in self.clients if client.run.seconds is not None), default=None)

    @property
    def client_count(self) -> int:
        """Returns the number of clients, including those that left no results."""
        return len(self.clients) + len(self.missing)

    @property
    def apart_ms(self) -> float:
        """Returns the allowed difference between the clients' starts, in ms."""
        return max(LATE_MS, self.conducted.limit_ms or 0.0)

    @property
    def agreed_warmup(self) -> float | None:
        """Returns the duration of the warm-up on which the clients agreed, in seconds; None if unknown."""
        warmups = (client.report.warmup_seconds for client in self.clients)
        return next((seconds for seconds in (self.conducted.warmup_seconds, *warmups) if seconds is not None), None)

    @property
    def spare_ms(self) -> float:
        """Returns how many milliseconds late a client may begin without changing a figure.

        A single client need not wait for others: it may begin at any time before its window. If its window begins with
        its first operation, it may begin one sample of the hosts (a second) later.
        """
        if self.client_count > 1:
            return 0.0
        return (self.agreed_warmup or 0.0) * 1000 + (0.0 if self.is_timed else 1000.0)

    @property
    def requested(self) -> dict[str, Any]:
        """Returns the work that trial.json requests from each client: field of client.json → value."""
        settings = self.settings
        if settings.properties is None:
            return {}
        clients = self.client_count if settings.workload.threads_of == "all" else 1
        stated = {name: getattr(settings.workload, name, None) for name in SAME_FOR_ALL}
        stated["threads"] = None if settings.threads is None else max(1, settings.threads // clients)
        return {name: value for name, value in stated.items() if value is not None}

    @property
    def curve(self) -> LoadCurve | None:
        """Returns the number of inserted rows over time; None except for a load."""
        return self.timeline.inserted.curve(self.run.records, self.run.seconds)

    @property
    def throughput(self) -> list[int]:
        """Returns the number of operations without error in each second, summed over all clients."""
        return self.timeline.seconds.throughput(self.shortest)

    @property
    def successes(self) -> list[int]:
        """Returns the number of successful operations in each second; with faults, only until clients stop sending."""
        end = self.shortest if self.faults is None else fault_costs.in_window(self.faults, self.shortest)
        return self.timeline.seconds.successes(end)

    @property
    def under_fault(self) -> FaultedRun | None:
        """Returns the costs of the faults; None if the run had no faults."""
        if self.faults is None:
            return None
        successes = self.successes
        return FaultedRun(
            phase=self.kind,
            run=self.number,
            asked=self.faults.asked,
            before_ops_per_second=fault_costs.rate_before(self.faults, successes),
            faults=fault_costs.costs(self.faults, successes, list(self.timeline.waited.slots())),
            errors={status: count for status, count in sorted(self.run.returns.items()) if status not in OK and count},
            accounting=accounting.of_all(client.report.accounting for client in self.clients),
            ready_seconds=self.faults.whole,
        )

    def healed(self, logs: HealingLogs) -> FaultedRun | None:
        """Returns the costs of the faults, including the servers' healing if their logs show it."""
        faulted = self.under_fault
        if faulted is None or self.faults is None or self.faults.window_began is None:
            return faulted
        accounts = (client.report.accounting for client in self.clients)
        read_back = max((account.read_back_seconds or 0.0 for account in accounts if account), default=0.0)
        end = max(float(len(self.successes)), faulted.ready_seconds or 0.0) + read_back
        offsets = self.conducted.offsets_ms()
        return replace(faulted, faults=fault_costs.healed(faulted.faults, logs, self.faults.window_began, offsets, end))

    @property
    def problems(self) -> list[str]:
        """Returns the reasons why the run is invalid, except those that depend on the scenario's limits."""
        if self.conducted.failure:
            return [f"{self.name}: {self.conducted.failure}"]  # this causes the clients' own failures
        reasons = []
        for client in self.clients:
            # If a client left no results, prefer the conductor's reason to the one in the client's folder.
            reason = self.conducted.reason(client.host) if not client.report else ""
            problems = [reason] if reason else _problems(client, self.timeline)
            reasons += [f"{self.name} on {client.host}: {problem}" for problem in problems]
        if not self.clients:
            return [*reasons, f"{self.name}: no client left results"]
        return reasons + [
            f"{self.name} on {host}: {self.conducted.reason(host) or 'the client left no files'}"
            for host in self.missing
        ]

    @property
    def warmup(self) -> float:
        """Returns the time from the clients' agreed start to the measured window, in seconds."""
        reported = (client.report.warmup_seconds for client in self.clients)
        first = next((seconds for seconds in reported if seconds is not None), None)
        return first if first is not None else self.settings.warmup or 0.0

    @property
    def is_timed(self) -> bool:
        """Returns whether the window ends after a time instead of a number of operations; True if that is unknown."""
        return self.kind != LOAD and self.settings.duration != 0

    @property
    def system_failed(self) -> bool:
        """Returns whether numbers are missing because the system failed under load."""
        ended = self.faults is None and any(facts.state == "ended" for facts in self.conducted.nodes.values())
        return ended or any(client.report.exit == _DATABASE_FAILED for client in self.clients)

    def collapses(self) -> list[str]:
        """Returns the long periods of low throughput, as text; empty for a run with faults."""
        if self.faults is not None:
            return []
        which = self.name.replace("-", " ")
        return [f"{which}, {when}" for when in collapses(self.throughput, self.warmup)]

    def level_changes(self) -> list[str]:
        """Returns when and how the throughput changed its level."""
        which = self.name.replace("-", " ")
        return [f"{which}, second {self.warmup + change.second:.0f} ({in_words(change)})" for change in self._levels]

    def level_events(self, servers: Servers, hosts: HostMetrics) -> list[Event]:
        """Returns the changes of level, each with other changes at that time; empty if the window's time is unknown."""
        return [
            event
            for window in self.window
            for event in level_changes.events(self._levels, window, servers.spans(), hosts)
        ]

    @cached_property
    def _levels(self) -> list[LevelChange]:
        return levels.changes(self.throughput) if self.faults is None else []

    @property
    def window(self) -> list[Window]:
        """Returns the measured window in a list; empty if it is unknown."""
        agreed, seconds = self.conducted.agreed, self.run.seconds
        if agreed is None or not seconds:
            return []
        begin = agreed + self.warmup
        offsets = self.conducted.offsets_ms()
        return [Window(self.kind, self.number, agreed, begin, begin + seconds, offsets, self.ill)]

    @property
    def ill(self) -> frozenset[str]:
        """Returns the hosts on which a fault was injected in the run."""
        events = self.faults.events if self.faults else []
        return frozenset(host for event in events if fault_costs.hurts(event) for host in event.hosts)

    @property
    def restarted(self) -> frozenset[str]:
        """Returns the hosts whose servers were restarted in the run or at its end."""
        events = [*self.faults.events, *self.faults.undone] if self.faults else []
        return frozenset(host for event in events if event.kind == "start" for host in event.hosts)

    def events(self, of_servers: Sequence[Event], *, measured: bool) -> list[Event]:
        """Returns the run's events. Short dips of an unmeasured load are left out: it may wait for compactions."""
        result = [*self.conducted.events(self.kind, self.number), *of_servers]
        shortest = events.DIP_SECONDS if measured else events.COLLAPSE_SECONDS
        result += self.timeline.seconds.events(self.number, self.warmup, self.shortest, self.kind, shortest)
        return events.in_order(result)


def _problems(client: ClientFolder, timeline: Timeline) -> list[str]:
    """Returns a client's problems. If it had too many errors, each problem says when they occurred."""
    times = when(timeline.seconds.errors(), client.report.warmup_seconds or 0.0)
    if client.report.valid is False and client.report.failed_operations and times:
        return [f"{problem}; failed operations {times}" for problem in client.problems]
    return client.problems


def add_all(into: dict[str, Latencies], latencies: Mapping[str, Latencies]) -> None:
    """Adds the histograms of `latencies` to those of the same operation types in `into`."""
    for name, merged in latencies.items():
        into.setdefault(name, Latencies()).add_all(merged)


def _percentiles_ms(latencies: Mapping[str, Latencies], run: Run) -> dict[str, dict[str, float]]:
    """Returns percentiles by name and operation type; only from histograms that are complete and large enough."""
    counts = {name: operation.operations for name, operation in run.by_operation.items()}
    whole = {name: merged for name, merged in latencies.items() if merged.count == counts.get(name)}
    return {
        f"p{percentile}_ms": {
            name: merged.percentiles_ms([percentile])[percentile]
            for name, merged in whole.items()
            if is_known(percentile, merged.count)
        }
        for percentile in (50, 99)
    }


def place(part: Part) -> tuple[bool, bool]:
    """Returns a sort key that puts the phases first, then their discarded runs, then the load."""
    kind, discarded = part
    return kind == LOAD, discarded


def parts_of(phases: Sequence[Phase]) -> list[Part]:
    """Returns the parts whose results are summed separately, in the order of a summary."""
    return sorted(dict.fromkeys(phase.part for phase in phases), key=place)
