"""What a system may know of its hosts, of the scenario and of the trial."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dohyo.bad_input import BadInputError
from dohyo.sizes import LETTERS, SIZES, size_bytes
from dohyo.systems.option import BOOLEANS, plain

MIB = 2**20
# A condition of an attached system that cannot be read (Attached.UNKNOWN in Java).
UNKNOWN = "not known"


@dataclass(frozen=True)
class Endpoint:
    """A server that was configured: the address that it listens on, its ports by name, and what else others need."""

    values: Mapping[str, Any]

    @property
    def address(self) -> str:
        """Address that clients and other nodes connect to."""
        return str(self.values["address"])

    def __getitem__(self, name: str) -> Any:
        """A port by its name, or another value of the system's member ``node``."""
        return self.values[name]


class Context:
    """Variables of one host in a trial, with types and defaults.

    :ivar values: variables by name, as Ansible has them for this host; read when they are asked for, so that a member
        of a system may be evaluated before the servers have ports
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: Mapping[str, Any] = values or {}

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a variable, or the default where it is not set."""
        try:
            return plain(self.values[name])
        except KeyError:
            return default

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns a variable as a boolean."""
        return BOOLEANS.get(str(self.get(name, default)).lower(), False)

    # ---- hosts ------------------------------------------------------------------------------------------------------

    @cached_property
    def host(self) -> str:
        """Name of this host in the inventory."""
        return str(self.get("inventory_hostname", "localhost"))

    @cached_property
    def databases(self) -> list[str]:
        """Names of the database hosts."""
        return list(self.get("groups", {}).get("database", [self.host]))

    @cached_property
    def clients(self) -> list[str]:
        """Names of the hosts of clients."""
        return list(self.get("groups", {}).get("client", [self.host]))

    def of_host(self, host: str, name: str, default: Any = None) -> Any:
        """Returns a variable of another host, or the default where it is not set."""
        if host == self.host:
            return self.get(name, default)
        try:
            return plain(self.values["hostvars"][host][name])
        except KeyError:
            return default

    @cached_property
    def home(self) -> str:
        """Folder on the host for whatever the project puts there."""
        return str(self.get("dohyo_home", "/opt/dohyo"))

    @cached_property
    def control(self) -> str:
        """Folder of the control machine for what is installed from there."""
        return str(self.get("dohyo_control", "/opt/dohyo"))

    @cached_property
    def address(self) -> str:
        """Address of the host in the cluster's network."""
        return str(self.get("dohyo_address", "127.0.0.1"))

    @cached_property
    def data(self) -> list[str]:
        """Folders for data, one per disk."""
        return self._paths("dohyo_data", [f"{self.home}/data"])

    @cached_property
    def devices(self) -> list[str]:
        """Block devices that belong to the databases, by names or patterns."""
        return self._paths("dohyo_devices", [])

    def _paths(self, name: str, default: list[str]) -> list[str]:
        value = self.get(name, default)
        if not isinstance(value, list) or len(value) < len(default):
            raise BadInputError(f"{name}={value}: must be a list of paths")
        return value

    @cached_property
    def disks(self) -> dict[str, Any]:
        """What was found of these devices and of the file systems on them."""
        return dict(self.get("host_disks", {}))

    @property
    def systemd(self) -> bool:
        """Servers are units of systemd."""
        return self.flag("dohyo_systemd")

    @property
    def public(self) -> bool:
        """Servers without passwords may listen on an address that the internet reaches."""
        return self.flag("dohyo_public")

    @cached_property
    def budget(self) -> str:
        """Memory for all processes of a system on the host, as it was given: a share, a size, or nothing."""
        return str(self.get("host_memory_budget", "80%" if self.systemd else "")).strip()

    @cached_property
    def budget_mb(self) -> int:
        """The budget in MiB; 0 where nothing limits the servers, or for a share of a memory that is not known."""
        return budget_mb(self.budget, int(dict(self.get("host_has", {})).get("memory_mb", 0)))

    @cached_property
    def cores(self) -> int:
        """Processors for the servers; 8 before the host was looked at."""
        bound = cpus(str(self.get("host_cpus_server", "")))
        return len(bound) or int(dict(self.get("service_host", {})).get("cores", 8))

    @cached_property
    def drives(self) -> int:
        """Disks that carry data; before the host was looked at, a pattern counts once. An array is one folder."""
        found = len(self.disks.get("devices") or []) if self.devices else 0
        return max(found, len(self.devices), len(self.data))

    @cached_property
    def disk_kind(self) -> str:
        """One of nvme, ssd and rotational; ssd before the host was looked at."""
        return str(dict(self.get("service_host", {})).get("disk_kind", "ssd"))

    # ---- the scenario -----------------------------------------------------------------------------------------------

    @cached_property
    def properties(self) -> dict[str, Any]:
        """Properties for the client."""
        return dict(self.get("trial_properties", {}))

    @cached_property
    def conditions(self) -> dict[str, Any]:
        """What must be equal for a comparison to be fair, as the scenario asks for it."""
        return dict(self.get("trial_conditions", {}))

    @property
    def recordcount(self) -> int:
        """Records that the key space has; YCSB's default is 1000."""
        return int(self.properties.get("recordcount", 1000))

    @property
    def records(self) -> int:
        """Records that are loaded."""
        default = self.recordcount - int(self.properties.get("insertstart", 0))
        return int(self.properties.get("insertcount", default))

    @property
    def fieldcount(self) -> int:
        """Fields of a record."""
        return int(self.properties.get("fieldcount", 10))

    @property
    def fieldlength(self) -> int:
        """Bytes of a field's value; the longest one where lengths differ."""
        return int(self.properties.get("fieldlength", 100))

    @property
    def fieldlengthdistribution(self) -> str:
        """How the lengths of values are distributed."""
        return str(self.properties.get("fieldlengthdistribution", "constant"))

    @property
    def has_fields_of_4_bytes(self) -> bool:
        """Every value has four bytes, so that it can be a number."""
        return (self.fieldlength, self.fieldlengthdistribution) == (4, "constant")

    @property
    def record_bytes(self) -> int:
        """Bytes of the values of a record."""
        return self.fieldcount * self.fieldlength

    @property
    def fieldnameprefix(self) -> str:
        """What the names of the fields begin with."""
        return str(self.properties.get("fieldnameprefix", "field"))

    @property
    def fieldname_bytes(self) -> int:
        """Bytes of the longest name of a field."""
        return len(f"{self.fieldnameprefix}{self.fieldcount - 1}")

    @property
    def keycolumns(self) -> str:
        """Columns of the key, as in ``host int 10, when timestamp``; empty where the key is bytes of any length."""
        return str(self.properties.get("keycolumns", ""))

    @property
    def key_bytes(self) -> int:
        """Bytes of the longest key: its columns; or "user", 20 digits or what zeropadding says, 2 bytes of salt."""
        if not self.keycolumns:
            return 6 + max(20, int(self.properties.get("zeropadding", 1)))
        numbers = len(re.findall("[a-z0-9_] int", self.keycolumns))
        long_numbers = len(re.findall("[a-z0-9_] (?:bigint|timestamp)", self.keycolumns))
        texts = sum(map(int, re.findall(r"[a-z0-9_] text[(]([0-9]+)", self.keycolumns)))
        return 4 * numbers + 8 * long_numbers + texts

    @property
    def keysalt(self) -> str:
        """How keys are salted."""
        return str(self.properties.get("keysalt", "none"))

    @property
    def sstable_bytes(self) -> int:
        """Bytes of disk for one copy of a record in sstables, which Cassandra and ScyllaDB share.

        23 bytes per row, 15 and its name per field, 32 and the key in the index (DataStax, "Calculating user data
        size"; the format since 3.0 stays below). As much again is free for a compaction of all data ("Calculating
        usable disk capacity": 50 % with the size-tiered strategy).
        """
        fields = self.fieldcount * (self.fieldlength + self.fieldname_bytes + 15)
        return 2 * (fields + 23 + 2 * self.key_bytes + 32)

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        count = int(self.properties.get("tablecount", 1))
        return ["usertable"] if count == 1 else [f"usertable{number}" for number in range(count)]

    @property
    def replication(self) -> int:
        """Copies of every record."""
        return int(self.conditions.get("replication", 1))

    @property
    def write_acks(self) -> str:
        """Copies that acknowledge a write: one, quorum or all."""
        return str(self.conditions.get("write_acks", "all"))

    @property
    def read_acks(self) -> str:
        """Copies that answer a read: one, quorum or all."""
        return str(self.conditions.get("read_acks", "one"))

    @property
    def on_disk(self) -> bool:
        """A write is on disk when it is acknowledged."""
        return str(self.conditions.get("durability", "memory")) == "disk"

    @property
    def wait_for(self) -> int:
        """Replicas that acknowledge a write before the primary does; none is asynchronous replication."""
        return copies(self.write_acks, self.replication) - 1

    @property
    def tuned(self) -> bool:
        """Servers have the profile of their vendor's guide instead of the package's."""
        profile = self.get("dohyo_profile", self.conditions.get("profile", "vanilla"))
        if profile not in ("vanilla", "tuned"):
            raise BadInputError(f"dohyo_profile={profile}: must be one of vanilla, tuned")
        return bool(profile == "tuned")

    @property
    def drops_caches(self) -> bool:
        """Settling ends with empty caches."""
        return str(self.get("trial_settle_cache", "keep")) == "drop"

    @property
    def has_faults(self) -> bool:
        """Something is done to the servers while they are measured."""
        return len(self.get("trial_faults", [])) > 0

    @property
    def inflight(self) -> int:
        """Most requests that a thread has in flight, in the load and in all phases."""
        parts = [self.get("trial_load", {}), *self.get("trial_phases", [])]
        of_parts = [part["properties"] for part in parts if "properties" in part]
        return max(int(each.get("inflight", 1)) for each in (self.properties, *of_parts))

    def connections(self, binding: str) -> int:
        """Connections that all clients open.

        A thread has as many as the property ``BINDING.connections`` says, or as it has requests in flight, at most 32.
        """
        clients = 1 if self.properties.get("threadcount.of", "each") == "all" else len(self.clients)
        of_thread = int(self.properties.get(f"{binding}.connections", min(self.inflight, 32)))
        return int(self.get("trial_threads", 8)) * clients * of_thread

    @property
    def trial_id(self) -> str:
        """Mark that the tables of the trial carry."""
        return str(self.get("trial_id", ""))

    # ---- the trial --------------------------------------------------------------------------------------------------

    def state(self, role: str, host: str = "") -> dict[str, Any]:
        """What the tasks of a system have kept on a host so far; by default on this one."""
        return dict(self.of_host(host or self.host, "system_state", {}).get(role, {}))

    def node(self, role: str, host: str = "") -> Endpoint:
        """The server of a host, once it is configured; by default that of this one."""
        return Endpoint(self.state(role, host)["node"])

    @property
    def java_home(self) -> str:
        """Folder of the JDK for the server."""
        return str(self.get("jdk_host", {}).get("java_home", ""))

    @property
    def gc_options(self) -> list[str]:
        """Options of the server's garbage collector."""
        return list(self.get("jdk_gc_options", []))


