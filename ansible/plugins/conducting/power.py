"""Runs the inventory's commands that switch a host off and on, on the controller (docs/faults.md).

Both run in a program of their own, so that the host is switched on however Ansible's processes end. In: a line of JSON,
the words of the two commands. It runs the first, waits for the end of its input, and runs the second, repeatedly if
that fails. Out: for each a line of JSON that says why it failed, or null.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

# Seconds for a command to end, and between two attempts to switch on: a host's controller may be busy.
COMMAND_SECONDS = 120.0
AGAIN_SECONDS = 5.0
# Characters of a command's last line in a message.
MOST_CHARACTERS = 300


@dataclass(frozen=True)
class Commands:
    """Words of the commands that switch a host off and on."""

    off: Sequence[str]
    on: Sequence[str]


class Switch:
    """Power of one host. It is on in the end, even if Ansible is killed."""

    def __init__(self, commands: Commands, clock: Callable[[], float]) -> None:
        self._commands = commands
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._began: list[float] = []  # when off and on were requested
        self._said: list[str | None] = []  # how they ended

    def turn(self, on: bool) -> None:
        """Switches the host off, and on again after the first command has ended."""
        if on and self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        elif not on:
            # In a session of its own, neither Ctrl-C nor the end of Ansible ends it.
            self._process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            # All users of this machine can read the arguments of a process.
            words = json.dumps([self._commands.off, self._commands.on])
            os.write(self._process.stdin.fileno() if self._process.stdin else -1, words.encode() + b"\n")
            os.set_blocking(self._output, False)
            self._began, self._said = [], []
        self._began.append(self._clock())

    def ended(self) -> Iterator[tuple[bool, float, float, str | None]]:
        """Yields, of each command that ended since the last call: whether on, begin, end, and why it failed."""
        if self._process is None:
            return
        with suppress(BlockingIOError):
            for line in os.read(self._output, 65536).splitlines():
                self._said.append(json.loads(line))
                yield len(self._said) > 1, self._began[len(self._said) - 1], self._clock(), self._said[-1]

    def restore(self) -> str | None:
        """Waits until the host is switched on, if it is off; returns why that failed."""
        if self._process is None or self._process.stdin is None:
            return None
        self._process.stdin.close()
        # The time covers the rest of the first command, all attempts of the second, and the last of these.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(3 * COMMAND_SECONDS)
        with suppress(BlockingIOError):
            self._said += map(json.loads, os.read(self._output, 65536).splitlines())
        # If the program was killed, switch on from here.
        return self._said[1] if len(self._said) > 1 else switched_on(self._commands.on)

    @property
    def _output(self) -> int:
        return self._process.stdout.fileno() if self._process is not None and self._process.stdout is not None else -1


def main() -> None:
    """Runs both commands, and prints how they ended if there is still a reader."""
    off, on = json.loads(sys.stdin.readline())
    say(run("dohyo_power_off", off))
    sys.stdin.read()
    say(switched_on(on))


def say(failure: str | None) -> None:
    """Prints a line of the output."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(failure).encode() + b"\n")


def switched_on(words: Sequence[str]) -> str | None:
    """Runs a command until it succeeds, or for a while; returns why its last run failed."""
    until = time.monotonic() + COMMAND_SECONDS
    while (failure := run("dohyo_power_on", words)) is not None and time.monotonic() < until:
        time.sleep(AGAIN_SECONDS)
    return failure


def run(name: str, words: Sequence[str]) -> str | None:
    """Runs a command; returns why it failed, with the last line of its output."""
    # A file, because programs that the command leaves in the background would keep a pipe open.
    with tempfile.TemporaryFile() as output:
        try:
            code = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                timeout=COMMAND_SECONDS,
            ).returncode
        except OSError as error:
            return f"{name}: {words[0]}: {error.strerror}"
        except subprocess.TimeoutExpired:
            return f"{name} has not ended within {COMMAND_SECONDS:.0f} s"
        if code == 0:
            return None
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it has said nothing")
    return f"{name} ended with exit code {code}: {last[-MOST_CHARACTERS:]}"


if __name__ == "__main__":
    main()
