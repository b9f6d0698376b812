"""Handles signals that ask the program to end."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class Interruption(Exception):  # noqa: N818 - a request, not an error
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class Signals:
    """Records that a signal asked the program to end, so that the program can end at a safe point.

    An exception raised in a signal handler could interrupt any line, such as one that stops servers.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._answer = "interrupted; the servers will be stopped"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Signals that were ignored at the start, as with nohup or in a script's background job, stay ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._receive)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._number is None:
            self._number = number
        # After a SIGHUP the terminal is closed, and writing fails.
        with suppress(OSError):
            os.write(sys.stderr.fileno(), f"\n{self._answer}\n".encode())

    def check(self) -> None:
        """Raises `Interruption` if a signal has arrived."""
        if self._number is not None:
            raise Interruption(self._number)

    @contextmanager
    def held_back(self, answer: str) -> Iterator[None]:
        """Sets the message for signals that arrive in this context, and restores the earlier message at its end."""
        before, self._answer = self._answer, answer
        try:
            yield
        finally:
            self._answer = before
