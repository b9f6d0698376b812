"""What stop.yml stops and removes, and what it leaves alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dohyo.trial.removing import stop_everything
from dohyo.trial.servers import ServerSteps
from support.trial_hosts import Call, FakeHost, FakeTrial, fake_trial

FOREIGN = "/srv/x has no mark of ours"
FREE = {"address": "10.0.0.1", "ports": {"cql": 9042}, "moved": []}


class Marked(FakeHost):
    """A host that says whose its folder is."""

    problems: tuple[str, ...] = ()

    def do(self, verb: str, *, become: bool = False, **arguments: Any) -> dict[str, Any]:
        answer = super().do(verb, become=become, **arguments)
        return {**answer, "problems": list(self.problems if arguments.get("state") == "checked" else ())}


class Foreign(Marked):
    """A host whose folder is somebody else's."""

    problems = (FOREIGN,)


class Free(FakeHost):
    """A host on which all ports are free."""

    def do(self, verb: str, *, become: bool = False, **arguments: Any) -> dict[str, Any]:
        return {**super().do(verb, become=become, **arguments), **FREE}


def marked(folder: Path, **kinds: type[Marked]) -> FakeTrial:
    trial = fake_trial(folder, hosts=len(kinds), dohyo_home="/srv/x", dohyo_control=str(folder))
    hosts = {name: kind(name, trial.world.hosts[name].values, trial) for name, kind in kinds.items()}
    trial.world = replace(trial.world, hosts=hosts)
    return trial


def calls_of(trial: FakeTrial, name: str) -> list[Call]:
    return [call for call in trial.calls if call.host == name]


def test_commands_in_a_folder_of_somebody_else_are_not_executed(tmp_path: Path) -> None:
    trial = marked(tmp_path, node1=Marked, node2=Foreign)
    assert stop_everything(trial.world, keeps_loads=False) == {}
    assert {"event": "note", "text": FOREIGN} in trial.events
    assert [call.action for call in calls_of(trial, "node2")] == ["owned"]
    looked, *others = calls_of(trial, "node1")
    assert (looked.action, looked.arguments["state"]) == ("owned", "checked")
    assert "detach" in [call.action for call in others]


def test_loads_that_are_used_again_stay(tmp_path: Path) -> None:
    for keeps in (True, False):
        trial = marked(tmp_path, node1=Marked)
        stop_everything(trial.world, keeps_loads=keeps)
        states = [call.arguments["state"] for call in trial.calls if call.action == "owned"]
        assert ("absent" in states) != keeps


@pytest.mark.parametrize(("connection", "searches"), [("local", True), ("ssh", False), (None, False)])
def test_trials_search_ports_on_the_machine_of_ansible_alone(
    connection: str | None, searches: bool, tmp_path: Path
) -> None:
    variables = {"ansible_connection": connection} if connection else {}
    trial = fake_trial(tmp_path, **variables)  # type: ignore[arg-type]
    host = Free("node1", trial.world.hosts["node1"].values, trial)
    steps = ServerSteps(replace(trial.world, hosts={"node1": host}))
    assert steps.choose_ports("node1", "10.0.0.1", {"cql": 9042}) == FREE
    (call,) = trial.calls
    assert (call.action, call.arguments["search"]) == ("free_ports", searches)
