"""`dohyo tabulate` on folders of logs from elsewhere."""

import csv
import gzip
import io
import json
import shutil
from pathlib import Path

import pytest

from dohyo.bad_input import BadInputError
from dohyo.evidence.rows import Row
from dohyo.summary.results import Trial
from dohyo.tables.tabulate import Format, collect, tabulate

STOCK = Path(__file__).parent / "data" / "stock"


def row(of: Trial, operation: str, phase: str = "run") -> Row:
    return next(each for each in of.rows if (each.phase, each.operation) == (phase, operation))


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
    assert all(trial.status == "ok" for trial in summary.trials)
    assert all(trial.conditions.clients == 1 for trial in summary.trials)


def test_histogram_logs_give_the_percentiles() -> None:
    (of,) = collect([STOCK / "hdr"]).trials
    assert row(of, "READ").latency_source == "histograms"
    assert row(of, "READ").p99_9_ms is not None
    assert of.conditions.threads == 2
    (of,) = collect([STOCK / "text"]).trials
    assert (row(of, "READ").latency_source, row(of, "READ").p99_9_ms) == ("log", None)


def test_stock_counts_of_errors() -> None:
    (of,) = collect([STOCK / "errors"]).trials
    assert (row(of, "READ").operations, row(of, "READ").errors, row(of, "READ").not_found) == (159, 5, 5)
    assert row(of, "READ-FAILED").errors is None
    assert (row(of, "OVERALL").operations, row(of, "OVERALL").records) == (300, None)
    assert (row(of, "OVERALL").errors, row(of, "OVERALL").not_found) == (15, 18)
    assert of.notes == [
        "20 records returned BATCHED_OK: success reported before the server had answered",
        "OVERALL includes failed operations, as the stock client counts",
    ]


def test_logs_of_one_folder_are_clients_of_one_run(tmp_path: Path) -> None:
    for client in ("a", "b"):
        copy("text/result.txt", tmp_path / f"{client}.out")
        copy("text/status.txt", tmp_path / f"{client}.err")
    later = (tmp_path / "b.err").read_text(encoding="utf-8").replace("05:48:03:", "05:48:13:")
    (tmp_path / "b.err").write_text(later, encoding="utf-8")
    (of,) = collect([tmp_path]).trials
    (one,) = collect([STOCK / "text"]).trials
    single, double = row(one, "READ"), row(of, "READ")
    assert double.operations == 2 * (single.operations or 0)
    assert double.ops_per_second == pytest.approx(2 * (single.ops_per_second or 0))
    assert (double.p99_ms, double.max_ms) == (None, single.max_ms)
    assert (of.status, of.conditions.clients, of.conditions.threads) == ("ok", 2, 2)
    assert of.notes[0].startswith("percentiles of 2 clients cannot be merged from text")


def test_load_and_run_in_one_folder_and_in_one_file(tmp_path: Path) -> None:
    copy("load/result.txt", tmp_path / "x/load.txt")
    copy("text/result.txt", tmp_path / "x/run.txt")
    text = (STOCK / "load/result.txt").read_bytes() + (STOCK / "text/result.txt").read_bytes()
    (tmp_path / "y").mkdir()
    (tmp_path / "y/all.log.gz").write_bytes(gzip.compress(text + text))
    x, y, again = collect([tmp_path / "x", tmp_path / "y"]).trials
    assert [trial.name for trial in (x, y, again)] == ["x", "y", "y #2"]
    assert x.rows == y.rows == again.rows
    assert {each.phase for each in x.rows} == {"load", "run"}


def test_a_client_that_broke_off_makes_the_run_incomplete(tmp_path: Path) -> None:
    copy("text/result.txt", tmp_path / "a.out")
    copy("text/status.txt", tmp_path / "a.err")
    copy("hdr/status.txt", tmp_path / "b.err")
    (of,) = collect([tmp_path]).trials
    assert (of.status, of.reason) == ("incomplete", "b.err has no results (2,000 operations)")
    assert row(of, "OVERALL").operations == 300


def test_status_lines_only_tell_what_is_known(tmp_path: Path) -> None:
    copy("hdr/status.txt", tmp_path / "status.txt")
    (of,) = collect([tmp_path]).trials
    assert of.status == "incomplete"
    assert of.reason == "status.txt: no results, 2,000 operations after 3 s"
    overall = row(of, "OVERALL")
    assert (overall.operations, overall.ops_per_second) == (2000, None)
    assert row(of, "READ").p99_ms is None
    assert row(of, "READ").max_ms is not None
    copy("hdr/READ.hdr", tmp_path / "READ.hdr")
    (of,) = collect([tmp_path]).trials
    assert row(of, "READ").p99_ms is not None


def test_histograms_that_do_not_belong_to_the_results_are_not_used(tmp_path: Path) -> None:
    copy("text/result.txt", tmp_path / "result.txt")
    copy("hdr/READ.hdr", tmp_path / "READ.hdr")
    summary = collect([tmp_path])
    assert row(summary.trials[0], "READ").latency_source == "log"
    assert "they are not used" in summary.warnings[0]
    (tmp_path / "result.txt").unlink()
    (of,) = collect([tmp_path]).trials
    assert (of.status, of.reason) == ("incomplete", "histogram logs without result lines")
    assert row(of, "READ").p99_ms is not None
    assert row(of, "READ").ops_per_second is None


def test_warnings_go_to_stderr_and_the_table_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = (STOCK / "text/result.txt").read_bytes()
    (tmp_path / "cut.txt").write_bytes(content[:-200])
    (tmp_path / "program.jar").write_bytes(b"PK\x03\x04\0\0\0\0[READ], Operations, 5\n")
    assert tabulate([tmp_path]) == 0
    out, err = capsys.readouterr()
    assert err.startswith(f"warning: {tmp_path / 'cut.txt'}:")
    assert "incomplete: cut.txt: the last line has no end and is left out" in out


@pytest.mark.parametrize("fmt", ["table", "md", "csv", "json"])
def test_formats(fmt: Format, capsys: pytest.CaptureFixture[str]) -> None:
    assert tabulate([STOCK / "text", STOCK / "hdr"], fmt) == 0
    out, err = capsys.readouterr()
    assert err == ""
    if fmt == "json":
        assert [trial["name"] for trial in json.loads(out)["trials"]] == ["text", "hdr"]
    elif fmt == "csv":
        assert {line["trial"] for line in csv.DictReader(io.StringIO(out))} == {"text", "hdr"}
    else:
        assert "OVERALL" in out


def test_nothing_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n", encoding="utf-8")
    assert tabulate([tmp_path]) == 1
    assert capsys.readouterr() == ("", f"nothing of YCSB in {tmp_path}\n")
    with pytest.raises(BadInputError, match="there is no folder"):
        tabulate([tmp_path / "missing"])
