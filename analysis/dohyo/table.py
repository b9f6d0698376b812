"""The summary as people read it: in the terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dohyo.operations import INTENDED, OVERALL, order

if TYPE_CHECKING:
    from dohyo.results import Conditions, Row, Summary, Trial

_UNKNOWN = "\N{EN DASH}"
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
        return any(self.cells.get(column, _UNKNOWN) != _UNKNOWN for column in columns)


def render(summary: Summary, console: Console) -> None:
    """Prints the table, one line of conditions per system, and what a reader must know beside the numbers.

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
    for trial in summary.trials:
        _print(console, _conditions_text(trial, summary), wrap=True)
    for name, values in summary.unequal.items():
        shown = ", ".join(f"{_label_of(trial, summary)} {value}" for trial, value in values.items())
        _print(console, Text(f"unequal: {_words(name)} ({shown})", style="bold red"), wrap=True)
    for trial in summary.trials:
        for deviation in trial.deviations:
            _print(console, Text(f"{label(trial, summary)}: {deviation}", style="bold red"), wrap=True)
        for note in trial.notes:
            _print(console, Text(f"{label(trial, summary)}: {note}", style="yellow"), wrap=True)
    for note in summary.notes:
        _print(console, Text(note, style="yellow"), wrap=True)
    _print(console, Text(_legend(summary), style="dim"), wrap=True)


def markdown(summary: Summary) -> str:
    """The same as a Markdown page."""
    lines = _lines(summary)
    columns = _shown(lines, _PARTS[0][0])
    out = [f"# {summary.name}", "", "| " + " | ".join((*_KEYS, *columns)) + " |"]
    out.append("|" + "|".join(["---", "---", *["--:"] * len(columns)]) + "|")
    for line in lines:
        reason = [_escape(line.reason), *[""] * (len(columns) - 1)] if line.reason else None
        cells = [line.operation, line.system, *(reason or [line.cells.get(column, _UNKNOWN) for column in columns])]
        out.append("| " + " | ".join(cells) + " |")
    out += ["", *(f"- {_escape(_conditions_text(trial, summary).plain)}" for trial in summary.trials)]
    for name, values in summary.unequal.items():
        shown = ", ".join(f"{_label_of(trial, summary)} {value}" for trial, value in values.items())
        out.append(f"- **unequal: {_words(name)}** ({_escape(shown)})")
    for trial in summary.trials:
        out += [f"- **{label(trial, summary)}: {_escape(deviation)}**" for deviation in trial.deviations]
        out += [f"- {label(trial, summary)}: {_escape(note)}" for note in trial.notes]
    out += [f"- {_escape(text)}" for text in summary.notes]
    out += [f"- warning: {_escape(warning)}" for warning in summary.warnings]
    return "\n".join([*out, "", _legend(summary), ""])


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
            result.append(_Line(_UNKNOWN, label(trial, summary), {}, reason=reason))
    return result


