"""Ansible filter: a mapping as the text of a file that java.util.Properties reads."""

from __future__ import annotations

import re
from typing import Any

DOCUMENTATION = r"""
name: as_properties
short_description: Write a mapping as a Java property file
description:
  - One line C(key=value) for each entry, sorted by key. Whatever a key or a value holds stays within its own line, and
    Java reads it back as it was given.
options:
  _input:
    description: Keys and values; values that are no text are written as Ansible writes them.
    type: dict
    required: true
"""

EXAMPLES = r"""
content: "{{ {'hosts': '127.0.0.1', 'password': secret} | as_properties }}"
"""

RETURN = r"""
_value:
  description: The file's text.
  type: str
"""


def escaped(text: str, special: str) -> str:
    r"""The text without line ends and the like, which become ``\\uXXXX``, and with ``\\`` before special characters."""

    def escape(match: re.Match[str]) -> str:
        character = match[0]
        return f"\\u{ord(character):04x}" if character < " " else f"\\{character}"

    return re.sub(rf"[\x00-\x1f\\{special}]|^ ", escape, text)


def as_properties(values: dict[str, Any]) -> str:
    """The lines of the property file."""
    return "".join(f"{escaped(key, ' =:#!')}={escaped(str(value), '')}\n" for key, value in sorted(values.items()))


class FilterModule:
    """The filter, for Ansible."""

    def filters(self) -> dict[str, Any]:
        """Filters by name."""
        return {"as_properties": as_properties}
