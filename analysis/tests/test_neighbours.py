"""Tests the check for other busy processes on this machine that precedes the first trial. Uses real processes."""

import os
import re
import subprocess
import sys

import pytest

from dohyo.bad_input import BadInputError
from dohyo.evidence.host_metrics import Taken
from dohyo.running import neighbours
from dohyo.scenario import loading

BUSY = "while True: pass"
Look = tuple[Taken, list[str]]
Looked = tuple[list[int], Look, Look]


@pytest.fixture(scope="module")
def looked() -> Looked:
    """Looks twice while one process per processor is busy. The second list contains all processes.

    The first list may lack some of these processes if others are busier, although root gives these a high priority.
    Each of these processes is in its own session, so that Dohyo does not consider it its own.

    :returns: the pids of the busy processes, and the results
    """
    script = f"import os, sys\nif os.fork(): sys.exit()\nprint(os.getpid(), flush=True)\n{BUSY}"
    if os.geteuid() == 0:
        script = f"import os\nos.nice(-10)\n{script}"
    pids = []
    try:
        for _ in range(os.cpu_count() or 1):
            with subprocess.Popen(
                [sys.executable, "-c", script], start_new_session=True, stdout=subprocess.PIPE, text=True
            ) as parent:
                assert parent.stdout is not None
                pids.append(int(parent.stdout.readline()))
        few = neighbours.look()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(neighbours, "_MOST_NAMED", 10_000)
            patch.setattr(neighbours, "_NAMED", 0.0)
            return pids, few, neighbours.look()
    finally:
        for pid in pids:
            os.kill(pid, 9)


def test_what_others_use_is_known_by_process(looked: Looked) -> None:
    pids, (usage, few), (_, every) = looked
    assert usage.other is not None
    # The limit is low because other programs may compete with these processes for the processors.
    assert usage.other > 0.3
    assert usage.stolen is not None
    assert 1 <= len(few) <= 3
    assert all(5 <= int(line.rpartition(" ")[2].removesuffix("%")) <= 100 for line in few)
    assert set(map(str, pids)) <= {pid for line in every for pid in re.findall(r"\(process ([0-9]+) of ", line)}


@pytest.mark.parametrize("settings", [{"max.other.cpu": "10%"}, {"strict_conditions": "true"}])
def test_a_busy_machine_is_said_with_the_processes_and_the_way_out(
    settings: dict[str, str], looked: Looked, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pids, _, every = looked
    monkeypatch.setattr(neighbours, "look", lambda: every)
    neighbours.agree(loading.load(loading.find("workloadA"), settings), agreed=False)
    output = capfd.readouterr().err
    assert "other processes used " in output
    assert all(f"(process {pid} of " in output for pid in pids)
    assert "end these programs, or set max.other.cpu=50%" in output


def test_on_a_terminal_the_answer_may_be_no(looked: Looked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "look", lambda: looked[1])
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
