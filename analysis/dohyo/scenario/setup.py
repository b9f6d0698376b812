"""The setup behind published figures, in `workloads/published/NAME.yml`.

Its keys are Dohyo's properties and variables, or names of servers' settings. This lets summary/differences.py compare
it with the setup of an experiment, key by key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dohyo.bad_input import BadInputError, unknown
from dohyo.scenario import properties
from dohyo.scenario.property_types import Count, Duration
from dohyo.sizes import LETTERS, SIZES, size_bytes
from dohyo.systems import catalogue

GROUPS = ("hardware", "versions", "settings", "workload")
PHASE, SYSTEM = "phase", "system"
# Text for an unknown value, including a condition that cannot be read from attached servers.
NOT_KNOWN = "not known"
_MEMORY_WITHIN = 0.1
# Value of a setting that was not published; our choice is shown beside it.
NOT_PUBLISHED = "not published"
# Descriptions of the keys that are not properties, variables or settings of a server.
OTHERS = {
    "hosts": "database hosts",
    "clients": "client hosts",
    "clients_on": "clients on",
    "master": "master on",
    "processors": "processors of a host",
    "processor": "processor",
    "memory": "memory of a host",
    "disks": "disks",
    "os": "operating system",
    "server": "server",
    "jdk": "JDK",
    "client": "client",
    "all_threads": "threads of all clients together",
    "sessions": "sessions",
    "key_type": "stored key",
    "table": "form of the table",
}


@dataclass(frozen=True)
class Setting:
    """One part of a published setup.

    :ivar group: one of `GROUPS`
    :ivar key: key of `OTHERS`, a property, a variable of a system, or the name of a server's setting
    :ivar values: values in canonical form; several if the publication has several
    :ivar point: where it applies: values by dimension, `phase` or `system`; empty for everywhere
    """

    group: str
    key: str
    values: list[str]
    point: dict[str, list[str]] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """Description of the key."""
        return OTHERS.get(self.key, self.key)

    @property
    def is_silent(self) -> bool:
        """Whether the value was not published; our value is then shown even if it is the default."""
        return self.values == [NOT_PUBLISHED]

    def says(self, values: Iterable[str | None]) -> str:
        """Returns sorted values as text, with commas in counts and units after durations."""
        return ", ".join(sorted({_said(self.key, value) for value in values}, key=_order))

    def equals(self, measured: Collection[str | None]) -> bool:
        """Returns whether our values form the same set; an unknown value differs from every value."""
        return (
            None not in measured
            and all(any(_same(self.key, published, value or "") for value in measured) for published in self.values)
            and all(any(_same(self.key, published, value or "") for published in self.values) for value in measured)
        )


def parts(content: list[Any], check_point: Callable[[Any], dict[str, list[str]]]) -> list[Setting]:
    """Returns the checked settings of a file's key `setup`.

    :param content: value of the key
    :param check_point: function that checks where a part applies
    :raises BadInputError: naming the part, its key and what is wrong with it
    """
    settings = []
    for number, part in enumerate(content, start=1):
        try:
            if not isinstance(part, dict):
                raise BadInputError(f"{part!r}: must be a mapping of keys to values")
            if strange := [key for key in part if key not in ("at", *GROUPS)]:
                raise unknown("key", str(strange[0]), ("at", *GROUPS))
            point = check_point(part.get("at", {}))
            for group in (group for group in GROUPS if group in part):
                if not isinstance(part[group], dict):
                    raise BadInputError(f"{group}: {part[group]}: must be a mapping of keys to values")
                settings += [Setting(group, str(key), _checked(str(key), value, point), point)
                          for key, value in part[group].items()]  # fmt: skip
        except BadInputError as error:
            raise BadInputError(f"part {number} of the setup: {error}") from error
    return settings


def _checked(key: str, value: Any, point: Mapping[str, list[str]]) -> list[str]:
    """Returns the values of a key in the canonical form of Dohyo's properties and variables.

    :raises BadInputError: if the key does not exist, or a value is not allowed
    """
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(item, str | int | float) for item in values):
        raise BadInputError(f"{key}: {value}: must be text or a number, or a list of these")
    texts = [properties.plain(item) for item in values]
    entry, variable = properties.known().get(key), catalogue.all_options().get(key)
    if not (key in OTHERS or entry or variable or _may_be_set(key, point)):
        names = [*OTHERS, *properties.known(), *catalogue.all_options()]
        raise unknown("key", key, names, "a server setting needs 'at: {system: …}'")
    if key in OTHERS or texts == [NOT_PUBLISHED] or is_flags(key):
        return texts
    if entry:
        return [entry.check(text) for text in texts]
    return [properties.plain(variable.parse(text)) for text in texts] if variable else texts


def is_flags(key: str) -> bool:
    """Returns whether a key lists JVM flags, which are compared one by one."""
    return key.endswith("_java_options") and key in catalogue.all_options()


def _may_be_set(key: str, point: Mapping[str, list[str]]) -> bool:
    """Returns whether a key may be a server setting of all systems in ``point``."""
    roles = {catalogue.all_systems()[name].role for name in point.get(SYSTEM, ()) if name in catalogue.all_systems()}
    settings = [catalogue.all_options().get(f"{role}_settings") for role in roles]
    return bool(settings) and all(setting is not None and re.fullmatch(setting.pattern, key) for setting in settings)


def _same(key: str, published: str, measured: str) -> bool:
    if key in ("server", "jdk"):  # our value also contains the build
        return re.match(re.escape(published) + r"(?![0-9A-Za-z._])", measured) is not None
    if key == "memory":  # the kernel reserves part of it, and vendors write GB for GiB
        one, other = (size_bytes(text, SIZES | LETTERS) or 0 for text in (published, measured))
        return abs(one - other) < _MEMORY_WITHIN * one
    return published == measured


def _said(key: str, value: str | None) -> str:
    entry = properties.known().get(key)
    if value is None:
        return NOT_KNOWN
    if entry is not None and isinstance(entry.type, Count) and value.isdecimal():
        return f"{int(value):,}"
    return f"{value} s" if entry is not None and isinstance(entry.type, Duration) and value.isdecimal() else value


def _order(text: str) -> tuple[int, str]:
    """Returns a sort key: numbers with fewer digits come first."""
    digits = re.match(r"[0-9,]*", text)
    return (len(digits[0]) if digits else 0, text)
