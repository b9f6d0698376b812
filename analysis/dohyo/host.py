"""Collects facts about the control machine and about Dohyo's software, mainly for experiment.json."""

import os
import platform
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dohyo.places import JDK, ROOT


def hardware() -> dict[str, Any]:
    """Returns this machine's processor, memory and operating system."""
    processors = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [int(line.split()[1]) * 1024 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    names = dict(line.split("=", 1) for line in _lines("/etc/os-release") if "=" in line)
    return {
        "name": platform.node(),
        "processor": processors[0] if processors else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory[0] if memory else None,
        "os": names.get("PRETTY_NAME", "Linux").strip('"'),
        "kernel": platform.release(),
        "load_average": os.getloadavg()[0],
    }


class Processors:
    """Measures the utilisation of this machine's processors with /proc/stat."""

    def __init__(self) -> None:
        self._before = self._ticks()

    def busy(self) -> float | None:
        """Returns the share of the time since the last call in which the processors were busy, or None if unknown."""
        before, self._before = self._before, self._ticks()
        grown = [after - ticks for ticks, after in zip(before, self._before, strict=False)]
        # The fourth and fifth values are the time spent idle and waiting for disks; see proc(5).
        return 1 - sum(grown[3:5]) / sum(grown) if sum(grown) > 0 else None

    @staticmethod
    def _ticks() -> list[int]:
        line = next(iter(_lines("/proc/stat")), "")
        # The values after the first eight are the time of virtual machines, which the first two already include.
        return [int(ticks) for ticks in line.split()[1:9]]


def versions() -> dict[str, Any]:
    """Returns the versions of Dohyo and its software. The servers' versions are in each trial's conditions.json."""
    java = [
        line.partition("=")[2].strip('"') for line in _lines(str(JDK / "release")) if line.startswith("JAVA_VERSION=")
    ]
    return {
        "dohyo": tomllib.loads((ROOT / "analysis/pyproject.toml").read_text("utf-8"))["project"]["version"],
        "commit": _commit(),
        "ansible_core": version("ansible-core"),
        "python": platform.python_version(),
        "jdk": java[0] if java else None,
    }


def _commit() -> str | None:
    """Returns the commit of the checkout, with "+" if files were changed, or None outside a git checkout."""
    try:
        described = subprocess.run(
            ["git", "-C", ROOT, "describe", "--always", "--dirty=+", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
