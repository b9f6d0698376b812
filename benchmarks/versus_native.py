"""Drives our client and the load generator made for one database alone against the same server, in turns.

    benchmarks/versus_native.py cassandra --only "8 × 1"

The peers, and where they are looked for (README.md says how to get them):

- cassandra: `latte` (Rust) in $LATTE or on the PATH
- aerospike: the vendor's Java benchmark, in the class path $AEROSPIKE_BENCHMARK
- hbase: HBase's own PerformanceEvaluation, in the class path $HBASE_PE
- mysql-innodb: `sysbench` (C and LuaJIT) in $SYSBENCH or on the PATH

Each cell is a kind of rows, of operations and of load. Peer and ours run in the order A B B A A B, for `--warmup` and
`--window` seconds each, from their first line of progress on, against a server that has settled: its processes take
less than a tenth of a processor. Both have the same table and keys (Aerospike's benchmark names keys by numbers: it has
rows of its own, as large and as many), a uniform choice, and as many requests in flight on as many connections. The
Java peers have the JVM and the flags of ours, which are those of a trial.

Records are what a client's own lines say, at the time at which they come. Processor time (utime and stime in
/proc/PID/stat) and context switches (/proc/PID/task/*/status) are what the kernel counted for the client's process
within the window. Start and most of the JIT compilation are before it.

The peers' commands for 8 × 1. For 128 in flight latte and Aerospike have that many asynchronous requests on one thread,
HBase and sysbench that many threads; ours has 8 threads with 16 requests each. A peer without batches has 128 in
flight beside our batches, which are to carry twice as many records then.

    latte run --threads 1 --connections 1 --concurrency 8 --duration 3600s --warmup 0 --sampling 1s --quiet
        --consistency ONE --functions read:1,write:1 -P rows=100000 -P fields=10 -P keyspace=`ycsb`
        --output report.json native/latte.rn 127.0.0.1:9042
    java … com.aerospike.benchmarks.Main -h 127.0.0.1:3000 -n ycsb -s vendor -k 100000 -b 10 -o B:100 -R -N -w RU,50
        -z 8 (128 in flight: -async -C 128 -W 1 -asyncMaxConnsPerNode 128; batches, of reads only: -B 100; before, for
        its rows: -w I)
    java … org.apache.hadoop.hbase.PerformanceEvaluation -Dhbase.zookeeper.quorum=…
        -Dhbase.zookeeper.property.clientPort=… --nomapred --oneCon=true --table=usertable --rows=12500 --cycles=1000000
        --columns=10 --valueSize=100 --measureAfter=12500 --addColumns=false randomRead 8
        (writes: --autoFlush=true randomWrite; batches: --multiGet=100, --multiPut=100; it has no mix)
    sysbench native/sysbench.lua --threads=8 --time=0 --report-interval=1 --records=100000 --fields=10 --batch=1
        --reads=50 --mysql-host=… --mysql-port=… --mysql-db=… --mysql-user=… --mysql-password=… run

PerformanceEvaluation only says when a thread has gone through its share of the rows, so that a window needs a few such
turns. Its rate is the sum of its threads' rates between their first and their last turn in the window. `measureAfter`
turns off its histograms, which cost more than the requests do when it prints them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from side_by_side import ANSIBLE, JAVA, MODULES, OUR_BATCH_MODE, ROOT, bundle, middle, mix, server, spread

NATIVE = ROOT / "benchmarks" / "native"
TICK = os.sysconf("SC_CLK_TCK")
# Of a load: client threads, requests in flight of each, records of a request.
LOADS = {"8 × 1": (8, 1, 1), "128 in flight": (8, 16, 1), "batches of 100": (8, 1, 100)}
KINDS = {"read": "reads", "write": "writes", "mix": "50/50 mix"}
READS = {"read": 100, "write": 0, "mix": 50}
# What makes a table that the peer knows, too.
TABLE = {"insertorder": "ordered"}
# PerformanceEvaluation's keys are numbers of 26 digits, and its columns have no other names than numbers.
HBASE_TABLE = TABLE | {"keycolumns": "zeros text(8) 1, number text(18)", "fieldnameprefix": ""}

Properties = Mapping[str, str]


@dataclass(frozen=True)
class Cell:
    """What is compared in one row of the table."""

    system: str
    fields: int
    kind: str
    load: str

    @property
    def title(self) -> str:
        return f"{self.system} {self.fields} × 100 B {KINDS[self.kind]}, {self.load}"

    @property
    def threads(self) -> int:
        return LOADS[self.load][0]

    @property
    def inflight(self) -> int:
        return LOADS[self.load][1]

    @property
    def batch(self) -> int:
        return LOADS[self.load][2]


@dataclass(frozen=True)
class Client:
    """A client that can be run.

    A line of progress matches `progress`: its group `all` counts from the start, `new` from the line before, and where
    it has neither the line is 1. Its group `by` is the thread that it is of.
    """

    command: Sequence[str]
    progress: str
    failure: str
    worth: int = 1  # records of what is counted


@dataclass(frozen=True)
class Measured:
    """One run; processor time and context switches are per record."""

    rate: float
    cpu_us: float
    switches: float


def java(path: str, heap: int, *command: str) -> list[str]:
    defaults = yaml.safe_load((ANSIBLE / "roles" / "client" / "defaults" / "main.yml").read_text())
    return [str(JAVA), f"-Xms{heap}m", f"-Xmx{heap}m", *defaults["client_java_options"], "-cp", path, *command]


def ours(cell: Cell, table: Properties, changes: Sequence[str]) -> Client:
    properties = {
        **table,
        **mix(cell.kind, int(table["recordcount"]), cell.fields),
        **(OUR_BATCH_MODE[cell.system] if cell.batch > 1 else {}),
        "threadcount": cell.threads,
        "inflight": cell.inflight,
        "batchsize": cell.batch,
        "operationcount": 0,
        "maxexecutiontime": 3600,
        "status.interval": 1,
    }
    command = java(f"{bundle(cell.system)}/*", 512, "dohyo.client.Client", "-db", MODULES[cell.system], "-t", "-s")
    for each in [f"{key}={value}" for key, value in properties.items()] + list(changes):
        command += ["-p", each]
    progress = r" sec: \d+ operations; .*; (?P<all>\d+) records" if cell.batch > 1 else r" sec: (?P<all>\d+) operations"
    return Client(command, progress, r"-(FAILED|NOT_FOUND): Count=[1-9]|^ERROR")


def latte(program: str, cell: Cell, table: Properties) -> Client:
    functions = {"read": "read", "write": "write", "mix": "read:1,write:1"}[cell.kind]
    command = (
        f"{program} run --threads 1 --connections 1 --concurrency {cell.threads * cell.inflight} --duration 3600s"
        f" --warmup 0 --sampling 1s --quiet --consistency ONE --functions {functions} -P rows={table['recordcount']}"
        f" -P fields={cell.fields} -P keyspace=`{table['cassandra.keyspace']}` --output report.json"
        f" {NATIVE}/latte.rn {table['hosts']}:{table['port']}"
    )
    line = r"^ *[\d.]+ +(?P<new>\d+) +%s +\d+ "
    return Client(command.split(), line % r"\d+", line % r"[1-9]\d*" + "|^error")


def sysbench(program: str, cell: Cell, table: Properties) -> Client:
    place = urlsplit(table["mysql.url"].removeprefix("jdbc:"))
    command = (
        f"{program} {NATIVE}/sysbench.lua --threads={cell.threads * cell.inflight} --time=0 --report-interval=1"
        f" --records={table['recordcount']} --fields={cell.fields} --batch={cell.batch} --reads={READS[cell.kind]}"
        f" --mysql-host={place.hostname} --mysql-port={place.port} --mysql-db={place.path[1:]}"
        f" --mysql-user={table['mysql.user']} --mysql-password={table.get('mysql.password', '')} run"
    )
    return Client(command.split(), r"^(?P<new>\d+) events", r"[1-9]\d* errors|^FATAL", cell.batch)


def evaluation(path: str, cell: Cell, table: Properties) -> Client:
    threads = cell.threads * cell.inflight
    rows = int(table["recordcount"]) // threads
    server = " ".join(f"-D{key}={value}" for key, value in table.items() if key.startswith("hbase."))
    command = (
        f"-Dlog4j.configuration=file:{NATIVE}/log4j.properties org.apache.hadoop.hbase.PerformanceEvaluation {server}"
        f" --nomapred --oneCon=true --table=usertable --rows={rows} --cycles=1000000 --columns={cell.fields}"
        f" --valueSize=100 --measureAfter={rows}"
    )
    if cell.kind == "read":
        command += f" --addColumns=false{' --multiGet=100' if cell.batch > 1 else ''} randomRead {threads}"
    else:
        command += f" --autoFlush=true{' --multiPut=100' if cell.batch > 1 else ''} randomWrite {threads}"
    # Each of its threads has 32 MB of histograms.
    return Client(java(path, 512 + 40 * threads, *command.split()), r"^(?P<by>\S+) Cycle=[1-9]", "Exception", rows)


def aerospike(path: str, cell: Cell, table: Properties, loads: bool = False) -> Client:
    command = (
        f"com.aerospike.benchmarks.Main -h {table['aerospike.hosts'].partition(',')[0]}"
        f" -n {table['aerospike.namespace']} -s vendor -k {table['recordcount']} -b {cell.fields} -o B:100 -R -N"
        f" -w {'I' if loads else f'RU,{READS[cell.kind]}'} -z {cell.threads}"
    )
    if cell.inflight > 1:
        command += " -async -C {0} -W 1 -asyncMaxConnsPerNode {0}".format(cell.threads * cell.inflight)
    command += f" -B {cell.batch}" if cell.batch > 1 else ""
    failure = r"(timeouts|errors|nf)=[1-9]|^Exception|^Error"
    return Client(java(path, 512, *command.split()), r" total\(tps=(?P<new>\d+)", failure, cell.batch)


@dataclass(frozen=True)
class Peer:
    """A load generator for one database; `client` makes its command for a cell."""

    client: Callable[[str, Cell, Properties], Client]
    variable: str
    program: str | None  # its name on the PATH
    source: str
    cpu_aim: float
    kinds: tuple[str, ...] = ("read", "write", "mix")
    batches: tuple[str, ...] = ()  # the kinds that it can do in batches

    def find(self) -> str | None:
        return os.environ.get(self.variable) or (self.program and shutil.which(self.program))


PEERS = {
    "cassandra": Peer(latte, "LATTE", "latte", "cargo install latte-cli", 1.2),
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
        "the class path of hbase-mapreduce and its test jars, of the server's version",
        1.0,
        kinds=("read", "write"),
        batches=("read", "write"),
    ),
    "mysql-innodb": Peer(
        sysbench, "SYSBENCH", "sysbench", "apt-get install sysbench", 1.2, batches=("read", "write", "mix")
    ),
}


def processor_seconds(pid: int) -> float:
    # Behind the command's name, which may hold anything, user and system time are the 12th and the 13th field.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def context_switches(pid: int) -> int:
    status = "".join(file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", status)))


def run(client: Client, folder: str, warmup: float, window: float) -> Measured:
    """Runs a client until its window is over.

    Raises:
        SystemExit: if it ends before, or a line tells of a failed operation.
    """
    turns: dict[str, list[tuple[float, int]]] = defaultdict(list)
    last: deque[str] = deque(maxlen=20)
    first = begin = cpu = switches = before = 0.0
    process = subprocess.Popen(
        client.command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    try:
        for line in process.stdout or ():
            now = time.monotonic()
            last.append(line)
            if re.search(client.failure, line):
                sys.exit(f"{client.command[0]} had errors: {line}")
            found = re.search(client.progress, line)
            if found is None:
                continue
            groups = found.groupdict()
            count = int(groups.get("new") or 1)
            if "all" in groups:
                count, before = int(groups["all"]) - int(before), int(groups["all"])
            first = first or now
            if not begin and now - first >= warmup:
                begin, cpu, switches = now, processor_seconds(process.pid), context_switches(process.pid)
            if begin:
                turns[groups.get("by", "")].append((now, count * client.worth))
            if begin and now - begin >= window:
                rates = [
                    sum(count for _, count in each[1:]) / (each[-1][0] - each[0][0])
                    for each in turns.values()
                    if len(each) > 1
                ]
                records = sum(rates) * (now - begin)
                return Measured(
                    sum(rates),
                    (processor_seconds(process.pid) - cpu) / records * 1e6,
                    (context_switches(process.pid) - switches) / records,
                )
        sys.exit(f"{' '.join(client.command)}\nended before its window did:\n{''.join(last)}")
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def settle(patience: float = 60) -> None:
    """Waits until the servers do next to nothing: what was written is compacted, the client before is forgotten."""
    pids = [int(file.read_text().split()[0]) for file in (ROOT / ".dohyo" / "run").glob("*/pid")]
    pids = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    until = time.monotonic() + patience
    while time.monotonic() < until:
        before = sum(map(processor_seconds, pids))
        time.sleep(2)
        if sum(map(processor_seconds, pids)) - before < 0.1 * 2:
            return


def verdict(value: float, good: bool) -> str:
    return f"{value:g}" if good else f"{value:g} **missed**"


def compare(cell: Cell, program: str, table: Properties, arguments: argparse.Namespace, folder: str) -> None:
    """Runs both sides in turns and prints a row."""
    peer = PEERS[cell.system]
    alone = cell.batch > 1 and cell.kind not in peer.batches
    sides = (
        peer.client(program, replace(cell, load="128 in flight") if alone else cell, table),
        ours(cell, table, arguments.set),
    )
    results: tuple[list[Measured], list[Measured]] = ([], [])
    for pair in range(arguments.pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            settle()
            results[side].append(run(sides[side], folder, arguments.warmup, arguments.window))
    rates = [b.rate / a.rate for a, b in zip(*results, strict=True)]
    cpu = [b.cpu_us / a.cpu_us for a, b in zip(*results, strict=True)]
    aim = 2.0 if alone else 1.0
    theirs, our = (
        Measured(*(middle([value(run) for run in side]) for value in map(attrgetter, Measured.__annotations__)))
        for side in results
    )
    print(
        f"| {cell.title}{' (peer: 128 in flight)' if alone else ''} | {our.rate:,.0f} | {theirs.rate:,.0f}"
        f" | {spread(rates)} | {verdict(aim, middle(rates) >= aim)} | {our.cpu_us:.2f} | {theirs.cpu_us:.2f}"
        f" | {spread(cpu)} | {verdict(peer.cpu_aim, middle(cpu) <= peer.cpu_aim)}"
        f" | {our.switches:.2f} / {theirs.switches:.2f} |",
        flush=True,
    )


def run_system(system: str, arguments: argparse.Namespace, folder: str) -> None:
    """All cells of one database that were asked for, on one server for each kind of rows."""
    peer = PEERS[system]
    program = peer.find()
    if not program:
        print(f"{system}: skipped, there is no {peer.variable}: {peer.source}", file=sys.stderr)
        return
    for fields in (1, 10):
        cells = [Cell(system, fields, kind, load) for kind in peer.kinds for load in LOADS]
        cells = [cell for cell in cells if not arguments.only or any(text in cell.title for text in arguments.only)]
        if not cells:
            continue
        rows = mix("read", arguments.records, fields) | (HBASE_TABLE if system == "hbase" else TABLE)
        with server(system, rows, {"hbase_family": "info0"}) as connection:
            table = connection | rows
            # The JIT compilation of the server's own is nobody's.
            fresh = Cell(system, fields, "mix", "128 in flight")
            run(ours(fresh, table, arguments.set), folder, arguments.warmup, arguments.window)
            if system == "aerospike":
                loading = aerospike(program, replace(fresh, load="8 × 1"), table, loads=True)
                subprocess.run(loading.command, check=True, capture_output=True)
            for cell in cells:
                compare(cell, program, table, arguments, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=list(PEERS), help="default: all", default=list(PEERS))
    parser.add_argument("--pairs", type=int, default=3, help="of runs per cell (default %(default)s)")
    parser.add_argument("--warmup", type=float, default=15, help="seconds of each run (default %(default)s)")
    parser.add_argument("--window", type=float, default=30, help="seconds of each run (default %(default)s)")
    parser.add_argument("--records", type=int, default=100_000, help="rows in the table (default %(default)s)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="only cells whose name has it; repeatable"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a property of ours; repeatable"
    )
    arguments = parser.parse_args()
    print(
        "| cell | ours rec/s | peer rec/s | ours / peer | aim at least | ours CPU µs/rec | peer CPU µs/rec"
        " | ours / peer | aim at most | switches per record, ours / peer |\n|---|---|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    # So that client and server are stopped then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        for system in arguments.what:
            run_system(system, arguments, folder)


if __name__ == "__main__":
    main()
