"""The systems under test, and the variables that scenarios may set for them: ansible/systems/NAME/system.yml."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from dohyo import plain_text
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, LOCAL_HOME

# Python's types for those of a description; a "list" or "dict" is written in YAML's flow style: [a, b], {a: 1}.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "bool": bool,
    "float": (int, float),
    "list": list,
    "dict": dict,
}


@dataclass(frozen=True)
class System:
    """One database under test: a description, or one of its variants."""

    name: str
    title: str
    role: str
    binding: str
    # Bindings whose properties it has: its own, and the one that this is built on.
    bindings: tuple[str, ...]
    # Variables that set it apart from other systems of the same role.
    variables: tuple[str, ...] = ()
    # Not one of `systems=all`.
    by_name: bool = False

    def installed(self) -> bool:
        """Whether its server was put on this machine before."""
        return (LOCAL_HOME / "install" / self.role).is_dir()


@dataclass(frozen=True)
class RoleVariable:
    """One variable of a description.

    :ivar pattern: what the value, each element of a list or each key of a dict matches as a whole
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
def _descriptions() -> dict[str, dict[str, Any]]:
    """What systems/NAME/system.yml says, by the folder's name, in the order that the files say."""
    # LibYAML reads them ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {
        file.parent.name: yaml.load(file.read_text(encoding="utf-8"), loader)  # noqa: S506 (a safe loader)
        for file in (ANSIBLE / "systems").glob("*/system.yml")
    }
    return dict(sorted(found.items(), key=lambda each: (each[1].get("order", 99), each[0])))


@cache
def all_systems() -> dict[str, System]:
    """All systems by name, in their order (the same as in Ansible: plugins/vars/systems.py)."""
    return {
        name: System(
            name,
            variant.get("title", each["title"]),
            role,
            each["binding"],
            tuple(each[key] for key in ("binding", "inherits") if key in each),
            tuple(variant.get("variant", ())),
            each.get("by_name", False),
        )
        for role, each in _descriptions().items()
        for name, variant in each.get("variants", {role: {}}).items()
    }


@cache
def role_variables() -> dict[str, RoleVariable]:
    """The variables that the systems' descriptions declare for users."""
    return {
        name: RoleVariable(
            name,
            option.get("type", "str"),
            tuple(option.get("choices", ())),
            option.get("pattern", RoleVariable.pattern),
        )
        for each in _descriptions().values()
        for name, option in each["variables"].items()
    }
