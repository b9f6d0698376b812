"""Ansible filters for the playbooks. Each function is the filter of the same name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# Import only modules that need no other packages: the user's own Ansible may lack the packages that dohyo needs.
sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from dohyo.trial.use_notes import others


def disk_shortages(needs_mb: dict[str, Any], disks: dict[str, Any], rooms_mb: list[Any]) -> list[str]:
    """Returns one sentence for each system whose data does not fit into the free space of a host.

    :param needs_mb: MiB of the data on this host, by system
    :param disks: by system, how many folders of ``dohyo_data``, counted from the first, hold its data
    :param rooms_mb: free MiB in each of these folders
    """
    shortages = []
    for name, mb in needs_mb.items():
        rooms = [int(room) for room in rooms_mb][: int(disks[name])]
        if sum(rooms) < int(mb):
            where = f" in {len(rooms)} of {len(rooms_mb)} folders"
            shortages.append(
                f"{name} needs {mb} MiB, has {sum(rooms)}{where}; load fewer records, or add dohyo_devices"
            )
    return shortages


def cost(counts: Mapping[str, float], prices: Mapping[str, Any], address: float, hours: float = 1) -> str:
    """Returns the cost of instances in US dollars, or "unknown".

    :param counts: number of instances, or their total hours, by type
    :param prices: US dollars per hour and instance, by type
    :param address: US dollars per hour for the public address of each instance
    """
    if counts.keys() - prices.keys():
        return "unknown"
    return f"{hours * sum(count * (float(prices[kind]) + address) for kind, count in counts.items()):.2f}"


def price_from(
    kind: str, stated: Mapping[str, Any], api: Mapping[str, Any], bundled: Mapping[str, Any], listed: Mapping[str, Any]
) -> str:
    """Returns the source of an instance type's price, as aws.yml shows it."""
    if kind in stated:
        return "aws_price or aws_client_price"
    if kind in api:
        return "the AWS Price List API"
    return f"{listed['source']}, {listed['date']}" if kind in bundled else "nowhere, set aws_price or aws_client_price"


def answered(state: Mapping[str, Any], role: str, answers: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts about all systems on a host, with the answers added to the facts about one system.

    :param role: role of that system
    """
    return {**state, role: {**state.get(role, {}), **answers}}


class FilterModule:
    """The class through which Ansible finds the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Returns the filters by name."""
        filters = (answered, cost, disk_shortages, others, price_from)
        return {function.__name__: function for function in filters}