def _cells(row: Row) -> dict[str, str]:
    spread = row.ops_per_second_stddev
    cells = {
        "operations": _whole(row.operations),
        "records": _whole(row.records),
        "op/s": _rate(row.ops_per_second),
        "rec/s": _rate(row.records_per_second),
        "mean": _milliseconds(row.mean_ms),
        "p50": _milliseconds(row.p50_ms),
        "p95": _milliseconds(row.p95_ms),
        "p99": _milliseconds(row.p99_ms),
        "p99.9": _milliseconds(row.p99_9_ms),
        "max": _milliseconds(row.max_ms),
        "errors": _whole(row.errors),
        "not found": _whole(row.not_found),
    }
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
        cells = [len(line.cells.get(column, _UNKNOWN)) for line in lines if not line.reason]
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
            cells = [line.operation, line.system, *(line.cells.get(column, _UNKNOWN) for column in shown)]
            style = "dim" if line.load else "bold" if line.operation == OVERALL else ""
            _print(console, Text(_joined(cells, widths), style=style))
        else:
            start = _joined([line.operation, line.system], widths[:2]).ljust(sum(widths[:2]) + 2)
            room = max(20, min(width, 120) - len(start))
            reason = f"\n{' ' * len(start)}".join(textwrap.wrap(line.reason, room) or [line.reason])
            _print(console, Text(start + reason, style="yellow" if "incomplete:" in reason else "red"))


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Names to the left, numbers to the right."""
    keys = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return " ".join([*keys, *numbers]).rstrip()


def _print(console: Console, text: Text | str = "", wrap: bool = False) -> None:
    # Tables are measured here; rich must neither wrap nor crop them, nor read "[LOAD]" as its own markup.
    wrap = wrap and console.is_terminal
    console.print(text, soft_wrap=not wrap, markup=False, highlight=False)


def _conditions_text(trial: Trial, summary: Summary) -> Text:
    """One line; what differs from the other systems is red."""
    text = Text()
    version = f" {trial.conditions.version}" if trial.conditions.version else ""
    name = label(trial, summary)
    text.append(name + ": ", style="bold")
    pieces: list[tuple[tuple[str, ...], str]] = []
    if trial.title + version != name:
        pieces.append(((), trial.title + version))
    pieces += _condition_pieces(trial.conditions)
    for index, (names, piece) in enumerate(pieces):
        text.append(" · " if index else "")
        text.append(piece, style="bold red" if summary.unequal.keys() & set(names) else "")
    if not pieces:
        text.append("conditions not known")
    return text


def _condition_pieces(of: Conditions) -> list[tuple[tuple[str, ...], str]]:
    """Readable conditions with the names of the fields that they show."""
    pieces: list[tuple[tuple[str, ...], str]] = []

    def add(names: tuple[str, ...], text: str) -> None:
        if any(getattr(of, name) is not None for name in names):
            pieces.append((names, text))

    add(("replication",), f"replication {of.replication}")
    add(("write_acks", "read_acks"), f"acks write {of.write_acks or '?'}, read {of.read_acks or '?'}")
    add(("consistency",), f"{of.consistency} consistency{_overlap(of)}")
    add(("durability",), f"durability {of.durability}")
    add(("compression",), f"compression {of.compression}")
    plural = "" if of.clients == 1 else "s"
    threads = f" \N{MULTIPLICATION SIGN} {of.threads} thread{'' if of.threads == 1 else 's'}" if of.threads else ""
    add(("clients", "threads"), f"{of.clients or '?'} client{plural}{threads}")
    add(("batchsize",), f"batch {of.batchsize}")
    add(("inflight",), f"in flight {of.inflight}")
    if of.target is not None:
        add(("target",), f"target {of.target:,.0f} op/s per client")
    if of.measured_seconds is not None:
        warmup = f" after {of.warmup_seconds:.0f} s" if of.warmup_seconds else ""
        add(("measured_seconds",), f"measured {of.measured_seconds:,.1f} s{warmup}")
    add(("heap",), f"heap {of.heap}")
    add(("memory",), f"memory {of.memory}")
    add(("jdk", "gc"), ", ".join(filter(None, (of.jdk and f"JDK {of.jdk}", of.gc))))
    return pieces


def _overlap(of: Conditions) -> str:
    """NW + NR > RF with its figures, where they are what decides."""
    if None in (of.write_copies, of.read_copies, of.replication) or of.consistency not in ("strong", "eventual"):
        return ""
    sign = ">" if of.consistency == "strong" else "\N{LESS-THAN OR EQUAL TO}"
    return f" ({of.write_copies} + {of.read_copies} {sign} {of.replication})"


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


def _whole(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _rate(number: float | None) -> str:
    if number is None:
        return _UNKNOWN
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _milliseconds(number: float | None) -> str:
    """Three digits, as many as the histograms keep; whole ms from 100 on, and never less than 1 µs is told apart."""
    if number is None:
        return _UNKNOWN
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}" if number >= 0.9995 else f"{number:.3f}"
