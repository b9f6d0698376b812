"""Draws latency percentiles for each operation type, with a row for each system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dohyo.figures import milliseconds
from dohyo.metrics import METRICS
from dohyo.operations import has_latency
from dohyo.report.grammar import (
    GREY,
    ROW_AXIS,
    SHAPES,
    Chart,
    Panel,
    by_system,
    layer,
    quantity,
    rows_high,
    rows_of,
    scale,
    shown,
)
from dohyo.report.material import Material, operation_title, significant
from dohyo.scenario.phases import RUN
from dohyo.summary.comparison import latencies_at

# Latencies that the table of results shows, except the mean: head → field.
_SHOWN = {item.head: item.name for item in METRICS.values() if item.part == "latencies" and item.name != "mean_ms"}


def chart(material: Material) -> Chart:
    """Returns a panel for each phase and operation type."""
    question = (
        "How long does a call take? Percentiles of all clients and runs, from merged histograms; a batch is one call."
    )
    drawn = Chart("latency", "Latency", question)
    for phase in material.phases:
        for operation in _operations(material, phase):
            rows = _rows(material, phase, operation)
            panel = _panel(material, phase, operation, drawn.add(rows), rows)
            suffix, *_ = latencies_at(material.summary.compared, [phase]) or ("",)
            drawn.panels.append(replace(panel, title=f"{panel.title}, {suffix}") if suffix else panel)
    return drawn if drawn.panels else replace(drawn, missing="No latency is known.")


def _operations(material: Material, phase: str) -> list[str]:
    names = [row.operation for trial in material.summary.compared for row in trial.rows if row.phase == phase]
    return [name for name in dict.fromkeys(names) if has_latency(name) and _rows(material, phase, name)]


def _rows(material: Material, phase: str, operation: str) -> list[dict[str, Any]]:
    return [
        {
            "label": material.label(trial),
            "operation": operation,
            "system": trial.system,
            "percentile": name,
            "value": significant(value),
        }
        for trial in material.summary.compared
        for row in trial.rows
        if (row.phase, row.operation, row.discarded) == (phase, operation, False)
        for name, attribute in _SHOWN.items()
        if (value := getattr(row, attribute)) is not None and value > 0
    ]


def _panel(material: Material, phase: str, operation: str, name: str, rows: list[dict[str, Any]]) -> Panel:
    labels = list(dict.fromkeys(row["label"] for row in rows))
    axis, suffix = scale([row["value"] for row in rows])
    x = quantity("value", f"ms{suffix}", scale=axis)
    legend = {"disable": False, "orient": "top", "columns": 3, "symbolFillColor": GREY, "symbolStrokeWidth": 0}
    shapes = {"domain": list(_SHOWN), "range": SHAPES[: len(_SHOWN)]}
    percentile_shape = {"field": "percentile", "type": "nominal", "title": None, "legend": legend, "scale": shapes}
    point = {"x": x, "shape": percentile_shape, "tooltip": shown("label", "percentile", value="ms")}
    spec = {
        "height": rows_high(labels),
        "encoding": {"y": rows_of("label", labels, **ROW_AXIS), "color": by_system(material.systems)},
        "layer": [
            layer("line", {"x": x, "detail": {"field": "label"}}, strokeWidth=1, opacity=0.5, aria=False),
            layer("point", point, filled=True, size=60, opacity=0.9),
        ],
    }
    values = {(row["label"], row["percentile"]): row["value"] for row in rows if row["percentile"] in ("p50", "p99")}
    says = "; ".join(f"{label} {percentile} {milliseconds(value)} ms" for (label, percentile), value in values.items())
    title = operation_title(operation)
    heading = title if phase == RUN else f"{phase}: {title}"
    return Panel(heading, spec, name, f"Latency of {title}: {says}", heads={"value": "ms"})
