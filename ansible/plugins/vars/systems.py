"""Ansible vars plugin: the systems under test, out of systems/NAME/system.py."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.inventory.group import Group
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.vars import BaseVarsPlugin
from ansible.template import trust_as_template

sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from dohyo.bad_input import BadInputError
from dohyo.systems.catalogue import ATTACHED, all_systems
from dohyo.systems.system import System

DOCUMENTATION = r"""
name: systems
short_description: Systems under test by their names
description:
  - C(systems) has of each system by its name what is the same on all hosts, with C(role), the name of its folder, and
    C(verbs), the file of the role C(system) that does each verb; C(systems/NAME/tasks/VERB.yml) takes the place of the
    role's own, and the role's C(attached/VERB.yml) that of both for a system that is attached.
  - What depends on the host, the lookup C(system) says.
"""

# What a scenario says, in the conditions; an inventory may say it for playbooks that are called by hand.
PROFILE = trust_as_template("{{ (trial_conditions | default({})).profile | default('vanilla') }}")
ANSIBLE = Path(__file__).resolve().parents[2]
VERBS = ANSIBLE / "roles" / "system" / "tasks"


def _either(system: str, verb: str, file: str) -> str:
    """The file that does a verb: another one where the system's servers are not ours."""
    other = f"attached/{verb if (VERBS / 'attached' / f'{verb}.yml').is_file() else 'nothing'}.yml"
    chosen: str = trust_as_template(f"{{{{ {other!r} if {system!r} in attached else {file!r} }}}}")
    return chosen


def _described(system: System) -> dict[str, Any]:
    """What is the same on all hosts."""
    # Without .yml, as Ansible looks for the arguments of `preflight` under the very name that is included.
    verbs = {file.stem: file.stem for file in sorted(VERBS.glob("*.yml"))}
    # Relative to VERBS, which has a link to the systems.
    own = (ANSIBLE / "systems" / system.role / "tasks").glob("*.yml")
    verbs |= {file.stem: f"systems/{system.role}/tasks/{file.name}" for file in own}
    if system.attaches:
        verbs |= {verb: _either(system.name, verb, file) for verb, file in verbs.items() if verb != "needs"}
    return {
        "role": system.role,
        "title": system.title,
        "binding": system.binding,
        "admin": system.admin,
        "by_name": system.by_name,
        "spared": list(system.spared),
        "licence": system.licence,
        "verbs": verbs,
    }


def all_variables() -> dict[str, Any]:
    """C(systems), the profile, and the variables of attached systems."""
    systems = {name: _described(system) for name, system in all_systems().items()}
    return {"systems": systems, "dohyo_profile": PROFILE, **{name: each.default for name, each in ATTACHED.items()}}


class VarsModule(BaseVarsPlugin):
    """Offers the variables to Ansible."""

    def get_vars(self, loader: DataLoader, path: str, entities: Any) -> dict[str, Any]:
        """The variables for all hosts, once: beside the playbook, and not beside each inventory, too."""
        super().get_vars(loader, path, entities)
        groups = entities if isinstance(entities, Iterable) else [entities]
        of_all = any(isinstance(entity, Group) and entity.name == "all" for entity in groups)
        if not of_all or path != loader.get_basedir():
            return {}
        if not hasattr(loader, "dohyo_systems"):
            try:
                loader.dohyo_systems = all_variables()
            except BadInputError as error:
                raise AnsibleError(str(error)) from error
        found: dict[str, Any] = loader.dohyo_systems
        return found
