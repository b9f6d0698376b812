"""The inventory's commands that switch a host off and on, on the controller (docs/faults.md).

A program of its own runs both, so that the host is switched on however the controller's other processes end:

  power.py OFF ON   two lists of words in JSON: runs OFF, waits for the end of its input, and runs ON; of each a line of
                    JSON says why it failed, or null
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

# For the last command to end.
LAST_SECONDS = 120.0


@dataclass(frozen=True)
class Commands:
    """Words of what switches a host off, and on."""

    off: Sequence[str]
    on: Sequence[str]


class Switch:
    """Power of one host. It is on in the end, whatever happens."""

    def __init__(self, commands: Commands, clock: Callable[[], float]) -> None:
        self._words = [sys.executable, __file__, json.dumps(commands.off), json.dumps(commands.on)]
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._began: list[float] = []  # when off and on were asked for
        self._said: list[str | None] = []  # how they ended

    def turn(self, on: bool) -> None:
        """Switches it off, and later on again: after the former has ended."""
        if on and self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        elif not on:
            # A session of its own: neither Ctrl-C nor the end of Ansible is its end.
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            os.set_blocking(self._output, False)
            self._began, self._said = [], []
        self._began.append(self._clock())

    def ended(self) -> Iterator[tuple[bool, float, float, str | None]]:
        """What has ended since the last call: on or off, when it began and ended, and why it failed."""
        if self._process is None:
            return
        with suppress(BlockingIOError):
            for line in os.read(self._output, 65536).splitlines():
                self._said.append(json.loads(line))
                yield len(self._said) > 1, self._began[len(self._said) - 1], self._clock(), self._said[-1]

    def restore(self) -> str | None:
        """Waits until it is switched on, if it is off; returns why that failed."""
        if self._process is None or self._process.stdin is None:
            return None
        self._process.stdin.close()
        try:
            self._process.wait(LAST_SECONDS)
        except subprocess.TimeoutExpired:
            return f"dohyo_power_on has not ended within {LAST_SECONDS:.0f} s"
        with suppress(BlockingIOError):
            self._said += map(json.loads, os.read(self._output, 65536).splitlines())
        return self._said[-1] if len(self._said) > 1 else "what switches it off and on has ended"

    @property
    def _output(self) -> int:
        return self._process.stdout.fileno() if self._process is not None and self._process.stdout is not None else -1


def main(off: str, on: str) -> None:
    """Runs both commands, and says how they ended, as long as somebody listens."""
    for verb, words in (("off", off), ("on", on)):
        if verb == "on":
            sys.stdin.read()
        failure = run(f"dohyo_power_{verb}", json.loads(words))
        with suppress(OSError):
            os.write(sys.stdout.fileno(), json.dumps(failure).encode() + b"\n")


def run(name: str, words: Sequence[str]) -> str | None:
    """Runs a command; returns why it failed, with the last line that it has said."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    except OSError as error:
        return f"{name}: {words[0]}: {error.strerror}"
    if done.returncode == 0:
        return None
    lines = done.stdout.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it has said nothing")
    return f"{name} ended with exit code {done.returncode}: {last}"


if __name__ == "__main__":
    main(*sys.argv[1:])
