"""Reads figures that others published about a scenario; they are printed below or beside our results for reference.

They are in `workloads/published/NAME.yml`, one file per scenario; docs/workloads.md has an example. An
experiment keeps copies of its files, so that the summary needs only the experiment's folder. The figures come from
other hardware and versions. Their types are separate from those of our results, so no statistic can mix the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from pathlib import Path
from typing import Any

from dohyo import plain_yaml
from dohyo.bad_input import BadInputError, unknown
from dohyo.metrics import METRICS
from dohyo.places import WORKLOADS
from dohyo.scenario import setup
from dohyo.scenario.setup import Setting

FOLDER = WORKLOADS / "published"
# Metrics in the table of our results, except errors.
MEASURED = [metric.name for metric in METRICS.values() if metric.part in ("rates", "latencies")]
_NUMBERS = (*MEASURED, "seconds")
_FIGURES = (*_NUMBERS, "l1_cache_hit_ratio")
_ASCENDING = [name for name in MEASURED if METRICS[name].unit == "ms" and name != "mean_ms"]


_Numbers: Any = make_dataclass(
    "_Numbers",
    [
        *(("of", str), ("system", str)),
        *((name, int | None if METRICS[name].kind == "integer" else float | None, None) for name in MEASURED),
    ],
    frozen=True,
)


@dataclass(frozen=True)
class PublishedFigure(_Numbers):  # type: ignore[misc]  # its fields come from the metrics
    """One published line: a value for each metric in `MEASURED`, or None if it was not published.

    :ivar of: name of the measurement, such as "A, 40 GB"
    :ivar system: the system or its variant, as the publication calls it
    :ivar seconds: duration of the whole measurement
    :ivar l1_cache_hit_ratio: one ratio from 0 to 1, or the lowest and the highest
    :ivar at: values by dimension of a table; the line is shown beside our row with these values
    :ivar operation: operation type of the count and the latencies; if empty, the latencies are those of the table's
        type, and the count includes all operations
    :ivar per_client: whether counts and rates are given for one client instead of all
    """

    seconds: float | None = None
    l1_cache_hit_ratio: list[float] | None = None
    at: dict[str, list[str]] = field(default_factory=dict)
    operation: str = ""
    per_client: bool = False


@dataclass(frozen=True)
class Table:
    """The form of a published table. Our results are shown in the same form.

    :ivar rows: keys of a row: dimensions of the matrix, `phase`, `system`
    :ivar columns: names of metrics as in a figure. `READ p99_ms` refers to one operation type; otherwise counts and
        rates refer to all operations, and latencies to the only type or to `operation`
    :ivar operation: type whose latencies are shown for a phase with several types
    :ivar phases: phases to show, in order; empty for all except the load
    :ivar highest: whether a row shows only our point with the highest rate; otherwise each further dimension of the
        matrix adds rows
    :ivar at: values by dimension that restrict our points; empty for all points
    """

    rows: list[str]
    columns: list[str]
    operation: str = ""
    phases: list[str] = field(default_factory=list)
    highest: bool = False
    at: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """All figures and facts that a file publishes about one scenario.

    :ivar name: name of the file without its extension
    :ivar title: title of the publication
    :ivar facts: sentences about results that are not in the figures
    :ivar setup: published setup, for a comparison with this experiment's
    """

    name: str
    title: str
    hardware: str
    versions: str
    conditions: str = ""
    tables: list[Table] = field(default_factory=list)
    figures: list[PublishedFigure] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    setup: list[Setting] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """Returns the heading with the hardware and the versions, which readers must see before the numbers."""
        return f"published, on other hardware: {self.hardware} · {self.versions}"

    def table_of(self, figure: PublishedFigure) -> Table | None:
        """Returns the first table whose rows have all dimensions of the figure, or None."""
        return next((table for table in self.tables if figure.at and figure.at.keys() <= set(table.rows)), None)

    @property
    def text(self) -> list[str]:
        """Returns the title with the conditions, and then the facts, as lines of text."""
        return [f"{self.title}: {self.conditions}" if self.conditions else self.title, *self.facts]


def files(scenario: str, names: str = "") -> list[Path]:
    """Returns the files for a scenario.

    :param scenario: name of the scenario; its own file, if it exists, has the same name
    :param names: value of the property `published`: names of the files to use instead, separated by commas
    :raises BadInputError: if a named file does not exist
    """
    by_name = {path.stem: path for path in sorted(FOLDER.glob("*.yml"))}
    for name in filter(None, names.split(",")):
        if name not in by_name:
            raise unknown("published figures", name, by_name)
    return [by_name[name] for name in (names or scenario).split(",") if name in by_name]


# Exclusive maximum of numbers, because readers of summary.json may have only 64-bit integers.
_LARGEST = 2**63


def load(path: Path) -> Published:
    """Reads and checks a file of published figures.

    :raises BadInputError: naming the file, the line of figures and what is wrong with it
    """
    try:
        content = plain_yaml.load(path)
        _known(content, Published, derived=("name",))
        lines = _list(content, "figures")
        published = Published(
            name=path.stem,
            **{key: _text(content, key) for key in content.keys() - {"tables", "figures", "facts", "setup"}},
            tables=[_table(table, number) for number, table in enumerate(_list(content, "tables"), start=1)],
            figures=[_figure(line, number) for number, line in enumerate(lines, start=1)],
            facts=[_sentence(fact) for fact in _list(content, "facts")],
            setup=setup.parts(_list(content, "setup"), _at),
        )
        for number, figure in enumerate(published.figures, start=1):
            if figure.at and not published.table_of(figure):
                raise BadInputError(f"line {number} of the figures: at: {', '.join(figure.at)}: no table has such rows")
        if not published.figures and not published.facts:
            raise BadInputError("it contains neither figures nor facts")
    except BadInputError as error:
        raise BadInputError(f"the published figures {path}: {error}") from error
    return published


def kept(folder: Path, warn: Callable[[str], None]) -> list[Published]:
    """Returns the published figures in a folder, sorted by file name; warns of broken files."""
    published = []
    for path in sorted(folder.glob("*.yml")):
        try:
            published.append(load(path))
        except BadInputError as error:
            warn(str(error))
    return published


def _figure(line: Any, number: int) -> PublishedFigure:
    try:
        _known(line, PublishedFigure)
        if not line.keys() & set(_FIGURES):
            raise BadInputError("contains no number; put sentences under facts")
        for key in line.keys() & set(_NUMBERS):
            counts = key in METRICS and METRICS[key].kind == "integer"
            if type(line[key]) not in ((int,) if counts else (int, float)) or not 0 < line[key] < _LARGEST:
                value = "too large" if isinstance(line[key], int) and line[key] >= _LARGEST else str(line[key])
                raise BadInputError(f"{key}: {value}: must be a {'whole ' if counts else ''}number above 0, below 2^63")
        ascending = [line[key] for key in _ASCENDING if key in line]
        if ascending != sorted(ascending) or line.get("mean_ms", 0) > line.get("max_ms", math.inf):
            raise BadInputError(f"{', '.join(key for key in _ASCENDING if key in line)} must ascend in this order")
        return PublishedFigure(
            _text(line, "of"),
            _text(line, "system"),
            **{key: line[key] for key in _NUMBERS if key in line},
            l1_cache_hit_ratio=_ratio(line),
            at=_at(line.get("at", {})),
            operation=_text(line, "operation") if "operation" in line else "",
            per_client=_flag(line, "per_client"),
        )
    except BadInputError as error:
        raise BadInputError(f"line {number} of the figures: {error}") from error


def _ratio(line: dict[str, Any]) -> list[float] | None:
    if "l1_cache_hit_ratio" not in line:
        return None
    ratio = line["l1_cache_hit_ratio"]
    values = ratio if isinstance(ratio, list) else [ratio]
    numbers = all(type(value) in (int, float) and 0 <= value <= 1 for value in values)
    if not numbers or len(values) not in (1, 2) or values != sorted(values):
        raise BadInputError(
            f"l1_cache_hit_ratio: {ratio}: must be a number from 0 to 1, or a list of minimum and maximum"
        )
    return values


def _at(content: Any) -> dict[str, list[str]]:
    if not isinstance(content, dict):
        raise BadInputError(f"at: {content}: must be a mapping of dimensions to values")
    return {
        str(key): [str(item) for item in (value if isinstance(value, list) else [value])]
        for key, value in content.items()
    }


def _table(content: Any, number: int) -> Table:
    try:
        _known(content, Table)
        table = Table(
            rows=[str(item) for item in _list(content, "rows")],
            columns=[str(item) for item in _list(content, "columns")],
            operation=_text(content, "operation") if "operation" in content else "",
            phases=[str(item) for item in _list(content, "phases")],
            highest=_flag(content, "highest"),
            at=_at(content.get("at", {})),
        )
        for key in ("rows", "columns"):
            if not getattr(table, key):
                raise BadInputError(f"{key}: must not be empty")
        for column in table.columns:
            if (name := column.rpartition(" ")[2]) not in _FIGURES:
                raise unknown("column", name, _FIGURES)
    except BadInputError as error:
        raise BadInputError(f"table {number}: {error}") from error
    return table


def _known(content: Any, record: type, derived: Sequence[str] = ()) -> None:
    """Raises BadInputError if a mapping has keys that a type does not have, or lacks those without a default."""
    if not isinstance(content, dict):
        raise BadInputError(f"{content!r}: must be a mapping of keys to values")
    allowed = [entry for entry in fields(record) if entry.name not in derived]
    for key in content:
        if key not in [entry.name for entry in allowed]:
            raise unknown("key", str(key), [entry.name for entry in allowed])
    for entry in allowed:
        if entry.name not in content and entry.default is entry.default_factory is MISSING:
            raise BadInputError(f"{entry.name} is missing")


def _text(content: dict[str, Any], key: str) -> str:
    if not isinstance(content[key], str) or not content[key].strip():
        raise BadInputError(f"{key}: {content[key]}: must be text; put a number in quotes")
    return " ".join(content[key].split())


def _flag(content: dict[str, Any], key: str) -> bool:
    if not isinstance(value := content.get(key, False), bool):
        raise BadInputError(f"{key}: {value}: must be true or false")
    return value


def _list(content: dict[str, Any], key: str) -> list[Any]:
    value = content.get(key, [])
    if not isinstance(value, list):
        raise BadInputError(f"{key}: must be a list")
    return value


def _sentence(fact: Any) -> str:
    if not isinstance(fact, str):
        raise BadInputError(f"facts: {fact}: must be text; put text that contains a colon in quotes")
    return " ".join(fact.split())
