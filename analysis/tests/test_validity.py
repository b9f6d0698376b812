"""Tests why runs are invalid (each reason states a figure, its limit and its time), and which runs are valid."""

import inspect
import json
import math
import random
import shutil
from pathlib import Path

import pytest

from dohyo.evidence.events import collapses
from dohyo.evidence.server_figures import FILE
from dohyo.operations import calls
from dohyo.places import ROOT
from dohyo.summary import validity
from dohyo.summary.results import Trial
from dohyo.summary.summary import summarise
from dohyo.summary.trust import doubts
from support.evidence import (
    DATA,
    clients_json,
    edit_json,
    explained,
    in_rounds,
    on_screen,
    only,
    reads,
    trial,
    write_json,
    write_log,
)
from support.evidence import run_of as run_of_client

# Throughput of the published load that stalled, in steps of ten seconds until the client gave up after 310 s.
# The values from 20 s to 230 s were not published; a straight line replaces them.
PUBLISHED_COLLAPSE = [
    *(36055, *(round(33831 - (33831 - 22939) * line / 21) for line in range(22))),
    *(12946, 4759, 984, 262, 60, 16.6, 35.1, 40.5),
]


def run_of(experiment: Path, counts: list[int], **options: list[int]) -> Trial:
    """Returns a trial with a single run, which has these numbers of reads per second after a warm-up of one second."""
    reads(trial(experiment, 1, "cassandra", repeats=1) / "run-1/node1", counts, **options)  # type: ignore[arg-type]
    return only(experiment)


def noise(mean: float, seconds: int, relative: float, seed: int = 1) -> list[int]:
    rng = random.Random(seed)  # noqa: S311  a simulation
    return [max(0, round(rng.gauss(mean, relative * mean))) for _ in range(seconds)]


def test_the_published_collapse() -> None:
    series = [round(count) for count in PUBLISHED_COLLAPSE for _ in range(10)]
    mean = sum(series) / len(series)
    assert collapses(series, warmup=0) == [f"seconds 240–310 (down to 17 of {mean:,.0f} op/s)"]
    assert 21_000 < mean < 22_000
    # A collapse is found as soon as it has lasted long enough, even before the end of the series.
    assert collapses(series[:240], 0)
    assert not collapses(series[:239], 0)


@pytest.mark.parametrize(
    "series",
    [
        noise(5000, 600, 0.3),
        # Two compactions of nine seconds each.
        [5000] * 60 + [900] * 9 + [5000] * 60 + [900] * 9 + [5000] * 60,
        # A compaction that lowers the rate by 40 % for five minutes.
        [5000] * 300 + [3000] * 300,
        # A system whose rate falls to a third.
        [round(9000 - 6000 * second / 600) for second in range(600)],
        # Pauses of four seconds every 30 seconds.
        ([2000] * 26 + [0] * 4) * 10,
        # A system that reaches its target rate in bursts.
        [1000 + round(900 * math.sin(second / 3)) for second in range(300)],
        # A rate so low that seconds without operations occur by chance.
        [0] * 12 + [8] * 48,
    ],
    ids=["noise", "short dips", "long but shallow", "slowing", "pauses", "bursts", "few"],
)
def test_what_is_no_collapse(series: list[int]) -> None:
    assert collapses(series, 0) == []


def test_a_run_that_collapses_counts_with_the_collapse_and_a_shorter_dip_is_an_event(tmp_path: Path) -> None:
    result = run_of(tmp_path / "long", [1000] * 20 + [100] * 10 + [1000] * 10)
    assert (result.status, result.collapses) == ("ok", ["run 1, seconds 21–31 (down to 100 of 775 op/s)"])
    (overall,) = (row for row in result.rows if (row.phase, row.operation) == ("run", "OVERALL"))
    assert overall.ops_per_second == pytest.approx(775)
    (reason,) = (reason for reason in doubts(summarise(tmp_path / "long")) if reason.short == "collapsed")
    assert reason.text == (
        "Collapsed: cassandra in run 1, seconds 21–31 (down to 100 of 775 op/s); below half the mean for 10 s or more;"
        " these seconds count."
    )
    assert [str(event) for event in result.events] == [
        "run 1, seconds 21–31: throughput below half of the mean (down to 100 of 775 op/s)"
    ]
    result = run_of(tmp_path / "short", [1000] * 20 + [100] * 9 + [1000] * 11)
    assert (result.status, len(result.events), result.collapses) == ("ok", 1, [])
    # The log ends with the last response, which was before the end of the run.
    result = run_of(tmp_path / "to the end", [1000] * 20 + [0] * 12)
    assert result.collapses == ["run 1, seconds 21–33 (down to 0 of 625 op/s)"]


