"""Ansible vars plugin: the systems under test, and their variables, out of systems/NAME/system.yml."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ansible.inventory.group import Group
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.vars import BaseVarsPlugin
from ansible.template import trust_as_template

DOCUMENTATION = r"""
name: systems
short_description: What systems/NAME/system.yml says of each system under test
description:
  - C(systems) has the content of each file by the name of the system, with C(role), the name of the folder, and
    C(verbs), the file of the role C(system) that does each verb; C(systems/NAME/tasks/VERB.yml) takes the place of the
    role's own, and the role's C(attached/VERB.yml) that of both for a system that is attached. A file with C(variants)
    is one system for each of them, which differ in the keys that the variant has.
  - The default of each of C(variables), and what C(vars) says, are variables of their own. Every inventory overrides
    them, as they rank with group_vars/all.yml beside the playbooks.
  - With C(dohyo_profile=tuned) the default of a variable is its value in C(tuned), if it has one there. C(profiles) of
    a system has both values of these variables, the further C(settings) of its configuration file that C(tuned) has,
    and C(others), the defaults of the variables that have the same in both profiles, without passwords, addresses and
    ports. C(settings) of a system is the user's variable NAME_settings.
"""

# What a scenario says, in the conditions; an inventory may say it for playbooks that are called by hand.
PROFILE = trust_as_template("{{ (trial_conditions | default({})).profile | default('vanilla') }}")

# Systems whose servers run already, by their names, and where they are, as in {cassandra: "10.0.0.1,10.0.0.2"}; what
# lets us in, a file of the control machine; what a trial may do beyond a place of its own, such as [settle]:
# docs/attach.md.
NOT_OURS: dict[str, Any] = {"attached": {}, "attached_secrets": "", "attached_may": []}

SYSTEMS = Path(__file__).resolve().parents[2] / "systems"
VERBS = Path(__file__).resolve().parents[2] / "roles" / "system" / "tasks"


def _either(system: str, verb: str, file: str) -> str:
    """The file that does a verb: another one where the system's servers are not ours."""
    other = f"attached/{verb if (VERBS / 'attached' / f'{verb}.yml').is_file() else 'nothing'}.yml"
    chosen: str = trust_as_template(f"{{{{ {other!r} if {system!r} in attached else {file!r} }}}}")
    return chosen


def all_variables(loader: DataLoader) -> dict[str, Any]:
    """C(systems), and the variables of all of them."""
    found: dict[str, Any] = {"systems": {}, "dohyo_profile": PROFILE, **NOT_OURS}
    descriptions = []
    for folder in SYSTEMS.iterdir():
        if (folder / "system.yml").is_file():
            text = loader.load_from_file(str(folder / "system.yml"), cache="all", trusted_as_template=True)
            descriptions.append((text.get("order", 99), folder.name, text))
    for _, role, text in sorted(descriptions, key=lambda each: each[:2]):
        # Without .yml, as Ansible looks for the arguments of `preflight` under the very name that is included.
        verbs = {file.stem: file.stem for file in sorted(VERBS.glob("*.yml"))}
        # Relative to VERBS, which has a link to SYSTEMS.
        verbs |= {file.stem: f"systems/{role}/tasks/{file.name}" for file in (SYSTEMS / role / "tasks").glob("*.yml")}
        profiles: dict[str, dict[str, Any]] = {"variables": {}, "settings": {}, "others": {}}
        defaults = {name: option["default"] for name, option in text["variables"].items()}
        for name, entry in text.get("tuned", {}).items():
            if name in defaults:
                profiles["variables"][name] = {"vanilla": defaults[name], "tuned": entry["value"]}
            else:
                profiles["settings"][name] = entry["value"]
        aside = {f"{role}_settings", *profiles["variables"]}
        profiles["others"] = {
            name: defaults[name]
            for name, option in text["variables"].items()
            if name not in aside and not option.get("no_log") and not name.endswith(("_address", "_port"))
        }
        settings = trust_as_template(f"{{{{ {role}_settings }}}}") if f"{role}_settings" in defaults else {}
        more = {"role": role, "profiles": profiles, "settings": settings}
        variants = text.get("variants", {role: {}})
        for name, variant in variants.items():
            of_name = {verb: _either(name, verb, file) for verb, file in verbs.items()} if "attach" in text else verbs
            found["systems"][name] = {**text, **variant, **more, "verbs": of_name}
        of_profile = f"systems['{next(iter(variants))}'].profiles.variables"
        found |= defaults | {
            name: trust_as_template(f"{{{{ {of_profile}.{name}[dohyo_profile] }}}}") for name in profiles["variables"]
        }
        found |= text.get("vars", {})
    return found


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
            loader.dohyo_systems = all_variables(loader)
        found: dict[str, Any] = loader.dohyo_systems
        return found
