"""Records on a host that a trial is using it, so that a second trial is refused.

Every playbook that starts servers writes a note, which is a file in ``folder``, a folder that all users share. Notes from before
the last boot are ignored. Whether a playbook is still running can only be checked on the controller, by the filter ``others``.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import time
from typing import Any

from failure import AgentError
from folder_marks import DEPLOYMENT, expanded, read_object

NAME = "dohyo-in-use-%s-%s.json"
STATES = ("seen", "taken", "kept", "withdrawn", "free", "ended")


def boot() -> str:
    """Returns the kernel's id of the current boot."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def read(path: str) -> dict[str, Any]:
    """Returns the note in a file. The result is empty for other files and for notes from before the last boot."""
    note = read_object(path)
    types = {"boot": str, "since": float, "pid": int, "start": int, "deployment": str}
    if not all(isinstance(note.get(key), kind) for key, kind in types.items()):
        return {}
    if note["boot"] != boot() or not 0 < note["since"] < 2**33 or note["pid"] < 1:
        return {}
    return {**note, "file": path}


def notes_in(folder: str) -> list[dict[str, Any]]:
    """Returns all notes since the last boot."""
    return list(filter(None, map(read, glob.glob(os.path.join(glob.escape(folder), NAME % ("*", "*"))))))


def write(path: str, note: dict[str, Any]) -> None:
    """Writes a note atomically, and never through a symbolic link."""
    new = f"{path}.{os.getpid()}.new"  # another name of the inventory may mean this machine, too
    if os.path.lexists(new):
        os.unlink(new)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "w") as file:
        json.dump(note, file)
    os.replace(new, path)


def answer(
    state: str,
    deployment: str,
    controller: dict[str, Any] | None = None,
    folder: str = "/tmp",  # noqa: S108 - links are not followed, and writes are atomic
    dry: bool = False,
    group: str = "",
) -> dict[str, Any]:
    """Writes or removes the note that a trial is using the host.

    :param state: ``seen`` only reads. ``taken`` writes the note; ``kept`` also records that servers keep running. ``withdrawn``
        removes the note; ``free`` also removes the deployment's notes of kept servers; ``ended`` removes all its notes
    :param deployment: deployment of the trial
    :param controller: the controller of the playbook, from the lookup ``controller``
    :param folder: folder of the notes
    :param dry: whether to read without writing or removing
    :param group: group of trials that may take turns on the host
    :returns: ``uses``, all notes since the last boot, the oldest first; ``own`` is true for the note of this call
    """
    if state not in STATES:
        raise AgentError(f"state '{state}': must be one of {', '.join(STATES)}")
    if not re.fullmatch(f"none|{DEPLOYMENT}", deployment):
        raise AgentError(f"deployment {deployment!r}: must be twelve hexadecimal digits (0-9, a-f), as in .dohyo")
    folder = expanded(folder)
    origin = controller or {}
    own_path = os.path.join(folder, NAME % (deployment, origin.get("pid", 0)))
    if state in ("taken", "kept") and not dry:
        # A clock that was set back must not make this note older than those that it finds.
        latest = max((note["since"] for note in notes_in(folder)), default=0.0)
        since = read(own_path).get("since", max(time.time(), latest + 0.001))
        write(own_path, {**origin, "deployment": deployment, "boot": boot(), "since": since, "kept": state == "kept", "group": group})
    elif state in ("withdrawn", "free", "ended") and not dry:
        for path in glob.glob(os.path.join(glob.escape(folder), NAME % (glob.escape(deployment), "*"))):
            if state == "ended" or path == own_path or (state == "free" and read(path).get("kept")):
                # Another user may have created a folder with this name, or a file that only that user can remove. Another agent of
                # the playbook may have removed the note.
                with contextlib.suppress(IsADirectoryError, PermissionError, FileNotFoundError):
                    os.unlink(path)
    notes = sorted(notes_in(folder), key=lambda note: (note["since"], note["file"]))
    return {"uses": [{**note, "own": note["file"] == own_path} for note in notes]}
