"""Ansible filter: the disk that a system's data takes on one host."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = r"""
name: disk_mb
short_description: The disk that a system's data takes on one host, in MiB
description:
  - The formula of docs/sizing.md, which analysis/dohyo/planning/sizing.py plans with; a test keeps the two equal.
positional: _records, _record_bytes, _replication, _hosts
options:
  _input:
    description:
      - What a role says of itself; C(record_disk) in bytes, C(log_mb), and C(spread) for data divided over the hosts.
    type: dict
    required: true
  _records:
    description: Records that are loaded.
    type: int
    required: true
  _record_bytes:
    description: Bytes of the values of a record.
    type: int
    required: true
  _replication:
    description: Copies of every record.
    type: int
    required: true
  _hosts:
    description: Database hosts.
    type: int
    required: true
"""

EXAMPLES = r"""
service_disk_mb: "{{ _h2_size | disk_mb(trial_recordcount, trial_record_bytes, trial_replication, 1) }}"
"""

RETURN = r"""
_value:
  description: MiB, rounded up.
  type: int
"""


def disk_mb(size: dict[str, Any], records: Any, record_bytes: Any, replication: Any, hosts: Any) -> int:
    """The copies on a host with what they take in all, and the log, which is never larger than what was written."""
    copies = int(records) * int(replication) / int(hosts) if size["spread"] else int(records)
    log = min(copies * int(record_bytes), int(size["log_mb"]) * 2**20)
    return int((copies * float(size["record_disk"]) + log) / 2**20) + 1


class FilterModule:
    """The filter, for Ansible."""

    def filters(self) -> dict[str, Any]:
        """Filters by name."""
        return {"disk_mb": disk_mb}
