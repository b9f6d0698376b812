"""Starts, watches and stops the processes of servers through the agent of each host."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dohyo.systems.context import Context
from dohyo.trial.world import Host, program

# Seconds after a request to stop until a server is killed, unless its system sets another value.
STOP_SECONDS = 60
# Limit of open files in a systemd unit. Cassandra's manual requires 100,000; Aerospike's and HBase's require less.
OPEN_FILES = 1048576


def tool(host: Host) -> str:
    """Returns the path of the agent on a host."""
    return f"{host.values['dohyo_home']}/bin/agent"


def start(
    host: Host,
    name: str,
    folder: str,
    command: Sequence[str],
    *,
    log: str = "log",
    writes: Sequence[str] = (),
    devices: Sequence[str] = (),
    capabilities: Sequence[str] = (),
    stop_seconds: int = STOP_SECONDS,
) -> None:
    """Starts one process of a server, in a systemd unit if the inventory says so.

    :param folder: working directory of the process
    :param log: file in the folder that receives all output
    :param writes: further folders that a unit may write to
    :param devices: block devices that a unit may use
    :param capabilities: capabilities of the unit
    :raises HostError: if the process does not start
    """
    values, systemd = host.values, Context(host.values).systemd
    budget, bound = int(values["host_budget_mb"]), str(values["host_cpus_server"])
    if not systemd:
        binding = ["taskset", "-c", bound] if bound else []
        # Servers write times without a zone; evidence/server_log.py reads them as UTC.
        program(host, [tool(host), "start", name, folder, log, log, "env", "TZ=UTC", *binding, *command])
        return
    deployment = values["dohyo_deployment"]
    # The processes of a system share the memory budget, so all units of the deployment share a slice.
    slice_ = f"dohyo-{deployment}.slice"
    limits = [slice_, f"MemoryMax={budget}M", "MemorySwapMax=0"] if budget else []
    text = unit(
        name, folder, command, log=log, writes=writes, devices=devices, capabilities=capabilities,
        stop_seconds=stop_seconds, slice_=slice_ if budget else "", cpus=bound,
        open_files=int(values.get("dohyo_open_files", OPEN_FILES)),
    )  # fmt: skip
    argv = [tool(host), "start-unit", name, f"{folder}/{log}", f"dohyo-{deployment}-{name}.service", *limits]
    program(host, argv, stdin=text, root=True)


# A JVM exits with status 143 after SIGTERM.
UNIT = """\
# One process of a database under test. A trial starts and stops it; it does not start at boot.
[Unit]
Description={name}, a server that Dohyo tests
After=network-online.target

[Service]
Type=exec
WorkingDirectory={folder}
Environment="TZ=UTC"
ExecStart={command}
{limits}Restart=no
TimeoutStopSec={stop_seconds}
SuccessExitStatus=143
KillMode=mixed
LimitNOFILE={open_files}
LimitNPROC=infinity
LimitAS=infinity
LimitMEMLOCK=infinity
LimitCORE=0
TasksMax=infinity
OOMScoreAdjust=-500
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={writable}
{access}PrivateTmp=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictRealtime={realtime}
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
LockPersonality=yes
SystemCallArchitectures=native
CapabilityBoundingSet={capabilities}
AmbientCapabilities={capabilities}
"""


def unit(
    name: str, folder: str, command: Sequence[str], *, log: str, writes: Sequence[str], devices: Sequence[str],
    capabilities: Sequence[str], stop_seconds: int, slice_: str, cpus: str, open_files: int,
) -> str:  # fmt: skip
    """Returns the text of a systemd unit. The parameters are those of :func:`start`.

    A server that ends during a run must stay down, because a restart would hide this from the measurement. The unit
    has the limits that the databases' manuals require (docs/cluster.md). It can access only its own folders and the
    network.

    :param slice_: slice of the unit; empty for none
    """
    # A shell opens the log instead of systemd, so that reading it needs no root. SELinux also allows a shell, but not
    # systemd, to start programs and write files outside of the system's folders. systemd expands % and $.
    argv = ["/bin/sh", "-c", 'exec "$@" > "$0" 2>&1', f"{folder}/{log}", *command]
    words = (argument.replace("%", "%%").replace("$", "$$") for argument in map(str, argv))
    paths = [path.replace("%", "%%") for path in dict.fromkeys([folder, *writes])]
    # Block devices belong to the group disk. The unit can access only those that `devices` lists.
    access = ["SupplementaryGroups=disk", "DevicePolicy=closed"] if devices else []
    access += [f"DeviceAllow={device.replace('%', '%%')} rw" for device in devices]
    limits = ([f"Slice={slice_}"] if slice_ else []) + ([f"CPUAffinity={cpus}"] if cpus else [])
    return UNIT.format(
        name=name,
        folder=folder.replace("%", "%%"),
        command=" ".join(json.dumps(word, ensure_ascii=False) for word in words),
        limits="".join(f"{line}\n" for line in limits),
        stop_seconds=stop_seconds,
        open_files=open_files,
        writable=" ".join(json.dumps(path, ensure_ascii=False) for path in paths),
        access="".join(f"{line}\n" for line in access),
        realtime="no" if "CAP_SYS_NICE" in capabilities else "yes",
        capabilities=" ".join(capabilities),
    )


def stop_all(host: Host, killed: str = "", spared: Sequence[str] = ()) -> None:
    """Stops everything that Dohyo started on a host, the clients before the servers.

    Faults are undone first, because a paused process cannot end. The processes are stopped even if this fails.

    :param killed: role of the servers to kill at once; empty if all servers are shut down normally
    :param spared: lanes of other trials, whose processes are not stopped
    """
    faults = f"{host.values['dohyo_home']}/run/fault-{host.name}"
    marker = program(host, ["sh", "-c", '[ ! -e "$0" ] || echo there', faults])
    try:
        if marker:
            # Without this file there are no faults to undo, and no root is needed.
            program(host, [tool(host), "faults", "undo"], root=Context(host.values).systemd)
    finally:
        host.do("program", argv=[tool(host), "stop-all", str(STOP_SECONDS), killed, *spared], removes=tool(host))


def ended(host: Host, role: str) -> str:
    """Returns how processes of a system ended on a host, one line for each process; empty if none has ended."""
    script = """
    for name in "$1" "$1"-*; do
      words=$("$0" status "$name") || { [ $? != 3 ] || echo "$words"; }
    done
    """
    return program(host, ["sh", "-c", f"cd '{_run(host)}' && {script}", tool(host), role])


def _run(host: Host) -> str:
    return f"{host.values['dohyo_home']}/run".replace("'", "'\\''")
