"""The hosts of a trial: each has an agent at the other end of a connection as Ansible would open it."""

from __future__ import annotations

import base64
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ansible_private import variables_of, way_to
from conducting import sent
from conducting.channel import Channel, Way
from dohyo.bad_input import BadInputError
from dohyo.systems.option import plain
from dohyo.trial.world import HostError

# Hosts that are reached at the same time, as `forks` in ansible.cfg.
MOST_AT_ONCE = 50
# For ssh to end a connection that others share.
SHARED_SECONDS = 30
# Of prctl(2).
PR_SET_PDEATHSIG = 1
# Paths are data, though ansible-core 2.19 would take those of the command line for templates.
AS_THEY_ARE = ("hostvars", "inventory_dir", "inventory_file", "playbook_dir", "ansible_inventory_sources")

# Ansible resolves variables, and configures its plugins, in one thread.
RESOLVING = threading.RLock()


class Values(Mapping[str, Any]):
    """The variables of a host; each is resolved when it is read, and then is a plain value."""

    __UNSAFE__ = True  # ansible-core before 2.19 would resolve all of them

    def __init__(self, variables: Mapping[str, Any], templar: Any) -> None:
        self._variables = variables
        self._templar = templar.copy_with_new_env(available_variables=variables)

    def __getitem__(self, name: str) -> Any:
        if name == "environment":
            return dict(os.environ)
        value = self._variables[name]
        if name in AS_THEY_ARE:
            return value
        with RESOLVING:
            return plain(self._templar.template(value))

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


class Others(Mapping[str, Any]):
    """The variables of all hosts by their names: of those of the trial with what its steps remember."""

    __UNSAFE__ = True  # as above

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
        self._channels: dict[bool, Channel] = {}  # by whether the agent is root

    def remember(self, facts: Mapping[str, Any]) -> None:
        """Keeps variables of the host."""
        self.variables.update(facts)

    def way(self, command: str, *, root: bool = False) -> Way:
        """Returns what runs a command on the host, as the inventory says."""
        with RESOLVING:
            return way_to(self._action, self.values, command, root=root)

    def do(self, verb: str, *, become: bool = False, **arguments: Any) -> dict[str, Any]:
        """Asks the agent of the host (ansible/agent/verbs).

        :raises HostError: saying why it failed, or that the host does not answer
        """
        channel = self._channels.get(become)
        if channel is None or not channel.is_open:
            try:
                way = self.way(sent.command(str(self.values.get("dohyo_python", "python3"))), root=become)
            except AnsibleError as error:
                raise HostError(str(error)) from error
            channel = self._channels[become] = Channel(way)
        return channel.ask(verb, arguments)

    def pull(self, source: str, folder: Path) -> None:
        """Brings home a file, or all files below a folder, in addition to what the folder here has.

        A source that does not exist is no error.

        :raises HostError: if that fails
        """
        packed = self.do("transfer", step="pack", folder=source)
        if not packed["files"]:
            return
        try:
            with tempfile.TemporaryFile() as archive:
                while archive.tell() < packed["bytes"]:
                    part = self.do("transfer", step="read", at=archive.tell())["part"]
                    if not part:
                        raise HostError(f"{source} has ended after {archive.tell()} of {packed['bytes']} packed bytes")
                    archive.write(base64.b64decode(part))
                with zipfile.ZipFile(archive) as files:
                    files.extractall(folder)
        except OSError as error:
            raise HostError(f"{folder} cannot be written: {error.strerror}") from error

    def reset(self) -> None:
        """Closes the connections to the host, also that which Ansible shares: it was off."""
        self.close()
        way = self.way("")
        if not way.is_local:
            command = [way.command[0], "-O", "stop", *way.command[1:-1]]
            subprocess.run(command, capture_output=True, timeout=SHARED_SECONDS, check=False)

    def close(self) -> None:
        """Lets go of the agents."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()


def die_with_parent() -> None:
    """Has the kernel kill this process when the one that has started it ends.

    Ansible's processes for actions are in sessions of their own: nothing else ends them with the playbook, and a trial
    that goes on would start what stop.yml has just stopped.
    """
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def at_once(calls: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Calls functions at the same time.

    :param calls: by host
    :returns: what each returns, or the HostError that it raises
    """
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        return dict(zip(calls, pool.map(_tried, calls.values()), strict=True))


def _tried(call: Callable[[], Any]) -> Any:
    """Returns what the function returns, or what went wrong as a HostError."""
    try:
        return call()
    except HostError as error:
        return error
    except Exception as error:  # one host must not keep the others from the end of a step
        return HostError(said_of(error))


def said_of(error: Exception) -> str:
    """What went wrong: the message alone where it is made for people."""
    return str(error) if isinstance(error, BadInputError | AnsibleError) else f"{type(error).__name__}: {error}"
