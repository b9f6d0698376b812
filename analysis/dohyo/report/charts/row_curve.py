"""Draws the inserted rows of loads over time, which shows whether a system slows down as its tables grow."""

from __future__ import annotations

from typing import Any

from dohyo.evidence.load_curve import SHORTEST_SECONDS
from dohyo.report.chart_data import is_drawn
from dohyo.report.grammar import Chart, Panel, Spec, by_system, dash, quantity, table
from dohyo.report.material import Material, significant
from dohyo.scenario.phases import LOAD

# Maximum number of points of a curve; more would not be visible.
_MOST_POINTS = 400
# Vega expression that formats a number of rows, such as 500, 1k or 1.5M.
_ROWS = "format(datum.value, '~s')"


def chart(material: Material) -> Chart:
    """Returns a panel with the curve of every load."""
    rows: list[dict[str, Any]] = []
    slowdowns = {}
    for trial in material.summary.trials:
        if trial.load is None or not is_drawn(trial, LOAD, trial.load.tenths[-1]):
            continue
        name = material.series(trial)
        step = max(1, len(trial.load.points) // _MOST_POINTS)
        points = [*trial.load.points[:-1][::step], *trial.load.points[-1:]]
        rows += [
            {
                "part": material.part(LOAD, trial),
                "system": trial.system,
                "series": name,
                "rows": count,
                "seconds": significant(second, 6),
            }
            for second, count in points
        ]
        if trial.load.slowdown is not None:
            slowdowns[material.series_at(trial)] = trial.load.slowdown
    ratios = "; ".join(f"{name} {value:.2f}" for name, value in slowdowns.items())
    slow = f" Time for the last tenth of the rows, divided by that for the first: {ratios}." if ratios else ""
    panel = Panel("", _spec(material), "rows", f"Rows inserted against seconds elapsed.{slow}")
    return Chart(
        "rows",
        "Rows against seconds",
        f"Does it slow down as the table grows? A straight line means that it does not.{slow}",
        [panel] if rows else [],
        {"rows": table(rows)} if rows else {},
        by_part=True,
        legend=True,
        missing=None if rows else f"No load of {SHORTEST_SECONDS:g} s or more was recorded second by second.",
    )


def _spec(material: Material) -> Spec:
    return {
        "height": 220,
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": quantity("rows", "rows inserted", axis={"labelExpr": _ROWS}),
            "y": quantity("seconds", "seconds elapsed"),
            "color": by_system(material.systems),
            "strokeDash": dash(material.systems),
            "detail": {"field": "series"},
            "tooltip": [{"field": "series"}, {"field": "rows", "format": ","}, {"field": "seconds"}],
        },
    }
