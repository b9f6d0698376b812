"""Runs the published comparisons in workloads/ at their smallest size, with real servers.

The scenario hbase-read-variants covers several tables, yokozuna covers batches of 100, and test_run.py the core mixes.
"""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dohyo.ansible import availability
from e2e.runs import Run, options, read_back

SMALL = ["--repeats=1", *options(target=None, without="threadcount")]


def measured(folder: Path, name: str, *options: str) -> list[dict[str, Any]]:
    """Runs a scenario, and returns its trials after checking that they are valid."""
    run = Run(folder / Path(name).name, name, *SMALL, *options)
    assert run.end() == 0
    trials: list[dict[str, Any]] = json.loads((run.out / "summary.json").read_text())["trials"]
    return [trial for trial in trials if trial["status"] != "skipped"]


def operations(trial: dict[str, Any]) -> set[str]:
    return {f"{row['phase']} {row['operation']}" for row in trial["rows"] if row["operations"] and not row["errors"]}


def test_a_partial_load_contains_all_records_that_runs_read(tmp_path: Path) -> None:
    """Loads only a part of the records. All reads of the runs must still find a record."""
    text = "recordcount=2000\noperationcount=2000\nreadproportion=0\nupdateproportion=0\nscanproportion=0.95\n"
    text += "insertproportion=0.05\nrequestdistribution=zipfian\nmaxscanlength=20\ninsertstart=1000\ninsertcount=900\n"
    (file := tmp_path / "part.properties").write_text(text)
    (trial,) = measured(tmp_path / "out", str(file), "--systems=mysql-innodb")
    assert trial["conditions"]["recordcount"] == 900
    folder = tmp_path / "out" / file.name / "raw" / trial["name"]
    assert sum(json.loads((folder / "settled.json").read_text())["rows"].values()) == 900
    (inserts,) = (row["operations"] for row in trial["rows"] if (row["phase"], row["operation"]) == ("run", "INSERT"))
    assert sum(json.loads((folder / "counted.json").read_text())["rows"].values()) >= 900 + inserts
    assert not any(row["errors"] or row["not_found"] for row in trial["rows"])


def test_yokozuna(tmp_path: Path) -> None:
    trials = measured(tmp_path, "yokozuna", "--scale=0.00001", "--set=threadcount=2", "--set=settle=phases")
    aerospike = [] if availability.ask(None)["aerospike"] else ["bins", "packed"]
    assert [trial["point"].get("variant") for trial in trials] == [*aerospike, "batches"]
    for trial in trials:
        assert {"load INSERT", "update UPDATE", "read READ"} <= operations(trial)
        assert trial["by_phase"]["update"]["read_before_write"] is True
        # Servers settle only before the reads, because the updates follow the load, which already ends with settling.
        folder = tmp_path / "yokozuna" / "raw" / trial["name"]
        assert [file.parent.name for file in folder.glob("*/settled.json")] == ["read-1"]


def test_the_long_run_of_yokozuna(tmp_path: Path) -> None:
    if reason := availability.ask(None)["aerospike"]:
        pytest.skip(reason)
    (trial,) = measured(tmp_path, "yokozuna-long", "--records=2000", "--set=threadcount=2")
    assert {"load INSERT", "mixed READ", "mixed UPDATE"} <= operations(trial)
    assert trial["by_phase"]["mixed"]["read_before_write"] is True


def test_hbase_cache_of_two_region_servers_in_an_older_version(tmp_path: Path) -> None:
    heaps = [f"--set=hbase_{part}_heap=256m" for part in ("master", "namenode", "datanode", "zookeeper")]
    (trial,) = measured(
        tmp_path, "hbase-cache", "--set=matrix.datasize=1MB", "--set=threadcount=2", "--repeats=2",
        "--set=phases=c,a", "--set=compression=gz", "--set=a.batchsize=10", "--set=insert.threadcount=1",
        "--set=hbase_version=2.5.13-hadoop3",
        "--set=hbase_regionservers_per_host=2", "--set=hbase_prefetch=true", *heaps,
    )  # fmt: skip
    assert trial["point"] == {"datasize": "1MB"}
    assert {"c READ", "a READ", "a UPDATE"} <= operations(trial)
    rows = {(row["phase"], row["operation"], row["discarded"]): row for row in trial["rows"]}
    for discarded in (True, False):
        a = rows["a", "READ", discarded]
        assert (a["repeats"], a["records"]) == (1, 10 * a["operations"])
    assert ("c", "UPDATE", False) not in rows
    assert trial["by_phase"]["a"]["batchsize"] == 10
    folder = tmp_path / "hbase-cache" / "raw" / trial["name"]
    (client,) = (folder / "load").glob("*/client.json")
    assert json.loads(client.read_text())["threads"] == 1
    # Each mix has its own hit ratio. It comes from the second repeat, which finds everything in the cache.
    (server,) = trial["servers"]
    of_phases = {phase["phase"]: phase for phase in server["phases"]}
    assert list(of_phases) == ["load", "c", "a"]
    assert of_phases["c"]["runs"] == 1
    assert of_phases["c"]["figures"]["l1_cache_hit_ratio"] > 0.9
    page = (tmp_path / "hbase-cache" / "summary.md").read_text()
    assert "datasize phase | publ. | operations | publ. |" in page
    assert "| 1MB c |" in page

    values = [trial["conditions"][name] for name in ("version", "gc", "durability", "compression")]
    assert values == ["2.5.13-hadoop3", "G1 Old Generation, G1 Young Generation", "memory", "gz"]
    assert trial["conditions"]["nodes"] == 1
    notes = "; ".join(trial["notes"])
    assert "region servers: 2, each with its own heap; hosts: 1" in notes
    assert "regions per table: 8 (4 + 4)" in notes
    assert "PREFETCH_BLOCKS_ON_OPEN" in notes
    settled = json.loads((folder / "settled.json").read_text())
    assert (settled["flushed"], settled["memstore_mb"]) == (True, 0)
    assert settled["store_files"] == 8
    assert settled["block_cache_mb"] >= 1
    assert server["figures"]["store_files"] >= 8  # including HBase's internal files
    assert {None, "regionserver2"} <= {pauses["process"] for pauses in server["pauses"]}
    assert {"regionserver.log", "regionserver2.log"} <= {file.name for file in (folder / "server/localhost").iterdir()}
    statistics = list((folder / "server").glob("*/stats/*/stats-*"))
    assert statistics
    assert not [file.name for file in statistics if "Exception:" in file.read_text()]


