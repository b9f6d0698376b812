"""Draws a heat map of latencies over time. Unlike percentiles, it shows modes, pauses and their rhythm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dohyo.evidence.latency_slots import heat_row_ms
from dohyo.report.grammar import Chart, Panel, Spec, quantity, shown
from dohyo.report.material import Material, MeasuredRun, significant

# Maximum number of columns. With more, a column would be narrower than 5 pixels on paper.
_MOST_CELLS = 120


def chart(material: Material) -> Chart:
    """Returns a panel for each system's first run; several runs on top of each other would hide pauses."""
    drawn = Chart(
        "heat",
        "Heat map of latency",
        "When were calls slow? A column is a part of the first run; a cell's colour is the share"
        " of the column's calls with this latency. Axes and colours are the same for all systems.",
        by_part=True,
    )
    every: list[dict[str, Any]] = []
    for system in material.systems:
        first: dict[str, MeasuredRun] = {}
        runs = [
            run
            for run in material.runs
            if run.trial.system == system and any(slot.heat for slot in run.slots) and not run.discarded
        ]
        for run in sorted(runs, key=lambda run: material.place(run.phase)):
            first.setdefault(material.part(run.phase, run.trial), run)
        if rows := [row for part, run in first.items() for row in _rows(part, run)]:
            name = drawn.add(rows)
            every += rows
            low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
            says = f"Latencies of {system} over time, between {low:,.3g} and {high:,.3g} ms."
            drawn.panels.append(Panel(system, _spec(), name, says))
    missing = None if every else "No run or longer load has histogram logs, so nothing is known second by second."
    domains = {part: _domains([row for row in every if row["part"] == part]) for part in drawn.parts}
    return replace(drawn, panels=[replace(panel, domains=domains) for panel in drawn.panels], missing=missing)


def _domains(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Returns the ranges of both axes and of the colour scale across all systems."""
    shares = [row["share"] for row in rows]
    return {
        "x": [0, max(row["end"] for row in rows)],
        "y": [min(row["low"] for row in rows), max(row["high"] for row in rows)],
        "color": [min(shares), max(shares)],
    }


def _rows(part: str, run: MeasuredRun) -> list[dict[str, Any]]:
    # Leave out the few calls that a client begins after the last whole second of the window.
    slots = [slot for slot in run.slots if slot.start < len(run.throughput)] or run.slots
    end = slots[-1].start + slots[-1].seconds
    # Make columns of whole slots, so that all columns cover the same time.
    width = slots[-1].seconds * max(1, -(-end // (slots[-1].seconds * _MOST_CELLS)))
    cells: dict[tuple[int, int], int] = {}
    totals: dict[int, int] = {}
    for slot in slots:
        column = int(slot.start // width)
        totals[column] = totals.get(column, 0) + slot.operations
        for row, count in slot.heat.items():
            cells[column, row] = cells.get((column, row), 0) + count
    return [
        {
            "part": part,
            "begin": significant(column * width, 7),
            "end": significant((column + 1) * width, 7),
            "low": significant(low, 4),
            "high": significant(high, 4),
            "share": significant(count / totals[column], 2),
            "operations": count,
        }
        for (column, row), count in sorted(cells.items())
        for low, high in [heat_row_ms(row)]
    ]


def _spec() -> Spec:
    return {
        "height": 200,
        "mark": {"type": "rect", "aria": False},
        "encoding": {
            "x": quantity(
                "begin", "seconds", scale={"nice": False, "zero": True}, axis={"grid": False, "tickMinStep": 1}
            ),
            "x2": {"field": "end"},
            "y": quantity(
                "low", "latency in ms, log scale", scale={"type": "log", "nice": False}, axis={"grid": False}
            ),
            "y2": {"field": "high"},
            # Use a logarithmic scale, on which even one slow call in a thousand is visible.
            "color": quantity(
                "share",
                "share of the calls",
                scale={"type": "log", "scheme": "viridis"},
                legend={"format": ".2~%", "disable": False, "orient": "top", "gradientLength": 160},
            ),
            "tooltip": [
                *shown(begin="second", low="from ms", high="to ms"),
                {"field": "operations", "title": "calls", "format": ","},
                {"field": "share", "title": "share of the calls", "format": ".2~%"},
            ],
        },
    }
