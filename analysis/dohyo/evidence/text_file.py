"""Reads text files that other programs wrote: plain or compressed, UTF-8 or UTF-16, possibly cut off or binary."""

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

Warn = Callable[[str], None]  # function that receives a warning for the user, in the form `file:line: what`

_PACKED = (
    (b"\x1f\x8b", "gzip", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", "bz2", bz2.BZ2File),
    (b"\xfd7zXZ\0", "xz", lzma.LZMAFile),
)
_ENCODINGS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Control characters that do not occur in text: all except whitespace, NUL, bell, backspace and escape.
_CONTROL = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f]")
_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257
# Maximum length of a line in bytes. A longer line is not text; it is read in pieces, to limit memory use.
_LINE_LIMIT = 32 * 1024 * 1024
_BLOCK = 64 * 1024
_MESSAGES_PER_FILE = 20


def lines(path: Path, warn: Warn) -> Iterator[tuple[int, str]]:
    """Yields each line with its number, from 1. Only the last line of a file may lack a newline.

    :param warn: receives a message if the file cannot be read any further; the iteration then ends without an error
    """
    for first, block in blocks(path, warn):
        for number, line in enumerate(BytesIO(block), first):
            yield number, line.decode("utf-8", "replace")


def blocks(path: Path, warn: Warn) -> Iterator[tuple[int, bytes]]:
    """Yields blocks of whole lines in UTF-8, each with the number of its first line. This is faster than `lines`.

    A byte order mark determines the encoding of the file; the default is UTF-8.
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
    """Returns a function that passes on only the first messages about a file, because every line may cause one."""
    count = 0

    def pass_on(message: str) -> None:
        nonlocal count
        count += 1
        if count <= _MESSAGES_PER_FILE:
            warn(message)
        elif count == _MESSAGES_PER_FILE + 1:
            warn(f"{path}: more warnings about this file are not shown")

    return pass_on


def is_binary(path: Path) -> bool:
    """Returns whether the first 4 KiB (uncompressed) contain non-text bytes. Returns False for unreadable files.

    NULs do not count: a log that was truncated while a client wrote to it begins with a hole of NULs.
    """
    for _, block in blocks(path, lambda _: None):
        if block.startswith(_TAR_MAGIC, _TAR_MAGIC_AT):
            return True
        if text := block.translate(None, b"\0"):
            return _CONTROL.search(text, 0, 4096) is not None
    return False


def _without_mark(data: bytes) -> tuple[bytes, Callable[[bytes], bytes]]:
    """Removes a byte order mark from a file's first bytes. Returns the rest, and a function that converts to UTF-8."""
    for mark, encoding in _ENCODINGS:
        if data.startswith(mark):
            decode = codecs.getincrementaldecoder(encoding)("replace").decode
            return data[len(mark) :], lambda part, decode=decode: decode(part).encode()
    return data, bytes
