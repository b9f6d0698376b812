"""Tests the canary of a trial: what it measures on each host, and that its listeners are stopped."""

from pathlib import Path

import pytest

from dohyo.trial import canary
from dohyo.trial.world import HostError, StepError
from support.trial_hosts import fake_trial

MEASURED = [
    "phase canary",
    "node1 node2 client1: canary host",
    "node1 node2: canary listen",
    "client1: canary network",
    "node1 node2: canary end",
]


def test_the_canary_measures_hosts_and_the_network_between_clients_and_servers(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1)
    trial.answers |= {("node2", "canary listen"): {"listener": {"port": 4002}}}
    measured = canary.measure(trial.world, attached=False)
    assert trial.notes == [*MEASURED, "phase start"]
    assert measured["hosts"] == {name: {"cores": 8} for name in trial.world.hosts}
    assert measured["network"] == {"client1": {"ms": 1}}
    by_verb = {(call.host, call.verb): call.arguments for call in trial.calls}
    # Only database hosts have data folders. On other hosts, the disk of Dohyo's folder is measured.
    folders = {name: by_verb[name, "canary host"]["folders"] for name in trial.world.hosts}
    assert folders == {"node1": ["/data1"], "node2": ["/data1"], "client1": ["/opt/dohyo"]}
    arguments = by_verb["client1", "canary network"]
    assert arguments["servers"] == {"node1": {"port": 4000}, "node2": {"port": 4002}}
    assert (arguments["client"], arguments["clients"]) == (0, 1)
    assert by_verb["node1", "canary listen"]["lifetime"] == 63
    assert by_verb["node2", "canary end"]["port"] == 4002


def test_a_single_host_has_no_network(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    assert canary.measure(trial.world, attached=False)["network"] == {}
    assert trial.notes == ["phase canary", "node1: canary host", "phase start"]


def test_of_an_attached_system_only_clients_are_measured(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1, attached={"cassandra": "10.1.0.1"})
    assert canary.measure(trial.world, attached=True)["network"] == {}
    assert trial.notes == ["phase canary", "client1: canary host", "phase start"]


def test_listeners_end_whatever_happens(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1)
    trial.answers["canary network"] = HostError("no route")
    with pytest.raises(StepError, match=r"^Measure the network from the clients' hosts to the servers': no route$"):
        canary.measure(trial.world, attached=False)
    assert trial.notes == MEASURED


def test_listeners_end_after_one_of_them_failed(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1)
    trial.answers["node1", "canary listen"] = HostError("no port")
    with pytest.raises(StepError, match=r"^Listen on the servers' hosts: no port$"):
        canary.measure(trial.world, attached=False)
    assert trial.notes == [*MEASURED[:3], "node2: canary end"]
