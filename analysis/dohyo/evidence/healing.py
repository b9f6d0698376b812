"""Reads from the logs how servers healed after a fault. `ansible/systems/NAME/healing.yml` describes the lines:

    crash recovery:
      files: log
      begin: ' LOG:  database system was interrupted'
      end: ' LOG:  database system is ready to accept connections'

The keys are names in the report; the entries are like those of log.yml (see `server_log`). `key` may be missing if a
server does only one piece of such work at a time, and `begin` if a log reports only ends. With `begins: each`, work
that begins again before it ends counts twice. With `begins: first` it counts once, and its key identifies it even after
a restart of the server. `end` may contain a group `amount`: the amount of work in `unit`. If no log contains a line
that matches `where`, the figures are unknown: the servers are of another product, or never do this work.

If a server was restarted, its earlier logs are in LOG.1, LOG.2, …, the oldest first. All of them are read.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dohyo.evidence import server_log
from dohyo.evidence.server_log import Lines, ServerLog, Work, covered
from dohyo.evidence.text_file import Warn
from dohyo.statistics import total

_WHERE = "where"  # lines that match `where` are recorded as work of this kind


@dataclass(frozen=True)
class Healing:
    """One kind of work that the servers did to heal after a fault and that began before the next fault."""

    what: str  # name in healing.yml
    hosts: list[str]  # hosts that did the work
    count: int | None  # number of times that the work ended; None if all figures are unknown
    unfinished: int | None  # number of times that the work began without an end in the logs
    amount: float | None  # total amount, in `unit`; None if the logs do not state it
    unit: str | None
    begin: float | None  # first start, in seconds since the measured window began; None if no work began
    end: float | None  # last end, in the same unit
    seconds: float | None  # time in which work was in progress on any host; None if only ends are known


class HealingLogs:
    """The servers' logs of one trial. They are read only when they are needed."""

    def __init__(self, folder: Path, warn: Warn) -> None:
        """:param folder: folder `server` of the trial; missing or broken files cause at most a warning"""
        self._folder = folder
        self._warn = warn

    @cached_property
    def _kinds(self) -> dict[str, Lines]:
        return server_log.lines_of(self._folder / server_log.HEALING, self._warn)

    @cached_property
    def _processes(self) -> dict[str, list[tuple[str, list[ServerLog]]]]:
        """Reads each process's host and logs, the oldest first, for each kind of work. Leaves out empty logs."""
        hosts = [host for host in sorted(self._folder.iterdir()) if host.is_dir()] if self._folder.is_dir() else []
        return {
            kind: [
                (host.name, logs)
                for host in hosts
                for paths in server_log.processes(host, [lines])
                if (logs := self._logs(paths, kind))
            ]
            for kind, lines in self._kinds.items()
        }

    def after(
        self, since: float, until: float, began: float, offsets_ms: Mapping[str, float], hosts: Collection[str] = ()
    ) -> list[Healing]:
        """Returns, for each kind, the work that began between the seconds `since` and `until` of the window.

        :param began: start of the window, in seconds since 1970 on the controller's clock
        :param offsets_ms: offset of each host's clock from the controller's
        :param hosts: hosts with the fault; if one of them has no logs, all figures are unknown
        """
        zero = {host: began + offset / 1000 for host, offset in offsets_ms.items()}
        logged = {host for processes in self._processes.values() for host, _ in processes}
        if not logged.issuperset(hosts):
            return [self._unknown(kind) for kind in self._kinds]
        return [self._of(kind, since, until, began, zero) for kind in self._kinds]

    def _unknown(self, kind: str) -> Healing:
        return Healing(kind, [], None, None, None, self._kinds[kind].unit, None, None, None)

    def _of(self, kind: str, since: float, until: float, began: float, zero: Mapping[str, float]) -> Healing:
        lines, processes = self._kinds[kind], self._processes[kind]
        works = [work for _, logs in processes for log in logs for work in log.work]
        is_reported = lines.where is None or any(work.kind == _WHERE for work in works)
        is_whole = all(logs[0].begin <= zero.get(host, began) + since for host, logs in processes)
        if not (processes and is_reported and is_whole):
            return self._unknown(kind)
        finished: list[tuple[str, Work]] = []
        unfinished: list[float] = []
        for host, logs in processes:
            at_zero = zero.get(host, began)
            first, last = at_zero + since, at_zero + until
            open_starts: list[float] = []
            for log in logs:
                ended = [work for work in log.work if work.kind == kind and _within(work.begin, first, last)]
                begun = [start for begun_kind, start in log.begun if begun_kind == kind and _within(start, first, last)]
                for work in ended:
                    begin, end = (max(time - at_zero, since) for time in (work.begin, work.end))
                    finished.append((host, Work(work.kind, begin, end, None, work.amount)))
                # A restarted process repeats work that the earlier process left unfinished.
                open_starts = begun if ended or begun else open_starts
            unfinished += [max(start - at_zero, since) for start in open_starts]
        works = [work for _, work in finished]
        lasts = lines.begin is not None or lines.states_duration
        return Healing(
            what=kind,
            hosts=sorted({host for host, _ in finished}),
            count=len(works),
            unfinished=len(unfinished),
            amount=total([work.amount for work in works]),
            unit=lines.unit,
            begin=min([*(work.begin for work in works), *unfinished], default=None),
            end=max((work.end for work in works), default=None),
            seconds=covered((work.begin, work.end) for work in works) if works and lasts else None,
        )

    def _logs(self, paths: Sequence[Path], kind: str) -> list[ServerLog]:
        lines = self._kinds[kind]
        kinds = {kind: lines} | ({_WHERE: Lines(lines.files, lines.where)} if lines.where is not None else {})
        begun: server_log.Begun | None = {} if lines.begins == "first" else None
        return [log for path in paths if (log := server_log.read(path, kinds, self._warn, begun))]


def _within(time: float, first: float, last: float) -> bool:
    """Returns whether a time is between two faults. Times in some logs are whole seconds, rounded down."""
    return math.floor(first) <= time < math.floor(last) if time.is_integer() else first <= time < last
