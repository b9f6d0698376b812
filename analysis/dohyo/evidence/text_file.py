"""Reading text that other programs wrote: plain or gzip, possibly cut off, possibly not text at all."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

# Takes one message, `file:line: what`, for the person who asked for the files to be read.
Warn = Callable[[str], None]

_GZIP_MAGIC = b"\x1f\x8b"
# Longer "lines" are not text; they are read in pieces so that memory stays bounded.
_LINE_LIMIT = 4 * 1024 * 1024
_BLOCK = 64 * 1024
_MESSAGES_PER_FILE = 20


def lines(path: Path, warn: Warn) -> Iterator[tuple[int, str]]:
    """Line numbers (from 1) and lines with their line ends; only the last line of a file may have none.

    Whatever cannot be read ends the iteration with one message through `warn`; nothing is raised.
    """
    for first, block in blocks(path, warn):
        for number, line in enumerate(BytesIO(block), first):
            yield number, line.decode("utf-8", "replace")


def blocks(path: Path, warn: Warn) -> Iterator[tuple[int, bytes]]:
    """The same file in blocks of whole lines, each with the number of its first line: for logs of gigabytes."""
    number = 1
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            file = gzip.GzipFile(fileobj=raw) if compressed else raw
            rest = b""
            while data := file.read1(_BLOCK):
                rest += data
                end = rest.rfind(b"\n") + 1
                if not end and len(rest) >= _LINE_LIMIT:
                    end = len(rest)
                if end:
                    yield number, rest[:end]
                    number += max(1, rest.count(b"\n", 0, end))
                    rest = rest[end:]
            if rest:
                yield number, rest
    except EOFError:
        warn(f"{path}:{number}: the gzip stream is cut off")
    except (gzip.BadGzipFile, zlib.error) as error:
        warn(f"{path}:{number}: the gzip stream is damaged: {error}")
    except OSError as error:
        warn(f"{path}:{number}: cannot be read: {error.strerror or error}")


def limited(path: Path, warn: Warn) -> Warn:
    """Passes on the first messages about a file and says that there were more: a wrong file is wrong in every line."""
    count = 0

    def pass_on(message: str) -> None:
        nonlocal count
        count += 1
        if count <= _MESSAGES_PER_FILE:
            warn(message)
        elif count == _MESSAGES_PER_FILE + 1:
            warn(f"{path}: more of the same is not shown")

    return pass_on


def is_binary(path: Path) -> bool:
    """True when the first 4 KiB (unpacked) contain a NUL byte, which no log of YCSB has; False when unreadable."""
    for _, line in lines(path, lambda _: None):
        return "\0" in line[:4096]
    return False
