"""Ansible filter: values of a role's variables that a statement or a configuration file would misunderstand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

DOCUMENTATION = r"""
name: misfits
short_description: Find the values that do not match their patterns
description:
  - As C(RoleVariable.check) of the Python package dohyo does for scenarios; inventories and extra variables are seen
    here alone.
  - A value has no control characters, which would end a line of a configuration file. Where the variable has a pattern,
    the value, each element of a list and each key of a dict match it as a whole.
positional: _options, _patterns
options:
  _input:
    description: The values by the names of the variables.
    type: dict
    required: true
  _options:
    description: The variables as the role's argument spec declares them; of one with C(no_log) the value is not shown.
    type: dict
    required: true
  _patterns:
    description: Regular expressions by the names of the variables.
    type: dict
    required: true
"""

EXAMPLES = r"""
that: service_values | misfits(service_options, service_patterns) | length == 0
"""

RETURN = r"""
_value:
  description: One sentence per value that does not fit.
  type: list
  elements: str
"""

# As dohyo/plain_text.py has it.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def texts(value: Any) -> Iterator[str]:
    """Everything in a value, as text: of a dict also its keys."""
    if isinstance(value, dict):
        yield from texts([*value.keys(), *value.values()])
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)
    else:
        yield str(value)


def misfits(values: dict[str, Any], options: dict[str, Any], patterns: dict[str, str]) -> list[str]:
    """One sentence per value that does not fit."""
    found = []
    for name, value in values.items():
        shown = "(not shown)" if options[name].get("no_log") else repr(value)
        pattern = patterns.get(name, ".*")
        if any(CONTROL.search(text) for text in texts(value)):
            found.append(f"{name}={shown}: must be a single line without control characters")
        elif not all(re.fullmatch(pattern, text) for text in texts([*value] if isinstance(value, dict) else value)):
            found.append(f"{name}={shown}: must match {pattern}")
    return found


class FilterModule:
    """What Ansible looks for."""

    def filters(self) -> dict[str, Any]:
        """Filters by name."""
        return {"misfits": misfits}
