"""Reads the garbage collector's pauses from a JVM's log.

All collectors in docs/versions.md write one of two formats. Unified logging (JDK 9 and later, JEP 158 and 271;
`-Xlog:gc*:…:time,uptime`) writes the time at which a pause ends. JDK 8 (`-XX:+PrintGCDateStamps`) writes the time at
which it starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dohyo.evidence.text_file import Warn, lines

_UNIFIED = re.compile(r"\[(?P<time>\d{4}-[^\]]+)\]")
# ZGC writes the generation before "Pause": Y, y (within a major collection) or O.
_UNIFIED_PAUSE = re.compile(r"GC\((?P<id>\d{1,18})\) (?:[YyOo]: )?Pause .*?(?: (?P<ms>\d{1,18}(?:\.\d+)?)ms)?$")
_JDK8 = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT[^ ]+): ")
_JDK8_PAUSE = re.compile(r"\[(?:Full )?GC (?!concurrent-)")
# The total time of a pause. Unlike the times of its parts, it is followed by the CPU times or by the end of the line.
_JDK8_SECONDS = re.compile(r", (?P<seconds>\d{1,18}\.\d+) secs\](?= \[Times: |$)")


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause in which the collector stopped all threads of the application."""

    begin: float  # start in seconds since 1970, on the clock of the host
    ms: float  # length in ms

    @property
    def end(self) -> float:
        """Returns the end in seconds since 1970, on the clock of the host."""
        return self.begin + self.ms / 1000


def read(paths: Iterable[Path], warn: Warn) -> tuple[float, list[Pause]] | None:
    """Reads all log files of one JVM, including rotated ones.

    :returns: the time of the oldest line in seconds since 1970 (rotation may have deleted older lines), and the pauses
        in chronological order; None if no file is a garbage collection log
    """
    begins: list[float] = []
    pauses: list[Pause] = []
    for path in paths:
        collections = _Collections()
        pauses += collections.pauses(line.rstrip() for _, line in lines(path, warn))
        if collections.begin is None:
            warn(f"{path}: contains no line of a JVM's garbage collection log")
        else:
            begins.append(collections.begin)
    return (min(begins), sorted(pauses, key=lambda pause: pause.begin)) if begins else None


class _Collections:
    """Parses the lines of one log file."""

    def __init__(self) -> None:
        self.begin: float | None = None
        self._open: set[int] = set()  # unified logging: IDs of the collections whose pause has not ended
        self._since: float | None = None  # JDK 8: start of a pause whose line is interrupted by other output

    def pauses(self, text: Iterable[str]) -> Iterator[Pause]:
        for line in text:
            unified = _UNIFIED.match(line)
            stamp = unified or _JDK8.match(line)
            if self.begin is None and stamp:
                self.begin = _seconds(stamp)
            if unified:
                if pause := _UNIFIED_PAUSE.search(line, unified.end()):
                    yield from self._unified(unified, pause)
            elif stamp or self._since is not None:
                yield from self._jdk8(stamp, line)

    def _unified(self, stamp: re.Match[str], pause: re.Match[str]) -> Iterator[Pause]:
        number = int(pause["id"])
        if pause["ms"] is None:
            self._open.add(number)
            return
        self._open.discard(number)
        end = _seconds(stamp)
        # Skip a full collection within the pause of a failed young collection: that pause includes it.
        if end is not None and not any(other < number for other in self._open):
            ms = float(pause["ms"])
            yield Pause(end - ms / 1000, ms)

    def _jdk8(self, stamp: re.Match[str] | None, line: str) -> Iterator[Pause]:
        if stamp and _JDK8_PAUSE.search(line):
            self._since = _seconds(stamp)
        # The total is at the end of the line. A concurrent phase that ends during the pause splits the line in two.
        if self._since is not None and (whole := _JDK8_SECONDS.search(line)):
            yield Pause(self._since, float(whole["seconds"]) * 1000)
            self._since = None


def _seconds(stamp: re.Match[str]) -> float | None:
    try:
        time = datetime.fromisoformat(stamp["time"])
    except ValueError:
        return None
    return time.timestamp() if time.tzinfo else None
