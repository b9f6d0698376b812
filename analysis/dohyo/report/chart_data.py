"""Reads the data for charts together with the summary, so that the evidence is read only once."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dohyo.evidence.hdr_log import Latencies, is_known
from dohyo.evidence.load_curve import SHORTEST_SECONDS
from dohyo.operations import has_latency
from dohyo.report.material import Curve, Material, MeasuredRun
from dohyo.scenario.phases import LOAD, PROBE
from dohyo.summary.phase import Phase, add_all
from dohyo.summary.results import Trial
from dohyo.summary.summary import summarise

# Number of percentiles in each decade of 1 / (1 - share), the axis of HdrHistogram's plots.
_STEPS_PER_DECADE = 10
_DECADES = 4  # to 99.99 %

# Number of counts of wrong reads (stale, never written, corrupt) in an entry of `by_second`, after its second.
_KINDS_OF_WRONG = 3

_STEPS = [10 ** (step / _STEPS_PER_DECADE) for step in range(_STEPS_PER_DECADE * _DECADES + 1)]
# Percentiles of the curves. They are rounded, so that 50, 90, 99, … are exact: ranks are computed from them.
CURVE_PERCENTILES = sorted({0.0, 50.0, *(round(100 - 100 / step, 4) for step in _STEPS)})


def read(experiment: Path) -> Material:
    """Returns the summary and the data for the charts.

    :param experiment: folder of the experiment, with `raw`
    :raises FileNotFoundError: if there is no `raw` folder
    """
    runs: list[MeasuredRun] = []
    # Merged latencies of each system at a point in each phase, from all runs that count and all loads before them.
    merged: dict[tuple[str, str], tuple[Trial, dict[str, Latencies]]] = {}

    def add(trial: Trial, phases: Sequence[Phase]) -> None:
        for phase in phases:
            if phase.kind == PROBE or not phase.clients or not is_drawn(trial, phase.kind, phase.run.seconds):
                continue
            runs.append(_run(trial, phase))
            if not phase.discarded and (trial.status == "ok" or _is_before_runs(trial, phase.kind)):
                _, latencies = merged.setdefault((trial.compared_as, phase.kind), (trial, {}))
                add_all(latencies, phase.latencies)

    summary = summarise(experiment, add)
    failed = {trial.name for trial in summary.compared if trial.system_failed}
    all_curves = [
        curve
        for (of_system, phase), (trial, latencies) in merged.items()
        if of_system not in failed or _is_before_runs(trial, phase)
        for curve in curves(trial, phase, latencies)
    ]
    return Material(summary, runs, all_curves, partial(hosts_over_time, experiment))


def _is_before_runs(trial: Trial, phase: str) -> bool:
    """Returns whether the phase is a load that is not measured. It is shown even if the trial has no numbers."""
    return phase == LOAD and not trial.load_is_measured


def _run(trial: Trial, phase: Phase) -> MeasuredRun:
    slots = list(phase.timeline.latencies.slots())
    run = MeasuredRun(trial, phase.kind, phase.number, phase.discarded, phase.run, phase.throughput, slots)
    if phase.faults is None:
        return run
    wrong: Counter[int] = Counter()
    for client in phase.clients:
        rows = client.report.accounting.by_second if client.report.accounting else []
        for second, *kinds in filter(None, rows):
            wrong[second] += sum(kinds[:_KINDS_OF_WRONG])
    return replace(
        run,
        faulted=phase.under_fault,
        successes=phase.successes,
        failed=phase.timeline.seconds.errors(),
        waited=list(phase.timeline.waited.slots()),
        wrong={second: count for second, count in sorted(wrong.items()) if count > 0 and second >= 0},
    )


def curves(trial: Trial, phase: str, latencies: Mapping[str, Latencies]) -> list[Curve]:
    """Returns the latency curve of each operation type that succeeded."""
    result = []
    for name, total in sorted(latencies.items()):
        if has_latency(name) and total.count:
            percentiles = [level for level in CURVE_PERCENTILES if is_known(level, total.count) or level == 0]
            values = list(total.percentiles_ms(percentiles).items())
            result.append(Curve(trial, phase, name, values))
    return result


def is_drawn(trial: Trial, phase: str, seconds: float | None) -> bool:
    """Returns whether charts show the phase. A load that is not measured must be long enough for a curve."""
    return phase != LOAD or trial.load_is_measured or (seconds or 0.0) >= SHORTEST_SECONDS


def hosts_over_time(experiment: Path) -> Iterator[dict[str, Any]]:
    """Yields the resources that the hosts used in each second, from `hosts.csv`; nothing if the file is missing.

    The charts read the file again instead of keeping it in memory, because a day on many hosts has millions of lines.
    The keys are system, point, round, phase, run, host, time (of the beginning, in seconds after the agreed instant),
    cpu (share that was not idle), others (share that other processes used) and disk (share of the time in which the
    busiest disk was busy). Unknown values are None.
    """
    names = ("system", "point", "round", "phase", "run", "host")
    numbers = ("time", "seconds", "cpu_idle", "cpu_iowait", "disk_utilisation")
    path = experiment / "hosts.csv"
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        lines = csv.DictReader(file, restval="")
        if not {*names, "device", *numbers} <= set(lines.fieldnames or ()):
            return
        for line in lines:
            if not line["device"]:
                time, seconds, idle, waiting, disk = (_number(line[name]) for name in numbers)
                yield {
                    **{name: line[name] for name in names},
                    "time": None if time is None or seconds is None else time - seconds,
                    "cpu": None if idle is None or waiting is None else 1 - idle - waiting,
                    # Older files do not contain this column.
                    "others": _number(line.get("other_cpu", "")),
                    "disk": disk,
                }


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
