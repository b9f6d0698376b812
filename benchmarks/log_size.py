"""Measures how much time and memory it takes to report on the logs of many clients, and to read a long status log.

    .venv/bin/python benchmarks/log_size.py [--clients 1000] [--seconds 3600] [--rounds 3] [--status-mb 2000]

The script writes an experiment into a temporary folder, with one client per host. A client's files are histogram logs
of READ and UPDATE for each second, result lines and client.json; `--hosts` hosts also have samples. The report consists
of tables and report.html. It contains all results of `dohyo report`: rows per client, dips, changes of level,
latencies over time, and percentile curves. A second experiment with `--times` as many clients shows how the costs grow.

The histogram of each second is one of 300, all of lognormal latencies. `--distinct` logs of each operation type are
written, each with its own order of histograms. Each client's logs are hard links to a different pair of
these. So files are read from memory, not from a slow disk, and all are decoded. A new process reads each experiment.
Its memory is the peak of the total over its processes; shared pages are counted for each process.
"""

import argparse
import gzip
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from hdrh.histogram import HdrHistogram

WRITE_REPORT = """
import sys
from pathlib import Path
from dohyo.report import chart_data, files
from dohyo.tables import files as tables
facts = chart_data.read(Path(sys.argv[1]))
summary = facts.summary
assert not summary.warnings, summary.warnings[:3]
(trial,) = summary.trials
assert trial.status == "ok", trial.reason
(run,) = (each for each in facts.runs if each.phase != "load")
assert sum(slot.operations for slot in run.slots) == run.run.operations
tables.write(summary, Path(sys.argv[1]))
files.write(Path(sys.argv[1]), facts)
"""
READ_STATUS = """
import sys
from pathlib import Path
from dohyo.foreign.ycsb_log import read_log
(log,) = read_log(Path(sys.argv[1]), print)
print(log.status_operations, 1)
"""
AGREED = 1_795_266_533.0


def encoded(distinct: int) -> list[tuple[str, int, int]]:
    """Returns histograms of one second, each with its number of operations and its maximum latency in µs."""
    random.seed(1)
    result = []
    for _ in range(distinct):
        histogram = HdrHistogram(1, 3_600_000_000, 3)
        operations = random.randint(200, 400)  # noqa: S311  no secret
        for _ in range(operations):
            histogram.record_value(int(random.lognormvariate(7, 0.7)))
        result.append((histogram.encode().decode(), operations, histogram.get_max_value()))
    return result


