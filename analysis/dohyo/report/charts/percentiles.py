"""Draws the whole distribution of latencies as HdrHistogram does: each additional nine has the same width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dohyo.figures import milliseconds
from dohyo.report.grammar import Chart, Panel, Spec, by_system, dash, quantity, scale, shown
from dohyo.report.material import Material, operation_title, significant
from dohyo.scenario.phases import LOAD
from dohyo.summary.comparison import latencies_at

# Ticks and their percentiles. A tick is at 1 / (1 - share), so each additional nine has the same width.
_TICKS = {1: "0", 2: "50", 10: "90", 100: "99", 1000: "99.9", 10_000: "99.99"}
# Vega expression that maps a tick's number to its percentile. It contains only constants.
_LABELS = " : ".join(f"datum.value == {value} ? '{label}%'" for value, label in _TICKS.items()) + " : ''"


def chart(material: Material) -> Chart:
    """Returns a panel for each operation type."""
    in_order = sorted(material.curves, key=lambda curve: material.place(curve.phase))
    curves = [curve for curve in in_order if len(curve.values) > 2]
    suffix, *_ = latencies_at(material.summary.compared, material.phases) or ("",)
    drawn = Chart(
        "percentiles",
        "Percentiles",
        "What do the slowest calls look like? All runs that count, up to 99.99 %; at least ten calls exceed each point."
        + (f" Each {suffix}." if suffix else "")
        + ("" if any(curve.phase != LOAD for curve in curves) else " Only the load has latencies."),
        by_part=True,
        legend=True,
    )
    for operation in dict.fromkeys(curve.operation for curve in curves):
        rows: list[dict[str, Any]] = [
            {
                "part": material.part(curve.phase, curve.trial),
                "system": curve.trial.system,
                "series": material.named(curve.trial),
                "inverse": significant(100 / (100 - percentile), 5),
                "percentile": percentile,
                "value": significant(value),
            }
            for curve in curves
            if curve.operation == operation
            for percentile, value in curve.values
            if value > 0
        ]
        name = drawn.add(rows)
        ends = {row["series"]: row for row in rows if row["part"] == rows[0]["part"]}
        says = "; ".join(
            f"{series} {row['percentile']:g}% within {milliseconds(row['value'])} ms" for series, row in ends.items()
        )
        title = operation_title(operation)
        drawn.panels.append(Panel(title, _spec(material, rows), name, f"Percentiles of {title}: {says}"))
    missing = None if drawn.panels else "There are no histogram logs; the table contains what is known."
    return replace(drawn, missing=missing)


def _spec(material: Material, rows: list[dict[str, Any]]) -> Spec:
    axis, suffix = scale([row["value"] for row in rows])
    return {
        "height": 240,
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": quantity(
                "inverse",
                "percentile",
                scale={"type": "log", "domain": [1, 10_000], "nice": False},
                axis={"values": list(_TICKS), "labelExpr": _LABELS},
            ),
            "y": quantity("value", f"ms{suffix}", scale=axis),
            "color": by_system(material.systems),
            "strokeDash": dash(material.systems),
            "detail": {"field": "series"},
            "tooltip": shown("series", "percentile", value="ms"),
        },
    }
