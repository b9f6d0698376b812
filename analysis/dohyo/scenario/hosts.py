"""Facts about the database hosts that are known before anything starts: number, memory and disk space."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dohyo import host
from dohyo.bad_input import BadInputError
from dohyo.places import LOCAL_HOME
from dohyo.scenario import properties


@dataclass(frozen=True)
class Hosts:
    """The database hosts, which are assumed to be identical.

    :ivar count: number of hosts
    :ivar memory: memory of the smallest host in bytes; None if it is not known
    :ivar disk: space for data on the smallest host in bytes; None if it is not known
    :ivar clients: whether clients also run on these hosts
    :ivar where: description for messages
    :ivar client_count: number of client hosts; None if it is not known
    """

    count: int = 1
    memory: int | None = None
    disk: int | None = None
    clients: bool = True
    where: str = "the hosts"
    client_count: int | None = None

    def stated(self, values: Mapping[str, str]) -> "Hosts":
        """Returns these hosts with the scenario's host_count, host_memory and host_disk, if it sets them."""
        if not values.keys() & {"host_count", "host_memory", "host_disk"}:
            return self
        memory, disk = (int(values[key]) if key in values else None for key in ("host_memory", "host_disk"))
        # The memory of this machine says nothing about other hosts.
        hosts = Hosts(self.count, clients=self.clients) if self.where == THIS_MACHINE else self
        return Hosts(
            int(values.get("host_count", hosts.count)),
            memory or hosts.memory,
            disk or hosts.disk,
            hosts.clients,
            "the stated hosts",
            hosts.client_count,
        )


THIS_MACHINE = "this machine"


def here() -> Hosts:
    """Returns this machine with all of its memory and its free disk space."""
    folder = LOCAL_HOME
    while not folder.exists():
        folder = folder.parent
    return Hosts(1, host.hardware()["memory_bytes"], shutil.disk_usage(folder).free, True, THIS_MACHINE, 1)


def of_inventory(name: Path, groups: Mapping[str, Any], database: list[str], client: list[str]) -> Hosts:
    """Returns the hosts of an inventory, with the values of its variables host_memory and host_disk.

    :param name: path of the inventory
    :param groups: output of ``ansible-inventory --list``
    :param database: names of the database hosts
    :param client: names of the client hosts
    :raises BadInputError: if one of these variables is not a size
    """
    variables = groups.get("_meta", {}).get("hostvars", {})

    def least(key: str) -> int | None:
        sizes = []
        for node in database:
            if (value := variables.get(node, {}).get(key)) is None:
                return None
            try:
                sizes.append(int(properties.known()[key].check(str(value))))
            except BadInputError as error:
                raise BadInputError(f"the inventory {name}, {node}: {error}") from error
        return min(sizes)

    shared = bool(set(database) & set(client))
    description = f"the hosts of {name}"
    return Hosts(len(set(database)), least("host_memory"), least("host_disk"), shared, description, len(set(client)))
