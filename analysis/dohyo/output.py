"""Makes standard output and standard error robust: a closed pipe or a full disk must not end a measurement."""

import io
import os
import sys
from typing import Any, TextIO


class _Lasting(io.FileIO):
    """A descriptor that switches to another one if a write fails, and repeats the write there.

    :ivar others: descriptors in the order in which they are tried
    """

    others: list[int]

    def write(self, data: Any, /) -> int:
        while True:
            try:
                return super().write(data) or 0
            except OSError:
                if not self.others:
                    return len(data)
                os.dup2(self.others.pop(0), self.fileno())


def make_last() -> None:
    """Sends output to standard error if standard output fails, and drops it if both fail.

    Requires that both are open: call `terminal.set_up` before.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    sys.stdout = _lasting(sys.stdout, 1, [2, nowhere])
    sys.stderr = _lasting(sys.stderr, 2, [nowhere])


def _lasting(stream: TextIO, descriptor: int, others: list[int]) -> TextIO:
    if not _writes_to(stream, descriptor):
        return stream  # redirected within this process
    raw = _Lasting(descriptor, "w", closefd=False)
    raw.others = others
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)


def _writes_to(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except OSError:
        return False
