"""Measures the processor time of commands that run no trial, relative to `python -c pass` in the same session.

    .venv/bin/python benchmarks/startup.py [--times 5] [--quick]

All commands run once in each turn. A command's time is the user and system time of its process and its children. The
figures are the minimum and the median over all turns. The ratio uses the minima: other programs can only add time.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).resolve().parents[1]
RUN = str(ROOT / "run.sh")
PYTHON = [sys.executable, "-c", "pass"]
QUICK = (PYTHON, [RUN, "--help"], [str(ROOT / "dohyo"), "compare", "--help"])
FULL = [RUN, "heavyweights", "--full", "--plan", "--set", "host_count=4"]
SLOW = ([RUN, "--list"], [RUN, "workloadA", "--plan"], FULL)


def processor_seconds(command: list[str]) -> float:
    """Runs a command. Returns the processor time in seconds of its process and of the children that ended before it."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Prints a row for each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="number of runs of each command")
    parser.add_argument("--quick", action="store_true", help="leave out --list and --plan")
    options = parser.parse_args()
    commands = QUICK if options.quick else (*QUICK, *SLOW)
    seconds: list[list[float]] = [[] for _ in commands]
    for _ in range(options.times):
        for command, times in zip(commands, seconds, strict=True):
            times.append(processor_seconds(command))
    print("| command | least, s | median, s | × `python -c pass` |\n|---|---|---|---|")
    for command, times in zip(commands, seconds, strict=True):
        name = " ".join([f"./{Path(command[0]).name}" if command is not PYTHON else "python", *command[1:]])
        ratio = min(times) / min(seconds[0])
        print(f"| `{name}` | {min(times):.3f} | {statistics.median(times):.3f} | {ratio:.1f} |")


if __name__ == "__main__":
    main()
