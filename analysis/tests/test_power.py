"""Tests switching hosts off and on with the user's commands, which run as real processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conducting import power
from conducting.power import Switch, run
from dohyo.places import ANSIBLE
from support.running_processes import until


def ended(switch: Switch) -> list[tuple[bool, float, float, str | None]]:
    """Waits up to 20 s until at least one command has ended. Returns all commands that have ended."""
    return until(lambda: list(switch.ended()))


def start_switch(tmp_path: Path, off: str, on: str) -> Switch:
    write = f"cd {tmp_path}\n"
    return Switch(["sh", "-c", write + off], ["sh", "-c", write + on], time.time)


def test_one_command_follows_the_other(tmp_path: Path) -> None:
    switch = start_switch(tmp_path, "sleep 0.3; echo off >>said", "echo on >>said")
    before = time.time()
    switch.turn(False)
    switch.turn(True)
    commands = ended(switch)
    while len(commands) < 2:
        commands += ended(switch)
    assert [(on, error) for on, _, _, error in commands] == [(False, None), (True, None)]
    assert before <= commands[0][1] <= commands[0][2] - 0.3
    assert (tmp_path / "said").read_text() == "off\non\n"
    assert switch.restore() is None
    assert (tmp_path / "said").read_text() == "off\non\n"


@pytest.mark.parametrize("waits", [True, False])
def test_a_host_that_is_off_is_on_at_the_end(tmp_path: Path, waits: bool) -> None:
    switch = start_switch(tmp_path, "sleep 0.3; echo off >>said", "echo on >>said")
    switch.turn(False)
    if waits:
        ended(switch)
    assert switch.restore() is None
    assert (tmp_path / "said").read_text() == "off\non\n"


def test_a_host_is_switched_on_when_its_controller_is_killed(tmp_path: Path) -> None:
    off, on = (
        [sys.executable, "-c", f"open({str(tmp_path / 'said')!r}, 'a').write('{word} ')"] for word in ("off", "on")
    )
    program = (
        "import time\nfrom conducting.power import Switch\n"
        f"switch = Switch({off!r}, {on!r}, time.time)\nswitch.turn(False)\nprint(flush=True)\ntime.sleep(60)"
    )
    command, environment = [sys.executable, "-c", program], {**os.environ, "PYTHONPATH": str(ANSIBLE / "plugins")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as controller:
        assert controller.stdout is not None
        controller.stdout.readline()
        controller.kill()
    until(lambda: (tmp_path / "said").exists() and (tmp_path / "said").read_text() == "off on ")


def test_a_command_that_leaves_something_running_has_ended(tmp_path: Path) -> None:
    switch = start_switch(tmp_path, "sleep 20 & true", "sleep 20 & echo on >>said")
    switch.turn(False)
    assert [error for *_, error in ended(switch)] == [None]
    before = time.monotonic()
    assert switch.restore() is None
    assert time.monotonic() - before < 10


def test_a_host_is_switched_on_though_the_program_was_killed(tmp_path: Path) -> None:
    switch = start_switch(tmp_path, "echo off >>said", "echo on >>said")
    switch.turn(False)
    ended(switch)
    switch._process.kill()
    assert switch.restore() is None
    assert (tmp_path / "said").read_text() == "off\non\n"


def test_why_a_command_fails_is_its_last_line(tmp_path: Path) -> None:
    switch = start_switch(tmp_path, "echo first; echo no such host >&2; echo; exit 3", "true")
    switch.turn(False)
    [(_, _, _, error)] = ended(switch)
    assert error == "dohyo_power_off ended with exit code 3: no such host"
    assert switch.restore() is None
    assert run("dohyo_power_on", ["false"]) == "dohyo_power_on ended with exit code 1: without output"
    assert (
        run("dohyo_power_on", ["/nowhere/ipmitool"]) == "dohyo_power_on: /nowhere/ipmitool: No such file or directory"
    )
    long = run("dohyo_power_on", ["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; exit 1"])
    assert len(long) < 400


def test_what_fails_to_switch_a_host_on_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "AGAIN_SECONDS", 0.01)
    busy = f"cd {tmp_path} && echo try >>tries && [ $(wc -l <tries) = 3 ]"
    assert power.switched_on(["sh", "-c", busy]) is None
    monkeypatch.setattr(power, "COMMAND_SECONDS", 1)
    assert power.switched_on(["false"]) == "dohyo_power_on ended with exit code 1: without output"
    assert run("dohyo_power_off", ["sleep", "9"]) == "dohyo_power_off did not end within 1 s"
