"""Ansible module: checks, marks or removes folders of ours; the only one that removes folders on a host.

A folder is ours if it carries our mark (module_utils/ours.py). A folder that is not empty and has no mark, or that of
another deployment, is refused: the message has its path, what seems to be in it, and the way out. So is the removal of
a folder that holds something else than what we make in it.

Returns ``problems`` (what is not ours to touch, and why), ``removed`` (what was removed, or in check mode would be)
and ``deployment`` (whose mark it is).
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ours import (
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


def folders_of(pairs: list[list[str]], problems: list[str]) -> list[str]:
    """The folders that are meant; of a pattern those that are there. What leads elsewhere is a problem."""
    found: list[str] = []
    waiting = [(base, below) for base, below in pairs]
    for base, below in waiting:
        try:
            if below.endswith("*"):
                parent = path_of(base, below.rpartition("/")[0])
                names = sorted(os.listdir(parent)) if os.path.isdir(parent) else []
                waiting += [(base, below[:-1] + name) for name in names if not name.endswith("*")]
            else:
                found.append(path_of(base, below))
        except NotOursError as error:
            problems.append(str(error))
    return list(dict.fromkeys(found))


class Folders:
    """What is asked for, done step by step."""

    def __init__(self, given: dict[str, Any], dry: bool) -> None:
        self._given = given
        self._dry = dry
        self.deployment: str = given["deployment"]
        self.problems: list[str] = []
        self.removed: list[str] = []
        self.changed = False
        self._home = path_of(given["home"]) if given["home"] else ""
        self._folders = folders_of(given["folders"], self.problems)

    def check(self) -> None:
        """Find what is not ours; raise NotOursError if that is no mere answer."""
        for folder in [*self._folders, *filter(None, [self._home])]:
            self.problems += filter(None, [why_not(folder, self.deployment, self._given["beside"])])
            if self._given["state"] != "absent":
                self.problems += filter(None, [links_in(folder, deep=self._given["state"] != "checked")])
        if self.problems and self._given["state"] != "checked" and not self._given["leave"]:
            raise NotOursError("; ".join(self.problems))

    def remove(self) -> None:
        """Remove what is ours; without ``leave`` nothing, where anything else is with it."""
        if self._dry or not self._given["leave"]:
            self._remove(dry=True)
        if not self._dry:
            self._remove(dry=False)
        self.changed |= bool(self.removed)

    def _remove(self, *, dry: bool) -> None:
        foreign = self.problems if self._given["leave"] else None
        self.removed = []
        for folder in self._folders:
            if not why_not(folder, self.deployment):
                self.removed += remove(folder, self.deployment, dry=dry, foreign=foreign)
        for pattern in self._given["inside"]:
            self.removed += remove_inside(self._home, pattern, self.deployment, dry=dry, foreign=foreign)

    def claim(self) -> None:
        """Make and mark the folders."""
        own = read_mark(self._folders[0]).get("deployment") if self._folders else ""
        self.deployment = self.deployment or own or secrets.token_hex(6)
        mark = new_mark(self.deployment, self._given["controller"])
        mark |= {key: self._given[key] for key in ("experiment", "makes", "kind")}
        for folder in self._folders:
            made = not os.path.lexists(folder)
            changed = claim(folder, mark, self._given["deployment"], self._given["beside"], dry=self._dry)
            if changed and self._given["owner"] and not self._dry:
                for path in [os.path.join(folder, MARK), *([folder] if made else [])]:
                    shutil.chown(path, self._given["owner"])
            self.changed |= changed


def main() -> None:
    """Read the parameters, do it, answer."""
    module = AnsibleModule(
        argument_spec={
            # checked: says what is wrong. present: makes the folders, or takes over empty ones, and marks them. absent:
            # removes the folders and what is in them, and `inside`. fresh: absent, then present.
            "state": {"type": "str", "choices": ["checked", "present", "absent", "fresh"], "required": True},
            # Whose mark; empty: with `present` the folder's own or a new one, else anybody's.
            "deployment": {"type": "str", "default": ""},
            # [the user's folder, path of ours below it]; empty path: that folder; last name may be *.
            "folders": {"type": "list", "elements": "list", "default": []},
            "home": {"type": "str", "default": ""},  # a folder of ours that stays
            # What is removed in `home`; the last name of each path may be a pattern.
            "inside": {"type": "list", "elements": "str", "default": []},
            # Names that may be in a folder before it is marked.
            "beside": {"type": "list", "elements": "str", "default": []},
            # By path below each folder, patterns of the folders that a trial makes there; of a path that ends with a
            # slash, of files too. Anything else is somebody's data, and the folder is not removed.
            "makes": {"type": "dict", "default": {}},
            # What of MADE (module_utils/ours.py) is in the folders; empty: `data` with an experiment, else `home`.
            "kind": {"type": "str", "choices": ["", *MADE], "default": ""},
            # What is not ours is named in `problems` and left alone instead of failing; what is ours beside it goes.
            "leave": {"type": "bool", "default": False},
            "controller": {"type": "dict", "default": {}},  # who marks the folders: the lookup `controller`
            "experiment": {"type": "str", "default": ""},  # the trial's evidence, for which the folders are
            # The user to whom root gives the mark, and the folders that it makes; empty: nobody.
            "owner": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    state = module.params["state"]
    if not re.fullmatch(f"|none|{DEPLOYMENT}", module.params["deployment"]):
        module.fail_json(
            msg=f"deployment {module.params['deployment']!r}: twelve digits from 0 to f, as .dohyo has them"
        )
    try:
        folders = Folders(module.params, module.check_mode)
        folders.check()
        if state in ("absent", "fresh"):
            folders.remove()
        if state in ("present", "fresh"):
            folders.claim()
    except NotOursError as error:
        module.fail_json(msg=shown(str(error)))
    except OSError as error:
        module.fail_json(msg=shown(f"{error.filename}: {error.strerror}"))
    module.exit_json(
        changed=folders.changed,
        problems=list(map(shown, folders.problems)),
        removed=folders.removed,
        deployment=folders.deployment,
    )


if __name__ == "__main__":
    main()
