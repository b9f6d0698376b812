"""Ansible filter: what a running server's conditions are worth beside those that were asked for."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = r"""
name: judged
short_description: Add the consistency, and the differences from what was asked for, to the conditions of a server
description:
  - C(consistency) is C(strong) where every read meets every acknowledged write, which is so when
    write copies + read copies > replication (a reader's and a writer's sets of copies must overlap), else C(eventual).
    A role for whose database that does not hold states it itself.
  - C(differences) has one sentence per condition that is not as asked for.
positional: _asked
options:
  _input:
    description: What the role has read back from the server.
    type: dict
    required: true
  _asked:
    description: The conditions of the scenario.
    type: dict
    required: true
"""

EXAMPLES = r"""
conditions: "{{ cassandra_conditions | judged(trial_conditions) }}"
"""

RETURN = r"""
_value:
  description: The input with C(consistency) and C(differences).
  type: dict
"""


def copies(acks: str, replication: int) -> int:
    """How many of the copies must answer."""
    return {"one": 1, "quorum": replication // 2 + 1}.get(acks, replication)


def consistency(write_copies: int, read_copies: int, replication: int) -> str:
    """Whether a read is sure to see the last acknowledged write."""
    return "strong" if write_copies + read_copies > replication else "eventual"


def judged(found: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The conditions found, with what they are worth beside the ones asked for."""
    result = {"consistency": consistency(found["write_copies"], found["read_copies"], found["replication"]), **found}
    wanted = dict(asked)
    if {"replication", "write_acks", "read_acks"} <= asked.keys():
        replication = int(asked["replication"])
        wanted["consistency"] = consistency(
            copies(asked["write_acks"], replication), copies(asked["read_acks"], replication), replication
        )
    differences = [
        f"{name}: asked for {value}, the server has {result.get(name, 'not said which')}"
        for name, value in wanted.items()
        if str(result.get(name)) != str(value)
    ]
    return {**result, "differences": differences}


class FilterModule:
    """Offers the filter to Ansible."""

    def filters(self) -> dict[str, Any]:
        """Filters by name."""
        return {"judged": judged}
