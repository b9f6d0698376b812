"""Finds programs that use this machine's processors before the first trial. They could make every run invalid."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import click

from dohyo.bad_input import BadInputError
from dohyo.evidence import host_metrics
from dohyo.evidence.host_metrics import Taken
from dohyo.evidence.servers import Window
from dohyo.places import ANSIBLE
from dohyo.scenario.scenario import Scenario
from dohyo.summary import validity
from dohyo.terminal import say
from dohyo.trial.use_notes import fields_of

SAMPLER = ANSIBLE / "agent/sampler.py"
# Seconds for which the sampler runs: enough for three samples, which span two seconds. On a busy machine, it may start
# late; if samples are missing, it runs once more for longer.
LOOK_SECONDS = (2.2, 8)
# A warning lists only processes that used at least this share of all processors, and at most this many of them.
_NAMED, _MOST_NAMED = 0.05, 3


def agree(scenario: Scenario, *, agreed: bool) -> None:
    """Warns if programs use more of this machine's processors than the scenario allows. On a terminal, also asks.

    :param agreed: whether the user has already agreed
    :raises BadInputError: if the user declines
    """
    limit = validity.most_taken(scenario.values.get("max.other.cpu"), strict=scenario["strict_conditions"] == "true")
    if limit >= 1 or not (reasons := validity.taken((usage := look())[0], limit)):
        return
    for reason in reasons:
        say(reason, err=True)
    for line in usage[1]:
        say(line, err=True)
    if not agreed and sys.stdin.isatty():
        if not click.confirm("A run disturbed like this does not count. Measure anyway?", err=True):
            raise BadInputError("nothing was started; end these programs, or allow more with --set max.other.cpu=50%")
    else:
        say("  a run disturbed like this does not count; end these programs, or set max.other.cpu=50%", err=True)


def look() -> tuple[Taken, list[str]]:
    """Returns the processor use of other programs on this machine, and a line on each of their busiest processes."""
    for seconds in LOOK_SECONDS:
        usage, busiest = _look(seconds)
        if usage.other is not None:
            break
    return usage, busiest


def _look(seconds: float) -> tuple[Taken, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / host_metrics.FILE
        with file.open("wb") as output, subprocess.Popen([sys.executable, SAMPLER], stdout=output) as sampler:
            before, began = _ticks(), time.time()
            time.sleep(seconds)
            after, ended = _ticks(), time.time()
            sampler.terminate()
        samples = host_metrics.read(file, lambda _: None)
    capacity = (ended - began) * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
    grown = {process: (ticks - before.get(process, 0)) / capacity for process, ticks in after.items()}
    busiest = sorted((share, pid) for (pid, _), share in grown.items() if share >= _NAMED and pid != sampler.pid)
    lines = [_described(pid, share) for share, pid in reversed(busiest[-_MOST_NAMED:])]
    usage = host_metrics.taken(samples, "localhost", Window("", None, began, began, ended, {}))
    return usage, [line for line in lines if line]


def _ticks() -> dict[tuple[int, str], int]:
    """Returns the processor ticks used by each process, identified by pid and start time, as in proc(5)."""
    ticks = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if fields := fields_of(int(folder.name)):
            ticks[int(folder.name), fields[19]] = int(fields[11]) + int(fields[12])
    return ticks


def _described(pid: int, share: float) -> str:
    """Returns a line with the name and user of a process and its share of all processors; empty if it has ended."""
    with suppress(OSError):
        name = Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        uid = Path(f"/proc/{pid}").stat().st_uid
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = str(uid)
        return f"  {name} (process {pid} of {user}) used {share:.0%}"
    return ""
