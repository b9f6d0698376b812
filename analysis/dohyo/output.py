"""Keeps a measurement running if standard output or standard error fails, for example on a full disk."""

import io
import os
import sys
from typing import Any, TextIO


class _Lasting(io.FileIO):
    """A file descriptor. If a write fails, the descriptor becomes a copy of another one, and the write is repeated.

    :ivar spares: replacements that have not been used yet, in order
    """

    spares: list[int]

    def write(self, data: Any, /) -> int:
        while True:
            try:
                return super().write(data) or 0
            except OSError:
                if not self.spares:
                    return len(data)
                os.dup2(self.spares.pop(0), self.fileno())


def make_last() -> None:
    """Sends output to standard error if standard output fails, and discards it if standard error fails as well.

    Both must be open: call `terminal.set_up` first.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    sys.stdout = _lasting(sys.stdout, 1, [2, nowhere])
    sys.stderr = _lasting(sys.stderr, 2, [nowhere])


def _lasting(stream: TextIO, descriptor: int, spares: list[int]) -> TextIO:
    if not _writes_to(stream, descriptor):
        return stream  # Python code has replaced the stream, as pytest does
    raw = _Lasting(descriptor, "w", closefd=False)
    raw.spares = spares
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)


def _writes_to(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except OSError:
        return False
