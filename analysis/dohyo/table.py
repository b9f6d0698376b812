"""The summary as people read it: in the terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dohyo import conditions, search_table
from dohyo.cluster_table import Grid, grids
from dohyo.figures import COLUMNS, UNKNOWN
from dohyo.operations import INTENDED, OVERALL, order

if TYPE_CHECKING:
    from dohyo.results import Summary, Trial
    from dohyo.rows import Row

_KEYS = ("operation", "system")
_RATES = ("operations", "records", "op/s", "rec/s", "±")
_LATENCIES = ("mean", "p50", "p95", "p99", "p99.9", "max")
_FAILURES = ("errors", "not found")
# At 120 columns everything stands in one line; narrower terminals get two tables, of rates and of latencies, or three.
_PARTS: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((*_RATES, *_LATENCIES, *_FAILURES),),
    ((*_RATES, *_FAILURES), _LATENCIES),
    (_RATES, _LATENCIES, _FAILURES),
)
_LEGEND = (
    "Latencies in ms, of operations that succeeded; failed ones have rows of their own (READ-FAILED). "
    "Errors and not found count records."
)


@dataclass(frozen=True)
class _Line:
    """One line of the table: cells by column, or a reason why there are none."""

    operation: str
    system: str
    cells: dict[str, str]
    reason: str | None = None
    load: bool = False

    def has(self, columns: Sequence[str]) -> bool:
        """Whether anything is known in these columns."""
        return any(self.cells.get(column, UNKNOWN) != UNKNOWN for column in columns)


def render(summary: Summary, console: Console) -> None:
    """Prints the table, the conditions of the systems, and what a reader must know beside the numbers.

    A terminal's width is respected; into a pipe or a file the table goes as wide as it is.
    """
    lines = _lines(summary)
    width = console.width if console.is_terminal else 10_000
    parts = next((parts for parts in _PARTS if all(_width(lines, part) <= width for part in parts)), _PARTS[-1])
    for part in parts:
        # A reason stands in the first table only, and a line of nothing but unknowns in none of several.
        known = [line for line in lines if part is parts[0] or line.has(part)]
        _print_part(known, part, console, width)
        _print(console)
    _print_searches(summary, console, width)
    for grid in _grids(summary):
        _print_grid(grid, console, width)
    _print_conditions(summary, console, width)
    for name, values in summary.unequal.items():
        shown = ", ".join(f"{_label_of(trial, summary)} {value}" for trial, value in values.items())
        _print(console, Text(f"unequal: {_words(name)} ({shown})", style="bold red"), wrap=True)
    for trial in summary.trials:
        for deviation in trial.deviations:
            _print(console, Text(f"{label(trial, summary)}: {deviation}", style="bold red"), wrap=True)
        for note in trial.notes:
            _print(console, Text(f"{label(trial, summary)}: {note}", style="yellow"), wrap=True)
        for event in trial.events:
            style = "yellow" if trial.status == "ok" else "red"
            _print(console, Text(f"{label(trial, summary)}: {event}", style=style), wrap=True)
    for note in summary.notes:
        _print(console, Text(note, style="yellow"), wrap=True)
    _print(console, Text(_legend(summary), style="dim"), wrap=True)
    _print_published(summary, console, width)


def markdown(summary: Summary) -> str:
    """The same as a Markdown page."""
    lines = _lines(summary)
    columns = _shown(lines, _PARTS[0][0])
    out = [f"# {summary.name}", "", "| " + " | ".join((*_KEYS, *columns)) + " |"]
    out.append("|" + "|".join(["---", "---", *["--:"] * len(columns)]) + "|")
    for line in lines:
        reason = [_escape(line.reason), *[""] * (len(columns) - 1)] if line.reason else None
        cells = [line.operation, line.system, *(reason or [line.cells.get(column, UNKNOWN) for column in columns])]
        out.append("| " + " | ".join(cells) + " |")
    out.append("")
    out += _searches_markdown(summary)
    for grid in _grids(summary):
        out += _grid_markdown(grid)
    out += _conditions_markdown(summary)
    for name, values in summary.unequal.items():
        shown = ", ".join(f"{_label_of(trial, summary)} {value}" for trial, value in values.items())
        out.append(f"- **unequal: {_words(name)}** ({_escape(shown)})")
    for trial in summary.trials:
        out += [f"- **{label(trial, summary)}: {_escape(deviation)}**" for deviation in trial.deviations]
        out += [f"- {label(trial, summary)}: {_escape(note)}" for note in trial.notes]
        out += [f"- {label(trial, summary)}: {_escape(str(event))}" for event in trial.events]
    out += [f"- {_escape(text)}" for text in summary.notes]
    out += [f"- warning: {_escape(warning)}" for warning in summary.warnings]
    return "\n".join([*out, "", _legend(summary), "", *_published_markdown(summary)])


def label(trial: Trial, summary: Summary) -> str:
    """The system's name; with several trials of one system the trial's."""
    systems = Counter(each.system for each in summary.trials)
    return trial.system if systems[trial.system] == 1 else trial.name


def _label_of(name: str, summary: Summary) -> str:
    return next(label(trial, summary) for trial in summary.trials if trial.name == name)


def _lines(summary: Summary) -> list[_Line]:
    """By operation, then by system, so that what is to be compared stands together; the load last."""
    result = []
    entries = [(row, position, trial) for position, trial in enumerate(summary.trials) for row in trial.rows]
    for row, _, trial in sorted(entries, key=lambda e: (e[0].phase == "load", order(e[0].operation), e[1])):
        if row.phase == "load" and row.operation.startswith(INTENDED):
            continue  # of interest to few; summary.json has them
        several = sum(
            each.phase == row.phase and not each.operation.startswith((OVERALL, INTENDED)) for each in trial.rows
        )
        if row.operation != OVERALL or several != 1:  # of one operation type, OVERALL would only be its copy
            load = row.phase == "load"
            operation = f"[LOAD] {row.operation}" if load else row.operation
            result.append(_Line(operation, label(trial, summary), _cells(row), load=load))
    for trial in summary.trials:
        if trial.reason is not None or not trial.rows:
            reason = f"{trial.status}: {trial.reason or 'no results'}"
            result.append(_Line(UNKNOWN, label(trial, summary), {}, reason=reason))
    return result


def _cells(row: Row) -> dict[str, str]:
    spread = row.ops_per_second_stddev
    cells = {head: write(getattr(row, name)) for head, (name, write) in COLUMNS.items()}
    if spread is not None and row.ops_per_second:
        cells["±"] = f"{100 * spread / row.ops_per_second:.1f}%"
    return cells


def _shown(lines: Sequence[_Line], columns: Sequence[str]) -> list[str]:
    """The spread has a column only where there are repeats."""
    return [column for column in columns if column != "±" or any("±" in line.cells for line in lines)]


def _widths(lines: Sequence[_Line], columns: Sequence[str]) -> list[int]:
    widths = [max([len("operation"), *(len(line.operation) for line in lines)])]
    widths.append(max([len("system"), *(len(line.system) for line in lines)]))
    for column in _shown(lines, columns):
        cells = [len(line.cells.get(column, UNKNOWN)) for line in lines if not line.reason]
        widths.append(max([max(map(len, column.split())), *cells]))
    return widths


def _width(lines: Sequence[_Line], columns: Sequence[str]) -> int:
    widths = _widths(lines, columns)
    return sum(widths) + len(widths) - 1


def _print_part(lines: Sequence[_Line], columns: Sequence[str], console: Console, width: int) -> None:
    shown = _shown(lines, columns)
    widths = _widths(lines, columns)
    # "not found" takes two lines in the head to keep its column narrow.
    heads = [["", *column.split()][-2:] for column in (*_KEYS, *shown)]
    if any(upper for upper, _ in heads):
        _print(console, Text(_joined([upper for upper, _ in heads], widths), style="bold"))
    _print(console, Text(_joined([lower for _, lower in heads], widths), style="bold"))
    for line in lines:
        if line.reason is None:
            cells = [line.operation, line.system, *(line.cells.get(column, UNKNOWN) for column in shown)]
            style = "dim" if line.load else "bold" if line.operation == OVERALL else ""
            _print(console, Text(_joined(cells, widths), style=style))
        else:
            start = _joined([line.operation, line.system], widths[:2]).ljust(sum(widths[:2]) + 2)
            room = max(20, min(width, 120) - len(start))
            reason = f"\n{' ' * len(start)}".join(textwrap.wrap(line.reason, room) or [line.reason])
            _print(console, Text(start + reason, style="yellow" if "incomplete:" in reason else "red"))


def _grids(summary: Summary) -> list[Grid]:
    return grids(summary.trials, lambda trial: label(trial, summary))


def _searches(summary: Summary) -> tuple[list[Grid], list[str]]:
    """Tables of the searches for the highest rate, and what they have come to in words."""
    return search_table.block(summary.trials, lambda trial: label(trial, summary))


def _print_searches(summary: Summary, console: Console, width: int) -> None:
    found, conclusions = _searches(summary)
    for grid in found:
        _print_grid(grid, console, width)
    for conclusion in conclusions:
        _print(console, Text(conclusion, style="bold"), wrap=True)
    if found:
        _print(console)


def _searches_markdown(summary: Summary) -> list[str]:
    found, conclusions = _searches(summary)
    lines = [line for grid in found for line in _grid_markdown(grid)]
    return [*lines, *(f"- **{_escape(conclusion)}**" for conclusion in conclusions), ""] if found else []


def _print_grid(grid: Grid, console: Console, width: int) -> None:
    """As many columns of latencies as there is room for; summary.md has all."""
    widths = [max(map(len, column)) for column in zip(grid.heads, *grid.lines, strict=True)]
    shown = list(range(len(widths)))
    while sum(widths[i] + 1 for i in shown) > width + 1 and len(shown) > 6:
        del shown[-2]
    _print(console, Text(grid.title, style="bold"), wrap=True)
    for line in (grid.heads, *grid.lines):
        text = _joined([line[i] for i in shown], [widths[i] for i in shown])
        _print(console, Text(text, style="bold" if line is grid.heads or grid.is_sum(line) else ""))
    _print(console)


def _grid_markdown(grid: Grid) -> list[str]:
    out = [f"## {grid.title}", "", "| " + " | ".join(grid.heads) + " |"]
    out.append("|" + "|".join(["---", "---", *["--:"] * (len(grid.heads) - 2)]) + "|")
    for line in grid.lines:
        mark = "**" if grid.is_sum(line) else ""
        out.append("| " + " | ".join(f"{mark}{_escape(cell)}{mark}" if cell else "" for cell in line) + " |")
    return [*out, ""]


def _print_published(summary: Summary, console: Console, width: int) -> None:
    """A block of its own below everything of ours."""
    for each in summary.published:
        _print(console)
        if each.grid:
            _print_grid(each.grid, console, width)
        else:
            _print(console, Text(each.heading, style="bold"), wrap=True)
        for line in each.text:
            _print(console, Text(line, style="dim"), wrap=True)


def _published_markdown(summary: Summary) -> list[str]:
    out = []
    for each in summary.published:
        out += _grid_markdown(each.grid) if each.grid else [f"## {each.heading}", ""]
        out += [*(f"- {_escape(line)}" for line in each.text), ""]
    return out


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Names to the left, numbers to the right."""
    keys = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return " ".join([*keys, *numbers]).rstrip()


