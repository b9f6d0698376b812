"""Catalogue of the systems under test: loads the classes in ansible/systems/NAME/system.py."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from functools import cache
from pathlib import Path
from typing import TypeVar

from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, shown
from dohyo.systems.context import Context
from dohyo.systems.option import Option
from dohyo.systems.system import System

T = TypeVar("T")
# Variables of attached systems (docs/attach.md), which do not belong to a single system.
ATTACHED = {
    "attached": Option("attached", "dict", {}),
    "attached_secrets": Option("attached_secrets", "str", ""),
    "attached_may": Option("attached_may", "list", [], pattern="settle"),
}


@cache
def all_systems() -> dict[str, System]:
    """Returns all systems by name, sorted by their member ``order``.

    :raises BadInputError: if a file cannot be loaded, or two systems have the same name
    """
    systems: dict[str, System] = {}
    for file in sorted((ANSIBLE / "systems").glob("*/system.py")):
        for system in load(file):
            if systems.setdefault(system.name, system) is not system:
                raise BadInputError(f"{shown(file)}: the name {system.name} is already used; choose another name")
    return {system.name: system for system in sorted(systems.values(), key=lambda entry: entry.order)}


def load(file: Path) -> Sequence[System]:
    """Loads a file and returns its list SYSTEMS.

    :raises BadInputError: naming the file if Python cannot load it, or if a declaration in it is wrong
    """

    def check(system: object) -> System:
        if not isinstance(system, System):
            raise TypeError(f"SYSTEMS contains {system!r}, which is not a system")
        if system.role != file.parent.name:
            raise ValueError(f"role={system.role} must be {file.parent.name}, the name of the folder")
        if not all(isinstance(text, str) for text in (system.binding, system.admin, system.name, system.title)):
            raise TypeError(f"{system.name}: binding, admin, name and title must be strings")
        if not isinstance(system.order, int):
            raise TypeError(f"order={system.order} must be a number")
        if undeclared := [name for name, member in vars(type(system)).items() if isinstance(member, Field)]:
            raise TypeError(f"the class of {', '.join(undeclared)} must be a dataclass")
        for name, option in system.all_options().items():
            if hasattr(System, name) and name not in {field.name for field in fields(System)}:
                raise TypeError(f"{option.name}: every system has a member {name}; choose another name")
            if option.default is not None:
                option.check(option.default)
            elif name not in system.variant:
                getattr(system, f"default_{name}")
        return system

    name = f"dohyo_systems_{file.parent.name}"
    # The file may import its neighbours as `from .NAME`.
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
    if spec is None or spec.loader is None:
        raise BadInputError(f"{shown(file)}: is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses looks up the module
    try:
        spec.loader.exec_module(module)
        return tuple(map(check, module.SYSTEMS))
    except (Exception, SystemExit) as error:
        raise BadInputError(f"{shown(file)}: {type(error).__name__}: {' '.join(str(error).split())}") from error


def ask(name: str, context: Context, question: Callable[[System], T]) -> T:
    """Calls a function with a system in a context, and returns the function's result.

    :param name: name of the system
    :param question: the function, for example ``lambda system: system.needs()``
    :raises BadInputError: naming the system and its invalid variables if the function fails
    """
    system = all_systems()[name]
    try:
        system = system.on(context)
        return question(system)
    except BadInputError:
        raise
    except Exception as error:
        reason = "; ".join(system.misfits) or f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise BadInputError(f"{name}: {reason}") from error


@cache
def all_options() -> dict[str, Option]:
    """Returns the variables of all systems by name, and the variables of attached systems."""
    of_systems = {option.name: option for system in all_systems().values() for option in system.all_options().values()}
    return ATTACHED | of_systems


@cache
def of_role(role: str) -> System:
    """Returns the first system of a role."""
    return next(system for system in all_systems().values() if system.role == role)


@cache
def defaults(role: str) -> Mapping[str, object]:
    """Returns each variable's default for a role; None if it depends on the variant, other variables or the host."""
    system = of_role(role)
    return {
        option.name: None if name in system.variant else option.default for name, option in system.all_options().items()
    }


def profiles() -> str:
    """Returns Markdown tables of the values that differ between the profiles; docs/conditions.md includes them."""
    lines = []
    for system in map(of_role, dict.fromkeys(entry.role for entry in all_systems().values())):
        rows = system.on(Context()).tuned()
        if not rows:
            continue
        title = system.title if len(system.variant) == 0 else system.title.partition(" (")[0]
        lines += [f"**{title}**", "", "| name | `vanilla` | `tuned` | source |", "|---|---|---|---|"]
        for row in rows:
            option = system.all_options().get(row.name)
            name = option.name if option else row.name
            cells = (f"`{name}`", row.vanilla or (option.default if option else ""), row.shown or row.value)
            texts = [json.dumps(cell) if isinstance(cell, bool) else str(cell) for cell in (*cells, row.source)]
            lines.append(f"| {' | '.join(' '.join(text.split()) for text in texts)} |")
        lines.append("")
    return "\n".join(lines)


def fetching(names: str) -> list[str]:
    """Returns the values of --set that are equivalent to the option --fetch.

    :param names: names of systems, separated by commas
    :raises BadInputError: if a system has no archive to download
    """
    can = [name for name, system in all_systems().items() if system.licence]
    for name in (systems := [part.strip() for part in names.split(",")]):
        if name not in can:
            raise BadInputError(f"--fetch {names}: {name!r} has no download; systems with a download: {', '.join(can)}")
    return [f"{name}_fetch=true" for name in systems]


def check_fetching(names: str, systems: Sequence[str]) -> None:
    """Checks that every system to fetch will be measured.

    :param names: value of --fetch, as for :func:`fetching`
    :param systems: names of the experiment's systems
    :raises BadInputError: naming the systems that will not be measured
    """
    if idle := [part.strip() for part in names.split(",") if part.strip() not in systems]:
        raise BadInputError(
            f"--fetch {names}: {', '.join(idle)} is not among the systems {', '.join(systems)}; add it with --systems"
        )


def not_attached() -> dict[str, object]:
    """Returns the variables of attached systems with their defaults, for a trial without attached systems."""
    return {name: option.default for name, option in ATTACHED.items()}
