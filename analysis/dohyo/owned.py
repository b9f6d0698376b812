"""The one place that deletes. It removes only what we have written: a mark in the folder lists it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dohyo import folders
from dohyo.bad_input import BadInputError

# In a folder that we have made: the names of the files that we have written into it.
MARK = ".dohyo-files"


def refuse_foreign(folder: Path) -> None:
    """Refuses to write into a folder that is not empty and not ours; it may also be new.

    :raises BadInputError: if it is a link or no folder, or is not empty and does not carry our mark
    """
    if folder.is_symlink():
        raise BadInputError(f"{folder} is a link; links are not followed: name the folder itself, or remove the link")
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"{folder} is a file; name a new or empty folder, or move the file away")
    if folder.is_dir() and any(folder.iterdir()) and not _is_marked(folder):
        raise BadInputError(
            f"{folder} contains something that dohyo did not write (it has no file {MARK}); name a new or empty"
            " folder, or move that one away"
        )


def claim(folder: Path) -> None:
    """Makes a folder ours that is new or empty; one that is ours stays as it is.

    :raises BadInputError: as :func:`refuse_foreign`
    """
    refuse_foreign(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_marked(folder):
        note(folder, [])


def note(folder: Path, names: Iterable[str]) -> None:
    """Lists in a folder that is ours what we have written into it."""
    folders.write(folder / MARK, "".join(f"{name}\n" for name in sorted(names)))


def clear(folder: Path) -> None:
    """Removes the files that we have written into a folder that is ours; everything else in it stays."""
    for name in (folder / MARK).read_text("utf-8").splitlines():
        # A mark may come from somebody else. Unlinking never follows a link.
        if name and "/" not in name and not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)
    note(folder, [])


def remove_empty(folder: Path) -> None:
    """Removes a folder that we have just made, and only while it is empty."""
    folder.rmdir()


def _is_marked(folder: Path) -> bool:
    mark = folder / MARK
    return mark.is_file() and not mark.is_symlink()