def write_log(path: Path, number: int, seconds: int, histograms: list[tuple[str, int, int]]) -> tuple[int, int]:
    """Writes a histogram log that differs from all others of its operation type.

    :param number: number of the log, below the number of histograms
    :returns: number of operations, and maximum latency in µs
    """
    chosen = [histograms[number], *random.choices(histograms, k=seconds - 1)]  # noqa: S311
    lines = [
        f"#[Logging for: {path.stem}, microseconds]\n#[Histogram log format version 1.3]\n",
        f"#[StartTime: {AGREED:.3f} (seconds since epoch), Sat Nov 21 13:08:53 UTC 2026]\n",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n',
        *(f"{second}.001,1.000,12.345,{text}\n" for second, (text, _, _) in enumerate(chosen)),
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return sum(operations for _, operations, _ in chosen), max(latency for _, _, latency in chosen)


def write_client(folder: Path, seconds: int, logs: dict[str, tuple[int, int]]) -> None:
    """Writes the files of one client, except its histogram logs.

    :param logs: operation type → number of operations, and maximum latency in µs
    """
    total = sum(number for number, _ in logs.values())
    result = [f"[OVERALL], RunTime(ms), {seconds * 1000}\n[OVERALL], Throughput(ops/sec), {total / seconds}\n"]
    result.append(f"[OVERALL], Operations, {total}\n[OVERALL], Records, {total}\n")
    for name, (number, highest) in logs.items():
        result.append(f"[{name}], Operations, {number}\n[{name}], AverageLatency(us), 1400.0\n")
        result.append(f"[{name}], MaxLatency(us), {highest}\n[{name}], Return=OK, {number}\n")
    (folder / "result.txt").write_text("".join(result), encoding="utf-8")
    (folder / "exit").write_text("0\n", encoding="utf-8")
    report = {
        "threads": 8, "batchsize": 1, "inflight": 1, "target": 0, "skew_ms": 0.1, "warmup_seconds": 0.0,
        "measured_seconds": float(seconds), "operations": total, "records": total, "valid": True, "exit": 0,
        "operations_by_type": {
            name: {"operations": number, "records": number, "statuses": {"OK": number}}
            for name, (number, _) in logs.items()
        },
    }  # fmt: skip
    (folder / "client.json").write_text(json.dumps(report), encoding="utf-8")


def write_host(folder: Path, seconds: int) -> None:
    """Writes the samples of a host with four processors, two disks and a network."""
    folder.mkdir(parents=True)
    with gzip.open(folder / "metrics.jsonl.gz", "wt", compresslevel=1, encoding="utf-8") as file:
        file.write('{"cpus": 4}\n')
        for second in range(seconds):
            disk = [9 * second, 40960 * second, 7 * second, 81920 * second, 300 * second + second % 7]
            sample = {
                "time": AGREED + second,
                "up": 5000 + second,
                "cpu": [200 * second, 0, 50 * second, 100 * second + second % 50, 0, 0, 0, 0],
                "memory": [16 * 10**9, 10**9, 8 * 10**9, 0, 7 * 10**9, 0],
                "disks": {"nvme0n1": disk, "nvme1n1": disk},
                "networks": {"eth0": [10**6 * second, 10**6 * second]},
            }
            file.write(json.dumps(sample) + "\n")


def write_experiment(folder: Path, clients: int, options: argparse.Namespace) -> None:
    """Writes an experiment with one trial and one run, after a load of one second."""
    histograms = encoded(300)
    trial = folder / "raw" / "01-cassandra"
    logs = folder / "logs"
    for phase, seconds in (("load", 1), ("run-1", options.seconds)):
        written: dict[tuple[str, int], tuple[int, int]] = {}
        for number in range(clients):
            client = trial / phase / f"client{number:05d}"
            client.mkdir(parents=True)
            # Give each client a different pair of logs: clients with equal logs would be reported as copies of a run.
            pair = {"READ": number % options.distinct, "UPDATE": number // options.distinct % options.distinct}
            for name, which in pair.items():
                log = logs / f"{phase}-{which}" / f"{name}.hdr"
                if (name, which) not in written:
                    log.parent.mkdir(parents=True, exist_ok=True)
                    written[name, which] = write_log(log, which, seconds, histograms)
                (client / log.name).hardlink_to(log)
            write_client(client, seconds, {name: written[name, which] for name, which in pair.items()})
    for number in range(options.hosts):
        write_host(trial / "hosts" / f"host{number}", options.seconds)
    (trial / "run-1/clients.json").write_text(json.dumps({"agreed": AGREED}), encoding="utf-8")
    settings = {
        "trial_system": "cassandra",
        "trial_repeats": 1,
        "trial_properties": {},
        "trial_threads": 8,
    }
    (trial / "trial.json").write_text(json.dumps(settings), encoding="utf-8")
    (trial / "state.json").write_text(json.dumps({"status": "done"}), encoding="utf-8")
    (trial / "conditions.json").write_text(json.dumps({"title": "synthetic"}), encoding="utf-8")


def write_status(path: Path, megabytes: int) -> None:
    """Writes the status log of a client that ran for a long time."""
    random.seed(2)
    written, operations = 0, 0
    with path.open("w", encoding="utf-8") as file:
        for second in count(1):
            pair = [random.randint(900, 1100) for _ in range(2)]  # noqa: S311
            operations += sum(pair)
            clock = (datetime(2026, 11, 21, tzinfo=UTC) + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S")
            types = " ".join(
                f"[{name}: Count={number}, Max={number * 17}, Min=151, Avg={number * 1.5:.2f}, 50=1020, 90=2533,"
                " 99=7211, 99.9=11935, 99.99=15127]"
                for name, number in zip(("READ", "UPDATE"), pair, strict=True)
            )
            written += file.write(f"{clock}:004 {second} sec: {operations} operations; {sum(pair)}.0 current ops/sec; "
                                  f"est completion in 2 hours {types} \n")  # fmt: skip
            if written > megabytes * 1_000_000:
                return


def memory(process: int) -> int:
    """Returns the resident memory of a process and its descendants, in bytes."""
    total, waiting = 0, [process]
    while waiting:
        pid = waiting.pop()
        try:
            lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
            tasks = Path(f"/proc/{pid}/task").glob("*/children")
            waiting += [int(child) for task in tasks for child in task.read_text(encoding="utf-8").split()]
        except OSError:
            continue  # the process has ended
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    return total


def cpu() -> float:
    """Returns the total processor time, in seconds, of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(program: str, path: Path) -> tuple[float, float, float]:
    """Runs a program; returns its duration in seconds, its peak memory in MB, and its processor time in seconds.

    :raises SystemExit: if the program fails
    """
    began, cpu_before = time.monotonic(), cpu()
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.DEVNULL)
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], memory(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    seconds = time.monotonic() - began
    over.set()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"reading {path} failed")
    return seconds, peak[0] / 1e6, cpu() - cpu_before


def show(name: str, values: list[float]) -> None:
    """Prints a row with the median, minimum and maximum."""
    print(
        f"| {name} | {statistics.median(values):.4g} | [{min(values):.4g}, {max(values):.4g}] |",
        flush=True,
    )


def main() -> None:
    """Runs all rounds and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument(
        "--times",
        type=int,
        default=10,
        help="factor for the number of clients in the second experiment; 1: no second experiment",
    )
    parser.add_argument("--seconds", type=int, default=3600, help="length of each client's logs")
    parser.add_argument(
        "--distinct",
        type=int,
        default=100,
        help="distinct logs per operation type, at most 300; the square of this number must be at least --clients",
    )
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--status-mb", type=int, default=2000, help="size of the status log in MB; 0: no status log")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}\n")
    print("| | median | [smallest, largest] |\n|---|---|---|", flush=True)
    figures: list[tuple[list[float], list[float]]] = []
    for clients in dict.fromkeys([options.clients, options.clients * options.times]):
        with tempfile.TemporaryDirectory(prefix="dohyo-logs-") as work:
            write_experiment(Path(work), clients, options)
            rounds = [measured(WRITE_REPORT, Path(work)) for _ in range(options.rounds)]
            page_mb = (Path(work) / "report.html").stat().st_size / 1e6
        figures.append(([figure[0] for figure in rounds], [figure[1] for figure in rounds]))
        intervals = clients * options.seconds * 2
        name = f"{clients:,} clients × {options.seconds:,} s × 2 operations"
        show(f"{name}: s", figures[-1][0])
        show(
            f"{name}: µs of processor time per interval",
            [1e6 * figure[2] / intervals for figure in rounds],
        )
        show(f"{name}: MB of memory", figures[-1][1])
        show(f"{name}: MB of report.html", [page_mb])
    if len(figures) > 1:
        for which, unit in enumerate(("time", "memory")):
            pairs = zip(figures[0][which], figures[1][which], strict=True)
            show(
                f"{options.times} × the clients: × {unit}",
                [more / less for less, more in pairs],
            )
    if options.status_mb:
        with tempfile.TemporaryDirectory(prefix="dohyo-logs-") as work:
            log = Path(work) / "status.txt"
            write_status(log, options.status_mb)
            rounds = [measured(READ_STATUS, log) for _ in range(options.rounds)]
            size = log.stat().st_size / 1e6
        show(f"status log of {size:,.0f} MB: MB/s", [size / figure[0] for figure in rounds])
        show(
            f"status log of {size:,.0f} MB: MB per second of processor time",
            [size / figure[2] for figure in rounds],
        )
        show(f"status log of {size:,.0f} MB: MB of memory", [figure[1] for figure in rounds])


if __name__ == "__main__":
    main()
