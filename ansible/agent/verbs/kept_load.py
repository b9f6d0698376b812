"""Keeps the data of a load on a host, so that later trials with the same load start from a copy.

The data is in ``dohyo/kept`` in every data folder, which carries Dohyo's mark. A file next to the data records its size and is
written last; without it, keeping was interrupted, and the data is removed. Data is copied, not hard-linked, because servers change
files in place (pages, indexes, logs). If the file system supports it, the copy and the original share blocks until they change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import program
from failure import AgentError
from folder_marks import (
    MARK,
    NotOursError,
    claim,
    expanded,
    foreign_in,
    free_mb,
    new_mark,
    path_of,
    read_mark,
    read_object,
    remove_inside,
    shown,
)

STATES = ("found", "room", "kept", "placed")


def amount(folder: str) -> dict[str, int]:
    """Returns the number of files in a folder and their total bytes. Dohyo's mark is not counted."""
    files, size = 0, 0
    for parent, _, names in os.walk(folder):
        for name in names:
            if name != MARK:
                files += 1
                size += os.lstat(os.path.join(parent, name)).st_size
    return {"files": files, "bytes": size}


def forget(folder: str) -> None:
    """Removes the files in a folder from the page cache.

    cgroup version 2 charges cached pages to the process that read them first. Pages that `cp` has
    read would not be charged to the servers.
    """
    for parent, _, names in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path):
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
                try:
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(descriptor)


class Disk:
    """Manages one of the data folders and the kept loads on its disk."""

    def __init__(self, base: str, arguments: dict[str, Any]) -> None:
        self.folder = path_of(base, f"dohyo/{arguments['role']}")
        self.loads = path_of(base, "dohyo/kept")
        self.name = f"{arguments['role']}-{arguments['load']}"
        self.arguments = arguments

    @property
    def load(self) -> str:
        """Path of the kept load."""
        return path_of(self.loads, self.name)

    @property
    def whole(self) -> dict[str, Any]:
        """Recorded facts of the kept load. They are empty if the load is missing or keeping it was interrupted."""
        return read_object(f"{self.load}.json") if os.path.isdir(self.load) else {}

    def begin(self) -> None:
        """Marks the folder of kept loads and removes unusable loads."""
        if read_mark(self.loads).get("experiment") != self.arguments["experiment"]:
            self.remove("*")
        mark = new_mark(self.arguments["deployment"], self.arguments["controller"])
        claim(self.loads, {**mark, "experiment": self.arguments["experiment"], "kind": "kept"}, self.arguments["deployment"])
        for name in os.listdir(self.loads):
            stem = name.removesuffix(".json")
            if name != MARK and not all(os.path.exists(os.path.join(self.loads, part)) for part in (stem, f"{stem}.json")):
                self.remove(name)

    def make_room(self) -> bool:
        """Removes kept loads, the trial's own load last, until the disk has the free space that the trial needs.

        Returns whether anything was removed.
        """
        has_removed = False
        for name in sorted(os.listdir(self.loads), key=lambda entry: entry.startswith(self.name)):
            if name != MARK and free_mb(self.loads) < self.arguments["need_mb"]:
                self.remove(name)
                has_removed = True
        return has_removed

    def remove(self, pattern: str) -> None:
        """Removes the kept loads whose names match a pattern, including the files beside them."""
        remove_inside(self.loads, pattern, self.arguments["deployment"])

    def has_room(self) -> bool:
        """Returns whether a second copy fits, and `need_mb` and as much space again, for data that servers add, stay free."""
        return free_mb(self.folder) >= 2 * amount(self.folder)["bytes"] // 2**20 + self.arguments["need_mb"]

    def keep(self) -> None:
        """Moves the data to the kept loads. The load counts as kept only after `certify`."""
        self.remove(f"{self.name}*")
        if foreign := foreign_in(self.folder, self.arguments["deployment"]):
            raise NotOursError("; ".join(foreign))
        os.rename(self.folder, self.load)
        if os.path.lexists(os.path.join(self.load, MARK)):
            os.unlink(os.path.join(self.load, MARK))

    def certify(self) -> None:
        """Records that the load is complete."""
        with open(f"{self.load}.json", "w", encoding="utf-8") as file:
            json.dump({"trial": self.arguments["trial"], **amount(self.load)}, file)

    def give_back(self) -> None:
        """Replaces a failed copy with the kept load itself."""
        remove_inside(self.folder, "*", self.arguments["deployment"])
        for name in os.listdir(self.load):
            os.rename(os.path.join(self.load, name), os.path.join(self.folder, name))

    def place(self) -> str:
        """Copies the load to the data folder. Returns why this failed, or an empty string."""
        expected = self.whole
        problem = ""
        try:
            program.answer(["cp", "-a", "--reflink=auto", "--", f"{self.load}/.", self.folder])
        except AgentError as error:
            problem = str(error).partition("\n")[0]
        # Write the copy to disk now, because writing it later would disturb the trial.
        with suppress(AgentError):
            program.answer(["sync", "-f", self.folder])
        if self.arguments["budget_mb"]:
            forget(self.folder)
        if problem:
            return problem
        copied = amount(self.folder)
        if any(copied[key] != expected.get(key) for key in copied):
            return f"{self.load} was copied incompletely: {copied}"
        return ""


