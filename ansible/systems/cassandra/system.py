"""Apache Cassandra 3.11 to 5.0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dohyo.bad_input import BadInputError
from dohyo.systems.context import is_older, mib
from dohyo.systems.cql import Cql
from dohyo.systems.jvm import VERSION, OnJvm
from dohyo.systems.option import HEAP, option
from dohyo.systems.records import ConfigFile, DataNeeds, HostNeeds, Tuned
from dohyo.systems.rendering import as_yaml
from dohyo.systems.steps import Steps

# JDKs for each series, with the preferred one first; docs/versions.md lists the tested combinations.
SERIES = {"3.11": [8], "4.0": [17, 11, 8, 14], "4.1": [17, 11, 8], "5.0": [17, 11]}
LATEST = "[cassandra_latest.yaml](https://github.com/apache/cassandra/blob/cassandra-5.0/conf/cassandra_latest.yaml)"
COMMENTS = "comments of [cassandra.yaml](https://github.com/apache/cassandra/blob/cassandra-5.0/conf/cassandra.yaml), the same since 3.11"
# Options for JDKs with modules (from jvm17-server.options of Cassandra 5.0).
EXPORTED = (
    *("java.base/jdk.internal.misc", "java.management.rmi/com.sun.jmx.remote.internal.rmi", "java.rmi/sun.rmi.registry"),
    *("java.rmi/sun.rmi.server", "java.sql/java.sql"),
)
OPENED = (
    *(f"java.base/java.{name}" for name in ("io", "lang", "lang.module", "lang.reflect", "nio", "util", "util.concurrent", "util.concurrent.atomic")),
    *(f"java.base/jdk.internal.{name}" for name in ("loader", "math", "module", "ref", "reflect", "util.jar")),
    *("java.base/sun.nio.ch", "jdk.management/com.sun.management.internal"),
)
MODULES = [*(f"--add-exports={package}=ALL-UNNAMED" for package in EXPORTED), *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED)]
SNITCH = "GossipingPropertyFileSnitch"
COMPACTORS = "the number of disks or of processors, whichever is smaller, from 2 to 8"
COMPACTIONS = ("SizeTieredCompactionStrategy", "LeveledCompactionStrategy", "UnifiedCompactionStrategy", "TimeWindowCompactionStrategy")
FOLDER = r'(/[^\s"]+)?'

# Script that prints a reason if the commit log's folder, $0, is on the same file system as another folder. If a folder does not
# exist yet, the file system of its parent counts.
LOG_DISK = """
carrier() {
  place=$1
  while [ ! -e "$place" ]; do place=$(dirname -- "$place"); done
  stat -c %d -- "$place"
}
for folder; do
  [ "$(carrier "$0")" != "$(carrier "$folder")" ] || { echo "is on the file system of $folder; mount another disk there, or leave it out" && exit; }
