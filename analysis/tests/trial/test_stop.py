"""Tests stop.yml on all hosts, including folders of other owners and failures on some hosts."""

from pathlib import Path
from typing import Any

import pytest

from dohyo.trial.evidence import UNDER_WAY
from dohyo.trial.removal import stop_everything
from dohyo.trial.world import HostError
from support.trial_hosts import FakeTrial, fake_trial, note_under_way


def stopped(
    folder: Path, answers: dict[Any, Any], *, keeps_loads: bool = False, only_halts: bool = False, **variables: Any
) -> tuple[FakeTrial, dict[str, str]]:
    """Runs stop.yml after an interrupted trial on two database hosts and a client. Returns the trial and failures."""
    trial = fake_trial(folder, 2, 1, **variables)
    trial.answers |= answers
    note_under_way(trial, folder)
    return trial, stop_everything(trial.world, keeps_loads=keeps_loads, only_halts=only_halts)


def verbs(trial: FakeTrial, host: str) -> list[str]:
    """Returns the verbs that were called on a host."""
    return [call.verb for call in trial.calls if call.host == host]


STOPPED = ["owned checked", "look for faults", "stop-all", "detach"]
FORGOTTEN, FREED = "owned absent", "in_use ended"
FETCHED = ["stop host-metrics", "pull", "pull"]


def test_everything_is_stopped_and_the_evidence_of_an_interrupted_trial_is_fetched(tmp_path: Path) -> None:
    trial, failures = stopped(tmp_path, {})
    assert failures == {}
    for name in ("node1", "node2"):
        assert verbs(trial, name) == [*STOPPED, FORGOTTEN, *FETCHED, FREED]
    assert verbs(trial, "client1") == [*STOPPED, *FETCHED[:2], "owned absent", FREED]
    (loads,) = (call for call in trial.calls if call.verb == "owned absent" and call.host == "node1")
    assert loads.arguments == {
        "state": "absent", "deployment": "abc", "folders": [["/data1", "dohyo/kept"]], "leave": True,
    }  # fmt: skip
    pulled = [call.arguments["dest"] for call in trial.calls if call.verb == "pull"]
    assert pulled == [f"{tmp_path}/server/node1", str(tmp_path), f"{tmp_path}/server/node2", *[str(tmp_path)] * 2]
    assert not (tmp_path / UNDER_WAY).exists()
    # The second call finds no interrupted trial, so it fetches nothing.
    assert stop_everything(trial.world, keeps_loads=False) == {}
    assert len([call for call in trial.calls if call.verb == "pull"]) == 5


def test_between_two_trials_loads_stay(tmp_path: Path) -> None:
    trial, _ = stopped(tmp_path, {}, keeps_loads=True)
    assert verbs(trial, "node1") == [*STOPPED, *FETCHED, FREED]


def test_destroying_begins_with_a_stop_and_keeps_the_hosts(tmp_path: Path) -> None:
    foreign = {"problems": ["/opt/dohyo is somebody else's"]}
    answer = {"left": "no such user; remove it with: sh remove", "kept": []}
    trial, failures = stopped(
        tmp_path, {("node1", "detach"): answer, ("node2", "owned checked"): foreign}, only_halts=True
    )
    assert failures == {"node1": answer["left"]}
    assert {name: verbs(trial, name) for name in trial.world.hosts} == {
        "node1": STOPPED, "node2": ["owned checked"], "client1": STOPPED,
    }  # fmt: skip


def test_destroying_stops_what_runs_on_the_control_machine(tmp_path: Path) -> None:
    answers = {("localhost", "detach"): {"left": "no such user", "kept": []}}
    trial, failures = stopped(tmp_path, answers, only_halts=True, dohyo_home="/srv", dohyo_control="/opt/dohyo")
    assert failures == {"node1": "no such user"}
    assert verbs(trial, "localhost") == STOPPED
    (looked, *_) = (call for call in trial.calls if call.host == "localhost")
    assert looked.arguments["folders"] == [["/opt/dohyo", ""]]
    # If a host is this machine and uses the same folder, its processes are stopped only once.
    trial, _ = stopped(tmp_path, {}, only_halts=True, dohyo_control="/opt/dohyo", ansible_connection="local")
    assert (verbs(trial, "localhost"), verbs(trial, "node1")) == ([], STOPPED)


