"""Context of a system: the hosts, the scenario and the trial."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dohyo.bad_input import BadInputError
from dohyo.sizes import LETTERS, SIZES, size_bytes
from dohyo.systems.option import BOOLEANS, plain

T = TypeVar("T")

MIB = 2**20
# Memory that a client's process needs outside its heap, in MiB.
CLIENT_MIB = 200
# Value of a condition that cannot be read from an attached system (Attached.UNKNOWN in Java).
UNKNOWN = "not known"


class Once(Generic[T]):
    """A property that is evaluated once for each context.

    Before Python 3.12, functools.cached_property has one lock for all contexts, so the threads of two hosts could
    deadlock. The first thread holds the lock and waits for Ansible, which resolves variables in one thread at a time.
    The second thread is resolving a variable of its host, and waits for the lock.
    """

    def __init__(self, evaluate: Callable[[Any], T]) -> None:
        self._evaluate = evaluate

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, context: object, owner: type) -> T:
        value = context.__dict__[self._name] = self._evaluate(context)
        return value


class ScenarioValue(Generic[T]):
    """A value of the scenario.

    :param kind: type of the value, which converts it
    :param group: member of the context with the values: ``properties`` or ``conditions``
    """

    def __init__(self, kind: Callable[[Any], T], group: str, name: str, default: T) -> None:
        self._kind, self._group, self._name, self._default = kind, group, name, default

    def __get__(self, context: object, owner: type) -> T:
        return self._kind(getattr(context, self._group).get(self._name, self._default))


class Context:
    """The variables of one host in a trial, as typed members with defaults.

    :ivar values: variables by name, as Ansible resolves them for this host. They are read on access, so that a member
        of a system can be evaluated before the servers have ports.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: Mapping[str, Any] = values or {}

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a variable, or the default if it is not set."""
        try:
            return plain(self.values[name])
        except KeyError:
            return default

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns a variable as a boolean."""
        return BOOLEANS.get(str(self.get(name, default)).lower(), False)

    # ---- hosts ------------------------------------------------------------------------------------------------------

    @Once
    def host(self) -> str:
        """Name of this host in the inventory."""
        return str(self.get("inventory_hostname", "localhost"))

    @Once
    def databases(self) -> list[str]:
        """Names of the database hosts."""
        return list(self.get("groups", {}).get("database", [self.host]))

    @Once
    def clients(self) -> list[str]:
        """Names of the client hosts."""
        return list(self.get("groups", {}).get("client", [self.host]))

    def of_host(self, host: str, name: str, default: Any = None) -> Any:
        """Returns a variable of a host, or the default if it is not set."""
        if host == self.host:
            return self.get(name, default)
        try:
            return plain(self.values["hostvars"][host][name])
        except KeyError:
            return default

    @Once
    def home(self) -> str:
        """Project's folder on the host."""
        return str(self.get("dohyo_home", "/opt/dohyo"))

    @Once
    def control(self) -> str:
        """Project's folder on the control machine, for installed files."""
        return str(self.get("dohyo_control", "/opt/dohyo"))

    @Once
    def client_mb(self) -> int:
        """Memory of a client's process in MiB: its heap, plus what the JVM needs outside it."""
        return mib(self.get("client_heap") or self.get("trial_client_heap", "512m"), "client_heap") + CLIENT_MIB

    @Once
    def address(self) -> str:
        """Address of the host in the cluster's network."""
        return str(self.get("dohyo_address", "127.0.0.1"))

    @Once
    def data(self) -> list[str]:
        """Folders for data, one per disk."""
        return self._paths("dohyo_data", [f"{self.home}/data"])

    @Once
    def devices(self) -> list[str]:
        """Block devices for the databases, as names or patterns."""
        return self._paths("dohyo_devices", [])

    def _paths(self, name: str, default: list[str]) -> list[str]:
        value = self.get(name, default)
        if not isinstance(value, list) or len(value) < len(default):
            raise BadInputError(f"{name}={value}: must be a list of paths")
        return value

    @Once
    def disks(self) -> dict[str, Any]:
        """Facts about the block devices and their file systems; empty until the host is examined."""
        return dict(self.get("host_disks", {}))

    @property
    def systemd(self) -> bool:
        """Whether systemd runs the servers."""
        return self.flag("dohyo_systemd")

    @property
    def public(self) -> bool:
        """Whether servers without passwords may listen on a public address."""
        return self.flag("dohyo_public")

    @Once
    def budget(self) -> str:
        """Memory for all processes of a system on the host: a share such as 80%, a size, or empty for no limit."""
        return str(self.get("host_memory_budget", "80%" if self.systemd else "")).strip()

    @Once
    def budget_mb(self) -> int:
        """The budget in MiB; 0 if there is no limit, or if it is a share and the host's memory is not known."""
        return budget_mb(self.budget, int(dict(self.get("host_has", {})).get("memory_mb", 0)))

    @property
    def shortages(self) -> list[str]:
        """Reasons why the host cannot divide its memory and processors as requested, with one sentence for each."""
        # Answer of the agent's ``host_resources``; empty without an answer.
        has = dict(self.get("host_has", {}))
        is_database, is_client = self.host in self.databases, self.host in self.clients
        budget, client = self.budget_mb if is_database else 0, self.client_mb if is_client else 0
        memory = int(has.get("memory_mb", 0))
        problems, setting = [], f"host_memory_budget={self.budget}"
        if budget and memory and budget + client > memory:
            if client:
                fix = f"its client needs {client}, the host has {memory}; lower the budget or client_heap"
            else:
                fix = f"but the host has {memory}; set a smaller budget"
            problems.append(f"{setting} is {budget} MiB, {fix}")
        problems += [
            f"{name} needs {mb} MiB, but {setting} leaves {budget}; raise it, or set smaller sizes"
            for name, mb in sorted(dict(self.get("host_memory_mb", {})).items())
            if budget and int(mb) > budget
        ]
        stated = {role: self.get(f"host_cpus_{role}", "") for role in ("server", "client")}
        processors: dict[str, set[int]] = {}
        for role, runs_here in (("server", is_database), ("client", is_client)):
            try:
                processors[role] = cpus(str(stated[role])) if runs_here else set()
            except BadInputError:
                # Do not raise an exception, because it would hide the other problems.
                problems.append(f"host_cpus_{role}: {no_cpus(stated[role])}")
                processors[role] = set()
            if has.get("cpus") and (missing := processors[role] - set(has["cpus"])):
                problems.append(
                    f"host_cpus_{role}={stated[role]}: the host has no processors"
                    f" {', '.join(map(str, sorted(missing)))}; lscpu lists its processors"
                )
        if shared := processors["server"] & processors["client"]:
            problems.append(
                f"host_cpus_server={stated['server']} and host_cpus_client={stated['client']} share"
                f" {', '.join(map(str, sorted(shared)))}; separate them"
            )
        return problems

    @Once
    def cores(self) -> int:
        """Number of processors for the servers; 8 until the host's facts are known."""
        bound = cpus(str(self.get("host_cpus_server", "")))
        return len(bound) or int(dict(self.get("service_host", {})).get("cores", 8))

    @Once
    def drives(self) -> int:
        """Number of disks with data: devices or folders. A pattern counts as one device until the host is examined."""
        count = len(self.disks.get("devices") or []) if self.devices else 0
        return max(count, len(self.devices), len(self.data))

    @Once
    def disk_kind(self) -> str:
        """Kind of disk: nvme, ssd or rotational; ssd until the host's facts are known."""
        return str(dict(self.get("service_host", {})).get("disk_kind", "ssd"))

    # ---- the scenario -----------------------------------------------------------------------------------------------

    @Once
    def properties(self) -> dict[str, Any]:
        """Properties of the client that apply to all phases."""
        return dict(self.get("trial_properties", {}))

    @Once
    def conditions(self) -> dict[str, Any]:
        """Conditions of the scenario that must be equal for a fair comparison."""
        return dict(self.get("trial_conditions", {}))

    # Number of records in the key space; 1000 by default, as in YCSB.
    recordcount = ScenarioValue(int, "properties", "recordcount", 1000)
    # Number of fields per record.
    fieldcount = ScenarioValue(int, "properties", "fieldcount", 10)
    # Length of a field's value in bytes; the maximum if the lengths vary.
    fieldlength = ScenarioValue(int, "properties", "fieldlength", 100)
    # Distribution of the lengths of values.
    fieldlengthdistribution = ScenarioValue(str, "properties", "fieldlengthdistribution", "constant")
    # Prefix of the fields' names.
    fieldnameprefix = ScenarioValue(str, "properties", "fieldnameprefix", "field")
    # Columns of the key, as in ``host int 10, when timestamp``; empty if the key is a string of bytes.
    keycolumns = ScenarioValue(str, "properties", "keycolumns", "")
    # Method by which keys are salted; ``none`` for no salt.
    keysalt = ScenarioValue(str, "properties", "keysalt", "none")
    # Number of copies of a record.
    replication = ScenarioValue(int, "conditions", "replication", 1)
    # Number of copies that must acknowledge a write: one, quorum or all.
    write_acks = ScenarioValue(str, "conditions", "write_acks", "all")
    # Number of copies that must answer a read: one, quorum or all.
    read_acks = ScenarioValue(str, "conditions", "read_acks", "one")

    @property
    def records(self) -> int:
        """Number of records to load."""
        default = self.recordcount - int(self.properties.get("insertstart", 0))
        return int(self.properties.get("insertcount", default))

    def not_4_bytes(self, setting: str, number: str) -> list[str]:
        """Returns a sentence if some values may not be four bytes long, so that a column of numbers cannot store them.

        :param setting: variable and its value
        :param number: type of the column
        """
        if (self.fieldlength, self.fieldlengthdistribution) == (4, "constant"):
            return []
        return [
            f"{setting}: {number} needs fieldlength=4 of constant length, not {self.fieldlength}"
            f" ({self.fieldlengthdistribution})"
        ]

    @property
    def record_bytes(self) -> int:
        """Size of the values of a record, in bytes."""
        return self.fieldcount * self.fieldlength

    @property
    def fieldname_bytes(self) -> int:
        """Length of the longest field name, in bytes."""
        return len(f"{self.fieldnameprefix}{self.fieldcount - 1}")

    @property
    def key_bytes(self) -> int:
        """Maximum length of a key in bytes.

        Without key columns, a key consists of "user", at least 20 digits (more with zeropadding), and 2 bytes of salt.
        """
        if not self.keycolumns:
            return 6 + max(20, int(self.properties.get("zeropadding", 1)))
        numbers = len(re.findall("[a-z0-9_] int", self.keycolumns))
        long_numbers = len(re.findall("[a-z0-9_] (?:bigint|timestamp)", self.keycolumns))
        texts = sum(map(int, re.findall(r"[a-z0-9_] text[(]([0-9]+)", self.keycolumns)))
        return 4 * numbers + 8 * long_numbers + texts

    @property
    def sstable_bytes(self) -> int:
        """Disk space for one copy of a record in SSTables, in bytes; Cassandra and ScyllaDB have the same format.

        A row takes 23 bytes plus its key; a field 15 plus its name and value; the index 32 plus the key (DataStax,
        "Calculating user data size"; the format since 3.0 takes less). The result is doubled, because a compaction of
        all data needs the same space again ("Calculating usable disk capacity": 50 % with the size-tiered strategy).
        """
        fields = self.fieldcount * (self.fieldlength + self.fieldname_bytes + 15)
        return 2 * (fields + 23 + 2 * self.key_bytes + 32)

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        count = int(self.properties.get("tablecount", 1))
        return ["usertable"] if count == 1 else [f"usertable{number}" for number in range(count)]

    @property
    def on_disk(self) -> bool:
        """Whether a write is on disk before it is acknowledged."""
        return str(self.conditions.get("durability", "memory")) == "disk"

    @property
    def wait_for(self) -> int:
        """Number of replicas that must acknowledge a write before the primary does; 0: asynchronous replication."""
        return copies(self.write_acks, self.replication) - 1

    @property
    def tuned(self) -> bool:
        """Whether servers run with the profile ``tuned`` instead of ``vanilla``.

        :raises BadInputError: if the profile is neither of the two
        """
        profile = self.get("dohyo_profile", self.conditions.get("profile", "vanilla"))
        if profile not in ("vanilla", "tuned"):
            raise BadInputError(f"dohyo_profile={profile}: must be one of vanilla, tuned")
        return bool(profile == "tuned")

    @property
    def has_faults(self) -> bool:
        """Whether faults are injected during the measurement."""
        return any(phase.get("faults", "none") != "none" for phase in self.get("trial_phases", []))

    @property
    def inflight(self) -> int:
        """Maximum number of requests in flight per thread in the load and all phases."""
        parts = [self.get("trial_load", {}), *self.get("trial_phases", [])]
        of_parts = [part["properties"] for part in parts if "properties" in part]
        return max(int(properties.get("inflight", 1)) for properties in (self.properties, *of_parts))

    def connections(self, binding: str) -> int:
        """Returns the number of connections that all clients together open.

        Each thread opens ``BINDING.connections`` of them; by default, one per request in flight, at most 32.

        :param binding: name of the binding
        """
        clients = 1 if self.properties.get("threadcount.of", "each") == "all" else len(self.clients)
        of_thread = int(self.properties.get(f"{binding}.connections", min(self.inflight, 32)))
        return int(self.get("trial_threads", 8)) * clients * of_thread

    @property
    def trial_id(self) -> str:
        """ID of the trial, which is also recorded in its tables."""
        return str(self.get("trial_id", ""))

    # ---- the trial --------------------------------------------------------------------------------------------------

    def state(self, role: str, host: str = "") -> dict[str, Any]:
        """Returns the values that a system's tasks recorded for a host, by default for this host."""
        return dict(self.of_host(host or self.host, "system_state", {}).get(role, {}))

    def node(self, role: str, host: str = "") -> dict[str, Any]:
        """Returns the configured server on a host, by default on this host.

        :returns: ``address``, its ports by name, and the values of the system's member ``node_more``
        """
        return dict(self.state(role, host)["node"])

    @property
    def java_home(self) -> str:
        """Folder of the JDK for the server."""
        return str(self.get("jdk_host", {}).get("java_home", ""))

    def named_jdk(self, major: int) -> str:
        """Returns the folder that the user named for a major version of the JDK, or an empty string."""
        # Keys are numbers in YAML and strings in JSON. An empty value in YAML is None.
        homes = {str(key): home for key, home in (self.get("dohyo_java_homes", {}) or {}).items()}
        default = self.get("dohyo_java_home", "") if major == 17 else ""
        return str(homes.get(str(major)) or default or "")

    @property
    def gc_options(self) -> list[str]:
        """JVM options of the server's garbage collector."""
        return list(self.get("jdk_gc_options", []))


