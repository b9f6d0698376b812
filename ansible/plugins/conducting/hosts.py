"""Opens connections to the hosts of a trial as Ansible does, and sends requests to the agents there."""

from __future__ import annotations

import base64
import ctypes
import os
import resource
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
from lookup.system import Variables

# Maximum number of simultaneous connections; equal to `forks` in ansible.cfg.
MOST_AT_ONCE = 50
# Maximum seconds that ssh may take to end a shared connection.
SHARED_SECONDS = 30
# Maximum number of files that the connections to a host need: three each for the login user, for root and for clients;
# and the number of other files in this process.
FILES_EACH, OTHER_FILES = 9, 256
# Constant of prctl(2) that requests a signal when the parent ends.
PR_SET_PDEATHSIG = 1
# Variables that are never resolved: ansible-core 2.19 would treat paths from the command line as templates.
AS_THEY_ARE = ("hostvars", "inventory_dir", "inventory_file", "playbook_dir", "ansible_inventory_sources")

# Lock around Ansible's code that resolves variables and configures plugins, which is not thread-safe.
RESOLVING = threading.RLock()


class Values(Variables):
    """The variables of a host. Reading a variable resolves its templates and returns a plain value."""

    __UNSAFE__ = True  # otherwise, ansible-core before 2.19 would resolve all variables

    def __init__(self, variables: Mapping[str, Any], templar: Any) -> None:
        super().__init__(variables, templar.copy_with_new_env(available_variables=variables))

    def __getitem__(self, name: str) -> Any:
        if name in AS_THEY_ARE:
            return self.variables[name]
        with RESOLVING:
            return plain(super().__getitem__(name))


class Others(Mapping[str, Any]):
    """The variables of all hosts, by host name. They include facts that steps have set on the trial's hosts."""

    __UNSAFE__ = True  # otherwise, ansible-core before 2.19 would resolve all variables

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
    """A host of a trial.

    :param hosts: all hosts of the trial by name, including this one
    """

    def __init__(self, action: ActionBase, hostvars: Any, name: str, hosts: Mapping[str, AnsibleHost]) -> None:
        self.name = name
        self.variables = {**variables_of(action, hostvars, name), "hostvars": Others(hostvars, hosts)}
        self.values = Values(self.variables, action._templar)
        self._action = action
        self._channels: dict[bool, Channel] = {}  # key: whether the agent runs as root

    def remember(self, facts: Mapping[str, Any]) -> None:
        """Sets facts, which are then variables of the host."""
        self.variables.update(facts)

    def way(self, command: str, *, root: bool = False) -> Way:
        """Returns the command line that runs a command on the host, as the inventory says."""
        with RESOLVING:
            return way_to(self._action, self.values, command, root=root)

    def do(self, verb: str, *, become: bool = False, **arguments: Any) -> dict[str, Any]:
        """Executes a verb of the host's agent (ansible/agent/verbs), and returns its answer.

        :raises HostError: with the reason if the verb failed, or if the host does not answer
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
        """Copies a file, or all files below a folder, from the host to a local folder.

        A source that does not exist is not an error.

        :raises HostError: if copying fails
        """
        packed = self.do("transfer", step="pack", folder=source)
        if not packed["files"]:
            return
        try:
            with tempfile.TemporaryFile() as archive:
                while archive.tell() < packed["bytes"]:
                    part = self.do("transfer", step="read", at=archive.tell())["part"]
                    if not part:
                        raise HostError(f"{source}: it ended after {archive.tell()} of {packed['bytes']} packed bytes")
                    archive.write(base64.b64decode(part))
                with zipfile.ZipFile(archive) as files:
                    files.extractall(folder)
        except OSError as error:
            raise HostError(f"{folder} cannot be written: {error.strerror}") from error

    def reset(self) -> None:
        """Closes all connections to a host that was off, including the one that Ansible shares."""
        self.close()
        way = self.way("")
        if not way.is_local:
            command = [way.command[0], "-O", "stop", *way.command[1:-1]]
            subprocess.run(command, capture_output=True, timeout=SHARED_SECONDS, check=False)

    def close(self) -> None:
        """Closes the connections to the host's agents."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()


def die_with_parent() -> None:
    """Makes the kernel kill this process when its parent ends.

    Ansible runs each action in a new session, so an action can outlive its playbook. Without this call, a trial could
    continue and start servers after stop.yml.
    """
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def allow_files(hosts: int) -> None:
    """Raises this process's limit of open files if it is too low for the connections to this number of hosts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, OTHER_FILES + FILES_EACH * hosts)), hard))


def at_once(calls: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Calls functions at the same time.

    :param calls: function by host
    :returns: by host, the function's result, or the HostError that it raised
    """
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        return dict(zip(calls, pool.map(_tried, calls.values()), strict=True))


def _tried(call: Callable[[], Any]) -> Any:
    """Returns the function's result, or its exception as a HostError."""
    try:
        return call()
    except HostError as error:
        return error
    except Exception as error:  # an error on one host must not end the step on other hosts
        return HostError(said_of(error))


def said_of(error: Exception) -> str:
    """Returns an error's message, preceded by the error's type unless the message is written for users."""
    return str(error) if isinstance(error, BadInputError | AnsibleError) else f"{type(error).__name__}: {error}"
