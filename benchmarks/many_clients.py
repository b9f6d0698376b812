"""Runs one hundred clients on one machine as if each had its own host, and measures start skew and overhead.

    .venv/bin/python benchmarks/many_clients.py [--clients 100] [--rounds 3] [--seconds 10]

Each "host" is an agent with its own connection (a local one instead of SSH) and its own client process. The client
needs few resources: it uses no database, sends a few operations per second, and has a minimal heap. All other parts are
as in a real run. They include the protocol, the clocks, the common start, growing logs, the live display that reads
these logs, and merged histograms. One thing differs: a hundred JVMs start on one machine. Therefore, they are launched
one after another, and the skew includes the time that the machine needs to wake a hundred processes at once.
"""

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dohyo.evidence.hdr_log import Latencies, merge_log
from dohyo.evidence.live_log import IntervalTail
from dohyo.places import ANSIBLE, JDK, ROOT

sys.path.insert(0, str(ANSIBLE / "plugins"))
from conducting.agents import clock, conduct
from conducting.channel import Way
from conducting.conductor import Conductor, Plan
from conducting.report import report

BUNDLE = ROOT / "ycsb-bindings" / "client" / "target" / "bundle"
JAVA = "-Xms8m -Xmx24m -Xss256k -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=16m -Xshare:auto"
WARMUP = 2


def agents(home: Path, count: int, seconds: int, rate: int) -> dict[str, dict[str, Any]]:
    """Returns the first message to the agent of each host, as dohyo.trial.clients creates it."""
    java = JDK / "bin" / "java" if JDK.exists() else Path("java")
    plans = {}
    for number in range(count):
        host = f"host{number:03d}"
        folder = home / "client" / "run-1" / host
        properties = {
            "recordcount": 10_000,
            "readproportion": 0.5,
            "updateproportion": 0.5,
            "clients": count,
            "clientnumber": number,
            "target": rate,
            "warmuptime": WARMUP,
            "maxexecutiontime": seconds,
            "startgate": folder,
            "startgate.timeout": 3600,
            "client.summary": folder / "client.json",
            "hdrhistogram.fileoutput": "true",
            "hdrhistogram.output.path": f"{folder}/",
        }
        command = [
            str(java),
            *JAVA.split(),
            "-cp",
            f"{BUNDLE}/*",
            "dohyo.client.Client",
            "-db",
            "noop",
        ]
        client = {
            "name": f"client-{host}",
            "folder": str(folder),
            "properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
            "secrets": str(home / "secret" / host),
            "secret_properties": "",
            "command": [*command, "-P", "client.properties", "-t", "-s"],
        }
        plans[host] = {
            "tool": "",
            "client": client,
            "servers": "",
        }
    return plans


def follow(folders: list[Path], over: Any, answer: Any) -> None:
    """Reads the logs as the live display does, in a separate process, and reports how much it has read."""
    tail = IntervalTail(folders)
    shown = []
    while not over.wait(1):
        shown += tail.poll()
    answer.put((len(shown), sum(second.records for second in shown), time.process_time()))


