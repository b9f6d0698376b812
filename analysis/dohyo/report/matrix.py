"""Builds views of the matrix. Any two dimensions form the axes; combinations of the others have separate rows."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from dohyo.figures import UNKNOWN
from dohyo.metrics import METRICS
from dohyo.operations import INTENDED
from dohyo.report.grammar import Chart, Panel, Spec, layer, quantity, rows_of
from dohyo.report.material import significant
from dohyo.summary.results import Summary
from dohyo.tables.grid import Grid
from dohyo.tables.table import is_shown

# Metrics that a matrix view can show.
_SHOWN = sorted(
    (metric for metric in METRICS.values() if metric.part in ("rates", "latencies") and metric.unit),
    key=lambda metric: metric.head != "rec/s",  # rec/s first, because the page begins with the first metric
)
# Metrics that are drawn in files. All metrics for each pair of dimensions would need too many files.
_IN_FILES = {"rec/s": "records per second", "p99": "p99 in ms"}


def matrix(summary: Summary) -> dict[str, Any]:
    """Returns the data for matrix views: dimensions, metrics, and one entry per row of the results."""
    shown = [
        (trial, row)
        for trial in summary.compared
        for row in trial.measured_rows
        if not row.operation.startswith(INTENDED) and is_shown(row, trial)
    ]
    places = [
        {**trial.point, "system": trial.system, "phase": row.phase, "operation": row.operation} for trial, row in shown
    ]
    cells = [
        {
            metric.head: [significant(value), metric.write(value)]
            for metric in _SHOWN
            if (value := getattr(row, metric.name)) is not None
        }
        for _, row in shown
    ]
    lines = [{"at": position, "values": values} for position, values in zip(places, cells, strict=True)]
    names = ("system", *summary.dimensions, "phase", "operation")
    several = [name for name in names if len({position.get(name) for position in places}) > 1]
    return {"dimensions": several, "metrics": [metric.head for metric in _SHOWN], "lines": lines}


def chart(summary: Summary) -> Chart:
    """Returns the matrix as pictures, with a panel for each pair of dimensions and a part for each metric.

    The page has a table instead, in which the reader chooses the dimensions.
    """
    data = matrix(summary)
    drawn = Chart("matrix", "Matrix", "Under which conditions?", by_part=True)
    for across, down in combinations(data["dimensions"], 2):
        rows = [
            {"part": label, "across": x, "down": ", ".join(filter(None, y)), "value": value, "text": text}
            for metric, label in _IN_FILES.items()
            for x, y, (value, text) in _cells(data, across, down, metric)
        ]
        if rows:
            title = f"{down} by {across}"
            spec = _spec((across, ", ".join(_others(data, across, down))), rows)
            says = f"Matrix of {title}, with {len(rows)} cells."
            drawn.panels.append(Panel(title, spec, drawn.add(rows), says))
    return drawn


def grids(summary: Summary) -> list[Grid]:
    """Returns a table for each metric, with the first dimension as columns and all others as rows."""
    data = matrix(summary)
    if len(data["dimensions"]) < 2:
        return []
    across, *down = data["dimensions"]
    tables = []
    for metric, title in _IN_FILES.items():
        cells = _cells(data, across, down[0], metric)
        heads = list(dict.fromkeys(x for x, _, _ in cells))
        texts = {(x, y): text for x, y, (_, text) in cells}
        lines = [[*y, *(texts.get((x, y), UNKNOWN) for x in heads)] for y in dict.fromkeys(y for _, y, _ in cells)]
        if lines:
            tables.append(Grid(f"Matrix: {title}", [*down, *heads], lines, keys=len(down)))
    return tables


def _cells(data: dict[str, Any], across: str, down: str, metric: str) -> list[tuple[str, tuple[str, ...], list[Any]]]:
    """Returns each cell's column, row (`down`, then the dimensions on neither axis), number and text."""
    names = _others(data, across, down)
    return [
        (line["at"].get(across, ""), tuple(line["at"].get(name, "") for name in names), line["values"][metric])
        for line in data["lines"]
        if metric in line["values"]
    ]


def _others(data: dict[str, Any], across: str, down: str) -> list[str]:
    return [down, *(name for name in data["dimensions"] if name not in (across, down))]


def _spec(title: tuple[str, str], rows: list[dict[str, Any]]) -> Spec:
    down = list(dict.fromkeys(row["down"] for row in rows))
    columns = list(dict.fromkeys(row["across"] for row in rows))
    kind = "log" if all(row["value"] > 0 for row in rows) else "linear"
    bare = {"domain": False, "ticks": False}
    # Place the title on the same line as the column names.
    beside_the_columns = {
        "titleAngle": 0, "titleX": -5, "titleY": -5, "titleAlign": "right", "titleBaseline": "bottom",
    }  # fmt: skip
    # Use the page's colours; black text on them has enough contrast.
    colours = {"type": kind, "range": ["#f3f8fc", "#7db8dd"], "nice": False}
    return {
        "height": 26 * len(down),
        "encoding": {
            "x": rows_of("across", columns, title[0], orient="top", labelAngle=0, **bare),
            "y": rows_of("down", down, title[1], labelLimit=400, **beside_the_columns, **bare),
        },
        "layer": [
            layer("rect", {"color": quantity("value", scale=colours, legend=None)}, stroke="white", aria=False),
            layer("text", {"text": {"field": "text", "type": "nominal"}}),
        ],
    }
