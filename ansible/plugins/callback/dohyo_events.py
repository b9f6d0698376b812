"""Ansible callback: appends what a progress display needs to know to the file named by DOHYO_EVENTS, as JSON lines.

{"time": epoch seconds, "event": "phase", "phase": str, "run": int|null, "client_dirs": [str]}
    a phase has begun: one of a trial (the action conduct writes these), or that of a task named "Phase …"
{"time": …, "event": "system", "system": str, "unavailable": str}
    a task named "System …" was reached: whether that system is available, else why not
{"time": …, "event": "needs", "system": str, "needs": [{…}]}
    a task named "Needs of …" was reached: what that system needs of each host, in their order (tasks/plan.yml)
{"time": …, "event": "note", "text": str}
    a task had something to say to people
{"time": …, "event": "failed", "task": str, "host": str, "message": str, "ignored": bool}
    ignored: the play goes on, or a rescue section takes over and will fail with a message of its own
{"time": …, "event": "task", "task": str, "action": str, "began": epoch seconds}
    a task has ended on the first of its hosts; one that is skipped is left out
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
from typing import TYPE_CHECKING, Any

from ansible import release
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader, lookup_loader, test_loader

if TYPE_CHECKING:
    from ansible.executor.stats import AggregateStats
    from ansible.executor.task_result import CallbackTaskResult

DOCUMENTATION = r"""
name: dohyo_events
type: notification
short_description: Write phases and failures of a trial as JSON lines
description:
  - Appends one JSON object per event to the file named by the environment variable DOHYO_EVENTS.
  - Refuses an ansible-core that is too old for the playbooks, as it is loaded before any of them begins.
"""

# Says which ansible-core the playbooks need; this is the one place.
REQUIREMENTS = Path(__file__).resolve().parents[3] / "analysis" / "pyproject.toml"


def too_old(version: str) -> str:
    """Why the playbooks do not work with this version of ansible-core; empty if they do."""
    needed = re.findall(r'"ansible-core~=([\d.]+)"', REQUIREMENTS.read_text(encoding="utf-8"))[0]
    if [int(part) for part in re.findall(r"\d+", version)[:3]] >= [int(part) for part in needed.split(".")]:
        return ""
    return (
        f"ansible-core {version} is too old for these playbooks, which need {needed} or newer: type"
        " ../setup.sh python, then ../.venv/bin/ansible-playbook instead of ansible-playbook"
    )


def import_once() -> None:
    """Imports the plugins of templates here: Ansible forks a process for each task, and each would repeat that."""
    for loader in (filter_loader, test_loader):
        list(loader.all())
    lookup_loader.get("controller", class_only=True)
    gc.freeze()  # a collection in such a process would copy every page of what is shared


def message_of(result: dict[str, Any]) -> str:
    """What went wrong, in the words of the failed program where there are any."""
    message = str(result.get("msg", "")).strip()
    if message.startswith("non-zero return code"):
        message = str(result.get("stderr") or result.get("stdout") or message).strip()
    for item in result.get("results", []):
        if item.get("failed"):
            return message_of(item)
    return message


def is_rescued(task: Any) -> bool:
    """Does a block around the task have a rescue section that is about to deal with its failure?"""
    child, parent = task, task._parent
    while parent is not None:
        handlers = [*(getattr(parent, "rescue", None) or []), *(getattr(parent, "always", None) or [])]
        if getattr(parent, "rescue", None) and child._uuid not in {handler._uuid for handler in handlers}:
            return True
        child, parent = parent, parent._parent
    return False


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Writes nothing, and costs nothing, where DOHYO_EVENTS is not set."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "dohyo_events"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        if reason := too_old(release.__version__):
            # Of any other exception Ansible says that it is probably a bug.
            sys.exit(f"ERROR: {reason}")
        super().__init__()
        import_once()
        self._path = os.environ.get("DOHYO_EVENTS", "")
        self.disabled = not self._path
        # Of the task that is under way, until one host has ended it.
        self._began: float | None = None

    def _write(self, event: str, **fields: object) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), "event": event, **fields}) + "\n")

    def _took(self, result: CallbackTaskResult) -> None:
        if self._began is not None:
            self._write("task", task=result.task.get_name(), action=result.task.action, began=self._began)
            self._began = None

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:  # noqa: ARG002 - Ansible calls it so
        """Note when a task begins."""
        self._began = time.time()

    def v2_runner_on_ok(self, result: CallbackTaskResult) -> None:
        """Report a phase, a system or its needs; only now, with the task's end, its message is filled in."""
        self._took(result)
        if result.task.name.startswith("Phase "):
            self._write("phase", phase=result.result["msg"]["phase"], run=None, client_dirs=[])
        elif result.task.name.startswith("System "):
            self._write("system", **result.result["msg"])
        elif result.task.name.startswith("Needs of "):
            self._write("needs", **result.result["msg"])
        for text in result.result.get("notes", []):
            self._write("note", text=str(text))

    def v2_runner_on_failed(self, result: CallbackTaskResult, ignore_errors: bool = False) -> None:
        """Report a failed task."""
        self._took(result)
        self._failed(result, message_of(result.result), ignored=ignore_errors or is_rescued(result.task))

    def v2_runner_on_unreachable(self, result: CallbackTaskResult) -> None:
        """Report a host that does not answer; no rescue section deals with that."""
        reason = message_of(result.result).partition("\n")[0]
        self._failed(result, f"the host does not answer: {reason}", ignored=bool(result.task.ignore_unreachable))

    def _failed(self, result: CallbackTaskResult, message: str, *, ignored: bool) -> None:
        self._write("failed", task=result.task.name, host=result.host.get_name(), message=message, ignored=ignored)

    def v2_playbook_on_stats(self, stats: AggregateStats) -> None:  # noqa: ARG002 - Ansible gives it by this name
        """Report that the playbook is over."""
        self._write("end")
