"""Checks untrusted folders, such as an experiment's, and writes to them without following links out of them."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dohyo import plain_text
from dohyo.bad_input import BadInputError

# Maximum size of a file that is read whole. Statistics of servers, the largest ones, are smaller than 1 MB.
_MOST_BYTES = 64 * 1024 * 1024
_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}


def check(top: Path, *, hidden: bool = True) -> None:
    """Checks that a folder contains only folders and regular files. The path of the folder itself may contain links.

    :param top: the folder, or a regular file
    :param hidden: whether to check files whose names begin with a dot as well
    :raises BadInputError: for the first path that is a link or a special file, or whose name is not printable
    """
    if not top.is_dir():
        if top.exists() and not top.is_file():
            raise BadInputError(f"{top} is {kind(top.resolve())}; name a folder")
        return
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        below = []
        for entry in _entries(folder):
            if not hidden and entry.name.startswith("."):
                continue
            if plain_text.CONTROL.search(entry.name):
                raise BadInputError(f"{folder}: the name {entry.name!a} in it is not printable; rename it")
            if entry.is_symlink():
                raise BadInputError(
                    f"{entry.path} is a link to {Path(entry.path).readlink()}; replace it with the file, or remove it"
                )
            if entry.is_dir(follow_symlinks=False):
                below.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                raise BadInputError(f"{entry.path} is {kind(Path(entry.path))}; remove it")
        waiting += reversed(below)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # the code that reads the folder reports the reason


def kind(path: Path) -> str:
    """Describes a special file, such as "a FIFO"."""
    return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a special file")


def content(path: Path) -> bytes:
    """Reads a file that must fit into the memory.

    :raises ValueError: if it is too large
    """
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it is larger than {_MOST_BYTES:,} bytes")
    return data


def write(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes a file atomically. If the path is a link, the file replaces the link.

    :param content: bytes, a string, or parts of a string; strings are written as UTF-8
    :raises OSError: with the path; an earlier file at the path is then unchanged
    """
    with replacing(path) as new, new.open("xb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            parts = [content] if isinstance(content, str) else content
            # Text from JSON may contain lone surrogates, which cannot be encoded.
            file.writelines(part.encode("utf-8", "replace") for part in parts)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields the path of a new file, which replaces the file at `path` when the context ends without an error.

    :raises OSError: names `path` instead of the new file
    """
    # The name is random, so that an attacker cannot have put a link there.
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield new
        new.replace(path)
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
