"""Interface for systems that replace steps of a trial; :class:`dohyo.trial.servers.ServerSteps` implements it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Steps(Protocol):
    """The servers of a system on all hosts, which are identified by their names in the inventory.

    All methods raise ``dohyo.trial.world.HostError`` if they fail on a host.
    """

    @property
    def databases(self) -> Sequence[str]:
        """Names of the database hosts."""

    @property
    def clients(self) -> Sequence[str]:
        """Names of the client hosts."""

    def system(self, host: str) -> Any:
        """Returns the System in the context of a host; the type is Any because system.py imports this module."""

    def each(self, step: str, call: Callable[[str], T], hosts: Iterable[str]) -> dict[str, T]:
        """Runs a function on several hosts at the same time.

        :param step: name of the step, for messages
        :returns: results of the function by host
        """

    def run(self, host: str, argv: Sequence[str], *, stdin: str | None = None, root: bool = False, **more: Any) -> str:
        """Runs a program and returns its standard output.

        :param more: ``chdir``: working directory; ``creates``: a file that exists if the program has run before;
            ``environment``: variables by name
        """

    def until(self, host: str, process: str, argv: Sequence[str], *, ready: bool = False) -> None:
        """Runs a program repeatedly until it succeeds. Fails after a timeout, or if the server's process has ended.

        :param ready: whether success means that the process is ready; if so, the check is run again after a fault
        """

    def admin(self, host: str, verb: str, *arguments: str) -> str:
        """Runs a command of the system's administration class, and returns its output."""

    def until_admin(self, host: str, verb: str, *arguments: str, ready: bool = False) -> None:
        """Runs an administration command repeatedly, like :meth:`until`."""

    def start_process(self, host: str, name: str, command: Sequence[str], **more: Any) -> None:
        """Starts a process of the server in its folder ``run``; ``more`` as in :func:`dohyo.trial.processes.start`."""

    def start_nodes(self, hosts: Iterable[str] | None = None) -> None:
        """Starts servers in the groups of `System.start_turns`, and waits until all are up.

        :param hosts: by default the hosts that start first
        """

    def wait_until_all_know(self) -> None:
        """Waits until every node knows all others; they learn of the last node only some time after its start."""

    def choose_ports(self, host: str, address: str, preferred: dict[str, int]) -> dict[str, Any]:
        """Returns ``address``, free ``ports`` by name, and ``moved``: a sentence for each changed port."""

    def write(self, host: str, files: dict[str, str], *, mode: str, folders: Sequence[str], folder_mode: str) -> None:
        """Writes files, given as contents by path, and creates folders."""

    def remember(self, host: str, **facts: Any) -> None:
        """Records variables of a host."""

    def note(self, text: str) -> None:
        """Shows a message to the user."""

    def refuse(self, step: str, reason: str) -> None:
        """Ends the trial with a reason that concerns all hosts.

        :raises dohyo.trial.world.StepError: always
        """
