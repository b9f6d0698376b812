"""Real servers of other versions, on other JDKs, with other collectors: measured, and asked what they are."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.ansible.playbook import Failure, play
from dohyo.places import ANSIBLE

SMALL = {
    **yaml.safe_load((ANSIBLE / "tests/quick_start.yml").read_text()),
    "trial_properties": {"recordcount": 1000, "readproportion": 0.5, "updateproportion": 0.5},
    "trial_threads": 2,
    "trial_warmup": 1,
    # A cold server on a busy machine answers nothing for a second or two.
    "trial_duration": 5,
    "trial_client_heap": "128m",
    "trial_canary": False,
    "cassandra_heap": "512m",
    "hbase_heap": "512m",
}


def carry_out(playbook: str, folder: Path, **variables: Any) -> Failure | None:
    return play(playbook, None, folder, variables={**SMALL, **variables}, check=lambda: None, timeout=300)


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    assert carry_out("stop.yml", tmp_path) is None


def test_it_is_measured_and_says_what_it_is(tmp_path: Path) -> None:
    """Other versions of Cassandra, on other JDKs with other collectors, are in the scenario gc-matrix."""
    asked = {"hbase_version": "2.5.13-hadoop3"}
    assert carry_out("deploy.yml", tmp_path, deploy_systems=["hbase"], **asked) is None
    assert carry_out("trial.yml", tmp_path, trial_system="hbase", trial_dir=str(tmp_path / "raw"), **asked) is None
    conditions = json.loads((tmp_path / "raw" / "conditions.json").read_text())
    assert conditions["version"] == asked["hbase_version"]
    assert conditions["jdk"].startswith("17.")
    assert conditions["gc"] == "G1 Old Generation, G1 Young Generation"
    assert (conditions["durability"], conditions["compression"]) == ("memory", "none")
    assert json.loads((tmp_path / "raw" / "settled.json").read_text())["rows"] == {"usertable": 1000}
    (client,) = (tmp_path / "raw" / "run-1").glob("*/client.json")
    assert json.loads(client.read_text())["valid"]
    statistics = list((tmp_path / "raw" / "server").glob("*/stats/run-1/stats-*"))
    assert statistics
    assert not [file.name for file in statistics if "Exception:" in file.read_text()]


def test_a_collector_that_the_jdk_does_not_have_is_refused_in_its_own_words(tmp_path: Path) -> None:
    assert carry_out("deploy.yml", tmp_path, deploy_systems=["cassandra"]) is None
    failure = carry_out("trial.yml", tmp_path, trial_dir=str(tmp_path / "raw"), cassandra_gc="CMS")
    assert failure is not None
    assert "JDK 17" in str(failure)
    assert "Unrecognized VM option 'UseConcMarkSweepGC'" in str(failure)
