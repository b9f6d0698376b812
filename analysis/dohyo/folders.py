"""Folders that are passed around, such as an experiment's: nothing in them leads reading or writing out of them."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from dohyo.bad_input import BadInputError

# What moves a terminal's cursor, begins an escape sequence or turns the direction of writing; halves of characters.
CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_IN_A_NAME = re.compile(f"[\t\n]|{CONTROL.pattern}")
_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}


def check(top: Path, *, hidden: bool = True) -> None:
    """Refuses a folder that holds anything but folders and regular files. It may itself be named through links.

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
            if _IN_A_NAME.search(entry.name):
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
        return []  # whoever reads it says why it cannot be read


def _kind(path: Path) -> str:
    return _KINDS.get(stat.S_IFMT(path.lstat().st_mode), "a special file")


def write(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Writes a file, all of it or nothing. A link at its place is replaced, never written through.

    :param content: text is written as UTF-8; parts of it may come one after the other
    """
    # A name of its own, at which nobody has planted anything.
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with new.open("xb") as file:
        try:
            if isinstance(content, bytes):
                file.write(content)
            else:
                # JSON may hold halves of characters, which no encoding has.
                file.writelines(part.encode("utf-8", "replace") for part in _parts(content))
        except BaseException:
            new.unlink()
            raise
    new.replace(path)


def _parts(content: str | Iterable[str]) -> Iterable[str]:
    return [content] if isinstance(content, str) else content
