"""A connection with a host's agent for requests and answers, one after another."""

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

# For becoming root on a host, and for the agent to begin.
OPEN_SECONDS = 60.0
# For an agent that was let go of to end.
CLOSE_SECONDS = 5.0
LOOK_SECONDS = 0.01
# Between two signs of life while an answer is awaited; without them the agent ends what it does.
SIGN_SECONDS = 5.0


@dataclass(frozen=True)
class Rise:
    """How a command becomes root, in the words of a plugin of Ansible.

    :ivar command: that becomes root and then runs the command
    :ivar password: None where it is not asked for one
    :ivar succeeded: whether output says that it is root
    :ivar prompts: whether output asks for the password
    :ivar refused: whether output says that the password is wrong
    """

    command: str
    password: str | None
    succeeded: Callable[[bytes], bool]
    prompts: Callable[[bytes], bool]
    refused: Callable[[bytes], bool]


@dataclass(frozen=True)
class Way:
    """What runs a command on a host: here, or over ssh.

    :ivar environment: beside that of this process
    :ivar rise: where the command becomes root
    """

    command: Sequence[str | bytes]
    environment: Mapping[str, str] = field(default_factory=dict)
    rise: Rise | None = None
    is_local: bool = False


class Channel:
    """One agent's process. It ends with the channel, and with it what a request has started.

    :raises HostError: saying why there is no way to the host, or to its root
    """

    def __init__(self, way: Way) -> None:
        self._parts: list[bytes] = []  # of a line that is not whole yet
        self._lines: list[bytes] = []
        self._greeted = 0  # bytes of complaints from before the agent said hello, such as the host's greeting
        # A file: nobody reads it before something has failed, and a full pipe would stop ssh.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the channel
        self._process = subprocess.Popen(
            way.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, bufsize=0,
            env={**os.environ, **way.environment},
            # Without a terminal of ours: ssh would ask there for a password.
            start_new_session=True,
        )  # fmt: skip
        try:
            if way.rise is not None:
                self._become_root(way.rise)
            self._send(sent.program())
            self._receive("hello", OPEN_SECONDS)
        except BaseException:
            self.close()
            raise
        self._greeted = len(self._words())

    @property
    def is_open(self) -> bool:
        """The agent has not ended."""
        return self._process.poll() is None

    def ask(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the answer of the agent.

        :raises HostError: in the agent's words, or saying that the host does not answer
        """
        self._send(sent.request(verb, dict(arguments), bound=True))
        message = self._receive("answer")
        return dict(message["answer"])

    def close(self) -> None:
        """Lets go of the agent."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._complaints.close()

    def _become_root(self, rise: Rise) -> None:
        """Types the password where one is asked for, and waits until the command runs as root."""
        until, answered, said = time.monotonic() + OPEN_SECONDS, False, b""
        while not rise.succeeded(said):
            if select.select([self._output], [], [], LOOK_SECONDS)[0]:
                fresh = os.read(self._output, 65536)
                if not fresh:
                    raise HostError(self._why_gone())
                said += fresh
            seen = said + b"\n" + self._words()
            if rise.refused(seen):
                raise HostError("it does not take the password for becoming root; see ansible_become_password")
            if rise.password is not None and not answered and rise.prompts(seen):
                self._send(rise.password.encode() + b"\n")
                answered = True
            if time.monotonic() > until:
                raise HostError(f"nobody could become root within {OPEN_SECONDS:.0f} s: {self._last_words()}")

    @property
    def _output(self) -> int:
        return self._process.stdout.fileno() if self._process.stdout else -1

    def _send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._process.stdin.fileno() if self._process.stdin else -1, data) :]
        except OSError:
            raise HostError(self._why_gone()) from None

    def _receive(self, kind: str, seconds: float | None = None) -> dict[str, Any]:
        """Returns the next message; what the host's login prints is none.

        :param seconds: after which there will be none
        :raises HostError: in the agent's words if it failed, or saying that it has ended
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
                raise HostError(f"the host does not answer: no agent has begun within {seconds:.0f} s")
            if select.select([self._output], [], [], SIGN_SECONDS)[0]:
                self._read()
            elif until is None:
                self._send(b"\n")

    def _read(self) -> None:
        fresh = os.read(self._output, 1 << 20)
        if not fresh:
            raise HostError(self._why_gone())
        *whole, rest = fresh.split(b"\n")
        if whole:
            self._lines += [b"".join([*self._parts, whole[0]]), *whole[1:]]
            self._parts = []
        self._parts.append(rest)

    def _words(self) -> bytes:
        # Its position is that of the process, too.
        return os.pread(self._complaints.fileno(), 1 << 20, self._greeted)

    def _last_words(self) -> str:
        lines = [line for line in self._words().decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""

    def _why_gone(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_SECONDS)
        words = self._last_words() or f"its connection ended with exit code {self._process.returncode}"
        return f"the host does not answer: {words}"
