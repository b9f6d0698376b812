"""Tests the hosts of a trial, and the calls that its steps make to the hosts."""

import stat
from pathlib import Path

import pytest

from dohyo.trial.world import HostError, StepError, program, write_json
from support.trial_hosts import fake_trial


def test_a_step_returns_what_each_host_has_said(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    trial.answers["node2", "two"] = "words"
    results = trial.world.on(["node2", "node1"], "Ask", lambda host: program(host, ["sh", "-c", "two"], stdin="in"))
    assert results == {"node2": "words", "node1": ""}
    assert trial.calls[0].arguments == {"argv": ["sh", "-c", "two"], "stdin": "in"}
    (event,) = trial.events
    assert (event["event"], event["task"], event["action"]) == ("task", "Ask", "trial")
    assert event["began"] > 0


def test_a_step_on_no_host_is_none(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    assert trial.world.on([], "Ask", lambda host: program(host, ["true"])) == {}
    assert (trial.events, trial.steps) == ([], [])


def test_all_hosts_that_failed_are_named_once_with_the_same_words(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 3)
    trial.answers |= {("node1", "x"): HostError("full"), ("node3", "x"): HostError("full")}
    with pytest.raises(StepError, match=r"^Ask: full$") as failed:
        trial.world.on(["node1", "node2", "node3"], "Ask", lambda host: program(host, ["a", "b", "x"]))
    assert (failed.value.step, failed.value.failures) == ("Ask", {"node1": "full", "node3": "full"})
    assert [(event["event"], event["host"], event["message"], event["ignored"]) for event in trial.events] == [
        ("failed", "node1", "full", True),
        ("failed", "node3", "full", True),
    ]


def test_numbers_among_the_words_of_a_program_are_texts(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    program(trial.world.hosts["node1"], ["sleep", 5], root=True)  # type: ignore[list-item]
    (call,) = trial.calls
    assert (call.argv, call.root, "stdin" in call.arguments) == (["sleep", "5"], True, False)


def test_a_phase_is_an_event_with_the_folders_of_the_clients(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.world.phase("run", 2, ["/a", "/b"])
    trial.world.phase("settle")
    assert trial.events == [
        {"event": "phase", "phase": "run", "run": 2, "client_dirs": ["/a", "/b"]},
        {"event": "phase", "phase": "settle", "run": None, "client_dirs": []},
    ]


def test_the_first_host_is_a_database_host_if_there_is_one(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1)
    assert trial.world.first.name == "node1"
    alone = fake_trial(tmp_path, 1, 1)
    alone.world.databases = []
    alone.world.hosts = {"client1": alone.world.hosts["client1"]}
    assert alone.world.first.name == "client1"


def test_a_system_is_that_of_a_host_with_more_variables(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    system = trial.world.system("node2", trial_recordcount=7, cassandra_heap="3g")
    assert (system.context.host, system.is_first, system.context.get("trial_recordcount")) == ("node2", False, 7)
    assert system.heap == "3g"  # type: ignore[attr-defined]
    assert "cassandra_heap" not in trial.world.hosts["node2"].values


def test_an_error_of_dohyo_is_the_message_of_the_step(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, dohyo=["  500 "])
    assert trial.world.ask_dohyo("own-target", tmp_path) == "500"
    with pytest.raises(StepError) as failed:
        trial.world.ask_dohyo("own-target", tmp_path)
    assert (failed.value.step, {*failed.value.failures.values()}) == ("Ask dohyo for own-target", {"no such folder"})
    assert {*failed.value.failures} == {"node1", "node2"}
    Path(trial.part.values["dohyo_program"]).write_text("#!/bin/sh\nexit 3\n", "utf-8")
    with pytest.raises(StepError, match="dohyo next-probe ended with exit code 3"):
        trial.world.ask_dohyo("next-probe", tmp_path)


def test_a_file_of_the_evidence_is_written_in_one_step(tmp_path: Path) -> None:
    file = tmp_path / "a/b/settled.json"
    write_json(file, {"b": 1, "a": "é"})
    write_json(file, {"b": 2, "a": "é"})
    assert file.read_text("utf-8") == '{\n    "a": "é",\n    "b": 2\n}\n'
    assert [entry.name for entry in file.parent.iterdir()] == ["settled.json"]
    assert stat.S_IMODE(file.stat().st_mode) & 0o600 == 0o600
