"""Configuration files: templates, and further settings in the formats that servers read."""

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
    """Renders a Jinja template; a name that it does not have is an error, and ``json`` is a filter."""
    return str(_environment(file.parent).get_template(file.name).render(**variables))


@cache
def _environment(folder: Path) -> Any:
    import jinja2  # noqa: PLC0415 - a plan renders nothing

    class Environment(jinja2.Environment):
        def getattr(self, obj: Any, attribute: str) -> Any:
            # Jinja would call a member undefined that fails with an AttributeError.
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
    """Returns the lines of a file of JVM options, without empty ones and comments."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def as_properties(values: dict[str, Any]) -> str:
    """Returns a mapping as the text of a file that java.util.Properties reads: a line for each entry, sorted by key."""
    return "".join(f"{_escaped(key, ' =:#!')}={_escaped(str(value), '')}\n" for key, value in sorted(values.items()))


def _escaped(text: str, special: str) -> str:
    r"""The text with ``\\uXXXX`` for line ends and the like, and with ``\\`` before special characters."""

    def escape(match: re.Match[str]) -> str:
        character = match[0]
        return f"\\u{ord(character):04x}" if character < " " else f"\\{character}"

    return re.sub(rf"[\x00-\x1f\\{special}]|^ ", escape, text)


def as_yaml(text: str, settings: dict[str, Any]) -> str:
    """Returns a configuration in YAML with further settings by their keys, with dots in them; they replace its own.

    :raises BadInputError: for a setting in the place of a mapping or a list, or below a single value
    """
    content = yaml.safe_load(text)
    for path, value in settings.items():
        *above, last = path.split(".")
        place = content
        for key in above:
            place = place.setdefault(key, {})
            if not isinstance(place, dict):
                raise BadInputError(f"setting {path}: {key} is {place!r} and has no keys")
        if isinstance(place.get(last), dict | list):
            raise BadInputError(f"setting {path}: it has keys or elements of its own")
        place[last] = value
    return yaml.safe_dump(content, sort_keys=False, width=math.inf, allow_unicode=True)


def as_sections(text: str, settings: dict[str, Any]) -> str:
    """Returns a configuration of Aerospike with further settings, as ``SECTION.SUBSECTION.KEY``; they replace its own.

    A section is called by its first word: ``namespace.storage-engine.flush-size``.

    :raises BadInputError: where the configuration has no such section, and for a value that would end one
    """
    if unfit := [f"{name}={value}" for name, value in settings.items() if re.search(r"[{}#]", str(value))]:
        raise BadInputError(f"setting {', '.join(unfit)}: a value has no braces and no #")
    left = dict(settings)
    lines: list[str] = []
    section: list[str] = []

    def line(path: str, depth: int) -> str:
        value = left.pop(path)
        return "\t" * depth + f"{path.rpartition('.')[2]} {str(value).lower() if isinstance(value, bool) else value}"

    for each in text.splitlines():
        words = each.split() or [""]
        path = ".".join([*section, words[0]])
        if words[-1] == "{":
            section.append(words[0])
        elif words[0] == "}":
            inside = ".".join(section)
            lines += [
                line(name, len(section)) for name in settings if name in left and name.rpartition(".")[0] == inside
            ]
            section.pop()
        lines.append(line(path, len(section)) if path in left else each)
    if left:
        raise BadInputError(f"setting {', '.join(left)}: the configuration has no such section")
    return "\n".join(lines) + "\n"
