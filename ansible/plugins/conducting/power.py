"""Runs, on the controller, the inventory's commands that switch a host off and on (docs/faults.md).

Both commands run in a separate program, so that the host is switched on no matter how Ansible's processes end. The
program reads both commands from one JSON line, as lists of words. It runs the first, waits for the end of its input,
and runs the second until it succeeds. For each command it writes a JSON line: the reason for its failure, or null.
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

# Maximum seconds for a command, and seconds between attempts to switch on a host. Its controller (BMC) may be busy.
COMMAND_SECONDS = 120.0
AGAIN_SECONDS = 5.0
# Maximum number of characters of a command's output in a message.
MOST_CHARACTERS = 300


class Switch:
    """The power of one host, which is switched on again even if Ansible is killed.

    :param off, on: the commands, each as a list of words
    """

    def __init__(self, off: Sequence[str], on: Sequence[str], clock: Callable[[], float]) -> None:
        self._off, self._on = off, on
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._began: list[float] = []  # times at which off and on were requested
        self._outcomes: list[str | None] = []  # why each command failed, or None

    def turn(self, on: bool) -> None:
        """Switches the host off or on; the command that switches it on waits for the end of the other one."""
        if on and self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        elif not on:
            # Start a new session, so that neither Ctrl-C nor the end of Ansible ends the program.
            self._process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            # Pass the commands as input, because all users of this machine can read the arguments of a process.
            message = json.dumps([self._off, self._on])
            os.write(self._process.stdin.fileno() if self._process.stdin else -1, message.encode() + b"\n")
            os.set_blocking(self._output, False)
            self._began, self._outcomes = [], []
        self._began.append(self._clock())

    def ended(self) -> Iterator[tuple[bool, float, float, str | None]]:
        """Yields, for each command that ended since the last call: whether it was "on", start, end, failure or None."""
        if self._process is None:
            return
        with suppress(BlockingIOError):
            for line in os.read(self._output, 65536).splitlines():
                self._outcomes.append(json.loads(line))
                yield len(self._outcomes) > 1, self._began[len(self._outcomes) - 1], self._clock(), self._outcomes[-1]

    def restore(self) -> str | None:
        """Waits until the host is switched on, if it was off; returns why that failed, or None."""
        if self._process is None or self._process.stdin is None:
            return None
        self._process.stdin.close()
        # Wait for the rest of the first command, the time limit of the second, and its last attempt after that.
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(3 * COMMAND_SECONDS)
        with suppress(BlockingIOError):
            self._outcomes += map(json.loads, os.read(self._output, 65536).splitlines())
        # If the program was killed, switch the host on from this process.
        return self._outcomes[1] if len(self._outcomes) > 1 else switched_on(self._on)

    @property
    def _output(self) -> int:
        return self._process.stdout.fileno() if self._process is not None and self._process.stdout is not None else -1


def main() -> None:
    """Runs both commands and prints their outcomes; does not fail if the reader has ended."""
    off, on = json.loads(sys.stdin.readline())
    say(run("dohyo_power_off", off))
    sys.stdin.read()
    say(switched_on(on))


def say(failure: str | None) -> None:
    """Prints the outcome of a command as a JSON line."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), json.dumps(failure).encode() + b"\n")


def switched_on(command: Sequence[str]) -> str | None:
    """Runs a command repeatedly, for a limited time, until it succeeds; returns why its last run failed, or None."""
    until = time.monotonic() + COMMAND_SECONDS
    while (failure := run("dohyo_power_on", command)) is not None and time.monotonic() < until:
        time.sleep(AGAIN_SECONDS)
    return failure


def run(name: str, command: Sequence[str]) -> str | None:
    """Runs a command; returns None, or the reason why it failed, with the last line of its output."""
    # Write the output to a file, because programs that the command leaves in the background would keep a pipe open.
    with tempfile.TemporaryFile() as output:
        try:
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False, timeout=COMMAND_SECONDS
            ).returncode
        except OSError as error:
            return f"{name}: {command[0]}: {error.strerror}"
        except subprocess.TimeoutExpired:
            return f"{name} did not end within {COMMAND_SECONDS:.0f} s"
        if code == 0:
            return None
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "without output")
    return f"{name} ended with exit code {code}: {last[-MOST_CHARACTERS:]}"


if __name__ == "__main__":
    main()
