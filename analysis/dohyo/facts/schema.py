"""Defines the tables of a database of facts. `python -m dohyo.facts.schema` prints the description in docs/facts.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dohyo.metrics import METRICS, PERCENTILES, table

_FILE = Path(__file__).with_name("schema.sql")
_TYPES = {"integer": "integer", "number": "real", "boolean": "integer"}
_TABLE = re.compile(r"^-- (?P<about>[^\n]*)\ncreate table (?P<name>\w+) \(\n(?P<body>.*?)^\)", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(
    r"    (?P<name>\w+) (?P<type>integer|real|text|blob|any)\b(?P<more>[^-]*)"
    r"(-- (\[(?P<unit>[^\]]+)\] ?)?(?P<about>.*))?"
)
_KEY = re.compile(r"primary key \((.+)\)")


def statements() -> str:
    """Returns the SQL statements that create the tables, with columns for the metrics of `dohyo.metrics.Row`."""
    percentiles = [
        f"{name} real, -- [ms] the {percentile:g} % point of the histogram; null: fewer than 10 operations beyond it"
        for name, percentile in PERCENTILES.items()
    ]
    metrics = [f"{metric.name} {_TYPES.get(metric.kind, 'text')}," for metric in METRICS.values()]
    text = _FILE.read_text(encoding="utf-8")
    return text.replace("PERCENTILES", "\n    ".join(percentiles)).replace("METRICS", "\n    ".join(metrics))


def reference() -> str:
    """Returns the description of all tables as Markdown."""
    return "\n".join(line for match in _TABLE.finditer(statements()) for line in _described(**match.groupdict()))


def _described(name: str, about: str, body: str) -> Iterator[str]:
    yield from (f"### {name}", "", about, "")
    lines = []
    for line in body.splitlines():
        column = _COLUMN.fullmatch(line)
        if column is None or (name == "row" and column["name"] in METRICS):
            continue
        key = "primary key" if "primary key" in column["more"] else ""
        target = re.search(r"references (\w+)", column["more"])
        meaning = [key, f"of [{target[1]}](#{target[1]})" if target else "", column["about"] or ""]
        lines.append((f"`{column['name']}`", column["type"], column["unit"] or "", "; ".join(filter(None, meaning))))
    yield table(("column", "type", "unit", "meaning"), lines)
    if match := _KEY.search(body):
        yield from (f"Primary key: {match[1]}.", "")


if __name__ == "__main__":
    print(reference(), end="")
