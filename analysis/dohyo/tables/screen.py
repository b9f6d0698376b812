"""Prints the result on one screen: the verdict, the ranking, reasons to doubt the verdict, and where to find the rest.

The table has at most `MOST_LINES` lines and `MOST_COLUMNS` columns; `--details` prints everything.
"""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dohyo.evidence.hdr_log import BEYOND, is_known
from dohyo.figures import UNKNOWN, counted, formatted, point_name, rate, size, whole
from dohyo.metrics import METRICS, Row
from dohyo.operations import INTENDED, OVERALL, READ_MODIFY_WRITE, has_latency, order
from dohyo.places import DOHYO, command, named, shown
from dohyo.scenario.phases import AT_RATE, LOAD, PROBE
from dohyo.summary.comparison import (
    at_points,
    is_paced,
    latencies_at,
    rate_figure,
    rounds_of,
    searches_of,
    shared_dimensions,
)
from dohyo.summary.probes import intended, percentiles
from dohyo.summary.ranking import Rate, decisive, decisive_phases, phases_of
from dohyo.summary.results import Pair, Summary, Trial
from dohyo.summary.trust import Mark
from dohyo.tables.comparison_table import interval, level_of_rows, ratio
from dohyo.tables.grid import say
from dohyo.tables.remedies import Again, not_measured
from dohyo.tables.verdict import verdict

# File with the page of charts, which `dohyo.report` writes to the folder of an experiment.
PAGE = "report.html"
MOST_LINES = 25
MOST_COLUMNS = 100
MOST_REASONS, MOST_COSTS = 5, 8
_MOST_BAD, _MOST_LINES_OF_A_REASON = 4, 3
_LONGEST_NAME, _LONGEST_POINT = 28, 48
_STYLES: dict[Mark, str] = {"solid": "bold green", "caution": "bold yellow", "do not use": "bold red"}
_SIGN, _TIMES, _ELLIPSIS = "\N{PLUS-MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{HORIZONTAL ELLIPSIS}"
_PERCENTILES = ("p50", "p99", "p99.9")
# Groups of columns that are dropped if the screen is too narrow, in this order.
_DROPPED = ("zeros", "costs", "p99.9", "closed loop", "intervals", "p50", "ratios")


@dataclass(frozen=True)
class _Entry:
    """A line of the ranking: the results of one trial in one phase, at one point of the matrix."""

    trial: Trial
    name: str
    rate: Rate
    of_all: Row  # row for all operations, with costs and failures
    latencies: dict[str, dict[str, float | None]]  # operation → percentile → ms
    pair: Pair | None = None  # comparison of this trial with the best
    closed_loop: float | None = None
    slowdown: float | None = None


@dataclass(frozen=True)
class _Section:
    """Lines that are compared with each other; the best is the first.

    :ivar ranked: whether the lines are one ranking; otherwise each line shows the best system of another point
    :ivar paced: whether a target rate was set, so that the lines have no ranks
    """

    title: str
    entries: list[_Entry]
    ranked: bool = True
    paced: bool = False

    @property
    def lead(self) -> float:
        """Returns the ratio of the best rate to the second-best rate; 1 if there is no second."""
        return next((1 / entry.pair.ratio for entry in self.entries if entry.pair), 1.0)


@dataclass(frozen=True)
class _Group:
    """Columns that share a head.

    :ivar heads: heads of the single columns
    :ivar cells: cells of each line
    :ivar dropped: name in `_DROPPED` under which the columns are dropped; empty: never
    :ivar under: texts for a line below the head, longest first; the first one that fits is used
    """

    head: str
    heads: list[str]
    cells: list[list[str]]
    dropped: str = ""
    under: tuple[str, ...] = ()


