"""Measures the cost of verify=acknowledged: the rate with this setting divided by the rate without it.

    .venv/bin/python benchmarks/accounting.py [cassandra] [mysql-innodb] [--rounds 3] [--duration 15] [--records 100000]

The script runs an experiment of workloadA with both values of `verify`. Each round measures a system once with each
value, on fresh servers. The table shows the rates, and the median, minimum and maximum of their ratio over all rounds.
It also shows the processor time per record of client and servers. The aim is a ratio of at least 0.95.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
AIM = 0.95


def measure(systems: list[str], rounds: int, duration: int, records: int, folder: Path) -> list[dict[str, Any]]:
    """Runs the experiment and returns the trials of its summary.

    :raises CalledProcessError: if run.sh fails
    """
    settings = [
        "matrix.verify=none,acknowledged",
        f"recordcount={records}",
        "max.other.cpu=100%",
        "seed=1",
    ]
    command: list[str | Path] = [
        ROOT / "run.sh",
        "workloadA",
        "--systems",
        ",".join(systems),
        "--rounds",
        str(rounds),
    ]
    command += ["--duration", f"{duration}s", "--out", folder]
    command += [word for setting in settings for word in ("--set", setting)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    trials: list[dict[str, Any]] = json.loads((folder / "summary.json").read_text())["trials"]
    return trials


def overall(trials: list[dict[str, Any]], system: str, verify: str) -> list[dict[str, Any]]:
    """Returns the rows that combine all operation types, one for each valid round."""
    return [
        row
        for trial in trials
        if (trial["system"], trial["point"]["verify"], trial["status"]) == (system, verify, "ok")
        for row in trial["rows"]
        if (row["phase"], row["operation"]) == ("run", "OVERALL")
    ]


def main() -> None:
    """Runs the experiment and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", default=["cassandra", "mysql-innodb"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--duration", type=int, default=15)
    parser.add_argument("--records", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trials = measure(
            arguments.systems,
            arguments.rounds,
            arguments.duration,
            arguments.records,
            Path(folder) / "out",
        )
    print(
        "| system | op/s without | with | with / without | aim | client CPU µs/rec | with | server CPU µs/rec | with |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for system in arguments.systems:
        without, having = (overall(trials, system, verify) for verify in ("none", "acknowledged"))
        ratios = [b["ops_per_second"] / a["ops_per_second"] for a, b in zip(without, having, strict=False)]
        if not ratios:
            print(f"| {system} | no valid round |")
            continue
        ratio = statistics.median(ratios)
        figures = [
            statistics.median(row[name] for row in rows)
            for name in (
                "ops_per_second",
                "client_cpu_us_per_record",
                "server_cpu_us_per_record",
            )
            for rows in (without, having)
        ]
        missed = "" if ratio >= AIM else " **missed**"
        print(
            f"| {system} | {figures[0]:,.0f} | {figures[1]:,.0f} | **{ratio:.2f}** [{min(ratios):.2f},"
            f" {max(ratios):.2f}] | {AIM}{missed} | {figures[2]:.1f} | {figures[3]:.1f} | {figures[4]:.1f} |"
            f" {figures[5]:.1f} |"
        )


if __name__ == "__main__":
    main()
