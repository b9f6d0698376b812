"""Prints the comparison of two experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from rich.console import Console
from rich.text import Text

from dohyo.figures import percent, rate, system_at
from dohyo.metrics import METRICS
from dohyo.scenario.phases import RUN
from dohyo.summary.cautions import Caution
from dohyo.summary.findings import Finding
from dohyo.summary.regression import Change, Changes, Difference
from dohyo.tables import comparison_table, grid
from dohyo.tables.grid import Columns, say

Figures = TypeVar("Figures", Change, Finding)

_STYLES = {"regression": "bold red", "improvement": "green", "inconclusive": "yellow", "within": ""}


def render(changes: Changes, console: Console) -> None:
    """Prints a line for each figure, then the conditions that differ and the trials that could not be compared."""
    say(console, f"before: {changes.before}")
    say(console, f"after:  {changes.after}")
    _write(_CHANGES, changes.changes, console)
    _write(_FAULTS, changes.faults, console, keys=3)
    _write(_FINDINGS, changes.findings, console)
    for caution in changes.cautions:
        say(console, Text(_caution(caution), style="yellow"))
    for difference in changes.differences:
        say(console, Text(_different(difference), style="bold red" if difference.must_be_equal else "yellow"))
    for text in changes.problems:
        say(console, Text(text, style="red"))
    for text in changes.single:
        say(console, Text(text, style="yellow"))
    say(console, Text(_legend(changes), style="dim"))


def _write(columns: Columns[Figures], rows: Sequence[Figures], console: Console, keys: int = 2) -> None:
    styles = {index: _STYLES[row.verdict] for index, row in enumerate(rows) if row.verdict}
    if rows:
        grid.write(grid.of("", columns, rows, keys=keys, texts=1, gap=2, styles=styles), console, console.width)


def _where(change: Change | Finding | Caution) -> str:
    return system_at(change.system, change.point)


def _verdict(change: Change | Finding) -> str:
    verdict = "within the margin" if change.verdict == "within" else change.verdict or ""
    return f"{verdict}: {change.reason}" if change.reason else verdict


def _number(change: Change, value: float) -> str:
    metric = METRICS[change.pair.figure]
    return f"{metric.write(value)} ms" if metric.unit == "ms" else metric.write(value)


def _with_rates(change: Change) -> str:
    if change.at_rates is None:
        return _verdict(change)
    before, after = map(rate, change.at_rates)
    return f"{_verdict(change)} (at {before} op/s before, {after} after)"


_CHANGES: Columns[Change] = {
    "system": _where,
    "figure": lambda change: comparison_table.figure(change.pair),
    "before": lambda change: _number(change, change.before),
    "after": lambda change: _number(change, change.after),
    "ratio [interval]": lambda change: comparison_table.times(change.pair),
    "": _with_rates,
}
_BOTH: Columns[Finding] = {"before": lambda row: row.words[0], "after": lambda row: row.words[1], "": _verdict}
_WHICH: Columns[Finding] = {"system": _where, "fault": lambda row: row.fault or "", "figure": lambda row: row.figure}
_FAULTS = {**_WHICH, **_BOTH}
_FINDINGS: Columns[Finding] = {
    "system": _where,
    "figure": lambda row: f"{comparison_table.phase(row.phase or RUN)}{row.figure}",
    **_BOTH,
}


def _caution(caution: Caution) -> str:
    holds = {"both": ", before and after", "between": ""}.get(caution.holds, f", only {caution.holds}")
    return f"{_where(caution)}{holds}: {caution.text}{' (inconclusive)' if caution.verdict else ''}"


def _different(difference: Difference) -> str:
    subject = " ".join(filter(None, (system_at(difference.system, difference.point), difference.phase)))
    return f"{subject}: {difference.condition.replace('_', ' ')}: {difference.before} before, {difference.after} after"


def _legend(changes: Changes) -> str:
    if not changes.comparable:
        return "Not comparable: the lines in red must be equal. To compare anyway, use --force"
    pairs = [change.pair for change in changes.changes]
    over, level = comparison_table.samples_words(pairs), comparison_table.level(pair.confidence for pair in pairs)
    return (
        f"Ratios: after / before{over and f' ({level} intervals over {over})'};"
        f" margin {percent(changes.margin)} (docs/method.md#two-experiments)"
    )
