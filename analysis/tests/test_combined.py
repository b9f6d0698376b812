"""Tests rows that combine phases, discarded repeats, points of a matrix, and rounds."""

import csv
import io
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from dohyo.evidence.rows import sampled
from dohyo.metrics import Row
from dohyo.summary.results import Trial
from dohyo.summary.summary import summarise
from dohyo.tables.files import write
from support.evidence import clients_json, edit_json, lasted, only, rendered, trial, write_json


def row(result: Trial, phase: str, operation: str = "OVERALL", discarded: bool = False) -> Row:
    (match,) = (
        row for row in result.rows if (row.phase, row.operation, row.discarded) == (phase, operation, discarded)
    )
    return match


def slower(folder: Path, phase: str, seconds: float) -> None:
    """Changes a run of 6,000 operations in 3 s, so that it lasted `seconds`."""
    for client in (folder / phase).glob("*/client.json"):
        lasted(client.parent, seconds)


# ---- phases ---------------------------------------------------------------------------------------------------------


def test_a_phase_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", phases=("update", "read"))
    shutil.rmtree(folder / "read-2")
    assert (only(tmp_path).status, only(tmp_path).reason) == ("invalid", "read: 1 of 2 repeats left results")


def test_what_differs_from_phase_to_phase_is_said_of_each(tmp_path: Path) -> None:
    for number, system in enumerate(("cassandra", "hbase"), start=1):
        phases: list[dict[str, Any]] = [
            {"name": "update"},
            {"name": "read", "threads": 4, "properties": {"batchsize": "100"}},
        ]
        folder = trial(tmp_path, number, system, phases=("update", "read"), repeats=1, trial_phases=phases)
        edit_json(folder / "read-1/node1/client.json", batchsize=100, threads=4)
    summary = summarise(tmp_path)
    result = summary.trials[0]
    assert (result.conditions.batchsize, result.conditions.threads, result.conditions.inflight) == (None, None, 1)
    assert result.by_phase == {"update": {"batchsize": 1, "threads": 2}, "read": {"batchsize": 100, "threads": 4}}
    lines = list(csv.DictReader(io.StringIO(summary.csv())))
    assert {(line["phase"], line["batchsize"]) for line in lines} >= {("update", "1"), ("read", "100")}
    assert summary.unequal == {}
    edit_json(folder / "read-1/node1/client.json", batchsize=50)
    phases[1]["properties"] = {"batchsize": "50"}
    edit_json(folder / "trial.json", trial_phases=phases)
    assert summarise(tmp_path).unequal == {
        "batchsize": {"01-cassandra": "update 1, read 100", "02-hbase": "update 1, read 50"}
    }


# ---- discarded repeats ----------------------------------------------------------------------------------------------


