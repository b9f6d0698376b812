"""Reads the conditions of a trial (settings and limits of the servers), and compares them with the scenario's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dohyo.systems.context import UNKNOWN, copies, named
from dohyo.trial.servers import ServerSteps
from dohyo.trial.world import Host


def read_back(servers: ServerSteps) -> dict[str, Any]:
    """Returns the content of conditions.json. The tables must exist on the servers."""
    world, role, values = servers.world, servers.first.role, servers.world.first.values
    requested = {**values["trial_conditions"]}
    if servers.is_attached:
        requested.pop("profile", None)  # the profile of attached servers is unknown
    conditions = judged(servers.answers["conditions"], requested)

    def look(host: Host) -> dict[str, Any]:
        return host.do("process_limits", run=f"{host.values['dohyo_home']}/run", name=role)

    limited = world.on(world.databases, "Read back the limits of the servers", look)
    budgets = {name: world.hosts[name].values["host_budget_mb"] for name in limited}
    bound = {name: world.hosts[name].values["host_cpus_server"] for name in limited}
    warnings = {name: host.values.get("host_warnings", []) for name, host in world.hosts.items()}
    return {
        "system": values["trial_system"],
        "title": servers.first.title,
        **conditions,
        **limits(limited, budgets, bound),
        "notes": [*conditions["notes"], *by_sentence(warnings), *values["trial_notes"]],
        "hosts": {name: host.values.get("host_conditions", {}) for name, host in world.hosts.items()},
        "usd_per_hour": {name: world.hosts[name].values["dohyo_usd_per_hour"] for name in world.databases},
    }


def by_sentence(sentences_by_host: dict[str, list[str]]) -> list[str]:
    """Merges equal sentences of several hosts: ``a, b: SENTENCE``. If more than four share one, only three are named.

    :param sentences_by_host: sentences of each host
    """
    hosts: dict[str, list[str]] = {}
    for host, sentences in sentences_by_host.items():
        for sentence in sentences:
            hosts.setdefault(sentence, []).append(host)
    return [f"{named(names)}: {sentence}" for sentence, names in hosts.items()]


def consistency(write_copies: Any, read_copies: Any, replication: Any) -> str:
    """Returns ``strong`` if a read always sees the last acknowledged write, ``eventual`` if not, or UNKNOWN."""
    if write_copies is None or read_copies is None or replication == UNKNOWN:
        return UNKNOWN
    return "strong" if write_copies + read_copies > replication else "eventual"


def judged(state: dict[str, Any], requested: dict[str, Any]) -> dict[str, Any]:
    """Returns the conditions that were read back, with ``consistency`` and the ``differences`` from the requested ones.

    Consistency is strong if every read sees every acknowledged write. Write copies + read copies > replication is
    required, because a reader's and a writer's sets of copies must overlap. A system that works differently states its
    consistency itself.

    ``exceeded`` contains requested values that the server always exceeds; ``fixed`` in ``state`` names them.
    """
    result = {"consistency": consistency(state["write_copies"], state["read_copies"], state["replication"]), **state}
    expected = dict(requested)
    if {"replication", "write_acks", "read_acks"} <= requested.keys():
        replication = int(requested["replication"])
        expected["consistency"] = consistency(
            copies(requested["write_acks"], replication), copies(requested["read_acks"], replication), replication
        )
    differences = [
        f"{name}: requested '{value}', but the server "
        + ("does not state its value" if result.get(name, UNKNOWN) == UNKNOWN else f"has '{result[name]}'")
        for name, value in expected.items()
        if str(result.get(name)) != str(value)
    ]
    exceeded = {
        name: requested[name]
        for name in state.get("fixed", [])
        if name == "write_acks"
        and state[name] != requested[name]
        and state["write_copies"] >= copies(requested[name], int(requested["replication"]))
    }
    return {**result, "differences": differences, "exceeded": exceeded}


def limits(
    limits_by_host: Mapping[str, Mapping[str, Any]], budgets: Mapping[str, Any], processors: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the limits of the servers on all hosts as text: ``memory_budget`` and ``server_cpus``, if they are known.

    If a limit was requested on any host, each host states its own: `none`, or `all` processors, without a limit.

    :param limits_by_host: limits that the agent's ``process_limits`` has read back, by host
    :param budgets: requested MiB by host; 0 for no limit
    :param processors: requested processors of the servers, by host; empty for all
    """
    memory: dict[str, list[str]] = {}
    serving = {host: entry for host, entry in limits_by_host.items() if entry["processes"]}
    for host, host_limits in serving.items():
        requested, limit = int(budgets[host]), host_limits["memory_mb"]
        if requested and limit is None:
            memory[host] = [f"{requested:,} MiB, which the kernel does not enforce ({host_limits['why']})"]
        elif requested:
            memory[host] = [f"{limit:,} MiB" if limit == requested else f"{limit:,} MiB instead of {requested:,}"]
        elif any(map(int, budgets.values())):
            memory[host] = ["none"]
    bound = {host: [entry["cpus"] or "all"] for host, entry in serving.items() if any(processors.values())}
    by_condition = {"memory_budget": memory, "server_cpus": bound}
    return {name: _alike(hosts) for name, hosts in by_condition.items() if any(hosts.values())}


def _alike(hosts: dict[str, list[str]]) -> str:
    values = {value for host_values in hosts.values() for value in host_values}
    return values.pop() if len(values) == 1 else "; ".join(by_sentence(hosts))