def render(summary: Summary, console: Console, folder: Path | None = None, more: Sequence[str] = ()) -> None:
    """Prints the screen. In a pipe or a file, it is `MOST_COLUMNS` wide.

    :param folder: folder of the experiment, for commands and paths; None: all reasons are printed in full
    :param more: lines to print before the path of the page
    """
    if not console.is_terminal:
        console.width = MOST_COLUMNS
    width = min(console.width, MOST_COLUMNS)
    again = Again(folder) if folder else None
    outcome = verdict(summary)
    reasons, mark = outcome.reasons, outcome.mark
    cause = f": {reasons[0].short}" if reasons else ""
    write = partial(say, console, wrap=True, width=width)
    write(Text.assemble((f"{outcome.brief}.", "bold"), " ", (f"{mark}{cause}.", _STYLES[mark])))
    console.print()
    _print_table(summary, console, width, again)
    console.print()
    for text in outcome.costs[:MOST_COSTS]:
        write(Text(text))
    if (hidden := len(outcome.costs) - MOST_COSTS) > 0:
        write(Text(f"{hidden} more in summary.md"))
    # Reasons with the same short form could look the same, so only the first of them is shown.
    distinct = list({reason.short: reason for reason in reversed(reasons)}.values())[::-1]
    shown = distinct[:MOST_REASONS] if folder else reasons
    lines = {again.line(reason, summary, MOST_COLUMNS - 2) if again else reason.text: reason.fatal for reason in shown}
    for line, fatal in lines.items():
        write(Text(f"- {line}", style="red" if fatal else "yellow"))
    if hidden := len(reasons) - len(shown):
        write(Text(f"- {hidden} more in summary.md", style="yellow"))
    for text in _elsewhere(again, more) if again else more:
        write(Text(text))


def _elsewhere(again: Again, more: Sequence[str]) -> list[str]:
    """Returns lines that say where other results are. The last line names the page, or the command that creates it."""
    page = again.folder / PAGE
    return [
        f"everything else: {shown(again.folder)}/summary.md",
        f"this screen again: {again.show}",
        *more,
        f"a page with charts: {shown(page) if page.is_file() else command(DOHYO, 'report', named(again.folder))}",
    ]


def figures(summary: Summary) -> str:
    """Returns a trial's results in each phase, such as "32,485 op/s p99 0.90 ms read, 1.2 ms update"; empty without
    valid numbers.
    """
    parts = []
    sections = _sections(summary)
    for section in sections:
        for entry in section.entries:
            row = entry.rate.row
            differ = _records_differ([entry])
            rates = f"{rate(row.ops_per_second if differ else entry.rate.mean)} op/s"
            rates += f"  {rate(row.records_per_second)} rec/s" if differ else ""
            p99s = {name: values["p99"] for name, values in entry.latencies.items() if values.get("p99") is not None}
            p99 = ", ".join(
                f"{_two_digits(value)} ms{f' {_word(name)}' if len(p99s) > 1 else ''}" for name, value in p99s.items()
            )
            errors = f"  {counted(entry.of_all.errors, 'error')}" if entry.of_all.errors else ""
            phase = f"{row.phase} " if len(sections) > 1 else ""
            parts.append(f"{phase}{rates}{p99 and f'  p99 {p99}'}{errors}")
    return "; ".join(parts)


def ranking(summary: Summary, width: int = MOST_COLUMNS) -> Text:
    """Returns only the table of the screen, for the trials that have been measured so far."""
    width = min(width, MOST_COLUMNS)
    console = Console(width=width, force_terminal=True, color_system="standard", file=io.StringIO())
    with console.capture() as captured:
        _print_table(summary, console, width, None)
    return Text.from_ansi(captured.get().rstrip())


def few_operations(rows: Iterable[Row], heads: Collection[str] = ()) -> str:
    """Returns a text that names the percentiles missing because a row has too few operations; empty if there are none.

    :param heads: heads of the percentiles to check; empty: all
    """
    few = {
        metric.head: f"{metric.head} needs {BEYOND / (1 - metric.percentile / 100):,.0f}"
        for row in rows
        for metric in METRICS.values()
        if metric.percentile is not None and (metric.head in heads or not heads)
        if row.operations and getattr(row, metric.name) is None and not is_known(metric.percentile, row.operations)
    }
    return f"{UNKNOWN} too few operations of a type: {', '.join(few[head] for head in sorted(few))}" if few else ""