def budget_mb(budget: str, memory_mb: int) -> int:
    """Returns the MiB that the servers of a host may use; 0 for no limit, or for a share of an unknown memory.

    :param budget: a share or a size, such as 80% or 150g; empty for no limit
    :param memory_mb: memory of the host, 0 where that is not known
    :raises BadInputError: if it is neither a share nor a size
    """
    text = budget.strip()
    if not text:
        return 0
    match = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) ?%", text)
    share = float(match[1]) if match else 0.0
    bytes_ = size_bytes(text, SIZES | LETTERS) or 0
    if not (0 < share <= 100 if match else bytes_ >= MIB):
        raise BadInputError(
            f"host_memory_budget={text}: must be a share of the host's memory, as in 80%, or a size, as in 150g"
        )
    if match:
        return max(int(share * memory_mb / 100), 1) if memory_mb else 0  # not 0, which is no limit
    return bytes_ // MIB


def cpus(text: str) -> set[int]:
    """Returns the numbers of processors in a list such as 0-3,8-11.

    :raises BadInputError: if it is no such list
    """
    found: set[int] = set()
    for part in filter(None, str(text).split(",")):
        match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise BadInputError(
                f"host_cpus_server or host_cpus_client: {text!r} must be numbers and ranges, as in 0-3,8-11"
            )
        found |= set(range(first, last + 1))
    return found


