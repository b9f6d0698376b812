"""Reads compactions and flushes from a server's own log. `ansible/systems/NAME/log.yml` describes the lines:

    compaction:
      files: log
      end: ' Compacted .* to (?P<size>[\\d.]+\\w+) .* in (?P<ms>\\d+)ms'
    flush:
      files: log
      begin: '\\[(?P<key>[^\\]]+)\\] Writing Memtable-'
      end: '\\[(?P<key>[^\\]]+)\\] Completed flushing .* \\((?P<size>.+)\\)'

`files` are patterns of file names in `server/HOST`. If a kind of work is missing, the log does not report it.

The patterns are regular expressions in RE2's syntax, and each line is searched for them. `end` matches the line that is
written when the work is done; its group `ms` is the duration. Without that group, the work began with the last line
that matches `begin` and has the same group `key`, such as the thread. The group `size` is the amount written, if the
log reports it: a number of bytes, or a number with a unit.

A trial has a copy of log.yml, which may be untrusted. RE2 takes linear time for any pattern.

A line begins with its time; in some logs the level comes first. The role `service` ensures that the time is in UTC.
MariaDB and Aerospike write whole seconds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import re2
from msgspec import Struct

from dohyo import plain_yaml
from dohyo.bad_input import BadInputError
from dohyo.evidence.json_values import number
from dohyo.evidence.server_figures import FILES
from dohyo.evidence.text_file import Warn, lines

LOG, HEALING = "log.yml", "healing.yml"
Kind = Literal["compaction", "flush"]
PLURALS: dict[str, str] = {"compaction": "compactions", "flush": "flushes"}

_STAMP = re.compile(
    r"(?:[A-Z]+ +)?(\d{4}-\d\d-\d\d[ T][ \d]\d:\d\d:\d\d(?:[.,]\d{3})?|[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT)"
)
_SIZE = re.compile(r"([\d.,]+) ?([kKMGTP]?)(i?)(B|bytes)?")
_POWERS = {letter: power for power, letter in enumerate(("", "K", "M", "G", "T", "P"))}

# Kind of work, and the group `key` that distinguishes work of this kind (None without such a group).
_Key = tuple[str, str | None]
Begun = dict[_Key, list[str]]  # start times of work that has not ended, as written in the log


@dataclass(frozen=True, slots=True)
class Work:
    """One compaction, one flush, or other work that a log reports."""

    kind: str
    begin: float  # start in seconds since 1970, on the clock of the host
    end: float  # end in seconds since 1970, on the clock of the host
    bytes: float | None  # bytes written; None if the log does not report them
    amount: float | None = None  # amount in another unit; None if the log does not report it


@dataclass(frozen=True)
class ServerLog:
    """The content of the log of one process."""

    begin: float  # time of the first line in seconds since 1970; `end` is the time of the last line
    end: float
    work: list[Work] = field(default_factory=list)  # finished work, in the order in which it ended
    begun: list[tuple[str, float]] = field(default_factory=list)  # kind and start of unfinished work


class Lines(Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns of the lines about one kind of work: an entry of log.yml, or of healing.yml (see `healing`)."""

    files: str | list[str]
    end: str
    begin: str | None = None
    # Start that counts if several lines match `begin` before an end; "first" for work that continues after a restart.
    begins: Literal["first", "last", "each"] = "last"
    unit: str | None = None  # unit of the group `amount`
    # Pattern of a line that shows that the logs report this work; None if they always report it.
    where: str | None = None

    @property
    def states_duration(self) -> bool:
        """Returns whether the line at the end of the work states the duration, in a group `ms`."""
        return "ms" in _regex(self.end).groupindex


def lines_of(path: Path, warn: Warn) -> dict[str, Lines]:
    """Reads the patterns of a trial's log.yml or healing.yml; {} if it is missing. Warns if it is damaged."""
    kinds: Any = dict[Kind, Lines] if path.name == LOG else dict[str, Lines]
    try:
        lines_by_kind: dict[str, Lines] = msgspec.convert(plain_yaml.load(path) if path.is_file() else {}, kinds)
        for kind, lines in lines_by_kind.items():
            _check(kind, lines)
            is_keyed = all("key" in _regex(text or "").groupindex for text in (lines.begin, lines.end))
            if path.name == LOG and not (is_keyed or lines.states_duration):
                raise BadInputError(f"{kind}: 'end' needs a group 'ms', or 'begin' and 'end' need a group 'key'")
    except (msgspec.ValidationError, BadInputError) as error:
        warn(f"{path}: {error}")
        return {}
    return lines_by_kind


def _check(kind: str, lines: Lines) -> None:
    names = plain_yaml.as_list(lines.files)
    if not all(FILES.fullmatch(name) for name in names):
        raise BadInputError(f"{kind}: files: {names}: must be names of files in a host's folder")
    for name in ("end", "begin", "where"):
        pattern = getattr(lines, name)
        try:
            _regex(pattern or "")
        except (re2.error, TypeError, ValueError) as error:
            why = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else error
            raise BadInputError(f"{kind}: {name}: {pattern!r}: not a regular expression of RE2: {why}") from error


