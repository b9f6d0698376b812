"""Creates summaries of imaginary experiments."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dohyo.evidence.conductor_records import Client, Node
from dohyo.evidence.host_metrics import HostUse
from dohyo.evidence.rows import sampled
from dohyo.metrics import Row
from dohyo.scenario.phases import RUN
from dohyo.summary.comparison import comparisons
from dohyo.summary.conditions import Conditions
from dohyo.summary.results import Summary, Trial

SYSTEMS = {"cassandra": 52345.0, "hbase": 43210.0, "scylla": 151234.0, "aerospike": 250123.0, "mysql-innodb": 61234.0}


def row(phase: str, operation: str, rates: Sequence[float], batch: int = 1, **figures: Any) -> Row:
    made_row = Row(
        phase, operation, len(rates), records=1, p50_ms=0.1234, p99_ms=1.2345, p99_9_ms=12.345, errors=0, not_found=0
    )  # fmt: skip
    made_row = sampled(made_row, "rounds", rates, [batch * rate for rate in rates], [1.0] * len(rates))
    mean = sum(rates) / len(rates)
    return replace(made_row, ops_per_second=mean, records_per_second=batch * mean, **figures)


def measured(
    system: str,
    rate: float,
    operations: Sequence[str] = ("READ", "UPDATE"),
    phases: Sequence[str] = (RUN,),
    hosts: int = 1,
    batch: int = 1,
    errors: int = 0,
    **about: Any,
) -> Trial:
    """Returns a trial of three rounds. Its operation types share one phase, or each has its own phase."""
    rates = [rate * share for share in (0.98, 1.0, 1.02)]
    rows = []
    for position, phase in enumerate(phases):
        cost = {"server_cpu_us_per_record": 123.4, "client_cpu_us_per_record": 45.6, "errors": errors}
        rows.append(row(phase, "OVERALL", rates, batch, **cost))
        of_phase = operations if len(phases) == 1 else operations[position : position + 1]
        rows += [row(phase, operation, rates, batch) for operation in of_phase]
    point = about.get("point", {})
    return Trial(
        name=" ".join([system, *(f"{key}={value}" for key, value in point.items())]),
        system=system,
        title=system,
        status="ok",
        rows=rows,
        conditions=Conditions(
            clients=hosts, threads=16, recordcount=100_000_000, record_bytes=1000, measured_seconds=60
        ),
        nodes=[Node(f"host{number}", "ran", cpu_seconds=1.0, memory_mb=100.0) for number in range(hosts)],
        clients=[Client(f"client{number}") for number in range(hosts)],
        hosts=[HostUse(f"host{number}", RUN, 16, 60.0) for number in range(hosts)],
        **about,
    )


def of(*trials: Trial, name: str = "20261122-084539-mine") -> Summary:
    return Summary(name, list(trials), comparisons=comparisons(trials))


def each_system(*operations: str, **about: Any) -> Summary:
    return of(*(measured(system, rate, operations, **about) for system, rate in SYSTEMS.items()))


def failed(system: str, reason: str, status: Any = "failed") -> Trial:
    return replace(measured(system, 1.0), rows=[], status=status, reason=reason)
