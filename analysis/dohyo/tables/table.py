"""Prints all details of a summary, in the terminal and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from dohyo.figures import UNKNOWN, dollars, half_interval, point_name
from dohyo.metrics import HEADS, METRICS, Metric, Part, Row
from dohyo.operations import INTENDED, OVERALL, order
from dohyo.scenario.phases import LOAD, RUN
from dohyo.summary.comparison import latencies_at
from dohyo.summary.ranking import phases_of
from dohyo.summary.results import SetupDifferences, Summary, Trial
from dohyo.summary.trust import doubts
from dohyo.tables import (
    cluster_table,
    comparison_table,
    conditions,
    fault_table,
    grid,
    published_table,
    screen,
    search_table,
    server_table,
)
from dohyo.tables.grid import Grid, escape, say

# Ways to break the table of results: into one part at 120 columns, into two or three on narrower terminals.
_WAYS: tuple[tuple[tuple[Part, ...], ...], ...] = (
    (("rates", "latencies", "failures"),),
    (("rates", "failures"), ("latencies",)),
    (("rates",), ("latencies",), ("failures",)),
)
# Part of a note on a trial whose client does not separate latencies by result.
MIXED = "latencies include those of operations that failed or found nothing"
_LEGEND = "Latencies in ms{at}, of successful operations{but}. 'errors' and 'not found' count records."
_FAULTS = " Windows with faults count completely, including the seconds of the faults."


# Function that returns the text for a row of the table of results, or None if the value is unknown.
_Cell = Callable[[Row, Trial], str | None]


def _of_metric(metric: Metric) -> _Cell:
    return lambda row, _: metric.write(getattr(row, metric.name))


def _interval(mean: str) -> _Cell:
    def cell(row: Row, _: Trial) -> str | None:
        shown, low, high = getattr(row, mean), getattr(row, f"{mean}_low"), getattr(row, f"{mean}_high")
        # The p99 of merged rounds may be near either end of the interval, so show the larger half.
        return half_interval(shown, max(high, shown**2 / low)) if low and high and shown else None

    return cell


def _price(row: Row, trial: Trial) -> str | None:
    """Returns the price per million operations; None for one of several types, as the hosts also served the others."""
    alone = not any(
        is_shown(sibling, trial) for sibling in trial.rows if (sibling.phase, sibling.operation) == (row.phase, OVERALL)
    )
    price = trial.usd_per_million(row.ops_per_second)
    counts = not row.operation.startswith(INTENDED) and (row.operation == OVERALL or alone)
    return dollars(price) if price is not None and counts else None


_PRICE, _P99_INTERVAL = "$/M op", "p99 ±"
# Columns that only this table has, by their heads. Each key is the metric after which its columns are placed.
_AFTER: dict[str, dict[str, _Cell]] = {
    "records_per_second": {"±": _interval("ops_per_second"), _PRICE: _price},
    "p99_ms": {_P99_INTERVAL: _interval("p99_ms")},
}


def _columns(after: Mapping[str, Mapping[str, _Cell]]) -> dict[str, tuple[Part, _Cell]]:
    """Returns all columns in order, by their heads; raises KeyError if a metric in `after` has no column."""
    groups = {
        metric.name: (metric.part, {metric.head: _of_metric(metric)}) for metric in METRICS.values() if metric.part
    }
    for name, cells in after.items():
        groups[name][1].update(cells)
    return {head: (part, cell) for part, cells in groups.values() for head, cell in cells.items()}


_COLUMNS = _columns(_AFTER)
# Columns that are left out if they equal another one: column → other column.
_SAME = {"records": "operations", "rec/s": "op/s"}
_PRICE_LEGEND = f" {_PRICE}: US dollars per million operations, only for the servers' hosts."


def render(summary: Summary, console: Console) -> None:
    """Prints all details: rows, conditions, events and figures of servers and hosts.

    Tables fit the width of the terminal. In a pipe or a file, they have their full width.
    """
    width = console.width if console.is_terminal else 10_000
    results = _results(summary)
    parts = [_COLUMNS[head][0] for head in results.heads[results.keys :]]
    layouts = [
        [[index for kind in part for index, of_column in enumerate(parts, results.keys) if of_column == kind]
         for part in layout]
        for layout in _WAYS
    ]  # fmt: skip
    grid.write_whole(results, console, width, layouts)
    _print_searches(summary, console, width)
    for table in [*comparison_grids(summary), *_grids(summary)]:
        if not table.is_zero():
            grid.write(table, console, width)
    _print_conditions(summary, console, width)
    for reason in doubts(summary):  # the screen shows them shortened
        say(console, Text(reason.text, style="bold red" if reason.fatal else "yellow"), wrap=True)
    for strong, text, style in _remarks(summary):
        say(console, Text(strong + text, style=style), wrap=True)
    say(console, Text(legend(summary), style="dim"), wrap=True)
    _print_published(summary, console, width)


def markdown(summary: Summary, more: Sequence[Grid] = ()) -> str:
    """Returns the screen and the details as a Markdown page.

    :param more: tables that follow the table of results
    """
    # Indent the screen: Markdown shows indented lines unchanged, as a code block.
    out = [f"# {escape(summary.name)}", "", *(f"    {line}".rstrip() for line in screen.plain(summary)), ""]
    out += [*grid.markdown_table(results_grid(summary)), ""]
    out += _searches_markdown(summary)
    for table in (*comparison_grids(summary), *more, *_grids(summary)):
        out += grid.markdown(table)
    out += _conditions_markdown(summary)
    out += [
        f"- **{escape(strong)}**{escape(text)}" if strong else f"- {escape(text)}"
        for strong, text, _ in _remarks(summary)
    ]
    out += [f"- warning: {escape(warning)}" for warning in summary.warnings]
    return "\n".join([*out, "", legend(summary), "", *_published_markdown(summary)])


def _remarks(summary: Summary) -> Iterator[tuple[str, str, str]]:
    """Yields the remarks below the tables, each as emphasised text, other text, and the style of both in a terminal."""
    for name, values in summary.unequal.items():
        yield f"unequal: {_words(name)}", f" ({_unequal(values, summary)})", "bold red"
    if summary.canary is not None:
        for text in (summary.canary.headline(), *summary.canary.sentences()):
            yield "", text, "yellow" if summary.canary.drifts else ""
    for text in _said(summary, lambda trial: trial.deviations):
        yield text, "", "yellow"
    for text in settings(summary):
        yield "", text, ""
    for is_bad, text in _events(summary):
        yield "", text, "red" if is_bad else "yellow"


def results_grid(summary: Summary) -> Grid:
    """Returns the table of results. Its heads name the units, and the rate at which latencies were measured."""
    results = _results(summary)
    *_, suffix = _latencies_at(summary) or ("",)
    titles = [
        f"{HEADS[head].title} {suffix}".rstrip() if head in HEADS and HEADS[head].unit == "ms" else head
        for head in results.heads[results.keys :]
    ]
    return replace(results, heads=[*results.heads[: results.keys], *titles])


def _results(summary: Summary) -> Grid:
    """Returns the table of results by phase, operation and system. Columns without a metric need at least one value."""
    rows = list(_rows(summary))
    cells = {head: [cell(row, trial) for row, trial in rows] for head, (_, cell) in _COLUMNS.items()}
    for repeated, original in _SAME.items():
        if all(one in (other, UNKNOWN) for one, other in zip(cells[repeated], cells[original], strict=True)):
            del cells[repeated]
    columns = [head for head, texts in cells.items() if head in HEADS or any(texts)]
    lines = [
        [*_keys(_operation(row), trial, summary), *(cells[head][index] or UNKNOWN for head in columns)]
        for index, (row, trial) in enumerate(rows)
    ]
    for trial in summary.compared:
        if trial.reason is not None or not trial.rows:
            reason = f"{trial.status}: {trial.reason or 'no results'}"
            lines.append([*_keys(UNKNOWN, trial, summary), reason, *[""] * (len(columns) - 1)])
    heads = ["operation", *summary.dimensions, *(["scale"] if _is_scaled(summary) else []), "system"]
    aside = tuple(index for index, (row, trial) in enumerate(rows) if trial.is_aside(row))
    return Grid(
        "Results",
        [*heads, *columns],
        lines,
        keys=len(heads),
        aside=aside,
        strong=(),  # the default would emphasise lines whose second key is "all"
        styles={i: "bold" for i, line in enumerate(lines) if line[0].endswith(OVERALL)} | dict.fromkeys(aside, "dim"),
        reasons=tuple(range(len(rows), len(lines))),
    )


def comparison_grids(summary: Summary) -> list[Grid]:
    """Returns the tables of comparisons; empty if there is nothing to compare."""
    return comparison_table.grids(summary, lambda trial: label(trial, summary))


def other_grids(summary: Summary) -> list[Grid]:
    """Returns the tables that follow the comparisons, beginning with those of searches."""
    return [*_searches(summary)[0], *_grids(summary)]


def warnings(summary: Summary) -> list[tuple[bool, str]]:
    """Returns the reasons to doubt the numbers. Deviations and broken evidence are marked with True."""
    return [
        *((True, text) for text in _said(summary, lambda trial: trial.deviations)),
        *((True, text) for text in summary.warnings),
        *((False, text) for text in (summary.canary.sentences() if summary.canary else [])),
        *((False, text) for text in summary.notes),
        *_events(summary),
    ]


def _events(summary: Summary) -> list[tuple[bool, str]]:
    return [
        (trial.status != "ok", f"{label(trial, summary)}: {event}")
        for trial in summary.trials
        for event in trial.events
    ]


def settings(summary: Summary) -> list[str]:
    """Returns the notes of the compared trials about systems and hosts. These notes are not conditions."""
    return _said(summary, lambda trial: trial.notes)


def findings(summary: Summary) -> list[str]:
    """Returns sentences that state the results of the searches, and whether the hosts stayed the same."""
    return [*_searches(summary)[1], *([summary.canary.headline()] if summary.canary else [])]


def label(trial: Trial, summary: Summary) -> str:
    """Returns the system with its point and round. If it has neither and is ambiguous, returns the trial's name."""
    mark = "(attached)" if trial.conditions.attached else ""
    if trial.point or trial.round:
        part = f"round {trial.round}" if trial.round else ""
        return " ".join(filter(None, (trial.system, mark, point_name(trial.point), part)))
    systems = Counter(peer.system for peer in summary.compared)
    return " ".join(filter(None, (trial.system if systems[trial.system] == 1 else trial.name, mark)))


