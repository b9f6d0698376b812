"""Checks and writes folders that may be untrusted, such as an experiment's, so that links cannot lead out of them."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dohyo import plain_text
from dohyo.bad_input import BadInputError

_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}


def check(top: Path, *, hidden: bool = True) -> None:
    """Checks that a folder contains only folders and regular files. The path of the folder itself may contain links.

    :param top: the folder; a file must only be a regular one
    :param hidden: whether to check names that begin with a dot, too
    :raises BadInputError: naming the first path that is a link or a special file, or cannot be printed
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
                raise BadInputError(f"{folder}: the name {entry.name!a} in it cannot be printed; rename it")
            if entry.is_symlink():
                raise BadInputError(
                    f"{entry.path} is a link to {Path(entry.path).readlink()}; links are not followed out of a folder"
                    " with evidence: put the file itself there, or remove the link"
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
    """Returns what a special file is, in words."""
    return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a special file")


def write(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes a file completely or not at all. A link with its name is replaced, never followed.

    :param content: text, also in parts, is written as UTF-8
    :raises OSError: with the file's name; an earlier file of this name is then unchanged
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
    """Yields the path of a new file that replaces another one at the end; the other one stays if anything fails.

    :raises OSError: with the other file's name
    """
    # A random name: no link can have been prepared there.
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield new
        new.replace(path)
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
