"""Runs ./run.sh SCENARIO --doctor on this machine, with the real client and the real playbook."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dohyo.places import LOCAL_HOME, RESULTS, ROOT
from e2e.runs import find_processes


def doctor(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [str(ROOT / "run.sh"), "workloadA", "--doctor", "--set", "client_heap=64m", *arguments]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=300, check=False)


def test_the_client_is_measured_and_nothing_else_is_touched() -> None:
    before = set(RESULTS.iterdir()) if RESULTS.exists() else set()
    run = LOCAL_HOME / "client" / "run-9"
    run.mkdir(parents=True, exist_ok=True)
    try:
        # The first target can always be reached, the second never.
        results = {target: doctor("--set", f"target={target}") for target in (1, 1_000_000_000)}
        assert run.is_dir()
    finally:
        run.rmdir()
    for target, verdict, code in ((1, "enough", 0), (1_000_000_000, "BOUND BY THE CLIENT", 1)):
        result = results[target]
        assert result.returncode == code, result.stdout + result.stderr
        rows = [re.split(r"  +", line) for line in result.stdout.splitlines() if line.startswith("localhost  run  ")]
        assert len(rows) == 1, result.stdout + result.stderr
        (row,) = rows
        used, processors = row[2].split(" of ")
        assert int(processors) == len(os.sched_getaffinity(0))
        assert 0 < float(used) <= 1.1 * int(processors)
        assert row[3] == row[4] != "0"  # each operation has one record
        assert float(row[5]) > 0
        assert (row[6], row[-1]) == (f"{target:,} (target)", verdict)
    assert not list((LOCAL_HOME / "client").glob("doctor-*"))
    assert set(RESULTS.iterdir()) - before <= {RESULTS / ".lock"}


def test_a_host_that_cannot_be_measured_is_named_and_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "precious").write_text("data")
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {"hosts": {"h1": {**local, "dohyo_home": str(foreign)}}}
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(json.dumps({"all": {"children": {"database": hosts, "client": hosts}}}))
    result = doctor("--inventory", str(inventory))
    assert result.returncode == 1
    assert (
        f"ERROR: the clients could not be measured: task 'Mark the folder of the host' on h1: {foreign}"
        in result.stderr
    )
    assert [path.name for path in foreign.iterdir()] == ["precious"]


def test_an_interruption_leaves_no_client() -> None:
    command = [str(ROOT / "run.sh"), "workloadA", "--doctor", "--set", "client_heap=64m"]
    shutil.rmtree(LOCAL_HOME / "client/doctor-run-1", ignore_errors=True)  # left by an interrupted test
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    # The client creates this file after it has connected.
    ready = LOCAL_HOME / "client/doctor-run-1/localhost/ready"
    wait_until(ready.exists)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "the clients end by themselves" in errors
    wait_until(lambda: not clients() and not find_processes())


def clients() -> list[str]:
    """Returns the command lines of the clients that `--doctor` of this checkout started."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            lines.append(file.read_bytes().decode(errors="replace"))
    return [line for line in lines if f"{LOCAL_HOME}/client/doctor-" in line or f"{LOCAL_HOME}/bundle/client/" in line]


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits up to two minutes for the condition to hold."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)
