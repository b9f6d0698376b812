"""Ansible vars plugin: provides a description of each system under test, from systems/NAME/system.py."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.inventory.group import Group
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.vars import BaseVarsPlugin

try:
    from ansible.template import trust_as_template
except ImportError:  # before ansible-core 2.19, every string may be a template
    trust_as_template = str

sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from dohyo.bad_input import BadInputError
from dohyo.systems.catalogue import ATTACHED, all_systems
from dohyo.systems.system import System

DOCUMENTATION = r"""
name: systems
short_description: Systems under test by name
description:
  - C(systems) contains, by system, the values that are the same on all hosts. C(role) is the name of its folder.
    C(verbs) contains the task file of the role C(system) for each of C(VERBS). C(systems/NAME/tasks/VERB.yml) replaces
    this file. For an attached system, the role's C(attached/VERB.yml) replaces both.
  - The lookup C(system) returns values that depend on the host.
"""

# Profile from the scenario's conditions; an inventory may set it for playbooks that users call directly.
PROFILE = trust_as_template("{{ (trial_conditions | default({})).profile | default('vanilla') }}")
ANSIBLE = Path(__file__).resolve().parents[2]
# Steps that playbooks execute for a system; a trial (dohyo.trial) calls methods of the system's class instead.
VERBS = ("needs", "install")


def _file(system: System, verb: str) -> str:
    """Returns the task file for a verb, relative to the role's folder `tasks`, which contains a link to the systems."""
    specific = f"systems/{system.role}/tasks/{verb}.yml"
    file = specific if (ANSIBLE / specific).is_file() else verb
    if not system.attaches or verb == "needs":
        return file
    template: str = trust_as_template(f"{{{{ 'attached/{verb}.yml' if {system.name!r} in attached else {file!r} }}}}")
    return template


def _described(system: System) -> dict[str, Any]:
    """Returns the values of a system that all hosts have in common."""
    return {
        "role": system.role,
        "title": system.title,
        "binding": system.binding,
        "by_name": system.by_name,
        "licence": system.licence,
        "verbs": {verb: _file(system, verb) for verb in VERBS},
    }


def all_variables() -> dict[str, Any]:
    """Returns C(systems), the profile, and the variables of attached systems."""
    systems = {name: _described(system) for name, system in all_systems().items()}
    return {"systems": systems, "dohyo_profile": PROFILE, **{name: option.default for name, option in ATTACHED.items()}}


class VarsModule(BaseVarsPlugin):
    """Provides the variables to Ansible.

    :cvar is_stateless: lets Ansible load the plugin once, instead of for each task and host
    """

    is_stateless = True

    def get_vars(self, loader: DataLoader, path: str, entities: Any) -> dict[str, Any]:
        """Returns the variables for the group `all`: only for the playbook's folder, not again for each inventory."""
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
        variables: dict[str, Any] = loader.dohyo_systems
        return variables
