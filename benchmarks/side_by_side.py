"""What it takes to hold our client and a peer side by side: a server with a loaded table, turns, means, a row.

A cell is a kind of rows, of operations and of load. Our client warms the server up for `--server-warmup` seconds. Then
peer and ours run in the order A B B A B A A B (`order`), for `--warmup` and `--window` seconds each, from their first
line with records on, against a server that has settled: its processes take less than a tenth of a processor. Both have
the same table and keys, a uniform choice, the same consistency levels, and as many requests in flight on as many
connections. A peer without batches has single requests in flight beside our batches: 8 or 128 of them, whichever was
faster in a run of each before. All JVMs have the heap and the flags, so the collector, of a trial's client.

Records are what a client's own lines say, at the time that they name, otherwise at that at which they come. Processor
time (utime and stime in /proc/PID/stat) and context switches (/proc/PID/task/*/status) are what the kernel counted for
the client's process within the window. Start and most of the JIT compilation are before it.

Figures are geometric means of the runs, ratios are those of the pairs, with the smallest and the largest pair in square
brackets. An aim is missed if all pairs miss it, and undecided if only some do. Where the true ratio is the aim, and
pairs fall to either side of it with equal chance, that calls one cell of 16 missed with four pairs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BINDINGS = ROOT / "ycsb-bindings"
ANSIBLE = ROOT / "ansible"
JAVA = ROOT / ".setup" / "java" / "bin" / "java"
TICK = os.sysconf("SC_CLK_TCK")
HEAP = 512  # MB; the default of client_heap
PATIENCE = 120  # seconds that a run may last beyond warm-up and window

# The modules of our bindings, which are also what `-db` takes.
MODULES = {
    "cassandra": "cassandra",
    "hbase": "hbase",
    "aerospike": "aerospike",
    "mysql-innodb": "mysql",
}
# The batch form that costs a client least. `logged` and `async` exist too; see docs/batches.md.
OUR_BATCH_MODE = {
    "cassandra": {"cassandra.batchmode": "unlogged", "cassandra.batchread": "in"},
    "hbase": {},
    "aerospike": {},
    "mysql-innodb": {},
}
# What the peers have: one connection, also where our client would make several event loops with a connection each, and
# latte one consistency level for reads and writes. Aerospike's and HBase's peers ask for what a trial's client does.
PEERS_SETTINGS = {
    "cassandra": {
        "cassandra.coreconnections": "1",
        "cassandra.maxconnections": "1",
        "cassandra.readconsistencylevel": "ONE",
        "cassandra.writeconsistencylevel": "ONE",
    },
    "hbase": {"hbase.client.ipc.pool.size": "1"},
}
KINDS = {"read": "reads", "write": "writes", "mix": "50/50 mix"}
READS = {"read": 100, "write": 0, "mix": 50}
# The lines of our client, and of the stock one, in which an operation has failed.
FAILURE = r"-(FAILED|NOT_FOUND): Count=[1-9]|^ERROR|DBException"
# Their lines begin with the time at which they were counted.
COUNTED = r"^(?P<at>\S+ [\d:]+) \d+ sec: "
OPERATIONS = COUNTED + r"(?P<all>\d+) operations"
RECORDS = COUNTED + r"\d+ operations; .*; (?P<all>\d+) records"
# The lines of alone/Allocations.java.
ALLOCATED = re.compile(r"^allocated (\d+) bytes by (\d+) ms")

Properties = Mapping[str, str]


@dataclass(frozen=True)
class Load:
    """How a client sends; `inflight` is of each logical client, `batch` the records of a request."""

    name: str
    threads: int = 8
    inflight: int = 1
    batch: int = 1

    @property
    def requests(self) -> int:
        """Requests in flight of the whole client."""
        return self.threads * self.inflight


ONE_BY_ONE = Load("8 × 1")
MANY = Load("128 in flight", inflight=16)
BATCHES = Load("batches of 100", batch=100)


@dataclass(frozen=True)
class Cell:
    """What is compared in one row of the table."""

    system: str
    fields: int
    kind: str
    load: Load

    @property
    def title(self) -> str:
        return f"{self.system} {self.fields} × 100 B {KINDS[self.kind]}, {self.load.name}"


@dataclass(frozen=True)
class Client:
    """A client that can be run.

    A line of progress matches `progress`: its group `all` counts from the start, `new` from the line before, and where
    it has neither the line is 1. Its group `by` is the thread that it is of, `at` the time at which it was counted: a
    thread that has to wait for a processor may print it much later.
    """

    command: Sequence[str]
    progress: str
    failure: str
    worth: int = 1  # records of what is counted
    threads: int = 1  # whose lines `by` tells apart
    # Files that the command names, which no other user can read: a list of processes shows a command, and so do errors.
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """One run: records per second; processor time, context switches and allocated bytes per record."""

    rate: float
    cpu_us: float
    switches: float
    allocated: float | None  # where the client has the agent alone/Allocations.java


@dataclass(frozen=True)
class Aims:
    """Ratios ours / peer: of records per second at least, of processor time and allocated bytes per record at most."""

    rate: float
    cpu: float | None = None
    allocated: float | None = None


class NotMeasured(SystemExit):
    """A run gave no figures: the client was too slow, ended early, or had errors."""


def bundle(system: str) -> Path:
    """The folder with the jars of our client and its binding."""
    return BINDINGS / MODULES[system] / "target" / "bundle"


def mix(kind: str, records: int, fields: int) -> dict[str, str]:
    """Properties of a run on whole rows, all records alike: reads, writes, or a 50/50 mix of the two."""
    reads = {"read": "1", "write": "0", "mix": "0.5"}[kind]
    return {
        "workload": "site.ycsb.workloads.CoreWorkload",
        "recordcount": str(records),
        "fieldcount": str(fields),
        "fieldlength": "100",
        "requestdistribution": "uniform",
        "readproportion": reads,
        "updateproportion": str(1 - float(reads)),
        "writeallfields": "true",
    }


def java(path: str, *command: str, heap: int = HEAP) -> list[str]:
    """The command of a JVM as a trial's client has it, with so many MB of heap."""
    defaults = yaml.safe_load((ANSIBLE / "roles" / "client" / "defaults" / "main.yml").read_text())
    return [
        str(JAVA),
        f"-Xms{heap}m",
        f"-Xmx{heap}m",
        *defaults["client_java_options"],
        "-cp",
        path,
        *command,
    ]


