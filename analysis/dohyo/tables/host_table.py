"""Tables of the hosts' use and of processor time per record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dohyo.evidence.host_metrics import HostUse
from dohyo.figures import UNKNOWN, formatted, rate, size
from dohyo.metrics import Row
from dohyo.operations import OVERALL
from dohyo.scenario.phases import LOAD, RUN
from dohyo.summary.results import Trial
from dohyo.tables.cluster_table import MOST_LINES
from dohyo.tables.grid import Grid

_HOSTS = "Hosts in the measured windows: means; processors as shares of all of them, disk busy that of the busiest disk"
_HEADS = [
    "system", "host", "CPU user", "CPU sys", "iowait", "steal", "others", "memory",
    "disk busy", "disk MB/s", "IOPS", "in MB/s", "out MB/s",
]  # fmt: skip
_PROCESSOR_TIME = "Processor time per record, in µs"


def grids(trials: Sequence[Trial], label: Callable[[Trial], str]) -> list[Grid]:
    """Returns the tables that have lines."""
    found = []
    if hosts := [line for trial in trials for line in _hosts(trial, label(trial))]:
        found.append(Grid(_HOSTS, _HEADS, hosts))
    if costs := [line for trial in trials for line in _costs(trial, label(trial))]:
        found.append(Grid(_PROCESSOR_TIME, ["system", "phase", "servers", "clients", "together"], costs))
    return found


def _hosts(trial: Trial, label: str) -> list[list[str]]:
    """Returns a line per host and phase, the load only if it was measured; of many the busiest processors."""
    uses = [use for use in trial.hosts if use.phase != LOAD or trial.load_is_measured]
    shown = sorted(uses, key=lambda use: -(use.busy or 0.0))[:MOST_LINES] if len(uses) > MOST_LINES else uses
    lines = [[label, use.host if use.phase == RUN else f"{use.host} {use.phase}", *_cells(use)] for use in shown]
    if len(uses) > len(shown):
        lines.append([label, f"({len(uses) - len(shown)} more)", *[""] * (len(_HEADS) - 2)])
    return lines


def _cells(use: HostUse) -> list[str]:
    def mean(*names: str) -> float | None:
        """Returns the sum of the means; None if one of them is missing."""
        known = [use.figures[name].mean for name in names if name in use.figures]
        return sum(known) if len(known) == len(names) else None

    def percent(name: str) -> str:
        return formatted(mean(name), ".1%")

    def megabytes(*names: str) -> str:
        found = mean(*names)
        return formatted(None if found is None else found / 1e6, ",.1f")

    memory = mean("memory_used_bytes")
    return [
        *(percent(name) for name in ("cpu_user", "cpu_system", "cpu_iowait", "cpu_steal", "other_cpu")),
        UNKNOWN if memory is None else size(float(f"{memory:.3g}")),
        percent("disk_utilisation"),
        megabytes("disk_read_bytes_per_second", "disk_written_bytes_per_second"),
        rate(mean("disk_reads_per_second", "disk_writes_per_second")),
        megabytes("network_received_bytes_per_second"),
        megabytes("network_sent_bytes_per_second"),
    ]


def _costs(trial: Trial, label: str) -> list[list[str]]:
    found = [row for row in trial.measured_rows if row.operation == OVERALL]
    return [[label, row.phase, *_cost(row)] for row in found if _known(row)]


def _known(row: Row) -> list[float]:
    both = (row.server_cpu_us_per_record, row.client_cpu_us_per_record)
    return [each for each in both if each is not None]


def _cost(row: Row) -> list[str]:
    together = sum(_known(row)) if len(_known(row)) == 2 else None
    values = (row.server_cpu_us_per_record, row.client_cpu_us_per_record, together)
    return [formatted(value, ",.1f") for value in values]
