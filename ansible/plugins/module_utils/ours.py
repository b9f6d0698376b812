"""Folders of ours on a host: they carry our mark. Everything that Python removes on a host is removed here.

A name proves nothing: a site's own database may lie in a folder that is called like ours. So a folder that deploy.yml
or a trial makes, or takes over empty, gets a file ``.dohyo`` that says whose it is. A folder that is not empty and has
none, or that of another deployment, is never written to and never removed. Symbolic links below the folder that the
user has named are never followed, and no mount is ever crossed.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Collection
from typing import Any

MARK = ".dohyo"
# How a playbook is called in the folder ansible/ of a checkout.
PLAYBOOK = "../.venv/bin/ansible-playbook"
# How the id of a deployment looks: a checkout's own, made at its first deploy.
DEPLOYMENT = "[0-9a-f]{12}"
# A mark or a note has a few hundred bytes; anything larger is not one.
_LONGEST = 64 * 1024
_SHOWN_ENTRIES = 4
# By what people know the data folders of databases: name of an entry, and whose it is.
_TELLTALES = [
    ("ibdata1", "MySQL or MariaDB"), ("aria_log_control", "MariaDB"), ("*.ibd", "MySQL or MariaDB"),
    ("PG_VERSION", "PostgreSQL"), ("commitlog", "Cassandra"), ("hbase.version", "HBase"),
    ("zookeeper", "ZooKeeper"), ("WiredTiger", "MongoDB"),
    ("*.rdb", "Redis"), ("lost+found", "a file system of its own"),
]  # fmt: skip


class NotOursError(Exception):
    """Something is not ours; the text names it, what it seems to be, and the way out."""


def read_object(path: str) -> dict[str, Any]:
    """The JSON object in a small file that anybody may have put there; empty for a link, a pipe, or anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return {}
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return {}
    with os.fdopen(handle, "rb") as file:
        try:
            found = json.loads(file.read(_LONGEST))
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


def new_mark(deployment: str, controller: dict[str, Any]) -> dict[str, Any]:
    """A mark of this moment; the controller as the lookup of that name says it."""
    who = {key: controller.get(key, "") for key in ("controller", "checkout", "user", "machine_id")}
    return {"deployment": deployment, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **who}


def existing(path: str) -> str:
    """This path, or the nearest folder above it that exists."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def free_mb(path: str) -> int:
    """Free space in MiB of the file system of this path, which need not exist."""
    return shutil.disk_usage(existing(path)).free // 2**20


def read_mark(folder: str) -> dict[str, Any]:
    """The mark of a folder; empty without one, and where what is called so is no mark."""
    mark = read_object(os.path.join(folder, MARK))
    return mark if re.fullmatch(DEPLOYMENT, str(mark.get("deployment"))) else {}


def whose(mark: dict[str, Any]) -> str:
    """Who has made something that carries a mark, in words."""
    place = ":".join(str(mark[key]) for key in ("controller", "checkout") if mark.get(key))
    return f"deployment {mark['deployment']}" + (f" ({place}, {mark.get('at', '')})" if place else "")


def contents(folder: str) -> str:
    """What seems to be in a folder, in words."""
    names = sorted(os.listdir(folder))
    inner = [f"{name}/{below}" for name in names[:50] for below in _names(os.path.join(folder, name))[:50]]
    for pattern, what in _TELLTALES:
        if any(fnmatch.fnmatchcase(name.rpartition("/")[2], pattern) for name in names + inner):
            return f"{_listed(names)}; it looks like {what}"
    return _listed(names)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_ENTRIES} more" if len(names) > _SHOWN_ENTRIES else ""
    return ", ".join(map(shown, names[:_SHOWN_ENTRIES])) + more


def shown(name: str) -> str:
    """A name without what would drive a terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in printable(name))


