"""Sets kernel values and restores them. ansible.posix.sysctl neither saves former values nor supports /sys.

Each value is read back after it was set. If the kernel or a container rejects a value, the verb reports this and does not fail. The
former value is saved on the host before the change. ``restored`` writes all former values back, and removes the file that contains
them. ``set`` also restores settings that are no longer requested.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from disks import text
from failure import AgentError


def read(file: str) -> str:
    """Returns the value in a file. For a choice such as "always [madvise] never", returns the chosen word. Raises OSError if that fails."""
    with open(file, encoding="ascii") as lines:
        value = " ".join(lines.read().split())
    return value.partition("[")[2].partition("]")[0] if "[" in value else value


def write(file: str, value: str) -> str:
    """Writes a value. Returns why this was not possible, or an empty string."""
    try:
        with open(file, "w", encoding="ascii") as output:
            output.write(value)
    except OSError as error:
        return str(error.strerror)
    return "" if read(file) == value else "the kernel did not accept the value"


# Names of the limits in /proc/PID/limits.
LIMITS = {"open files": "Max open files", "processes": "Max processes"}


def read_limits(limits: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the default hard limits of systemd units."""
    command = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "cat", "/proc/self/limits"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    hard = {name: line[len(title) :].split()[1] for name, title in LIMITS.items() for line in lines if line.startswith(title)}
    return [
        {"name": name, "file": "", "wanted": str(value), "before": hard[name], "now": hard[name], "problem": ""}
        for name, value in limits.items()
    ]


def as_wanted(setting: dict[str, Any]) -> bool:
    """Returns whether a setting has the wanted value. A limit may also be higher."""
    now, requested = setting["now"], setting["wanted"]
    if setting["name"] in LIMITS:
        return now == "unlimited" or int(now) >= int(requested)
    return bool(now == requested)


class Kept:
    """Stores the former value of each path in a JSON file, which is written at every change."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.values: dict[str, str] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.values = json.load(file)

    def remember(self, file: str, value: str) -> None:
        """Records a value unless one is recorded already, because the first value is from before Dohyo's changes."""
        self.values.setdefault(file, value)
        self.save()

    def save(self) -> None:
        """Writes the JSON file atomically, or removes it if there are no values."""
        if not self.values:
            if os.path.exists(self._path):
                os.remove(self._path)
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            json.dump(self.values, file, indent=1)
        os.replace(f"{self._path}.new", self._path)


def put_back(former: Kept, files: list[str], dry: bool) -> list[str]:
    """Restores the former values of these files. Returns a sentence for each value that could not be restored."""
    problems = []
    for file in [] if dry else files:
        before = former.values[file]
        # Skip the file of a device that no longer exists.
        problem = write(file, before) if os.path.exists(file) and read(file) != before else ""
        if problem:
            problems.append(f"{file} was {before} and cannot be restored: {problem}")
        else:
            del former.values[file]
            former.save()
    return problems


def wanted_settings(
    settings: Sequence[dict[str, Any]], disks: Sequence[dict[str, Any]], queue: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Returns the name, file and value of each requested setting."""
    requested = [{"file": f"/proc/sys/{setting['name'].replace('.', '/')}", **setting} for setting in settings]
    for disk in disks:
        for name, values in sorted(queue.items()):
            file = f"/sys/block/{disk['name']}/queue/{name}"
            requested.append({"name": f"{disk['path']} {name}", "file": file, "value": values[disk["kind"]]})
    return requested


def tune(state: str, settings: list[dict[str, Any]], former: Kept, dry: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """Reads every setting, and sets it if `state` is ``set``.

    Returns an entry for each file, and the names of settings that this kernel does not support.
    """
    entries: list[dict[str, Any]] = []
    absent: list[str] = []
    for setting in settings:
        files = sorted(glob.glob(setting["file"]))
        if not files:
            absent.append(setting["name"])
        for file in files:
            before = now = read(file)
            value = str(setting["value"])
            problem = ""
            if state == "set" and now != value:
                now, problem = set_value(file, value, former, dry)
            entries.append(
                {
                    "name": setting["name"],
                    "file": file,
                    "wanted": value,
                    "before": before,
                    "now": now,
                    "problem": problem,
                }
            )
    return entries, absent


def set_value(file: str, value: str, former: Kept, dry: bool) -> tuple[str, str]:
    """Sets one value. Returns the resulting value, and why it differs from the wanted one."""
    before = read(file)
    if not os.access(file, os.W_OK):
        return before, "the file is read-only"
    if dry:
        return value, ""
    fresh = file not in former.values
    former.remember(file, before)
    problem = write(file, value)
    now = read(file)
    if fresh and now == before:
        del former.values[file]
        former.save()
    return now, problem


def answer(
    state: str,
    kept: str,
    settings: Sequence[dict[str, Any]] = (),
    disks: Sequence[dict[str, Any]] = (),
    queue: dict[str, dict[str, Any]] | None = None,
    limits: dict[str, int] | None = None,
    dry: bool = False,
) -> dict[str, Any]:
    """Sets, reads or restores kernel values.

    :param state: ``set``, ``read`` or ``restored``
    :param kept: path of the file on the host that contains the former values
    :param settings: name and value of each setting, and a file or a pattern of files unless the name is a sysctl
    :param disks: name and kind of each block device to which `queue` applies
    :param queue: settings in /sys/block/NAME/queue for each kind of device
    :param limits: for ``read``: minimum limits that a systemd unit must be able to have
    :param dry: whether to report changes without making them
    :returns: ``settings`` (for each file its name, path, the values wanted, before and now, and the problem), ``differences`` (a phrase
        for every name whose value is not the wanted one), ``absent`` (names that this kernel does not support), ``container``
        (the kind of container, empty outside of one), ``changed`` and ``diff``
    :raises AgentError: for a value that cannot be restored
    """
    if state not in ("set", "read", "restored"):
        raise AgentError(f"state '{state}': must be one of set, read, restored")
    limits = limits or {}
    if unknown := limits.keys() - LIMITS:
        raise AgentError(f"limits: {', '.join(sorted(unknown))}: must be among {', '.join(LIMITS)}")
    former = Kept(os.path.expanduser(os.path.expandvars(kept)))
    entries, absent = tune(state, wanted_settings(settings, disks, queue or {}), former, dry)
    diff = [(entry["file"], entry["before"], entry["now"]) for entry in entries if entry["now"] != entry["before"]]
    if state == "read":
        obsolete = []
        entries += read_limits(limits) if limits else []
    else:
        obsolete = sorted(set(former.values) - ({entry["file"] for entry in entries} if state == "set" else set()))
    diff += [(file, read(file), former.values[file]) for file in obsolete if os.path.exists(file)]
    if problems := put_back(former, obsolete, dry):
        raise AgentError("; ".join(problems))
    different = {entry["name"]: f"{entry['name']} {entry['now']} instead of {entry['wanted']}" for entry in entries if not as_wanted(entry)}
    return {
        "changed": any(before != after for _, before, after in diff),
        "settings": entries,
        "differences": list(different.values()),
        "absent": absent,
        "container": text("/run/systemd/container"),
        "diff": {
            "before": "".join(f"{file} = {before}\n" for file, before, _ in diff),
            "after": "".join(f"{file} = {after}\n" for file, _, after in diff),
        },
    }
