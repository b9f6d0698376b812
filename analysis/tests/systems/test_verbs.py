"""Runs steps of a trial with the commands of a system's class, on hosts that record the calls and write the files."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from support.marked_folders import module
from support.trial_hosts import FakeTrial, fake_trial

NAMES = ["node1", "node2", "client1"]
QUOTED = "s3cret-'quoted'"


def trial_of(system: str, folder: Path, **variables: Any) -> FakeTrial:
    """Returns a trial on two hosts and a client host. All hosts are folders on this machine, and all ports are free."""
    homes = {name: str(folder / name) for name in NAMES}
    trial = fake_trial(
        folder, 2, 1, system,
        dohyo_home=homes, dohyo_data={name: [f"{home}/data"] for name, home in homes.items()},
        dohyo_control=str(folder / "control"), inventory_dir="/inventories/mine", host_budget_mb=0, host_cpus_server="",
        **variables,
    )  # fmt: skip

    def free_ports(address: str, preferred: dict[str, int], search: bool) -> dict[str, Any]:
        assert not search
        return {"address": address, "ports": preferred, "moved": []}

    trial.answers |= {"files": partial(module, "files"), "free_ports": free_ports}
    return trial


@pytest.fixture(scope="module")
def hbase(tmp_path_factory: pytest.TempPathFactory) -> FakeTrial:
    """Returns a trial of HBase whose servers were configured, started and stopped."""
    trial = trial_of(
        "hbase", tmp_path_factory.mktemp("hbase"),
        hbase_regionservers_per_host=2, hbase_prefetch=True, hbase_tls=True, conditions={"replication": 1},
    )  # fmt: skip
    servers = trial.part.servers
    servers.configure()
    servers.start()
    servers.stop()
    return trial


def asked_of_agents(trial: FakeTrial, host: str = "") -> list[list[str]]:
    """Returns the arguments of all calls of the agent's program, on one host or on all hosts."""
    calls = [call for call in trial.calls if call.action == "program" and call.argv[0].endswith("/bin/agent")]
    return [call.argv[1:] for call in calls if host in ("", call.host)]


def servers_that(trial: FakeTrial, verb: str, host: str) -> list[str]:
    """Returns the servers for which a verb of a host's agent was called, in order."""
    return [argv[1] for argv in asked_of_agents(trial, host) if argv[0] == verb]


def certificate(trial: FakeTrial, host: str, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((trial.folder / host / "secret/tls" / name).read_bytes())


def test_hbase_starts_on_top_of_hdfs_and_stops_in_the_opposite_order(hbase: FakeTrial) -> None:
    below = {"node1": ["hbase-zookeeper", "hbase-namenode", "hbase-datanode"], "node2": ["hbase-datanode"]}
    above = ["hbase-master", "hbase-regionserver", "hbase-regionserver2"]
    for host, first in below.items():
        assert servers_that(hbase, "start", host) == [*first, *above]
        assert servers_that(hbase, "stop", host) == [*reversed([*first, *above])]


def test_hbase_without_hdfs_is_one_process(tmp_path: Path) -> None:
    trial = trial_of("hbase", tmp_path, hbase_distributed=False)
    trial.part.servers.start()
    trial.part.servers.stop()
    started, stopped = ([argv for argv in asked_of_agents(trial) if argv[0] == verb] for verb in ("start", "stop"))
    assert [argv[1] for argv in [*started, *stopped]] == ["hbase"] * 4
    assert {*servers_that(trial, "ready", "node1")} == {"hbase"}
    for argv in started:
        assert argv[-2:] == ["org.apache.hadoop.hbase.master.HMaster", "start"]


def test_each_process_is_started_with_its_own_command(hbase: FakeTrial) -> None:
    commands = {argv[1]: argv[5:] for argv in asked_of_agents(hbase, "node1") if argv[0] == "start"}
    for name, number in (("hbase-regionserver", 0), ("hbase-regionserver2", 1)):
        assert "/jdk/bin/java" in commands[name]
        assert f"-Dhbase.regionserver.port={16020 + number}" in commands[name]


def test_hdfs_is_formatted_before_it_starts_and_all_region_servers_are_waited_for(hbase: FakeTrial) -> None:
    programs = [call for call in hbase.calls if call.action == "program"]
    (formatted,) = [call for call in programs if "-format" in call.argv]
    assert (formatted.host, formatted.argv[-2:]) == ("node1", ["-format", "-nonInteractive"])
    # A copied load is already formatted, so this step is skipped for it.
    assert formatted.arguments["creates"] == f"{hbase.folder}/node1/data/dohyo/hbase/namenode/current"
    assert programs.index(formatted) < [call.argv[1:3] for call in programs].index(["start", "hbase-namenode"])
    waits = [(argv[0], argv[1], argv[-1]) for argv in asked_of_agents(hbase) if argv[0] in ("until", "ready")]
    assert waits == [
        ("until", "hbase-zookeeper", "^Mode"),
        ("until", "hbase-namenode", '"FSState" : "Operational"'),
        ("until", "hbase-master", '"tag.isActiveMaster": "false"'),
        ("ready", "hbase-master", '"masterFinishedInitializationTime": [1-9]'),
        ("ready", "hbase-master", '"numRegionServers": 4,'),
    ]


def test_servers_and_clients_have_keys_that_nobody_else_reads(hbase: FakeTrial) -> None:
    authority = certificate(hbase, "node1", "ca.pem")
    for number, host in enumerate(NAMES, start=1):
        folder = hbase.folder / host / "secret/tls"
        key = folder / "host.pem"
        assert key.stat().st_mode & 0o077 == 0
        assert "PRIVATE KEY" in key.read_text()
        assert "PRIVATE KEY" not in (folder / "ca.pem").read_text()
        certificate_of_host = certificate(hbase, host, "host.pem")
        names = certificate_of_host.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert {str(ip) for ip in names.get_values_for_type(x509.IPAddress)} == {f"10.0.0.{number}", "127.0.0.1"}
        certificate_of_host.verify_directly_issued_by(authority)
        assert certificate(hbase, host, "ca.pem") == authority


def test_a_password_is_where_nobody_else_reads_it_and_not_in_the_evidence(tmp_path: Path) -> None:
    trial = trial_of("scylla", tmp_path, scylla_authentication=True, scylla_tls=True, scylla_password=QUOTED)
    trial.part.servers.configure()
    for host in ("node1", "node2"):
        home = tmp_path / host
        secrets = [home / "secret/scylla" / name for name in ("scylla.yaml", "client.properties")]
        assert [file.stat().st_mode & 0o077 for file in secrets] == [0, 0]
        assert f"cassandra.password={QUOTED}" in secrets[1].read_text().splitlines()
        evidence = [file for file in (home / "run").rglob("*") if file.is_file()]
        assert evidence
        assert not [file for file in evidence if "s3cret" in file.read_text()]
