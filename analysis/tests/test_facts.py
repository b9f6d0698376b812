"""Checks that the database of facts contains exactly the figures of the summary, and tolerates damaged evidence."""

import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hdrh.histogram import HdrHistogram

from dohyo.bad_input import BadInputError
from dohyo.cli import cli, main
from dohyo.evidence.hdr_log import Histogram, Latencies, decode, is_known, standard_layout
from dohyo.evidence.host_metrics import FIGURES, SERIES
from dohyo.evidence.server_log import LOG
from dohyo.facts import database, schema
from dohyo.facts.loader import Loader
from dohyo.figures import point_name
from dohyo.metrics import METRICS, PERCENTILES
from dohyo.places import ROOT
from dohyo.report import chart_data
from dohyo.report.material import Material
from dohyo.summary.results import Summary
from dohyo.summary.summary import summarise
from support.evidence import DATA, clients_json, edit_json, explained, in_rounds, keep, lasted, reads, trial, write_json
from support.golden_cases import CASES, Case, compare, faults, foreign, hosts


def experiments(case: Case, folder: Path) -> list[Path]:
    """Creates a golden case, and returns the folders of its experiments."""
    parent = folder / case.__name__
    parent.mkdir()
    case(parent)
    return [parent / name for name in ("before", "after")] if case is compare else [parent]


def written(folder: Path, *sources: Path) -> sqlite3.Connection:
    """Writes a database of experiments, and returns a plain connection that lacks Dohyo's functions."""
    database.write(sources, folder / "facts.db")
    connection = sqlite3.connect(folder / "facts.db")
    connection.row_factory = lambda cursor, row: dict(zip((head[0] for head in cursor.description), row, strict=True))
    return connection


def without_nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def a_row(row: dict[str, Any]) -> dict[str, Any]:
    lists = {name: json.loads(row[name]) for name, metric in METRICS.items() if metric.kind == "list of numbers"}
    return {name: row[name] for name in METRICS} | lists


