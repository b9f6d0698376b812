"""Connects to the hosts' agents; uses processes, pipes and the controller's clock."""

from __future__ import annotations

import json
import os
import selectors
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from .channel import Connection, Way
from .conductor import Conductor
from .power import Switch

TICK_SECONDS = 0.05
# Seconds that a process may take to end after its output has ended; the other hosts wait during this time.
GONE_SECONDS = 0.5
# Seconds that an agent may take to end after the phase.
LAST_SECONDS = 1.0
# Epoch of a clock that is never stepped: the difference between wall-clock and monotonic time.
_EPOCH = time.time() - time.monotonic()


def clock() -> float:
    """Returns the seconds since 1970, read from a clock of the controller that is never stepped."""
    return _EPOCH + time.monotonic()


class Conversation(Connection):
    """A connection over which both sides send messages at any time. Ignores what the host's login prints."""

    def __init__(self, host: str, way: Way) -> None:
        super().__init__(way)
        self.host = host
        self._unsent = b""
        for pipe in (self.input, self.output):
            os.set_blocking(pipe, False)

    def send(self, message: dict[str, Any]) -> None:
        """Sends as much of a message as the pipe accepts; `flush` sends the rest later."""
        # Do not queue pings on a stuck connection, whose host will soon count as lost.
        if message["do"] == "ping" and self._unsent:
            return
        if message["do"] == "ping":
            message["sent"] = clock()
        self._unsent += json.dumps(message).encode() + b"\n"
        self.flush()

    def flush(self) -> None:
        """Sends the bytes that the pipe has not accepted yet."""
        with suppress(OSError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self.input, self._unsent) :]

    def receive(self) -> list[dict[str, Any]] | None:
        """Returns the messages that have arrived; None at the end of the connection."""
        lines = self.lines()
        return None if lines is None else [json.loads(line) for line in lines if line.startswith(b'{"is": ')]


class Connections:
    """The connections to the agents, one for each host. A connection may be opened more than once."""

    def __init__(self, ways: Mapping[str, Way]) -> None:
        self._ways = ways
        self._selector = selectors.DefaultSelector()
        self._open: dict[str, Conversation] = {}

    def open(self, host: str) -> None:
        """Starts the agent on a host."""
        if host in self._open:
            self.end(self._open[host])
            self._open.pop(host).close(0)
        connection = self._open[host] = Conversation(host, self._ways[host])
        self._selector.register(connection.output, selectors.EVENT_READ, connection)

    def send(self, host: str, message: dict[str, Any]) -> None:
        """Sends a message to the agent on a host."""
        self._open[host].send(message)

    def heard(self) -> Iterator[Conversation]:
        """Waits briefly; yields the connections that have messages or have ended."""
        for connection in self._open.values():
            connection.flush()
        for key, _ in self._selector.select(TICK_SECONDS):
            yield key.data

    def end(self, connection: Conversation) -> None:
        """Stops reading from a connection."""
        with suppress(KeyError):
            self._selector.unregister(connection.output)

    def close(self) -> None:
        """Closes the connections to all hosts."""
        self._selector.close()
        for connection in self._open.values():
            connection.close(LAST_SECONDS)


def conduct(
    conductor: Conductor,
    ways: Mapping[str, Way],
    keep: Callable[[str, str, str], None],
    power: Mapping[str, Mapping[str, Sequence[str]]],
    warn: Callable[[str], None],
) -> None:
    """Opens a connection to every host, and carries out the conductor's decisions until it has finished.

    :param ways: command that starts the agent, by host
    :param keep: called with the host, file name and new text of a log
    :param power: commands that switch a host ``off`` and ``on``, by host; only for hosts with power faults
    :param warn: called with a sentence about a host that stays off
    """
    connections = Connections(ways)
    switches = {host: Switch(of_host["off"], of_host["on"], clock) for host, of_host in power.items()}
    try:
        for host in ways:
            connections.open(host)
        while not conductor.over:
            for host, message in conductor.take_outbox():
                _carry_out(host, message, connections, switches)
            for connection in connections.heard():
                if not _deliver(connection, conductor, keep):
                    connections.end(connection)
            for host, switch in switches.items():
                for on, began, ended, error in switch.ended():
                    conductor.switched(host, on, began, ended, error)
            conductor.tick(clock())
    finally:
        connections.close()
        for host, switch in switches.items():
            if error := switch.restore():
                warn(f"{host} may be off: {error}; switch it on by hand")


def _carry_out(host: str, message: dict[str, Any], connections: Connections, switches: Mapping[str, Switch]) -> None:
    if message["do"] == "power":
        switches[host].turn(message["on"])
    elif message["do"] == "connect":
        connections.open(host)
    else:
        connections.send(host, message)


def _deliver(connection: Conversation, conductor: Conductor, keep: Callable[[str, str, str], None]) -> bool:
    """Passes the messages of a connection to the conductor; returns False at its end."""
    messages = connection.receive()
    now = clock()
    if messages is None:
        conductor.lost(connection.host, connection.why_gone(GONE_SECONDS), now)
        return False
    for message in messages:
        if message["is"] == "log":
            keep(connection.host, message["file"], message["text"])
        conductor.heard(connection.host, message, now)
    return True
