"""Measures how soon the default command decides, with and without interleaved windows, on a quiet and a busy host.

    .venv/bin/python benchmarks/decisions.py FOLDER [--turns 3] [--systems A,B] [--only quiet] [--seed 1]
    .venv/bin/python benchmarks/decisions.py FOLDER --read

A turn runs workload A once with each combination of windows and hosts, in random order:

one window   the default: one system is up at a time, and a round has one window of 20 s of each system
in turns     interleave=on: all systems are up, and a round has four windows of 5 s of each system
quiet        nothing else runs
disturbed    a program computes on one or all processors for 15 to 90 s, and pauses for 20 to 120 s, at random

Each run is an experiment in FOLDER, so that an interrupted benchmark continues where it stopped. The first
table contains the minutes until the first round and the experiment had ended, and the number of decided neighbours. It
also has each system's rate, with half the width of its 95 % interval, and the ratios of neighbours. The second table
compares the geometric means of these ratios in the quiet runs. Without bias, interleaving does not change them.
"""

import argparse
import contextlib
import json
import math
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from os import cpu_count
from pathlib import Path
from typing import Any

from dohyo.running.progress import clock

ROOT = Path(__file__).resolve().parents[1]
WINDOWS = {
    "one window": (),
    "in turns": ("--set", "interleave=on", "--set", "repeats=4", "--duration", "5s"),
}
HOSTS = ("quiet", "disturbed")
COMPUTE = "while True: pass"


@contextlib.contextmanager
def disturbing(seed: int) -> Iterator[None]:
    """Computes on one or all processors at random times, until the context ends."""
    chance, ended = random.Random(seed), threading.Event()  # noqa: S311  no secret

    def disturb() -> None:
        while not ended.wait(chance.uniform(20, 120)):
            programs = [
                subprocess.Popen([sys.executable, "-c", COMPUTE]) for _ in range(chance.choice((1, cpu_count() or 1)))
            ]
            ended.wait(chance.uniform(15, 90))
            for program in programs:
                program.kill()
                program.wait()

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def has_ended(folder: Path) -> bool:
    """Returns whether a folder contains an experiment that has ended by itself, even without a result."""
    plan = folder / "experiment.json"
    return plan.exists() and json.loads(plan.read_text())["status"] in ("done", "failed")


def measure(folder: Path, windows: str, host: str, systems: str, seed: int) -> None:
    """Runs one experiment, unless the folder contains one that has ended. An interrupted one is renamed.

    :raises SystemExit: if run.sh did not end the experiment
    """
    if has_ended(folder):
        return
    if (folder / "experiment.json").exists():
        # Resuming it would count the interruption as time.
        folder.rename(folder.with_name(f"interrupted-{int(time.time())}-{folder.name}"))
    command = [str(ROOT / "run.sh"), "workloadA", "--yes", "--systems", systems, "--out", str(folder)]
    command += WINDOWS[windows]
    with disturbing(seed) if host == "disturbed" else contextlib.nullcontext():
        # The exit code is 1 if other programs made all trials of the first round invalid, which is a result, too.
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if not has_ended(folder):
        sys.exit(f"{folder}: run.sh did not end the experiment")


def minutes(since: str, until: str) -> float:
    """Returns the time between two ISO dates in minutes."""
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds() / 60


def first_round(folder: Path, plan: dict[str, Any], systems: int) -> float:
    """Returns the minutes from the start of an experiment to the end of its first round."""
    states = [json.loads((folder / "raw" / name / "state.json").read_text()) for name in plan["plan"][:systems]]
    return max(minutes(plan["started"], state["finished"]) for state in states)


def is_of_run(row: dict[str, Any]) -> bool:
    """Returns whether a row is for all operations of the measured runs."""
    return (row["operation"], row["phase"], row["discarded"]) == ("OVERALL", "run", False)


def read(folder: Path, ratios: dict[str, list[float]]) -> list[str]:
    """Returns the table cells of an experiment, and appends the ratio of each pair of neighbours to `ratios`."""
    plan = json.loads((folder / "experiment.json").read_text())
    summary = json.loads((folder / "summary.json").read_text())
    rates = []
    for trial in summary["merged"]:
        row = next((row for row in trial["rows"] if is_of_run(row)), None)
        if row is None:
            rates.append(f"{trial['system']} no valid round")
            continue
        low, high, rate = row["ops_per_second_low"], row["ops_per_second_high"], row["ops_per_second"]
        width = f"± {100 * (math.sqrt(high / low) - 1):.0f} %" if low else "no interval"
        rates.append(f"{trial['system']} {rate:,.0f} {width}")
    pairs = []
    for neighbours in summary["neighbours"]:
        pair = neighbours["pair"]
        interval = f" [{pair['low']:.2f}, {pair['high']:.2f}]" if pair["low"] else ""
        pairs.append(f"{pair['of']}/{pair['to']} {pair['ratio']:.2f}{interval} {neighbours['outcome']}")
        ratios[f"{pair['of']}/{pair['to']}"].append(pair["ratio"])
    decided = sum(neighbours["outcome"] != "open" for neighbours in summary["neighbours"])
    return [
        clock(60 * first_round(folder, plan, len(plan["systems"]))),
        clock(60 * minutes(plan["started"], plan["finished"])),
        f"{plan['rounds']}",
        f"{decided} of {len(pairs)}",
        "<br>".join(rates),
        "<br>".join(pairs),
    ]


def print_tables(folder: Path) -> None:
    """Prints the tables of all complete experiments in a folder."""
    ratios: dict[str, dict[str, list[float]]] = {windows: defaultdict(list) for windows in WINDOWS}
    print("| windows | host | first round | end | rounds | decided | rates in op/s | neighbours |")
    print("|---|---|---|---|---|---|---|---|")
    for windows in WINDOWS:
        for host in HOSTS:
            for experiment in sorted(folder.glob(f"*-{windows.replace(' ', '-')}-{host}")):
                if has_ended(experiment):
                    collected = ratios[windows] if host == "quiet" else defaultdict(list)
                    print(f"| {windows} | {host} | {' | '.join(read(experiment, collected))} |")
    print("\n| neighbours, quiet runs | one window | in turns | in turns / one window |\n|---|---|---|---|")
    for pair in sorted(set(ratios["one window"]) & set(ratios["in turns"])):
        means = [statistics.geometric_mean(ratios[windows][pair]) for windows in WINDOWS]
        print(f"| {pair} | {means[0]:.3f} | {means[1]:.3f} | {means[1] / means[0]:.3f} |")


def main() -> None:
    """Runs the measurements and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--systems", default="cassandra,hbase,mysql-innodb")
    parser.add_argument("--only", choices=HOSTS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--read", action="store_true")
    options = parser.parse_args()
    for turn in range(options.turns if not options.read else 0):
        ways = [(windows, host) for windows in WINDOWS for host in HOSTS if options.only in (None, host)]
        random.Random(options.seed + turn).shuffle(ways)  # noqa: S311
        for windows, host in ways:
            experiment = options.folder / f"{turn}-{windows.replace(' ', '-')}-{host}"
            began = time.monotonic()
            measure(experiment, windows, host, options.systems, options.seed + turn)
            print(
                f"{experiment.name} {time.monotonic() - began:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    print_tables(options.folder)


if __name__ == "__main__":
    main()
