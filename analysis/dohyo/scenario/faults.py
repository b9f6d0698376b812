"""The faults of a phase: `kill(node2)@60s, start(node2)@90s`. docs/faults.md says what each does.

Ansible's filters import this module, too: it needs no package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dohyo.bad_input import BadInputError, unknown

NONE = "none"
# What ends a fault of each kind.
ENDS = {"kill": "start", "stop": "start", "pause": "resume"}
KINDS = (*ENDS, *dict.fromkeys(ENDS.values()))
ANY, SEED, LEADER = "any", "seed", "leader"
# The systems whose first host has a role that the others do not have.
LED = {"hbase": "the NameNode's host", "mysql": "the primary", "postgresql": "the primary"}

_FAULT = re.compile(r"([a-z]+)\(([^()]*)\)@([^,()\s]+)")
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h)?")
_UNITS = {None: 1, "s": 1, "m": 60, "h": 3600}
_NODE = re.compile(r"node([0-9]{1,6})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
EXAMPLE = "kill(node2)@60s, start(node2)@90s"


@dataclass(frozen=True)
class Fault:
    """One fault, or what ends one.

    :ivar target: as it was given: names joined with "+"
    :ivar at: seconds in the measured window
    """

    kind: str
    target: str
    at: float

    @property
    def names(self) -> list[str]:
        """The names of its target."""
        return self.target.split("+")

    def __str__(self) -> str:
        """As a scenario has it."""
        # All digits, and no exponent: it is read again.
        at = f"{self.at:.9f}".rstrip("0").rstrip(".")
        return f"{self.kind}({self.target})@{at}s"


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
    names = [name.strip() for name in inside.split("+")]
    if not all(_NAME.fullmatch(name) for name in names):
        raise BadInputError(
            f"{said}: the target must be {ANY}, {SEED}, {LEADER}, nodeN (node2: the second database host) or the"
            " name of a host; several are joined with +"
        )
    if len(set(names)) < len(names):
        raise BadInputError(f"{said}: a host is named twice")
    return Fault(kind, "+".join(names), float(at[1]) * _UNITS[at[2]])


def _check_ends(found: Sequence[Fault]) -> None:
    """Checks that what ends a fault comes after one."""
    for number, fault in enumerate(found):
        before = {each.kind for each in found[:number]}
        if fault.kind not in ENDS and not any(ENDS.get(kind) == fault.kind for kind in before):
            kinds = " or ".join(kind for kind, end in ENDS.items() if end == fault.kind)
            raise BadInputError(f"{fault}: nothing before it is ended by {fault.kind}; say when there is a {kinds}")


def check_place(found: Sequence[Fault], role: str, hosts: int | None, *, attached: bool = False) -> None:
    """Checks that there can be such faults where the servers are.

    :param role: of the system
    :param hosts: how many database hosts there are; None: not known
    :param attached: the servers are not ours
    :raises BadInputError: naming the fault and the way out
    """
    for fault in found:
        if attached:
            raise BadInputError(
                f"{fault}: attached servers are not ours, and nothing is done to them; measure servers that Dohyo"
                f" starts, or leave faults out (--set faults={NONE})"
            )
        for name in fault.names:
            if name == LEADER and role not in LED:
                raise BadInputError(f"{fault}: {_no_leader(role)}")
            number = _NODE.fullmatch(name)
            if hosts is not None and number and not 1 <= int(number[1]) <= hosts:
                raise BadInputError(f"{fault}: there is no {name}: {_count(hosts)}; node1 is the first of them")
    alike = [f"node{number + 1}" for number in range(hosts or 2)]
    roles = {ANY: resolved(ANY, alike, role), SEED: alike[0], LEADER: alike[0]}
    planned = [(fault, [roles.get(name, name) for name in fault.names]) for fault in found]
    # Which of the hosts has which name is known when the trial begins.
    if len({_NODE.fullmatch(name) is None for _, names in planned for name in names}) < 2:
        _check_hosts(planned)


def _check_hosts(planned: Sequence[tuple[Fault, Sequence[str]]]) -> None:
    """Checks that what ends a fault is for hosts that have one.

    :raises BadInputError: naming both
    """
    hurt: dict[tuple[str, str], Fault] = {}  # what ends it, host -> the fault
    for number, (fault, hosts) in enumerate(planned):
        if end := ENDS.get(fault.kind):
            hurt |= {(end, host): fault for host in hosts}
            continue
        for host in hosts:
            if hurt.pop((fault.kind, host), None) is None:
                before = ", ".join(
                    str(each) for each, _ in planned[:number] if fault.kind in (each.kind, ENDS.get(each.kind))
                )
                raise BadInputError(
                    f"{fault}: there is nothing to end on {host} then, only {before} is before it; name the same hosts"
                    " in both, each once"
                )


def _count(hosts: int) -> str:
    return "there is one database host" if hosts == 1 else f"there are {hosts} database hosts"


def resolved(name: str, hosts: Sequence[str], role: str) -> str:
    """The host that a name of a target stands for.

    :param hosts: the group `database`, in order
    :param role: of the system
    :raises BadInputError: if there is none
    """
    number = _NODE.fullmatch(name)
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
    """The faults with the hosts that they are for.

    :raises BadInputError: naming the fault whose target there is not
    """
    planned: list[tuple[Fault, list[str]]] = []
    for fault in parse(text):
        try:
            names = [resolved(name, hosts, role) for name in fault.names]
        except BadInputError as error:
            raise BadInputError(f"{fault}: {error}") from error
        if len(set(names)) < len(names):
            raise BadInputError(f"{fault}: a host is named twice: {', '.join(names)}")
        planned.append((fault, names))
    _check_hosts(planned)
    return [{"kind": fault.kind, "target": fault.target, "at": fault.at, "hosts": names} for fault, names in planned]
