"""Tests the checks that reject a trial before it changes anything on a host."""

from pathlib import Path
from typing import Any

import pytest

from dohyo.trial.refusals import no_command, of_this_machine, refuse
from dohyo.trial.world import StepError
from support.trial_hosts import fake_trial

POWER = {"dohyo_power_off": ["true"], "dohyo_power_on": ["true"]}


def refused(folder: Path, *, clients: int = 2, without: str = "", **variables: Any) -> dict[str, str]:
    """Returns why a trial of Cassandra is rejected, by host. The result is empty if it is accepted.

    :param without: host of the inventory that is not in the play
    """
    settings = {
        "systems": {"cassandra": {"role": "cassandra"}}, "dohyo_playbook": "ansible-playbook", "trial_properties": {},
        "dohyo_address": {f"node{number}": f"198.51.100.{number}" for number in range(1, 4)}, **POWER, **variables,
    }  # fmt: skip
    trial = fake_trial(folder, 3, clients, **settings)
    trial.world.hosts = {name: host for name, host in trial.world.hosts.items() if name != without}
    try:
        refuse(trial.world)
    except StepError as error:
        assert trial.calls == []
        return error.failures
    return {}


def test_a_usual_trial_is_not_refused(tmp_path: Path) -> None:
    phases = [{"name": "run", "faults": "power(node2)@5s", "threads": 8}, {"name": "run-2", "faults": "kill(node1)@5s"}]
    properties = {"tables": "client", "tablecount": "4", "threadcount.of": "all"}
    assert refused(tmp_path, trial_phases=phases, trial_properties=properties) == {}


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"trial_system": "cassandra", "systems": {"h2": {}}}, "trial_system=cassandra: must be one of h2"),
        ({"client_heap": "lots"}, "client_heap=lots: it must match "),
        ({"trial_conditions": {"write_ack": "one"}}, "trial_conditions: write_ack=one: no such condition; see docs/"),
        ({"trial_conditions": {"write_acks": "two"}}, "trial_conditions: write_acks=two: must be one of one, quorum"),
        ({"trial_strict": "ja"}, "trial_strict=ja: must be true or false"),
        ({"trial_settle": "phase"}, "trial_settle=phase: must be one of load, phases"),
        ({"trial_settle_cache": "Drop"}, "trial_settle_cache=Drop: must be one of keep, drop"),
        ({"trial_until": "later"}, "trial_until=later: must be one of schema, settle, stop"),
        ({"trial_phases": [{"name": "../x"}]}, "trial_phases: the name '../x' may contain only a-z, 0-9 and '-'"),
        ({"dohyo_deployment": ""}, "has no mark of a deployment: run ansible-playbook deploy.yml first"),
        (
            {"trial_properties": {"tables": "client", "tablecount": "3"}},
            "tablecount=3 must be a multiple of the 2 clients",
        ),
        ({"trial_properties": {"tables": "client"}}, "tablecount=1 must be a multiple"),
        (
            {"trial_properties": {"threadcount.of": "all"}, "trial_phases": [{"name": "run", "threads": "7"}]},
            "threadcount=7: must be a multiple of the 2 clients",
        ),
        (
            {"trial_load": {"threads": 7, "properties": {"threadcount.of": "all"}}},
            "threadcount=7: must be a multiple of the 2 clients",
        ),
        (
            {"trial_phases": [{"name": "run", "faults": "kill(node9)@5s"}]},
            "node9: not a database host; use node1, node2, node3 or node1",
        ),
        (
            {"trial_phases": [{"name": "run", "faults": "kill(node1)@5s"}], "attached": {"cassandra": "10.1.0.1"}},
            "faults: not possible on attached servers",
        ),
        (
            {
                "trial_phases": [{"name": "run", "faults": "partition(node1)@5s"}],
                "dohyo_address": {"node1": "198.51.100.1", "node2": "127.0.0.1", "node3": "198.51.100.3"},
            },
            "a partition would cut off 127.0.0.1, where Ansible runs; run Ansible on another machine",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_on_all_hosts(variables: dict[str, Any], why: str, tmp_path: Path) -> None:
    refusals = refused(tmp_path, **variables)
    assert [*refusals] == ["node1", "node2", "node3", "client1", "client2"]
    (message,) = {*refusals.values()}
    assert why in message


@pytest.mark.parametrize(
    ("clients", "variables", "why"),
    [
        (0, {}, "power: node2 has a client, whose measurements would be lost"),
        (1, {"dohyo_address": {"node2": "127.0.0.1"}}, "power: node2 is the machine on which Ansible runs"),
        (1, {"dohyo_power_off": []}, "power: node2 cannot be switched: dohyo_power_off is []"),
    ],
)
def test_a_host_that_must_stay_on_is_named(clients: int, variables: dict[str, Any], why: str, tmp_path: Path) -> None:
    errors = refused(
        tmp_path, clients=clients, trial_phases=[{"name": "run", "faults": "power(node2)@5s"}], **variables
    )
    assert [*errors] == ["node2"]
    assert errors["node2"].startswith(why)


@pytest.mark.parametrize("name", ["node2", "client1"])
def test_a_part_of_the_hosts_is_not_measured_as_if_it_were_all(name: str, tmp_path: Path) -> None:
    """With --limit, the hosts of the play are fewer than those of the inventory's groups."""
    assert {*refused(tmp_path, without=name).values()} == {
        f"a trial needs all hosts of the inventory; not in this play: {name}; leave out --limit"
    }


def test_addresses_of_this_machine() -> None:
    assert of_this_machine(["198.51.100.1", "127.0.0.1"]) == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ([], "dohyo_power_on is []; set it to a list of a program"),
        ("ipmitool power on", "dohyo_power_on is 'ipmitool power on'; set it to a list"),
        (["true", True], "dohyo_power_on contains True; put it in quotes"),
        (["true", ""], "dohyo_power_on contains ''"),
        (["/nowhere/ipmitool"], "dohyo_power_on: /nowhere/ipmitool is not on the control machine"),
        (["true", 5], ""),
    ],
)
def test_words_that_are_no_command_are_refused(command: Any, why: str) -> None:
    message = no_command(["true"], command)
    assert message.startswith("cannot be switched: ") if why else message == ""
    assert why in message
