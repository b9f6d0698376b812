"""The systems under test (ansible/systems.yml), and the variables that their roles declare for scenarios."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from dohyo import plain_text
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, LOCAL_HOME

# Python's types for those of an argument spec; a "list" or "dict" is written in YAML's flow style: [a, b], {a: 1}.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "bool": bool,
    "float": (int, float),
    "list": list,
    "dict": dict,
}
# Files that Ansible takes as templates, which can run programs; an inventory is code of its owner's anyway.
_TEMPLATES = ("mysql_schema",)


@dataclass(frozen=True)
class System:
    """One database under test: a line of systems.yml."""

    name: str
    title: str
    role: str
    binding: str
    # Bindings whose properties it has: its own, and the one that this is built on.
    bindings: tuple[str, ...]
    # Role variables that set it apart from other systems of the same role.
    variables: tuple[str, ...] = ()

    def installed(self) -> bool:
        """Whether its server was put on this machine before."""
        return (LOCAL_HOME / "install" / self.role).is_dir()


@dataclass(frozen=True)
class RoleVariable:
    """One option of a role's argument spec."""

    name: str
    type: str
    choices: tuple[Any, ...]

    def check(self, value: str) -> Any:
        """Returns the value with its type.

        :raises BadInputError: naming variable, value and what is allowed
        """
        if self.name in _TEMPLATES:
            raise BadInputError(f"{self.name}={value}: a scenario cannot name a template; set it in an inventory")
        typed: Any = value
        if self.type in _TYPES:
            try:
                typed = yaml.safe_load(value)
                json.dumps(typed)
            except (yaml.YAMLError, ValueError, TypeError, RecursionError):
                typed = None  # or of what JSON has no type for: a date, a mapping within itself
            # In Python a bool is an int.
            if not isinstance(typed, _TYPES[self.type]) or (self.type != "bool" and isinstance(typed, bool)):
                raise BadInputError(f"{self.name}={value}: must be of type {self.type}")
        # Those that YAML's escapes have put together, too.
        for text in _texts(typed):
            plain_text.check(text, f"{self.name}={value}")
        if self.choices and typed not in self.choices:
            raise BadInputError(f"{self.name}={value}: must be one of {', '.join(map(str, self.choices))}")
        return typed


def _texts(part: Any) -> Iterator[str]:
    """All texts in a value, keys of mappings too."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, (list, dict)):
        for inside in part if isinstance(part, list) else itertools.chain(part, part.values()):
            yield from _texts(inside)


@cache
def all_systems() -> dict[str, System]:
    """All systems by name, in the order of systems.yml."""
    entries = yaml.safe_load((ANSIBLE / "systems.yml").read_text(encoding="utf-8"))["systems"]
    return {
        name: System(
            name,
            entry["title"],
            entry["role"],
            entry["binding"],
            tuple(entry[key] for key in ("binding", "inherits") if key in entry),
            tuple(entry.get("variables", ())),
        )
        for name, entry in entries.items()
    }


@cache
def role_variables() -> dict[str, RoleVariable]:
    """What the systems' roles declare in meta/argument_specs.yml under their own prefix (the rest is between roles)."""
    variables = {}
    for role in {system.role for system in all_systems().values()}:
        specs = yaml.safe_load((ANSIBLE / "roles" / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
        for entry_point in specs["argument_specs"].values():
            for name, option in entry_point.get("options", {}).items():
                if name.startswith(f"{role}_"):
                    variables[name] = RoleVariable(name, option.get("type", "str"), tuple(option.get("choices", ())))
    return variables
