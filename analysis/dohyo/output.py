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
    """What standard output cannot show goes to standard error, and what that cannot show goes nowhere."""
    # The first ones take the numbers of what was closed when the program began, lest a file of ours gets them.
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    sys.stdout = _lasting(sys.stdout, 1, [2, nowhere])
    sys.stderr = _lasting(sys.stderr, 2, [nowhere])


def _lasting(stream: TextIO | None, descriptor: int, others: list[int]) -> TextIO:
    if stream is not None and not _writes_to(stream, descriptor):
        return stream  # redirected within this process
    raw = _Lasting(descriptor, "w", closefd=False)
    raw.others = others
    # None: it was closed when the program began.
    encoding, errors = (stream.encoding, stream.errors) if stream is not None else ("utf-8", "replace")
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=True)


def _writes_to(stream: TextIO, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor
    except OSError:
        return False
