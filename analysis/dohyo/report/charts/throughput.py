"""By how much: the rate of every run as a point, their mean as a line, and how far they are apart."""

from __future__ import annotations

from typing import Any

from dohyo.evidence.rows import RUN
from dohyo.figures import point_name, rate
from dohyo.report.grammar import ROW_AXIS, Chart, Panel, Table, by_system, rows_high, scale, shape, table
from dohyo.report.material import Material
from dohyo.report.measured import significant
from dohyo.report.verdict import throughput

_COLUMNS = ("label", "system", "run", "value", "mean", "low", "high")


def chart(material: Material) -> Chart:
    """One panel for each phase."""
    found = Chart(
        "throughput",
        "Throughput",
        "By how much is one faster? Each point is one run, the line their mean, the bar their standard deviation.",
    )
    panels: list[Panel] = []
    tables: dict[str, Table] = {}
    for phase in material.phases:
        rows = _rows(material, phase)
        if rows:
            name = f"throughput-{len(panels)}"
            tables[name] = table(rows, _COLUMNS)
            panels.append(_panel(material, phase, name, rows))
    missing = None if panels else "No trial has valid numbers."
    return Chart(found.name, found.title, found.question, panels, tables, missing=missing)


def _rows(material: Material, phase: str) -> list[dict[str, Any]]:
    rows = []
    for trial in material.summary.compared:
        mean = throughput(trial, phase)
        if mean is None:
            continue
        runs = [
            run
            for run in material.measured.runs
            if (run.trial.system, point_name(run.trial.point)) == (trial.system, point_name(trial.point))
            and (run.phase, run.discarded, run.trial.status) == (phase, False, "ok")
        ]
        spread = mean.margin or 0.0
        common = {
            "label": material.label(trial),
            "system": trial.system,
            "mean": significant(mean.value),
            "low": significant(max(mean.value - spread, 0.0)),
            "high": significant(mean.value + spread),
        }
        points = [(run.name, run.rate) for run in runs if run.rate is not None] or [("mean", mean.value)]
        rows += [{**common, "run": name, "value": significant(value)} for name, value in points]
    return rows


def _panel(material: Material, phase: str, name: str, rows: list[dict[str, Any]]) -> Panel:
    labels = list(dict.fromkeys(row["label"] for row in rows))
    axis, words = scale([row["value"] for row in rows])
    x = {"type": "quantitative", "scale": axis, "title": f"records per second{words}"}
    y = {"field": "label", "type": "nominal", "sort": labels, "title": None, "axis": ROW_AXIS}
    tooltip = [{"field": field} for field in ("label", "run", "value", "mean")]
    colour = by_system(material.systems)
    spec = {
        "height": rows_high(labels),
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 8, "opacity": 0.25, "aria": False},
                "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": colour},
            },
            {
                "mark": {"type": "tick", "thickness": 2, "size": 18, "aria": False},
                "encoding": {"x": {**x, "field": "mean"}, "color": colour},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.85},
                "encoding": {
                    "x": {**x, "field": "value"},
                    "color": colour,
                    "shape": shape(material.systems),
                    "tooltip": tooltip,
                },
            },
        ],
    }
    means = {row["label"]: row["mean"] for row in rows}
    says = "; ".join(f"{label} {rate(mean)}" for label, mean in means.items())
    return Panel("" if phase == RUN else phase, spec, name, f"Records per second: {says}")
