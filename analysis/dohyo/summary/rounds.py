"""Merges the rounds of a system at a point of the matrix."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from typing import Any

from dohyo.evidence import accounting
from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.rows import Run, counted, rows, sampled
from dohyo.metrics import Row
from dohyo.operations import OVERALL
from dohyo.scenario.phases import LOAD, OWN
from dohyo.statistics import CONFIDENCE, LATER_LOOK
from dohyo.summary.conditions import CONDITIONS, over_rounds
from dohyo.summary.phase import Part, add_all, place
from dohyo.summary.results import Trial

# For each part, the valid runs of one or several trials, and their histograms.
Counted = dict[Part, tuple[list[Run], dict[str, Latencies]]]


def rows_of(measured: Counted) -> list[Row]:
    """Returns the rows of all parts, in the order of a summary."""
    parts = sorted(measured, key=place)
    return [row for part in parts for row in rows(part[0], *measured[part], discarded=part[1])]


def differing(rounds: Sequence[Trial]) -> dict[str, list[Any]]:
    """Returns the conditions that differ between rounds, with the value of each round that has the phase.

    A condition that differs between phases has a name such as "threads of read". A round may lack a phase. The target
    of `own` is left out, because it is derived from each round's own maximum.

    :param rounds: valid rounds of a system at a point
    """
    result: dict[str, list[Any]] = {}
    phases = list(dict.fromkeys(phase for round_ in rounds for phase in round_.by_phase))
    for name in (name for name, condition in CONDITIONS.items() if condition.over_rounds == "same"):
        by_phase = any(name in of_phase for round_ in rounds for of_phase in round_.by_phase.values())
        for phase in phases if by_phase else [None]:
            if (phase, name) == (OWN, "target"):
                continue
            # A condition that is equal in all phases of a round is not in `by_phase`.
            values = [
                round_.by_phase.get(phase or "", {}).get(name, getattr(round_.conditions, name))
                for round_ in rounds
                if phase is None or any(row.phase == phase for row in round_.rows)
            ]
            if len({*values}) > 1:
                result[name if phase is None else f"{name} of {phase}"] = values
    return result


def listed(values: Sequence[Any]) -> str:
    """Returns the distinct values as text."""
    return " and ".join("unknown" if value is None else str(value) for value in dict.fromkeys(values))


class Rounds:
    """Merges the rounds of a system at a point of the matrix.

    :param planned: number of rounds after which precision was first checked; None if it was not checked
    """

    def __init__(self, planned: int | None = None) -> None:
        self.planned = planned
        self.trials: list[Trial] = []
        self.measured: Counted = {}

    def add(self, trial: Trial, measured: Counted) -> None:
        """Adds a trial and its runs. If the trial is not "ok", `measured` contains only its load."""
        self.trials.append(trial)
        for part, (runs, latencies) in measured.items():
            all_runs, all_latencies = self.measured.setdefault(part, ([], {}))
            all_runs += runs
            add_all(all_latencies, latencies)

    def merged(self) -> Trial:
        """Returns a trial with the numbers of the valid rounds, and the reasons why other rounds are not valid.

        A system that failed under load in any round has no numbers, because the other rounds are not representative.
        """
        bad = [trial for trial in self.trials if trial.status != "ok"]
        # Choose a round with all phases, because the first round may lack a phase and the conditions of that phase.
        good = [trial for trial in self.trials if trial.status == "ok"]
        first = max(good or self.trials, key=lambda trial: len({row.phase for row in trial.rows} - {LOAD}))
        failed = any(trial.system_failed for trial in self.trials)
        measured = [trial.conditions for trial in good or self.trials]
        of_all, by_phase = self._conditions(first, differing(good or self.trials))
        # Show the mean of the rounds' targets, because the target of `own` differs between rounds.
        targets = [target for round_ in good if (target := round_.by_phase.get(OWN, {}).get("target"))]
        if targets:
            by_phase[OWN] = {**by_phase.get(OWN, {}), "target": statistics.fmean(targets)}
        # Leave out faults, servers and hosts, which are listed by round.
        return Trial(
            name=first.place,
            system=first.system,
            title=first.title,
            status="failed" if failed else bad[0].status if bad else "ok",
            reason=self._reasons(bad) or None,
            point=first.point,
            conditions=replace(first.conditions, **of_all, **over_rounds(measured)),
            by_phase=by_phase,
            deviations=_each_once(self.trials, "deviations"),
            exceeded=first.exceeded,
            notes=_each_once(self.trials, "notes"),
            accounting=accounting.of_all(
                round_.accounting for round_ in self.trials if round_.accounting or round_.status == "ok"
            ),
            # The rounds that succeeded are not representative of a system that failed.
            rows=[self._over_rounds(row) for row in rows_of(self.measured) if not failed or first.is_aside(row)],
            load_is_measured=first.load_is_measured,
            trends=self._trends() if not failed else {},
            collapses=[f"round {trial.round}, {when}" for trial in self.trials for when in trial.collapses],
            level_changes=[f"round {trial.round}, {when}" for trial in self.trials for when in trial.level_changes],
            system_failed=failed,
            asked_workload=first.asked_workload,
            asked_servers=first.asked_servers,
            configured=first.configured,
        )

    @staticmethod
    def _conditions(first: Trial, differ: Mapping[str, Sequence[Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns the conditions that differ between rounds, and the conditions of each phase.

        A value that differs between rounds becomes None; a text condition lists all values. A target rate becomes the
        mean: without a target, the rates would count as the systems' maxima.
        """
        of_all: dict[str, Any] = {}
        by_phase = {phase: dict(of_phase) for phase, of_phase in first.by_phase.items()}
        for label, values in differ.items():
            name, _, phase = label.partition(" of ")
            # Only text conditions can list all values.
            number = statistics.fmean(filter(None, values)) if name == "target" else None
            value = listed(values) if CONDITIONS[name].kind == "string" else number
            if phase:
                by_phase.setdefault(phase, {})[name] = value
            else:
                of_all[name] = value
        return of_all, by_phase

    def _reasons(self, bad: Sequence[Trial]) -> str:
        """Returns why rounds have no valid numbers, naming the rounds of each reason unless it applies to all."""
        rounds: dict[str | None, list[str]] = {}
        for trial in bad:
            rounds.setdefault(trial.reason, []).append(str(trial.round))
        if len(rounds) == 1 and len(bad) == len(self.trials):
            return bad[0].reason or ""
        return "; ".join(
            f"round{'s' if len(numbers) > 1 else ''} {' and '.join(numbers)}: {reason}"
            for reason, numbers in rounds.items()
        )

    def _trends(self) -> dict[str, float]:
        """Returns the trend of the least steady round for each phase. In a mean, a rise and a fall would cancel out."""
        of_rounds: dict[str, list[float]] = {}
        for trial in self.trials:
            for phase, trend in trial.trends.items():
                of_rounds.setdefault(phase, []).append(trend)
        return {phase: max(trends, key=lambda trend: abs(log(trend))) for phase, trends in of_rounds.items()}

    def _over_rounds(self, row: Row) -> Row:
        """Returns a row for all rounds, with geometric means of their rates.

        If only one round has the phase, the row is unchanged, with an interval over its runs. If a round with the phase
        does not list the operation type, the operation did not occur in that round.
        """
        none = replace(row, operations=0, ops_per_second=0.0, records_per_second=0.0, p50_ms=None, p99_ms=None)
        of_rounds = []
        for trial in self.trials:
            by_operation = {
                candidate.operation: candidate
                for candidate in trial.rows
                if (candidate.phase, candidate.discarded) == (row.phase, row.discarded)
            }
            if OVERALL in by_operation:
                of_rounds.append(by_operation.get(row.operation, none))
        ops = [round_row.ops_per_second for round_row in of_rounds if round_row.ops_per_second is not None]
        records = [round_row.records_per_second for round_row in of_rounds if round_row.records_per_second is not None]
        p50_ms, p99_ms = (
            [value for round_row in of_rounds if (value := getattr(round_row, name)) is not None]
            for name in ("p50_ms", "p99_ms")
        )
        if len(ops) < 2 or len(ops) < len(of_rounds):
            return row
        looked_again = self.planned is not None and any((trial.round or 1) > self.planned for trial in self.trials)
        row = replace(row, confidence=LATER_LOOK if looked_again else CONFIDENCE)
        row = counted(row, [round_row.operations for round_row in of_rounds])
        return sampled(row, "rounds", ops, records if len(records) == len(ops) else [], p99_ms, p50_ms)


def _each_once(trials: Sequence[Trial], name: str) -> list[str]:
    return list(dict.fromkeys(text for trial in trials for text in getattr(trial, name)))
