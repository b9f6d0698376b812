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


def _write(columns: Columns[Figures], of: Sequence[Figures], console: Console, keys: int = 2) -> None:
    styles = {at: _STYLES[each.verdict] for at, each in enumerate(of) if each.verdict}
    if of:
        grid.write(grid.of("", columns, of, keys=keys, texts=1, gap=2, styles=styles), console, console.width)


def _where(of: Change | Finding | Caution) -> str:
    return system_at(of.system, of.point)


def _verdict(of: Change | Finding) -> str:
    verdict = "within the margin" if of.verdict == "within" else of.verdict or ""
    return f"{verdict}: {of.reason}" if of.reason else verdict


def _number(of: Change, value: float) -> str:
    metric = METRICS[of.pair.figure]
    return f"{metric.write(value)} ms" if metric.unit == "ms" else metric.write(value)


def _with_rates(of: Change) -> str:
    if of.at_rates is None:
        return _verdict(of)
    before, after = map(rate, of.at_rates)
    return f"{_verdict(of)} (at {before} op/s before, {after} after)"


_CHANGES: Columns[Change] = {
    "system": _where,
    "figure": lambda of: comparison_table.figure(of.pair),
    "before": lambda of: _number(of, of.before),
    "after": lambda of: _number(of, of.after),
    "ratio [95 % interval]": lambda of: comparison_table.times(of.pair),
    "": _with_rates,
}
_BOTH: Columns[Finding] = {"before": lambda of: of.words[0], "after": lambda of: of.words[1], "": _verdict}
_FAULTS: Columns[Finding] = {
    "system": _where,
    "fault": lambda of: of.fault or "",
    "figure": lambda of: of.figure,
    **_BOTH,
}
_FINDINGS: Columns[Finding] = {
    "system": _where,
    "figure": lambda of: f"{comparison_table.phase(of.phase or RUN)}{of.figure}",
    **_BOTH,
}


def _caution(of: Caution) -> str:
    holds = {"both": ", before and after", "between": ""}.get(of.holds, f", only {of.holds}")
    return f"{_where(of)}{holds}: {of.text}{' (inconclusive)' if of.verdict else ''}"


def _different(of: Difference) -> str:
    where = " ".join(filter(None, (system_at(of.system, of.point), of.phase)))
    return f"{where}: {of.condition.replace('_', ' ')}: {of.before} before, {of.after} after"


def _legend(changes: Changes) -> str:
    if not changes.comparable:
        return "Not comparable: the lines in red must be equal. To compare anyway: --force"
    over = comparison_table.samples_words(change.pair for change in changes.changes)
    return (
        f"Ratios are after / before{over and f', intervals over {over}'}. Within the margin: the whole interval is in"
        f" 1 {percent(changes.margin)}; regression, improvement: all of it is beyond; inconclusive: anything else."
    )
