"""The summary as people read it: in the terminal, and as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from rich.console import Console
from rich.text import Text

from dohyo.evidence.rows import LOAD, RUN, Row
from dohyo.figures import COLUMNS, UNKNOWN, dollars, half_interval, head, point_name
from dohyo.operations import INTENDED, OVERALL, order
from dohyo.summary.comparison import latencies_at
from dohyo.summary.ranking import phases_of
from dohyo.summary.results import Summary, Trial
from dohyo.tables import (
    comparison_table,
    conditions,
    host_table,
    load_curve_table,
    published_table,
    screen,
    search_table,
    server_table,
)
from dohyo.tables.cluster_table import Grid, grids

_PRICE = "$/M op"
_RATES = ("operations", "records", "op/s", "rec/s", "±", _PRICE)
_P99_INTERVAL = "p99 ±"
_LATENCIES = ("mean", "p50", "p95", "p99", _P99_INTERVAL, "p99.9", "max")
_FAILURES = ("errors", "not found")
# At 120 columns everything fits in one line; narrower terminals get two tables, of rates and of latencies, or three.
_PARTS: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((*_RATES, *_LATENCIES, *_FAILURES),),
    ((*_RATES, *_FAILURES), _LATENCIES),
    (_RATES, _LATENCIES, _FAILURES),
)
_LEGEND = (
    "Latencies in ms{at}, of operations that succeeded; failed ones have rows of their own (READ-FAILED). "
    "Errors and not found count records."
)
_LOADS = "Loads before the runs"

_PRICE_LEGEND = f" {_PRICE}: US dollars for a million operations, of the servers' hosts alone."


@dataclass(frozen=True)
class _Line:
    """One line of the table: cells by column, or a reason why there are none.

    :ivar keys: operation, values of the matrix, system
    """

    keys: tuple[str, ...]
    cells: dict[str, str]
    reason: str | None = None
    aside: bool = False  # a run that does not count

    def has(self, columns: Sequence[str]) -> bool:
        """Whether anything is known in these columns."""
        return any(self.cells.get(column, UNKNOWN) != UNKNOWN for column in columns)


def render(summary: Summary, console: Console) -> None:
    """Prints the details: all rows, the conditions of the systems, and what else is known.

    A terminal's width is respected; into a pipe or a file the table goes as wide as it is.
    """
    heads, lines = _heads(summary), _lines(summary)
    width = console.width if console.is_terminal else 10_000
    parts = next((parts for parts in _PARTS if all(_width(heads, lines, part) <= width for part in parts)), _PARTS[-1])
    for part in parts:
        # A reason is in the first table only, and a line of nothing but unknowns in none of several.
        known = [line for line in lines if part is parts[0] or line.has(part)]
        _print_part(heads, known, part, console, width)
        _print(console)
    _print_searches(summary, console, width)
    for grid in [*comparison_grids(summary), *_grids(summary)]:
        if not grid.is_zero():
            _print_grid(grid, console, width)
    _print_conditions(summary, console, width)
    for name, values in summary.unequal.items():
        text = f"unequal: {_words(name)} ({_unequal(values, summary)})"
        _print(console, Text(text, style="bold red"), wrap=True)
    _print_canary(summary, console)
    for text in _said(summary, lambda trial: trial.deviations):
        _print(console, Text(text, style="yellow"), wrap=True)
    for text in _said(summary, lambda trial: trial.notes):
        _print(console, Text(text), wrap=True)
    for trial in summary.trials:
        for event in trial.events:
            style = "yellow" if trial.status == "ok" else "red"
            _print(console, Text(f"{label(trial, summary)}: {event}", style=style), wrap=True)
    for note in summary.notes:
        _print(console, Text(note, style="yellow"), wrap=True)
    _print(console, Text(legend(summary), style="dim"), wrap=True)
    _print_published(summary, console, width)


def markdown(summary: Summary, more: Sequence[Grid] = ()) -> str:
    """The screen and the details as a Markdown page.

    :param more: tables that follow that of the results
    """
    results = results_grid(summary)
    keys = results.keys
    # Indented it is text, whatever is in it.
    out = [f"# {_escape(summary.name)}", "", *(f"    {line}".rstrip() for line in screen.plain(summary)), ""]
    out.append("| " + " | ".join(map(_escape, results.heads)) + " |")
    out.append("|" + "|".join(["---"] * keys + ["--:"] * (len(results.heads) - keys)) + "|")
    out += ["| " + " | ".join(map(_escape, line)) + " |" for line in results.lines]
    out.append("")
    out += _searches_markdown(summary)
    for grid in (*comparison_grids(summary), *more, *_grids(summary)):
        out += _grid_markdown(grid)
    out += _conditions_markdown(summary)
    for name, values in summary.unequal.items():
        out.append(f"- **unequal: {_words(name)}** ({_escape(_unequal(values, summary))})")
    if summary.canary is not None:
        out += [f"- {_escape(text)}" for text in (summary.canary.headline(), *summary.canary.sentences())]
    out += [f"- **{_escape(text)}**" for text in _said(summary, lambda trial: trial.deviations)]
    out += [f"- {_escape(text)}" for text in _said(summary, lambda trial: trial.notes)]
    out += [f"- {_escape(f'{label(trial, summary)}: {event}')}" for trial in summary.trials for event in trial.events]
    out += [f"- {_escape(text)}" for text in summary.notes]
    out += [f"- warning: {_escape(warning)}" for warning in summary.warnings]
    return "\n".join([*out, "", legend(summary), "", *_published_markdown(summary)])


def results_grid(summary: Summary) -> Grid:
    """The table itself. A line without numbers has its reason in the first column after the keys."""
    heads, lines = _heads(summary), _lines(summary)
    columns = _shown(lines, _PARTS[0][0])
    cells = [
        [line.reason, *[""] * (len(columns) - 1)]
        if line.reason is not None
        else [line.cells.get(column, UNKNOWN) for column in columns]
        for line in lines
    ]
    whole = [[*line.keys, *each] for line, each in zip(lines, cells, strict=True)]
    aside = tuple(position for position, line in enumerate(lines) if line.aside)
    *_, at = _latencies_at(summary) or ("",)
    titles = [f"{head(each)} {at}".rstrip() if head(each) != each else each for each in columns]
    return Grid("Results", [*heads, *titles], whole, keys=len(heads), aside=aside)


def comparison_grids(summary: Summary) -> list[Grid]:
    """Who is faster, and by how much; nothing where there is nothing to compare."""
    return comparison_table.grids(summary, lambda trial: label(trial, summary))


def other_grids(summary: Summary) -> list[Grid]:
    """The other tables below it, those of searches first."""
    return [*_searches(summary)[0], *_grids(summary)]


def warnings(summary: Summary) -> list[tuple[bool, str]]:
    """What weakens the numbers, in words, and whether it is worse than that: not what was asked for, or broken."""
    events = [
        (trial.status != "ok", f"{label(trial, summary)}: {event}")
        for trial in summary.trials
        for event in trial.events
    ]
    return [
        *((True, text) for text in _said(summary, lambda trial: trial.deviations)),
        *((True, text) for text in summary.warnings),
        *((False, text) for text in (summary.canary.sentences() if summary.canary else [])),
        *((False, text) for text in summary.notes),
        *events,
    ]


def settings(summary: Summary) -> list[str]:
    """What systems and hosts say of themselves beside the conditions."""
    return _said(summary, lambda trial: trial.notes)


def findings(summary: Summary) -> list[str]:
    """What the searches came to, and whether the hosts were the same."""
    return [*_searches(summary)[1], *([summary.canary.headline()] if summary.canary else [])]


def label(trial: Trial, summary: Summary) -> str:
    """The system's name, with its point of the matrix and its round; several trials of one system have names else."""
    if trial.point or trial.round:
        which = f"round {trial.round}" if trial.round else ""
        return " ".join(filter(None, (trial.system, point_name(trial.point), which)))
    systems = Counter(each.system for each in summary.compared)
    return trial.system if systems[trial.system] == 1 else trial.name


