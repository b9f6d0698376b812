"""Finds out which client wrote a line, in logs that collectors, Ansible and containers make from clients' output.

A client's lines may have a prefix (`client-1 | `, `[host1] out: `, a log's time and name), follow a heading of Ansible
(`ok: [host1] => {`), pssh or dshbak, or be strings in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import loads

from dohyo.evidence.result_lines import RESULT

DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[:.,]\d{1,3}"
# Beginnings of lines of YCSB and go-ycsb; grep puts the file's name and a colon directly before them.
_BEGIN = re.compile(
    rf"(?<![^\s|:])(?:{RESULT}|Command line:|(?:{DATE} ?)?\d{{1,9}} sec: -?\d{{1,18}} operations;"
    r'|[A-Za-z][\w-]*+ +- Takes\(s\): |Run finished, takes |\*+ properties \*|"[\w.-]{1,100}"="'
    r'|[\[{]{0,2}"metric"\s*:|\[\{[^{}]*"Takes\(s\)")',
    re.MULTILINE,
)
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
# Words that do not name a client, such as numbers and times. Words that all of its lines have do, and so do addresses
# and `0: ` of srun --label.
_UNNAMED = re.compile(
    r"(?!\W*(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|\d{1,5}:$)(?:[^A-Za-z]*|\W*\d[\d:.,TZ+-]*\W*|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,?"
    r"|UTC|GMT|AM|PM|\S*\d{4}-\d\d-\d\d)"
)
_HEADING = re.compile(
    r"(?:ok|changed|failed|fatal): \[([^\]]+)\]|(\S+) \| (?:CHANGED|SUCCESS|FAILED)\b|(?:PLAY|TASK) "
    r"|\[\d+\] \d\d:\d\d:\d\d \[(?:SUCCESS|FAILURE)\] (\S+)"
)
_RULE = "-" * 16  # dshbak has one above and one below a host's name
# Label that YCSB puts before the date of its status lines.
_LABEL = re.compile(r" -(?:l |p label=)(.+?)(?= -(?:P|p|db|s|t|l|load|threads|target)\b|\s*$)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"')


class Sources:
    """Distinguishes the clients in one file.

    A line of a client has a source, the text that identifies the client in the file; other lines have None.
    """

    def __init__(self) -> None:
        self._heading = ""
        self._earlier = ("", "")  # the two lines before
        self._labels: set[str] = set()
        self._prefixes: dict[str, tuple[str, str]] = {}  # first word of a prefix -> source and prefix of its lines
        self._shown: set[str] = set()  # lines of a multi-line text below this heading; Ansible may repeat them

    def lines(self, line: str) -> Iterator[tuple[str | None, str]]:
        """Yields the lines of clients in a line of the file."""
        if "\x1b" in line:
            line = _COLOUR.sub("", line)
        if (heading := self._heading_of(line)) is not None:
            self._heading, self._shown = heading, set()
        if '"' in line and (found := self._strings(line)) is not None:
            yield from (self._line(text) for text in found)
        else:
            yield self._line(line)

    def _heading_of(self, line: str) -> str | None:
        if heading := _HEADING.match(line):
            return next(filter(None, heading.groups()), "")
        rule, name = self._earlier
        self._earlier = (name, line.strip())
        return name if name and self._earlier[1] == rule == _RULE else None

    def _line(self, line: str) -> tuple[str | None, str]:
        if self._labels:
            line = re.sub(rf"(?<!\S)(?:{'|'.join(sorted(self._labels))})\s*(?={DATE})", "", line)
        begin = _BEGIN.search(line)
        if begin is None or "], " in line[: begin.start()]:
            return self._prefixed(line)
        before, text = line[: begin.start()], line[begin.start() :]
        words = before.split()
        named = [word for word in words if not _UNNAMED.fullmatch(word)]
        source = " ".join(filter(None, [self._heading, *named]))
        if words and words == named:
            self._prefixes[words[0]] = source, before.rstrip()
        if text.startswith("Command line:") and (label := _LABEL.search(text)):
            self._labels.add(re.escape(label[1].strip()))
        return source, text

    def _prefixed(self, line: str) -> tuple[str | None, str]:
        """Assigns a line that does not look like YCSB's, such as a row of a table or a member of a JSON object."""
        if self._prefixes and (words := line.split(maxsplit=1)) and (of := self._prefixes.get(words[0])):
            source, prefix = of
            rest = line.removeprefix(prefix)
            if rest != line and rest[:1].isspace():
                return source, rest.lstrip(" \t")
        return None, line

    def _strings(self, line: str) -> list[str] | None:
        """Returns the lines in the strings of JSON; None if no string has lines of a client."""
        texts = [text for each in _STRING.findall(line) if (text := _unescaped(each)) and _BEGIN.search(text)]
        if not texts:
            return None
        # Ansible writes the output twice: as one text and line by line.
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