def budget_mb(budget: str, memory_mb: int) -> int:
    """Returns the memory that the servers of a host may use, in MiB.

    :param budget: a share or a size, such as 80% or 150g; empty for no limit
    :param memory_mb: memory of the host in MiB; 0 if it is not known
    :returns: 0 if there is no limit, or if the budget is a share of an unknown memory
    :raises BadInputError: if the budget is neither a share nor a size
    """
    text = budget.strip()
    if not text:
        return 0
    match = re.fullmatch(r"([0-9]+(?:[.][0-9]+)?) ?%", text)
    share = float(match[1]) if match else 0.0
    bytes_ = size_bytes(text, SIZES | LETTERS) or 0
    if not (0 < share <= 100 if match else bytes_ >= MIB):
        raise BadInputError(f"host_memory_budget={text}: must be a share of the host's memory (80%) or a size (150g)")
    if match:
        return max(int(share * memory_mb / 100), 1) if memory_mb else 0  # 0 would mean no limit
    return bytes_ // MIB


def cpus(text: str) -> set[int]:
    """Returns the processor numbers in a list such as 0-3,8-11.

    :raises BadInputError: if the text is not such a list
    """
    numbers: set[int] = set()
    for part in filter(None, str(text).split(",")):
        match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise BadInputError(f"host_cpus_server or host_cpus_client: {no_cpus(text)}")
        numbers |= set(range(first, last + 1))
    return numbers


