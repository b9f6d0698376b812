"""Aerospike 6.0 or newer: a server on the host, or the program of the vendor's package."""

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
from dohyo.systems.rendering import as_properties, as_sections
from dohyo.systems.steps import Steps
from dohyo.systems.system import Archive, Attach, Attached, ConfigFile, DataNeeds, HostNeeds, Script, System, Tuned

# MiB that the server takes of a device or file (AS_STORAGE_MAX_DEVICE_SIZE in storage.h).
LARGEST_MB = 2097152
# A word of aerospike.conf, which knows no quotes.
WORD = r"[^\s#{}]+"
# Prints the limit of open files, the program's path, and what the program says of itself.
LOOK = """\
asd=$ASD
[ -n "$asd" ] || [ ! -x "$INSTALLED" ] || asd=$INSTALLED
[ -n "$asd" ] || [ -n "$PACKAGE" ] || asd=$(PATH=$PATH:/usr/bin:/usr/local/bin command -v asd || true)
files=$(ulimit "$LIMIT" -n)
[ "$files" != unlimited ] || files=2097152
printf '%s\\n' "$files" "$asd"
[ -z "$asd" ] || "$asd" --version || true
"""
# Settings for the cache of what was written last: its size from 7.1 on, and its number of blocks before.
CACHE = "namespace.storage-engine.post-write-cache"
QUEUE = "namespace.storage-engine.post-write-queue"


