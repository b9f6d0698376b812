"""Tests the arguments of administration and clients for attached systems (docs/attach.md)."""

from typing import Any

import pytest

from support.described import described

PLACE = "dohyo_0123456789abcdef"
FOLDER = "/opt/dohyo/attached"


@pytest.mark.parametrize(
    ("name", "servers", "names", "properties"),
    [
        (
            "cassandra",
            "a,[fe80::1]:9043,[::1]",
            ["host=a,[fe80::1],[::1]", "port=9043"],
            {"hosts": "a,[fe80::1],[::1]", "port": "9043", "cassandra.keyspace": PLACE},
        ),
        (
            "cassandra",
            "a,b",
            ["host=a,b", "port=9042"],
            {"hosts": "a,b", "port": 9042, "cassandra.keyspace": PLACE, "cassandra.writeconsistencylevel": "ALL"},
        ),
        ("scylla", "a:9043,b", ["host=a,b", "port=9043"], {"hosts": "a,b", "port": "9043"}),
        (
            "hbase",
            "zk1,zk2:2182:/other/node",
            [
                "hbase.zookeeper.quorum=zk1,zk2",
                "hbase.zookeeper.property.clientPort=2182",
                "zookeeper.znode.parent=/other/node",
                f"tables={PLACE}:usertable",
            ],
            {"zookeeper.znode.parent": "/other/node", "table": f"{PLACE}:usertable", "columnfamily": "family"},
        ),
        (
            "mysql-innodb",
            "db:3307",
            ["server=db:3307"],
            {"mysql.url": f"jdbc:mariadb://db:3307/{PLACE}", "mysql.columntype": "bytes"},
        ),
        (
            "postgresql",
            "db:5433/admin",
            ["server=db:5433", "database=admin"],
            {"postgresql.url": f"jdbc:postgresql://db:5433/{PLACE}"},
        ),
        ("postgresql", "db", ["database=postgres"], {"postgresql.url": f"jdbc:postgresql://db/{PLACE}"}),
        (
            "hbase",
            "zk",
            ["hbase.zookeeper.property.clientPort=2181", "zookeeper.znode.parent=/hbase"],
            {"hbase.zookeeper.quorum": "zk", "hbase.zookeeper.property.clientPort": 2181},
        ),
        (
            "aerospike",
            "a:3000,b:3001/own",
            [
                "hosts=a:3000,b:3001",
                "namespace=own",
                f"access={FOLDER}/aerospike/connection.properties",
                f"tables={PLACE}_usertable",
            ],
            {"aerospike.hosts": "a:3000,b:3001", "aerospike.namespace": "own", "table": f"{PLACE}_usertable"},
        ),
        ("aerospike", "a", ["namespace=test"], {"aerospike.namespace": "test"}),
    ],
)
def test_servers_that_run_already(name: str, servers: str, names: list[str], properties: dict[str, Any]) -> None:
    system = described(name, attached={name: servers})
    every = [f"place={PLACE}", f"made={FOLDER}/{system.role}/made", f"trial={PLACE[6:]}", "recordcount=1000"]
    assert {*every, *names} <= {*system.attached_words}
    assert properties.items() <= {**system.attached.client_properties}.items()


def test_regions_of_attached_hbase_are_those_of_one_server_and_nothing_is_read_ahead() -> None:
    system = described("hbase", hosts=3, hbase_prefetch=True, hbase_regions=5, attached={"hbase": "zk"})
    assert {"regions=5", "prefetch=false"} <= {*system.attached.schema_words}


@pytest.mark.parametrize("name", ["cassandra", "hbase", "mysql-innodb", "aerospike"])
def test_servers_that_run_already_take_nothing_of_our_hosts(name: str) -> None:
    """The caches of these servers are unknown, so a plan does not state them either."""
    planned = described(name, 3, attached={name: "elsewhere"}).planned
    assert (planned["memory_mb"], planned["data_mb"], planned["cache_mb"]) == (0, 0, 0)
    assert described(name, 3, attached={"another": "elsewhere"}).planned["memory_mb"] > 0
