"""Builds the tables of published figures: some in the published layout beside our figures, the others as a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from dohyo.figures import UNKNOWN, named, rate
from dohyo.metrics import METRICS, Row
from dohyo.operations import OVERALL, is_success
from dohyo.scenario.phases import LOAD
from dohyo.scenario.published import MEASURED, Published, PublishedFigure, Table
from dohyo.scenario.setup import NOT_KNOWN, NOT_PUBLISHED, PHASE, SYSTEM
from dohyo.summary.results import SetupDifference, SetupDifferences, Summary, Trial
from dohyo.tables.grid import Grid

# One of our trials, and one of its phases.
_Run = tuple["Trial", str]


def grids(published: Published, summary: Summary) -> list[Grid]:
    """Returns the published tables whose rows our experiment contains, then a list of the figures of other tables."""
    shaped = [
        table
        for table in published.tables
        if set(table.rows) - {PHASE, SYSTEM} <= set(summary.dimensions)
        and (not table.at or _runs(table, table.rows, summary))
    ]
    in_shape = {
        id(table): [figure for figure in published.figures if published.table_of(figure) is table] for table in shaped
    }
    tables = [_beside(published, table, in_shape[id(table)], summary) for table in shaped]
    rest = [figure for figure in published.figures if not any(figure in figures for figures in in_shape.values())]
    return [*(grid for grid in tables if grid.lines), *([_list(published, rest)] if rest else [])]


def differences(setup: SetupDifferences) -> Grid:
    """Returns a table of the differences from the published setup."""
    lines = [[entry.group, _where(entry), entry.published, entry.here or NOT_KNOWN] for entry in setup.found]
    count = f"{sum(entry.published != NOT_PUBLISHED for entry in setup.found)}, of {setup.settings} published settings"
    title = f"Differences from the published experiment {setup.published}: {count}"
    return Grid(title, ["", "what", "published", "here"], lines, texts=2)


def difference_lines(setup: SetupDifferences) -> Iterator[str]:
    """Yields the differences from the published setup as sentences, each group below its name."""
    for group, lines in groupby(differences(setup).lines, key=lambda line: line[0]):
        yield group
        for _, setting, published, own_value in lines:
            yield f"  {setting}: {'' if published == NOT_PUBLISHED else 'published '}{published}, here {own_value}"


def _where(difference: SetupDifference) -> str:
    return f"{difference.what} ({difference.at})" if difference.at else difference.what


def _list(published: Published, figures: Sequence[PublishedFigure]) -> Grid:
    """Returns a list of published figures, with the columns of our table in which at least one figure has a number."""
    columns = {**{METRICS[name].head: name for name in MEASURED}, "seconds": "seconds"}
    present = {head: name for head, name in columns.items() if any(getattr(figure, name) for figure in figures)}
    lines = [[figure.of, figure.system, *(_theirs(figure, name) for name in present.values())] for figure in figures]
    return Grid(published.heading, ["published", "system", *present], lines)


def _beside(published: Published, table: Table, figures: Sequence[PublishedFigure], summary: Summary) -> Grid:
    """Returns our rows, each with the published figures of that row, then the published figures of other rows."""
    varied = _varied(summary, table)
    names = table.rows if table.highest else [*table.rows, *varied]
    runs = _runs(table, names, summary)
    present = [column for column in table.columns if any(_theirs(entry, column) != UNKNOWN for entry in figures)]
    lines: list[list[str]] = []
    beside: list[PublishedFigure] = []

    def add(key: Sequence[str], run: _Run | None, figure: PublishedFigure | None) -> None:
        cells = [" ".join(key), _of(figure, figures)]
        for column in table.columns:
            cells.append(UNKNOWN if run is None else _ours(column, table, figure, *run))
            cells += [_theirs(figure, column)] if column in present else []
        lines.append(cells)

    for key, run in runs.items():
        of_row = dict(zip(names, key, strict=True))
        matching = [entry for entry in figures if all(of_row[name] in values for name, values in entry.at.items())]
        beside += matching
        for figure in matching:
            add(key, run, figure)
        if not matching:
            add(key, run, None)
    for unmatched in figures:
        if unmatched not in beside:
            add([unmatched.at[name][0] for name in table.rows if name in unmatched.at], None, unmatched)
    heads = [part for column in table.columns for part in (_head(column), *(["publ."] if column in present else []))]
    groups = tuple(2 if column in present else 1 for column in table.columns)
    scales = sorted({trial.conditions.scale for trial, _ in runs.values() if trial.conditions.scale is not None})
    smaller = f" at scale {', '.join(f'{scale:g}' for scale in scales)}" if scales else ""
    of_all = f", the highest rate of each {' and '.join(varied)}" if table.highest and varied else ""
    title = f"{published.title}: ours{smaller}{of_all}, " + (
        f"and beside it (publ.) what was {published.heading}" if present else "in the published layout"
    )
    return Grid(title, [" ".join(names), "publ.", *heads], lines, groups)


def _varied(summary: Summary, table: Table) -> list[str]:
    """Returns our dimensions that have several values but do not identify the rows of the published table."""
    values = {name: {trial.point.get(name) for trial in summary.compared} for name in summary.dimensions}
    return [name for name, choices in values.items() if name not in table.rows and len(choices) > 1]


def _runs(table: Table, names: Sequence[str], summary: Summary) -> dict[tuple[str, ...], _Run]:
    """Returns the trial and phase that we measured for each row; among several, those with the highest rate.

    :param names: dimensions, phase and system that distinguish rows
    """
    runs: dict[tuple[str, ...], _Run] = {}
    for trial in summary.compared:
        if any(trial.point.get(name) not in values for name, values in table.at.items()):
            continue
        measured = list(dict.fromkeys(row.phase for row in trial.rows if not row.discarded))
        shown = table.phases or [phase for phase in measured if phase != LOAD]
        for phase in (phase for phase in shown if phase in measured):
            point = {**trial.point, PHASE: phase, SYSTEM: trial.system}
            key = tuple(point.get(name, UNKNOWN) for name in names)
            if key not in runs or _rate(trial, phase) > _rate(*runs[key]):
                runs[key] = (trial, phase)
    return runs


def _rate(trial: Trial, phase: str) -> float:
    return next((row.ops_per_second or 0.0 for row in trial.overall(phase)), 0.0)


def _ours(column: str, table: Table, figure: PublishedFigure | None, trial: Trial, phase: str) -> str:
    operation, _, name = column.rpartition(" ")
    rows = {row.operation: row for row in trial.rows if row.phase == phase and not row.discarded}
    if name == "seconds":
        return rate(_seconds(rows.get(operation or OVERALL)))
    if name not in METRICS:
        of_phase = [entry.figures for server in trial.servers[-1:] for entry in server.phases if entry.phase == phase]
        return named(name, of_phase[0].get(name) if of_phase else None)
    published = figure.operation if figure else ""
    if not operation and (name.endswith("_ms") or (name == "operations" and published)):
        calls = [call for call in rows if is_success(call)]
        preferred = published or table.operation
        operation = preferred if preferred in calls else calls[0] if len(calls) == 1 else UNKNOWN
    row: Any = rows.get(operation or OVERALL)
    if row is None:
        return UNKNOWN
    number = getattr(row, name)
    if number is not None and METRICS[name].kind == "integer":
        number = round(number / row.repeats)  # a published count is of one run
    if number is not None and figure and figure.per_client and METRICS[name].part == "rates":
        number = round(number / trial.conditions.clients) if trial.conditions.clients else None
    return METRICS[name].write(number)


def _seconds(row: Row | None) -> float | None:
    """Returns the mean duration of a run in seconds, computed from its rate; a load lasts from first to last insert."""
    if row is None or row.operations is None or not row.ops_per_second:
        return None
    return row.operations / row.repeats / row.ops_per_second


def _theirs(figure: PublishedFigure | None, name: str) -> str:
    """Returns a number with its published digits: our format could claim more precision, or lose some."""
    number = getattr(figure, name, None)
    if isinstance(number, list):
        return "\N{EN DASH}".join(f"{100 * share:g}" for share in number) + "%"
    return UNKNOWN if number is None else f"{number:,}"


def _of(figure: PublishedFigure | None, figures: Sequence[PublishedFigure]) -> str:
    if figure is None:
        return UNKNOWN
    return figure.of if len({entry.system for entry in figures}) == 1 else f"{figure.of} · {figure.system}"


def _head(column: str) -> str:
    operation, _, name = column.rpartition(" ")
    title = METRICS[name].head if name in METRICS else name.removesuffix("_ratio").replace("_", " ")
    return f"{operation} {title}".lstrip()