def test_hbase_reads_from_memstores(tmp_path: Path) -> None:
    """Tests reads from memstores. The test above covers reads from files."""
    part = ["--set=matrix.variant=memstore", "--set=threadcount=4", "--set=fieldlength=100"]
    (trial,) = measured(tmp_path, "hbase-read-variants", "--scale=0.0005", *part)
    assert trial["point"] == {"variant": "memstore"}
    assert trial["conditions"]["compression"] == "none"
    settled = json.loads((tmp_path / "hbase-read-variants/raw" / trial["name"] / "settled.json").read_text())
    assert (settled["flushed"], settled["store_files"]) == (False, 0)
    assert {table: rows > 0 for table, rows in settled["rows"].items()} == dict.fromkeys(settled["rows"], True)
    assert (len(settled["rows"]), sum(settled["rows"].values())) == (4, 10_000)
    assert "settle.flush=false: all records are in memstores, none in files" in trial["notes"]
    assert trial["servers"][0]["figures"]["memstore_bytes"] > 10_000 * 100


def test_gc_matrix(tmp_path: Path) -> None:
    part = ["--set=matrix.variant=c311-cms,c40-shenandoah", "--set=matrix.target=200", "--set=threadcount=2"]
    trials = measured(tmp_path, "gc-matrix", *part, "--scale=0.01", "--set=profile=tuned")
    for trial in trials:
        values, server = read_back(tmp_path / "gc-matrix/raw" / trial["name"])
        for name in {"compaction_throughput_mb_per_sec", "concurrent_compactors"} & values.keys():
            assert server[name] == str(values[name])
    conditions = [trial["conditions"] for trial in trials]
    assert [condition["version"] for condition in conditions] == ["3.11.6", "4.0-alpha4"]
    assert [condition["jdk"].partition(".")[0] for condition in conditions] == ["1", "11"]  # JDK 8 reports 1.8
    assert [condition["gc"] for condition in conditions] == [
        "ConcurrentMarkSweep, ParNew",
        "Shenandoah Cycles, Shenandoah Pauses",
    ]
    for trial in trials:
        assert {"run INSERT", "run SCAN"} <= operations(trial)
        # A key is either read or written, so scans find no records.
        assert {row["records"] for row in trial["rows"] if row["operation"] == "SCAN"} == {0}
        folder = tmp_path / "gc-matrix/raw" / trial["name"]
        (client,) = (json.loads(file.read_text()) for file in folder.glob("run-1/*/client.json"))
        assert client["operations"] + client["missed_operations"] == 200 * 3
        server = folder / "server"
        statistics = list(server.glob("*/stats/run-1/stats-*"))
        assert statistics
        assert not [file.name for file in statistics if "Exception:" in file.read_text()]


def test_insert_race(tmp_path: Path) -> None:
    part = ["--set=matrix.variant=async-1", "--systems=cassandra,mysql-innodb"]
    trials = measured(tmp_path, "insert-race", *part, "--scale=0.01")
    assert [(trial["system"], trial["point"], trial["conditions"]["inflight"]) for trial in trials] == [
        ("cassandra", {"variant": "async-1"}, 50), ("mysql-innodb", {}, 1),
    ]  # fmt: skip
    folder = tmp_path / "insert-race"
    lines = list(csv.DictReader((folder / "load.csv").open(encoding="utf-8")))
    for trial in trials:
        assert operations(trial) == {"load OVERALL", "load INSERT"}
        (insert,) = (row for row in trial["rows"] if row["operation"] == "INSERT")
        assert (insert["records"], trial["load_is_measured"], trial["load"]["rows"]) == (9000, True, 9000)
        assert trial["load"]["tenths"] == sorted(trial["load"]["tenths"])
        assert trial["load"]["tenths"][-1] == pytest.approx(trial["conditions"]["measured_seconds"], abs=0.001)
        points = [line for line in lines if line["system"] == trial["system"]]
        assert (points[0]["rows"], points[-1]["rows"]) == ("0", "9000")
        settled = json.loads((folder / "raw" / trial["name"] / "settled.json").read_text())
        assert sum(settled["rows"].values()) == 9000
    page = (folder / "summary.md").read_text()
    assert "Rows against seconds" in page
    assert "published" in page


def test_the_tables_of_insert_race_are_read(tmp_path: Path) -> None:
    part = ["--systems=cassandra,mysql-innodb", "--set=matrix.variant=sync-4", "--scale=0.003"]
    trials = measured(tmp_path, "insert-race-reads", *part)
    assert [trial["system"] for trial in trials] == ["cassandra", "mysql-innodb"]
    for trial in trials:
        assert {"run INSERT", "run READ"} <= operations(trial)
        (read,) = (row for row in trial["rows"] if (row["phase"], row["operation"]) == ("run", "READ"))
        assert (read["records"], read["not_found"]) == (read["operations"], 0)
