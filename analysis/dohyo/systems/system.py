"""The base class of all systems, with the members that the playbooks and the plan use. Most have a default.

A system is a folder ansible/systems/NAME: a class in ``system.py``, templates of the configuration, and optional tasks.
docs/adding-a-system.md shows how to write one.
"""

from __future__ import annotations

import os
import secrets
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, cast

from dohyo.figures import counted
from dohyo.places import ANSIBLE, LOCAL_HOME
from dohyo.systems import rendering
from dohyo.systems.context import MIB
from dohyo.systems.declaration import Declared
from dohyo.systems.records import Archive, Attached, ConfigFile, DataNeeds, HostNeeds, Jvm, Owner, Script
from dohyo.systems.steps import Steps

# Command that prints distribution, version and architecture of a host; see System.platform.
PLATFORM = ("sh", "-c", '. /etc/os-release; echo "$ID $VERSION_ID $(uname -m)"')


@dataclass(frozen=True, kw_only=True)
class System(Declared):
    """One database under test.

    The members are evaluated for one host at one moment of a trial; ``context`` contains the values known then.
    """

    # ---- requirements and refusals ----------------------------------------------------------------------------------

    @abstractmethod
    def needs(self) -> HostNeeds:
        """Returns the resources that the system needs on a host, computed only from the scenario."""

    def problems(self) -> list[str]:
        """Returns one sentence for each request that the system cannot meet."""
        return []

    @property
    def refusals(self) -> list[str]:
        """Reasons to refuse a trial: a changed variant, an impossible request, or too few hosts."""
        return [*self._other_variant(), *self.problems()] or self._too_few_hosts()

    def _other_variant(self) -> list[str]:
        """Returns a sentence for each variable that would turn this variant into a different system."""
        return [
            f"{self.role}_{name}={self.user_values[name]}: {self.name} has {value}; choose the system with that {name}"
            for name in self.variant
            if name in self.user_values and self.user_values[name] != (value := self.own_variant[name])
        ]

    def _too_few_hosts(self) -> list[str]:
        count = len(self.context.databases)
        if self.replication <= count:
            return []
        return [
            f"replication={self.replication}: the inventory's group database has only {counted(count, 'host')};"
            " lower it, or add hosts"
        ]

    @property
    def data_mb(self) -> int:
        """Disk space for the scenario's data on one host, in MiB."""
        context, hosts = self.context, len(self.context.databases)
        return int(self.needs().size.disk(context.records, context.record_bytes, self.replication, hosts) / MIB) + 1

    @property
    def disk_mb(self) -> int:
        """Disk space that a trial needs in the first folder for data, in MiB."""
        return self.data_mb

    @property
    def planned(self) -> dict[str, Any]:
        """Facts for planning and deployment, known before a host is examined. Attached systems need no resources."""
        is_attached = self.name in self.context.get("attached", {})
        if is_attached:
            nothing = asdict(HostNeeds(0, DataNeeds(0)))
            return {**nothing, "data_mb": 0, "disks": 1, "log_disks": [], "open": "", "ports": {}}
        needs = self.needs()
        values, budget_mb = {**self.values, **needs.instead}, self.context.budget_mb
        unknown = bool(self.context.budget) and budget_mb == 0
        return {
            **asdict(replace(needs, values=values, budget_mb=budget_mb, unknown=unknown)),
            "data_mb": self.data_mb,
            "disks": self.disks,
            "log_disks": self.log_disks,
            "open": self.open_address,
            "ports": {
                f"{self.role}_{'' if name == self.role else name + '_'}port": port for name, port in self.ports.items()
            },
        }

    # ---- hosts, folders and ports ------------------------------------------------------------------------------------

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

    # ---- where the server comes from, and how it is found on a host --------------------------------------------------

    @property
    def server_archive(self) -> Archive | None:
        """Archive with the server; None if the system does not come as an archive."""
        return None

    @property
    def archive_source(self) -> str:
        """URL or path of the server's archive; empty without an archive."""
        return self.server_archive.source if self.server_archive is not None else ""

    @property
    def downloads(self) -> bool:
        """Whether the vendor's archive is to be downloaded."""
        return self.server_archive is not None and bool(self.server_archive.url) and not self.server_archive.user_source

    @property
    def archive_problem(self) -> str:
        """Reason why the archive cannot be fetched; empty if it can be fetched."""
        archive = self.server_archive
        if archive is None or not archive.source:
            return ""
        source = archive.source
        if archive.is_remote and not source.startswith("https://"):
            return f"{source}: only https:// is accepted"
        if not archive.is_remote and not os.path.exists(_expanded(source)):  # noqa: PTH110 - pathlib fails for a long name
            return f"{archive.variable}={source}: no such file on the control machine; set an absolute path or a URL"
        looked = [self.context.of_host(host, "system_platform", {}) for host in self.hosts]
        platforms = list(dict.fromkeys(str(platform["stdout"]) for platform in looked if "stdout" in platform))
        if self.downloads and len(platforms) > 1:
            return (
                f"the database hosts have several platforms: {', '.join(platforms)}; name a package for each"
                f" with {archive.variable}"
            )
        vouched = archive.sha256 or (self.downloads and archive.sums)
        if not vouched and (archive.is_remote or not archive.unchecked):
            reason = f"{archive.unsigned}; " if archive.unsigned and self.downloads else ""
            command = f"curl -fsSL {source} | sha256sum" if archive.is_remote else "sha256sum"
            return f"{reason}{archive.checksum} has no value; set it to the SHA-256 of {source}, which {command} prints"
        return ""

    @property
    def platform(self) -> list[str]:
        """Distribution, its version, and the CPU architecture of the host."""
        parts = str(self.context.get("system_platform", {}).get("stdout", "")).split()
        # Rolling distributions have no version.
        return parts if len(parts) == 3 else ["unknown", "0", parts[-1] if parts else "unknown"]

    @property
    def archive_path(self) -> str:
        """Path of the archive on the control machine, after its download."""
        archive = self.server_archive
        if archive is None or not archive.source:
            return ""
        if not archive.is_remote:
            return _expanded(archive.source)
        folder = archive.sha256[:16] or "vendor"
        return f"{self.context.control}/packages/{self.role}/{folder}/{archive.source.rpartition('/')[2]}"

    @property
    def jars(self) -> list[str]:
        """Maven Central artifacts that the server consists of, with their versions."""
        return []

    @property
    def jvm(self) -> Jvm | None:
        """JVM of the server; None if it does not need one."""
        return None

    @property
    def needs_binaries(self) -> bool:
        """Whether the server's programs come from the artifact of Maven Central that :attr:`binaries` names."""
        return self.binaries != ""

    @property
    def programs(self) -> list[str]:
        """Paths on the host that exist after the installation."""
        return []

    @property
    def looks_for(self) -> Script | None:
        """POSIX shell script that looks for the server and its requirements; :attr:`looked` contains its output."""
        return None

    @property
    def looked(self) -> dict[str, str]:
        """Output of :attr:`looks_for` on this host: ``stdout`` and ``stderr``."""
        return {"stdout": "", "stderr": "", **self.context.state(self.role).get("looked", {})}

    def looked_line(self, number: int) -> str:
        """Returns a line of the standard output of :attr:`looks_for`, from 0; empty if there is no such line."""
        return "".join(self.looked["stdout"].splitlines()[number : number + 1])

    @property
    def unavailable(self) -> str:
        """Reason why the host has no server, and how to get one; empty if it has one."""
        return "; ".join(self.looked["stdout"].splitlines())

    @property
    def look(self) -> Script | None:
        """Bash script that prints a description of an installed server in JSON; :attr:`found` contains it."""
        return None

    @property
    def found(self) -> dict[str, Any]:
        """Description that :attr:`look` printed on this host."""
        return dict(self.context.state(self.role).get("found", {}))

    @property
    def found_problem(self) -> str:
        """Reason why the server that was found does not meet the request; empty if it does."""
        return ""

    def is_installed(self) -> bool:
        """Returns whether the server has already been installed on this machine."""
        return (LOCAL_HOME / "install" / self.role).is_dir()

    # ---- configuration and start ------------------------------------------------------------------------------------

    @property
    def files(self) -> list[ConfigFile]:
        """Files of the configuration."""
        return []

    def render(self, template: str, **more: Any) -> str:
        """Renders a template of the system.

        :param template: name in templates/ without .j2
        :param more: variables of the template besides ``system`` and ``context``
        """
        folder = ANSIBLE / "systems" / self.role / "templates"
        return rendering.render(folder / f"{template}.j2", system=self, context=self.context, **more)

    def conf_file(self, name: str, content: str | None = None) -> ConfigFile:
        """Returns a file in the configuration's folder; the default content is the template of the same name."""
        return ConfigFile(f"{self.conf}/{name}", self.render(name) if content is None else content)

    @property
    @abstractmethod
    def command(self) -> list[str]:
        """Command that runs the server in the foreground; it starts in the folder ``run``."""

    @property
    def processes(self) -> list[str]:
        """Names of the server's processes, in the order in which they are stopped."""
        return [self.role]

    @property
    def initialise(self) -> Script | None:
        """Bash script that creates the data before the first start; None if the server creates it."""
        return None

    @property
    def up(self) -> list[str]:
        """Command that succeeds when this host's server is up; the default connects to the port ``opens``."""
        if not self.opens:
            return []
        return ["bash", "-c", f": < /dev/tcp/{self.node['address']}/{self.node[self.opens]}"]

    @property
    def asks_ready(self) -> bool:
        """Whether the administration must confirm that every node knows all others."""
        return False

    @property
    def timeouts(self) -> dict[str, int]:
        """Timeouts in seconds, for the start (ready), for settling (settle) and for the stop (stop)."""
        return {name: int(getattr(self, f"{name}_timeout")) for name in ("ready", "settle", "stop")}

    # ---- administration and clients ----------------------------------------------------------------------------------

    @property
    def effective_compression(self) -> str:
        """Compression of the data on disk: the system's own option if it is set, otherwise the scenario's."""
        compression = str(getattr(self, "compression", "scenario"))
        return str(self.context.conditions.get("compression", "none")) if compression == "scenario" else compression

    @property
    @abstractmethod
    def words(self) -> list[str]:
        """The system's own NAME=VALUE arguments for all administration commands."""

    @property
    def admin_words(self) -> list[str]:
        """All arguments for an administration command."""
        return [*self._words_of_tables(self.is_first), *self.words]

    @property
    def attached_words(self) -> list[str]:
        """All arguments for an administration command on attached servers."""
        attached = self.attached
        return [
            f"place={attached.namespace}",
            f"made={attached.folder}/made",
            f"connection={attached.folder}/connection.properties",
            f"trial={self.context.trial_id}",
            f"write_acks={self.context.write_acks}",
            f"read_acks={self.context.read_acks}",
            *self._words_of_tables(True),
            *attached.arguments,
        ]

    def _words_of_tables(self, counts: bool) -> list[str]:
        return [
            f"tables={','.join(self.context.tables)}",
            f"keycolumns={self.context.keycolumns}",
            f"recordcount={self.context.get('trial_recordcount', self.context.recordcount)}",
            f"countlimit={getattr(self, 'count_limit', 0) if counts else 0}",
        ]

    @property
    def tables_words(self) -> list[str]:
        """Additional arguments for creating the tables, the same for all systems."""
        return [
            f"trial={self.context.trial_id}",
            f"fieldcount={self.context.fieldcount}",
            f"fieldnameprefix={self.context.fieldnameprefix}",
            f"compression={self.effective_compression}",
            f"replication={self.replication}",
            f"write_acks={self.context.write_acks}",
            f"read_acks={self.context.read_acks}",
        ]

    @property
    def first_words(self) -> list[str]:
        """Additional arguments for commands that only the first host runs."""
        return []

    @property
    def schema_words(self) -> list[str]:
        """The system's additional arguments for creating the tables."""
        return []

    @property
    def settle_words(self) -> list[str]:
        """Additional arguments for settling."""
        return []

    @property
    @abstractmethod
    def client_properties(self) -> dict[str, Any]:
        """Properties that clients need to connect."""

    @property
    def server_properties(self) -> dict[str, Any]:
        """Properties that the client needs to read the servers' statistics."""
        return {}

    @property
    def notes(self) -> list[str]:
        """Additional notes about this system for conditions.json."""
        return []

    @property
    def idle(self) -> list[str]:
        """Note for conditions.json if some database hosts have no server."""
        serving, total = len(self.hosts), len(self.context.databases)
        if serving == total:
            return []
        return [f"{serving} of {total} database hosts serve, the others are idle: the primary does all the work"]

    @property
    def all_notes(self) -> list[str]:
        """All notes for conditions.json, including those about moved ports and the archive."""
        archive = self.server_archive
        moved = self.context.state(self.role)["ports"]["moved"]
        return [*self.idle, *moved, *(archive.note if archive is not None else []), *self.notes]

    @property
    def disks_in_words(self) -> str:
        """Description of the disks for conditions.json; it is the same for systems on the same disks."""
        context = self.context
        if self.raw_devices:
            stored = f"raw devices, {len(self.raw_devices)}"
        else:
            mounted = [volume["mount_point"] for volume in context.disks.get("volumes", []) if volume["mounted"]]
            on_devices = bool(context.devices) and not set(context.data) - set(mounted)
            count = len(context.disks["devices"]) if on_devices else len(context.data)
            kind = "disk" if on_devices else "folder"
            stored = f"1 {kind}" if count == 1 else f"{'JBOD, ' * on_devices}data on {self.disks} of {count} {kind}s"
            if on_devices and count > 1 and context.get("host_disk_layout") == "raid0":
                stored = f"RAID0 of {count} disks"
        return f"{stored}{', log on a disk of its own' if self.logs else ''}"

    @property
    def attached(self) -> Attached:
        """Attached servers of this system; only systems with ``attaches`` add how to access them."""
        servers = str(self.context.get("attached", {}).get(self.name, ""))
        return Attached(servers, f"dohyo_{self.context.trial_id}", f"{self.context.home}/attached/{self.role}")

    # ---- steps of a trial that a system can replace; each step is for all hosts -------------------------------------

    def at(self, steps: Steps, host: str) -> Self:
        """Returns the system in the context of another host."""
        return cast(Self, steps.system(host))

    def examine(self, steps: Steps, host: str) -> dict[str, Any]:  # noqa: ARG002 - most systems need nothing
        """Returns further facts about a host without changing it; :attr:`found` contains them afterwards."""
        return {}

    def prepare(self, steps: Steps) -> None:
        """Runs the steps that come before the configuration is written."""

    def start_turns(self, hosts: Sequence[str]) -> list[Sequence[str]]:
        """Divides hosts into groups. The servers of a group start together, after those of the group before are up."""
        return [hosts]

    def start(self, steps: Steps) -> None:
        """Starts the servers."""
        steps.start_nodes()

    def ready(self, steps: Steps) -> None:
        """Waits until the servers accept clients."""
        if self.asks_ready:
            steps.wait_until_all_know()

    def wipe(self, steps: Steps, state: str) -> None:
        """Removes the system's data outside its folders.

        :param state: ``fresh`` before a start, ``absent`` at the end
        """


def _expanded(path: str) -> str:
    """Returns an absolute path, resolved as in playbooks; pathlib's expanduser fails for unknown users."""
    return os.path.join(ANSIBLE, os.path.expanduser(path))  # noqa: PTH111, PTH118
