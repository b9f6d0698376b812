"""Measures the hosts and the network before the servers start. This is called the canary (docs/method.md)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dohyo.trial.world import Host, HostError, World

# Seconds after which the kernel ends a listener. Each host adds one second, because hosts may have to wait their turn.
LISTEN_SECONDS = 60


def measure(world: World, *, attached: bool) -> dict[str, Any]:
    """Measures all hosts. With an attached system, measures only client hosts: other users depend on its servers.

    :returns: the contents of canary.json
    """
    world.phase("canary")
    names = [name for name in world.hosts if name in world.clients or not attached]

    def measure_host(host: Host) -> dict[str, Any]:
        serves = host.name in world.databases and not attached
        folders = host.values["dohyo_data"] if serves else [host.values["dohyo_home"]]
        return dict(host.do("canary", state="host", folders=folders)["measured"])

    measured = world.on(names, "Measure processors, memory and disks", measure_host)
    network = {} if attached or len(world.hosts) == 1 else _network(world)
    world.phase("start")
    return {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "hosts": measured, "network": network}


def _network(world: World) -> dict[str, Any]:
    """Measures the network between the clients and the servers."""
    lifetime = LISTEN_SECONDS + len(world.hosts)

    def listen(host: Host) -> dict[str, Any]:
        return dict(
            host.do("canary", state="listen", address=host.values["dohyo_address"], lifetime=lifetime)["listener"]
        )

    listeners = world.try_on(world.databases, listen)
    try:
        if failures := {name: str(failure) for name, failure in listeners.items() if isinstance(failure, HostError)}:
            world.fail("Listen on the servers' hosts", failures)

        def ask(host: Host) -> dict[str, Any]:
            number = world.clients.index(host.name)
            answer = host.do("canary", state="network", servers=listeners, client=number, clients=len(world.clients))
            return dict(answer["measured"])

        return world.on(world.clients, "Measure the network from the clients' hosts to the servers'", ask)
    finally:

        def end(host: Host) -> None:
            if not isinstance(listener := listeners[host.name], HostError):
                host.do("canary", state="end", address=host.values["dohyo_address"], port=listener["port"])

        world.try_on(world.databases, end)
