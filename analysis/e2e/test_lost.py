"""Tests that runs end cleanly even if they lose their process, their disk or the reader of their output."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dohyo.places import LOCAL_HOME, ROOT
from e2e.runs import LONG, SMALL, Run, find_processes, listen, mix, options, shorten


def playbooks() -> list[int]:
    """Returns the pids of Ansible's processes that a killed run of this checkout may have left."""
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            events = b"DOHYO_EVENTS=" in (process / "environ").read_bytes()
        except OSError:
            continue
        if events and str(ROOT / ".venv/bin/ansible-playbook").encode() in command:
            pids.append(int(process.name))
    return pids


def test_a_run_that_was_ended_in_any_phase_is_resumed_at_once(tmp_path: Path) -> None:
    """Interrupts a later phase in each attempt. The folders of earlier attempts still exist when the next one begins.

    test_hostile_values.py interrupts the start of the servers with SIGTERM.
    """
    arguments = ["workloadA", "--systems=mysql-innodb", "--details", *LONG]
    run = Run(tmp_path / "out", *arguments)
    for phase, number in (("load", signal.SIGKILL), ("run", signal.SIGKILL)):
        run.until(phase, "01-mysql-innodb")
        end(run, number)
        if phase == "run":
            shorten(run.out)
        run = Run(run.out, "--resume", str(run.out))
    run.until("stop", "01-mysql-innodb")
    end(run, signal.SIGHUP)
    run = Run(run.out, "--resume", str(run.out))
    assert run.end() == 0
    assert find_processes() == playbooks() == []
    assert mix(run.trials()["mysql-innodb"]) == {"READ", "UPDATE"}
    attempts = sorted(path.name for path in (run.out / "attempts").iterdir())
    assert attempts == [f"01-mysql-innodb.{number}" for number in range(1, 4)]
    # The trial contains only the evidence of its last attempt.
    trial = run.out / "raw" / "01-mysql-innodb"
    log = (trial / "ansible.log").read_text()
    assert log.count("PLAY [Run one trial]") == log.count("PLAY RECAP") == 1
    assert "was killed" not in log
    events = [json.loads(line) for line in (trial / "events.jsonl").read_text().splitlines()]
    assert [event["phase"] for event in events if event["event"] == "phase"].count("load") == 1
    assert events[-1]["event"] == "end"


def end(run: Run, number: signal.Signals) -> None:
    """Sends a signal to a run. Unless the signal kills the run, checks that it ends cleanly."""
    run.signal(number)
    if number == signal.SIGKILL:
        assert run.end() == -number
        assert json.loads((run.out / "raw/01-mysql-innodb/state.json").read_text())["status"] == "running"
        return
    assert run.end() == 128 + number
    trial = run.trials()["mysql-innodb"]
    assert trial["status"] == "interrupted"
    assert number.name in trial["reason"]
    assert trial["reason"] in " ".join(run.text.split())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[list[str], Path, Path]]:
    """Yields a prefix with which commands see a small disk, the path of the disk for them, and its path for tests."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    with subprocess.Popen(["unshare", "--mount", "sleep", "infinity"]) as keeper:
        try:
            within = ["nsenter", f"--target={keeper.pid}", "--mount"]
            while (Path("/proc") / str(keeper.pid) / "comm").read_text() != "sleep\n":
                pass
            subprocess.run([*within, "mount", "-t", "tmpfs", "-o", "size=220m", "tmpfs", disk], check=True)
            yield within, disk, Path(f"/proc/{keeper.pid}/root{disk}")
        finally:
            keeper.kill()


def fill(file: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        file.write_bytes(bytes(220 * 10**6))


def test_a_full_disk_and_a_reader_that_goes_away(small_disk: tuple[list[str], Path, Path]) -> None:
    within, disk, seen = small_disk
    run = Run(
        seen / "out",
        "workloadA",
        "--systems=mysql-innodb",
        "--details",
        "--records=2000",
        *options(duration=60, target=None),  # as at a low rate nothing has to be written for a while
        "--out",
        str(disk / "out"),
        within=within,
    )
    run.until("run", "01-mysql-innodb")
    fill(seen / "fill")
    assert run.end() == 1
    assert find_processes() == []
    state = json.loads((seen / "out/raw/01-mysql-innodb/state.json").read_text())
    assert state["status"] == "failed"
    assert "No space left on device" in state["reason"]
    assert f"{disk}/out/raw/01-mysql-innodb/" in state["reason"]
    assert "could not be stopped" not in run.text
    # The load was complete, so it is a result.
    assert "Loads before the runs" in run.text
    assert not list(seen.rglob("*.new"))
    (seen / "fill").unlink()

    shorten(seen / "out")
    resume = shlex.join([*within, str(ROOT / "run.sh"), "--resume", str(disk / "out")])
    again = subprocess.run(
        ["bash", "-c", f"{resume} | head -n 1; exit ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, preexec_fn=listen, check=False, timeout=900,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert len(again.stdout.splitlines()) == 1
    assert "1 mysql-innodb" in again.stderr
    assert again.stderr.splitlines()[-1] == f"a page with charts: {disk / 'out/report.html'}"
    assert json.loads((seen / "out/experiment.json").read_text())["status"] == "done"
    assert not (seen / "out/.reserve").exists()


def test_a_port_that_is_lost_after_it_was_chosen_costs_another_attempt(tmp_path: Path) -> None:
    configuration = LOCAL_HOME / "run" / "mysql" / "conf" / "my.cnf"
    began = time.time()
    run = Run(tmp_path / "out", "workloadA", "--systems=mysql-innodb", "--details", *SMALL)
    # Wait for the configuration: the server creates its tables before it opens its port.
    while not configuration.exists() or configuration.stat().st_mtime < began:
        assert run.is_running()
        time.sleep(0.02)
    port = int(re.findall(r"^port\s*=\s*(\d+)", configuration.read_text(), re.MULTILINE)[0])
    with socket.create_server(("127.0.0.1", port)):
        assert run.end() == 0
    assert mix(run.trials()["mysql-innodb"]) == {"READ", "UPDATE"}
    output = " ".join(run.text.split())
    assert f"mysql port {port} was chosen while it was free, but was then taken by" in output
    (used,) = (run.out / "raw").glob("*/server/localhost/conf/my.cnf")
    assert f"port = {port}\n" not in used.read_text()
