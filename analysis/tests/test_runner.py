"""Tests which deployments and trials run, and in which order. Ansible is replaced."""

import errno
import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dohyo.ansible.playbook import Failure
from dohyo.bad_input import BadInputError
from dohyo.report import files
from dohyo.running import experiment, rounds, runner
from dohyo.scenario import loading
from dohyo.signals import Interruption
from dohyo.summary.results import Summary
from dohyo.summary.summary import summarise
from dohyo.systems.catalogue import all_systems
from support.rounds import Signals
from support.summaries import failed, of
from support.summaries import measured as measured_trial

SMALL = "recordcount=1000\noperationcount=1000\nsystems=cassandra,hbase\n"


def measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, broken: str = "", nth: int = 0
) -> tuple[experiment.Experiment, list[str]]:
    """Runs an experiment. Returns the experiment and the playbooks that were run.

    :param broken: playbooks whose call contains this text fail
    :param nth: which one of the matching playbooks fails, counted from 1; 0: all of them fail
    """
    played: list[str] = []

    def play(name: str, inventory: Path | None, log: Path, **options: Any) -> Failure | None:
        values = options.get("variables", {})
        subject = values.get("trial_name") or ",".join(values.get("deploy_systems", []))
        variables = ",".join(f"{key}={value}" for key, value in values.items() if key.startswith("cassandra_"))
        played.append(" ".join(filter(None, (name.removesuffix(".yml"), subject, variables))))
        alike = [line for line in played if broken in line and line.split()[0] == name.removesuffix(".yml")]
        if broken and broken in played[-1] and name != "stop.yml" and nth in (0, len(alike)):
            return Failure("no such version", log)
        return None

    monkeypatch.setattr(runner, "play", play)
    created = create(folder, text)
    carry_out(created)
    return created, played


def create(folder: Path, text: str) -> experiment.Experiment:
    """Creates an experiment from the text of a scenario."""
    folder.mkdir(exist_ok=True)
    (folder / "small").write_text(text)
    chosen = loading.load(folder / "small")
    return experiment.create(chosen, experiment.new_folder(chosen, folder / "here"), {"inventory": None})


def carry_out(created: experiment.Experiment) -> int:
    """Runs an experiment, and returns the exit code. The output goes to the file `said` beside its folder."""
    with (created.folder.parent / "said").open("w") as output:
        measurement = runner._Measurement(created, created.trials, runner.Options(), Signals(), Console(file=output))
        return measurement.carry_out()


def test_without_a_matrix_everything_is_deployed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, played = measured(tmp_path, monkeypatch, SMALL + "rounds=2\ncassandra_heap=2g\n")
    assert played == [
        "deploy cassandra,hbase cassandra_heap=2g",
        "trial 01-cassandra cassandra_heap=2g",
        "trial 02-hbase cassandra_heap=2g",
        "trial 03-hbase cassandra_heap=2g",
        "trial 04-cassandra cassandra_heap=2g",
    ]