def copies(acks: str, replication: int) -> int:
    """Returns the number of copies that must respond.

    :param acks: one, quorum or all
    :param replication: number of copies
    """
    return {"one": 1, "quorum": replication // 2 + 1}.get(acks, replication)


def mib(size: str, name: str = "") -> int:
    """Returns a size such as 1500m or 1g in MiB, rounded down; a number without a unit is in bytes.

    :param name: name of the setting for the message, if no option has checked the value
    :raises BadInputError: if the text is not a size
    """
    count = size_bytes(str(size), SIZES_OF_OPTIONS)
    if count is None:
        raise BadInputError(f"{name}={size}: must be a size, as in 1500m or 1g")
    return count // MIB


def whole(value: Any, name: str) -> int:
    """Returns the value of a server's setting as a whole number. Unlike options, settings have not been checked before.

    :raises BadInputError: if it is not a whole number from 0 to 999999999
    """
    if not re.fullmatch("[0-9]{1,9}", str(value)):
        raise BadInputError(f"{name}={value}: must be a whole number from 0")
    return int(value)


# Units of options such as heap sizes are powers of 1024; the letter B is optional.
SIZES_OF_OPTIONS = LETTERS | {f"{letter}b": value for letter, value in LETTERS.items() if letter} | {"b": 1}


def is_older(version: str, than: str) -> bool:
    """Returns whether one version is older than another, ignoring parts without digits."""
    return _numbers(version) < _numbers(than)


def _numbers(version: str) -> list[int]:
    numbers: list[int] = [int(part) for part in re.findall("[0-9]+", version)]
    return numbers + [0] * (6 - len(numbers))


def named(hosts: Sequence[str]) -> str:
    """Returns the names of hosts as a list of at most four entries; the last one may count the rest."""
    return ", ".join(hosts) if len(hosts) <= 4 else f"{', '.join(hosts[:3])} and {len(hosts) - 3} more"


def no_cpus(text: Any) -> str:
    """Returns the message for a text that is not a list of processors."""
    return f"{text!r} must be numbers and ranges, as in 0-3,8-11"
