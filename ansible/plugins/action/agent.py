"""Ansible action plugin: executes a verb of the agent on a host, in one call over the open connection.

    agent:
      do: owned           the verb, a module of ansible/agent/verbs/
      state: checked      arguments of its function ``answer``

The plugin sends the agent with the request, so the host needs no installation. In check mode, the verb receives
``dry: true``; verbs that do not accept it are skipped, unless they change nothing.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from conducting import sent

# Verbs that run in check mode because they accept the argument `dry`.
DRY = ("owned", "files", "in_use", "host_settings")
# Verbs that run in check mode because they change nothing.
LOOKING = ("free_ports", "host_devices", "host_resources", "process_limits", "reachable")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Sends one request and returns its answer."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Executes the task."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        verb = str(arguments.pop("do", ""))
        if self._task.check_mode and verb in DRY:
            arguments["dry"] = True
        elif self._task.check_mode and verb not in LOOKING:
            # Return empty output, because later tasks may read it.
            output = lines_of({"rc": 0, "stdout": "", "stderr": ""})
            return {"skipped": True, "changed": False, "msg": "it was not run because of check mode", **output}
        return ask(self, verb, arguments, task_vars or {})


def ask(action: ActionBase, verb: str, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer of the host's agent as an Ansible result, with ``failed`` and ``msg`` after a failure."""
    # A task delegated to this machine has the variables of another host, so they do not name this machine's Python.
    is_here = action._connection.transport == "local"
    python = sys.executable if is_here else str(action._templar.template(task_vars.get("dohyo_python", "python3")))
    command = f"{action._compute_environment_string()} {sent.command(python)}".strip()
    stdin = sent.program() + sent.request(verb, arguments, bound=False)
    if action._task.become and not action._connection.is_pipelining_enabled():
        # su and doas read the password from a terminal, so the request cannot be sent over standard input.
        file = action._connection._shell.join_path(action._make_tmp_path(), "request")
        action._transfer_data(file, stdin)
        try:
            result = action._low_level_execute_command(f"{command} < {shlex.quote(file)}")
        finally:
            action._remove_tmp_path(action._connection._shell.tmpdir)
    else:
        result = action._low_level_execute_command(command, in_data=stdin)
    for line in result["stdout"].splitlines():
        if line.startswith(('{"is": "answer"', '{"is": "failure"')):
            message = json.loads(line)
            more = {"failed": True, "msg": message["msg"]} if message["is"] == "failure" else {}
            return {"changed": False, **lines_of(message["answer"]), **more}
    reason = result["stderr"].strip() or result["stdout"].strip() or f"the agent ended with exit code {result['rc']}"
    return {"failed": True, "msg": reason}


def lines_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns an answer with ``stdout_lines`` and ``stderr_lines`` added, as Ansible's own modules return them."""
    return {**answer, **{f"{name}_lines": answer[name].splitlines() for name in ("stdout", "stderr") if name in answer}}
