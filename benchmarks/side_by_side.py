"""Common parts of the benchmarks that compare Dohyo's client with a peer: server, table, order of runs, means and rows.

A cell is a combination of rows, operations and load. Dohyo's client first warms the server up for `--server-warmup`
seconds. Then the peer and Dohyo's client run in the order A B B A B A A B (`order`). Each run lasts `--warmup` and
`--window` seconds, counted from its first line with records. It begins when the server has settled, that is, when its
processes use less than a tenth of a processor, or after `--settle` seconds. Both sides use the same table and keys, and
choose records uniformly. They have the same consistency levels, and equal numbers of connections and requests in
flight. A peer without batches sends single requests, 8 or 128 in flight, whichever was faster in an earlier run, while
Dohyo's client sends batches. All JVMs run with the heap and the flags of a trial's client, and thus with the same
garbage collector.

A client prints the number of records and, usually, the time of counting; otherwise, the line's arrival time is used.
Processor time (utime and stime in /proc/PID/stat) and context switches (/proc/PID/task/*/status) are the kernel's
counts for the client's process in the window. The client's start and most of the JIT compilation precede it.

Figures are geometric means of the runs. Ratios are geometric means of the pairs' ratios, with their minimum and maximum
in square brackets. An aim is missed if all pairs miss it, and undecided if some do. If the true ratio equals the aim,
each pair misses the aim with a probability of one half; with four pairs, one cell of 16 is then reported as missed.
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

from dohyo.trial.clients import ClientOptions

ROOT = Path(__file__).resolve().parent.parent
BINDINGS = ROOT / "ycsb-bindings"
ANSIBLE = ROOT / "ansible"
JAVA = ROOT / ".setup" / "java" / "bin" / "java"
TICK = os.sysconf("SC_CLK_TCK")
HEAP = 512  # heap in MB; the default of client_heap
PATIENCE = 120  # maximum seconds that a run may take in addition to warm-up and window

# By system, the module of Dohyo's binding, which is also the value of `-db`.
MODULES = {
    "cassandra": "cassandra",
    "scylla": "scylla",
    "hbase": "hbase",
    "aerospike": "aerospike",
    "mysql-innodb": "mysql",
}
# The kind of batch that costs the client least; docs/batches.md describes the other kinds, `logged` and `async`.
OUR_BATCH_MODE = {
    "cassandra": {"cassandra.batchmode": "unlogged", "cassandra.batchread": "in"},
    "hbase": {},
    "aerospike": {},
    "mysql-innodb": {},
}
# Settings of Dohyo's client that match the peers: one connection instead of one per event loop, and latte's single
# consistency level for reads and writes. The peers for Aerospike and HBase use the same levels as a trial's client.
PEERS_SETTINGS = {
    "cassandra": {
        "cassandra.coreconnections": "1",
        "cassandra.maxconnections": "1",
        "cassandra.readconsistencylevel": "ONE",
        "cassandra.writeconsistencylevel": "ONE",
    },
    "hbase": {"hbase.client.ipc.pool.size": "1"},
}
# latte also opens one connection to each shard of ScyllaDB.
for of_cassandra in (OUR_BATCH_MODE, PEERS_SETTINGS):
    of_cassandra["scylla"] = of_cassandra["cassandra"]
KINDS = {"read": "reads", "write": "writes", "mix": "50/50 mix"}
READS = {"read": 100, "write": 0, "mix": 50}
# Pattern of what Dohyo's client and the stock client print for a failed operation.
FAILURE = r"-(FAILED|NOT_FOUND): Count=[1-9]|^ERROR|DBException"
# Patterns of the status lines of both clients; a line begins with the time at which the operations were counted.
COUNTED = r"^(?P<at>\S+ [\d:]+) \d+ sec: "
OPERATIONS = COUNTED + r"(?P<all>\d+) operations"
RECORDS = COUNTED + r"\d+ operations; .*; (?P<all>\d+) records"
# Pattern of the lines that alone/Allocations.java prints.
ALLOCATED = re.compile(r"^allocated (\d+) bytes by (\d+) ms")

Properties = Mapping[str, str]


@dataclass(frozen=True)
class Load:
    """The load of a client.

    :ivar inflight: requests in flight per logical client
    :ivar batch: records per request
    """

    name: str
    threads: int = 8
    inflight: int = 1
    batch: int = 1

    @property
    def requests(self) -> int:
        """Total number of requests that the client has in flight."""
        return self.threads * self.inflight


ONE_BY_ONE = Load("8 × 1")
MANY = Load("128 in flight", inflight=16)
BATCHES = Load("batches of 100", batch=100)


@dataclass(frozen=True)
class Cell:
    """The combination that one row of the table compares."""

    system: str
    fields: int
    kind: str
    load: Load

    @property
    def title(self) -> str:
        return f"{self.system} {self.fields} × 100 B {KINDS[self.kind]}, {self.load.name}"


@dataclass(frozen=True)
class Client:
    """A client to run.

    Lines of its output that match `progress` are counted. The group `all` is the count since the start, `new` the count
    since the last line. A line without these groups counts 1. The group `by` is the thread to which the line refers.
    The group `at` is the time of counting: a thread that waits for a processor may print its line much later.
    """

    command: Sequence[str]
    progress: str
    failure: str
    worth: int = 1  # number of records that each counted unit stands for
    threads: int = 1  # number of threads that the group `by` distinguishes
    # Files that the command reads. Only this user can read them, so secrets are passed in them.
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """Result of one run: records per second; processor time, context switches and allocated bytes per record."""

    rate: float
    cpu_us: float
    switches: float
    allocated: float | None  # None without the agent alone/Allocations.java


@dataclass(frozen=True)
class Aims:
    """Targets for the ratios ours / peer: a minimum for the rate, maximums for processor time and bytes per record."""

    rate: float
    cpu: float | None = None
    allocated: float | None = None


class NotMeasured(SystemExit):
    """Raised if a run has no figures because the client was too slow, ended early, or had errors."""


def bundle(system: str) -> Path:
    """Returns the folder that contains the jars of Dohyo's client and of the system's binding."""
    return BINDINGS / MODULES[system] / "target" / "bundle"


def mix(kind: str, records: int, fields: int) -> dict[str, str]:
    """Returns the properties of a run that reads or writes whole rows, or does half of each; chooses rows uniformly."""
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
    """Returns the command that starts a JVM with the options of a trial's client; `heap` is in MB."""
    return [
        str(JAVA),
        f"-Xms{heap}m",
        f"-Xmx{heap}m",
        *ClientOptions().java_options,
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
    """Returns Dohyo's client or the stock client; both accept the same options and print the same lines."""
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


def dohyo_client(cell: Cell, table: Properties, changes: Sequence[str]) -> Client:
    """Returns Dohyo's client for a table.

    :param changes: properties as KEY=VALUE; db=SYSTEM selects the binding of another system
    """
    load = cell.load
    properties = {
        "db": cell.system,
        **table,
        **mix(cell.kind, int(table["recordcount"]), cell.fields),
        **(OUR_BATCH_MODE[cell.system] if load.batch > 1 else {}),
        "threadcount": load.threads,
        "inflight": load.inflight,
        "batchsize": load.batch,
        "operationcount": 0,
        **dict(change.split("=", 1) for change in changes),
    }
    system = str(properties.pop("db"))
    command = java(f"{bundle(system)}/*", "dohyo.client.Client", "-db", MODULES[system])
    return ycsb(command, properties, RECORDS if load.batch > 1 else OPERATIONS)


def playbook(name: str, variables: Mapping[str, object]) -> None:
    """Runs one of the project's playbooks.

    :raises SystemExit: with the playbook's output, if it fails
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
    """Starts a fresh server with a loaded and settled table, and yields the properties to connect to it.

    :param system: a key of MODULES
    :param properties: properties of the load, which define the table
    :param variables: further variables for Ansible's roles
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
        # The default suffices only for the connections of a trial's client; peers may open more.
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
    # User and system time are fields 12 and 13 after the command's name, which may contain any character.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def context_switches(pid: int) -> int:
    switches = 0
    for file in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):  # threads of the JIT compiler may end
            switches += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", file.read_text())))
    return switches


