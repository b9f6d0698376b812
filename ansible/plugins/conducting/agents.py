"""The connections to the hosts' agents: processes, pipes and the controller's clock."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import IO, Any

from .channel import Way
from .conductor import Conductor
from .power import Commands, Switch

TICK_SECONDS = 0.05
# Wall-clock time that does not step: what it was when this program began, and what has passed since.
_EPOCH = time.time() - time.monotonic()


def clock() -> float:
    """Seconds since 1970 by the controller's clock."""
    return _EPOCH + time.monotonic()


class Connection:
    """One agent's process (here, or ssh) and its pipes. What the host's login prints is not taken for answers."""

    def __init__(self, host: str, way: Way) -> None:
        self.host = host
        self.words = b""  # of standard error: ssh's own complaints
        self._rest = b""
        self._process = subprocess.Popen(
            way.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            env={**os.environ, **way.environment}, start_new_session=True,
        )  # fmt: skip
        self.input, self.output, self.errors = self._pipes()
        for pipe in (self.input, self.output, self.errors):
            os.set_blocking(pipe.fileno(), False)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("made without pipes")
        return process.stdin, process.stdout, process.stderr

    def send(self, message: dict[str, Any]) -> None:
        """Sends at once; what a stuck connection does not take is lost, as its host soon is."""
        if message["do"] == "ping":
            message["sent"] = clock()
        with suppress(OSError):
            self.input.write(json.dumps(message).encode() + b"\n")

    def receive(self) -> list[dict[str, Any]] | None:
        """The messages that have come; None at the end."""
        fresh = self.output.read(1 << 20)
        if fresh == b"":
            return None
        *lines, self._rest = (self._rest + (fresh or b"")).split(b"\n")
        return [json.loads(line) for line in lines if line.startswith(b'{"is": ')]

    def receive_errors(self) -> bool:
        """False at the end."""
        fresh = self.errors.read(65536)
        self.words = (self.words + (fresh or b""))[-4096:]
        return fresh != b""

    def why_gone(self) -> str:
        """What is known of the end of the connection."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self.receive_errors()
        lines = [line for line in self.words.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"its connection ended with exit code {self._process.returncode}"

    def close(self, patience: float = 1) -> None:
        """Lets go of the host: an agent that still runs sees the end of its input, and stops its client.

        :param patience: seconds for the process to end by itself
        """
        with suppress(OSError):
            self.input.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self.output.close()
        self.errors.close()


class Connections:
    """One to each host, which may be opened anew."""

    def __init__(self, ways: Mapping[str, Way]) -> None:
        self._ways = ways
        self._selector = selectors.DefaultSelector()
        self._open: dict[str, Connection] = {}

    def open(self, host: str) -> None:
        """Starts an agent."""
        if host in self._open:
            self._drop(self._open.pop(host))
        connection = self._open[host] = Connection(host, self._ways[host])
        self._selector.register(connection.output, selectors.EVENT_READ, connection)
        self._selector.register(connection.errors, selectors.EVENT_READ, connection)

    def send(self, host: str, message: dict[str, Any]) -> None:
        """Sends to the agent of a host."""
        self._open[host].send(message)

    def heard(self) -> Iterator[Connection]:
        """Those from which there are messages, or that have ended; waits a moment for some."""
        for key, _ in self._selector.select(TICK_SECONDS):
            connection = key.data
            if key.fileobj is connection.output:
                yield connection
            elif not connection.receive_errors():
                self._ignore(connection.errors)

    def end(self, connection: Connection) -> None:
        """Nothing more comes from it."""
        self._ignore(connection.output)

    def close(self) -> None:
        """Lets go of all hosts."""
        self._selector.close()
        for connection in self._open.values():
            connection.close()

    def _drop(self, connection: Connection) -> None:
        self._ignore(connection.output)
        self._ignore(connection.errors)
        connection.close(0)

    def _ignore(self, pipe: IO[bytes]) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(pipe)


def conduct(
    conductor: Conductor,
    ways: Mapping[str, Way],
    keep: Callable[[str, str, str], None],
    power: Mapping[str, Commands],
    warn: Callable[[str], None],
) -> None:
    """Opens a connection to every host and lets the conductor have its way until it is over.

    :param ways: by host, what starts its agent
    :param keep: gets host, file name and new text of every log
    :param power: by host, what switches it off and on; only of those that are to be switched
    :param warn: gets a sentence about a host that stays off
    """
    connections = Connections(ways)
    switches = {host: Switch(of_host, clock) for host, of_host in power.items()}
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


def _deliver(connection: Connection, conductor: Conductor, keep: Callable[[str, str, str], None]) -> bool:
    """Hands on what a connection has brought; False at its end."""
    messages = connection.receive()
    now = clock()
    if messages is None:
        conductor.lost(connection.host, connection.why_gone(), now)
        return False
    for message in messages:
        if message["is"] == "log":
            keep(connection.host, message["file"], message["text"])
        conductor.heard(connection.host, message, now)
    return True
