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
    found = same_faults(trials)
    if not found:
        return []
    most = max(len(each.cases) for each in found)
    over = f", median [minimum, maximum] of {most} runs" if most > 1 else ""
    of_faults = (BEFORE, *OF_FAULTS)
    lines = [
        [
            label(each.trial),
            _in_phase(each.name, each),
            f"{statistics.median(fault.at for _, fault in each.cases):,.0f}",
            *each.words(of_faults),
        ]
        for each in found
    ]
    records = [
        [_in_phase(label(each.trial), each), *each.words(OF_RUNS), _by_kind([run for run, _ in each.cases])]
        for each in found
        if each.number == 1
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
        _healing(found, label, over),
    ]


def sentences(trials: Sequence[Trial]) -> list[str]:
    """Returns a line for each system at a point, with the most important costs of its faults."""
    every = same_faults(trials)
    several = len({each.phase for each in every}) > 1
    of_systems: dict[tuple[str, str], list[SameFault]] = {}
    for each in every:
        of_systems.setdefault((each.trial.place, each.phase), []).append(each)
    found = []
    for (name, _), faults in of_systems.items():
        # Errors and losses belong to a run, not to a fault; every run has the fault with number 1.
        (whole_runs,) = (each for each in faults if each.number == 1)
        errors, lost = whole_runs.words((ERRORS, LOST))
        end = f"{errors} errors, {'losses not known' if lost == UNKNOWN else f'{lost} lost'}"
        separator = ", " if len(faults) == 1 else "; "
        said = [_cost(each, _in_phase(each.name, each) if several else each.name) for each in faults]
        found.append(f"{name}, {'; '.join(said)}{separator}{end}")
    return found


def _cost(fault: SameFault, name: str) -> str:
    """Returns the cost of a fault, such as "kill(any) for 60 s: 12 s without success, 31 s to 90 % of the rate"."""
    lasted = [each.until - each.at for _, each in fault.cases if each.until is not None]
    length = statistics.median(lasted) if lasted else None
    recovery = RECOVERY.values(fault.cases)
    parts = [f"{_seconds(NO_SUCCESS, fault)} without success"]
    if not recovery:
        parts.append("time to 90 % not known")
    elif statistics.median(recovery) == NEVER:
        parts.append(f"90 % of the rate {_seconds(RECOVERY, fault)}")
    else:
        parts.append(f"{_seconds(RECOVERY, fault)} to 90 % of the rate")
    if any(_fell_again(*each) for each in fault.cases):
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
    (words,) = fault.words([replace(figure, write=lambda value: f"{figure.write(value)} s")])
    return words


def _healing(found: Sequence[SameFault], label: Callable[[Trial], str], over: str) -> Grid:
    lines = []
    for each in found:
        for what, did in each.healing.items() or [(UNKNOWN, [])]:
            units = [of.unit for of in did if of.unit]
            times, *others = of_healing(what)
            # A run in which the servers did nothing has a count (0) but no other figures.
            some = sum(of.count != 0 or bool(of.unfinished) for of in did)
            cells = [*each.words([times], len(did)), *each.words(others, some)]
            named = f"{what} ({units[0]})" if units else what
            lines.append([label(each.trial), _in_phase(each.name, each), named, *cells])
    heads = ["system", "fault", "what", *(figure.head for figure in of_healing(""))]
    return Grid(_HEALING.format(over=over), heads, lines, groups=(1,) * (len(heads) - 3), keys=3)


def _in_phase(name: str, of: SameFault) -> str:
    return name + (f" [{of.phase}]" if of.phase != RUN else "")


def _by_kind(runs: Sequence[FaultedRun]) -> str:
    """Returns the number of failed records for each status, the largest first; for several runs, the medians."""
    kinds = {status for run in runs for status in run.errors}
    medians = {kind: statistics.median(run.errors.get(kind, 0) for run in runs) for kind in sorted(kinds)}
    ordered = sorted(medians.items(), key=lambda each: -each[1])
    return ", ".join(f"{kind} {whole(round(count))}" for kind, count in ordered) or UNKNOWN