def test_discarded_repeats_are_shown_and_count_nowhere(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", phases=("update", "read"), repeats=3, trial_discard=1)
    slower(folder, "update-1", 6.0)
    slower(folder, "update-2", 2.0)
    result = only(tmp_path)
    assert row(result, "update").repeats == 2
    assert row(result, "update").ops_per_second == pytest.approx(math.sqrt(3000 * 2000))
    assert row(result, "update").operations == 12_000
    aside = row(result, "update", discarded=True)
    assert (aside.repeats, aside.operations) == (1, 6000)
    assert aside.ops_per_second == pytest.approx(1000)
    assert result.clients[0].rows == result.rows
    lines = list(csv.DictReader(io.StringIO(summarise(tmp_path).csv())))
    assert {(line["phase"], line["repeats"], line["discarded"]) for line in lines} == {
        ("update", "2", "false"), ("read", "2", "false"), ("update", "1", "true"), ("read", "1", "true"),
        ("load", "1", "false"),
    }  # fmt: skip


# ---- points and rounds ----------------------------------------------------------------------------------------------


def matrix(experiment: Path) -> None:
    """Writes trials of two systems at two points. One point has batches, and one dimension is only for Cassandra."""
    number = 0
    for batch in ("1", "100"):
        for system, collector in (("cassandra", {"cassandra_gc": "G1"}), ("hbase", {})):
            number += 1
            point = {"batchsize": batch, **collector}
            folder = trial(experiment, number, system, repeats=1, trial_point=point, trial_round=1, trial_rounds=1)
            edit_json(folder / "run-1/node1/client.json", batchsize=int(batch))
            edit_json(folder / "trial.json", trial_properties={"recordcount": "10000", "batchsize": batch})


def test_points_stand_side_by_side_and_each_row_says_its_own(tmp_path: Path) -> None:
    matrix(tmp_path)
    summary = summarise(tmp_path)
    assert summary.dimensions == ["batchsize", "cassandra_gc"]
    assert (summary.trials[0].point, summary.trials[0].round) == ({"batchsize": "1", "cassandra_gc": "G1"}, None)
    text = rendered(summary)
    lines = [line.split() for line in text.splitlines()]
    assert [line[:4] for line in lines if line[:1] == ["OVERALL"]][:4] == [
        ["OVERALL", "1", "G1", "cassandra"], ["OVERALL", "1", "hbase", "6,000"],
        ["OVERALL", "100", "G1", "cassandra"], ["OVERALL", "100", "hbase", "6,000"],
    ]  # fmt: skip
    for width in (100, 120):
        assert max(map(len, rendered(summary, width).splitlines())) <= width
    csv_lines = list(csv.DictReader(io.StringIO(summary.csv())))
    assert {(line["system"], line["matrix.batchsize"], line["matrix.cassandra_gc"]) for line in csv_lines} == {
        ("cassandra", "1", "G1"), ("cassandra", "100", "G1"), ("hbase", "1", ""), ("hbase", "100", ""),
    }  # fmt: skip


def test_long_names_of_dimensions_are_broken(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra", trial_point={"cassandra_concurrent_writes": "64"})
    text = rendered(summarise(tmp_path))
    assert text.splitlines()[0].split()[:2] == ["cassandra_concurrent_", "not"]
    assert text.splitlines()[1].split()[:3] == ["operation", "writes", "system"]


def test_conditions_are_compared_within_a_point(tmp_path: Path) -> None:
    matrix(tmp_path)
    assert summarise(tmp_path).unequal == {}
    assert "batch 1 / 100" in rendered(summarise(tmp_path))
    edit_json(tmp_path / "raw/04-hbase-batchsize=100/conditions.json", durability="disk")
    summary = summarise(tmp_path)
    assert summary.unequal == {
        "durability": {"03-cassandra-batchsize=100-cassandra_gc=G1": "memory", "04-hbase-batchsize=100": "disk"}
    }
    unequal = "unequal: durability (cassandra batchsize=100 cassandra_gc=G1 memory, hbase batchsize=100 disk)"
    assert unequal in " ".join(rendered(summary).split())


def test_what_is_said_of_a_system_at_all_its_points_is_said_once(tmp_path: Path) -> None:
    matrix(tmp_path)
    for folder in (tmp_path / "raw").glob("*-hbase-*"):
        edit_json(folder / "conditions.json", notes=["port 16000 was taken"], differences=["durability: it has disk"])
    text = rendered(summarise(tmp_path))
    assert text.count("hbase: port 16000 was taken") == text.count("port 16000 was taken") == 1
    assert text.splitlines().count("hbase: durability: it has disk") == 1


def rounds(experiment: Path) -> None:
    for number, (system, turn) in enumerate([("cassandra", 1), ("hbase", 1), ("cassandra", 2), ("hbase", 2)], start=1):
        trial(experiment, number, system, repeats=2, trial_round=turn, trial_rounds=2)


def test_rounds_without_any_scatter_have_an_interval_of_no_width() -> None:
    row = sampled(Row("run", "OVERALL", 3), "rounds", [1000.1] * 3, [])
    assert row.ops_per_second == row.ops_per_second_low == row.ops_per_second_high == 1000.1


def test_rounds_are_merged(tmp_path: Path) -> None:
    rounds(tmp_path)
    for run in ("run-1", "run-2"):
        slower(tmp_path / "raw/03-cassandra", run, 2.0)
    summary = summarise(tmp_path)
    assert [(result.name, result.round) for result in summary.trials] == [
        ("01-cassandra", 1), ("02-hbase", 1), ("03-cassandra", 2), ("04-hbase", 2)
    ]  # fmt: skip
    cassandra, hbase = summary.merged
    assert (cassandra.name, cassandra.status, cassandra.round) == ("cassandra", "ok", None)
    overall = row(cassandra, "run")
    assert (overall.repeats, overall.operations) == (4, 24_000)
    assert overall.ops_per_second == pytest.approx(math.sqrt(2000 * 3000))
    # The runs of a round are not independent, so there are only two samples: the rounds at 2,000 and 3,000 op/s.
    assert overall.sampled == "rounds"
    assert overall.ops_per_second_samples == pytest.approx([2000, 3000])
    assert overall.ops_per_second_stddev == pytest.approx(1000 / 2**0.5)
    assert overall.ops_per_second_high == pytest.approx(math.sqrt(2000 * 3000) * 1.5 ** (12.706 / 2), rel=1e-3)
    assert row(hbase, "run").ops_per_second == pytest.approx(2000)
    # The histograms of all rounds are added.
    assert row(cassandra, "run", "READ").operations == 4 * 2990
    assert row(cassandra, "run", "READ").latency_source == "histograms"
    lines = list(csv.DictReader(io.StringIO(summary.csv())))
    assert {(line["scope"], line["trial"], line["round"]) for line in lines} == {
        ("cluster", "01-cassandra", "1"), ("cluster", "02-hbase", "1"), ("cluster", "03-cassandra", "2"),
        ("cluster", "04-hbase", "2"), ("rounds", "cassandra", ""), ("rounds", "hbase", ""),
    }  # fmt: skip
    write(summary, tmp_path)


def test_a_round_that_failed_is_named_and_the_others_count(tmp_path: Path) -> None:
    rounds(tmp_path)
    write_json(tmp_path / "raw/03-cassandra/state.json", {"status": "failed", "reason": "no port"})
    cassandra, _ = summarise(tmp_path).merged
    assert (cassandra.status, cassandra.reason) == ("failed", "round 2: no port")
    assert row(cassandra, "run").repeats == 2
    assert "failed: round 2: no port" in rendered(summarise(tmp_path))


def test_points_and_rounds_together(tmp_path: Path) -> None:
    for number, turn in enumerate((1, 2), start=0):
        for position, batch in enumerate(("1", "100"), start=1):
            point = {"batchsize": batch}
            trial(tmp_path, 2 * number + position, "hbase", trial_point=point, trial_round=turn, trial_rounds=2)
    summary = summarise(tmp_path)
    assert [result.name for result in summary.merged] == ["hbase batchsize=1", "hbase batchsize=100"]
    assert summary.unequal == {}
    write_json(tmp_path / "raw/02-hbase-batchsize=100/run-1/clients.json", clients_json(("node1",), events=[
        {"at": 2.0, "host": "node1", "what": "it ended"}]))  # fmt: skip
    assert "hbase batchsize=100 round 1: run 1, second 2: node1: it ended" in rendered(summarise(tmp_path))
