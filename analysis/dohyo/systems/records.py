"""Records with which the class of a system describes its needs, its server and its files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from dohyo.systems.context import MIB


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
        """Returns the disk space in bytes for a host's copies and its log; the log cannot exceed the data written."""
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
    :ivar cache_mb: size of its own read cache, in MiB; 0 without a cache
    :ivar unmet: a sentence for each requested value that the system cannot use
    :ivar instead: values that the system uses instead, by variable
    :ivar way_out: advice on how to reduce the memory per record
    :ivar values: the system's variables and settings, with the values of ``instead``; set by ``System.planned``
    :ivar budget_mb: memory limit for all its processes, in MiB; 0 without a limit; set by ``System.planned``
    :ivar unknown: whether the budget is a share of an unknown memory, so that the sizes are those of a small machine
    """

    memory_mb: int
    size: DataNeeds
    cache_mb: int = 0
    unmet: Sequence[str] = ()
    instead: Mapping[str, Any] = field(default_factory=dict)
    way_out: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    budget_mb: int = 0
    unknown: bool = False

    @classmethod
    def of_plan(cls, planned: Mapping[str, Any]) -> Self:
        """Returns the needs that ``System.planned`` contains."""
        values = {entry.name: planned[entry.name] for entry in fields(cls)}
        return cls(**{**values, "size": DataNeeds(**values["size"])})

    def cached(self, replication: int, hosts: int) -> int:
        """Returns the size of the data, in bytes, that fills the caches of all hosts. Copies of a record count once."""
        cache = self.cache_mb * MIB
        return cache * hosts // replication if self.size.spread else cache


@dataclass(frozen=True)
class Tuned:
    """A value of the profile ``tuned``, for an option of the system or a setting of its configuration.

    :ivar name: name of the option without the role as prefix, or of the setting
    :ivar value: None if the profile does not set it
    :ivar source: source of the value, in Markdown
    :ivar shown: text for a value that depends on the host or the version
    :ivar vanilla: text for the package's default; if empty, the default of the option is shown
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
    :ivar required_jar: regular expression for the name of a jar that must be among them
    :ivar unchecked: whether a file on the control machine is accepted without a checksum
    :ivar url: URL of the vendor's archive; empty if it is not to be downloaded
    :ivar sums: URL of the vendor's checksum file
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
        """URL or path of the archive; empty without an archive."""
        return self.user_source or self.url

    @property
    def is_remote(self) -> bool:
        """Whether the archive must be downloaded."""
        return "://" in self.source

    @property
    def note(self) -> list[str]:
        """Note about the archive for conditions.json; empty if there is no archive."""
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
class Script:
    """A shell script; ``creates`` is a file that exists if the script need not run again."""

    text: str
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    creates: str = ""


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
class Attached:
    """Attached servers, and how to access them (docs/attach.md).

    :ivar servers: their addresses as the user entered them, such as ``db1:9042,db2:9042`` or ``db1/PATH``
    :ivar namespace: name of the keyspace, database or the like that Dohyo creates there
    :ivar folder: folder on the host for the connection's files
    :ivar admin: class of the administration
    :ivar arguments: arguments of all its commands
    :ivar client_properties: properties of clients
    :ivar schema_words: arguments of the command that creates the tables
    """

    servers: str
    namespace: str
    folder: str
    admin: str = ""
    arguments: Sequence[str] = ()
    client_properties: Mapping[str, Any] = field(default_factory=dict)
    schema_words: Sequence[str] = ()

    @property
    def hosts(self) -> str:
        """Hosts without ports, separated by commas."""
        return re.sub(":[0-9]+(?=,|$)", "", self._before_path)

    @property
    def port(self) -> str:
        """First port in the list; empty if the list is empty."""
        port = re.search(":([0-9]+)(?=,|$)", self._before_path)
        return port[1] if port else ""

    @property
    def _before_path(self) -> str:
        return self.servers.partition("/")[0].removesuffix(":")

    @property
    def path(self) -> str:
        """Text after the first slash; empty without a slash."""
        return self.servers.partition("/")[2]