def _said(summary: Summary, texts: Callable[[Trial], Sequence[str]]) -> list[str]:
    """What is said of what is compared; what is said of a system at all of its points is said once."""
    said: dict[tuple[str, str], list[Trial]] = {}
    for trial in summary.compared:
        for text in texts(trial):
            said.setdefault((trial.system, text), []).append(trial)
    return [f"{_label_of(trials, summary)}: {text}" for (_, text), trials in said.items()]


def _unequal(values: Mapping[str, str], summary: Summary) -> str:
    """The values of a condition, by trial, in words."""
    said: dict[tuple[str, str], list[Trial]] = {}
    for trial in summary.compared:
        if trial.name in values:
            said.setdefault((trial.system, values[trial.name]), []).append(trial)
    return ", ".join(f"{_label_of(trials, summary)} {value}" for (_, value), trials in said.items())


def _label_of(trials: Sequence[Trial], summary: Summary) -> str:
    """The system alone where these are all of its points."""
    of_system = sum(trial.system == trials[0].system for trial in summary.compared)
    if len(trials) == of_system > 1 and trials[0].point:
        return trials[0].system
    return ", ".join(label(trial, summary) for trial in trials)


def _heads(summary: Summary) -> list[str]:
    """Of the columns that say what a line is of."""
    return ["operation", *summary.dimensions, *(["scale"] if _is_scaled(summary) else []), "system"]


