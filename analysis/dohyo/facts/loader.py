"""Fills a database of facts with the evidence of experiments, trial by trial, while the summary reads this evidence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dohyo.bad_input import BadInputError
from dohyo.evidence import experiment_folder
from dohyo.evidence.client_folder import ClientFolder
from dohyo.evidence.conductor_records import Client
from dohyo.evidence.hdr_log import Latencies, is_known
from dohyo.evidence.records import ClientReport, ExperimentFacts
from dohyo.evidence.result_lines import Operation
from dohyo.evidence.rows import records_of
from dohyo.evidence.servers import GC_PAUSE
from dohyo.metrics import PERCENTILES
from dohyo.operations import OVERALL, calls, is_failure, is_not_found, outcome
from dohyo.scenario.phases import PROBE
from dohyo.scenario.published import MEASURED, Published
from dohyo.summary.conditions import CONDITIONS
from dohyo.summary.phase import Phase
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import summarise

_Runs = Mapping[tuple[Any, Any], int]  # IDs of a trial's runs in the database, by phase and number of the run
_MOST = 2**63 - 1
_MAXIMUM = 100  # the percentile that is the maximum


class Loader:
    """Adds experiments to a database that already contains the tables."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._experiment = 0
        self._names: set[str] = set()  # names of the experiments that were added
        self._trials: dict[str, int] = {}  # IDs of the current experiment's trials, by name
        tables = [name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")]
        self._columns = {table: _columns(connection, table) for table in tables}

    def add(self, experiment: Path) -> tuple[ExperimentFacts, Summary]:
        """Reads an experiment and adds all its facts.

        :raises BadInputError: if the folder contains no evidence, or if `experiment_folder.read` rejects it
        """
        facts = experiment_folder.read(experiment)
        if not (experiment / "raw").is_dir():
            raise BadInputError(f"{experiment} contains no evidence (raw); name an experiment that was measured")
        folder, version = experiment.resolve(), facts.versions.get("dohyo")
        name = str(folder) if folder.name in self._names else folder.name
        self._names.add(name)
        self._experiment = self._insert("experiment", facts, name=name, folder=str(folder), version=version)
        self._trials = {}
        summary = summarise(experiment, self._read)
        for trial in summary.trials:
            if trial.name not in self._trials:  # a trial without a folder: `_read` was not called for it
                self._trials[trial.name] = self._trial(trial)
        merged = {trial.name: self._trial(trial, of_rounds=True) for trial in summary.merged}
        compared = merged or self._trials
        self._checks(None, None, [("evidence", None, "warning", warning) for warning in summary.warnings])
        self._checks(None, None, [("note", None, "note", note) for note in summary.notes])
        for condition, of_trials in summary.unequal.items():
            for name, value in of_trials.items():
                self._checks(compared[name], None, [("equal conditions", value, "unequal", condition)])
        for publication in summary.published:
            self._published(publication)
        return facts, summary

    def _read(self, trial: Trial, phases: Sequence[Phase]) -> None:
        """Adds a trial with its load and runs."""
        of_trial = self._trials[trial.name] = self._trial(trial)
        runs = {(phase.kind, phase.number): self._run(of_trial, phase) for phase in phases}
        self._hosts(of_trial, trial, runs)
        self._servers(of_trial, trial, runs)
        spans = [(runs.get(span[:2]), span.kind, span.host, span.process, None, *span[5:]) for span in trial.spans]
        self._spans(of_trial, spans)
        for event in trial.events:
            run = runs.get((event.phase, event.run))
            end = event.at if event.until is None else event.until
            self._spans(of_trial, [(run, "event", event.host, None, event.what, event.at, end, None)])
        if load := trial.load:
            self._insert("load", load, trial=of_trial)
            self._many("load_second", ((of_trial, *point) for point in dict(load.points).items()))

    def _trial(self, trial: Trial, *, of_rounds: bool = False) -> int:
        of_trial = self._insert("trial", trial, experiment=self._experiment, of_rounds=of_rounds)
        for row in trial.rows:
            self._insert("row", row, trial=of_trial)
        conditions: list[tuple[Any, ...]] = [(None, name, getattr(trial.conditions, name)) for name in CONDITIONS]
        conditions += [(phase, *item) for phase, of_phase in trial.by_phase.items() for item in of_phase.items()]
        lines: Iterable[tuple[Any, ...]] = (
            (of_trial, phase, name, value, CONDITIONS[name].unit or None, CONDITIONS[name].over_rounds != "same")
            for phase, name, value in conditions
            if value is not None
        )
        self._many("condition", lines)
        if trial.accounting:
            self._insert("accounting", trial.accounting, trial=of_trial)
        if search := trial.search:
            self._insert("search", search, trial=of_trial)
            for probe in search.probes:
                self._insert("probe", probe, trial=of_trial)
        if not of_rounds:
            self._checks(of_trial, None, [("status", None, trial.status, trial.reason)])
            texts = {
                "deviation": trial.deviations,
                "note": trial.notes,
                "collapse": trial.collapses,
                "level": trial.level_changes,
                "warm-up": trial.cold,
            }
            lines = [(name, None, "note", text) for name, group in texts.items() for text in group]
            self._checks(of_trial, None, lines)
        return of_trial

    def _run(self, trial: int, phase: Phase) -> int:
        discarded = phase.discarded and phase.kind != PROBE
        values = {"phase": phase.kind, "warmup_seconds": phase.warmup, "measured_seconds": phase.run.seconds}
        run = self._insert("run", phase.run, phase.conducted, phase, trial=trial, discarded=discarded, **values)
        histograms = {name: merged.encoded() for name, merged in phase.latencies.items()}
        self._operations(run, None, phase.run.by_operation, histograms)
        self._clients(run, phase)
        for host, node in phase.conducted.nodes.items():
            self._insert("node", node, run=run, host=host)
        self._many("second", ((run, *line) for line in _seconds(phase)))
        self._checks(trial, run, [("run", None, "invalid", problem) for problem in phase.problems])
        self._spans(trial, ((run, *span) for span in _phases_and_faults(phase)))
        if faulted := phase.under_fault:
            for cost in faulted.faults:
                begin, end = (None if second is None else phase.warmup + second for second in (cost.at, cost.until))
                times = {"begin": begin, "end": end, "worst_p99_second": cost.worst_p99_at}
                self._insert("fault_cost", cost, faulted, run=run, **times)
        return run

    def _clients(self, run: int, phase: Phase) -> None:
        hosts = {client.host: client for client in phase.clients}
        for host in sorted({*hosts, *phase.conducted.clients, *phase.missing}):
            client = hosts.get(host, ClientFolder(host, ClientReport()))
            values = {"measured_seconds": client.run.seconds, "cpu_seconds": client.run.client_cpu_seconds}
            conducted = phase.conducted.clients.get(host, Client())
            of_client = self._insert("client", conducted, client.run, client.report, run=run, host=host, **values)
            self._operations(run, of_client, client.run.by_operation, client.histograms)

    def _operations(
        self, run: int, client: int | None, stated: Mapping[str, Operation], histograms: Mapping[str, bytes | None]
    ) -> None:
        lines = []
        for name in dict.fromkeys([*stated, *histograms]):
            sums, latencies, histogram = stated.get(name, Operation()), Latencies(), histograms.get(name)
            if histogram is not None:
                latencies.add_encoded(histogram)
            percentiles = latencies.percentiles_ms(
                [percentile for percentile in PERCENTILES.values() if is_known(percentile, latencies.count)]
            )
            line = (run, client, name, sums.operations, records_of(name, sums), sums.returns, sums.mean_us, sums.max_us)
            figures = (latencies.mean_ms, *map(percentiles.get, PERCENTILES.values()), latencies.max_ms)
            lines.append((*line, histogram, latencies.count if histogram else None, *figures))
        self._many("operation", lines)

    def _hosts(self, trial: int, source: Trial, runs: _Runs) -> None:
        for use in source.hosts:
            self._insert("host", use, trial=trial)
        figures_of_uses = (
            (trial, use.phase, use.host, device, name, figure.mean, figure.maximum)
            for use in source.hosts
            for device, figures in ({None: use.figures} | use.devices).items()
            for name, figure in figures.items()
        )
        self._many("host_figure", figures_of_uses)
        for part in source.host_metrics.series() if source.host_metrics else ():
            lines = (
                (runs[phase, run], host, device, at, seconds, *figures)
                for phase, run, host, at, seconds, device, *figures in part
            )
            self._many("host_second", lines)

    def _servers(self, trial: int, source: Trial, runs: _Runs) -> None:
        lines = (
            (trial, phase, server.host, name, value)
            for server in source.servers
            for phase, figures in [(None, server.figures), *((part.phase, part.figures) for part in server.phases)]
            for name, value in figures.items()
            if value is not None
        )
        self._many("server_figure", lines)
        logged = set()
        for server in source.servers:
            if server.host is not None:
                logged |= {(runs[pauses.phase, pauses.run], server.host, GC_PAUSE) for pauses in server.pauses}
                logged |= {(runs[work.phase, work.run], server.host, work.kind) for work in server.background}
        self._many("logged_work", sorted(logged))

    def _spans(self, trial: int, spans: Iterable[Sequence[Any]]) -> None:
        self._many("span", ((trial, *span) for span in spans))

    def _checks(self, trial: int | None, run: int | None, checks: Iterable[Sequence[Any]]) -> None:
        self._many("run_check", ((self._experiment, trial, run, *check) for check in checks))

    def _published(self, publication: Published) -> None:
        about = (publication.name, publication.title, publication.hardware, publication.versions)
        for figure in publication.figures:
            line = (self._experiment, *about, figure.of, figure.system, figure.at, figure.operation, figure.per_client)
            values = [(name, getattr(figure, name)) for name in (*MEASURED, "seconds", "l1_cache_hit_ratio")]
            self._many("published", ((*line, name, value) for name, value in values if value is not None))

    def _insert(self, table: str, *records: object, **values: Any) -> int:
        """Adds a row, and returns its ID.

        :param records: objects with fields for the other columns; each value comes from the first object with the field
        :param values: value of each column that no record provides
        """
        sources, names = (SimpleNamespace(**values), *records), self._columns[table]
        if unknown := values.keys() - names:
            raise ValueError(f"table {table} has no column {', '.join(sorted(unknown))}")
        self._many(table, [[next(getattr(row, name) for row in sources if hasattr(row, name)) for name in names]])
        ((number,),) = self._connection.execute("select last_insert_rowid()")
        return int(number)

    def _many(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Adds rows. Their values are in the order of the table's columns, except `id`.

        Values from the evidence are SQL parameters; the SQL text contains only names from this package.
        """
        columns = self._columns[table]
        names = ", ".join(f'"{column}"' for column in columns)
        statement = f"insert into {table} ({names}) values ({', '.join('?' * len(columns))})"  # noqa: S608
        self._connection.executemany(statement, ([_stored(value) for value in row] for row in rows))


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Returns the columns of a table, except `id`."""
    return [name for _, name, *_ in connection.execute(f"pragma table_info({table})") if name != "id"]


def _stored(value: Any) -> Any:
    """Converts a value for SQLite: lists and dicts to JSON, integers beyond 64 bits to None. Replaces surrogates."""
    if value is None or isinstance(value, float):  # checked first, because most values have these types
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return int(value) if abs(value) <= _MOST else None
    if isinstance(value, dict | list):
        return _stored(json.dumps(value, ensure_ascii=False))
    return value


def _seconds(phase: Phase) -> Iterator[tuple[Any, ...]]:
    """Yields rows of table `second` without the column `run`: each second has one per type, and one for all types."""
    counts: dict[int, dict[str, int]] = {}
    for name, of_type in phase.timeline.seconds.by_operation.items():
        for second, count in of_type.items():
            counts.setdefault(second, {})[name] = count
    warmup, whole = phase.warmup, len(phase.throughput)
    # Add rows for seconds without operations only if a run has no problems: damaged evidence may claim years of them.
    idle = range(0 if phase.problems else whole)
    slots = {slot.start: slot for slot in phase.timeline.latencies.slots((50, 99, _MAXIMUM))}
    length = next((int(slot.seconds) for slot in slots.values()), 1)
    for second in sorted({*counts, *idle}):
        types: dict[str, list[int]] = {}
        by_outcome: list[dict[str, int]] = [{}, {}, {}]
        for name, count in counts.get(second, {}).items():
            index = 2 if is_failure(name) else 1 if is_not_found(name) else 0
            by_outcome[index][name] = count
            types.setdefault(parts[0] if (parts := outcome(name)) else name, [0, 0, 0])[index] += count
        for name, outcomes in types.items():
            yield (second, warmup + second, name, second < whole, *outcomes, None, None, None, None)
        slot = slots.get(second // length * length)
        latencies: tuple[float | None, ...] = (None, None, None, None)
        if slot:
            p50, p99, highest = (
                value if percentile == _MAXIMUM or is_known(percentile, slot.operations) else None
                for percentile, value in slot.percentiles_ms.items()
            )
            latencies = (p50, p99, highest, slot.seconds)
        totals = [max(0, calls(numbers)) for numbers in by_outcome]
        yield (second, warmup + second, OVERALL, second < whole, *totals, *latencies)


def _phases_and_faults(phase: Phase) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of a run's warm-up, window and faults for table `span`, without the columns `trial` and `run`."""
    if warmup := phase.warmup:
        yield ("warm-up", None, None, None, 0.0, warmup, None)
    if phase.run.seconds is not None:
        yield ("window", None, None, None, warmup, warmup + phase.run.seconds, None)
    for fault in phase.under_fault.faults if phase.under_fault else ():
        end = None if fault.until is None else warmup + fault.until
        hosts: Sequence[str | None] = fault.hosts or [None]
        for host in hosts:
            yield ("fault", host, None, str(fault), warmup + fault.at, end, None)
