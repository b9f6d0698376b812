"""Tests whether hosts can reach each other on the ports that servers will use.

``listen`` starts a process that listens for up to two minutes, on those ports that are free and on one that the kernel chooses.
``try`` connects to the ports of other hosts. ``end`` ends the process of ``listen``.
"""

from __future__ import annotations

import asyncio
import errno
import os
import selectors
import signal
import socket
from functools import partial
from typing import Any

import proc
from failure import AgentError
from listeners import in_background

# Seconds after which the kernel ends the listening process.
LIFETIME = 120
# Seconds to wait for a connection. If the first packet is lost, the kernel sends it again after 1 s.
PATIENCE = 3
# Maximum number of simultaneous connections.
TOGETHER = 200
SHOWN = 4
CANARY = "chosen by the kernel, as for the canary"


def listener(address: str, port: int) -> socket.socket:
    """Returns a listening socket. Raises OSError if the host cannot listen on the address and port."""
    family, kind, protocol, _, endpoint = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    server = socket.socket(family, kind, protocol)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(endpoint)
        server.listen()
    except OSError:
        server.close()
        raise
    return server


def accept_all(sockets: list[socket.socket]) -> None:
    """Accepts connections and closes them."""
    with selectors.DefaultSelector() as waiting:
        for server in sockets:
            server.setblocking(False)
            waiting.register(server, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                try:
                    key.fileobj.accept()[0].close()  # type: ignore[union-attr]
                except OSError:
                    continue


def listen(address: str, ports: dict[str, int]) -> tuple[int, dict[str, int]]:
    """Starts a process that listens on free ports. Returns its pid, and all ports on which any process now listens."""
    sockets, listening, checked = [], {}, set()
    for name, port in {**ports, CANARY: 0}.items():
        if port not in checked:
            checked.add(port)
            try:
                sockets.append(listener(address, port))
                listening[name] = int(sockets[-1].getsockname()[1])
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    listening[name] = port
    return in_background(LIFETIME, partial(accept_all, sockets)), listening


async def obstacle(address: str, port: int) -> str:
    """Returns the reason why a port cannot be reached, or an empty string if it can be."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(address, port), PATIENCE)
    except (asyncio.TimeoutError, TimeoutError):  # before Python 3.11, these are two classes
        return f"no answer within {PATIENCE} s"
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    writer.close()
    return ""


def sentence(host: str, address: str, failed: dict[str, tuple[int, str]], tried: int) -> str:
    """Returns a sentence that names the ports of another host that this host cannot reach, and the reasons."""
    names = [f"{port} ({name})" for name, (port, _) in failed.items()]
    some = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    numbers = f"any of {tried} ports" if len(names) == tried > 1 else f"port{'s' * (len(names) > 1)} {some}"
    reasons = ", ".join(sorted({reason for _, reason in failed.values()}))
    return f"it cannot reach {host} ({address}) on {numbers}: {reasons}; allow TCP to it in all firewalls"


async def attempt(targets: dict[str, dict[str, Any]]) -> list[str]:
    """Connects to all ports of all targets. Returns a sentence for each target with ports that cannot be reached."""
    gate = asyncio.Semaphore(TOGETHER)
    failed: dict[str, dict[str, tuple[int, str]]] = {}

    async def one(host: str, name: str, port: int) -> None:
        async with gate:
            reason = await obstacle(targets[host]["address"], port)
        if reason:
            failed.setdefault(host, {})[name] = (port, reason)

    await asyncio.gather(*(one(host, name, int(port)) for host, target in targets.items() for name, port in target["ports"].items()))
    return [sentence(host, targets[host]["address"], ports, len(targets[host]["ports"])) for host, ports in failed.items()]


def answer(
    state: str, address: str = "", ports: dict[str, int] | None = None, targets: dict[str, dict[str, Any]] | None = None,
    pid: int = 0, start: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Listens on ports, or connects to ports of other hosts.

    :param state: ``listen``, ``try`` or ``end``
    :param address: for ``listen``: address to listen on
    :param ports: for ``listen``: port for each purpose
    :param targets: for ``try``: the answer of ``listen`` for each host
    :param pid: for ``end``: the process; if it has ended, another process may have its pid, but not its start time
    :returns: for ``listen``: ``pid`` and ``start`` of the process to end afterwards, ``address``, and ``ports`` for each purpose; ports
        on which listening is not permitted are left out; for ``try``: ``problems``, a sentence for each host that cannot be reached
    :raises AgentError: for an invalid address or port
    """
    if state not in ("listen", "try", "end"):
        raise AgentError(f"state '{state}': must be one of listen, try, end")
    if state == "end":
        if proc.is_alive(int(pid), int(start)):
            os.kill(int(pid), signal.SIGKILL)
        return {}
    if state == "listen" and not address:
        raise AgentError("reachable listen: address is missing")
    try:
        if state == "try":
            return {"problems": asyncio.run(attempt(targets or {}))}
        pid, listening = listen(address, {name: int(port) for name, port in (ports or {}).items()})
    except (OSError, OverflowError) as error:
        raise AgentError(str(error)) from error
    return {"pid": pid, "start": proc.start_time(pid) or 0, "address": address, "ports": listening}
