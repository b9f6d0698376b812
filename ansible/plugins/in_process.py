"""Ansible action plugin: runs a module of ours within Ansible's process where it is for this machine, user and Python.

Otherwise Ansible packs a module, sends it to a new Python and unpacks it there: half a second of processor time on a
slow machine, for what often takes a millisecond. Ansible runs every task in a process of its own, so nothing that a
module does to its process outlives it. The module's parameters, its answer and what Ansible does with both are the
same. Ansible looks for it by the name of the module: links in action/ are these names.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ansible.module_utils
from ansible.plugins.action import ActionBase
from ansible.plugins.action.normal import ActionModule as Normal

sys.path.insert(0, str(Path(__file__).resolve().parent))
from ansible_private import module_answer, module_arguments, module_output

PLUGINS = Path(__file__).resolve().parent


class InProcess(ActionBase):  # type: ignore[misc]
    """An action whose modules are ours and run within this process where they can."""

    def _execute_module(
        self,
        module_name: str | None = None,
        module_args: dict[str, Any] | None = None,
        task_vars: dict[str, Any] | None = None,
        **others: Any,
    ) -> dict[str, Any]:
        name = module_name or self._task.action
        file = PLUGINS / "modules" / f"{name}.py"
        if not (file.exists() and self._is_this_process(task_vars or {})):
            answer: dict[str, Any] = super()._execute_module(module_name, module_args, task_vars=task_vars, **others)
            return answer
        arguments = dict(self._task.args if module_args is None else module_args)
        module_arguments(self, name, arguments, task_vars)
        with TemporaryDirectory() as folder:
            # Else the module would make one, and remove it when Python exits normally; workers of Ansible do not.
            output = answer_of(file, {**arguments, "_ansible_tmpdir": folder})
        return module_answer(self, output)

    def _is_this_process(self, task_vars: dict[str, Any]) -> bool:
        """Would the module run on this machine, as this user and with this interpreter, in the same environment?"""
        host = task_vars["ansible_delegated_vars"][self._task.delegate_to] if self._task.delegate_to else task_vars
        return (
            self._connection.transport == "local"
            and self._connection.become is None
            and not self._task.async_val
            and not any(self._task.environment or [])
            and self._templar.template(host.get("ansible_python_interpreter")) == sys.executable
        )


class ActionModule(InProcess, Normal):
    """The action of one module of ours."""


def answer_of(file: Path, arguments: dict[str, Any]) -> str:
    """What a module prints."""
    shared = str(PLUGINS / "module_utils")
    if shared not in ansible.module_utils.__path__:
        ansible.module_utils.__path__.append(shared)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None  # noqa: S101 - for the type checker
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    loader = spec.loader

    def run() -> None:
        loader.exec_module(module)
        module.main()

    return module_output(run, arguments)
