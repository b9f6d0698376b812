"""Reads the servers' own evidence in a trial: pauses of JVMs, compactions and flushes in each run, and statistics.

The folder `server/HOST` of the trial contains `gc*.log*` of each JVM, the servers' own logs (see `server_log`), and
statistics. Statistics are stored in `stats/load` when the servers have settled after the load, and in `stats/PHASE-RUN`
after each run. If the servers settled before a run, `stats/PHASE-RUN-before` contains the statistics from that time.
Older trials contain only the statistics from their end, directly in `server/HOST`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from dohyo import statistics
from dohyo.evidence import gc_log, server_log
from dohyo.evidence.events import Event
from dohyo.evidence.gc_log import Pause
from dohyo.evidence.server_figures import Values, figures_of, pairs
from dohyo.evidence.server_log import LOG, PLURALS, Lines, ServerLog
from dohyo.evidence.text_file import Warn
from dohyo.figures import named

_Key = tuple[str, int | None]  # phase and number of a run; the number of the load is None
_ENOUGH_FOR_P99 = 100  # with fewer pauses, the p99 would be the longest pause
# Maximum number of pauses, and of hosts, that a text names.
_MOST_PAUSES_TOLD = 5
_MOST_HOSTS_TOLD = 5

GC_PAUSE = "GC pause"
# Plurals of the kinds of background work, in the order in which they are shown.
DOING = {GC_PAUSE: "GC pauses", **PLURALS}


@dataclass(frozen=True)
class Window:
    """The measured window of a run, in seconds since 1970 on the controller's clock."""

    phase: str  # name of the run's phase
    run: int | None  # number of the run; None for a load that is measured
    agreed: float  # agreed instant at which the clients begin, before the warm-up
    begin: float
    end: float
    # Offset of each host's clock from the controller's clock; 0 for hosts that are missing.
    offsets_ms: Mapping[str, float]
    # Hosts with a fault in the run; gaps in their logs are expected and cause no warning.
    ill: frozenset[str] = frozenset()

    @property
    def key(self) -> _Key:
        """Returns the phase and the run, which identify the window within its trial."""
        return (self.phase, self.run)

    def __str__(self) -> str:
        return self.phase if self.run is None else f"{self.phase} {self.run}"

    def on_host(self, host: str) -> tuple[float, float, float]:
        """Returns the window's start and end, and the agreed instant, as times on a host's clock."""
        offset = self.offsets_ms.get(host, 0.0) / 1000
        return self.begin + offset, self.end + offset, self.agreed + offset


@dataclass(frozen=True)
class Pauses:
    """Pauses of one JVM, or of all JVMs of the same kind, that overlap the measured window of a run."""

    process: str | None  # name of the JVM if a host has several, such as "datanode"; None for the server itself
    phase: str
    run: int | None
    count: int
    total_ms: float
    longest_ms: float | None
    longest_at: float | None  # start of the longest pause, in seconds after the agreed instant
    p99_ms: float | None
    share: float  # share of the window that the pauses took, on average over the JVMs


@dataclass(frozen=True)
class Background:
    """The compactions or the flushes, on one host or on all hosts, that overlap the measured window of a run."""

    kind: str
    phase: str
    run: int | None
    count: int
    total_seconds: float  # sum of their durations within the window
    longest_seconds: float | None
    longest_at: float | None  # start of the longest one, in seconds after the agreed instant
    bytes: float | None  # number of bytes written; None unless the logs report it for each compaction or flush
    share: float  # share of the window in which at least one was in progress, on average over the hosts


class Span(NamedTuple):
    """A server's background work in a run. Times are seconds after the agreed instant; `kind` is a key of `DOING`."""

    phase: str
    run: int | None
    host: str
    process: str | None
    kind: str
    begin: float
    end: float
    bytes: float | None


