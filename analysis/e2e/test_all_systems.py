"""All systems in one table, with profile=tuned: they start, and have the values that the profile gives them."""

import json
import os
import re
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dohyo.ansible import available
from dohyo.places import ANSIBLE, ROOT
from dohyo.systems.catalogue import all_systems
from e2e.runs import Run, options, read_back

VARIABLES = {
    **{f"hbase_{part}_heap": "256m" for part in ("master", "namenode", "datanode", "zookeeper")},
    "hbase_distributed": "true",
    "mysql_log_file": "64m",
    "postgresql_max_wal_size": "3g",
    "postgresql_shared_buffers": "128m",
    "cassandra_settings": "{trickle_fsync_interval: 20MiB}",
}
DOHYO = ROOT / ".venv/bin/dohyo"


@dataclass
class Tuned:
    """What a tuned system has come to."""

    trial: dict[str, Any]
    folder: Path

    @property
    def conditions(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "conditions.json").read_text())
        assert found["profile"] == "tuned"
        return found


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One experiment with all systems."""
    settings = [f"--set={name}={value}" for name, value in {"profile": "tuned", **VARIABLES}.items()]
    settings += ["--set=verify=acknowledged", *options(preconditioning=2000, without="canary")]
    run = Run(tmp_path_factory.mktemp("tuned") / "out", "workloadA", "--details", "--records=2000", *settings)
    assert run.end() == 0
    return run


@pytest.fixture(scope="module")
def tuned(experiment: Run) -> dict[str, Tuned]:
    """What the systems that are available have come to."""
    return {
        name: Tuned(trial, experiment.out / "raw" / trial["name"])
        for name, trial in experiment.trials().items()
        if trial["status"] != "skipped"
    }


def test_all_systems_come_out_in_one_table(experiment: Run) -> None:
    run, trials = experiment, experiment.trials()
    reasons = {system: reason for system, reason in available.ask(None).items() if not all_systems()[system].by_name}
    assert {system: (trial["status"], trial["reason"] or "") for system, trial in trials.items()} == {
        system: ("skipped" if reason else "ok", reason) for system, reason in reasons.items()
    }
    assert [system for system in ("cassandra", "hbase", "mysql-innodb") if reasons[system]] == []
    unequal = json.loads((run.out / "summary.json").read_text())["unequal"]
    assert set(unequal) <= (set() if reasons["aerospike"] else {"consistency"})
    for system, trial in trials.items():
        if reasons[system]:
            continue
        rows = {(row["phase"], row["operation"]): row for row in trial["rows"]}
        assert rows["load", "INSERT"]["records"] == 2000
        assert rows["run", "READ"]["errors"] == rows["run", "READ"]["not_found"] == 0
        assert rows["run", "UPDATE"]["operations"] > 0
        account = trial["accounting"]
        assert account["acknowledged"] >= rows["run", "UPDATE"]["operations"]
        assert account["reads"] >= rows["run", "READ"]["operations"]
        assert (account["keys"], account["unknown_reads"], account["stale_reads"], account["lost"]) == (2000, 0, 0, 0)
        assert all_systems()[system].title.split()[-1] in run.text
        names = {"cpu_one", "cpu_all", "memory", "disk_write", "disk_fsync", "disk_read"}
        assert {figure["name"] for figure in trial["canary"]["figures"]} == names
        assert trial["canary"]["problems"] == []
        assert [(use["phase"], use["host"]) for use in trial["hosts"]] == [("load", "localhost"), ("run", "localhost")]
        # A load of a few rows may be too short for a sample of its own.
        used = [use for use in trial["hosts"] if use["phase"] == "run"]
        assert all(0 < use["figures"]["cpu_user"]["mean"] <= 1 and use["devices"] for use in used)
        assert rows["run", "OVERALL"]["server_cpu_us_per_record"] > 0
        assert rows["run", "OVERALL"]["client_cpu_us_per_record"] > 0
        for evidence in (
            "trial.json",
            "ansible.log",
            "canary.json",
            "conditions.json",
            "load",
            "precondition-1",
            "run-1",
        ):
            assert (run.out / "raw" / trial["name"] / evidence).exists(), evidence
        # Figures never depend on the checkout that reads them.
        kept = run.out / "raw" / trial["name"] / "server/figures.yml"
        assert kept.read_bytes() == (ANSIBLE / "systems" / all_systems()[system].role / "figures.yml").read_bytes()
    assert re.search(r"accounting +0 stale of [\d,]+ reads, 0 lost of [\d,]+ acknowledged", run.text)
    assert "hosts before each trial: " in run.text
    assert f"dohyo show {run.out}\n" in run.text
    assert run.text.splitlines()[-1] == f"a page with charts: {run.out / 'report.html'}"
    assert (run.out / "summary.csv").exists()
    assert (run.out / "hosts.csv").exists()
    assert (run.out / "summary.md").exists()
    assert json.loads((run.out / "experiment.json").read_text())["status"] == "done"
    subprocess.run([DOHYO, "report", run.out, "--figures"], check=True)
    page = (run.out / "report.html").read_text()
    measured = [system for system in trials if not reasons[system]]
    assert all(f"raw/{trials[system]['name']}/" in page for system in measured)
    assert (run.out / "figures" / "ranking.svg").stat().st_size > 0


def file_of(trial: Path, name: str) -> str:
    (found,) = trial.glob(f"server/*/{name}")
    return found.read_text()


def test_hbase_on_hdfs_reads_its_own_blocks(tuned: dict[str, Tuned]) -> None:
    conditions, trial = tuned["hbase"].conditions, tuned["hbase"].folder
    notes = "; ".join(conditions["notes"])
    # Below a folder in which others may write, such as /tmp, Hadoop refuses the socket that they need.
    safe = not any(folder.stat().st_mode & stat.S_IWOTH for folder in ROOT.parents)
    assert f"short-circuit reads: {'on' if safe else 'off'}" in notes
    assert "splits of regions: off" in notes
    # A heap of 512 MiB: 0.4 of it are memstores, of 128 MiB each.
    assert "regions per table: 1" in notes
    beans = json.loads(file_of(trial, "stats/run-1/stats-jmx.txt"))["beans"]
    assert (max(bean.get("shortCircuitBytesRead", 0) for bean in beans) > 0) == safe
    running = file_of(trial, "stats/run-1/stats-conf.txt")
    assert "throttle.NoLimitThroughputController" in running
    assert conditions["tuned"]["hbase_handlers"] == max(100, min(200, 2 * len(os.sched_getaffinity(0))))


def values_of(trial: Path, name: str) -> dict[str, str]:
    """What a server says of itself, by name."""
    lines = file_of(trial, f"stats/run-1/{name}").splitlines()
    return {key: value for key, _, value in (line.replace("\t", "=").partition("=") for line in lines)}


def test_innodb(tuned: dict[str, Tuned]) -> None:
    conditions, trial = tuned["mysql-innodb"].conditions, tuned["mysql-innodb"].folder
    given = {"mysql_log_file": "64m", "mysql_buffer_pool": "128m"}
    assert given.items() <= conditions["settings"].items()
    running = values_of(trial, "stats-variables.txt")
    assert {name: str(value) for name, value in conditions["tuned"].items()}.items() <= running.items()
    assert int(running["innodb_io_capacity_max"]) == 2 * int(running["innodb_io_capacity"])
    assert running["innodb_log_buffer_size"] == "67108864"


def test_postgresql(tuned: dict[str, Tuned]) -> None:
    conditions, trial = tuned["postgresql"].conditions, tuned["postgresql"].folder
    running = values_of(trial, "stats-settings.txt")
    names = {
        "max_wal_size": "3072",
        "min_wal_size": "2048",
        "checkpoint_timeout": "900",
        "maintenance_work_mem": "65536",
    }
    assert names.items() <= running.items()
    assert running["effective_cache_size"] == str(3 * 128 * 1024 // 8)  # pages of 8 KiB
    assert running["random_page_cost"] == str(conditions["tuned"].get("random_page_cost", 4))


@pytest.mark.skipif(bool(available.ask(None)["aerospike"]), reason="no asd on this machine")
def test_aerospike(tuned: dict[str, Tuned]) -> None:
    conditions, trial = tuned["aerospike"].conditions, tuned["aerospike"].folder
    running = values_of(trial, "stats-config-service.txt")
    assert running["service-threads"] == str(5 * len(os.sched_getaffinity(0)))
    assert values_of(trial, "stats-config-namespace.txt")["storage-engine.post-write-cache"] == str(256 << 20)
    assert conditions["tuned"]["namespace.storage-engine.post-write-cache"] == "256M"


def test_cassandra_has_the_values_of_its_profile_and_the_user_s(tuned: dict[str, Tuned]) -> None:
    trial = tuned["cassandra"].trial
    assert {"trickle_fsync_interval=20MiB", "cassandra_heap=512m"} <= {*trial["conditions"]["settings"].split(", ")}
    values, server = read_back(tuned["cassandra"].folder)
    names = {"column_index_size", "compaction_throughput", "concurrent_compactors", "key_cache_size"}
    names |= {"memtable_allocation_type", "trickle_fsync", "trickle_fsync_interval"}
    # Some are set on flash alone.
    names -= {"concurrent_compactors", "trickle_fsync"} - values.keys()
    assert {name: server[name] for name in names} == {name: str(values[name]).replace("True", "true") for name in names}
    assert server["concurrent_writes"] == str(values["cassandra_concurrent_writes"])
    expected = {"memtable: trie", "sstable format: bti", "compaction: UnifiedCompactionStrategy", "tokens per node: 16"}
    assert expected <= set(trial["notes"])