@pytest.mark.parametrize("cause", ["errors", "server", "client"])
def test_a_system_that_failed_under_load_in_one_round_is_not_judged_by_the_others(tmp_path: Path, cause: str) -> None:
    """The rounds that the system survived must not decide alone, unless the client caused the failure."""
    counts = {"cassandra": 2000, "hbase": 1000}
    for turn, system, folder in in_rounds(tmp_path, 3, counts):
        reads(folder / "run-1/node1", [counts[system] + turn] * 10)
    last = tmp_path / "raw/05-cassandra"
    why = "52 of 1000 records (5.20 %) failed, above maxerrorrate=0.001; the first error was: timeout"
    if cause == "errors":
        edit_json(last / "run-1/node1/client.json", valid=False, exit=5, reason=why)
    elif cause == "client":
        edit_json(last / "run-1/node1/client.json", valid=False, exit=4, reason=why)
    else:
        nodes = {"node1": {"state": "ended", "reason": why}}
        write_json(last / "run-1/clients.json", {"valid": False, "failure": why, "nodes": nodes})
    summary = summarise(tmp_path)
    result = next(trial for trial in summary.compared if trial.system == "cassandra")
    assert why in (result.reason or "")
    assert (result.reason or "").startswith("round 3: run-1")
    failed = cause != "client"
    assert (result.status, result.system_failed) == ("failed" if failed else "invalid", failed)
    assert {row.phase for row in result.rows} == ({"load"} if failed else {"load", "run"})
    assert bool(summary.comparisons) != failed
    assert ("– cassandra  failed: round 3: " in on_screen(summary)) == failed


def test_preconditioning_that_failed_or_is_missing(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", trial_precondition={"name": "precondition", "properties": {}})
    assert (only(tmp_path).status, only(tmp_path).reason) == ("invalid", "the preconditioning left no results")
    client = folder / "precondition-1/node1"
    run_of_client(DATA / "dohyo/run", client)
    assert only(tmp_path).status == "ok"
    edit_json(client / "client.json", valid=False, reason="too many records failed", exit=5)
    result = only(tmp_path)
    assert (result.status, result.system_failed) == ("failed", True)
    assert result.reason == "precondition-1 on node1: too many records failed"


def test_a_discarded_run_may_collapse(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=2, trial_discard=1)
    reads(folder / "run-1/node1", [1000] * 20 + [100] * 15 + [1000] * 10)
    assert (only(tmp_path).status, only(tmp_path).collapses) == ("ok", [])


@pytest.mark.parametrize("measured", [True, False])
def test_a_load_that_collapses_is_flagged_and_counts(tmp_path: Path, measured: bool) -> None:
    """The progress of a measured load is a result, so a collapse must be visible."""
    folder = trial(tmp_path, 1, "cassandra", repeats=1, phases=() if measured else ("run",))
    load = folder / "load/node1"
    reads(load, [round(count / 100) for count in PUBLISHED_COLLAPSE for _ in range(3)])
    for file in ("result.txt", "client.json"):
        text = (load / file).read_text(encoding="utf-8")
        (load / file).write_text(text.replace("READ", "INSERT"), encoding="utf-8")
    (load / "READ.hdr").rename(load / "INSERT.hdr")
    (load / "INSERT.hdr").write_text((load / "INSERT.hdr").read_text("utf-8").replace("READ", "INSERT"), "utf-8")
    result = only(tmp_path)
    assert result.status == "ok"
    assert [str(event) for event in result.events] == [
        "load, seconds 72–93: throughput below half of the mean (down to 0 of 219 op/s)"
    ]
    # The reasons below the verdict include the collapse of a load only if the load is measured.
    assert result.collapses == (["load, seconds 72–93 (down to 0 of 219 op/s)"] if measured else [])
    reasons = [reason.short for reason in doubts(summarise(tmp_path))]
    assert ("collapsed" in reasons) == measured


def test_records_that_were_not_found(tmp_path: Path) -> None:
    none = [0] * 10
    result = run_of(tmp_path / "many", [1000] * 10, not_found=[*none[:4], 8, 5, *none[6:]])
    assert result.reason == (
        "run-1: 13 of 10,013 records (0.13%) were not found, above maxnotfoundrate=0.001;"
        " in seconds 5–7, most in second 5 (8)"
    )
    assert run_of(tmp_path / "few", [1000] * 10, not_found=[10, *none[1:]]).status == "ok"


@pytest.mark.parametrize(
    ("skew", "allowed", "late"), [(49.9, None, False), (50.1, None, True), (-60, None, True), (90, 100, False)]
)
def test_one_of_several_clients_that_began_late(tmp_path: Path, skew: float, allowed: float | None, late: bool) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1, hosts=("node1", "node2"))
    edit_json(folder / "run-1/node1/client.json", skew_ms=skew)
    edit_json(folder / "load/node1/client.json", skew_ms=9000)  # clients may begin a load late
    if allowed is not None:
        write_json(folder / "run-1/clients.json", clients_json(("node1", "node2"), offset_limit_ms=allowed))
    result = only(tmp_path)
    side = "before" if skew < 0 else "after"
    began = f"run-1 on node1: the client began {abs(skew):,.0f} ms {side} the agreed instant"
    message = f"{began}; at most 50 ms is allowed"
    assert (result.status, result.reason) == (("invalid", message) if late else ("ok", None))


