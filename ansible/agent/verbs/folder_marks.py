"""Marks and recognises Dohyo's folders on a host. All Python code that removes files on a host uses this module.

A folder's name is not enough, because a site's own database may use the same name. Therefore, deploy.yml and trials mark each
folder that they create or take over empty. The mark is the file ``.dohyo``, which names the deployment. A folder that is not empty
and has no mark, or the mark of another deployment, is never written to and never removed. Symbolic links below the user's folder
are never followed, and mount points are never crossed.

MADE lists the files that Dohyo creates in marked folders. A folder that contains other files, at any depth, is kept.
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
# Name of a mark until it is complete: the pid of its writer follows.
_UNFINISHED_MARK = re.compile(re.escape(MARK) + r"\.\d+")
# Command that runs a playbook from a checkout's folder ansible/, for messages.
PLAYBOOK = "../.venv/bin/ansible-playbook"
# Pattern of a deployment's id, which the first deployment from a checkout creates.
DEPLOYMENT = "[0-9a-f]{12}"
# Maximum size of a mark or a note in bytes. Usual sizes are a few hundred bytes.
_LONGEST = 64 * 1024
# Prefix of a file's name until the file is complete. If the agent is killed while it writes, the file remains.
UNFINISHED = ".dohyo-new."
# Name of the manifest in a folder of copied files. It contains a line of `sha256sum` for each file.
MANIFEST = ".sha256"
# Paths that Dohyo creates in a marked folder, for each kind of folder. Parts of a path may be patterns. ROLE stands for each system
# that the mark names; _STANDS_FOR lists the other words in capitals. A path that ends with `/` is an empty folder. With `/**`, it is a
# folder with any files of Dohyo's programs; with `/=`, a folder whose MANIFEST lists Dohyo's files. The folders above these paths are
# also Dohyo's. All other files are foreign and are kept with their folders. The last three files of bin/ are from older versions.
MADE = {
    "home": """
        trial-under-way  trial-under-way.ROLE  aerospike-devices  .dohyo-canary  data/.dohyo-canary  data/dohyo/
        bin/agent  bin/modules/*.py  bin/fault  bin/host-metrics  bin/service
        archives/DIGEST.lock  archives/DIGEST.new  archives/DIGEST.sha256  archives/DIGEST.zip
        packages/ROLE/DIGEST/ARCHIVE  packages/ROLE/vendor/ARCHIVE  tls/*/ca.key  tls/*/*.pem
        bundle/ROLE/=  bundle/ROLE.dohyo-*/**  bundle/client/=  bundle/client.dohyo-*/**
        install/maven.log  install/jdk/[0-9]/=  install/jdk/[0-9][0-9]/=  install/jdk/[0-9]*.dohyo-*/**
        install/hbase-native/*/.sha256  install/hbase-native/*/jar.dohyo-*/**  install/hbase-native/*/*/libhadoop.so
        install/hbase-native/*.dohyo-*/**
        install/ROLE/*/lib/=  install/ROLE/*/lib.dohyo-*/**  install/ROLE/*/server/=  install/ROLE/*/server.dohyo-*/**
        install/ROLE/*/pom.xml  install/ROLE/*/resolved-*  install/ROLE/*/target/**  install/ROLE/*/jar.dohyo-*/**
        install/ROLE/*/${project.basedir}/**
        install/aerospike/*/asd  install/aerospike/*/package  install/aerospike/*/unpacked.dohyo-*/**
        install/scylla/server/**  install/scylla/unpacked/**  install/scylla/scylla.yaml  install/scylla/SHA256
        attached/ROLE/connection.properties  attached/ROLE/made  attached/ROLE/remove
        run/secret  run/slice  run/ROLE.properties  run/ROLE-*.properties  run/ROLE/**  run/client/**  run/client-*/**
        run/hbase-kdc/**  run/hbase-zookeeper/**  run/hbase-namenode/**  run/hbase-datanode/**  run/hbase-master/**
        run/hbase-regionserver/**  run/hbase-regionserver[0-9]/**  run/hbase-regionserver[0-9][0-9]/**
        run/agent/**  run/agent.ROLE/**  run/host-metrics/**  run/host-metrics.ROLE/**  run/fault-*/**
        client/hosts/*/host-metrics.log  client/hosts/*/host-metrics.log.COUNT
        client/hosts/*/metrics.jsonl.gz  client/hosts/*/metrics.jsonl.gz.COUNT
        client/load/*/**  client/load-server/*/**  client/*-COUNT/*/**
        client/ROLE/hosts/*/host-metrics.log  client/ROLE/hosts/*/metrics.jsonl.gz
        client/ROLE/load/*/**  client/ROLE/*-COUNT/*/**
        secret/tls/ca.pem  secret/tls/host.pem  secret/client-*.properties  secret/ROLE/**
    """,
    "data": "**",
    "kept": "ROLE-*.json  ROLE-*/**",
    "settings": "settings.json  time-services",
    "inventory": "hosts.yml  known_hosts.txt  group_vars/all.yml  group_vars/database.yml",
    "evidence": """
        trial.json  state.json  ansible.log  events.jsonl  canary.json  conditions.json  settled.json  kept.json
        counted.json  load/**  load-server/**  server/**  hosts/**  *-COUNT/**
    """,
}
# Patterns that the words in capitals in MADE stand for.
_STANDS_FOR = {
    # Archives with other names, such as a user's own build, are not copied to these folders.
    "ARCHIVE": ("*.tgz", "*.tar.*", "*.deb", "*.rpm", "tmp????????"),
    "DIGEST": ("[0-9a-f]" * 16,),
    "SHA256": ("[0-9a-f]" * 64,),
    # Numbers of runs and probes, from 0 to 999.
    "COUNT": ("[0-9]", "[0-9][0-9]", "[0-9][0-9][0-9]"),
}
_SHOWN_ENTRIES = 4
# Typical names in data folders, each with the program that uses it.
_TELLTALES = [
    ("ibdata1", "MySQL or MariaDB"), ("aria_log_control", "MariaDB"), ("*.ibd", "MySQL or MariaDB"),
    ("PG_VERSION", "PostgreSQL"), ("commitlog", "Cassandra"), ("hbase.version", "HBase"),
    ("zookeeper", "ZooKeeper"), ("WiredTiger", "MongoDB"),
    ("*.rdb", "Redis"), ("lost+found", "a separate file system"),
]  # fmt: skip


