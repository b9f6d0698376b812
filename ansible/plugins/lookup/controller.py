"""Ansible lookup: returns the identity of the control machine, for folder marks and records of hosts in use."""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from ansible.plugins.lookup import LookupBase

sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from dohyo.trial.use_notes import fields_of, machine, start_of

DOCUMENTATION = r"""
name: controller
short_description: Checkout, host, user and process that run the playbook
description:
  - The process is the topmost ansible-playbook, with its start time in clock ticks since boot.
  - With the path of a folder on the control machine, also the id of the deployment that this checkout has marked there.
options:
  _terms: {description: Path of a folder on the control machine., required: false}
"""

CHECKOUT = Path(__file__).resolve().parents[3]


def playbook() -> int:
    """Returns the pid of the topmost ansible-playbook among this process's ancestors: tasks run in its children."""
    pid = topmost = os.getpid()
    while pid > 1 and (fields := fields_of(pid)):
        if is_playbook(Path(f"/proc/{pid}")):
            topmost = pid
        pid = int(fields[1])
    return topmost


def is_playbook(process: Path) -> bool:
    """Returns whether a process is ansible-playbook, and not the shell or xargs that may have started several."""
    try:
        is_python = "python" in (process / "exe").readlink().name
        return is_python and b"ansible-playbook" in (process / "cmdline").read_bytes()
    except OSError:  # the process belongs to another user
        return False


def machine_id() -> str:
    """Returns the id of this machine, which is the same after every boot; empty if the machine has none."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def deployment(control: Path) -> str:
    """Returns the id of this checkout's deployment; empty before the first deployment, and in a copied checkout."""
    try:
        mark = json.loads((control / ".dohyo").read_text(encoding="utf-8"))
        is_own = mark["checkout"] == str(CHECKOUT) and mark["machine_id"] == machine_id()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return str(mark["deployment"]) if is_own else ""


class LookupModule(LookupBase):  # type: ignore[misc]
    """The lookup ``controller``."""

    def run(self, terms: Any, variables: Any = None, **kwargs: Any) -> list[dict[str, Any]]:  # noqa: ARG002
        """Returns the description as one dictionary in a list."""
        pid = playbook()
        try:
            user = getpass.getuser()
        except (KeyError, OSError):
            user = str(os.getuid())
        return [
            {
                "controller": socket.gethostname(),
                "checkout": str(CHECKOUT),
                "user": user,
                "pid": pid,
                "start": start_of(pid),
                "machine": machine(),
                "machine_id": machine_id(),
                "deployment": deployment(Path(terms[0])) if terms else "",
                "systems": sorted(file.parent.name for file in CHECKOUT.glob("ansible/systems/*/system.py")),
            }
        ]
