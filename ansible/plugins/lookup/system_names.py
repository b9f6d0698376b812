"""Ansible lookup: the names of the systems, where the vars plugin has no say yet."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.plugins.lookup import LookupBase

DOCUMENTATION = r"""
name: system_names
short_description: Names of all systems, for tags
description:
  - Tags are read before there is a host, for which alone the vars plugin C(systems) is asked. Takes no terms.
"""

EXAMPLES = r"""
tags: "{{ query('system_names') }}"
"""

RETURN = r"""
_raw:
  description: The names.
  type: list
  elements: str
"""

SYSTEMS = Path(__file__).resolve().parents[2] / "systems"


@cache
def names() -> list[str]:
    """The names of the folders, and of variants instead of that of their folder."""
    found: list[str] = []
    for file in sorted(SYSTEMS.glob("*/system.yml")):
        # LibYAML reads them ten times as fast.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        content = yaml.load(file.read_text(encoding="utf-8"), loader)  # noqa: S506 (a safe loader)
        found += content.get("variants", [file.parent.name])
    return found


class LookupModule(LookupBase):
    """What Ansible looks for."""

    def run(self, *_: Any, **__: Any) -> list[str]:
        """The names."""
        return names()
