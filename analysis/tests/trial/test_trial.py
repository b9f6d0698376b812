"""A whole trial: its parts, their order, and the end that it has whatever went wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.places import ANSIBLE
from dohyo.trial.evidence import UNDER_WAY
from dohyo.trial.world import HostError, StepError
from support.trial_hosts import FakeTrial, fake_trial


def begun(folder: Path, hosts: int = 2, **variables: Any) -> FakeTrial:
    """A trial that is under way, as far as its evidence goes."""
    trial = fake_trial(folder, hosts, **variables)
    (folder / UNDER_WAY).write_text(json.dumps({"role": "cassandra", "dir": str(folder)}))
    return trial


def done(trial: FakeTrial) -> list[str]:
    """All that was asked, with short folders."""
    return [line.replace("/opt/dohyo/", "") for line in trial.notes]


# Of each host, when all went well.
ENDED = [
    "phase stop",
    "node1: look for faults",
    "node1: stop-all cassandra",
    "node1: stop host-metrics",
    "node1: pull run/cassandra",
    "node1: pull client",
    "node1: owned absent secret/client-node1.properties",
    "node1 node2: owned absent run/cassandra",
    "node1 node2: in_use free",
]


def in_order(notes: list[str]) -> list[str]:
    """The notes of the first host alone: what several hosts are asked in one step is noted host by host."""
    return [line for line in notes if line.startswith(("phase", "node1"))]


# ---- the end ---------------------------------------------------------------------------------------------------------


def test_the_end_of_a_trial(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    assert trial.parts().end() == ""
    assert in_order(done(trial)) == ENDED


@pytest.mark.parametrize("number", range(13))
def test_the_end_goes_on_whatever_fails(number: int, tmp_path: Path) -> None:
    trial = begun(tmp_path)
    trial.fails_at = number
    reason = trial.parts().end()
    failed = trial.calls[number]
    asked = [call for call in trial.calls if call.host != failed.host]
    assert reason.endswith(f"{failed.host} has no {failed.verb}")
    # The other host is stopped, its evidence is fetched, and it is free.
    assert [call.verb for call in asked][-6:] == [
        *("stop host-metrics", "transfer_folder", "transfer_folder"),
        *("owned absent", "owned absent", "in_use free"),
    ]  # fmt: skip
    assert (tmp_path / UNDER_WAY).exists() == (4 <= number < 12)


def test_servers_that_could_not_be_stopped_keep_their_data(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    trial.answers["node2", "stop-all"] = HostError("it hangs")
    assert trial.parts().end() == "Stop the servers and whatever else still runs: it hangs"
    notes = done(trial)
    assert "node2: pull run/cassandra" in notes
    assert notes[-2:] == ["node1: owned absent run/cassandra", "node1: in_use free"]


def test_evidence_that_could_not_be_fetched_stays_on_the_host(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    trial.answers["node1", "transfer_folder"] = HostError("no space")
    assert trial.parts().end() == "Bring home the evidence: no space"
    assert done(trial)[-2:] == ["node2: owned absent run/cassandra", "node1 node2: in_use free"]
    assert (tmp_path / UNDER_WAY).exists()


def test_an_unforeseen_error_keeps_no_server_up(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    (tmp_path / UNDER_WAY).write_text("{")
    assert trial.parts().end().startswith("Bring home the evidence: JSONDecodeError: ")
    notes = done(trial)
    assert notes[-1] == "node1 node2: in_use free"
    assert [line for line in notes if "stop-all" in line] == ["node1: stop-all cassandra", "node2: stop-all cassandra"]


# ---- the evidence ----------------------------------------------------------------------------------------------------


def tried(trial: FakeTrial) -> str:
    """Does all parts of a trial as the playbook does; returns why it failed."""
    parts = trial.parts()
    failures: dict[str, str] = {}
    for part in (parts.begin, parts.run):
        try:
            part()
        except StepError as error:
            failures = {name: f"{error.step}: {each}" for name, each in error.failures.items()}
            break
    state = {**parts.plain_state, "failures": failures}
    return trial.parts(**state).end()


def test_servers_alone_have_no_evidence_of_clients_of_an_earlier_trial(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, trial_until="schema")
    assert tried(trial) == ""
    notes = done(trial)
    assert notes.index("node1 node2: owned absent client") < notes.index("node1 node2: owned fresh run/cassandra")
    assert "node1: pull client" in notes
    assert not [line for line in notes if "sample" in line or "canary" in line]


def test_evidence_of_a_trial_by_hand_says_how_it_ended(tmp_path: Path) -> None:
    for number, (until, status) in enumerate([("stop", "done"), ("settle", "skipped"), ("schema", "skipped")]):
        (folder := tmp_path / str(number)).mkdir()
        trial = fake_trial(folder, trial_until=until)
        assert tried(trial) == ""
        assert trial.json("state.json")["status"] == status
        assert trial.json("trial.json")["trial_system"] == "cassandra"
    (folder := tmp_path / "failed").mkdir()
    trial = fake_trial(folder)
    trial.answers["schema"] = HostError("no quorum")
    reason = "Make the tables, and read the conditions back: no quorum"
    assert tried(trial) == reason
    assert trial.json("state.json") == {"status": "failed", "reason": reason}


def test_evidence_of_an_experiment_is_what_dohyo_writes(tmp_path: Path) -> None:
    (folder := tmp_path / "raw/cassandra").mkdir(parents=True)
    (tmp_path / "experiment.json").touch()
    trial = fake_trial(folder)
    assert tried(trial) == ""
    assert not (folder / "state.json").exists()
    assert not (folder / "trial.json").exists()


@pytest.mark.parametrize("verb", ["stop-all", "owned present"])
def test_nothing_is_written_to_a_folder_that_is_not_ours_yet(verb: str, tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    (tmp_path / "state.json").write_text("of an earlier trial")
    trial.answers[verb] = HostError("no")
    assert tried(trial).endswith(": no")
    assert (tmp_path / "state.json").read_text() == "of an earlier trial"
    assert not (tmp_path / "trial.json").exists()


# ---- loads that are kept ---------------------------------------------------------------------------------------------


def test_the_room_for_a_load_follows_from_the_memory_of_the_host(tmp_path: Path) -> None:
    needs: list[int] = []
    for memory in (0, 64000):
        (folder := tmp_path / str(memory)).mkdir()
        budget: dict[str, Any] = {"host_memory_budget": "80%", "host_has": {"memory_mb": memory}}
        many = {"recordcount": 100_000_000}
        trial = fake_trial(folder, system="scylla", trial_load_id="id", properties=many, **budget)
        trial.parts().begin()
        needs += [call.arguments["need_mb"] for call in trial.calls if call.verb == "kept_load found"]
    assert needs[1] > needs[0] + 20000
    # Hence the playbook asks for the memory before it begins.
    tasks = yaml.safe_load((ANSIBLE / "trial.yml").read_text())[0]["tasks"]
    (block,) = (task["block"] for task in tasks if "block" in task)
    files = [task["ansible.builtin.include_tasks"] for task in block[:2]]
    assert files == ["tasks/resources.yml", "tasks/conduct.yml"]
