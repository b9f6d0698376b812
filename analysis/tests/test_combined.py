"""From evidence to rows where there are phases, discarded repeats, points of a matrix and rounds."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
from evidence import clients_json, edit_json, trial, write_json
from rich.console import Console

from dohyo import table
from dohyo.results import Summary, Trial
from dohyo.rows import Row
from dohyo.summary import summarise


def only(experiment: Path) -> Trial:
    (of,) = summarise(experiment).trials
    return of


def row(of: Trial, phase: str, operation: str = "OVERALL", discarded: bool = False) -> Row:
    (found,) = (row for row in of.rows if (row.phase, row.operation, row.discarded) == (phase, operation, discarded))
    return found


def rendered(summary: Summary, width: int = 120) -> str:
    console = Console(width=width, force_terminal=True, color_system=None, file=io.StringIO())
    table.render(summary, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def slower(folder: Path, phase: str, seconds: float) -> None:
    """Makes a run of 6,000 operations in 3 s one that took so long."""
    for client in (folder / phase).glob("*/client.json"):
        edit_json(client, measured_seconds=seconds)


# ---- phases ---------------------------------------------------------------------------------------------------------


def test_each_phase_has_rows_of_its_own_in_the_order_of_the_trial(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", phases=("update", "read"))
    slower(folder, "read-1", 2.0)
    of = only(tmp_path)
    assert (of.status, of.reason) == ("ok", None)
    assert list(dict.fromkeys(each.phase for each in of.rows)) == ["update", "read", "load"]
    assert row(of, "update").ops_per_second == pytest.approx(2000)
    assert row(of, "read").ops_per_second == pytest.approx((3000 + 2000) / 2)
    assert row(of, "read").repeats == 2
    text = rendered(summarise(tmp_path))
    heads = [line.split("  ")[0] for line in text.splitlines() if line.startswith("[")]
    assert heads.index("[update] UPDATE") < heads.index("[read] OVERALL") < heads.index("[LOAD] INSERT")
    lines = list(csv.DictReader(io.StringIO(summarise(tmp_path).csv())))
    assert {line["phase"] for line in lines} == {"update", "read", "load"}


def test_a_phase_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", phases=("update", "read"))
    shutil.rmtree(folder / "read-2")
    assert (only(tmp_path).status, only(tmp_path).reason) == ("invalid", "read: 1 of 2 repeats have left results")


def test_what_differs_from_phase_to_phase_is_said_of_each(tmp_path: Path) -> None:
    for number, system in enumerate(("cassandra", "hbase"), start=1):
        folder = trial(tmp_path, number, system, phases=("update", "read"), repeats=1)
        edit_json(folder / "read-1/node1/client.json", batchsize=100, threads=4)
    summary = summarise(tmp_path)
    of = summary.trials[0]
    assert (of.conditions.batchsize, of.conditions.threads, of.conditions.inflight) == (None, None, 1)
    assert of.by_phase == {"update": {"batchsize": 1, "threads": 2}, "read": {"batchsize": 100, "threads": 4}}
    assert "phase read load 1 client × 4 threads, batch 100" in " ".join(rendered(summary).split())
    lines = list(csv.DictReader(io.StringIO(summary.csv())))
    assert {(line["phase"], line["batchsize"]) for line in lines} >= {("update", "1"), ("read", "100")}
    assert summary.unequal == {}
    edit_json(tmp_path / "raw/02-hbase/read-1/node1/client.json", batchsize=50)
    assert summarise(tmp_path).unequal == {
        "batchsize": {"01-cassandra": "update 1, read 100", "02-hbase": "update 1, read 50"}
    }


def test_events_name_their_phase(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", phases=("update", "read"), repeats=1)
    lost = {"at": 2.0, "host": "node1", "what": "cassandra ended with exit code 137"}
    write_json(folder / "read-1/clients.json", clients_json(("node1",), events=[lost]))
    assert "read 1, second 2: node1: cassandra ended" in rendered(summarise(tmp_path))


def test_clients_have_columns_for_each_phase(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra", phases=("update", "read"), repeats=1, hosts=("node1", "node2"))
    text = rendered(summarise(tmp_path), 300)
    assert "update rec/s" in text
    assert "read READ p99" in text


# ---- discarded repeats ----------------------------------------------------------------------------------------------


def test_discarded_repeats_are_shown_and_count_nowhere(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", phases=("update", "read"), repeats=3, trial_discard=1)
    slower(folder, "update-1", 6.0)
    slower(folder, "update-2", 2.0)
    of = only(tmp_path)
    assert row(of, "update").repeats == 2
    assert row(of, "update").ops_per_second == pytest.approx((3000 + 2000) / 2)
    assert row(of, "update").operations == 12_000
    aside = row(of, "update", discarded=True)
    assert (aside.repeats, aside.operations, aside.ops_per_second) == (1, 6000, pytest.approx(1000))
    assert of.clients[0].rows == of.rows
    text = rendered(summarise(tmp_path))
    assert "[update, discarded] UPDATE" in text
    assert "means of 2 repeats" in text
    assert "Discarded are first repeats, which count nowhere." in " ".join(text.split())
    content = json.loads(summarise(tmp_path).json())
    assert [each["discarded"] for each in content["trials"][0]["rows"] if each["operation"] == "OVERALL"] == [
        False, False, True, True, False,
    ]  # fmt: skip
    lines = list(csv.DictReader(io.StringIO(summarise(tmp_path).csv())))
    assert {(line["phase"], line["repeats"], line["discarded"]) for line in lines} == {
        ("update", "2", "false"), ("read", "2", "false"), ("update", "1", "true"), ("read", "1", "true"),
        ("load", "1", "false"),
    }  # fmt: skip
