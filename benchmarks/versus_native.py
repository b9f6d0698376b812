"""Compares Dohyo's client with load generators for a single database, which run alternately on one server.

    benchmarks/versus_native.py cassandra --only "8 × 1"

The peers, and where the script searches for them (README.md explains how to install them):

- cassandra, scylla: `latte` (Rust) in $LATTE or on the PATH
- aerospike: the vendor's Java benchmark, in the class path $AEROSPIKE_BENCHMARK
- hbase: HBase's own PerformanceEvaluation, in the class path $HBASE_PE
- mysql-innodb: `sysbench` (C and LuaJIT) in $SYSBENCH or on the PATH

`side_by_side.py` describes cells, turns and figures. Both sides use the same table and keys, except for Aerospike. Its
benchmark uses numbers as keys, so it has its own rows of the same size and number. The Java peers run with the JVM,
heap and flags that Dohyo's client has in a trial.

The following commands start the peers for 8 × 1. For 128 in flight, latte and Aerospike send 128 asynchronous requests
from one thread, and HBase and sysbench use 128 threads. Dohyo's client uses 8 threads with 16 requests each. If a peer
does not support batches, Dohyo's client should reach twice its rate.

    latte run --threads 1 --connections 1 --concurrency 8 --duration 3600s --warmup 0 --sampling 1s --quiet
        --consistency LEVEL --functions read:1,write:1 -P rows=100000 -P fields=10 -P keyspace=`ycsb`
        --output report.json native/latte.rn 127.0.0.1:9042
    java … com.aerospike.benchmarks.Main -h 127.0.0.1:3000 -n ycsb -s vendor -k 100000 -b 10 -o B:100 -R -N
        -latency 7,1 -commitLevel LEVEL -w RU,50 -z 8
        (128 in flight: -async -C 128 -W 1 -asyncMaxConnsPerNode 128; batches, for reads only: -B 100; the same command
        with -w I loads its rows first)
    java … org.apache.hadoop.hbase.PerformanceEvaluation -Dhbase.zookeeper.quorum=…
        -Dhbase.zookeeper.property.clientPort=… --nomapred --oneCon=true --table=usertable --rows=12500 --cycles=1000000
        --columns=10 --valueSize=100 --measureAfter=12500 --sampleRate=0.09524 --addColumns=false
        randomRead 8
        (writes: --autoFlush=true randomWrite; batches: --multiGet=100, --multiPut=100; no mixes)
    sysbench --config-file=sysbench.conf native/sysbench.lua --threads=8 --time=0 --report-interval=1 --records=100000
        --fields=10 --batch=1 --reads=50 --mysql-host=… --mysql-port=… --mysql-db=… --mysql-user=… run
        (sysbench.conf contains the password)

A thread of PerformanceEvaluation reports only when it has finished a cycle. A cycle is the thread's share of the rows,
or about a tenth of it with `sampleRate`. A window in which a thread reports less than twice is rejected. The rate is
the sum of the threads' rates between their first and last reports. `measureAfter` turns off the histograms, because
printing them costs more than the requests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from side_by_side import (
    BATCHES,
    HEAP,
    MANY,
    ONE_BY_ONE,
    READS,
    ROOT,
    Aims,
    Cell,
    Client,
    Properties,
    arguments_of,
    compare,
    dohyo_client,
    java,
    selected,
    warm_table,
    without_batches,
)

NATIVE = ROOT / "benchmarks" / "native"
LOADS = (ONE_BY_ONE, MANY, BATCHES)
# Properties of a table that both sides can use.
TABLE = {"insertorder": "ordered"}
# Properties of a table like PerformanceEvaluation's: its keys have 26 digits, and its columns have numbers as names.
HBASE_TABLE = TABLE | {
    "keycolumns": "zeros text(8) 1, number text(18)",
    "fieldnameprefix": "",
}


def latte(program: str, cell: Cell, table: Properties) -> Client:
    functions = {"read": "read", "write": "write", "mix": "read:1,write:1"}[cell.kind]
    command = (
        f"{program} run --threads 1 --connections 1 --concurrency {cell.load.requests} --duration 3600s"
        f" --warmup 0 --sampling 1s --quiet --consistency {table['cassandra.writeconsistencylevel']}"
        f" --functions {functions} -P rows={table['recordcount']}"
        f" -P fields={cell.fields} -P keyspace=`{table['cassandra.keyspace']}` --output report.json"
        f" {NATIVE}/latte.rn {table['hosts']}:{table['port']}"
    )
    line = r"^ *[\d.]+ +(?P<new>\d+) +%s +\d+ "
    return Client(command.split(), line % r"\d+", line % r"[1-9]\d*" + "|^error")


def sysbench(program: str, cell: Cell, table: Properties) -> Client:
    url = urlsplit(table["mysql.url"].removeprefix("jdbc:"))
    command = (
        f"{program} --config-file=sysbench.conf {NATIVE}/sysbench.lua --threads={cell.load.requests}"
        f" --time=0 --report-interval=1 --records={table['recordcount']} --fields={cell.fields}"
        f" --batch={cell.load.batch} --reads={READS[cell.kind]} --mysql-host={url.hostname} --mysql-port={url.port}"
        f" --mysql-db={url.path[1:]} --mysql-user={table['mysql.user']} run"
    )
    return Client(
        command.split(),
        r"^(?P<new>\d+) events",
        r"[1-9]\d* errors|^FATAL",
        cell.load.batch,
        files={"sysbench.conf": f"mysql-password={table.get('mysql.password', '')}\n"},
    )


def evaluation(path: str, cell: Cell, table: Properties) -> Client:
    threads = cell.load.requests
    rows = int(table["recordcount"]) // threads
    # Sample the rows, so that cycles are short and each thread reports several times in a window.
    every = next(interval for interval in range(10, rows + 1) if rows % interval == 0)
    server = " ".join(f"-D{key}={value}" for key, value in table.items() if key.startswith("hbase."))
    command = (
        f"-Dlog4j.configuration=file:{NATIVE}/log4j.properties org.apache.hadoop.hbase.PerformanceEvaluation {server}"
        f" --nomapred --oneCon=true --table=usertable --rows={rows} --cycles=1000000 --columns={cell.fields}"
        f" --valueSize=100 --measureAfter={rows} --sampleRate={1 / (every + 0.5):.5f}"
    )
    if cell.kind == "read":
        command += f" --addColumns=false{' --multiGet=100' if cell.load.batch > 1 else ''} randomRead {threads}"
    else:
        command += f" --autoFlush=true{' --multiPut=100' if cell.load.batch > 1 else ''} randomWrite {threads}"
    # Each thread of PerformanceEvaluation needs 32 MB for its histograms.
    command_line = java(path, *command.split(), heap=HEAP + 40 * threads)
    return Client(command_line, r"^(?P<by>\S+) Cycle=[1-9]", "Exception", rows // every, threads)


def aerospike(path: str, cell: Cell, table: Properties, loads: bool = False) -> Client:
    command = (
        f"com.aerospike.benchmarks.Main -h {table['aerospike.hosts'].partition(',')[0]}"
        f" -n {table['aerospike.namespace']} -s vendor -k {table['recordcount']} -b {cell.fields} -o B:100 -R -N"
        f" -latency 7,1 -commitLevel {table['aerospike.commitlevel'].lower()}"
        f" -w {'I' if loads else f'RU,{READS[cell.kind]}'} -z {cell.load.threads}"
    )
    if cell.load.inflight > 1:
        command += f" -async -C {cell.load.requests} -W 1 -asyncMaxConnsPerNode {cell.load.requests}"
    command += f" -B {cell.load.batch}" if cell.load.batch > 1 else ""
    failure = r"(timeouts|errors|nf)=[1-9]|^Exception|^Error"
    return Client(
        java(path, *command.split()),
        r" total\(tps=(?P<new>\d+)",
        failure,
        cell.load.batch,
    )


@dataclass(frozen=True)
class Peer:
    """A load generator for one database. `client` creates its command for a cell."""

    client: Callable[[str, Cell, Properties], Client]
    variable: str
    program: str | None  # name on the PATH
    source: str
    cpu_aim: float
    kinds: tuple[str, ...] = ("read", "write", "mix")
    batches: tuple[str, ...] = ()  # kinds that support batches

    def find(self) -> str | None:
        return os.environ.get(self.variable) or (self.program and shutil.which(self.program))


PEERS = {
    **dict.fromkeys(("cassandra", "scylla"), Peer(latte, "LATTE", "latte", "cargo install latte-cli", 1.2)),
    "aerospike": Peer(
        aerospike,
        "AEROSPIKE_BENCHMARK",
        None,
        "the class path of benchmarks/ in the sources of Aerospike's Java client",
        1.0,
        batches=("read",),
    ),
    "hbase": Peer(
        evaluation,
        "HBASE_PE",
        None,
        "the class path of hbase-mapreduce and its test jars, in the server's version",
        1.0,
        kinds=("read", "write"),
        batches=("read", "write"),
    ),
    "mysql-innodb": Peer(
        sysbench,
        "SYSBENCH",
        "sysbench",
        "apt-get install sysbench",
        1.2,
        batches=("read", "write", "mix"),
    ),
}


def run_cell(
    cell: Cell,
    program: str,
    table: Properties,
    arguments: argparse.Namespace,
    folder: str,
) -> bool:
    """Compares Dohyo's client with the peer in one cell. Returns whether both were measured."""
    peer = PEERS[cell.system]

    def client(cell: Cell) -> Client:
        return peer.client(program, cell, table)

    title, theirs, rate = cell.title, client(cell), 1.0
    if cell.load.batch > 1 and cell.kind not in peer.batches:
        load, theirs = without_batches(cell, client, arguments, folder)
        title, rate = f"{title} (peer: {load})", 2.0
    return compare(
        title,
        theirs,
        dohyo_client(cell, table, arguments.set),
        Aims(rate, peer.cpu_aim),
        arguments,
        folder,
    )


