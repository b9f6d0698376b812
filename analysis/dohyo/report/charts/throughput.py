"""By how much: the rate of every run as a point, their mean as a line, and how exactly that is known."""

from __future__ import annotations

from typing import Any

from dohyo.evidence.rows import RUN
from dohyo.figures import point_name
from dohyo.report.grammar import GREY, ROW_AXIS, Chart, Panel, Spec, Table, by_system, rows_high, scale, shape, table
from dohyo.report.material import Material
from dohyo.report.measured import significant
from dohyo.summary.ranking import Rate, throughput
from dohyo.summary.results import Trial
from dohyo.tables.comparison_table import samples_words

_COLUMNS = ("label", "system", "run", "counts", "value", "mean", "low", "high")
_YES, _NO = "yes", "no: discarded"


def chart(material: Material) -> Chart:
    """One panel for each phase."""
    panels: list[Panel] = []
    tables: dict[str, Table] = {}
    every: list[Rate] = []
    for phase in material.phases:
        trials = [(trial, throughput(material.summary, trial, phase)) for trial in material.summary.compared]
        rates = [(trial, rate) for trial, rate in trials if rate]
        if rates:
            name = f"throughput-{len(panels)}"
            rows = [row for trial, rate in rates for row in _rows(material, phase, trial, rate)]
            tables[name] = table(rows, _COLUMNS)
            panels.append(_panel(material, phase, name, rows, rates))
            every += [rate for _, rate in rates]
    over = samples_words(rate.sampled for rate in every if rate.low is not None)
    interval = f"the bar its 95 % confidence interval over {over}" if over else "whose interval is not known"
    any_discarded = any(_NO in each["counts"] for each in tables.values())
    discarded = " Hollow grey runs were discarded and count nowhere." if any_discarded else ""
    question = f"By how much is one faster? Each point is one run, the line their mean, {interval}.{discarded}"
    missing = None if panels else "No trial has valid numbers."
    return Chart("throughput", "Throughput", question, panels, tables, missing=missing)


def _rows(material: Material, phase: str, trial: Trial, mean: Rate) -> list[dict[str, Any]]:
    """One for each run, those that were discarded first; the mean is in those that it is of."""
    common = {"label": material.label(trial), "system": trial.system}
    of_mean = {name: significant(getattr(mean, name)) for name in ("mean", "low", "high")}
    runs = [
        run
        for run in material.measured.runs
        if (run.trial.system, point_name(run.trial.point)) == (trial.system, point_name(trial.point))
        and (run.phase, run.trial.status) == (phase, "ok")
        and run.rate is not None
    ]
    points = [
        {"run": run.name, "value": significant(run.rate)}
        | ({"counts": _NO, **dict.fromkeys(of_mean)} if run.discarded else {"counts": _YES, **of_mean})
        for run in sorted(runs, key=lambda run: not run.discarded)
    ]
    points = points or [{"run": "mean", "counts": _YES, "value": significant(mean.mean), **of_mean}]
    return [{**common, **point} for point in points]


def _panel(
    material: Material, phase: str, name: str, rows: list[dict[str, Any]], rates: list[tuple[Trial, Rate]]
) -> Panel:
    labels = list(dict.fromkeys(row["label"] for row in rows))
    values = [row["value"] for row in rows]
    axis, words = scale(values)
    if axis["type"] == "log":
        # An interval may go down to 0, which is nowhere on such an axis.
        axis = {**axis, "domainMin": min(value for value in values if value > 0) / 2, "clamp": True}
    units = " or ".join(dict.fromkeys(rate.unit for _, rate in rates))
    x = {"type": "quantitative", "scale": axis, "title": f"{units}{words}"}
    colour = by_system(material.systems)
    point = {
        "x": {**x, "field": "value"},
        "shape": shape(material.systems),
        "tooltip": [{"field": field} for field in _COLUMNS],
    }
    bar: Spec = {
        **_where({"field": "low", "valid": True}),
        "mark": {"type": "rule", "strokeWidth": 8, "opacity": 0.25, "aria": False},
        # The same in all runs of a line, which shall be drawn once.
        "encoding": {
            "x": {**x, "field": "low", "aggregate": "min"},
            "x2": {"field": "high", "aggregate": "max"},
            "color": colour,
        },
    }
    line: Spec = {
        **_where({"field": "mean", "valid": True}),
        "mark": {"type": "tick", "thickness": 2, "size": 18, "aria": False},
        "encoding": {"x": {**x, "field": "mean", "aggregate": "min"}, "color": colour},
    }
    discarded: Spec = {
        **_where({"field": "counts", "equal": _NO}),
        "mark": {"type": "point", "filled": False, "size": 45, "color": GREY},
        "encoding": point,
    }
    counted: Spec = {
        **_where({"field": "counts", "equal": _YES}),
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.85},
        "encoding": {**point, "color": colour},
    }
    # Vega complains of a layer without anything to draw.
    bars = [bar] if any(row["low"] is not None for row in rows) else []
    others = [discarded] if any(row["counts"] == _NO for row in rows) else []
    spec: Spec = {
        "height": rows_high(labels),
        "encoding": {"y": {"field": "label", "type": "nominal", "sort": labels, "title": None, "axis": ROW_AXIS}},
        "layer": [*bars, line, *others, counted],
    }
    says = "; ".join(f"{material.label(trial)} {rate}" for trial, rate in rates)
    return Panel("" if phase == RUN else phase, spec, name, f"{units}: {says}")


def _where(test: Spec) -> Spec:
    """A layer's own part of the rows."""
    return {"transform": [{"filter": test}]}