def per_second(points: Sequence[tuple[float, int]]) -> float:
    """Returns the counts per second after the first point; 0 if there is only one point."""
    return sum(count for _, count in points[1:]) / (points[-1][0] - points[0][0]) if len(points) > 1 else 0


@contextmanager
def started(client: Client, folder: str, limit: float) -> Iterator[tuple[subprocess.Popen[str], threading.Timer]]:
    """Starts a client and stops it at the end; yields its process and the timer that kills it after `limit` seconds."""
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
    """Runs a client until the end of its window. The warm-up begins when a line reports the first records.

    :raises NotMeasured: if an operation fails, or the client ends too early, measures no record, or exceeds the
        planned time by PATIENCE seconds
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
            match = re.search(client.progress, line)
            if match is None:
                continue
            groups = match.groupdict()
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
                second = datetime.strptime(groups["at"], "%Y-%m-%d %H:%M:%S:%f").timestamp() if "at" in groups else now
                turns[groups.get("by", "")].append((second, count * client.worth))
            if begin and now - begin >= arguments.window:
                if sum(len(points) > 1 for points in turns.values()) < client.threads > 1:
                    why = "some threads printed fewer than two lines in the window; use a longer --window"
                    raise NotMeasured(f"{' '.join(client.command)}\n{why}")
                rate = sum(map(per_second, turns.values()))
                records = rate * (now - begin)
                if not records:
                    raise NotMeasured(f"{' '.join(client.command)}\nmeasured no record in its window:\n{''.join(last)}")
                return Measured(
                    rate,
                    (processor_seconds(process.pid) - cpu) / records * 1e6,
                    (context_switches(process.pid) - switches) / records,
                    per_second(allocations) / rate if len(allocations) > 1 else None,
                )
        if patience.finished.is_set():
            raise NotMeasured(f"{' '.join(client.command)}\nhad not finished its window after {limit:g} s")
        raise NotMeasured(f"{' '.join(client.command)}\nended before its window:\n{''.join(last)}")


def settle(patience: float) -> None:
    """Waits up to `patience` seconds until the servers are idle, after compactions and the last client's work."""
    pids = [int(file.read_text().split()[0]) for file in (ROOT / ".dohyo" / "run").glob("*/pid")]
    until = time.monotonic() + patience
    while (running := [pid for pid in pids if Path(f"/proc/{pid}").exists()]) and time.monotonic() < until:
        before = [processor_seconds(pid) for pid in running]
        time.sleep(2)
        with suppress(FileNotFoundError, ProcessLookupError):  # a server has stopped
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
    """Starts a server with a table for cells like this one, and warms it up; yields the properties for a client.

    :param cell: cell that defines the system and the number of fields
    :param rows: properties of the table in addition to those that `mix` returns
    :param variables: further variables for Ansible's roles
    """
    properties = mix("read", arguments.records, cell.fields) | dict(rows)
    with server(cell.system, properties, variables) as connection:
        table = connection | properties | PEERS_SETTINGS.get(cell.system, {})
        # Warm up first: while the server's JIT compiler works, rates rise from run to run.
        run(
            dohyo_client(replace(cell, kind="mix", load=MANY), table, arguments.set),
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
    """Returns the name of the load that is faster for a peer without batches, and the client with this load."""
    rates: dict[str, tuple[float, Client]] = {}
    for load in (ONE_BY_ONE, MANY):
        client = peer(replace(cell, load=load))
        settle(arguments.settle)
        rates[load.name] = run(client, folder, arguments).rate, client
    best = max(rates, key=lambda name: rates[name][0])
    return best, rates[best][1]


def order(pairs: int) -> list[tuple[int, int]]:
    """Returns the first and the second side of each pair (Thue-Morse sequence); side 0 is the peer.

    Each side is second in one of the pairs 2i and 2i+1. With an even number of pairs, a rate that changes by a constant
    factor per run cancels in the geometric mean of the pairs' ratios. With a multiple of four pairs, a factor that
    itself changes steadily also cancels.
    """
    return [(1, 0) if pair.bit_count() % 2 else (0, 1) for pair in range(pairs)]


def middle(values: Sequence[float]) -> float:
    """Returns the geometric mean, or the arithmetic mean if a value has no logarithm."""
    return math.exp(statistics.fmean(map(math.log, values))) if min(values) > 0 else statistics.fmean(values)


def spread(values: Sequence[float]) -> str:
    return f"**{middle(values):.2f}** [{min(values):.2f}, {max(values):.2f}]"


def verdict(aim: float | None, ratios: Sequence[float], least: bool) -> str:
    """Returns the aim, and whether all or some pairs missed it. With `least`, the aim is a minimum."""
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
    """Runs the two sides alternately and prints a row, with dashes if a side cannot be measured.

    :returns: whether both sides were measured
    """
    results: tuple[list[Measured], list[Measured]] = ([], [])
    failed = False
    try:
        for turn in order(arguments.pairs):
            for side in turn:
                settle(arguments.settle)
                results[side].append(run((peer, our)[side], folder, arguments))
    except NotMeasured as error:
        failed = True
        print(f"{title}: {error}", file=sys.stderr)

    def figure(side: int, metric: Callable[[Measured], float], form: str) -> str:
        return "–" if failed else f"{middle([metric(run) for run in results[side]]):{form}}"

    def row(
        metric: Callable[[Measured], float],
        form: str,
        aim: float | None,
        least: bool = False,
    ) -> str:
        figures = f"{figure(1, metric, form)} | {figure(0, metric, form)}"
        if failed:
            return f"{figures} | not measured | {verdict(aim, [], least)}"
        # On a quiet host, a client may use less than the kernel counts.
        if not all(metric(run) for run in results[0]):
            return f"{figures} | – | {verdict(aim, [], least)}"
        ratios = [metric(b) / metric(a) for a, b in zip(*results, strict=True)]
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


def selected(cells: Sequence[Cell], arguments: argparse.Namespace) -> list[Cell]:
    """Returns the cells that `--only` selects."""
    return [cell for cell in cells if not arguments.only or any(text in cell.title for text in arguments.only)]


def even(text: str) -> int:
    """Parses the number of pairs.

    :raises argparse.ArgumentTypeError: if it is odd or not positive
    """
    if not text.isdecimal() or int(text) < 2 or int(text) % 2:
        raise argparse.ArgumentTypeError(f"{text}: give an even number, so that each side is second equally often")
    return int(text)


def arguments_of(description: str | None, subjects: Sequence[str]) -> argparse.Namespace:
    """Parses the command line and prints the header of the table."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=list(subjects), help="default: all", default=list(subjects))
    parser.add_argument("--pairs", type=even, default=4, help="even number of pairs per cell (default %(default)s)")
    parser.add_argument(
        "--server-warmup",
        type=float,
        default=120,
        help="seconds of warm-up before the first pair (default %(default)s)",
    )
    parser.add_argument(
        "--warmup",
        type=float,
        default=15,
        help="warm-up seconds of each run (default %(default)s)",
    )
    parser.add_argument(
        "--window",
        type=float,
        default=30,
        help="measured seconds of each run (default %(default)s)",
    )
    parser.add_argument(
        "--settle",
        type=float,
        default=60,
        help="maximum seconds before each run until the server is idle (default %(default)s)",
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
        help="measure only cells whose name contains this text; repeatable",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a property of Dohyo's client; repeatable",
    )
    arguments = parser.parse_args()
    print(
        "| cell | ours rec/s | peer rec/s | ours / peer | aim at least | ours CPU µs/rec | peer CPU µs/rec"
        " | ours / peer | aim at most | switches per record, ours / peer | ours allocated B/rec | peer allocated B/rec"
        f" | ours / peer | aim at most |\n{'|---' * 14}|",
        flush=True,
    )
    # Call sys.exit(), so that the finally blocks run, which stop the client and the server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    return arguments
