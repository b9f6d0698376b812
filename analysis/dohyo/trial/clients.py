"""Describes a load or run of the clients: each client's command and properties, and the conductor's plan."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dohyo.systems.option import HEAP, declared_in, option
from dohyo.systems.rendering import as_properties
from dohyo.trial.world import Host

# Pattern of the names of properties that are secret in every binding.
SECRET = re.compile("(password|passwd|secret)$", re.IGNORECASE)
# Seconds beyond a client's own limit (stalltime, Run.java) after which a silent client counts as hung.
STALL_GRACE_SECONDS = 10.0
# Maximum number of seconds that a ready client waits to be started.
GATE_SECONDS = 300
# Seconds of warm-up after a pause. They can be few, because caches, connections and compiled code are still warm.
WARMUP_AGAIN_SECONDS = 2
# Timeout in seconds of a pause between two windows, in which other systems are measured.
PAUSE_SECONDS = 6 * 3600


@dataclass(frozen=True)
class ClientOptions:
    """Options of the clients that users set in an inventory or with -e; ``heap`` is the variable ``client_heap``."""

    heap: str = option("", "Heap of a client's JVM; by default the scenario's.", pattern=f"({HEAP})?")
    module: str = option("", "Module of ycsb-bindings with the client's jars; by default the binding's own.")
    java_options: list[str] = option(
        # The garbage collector with the lowest cost per operation, and access to packages that drivers need on JDK 17.
        [
            "-XX:+UseParallelGC",
            "--add-opens=java.base/java.nio=ALL-UNNAMED",
            "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
        ],
        "Options of a client's JVM.",
    )
    ready_timeout: int = option(120, "Seconds within which all threads of a client must connect.")
    grace: int = option(90, "Seconds that clients have after the window to finish operations and write results.")
    count_timeout: int = option(21600, "Timeout in seconds of a load, or of a run of a fixed number of operations.")
    start_delay: int = option(2000, "Milliseconds between the clients' agreement on a start and the start itself.")
    launch_interval: int = option(0, "Milliseconds between the launches of two clients.")
    skew_limit_ms: float = option(
        10.0, "Maximum spread of the clients' starts, and maximum error of their clocks, in a valid run, in ms."
    )
    fault_grace: int = option(420, "Seconds allowed after the window to undo faults and for servers to become ready.")
    # Server hardware tests its memory when it boots.
    boot_timeout: int = option(600, "Seconds within which a host must respond after it was switched on.")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ClientOptions:
        """Reads the options from the variables of a host.

        :raises BadInputError: if the value of a variable is not allowed; the error names the variable
        """
        declared = declared_in(fields(cls), "client").items()
        return cls(**{name: entry.check(values[entry.name]) for name, entry in declared if entry.name in values})


@dataclass(frozen=True)
class ClientPhase:
    """One load, or one run of a phase.

    :ivar name: name in the folder's name and in messages; ``load`` for the load
    :ivar number: number of the run, counted from 1; 0 for the load
    :ivar threads: threads of each client, or of all clients together if the property threadcount.of is ``all``
    :ivar warmup: maximum warm-up, in seconds
    :ivar duration: seconds of the measured window; 0 if a number of operations ends the run
    :ivar measured: whether the run counts only if all clients began at nearly the same time
    :ivar tolerant: whether the trial continues without the results of this run if only clients fail
    :ivar of_trial: number of this run, from 1, among the runs of all phases of the trial
    :ivar faults_asked: text of the faults in the scenario
    :ivar faults: the faults with their hosts (dohyo.scenario.faults.on_hosts)
    :ivar connection: properties with which the client connects to the servers
    :ivar hidden: names of properties that are secret although their names do not show it
    :ivar servers: role of the servers whose processes are watched; empty to watch none
    :ivar windows: number of measured windows of the clients, which pause between them
    """

    name: str
    number: int
    properties: Mapping[str, Any]
    threads: int
    warmup: float
    duration: float
    binding: str
    measured: bool = True
    tolerant: bool = False
    of_trial: int = 1
    faults_asked: str = "none"
    faults: Sequence[Mapping[str, Any]] = ()
    connection: Mapping[str, Any] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    servers: str = ""
    windows: int = 1

    @property
    def goes_on(self) -> bool:
        """Whether the clients are pausing after an earlier window, so that they need not be started."""
        return self.windows > 1 and self.number > 1

    @property
    def warmup_seconds(self) -> float:
        """Maximum warm-up, in seconds."""
        return self.warmup_again if self.goes_on else self.warmup

    @property
    def warmup_again(self) -> float:
        """Maximum warm-up of clients that continue after a pause, in seconds."""
        return min(self.warmup, WARMUP_AGAIN_SECONDS)

    @property
    def is_load(self) -> bool:
        """Whether this is the load, in which the clients insert the records."""
        return self.number == 0

    @property
    def folder(self) -> str:
        """Name of the phase's folder, on the control machine and on the hosts."""
        return self.name if self.is_load else f"{self.name}-{self.number}"

    @property
    def switched(self) -> list[str]:
        """Hosts that faults switch off and on."""
        return list(dict.fromkeys(name for fault in self.faults if fault["kind"] == "power" for name in fault["hosts"]))

    def undo_seconds(self, options: ClientOptions) -> int:
        """Returns the seconds allowed after the window for undoing faults and for servers to become ready again."""
        boots = options.boot_timeout if self.switched else 0
        return options.fault_grace + boots if self.faults else 0

    def bound(self, options: ClientOptions) -> int:
        """Returns the number of seconds after the start within which every client must have ended."""
        if self.is_load or self.duration == 0:
            return options.count_timeout
        # With verify=acknowledged, a client reads the records back after the run (ReadBack.java).
        verifies = self.properties.get("verify", "none") == "acknowledged"
        read_back = int(self.properties.get("verify.timeout", 600)) if verifies else 0
        return math.ceil(self.warmup_seconds + self.duration + options.grace + read_back + self.undo_seconds(options))

    def target(self, clients: int) -> float:
        """Returns the target rate of one client, in operations per second; 0 for no limit."""
        return float(self.properties.get("target", 0)) / clients

    def silence(self, clients: int) -> float:
        """Returns the number of seconds without new lines in its logs after which a client counts as hung."""
        target = self.target(clients)
        between = (30 if self.properties.get("arrival") == "poisson" else 10) / target if target > 0 else 0.0
        return max(float(self.properties.get("stalltime", 60)), between) + STALL_GRACE_SECONDS


