"""What charts are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dohyo.evidence.rows import LOAD, RUN
from dohyo.figures import point_name
from dohyo.operations import INTENDED
from dohyo.report.measured import Measured, systems_of
from dohyo.report.verdict import phases_of
from dohyo.summary.results import Summary, Trial


@dataclass(frozen=True)
class Material:
    """An experiment: its summary, and what was read beside it.

    :ivar hosts: lines of `measured.hosts_over_time`
    """

    summary: Summary
    measured: Measured
    hosts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def systems(self) -> list[str]:
        """Those with any number, in the order of measuring."""
        return systems_of([run.trial for run in self.measured.runs] + [t for t in self.summary.compared if t.rows])

    @property
    def phases(self) -> list[str]:
        """Those that were to be measured."""
        return phases_of(self.summary)

    def part(self, phase: str, point: str) -> str:
        """A phase at a point of the matrix in words; charts over time show one at a time."""
        name = {RUN: "measured run", LOAD: "load"}.get(phase, phase)
        return " · ".join(filter(None, (name, point)))

    def warmup(self, system: str, point: str, phase: str) -> float:
        """Seconds from the agreed instant to the measured window."""
        if phase == LOAD:
            return 0.0
        for trial in self.summary.trials:
            if (trial.system, point_name(trial.point)) == (system, point):
                own = trial.by_phase.get(phase, {}).get("warmup_seconds", trial.conditions.warmup_seconds)
                return float(own or 0.0)
        return 0.0

    def place(self, phase: str) -> int:
        """Sort key: what was to be measured first, the load before it last."""
        return self.phases.index(phase) if phase in self.phases else len(self.phases)


def operation_title(operation: str) -> str:
    """An operation type in words: with a target rate latencies are known from the intended start, too."""
    plain = operation.removeprefix(INTENDED)
    return operation if plain == operation else f"{plain}, from the intended start"


def row_label(trial: Trial) -> str:
    """A system at its point, as a row of a chart."""
    return " · ".join(filter(None, (trial.system, point_name(trial.point))))
