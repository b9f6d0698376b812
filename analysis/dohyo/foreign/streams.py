"""Finds the client that wrote each line of a log. Ansible, containers or log collectors may merge clients' output.

A client's lines may have a prefix (`client-1 | `, `[host1] out: `, a log's time and name), follow a heading of Ansible
(`ok: [host1] => {`), pssh or dshbak, or be strings in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import loads

from dohyo.evidence.result_lines import RESULT

DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[:.,]\d{1,3}"
# How lines of YCSB and go-ycsb begin. A colon may come first, because grep puts "FILE:" in front of each line.
_BEGIN = re.compile(
    rf"(?<![^\s|:])(?:{RESULT}|Command line:|(?:{DATE} ?)?\d{{1,9}} sec: -?\d{{1,18}} operations;"
    r'|[A-Za-z][\w-]*+ +- Takes\(s\): |Run finished, takes |\*+ properties \*|"[\w.-]{1,100}"="'
    r'|[\[{]{0,2}"metric"\s*:|\[\{[^{}]*"Takes\(s\)")',
    re.MULTILINE,
)
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
# Words that do not name a client, such as numbers and times. IP addresses, and `0:` (from srun --label), do name one.
_UNNAMED = re.compile(
    r"(?!\W*(?:\d{1,3}\.){3}\d{1,3}(?![\w.])|\d{1,5}:$)(?:[^A-Za-z]*|\W*\d[\d:.,TZ+-]*\W*|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,?"
    r"|UTC|GMT|AM|PM|\S*\d{4}-\d\d-\d\d)"
)
_HEADING = re.compile(
    r"(?:ok|changed|failed|fatal): \[([^\]]+)\]|(\S+) \| (?:CHANGED|SUCCESS|FAILED)\b|(?:PLAY|TASK) "
    r"|\[\d+\] \d\d:\d\d:\d\d \[(?:SUCCESS|FAILURE)\] (\S+)"
)
_RULE = "-" * 16  # dshbak prints such a line above and below a host's name
# Label that YCSB puts before the date of its status lines.
_LABEL = re.compile(r" -(?:l |p label=)(.+?)(?= -(?:P|p|db|s|t|l|load|threads|target)\b|\s*$)")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"')


class Sources:
    """Distinguishes the clients whose output is in one file.

    A client's source is the text that identifies it in the file.
    """

    def __init__(self) -> None:
        self._heading = ""
        self._earlier = ("", "")  # the previous two lines
        self._labels: set[str] = set()
        self._prefixes: dict[str, tuple[str, str]] = {}  # first word of a prefix -> source, and the whole prefix
        self._shown: set[str] = set()  # lines of multi-line texts, which Ansible may repeat below the heading

    def lines(self, line: str) -> Iterator[tuple[str | None, str]]:
        """Yields the lines of client output in a line of the file, each with its source (None if not recognised)."""
        if "\x1b" in line:
            line = _COLOUR.sub("", line)
        if (heading := self._heading_of(line)) is not None:
            self._heading, self._shown = heading, set()
        if '"' in line and (texts := self._strings(line)) is not None:
            yield from (self._line(text) for text in texts)
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
        tokens = before.split()
        named = [word for word in tokens if not _UNNAMED.fullmatch(word)]
        source = " ".join(filter(None, [self._heading, *named]))
        if tokens and tokens == named:
            self._prefixes[tokens[0]] = source, before.rstrip()
        if text.startswith("Command line:") and (label := _LABEL.search(text)):
            self._labels.add(re.escape(label[1].strip()))
        return source, text

    def _prefixed(self, line: str) -> tuple[str | None, str]:
        """Assigns a line to a source only by its prefix. Such lines are rows of a table or members of a JSON object."""
        if self._prefixes and (tokens := line.split(maxsplit=1)) and (entry := self._prefixes.get(tokens[0])):
            source, prefix = entry
            rest = line.removeprefix(prefix)
            if rest != line and rest[:1].isspace():
                return source, rest.lstrip(" \t")
        return None, line

    def _strings(self, line: str) -> list[str] | None:
        """Returns the clients' lines in JSON strings, or None if no string contains such a line."""
        texts = [text for string in _STRING.findall(line) if (text := _unescaped(string)) and _BEGIN.search(text)]
        if not texts:
            return None
        # Skip the repetition: Ansible writes the output as one string, and then again line by line.
        if whole := [text for text in texts if "\n" in text.strip()]:
            texts = [part for text in whole for part in text.splitlines()]
            self._shown.update(texts)
        else:
            texts = [text.rstrip("\n") for text in texts if text.rstrip("\n") not in self._shown]
        return [f"{text}\n" for text in texts]


def _unescaped(text: str) -> str | None:
    try:
        return str(loads(f'"{text}"'))
    except ValueError:
        return None