def conditions(facts: sqlite3.Connection, of_trial: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    of_all: dict[str, Any] = {}
    by_phase: dict[str, dict[str, Any]] = {}
    for row in facts.execute("select * from condition where trial = ?", (of_trial,)):
        into = of_all if row["phase"] is None else by_phase.setdefault(row["phase"], {})
        into[row["name"]] = row["value"]
    return of_all, by_phase


def uses(facts: sqlite3.Connection, of_trial: int) -> list[Any]:
    hosts_used = []
    for row in facts.execute("select * from host where trial = ?", (of_trial,)):
        key = (of_trial, row["phase"], row["host"])
        figures: dict[str | None, dict[str, Any]] = {None: {}}
        for line in facts.execute("select * from host_figure where (trial, phase, host) = (?, ?, ?)", key):
            use = {name: line[name] for name in ("mean", "maximum")}
            figures.setdefault(line["device"], {})[line["figure"]] = use
        del row["trial"]
        hosts_used.append(row | {"figures": figures.pop(None), "devices": figures})
    return hosts_used


def in_order(values: Any) -> list[str]:
    """Returns the objects as JSON in a fixed order."""
    return sorted(json.dumps(value, sort_keys=True) for value in values)


ALL = [case for case in CASES if case is not foreign]


Databases = list[tuple[Path, sqlite3.Connection]]


@pytest.fixture(scope="module", params=ALL, ids=lambda case: case.__name__)
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    """Yields the experiments of a case, each with its own database."""
    folders = experiments(request.param, tmp_path_factory.mktemp("case"))
    opened = [(folder, written(tmp_path_factory.mktemp("facts"), folder)) for folder in folders]
    yield opened
    for _, facts in opened:
        facts.close()


def test_figures_are_those_of_the_summary(databases: Databases) -> None:
    """Compares summary.json, hosts.csv, servers.csv, load.csv and the throughput in the charts with the tables."""
    for experiment, facts in databases:
        assert facts.execute("pragma foreign_key_check").fetchall() == []
        charts = chart_data.read(experiment)
        summary = charts.summary
        content = json.loads(summary.json())
        trials = facts.execute("select * from trial order by of_rounds, id").fetchall()
        assert len(trials) == len(content["trials"]) + len(content["merged"])
        assert sum(row["of_rounds"] for row in trials) == len(content["merged"])
        for stated_trial, row in zip([*content["trials"], *content["merged"]], trials, strict=True):
            for name in ("name", "system", "title", "status", "reason", "round", "system_failed"):
                assert row[name] == stated_trial[name]
            assert json.loads(row["point"]) == stated_trial["point"]
            lines = facts.execute("select * from row where trial = ? order by rowid", (row["id"],))
            assert [a_row(line) for line in lines] == stated_trial["rows"]
            by_phase = {phase: without_nulls(values) for phase, values in stated_trial["by_phase"].items()}
            assert conditions(facts, row["id"]) == (
                without_nulls(stated_trial["conditions"]),
                {phase: values for phase, values in by_phase.items() if values},
            )
            for use in stated_trial["hosts"]:  # a device without figures has no row
                use["devices"] = {device: figures for device, figures in use["devices"].items() if figures}
            assert in_order(uses(facts, row["id"])) == in_order(stated_trial["hosts"])
            check_servers(facts, row["id"], stated_trial)
            check_search(facts, row["id"], stated_trial["search"])
            check_faults(facts, row["id"], stated_trial["faults"])
            accounts = facts.execute("select * from accounting where trial = ?", (row["id"],)).fetchall()
            stated = stated_trial["accounting"]
            assert accounts == ([{"trial": row["id"], **stated}] if stated else [])
            check_load(facts, row["id"], stated_trial["load"])
        check_files(facts, summary)
        check_seconds(facts, charts)
        check_checks(facts, content)


def check_servers(facts: sqlite3.Connection, of_trial: int, content: dict[str, Any]) -> None:
    figures: dict[Any, Any] = {}
    for row in facts.execute("select * from server_figure where trial = ?", (of_trial,)):
        figures.setdefault((row["host"], row["phase"]), {})[row["figure"]] = row["value"]
    stated = {
        (server["host"], phase): stated_values
        for server in content["servers"]
        for phase, values in [
            (None, server["figures"]),
            *((item["phase"], item["figures"]) for item in server["phases"]),
        ]
        if (stated_values := without_nulls(values))
    }
    assert figures == stated


def check_search(facts: sqlite3.Connection, of_trial: int, stated: dict[str, Any] | None) -> None:
    """Checks a search, and the counts and percentiles of each operation type in its probes."""
    searches = facts.execute("select * from search where trial = ?", (of_trial,)).fetchall()
    if stated is None:
        assert searches == []
        return
    probes = stated.pop("probes")
    assert searches == [{"trial": of_trial, **stated}]
    query = "select * from probe join run using (trial, number) where phase = 'probe' and trial = ? order by number"
    runs = facts.execute(query, (of_trial,)).fetchall()
    assert len(runs) == len(probes) > 0
    for run, probe in zip(runs, probes, strict=True):
        rows = probe.pop("rows")
        assert {name: run[name] for name in probe} == probe
        assert not run["discarded"]
        assert run["operations"] / run["measured_seconds"] == rows[0]["ops_per_second"]
        query = "select operation, operations, p99_ms from operation where client is null and run = ?"
        assert {tuple(row.values()) for row in facts.execute(query, (run["id"],))} == {
            (row["operation"], row["operations"], row["p99_ms"]) for row in rows[1:]
        }
        query = "select sum(succeeded + not_found) as n from second where operation = 'OVERALL' and run = ?"
        assert facts.execute(query, (run["id"],)).fetchone()["n"] == run["operations"]


def check_faults(facts: sqlite3.Connection, of_trial: int, stated: list[dict[str, Any]]) -> None:
    query = (
        "select phase, number as run, before_ops_per_second, kind, target, hosts,"
        " round(begin - warmup_seconds, 9) as at, round(end - warmup_seconds, 9) as until, seconds, zero_seconds,"
        " low_seconds, recovered, recovery_seconds, restored,"
        " restore_seconds, worst_p99_ms, worst_p99_second as worst_p99_at from fault_cost"
        " join run on run.id = run where trial = ? order by fault_cost.rowid"
    )
    rows = [row | {"hosts": json.loads(row["hosts"])} for row in facts.execute(query, (of_trial,))]
    for run in stated:
        for cost in run["faults"]:
            del cost["healing"]
    same = ("phase", "run", "before_ops_per_second")
    assert rows == [{name: run[name] for name in same} | cost for run in stated for cost in run["faults"]]


def check_load(facts: sqlite3.Connection, of_trial: int, load: dict[str, Any] | None) -> None:
    lines = facts.execute("select rows, tenths, slowdown from load where trial = ?", (of_trial,)).fetchall()
    assert [line | {"tenths": json.loads(line["tenths"])} for line in lines] == ([load] if load else [])


def check_files(facts: sqlite3.Connection, summary: Summary) -> None:
    """Checks that queries return the content of hosts.csv, servers.csv and load.csv."""
    begin = "select system, point, ifnull(round, 1) as round"
    tables = {
        "hosts": (
            "".join(summary.hosts_csv()),
            f"{begin}, phase, number, host, at, seconds, device, {', '.join(FIGURES)} from host_second"
            " join run on run.id = host_second.run join trial on trial.id = run.trial",
        ),
        "servers": (
            summary.servers_csv(),
            f"{begin}, phase, number, host, process, kind, span.begin, span.end, bytes from span join run"
            " on run.id = span.run join trial on trial.id = run.trial"
            " where kind in ('GC pause', 'compaction', 'flush')",
        ),
        "load": (
            summary.load_csv(),
            f"{begin}, second, rows from load_second join trial on trial.id = load_second.trial",
        ),
    }
    for text, query in tables.values():
        lines = [
            [point_name(json.loads(value)) if name == "point" else value for name, value in row.items()]
            for row in facts.execute(query)
        ]
        stated = list(csv.reader(io.StringIO(text)))[1:]
        rounded = [
            ["" if cell is None else str(round(cell, 4)) if isinstance(cell, float) else str(cell) for cell in line]
            for line in lines
        ]
        assert sorted(map(numbers, rounded)) == sorted(map(numbers, stated))


def numbers(line: list[str]) -> str:
    """Returns a comparable form of a line, in which 2 equals 2.0."""
    return repr([float(cell) if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", cell) else cell for cell in line])


def check_seconds(facts: sqlite3.Connection, charts: Material) -> None:
    for run in charts.runs:
        lines = facts.execute(
            "select second.* from second join run on run.id = second.run join trial on trial.id = run.trial"
            " where operation = 'OVERALL' and not of_rounds and (trial.name, phase) = (?, ?) and number is ?"
            " order by second",
            (run.trial.name, run.phase, run.number),
        ).fetchall()
        by_second = {row["second"]: row["succeeded"] + row["not_found"] for row in lines}
        assert [by_second.get(second, 0) for second in range(len(run.throughput))] == run.throughput
        for slot in run.slots:
            (line,) = [row for row in lines if row["second"] == slot.start]
            assert [line["p50_ms"], line["p99_ms"]] == [
                value if is_known(percent, slot.operations) else None for percent, value in slot.percentiles_ms.items()
            ]
            assert line["max_ms"] >= slot.percentiles_ms[99]


def check_checks(facts: sqlite3.Connection, content: dict[str, Any]) -> None:
    def read_checks(name: str, whole: bool) -> list[Any]:
        query = "select verdict, reason from run_check where name = ? and (trial is null) = ?"
        return [tuple(row.values()) for row in facts.execute(query, (name, whole))]

    assert read_checks("status", False) == [(item["status"], item["reason"]) for item in content["trials"]]
    for name, key in {"note": "notes", "deviation": "deviations", "collapse": "collapses", "warm-up": "cold"}.items():
        assert read_checks(name, False) == [("note", text) for item in content["trials"] for text in item[key]]
    assert read_checks("evidence", True) == [("warning", text) for text in content["warnings"]]
    assert read_checks("note", True) == [("note", text) for text in content["notes"]]
    unequal = [("unequal", name) for name, values in content["unequal"].items() for _ in values]
    assert read_checks("equal conditions", False) == unequal


def test_histograms_are_those_of_the_logs(tmp_path: Path) -> None:
    (experiment,) = experiments(hosts, tmp_path)
    written(tmp_path, experiment).close()
    with closing(database.connect(tmp_path / "facts.db")) as facts:
        # The clients' histograms add up to the run's histogram, and the runs' histograms to that of all rounds.
        begin = (
            "select operation, operations(histogram), mean_ms(histogram), percentile_ms(histogram, 99) from operation"
        )
        assert (
            facts.execute(f"{begin} where client is null group by run, operation").fetchall()
            == facts.execute(f"{begin} where client is not null group by run, operation").fetchall()
        )
        rows = facts.execute(
            "select operation, operations, mean_ms, p99_ms, max_ms, system from row join trial on trial.id = row.trial"
            " where of_rounds and phase = 'run' and operation <> 'OVERALL' order by system, operation"
        ).fetchall()
        assert (
            rows
            == facts.execute(
                "select operation, operations(histogram), mean_ms(histogram), percentile_ms(histogram, 99),"
                " percentile_ms(histogram, 100), system from operation join run on run.id = operation.run"
                " join trial on trial.id = run.trial where client is null and phase = 'run'"
                " group by system, operation order by system, operation"
            ).fetchall()
        )
        assert len(rows) == 8
        columns = ", ".join(f"{name} is percentile_ms(histogram, {percent:g})" for name, percent in PERCENTILES.items())
        same = facts.execute(f"select count is operations(histogram), {columns} from operation group by rowid")  # noqa: S608
        assert {value for line in same for value in line} == {1}
        # Every type has fewer than ten operations beyond its p99.9. The maximum needs no minimum number of operations.
        query = "select percentile_ms(histogram, 99.9), percentile_ms(histogram, 100) = max_ms from operation"
        assert set(facts.execute(f"{query} group by rowid")) == {(None, 1)}
        assert facts.execute("select percentile_ms(null, 50), operations(null), mean_ms(null)").fetchone() == (
            None,
            0,
            None,
        )


def test_an_encoded_histogram_is_one_of_hdrhistogram(tmp_path: Path) -> None:
    merged = Latencies()
    log = (DATA / "dohyo/nanoseconds/READ.hdr").read_text()
    for text in re.findall(r"HIST\S+", log):
        merged.add(decode(text, 1_000_000))
    encoded = merged.encoded()
    assert encoded is not None
    theirs = HdrHistogram.decode(b64encode(encoded))
    assert theirs.get_total_count() == merged.count
    assert theirs.get_max_value() / 1e6 == merged.max_ms
    again = Latencies()
    again.add_encoded(encoded)
    assert again.percentiles_ms([50, 99, 99.9]) == merged.percentiles_ms([50, 99, 99.9])
    assert Latencies().encoded() is None
    for damaged in (b"", encoded[:-1], encoded[:10] + b"\xff" + encoded[11:]):
        with pytest.raises(ValueError, match="broken histogram"):
            again.add_encoded(damaged)


def test_what_faults_did_is_a_span(tmp_path: Path) -> None:
    (experiment,) = experiments(faults, tmp_path)
    with closing(written(tmp_path, experiment)) as facts:
        rows = facts.execute(
            "select trial.name, host, what, round(begin - warmup_seconds, 9) as at,"
            " round(end - warmup_seconds, 9) as until from span join run on run.id = span.run"
            " join trial on trial.id = run.trial where kind = 'fault'"
        ).fetchall()
        stated = [
            (result.name, host, str(fault), fault.at, fault.until)
            for result in summarise(experiment).trials
            for run in result.faults
            for fault in run.faults
            for host in fault.hosts
        ]
        assert [tuple(row.values()) for row in rows] == stated
        assert len(stated) == 4


def test_what_others_published_is_beside_it(tmp_path: Path) -> None:
    trial(tmp_path / "x", 1, "cassandra", 1)
    (tmp_path / "x/published").mkdir()
    source = sorted((ROOT / "workloads/published").glob("*.yml"))[0]
    (tmp_path / "x/published" / source.name).write_text(source.read_text())
    with closing(written(tmp_path, tmp_path / "x")) as facts:
        (publication,) = summarise(tmp_path / "x").published
        lines = facts.execute("select * from published").fetchall()
        assert {line["name"] for line in lines} == {publication.name}
        assert [line["value"] for line in lines if line["figure"] == "ops_per_second"] == [
            figure.ops_per_second for figure in publication.figures if figure.ops_per_second is not None
        ]


def test_several_experiments_are_one_database(tmp_path: Path) -> None:
    pair_of_folders = experiments(compare, tmp_path)
    with closing(written(tmp_path, *pair_of_folders)) as facts:
        count = (
            "select count(*) as n, name from experiment join (select distinct experiment from trial) on experiment = id"
        )
        assert facts.execute(f"{count} group by name order by name").fetchall() == [
            {"n": 1, "name": "after"},
            {"n": 1, "name": "before"},
        ]
        rates = facts.execute(
            "select experiment as name, records_per_second from counted_row"
            " where system = 'cassandra' and operation = 'OVERALL' and phase = 'run'"
        ).fetchall()
        assert [row["name"] for row in rates] == ["before", "after"]
        assert rates[0]["records_per_second"] > rates[1]["records_per_second"]


def test_experiments_with_one_name_differ(tmp_path: Path) -> None:
    for folder in ("a/x", "b/x"):
        trial(tmp_path / folder, 1, "cassandra", 1)
    write_json(tmp_path / "b/x/experiment.json", {"versions": {"dohyo": "0.9"}})
    with closing(written(tmp_path, tmp_path / "a/x", tmp_path / "b/x")) as facts:
        assert facts.execute("select name, folder, version from experiment").fetchall() == [
            {"name": "x", "folder": f"{tmp_path}/a/x", "version": None},
            {"name": f"{tmp_path}/b/x", "folder": f"{tmp_path}/b/x", "version": "0.9"},
        ]


def test_what_did_not_last_ends_where_it_begins(tmp_path: Path) -> None:
    folder = trial(tmp_path / "x", 1, "cassandra", 1)
    events = [{"at": 2.0, "host": "node1", "what": "GC pause of 1.2 s"}]
    write_json(folder / "run-1/clients.json", clients_json(("node1",), events=events))
    with closing(written(tmp_path, tmp_path / "x")) as facts:
        query = "select begin, end from span where kind = 'event' and what = 'GC pause of 1.2 s'"
        assert facts.execute(query).fetchall() == [{"begin": 2.0, "end": 2.0}]


def test_the_views_have_what_counts_once(databases: Databases) -> None:
    for experiment, facts in databases:
        summary = summarise(experiment)
        stated = [
            (result.system, row.phase, row.operation, row.ops_per_second)
            for result in summary.compared
            for row in result.rows
            if not result.is_aside(row)
        ]
        rows = facts.execute("select system, phase, operation, ops_per_second from counted_row").fetchall()
        assert sorted(tuple(row.values()) for row in rows) == sorted(stated)
        repeats = {
            (result.name, row.phase): row.repeats
            for result in summary.trials
            for row in result.rows
            if result.status == "ok" and not result.is_aside(row)
        }
        query = (
            "select trial.name, phase, count(*) as runs from counted_run join trial on trial.id = trial"
            " group by trial.id, phase"
        )
        assert {(row["name"], row["phase"]): row["runs"] for row in facts.execute(query)} == repeats
        assert experiment.name in ("failures", "loads") or repeats


def test_what_counts_is_that_of_valid_rounds_of_systems_that_never_failed(tmp_path: Path) -> None:
    rates = {"cassandra": 1000, "hbase": 800, "scylla": 1200}
    for turn, system, folder in in_rounds(tmp_path / "x", 3, rates):
        reads(folder / "run-1/node1", [rates[system]] * 20)
        if (turn, system) == (2, "cassandra"):
            write_json(folder / "state.json", {"status": "invalid", "reason": "other processes used 31 %"})
        if (turn, system) == (3, "scylla"):
            edit_json(folder / "run-1/node1/client.json", valid=False, exit=5, reason="no success for 60 s")
    with closing(written(tmp_path, tmp_path / "x")) as facts:
        query = "select system, records_per_second as rate from counted_row where operation = 'OVERALL' order by system"
        assert facts.execute(query).fetchall() == [
            {"system": "cassandra", "rate": 1000}, {"system": "hbase", "rate": 800}
        ]  # fmt: skip
        query = "select system, count(*) as runs from counted_run group by system order by system"
        assert facts.execute(query).fetchall() == [
            {"system": "cassandra", "runs": 2}, {"system": "hbase", "runs": 3}
        ]  # fmt: skip


# ---- the page and the schema -----------------------------------------------------------------------------------------

PAGE = (ROOT / "docs/facts.md").read_text("utf-8")


def test_the_page_has_the_tables() -> None:
    assert PAGE.endswith(schema.reference()), "update it with the output of python -m dohyo.facts.schema"
    count = len(re.findall("^create table", schema.statements(), re.MULTILINE))
    assert f": {count} tables," in PAGE
    assert len(re.findall("^### ", schema.reference(), re.MULTILINE)) == count


def test_every_column_is_described_once() -> None:
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(schema.statements())
        for (table,) in empty.execute("select name from sqlite_master where type = 'table'").fetchall():
            (part,) = re.findall(rf"^### {table}\n.*?(?=^### |\Z)", schema.reference(), re.MULTILINE | re.DOTALL)
            columns = [column[1] for column in empty.execute(f"pragma table_info('{table}')")]
            described = re.findall(r"^\| `(\w+)`", part, re.MULTILINE)
            assert described == [name for name in columns if table != "row" or name not in METRICS]
            if table == "host_second":
                assert columns[-len(FIGURES) :] == list(SERIES[-len(FIGURES) :]) == list(FIGURES)


QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def of_several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder = tmp_path_factory.mktemp("several")
    paused(folder / "paused", 20)
    folders = (*experiments(hosts, folder), *experiments(compare, folder), folder / "paused")
    with closing(written(folder, *folders)) as facts:
        yield facts


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query[:30])
def test_queries_of_the_page_can_be_pasted(query: str, of_several: sqlite3.Connection) -> None:
    rows = of_several.execute(query).fetchall()
    assert rows
    assert list(rows[0])[:4] == ["experiment", "system", "point", "phase"]


def test_the_page_has_five_queries_and_its_shell_line_runs(tmp_path: Path) -> None:
    assert len(QUERIES) == 5
    (query,) = re.findall(r"sqlite3 -box facts.db '(.*)'", PAGE)
    with closing(written(tmp_path, *experiments(hosts, tmp_path))) as facts:
        assert facts.execute(query).fetchall()


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```\n(\.venv/bin/python - facts.db <<'END'\n.*?)```", PAGE, re.DOTALL)
    with closing(written(tmp_path, *experiments(hosts, tmp_path))) as facts:
        counted = facts.execute("select count(*) as n from counted_row where operation <> 'OVERALL'").fetchone()["n"]
    code = code.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(["bash", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == counted > 0


def paused(experiment: Path, *pauses_ms: float) -> float:
    """Creates an experiment whose server paused in the middle of the first second. Returns the length of its run."""
    folder = trial(experiment, 1, "cassandra", 1)
    agreed = datetime(2026, 11, 21, 20, 53, 23, tzinfo=UTC)
    write_json(folder / "run-1/clients.json", clients_json(("node1",), agreed=agreed.timestamp()))
    reads(folder / "run-1/node1", [2000, 1000, 1000], not_found=[100, 0, 0])
    edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 1}])
    end = agreed + timedelta(seconds=1.5)
    lines = [
        "[2026-11-21T20:53:22.000+0000][0.007s] Using G1",
        *(f"[{end:%FT%T.%f}"[:-3] + f"+0000] GC({n}) Pause Young {ms:.3f}ms" for n, ms in enumerate(pauses_ms)),
    ]
    keep(folder / "server", "node1", gc__log="\n".join(lines) + "\n")
    return 3


def test_seconds_with_a_pause_are_told_from_others(tmp_path: Path) -> None:
    """Tests the first query of docs/facts.md, and the table of spans that it reads."""
    for name, pauses in {"one": (20,), "two": (20, 30), "none": ()}.items():
        seconds = paused(tmp_path / name, *pauses)
        with closing(written(tmp_path, tmp_path / name)) as facts:
            check_files(facts, summarise(tmp_path / name))
            rows = facts.execute(QUERIES[0]).fetchall()
            work = {row["work"]: (row["seconds"], row["ops_per_second"]) for row in rows}
            assert {row["logged"] for row in rows} == {"GC pause"}
            assert work == (
                {"GC pause": (1, 2100), "none of them": (2, 1000)} if pauses else {"none of them": (3, 1367)}
            )
            kinds = facts.execute("select count(*) as n from span where kind = 'GC pause'").fetchone()
            assert kinds == {"n": len(pauses)}
            # A second with two kinds of work counts once, in the row that names both kinds.
            facts.execute("insert into span (trial, run, kind, begin, end) select trial, id, 'flush', 0, 9 from run")
            facts.execute("insert into logged_work select id, 'node1', 'flush' from run where name = 'run-1'")
            rows = facts.execute(QUERIES[0]).fetchall()
            assert {row["logged"] for row in rows} == {"GC pause, flush"}
            assert sum(row["seconds"] for row in rows) == seconds
            assert {row["work"] for row in rows} == ({"GC pause, flush", "flush"} if pauses else {"flush"})
    # The log mentions no compaction during the run, so there was none.
    folder = trial(tmp_path / "log", 1, "hbase", 1)
    write_json(folder / "run-1/clients.json", clients_json(("node1",), agreed=1795320660.0))  # 2026-11-22T04:11:00Z
    keep(explained(folder / "server", "hbase", LOG), "node1", log=DATA / "servers/hbase/log")
    with closing(written(tmp_path, tmp_path / "log")) as facts:
        stated = {span.kind for server in summarise(tmp_path / "log").trials[0].servers for span in server.background}
        rows = facts.execute(QUERIES[0]).fetchall()
        assert {(row["logged"], row["work"]) for row in rows} == {(", ".join(sorted(stated)), "none of them")}
        assert stated == {"compaction", "flush"}
    # Without logs, the query returns no rows.
    trial(tmp_path / "silent", 1, "cassandra", 1)
    with closing(written(tmp_path, tmp_path / "silent")) as facts:
        assert facts.execute(QUERIES[0]).fetchall() == []


def test_fifths_of_a_window_have_the_rate_of_the_row(tmp_path: Path) -> None:
    (experiment,) = experiments(faults, tmp_path)
    with closing(written(tmp_path, experiment)) as facts:
        rows = facts.execute(QUERIES[3]).fetchall()
        assert len(rows) == 2 * 5
        assert {row["highest_p99_of_a_second_ms"] for row in rows} == {None}  # too few operations for a p99
        query = "select avg(succeeded + not_found) as rate from counted_run join second using (run)"
        of_seconds = facts.execute(f"{query} where operation = 'OVERALL' and system = 'cassandra'").fetchone()["rate"]
        query = "select ops_per_second from counted_row where operation = 'OVERALL' and system = 'cassandra'"
        assert facts.execute(query).fetchone()["ops_per_second"] == pytest.approx(of_seconds)


def test_what_changed_is_compared_at_each_point(tmp_path: Path) -> None:
    """Tests the last query of docs/facts.md, which ignores measured conditions and shows unknown values."""
    values: dict[str, dict[str, dict[str, Any]]] = {
        "a": {"1": {"version": "5", "heap": "1g"}, "2": {"version": "6"}},
        "b": {"1": {"version": "5"}, "2": {"version": "7"}},
    }
    for name, points in values.items():
        for number, (point, stated) in enumerate(points.items(), start=1):
            folder = trial(tmp_path / name, number, "cassandra", 1, trial_point={"batchsize": point})
            edit_json(folder / "conditions.json", **{"version": None, "heap": None, **stated})
            lasted(folder / "run-1/node1", 3.0 if name == "a" else 4.0)
    with closing(written(tmp_path, tmp_path / "a", tmp_path / "b")) as facts:
        rows = facts.execute(QUERIES[4]).fetchall()
    assert [(row["experiment"], json.loads(row["point"])["batchsize"], row["changed"]) for row in rows] == [
        ("a", "1", "heap=1g"),
        ("a", "2", "version=6"),
        ("b", "1", "heap=not known"),
        ("b", "2", "version=7"),
    ]


# ---- the command -----------------------------------------------------------------------------------------------------


def dohyo(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["db", *map(str, arguments)], standalone_mode=False)


def test_the_command_writes_the_database_beside_the_evidence(tmp_path: Path) -> None:
    trial(tmp_path / "x", 1, "cassandra", 1)
    for _ in range(2):
        done = dohyo(tmp_path / "x")
        assert (done.exception, done.return_value, done.output) == (None, 0, f"{tmp_path}/x/facts.db\n")
    assert sorted(file.name for file in (tmp_path / "x").iterdir()) == ["facts.db", "raw"]
    # A database next to the evidence causes no warning.
    assert summarise(tmp_path / "x").warnings == []


def test_the_database_replaces_nothing_else(tmp_path: Path) -> None:
    trial(tmp_path / "x", 1, "cassandra", 1)
    with closing(sqlite3.connect(tmp_path / "mine.db")) as notes:
        notes.execute("create table notes (text)")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "empty").touch()
    for name in ("mine.db", "notes.txt", "empty"):
        before = (tmp_path / name).read_bytes()
        done = dohyo(tmp_path / "x", "--out", tmp_path / name)
        assert f"{name} is not a database that dohyo wrote, so it is not replaced" in str(done.exception)
        assert (tmp_path / name).read_bytes() == before
    # A link is replaced, but not the file to which it points.
    (tmp_path / "link.db").symlink_to("notes.txt")
    assert dohyo(tmp_path / "x", "--out", tmp_path / "link.db").return_value == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "link.db").is_symlink()


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_database_that_was_not_closed_is_not_replaced(ending: str, tmp_path: Path) -> None:
    """SQLite would apply a file that an earlier database left, such as facts.db-wal, to the new database."""
    trial(tmp_path / "x", 1, "cassandra", 1)
    beside = tmp_path / f"x/facts.db{ending}"
    beside.touch()  # an empty file contains no pages
    assert dohyo(tmp_path / "x").return_value == 0
    before = (tmp_path / "x/facts.db").read_bytes()
    beside.write_bytes(b"pages")
    done = dohyo(tmp_path / "x")
    assert isinstance(done.exception, BadInputError)
    assert f"was not closed properly; close that program, or remove {beside}" in str(done.exception)
    assert (tmp_path / "x/facts.db").read_bytes() == before


