"""Tests faults of a server on this machine: the cost of a restart is a result, and all faults are undone."""

import json
import signal
import time
from pathlib import Path

from dohyo.places import LOCAL_HOME
from e2e.runs import Run, options

RESTART = ["restart", "--systems=mysql-innodb", "--details", "--records=2000", "--set=target=200"]


def test_what_a_restart_costs_and_that_no_acknowledged_write_is_lost(tmp_path: Path) -> None:
    faults = "--set=faults=kill(any)@2s, start(any)@4s, stop(any)@9s"
    run = Run(tmp_path / "out", *RESTART, *options(duration=12, target=None), faults)
    assert run.end() == 0
    trial = run.trials()["mysql-innodb"]
    assert (trial["status"], trial["reason"]) == ("ok", None)
    assert not any("under faults" in note for note in trial["notes"])  # the test itself stopped the server
    (entry,) = trial["faults"]
    kill, stop = entry["faults"]
    assert 2 <= kill["at"] < 3
    assert 4 <= kill["until"] < 5
    assert kill["zero_seconds"] >= 1
    # The end of the loss in throughput is known only to the second. The server may respond in the second of its start.
    least = int(kill["until"]) - kill["at"]
    assert kill["recovery_seconds"] is None or kill["recovery_seconds"] >= least - 0.001
    assert 9 <= stop["at"] < 10
    assert stop["until"] >= 12  # the server is started again after the window
    assert entry["ready_seconds"] >= 12
    assert 0 < entry["before_ops_per_second"] < 220
    assert entry["errors"]
    accounting = entry["accounting"]
    assert accounting["read_back"]
    assert accounting["acknowledged"] > 0
    assert [accounting[count] for count in ("lost", "missing", "corrupt", "unwritten", "unreadable")] == [0] * 5
    assert "kill(any)" in run.text
    assert "0 lost of" in run.text
    evidence = json.loads((tmp_path / "out/raw/01-mysql-innodb/run-1/faults.json").read_text())
    assert [event["kind"] for event in evidence["events"]] == ["kill", "start", "stop"]
    assert [event["kind"] for event in evidence["undone"]] == ["start"]


def test_ctrl_c_in_a_fault_leaves_no_server_paused(tmp_path: Path) -> None:
    run = Run(tmp_path / "out", *RESTART, *options(duration=60, target=None), "--set=faults=pause(any)@1s")
    run.until("run", "01-mysql-innodb")
    deadline = time.monotonic() + 60
    while not any('"pause"' in file.read_text() for file in LOCAL_HOME.glob("run/fault-*/done.jsonl")):
        assert run.is_running()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    run.signal(signal.SIGINT)
    assert run.end() == 130
    assert not list(LOCAL_HOME.glob("run/fault-*"))
