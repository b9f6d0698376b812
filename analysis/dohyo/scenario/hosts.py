"""The database hosts as far as they are known before anything starts: number, memory, disk."""

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
    """The database hosts, taken to be alike.

    :ivar count: how many
    :ivar memory: bytes of the smallest one, None where that is not known
    :ivar disk: bytes for data on the smallest one, None where that is not known
    :ivar clients: whether clients run on them, too
    :ivar where: what they are, in words
    :ivar client_count: how many hosts have a client, None where that is not known
    """

    count: int = 1
    memory: int | None = None
    disk: int | None = None
    clients: bool = True
    where: str = "the hosts"
    client_count: int | None = None

    def stated(self, values: Mapping[str, str]) -> "Hosts":
        """These hosts with the values of a scenario instead: host_count, host_memory, host_disk."""
        if not values.keys() & {"host_count", "host_memory", "host_disk"}:
            return self
        memory, disk = (int(values[key]) if key in values else None for key in ("host_memory", "host_disk"))
        # This machine's memory says nothing of the hosts that somebody describes.
        known = Hosts(self.count, clients=self.clients) if self.where == THIS_MACHINE else self
        return Hosts(
            int(values.get("host_count", known.count)),
            memory or known.memory,
            disk or known.disk,
            known.clients,
            "the stated hosts",
            known.client_count,
        )


THIS_MACHINE = "this machine"


def here() -> Hosts:
    """This machine: all of its memory, and the disk that is free now."""
    folder = LOCAL_HOME
    while not folder.exists():
        folder = folder.parent
    return Hosts(1, host.hardware()["memory_bytes"], shutil.disk_usage(folder).free, True, THIS_MACHINE, 1)


def of_inventory(name: Path, groups: Mapping[str, Any], database: list[str], client: list[str]) -> Hosts:
    """The hosts of an inventory, with what its variables host_memory and host_disk say of them.

    :param groups: what ``ansible-inventory --list`` answers
    :param database: names of the database hosts
    :param client: names of the client hosts
    :raises BadInputError: naming a variable that is no size
    """
    variables = groups.get("_meta", {}).get("hostvars", {})

    def least(key: str) -> int | None:
        found = []
        for each in database:
            if (value := variables.get(each, {}).get(key)) is None:
                return None
            try:
                found.append(int(properties.known()[key].check(str(value))))
            except BadInputError as error:
                raise BadInputError(f"the inventory {name}, {each}: {error}") from error
        return min(found)

    shared = bool(set(database) & set(client))
    where = f"the hosts of {name}"
    return Hosts(len(set(database)), least("host_memory"), least("host_disk"), shared, where, len(set(client)))
