"""Tests the accounting for acknowledged writes: totals, texts, and reasons why a run is invalid."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from dohyo.bad_input import BadInputError
from dohyo.places import ROOT
from dohyo.scenario import loading
from dohyo.scenario.contradictions import STAMP_BYTES
from dohyo.summary.results import Trial
from dohyo.summary.summary import summarise
from dohyo.tables.conditions import readable
from support.evidence import edit_json, only, rendered, trial

GOOD = {
    "sample": 1, "acknowledged": 600_000, "maybe": 0, "reads": 1_500_000, "unknown_reads": 7, "stale_reads": 0,
    "unwritten_reads": 0, "corrupt_reads": 0, "keys": 10_000, "lost": 0, "missing": 0, "unwritten": 0, "corrupt": 0,
    "unreadable": 0, "read_back": True, "by_second": [], "examples": [],
}  # fmt: skip


def of_runs(
    experiment: Path, second: dict[str, Any] | None, first: dict[str, Any] | None = None, consistency: str = "strong"
) -> Trial:
    """Returns a trial of two runs. `first` and `second` replace fields of their accountings; None: no accounting."""
    folder = trial(experiment, 1, "cassandra")
    edit_json(folder / "conditions.json", consistency=consistency)
    edit_json(folder / "run-1/node1/client.json", accounting={**GOOD, **(first or {})})
    edit_json(folder / "run-2/node1/client.json", accounting=None if second is None else {**GOOD, **second})
    return only(experiment)


OF_TWO = "{} stale of 3,000,000 reads, {} lost of 1,200,000 acknowledged ({} records read back)"


def test_the_table_and_the_summary_have_the_sums(tmp_path: Path) -> None:
    result = of_runs(tmp_path, {"maybe": 3})
    assert (result.status, result.reason) == ("ok", None)
    sums = OF_TWO.format(0, 0, "20,000") + ", 3 maybe"
    summary = summarise(tmp_path)
    assert f"accounting {sums}" in " ".join(rendered(summary).split())
    (written,) = json.loads(summary.json())["trials"]
    assert written["accounting"]["unknown_reads"] == 14
    assert written["accounting"]["read_back"] is True


def test_without_accounts_there_are_none(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra")
    (result,) = summarise(tmp_path).trials
    assert result.accounting is None
    assert "accounting" not in rendered(summarise(tmp_path))


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ({"lost": 2, "examples": ["record 5 (user5) behind: old"]},
         "records whose acknowledged writes were lost: 2; first: record 5 (user5) behind: old"),
        ({"missing": 1}, "acknowledged records that were missing: 1"),
        ({"unwritten": 1}, "records with content that was never written: 1"),
        ({"unwritten_reads": 1}, "reads of content that was never written: 1"),
        ({"corrupt": 1}, "corrupt records: 1"),
        ({"corrupt_reads": 1}, "corrupt reads: 1"),
        ({"unreadable": 4, "read_back_error": "UNAVAILABLE: 2 of 3"},
         "records not read back: 4 (UNAVAILABLE: 2 of 3)"),
        ({"read_back": False}, "the records were not read back"),
        ({"stale_reads": 1}, "1 of 1,500,000 reads were stale, but the servers' consistency is strong"),
    ],
)  # fmt: skip
def test_what_makes_a_run_invalid(tmp_path: Path, counts: dict[str, Any], why: str) -> None:
    result = of_runs(tmp_path, counts)
    assert (result.status, result.reason) == ("invalid", f"run-2 on node1: {why}")


@pytest.mark.parametrize(
    ("first", "second", "status", "sums"),
    [
        # Stale reads are only a figure if less is promised.
        ({}, {"stale_reads": 5}, "ok", OF_TWO.format(5, 0, "20,000")),
        ({}, {"sample": 40}, "ok", OF_TWO.format(0, 0, "20,000") + ", 1 of 40 records"),
        # A loss is shown although another run read nothing back.
        ({"lost": 3}, {"read_back": False, "keys": 0, "unreadable": 10_000, "stale_reads": 2}, "invalid",
         OF_TWO.format(2, 3, "10,000") + ", not all read back"),
        # A client without an account has read nothing back.
        ({}, None, "ok", "0 stale of 1,500,000 reads, 0 lost of 600,000 acknowledged (10,000 records read back),"
         " not all read back"),
    ],
)  # fmt: skip
def test_the_sums_say_what_is_not_known(
    first: dict[str, Any], second: dict[str, Any] | None, status: str, sums: str, tmp_path: Path
) -> None:
    result = of_runs(tmp_path, second, first, "eventual")
    assert (result.status, str(result.accounting)) == (status, sums)
    assert "records not read back" not in str(result.reason)


def test_what_a_discarded_run_has_lost_is_shown(tmp_path: Path) -> None:
    of_runs(tmp_path, {}, {"lost": 3})
    edit_json(tmp_path / "raw/01-cassandra/trial.json", trial_discard=1)
    result = only(tmp_path)
    assert str(result.accounting) == OF_TWO.format(0, 3, "20,000")
    lost = "run-1 on node1: records whose acknowledged writes were lost: 3"
    assert (result.status, result.reason) == ("invalid", lost)


def test_stale_reads_of_a_repeat_that_others_disturbed_are_not_excused(tmp_path: Path) -> None:
    of_runs(tmp_path, {}, {"stale_reads": 1})
    (tmp_path / "raw/01-cassandra/run-1/disturbed.json").write_text('{"why": "run-1: other processes used 40%"}')
    stale = "run-1 on node1: 1 of 1,500,000 reads were stale, but the servers' consistency is strong"
    assert (only(tmp_path).reason or "").startswith(stale)


def test_the_line_of_a_matrix_is_the_sum_of_its_points(tmp_path: Path) -> None:
    result = of_runs(tmp_path, {})
    assert result.accounting is not None
    stale = replace(result, accounting=structs.replace(result.accounting, stale_reads=5))
    (line,) = [item.value for item in readable([result, result, stale, result, result]) if item.label == "accounting"]
    assert line == "5 stale of 15,000,000 reads, 0 lost of 6,000,000 acknowledged (100,000 records read back)"


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ("fieldlength=28", "with fieldlength=28: set fieldlength to 29 or more"),
        ("dataintegrity=true", "set only one of the two"),
        ("fieldlengthdistribution=uniform\nminfieldlength=28", "set minfieldlength to 29 or more"),
        ("fieldlengthdistribution=histogram", "leave out fieldlengthdistribution=histogram"),
    ],
)
def test_what_cannot_be_accounted_for_is_refused(tmp_path: Path, properties: str, why: str) -> None:
    file = tmp_path / "short.properties"
    file.write_text(f"systems=cassandra\nrecordcount=1000\nduration=5\nverify=acknowledged\n{properties}\n")
    with pytest.raises(BadInputError, match=why):
        loading.load(file)


def test_the_stamp_is_as_long_as_the_client_writes_it() -> None:
    java = ROOT / "ycsb-bindings/client/src/main/java/dohyo/workload/Stamp.java"
    assert f"LENGTH = {STAMP_BYTES};" in java.read_text(encoding="utf-8")