def _is_scaled(summary: Summary) -> bool:
    """Whether anything was of less than the full size, which every line says then."""
    return any(trial.conditions.scale is not None for trial in summary.compared)


def _head_lines(column: str) -> list[str]:
    """A head in two lines, to keep its column narrow: "not found", and a long name of a dimension."""
    broken = re.sub(r"(.*[._])(?=.)", r"\1 ", column) if len(column) > 12 else column
    return ["", *broken.split()][-2:]


def _keys(operation: str, trial: Trial, summary: Summary) -> tuple[str, ...]:
    dimensions = summary.dimensions
    system = trial.system if dimensions else label(trial, summary)
    scale = trial.conditions.scale
    scales = ["" if scale is None else f"{scale:g}"] if _is_scaled(summary) else []
    return (operation, *(trial.point.get(key, "") for key in dimensions), *scales, system)


def _lines(summary: Summary) -> list[_Line]:
    """By phase and operation, then by system, so that what is to be compared stands together."""
    result = []
    phases = list(dict.fromkeys(row.phase for trial in summary.compared for row in trial.rows))
    entries = [(row, position, trial) for position, trial in enumerate(summary.compared) for row in trial.rows]

    def place(entry: tuple[Row, int, Trial]) -> tuple[Any, ...]:
        row, position, _ = entry
        return row.phase == LOAD, row.discarded, phases.index(row.phase), order(row.operation), position

    for row, _, trial in sorted(entries, key=place):
        if is_shown(row, trial) and (row.phase != LOAD or trial.load_is_measured):
            result.append(_Line(_keys(_operation(row), trial, summary), _cells(row, trial), aside=trial.is_aside(row)))
    for trial in summary.compared:
        if trial.reason is not None or not trial.rows:
            reason = f"{trial.status}: {trial.reason or 'no results'}"
            result.append(_Line(_keys(UNKNOWN, trial, summary), {}, reason=reason))
    return result


def is_shown(row: Row, trial: Trial) -> bool:
    """Whether the row is of interest to many; summary.json has all."""
    if row.operation.startswith(INTENDED):
        return not trial.is_aside(row)
    beside = [
        each.operation
        for each in trial.rows
        if (each.phase, each.discarded) == (row.phase, row.discarded)
        and not each.operation.startswith((OVERALL, INTENDED))
    ]
    # Of one operation type OVERALL would only be its copy; of what does not count one line is enough.
    if row.operation == OVERALL:
        return len(beside) != 1
    return not row.discarded or len(beside) == 1


def _operation(row: Row) -> str:
    """With its phase, where that is not just the run."""
    phase = {LOAD: "LOAD", RUN: ""}.get(row.phase, row.phase)
    which = ", ".join(filter(None, (phase, "discarded" if row.discarded else "")))
    return f"[{which}] {row.operation}" if which else row.operation


