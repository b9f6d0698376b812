"""Tables of single rounds, clients and nodes, which follow the table of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dohyo.evidence.conducted import Client, Node
from dohyo.figures import UNKNOWN, formatted, rate, whole
from dohyo.metrics import HEADS, Row
from dohyo.operations import OVERALL, is_success, order
from dohyo.scenario.phases import RUN
from dohyo.statistics import total
from dohyo.summary.results import Trial
from dohyo.tables.grid import TOTAL, Grid

# With more clients than this only those with the lowest and the highest rates are listed; the files have all.
MOST_LINES = 20
_AT_EACH_END = 5
# Percentiles shown for each operation of a client.
_LATENCIES = ("p50", "p99")
# Columns of a node: field and number format.
_NODE = {
    "CPU s": ("cpu_seconds", ",.1f"),
    "cores": ("cpu_cores", ",.2f"),
    "µs/record": ("cpu_us_per_record", ",.1f"),
    "memory MB": ("memory_mb", ",.0f"),
}


def grids(trials: Sequence[Trial], label: Callable[[Trial], str]) -> list[Grid]:
    """Returns the tables with lines; one round of a single client with a single server has no table."""
    several_clients = [trial for trial in trials if len(trial.clients) > 1]
    several = [trial for trial in trials if trial.nodes and (len(trial.nodes) > 1 or len(trial.clients) > 1)]
    found = []
    if rounds := [trial for trial in trials if trial.round is not None and trial.status != "skipped"]:
        phases = list(dict.fromkeys(row.phase for trial in rounds for row in trial.measured_rows))
        # Records have their own column only where they differ from operations.
        rates = [_rates_of(trial, phases) for trial in rounds]
        differ = any(records not in (operations, UNKNOWN) for of in rates for operations, records in of)
        units = ("op/s", "rec/s") if differ else ("op/s",)
        heads = ["trial", "round", *(f"{_head(phase)}{unit}" for phase in phases for unit in units)]
        lines = [
            [trial.name, str(trial.round), *(cell for pair in of for cell in pair[: len(units)])]
            for trial, of in zip(rounds, rates, strict=True)
        ]
        found.append(Grid("Rounds", heads, lines))
    if several_clients:
        operations = _operations(several_clients)
        heads = [
            "system",
            "client",
            "start ms",
            "offset ms",
            *(f"{_head(phase)}rec/s" for phase in _phases(operations)),
        ]
        heads += [f"{_head(phase)}{name} {at}" for phase, name in operations for at in _LATENCIES]
        lines = [line for trial in several_clients for line in _clients(trial, label(trial), operations)]
        found.append(Grid("Clients", [*heads, "errors"], lines))
    if several:
        heads = ["system", "node", "state", *_NODE]
        found.append(Grid("Nodes", heads, [line for trial in several for line in _nodes(trial, label(trial))]))
    return found


def _rates_of(trial: Trial, phases: Sequence[str]) -> list[tuple[str, str]]:
    """Returns operations and records per second of each phase, in the order of measuring."""

    def cell(phase: str, name: str) -> str:
        return rate(_of(trial.rows, phase, OVERALL, name))

    return [(cell(phase, "ops_per_second"), cell(phase, "records_per_second")) for phase in phases]


# Phase and operation type.
_Operation = tuple[str, str]


def _operations(trials: Sequence[Trial]) -> list[_Operation]:
    """Returns the successful operation types of each phase."""
    names = dict.fromkeys((row.phase, row.operation) for trial in trials for row in trial.measured_rows)
    phases = _phases(names)
    plain = [(phase, name) for phase, name in names if is_success(name)]
    return sorted(plain, key=lambda each: (phases.index(each[0]), order(each[1])))


def _phases(operations: Iterable[_Operation]) -> list[str]:
    return list(dict.fromkeys(phase for phase, _ in operations)) or [RUN]


def _head(phase: str) -> str:
    return "" if phase == RUN else f"{phase} "


def _clients(trial: Trial, label: str, operations: Sequence[_Operation]) -> list[list[str]]:
    ordered = list(trial.clients)
    hidden: list[Client] = []
    if len(ordered) > MOST_LINES:
        ordered.sort(key=lambda client: _rate(client.rows, _phases(operations)[0]) or 0.0)
        hidden = ordered[_AT_EACH_END:-_AT_EACH_END]
        ordered = ordered[:_AT_EACH_END] + ordered[-_AT_EACH_END:]
    lines = [
        [
            label,
            client.host if client.state in (None, "ended") else f"{client.host} ({client.state})",
            _signed(client.start_ms),
            _offset(client),
            *_numbers(client.rows, operations),
        ]
        for client in ordered
    ]
    if hidden:
        lines.insert(_AT_EACH_END, [label, f"({len(hidden)} between them)", *[""] * (len(lines[0]) - 2)])
    skew = trial.conditions.start_skew_ms
    spread = UNKNOWN if skew is None else f"skew {skew:.1f}"
    error = trial.conditions.clock_error_ms
    worst = UNKNOWN if error is None else f"± {error:.1f}"
    lines.append([label, TOTAL, spread, worst, *_numbers(trial.rows, operations)])
    return lines


def _numbers(rows: Sequence[Row], operations: Sequence[_Operation]) -> list[str]:
    """Returns records per second of each phase, latencies of each operation, and errors."""
    phases = _phases(operations)
    cells = [rate(_rate(rows, phase)) for phase in phases]
    shown = [HEADS[head] for head in _LATENCIES]
    cells += [each.write(_of(rows, phase, name, each.name)) for phase, name in operations for each in shown]
    errors = total([_of(rows, phase, OVERALL, "errors") for phase in phases])
    return [*cells, whole(None if errors is None else int(errors))]


def _rate(rows: Sequence[Row], phase: str) -> float | None:
    return _of(rows, phase, OVERALL, "records_per_second")


def _of(rows: Sequence[Row], phase: str, operation: str, name: str) -> float | None:
    found = [
        getattr(row, name) for row in rows if (row.phase, row.operation) == (phase, operation) and not row.discarded
    ]
    return found[0] if found else None


def _offset(client: Client) -> str:
    if client.offset_ms is None:
        return UNKNOWN
    error = "" if client.offset_error_ms is None else f" ± {client.offset_error_ms:.1f}"
    return f"{_signed(client.offset_ms)}{error}"


def _signed(value: float | None) -> str:
    return formatted(None if value is None else round(value, 1) + 0.0, "+.1f")  # avoids -0.0


def _nodes(trial: Trial, label: str) -> list[list[str]]:
    # A system may use only some of the hosts; the others have no figures.
    nodes = [node for node in trial.nodes if node.memory_mb is not None or node.state != "ran"] or trial.nodes

    def cells(*of: Node) -> list[str]:
        return [formatted(total([getattr(node, name) for node in of]), form) for name, form in _NODE.values()]

    lines = [[label, node.host, node.state or UNKNOWN, *cells(node)] for node in nodes]
    return [*lines, [label, TOTAL, "", *cells(*nodes)]]
