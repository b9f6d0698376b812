"""Variables that an inventory or a scenario sets for a system: fields of its class, declared with :func:`option`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field, replace
from functools import lru_cache
from typing import Any

import yaml

from dohyo import plain_text, plain_yaml
from dohyo.bad_input import BadInputError

# Texts that Ansible's module parameters accept as booleans.
BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1", "y", "t"), True),
    **dict.fromkeys(("false", "no", "off", "0", "n", "f"), False),
}
# Default pattern of an int, because no setting of a server is negative or has more than nine digits.
WHOLE = "[0-9]{1,9}"
HEAP = "[0-9]{1,15}[kKmMgG]?"
ADDRESS = "[0-9A-Za-z.:_-]+"
SIZE = r"[0-9]{1,15}(\.[0-9]{1,9})?([kmgt]|[KMGT]B?)?"
SHA256 = "([0-9A-Fa-f]{64})?"

_TYPES: dict[str, type] = {"int": int, "bool": bool, "float": float, "str": str, "list": list, "dict": dict}
_FIELD = "option"


def option(
    default: Any,
    about: str,
    *,
    pattern: str = "",
    choices: Sequence[Any] = (),
    secret: bool = False,
    environment: str = "",
) -> Any:
    """Declares a variable of a system: the field ``heap`` of the class of Cassandra is the variable ``cassandra_heap``.

    :param default: None if the method ``default_NAME`` computes it from other variables or from the host
    :param about: description, one sentence
    :param pattern: regular expression that must match the whole value, each element of a list, or each key of a dict
    :param choices: allowed values; empty for any value
    :param secret: whether messages must hide the value
    :param environment: environment variable on the control machine with the value, used if no inventory sets it
    """
    declared = Option("", "", None, about, pattern, tuple(choices), secret, environment)
    if isinstance(default, list | dict):
        return field(default_factory=default.copy, repr=not secret, metadata={_FIELD: declared})
    return field(default=default, repr=not secret, metadata={_FIELD: declared})


def declared_in(fields: Sequence[Any], role: str) -> dict[str, Option]:
    """Returns the options among the fields of a class, by field name, in the order of declaration.

    :raises BadInputError: naming the option whose type or pattern is not valid
    """
    options = {}
    for entry in fields:
        if (declared := entry.metadata.get(_FIELD)) is not None:
            # The type is a string if the module has ``from __future__ import annotations``, otherwise a class.
            kind = str(getattr(entry.type, "__name__", entry.type)).partition("[")[0]
            if kind not in _TYPES:
                raise BadInputError(f"{role}_{entry.name}: its type is {kind}; it must be one of {', '.join(_TYPES)}")
            default = entry.default if entry.default_factory is MISSING else entry.default_factory()
            pattern = declared.pattern or (WHOLE if kind == "int" else ".*")
            try:
                re.compile(pattern)
            except re.error as error:
                raise BadInputError(f"{role}_{entry.name}: {pattern} is not a regular expression: {error}") from error
            options[entry.name] = replace(
                declared, name=f"{role}_{entry.name}", type=kind, default=default, pattern=pattern
            )
    return options


@dataclass(frozen=True)
class Option:
    """One variable of a system.

    :ivar name: name of the variable, with the role as prefix
    :ivar type: int, bool, float, str, list or dict
    :ivar default: None if it depends on other variables or on the host
    """

    name: str
    type: str
    default: Any = ""
    about: str = ""
    pattern: str = ".*"
    choices: tuple[Any, ...] = ()
    secret: bool = False
    environment: str = ""

    def parse(self, text: str) -> Any:
        """Returns the typed value of a text from a scenario or a command line; lists and dicts are in YAML.

        :raises BadInputError: naming the variable, the value and what is allowed
        """
        value: Any = text
        if self.type in ("list", "dict"):
            try:
                value = _loaded(text)
            except plain_yaml.RefusedError as error:
                raise BadInputError(f"{self.name}={'(not shown)' if self.secret else text}: {error}") from error
        return self.check(value, text)

    def check(self, value: Any, text: str | None = None) -> Any:
        """Checks a value of an inventory and returns it with the declared type.

        :param text: the value as it was typed, for the error message
        :raises BadInputError: as :meth:`parse`; the message hides a secret value
        """
        shown = "(not shown)" if self.secret else value if text is None else text
        typed = self._typed(value, shown)
        for scalar in _texts(typed):
            plain_text.check(scalar, f"{self.name}={shown}")
        parts = typed.values() if isinstance(typed, dict) else typed if isinstance(typed, list) else [typed]
        if not all(isinstance(part, str | int | float) for part in parts):
            subject = "each value" if self.type == "dict" else "each element" if self.type == "list" else "it"
            raise BadInputError(f"{self.name}={shown}: {subject} must be text or a number")
        if self.type == "int" and self.name.endswith("_port") and not 1 <= typed <= 65535:
            raise BadInputError(f"{self.name}={shown}: must be a port, 1 to 65535")
        if self.choices and typed not in self.choices:
            raise BadInputError(f"{self.name}={shown}: must be one of {', '.join(map(str, self.choices))}")
        for scalar in _texts([*typed] if self.type == "dict" else typed):
            if not re.fullmatch(self.pattern, scalar):
                subject = {"list": "each element", "dict": "each name"}.get(self.type, "it")
                wrong = "" if subject == "it" else f", which {scalar!r} does not"
                raise BadInputError(f"{self.name}={shown}: {subject} must match {self.pattern}{wrong}")
        return list(map(str, typed)) if self.type == "list" else typed

    def _typed(self, value: Any, shown: Any) -> Any:
        """Converts a value to the declared type, because Ansible's templates yield numbers and booleans as text."""
        if self.type == "str" and isinstance(value, str | int | float):
            return str(value)
        if self.type == "bool" and str(value).lower() in BOOLEANS:
            return BOOLEANS[str(value).lower()]
        if self.type in ("int", "float") and not isinstance(value, bool):
            try:
                number = float(str(value))
                if self.type == "float" or number.is_integer():
                    return number if self.type == "float" else int(str(value))
            except ValueError:
                pass
        if self.type in ("list", "dict") and isinstance(value, _TYPES[self.type]):
            return plain(value)
        raise BadInputError(f"{self.name}={shown}: must be of type {self.type}")


@lru_cache(maxsize=256)
def _loaded(text: str) -> Any:
    """Parses YAML; returns None if it is invalid or contains values that JSON cannot represent.

    Callers must not change the result, which is cached: every point of a matrix parses the same texts.
    """
    try:
        value = plain_yaml.parse(text)
        json.dumps(value)  # fails for dates
    except plain_yaml.RefusedError:
        raise
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None
    return value


def plain(value: Any) -> Any:
    """Returns a value with Python's own types instead of Ansible's subclasses, which PyYAML cannot write."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    for kind in (str, float, int):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
    return value


def _texts(value: Any) -> Iterator[str]:
    """Yields all scalars in a value as text, including the keys of dicts."""
    if isinstance(value, dict):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)
