"""Figures that others have published of a scenario: a reference to print below ours, and nothing else.

They stand in `workloads/published/NAME.yml`, one file per scenario, whose form docs/workloads.md explains. An
experiment keeps copies of its files, so that the summary needs nothing but the experiment's own folder. They are of
other hardware and versions: no statistic of ours may take them in, which is why they are types of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from dohyo.bad_input import BadInputError, unknown
from dohyo.cluster_table import Grid
from dohyo.figures import COLUMNS, UNKNOWN
from dohyo.places import WORKLOADS
from dohyo.text_file import Warn

FOLDER = WORKLOADS / "published"
_ASCENDING = ("p50_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms")


@dataclass(frozen=True)
class Figure:
    """One published line. None: not published; nothing is computed from what is.

    :ivar of: what was measured, such as "A, 40 GB"
    :ivar system: the system, or its variant, in the publication's words
    :ivar seconds: how long the whole took
    """

    of: str
    system: str
    operations: int | None = None
    records: int | None = None
    ops_per_second: float | None = None
    records_per_second: float | None = None
    mean_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    p99_9_ms: float | None = None
    max_ms: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Published:
    """What was published of one scenario.

    :ivar name: of the file, without its ending
    :ivar facts: what is not a line of numbers, a sentence each
    """

    name: str
    title: str
    hardware: str
    versions: str
    conditions: str = ""
    figures: list[Figure] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """What a reader must know before the first number."""
        return f"published, on other hardware: {self.hardware} · {self.versions}"

    @property
    def grid(self) -> Grid | None:
        """The lines of numbers, in those columns of our own table in which any has one; None if there are none.

        Numbers stand as they were published: digits of ours would claim, or lose, some of theirs.
        """
        columns = {**{head: name for head, (name, _) in COLUMNS.items()}, "seconds": "seconds"}
        cells = {
            head: [UNKNOWN if number is None else f"{number:,}" for number in numbers]
            for head, name in columns.items()
            if any(numbers := [getattr(each, name, None) for each in self.figures])
        }
        lines = [
            [each.of, each.system, *(column[i] for column in cells.values())] for i, each in enumerate(self.figures)
        ]
        return Grid(self.heading, ["published", "system", *cells], lines) if lines else None

    @property
    def text(self) -> list[str]:
        """What else there is to say, a line each."""
        return [f"{self.title}: {self.conditions}" if self.conditions else self.title, *self.facts]


def files(scenario: str, named: str = "") -> list[Path]:
    """The files that belong to a scenario.

    :param scenario: its name, which is that of a file, or of none
    :param named: the property `published`: names of other files instead, separated by commas
    :raises BadInputError: if there is none of a given name
    """
    there = {path.stem: path for path in sorted(FOLDER.glob("*.yml"))}
    for name in filter(None, named.split(",")):
        if name not in there:
            raise unknown("published figures", name, there, "there are: " + ", ".join(there))
    return [there[name] for name in (named or scenario).split(",") if name in there]


def load(path: Path) -> Published:
    """Reads and checks a file of published figures.

    :raises BadInputError: naming the file, the line of figures, and what is wrong with it
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise BadInputError(f"cannot read the published figures {path}: {error}") from error
    try:
        _known(content, Published, optional=("conditions", "figures", "facts"), derived=("name",))
        lines = _list(content, "figures")
        found = Published(
            name=path.stem,
            **{key: _text(content, key) for key in content.keys() - {"figures", "facts"}},
            figures=[_figure(line, number) for number, line in enumerate(lines, start=1)],
            facts=[_sentence(fact) for fact in _list(content, "facts")],
        )
        if not found.figures and not found.facts:
            raise BadInputError("there are neither figures nor facts in it")
    except BadInputError as error:
        raise BadInputError(f"the published figures {path}: {error}") from error
    return found


def kept(folder: Path, warn: Warn) -> list[Published]:
    """The published figures whose files are in a folder, in the order of their names; a broken one is a warning."""
    found = []
    for path in sorted(folder.glob("*.yml")):
        try:
            found.append(load(path))
        except BadInputError as error:
            warn(str(error))
    return found


def _figure(line: Any, number: int) -> Figure:
    try:
        numbers = [each.name for each in fields(Figure)][2:]
        _known(line, Figure, optional=numbers)
        if not line.keys() & set(numbers):
            raise BadInputError("has no number; a sentence belongs to the facts")
        for key in line.keys() & set(numbers):
            counts = key in ("operations", "records")
            if type(line[key]) not in ((int,) if counts else (int, float)) or not 0 < line[key] < math.inf:
                raise BadInputError(f"{key}: {line[key]}: must be a {'whole ' if counts else ''}number above 0")
        ascending = [line[key] for key in _ASCENDING if key in line]
        if ascending != sorted(ascending) or line.get("mean_ms", 0) > line.get("max_ms", math.inf):
            raise BadInputError(f"{', '.join(key for key in _ASCENDING if key in line)} do not ascend")
        return Figure(_text(line, "of"), _text(line, "system"), **{key: line[key] for key in numbers if key in line})
    except BadInputError as error:
        raise BadInputError(f"line {number} of the figures: {error}") from error


def _known(content: Any, of: type, optional: Sequence[str], derived: Sequence[str] = ()) -> None:
    """Refuses an object with other keys than a type has fields, or without those that it must have."""
    if not isinstance(content, dict):
        raise BadInputError(f"{content!r}: must be a mapping of keys to values")
    allowed = [each.name for each in fields(of) if each.name not in derived]
    for key in content:
        if key not in allowed:
            raise unknown("key", str(key), allowed, "there are: " + ", ".join(allowed))
    for key in allowed:
        if key not in content and key not in optional:
            raise BadInputError(f"{key} is missing")


def _text(content: dict[str, Any], key: str) -> str:
    if not isinstance(content[key], str) or not content[key].strip():
        raise BadInputError(f"{key}: {content[key]}: must be some text; in quotes, where it would be a number")
    return " ".join(content[key].split())


def _list(content: dict[str, Any], key: str) -> list[Any]:
    found = content.get(key, [])
    if not isinstance(found, list):
        raise BadInputError(f"{key}: must be a list")
    return found


def _sentence(fact: Any) -> str:
    if not isinstance(fact, str):
        raise BadInputError(f"facts: {fact}: must be some text; in quotes, where it has a colon")
    return " ".join(fact.split())