def copies(acks: str, replication: int) -> int:
    """Returns how many of the copies must answer."""
    return {"one": 1, "quorum": replication // 2 + 1}.get(acks, replication)


def mib(size: str, name: str = "") -> int:
    """Returns a size of a server's option, such as 1500m or 1g, in MiB, rounded down; a bare number is bytes.

    :param name: the setting's name, if its value has no option that checks it
    :raises BadInputError: if it is no size
    """
    found = size_bytes(str(size), SIZES_OF_OPTIONS)
    if found is None:
        raise BadInputError(f"{name}={size}: must be a size, as in 1500m or 1g")
    return found // MIB


def whole(value: Any, name: str) -> int:
    """Returns the number that a setting has; settings have no option that checks them.

    :raises BadInputError: if it is no whole number
    """
    if not re.fullmatch("[0-9]{1,9}", str(value)):
        raise BadInputError(f"{name}={value}: must be a whole number from 0")
    return int(value)


# Units of options such as heaps and buffers are powers of 1024, with and without B.
SIZES_OF_OPTIONS = LETTERS | {f"{letter}b": value for letter, value in LETTERS.items() if letter} | {"b": 1}


def is_older(version: str, than: str) -> bool:
    """Whether one version is older than another; what is not a number counts as nothing."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> list[int]:
    found: list[int] = [int(part) for part in re.findall("[0-9]+", version)]
    return found + [0] * (6 - len(found))


def named(hosts: Sequence[str], most: int = 4) -> str:
    """Returns the names of hosts, as many as one reads."""
    return (
        ", ".join(hosts) if len(hosts) <= most else f"{', '.join(hosts[: most - 1])} and {len(hosts) - most + 1} more"
    )
