"""Ansible filter: what several hosts say, each sentence once."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = r"""
name: by_sentence
short_description: Merge equal sentences of several hosts
description:
  - Every sentence comes once, behind the names of the hosts that say it; of more than four, three are named.
positional: _input
options:
  _input:
    description: List of sentences by host.
    type: dict
    required: true
"""

EXAMPLES = r"""
notes: "{{ {'a': ['it rains'], 'b': ['it rains', 'it is cold']} | by_sentence }}"
"""

RETURN = r"""
_value:
  description: >-
    Sentences, in the example C(a, b: it rains) and C(b: it is cold).
  type: list
  elements: str
"""

NAMED = 4


def by_sentence(said: dict[str, list[str]]) -> list[str]:
    """Each sentence once, with who says it."""
    hosts: dict[str, list[str]] = {}
    for host, sentences in said.items():
        for sentence in sentences:
            hosts.setdefault(sentence, []).append(host)
    return [f"{named(who)}: {sentence}" for sentence, who in hosts.items()]


def named(hosts: list[str]) -> str:
    """Names of hosts, as many as one reads."""
    if len(hosts) <= NAMED:
        return ", ".join(hosts)
    return f"{', '.join(hosts[: NAMED - 1])} and {len(hosts) - NAMED + 1} more"


class FilterModule:
    """Offers the filter to Ansible."""

    def filters(self) -> dict[str, Any]:
        """Filters by name."""
        return {"by_sentence": by_sentence}