def _print(console: Console, text: Text | str = "", wrap: bool = False) -> None:
    # Tables are measured here; rich must neither wrap nor crop them, nor read "[LOAD]" as its own markup.
    wrap = wrap and console.is_terminal
    console.print(text, soft_wrap=not wrap, markup=False, highlight=False)


def _measured(summary: Summary) -> list[Trial]:
    """Trials with numbers, or with servers that were up and said what they are."""
    return [trial for trial in summary.trials if trial.rows or trial.conditions.version]


def _common(trials: Sequence[Trial], summary: Summary) -> str:
    """What all have in common; with a single system that is everything."""
    head = label(trials[0], summary) if len(trials) == 1 else "the same for all"
    same = [str(condition) if condition.fields else condition.value for condition in conditions.common(trials)]
    return f"{head}: {' · '.join(same)}"


def _print_conditions(summary: Summary, console: Console, width: int) -> None:
    """One line for what is equal, a table for the rest; what ought to be equal and is not is red."""
    trials = _measured(summary)
    if not trials:
        return
    _print(console, Text(_common(trials, summary)), wrap=True)
    rows = conditions.different(trials)
    if not rows:
        return
    heads = [label(trial, summary) for trial in trials]
    first = max(len(row[0].label) for row in rows)
    widths = [max(len(head), *(len(row[i].value) for row in rows)) for i, head in enumerate(heads)]
    for part in _side_by_side(widths, width - first):
        cells = [heads[i].ljust(widths[i]) for i in part]
        _print(console, Text("  ".join([" " * first, *cells]).rstrip(), style="bold"))
        for row in rows:
            cells = [row[i].value.ljust(widths[i]) for i in part]
            unequal = summary.unequal.keys() & set(row[0].fields)
            text = "  ".join([row[0].label.ljust(first), *cells]).rstrip()
            _print(console, Text(text, style="bold red" if unequal else ""))
    _print(console)


