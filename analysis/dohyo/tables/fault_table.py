"""What faults cost as three tables: seconds and latencies by fault, what became of operations and records, and what the
servers did to heal.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from dohyo.evidence.rows import RUN
from dohyo.evidence.under_fault import FaultedRun
from dohyo.figures import UNKNOWN, whole
from dohyo.summary.fault_figures import BEFORE, OF_FAULTS, OF_RUNS, SameFault, of_healing, same_faults
from dohyo.summary.results import Trial
from dohyo.tables.grid import Grid

_TITLE = "Faults: seconds of the measured window{over}; 90 % of the rate before, for 5 s"
_RECORDS = "Faults: operations and records of the whole window{over}"
_HEALING = "Faults: what the servers did to heal, by their own logs; seconds after the fault{over}"


def grids(trials: Sequence[Trial], label: Callable[[Trial], str]) -> list[Grid]:
    """Tables with lines for each fault, or each system; none without faults."""
    found = same_faults(trials)
    if not found:
        return []
    most = max(len(each.found) for each in found)
    over = f", median [least, most] of {most} runs" if most > 1 else ""
    of_faults = (BEFORE, *OF_FAULTS)
    lines = [
        [
            label(each.trial),
            _in_phase(each.name, each),
            f"{statistics.median(fault.at for _, fault in each.found):,.0f}",
            *each.words(of_faults),
        ]
        for each in found
    ]
    records = [
        [_in_phase(label(each.trial), each), *each.words(OF_RUNS), _by_kind([run for run, _ in each.found])]
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


def _healing(found: Sequence[SameFault], label: Callable[[Trial], str], over: str) -> Grid:
    lines = []
    for each in found:
        for what, did in each.healing.items() or [(UNKNOWN, [])]:
            units = [of.unit for of in did if of.unit]
            times, *others = of_healing(what)
            # Of a run in which nothing was done there is a number of times alone.
            some = sum(of.count != 0 or bool(of.unfinished) for of in did)
            cells = [*each.words([times], len(did)), *each.words(others, some)]
            named = f"{what} ({units[0]})" if units else what
            lines.append([label(each.trial), _in_phase(each.name, each), named, *cells])
    heads = ["system", "fault", "what", *(figure.head for figure in of_healing(""))]
    return Grid(_HEALING.format(over=over), heads, lines, groups=(1,) * (len(heads) - 3), keys=3)


def _in_phase(name: str, of: SameFault) -> str:
    return name + (f" [{of.phase}]" if of.phase != RUN else "")


def _by_kind(runs: Sequence[FaultedRun]) -> str:
    """Records by status, the most first; of several runs the median."""
    kinds = {status for run in runs for status in run.errors}
    medians = {kind: statistics.median(run.errors.get(kind, 0) for run in runs) for kind in sorted(kinds)}
    ordered = sorted(medians.items(), key=lambda each: -each[1])
    return ", ".join(f"{kind} {whole(round(count))}" for kind, count in ordered) or UNKNOWN
