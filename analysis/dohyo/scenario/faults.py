"""The faults of a phase: `kill(node2)@60s, start(node2)@180s`. docs/faults.md says what each does.

Ansible's filters import this module, too: it needs no package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dohyo.bad_input import BadInputError, unknown

NONE = "none"
# What ends a fault of each kind.
ENDS = {
    "kill": "start",
    "stop": "start",
    "pause": "resume",
    "partition": "heal",
    "fill": "free",
    "slow": "normal",
    "clock": "clock",
}
# Kinds that need no root, and a single host of its own.
OF_PROCESSES = ("kill", "stop", "start", "pause", "resume")
# Bytes per second that a unit may read and write when it is slow, unless the fault says so.
SLOW = 1_000_000

KINDS = (*ENDS, *(kind for kind in dict.fromkeys(ENDS.values()) if kind not in ENDS))
ANY, SEED, LEADER = "any", "seed", "leader"
# The systems whose first host has a role that the others do not have.
LED = {"hbase": "the NameNode's host", "mysql": "the primary", "postgresql": "the primary"}

_FAULT = re.compile(r"([a-z]+)\(([^()]*)\)@([^,()\s]+)")
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h)?")
_UNITS = {None: 1, "s": 1, "m": 60, "h": 3600}
_SIZES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
EXAMPLE = "kill(node2)@60s, start(node2)@180s"


@dataclass(frozen=True)
class Fault:
    """One fault, or what ends one.

    :ivar target: as it was given: names joined with "+", of a partition groups of them divided by "|"
    :ivar at: seconds in the measured window
    :ivar amount: of `clock` the offset in seconds, of `slow` bytes per second; None for the others
    """

    kind: str
    target: str
    at: float
    amount: float | None = None

    @property
    def groups(self) -> list[list[str]]:
        """The names of its target; one group, but for a partition."""
        return [group.split("+") for group in self.target.split("|") if group]

    def __str__(self) -> str:
        """As a scenario has it."""
        amount = (
            "" if self.amount is None else f", {self.amount:+g}s" if self.kind == "clock" else f", {self.amount:.0f}"
        )
        return f"{self.kind}({self.target}{amount})@{self.at:g}s"


def parse(text: str) -> list[Fault]:
    """The faults in the order of their times; none for "none".

    :raises BadInputError: naming what is not understood, and what is
    """
    if text.strip() == NONE:
        return []
    found, rest = [], text
    while rest.strip():
        match = _FAULT.match(rest.lstrip())
        behind = rest.lstrip()[match.end() :].lstrip() if match else ""
        if match is None or (behind and not behind.startswith(",")):
            raise BadInputError(f"faults={text}: '{rest.strip()}' must read KIND(TARGET)@TIME, as in {EXAMPLE}")
        found.append(_fault(match[0], *match.groups()))
        rest = behind.removeprefix(",")
    if not found:
        raise BadInputError(f"faults={text}: must be faults such as {EXAMPLE}, or {NONE}")
    found.sort(key=lambda fault: fault.at)
    _check_ends(found)
    return found


def plain(text: str) -> str:
    """The faults in the form that all readers understand."""
    return ", ".join(map(str, parse(text))) or NONE


def _fault(said: str, kind: str, inside: str, time: str) -> Fault:
    if kind not in KINDS:
        raise unknown("fault", kind, KINDS, f"{said}: kinds are {', '.join(KINDS)}")
    at = _TIME.fullmatch(time)
    if at is None:
        raise BadInputError(f"{said}: '{time}' is no time in the measured window, such as 60s or 2m")
    target, _, amount = (part.strip() for part in inside.partition(","))
    groups = [[name.strip() for name in group.split("+")] for group in target.split("|")]
    if kind == "heal" and not target:
        groups = []
    elif not all(_NAME.fullmatch(name) for group in groups for name in group):
        raise BadInputError(
            f"{said}: the target must be {ANY}, {SEED}, {LEADER}, nodeN (node2: the second database host) or the"
            " name of a host; several are joined with +"
        )
    if kind == "partition" and len(groups) < 2:
        raise BadInputError(
            f"{said}: a partition is between groups of hosts, divided by |: partition(node1|node2+node3)"
        )
    if kind not in ("partition", "heal") and len(groups) != 1:
        raise BadInputError(f"{said}: only a partition has groups of hosts; join hosts with +")
    names = [name for group in groups for name in group]
    if len(set(names)) < len(names):
        raise BadInputError(f"{said}: a host is named twice")
    return Fault(
        kind, "|".join("+".join(group) for group in groups), float(at[1]) * _UNITS[at[2]], _amount(said, kind, amount)
    )


def _amount(said: str, kind: str, text: str) -> float | None:
    if kind == "clock":
        match = re.fullmatch(r"([+-]?[0-9]+(?:\.[0-9]+)?)s?", text)
        if match is None:
            raise BadInputError(f"{said}: a clock needs its offset in seconds, such as clock(node2, +30s)")
        return float(match[1])
    if kind == "slow":
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kKMG]?)B?", text) if text else None
        if text and (match is None or float(match[1]) == 0):
            raise BadInputError(f"{said}: '{text}' is no number of bytes per second, such as 2MB")
        return float(match[1]) * _SIZES.get(match[2], 1) if match else float(SLOW)
    if text:
        raise BadInputError(f"{said}: {kind} takes a target and nothing else")
    return None


def _check_ends(found: Sequence[Fault]) -> None:
    """Checks that what ends a fault comes after one."""
    ended = set(ENDS.values()) - {"clock"}
    for number, fault in enumerate(found):
        if fault.kind in ended and not any(ENDS.get(before.kind) == fault.kind for before in found[:number]):
            kinds = " or ".join(kind for kind, end in ENDS.items() if end == fault.kind)
            raise BadInputError(f"{fault}: nothing before it is ended by {fault.kind}; say when there is a {kinds}")


def check_place(
    found: Sequence[Fault], role: str, hosts: int | None, *, attached: bool = False, local: bool = False
) -> None:
    """Checks that there can be such faults where the servers are.

    :param role: of the system
    :param hosts: how many database hosts there are; None: not known
    :param attached: the servers are not ours
    :param local: the servers are on this machine, which has no hosts of an inventory
    :raises BadInputError: naming kind, target and the way out
    """
    for fault in found:
        if attached:
            raise BadInputError(
                f"{fault}: attached servers are not ours, and nothing is done to them; measure servers that Dohyo"
                f" starts, or leave faults out (--set faults={NONE})"
            )
        if local and fault.kind not in OF_PROCESSES:
            raise BadInputError(
                f"{fault}: {fault.kind} is not possible on this machine, where there are only"
                f" {', '.join(OF_PROCESSES)}; give hosts with --inventory"
            )
        for name in (name for group in fault.groups for name in group):
            if name == LEADER and role not in LED:
                raise BadInputError(f"{fault}: {_no_leader(role)}")
            number = re.fullmatch(r"node([0-9]+)", name)
            if hosts is not None and number and not 1 <= int(number[1]) <= hosts:
                raise BadInputError(f"{fault}: there is no {name}: {_count(hosts)}; node1 is the first of them")
        if hosts == 1 and fault.kind in ("partition", "heal"):
            raise BadInputError(f"{fault}: a partition needs two database hosts at least, and there is one")


def _count(hosts: int) -> str:
    return "there is one database host" if hosts == 1 else f"there are {hosts} database hosts"


def resolved(name: str, hosts: Sequence[str], role: str) -> str:
    """The host that a name of a target stands for.

    :param hosts: the group `database`, in order
    :param role: of the system
    :raises BadInputError: if there is none
    """
    number = re.fullmatch(r"node([0-9]+)", name)
    if name in hosts:
        return name
    if name == SEED or (name == LEADER and role in LED):
        return hosts[0]
    if name == LEADER:
        raise BadInputError(_no_leader(role))
    if name == ANY:
        return hosts[min(1, len(hosts) - 1)]
    if number and 1 <= int(number[1]) <= len(hosts):
        return hosts[int(number[1]) - 1]
    raise BadInputError(f"{name}: is no database host; there are {', '.join(hosts)}, node1 to node{len(hosts)}")


def _no_leader(role: str) -> str:
    return f"{LEADER}: {role} has none, as all nodes are equal; say {SEED}, {ANY} or nodeN"


def on_hosts(text: str, hosts: Sequence[str], role: str) -> list[dict[str, object]]:
    """The faults with the hosts that they are for; of a partition also the groups, of a heal without a target all.

    :raises BadInputError: naming the fault whose target there is not
    """
    planned: list[dict[str, object]] = []
    for fault in parse(text):
        try:
            groups = [[resolved(name, hosts, role) for name in group] for group in fault.groups] or [list(hosts)]
        except BadInputError as error:
            raise BadInputError(f"{fault}: {error}") from error
        names = [name for group in groups for name in group]
        if len(set(names)) < len(names):
            raise BadInputError(f"{fault}: a host is named twice: {', '.join(names)}")
        planned.append(
            {"kind": fault.kind, "target": fault.target, "at": fault.at, "amount": fault.amount, "groups": groups}
        )
    return planned