@dataclass(frozen=True, kw_only=True)
class Aerospike(System):
    """Every node has the same part. Conditions state what the Community edition cannot do."""

    role = "aerospike"
    order = 4
    binding = "aerospike"
    admin = "dohyo.aerospike.admin.AerospikeAdmin"
    # LICENSE and LICENSE.CE of https://github.com/aerospike/aerospike-server.
    licence = (
        "Aerospike's server, Community Edition, is licensed under the GNU Affero General Public License, version 3 (https://www.gnu.org/licenses/agpl-3.0)."
    )
    # Settling only waits, and that it must: records on their way to another node would be counted twice.
    count_verb = "settle"
    attaches = True
    attached_options = ("settle_timeout", "count_limit")
    name: str = "aerospike"
    title: str = "Aerospike"

    asd: str = option("", "The server's program on the hosts. Without it aerospike_package, then the asd on the PATH.")
    package: str = option(
        None,
        "The vendor's package, a URL or a file on the control machine, .tgz, .deb or .rpm, unpacked without root; or"
        " the program asd itself, a file on the control machine. Without it the environment variable AEROSPIKE_ASD"
        " names it.",
    )
    package_sha256: str = option("", "SHA-256 of the package, which a URL must have; a file without one is not checked.", pattern=SHA256)
    # --fetch aerospike sets it.
    fetch: bool = option(False, "Download the vendor's own package, verify its checksum, and accept its licence, AGPL 3.")
    fetch_base: str = option(
        "https://download.aerospike.com/artifacts",
        "Where aerospike_fetch downloads from; a mirror has the same files and checksums below it.",
        pattern="https://[0-9A-Za-z./:_-]+",
    )
    fetch_version: str = option("8.1.2.5", "Version of the server that aerospike_fetch downloads.", pattern="[0-9]+([.][0-9]+){3}")
    fetch_tools: str = option("13.0.3", "Version of the tools in the same archive, a part of its name.", pattern="[0-9.]+")
    # Where one is taken, this machine uses the next free one and the trial notes it; hosts of an inventory refuse it.
    service_port: int = option(3000, "Preferred port for clients.")
    fabric_port: int = option(3001, "Preferred port for the data between nodes.")
    heartbeat_port: int = option(3002, "Preferred port for the nodes' heartbeats.")
    info_port: int = option(3003, "Preferred port for administration.")
    # Aerospike allows 31 bytes.
    namespace: str = option("ycsb", "Name of the namespace, in which every table is a set.", pattern="[0-9A-Za-z_-]{1,31}")
    # file: a file of its own, written in the background, with the index in memory. memory: nothing is on disk.
    storage: str = option(
        "file", "Where the data is; file and device are written in the background, as durability=memory asks.", choices=("memory", "file", "device")
    )
    devices: list[str] = option(
        [], "Raw devices for aerospike_storage=device, whole disks or partitions; each trial empties them, and partitions those above 2 TiB.", pattern=WORD
    )
    data_size: str = option("", "Space for the data of one node, as in 4g; empty for two and a half times what the records take.", pattern=f"({SIZE})?")
    # Before 7.1 only data in memory can have a record above aerospike_flush_size.
    max_record_size: str = option("8M", "Largest record, at most 8M; before 7.1 only for data in memory.", pattern=HEAP)
    flush_size: str = option("1M", "Unit in which data goes to the disk; before 7.1 also the largest record.", pattern=HEAP)
    fd_max: int = option(15000, "Connections that a node takes, at most what the host's limit of open files allows.")
    feature_key: str = option("", "Feature key file on the hosts; the Enterprise edition needs it for the next variables.", pattern=r"[^\s#{}]*")
    strong_consistency: bool = option(False, "Strong consistency, Enterprise only.")
    index: str = option("memory", "Where the index is; flash is Enterprise only.", choices=("memory", "flash"))
    authentication: bool = option(False, "Clients log in, with a password; Enterprise only.")
    # Never on a command line (docs/secrets.md). Any text without blanks around it, which get lost on the way.
    password: str = option(
        "", "The clients' password; a new one for each trial where it is empty.", pattern=r"(\S(.*\S)?)?", secret=True, environment="DOHYO_AEROSPIKE_PASSWORD"
    )
    tls: bool = option(False, "TLS between clients and nodes, and among nodes; Enterprise only.")
    tls_name: str = option("dohyo", "Name that all nodes' certificates bear.", pattern=WORD)
    tls_certificate: str = option("/etc/aerospike/tls/certificate.pem", "PEM file on the database hosts, the node's certificate.", pattern=WORD)
    tls_key: str = option("/etc/aerospike/tls/key.pem", "PEM file on the database hosts, the certificate's key.", pattern=WORD)
    tls_ca: str = option("/etc/aerospike/tls/ca.pem", "PEM file on the hosts of databases and clients, the authorities to trust.", pattern=WORD)
    index_mounts: list[str] = option(None, "Folders on flash devices, for aerospike_index=flash.", pattern=WORD)
    ready_timeout: int = option(60, "Seconds for the server to start and the cluster to form.")
    settle_timeout: int = option(600, "Seconds for migrations and writing after the load.")
    stop_timeout: int = option(60, "Seconds for the server to stop before it is killed.")
    # Addresses, ports, files and who gets in have options of their own.
    settings: dict[str, Any] = option(
        {},
        "Further settings of aerospike.conf as SECTION.KEY or SECTION.SUBSECTION.KEY, as in service.service-threads or"
        " namespace.storage-engine.flush-size; they replace Dohyo's own.",
        pattern=r"(?!.*(address|port|path|file|directory|device|mount)$)(?!(security|logging)\b|network\.tls\b)"
        r"[a-z]+(\.[a-z0-9-]+)+",
    )
    # The server itself counts the others.
    count_limit: int = option(1000000, "Up to this many packed records are counted after the load.")

    def default_package(self) -> str:
        """The program that the control machine's environment names, unless one is downloaded."""
        return "" if self.fetch else str(self.context.get("environment", {}).get("AEROSPIKE_ASD", ""))

    def default_index_mounts(self) -> list[str]:
        """A folder on each disk."""
        return [f"{folder}/index" for folder in self.data]

    # ---- where the server comes from -------------------------------------------------------------------------------

    @property
    def server_archive(self) -> Archive:
        """The package that the user names, or the vendor's; a program that was named comes before both.

        Names and checksums as the vendor documents and uses them: https://aerospike.com/docs/database/install/linux
        (naming), and https://github.com/aerospike/aerospike-server.docker (lib/version.sh: FILE.sha256 beside each
        FILE). Looked up on 2026-11-25.
        """
        given = "" if self.asd else self.package
        name, version, processor = self.platform[0], self.platform[1], self.platform[-1]
        distribution = name + version if name in ("debian", "ubuntu", "amzn") else f"el{version.partition('.')[0]}"
        file = f"aerospike-server-community_{self.fetch_version}_tools-{self.fetch_tools}_{distribution}_{processor}.tgz"
        folder = f"{self.fetch_base}/aerospike-server-community/{self.fetch_version}"
        url = f"{folder}/{file}" if self.fetch and not self.asd and not given else ""
        return Archive(
            variable="AEROSPIKE_ASD" if given and "package" not in self.given else "aerospike_package",
            given=given,
            checksum="aerospike_package_sha256",
            sha256=self.package_sha256.lower(),
            unchecked=True,  # a file of the user's own, perhaps just the program
            url=url,
            sums=f"{given or url}.sha256",
        )

    @property
    def installed_version(self) -> str:
        return self.archive_source.rpartition("/")[2]

    @property
    def installed(self) -> str:
        """The package's program on the host; empty where there is no package."""
        return f"{self.context.home}/{self.install}/asd" if self.archive_source else ""

    @property
    def is_packed(self) -> bool:
        """The program is in a package, and not a file of the control machine itself."""
        return re.search("[.](tgz|tar[.]gz|deb|rpm)$", self.archive_path) is not None

    def _line(self, number: int) -> str:
        """A line that the look at the host has printed: limit of open files, program, version."""
        return [*self.looked["stdout"].splitlines(), "", "", ""][number]

    @property
    def looks_for(self) -> Script:
        """Prints the limit of open files, the program, and what that says of itself."""
        environment = {
            "LIMIT": "-H" if self.context.systemd else "-S",  # a unit of systemd gets the most that the host allows
            "ASD": self.asd,
            "PACKAGE": self.archive_source,
            "INSTALLED": self.installed,
        }
        return Script(LOOK, environment)

    @property
    def open_files(self) -> int:
        """The host's limit of open files; 0 before anybody has looked."""
        return int(self._line(0) or 0)

    @property
    def program(self) -> str:
        """The server's program on the host, as the script has found it; empty without one."""
        return self._line(1)

    @property
    def version(self) -> str:
        """Version of the server that was found."""
        return _match(r"(?<=build )[0-9.]+", self._line(2))

    @property
    def edition(self) -> str:
        """Edition of that server; Enterprise before anybody has looked, so that a feature key counts."""
        return _match(r"\w+(?= Edition)", self._line(2)) if self.open_files else "Enterprise"

    def is_before(self, version: str) -> bool:
        """The server that was found is older."""
        return is_older(self.version, version)

    @property
    def absent(self) -> str:
        """Why the host has no server; empty also where the package's program is still to be installed."""
        if not self.asd and self.archive_problem:
            return self.archive_problem
        if self._line(2) or (self.archive_source and not self.program):
            return ""
        if self.program:
            return f"{self.program} does not answer to --version: {self.looked['stderr']}"
        return f"no asd on {self.context.host}"

    @property
    def unavailable(self) -> str:
        return self.absent and (
            f"{self.absent}; download it with --fetch aerospike, install the server package of aerospike.com there, or"
            " name it: the control machine's program with AEROSPIKE_ASD=FILE, the hosts' with aerospike_asd, or the"
            " package with aerospike_package=URL or FILE"
        )

    def problems(self) -> list[str]:
        context, hosts, version, edition = self.context, len(self.context.databases), self.version, self.edition
        found = []
        if not version:
            deploy = f"{context.get('dohyo_playbook', 'ansible-playbook')} deploy.yml"
            found.append(self.absent or f"type {deploy} first, with the same aerospike_package or aerospike_fetch")
        elif (
            self.is_before("6.0")
            or self.replication > hosts
            or (self.storage == "device" and not self.devices)
            or self.open_files < 1024
            or (edition != "Enterprise" and hosts > 8)
        ):
            found.append(
                f"Aerospike {version} {edition} on {context.host}: the version must be 6.0 or newer, the limit of open"
                f" files (ulimit -n, here {self.open_files}) at least 1024, the number of database hosts (here {hosts})"
                f" at least replication ({self.replication}) and with the Community edition at most 8, and"
                " aerospike_storage=device needs aerospike_devices"
            )
        if version and not self.is_enterprise and (self.authentication or self.tls):
            found.append(
                "aerospike_authentication and aerospike_tls need the Enterprise edition, and aerospike_feature_key; on"
                f" {context.host} is the {edition} edition. Leave them out, or name the other with aerospike_package"
            )
        return found + [f"{context.host}: {each}" for each in self.found.get("devices", [])]

    # ---- editions ---------------------------------------------------------------------------------------------------

    @property
    def is_enterprise(self) -> bool:
        """The other edition refuses to start with any of its settings, even when it is switched off."""
        return self.edition == "Enterprise" and self.feature_key != ""

    @property
    def has_tls(self) -> bool:
        """Nodes have TLS."""
        return self.is_enterprise and self.tls

    @property
    def has_certificates(self) -> bool:
        """The user brings them."""
        return False

    @property
    def commits(self) -> bool:
        """Writes are on the disk when they are acknowledged."""
        return self.is_enterprise and self.context.on_disk and self.storage != "memory"

    @property
    def compresses(self) -> bool:
        """The server compresses the data."""
        return self.is_enterprise and self.effective_compression in ("lz4", "zstd")

    @property
    def is_on_flash(self) -> bool:
        """The index is on flash devices."""
        return self.is_enterprise and self.index == "flash"

    @property
    def unmet(self) -> dict[str, dict[str, Any]]:
        """Requests that the server refuses, and the values that it has instead."""
        compression = self.effective_compression
        found: dict[str, dict[str, Any]] = {}
        if self.context.on_disk and not self.commits:
            found["durability=disk"] = {"durability": "memory"}
        if compression != "none" and not self.compresses:
            found[f"compression={compression}"] = {"compression": "none"}
        if self.strong_consistency and not self.is_enterprise:
            found["aerospike_strong_consistency"] = {"aerospike_strong_consistency": False}
        if self.index == "flash" and not self.is_enterprise:
            found["aerospike_index=flash"] = {"aerospike_index": "memory"}
        return found

    @property
    def unequal(self) -> list[str]:
        """A sentence for each of these requests."""
        why = (
            "this is the Community edition"
            if self.edition != "Enterprise"
            else "it takes storage on disk, and compression none, lz4 or zstd"
            if self.is_enterprise
            else "the Enterprise edition needs aerospike_feature_key"
        )
        return [f"{request} is not available: {why}" for request in self.unmet]

    # ---- sizes ------------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> str:
        """How the client lays records out."""
        return str(self.context.properties.get("aerospike.layout", "bins"))

    @property
    def node_records(self) -> int:
        """Records of one node, with its copies of others'."""
        return math.ceil(self.context.records * self.replication / len(self.context.databases))

    @property
    def record_bytes(self) -> int:
        """What a record takes: a bin has its name and type beside the value, a record a header of 64 bytes."""
        return self.context.fieldcount * (self.context.fieldlength + 20) + 64

    @property
    def space_mb(self) -> int:
        """MiB for the data of one node: half of it may be garbage, and writes stop where less than 30 % is free."""
        needed = int(self.node_records * self.record_bytes * 2.5 / MIB)
        return max(mib(self.data_size) if self.data_size else needed, 1024)

    @property
    def index_mb(self) -> int:
        """MiB for the primary index, of one record in each entry."""
        return int(self.node_records * 64 / MIB)

    @property
    def index_bytes(self) -> int:
        """Bytes of the primary index per copy of a record; several packed records share an entry."""
        return math.ceil(64 / int(re.sub("[^0-9]", "", self.layout) or 1))

    @property
    def files_per_folder(self) -> int:
        """Files of the namespace on each disk.

        The server takes no more than LARGEST_MB of a file. An array has a file for each of its disks, as these would
        have by themselves: each file has its own queue and thread for writing.
        """
        folders = len(self.data)
        return max(math.ceil(self.context.drives / folders), math.ceil(self.space_mb / folders / LARGEST_MB))

    @property
    def file_mb(self) -> int:
        """MiB of such a file, which has at least 128."""
        return max(math.ceil(self.space_mb / len(self.data) / self.files_per_folder), 128)

    @property
    def data_files(self) -> list[str]:
        """Paths of these files."""
        return [f"{folder}/{self.namespace}{f'-{number}' if number > 1 else ''}.dat" for folder in self.data for number in range(1, self.files_per_folder + 1)]

    @property
    def parts(self) -> list[str]:
        """The raw devices, or their partitions once the host was looked at."""
        return list(self.found.get("parts", self.devices))

    @property
    def stores(self) -> int:
        """Files or devices of the namespace; for data in memory 1.

        Each has a cache of what was written last (post-write-cache), and a queue of what is to be written
        (max-write-cache, 64 MiB).
        """
        if self.storage == "memory":
            return 1
        # Without devices a trial is refused.
        return max(len(self.parts), 1) if self.storage == "device" else len(self.data) * self.files_per_folder

    @property
    def other_mb(self) -> int:
        """Memory beside these caches: 264 MB were seen with one file and no data; 100 for connections."""
        data = self.space_mb + 256 if self.storage == "memory" else 100
        return 144 + data + 64 * (self.stores - 1) + (0 if self.is_on_flash else self.index_mb)

    @property
    def has_sized_cache(self) -> bool:
        """The cache has a size, and not a number of blocks as before 7.1."""
        return not is_older(self.version or "7.1", "7.1")

    @property
    def block_mb(self) -> float:
        """MiB of a block of the cache."""
        return 8 if self.has_sized_cache else max((size_bytes(self.flush_size, LETTERS) or 0) / MIB, 1 / 16)

    @property
    def cache_mb(self) -> float:
        """MiB of one cache: what the user sets, or the server's own 256 MiB (before 7.1 256 blocks).

        It is smaller where a budget leaves less to all of them. A cache has whole blocks (drv_ssd.c, where it is
        divided by WBLOCK_SZ, 8 MiB).
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
        """The same, as the configuration has it."""
        return f"{int(self.cache_mb)}M" if self.has_sized_cache else str(int(self.cache_mb / self.block_mb))

    @property
    def states_cache(self) -> bool:
        """The configuration states the cache: a size other than the server's own, and every number of blocks."""
        return self.storage != "memory" and self.cache != "256M"

    @property
    def memory_size_mb(self) -> int:
        """MiB of memory that the namespace may have before 7.0."""
        return self.space_mb + self.index_mb if self.storage == "memory" else max(self.index_mb * 2, 1024)

    @property
    def mounts_mb(self) -> int:
        """MiB for an index on flash."""
        return max(self.index_mb * 4, 4096)

    @property
    def effective_fd_max(self) -> int:
        """Connections that a node takes."""
        return min(self.fd_max, self.open_files)

    def needs(self) -> HostNeeds:
        """What its data takes (docs/sizing.md).

        64 bytes of primary index per copy of a record (Aerospike's "Capacity planning guide"), in memory or on flash,
        where its blocks are taken to be half full. The data, with the room that space_mb gives it, is on disk or in
        memory; there is no log.
        """
        in_memory, flash = self.storage == "memory", self.is_on_flash
        data = self.record_bytes * 2.5
        ways = ["" if self.feature_key else "aerospike_feature_key", "" if self.index == "flash" else "aerospike_index=flash"]
        return HostNeeds(
            memory_mb=self.other_mb + (0 if in_memory else int(self.stores * self.cache_mb)),
            size=DataNeeds(
                record_disk=(0 if in_memory else data) + (self.index_bytes * 2 if flash else 0),
                record_memory=(data if in_memory else 0) + (0 if flash else self.index_bytes),
            ),
            unmet=self.unequal,
            instead={name: value for each in self.unmet.values() for name, value in each.items()},
            way_out="" if flash or in_memory else f"set {' and '.join(filter(None, ways))}",
        )

    @property
    def disk_mb(self) -> int:
        """A file has no blocks before they are written."""
        return 100 + (self.space_mb if self.storage == "file" else 0)

    # ---- hosts, folders and ports -----------------------------------------------------------------------------------

    @property
    def is_reusable(self) -> bool:
        """Only files can be copied, and a copy has no users."""
        return self.storage == "file" and not self.authentication

    @property
    def ports(self) -> dict[str, int]:
        return {"service": self.service_port, "fabric": self.fabric_port, "heartbeat": self.heartbeat_port, "info": self.info_port}

    @property
    def seeds(self) -> list[Mapping[str, Any]]:
        """Address and port of the other nodes' heartbeats."""
        own = self.node.address
        return [node.values for node in self.nodes if node.address != own]

    @property
    def raw_devices(self) -> list[str]:
        """Whole devices, or their partitions."""
        return self.parts if self.storage == "device" else []

    @property
    def raw_words(self) -> list[str]:
        """Arguments of files/raw-devices after the verb."""
        return [f"{self.context.home}/aerospike-devices", *self.devices]

    @property
    def raw_environment(self) -> dict[str, str]:
        """Environment of files/raw-devices, which finds and removes partitions with the label of this deployment."""
        return {
            "SYSTEMD": str(self.context.systemd),
            # No default: what has this name is removed.
            "LABEL": f"dohyo-{self.context.values['dohyo_deployment'][:6]}",
            "LARGEST": str(LARGEST_MB),
        }

    @property
    def folders(self) -> list[str]:
        """The server does not start without those for its metadata, on the first disk, and for Lua."""
        first = self.data[0]
        return [f"{first}/smd", f"{first}/lua", *self.data, *self.index_folders]

    @property
    def index_folders(self) -> list[str]:
        """Folders of ours for the index; a site's own keep their mode and owner."""
        ours = self.default_index_mounts()
        return [each for each in self.index_mounts if each in ours] if self.index == "flash" else []

    # ---- configuration, administration and clients ------------------------------------------------------------------

    @property
    def access(self) -> dict[str, str]:
        """Properties that let a client in."""
        found: dict[str, str] = {}
        if self.authentication:
            found |= {"aerospike.user": "dohyo", "aerospike.password": self.passwords["client"]}
        if self.tls:
            found |= {"aerospike.tlsname": self.tls_name, "aerospike.tlsca": self.tls_ca}
        return found

    @property
    def access_file(self) -> str:
        """File with these properties for administration, where no list of processes shows them."""
        return f"{self.secret}/client.properties"

    @property
    def secret_files(self) -> list[ConfigFile]:
        return [ConfigFile(self.access_file, as_properties(self.access))]

    @property
    def files(self) -> list[ConfigFile]:
        """One file with what differs from Aerospike's own defaults."""
        return [self.conf_file("aerospike.conf", as_sections(self.render("aerospike.conf"), self.all_settings))]

    @property
    def command(self) -> list[str]:
        return [self.program, "--foreground", "--config-file", f"{self.conf}/aerospike.conf"]

    @property
    def asks_ready(self) -> bool:
        """An open port says little: until the cluster has formed, writes fail."""
        return True

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
        found = self.unequal
        if self.effective_fd_max < self.fd_max:
            found.append(f"proto-fd-max: {self.effective_fd_max}, the host's limit of open files")
        if self.storage == "device" and len(self.parts) > len(self.devices):
            found.append(f"{len(self.devices)} devices in {len(self.parts)} partitions: Aerospike takes at most 2 TiB of a device")
        return found

    @property
    def acknowledgements(self) -> dict[str, str]:
        """Aerospike has no quorums: all copies acknowledge a write unless one is enough."""
        return {
            "aerospike.commitlevel": "MASTER" if self.context.write_acks == "one" else "ALL",
            "aerospike.readmode": "ONE" if self.context.read_acks == "one" else "ALL",
        }

    @property
    def client_properties(self) -> dict[str, Any]:
        # In the cache of the operating system a record is there at once; on a device others can be served meanwhile.
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
        """HOSTS/NAMESPACE; each host may have a port."""
        hosts, namespace = servers.servers.partition("/")[0], servers.path or "test"
        return Attach(
            admin="dohyo.aerospike.admin.AttachedAerospike",
            words=[
                f"hosts={hosts}",
                f"namespace={namespace}",
                f"access={servers.folder}/connection.properties",
                f"tables={','.join(f'{servers.place}_{table}' for table in self.context.tables)}",
                f"layout={self.layout}",
            ],
            client_properties={"aerospike.hosts": hosts, "aerospike.namespace": namespace, **self.acknowledgements, "table": f"{servers.place}_usertable"},
        )

    def prepare(self, steps: Steps) -> None:
        if unequal := self.unequal:
            steps.note("; ".join(unequal))

    def ready(self, steps: Steps) -> None:
        if self.authentication:
            nodes = f"nodes={len(steps.databases)}"
            steps.each("Make the clients' account", lambda host: steps.until_admin(host, "account", nodes), steps.databases[:1])
        super().ready(steps)

    def wipe(self, steps: Steps, state: str) -> None:
        """Clears the raw devices, before a trial and after it."""
        script = (ANSIBLE / "systems/aerospike/files/raw-devices").read_text(encoding="utf-8")
        verb = {"fresh": "clear", "absent": "end"}[state]

        def clear(host: str) -> None:
            system = self.at(steps, host)
            words = ["bash", "-s", "--", verb, *system.raw_words]
            steps.run(host, words, stdin=script, root=system.context.systemd, environment=system.raw_environment)

        if self.storage == "device":
            steps.each("Clear the raw devices", clear, steps.databases)

    def tuned(self) -> list[Tuned]:
        caches = self.storage != "memory"
        return [
            Tuned(
                "storage",
                "device" if self.devices else "file",
                "[Flash storage](https://aerospike.com/docs/database/manage/planning/ssd): block devices are preferred to files, and RAID is discouraged",
                "device, if aerospike_devices names some",
            ),
            Tuned(
                "flush_size",
                "128K" if self.devices and self.record_bytes < 100000 else "1M",
                "[aerospike_ssd.conf](https://github.com/aerospike/aerospike-server/blob/master/as/etc/aerospike_ssd.conf) of the server's package",
                "128K on devices, for records below 100 kB",
            ),
            Tuned(
                "service.service-threads",
                self.context.cores * (1 if self.storage == "memory" else 5),
                "[Best practices](https://aerospike.com/docs/database/learn/best-practices), service-threads",
                "5 × processors; for data in memory 1 ×",
                "the same",
            ),
            Tuned(
                CACHE,
                self.cache if caches and self.has_sized_cache else None,
                "[Manage storage](https://aerospike.com/docs/operations/manage/storage): small compared to the device, as what is in it is not defragmented",
                "256M per device, less where the budget leaves less",
                "256M per device",
            ),
            Tuned(
                QUEUE,
                self.cache if caches and not self.has_sized_cache else None,
                "the same",
                "256 blocks per device, less where the budget leaves less; before 7.1",
                "256 blocks per device",
            ),
        ]


def _match(pattern: str, text: str) -> str:
    """What matches in a text; empty if nothing does."""
    match = re.search(pattern, text)
    return match[0] if match else ""


SYSTEMS = [Aerospike()]