def _cells(row: Row, trial: Trial) -> dict[str, str]:
    cells = {head: write(getattr(row, name)) for head, (name, write) in COLUMNS.items()}
    if row.ops_per_second_high is not None and row.ops_per_second:
        cells["±"] = half_interval(row.ops_per_second, row.ops_per_second_high)
    if row.p99_ms_high is not None and row.p99_ms:
        cells[_P99_INTERVAL] = half_interval(row.p99_ms, row.p99_ms_high)
    # Of all operations together: a type of several has only a part of the hosts.
    alone = not any(
        is_shown(each, trial) for each in trial.rows if (each.phase, each.operation) == (row.phase, OVERALL)
    )
    price = trial.usd_per_million(row.ops_per_second)
    if price is not None and not row.operation.startswith(INTENDED) and (row.operation == OVERALL or alone):
        cells[_PRICE] = dollars(price)
    return cells


def _shown(lines: Sequence[_Line], columns: Sequence[str]) -> list[str]:
    """How exactly rates are known has a column only where anything is known of it, records only beside operations
    that are something else.
    """
    known = [line.cells for line in lines if line.reason is None]
    left_out = {column for column in ("±", _P99_INTERVAL, _PRICE) if not any(column in cells for cells in known)}
    for records, operations in (("records", "operations"), ("rec/s", "op/s")):
        if all(cells[records] in (cells[operations], UNKNOWN) for cells in known):
            left_out.add(records)
    return [column for column in columns if column not in left_out]


def _widths(heads: Sequence[str], lines: Sequence[_Line], columns: Sequence[str]) -> list[int]:
    keys = list(zip(*(line.keys for line in lines), strict=True)) or [()] * len(heads)
    widths = [max(map(len, [*_head_lines(head), *cells])) for head, cells in zip(heads, keys, strict=True)]
    for column in _shown(lines, columns):
        cells = [len(line.cells.get(column, UNKNOWN)) for line in lines if not line.reason]
        widths.append(max([*map(len, _head_lines(column)), *cells]))
    return widths


def _width(heads: Sequence[str], lines: Sequence[_Line], columns: Sequence[str]) -> int:
    widths = _widths(heads, lines, columns)
    return sum(widths) + len(widths) - 1


def _print_part(
    keys: Sequence[str], lines: Sequence[_Line], columns: Sequence[str], console: Console, width: int
) -> None:
    shown = _shown(lines, columns)
    widths = _widths(keys, lines, columns)
    heads = [_head_lines(column) for column in (*keys, *shown)]
    if any(upper for upper, _ in heads):
        _print(console, Text(_joined([upper for upper, _ in heads], widths, len(keys)), style="bold"))
    _print(console, Text(_joined([lower for _, lower in heads], widths, len(keys)), style="bold"))
    for line in lines:
        if line.reason is None:
            cells = [*line.keys, *(line.cells.get(column, UNKNOWN) for column in shown)]
            style = "dim" if line.aside else "bold" if line.keys[0].endswith(OVERALL) else ""
            _print(console, Text(_joined(cells, widths, len(keys)), style=style))
        else:
            of_keys = widths[: len(keys)]
            start = _joined(line.keys, of_keys, len(keys)).ljust(sum(of_keys) + len(keys))
            room = max(20, min(width, 120) - len(start))
            reason = f"\n{' ' * len(start)}".join(textwrap.wrap(line.reason, room) or [line.reason])
            _print(console, Text(start + reason, style="yellow" if "incomplete:" in reason else "red"))


def _grids(summary: Summary) -> list[Grid]:
    def name(trial: Trial) -> str:
        return label(trial, summary)

    trials = summary.trials
    return (
        load_curve_table.grids(_rounds_together(summary), name)
        + _loads(summary)
        + grids(trials, name)
        + host_table.grids(trials, name)
        + server_table.grids(trials, name)
    )


