"""Draws each system's throughput, latency and wrong reads over time, with the faults as bands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dohyo.evidence.fault_costs import FULL_SHARE, FaultCost
from dohyo.evidence.healing import Healing
from dohyo.report.grammar import GREY, WHAT, Chart, Panel, Spec, layer, over_seconds, quantity, scale, table
from dohyo.report.material import Material, MeasuredRun, significant

_P99 = 99
# Minimum extent of the vertical axes in pixels; it aligns the time axes of all panels.
_AXIS = {"minExtent": 64}
_HEIGHT = 150
_QUESTION = (
    "What happened under the faults? Each row is a system, all on the same axes; grey bands are the faults. Each line"
    " is a run: operations that succeeded (solid) and operations that failed (dotted). The dashed line is 90 % of the"
    " rate before the first fault. A cross is a second with reads of stale, corrupt or never written records. The"
    " line at the bottom shows when the servers healed, according to their logs."
)


def chart(material: Material) -> Chart | None:
    """Returns panels of throughput and, if there is a target rate, of latency for each system; None without faults."""
    runs = [run for run in material.runs if run.faulted and run.faulted.faults and not run.discarded]
    runs.sort(key=lambda run: material.place(run.phase))
    if not runs:
        return None
    most = max(count for run in runs for count in (*run.successes, *run.failed.values(), 1))
    waits = [slot.percentiles_ms[_P99] for run in runs for slot in run.waited]
    drawn = Chart("faults", "Faults", _QUESTION, by_part=True)
    for number, system in enumerate(material.systems):
        of_system = [run for run in runs if run.trial.system == system]
        if not any(run.successes for run in of_system):
            continue
        name = f"faults-{number}"
        for end, (rows_of, columns) in _TABLES.items():
            drawn.tables[f"{name}{end}"] = table([row for run in of_system for row in rows_of(material, run)], columns)
        drawn.panels.append(_throughput(material, system, name, most, of_system))
        if any(value is not None for value in drawn.tables[name]["p99"]):
            drawn.panels.append(_latency(material, system, name, waits))
    return drawn


def _rows(material: Material, run: MeasuredRun) -> list[dict[str, Any]]:
    of_run = material.of_run(run)
    width = round(run.waited[0].seconds) if run.waited else 1
    p99 = {round(slot.start): slot.percentiles_ms[_P99] for slot in run.waited}
    rows = []
    for begin in range(0, len(run.successes), width):
        seconds = run.successes[begin : begin + width]
        failed = sum(run.failed.get(second, 0) for second in range(begin, begin + len(seconds)))
        rows.append(
            {
                **of_run,
                "time": begin,
                "operations": significant(sum(seconds) / len(seconds), 3),
                "failed": significant(failed / len(seconds), 3),
                "p99": significant(p99.get(begin), 3),
            }
        )
    return rows


def _bands(material: Material, run: MeasuredRun) -> list[dict[str, Any]]:
    end = len(run.successes)
    return [
        {
            **material.of_run(run),
            "time": significant(fault.at, 7),
            "until": significant(min(end, end if fault.until is None else fault.until), 7),
            "what": _said(fault),
        }
        for fault in _faults(run)
    ]


def _faults(run: MeasuredRun) -> list[FaultCost]:
    return run.faulted.faults if run.faulted else []


def _said(fault: FaultCost) -> str:
    until = "not undone" if fault.until is None else f"until {fault.until:.1f}"
    return f"{fault} on {', '.join(fault.hosts)}: second {fault.at:.1f}, {until}"


def _healing(material: Material, run: MeasuredRun) -> list[dict[str, Any]]:
    """Returns, for each kind of healing, the part of the window in which it was in progress."""
    end = len(run.successes)
    of_run = (faulted for faulted in run.trial.faults if (faulted.phase, faulted.run) == (run.phase, run.number))
    rows = [
        {
            **material.of_run(run),
            "time": significant(did.begin, 7),
            "until": significant(min(end, _end(did)), 7),
            "what": f"{material.named(run.trial)}: {did.what}, second {did.begin:.1f} "
            + ("on" if did.unfinished else f"to {_end(did):.1f}"),
        }
        for faulted in of_run
        for fault in faulted.faults
        for did in fault.healing
        if did.begin is not None and did.begin < end
    ]
    # Draw healing only once if it counts for several faults.
    return list({row["what"]: row for row in rows}.values())


def _end(did: Healing) -> float:
    return math.inf if did.unfinished or did.end is None else did.end


def _full(material: Material, run: MeasuredRun) -> list[dict[str, Any]]:
    before = run.faulted.before_ops_per_second if run.faulted else None
    return [] if before is None else [{**material.of_run(run), "full": significant(FULL_SHARE * before)}]


def _wrong(material: Material, run: MeasuredRun) -> list[dict[str, Any]]:
    of_run = material.of_run(run)
    return [
        {**of_run, "time": second, "wrong": 0, "what": f"{of_run['series']}, second {second}: {count:,} wrong reads"}
        for second, count in run.wrong.items()
    ]


# A system's tables, by the suffix of their names: a function that returns a run's rows, and an empty table's columns.
_TABLES: dict[str, tuple[Callable[[Material, MeasuredRun], list[dict[str, Any]]], tuple[str, ...]]] = {
    "": (_rows, ()),
    "-bands": (_bands, ()),
    "-full": (_full, ("part", "system", "series", "full")),
    "-healing": (_healing, ("part", "system", "series", "time", "until", "what")),
    "-wrong": (_wrong, ("part", "system", "series", "time", "wrong", "what")),
}


def _band(name: str) -> Spec:
    """Returns the layer with the faults' bands, which is drawn behind all other layers."""
    encoding = {"y": None, "color": None, "x2": {"field": "until"}, "tooltip": WHAT}
    return layer("rect", encoding, f"{name}-bands", opacity=0.18, color=GREY, clip=True)


