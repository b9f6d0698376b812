"""Renders configuration files: Jinja templates, and the formats of the servers' settings."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dohyo.bad_input import BadInputError


def render(file: Path, **variables: Any) -> str:
    """Renders a Jinja template.

    :param variables: variables of the template, which can also use the filter ``json``
    :raises jinja2.UndefinedError: if the template uses a name that does not exist
    """
    return str(_environment(file.parent).get_template(file.name).render(**variables))


@cache
def _environment(folder: Path) -> Any:
    import jinja2  # noqa: PLC0415 - imported only when needed; planning renders no templates

    class Environment(jinja2.Environment):
        def getattr(self, obj: Any, attribute: str) -> Any:
            # Otherwise Jinja would report a property that raises AttributeError as undefined, and hide the reason.
            is_member = isinstance(getattr(type(obj), attribute, None), property)
            return getattr(obj, attribute) if is_member else super().getattr(obj, attribute)

    environment = Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["json"] = json.dumps
    return environment


def option_lines(text: str) -> list[str]:
    """Returns the lines of a JVM options file, without empty lines and comments."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def as_properties(values: dict[str, Any]) -> str:
    """Returns a mapping in the format of java.util.Properties: one line per entry, sorted by key."""
    return "".join(property_line(key, str(value)) for key, value in sorted(values.items()))


def property_line(key: str, value: str) -> str:
    """Returns a line of a file in the format of java.util.Properties."""
    return f"{_escaped(key, ' =:#!')}={_escaped(value, '')}\n"


def _escaped(text: str, special: str) -> str:
    r"""Escapes control characters and a leading space as ``\\uXXXX``, and special characters with ``\\``."""

    def escape(match: re.Match[str]) -> str:
        character = match[0]
        return f"\\u{ord(character):04x}" if character < " " else f"\\{character}"

    return re.sub(rf"[\x00-\x1f\\{special}]|^ ", escape, text)


def as_yaml(text: str, settings: dict[str, Any]) -> str:
    """Returns a YAML configuration with further settings, which replace existing values.

    :param text: the configuration
    :param settings: values by path; dots separate the keys of a path
    :raises BadInputError: if a setting would replace a mapping or a list, or its path leads through a scalar
    """
    content = yaml.safe_load(text)
    for path, value in settings.items():
        *above, last = path.split(".")
        mapping = content
        for key in above:
            mapping = mapping.setdefault(key, {})
            if not isinstance(mapping, dict):
                raise BadInputError(f"setting {path}: {key} is {mapping!r} and has no keys")
        if isinstance(mapping.get(last), dict | list):
            raise BadInputError(f"setting {path}: it is a mapping or a list; set one of its values")
        mapping[last] = value
    return yaml.safe_dump(content, sort_keys=False, width=math.inf, allow_unicode=True)


def as_sections(text: str, settings: dict[str, Any]) -> str:
    """Returns a configuration of Aerospike with further settings, which replace existing values.

    :param text: the configuration
    :param settings: values by path, such as ``namespace.storage-engine.flush-size``; the path contains only the first
        word of each section's head
    :raises BadInputError: if the configuration has no such section, or a value contains a brace or a ``#``
    """
    if unfit := [f"{name}={value}" for name, value in settings.items() if re.search(r"[{}#]", str(value))]:
        raise BadInputError(f"setting {', '.join(unfit)}: a value cannot contain braces or #")
    remaining = dict(settings)
    lines: list[str] = []
    section: list[str] = []

    def line(path: str, depth: int) -> str:
        value = remaining.pop(path)
        return "\t" * depth + f"{path.rpartition('.')[2]} {str(value).lower() if isinstance(value, bool) else value}"

    for row in text.splitlines():
        tokens = row.split() or [""]
        path = ".".join([*section, tokens[0]])
        if tokens[-1] == "{":
            section.append(tokens[0])
        elif tokens[0] == "}":
            inside = ".".join(section)
            lines += [
                line(name, len(section)) for name in settings if name in remaining and name.rpartition(".")[0] == inside
            ]
            section.pop()
        lines.append(line(path, len(section)) if path in remaining else row)
    if remaining:
        raise BadInputError(f"setting {', '.join(remaining)}: the configuration has no such section")
    return "\n".join(lines) + "\n"