def _said(summary: Summary, texts: Callable[[Trial], Sequence[str]]) -> list[str]:
    """Returns the remarks on the compared trials. A remark that applies to all points of a system appears once."""
    remarks: dict[tuple[str, str], list[Trial]] = {}
    for trial in summary.compared:
        for text in texts(trial):
            remarks.setdefault((trial.system, text), []).append(trial)
    return [f"{_label_of(trials, summary)}: {text}" for (_, text), trials in remarks.items()]


def _unequal(values: Mapping[str, str], summary: Summary) -> str:
    """Returns a text that lists each value of a condition with the trials that had it."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in summary.compared:
        if trial.name in values:
            groups.setdefault((trial.system, values[trial.name]), []).append(trial)
    return ", ".join(f"{_label_of(trials, summary)} {value}" for (_, value), trials in groups.items())


def _label_of(trials: Sequence[Trial], summary: Summary) -> str:
    """Returns the system if `trials` contains all its trials; otherwise the labels of the trials."""
    of_system = sum(trial.system == trials[0].system for trial in summary.compared)
    if len(trials) == of_system > 1 and trials[0].point:
        return trials[0].system
    return ", ".join(label(trial, summary) for trial in trials)


def _is_scaled(summary: Summary) -> bool:
    """Returns whether any trial was smaller than the scenario's full size. If so, every line states its scale."""
    return any(trial.conditions.scale is not None for trial in summary.compared)


