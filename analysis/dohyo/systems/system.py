"""The base class of all systems, with the members that the playbooks and the plan use. Most have a default.

A system is a folder ansible/systems/NAME: a class in ``system.py``, templates of the configuration, and optional tasks.
docs/adding-a-system.md shows how to write one.
"""

from __future__ import annotations

import os
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, LOCAL_HOME
from dohyo.systems import rendering
from dohyo.systems.context import MIB, Context, Endpoint
from dohyo.systems.option import ADDRESS, Option, declared_in, option
from dohyo.systems.steps import Steps

# Command that prints distribution, version and architecture of a host; see System.platform.
PLATFORM = ("sh", "-c", '. /etc/os-release; echo "$ID $VERSION_ID $(uname -m)"')
NO_CONTEXT = Context()
_UNSET = object()


@dataclass(frozen=True)
class DataNeeds:
    """Space that the data needs on a host (docs/sizing.md).

    :ivar record_disk: disk space for one copy of a record, including space for reorganising it, in bytes
    :ivar record_memory: minimum memory for one copy of a record, in bytes, for example for an index
    :ivar log_mb: maximum size of the log, in addition to the data, in MiB
    :ivar spread: whether the copies are divided among all hosts; otherwise each host with data stores all records
    """

    record_disk: float
    record_memory: float = 0
    log_mb: int = 0
    spread: bool = True

    def copies(self, records: int, replication: int, hosts: int) -> float:
        """Returns the number of copies of records on a host."""
        return records * replication / hosts if self.spread else float(records)

    def disk(self, records: int, record_bytes: int, replication: int, hosts: int) -> float:
        """Returns the disk space in bytes for a host's copies and its log, which cannot exceed the data written."""
        copies = self.copies(records, replication, hosts)
        return copies * self.record_disk + min(copies * record_bytes, self.log_mb * MIB)

    def memory(self, records: int, replication: int, hosts: int) -> float:
        """Returns the memory, in bytes, that a host needs for its copies."""
        return self.copies(records, replication, hosts) * self.record_memory


@dataclass(frozen=True)
class HostNeeds:
    """Resources that a system needs on a database host.

    :ivar memory_mb: memory of all its processes without data, in MiB
    :ivar size: space for the data
    :ivar cache_mb: size of its own read cache, in MiB; 0 if it has none
    :ivar unmet: a sentence for each requested value that the system cannot use
    :ivar instead: values that the system uses instead, by variable
    :ivar way_out: advice on how to reduce the memory per record
    """

    memory_mb: int
    size: DataNeeds
    cache_mb: int = 0
    unmet: Sequence[str] = ()
    instead: Mapping[str, Any] = field(default_factory=dict)
    way_out: str = ""


@dataclass(frozen=True)
class Tuned:
    """A value of the profile ``tuned``, for an option of the system or a setting of its configuration.

    :ivar name: name of the option without the role as prefix, or of the setting
    :ivar value: None if the profile does not set it
    :ivar source: source of the value, in Markdown
    :ivar shown: text for a value that depends on the host or the version
    :ivar vanilla: text for the package's default; by default, the default of the option
    """

    name: str
    value: Any
    source: str
    shown: str = ""
    vanilla: str = ""


@dataclass(frozen=True)
class Archive:
    """An archive with the server, from the user or from the vendor.

    :ivar variable: variable that names the archive
    :ivar user_source: value of this variable: a URL or a file on the control machine; empty if it is not set
    :ivar checksum: variable that contains the SHA-256
    :ivar sha256: value of this variable; empty if it is not set
    :ivar jars: folders in the archive that contain the server's jars
    :ivar required_jar: regular expression of a jar that must be among them
    :ivar unchecked: whether a file on the control machine is accepted without a checksum
    :ivar url: URL of the vendor's archive; empty if it is not to be downloaded
    :ivar sums: URL of the vendor's file of checksums
    :ivar unsigned: reason why the user must give the checksum of the download
    """

    variable: str
    user_source: str
    checksum: str
    sha256: str
    jars: Sequence[str] = ()
    required_jar: str = ""
    unchecked: bool = False
    url: str = ""
    sums: str = ""
    unsigned: str = ""

    @property
    def source(self) -> str:
        """URL or path of the archive; empty if there is none."""
        return self.user_source or self.url

    @property
    def is_remote(self) -> bool:
        """Whether the archive must be downloaded."""
        return "://" in self.source

    @property
    def note(self) -> list[str]:
        """Sentence about the archive for the conditions; empty if there is no archive."""
        if not self.source or not (self.sha256 or self.url):
            return []
        text = f"SHA-256 {self.sha256}" if self.sha256 else f"verified with its vendor's {self.sums.rpartition('/')[2]}"
        return [f"the server is from {self.source}, {text}"]


