"""Ansible action plugin: runs a program on a host over the connection that is open, without a Python there.

    program:
      argv: [words]      the program and its arguments, each as it is: no shell reads them
      stdin: text        what it reads; without it nothing
      chdir: folder      where it runs
      creates: path      it does not run if that exists
      removes: path      it does not run if that does not exist
      timeout: seconds   after which it is ended, with all that it has started

It answers as ansible.builtin.command does (cmd, rc, stdout, stderr, failed where rc is not 0), knows the task's
environment, and does nothing in check mode. That module takes half a second on a slow machine, mostly to start Python.
"""

from __future__ import annotations

import shlex
import uuid
from typing import Any

from ansible.plugins.action import ActionBase

# What the shell says where the program does not run.
NOTHING_TO_DO = uuid.uuid4()
LEFT_OUT = f"echo {NOTHING_TO_DO}; exit 0"
# What timeout(1) ends with when it had to end the program.
TIMED_OUT = 124


class ActionModule(ActionBase):  # type: ignore[misc]
    """One program, one call."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Entry point."""
        super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(
            {
                "argv": {"type": "list", "elements": "str", "required": True},
                "stdin": {"type": "str"},
                "chdir": {"type": "path"},
                "creates": {"type": "path"},
                "removes": {"type": "path"},
                "timeout": {"type": "int"},
            }
        )
        answer = {"cmd": given["argv"], "rc": 0, "stdout": "", "stderr": "", "stdout_lines": [], "stderr_lines": []}
        if self._task.check_mode:
            return {**answer, "skipped": True, "changed": False, "msg": "it would have run if not in check mode"}
        # A shell reads it, so that no list of processes and no log of connections shows it.
        script = script_of(given, self._compute_environment_string())
        if self._task.become and not self._connection.is_pipelining_enabled():
            # su and doas ask for a password on a terminal, which leaves no way in for the script. A task that needs
            # root has no secrets.
            found = self._low_level_execute_command(f"/bin/sh -c {shlex.quote(script)}")
        else:
            found = self._low_level_execute_command("/bin/sh", in_data=script.encode("utf-8", "surrogateescape"))
        for stream in ("stdout", "stderr"):
            answer |= {
                stream: found[stream].rstrip("\r\n"),
                f"{stream}_lines": found[stream].rstrip("\r\n").splitlines(),
            }
        if found["stdout"].strip() == str(NOTHING_TO_DO):
            return answer | {"stdout": "", "stdout_lines": [], "changed": False}
        if given["timeout"] is not None and found["rc"] == TIMED_OUT:
            answer["stderr_lines"].append(f"it had not ended after {given['timeout']} s")
            answer["stderr"] = "\n".join(answer["stderr_lines"])
        answer |= {"rc": found["rc"], "changed": True}
        return answer if found["rc"] == 0 else {**answer, "failed": True, "msg": "non-zero return code"}


def script_of(given: dict[str, Any], environment: str) -> str:
    """The lines of shell for a program; all that was given is quoted."""
    bound = [] if given["timeout"] is None else ["timeout", "--kill-after=10", str(given["timeout"])]
    command = f"{environment} {shlex.join([*bound, *given['argv']])}"
    if given["stdin"] is None:
        command += " < /dev/null"
    else:
        command = f"printf %s {shlex.quote(given['stdin'])} | {command}"
    lines = []
    if given["creates"] is not None:
        lines.append(f"test ! -e {shlex.quote(given['creates'])} || {{ {LEFT_OUT}; }}")
    if given["removes"] is not None:
        lines.append(f"test -e {shlex.quote(given['removes'])} || {{ {LEFT_OUT}; }}")
    if given["chdir"] is not None:
        lines.append(f"cd -- {shlex.quote(given['chdir'])} || exit")
    return "\n".join([*lines, command, ""])
