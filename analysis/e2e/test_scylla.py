"""Tests a real ScyllaDB if SCYLLA_DIR names its folder."""

import json
from pathlib import Path

import pytest

from dohyo.ansible import availability
from e2e.runs import Run, mix, options


@pytest.fixture(autouse=True)
def server() -> None:
    if reason := availability.ask(None)["scylla"]:
        pytest.skip(reason)


def test_passwords_tls_and_a_restart_that_loses_nothing(tmp_path: Path) -> None:
    settings = {
        "scylla_memory": "1g",
        "scylla_authentication": "true",
        "scylla_tls": "true",
        "durability": "disk",
        "faults": "kill(any)@2s, start(any)@4s",
        "verify": "acknowledged",
        "target": "100",
    }
    named = [f"--set={name}={value}" for name, value in settings.items()]
    run = Run(tmp_path / "out", "workloadA", "--systems=scylla", "--records=500", *options(duration=40), *named)
    assert run.end() == 0
    trial = run.trials()["scylla"]
    assert trial["status"] == "ok", trial["reason"]
    (entry,) = trial["faults"]
    assert entry["accounting"]["acknowledged"] > 0
    assert [entry["accounting"][count] for count in ("lost", "missing", "corrupt", "unreadable")] == [0] * 4
    assert "commit log replayed" in (tmp_path / "out/summary.md").read_text()

    raw = tmp_path / "out/raw/01-scylla"
    conditions = json.loads((raw / "conditions.json").read_text())
    assert conditions["durability"] == "disk"
    assert {"users have passwords", "TLS to clients", "TLS among nodes", "commit log: batch"} <= {*conditions["notes"]}
    # The server's log names unknown settings, but no file may contain the hash of a password.
    assert not [file for file in raw.rglob("*") if file.is_file() and b"$6$" in file.read_bytes()]


def test_conditions_and_figures_of_scylla_are_complete(tmp_path: Path) -> None:
    arguments = ["workloadA", "--systems=scylla", "--records=2000", *options(), "--set=scylla_memory=1g"]
    run = Run(tmp_path / "out", *arguments, "--set=scylla_smp=1")
    assert run.end() == 0
    trial = run.trials()["scylla"]
    assert mix(trial) == {"READ", "UPDATE"}
    conditions = json.loads((tmp_path / "out/raw/01-scylla/conditions.json").read_text())
    assert conditions["differences"] == []
    assert {"shards per node: 1", "cores are shared with other processes (--overprovisioned)"} <= {*conditions["notes"]}
    assert "Unknown option" not in (tmp_path / "out/raw/01-scylla/server/localhost/log").read_text()
    (server,) = trial["servers"]
    assert None not in server["figures"].values(), server