def _loads(summary: Summary) -> list[Grid]:
    """How fast the records were loaded where that is not what is measured: its latencies are those of a bulk load."""
    lines = [
        [label(trial, summary), *(_cells(row, trial)[column] for column in ("records", "rec/s", "errors"))]
        for trial in summary.compared
        for row in trial.rows
        if row.phase == LOAD and not trial.load_is_measured and is_shown(row, trial)
    ]
    return [Grid(_LOADS, ["system", "records", "rec/s", "errors"], lines)] if lines else []


def _searches(summary: Summary) -> tuple[list[Grid], list[str]]:
    """Tables of the searches for the highest rate, and what they have come to in words."""
    return search_table.block(_rounds_together(summary), lambda trial: label(trial, summary))


def _rounds_together(summary: Summary) -> list[Trial]:
    """The trials, those of one system at one point beside each other."""
    first: dict[tuple[str, str], int] = {}
    places = [first.setdefault((trial.system, point_name(trial.point)), len(first)) for trial in summary.trials]
    return [trial for _, trial in sorted(zip(places, summary.trials, strict=True), key=lambda each: each[0])]


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
    while sum(widths[i] + 1 for i in shown) > width + 1 and len(shown) > 6 and not grid.groups:
        del shown[-2]
    _print(console, Text(grid.title, style="bold"), wrap=True)
    for part in _broken(grid, widths, width) or [shown]:
        for line in (grid.heads, *grid.lines):
            text = _joined([line[i] for i in part], [widths[i] for i in part])
            _print(console, Text(text, style="bold" if line is grid.heads or grid.is_sum(line) else ""))
        _print(console)


