"""Reads the notes on who uses a host. Every playbook loads this module, so it imports only the standard library."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def fields_of(pid: int) -> list[str]:
    """Returns the fields of /proc/PID/stat that follow the name (state, parent, …); empty if the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2].split()
    except OSError:
        return []
    return fields if fields[0] not in "ZX" else []


def start_of(pid: int) -> int:
    """Returns the start time of a process, in clock ticks since boot; 0 if it has ended."""
    return int((fields_of(pid) or ["0"] * 20)[19])


def machine() -> str:
    """Returns an id of this machine or container and its last boot. Within one boot, pid and start time are unique."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def others(
    notes: Sequence[dict[str, Any]], deployment: str, exclusive: bool = True, attaches: bool = False, group: str = ""
) -> list[str]:
    """Returns a sentence for each other user of a host, oldest first. The agent's ``in_use`` wrote the notes.

    A note counts until its process has ended. A note from another machine counts until it is removed or the host boots.
    The older of two simultaneous notes counts. Servers that this deployment keeps up do not count by default.

    :param exclusive: whether other deployments count
    :param attaches: whether servers that this deployment keeps up count, because they must not be stopped
    :param group: group of trials that may take turns on the host, so that they do not count
    """
    since = next((note["since"] for note in notes if note["own"]), float("inf"))
    rivals = [note for note in notes if not note["own"] and note["since"] <= since]
    if group:
        rivals = [note for note in rivals if note.get("group") != group]
    return [
        _use(note)
        for note in rivals
        if (exclusive or note["deployment"] == deployment) and _counts(note, note["deployment"] == deployment, attaches)
    ]


def _counts(note: dict[str, Any], is_ours: bool, attaches: bool) -> bool:
    if note.get("kept"):
        return attaches or not is_ours
    if note.get("machine") == machine():
        return bool(start_of(note["pid"]) == note["start"])
    # If this machine has booted since the note was written, the process in the note has ended.
    return not (is_ours and note.get("controller") == socket.gethostname())


def _use(note: dict[str, Any]) -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(note["since"]))
    activity = "has kept servers running there since" if note.get("kept") else "has been at work there since"
    origin = f"{note.get('controller')}:{note.get('checkout')}"
    text = (
        f"{note.get('user')} {activity} {since} ({origin}, deployment {note['deployment']});"
        " wait, or run stop.yml there"
    )
    return "".join(character if character.isprintable() else "?" for character in text)
