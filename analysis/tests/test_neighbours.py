"""Tests the check for other busy processes on this machine that precedes the first trial. Uses real processes."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from dohyo.bad_input import BadInputError
from dohyo.running import neighbours
from dohyo.scenario import loading

BUSY = "while True: pass"


@pytest.fixture
def busy() -> Iterator[list[int]]:
    """Starts one busy process per processor, each in its own session, so that Dohyo does not consider them its own.

    Root gives them a high priority, because only the busiest processes are named.
    """
    script = f"import os, sys\nif os.fork(): sys.exit()\nprint(os.getpid(), flush=True)\n{BUSY}"
    if os.geteuid() == 0:
        script = f"import os\nos.nice(-10)\n{script}"
    started = []
    for _ in range(os.cpu_count() or 1):
        with subprocess.Popen(
            [sys.executable, "-c", script], start_new_session=True, stdout=subprocess.PIPE, text=True
        ) as parent:
            assert parent.stdout is not None
            started.append(int(parent.stdout.readline()))
    yield started
    for pid in started:
        os.kill(pid, 9)


@pytest.fixture
def all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the limits on the list of processes, because other processes may be busier than those of the test."""
    monkeypatch.setattr(neighbours, "_MOST_NAMED", 10_000)
    monkeypatch.setattr(neighbours, "_NAMED", 0.0)


def test_what_others_use_is_known_by_process(busy: list[int]) -> None:
    usage, named = neighbours.look()
    assert usage.other is not None
    # The limit is low because other programs may compete with these processes for the processors.
    assert usage.other > 0.3
    assert usage.stolen is not None
    assert 1 <= len(named) <= 3
    assert all(0.05 <= process.share <= 1 for process in named)


@pytest.mark.usefixtures("all_named")
def test_the_processes_that_are_busy_are_named(busy: list[int]) -> None:
    _, named = neighbours.look()
    assert set(busy) <= {process.pid for process in named}


@pytest.mark.usefixtures("all_named")
@pytest.mark.parametrize("settings", [{"max.other.cpu": "10%"}, {"strict_conditions": "true"}])
def test_a_busy_machine_is_said_with_the_processes_and_the_way_out(
    settings: dict[str, str], busy: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    neighbours.agree(loading.load(loading.find("workloadA"), settings), agreed=False)
    output = capfd.readouterr().err
    assert "other processes used " in output
    assert any(f"(process {pid} of " in output for pid in busy)
    assert "end these programs, or set max.other.cpu=50%" in output


def test_on_a_terminal_the_answer_may_be_no(busy: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert busy
    scenario = loading.load(loading.find("workloadA"), {"max.other.cpu": "10%"})
    terminal, stdin = os.openpty()
    with open(stdin, encoding="utf-8") as answers:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", answers)
        os.write(terminal, b"n\ny\n")
        with pytest.raises(BadInputError, match="nothing was started; end these programs"):
            neighbours.agree(scenario, agreed=False)
        neighbours.agree(scenario, agreed=False)
        # No input is left, so a question would fail; with --yes, none is asked.
        neighbours.agree(scenario, agreed=True)
    os.close(terminal)


def test_without_a_limit_other_processes_are_not_measured(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(neighbours, "look")
    neighbours.agree(loading.load(loading.find("workloadA"), {"max.other.cpu": "100%"}), agreed=False)
    assert capfd.readouterr() == ("", "")
