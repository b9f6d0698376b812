"""The data of charts."""

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
    """An experiment: its summary, and further data for charts.

    :ivar hosts: lines of `measured.HostsOverTime`
    """

    summary: Summary
    measured: Measured
    hosts: Iterable[dict[str, Any]] = ()

    @property
    def systems(self) -> list[str]:
        """Those with any number, in the order of measuring."""
        return systems_of([run.trial for run in self.measured.runs] + [t for t in self.summary.compared if t.rows])

    @property
    def phases(self) -> list[str]:
        """Those that were to be measured."""
        return phases_of(self.summary)

    def point(self, trial: Trial) -> str:
        """A trial's point in the dimensions that have several values."""
        return point_name({key: value for key, value in trial.point.items() if key in self._varying})

    def label(self, trial: Trial) -> str:
        """A system at its point, as a row of a chart; numbers that are not valid are never without that word."""
        status = "" if trial.status == "ok" else trial.status
        return " · ".join(filter(None, (trial.system, self.point(trial), status)))

    def part(self, phase: str, trial: Trial) -> str:
        """A phase at a trial's point in words; charts over time show one at a time."""
        name = {RUN: "measured run", LOAD: "load"}.get(phase, phase)
        return " · ".join(filter(None, (name, self.point(trial))))

    @cached_property
    def _varying(self) -> set[str]:
        values = {(key, trial.point.get(key)) for key in self.summary.dimensions for trial in self.summary.trials}
        return {key for key in self.summary.dimensions if len({value for name, value in values if name == key}) > 1}

    def trial(self, system: str, point: str, round_: str) -> Trial | None:
        """The trial of a system at a point, in the words of `figures.point_name`, in a round."""
        found = (
            each
            for each in self.summary.trials
            if (each.system, point_name(each.point), str(each.round or 1)) == (system, point, round_)
        )
        return next(found, None)

    def warmup(self, trial: Trial, phase: str, run: int | str | None) -> float:
        """Seconds from the agreed instant to the measured window of a run, by its number."""
        if phase == LOAD:
            return 0.0
        if (own := trial.warmups.get(f"{phase}-{run}")) is not None:
            return own
        return float(trial.by_phase.get(phase, {}).get("warmup_seconds", trial.conditions.warmup_seconds) or 0.0)

    def place(self, phase: str) -> int:
        """Sort key: what was to be measured first, the load before it last."""
        return self.phases.index(phase) if phase in self.phases else len(self.phases)


def operation_title(operation: str) -> str:
    """An operation type in words: with a target rate latencies are known from the intended start, too."""
    plain = operation.removeprefix(INTENDED)
    return operation if plain == operation else f"{plain}, from the intended start"
