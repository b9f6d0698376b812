"""Writes and checks the manifest of a trial: the checksums of its evidence files, written when the trial ends.

The format is that of `sha256sum`, so `cd raw/TRIAL && sha256sum -c manifest` also checks the files. The manifest does
not list state.json, which changes later and contains the checksum of the manifest itself.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from dohyo import folders

FILE = "manifest"
_NOT_LISTED = (FILE, "state.json")
_MOST_NAMED = 20  # maximum number of files to list; any others are only counted


def write(trial: Path) -> str:
    """Writes the manifest of a trial's folder, and returns its checksum."""
    # In the format of sha256sum, a backslash at the beginning of a line means that the name is escaped.
    lines = [("\\" if "\\" in name else "") + f"{_checksum(path)}  {name}\n" for name, path in _files(trial).items()]
    content = "".join(lines).encode("utf-8", "surrogateescape")
    folders.write(trial / FILE, content)
    return hashlib.sha256(content).hexdigest()


def problems(trial: Path, checksum: str | None) -> list[str]:
    """Returns what changed since the trial ended, as `path: what`, with paths relative to the trial's folder.

    The list is empty for a trial without a manifest: an earlier version recorded it, or it has not ended.

    :param checksum: checksum of the manifest according to state.json; None if state.json does not contain it
    """
    try:
        content = (trial / FILE).read_bytes()
    except FileNotFoundError:
        return [f"{FILE}: is missing"] if checksum else []
    if checksum and hashlib.sha256(content).hexdigest() != checksum:
        return [f"{FILE}: was changed after the trial"]
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    listed = {name: digest for digest, _, name in (line.removeprefix("\\").partition("  ") for line in lines) if name}
    files = _files(trial)
    wrong = [
        f"{name}: {'was changed after the trial' if name in files else 'is missing'}"
        for name, digest in listed.items()
        if name not in files or _checksum(files[name]) != digest
    ]
    wrong += [f"{name}: was added after the trial" for name in files if name not in listed]
    more = len(wrong) - _MOST_NAMED
    return wrong if more <= 1 else [*wrong[:_MOST_NAMED], f"{more} more files were changed or added, or are missing"]


def is_there(trial: Path) -> bool:
    """Returns whether a trial has a manifest, or False if its folder cannot be read."""
    with suppress(OSError):
        return (trial / FILE).exists()
    return False


def checksum(file: Path) -> str:
    """Returns the SHA-256 of a file, or an empty string if the file is missing."""
    return _checksum(file) if file.is_file() else ""


def _files(trial: Path) -> dict[str, Path]:
    """Returns the files of a trial's evidence in sorted order, by their names as `sha256sum` escapes them."""
    paths = [Path(folder, name) for folder, _, names in os.walk(trial) for name in names]
    by_name = {str(path.relative_to(trial)): path for path in sorted(paths)}
    return {
        name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r"): path
        for name, path in by_name.items()
        if name not in _NOT_LISTED
    }


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
