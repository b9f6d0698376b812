"""Connects to a host's agent through pipes, over which both sides send lines; a subclass adds requests and answers."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dohyo.trial.world import HostError

from . import sent

# Timeout for becoming root on a host, and for the start of the agent, in seconds.
OPEN_SECONDS = 60.0
# Number of bytes that are read from the end of the error output.
LAST_BYTES = 1 << 16
# Seconds that an agent may take to end after its connection was closed.
CLOSE_SECONDS = 5.0
LOOK_SECONDS = 0.01
# Seconds between two empty lines that are sent while waiting for an answer. Without them, the agent ends its work.
SIGN_SECONDS = 5.0


@dataclass(frozen=True)
class Rise:
    """How a command becomes root, according to one of Ansible's become plugins.

    :ivar command: command line that becomes root and then runs the command
    :ivar password: password to type at the prompt; None without a prompt
    :ivar succeeded: function that returns whether output says that the command runs as root
    :ivar prompts: function that returns whether output asks for the password
    :ivar refused: function that returns whether output says that the password is wrong
    """

    command: str
    password: str | None
    succeeded: Callable[[bytes], bool]
    prompts: Callable[[bytes], bool]
    refused: Callable[[bytes], bool]


@dataclass(frozen=True)
class Way:
    """How to run a command on a host, locally or over ssh.

    :ivar environment: environment variables that are added to those of this process
    :ivar rise: how the command becomes root; None if it runs as the login user
    """

    command: Sequence[str | bytes]
    environment: Mapping[str, str] = field(default_factory=dict)
    rise: Rise | None = None
    is_local: bool = False


class Connection:
    """The local process of an agent, or of the ssh client connected to it, and the pipes of this process.

    :ivar input, output: descriptors of the pipes
    """

    def __init__(self, way: Way) -> None:
        self._parts: list[bytes] = []  # pieces of a line whose end has not arrived
        self._greeted = 0  # bytes of error output before the agent's hello, such as a login banner
        # Error output goes to a file: it is read only after a failure, and a full pipe would block ssh.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the connection
        self._process = subprocess.Popen(
            way.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, bufsize=0,
            env={**os.environ, **way.environment},
            # Start a new session, which has no terminal on which ssh could ask for a password.
            start_new_session=True,
        )  # fmt: skip
        pipes = (self._process.stdin, self._process.stdout)
        self.input, self.output = (pipe.fileno() if pipe else -1 for pipe in pipes)

    @property
    def is_open(self) -> bool:
        """Whether the agent is still running."""
        return self._process.poll() is None

    def has_output(self, seconds: float) -> bool:
        """Waits for output, or for its end. Uses poll, because select fails for descriptors above 1023."""
        poll = select.poll()
        poll.register(self.output, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def lines(self) -> list[bytes] | None:
        """Reads once; returns the complete lines, or None at the end of the output."""
        fresh = os.read(self.output, 1 << 20)
        if not fresh:
            return None
        *whole, rest = fresh.split(b"\n")
        if whole:
            whole[0] = b"".join([*self._parts, whole[0]])
            self._parts = []
        self._parts.append(rest)
        return whole

    def why_gone(self, patience: float) -> str:
        """Returns why the connection ended: the last line of error output, such as a message of ssh, or the exit code.

        :param patience: seconds to wait for the end of the process
        """
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        return self._last_words() or f"its connection ended with exit code {self._process.returncode}"

    def close(self, patience: float = CLOSE_SECONDS) -> None:
        """Closes the connection. At the end of its input, the agent ends the programs that it started.

        :param patience: seconds to wait before the process is killed
        """
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._complaints.close()

    def _words(self) -> bytes:
        file = self._complaints.fileno()
        # Use pread, because the process writes at the shared position of the file.
        return os.pread(file, LAST_BYTES, max(self._greeted, os.fstat(file).st_size - LAST_BYTES))

    def _last_words(self) -> str:
        lines = [line for line in self._words().decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""


class Channel(Connection):
    """A connection that serves one request after another. Programs that a request started end with the connection.

    :raises HostError: if the host cannot be reached, or the command cannot become root
    """

    def __init__(self, way: Way) -> None:
        super().__init__(way)
        self._lines: list[bytes] = []
        try:
            if way.rise is not None:
                self._become_root(way.rise)
            self._send(sent.program())
            self._receive("hello", OPEN_SECONDS)
        except BaseException:
            self.close()
            raise
        self._greeted = os.fstat(self._complaints.fileno()).st_size

    def ask(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a request and returns the agent's answer.

        :raises HostError: with the agent's message if it failed, or if the host does not answer
        """
        self._send(sent.request(verb, dict(arguments), bound=True))
        message = self._receive("answer")
        return dict(message["answer"])

    def _become_root(self, rise: Rise) -> None:
        """Types the password at a prompt, and waits until the command runs as root."""
        until, answered, output = time.monotonic() + OPEN_SECONDS, False, b""
        while not rise.succeeded(output):
            if self.has_output(LOOK_SECONDS):
                fresh = os.read(self.output, 65536)
                if not fresh:
                    raise self._gone()
                output += fresh
            text = output + b"\n" + self._words()
            if rise.refused(text):
                raise HostError("it rejects the password for becoming root; see ansible_become_password")
            if rise.password is not None and not answered and rise.prompts(text):
                self._send(rise.password.encode() + b"\n")
                answered = True
            if time.monotonic() > until:
                raise HostError(
                    f"the login user could not become root within {OPEN_SECONDS:.0f} s: {self._last_words()}"
                )

    def _send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self.input, data) :]
        except OSError:
            raise self._gone() from None

    def _receive(self, kind: str, seconds: float | None = None) -> dict[str, Any]:
        """Returns the next message; ignores what the host's login prints.

        :param seconds: time limit; None for no limit
        :raises HostError: with the agent's message if it failed, or if the connection has ended
        """
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            while self._lines:
                line = self._lines.pop(0)
                if line.startswith(b'{"is": "failure"'):
                    raise HostError(json.loads(line)["msg"])
                if line.startswith(f'{{"is": "{kind}"'.encode()):
                    return dict(json.loads(line))
            if until is not None and time.monotonic() > until:
                raise HostError(f"the host does not answer: its agent did not start within {seconds:.0f} s")
            if self.has_output(SIGN_SECONDS):
                fresh = self.lines()
                if fresh is None:
                    raise self._gone()
                self._lines += fresh
            elif until is None:
                self._send(b"\n")

    def _gone(self) -> HostError:
        return HostError(f"the host does not answer: {self.why_gone(CLOSE_SECONDS)}")
