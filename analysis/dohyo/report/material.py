"""Data of all charts of an experiment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dohyo.figures import point_name
from dohyo.operations import INTENDED
from dohyo.report.measured import Measured, systems_of
from dohyo.scenario.phases import LOAD, RUN
from dohyo.summary.ranking import phases_of
from dohyo.summary.results import Summary, Trial


@dataclass(frozen=True)
class Material:
    """The summary of an experiment, and further data for charts.

    :ivar hosts: lines of `measured.HostsOverTime`
    """

    summary: Summary
    measured: Measured
    hosts: Iterable[dict[str, Any]] = ()

    @property
    def systems(self) -> list[str]:
        """Returns the systems with any number, in the order of measuring."""
        return systems_of([run.trial for run in self.measured.runs] + [t for t in self.summary.compared if t.rows])

    @property
    def phases(self) -> list[str]:
        """Returns the phases that the scenario measures."""
        return phases_of(self.summary)

    def point(self, trial: Trial) -> str:
        """Returns a trial's point, without dimensions that have a single value."""
        return point_name({key: value for key, value in trial.point.items() if key in self._varying})

    def label(self, trial: Trial) -> str:
        """Returns the label of a chart's row: the system at its point, and the status of a trial that is not valid."""
        status = "" if trial.status == "ok" else trial.status
        return " · ".join(filter(None, (trial.system, self.point(trial), status)))

    def part(self, phase: str, trial: Trial) -> str:
        """Returns the text of a phase at a trial's point; charts over time show one at a time."""
        name = {RUN: "measured run", LOAD: "load"}.get(phase, phase)
        return " · ".join(filter(None, (name, self.point(trial))))

    @cached_property
    def _varying(self) -> set[str]:
        values = {(key, trial.point.get(key)) for key in self.summary.dimensions for trial in self.summary.trials}
        return {key for key in self.summary.dimensions if len({value for name, value in values if name == key}) > 1}

    def trial(self, system: str, point: str, round_: str) -> Trial | None:
        """Returns the trial of a system in a round at a point, written as by `figures.point_name`."""
        found = (
            each
            for each in self.summary.trials
            if (each.system, point_name(each.point), str(each.round or 1)) == (system, point, round_)
        )
        return next(found, None)

    def warmup(self, trial: Trial, phase: str, run: int | str | None) -> float:
        """Returns the seconds from the agreed instant to the measured window of a run."""
        if phase == LOAD:
            return 0.0
        if (own := trial.warmups.get(f"{phase}-{run}")) is not None:
            return own
        return float(trial.by_phase.get(phase, {}).get("warmup_seconds", trial.conditions.warmup_seconds) or 0.0)

    def place(self, phase: str) -> int:
        """Returns a sort key: measured phases in their order, a load before them last."""
        return self.phases.index(phase) if phase in self.phases else len(self.phases)


def operation_title(operation: str) -> str:
    """Returns an operation type as text; with a target rate there are also latencies from the intended start."""
    plain = operation.removeprefix(INTENDED)
    return operation if plain == operation else f"{plain}, from the intended start"
