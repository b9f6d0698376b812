"""Checks that reports and sites describe an experiment as running only while it runs."""

import json
import os
from pathlib import Path

import pytest

from dohyo.evidence import experiment_folder
from dohyo.report import files
from dohyo.running import experiment
from dohyo.running.experiment import write_json
from support.command import dohyo, finished, measuring


def unfinished(folder: Path) -> Path:
    """Creates an experiment in which the second trial has not ended."""
    finished(folder, sealed=False)
    write_json(folder / "raw/02-hbase/state.json", {"status": "running"})
    facts = json.loads((folder / "experiment.json").read_text())
    write_json(folder / "experiment.json", {**facts, "status": "running"})
    return folder


def test_an_experiment_is_labelled_while_it_lasts_and_no_longer(tmp_path: Path) -> None:
    results = tmp_path / "results"
    older, newer = finished(results / "1-older", sealed=False), unfinished(results / "2-newer")
    with measuring(newer) as process:
        assert experiment_folder.running(newer) == process.pid
        assert experiment_folder.running(older) is None
        answer = dohyo("report", newer)
        text = "still being measured: 1 of 2 trials are over"
        assert f"warning: 2-newer, process {process.pid}: {text}\n" in answer.err
        assert answer.code == 1
        assert f"{text[:1].upper()}{text[1:]}." in (newer / "report.html").read_text("utf-8").partition("</header>")[0]
        assert dohyo("site", tmp_path / "site", "--results", results).code == 0
        index = (tmp_path / "site/index.html").read_text("utf-8")
        assert (index.count(text), index.count("Still being measured.")) == (1, 1)
        # Without an ID, the command uses the newest experiment that has ended.
        assert dohyo("report", results=results).out.strip() == str(older / "report.html")
    # After its run was killed, the experiment still has the status "running", although no process measures it.
    assert experiment_folder.running(newer) is None
    answer = dohyo("report", results=results)
    assert (answer.code, answer.out.strip(), "still being" in answer.err) == (1, str(newer / "report.html"), False)
    assert "02-hbase: running: not finished" in answer.err


def test_the_page_that_the_measuring_process_writes_is_of_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(tmp_path / "results/it", sealed=False)
    monkeypatch.setattr(experiment, "RESULTS", folder.parent)
    with experiment.only_one() as measuring:
        measuring(folder)
        assert experiment_folder.running(folder) == os.getpid()
        (page,) = files.write(folder)
    assert "till being measured" not in page.read_text("utf-8").partition("</header>")[0]


def test_where_nothing_has_ended_yet_the_report_says_so(tmp_path: Path) -> None:
    folder = unfinished(tmp_path / "results" / "it")
    with measuring(folder):
        answer = dohyo("report", results=folder.parent)
        assert (answer.code, "it is still being measured" in answer.err) == (2, True)


def test_a_lock_that_is_no_file_is_nobodys(tmp_path: Path) -> None:
    folder = unfinished(tmp_path / "results" / "it")
    for make in (Path.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.write_text("1\n/x\n")):
        make(folder.parent / ".lock")
        assert experiment_folder.running(folder) is None
        (folder.parent / ".lock").rename(tmp_path / str(len(list(tmp_path.iterdir()))))
