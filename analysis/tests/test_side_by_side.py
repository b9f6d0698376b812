"""Tests the common part of the benchmarks that compare Dohyo's client with another, using clients with known output."""

import argparse
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from support.checkout import benchmark

ARGUMENTS = argparse.Namespace(pairs=4, settle=60, warmup=0.1, window=0.3)
# Program that prints, every 30 ms, the line that a client at the rate `argv[2]` prints every second.
STEADY = """
import sys, time
with open("order", "a") as order: order.write(sys.argv[1])
for second in range(1000):
    print(f"allocated {int(sys.argv[2]) * 10 * second} bytes by {second * 1000} ms")
    print(f"2026-11-24 01:{second // 60:02}:{second % 60:02}:000 {second} sec: {int(sys.argv[2]) * second} operations; "
        + (sys.argv[3] if second == 2 else "") , flush=True)
    until = time.process_time() + 0.03
    while time.process_time() < until: pass
"""


@pytest.fixture(name="shared", scope="module")
def _shared() -> ModuleType:
    return benchmark("side_by_side")


@pytest.fixture(name="native", scope="module")
def _native(shared: ModuleType) -> ModuleType:
    return benchmark("versus_native")


@pytest.fixture(name="versus_stock", scope="module")
def _versus_stock(shared: ModuleType) -> ModuleType:
    return benchmark("versus_stock")


def client(shared: ModuleType, name: str, rate: int, event: str = "", program: str = STEADY) -> object:
    return shared.Client([sys.executable, "-c", program, name, str(rate), event], shared.OPERATIONS, shared.FAILURE)


def test_rates_follow_the_times_that_the_lines_name(shared: ModuleType, tmp_path: Path) -> None:
    measured = shared.run(client(shared, "A", 70), str(tmp_path), ARGUMENTS)
    assert measured.rate == pytest.approx(70)
    assert measured.allocated == pytest.approx(10)


@pytest.mark.parametrize(
    "event", ["[READ-FAILED: Count=1, Max=3]", "[UPDATE-NOT_FOUND: Count=12]", "\\nERROR: no table", "\\nDBException"]
)
def test_failed_operations_end_the_comparison(shared: ModuleType, tmp_path: Path, event: str) -> None:
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
    """The work before a thread's first line and after its last line is unknown, so the rate would be too low."""
    program = STEADY.replace("{second} sec", "t{second if second > 4 and second % 2 else 0} Cycle=1 {second} sec")
    lines = r"(?P<by>t\d+) Cycle=1"
    threads = [
        shared.Client([sys.executable, "-c", program, "A", "70", ""], lines, shared.FAILURE, threads=count)
        for count in (1, 2)
    ]
    assert shared.run(threads[0], str(tmp_path), ARGUMENTS).rate > 0
    with pytest.raises(SystemExit, match="use a longer --window"):
        shared.run(threads[1], str(tmp_path), ARGUMENTS)


@pytest.mark.slow
def test_sides_take_turns_and_missed_aims_are_printed(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shared, "ROOT", tmp_path)  # no server is started
    sides = client(shared, "A", 100), client(shared, "B", 200)
    assert shared.compare("a cell", *sides, shared.Aims(3, allocated=1), ARGUMENTS, str(tmp_path))
    assert (tmp_path / "order").read_text() == "ABBABAAB"
    columns = capsys.readouterr().out.split("|")
    assert [column.strip() for column in columns[1:6]] == [
        "a cell", "200", "100", "**2.00** [2.00, 2.00]", "3 **missed**",
    ]  # fmt: skip
    assert columns[9].strip() == "–"
    assert [column.strip() for column in columns[11:15]] == ["10", "10", "**1.00** [1.00, 1.00]", "1"]
    assert re.fullmatch(r"[\d.]+", columns[6].strip())


