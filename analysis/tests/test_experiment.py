"""Tests the folder of an experiment: its content, the input that is rejected, and what --resume reads."""

import json
from pathlib import Path
from typing import Any

import pytest

from dohyo.bad_input import BadInputError
from dohyo.planning import plan
from dohyo.running import experiment
from dohyo.scenario.loading import load
from dohyo.scenario.scenario import Scenario
from support.command import measuring

SCENARIO = Scenario(
    "small", {"recordcount": "1000", "operationcount": "1000", "systems": "hbase,cassandra"}, {"cassandra_heap": "2g"}
)


def create(folder: Path) -> experiment.Experiment:
    return experiment.create(SCENARIO, experiment.new_folder(SCENARIO, folder), {"inventory": None})


def test_a_new_experiment_says_what_it_is(tmp_path: Path) -> None:
    the_experiment = create(tmp_path / "new" / "here")
    about = json.loads((the_experiment.folder / "experiment.json").read_text())
    assert about["plan"] == ["01-hbase", "02-cassandra"]
    assert about["records"] == 1000
    assert about["status"] == "running"
    assert [the_experiment.state(trial) for trial in the_experiment.trials] == ["pending", "pending"]


def test_a_reopened_experiment_equals_the_created_one(tmp_path: Path) -> None:
    the_experiment = create(tmp_path / "here")
    again, inventory = experiment.reopen(str(tmp_path / "here"))
    assert again == the_experiment
    assert inventory is None


def test_an_experiment_that_was_killed_while_it_was_created_has_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a plan, --resume would measure everything, and then say that the evidence is lost."""
    update = experiment.Experiment.update

    def dying(self: experiment.Experiment, **fields: Any) -> None:
        update(self, **fields)
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment.Experiment, "update", dying)
    with pytest.raises(KeyboardInterrupt):
        create(tmp_path / "here")
    again, _ = experiment.reopen(str(tmp_path / "here"))
    assert again.is_there()


def test_a_trial_that_never_began_is_repeated_in_a_folder_without_evidence(tmp_path: Path) -> None:
    the_experiment = create(tmp_path / "it")
    began, waited = the_experiment.trials
    (the_experiment.trial_folder(began) / "ansible.log").touch()
    for trial in (began, waited):
        the_experiment.mark(trial, "interrupted", "by SIGINT")
        the_experiment.seal(trial)
        the_experiment.set_aside(trial)
    assert [file.name for file in the_experiment.trial_folder(began).iterdir()] == []
    assert [file.name for file in the_experiment.trial_folder(waited).iterdir()] == ["state.json"]
    assert (the_experiment.folder / "attempts/01-hbase.1/manifest").exists()


def test_a_full_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(BadInputError, match="is not empty"):
        create(tmp_path)
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match=r"cannot write to .*file/x"):
        create(tmp_path / "file" / "x")


def test_unknown_experiments_have_a_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    create(tmp_path / "20260102-030405-small")
    with pytest.raises(BadInputError, match="did you mean 20260102-030405-small"):
        experiment.reopen("20260102-030406-small")
    with pytest.raises(BadInputError, match="unknown experiment"):
        experiment.reopen("zzz")


def test_states_keep_their_reason_and_times(tmp_path: Path) -> None:
    the_experiment = create(tmp_path / "here")
    trial = the_experiment.trials[0]
    the_experiment.mark(trial, "running")
    the_experiment.mark(trial, "failed", "the disk is full")
    state = json.loads((the_experiment.trial_folder(trial) / "state.json").read_text())
    assert (state["status"], state["reason"]) == ("failed", "the disk is full")
    assert state["started"] <= state["finished"]


def test_earlier_attempts_are_kept(tmp_path: Path) -> None:
    the_experiment = create(tmp_path / "here")
    trial = the_experiment.trials[0]
    for number in (1, 2):
        (the_experiment.trial_folder(trial) / "ansible.log").write_text(f"attempt {number}")
        the_experiment.set_aside(trial)
        assert not any(the_experiment.trial_folder(trial).iterdir())
        assert (
            the_experiment.folder / "attempts" / f"01-hbase.{number}" / "ansible.log"
        ).read_text() == f"attempt {number}"


def test_no_room_is_said_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "FREE_BYTES_FOR_EVIDENCE", 1)
    experiment.check_disk(tmp_path)
    monkeypatch.setattr(experiment, "FREE_BYTES_FOR_EVIDENCE", 10**18)
    with pytest.raises(BadInputError, match=r"no room for the evidence: .* of .* GB; free space"):
        experiment.check_disk(tmp_path)


def test_two_experiments_do_not_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    with (
        measuring(tmp_path / "it") as holder,
        pytest.raises(BadInputError, match=f"is running .process {holder.pid}."),
        experiment.only_one(),
    ):
        pass
    with experiment.only_one():
        pass


def test_what_a_trial_gives_to_ansible(tmp_path: Path) -> None:
    trial = plan.trials(SCENARIO)[1]
    variables = plan.variables(trial, tmp_path, keep=True)
    assert variables["trial_system"] == "cassandra"
    assert variables["trial_duration"] == 0
    assert variables["trial_properties"] == {"recordcount": "1000", "operationcount": "1000"}
    assert variables["trial_conditions"]["replication"] == 1
    assert variables["cassandra_heap"] == "2g"
    assert variables["trial_keep"] is True
    assert "trial_scale" not in variables


def test_a_trial_says_what_it_is_a_part_of(tmp_path: Path) -> None:
    """Sizes that need more than 32 bits must be preserved."""
    file = tmp_path / "large"
    file.write_text("readproportion=1\nupdateproportion=0\nrecordcount=500000000000\nduration=1\nsystems=hbase\n")
    large = load(file, {"scale": "0.01"})
    variables = plan.variables(plan.trials(large)[0], tmp_path, keep=False)
    assert variables["trial_properties"]["recordcount"] == "5000000000"
    assert (variables["trial_scale"], variables["trial_full"]) == ("0.01", {"recordcount": "500000000000"})
    the_experiment = experiment.create(large, experiment.new_folder(large, tmp_path / "here"), {"inventory": None})
    about = json.loads((the_experiment.folder / "experiment.json").read_text())
    assert (about["records"], about["scale"], about["full_records"]) == (5_000_000_000, 0.01, 500_000_000_000)
    assert about["data_bytes"] == 5 * 10**12
    assert experiment.reopen(str(the_experiment.folder))[0].scenario.number("recordcount") == 5_000_000_000