def carry_out(arguments: dict[str, Any]) -> dict[str, Any]:
    """Carries out the step and returns the answer."""
    disks = [Disk(base, arguments) for base in arguments["data"]]
    note = ""
    if arguments["state"] == "found":
        for disk in disks:
            disk.begin()
            # An earlier attempt of the trial made this load, or an experiment that was in the same folder: its evidence is elsewhere.
            if disk.whole.get("trial") == arguments["trial"]:
                disk.remove(f"{disk.name}*")
        removed = [disk.make_room() for disk in disks]
        if any(removed):
            note = "loaded again: the kept load was removed, because the disk lacked space"
    elif arguments["state"] == "room":
        if not all(disk.has_room() for disk in disks):
            note = f"its load was not kept: not enough space for a second copy on {arguments['data'][0]}"
            return {"found": False, "trial": "", "note": note}
        return {"found": True, "trial": "", "note": ""}
    elif arguments["state"] == "kept":
        for disk in disks:
            disk.keep()
        for disk in disks:
            disk.certify()
    elif problems := [problem for disk in disks if (problem := disk.place())]:
        is_own = all(disk.whole.get("trial") == arguments["trial"] for disk in disks)
        for disk in disks:
            if is_own:
                disk.give_back()
            disk.remove(f"{disk.name}*")
        if is_own:
            return {"found": True, "trial": arguments["trial"], "note": f"its load was not kept: {shown(problems[0])}"}
        note = f"loaded again: the copy is incomplete: {shown(problems[0])}"
    # The parts on all disks must come from the same trial's load.
    trials = {str(disk.whole.get("trial", "")) for disk in disks}
    exists = all(disk.whole for disk in disks) and len(trials) == 1
    return {"found": exists, "trial": trials.pop() if exists else "", "note": "" if exists else note}


def answer(
    state: str, data: Sequence[str], role: str, load: str, experiment: str, deployment: str, trial: str = "",
    controller: dict[str, Any] | None = None, need_mb: int = 0, budget_mb: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Finds, keeps or copies a load.

    :param state: ``found`` removes incomplete loads, those of other experiments or of the calling trial and, unless ``need_mb``
        are free, further loads.
        ``room`` returns whether a second copy of the data folders fits. ``kept`` keeps the data of stopped servers as the load.
        ``placed`` copies it to the empty data folders; if that fails, the trial that made the load receives the load itself
    :param data: the user's data folders
    :param role: system of the data, which is in dohyo/ROLE of each data folder
    :param load: id of the load, unique within the role
    :param experiment: folder of the experiment; experiments do not share loads
    :param deployment: deployment that the folders' marks name
    :param trial: id of the calling trial; for ``kept``, this trial made the load
    :param controller: the controller that marks the folders, from the lookup ``controller``
    :param need_mb: MiB that must be free on each disk
    :param budget_mb: for ``placed``: memory limit of the servers in MiB, or 0 without a limit; with a limit, the copy is removed
        from the page cache
    :returns: ``found``, whether the load exists; ``trial``, which made it; and ``note``, why it does not exist or was not kept
    """
    if state not in STATES:
        raise AgentError(f"state '{state}': must be one of {', '.join(STATES)}")
    arguments = {
        "state": state, "data": list(map(expanded, data)), "role": role, "load": load,
        "trial": trial, "experiment": experiment, "deployment": deployment, "controller": controller or {}, "need_mb": int(need_mb),
        "budget_mb": int(budget_mb),
    }  # fmt: skip
    try:
        return {"changed": state != "room", **carry_out(arguments)}
    except NotOursError as error:
        raise AgentError(shown(str(error))) from error
    except OSError as error:
        raise AgentError(shown(f"{error.filename}: {error.strerror}")) from error