def printable(name: str) -> str:
    """A name whose bytes are no UTF-8, with these escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder)) if not os.path.islink(folder) else []
    except OSError:
        return []


def path_of(base: str, below: str = "") -> str:
    """The folder ``below`` a base that the user has named, which may itself be reached through a link.

    Raises NotOursError for names that would lead elsewhere, and for a link on the way.
    """
    if not os.path.isabs(base) or "\0" in base + below:
        raise NotOursError(f"the folder {base!r} has no absolute path; name one that begins with /")
    # Ansible's own modules would take it for another one.
    if re.search(r"\$[A-Za-z_{]", base):
        raise NotOursError(
            f"the folder {base!r} has a variable in its path, which Ansible may expand; name one without"
        )
    path = os.path.realpath(base)
    if path == "/" and not below:
        raise NotOursError("the folder / holds the whole system; name a folder of its own")
    for name in below.split("/") if below else []:
        if name in ("", ".", ".."):
            raise NotOursError(f"{below!r} leads out of {base}; name a folder below it")
        path = os.path.join(path, name)
        if os.path.islink(path):
            raise NotOursError(
                f"{path} is a symbolic link to {shown(os.readlink(path))}, and links are not followed; remove the link"
            )
    return path


def why_not(folder: str, deployment: str, beside: Collection[str] = ()) -> str:
    """Why a folder must not be touched; empty where it is ours, empty, or not there.

    An empty ``deployment`` means any; entries in ``beside`` may be there before there is a mark.
    """
    if not os.path.lexists(folder):
        return ""
    if not os.path.isdir(folder):
        return f"{folder} is no folder; remove it, or name another place"
    try:
        mark, entries = read_mark(folder), set(os.listdir(folder)) - set(beside)
    except OSError as error:
        return f"{folder} cannot be read: {error.strerror}; name a folder that this user may read"
    if mark and deployment and mark["deployment"] != deployment:
        return (
            f"{folder} belongs to {whose(mark)}; run destroy.yml there, or name another folder. If that checkout is"
            f" gone: {PLAYBOOK} destroy.yml -e dohyo_deployment={mark['deployment']} with the same inventory"
        )
    if not mark and entries:
        return (
            f"{folder} is not empty and does not carry Dohyo's mark: it contains {contents(folder)};"
            " name another folder, or move that away"
        )
    return ""


def check(folder: str, deployment: str, beside: Collection[str] = ()) -> None:
    """Raise NotOursError where ``why_not`` has a reason."""
    reason = why_not(folder, deployment, beside)
    if reason:
        raise NotOursError(reason)


def claim(
    folder: str, mark: dict[str, Any], deployment: str, beside: Collection[str] = (), *, dry: bool = False
) -> bool:
    """Make the folder, with its parents, or take an empty one over, and mark it; returns whether anything changed.

    Raises like :func:`check`, and OSError if it cannot be made.
    """
    # In this order: a mark that somebody else makes in between is not taken for ours.
    there = read_mark(folder)
    check(folder, deployment, beside)
    # The first folder that is made goes again with the last one; what was there before stays.
    wanted = {**mark, "made": there.get("made", "") if there else _made_with(folder, deployment)}
    if {**wanted, "at": there.get("at")} == there:
        return False
    around = os.path.dirname(folder)
    while around != "/":
        owner = read_mark(around)
        if owner and deployment and owner["deployment"] != deployment:
            raise NotOursError(f"{folder} is in {around}, which belongs to {whose(owner)}; name another folder")
        around = os.path.dirname(around)
    if not dry:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        new = os.path.join(folder, f"{MARK}.{os.getpid()}")
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(wanted, indent=1, sort_keys=True) + "\n")
            if there:
                os.replace(new, os.path.join(folder, MARK))
            else:
                # Fails where somebody else has marked it since.
                os.link(new, os.path.join(folder, MARK))
        except FileExistsError:
            check(folder, deployment)
        finally:
            if os.path.lexists(new):
                os.unlink(new)
    return True


def _made_with(folder: str, deployment: str) -> str:
    """The first folder that is made for it, or was for one of ours beside it: whichever goes last takes it along."""
    around = os.path.dirname(folder)
    for name in _names(around):
        mark = read_mark(os.path.join(around, name))
        made = str(mark.get("made", ""))
        if made and mark["deployment"] == deployment and (around + "/").startswith(made + "/"):
            return made
    return _first_missing(folder)


def _first_missing(folder: str) -> str:
    missing = ""
    while not os.path.lexists(folder):
        missing, folder = folder, os.path.dirname(folder)
    return missing


def remove(folder: str, deployment: str, *, dry: bool = False) -> bool:
    """Remove a folder of ours; returns whether there was anything. A folder that was there before us is emptied.

    Raises NotOursError if it is somebody else's, or something is mounted in it; OSError if that is impossible.
    """
    check(folder, deployment)
    mark = read_mark(folder)
    if not mark:
        return False
    _refuse_mounts(folder, inside=False)
    _refuse_below(folder, str(mark["deployment"]))
    made = str(mark.get("made", ""))
    if not dry:
        names = [name for name in os.listdir(folder) if name != MARK]
        # The mark is removed last, so that after an interruption the rest is still ours.
        for name in [*names, MARK]:
            _delete(os.path.join(folder, name))
        while made and (folder == made or folder.startswith(made + "/")):
            try:
                os.rmdir(folder)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                    break
                raise
            folder = os.path.dirname(folder)
    return True


def remove_inside(owner: str, pattern: str, deployment: str, *, dry: bool = False) -> list[str]:
    """Remove what matches a pattern, such as ``run/mysql-*``, in a folder of ours; returns the paths.

    Only the last part is a pattern. Raises like :func:`remove`, also if the owner carries no mark and is not empty.
    """
    parent, _, last = pattern.rpartition("/")
    if last in ("", ".", ".."):
        raise NotOursError(f"{pattern!r} names nothing in {owner}")
    folder = path_of(owner, parent)
    found = [name for name in _names(folder) if fnmatch.fnmatchcase(name, last) and name != MARK]
    if found:
        check(os.path.realpath(owner), deployment)
    paths = [os.path.join(folder, name) for name in found]
    for path in paths:
        _refuse_mounts(path, inside=True)
        if not dry:
            _delete(path)
    return paths


def remove_path(path: str) -> None:
    """Remove what has this very path, in a folder that carries anybody's mark. Raises like :func:`remove`."""
    if os.path.lexists(path):
        around = path
        while around != "/" and not os.path.islink(around):
            around = os.path.dirname(around)
            if read_mark(around):
                _refuse_mounts(path, inside=True)
                _delete(path)
                return
        raise NotOursError(f"{path} is in no folder that carries Dohyo's mark; remove it yourself if nothing needs it")


