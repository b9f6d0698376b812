"""Ansible module: folders that carry our mark; the only one that removes folders on a host."""

from __future__ import annotations

import os
import re
import secrets
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ours import (
    DEPLOYMENT,
    NotOursError,
    claim,
    links_in,
    path_of,
    read_mark,
    remove,
    remove_inside,
    shown,
    why_not,
)

DOCUMENTATION = r"""
module: owned
short_description: Look at, mark, or remove folders of ours
description:
  - A folder is ours if it carries our mark, whatever it is called; see C(module_utils/ours.py).
  - One that is not empty and has no mark, or that of another deployment, is refused with its path, what seems to be in
    it, and the way out.
options:
  state:
    description:
      - C(checked) only says what is wrong, in C(problems).
      - C(present) makes I(folders), or takes empty ones over, and marks them.
      - C(absent) removes I(folders) with all that is in them, and I(inside).
      - C(fresh) does both, one after the other.
    choices: [checked, present, absent, fresh]
    required: true
  deployment:
    description: Whose mark it is. Empty, with C(present), the folder's own, else a new one; otherwise anybody's.
    type: str
    default: ""
  folders:
    description:
      - Each as a folder that the user has named, and the path of ours below it, as in C([/data, dohyo/mysql]). With an
        empty path the named folder itself is meant; the last name of a path may be C(*).
    type: list
    elements: list
    default: []
  home:
    description: A folder of ours that stays.
    type: str
    default: ""
  inside:
    description: What is removed in I(home); the last name of each path may be a pattern.
    type: list
    elements: str
    default: []
  beside:
    description: Names that may be in a folder before it is marked.
    type: list
    elements: str
    default: []
  makes:
    description:
      - By a path below each of I(folders), patterns of the folders that a trial of ours makes there; of a path that
        ends with a slash, of files too. What has another name is somebody's data, and the folder is not removed.
    type: dict
    default: {}
  leave:
    description: What is not ours is left alone and named in C(problems), instead of a failure.
    type: bool
    default: false
  controller:
    description: Who marks the folders; see the lookup C(controller).
    type: dict
    default: {}
  experiment:
    description: Folder of the evidence of the trial that the folders are for.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Mark the folders of the data
  owned:
    state: present
    deployment: "{{ dohyo_deployment }}"
    folders: "{{ dohyo_data | product(['dohyo/mysql']) | list }}"
    controller: "{{ dohyo_controller }}"
"""

RETURN = r"""
problems:
  description: Why folders are not ours to touch.
  type: list
  elements: str
  returned: success
removed:
  description: What was removed, or, in check mode, would be.
  type: list
  elements: str
  returned: success
deployment:
  description: Whose mark it is.
  type: str
  returned: success
"""


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
                self.problems += filter(None, [links_in(folder)])
        if self.problems and self._given["state"] != "checked" and not self._given["leave"]:
            raise NotOursError("; ".join(self.problems))

    def remove(self) -> None:
        """Remove what is ours."""
        for folder in self._folders:
            try:
                if not why_not(folder, self.deployment) and remove(folder, self.deployment, dry=self._dry):
                    self.removed.append(folder)
            except NotOursError as error:
                if not self._given["leave"]:
                    raise
                self.problems.append(str(error))
        for pattern in self._given["inside"]:
            self.removed += remove_inside(self._home, pattern, self.deployment, dry=self._dry)
        self.changed |= bool(self.removed)

    def claim(self) -> None:
        """Make and mark the folders."""
        who = {key: self._given["controller"].get(key, "") for key in ("controller", "checkout", "user", "machine_id")}
        own = read_mark(self._folders[0]).get("deployment") if self._folders else ""
        self.deployment = self.deployment or own or secrets.token_hex(6)
        mark: dict[str, Any] = {"deployment": self.deployment, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"), **who}
        mark |= {"experiment": self._given["experiment"], "makes": self._given["makes"]}
        for folder in self._folders:
            self.changed |= claim(folder, mark, self._given["deployment"], self._given["beside"], dry=self._dry)


def main() -> None:
    """Read the parameters, do it, answer."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["checked", "present", "absent", "fresh"], "required": True},
            "deployment": {"type": "str", "default": ""},
            "folders": {"type": "list", "elements": "list", "default": []},
            "home": {"type": "str", "default": ""},
            "inside": {"type": "list", "elements": "str", "default": []},
            "beside": {"type": "list", "elements": "str", "default": []},
            "makes": {"type": "dict", "default": {}},
            "leave": {"type": "bool", "default": False},
            "controller": {"type": "dict", "default": {}},
            "experiment": {"type": "str", "default": ""},
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
