"""Tests `dohyo tabulate` on folders with logs of other clients."""

import csv
import gzip
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from dohyo.bad_input import BadInputError
from dohyo.foreign import collection
from dohyo.foreign.tabulate import Format, tabulate
from support.evidence import STOCK, row
from support.foreign_logs import GO, collect, write


def copy(source: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(STOCK / source, target)


def test_every_subfolder_is_one_system() -> None:
    summary = collect([STOCK])
    assert [trial.name for trial in summary.trials] == [
        f"stock/{name}"
        for name in ("both", "errors", "hdr", "hdrraw", "histogram", "json", "jsonarray", "load", "raw", "text",
                     "timeseries", "verbose")
    ]  # fmt: skip
    assert summary.warnings == []
    assert [trial.name for trial in summary.trials if trial.status != "ok"] == ["stock/errors"]
    assert all(trial.conditions.clients == 1 for trial in summary.trials)


def test_logs_of_one_folder_are_clients_of_one_run(tmp_path: Path) -> None:
    for client in ("a", "b"):
        copy("text/result.txt", tmp_path / f"{client}.out")
        copy("text/status.txt", tmp_path / f"{client}.err")
    later = (tmp_path / "b.err").read_text(encoding="utf-8").replace("05:48:03:", "05:48:04:")
    (tmp_path / "b.err").write_text(later, encoding="utf-8")
    other = (tmp_path / "b.out").read_text(encoding="utf-8").replace("574.6", "575.6")
    (tmp_path / "b.out").write_text(other, encoding="utf-8")
    (trial,) = collect([tmp_path]).trials
    (single_trial,) = collect([STOCK / "text"]).trials
    single, double = row(single_trial, "READ"), row(trial, "READ")
    assert double.operations == 2 * (single.operations or 0)
    assert double.ops_per_second == pytest.approx(2 * (single.ops_per_second or 0))
    assert (double.p99_ms, double.max_ms) == (None, single.max_ms)
    assert (trial.status, trial.conditions.clients, trial.conditions.threads) == ("ok", 2, 2)
    assert trial.notes[0].startswith("percentiles of 2 clients cannot be merged from text")


def test_load_and_run_in_one_folder_and_in_one_file(tmp_path: Path) -> None:
    copy("load/result.txt", tmp_path / "x/load.txt")
    copy("text/result.txt", tmp_path / "x/run.txt")
    text = (STOCK / "load/result.txt").read_bytes() + (STOCK / "text/result.txt").read_bytes()
    (tmp_path / "y").mkdir()
    (tmp_path / "y/all.log.gz").write_bytes(gzip.compress(text + text))
    x, y, again = collect([tmp_path / "x", tmp_path / "y"]).trials
    assert [trial.name for trial in (x, y, again)] == ["x", "y", "y #2"]
    assert x.rows == y.rows == again.rows
    assert {line.phase for line in x.rows} == {"load", "run"}


def test_a_client_that_broke_off_makes_the_run_incomplete(tmp_path: Path) -> None:
    copy("text/result.txt", tmp_path / "a.out")
    copy("text/status.txt", tmp_path / "a.err")
    copy("hdr/status.txt", tmp_path / "b.err")
    (trial,) = collect([tmp_path]).trials
    assert (trial.status, trial.reason) == ("incomplete", "b.err has no results (2,000 operations)")
    assert row(trial, "OVERALL").operations == 300


def test_a_client_without_a_single_operation_failed_with_its_first_exception(tmp_path: Path) -> None:
    (tmp_path / "ycsb.log").write_text(
        "Command line: -t -db site.ycsb.db.CassandraCQLClient -P workloada -threads 2\n"
        'Exception in thread "Thread-2" com.datastax.driver.core.exceptions.NoHostAvailableException: All failed\n'
        "\tat com.datastax.driver.core.Cluster.connect(Cluster.java:1)\n"
        'Exception in thread "Thread-3" java.lang.IllegalStateException: closed\n'
        "[OVERALL], RunTime(ms), 5012\n[OVERALL], Throughput(ops/sec), 0.0\n[CLEANUP], Operations, 2\n",
        encoding="utf-8",
    )
    (trial,) = collect([tmp_path]).trials
    assert (trial.status, trial.rows) == ("failed", [])
    assert trial.reason == (
        "ycsb.log: no operation succeeded: com.datastax.driver.core.exceptions.NoHostAvailableException: All failed"
    )
    assert tabulate([tmp_path]) == 1


def test_status_lines_only_tell_what_is_known(tmp_path: Path) -> None:
    copy("hdr/status.txt", tmp_path / "status.txt")
    (trial,) = collect([tmp_path]).trials
    assert trial.status == "incomplete"
    assert trial.reason == "status.txt: no results, 2,000 operations after 3 s"
    overall = row(trial, "OVERALL")
    assert (overall.operations, overall.ops_per_second) == (2000, None)
    assert row(trial, "READ").p99_ms is None
    assert row(trial, "READ").max_ms is not None
    copy("hdr/READ.hdr", tmp_path / "READ.hdr")
    (trial,) = collect([tmp_path]).trials
    assert row(trial, "READ").p99_ms is not None


def test_histograms_that_do_not_belong_to_the_results_are_not_used(tmp_path: Path) -> None:
    copy("text/result.txt", tmp_path / "result.txt")
    copy("hdr/READ.hdr", tmp_path / "READ.hdr")
    summary = collect([tmp_path])
    assert row(summary.trials[0], "READ").latency_source == "log"
    assert "READ: histogram logs (unused) have " in summary.warnings[0]
    (tmp_path / "result.txt").unlink()
    (trial,) = collect([tmp_path]).trials
    assert (trial.status, trial.reason) == ("incomplete", "histogram logs without result lines")
    assert row(trial, "READ").p99_ms is not None
    assert row(trial, "READ").ops_per_second is None


def test_warnings_go_to_stderr_and_the_table_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = (STOCK / "text/result.txt").read_bytes()
    (tmp_path / "cut.txt").write_bytes(content[:-200])
    (tmp_path / "program.jar").write_bytes(b"PK\x03\x04\0\0\0\0[READ], Operations, 5\n")
    assert tabulate([tmp_path]) == 1
    out, err = capsys.readouterr()
    passed_over, warning = err.splitlines()
    assert passed_over == f"not read (not text; unpack archives with logs): {tmp_path / 'program.jar'}"
    assert warning.startswith(f"warning: {tmp_path / 'cut.txt'}:")
    assert "incomplete: cut.txt: the last line has no newline and is left out" in out


@pytest.mark.parametrize("fmt", ["table", "md", "csv", "json"])
def test_tabulate_prints_every_format(fmt: Format, capsys: pytest.CaptureFixture[str]) -> None:
    assert tabulate([STOCK / "text", STOCK / "hdr"], fmt) == 0
    out, err = capsys.readouterr()
    assert err == ""
    if fmt == "json":
        assert [trial["name"] for trial in json.loads(out)["trials"]] == ["text", "hdr"]
    elif fmt == "csv":
        assert {line["trial"] for line in csv.DictReader(io.StringIO(out))} == {"text", "hdr"}
    else:
        assert re.search(r"^ *– text +[0-9,]+ ", out, re.MULTILINE)
        assert ("OVERALL" in out) == (fmt == "md")


def test_details_come_before_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert tabulate([STOCK / "text", STOCK / "hdr"], details=True) == 0
    out, _ = capsys.readouterr()
    assert out.index("OVERALL") < out.index("– text ")


def test_tabulate_without_logs_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n", encoding="utf-8")
    assert tabulate([tmp_path]) == 1
    named = f"not read (no output of YCSB): {tmp_path / 'notes.txt'}\n"
    assert capsys.readouterr() == ("", f"{named}no YCSB logs in {tmp_path}\n")
    with pytest.raises(BadInputError, match="there is no folder"):
        tabulate([tmp_path / "missing"])


def test_go_ycsb_of_old_says_what_its_run_came_to_and_what_is_beyond_its_buckets(tmp_path: Path) -> None:
    write(tmp_path / "go.log", GO)
    summary = collect([tmp_path])
    (trial,) = summary.trials
    reads, updates = row(trial, "READ"), row(trial, "UPDATE")
    assert (reads.operations, updates.operations, row(trial, "OVERALL").operations) == (517, 483, 1000)
    assert row(trial, "OVERALL").ops_per_second == pytest.approx(1000 / 44.397)
    assert (reads.mean_ms, reads.max_ms) == (3.331, 271.1)
    assert (reads.p99_ms, reads.p99_9_ms) == (None, None)  # only five operations were slower than the p99
    assert (updates.p99_ms, trial.conditions.threads) == (None, 8)
    assert (trial.status, summary.warnings[0]) == (
        "invalid",
        f"{tmp_path}/go.log:12: UPDATE: 99th(us) of 0 is below the minimum: it exceeds the last bucket, 1.024 s",
    )


def test_go_ycsb_of_today_in_plain_text_and_json_with_errors_and_a_sum_of_all(tmp_path: Path) -> None:
    values = {"Takes(s)": "84.1", "Count": "16236", "OPS": "193.0", "Avg(us)": "18222", "Min(us)": "12",
              "Max(us)": "32991", "50th(us)": "18367", "90th(us)": "25311", "95th(us)": "25807", "99th(us)": "29215",
              "99.9th(us)": "31727", "99.99th(us)": "32751"}  # fmt: skip
    plain = ", ".join(f"{key}: {value}" for key, value in values.items())
    names = ("READ  ", "READ_ERROR", "TOTAL ")
    write(tmp_path / "plain/a.txt", "Run finished, takes 1m24.17s\n" + "".join(f"{n} - {plain}\n" for n in names))
    rows = [{"Operation": name.strip(), **values} for name in names]
    write(tmp_path / "json/a.txt", f"Run finished, takes 1m24.17s\n{json.dumps(rows, separators=(',', ':'))}\n")
    first, second = collect([tmp_path]).trials
    assert first.rows == second.rows
    assert [line.operation for line in first.rows] == ["OVERALL", "READ", "READ-FAILED"]
    assert row(first, "OVERALL").operations == 16236
    assert row(first, "READ").p99_9_ms == 31.727
    assert row(first, "READ").ops_per_second == pytest.approx(16236 / 84.17)


def test_go_ycsb_that_broke_off_is_incomplete(tmp_path: Path) -> None:
    write(tmp_path / "go.log", GO[: GO.index("Run finished")])
    (trial,) = collect([tmp_path]).trials
    assert trial.status == "incomplete"
    assert "the line 'Run finished' is missing" in (trial.reason or "")
    assert row(trial, "READ").operations == 125


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[OVERALL], Throughput(ops/sec), ", "[OVERALL], Throughput(ops/sec), -", "a 32-bit counter has overflowed"),
        ("[READ], 99thPercentileLatency(us), ", "[READ], 99thPercentileLatency(us), 1.5", "computed, not measured"),
        ("[READ], 95thPercentileLatency(us), ", "[READ], 95thPercentileLatency(us), 99999", "below a lower one"),
        ("[READ], AverageLatency(us), ", "[READ], AverageLatency(us), 99999", "is above the maximum"),
    ],
)
def test_numbers_that_cannot_be_true_are_named_with_line_and_reason(
    old: str, new: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (STOCK / "text/result.txt").read_text(encoding="utf-8")
    lines = [f"{new}{li.removeprefix(old).split('.')[0]}" if li.startswith(old) else li for li in text.splitlines()]
    assert lines != text.splitlines()
    write(tmp_path / "a/result.txt", "\n".join(lines) + "\n")
    copy("text/result.txt", tmp_path / "b/result.txt")
    assert tabulate([tmp_path], "json") == 1
    out, err = capsys.readouterr()
    bad, good = json.loads(out)["trials"]
    assert (bad["status"], good["status"]) == ("invalid", "ok")
    assert reason in bad["reason"]
    assert f"{tmp_path}/a/result.txt:" in err


def client(path: Path, begin: str, command: str = "-db basic -P workloads/workloada -threads 2 -t") -> None:
    """Writes the output of a stock client (stdout and stderr). `begin` is the minute in which its run began."""
    status = (
        f"Command line: {command}\n2026-11-21 05:{begin}:10:000 10 sec: 150 operations; \n"
        f"2026-11-21 05:{begin}:50:000 50 sec: 300 operations; \n"
    )
    result = (STOCK / "text/result.txt").read_text(encoding="utf-8")
    write(path, status + result.replace("574.6", f"57{path.name.encode()[0] % 10}.6"))


def test_clients_that_did_not_run_at_the_same_time_are_named(tmp_path: Path) -> None:
    client(tmp_path / "a.log", "10")
    client(tmp_path / "b.log", "30")
    (trial,) = collect([tmp_path]).trials
    assert trial.status == "invalid"
    assert "a.log ended at 2026-11-21 05:10:50, before b.log began at 2026-11-21 05:30:00" in (trial.reason or "")
    late = (tmp_path / "b.log").read_text(encoding="utf-8")
    write(tmp_path / "b.log", late.replace("05:30:10", "05:10:47").replace("05:30:50", "05:11:27"))
    (trial,) = collect([tmp_path]).trials
    assert "a.log ended at 2026-11-21 05:10:50, only 13 s after b.log began at 2026-11-21 05:10:37" in str(trial.reason)
    write(tmp_path / "b.log", late.replace("05:30:10", "05:10:30").replace("05:30:50", "05:11:10"))
    (trial,) = collect([tmp_path]).trials
    assert trial.status == "ok"
    assert "clients began up to 20 s apart: the sum of their rates was reached only while all ran" in trial.notes
    (trial,) = collection.collect([tmp_path], repeats=True).summary.trials
    assert not [note for note in trial.notes if note.startswith("clients")]
    client(tmp_path / "b.log", "10")
    (trial,) = collect([tmp_path]).trials
    assert (trial.status, trial.reason) == ("ok", None)


@pytest.mark.parametrize("repeats", [False, True])
def test_a_copy_of_a_log_does_not_count(tmp_path: Path, repeats: bool) -> None:
    client(tmp_path / "a.log", "10")
    shutil.copy(tmp_path / "a.log", tmp_path / "a.log.bak")
    (trial,) = collection.collect([tmp_path], repeats=repeats).summary.trials
    assert (trial.status, trial.reason) == ("invalid", "a.log.bak has the same results as a.log: one is a copy")


def test_histograms_of_another_run_with_as_many_operations_are_not_used(tmp_path: Path) -> None:
    copy("hdr/result.txt", tmp_path / "result.txt")
    shutil.copytree(STOCK / "hdr", tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.txt"))
    assert row(collect([tmp_path]).trials[0], "READ").latency_source == "histograms"
    text = (tmp_path / "result.txt").read_text(encoding="utf-8")
    write(tmp_path / "result.txt", re.sub(r"(\[READ\], MaxLatency\(us\), )\d+", r"\g<1>9999999", text))
    summary = collect([tmp_path])
    assert row(summary.trials[0], "READ").latency_source == "log"
    assert summary.warnings[0].endswith(" operations up to 9,999,999 µs")
    write(tmp_path / "result.txt", re.sub(r"\[READ\], Operations, .*\n", "", text))
    assert row(collect([tmp_path]).trials[0], "READ").latency_source == "log"


def test_target_rates_that_differ_between_clients_are_still_targets(tmp_path: Path) -> None:
    for number, target in enumerate(("5", "20")):
        write(
            tmp_path / f"{number}.log",
            GO.replace('"threadcount"', f'"target"="{target}"\n"threadcount"').replace("3331", f"333{number}"),
        )
    (trial,) = collect([tmp_path]).trials
    assert (trial.conditions.clients, trial.conditions.target) == (2, 12.5)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("-db basic -P workloads/workloadb -threads 2 -t",
         "b.log ran a different scenario than a.log: -P workloadb instead of -P workloada"),
        ("-db other -P workloads/workloada -threads 2 -t",
         "b.log ran a different experiment than a.log: -db other instead of -db basic"),
        ("-db basic -P workloads/workloada -p recordcount=5 -threads 2 -t",
         "recordcount 5 instead of recordcount not given"),
        ("-db basic -P workloads/workloada -threads 4 -target 100 -t",
         "a different scenario than a.log: -threads 4, -target 100 instead of -threads 2, -target not given"),
    ],
)  # fmt: skip
def test_a_client_of_another_scenario_or_experiment_is_named(command: str, reason: str, tmp_path: Path) -> None:
    client(tmp_path / "a.log", "10", "-db basic -P /else/workloada -p insertstart=0 -threads 2 -t")
    client(tmp_path / "b.log", "10", command)
    (trial,) = collect([tmp_path]).trials
    assert trial.status == "invalid"
    assert reason in (trial.reason or "")


def test_a_clock_that_jumps_is_named_with_its_line_and_does_not_move_the_run(tmp_path: Path) -> None:
    client(tmp_path / "a.log", "10")
    text = (tmp_path / "a.log").read_text(encoding="utf-8").replace("05:10:50", "06:10:50")
    write(tmp_path / "a.log", text)
    summary = collect([tmp_path])
    assert summary.warnings == [f"{tmp_path}/a.log:3: the clock of the client's host jumped by +3,600 s"]
    assert summary.trials[0].reason == "a.log:3: the clock of the client's host jumped by +3,600 s"
