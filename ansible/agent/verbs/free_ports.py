"""Finds a free TCP port for each named purpose.

With ``search``, a port that is in use is replaced by the next free one. The kernel must not choose the port, because it chooses from
the range of outgoing connections. One of these could take the port before the server listens. Without ``search``, a port in use is
an error that names the port and its process. With ``chosen``, the verb only reports other programs that listen on these ports.
"""

from __future__ import annotations

import os
from typing import Any

from failure import AgentError
from listeners import can_listen, carries, command_of, having, our_mark, sockets

TRIES = 500


def choose(address: str, preferred: dict[str, int], search: bool) -> tuple[dict[str, int], list[str]]:
    """Returns a port for each purpose, and a sentence for each replaced port. Raises AgentError if no port is free."""
    ports: dict[str, int] = {}
    moved: list[str] = []
    for name, first in preferred.items():
        if not 1 <= first <= 65535:
            raise AgentError(f"port {first} for {name}: must be a number from 1 to 65535")
        last = min(first + TRIES * search, 65535)
        assigned = {port: purpose for purpose, port in ports.items()}
        port = next((p for p in range(first, last + 1) if p not in assigned and not can_listen(address, p)), None)
        if port is None and search:
            raise AgentError(f"no free port for {name} on {address} from {first} to {last}: set another range")
        if port is None:
            holder = assigned.get(first) or command_of(having(sockets(address, first)))
            raise AgentError(f"port {first} ({name}) on {address} is taken by {holder}; end it, or set another port")
        if port != first:
            moved.append(f"{name} port {first} is taken on {address}; {port} is used instead")
        ports[name] = port
    return ports, moved


def lost(choice: dict[str, Any], secret: str) -> list[str]:
    """Returns a sentence for each chosen port that another program took before the server did."""
    mark, notes = our_mark(secret), []
    for name, port in choice.get("ports", {}).items():
        links = sockets(choice["address"], port)
        pids = having(links)
        if links and not any(carries(pid, mark) for pid in pids):
            notes.append(f"{name} port {port} was chosen while it was free, but was then taken by {command_of(pids)}")
    return notes


def answer(
    preferred: dict[str, int] | None = None,
    address: str = "127.0.0.1",
    search: bool = True,
    chosen: dict[str, Any] | None = None,
    secret: str | None = None,
) -> dict[str, Any]:
    """Chooses ports, or checks ports that were chosen earlier.

    :param preferred: preferred port for each purpose
    :param address: address to listen on
    :param search: whether to replace a preferred port that is in use
    :param chosen: instead of `preferred`: an earlier answer of this verb, or an empty dict
    :param secret: with `chosen`: file with the secret that the environment of all of Dohyo's processes contains
    :returns: ``address``, ``ports`` for each purpose, and ``moved``, a sentence for each port that was replaced; with `chosen`,
              ``notes``, a sentence for each port on which another program listens instead of one of Dohyo's processes
    :raises AgentError: if a port is not free
    """
    if (preferred is None) == (chosen is None):
        raise AgentError("free_ports: either preferred or chosen must be given")
    if chosen is not None:
        return {"notes": lost(chosen, os.path.expanduser(os.path.expandvars(secret)))}
    ports, moved = choose(address, {name: int(port) for name, port in preferred.items()}, search)
    return {"address": address, "ports": ports, "moved": moved}
