"""What Cassandra and ScyllaDB share: their clients' protocol and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dohyo.systems.option import option
from dohyo.systems.rendering import as_properties
from dohyo.systems.system import Attach, Attached, ConfigFile, System


@dataclass(frozen=True, kw_only=True)
class Cql(System):
    """A server that speaks CQL."""

    cql_port: int = option(9042, "Preferred port for clients.")
    storage_port: int = option(7000, "Preferred port between nodes.")
    # In lower case, so that it is the same with quotes and without.
    keyspace: str = option("ycsb", "Name of the keyspace.", pattern="[a-z][a-z0-9_]{0,47}")
    replication_strategy: str = option(
        "NetworkTopologyStrategy",
        "Replication strategy of the keyspace; there is one data centre.",
        choices=("SimpleStrategy", "NetworkTopologyStrategy"),
    )
    column_type: str
    compaction: str
    # Cassandra's own 5 and 50 KiB refuse a batch of 100 records of 500 B; ScyllaDB's own are 128 and 1024 KiB.
    batch_warn_kib: int = option(1024, "Size of a CQL batch that the server logs a warning for, in KiB.")
    batch_fail_kib: int = option(10240, "Size of a CQL batch that the server refuses, in KiB.")
    # Longer than the client's own bound on an operation, so that the client gives up first, and counts it.
    timeout_ms: int = option(15000, "The server's own bound on one request, in ms.")
    user: str
    tls: bool

    @property
    def access(self) -> dict[str, str]:
        """Properties that let a client in."""
        found: dict[str, str] = {}
        if self.asks_for_password:
            found |= {"cassandra.username": self.user, "cassandra.password": self.passwords["client"]}
        if self.tls:
            found |= {"cassandra.useSSL": "true", "cassandra.ca": self.authority}
        return found

    @property
    def connection(self) -> str:
        """File with these properties for administration, where no list of processes shows them; empty without any."""
        return f"{self.secret}/client.properties" if self.asks_for_password or self.tls else ""

    @property
    def secret_files(self) -> list[ConfigFile]:
        return [ConfigFile(self.connection, as_properties(self.access))] if self.connection else []

    @property
    def asks_ready(self) -> bool:
        """A node that came up last is not known to all others at once."""
        return len(self.context.databases) > 1

    @property
    def schema_words(self) -> list[str]:
        return [
            f"strategy={self.replication_strategy}",
            f"keytype={'text' if self.context.keysalt == 'none' else 'blob'}",
            f"columntype={self.column_type}",
            f"compaction={self.compaction}",
        ]

    @property
    def client_properties(self) -> dict[str, Any]:
        hosts = ",".join(node.address for node in self.nodes)
        return {**self._connect(hosts, self.node["cql"], self.keyspace), **self.access}

    def _connect(self, hosts: str, port: Any, keyspace: str) -> dict[str, Any]:
        return {
            "hosts": hosts,
            "port": port,
            "cassandra.keyspace": keyspace,
            "cassandra.writeconsistencylevel": self.context.write_acks.upper(),
            "cassandra.readconsistencylevel": self.context.read_acks.upper(),
        }

    def attach(self, servers: Attached) -> Attach:
        """Hosts, perhaps with a port."""
        port = servers.port or 9042
        return Attach(
            admin="dohyo.cassandra.admin.AttachedCql",
            words=[f"host={servers.hosts}", f"port={port}"],
            client_properties=self._connect(servers.hosts, port, servers.place),
            schema_words=self.attached_schema_words,
        )

    @property
    def attached_schema_words(self) -> list[str]:
        """How the tables are made in servers that run already."""
        return self.schema_words
