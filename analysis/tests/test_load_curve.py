"""Tests measured loads: the curve of rows over time, and trials without runs."""

import csv
import io
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dohyo.evidence import gc_log
from dohyo.evidence.load_curve import Inserted, LoadCurve
from dohyo.operations import OVERALL
from dohyo.scenario.phases import LOAD
from dohyo.summary.summary import summarise
from dohyo.tables.files import write
from dohyo.tables.verdict import verdict
from support.evidence import (
    DATA,
    clients_json,
    edit_json,
    encoded,
    interval,
    lasted,
    on_screen,
    only,
    rendered,
    trial,
    write_json,
)

TOTAL = 5000  # operations in data/dohyo/load, according to result.txt and client.json
# Rows inserted in each of 20 seconds; from the sixth second on, the load is half as fast.
SLOWING = [400] * 5 + [200] * 15


def took(client: Path, counts: list[int]) -> None:
    """Makes a client's load insert `counts` rows in successive seconds. The first second gets the rest of `TOTAL`."""
    lasted(client, float(len(counts)))
    rest = TOTAL - sum(counts)
    heads = [line for line in (client / "INSERT.hdr").read_text().splitlines() if line[0] in '#"']
    lines = [
        f"{second}.000,1.000,0.500,{encoded({500: count + (rest if second == 0 else 0)})}"
        for second, count in enumerate(counts)
    ]
    (client / "INSERT.hdr").write_text("\n".join([*heads, *lines]) + "\n")
    result = client / "result.txt"
    result.write_text(re.sub(r"(\[INSERT\], MaxLatency\(us\)), \d+", r"\1, 500", result.read_text()))


def loaded(experiment: Path, number: int, system: str, hosts: tuple[str, ...] = ("node1",), **settings: Any) -> Path:
    """Writes a trial that measures its load and has no runs."""
    return trial(experiment, number, system, repeats=1, hosts=hosts, phases=(), **settings)


# ---- rows against seconds -------------------------------------------------------------------------------------------


def curve_of(counts: list[int]) -> LoadCurve:
    """Returns the curve of a load that inserts these numbers of rows in successive seconds."""
    inserted = Inserted()
    for second, count in enumerate(counts):
        inserted.add("INSERT", interval(second, 1, count))
    curve = inserted.curve(sum(counts), float(len(counts)))
    assert curve is not None
    return curve


def test_a_straight_line_has_equal_tenths() -> None:
    curve = curve_of([50] * 20)
    assert curve.tenths == pytest.approx([2.0 * tenth for tenth in range(1, 11)])
    assert curve.slowdown == pytest.approx(1.0)
    assert curve.points == [(float(second), 50 * second) for second in range(20)] + [(20.0, 1000)]


def test_a_load_that_slows_down_says_by_how_much() -> None:
    curve = curve_of([100] * 10 + [50] * 10 + [25] * 10)
    # Inserting a tenth of the rows (175) takes 1.75 s at the beginning and 7 s at the end.
    assert curve.tenths[0] == pytest.approx(1.75)
    assert curve.tenths[8] == pytest.approx(23.0)
    assert curve.slowdown == pytest.approx(4.0)


def test_clients_add_up_and_what_failed_or_is_intended_does_not_count() -> None:
    inserted = Inserted()
    for second in range(10):
        inserted.add("INSERT", interval(second + 0.003, 1, 10))
        inserted.add("INSERT", interval(second - 0.002 if second else 0.0, 1, 30))
        inserted.add("INSERT-FAILED", interval(second, 1, 500))
        inserted.add("Intended-INSERT", interval(second, 1, 40))
    # Each insert is a batch of 100 records.
    curve = inserted.curve(40_000, 10.0)
    assert curve is not None
    assert curve.tenths == pytest.approx([float(tenth) for tenth in range(1, 11)], abs=0.01)
    assert curve.points[5] == (5.0, 20_000)


def test_a_pause_is_a_flat_stretch() -> None:
    curve = curve_of([100] * 5 + [0] * 10 + [100] * 5)
    assert curve.tenths[4:6] == pytest.approx([5.0, 16.0])
    assert [rows for second, rows in curve.points if 5 <= second <= 15] == [500] * 11


def test_a_short_load_has_no_ratio_and_what_is_not_known_is_nothing() -> None:
    inserted = Inserted()
    assert inserted.curve(1000, 5.0) is None
    inserted.add("INSERT", interval(0, 1e15, 1))
    inserted.add("INSERT", interval(1e15, 1, 1))
    inserted.add("INSERT", interval(9e6, 1, 1))
    assert inserted.curve(1000, 5.0) is None  # damaged lines must not use much memory
    for second in range(6):
        inserted.add("INSERT", interval(second, 1, 100))
    curve = inserted.curve(600, 5.9)
    assert curve is not None
    assert (curve.slowdown, curve.tenths[-1], curve.points[-1]) == (None, 5.9, (5.9, 600))
    assert inserted.curve(None, 5.9) is inserted.curve(600, None) is None


