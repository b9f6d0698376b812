"""Compares Dohyo's client with the stock YCSB client. The two run alternately, on one server or without a server.

`side_by_side.py` describes cells, turns and figures.

The peer is the stock `site.ycsb.Client`. If `YCSB_HOME` is the folder of an unpacked stock release, the peer runs the
stock bindings of that release. Otherwise it runs Dohyo's bindings one record at a time, which shows the gain from
batches but does not compare bindings.

Both sides read and write the same rows, except in Aerospike, which distinguishes the strings of stock keys from the
bytes of Dohyo's keys. There, each side has its own rows in the same set, with the same key texts and sizes.

`noop` and `delay` measure the clients without a database, with 8, 128 and 4,096 logical clients. Dohyo's client runs
with each of its loops (`client.loop`). `SinkDb` and `DelayDb` in `alone/` read every value, like a real binding. For
both sides, `noop` answers at once, and `delay` after 1 ms on a separate thread, like a driver's event loop. The stock
client has a thread for each logical client. Both JVMs use stacks of 256 KB, so that 4,096 threads fit.
`Allocations.java` prints the allocated bytes, which the JVM counts for its threads (`com.sun.management.ThreadMXBean`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from side_by_side import (
    BATCHES,
    BINDINGS,
    JAVA,
    ONE_BY_ONE,
    ROOT,
    Aims,
    Cell,
    Client,
    Load,
    Properties,
    arguments_of,
    bundle,
    compare,
    dohyo_client,
    java,
    mix,
    selected,
    started,
    warm_table,
    without_batches,
    ycsb,
)

STOCK_BINDINGS = {
    "cassandra": ("cassandra-binding", "site.ycsb.db.CassandraCQLClient"),
    "hbase": ("hbase2-binding", "site.ycsb.db.hbase2.HBaseClient2"),
    "aerospike": ("aerospike-binding", "site.ycsb.db.AerospikeClient"),
    "mysql-innodb": ("jdbc-binding", "site.ycsb.db.JdbcDBClient"),
}
# Classes of Dohyo's bindings, for the stock client.
OUR_CLASSES = {
    "cassandra": "dohyo.cassandra.CassandraBinding",
    "hbase": "dohyo.hbase.HBaseBinding",
    "aerospike": "dohyo.aerospike.AerospikeBinding",
    "mysql-innodb": "dohyo.mysql.MysqlBinding",
}
# Setting for text columns, because the stock binding writes strings, which Cassandra rejects for blobs.
AS_TEXT = {"cassandra_column_type": "text"}
# For each measurement without a database: Dohyo's binding, the stock client's binding, and the aims.
ALONE = {
    "noop": ("noop", "SinkDb", Aims(2, 0.5, 1)),
    "delay": ("DelayBinding", "DelayDb", Aims(1, 1, 1)),
}
ALONE_LOADS = (ONE_BY_ONE, Load("128 × 1", 128), Load("4,096 × 1", 4096))
# Aims for the ratio of Dohyo's to the stock client's records per second in batches. Without batches, the aim is 1.
AIMS = {
    ("cassandra", 1, "write"): 5.0,
    ("cassandra", 1, "read"): 4.0,
    ("cassandra", 10, "write"): 2.5,
    ("cassandra", 10, "read"): 3.0,
    ("hbase", 1, "write"): 6.0,
    ("hbase", 1, "read"): 5.0,
    ("hbase", 10, "write"): 1.8,
    ("hbase", 10, "read"): 2.5,
    ("aerospike", 1, "write"): 5.0,
    ("aerospike", 1, "read"): 5.0,
    ("mysql-innodb", 1, "write"): 5.0,
    ("mysql-innodb", 1, "read"): 5.0,
}


def stock_command(system: str, table: Properties, folder: Path) -> list[str]:
    """Returns the command of the stock client. It uses the stock binding if YCSB_HOME is set, otherwise Dohyo's.

    :raises SystemExit: if YCSB_HOME lacks the binding
    """
    home = os.environ.get("YCSB_HOME")
    if home is None:
        return java(f"{bundle(system)}/*", "site.ycsb.Client", "-db", OUR_CLASSES[system])
    binding, name = STOCK_BINDINGS[system]
    if not (Path(home) / binding / "lib").is_dir():
        sys.exit(f"YCSB_HOME={home}: {binding}/lib does not exist; set YCSB_HOME to an unpacked stock YCSB that has it")
    # The stock HBase binding reads the server's address only from hbase-site.xml on the class path.
    entries = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in table.items()
        if key.startswith("hbase.")
    )
    (folder / "hbase-site.xml").write_text(f"<configuration>{entries}</configuration>")
    path = f"{folder}:{home}/lib/*:{home}/{binding}/lib/*"
    if binding == "jdbc-binding":
        # The stock binding contains no driver. Add the driver of Dohyo's binding, so that only the bindings differ.
        path += "".join(f":{jar}" for jar in bundle(system).glob("mariadb-java-client-*.jar"))
    return java(path, "site.ycsb.Client", "-db", name)


def stock(cell: Cell, table: Properties, folder: Path) -> Client:
    """Returns the stock client, which has a thread for each request in flight."""
    operations = mix(cell.kind, int(table["recordcount"]), cell.fields)
    properties = {
        **table,
        **stock_connection(cell.system, table),
        **operations,
        "threadcount": cell.load.requests,
    }
    return ycsb(stock_command(cell.system, table, folder), properties)


def stock_connection(system: str, table: Properties) -> dict[str, str]:
    """Returns the connection properties for which a stock binding uses other names than Dohyo's binding."""
    if system == "aerospike":
        return {
            "as.host": table["aerospike.hosts"].partition(",")[0].partition(":")[0],
            "as.port": table["aerospike.port"],
            "as.namespace": table["aerospike.namespace"],
        }
    if system == "mysql-innodb":
        return {
            "db.driver": "org.mariadb.jdbc.Driver",
            "db.url": table["mysql.url"],
            "db.user": table["mysql.user"],
            "db.passwd": table.get("mysql.password", ""),
        }
    return {}