@pytest.mark.parametrize(
    ("more", "broken"),
    [("", "trial 02-"), ("rounds=2\nreuse=data\n", ""), ("duration=5\nfaults=kill(node1)@1s,start(node1)@2s\n", "")],
)
def test_the_end_stops_what_a_trial_may_have_left(
    more: str, broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Covers a failed trial, loads that were kept, and faults that may have left hosts switched off."""
    _, played = measured(tmp_path, monkeypatch, SMALL + more, broken=broken or "no such")
    assert played[-1] == "stop"
    assert played.count("stop") == 1


def test_the_end_stops_nothing_where_an_earlier_trial_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, played = measured(tmp_path, monkeypatch, SMALL, broken="trial 01")
    assert played == ["deploy cassandra,hbase", "trial 01-cassandra", "stop", "trial 02-hbase"]


def test_the_end_of_a_trial_prints_its_result_and_a_broken_one_prints_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes = {
        "01-cassandra": measured_trial("cassandra", 32485.0),
        "02-hbase": failed("hbase", "run-1: no log", "invalid"),
    }

    def pretended(folder: Path, *, only: set[str]) -> Summary:
        return (
            of(replace(fakes[name], round=1)) if (name := next(iter(only))) in fakes else summarise(folder, only=only)
        )

    monkeypatch.setattr(runner, "summarise", pretended)
    measured(tmp_path, monkeypatch, SMALL)
    output = (tmp_path / "said").read_text()
    assert "\ncassandra  32,485 op/s  p99 1.2 ms read, 1.2 ms update  (0:00)\n" in output
    assert "\nhbase      no valid numbers: run-1: no log  (0:00)\n" in output
    measured(tmp_path / "again", monkeypatch, SMALL + "rounds=2\n")
    assert "1.2 ms update  (round 1, 0:00)\n" in (tmp_path / "again/said").read_text()


@pytest.mark.parametrize("keeps_versions", [True, False])
def test_each_version_is_deployed_before_anything_is_measured_and_again_where_another_has_replaced_it(
    keeps_versions: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(all_systems()["cassandra"]), "keeps_versions", keeps_versions)
    _, played = measured(tmp_path, monkeypatch, SMALL + "matrix.cassandra_version=4.1.10,5.0.9\n")
    assert played == [
        "deploy cassandra cassandra_version=5.0.9",
        "deploy hbase",
        "deploy cassandra cassandra_version=4.1.10",
        "trial 01-cassandra-cassandra_version=4.1.10 cassandra_version=4.1.10",
        "trial 02-hbase",
        *(["deploy cassandra cassandra_version=5.0.9"] if not keeps_versions else []),
        "trial 03-cassandra-cassandra_version=5.0.9 cassandra_version=5.0.9",
    ]


def test_a_version_that_fails_to_deploy_costs_others_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created, played = measured(tmp_path, monkeypatch, SMALL + "matrix.cassandra_version=4.1.10,9.9\n", broken="9.9")
    assert [playbook for playbook in played if playbook.startswith("trial")] == [
        "trial 01-cassandra-cassandra_version=4.1.10 cassandra_version=4.1.10",
        "trial 02-hbase",
    ]
    # The first two trials have no results because no client ran; they become invalid only at the end.
    assert [created.state(trial) for trial in created.trials] == ["invalid", "invalid", "failed"]
    state = json.loads((created.trial_folder(created.trials[2]) / "state.json").read_text())
    assert state["reason"] == "provisioning: no such version"
    assert "cassandra cassandra_version=9.9 failed while" in (tmp_path / "said").read_text()


def test_a_deployment_that_failed_before_a_trial_is_repeated_before_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failed deployment may have left a different version or profile, which the next trial would use."""
    monkeypatch.setattr(type(all_systems()["cassandra"]), "keeps_versions", False)
    text = SMALL.replace(",hbase", "") + "matrix.cassandra_version=4.1.10,5.0.9\nmatrix.threadcount=1,2\n"
    _, played = measured(tmp_path, monkeypatch, text, broken="5.0.9", nth=2)
    deployed = "deploy cassandra cassandra_version=5.0.9"
    trials = [number for number, playbook in enumerate(played) if playbook.startswith("trial")]
    # The deployment before the third trial failed.
    assert played[trials[1] + 1 : trials[2]] == [deployed, "stop", deployed]
    assert "04-cassandra" in played[trials[2]]


def test_the_next_playbook_begins_no_earlier_than_servers_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    class Playbook:
        def __init__(self, name: str, _: Path | None, folder: Path, variables: Any, *, waits: bool) -> None:
            assert waits
            self.variables, self.title = variables, f"{name} {folder.name}"
            happened.append(f"begin {self.title}")

        def __enter__(self) -> "Playbook":
            return self

        def __exit__(self, *_: object) -> None:
            happened.append("end")

        def finish(self, **options: Any) -> None:
            happened.append(f"turn of {self.title}")
            watch_phases(**options)

        def discard(self) -> None:
            happened.append(f"discard {self.title}")

    def watch_phases(watch: Any, **_: object) -> None:
        for phase in ("start", "run", "stop"):
            happened.append(phase)
            watch({"event": "phase", "phase": phase, "run": None, "client_dirs": []})

    def play(name: str, _inventory: Path | None, folder: Path, **options: Any) -> Failure | None:
        happened.append(f"{name} {folder.name}")
        if name != "trial.yml":
            return None
        watch_phases(**options)
        return Failure("died", folder) if broken else None

    monkeypatch.setattr(runner, "play", play)
    monkeypatch.setattr(runner, "Playbook", Playbook)
    text = SMALL.replace("cassandra,hbase", "cassandra") + "rounds=2\n"
    start, begin = (
        ["deploy.yml deploy", "trial.yml 01-cassandra", "start", "run", "stop"],
        "begin trial.yml 02-cassandra",
    )
    phases = ["turn of trial.yml 02-cassandra", "start", "run", "stop", "end"]
    broken = False
    carry_out(create(tmp_path / "whole", text))
    assert happened == [*start, begin, *phases]
    # After a failure, all servers are stopped before the next trial takes its turn.
    happened.clear()
    broken = True
    carry_out(create(tmp_path / "broken", text))
    assert happened == [*start, begin, "stop.yml stop", *phases]
    # The variables have changed since the trial was started, so it is discarded and started again.
    happened.clear()
    with monkeypatch.context() as changing:
        numbers = count()
        changing.setattr(runner._Measurement, "_variables", lambda *_, **__: {"rate": next(numbers)})
        carry_out(create(tmp_path / "other", text))
    assert happened[len(start) :] == [
        begin, "stop.yml stop", "discard trial.yml 02-cassandra", "trial.yml 02-cassandra", "start", "run", "stop",
        "stop.yml stop",
    ]  # fmt: skip
    # The next trial was started early, but the experiment ends before its turn.
    happened.clear()
    monkeypatch.setattr(rounds, "common_cause", lambda _, **_more: "run-1: skew of 20 ms")
    broken = False
    carry_out(create(tmp_path / "invalid", text))
    assert happened == [*start, begin, "discard trial.yml 02-cassandra"]


def test_an_interrupted_run_says_so_even_if_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(name: str, *_: object, **__: object) -> None:
        if name == "trial.yml":
            raise Interruption(2)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "manifest")

    monkeypatch.setattr(runner, "play", play)
    monkeypatch.setattr(experiment.Experiment, "seal", full)
    assert carry_out(create(tmp_path, SMALL)) == 130
    assert "cannot be written: manifest: No space left on device" in (tmp_path / "said").read_text()