def test_figures_below_what_the_kernel_counts_have_a_row(
    shared: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shared, "settle", lambda _: None)
    monkeypatch.setattr(shared, "run", lambda *_: shared.Measured(100.0, 0.0, 0.0, None))
    side = client(shared, "A", 100)
    assert shared.compare("a cell", side, side, shared.Aims(1, 1), ARGUMENTS, "")
    row = "| a cell | 100 | 100 | **1.00** [1.00, 1.00] | 1 | 0.00 | 0.00 | – | 1 | 0.00 / 0.00 | – | – | – | – |\n"
    assert capsys.readouterr().out == row


@pytest.mark.parametrize("pairs", range(2, 21, 2))
def test_a_steady_drift_favours_no_side(shared: ModuleType, pairs: int) -> None:
    """Dohyo's client is 1.1 times as fast as the other, and each run is 6 % faster than the previous one."""
    run, ratios = 0, []
    for turn in shared.order(pairs):
        rates = {}
        for side in turn:
            rates[side] = 1000 * 1.06**run * (1.1 if side else 1)
            run += 1
        ratios.append(rates[1] / rates[0])
    assert shared.middle(ratios) == pytest.approx(1.1, rel=1e-12)
    assert (min(ratios), max(ratios)) == pytest.approx((1.1 / 1.06, 1.1 * 1.06))


def test_a_curved_drift_favours_no_side_in_a_multiple_of_four_pairs(shared: ModuleType) -> None:
    sides = [side for turn in shared.order(8) for side in turn]
    drift = [0.06 * run - 0.002 * run**2 for run in range(16)]
    assert math.fsum((1 if side else -1) * part for side, part in zip(sides, drift, strict=True)) == pytest.approx(0)


@pytest.mark.parametrize("pairs", ["3", "0", "-2", "1", "x"])
def test_an_odd_number_of_pairs_is_refused(
    shared: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pairs: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["versus_native.py", f"--pairs={pairs}"])
    with pytest.raises(SystemExit) as error:
        shared.arguments_of("", ["cassandra"])
    assert error.value.code == 2
    assert re.search(r"--pairs: .*even number", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("ratios", "least", "most"),
    [
        ([1.2, 1.3], "1", "1 **missed**"),
        ([1.0, 1.3], "1", "1 undecided"),
        ([0.8, 0.9, 0.95, 1.01], "1 undecided", "1 undecided"),
        ([0.8, 0.9, 0.95, 0.99], "1 **missed**", "1"),
        ([], "1", "1"),
    ],
)
def test_only_all_pairs_miss_an_aim(shared: ModuleType, ratios: list[float], least: str, most: str) -> None:
    assert shared.verdict(1, ratios, least=True) == least
    assert shared.verdict(1, ratios, least=False) == most
    assert shared.verdict(None, ratios, least=True) == "–"


