"""Damages files of an experiment: an error names the file, the other files are reported, and the exit code is not 0."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from dohyo.cli import cli
from dohyo.evidence.result_lines import Operation
from dohyo.foreign.outcomes import operations_by_outcome
from dohyo.summary.summary import summarise
from support.command import without_rights
from support.evidence import STOCK, edit_json, trial, write_json
from support.foreign_logs import GO, write

LOG = "READ.hdr"


def first_interval(lines: list[str]) -> int:
    return next(index for index, line in enumerate(lines) if line[:1].isdigit())


def truncated(path: Path) -> str:
    text = path.read_text("utf-8").rstrip("\n")
    path.write_text(text[:-40], "utf-8")
    return f"{path.name}:{text.count(chr(10)) + 1}: "


def corrupt(path: Path) -> str:
    lines = path.read_text("utf-8").splitlines()
    index = first_interval(lines)
    lines[index] = lines[index][:-30] + "AAAA" + lines[index][-26:]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return f"{path.name}:{index + 1}: broken histogram"


def jumping(seconds: float) -> Callable[[Path], str]:
    def damage(path: Path) -> str:
        lines = path.read_text("utf-8").splitlines()
        index = first_interval(lines) + 1
        for number in range(index, len(lines)):
            stamp, _, rest = lines[number].partition(",")
            lines[number] = f"{float(stamp) + seconds:.3f},{rest}"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return f"{path.name}:{index + 1}: the clock jumped by {seconds:+,.0f} s"

    return damage


DAMAGES = {"truncated": truncated, "corrupt": corrupt, "ahead": jumping(7200), "back": jumping(-7200)}


def dohyo(*arguments: str) -> tuple[int, str]:
    """Runs a command, and returns its exit code and its stderr."""
    result = CliRunner().invoke(cli, list(arguments), standalone_mode=False, catch_exceptions=False)
    return result.return_value, result.stderr


def complaints(experiment: Path, command: str = "report") -> str:
    """Runs a command, whose exit code must be 1, and returns its stderr."""
    code, output = dohyo(command, str(experiment))
    assert code == 1
    return output


def two_trials(experiment: Path) -> Path:
    trial(experiment, 1, "cassandra", hosts=("node1", "node2"))
    trial(experiment, 2, "hbase", hosts=("node1", "node2"))
    return experiment


def statuses(experiment: Path) -> dict[str, str]:
    return {result.name: result.status for result in summarise(experiment).trials}


# ---- experiments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_histogram_log_costs_its_trial_the_numbers_and_no_other(damage: str, tmp_path: Path) -> None:
    path = two_trials(tmp_path) / "raw/01-cassandra/run-2/node2" / LOG
    named = DAMAGES[damage](path)
    assert statuses(tmp_path) == {"01-cassandra": "invalid", "02-hbase": "ok"}
    output = complaints(tmp_path)
    assert f"warning: {path.parent}/{named}" in output
    assert f"01-cassandra: invalid: run-2 on node2: {named}" in output
    page = (tmp_path / "report.html").read_text("utf-8")
    assert f"run-2 on node2: {named}" in page.replace("&#39;", "'")
    assert "Only hbase has valid numbers" in page


@pytest.mark.parametrize(
    ("name", "why"), [("READ.hdr", "READ.hdr contains 0 operations"), ("result.txt", "no result lines in result.txt")]
)
def test_an_empty_log_costs_its_trial_the_numbers(name: str, why: str, tmp_path: Path) -> None:
    two_trials(tmp_path)
    (tmp_path / "raw/02-hbase/run-1/node1" / name).write_text("", "utf-8")
    assert f"02-hbase: invalid: run-1 on node1: {why}" in complaints(tmp_path)
    assert statuses(tmp_path)["01-cassandra"] == "ok"


def test_a_client_with_a_different_scenario_is_named(tmp_path: Path) -> None:
    two_trials(tmp_path)
    edit_json(tmp_path / "raw/01-cassandra/run-1/node2/client.json", batchsize=100)
    why = "run-1 on node2: the client ran a different scenario: batchsize 100 instead of 1"
    assert why in complaints(tmp_path)
    assert statuses(tmp_path) == {"01-cassandra": "invalid", "02-hbase": "ok"}


def test_a_trial_of_another_experiment_is_named(tmp_path: Path) -> None:
    two_trials(tmp_path)
    write_json(tmp_path / "experiment.json", {"plan": ["01-cassandra"], "named": True})
    why = "raw/02-hbase belongs to another experiment: experiment.json plans 01-cassandra"
    assert why in complaints(tmp_path)
    assert statuses(tmp_path) == {"01-cassandra": "ok", "02-hbase": "invalid"}


@pytest.mark.parametrize(
    "name", ["keycolumns", "keysalt", "valueentropy", "insertorder", "hotspotdatafraction", "exponential.frac"]
)
def test_all_that_decides_what_is_asked_counts(tmp_path: Path, name: str) -> None:
    two_trials(tmp_path)
    path = tmp_path / "raw/02-hbase/trial.json"
    edit_json(path, trial_properties={**json.loads(path.read_text("utf-8"))["trial_properties"], name: "1"})
    problem = f"ran a different scenario than raw/01-cassandra: {name} 1 instead of not given"
    assert problem in summarise(tmp_path).json()


def test_trials_of_different_scenarios_are_named(tmp_path: Path) -> None:
    two_trials(tmp_path)
    path = tmp_path / "raw/02-hbase/trial.json"
    properties = json.loads(path.read_text("utf-8"))["trial_properties"]
    edit_json(path, trial_properties={**properties, "readproportion": "0.95"})
    expected = "raw/02-hbase ran a different scenario than raw/01-cassandra: readproportion 0.95 instead of not given"
    assert expected in complaints(tmp_path)
    edit_json(path, trial_properties=properties, trial_phases=[{"name": "run", "properties": {"scanproportion": "1"}}])
    assert "01-cassandra: run.scanproportion 1 instead of not given" in complaints(tmp_path)
    edit_json(path, trial_phases=[{"name": "run"}], trial_properties={**properties, "readproportion": "0.95"})
    # The trials of an experiment may differ in values of the matrix.
    edit_json(path, trial_point={"readproportion": "0.95"})
    edit_json(tmp_path / "raw/01-cassandra/trial.json", trial_point={"readproportion": "0.5"})
    assert dohyo("report", str(tmp_path)) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["raw/01-cassandra", "raw/01-cassandra/run-1", "raw/01-cassandra/run-1/node2"])
def test_a_folder_without_rights_is_named_and_the_others_are_reported(closed: str, tmp_path: Path) -> None:
    two_trials(tmp_path)
    (tmp_path / closed).chmod(0)
    result = without_rights("report", str(tmp_path))
    (tmp_path / closed).chmod(0o700)
    assert result.code == 1, result.err
    assert f"{tmp_path / closed}" in result.err
    assert "Permission denied" in result.err
    assert "01-cassandra: invalid: " in result.err
    assert "Only hbase has valid numbers" in (tmp_path / "report.html").read_text("utf-8")


def test_a_report_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    folder = two_trials(tmp_path / "experiment")
    folder.chmod(0o500)
    result = without_rights("report", str(folder))
    assert result.code == 2
    assert f"no permission to write the report to {folder}; use another path with --out FILE" in result.err
    result = without_rights("report", str(folder), "--out", str(tmp_path / "page.html"))
    folder.chmod(0o700)
    assert result.code == 0, result.err
    assert 'href="experiment/raw/01-cassandra/"' in (tmp_path / "page.html").read_text("utf-8")


def test_an_experiment_without_rights_is_left_out_of_the_site_and_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        trial(tmp_path / "results" / name, 1, "cassandra")
    (tmp_path / "results/a").chmod(0)
    result = without_rights("site", str(tmp_path / "site"), "--results", str(tmp_path / "results"))
    (tmp_path / "results/a").chmod(0o700)
    assert result.code == 1, result.err
    assert f"warning: {tmp_path}/results/a" in result.err
    index = (tmp_path / "site/index.html").read_text("utf-8")
    assert "b/report.html" in index
    assert "a/report.html" not in index


# ---- logs of other clients -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["tabulate", "report"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_histogram_log_of_others_is_named(damage: str, command: str, tmp_path: Path) -> None:
    shutil.copytree(STOCK / "hdr", tmp_path / "a")
    shutil.copytree(STOCK / "hdr", tmp_path / "b")
    assert dohyo(command, str(tmp_path)) == (0, "")
    named = DAMAGES[damage](tmp_path / "a" / LOG)
    assert f"warning: {tmp_path}/a/{named}" in complaints(tmp_path, command)


@pytest.mark.parametrize("command", ["tabulate", "report"])
def test_an_empty_log_of_others_makes_its_run_incomplete(command: str, tmp_path: Path) -> None:
    shutil.copytree(STOCK / "text", tmp_path / "a")
    shutil.copytree(STOCK / "text", tmp_path / "b")
    (tmp_path / "a/client-2.txt").write_text("", "utf-8")
    result = CliRunner().invoke(cli, [command, str(tmp_path)], standalone_mode=False, catch_exceptions=False)
    assert result.return_value == 1
    assert f"warning: {tmp_path}/a/client-2.txt: the file is empty" in result.stderr
    assert "incomplete: client-2.txt is empty" in result.output


@pytest.mark.parametrize("command", ["tabulate", "report"])
@pytest.mark.parametrize(("closed", "mode"), [("a", 0), ("a", 0o400), ("a/result.txt", 0)])
def test_what_is_closed_of_others_is_named(closed: str, mode: int, command: str, tmp_path: Path) -> None:
    shutil.copytree(STOCK / "text", tmp_path / "a")
    shutil.copytree(STOCK / "text", tmp_path / "b")
    (tmp_path / closed).chmod(mode)
    result = without_rights(command, str(tmp_path))
    (tmp_path / closed).chmod(0o700)
    assert result.code == 1, result.err
    assert f"warning: {tmp_path / closed}" in result.err
    assert "cannot be read: Permission denied" in result.err
    if command == "tabulate":
        assert any(line.startswith("1 b ") for line in result.out.splitlines()), result.out


@pytest.mark.parametrize("command", ["tabulate", "report"])
def test_a_folder_that_cannot_be_looked_at_is_bad_input(command: str, tmp_path: Path) -> None:
    (tmp_path / "closed/logs").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    result = without_rights(command, str(tmp_path / "closed/logs"))
    (tmp_path / "closed").chmod(0o700)
    assert result.code == 2
    assert f"{tmp_path}/closed/logs cannot be read: Permission denied" in result.err


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1e308", "0", "-5"])
@pytest.mark.parametrize(
    "position",
    [
        "takes 44.39704297s",
        "takes 44.39704297s|h",
        'threadcount"="8',
        'threadcount"="8|"\n"warmuptime"="',
        'threadcount"="8|"\n"target"="',
        'recordcount"="1000',
        "Count: 517",
        "Avg(us): 3331",
        "99th(us): 11000",
    ],
)
def test_no_number_in_a_log_of_others_is_a_traceback(position: str, number: str, tmp_path: Path) -> None:
    old, _, more = position.partition("|")
    head = old.rstrip("0123456789.sh")
    new = head + number + more if more in ("", "h") else old + more + number
    assert old in GO
    write(tmp_path / "a/go.txt", GO.replace(old, new))
    write(tmp_path / "b/go.txt", GO)
    assert CliRunner().invoke(cli, ["tabulate", str(tmp_path)], standalone_mode=False).exception is None


@pytest.mark.parametrize(("runtime", "throughput"), [("1e308", "100"), ("3000", "1e308"), ("9" * 300, "9" * 300)])
def test_totals_too_large_are_no_numbers(runtime: str, throughput: str, tmp_path: Path) -> None:
    overall = f"[OVERALL], RunTime(ms), {runtime}\n[OVERALL], Throughput(ops/sec), {throughput}\n"
    write(tmp_path / "a.txt", f"{overall}[READ], Operations, 300\n[READ], Return=OK, 300\n")
    assert "is not a number" in complaints(tmp_path, "tabulate")


def test_many_operation_types_take_no_square_of_the_time() -> None:
    types = {f"T{number}": Operation(operations=1) for number in range(20_000)}
    assert len(operations_by_outcome({**types, "T1-FAILED": Operation(operations=2)})) == 20_000