def test_a_mistake_of_ours_ends_its_trial_in_good_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[str] = []

    def play(name: str, *_: object, **options: Any) -> None:
        played.append(name)
        if name == "trial.yml":
            options["watch"]({"event": "phase"})  # the event lacks the name of the phase

    monkeypatch.setattr(runner, "play", play)
    created = create(tmp_path, SMALL)
    assert carry_out(created) == 1
    assert played == ["deploy.yml", "trial.yml", "stop.yml", "trial.yml", "stop.yml"]
    for trial in created.trials:
        state = json.loads((created.trial_folder(trial) / "state.json").read_text())
        assert (state["status"], state["reason"].partition(": ")[2]) == ("failed", "internal error: KeyError: 'phase'")
        assert state["manifest"]
    assert not (created.folder / ".reserve").exists()
    assert json.loads((created.folder / "experiment.json").read_text())["status"] == "failed"
    log = created.folder / "internal-error.log"
    assert "Traceback" in log.read_text()
    assert f"the full log: {log}" in (tmp_path / "said").read_text()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("stop/ansible.log", "the servers are stopped, but a file cannot be written: {}: No space left on device"),
        # Ansible reads its variables from a temporary file.
        ("variables.yml", "the servers could not be stopped: {}: No space left on device"),
    ],
)
def test_servers_count_as_stopped_only_if_the_playbook_ran(
    file: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = create(tmp_path, SMALL.replace("cassandra,hbase", "cassandra"))
    path = created.folder / file

    def play(name: str, _: Path | None, log: Path, **__: Any) -> Failure | None:
        if name == "stop.yml":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return Failure("died", log) if name == "trial.yml" else None

    monkeypatch.setattr(runner, "play", play)
    assert carry_out(created) == 1
    output = " ".join((tmp_path / "said").read_text().split())
    assert message.format(path) in output
    assert ("please try again: cd " in output) == (file == "variables.yml")


@pytest.mark.parametrize("step", ["_provisioned", "_stop", "_conclude"])
def test_a_mistake_of_ours_loses_no_state(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistake(*_: object) -> None:
        raise ValueError("several\nlines")

    monkeypatch.setattr(runner._Measurement, step, mistake)
    created, _ = measured(tmp_path, monkeypatch, SMALL + "rounds=2\nreuse=data\n")
    assert not (created.folder / ".reserve").exists()
    about = json.loads((created.folder / "experiment.json").read_text())
    assert (about["status"], bool(about["finished"])) == ("failed", True)
    assert "\ninternal error: ValueError: several lines\n" in (tmp_path / "said").read_text()
    assert "running" not in [created.state(trial) for trial in created.trials]


def test_deploy_asks_for_room_for_the_largest_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created, played = measured(tmp_path, monkeypatch, SMALL.partition("\n")[2] + "matrix.recordcount=10,3000,200\n")
    assert len([playbook for playbook in played if playbook.startswith("deploy")]) == 1
    deployed = json.loads((created.folder / "deploy/deploy.json").read_text())
    assert deployed["trial_properties"]["recordcount"] == "3000"
    # The inventory may have changed since then, so its attached servers must be ignored.
    assert (deployed["attached"], deployed["attached_may"]) == ({}, [])


def test_a_page_that_cannot_be_written_costs_no_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise BadInputError("fetching the chart library failed")

    monkeypatch.setattr(files, "write", broken)
    created, _ = measured(tmp_path, monkeypatch, SMALL)
    output = (tmp_path / "said").read_text()
    assert "\nthe page was not written: fetching the chart library failed\n" in output
    assert f"/dohyo report {created.folder}" in output
    assert (created.folder / "summary.json").is_file()
    assert not (created.folder / "internal-error.log").exists()


def test_a_stray_folder_beside_the_trials_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "play", lambda *_, **__: None)
    created = create(tmp_path, SMALL)
    (created.folder / "raw/00-copy").mkdir()
    assert carry_out(created) == 1
    assert "internal error" not in (tmp_path / "said").read_text()
    trials = json.loads((created.folder / "summary.json").read_text())["trials"]
    assert "raw/00-copy belongs to another experiment" in trials[0]["reason"]
    assert [trial["name"] for trial in trials[1:]] == [trial.name for trial in created.trials]