def load_stock(system: str, table: Properties, folder: Path) -> None:
    """Loads separate rows for the stock client.

    :raises SystemExit: if the load fails
    """
    properties = {**table, **stock_connection(system, table), "threadcount": 8}
    client = ycsb(stock_command(system, table, folder), properties, phase="-load")
    with started(client, str(folder), 3600) as (process, _):
        output, _ = process.communicate()
    if f"[INSERT], Return=OK, {table['recordcount']}" not in output:
        sys.exit(f"stock YCSB could not load its rows:\n{output[-3000:]}")


def run_alone(name: str, arguments: argparse.Namespace, folder: Path) -> bool:
    """Compares the clients without a database. Both clients generate values. Returns whether all runs were measured."""
    jars, sources = (
        f"{BINDINGS}/client/target/bundle/*",
        sorted((ROOT / "benchmarks" / "alone").glob("*.java")),
    )
    classes, agent, manifest = (
        folder / "classes",
        folder / "alone.jar",
        folder / "manifest",
    )
    manifest.write_text("Premain-Class: Allocations\n")
    subprocess.run([JAVA.with_name("javac"), "-cp", jars, "-d", classes, *sources], check=True)
    subprocess.run([JAVA.with_name("jar"), "-cfm", agent, manifest, "-C", classes, "."], check=True)
    program, *options = java(f"{jars}:{agent}")
    command = [program, "-Xss256k", f"-javaagent:{agent}", *options]
    binding, db, aims = ALONE[name]
    done = True
    for load in ALONE_LOADS:
        for loop in ("events", "threads"):
            for cell in selected([Cell(f"{name}, {loop},", 10, "write", load)], arguments):
                properties = mix(cell.kind, arguments.records, cell.fields) | {"threadcount": str(load.threads)}
                changes = dict(change.split("=", 1) for change in arguments.set)
                our = {
                    **properties,
                    "client.loop": loop,
                    "operationcount": 0,
                    **changes,
                }
                done &= compare(
                    cell.title,
                    ycsb([*command, "site.ycsb.Client", "-db", db], properties),
                    ycsb([*command, "dohyo.client.Client", "-db", binding], our),
                    aims,
                    arguments,
                    str(folder),
                )
    return done


def run_cell(cell: Cell, table: Properties, arguments: argparse.Namespace, folder: Path) -> bool:
    """Compares the two clients in one cell. Returns whether both were measured."""

    def peer(cell: Cell) -> Client:
        return stock(cell, table, folder)

    title, aims = cell.title, Aims(1)
    if cell.load.batch > 1:
        load, theirs = without_batches(cell, peer, arguments, str(folder))
        title, aims = (
            f"{title} (peer: {load})",
            Aims(AIMS.get((cell.system, cell.fields, cell.kind), 1), 1 / 6),
        )
    else:
        theirs = peer(cell)
    return compare(title, theirs, dohyo_client(cell, table, arguments.set), aims, arguments, str(folder))


def run_system(system: str, arguments: argparse.Namespace, folder: Path) -> bool:
    """Runs the cells of one database on the settled table, reads first. Single records run only with 10 fields."""
    done = True
    for fields in (1, 10):
        loads = (BATCHES, ONE_BY_ONE) if fields == 10 else (BATCHES,)
        cells = selected(
            [Cell(system, fields, kind, load) for kind in ("read", "write") for load in loads],
            arguments,
        )
        if not cells:
            continue
        with warm_table(cells[0], {}, AS_TEXT, arguments, str(folder)) as table:
            if system == "aerospike" and "YCSB_HOME" in os.environ:
                load_stock(system, table, folder)
            for cell in cells:
                done &= run_cell(cell, table, arguments, folder)
    return done


def main() -> None:
    arguments = arguments_of(__doc__, [*ALONE, *STOCK_BINDINGS])
    with tempfile.TemporaryDirectory() as name:
        done = [(run_alone if part in ALONE else run_system)(part, arguments, Path(name)) for part in arguments.what]
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