def test_tables_of_the_user_are_not_replaced(tmp_path: Path) -> None:
    trial(tmp_path / "x", 1, "cassandra", 1)
    assert dohyo(tmp_path / "x").return_value == 0
    with closing(sqlite3.connect(tmp_path / "x/facts.db")) as connection:
        connection.executescript("create table sqlitenotes (text); create view slow as select * from row; analyze")
    done = dohyo(tmp_path / "x")
    assert isinstance(done.exception, BadInputError)
    assert "has tables or views that dohyo did not write: slow, sqlitenotes;" in str(done.exception)
    # Checking the database leaves no SQLite files next to it.
    with closing(sqlite3.connect(tmp_path / "x/facts.db")) as connection:
        connection.executescript("drop table sqlitenotes; drop view slow; pragma journal_mode = wal")
    assert dohyo(tmp_path / "x").return_value == 0
    assert sorted(file.name for file in (tmp_path / "x").iterdir()) == ["facts.db", "raw"]
    # The tables of a damaged database cannot be read, so the database is replaced.
    whole = (tmp_path / "x/facts.db").read_bytes()
    (tmp_path / "x/facts.db").write_bytes(whole[:100] + b"\xff" * 5000)
    assert dohyo(tmp_path / "x").return_value == 0


def test_an_experiment_that_is_named_twice_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial(tmp_path / "x", 1, "cassandra", 1)
    (tmp_path / "link").symlink_to("x")
    monkeypatch.chdir(tmp_path)
    assert dohyo("x", "x/", tmp_path / "x", "link", "x/raw/..").return_value == 0
    with closing(sqlite3.connect("x/facts.db")) as facts:
        assert facts.execute("select count(*) from experiment").fetchone() == (1,)


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("no-such",), "is neither an ID"),
        (("x", "y"), "several experiments: name the database with --out FILE"),
        (("logs",), "is not the folder of an experiment; for logs of other clients: "),
        (("alone",), "contains no evidence (raw); name an experiment that was measured"),
        (("x", "--out", "x"), "is a folder; name the file, such as x/facts.db"),
        (("x", "--out", "no/facts.db"), "the folder no does not exist"),
        (("x", "--out", "fifo"), "fifo is a FIFO; remove it, or name another file"),
        (("x", "--out", "to-fifo"), "to-fifo is a FIFO; remove it, or name another file"),
        (("x", "--out", "x/raw/facts.db"), "raw is only for the evidence of an experiment; name another file"),
        (("x", "--out", "in/01-cassandra/facts.db"), "raw is only for the evidence"),
        (("later",), "needs a later version of dohyo"),
    ],
)
def test_bad_input_is_refused(
    argv: tuple[str, ...], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x", "y", "later"):
        trial(tmp_path / name, 1, "cassandra", 1)
    (tmp_path / "later/experiment.json").write_text('{"format": 99}')
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to-fifo").symlink_to("fifo")
    (tmp_path / "in").symlink_to("y/raw")
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone/experiment.json").write_text("{}")
    (tmp_path / "logs").mkdir()
    foreign(tmp_path / "logs")
    assert main(["db", *argv]) == 2
    assert why in capfd.readouterr().err
    assert list(tmp_path.rglob("*facts.db*")) == []


def test_a_full_disk_leaves_the_database_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial(tmp_path / "x", 1, "cassandra", 1)
    assert dohyo(tmp_path / "x").return_value == 0
    before = (tmp_path / "x/facts.db").read_bytes()

    def full() -> str:
        return f"pragma max_page_count = 30; {statements()}"

    statements: Callable[[], str] = schema.statements
    monkeypatch.setattr(schema, "statements", full)
    done = dohyo(tmp_path / "x")
    assert isinstance(done.exception, OSError)
    assert "database or disk is full" in str(done.exception)
    assert (tmp_path / "x/facts.db").read_bytes() == before
    assert sorted(file.name for file in (tmp_path / "x").iterdir()) == ["facts.db", "raw"]


def test_a_log_with_the_name_of_all_operations_is_broken_evidence(tmp_path: Path) -> None:
    folder = trial(tmp_path / "x", 1, "cassandra", 1)
    client = folder / "run-1/node1"
    (client / "OVERALL.hdr").write_text((client / "READ.hdr").read_text().replace("for: READ", "for: HdrOVERALL"))
    with (client / "result.txt").open("a") as results:
        results.write("[HdrOVERALL], Operations, 5\n")
    with closing(written(tmp_path, tmp_path / "x")) as facts:
        assert facts.execute("select status from trial").fetchall() == [{"status": "invalid"}]
        reasons = facts.execute("select reason from run_check where verdict = 'warning'").fetchall()
    text = "\n".join(row["reason"] for row in reasons)
    assert re.search(r"OVERALL\.hdr:\d+: OVERALL is not an operation type; it stands for all of them", text)
    assert re.search(r"result\.txt:\d+: \[HdrOVERALL\]: OVERALL is not an operation type", text)


def test_what_the_tables_cannot_take_is_an_error_with_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial(tmp_path / "x", 1, "cassandra", 1)
    statements: Callable[[], str] = schema.statements
    monkeypatch.setattr(schema, "statements", lambda: statements().replace("host text not null", "host integer"))
    done = dohyo(tmp_path / "x")
    assert isinstance(done.exception, OSError)
    assert str(done.exception).startswith("[Errno 5] cannot store TEXT value in INTEGER column")
    assert done.exception.filename == str(tmp_path / "x/facts.db")


def test_broken_evidence_is_named_and_the_rest_is_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = trial(tmp_path / "x", 1, "cassandra", 1)
    trial(tmp_path / "x", 2, "hbase", 1)
    (folder / "run-1/node1/READ.hdr").write_text("no log\n")
    assert dohyo(tmp_path / "x").return_value == 1
    with closing(sqlite3.connect(tmp_path / "x/facts.db")) as facts:
        assert facts.execute("select system, status from trial").fetchall() == [
            ("cassandra", "invalid"),
            ("hbase", "ok"),
        ]
        (reason,) = facts.execute("select reason from run_check where verdict = 'warning'").fetchone()
        assert "READ.hdr:1: the line is cut off" in reason
        assert facts.execute("select count(*) from run_check where name = 'run' and run is not null").fetchone()[0] > 0


# Hostile names, texts and counts that evidence from other people may contain.
HOSTILE = ["'); drop table trial; --", '"', "\0x", "\ud800", "☃" * 1000, "NaN", "9" * 30]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_texts_are_values_like_others(text: str, tmp_path: Path) -> None:
    folder = trial(tmp_path / "x", 1, "cassandra", 1)
    edit_json(folder / "conditions.json", version=text, notes=[text], differences=[text])
    edit_json(folder / "run-1/node1/client.json", reason=text, cpus=text)
    edit_json(folder / "trial.json", trial_point={text: text})
    with closing(written(tmp_path, tmp_path / "x")) as facts:
        stated = text.encode("utf-8", "replace").decode()
        assert facts.execute("select value from condition where name = 'version'").fetchall() == [{"value": stated}]
        assert json.loads(facts.execute("select point from trial").fetchone()["point"]) == {stated: stated}
        assert {row["reason"] for row in facts.execute("select reason from run_check where name = 'note'")} >= {stated}
        assert facts.execute("pragma integrity_check").fetchone() == {"integrity_check": "ok"}


@pytest.mark.parametrize("count", [2**63 - 1, 2**63, -(2**63), 10**400])
def test_counts_beyond_64_bits_are_not_known(count: int, tmp_path: Path) -> None:
    folder = trial(tmp_path / "x", 1, "cassandra", 1)
    edit_json(folder / "run-1/node1/client.json", operations=count, records=count, failed_operations=count)
    with closing(written(tmp_path, tmp_path / "x")) as facts:
        assert facts.execute("select count(*) as n from run").fetchone() == {"n": 2}


def test_a_histogram_beyond_64_bits_is_not_kept() -> None:
    merged = Latencies()
    for _ in range(3):
        merged.add(Histogram(standard_layout(), np.array([500]), np.array([2**62]), 2**62))
    assert merged.count == 3 * 2**62
    assert merged.encoded() is None


def test_a_value_without_a_column_is_an_error() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(schema.statements())
        with pytest.raises(ValueError, match=r"table trial has no column raound$"):
            Loader(connection)._insert("trial", round=1, raound=1)