def ycsb(
    command: Sequence[str],
    properties: Mapping[str, object],
    progress: str = OPERATIONS,
    phase: str = "-t",
) -> Client:
    """Our client or the stock one, which take the same options and print the same lines."""
    bounds = {
        "operationcount": 2_000_000_000,
        "maxexecutiontime": 3600,
        "status.interval": 1,
    }
    text = "".join(f"{key}={value}\n" for key, value in (bounds | dict(properties)).items())
    return Client(
        [*command, phase, "-s", "-P", "client.properties"],
        progress,
        FAILURE,
        files={"client.properties": text},
    )


def ours(cell: Cell, table: Properties, changes: Sequence[str]) -> Client:
    """Our client on a table; `changes` are properties, KEY=VALUE."""
    load = cell.load
    properties = {
        **table,
        **mix(cell.kind, int(table["recordcount"]), cell.fields),
        **(OUR_BATCH_MODE[cell.system] if load.batch > 1 else {}),
        "threadcount": load.threads,
        "inflight": load.inflight,
        "batchsize": load.batch,
        "operationcount": 0,
        **dict(change.split("=", 1) for change in changes),
    }
    command = java(f"{bundle(cell.system)}/*", "dohyo.client.Client", "-db", MODULES[cell.system])
    return ycsb(command, properties, RECORDS if load.batch > 1 else OPERATIONS)


def playbook(name: str, variables: Mapping[str, object]) -> None:
    """Runs one of the project's playbooks.

    Raises:
        SystemExit: with the playbook's own output, if it fails.
    """
    done = subprocess.run(
        [
            ROOT / ".venv" / "bin" / "ansible-playbook",
            name,
            "-e",
            json.dumps(variables),
        ],
        cwd=ANSIBLE,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"ansible-playbook {name} failed:\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}")