@dataclass(frozen=True)
class Step:
    """The load, a run or a probe, after which statistics are stored."""

    name: str  # name of the folder with the statistics
    phase: str
    counts: bool  # whether the step contributes to the figures of its phase
    # Hosts whose servers were restarted in the step, so that their counters began at 0 again.
    restarted: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PhaseFigures:
    """The figures of a phase: means over the runs that count. For a counter, the growth in a run is used."""

    phase: str
    runs: int  # number of runs in the mean
    figures: dict[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Server:
    """The servers on one host, or on all hosts together (`host` is None). A figure that is not known is None."""

    host: str | None
    # Values at the end of the trial; counters count from the start of the servers.
    figures: dict[str, float | None] = field(default_factory=dict)
    phases: list[PhaseFigures] = field(default_factory=list)
    pauses: list[Pauses] = field(default_factory=list)
    # Compactions and flushes; kinds and runs that are missing are unknown.
    background: list[Background] = field(default_factory=list)


class Servers:
    """The evidence of one trial's servers."""

    def __init__(self, folder: Path, windows: Sequence[Window], steps: Sequence[Step], warn: Warn) -> None:
        """Reads the evidence. Missing or broken files cause at most a warning.

        :param folder: folder `server` of the trial
        :param steps: steps in chronological order, the load first
        """
        self._figures = {figure.name: figure for figure in figures_of(folder, warn)}
        self._lines = server_log.lines_of(folder / LOG, warn)
        self._windows = windows
        self._steps = steps
        self._values: dict[str, dict[str, Values]] = {}  # host -> figure -> last values
        self._of_steps: dict[str, dict[str, dict[str, Values]]] = {}  # host -> step -> figure -> values
        # host -> process and window -> pauses, with times in seconds after the agreed instant
        self._pauses: dict[str, dict[tuple[str | None, _Key], list[Pause]]] = {}
        self._work: dict[str, dict[_Key, list[Span]]] = {}  # host with logs -> window that the logs cover -> work
        for host in sorted(folder.iterdir()) if folder.is_dir() else ():
            if host.is_dir():
                self._values[host.name], self._of_steps[host.name] = self._read(host, warn)
                self._pauses[host.name] = _in_windows(host, windows, warn)
                if self._figures and not any(values.keys for values in self._values[host.name].values()):
                    warn(f"{host}: statistics of the servers are missing")
                if windows and (processes := server_log.processes(host, self._lines.values())):
                    self._work[host.name] = _work_in_windows(host.name, processes, self._lines, windows, warn)

    def all(self) -> list[Server]:
        """Returns an entry for each host that has evidence and, if there are several, one for all hosts together."""
        hosts = [
            host
            for host in self._values
            if self._pauses[host] or self._work.get(host) or any(values.keys for values in self._values[host].values())
        ]
        servers = []
        for group in [[host] for host in hosts] + ([hosts] if len(hosts) > 1 else []):
            name = group[0] if len(group) == 1 else None
            values = [self._values[host] for host in group]
            figures = {key: figure.value([of_host[key] for of_host in values]) for key, figure in self._figures.items()}
            background = list(self._background(group))
            servers.append(Server(name, figures, self._phases(group), self._paused(group), background))
        return servers

    def spans(self) -> Iterator[Span]:
        """Yields the background work of each host in all runs; hosts without logs are left out."""
        for host, of_host in self._pauses.items():
            for (process, (phase, run)), pauses in of_host.items():
                for pause in pauses:
                    yield Span(phase, run, host, process, GC_PAUSE, pause.begin, pause.end, None)
            for works in self._work.get(host, {}).values():
                yield from works

    def pending_compactions(self, step: str) -> dict[str, float]:
        """Returns each host's number of pending compactions after a step, or {} for systems without this figure."""
        figure = self._figures.get("pending_compactions")
        if figure is None:
            return {}
        of_hosts = {host: of_steps[step] for host, of_steps in self._of_steps.items() if step in of_steps}
        pending = {host: figure.value([values[figure.name]]) for host, values in of_hosts.items()}
        return {host: value for host, value in pending.items() if value is not None}

    def notes(self) -> list[str]:
        """Returns a sentence for each figure with a `note`. It names the hosts on which the figure is not 0."""
        sentences: list[str] = []
        for name, figure in self._figures.items():
            values = {host: figure.value([of_host[name]]) or 0.0 for host, of_host in self._values.items()}
            hosts = sorted((host for host in values if values[host]), key=lambda host: (-values[host], host))
            texts = [f"{host} {named(name, values[host])}" for host in hosts[:_MOST_HOSTS_TOLD]]
            more = [f"{len(hosts) - _MOST_HOSTS_TOLD} more"] if len(hosts) > _MOST_HOSTS_TOLD else []
            if figure.note and texts:
                sentences.append(f"{figure.note}: {', '.join(texts + more)}")
        return sentences

    def events(self, phase: str, run: int | None, p99_ms: float | None, timeout_ms: float | None) -> list[Event]:
        """Returns events for those pauses of a run that must have delayed operations.

        :param p99_ms: p99 of the clients' slowest operation type; a single event reports all longer pauses
        :param timeout_ms: time after which an operation fails; at most `_MOST_PAUSES_TOLD` longer pauses become events
        """
        paused: list[tuple[Pause, str, str | None]] = [
            (pause, host, process)
            for host, of_host in self._pauses.items()
            for (process, key), pauses in of_host.items()
            for pause in pauses
            if key == (phase, run)
        ]
        paused.sort(key=lambda entry: -entry[0].ms)
        failing = [entry for entry in paused if timeout_ms is not None and entry[0].ms > timeout_ms]
        events = []
        limit = named("ms", timeout_ms)
        for pause, host, process in failing[:_MOST_PAUSES_TOLD]:
            text = f"{_which(process)} of {named('ms', pause.ms)}, longer than an operation may take ({limit})"
            until = pause.end if pause.ms >= 1000 else None  # shorter pauses are shown as instants
            events.append(Event(run, pause.begin, until, text, host, phase))
        if p99_ms is not None and not failing and (above := [entry for entry in paused if entry[0].ms > p99_ms]):
            pause, host, process = above[0]
            hosts = len({host for _, host, _ in above})
            more = f", the longest of {len(above):,}" if len(above) > 1 else ""
            where = f" on {hosts} hosts" if hosts > 1 else ""
            text = f"{_which(process)} of {named('ms', pause.ms)}{more}{where} above the p99 of {named('ms', p99_ms)}"
            events.append(Event(run, pause.begin, None, text, host, phase))
        return events

    def _read(self, host: Path, warn: Warn) -> tuple[dict[str, Values], dict[str, dict[str, Values]]]:
        """Reads the last values of each figure on a host, and its values for each step (see `ServerFigure.of_run`)."""
        last = self._kept(host, warn)
        before = dict.fromkeys(self._figures, Values())  # before the load, servers are fresh
        of_steps = {}
        for step in self._steps:
            stats = host / "stats"
            if (stats / f"{step.name}-before").is_dir():
                before = self._kept(stats / f"{step.name}-before", warn)
            if host.name in step.restarted:
                before = {}
            after = self._kept(stats / step.name, warn)
            of_steps[step.name] = {
                name: figure.of_run(before.get(name), after[name]) if name in after else Values()
                for name, figure in self._figures.items()
            }
            before = after
            last |= after
        return dict.fromkeys(self._figures, Values()) | last, of_steps

    def _kept(self, folder: Path, warn: Warn) -> dict[str, Values]:
        """Reads each figure's values from a folder of statistics. Leaves out figures of a missing or broken file."""
        files = {
            name: [pair for path in sorted(folder.glob(name)) for pair in pairs(path, warn)]
            for name in sorted({figure.file for figure in self._figures.values()})
        }
        return {name: figure.find(files[figure.file]) for name, figure in self._figures.items() if files[figure.file]}

    def _phases(self, hosts: Sequence[str]) -> list[PhaseFigures]:
        """Returns the figures of each phase whose statistics were stored."""
        phases = []
        for phase in dict.fromkeys(step.phase for step in self._steps if step.counts):
            steps = [step.name for step in self._steps if step.counts and step.phase == phase]
            figures = {
                name: figure.mean([[self._of_steps[host][step][name] for host in hosts] for step in steps])
                for name, figure in self._figures.items()
            }
            if any(value is not None for value in figures.values()):
                phases.append(PhaseFigures(phase, len(steps), figures))
        return phases

    def _paused(self, hosts: Sequence[str]) -> list[Pauses]:
        result = []
        for process in sorted({key[0] for host in hosts for key in self._pauses[host]}, key=lambda name: name or ""):
            for window in self._windows:
                key = (process, window.key)
                if jvms := [self._pauses[host][key] for host in hosts if key in self._pauses[host]]:
                    pauses = sorted((pause for jvm in jvms for pause in jvm), key=lambda pause: pause.ms)
                    result.append(_summed(process, window, pauses, len(jvms)))
        return result

    def _background(self, hosts: Sequence[str]) -> Iterator[Background]:
        """Yields the background work on one host, or on all hosts if the logs of each of them cover the run."""
        logs = [self._work[host] for host in (hosts if len(hosts) == 1 else self._work) if host in self._work]
        for kind in [name for name in PLURALS if name in self._lines] if logs else ():
            for window in self._windows:
                if all(window.key in log for log in logs):
                    of_hosts = [[work for work in log[window.key] if work.kind == kind] for log in logs]
                    yield _background(kind, window, of_hosts)


def _in_windows(host: Path, windows: Sequence[Window], warn: Warn) -> dict[tuple[str | None, _Key], list[Pause]]:
    """Reads the pauses for each process on a host and each run that its log covers."""
    logs: dict[str | None, list[Path]] = {}
    for path in sorted(host.glob("gc*.log*")):
        if match := re.fullmatch(r"gc(?:-(\w+))?\.log.*", path.name):
            logs.setdefault(match[1], []).append(path)
    result: dict[tuple[str | None, _Key], list[Pause]] = {}
    for process, paths in logs.items() if windows else ():
        if log := gc_log.read(paths, warn):
            oldest, pauses = log
            for window in windows:
                begin, end, agreed = window.on_host(host.name)
                if oldest > begin:
                    if host.name not in window.ill:
                        warn(f"{paths[0]}: the log begins after the start of {window}; log rotation may be the cause")
                    continue
                result[process, window.key] = [
                    Pause(pause.begin - agreed, pause.ms) for pause in pauses if pause.end > begin and pause.begin < end
                ]
    return result


def _work_in_windows(
    host: str, processes: Sequence[Sequence[Path]], kinds: Mapping[str, Lines], windows: Sequence[Window], warn: Warn
) -> dict[_Key, list[Span]]:
    """Reads the background work in each run that the logs of all processes on a host cover.

    :param processes: the logs of each process; a process that was restarted has several
    """
    logs = [[log for path in paths if (log := server_log.read(path, kinds, warn))] for paths in processes]
    warned: set[Path] = set()
    result: dict[_Key, list[Span]] = {}
    for window in windows:
        begin, end, agreed = window.on_host(host)
        covering = [_covering(process_logs, begin, end, dies=host in window.ill) for process_logs in logs]
        short = [paths[-1] for paths, log in zip(processes, covering, strict=True) if not log]
        for path in short:
            if path not in warned and host not in window.ill:
                warned.add(path)
                names = " and ".join(PLURALS[kind] for kind in PLURALS if kind in kinds)
                warn(f"{path}: the log does not cover {window}, so its {names} are not known")
        if not short:
            result[window.key] = [
                Span(*window.key, host, None, work.kind, work.begin - agreed, work.end - agreed, work.bytes)
                for log in filter(None, covering)
                for work in log.work
                if work.end > begin and work.begin < end
            ]
    return result


def _covering(logs: Sequence[ServerLog], begin: float, end: float, *, dies: bool) -> ServerLog | None:
    """Returns the log of a process that covers the time from `begin` to `end`, or None if there is no such log.

    A log extends to the start of the next one, even if its last line is earlier.

    :param dies: whether faults ended processes in this time, so that a log ends with its last line
    """
    ends = [log.end if dies else following.begin for log, following in pairwise(logs)] + [log.end for log in logs[-1:]]
    return next((log for log, until in zip(logs, ends, strict=True) if log.begin <= begin and until >= end), None)


def _background(kind: str, window: Window, of_hosts: Sequence[Sequence[Span]]) -> Background:
    since, until = window.begin - window.agreed, window.end - window.agreed
    inside = [[(max(work.begin, since), min(work.end, until)) for work in of_host] for of_host in of_hosts]
    works = [work for of_host in of_hosts for work in of_host]
    longest = max(works, key=lambda work: work.end - work.begin, default=None)
    return Background(
        kind,
        *window.key,
        count=len(works),
        total_seconds=sum(end - begin for spans in inside for begin, end in spans),
        longest_seconds=longest.end - longest.begin if longest else None,
        longest_at=longest.begin if longest else None,
        bytes=statistics.total([work.bytes for work in works]) if works else 0,
        share=sum(server_log.covered(spans) for spans in inside) / (until - since) / len(inside),
    )


def _summed(process: str | None, window: Window, pauses: Sequence[Pause], jvms: int) -> Pauses:
    """Summarises the pauses of `jvms` JVMs in a window. `pauses` is sorted by length, the shortest pause first."""
    total = sum(pause.ms for pause in pauses)
    longest = pauses[-1] if pauses else None
    # The p99 is the smallest length that 99 % of the pauses do not exceed (nearest rank).
    p99 = pauses[math.ceil(0.99 * len(pauses)) - 1].ms if len(pauses) >= _ENOUGH_FOR_P99 else None
    return Pauses(
        process,
        *window.key,
        count=len(pauses),
        total_ms=total,
        longest_ms=longest.ms if longest else None,
        longest_at=longest.begin if longest else None,
        p99_ms=p99,
        share=total / 1000 / (window.end - window.begin) / jvms,
    )


def _which(process: str | None) -> str:
    return f"GC pause of the {process}" if process else "GC pause"