def folder_of(host: Host, phase: ClientPhase) -> str:
    """Returns the folder of a phase's client on a host."""
    return f"{host.values['dohyo_home']}/{files_of(lane_of(host.values))}/{phase.folder}/{host.name}"


def lane_of(values: Mapping[str, Any]) -> str:
    """Returns the role of the trial's system if trials of other systems take turns with it; otherwise an empty text."""
    return str(values.get("trial_lane") or "")


def in_lane(name: str, lane: str) -> str:
    """Returns the name of a process or file in a lane, so that trials that take turns use different names."""
    return f"{name}.{lane}" if lane else name


def files_of(lane: str) -> str:
    """Returns the folder below dohyo_home for the files of clients and samplers."""
    return f"client/{lane}" if lane else "client"


def properties_of(host: Host, phase: ClientPhase, hosts: Sequence[str], inserted: int) -> dict[str, Any]:
    """Returns all properties of the client on a host.

    :param hosts: names of all hosts with clients
    :param inserted: number of keys for new records that this client has used before
    """
    options, count, number = ClientOptions.of(host.values), len(hosts), hosts.index(host.name)
    folder = folder_of(host, phase)
    divided = count if phase.properties.get("threadcount.of", "each") == "all" else 1
    common = {
        "clients": count,
        "clientnumber": number,
        "threadcount": max(phase.threads // divided, 1),
        "target": str(phase.target(count)).removesuffix(".0"),
        "startgate": folder,
        "startgate.timeout": GATE_SECONDS,
        "client.summary": f"{folder}/client.json",
        "hdrhistogram.fileoutput": "true",
        "hdrhistogram.output.path": f"{folder}/",
    }
    # Each client computes from clients and clientnumber its part of the records and of the operations (Division.java).
    load = {"maxexecutiontime": 0}
    run = {
        "warmuptime": phase.warmup,
        "verify.run": phase.of_trial,
        # After faults, all copies must be up again before records are read back.
        "verify.wait": phase.undo_seconds(options),
        "maxexecutiontime": phase.duration,
        "inserted": inserted,
        # A duration alone ends a run, also that of a probe whose phase ends after some operations.
        "operationcount": 0 if phase.duration > 0 else int(phase.properties.get("operationcount", 0)),
        "passes": 0 if phase.duration > 0 else int(phase.properties.get("passes", 0)),
    }
    if phase.windows > 1:
        pauses = {"windows": phase.windows, "warmuptime.again": phase.warmup_again, "pause.timeout": PAUSE_SECONDS}
        run = {**run, **pauses}
    return {**phase.properties, **phase.connection, **common, **(load if phase.is_load else run)}


def process_of(host: Host, phase: ClientPhase, hosts: Sequence[str], inserted: int) -> dict[str, Any]:
    """Returns what the agent of a host needs to start its client. The parameters are those of :func:`properties_of`."""
    options, values = ClientOptions.of(host.values), host.values
    home = values["dohyo_home"]
    name = in_lane(f"client-{host.name}", lane_of(values))
    secrets = f"{home}/secret/{name}.properties"
    properties = properties_of(host, phase, hosts, inserted)
    secret = {key: value for key, value in properties.items() if SECRET.search(key) or key in phase.hidden}
    heap = options.heap or values["trial_client_heap"]
    bound_to = values["host_cpus_client"]
    return {
        "name": name,
        "folder": folder_of(host, phase),
        "properties": as_properties({key: value for key, value in properties.items() if key not in secret}),
        "secrets": secrets,
        "secret_properties": as_properties(secret),
        "paused": folder_of(host, replace(phase, number=phase.number - 1)) if phase.goes_on else "",
        "command": [
            *(["taskset", "-c", str(bound_to)] if bound_to else []),
            *(f"{values['service_host']['java_home']}/bin/java", f"-Xms{heap}", f"-Xmx{heap}", *options.java_options),
            *("-cp", f"{home}/bundle/{options.module or phase.binding}/*", "dohyo.client.Client"),
            *("-db", phase.binding, "-P", "client.properties", "-P", secrets),
            *("-load" if phase.is_load else "-t", "-s"),
        ],
    }


def plan_of(
    phase: ClientPhase,
    hosts: Mapping[str, Host],
    databases: Sequence[str],
    clients: Sequence[str],
    inserted: Mapping[str, int],
) -> dict[str, Any]:
    """Returns the arguments of the conductor's plan (conducting.conductor.Plan).

    :param inserted: number of keys for new records that the client of each host has used before
    """
    options = ClientOptions.of(next(iter(hosts.values())).values)
    agents = {}
    for name, host in hosts.items():
        home, serves = host.values["dohyo_home"], name in databases
        agents[name] = {
            "tool": f"{home}/bin/agent",
            "client": process_of(host, phase, clients, inserted.get(name) or 0) if name in clients else None,
            "servers": phase.servers if serves else "",
            "lane": lane_of(host.values),
            "faults": f"{home}/run/fault-{name}" if serves and phase.faults else "",
        }
    return {
        "agents": agents,
        "ready_timeout": options.ready_timeout,
        # A load needs no start delay: it may begin later on some hosts.
        "start_delay": options.start_delay / 1e3 if phase.measured else 0.0,
        "launch_interval": options.launch_interval / 1e3,
        "warmup": 0.0 if phase.is_load else phase.warmup_seconds,
        "steady": not phase.is_load and not phase.goes_on and phase.properties.get("warmup", "fixed") == "steady",
        "duration": None if phase.is_load else phase.duration or None,
        "bound": phase.bound(options),
        "silence": phase.silence(len(clients)),
        "faults": phase.faults,
        "undo": phase.undo_seconds(options),
        "boot": options.boot_timeout,
    }


def power_of(host: Host) -> dict[str, list[str]]:
    """Returns the commands that switch a host off and on, as lists of arguments."""
    return {verb: [str(argument) for argument in host.values[f"dohyo_power_{verb}"]] for verb in ("off", "on")}
