"""What the benchmarks that hold our client beside another one share, on clients that print what a test wants."""

import argparse
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dohyo.places import ROOT

ARGUMENTS = argparse.Namespace(pairs=3, warmup=0.1, window=0.3)
# A line after each 30 ms of work, of a second later and with as many more operations as the argument says.
STEADY = """
import sys, time
with open("order", "a") as order: order.write(sys.argv[1])
for second in range(1000):
    print(f"allocated {int(sys.argv[2]) * 10 * second} bytes by {second * 1000} ms")
    print(f"2026-11-24 01:{second // 60:02}:{second % 60:02}:000 {second} sec: {int(sys.argv[2]) * second} operations; "
        + (sys.argv[3] if second == 20 else "") , flush=True)
    until = time.process_time() + 0.03
    while time.process_time() < until: pass
"""


@pytest.fixture(name="shared", scope="module")
def _shared() -> ModuleType:
    spec = importlib.util.spec_from_file_location("side_by_side", ROOT / "benchmarks/side_by_side.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["side_by_side"] = module
    spec.loader.exec_module(module)
    return module


def client(shared: ModuleType, name: str, rate: int, event: str = "", program: str = STEADY) -> object:
    return shared.Client([sys.executable, "-c", program, name, str(rate), event], shared.OPERATIONS, shared.FAILURE)


def test_rates_follow_the_times_that_the_lines_name(shared: ModuleType, tmp_path: Path) -> None:
    measured = shared.run(client(shared, "A", 70), str(tmp_path), ARGUMENTS)
    assert measured.rate == pytest.approx(70)
    assert measured.allocated == pytest.approx(10)


@pytest.mark.parametrize(
    "event", ["[READ-FAILED: Count=1, Max=3]", "[UPDATE-NOT_FOUND: Count=12]", "\\nERROR: no table", "\\nDBException"]
)
def test_failed_operations_end_it(shared: ModuleType, tmp_path: Path, event: str) -> None:
    arguments = argparse.Namespace(warmup=0, window=3600)
    with pytest.raises(SystemExit, match="had errors"):
        shared.run(client(shared, "A", 70, event.replace("\\n", "\n")), str(tmp_path), arguments)


def test_a_client_that_ends_early_is_no_result(shared: ModuleType, tmp_path: Path) -> None:
    early = client(shared, "A", 70, program=STEADY.replace("1000)", "5)"))
    with pytest.raises(SystemExit, match="ended before its window"):
        shared.run(early, str(tmp_path), argparse.Namespace(warmup=0, window=3600))
    stuck = client(shared, "A", 70, program=STEADY.replace("int(sys.argv[2]) * second} op", "min(second, 1)} op"))
    with pytest.raises(SystemExit, match="no record"):
        shared.run(stuck, str(tmp_path), ARGUMENTS)


def test_a_thread_without_two_lines_in_the_window_is_no_result(shared: ModuleType, tmp_path: Path) -> None:
    """What it has done before its first line, or after its last, nobody knows: the rate would be too low."""
    program = STEADY.replace("{second} sec", "t{second if second > 4 and second % 2 else 0} Cycle=1 {second} sec")
    lines = r"(?P<by>t\d+) Cycle=1"
    threads = [
        shared.Client([sys.executable, "-c", program, "A", "70", ""], lines, shared.FAILURE, threads=count)
        for count in (1, 2)
    ]
    assert shared.run(threads[0], str(tmp_path), ARGUMENTS).rate > 0
    with pytest.raises(SystemExit, match="use a longer --window"):
        shared.run(threads[1], str(tmp_path), ARGUMENTS)


def test_sides_take_turns_and_missed_aims_are_printed(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shared, "ROOT", tmp_path)  # where no server runs
    sides = client(shared, "A", 100), client(shared, "B", 200)
    assert shared.compare("a cell", *sides, shared.Aims(3, allocated=1), ARGUMENTS, str(tmp_path))
    assert (tmp_path / "order").read_text() == "ABBAAB"
    columns = capsys.readouterr().out.split("|")
    assert [column.strip() for column in columns[1:6]] == [
        "a cell",
        "200",
        "100",
        "**2.00** [2.00, 2.00]",
        "3 **missed**",
    ]
    assert columns[9].strip() == "–"
    assert [column.strip() for column in columns[11:15]] == ["10", "10", "**1.00** [1.00, 1.00]", "1"]
    assert re.fullmatch(r"[\d.]+", columns[6].strip())


def test_a_side_that_cannot_be_measured_has_no_figures(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shared, "ROOT", tmp_path)
    monkeypatch.setattr(shared, "PATIENCE", 0)
    silent = client(shared, "A", 100, program="import time; time.sleep(3600)")
    arguments = argparse.Namespace(pairs=3, warmup=0, window=1)
    with pytest.raises(shared.NotMeasured):
        shared.run(silent, str(tmp_path), arguments)
    failing = client(shared, "B", 100, "\nDBException")
    assert not shared.compare("a cell", silent, failing, shared.Aims(3), arguments, str(tmp_path))
    columns = [column.strip() for column in capsys.readouterr().out.split("|")]
    assert columns[2:10] == ["–", "–", "not measured", "3", "–", "–", "not measured", "–"]


def test_the_faster_load_is_that_of_a_peer_without_batches(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "ROOT", tmp_path)
    cell = shared.Cell("mysql-innodb", 1, "read", shared.BATCHES)
    for rates, best in (({8: 5, 128: 9}, "128 in flight"), ({8: 9, 128: 5}, "8 × 1")):
        found, of = shared.without_batches(
            cell, lambda each, rates=rates: client(shared, "A", rates[each.load.requests]), ARGUMENTS, str(tmp_path)
        )
        assert found == best
        assert of.command[4] == "9"