class NotOursError(Exception):
    """Raised for a path that is not Dohyo's. The text states the path, its likely content, and what to do."""


def read_object(path: str) -> dict[str, Any]:
    """Returns the JSON object in a small file that any user may have written; {} for links, pipes and other content."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return {}
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return {}
    with os.fdopen(handle, "rb") as file:
        try:
            content = json.loads(file.read(_LONGEST))
        except (ValueError, RecursionError):
            return {}
    return content if isinstance(content, dict) else {}


def new_mark(deployment: str, controller: dict[str, Any]) -> dict[str, Any]:
    """Returns a mark with the current time. `controller` is the result of the lookup of the same name."""
    origin = {key: controller.get(key, "") for key in ("controller", "checkout", "user", "machine_id")}
    systems = list(controller.get("systems") or [])
    return {"deployment": deployment, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "systems": systems, **origin}


def existing(path: str) -> str:
    """Returns the path itself if it exists, otherwise the nearest existing folder above it."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def expanded(path: str) -> str:
    """Returns a path with ~ and environment variables expanded."""
    return os.path.expanduser(os.path.expandvars(path))


def free_mb(path: str) -> int:
    """Returns the free space in MiB on the file system that contains a path. The path need not exist."""
    return shutil.disk_usage(existing(path)).free // 2**20


def read_mark(folder: str) -> dict[str, Any]:
    """Returns the mark of a folder. It is empty if the file is missing or is not a mark."""
    mark = read_object(os.path.join(folder, MARK))
    return mark if re.fullmatch(DEPLOYMENT, str(mark.get("deployment"))) else {}


def whose(mark: dict[str, Any]) -> str:
    """Returns a phrase that names the deployment of a mark."""
    origin = ":".join(str(mark[key]) for key in ("controller", "checkout") if mark.get(key))
    return f"deployment {mark['deployment']}" + (f" ({origin}, {mark.get('at', '')})" if origin else "")


def contents(folder: str) -> str:
    """Returns a phrase that describes what a folder probably contains."""
    names = sorted(os.listdir(folder))
    inner = [f"{name}/{below}" for name in names[:50] for below in _names(os.path.join(folder, name))[:50]]
    for pattern, description in _TELLTALES:
        if any(fnmatch.fnmatchcase(name.rpartition("/")[2], pattern) for name in names + inner):
            return f"{_listed(names)}; it looks like {description}"
    return _listed(names)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_ENTRIES} more" if len(names) > _SHOWN_ENTRIES else ""
    return ", ".join(map(shown, names[:_SHOWN_ENTRIES])) + more


