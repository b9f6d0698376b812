"""The systems under test, and the variables that scenarios may set for them: ansible/systems/NAME/system.yml."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from dohyo import plain_text
from dohyo.bad_input import BadInputError, unknown
from dohyo.places import ANSIBLE, LOCAL_HOME, shown

# What a whole number matches where the description has no pattern: no setting of a server is negative or larger.
WHOLE = "[0-9]{1,9}"
# Python's types for those of a description; a "list" or "dict" is written in YAML's flow style: [a, b], {a: 1}.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "bool": bool,
    "float": (int, float),
    "list": list,
    "dict": dict,
}
# Keys that a description must have, and keys below some of them; docs/adding-a-system.md#1-the-description explains all
# keys.
REQUIRED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("address", "admin", "binding", "client_properties", "command", "folders", "ports", "programs"), ()
    ),
    **dict.fromkeys(("templates", "title", "variables", "vars", "version", "words"), ()),
    "needs": ("memory_mb", "size"),
    "timeouts": ("ready", "settle", "stop"),
}
# Keys that it may have.
OPTIONAL = (
    *("archive", "asks_ready", "attach", "available", "binaries", "by_name", "capabilities", "certificates"),
    *("client_certificates", "compression", "count_limit", "count_verb", "disk_by", "disk_mb", "disks", "drops"),
    *(
        "files",
        "first_words",
        "folder_mode",
        "hosts",
        "inherits",
        "initialise",
        "jars",
        "jvm",
        "log_folders",
        "login",
        "look",
    ),
    *("makes", "node", "notes", "one_by_one", "opens", "order", "owner", "passwords", "peers", "preferred"),
    *("processes", "raw_devices", "refusals", "reusable", "schema_words", "secret_files", "server_properties"),
    *("settle_words", "settles_everywhere", "spared", "starts", "tuned", "unavailable", "up", "variants"),
)
# Further keys of `needs`.
_OF_NEEDS = ("cache_mb", "unmet", "instead", "way_out")
# Keys of `attach`: servers that are not ours.
_OF_ATTACH = ("admin", "words", "client_properties", "schema_words")
# Keys of a variable; the first two are required.
_OF_VARIABLE = ("default", "description", "type", "elements", "choices", "pattern", "no_log")
# Keys of a value of the profile "tuned"; the first two are required.
_OF_TUNED = ("value", "source", "vanilla", "shown")


@dataclass(frozen=True)
class System:
    """One database under test: a description, or one of its variants."""

    name: str
    title: str
    role: str
    binding: str
    # Bindings whose properties it has: its own, and the one that this is built on.
    bindings: tuple[str, ...]
    # Variables that distinguish it from other systems of the same description.
    variables: tuple[str, ...] = ()
    # Not one of `systems=all`.
    by_name: bool = False
    # The licence to agree to before its vendor's archive is downloaded; "" if there is no download.
    licence: str = ""
    # Servers that run already can be measured (docs/attach.md).
    attaches: bool = False
    # Variables that concern the tables also of servers that run already; others concern servers that Dohyo starts.
    of_tables: tuple[str, ...] = ()

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
        parts = typed if isinstance(typed, list) else [*typed.values()] if isinstance(typed, dict) else []
        if not all(isinstance(part, str | int | float) for part in parts):
            raise BadInputError(
                f"{self.name}={value}: each {'element' if self.type == 'list' else 'value'} must be a text or a number"
            )
        if self.type == "int" and self.name.endswith("_port") and not 1 <= typed <= 65535:
            raise BadInputError(f"{self.name}={value}: must be a port, 1 to 65535")
        if self.choices and typed not in self.choices:
            raise BadInputError(f"{self.name}={value}: must be one of {', '.join(map(str, self.choices))}")
        # As the filter misfits of Ansible, which sees what inventories say, too.
        if not all(re.fullmatch(self.pattern, text) for text in _texts([*typed] if self.type == "dict" else typed)):
            raise BadInputError(f"{self.name}={value}: {_each(self.type)} must match {self.pattern}")
        return typed


# As ansible/plugins/vars/systems.py has them; docs/attach.md.
ATTACHED = {
    "attached": RoleVariable("attached", "dict", ()),
    "attached_secrets": RoleVariable("attached_secrets", "str", ()),
    "attached_may": RoleVariable("attached_may", "list", (), "settle"),
}
NOTHING_ATTACHED: dict[str, Any] = {"attached": {}, "attached_secrets": "", "attached_may": []}


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


def check_description(role: str, content: Any) -> None:
    """Refuses a description that the role `system` cannot work with.

    :raises BadInputError: naming what is missing, unknown or of the wrong type
    """
    keys = (*REQUIRED, *OPTIONAL)
    _check_keys("", content, tuple(REQUIRED), keys)
    for key, below in REQUIRED.items():
        if below:
            _check_keys(f"{key}: ", content[key], below, (*below, *_OF_NEEDS))
    if not content.keys() & {"available", "unavailable"}:
        raise BadInputError(
            "no available and no unavailable; docs/adding-a-system.md#1-the-description says what they do"
        )
    if not isinstance(content.get("order", 0), int):
        raise BadInputError(f"order: {content['order']!r}: must be a whole number")
    _check_keys("attach: ", content.get("attach", dict.fromkeys(_OF_ATTACH)), _OF_ATTACH[:3], _OF_ATTACH)
    variants = content.get("variants", {})
    _check_keys("variants: ", variants)
    for name, variant in variants.items():
        _check_keys(f"variants: {name}: ", variant, (), (*keys, "variant"))
    for key, prefix in (("variables", f"{role}_"), ("vars", f"_{role}_")):
        _check_keys(f"{key}: ", content[key])
        for name in content[key]:
            if not str(name).startswith(prefix):
                raise BadInputError(f"{key}: {name}: must begin with {prefix}")
    for name, option in content["variables"].items():
        _check_keys(f"variables: {name}: ", option, _OF_VARIABLE[:2], _OF_VARIABLE)
        if option.get("type", "str") not in ("str", "path", *_TYPES):
            raise BadInputError(f"variables: {name}: type: {option['type']!r}: must be str, path, {', '.join(_TYPES)}")
        if not isinstance(option.get("choices", []), list):
            raise BadInputError(f"variables: {name}: choices: {option['choices']!r}: must be a list")
        try:
            re.compile(option.get("pattern", ""))
        except (re.error, TypeError) as error:
            raise BadInputError(
                f"variables: {name}: pattern: {option['pattern']!r}: no regular expression: {error}"
            ) from error

    _check_tuned(role, content)


def _check_tuned(role: str, content: Any) -> None:
    _check_keys("tuned: ", content.get("tuned", {}))
    for name, entry in content.get("tuned", {}).items():
        where = f"tuned: {name}: "
        _check_keys(where, entry, _OF_TUNED[:2], _OF_TUNED)
        option = content["variables"].get(name)
        if option is None and (str(name).startswith(f"{role}_") or f"{role}_settings" not in content["variables"]):
            raise BadInputError(f"{where}variables has no {name}, and as a setting it needs {role}_settings")
        for key, value in (("shown", entry["value"]), ("vanilla", "{{" if option is None else option["default"])):
            if "{{" in str(value) and not entry.get(key):
                raise BadInputError(f"{where}no {key}, the value in words")
        if not str(entry["source"] or "").strip():
            raise BadInputError(f"{where}source: must say where the value comes from")


def fetching(names: str) -> list[str]:
    """The assignments that --fetch stands for.

    :param names: systems, with commas between them
    :raises BadInputError: if one of them has no archive that could be downloaded
    """
    can = [name for name, system in all_systems().items() if system.licence]
    for name in (found := [each.strip() for each in names.split(",")]):
        if name not in can:
            raise BadInputError(f"--fetch {names}: {name!r} is no system with a download; there are {', '.join(can)}")
    return [f"{name}_fetch=true" for name in found]


def check_fetching(names: str, chosen: Sequence[str]) -> None:
    """Refuses to fetch the server of a system that will not be measured.

    :param names: what --fetch says, as for :func:`fetching`
    :param chosen: names of the experiment's systems
    :raises BadInputError: naming those that are not among them
    """
    if idle := [each.strip() for each in names.split(",") if each.strip() not in chosen]:
        raise BadInputError(
            f"--fetch {names}: {', '.join(idle)} is not measured here, the systems are {', '.join(chosen)}; add it with"
            " --systems, or leave it out"
        )


def _check_keys(where: str, content: Any, wanted: tuple[str, ...] = (), known: tuple[str, ...] | None = None) -> None:
    if not isinstance(content, dict):
        raise BadInputError(f"{where}must be a mapping, not {str(content)[:50]!r}")
    for name in content:
        if known is not None and name not in known:
            error = unknown("key", str(name), known, "docs/adding-a-system.md#1-the-description lists all")
            raise BadInputError(f"{where}{error}")
    if missing := [name for name in wanted if name not in content]:
        raise BadInputError(
            f"{where}no {' and no '.join(missing)}; docs/adding-a-system.md#1-the-description says what must be there"
        )


@cache
def _descriptions() -> dict[str, dict[str, Any]]:
    """The contents of systems/NAME/system.yml by the folder's name, in the order that the files give.

    :raises BadInputError: if one of them is wrong, naming the file
    """
    # LibYAML reads them ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, dict[str, Any]] = {}
    for file in (ANSIBLE / "systems").glob("*/system.yml"):
        role = file.parent.name
        try:
            found[role] = yaml.load(file.read_text(encoding="utf-8"), loader)  # noqa: S506 (a safe loader)
            check_description(role, found[role])
        except (OSError, ValueError, yaml.YAMLError, BadInputError) as error:
            raise BadInputError(f"{shown(file)}: {' '.join(str(error).split())}") from error
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
            variant.get("by_name", each.get("by_name", False)),
            each.get("archive", {}).get("licence", "").strip(),
            "attach" in each,
            _of_tables(each),
        )
        for role, each in _descriptions().items()
        for name, variant in each.get("variants", {role: {}}).items()
    }


def _of_tables(description: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables that also count where the servers run already."""
    said = [description.get("attach"), description.get("count_limit"), description.get("timeouts", {}).get("settle")]
    return tuple(key for key in description["variables"] if re.search(rf"\b{key}\b", json.dumps(said)))