def test_the_servers_warm_up_has_a_length_of_its_own(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def server(*_: object) -> Iterator[dict[str, str]]:
        yield {}

    monkeypatch.setattr(shared, "server", server)
    steady = client(shared, "A", 100)
    monkeypatch.setattr(shared, "dohyo_client", lambda *_: steady)
    arguments = argparse.Namespace(records=10, settle=60, server_warmup=1.2, warmup=0, window=0.1, set=[])
    begin = shared.time.monotonic()
    with shared.warm_table(shared.Cell("hbase", 1, "read", shared.MANY), {}, {}, arguments, str(tmp_path)):
        assert shared.time.monotonic() - begin > 1.2


def test_no_password_stands_in_a_command_or_an_error(
    shared: ModuleType, native: ModuleType, versus_stock: ModuleType, tmp_path: Path
) -> None:
    table = {"mysql.url": "jdbc:mariadb://127.0.0.1:3306/ycsb", "mysql.user": "dohyo", "mysql.password": "hunter2"}
    table["recordcount"] = "10"
    cell = shared.Cell("mysql-innodb", 1, "read", shared.MANY)
    clients = [
        shared.dohyo_client(cell, table, []),
        native.sysbench("sysbench", cell, table),
        versus_stock.stock(cell, table, tmp_path),
    ]
    for peer in clients:
        assert "hunter2" not in " ".join(map(str, peer.command))
        ((name, text),) = peer.files.items()
        assert "hunter2" in text
        assert name in " ".join(map(str, peer.command))
        program = f"import os; print(open({name!r}).read(), oct(os.stat({name!r}).st_mode), flush=True)"
        reading = shared.Client([sys.executable, "-c", program], peer.progress, "0o100600", files=peer.files)
        with pytest.raises(shared.NotMeasured, match="had errors"):
            shared.run(reading, str(tmp_path), ARGUMENTS)


@pytest.mark.parametrize(("changes", "binding"), [([], "scylla"), (["db=mysql-innodb"], "mysql")])
def test_our_client_can_have_another_binding(shared: ModuleType, changes: list[str], binding: str) -> None:
    client = shared.dohyo_client(shared.Cell("scylla", 1, "read", shared.MANY), {"recordcount": "10"}, changes)
    assert client.command[client.command.index("-db") + 1] == binding
    assert f"/{binding}/target/bundle/*" in client.command[client.command.index("-cp") + 1]
    assert "\ndb=" not in client.files["client.properties"]


def test_both_sides_ask_for_the_same_consistency(shared: ModuleType, native: ModuleType) -> None:
    table = {"recordcount": "10", "hosts": "127.0.0.1", "port": "9042", "cassandra.keyspace": "ycsb"}
    table |= {"cassandra.writeconsistencylevel": "ALL"} | shared.PEERS_SETTINGS["cassandra"]
    assert table["cassandra.writeconsistencylevel"] == table["cassandra.readconsistencylevel"]
    command = native.latte("latte", shared.Cell("cassandra", 1, "mix", shared.MANY), table).command
    assert command[command.index("--consistency") + 1] == table["cassandra.writeconsistencylevel"]


def test_aerospikes_benchmark_times_its_operations(shared: ModuleType, native: ModuleType) -> None:
    table = {"recordcount": "10", "aerospike.hosts": "127.0.0.1:3000", "aerospike.namespace": "ycsb"}
    table["aerospike.commitlevel"] = "ALL"
    for load in (shared.ONE_BY_ONE, shared.MANY, shared.BATCHES):
        assert "-latency" in native.aerospike("x.jar", shared.Cell("aerospike", 1, "read", load), table).command


def test_a_side_that_cannot_be_measured_has_no_figures(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shared, "ROOT", tmp_path)
    monkeypatch.setattr(shared, "PATIENCE", 2)
    silent = client(shared, "A", 100, program="import time; time.sleep(3600)")
    arguments = argparse.Namespace(pairs=4, settle=60, warmup=0, window=1)
    with pytest.raises(shared.NotMeasured):
        shared.run(silent, str(tmp_path), arguments)
    good = client(shared, "A", 100)
    failing = client(shared, "B", 100, "\nDBException", STEADY.replace("second == 20", "second == 2"))
    for peer, order in ((silent, []), (good, ["AB"])):
        assert not shared.compare("a cell", peer, failing, shared.Aims(3), arguments, str(tmp_path))
        columns = [column.strip() for column in capsys.readouterr().out.split("|")]
        assert columns[2:10] == ["–", "–", "not measured", "3", "–", "–", "not measured", "–"]
        # No further runs follow, because the figures of only one side cannot be compared.
        assert [file.read_text() for file in tmp_path.glob("order")] == order


@pytest.mark.slow
def test_the_faster_load_is_that_of_a_peer_without_batches(
    shared: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "ROOT", tmp_path)
    cell = shared.Cell("mysql-innodb", 1, "read", shared.BATCHES)
    for rates, best in (({8: 5, 128: 9}, "128 in flight"), ({8: 9, 128: 5}, "8 × 1")):
        rate, command = shared.without_batches(
            cell, lambda item, rates=rates: client(shared, "A", rates[item.load.requests]), ARGUMENTS, str(tmp_path)
        )
        assert rate == best
        assert command.command[4] == "9"
