"""Processes of HBase: a single one, or those of HBase, HDFS, ZooKeeper and the KDC."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dohyo.systems.steps import Steps

from .options import HBaseOptions

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
class HBaseProcesses(HBaseOptions):
    """The processes of HBase, with their commands, their start and their access control."""

    realm = "DOHYO.LOCAL"
    # All servers share one principal. It contains no host name, so no name needs to be resolved.
    principal = "hbase/dohyo@DOHYO.LOCAL"

    @property
    def quorum(self) -> list[str]:
        """Hosts that run ZooKeeper: three, or one if there are fewer hosts, because two would not tolerate a failure."""
        return self.hosts[: 3 if len(self.hosts) >= 3 else 1]

    @property
    def quorum_nodes(self) -> list[dict[str, Any]]:
        """ZooKeeper's servers."""
        return self.nodes[: len(self.quorum)]

    @property
    def zookeepers(self) -> str:
        """Addresses of the ZooKeepers, from which clients learn the addresses of the other servers."""
        return ",".join(f"{node['address']}:{node['zookeeper']}" for node in self.quorum_nodes)

    @property
    def zookeeper_folder(self) -> str:
        """Folder of ZooKeeper's data."""
        return f"{self.data[-1]}/zookeeper"

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
        command = self.java(self.part_options(name), self.parts_here[name].main)
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
        return self.java(self.jvm_options, ["org.apache.hadoop.hbase.master.HMaster", "start"])

    def page_check(self, port: str, page: str, pattern: str) -> list[str]:
        """Returns a command that succeeds if a web page on this host contains a line that matches the pattern."""
        return self._port_check(port, rf"GET {page} HTTP/1.0\r\n\r\n", pattern)

    def _port_check(self, port: str, question: str, pattern: str) -> list[str]:
        """Returns a command that succeeds if, within 10 s, a port on this host replies with a line that matches the pattern."""
        script = 'exec 3<> "/dev/tcp/$0/$1" && printf %b "$2" >&3 && grep -qE -- "$3" <&3'
        return [*BRIEFLY, "bash", "-c", script, self.node["address"], str(self.node[port]), question, pattern]

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

    # ---- access control ---------------------------------------------------------------------------------------------

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
            "hbase.masters": ",".join(f"{node['address']}:{node['master']}" for node in self.nodes[:2]),
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
        quorum = [f"hbase/{node['address']}" for node in self.quorum_nodes]
        return ["hbase", "hbase/dohyo", f"HTTP/{self.nodes[0]['address']}", *quorum]

    # ---- steps of a trial -------------------------------------------------------------------------------------------

    @property
    def native_name(self) -> str:
        """Folder of Hadoop's native library, relative to dohyo_home; empty if hbase_libhadoop is not set."""
        name = self.libhadoop.rpartition("/")[2].replace(":", "-")
        return f"install/hbase-native/{name}" if self.distributed and self.libhadoop else ""

    @property
    def node_more(self) -> dict[str, Any]:
        """Folder with Hadoop's native library; empty if :meth:`prepare` did not find it."""
        return {"native": self.context.get("system_native", {}).get("stdout", "")}

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
            # ZooKeeper reports its mode if it has a leader, or is the only one.
            has_leader = system._port_check("zookeeper", "srvr", "^Mode")
            steps.until(host, f"hbase-{part}", has_leader if part == "zookeeper" else system.hdfs_check)

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
