"""Ansible filters for the playbooks. Each function is the filter of the same name."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lookup"))
# Import only modules that need no other packages: the user's own Ansible may lack the packages that dohyo needs.
sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from controller import machine, start_of

from dohyo.bad_input import BadInputError
from dohyo.systems.context import cpus


def no_cpus(text: Any) -> str:
    """Returns the message for a text that is not a list of processors."""
    return f"{text!r} must be numbers and ranges, as in 0-3,8-11"


def shortages(has: Mapping[str, Any], needs: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Returns why a host cannot divide its memory and processors as requested, one sentence for each reason.

    :param has: answer of the agent's ``host_resources`` with ``memory_mb`` and ``cpus``; empty without an answer
    :param needs: minimum MiB of each system, by name
    :param given: ``budget`` as the user set it, ``budget_mb``, ``client_mb`` of a client on the same host (0 without
        one), ``server_cpus``, ``client_cpus``
    """
    budget, client, memory = int(given["budget_mb"]), int(given["client_mb"]), int(has.get("memory_mb", 0))
    found = []
    if budget and memory and budget + client > memory:
        beside = f", and its client needs {client}" if client else ""
        found.append(
            f"host_memory_budget={given['budget']} is {budget} MiB{beside}, but the host has {memory}; set a smaller"
            " budget" + (", a smaller client_heap, or give the clients hosts of their own" if client else "")
        )
    found += [
        f"{name} needs {mb} MiB, and host_memory_budget={given['budget']} leaves it {budget}; set a larger budget, or"
        " leave out the sizes that an inventory or the scenario sets"
        for name, mb in sorted(needs.items())
        if budget and int(mb) > budget
    ]
    asked: dict[str, set[int]] = {}
    for who in ("server", "client"):
        text = given[f"{who}_cpus"]
        try:
            asked[who] = cpus(str(text))
        except BadInputError:
            # Do not raise an exception, which would hide the other problems.
            found.append(f"host_cpus_{who}: {no_cpus(text)}")
            asked[who] = set()
        if has.get("cpus") and (missing := asked[who] - set(has["cpus"])):
            found.append(
                f"host_cpus_{who}={text}: the host has no processors"
                f" {', '.join(map(str, sorted(missing)))}; lscpu shows those that it has"
            )
    if both := asked["server"] & asked["client"]:
        found.append(
            f"host_cpus_server={given['server_cpus']} and host_cpus_client={given['client_cpus']} share processors"
            f" {', '.join(map(str, sorted(both)))}; give each its own"
        )
    return found


def disk_shortages(needs_mb: dict[str, Any], disks: dict[str, Any], rooms_mb: list[Any]) -> list[str]:
    """Returns a sentence for each system for whose data a host has too little free space.

    :param needs_mb: MiB of the data on this host, by system
    :param disks: number of folders of ``dohyo_data``, from the first on, that hold a system's data
    :param rooms_mb: free MiB in each of these folders
    """
    rooms = [int(room) for room in rooms_mb]
    return [
        f"{name} needs {mb} MiB for the scenario's data, and {sum(rooms[: int(disks[name])])} MiB are free"
        f" ({min(int(disks[name]), len(rooms))} of {len(rooms)} data folders); load fewer records, or give the"
        " databases more or larger devices (dohyo_devices)"
        for name, mb in needs_mb.items()
        if sum(rooms[: int(disks[name])]) < int(mb)
    ]


def others(
    notes: Sequence[dict[str, Any]], deployment: str, exclusive: bool = True, attaches: bool = False, group: str = ""
) -> list[str]:
    """Returns a sentence for each other user of a host, oldest first, from the notes of the agent's ``in_use``.

    A note counts until its process has ended. A note from another machine counts until it is removed or the host boots.
    The older of two simultaneous notes counts. Servers that this deployment keeps up do not count by default.

    :param exclusive: whether other deployments count
    :param attaches: whether servers that this deployment keeps up count, because they must not be stopped
    :param group: group of trials that may take turns on the host, and so do not count
    """
    own = next((note["since"] for note in notes if note["own"]), float("inf"))
    rivals = [note for note in notes if not note["own"] and note["since"] <= own and not _takes_turns(note, group)]
    return [
        _use(note)
        for note in rivals
        if (exclusive or note["deployment"] == deployment) and _counts(note, note["deployment"] == deployment, attaches)
    ]


def _takes_turns(note: dict[str, Any], group: str) -> bool:
    return bool(group) and note.get("group") == group


def _counts(note: dict[str, Any], ours: bool, attaches: bool) -> bool:
    if note.get("kept"):
        return attaches or not ours
    if note.get("machine") == machine():
        return start_of(note["pid"]) == note["start"]
    # If this machine has booted since the note was written, the process in the note has ended.
    return not (ours and note.get("controller") == socket.gethostname())


def _use(note: dict[str, Any]) -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(note["since"]))
    what = "keeps servers up there" if note.get("kept") else "is at work there"
    text = (
        f"{note.get('user')} {what} since {since}, from {note.get('controller')}:{note.get('checkout')}"
        f" (process {note['pid']}, deployment {note['deployment']}); wait for its end, or play stop.yml there"
        f" (if that machine is gone: here, with -e dohyo_deployment={note['deployment']})"
    )
    return "".join(each if each.isprintable() else "?" for each in text)


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
    kind: str, given: Mapping[str, Any], asked: Mapping[str, Any], known: Mapping[str, Any], listed: Mapping[str, Any]
) -> str:
    """Returns the source of an instance type's price, which aws.yml shows."""
    if kind in given:
        return "aws_price or aws_client_price"
    if kind in asked:
        return "the AWS Price List API"
    return f"{listed['source']}, {listed['date']}" if kind in known else "nowhere, set aws_price or aws_client_price"


def answered(state: Mapping[str, Any], role: str, answers: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of all systems on a host, with the answers added to the facts of one system.

    :param role: role of the system that the answers are about
    """
    return {**state, role: {**state.get(role, {}), **answers}}


class FilterModule:
    """The filters, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Returns the filters by name."""
        filters = (
            answered,
            cost,
            cpus,
            disk_shortages,
            others,
            price_from,
            shortages,
        )
        return {each.__name__: each for each in filters}
