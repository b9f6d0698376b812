"""Holds the data for all charts of an experiment: its summary, its runs second by second, and percentile curves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dohyo.evidence.fault_costs import FaultedRun
from dohyo.evidence.latency_slots import Slot
from dohyo.evidence.rows import Run
from dohyo.figures import point_name
from dohyo.operations import INTENDED
from dohyo.scenario.phases import LOAD, RUN
from dohyo.summary.ranking import phases_of
from dohyo.summary.results import Figure, Summary, Trial


@dataclass(frozen=True)
class MeasuredRun:
    """One run of a trial's phase, or a trial's load, summed over all clients.

    :ivar number: number of the run; None for the load
    :ivar throughput: operations without error, second by second
    :ivar slots: latencies over time
    :ivar faulted: costs of the faults. If it is None, there were no faults, and the fields below are empty
    :ivar successes: operations that succeeded, second by second
    :ivar failed: number of operations that failed in each second with failures
    :ivar waited: latencies from the intended start; empty without a target rate
    :ivar wrong: number of reads that returned stale, corrupt or never written records, in each second with such reads
    """

    trial: Trial
    phase: str
    number: int | None
    discarded: bool
    run: Run
    throughput: list[int]
    slots: list[Slot]
    faulted: FaultedRun | None = None
    successes: list[int] = field(default_factory=list)
    failed: dict[int, int] = field(default_factory=dict)
    waited: list[Slot] = field(default_factory=list)
    wrong: dict[int, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Returns a short name, which is unique among a system's runs in a phase at a point."""
        prefix = f"round {self.trial.round}" if self.trial.round else ""
        return " ".join(filter(None, (prefix, f"run {self.number}" if self.number else "load")))

    def rate(self, figure: Figure) -> float | None:
        """Returns the rate in the unit of `figure`: records or operations per second; None if it is unknown."""
        count = self.run.records if figure == "records_per_second" else self.run.operations
        return count / self.run.seconds if count is not None and self.run.seconds else None


@dataclass(frozen=True)
class Curve:
    """The distribution of one operation type's latencies over all runs of a system at a point that count.

    :ivar values: percentiles (0 to 100) with latencies in ms, up to the last one that enough operations exceed
    """

    trial: Trial
    phase: str
    operation: str
    values: list[tuple[float, float]]


@dataclass(frozen=True)
class Material:
    """The summary of an experiment, and further data for charts.

    :ivar hosts: function that returns the lines of `chart_data.hosts_over_time`
    """

    summary: Summary
    runs: list[MeasuredRun] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    hosts: Callable[[], Iterable[dict[str, Any]]] = tuple

    @property
    def systems(self) -> list[str]:
        """Returns the systems that have any numbers, in the order in which they were measured."""
        return systems_of([run.trial for run in self.runs] + [t for t in self.summary.compared if t.rows])

    @property
    def phases(self) -> list[str]:
        """Returns the phases that the scenario measures."""
        return phases_of(self.summary)

    def point(self, trial: Trial) -> str:
        """Returns a trial's point, without dimensions that have a single value."""
        return point_name({key: value for key, value in trial.point.items() if key in self._varying})

    def label(self, trial: Trial) -> str:
        """Returns the label of a chart's row: the system at its point and, for an invalid trial, the status."""
        status = "" if trial.status == "ok" else trial.status
        return " · ".join(filter(None, (self.named(trial), self.point(trial), status)))

    def named(self, trial: Trial) -> str:
        """Returns the system, or the trial's name if other compared trials have the same system and point."""
        return trial.name if self._places[trial.place] > 1 else trial.system

    def series(self, trial: Trial) -> str:
        """Returns the system with its round, which names a line in charts without runs."""
        return f"{self.named(trial)} round {trial.round}" if trial.round else self.named(trial)

    def series_at(self, trial: Trial) -> str:
        """Returns the system with its round and its point."""
        return f"{self.series(trial)} {self.point(trial)}".rstrip()

    def part(self, phase: str, trial: Trial) -> str:
        """Returns the name of a chart's part: a phase at a trial's point, such as "load · threads=8"."""
        name = {RUN: "measured run", LOAD: "load"}.get(phase, phase)
        return " · ".join(filter(None, (name, self.point(trial))))

    def of_run(self, run: MeasuredRun) -> dict[str, Any]:
        """Returns the first columns of a row in charts over time. `series` contains the status of an invalid trial."""
        status = "" if run.trial.status == "ok" else f" ({run.trial.status})"
        return {
            "part": self.part(run.phase, run.trial),
            "system": run.trial.system,
            "series": f"{self.named(run.trial)} {run.name}{status}",
        }

    @cached_property
    def _places(self) -> Counter[str]:
        return Counter(trial.place for trial in self.summary.compared)

    @cached_property
    def _varying(self) -> set[str]:
        values = {(key, trial.point.get(key)) for key in self.summary.dimensions for trial in self.summary.trials}
        return {key for key in self.summary.dimensions if len({value for name, value in values if name == key}) > 1}

    def trial(self, system: str, point: str, round_: str) -> Trial | None:
        """Returns the trial of a system in a round at a point, or None if there are several.

        :param point: a result of `figures.point_name`
        """
        matches = [
            trial
            for trial in self.summary.trials
            if (trial.system, point_name(trial.point), str(trial.round or 1)) == (system, point, round_)
        ]
        return matches[0] if len(matches) == 1 else None

    def warmup(self, trial: Trial, phase: str, run: int | str | None) -> float:
        """Returns the seconds from the agreed instant to the measured window of a run."""
        if phase == LOAD:
            return 0.0
        if (measured := trial.warmups.get(f"{phase}-{run}")) is not None:
            return measured
        return float(trial.by_phase.get(phase, {}).get("warmup_seconds", trial.conditions.warmup_seconds) or 0.0)

    def place(self, phase: str) -> int:
        """Returns a sort key that puts the measured phases first, in order, and an unmeasured load last."""
        return self.phases.index(phase) if phase in self.phases else len(self.phases)


def operation_title(operation: str) -> str:
    """Returns an operation type in words, such as "READ" or "READ, from the intended start"."""
    plain = operation.removeprefix(INTENDED)
    return operation if plain == operation else f"{plain}, from the intended start"


def significant(value: float | None, digits: int = 4) -> float | None:
    """Returns the value with few digits, which keeps the page small, or None if it is unknown or infinite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def systems_of(trials: Sequence[Trial]) -> list[str]:
    """Returns the systems in the order in which they were measured. Colours are assigned in this order."""
    return list(dict.fromkeys(trial.system for trial in trials))
