"""What our plugins use of Ansible beyond its documented API: every such name is in this file.

Ansible may change these names in any release. Therefore analysis/pyproject.toml pins ansible-core to one line, and
analysis/tests/test_ansible_private.py runs this file with the lowest and the highest release of it:

- a connection's `_build_command` and `_resolve_option_variables`, a task's `dump_attrs`, an action's `_play_context`:
  they say how Ansible itself would connect to a host, for the clients' agents (action/conduct.py);
- the variable manager of `hostvars`, a task's play, and the `TaskExecutor` with its `_get_connection` and
  `_set_connection_options`: an action of a trial does other actions on all hosts (conducting/hosts.py);
- `basic._ANSIBLE_ARGS` and `_ANSIBLE_PROFILE`, `get_module_encoder`, and an action's `_update_module_args` and
  `_parse_returned_data`: they give a module its parameters and read its answer (in_process.py).
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from typing import Any

from ansible.executor.task_executor import TaskExecutor
from ansible.module_utils import basic
from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader

# How Ansible writes what a module is given and answers; its own modules all use this one.
PROFILE = "legacy"
# Passwords of the play context, and the variables of a host that set them.
PASSWORDS = {
    "password": ("ansible_password", "ansible_ssh_pass", "ansible_ssh_password"),
    "become_pass": ("ansible_become_password", "ansible_become_pass"),
}


def ssh_command(action: ActionBase, host: dict[str, Any], command: str) -> tuple[list[str | bytes], bool]:
    """What runs a command on a host over ssh, with all that the host's variables say, and whether that uses a password.

    :param host: the host's variables
    :param command: words for the shell there
    """
    context = action._play_context
    connection = connection_loader.get("ssh", context, None)
    task_keys = {**action._task.dump_attrs(), "timeout": context.timeout}
    task_keys.pop("retries")
    if context.password:
        task_keys["password"] = context.password
    variables = connection._resolve_option_variables(host, action._templar)
    connection.set_options(task_keys=task_keys, var_options=variables)
    ssh = connection.get_option("ssh_executable")
    words = connection._build_command(ssh, "ssh", connection.get_option("host"), command)
    # Before it there may be what types the password.
    return [ssh, *words[words.index(ssh.encode()) + 1 :]], bool(connection.get_option("password"))


def connection_of(action: ActionBase, host: dict[str, Any]) -> str:
    """Kind of connection to a host."""
    # The play context has what the variables of the first host of the play say.
    return str(host.get("ansible_connection", action._task.connection))


def forget_passwords(action: ActionBase, variables: Mapping[str, Any]) -> None:
    """Has the action forget passwords that the variables of its own host set: other hosts must not get them.

    Those that the user has typed for all hosts (-k, -K) stay.
    """
    context = action._play_context.copy()
    for name, names in PASSWORDS.items():
        if any(each in variables for each in names):
            setattr(context, name, "")
    action._play_context = context


def variables_of(action: ActionBase, hostvars: Any, host: str) -> dict[str, Any]:
    """Returns the variables of a host as they are for a task of this play; they are not resolved yet."""
    manager, inventory = hostvars._variable_manager, hostvars._inventory
    found: dict[str, Any] = manager.get_vars(play=action._task.get_play(), host=inventory.get_host(host))
    return found


def action_on(
    action: ActionBase,
    variables: dict[str, Any],
    name: str,
    arguments: dict[str, Any],
    *,
    become: bool,
    environment: dict[str, str],
) -> ActionBase:
    """Returns another action, or the module of that name, as Ansible would do it on a host.

    :param action: the action that runs
    :param variables: of the host
    :param become: the task becomes root
    :param environment: of the program, or of the module
    """
    task = action._task.copy()
    task.action, task.args, task.become, task.no_log = name, arguments, become, False
    task.environment = [environment] if environment else []
    templar = action._templar.copy_with_new_env(available_variables=variables)
    context = action._play_context.set_task_and_variable_override(task=task, variables=variables, templar=templar)
    loaders = action._shared_loader_obj
    executor = TaskExecutor(None, task, variables, context, action._loader, loaders, None, None)
    kind = str(templar.template(variables.get("ansible_connection", action._task.connection)))
    executor._connection = executor._get_connection(variables, templar, kind)
    executor._set_connection_options(variables, templar)
    found: ActionBase = loaders.action_loader.get(
        name if name in loaders.action_loader else "ansible.legacy.normal",
        task=task,
        connection=executor._connection,
        play_context=context,
        loader=action._loader,
        templar=templar,
        shared_loader_obj=loaders,
    )
    return found


def module_arguments(action: ActionBase, name: str, arguments: dict[str, Any], task_vars: Any) -> None:
    """Adds to a module's arguments what Ansible says to every module."""
    action._update_module_args(name, arguments, task_vars)


def module_answer(action: ActionBase, output: str) -> dict[str, Any]:
    """What a module has printed, as Ansible reads it."""
    answer: dict[str, Any] = action._parse_returned_data({"stdout": output}, PROFILE)
    return answer


def module_output(run: Callable[[], None], arguments: dict[str, Any]) -> str:
    """What a module prints that gets these arguments and runs in this process."""
    encoder = get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE)
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode()
    basic._ANSIBLE_PROFILE = PROFILE
    output = io.StringIO()
    with redirect_stdout(output), suppress(SystemExit):
        run()
    return output.getvalue()