@contextmanager
def server(
    system: str,
    properties: Mapping[str, str],
    variables: Mapping[str, object] | None = None,
) -> Iterator[dict[str, str]]:
    """A fresh server with a loaded and settled table; gives the properties that connect to it.

    Args:
        system: a key of MODULES
        properties: of the load, and so of the table
        variables: more of them for Ansible's roles
    """
    deployment: dict[str, object] = {
        "deploy_systems": [system],
        "trial_system": system,
        "trial_dir": str(ROOT / "results" / "benchmark" / f"{system}-{properties['fieldcount']}"),
        "trial_until": "settle",
        "trial_properties": {
            "batchsize": "100",
            **OUR_BATCH_MODE[system],
            **properties,
        },
        "trial_threads": 4,
        # The role counts the connections of a trial's client; here there may be more.
        "mysql_settings": {"max_connections": 200},
        **(variables or {}),
    }
    playbook("deploy.yml", deployment)
    try:
        playbook("trial.yml", deployment)
        lines = (ROOT / ".dohyo" / "run" / f"{system}.properties").read_text().splitlines()
        pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
        yield {key.strip(): value.strip() for key, _, value in pairs}
    finally:
        playbook("stop.yml", {})


def processor_seconds(pid: int) -> float:
    # Behind the command's name, which may hold anything, user and system time are the 12th and the 13th field.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def context_switches(pid: int) -> int:
    switches = 0
    for file in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread of the JIT compiler may end meanwhile
            switches += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", file.read_text())))
    return switches


def per_second(points: Sequence[tuple[float, int]]) -> float:
    """What came after the first point, over the time since; 0 of a single point."""
    return sum(count for _, count in points[1:]) / (points[-1][0] - points[0][0]) if len(points) > 1 else 0