@pytest.mark.parametrize(
    ("skew", "warmup", "duration", "most"),
    [
        (1049.0, 1.0, 3, None), (1051.0, 1.0, 3, 1050), (-60.0, 0.0, 3, 50), (51.0, 0.0, 3, 50), (51.0, 0.0, None, 50),
        # If the run ends after a number of operations, the window begins with the first operation.
        (900.0, 0.0, 0, None), (900.0, 0.0, "0", None), (1051.0, 0.0, 0, 1050),
        (-900.0, 0.0, 0, 50), (-900.0, 1.0, 3, 50),
    ],
)  # fmt: skip
def test_a_client_that_is_alone_may_be_late_until_its_window(
    tmp_path: Path, skew: float, warmup: float, duration: int | str | None, most: int | None
) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    edit_json(folder / "trial.json", **({} if duration is None else {"trial_duration": duration}))
    edit_json(folder / "run-1/node1/client.json", skew_ms=skew, warmup_seconds=warmup)
    result = only(tmp_path)
    side = "before" if skew < 0 else "after"
    began = f"run-1 on node1: the client began {abs(skew):,.0f} ms {side} the agreed instant"
    message = f"{began}; at most {most:,} ms is allowed" if most else None
    assert (result.status, result.reason) == ("invalid" if most else "ok", message)


@pytest.mark.parametrize(("hosts", "late"), [(("node1",), False), (("node1", "node2"), True)])
def test_a_load_that_is_measured_begins_with_the_first_record_of_a_client_that_is_alone(
    tmp_path: Path, hosts: tuple[str, ...], late: bool
) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=0, hosts=hosts, trial_phases=[])
    edit_json(folder / "load/node1/client.json", skew_ms=362.0)
    assert (only(tmp_path).reason or "").startswith("load on node1: the client began 362 ms") == late


@pytest.mark.parametrize("agreed", [1.0, None])
def test_a_client_that_measured_in_another_window(tmp_path: Path, agreed: float | None) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    stated = {} if agreed is None else {"warmup_seconds": agreed}
    write_json(folder / "run-1/clients.json", clients_json(("node1",), **stated))
    edit_json(folder / "run-1/node1/client.json", warmup_seconds=1.04)
    assert only(tmp_path).status == "ok"
    edit_json(folder / "run-1/node1/client.json", warmup_seconds=30)
    result = only(tmp_path)
    message = "run-1 on node1: its window began 30.0 s after the agreed instant, but the run's 1.0 s after it"
    assert (result.status, result.reason) == (("ok", None) if agreed is None else ("invalid", message))


