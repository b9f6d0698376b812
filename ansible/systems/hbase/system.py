"""Apache HBase 2.5 and 2.6: one process, or several processes on HDFS and ZooKeeper."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dohyo.systems.context import Endpoint, copies, mib, whole
from dohyo.systems.jvm import VERSION, OnJvm
from dohyo.systems.option import HEAP, option
from dohyo.systems.records import Attach, Attached, ConfigFile, DataNeeds, HostNeeds, Tuned
from dohyo.systems.rendering import option_lines
from dohyo.systems.steps import Steps

# JDKs for each series, with the preferred one first; docs/versions.md lists the tested combinations.
SERIES = {"2.5": [17, 21, 11, 8], "2.6": [17, 21, 11, 8]}
# Version of the zstd codec, for series whose own versions of it are not on Maven Central.
ZSTD = {"2.5": "2.6.4-hadoop3"}
# Memory beyond the heap (metaspace, direct buffers, code, 250 threads) of a region server, and of each other process.
BEYOND_HEAP_MB, BEYOND_HEAP_OF_OTHERS_MB = 600, 150
# Direct memory of a region server without its bucket cache, mainly for the DFS client.
DIRECT_MB = 2048
# Packages that must be open on a JDK with modules (from HBase's bin/hbase).
OPENED = ("io", "lang", "lang.reflect", "net", "nio", "util", "util.concurrent")
MODULES = [
    "--add-modules=jdk.unsupported",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED),
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
]
# Prefix that ends a check after 10 s, so that it is repeated: a server that is starting may accept a connection but never answer.
BRIEFLY = ["timeout", "--signal=KILL", "10"]
BOOK = "HBase's [book](https://hbase.apache.org/book.html#"
CLOUDERA = "https://docs.cloudera.com/runtime"

# Script that prints the folder with Hadoop's native library. It prints nothing if the DataNode would refuse its socket because
# others may write to a folder above it (DomainSocket.c, validateSocketPathSecurity0).
NATIVE = """
above=$1 brought=$2
shift 2
while [ "$above" != / ]; do
  above=$(dirname "$above")
  [ ! -e "$above" ] || [ -z "$(find "$above" -maxdepth 0 '(' -perm -o=w -o -perm -g=w ! -gid 0 ')')" ] || exit 0
done
for folder in "$brought/$(uname -m)" "$brought/any" "$@"; do
  if [ -e "$folder/libhadoop.so" ]; then echo "$folder" && break; fi
