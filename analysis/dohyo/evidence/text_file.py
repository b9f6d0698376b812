"""Reads text that other programs wrote: plain or compressed, UTF-8 or UTF-16, possibly cut off or binary."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

# Receives a message for the user, `file:line: what`.
Warn = Callable[[str], None]

_PACKED = (
    (b"\x1f\x8b", "gzip", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", "bz2", bz2.BZ2File),
    (b"\xfd7zXZ\0", "xz", lzma.LZMAFile),
)
_ENCODINGS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Control characters except white space, NUL and those that terminals use.
_CONTROL = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f]")
_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257
# Longer "lines" are not text. They are read in pieces, so that memory is bounded.
_LINE_LIMIT = 32 * 1024 * 1024
_BLOCK = 64 * 1024
_MESSAGES_PER_FILE = 20


def lines(path: Path, warn: Warn) -> Iterator[tuple[int, str]]:
    """Yields line numbers (from 1) and lines with their line ends; only the last line of a file may have no line end.

    If the file cannot be read further, one message is passed to `warn` and the iteration ends; no error is raised.
    """
    for first, block in blocks(path, warn):
        for number, line in enumerate(BytesIO(block), first):
            yield number, line.decode("utf-8", "replace")


def blocks(path: Path, warn: Warn) -> Iterator[tuple[int, bytes]]:
    """Yields blocks of whole lines, each with the number of its first line: for logs of gigabytes.

    A byte order mark says how the file is encoded; the blocks are UTF-8.
    """
    number = 1
    packed = ""
    try:
        with path.open("rb") as raw:
            begin = raw.read(6)
            raw.seek(0)
            file: Any = raw
            for magic, packed_as, opened in _PACKED:
                if begin.startswith(magic):
                    packed, file = packed_as, opened(raw)
            rest = bytearray()
            decoded: Callable[[bytes], bytes] | None = None
            while data := file.read1(_BLOCK):
                if decoded is None:
                    data, decoded = _without_mark(data)
                part = decoded(data)
                rest += part
                end = len(rest) - len(part) + part.rfind(b"\n") + 1 if b"\n" in part else 0
                if not end and len(rest) >= _LINE_LIMIT:
                    end = len(rest)
                if end:
                    yield number, bytes(rest[:end])
                    number += max(1, rest.count(b"\n", 0, end))
                    del rest[:end]
            if rest:
                yield number, bytes(rest)
    except EOFError:
        warn(f"{path}:{number}: the {packed} stream is cut off")
    except (OSError, zlib.error, lzma.LZMAError) as error:
        if packed and not getattr(error, "errno", None):
            warn(f"{path}:{number}: the {packed} stream is damaged: {error}")
        else:
            warn(f"{path}:{number}: cannot be read: {getattr(error, 'strerror', None) or error}")


def limited(path: Path, warn: Warn) -> Warn:
    """Returns a `Warn` that passes on only the first messages about a file: a wrong file is wrong in every line."""
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
    """Returns whether the first 4 KiB (uncompressed) have bytes that no text has; False if the file is unreadable.

    NULs do not count: a log that was emptied while a client wrote to it begins with a hole of them.
    """
    for _, block in blocks(path, lambda _: None):
        if block.startswith(_TAR_MAGIC, _TAR_MAGIC_AT):
            return True
        if text := block.translate(None, b"\0"):
            return _CONTROL.search(text, 0, 4096) is not None
    return False


def _without_mark(data: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """Removes a byte order mark from a file's first bytes; returns the rest, and a converter to UTF-8."""
    for mark, encoding in _ENCODINGS:
        if data.startswith(mark):
            decode = codecs.getincrementaldecoder(encoding)("replace").decode
            return data[len(mark) :], lambda part, decode=decode: decode(part).encode()
    return data, bytes
