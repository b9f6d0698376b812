"""Ansible callback: appends events for a progress display to the file named by DOHYO_EVENTS, as JSON lines.

{"time": epoch seconds, "event": "phase", "phase": str, "run": int|null, "client_dirs": [str]}
    A phase has begun: a phase of a trial (written by the action conduct), or a task named "Phase …".
{"time": …, "event": "system", "system": str, "unavailable": str}
    A task named "System …" has ended. `unavailable` says why that system is not available; empty if it is.
{"time": …, "event": "needs", "system": str, "needs": [{…}]}
    A task named "Needs of …" has ended. `needs` lists each host's needs, in the order of the hosts (tasks/plan.yml).
{"time": …, "event": "note", "text": str}
    A task has a message for the user.
{"time": …, "event": "failed", "task": str, "host": str, "message": str, "ignored": bool}
    A task has failed. `ignored` is true if the play continues, or if a rescue section will fail with its own message.
{"time": …, "event": "task", "task": str, "action": str, "began": epoch seconds}
    A task has ended on the first of its hosts. Skipped tasks have no event.
{"time": …, "event": "end"}
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from ansible import release
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader, lookup_loader, test_loader
from packaging.specifiers import SpecifierSet

DOCUMENTATION = r"""
name: dohyo_events
type: notification
short_description: Write phases and failures of a trial as JSON lines
description:
  - Appends one JSON object per event to the file named by the environment variable DOHYO_EVENTS.
  - Also refuses versions of ansible-core with which the playbooks do not work, because it is loaded before them.
"""

# The only file that names the versions of ansible-core with which the playbooks work.
REQUIREMENTS = Path(__file__).resolve().parents[3] / "analysis" / "pyproject.toml"


def refusal(version: str) -> str:
    """Returns why the playbooks do not work with this version of ansible-core; empty if they do."""
    (allowed,) = re.findall(r'"ansible-core([^"]+)"', REQUIREMENTS.read_text(encoding="utf-8"))
    if SpecifierSet(allowed).contains(version, prereleases=True):
        return ""
    return f"ansible-core is {version}, not {allowed}: run ../setup.sh python and ../.venv/bin/ansible-playbook"


def import_once() -> None:
    """Imports the template plugins before Ansible forks, because otherwise each forked process would import them."""
    for loader in (filter_loader, test_loader):
        list(loader.all())
    lookup_loader.get("controller", class_only=True)
    gc.freeze()  # a garbage collection in a forked process would copy every page of the shared memory


def message_of(result: dict[str, Any]) -> str:
    """Returns the reason for a failure: the failed program's output if there is any, otherwise Ansible's message."""
    message = str(result.get("msg", "")).strip()
    if message.startswith("non-zero return code"):
        message = str(result.get("stderr") or result.get("stdout") or message).strip()
    for item in result.get("results", []):
        if item.get("failed"):
            return message_of(item)
    return message


def is_rescued(task: Any) -> bool:
    """Returns whether a block around the task has a rescue section, which handles its failure."""
    child, parent = task, task._parent
    while parent is not None:
        handlers = [*(getattr(parent, "rescue", None) or []), *(getattr(parent, "always", None) or [])]
        if getattr(parent, "rescue", None) and child._uuid not in {handler._uuid for handler in handlers}:
            return True
        child, parent = parent, parent._parent
    return False


def parts_of(result: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Returns the task, host and return values of a result; before ansible-core 2.19, they had other names."""
    if hasattr(result, "task"):
        return result.task, result.host, result.result
    return result._task, result._host, result._result


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Writes the events; does nothing if DOHYO_EVENTS is not set."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "dohyo_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        if reason := refusal(release.__version__):
            # Exit, because Ansible would report any other exception as a probable bug.
            sys.exit(f"ERROR: {reason}")
        super().__init__()
        import_once()
        self._path = os.environ.get("DOHYO_EVENTS", "")
        self.disabled = not self._path
        # Start time of the current task; None once the first host has finished it.
        self._began: float | None = None

    def _write(self, event: str, **fields: object) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), "event": event, **fields}) + "\n")

    def _took(self, task: Any) -> None:
        if self._began is not None:
            self._write("task", task=task.get_name(), action=task.action, began=self._began)
            self._began = None

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:  # noqa: ARG002 - named by Ansible
        """Records when a task begins."""
        self._began = time.time()

    def v2_runner_on_ok(self, result: Any) -> None:
        """Writes an event for a phase, a system, its needs or a note."""
        task, _, answer = parts_of(result)
        self._took(task)
        if task.name.startswith("Phase "):
            self._write("phase", phase=answer["msg"]["phase"], run=None, client_dirs=[])
        elif task.name.startswith("System "):
            self._write("system", **answer["msg"])
        elif task.name.startswith("Needs of "):
            self._write("needs", **answer["msg"])
        for text in answer.get("notes", []):
            self._write("note", text=str(text))

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Writes an event for a failed task."""
        task, host, answer = parts_of(result)
        self._took(task)
        self._failed(task, host, message_of(answer), ignored=ignore_errors or is_rescued(task))

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Writes an event for a host that does not answer; no rescue section handles this failure."""
        task, host, answer = parts_of(result)
        reason = message_of(answer).partition("\n")[0]
        self._failed(task, host, f"the host does not answer: {reason}", ignored=bool(task.ignore_unreachable))

    def _failed(self, task: Any, host: Any, message: str, *, ignored: bool) -> None:
        self._write("failed", task=task.name, host=host.get_name(), message=message, ignored=ignored)

    def v2_playbook_on_stats(self, stats: Any) -> None:  # noqa: ARG002 - named by Ansible
        """Writes an event for the end of the playbook."""
        self._write("end")
