"""Builds the tables that show what faults cost: seconds and latencies, operations and records, and how servers healed.
The first screen shows a line for each system instead.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace

from dohyo.evidence.fault_costs import FaultCost, FaultedRun
from dohyo.figures import UNKNOWN, whole
from dohyo.scenario.phases import RUN
from dohyo.summary.fault_figures import (
    BEFORE,
    ERRORS,
    LOST,
    NEVER,
    NO_SUCCESS,
    OF_FAULTS,
    OF_RUNS,
    RECOVERY,
    RESTORE,
    FaultFigure,
    SameFault,
    of_healing,
    same_faults,
)
from dohyo.summary.results import Trial
from dohyo.tables.grid import Grid

_TITLE = "Faults: seconds of the measured window{over}; 90 % means 90 % of the rate before the fault, for 5 s"
_RECORDS = "Faults: operations and records of the whole window{over}"
_HEALING = "Faults: how the servers healed, according to their logs; seconds after the fault{over}"


def grids(trials: Sequence[Trial], label: Callable[[Trial], str]) -> list[Grid]:
    """Returns the tables, with a line for each fault or system; empty if there were no faults."""
    faults = same_faults(trials)
    if not faults:
        return []
    most = max(len(group.cases) for group in faults)
    over = f", median [minimum, maximum] of {most} runs" if most > 1 else ""
    of_faults = (BEFORE, *OF_FAULTS)
    lines = [
        [
            label(group.trial),
            _in_phase(group.name, group),
            f"{statistics.median(fault.at for _, fault in group.cases):,.0f}",
            *group.words(of_faults),
        ]
        for group in faults
    ]
    records = [
        [_in_phase(label(group.trial), group), *group.words(OF_RUNS), _by_kind([run for run, _ in group.cases])]
        for group in faults
        if group.number == 1
    ]
    heads = ["system", "fault", "second", *(figure.head for figure in of_faults)]
    return [
        Grid(_TITLE.format(over=over), heads, lines, groups=(1,) * (len(heads) - 2)),
        Grid(
            _RECORDS.format(over=over),
            ["system", *(figure.head for figure in OF_RUNS), "errors by kind"],
            records,
            groups=(1,) * (len(OF_RUNS) + 1),
            keys=1,
            texts=1,
            strong=(),
        ),
        _healing(faults, label, over),
    ]


def sentences(trials: Sequence[Trial]) -> list[str]:
    """Returns a line for each system at a point, with the most important costs of its faults."""
    every = same_faults(trials)
    several = len({group.phase for group in every}) > 1
    of_systems: dict[tuple[str, str], list[SameFault]] = {}
    for group in every:
        of_systems.setdefault((group.trial.compared_as, group.phase), []).append(group)
    lines = []
    for faults in of_systems.values():
        # Errors and losses belong to a run, not to a fault; every run has the fault with number 1.
        (whole_runs,) = (group for group in faults if group.number == 1)
        errors, lost = whole_runs.words((ERRORS, LOST))
        end = f"{errors} errors, {'losses not known' if lost == UNKNOWN else f'{lost} lost'}"
        separator = ", " if len(faults) == 1 else "; "
        costs = [_cost(group, _in_phase(group.name, group) if several else group.name) for group in faults]
        lines.append(f"{faults[0].trial.place}, {'; '.join(costs)}{separator}{end}")
    return lines


def _cost(fault: SameFault, name: str) -> str:
    """Returns the cost of a fault, such as "kill(any) for 60 s: 12 s without success, 31 s to 90 % of the rate"."""
    lasted = [event.until - event.at for _, event in fault.cases if event.until is not None]
    length = statistics.median(lasted) if lasted else None
    recovery = RECOVERY.values(fault.cases)
    parts = [f"{_seconds(NO_SUCCESS, fault)} without success"]
    if not recovery:
        parts.append("time to 90 % not known")
    elif statistics.median(recovery) == NEVER:
        parts.append(f"90 % of the rate {_seconds(RECOVERY, fault)}")
    else:
        parts.append(f"{_seconds(RECOVERY, fault)} to 90 % of the rate")
    if any(_fell_again(*pair) for pair in fault.cases):
        parts.append(f"{_seconds(RESTORE, fault)} after the return")
    during = "" if length is None else f" for {length:,.0f} s"
    runs = f" in {len(fault.cases)} runs" if len(fault.cases) > 1 else ""
    return f"{name}{during}{runs}: {', '.join(parts)}"


def _fell_again(run: FaultedRun, fault: FaultCost) -> bool:
    """Returns whether the rate fell again when the fault ended, although it had recovered during the fault."""
    recovery = RECOVERY.compute(run, fault)
    recovered = fault.until is not None and recovery is not None and recovery <= fault.until - fault.at
    return recovered and bool(RESTORE.compute(run, fault))


def _seconds(figure: FaultFigure, fault: SameFault) -> str:
    """Returns the figure for all runs; each number has its unit."""
    (text,) = fault.words([replace(figure, write=lambda value: f"{figure.write(value)} s")])
    return text


def _healing(faults: Sequence[SameFault], label: Callable[[Trial], str], over: str) -> Grid:
    lines = []
    for group in faults:
        for work, records in group.healing.items() or [(UNKNOWN, [])]:
            units = [record.unit for record in records if record.unit]
            times, *figures = of_healing(work)
            # A run in which the servers did nothing has a count (0) but no other figures.
            some = sum(record.count != 0 or bool(record.unfinished) for record in records)
            cells = [*group.words([times], len(records)), *group.words(figures, some)]
            head = f"{work} ({units[0]})" if units else work
            lines.append([label(group.trial), _in_phase(group.name, group), head, *cells])
    heads = ["system", "fault", "what", *(figure.head for figure in of_healing(""))]
    return Grid(_HEALING.format(over=over), heads, lines, groups=(1,) * (len(heads) - 3), keys=3)


def _in_phase(name: str, fault: SameFault) -> str:
    return name + (f" [{fault.phase}]" if fault.phase != RUN else "")


def _by_kind(runs: Sequence[FaultedRun]) -> str:
    """Returns the number of failed records for each status, the largest first; for several runs, the medians."""
    kinds = {status for run in runs for status in run.errors}
    medians = {kind: statistics.median(run.errors.get(kind, 0) for run in runs) for kind in sorted(kinds)}
    ordered = sorted(medians.items(), key=lambda item: -item[1])
    return ", ".join(f"{kind} {whole(round(count))}" for kind, count in ordered) or UNKNOWN
