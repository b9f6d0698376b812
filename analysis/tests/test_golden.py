"""Compares the output for ten recorded experiments with the golden files.

`DOHYO_GOLDEN=write pytest tests/test_golden.py` rewrites the files. Check the difference before you commit it.
"""

import csv
import difflib
import io
import itertools
import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dohyo.foreign import page as foreign_page
from dohyo.places import ROOT
from dohyo.report import page
from dohyo.report.chart_data import read
from dohyo.report.grammar import Chart, Panel, rows
from dohyo.summary import regression
from dohyo.summary.summary import summarise
from dohyo.tables import changes_table
from dohyo.tables.files import write
from support import evidence
from support.evidence import on_screen, rendered
from support.golden_cases import CASES, Case

GOLDEN = Path(__file__).parent / "golden"
WIDTH = 120
_MOST_LINES, _MOST_ROWS, _MOST_OBJECTS = 3, 3, 1
# Numbers whose last digits may depend on the version of a mathematical library.
_LONG_NUMBER = re.compile(r"\d+\.\d{6,}(e-?\d+)?")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_is_shown_is_as_in_the_golden_files(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TERM", "xterm")  # rich limits a dumb terminal to 80 columns
    monkeypatch.setattr(evidence, "_RUNS", itertools.count(1))  # otherwise, earlier tests affect the count
    folder = tmp_path / case.__name__
    folder.mkdir()
    case(folder)
    shown = {name: _normal(text, tmp_path) for name, text in _shown(folder).items()}
    golden = GOLDEN / case.__name__
    if os.environ.get("DOHYO_GOLDEN") == "write":
        _write(golden, shown)
    golden_texts = {path.name: path.read_text("utf-8") for path in golden.iterdir()}
    differences = [
        line
        for name in sorted({*golden_texts, *shown})
        for line in difflib.unified_diff(
            golden_texts.get(name, "").splitlines(),
            shown.get(name, "").splitlines(),
            f"golden/{case.__name__}/{name}{'' if name in golden_texts else ' (missing)'}",
            f"now {name}{'' if name in shown else ' (is not written any more)'}",
            lineterm="",
        )
    ]
    if golden_texts != shown:
        pytest.fail("\n".join(["DOHYO_GOLDEN=write accepts this:", *differences]), pytrace=False)


def test_every_golden_file_is_of_a_case() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(case.__name__ for case in CASES)


def _write(golden: Path, shown: dict[str, str]) -> None:
    golden.mkdir(parents=True, exist_ok=True)
    for old in golden.iterdir():
        old.unlink()
    for name, text in shown.items():
        (golden / name).write_text(text, encoding="utf-8")


def _normal(text: str, folder: Path) -> str:
    """Returns the text without local paths, uncertain digits, or spaces at the ends of lines."""
    text = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", text.replace(f"{folder}/", ""))
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _shown(folder: Path) -> dict[str, str]:
    """Returns the contents of all golden files by file name."""
    if (folder / "after").is_dir():
        console = Console(width=WIDTH, color_system=None, file=io.StringIO())
        before, after = (summarise(folder / name) for name in ("before", "after"))
        changes_table.render(regression.compare(before, after), console)
        assert isinstance(console.file, io.StringIO)
        return {"compare.txt": console.file.getvalue()}
    if (folder / "raw").is_dir():
        measured = read(folder)
        summary = measured.summary
        write(summary, folder)
        report = page.gather(folder, measured)
    else:
        report = foreign_page.gather(folder)
        summary = report.summary
        write(summary, folder)
    files = {
        name: "\n".join(lines[:_MOST_LINES] + [f"{len(lines)} lines"] * (len(lines) > _MOST_LINES))
        for name in ("load.csv", "servers.csv", "hosts.csv")
        if len(lines := (folder / name).read_text("utf-8").splitlines()) > 1
    }
    content = json.loads((folder / "summary.json").read_text("utf-8"))
    return {
        "screen.txt": on_screen(summary),
        "details.txt": rendered(summary, WIDTH),
        "summary.md": (folder / "summary.md").read_text("utf-8"),
        "summary.csv": "\n".join(_first_of_each((folder / "summary.csv").read_text("utf-8"))),
        "summary.json": "\n".join(_lines(_lean(content))),
        "charts.txt": "\n".join(line for chart in report.charts for line in _chart(chart)),
        **({"details-80.txt": rendered(summary, 80)} if folder.name == "ranking" else {}),
        **files,
    }


def _first_of_each(text: str) -> Iterator[str]:
    """Yields the header line of summary.csv, and the first two lines for each combination of trial, scope and phase."""
    head, *lines = text.splitlines()
    yield head
    counts = Counter[tuple[str, ...]]()
    for line, cells in zip(lines, csv.DictReader(io.StringIO(text)), strict=True):
        key = (cells["trial"], cells["scope"], cells["phase"])
        counts[key] += 1
        if counts[key] <= 2:
            yield line


def _lean(value: Any) -> Any:
    """Returns JSON without unknown values, with fewer digits, and with only the first object of each list."""
    if isinstance(value, dict):
        return {key: lean for key, item in value.items() if (lean := _lean(item)) not in (None, "", [], {})}
    if not isinstance(value, list):
        return float(f"{value:.6g}") if isinstance(value, float) else value
    most = _MOST_OBJECTS if value and isinstance(value[0], dict) else len(value)
    return [*map(_lean, value[:most]), *([f"{len(value)} in all"] if len(value) > most else [])]


def _lines(value: Any, before: str = "", indent: str = "") -> Iterator[str]:
    """Yields a JSON value in lines. A value that fits on one line is not split."""
    whole = f"{indent}{before}{json.dumps(value, ensure_ascii=False)}"
    if len(whole) <= WIDTH or not re.search(r"\{|\[\[", whole[len(indent) + len(before) + 1 :]):
        yield from textwrap.wrap(whole, WIDTH, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
        return
    items = value.items() if isinstance(value, dict) else (("", item) for item in value)
    yield f"{indent}{before}{'{' if isinstance(value, dict) else '['}"
    for key, item in items:
        yield from _lines(item, f"{json.dumps(key)}: " if key else "", f"{indent} ")
    yield indent + ("}" if isinstance(value, dict) else "]")


def _chart(chart: Chart) -> Iterator[str]:
    """Yields a chart as text: its description, marks and axes, and the first rows of its data."""
    yield f"# {chart.name}: {chart.title}"
    yield chart.missing or chart.question
    for panel in chart.panels:
        yield f"- {panel.title}: {panel.says}"
        yield f"  {_drawn(panel)}"
    for name, table in chart.tables.items():
        lines = rows(table)
        yield f"{name}: {len(lines)} rows"
        yield from (json.dumps(row, ensure_ascii=False) for row in lines[:_MOST_ROWS])
    yield ""


def _drawn(panel: Panel) -> str:
    layers = panel.spec.get("layer", [panel.spec])
    marks = [layer["mark"]["type"] if isinstance(layer["mark"], dict) else layer["mark"] for layer in layers]
    encoded = {**panel.spec.get("encoding", {}), **layers[0].get("encoding", {})}
    axes = {name: channel.get("title") or channel.get("field") for name in ("x", "y") if (channel := encoded.get(name))}
    order = encoded["y"].get("sort") or "" if encoded.get("y") else ""
    return f"{', '.join(marks)}; {axes} {order}; {panel.domains}"