def profiles() -> str:
    """Tables of every value that the profiles differ in, of all systems, in Markdown; docs/conditions.md has them."""
    lines = []
    for each in _descriptions().values():
        if not each.get("tuned"):
            continue
        lines += [f"**{each['title']}**", "", "| name | `vanilla` | `tuned` | source |", "|---|---|---|---|"]
        for name, entry in each["tuned"].items():
            default = each["variables"].get(name, {}).get("default")
            values = (entry.get("vanilla", default), entry.get("shown", entry["value"]))
            cells = (f"`{name}`", *(json.dumps(value) if isinstance(value, bool) else str(value) for value in values))
            lines.append(f"| {' | '.join(' '.join(cell.split()) for cell in (*cells, entry['source']))} |")
        lines.append("")
    return "\n".join(lines)


@cache
def defaults(role: str) -> dict[str, Any]:
    """The defaults of a description's variables; None for those that follow from others, or from the hosts."""
    variables = _descriptions()[role]["variables"]
    return {name: None if "{{" in str(option["default"]) else option["default"] for name, option in variables.items()}


@cache
def role_variables() -> dict[str, RoleVariable]:
    """The variables that the systems' descriptions declare for users, and those of systems that are attached."""
    return ATTACHED | {
        name: RoleVariable(
            name,
            option.get("type", "str"),
            tuple(option.get("choices", ())),
            option.get("pattern", WHOLE if option.get("type") == "int" else RoleVariable.pattern),
        )
        for each in _descriptions().values()
        for name, option in each["variables"].items()
    }
