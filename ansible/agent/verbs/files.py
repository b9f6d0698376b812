"""Creates folders and writes files in one call.

A file that already has the requested content is not written. All other files are replaced atomically.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
import tempfile
from collections.abc import Sequence
from typing import Any

from failure import AgentError
from folder_marks import UNFINISHED, expanded


def answer(
    folders: Sequence[str] = (), folder_mode: str | None = None, folder_owner: str | None = None, folder_group: str | None = None,
    files: Sequence[dict[str, str]] = (), mode: str | None = None, dry: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Creates folders, then writes files.

    :param folders: paths of the folders, which are created in this order; missing parents get the user's default mode
    :param folder_mode: mode of the folders in octal digits, such as ``"0755"``
    :param folder_owner: owner of the folders, a name or a number (as for ``folder_group``)
    :param files: ``path``, ``content`` and optionally ``owner`` (a name or a number) of each file
    :param mode: mode of the files, in octal digits
    :param dry: whether to report the changes without making them
    :returns: ``written`` (the paths of files whose content was different) and ``diff`` (their contents)
    """
    folders_changed = [make_folder(expanded(path), folder_mode, folder_owner, folder_group, dry) for path in folders]
    outcomes = [write_file(**{**file, "path": expanded(file["path"])}, mode=mode, dry=dry) for file in files]
    return {
        "changed": any(folders_changed) or any(changed for changed, _ in outcomes),
        "written": [diff["after_header"] for _, diff in outcomes if diff],
        "diff": [diff for _, diff in outcomes if diff],
    }


def make_folder(path: str, mode: str | None, owner: str | None, group: str | None, dry: bool) -> bool:
    """Creates a folder if it is missing, and sets its mode and owner. Returns whether anything changed."""
    missing = not os.path.isdir(path)
    if missing and dry:
        return True
    os.makedirs(path, exist_ok=True)
    return set_attributes(path, mode, owner, group, dry) or missing


def write_file(path: str, content: str, owner: str | None = None, *, mode: str | None, dry: bool) -> tuple[bool, dict[str, str]]:
    """Writes a file if its content differs. Returns whether anything changed, and the contents before and after."""
    content = str(content)
    before = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            before = file.read()
        if before == content:
            return set_attributes(path, mode, owner, None, dry), {}
    if not dry:
        try:
            replace(path, content, mode, owner)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
    return True, {"before_header": path, "after_header": path, "before": before, "after": content}


def replace(path: str, content: str, mode: str | None, owner: str | None) -> None:
    """Writes a file under another name and renames it. No reader sees an incomplete file, or a secret before its mode is set.

    If mode or owner is not given, that of the replaced file is kept.
    """
    handle, new = tempfile.mkstemp(prefix=UNFINISHED, dir=os.path.dirname(path))
    try:
        with open(handle, "w", encoding="utf-8", newline="") as output:
            output.write(content)
            os.umask(umask := os.umask(0o077))
            bits = 0o666 & ~umask
            with contextlib.suppress(FileNotFoundError):
                status = os.stat(path)
                bits = stat.S_IMODE(status.st_mode)
                # Only root can change the owner.
                with contextlib.suppress(PermissionError):
                    os.chown(handle, status.st_uid, status.st_gid)
            os.chmod(handle, bits if mode is None else number_of(mode))
        set_attributes(new, None, owner, None, dry=False)
        os.replace(new, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def set_attributes(path: str, mode: str | None, owner: str | None, group: str | None, dry: bool) -> bool:
    """Sets the mode, owner and group that are given. Returns whether anything changed."""
    status = os.lstat(path)
    uid = status.st_uid if owner is None else id_of(owner, "user")
    gid = status.st_gid if group is None else id_of(group, "group")
    is_owned = (uid, gid) == (status.st_uid, status.st_gid)
    # Setting the mode of a link would change its target.
    has_mode = mode is None or stat.S_ISLNK(status.st_mode) or stat.S_IMODE(status.st_mode) == number_of(mode)
    if not is_owned and not dry:
        os.chown(path, uid, gid, follow_symlinks=False)
    if not has_mode and not dry:
        os.chmod(path, number_of(mode))
    return not (is_owned and has_mode)


def number_of(mode: str | int) -> int:
    """Returns a mode as a number. Raises AgentError if the mode is not octal."""
    try:
        return int(mode, 8) if isinstance(mode, str) else mode
    except ValueError:
        raise AgentError(f"mode '{mode}': must be octal digits, such as 0644") from None


def id_of(name: str, kind: str) -> int:
    """Returns the id of a user or group that is given by name or id. Raises AgentError if the name does not exist."""
    try:
        return int(name)
    except ValueError:
        pass
    try:
        return pwd.getpwnam(name).pw_uid if kind == "user" else grp.getgrnam(name).gr_gid
    except KeyError:
        raise AgentError(f"there is no {kind} '{name}'") from None
