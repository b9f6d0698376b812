"""Draws the ranking: a bar for each mean rate, with its interval, a point for each run, and ratios next to the bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dohyo.figures import dollars, rate
from dohyo.operations import OVERALL
from dohyo.report.grammar import GREY, ROW_AXIS, Chart, Panel, Spec, by_system, layer, rows_high, rows_of, shape, table
from dohyo.report.material import Material, significant
from dohyo.scenario.phases import PROBE, RUN
from dohyo.summary.comparison import at_points, is_paced, shared_dimensions
from dohyo.summary.ranking import Rate, decisive, throughput
from dohyo.summary.results import Figure, Trial
from dohyo.tables.comparison_table import interval, level_of_rows, ratio, samples_words

_RUNS = ("label", "system", "run", "counts", "value")
_YES, _NO = "yes", "no: discarded"
# Intervals are cut off at this multiple of the highest rate, to leave room for the rates.
_WIDEST = 1.5
# Height in pixels of a line of text next to a bar.
_LINE = 15


def chart(material: Material) -> Chart:
    """Returns a panel for each phase. The maxima of searches come first, because they decide the ranking."""
    summary = material.summary
    drawn = Chart("ranking", "Ranking", "")
    every: list[Rate] = []
    cut = False
    searched = any(trial.search for trial in summary.trials)
    for phase in [*([PROBE] if searched else []), *material.phases]:
        ranked = [pair for together in at_points(summary.compared) for pair in _ranked(material, together, phase)]
        ranked = list({trial.name: (trial, mean) for trial, mean in ranked}.values())
        if ranked:
            means = [_mean(material, phase, *pair) for pair in ranked]
            runs = [row for trial, mean in ranked for row in _runs(material, phase, trial, mean.figure)]
            name = drawn.add(means)
            drawn.tables[f"{name}-runs"] = table(runs, _RUNS)
            drawn.panels.append(_panel(material, phase, name, means, runs, ranked))
            cut = cut or any((row["high"] or 0) > _end(means, runs) for row in means)
            every += [rate for _, rate in ranked]
    over = samples_words(every)
    discarded = any(_NO in columns.get("counts", []) for columns in drawn.tables.values())
    notes = [
        "Bar: mean rate; point: one run",
        f"line: {level_of_rows(rate.row for rate in every)} interval over {over}" if over else "no intervals are known",
        "triangle: the interval continues beyond the edge" if cut else "",
        f"\N{MULTIPLICATION SIGN}: ratio to the best{' at the same point' if summary.dimensions else ''}"
        if summary.comparisons
        else "",
        "hollow and grey: discarded, not counted" if discarded else "",
    ]
    missing = None if drawn.panels else "No trial has valid numbers."
    return replace(drawn, question=f"{'; '.join(filter(None, notes))}.", missing=missing)


def _ranked(material: Material, trials: Sequence[Trial], phase: str) -> list[tuple[Trial, Rate]]:
    """Returns the trials with valid numbers and their rates, in descending order."""
    summary = material.summary
    if phase == PROBE:
        rates = [(trial, rate) for trial in trials for key, rate in decisive(summary, trial).items() if key[0] == PROBE]
    else:
        rates = [(trial, rate) for trial in trials if (rate := throughput(summary, trial, phase))]
    return sorted(rates, key=lambda pair: -pair[1].mean)


def _mean(material: Material, phase: str, trial: Trial, result: Rate) -> dict[str, Any]:
    # A system without a dimension is at several points, and has several ratios.
    is_at_one = trial.point.keys() >= set(shared_dimensions(material.summary.compared))
    pair = next(
        (
            pair.inverse
            for pair in material.summary.comparisons
            if (pair.key, pair.to) == ((phase, OVERALL, result.figure), trial.name) and is_at_one
        ),
        None,
    )
    # Leave out a half-width above 100 %: the drawn interval shows it.
    half = result.plus_minus if result.plus_minus.endswith("%") else ""
    beside = [f"{rate(result.mean)} {result.unit} {half}".rstrip()]
    if pair:
        beside.append(ratio(pair) if pair.low is None else f"{ratio(pair)} {interval(pair)}")
    if (price := trial.usd_per_million(result.row.ops_per_second)) is not None:
        beside.append(f"{dollars(price)} per million operations")
    return {
        "label": material.label(trial),
        "system": trial.system,
        **{name: significant(getattr(result, name)) for name in ("mean", "low", "high")},
        "beside": "\n".join(beside),
    }


def _runs(material: Material, phase: str, trial: Trial, figure: Figure) -> list[dict[str, Any]]:
    """Returns a row for each run with its rate in the unit of `figure`, discarded runs first."""
    runs = [
        (run, run_rate)
        for run in material.runs
        if (run.trial.compared_as, run.phase, run.trial.status) == (trial.name, phase, "ok")
        and (run_rate := run.rate(figure)) is not None
    ]
    return [
        {
            "label": material.label(trial),
            "system": trial.system,
            "run": run.name,
            "counts": _NO if run.discarded else _YES,
            "value": significant(run_rate),
        }
        for run, run_rate in sorted(runs, key=lambda entry: not entry[0].discarded)
    ]


def _end(means: list[dict[str, Any]], runs: list[dict[str, Any]]) -> float:
    """Returns the rate at which the axis ends."""
    most: float = max([row["mean"] for row in means] + [row["value"] for row in runs])
    return max(most, min(_WIDEST * most, max(row["high"] or 0 for row in means)))


def _panel(
    material: Material,
    phase: str,
    name: str,
    means: list[dict[str, Any]],
    runs: list[dict[str, Any]],
    ranked: list[tuple[Trial, Rate]],
) -> Panel:
    labels = [row["label"] for row in means]
    units = " or ".join(dict.fromkeys(rate.unit for _, rate in ranked))
    # Bars must begin at 0.
    end = _end(means, runs) or 1
    axis = {"type": "linear", "domain": [0, end], "nice": False, "clamp": True}
    x = {"type": "quantitative", "scale": axis, "title": units, "axis": {"tickCount": 6, "labelOverlap": True}}
    colour = by_system(material.systems)
    mean = {"x": {**x, "field": "mean"}, "color": colour}
    ends: Spec = {
        "transform": [{"filter": {"field": "low", "valid": True}}],
        **layer("rule", {"x": {**x, "field": "low"}, "x2": {"field": "high"}}, strokeWidth=2, aria=False),
    }
    beside: Spec = {
        "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 12, "lineBreak": "\n", "lineHeight": _LINE,
                 "dy": {"expr": f"-{_LINE / 2} * (length(split(datum.beside, '\\n')) - 1)"}, "aria": False},
        "encoding": {"x": {"value": "width"}, "text": {"field": "beside", "type": "nominal"}},
    }  # fmt: skip
    beyond: Spec = {
        "transform": [{"filter": {"field": "high", "gt": end}}],
        "mark": {"type": "point", "shape": "triangle-right", "filled": True, "size": 90, "opacity": 1, "aria": False},
        "encoding": {"x": {"value": "width"}, "color": colour},
    }
    # Leave out layers without data, because Vega warns about them.
    intervals = [ends] if any(row["low"] is not None for row in means) else []
    intervals += [beyond] if any((row["high"] or 0) > end for row in means) else []
    spec: Spec = {
        "height": rows_high(labels, lines=max(row["beside"].count("\n") + 1 for row in means)),
        "encoding": {"y": rows_of("label", labels, **ROW_AXIS)},
        "layer": [
            layer("bar", mean, opacity=0.35, height={"band": 0.6}, aria=False),
            layer("tick", mean, thickness=2, size=20, aria=False),
            *intervals,
            *_points(material, name, x, runs),
            beside,
        ],
    }
    heads = {"mean": f"mean, {units}", "low": f"from, {units}", "high": f"to, {units}", "value": units}
    says = "; ".join(row["label"] + ": " + row["beside"].replace("\n", ", ") for row in means)
    alone = len(material.phases) == 1 and not any(trial.search for trial in material.summary.trials)
    title = {RUN: "" if alone else "measured run", PROBE: "the highest rate under its bound"}.get(phase, phase)
    order = "the best first"
    if is_paced([trial for trial, _ in ranked], phase):
        title, order = f"{title} with a target rate: no ranking".lstrip(), "with a target rate"
    return Panel(title, spec, name, f"Mean rates, {order}: {says}", heads=heads)


def _points(material: Material, name: str, x: Spec, runs: list[dict[str, Any]]) -> list[Spec]:
    """Returns the layers with a point for each run: first the discarded runs, then the runs that count."""
    point: Spec = {
        "x": {**x, "field": "value"},
        "shape": shape(material.systems),
        "tooltip": [{"field": "label"}, {"field": "run"}, {"field": "value", "title": x["title"], "format": ",.4~g"}],
    }
    of_runs = {"data": {"name": f"{name}-runs"}}
    coloured = {**point, "color": by_system(material.systems)}
    kinds = {row["counts"] for row in runs}
    return [
        {**of_runs, "transform": [{"filter": {"field": "counts", "equal": kind}}], **points}
        for kind, points in (
            (_NO, layer("point", point, filled=False, size=45, color=GREY)),
            (_YES, layer("point", coloured, filled=True, size=40)),
        )
        if kind in kinds
    ]
