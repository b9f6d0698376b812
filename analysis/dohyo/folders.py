"""Folders that are passed around, such as an experiment's: nothing in them leads reading or writing out of them."""

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
    """Refuses a folder that contains anything but folders and regular files. It may itself be named through links.

    :param top: a folder; of anything else only that it can be read
    :param hidden: look at names that begin with a dot, too
    :raises BadInputError: naming the first path below it that is a link or a special file, or cannot be printed
    """
    if not top.is_dir():
        if top.exists() and not top.is_file():
            raise BadInputError(f"{top} is {_kind(top.resolve())}; name a folder")
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
                raise BadInputError(f"{entry.path} is {_kind(Path(entry.path))}; remove it")
        waiting += reversed(below)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # its reader reports why it cannot be read


def _kind(path: Path) -> str:
    return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a special file")


def write(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes a file, all of it or nothing. A link at its place is replaced, never written through.

    :param content: text is written as UTF-8; parts of it may come one after the other
    :raises OSError: with the file's name; the one before is still there
    """
    with replacing(path) as new, new.open("xb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            parts = [content] if isinstance(content, str) else content
            # JSON may contain halves of characters, which no encoding has.
            file.writelines(part.encode("utf-8", "replace") for part in parts)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields the path of a new file that replaces another one in the end; the other one stays if anything fails.

    :raises OSError: with the other file's name
    """
    # A new name, at which nobody can have planted anything.
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield new
        new.replace(path)
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
