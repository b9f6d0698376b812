"""Ansible filters: computations of playbooks in Python. Each function is the filter of its name."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lookup"))
# These modules need no other package: Ansible may be the user's own, without the packages that dohyo needs.
sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from controller import machine, start_of

from dohyo.bad_input import BadInputError
from dohyo.systems.context import cpus


def no_cpus(text: Any) -> str:
    """Returns why a text is not a list of processors."""
    return f"{text!r} must be numbers and ranges, as in 0-3,8-11"


def shortages(has: Mapping[str, Any], needs: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Returns why a host cannot divide its memory and processors as requested, one sentence each.

    :param has: answer of the agent's ``host_resources``: ``memory_mb``, ``cpus``; empty without one
    :param needs: least MiB of each system, by its name
    :param given: ``budget`` as it was given, ``budget_mb``, ``client_mb`` of a client beside the servers (otherwise 0),
        ``server_cpus``, ``client_cpus``
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
            # An exception would hide the other problems.
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
    """Returns the systems for which a host has no room, one sentence each.

    :param needs_mb: MiB for the data on this host, by system
    :param disks: number of folders of ``dohyo_data``, from the first on, that have a system's data
    :param rooms_mb: free MiB of each of these folders
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
    """Returns other users of a host, one sentence each, oldest first, from the notes of the agent's ``in_use``.

    A note counts until its process has ended or, if written on another machine, until it is removed or the host boots.
    If two are written at the same time, the older counts. Servers that this deployment has kept up are its own.

    :param exclusive: whether other deployments count, too
    :param attaches: whether servers that this deployment has kept up count, too, because they may not be stopped
    :param group: trials of this group take turns, and do not count
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
    # If this machine has rebooted since the note was written, the noted process has ended.
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

    :param counts: number of instances, or their hours, by type
    :param prices: US dollars per hour of one, by type
    :param address: US dollars per hour of the public address that each has
    """
    if counts.keys() - prices.keys():
        return "unknown"
    return f"{hours * sum(count * (float(prices[kind]) + address) for kind, count in counts.items()):.2f}"


def price_from(
    kind: str, given: Mapping[str, Any], asked: Mapping[str, Any], known: Mapping[str, Any], listed: Mapping[str, Any]
) -> str:
    """Returns the source of an instance type's price, as aws.yml shows it."""
    if kind in given:
        return "aws_price or aws_client_price"
    if kind in asked:
        return "the AWS Price List API"
    return f"{listed['source']}, {listed['date']}" if kind in known else "nowhere, set aws_price or aws_client_price"


def answered(state: Mapping[str, Any], role: str, answers: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of all systems on a host, with further facts of one system.

    :param role: role of that system
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
