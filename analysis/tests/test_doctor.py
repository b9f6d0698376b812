"""Tests how `dohyo doctor` detects clients that would limit rates: its rule, rates, measurement and table."""

import io
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from dohyo.places import ROOT
from dohyo.running import doctor
from dohyo.running.doctor import Alone, Wanted
from dohyo.scenario import loading, scenario
from support.evidence import sample

ALONE = Alone("host1", "run", 8, ops=300_000, records=600_000, cpu=20e-6)
NEEDS_MORE = "100,000 operations/s through a driver would need 4.1 of 8 processors, which is more than 50%"


def load(name: str = "workloadA", **changes: str) -> scenario.Scenario:
    return loading.load(loading.find(name), changes)


def show(measured: list[Alone], targets: list[Wanted]) -> tuple[int, str]:
    output = io.StringIO()
    return doctor.show(measured, {"run": targets}, "", Console(file=output, width=300)), output.getvalue()


@pytest.mark.parametrize(
    ("ops", "cpu", "clients", "reason"),
    [
        (100_000, None, 1, ""),
        (100_001, None, 1, "300,000 operations/s without a database are less than 3 × 100,001"),
        (200_000, None, 2, ""),  # 100,000 for each client, which is the limit
        (100_000, 40e-6, 1, ""),  # 4 of 8 processors
        (100_000, 41e-6, 1, NEEDS_MORE),
        (200_000, 41e-6, 2, NEEDS_MORE),
    ],
)
def test_the_client_needs_a_margin_and_half_of_its_processors(
    ops: float, cpu: float | None, clients: int, reason: str
) -> None:
    assert doctor.bound(ALONE, Wanted(ops, "target", cpu), clients) == reason


def test_the_documented_rule_is_the_one_that_judges() -> None:
    text = (ROOT / "docs/clients.md").read_text("utf-8")
    assert f"less than **{doctor.MARGIN} times** the rate" in text
    assert (doctor.SHARE, "more than **half** of the host" in text) == (0.5, True)
    assert f"for {doctor.WARMUP} s of warm-up and {doctor.WINDOW} s measured" in text


def test_a_target_comes_before_what_was_measured_and_that_before_what_was_published(tmp_path: Path) -> None:
    measured = doctor.wanted_of(load(), "run", None, sample().parent)
    assert {rate.source.split()[0]: round(rate.ops) for rate in measured} == {
        "cassandra": 16495, "hbase": 11611, "mysql-innodb": 29695,
    }  # fmt: skip
    assert [round((rate.cpu or 0) * 1e6) for rate in measured if rate.source.startswith("hbase ")] == [26]
    (target,) = doctor.wanted_of(load(target="777"), "run", None, sample().parent)
    assert (target.ops, target.source, round((target.cpu or 0) * 1e6)) == (777, "target", 26)
    assert doctor.wanted_of(load("hbase-cache"), "a", None, sample().parent) == [Wanted(79439, "published: hbase")]
    # The published rate of one of several clients does not say how fast all clients together were.
    changes = {"phases": "insert", "matrix.variant": "ycsb-cassandra,ycsb-hbase"}
    ycsb = dict(loading.load(loading.find("heavyweights"), changes).points)
    assert doctor.wanted_of(ycsb["cassandra"], "load", None, sample().parent) == [
        Wanted(128000, "published: cassandra")
    ]
    assert doctor.wanted_of(ycsb["hbase"], "load", None, sample().parent) == []
    # Rates measured with other hosts, batches or scenarios do not apply.
    assert doctor.wanted_of(load(), "run", tmp_path / "hosts", sample().parent) == []
    assert doctor.wanted_of(load(batchsize="100"), "run", None, sample().parent) == []
    assert doctor.wanted_of(load("workloadB"), "run", None, sample().parent) == []


def test_an_experiment_that_did_not_end_gives_way_to_the_one_before(tmp_path: Path) -> None:
    whole = sample()
    shutil.copytree(whole, tmp_path / "20200101-000000-workloadA")
    (tmp_path / "20200102-000000-workloadA").mkdir()
    shutil.copy(whole / "experiment.json", tmp_path / "20200102-000000-workloadA")
    assert {target.source.split()[-1] for target in doctor.wanted_of(load(), "run", None, tmp_path)} == {
        "20200101-000000-workloadA"
    }


def test_the_client_does_the_scenario_s_work_as_fast_as_it_can() -> None:
    (run,) = doctor.phases_of(load(target="500", arrival="poisson", batchsize="7", threadcount="3", fieldlength="9"))
    assert (run["name"], run["threads"], run["warmup"], run["duration"]) == ("run", 3, doctor.WARMUP, doctor.WINDOW)
    properties = run["properties"]
    assert (properties["batchsize"], properties["fieldlength"], properties["readproportion"]) == ("7", "9", "0.5")
    assert (float(properties["target"]), properties["arrival"], properties["warmup"]) == (0, "uniform", "fixed")
    # In a scenario without runs, the client is measured with inserts; in other scenarios, with each phase.
    (insert,) = doctor.phases_of(load(phases="insert"))
    mix = ("readproportion", "updateproportion", "insertproportion")
    assert [float(insert["properties"][key]) for key in mix] == [0, 0, 1]
    assert [run["name"] for run in doctor.phases_of(load(phases="update,read"))] == ["update", "read"]


def test_the_table_names_each_host_and_which_one_is_the_limit() -> None:
    hosts = [ALONE, replace(ALONE, host="host2", ops=100_000)]
    code, text = show(hosts, [Wanted(150_000, "target", 10e-6)])
    assert code == 1
    first, second = (re.split(r"  +", line) for line in text.splitlines()[1:3])
    row = ["host1", "run", "6 of 8", "300,000", "600,000", "20", "75,000 (target)", "4 ×", "0.75 processors", "enough"]
    assert first == row
    assert (second[0], second[-1]) == ("host2", "BOUND BY THE CLIENT")
    assert "host2, run (target): 100,000 operations/s without a database are less than 3 × 75,000" in text
    assert "host1, run (target)" not in text
    assert "add client hosts or processors, or lower the target" in text


def test_systems_that_a_run_would_skip_are_named() -> None:
    changes = {"systems": "scylla,aerospike,cassandra", "scylla_install_dir": "/nowhere", "aerospike_asd": "/nowhere"}
    chosen = load(**changes)
    scylla, aerospike = doctor.skipped(chosen, None)
    assert scylla.startswith("scylla will be skipped: no ScyllaDB server in /nowhere; download it with --fetch scylla")
    assert aerospike.startswith("aerospike will be skipped: ")
    attached = {"scylla": {"hosts": ["127.0.0.1"]}, "aerospike": {"hosts": ["127.0.0.1"]}}
    with_attached = replace(chosen, role_variables={**chosen.role_variables, "attached": attached})
    assert doctor.skipped(with_attached, None) == []


def test_what_is_not_known_is_said_and_is_no_limit() -> None:
    code, text = show([ALONE], [])
    assert code == 0
    assert "no rate is known" in text
    code, text = show([ALONE], [Wanted(1000, "target")])
    assert code == 0
    assert "without a database's driver" in text
    assert "without a database's driver" not in show([ALONE], [Wanted(1000, "target", 10e-6)])[1]
