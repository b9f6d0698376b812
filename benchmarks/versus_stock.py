"""Drives stock YCSB's client and ours against the same server, in turns, and prints the ratios with their spread.

The peer is the stock ``site.ycsb.Client``. With ``YCSB_HOME`` naming an unpacked stock release it drives the stock
bindings of that release; without, it drives our bindings one record at a time, which shows what batches bring but not
what the bindings are worth.

How a ratio is made: stock and ours run one after the other, ``--rounds`` times; each pair gives one ratio, and the
median of the pairs is printed with the smallest and the largest. Both sides get the same warm-up, which does not count
(stock has none, so its rate is taken from its status lines after that time), the same heap and the same table. In the
modes named "best" each side uses the number of threads at which it was fastest in short probes before. The processor
time is that of the whole client process over all records it carried, start and JIT compilation included.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from side_by_side import BINDINGS, JAVA, MODULES, OUR_BATCH_MODE, ROOT, bundle, middle, mix, server, spread

HEAP = "-Xmx768m"

STOCK_BINDINGS = {
    "cassandra": ("cassandra-binding", "site.ycsb.db.CassandraCQLClient"),
    "hbase": ("hbase2-binding", "site.ycsb.db.hbase2.HBaseClient2"),
    "aerospike": ("aerospike-binding", "site.ycsb.db.AerospikeClient"),
    "mysql-innodb": ("jdbc-binding", "site.ycsb.db.JdbcDBClient"),
}
# Our classes, for the stock client.
OUR_CLASSES = {
    "cassandra": "dohyo.cassandra.CassandraBinding",
    "hbase": "dohyo.hbase.HBaseBinding",
    "aerospike": "dohyo.aerospike.AerospikeBinding",
    "mysql-innodb": "dohyo.mysql.MysqlBinding",
}
# Stock's binding writes strings, which Cassandra does not take for its blobs.
AS_TEXT = {"cassandra_column_type": "text"}
STATUS_LINE = re.compile(r" (\d+) sec: (\d+) operations; ")


@dataclass(frozen=True)
class Measured:
    """One run of one side."""

    rate: float  # records per second after the warm-up
    cpu_us: float  # processor time of the whole client process per record, in microseconds


@dataclass(frozen=True)
class Side:
    """A client that can be run: its command without the properties of the mode."""

    name: str
    command: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)
    threads: tuple[int, ...] = (8,)
    batch: int = 1


@dataclass(frozen=True)
class Mode:
    """What both sides do; ``aim`` is the ratio of records per second that the project wants to reach."""

    name: str
    properties: dict[str, str]
    aim: float
    cpu_aim: float | None = None


def execute(side: Side, threads: int, properties: dict[str, str], warmup: int, seconds: int) -> Measured:
    """Runs one side once and measures it.

    Raises:
        SystemExit: if the client fails, or if stock YCSB, whose exit code says nothing, had errors.
    """
    stock = side.name == "stock"
    bounds = {"maxexecutiontime": str(warmup + seconds), "operationcount": "2000000000", "status.interval": "1"}
    if not stock:
        bounds = {"maxexecutiontime": str(seconds), "operationcount": "0", "warmuptime": str(warmup)}
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "client.json"
        merged = properties | side.properties | bounds | {"threadcount": str(threads), "client.summary": str(summary)}
        command = [*side.command, "-t", "-s"]
        for key, value in merged.items():
            command += ["-p", f"{key}={value}"]
        with (Path(folder) / "out").open("w+") as out, (Path(folder) / "err").open("w+") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            results, messages = out.read(), err.read()
        if process.returncode != 0:
            sys.exit(f"{side.name} ended with exit code {process.returncode}:\n{messages[-2000:]}")
        cpu = usage.ru_utime + usage.ru_stime
        if stock:
            return stock_result(results, messages, warmup, cpu)
        counts = json.loads(summary.read_text())
        carried = counts["records"] + counts["warmup_operations"] * side.batch
        return Measured(counts["records"] / counts["measured_seconds"], cpu / carried * 1e6)


def stock_result(results: str, messages: str, warmup: int, cpu: float) -> Measured:
    """Takes the rate after the warm-up from stock YCSB's status lines, one a second.

    Raises:
        SystemExit: if an operation failed, or the status lines are missing.
    """
    failed = re.findall(r"\[\S+\], Return=(?!OK)\S+, \d+", results)
    points = [(int(second), int(operations)) for second, operations in STATUS_LINE.findall(messages)]
    steady = [point for point in points if point[0] >= warmup]
    if failed or len(steady) < 2:
        sys.exit(f"stock YCSB failed: {failed}\n{results[-1000:]}\n{messages[-2000:]}")
    # The last line is printed at the end of the process, so the one before it ends the last whole second.
    (first, before), (last, after) = steady[0], steady[-2]
    return Measured((after - before) / (last - first), cpu / points[-1][1] * 1e6)


def best_threads(side: Side, properties: dict[str, str]) -> int:
    """The number of threads at which a side is fastest, by one short probe each."""
    if len(side.threads) == 1:
        return side.threads[0]
    return max(side.threads, key=lambda threads: execute(side, threads, properties, 3, 3).rate)


def compare(title: str, stock: Side, ours: Side, mode: Mode, arguments: argparse.Namespace) -> None:
    """Runs both sides in turns and prints their ratios, unless other modes were asked for."""
    if arguments.only and not any(part in f"{title} {mode.name}" for part in arguments.only):
        return
    stock_threads = best_threads(stock, mode.properties)
    our_threads = best_threads(ours, mode.properties)
    pairs: list[tuple[Measured, Measured]] = []
    for _ in range(arguments.rounds):
        pairs.append(
            (
                execute(stock, stock_threads, mode.properties, arguments.warmup, arguments.seconds),
                execute(ours, our_threads, mode.properties, arguments.warmup, arguments.seconds),
            )
        )
    rates = [b.rate / a.rate for a, b in pairs]
    cpu = [a.cpu_us / b.cpu_us for a, b in pairs]
    print(
        f"| {title} {mode.name} | {middle([a.rate for a, _ in pairs]):,.0f} ({stock_threads}) "
        f"| {middle([b.rate for _, b in pairs]):,.0f} ({our_threads}) | {spread(rates)} | {mode.aim:g} "
        f"| {middle([a.cpu_us for a, _ in pairs]):.2f} | {middle([b.cpu_us for _, b in pairs]):.2f} "
        f"| {spread(cpu)} | {mode.cpu_aim or '–'} |",
        flush=True,
    )


def our_side(system: str, connection: dict[str, str], batch: int) -> Side:
    """Our client: batches at its best thread count, one by one at the same 8 threads as stock."""
    properties = connection | ({"batchsize": str(batch)} | OUR_BATCH_MODE[system] if batch > 1 else {})
    command = (str(JAVA), HEAP, "-cp", f"{bundle(system)}/*", "dohyo.client.Client", "-db", MODULES[system])
    return Side("ours", command, properties, (2, 4, 8) if batch > 1 else (8,), batch)


def stock_side(system: str, connection: dict[str, str], folder: Path, best: bool) -> Side:
    """The stock client, with the stock binding where YCSB_HOME is set."""
    threads = (8, 16, 32, 64) if best else (8,)
    home = os.environ.get("YCSB_HOME")
    if home is None:
        command = (str(JAVA), HEAP, "-cp", f"{bundle(system)}/*", "site.ycsb.Client", "-db", OUR_CLASSES[system])
        return Side("stock", command, connection, threads)
    binding, name = STOCK_BINDINGS[system]
    if not (Path(home) / binding / "lib").is_dir():
        sys.exit(f"YCSB_HOME={home}: there is no {binding}/lib; name an unpacked release of stock YCSB that has it")
    connection = connection | stock_connection(system, connection)
    # The stock HBase binding finds its server in hbase-site.xml on the class path only.
    entries = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in connection.items()
        if key.startswith("hbase.")
    )
    (folder / "hbase-site.xml").write_text(f"<configuration>{entries}</configuration>")
    path = f"{folder}:{home}/lib/*:{home}/{binding}/lib/*"
    if binding == "jdbc-binding":
        # It brings no driver; the same one as ours, so that the bindings are compared.
        path += "".join(f":{jar}" for jar in bundle(system).glob("mariadb-java-client-*.jar"))
    options = ("--add-opens", "java.base/java.nio=ALL-UNNAMED")
    return Side("stock", (str(JAVA), HEAP, *options, "-cp", path, "site.ycsb.Client", "-db", name), connection, threads)


def stock_connection(system: str, ours: dict[str, str]) -> dict[str, str]:
    """The properties that lead a stock binding to the server, where they have other names than ours."""
    if system == "aerospike":
        return {
            "as.host": ours["aerospike.hosts"].partition(",")[0].partition(":")[0],
            "as.port": ours["aerospike.port"],
            "as.namespace": ours["aerospike.namespace"],
        }
    if system == "mysql-innodb":
        return {
            "db.driver": "org.mariadb.jdbc.Driver",
            "db.url": ours["mysql.url"],
            "db.user": ours["mysql.user"],
            "db.passwd": ours.get("mysql.password", ""),
        }
    return {}


def load_stock(stock: Side, records: int, fields: int) -> None:
    """Loads the stock client's own rows beside ours.

    Raises:
        SystemExit: if that fails.
    """
    command = [*stock.command, "-load", "-threads", "8"]
    for key, value in (stock.properties | mix("read", records, fields)).items():
        command += ["-p", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if f"[INSERT], Return=OK, {records}" not in done.stdout:
        sys.exit(f"stock YCSB could not load its rows:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")


def run_noop(arguments: argparse.Namespace, folder: Path) -> None:
    """The clients alone: no database, values made on both sides."""
    jars = BINDINGS / "client" / "target" / "bundle"
    subprocess.run(
        [JAVA.with_name("javac"), "-cp", f"{jars}/*", "-d", folder, ROOT / "benchmarks" / "SinkDb.java"], check=True
    )
    java = (str(JAVA), HEAP, "-cp")
    stock = Side("stock", (*java, f"{folder}:{jars}/*", "site.ycsb.Client", "-db", "SinkDb"))
    ours = Side("ours", (*java, f"{BINDINGS}/client/target/*:{jars}/*", "dohyo.client.Client", "-db", "noop"))
    writes = mix("write", 100_000, 10) | {"requestdistribution": "zipfian"}
    compare("no-op", stock, ours, Mode("writes of 10 × 100 B, 8 threads", writes, 2.0), arguments)


# Records per second against stock, batches of 100, each side at its best number of threads.
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


def run_system(system: str, arguments: argparse.Namespace, folder: Path) -> None:
    """All modes of one database; reads come first, on the settled table. One by one only with YCSB's usual rows."""
    for fields in (1, 10):
        with server(system, mix("read", arguments.records, fields), AS_TEXT) as connection:
            if system == "aerospike" and "YCSB_HOME" in os.environ:
                # Its keys are strings, ours are bytes, and to Aerospike that is a difference.
                load_stock(stock_side(system, connection, folder, False), arguments.records, fields)
            for kind in ("read", "write"):
                properties = mix(kind, arguments.records, fields)
                title = f"{system} {fields} × 100 B"
                mode = Mode(
                    f"{kind}s, batches of 100, best threads", properties, AIMS.get((system, fields, kind), 1.0), 6.0
                )
                stock, ours = stock_side(system, connection, folder, True), our_side(system, connection, 100)
                compare(title, stock, ours, mode, arguments)
                if fields == 10:
                    mode = Mode(f"{kind}s, one by one, 8 threads", properties, 1.0)
                    stock, ours = stock_side(system, connection, folder, False), our_side(system, connection, 1)
                    compare(title, stock, ours, mode, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what",
        nargs="*",
        choices=["noop", *STOCK_BINDINGS],
        help="default: all",
        default=["noop", *STOCK_BINDINGS],
    )
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs per mode (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=8, help="measured per run (default %(default)s)")
    parser.add_argument("--warmup", type=int, default=6, help="before that, per run (default %(default)s)")
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="only modes whose name has this text; repeatable"
    )
    parser.add_argument("--records", type=int, default=100_000, help="rows in the table (default %(default)s)")
    arguments = parser.parse_args()
    print(
        "| mode | stock rec/s (threads) | ours rec/s (threads) | ours / stock | aim "
        "| stock CPU µs/rec | ours CPU µs/rec | stock / ours | aim |\n|---|---|---|---|---|---|---|---|---|"
    )
    folder = Path(tempfile.mkdtemp())
    try:
        for what in arguments.what:
            if what == "noop":
                run_noop(arguments, folder)
            else:
                run_system(what, arguments, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
