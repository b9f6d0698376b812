"""Ansible lookup: evaluates an attribute or method of a system's class for a host."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from dohyo.bad_input import BadInputError
from dohyo.systems.catalogue import all_systems, ask
from dohyo.systems.context import Context

DOCUMENTATION = r"""
name: system
short_description: Value of an attribute or method of a system's class
description:
  - Evaluates a member of the class in systems/NAME/system.py with the variables of the host, and returns plain values.
  - C(context.NAME) is a member of the context, and needs no system.
options:
  _terms: {description: "Name of the member. Dots separate the parts of a nested name.", required: true}
  system: {description: Name of the system; by default the variable system_name., type: str}
  every: {description: Whether to return the values of all systems., type: bool, default: false}
"""


class Variables(Mapping[str, Any]):
    """The variables of a host. Reading a variable resolves its templates."""

    def __init__(self, variables: Mapping[str, Any], templar: Any) -> None:
        self.variables = variables
        self.templar = templar

    def __getitem__(self, name: str) -> Any:
        if name == "environment":
            return dict(os.environ)
        value = self.variables[name]
        return value if name == "hostvars" else self.templar.template(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)


def member(value: Any, path: str) -> Any:
    """Returns the member of an object at a path, such as ``context.NAME``."""
    for name in path.split("."):
        value = getattr(value, name) if value is not None else None
    return as_plain(value)


def as_plain(value: Any) -> Any:
    """Returns a value as plain dicts and lists. A dataclass becomes a dict of its properties and set fields."""
    if is_dataclass(value) and not isinstance(value, type):
        properties = [name for name, attribute in vars(type(value)).items() if isinstance(attribute, property)]
        every = {**asdict(value), **{name: getattr(value, name) for name in properties}}
        return {name: as_plain(item) for name, item in every.items() if item is not None}
    if isinstance(value, Mapping):
        return {key: as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in value]
    return value


class LookupModule(LookupBase):  # type: ignore[misc]
    """The lookup ``system``."""

    def run(
        self, terms: list[Any], variables: Mapping[str, Any] | None = None, system: str = "", every: bool = False
    ) -> list[Any]:
        """Returns the member's value, or the values of all systems."""
        values = Variables(variables or {}, self._templar)
        context = Context(values)
        (path,) = map(str, terms)
        try:
            if path.startswith("context."):
                return [member(context, path.removeprefix("context."))]
            names = [*all_systems()] if every else [system or str(values["system_name"])]
            if every and path == "name":
                return names  # a fast path for the tags of each task, which needs no variables of the host
            return [ask(name, context, lambda instance: member(instance, path)) for name in names]
        except BadInputError as error:
            raise AnsibleError(str(error)) from error