def _keys(operation: str, trial: Trial, summary: Summary) -> tuple[str, ...]:
    dimensions = summary.dimensions
    system = trial.system if dimensions else label(trial, summary)
    scale = trial.conditions.scale
    scales = ["" if scale is None else f"{scale:g}"] if _is_scaled(summary) else []
    return (operation, *(trial.point.get(key, "") for key in dimensions), *scales, system)


def _rows(summary: Summary) -> Iterator[tuple[Row, Trial]]:
    """Yields the rows that the tables show, in the order in which they are shown."""
    phases = list(dict.fromkeys(row.phase for trial in summary.compared for row in trial.rows))
    entries = [(row, position, trial) for position, trial in enumerate(summary.compared) for row in trial.rows]

    def place(entry: tuple[Row, int, Trial]) -> tuple[Any, ...]:
        row, position, _ = entry
        return row.phase != LOAD, row.discarded, phases.index(row.phase), order(row.operation), position

    for row, _, trial in sorted(entries, key=place):
        if is_shown(row, trial) and (row.phase != LOAD or trial.load_is_measured):
            yield row, trial


def is_shown(row: Row, trial: Trial) -> bool:
    """Returns whether the tables show the row. summary.json has all rows."""
    if row.operation.startswith(INTENDED):
        return not trial.is_aside(row)
    beside = [
        sibling.operation
        for sibling in trial.rows
        if (sibling.phase, sibling.discarded) == (row.phase, row.discarded)
        and not sibling.operation.startswith((OVERALL, INTENDED))
    ]
    # With a single operation type, an OVERALL line would repeat its figures. Discarded rows are shown as one line.
    if row.operation == OVERALL:
        return len(beside) != 1
    return not row.discarded or len(beside) == 1


