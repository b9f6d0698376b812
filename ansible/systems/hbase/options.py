"""Options of HBase, and the sizes and ports that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dohyo.systems.context import mib, whole
from dohyo.systems.jvm import VERSION, OnJvm
from dohyo.systems.option import HEAP, option

# Memory beyond the heap (metaspace, direct buffers, code, 250 threads) of a region server, and of each other process.
BEYOND_HEAP_MB, BEYOND_HEAP_OF_OTHERS_MB = 600, 150
# Direct memory of a region server without its bucket cache, mainly for the DFS client.
DIRECT_MB = 2048


@dataclass(frozen=True, kw_only=True)
class HBaseOptions(OnJvm):
    """Options of HBase, in one process or in several."""

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

    @property
    def wals(self) -> int:
        """Number of write-ahead logs per region server; HBase's maximum number of files applies to each log.

        AbstractFSWAL in HBase has the field maxLogs, and RegionGroupingProvider creates one AbstractFSWAL per group.
        """
        several = self.all_settings.get("hbase.wal.provider") == "multiwal"
        groups = "hbase.wal.regiongrouping.numgroups"
        return whole(self.all_settings.get(groups, 2), groups) if several else 1

    @property
    def regionservers(self) -> list[str]:
        """Names of the region servers on a host: regionserver, regionserver2, and so on."""
        return ["regionserver", *(f"regionserver{number}" for number in range(2, self.regionservers_per_host + 1))]

    @property
    def regionserver_count(self) -> int:
        """Number of region servers on all hosts."""
        return len(self.hosts) * len(self.regionservers)

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
