"""Compactions and flushes, from a server's own log: `ansible/systems/NAME/log.yml` says which lines report them.

    files: log
    compaction:
      end: ' Compacted .* to (?P<size>[\\d.]+\\w+) .* in (?P<ms>\\d+)ms'
    flush:
      begin: '\\[(?P<key>[^\\]]+)\\] Writing Memtable-'
      end: '\\[(?P<key>[^\\]]+)\\] Completed flushing .* \\((?P<size>.+)\\)'

`files` are patterns of names in `server/HOST`. The log does not report a kind of work that is missing.
The patterns are regular expressions in RE2's syntax, searched for in a line. `end` is the line that is written when the
work is done; its group `ms` is how long it took. Without that, the work began with the last line that matches `begin`
and has the same `key`, such as the thread. `size` is what was written, if the log says it: a number of bytes,
or one with a unit.

A trial keeps a copy, as it does of figures.yml. RE2 takes linear time whatever the pattern, so that a copy from
somebody else cannot hold up the reader.

A line begins with its time (after its level, perhaps), in UTC, which the role `service` ensures. MariaDB's and
Aerospike's are in whole seconds.
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


# A kind of work, and what tells it from others of the kind.
_Key = tuple[str, str | None]
# What has begun and not ended, and when.
Begun = dict[_Key, list[str]]


@dataclass(frozen=True, slots=True)
class Work:
    """One compaction, one flush of what is in memory, or other work that a log tells of.

    :ivar at: its begin in seconds since 1970, on the clock of the host
    :ivar end: the same of its end
    :ivar bytes: what it has written; None where the log does not say so
    :ivar amount: how much it was of something else; None where the log does not say so
    """

    kind: str
    at: float
    end: float
    bytes: float | None
    amount: float | None = None


@dataclass(frozen=True)
class ServerLog:
    """The contents of the log of one process.

    :ivar begin: time of the first line in seconds since 1970; of the last one is `end`
    :ivar work: in the order in which it ended
    :ivar begun: what has begun and not ended: its kind and when
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
    """The lines on one kind of work. Without `begin` and a group `ms` only its end is known.

    :ivar begins: which of several before one end count; the first, where what begins again is the same, and goes on
    """

    kind: str
    begin: re.Pattern[str] | None
    end: re.Pattern[str]
    begins: Literal["first", "last", "each"] = "last"


@dataclass(frozen=True)
class Patterns:
    """The content of a system's log.yml; without `files` nothing is known."""

    files: tuple[str, ...] = ()
    lines: tuple[Lines, ...] = ()

    def paths(self, folder: Path) -> list[list[Path]]:
        """The logs of each process of a host, from the oldest on. One that was started again has its earlier ones in
        LOG.1, LOG.2, …
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
        """The kinds of background work that the logs report."""
        return [kind for kind in KINDS for each in self.lines if each.kind == kind]

    @property
    def words(self) -> list[str]:
        """The same in words."""
        return [PLURALS[kind] for kind in self.kinds]


def patterns_of(system: str, folder: Path, warn: Warn) -> Patterns:
    """The patterns of a system; none if its log reports no such work, or the system is not known.

    :param folder: see :func:`definition`; a damaged file is a warning
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
    """Compiles a pattern; BadInputError names it. RE2's own type is as good as Python's, and has no annotations."""
    options = re2.Options()
    options.log_errors = False  # it would write them to stderr, too
    try:
        compiled: re.Pattern[str] = re2.compile(pattern, options)
    except (re2.error, TypeError, ValueError) as error:
        why = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else error
        raise BadInputError(f"{name}: {pattern!r}: no regular expression of RE2: {why}") from error
    return compiled


def read(path: Path, patterns: Patterns, warn: Warn, begun: Begun | None = None) -> ServerLog | None:
    """Reads the log of one process; None where no line of it has a time.

    :param begun: what the process before it has begun and left to this one; takes what this one leaves
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
    """Length of the time in which at least one of the spans (begin and end) lasts, in their unit."""
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
        # A JVM separates thousands by its locale.
        digits = re.sub(r"\D", "", groups["ms"])
        begins = [end - int(digits) / 1000 if end is not None and digits else None]
    else:
        begins = [_seconds(each) for each in begun.pop(_key(of, match), [])] if of.begin else [end]
    size, amount = _bytes(groups.get("size")), number(groups.get("amount"))
    # After a clock was set back, work may seem to end before it begins; it is left out.
    return [
        Work(of.kind, begin, end, size, amount)
        for begin in begins
        if begin is not None and end is not None and begin <= end
    ]


def _bytes(size: str | None) -> float | None:
    """Such as 36623, `387.8 K` and `1.634KiB` (of 1024), `11kB` (of 1000)."""
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
    """Such as "2026-11-25 16:10:20,904", "2026-11-25  6:10:20" and "Nov 25 2026 16:10:20 GMT"."""
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
