"""Measures the time between trials, without the load: from the end of a measured window to the next warm-up.

    .venv/bin/python benchmarks/overhead.py [cassandra] [mysql-innodb] [--times 3] [--records 1000] [--tasks]
    .venv/bin/python benchmarks/overhead.py --read FOLDER

For each system, run.sh executes an experiment on this machine with the real playbook and one more round than
--times. The events of two successive trials (raw/TRIAL/events.jsonl) divide the time between their windows into steps;
the load is left out. For each step, the table shows the medians of four figures. They are the number of tasks, the
number that started Python on the host (modules), the seconds in which a task ran, and all seconds. The difference
between the last two is Ansible's time between tasks. The steps:

    run    from the end of the window until the clients have ended and their statistics are collected
    stop   servers, evidence, data
    next   the playbook's end, the state of the trial, and the rest of the next playbook's start with its first tasks
    start, canary, schema, settle    as in trial.yml
    client the next run's clients connect and agree on the start

--read prints the tables of existing experiments, by the later trial's system; --tasks adds a row for each task.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Ansible's actions that run on the controller; `is_module` recognizes Dohyo's own by their action plugins.
ON_THE_CONTROLLER = {
    "assert",
    "debug",
    "fail",
    "set_fact",
    "validate_argument_spec",
    "include_role",
    "include_tasks",
}
SHARE = "all trials, but not of servers and clients"
STEPS = ("run", "stop", "next", "start", "canary", "schema", "settle", "client")


@dataclass
class Step:
    """Figures of one step of a trial."""

    tasks: int = 0
    modules: int = 0
    inside: float = 0.0  # seconds in which a task ran
    seconds: float = 0.0


@dataclass
class Gap:
    """Figures of the time between two windows."""

    steps: defaultdict[str, Step] = field(default_factory=lambda: defaultdict(Step))
    tasks: Counter[str] = field(default_factory=Counter)  # total seconds of each task; the key contains the step


def is_module(action: str) -> bool:
    """Returns whether a task starts Python on the host."""
    name = action.removeprefix("ansible.builtin.")
    folder = ROOT / "ansible" / "plugins"
    return name not in ON_THE_CONTROLLER and not (folder / "action" / f"{name}.py").exists()


def window(trial: Path) -> tuple[float, float]:
    """Returns the times at which the last run's warm-up began and its window ended, in seconds since 1970."""
    (client,) = sorted(trial.glob("run-*/*/client.json"))[-1:]
    client_evidence: dict[str, Any] = json.loads(client.read_text())
    begin = client_evidence["agreed_start_ms"] / 1000
    return begin, begin + client_evidence["warmup_seconds"] + client_evidence["measured_seconds"]


def events_of(trial: Path) -> list[dict[str, Any]]:
    """Returns the events that a trial's playbook wrote."""
    return [json.loads(line) for line in (trial / "events.jsonl").read_text().splitlines()]


def gap(before: Path, after: Path) -> Gap:
    """Divides the time between two successive trials into steps."""
    since, until = window(before)[1], window(after)[0]
    result = Gap()
    step, began = "run", since
    for event in [
        *events_of(before),
        *events_of(after),
        {"event": "over", "time": until},
    ]:
        entered = {"end": "next", "over": "over", "phase": str(event.get("phase"))}.get(event["event"])
        if entered == "run" and step != "run":
            entered = "client"
        if event["event"] == "task" and min(event["time"], until) > max(event["began"], since):
            took = min(event["time"], until) - max(event["began"], since)
            result.steps[step].tasks += 1
            result.steps[step].modules += is_module(event["action"])
            result.steps[step].inside += took
            if step != "load":
                result.tasks[f"{step}: {event['task']} ({event['action'].removeprefix('ansible.builtin.')})"] += took
        if entered is not None and event["time"] >= since:
            result.steps[step].seconds += min(event["time"], until) - began
            step, began = entered, event["time"]
            if began >= until:
                break
    del result.steps["load"]
    return result


def measure(system: str, records: int, rounds: int, folder: Path) -> float:
    """Runs an experiment with one system.

    :param folder: folder for the evidence
    :returns: processor seconds of run.sh and of all processes that it waited for; servers and clients are not included
    :raises CalledProcessError: if run.sh fails
    """
    settings = [
        f"recordcount={records}",
        "maxexecutiontime=5",
        "warmuptime=2",
        "max.other.cpu=100%",
        "preconditioning=0",
    ]
    command: list[str | Path] = [
        ROOT / "run.sh",
        "workloadA",
        "--systems",
        system,
        "--rounds",
        str(rounds),
        "--out",
        folder,
    ]
    command += [word for setting in settings for word in ("--set", setting)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sum_of(steps: Iterable[Step]) -> Step:
    """Returns the sums over several steps."""
    all_steps = list(steps)
    return Step(*(sum(getattr(step, figure.name) for step in all_steps) for figure in fields(Step)))


def print_row(name: str, steps: list[Step]) -> None:
    """Prints the medians of a step's figures over several gaps, and its shortest and longest duration."""
    middle = Step(*(statistics.median(getattr(step, figure.name) for step in steps) for figure in fields(Step)))
    seconds = [step.seconds for step in steps]
    spread = f" [{min(seconds):.1f}, {max(seconds):.1f}]" if len(steps) > 1 else ""
    print(f"| {name} | {middle.tasks:g} | {middle.modules:g} | {middle.inside:.1f} | {middle.seconds:.1f}{spread} |")


def print_table(name: str, gaps: list[Gap], *, tasks: bool) -> None:
    """Prints a table with the medians of several gaps."""
    print(f"\n### {name}\n\n| step | tasks | modules | s in tasks | s |\n|---|---|---|---|---|")
    for step in STEPS:
        print_row(step, [interval.steps[step] for interval in gaps])
    print_row("**all but the load**", [sum_of(interval.steps.values()) for interval in gaps])
    if tasks:
        total: Counter[str] = sum((interval.tasks for interval in gaps), Counter())
        print("\n| task | s |\n|---|---|")
        for task, took in total.most_common():
            print(f"| {task} | {took / len(gaps):.2f} |")


def gaps_of(folder: Path) -> dict[str, list[Gap]]:
    """Returns the gaps between the successive trials of an experiment, by the system of the later trial."""
    measured = sorted(trial for trial in (folder / "raw").iterdir() if any(trial.glob("run-*/*/client.json")))
    gaps: defaultdict[str, list[Gap]] = defaultdict(list)
    for before, after in pairwise(measured):
        gaps[after.name.partition("-")[2]].append(gap(before, after))
    return gaps


def main() -> None:
    """Measures or reads experiments, and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", default=["cassandra", "mysql-innodb"])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--tasks", action="store_true")
    parser.add_argument("--read", type=Path, nargs="+")
    options = parser.parse_args()
    for folder in options.read or []:
        for system, gaps in sorted(gaps_of(folder).items()):
            print_table(f"{folder}: {system}", gaps, tasks=options.tasks)
    for system in options.systems if not options.read else []:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / system
            try:
                processor = measure(system, options.records, options.times + 1, folder)
            except subprocess.CalledProcessError as error:
                sys.exit(f"ERROR: {system} was not measured; for the reason, run {' '.join(map(str, error.cmd))}")
            print_table(system, gaps_of(folder)[system], tasks=options.tasks)
        print(
            f"\nProcessor seconds of run.sh, deploy.yml and {SHARE}: {processor:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