def _throughput(material: Material, system: str, name: str, most: float, runs: list[MeasuredRun]) -> Panel:
    axis = {"type": "linear", "domain": [0, most], "nice": True}
    lined = {"type": "line", "strokeWidth": 1.3, "clip": True, "aria": False}
    full = {"x": None, "y": quantity("full", scale=axis)}
    healing = {"y": {"value": _HEIGHT - 3}, "x2": {"field": "until"}, "tooltip": WHAT}
    wrong = {"y": quantity("wrong", scale=axis), "tooltip": WHAT}
    layers: list[Spec] = [
        _band(name),
        layer("rule", full, f"{name}-full", strokeDash=[6, 4], opacity=0.6, aria=False),
        layer("rule", healing, f"{name}-healing", strokeWidth=5, strokeCap="round", opacity=0.6, clip=True),
        {"mark": lined},
        {"mark": {**lined, "strokeDash": [2, 2]}, "encoding": {"y": quantity("failed", scale=axis)}},
        layer("point", wrong, f"{name}-wrong", shape="cross", size=50, filled=True, yOffset=-6),
    ]
    y = quantity("operations", "operations per second", scale=axis, axis=_AXIS)
    spec = over_seconds(_HEIGHT, layers, y, material.systems)
    says = "; ".join(f"{fault}: {fault.zero_seconds:,} s without success" for run in runs for fault in _faults(run))
    return Panel(system, spec, name, f"{system}, operations per second over time. {says}.", cursor=True)


def _latency(material: Material, system: str, name: str, waits: list[float]) -> Panel:
    axis, suffix = scale(waits)
    if axis["type"] == "log":
        axis = {**axis, "domain": [min(wait for wait in waits if wait > 0), max(waits)]}
    else:
        axis = {**axis, "domain": [0, max(waits)]}
    line = {"type": "line", "strokeWidth": 1.3, "clip": True, "aria": False, "invalid": "break-paths-show-domains"}
    y = quantity("p99", f"p99 ms{suffix}", scale=axis, axis={**_AXIS, "grid": False})
    spec = over_seconds(110, [_band(name), {"mark": line}], y, material.systems)
    title = f"{system}, p99 from the intended start"
    return Panel(title, spec, name, f"{title}, over time.", cursor=True)