def run_system(system: str, arguments: argparse.Namespace, folder: str) -> bool:
    """Runs the requested cells of one database. Each number of fields has its own server."""
    peer = PEERS[system]
    program = peer.find()
    if not program:
        print(
            f"{system}: skipped, because {peer.variable} is not set; it needs {peer.source}",
            file=sys.stderr,
        )
        return True
    done = True
    for fields in (1, 10):
        cells = selected(
            [Cell(system, fields, kind, load) for kind in peer.kinds for load in LOADS],
            arguments,
        )
        if not cells:
            continue
        rows = HBASE_TABLE if system == "hbase" else TABLE
        with warm_table(cells[0], rows, {"hbase_family": "info0"}, arguments, folder) as table:
            if system == "aerospike":
                loading = aerospike(
                    program,
                    Cell(system, fields, "write", ONE_BY_ONE),
                    table,
                    loads=True,
                )
                subprocess.run(loading.command, check=True, capture_output=True)
            for cell in cells:
                done &= run_cell(cell, program, table, arguments, folder)
    return done


def main() -> None:
    arguments = arguments_of(__doc__, list(PEERS))
    with tempfile.TemporaryDirectory() as folder:
        done = [run_system(system, arguments, folder) for system in arguments.what]
    sys.exit(0 if all(done) else 1)


if __name__ == "__main__":
    main()