def _side_by_side(widths: Sequence[int], room: int) -> list[list[int]]:
    """Positions of the columns that fit beside each other, at least one at a time."""
    parts: list[list[int]] = [[]]
    used = 0
    for position, width in enumerate(widths):
        if parts[-1] and used + 2 + width > room:
            parts.append([])
            used = 0
        parts[-1].append(position)
        used += 2 + width
    return parts


def _conditions_markdown(summary: Summary) -> list[str]:
    trials = _measured(summary)
    if not trials:
        return []
    out = [_escape(_common(trials, summary))]
    if rows := conditions.different(trials):
        out += ["", "| | " + " | ".join(label(trial, summary) for trial in trials) + " |"]
        out.append("|---" * (len(trials) + 1) + "|")
        for row in rows:
            mark = "**" if summary.unequal.keys() & set(row[0].fields) else ""
            cells = [f"{mark}{_escape(condition.value)}{mark}" for condition in row]
            out.append("| " + " | ".join([f"{mark}{row[0].label}{mark}", *cells]) + " |")
    return [*out, ""]


def _legend(summary: Summary) -> str:
    repeats = sorted({row.repeats for trial in summary.trials for row in trial.rows if row.phase == "run"})
    if not repeats or repeats == [1]:
        return _LEGEND
    counts = " or ".join(map(str, repeats))
    return f"{_LEGEND} Rates are means of {counts} repeats ± their standard deviation; counts are sums."


def _words(name: str) -> str:
    return {
        "batchsize": "batch",
        "recordcount": "number of records",
        "inflight": "in flight",
        "record_bytes": "record size",
    }.get(name, name.replace("_", " "))


def _escape(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("\n", " ")