def shown(name: str) -> str:
    """Returns a name without control characters, for terminals."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode() for character in printable(name))


def printable(name: str) -> str:
    """Returns a name in which bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder)) if not os.path.islink(folder) else []
    except OSError:
        return []


def path_of(base: str, below: str = "") -> str:
    """Returns the path of the folder ``below`` in the user's folder ``base``. The path of ``base`` may contain links.

    Raises NotOursError if the path leads out of ``base`` or contains a link below it.
    """
    if not os.path.isabs(base) or "\0" in base + below:
        raise NotOursError(f"the folder {base!r} does not have an absolute path; name one that begins with /")
    # Ansible's modules would expand the variable and use another folder.
    if re.search(r"\$[A-Za-z_{]", base):
        raise NotOursError(f"the folder {base!r} has a variable in its path, which Ansible may expand; replace it")
    path = os.path.realpath(base)
    if path == "/" and not below:
        raise NotOursError("the folder / contains the whole system; name another folder")
    for name in below.split("/") if below else []:
        if name in ("", ".", ".."):
            raise NotOursError(f"{below!r} leads out of {base}; name a folder below it")
        path = os.path.join(path, name)
        if os.path.islink(path):
            raise NotOursError(f"{path} is a symbolic link to {shown(os.readlink(path))}, and links are not followed; remove the link")
    return path


def why_not(folder: str, deployment: str, beside: Collection[str] = ()) -> str:
    """Returns why a folder must not be changed, or "" if it belongs to the deployment, is empty, or does not exist.

    An empty ``deployment`` accepts any deployment. An unmarked folder may contain the files named in ``beside``.
    """
    if not os.path.lexists(folder):
        return ""
    if not os.path.isdir(folder):
        return f"{folder} is not a folder; remove it, or name another folder"
    try:
        # List the files before reading the mark: another agent of the deployment may be marking the folder.
        entries = {name for name in os.listdir(folder) if name not in beside and not _UNFINISHED_MARK.fullmatch(name)}
        mark = read_mark(folder)
    except OSError as error:
        return f"{folder} cannot be read: {error.strerror}; name a folder that this user may read"
    if mark and deployment and mark["deployment"] != deployment:
        return f"{folder} belongs to {whose(mark)}; name another folder, or run destroy.yml there (docs/cluster.md)"
    if not mark and entries:
        return f"{folder} lacks Dohyo's mark and contains {contents(folder)}; name another folder, or move that away"
    # Check only these kinds for copies, because in a moved checkout, the marks of other folders contain the old path.
    original = _original(folder, mark) if _kind(mark) in ("data", "kept") else ""
    return _copy_of(folder, original) if original else ""


def _copy_of(folder: str, original: str) -> str:
    return f"{folder} is a copy of {shown(original)} that Dohyo did not make; move it away, or remove it yourself"


def check(folder: str, deployment: str, beside: Collection[str] = ()) -> None:
    """Raises NotOursError if ``why_not`` returns a reason."""
    reason = why_not(folder, deployment, beside)
    if reason:
        raise NotOursError(reason)


def claim(
    folder: str, mark: dict[str, Any], deployment: str, beside: Collection[str] = (), *, dry: bool = False
) -> bool:  # fmt: skip
    """Creates a folder with its parents, or takes over an empty folder, and marks it. Returns whether anything changed.

    Raises NotOursError like :func:`check`, and OSError if the folder cannot be created.
    """
    # Read the mark before the check, so that a mark that another process writes in between is ignored.
    previous = read_mark(folder)
    check(folder, deployment, beside)
    # The mark records the topmost folder created here, which is removed with the marked one. Folders that existed before stay.
    content = {
        **mark,
        "deployment": previous.get("deployment", mark["deployment"]),
        "made": previous.get("made", "") if previous else _made_with(folder, deployment),
        **(_place(folder) if os.path.isdir(folder) else {}),
    }
    if {**content, "at": previous.get("at")} == previous:
        return False
    around = os.path.dirname(folder)
    while around != "/":
        owner = read_mark(around)
        if owner and deployment and owner["deployment"] != deployment:
            raise NotOursError(f"{folder} is in {around}, which belongs to {whose(owner)}; name another folder")
        around = os.path.dirname(around)
    if not dry:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        content |= _place(folder)
        new = os.path.join(folder, f"{MARK}.{os.getpid()}")
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(json.dumps(content, indent=1, sort_keys=True) + "\n")
                # Sync the mark, because if a crash of the host left an empty mark, the data would not be recognised as Dohyo's.
                file.flush()
                os.fsync(file.fileno())
            if previous:
                os.replace(new, os.path.join(folder, MARK))
            else:
                # This fails if another process has marked the folder in the meantime.
                os.link(new, os.path.join(folder, MARK))
        except FileExistsError:
            check(folder, deployment)
        finally:
            if os.path.lexists(new):
                os.unlink(new)
        names = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(names)
        finally:
            os.close(names)
    return True


