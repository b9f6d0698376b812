"""Reads from servers' logs what they did to heal after a fault: `ansible/systems/NAME/healing.yml` names the lines.

    crash recovery:
      files: log
      begin: ' LOG:  database system was interrupted'
      end: ' LOG:  database system is ready to accept connections'

The keys are the names in the report. `files`, `begin` and `end` are as in log.yml (`server_log`). But `key` may be
missing if a server does one such work at a time, and `begin` if a log reports only ends. Work that begins again before
it ends counts twice, unless `end` has a group `amount`: how much work it was, in `unit`. Work that is `lasting`
continues, under its key, after a restart of the server. If no host's log has a line that matches `where`, the logs are
of another product, or of servers that never do this work, and the figures are unknown.

After a restart a server's earlier logs are in LOG.1, LOG.2, …, the oldest first: together they are its log.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dohyo import plain_yaml
from dohyo.bad_input import BadInputError
from dohyo.evidence import server_log
from dohyo.evidence.server_figures import FILES, definition
from dohyo.evidence.server_log import Lines, Patterns, ServerLog, Work, covered
from dohyo.evidence.text_file import Warn

FILE = "healing.yml"
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


class _HealingLines(Struct, forbid_unknown_fields=True):
    files: str | list[str]
    end: str
    begin: str | None = None
    unit: str | None = None
    where: str | None = None
    lasting: bool = False


@dataclass(frozen=True)
class _Kind:
    """One entry of healing.yml."""

    what: str
    entry: _HealingLines
    patterns: Patterns


@dataclass(frozen=True)
class _Process:
    """The logs of one process of a host, the oldest first, without empty ones."""

    host: str
    logs: list[ServerLog]

    @property
    def is_known(self) -> bool:
        """Returns whether a line of its logs matches `where`."""
        return any(work.kind == _WHERE for log in self.logs for work in log.work)


class HealingLogs:
    """The servers' logs of one trial, which are read when they are first needed."""

    def __init__(self, folder: Path, system: str, warn: Warn) -> None:
        """:param folder: the trial's `server`; missing or broken files are at most a warning"""
        self._folder = folder
        self._system = system
        self._warn = warn
        self._read: dict[str, list[_Process]] = {}

    @cached_property
    def _kinds(self) -> list[_Kind]:
        return _kinds(self._system, self._folder, self._warn)

    def after(
        self, since: float, until: float, began: float, offsets_ms: Mapping[str, float], hosts: Collection[str] = ()
    ) -> list[Healing]:
        """Returns the healing that began between two seconds of the window.

        :param began: second 0, in seconds since 1970 on the controller's clock
        :param offsets_ms: offset of each host's clock from the controller's
        :param hosts: hosts that had the fault; if one of them has no logs, nothing is known
        """
        zero = {host: began + offset / 1000 for host, offset in offsets_ms.items()}
        there = {process.host for kind in self._kinds for process in self._processes(kind)}
        if not there.issuperset(hosts):
            return [_unknown(kind) for kind in self._kinds]
        return [self._of(kind, since, until, began, zero) for kind in self._kinds]

    def _of(self, kind: _Kind, since: float, until: float, began: float, zero: Mapping[str, float]) -> Healing:
        processes = self._processes(kind)
        tell = kind.entry.where is None or any(each.is_known for each in processes)
        whole = all(each.logs[0].begin <= zero.get(each.host, began) + since for each in processes)
        if not (processes and tell and whole):
            return _unknown(kind)
        found: list[tuple[str, Work]] = []
        unfinished: list[float] = []
        for process in processes:
            at_zero = zero.get(process.host, began)
            first, last = at_zero + since, at_zero + until
            left: list[float] = []
            for log in process.logs:
                ended = [each for each in log.work if each.kind == kind.what and _within(each.at, first, last)]
                begun = [at for what, at in log.begun if what == kind.what and _within(at, first, last)]
                for work in ended:
                    begin, end = (max(at - at_zero, since) for at in (work.at, work.end))
                    found.append((process.host, Work(work.kind, begin, end, None, work.amount)))
                # A restarted process repeats the work that the one before it left unfinished.
                left = begun if ended or begun else left
            unfinished += [max(at - at_zero, since) for at in left]
        works = [work for _, work in found]
        amounts = [work.amount for work in works if work.amount is not None]
        lasts = kind.entry.begin is not None or "ms" in kind.patterns.lines[0].end.groupindex
        return Healing(
            what=kind.what,
            hosts=sorted({host for host, _ in found}),
            count=len(works),
            unfinished=len(unfinished),
            amount=sum(amounts) if amounts and len(amounts) == len(works) else None,
            unit=kind.entry.unit,
            begin=min([*(work.at for work in works), *unfinished], default=None),
            end=max((work.end for work in works), default=None),
            seconds=covered((work.at, work.end) for work in works) if works and lasts else None,
        )

    def _processes(self, kind: _Kind) -> list[_Process]:
        if kind.what not in self._read:
            hosts = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
            self._read[kind.what] = [
                _Process(host.name, logs)
                for host in hosts
                if host.is_dir()
                for paths in kind.patterns.paths(host)
                if (logs := self._logs(paths, kind))
            ]
        return self._read[kind.what]

    def _logs(self, paths: Sequence[Path], kind: _Kind) -> list[ServerLog]:
        begun: server_log.Begun = {}
        read = (
            server_log.read(path, kind.patterns, self._warn, begun if kind.entry.lasting else None) for path in paths
        )
        return [log for log in read if log]


def _unknown(kind: _Kind) -> Healing:
    return Healing(kind.what, [], None, None, None, kind.entry.unit, None, None, None)


def _within(at: float, first: float, last: float) -> bool:
    """Returns whether a time is between two faults; some logs have only whole seconds."""
    return math.floor(first) <= at < math.floor(last) if at.is_integer() else first <= at < last


def _kinds(system: str, folder: Path, warn: Warn) -> list[_Kind]:
    path = definition(folder, system, FILE)
    try:
        entries: Any = plain_yaml.load(path) if path else {}
        return [_kind(what, entry) for what, entry in msgspec.convert(entries, dict[str, _HealingLines]).items()]
    except (msgspec.ValidationError, BadInputError) as error:
        warn(f"{path}: {error}")
        return []


def _kind(what: str, entry: _HealingLines) -> _Kind:
    files = [entry.files] if isinstance(entry.files, str) else entry.files
    if not all(FILES.fullmatch(name) for name in files):
        raise BadInputError(f"{what}: files: {files}: must be names of files in the folder of a host")
    end = server_log.regex(f"{what}: end", entry.end)
    begin = None if entry.begin is None else server_log.regex(f"{what}: begin", entry.begin)
    lines = [Lines(what, begin, end, "first" if entry.lasting else "last" if "amount" in end.groupindex else "each")]
    if entry.where is not None:
        lines.append(Lines(_WHERE, None, server_log.regex(f"{what}: where", entry.where)))
    return _Kind(what, entry, Patterns(tuple(files), tuple(lines)))
