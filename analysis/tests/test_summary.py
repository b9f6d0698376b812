"""Tests the rows computed from evidence: rates, merged percentiles, failures with reasons, and unequal conditions."""

import csv
import io
import json
import math
import re
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dohyo.evidence.canary import Canary, CanaryFigure, Comparison, Drift
from dohyo.evidence.conductor_records import Client, Node
from dohyo.evidence.events import Event
from dohyo.evidence.fault_costs import FaultCost, FaultedRun
from dohyo.evidence.hdr_log import Latencies, merge_log
from dohyo.evidence.healing import Healing
from dohyo.evidence.load_curve import LoadCurve
from dohyo.metrics import Row
from dohyo.places import ROOT
from dohyo.scenario.published import Published, PublishedFigure, Table
from dohyo.summary import parallel_work
from dohyo.summary.conditions import Conditions
from dohyo.summary.probes import Probe, Search
from dohyo.summary.results import SetupDifference, SetupDifferences, Summary, Trial
from dohyo.summary.summary import summarise
from dohyo.summary.trust import doubts
from dohyo.tables import table
from dohyo.tables.files import write
from support.evidence import (
    clients_json,
    edit_json,
    lasted,
    on_screen,
    only,
    reads,
    rendered,
    row,
    searched,
    trial,
    write_json,
)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_counts_add_up_over_clients_and_repeats_and_rates_are_per_repeat(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=2, hosts=("node1", "node2"))
    for host in ("node1", "node2"):
        lasted(folder / f"run-2/{host}", 2.5)
    lasted(folder / "run-2/node1", 2.0)
    result = only(tmp_path)
    assert (result.status, result.reason) == ("ok", None)
    overall = row(result, "OVERALL")
    assert (overall.operations, overall.records, overall.repeats) == (4 * 6000, 4 * 6000, 2)
    # 12,000 operations took 3 s in run 1, and 2.5 s in run 2 (the time of the slower client)
    assert overall.ops_per_second == pytest.approx(math.sqrt(4000 * 4800))
    assert overall.ops_per_second_stddev == pytest.approx(800 / 2**0.5)
    assert row(result, "READ").operations == 4 * 2990
    assert row(result, "READ").errors == row(result, "READ").not_found == 0
    assert row(result, "INSERT", "load").operations == 2 * 5000
    assert (result.conditions.clients, result.conditions.threads, result.conditions.record_bytes) == (2, 2, 1000)


def test_percentiles_come_from_the_merged_histograms(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1, hosts=("node1", "node2"))
    merged: dict[str, Latencies] = {}
    for host in ("node1", "node2"):
        merge_log(folder / f"run-1/{host}/Intended-READ.hdr", merged, pytest.fail)
    expected = merged["Intended-READ"].percentiles_ms([50, 95, 99])
    intended = row(only(tmp_path), "Intended-READ")
    assert (intended.p50_ms, intended.p95_ms, intended.p99_ms) == tuple(expected.values())
    assert intended.p99_9_ms is None  # only six of 6,000 operations were slower
    assert intended.latency_source == "histograms"


def test_without_histograms_one_client_keeps_its_own_percentiles_and_several_have_none(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1, hosts=("node1", "node2"))
    for log in folder.rglob("*.hdr"):
        log.unlink()
    intended = row(only(tmp_path), "Intended-READ")
    assert (intended.p50_ms, intended.p99_ms, intended.latency_source) == (None, None, "log")
    assert intended.mean_ms == pytest.approx(0.09112006688963211)  # both clients have the same mean
    assert intended.max_ms == pytest.approx(6.587)
    for phase in ("load", "run-1"):
        shutil.rmtree(folder / phase / "node2")
    intended = row(only(tmp_path), "Intended-READ")
    assert (intended.p50_ms, intended.p99_ms, intended.latency_source) == (0.071, 0.327, "log")
    assert intended.p99_9_ms is None  # only three of 3,000 operations were slower