done
"""


@dataclass(frozen=True, kw_only=True)
class Cassandra(OnJvm, Cql):
    """Cassandra, in which all nodes are peers. The first node starts first, because it is the seed."""

    role = "cassandra"
    order = 1
    binding = "cassandra"
    admin = "dohyo.cassandra.admin.CassandraAdmin"
    opens = "cql"
    settles_everywhere = True
    drops = True
    attaches = True
    attached_options = ("replication_strategy", "column_type", "compaction", "rows_per_partition", "settle_timeout", "count_limit")
    jdks_by_series = SERIES
    jar_folders = ("lib",)
    main_jar = "(apache-cassandra|cassandra-all)"
    name: str = "cassandra"
    title: str = "Apache Cassandra"

    version: str = option("5.0.9", "Version of org.apache.cassandra:cassandra-all on Maven Central, 3.11.x, 4.0.x, 4.1.x or 5.0.x.", pattern=VERSION)
    heap: str = option(None, "Minimum and maximum heap of the server, such as 1g or 1500m. Default: a share of host_memory_budget, or 1g.", pattern=HEAP)
    # "When running on magnetic HDD, this should be a separate spindle than the data directories": the comment of
    # commitlog_directory in cassandra.yaml, the same since 3.11.
    commitlog_folder: str = option(
        "",
        "FOLDER on the hosts; the commit log is stored in FOLDER/dohyo/cassandra. FOLDER must be on a separate file"
        " system and disk, not in dohyo_devices, as cassandra.yaml advises for rotating disks. If empty, the log is on the"
        " data disks.",
        pattern=FOLDER,
    )
    hints_folder: str = option(
        "",
        "FOLDER on another separate disk; hints and saved caches are stored in FOLDER/dohyo/cassandra. Requires"
        " cassandra_commitlog_folder. If empty, they are on the first data disk.",
        pattern=FOLDER,
    )
    jmx_port: int = option(7199, "Preferred port for JMX, which is always on 127.0.0.1.")
    column_type: str = option(
        "blob", "CQL type of the fields; with text, stock YCSB's binding can use the tables; float needs fieldlength=4.", choices=("blob", "text", "float")
    )
    compression: str = option(
        "scenario",
        "Compression of the tables; a value other than the scenario's (compression) is marked as a difference.",
        choices=("scenario", "none", "lz4", "zstd", "gz"),
    )
    chunk_kib: int = option(0, "Size of a compressed chunk in KiB; 0 for Cassandra's default (16, or 64 in 3.11).")
    compaction: str = option(COMPACTIONS[0], "Compaction strategy of the tables.", choices=COMPACTIONS)
    rows_per_partition: str = option(
        "NONE",
        "Number of rows of each partition in the row cache; needs row_cache_size (before 4.1 row_cache_size_in_mb) in cassandra_settings.",
        pattern="NONE|ALL|[1-9][0-9]*",
    )
    memtable: str = option("skiplist", "Implementation of the memtable; trie needs 5.0.", choices=("skiplist", "trie"))
    sstable_format: str = option("big", "Format of the files on disk; bti needs 5.0.", choices=("big", "bti"))
    tokens: int = option(None, "Number of tokens per node, evenly spaced; with more than one, 3.11 chooses them at random.", pattern="[1-9][0-9]{0,3}")
    concurrent_reads: int = option(32, "Number of reads that a node executes at the same time.")
    concurrent_writes: int = option(32, "Number of writes that a node executes at the same time.")
    # The pattern excludes addresses, ports, folders and security: other options set them.
    settings: dict[str, Any] = option(
        {},
        "Further settings of cassandra.yaml, by key; dots separate the parts of nested keys. They override Dohyo's settings.",
        pattern=r"(?!.*(directory|directories|address|interface|_port|_port_ssl)$)"
        r"(?!(seed_provider|authenticator|authorizer|role_manager|cluster_name)\b|.*encryption_options)"
        r"[a-z][0-9A-Za-z_]*(\.[0-9A-Za-z_-]+)*",
    )
    authentication: bool = option(False, "Require users to log in with a password.")
    # The pattern forbids leading and trailing blanks, which would be lost.
    user: str = option("dohyo", "User that authentication creates instead of Cassandra's default user.", pattern=r"\S(.*\S)?")
    # Set it in the environment or in a file of Ansible Vault, never on a command line (docs/secrets.md).
    password: str = option(
        "", "The user's password; if empty, each trial creates a new one.", pattern=r"(\S(.*\S)?)?", secret=True, environment="DOHYO_CASSANDRA_PASSWORD"
    )
    tls: bool = option(False, "Use TLS between clients and nodes, and among nodes; needs 4.1 or newer.")
    ready_timeout: int = option(180, "Seconds for the server to start.")
    settle_timeout: int = option(300, "Seconds without progress of the compactions after the load until the trial continues.")
    stop_timeout: int = option(60, "Seconds for the server to stop before it is killed.")
    count_limit: int = option(1000000, "Maximum number of records for which the rows are counted after the load.")

    def default_heap(self) -> str:
        """Returns a share of the memory budget, or 1 GiB without a budget.

        The formula is DataStax's, "Changing heap size parameters": max(min(1/2 ram, 1024 MB), min(1/4 ram, 32765 MB)). The limit
        here is 31 GiB, so that the JVM uses compressed pointers. The rest of the budget is for off-heap memory and the page cache.
        """
        budget = self.context.budget_mb
        return f"{max(min(budget // 2, 1024), min(budget // 4, 31744))}m" if budget else "1g"

    def default_tokens(self) -> int:
        """Returns the version's default (num_tokens in its cassandra.yaml)."""
        return 256 if self.series == "3.11" else 16

    @property
    def is_before_4_1(self) -> bool:
        """Whether the version is older than 4.1: its settings have units in their names instead of their values."""
        return is_older(self.version, "4.1")

    @property
    def heap_mb(self) -> int:
        """Size of the heap in MiB."""
        return mib(self.heap)

    @property
    def row_cache_mb(self) -> int:
        """Size of the row cache in MiB. The setting has two names: 4.1 and newer also accept the older one, which includes the unit."""
        size = self.all_settings.get("row_cache_size", f"{self.all_settings.get('row_cache_size_in_mb', 0)}m")
        return mib(str(size).replace("iB", ""), "row_cache_size")

    @property
    def impossible(self) -> str:
        if reason := super().impossible:
            return reason
        if self.series != "5.0" and (self.memtable, self.sstable_format) != ("skiplist", "big"):
            return f"the memtable 'trie' and the format 'bti' need Cassandra 5.0, not {self.version}; leave them out"
        if self.tls and self.series in ("3.11", "4.0"):
            return f"Cassandra {self.version} cannot read keys in PEM files; cassandra_tls needs 4.1 or newer"
        return ""

    def problems(self) -> list[str]:
        problems = [*super().problems(), *([self.impossible] if self.impossible else [])]
        if self.column_type == "float":
            problems += self.context.not_4_bytes("cassandra_column_type=float", "a float")
        if self.hints_folder and not self.commitlog_folder:
            problems.append(f"cassandra_hints_folder={self.hints_folder} needs cassandra_commitlog_folder; set both")
        if self.rows_per_partition != "NONE" and not self.row_cache_mb:
            key = "row_cache_size_in_mb" if self.is_before_4_1 else "row_cache_size"
            problems.append(f"cassandra_rows_per_partition={self.rows_per_partition} needs a row cache; set {key} in cassandra_settings")
        return problems

    def needs(self) -> HostNeeds:
        off_heap = str(self.all_settings.get("memtable_allocation_type", "")).startswith("offheap")
        # The chunk cache is on by default only in 3.11. Before 5.0, it holds only compressed files.
        caches_files = self.series == "3.11" or "-Dcassandra.file_cache_enabled=true" in self.java_options
        caches = caches_files and (self.effective_compression != "none" or self.series == "5.0")
        return HostNeeds(
            # 500 MB are for metaspace, direct buffers and code. Off-heap memtables (memtable_offheap_space) take a quarter of the heap's size.
            memory_mb=self.heap_mb + 500 + (self.heap_mb // 4 if off_heap else 0) + self.row_cache_mb,
            cache_mb=min(self.heap_mb // 4, 512) if caches else 0,
            # By default, the commit log occupies at most 8 GiB (commitlog_total_space).
            size=DataNeeds(record_disk=self.context.sstable_bytes, log_mb=8192),
        )

    @property
    def jars(self) -> list[str]:
        """Maven artifacts of the server; 3.11 needs a second artifact."""
        names = ["cassandra-all", *(["cassandra-thrift"] if self.series == "3.11" else [])]
        return [f"org.apache.cassandra:{name}:{self.version}" for name in names]

    @property
    def collector(self) -> list[str]:
        """Options of the collector G1, from Cassandra 5.0 (jvm17-server.options)."""
        return [
            "-XX:+UseG1GC",
            "-XX:+ParallelRefProcEnabled",
            "-XX:MaxTenuringThreshold=2",
            f"-XX:G1HeapRegionSize={16 if self.heap_mb >= 1024 else 1}m",  # for a small heap, the JVM's default size
            "-XX:+UnlockExperimentalVMOptions",
            "-XX:G1NewSizePercent=50",
            "-XX:G1RSetUpdatingPauseTimePercent=5",
            "-XX:MaxGCPauseMillis=300",
            "-XX:InitiatingHeapOccupancyPercent=70",
        ]

    @property
    def is_reusable(self) -> bool:
        """Whether a load can be copied: a copy contains neither users nor a commit log on another disk."""
        return super().is_reusable and not self.commitlog_folder

    @property
    def makes(self) -> dict[str, list[str]]:
        return {"data": ["system", "system_*", self.keyspace], f"data/{self.keyspace}": ["usertable*"]}

    @property
    def ports(self) -> dict[str, int]:
        return {"cql": self.cql_port, "storage": self.storage_port, "jmx": self.jmx_port}

    @property
    def log_disks(self) -> list[str]:
        """Folders for hints and for the commit log, in this order."""
        return [folder for folder in (self.hints_folder, self.commitlog_folder) if folder]

    @property
    def disks(self) -> int:
        """Number of data folders. If the commit log has no separate folder, it takes the last of several disks."""
        return max(len(self.context.data) - (0 if self.commitlog_folder else 1), 1)

    @property
    def table_folders(self) -> list[str]:
        """Folders for tables: all data folders except the commit log's."""
        return self.data if self.logs else self.data[:-1] or self.data

    @property
    def seeds(self) -> str:
        """Seeds: the first node and this one. A seed starts even if its first message to the first node is not answered."""
        first, current = self.nodes[0], self.node
        nodes = [first] if first == current else [first, current]
        return ",".join(node["address"] if self.series == "3.11" else f"{node['address']}:{node['storage']}" for node in nodes)

    @property
    def initial_tokens(self) -> list[int]:
        """Tokens of this node: those of all nodes are evenly spaced, and nodes follow each other in the order of the inventory."""
        nodes = self.context.databases
        count = len(nodes) * self.tokens
        return [number * 2**64 // count - 2**63 for number in range(nodes.index(self.context.host), count, len(nodes))]

    @property
    def sets_new_size(self) -> bool:
        """Whether the user has set the size of the new generation."""
        return any(argument.startswith("-Xmn") for argument in self.java_options)

    @property
    def jamm(self) -> str:
        """File name of the JVM agent that measures object sizes (jamm); its version depends on Cassandra's."""
        jars = Path(self.context.control, self.install, "lib").glob("jamm-*.jar")
        return min((file.name for file in jars), default="jamm-*.jar")

    @property
    def files(self) -> list[ConfigFile]:
        """Configuration files: settings that differ from Cassandra's defaults, JVM options, and logging."""
        return [
            self.conf_file("cassandra.yaml", as_yaml(self.render("cassandra.yaml"), self.all_settings)),
            *map(self.conf_file, ("cassandra-rackdc.properties", "logback.xml", "jvm.options")),
        ]

    @property
    def modules(self) -> list[str]:
        """Options for a JDK with modules; empty for JDK 8."""
        return MODULES if self.jdk > 8 else []

    @property
    def command(self) -> list[str]:
        return self.java(self.jvm_options, ["org.apache.cassandra.service.CassandraDaemon"])

    @property
    def repair_users(self) -> list[str]:
        """Command that copies the users to all nodes, so that clients can log in while one node is down.

        NodeTool runs with a small heap, options for a fast start, and no files in the user's home. It uses the hosts' own JDK 17 if
        the version supports that, because a JDK for servers may lack a module for JMX clients (jdk.naming.rmi).
        """
        on_17 = 17 in self.jdks
        java_home = self.context.get("service_host", {})["java_home"] if on_17 else self.context.java_home
        return [
            f"{java_home}/bin/java",
            *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx128m", "-Ddohyo.loglevel=ERROR"),
            f"-Duser.home={self.data[0]}",
            *(MODULES if on_17 else []),
            *("-cp", f"{self.conf}:{self.lib}/*", "org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1"),
            *("-p", str(self.node["jmx"]), "repair", "--full", "system_auth"),
        ]

    @property
    def words(self) -> list[str]:
        return [
            f"host={self.node['address']}",
            f"port={self.node['cql']}",
            f"jmx={self.node['jmx']}",
            f"log={self.run}/log",
            f"keyspace={self.keyspace}",
            f"connection={self.connection}",
        ]

    @property
    def attached_schema_words(self) -> list[str]:
        return [*super().schema_words, f"rows={self.rows_per_partition}"]

    @property
    def schema_words(self) -> list[str]:
        # 3.11 lacks zstd. Use lz4, whose speed is most similar; the conditions show this difference.
        requested = self.effective_compression
        compression = "lz4" if requested == "zstd" and self.series == "3.11" else requested
        return [
            *self.attached_schema_words,
            f"chunk={self.chunk_kib}",
            f"settings={','.join(['concurrent_reads', 'concurrent_writes', *self.all_settings])}",
            f"compression={compression}",
        ]

    @property
    def server_properties(self) -> dict[str, Any]:
        return {"server.jmx": self.node["jmx"]}

    def start_turns(self, hosts: Sequence[str]) -> list[Sequence[str]]:
        # The other nodes learn the ring from the first one. They need not wait for each other, because no node chooses its tokens by those of others.
        return [turn for turn in (hosts[:1], hosts[1:]) if turn]

    def prepare(self, steps: Steps) -> None:
        """Checks that the commit log has a separate disk, as the conditions state."""

        def look(host: str) -> None:
            system = self.at(steps, host)
            argv = ["sh", "-c", LOG_DISK, system.commitlog_folder, "/", *system.context.data]
            if reason := steps.run(host, argv):
                raise BadInputError(f"{host}: cassandra_commitlog_folder={system.commitlog_folder} {reason}")

        if hosts := [host for host in self.hosts if self.at(steps, host).commitlog_folder]:
            steps.each("Check that the commit log has a disk of its own", look, hosts)

    def ready(self, steps: Steps) -> None:
        super().ready(steps)
        first = steps.databases[:1]
        nodes = f"nodes={len(steps.databases)}"
        if self.authentication:
            user = "Replace Cassandra's default user"
            steps.each(user, lambda host: steps.until_admin(host, "user", nodes), first)
        if self.authentication and len(steps.databases) > 1:
            steps.each("Copy the users to every node", lambda host: steps.run(host, self.repair_users), first)

    def tuned(self) -> list[Tuned]:
        """Returns values from the project's cassandra_latest.yaml for 5.0, and from the comments in cassandra.yaml for all versions.

        cassandra_latest.yaml is "for users evaluating the technology". A value is None for versions without the setting.
        """
        new, rotating, context = self.series == "5.0", self.context.disk_kind == "rotational", self.context
        strategy = "UnifiedCompactionStrategy" if new else COMPACTIONS[0]
        keys, access = "0MiB" if self.sstable_format == "bti" else None, "auto" if new else None
        mode, compactors = "NONE" if new else None, None if rotating else max(context.cores, 2)
        unset = "before 5.0 not set"
        return [
            Tuned("memtable", "trie" if new else "skiplist", LATEST, "trie; before 5.0 skiplist"),
            Tuned("sstable_format", "bti" if new else "big", LATEST, "bti; before 5.0 big"),
            Tuned("compaction", strategy, LATEST, f"UnifiedCompactionStrategy with its own defaults (scaling T4); before 5.0 {COMPACTIONS[0]}"),
            Tuned("endpoint_snitch", SNITCH, f"{COMMENTS}: a coordinator asks itself first", vanilla="SimpleSnitch: in the ring's order"),
            Tuned("concurrent_reads", max(16 * context.drives, 32), COMMENTS, "16 × disks, at least 32"),
            Tuned("concurrent_writes", max(8 * context.cores, 32), COMMENTS, "8 × processors, at least 32"),
            Tuned("memtable_allocation_type", "offheap_objects" if new else None, LATEST, f"offheap_objects; {unset}", "heap_buffers"),
            Tuned("column_index_size", "4KiB" if new else None, LATEST, f"4KiB; {unset}", "64KiB"),
            Tuned("key_cache_size", keys, LATEST, "0MiB with the format bti, which does not use it", "5 % of the heap, at most 100MiB"),
            Tuned("commitlog_disk_access_mode", access, LATEST, f"auto, direct I/O if the disk supports it; {unset}", "legacy (mapped into memory)"),
            Tuned("storage_compatibility_mode", mode, LATEST, f"NONE; {unset}", "CASSANDRA_4; NONE with the format bti, which needs it"),
            Tuned("trickle_fsync", None if rotating else True, COMMENTS, "true; not set for rotating disks", "false"),
            Tuned("concurrent_compactors", compactors, COMMENTS, "processors, at least 2; not set for rotating disks", COMPACTORS),
            # "16 to 32 times the rate you are inserting data": a load inserts as fast as it can.
            Tuned("compaction_throughput", None if self.is_before_4_1 else "0MiB/s", COMMENTS, "0MiB/s, no limit", "64MiB/s"),
            Tuned("compaction_throughput_mb_per_sec", 0 if self.is_before_4_1 else None, COMMENTS, "0, no limit; before 4.1", "64 in 4.0, 16 in 3.11"),
        ]


SYSTEMS = [Cassandra()]
