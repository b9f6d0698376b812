"""Builds the tables for rounds, clients, nodes, hosts and measured loads, which follow the table of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dohyo.evidence.conductor_records import Client, Node
from dohyo.evidence.host_metrics import HostUse
from dohyo.evidence.load_curve import TENTHS
from dohyo.figures import UNKNOWN, formatted, rate, size, whole
from dohyo.metrics import HEADS, Row
from dohyo.operations import OVERALL, is_success, order
from dohyo.scenario.phases import LOAD, RUN
from dohyo.statistics import total
from dohyo.summary.results import Trial
from dohyo.tables.grid import MOST_LINES, TOTAL, Columns, Grid

# Number of slowest and of fastest clients to list if there are more than `MOST_LINES`. The files contain all clients.
_AT_EACH_END = 5
# Percentiles shown for each operation of a client.
_LATENCIES = ("p50", "p99")
# Columns of a node: head → field and number format.
_NODE = {
    "CPU s": ("cpu_seconds", ",.1f"),
    "cores": ("cpu_cores", ",.2f"),
    "µs/record": ("cpu_us_per_record", ",.1f"),
    "memory MB": ("memory_mb", ",.0f"),
}

Label = Callable[[Trial], str]


def grids(trials: Sequence[Trial], label: Label) -> list[Grid]:
    """Returns the tables. With one round, client and server, only the tables of hosts and processor time have rows."""
    return [_rounds(trials), *(grid(trials, label) for grid in (_clients, _nodes, _hosts, _costs))]


def load_curve(trials: Sequence[Trial], label: Label) -> Grid:
    """Returns a table with a line for each measured load, which shows how its speed changed as rows were added."""
    title = "Rows against seconds: seconds at each tenth of the rows; last/first: time of the last / first tenth"
    # The order matters, because a narrow terminal drops columns from right to left, except for the last one.
    heads = ["system", "rows", "last/first", *(f"{10 * tenth} %" for tenth in range(1, TENTHS + 1))]
    lines = [
        [label(trial), whole(load.rows), formatted(load.slowdown, ".2f"), *(f"{time:,.1f}" for time in load.tenths)]
        for trial in trials
        if trial.load_is_measured and (load := trial.load)
    ]
    return Grid(title, heads, lines)


def _rounds(trials: Sequence[Trial]) -> Grid:
    rounds = [trial for trial in trials if trial.round is not None and trial.status != "skipped"]
    phases = list(dict.fromkeys(row.phase for trial in rounds for row in trial.measured_rows))
    # Records have a separate column only if they differ from operations.
    names = ("ops_per_second", "records_per_second")
    rates = [[[rate(_of(trial.rows, phase, OVERALL, name)) for name in names] for phase in phases] for trial in rounds]
    differ = any(records not in (operations, UNKNOWN) for pairs in rates for operations, records in pairs)
    units = ("op/s", "rec/s") if differ else ("op/s",)
    lines = [
        [trial.name, str(trial.round), *(cell for pair in pairs for cell in pair[: len(units)])]
        for trial, pairs in zip(rounds, rates, strict=True)
    ]
    return Grid("Rounds", ["trial", "round", *(f"{_head(phase)}{unit}" for phase in phases for unit in units)], lines)


# Phase and operation type.
_Operation = tuple[str, str]


def _operations(trials: Sequence[Trial]) -> list[_Operation]:
    """Returns the successful operation types of each phase."""
    names = dict.fromkeys((row.phase, row.operation) for trial in trials for row in trial.measured_rows)
    phases = _phases(names)
    plain = [(phase, name) for phase, name in names if is_success(name)]
    return sorted(plain, key=lambda operation: (phases.index(operation[0]), order(operation[1])))


def _phases(operations: Iterable[_Operation]) -> list[str]:
    return list(dict.fromkeys(phase for phase, _ in operations)) or [RUN]


def _head(phase: str) -> str:
    return "" if phase == RUN else f"{phase} "


def _clients(trials: Sequence[Trial], label: Label) -> Grid:
    several = [trial for trial in trials if len(trial.clients) > 1]
    operations = _operations(several)
    rates = (f"{_head(phase)}rec/s" for phase in _phases(operations))
    latencies = (f"{_head(phase)}{name} {latency}" for phase, name in operations for latency in _LATENCIES)
    heads = ["system", "client", "start ms", "offset ms", *rates, *latencies, "errors"]
    return Grid("Clients", heads, [line for trial in several for line in _of_clients(trial, label(trial), operations)])


def _of_clients(trial: Trial, label: str, operations: Sequence[_Operation]) -> list[list[str]]:
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
    """Returns the records per second for each phase, the latencies for each operation, and the errors."""
    phases = _phases(operations)
    cells = [rate(_rate(rows, phase)) for phase in phases]
    shown = [HEADS[head] for head in _LATENCIES]
    cells += [metric.write(_of(rows, phase, name, metric.name)) for phase, name in operations for metric in shown]
    errors = total([_of(rows, phase, OVERALL, "errors") for phase in phases])
    return [*cells, whole(None if errors is None else int(errors))]


def _rate(rows: Sequence[Row], phase: str) -> float | None:
    return _of(rows, phase, OVERALL, "records_per_second")


def _of(rows: Sequence[Row], phase: str, operation: str, name: str) -> float | None:
    values = [
        getattr(row, name) for row in rows if (row.phase, row.operation) == (phase, operation) and not row.discarded
    ]
    return values[0] if values else None


def _offset(client: Client) -> str:
    if client.offset_ms is None:
        return UNKNOWN
    error = "" if client.offset_error_ms is None else f" ± {client.offset_error_ms:.1f}"
    return f"{_signed(client.offset_ms)}{error}"


def _signed(value: float | None) -> str:
    return formatted(None if value is None else round(value, 1) + 0.0, "+.1f")  # adding 0.0 avoids -0.0


def _nodes(trials: Sequence[Trial], label: Label) -> Grid:
    def cells(*nodes: Node) -> list[str]:
        return [formatted(total([getattr(node, name) for node in nodes]), form) for name, form in _NODE.values()]

    lines = []
    for trial in trials:
        if len(trial.nodes) > 1 or (trial.nodes and len(trial.clients) > 1):
            # A system may use only some of the hosts; the others have no figures.
            nodes = [node for node in trial.nodes if node.memory_mb is not None or node.state != "ran"] or trial.nodes
            lines += [[label(trial), node.host, node.state or UNKNOWN, *cells(node)] for node in nodes]
            lines.append([label(trial), TOTAL, "", *cells(*nodes)])
    return Grid("Nodes", ["system", "node", "state", *_NODE], lines)


# ---- hosts -----------------------------------------------------------------------------------------------------------


def _mean(use: HostUse, *names: str) -> float | None:
    """Returns the sum of the means of these figures; None if a mean is missing."""
    means = [use.figures[name].mean for name in names if name in use.figures]
    return sum(means) if len(means) == len(names) else None


def _percent(name: str) -> Callable[[HostUse], str]:
    return lambda use: formatted(_mean(use, name), ".1%")


def _megabytes(*names: str) -> Callable[[HostUse], str]:
    return lambda use: formatted(None if (mean := _mean(use, *names)) is None else mean / 1e6, ",.1f")


def _memory(use: HostUse) -> str:
    memory = _mean(use, "memory_used_bytes")
    return UNKNOWN if memory is None else size(float(f"{memory:.3g}"))


_USE: Columns[HostUse] = {
    "CPU user": _percent("cpu_user"),
    "CPU sys": _percent("cpu_system"),
    "iowait": _percent("cpu_iowait"),
    "steal": _percent("cpu_steal"),
    "others": _percent("other_cpu"),
    "memory": _memory,
    "disk busy": _percent("disk_utilisation"),
    "disk MB/s": _megabytes("disk_read_bytes_per_second", "disk_written_bytes_per_second"),
    "IOPS": lambda use: rate(_mean(use, "disk_reads_per_second", "disk_writes_per_second")),
    "in MB/s": _megabytes("network_received_bytes_per_second"),
    "out MB/s": _megabytes("network_sent_bytes_per_second"),
}


def _hosts(trials: Sequence[Trial], label: Label) -> Grid:
    """Returns a line for each host and phase (a load only if it was measured); if there are many, only the busiest."""
    lines = []
    for trial in trials:
        uses = [use for use in trial.hosts if use.phase != LOAD or trial.load_is_measured]
        shown = sorted(uses, key=lambda use: -(use.busy or 0.0))[:MOST_LINES] if len(uses) > MOST_LINES else uses
        for use in shown:
            host = use.host if use.phase == RUN else f"{use.host} {use.phase}"
            lines.append([label(trial), host, *(cell(use) for cell in _USE.values())])
        if len(uses) > len(shown):
            lines.append([label(trial), f"({len(uses) - len(shown)} more)", *[""] * len(_USE)])
    title = "Hosts in the measured windows: means; processors: shares of the host; disk busy: the busiest disk"
    return Grid(title, ["system", "host", *_USE], lines)


def _costs(trials: Sequence[Trial], label: Label) -> Grid:
    lines = []
    for trial in trials:
        for row in (row for row in trial.measured_rows if row.operation == OVERALL):
            costs = [row.server_cpu_us_per_record, row.client_cpu_us_per_record]
            present = [cost for cost in costs if cost is not None]
            together = sum(present) if len(present) == len(costs) else None
            if present:
                lines.append([label(trial), row.phase, *(formatted(cost, ",.1f") for cost in (*costs, together))])
    return Grid("Processor time per record, in µs", ["system", "phase", "servers", "clients", "together"], lines)
