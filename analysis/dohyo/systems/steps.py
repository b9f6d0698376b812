"""What a system's own steps of a trial may do on the hosts: :class:`dohyo.trial.servers.Servers` does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from dohyo.systems.system import System

T = TypeVar("T")


class Steps(Protocol):
    """The servers of a system on all hosts; a host is called by its name in the inventory.

    Every call raises ``dohyo.trial.world.HostError`` if it fails on the host.
    """

    @property
    def databases(self) -> Sequence[str]:
        """The database hosts."""

    @property
    def clients(self) -> Sequence[str]:
        """The hosts of clients."""

    def system(self, host: str) -> System:
        """The system as it is on a host."""

    def each(self, step: str, call: Callable[[str], T], hosts: Iterable[str]) -> dict[str, T]:
        """Does a step on several hosts at the same time, and returns what came of it by host.

        :param step: its name, for people
        """

    def run(self, host: str, argv: Sequence[str], *, stdin: str | None = None, root: bool = False, **more: Any) -> str:
        """Runs a program, and returns what it writes to standard output.

        :param more: ``chdir``, the folder that it runs in; ``creates``, a file that exists if it ran before;
            ``environment``
        """

    def until(self, host: str, process: str, argv: Sequence[str], *, ready: bool = False) -> None:
        """Repeats a program until it succeeds, while a process of the server runs.

        :param ready: it says that the process is ready; it is asked again when a fault has ended
        """

    def admin(self, host: str, verb: str, *words: str) -> str:
        """Calls the administration of the system, and returns its answer."""

    def until_admin(self, host: str, verb: str, *words: str, ready: bool = False) -> None:
        """Repeats such a call as :meth:`until` does."""

    def start_process(self, host: str, name: str, command: Sequence[str], **more: Any) -> None:
        """Starts one process of the server in its run folder; ``more`` as for :func:`dohyo.trial.processes.start`."""

    def start_nodes(self, hosts: Iterable[str] | None = None) -> None:
        """Starts the servers, by default of all hosts that start at once, and waits until each is up."""

    def wait_until_all_know(self) -> None:
        """Waits until every node sees all of them: one that has come up last is not known to all others at once."""

    def choose_ports(self, host: str, address: str, preferred: dict[str, int]) -> dict[str, Any]:
        """Returns free ports: ``address``, ``ports`` by name, ``moved``: a sentence for each that is another one."""

    def write(self, host: str, files: dict[str, str], *, mode: str, folders: Sequence[str], folder_mode: str) -> None:
        """Writes files by their paths, and makes folders."""

    def remember(self, host: str, **facts: Any) -> None:
        """Keeps variables of a host."""

    def note(self, text: str) -> None:
        """Says something to people."""

    def refuse(self, step: str, reason: str) -> None:
        """Ends the trial for a reason that concerns all hosts."""