def _operation(row: Row) -> str:
    """Returns the operation, with its phase unless that is the default phase `run`."""
    phase = {LOAD: "LOAD", RUN: ""}.get(row.phase, row.phase)
    prefix = ", ".join(filter(None, (phase, "discarded" if row.discarded else "")))
    return f"[{prefix}] {row.operation}" if prefix else row.operation


def _grids(summary: Summary) -> list[Grid]:
    """Returns the tables that follow the comparisons and searches, except empty ones."""

    def name(trial: Trial) -> str:
        return label(trial, summary)

    tables = [
        *fault_table.grids(_rounds_together(summary), lambda trial: label(replace(trial, round=None), summary)),
        cluster_table.load_curve(_rounds_together(summary), name),
        _loads(summary),
        *cluster_table.grids(summary.trials, name),
        *server_table.grids(summary.trials, name),
    ]
    return [table for table in tables if table.lines]


def _loads(summary: Summary) -> Grid:
    """Returns a table with the rates of loads that were not measured. Latencies of a bulk load are left out."""
    shown = [HEADS[head] for head in ("records", "rec/s", "errors")]
    lines = [
        [label(trial, summary), *(metric.write(getattr(row, metric.name)) for metric in shown)]
        for trial in summary.compared
        for row in trial.rows
        if row.phase == LOAD and not trial.load_is_measured and is_shown(row, trial)
    ]
    return Grid("Loads before the runs", ["system", *(metric.head for metric in shown)], lines)


def _searches(summary: Summary) -> tuple[list[Grid], list[str]]:
    """Returns the tables of the searches for the highest rate, and their results as sentences."""
    return search_table.block(_rounds_together(summary), lambda trial: label(trial, summary))


def _rounds_together(summary: Summary) -> list[Trial]:
    """Returns the trials, sorted so that the rounds of a system at a point follow each other."""
    first: dict[str, int] = {}
    places = [first.setdefault(trial.place, len(first)) for trial in summary.trials]
    return [trial for _, trial in sorted(zip(places, summary.trials, strict=True), key=lambda item: item[0])]


def _print_searches(summary: Summary, console: Console, width: int) -> None:
    tables, conclusions = _searches(summary)
    for table in tables:
        grid.write(table, console, width)
    for conclusion in conclusions:
        say(console, Text(conclusion, style="bold"), wrap=True)
    if tables:
        say(console)


def _searches_markdown(summary: Summary) -> list[str]:
    tables, conclusions = _searches(summary)
    lines = [line for table in tables for line in grid.markdown(table)]
    return [*lines, *(f"- **{escape(conclusion)}**" for conclusion in conclusions), ""] if tables else []


def _print_published(summary: Summary, console: Console, width: int) -> None:
    """Prints the published figures, and the differences from the published setups."""
    for published in summary.published:
        say(console)
        tables = published_table.grids(published, summary)
        for table in tables:
            grid.write(table, console, width)
        if not tables:
            say(console, Text(published.heading, style="bold"), wrap=True)
        for line in published.text:
            say(console, Text(line, style="dim"), wrap=True)
    for difference in summary.differences:
        print_differences(difference, console)


def print_differences(differences: SetupDifferences, console: Console) -> None:
    """Prints the differences from the published setup."""
    say(console)
    say(console, Text(published_table.differences(differences).title, style="bold"), wrap=True)
    for line in published_table.difference_lines(differences):
        say(console, Text(line), wrap=True)


def _published_markdown(summary: Summary) -> list[str]:
    out = []
    for published in summary.published:
        tables = published_table.grids(published, summary)
        out += [line for table in tables for line in grid.markdown(table)] or [f"## {escape(published.heading)}", ""]
        out += [*(f"- {escape(line)}" for line in published.text), ""]
    return [*out, *(line for item in summary.differences for line in grid.markdown(published_table.differences(item)))]


