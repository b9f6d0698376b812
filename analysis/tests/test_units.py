"""Tests processes that run as systemd units. A script replaces systemctl: it records its arguments and runs `sleep`."""

import os
import subprocess
from pathlib import Path

import pytest

import processes
import units

# Replacement for systemctl. It writes its arguments to $STATE/told, and the pid of the unit's process to $STATE/pid.
SYSTEMCTL = """#!/bin/bash
[[ ! -e $STATE/silent ]] || { echo "Failed to get properties: Connection timed out" >&2; exit 1; }
pid=$(cat "$STATE/pid" 2> /dev/null)
running() { [[ -n $pid && $(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2> /dev/null) == [^Z]* ]]; }
case "$1 $3" in
    "show MainPID") running && echo "$pid" || echo 0 ;;
    "show ExecMainCode") echo 2 ;;
    "show ExecMainStatus") echo 9 ;;
    "show InvocationID") echo 4711 ;;
    start*) sleep 300 > /dev/null 2>&1 & echo $! > "$STATE/pid" ;;
esac
[[ $1 == show ]] || echo "$*" >> "$STATE/told"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (program := tmp_path / "systemctl").write_text(SYSTEMCTL)
    program.chmod(0o755)
    (tmp_path / "units").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(tmp_path))
    monkeypatch.setattr(units, "UNITS", str(tmp_path / "units"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def test_a_unit_is_started_watched_stopped_started_again_and_removed(home: Path) -> None:
    supervisor = processes.Processes(str(home))
    err, unit = home / "log", home / "units/dohyo-1-db.service"
    err.write_text("up\n")
    supervisor.unit("db").start(str(err), unit.name, "[Unit]\n", ("dohyo-1.slice", "MemoryMax=9M"))
    secret = (home / "run/secret").read_text().strip()
    user = units.owner()
    assert unit.read_text() == f"[Unit]\n\n[Service]\nEnvironment=DOHYO_SERVICE={secret}:db\nUser={user}\n"
    pid = int((home / "pid").read_text())
    assert (home / "run/db/unit").read_text() == f"{unit.name} 4711\n"
    assert (home / "run/db/pid").read_text().split()[0] == str(pid)
    assert (home / "run/slice").read_text() == "dohyo-1.slice\nMemoryMax=9M\n"
    assert supervisor.status("db") == (f"db is running as process {pid}", 0)
    with pytest.raises(processes.AgentError, match="is already running as process"):
        supervisor.unit("db").start(str(err), unit.name, "", ())
    assert supervisor.stop("db", 60) == "stopped db"
    assert supervisor.status("db") == ("db ended with exit code 137 (signal KILL): up", 3)
    supervisor.again("db")
    assert (home / "log.1").exists()
    assert int((home / "pid").read_text()) != pid
    assert not (home / "run/db/exit").exists()
    assert list(supervisor.stop_all(0)) == ["stopped db"]
    assert units.files(supervisor) == [str(unit)]
    units.remove(supervisor)
    assert not unit.exists()
    assert (home / "told").read_text().splitlines() == [
        "daemon-reload",
        "set-property --runtime -- dohyo-1.slice MemoryMax=9M",
        f"start -- {unit.name}",
        "set-property --runtime -- dohyo-1.slice MemoryMax=9M",
        f"start -- {unit.name}",
        "revert -- dohyo-1.slice",
    ]


def test_a_unit_of_somebody_else_stays_as_it_is(home: Path) -> None:
    supervisor = processes.Processes(str(home))
    unit = home / "units/dohyo-1-db.service"
    unit.write_text("[Unit]\n")
    with pytest.raises(processes.AgentError, match=r"was not written by .*; remove or rename it"):
        supervisor.unit("db").start(str(home / "log"), unit.name, "", ())
    assert unit.read_text() == "[Unit]\n"
    assert units.files(supervisor) == []


def test_a_unit_is_found_even_if_the_agent_was_killed_while_it_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    supervisor = processes.Processes(str(home))
    (home / "log").touch()
    with monkeypatch.context() as dying:
        dying.setattr(processes.Processes, "link_log", killed)
        with pytest.raises(KeyboardInterrupt):
            supervisor.unit("db").start(str(home / "log"), "dohyo-1-db.service", "[Unit]\n", ())
    assert list(supervisor.stop_all(0)) == ["stopped db"]


def test_a_unit_does_not_count_as_stopped_while_systemd_does_not_answer(home: Path) -> None:
    supervisor = processes.Processes(str(home))
    (home / "log").touch()
    (home / "run/older").mkdir(parents=True)
    (home / "run/older/lock").touch()
    variable, _, value = supervisor.mark("older").partition("=")
    with subprocess.Popen(["sleep", "300"], env={**os.environ, variable: value}) as older:
        supervisor.unit("db").start(str(home / "log"), "dohyo-1-db.service", "[Unit]\n", ())
        (home / "silent").touch()
        with pytest.raises(processes.AgentError, match=r"does not say whether dohyo-1-db\.service runs: Failed"):
            list(supervisor.stop_all(0))
        assert older.wait(5) == -9, "the failure of one process keeps no other one running"
    (home / "silent").unlink()
    assert supervisor.status("db")[1] == processes.RUNS
    assert list(supervisor.stop_all(0)) == ["stopped db"]


def test_units_require_root(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    supervisor = processes.Processes(str(home))
    with pytest.raises(processes.AgentError, match="needs root"):
        supervisor.unit("db").start(str(home / "log"), "dohyo-1-db.service", "", ())
    assert list((home / "units").iterdir()) == []
