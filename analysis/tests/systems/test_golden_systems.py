"""Compares the commands, files and arguments of each system in very different situations with golden files.

The golden files of a system on one host are complete. The files of other cases contain only differences.
"""

import re
from typing import Any

import pytest

from dohyo.systems.catalogue import all_systems
from support.described import GOLDEN, compare, described, difference, texts_of

SOME_DISKS = {"dohyo_data": ["/data1", "/data2"]}
BUDGET = {"host_memory_budget": "64g"}
FOUR_HOSTS: dict[str, Any] = {"hosts": 4, "host": 2, **SOME_DISKS}
TUNED: dict[str, Any] = {**FOUR_HOSTS, **BUDGET, "conditions": {"profile": "tuned"}}
STRICT: dict[str, Any] = {
    "hosts": 3,
    "conditions": {"write_acks": "quorum", "read_acks": "quorum", "durability": "disk", "compression": "lz4"},
    "properties": {"tablecount": 2, "keysalt": "hash", "fieldcount": 4, "fieldlength": 500, "inflight": 50},
}
FOUND = {"name": "nobody", "uid": 65534, "gid": 65534, "change": True}
FOUND_MYSQL = {
    f"node{n}": {
        "found": {**FOUND, "product": "MariaDB", "basedir": "/usr", "version": "11.4.5", "tables": ["a.sql", "b.sql"]}
    }
    for n in range(1, 5)
}
FOUND_POSTGRESQL = {f"node{n}": {"found": {**FOUND, "version": "17.6"}} for n in range(1, 5)}
FOUND_SCYLLA: dict[str, Any] = {
    "system_page_ports": {"ports": {"api": 10000, "prometheus": 9181}, "moved": ["9181 instead of 9180"]},
    "states": {
        f"node{n}": {"looked": {"stdout": "/opt/scylladb/bin/scylla\n2025.1.9\n1-7", "stderr": ""}} for n in range(1, 5)
    },
}


def found_aerospike(edition: str, version: str) -> dict[str, Any]:
    printed = f"100000\n/usr/bin/asd\nAerospike {edition} Edition build {version}\n"
    return {"states": {f"node{n}": {"looked": {"stdout": printed, "stderr": ""}} for n in range(1, 5)}}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "cassandra-one-host": ("cassandra", {}),
    "cassandra-four-hosts": ("cassandra", FOUR_HOSTS),
    "cassandra-tuned": ("cassandra", TUNED),
    "cassandra-strict-3.11": ("cassandra", {**STRICT, "cassandra_version": "3.11.19", "cassandra_gc": "CMS"}),
    "hbase-one-host": ("hbase", {}),
    "hbase-four-hosts": ("hbase", {**FOUR_HOSTS, "hbase_regionservers_per_host": 2}),
    "hbase-tuned": ("hbase", TUNED),
    "hbase-strict": ("hbase", {**STRICT, "hbase_version": "2.5.13-hadoop3", "hbase_prefetch": True}),
    "hbase-closed": ("hbase", {"hosts": 3, "hbase_authentication": True, "hbase_tls": True}),
    "mysql-innodb-one-host": ("mysql-innodb", {"states": FOUND_MYSQL}),
    "mysql-innodb-four-hosts": ("mysql-innodb", {**FOUR_HOSTS, "states": FOUND_MYSQL}),
    "mysql-innodb-tuned": ("mysql-innodb", {**TUNED, "states": FOUND_MYSQL}),
    "mysql-myisam-strict": ("mysql-myisam", {**STRICT, "states": FOUND_MYSQL}),
    "postgresql-one-host": ("postgresql", {"states": FOUND_POSTGRESQL}),
    "postgresql-tuned": ("postgresql", {**TUNED, "states": FOUND_POSTGRESQL}),
    "postgresql-strict": ("postgresql", {**STRICT, "states": FOUND_POSTGRESQL}),
    "scylla-one-host": ("scylla", FOUND_SCYLLA),
    "scylla-tuned": ("scylla", {**TUNED, **FOUND_SCYLLA, "scylla_nic": "eth0"}),
    "scylla-strict": ("scylla", {**STRICT, **FOUND_SCYLLA, "scylla_tls": True}),
    "aerospike-one-host": ("aerospike", found_aerospike("Community", "8.1.2.5")),
    "aerospike-tuned": (
        "aerospike",
        {**TUNED, **found_aerospike("Community", "7.0.0.0"), "aerospike_devices": ["/dev/sdb"]},
    ),
    "aerospike-strict": (
        "aerospike",
        {
            **STRICT,
            **found_aerospike("Enterprise", "8.1.2.5"),
            "aerospike_feature_key": "/etc/features.conf",
            "aerospike_authentication": True,
            "aerospike_tls": True,
            "aerospike_index": "flash",
        },
    ),
    "cassandra-closed": ("cassandra", {"hosts": 3, "cassandra_authentication": True, "cassandra_tls": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_system_is_described_as_before(case: str) -> None:
    name, variables = CASES[case]
    texts = texts_of(described(name, **variables))
    if not case.endswith("-one-host"):
        role = all_systems()[name].role
        [(of_one, values)] = [
            entry for key, entry in CASES.items() if key.startswith(role) and key.endswith("-one-host")
        ]
        texts = {"differs.diff": difference(texts_of(described(of_one, **values)), texts)}
    compare(case, texts)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith(("cassandra", "hbase"))])
def test_the_temporary_folder_of_a_jvm_is_created_before_its_start(case: str) -> None:
    name, variables = CASES[case]
    system = described(name, **variables)
    (folder,) = re.findall("^-Djava.io.tmpdir=(.+)$", texts_of(system)["conf-jvm.options"], re.MULTILINE)
    assert folder in system.folders
    assert folder.startswith(system.data[0])


def test_every_golden_folder_has_its_case() -> None:
    assert sorted(folder.name for folder in GOLDEN.iterdir()) == sorted(CASES)
