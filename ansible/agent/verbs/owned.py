"""Checks, marks or removes Dohyo's folders on a host. No other verb removes folders.

Dohyo's folders carry a mark (folder_marks.py). A folder that is not empty and has no mark of this deployment is refused. The
message states its path, its likely content, and what to do. A folder with files that Dohyo did not create is not removed either.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Sequence
from typing import Any

from failure import AgentError
from folder_marks import (
    DEPLOYMENT,
    MADE,
    MARK,
    NotOursError,
    claim,
    links_in,
    new_mark,
    path_of,
    read_mark,
    remove,
    remove_inside,
    shown,
    why_not,
)

STATES = ("checked", "present", "absent", "fresh")


def folders_of(pairs: Sequence[list[str]], problems: list[str]) -> list[str]:
    """Returns the paths of the folders; patterns yield existing ones. Adds paths that leave their base to `problems`."""
    paths: list[str] = []
    waiting = [(base, below) for base, below in pairs]
    for base, below in waiting:
        try:
            if below.endswith("*"):
                parent = path_of(base, below.rpartition("/")[0])
                names = sorted(os.listdir(parent)) if os.path.isdir(parent) else []
                waiting += [(base, below[:-1] + name) for name in names if not name.endswith("*")]
            else:
                paths.append(path_of(base, below))
        except NotOursError as error:
            problems.append(str(error))
    return list(dict.fromkeys(paths))


class Folders:
    """Carries out the steps of a request on the folders that the request names."""

    def __init__(self, arguments: dict[str, Any], dry: bool) -> None:
        self._arguments = arguments
        self._dry = dry
        self.deployment: str = arguments["deployment"]
        self.problems: list[str] = []
        self.removed: list[str] = []
        self.changed = False
        self._home = path_of(arguments["home"]) if arguments["home"] else ""
        self._folders = folders_of(arguments["folders"], self.problems)

    def check(self) -> None:
        """Finds folders that are not Dohyo's, and raises NotOursError for them unless the state permits them."""
        for folder in [*self._folders, *filter(None, [self._home])]:
            self.problems += filter(None, [why_not(folder, self.deployment, self._arguments["beside"])])
            if self._arguments["state"] != "absent":
                self.problems += filter(None, [links_in(folder, deep=self._arguments["state"] != "checked")])
        if self.problems and self._arguments["state"] != "checked" and not self._arguments["leave"]:
            raise NotOursError("; ".join(self.problems))

    def remove(self) -> None:
        """Removes Dohyo's files. Without ``leave``, removes nothing if a folder also contains foreign files."""
        if self._dry or not self._arguments["leave"]:
            self._remove(dry=True)
        if not self._dry:
            self._remove(dry=False)
        self.changed |= bool(self.removed)

    def _remove(self, *, dry: bool) -> None:
        foreign = self.problems if self._arguments["leave"] else None
        self.removed = []
        for folder in self._folders:
            if not why_not(folder, self.deployment):
                self.removed += remove(folder, self.deployment, dry=dry, foreign=foreign)
        for pattern in self._arguments["inside"]:
            self.removed += remove_inside(self._home, pattern, self.deployment, dry=dry, foreign=foreign)

    def claim(self) -> None:
        """Creates and marks the folders."""
        deployment = read_mark(self._folders[0]).get("deployment") if self._folders else ""
        self.deployment = self.deployment or deployment or secrets.token_hex(6)
        mark = new_mark(self.deployment, self._arguments["controller"])
        mark |= {key: self._arguments[key] for key in ("experiment", "makes", "kind")}
        for folder in self._folders:
            is_new = not os.path.lexists(folder)
            changed = claim(folder, mark, self._arguments["deployment"], self._arguments["beside"], dry=self._dry)
            if changed and self._arguments["owner"] and not self._dry:
                for path in [os.path.join(folder, MARK), *([folder] if is_new else [])]:
                    shutil.chown(path, self._arguments["owner"])
            self.changed |= changed
        # Another first deployment may have marked the folder meanwhile: its id is valid.
        self.deployment = next(filter(None, (read_mark(folder).get("deployment") for folder in self._folders)), self.deployment)


def answer(
    state: str, deployment: str = "", folders: Sequence[list[str]] = (), home: str = "", inside: Sequence[str] = (),
    beside: Sequence[str] = (), makes: dict[str, list[str]] | None = None, kind: str = "", leave: bool = False,
    controller: dict[str, Any] | None = None, experiment: str = "", owner: str = "", dry: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Checks, marks or removes Dohyo's folders.

    :param state: ``checked`` reports problems. ``present`` creates the folders, or takes over empty ones, and marks them.
        ``absent`` removes the folders with their content, and the paths ``inside``. ``fresh`` does both: absent, then present
    :param deployment: deployment of the mark. If empty, ``present`` uses that of the mark or a new one; other states accept any
    :param folders: pairs of the user's folder and a path below it, which may be empty or end with *
    :param home: a marked folder that stays
    :param inside: paths to remove in ``home``; the last part of each may be a pattern
    :param beside: names of files that an unmarked folder may contain
    :param makes: maps paths below each folder to patterns of the folders that a trial creates there; if a path ends with a slash,
        also of the files. Everything else is a user's data and prevents the removal
    :param kind: key of MADE (folder_marks.py) for the folders; if empty, ``data`` with an experiment, otherwise ``home``
    :param leave: whether to keep foreign files, report them in ``problems`` and remove the rest, or to fail
    :param controller: the controller that marks the folders, from the lookup ``controller``
    :param experiment: folder of the evidence of the trial that uses the folders
    :param owner: user who becomes the owner of the mark and of new folders if this process is root; if empty, root stays the owner
    :param dry: whether to report changes without making them
    :returns: ``problems`` (foreign paths with reasons), ``removed`` (paths that were or would be removed) and ``deployment``
    :raises AgentError: for a foreign path; the message says what to do
    """
    if state not in STATES:
        raise AgentError(f"state '{state}': must be one of {', '.join(STATES)}")
    if kind not in ("", *MADE):
        raise AgentError(f"kind '{kind}': must be one of {', '.join(MADE)}")
    if not re.fullmatch(f"|none|{DEPLOYMENT}", deployment):
        raise AgentError(f"deployment {deployment!r}: must be twelve hexadecimal digits (0-9, a-f), as in .dohyo")
    arguments = {
        "state": state, "deployment": deployment, "folders": folders, "home": home, "inside": inside, "beside": beside,
        "makes": makes or {}, "kind": kind, "leave": leave, "controller": controller or {}, "experiment": experiment, "owner": owner,
    }  # fmt: skip
    try:
        request = Folders(arguments, dry)
        request.check()
        if state in ("absent", "fresh"):
            request.remove()
        if state in ("present", "fresh"):
            request.claim()
    except NotOursError as error:
        raise AgentError(shown(str(error))) from error
    except OSError as error:
        raise AgentError(shown(f"{error.filename}: {error.strerror}")) from error
    return {
        "changed": request.changed,
        "problems": list(map(shown, request.problems)),
        "removed": request.removed,
        "deployment": request.deployment,
    }
