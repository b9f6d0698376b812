"""Ansible filter: the notes of module in_use that speak against using a host now, in words."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lookup"))
from controller import machine, start_of

DOCUMENTATION = r"""
name: others
short_description: Who else uses a host
description:
  - A note counts until its process has ended, or, of another machine, until it is removed or the host boots.
  - Of two that were written at the same time the older counts. Servers that this deployment has kept up are its own.
positional: deployment, exclusive
options:
  _input: {description: Notes of the module in_use., type: list, elements: dict, required: true}
  deployment: {description: That of this checkout., type: str, required: true}
  exclusive: {description: Whether other deployments count, too., type: bool, default: true}
"""


def others(notes: Sequence[dict[str, Any]], deployment: str, exclusive: bool = True) -> list[str]:
    """A sentence for each; the oldest first."""
    own = next((note["since"] for note in notes if note["own"]), float("inf"))
    rivals = [note for note in notes if not note["own"] and note["since"] <= own]
    return [
        _sentence(note)
        for note in rivals
        if (exclusive or note["deployment"] == deployment) and _counts(note, note["deployment"] == deployment)
    ]


def _counts(note: dict[str, Any], ours: bool) -> bool:
    if note.get("kept"):
        return not ours
    if note.get("machine") == machine():
        return start_of(note["pid"]) == note["start"]
    # This machine in an earlier boot, in which the process has ended.
    return not (ours and note.get("controller") == socket.gethostname())


def _sentence(note: dict[str, Any]) -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(note["since"]))
    what = "keeps servers up there" if note.get("kept") else "is at work there"
    text = (
        f"{note.get('user')} {what} since {since}, from {note.get('controller')}:{note.get('checkout')}"
        f" (process {note['pid']}, deployment {note['deployment']}); wait for its end, or play stop.yml there"
        f" (if that machine is gone: here, with -e dohyo_deployment={note['deployment']})"
    )
    return "".join(each if each.isprintable() else "?" for each in text)


class FilterModule:
    """Entry point of the plugin."""

    def filters(self) -> dict[str, Callable[..., list[str]]]:
        """The filter by its name."""
        return {"others": others}
