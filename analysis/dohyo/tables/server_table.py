"""Builds the tables of what servers report: pauses of JVMs, compactions and flushes, and the servers' own figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dohyo.evidence.server_log import PLURALS
from dohyo.evidence.servers import Background, Pauses
from dohyo.figures import UNKNOWN, named, whole
from dohyo.summary.results import Trial
from dohyo.tables.grid import MOST_LINES, TOTAL, Grid

_UNITS = ("bytes", "ms", "seconds", "ratio")


def grids(trials: Sequence[Trial], label: Callable[[Trial], str]) -> list[Grid]:
    """Returns tables of pauses and background work, and two for each group of systems that report the same figures."""
    tables = [
        Grid(
            "Servers: garbage collection in the measured windows",
            ["system", "JVM", "pauses", "total", "longest", "of the time"],
            [line for trial in trials for line in _paused(trial, label(trial))],
        ),
        Grid(
            "Servers: compactions and flushes in the measured windows, for systems whose logs contain them",
            ["system", "work", *_OF_WORK],
            [
                [label(trial), PLURALS[kind], *_of_work(trial, kind)]
                for trial in trials
                if any(server.background for server in trial.servers)
                for kind in PLURALS
            ],
        ),
    ]
    by_figures: dict[tuple[str, ...], list[Trial]] = {}
    for trial in trials:
        if names := _known(trial):
            by_figures.setdefault(names, []).append(trial)
    for names, of_these in by_figures.items():
        heads = [_head(name) for name in names]
        title = "Servers: figures that they report for a run of each phase, all hosts together"
        by_phase = [line for trial in of_these for line in _phases(trial, label(trial), names)]
        tables.append(Grid(title, ["system", "phase", *heads], by_phase))
        # With a single host, the table by phase already contains everything.
        by_host = [trial for trial in of_these if len(trial.servers) > 1 or not trial.servers[-1].phases]
        lines = [line for trial in by_host for line in _figures(trial, label(trial), names)]
        tables.append(Grid("Servers: figures that they report since their start", ["system", "node", *heads], lines))
    return tables


_OF_WORK = ("all nodes", "written", "longest", "busiest node", "total", "of the time")


def _paused(trial: Trial, label: str) -> list[list[str]]:
    """Returns a line for each JVM that paused in any run; if there are many, only for those that paused longest."""
    of_jvms: dict[tuple[str, str | None], list[Pauses]] = {}
    for server in trial.servers:
        for pauses in server.pauses if server.host else ():
            of_jvms.setdefault((str(server.host), pauses.process), []).append(pauses)
    shown = {jvm: runs for jvm, runs in of_jvms.items() if any(run.count for run in runs)}
    ordered = (
        sorted(shown, key=lambda jvm: -sum(run.total_ms for run in shown[jvm])) if len(shown) > MOST_LINES else shown
    )
    lines = [
        [label, host if process is None else f"{host} {process}", *_summed(shown[host, process])]
        for host, process in list(ordered)[:MOST_LINES]
    ]
    if len(shown) > MOST_LINES:
        lines.append([label, f"({len(shown) - MOST_LINES} more)", *[""] * 4])
    if len(of_jvms) > 1 or (of_jvms and not shown):
        lines.append([label, TOTAL, *_summed([run for runs in of_jvms.values() for run in runs])])
    return lines


def _of_work(trial: Trial, kind: str) -> list[str]:
    """Returns the figures of a kind of background work in all runs."""
    of_hosts = {
        str(server.host): runs
        for server in trial.servers
        if server.host and (runs := [run for run in server.background if run.kind == kind])
    }
    if not of_hosts:
        return [UNKNOWN] * len(_OF_WORK)
    busiest = max(of_hosts, key=lambda host: _share(of_hosts[host]))
    longest = [run.longest_seconds for runs in of_hosts.values() for run in runs if run.longest_seconds is not None]
    # The last entry covers all hosts; it is empty if the work of any host is unknown.
    together = [run for run in trial.servers[-1].background if run.kind == kind]
    written = [run.bytes for run in together if run.bytes is not None]
    return [
        whole(sum(run.count for run in together) if together else None),
        named("written_bytes", sum(written) if together and len(written) == len(together) else None),
        named("longest_seconds", max(longest, default=None)),
        busiest,
        named("total_seconds", sum(run.total_seconds for run in of_hosts[busiest])),
        named("share_ratio", _share(of_hosts[busiest])),
    ]


def _share(runs: Sequence[Background]) -> float:
    return sum(run.share for run in runs) / len(runs)


def _summed(runs: Sequence[Pauses]) -> list[str]:
    longest = max((run.longest_ms for run in runs if run.longest_ms is not None), default=None)
    total, share = sum(run.total_ms for run in runs), sum(run.share for run in runs) / len(runs)
    return [
        whole(sum(run.count for run in runs)),
        named("total_ms", total),
        named("longest_ms", longest),
        named("share_ratio", share),
    ]


def _known(trial: Trial) -> tuple[str, ...]:
    """Returns the names of the figures that are known for at least one host."""
    names = dict.fromkeys(name for server in trial.servers for name in server.figures)
    return tuple(name for name in names if any(server.figures[name] is not None for server in trial.servers))


def _phases(trial: Trial, label: str, names: Sequence[str]) -> list[list[str]]:
    """Returns a line for each phase, with the figures of all hosts together. The last server entry contains them."""
    return [
        [label, phase.phase, *(named(name, phase.figures[name]) for name in names)]
        for phase in trial.servers[-1].phases
    ]


def _figures(trial: Trial, label: str, names: Sequence[str]) -> list[list[str]]:
    hosts = [server for server in trial.servers if server.host]
    together = [server for server in trial.servers if not server.host]
    lines = [
        [label, server.host or TOTAL, *(named(name, server.figures[name]) for name in names)]
        for server in hosts[:MOST_LINES] + together
    ]
    if len(hosts) > MOST_LINES:
        lines.insert(MOST_LINES, [label, f"({len(hosts) - MOST_LINES} more)", *[""] * len(names)])
    return lines


def _head(name: str) -> str:
    title, _, unit = name.rpartition("_")
    return (title if unit in _UNITS else name).replace("_", " ")