done
"""


@dataclass(frozen=True)
class Part:
    """A process of HBase on HDFS and ZooKeeper.

    :ivar name: name of the process
    :ivar hosts: hosts that run it
    :ivar heap: maximum heap
    :ivar main: main class with its arguments
    """

    name: str
    hosts: list[str]
    heap: str
    main: list[str]


@dataclass(frozen=True, kw_only=True)
class HBase(OnJvm):
    """HBase. The first host runs the master, the second host runs its standby, and every host runs region servers."""

    role = "hbase"
    order = 2
    binding = "hbase"
    admin = "dohyo.hbase.admin.HBaseAdmin"
    # The KDC creates new keys at every start, and processes with older keys could not log in.
    spared = ("hbase-kdc",)
    drops = True
    attaches = True
    attached_options = ("family", "regions", "block_encoding", "settle_timeout", "count_limit")
    realm = "DOHYO.LOCAL"
    # All servers share one principal. It contains no host name, so no name needs to be resolved.
    principal = "hbase/dohyo@DOHYO.LOCAL"
    jdks_by_series = SERIES
    jar_folders = ("lib", "lib/client-facing-thirdparty", "lib/jdk11")
    main_jar = "hbase-server"
    name: str = "hbase"
    title: str = "Apache HBase"

    version: str = option("2.6.4-hadoop3", "Version of org.apache.hbase:hbase-server on Maven Central, a hadoop3 build of 2.5.x or 2.6.x.", pattern=VERSION)
    distributed: bool = option(None, "Run separate processes on HDFS and ZooKeeper, instead of one on the local file system.")
    regionservers_per_host: int = option(1, "Number of region servers on every database host; more than 1 needs HDFS and ZooKeeper.", choices=range(1, 9))
    heap: str = option(
        None,
        "Minimum and maximum heap of each region server, or of the single process without HDFS, such as 1g or 1500m."
        " Default: a share of host_memory_budget, or 1500m.",
        pattern=HEAP,
    )
    bucket_cache_mb: int = option(None, "Size in MiB of each region server's cache outside the heap; 0 for none. Default: the rest of host_memory_budget.")
    # The NameNode needs about 1 GB per million blocks.
    master_heap: str = option("1g", "Maximum heap of the master and of its standby.", pattern=HEAP)
    namenode_heap: str = option("1g", "Maximum heap of HDFS's NameNode.", pattern=HEAP)
    datanode_heap: str = option("1g", "Maximum heap of each of HDFS's DataNodes.", pattern=HEAP)
    zookeeper_heap: str = option("512m", "Maximum heap of each ZooKeeper.", pattern=HEAP)
    # If the port is in use on the local machine, the trial uses the next free one and notes that. On other hosts, it fails.
    zookeeper_port: int = option(2181, "Preferred port for ZooKeeper, which clients contact first.")
    master_port: int = option(16000, "Preferred port of the master.")
    master_info_port: int = option(16010, "Preferred port of the master's web pages.")
    regionserver_port: int = option(16020, "Preferred port of the region server; further region servers on the host use the ports above it.")
    regionserver_info_port: int = option(16030, "Preferred port of the region server's web pages; further region servers use the ports above it.")
    zookeeper_peer_port: int = option(2888, "Preferred port on which the ZooKeepers follow their leader.")
    zookeeper_election_port: int = option(3888, "Preferred port on which the ZooKeepers elect their leader.")
    namenode_port: int = option(8020, "Preferred port of the NameNode.")
    namenode_info_port: int = option(9870, "Preferred port of the NameNode's web pages.")
    datanode_port: int = option(9866, "Preferred port of a DataNode for data.")
    datanode_info_port: int = option(9864, "Preferred port of a DataNode's web pages.")
    datanode_ipc_port: int = option(9867, "Preferred port of a DataNode for administration.")
    kdc_port: int = option(10088, "Preferred port of the KDC, which hbase_authentication uses.")
    # The pattern permits only safe file names, because the family is also a folder's name.
    family: str = option("family", "Name of the column family.", pattern="[0-9A-Za-z_][0-9A-Za-z_.-]{0,63}")
    # The regions exist before the load, so that no region splits during a run.
    regions: int = option(4, "Number of regions of each table per region server; they are created before the load and receive equal numbers of records.")
    # Hadoop's artifacts on Maven Central do not contain libhadoop.so. The Trino project builds it from Hadoop's sources, for x86-64
    # and arm64, in io.trino.hadoop:hadoop-apache. Version 3.3.5-3 works with Hadoop 3.4.2, on which HBase 2.6.4 depends, and needs
    # glibc 2.12.
    libhadoop: str = option(
        "",
        "Source of libhadoop.so, which short-circuit reads need: an artifact on Maven Central, such as"
        " io.trino.hadoop:hadoop-apache:3.3.5-3, or a file on the control machine; empty to search hbase_native_folders"
        " on the hosts.",
        pattern="[0-9A-Za-z_./:+-]*",
    )
    native_folders: list[str] = option(
        ["/usr/lib/hadoop/lib/native", "/usr/local/hadoop/lib/native", "/opt/hadoop/lib/native"],
        "Folders on the hosts that may contain libhadoop.so, which short-circuit reads need.",
    )
    compression: str = option(
        "scenario",
        "Compression of the tables; a value other than the scenario's (compression) is marked as a difference.",
        choices=("scenario", "none", "lz4", "zstd", "gz"),
    )
    block_encoding: str = option("NONE", "Encoding of data blocks.", choices=("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"))
    prefetch: bool = option(False, "Read a file into the block cache as soon as it is opened (PREFETCH_BLOCKS_ON_OPEN).")
    handlers: int = option(30, "Number of requests that a region server executes at the same time.")
    tls: bool = option(False, "Use TLS between clients and servers, and among servers, each with its own certificate; needs 2.6.")
    authentication: bool = option(False, "Use Kerberos for HBase, HDFS and ZooKeeper, with a new KDC in each trial; needs HDFS even on one host.")
    # The pattern excludes folders, addresses, ports, TLS and logins: other options set them.
    settings: dict[str, Any] = option(
        {},
        "Further properties of hbase-site.xml, by name; they override Dohyo's. Memory that they reserve is not counted.",
        pattern=r"(?!.*([dD]ir|(peer|leader|[.])port|Port|[aA]ddress|hostname|quorum)$|fs\.default"
        r"|hbase\.(server|client)\.netty\.tls\.|hbase\.security\.auth|hbase\.ipc\.server\.fallback)\S+",
    )
    ready_timeout: int = option(180, "Seconds for the server to start.")
    settle_timeout: int = option(1800, "Maximum seconds to wait for compactions after the load.")
    stop_timeout: int = option(60, "Seconds for the server to stop before it is killed.")
    count_limit: int = option(1000000, "Maximum number of records for which the rows are counted after the load.")

    def default_distributed(self) -> bool:
        """Returns true if HDFS is needed: for several hosts, several region servers per host, or Kerberos."""
        return len(self.context.databases) > 1 or self.regionservers_per_host > 1 or self.authentication

    def default_heap(self) -> str:
        """Returns half of the server's share of the budget (:attr:`share_mb`), at most 20480 MB; 1500 MB without a budget."""
        return f"{min(20480, self.share_mb // 2)}m" if self.context.budget_mb else "1500m"

    def default_bucket_cache_mb(self) -> int:
        """Returns the server's share of the budget minus heap and direct memory; 0 if that is less than 1 GiB.

        HBase needs at least 14 buckets to start. A tenth of the heap is reserved for G1's structures (two bitmaps of 1/64 of the
        heap each, card tables, remembered sets). BEYOND_HEAP_MB is too small for them, and the kernel kills a server that exceeds
        the budget.
        """
        rest = self.share_mb - self.heap_mb * 11 // 10 - DIRECT_MB
        return rest if self.context.budget_mb and rest >= 1024 else 0

    @property
    def share_mb(self) -> int:
        """Budget of each region server in MiB; the same on all hosts, whether or not they also run a master or a NameNode.

        Hortonworks, "Configuring Off-heap Memory (BucketCache)", uses a heap of 20,480 MB, and 2,048 MB of direct memory for the
        DFS client and other uses. The rest is for the bucket cache.
        """
        heaps = (self.zookeeper_heap, self.namenode_heap, self.datanode_heap, self.master_heap)
        aside = sum(map(mib, heaps)) + len(heaps) * BEYOND_HEAP_OF_OTHERS_MB if self.distributed else 0
        return max((self.context.budget_mb - aside) // len(self.regionservers) - BEYOND_HEAP_MB, 0)

    @property
    def heap_mb(self) -> int:
        """Heap of a region server in MiB."""
        return mib(self.heap)

    @property
    def direct_mb(self) -> int:
        """Maximum direct memory of a region server in MiB."""
        return self.bucket_cache_mb + DIRECT_MB if self.bucket_cache_mb else max(self.heap_mb // 2, 256)

    def name_of(self, series: str) -> str:
        """Returns the name of a series, for messages; only builds for Hadoop 3 are supported."""
        return f"{series}.x-hadoop3"

    @property
    def impossible(self) -> str:
        if reason := super().impossible:
            return reason
        if not self.version.endswith("-hadoop3"):
            return (
                f"hbase_version={self.version} is a build for Hadoop 2, which has two versions of the servlet classes; set hbase_version={self.version}-hadoop3"
            )
        if self.tls and self.series == "2.5":
            return "HBase 2.5 has no TLS; leave out hbase_tls, or set hbase_version=2.6.4-hadoop3"
        return ""

    def problems(self) -> list[str]:
        context, hosts, alone = self.context, len(self.hosts), not self.distributed
        every = [*context.databases, *context.clients] if self.tls or self.authentication else []
        homes = list(dict.fromkeys(str(context.of_host(host, "dohyo_home", context.home)) for host in every))
        checks = [
            (self.impossible != "", self.impossible),
            (
                self.replication > (1 if alone else hosts),
                f"replication {self.replication} needs as many database hosts if HBase runs on HDFS (hbase_distributed="
                f"{self.distributed}); the inventory has {hosts}. Lower replication, or add hosts to the group"
                " database",
            ),
            (
                alone and hosts > 1,
                f"HBase without HDFS runs on one host, and the inventory has {hosts}. Leave hbase_distributed as it is, or name one host in the group database",
            ),
            (
                alone and self.regionservers_per_host > 1,
                f"hbase_regionservers_per_host={self.regionservers_per_host} with hbase_distributed=false: without HDFS"
                " there is one process. Leave hbase_distributed as it is, or set hbase_regionservers_per_host=1",
            ),
            (alone and self.authentication, "hbase_authentication needs HDFS and ZooKeeper as separate processes; leave out hbase_distributed=false"),
            (
                self.authentication and self.archive != "",
                "hbase_authentication needs a KDC, whose jars come from Maven Central with the server's; leave out hbase_archive",
            ),
            (
                len(homes) > 1,
                "hbase_tls and hbase_authentication need the same dohyo_home on all hosts, because the path of every client's"
                f" key contains it; the hosts have {', '.join(homes)}. Set the same one for the group all",
            ),
            (
                self.prefetch and context.drops_caches,
                "hbase_prefetch=true fills the block cache, and settle.cache=drop empties it again; leave one of them out",
            ),
        ]
        return [problem for applies, problem in checks if applies]

    def needs(self) -> HostNeeds:
        context = self.context
        heaps = [mib(part.heap) for part in self.parts_here.values() if part.name not in self.regionservers]
        servers = len(self.regionservers) if self.distributed else 1
        # Every field is a cell, which repeats the key, the family and the field name. Its lengths, time and type take
        # 20 bytes (class KeyValue in HBase), and its tags and version take 3.
        cell = context.fieldlength + context.key_bytes + len(self.family) + context.fieldname_bytes + 23
        return HostNeeds(
            memory_mb=sum(heaps) + BEYOND_HEAP_OF_OTHERS_MB * len(heaps) + (self.heap_mb + BEYOND_HEAP_MB + self.bucket_cache_mb) * servers,
            # A bucket cache holds all data blocks. Without it, 0.4 of the heap holds them, the default of hfile.block.cache.size.
            cache_mb=self.bucket_cache_mb or int(self.heap_mb * 0.4),
            size=DataNeeds(
                # Three times the data, because a major compaction writes new files, and the old files stay in the archive for minutes.
                record_disk=3 * context.fieldcount * cell,
                # A region server flushes when its logs reach 32 files of 128 MiB or twice its memstores (0.4 of the heap), whichever
                # is more (hbase.regionserver.maxlogs, which applies to each of several logs). HDFS replicates the logs.
                log_mb=self.replication * len(self.regionservers) * self.wals * max(4096, int(self.heap_mb * 0.8)),
            ),
        )

    @property
    def wals(self) -> int:
        """Number of write-ahead logs per region server; HBase's maximum number of files applies to each log.

        AbstractFSWAL in HBase has the field maxLogs, and RegionGroupingProvider creates one AbstractFSWAL per group.
        """
        several = self.all_settings.get("hbase.wal.provider") == "multiwal"
        groups = "hbase.wal.regiongrouping.numgroups"
        return whole(self.all_settings.get(groups, 2), groups) if several else 1

    @property
    def installed_version(self) -> str:
        """Version in the installation's folder name, with a suffix if the KDC's jars are also installed."""
        return super().installed_version + ("-kdc" if self.authentication else "")

    @property
    def jars(self) -> list[str]:
        """Maven artifacts: the server, codecs that need no native library, and, for Kerberos, the KDC."""
        return [
            f"org.apache.hbase:hbase-server:{self.version}",
            f"org.apache.hbase:hbase-compression-zstd:{ZSTD.get(self.series, self.version)}",
            "at.yawk.lz4:lz4-java:1.10.1",
            *(["org.apache.hadoop:hadoop-minikdc:3.4.2"] if self.authentication else []),
        ]

    @property
    def collector(self) -> list[str]:
        """Options of the collector G1, mostly the JVM's defaults."""
        return ["-XX:+UseG1GC", "-XX:+ParallelRefProcEnabled"]

    @property
    def native_name(self) -> str:
        """Folder of Hadoop's native library, relative to dohyo_home; empty if hbase_libhadoop is not set."""
        name = self.libhadoop.rpartition("/")[2].replace(":", "-")
        return f"install/hbase-native/{name}" if self.distributed and self.libhadoop else ""

    @property
    def programs(self) -> list[str]:
        return [*super().programs, *([f"{self.context.home}/{self.native_name}"] if self.native_name else [])]

    @property
    def is_reusable(self) -> bool:
        """Whether a load can be copied. With Kerberos, it cannot, because the copy would belong to users of other servers."""
        return not self.authentication

    @property
    def makes(self) -> dict[str, list[str]]:
        return {"hbase/data": ["default", "hbase"], "hbase/data/default": ["usertable*"]}

    @property
    def ports(self) -> dict[str, int]:
        """Preferred ports that have an option; those of a host's second and further region servers have none."""
        names = [name.removesuffix("_port") for name in self.all_options() if name.endswith("_port")]
        return {name: getattr(self, f"{name}_port") for name in names if name != "kdc" or self.authentication}

    @property
    def searched_ports(self) -> dict[str, int]:
        """Ports to choose; a single process needs five. Further region servers use the ports above those of the first."""
        further = list(enumerate(self.regionservers))[1:]
        return {
            **dict(list(self.ports.items())[: None if self.distributed else 5]),
            **{name: self.regionserver_port + number for number, name in further},
            **{f"{name}_info": self.regionserver_info_port + number for number, name in further},
        }

    @property
    def node_more(self) -> dict[str, Any]:
        """Folder with Hadoop's native library; empty if :meth:`prepare` did not find it."""
        return {"native": self.context.get("system_native", {}).get("stdout", "")}

    @property
    def disks(self) -> int:
        """Number of data folders: one on each disk for HDFS, and one for the local file system."""
        return len(self.data) if self.distributed else 1

    @property
    def folders(self) -> list[str]:
        """Folders to create. HBase and Hadoop do not start without folders for their web pages, so these are created empty.

        The pages themselves are only in the archives of both projects, not in their jars.
        """
        pages = ["hbase-webapps/master", "hbase-webapps/regionserver"]
        pages += ["webapps/hdfs", "webapps/datanode"] if self.distributed else []
        zookeeper = [self.zookeeper_folder] if "zookeeper" in self.parts_here else []
        return [*super().folders, *(f"{self.conf}/{page}" for page in pages), *zookeeper]

    @property
    def zookeeper_folder(self) -> str:
        """Folder of ZooKeeper's data."""
        return f"{self.data[-1]}/zookeeper"

    # ---- access control ---------------------------------------------------------------------------------------------

    @property
    def asks_for_password(self) -> bool:
        """False even with Kerberos, because some web pages need no login (docs/secrets.md)."""
        return False

    @property
    def clients_have_certificates(self) -> bool:
        return self.tls

    @property
    def access(self) -> dict[str, str]:
        """Properties of servers, clients and administration for TLS, including the paths of PEM files."""
        if not self.tls:
            return {}
        return {
            "hbase.client.netty.tls.enabled": "true",
            "hbase.rpc.tls.keystore.location": self.certificate_of_host,
            "hbase.rpc.tls.truststore.location": self.certificate_of_authority,
        }

    @property
    def login(self) -> dict[str, str]:
        """Properties with which clients and administration log in as the KDC's only user, which the servers also use.

        With Kerberos, clients look up regions at the masters instead of ZooKeeper.
        """
        if not self.authentication:
            return {}
        return {
            "hbase.security.authentication": "kerberos",
            "krb5conf": self.krb5_conf,
            "principal": "hbase",
            "keytab": self.keytab,
            "hbase.master.kerberos.principal": self.principal,
            "hbase.regionserver.kerberos.principal": self.principal,
            "hbase.client.registry.impl": "org.apache.hadoop.hbase.client.RpcConnectionRegistry",
            "hbase.masters": ",".join(f"{node.address}:{node['master']}" for node in self.nodes[:2]),
        }

    @property
    def krb5_conf(self) -> str:
        """File with the KDC's address."""
        return f"{self.secret}/krb5.conf"

    @property
    def keytab(self) -> str:
        """File that contains the principals' keys."""
        return f"{self.secret}/keytab"

    @property
    def principals(self) -> list[str]:
        """Principals of the KDC. Web pages and connections between ZooKeepers need principals that contain an address."""
        quorum = [f"hbase/{node.address}" for node in self.quorum_nodes]
        return ["hbase", "hbase/dohyo", f"HTTP/{self.nodes[0].address}", *quorum]

    # ---- processes --------------------------------------------------------------------------------------------------

    @property
    def quorum(self) -> list[str]:
        """Hosts that run ZooKeeper: three, or one if there are fewer hosts, because two would not tolerate a failure."""
        return self.hosts[: 3 if len(self.hosts) >= 3 else 1]

    @property
    def quorum_nodes(self) -> list[Endpoint]:
        """ZooKeeper's servers."""
        return self.nodes[: len(self.quorum)]

    @property
    def zookeepers(self) -> str:
        """Addresses of the ZooKeepers, from which clients learn the addresses of the other servers."""
        return ",".join(f"{node.address}:{node['zookeeper']}" for node in self.quorum_nodes)

    @property
    def regionservers(self) -> list[str]:
        """Names of the region servers on a host: regionserver, regionserver2, and so on."""
        return ["regionserver", *(f"regionserver{number}" for number in range(2, self.regionservers_per_host + 1))]

    @property
    def regionserver_count(self) -> int:
        """Number of region servers on all hosts."""
        return len(self.hosts) * len(self.regionservers)

    @property
    def parts(self) -> list[Part]:
        """Kinds of processes on HDFS and ZooKeeper, in the order of their start."""
        hosts, hadoop, zookeeper = self.hosts, "org.apache.hadoop", "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        standby = [] if self.is_first else ["--backup"]
        server = [f"{hadoop}.hbase.regionserver.HRegionServer"]
        parts = [
            Part("kdc", hosts[:1] if self.authentication else [], "64m", [f"{hadoop}.minikdc.MiniKdc", self.secret]),
            Part("zookeeper", self.quorum, self.zookeeper_heap, [zookeeper, "conf/zoo.cfg"]),
            Part("namenode", hosts[:1], self.namenode_heap, [f"{hadoop}.hdfs.server.namenode.NameNode"]),
            Part("datanode", hosts, self.datanode_heap, [f"{hadoop}.hdfs.server.datanode.DataNode"]),
            Part("master", hosts[:2], self.master_heap, [f"{hadoop}.hbase.master.HMaster", "start", *standby]),
            *(Part(name, hosts, self.heap, server) for name in self.regionservers),
        ]
        return parts if self.distributed else []

    @property
    def parts_here(self) -> dict[str, Part]:
        """Processes on this host, by name."""
        return {part.name: part for part in self.parts if self.context.host in part.hosts}

    @property
    def processes(self) -> list[str]:
        """Names of the processes, in the reverse order of their start."""
        return [f"hbase-{name}" for name in reversed(self.parts_here)] if self.distributed else ["hbase"]

    @property
    def common_options(self) -> list[str]:
        """JVM options of all processes."""
        kerberos = [
            f"-Djava.security.krb5.conf={self.krb5_conf}",
            "-Djava.security.auth.login.config=conf/jaas.conf",
            "-Dzookeeper.server.principal=hbase/dohyo",
        ]
        return [
            *("-XX:+ExitOnOutOfMemoryError", "-XX:+PerfDisableSharedMem", "-Djava.net.preferIPv4Stack=true"),
            f"-Djava.io.tmpdir={self.temporary}",
            *(MODULES if self.jdk > 8 else []),
            *(kerberos if self.authentication else []),
            *self.java_options,
        ]

    @property
    def jvm_options(self) -> list[str]:
        """Lines of conf/jvm.options. The command repeats them, because JDK 8 cannot read a file of options."""
        return option_lines(self.render("jvm.options"))

    def part_options(self, name: str) -> list[str]:
        """Returns the JVM options of a process; only region servers use the collector in conf/jvm.options."""
        if name in self.regionservers:
            options = self.jvm_options
        else:
            logged = [argument for argument in self.context.gc_options if re.match("-Xlog|-XX:.*(PrintGC|GCLog)", argument)]
            native = [f"-Djava.library.path={self.node['native']}"] if self.node["native"] else []
            options = [f"-Xmx{self.parts_here[name].heap}", *self.common_options, *logged, *native]
        log = "gc.log" if name == "regionserver" else f"gc-{name}.log"
        return [argument.replace("gc.log", log) for argument in options]

    def part_command(self, name: str) -> list[str]:
        """Returns the command that runs a process in the foreground."""
        command = self._java(self.part_options(name), self.parts_here[name].main)
        if name == "kdc":
            arguments = ["conf/kdc.properties", f"{self.secret}/made.keytab", *self.principals]
            return ["sh", "-c", 'umask 077 && exec "$@"', "sh", *command, *arguments]
        if name in self.regionservers:
            # Region servers share conf/hbase-site.xml, so the ports are on their command lines.
            ports = (f"port={self.node[name]}", f"info.port={self.node[f'{name}_info']}")
            return [*command, *(f"-Dhbase.regionserver.{port}" for port in ports), "start"]
        return command

    @property
    def command(self) -> list[str]:
        """Command that runs the single process without HDFS."""
        return self._java(self.jvm_options, ["org.apache.hadoop.hbase.master.HMaster", "start"])

    def _java(self, options: list[str], main: list[str]) -> list[str]:
        return [f"{self.context.java_home}/bin/java", *options, "-cp", f"conf:{self.lib}/*", *main]

    def page_check(self, port: str, page: str, pattern: str) -> list[str]:
        """Returns a command that succeeds if a web page on this host contains a line that matches the pattern."""
        return self._port_check(port, rf"GET {page} HTTP/1.0\r\n\r\n", pattern)

    def _port_check(self, port: str, question: str, pattern: str) -> list[str]:
        """Returns a command that succeeds if, within 10 s, a port on this host replies with a line that matches the pattern."""
        script = 'exec 3<> "/dev/tcp/$0/$1" && printf %b "$2" >&3 && grep -qE -- "$3" <&3'
        return [*BRIEFLY, "bash", "-c", script, self.node.address, str(self.node[port]), question, pattern]

    @property
    def zookeeper_check(self) -> list[str]:
        """Command that succeeds if the ZooKeeper on this host has a leader, or is the only ZooKeeper."""
        return self._port_check("zookeeper", "srvr", "^Mode")

    def master_check(self, pattern: str) -> list[str]:
        """Returns a command that succeeds if a line in the status of this host's master matches the pattern."""
        return self.page_check("master_info", "/jmx?qry=Hadoop:service=HBase,name=Master,sub=Server", pattern)

    @property
    def hdfs_check(self) -> list[str]:
        """Command that succeeds when HDFS accepts writes. With Kerberos, it reads the log, because the page requires a login."""
        if self.authentication:
            return ["grep", "-q", "Leaving safe mode", f"{self.run}/namenode.log"]
        page = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        return self.page_check("namenode_info", page, '"FSState" : "Operational"')

    # ---- configuration, administration and clients ------------------------------------------------------------------

    @property
    def files(self) -> list[ConfigFile]:
        names = ["hbase-site.xml", "log4j.properties", "jvm.options"]
        names += ["core-site.xml", "hdfs-site.xml", "zoo.cfg"] if self.distributed else []
        names += ["kdc.properties", "jaas.conf"] if self.authentication else []
        # By default, Hadoop caches the values of /jmx for 10 s, which is too long for a short run. Further delay comes from
        # hbase.regionserver.metrics.period, 5 s by default.
        files = [*map(self.conf_file, names), self.conf_file("hadoop-metrics2-hbase.properties", "*.period=1\n")]
        if "zookeeper" in self.parts_here:
            # Number of this server in ZooKeeper's quorum.
            files.append(ConfigFile(f"{self.zookeeper_folder}/myid", f"{self.quorum.index(self.context.host) + 1}\n"))
        return files

    @property
    def datanode_folders(self) -> str:
        """Folders of the DataNode, in the syntax of HDFS."""
        return ",".join(f"file://{folder}/datanode" for folder in self.data)

    @property
    def least_copies(self) -> int:
        """Minimum number of copies of a block; without it, HDFS writes fewer copies than requested if it lacks hosts."""
        return copies(self.context.write_acks, self.replication)

    @property
    def durability(self) -> str:
        """HBase's name for the durability of a write."""
        return "FSYNC_WAL" if self.context.on_disk else "SYNC_WAL"

    @property
    def words(self) -> list[str]:
        """Arguments of the administration program: addresses and, for each process, the name of its evidence file and its web page."""
        # The evidence files of region servers have a common prefix, by which figures.yml finds them.
        pages = [
            f"{f'jmx-{name}' if name in self.regionservers else f'{name}-jmx'}={self._page(name)}"
            for name in self.parts_here
            if name not in ("kdc", "zookeeper", "regionserver")
        ]
        hdfs = f"http://{self.nodes[0].address}:{self.nodes[0]['namenode_info']}" if self.distributed else ""
        return [
            f"hbase.zookeeper.quorum={self.zookeepers}",
            f"hdfs={hdfs}",
            f"info={self._page('regionserver')}",
            f"pages={','.join(pages)}",
            *(f"{name}={value}" for name, value in sorted({**self.access, **self.login}.items())),
        ]

    def _page(self, name: str) -> str:
        return f"http://{self.node.address}:{self.node[f'{name}_info']}"

    @property
    def schema_words(self) -> list[str]:
        return self._schema_words(self.regions * self.regionserver_count, self.prefetch)

    def _schema_words(self, regions: int, prefetch: bool) -> list[str]:
        properties = self.context.properties
        return [
            f"family={self.family}",
            f"regions={regions}",
            f"encoding={self.block_encoding}",
            f"prefetch={str(prefetch).lower()}",
            f"durability={self.durability}",
            f"keysalt={self.context.keysalt}",
            f"insertorder={properties.get('insertorder', 'hashed')}",
            f"zeropadding={properties.get('zeropadding', 1)}",
        ]

    @property
    def settle_words(self) -> list[str]:
        return [f"prefetch={str(self.prefetch).lower()}"]

    @property
    def client_properties(self) -> dict[str, Any]:
        port = self.nodes[0]["zookeeper"]
        return {**self._connect(self.zookeepers, port), **self.access, **self.login}

    def _connect(self, zookeepers: str, port: Any) -> dict[str, Any]:
        return {"hbase.zookeeper.quorum": zookeepers, "hbase.zookeeper.property.clientPort": port, "columnfamily": self.family, "durability": self.durability}

    @property
    def server_properties(self) -> dict[str, Any]:
        return {"server.info": self._page("regionserver")}

    def attach(self, servers: Attached) -> Attach:
        """Returns how to connect to attached servers, given as ZOOKEEPERS[:PORT][:/ZNODE], such as zk1,zk2:2181:/hbase."""
        znode = f"/{servers.path}" if "/" in servers.servers else "/hbase"
        port, namespace = servers.port or 2181, servers.namespace
        return Attach(
            admin="dohyo.hbase.admin.AttachedHBase",
            arguments=[
                f"hbase.zookeeper.quorum={servers.hosts}",
                f"hbase.zookeeper.property.clientPort={port}",
                f"zookeeper.znode.parent={znode}",
                f"tables={','.join(f'{namespace}:{table}' for table in self.context.tables)}",
            ],
            schema_words=self._schema_words(self.regions, False),
            client_properties={**self._connect(servers.hosts, port), "zookeeper.znode.parent": znode, "table": f"{namespace}:usertable"},
        )

    def prepare(self, steps: Steps) -> None:
        """Looks for Hadoop's native library; :attr:`node_more` contains its folder."""

        def look(host: str) -> str:
            system = self.at(steps, host)
            brought = f"{system.context.home}/{system.native_name}" if system.native_name else "/nonexistent"
            argv = ["sh", "-c", NATIVE, "sh", system.data[0], brought, *system.native_folders]
            return steps.run(host, argv)

        if self.distributed:
            for host, folder in steps.each("Look for Hadoop's native library", look, steps.databases).items():
                steps.remember(host, system_native={"stdout": folder})

    def start(self, steps: Steps) -> None:
        """Starts the single process, or the processes of ZooKeeper, HDFS and HBase one after another."""
        if not self.distributed:
            steps.start_nodes()
            return
        if self.authentication:
            self._start_kerberos(steps)
        self._on_parts(steps, "Format HDFS", ["namenode"], self._format)
        self._on_parts(steps, "Start ZooKeeper and HDFS", ["zookeeper", "namenode", "datanode"], self._start_part)

        def wait(steps: Steps, part: str, host: str) -> None:
            system = self.at(steps, host)
            steps.until(host, f"hbase-{part}", system.zookeeper_check if part == "zookeeper" else system.hdfs_check)

        self._on_parts(steps, "Wait until ZooKeeper has a leader", ["zookeeper"], wait)
        # HDFS starts in safe mode, and leaves it when all DataNodes have registered.
        self._on_parts(steps, "Wait until HDFS accepts writes", ["namenode"], wait)
        servers = ["master", *self.regionservers]
        self._on_parts(steps, "Start the masters and the region servers", servers, self._start_part)

    def ready(self, steps: Steps) -> None:
        """Waits until the standby master is up, the active master is initialised, and all region servers have registered."""
        process = "hbase-master" if self.distributed else "hbase"

        def standby(host: str) -> None:
            system = self.at(steps, host)
            steps.until(host, process, system.master_check('"tag.isActiveMaster": "false"'))

        def initialised(host: str) -> None:
            system = self.at(steps, host)
            for expected in ('"masterFinishedInitializationTime": [1-9]', f'"numRegionServers": {self.regionserver_count},'):
                steps.until(host, process, system.master_check(expected), ready=True)

        if self.distributed:
            steps.each("Wait for the standby master", standby, self.hosts[1:2])
        steps.each("Wait until HBase's master is initialised and all region servers have registered", initialised, self.hosts[:1])

    def _on_parts(self, steps: Steps, step: str, parts: Sequence[str], call: Callable[[Steps, str, str], None]) -> None:
        """Calls a function for each process on its host, one kind of process after another."""
        for name in parts:
            hosts = next((part.hosts for part in self.parts if part.name == name), [])
            steps.each(step, partial(call, steps, name), hosts)

    def _start_part(self, steps: Steps, part: str, host: str) -> None:
        system = self.at(steps, host)
        writes = [*system.data, *([system.secret] if part == "kdc" else [])]
        steps.start_process(host, f"hbase-{part}", system.part_command(part), log=f"{part}.log", writes=writes)

    def _format(self, steps: Steps, part: str, host: str) -> None:
        system = self.at(steps, host)
        argv = [*system.part_command(part), "-format", "-nonInteractive"]
        # Skip this step for a copied load, which is already formatted.
        steps.run(host, argv, chdir=system.run, creates=f"{system.data[0]}/namenode/current")

    def _start_kerberos(self, steps: Steps) -> None:
        """Starts the KDC, which creates new keys, on the first host, and copies the keys to all hosts."""

        def make(host: str) -> str:
            steps.write(host, {}, mode="0600", folders=[self.secret.rpartition("/")[0], self.secret], folder_mode="0711")
            self._start_part(steps, "kdc", host)
            steps.until(host, "hbase-kdc", ["grep", "-q", "created keytab", f"{self.run}/kdc.log"])
            return steps.run(host, ["base64", "-w0", f"{self.secret}/made.keytab"])

        (keys,) = steps.each("Create the keys", make, self.hosts[:1]).values()
        script = 'umask 077 && mkdir -p "${1%/*}" && base64 -d > "$1" && printf %s "$3" > "$2"'
        argv = ["sh", "-euc", script, "sh", self.keytab, self.krb5_conf, self.render("krb5.conf")]
        everywhere = dict.fromkeys([*steps.databases, *steps.clients])
        steps.each("Copy the keys to all servers and clients", lambda host: steps.run(host, argv, stdin=keys), everywhere)

    def tuned(self) -> list[Tuned]:
        drives, same = self.context.drives, "the same"
        logs = drives if self.distributed and drives > 1 else None
        compactions, half = drives // 2 if drives >= 4 else None, "half of the disks, if there are at least {}"
        # docs/conditions.md shows the formula instead: the heap depends on the host.
        regions = int(mib(self.heap) * 0.4 / 128 / len(self.context.tables))
        return [
            Tuned(
                "libhadoop",
                "io.trino.hadoop:hadoop-apache:3.3.5-3",
                f"{BOOK}shortcircuit.reads), Leveraging local data and CPU: read local blocks without the DataNode, and use Hadoop's native checksums",
                vanilla="the library on the hosts, if any",
            ),
            Tuned(
                "handlers",
                min(max(100, 2 * self.context.cores), 200),
                f"{BOOK}hbase.regionserver.handler.count): start with twice the processors",
                "2 × processors, from 100 to 200",
            ),
            Tuned(
                "regions",
                min(max(regions, 1), 200),
                f"{BOOK}ops.capacity.regions.count), Number of regions per RS: memory of the memstores / their flush size",
                "0.4 × heap / 128 MiB / tables, at most 200",
            ),
            Tuned(
                "hfile.block.cache.size",
                0.2 if self.bucket_cache_mb else None,
                f"Cloudera, [Configure the off-heap BucketCache]({CLOUDERA}/7.2.11/configuring-hbase/topics/"
                "hbase-configure-offheap-bucketcache-cli.html), its example: only indexes and Bloom filters remain in"
                " the heap",
                "0.2 with a bucket cache",
                "0.4",
            ),
            Tuned(
                "hbase.regionserver.throughput.controller",
                "org.apache.hadoop.hbase.regionserver.throttle.NoLimitThroughputController",
                f"Cloudera, [Limiting the speed of compactions]({CLOUDERA}/7.3.1/configuring-hbase/topics/"
                "hbase-limit-the-speed-of-compactions.html), which says how to lift the limit",
                vanilla="PressureAwareCompactionThroughputController (50 to 100 MB/s)",
            ),
            Tuned(
                "hbase.wal.provider",
                "multiwal" if logs else None,
                f"{BOOK}_multiwal), MultiWAL: writes to a single log are serial; several logs use several HDFS pipelines",
                "multiwal, on HDFS with several disks, even in one array",
                "asyncfs",
            ),
            Tuned("hbase.wal.regiongrouping.numgroups", logs, f"{same}; one log per disk is Dohyo's choice", "number of disks, if there are several", "2"),
            Tuned(
                "hbase.regionserver.thread.compaction.small",
                compactions,
                "Cloudera, [Advanced configuration for write-heavy workloads]"
                f"({CLOUDERA}/7.0.2/configuring-hbase/topics/hbase-advanced-configuration-write-heavy-workloads.html):"
                " at most this number",
                half.format(4),
                "1",
            ),
            Tuned("hbase.regionserver.thread.compaction.large", compactions, same, half.format(4), "1"),
            Tuned("hbase.hstore.flusher.count", drives // 2 if drives >= 6 else None, same, half.format(6), "2"),
        ]


SYSTEMS = [HBase()]
