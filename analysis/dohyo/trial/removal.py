"""Removes the data and the notes of trials, and stops everything that Dohyo runs on hosts (stop.yml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dohyo.trial import attached_systems, processes
from dohyo.trial.evidence import collect, end_observing, under_way
from dohyo.trial.servers import ServerSteps
from dohyo.trial.world import Host, World, program

# Name of the control machine among the hosts; a host of an inventory cannot have this name.
CONTROL = "the control machine"


def renew(servers: ServerSteps) -> None:
    """Removes the files of earlier trials on all hosts, and creates and marks new data folders."""
    world = servers.world
    world.on(world.hosts, "Remove the data", lambda host: wipe(servers, host, "fresh"))
    if not servers.is_attached:
        servers.first.wipe(servers, "fresh")


def wipe(servers: ServerSteps, host: Host, state: str) -> None:
    """Removes the files of trials on a host: data, run folders, passwords, connection files.

    Does not remove what the system stores outside of its folders.

    :param state: ``absent``, or ``fresh`` to create and mark new data folders afterwards. The marks contain the name of
        the trial's folder on the control machine
    """
    values, system, of_trial = host.values, servers.first, servers.world.first.values
    role = system.role
    data: list[list[str]] = []
    if host.name in servers.databases:
        log_disks = servers.system(host.name).log_disks
        data = [[folder, f"dohyo/{role}"] for folder in (*values["dohyo_data"], *log_disks)]
        # Also remove the kept loads of a killed experiment, unless the trial shares its load with later trials.
        if state == "absent" and not of_trial["trial_load_id"]:
            data += [[folder, "dohyo/kept"] for folder in values["dohyo_data"]]
    inside = [f"run/{role}", f"run/{role}-*", f"run/{values['trial_system']}.properties", f"secret/{role}"]
    removed = host.do(
        "owned", state=state, deployment=values["dohyo_deployment"], folders=data, home=values["dohyo_home"],
        inside=inside, makes=system.makes, controller=values["dohyo_controller"],
        experiment=str(Path(of_trial["trial_dir"])),
    )["removed"]  # fmt: skip
    if removed and data and values["dohyo_devices"]:
        trim(host)


def trim(host: Host) -> None:
    """Trims the devices after a removal, so that a system does not start on flash that is full of old data.

    Only the volumes that host_devices reports as Dohyo's are trimmed.
    """
    values = host.values
    devices = host.do(
        "host_devices", become=True, devices=values["dohyo_devices"], label=f"dohyo-{values['dohyo_deployment'][:6]}",
        root="/dohyo", deployment=values["dohyo_deployment"], layout=values["host_disk_layout"],
    )  # fmt: skip
    for volume in devices["volumes"]:
        if volume["mounted"] and volume["discards"]:
            program(host, ["fstrim", volume["mount_point"]], root=True)


def note_use(host: Host, state: str) -> None:
    """Records on a host that a trial is under way or has ended."""
    values = host.values
    host.do("in_use", state=state, deployment=values["dohyo_deployment"], controller=values["dohyo_controller"])


def with_control(world: World) -> World:
    """Returns the world with the control machine as one more host: servers of the local inventory may run there."""
    home = world.first.values["dohyo_control"]
    if any(host.values["dohyo_home"] == home and is_local(host) for host in world.hosts.values()):
        return world
    world.control.remember({"dohyo_home": home})
    return replace(world, hosts={**world.hosts, CONTROL: world.control})


def is_local(host: Host) -> bool:
    """Returns whether a host is this machine, so that Ansible needs no SSH to reach it."""
    return str(host.values.get("ansible_connection", "ssh")) == "local"


def stop_everything(world: World, *, keeps_loads: bool, only_halts: bool = False) -> dict[str, str]:
    """Stops what Dohyo started on hosts, and fetches the evidence of an interrupted trial, for the playbook stop.yml.

    Files that must not be removed are reported as notes.

    :param keeps_loads: whether to keep loads, as between two trials of an experiment
    :param only_halts: whether to only stop processes, also on the control machine, because destroy.yml removes the rest
    :returns: failures by host; a failure on the control machine is listed for the first host
    """
    deployment = str(world.first.values["dohyo_deployment"] or "none")
    failures: dict[str, str] = {}
    world.phase("stop")

    def failed(step: str, messages: Mapping[str, str]) -> None:
        for name, message in messages.items():
            if message:
                failures.setdefault(name if name in world.hosts else world.first.name, message)
                world.event("failed", task=step, host=name, message=message, ignored=False)

    def leave(prefix: str, problems_by_host: Mapping[str, list[str]]) -> None:
        for problem in (text for problems in problems_by_host.values() for text in problems):
            world.event("note", text=f"{prefix}{problem}")

    def look(host: Host) -> list[str]:
        folders = [[host.values["dohyo_home"], ""]]
        return list(host.do("owned", state="checked", deployment=deployment, folders=folders)["problems"])

    def free(host: Host) -> None:
        host.do("in_use", state="ended", deployment=deployment)

    def forget_loads(host: Host) -> list[str]:
        folders = [[folder, "dohyo/kept"] for folder in host.values["dohyo_data"]]
        return list(host.do("owned", state="absent", deployment=deployment, folders=folders, leave=True)["problems"])

    everywhere = with_control(world) if only_halts else world
    obstacles, errors = everywhere.attempt(everywhere.hosts, look)
    failed("Check who owns the folder", errors)
    # Leave hosts alone if their folder belongs to another deployment: no process of this deployment can run in it.
    leave("", obstacles)
    own_hosts = [name for name, problems in obstacles.items() if not problems]
    stopped, errors = everywhere.attempt(own_hosts, processes.stop_all)
    failed("Stop all processes", errors)
    remaining = attached_systems.detach(everywhere, own_hosts, attached_systems.all_roles())
    failed("Remove Dohyo's objects on attached systems", remaining)
    trials = under_way(world) if own_hosts else []
    have_answered = [end_observing(world, Path(trial["dir"])) for trial in trials]
    if only_halts:
        return failures
    if not keeps_loads:
        obstacles, errors = world.attempt([name for name in world.databases if name in own_hosts], forget_loads)
        failed("Remove the kept loads", errors)
        leave("left alone: ", obstacles)
    for trial in trials:
        fetched = collect(world, own_hosts, trial, keeps_note=not all(have_answered))
        failed("Fetch the evidence of an interrupted trial", fetched)
    # Do this last, because other deployments may use the hosts afterwards.
    failed("Record that no trial is under way", world.attempt(stopped, free)[1])
    return failures