def _place(folder: str) -> dict[str, Any]:
    """Returns the facts that distinguish a folder from its copies."""
    return {"folder": printable(folder), "inode": os.stat(folder).st_ino}


def _made_with(folder: str, deployment: str) -> str:
    """Returns the topmost folder created for this folder or for a marked folder next to it. It is removed with the last of them."""
    around = os.path.dirname(folder)
    for name in _names(around):
        mark = read_mark(os.path.join(around, name))
        topmost = str(mark.get("made", ""))
        if topmost and mark["deployment"] == deployment and (around + "/").startswith(topmost + "/"):
            return topmost
    return _first_missing(folder)


def _first_missing(folder: str) -> str:
    missing = ""
    while not os.path.lexists(folder):
        missing, folder = folder, os.path.dirname(folder)
    return missing


def _kind(mark: dict[str, Any]) -> str:
    """Returns the kind of a marked folder, which is a key of MADE. Marks of older versions do not state it."""
    return str(mark.get("kind") or ("data" if mark.get("experiment") or mark.get("makes") else "home"))


def _original(folder: str, mark: dict[str, Any]) -> str:
    """Returns the folder that a copied mark was created for. For the original and for a moved folder, returns an empty string."""
    made_for = str(mark.get("folder", ""))
    return "" if made_for in ("", printable(folder)) or mark.get("inode") == os.lstat(folder).st_ino else made_for


class Rules:
    """Decides which files in a marked folder were created by Dohyo."""

    def __init__(self, owner: str, mark: dict[str, Any]) -> None:
        # Marks of older versions do not name the systems.
        systems = [system for system in mark.get("systems") or () if re.fullmatch("[a-z][a-z0-9_]*", str(system))]
        patterns = MADE.get(_kind(mark), "").split()
        for capitals, values in {**_STANDS_FOR, "ROLE": systems or ["[a-z]*"]}.items():
            patterns = [pattern.replace(capitals, value) for pattern in patterns for value in (values if capitals in pattern else ("",))]
        self._patterns = [pattern.split("/") for pattern in patterns]
        self._owner = owner
        self._listed: dict[str, set[str] | None] = {}

    def __contains__(self, names: tuple[str, ...]) -> bool:
        """Returns whether Dohyo created the path that consists of these names below the folder."""
        folder = stat.S_ISDIR(os.lstat(os.path.join(self._owner, *names)).st_mode)
        unfinished = re.fullmatch(re.escape(UNFINISHED) + r"\w{8}", "".join(names[-1:]))
        if unfinished or re.fullmatch(re.escape(MARK) + r"(\.\d+)?", "/".join(names)):
            return not folder
        for *parents, last in self._patterns:
            if not all(map(fnmatch.fnmatchcase, names, parents)):
                continue
            if len(names) <= len(parents):
                is_made = folder
            elif last == "**":
                is_made = True
            elif last == "=":
                is_made = self._lists(names, len(parents))
            else:
                is_made = len(names) == len(parents) + 1 and not folder and fnmatch.fnmatchcase(names[-1], last)
            if is_made:
                return True
        return False

    def leads(self, names: tuple[str, ...]) -> bool:
        """Returns whether these names are the path of a folder in which Dohyo creates files, or of a folder above one."""
        return any(len(names) < len(parts) and all(map(fnmatch.fnmatchcase, names, parts)) for parts in self._patterns)

    def _lists(self, names: tuple[str, ...], depth: int) -> bool:
        """Returns whether the manifest in the folder at that depth lists the path, or is missing because the copy is incomplete."""
        folder = os.path.join(self._owner, *names[:depth])
        if folder not in self._listed:
            self._listed[folder] = listed(folder)
        paths = self._listed[folder]
        return paths is None or "/".join(names[depth:]) in paths


