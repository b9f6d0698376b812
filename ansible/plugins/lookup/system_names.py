"""Ansible lookup: the names of the systems, where the vars plugin has no say yet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from dohyo.bad_input import BadInputError
from dohyo.systems.catalogue import all_systems

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


class LookupModule(LookupBase):  # type: ignore[misc]
    """Entry point of the plugin."""

    def run(self, *_: Any, **__: Any) -> list[str]:
        """The names."""
        try:
            return sorted(all_systems())
        except BadInputError as error:
            raise AnsibleError(str(error)) from error
