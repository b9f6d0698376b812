"""Checks that evidence lost, changed or added after a trial is reported, and that the exit code is not 0."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dohyo.evidence import manifest
from dohyo.report import site
from support.command import dohyo, finished
from support.evidence import edit_json

DOCS = Path(__file__).parents[3] / "docs"
TRIAL = "raw/01-cassandra"


def remove(name: str) -> Callable[[Path], None]:
    def damage(trial: Path) -> None:
        path = trial / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def append(name: str) -> Callable[[Path], None]:
    def damage(trial: Path) -> None:
        (trial / name).parent.mkdir(parents=True, exist_ok=True)
        with (trial / name).open("a") as file:
            file.write("\n")

    return damage


def another_run(trial: Path) -> None:
    shutil.copytree(trial / "run-1", trial / "run-2")
    edit_json(trial / "state.json", status="done")


# Kinds of damage to a trial, by name, each with the first problem that must be reported.
DAMAGES = {
    "trial.json": (remove("trial.json"), "trial.json: is missing"),
    "state.json": (remove("state.json"), "state.json: is missing"),
    "conditions.json": (remove("conditions.json"), "conditions.json: is missing"),
    "load": (remove("load"), "load/node1/INSERT.hdr: is missing"),
    "run": (remove("run-1"), "run-1/node1/Intended-READ.hdr: is missing"),
    "log": (remove("run-1/node1/UPDATE.hdr"), "run-1/node1/UPDATE.hdr: is missing"),
    "changed": (append("run-1/node1/status.txt"), "run-1/node1/status.txt: was changed after the trial"),
    "added": (append("server/host/log"), "server/host/log: was added after the trial"),
    "another run": (another_run, "run-2/node1/Intended-READ.hdr: was added after the trial"),
    "manifest": (remove("manifest"), "manifest: is missing"),
    "manifest changed": (append("manifest"), "manifest: was changed after the trial"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished(tmp_path_factory.mktemp("original") / "it")
    assert dohyo("compare", folder, folder).err == ""
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_lost_evidence_is_named_and_the_trial_is_invalid(damage: str, original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "it")
    do, named = DAMAGES[damage]
    do(folder / TRIAL)
    answer = dohyo("report", folder)
    assert answer.code == 1
    assert f"warning: {folder / TRIAL}/{named}\n" in answer.err
    assert "01-cassandra: invalid: " in answer.err
    assert "02-hbase" not in answer.err
    assert "Only hbase has valid numbers" in (folder / "report.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["trial.json", "conditions.json", "load"])
def test_what_a_finished_trial_must_have_is_missed_without_a_manifest(name: str, tmp_path: Path) -> None:
    folder = finished(tmp_path / "it", sealed=False)
    assert dohyo("compare", folder, folder).err == ""
    remove(name)(folder / TRIAL)
    answer = dohyo("report", folder)
    assert (answer.code, f"01-cassandra: invalid: {name}: is missing" in answer.err) == (1, True), answer


@pytest.mark.parametrize("name", ["raw", TRIAL])
def test_trials_that_were_planned_and_are_gone_are_named(name: str, original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "it")
    shutil.rmtree(folder / name)
    answer = dohyo("report", folder)
    assert answer.code == 1
    assert f"warning: {folder / TRIAL}: its evidence is missing\n" in answer.err
    assert "01-cassandra: invalid: its evidence is missing\n" in answer.err


def test_a_resume_with_nothing_to_do_finds_it_too(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "it")
    (folder / TRIAL / "conditions.json").unlink()
    answer = dohyo("run", "--resume", folder)
    assert answer.code == 1
    assert "conditions.json: is missing" in answer.out
    assert '"status": "invalid"' in (folder / TRIAL / "state.json").read_text()
    # The new status of the trial is not reported as a change of its evidence.
    assert (folder / TRIAL / "state.json").read_text().count("manifest") == 1
    assert manifest.problems(folder / TRIAL, None) == ["conditions.json: is missing"]


def test_the_site_says_how_many_are_valid(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "results" / "it")
    (folder / TRIAL / "conditions.json").unlink()
    assert dohyo("site", tmp_path / "site", "--results", folder.parent).code == 0
    assert "1 of 2 trials valid" in (tmp_path / "site/index.html").read_text("utf-8")


def test_a_folder_of_trials_by_hand_has_its_table_and_its_report(original: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(original, tmp_path / "results" / "manual")
    for path in [folder / "experiment.json", folder / "scenario.properties", *folder.glob("raw/*/manifest")]:
        path.unlink()
    for state in folder.glob("raw/*/state.json"):
        state.write_text('{"status": "done", "reason": null}')
    for command in (("tabulate", folder), ("report", folder), ("site", tmp_path / "site", "--results", folder.parent)):
        answer = dohyo(*command)
        assert (answer.code, answer.err) == (0, ""), answer
    assert "\nmanual · 1 host" in dohyo("tabulate", folder).out
    assert "2 of 2 trials valid" in (tmp_path / "site/index.html").read_text("utf-8")
    shutil.copytree(original, folder.parent / "20261121-070000-workloadA")
    assert [path.name for path in site.experiments(folder.parent)] == ["20261121-070000-workloadA", "manual"]


@pytest.mark.parametrize("damaged", [False, True])
def test_sha256sum_checks_a_manifest(damaged: bool, tmp_path: Path) -> None:
    for name in ("a", "with space", "back\\slash", "two\nlines", "\udcff", "ü", ".hidden", "folder/b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(ascii(name))
    checksum = manifest.write(tmp_path)
    assert manifest.problems(tmp_path, checksum) == []
    if damaged:
        append("two\nlines")(tmp_path)
        assert manifest.problems(tmp_path, checksum) == ["two\\nlines: was changed after the trial"]
    result = subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "manifest"], cwd=tmp_path, check=False)
    assert (result.returncode != 0) == damaged


def test_many_problems_are_counted(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).touch()
    manifest.write(tmp_path)
    for path in tmp_path.glob("[0-9]*"):
        path.unlink()
    problems = manifest.problems(tmp_path, None)
    assert (len(problems), problems[-1]) == (21, "80 more files were changed or added, or are missing")


@pytest.mark.parametrize("name", ["experiment.json", "scenario.properties"])
def test_a_file_of_the_experiment_itself_that_is_lost_is_named(name: str, tmp_path: Path) -> None:
    folder = finished(tmp_path / "it")
    assert dohyo("report", folder).code == 0
    (folder / name).unlink()
    answer = dohyo("report", folder)
    assert (answer.code, f"{folder / name}: is missing" in answer.err) == (1, True), answer


def test_a_changed_scenario_is_named(tmp_path: Path) -> None:
    folder = finished(tmp_path / "it")
    file = folder / "scenario.properties"
    file.write_text(file.read_text("utf-8").replace("recordcount=10000", "recordcount=20000"), "utf-8")
    answer = dohyo("report", folder)
    assert (answer.code, f"{file}: was changed after the experiment began" in answer.err) == (1, True), answer