def test_attempted_is_succeeded_and_failed(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    edit_json(folder / "run-1/node1/client.json", operations=5990, failed_operations=7)
    assert only(tmp_path).reason == (
        "run-1 on node1: 6,000 operations attempted, but 5,990 succeeded, 7 failed: 3 missing"
    )
    edit_json(folder / "run-1/node1/client.json", operations=6000, failed_operations=0)
    assert only(tmp_path).status == "ok"


def test_the_records_of_a_type_are_those_of_its_result_lines(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    file = folder / "run-1/node1/client.json"
    by_type = json.loads(file.read_text())["operations_by_type"]
    by_type["READ"]["records"] += 1
    edit_json(file, operations_by_type=by_type)
    (result,) = summarise(tmp_path).trials
    assert result.reason is not None
    assert "records of READ, but the result lines" in result.reason


def test_too_many_errors_have_a_place_in_time(tmp_path: Path) -> None:
    """Uses real logs of a run in which a server was unavailable for a few seconds."""
    folder = trial(tmp_path, 1, "cassandra", repeats=1, hosts=("host1",))
    shutil.rmtree(folder / "run-1/host1")
    shutil.copytree(DATA / "cluster/outage/run-1/host1", folder / "run-1/host1")
    edit_json(
        folder / "run-1/host1/client.json", valid=False, reason="8 of 252 records failed", failed_operations=8,
        warmup_seconds=2.0,
    )  # fmt: skip
    reason = only(tmp_path).reason or ""
    assert reason.startswith("run-1 on host1: 8 of 252 records failed; failed operations in seconds 6–")
    assert ", most in second " in reason


def test_compactions_before_the_first_run(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    explained(folder / "server", "cassandra", FILE)
    for step, pending in (("load", 0), ("run-1", 5)):
        (folder / "server/node1/stats" / step).mkdir(parents=True)
        write_json(folder / "server/node1/stats" / step / "stats-metrics.json", metrics(pending))
    assert only(tmp_path).status == "ok"  # compactions after a run do not matter
    write_json(folder / "server/node1/stats/load/stats-metrics.json", metrics(3))
    assert (only(tmp_path).status, only(tmp_path).reason) == (
        "invalid",
        "compactions were still pending after settling, before the first run: node1 3; 0 are allowed",
    )


def metrics(pending: int) -> dict[str, dict[str, int]]:
    return {"org.apache.cassandra.metrics:name=PendingTasks,type=Compaction": {"Value": pending}}


# Intervals of a log, each with its start (s), length (s), operations and latency (s). The window lasts 20 s.
STEADY = [(float(second), 1.0, 100, 0.5) for second in range(20)]


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ({"READ": STEADY}, None),
        # Responses after the end of the window, including errors after operationtimeout.
        ({"READ": [*STEADY, (20.0, 1.0, 3, 0.9), (24.0, 1.0, 5, 4.5)], "READ-FAILED": [(29.0, 1.0, 9, 10.0)]}, None),
        # Clients that were delayed at the beginning or at the end of the window.
        ({"READ": [(0.0, 7.0, 700, 0.5), *STEADY[7:]]}, None),
        ({"READ": [*STEADY[:14], (14.0, 9.0, 600, 0.001)]}, None),
        # No successful operation in the second half of the window; rare operation types.
        ({"READ": [*STEADY[:10], *((float(second), 1.0, 0, 0.5) for second in range(10, 20))]}, None),
        ({"READ": STEADY, "SCAN": [(19.0, 1.0, 1, 0.5)], "INSERT": STEADY[:1]}, None),
        # The update of a read-modify-write begins only after the response to its read.
        ({"READ": STEADY, "UPDATE": [(25.0, 1.0, 1, 0.5)], "READ-MODIFY-WRITE": [(25.0, 1.0, 1, 6.0)]}, None),
        ({"READ": STEADY, "UPDATE": [(25.0, 1.0, 1, 0.5)]}, "operations in the histogram logs began after 24.5 s"),
        ({"READ": [*STEADY, (24.0, 1.0, 5, 0.5)]}, "operations in the histogram logs began after 23.5 s"),
        ({"READ": [*STEADY, (24.0, 1.0, 5, 4.5)], "SCAN": [(40.0, 1.0, 1, 0.5)]}, "began after 39.5 s"),
        ({"READ": STEADY[:18]}, "the histogram logs end after 18.0 s"),
        ({"READ": STEADY[:18], "UPDATE": STEADY[:3]}, "the histogram logs end after 18.0 s"),
    ],
)
def test_the_window_is_that_of_the_histogram_logs(
    tmp_path: Path, logs: dict[str, list[tuple[float, float, int, float]]], message: str | None
) -> None:
    client = trial(tmp_path, 1, "cassandra", repeats=1) / "run-1/node1"
    for old in client.glob("*.hdr"):
        old.unlink()
    result = ["[OVERALL], RunTime(ms), 20000"]
    for name, intervals in logs.items():
        counts = [(begin, seconds, {round(1e6 * latency): count}) for begin, seconds, count, latency in intervals]
        write_log(client, name, counts)
        count = sum(operations for *_, operations, _ in intervals)
        result.append(f"[{name}], Operations, {count}")
        if "MODIFY" not in name:
            result.append(f"[{name.partition('-')[0]}], Return={name}, {count}")
    total = calls({name: sum(operations for *_, operations, _ in entries) for name, entries in logs.items()})
    (client / "result.txt").write_text("\n".join([*result, f"[OVERALL], Operations, {total}"]) + "\n")
    edit_json(
        client / "client.json", measured_seconds=20.0, operations=None, records=None, operations_by_type={}, target=0
    )
    reason = only(tmp_path).reason
    assert message in (reason or "") if message else reason is None


def test_a_round_that_is_a_copy_does_not_count(tmp_path: Path) -> None:
    for number, counts in enumerate(([100] * 20, [200] * 20, [100] * 20), start=1):
        reads(trial(tmp_path, number, "cassandra", 1, trial_round=number, trial_rounds=3) / "run-1/node1", counts)
    assert [trial.status for trial in summarise(tmp_path).trials] == ["ok"] * 3  # equal rates do not prove a copy
    shutil.copytree(tmp_path / "raw/01-cassandra/run-1", tmp_path / "raw/03-cassandra/run-1", dirs_exist_ok=True)
    summary = summarise(tmp_path)
    why = "its histogram logs contain the same intervals as those of raw/01-cassandra/run-1/node1; one is a copy"
    reasons = [trial.reason for trial in summary.trials]
    assert reasons == [None, None, f"raw/03-cassandra/run-1/node1: {why}"]
    (row,) = (row for row in summary.merged[0].rows if (row.phase, row.operation) == ("run", "OVERALL"))
    assert row.ops_per_second_samples == [100.0, 200.0]


@pytest.mark.parametrize(("later", "status"), [(0.0, "invalid"), (3.0, "invalid"), (20.0, "ok")])
def test_windows_of_two_systems_may_not_overlap(tmp_path: Path, later: float, status: str) -> None:
    for _, system, folder in in_rounds(tmp_path, 1, ("cassandra", "hbase")):
        reads(folder / "run-1/node1", [100] * 10)
        agreed = 1795266533.14 + later * (system == "hbase")
        write_json(folder / "run-1/clients.json", clients_json(("node1",), agreed=agreed))
    first, second = summarise(tmp_path).trials
    assert (first.status, second.status) == ("ok", status)
    if status == "invalid":
        assert second.reason == "raw/02-hbase/run-1: was measured at the same time as raw/01-cassandra/run-1"


def test_the_table_of_the_checks_is_written_from_their_list() -> None:
    page = (ROOT / "docs" / "method.md").read_text("utf-8")
    assert f"\n{validity.table()}\n" in page, "update it: ./dohyo checks"


def test_every_check_is_in_the_list() -> None:
    """`CHECKS` must contain every function that takes the facts of a run or a trial."""
    functions = inspect.getmembers(validity, inspect.isfunction)
    takes = {name: {*inspect.get_annotations(function).values()} for name, function in functions}
    written = {name for name, kinds in takes.items() if kinds & {"Phase", "TrialFolder"}}
    written -= {"disturbing", "problems", "run_problems", "of_another_experiment", "outside_the_experiment"}
    kinds = ("of_evidence", "of_client", "of_run", "of_trial")
    listed = {method.__name__ for check in validity.CHECKS for kind in kinds if (method := getattr(check, kind))}
    assert listed == written
    assert "saturated" in listed


def test_a_failed_trial_outside_the_experiment_keeps_its_reason_and_its_losses(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    reads(folder / "run-1/node1", [100] * 3)
    account = {"sample": 1, "acknowledged": 3000, "lost": 2700, "keys": 3000, "read_back": True}
    edit_json(folder / "run-1/node1/client.json", valid=False, reason="too many errors", exit=5, accounting=account)
    times = {"started": "2026-11-23T12:00:00+00:00", "finished": "2026-11-23T13:00:00+00:00"}
    edit_json(folder / "state.json", **times)
    write_json(tmp_path / "experiment.json", {"started": "2026-11-24T12:00:00+00:00"})
    (result,) = summarise(tmp_path).trials
    assert (result.status, result.reason) == ("failed", "run-1 on node1: too many errors")
    assert result.accounting is not None
    assert result.accounting.lost == 2700
    # Numbers that were measured outside the time of the experiment do not count.
    edit_json(folder / "run-1/node1/client.json", valid=True, reason=None, exit=0, accounting=None)
    (result,) = summarise(tmp_path).trials
    assert (result.status, result.reason[:31] if result.reason else "") == (
        "invalid",
        "state.json: the trial lasted fr",
    )


def test_a_phase_that_is_called_as_the_probes_of_a_search_ends_no_summary(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    edit_json(folder / "trial.json", trial_phases=[{"name": "probe"}], trial_search={"slo": "p99<10ms"})
    (folder / "run-1").rename(folder / "probe-1")
    (result,) = summarise(tmp_path).trials
    assert result.status == "invalid"


def test_a_file_with_very_many_faults_is_named_a_few_times(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    edit_json(folder / "conditions.json", server_settings={f"key{number}": [number] for number in range(300)})
    warnings = [warning for warning in summarise(tmp_path).warnings if "conditions.json" in warning]
    assert 1 < len(warnings) < 50
