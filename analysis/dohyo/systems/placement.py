"""Hosts, folders, ports, passwords and certificates of a system."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from dohyo.systems.declaration import Declared
from dohyo.systems.records import ConfigFile, Owner


@dataclass(frozen=True, kw_only=True)
class Placed(Declared):
    """The hosts, folders and ports of a system's servers, and who may access them."""

    @property
    def replication(self) -> int:
        """Requested number of copies of a record."""
        return self.context.replication

    @property
    def hosts(self) -> list[str]:
        """Hosts with a server. Commands for the whole cluster go to the first one."""
        return self.context.databases

    @property
    def starts(self) -> list[str]:
        """Hosts whose servers start first; the others start when these are ready."""
        return self.hosts

    @property
    def serves(self) -> bool:
        """Whether this host has a server."""
        return self.context.host in self.hosts

    @property
    def is_first(self) -> bool:
        """Whether this host is the first one with a server."""
        return self.context.host == self.hosts[0]

    @property
    def run(self) -> str:
        """Folder of the running server, for logs and configuration."""
        return f"{self.context.home}/run/{self.role}"

    @property
    def conf(self) -> str:
        """Folder of the configuration."""
        return f"{self.run}/conf"

    @property
    def secret(self) -> str:
        """Folder for files with passwords, which are never part of the evidence."""
        return f"{self.context.home}/secret/{self.role}"

    @property
    @abstractmethod
    def installed_version(self) -> str:
        """Version in the name of the installation's folder."""

    @property
    def install(self) -> str:
        """Path of the installation, relative to the project's folder on the host and on the control machine."""
        return f"install/{self.role}/{self.installed_version}"

    @property
    def lib(self) -> str:
        """Folder of the server's jars on the host."""
        return f"{self.context.home}/{self.install}/lib"

    @property
    def data(self) -> list[str]:
        """The system's folder on each disk for data."""
        return [f"{folder}/dohyo/{self.role}" for folder in self.context.data]

    @property
    def log_disks(self) -> list[str]:
        """Folders on separate disks that the user chose for logs."""
        return []

    @property
    def logs(self) -> list[str]:
        """The system's folder on each disk for logs."""
        return [f"{folder}/dohyo/{self.role}" for folder in self.log_disks]

    @property
    def disks(self) -> int:
        """Number of folders that are used for data, starting with the first one."""
        return len(self.context.data)

    @property
    def folders(self) -> list[str]:
        """Folders for data and logs, which are created before the start."""
        return self.data + self.logs

    @property
    def owner(self) -> Owner | None:
        """Owner of the folders for data and logs; None for the user who starts the servers."""
        return None

    @property
    def owner_words(self) -> list[str]:
        """Command prefix that runs a program as the owner of the folders; empty if no change of user is needed."""
        owner = self.owner
        if owner is None or not owner.change:
            return []
        return ["setpriv", f"--reuid={owner.uid}", f"--regid={owner.gid}", "--clear-groups", "--"]

    @property
    def raw_devices(self) -> list[str]:
        """Block devices that the server uses without a file system."""
        return []

    @property
    def makes(self) -> dict[str, list[str]]:
        """Names of the files that the server creates in its data folders, by folder; a wipe removes only these."""
        return {}

    @property
    def is_reusable(self) -> bool:
        """Whether servers can start from a copy of a load; a copy does not contain the users of a new trial."""
        return not getattr(self, "authentication", False)

    @property
    def ports(self) -> dict[str, int]:
        """Preferred ports by name."""
        return {}

    @property
    def searched_ports(self) -> dict[str, int]:
        """Preferred ports. Locally, a free port replaces one in use, with a note; on other hosts, the trial fails."""
        return self.ports

    @property
    def node_more(self) -> dict[str, Any]:
        """Values of this server that other nodes and clients need, besides its address and ports."""
        return {}

    @property
    def node(self) -> dict[str, Any]:
        """This host's server; it exists once the ports are chosen."""
        return self.context.node(self.role)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Servers of all hosts."""
        return [self.context.node(self.role, host) for host in self.hosts]

    @property
    def open_address(self) -> str:
        """Address that is open without a password and not explicitly allowed (dohyo_public), or an empty string."""
        return "" if self.context.public or self.asks_for_password else self.address

    # ---- passwords and certificates ---------------------------------------------------------------------------------

    @property
    def asks_for_password(self) -> bool:
        """Whether clients need a password."""
        return bool(getattr(self, "authentication", False))

    @property
    def new_passwords(self) -> dict[str, str]:
        """Passwords for a new trial, by account: the user's, or a random one if the user has set none."""
        return {"client": getattr(self, "password", "") or secrets.token_hex(12)} if self.asks_for_password else {}

    @property
    def passwords(self) -> dict[str, str]:
        """Passwords of the trial, by account."""
        return dict(self.context.get("system_secrets", {}).get(self.role, {}).get("passwords", {}))

    @property
    def has_certificates(self) -> bool:
        """Whether the servers have keys and certificates."""
        return bool(getattr(self, "tls", False))

    @property
    def clients_have_certificates(self) -> bool:
        """Whether clients also have keys and certificates."""
        return False

    @property
    def certificate_of_host(self) -> str:
        """File on the host with the server's key and certificate."""
        return f"{self.context.home}/secret/tls/host.pem"

    @property
    def certificate_of_authority(self) -> str:
        """File on the host with the certificate of the authority."""
        return f"{self.context.home}/secret/tls/ca.pem"

    @property
    def authority(self) -> str:
        """Certificate of the authority, as a value for the binding's property."""
        return str(self.context.get("certificates_made", {}).get("authority", ""))

    @property
    def secret_files(self) -> list[ConfigFile]:
        """Files that only the server's user may read."""
        return []
