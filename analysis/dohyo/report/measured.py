"""The charts' data beyond the summary: rates of each run, latencies over time, whole percentile curves.

The evidence is read once for both.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dohyo.evidence.hdr_log import Latencies, is_known
from dohyo.evidence.load_curve import SHORTEST_SECONDS
from dohyo.evidence.over_time import Slot
from dohyo.evidence.rows import Run
from dohyo.evidence.under_fault import FaultedRun
from dohyo.figures import point_name
from dohyo.operations import has_latency
from dohyo.scenario.phases import LOAD, PROBE
from dohyo.summary.phase import Phase, add_all
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import summarise

_Key = tuple[str, str, str]  # system, point, phase

# Steps of the percentiles beyond the median: a fifth of each decade of 1 / (1 - share), as in HdrHistogram's plots.
_STEPS_PER_DECADE = 10
_DECADES = 4  # to 99.99 %

# Columns of an account's second that count wrong reads (stale, never written, corrupt); uncertain writes follow.
_KINDS_OF_WRONG = 3


def _curve_percentiles() -> list[float]:
    steps = (10 ** (step / _STEPS_PER_DECADE) for step in range(_STEPS_PER_DECADE * _DECADES + 1))
    # Rounding keeps 50, 90, 99, … exact; ranks are computed from the decimal number.
    return sorted({0.0, 50.0, *(round(100 - 100 / each, 4) for each in steps)})


CURVE_PERCENTILES = _curve_percentiles()


@dataclass(frozen=True)
class Ill:
    """A run with faults, second by second, over all clients.

    :ivar of: costs of the faults
    :ivar successes: operations that succeeded
    :ivar failed: operations that failed
    :ivar waited: latencies from the intended start; empty without a target rate
    :ivar wrong: reads that were stale, corrupt or of what was never written
    """

    of: FaultedRun
    successes: list[int]
    failed: dict[int, int]
    waited: list[Slot]
    wrong: dict[int, int]


@dataclass(frozen=True)
class MeasuredRun:
    """One run of a phase of a trial, or its load, over all clients.

    :ivar number: number of the run; None for the load
    :ivar warmup: seconds from the agreed instant to the measured window
    :ivar throughput: operations without error, second by second
    :ivar slots: latencies over time
    :ivar ill: data of a run with faults; None without faults
    """

    trial: Trial
    phase: str
    number: int | None
    discarded: bool
    run: Run
    throughput: list[int]
    slots: list[Slot]
    ill: Ill | None = None

    @property
    def name(self) -> str:
        """Returns a short name, unique among the runs of a system at a point and in a phase."""
        which = f"round {self.trial.round}" if self.trial.round else ""
        return " ".join(filter(None, (which, f"run {self.number}" if self.number else "load")))

    @property
    def rate(self) -> float | None:
        """Returns records per second; operations per second if records are unknown."""
        count = self.run.records if self.run.records is not None else self.run.operations
        return count / self.run.seconds if count is not None and self.run.seconds else None


@dataclass(frozen=True)
class Curve:
    """Latencies of one operation type over all runs of a system at a point that count: the whole distribution.

    :ivar values: percentile (0 to 100) and latency in ms; ends before a single operation would decide
    """

    trial: Trial
    phase: str
    operation: str
    operations: int
    values: list[tuple[float, float]]


@dataclass
class Measured:
    """The runs and percentile curves of an experiment."""

    runs: list[MeasuredRun] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)


def read(experiment: Path) -> tuple[Summary, Measured]:
    """Returns the summary and the charts' data; the evidence is read once for both.

    :param experiment: folder of the experiment, with `raw`
    :raises FileNotFoundError: if there is no `raw` folder
    """
    kept = _Kept()
    summary = summarise(experiment, kept.add)
    return summary, Measured(kept.runs, list(kept.curves()))


class _Kept:
    """Collects data of each trial; all valid runs of a system at a point make one curve."""

    def __init__(self) -> None:
        self.runs: list[MeasuredRun] = []
        self._merged: dict[_Key, tuple[Trial, dict[str, Latencies]]] = {}

    def add(self, trial: Trial, phases: Sequence[Phase]) -> None:
        """Adds a trial, valid or not, and what its clients did in its load and runs."""
        for phase in phases:
            if phase.kind == PROBE or not phase.clients or not is_drawn(trial, phase.kind, phase.run.seconds):
                continue
            throughput, slots = phase.throughput, list(phase.timeline.latencies.slots())
            self.runs.append(
                MeasuredRun(trial, phase.kind, phase.number, phase.discarded, phase.run, throughput, slots, _ill(phase))
            )
            if not phase.discarded and (trial.status == "ok" or phase.kind == LOAD):
                key = (trial.system, point_name(trial.point), phase.kind)
                _, latencies = self._merged.setdefault(key, (trial, {}))
                add_all(latencies, phase.latencies)

    def curves(self) -> Iterator[Curve]:
        """Yields the curves by system, point and phase in the order of measuring, then by operation type."""
        for (_, _, phase), (trial, latencies) in self._merged.items():
            yield from curves(trial, phase, latencies)


def _ill(phase: Phase) -> Ill | None:
    of = phase.under_fault
    if of is None:
        return None
    wrong: Counter[int] = Counter()
    for client in phase.clients:
        rows = client.report.accounting.by_second if client.report.accounting else []
        for second, *kinds in filter(None, rows):
            wrong[second] += sum(kinds[:_KINDS_OF_WRONG])
    return Ill(
        of,
        phase.successes,
        phase.timeline.seconds.errors(),
        list(phase.timeline.waited.slots()),
        {second: count for second, count in sorted(wrong.items()) if count > 0 and second >= 0},
    )


def curves(trial: Trial, phase: str, latencies: Mapping[str, Latencies]) -> list[Curve]:
    """Returns the curves of the operation types that succeeded."""
    return [
        Curve(trial, phase, name, total.count, _values(total))
        for name, total in sorted(latencies.items())
        if has_latency(name) and total.count
    ]


def _values(latencies: Latencies) -> list[tuple[float, float]]:
    known = [each for each in CURVE_PERCENTILES if is_known(each, latencies.count) or each == 0]
    return list(latencies.percentiles_ms(known).items())


def is_drawn(trial: Trial, phase: str, seconds: float | None) -> bool:
    """Returns whether charts show the phase: a load before the runs only if it is long enough for its curve."""
    return phase != LOAD or trial.load_is_measured or (seconds or 0.0) >= SHORTEST_SECONDS


class HostsOverTime:
    """Activity of the hosts, second by second: the whole-host lines of `hosts.csv`, if the file exists.

    The file is read again on each iteration and never kept in memory: a day of many hosts is millions of lines. The
    keys are system, point, round, phase, run, host, time (its beginning, in seconds after the agreed instant), cpu
    (share that was not idle), others (share of other processes) and disk (share of the time in which the busiest disk
    was busy). Unknown values are None.
    """

    _NAMES = ("system", "point", "round", "phase", "run", "host")
    _SHARES = ("cpu_idle", "cpu_iowait", "disk_utilisation")

    def __init__(self, experiment: Path) -> None:
        self._path = experiment / "hosts.csv"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields the lines in the order of the file."""
        if not self._path.is_file():
            return
        with self._path.open(encoding="utf-8", errors="replace", newline="") as file:
            lines = csv.DictReader(file, restval="")
            if not {*self._NAMES, "device", "time", "seconds", *self._SHARES} <= set(lines.fieldnames or ()):
                return
            for line in lines:
                if not line["device"]:
                    yield self._of(line)

    def _of(self, line: Mapping[str, str]) -> dict[str, Any]:
        time, seconds, idle, waiting, disk = (_number(line[name]) for name in ("time", "seconds", *self._SHARES))
        return {
            **{name: line[name] for name in self._NAMES},
            "time": None if time is None or seconds is None else time - seconds,
            "cpu": None if idle is None or waiting is None else 1 - idle - waiting,
            # Older files lack this column.
            "others": _number(line.get("other_cpu", "")),
            "disk": disk,
        }


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def significant(value: float | None, digits: int = 4) -> float | None:
    """Returns the value with few digits, to keep the page small; None if it is unknown or infinite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def systems_of(trials: Sequence[Trial]) -> list[str]:
    """Returns the systems in the order of measuring, in which they get their colours."""
    return list(dict.fromkeys(trial.system for trial in trials))
