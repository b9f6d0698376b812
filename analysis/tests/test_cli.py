"""Tests run.sh and dohyo with commands that start nothing: help, lists, and every kind of bad input.

Most tests call the commands in this process, outside the checkout. Two tests run the scripts.
"""

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dohyo.ansible import availability
from dohyo.cli import main
from dohyo.places import RESULTS, ROOT
from dohyo.systems import catalogue
from support.command import dohyo, without_rights


@pytest.fixture(autouse=True)
def _as_a_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs each test outside the checkout, and restores the signal handlers."""
    monkeypatch.chdir("/")
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def script(*command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script from the checkout."""
    return subprocess.run([ROOT / command[0], *command[1:]], capture_output=True, text=True, timeout=60, check=False)


def experiments() -> set[str]:
    return set(os.listdir(RESULTS)) - {".lock"} if RESULTS.exists() else set()  # noqa: PTH208


def test_output_that_has_no_room_is_named() -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [ROOT / ".venv/bin/dohyo", "properties"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (result.returncode, result.stderr) == (1, "ERROR: the output cannot be written: No space left on device\n")


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    for option in ("--list", "--systems", "--inventory", "--set", "--repeats", "--duration", "--records", "--keep",
                   "--strict-conditions", "--resume", "--out", "--scale", "--plan", "--doctor"):  # fmt: skip
        assert option in shown


@pytest.mark.slow
def test_list_shows_scenarios_and_systems_and_how_to_get_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--list"]) == 0
    shown = capsys.readouterr().out
    assert "workloadA  " in shown
    assert "half reads, half updates" in shown
    assert "Apache Cassandra: " in shown
    assert "Apache HBase: " in shown
    lines = shown.splitlines()
    reasons = availability.ask(None)
    assert list(reasons) == list(catalogue.all_systems())
    for name, reason in reasons.items():
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert line.endswith(f"skipped: {reason.partition(';')[0]}") == bool(reason)
        assert not reason or ";" in reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "no scenario given; "),
        (["--sytems", "hbase"], "--systems"),
        (["worklodA"], "did you mean workloadA?"),
        (["list"], f"unknown scenario 'list': did you mean {ROOT}/run.sh --list?"),
        (["report"], f"did you mean {ROOT}/dohyo report?"),
        (["/no/such/file"], "the property file /no/such/file does not exist"),
        (["workloadA", "extra"], "extra"),
        (["workloadA", "--systems", "hbas"], "did you mean hbase?"),
        (["workloadA", "--set", "mysql_engine=MyISAM"], "it distinguishes mysql-innodb, mysql-myisam"),
        (["workloadA", "--repeats", "two"], "repeats=two: must be a whole number from 1"),
        (["workloadA", "--duration", "1 minute"], "duration=1 minute: must be a time from 0 to"),
        (["workloadA", "--records", "lots"], "recordcount=lots: must be a whole number from 1"),
        (["workloadA", "--systems", "mysql-innodb", "--records", "5000G"], "no room for the databases"),
        (["workloadA", "--systems", "mysql-innodb", "--records", "5000G", "--plan"], "records (datasize="),
        (["workloadA", "--set", "replication=3", "--plan"], "replication=3: only 1 database host;"),
        (["workloadA", "--set", "matrix.replication=1,3"], "replication=3: only 1 database host;"),
        (["workloadA", "--scale", "2"], "scale=2: must be a number from"),
        (["workloadA", "--records", "5", "--set", "datasize=1GB"], "recordcount=5 and datasize=1GB both determine"),
        (["workloadA", "--set", "host_count=4"], "host_count=4: this machine has 1 database host"),
        (
            ["workloadA", "--inventory", str(ROOT / "ansible/inventories/i3en"), "--plan", "--set", "host_count=5"],
            "has 4 database host",
        ),
        (["workloadA", "--records", "5", "--set", "recordcount=6"], "recordcount is given twice"),
        (["workloadA", "--inventory", "/no/such/inventory"], "the inventory /no/such/inventory does not exist"),
        (["workloadA", "--inventory", str(ROOT / "run.sh")], "Ansible cannot read the inventory"),
        (["workloadA", "--out", "/proc/here"], "cannot write to /proc/here"),
        (["workloadA", "--out", str(ROOT)], "is not empty"),
        (["--resume", "no-such-experiment"], "unknown experiment 'no-such-experiment'"),
        (["--resume", "x", "--plan"], "leave out --plan"),
        (["--resume", "x", "--records", "5"], "leave out --records"),
        (["--resume", "x", "--doctor"], "leave out --doctor"),
        (["workloadA", "--plan", "--doctor"], "give only one of them"),
        (["workloadA", "--attach", "scylla=a", "--systems", "hbase"], "is not among --systems hbase; add it there"),
    ],
)
def test_bad_input_ends_with_2_and_starts_nothing(arguments: list[str], expected: str, tmp_path: Path) -> None:
    before = experiments()
    answer = dohyo("run", *arguments, results=tmp_path)
    assert answer.code == 2, answer.err
    assert expected in answer.err
    assert {path.name for path in tmp_path.iterdir()} <= {".lock"}
    assert experiments() == before


