"""Reads compactions and flushes from a server's own log: `ansible/systems/NAME/log.yml` says which lines report them.

    files: log
    compaction:
      end: ' Compacted .* to (?P<size>[\\d.]+\\w+) .* in (?P<ms>\\d+)ms'
    flush:
      begin: '\\[(?P<key>[^\\]]+)\\] Writing Memtable-'
      end: '\\[(?P<key>[^\\]]+)\\] Completed flushing .* \\((?P<size>.+)\\)'

`files` are patterns of names in `server/HOST`. A missing kind of work means that the log does not report it.
The patterns are regular expressions in RE2's syntax, searched for in a line. `end` is the line that is written when the
work is done; its group `ms` is the duration. Without that group, the work began with the last line that matches `begin`
and has the same `key`, such as the thread. The group `size` is the amount written, if the log reports it: a number of
bytes, or a number with a unit.

A trial has a copy of the file, as of figures.yml. RE2 takes linear time for any pattern, so that an untrusted copy
cannot delay the reader.

A line begins with its time, in some logs after its level. The time is in UTC, which the role `service` ensures, and in
whole seconds in the logs of MariaDB and Aerospike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import msgspec
import re2
from msgspec import Struct

from dohyo import plain_yaml
from dohyo.bad_input import BadInputError
from dohyo.evidence.json_values import number
from dohyo.evidence.server_figures import FILES, definition
from dohyo.evidence.text_file import Warn, lines

Kind = Literal["compaction", "flush"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PLURALS: dict[Kind, str] = {"compaction": "compactions", "flush": "flushes"}

_STAMP = re.compile(
    r"(?:[A-Z]+ +)?(\d{4}-\d\d-\d\d[ T][ \d]\d:\d\d:\d\d(?:[.,]\d{3})?|[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT)"
)
_SIZE = re.compile(r"([\d.,]+) ?([kKMGTP]?)(i?)(B|bytes)?")
_POWERS = {letter: power for power, letter in enumerate(("", "K", "M", "G", "T", "P"))}


# Kind of work, and the key that distinguishes it from other work of the kind.
_Key = tuple[str, str | None]
# Start times of work that has begun and not ended.
Begun = dict[_Key, list[str]]


@dataclass(frozen=True, slots=True)
class Work:
    """One compaction, one flush of memory, or other work that a log reports.

    :ivar at: start in seconds since 1970, on the clock of the host
    :ivar end: end in seconds since 1970, on the clock of the host
    :ivar bytes: bytes written; None if the log does not report them
    :ivar amount: amount in another unit; None if the log does not report it
    """

    kind: str
    at: float
    end: float
    bytes: float | None
    amount: float | None = None


@dataclass(frozen=True)
class ServerLog:
    """The contents of the log of one process.

    :ivar begin: time of the first line in seconds since 1970; `end` is that of the last line
    :ivar work: finished work, by its end
    :ivar begun: unfinished work: its kind and its start
    """

    begin: float
    end: float
    work: list[Work] = field(default_factory=list)
    begun: list[tuple[str, float]] = field(default_factory=list)


class _WorkPatterns(Struct, forbid_unknown_fields=True):
    end: str
    begin: str | None = None


class _LogFile(Struct, forbid_unknown_fields=True):
    """A system's log.yml."""

    files: str | list[str]
    compaction: _WorkPatterns | None = None
    flush: _WorkPatterns | None = None


@dataclass(frozen=True)
class Lines:
    """Patterns of the lines on one kind of work. Without `begin` and a group `ms` only its end is known.

    :ivar begins: which of several starts before one end count; "first" for work that continues when it starts again
    """

    kind: str
    begin: re.Pattern[str] | None
    end: re.Pattern[str]
    begins: Literal["first", "last", "each"] = "last"


@dataclass(frozen=True)
class Patterns:
    """The content of a system's log.yml; without `files` no work is known."""

    files: tuple[str, ...] = ()
    lines: tuple[Lines, ...] = ()

    def paths(self, folder: Path) -> list[list[Path]]:
        """Returns the logs of each process of a host, the oldest first. After a restart, the process's earlier logs are
        in LOG.1, LOG.2, …
        """
        found: dict[str, dict[float, Path]] = {}
        for path in {path for name in self.files for end in ("", ".[0-9]*") for path in folder.glob(name + end)}:
            if path.is_file():
                number = path.suffix[1:]
                base, age = (path.stem, float(number)) if number.isdecimal() else (path.name, math.inf)
                found.setdefault(base, {})[age] = path
        return [[found[base][age] for age in sorted(found[base])] for base in sorted(found)]

    @property
    def kinds(self) -> list[Kind]:
        """Returns the kinds of background work that the logs report."""
        return [kind for kind in KINDS for each in self.lines if each.kind == kind]

    @property
    def words(self) -> list[str]:
        """Returns the kinds of work in words."""
        return [PLURALS[kind] for kind in self.kinds]