def plain(summary: Summary) -> list[str]:
    """Returns the screen without colours, `MOST_COLUMNS` wide, with all reasons in full."""
    console = Console(width=MOST_COLUMNS, force_terminal=True, color_system=None, file=io.StringIO())
    with console.capture() as captured:
        render(summary, console)
    return [line.rstrip() for line in captured.get().splitlines()]


def _print_table(summary: Summary, console: Console, width: int, again: Again | None) -> None:
    sections = _sections(summary)
    bad = [line for text in without_numbers(summary) for line in _wrapped(text, width)]
    unmeasured = sorted({trial.system for trial in summary.compared if trial.status == "skipped"})
    skipped = _few(sections)
    if unmeasured:
        skipped.append(again.skipped(unmeasured, width) if again else not_measured(unmeasured))
    # Leave room for the other lines: facts, three lines of heads, and a line that counts omitted places.
    sections, hidden = _fitting(sections, MOST_LINES - 5 - len(bad) - len(skipped))
    entries = [entry for section in sections for entry in section.entries]
    columns = _columns(summary, sections) if entries else []
    table, left_out = _fitted(sections, columns, console, width)
    facts = what_and_where(summary)
    if "zeros" in left_out:
        facts.append("no errors")
    heading = ""
    for fact in facts:
        longer = f"{heading} \N{MIDDLE DOT} {fact}" if heading else _cut(fact, width)
        heading = longer if len(longer) <= width else heading
    say(console, Text(heading))
    if entries:
        console.print(table, width=width, crop=False, markup=False, highlight=False)
    if hidden:
        say(console, Text(f"{hidden} more {'line is' if hidden == 1 else 'lines are'} in summary.md", style="dim"))
    for line in bad:
        say(console, Text(line, style="red"))
    for line in skipped:
        say(console, Text(_cut(line, width)))


def _fitted(
    sections: Sequence[_Section], columns: Sequence[_Group], console: Console, width: int
) -> tuple[Table, set[str]]:
    """Returns the table with the columns that fit, and the names of the groups that were dropped."""
    groups = {column.dropped for column in columns} - {""}
    left_out: set[str] = set()

    def table() -> Table:
        return _table(sections, [column for column in columns if column.dropped not in left_out])

    def fits() -> bool:
        return console.measure(table(), options=console.options.update(width=1000)).maximum <= width

    for name in _DROPPED:
        if name in groups and not fits():
            left_out.add(name)
    # A group may fit again after a wider one was dropped.
    for name in reversed(_DROPPED):
        if name in left_out:
            left_out.remove(name)
            if not fits():
                left_out.add(name)
    return table(), left_out


