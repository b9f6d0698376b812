"""Prints the comparison of two experiments."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from dohyo.figures import percent, rate, system_at
from dohyo.metrics import METRICS
from dohyo.scenario.phases import RUN
from dohyo.summary.cautions import Caution
from dohyo.summary.fault_changes import FaultChange
from dohyo.summary.findings import Finding
from dohyo.summary.regression import Change, Changes, Difference
from dohyo.summary.results import Figure
from dohyo.tables import comparison_table, grid
from dohyo.tables.grid import Grid, say

_STYLES = {"regression": "bold red", "improvement": "green", "inconclusive": "yellow", "within": ""}


def render(changes: Changes, console: Console) -> None:
    """Prints a line for each figure, the conditions that differ, and what could not be compared."""
    say(console, f"before: {changes.before}")
    say(console, f"after:  {changes.after}")
    if changes.changes:
        grid.write(_grid(changes.changes), console, console.width)
    if changes.faults:
        grid.write(_faults(changes.faults), console, console.width)
    if changes.findings:
        grid.write(_findings(changes.findings), console, console.width)
    for caution in changes.cautions:
        say(console, Text(_caution(caution), style="yellow"))
    for difference in changes.differences:
        say(console, Text(_different(difference), style="bold red" if difference.must_be_equal else "yellow"))
    for text in changes.problems:
        say(console, Text(text, style="red"))
    for text in changes.single:
        say(console, Text(text, style="yellow"))
    say(console, Text(_legend(changes), style="dim"))


def _grid(changes: Sequence[Change]) -> Grid:
    return Grid(
        "",
        ["system", "figure", "before", "after", "ratio [95 % interval]", ""],
        list(map(_cells, changes)),
        texts=1,
        gap=2,
        styles={at: _STYLES[change.verdict] for at, change in enumerate(changes)},
    )


def _faults(changes: Sequence[FaultChange]) -> Grid:
    return Grid(
        "",
        ["system", "fault", "figure", "before", "after", ""],
        [
            [
                system_at(change.system, change.point),
                change.fault,
                change.figure,
                *change.words,
                _verdict(change),
            ]
            for change in changes
        ],
        keys=3,
        texts=1,
        gap=2,
        styles={at: _STYLES[change.verdict] for at, change in enumerate(changes) if change.verdict},
    )


def _findings(findings: Sequence[Finding]) -> Grid:
    return Grid(
        "",
        ["system", "figure", "before", "after", ""],
        [
            [
                system_at(each.system, each.point),
                f"{comparison_table.phase(each.phase or RUN)}{each.figure}",
                *each.words,
                _verdict(each),
            ]
            for each in findings
        ],
        texts=1,
        gap=2,
        styles={at: _STYLES[each.verdict] for at, each in enumerate(findings)},
    )


def _caution(of: Caution) -> str:
    where = system_at(of.system, of.point)
    holds = {"both": ", before and after", "between": ""}.get(of.holds, f", {of.holds} alone")
    return f"{where}{holds}: {of.text}{' (inconclusive)' if of.verdict else ''}"


def _verdict(change: Change | FaultChange | Finding) -> str:
    verdict = "within the margin" if change.verdict == "within" else change.verdict or ""
    return f"{verdict}: {change.reason}" if change.reason else verdict


def _cells(change: Change) -> list[str]:
    said = _verdict(change)
    if change.at_rates:
        before, after = map(rate, change.at_rates)
        said += f" (at {before} op/s before, {after} after)"
    return [
        system_at(change.system, change.point),
        comparison_table.figure(change.pair),
        _number(change.before, change.pair.figure),
        _number(change.after, change.pair.figure),
        comparison_table.times(change.pair),
        said,
    ]


def _number(value: float, figure: Figure) -> str:
    metric = METRICS[figure]
    return f"{metric.write(value)} ms" if metric.unit == "ms" else metric.write(value)


def _different(of: Difference) -> str:
    where = " ".join(filter(None, (system_at(of.system, of.point), of.phase)))
    return f"{where}: {of.condition.replace('_', ' ')}: {of.before} before, {of.after} after"


def _legend(changes: Changes) -> str:
    if not changes.comparable:
        return "Not comparable: what is red must be equal, and is not. --force compares anyway."
    pairs = [change.pair for change in changes.changes]
    over = comparison_table.samples_words((pair.sampled, pair.samples) for pair in pairs if pair.low is not None)
    return (
        f"Ratios are after by before{over and f', intervals over {over}'}. Within the margin: the whole interval lies"
        f" in 1 {percent(changes.margin)}; regression, improvement: all of it lies beyond; inconclusive: anything else."
    )
