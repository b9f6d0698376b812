"""Base class of MySQL and PostgreSQL: a primary with full replicas. The server may already be on the host."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dohyo.places import ANSIBLE
from dohyo.systems.context import mib
from dohyo.systems.option import option
from dohyo.systems.records import ConfigFile, Owner, Script
from dohyo.systems.rendering import as_properties
from dohyo.systems.system import System


@dataclass(frozen=True, kw_only=True)
class Replicated(System):
    """A system with its primary on the first database host and its replicas on the next ones. Other hosts are idle."""

    disks = 1
    asks_for_password = True
    attaches = True
    keeps_versions = True
    attached_options: ClassVar[Sequence[str]] = ("settle_timeout", "count_limit")
    # Scheme of the JDBC driver's URLs.
    driver: ClassVar[str]
    # Quotation mark of the configuration file, and its form within a quoted value.
    quotation: ClassVar[tuple[str, str]]

    server: str
    version: str
    port: int
    run_as: str = option("nobody", "User that runs the server if Ansible logs in as root.")
    ready_timeout: int = option(120, "Seconds to wait for the server to start.")
    replica_timeout: int
    stop_timeout: int = option(120, "Seconds to wait for the server to stop before it is killed.")
    count_limit: int = option(1000000, "Maximum number of records for which the rows are counted after the load.")

    @property
    def installed_version(self) -> str:
        return self.version

    @property
    def program(self) -> str:
        """Path of the server program: the option ``server`` if it is set, otherwise a path in the binaries."""
        return self.server or f"{self.context.home}/{self.install}/server/{self.server_programs[0]}"

    @property
    def programs(self) -> list[str]:
        return [self.program]

    @property
    def needs_binaries(self) -> bool:
        return not self.server

    @property
    def looks_for(self) -> Script:
        context = self.context
        environment = {"SERVER": self.server, "HOST": context.host, "FOLDER": context.home, "RUN_AS": self.run_as}
        return Script(self.script("available"), environment)

    @property
    def look(self) -> Script:
        return Script(self.script("look"), arguments=[self.program, self.run_as, self.context.home])

    def script(self, name: str) -> str:
        """Returns a script of the system's folder ``files``."""
        return (ANSIBLE / "systems" / self.role / "files" / name).read_text("utf-8")

    @property
    def owner(self) -> Owner:
        account = self.found
        return Owner(account.get("name", self.run_as), account["uid"], account["gid"], account["change"])

    @property
    def data_directory(self) -> str:
        """Folder of the server's data."""
        return f"{self.data[0]}/data"

    @property
    def folders(self) -> list[str]:
        return [self.data_directory]

    @property
    @abstractmethod
    def sizes(self) -> tuple[str, str]:
        """Sizes of the server's own cache and of its log, as the options give them."""

    @property
    def buffers_mb(self) -> int:
        """Size of the server's own cache in MiB."""
        return mib(self.sizes[0])

    @property
    def log_mb(self) -> int:
        """Size of the server's own log in MiB."""
        return mib(self.sizes[1])

    @property
    def disk_mb(self) -> int:
        """Disk space of a trial in MiB, including the log and the server's own tables."""
        return self.data_mb + self.log_mb + 500

    def quoted(self, value: Any) -> str:
        """Returns a value in quotes for the configuration file."""
        mark, within = self.quotation
        text = str(value).replace("\\", "\\\\").replace(mark, within)
        return f"{mark}{text}{mark}"

    @property
    def hosts(self) -> list[str]:
        """The first hosts, one per copy."""
        return self.context.databases[: self.replication]

    @property
    def ports(self) -> dict[str, int]:
        return {self.role: self.port}

    def place(self, node: Mapping[str, Any]) -> str:
        """Returns the address and port of a server, as ``ADDRESS:PORT``."""
        return f"{node['address']}:{node[self.role]}"

    def url(self, address: str, database: str) -> dict[str, Any]:
        """Returns the property with the JDBC URL."""
        return {f"{self.role}.url": f"jdbc:{self.driver}://{address}/{database}"}

    @property
    def client_properties(self) -> dict[str, Any]:
        account = {f"{self.role}.user": "dohyo", f"{self.role}.password": self.passwords["client"]}
        return {**self.url(self.place(self.node), "ycsb"), **account}

    @property
    def secret_files(self) -> list[ConfigFile]:
        """File with the clients' properties, so that the list of processes does not show the password."""
        return [ConfigFile(f"{self.secret}/client.properties", as_properties(self.client_properties))]

    @property
    def words(self) -> list[str]:
        return [f"connection={self.secret}/client.properties"]

    @property
    def schema_words(self) -> list[str]:
        return [f"timeout={self.replica_timeout}"]

    @property
    def first_words(self) -> list[str]:
        return [f"replicas={','.join(map(self.place, self.nodes[1:]))}"]
