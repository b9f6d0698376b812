"""Checks a trial before it measures anything."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dohyo.bad_input import BadInputError
from dohyo.scenario import faults, properties
from dohyo.scenario.scenario import CONDITIONS
from dohyo.systems.context import Context, named
from dohyo.systems.option import BOOLEANS
from dohyo.systems.system import System
from dohyo.trial.clients import ClientOptions
from dohyo.trial.measurement import fault_facts
from dohyo.trial.processes import tool
from dohyo.trial.servers import look_at_page_cache
from dohyo.trial.world import Host, HostError, World, program

STEP = "Check that the trial can be measured"
UNTIL = ("schema", "settle", "stop")


def refuse(world: World) -> None:
    """Checks the trial's variables before anything on a host is changed.

    :raises StepError: if something cannot be measured; the message says why
    """
    values = world.first.values
    if problem := asked_in_vain(values) or indivisible(values):
        world.refuse(STEP, problem)
    members = dict.fromkeys(name for group in ("database", "client") for name in values["groups"].get(group, []))
    if absent := [name for name in members if name not in world.hosts]:
        problem = f"a trial needs all hosts of the inventory; not in this play: {named(absent)}; leave out --limit"
        world.refuse(STEP, problem)
    try:
        role = values["systems"][values["trial_system"]]["role"]
        planned = planned_faults(values["trial_phases"], values["groups"]["database"], role)
        for name in world.clients:
            ClientOptions.of(world.hosts[name].values)
    except BadInputError as error:
        world.refuse(STEP, str(error))
    shared = [name for name in world.databases if Context(world.hosts[name].values).systemd]
    if values["trial_beside"] and any(int(world.hosts[name].values["host_budget_mb"]) for name in shared):
        problem = "interleave=on: host_memory_budget limits all systems together; unset it, or set interleave=off"
        world.refuse(STEP, problem)
    if planned and values["trial_system"] in values["attached"]:
        problem = "faults: not possible on attached servers; leave faults out"
        world.refuse(STEP, problem)
    switched = {name for fault in planned if fault["kind"] == "power" for name in fault["hosts"]}
    if problems := {name: reason for name in sorted(switched) if (reason := why_it_stays_on(world, name))}:
        world.fail(STEP, problems)
    addresses = [str(world.hosts[name].values["dohyo_address"]) for name in world.databases]
    if any(fault["kind"] == "partition" for fault in planned) and (local := of_this_machine(addresses)):
        problem = f"faults: a partition would cut off {local[0]}, where Ansible runs; run Ansible on another machine"
        world.refuse(STEP, problem)


def _wrong_condition(conditions: Mapping[str, Any]) -> str:
    """Returns a message about a condition that does not exist or has a wrong value; empty if all are correct."""
    for name, value in conditions.items():
        if name not in CONDITIONS:
            return f"trial_conditions: {name}={value}: no such condition; see docs/conditions.md"
        allowed = properties.known()[name].type
        if allowed.plain(str(value)) is None:
            return f"trial_conditions: {name}={value}: must be {allowed.allowed}"
    return ""


def _wrong_choice(values: Mapping[str, Any]) -> str:
    """Returns a message about a variable that allows only a few values and has another one, or an empty string."""
    for variable in ("trial_settle_flush", "trial_canary", "trial_keep", "trial_strict"):
        if str(values[variable]).lower() not in BOOLEANS:
            return f"{variable}={values[variable]}: must be true or false"
    for variable, name in (("trial_settle", "settle"), ("trial_settle_cache", "settle.cache")):
        allowed = properties.known()[name].type
        if allowed.plain(str(values[variable])) is None:
            return f"{variable}={values[variable]}: must be {allowed.allowed}"
    return ""


def asked_in_vain(values: Mapping[str, Any]) -> str:
    """Returns a message about a variable of the trial that has a wrong value; empty if all are correct."""
    if values["trial_system"] not in values["systems"]:
        return f"trial_system={values['trial_system']}: must be one of {', '.join(values['systems'])}"
    if values["trial_until"] not in UNTIL:
        return f"trial_until={values['trial_until']}: must be one of {', '.join(UNTIL)}"
    if wrong := _wrong_condition(values["trial_conditions"]) or _wrong_choice(values):
        return wrong
    for phase in values["trial_phases"]:
        if not re.fullmatch("[a-z][a-z0-9-]*", str(phase.get("name", ""))):
            return f"trial_phases: the name '{phase.get('name', '')}' may contain only a-z, 0-9 and '-'"
    if not values["dohyo_deployment"]:
        return f"{values['dohyo_control']} has no mark of a deployment: run {values['dohyo_playbook']} deploy.yml first"
    return ""


def indivisible(values: Mapping[str, Any]) -> str:
    """Returns a message about a number that cannot be divided equally between the clients, or an empty string."""
    clients = len(values["groups"].get("client", [])) or 1
    properties = values["trial_properties"]
    tables = int(properties.get("tablecount", 1))
    if properties.get("tables", "shared") == "client" and tables % clients:
        return f"tables=client: tablecount={tables} must be a multiple of the {clients} clients of the inventory"
    for phase in (values["trial_load"], *values["trial_phases"]):
        threads = int(phase.get("threads", values["trial_threads"]))
        if phase.get("properties", properties).get("threadcount.of", "each") == "all" and threads % clients:
            return f"threadcount={threads}: must be a multiple of the {clients} clients; or set threadcount.of=each"
    return ""


def planned_faults(phases: Iterable[Mapping[str, Any]], hosts: Sequence[str], role: str) -> list[dict[str, Any]]:
    """Returns the faults of all phases, each with its hosts.

    :param hosts: names of the database hosts
    :param role: role of the system
    :raises BadInputError: if the target of a fault does not exist; the error names the fault
    """
    texts = [str(phase.get("faults", "none")) for phase in phases]
    return [fault for text in texts for fault in faults.on_hosts(text, hosts, role)]


def look_at_hosts(world: World, system: System) -> None:
    """Rejects the trial if faults are impossible on the hosts, or page caches cannot be emptied.

    :raises StepError: if so; the error names the hosts and the causes
    """
    values = world.first.values
    planned = planned_faults(values["trial_phases"], world.databases, system.role)
    kinds = list(dict.fromkeys(str(fault["kind"]) for fault in planned if fault["rooted"]))

    def look(host: Host) -> None:
        facts = json.dumps(fault_facts(host, system))
        argv = [tool(host), "faults", "check", *kinds]
        if problems := program(host, argv, stdin=facts, root=Context(host.values).systemd):
            raise HostError(f"faults on {host.name}: {'; '.join(problems.splitlines())}")

    if kinds:
        world.on(world.databases, "Check that the faults are possible", look)
    if values["trial_settle_cache"] == "drop" and values["trial_until"] != "schema":
        world.on(world.databases, "Check that the page cache can be emptied", look_at_page_cache)


def why_it_stays_on(world: World, name: str) -> str:
    """Returns the reason why a host cannot be switched off and on; empty if it can."""
    values = world.hosts[name].values
    if name in world.clients:
        return f"power: {name} has a client, whose measurements would be lost; name a host without a client"
    if of_this_machine([str(values["dohyo_address"])]):
        return f"power: {name} is the machine on which Ansible runs; run Ansible on another one"
    problem = no_command(values["dohyo_power_off"], values["dohyo_power_on"])
    return f"power: {name} {problem}" if problem else ""


def of_this_machine(addresses: Iterable[str]) -> list[str]:
    """Returns the addresses that belong to this machine: a program can listen only on these."""
    local = []
    for address in addresses:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock, contextlib.suppress(OSError):
            sock.bind((address, 0))
            local.append(address)
    return local


def no_command(off: Any, on: Any) -> str:
    """Returns the reason why these commands cannot switch a host off and on; empty if they can."""
    for name, command in (("dohyo_power_off", off), ("dohyo_power_on", on)):
        if not isinstance(command, list) or not command:
            return f"cannot be switched: {name} is {command!r}; set it to a list of a program and its arguments"
        for part in command:
            # YAML reads off and on as booleans unless they are quoted.
            if isinstance(part, bool) or not isinstance(part, str | int) or str(part) == "" or "\0" in str(part):
                return f"cannot be switched: {name} contains {part!r}; put it in quotes"
        if shutil.which(str(command[0])) is None:
            return f"cannot be switched: {name}: {command[0]} is not on the control machine; install it or set its path"
    return ""
