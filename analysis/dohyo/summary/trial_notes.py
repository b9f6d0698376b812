"""Notes on a valid trial that a reader must know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dohyo.evidence.host_metrics import HostUse, busy
from dohyo.evidence.records import KeptLoad
from dohyo.summary.phase import Phase


def of_the_load(kept: KeptLoad, settled: Sequence[str], load: Sequence[Phase]) -> Iterator[str]:
    """Yields notes on a load that several trials share, on how the servers settled, and on repeated inserts.

    :param settled: notes of the servers' administration
    """
    if kept.load:
        yield (
            f"shared load of {kept.load}: the servers started from copies, so intervals lack the differences between"
            " loads"
        )
    if kept.note:
        yield kept.note
    yield from settled
    # Otherwise inserts that failed and were sent again would leave no trace.
    reports = [client.report for phase in load for client in phase.clients]
    if failures := sum(report.retried_records or 0 for report in reports):
        errors = (report.first_error for report in reports if report.retried_records)
        first = next(filter(None, errors), "not known")
        yield f"load: {failures:,} times an insert failed and was sent again; the first error was: {first}"


def of_runs(counted: Sequence[Phase], sending: Sequence[Phase]) -> Iterator[str]:
    """Yields notes on requests that were sent again, and on servers that ended under faults.

    :param counted: the runs that count
    :param sending: the runs that count, and the load before them
    """
    # No status shows how often bindings and drivers sent a request again.
    for kind, count in _sums(sending, "retried_requests"):
        yield f"{kind}: requests that failed and were sent again: {count:,}"
    # Without faults, a server that ends makes the run invalid.
    for phase in counted:
        if phase.faults is not None:
            for node in phase.conducted.nodes.values():
                if node.state == "ended":
                    yield f"{phase.name}, under faults: {node.reason}"


def of_clients(counted: Sequence[Phase], uses: Sequence[HostUse]) -> Iterator[str]:
    """Yields notes on operations that were not sent, and on clients' hosts without spare processors."""
    # Latencies do not include operations that were not sent.
    for kind, count in _sums(counted, "missed_operations"):
        yield f"{kind}: operations that were due in the window and were not sent in it: {count:,}"
    servers = {host for run in counted for host, node in run.conducted.nodes.items() if node.cpu_seconds}
    yield from busy(uses, servers, {(run.kind, client.host) for run in counted for client in run.clients})


def _sums(phases: Sequence[Phase], name: str) -> list[tuple[str, int]]:
    """Returns the sum of a field of client.json by phase, where it is not 0."""
    found: dict[str, int] = {}
    for phase in phases:
        for client in phase.clients:
            found[phase.kind] = found.get(phase.kind, 0) + (getattr(client.report, name) or 0)
    return [(kind, count) for kind, count in found.items() if count]
