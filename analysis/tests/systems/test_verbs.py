"""What the role `system` does with the words of a class: Ansible, with programs that only note their arguments."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from support.playbooks import DEFAULTS, play

# Notes what it was asked to do, a line per call, beside itself.
NOTES = """#!/usr/bin/env bash
printf '%s\\t' "$@" >> "$0.calls"
echo >> "$0.calls"
echo '{"rows": {}}'
"""
VERBS = ["configure", "start", "ready", "stop"]
ADDRESSES = ["127.9.8.1", "127.9.8.2", "127.9.8.3"]  # on which nobody listens


@dataclass
class Host:
    """A host that is this one, in a folder of its own."""

    home: Path

    def calls(self, program: str) -> list[list[str]]:
        """Arguments of each call of a program."""
        lines = (self.home / f"{program}.calls").read_text().splitlines()
        return [line.split("\t")[:-1] for line in lines]

    def services(self, verb: str) -> list[str]:
        """Servers that the tool for services was called for, in this order."""
        return [call[1] for call in self.calls("bin/agent") if call[0] == verb]

    @property
    def certificate(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.home / "secret/tls/host.pem").read_bytes())

    @property
    def authority(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.home / "secret/tls/ca.pem").read_bytes())


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    """Two hosts after all verbs of HBase, then as one process, and configured for ScyllaDB; and one of clients."""
    folder = tmp_path_factory.mktemp("verbs")
    found = [Host(folder / name) for name in ("first", "second", "others")]
    for host in found[:2]:
        for tool in (host.home / "bin/agent", host.home / "jdk/bin/java"):
            tool.parent.mkdir(parents=True)
            tool.write_text(NOTES)
            tool.chmod(0o755)
    inventory: dict[str, dict[str, Any]] = {
        host.home.name: {
            "dohyo_home": str(host.home),
            "dohyo_data": [str(host.home / "data")],
            "dohyo_address": address,
            "jdk_host": {"java_home": str(host.home / "jdk")},
            "service_host": {"java_home": str(host.home / "jdk")},
        }
        for host, address in zip(found, ADDRESSES, strict=True)
    }
    clients = {"others": inventory.pop("others")}
    alone = {"hbase_distributed": False, "hbase_regionservers_per_host": 1}
    closed = {"system_name": "scylla", "scylla_authentication": True, "scylla_tls": True}
    verbs: list[tuple[str, str, dict[str, Any]]] = [
        *(("hbase", verb, {}) for verb in VERBS),
        *(("hbase", verb, alone) for verb in ("start", "stop")),
        ("scylla", "configure", closed),
    ]
    tasks = [
        {
            "include_role": {"name": "system", "tasks_from": f"{{{{ systems.{system}.verbs.{verb} }}}}"},
            "vars": variables,
        }
        for system, verb, variables in verbs
    ]
    given = {
        **DEFAULTS,
        "system_name": "hbase",
        "jdk_gc_options": ["-XX:+UseG1GC", "-Xlog:gc*:file=gc.log:time,uptime"],
        "trial_conditions": {"replication": 1},
        "trial_properties": {"recordcount": "1000"},
        "hbase_regionservers_per_host": 2,
        "hbase_prefetch": True,
        "hbase_tls": True,
        "scylla_password": "s3cret-'quoted'",
    }
    play(folder, tasks, inventory, clients, [], **given)
    return found


def test_hbase_starts_on_top_of_hdfs_and_stops_in_the_opposite_order(hosts: list[Host]) -> None:
    below = [{"hbase-zookeeper", "hbase-namenode", "hbase-datanode"}, {"hbase-datanode"}]
    above = ["hbase-master", "hbase-regionserver", "hbase-regionserver2"]
    for host, first in zip(hosts, below, strict=False):
        started = host.services("start")
        # Ansible does an include of several hosts in the order in which these answer.
        assert set(started[: len(first)]) == first
        assert set(started[len(first) : -1]) == set(above)
        assert started[-1] == "hbase"
    assert [host.services("stop") for host in hosts[:2]] == [
        [*reversed(above), "hbase-datanode", "hbase-namenode", "hbase-zookeeper", "hbase"],
        [*reversed(above), "hbase-datanode", "hbase"],
    ]


def test_each_process_is_started_with_its_own_command(hosts: list[Host]) -> None:
    commands = {call[1]: call[5:] for call in hosts[0].calls("bin/agent") if call[0] == "start"}
    for name, number in (("hbase-regionserver", 0), ("hbase-regionserver2", 1)):
        assert str(hosts[0].home / "jdk/bin/java") in commands[name]
        assert f"-Dhbase.regionserver.port={16020 + number}" in commands[name]
    assert commands["hbase"][-2:] == ["org.apache.hadoop.hbase.master.HMaster", "start"]


def test_hdfs_is_formatted_before_it_starts_and_all_region_servers_are_waited_for(hosts: list[Host]) -> None:
    assert ["-format", "-nonInteractive"] in [call[-2:] for call in hosts[0].calls("jdk/bin/java")]
    waits = [(call[1], call[-1]) for host in hosts[:2] for call in host.calls("bin/agent") if call[0] != "start"]
    for service, pattern in (
        ("hbase-zookeeper", "^Mode"),
        ("hbase-namenode", '"FSState" : "Operational"'),
        ("hbase-master", '"masterFinishedInitializationTime": [1-9]'),
        ("hbase-master", '"numRegionServers": 4,'),
        ("hbase-master", '"tag.isActiveMaster": "false"'),
    ):
        assert (service, pattern) in waits


def test_servers_and_clients_have_keys_that_nobody_else_reads(hosts: list[Host]) -> None:
    for host, address in zip(hosts, ADDRESSES, strict=True):
        key, authority = host.home / "secret/tls/host.pem", host.home / "secret/tls/ca.pem"
        assert key.stat().st_mode & 0o077 == 0
        assert "PRIVATE KEY" in key.read_text()
        assert "PRIVATE KEY" not in authority.read_text()
        names = host.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert {str(ip) for ip in names.get_values_for_type(x509.IPAddress)} == {address, "127.0.0.1"}
        host.certificate.verify_directly_issued_by(hosts[0].authority)
        assert host.authority == hosts[0].authority


def test_a_password_is_where_nobody_else_reads_it_and_not_in_the_evidence(hosts: list[Host]) -> None:
    for host in hosts[:2]:
        secrets = [host.home / "secret/scylla" / name for name in ("scylla.yaml", "client.properties")]
        assert [file.stat().st_mode & 0o077 for file in secrets] == [0, 0]
        assert "cassandra.password=s3cret-'quoted'" in secrets[1].read_text().splitlines()
        evidence = [file for file in (host.home / "run").rglob("*") if file.is_file()]
        assert evidence
        assert not [file for file in evidence if "s3cret" in file.read_text()]
