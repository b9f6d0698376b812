"""Apache HBase 2.5 and 2.6: one process, or several processes on HDFS and ZooKeeper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dohyo.systems.context import copies, mib
from dohyo.systems.records import Attached, ConfigFile, DataNeeds, HostNeeds, Tuned

from .options import BEYOND_HEAP_MB, BEYOND_HEAP_OF_OTHERS_MB
from .processes import HBaseProcesses

# Version of the zstd codec for series without a codec of their own version on Maven Central.
ZSTD = {"2.5": "2.6.4-hadoop3"}
# Sources of the profile `tuned`.
BOOK = "HBase's [book](https://hbase.apache.org/book.html#"
CLOUDERA = "https://docs.cloudera.com/runtime"
LIBHADOOP = f"{BOOK}shortcircuit.reads), Leveraging local data and CPU: read local blocks without the DataNode, and use Hadoop's native checksums"
HANDLERS = f"{BOOK}hbase.regionserver.handler.count): start with twice the processors"
REGIONS = f"{BOOK}ops.capacity.regions.count), Number of regions per RS: memory of the memstores / their flush size"
MULTIWAL = f"{BOOK}_multiwal), MultiWAL: writes to a single log are serial; several logs use several HDFS pipelines"
BUCKET_CACHE = (
    f"Cloudera, [Configure the off-heap BucketCache]({CLOUDERA}/7.2.11/configuring-hbase/topics/hbase-configure-offheap-bucketcache-cli.html),"
    " its example: only indexes and Bloom filters remain in the heap"
)
COMPACTION_SPEED = (
    f"Cloudera, [Limiting the speed of compactions]({CLOUDERA}/7.3.1/configuring-hbase/topics/hbase-limit-the-speed-of-compactions.html),"
    " which says how to lift the limit"
)
WRITE_HEAVY = (
    f"Cloudera, [Advanced configuration for write-heavy workloads]({CLOUDERA}/7.0.2/configuring-hbase/topics/"
    "hbase-advanced-configuration-write-heavy-workloads.html): at most this number"
)
NO_LIMIT = "org.apache.hadoop.hbase.regionserver.throttle.NoLimitThroughputController"
LIMIT = "PressureAwareCompactionThroughputController (50 to 100 MB/s)"


@dataclass(frozen=True, kw_only=True)
class HBase(HBaseProcesses):
    """HBase. The first host runs the master, the second host runs its standby, and every host runs region servers."""

    role = "hbase"
    order = 2
    binding = "hbase"
    admin = "dohyo.hbase.admin.HBaseAdmin"
    # The KDC creates new keys at every start, and processes with older keys could not log in.
    spared = ("hbase-kdc",)
    drops = True
    # False even with Kerberos, because some web pages need no login (docs/secrets.md).
    asks_for_password = False
    attaches = True
    attached_options = ("family", "regions", "block_encoding", "settle_timeout", "count_limit")
    # The preferred JDK is first; docs/versions.md lists the tested combinations.
    jdks_by_series: ClassVar = {"2.5": [17, 21, 11, 8], "2.6": [17, 21, 11, 8]}
    jar_folders = ("lib", "lib/client-facing-thirdparty", "lib/jdk11")
    main_jar = "hbase-server"
    series_suffix = ".x-hadoop3"
    name: str = "hbase"
    title: str = "Apache HBase"

    @property
    def impossible(self) -> str:
        if reason := super().impossible:
            return reason
        if not self.version.endswith("-hadoop3"):
            return f"hbase_version={self.version} is a build for Hadoop 2; set hbase_version={self.version}-hadoop3"
        if self.tls and self.series == "2.5":
            return "HBase 2.5 has no TLS; leave out hbase_tls, or set hbase_version=2.6.4-hadoop3"
        return ""

    def problems(self) -> list[str]:
        context, hosts, alone = self.context, len(self.hosts), not self.distributed
        every = [*context.databases, *context.clients] if self.tls or self.authentication else []
        homes = list(dict.fromkeys(str(context.of_host(host, "dohyo_home", context.home)) for host in every))
        checks = [
            (self.impossible != "", self.impossible),
            (self.replication > hosts, f"replication {self.replication} needs as many database hosts, not {hosts}; lower it, or add hosts"),
            (alone and hosts > 1, f"hbase_distributed=false permits one database host, not {hosts}; leave it out, or name one host"),
            (
                alone and self.regionservers_per_host > 1,
                f"hbase_regionservers_per_host={self.regionservers_per_host} needs HDFS; set it to 1, or hbase_distributed to true",
            ),
            (alone and self.authentication, "hbase_authentication needs separate HDFS and ZooKeeper; leave out hbase_distributed=false"),
            (self.authentication and self.archive != "", "hbase_archive lacks the KDC's jars, which hbase_authentication needs; leave out hbase_archive"),
            (len(homes) > 1, f"hbase_tls and hbase_authentication need one dohyo_home, not {', '.join(homes)}; set it for the group all"),
            (
                self.prefetch and context.get("trial_settle_cache") == "drop",
                "hbase_prefetch=true fills the block cache, and settle.cache=drop empties it; leave one of them out",
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
    def programs(self) -> list[str]:
        return [*super().programs, *([f"{self.context.home}/{self.native_name}"] if self.native_name else [])]

    @property
    def makes(self) -> dict[str, list[str]]:
        return {"hbase/data": ["default", "hbase"], "hbase/data/default": ["usertable*"]}

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
    def clients_have_certificates(self) -> bool:
        return self.tls

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
        hdfs = f"http://{self.nodes[0]['address']}:{self.nodes[0]['namenode_info']}" if self.distributed else ""
        return [
            f"hbase.zookeeper.quorum={self.zookeepers}",
            f"hdfs={hdfs}",
            f"info={self._page('regionserver')}",
            f"pages={','.join(pages)}",
            *(f"{name}={value}" for name, value in sorted({**self.access, **self.login}.items())),
        ]

    def _page(self, name: str) -> str:
        return f"http://{self.node['address']}:{self.node[f'{name}_info']}"

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
            f"insertstart={properties.get('insertstart', 0)}",
            f"insertcount={self.context.records}",
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

    @property
    def attached(self) -> Attached:
        """Attached servers, given as ZOOKEEPERS[:PORT][:/ZNODE], such as zk1,zk2:2181:/hbase."""
        servers = super().attached
        znode = f"/{servers.path}" if "/" in servers.servers else "/hbase"
        port, namespace = servers.port or 2181, servers.namespace
        return replace(
            servers,
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

    def tuned(self) -> list[Tuned]:
        drives, same = self.context.drives, "the same"
        logs = drives if self.distributed and drives > 1 else None
        compactions, half = drives // 2 if drives >= 4 else None, "half of the disks, if there are at least {}"
        # docs/conditions.md shows the formula instead: the heap depends on the host.
        regions = int(mib(self.heap) * 0.4 / 128 / len(self.context.tables))
        cache, wal = 0.2 if self.bucket_cache_mb else None, "multiwal" if logs else None
        return [
            Tuned("libhadoop", "io.trino.hadoop:hadoop-apache:3.3.5-3", LIBHADOOP, vanilla="the library on the hosts, if any"),
            Tuned("handlers", max(2 * self.context.cores, 30), HANDLERS, "2 × processors, at least 30"),
            Tuned("regions", min(max(regions, 1), 200), REGIONS, "0.4 × heap / 128 MiB / tables, at most 200"),
            Tuned("hfile.block.cache.size", cache, BUCKET_CACHE, "0.2 with a bucket cache", "0.4"),
            Tuned("hbase.regionserver.throughput.controller", NO_LIMIT, COMPACTION_SPEED, vanilla=LIMIT),
            Tuned("hbase.wal.provider", wal, MULTIWAL, "multiwal, on HDFS with several disks, even in one array", "asyncfs"),
            Tuned("hbase.wal.regiongrouping.numgroups", logs, f"{same}; one log per disk is Dohyo's choice", "number of disks, if there are several", "2"),
            Tuned("hbase.regionserver.thread.compaction.small", compactions, WRITE_HEAVY, half.format(4), "1"),
            Tuned("hbase.regionserver.thread.compaction.large", compactions, same, half.format(4), "1"),
            Tuned("hbase.hstore.flusher.count", drives // 2 if drives >= 6 else None, same, half.format(6), "2"),
        ]


SYSTEMS = [HBase()]