def listed(folder: str) -> set[str] | None:
    """Returns the paths that a folder's manifest lists, their folders, and the manifest itself, or None without a manifest.

    If the manifest is not a regular file, the result is empty. Raises OSError if the manifest cannot be read.
    """
    path = os.path.join(folder, MANIFEST)
    if not os.path.lexists(path):
        return None
    if os.path.islink(path) or not os.path.isfile(path):
        return set()
    paths = {MANIFEST}
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            name = line.rstrip("\n").partition("  ")[2]
            while name:
                paths.add(name)
                name = name.rpartition("/")[0]
    return paths


class Contents:
    """Sorts the content of a marked folder into Dohyo's paths and foreign paths."""

    def __init__(self, owner: str, mark: dict[str, Any]) -> None:
        self.own_paths: list[str] = []  # paths with no foreign files below them; the mark of a folder comes last
        self.foreign: list[str] = []  # sentences about foreign paths, each with the reason
        # Manifests of folders with foreign files. While a folder's mark stays, its manifest is needed to recognise Dohyo's files.
        self.manifests: list[str] = []
        self.keeps_mark = False
        self._owner = owner
        self._rules = Rules(owner, mark)
        self._deployment = str(mark["deployment"])
        self._mounts = set(mounts())

    def sort(self, path: str, names: tuple[str, ...], rules: Rules | None = None) -> None:
        """Sorts a path and everything below it. ``names`` are the parts of the path below the rules' marked folder."""
        rules = rules or self._rules
        own_count, foreign = len(self.own_paths), len(self.foreign)
        try:
            mark = read_mark(path) if stat.S_ISDIR(os.lstat(path).st_mode) else {}
            if names and path in self._mounts:
                self.foreign.append(f"{path} is a mount point that Dohyo did not make; unmount it first")
            elif mark:
                self._sort_marked(path, mark, Rules(path, mark) if names else rules)
            elif names in rules:
                self._sort_entries(path, names, rules)
            else:
                self._sort_unknown(path, names, rules)
        except OSError as error:
            self.foreign.append(f"{path} cannot be read: {error.strerror}")
        except RecursionError:
            self.foreign.append(f"{path} contains too many nested folders; remove it yourself")
        if len(self.foreign) == foreign:
            self.own_paths[own_count:] = [path]

    def refuse_mounts_above(self, path: str, owner: str) -> bool:
        """Returns whether the path is on a file system mounted below the owner. If so, adds its mount point to `foreign`."""
        while (path := os.path.dirname(path)).startswith(owner + "/"):
            if path in self._mounts:
                self.foreign.append(f"{path} is a mount point that Dohyo did not make; unmount it first")
                return True
        return False

    def _sort_marked(self, path: str, mark: dict[str, Any], rules: Rules) -> None:
        reason = why_not(path, self._deployment)
        if not reason and path != self._owner and (original := _original(path, mark)):
            reason = _copy_of(path, original)
        if not reason and (reason := unexpected(path)):
            # Dohyo created this folder, but it stays. Keep the enclosing folder's mark: its id is needed for a later removal.
            self.keeps_mark = True
        if reason:
            self.foreign.append(reason)
            return
        self._sort_entries(path, (), rules)
        if not self.keeps_mark:
            self.own_paths.append(os.path.join(path, MARK))

    def _sort_entries(self, path: str, names: tuple[str, ...], rules: Rules) -> None:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            foreign = len(self.foreign)
            for name in sorted(os.listdir(path), key=_last):
                if name == MANIFEST and len(self.foreign) > foreign and (*names, name) in rules:
                    self.manifests.append(os.path.join(path, name))
                elif names or name != MARK:
                    self.sort(os.path.join(path, name), (*names, name), rules)

    def _sort_unknown(self, path: str, names: tuple[str, ...], rules: Rules) -> None:
        """Sorts a path that the rules do not list. The user may have placed a marked data folder below it."""
        folder = stat.S_ISDIR(os.lstat(path).st_mode)
        topmost = [str(mark.get("made", "")) for mark in self._marks_below(path)] if folder else []
        if not any(first and (path + "/").startswith(first + "/") for first in topmost):
            self.foreign.append((folder and why_not(path, self._deployment)) or f"{path} was not made by Dohyo; move it away")
        if topmost:
            self._sort_entries(path, names, rules)

    def _marks_below(self, path: str) -> list[dict[str, Any]]:
        marks = []
        for folder, folders, files in os.walk(path):
            marks += [read_mark(folder)] if MARK in files and read_mark(folder) else []
            folders[:] = [name for name in folders if os.path.join(folder, name) not in self._mounts]
        return marks