def test_a_host_whose_folder_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    trial, failures = stopped(tmp_path, {("node2", "owned checked"): {"problems": ["/opt/dohyo is somebody else's"]}})
    assert failures == {}
    assert verbs(trial, "node2") == ["owned checked"]
    assert verbs(trial, "node1") == [*STOPPED, FORGOTTEN, *FETCHED, FREED]
    assert [event["text"] for event in trial.events if event["event"] == "note"] == ["/opt/dohyo is somebody else's"]


def test_without_a_deployment_no_folder_is_ours(tmp_path: Path) -> None:
    trial, _ = stopped(tmp_path, {}, dohyo_deployment="")
    (looked, *_) = trial.calls
    assert looked.arguments["deployment"] == "none"


def test_foreign_files_among_the_loads_are_named(tmp_path: Path) -> None:
    trial, _ = stopped(tmp_path, {("node1", "owned absent"): {"problems": ["/data1/dohyo/kept/x"]}})
    notes = [event["text"] for event in trial.events if event["event"] == "note"]
    assert notes == ["left alone: /data1/dohyo/kept/x"]


@pytest.mark.parametrize(
    ("verb", "step", "more"),
    [
        ("owned checked", "Check who owns the folder", []),
        # Servers may still run on the host, so it must not be marked as free for other deployments.
        ("stop-all", "Stop all processes", ["detach", FORGOTTEN, *FETCHED]),
        ("detach", "Remove Dohyo's objects on attached systems", [FORGOTTEN, *FETCHED, FREED]),
        ("owned absent", "Remove the kept loads", [*FETCHED, FREED]),
        ("in_use ended", "Record that no trial is under way", []),
        ("pull", "Fetch the evidence of an interrupted trial", [FREED]),
    ],
)
def test_what_fails_on_one_host_is_named_and_keeps_nobody_from_the_rest(
    verb: str, step: str, more: list[str], tmp_path: Path
) -> None:
    trial, failures = stopped(tmp_path, {("node2", verb): HostError("no answer")})
    assert failures == {"node2": "no answer"}
    assert [
        (event["task"], event["host"], event["message"], event["ignored"])
        for event in trial.events
        if event["event"] == "failed"
    ] == [(step, "node2", "no answer", False)]
    called = verbs(trial, "node2")
    assert called[called.index(verb) + 1 :] == more
    assert verbs(trial, "node1") == [*STOPPED, FORGOTTEN, *FETCHED, FREED]
    # The note is kept so that the next call fetches the missing evidence.
    assert (tmp_path / UNDER_WAY).exists() == (verb in ("pull", "owned checked"))


def test_servers_are_stopped_even_if_a_fault_cannot_be_undone(tmp_path: Path) -> None:
    trial, failures = stopped(
        tmp_path, {("node2", "look for faults"): "there", ("node2", "undo"): HostError("no permission")}
    )
    assert failures == {"node2": "no permission"}
    assert verbs(trial, "node2")[1:4] == ["look for faults", "undo", "stop-all"]
    # The host is not free while the fault lasts.
    assert FREED not in verbs(trial, "node2")


def test_samples_of_observed_hosts_come_home_even_where_one_does_not_answer(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 1, dohyo_observed=["far1", "far2"])
    trial.observe("far1", "far2")
    note_under_way(trial, tmp_path)
    trial.answers["far1", "observe end"] = HostError("no answer")
    assert stop_everything(trial.world, keeps_loads=False) == {}
    assert verbs(trial, "far1") == ["observe end"]
    assert verbs(trial, "far2") == ["observe end", "pull", "observe leave"]
    (pulled,) = (call for call in trial.calls if call.verb == "pull" and call.host == "far2")
    assert pulled.arguments["dest"] == f"{tmp_path}/hosts/far2"
    (note,) = [event["text"] for event in trial.events if event["event"] == "note"]
    assert note == "far1: no answer; its sampler may still be running; stop.yml ends it"
    # The next call of stop.yml asks that host again.
    del trial.answers["far1", "observe end"]
    assert stop_everything(trial.world, keeps_loads=False) == {}
    assert verbs(trial, "far1") == [*["observe end"] * 2, "pull", "observe leave"]
    assert not (tmp_path / UNDER_WAY).exists()


@pytest.mark.parametrize("differences", [{"deployment": "xyz"}, {"hosts": ["elsewhere"]}])
def test_a_trial_of_another_inventory_is_not_touched(differences: dict[str, Any], tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 1)
    note_under_way(trial, tmp_path, **differences)
    assert stop_everything(trial.world, keeps_loads=False) == {}
    assert "pull" not in verbs(trial, "node1")
    assert (tmp_path / UNDER_WAY).exists()
