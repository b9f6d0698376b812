"""Marks folders on the control machine as Dohyo's, lists the files that Dohyo wrote there, and deletes only these."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dohyo import folders
from dohyo.bad_input import BadInputError

# File that marks a folder as Dohyo's, and lists the files that Dohyo wrote into it.
MARK = ".dohyo-files"
_MOST_BYTES = 1024 * 1024  # Dohyo's own lists are smaller


def refuse_foreign(folder: Path) -> None:
    """Checks that Dohyo may write into a folder: the folder is new or empty, or it contains `MARK`.

    :raises BadInputError: if Dohyo may not write into it, or if the path is a link or a file
    """
    if folder.is_symlink():
        raise BadInputError(f"{folder} is a link; links are not followed: name the folder itself, or remove the link")
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"{folder} is a file; name a new or empty folder, or move the file away")
    if folder.is_dir() and any(folder.iterdir()) and not _is_marked(folder):
        raise BadInputError(
            f"{folder} has files that dohyo did not write ({MARK} is missing); name a new or empty folder"
        )


def claim(folder: Path) -> None:
    """Creates a folder if necessary, and marks it as Dohyo's unless it is already marked.

    :raises BadInputError: in the same cases as :func:`refuse_foreign`
    """
    refuse_foreign(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_marked(folder):
        note(folder, [])


def note(folder: Path, names: Iterable[str]) -> None:
    """Replaces the list of the files that Dohyo wrote into a folder."""
    folders.write(folder / MARK, "".join(f"{name}\n" for name in sorted(names)))


def clear(folder: Path) -> None:
    """Removes from a folder the files that are named in its list, and no others."""
    names = (folder / MARK).read_text("utf-8", "replace").splitlines()
    # The list may be forged, so remove only files directly in the folder. Unlinking never follows a link.
    for path in [path for path in folder.iterdir() if path.name in names and not path.is_dir()]:
        path.unlink(missing_ok=True)
    note(folder, [])


def remove_empty(folder: Path) -> None:
    """Removes an empty folder. Raises OSError if it is not empty."""
    folder.rmdir()


def _is_marked(folder: Path) -> bool:
    mark = folder / MARK
    return mark.is_file() and not mark.is_symlink() and mark.stat().st_size <= _MOST_BYTES
