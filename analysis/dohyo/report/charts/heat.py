"""Where the latencies were at what time: modes, pauses and their rhythm, which percentiles hide."""

from __future__ import annotations

from typing import Any

from dohyo.evidence.over_time import HEAT_ROWS_PER_DOUBLING
from dohyo.report.grammar import Chart, Panel, Spec, Table, table
from dohyo.report.material import Material
from dohyo.report.measured import MeasuredRun, significant

# Cells across: narrower ones are less than 5 pixels on paper.
_MOST_CELLS = 120
_COLUMNS = ("part", "begin", "end", "low", "high", "share", "operations")


def chart(material: Material) -> Chart:
    """One panel for each system, of the first run that counts; several on top of each other would hide their pauses."""
    panels: list[Panel] = []
    tables: dict[str, Table] = {}
    for system in material.systems:
        rows: list[dict[str, Any]] = []
        shown: set[str] = set()
        runs = [
            run
            for run in material.measured.runs
            if run.trial.system == system and any(slot.heat for slot in run.slots) and not run.discarded
        ]
        for run in sorted(runs, key=lambda run: material.place(run.phase)):
            part = material.part(run.phase, run.trial)
            if part not in shown:
                shown.add(part)
                rows += _rows(part, run)
        if rows:
            name = f"heat-{len(panels)}"
            tables[name] = table(rows, _COLUMNS)
            low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
            says = f"Latencies of {system} over time, between {low:,.3g} and {high:,.3g} ms."
            panels.append(Panel(system, _spec(), name, says))
    return Chart(
        "heat",
        "Heat map of latency",
        "When were calls slow? A column is a stretch of the first run, a cell the share of its calls that took this.",
        panels,
        tables,
        by_part=True,
        missing=None if panels else "There are no histogram logs, so nothing is known second by second.",
    )


def _rows(part: str, run: MeasuredRun) -> list[dict[str, Any]]:
    end = run.slots[-1].start + run.slots[-1].seconds
    # Whole slots, so that no cell has more of them than another one.
    width = run.slots[-1].seconds * max(1, -(-end // (run.slots[-1].seconds * _MOST_CELLS)))
    cells: dict[tuple[int, float], int] = {}
    totals: dict[int, int] = {}
    for slot in run.slots:
        column = int(slot.start // width)
        totals[column] = totals.get(column, 0) + slot.operations
        for upper, count in slot.heat.items():
            cells[column, upper] = cells.get((column, upper), 0) + count
    return [
        {
            "part": part,
            "begin": significant(column * width, 7),
            "end": significant((column + 1) * width, 7),
            "low": significant(upper / 2 ** (1 / HEAT_ROWS_PER_DOUBLING), 4),
            "high": significant(upper, 4),
            "share": significant(count / totals[column], 2),
            "operations": count,
        }
        for (column, upper), count in sorted(cells.items())
    ]


def _spec() -> Spec:
    return {
        "height": 200,
        "mark": {"type": "rect", "aria": False},
        "encoding": {
            "x": {
                "field": "begin",
                "type": "quantitative",
                "title": "seconds",
                "scale": {"nice": False, "zero": True},
                "axis": {"grid": False, "tickMinStep": 1},
            },
            "x2": {"field": "end"},
            "y": {
                "field": "low",
                "type": "quantitative",
                "scale": {"type": "log", "nice": False},
                "title": "ms, log scale",
                "axis": {"grid": False},
            },
            "y2": {"field": "high"},
            # A single slow call in a thousand shall be seen.
            "color": {
                "field": "share",
                "type": "quantitative",
                "scale": {"type": "log", "scheme": "viridis"},
                "title": "share of the calls",
                "legend": {"format": ".2~%", "disable": False, "orient": "top", "gradientLength": 160},
            },
            "tooltip": [
                {"field": "begin", "title": "second"},
                {"field": "low", "title": "from ms"},
                {"field": "high", "title": "to ms"},
                {"field": "operations", "title": "calls"},
                {"field": "share", "format": ".2~%"},
            ],
        },
    }
