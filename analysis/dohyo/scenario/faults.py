"""Faults of a phase, such as `kill(node2)@60s, start(node2)@90s`; docs/faults.md describes them.

This module must not need third-party packages, because Ansible's process also imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dohyo.bad_input import BadInputError, unknown

NONE = "none"
PARTITION, HEAL, SLOW, POWER, START = "partition", "heal", "slow", "power", "start"
# Default number of bytes per second that a slow server reads and writes.
SLOW_RATE = "1MB"
# For each kind of fault that can be ended, the kind that ends it.
ENDS = {
    "kill": START,
    "stop": START,
    POWER: START,
    "pause": "resume",
    PARTITION: HEAL,
    "fill": "free",
    SLOW: "normal",
}
# Kinds that affect only processes; the other kinds need root, and hosts without other servers.
OF_PROCESSES = ("kill", "stop", START, "pause", "resume")
ROOTED = tuple(kind for kind in ENDS if kind not in OF_PROCESSES)
KINDS = (*ENDS, *dict.fromkeys(ENDS.values()))
ANY, SEED, LEADER = "any", "seed", "leader"
# Systems whose first host has a special role.
LED = {"hbase": "the NameNode's host", "mysql": "the primary", "postgresql": "the primary"}

_FAULT = re.compile(r"([a-z]+)(?:\(([^()]*)\))?@([^,()\s]+)")
_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(s|m|h)?")
_UNITS = {None: 1, "s": 1, "m": 60, "h": 3600}
_NODE = re.compile(r"node([0-9]{1,6})")
_RATE = re.compile(r"([0-9]{1,6})(kB|MB|GB)")
_BYTES = {"kB": 10**3, "MB": 10**6, "GB": 10**9}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
EXAMPLE = "kill(node2)@60s, start(node2)@90s"


@dataclass(frozen=True)
class Fault:
    """A fault, or the end of one.

    :ivar kind: one of :data:`KINDS`
    :ivar target: hosts as given, joined with "+"; for a partition, groups of hosts separated by "|"; for `slow`, the
        hosts, a comma and the rate; empty for `heal`
    :ivar second: time since the start of the measured window, in seconds
    """

    kind: str
    target: str
    second: float

    @property
    def groups(self) -> list[list[str]]:
        """Groups of names in the target: several for a partition, none for `heal`, otherwise one."""
        return [group.split("+") for group in self.target.partition(",")[0].split("|") if group]

    @property
    def rate(self) -> int | None:
        """Rate of a `slow` fault in bytes per second; None for other kinds."""
        rate = _RATE.fullmatch(self.target.partition(", ")[2])
        return int(rate[1]) * _BYTES[rate[2]] if rate else None

    def __str__(self) -> str:
        """Returns the fault as written in a scenario."""
        # Fixed-point notation, since `parse` does not accept exponents.
        time = f"{self.second:.9f}".rstrip("0").rstrip(".")
        return f"{self.kind}({self.target})@{time}s" if self.target else f"{self.kind}@{time}s"


def parse(text: str) -> list[Fault]:
    """Returns the faults sorted by time; an empty list for "none".

    :raises BadInputError: naming the invalid part and the allowed values
    """
    if text.strip() == NONE:
        return []
    faults, rest = [], text
    while rest.strip():
        match = _FAULT.match(rest.lstrip())
        behind = rest.lstrip()[match.end() :].lstrip() if match else ""
        if match is None or (behind and not behind.startswith(",")):
            raise BadInputError(f"faults={text}: '{rest.strip()}' must read KIND(TARGET)@TIME, as in {EXAMPLE}")
        faults.append(_fault(match[0], *match.groups(default="")))
        rest = behind.removeprefix(",")
    if not faults:
        raise BadInputError(f"faults={text}: must be faults such as {EXAMPLE}, or {NONE}")
    faults.sort(key=lambda fault: fault.second)
    _check_ends(faults)
    return faults


def plain(text: str) -> str:
    """Returns the faults in canonical form."""
    return ", ".join(map(str, parse(text))) or NONE


def _fault(text: str, kind: str, inside: str, time: str) -> Fault:
    if kind not in KINDS:
        raise unknown("fault", kind, KINDS, f"{text}; docs/faults.md lists all")
    moment = _TIME.fullmatch(time)
    if moment is None:
        raise BadInputError(f"{text}: '{time}' must be a time in the measured window, such as 60s or 2m")
    if kind == HEAL:
        if inside.strip():
            raise BadInputError(f"{text}: {HEAL} ends all partitions and has no target; write {HEAL}@{time}")
        return Fault(kind, "", float(moment[1]) * _UNITS[moment[2]])
    inside, comma, rate = map(str.strip, inside.partition(","))
    if comma and kind != SLOW:
        raise BadInputError(f"{text}: only {SLOW} has a rate; join hosts with +")
    groups = [[name.strip() for name in group.split("+")] for group in inside.split("|")]
    names = _all(groups)
    if not all(_NAME.fullmatch(name) for name in names):
        raise BadInputError(f"{text}: must name {ANY}, {SEED}, {LEADER}, nodeN or a host; join several with +")
    if kind != PARTITION and len(groups) > 1:
        raise BadInputError(f"{text}: only a {PARTITION} has groups of hosts; join hosts with +")
    if len(set(names)) < len(names):
        raise BadInputError(f"{text}: a host is named twice")
    target = "|".join("+".join(group) for group in groups)
    if kind == SLOW:
        rate = rate if comma else SLOW_RATE
        match = _RATE.fullmatch(rate)
        if match is None or not int(match[1]):
            raise BadInputError(f"{text}: '{rate}' is not a number of bytes per second, such as 500kB or {SLOW_RATE}")
        target += f", {rate}"
    return Fault(kind, target, float(moment[1]) * _UNITS[moment[2]])


def _all(groups: Iterable[Iterable[str]]) -> list[str]:
    return [name for group in groups for name in group]


def _check_ends(faults: Sequence[Fault]) -> None:
    """Checks that each fault that ends another one, such as `start`, comes after a fault that it can end.

    :raises BadInputError: naming the fault
    """
    for number, fault in enumerate(faults):
        before = {earlier.kind for earlier in faults[:number]}
        if fault.kind not in ENDS and not any(ENDS.get(kind) == fault.kind for kind in before):
            kinds = " or ".join(kind for kind, end in ENDS.items() if end == fault.kind)
            raise BadInputError(f"{fault}: there is no earlier fault that it ends; add a {kinds} before it")


def check_place(faults: Sequence[Fault], role: str, hosts: int, *, attached: bool = False, local: bool = False) -> None:
    """Checks that the faults are possible on the hosts.

    :param role: role of the system
    :param hosts: number of database hosts
    :param attached: whether the servers are attached
    :param local: whether the servers are on this machine, without an inventory
    :raises BadInputError: naming the fault and a remedy
    """
    for fault in faults:
        if attached:
            raise BadInputError(f"{fault}: not possible on attached servers; leave out faults: --set faults={NONE}")
        if local and fault.kind not in OF_PROCESSES:
            raise BadInputError(
                f"{fault}: this machine allows only {', '.join(OF_PROCESSES)}; name hosts with --inventory"
            )
        for name in _all(fault.groups):
            number = _NODE.fullmatch(name)
            if number and not 1 <= int(number[1]) <= hosts:
                count = "there is one database host" if hosts == 1 else f"there are {hosts} database hosts"
                raise BadInputError(f"{fault}: there is no {name}: {count}; node1 is the first of them")
    names = dict.fromkeys(name for fault in faults for name in _all(fault.groups))
    host_names = [name for name in names if name not in (ANY, SEED, LEADER) and not _NODE.fullmatch(name)]
    # Host names mixed with nodeN, any or leader are checked later, when the trial knows the names of its hosts.
    if len(host_names) in (0, len(names)):
        alike = [*host_names, *(f"node{number + 1}" for number in range(hosts))][: max(hosts, len(host_names))]
        _planned(faults, alike, role)


def _planned(faults: Sequence[Fault], hosts: Sequence[str], role: str) -> list[tuple[Fault, list[list[str]]]]:
    """Returns each fault with its groups of hosts: two or more for a partition, otherwise one.

    :raises BadInputError: naming the fault that does not fit the hosts
    """
    planned = []
    parted: dict[str, None] = {}
    for fault in faults:
        try:
            groups = [[resolved(name, hosts, role) for name in group] for group in fault.groups]
        except BadInputError as error:
            raise BadInputError(f"{fault}: {error}") from error
        names = _all(groups)
        if len(set(names)) < len(names):
            raise BadInputError(f"{fault}: a host is named twice: {', '.join(names)}")
        if fault.kind == PARTITION:
            if len(groups) == 1:
                groups.append([host for host in hosts if host not in names])
            if not groups[-1]:
                raise BadInputError(f"{fault}: it names all hosts; divide them into groups, or write {PARTITION}(any)")
            parted |= dict.fromkeys(_all(groups))
        elif fault.kind == HEAL:
            if not parted:
                raise BadInputError(f"{fault}: there is no partition at that time; leave it out")
            groups, parted = [list(parted)], {}
        planned.append((fault, groups))
    _check_hosts([(fault, _all(groups)) for fault, groups in planned])
    return planned


def _check_hosts(planned: Sequence[tuple[Fault, Sequence[str]]]) -> None:
    """Checks that a fault that ends another names the same hosts, and that a host without power can only be started.

    :raises BadInputError: naming the fault and the host
    """
    hurt: dict[tuple[str, str], Fault] = {}  # current faults, by (kind that ends it, host)
    for number, (fault, hosts) in enumerate(planned):
        for host in hosts if fault.kind != START else []:
            if (off := hurt.get((START, host))) is not None and off.kind == POWER:
                raise BadInputError(f"{fault}: {host} is off at that time ({off}); start it first, or leave this out")
            still = next((earlier for (end, name), earlier in hurt.items() if name == host and end != START), None)
            if fault.kind == POWER and still is not None:
                raise BadInputError(
                    f"{fault}: switching {host} off would end {still}; end that fault first ({ENDS[still.kind]})"
                )
        if end := ENDS.get(fault.kind):
            hurt |= {(end, host): fault for host in hosts}
            continue
        for host in hosts:
            if hurt.pop((fault.kind, host), None) is None:
                before = ", ".join(
                    str(past) for past, _ in planned[:number] if fault.kind in (past.kind, ENDS.get(past.kind))
                )
                raise BadInputError(
                    f"{fault}: {host} has no fault to end (earlier: {before}); name each host once in both"
                )


def resolved(name: str, hosts: Sequence[str], role: str) -> str:
    """Returns the host that a name in a target stands for.

    :param hosts: names of the database hosts in order
    :param role: role of the system
    :raises BadInputError: if there is no such host
    """
    number = _NODE.fullmatch(name)
    if name in hosts:
        return name
    if name == SEED or (name == LEADER and role in LED):
        return hosts[0]
    if name == LEADER:
        raise BadInputError(f"{LEADER}: {role} has no leader, as all nodes are equal; use {SEED}, {ANY} or nodeN")
    if name == ANY:
        return hosts[min(1, len(hosts) - 1)]
    if number and 1 <= int(number[1]) <= len(hosts):
        return hosts[int(number[1]) - 1]
    raise BadInputError(f"{name}: not a database host; use {', '.join(hosts)} or node1 to node{len(hosts)}")


def on_hosts(text: str, hosts: Sequence[str], role: str) -> list[dict[str, object]]:
    """Returns the faults with their hosts and, for a partition, its groups.

    :param text: value of the property `faults`
    :param hosts: names of the database hosts in order
    :param role: role of the system
    :raises BadInputError: naming the fault if its target does not exist
    """
    return [
        {
            "kind": fault.kind,
            "rooted": fault.kind in ROOTED,
            "target": fault.target,
            "rate": fault.rate,
            "at": fault.second,
            "groups": groups,
            "hosts": _all(groups),
        }
        for fault, groups in _planned(parse(text), hosts, role)
    ]
