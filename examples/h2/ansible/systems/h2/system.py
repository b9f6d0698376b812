"""Runs H2 as a single server in a JVM, as an example for docs/adding-a-system.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dohyo.systems.context import mib
from dohyo.systems.option import HEAP, option
from dohyo.systems.records import DataNeeds, HostNeeds
from dohyo.systems.system import System


@dataclass(frozen=True, kw_only=True)
class H2(System):
    """Runs one server with one copy of the data."""

    role = "h2"
    binding = "h2"
    admin = "dohyo.h2.H2Admin"
    opens = "h2"
    disks = 1
    settle_timeout = 600
    name: str = "h2"
    title: str = "H2"

    version: str = option("2.4.240", "Version of com.h2database:h2 from Maven Central.", pattern="[0-9][0-9A-Za-z.-]*")
    heap: str = option("1g", "Heap of the server, as in 1g.", pattern=HEAP)
    port: int = option(9092, "Preferred port.")
    ready_timeout: int = option(30, "Seconds for the server to start.")
    stop_timeout: int = option(60, "Seconds for the server to stop before it is killed.")

    @property
    def installed_version(self) -> str:
        return self.version

    @property
    def jars(self) -> list[str]:
        return [f"com.h2database:h2:{self.version}"]

    @property
    def programs(self) -> list[str]:
        return [self.lib]

    def problems(self) -> list[str]:
        """Returns a message if the scenario needs replication or several hosts, which H2 does not support."""
        if len(self.context.databases) == 1 and self.replication == 1:
            return []
        return ["H2 has one server and one copy; set replication to 1 and name one host in the group database"]

    def needs(self) -> HostNeeds:
        """Returns the memory and disk that H2 needs. H2 writes changed pages to new places and frees the old ones."""
        return HostNeeds(mib(self.heap) + 300, DataNeeds(record_disk=self.context.record_bytes * 4, spread=False))

    @property
    def ports(self) -> dict[str, int]:
        return {"h2": self.port}

    @property
    def folders(self) -> list[str]:
        return self.data[:1]

    @property
    def command(self) -> list[str]:
        """Command that starts the server. With -ifNotExists, clients can create the database."""
        java = f"{self.context.get('service_host')['java_home']}/bin/java"
        jvm = [f"-Xms{self.heap}", f"-Xmx{self.heap}", f"-Dh2.bindAddress={self.address}", "-cp", f"{self.lib}/*"]
        listen = ["-tcp", "-tcpPort", str(self.node["h2"]), "-ifNotExists", "-baseDir", self.data[0]]
        return [java, *jvm, "org.h2.tools.Server", *listen]

    @property
    def server(self) -> str:
        """Address and port of the server."""
        return f"{self.address}:{self.node['h2']}"

    @property
    def words(self) -> list[str]:
        """Arguments of H2Admin. They include the file with the process ID, because H2 does not report it."""
        return [f"server={self.server}", f"pid={self.run}/pid"]

    @property
    def client_properties(self) -> dict[str, Any]:
        return {"h2.server": self.server}


SYSTEMS = [H2()]
