"""Defines the hosts of a trial, and how its steps reach them."""

from __future__ import annotations

import json
import subprocess
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from dohyo.systems import catalogue
from dohyo.systems.context import Context
from dohyo.systems.system import System

T = TypeVar("T")


class Host(Protocol):
    """A host of the inventory on which Dohyo's agent is installed."""

    @property
    def name(self) -> str:
        """The host's name in the inventory."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The host's variables. Each is resolved when it is read."""

    def reset(self) -> None:
        """Closes all connections to the host."""

    def remember(self, facts: Mapping[str, Any]) -> None:
        """Records variables of the host for all later steps."""

    def do(self, verb: str, *, become: bool = False, **arguments: Any) -> dict[str, Any]:
        """Calls a verb of the host's agent, and returns the result.

        :param verb: a module of ansible/agent/verbs; the arguments are those of its function ``answer``
        :param become: whether to become root, with the method that the inventory sets
        :raises HostError: if the verb fails, or the host does not respond
        """

    def pull(self, source: str, folder: Path) -> None:
        """Fetches a file, or all files below a folder, to a folder of this machine. Other files there are kept.

        A source that does not exist is not an error.

        :raises HostError: if the files cannot be fetched
        """


class HostError(Exception):
    """A failure on a host, with the message of the program or the agent."""


class StepError(Exception):
    """The failure of a step of a trial.

    :ivar step: name of the step
    :ivar failures: messages by host
    """

    def __init__(self, step: str, failures: Mapping[str, str]) -> None:
        super().__init__(f"{step}: {'; '.join(dict.fromkeys(failures.values()))}")
        self.step = step
        self.failures = dict(failures)

    @property
    def by_host(self) -> dict[str, str]:
        """Messages of the hosts, each with the name of the step."""
        return {name: f"{self.step}: {message}" for name, message in self.failures.items()}


@dataclass
class World:
    """All hosts of the trial.

    :ivar hosts: hosts by name, in the inventory's order
    :ivar databases: names of the hosts with servers
    :ivar clients: names of the hosts with clients
    :ivar control: the control machine, as a host
    :ivar event: function that reports an event to users; its arguments are the kind, and the fields of this kind in
        ansible/plugins/callback/dohyo_events.py
    :ivar reach: function that returns a host of the inventory that is not in ``hosts``
    :ivar decrypted: function that returns the text of a file, which Ansible Vault may have encrypted
    :ivar unforeseen: function that records the traceback of an unexpected error, and returns a message about it
    :ivar at_once: function that calls several functions at the same time, and returns each host's result or HostError
    """

    hosts: Mapping[str, Host]
    databases: Sequence[str]
    clients: Sequence[str]
    control: Host
    event: Callable[..., None]
    reach: Callable[[str], Host]
    decrypted: Callable[[str], str]
    unforeseen: Callable[[Exception], str]
    at_once: Callable[[Mapping[str, Callable[[], Any]]], dict[str, Any]]

    @cached_property
    def first(self) -> Host:
        """First database host; without database hosts, the first host."""
        return self.hosts[next(iter(self.databases or self.hosts))]

    def system(self, host: str, **more: Any) -> System:
        """Returns the trial's system in the context of a host.

        :param more: variables that take precedence over those of the host
        """
        values = ChainMap(more, self.hosts[host].values)  # type: ignore[arg-type] # only read
        return catalogue.all_systems()[str(values["trial_system"])].on(Context(values))

    def on(self, names: Iterable[str], step: str, call: Callable[[Host], T]) -> dict[str, T]:
        """Runs a step on several hosts at the same time, and returns each host's result.

        :raises StepError: if the step failed on a host; it is raised when all hosts have finished the step
        """
        began = time.time()
        results, failures = self.attempt(names, call)
        if failures:
            self.fail(step, failures)
        if results:
            self.event("task", task=step, action="trial", began=began)
        return results

    def try_on(self, names: Iterable[str], call: Callable[[Host], T]) -> dict[str, T | HostError]:
        """Calls a function for several hosts at the same time, and returns each host's result or failure."""
        hosts = {name: self.hosts[name] if name in self.hosts else self.reach(name) for name in names}
        calls = {name: lambda host=host: call(host) for name, host in hosts.items()}
        return self.at_once(calls) if calls else {}

    def attempt(self, names: Iterable[str], call: Callable[[Host], T]) -> tuple[dict[str, T], dict[str, str]]:
        """Calls a function for several hosts, even if it fails on some of them.

        :returns: the results and the failures, by host
        """
        tried = self.try_on(names, call)
        failures = {name: str(result) for name, result in tried.items() if isinstance(result, HostError)}
        return {name: result for name, result in tried.items() if not isinstance(result, HostError)}, failures

    def here(self, step: str, call: Callable[[Host], T]) -> T:
        """Runs a step on the control machine.

        :raises StepError: for all hosts, if the step failed
        """
        try:
            return call(self.control)
        except (HostError, OSError) as error:
            self.refuse(step, str(error))

    def fail(self, step: str, failures: Mapping[str, str]) -> NoReturn:
        """Reports that a step failed.

        :raises StepError: always
        """
        for name, message in failures.items():
            self.event("failed", task=step, host=name, message=message, ignored=True)
        raise StepError(step, failures)

    def refuse(self, step: str, reason: str) -> NoReturn:
        """Reports that a step failed on all hosts for the same reason.

        :raises StepError: always
        """
        self.fail(step, dict.fromkeys(self.hosts, reason))

    def phase(self, name: str, run: int | None = None, client_dirs: Sequence[str] = ()) -> None:
        """Reports that a phase begins."""
        self.event("phase", phase=name, run=run, client_dirs=list(client_dirs))

    def ask_dohyo(self, verb: str, folder: Path) -> str:
        """Runs a command of the program dohyo on a trial's folder, and returns its output.

        :raises StepError: if the command fails; the error contains its error output
        """
        program = str(self.first.values["dohyo_program"])
        process = subprocess.run([program, verb, folder], capture_output=True, text=True, check=False)
        if process.returncode:
            message = process.stderr.strip() or f"dohyo {verb} ended with exit code {process.returncode}"
            self.refuse(f"Ask dohyo for {verb}", message)
        return process.stdout.strip()


def program(host: Host, argv: Sequence[str], *, stdin: str | None = None, root: bool = False, **more: Any) -> str:
    """Runs a program on a host, and returns its standard output.

    :param more: ``chdir``, ``creates``, ``removes``, ``timeout``, ``environment``, as in the agent's verb `program`
    :raises HostError: if the exit code is not 0; the error contains the standard error
    """
    options = more if stdin is None else {**more, "stdin": stdin}
    return str(host.do("program", become=root, argv=[str(argument) for argument in argv], **options)["stdout"])


def write_json(file: Path, content: Any) -> None:
    """Writes a file of the evidence on the control machine, atomically."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    new.write_text(json.dumps(content, indent=4, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(file)