def _regex(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern with RE2. The annotation names Python's class, because RE2's class has no types."""
    options = re2.Options()
    options.log_errors = False  # otherwise RE2 would write errors to standard error as well
    compiled: re.Pattern[str] = re2.compile(pattern, options)
    return compiled


def processes(host: Path, kinds: Iterable[Lines]) -> list[list[Path]]:
    """Returns the logs of each process in a folder `server/HOST`, the oldest first. If a process was restarted, its
    earlier logs are LOG.1, LOG.2, …
    """
    logs: dict[str, dict[float, Path]] = {}
    names = {name for lines in kinds for name in plain_yaml.as_list(lines.files)}
    for path in {path for name in names for end in ("", ".[0-9]*") for path in host.glob(name + end)}:
        if path.is_file():
            number = path.suffix[1:]
            base, age = (path.stem, float(number)) if number.isdecimal() else (path.name, math.inf)
            logs.setdefault(base, {})[age] = path
    return [[logs[base][age] for age in sorted(logs[base])] for base in sorted(logs)]


def read(path: Path, kinds: Mapping[str, Lines], warn: Warn, begun: Begun | None = None) -> ServerLog | None:
    """Reads the log of one process. Returns None if no line has a time.

    :param begun: work that an earlier process left unfinished; on return, the work that this process left unfinished
    """
    first = last = None
    begun = {} if begun is None else begun
    work: list[Work] = []
    patterns = [
        (kind, spec.begins, None if spec.begin is None else _regex(spec.begin), _regex(spec.end))
        for kind, spec in kinds.items()
    ]
    for _, line in lines(path, warn):
        stamp = _STAMP.match(line)
        if not stamp:
            continue
        first, last = first or stamp[1], stamp[1]
        for kind, begins, begin, end in patterns:
            if begin and (match := begin.search(line, stamp.end())):
                stamps = begun.setdefault(_key(kind, match), [])
                if begins == "last":
                    stamps.clear()
                if begins != "first" or not stamps:
                    stamps.append(stamp[1])
            elif match := end.search(line, stamp.end()):
                work += _works(kind, match, begun if begin else None, stamp[1])
    since, until = _seconds(first), _seconds(last)
    unfinished = [
        (kind, time) for (kind, _), texts in begun.items() for text in texts if (time := _seconds(text)) is not None
    ]
    return None if since is None or until is None else ServerLog(since, until, work, unfinished)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Returns the total length of the union of spans, in their unit. A span is a pair of start and end."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def _key(kind: str, match: re.Match[str]) -> _Key:
    return kind, match.groupdict().get("key")


def _works(kind: str, match: re.Match[str], begun: Begun | None, stamp: str) -> list[Work]:
    """Returns the work whose end a line reports.

    :param begun: work that has begun; None if the log does not report starts, so that all work has duration 0
    """
    groups = match.groupdict()
    end = _seconds(stamp)
    if "ms" in groups:
        # A JVM may separate thousands with a character that depends on its locale.
        ms = number(re.sub(r"\D", "", groups["ms"]))
        begins = [end - ms / 1000 if end is not None and ms is not None else None]
    else:
        begins = [end] if begun is None else [_seconds(begin_stamp) for begin_stamp in begun.pop(_key(kind, match), [])]
    size, amount = _bytes(groups.get("size")), number(groups.get("amount"))
    # Leave out work that seems to end before it starts: the clock was set back.
    return [
        Work(kind, begin, end, size, amount)
        for begin in begins
        if begin is not None and end is not None and begin <= end
    ]


def _bytes(size: str | None) -> float | None:
    """Converts sizes such as 36623, `387.8 K` and `1.634KiB` (units of 1024), or `11kB` (units of 1000) to bytes."""
    match = _SIZE.fullmatch(size or "")
    if not match:
        return None
    digits, prefix, binary, unit = match.groups()
    value = number(digits.replace(",", "."))
    base = 1000.0 if unit == "B" and not binary else 1024.0
    return None if value is None else value * float(base ** _POWERS[prefix.upper()])


def _seconds(stamp: str | None) -> float | None:
    """Converts "2026-11-25 16:10:20,904", "2026-11-25  6:10:20" or "Nov 25 2026 16:10:20 GMT" to seconds since 1970."""
    if not stamp:
        return None
    try:
        if stamp.endswith("GMT"):
            time = datetime.strptime(stamp, "%b %d %Y %H:%M:%S GMT")
        else:
            time = datetime.fromisoformat(stamp.replace(",", ".").replace("  ", " 0"))
    except ValueError:
        return None
    return time.replace(tzinfo=UTC).timestamp()