def test_a_script_passes_on_arguments_and_exit_code() -> None:
    done = script("run.sh", "workloadA", "--set", "target=1 000 *")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ERROR: command line: target=1 000 *: must be a number from 0")


def test_the_version_is_asked_for_in_both_ways() -> None:
    for name in ("run.sh", "dohyo"):
        done = script(name, "--version")
        # Another test may be setting up the checkout.
        message = done.stderr.replace("setup: waiting for another setup of this checkout\n", "")
        assert (done.returncode, message) == (0, "")
        assert re.fullmatch(r"dohyo [0-9.]+, commit \S.*\n", done.stdout)


def test_a_folder_that_may_not_be_looked_into_is_bad_input() -> None:
    with tempfile.TemporaryDirectory() as name:
        (closed := Path(name) / "closed").mkdir(0)
        done = without_rights("run", "workloadA", "--systems", "mysql-innodb", "--out", str(closed / "below"))
    assert (done.code, done.out) == (2, "")
    assert f"cannot write to {closed}/below: Permission denied; use another folder with --out DIR" in done.err


def test_a_program_that_prints_no_text_is_asked_all_the_same(tmp_path: Path) -> None:
    (program := tmp_path / "asd").write_text("#!/bin/sh\nprintf 'Aerospike \\377 Edition build 8.1'\n")
    program.chmod(0o755)
    assert availability.ask(None, {"aerospike_asd": str(program)})["aerospike"] == ""


def test_a_plan_counts_what_a_run_here_would_measure(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = availability.ask(None)
    named = [name for name, system in catalogue.all_systems().items() if not system.by_name]
    runnable = [name for name in named if not reasons[name]]
    assert main(["run", "workloadA", "--plan"]) == 0
    shown = capsys.readouterr().out
    assert f"{len(runnable) * 3} trials: {', '.join(runnable)}, in each of 3 rounds" in shown
    skipped = [name for name in named if reasons[name]]
    line = f"skipped on this machine: {', '.join(skipped)} (reasons: {ROOT}/run.sh --list)"
    assert (line in shown) == bool(skipped)
    # These hosts do not exist, so the command line must state their sizes.
    hosts = ("--set=host_count=2", "--set=host_memory=64g", "--set=host_disk=1TB")
    assert main(["run", "workloadA", "--plan", *hosts]) == 0
    shown = capsys.readouterr().out
    assert f"{len(named) * 3} trials: {', '.join(named)}, in each of 3 rounds" in shown


def test_a_plan_shows_what_would_be_measured_and_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = experiments()
    hosts = ("--set", "host_memory=192g", "--set", "host_disk=15TB", "--set", "host_count=4")
    size = ("--set", "datasize=0.1*ram", "--scale", "0.5")
    assert main(["run", "workloadA", "--plan", "--systems", "hbase,cassandra", *size, *hosts]) == 0
    shown = capsys.readouterr().out
    records = 192 * 2**30 * 4 // 10 // 1000
    assert "; nothing is started\n4 database hosts, each 206.2 GB of memory, 15 TB of disk\n" in shown
    assert f"{records // 2:,} records × 1,000 B" in shown
    assert f"scale 0.5 of {records:,} records" in shown
    lines = shown.splitlines()
    order = [line.split()[0] for line in lines if line.startswith("0")]
    assert order == ["01-hbase", "02-cassandra"]
    assert "6 trials: hbase, cassandra, in each of 3 rounds" in lines
    assert "each: start, load, settle, 800,000 updates, 1 × (at most 60 s warm-up + 20 s), stop" in lines
    assert " in all" in shown
    assert "an estimate from" in shown
    assert experiments() == before


@pytest.mark.parametrize("name", ["setup.sh", "test.sh"])
def test_unknown_steps_end_with_2(name: str) -> None:
    result = script(name, "everything")
    assert result.returncode == 2
    assert "everything" in result.stderr


def test_a_second_setup_does_nothing() -> None:
    result = script("setup.sh", "python")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_tabulate_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing")
    assert main(["tabulate", missing]) == 2
    assert missing in capsys.readouterr().err