def remove(folder: str, deployment: str, *, dry: bool = False, foreign: list[str] | None = None) -> list[str]:
    """Removes a marked folder and returns the removed paths. A folder that existed before Dohyo marked it is only emptied.

    Foreign files are kept with their folders and added to the list ``foreign``. Without that list, NotOursError is
    raised if there is a foreign file, and nothing is removed. The same applies without the deployment's mark. May raise OSError.
    """
    check(folder, deployment)
    mark = read_mark(folder)
    if not mark:
        return []
    contents = Contents(folder, mark)
    contents.sort(folder, ())
    _accept(contents, foreign)
    topmost = str(mark.get("made", ""))
    # Remove the manifests after the mark. With the mark but without its manifest, a folder would count as an incomplete copy, and its
    # foreign files as Dohyo's.
    paths = contents.own_paths + ([] if contents.keeps_mark else contents.manifests)
    if not dry and contents.own_paths != [folder]:
        _delete_all(paths, foreign)
    elif not dry and _delete_all([os.path.join(folder, name) for name in sorted(os.listdir(folder), key=_last)], foreign):
        current = folder
        while topmost and (current == topmost or current.startswith(topmost + "/")):
            try:
                os.rmdir(current)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                    _report([error], foreign)
                break
            current = os.path.dirname(current)
    return paths


def remove_inside(
    owner: str, pattern: str, deployment: str, *, dry: bool = False, foreign: list[str] | None = None
) -> list[str]:  # fmt: skip
    """Removes the paths in a marked folder that match a pattern, such as ``run/mysql-*``. Returns the removed paths.

    Only the last part may be a pattern. Raises the errors of :func:`remove`, also if the owner is not empty and has no mark.
    """
    parent, _, last = pattern.rpartition("/")
    if last in ("", ".", ".."):
        raise NotOursError(f"{pattern!r} names nothing in {owner}")
    folder = path_of(owner, parent)
    matches = [name for name in _names(folder) if fnmatch.fnmatchcase(name, last) and name != MARK]
    if not matches:
        return []
    check(os.path.realpath(owner), deployment)
    return _remove_in(os.path.realpath(owner), [os.path.join(folder, name) for name in matches], foreign, dry=dry)


def remove_path(path: str) -> None:
    """Removes a path in a folder that carries the mark of any deployment. Raises the same errors as :func:`remove`."""
    if os.path.lexists(path):
        owner = _owner_of(path)
        if owner:
            _remove_in(owner, [path], None)
            return
        raise NotOursError(f"{path} is not in a folder that carries Dohyo's mark; if it is not needed, remove it yourself")


def refuse_links(path: str) -> None:
    """Raises NotOursError if the path or a folder between it and the enclosing marked folder is a link."""
    around = path
    while around != "/":
        around = os.path.dirname(around)
        if read_mark(around):
            path_of(around, os.path.relpath(path, around))
            return


def _owner_of(path: str) -> str:
    """Returns the nearest marked folder above a path, or an empty string if there is none or a link is in between."""
    while path != "/" and not os.path.islink(path):
        path = os.path.dirname(path)
        if read_mark(path):
            return path
    return ""


def _remove_in(owner: str, paths: list[str], foreign: list[str] | None, *, dry: bool = False) -> list[str]:
    contents = Contents(owner, read_mark(owner))
    for path in paths:
        if not contents.refuse_mounts_above(path, owner):
            contents.sort(path, tuple(os.path.relpath(path, owner).split("/")))
    _accept(contents, foreign)
    if not dry:
        _delete_all(contents.own_paths, foreign)
    return contents.own_paths


def _accept(contents: Contents, foreign: list[str] | None) -> None:
    if foreign is None and contents.foreign:
        raise NotOursError("; ".join(contents.foreign))
    if foreign is not None:
        foreign += contents.foreign


def foreign_in(folder: str, deployment: str) -> list[str]:
    """Returns the foreign files in a marked folder, or why the folder is not Dohyo's. An empty or missing folder has none."""
    problems: list[str] = []
    try:
        remove(folder, deployment, dry=True, foreign=problems)
    except NotOursError as error:
        return [str(error)]
    return problems


