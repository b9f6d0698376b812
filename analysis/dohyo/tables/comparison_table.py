"""Builds the tables of comparisons: which system is faster, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dohyo.figures import UNKNOWN, percent, whole
from dohyo.metrics import METRICS, Row, Samples
from dohyo.operations import OVERALL
from dohyo.scenario.phases import LOAD, PROBE, RUN
from dohyo.statistics import CONFIDENCE
from dohyo.summary.ranking import Rate
from dohyo.summary.results import WIDEST_TIE, Pair, Summary, Trial, without_interval
from dohyo.tables.grid import Grid

_UNCLEAR = f", cannot tell: it also extends above {WIDEST_TIE:g} or below 1/{WIDEST_TIE:g}"


def grids(summary: Summary, label: Callable[[Trial], str]) -> list[Grid]:
    """Returns a table of all comparisons of an experiment; empty if there is nothing to compare."""
    names = {trial.name: label(trial) for trial in summary.compared}
    lines = [
        [figure(pair), names[pair.of], ratio(pair), interval(pair), names[pair.to]] for pair in summary.comparisons
    ]
    head = f"{level(pair.confidence for pair in summary.comparisons)} interval"
    title = f"Comparison: the best in each figure divided by the others; {over(summary.comparisons)}"
    best = [Grid(title, ["figure", "best", "ratio", head, "other"], lines)] if lines else []
    return [*best, *neighbours(summary, names)]


def neighbours(summary: Summary, names: Mapping[str, str]) -> list[Grid]:
    """Returns a table that compares neighbours in the rankings; empty if the other table already has these pairs."""
    ranked = [entry for entry in summary.neighbours if entry.pair.low is not None]
    firsts = {(pair.key, pair.of, pair.to) for pair in summary.comparisons}
    if all((entry.pair.key, entry.pair.of, entry.pair.to) in firsts for entry in ranked):
        return []
    lines = [
        [figure(pair), names[pair.of], ratio_of(pair), interval(pair), names[pair.to], entry.outcome, whole(entry.more)]
        for entry in ranked
        for pair in [entry.pair]
    ]
    title = f"Neighbours in the ranking: faster, alike within {percent(summary.alike)}, or open"
    head = f"{level(entry.pair.confidence for entry in ranked)} interval"
    return [Grid(title, ["figure", "ahead", "ratio", head, "behind", "decided", "more rounds"], lines)]


def figure(pair: Pair) -> str:
    """Returns the name of the compared figure, such as "[update] rec/s", "READ p99" or "[under SLO] op/s"."""
    operation = "" if pair.operation == OVERALL else f"{pair.operation} "
    return f"{phase(pair.phase)}{operation}{METRICS[pair.figure].head}"


def phase(name: str) -> str:
    """Returns the phase as a prefix, such as "[update] "; empty for the default phase `run`."""
    return {LOAD: "[LOAD] ", RUN: "", PROBE: "[under SLO] "}.get(name, f"[{name}] ")


def ratio(pair: Pair) -> str:
    """Returns text such as "1.34×", or "tie" within the noise, or "cannot tell" if the noise is too large."""
    return "cannot tell" if pair.is_unclear else "tie" if pair.tie else ratio_of(pair)


def ratio_of(pair: Pair) -> str:
    """Returns text such as "1.34×", even for a tie."""
    return f"{_number(pair.ratio)}\N{MULTIPLICATION SIGN}"


def times(pair: Pair) -> str:
    """Returns text such as "1.34× [1.28, 1.41]", even for a tie; without an interval, only the ratio."""
    number = ratio_of(pair)
    return number if pair.low is None else f"{number} {interval(pair)}"


def interval(pair: Pair) -> str:
    """Returns text such as "[1.28, 1.41]"."""
    if pair.low is None or pair.high is None:
        return UNKNOWN
    # A low end below 0.005 appears as 0, unless the high end is also that small.
    return f"[{_number(pair.low, 0.005 if pair.high < 0.005 else 0.0)}, {_number(pair.high)}]"


def over(pairs: Sequence[Pair]) -> str:
    """Returns text that says from how many rounds or runs the intervals were computed."""
    if samples := samples_words(pairs):
        unclear = _UNCLEAR if any(pair.is_unclear for pair in pairs) else ""
        return f"intervals over {samples}; tie: the interval includes 1{unclear}"
    return f"no intervals, because {without_interval(pairs)} provides none; no ratio counts as a tie or a difference"


def samples_words(figures: Iterable[Pair | Rate]) -> str:
    """Returns the samples behind the intervals of ratios or rates, such as "3 rounds"; empty if none has one."""
    samples = {(item.sampled, item.samples) for item in figures if item.low is not None}
    kinds: tuple[Samples, ...] = ("rounds", "runs")
    counts = {kind: {n for sampled, n in samples if sampled == kind} for kind in kinds}
    return " or ".join(f"{' or '.join(map(str, sorted(counts[kind])))} {kind}" for kind in kinds if counts[kind])


def level(confidences: Iterable[float | None]) -> str:
    """Returns the confidence level of intervals, such as "95 %", or "95 or 98 %" if they differ; None is ignored."""
    levels = sorted({value for value in confidences if value is not None} or {CONFIDENCE})
    return f"{' or '.join(f'{100 * value:g}' for value in levels)} %"


def level_of_rows(rows: Iterable[Row]) -> str:
    """Returns the confidence level of the intervals of rates."""
    return level(row.confidence for row in rows if row.ops_per_second_low is not None)


def _number(value: float, least: float = 0.005) -> str:
    """Returns the number with at most two decimals; below `least`, where these are 0, with two significant digits."""
    if value < least:
        return f"{value:.2g}"
    if value < 100:
        return f"{value:.2f}" if value < 10 else f"{value:.1f}"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.0e}"
