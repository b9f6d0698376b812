"""Tells which client wrote a line, in logs that collectors, Ansible and containers make of the output of clients.

A client's lines may have something before them (`client-1 | `, `[host1] out: `, a log's time and name), stand below a
heading of Ansible (`ok: [host1] => {`), or be strings in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import loads
from typing import NamedTuple

from dohyo.evidence.result_lines import RESULT

DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[:.,]\d{1,3}"
# How lines of YCSB and go-ycsb begin.
_BEGIN = re.compile(
    rf"(?<![^\s|])(?:{RESULT}|Command line:|(?:{DATE} ?)?\d{{1,9}} sec: -?\d{{1,18}} operations;"
    r'|[A-Za-z][\w-]*+ +- Takes\(s\): |Run finished, takes |\*+ properties \*|"[\w.-]{1,100}"="'
    r'|[\[{]{0,2}"metric"\s*:|\[\{[^{}]*"Takes\(s\)")',
    re.MULTILINE,
)
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
# Words that are the same for all lines of a client name it; numbers and times are not.
_UNNAMED = re.compile(
    r"[^A-Za-z]*|\W*\d[\d:.,TZ+-]*\W*|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,?"
    r"|UTC|GMT|AM|PM"
)
_HEADING = re.compile(r"(?:ok|changed|failed|fatal): \[([^\]]+)\]|(\S+) \| (?:CHANGED|SUCCESS|FAILED)\b|(?:PLAY|TASK) ")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"')


class SourcedLine(NamedTuple):
    """A line of a client.

    :ivar source: what tells its client from others in the file; None: nothing, as of lines that are not YCSB's
    """

    source: str | None
    text: str


class Sources:
    """Tells the clients in one file apart."""

    def __init__(self) -> None:
        self._heading = ""
        self._shown: set[str] = set()  # lines below this heading that JSON has as one text, and may have once more

    def lines(self, line: str) -> Iterator[SourcedLine]:
        """Yields what a client wrote into a line of the file."""
        if "\x1b" in line:
            line = _COLOUR.sub("", line)
        if heading := _HEADING.match(line):
            self._heading, self._shown = heading[1] or heading[2] or "", set()
        if '"' in line and (found := self._strings(line)) is not None:
            yield from (self._line(text) for text in found)
        else:
            yield self._line(line)

    def _line(self, line: str) -> SourcedLine:
        begin = _BEGIN.search(line)
        if begin is None or "], " in line[: begin.start()]:
            return SourcedLine(None, line)
        before = [word for word in line[: begin.start()].split() if not _UNNAMED.fullmatch(word)]
        return SourcedLine(" ".join(filter(None, [self._heading, *before])), line[begin.start() :])

    def _strings(self, line: str) -> list[str] | None:
        """Returns the lines in the strings of JSON; None if none of them is of a client."""
        texts = [text for each in _STRING.findall(line) if (text := _unescaped(each)) and _BEGIN.search(text)]
        if not texts:
            return None
        # Ansible writes the output twice: as one text, and line by line.
        if whole := [text for text in texts if "\n" in text.strip()]:
            texts = [each for text in whole for each in text.splitlines()]
            self._shown.update(texts)
        else:
            texts = [text.rstrip("\n") for text in texts if text.rstrip("\n") not in self._shown]
        return [f"{text}\n" for text in texts]


def _unescaped(text: str) -> str | None:
    try:
        return str(loads(f'"{text}"'))
    except ValueError:
        return None
