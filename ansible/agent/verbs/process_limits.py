"""Reads the memory and processor limits of a system's processes on this host. Does not need root, and changes nothing."""

from __future__ import annotations

import glob
import os
from typing import Any

from disks import text

CGROUP = "/sys/fs/cgroup"


def pids_of(run: str, name: str) -> list[str]:
    """Returns the pids of the running processes that the agent started as NAME or NAME-PART."""
    pids = []
    for path in sorted(glob.glob(os.path.join(run, name, "pid")) + glob.glob(os.path.join(run, f"{name}-*", "pid"))):
        with open(path, encoding="ascii", errors="replace") as file:
            pids += file.read().split()[:1]
    return [pid for pid in pids if os.path.isdir(f"/proc/{pid}")]


def cgroup_of(pid: str) -> str:
    """Returns the path of a process's cgroup in the version 2 hierarchy, or an empty string if the host has no such hierarchy."""
    with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as lines:
        return next((line.rstrip("\n")[3:] for line in lines if line.startswith("0::")), "")


def limit_of(paths: list[str], root: str = CGROUP) -> tuple[int | None, str]:
    """Returns the lowest memory limit, in bytes, of the cgroups that contain all processes; without a limit, None and the reason.

    :param paths: cgroups of the processes, from :func:`cgroup_of`
    """
    if "memory" not in text(os.path.join(root, "cgroup.controllers")).split():
        return None, "it has no memory controller of cgroup version 2"
    common = os.path.commonpath([path or "/" for path in paths]) if paths else "/"
    least = None
    while common != "/":
        limit = text(os.path.join(root, common.lstrip("/"), "memory.max")) or "max"
        if limit != "max":
            least = min(int(limit), least) if least is not None else int(limit)
        common = os.path.dirname(common)
    return least, "" if least is not None else "no cgroup that contains all processes has a limit"


def listed(numbers: set[int]) -> str:
    """Returns numbers in the kernel's format, such as 0-3,8."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def cpus_of(pids: list[str]) -> str:
    """Returns the processors on which the threads of these processes may run, or "" if these are all processors of the host."""
    processors: set[int] = set()
    for pid in pids:
        for task in glob.glob(f"/proc/{pid}/task/*"):
            try:
                processors |= os.sched_getaffinity(int(os.path.basename(task)))
            except OSError:
                continue  # the thread has ended
    numbers = listed(processors)
    return "" if numbers == text("/sys/devices/system/cpu/online") else numbers


def answer(run: str, name: str) -> dict[str, Any]:
    """Returns the limits of a system's processes.

    :param run: folder `run` in Dohyo's home
    :param name: NAME of the processes that were started as NAME or NAME-PART
    :returns: ``memory_mb``, the limit in MiB of the cgroups that contain all processes, or null without a limit; ``why``, the
        reason for null; ``cpus``, the processors on which threads may run, such as 0-3,8 (empty: all); ``processes``, their number
    """
    pids = pids_of(os.path.expanduser(os.path.expandvars(run)), name)
    memory, reason = limit_of([cgroup_of(pid) for pid in pids])
    return {"memory_mb": None if memory is None else memory // 2**20, "why": reason, "cpus": cpus_of(pids), "processes": len(pids)}