def test_the_curve_of_a_real_log(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra", repeats=1)
    result = only(tmp_path)
    assert result.load is not None
    # The target is 2,000 rows per second, and the load takes 2.492 s.
    assert result.load.rows == 5000
    assert result.load.tenths == pytest.approx([0.25 * tenth for tenth in range(1, 11)], abs=0.02)
    assert result.load.points[0] == (0.0, 0)
    assert result.load.points[1][1] == pytest.approx(2001, abs=10)
    # The screen shows the curve only if the scenario measures the load. The files always contain it.
    summary = summarise(tmp_path)
    assert "Rows against seconds" not in rendered(summary, 140)
    assert json.loads(summary.json())["trials"][0]["load"] == {
        "rows": 5000, "tenths": result.load.tenths, "slowdown": None,
    }  # fmt: skip


# ---- trials that measure the load -----------------------------------------------------------------------------------


def test_the_load_is_the_measurement(tmp_path: Path) -> None:
    folder = loaded(tmp_path, 1, "cassandra")
    took(folder / "load/node1", SLOWING)
    took(loaded(tmp_path, 2, "hbase") / "load/node1", [250] * 20)
    summary = summarise(tmp_path)
    first, second = summary.trials
    assert (first.status, first.load_is_measured, second.load_is_measured) == ("ok", True, True)
    assert {row.phase for row in first.rows} == {"load"}
    insert = next(row for row in first.rows if row.operation == "INSERT")
    assert insert.records_per_second == pytest.approx(250)
    assert insert.errors == 0
    assert insert.latency_source == "histograms"
    assert (first.conditions.measured_seconds, first.conditions.warmup_seconds) == (20.0, 0)
    assert first.load is not None
    assert first.load.slowdown == pytest.approx(2.0)
    # A measured load is a result, so its line is not dimmed.
    assert "\x1b[2m[LOAD] INSERT" not in rendered(summary, 140, "standard")
    # Even a narrow terminal shows all times, including the one at which 100 % of the rows are loaded.
    narrow = rendered(summary, 80)
    assert max(map(len, narrow.splitlines())) <= 80
    assert "100 %" in narrow


def test_rows_against_seconds_in_long_form(tmp_path: Path) -> None:
    loaded(tmp_path, 1, "cassandra", trial_point={"variant": "sync-1"}, trial_round=1, trial_rounds=2)
    loaded(tmp_path, 2, "cassandra", trial_point={"variant": "sync-1"}, trial_round=2, trial_rounds=2)
    for folder in (tmp_path / "raw").iterdir():
        took(folder / "load/node1", [250] * 20)
    write(summarise(tmp_path), tmp_path)
    lines = list(csv.DictReader((tmp_path / "load.csv").open(encoding="utf-8")))
    assert list(lines[0]) == ["system", "point", "round", "second", "rows"]
    assert [(float(line["second"]), int(line["rows"])) for line in lines if line["round"] == "2"] == [
        (second, 250 * second) for second in range(21)
    ]
    assert {(line["system"], line["point"]) for line in lines} == {("cassandra", "variant=sync-1")}


def test_an_experiment_without_loads_has_an_empty_csv(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    assert summarise(tmp_path).load_csv() == "system,point,round,second,rows\n"


def test_a_load_that_phases_name_is_ranked_and_compared_like_a_run(tmp_path: Path) -> None:
    for number, (system, turn, seconds) in enumerate(
        [("cassandra", 1, 20), ("hbase", 1, 10), ("cassandra", 2, 25), ("hbase", 2, 8)], start=1
    ):
        measured: dict[str, Any] = {"trial_load": {"measured": True}, "trial_round": turn, "trial_rounds": 2}
        folder = trial(tmp_path, number, system, repeats=1, phases=("read",), **measured)
        took(folder / "load/node1", [TOTAL // seconds] * seconds)
        edit_json(folder / "load/node1/client.json", target=0)
    summary = summarise(tmp_path)
    assert {result.status for result in summary.trials} == {"ok"}
    for result in summary.merged:
        assert {row.phase for row in result.rows if not result.is_aside(row)} == {LOAD, "read"}
        assert (result.conditions.measured_seconds, result.by_phase["read"]["measured_seconds"]) == (None, 3.0)
        assert 9 <= result.by_phase[LOAD]["measured_seconds"] <= 22.5
    pairs = [(pair.phase, pair.of, pair.to) for pair in summary.comparisons if pair.operation == OVERALL]
    assert {phase for phase, *_ in pairs} == {LOAD, "read"}
    shown = on_screen(summary)
    assert re.search(r"^load *\n1 hbase +559 .*\n2 cassandra +224 ", shown, re.MULTILINE)
    assert "hbase was the fastest in 1 of 2 comparisons, 2.50×" in verdict(summary).sentence
    text = rendered(summary, 140)
    assert "Loads before the runs" not in text
    assert "Rows against seconds" in text


def test_rounds_give_mean_and_spread_of_the_load(tmp_path: Path) -> None:
    for number, (turn, seconds) in enumerate([(1, 20), (2, 25)], start=1):
        folder = loaded(tmp_path, number, "cassandra", trial_round=turn, trial_rounds=2)
        took(folder / "load/node1", [TOTAL // seconds] * seconds)
    summary = summarise(tmp_path)
    (merged,) = summary.merged
    insert = next(row for row in merged.rows if row.operation == "INSERT")
    assert (insert.repeats, insert.records) == (2, 2 * TOTAL)
    assert insert.records_per_second == pytest.approx(math.sqrt(250 * 200))
    assert insert.records_per_second_stddev == pytest.approx(50 / 2**0.5)
    assert (merged.load, merged.conditions.measured_seconds) == (None, 22.5)
    text = rendered(summary, 140)
    assert "means of 2 repeats" in " ".join(text.split())
    block = text.split("Rows against seconds")[1]
    assert block.index("cassandra round 1") < block.index("cassandra round 2")
    assert "load op/s" in text.split("Rounds")[1]


def test_several_clients_are_merged_and_listed(tmp_path: Path) -> None:
    folder = loaded(tmp_path, 1, "cassandra", hosts=("node1", "node2"))
    took(folder / "load/node1", [250] * 20)
    took(folder / "load/node2", [500] * 10)
    result = only(tmp_path)
    assert result.load is not None
    assert (result.load.rows, result.load.tenths[-1]) == (2 * TOTAL, 20.0)
    # The load inserts 750 rows per second until node2 has finished (7,500 of 10,000 rows), and then 250.
    assert result.load.slowdown == pytest.approx(3.0, abs=0.01)
    text = rendered(summarise(tmp_path), 300)
    assert "load rec/s" in text
    assert "load INSERT p99" in text


def test_a_measured_load_shows_its_dips(tmp_path: Path) -> None:
    stalled = [400] * 10 + [0] * 5 + [200] * 5
    took(loaded(tmp_path, 1, "cassandra") / "load/node1", stalled)
    assert [str(event) for event in only(tmp_path).events] == [
        "load, seconds 10–15: throughput below half of the mean (down to 0 of 250 op/s)"
    ]
    # A stall in a load that is not measured is not an event.
    took(trial(tmp_path / "other", 1, "cassandra", repeats=1) / "load/node1", stalled)
    assert only(tmp_path / "other").events == []


def test_the_servers_pauses_in_a_measured_load_are_read(tmp_path: Path) -> None:
    folder = loaded(tmp_path, 1, "cassandra")
    log = DATA / "servers/gc/g1-17.log"
    (folder / "server/node1").mkdir(parents=True)
    shutil.copy(log, folder / "server/node1/gc.log")
    log_pauses = gc_log.read([log], pytest.fail)
    assert log_pauses is not None
    oldest, pauses = log_pauses
    begin = oldest + 0.001
    conducted = {**clients_json(("node1",)), "agreed": begin}
    write_json(folder / "load/clients.json", conducted)
    lasted(folder / "load/node1", pauses[-1].end - begin)
    server = only(tmp_path).servers[0]
    assert [(pause.phase, pause.run) for pause in server.pauses] == [("load", None)]
    assert server.pauses[0].count == len(pauses)
    assert "Servers: garbage collection" in rendered(summarise(tmp_path), 140)


@pytest.mark.parametrize("case", ["client", "conducted", "missing", "rows"])
def test_a_load_that_does_not_hold_has_a_reason_instead_of_numbers(tmp_path: Path, case: str) -> None:
    folder = loaded(tmp_path, 1, "cassandra")
    match case:
        case "client":
            edit_json(folder / "load/node1/client.json", valid=False, reason="stalled for 20 s")
            expected = ("invalid", "load on node1: stalled for 20 s")
        case "conducted":
            failure = "clients began 40 ms apart"
            write_json(folder / "load/clients.json", clients_json(("node1",), valid=False, failure=failure))
            expected = ("invalid", f"load: {failure}")
        case "missing":
            shutil.rmtree(folder / "load")
            expected = ("invalid", "load: is missing (and 1 more)")
        case _:
            reason = (
                "settling: 4999 of 5000 records are in the tables after the load, though every insert was acknowledged"
            )
            write_json(folder / "state.json", {"status": "failed", "reason": reason})
            expected = ("failed", reason)
    summary = summarise(tmp_path)
    result = summary.trials[0]
    assert (result.status, result.reason) == expected
    assert (result.rows, result.load) == ([], None)
    assert "Rows against seconds" not in rendered(summary, 140)
    lines = list(csv.DictReader(io.StringIO(summary.csv())))
    assert [(line["status"], line["ops_per_second"]) for line in lines] == [(expected[0], "")]
    write(summary, tmp_path)


def test_a_load_beside_runs_is_not_the_measurement(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra", repeats=1)
    result = only(tmp_path)
    assert not result.load_is_measured
    assert [result.is_aside(row) for row in result.rows] == [row.phase == "load" for row in result.rows]
    assert all(replace(result, load_is_measured=True).is_aside(row) is False for row in result.rows)