def _table(sections: Sequence[_Section], columns: Sequence[_Group]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(no_wrap=True)
    merged = _merged(columns)
    cells = [_lined(column) for column in merged]
    for column, lines in zip(merged, cells, strict=True):
        width = len(lines[0])
        under = next((form for form in column.under if len(form) <= width), column.under[-1] if column.under else "")
        lower = [""] if any(group.under for group in merged) else []
        heads = [column.head, under] if under else [*lower, column.head]
        table.add_column(Text("\n".join([*(head.center(width).rstrip() for head in heads), lines[0]])), no_wrap=True)
    index = 0
    for section in sections:
        if section.title:
            table.add_row(Text(_cut(section.title, _LONGEST_NAME), style="bold"))
        for number, entry in enumerate(section.entries, start=1):
            index += 1
            rank = UNKNOWN if section.paced else str(number)
            ranked = f"{rank:>{len(str(len(section.entries)))}} {_cut(entry.name, _LONGEST_NAME)}"
            name = ranked if section.ranked else _cut(entry.name, _LONGEST_POINT)
            best = section.ranked and not section.paced and number == 1
            table.add_row(Text(name), *(Text(lines[index]) for lines in cells), style="bold" if best else "")
    return table


def _merged(columns: Sequence[_Group]) -> list[_Group]:
    """Merges neighbouring columns that have the same head."""
    result: list[_Group] = []
    for column in columns:
        if result and result[-1].head == column.head:
            last = result.pop()
            cells = [[*one, *other] for one, other in zip(last.cells, column.cells, strict=True)]
            result.append(replace(last, heads=[*last.heads, *column.heads], cells=cells))
        else:
            result.append(column)
    return result


def _lined(column: _Group) -> list[str]:
    """Returns the texts of a column, aligned: first the heads of its figures, then each line's cells."""
    lines = [column.heads, *column.cells]
    widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
    return [" ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]


def _columns(summary: Summary, sections: Sequence[_Section]) -> list[_Group]:
    """Returns the columns that have at least one value."""
    entries = [entry for section in sections for entry in section.entries]
    against = "of the first" if sections[0].ranked else "of the second"
    searched = entries[0].rate.row.phase == PROBE
    bounds = {trial.search.slo for trial in summary.trials if trial.search}
    head = ("under its bound" if len(bounds) > 1 else f"under {min(bounds)}") if searched and bounds else ""
    groups = [_Group(head, *_rates(entries))]
    if any(entry.closed_loop for entry in entries):
        groups.append(_Group("closed loop", ["ops/s"], [[rate(entry.closed_loop)] for entry in entries], "closed loop"))
    if any(entry.slowdown for entry in entries):
        slowdowns = [[formatted(entry.slowdown, ".2f")] for entry in entries]
        groups.append(_Group("last/first", ["tenth"], slowdowns))
    if any(entry.pair for entry in entries):
        ratios = [[ratio(entry.pair) if entry.pair else ""] for entry in entries]
        has_intervals = any(entry.pair and entry.pair.low is not None for entry in entries)
        groups.append(_Group(against, [""], ratios, "ratios", () if has_intervals else ("no interval",)))
        if has_intervals:
            intervals = [[interval(entry.pair) if entry.pair else ""] for entry in entries]
            groups.append(_Group(against, [""], intervals, "intervals"))
    phases = list(dict.fromkeys(entry.rate.row.phase for entry in entries))
    groups += _latencies(entries, latencies_at(summary.compared, phases))
    costs = [(entry.of_all.server_cpu_us_per_record, entry.of_all.client_cpu_us_per_record) for entry in entries]
    if any(cost is not None for pair in costs for cost in pair):
        unit = "CPU \N{MICRO SIGN}s/rec" if _records_differ(entries) else "CPU \N{MICRO SIGN}s/op"
        cells = [[_two_digits(cost) for cost in pair] for pair in costs]
        groups.append(_Group(unit, ["server", "client"], cells, "costs"))
    for head, name in (("", "errors"), ("not", "found")):
        counts = [getattr(entry.of_all, "errors" if name == "errors" else "not_found") for entry in entries]
        if any(counts) or (name == "errors" and None not in counts):
            groups.append(_Group(head, [name], [[whole(count)] for count in counts], "" if any(counts) else "zeros"))
    return groups


def _two_digits(number: float | None) -> str:
    """Returns the number with two significant digits, or all digits before the point; `--details` shows more."""
    if number is None:
        return UNKNOWN
    entries = next((entries for entries, least in enumerate((9.95, 0.995, 0.0995)) if number >= least), 3)
    return f"{number:,.{entries}f}"


def _rates(entries: Sequence[_Entry]) -> tuple[list[str], list[list[str]]]:
    """Returns heads and cells of the rates: op/s, rec/s if it differs, and the interval of the deciding rate."""
    differ = _records_differ(entries)
    has_intervals = any(entry.rate.low is not None for entry in entries)
    confidence = level_of_rows(entry.rate.row for entry in entries)
    lines = []
    for entry in entries:
        row = entry.rate.row
        cells = [rate(row.ops_per_second), rate(row.records_per_second)] if differ else [rate(entry.rate.mean)]
        lines.append(cells + [entry.rate.plus_minus] * has_intervals)
    return ["ops/s", *(["rec/s"] if differ else []), *([f"{_SIGN}{confidence}"] if has_intervals else [])], lines


def _records_differ(entries: Iterable[_Entry]) -> bool:
    rows = [entry.rate.row for entry in entries]
    return any(
        row.records_per_second is not None and rate(row.records_per_second) != rate(row.ops_per_second) for row in rows
    )


def _latencies(entries: Sequence[_Entry], notes: tuple[str, ...]) -> list[_Group]:
    """Returns columns with the latencies of each operation type. If no line has several types, all share the columns.

    :param notes: texts that say at which rate the latencies were measured
    """
    operations = sorted({name for entry in entries for name in entry.latencies}, key=order)
    if all(len(entry.latencies) <= 1 for entry in entries) and len(operations) > 1:
        groups = [("latency ms", [next(iter(entry.latencies.values()), {}) for entry in entries])]
    else:
        groups = [(f"{_word(name)} ms", [entry.latencies.get(name, {}) for entry in entries]) for name in operations]
    return [
        _Group(head, [percentile], [[_two_digits(values.get(percentile))] for values in group], percentile, notes)
        for head, group in groups
        for percentile in _PERCENTILES
        if any(values.get(percentile) is not None for values in group)
    ]


def _word(operation: str) -> str:
    return {READ_MODIFY_WRITE: "r-m-w"}.get(operation, operation.lower())


def _sections(summary: Summary) -> list[_Section]:
    """Returns the sections of all phases and points."""
    decide = dict.fromkeys(phase for trial in summary.compared for phase in decisive_phases(summary, trial))
    # Rates of the `AT_RATE` phases are derived from those of other phases and decide nothing, so they come last.
    phases = [*decide, *(phase for phase in phases_of(summary) if phase in AT_RATE)]
    sections = []
    shared = shared_dimensions(summary.compared)
    for phase in phases:
        for together in at_points(summary.compared, lambda trial: decisive(summary, trial)):
            values = {key: value for trial in together for key, value in trial.point.items()}
            point = point_name({key: values[key] for key in shared if key in values})
            of_phase = phase if len(phases) > 1 else ""
            title = " \N{MIDDLE DOT} ".join(filter(None, (of_phase, point)))
            if entries := _ranked(summary, together, phase, shared):
                sections.append(_Section(title, entries, paced=is_paced(together, phase)))
    return sections


def _ranked(summary: Summary, trials: Sequence[Trial], phase: str, shared: Sequence[str]) -> list[_Entry]:
    entries = []
    systems = [trial.system for trial in trials]
    for trial in trials:
        if figure := _rate_in(summary, trial, phase):
            varying = {key: value for key, value in trial.point.items() if key not in shared}
            alone = trial.name if systems.count(trial.system) > 1 else trial.system
            name = f"{trial.system} {point_name(varying)}" if varying else alone
            name += " (attached)" if trial.conditions.attached else ""
            entries.append(_entry(summary, trial, phase, name, figure))
    entries.sort(key=lambda entry: -entry.rate.mean)
    best, *_ = [entry.trial.name for entry in entries] or [""]
    pairs = {
        pair.to: pair.inverse
        for pair in summary.comparisons
        if (pair.phase, pair.operation, pair.of) == (phase, OVERALL, best)
    }
    return [replace(entry, pair=pairs.get(entry.trial.name)) for entry in entries]


def _rate_in(summary: Summary, trial: Trial, phase: str) -> Rate | None:
    """Returns the rate that decides the ranking; in a phase of `AT_RATE`, the rate that was reached."""
    if phase not in AT_RATE:
        return next((rate for key, rate in decisive(summary, trial).items() if key[0] == phase), None)
    figure = rate_figure(summary.compared, phase)
    return next((Rate(row, figure) for row in trial.overall(phase) if getattr(row, figure) is not None), None)


def _entry(summary: Summary, trial: Trial, phase: str, name: str, figure: Rate) -> _Entry:
    if phase == PROBE:
        searches = searches_of(trial, summary.trials)
        loops = [search.closed_loop for search in searches if search.closed_loop]
        # Percentiles of the probes of several rounds cannot be combined.
        best = searches[0].best if len(searches) == 1 else None
        rows = best.rows if best else []
        of_all = next((row for row in rows if row.operation == OVERALL), Row(PROBE, OVERALL, 0))
        latencies = {operation: dict(values) for operation, values in intended(rows).items()}
        return _Entry(trial, name, figure, of_all, latencies, closed_loop=statistics.fmean(loops) if loops else None)
    rows = [row for row in trial.rows if row.phase == phase and not row.discarded]
    of_all = next((row for row in rows if row.operation == OVERALL), Row(phase, OVERALL, 0))
    by_type = {row.operation: row for row in rows if has_latency(row.operation)}
    # With a target rate, show latencies from the intended start, because that is when users begin to wait.
    waited = {name: by_type.get(INTENDED + name, row) for name, row in by_type.items() if not name.startswith(INTENDED)}
    latencies = {name: percentiles(row) for name, row in waited.items()}
    slowdowns = [peer.load.slowdown for peer in rounds_of(trial, summary.trials) if peer.load and peer.load_is_measured]
    present = [slowdown for slowdown in slowdowns if slowdown]
    slowdown = statistics.geometric_mean(present) if present and phase == LOAD else None
    return _Entry(trial, name, figure, of_all, latencies, slowdown=slowdown)


def _fitting(sections: list[_Section], room: int) -> tuple[list[_Section], int]:
    """Returns the sections shortened to `room` lines, and the number of lines left out.

    The last places are dropped first. If not all winners fit, points with an unusual winner are kept first, then
    points with a close result.
    """

    def lines(parts: Sequence[_Section]) -> int:
        return sum(len(section.entries) + bool(section.title) for section in parts)

    all_entries = sum(len(section.entries) for section in sections)
    for most in range(max((len(section.entries) for section in sections), default=0), 1, -1):
        shown = [replace(section, entries=section.entries[:most]) for section in sections]
        if lines(shown) <= room:
            return shown, all_entries - sum(len(section.entries) for section in shown)
    if lines(sections) <= room:
        return sections, 0
    sections = [section for section in sections if not section.paced] or sections  # a paced section has no winner
    winners = [section.entries[0].trial.system for section in sections]
    usual = statistics.mode(winners)
    ordered = sorted(range(len(sections)), key=lambda index: (winners[index] == usual, sections[index].lead, index))
    best = [_alone(sections[index]) for index in sorted(ordered[:room])]
    return [_Section("", best, ranked=False)], all_entries - len(best)


def _alone(section: _Section) -> _Entry:
    """Returns a section's best place, compared with the first place that ties with it or, failing that, the second."""
    best, *rest = section.entries
    pairs = [entry.pair for entry in rest if entry.pair]
    pair = next((pair for pair in pairs if pair.tie), next(iter(pairs), None))
    return replace(best, name=f"{section.title}  {best.name}".strip(), pair=pair and pair.inverse)


def without_numbers(summary: Summary) -> list[str]:
    """Returns a line for each measured system without numbers and each of its reasons."""
    sections = _sections(summary)
    ranked = {entry.trial.name for section in sections for entry in section.entries}
    counts: dict[tuple[str, str], int] = {}
    for trial in summary.compared:
        if trial.name not in ranked and trial.status != "skipped":
            conclusions = [peer.search.conclusion for peer in rounds_of(trial, summary.trials) if peer.search]
            if trial.status == "ok":
                reason = next(filter(None, conclusions), "no results")
            else:
                reason = f"{trial.status}: {trial.reason or 'no results'}"
            counts[trial.system, reason] = counts.get((trial.system, reason), 0) + 1
    lines = [
        f"{UNKNOWN} {system}{f' ({count} trials)' if count > 1 else ''}  {' '.join(cause.split())}"
        for (system, cause), count in counts.items()
    ]
    more = len(lines) - _MOST_BAD
    return [*lines[:_MOST_BAD], *([f"{UNKNOWN} {more} more in summary.md"] if more > 0 else [])]


def _few(sections: Sequence[_Section]) -> list[str]:
    entries = [entry for section in sections for entry in section.entries]
    rows = [row for entry in entries for row in entry.trial.measured_rows if has_latency(row.operation)]
    # Without a p99.9 there is no such column, so no dash needs an explanation; small runs seldom have one.
    last = _PERCENTILES[-1]
    drawn = any(latencies.get(last) is not None for entry in entries for latencies in entry.latencies.values())
    return list(filter(None, [few_operations(rows, _PERCENTILES if drawn else _PERCENTILES[:-1])]))


def what_and_where(summary: Summary) -> list[str]:
    """Returns texts with the scenario's name, the hosts, the data, the load and the rounds."""
    name = re.sub(r"^\d{8}-\d{6}-", "", summary.name)
    ran = [trial for trial in summary.trials if trial.rows] or summary.trials
    conditions = [trial.conditions for trial in ran]
    facts = [name, _hosts(summary, ran)]
    records, record_bytes = (
        {getattr(condition, key) for condition in conditions} for key in ("recordcount", "record_bytes")
    )
    if None not in records and records:
        many = f"{min(records):,}" if len(records) == 1 else f"{min(records):,} to {max(records):,}"
        length = min(record_bytes) if len(record_bytes) == 1 else None
        facts.append(f"{many} {_TIMES} {size(length)}" if length else f"{many} records")
    clients, threads = ({getattr(condition, key) for condition in conditions} for key in ("clients", "threads"))
    if len(clients) == len(threads) == 1 and (count := min(threads, key=str)):
        many = f"{min(clients, key=str)} clients {_TIMES} " if (min(clients, key=str) or 1) > 1 else ""
        facts.append(f"{many}{count} thread{'' if count == 1 else 's'}")
    elif (added_up := sorted({count for count in clients if count})) and added_up[-1] > 1:
        facts.append(f"{' to '.join(dict.fromkeys(map(str, (added_up[0], added_up[-1]))))} clients")
    profiles = sorted({condition.profile for condition in conditions if condition.profile})
    if profiles and profiles != ["vanilla"]:
        facts.append(f"profile {' or '.join(profiles)}")
    targets = {condition.target for condition in conditions if condition.target}
    if targets:
        facts.append(f"target {' or '.join(f'{target:,.0f}' for target in sorted(targets))} ops/s per client")
    rounds = max((trial.round or 1 for trial in ran), default=1)
    repeats = max((row.repeats for trial in ran for row in trial.measured_rows), default=1)
    times = f"{rounds} round{'' if rounds == 1 else 's'}" + (f" of {repeats} runs" if repeats > 1 else "")
    seconds = [condition.measured_seconds for condition in conditions if condition.measured_seconds]
    if seconds and not any(trial.load_is_measured for trial in ran):
        times += f", {statistics.median(seconds):,.0f} s each"
    return [*filter(None, facts), times]


def _hosts(summary: Summary, trials: Sequence[Trial]) -> str:
    """Returns the number of server hosts and their processors."""
    count = summary.host_count
    if not count:
        return ""
    cpus = {use.cpus for trial in trials for use in trial.hosts if use.cpus}
    cores = f", {min(cpus)} cores" if len(cpus) == 1 else ""
    return f"{count} host{'' if count == 1 else 's'}{cores}{' each' if cores and count > 1 else ''}"


def _wrapped(text: str, width: int) -> list[str]:
    """Wraps a reason, and cuts it after the last allowed line. All lines but the first are indented."""
    lines = wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)
    head = lines[:_MOST_LINES_OF_A_REASON]
    return [*head[:-1], _cut(f"{head[-1]} \N{HORIZONTAL ELLIPSIS}", width)] if len(head) < len(lines) else head


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}{_ELLIPSIS}"
