"""Reads from servers' logs what they did to heal after a fault: `ansible/systems/NAME/healing.yml` names the lines.

    crash recovery:
      files: log
      begin: ' LOG:  database system was interrupted'
      end: ' LOG:  database system is ready to accept connections'

The keys are the names in the report, the entries are as in log.yml (`server_log`). But `key` may be missing if a server
does one such work at a time, and `begin` if a log reports only ends. With `begins: each`, work that begins again before
it ends counts twice; with `begins: first` it is the same work, which continues, under its key, after a restart of the
server. `end` may have a group `amount`: how much work it was, in `unit`. If no host's log has a line that matches
`where`, the figures are unknown: the servers are another product, or never do this work.

After a restart a server's earlier logs are in LOG.1, LOG.2, …, the oldest first: together they are its log.
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

# Kind of the lines that match `where`.
_WHERE = "where"


@dataclass(frozen=True)
class Healing:
    """One kind of work with which the servers healed after a fault, as far as it began before the next one.

    :ivar what: name in healing.yml
    :ivar hosts: hosts that did it
    :ivar count: number of times; None if neither this nor any other figure is known
    :ivar unfinished: number of times that it began and did not end, as far as the logs go
    :ivar amount: total amount, in `unit`; None if the logs do not state it
    :ivar begin: first start, in seconds of the measured window; None without any
    :ivar end: last end, in the same unit
    :ivar seconds: time in which at least one was in progress; None if only ends are known
    """

    what: str
    hosts: list[str]
    count: int | None
    unfinished: int | None
    amount: float | None
    unit: str | None
    begin: float | None
    end: float | None
    seconds: float | None


class HealingLogs:
    """The servers' logs of one trial, which are read when they are first needed."""

    def __init__(self, folder: Path, warn: Warn) -> None:
        """:param folder: the trial's `server`; missing or broken files are at most a warning"""
        self._folder = folder
        self._warn = warn
        # kind of work -> host and logs of each process, the oldest first, without empty ones
        self._read: dict[str, list[tuple[str, list[ServerLog]]]] = {}

    @cached_property
    def _kinds(self) -> dict[str, Lines]:
        return server_log.lines_of(self._folder / server_log.HEALING, self._warn)

    def after(
        self, since: float, until: float, began: float, offsets_ms: Mapping[str, float], hosts: Collection[str] = ()
    ) -> list[Healing]:
        """Returns the healing that began between two seconds of the window.

        :param began: second 0, in seconds since 1970 on the controller's clock
        :param offsets_ms: offset of each host's clock from the controller's
        :param hosts: hosts that had the fault; if one of them has no logs, nothing is known
        """
        zero = {host: began + offset / 1000 for host, offset in offsets_ms.items()}
        there = {host for kind in self._kinds for host, _ in self._processes(kind)}
        if not there.issuperset(hosts):
            return [self._unknown(kind) for kind in self._kinds]
        return [self._of(kind, since, until, began, zero) for kind in self._kinds]

    def _unknown(self, kind: str) -> Healing:
        return Healing(kind, [], None, None, None, self._kinds[kind].unit, None, None, None)

    def _of(self, kind: str, since: float, until: float, began: float, zero: Mapping[str, float]) -> Healing:
        lines, processes = self._kinds[kind], self._processes(kind)
        works = [work for _, logs in processes for log in logs for work in log.work]
        is_reported = lines.where is None or any(work.kind == _WHERE for work in works)
        is_whole = all(logs[0].begin <= zero.get(host, began) + since for host, logs in processes)
        if not (processes and is_reported and is_whole):
            return self._unknown(kind)
        found: list[tuple[str, Work]] = []
        unfinished: list[float] = []
        for host, logs in processes:
            at_zero = zero.get(host, began)
            first, last = at_zero + since, at_zero + until
            left: list[float] = []
            for log in logs:
                ended = [each for each in log.work if each.kind == kind and _within(each.at, first, last)]
                begun = [at for what, at in log.begun if what == kind and _within(at, first, last)]
                for work in ended:
                    begin, end = (max(at - at_zero, since) for at in (work.at, work.end))
                    found.append((host, Work(work.kind, begin, end, None, work.amount)))
                # A restarted process repeats the work that the one before it left unfinished.
                left = begun if ended or begun else left
            unfinished += [max(at - at_zero, since) for at in left]
        works = [work for _, work in found]
        amounts = [work.amount for work in works if work.amount is not None]
        lasts = lines.begin is not None or lines.states_duration
        return Healing(
            what=kind,
            hosts=sorted({host for host, _ in found}),
            count=len(works),
            unfinished=len(unfinished),
            amount=sum(amounts) if amounts and len(amounts) == len(works) else None,
            unit=lines.unit,
            begin=min([*(work.at for work in works), *unfinished], default=None),
            end=max((work.end for work in works), default=None),
            seconds=covered((work.at, work.end) for work in works) if works and lasts else None,
        )

    def _processes(self, kind: str) -> list[tuple[str, list[ServerLog]]]:
        if kind not in self._read:
            hosts = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
            self._read[kind] = [
                (host.name, logs)
                for host in hosts
                if host.is_dir()
                for paths in server_log.processes(host, [self._kinds[kind]])
                if (logs := self._logs(paths, kind))
            ]
        return self._read[kind]

    def _logs(self, paths: Sequence[Path], kind: str) -> list[ServerLog]:
        lines = self._kinds[kind]
        kinds = {kind: lines} | ({_WHERE: Lines(lines.files, lines.where)} if lines.where is not None else {})
        begun: server_log.Begun | None = {} if lines.begins == "first" else None
        return [log for path in paths if (log := server_log.read(path, kinds, self._warn, begun))]


def _within(at: float, first: float, last: float) -> bool:
    """Returns whether a time is between two faults; some logs have only whole seconds."""
    return math.floor(first) <= at < math.floor(last) if at.is_integer() else first <= at < last