# A system and its trials at all points of the matrix.
_System = tuple[str, list["Trial"]]


def _measured(summary: Summary) -> list[_System]:
    """Returns the systems that have numbers, or whose servers started and reported their conditions."""
    systems: dict[str, _System] = {}
    for position, trial in enumerate(summary.compared):
        if trial.rows or trial.conditions.version:
            key, name = (trial.system, trial.system) if trial.point else (str(position), label(trial, summary))
            systems.setdefault(key, (name, []))[1].append(trial)
    return list(systems.values())


def _common(measured: Sequence[_System]) -> str:
    """Returns the conditions that all systems share; for a single system, these are all its conditions."""
    head = measured[0][0] if len(measured) == 1 else "the same for all"
    same = conditions.common([trials for _, trials in measured])
    return f"{head}: {' · '.join(str(condition) if condition.fields else condition.value for condition in same)}"


def _print_conditions(summary: Summary, console: Console, width: int) -> None:
    """Prints equal conditions in one line and the others in a table, with unfair differences in red."""
    if measured := _measured(summary):
        say(console, Text(_common(measured)), wrap=True)
        table = _conditions_grid(summary, measured)
        if table.lines:
            grid.write(table, console, width)


def _conditions_grid(summary: Summary, measured: Sequence[_System]) -> Grid:
    """Returns the conditions that differ; unfair differences are emphasised."""
    rows = conditions.different([trials for _, trials in measured])
    unequal = tuple(index for index, row in enumerate(rows) if summary.unequal.keys() & set(row[0].fields))
    return Grid(
        "",
        ["", *(name for name, _ in measured)],
        [[row[0].label, *(condition.value for condition in row)] for row in rows],
        groups=(1,) * len(measured),
        keys=1,
        texts=len(measured),
        gap=2,
        strong=unequal,
        styles=dict.fromkeys(unequal, "bold red"),
    )


def _conditions_markdown(summary: Summary) -> list[str]:
    measured = _measured(summary)
    if not measured:
        return []
    table = _conditions_grid(summary, measured)
    return [escape(_common(measured)), *(["", *grid.markdown_table(table)] if table.lines else []), ""]


def _latencies_at(summary: Summary) -> tuple[str, ...]:
    """Returns texts that say at which rate the latencies were measured."""
    return latencies_at(summary.compared, phases_of(summary))


def legend(summary: Summary) -> str:
    """Returns an explanation of the columns and of the precision of the figures."""
    rows = [(row, trial.is_aside(row)) for trial in summary.compared for row in trial.rows]
    repeats = sorted({row.repeats for row, aside in rows if not aside})
    priced = any(trial.conditions.usd_per_hour is not None for trial in summary.compared)
    suffix, *_ = _latencies_at(summary) or ("",)
    mixed = any(MIXED in note for trial in summary.compared for note in trial.notes)
    but = " (except for types named in a note)" if mixed else ""
    text = _LEGEND.format(at=f" {suffix}" if suffix else "", but=but) + (_PRICE_LEGEND if priced else "")
    text += _FAULTS if any(trial.faults for trial in summary.trials) else ""
    discarded = " Discarded repeats do not count." if any(row.discarded for row, _ in rows) else ""
    samples = {(row.sampled, len(row.ops_per_second_samples)) for row, aside in rows if not aside and row.sampled}
    few = screen.few_operations(row for row, _ in rows)
    discarded += f" {few}." if few else ""
    if not repeats or repeats == [1]:
        return text + discarded
    over = [f"{n} {sampled}" for sampled, n in sorted(samples, key=str)]
    level = comparison_table.level_of_rows(row for row, aside in rows if not aside)
    spread = f" \N{PLUS-MINUS SIGN} the upper part of their {level} interval over {' or '.join(over)}" if over else ""
    if any(row.p99_ms_high is not None for row, _ in rows):
        spread += f"; {_P99_INTERVAL} is the upper part of the interval of the p99"
    counts = " or ".join(map(str, repeats))
    return f"{text} Rates are geometric means of {counts} repeats{spread}; counts are sums.{discarded}"


def _words(name: str) -> str:
    return {
        "batchsize": "batch",
        "recordcount": "number of records",
        "inflight": "in flight",
        "record_bytes": "record size",
    }.get(name, name.replace("_", " "))
