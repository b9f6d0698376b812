"""Finds the properties with which clients log in to attached systems, and removes what trials left (docs/attach.md)."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from dohyo.bad_input import BadInputError
from dohyo.systems.catalogue import all_systems
from dohyo.trial.world import Host, World


def detach(world: World, names: Iterable[str], roles: Sequence[str]) -> dict[str, str]:
    """Removes what trials created on the attached systems of these roles. Notes say what the servers keep.

    :param names: names of the hosts from which trials administered the systems
    :returns: by host, a message about what could not be removed, and how to remove it
    """

    def remove(host: Host) -> dict[str, Any]:
        return host.do("detach", home=str(host.values["dohyo_home"]), roles=list(roles), host=host.name)

    answers, failed = world.attempt(names, remove)
    for text in dict.fromkeys(text for answer in answers.values() for text in answer["kept"]):
        world.event("note", text=text)
    return failed | {name: str(answer["left"]) for name, answer in answers.items() if answer["left"]}


def all_roles() -> list[str]:
    """Returns the roles of all systems."""
    return list(dict.fromkeys(system.role for system in all_systems().values()))


def detach_earlier(world: World, role: str) -> None:
    """Removes what an earlier trial left on the attached system.

    :raises StepError: if something could not be removed
    """
    if leftovers := detach(world, world.databases, [role]):
        world.fail("Remove the leftovers of earlier trials on the attached system", leftovers)


def detach_all(world: World, roles: Sequence[str], reachable: Sequence[str]) -> None:
    """Removes Dohyo's tables and connection files on attached systems. Notes list what stop.yml must still remove.

    :param reachable: names of the hosts that respond
    """
    for leftovers in detach(world, [name for name in world.databases if name in reachable], roles).values():
        world.event("note", text=f"WARNING: {leftovers}")


def secret_properties(text: str, file: str, system: str) -> dict[str, str]:
    """Returns the properties with which clients log in to an attached system. Their names are those of the binding.

    :param text: content of the file, in YAML: the properties of each system. A property ``….ca`` names a file of
        certificates. The file's content, in Base64, replaces the name, so clients and administration need no file
    :param file: path of the file on the control machine
    :raises BadInputError: if other users may read the file, or its format is wrong
    """
    try:
        if os.stat(os.path.expanduser(file)).st_mode & 0o077:  # noqa: PTH111, PTH116 - pathlib fails for an unknown user
            raise BadInputError(f"attached_secrets={file}: other users may read it; run: chmod 600 {file}")
        entries = (yaml.safe_load(text) or {}).get(system, {}).items()
        properties = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in entries}
        for key in [key for key in properties if key.endswith(".ca")]:
            with open(os.path.expanduser(properties[key]), "rb") as certificates:  # noqa: PTH111, PTH123 - as above
                properties[key] = base64.b64encode(certificates.read()).decode()
    except (OSError, AttributeError, yaml.YAMLError) as error:
        # The message of the YAML error would quote a line of the file, which may contain a password.
        cause = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else "must be YAML; docs/attach.md"
        raise BadInputError(f"attached_secrets={file}: {cause}") from None
    return properties
