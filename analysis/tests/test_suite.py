"""Tests how the test runner handles commands, signals and time limits."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dohyo.places import ROOT
from suite.commands import Commands

ANALYSIS = ROOT / "analysis"


def test_the_output_of_a_command_that_fails_is_shown_whole(tmp_path: Path) -> None:
    run = Commands(tmp_path / "log")
    run("echo", "before")
    with pytest.raises(pytest.fail.Exception, match=r"before\n(line\n){500}\nexit code 3: sh ") as failed:
        run("sh", "-c", "yes line | head -n 500; exit 3")
    assert not failed.value.pytrace


def test_a_command_can_skip_its_test_but_not_hide_a_failure(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"^no root$"):
        Commands(tmp_path / "log")("echo", "skipped: no root")
    with pytest.raises(pytest.fail.Exception):
        Commands(tmp_path / "log")("sh", "-c", "echo skipped: no root; exit 1")


def test_nothing_of_a_command_stays(tmp_path: Path) -> None:
    Commands(tmp_path / "log")("sh", "-c", "sleep 300 & echo $!")
    pid = int((tmp_path / "log").read_text())
    status = Path(f"/proc/{pid}/status")
    assert not status.exists() or "State:\tZ" in status.read_text()


# Loading the plugins that other tests need would take most of pytest's start-up time.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def pytest_on(tmp_path: Path, test: str, **environment: str) -> "subprocess.Popen[str]":
    """Starts pytest on one file in a separate session, as test.sh does."""
    (tmp_path / "test_one.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-p", "suite.plugin", "-rs", "--rootdir", str(tmp_path), str(tmp_path)]
    return subprocess.Popen(
        command, cwd=ANALYSIS, env=os.environ | ALONE | environment, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_and_cleans_up(tmp_path: Path, number: signal.Signals) -> None:
    """The first signal arrives while a command starts, and the second one during the clean-up."""
    test = f"""
import pytest
import subprocess
import time
from pathlib import Path
from suite.commands import Commands

class Popen(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        time.sleep(0.2)

subprocess.Popen = Popen

@pytest.fixture
def servers():
    yield
    Commands(Path("{tmp_path}/down"))("sh", "-c", "echo stopping; sleep 1; echo stopped")

def test_long(servers):
    script = "trap 'sleep 1; echo ended; exit' TERM; echo begun; while :; do sleep 0.1; done"
    Commands(Path("{tmp_path}/log"))("sh", "-c", script)
"""
    process = pytest_on(tmp_path, test)
    for log, text in (("log", "begun\n"), ("down", "stopping\n")):
        deadline = time.monotonic() + 60
        while not (tmp_path / log).exists() or text not in (tmp_path / log).read_text():
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert (tmp_path / "log").read_text().endswith("ended\n")
    assert (tmp_path / "down").read_text() == "stopping\nstopped\n"


@pytest.mark.parametrize(("until", "outcome"), [(-1, "1 skipped"), (3600, "1 passed")])
def test_no_test_begins_late(tmp_path: Path, until: int, outcome: str) -> None:
    process = pytest_on(tmp_path, "def test(): pass", DOHYO_UNTIL=str(int(time.time()) + until))
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert outcome in output
    assert ("too late to begin" in output) == (until < 0)


def test_systems_are_known_by_name() -> None:
    command = [sys.executable, "-m", "pytest", "--co", "-vv", "suite/test_contract.py", "suite/test_cluster.py"]
    environment = os.environ | ALONE
    wrong = subprocess.run(
        [*command, "--system=hbas"], cwd=ANALYSIS, env=environment, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == pytest.ExitCode.USAGE_ERROR
    assert re.search('unknown system "hbas"; there are: .*hbase', wrong.stderr)
    arguments = [*command, "--system=mysql-myisam"]
    cases = subprocess.run(arguments, cwd=ANALYSIS, env=environment, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"test_(contract|cluster)\[(.*)\]", cases) == [("contract", "mysql-myisam"), ("cluster", "mysql")]
