"""ScyllaDB: the vendor's packages on the host, or its offline installer."""

from __future__ import annotations

import json
import posixpath
from dataclasses import dataclass
from typing import Any

from dohyo.systems.context import mib
from dohyo.systems.cql import Cql
from dohyo.systems.option import SHA256, SIZE, option
from dohyo.systems.rendering import as_yaml
from dohyo.systems.steps import Steps
from dohyo.systems.system import Archive, ConfigFile, DataNeeds, HostNeeds, Script, Tuned

LOOK = """\
for place; do
  case $place in
    PATH) found=$(command -v scylla) ;;
    '~/'*) found=$HOME${place#'~'}/bin/scylla ;;
    *) found=$place/bin/scylla ;;
  esac
  if [ -x "$found" ]; then readlink -f "$found"; break; fi
done
case $(uname -m) in
  x86_64) for flag in sse4_2 pclmulqdq; do grep -qw "$flag" /proc/cpuinfo || echo "a processor with $flag" >&2; done ;;
  aarch64) ;;
  *) echo "a processor of x86-64 or arm64" >&2 ;;
esac
"""


@dataclass(frozen=True, kw_only=True)
class Scylla(Cql):
    """Every node has the same part; ScyllaDB's manual lets a single node join at a time."""

    role = "scylla"
    order = 3
    binding = "scylla"
    inherits = "cassandra"
    admin = "dohyo.scylla.admin.ScyllaAdmin"
    # LICENSE-ScyllaDB-Source-Available.md (1.1 of 2026-04-12) of https://github.com/scylladb/scylladb.
    licence = (
        "ScyllaDB since 2025.1 is licensed under the ScyllaDB Software License Agreement"
        " (https://www.scylladb.com/scylladb-source-available-license): free of charge, also for benchmarks, for those"
        " who were no customers in the last twelve months, up to 50 virtual processors and 10 TB of disks of all"
        " servers together; other use needs a contract."
    )
    starts_one_by_one = True
    opens = "cql"
    settles_everywhere = True
    drops = True
    attaches = True
    attached_options = ("replication_strategy", "column_type", "compaction", "settle_timeout", "count_limit")
    # The vendor's own unit has them: the reactor's threads get real-time priority, and memory is locked. The first also
    # lifts the unit's RestrictRealtime.
    capabilities = ("CAP_SYS_NICE", "CAP_IPC_LOCK")
    name: str = "scylla"
    title: str = "ScyllaDB"

    # Without any of these three the server is one that is on the host already: the vendor's packages, or ~/scylladb.
    install_dir: str = option("", "Folder on the host in which the offline installer has put a server, as ~/scylladb; empty to look for one.")
    package: str = option(
        "",
        "The vendor's offline installer, scylla-unified-VERSION.ARCH.tar.gz, as a URL or a file of the control machine;"
        " it is installed without root in dohyo_home, or with scylla_tune as root in the vendor's place, where it"
        " stays.",
    )
    package_sha256: str = option("", "Checksum of scylla_package, or of what scylla_fetch downloads: 64 hexadecimal digits.", pattern=SHA256)
    # --fetch scylla sets it.
    fetch: bool = option(False, "Download the vendor's own offline installer, verify scylla_package_sha256, and accept its licence, which limits the use.")
    fetch_base: str = option(
        "https://downloads.scylladb.com/downloads/scylla/relocatable",
        "Where scylla_fetch downloads from; a mirror has the same files below it.",
        pattern="https://[0-9A-Za-z./:_-]+",
    )
    fetch_version: str = option(
        "2025.1.9-0.20251010.6c539463bbda",
        "Version that scylla_fetch downloads, with the date and the commit in the name of the archive.",
        pattern="[0-9]+([.][0-9]+){2}-[0-9a-f.]+",
    )
    memory: str = option(
        None, "Memory of a node, divided among its shards, as in 2g or 1536m. Without it a share of host_memory_budget, or 1536m.", pattern=SIZE
    )
    smp: int = option(0, "Shards of a node, one core each; 0 for all cores.")
    cpuset: str = option(None, "Cores to bind the shards to, such as 0-3,8; empty for none.", pattern="[0-9,-]*")
    overprovisioned: bool = option(None, "The server shares its cores with others, as with a client on the same host.")
    # That takes minutes, as root, on hosts that nobody else uses. A server on a host that was not prepared refuses to
    # start outside developer mode.
    tune: bool = option(False, "When deployed, measure the disk and prepare cores and interrupts with the vendor's scripts, as root.")
    developer_mode: bool = option(None, "Start on a host that was not prepared; slower.")
    io_properties: str = option(None, "File on the host with the speed of the disk, as iotune writes it; empty for none.")
    nic: str = option("", "Network card whose interrupts scylla_tune spreads; empty for none.")
    # Where one is taken, this machine uses the next free one and the trial notes it; hosts of an inventory refuse it.
    shard_port: int = option(19042, "Preferred port for clients that choose the shard by their own port.")
    api_port: int = option(10000, "Preferred port of the REST interface, on 127.0.0.1 unless the node's own address is a local one.")
    prometheus_port: int = option(9180, "Preferred port of the metrics, on the same address.")
    # Tablets, the vendor's default, need it.
    replication_strategy: str = option(
        "NetworkTopologyStrategy",
        "Replication strategy of the keyspace; tablets need NetworkTopologyStrategy.",
        choices=("SimpleStrategy", "NetworkTopologyStrategy"),
    )
    tablets: bool = option(True, "Data are spread by tablets (2025.1 and newer) instead of vnodes.")
    # blob takes any bytes; the binding of stock YCSB writes strings.
    column_type: str = option("blob", "CQL type of the fields; text lets the binding of stock YCSB use the tables, too.", choices=("blob", "text"))
    # The server's own default since 2025.1, as before in the Enterprise edition (Production readiness guidelines,
    # Choose a compaction strategy).
    compaction: str = option(
        "IncrementalCompactionStrategy",
        "Compaction strategy of the tables; ScyllaDB Open Source up to 6.2 has no incremental one.",
        choices=("SizeTieredCompactionStrategy", "LeveledCompactionStrategy", "TimeWindowCompactionStrategy", "IncrementalCompactionStrategy"),
    )
    # Addresses, ports, folders and who gets in have options of their own.
    settings: dict[str, Any] = option(
        {},
        "Further settings of scylla.yaml by their keys, with dots between those of several levels; they replace Dohyo's own.",
        pattern=r"(?!.*(directory|directories|workdir|_dir|address|interface|_port|_port_ssl)$)"
        r"(?!(seed_provider|auth_superuser_\w+|authenticator|authorizer|role_manager|cluster_name)\b|.*encryption_options)"
        r"[a-z][0-9A-Za-z_]*(\.[0-9A-Za-z_-]+)*",
    )
    authentication: bool = option(False, "Only who has a password gets in; needs ScyllaDB 6.0 or newer.")
    # Any text without blanks around it, which get lost on the way.
    user: str = option("dohyo", "The server's first and only user, a superuser.", pattern=r"\S(.*\S)?")
    # Never on a command line: from the environment, or from a file of Ansible Vault (docs/secrets.md).
    password: str = option(
        "", "The user's password; a new one for each trial where it is empty.", pattern=r"(\S(.*\S)?)?", secret=True, environment="DOHYO_SCYLLA_PASSWORD"
    )
    tls: bool = option(False, "TLS between clients and nodes and among nodes.")
    options: list[str] = option([], "Further words of the server's command line.")
    ready_timeout: int = option(300, "Seconds for the server to start.")
    settle_timeout: int = option(1800, "Seconds for the compactions after the load.")
    stop_timeout: int = option(60, "Seconds for the server to stop before it is killed.")
    count_limit: int = option(1000000, "Up to this many records the rows are counted after the load.")

    def default_memory(self) -> str:
        """The budget without what Seastar and the kernel leave free; 1536 MiB without a budget.

        By default Seastar leaves the larger of 1.5 GiB and 7 % to the operating system, and what the kernel keeps free
        (vm.min_free_kbytes, which Seastar calls high from 200 MB on). It reads the limit of its cgroup as the host's
        memory, and refuses to start with more (Seastar, resource.cc, calculate_memory; since 2023 also for what the
        kernel keeps free). ScyllaDB has no page cache.
        """
        budget = self.context.budget_mb
        return f"{max(budget - max(1536, budget * 7 // 100) - 256, 512)}m" if budget else "1536m"

    def default_cpuset(self) -> str:
        """The processors of all servers on the host."""
        return self._cpus("server")

    def default_overprovisioned(self) -> bool:
        """A server that shares its host lets others have the cores on which it has nothing to do."""
        return self.context.host in self.context.clients and not (self._cpus("server") and self._cpus("client"))

    def _cpus(self, whose: str) -> str:
        return str(self.context.get(f"host_cpus_{whose}", ""))

    def default_developer_mode(self) -> bool:
        """A host that was prepared does not need it."""
        return not self.tune

    def default_io_properties(self) -> str:
        """What the vendor's scripts have measured."""
        return "/etc/scylla.d/io_properties.yaml" if self.tune else ""

    @property
    def memory_mb(self) -> int:
        """Memory of the node in MiB."""
        return mib(self.memory)

    @property
    def installed_version(self) -> str:
        """One for all versions: what is installed has its checksum beside it."""
        return "server"

    @property
    def install_root(self) -> str:
        """Folder of the offline installer's files on the host; a file with the checksum's name notes which it was."""
        return f"{self.context.home}/install/scylla"

    @property
    def prefix(self) -> str:
        """Folder of the server: the vendor's scripts look in the vendor's own, where only root can put it."""
        return "/opt/scylladb" if self.tune else f"{self.install_root}/server"

    @property
    def server_archive(self) -> Archive:
        """The offline installer as the vendor documents it, who has the default version as an example.

        Looked up on 2026-11-25:
        https://docs.scylladb.com/manual/stable/getting-started/installation-common/unified-installer.html
        """
        series = ".".join(self.fetch_version.split(".")[:2])
        name = f"scylla-unified-{self.fetch_version}.{self.platform[-1]}.tar.gz"
        return Archive(
            variable="scylla_package",
            given=self.package,
            checksum="scylla_package_sha256",
            sha256=self.package_sha256.lower(),
            url=f"{self.fetch_base}/scylladb-{series}/{name}" if self.fetch and not self.package else "",
            unsigned="ScyllaDB documents no checksum and no signature of this archive",
        )

    @property
    def programs(self) -> list[str]:
        """The file that an installed package leaves, named by its checksum."""
        return [f"{self.install_root}/{self.server_archive.sha256}"] if self.archive_source else []

    @property
    def server_folders(self) -> list[str]:
        """Folders that may have a server, best first; PATH is a program on the PATH."""
        if self.archive_source:
            return [self.prefix]
        return [self.install_dir] if self.install_dir else [self.prefix, "~/scylladb", "/opt/scylladb", "PATH"]

    @property
    def looks_for(self) -> Script:
        """Prints the server's program, and on standard error what the host lacks for it."""
        return Script(LOOK, arguments=self.server_folders)

    @property
    def binary(self) -> str:
        """The server's program, as the script has found it; empty without one."""
        return self.looked["stdout"].strip()

    @property
    def server_folder(self) -> str:
        """Folder of the server that was found."""
        return posixpath.dirname(posixpath.dirname(self.binary))

    @property
    def unavailable(self) -> str:
        if lacks := self.looked["stderr"].splitlines():
            return f"needs {', '.join(lacks)}, which this host has not; use another host"
        if self.archive_source:
            return self.archive_problem
        # Readers know where the project's folder is.
        home = self.context.home
        folders = [each.replace(home, home.rpartition("/")[2]) for each in self.server_folders]
        absent = (
            f"no ScyllaDB server in {', '.join(folders)}; install the vendor's packages, or give its offline installer"
            " with --set scylla_package=FILE (or a URL, or --fetch scylla) and --set scylla_package_sha256=SUM, or name"
            " the folder of an installation with --set scylla_install_dir=FOLDER"
        )
        return "" if self.binary else absent

    def problems(self) -> list[str]:
        found = []
        if why := self.unavailable:
            found.append(f"{self.context.host}: {why}")
        elif not self.binary:
            deploy = f"{self.context.get('dohyo_playbook', 'ansible-playbook')} deploy.yml"
            found.append(f"{self.context.host}: the server is not installed: type {deploy} first, with the same scylla_package or scylla_fetch")
        if not self.developer_mode and not self.io_properties:
            found.append(
                "Outside developer mode ScyllaDB wants to know how fast the disk is: deploy with scylla_tune=true, or"
                " name the file of an earlier measurement with scylla_io_properties, or set scylla_developer_mode=true"
            )
        return found

    def needs(self) -> HostNeeds:
        return HostNeeds(
            memory_mb=self.memory_mb + 200,
            cache_mb=self.memory_mb,
            # The commit log takes as much disk as the server has memory (default for commitlog_total_space_in_mb).
            size=DataNeeds(record_disk=self.context.sstable_bytes, log_mb=self.memory_mb),
        )

    @property
    def is_reusable(self) -> bool:
        """A copy has no users."""
        return not self.authentication

    @property
    def makes(self) -> dict[str, list[str]]:
        return {"data": ["system", "system_*", "audit", self.keyspace], f"data/{self.keyspace}": ["usertable*"]}

    @property
    def disks(self) -> int:
        """The server takes one folder for its data: a user of several disks makes one device of them."""
        return 1

    @property
    def commit_log(self) -> str:
        """Folder of the commit log, on the last disk."""
        return f"{self.data[-1]}/commitlog"

    @property
    def folders(self) -> list[str]:
        return [self.data[0], self.commit_log]

    @property
    def measured_folders(self) -> list[str]:
        """Folders whose disks are measured."""
        return list(dict.fromkeys([self.context.data[0], self.context.data[-1]]))

    @property
    def ports(self) -> dict[str, int]:
        return {"cql": self.cql_port, "shard": self.shard_port, "storage": self.storage_port, **self.page_ports}

    @property
    def page_ports(self) -> dict[str, int]:
        """The REST interface and the metrics, which tasks/configure.yml looks for at their own address."""
        return {"api": self.api_port, "prometheus": self.prometheus_port}

    @property
    def page_address(self) -> str:
        """Address of the pages, for their own host only: nodes that share a host have addresses of their own."""
        return self.address if self.address.startswith("127.") else "127.0.0.1"

    @property
    def searched_ports(self) -> dict[str, int]:
        return {name: port for name, port in self.ports.items() if name not in self.page_ports}

    @property
    def node_more(self) -> dict[str, Any]:
        return dict(self.context.get("system_page_ports", {}).get("ports", {}))

    @property
    def notes(self) -> list[str]:
        return list(self.context.get("system_page_ports", {}).get("moved", []))

    @property
    def options_file(self) -> str:
        """Configuration that the server reads; with users a copy that is no evidence, as it has the password's hash."""
        return f"{self.secret}/scylla.yaml" if self.authentication else "conf/scylla.yaml"

    @property
    def secret_files(self) -> list[ConfigFile]:
        return [*super().secret_files, *([ConfigFile(self.options_file, self._with_user)] if self.authentication else [])]

    @property
    def _with_user(self) -> str:
        """The configuration with the first user (ScyllaDB's manual, "Creating a Custom Superuser").

        Clear text is not allowed. 5,000 rounds are those of crypt(3). Only Ansible asks for it, so that it is there.
        """
        from ansible.utils.encrypt import do_encrypt  # type: ignore[import-untyped]  # noqa: PLC0415

        hashed = do_encrypt(self.passwords["client"], "sha512_crypt", rounds=5000)
        return (
            f"{self._configuration}\nauth_superuser_name: {json.dumps(self.user, ensure_ascii=False)}\nauth_superuser_salted_password: {json.dumps(hashed)}\n"
        )

    @property
    def _configuration(self) -> str:
        return as_yaml(self.render("scylla.yaml"), self.all_settings)

    @property
    def files(self) -> list[ConfigFile]:
        """One file with everything that differs from ScyllaDB's own defaults."""
        return [self.conf_file("scylla.yaml", self._configuration)]

    @property
    def command(self) -> list[str]:
        return [
            *(self.binary, "--options-file", self.options_file, "--log-to-stdout", "1", "--log-to-syslog", "0"),
            *("--default-log-level", "info", "--memory", f"{self.memory_mb}M"),
            *(["--smp", str(self.smp)] if self.smp else []),
            *(["--cpuset", self.cpuset] if self.cpuset else []),
            *(["--overprovisioned"] if self.overprovisioned else []),
            *(["--io-properties-file", self.io_properties] if self.io_properties else []),
            *self.options,
        ]

    @property
    def words(self) -> list[str]:
        return [
            f"host={self.node.address}",
            f"port={self.node['cql']}",
            f"api={self.page_address}:{self.node['api']}",
            f"prometheus={self.page_address}:{self.node['prometheus']}",
            f"pidfile={self.run}/pid",
            f"keyspace={self.keyspace}",
            f"connection={self.connection}",
        ]

    @property
    def server_properties(self) -> dict[str, Any]:
        return {"server.api": f"{self.page_address}:{self.node['api']}"}

    def prepare(self, steps: Steps) -> None:
        """Chooses the ports of the pages, which are for their own host alone; :attr:`node_more` has them."""

        def choose(host: str) -> dict[str, Any]:
            system = self.at(steps, host)
            return steps.choose_ports(host, system.page_address, system.page_ports)

        for host, found in steps.each("Choose the ports for this host alone", choose, steps.databases).items():
            steps.remember(host, system_page_ports=found)

    def start(self, steps: Steps) -> None:
        """A node takes it that the others use its own ports, so nodes with different ones are refused."""
        nodes = self.nodes
        if any(len({node[name] for node in nodes}) > 1 for name in ("cql", "storage")):
            ports = ", ".join(f"{host}: {node['cql']} and {node['storage']}" for host, node in zip(self.hosts, nodes, strict=True))
            steps.refuse(
                "Refuse nodes with different ports",
                "The nodes need one port for CQL and one between each other, free on all hosts; found"
                f" {ports}. Choose others with scylla_cql_port and scylla_storage_port",
            )
        if self.tune:
            mark = f"/run/dohyo-{self.context.values['dohyo_deployment']}-scylla"
            script = f"/opt/scylladb/scripts/scylla_prepare && touch {mark}"
            steps.each(
                "Tune the host's interrupts and clock",
                lambda host: steps.run(host, ["sh", "-c", script], root=True, creates=mark),
                steps.databases,
            )
        super().start(steps)

    def ready(self, steps: Steps) -> None:
        super().ready(steps)
        if self.authentication:
            # The server makes it some seconds after it has opened its port.
            steps.each("Wait until our user is let in", lambda host: steps.until_admin(host, "user"), steps.databases[:1])

    def tuned(self) -> list[Tuned]:
        return [
            Tuned(
                "tune",
                True,
                "[Production readiness guidelines](https://docs.scylladb.com/manual/stable/operating-scylla/procedures/tips/"
                "production-readiness.html), Performance: run scylla_setup; of it iotune, cores and interrupts, outside"
                " developer mode",
            ),
            Tuned("internode_compression", "all", "the same, Inter-node compression", vanilla="none"),
        ]


SYSTEMS = [Scylla()]
