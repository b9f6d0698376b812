"""Draws throughput, p99, the servers' background work, processors and disks over time. All panels share a cursor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dohyo.evidence.server_log import covered
from dohyo.evidence.servers import DOING, GC_PAUSE
from dohyo.figures import point_name
from dohyo.report.grammar import (
    ROW_AXIS,
    SECONDS,
    WHAT,
    ZOOM,
    Chart,
    Panel,
    Spec,
    Table,
    by_system,
    dash,
    layer,
    over_seconds,
    quantity,
    rows_high,
    scale,
    table,
)
from dohyo.report.material import Material, MeasuredRun, significant
from dohyo.scenario.phases import LOAD
from dohyo.summary.results import Trial

_EVENT = ("part", "system", "time", "what")
_MOST_HOSTS_NAMED = 3
# Widths in pixels of the axis and its title. They are the same in all panels, so that the seconds are aligned.
_AXIS_WIDTH = 64
_TITLE_WIDTH = 17
# Panels of the hosts: column → title.
_OF_HOSTS = {
    "cpu": "Processors, not idle",
    "others": "Processors, used by other processes",
    "disk": "Busiest disk, share of the time",
}
_P99 = 99
# With more points, a line has no dashes: they would look like noise, and browsers would take seconds to paint them.
_MOST_DASHED = 300
# A host's sample, which covers one second, counts if at least this part of the second is in the window.
_MOSTLY = 0.5
# System, point, round, phase and number of a run, as written in hosts.csv.
_Place = tuple[str, str, str, str, str]
# Maximum number of points in the hosts' panels; it keeps the page small.
_MOST_HOST_POINTS = 40_000
# Key of a time slot: part, system, series and begin. A sum: total and number of values.
_Slot = tuple[str, str, str, float]
_Sum = tuple[float, int]


def chart(material: Material) -> Chart:
    """Returns panels that share a time axis."""
    clients = [row for run in _in_order(material) for row in _rows(material, run)]
    ends = {_place(run): run.run.seconds for run in material.runs}
    hosts = _thinned(row for line in material.hosts() if (row := _host_row(material, line, ends)))
    panels: list[Panel] = []
    tables: dict[str, Table] = {}
    if clients:
        tables["time"] = table(clients)
        tables["events"] = table(_events(material), _EVENT)
        panels = [_panel(material, "time", "operations", "Throughput", "operations per second", clients)]
        if any(row["p99"] is not None for row in clients):
            panels.append(_panel(material, "time", "p99", "p99 of all operations", "ms", clients))
    doing = [row for run in _in_order(material) for row in _server_rows(material, run)]
    if doing:
        tables["servers"] = table(doing)
        panels.append(_servers_panel(material, doing))
    nothing = "No run or longer load has histogram logs or status lines, so nothing is known over time."
    missing = None if clients else nothing
    question = (
        "Was it steady? One line per run, without its warm-up; vertical lines are events. Point at a chart, or use the"
        " slider, to read a second; drag along a chart, or use the buttons, to zoom in."
    )
    if doing:
        question += (
            " In the rows of the servers, a tick is a second with a GC pause, a compaction or a flush; a darker tick"
            f" lasted longer. Work that a system's logs do not contain has no row{_without(material, doing)}."
        )
    if hosts:
        tables["hosts"] = table(hosts)
        for column, title in _OF_HOSTS.items():
            if any(row[column] is not None for row in hosts):
                panels.append(_panel(material, "hosts", column, title, "%", hosts))
    elif clients:
        question += " Processors and disks are left out: hosts.csv is missing, or does not tell the trials apart."
    return Chart("over-time", "Over time", question, panels, tables, by_part=True, legend=True, missing=missing)


def _in_order(material: Material) -> list[MeasuredRun]:
    # Include invalid runs, to show what went wrong.
    drawn = [run for run in material.runs if run.slots and not run.discarded]
    return sorted(drawn, key=lambda run: material.place(run.phase))


def _rows(material: Material, run: MeasuredRun) -> list[dict[str, Any]]:
    of_run = material.of_run(run)
    width = round(run.slots[0].seconds)
    p99 = {round(slot.start): slot.percentiles_ms.get(_P99) for slot in run.slots}
    slots = ((begin, run.throughput[begin : begin + width]) for begin in range(0, len(run.throughput), width))
    return [
        {
            **of_run,
            "time": begin,
            "operations": significant(sum(seconds) / len(seconds), 3),
            "p99": significant(p99.get(begin), 3),
        }
        for begin, seconds in slots
    ]


def _events(material: Material) -> list[dict[str, Any]]:
    """Returns the events in the runs that are drawn, such as dips, errors and long pauses of the servers."""
    drawn = {(run.trial.name, run.phase, run.number) for run in _in_order(material)}
    rows = []
    for trial in material.summary.trials:
        for event in trial.events:
            phase = LOAD if event.run is None else event.phase
            if event.at is None or (trial.name, phase, event.run) not in drawn:
                continue
            time = max(0.0, event.at - material.warmup(trial, phase, event.run))
            row = {"part": material.part(phase, trial), "system": trial.system, "time": significant(time, 7)}
            rows.append({**row, "what": f"{material.named(trial)}, {event}"})
    return rows


def _place(run: MeasuredRun) -> _Place:
    trial = run.trial
    return trial.system, point_name(trial.point), str(trial.round or 1), run.phase, str(run.number or "")


def _host_row(material: Material, line: dict[str, Any], ends: Mapping[_Place, float | None]) -> dict[str, Any] | None:
    """Returns a line of hosts.csv as a row of the chart, or None if its second is mostly outside the window."""
    trial = material.trial(line["system"], line["point"], str(line["round"]))
    if line["time"] is None or trial is None:
        return None
    time = line["time"] - material.warmup(trial, line["phase"], line["run"])
    end = ends.get((line["system"], line["point"], line["round"], line["phase"], line["run"]))
    if time < -_MOSTLY or (end is not None and time > end - _MOSTLY):
        return None
    run = f"run {line['run']}" if line["run"] else "load"
    return {
        "part": material.part(line["phase"], trial),
        "system": line["system"],
        "series": f"{line['system']} round {line['round']} {run} on {line['host']}",
        "time": significant(max(0.0, time), 7),
        **{column: _percent(line[column]) for column in _OF_HOSTS},
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else significant(100 * share, 3)


def _thinned(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows or, if there are more than `_MOST_HOST_POINTS`, their means over 2, 4, … seconds."""
    seconds = 1
    slots: dict[_Slot, dict[str, _Sum]] = {}

    def add(slot: _Slot, sums: Mapping[str, _Sum]) -> None:
        into = slots.setdefault(slot, dict.fromkeys(_OF_HOSTS, (0.0, 0)))
        for column, (value, count) in sums.items():
            into[column] = (into[column][0] + value, into[column][1] + count)

    for row in rows:
        time = row["time"] if seconds == 1 else row["time"] // seconds * seconds
        values = {column: (row[column], 1) for column in _OF_HOSTS if row[column] is not None}
        add((row["part"], row["system"], row["series"], time), values)
        while len(slots) > _MOST_HOST_POINTS:
            seconds *= 2
            finer, slots = slots, {}
            for (part, system, series, begin), sums in finer.items():
                add((part, system, series, begin // seconds * seconds), sums)
    return [
        {
            "part": part,
            "system": system,
            "series": series,
            "time": begin,
            **{column: significant(total / count, 3) if count else None for column, (total, count) in sums.items()},
        }
        for (part, system, series, begin), sums in slots.items()
    ]


def _server_rows(material: Material, run: MeasuredRun) -> Iterator[dict[str, Any]]:
    """Yields a row for each time slot in which a server paused, compacted or flushed."""
    width = round(run.slots[0].seconds)
    warmup = material.warmup(run.trial, run.phase, run.number)
    # kind -> slot -> host -> intervals within the slot
    slots: dict[str, dict[int, dict[str, list[tuple[float, float]]]]] = {}
    for span in run.trial.spans:
        if (span.phase, span.run) != (run.phase, run.number):
            continue
        begin, end = max(0.0, span.begin - warmup), min(float(len(run.throughput)), span.end - warmup)
        for slot in range(int(begin // width), int(end // width) + 1) if end > begin else ():
            of_hosts = slots.setdefault(span.kind, {}).setdefault(slot, {})
            of_hosts.setdefault(span.host, []).append((max(begin, slot * width), min(end, (slot + 1) * width)))
    servers = max(1, sum(1 for server in run.trial.servers if server.host))
    for kind, by_slot in slots.items():
        for slot, of_hosts in sorted(by_slot.items()):
            share = sum(covered(spans) for spans in of_hosts.values()) / width / servers
            names = sorted(of_hosts)
            more = f" and {len(names) - _MOST_HOSTS_NAMED} more" if len(names) > _MOST_HOSTS_NAMED else ""
            series = f"{material.named(run.trial)} {run.name} {DOING[kind]}"
            hosts = f"{', '.join(names[:_MOST_HOSTS_NAMED])}{more}"
            yield {
                "part": material.part(run.phase, run.trial),
                "system": run.trial.system,
                "series": series,
                "doing": _doing(run.trial, kind),
                "time": slot * width,
                "until": (slot + 1) * width,
                "share": significant(share, 2),
                "what": f"{series}, second {slot * width}: {share:.2%} of the time, on {hosts}",
            }


def _doing(trial: Trial, kind: str) -> str:
    return f"{trial.system} · {DOING[kind]}"


def _labels(material: Material, present: set[str]) -> list[str]:
    labels = [f"{system} · {kind}" for system in material.systems for kind in DOING.values()]
    return [label for label in labels if label in present]


def _without(material: Material, rows: list[dict[str, Any]]) -> str:
    """Describes the kinds of work that did not occur, except for kinds that the logs do not report."""
    kinds = {_doing(trial, GC_PAUSE) for trial in material.summary.trials for server in trial.servers if server.pauses}
    background = [(trial, server.background) for trial in material.summary.trials for server in trial.servers]
    kinds |= {_doing(trial, work.kind) for trial, works in background for work in works}
    none = _labels(material, kinds - {row["doing"] for row in rows})
    return f", and there were no {', '.join(label.replace(' · ', ' ') for label in none)}" if none else ""


def _servers_panel(material: Material, rows: list[dict[str, Any]]) -> Panel:
    """Returns a panel with a row for each system and each kind of work."""
    labels = _labels(material, {row["doing"] for row in rows})
    of_part: dict[str, set[str]] = {}
    for row in rows:
        of_part.setdefault(row["part"], set()).add(row["doing"])
    title = "Servers: GC pauses, compactions and flushes"
    spec: Spec = {
        "height": {"step": rows_high([""])},
        "params": [ZOOM],
        "layer": [{"mark": {"type": "rect", "clip": True, "aria": False}}],
        "encoding": {
            "x": SECONDS,
            "x2": {"field": "until"},
            "y": {
                "field": "doing",
                "type": "nominal",
                "title": "servers",  # heading of the column in the table of values; the axis itself has no title
                "scale": {"paddingInner": 0.2},
                "axis": {
                    **ROW_AXIS,
                    "title": None,
                    "labelFontSize": 10,
                    "ticks": False,
                    "labelPadding": 4,
                    "labelLimit": _AXIS_WIDTH + _TITLE_WIDTH - 4,
                    "minExtent": _AXIS_WIDTH + _TITLE_WIDTH,
                    "maxExtent": _AXIS_WIDTH + _TITLE_WIDTH,
                },
            },
            "color": by_system(material.systems),
            "opacity": quantity("share", scale={"domain": [0, 1], "range": [0.4, 1]}, legend=None),
            "tooltip": WHAT,
        },
    }
    counted = Counter(row["doing"] for row in rows)
    slots = ", ".join(f"{label.replace(' · ', ' ')} in {counted[label]:,} time slots" for label in labels)
    says = f"{title} over time: {slots}."
    domains = {part: {"y": _labels(material, kinds)} for part, kinds in of_part.items()}
    return Panel(title, spec, "servers", says, cursor=True, domains=domains)


def _panel(material: Material, data: str, column: str, title: str, unit: str, rows: list[dict[str, Any]]) -> Panel:
    values = [row[column] for row in rows if row[column] is not None]
    # Use a fixed axis for percentages, with room above 100.
    axis, suffix = scale(values) if unit != "%" else ({"type": "linear", "domain": [0, 105]}, "")
    if column == "operations":
        # Use a linear scale: seconds without operations matter most, and a log scale cannot show 0.
        axis, suffix = {"type": "linear", "zero": True, "nice": True}, ""
    extent = {"minExtent": _AXIS_WIDTH}
    longest = max(Counter((row["part"], row["series"]) for row in rows).values())
    width = 1.3 if longest <= _MOST_DASHED else 0.7
    line = {"type": "line", "strokeWidth": width, "opacity": 0.85, "clip": True, "aria": False}
    line["invalid"] = "break-paths-show-domains"
    encoding = {"y": None, "detail": None, "strokeDash": None, "tooltip": WHAT}
    event = layer("rule", encoding, "events", opacity=0.4, strokeWidth=2, clip=True, aria=False)
    layers: list[Spec] = [{"mark": line}, *([event] if data == "time" else [])]
    y = quantity(column, f"{unit}{suffix}", scale=axis, axis=extent)
    dashes = {"strokeDash": dash(material.systems)} if longest <= _MOST_DASHED else {}
    spec = over_seconds(170, layers, y, material.systems, **dashes)
    runs = len({(row["part"], row["series"]) for row in rows})
    lowest, highest = min(values, default=0), max(values, default=0)
    says = f"{title} over time in {runs} runs, from {lowest:,.4g} to {highest:,.4g} {unit}."
    return Panel(title, spec, data, says, cursor=True)