def _refuse_below(folder: str, deployment: str) -> None:
    """Refuse a folder with one of another deployment in it, or with data that no trial has made."""
    for place, folders, files in os.walk(folder):
        if MARK in files:
            reason = why_not(place, deployment) or unexpected(place)
            if reason:
                raise NotOursError(reason)
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(place, name))]


def unexpected(folder: str) -> str:
    """Why a folder of ours is not removed all the same: servers that were kept hold what no trial has made.

    The mark says, by a path below, patterns of the folders that a trial makes there, or, of a path that ends with a
    slash, of the files too.
    """
    for below, patterns in dict(read_mark(folder).get("makes") or {}).items():
        place = path_of(folder, below.rstrip("/"))
        for name in sorted(os.listdir(place) if os.path.isdir(place) else []):
            known = any(fnmatch.fnmatchcase(name, str(pattern)) for pattern in patterns)
            if not known and (below.endswith("/") or os.path.isdir(os.path.join(place, name))):
                return (
                    f"{place}/{name} was not made by a trial: somebody has put data into servers that were kept;"
                    f" save it, and remove {folder} yourself"
                )
    return ""


def links_in(folder: str) -> str:
    """Why nothing is written into a folder of ours: what is in it is a link, which would lead elsewhere."""
    links = [name for name in _names(folder) if os.path.islink(os.path.join(folder, name))] if read_mark(folder) else []
    if links:
        return f"{os.path.join(folder, links[0])} is a symbolic link, and links are not followed; remove the link"
    return ""


def _delete(path: str) -> None:
    """Remove a file, a link itself, or a folder with all that is in it."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)  # works on file descriptors: a link that is put in its way is not followed
    else:
        os.unlink(path)


def _refuse_mounts(path: str, *, inside: bool) -> None:
    for place in mounts():
        if place.startswith(path + "/") or (inside and place == path):
            raise NotOursError(f"{place} is a mount point, and what is mounted there is not ours; unmount it first")


def mounts() -> list[str]:
    """Where something is mounted."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        return [decoded(line.split(" ")[4]) for line in lines]


def decoded(field: str) -> str:
    """A path of a file with mounts, in which a space is written as an octal number."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field)
