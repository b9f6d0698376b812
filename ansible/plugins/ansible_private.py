"""Finds out how Ansible would connect to a host, and with which variables. No other file uses Ansible's private names.

Ansible may change these names in any release, so analysis/tests/trial/test_ansible_hosts.py runs this file with the
lowest and the highest release that analysis/pyproject.toml allows. The names are the variable manager and inventory in
``hostvars``, a task's play and ``dump_attrs``, an action's ``_play_context``, and ``_build_command`` for ssh.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.context import CLIARGS
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import become_loader, connection_loader, shell_loader

from conducting.channel import Rise, Way

ASKPASS = Path(__file__).resolve().with_name("askpass")
# Passwords in the play context, and for each one the host variables that set it.
PASSWORDS = {
    "password": ("ansible_password", "ansible_ssh_pass", "ansible_ssh_password"),
    "become_pass": ("ansible_become_password", "ansible_become_pass"),
}


def forget_passwords(action: ActionBase, variables: Mapping[str, Any]) -> None:
    """Clears passwords that the variables of the action's own host set, so that other hosts never receive them.

    Passwords that the user typed for all hosts (-k, -K) stay.
    """
    context = action._play_context.copy()
    for name, names in PASSWORDS.items():
        if any(variable in variables for variable in names):
            setattr(context, name, "")
    action._play_context = context


def variables_of(action: ActionBase, hostvars: Any, host: str) -> dict[str, Any]:
    """Returns the variables of a host as a task of this play would see them, with unresolved templates."""
    manager, inventory = hostvars._variable_manager, hostvars._inventory
    play, task = action._task.get_play(), action._task
    variables: dict[str, Any] = manager.get_vars(play=play, host=inventory.get_host(host), task=task)
    return variables


def way_to(action: ActionBase, values: Mapping[str, Any], command: str, *, root: bool = False) -> Way:
    """Returns the command line that runs a command on a host, built from the host's variables.

    :param values: the host's variables; each is resolved when it is read
    :param command: command for the shell of the host
    :param root: whether to become root, by the method in the inventory
    :raises AnsibleActionFail: for connections other than ssh and local
    """
    # Read the play's connection: since ansible-core 2.21, the task has the connection of its own host.
    kind = str(values.get("ansible_connection", action._task.get_play().connection))
    if kind == "local":
        rise = _rise(action, values, command, pwd.getpwuid(os.geteuid()).pw_name) if root else None
        return Way(["/bin/sh", "-c", rise.command if rise else command], rise=rise, is_local=True)
    if kind not in ("ssh", "smart"):
        host = values["inventory_hostname"]
        raise AnsibleActionFail(f"ansible_connection={kind} of {host}: trials need ssh or local")
    context = action._play_context
    connection = connection_loader.get("ssh", context, None)
    # Do not pass on the task's values for these two options, because they are set for the task's own host.
    keys = {name: value for name, value in action._task.dump_attrs().items() if name not in ("retries", "timeout")}
    if context.password:
        keys["password"] = context.password
    connection.set_options(task_keys=keys, var_options=_options("connection", "ssh", values))
    # Set the host, which is part of the name of the socket that connections share.
    connection.host = connection.get_option("host")
    # If the inventory names no user, remote_user is empty, and ssh's own configuration may name one.
    rise = _rise(action, values, command, connection.get_option("remote_user")) if root else None
    ssh = connection.get_option("ssh_executable")
    argv = connection._build_command(ssh, "ssh", connection.host, rise.command if rise else command)
    password = connection.get_option("password")
    environment = {"SSH_ASKPASS": str(ASKPASS), "SSH_ASKPASS_REQUIRE": "force", "DOHYO_PASSWORD": str(password)}
    # OpenSSH before 8.4 calls the helper for passwords only if DISPLAY is set.
    environment["DISPLAY"] = os.environ.get("DISPLAY") or "-"
    # Leave out the words before ssh, because they may call a program that types the password.
    return Way([ssh, *argv[argv.index(ssh.encode()) + 1 :]], environment if password else {}, rise)


def _rise(action: ActionBase, values: Mapping[str, Any], command: str, user: str | None) -> Rise | None:
    """Returns how the command becomes root; None if the user is root already."""
    context = action._play_context
    # Do not use the play context, which contains the first host's method.
    methods = (values.get("ansible_become_method"), action._task.become_method, CLIARGS.get("become_method"))
    method = str(next(filter(None, methods), constants.DEFAULT_BECOME_METHOD))
    become = become_loader.get(method)
    if become is None:
        raise AnsibleActionFail(f"ansible_become_method={method} of {values['inventory_hostname']}: no such plugin")
    keys = action._task.dump_attrs()
    if context.become_pass:
        keys["become_pass"] = context.become_pass
    become.set_options(task_keys=keys, var_options=_options("become", method, values))
    if become.get_option("become_user") == user and not constants.BECOME_ALLOW_SAME_USER:
        return None
    shell = shell_loader.get("sh")
    shell.executable = "/bin/sh"
    line = become.build_become_command(command, shell)
    password = str(become.get_option("become_pass")) if become.expect_prompt() else None
    if method.endswith("doas") and password is not None:
        message = f"{values['inventory_hostname']}: {method} asks for a password on a terminal; configure nopass"
        raise AnsibleActionFail(message)
    return Rise(line, password, become.check_success, become.check_password_prompt, become.check_incorrect_password)


def _options(kind: str, plugin: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the variables of a host that are options of a plugin."""
    return {name: values[name] for name in constants.config.get_plugin_vars(kind, plugin) if name in values}