def patterns_of(system: str, folder: Path, warn: Warn) -> Patterns:
    """Reads the patterns of a system; none if its log reports no such work, or the system is not known.

    :param folder: see :func:`definition`; a damaged file causes a warning
    """
    path = definition(folder, system, "log.yml")
    try:
        content = msgspec.convert(plain_yaml.load(path), _LogFile) if path else _LogFile([])
        files = [content.files] if isinstance(content.files, str) else content.files
        if not all(FILES.fullmatch(name) for name in files):
            raise BadInputError(f"files: {files}: must be names of files in the folder of a host")
        works = {"compaction": content.compaction, "flush": content.flush}
        return Patterns(tuple(files), tuple(_lines(kind, work) for kind in KINDS if (work := works[kind])))
    except (msgspec.ValidationError, BadInputError) as error:
        warn(f"{path}: {error}")
        return Patterns()


def _lines(kind: Kind, work: _WorkPatterns) -> Lines:
    end = regex(f"{kind}: end", work.end)
    begin = regex(f"{kind}: begin", work.begin) if work.begin is not None else None
    by_key = begin is not None and "key" in begin.groupindex and "key" in end.groupindex
    if not (by_key or "ms" in end.groupindex):
        raise BadInputError(f"{kind}: end needs a group ms, or a group key as begin has")
    return Lines(kind, begin, end)


def regex(name: str, pattern: str) -> re.Pattern[str]:
    """Compiles a pattern with RE2, whose untyped class is annotated here as Python's. Raises BadInputError."""
    options = re2.Options()
    options.log_errors = False  # RE2 would also write them to stderr
    try:
        compiled: re.Pattern[str] = re2.compile(pattern, options)
    except (re2.error, TypeError, ValueError) as error:
        why = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else error
        raise BadInputError(f"{name}: {pattern!r}: no regular expression of RE2: {why}") from error
    return compiled


def read(path: Path, patterns: Patterns, warn: Warn, begun: Begun | None = None) -> ServerLog | None:
    """Reads the log of one process; returns None if no line has a time.

    :param begun: work that the process before it left unfinished; updated to the work that this process leaves
    """
    first = last = None
    begun = {} if begun is None else begun
    work: list[Work] = []
    for _, line in lines(path, warn):
        stamp = _STAMP.match(line)
        if not stamp:
            continue
        first, last = first or stamp[1], stamp[1]
        for each in patterns.lines:
            if each.begin and (match := each.begin.search(line, stamp.end())):
                of = begun.setdefault(_key(each, match), [])
                if each.begins == "last":
                    of.clear()
                if each.begins != "first" or not of:
                    of.append(stamp[1])
            elif match := each.end.search(line, stamp.end()):
                work += _works(each, match, begun, stamp[1])
    begin, end = _seconds(first), _seconds(last)
    left = [(kind, at) for (kind, _), of in begun.items() for each in of if (at := _seconds(each)) is not None]
    return None if begin is None or end is None else ServerLog(begin, end, work, left)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Returns the length of the union of spans (start and end), in their unit."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def _key(of: Lines, match: re.Match[str]) -> _Key:
    return of.kind, match.groupdict().get("key")


def _works(of: Lines, match: re.Match[str], begun: dict[_Key, list[str]], stamp: str) -> list[Work]:
    groups = match.groupdict()
    end = _seconds(stamp)
    if "ms" in groups:
        # A JVM separates thousands according to its locale.
        digits = re.sub(r"\D", "", groups["ms"])
        begins = [end - int(digits) / 1000 if end is not None and digits else None]
    else:
        begins = [_seconds(each) for each in begun.pop(_key(of, match), [])] if of.begin else [end]
    size, amount = _bytes(groups.get("size")), number(groups.get("amount"))
    # If the clock was set back, work may seem to end before it starts; such work is left out.
    return [
        Work(of.kind, begin, end, size, amount)
        for begin in begins
        if begin is not None and end is not None and begin <= end
    ]


def _bytes(size: str | None) -> float | None:
    """Parses sizes such as 36623, `387.8 K` and `1.634KiB` (units of 1024), `11kB` (units of 1000)."""
    match = _SIZE.fullmatch(size or "")
    if not match:
        return None
    number, prefix, binary, unit = match.groups()
    try:
        value = float(number.replace(",", "."))
    except ValueError:
        return None
    base = 1000.0 if unit == "B" and not binary else 1024.0
    return value * float(base ** _POWERS[prefix.upper()])


def _seconds(stamp: str | None) -> float | None:
    """Parses times such as "2026-11-25 16:10:20,904", "2026-11-25  6:10:20" and "Nov 25 2026 16:10:20 GMT"."""
    if not stamp:
        return None
    try:
        if stamp.endswith("GMT"):
            at = datetime.strptime(stamp, "%b %d %Y %H:%M:%S GMT")
        else:
            at = datetime.fromisoformat(stamp.replace(",", ".").replace("  ", " 0"))
    except ValueError:
        return None
    return at.replace(tzinfo=UTC).timestamp()
