"""Tests that real servers with profile=tuned start with the values of the profile."""

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dohyo.ansible import availability
from dohyo.places import ROOT
from e2e.runs import Run, options, read_back

VARIABLES = {
    **{f"hbase_{part}_heap": "256m" for part in ("master", "namenode", "datanode", "zookeeper")},
    "hbase_distributed": "true",
    "mysql_log_file": "64m",
    "postgresql_max_wal_size": "3g",
    "postgresql_shared_buffers": "128m",
    "cassandra_settings": "{trickle_fsync_interval: 20MiB}",
}
SYSTEMS = ("cassandra", "hbase", "mysql-innodb", "postgresql", "aerospike")


@dataclass
class Tuned:
    """A trial of a system with profile=tuned, and the folder of its evidence."""

    trial: dict[str, Any]
    folder: Path

    @property
    def conditions(self) -> dict[str, Any]:
        conditions: dict[str, Any] = json.loads((self.folder / "conditions.json").read_text())
        assert conditions["profile"] == "tuned"
        return conditions


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tuned]:
    """Runs an experiment with all available systems, and returns their trials."""
    out = tmp_path_factory.mktemp("tuned") / "out"
    settings = [f"--set={name}={value}" for name, value in {"profile": "tuned", **VARIABLES}.items()]
    chosen = [name for name in SYSTEMS if not availability.ask(None)[name]]
    run = Run(out, "workloadA", f"--systems={','.join(chosen)}", "--records=2000", *options(), *settings)
    assert run.end() == 0
    return {name: Tuned(trial, out / "raw" / trial["name"]) for name, trial in run.trials().items()}


def file_of(trial: Path, name: str) -> str:
    (file,) = trial.glob(f"server/*/{name}")
    return file.read_text()


def test_hbase_on_hdfs_reads_its_own_blocks(tuned: dict[str, Tuned]) -> None:
    conditions, trial = tuned["hbase"].conditions, tuned["hbase"].folder
    notes = "; ".join(conditions["notes"])
    # Short-circuit reads need a socket, which Hadoop rejects below a folder that all users can write to, such as /tmp.
    safe = not any(folder.stat().st_mode & stat.S_IWOTH for folder in ROOT.parents)
    assert f"short-circuit reads: {'on' if safe else 'off'}" in notes
    assert "splits of regions: off" in notes
    # Memstores may use 0.4 of the heap of 512 MiB. At 128 MiB each, that is enough for one region.
    assert "regions per table: 1" in notes
    beans = json.loads(file_of(trial, "stats/run-1/stats-jmx.txt"))["beans"]
    assert (max(bean.get("shortCircuitBytesRead", 0) for bean in beans) > 0) == safe
    running = file_of(trial, "stats/run-1/stats-conf.txt")
    assert "throttle.NoLimitThroughputController" in running
    # The conditions contain only values that differ from the package's, which has 30 handlers.
    assert conditions["tuned"].get("hbase_handlers", 30) == max(30, 2 * len(os.sched_getaffinity(0)))


def values_of(trial: Path, name: str) -> dict[str, str]:
    """Returns the values that a server reports, by name."""
    lines = file_of(trial, f"stats/run-1/{name}").splitlines()
    return {key: value for key, _, value in (line.replace("\t", "=").partition("=") for line in lines)}


def test_innodb(tuned: dict[str, Tuned]) -> None:
    conditions, trial = tuned["mysql-innodb"].conditions, tuned["mysql-innodb"].folder
    settings = {"mysql_log_file": "64m", "mysql_buffer_pool": "128m"}
    assert settings.items() <= conditions["settings"].items()
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
    assert running["effective_cache_size"] == str(3 * 128 * 1024 // 8)  # counted in pages of 8 KiB
    assert running["random_page_cost"] == str(conditions["tuned"].get("random_page_cost", 4))


@pytest.mark.skipif(bool(availability.ask(None)["aerospike"]), reason="no asd on this machine")
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
    # The profile changes two of the settings only on flash.
    names -= {"concurrent_compactors", "trickle_fsync"} - values.keys()
    assert {name: server[name] for name in names} == {name: str(values[name]).replace("True", "true") for name in names}
    assert server["concurrent_writes"] == str(values["cassandra_concurrent_writes"])
    expected = {"memtable: trie", "sstable format: bti", "compaction: UnifiedCompactionStrategy", "tokens per node: 16"}
    assert expected <= set(trial["notes"])
