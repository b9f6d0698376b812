"""ScyllaDB: the vendor's packages on the host, or its offline installer."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dohyo.systems.context import cpus, mib
from dohyo.systems.cql import Cql
from dohyo.systems.option import SHA256, SIZE, option
from dohyo.systems.records import Archive, ConfigFile, DataNeeds, HostNeeds, Script, Tuned
from dohyo.systems.rendering import as_yaml
from dohyo.systems.steps import Steps

# Script that prints the server's program, its version, the cores that scylla_tune chose, and why the program does not run; to standard
# error, it prints missing CPU features.
LOOK = """\
server=
for place; do
  case $place in
    PATH) found=$(command -v scylla) ;;
    '~/'*) found=$HOME${place#'~'}/bin/scylla ;;
    *) found=$place/bin/scylla ;;
  esac
  if [ -f "$found" ] && [ -x "$found" ]; then server=$(readlink -f "$found"); break; fi
done
echo "$server"
version=$([ -z "$server" ] || "$server" --version 2> /dev/null | head -n 1)
echo "$version"
echo "$(sed -n 's/^CPUSET=.*--cpuset \\([0-9,-]*\\).*/\\1/p' /etc/scylla.d/cpuset.conf 2> /dev/null | tail -n 1)"
if [ -n "$server" ] && [ -z "$version" ]; then
  failure=$({ "$server" --version || echo "exit code $?"; } 2>&1 | head -n 1)
  echo "${failure:-it prints no version}"
fi
case $(uname -m) in
  x86_64) for flag in sse4_2 pclmulqdq; do grep -qw "$flag" /proc/cpuinfo || echo "a processor with $flag" >&2; done ;;
  aarch64) ;;
  *) echo "a processor of x86-64 or arm64" >&2 ;;