def cpu(who: int) -> float:
    """Returns the processor time, in seconds, of this process or of its children that have ended."""
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Calls a function and returns its duration in seconds and its result."""
    began = time.monotonic()
    result = function()
    return time.monotonic() - began, result


def merged(folders: list[Path]) -> dict[str, Latencies]:
    """Returns the merged histograms of all clients."""
    total: dict[str, Latencies] = {}
    for folder in folders:
        for log in sorted(folder.glob("*.hdr")):
            merge_log(log, total, lambda _: None)
    return total


def one_round(options: argparse.Namespace, work: Path) -> dict[str, float]:
    """Runs all clients once, and returns the figures by name.

    :raises SystemExit: if the start fails or logs are incomplete
    """
    home, results = work / "home", work / "results"
    shutil.copytree(ANSIBLE / "agent", home / "bin/modules")
    plans = agents(home, options.clients, options.seconds, options.rate)
    plan = Plan(
        plans,
        ready_timeout=600,
        start_delay=options.start_delay,
        launch_interval=options.launch_interval,
        warmup=WARMUP,
        duration=options.seconds,
        bound=WARMUP + options.seconds + 90,
        patience=60,  # on real hosts, agents have their own processors; here, a hundred agents share a few
    )
    mirrors = [results / host for host in plans]
    for mirror in mirrors:
        mirror.mkdir(parents=True)
    sent = [0]

    def keep(host: str, log: str, text: str) -> None:
        sent[0] += len(text)
        with (results / host / log).open("ab") as file:
            file.write(text.encode("latin-1"))

    over, answer = multiprocessing.Event(), multiprocessing.Queue()  # type: ignore[var-annotated]
    display = multiprocessing.Process(target=follow, args=(mirrors, over, answer), daemon=True)
    display.start()
    before, children_before, began = (
        cpu(resource.RUSAGE_SELF),
        cpu(resource.RUSAGE_CHILDREN),
        clock(),
    )
    conductor = Conductor(plan, began)
    conduct(
        conductor,
        {host: Way([sys.executable, str(home / "bin/modules/agent.py"), "converse"]) for host in plans},
        keep,
        power={},
        warn=print,
    )
    ended = clock()
    controller = cpu(resource.RUSAGE_SELF) - before
    on_hosts = cpu(resource.RUSAGE_CHILDREN) - children_before
    over.set()
    seconds_shown, operations_shown, display_cpu = answer.get(timeout=60)
    display.join()
    outcome = report(conductor, options.skew_limit, measured=True)
    if outcome["failure"]:
        raise SystemExit(outcome["failure"])
    collect, _ = timed(lambda: shutil.copytree(home / "client" / "run-1", work / "collected"))
    merge, total = timed(lambda: merged([work / "collected" / host for host in plans]))
    counted = sum(
        json.loads((work / "collected" / host / "client.json").read_text(encoding="utf-8"))["operations"]
        for host in plans
    )
    if sum(total[name].count for name in ("READ", "UPDATE")) != counted:
        raise SystemExit("the merged histograms differ from the clients' counts")
    for host in plans:
        for log in (work / "collected" / host).glob("*.hdr"):
            if log.read_bytes() != (results / host / log.name).read_bytes():
                raise SystemExit(f"{host}: the controller's copy of {log.name} is incomplete")
    window = WARMUP + options.seconds
    all_seconds = ended - began
    return {
        "time until all are ready, s": conductor.agreed - options.start_delay - began,
        "start skew ms": outcome["start_skew_ms"],
        "latest start ms": max(row["start_ms"] for row in outcome["clients"].values()),
        "end skew ms": outcome["end_skew_ms"],
        "maximum clock error, ± ms": max(row["offset_error_ms"] for row in outcome["clients"].values()),
        "last message, s after the end": ended - conductor.agreed - window,
        "controller % of a core": 100 * controller / all_seconds,
        "agent % of a core": 100 * on_hosts / all_seconds / options.clients,
        "log B/s per client": sent[0] / options.seconds / options.clients,
        "display: seconds shown": seconds_shown,
        "display: % of the operations": 100 * operations_shown / counted,
        "display % of a core": 100 * display_cpu / all_seconds,
        "collect s": collect,
        "merge s": merge,
    }


def main() -> None:
    """Runs all rounds and prints the median, minimum and maximum of each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="measured window")
    parser.add_argument("--rate", type=int, default=10, help="operations per second for each client")
    parser.add_argument(
        "--launch-interval",
        type=float,
        default=0.5,
        help="seconds between the launches of two clients",
    )
    parser.add_argument(
        "--start-delay",
        type=float,
        default=5,
        help="seconds between the time when all clients are ready and the common start",
    )
    parser.add_argument("--skew-limit", type=float, default=1000, help="maximum start skew in ms; allows for few cores")
    options = parser.parse_args()
    rounds = []
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="dohyo-clients-") as work:
            rounds.append(one_round(options, Path(work)))
        print(
            f"round {number + 1}: start skew {rounds[-1]['start skew ms']:.1f} ms",
            flush=True,
        )
    print(f"\n{options.clients} clients, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}\n")
    print("| | median | [smallest, largest] |\n|---|---|---|")
    for name in rounds[0]:
        values = [figures[name] for figures in rounds]
        print(f"| {name} | {statistics.median(values):.3g} | [{min(values):.3g}, {max(values):.3g}] |")


if __name__ == "__main__":
    main()