@dataclass(frozen=True)
class Jvm:
    """JVM of a server.

    :ivar jdk: major version
    :ivar gc: name of the garbage collector
    :ivar gc_threads: threads of the collector; 0 for one per processor, at most 8
    :ivar gc_default: JVM options of the collector named ``default``
    :ivar home: folder of the JDK that the user named; empty to look for one
    :ivar installed: folder in which deploy.yml installs a JDK
    """

    jdk: int
    gc: str
    gc_threads: int
    gc_default: Sequence[str]
    home: str = ""
    installed: str = ""


@dataclass(frozen=True)
class Binaries:
    """A server whose programs are in an artifact of Maven Central.

    :ivar is_needed: false if the user named an installed server
    :ivar artifact: group and name, as in ``GROUP:NAME``
    :ivar includes: patterns of the files to extract
    :ivar unpack: shell command that turns the folder ``jar`` into the folder ``server``
    :ivar programs: paths of the programs, relative to ``server``
    """

    is_needed: bool
    artifact: str
    includes: str
    unpack: str
    programs: Sequence[str]


@dataclass(frozen=True)
class Script:
    """A shell script that examines a host without changing it."""

    text: str
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()


@dataclass(frozen=True)
class ConfigFile:
    """A file of the configuration; ``owner`` is the uid of its owner, None for the user who starts the servers."""

    path: str
    content: str
    owner: int | None = None


@dataclass(frozen=True)
class Owner:
    """User that runs the server: name, uid, gid; ``change`` is true if another user starts the server."""

    name: str
    uid: int
    gid: int
    change: bool = True


@dataclass(frozen=True)
class Initialise:
    """Script in files/ that creates the data before the first start, and a file that exists afterwards."""

    script: str
    argv: Sequence[str]
    creates: str = ""


@dataclass(frozen=True)
class Attach:
    """How to access attached servers (docs/attach.md).

    :ivar admin: class of the administration
    :ivar arguments: arguments of all its commands
    :ivar client_properties: properties of clients
    :ivar schema_words: arguments of the command that creates the tables
    """

    admin: str
    arguments: Sequence[str]
    client_properties: Mapping[str, Any]
    schema_words: Sequence[str] = ()


@dataclass(frozen=True)
class Attached:
    """Attached servers.

    :ivar servers: their addresses as the user entered them, such as ``db1:9042,db2:9042`` or ``db1/PATH``
    :ivar namespace: name of the keyspace, database or the like that Dohyo creates there
    :ivar folder: folder on the host for the connection's files
    """

    servers: str
    namespace: str
    folder: str

    @property
    def hosts(self) -> str:
        """Hosts without ports, separated by commas."""
        return re.sub(":[0-9]+(?=,|$)", "", self._before_path)

    @property
    def port(self) -> str:
        """First port in the list; empty if there is none."""
        port = re.search(":([0-9]+)(?=,|$)", self._before_path)
        return port[1] if port else ""

    @property
    def _before_path(self) -> str:
        return self.servers.partition("/")[0].removesuffix(":")

    @property
    def path(self) -> str:
        """Text after the first slash; empty if there is none."""
        return self.servers.partition("/")[2]