esac
"""

# Option for the number of a shard's sockets. By default, a shard takes 50,000 of the host's slots for asynchronous I/O, or all
# that are free. Linux has 65,536 slots (fs.aio-max-nr) unless the vendor's scripts raise the limit, so InnoDB, for example, would find none.
SOCKETS = "--max-networking-io-control-blocks"

# MiB that the server sets aside for each shard (5.2: once). With less, it reports that it needs 2^64 bytes.
RESERVED_MB = 50
# MiB that a shard needs outside developer mode: the server exits if less than 1 GiB is left (main.cc, verify_adequate_memory_per_shard).
SHARD_MB = 1024 + RESERVED_MB


@dataclass(frozen=True, kw_only=True)
class Scylla(Cql):
    """ScyllaDB, in which all nodes are peers. They start one after another: the manual permits only one node to join at a time."""

    role = "scylla"
    order = 3
    binding = "scylla"
    inherits = "cassandra"
    admin = "dohyo.scylla.admin.ScyllaAdmin"
    # LICENSE-ScyllaDB-Source-Available.md (1.1 of 2026-04-12) of https://github.com/scylladb/scylladb.
    licence = (
        "ScyllaDB since 2025.1 is licensed under the ScyllaDB Software License Agreement"
        " (https://www.scylladb.com/scylladb-source-available-license): free of charge, also for benchmarks, for those"
        " who have not been customers in the last twelve months, with up to 50 virtual processors and 10 TB of disks in"
        " all servers together; any other use requires a contract."
    )
    # The same for all versions, because a file named after the checksum identifies the installed one.
    installed_version = "server"
    # The server supports only one folder, so several disks must form one device.
    disks = 1
    opens = "cql"
    settles_everywhere = True
    drops = True
    attaches = True
    attached_options = ("replication_strategy", "column_type", "compaction", "settle_timeout", "count_limit")
    # The vendor's unit has these capabilities, with which reactor threads run at real-time priority and memory is locked.
    # CAP_SYS_NICE also lifts the unit's RestrictRealtime.
    capabilities = ("CAP_SYS_NICE", "CAP_IPC_LOCK")
    name: str = "scylla"
    title: str = "ScyllaDB"

    # Without install_dir, package and fetch, a server already on the host is used: from the vendor's packages, or in ~/scylladb.
    install_dir: str = option(
        "",
        "Folder on the host with the server's program in bin/scylla, such as the offline installer's ~/scylladb; empty to search"
        " for one. Default: the environment variable SCYLLA_DIR.",
        environment="SCYLLA_DIR",
    )
    package: str = option(
        "",
        "The vendor's offline installer, scylla-unified-VERSION.ARCH.tar.gz, as a URL or a file on the control machine."
        " It is installed without root in dohyo_home. With scylla_tune, it is installed as root in the vendor's folder,"
        " where it stays.",
    )
    package_sha256: str = option("", "SHA-256 of scylla_package, or of the file that scylla_fetch downloads.", pattern=SHA256)
    # The option --fetch scylla sets it.
    fetch: bool = option(False, "Download the vendor's own offline installer, verify scylla_package_sha256, and accept its licence, which limits the use.")
    fetch_base: str = option(
        "https://downloads.scylladb.com/downloads/scylla/relocatable",
        "URL below which scylla_fetch finds the files; a mirror must have the same paths.",
        pattern="https://[0-9A-Za-z./:_-]+",
    )
    fetch_version: str = option(
        "2025.1.9-0.20251010.6c539463bbda",
        "Version that scylla_fetch downloads, including the date and the commit from the archive's name.",
        pattern="[0-9]+([.][0-9]+){2}-[0-9a-f.]+",
    )
    memory: str = option(None, "Memory of a node, divided among its shards, such as 2g. Default: a share of host_memory_budget, or 1536m.", pattern=SIZE)
    smp: int = option(0, "Number of shards per node, each on one core; 0 for all cores.")
    cpuset: str = option(
        None,
        "Cores to which shards are bound, such as 0-3,8, with both threads of each. If empty: none, or the vendor's choice with scylla_tune.",
        pattern="[0-9,-]*",
    )
    overprovisioned: bool = option(None, "The server shares its cores with other programs, such as a client on the same host.")
    # Tuning takes minutes, needs root, and is meant for hosts without other users. Without it, the server starts only in
    # developer mode.
    tune: bool = option(False, "During the deployment, measure the disk and prepare cores and interrupts with the vendor's scripts, as root.")
    developer_mode: bool = option(None, "Allow the server to start on a host that was not tuned; this is slower.")
    io_properties: str = option(None, "File on the host to which iotune wrote the speed of the disk; empty for none.")
    nic: str = option("", "Network card whose interrupts scylla_tune spreads, such as eth0.", pattern="[0-9A-Za-z_.:-]*")
    shard_port: int = option(19042, "Preferred port for clients that choose a shard through their own port number.")
    api_port: int = option(10000, "Preferred port of the REST interface, on 127.0.0.1 or the node's own loopback address.")
    prometheus_port: int = option(9180, "Preferred port of the metrics, on the address of the REST interface.")
    # Tablets, the vendor's default, need NetworkTopologyStrategy.
    replication_strategy: str = option(
        "NetworkTopologyStrategy",
        "Replication strategy of the keyspace; tablets need NetworkTopologyStrategy.",
        choices=("SimpleStrategy", "NetworkTopologyStrategy"),
    )
    tablets: bool = option(True, "Distribute data in tablets (6.0 and newer) instead of vnodes.")
    # The type blob accepts any bytes; the binding of stock YCSB writes strings.
    column_type: str = option("blob", "CQL type of the fields; with text, stock YCSB's binding can use the tables.", choices=("blob", "text"))
    # Since 2025.1, the server's default is the incremental strategy, as it was in the Enterprise edition (Production readiness
    # guidelines, Choose a compaction strategy). ScyllaDB Open Source lacks this strategy and refuses tables with it.
    compaction: str = option(
        "",
        "Compaction strategy of the tables; empty for the server's default, which the notes name. ScyllaDB Open Source lacks the incremental one.",
        choices=("", "SizeTieredCompactionStrategy", "LeveledCompactionStrategy", "TimeWindowCompactionStrategy", "IncrementalCompactionStrategy"),
    )
    # The pattern excludes addresses, ports, folders and security: other options set them.
    settings: dict[str, Any] = option(
        {},
        "Further settings of scylla.yaml, by key; dots separate the parts of nested keys. They override Dohyo's settings.",
        pattern=r"(?!.*(directory|directories|workdir|_dir|address|interface|_port|_port_ssl)$)"
        r"(?!(seed_provider|auth_superuser_\w+|authenticator|authorizer|role_manager|cluster_name)\b|.*encryption_options)"
        r"[a-z][0-9A-Za-z_]*(\.[0-9A-Za-z_-]+)*",
    )
    authentication: bool = option(False, "Require users to log in with a password.")
    # The pattern forbids leading and trailing blanks, which would be lost.
    user: str = option("dohyo", "The server's first and only user, a superuser.", pattern=r"\S(.*\S)?")
    # Set it in the environment or in a file of Ansible Vault, never on a command line (docs/secrets.md).
    password: str = option(
        "", "The user's password; if empty, each trial creates a new one.", pattern=r"(\S(.*\S)?)?", secret=True, environment="DOHYO_SCYLLA_PASSWORD"
    )
    tls: bool = option(False, "Use TLS between clients and nodes, and among nodes.")
    options: list[str] = option([], "Further arguments of the server.")
    ready_timeout: int = option(300, "Seconds for the server to start.")
    settle_timeout: int = option(1800, "Maximum seconds to wait for compactions after the load.")
    stop_timeout: int = option(60, "Seconds for the server to stop before it is killed.")
    count_limit: int = option(1000000, "Maximum number of records for which the rows are counted after the load.")

    def default_memory(self) -> str:
        """Returns the budget minus the memory that Seastar leaves to the operating system; 1536 MiB without a budget.

        By default, Seastar leaves 1.5 GiB or 7 %, whichever is more, to the operating system, plus the memory that the kernel keeps
        free (vm.min_free_kbytes; Seastar regards 200 MB or more as high). It treats the limit of its cgroup as the host's memory,
        and refuses to start with more (Seastar, resource.cc, calculate_memory; since 2023 this includes the memory that the kernel
        keeps free). ScyllaDB does not use the page cache.
        """
        budget = self.context.budget_mb
        return f"{max(budget - max(1536, budget * 7 // 100) - 256, 512)}m" if budget else "1536m"

    def default_cpuset(self) -> str:
        """Returns the processors on which the host's servers run."""
        return self._cpus("server")

    def default_overprovisioned(self) -> bool:
        """Returns true if clients share the host's processors, so that the server yields processors when it is idle."""
        return self.context.host in self.context.clients and not (self._cpus("server") and self._cpus("client"))

    def _cpus(self, part: str) -> str:
        return str(self.context.get(f"host_cpus_{part}", ""))

    def default_developer_mode(self) -> bool:
        """Returns false for tuned hosts, which do not need developer mode, and true for all others."""
        return not self.tune

    def default_io_properties(self) -> str:
        """Returns the file that the vendor's scripts write."""
        return "/etc/scylla.d/io_properties.yaml" if self.tune else ""

    @property
    def memory_mb(self) -> int:
        """Memory of the node in MiB."""
        return mib(self.memory)

    @property
    def shards(self) -> int:
        """Number of the node's shards, one per core."""
        return self.smp or len(cpus(self.cores)) or self.context.cores

    @property
    def cores(self) -> str:
        """Cores to which the shards are bound; empty for none. With scylla_tune, the vendor's script may have chosen them."""
        return self.cpuset or (self.tuned_cores if self.tune else "")

    @property
    def tuned_cores(self) -> str:
        """Cores that scylla_tune left to the server while the others handle interrupts; empty if it has not run."""
        return self.looked_line(2)

    @property
    def tuning(self) -> str:
        """File with the options of the vendor's perftune.py; it is written when the host is tuned."""
        return f"{self.install_root}/perftune.yaml"

    @property
    def tuned_mark(self) -> str:
        """File that marks the interrupts as tuned; the next boot removes the file and undoes the tuning."""
        return f"/run/dohyo-{self.context.values['dohyo_deployment']}-scylla"

    @property
    def install_root(self) -> str:
        """Folder on the host for the offline installer's files, including a file named after the package's checksum."""
        return f"{self.context.home}/install/scylla"

    @property
    def prefix(self) -> str:
        """Folder of the server. With tuning, it is the vendor's folder, which the vendor's scripts expect and only root can change."""
        return "/opt/scylladb" if self.tune else f"{self.install_root}/server"

    @property
    def server_archive(self) -> Archive:
        """The user's offline installer, or the vendor's if the user gave none. The default version is the one in the vendor's example.

        Looked up on 2026-11-25:
        https://docs.scylladb.com/manual/stable/getting-started/installation-common/unified-installer.html
        """
        series = ".".join(self.fetch_version.split(".")[:2])
        name = f"scylla-unified-{self.fetch_version}.{self.platform[-1]}.tar.gz"
        return Archive(
            variable="scylla_package",
            user_source=self.package,
            checksum="scylla_package_sha256",
            sha256=self.package_sha256.lower(),
            url=f"{self.fetch_base}/scylladb-{series}/{name}" if self.fetch and not self.package else "",
            unsigned="ScyllaDB documents no checksum and no signature for this archive",
        )

    @property
    def programs(self) -> list[str]:
        """File that an installation writes last; it is named after the package's checksum."""
        return [f"{self.install_root}/{self.server_archive.sha256}"] if self.archive_source else []

    @property
    def server_folders(self) -> list[str]:
        """Folders that may contain a server, in order of preference; PATH stands for a program on the PATH."""
        if self.archive_source:
            return [self.prefix]
        return [self.install_dir] if self.install_dir else [self.prefix, "~/scylladb", "/opt/scylladb", "PATH"]

    @property
    def looks_for(self) -> Script:
        """Script that prints the server's program and, to standard error, the missing CPU features."""
        return Script(LOOK, arguments=self.server_folders)

    @property
    def binary(self) -> str:
        """Path of the server's program; empty if it was not found."""
        return self.looked_line(0)

    @property
    def starts_with_default_user(self) -> bool:
        """Whether a new server has the default user cassandra, as versions before 5.4 do."""
        return self.authentication and self.release < (5, 4)

    @property
    def release(self) -> tuple[int, int]:
        """First two numbers of the server's version; very large numbers if the version is unknown."""
        match = re.match(r"(\d+)\.(\d+)", self.looked_line(1))
        return (int(match[1]), int(match[2])) if match else (9999, 0)

    @property
    def server_folder(self) -> str:
        """Folder of the server."""
        return posixpath.dirname(posixpath.dirname(self.binary))

    @property
    def unavailable(self) -> str:
        if lacks := self.looked["stderr"].splitlines():
            return f"needs {', '.join(lacks)}, which this host lacks; use another host"
        if self.archive_source:
            return self.archive_problem
        if failure := self.looked_line(3):
            return f"{self.binary} --version failed: {failure}; name another server (docs/scylla.md)"
        if self.binary:
            return ""
        location = f"in {self.install_dir}" if self.install_dir else "found"
        return f"no ScyllaDB server {location}; download it with --fetch scylla (other ways: docs/scylla.md)"

    def problems(self) -> list[str]:
        problems = super().problems()
        if reason := self.unavailable:
            problems.append(f"{self.context.host}: {reason}")
        elif not self.binary:
            deploy = f"{self.context.get('dohyo_playbook', 'ansible-playbook')} deploy.yml"
            problems.append(f"{self.context.host} has no server: run {deploy} first, with the same scylla_package or scylla_fetch")
        if self.tune and not self.nic:
            problems.append("scylla_tune spreads the interrupts of a network card: set scylla_nic, such as eth0")
        if self.tune and self.binary and (not self.tuned_cores or (self.cpuset and cpus(self.cpuset) != cpus(self.tuned_cores))):
            cores = f"for the cores {self.tuned_cores}, not {self.cpuset}" if self.tuned_cores else "for no cores"
            problems.append(f"{self.context.host} was tuned {cores}: deploy with the same scylla_tune, scylla_nic and scylla_cpuset")
        if not self.developer_mode and not self.io_properties:
            problems.append("ScyllaDB needs the disk's speed; set scylla_tune, scylla_io_properties or scylla_developer_mode")
        if not self.developer_mode and self.memory_mb < SHARD_MB * self.shards:
            problems.append(f"scylla_memory={self.memory} is below {SHARD_MB} MiB × {self.shards} shards; raise it, or lower scylla_smp")
        elif self.memory_mb <= (reserved := RESERVED_MB * self.shards):
            problems.append(f"scylla_memory={self.memory}: {self.shards} shards need over {reserved} MiB; raise it, or lower scylla_smp")
        if self.context.on_disk and any(argument.startswith("--unsafe-bypass-fsync") for argument in self.options):
            problems.append("durability=disk needs fsync; leave --unsafe-bypass-fsync out of scylla_options")
        return problems

    def needs(self) -> HostNeeds:
        return HostNeeds(
            memory_mb=self.memory_mb + 200,
            cache_mb=self.memory_mb,
            # By default, the commit log takes as much disk space as the server has memory (commitlog_total_space_in_mb).
            size=DataNeeds(record_disk=self.context.sstable_bytes, log_mb=self.memory_mb),
        )

    @property
    def makes(self) -> dict[str, list[str]]:
        return {"data": ["system", "system_*", "audit", self.keyspace], f"data/{self.keyspace}": ["usertable*"]}

    @property
    def commit_log(self) -> str:
        """Folder of the commit log, on the last disk."""
        return f"{self.data[-1]}/commitlog"

    @property
    def folders(self) -> list[str]:
        return [self.data[0], self.commit_log]

    @property
    def measured_folders(self) -> list[str]:
        """Folders on the disks that the tuning measures."""
        return list(dict.fromkeys([self.context.data[0], self.context.data[-1]]))

    @property
    def ports(self) -> dict[str, int]:
        return {"cql": self.cql_port, "shard": self.shard_port, "storage": self.storage_port, **self.page_ports}

    @property
    def page_ports(self) -> dict[str, int]:
        """Preferred ports of the REST interface and the metrics, at :attr:`page_address`."""
        return {"api": self.api_port, "prometheus": self.prometheus_port}

    @property
    def page_address(self) -> str:
        """Loopback address of the REST interface and the metrics. Nodes that share a host use different loopback addresses."""
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
        """Path of the configuration. With authentication, it is a copy outside the evidence, because it contains the password's hash."""
        return f"{self.secret}/scylla.yaml" if self.authentication else "conf/scylla.yaml"

    @property
    def secret_files(self) -> list[ConfigFile]:
        return [*super().secret_files, *([ConfigFile(self.options_file, self._with_user)] if self.authentication else [])]

    @property
    def _with_user(self) -> str:
        """Configuration with the first user, for 5.4 and newer (ScyllaDB's manual, "Creating a Custom Superuser").

        The password must be hashed; 5,000 rounds are the default of crypt(3). Only Ansible's processes evaluate this member, so
        Ansible's packages are available.
        """
        if self.starts_with_default_user:
            return self._configuration
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
        """Configuration files: the settings that differ from ScyllaDB's defaults, and SimpleSnitch's names for another snitch."""
        return [self.conf_file("scylla.yaml", self._configuration), self.conf_file("cassandra-rackdc.properties", "dc=datacenter1\nrack=rack1\n")]

    @property
    def command(self) -> list[str]:
        return [
            *(self.binary, "--options-file", self.options_file, "--log-to-stdout", "1", "--log-to-syslog", "0"),
            *("--default-log-level", "info", "--memory", f"{self.memory_mb}M"),
            *(["--smp", str(self.smp)] if self.smp else []),
            *(["--cpuset", self.cores] if self.cores else []),
            *(["--overprovisioned"] if self.overprovisioned else []),
            *(["--io-properties-file", self.io_properties] if self.io_properties else []),
            *(["--lock-memory", "1"] if self.tune else []),
            *(["--logger-log-level", "compaction=debug"] if self.release >= (2025, 4) else []),
            *([SOCKETS, "1000"] if self.developer_mode and not any(argument.startswith(SOCKETS) for argument in self.options) else []),
            *self.options,
        ]

    @property
    def words(self) -> list[str]:
        return [
            f"host={self.node['address']}",
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
        """Chooses the ports of the REST interface and the metrics on the loopback address; :attr:`node_more` returns them."""

        def choose(host: str) -> dict[str, Any]:
            system = self.at(steps, host)
            return steps.choose_ports(host, system.page_address, system.page_ports)

        for host, ports in steps.each("Choose the ports of this host", choose, steps.databases).items():
            steps.remember(host, system_page_ports=ports)

    def start_turns(self, hosts: Sequence[str]) -> list[Sequence[str]]:
        # Only one node may join a cluster at a time.
        return [[host] for host in hosts]

    def start(self, steps: Steps) -> None:
        """Checks that all nodes have the same ports, as each node assumes, and starts the nodes."""
        nodes = self.nodes
        if any(len({node[name] for node in nodes}) > 1 for name in ("cql", "storage")):
            ports = ", ".join(f"{host}: {node['cql']} and {node['storage']}" for host, node in zip(self.hosts, nodes, strict=True))
            steps.refuse("Check that all nodes have the same ports", f"different ports are free: {ports}; set scylla_cql_port and scylla_storage_port")
        if tuned := [host for host in steps.databases if self.at(steps, host).tune]:
            argv = ["sh", "-euc", '/opt/scylladb/scripts/perftune.py --options-file "$1" && touch "$2"', "sh", self.tuning, self.tuned_mark]
            steps.each("Tune the host's disks and interrupts", lambda host: steps.run(host, argv, root=True, creates=self.tuned_mark), tuned)
        super().start(steps)

    def ready(self, steps: Steps) -> None:
        super().ready(steps)
        if self.authentication:
            # The server creates its first user some seconds after it opens its port.
            nodes = f"nodes={len(steps.databases)}"
            steps.each("Wait until the first user can log in", lambda host: steps.until_admin(host, "user", nodes), steps.databases[:1])

    def tuned(self) -> list[Tuned]:
        return [
            Tuned(
                "tune",
                True,
                "[Production readiness guidelines](https://docs.scylladb.com/manual/stable/operating-scylla/procedures/tips/"
                "production-readiness.html), Performance: run scylla_setup. Dohyo runs these steps: iotune, cores, interrupts and"
                " locked memory, outside developer mode",
            ),
            Tuned("endpoint_snitch", "GossipingPropertyFileSnitch", "the same, Gossip configuration", vanilla="SimpleSnitch"),
            Tuned("internode_compression", "all", "the same, Inter-node compression", vanilla="none"),
        ]


SYSTEMS = [Scylla()]
