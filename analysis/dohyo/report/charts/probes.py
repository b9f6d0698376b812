"""Draws the latencies that have a bound, at each rate that a search tried. This shows the knee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dohyo.report.grammar import Chart, Panel, Spec, by_system, layer, quantity, scale, shape, shown, table
from dohyo.report.material import Material, significant
from dohyo.scenario import slo
from dohyo.scenario.phases import LOAD
from dohyo.scenario.slo import Bound
from dohyo.summary.probes import Probe, Search, intended
from dohyo.summary.results import Trial

_HELD, _VIOLATED = "yes", "no"
# The operation (None: the slowest one) and the percentile that a bound limits.
_Subject = tuple[str | None, str]


def chart(material: Material) -> Chart | None:
    """Returns a panel for each percentile with a bound, or None if there was no search."""
    searched = [(trial, trial.search) for trial in material.summary.trials if trial.search]
    if not searched:
        return None
    valid = [(trial, search) for trial, search in searched if trial.status == "ok"]
    drawn = Chart(
        "probes",
        "Rates under a bound",
        "Where is the knee? Each point is a rate that was tried. Filled: every bound held; hollow: at least one did"
        " not. Latencies are from the intended start; a dashed line is their bound.",
        by_part=True,
        legend=True,
    )
    for subject in dict.fromkeys(_subject(bound) for _, search in valid for bound in slo.bounds(search.slo)):
        bounded = [(trial, search) for trial, search in valid if _limits(search, subject)]
        rows = [row for trial, search in bounded for row in _rows(material, trial, search, subject)]
        limits = [(_part(material, trial), limit) for trial, search in bounded for limit in _limits(search, subject)]
        lines = [
            {"part": part, "limit": significant(limit), "bound": f"bound: {limit:g} ms"}
            for part, limit in dict.fromkeys(limits)
        ]
        if rows:
            name = drawn.add(rows)
            drawn.tables[f"{name}-bounds"] = table(lines)
            says = "; ".join(f"{material.series_at(trial)}: {search.conclusion}" for trial, search in bounded)
            drawn.panels.append(_panel(material, subject, name, rows, [limit for _, limit in limits], says))
    return drawn if drawn.panels else replace(drawn, missing="No search has a valid probe.")


def _subject(bound: Bound) -> _Subject:
    return bound.operation, bound.percentile


def _limits(search: Search, subject: _Subject) -> list[float]:
    return [bound.limit_ms for bound in slo.bounds(search.slo) if _subject(bound) == subject]


def _part(material: Material, trial: Trial) -> str:
    """Returns the part of the chart that shows a search. It is named after the phase measured before the search."""
    return material.part(next((row.phase for row in trial.rows if row.phase != LOAD), ""), trial)


def _rows(material: Material, trial: Trial, search: Search, subject: _Subject) -> list[dict[str, Any]]:
    rows = []
    for probe in search.probes:
        slowest = _latency(probe, subject)
        if probe.held is None or probe.target is None or slowest is None:
            continue
        operation, value = slowest
        rows.append(
            {
                "part": _part(material, trial),
                "system": trial.system,
                "series": material.series(trial),
                "rate": significant(probe.target),
                "achieved": significant(probe.achieved),
                "operation": operation,
                "value": significant(value),
                "held": _HELD if probe.held else _VIOLATED,
                "reason": probe.reason or "",
            }
        )
    return rows


def _latency(probe: Probe, subject: _Subject) -> tuple[str, float] | None:
    """Returns the slowest operation that the bound limits, and its latency in ms."""
    operation, percentile = subject
    latencies = {
        name: value
        for name, percentiles in intended(probe.rows).items()
        if operation in (None, name) and (value := percentiles[percentile]) is not None
    }
    slowest = max(latencies, key=lambda name: latencies[name], default=None)
    return (slowest, latencies[slowest]) if slowest else None


def _panel(
    material: Material, subject: _Subject, name: str, rows: list[dict[str, Any]], limits: list[float], says: str
) -> Panel:
    operation, percentile = subject
    title = f"{percentile} of {operation or 'the slowest operation type'}"
    x_axis, x_words = scale([row["rate"] for row in rows])
    y_axis, y_words = scale([*(row["value"] for row in rows), *limits])
    x = quantity("rate", f"requested operations per second{x_words}", scale=x_axis)
    y = {"type": "quantitative", "scale": y_axis, "title": f"ms{y_words}"}
    colour = by_system(material.systems)
    bounds = f"{name}-bounds"
    limit, value = {**y, "field": "limit"}, {**y, "field": "value"}
    bound = {"x": {"value": 4}, "y": limit, "text": {"field": "bound"}}
    line = {"x": x, "y": value, "color": colour, "detail": {"field": "series"}}
    point = {
        "x": x,
        "y": value,
        "stroke": colour,
        "fill": colour,
        "fillOpacity": {"condition": {"test": {"field": "held", "equal": _HELD}, "value": 1}, "value": 0},
        "shape": shape(material.systems),
        "tooltip": shown(*list(rows[0])[2:]),
    }
    spec: Spec = {
        "height": 240,
        "layer": [
            layer("rule", {"y": limit}, bounds, strokeDash=[6, 4], opacity=0.8, aria=False),
            layer("text", bound, bounds, align="left", dy=-7, aria=False),
            layer("line", line, strokeWidth=1, opacity=0.5, aria=False),
            layer("point", point, size=80, strokeWidth=2),
        ],
    }
    return Panel(title, spec, name, f"{title} at {len(rows)} rates. {says}")
