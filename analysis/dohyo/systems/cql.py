"""Base class of Cassandra and ScyllaDB: the protocol CQL and its tables."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from typing import Any

from dohyo.systems.option import option
from dohyo.systems.records import Attached, ConfigFile
from dohyo.systems.rendering import as_properties
from dohyo.systems.system import System


def is_public(address: str) -> bool:
    """Returns whether an address may be reachable from the internet; true for names, which only hosts can resolve."""
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return True
    return number.is_global or number.is_unspecified


@dataclass(frozen=True, kw_only=True)
class Cql(System):
    """A system that uses the protocol CQL."""

    cql_port: int = option(9042, "Preferred port for clients.")
    storage_port: int = option(7000, "Preferred port between nodes.")
    # Lower case only: CQL folds unquoted names to lower case.
    keyspace: str = option("ycsb", "Name of the keyspace.", pattern="[a-z][a-z0-9_]{0,47}")
    replication_strategy: str = option(
        "NetworkTopologyStrategy",
        "Replication strategy of the keyspace; there is one data centre.",
        choices=("SimpleStrategy", "NetworkTopologyStrategy"),
    )
    column_type: str
    compaction: str
    # Cassandra's defaults, 5 and 50 KiB, are too small for 100 records of 500 B. ScyllaDB's are 128 and 1024 KiB.
    batch_warn_kib: int = option(1024, "Size in KiB above which the server logs a warning about a CQL batch.")
    batch_fail_kib: int = option(10240, "Size in KiB above which the server refuses a CQL batch.")
    # Longer than the client's timeout for an operation, so that the client gives up first and counts the timeout.
    timeout_ms: int = option(15000, "The server's own timeout for a request, in ms.")
    user: str
    tls: bool

    @property
    def starts_with_default_user(self) -> bool:
        """Whether the user ``cassandra`` has the password ``cassandra`` until all nodes are up."""
        return self.asks_for_password

    def problems(self) -> list[str]:
        if not self.starts_with_default_user or self.context.public or not is_public(self.address):
            return []
        return [
            f"dohyo_address={self.address}: may be public (default password); set a private one, or dohyo_public=true"
        ]

    @property
    def access(self) -> dict[str, str]:
        """Properties for authentication and TLS; empty if neither is on."""
        properties: dict[str, str] = {}
        if self.asks_for_password:
            properties |= {"cassandra.username": self.user, "cassandra.password": self.passwords["client"]}
        if self.tls:
            properties |= {"cassandra.useSSL": "true", "cassandra.ca": self.authority}
        return properties

    @property
    def connection(self) -> str:
        """File with the properties of `access`, so that no process list shows them; empty without such properties."""
        return f"{self.secret}/client.properties" if self.asks_for_password or self.tls else ""

    @property
    def secret_files(self) -> list[ConfigFile]:
        return [ConfigFile(self.connection, as_properties(self.access))] if self.connection else []

    @property
    def asks_ready(self) -> bool:
        """True for clusters: the other nodes learn of the last node only some time after its start."""
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
        hosts = ",".join(node["address"] for node in self.nodes)
        return {**self._connect(hosts, self.node["cql"], self.keyspace), **self.access}

    def _connect(self, hosts: str, port: Any, keyspace: str) -> dict[str, Any]:
        return {
            "hosts": hosts,
            "port": port,
            "cassandra.keyspace": keyspace,
            "cassandra.writeconsistencylevel": self.context.write_acks.upper(),
            "cassandra.readconsistencylevel": self.context.read_acks.upper(),
        }

    @property
    def attached(self) -> Attached:
        """Attached servers; each host may be followed by a port."""
        servers = super().attached
        port = servers.port or 9042
        return replace(
            servers,
            admin="dohyo.cassandra.admin.AttachedCql",
            arguments=[f"host={servers.hosts}", f"port={port}"],
            client_properties=self._connect(servers.hosts, port, servers.namespace),
            schema_words=self.attached_schema_words,
        )

    @property
    def attached_schema_words(self) -> list[str]:
        """Arguments of the administration command that creates tables in attached servers."""
        return self.schema_words
