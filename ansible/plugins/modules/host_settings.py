"""Ansible module: sets kernel values and puts them back. ansible.posix.sysctl keeps no former values and knows no /sys.

PyPI has that collection only inside the package ``ansible`` (21,000 files). Each value is read back after it was set. A
value that the kernel or a container denies is reported, and is no failure. The former value is saved on the host before
the change; ``restored`` writes exactly that and removes the file. A setting that is no longer asked for is put back,
too.

Returns ``settings`` (name, file, and the values wanted, before and now, and what went wrong, for each file),
``differences`` (a phrase for every name that is not as wanted), ``absent`` (names that this kernel does not have) and
``container`` (the kind of container, empty on a machine).
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule


def read(file: str) -> str:
    """Value of a file; of a choice like "always [madvise] never" what is chosen. Raises OSError."""
    with open(file, encoding="ascii") as lines:
        text = " ".join(lines.read().split())
    if "[" in text:
        return text.partition("[")[2].partition("]")[0]
    return text


def write(file: str, value: str) -> str:
    """Write a value; returns why that was not possible, or nothing."""
    try:
        with open(file, "w", encoding="ascii") as output:
            output.write(value)
    except OSError as error:
        return str(error.strerror)
    return "" if read(file) == value else "the kernel keeps its own value"


# As /proc/PID/limits calls them.
LIMITS = {"open files": "Max open files", "processes": "Max processes"}


def read_limits(wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """The hard limits that a unit has when it asks for no others."""
    command = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "cat", "/proc/self/limits"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    hard = {
        name: line[len(title) :].split()[1]
        for name, title in LIMITS.items()
        for line in lines
        if line.startswith(title)
    }
    return [
        {"name": name, "file": "", "wanted": str(value), "before": hard[name], "now": hard[name], "problem": ""}
        for name, value in wanted.items()
    ]


def as_wanted(setting: dict[str, Any]) -> bool:
    """Equal, or, for a limit, at least as high."""
    now, wanted = setting["now"], setting["wanted"]
    if setting["name"] in LIMITS:
        return now == "unlimited" or int(now) >= int(wanted)
    return bool(now == wanted)


class Kept:
    """The values before, by file, in a JSON file that is always as new as the last change."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.values: dict[str, str] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.values = json.load(file)

    def remember(self, file: str, value: str) -> None:
        """Keep a value, unless one is kept: the first is what the host had."""
        self.values.setdefault(file, value)
        self.save()

    def save(self) -> None:
        """Write the file, in one step; without values there is none."""
        if not self.values:
            if os.path.exists(self._path):
                os.remove(self._path)
            return
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            json.dump(self.values, file, indent=1)
        os.replace(f"{self._path}.new", self._path)


def put_back(kept: Kept, files: list[str], dry: bool) -> list[str]:
    """Write what these files held before; returns what could not be put back."""
    problems = []
    for file in [] if dry else files:
        before = kept.values[file]
        # A device that is gone needs nothing.
        problem = write(file, before) if os.path.exists(file) and read(file) != before else ""
        if problem:
            problems.append(f"{file} was {before} and cannot be put back: {problem}")
        else:
            del kept.values[file]
            kept.save()
    return problems


def container() -> str:
    """Kind of container, as systemd says it; empty on a machine."""
    try:
        with open("/run/systemd/container", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def wanted_settings(params: dict[str, Any]) -> list[dict[str, Any]]:
    """Name, file and value of everything that is asked for."""
    settings = [{"file": f"/proc/sys/{setting['name'].replace('.', '/')}", **setting} for setting in params["settings"]]
    for disk in params["disks"]:
        for name, values in sorted(params["queue"].items()):
            file = f"/sys/block/{disk['name']}/queue/{name}"
            settings.append({"name": f"{disk['path']} {name}", "file": file, "value": values[disk["kind"]]})
    return settings


def tune(state: str, settings: list[dict[str, Any]], kept: Kept, dry: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """Look at every setting, and set it if that is asked for.

    Returns an entry for each file, and the names of settings that this kernel does not have.
    """
    found: list[dict[str, Any]] = []
    absent: list[str] = []
    for setting in settings:
        files = sorted(glob.glob(setting["file"]))
        if not files:
            absent.append(setting["name"])
        for file in files:
            before = now = read(file)
            wanted = str(setting["value"])
            problem = ""
            if state == "set" and now != wanted:
                now, problem = set_value(file, wanted, kept, dry)
            found.append(
                {
                    "name": setting["name"],
                    "file": file,
                    "wanted": wanted,
                    "before": before,
                    "now": now,
                    "problem": problem,
                }
            )
    return found, absent


def set_value(file: str, wanted: str, kept: Kept, dry: bool) -> tuple[str, str]:
    """Set one value; returns the value afterwards, and why it differs from the wanted one."""
    before = read(file)
    if not os.access(file, os.W_OK):
        return before, "the file is read-only"
    if dry:
        return wanted, ""
    fresh = file not in kept.values
    kept.remember(file, before)
    problem = write(file, wanted)
    now = read(file)
    if fresh and now == before:
        del kept.values[file]
        kept.save()
    return now, problem


def main() -> None:
    """Read the parameters, do it, answer."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["set", "read", "restored"], "required": True},
            # Name, value, file or pattern; without a file the name is a sysctl.
            "settings": {"type": "list", "elements": "dict", "default": []},
            # Block devices to set `queue` of, by name and kind.
            "disks": {"type": "list", "elements": "dict", "default": []},
            "queue": {"type": "dict", "default": {}},  # settings in /sys/block/NAME/queue by kind of device
            # Lowest limits that a systemd unit must be able to have; `read` asks for them.
            "limits": {"type": "dict", "default": {}},
            "kept": {"type": "path", "required": True},  # the file on the host with the former values
        },
        supports_check_mode=True,
    )
    state = module.params["state"]
    if unknown := module.params["limits"].keys() - LIMITS:
        module.fail_json(msg=f"limits: {', '.join(sorted(unknown))}: must be among {', '.join(LIMITS)}")
    kept = Kept(module.params["kept"])
    found, absent = tune(state, wanted_settings(module.params), kept, module.check_mode)
    diff = [(one["file"], one["before"], one["now"]) for one in found if one["now"] != one["before"]]
    if state == "read":
        obsolete = []
        found += read_limits(module.params["limits"]) if module.params["limits"] else []
    else:
        obsolete = sorted(set(kept.values) - ({one["file"] for one in found} if state == "set" else set()))
    diff += [(file, read(file), kept.values[file]) for file in obsolete if os.path.exists(file)]
    problems = put_back(kept, obsolete, module.check_mode)
    if problems:
        module.fail_json(msg="; ".join(problems))
    different = {
        one["name"]: f"{one['name']} {one['now']} instead of {one['wanted']}" for one in found if not as_wanted(one)
    }
    module.exit_json(
        changed=any(before != after for _, before, after in diff),
        settings=found,
        differences=list(different.values()),
        absent=absent,
        container=container(),
        diff={
            "before": "".join(f"{file} = {before}\n" for file, before, _ in diff),
            "after": "".join(f"{file} = {after}\n" for file, _, after in diff),
        },
    )


if __name__ == "__main__":
    main()
