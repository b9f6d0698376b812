"""Standard output and standard error that last: a reader who goes away, or a full disk, ends no measurement."""

import io
import os
import sys
from typing import Any, TextIO


class _Lasting(io.FileIO):
    """A descriptor that becomes another one when it cannot be written to; nothing is lost on the way.

    :ivar others: descriptors, tried in this order
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
    """Output that standard output cannot take goes to standard error; what that cannot take is dropped.

    Both are open: `terminal.set_up` comes first.
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