@contextmanager
def started(client: Client, folder: str, limit: float) -> Iterator[tuple[subprocess.Popen[str], threading.Timer]]:
    """A running client, which is stopped in the end, and what kills it after so many seconds."""
    for name, text in client.files.items():
        file = Path(folder, name)
        file.touch(mode=0o600)
        file.write_text(text)
    process = subprocess.Popen(
        client.command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    patience = threading.Timer(limit, process.kill)
    patience.start()
    try:
        yield process, patience
    finally:
        patience.cancel()
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def run(client: Client, folder: str, arguments: argparse.Namespace) -> Measured:
    """Runs a client until its window is over. Its warm-up begins with its first line that has records.

    Raises:
        NotMeasured: if a line reports a failed operation, if the client ends before its window does or has no record
            in it, or if the window is not over PATIENCE after it should have been; the client is killed then, whose
            lines of progress may wait for a processor, too.
    """
    turns: dict[str, list[tuple[float, int]]] = defaultdict(list)
    allocations: list[tuple[float, int]] = []
    last: deque[str] = deque(maxlen=20)
    first = begin = cpu = 0.0
    switches = before = allocated = 0
    limit = arguments.warmup + arguments.window + PATIENCE
    with started(client, folder, limit) as (process, patience):
        for line in process.stdout or ():
            now = time.monotonic()
            last.append(line)
            if re.search(client.failure, line):
                raise NotMeasured(f"{' '.join(client.command)}\nhad errors:\n{''.join(last)}")
            if memory := ALLOCATED.search(line):
                allocations.append((int(memory[2]) / 1000, int(memory[1]) - allocated))
                allocated = int(memory[1])
            found = re.search(client.progress, line)
            if found is None:
                continue
            groups = found.groupdict()
            count = int(groups.get("new") or 1)
            if "all" in groups:
                count, before = int(groups["all"]) - before, int(groups["all"])
            first = first or (now if count else 0)
            if first and not begin and now - first >= arguments.warmup:
                del allocations[:-1]
                begin, cpu, switches = (
                    now,
                    processor_seconds(process.pid),
                    context_switches(process.pid),
                )
            if begin:
                at = datetime.strptime(groups["at"], "%Y-%m-%d %H:%M:%S:%f").timestamp() if "at" in groups else now
                turns[groups.get("by", "")].append((at, count * client.worth))
            if begin and now - begin >= arguments.window:
                if sum(len(points) > 1 for points in turns.values()) < client.threads > 1:
                    why = "some threads have less than two lines in the window; use a longer --window"
                    raise NotMeasured(f"{' '.join(client.command)}\n{why}")
                rate = sum(map(per_second, turns.values()))
                records = rate * (now - begin)
                if not records:
                    raise NotMeasured(f"{' '.join(client.command)}\ncarried no record in its window:\n{''.join(last)}")
                return Measured(
                    rate,
                    (processor_seconds(process.pid) - cpu) / records * 1e6,
                    (context_switches(process.pid) - switches) / records,
                    per_second(allocations) / rate if len(allocations) > 1 else None,
                )
        if patience.finished.is_set():
            raise NotMeasured(f"{' '.join(client.command)}\nwas not through its window after {limit:g} s")
        raise NotMeasured(f"{' '.join(client.command)}\nended before its window did:\n{''.join(last)}")


def settle(patience: float = 60) -> None:
    """Waits until the servers do next to nothing: what was written is compacted, the client before is forgotten."""
    pids = [int(file.read_text().split()[0]) for file in (ROOT / ".dohyo" / "run").glob("*/pid")]
    until = time.monotonic() + patience
    while (running := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < until:
        before = [processor_seconds(pid) for pid in running]
        time.sleep(2)
        with suppress(FileNotFoundError, ProcessLookupError):  # one has been stopped meanwhile
            if sum(map(processor_seconds, running)) - sum(before) < 0.1 * 2:
                return


@contextmanager
def warm_table(
    cell: Cell,
    rows: Properties,
    variables: Mapping[str, object],
    arguments: argparse.Namespace,
    folder: str,
) -> Iterator[Properties]:
    """A server with a table for cells like this one, which our client has warmed up; gives what a client has to know.

    Args:
        cell: its system and fields count
        rows: properties of the table besides those of a mix
        variables: more of them for Ansible's roles
    """
    properties = mix("read", arguments.records, cell.fields) | dict(rows)
    with server(cell.system, properties, variables) as connection:
        table = connection | properties | PEERS_SETTINGS.get(cell.system, {})
        # The JIT compilation of the server's own is nobody's. While it lasts, rates rise from run to run.
        run(
            ours(replace(cell, kind="mix", load=MANY), table, arguments.set),
            folder,
            argparse.Namespace(warmup=0, window=arguments.server_warmup),
        )
        yield table


def without_batches(
    cell: Cell,
    peer: Callable[[Cell], Client],
    arguments: argparse.Namespace,
    folder: str,
) -> tuple[str, Client]:
    """The load, and its client, with which a peer that has no batches is faster."""
    rates: dict[str, tuple[float, Client]] = {}
    for load in (ONE_BY_ONE, MANY):
        client = peer(replace(cell, load=load))
        settle()
        rates[load.name] = run(client, folder, arguments).rate, client
    best = max(rates, key=lambda name: rates[name][0])
    return best, rates[best][1]


def order(pairs: int) -> list[tuple[int, int]]:
    """Returns the side that runs first and the one that runs second, pair by pair; 0 is the peer (Thue-Morse sequence).

    Of the pairs 2i and 2i+1 each side is second in one. With an even number of pairs a rate that changes by the same
    factor from run to run cancels in the geometric mean of the pairs' ratios; with a multiple of four a factor that
    itself changes steadily does, too.
    """
    return [(1, 0) if pair.bit_count() % 2 else (0, 1) for pair in range(pairs)]


def middle(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def spread(values: Sequence[float]) -> str:
    return f"**{middle(values):.2f}** [{min(values):.2f}, {max(values):.2f}]"


def verdict(aim: float | None, ratios: Sequence[float], least: bool) -> str:
    """The aim, and whether all pairs missed it or only some; `least` says that a ratio must not be below the aim."""
    if aim is None:
        return "–"
    met = [ratio >= aim if least else ratio <= aim for ratio in ratios]
    return f"{aim:.3g}" + ("" if all(met) else " undecided" if any(met) else " **missed**")


def compare(
    title: str,
    peer: Client,
    our: Client,
    aims: Aims,
    arguments: argparse.Namespace,
    folder: str,
) -> bool:
    """Runs both sides in turns and prints a row. If one cannot be measured, the cell is over and has dashes.

    Returns:
        whether both sides were measured
    """
    results: tuple[list[Measured], list[Measured]] = ([], [])
    failed = False
    try:
        for turn in order(arguments.pairs):
            for side in turn:
                settle()
                results[side].append(run((peer, our)[side], folder, arguments))
    except NotMeasured as error:
        failed = True
        print(f"{title}: {error}", file=sys.stderr)

    def figure(side: int, of: Callable[[Measured], float], form: str) -> str:
        return "–" if failed else f"{middle([of(run) for run in results[side]]):{form}}"

    def row(
        of: Callable[[Measured], float],
        form: str,
        aim: float | None,
        least: bool = False,
    ) -> str:
        figures = f"{figure(1, of, form)} | {figure(0, of, form)}"
        if failed:
            return f"{figures} | not measured | {verdict(aim, [], least)}"
        ratios = [of(b) / of(a) for a, b in zip(*results, strict=True)]
        return f"{figures} | {spread(ratios)} | {verdict(aim, ratios, least)}"

    def switches(run: Measured) -> float:
        return run.switches

    measured = all(run.allocated for side in results for run in side)
    print(
        f"| {title} | {row(lambda run: run.rate, ',.0f', aims.rate, least=True)}"
        f" | {row(lambda run: run.cpu_us, '.2f', aims.cpu)}"
        f" | {figure(1, switches, '.2f')} / {figure(0, switches, '.2f')}"
        f" | {row(lambda run: run.allocated or 0, ',.0f', aims.allocated) if measured else '– | – | – | –'} |",
        flush=True,
    )
    return not failed


def wanted(cells: Sequence[Cell], arguments: argparse.Namespace) -> list[Cell]:
    """The cells that `--only` selects."""
    return [cell for cell in cells if not arguments.only or any(text in cell.title for text in arguments.only)]


def even(text: str) -> int:
    """Reads the number of pairs.

    Raises:
        argparse.ArgumentTypeError: if it is odd or not positive
    """
    if not text.isdecimal() or int(text) < 2 or int(text) % 2:
        raise argparse.ArgumentTypeError(f"{text}: give an even number, so that each side is second equally often")
    return int(text)


def arguments_of(description: str | None, what: Sequence[str]) -> argparse.Namespace:
    """Reads the command line and prints the head of the table."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=list(what), help="default: all", default=list(what))
    parser.add_argument("--pairs", type=even, default=4, help="of runs per cell, even (default %(default)s)")
    parser.add_argument(
        "--server-warmup",
        type=float,
        default=120,
        help="seconds before the first pair (default %(default)s)",
    )
    parser.add_argument(
        "--warmup",
        type=float,
        default=15,
        help="seconds of each run (default %(default)s)",
    )
    parser.add_argument(
        "--window",
        type=float,
        default=30,
        help="seconds of each run (default %(default)s)",
    )
    parser.add_argument(
        "--records",
        type=int,
        default=100_000,
        help="rows in the table (default %(default)s)",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="only cells whose name has it; repeatable",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a property of ours; repeatable",
    )
    arguments = parser.parse_args()
    print(
        "| cell | ours rec/s | peer rec/s | ours / peer | aim at least | ours CPU µs/rec | peer CPU µs/rec"
        " | ours / peer | aim at most | switches per record, ours / peer | ours allocated B/rec | peer allocated B/rec"
        f" | ours / peer | aim at most |\n{'|---' * 14}|",
        flush=True,
    )
    # So that client and server are stopped then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return arguments
