"""Runs ./run.sh with interleave=on: the servers of two systems are up at the same time, and their windows alternate."""

import json
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

from e2e.runs import Run, options

ASKED = ["workloadA", "--systems=mysql-innodb,postgresql", "--records=2000", "--set=interleave=on", "--set=repeats=2"]


def read(file: Path) -> Any:
    return json.loads(file.read_text())


def trials_of(run: Run) -> list[dict[str, Any]]:
    trials: list[dict[str, Any]] = read(run.out / "summary.json")["trials"]
    return trials


def test_windows_of_two_systems_take_turns_and_an_interrupted_start_is_repeated(tmp_path: Path) -> None:
    run = Run(tmp_path / "out", *ASKED, *options(rounds=2))
    first, second = "01-mysql-innodb", "02-postgresql"
    run.until("run", second)
    assert (run.out / "raw" / first / "run-1").is_dir(), "both are up"
    run.signal(signal.SIGINT)
    assert run.end() == 130
    assert [trial["status"] for trial in trials_of(run)] == ["interrupted"] * 4
    run = Run(run.out, "--resume", str(run.out))
    assert run.end() == 0
    trials = trials_of(run)
    assert [trial["status"] for trial in trials] == ["ok"] * 4
    assert [trial["conditions"]["interleaved"] for trial in trials] == [2] * 4
    windows = {}
    for name in (first, second):
        for number in (1, 2):
            folder = run.out / "raw" / name / f"run-{number}"
            client = read(folder / "localhost/client.json")
            assert client["operations"] > 0
            begin = client["agreed_start_ms"] + 1000 * client["warmup_seconds"]
            windows[name, number] = begin, begin + 1000 * client["measured_seconds"]
        paused, ended = (run.out / "raw" / name / f"run-{number}/localhost/paused" for number in (1, 2))
        assert paused.exists()
        assert not ended.exists()
    in_time = sorted(windows.values())
    assert all(end <= begin for (_, end), (begin, _) in pairwise(in_time))
    assert max(windows[name, 1][1] for name in (first, second)) <= min(windows[name, 2][0] for name in (first, second))