@dataclass(frozen=True, kw_only=True)
class System(ABC):
    """One database under test. Fields made with :func:`option` are the variables that users may set.

    The members are evaluated for one host at one moment of a trial; ``context`` contains the values known then.
    """

    # ---- constants of the class ------------------------------------------------------------------------------------

    role: ClassVar[str]
    binding: ClassVar[str]
    # Binding whose properties the system accepts in addition to those of its own binding.
    inherits: ClassVar[str] = ""
    # Administration class in the binding's bundle.
    admin: ClassVar[str]
    order: ClassVar[int] = 99
    # Licence that the user must accept before the vendor's archive is downloaded; empty if there is no download.
    licence: ClassVar[str] = ""
    # Names of processes that faults do not kill.
    spared: ClassVar[Sequence[str]] = ()
    # Whether deploy.yml keeps an installed version when it installs another one.
    keeps_versions: ClassVar[bool] = False
    # Whether a killed server leaves shared memory behind, which only a regular stop removes.
    leaves_shared_memory: ClassVar[bool] = False
    # Whether nodes start one after another.
    starts_one_by_one: ClassVar[bool] = False
    # Name of the last port that the server opens.
    opens: ClassVar[str] = ""
    # Whether the command for settling runs on every host instead of only the first.
    settles_everywhere: ClassVar[bool] = False
    # Whether the server can empty its caches while it runs.
    drops: ClassVar[bool] = False
    # Administration command that counts the rows.
    count_verb: ClassVar[str] = "count"
    attaches: ClassVar[bool] = False
    # Options that also apply to attached servers.
    attached_options: ClassVar[Sequence[str]] = ()
    # Options that define a variant: a trial cannot set them to another value.
    variant: ClassVar[Sequence[str]] = ()
    # Capabilities of the systemd unit.
    capabilities: ClassVar[Sequence[str]] = ()
    folder_mode: ClassVar[str] = "0755"
    # Options that the user can lower if the disk is too small.
    disk_by: ClassVar[Sequence[str]] = ()
    name: str
    title: str
    # Whether the system is measured only if it is named explicitly.
    by_name: bool = False
    context: Context = field(default=NO_CONTEXT, repr=False, compare=False)
    user_values: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    # The system without a context.
    declared: System | None = field(default=None, repr=False, compare=False)
    misfits: Sequence[str] = field(default=(), repr=False, compare=False)

    address: str = option(None, "Address to listen on.", pattern=ADDRESS)

    @classmethod
    @cache
    def all_options(cls) -> dict[str, Option]:
        """Returns the options by field name."""
        return declared_in(fields(cls), cls.role)

    def on(self, context: Context) -> Self:
        """Returns the system with the variables of a context, and with the defaults that depend on them."""
        values, misfits = {}, []
        environment = context.get("environment", {})
        for name, variable in self.all_options().items():
            try:
                if (value := context.get(variable.name, _UNSET)) is not _UNSET:
                    values[name] = variable.check(value)
                elif (value := environment.get(variable.environment, _UNSET)) is not _UNSET:
                    values[name] = replace(variable, name=variable.environment).check(value)
            except BadInputError as error:
                misfits.append(str(error))
            except Exception as error:  # Ansible raises other exceptions if it cannot resolve a template
                misfits.append(f"{variable.name} has no value: {' '.join(str(error).split())}")
        system = replace(self, **values, context=context, user_values=values, declared=self, misfits=misfits)
        system = system._with_defaults(values)
        if context.tuned:
            tuned = {entry.name: entry.value for entry in system._tuned_options() if entry.name not in values}
            # Defaults of further options may depend on the profile's values.
            system = replace(system, **tuned)._with_defaults({**values, **tuned})
        return system

    def _with_defaults(self, values: Mapping[str, Any]) -> Self:
        """Returns the system with computed defaults for all options that are not set, in the order of declaration.

        Computed defaults are also checked: they may come from a wrong variable of the host, such as its address.

        :param values: values of the options that are set
        """
        system = self
        for name, variable in self.all_options().items():
            if variable.default is None and name not in (*values, *self.variant):
                value: Any = None
                misfits = list(system.misfits)
                try:
                    value = getattr(system, f"default_{name}")()
                    value = variable.check(value)
                except BadInputError as error:
                    misfits.append(str(error))
                system = replace(system, **{name: value}, misfits=list(dict.fromkeys(misfits)))
        return system

    def _tuned_options(self) -> list[Tuned]:
        return [entry for entry in self.tuned() if entry.name in self.all_options()]

    # ---- where the server comes from -------------------------------------------------------------------------------

    @property
    def bindings(self) -> tuple[str, ...]:
        """Bindings whose properties the system accepts: its own binding, and `inherits`."""
        return (self.binding, self.inherits) if self.inherits else (self.binding,)

    @property
    @abstractmethod
    def installed_version(self) -> str:
        """Version in the name of the installation's folder."""

    @property
    def server_archive(self) -> Archive | None:
        """Archive with the server; None if the system does not come as an archive."""
        return None

    @property
    def archive_source(self) -> str:
        """URL or path of the server's archive; empty if there is none."""
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
        platforms = self._platforms()
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

    def _platforms(self) -> list[str]:
        looked = [self.context.of_host(host, "system_platform", {}) for host in self.hosts]
        return list(dict.fromkeys(str(platform["stdout"]) for platform in looked if "stdout" in platform))

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
    def binaries(self) -> Binaries | None:
        """Artifact of Maven Central with the server's programs; None if the system does not use one."""
        return None

    @property
    def programs(self) -> list[str]:
        """Paths on the host that exist after the installation."""
        return []

    @property
    def looks_for(self) -> Script | None:
        """Script for sh that looks for the server's requirements; :attr:`looked` contains its output."""
        return None

    @property
    def looked(self) -> dict[str, str]:
        """Output of :attr:`looks_for` on this host: ``stdout`` and ``stderr``."""
        return {"stdout": "", "stderr": "", **self.context.state(self.role).get("looked", {})}

    @property
    def unavailable(self) -> str:
        """Reason why the host has no server, and how to get one; empty if it has one."""
        return "; ".join(self.looked["stdout"].splitlines())

    @property
    def look(self) -> Script | None:
        """Script for bash that describes an installed server in JSON; :attr:`found` contains its output."""
        return None

    @property
    def found(self) -> dict[str, Any]:
        """Description that :attr:`look` printed on this host."""
        return dict(self.context.state(self.role).get("found", {}))

    @property
    def found_problem(self) -> str:
        """Reason why the server that was found does not meet the request; empty if it does."""
        return ""

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
            f"{self.role}_{name}={self.user_values[name]}: the system {self.name} has {value};"
            f" leave out {self.role}_{name}, and choose the system with that {name}"
            for name in self.variant
            if name in self.user_values and self.user_values[name] != (value := self.own_variant[name])
        ]

    @property
    def own_variant(self) -> dict[str, Any]:
        """Values of the options that define this variant."""
        return {name: getattr(self.declared or self, name) for name in self.variant}

    def _too_few_hosts(self) -> list[str]:
        count = len(self.context.databases)
        if self.replication <= count:
            return []
        return [
            f"replication={self.replication}: needs {self.replication} database hosts, but the inventory has {count};"
            " lower it, or add hosts to the group database"
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
        needs = asdict(HostNeeds(0, DataNeeds(0)) if is_attached else self.needs())
        if is_attached:
            return {**needs, "values": {}, "budget_mb": 0, "unknown": False, "data_mb": 0, "disks": 1, "log_disks": [],
                    "open": "", "ports": {}}  # fmt: skip
        return {
            **needs,
            "values": {**self.values, **needs["instead"]},
            "budget_mb": self.context.budget_mb,
            # The budget is a share of an unknown amount of memory. The sizes are then those for a small machine.
            "unknown": bool(self.context.budget) and self.context.budget_mb == 0,
            "data_mb": self.data_mb,
            "disks": self.disks,
            "log_disks": self.log_disks,
            "open": self.open_address,
            "ports": {
                f"{self.role}_{'' if name == self.role else name + '_'}port": port for name, port in self.ports.items()
            },
        }

    # ---- conditions -------------------------------------------------------------------------------------------------

    @property
    def replication(self) -> int:
        """Requested number of copies of a record."""
        return self.context.replication

    @property
    def effective_compression(self) -> str:
        """Compression of the data on disk: the system's own option if it is set, otherwise the scenario's."""
        compression = str(getattr(self, "compression", "scenario"))
        return str(self.context.conditions.get("compression", "none")) if compression == "scenario" else compression

    # ---- hosts, folders and ports -----------------------------------------------------------------------------------

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

    def default_address(self) -> str:
        """Returns the host's address in the cluster's network."""
        return self.context.address

    @property
    def settles_here(self) -> bool:
        """Whether the command for settling runs on this host."""
        return self.serves and (self.is_first or self.settles_everywhere)

    @property
    def drops_here(self) -> bool:
        """Whether this host's server empties its caches at the end of settling."""
        return self.settles_here and self.drops and self.context.drops_caches

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
    def install(self) -> str:
        """Path of the installation, relative to the project's folder on the host and on the control machine."""
        return f"install/{self.role}/{self.installed_version}"

    @property
    def lib(self) -> str:
        """Folder of the server's jars on the host."""
        return f"{self.context.home}/{self.install}/lib"

    def installed_jar(self, pattern: str) -> str:
        """Returns the name of the first installed jar that matches a pattern, or the pattern if none is installed."""
        return min(
            (file.name for file in Path(self.context.control, self.install, "lib").glob(pattern)), default=pattern
        )

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
        """Whether servers can start from a saved load."""
        return True

    @property
    def ports(self) -> dict[str, int]:
        """Preferred ports by name."""
        return {}

    @property
    def searched_ports(self) -> dict[str, int]:
        """Preferred ports that are replaced by free ones if they are in use."""
        return self.ports

    @property
    def node_more(self) -> dict[str, Any]:
        """Values of this server that other nodes and clients need, besides its address and ports."""
        return {}

    @property
    def node(self) -> Endpoint:
        """This host's server; it exists once the ports are chosen."""
        return self.context.node(self.role)

    @property
    def nodes(self) -> list[Endpoint]:
        """Servers of all hosts."""
        return [self.context.node(self.role, host) for host in self.hosts]

    @property
    def open_address(self) -> str:
        """Address that is open without a password and not explicitly allowed (dohyo_public); empty if there is none."""
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

    # ---- configuration and start ------------------------------------------------------------------------------------

    @property
    def all_settings(self) -> dict[str, Any]:
        """Additional settings for the configuration: those of the profile, overridden by those of the user."""
        return {**self.settings_of_profile, **getattr(self, "settings", {})}

    @property
    def settings_of_profile(self) -> dict[str, Any]:
        """Settings of the profile ``tuned``; empty in ``vanilla``."""
        if not self.context.tuned:
            return {}
        options = self.all_options()
        return {item.name: item.value for item in self.tuned() if item.name not in options and item.value is not None}

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
    def initialise(self) -> Initialise | None:
        """Script that creates the data before the first start; None if the server creates it."""
        return None

    @property
    def up(self) -> list[str]:
        """Command that succeeds when this host's server is up; the default connects to the port ``opens``."""
        if not self.opens:
            return []
        return ["bash", "-c", f": < /dev/tcp/{self.node.address}/{self.node[self.opens]}"]

    @property
    def asks_ready(self) -> bool:
        """Whether the administration must confirm that every node knows all others."""
        return False

    @property
    def timeouts(self) -> dict[str, int]:
        """Timeouts in seconds, for the start (ready), for settling (settle) and for the stop (stop)."""
        return {name: int(getattr(self, f"{name}_timeout")) for name in ("ready", "settle", "stop")}

    # ---- administration and clients ---------------------------------------------------------------------------------

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
            *self.attachment.arguments,
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
        """Further sentences about this system for the conditions."""
        return []

    @property
    def idle(self) -> list[str]:
        """Sentence for the conditions if some database hosts have no server."""
        serving, total = len(self.hosts), len(self.context.databases)
        if serving == total:
            return []
        return [
            f"{serving} of {total} database hosts serve, and the others are idle: every server has all data, and the"
            " primary does all the work"
        ]

    @property
    def all_notes(self) -> list[str]:
        """All sentences for the conditions, including those about moved ports and the archive."""
        archive = self.server_archive
        moved = self.context.state(self.role)["ports"]["moved"]
        return [*self.idle, *moved, *(archive.note if archive is not None else []), *self.notes]

    @property
    def disks_in_words(self) -> str:
        """Description of the disks for the table; it is the same for systems on the same disks."""
        return f"{self._stored}{', log on a disk of its own' if self.logs else ''}"

    @property
    def _stored(self) -> str:
        context = self.context
        if self.raw_devices:
            return f"raw devices, {len(self.raw_devices)}"
        mounted = [volume["mount_point"] for volume in context.disks.get("volumes", []) if volume["mounted"]]
        on_devices = bool(context.devices) and not set(context.data) - set(mounted)
        count = len(context.disks["devices"]) if on_devices else len(context.data)
        kind = "disk" if on_devices else "folder"
        if on_devices and count > 1 and context.get("host_disk_layout") == "raid0":
            return f"RAID0 of {count} disks"
        return f"1 {kind}" if count == 1 else f"{'JBOD, ' * on_devices}data on {self.disks} of {count} {kind}s"

    def attach(self, servers: Attached) -> Attach:
        """Returns how to access attached servers; only systems with ``attaches`` implement it."""
        raise NotImplementedError

    @property
    def attached(self) -> Attached:
        """Attached servers of this system, and the name of the keyspace or database that Dohyo creates on them."""
        servers = str(self.context.get("attached", {}).get(self.name, ""))
        return Attached(servers, f"dohyo_{self.context.trial_id}", f"{self.context.home}/attached/{self.role}")

    @property
    def attachment(self) -> Attach:
        """How to access the attached servers of this system."""
        return self.attach(self.attached)

    def examine(self, steps: Steps, host: str) -> dict[str, Any]:  # noqa: ARG002 - most systems need nothing
        """Returns further facts about a host without changing it; :attr:`found` contains them afterwards."""
        return {}

    # ---- steps of a trial that a system can replace; each step is for all hosts -------------------------------------

    def at(self, steps: Steps, host: str) -> Self:
        """Returns the system in the context of another host."""
        return cast(Self, steps.system(host))

    def prepare(self, steps: Steps) -> None:  # noqa: B027 - most systems need nothing
        """Runs the steps that come before the configuration is written."""

    def start(self, steps: Steps) -> None:
        """Starts the servers."""
        steps.start_nodes()

    def ready(self, steps: Steps) -> None:
        """Waits until the servers accept clients."""
        if self.asks_ready:
            steps.wait_until_all_know()

    def wipe(self, steps: Steps, state: str) -> None:  # noqa: B027 - as above
        """Removes the system's data outside its folders.

        :param state: ``fresh`` before a start, ``absent`` at the end
        """

    # ---- profiles ---------------------------------------------------------------------------------------------------

    def tuned(self) -> list[Tuned]:
        """Returns the values of the profile ``tuned`` with their sources."""
        return []

    @property
    def shown_options(self) -> list[str]:
        """Options that the conditions show: all except settings, secrets, addresses and ports."""
        return [
            name
            for name, variable in self.all_options().items()
            if name not in ("settings", "address", "port") and not variable.secret and not name.endswith("_port")
        ]

    @property
    def values(self) -> dict[str, Any]:
        """Values of the shown options by variable, and all settings by name."""
        options = {f"{self.role}_{name}": getattr(self, name) for name in self.shown_options}
        return {**options, **self.all_settings}

    @property
    def in_effect(self) -> dict[str, Any]:
        """Profile of the started servers.

        :returns: ``profile``: tuned or vanilla; ``values``: all values by name; ``tuned``: the values that the profile
            changed; ``settings``: the values that the user changed
        """
        of_profile = {f"{self.role}_{name}": self._not_given(name) for name in self.shown_options}
        of_profile |= self.settings_of_profile
        vanilla = {f"{self.role}_{name}": self._vanilla(name) for name in self.shown_options}
        missing = object()
        values = self.values
        changed = {name: value for name, value in values.items() if str(value) != str(of_profile.get(name, missing))}
        tuned = {
            name: value
            for name, value in values.items()
            if name not in changed and str(value) != str(vanilla.get(name, missing))
        }
        return {
            "profile": "tuned" if self.context.tuned and self.tuned() else "vanilla",
            "values": values,
            "tuned": tuned,
            "settings": changed,
        }

    def _vanilla(self, name: str) -> Any:
        """Returns the default of an option in the profile vanilla."""
        if name in self.variant:
            return self.own_variant[name]
        default = self.all_options()[name].default
        return getattr(self, f"default_{name}")() if default is None else default

    def _not_given(self, name: str) -> Any:
        """Returns the default of an option in the current profile."""
        if self.context.tuned:
            for entry in self._tuned_options():
                if entry.name == name:
                    return entry.value
        return self._vanilla(name)

    # ---- for the analysis -------------------------------------------------------------------------------------------

    @property
    def of_tables(self) -> tuple[str, ...]:
        """Variables that also apply to attached servers."""
        return tuple(f"{self.role}_{name}" for name in self.attached_options)

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables that distinguish the system from others of the same class."""
        return tuple(f"{self.role}_{name}" for name in self.variant)

    def is_installed(self) -> bool:
        """Returns whether the server has already been installed on this machine."""
        return (LOCAL_HOME / "install" / self.role).is_dir()


def _expanded(path: str) -> str:
    """Returns an absolute path, resolved as in playbooks; pathlib's expanduser fails for unknown users."""
    return os.path.join(ANSIBLE, os.path.expanduser(path))  # noqa: PTH111, PTH118
