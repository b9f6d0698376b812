"""Deletes files on the control machine; no other module does. Deletes only files that Dohyo listed in the folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dohyo import folders
from dohyo.bad_input import BadInputError

# File in a folder of Dohyo's that lists the files which Dohyo wrote into the folder.
MARK = ".dohyo-files"


def refuse_foreign(folder: Path) -> None:
    """Checks that Dohyo may write into a folder: it is new, empty, or Dohyo's.

    :raises BadInputError: if it is a link or not a folder, or is not empty and does not have `MARK`
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
    """Creates and marks a new or empty folder as Dohyo's; leaves a folder unchanged that is Dohyo's already.

    :raises BadInputError: as :func:`refuse_foreign`
    """
    refuse_foreign(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_marked(folder):
        note(folder, [])


def note(folder: Path, names: Iterable[str]) -> None:
    """Lists in a folder of Dohyo's the files that Dohyo wrote into it."""
    folders.write(folder / MARK, "".join(f"{name}\n" for name in sorted(names)))


def clear(folder: Path) -> None:
    """Removes the listed files from a folder of Dohyo's; all other files stay."""
    for name in (folder / MARK).read_text("utf-8").splitlines():
        # The list may be forged: remove only files directly in the folder. Unlinking never follows a link.
        if name and "/" not in name and not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)
    note(folder, [])


def remove_empty(folder: Path) -> None:
    """Removes a folder that was just created, if it is still empty."""
    folder.rmdir()


def _is_marked(folder: Path) -> bool:
    mark = folder / MARK
    return mark.is_file() and not mark.is_symlink()