BREAKS: dict[str, tuple[Any, str]] = {
    "client says so": (
        lambda f: edit_json(f / "client.json", valid=False, reason="stalled for 20 s"),
        "run-1 on node1: stalled for 20 s",
    ),
    "exit code": (lambda f: (f / "exit").write_text("137\n"), "run-1 on node1: the client ended with exit code 137"),
    "error line": (
        lambda f: ((f / "exit").write_text("3"), (f / "status.txt").write_text("at x\nERROR: no server at a:9042\n")),
        "run-1 on node1: the client ended with exit code 3: no server at a:9042",
    ),
    "no report": (lambda f: (f / "client.json").unlink(), "run-1 on node1: the client wrote no client.json"),
    "no results": (lambda f: (f / "result.txt").unlink(), "run-1 on node1: no result lines in result.txt"),
    "cut": (
        lambda f: (f / "result.txt").write_bytes((f / "result.txt").read_bytes()[:1500]),
        "run-1 on node1: the last line has no newline and is left out",
    ),
    "histogram": (
        lambda f: edit(f / "READ.hdr", (f / "READ.hdr").read_text().splitlines()[-2] + "\n", ""),
        r"run-1 on node1: READ.hdr contains \d+ operations, but the result lines state 2990",
    ),
    "counts": (
        lambda f: edit(f / "client.json", '"operations" : 2990', '"operations" : 2991'),
        "run-1 on node1: client.json counts 2991 operations of READ, but the result lines state 2990",
    ),
    "statuses": (
        lambda f: edit(f / "client.json", '"OK" : 2990', '"OK" : 2989, "ERROR": 1'),
        "run-1 on node1: client.json and the result lines differ in the statuses of READ",
    ),
    "no repeat": (lambda f: shutil.rmtree(f.parent), "1 of 2 repeats left results"),
    "no client": (shutil.rmtree, "run-1: no client left results"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_run_that_does_not_hold_has_a_reason_instead_of_numbers(name: str, tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    trial(tmp_path, 2, "hbase")
    break_it, reason = BREAKS[name]
    break_it(folder / "run-1/node1")
    summary = summarise(tmp_path)
    first, second = summary.trials
    assert first.status == "invalid"
    assert re.fullmatch(reason, (first.reason or "").removesuffix(" (and 1 more)"))
    assert {line.phase for line in first.rows} == {"load"}
    assert second.status == "ok"
    assert "invalid: " in rendered(summary)
    assert re.search(r"– +cassandra +invalid: ", rendered(summary))


@pytest.mark.parametrize(
    ("status", "reason", "shown"),
    [
        ("failed", "server did not come up within 60 s", "failed: server did not come up within 60 s"),
        ("interrupted", None, "interrupted: interrupted"),
        ("pending", None, "pending: not started"),
        ("running", None, "running: not finished"),
        ("skipped", "no package", "skipped: no package"),
        ("?", None, "failed: unknown state '?' in state.json"),
    ],
)
def test_a_trial_that_did_not_finish_says_why(status: str, reason: str | None, shown: str, tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    write_json(folder / "state.json", {"status": status, "reason": reason})
    summary = summarise(tmp_path)
    assert shown in rendered(summary)
    assert not [line for line in summary.trials[0].rows if line.phase == "run"]
    lines = list(csv.DictReader(io.StringIO(summary.csv())))
    assert lines[0]["reason"] in shown
    assert lines[0]["ops_per_second"] == ""


def test_an_empty_trial_and_broken_files_do_not_crash(tmp_path: Path) -> None:
    (tmp_path / "raw/01-cassandra/run-1/node1").mkdir(parents=True)
    (tmp_path / "raw/01-cassandra/state.json").write_text('{"status": "done"', encoding="utf-8")
    (tmp_path / "raw/01-cassandra/conditions.json").write_bytes(b"\xff\xfe")
    summary = summarise(tmp_path)
    assert summary.trials[0].status == "pending"
    assert len(summary.warnings) == 2
    write(summary, tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder 'raw'"):
        summarise(tmp_path / "raw")


def test_errors_are_counted_but_not_found_is_none(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    run = folder / "run-1/node1"
    edit(
        run / "result.txt",
        "[READ], Return=OK, 2990",
        "[READ], Return=OK, 2980\n[READ], Return=NOT_FOUND, 7\n[READ], Return=TIMEOUT, 3",
    )
    edit(run / "client.json", '"OK" : 2990', '"OK" : 2980, "NOT_FOUND": 7, "TIMEOUT": 3')
    edit_json(run / "client.json", records=5990)
    result = only(tmp_path)
    why = "run-1: 7 of 6,000 records (0.12%) were not found, above maxnotfoundrate=0.001"
    assert (result.status, result.reason) == ("invalid", why)
    edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 0.002}])
    result = only(tmp_path)
    assert result.status == "ok"
    assert (row(result, "READ").errors, row(result, "READ").not_found, row(result, "READ").records) == (3, 7, 2980)
    assert (row(result, "OVERALL").errors, row(result, "OVERALL").not_found) == (3, 7)


def test_unequal_conditions_are_named_and_what_the_server_did_not_follow(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra")
    folder = trial(tmp_path, 2, "hbase")
    assert summarise(tmp_path).unequal == {}
    edit_json(folder / "conditions.json", durability="disk", compression=None, version="2.6.4",
              differences=["durability: requested 'memory', but the server has 'disk'"])  # fmt: skip
    summary = summarise(tmp_path)
    assert summary.unequal == {
        "durability": {"01-cassandra": "memory", "02-hbase": "disk"},
        "compression": {"01-cassandra": "none", "02-hbase": "unknown"},
    }
    assert summary.trials[1].deviations == ["durability: requested 'memory', but the server has 'disk'"]
    assert "\x1b[1;31mdurability   memory" in rendered(summary, color="standard")


def test_what_is_strong_with_one_copy_is_fair_beside_a_quorum_of_reads(tmp_path: Path) -> None:
    folders = [trial(tmp_path, 1, "cassandra"), trial(tmp_path, 2, "hbase")]
    for folder, copies in zip(folders, ("quorum", "one"), strict=True):
        edit_json(folder / "conditions.json", replication=3, write_acks="quorum", read_acks=copies)
    summary = summarise(tmp_path)
    assert summary.unequal == {}
    assert "write quorum, read quorum" in rendered(summary)
    edit_json(folders[1] / "conditions.json", consistency="eventual")
    assert list(summarise(tmp_path).unequal) == ["read_acks", "consistency"]


@pytest.mark.parametrize(
    ("requested", "hbase", "setting", "is_fair"),
    [
        ("quorum", {"write_acks": "all", "exceeded": {"write_acks": "quorum"}}, "quorum", True),
        ("one", {"write_acks": "all", "exceeded": {"write_acks": "one"}}, "one", True),
        # The conditions do not say that HBase cannot use fewer acknowledgements.
        ("quorum", {"write_acks": "all"}, "quorum", False),
        # In the other system, the number of copies that confirm a write is lower than requested, or unknown.
        ("quorum", {"write_acks": "all", "exceeded": {"write_acks": "quorum"}}, "one", False),
        ("all", {"write_acks": "all"}, "quorum", False),
        ("quorum", {"write_acks": "all", "exceeded": {"write_acks": "quorum"}}, None, False),
    ],
)
def test_stricter_acks_are_fair_where_a_system_has_no_weaker_ones(
    tmp_path: Path, requested: str, hbase: dict[str, Any], setting: str | None, is_fair: bool
) -> None:
    folders = [trial(tmp_path, 1, "cassandra"), trial(tmp_path, 2, "hbase")]
    edit_json(folders[0] / "conditions.json", replication=3, write_acks=setting)
    edit_json(folders[1] / "conditions.json", replication=3, **hbase)
    summary = summarise(tmp_path)
    note = f"stricter write acks: hbase all, requested {requested}; unavoidable, favours the others"
    assert list(summary.unequal) == ([] if is_fair else ["write_acks"])
    assert (note in summary.notes) == is_fair
    assert any(reason.fatal and "write acks" in reason.text for reason in doubts(summary)) != is_fair


def test_a_system_with_stricter_settings_is_unequal(tmp_path: Path) -> None:
    stated = {"cassandra": "quorum", "hbase": "all", "mysql-innodb": "all"}
    for number, (system, acks) in enumerate(stated.items(), 1):
        exceeded = {"write_acks": "quorum"} if system == "hbase" else {}
        folder = trial(tmp_path, number, system)
        edit_json(folder / "conditions.json", replication=3, write_acks=acks, exceeded=exceeded)
    summary = summarise(tmp_path)
    assert list(summary.unequal["write_acks"].values()) == ["quorum", "all", "all"]
    assert not any(note.startswith("stricter") for note in summary.notes)


def test_small_data_is_said(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    note = "Small data: 10,000 records × 1,000 B = 10 MB, which fits in every cache; not a sizing result."
    assert note in rendered(summarise(tmp_path))
    edit_json(folder / "trial.json", trial_properties={"recordcount": "1000000", "fieldlength": "1000"})
    assert summarise(tmp_path).notes == []


def test_a_throughput_that_rises_or_falls_is_said(tmp_path: Path) -> None:
    def rounds(system: str, phase: str, *of_rounds: list[int]) -> None:
        for number, seconds in enumerate(of_rounds, start=1):
            position = len(list(tmp_path.glob("raw/*"))) + 1
            folder = trial(tmp_path, position, system, repeats=1, phases=(phase,), trial_round=number, trial_rounds=2)
            reads(folder / f"{phase}-1/node1", seconds)
            edit_json(folder / f"{phase}-1/node1/client.json", target=None)

    rounds("cassandra", "run", [1000] * 10 + [1200] * 10 + [1500] * 10, [800] * 10 + [900] * 10 + [1240] * 10)
    rounds("hbase", "run", [1000] * 20 + [750] * 10, [1000] * 20 + [750] * 10)
    summary = summarise(tmp_path)
    assert [trial.trends.get("run") for trial in summary.trials if trial.system == "cassandra"] == [1.5, 1.55]
    note = (
        "not steady: cassandra rose by 55 % in round 2, hbase fell by 25 % in round 1, first to last third of the"
        " window; set a longer warmuptime or duration"
    )
    assert note in summary.notes
    # A run with a target rate has no trend. A trend below a factor of 1.2, or in less than 15 s, may be due to chance.
    for folder in tmp_path.glob("raw/*-cassandra/run-1/node1"):
        edit_json(folder / "client.json", target=1000)
    for client in tmp_path.glob("raw/*-hbase/run-1/node1"):
        reads(client, [1000] * 20 + [850] * 10)
    assert not [notice for notice in summarise(tmp_path).notes if notice.startswith("not steady")]
    for client in tmp_path.glob("raw/*-hbase/run-1/node1"):
        reads(client, [1000] * 10 + [500] * 4)
    assert {len(trial.trends) for trial in summarise(tmp_path).trials if trial.system == "hbase"} == {0}


def test_of_two_phases_only_the_one_without_a_target_rate_can_be_unsteady(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1, phases=("max", "equal"))
    for phase, target in (("max", None), ("equal", 1000)):
        reads(folder / f"{phase}-1/node1", [1000] * 20 + [500] * 10)
        edit_json(folder / f"{phase}-1/node1/client.json", target=target)
    (note,) = [notice for notice in summarise(tmp_path).notes if notice.startswith("not steady")]
    assert "cassandra [max] fell by 50 %" in note
    assert "[equal]" not in note


def test_inserts_of_the_load_that_were_sent_again_are_told(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", hosts=("node1", "node2"))
    trial(tmp_path, 2, "hbase")
    edit_json(folder / "load/node1/client.json", retried_records=0, first_error=None)
    edit_json(folder / "load/node2/client.json", retried_records=1234, first_error="INSERT: WRITE_TIMEOUT: 2 of 3")
    note = "load: inserts that failed and were sent again: 1,234; first error: INSERT: WRITE_TIMEOUT: 2 of 3"
    summary = summarise(tmp_path)
    assert [note in trial.notes for trial in summary.trials] == [True, False]
    edit_json(folder / "load/node1/client.json", retried_records=2, first_error="INSERT: OVERLOADED: busy")
    notes = [note for trial in summarise(tmp_path).trials for note in trial.notes if note.startswith("load: ")]
    assert notes == ["load: inserts that failed and were sent again: 1,236; first error: INSERT: OVERLOADED: busy"]


def test_what_drivers_sent_again_and_how_clients_are_connected(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", hosts=("node1", "node2"), repeats=2)
    trial(tmp_path, 2, "hbase", repeats=2)
    figures = {"retries": 2, "event_loops": 7, "loop": "events"}
    for number, client in enumerate(sorted(folder.glob("run-*/*/client.json"))):
        edit_json(client, retried_requests=1000 * number, connections=7 + number, **figures)
    edit_json(folder / "trial.json", trial_properties={"recordcount": "10000", "retries": "2"})
    summary = summarise(tmp_path)
    first, without = summary.trials
    assert (first.conditions.retries, first.conditions.connections, first.conditions.event_loops) == (2, 10, 7)
    assert (without.conditions.retries, without.conditions.connections) == (None, None)
    assert [note for note in first.notes if "sent again" in note] == [
        "run: requests that failed and were sent again: 6,000"
    ]
    assert summary.unequal["retries"] == {"01-cassandra": "2", "02-hbase": "unknown"}
    for client in folder.glob("run-*/*/client.json"):
        edit_json(client, event_loops=0, retried_requests=0)
    summary = summarise(tmp_path)
    assert not [note for note in summary.trials[0].notes if "sent again" in note]


def test_what_was_sent_again_in_a_measured_load_counts_once(tmp_path: Path) -> None:
    for number, measured in enumerate([True, False], start=1):
        folder = trial(tmp_path, number, "cassandra", phases=("read",), trial_load={"measured": measured})
        edit_json(folder / "load/node1/client.json", retried_requests=7)
    for result in summarise(tmp_path).trials:
        notes = [note for note in result.notes if "sent again" in note]
        assert notes == ["load: requests that failed and were sent again: 7"]


def test_clients_that_retry_differently_did_not_do_the_same(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", hosts=("node1", "node2", "node3"), repeats=1)
    for client in folder.glob("run-1/*/client.json"):
        edit_json(client, retries=3 if client.parent.name == "node2" else 0)
    assert "on node2: the client ran a different scenario: retries 3 instead of 0" in str(
        summarise(tmp_path).trials[0].reason
    )


def test_rows_that_runs_have_inserted_must_be_there(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=2, hosts=("node1", "node2"))
    # Each run continues the counts of the previous one. Two inserts of the last run timed out.
    for run, host, inserted, uncertain in (
        ("run-1", "node1", 300, 0), ("run-1", "node2", 200, 0), ("run-2", "node1", 650, 0), ("run-2", "node2", 350, 2),
    ):  # fmt: skip
        edit_json(folder / run / host / "client.json", inserted=inserted, unacknowledged_inserts=uncertain)
    assert only(tmp_path).status == "ok"  # rows are not counted if a table is large
    matching: tuple[dict[str, int], ...] = (
        {"usertable": 10998},
        {"usertable": 11000},
        {"usertable0": 5500, "usertable1": 5499},
        {},
    )
    unknown = ({"usertable0": 5500, "usertable1": None}, {"usertable0": 5500, "usertable1": "many"})
    for rows in (*matching, *unknown):
        write_json(folder / "counted.json", {"seconds": 3, "rows": rows})
        assert only(tmp_path).status == "ok"
    expected = "expected 10,998 to 11,000 (10,000 loaded, 1,000 inserted, 2 unacknowledged)"
    for rows, message in (
        ({"usertable": 10997}, "missing rows after the runs: 1; usertable has 10,997,"),
        ({"usertable0": 5000, "usertable1": 5900}, "usertable0 has 5,000, usertable1 has 5,900,"),
        ({"usertable": 11001}, "surplus rows after the runs: 1; usertable has 11,001,"),
    ):
        write_json(folder / "counted.json", {"seconds": 3, "rows": rows})
        assert only(tmp_path).status == "invalid"
        assert message in str(only(tmp_path).reason)
        assert expected in str(only(tmp_path).reason)


def test_a_probes_inserts_are_expected_too_and_one_that_died_leaves_no_upper_bound(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    edit_json(folder / "run-1/node1/client.json", inserted=300, unacknowledged_inserts=0)
    shutil.copytree(folder / "run-1", folder / "probe-1")
    edit_json(folder / "probe-1/node1/client.json", inserted=500, unacknowledged_inserts=0)
    write_json(folder / "counted.json", {"rows": {"usertable": 10300}})
    assert "missing rows after the runs: 200;" in str(only(tmp_path).reason)
    # With requestdistribution=next, a read uses the key of a new record, which is then not inserted.
    edit_json(folder / "probe-1/node1/client.json", passed_over=200)
    assert only(tmp_path).status == "ok"
    edit_json(folder / "probe-1/node1/client.json", passed_over=0)
    shutil.copytree(folder / "run-1", folder / "probe-2")
    (folder / "probe-2/node1/client.json").unlink()
    write_json(folder / "counted.json", {"rows": {"usertable": 10700}})
    assert only(tmp_path).status == "ok"


def test_a_scaled_scenario_is_said_everywhere(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    assert "scale" not in rendered(summarise(tmp_path))
    edit_json(
        folder / "trial.json",
        trial_properties={"recordcount": "5000000000"},
        trial_scale="0.01",
        trial_full={"recordcount": "500000000000"},
    )
    summary = summarise(tmp_path)
    phrase = "scale 0.01 of 500,000,000,000 records"
    assert summary.notes == [f"{phrase}: not the full scenario"]
    for text in (rendered(summary), table.markdown(summary)):
        assert text.count(phrase) == 1  # only in the conditions
        assert f"S{phrase[1:]}: not the full scenario." in text
    heads, *cells = [line.split("|")[1:-1] for line in table.markdown(summary).splitlines() if line.startswith("|")]
    scale = [head.strip() for head in heads].index("scale")
    assert {line[scale].strip() for line in cells[1:] if len(line) == len(heads)} == {"0.01"}
    conditions = json.loads(summary.json())["trials"][0]["conditions"]
    assert (conditions["scale"], conditions["full_recordcount"]) == (0.01, 500_000_000_000)
    # Counts that need more than 32 bits must not be truncated.
    assert conditions["recordcount"] == 5_000_000_000
    lines = {(line["scale"], line["full_recordcount"], line["recordcount"]) for line in summary.lines()}
    assert lines == {(0.01, 500_000_000_000, 5_000_000_000)}


def test_the_columns_of_rows_and_conditions_have_different_names() -> None:
    assert not {field.name for field in fields(Row)} & {field.name for field in fields(Conditions)}


# Records in summary.json.
RECORDS = (
    *(Summary, Trial, Row, LoadCurve, Client, Node, Event, Conditions, Canary, CanaryFigure, Comparison, Drift),
    *(SetupDifferences, SetupDifference, FaultedRun, FaultCost, Healing, Published, PublishedFigure, Table),
    *(Search, Probe),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_is_documented(record: Any) -> None:
    documented = (ROOT / "docs/summary-json.md").read_text(encoding="utf-8")
    elsewhere = {"asked_workload", "asked_servers", "configured"}  # trial.json and conditions.json contain these fields
    assert [name for name in record.__match_args__ if f"`{name}`" not in documented and name not in elsewhere] == []


WRONG: tuple[Any, ...] = (
    *(None, "x", -1, 1e999, [], {}, [1], {"READ": 3, "node1": {"state": [], "start_ms": "x"}}),
    [{"name": None, "properties": 3, "threads": "x"}],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "key"),
    [
        *(("trial.json", ""), ("trial.json", "trial_search"), ("conditions.json", ""), ("state.json", "")),
        *(("read-1/node1/client.json", ""), ("read-1/clients.json", ""), ("load/node1/client.json", "")),
    ],
)
def test_evidence_of_the_wrong_types_does_not_crash(file: str, key: str, tmp_path: Path) -> None:
    """Replaces each value of a file, or of one of its objects."""
    settings = {"trial_discard": 1, "trial_point": {"batchsize": "1"}, "trial_round": 1, "trial_rounds": 2}
    about = {**settings, "phases": ("read",), "trial_load": {"name": "insert", "measured": True}}
    folder = searched(tmp_path, (2000, 1500), facts=about)
    write_json(folder / "read-1/clients.json", clients_json(("node1",)))
    for log in folder.rglob("*.hdr"):  # reading these logs takes a long time, and this test does not need them
        log.unlink()
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    inner = content[key] if key else content
    for name in inner:
        for value in WRONG:
            changed = {**inner, name: value}
            write_json(folder / file, {**content, key: changed} if key else changed)
            summary = summarise(tmp_path)
            rendered(summary)
            summary.csv()
            if key:
                on_screen(summary)
    write_json(folder / file, [])
    write(summarise(tmp_path), tmp_path)


def test_clients_read_by_several_processes_come_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=2, hosts=("node1", "node2", "node3"))
    (folder / "run-2/node3/READ.hdr").write_text("broken\n", encoding="utf-8")
    alone = summarise(tmp_path)
    monkeypatch.setattr(parallel_work, "WORTH_BYTES", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    together = summarise(tmp_path)
    assert any("run-2/node3/READ.hdr:1: " in warning for warning in together.warnings)
    assert together == alone


def test_a_run_whose_warm_up_ended_before_it_was_steady_is_said(tmp_path: Path) -> None:
    def measured(number: int, system: str, *runs: tuple[float, bool | None]) -> None:
        folder = trial(tmp_path, number, system, repeats=len(runs), trial_warmup=30)
        for run, (seconds, steady) in enumerate(runs, start=1):
            content = clients_json(("node1",), warmup_seconds=seconds, warmup_steady=steady)
            write_json(folder / f"run-{run}/clients.json", content)
            edit_json(folder / f"run-{run}/node1/client.json", warmup_seconds=seconds)

    measured(1, "cassandra", (30.0, False), (10.0, True))
    measured(2, "hbase", (30.0, None), (30.0, None))
    summary = summarise(tmp_path)
    cassandra, hbase = summary.trials
    assert (cassandra.warmups, cassandra.cold) == ({"run-1": 30.0, "run-2": 10.0}, ["run-1"])
    assert (cassandra.conditions.warmup_seconds, hbase.conditions.warmup_seconds) == (20.0, 30.0)
    assert hbase.cold == []
    note = "not steady when the warm-up ended: cassandra in 1 of 2 runs, after 30 s; set a longer warmuptime"
    assert note in summary.notes
    assert f"{note[0].upper()}{note[1:]}." in [reason.text for reason in doubts(summary)]
    # Neither a warm-up of fixed length nor one that was long enough causes this note.
    write_json(tmp_path / "raw/01-cassandra/run-1/clients.json", clients_json(("node1",), warmup_steady=True))
    assert not [notice for notice in summarise(tmp_path).notes if notice.startswith("not steady")]


def test_operations_that_were_due_and_never_sent_are_told(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=2, hosts=("node1", "node2"))
    trial(tmp_path, 2, "hbase")
    for client, missed in (("run-1/node1", 1200), ("run-1/node2", 34), ("run-2/node1", 0)):
        edit_json(folder / client / "client.json", missed_operations=missed)
    summary = summarise(tmp_path)
    note = "run: operations that were due in the window but were not sent in it: 1,234"
    assert [note in trial.notes for trial in summary.trials] == [True, False]


def test_rounds_under_other_conditions_show(tmp_path: Path) -> None:
    """The inventory may change before --resume, and trial.json does not contain it."""
    settings = [{"profile": "tuned", "memory_budget": "800 MiB"}, {"profile": "vanilla"}]
    for system in ("cassandra", "hbase"):
        for number, setting in enumerate(settings if system == "hbase" else settings[:1] * 2, start=1):
            folder = trial(tmp_path, number + 2 * (system == "hbase"), system, trial_round=number, trial_rounds=2)
            edit_json(folder / "conditions.json", **setting)
    summary = summarise(tmp_path)
    values = {trial.system: trial.conditions for trial in summary.compared}
    assert (values["cassandra"].profile, values["cassandra"].memory_budget) == ("tuned", "800 MiB")
    assert (values["hbase"].profile, values["hbase"].memory_budget) == ("tuned and vanilla", "800 MiB and unknown")
    assert {"profile", "memory_budget"} <= set(summary.unequal)


def test_a_client_that_is_bound_to_no_processors_shows_beside_one_that_is(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", hosts=("node1", "node2"))
    assert only(tmp_path).conditions.client_cpus is None
    for client in folder.glob("*/node1"):
        edit_json(client / "client.json", cpus="0-1")
    assert only(tmp_path).conditions.client_cpus == "0-1; all"
