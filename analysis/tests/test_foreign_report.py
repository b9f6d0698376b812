"""Tests `dohyo report FOLDER` on logs of other clients: it shows the usual charts if the logs contain their data."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from dohyo.bad_input import BadInputError
from dohyo.cli import cli
from dohyo.foreign import page as foreign
from dohyo.foreign.collection import UNKNOWN_CONDITIONS, collect
from dohyo.report import files, page
from dohyo.report.grammar import Chart, rows
from support.evidence import DATA, STOCK
from support.foreign_logs import GO, write


def charts(folder: Path) -> dict[str, Chart]:
    return {chart.name: chart for chart in foreign.gather(folder).charts}


def systems(chart: Chart) -> set[str]:
    return {row["system"] for name, table in chart.tables.items() if name != "events" for row in rows(table)}


def test_every_format_of_the_stock_client_is_charted_as_far_as_it_tells() -> None:
    drawn = charts(STOCK)
    every = {path.name for path in STOCK.iterdir()}
    assert systems(drawn["ranking"]) == every - {"errors"}
    assert systems(drawn["latency"]) == every
    # Only the run "hdr" has both several status lines and histogram logs.
    assert systems(drawn["over-time"]) == systems(drawn["percentiles"]) == {"hdr"}
    assert [panel.title for panel in drawn["heat"].panels] == ["hdr"]
    assert [panel.title for panel in drawn["over-time"].panels] == ["Throughput", "p99 of all operations"]
    assert sum(row["operations"] for row in rows(drawn["over-time"].tables["time"])) == pytest.approx(2000, rel=0.1)


def test_the_page_says_what_is_not_known_and_links_the_logs(tmp_path: Path) -> None:
    shutil.copytree(STOCK / "hdr", tmp_path / "a system")
    shutil.copytree(STOCK / "text", tmp_path / "b<i>")
    (written,) = files.write_report(foreign.gather(tmp_path), files.place(tmp_path, None), figures=False)
    assert written == tmp_path / page.FILE
    text = written.read_text("utf-8")
    assert f"<strong>Unknown:</strong> {UNKNOWN_CONDITIONS}." in text
    assert "is equal" not in text
    assert "b&lt;i&gt;: no percentile curve and no heat map, which need hdrhistogram.fileoutput=true" in text
    assert "<i>" not in text
    assert '<a href="a%20system/">a system</a>: evidence of this trial: ok' in text
    # A later report must not read the page as a log.
    assert [trial.name for trial in foreign.gather(tmp_path).summary.trials] == [
        f"{tmp_path.name}/a system",
        f"{tmp_path.name}/b<i>",
    ]


def test_the_page_may_go_elsewhere_and_links_the_logs_from_there(tmp_path: Path) -> None:
    shutil.copytree(STOCK / "text", tmp_path / "logs/x")
    (tmp_path / "out").mkdir()
    report = foreign.gather(tmp_path / "logs")
    (written,) = files.write_report(report, files.place(tmp_path / "logs", tmp_path / "out/page.html"), figures=False)
    assert 'href="../logs/x/"' in written.read_text("utf-8")
    assert not (tmp_path / "logs" / page.FILE).exists()
    with pytest.raises(BadInputError, match="is a folder; name the file"):
        files.place(tmp_path / "logs", tmp_path / "out")
    with pytest.raises(BadInputError, match="does not exist; create it"):
        files.place(tmp_path / "logs", tmp_path / "other/page.html")


def test_status_lines_of_several_clients_are_one_throughput_over_time(tmp_path: Path) -> None:
    result = (STOCK / "text/result.txt").read_text(encoding="utf-8")
    for client, rate, begin in (("a", 5, 0), ("b", 10, 20)):
        lines = [
            f"2026-11-21 05:{(begin + second) // 60:02}:{(begin + second) % 60:02}:000 {second} sec: {rate * second}"
            " operations; [READ: Count=1, Max=2, Min=0, Avg=1.00, 90=1]"
            for second in range(10, 61, 10)
        ]
        write(tmp_path / f"{client}.log", "\n".join([*lines, result.replace("574.6", f"{570 + rate}.6")]))
    report = foreign.gather(tmp_path)
    (trial,) = report.summary.trials
    assert (trial.status, trial.conditions.clients) == ("ok", 2)
    drawn = {chart.name: chart for chart in report.charts}["over-time"]
    assert [panel.title for panel in drawn.panels] == ["Throughput"]
    assert {row["time"]: row["operations"] for row in rows(drawn.tables["time"])} == {
        second: 5 if second < 20 else 15 if second < 60 else 10 for second in range(0, 80, 10)
    }
    assert "throughput only every 10 s, from status lines" in trial.notes[-1]
    # The status lines of one client are missing, so the sum would be too low.
    write(tmp_path / "b.log", result)
    assert charts(tmp_path)["over-time"].missing == (
        "No run or longer load has histogram logs or status lines, so nothing is known over time."
    )


def test_histogram_logs_of_several_clients_share_the_clock(tmp_path: Path) -> None:
    for client, later in (("a", 0), ("b", 2)):
        for source in [*(STOCK / "hdr").glob("[RU]*.hdr"), STOCK / "hdr/result.txt"]:
            text = source.read_text(encoding="utf-8")
            begun = re.search(r"StartTime: ([\d.]+)", text)
            if begun is not None:
                text = text.replace(begun[0], f"StartTime: {float(begun[1]) + later:.3f}")
            write(tmp_path / f"{client}-{source.name}", text)
    (run,) = collect([tmp_path]).runs
    assert {name: histogram.count for name, histogram in run.latencies.items()} == {"READ": 2014, "UPDATE": 1986}
    whole = {slot.start: slot.operations for slot in run.slots}
    assert sum(whole.values()) == 4000
    # The second client started and ended two seconds later than the first.
    assert max(whole) >= 5
    assert whole[2.0] > 1.5 * whole[1.0]


def test_the_logs_of_a_load_and_a_run_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    for source in ("dohyo/load", "stock/hdr"):
        for path in (DATA / source).iterdir():
            if path.suffix in (".hdr", ".txt") and not path.name.startswith("Intended"):
                shutil.copy(path, tmp_path / f"{Path(source).name}-{path.name}")
    report = foreign.gather(tmp_path)
    assert [trial.status for trial in report.summary.trials] == ["ok"]
    drawn = {chart.name: chart for chart in report.charts}
    assert set(drawn["over-time"].parts) == {"measured run", "load"}
    assert set(drawn["percentiles"].parts) == {"measured run", "load"}


def test_numbers_that_cannot_be_true_are_flagged_in_the_page(tmp_path: Path) -> None:
    text, reason = (STOCK / "text/result.txt").read_text(encoding="utf-8"), "a 32-bit counter has overflowed"
    write(tmp_path / "bad/result.txt", "2026-11-21 05:10:50:000 50 sec: -300 operations; \n" + text)
    write(tmp_path / "good/result.txt", text)
    result = CliRunner().invoke(cli, ["report", str(tmp_path)], standalone_mode=False)
    assert result.return_value == 1
    assert reason in result.stderr
    shown = (tmp_path / page.FILE).read_text("utf-8")
    assert re.search(rf'class="reason">invalid: [^<]*{reason}', shown)
    drawn = charts(tmp_path)
    assert systems(drawn["ranking"]) == {"good"}
    labels = {row["label"] for table in drawn["latency"].tables.values() for row in rows(table)}
    assert labels == {"bad · invalid", "good"}


def test_go_ycsb_is_charted_and_says_what_it_lacks(tmp_path: Path) -> None:
    lines = [line for line in GO.splitlines() if "99th(us): 0," not in line]
    write(tmp_path / "go.log", "\n".join([*lines, ""]))
    report = foreign.gather(tmp_path)
    (trial,) = report.summary.trials
    drawn = {chart.name: chart for chart in report.charts}
    assert trial.status == "ok"
    assert [row["mean"] for row in rows(drawn["ranking"].tables["ranking-0"])] == [
        pytest.approx(517 / 44.397, rel=1e-3)
    ]
    assert systems(drawn["latency"]) == {tmp_path.name}
    assert drawn["percentiles"].missing
    assert "no throughput over time, which needs status lines (-s)" in trial.notes[-1]


def test_the_runs_of_a_ranking_by_operations_are_drawn_as_operations(tmp_path: Path) -> None:
    text = (STOCK / "text/result.txt").read_text(encoding="utf-8")
    write(tmp_path / "batches/result.txt", f"{text}[OVERALL], Records, 30000\n")
    write(tmp_path / "scans/result.txt", text.replace("[READ]", "[SCAN]"))  # with an unknown number of records
    tables = charts(tmp_path)["ranking"].tables
    means = {row["system"]: row["mean"] for row in rows(tables["ranking-0"])}
    assert {row["system"]: row["value"] for row in rows(tables["ranking-0-runs"])} == means
    assert set(means) == {"batches", "scans"}


def test_a_folder_without_any_log_is_bad_input(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt", "nothing\n")
    with pytest.raises(BadInputError, match=r"is not an experiment .* and contains no YCSB log"):
        CliRunner().invoke(cli, ["report", str(tmp_path)], standalone_mode=False, catch_exceptions=False)
    assert not (tmp_path / page.FILE).exists()
    with pytest.raises(BadInputError, match="nor a folder with YCSB logs"):
        CliRunner().invoke(cli, ["report", str(tmp_path / "x")], standalone_mode=False, catch_exceptions=False)