def _broken(grid: Grid, widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns of each part of a table with groups."""
    columns = iter(range(2, len(widths)))
    groups = [list(islice(columns, size)) for size in grid.groups]
    room = width - sum(widths[:2]) - 1
    # What stands side by side is two apart, and the columns of a table only one.
    fitting = _side_by_side([sum(widths[i] + 1 for i in group) - 2 for group in groups], room)
    return [[0, 1, *chain.from_iterable(groups[i] for i in part)] for part in fitting] if groups else []


def _grid_markdown(grid: Grid) -> list[str]:
    out = [f"## {_escape(grid.title)}", "", "| " + " | ".join(map(_escape, grid.heads)) + " |"]
    out.append("|" + "|".join(["---"] * grid.keys + ["--:"] * (len(grid.heads) - grid.keys)) + "|")
    for line in grid.lines:
        mark = "**" if grid.is_sum(line) else ""
        out.append("| " + " | ".join(f"{mark}{_escape(cell)}{mark}" if cell else "" for cell in line) + " |")
    return [*out, ""]


def _print_published(summary: Summary, console: Console, width: int) -> None:
    """A block of its own below everything of ours."""
    for each in summary.published:
        _print(console)
        found = published_table.grids(each, summary)
        for grid in found:
            _print_grid(grid, console, width)
        if not found:
            _print(console, Text(each.heading, style="bold"), wrap=True)
        for line in each.text:
            _print(console, Text(line, style="dim"), wrap=True)


def _published_markdown(summary: Summary) -> list[str]:
    out = []
    for each in summary.published:
        found = published_table.grids(each, summary)
        out += [line for grid in found for line in _grid_markdown(grid)] or [f"## {_escape(each.heading)}", ""]
        out += [*(f"- {_escape(line)}" for line in each.text), ""]
    return out


def _joined(cells: Sequence[str], widths: Sequence[int], names: int = 2) -> str:
    """Names, which come first, to the left, numbers to the right."""
    keys = [cell.ljust(width) for cell, width in zip(cells[:names], widths[:names], strict=True)]
    numbers = [cell.rjust(width) for cell, width in zip(cells[names:], widths[names:], strict=True)]
    return " ".join([*keys, *numbers]).rstrip()


def _print(console: Console, text: Text | str = "", wrap: bool = False) -> None:
    # Tables are measured here; rich must neither wrap nor crop them, nor read "[LOAD]" as its own markup.
    wrap = wrap and console.is_terminal
    console.print(text, soft_wrap=not wrap, markup=False, highlight=False)


# A system and its trials at all points of the matrix.
_System = tuple[str, list["Trial"]]


def _measured(summary: Summary) -> list[_System]:
    """Systems with numbers, or with servers that were up and said what they are."""
    found: dict[str, _System] = {}
    for position, trial in enumerate(summary.compared):
        if trial.rows or trial.conditions.version:
            key, name = (trial.system, trial.system) if trial.point else (str(position), label(trial, summary))
            found.setdefault(key, (name, []))[1].append(trial)
    return list(found.values())


def _common(measured: Sequence[_System]) -> str:
    """What all have in common; with a single system that is everything."""
    head = measured[0][0] if len(measured) == 1 else "the same for all"
    same = conditions.common([trials for _, trials in measured])
    return f"{head}: {' · '.join(str(each) if each.fields else each.value for each in same)}"


def _print_conditions(summary: Summary, console: Console, width: int) -> None:
    """One line for what is equal, a table for the rest; what ought to be equal and is not is red."""
    measured = _measured(summary)
    if not measured:
        return
    _print(console, Text(_common(measured)), wrap=True)
    rows = conditions.different([trials for _, trials in measured])
    if not rows:
        return
    heads = [name for name, _ in measured]
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


def _print_canary(summary: Summary, console: Console) -> None:
    """One line where the hosts were the same before all trials, and a line for each drift where they were not."""
    if summary.canary is not None:
        style = "yellow" if summary.canary.drifts else ""
        for text in (summary.canary.headline(), *summary.canary.sentences()):
            _print(console, Text(text, style=style), wrap=True)


def _conditions_markdown(summary: Summary) -> list[str]:
    measured = _measured(summary)
    if not measured:
        return []
    out = [_escape(_common(measured))]
    if rows := conditions.different([trials for _, trials in measured]):
        out += ["", "| | " + " | ".join(_escape(name) for name, _ in measured) + " |"]
        out.append("|---" * (len(measured) + 1) + "|")
        for row in rows:
            mark = "**" if summary.unequal.keys() & set(row[0].fields) else ""
            cells = [f"{mark}{_escape(condition.value)}{mark}" for condition in row]
            out.append("| " + " | ".join([f"{mark}{row[0].label}{mark}", *cells]) + " |")
    return [*out, ""]


def _latencies_at(summary: Summary) -> tuple[str, ...]:
    """At which rate the latencies were measured, in words."""
    return latencies_at(summary.compared, phases_of(summary))


def legend(summary: Summary) -> str:
    """What the columns mean, and how exactly the figures are known."""
    rows = [(row, trial.is_aside(row)) for trial in summary.compared for row in trial.rows]
    repeats = sorted({row.repeats for row, aside in rows if not aside})
    priced = any(trial.conditions.usd_per_hour is not None for trial in summary.compared)
    at, *_ = _latencies_at(summary) or ("",)
    known = _LEGEND.format(at=f" {at}" if at else "") + (_PRICE_LEGEND if priced else "")
    discarded = " Discarded are first repeats, which count nowhere." if any(row.discarded for row, _ in rows) else ""
    samples = {(row.sampled, len(row.ops_per_second_samples)) for row, aside in rows if not aside and row.sampled}
    if not repeats or repeats == [1]:
        return known + discarded
    over = [f"{n} {sampled}" for sampled, n in sorted(samples, key=str)]
    spread = f" \N{PLUS-MINUS SIGN} half of their 95 % interval over {' or '.join(over)}" if over else ""
    if any(row.p99_ms_high is not None for row, _ in rows):
        spread += f"; {_P99_INTERVAL} is that of the p99"
    counts = " or ".join(map(str, repeats))
    return f"{known} Rates are means of {counts} repeats{spread}; counts are sums.{discarded}"


def _words(name: str) -> str:
    return {
        "batchsize": "batch",
        "recordcount": "number of records",
        "inflight": "in flight",
        "record_bytes": "record size",
    }.get(name, name.replace("_", " "))


def _escape(text: str | None) -> str:
    """Text that stays text in Markdown: no cell ends in it, and it is no HTML and no link."""
    plain = " ".join((text or "").splitlines()).replace("\\", "\\\\").replace("|", "\\|").replace("](", "]\\(")
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", plain)
