"""The hosts of a trial as its steps reach them: any action or module, over Ansible's own connection."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ansible_private import action_on, variables_of
from dohyo.bad_input import BadInputError
from dohyo.systems.option import plain
from dohyo.trial.world import HostError

# Hosts that are reached at the same time, as `forks` in ansible.cfg.
FORKS = 50
# Of prctl(2).
PR_SET_PDEATHSIG = 1
# Paths are data, though ansible-core 2.19 would take those of the command line for templates.
AS_THEY_ARE = ("hostvars", "inventory_dir", "inventory_file", "playbook_dir", "ansible_inventory_sources")


class Values(Mapping[str, Any]):
    """The variables of a host; each is resolved when it is read, and then is a plain value."""

    def __init__(self, variables: Mapping[str, Any], templar: Any) -> None:
        self._variables = variables
        self._templar = templar.copy_with_new_env(available_variables=variables)

    def __getitem__(self, name: str) -> Any:
        if name == "environment":
            return dict(os.environ)
        value = self._variables[name]
        return value if name in AS_THEY_ARE else plain(self._templar.template(value))

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


class Others(Mapping[str, Any]):
    """The variables of all hosts by their names: of those of the trial with what its steps remember."""

    def __init__(self, hostvars: Mapping[str, Any], hosts: Mapping[str, AnsibleHost]) -> None:
        self._hostvars = hostvars
        self._hosts = hosts

    def __getitem__(self, name: str) -> Any:
        return self._hosts[name].values if name in self._hosts else self._hostvars[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hostvars)

    def __len__(self) -> int:
        return len(self._hostvars)


class AnsibleHost:
    """A host, for the steps of a trial.

    :param hosts: all hosts of the trial by name, this one among them
    """

    def __init__(self, action: ActionBase, hostvars: Any, name: str, hosts: Mapping[str, AnsibleHost]) -> None:
        self.name = name
        self.variables = {**variables_of(action, hostvars, name), "hostvars": Others(hostvars, hosts)}
        self.values = Values(self.variables, action._templar)
        self._action = action

    def remember(self, facts: Mapping[str, Any]) -> None:
        """Keeps variables of the host."""
        self.variables.update(facts)

    def reset(self) -> None:
        """Closes what Ansible has open to the host."""
        self._reach("program", {}, become=False)._connection.reset()

    def do(self, action: str, *, become: bool = False, **arguments: Any) -> dict[str, Any]:
        """Runs an action or module.

        :raises HostError: saying why it failed, or that the host does not answer
        """
        try:
            answer: dict[str, Any] = self._reach(action, arguments, become=become).run(task_vars=self.variables)
        except AnsibleConnectionFailure as error:
            raise HostError(f"the host does not answer: {error}".partition("\n")[0]) from error
        except AnsibleError as error:
            raise HostError(str(error)) from error
        if answer.get("failed"):
            raise HostError(words_of(answer))
        return answer

    def _reach(self, action: str, arguments: dict[str, Any], *, become: bool) -> ActionBase:
        environment = arguments.pop("environment", {})
        return action_on(self._action, self.variables, action, arguments, become=become, environment=environment)


def die_with_parent() -> None:
    """Has the kernel kill this process when the one that has started it ends.

    Ansible's processes for actions are in sessions of their own: nothing else ends them with the playbook, and a trial
    that goes on would start what stop.yml has just stopped.
    """
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def words_of(answer: Mapping[str, Any]) -> str:
    """What went wrong, in the words of the failed program where there are any."""
    message = str(answer.get("msg", "")).strip()
    if message.startswith("non-zero return code"):
        message = str(answer.get("stderr") or answer.get("stdout") or message).strip()
    return message


def at_once(calls: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Calls functions at the same time, each in a process of its own, as Ansible does; a single one in this process.

    :param calls: by host
    :returns: what each returns, or the HostError that it raises
    """
    if len(calls) == 1:
        ((name, call),) = calls.items()
        return {name: _tried(call)}
    found: dict[str, Any] = {}
    names = list(calls)
    for start in range(0, len(names), FORKS):
        children = [(name, *_begin(calls[name])) for name in names[start : start + FORKS]]
        for name, pid, reader in children:
            with open(reader, "rb") as pipe:
                answer = pipe.read()
            os.waitpid(pid, 0)
            found[name] = pickle.loads(answer) if answer else HostError("the process that reached the host has ended")  # noqa: S301 - ours
    return found


def _tried(call: Callable[[], Any]) -> Any:
    """What the function returns, or what went wrong as a HostError: one host or many, steps fail in the same way."""
    try:
        return call()
    except HostError as error:
        return error
    except Exception as error:  # its traceback would be lost in a process of its own
        return HostError(said_of(error))


def said_of(error: Exception) -> str:
    """What went wrong: the message alone where it is made for people."""
    return str(error) if isinstance(error, BadInputError | AnsibleError) else f"{type(error).__name__}: {error}"


def _begin(call: Callable[[], Any]) -> tuple[int, int]:
    """Starts a process that writes what the function returns to a pipe; returns its number and the end to read from."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    die_with_parent()
    code = 1
    with contextlib.suppress(BaseException):
        os.close(reader)
        answer = _tried(call)
        with open(writer, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
        code = 0
    os._exit(code)