def unlisted(folder: str) -> list[str]:
    """Returns why a folder of copied files must not be replaced. The result has a line for each file that the manifest omits."""
    paths = listed(folder) or set()
    return [
        f"{os.path.join(parent, name)} was not made by Dohyo; move it away"
        for parent, folders, files in os.walk(folder)
        for name in sorted(folders + files)
        if os.path.relpath(os.path.join(parent, name), folder) not in paths
    ]


def unexpected(folder: str) -> str:
    """Returns why a data folder must not be removed, which is the case if users added data to servers that were kept.

    The mark's `makes` maps paths to patterns of the folders that a trial creates there; if a path ends with a slash, also of files.
    """
    for below, patterns in dict(read_mark(folder).get("makes") or {}).items():
        parent = path_of(folder, below.rstrip("/"))
        for name in sorted(os.listdir(parent) if os.path.isdir(parent) else []):
            is_expected = any(fnmatch.fnmatchcase(name, str(pattern)) for pattern in patterns)
            if not is_expected and (below.endswith("/") or os.path.isdir(os.path.join(parent, name))):
                return f"{parent}/{name} was not made by a trial; save it if needed, then remove {folder} yourself"
    return ""


def links_in(folder: str, *, deep: bool = True) -> str:
    """Returns why a marked folder must not be written to, which is the case if an entry is a link."""
    mark = read_mark(folder)
    rules = Rules(folder, mark)
    waiting: list[tuple[str, ...]] = [()] if mark else []
    for names in waiting:
        for name in _names(os.path.join(folder, *names)):
            path = os.path.join(folder, *names, name)
            if os.path.islink(path) and (not names or rules.leads((*names, name))):
                return f"{path} is a symbolic link, and links are not followed; remove the link"
            if deep and os.path.isdir(path) and rules.leads((*names, name)):
                waiting.append((*names, name))
    return ""


def _last(name: str) -> tuple[int, str]:
    """Returns a sort key that places marks and manifests last, so that an interrupted removal can be continued."""
    return ((MANIFEST, MARK).index(name) + 1 if name in (MANIFEST, MARK) else 0, name)


def _delete_all(paths: list[str], foreign: list[str] | None) -> bool:
    """Removes the paths, but marks and manifests only if nothing before failed. Returns whether all paths were removed."""
    failures: list[OSError] = []
    for path in paths:
        if failures and os.path.basename(path) in (MARK, MANIFEST):
            continue
        try:
            parent = _opened(os.path.dirname(path))
        except OSError as error:
            failures.append(OSError(error.errno, error.strerror, path))
            continue
        try:
            _delete(path, parent, failures)
        finally:
            os.close(parent)
    _report(failures, foreign)
    return not failures


def _report(failures: list[OSError], foreign: list[str] | None) -> None:
    """Adds the paths that could not be removed to `foreign`. If that is None, raises the first failure."""
    if failures and foreign is None:
        raise failures[0]
    if foreign is not None:
        foreign += [f"{error.filename} was made by Dohyo and cannot be removed: {error.strerror}; remove it yourself" for error in failures]


def _opened(folder: str) -> int:
    """Returns a descriptor of a folder. Does not follow links, because one may have been created since the check."""
    descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    for name in filter(None, folder.split("/")):
        try:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _delete(path: str, parent: int, failures: list[OSError]) -> None:
    """Removes a file, a link (not its target), or a folder with its content. ``parent`` is a descriptor of the parent folder."""
    name, before = os.path.basename(path), len(failures)
    try:
        if not stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode):
            os.unlink(name, dir_fd=parent)
            return
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            if os.fstat(folder).st_dev != os.fstat(parent).st_dev:
                raise OSError(errno.EBUSY, "a file system is mounted on it")
            for below in sorted(os.listdir(folder), key=_last):
                if len(failures) == before or below not in (MARK, MANIFEST):
                    _delete(os.path.join(path, below), folder, failures)
        finally:
            os.close(folder)
        if len(failures) == before:
            os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno != errno.ENOENT:  # another process may have removed it
            failures.append(OSError(error.errno, error.strerror, path))


def mounts() -> list[str]:
    """Returns all mount points."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
        return [decoded(line.split(" ")[4]) for line in lines]


def decoded(field: str) -> str:
    """Decodes a path from /proc/self/mounts or mountinfo, where spaces are octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), field)
