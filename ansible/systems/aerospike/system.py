"""Aerospike 6.0 or newer: an installed server, or the server in the vendor's package."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dohyo.places import ANSIBLE
from dohyo.sizes import LETTERS, size_bytes
from dohyo.systems.context import MIB, is_older, mib, whole
from dohyo.systems.option import HEAP, SHA256, SIZE, option
from dohyo.systems.records import Archive, Attach, Attached, ConfigFile, DataNeeds, HostNeeds, Script, Tuned
from dohyo.systems.rendering import as_properties, as_sections
from dohyo.systems.steps import Steps
from dohyo.systems.system import System

# Maximum size of a device or file, in MiB (AS_STORAGE_MAX_DEVICE_SIZE in storage.h).
LARGEST_MB = 2097152
# Pattern of a value in aerospike.conf, which has no syntax for quotes.
WORD = r"[^\s#{}]+"
# Script that prints the limit of open files, the path of asd, and its version.
LOOK = """\
asd=$ASD
[ -n "$asd" ] || [ ! -x "$INSTALLED" ] || asd=$INSTALLED
[ -n "$asd" ] || [ -n "$PACKAGE" ] || asd=$(PATH=$PATH:/usr/bin:/usr/local/bin command -v asd || true)
files=$(ulimit "$LIMIT" -n)
[ "$files" != unlimited ] || files=2097152
printf '%s\\n' "$files" "$asd"
[ -z "$asd" ] || "$asd" --version || true
"""
# Sources of the profile `tuned`.
FLASH = "[Flash storage](https://aerospike.com/docs/database/manage/planning/ssd): prefers block devices to files, and discourages RAID"
SSD = "[aerospike_ssd.conf](https://github.com/aerospike/aerospike-server/blob/master/as/etc/aerospike_ssd.conf) of the server's package"
PRACTICES = "[Best practices](https://aerospike.com/docs/database/learn/best-practices), service-threads"
STORAGE = "[Manage storage](https://aerospike.com/docs/operations/manage/storage): small compared to the device, because its content is not defragmented"
# Settings for the cache of recent writes: its size since version 7.1, and its number of blocks in older versions.
CACHE = "namespace.storage-engine.post-write-cache"
QUEUE = "namespace.storage-engine.post-write-queue"


@dataclass(frozen=True, kw_only=True)
class Aerospike(System):
    """Aerospike, in which all nodes are peers. The conditions list what the Community edition does not support."""

    role = "aerospike"
    order = 4
    binding = "aerospike"
    admin = "dohyo.aerospike.admin.AerospikeAdmin"
    # LICENSE and LICENSE.CE of https://github.com/aerospike/aerospike-server.
    licence = "Aerospike Community Edition: GNU AGPL, version 3 (https://www.gnu.org/licenses/agpl-3.0)."
    # The command `settle` also counts the records, after it has waited for migrations, during which records would be counted twice.
    count_verb = "settle"
    # The port opens before the cluster has formed, and until then writes fail.
    asks_ready = True
    # The user supplies the certificates.
    has_certificates = False
    attaches = True
    attached_options = ("settle_timeout", "count_limit")
    name: str = "aerospike"
    title: str = "Aerospike"

    asd: str = option("", "Path of the server's program on the hosts. If empty, aerospike_package or the asd on the PATH is used.")
    package: str = option(
        None,
        "The vendor's package (.tgz, .deb or .rpm) as a URL or a file on the control machine; it is unpacked without"
        " root. Alternatively, the program asd itself as a file on the control machine. Default: the environment"
        " variable AEROSPIKE_ASD.",
    )
    package_sha256: str = option("", "SHA-256 of the package, required for a URL; without it, a file is not checked.", pattern=SHA256)
    # The option --fetch aerospike sets this.
    fetch: bool = option(False, "Download the vendor's own package, verify its checksum, and accept its licence, AGPL 3.")
    fetch_base: str = option(
        "https://download.aerospike.com/artifacts",
        "URL below which aerospike_fetch finds files and checksums; a mirror must have the same paths.",
        pattern="https://[0-9A-Za-z./:_-]+",
    )
    fetch_version: str = option("8.1.2.5", "Version of the server that aerospike_fetch downloads.", pattern="[0-9]+([.][0-9]+){3}")
    fetch_tools: str = option("13.0.3", "Version of the tools in the same archive; it is in the archive's name.", pattern="[0-9.]+")
    service_port: int = option(3000, "Preferred port for clients.")
    fabric_port: int = option(3001, "Preferred port for the data between nodes.")
    heartbeat_port: int = option(3002, "Preferred port for the nodes' heartbeats.")
    info_port: int = option(3003, "Preferred port for administration.")
    # Aerospike allows 31 bytes.
    namespace: str = option("ycsb", "Name of the namespace, in which every table is a set.", pattern="[0-9A-Za-z_-]{1,31}")
    # file: data is written to files in the background, and the index is in memory. memory: no data is on disk.
    storage: str = option(
        "file", "Where the data is stored; files and devices are written to in the background (durability=memory).", choices=("memory", "file", "device")
    )
    devices: list[str] = option(
        [], "Raw devices (disks or partitions) for aerospike_storage=device; each trial empties them, and partitions those above 2 TiB.", pattern=WORD
    )
    data_size: str = option("", "Space for the data of one node, such as 4g; empty for 2.5 times the size of the records.", pattern=f"({SIZE})?")
    # Before 7.1, records larger than aerospike_flush_size are possible only for data in memory.
    max_record_size: str = option("8M", "Maximum size of a record, at most 8M; before 7.1 only for data in memory.", pattern=HEAP)
    flush_size: str = option("1M", "Size of a write to disk; before 7.1 also the maximum size of a record.", pattern=HEAP)
    fd_max: int = option(15000, "Maximum number of connections to a node; the host's limit of open files may reduce it.")
    feature_key: str = option("", "Feature key file on the hosts; the options for the Enterprise edition need it.", pattern=r"[^\s#{}]*")
    strong_consistency: bool = option(False, "Strong consistency, Enterprise only.")
    index: str = option("memory", "Where the index is stored; flash is Enterprise only.", choices=("memory", "flash"))
    authentication: bool = option(False, "Clients need a password; Enterprise only.")
    # Never set it on a command line (docs/secrets.md). The pattern forbids leading and trailing blanks, which would be lost.
    password: str = option(
        "", "The clients' password; if empty, each trial creates a new one.", pattern=r"(\S(.*\S)?)?", secret=True, environment="DOHYO_AEROSPIKE_PASSWORD"
    )
    tls: bool = option(False, "Use TLS between clients and nodes, and among nodes; Enterprise only.")
    tls_name: str = option("dohyo", "Name in the certificates of all nodes.", pattern=WORD)
    tls_certificate: str = option("/etc/aerospike/tls/certificate.pem", "PEM file on the database hosts with the node's certificate.", pattern=WORD)
    tls_key: str = option("/etc/aerospike/tls/key.pem", "PEM file on the database hosts with the certificate's key.", pattern=WORD)
    tls_ca: str = option("/etc/aerospike/tls/ca.pem", "PEM file on all hosts with the certificate authorities to trust.", pattern=WORD)
    index_mounts: list[str] = option(None, "Folders on flash devices, for aerospike_index=flash.", pattern=WORD)
    ready_timeout: int = option(60, "Seconds for the server to start and the cluster to form.")
    settle_timeout: int = option(600, "Seconds for migrations and writes to disk after the load.")
    stop_timeout: int = option(60, "Seconds for the server to stop before it is killed.")
    # The pattern excludes addresses, ports, files and security: other options set them.
    settings: dict[str, Any] = option(
        {},
        "Further settings of aerospike.conf as SECTION.KEY or SECTION.SUBSECTION.KEY, such as service.service-threads or"
        " namespace.storage-engine.flush-size; they override Dohyo's settings.",
        pattern=r"(?!.*(address|port|path|file|directory|device|mount)$)(?!(security|logging)\b|network\.tls\b)"
        r"[a-z]+(\.[a-z0-9-]+)+",
    )
    # The server counts unpacked records itself.
    count_limit: int = option(1000000, "Maximum number of packed records that are counted after the load.")

    def default_package(self) -> str:
        """Returns the program that AEROSPIKE_ASD names on the control machine; empty if the package is to be downloaded."""
        return "" if self.fetch else str(self.context.get("environment", {}).get("AEROSPIKE_ASD", ""))

    def default_index_mounts(self) -> list[str]:
        """Returns one folder for the index on each data disk."""
        return [f"{folder}/index" for folder in self.data]

    # ---- where the server comes from -------------------------------------------------------------------------------

    @property
    def server_archive(self) -> Archive:
        """The user's package, or the vendor's if the user gave none; empty if the user named an installed program.

        File names are from https://aerospike.com/docs/database/install/linux, and the checksum's URL (FILE.sha256) is from
        https://github.com/aerospike/aerospike-server.docker (lib/version.sh). Looked up on 2026-11-25.
        """
        package = "" if self.asd else self.package
        name, version, processor = self.platform[0], self.platform[1], self.platform[-1]
        distribution = name + version if name in ("debian", "ubuntu", "amzn") else f"el{version.partition('.')[0]}"
        file = f"aerospike-server-community_{self.fetch_version}_tools-{self.fetch_tools}_{distribution}_{processor}.tgz"
        folder = f"{self.fetch_base}/aerospike-server-community/{self.fetch_version}"
        url = f"{folder}/{file}" if self.fetch and not self.asd and not package else ""
        return Archive(
            variable="AEROSPIKE_ASD" if package and "package" not in self.user_values else "aerospike_package",
            user_source=package,
            checksum="aerospike_package_sha256",
            sha256=self.package_sha256.lower(),
            unchecked=True,  # the user's file, which may be the bare program
            url=url,
            sums=f"{package or url}.sha256",
        )

    @property
    def installed_version(self) -> str:
        return self.archive_source.rpartition("/")[2]

    @property
    def installed(self) -> str:
        """Path of the package's program on the host; empty if there is no package."""
        return f"{self.context.home}/{self.install}/asd" if self.archive_source else ""

    @property
    def is_packed(self) -> bool:
        """Whether the program is in a package instead of a bare file."""
        return re.search("[.](tgz|tar[.]gz|deb|rpm)$", self.archive_path) is not None

    @property
    def looks_for(self) -> Script:
        """Script that prints the limit of open files, the program and its version."""
        environment = {
            "LIMIT": "-H" if self.context.systemd else "-S",  # systemd raises a unit's limit to the hard limit
            "ASD": self.asd,
            "PACKAGE": self.archive_source,
            "INSTALLED": self.installed,
        }
        return Script(LOOK, environment)

    @property
    def open_files(self) -> int:
        """The host's limit of open files; 0 if the host has not been examined."""
        return int(self.looked_line(0) or 0)

    @property
    def program(self) -> str:
        """Path of the server's program on the host; empty if it was not found."""
        return self.looked_line(1)

    @property
    def version(self) -> str:
        """Version of the server on the host; empty if it is not known."""
        return _match(r"(?<=build )[0-9.]+", self.looked_line(2))

    @property
    def edition(self) -> str:
        """Edition of the server; Enterprise if the host has not been examined, so that the feature key has an effect."""
        return _match(r"\w+(?= Edition)", self.looked_line(2)) if self.open_files else "Enterprise"

    def is_before(self, version: str) -> bool:
        """Returns whether the server on the host is older than a version."""
        return is_older(self.version, version)

    @property
    def absent(self) -> str:
        """Reason why the host has no server; empty if it has one, or if the package will be installed later."""
        if not self.asd and self.archive_problem:
            return self.archive_problem
        if self.looked_line(2) or (self.archive_source and not self.program):
            return ""
        if self.program:
            return f"{self.program} --version failed: {self.looked['stderr']}"
        return f"no asd on {self.context.host}"

    @property
    def unavailable(self) -> str:
        return self.absent and f"{self.absent}; download it with --fetch aerospike (other ways: docs/aerospike.md)"

    def problems(self) -> list[str]:
        context, hosts, version, edition = self.context, len(self.context.databases), self.version, self.edition
        problems = []
        if not version:
            deploy = f"{context.get('dohyo_playbook', 'ansible-playbook')} deploy.yml"
            problems.append(self.absent or f"type {deploy} first, with the same aerospike_package or aerospike_fetch")
        else:
            if self.is_before("6.0"):
                problems.append(f"Aerospike on {context.host} is {version}, not 6.0 or newer; set another aerospike_package")
            if self.replication > hosts:
                problems.append(f"replication {self.replication} needs as many database hosts, not {hosts}; lower it, or add hosts")
            if edition != "Enterprise" and hosts > 8:
                problems.append(f"Aerospike {edition} allows 8 database hosts, not {hosts}; remove some, or use Enterprise")
            if self.open_files < 1024:
                problems.append(f"{context.host} permits {self.open_files} open files, not 1024 or more; raise ulimit -n")
            if self.storage == "device" and not self.devices:
                problems.append("aerospike_storage=device needs raw devices; set aerospike_devices")
        for name, is_set in (("aerospike_authentication", self.authentication), ("aerospike_tls", self.tls)):
            if version and is_set and edition != "Enterprise":
                problems.append(f"{name} needs Aerospike Enterprise, not {edition} ({context.host}); leave it out (docs/aerospike.md)")
            elif version and is_set and not self.feature_key:
                problems.append(f"{name} needs aerospike_feature_key; set it, or leave {name} out")
        return problems + [f"{context.host}: {device}" for device in self.found.get("devices", [])]

    # ---- editions ---------------------------------------------------------------------------------------------------

    @property
    def is_enterprise(self) -> bool:
        """Whether Enterprise settings may be used. The Community edition rejects all of them, even with the value false."""
        return self.edition == "Enterprise" and self.feature_key != ""

    @property
    def commits(self) -> bool:
        """Whether writes are on disk before they are acknowledged."""
        return self.is_enterprise and self.context.on_disk and self.storage != "memory"

    @property
    def compresses(self) -> bool:
        """Whether the server compresses the data."""
        return self.is_enterprise and self.effective_compression in ("lz4", "zstd")

    @property
    def is_on_flash(self) -> bool:
        """Whether the index is on flash devices."""
        return self.is_enterprise and self.index == "flash"

    @property
    def unmet(self) -> dict[str, dict[str, Any]]:
        """Requested values that the server does not support, each with the values that it uses instead."""
        compression = self.effective_compression
        substitutes: dict[str, dict[str, Any]] = {}
        if self.context.on_disk and not self.commits:
            substitutes["durability=disk"] = {"durability": "memory"}
        if compression != "none" and not self.compresses:
            substitutes[f"compression={compression}"] = {"compression": "none"}
        if self.strong_consistency and not self.is_enterprise:
            substitutes["aerospike_strong_consistency"] = {"aerospike_strong_consistency": False}
        if self.index == "flash" and not self.is_enterprise:
            substitutes["aerospike_index=flash"] = {"aerospike_index": "memory"}
        return substitutes

    @property
    def unequal(self) -> list[str]:
        """One sentence for each requested value that the server does not support."""
        reason = (
            "this is the Community edition"
            if self.edition != "Enterprise"
            else "it needs storage on disk, and 'compression' must be none, lz4 or zstd"
            if self.is_enterprise
            else "the Enterprise edition needs aerospike_feature_key"
        )
        return [f"{request} is not available: {reason}" for request in self.unmet]

    # ---- sizes ------------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> str:
        """Layout of the records, as set in the client's properties."""
        return str(self.context.properties.get("aerospike.layout", "bins"))

    @property
    def node_records(self) -> int:
        """Number of records on one node, including replicas."""
        return math.ceil(self.context.records * self.replication / len(self.context.databases))

    @property
    def record_bytes(self) -> int:
        """Size of a record in bytes: a header of 64 bytes and, for each bin, its value plus 20 bytes for name and type."""
        return self.context.fieldcount * (self.context.fieldlength + 20) + 64

    @property
    def space_mb(self) -> int:
        """Space for the data of one node, in MiB. Half of it may be garbage, and writes stop when less than 30 % is free."""
        needed = int(self.node_records * self.record_bytes * 2.5 / MIB)
        return max(mib(self.data_size) if self.data_size else needed, 1024)

    @property
    def index_mb(self) -> int:
        """Size of the primary index in MiB, if each record has its own entry."""
        return int(self.node_records * 64 / MIB)

    @property
    def index_bytes(self) -> int:
        """Bytes of the primary index for each copy of a record; several packed records share one entry."""
        return math.ceil(64 / int(re.sub("[^0-9]", "", self.layout) or 1))

    @property
    def files_per_folder(self) -> int:
        """Number of the namespace's files in each data folder.

        The server uses at most LARGEST_MB of a file. On an array, there is one file for each of its disks, because each file has
        its own write queue and thread.
        """
        folders = len(self.data)
        return max(math.ceil(self.context.drives / folders), math.ceil(self.space_mb / folders / LARGEST_MB))

    @property
    def file_mb(self) -> int:
        """Size of a file in MiB; the server needs at least 128."""
        return max(math.ceil(self.space_mb / len(self.data) / self.files_per_folder), 128)

    @property
    def data_files(self) -> list[str]:
        """Paths of the namespace's files."""
        return [f"{folder}/{self.namespace}{f'-{number}' if number > 1 else ''}.dat" for folder in self.data for number in range(1, self.files_per_folder + 1)]

    @property
    def parts(self) -> list[str]:
        """Raw devices, or, once the host has been examined, their partitions."""
        return list(self.found.get("parts", self.devices))

    @property
    def stores(self) -> int:
        """Number of files or devices of the namespace; 1 for data in memory.

        Each has a cache of recent writes (post-write-cache) and a write queue (max-write-cache, 64 MiB).
        """
        if self.storage == "memory":
            return 1
        # Count at least one device: a trial without devices is refused elsewhere.
        return max(len(self.parts), 1) if self.storage == "device" else len(self.data) * self.files_per_folder

    @property
    def other_mb(self) -> int:
        """Memory in addition to the caches, in MiB.

        A server with one file and no data used 264 MB, so it gets 400: 256 for its cache, and 144 for the rest. 100 are added for
        connections, and 64 for the write queue of each file after the first. With data in memory, space_mb + 256 replace the 100.
        """
        data = self.space_mb + 256 if self.storage == "memory" else 100
        return 144 + data + 64 * (self.stores - 1) + (0 if self.is_on_flash else self.index_mb)

    @property
    def has_sized_cache(self) -> bool:
        """Whether the cache is configured by its size (since 7.1) instead of its number of blocks."""
        return not is_older(self.version or "7.1", "7.1")

    @property
    def block_mb(self) -> float:
        """Size of a block of the cache, in MiB."""
        return 8 if self.has_sized_cache else max((size_bytes(self.flush_size, LETTERS) or 0) / MIB, 1 / 16)

    @property
    def cache_mb(self) -> float:
        """Size of one cache in MiB: the user's setting, or the server's default of 256 MiB (256 blocks before 7.1).

        A small memory budget reduces the default to a multiple of 8 MiB: the server divides the size by WBLOCK_SZ (drv_ssd.c).
        """
        if CACHE in self.settings:
            return mib(self.settings[CACHE], CACHE)
        if QUEUE in self.settings:
            return whole(self.settings[QUEUE], QUEUE) * self.block_mb
        budget = self.context.budget_mb
        room = max((budget - self.other_mb) // self.stores // 8 * 8, 0) if budget else 256
        return min(256 if self.has_sized_cache else 256 * self.block_mb, room)

    @property
    def cache(self) -> str:
        """Size of the cache in the syntax of the configuration."""
        return f"{int(self.cache_mb)}M" if self.has_sized_cache else str(int(self.cache_mb / self.block_mb))

    @property
    def states_cache(self) -> bool:
        """Whether the configuration sets the cache: it always sets a number of blocks, but a size only if it is not the default."""
        return self.storage != "memory" and self.cache != "256M"

    @property
    def memory_size_mb(self) -> int:
        """Memory limit of the namespace in MiB; the setting exists only before 7.0."""
        return self.space_mb + self.index_mb if self.storage == "memory" else max(self.index_mb * 2, 1024)

    @property
    def mounts_mb(self) -> int:
        """Space for an index on flash, in MiB."""
        return max(self.index_mb * 4, 4096)

    @property
    def effective_fd_max(self) -> int:
        """Maximum number of connections to a node."""
        return min(self.fd_max, self.open_files)

    def needs(self) -> HostNeeds:
        """Returns the needed resources (docs/sizing.md).

        The primary index takes 64 bytes per copy of a record (Aerospike's "Capacity planning guide"), in memory or on flash;
        on flash its blocks are assumed to be half full. The data is on disk or in memory, and needs the free space that
        space_mb includes. There is no log.
        """
        in_memory, flash = self.storage == "memory", self.is_on_flash
        data = self.record_bytes * 2.5
        remedies = ["" if self.feature_key else "aerospike_feature_key", "" if self.index == "flash" else "aerospike_index=flash"]
        return HostNeeds(
            memory_mb=self.other_mb + (0 if in_memory else int(self.stores * self.cache_mb)),
            size=DataNeeds(
                record_disk=(0 if in_memory else data) + (self.index_bytes * 2 if flash else 0),
                record_memory=(data if in_memory else 0) + (0 if flash else self.index_bytes),
            ),
            unmet=self.unequal,
            instead={name: value for substitutes in self.unmet.values() for name, value in substitutes.items()},
            way_out="" if flash or in_memory else f"set {' and '.join(filter(None, remedies))}",
        )

    @property
    def disk_mb(self) -> int:
        """Disk space of a trial in MiB. It differs from the size of the files: the server allocates blocks only when it writes them."""
        return 100 + (self.space_mb if self.storage == "file" else 0)

    # ---- hosts, folders and ports -----------------------------------------------------------------------------------

    @property
    def is_reusable(self) -> bool:
        """Whether a load can be copied; only files can be copied."""
        return self.storage == "file" and super().is_reusable

    @property
    def ports(self) -> dict[str, int]:
        return {"service": self.service_port, "fabric": self.fabric_port, "heartbeat": self.heartbeat_port, "info": self.info_port}

    @property
    def seeds(self) -> list[Mapping[str, Any]]:
        """Addresses and ports of the other nodes, to which heartbeats are sent."""
        address = self.node.address
        return [node.values for node in self.nodes if node.address != address]

    @property
    def raw_devices(self) -> list[str]:
        """Raw devices or their partitions."""
        return self.parts if self.storage == "device" else []

    @property
    def raw_words(self) -> list[str]:
        """Arguments of files/raw-devices after the verb."""
        return [f"{self.context.home}/aerospike-devices", *self.devices]

    @property
    def raw_environment(self) -> dict[str, str]:
        """Environment of files/raw-devices, which finds and removes partitions with this deployment's label."""
        return {
            "SYSTEMD": str(self.context.systemd),
            # There is no default: a wrong label would remove the partitions of another deployment.
            "LABEL": f"dohyo-{self.context.values['dohyo_deployment'][:6]}",
            "LARGEST": str(LARGEST_MB),
        }

    @property
    def folders(self) -> list[str]:
        """Folders that must exist before the start: metadata and Lua on the first disk, data, and the index."""
        first = self.data[0]
        return [f"{first}/smd", f"{first}/lua", *self.data, *self.index_folders]

    @property
    def index_folders(self) -> list[str]:
        """Index folders that Dohyo creates. Folders that the user created keep their mode and owner."""
        defaults = self.default_index_mounts()
        return [mount for mount in self.index_mounts if mount in defaults] if self.index == "flash" else []

    # ---- configuration, administration and clients ------------------------------------------------------------------

    @property
    def access(self) -> dict[str, str]:
        """Properties for authentication and TLS; empty if neither is on."""
        properties: dict[str, str] = {}
        if self.authentication:
            properties |= {"aerospike.user": "dohyo", "aerospike.password": self.passwords["client"]}
        if self.tls:
            properties |= {"aerospike.tlsname": self.tls_name, "aerospike.tlsca": self.tls_ca}
        return properties

    @property
    def access_file(self) -> str:
        """File with the properties for authentication and TLS, so that they do not appear in the list of processes."""
        return f"{self.secret}/client.properties"

    @property
    def secret_files(self) -> list[ConfigFile]:
        return [ConfigFile(self.access_file, as_properties(self.access))]

    @property
    def files(self) -> list[ConfigFile]:
        """Configuration file with the settings that differ from Aerospike's defaults."""
        return [self.conf_file("aerospike.conf", as_sections(self.render("aerospike.conf"), self.all_settings))]

    @property
    def command(self) -> list[str]:
        return [self.program, "--foreground", "--config-file", f"{self.conf}/aerospike.conf"]

    @property
    def words(self) -> list[str]:
        return [
            f"hosts={self.node.address}:{self.node['service']}",
            f"namespace={self.namespace}",
            f"access={self.access_file}",
            f"layout={self.layout}",
            f"pid={self.run}/pid",
        ]

    @property
    def notes(self) -> list[str]:
        notes = self.unequal
        if self.effective_fd_max < self.fd_max:
            notes.append(f"proto-fd-max: {self.effective_fd_max}, the host's limit of open files")
        if self.storage == "device" and len(self.parts) > len(self.devices):
            notes.append(f"{len(self.devices)} devices in {len(self.parts)} partitions: Aerospike uses at most 2 TiB of a device")
        return notes

    @property
    def acknowledgements(self) -> dict[str, str]:
        """Properties of the client. Aerospike has no quorums: write_acks=quorum means all."""
        return {
            "aerospike.commitlevel": "MASTER" if self.context.write_acks == "one" else "ALL",
            "aerospike.readmode": "ONE" if self.context.read_acks == "one" else "ALL",
        }

    @property
    def client_properties(self) -> dict[str, Any]:
        # Inline processing suits files, whose records are in the page cache. With a device, the server can do other work while it waits.
        inline = self.context.properties.get("aerospike.inline", self.storage != "device")
        return {
            "aerospike.hosts": ",".join(f"{node.address}:{node['service']}" for node in self.nodes),
            "aerospike.port": self.node["service"],
            "aerospike.namespace": self.namespace,
            "aerospike.inline": str(inline).lower(),
            **self.acknowledgements,
            **self.access,
        }

    def attach(self, servers: Attached) -> Attach:
        """Returns how to connect to attached servers, given as HOSTS/NAMESPACE; each host may have a port."""
        hosts, namespace = servers.servers.partition("/")[0], servers.path or "test"
        return Attach(
            admin="dohyo.aerospike.admin.AttachedAerospike",
            arguments=[
                f"hosts={hosts}",
                f"namespace={namespace}",
                f"access={servers.folder}/connection.properties",
                f"tables={','.join(f'{servers.namespace}_{table}' for table in self.context.tables)}",
                f"layout={self.layout}",
            ],
            client_properties={"aerospike.hosts": hosts, "aerospike.namespace": namespace, **self.acknowledgements, "table": f"{servers.namespace}_usertable"},
        )

    def prepare(self, steps: Steps) -> None:
        if unequal := self.unequal:
            steps.note("; ".join(unequal))

    def ready(self, steps: Steps) -> None:
        if self.authentication:
            nodes = f"nodes={len(steps.databases)}"
            steps.each("Create the clients' account", lambda host: steps.until_admin(host, "account", nodes), steps.databases[:1])
        super().ready(steps)

    def examine(self, steps: Steps, host: str) -> dict[str, Any]:
        """Returns the problems of the raw devices (``devices``) and the names of their partitions (``parts``)."""
        if self.storage != "device":
            return {}
        return {name: self._ask_devices(steps, host, verb) for name, verb in (("devices", "look"), ("parts", "parts"))}

    def wipe(self, steps: Steps, state: str) -> None:
        """Clears the raw devices before and after a trial."""
        verb = {"fresh": "clear", "absent": "end"}[state]
        if self.storage == "device":
            steps.each("Empty the raw devices", lambda host: self._ask_devices(steps, host, verb), steps.databases)

    def _ask_devices(self, steps: Steps, host: str, verb: str) -> list[str]:
        """Runs a verb of files/raw-devices, and returns the lines of its output."""
        system = self.at(steps, host)
        script = (ANSIBLE / "systems/aerospike/files/raw-devices").read_text(encoding="utf-8")
        argv, environment = ["bash", "-s", "--", verb, *system.raw_words], system.raw_environment
        return steps.run(host, argv, stdin=script, root=system.context.systemd, environment=environment).splitlines()

    def tuned(self) -> list[Tuned]:
        flush_size = "128K" if self.devices and self.record_bytes < 100000 else "1M"
        threads = self.context.cores * (1 if self.storage == "memory" else 5)
        cache = None if self.storage == "memory" else self.cache
        sized, counted = (cache, None) if self.has_sized_cache else (None, cache)
        blocks = "256 blocks per device"
        return [
            Tuned("storage", "device" if self.devices else "file", FLASH, "device, if aerospike_devices names devices"),
            Tuned("flush_size", flush_size, SSD, "128K on devices, for records below 100 kB"),
            Tuned("service.service-threads", threads, PRACTICES, "5 × processors; for data in memory 1 ×", "the same"),
            Tuned(CACHE, sized, STORAGE, "256M per device, or less if the budget is too small", "256M per device"),
            Tuned(QUEUE, counted, "the same", f"{blocks}, or fewer if the budget is too small; before 7.1", blocks),
        ]


def _match(pattern: str, text: str) -> str:
    """Returns the first part of a text that matches a pattern, or an empty string."""
    match = re.search(pattern, text)
    return match[0] if match else ""


SYSTEMS = [Aerospike()]
