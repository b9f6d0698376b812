"""The systems under test (ansible/systems.yml), and the variables that their roles declare for scenarios."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
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
    # Not one of `systems=all`.
    by_name: bool = False

    def installed(self) -> bool:
        """Whether its server was put on this machine before."""
        return (LOCAL_HOME / "install" / self.role).is_dir()


@dataclass(frozen=True)
class RoleVariable:
    """One option of a role's argument spec.

    :ivar pattern: what the value, each element of a list or each key of a dict matches as a whole (meta/patterns.yml)
    """

    name: str
    type: str
    choices: tuple[Any, ...]
    pattern: str = ".*"

    def check(self, value: str) -> Any:
        """Returns the value with its type.

        :raises BadInputError: naming variable, value and what is allowed
        """
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
        # As the filter misfits of Ansible, which sees what inventories say, too.
        if not all(re.fullmatch(self.pattern, text) for text in _texts([*typed] if self.type == "dict" else typed)):
            raise BadInputError(f"{self.name}={value}: {_each(self.type)} must match {self.pattern}")
        return typed


def _texts(value: Any) -> Iterator[str]:
    """Everything in a value, as text: of a dict also its keys."""
    if isinstance(value, dict):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)


def _each(type_: str) -> str:
    return {"list": "each element", "dict": "each name"}.get(type_, "it")


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
            entry.get("by_name", False),
        )
        for name, entry in entries.items()
    }


@cache
def role_variables() -> dict[str, RoleVariable]:
    """What the systems' roles declare in meta/argument_specs.yml under their own prefix (the rest is between roles)."""
    variables = {}
    for role in {system.role for system in all_systems().values()}:
        meta = ANSIBLE / "roles" / role / "meta"
        specs = yaml.safe_load((meta / "argument_specs.yml").read_text(encoding="utf-8"))
        patterns = _patterns(meta / "patterns.yml")
        for entry_point in specs["argument_specs"].values():
            for name, option in entry_point.get("options", {}).items():
                if name.startswith(f"{role}_"):
                    choices = tuple(option.get("choices", ()))
                    pattern = patterns.get(name, RoleVariable.pattern)
                    variables[name] = RoleVariable(name, option.get("type", "str"), choices, pattern)
    return variables


def _patterns(file: Path) -> dict[str, str]:
    found: dict[str, str] = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found
