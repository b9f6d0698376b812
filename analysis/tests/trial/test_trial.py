"""A whole trial: its parts, their order, and the end that it has whatever went wrong."""

from pathlib import Path
from typing import Any

import pytest

from dohyo.trial.evidence import UNDER_WAY
from dohyo.trial.world import HostError
from support.trial_hosts import FakeTrial, fake_trial


def begun(folder: Path, hosts: int = 2, **variables: Any) -> FakeTrial:
    """A trial that is under way, as far as its evidence goes."""
    trial = fake_trial(folder, hosts, **variables)
    (folder / UNDER_WAY).write_text('{"role": "cassandra", "dir": "%s"}' % folder)
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


# ---- the end -----------------------------------------------------------------------------------------------------------


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
