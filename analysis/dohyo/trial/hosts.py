"""Checks the hosts of a trial before anything is started there, and reads the facts that the trial needs.

Each check is a step on all hosts that it concerns. If it fails, it names the problems of all these hosts.
"""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dohyo.systems import collectors
from dohyo.systems.context import Context, cpus
from dohyo.systems.system import PLATFORM, System
from dohyo.trial import attached_systems
from dohyo.trial.processes import tool
from dohyo.trial.removal import note_use
from dohyo.trial.servers import ServerSteps
from dohyo.trial.use_notes import others
from dohyo.trial.world import Host, HostError, World, program

# Memory that the administration of attached servers needs, in MiB.
ADMINISTRATION_MB = 128
# Memory of the clients by host, if there are no clients.
NO_CLIENTS: Mapping[str, int] = {}
# Script that runs a program. If the program fails, the script prints its exit code and its output.
TRY = 'said=$("$@" 2>&1) || printf "%s\\n" "exit code $?" "$said"'


def check_owner(world: World) -> None:
    """Checks on all hosts that Dohyo's folder and the system's data folders have no other owner.

    :raises StepError: if any folder has another owner; the error names these folders
    """

    def check(host: Host) -> None:
        values, system = host.values, world.system(host.name)
        folders = [[values["dohyo_home"], ""]]
        if host.name in world.databases:
            folders += [[folder, f"dohyo/{system.role}"] for folder in (*values["dohyo_data"], *system.log_disks)]
            folders += [[folder, "dohyo/kept"] for folder in values["dohyo_data"] if values["trial_load_id"]]
        result = host.do("owned", state="checked", deployment=values["dohyo_deployment"], folders=folders)
        if result["problems"]:
            raise HostError(f"{host.name}: {'; '.join(result['problems'])}")

    world.on(world.hosts, "Check that the folders belong to Dohyo", check)


def take(world: World) -> None:
    """Records on every host that this trial uses it, and remembers other users of the host as ``trial_notes``.

    :raises StepError: if others were using a host already or, for attached systems, if servers of Dohyo were kept up
    """
    values = world.first.values
    context, deployment, group = Context(values), str(values["dohyo_deployment"]), str(values["trial_group"])

    def note(host: Host) -> list[dict[str, Any]]:
        result = host.do(
            "in_use", state="taken", deployment=deployment, controller=host.values["dohyo_controller"], group=group
        )
        return list(result["uses"])

    attaches, exclusive = values["trial_system"] in values["attached"], context.flag("dohyo_exclusive", True)
    try:
        uses = world.on(world.hosts, "Record that the host is in use", note)
        rivals = dict.fromkeys(
            sentence for notes in uses.values() for sentence in others(notes, deployment, exclusive, attaches, group)
        )
        if rivals:
            world.refuse("Check that no other playbook uses the hosts", "; ".join(rivals))
    except BaseException:
        world.attempt(world.hosts, lambda host: note_use(host, "withdrawn"))
        raise
    # A trial of another deployment on a host is an error. If hosts are shared, it only becomes a note of this trial.
    notes = [sentence.partition("; wait")[0] for sentence in others(uses[world.first.name], deployment, group=group)]
    for host in world.hosts.values():
        host.remember({"trial_notes": notes})


def read_resources(world: World) -> None:
    """Reads the memory and processors of hosts with a limit on either, and remembers them as ``host_has``.

    A later check rejects hosts that do not respond.
    """
    names = ("host_memory_budget", "host_cpus_server", "host_cpus_client")

    def read(host: Host) -> None:
        if any(str(host.values.get(name, "")) for name in names):
            host.remember({"host_has": host.do("host_resources", path=host.values["dohyo_home"])})

    world.attempt(world.hosts, read)


def check_clients(world: World, binding: str) -> None:
    """Checks that the clients' hosts can run the client with a binding.

    :raises StepError: if they cannot; the error names the hosts and their problems
    """

    def check(host: Host) -> None:
        values = host.values
        needs = [tool(host), f"{values['dohyo_home']}/bundle/{values.get('client_module') or binding}"]
        carry(host, needs, memory_mb=Context(values).client_mb)

    world.on(world.clients, "Check that the host can run the client", check)


def report(world: World) -> None:
    """Reads as root how hosts are tuned. Remembers ``host_conditions`` (values by name) and ``host_warnings`` (texts).

    The role `host` defines the settings. Hosts that it did not prepare have neither conditions nor warnings.

    :raises StepError: if a disk of the databases is missing or not mounted, for example after a boot
    """

    def read(host: Host) -> None:
        values, context = host.values, Context(host.values)
        if not context.flag("_host_root_needed"):
            return
        disks = host.do(
            "host_devices", become=True, devices=values["_host_devices"], label=values["_host_label"],
            root=values["_host_root"], deployment=values["dohyo_deployment"], layout=values["host_disk_layout"],
        )  # fmt: skip
        host.remember({"host_disks": disks})
        problems = [disk["problem"] for disk in disks["devices"] if disk["problem"]]
        problems += [f"{volume['mount_point']} is not mounted" for volume in disks["volumes"] if not volume["mounted"]]
        if problems and values["trial_system"] not in values["attached"]:
            raise HostError(f"{host.name}: {'; '.join(problems)}; run {values['dohyo_playbook']} deploy.yml")
        tuned = context.flag("host_tuning")
        limits = {"open files": values["host_open_files"], "processes": values["host_processes"]}
        settings = host.do(
            "host_settings", become=True, state="read", settings=values["_host_settings"],
            disks=values["_host_queues"] if tuned else [], queue=values["_host_queue"], limits=limits if tuned else {},
            kept=f"{values['_host_kept']}/settings.json",
        )  # fmt: skip
        host.remember({"host_conditions": _conditions(settings, disks), "host_warnings": _warnings(settings, disks)})

    for host in world.hosts.values():
        host.remember({"host_conditions": {}, "host_warnings": []})
    world.on(world.hosts, "Read how the hosts are tuned", read)


def _conditions(tuning: Mapping[str, Any], disks: Mapping[str, Any]) -> dict[str, str]:
    """Returns the values of all settings by name, and the file system of each volume by its devices."""
    settings = {setting["name"]: setting["now"] for setting in tuning["settings"]}
    volumes = {
        " + ".join(disk["devices"]): f"{'RAID0 ' if disk['array'] else ''}{disk['mount_point']} {disk['options']}"
        for disk in disks["volumes"]
    }
    return {**settings, **dict.fromkeys(tuning["absent"], "not there"), **volumes}


def _warnings(state: Mapping[str, Any], disks: Mapping[str, Any]) -> list[str]:
    """Returns sentences about settings whose value is not the intended one, and about disks that cannot be trimmed."""
    warnings = []
    if state["differences"]:
        note = f"denied by the container ({state['container']}), as expected" if state["container"] else "not as tuned"
        warnings.append(f"{note}: {', '.join(state['differences'])}")
    # Rotating disks need no trim.
    untrimmed = [disk["path"] for disk in disks["devices"] if not disk["discards"] and disk["kind"] != "rotational"]
    if untrimmed:
        warnings.append(
            f"not trimmed after a wipe: {', '.join(untrimmed)} (no discards): the flash may hold another system's data"
        )
    return warnings


def check_servers(servers: ServerSteps) -> None:
    """Checks that the database hosts can run the servers as requested.

    :raises StepError: if they cannot; the error names the hosts and their problems
    """
    if servers.is_attached:
        check_administration(servers, {name: _client_mb(servers, name) for name in servers.databases})
        return
    look_for(servers)
    _check_requests(servers)
    _check_room(servers)
    find_jdk(servers)
    _check_collector(servers)
    _describe(servers)


def check_administration(servers: ServerSteps, shared_mb: Mapping[str, int] = NO_CLIENTS) -> None:
    """Checks that the first database host can administer attached servers.

    :param shared_mb: memory of a client on each host, in MiB
    """

    def check(name: str) -> None:
        system, host = servers.system(name), servers.world.hosts[name]
        if system.is_first:
            carry(host, _needs(host, system), memory_mb=ADMINISTRATION_MB, shared_mb=shared_mb.get(name, 0))

    servers.each(f"Check that the host can administer {servers.first.title}", check, servers.databases)


def ask_attached(world: World) -> None:
    """Examines attached systems and Dohyo's permissions on them for attached.yml, without changing them."""
    values = world.first.values
    for name in values["doctor_systems"]:
        check_administration(of_system(world, name))
    try:
        for name in values["doctor_systems"]:
            servers = of_system(world, name)
            servers.configure()
            servers.ask(Path(values["doctor_results"]) / f"{name}.json")
    finally:
        # This removes only files with passwords, because no tables were created.
        attached_systems.detach_all(world, attached_systems.all_roles(), world.databases)


def of_system(world: World, name: str) -> ServerSteps:
    """Returns the servers of a system, for playbooks that run no trial. The hosts remember the system's name."""
    for host in world.hosts.values():
        host.remember({"trial_system": name})
    return ServerSteps(world)


def carry(host: Host, needs: Sequence[str], *, memory_mb: int, **more: Any) -> None:
    """Checks that a host has the resources for a process, and remembers its resources as ``service_host``.

    :param needs: paths that deploy.yml has put on the host
    :param memory_mb: memory of the process, in MiB
    :param more: ``shared_mb``, ``disk_mb`` and ``disk_by`` for the agent's verb ``host_resources``; ``open``: addresses
        on which a server without passwords will listen, by the name of the server
    :raises HostError: if the host lacks any of them; the error names all problems
    """
    context = Context(host.values)
    carries = {
        "host": host.name, "memory_mb": memory_mb, "shared_mb": 0, "disk_mb": 0, "disk_by": [],
        "spare_gb": context.get("dohyo_min_free_gb", 2), "playbook": context.get("dohyo_playbook"),
    }  # fmt: skip
    resources = host.do(
        "host_resources", java_home=context.get("dohyo_java_home", ""), path=context.data[0], needs=list(needs),
        open=more.pop("open", {}), carries={**carries, **more},
    )  # fmt: skip
    host.remember({"service_host": resources})
    if resources["problems"]:
        raise HostError("; ".join(resources["problems"]))


def look_for(servers: ServerSteps) -> None:
    """Looks for the servers and their requirements on the database hosts, without changing anything."""

    def detect(name: str) -> None:
        if servers.system(name).downloads:
            output = program(servers.world.hosts[name], PLATFORM)
            servers.remember(name, system_platform={"stdout": output})

    def examine(name: str) -> None:
        if findings := servers.system(name).examine(servers, name):
            servers.answer(name, found=findings)

    def look(name: str) -> None:
        script = servers.system(name).looks_for
        if script is not None:
            argv = ["sh", "-c", script.text, "sh", *script.arguments]
            result = servers.world.hosts[name].do("program", argv=argv, environment=dict(script.environment))
            servers.answer(name, looked={stream: result[stream] for stream in ("stdout", "stderr")})

    servers.each("Detect distribution and processor", detect, servers.databases)
    servers.each("Look for the server", examine, servers.databases)
    servers.each(f"Run the script of {servers.first.title}", look, servers.databases)


def find_availability(servers: ServerSteps) -> None:
    """Finds out on every database host whether the servers are available there.

    The system's fact ``unavailable`` says why they are not, and how to get them; it is empty if they are available.
    """
    if not servers.is_attached:
        look_for(servers)
    for name in servers.databases:
        servers.answer(name, unavailable="" if servers.is_attached else servers.system(name).unavailable)


def find_jdk(servers: ServerSteps) -> None:
    """Finds the server's JDK on the database hosts. Remembers it as ``jdk_host``; its home is empty if none was found.

    :raises StepError: if hosts have different builds, because JDKs of the same major version differ in speed
    """

    def find(name: str) -> dict[str, Any]:
        host, jvm = servers.world.hosts[name], servers.system(name).jvm
        if jvm is None:
            return {}
        also = [] if jvm.home else [jvm.installed]
        jdk = host.do(
            "host_resources", java_home=jvm.home, java_major=jvm.jdk, java_also=also, path=host.values["dohyo_home"]
        )
        host.remember({"jdk_host": jdk})
        return jdk

    jdks = servers.each("Find the JDK", find, servers.databases)
    builds = list(dict.fromkeys(jdk["java_build"] for jdk in jdks.values() if jdk.get("java_home")))
    if len(builds) > 1:
        message = (
            f"hosts have different builds of JDK {servers.first.jvm.jdk}: {', '.join(builds)};"  # type: ignore[union-attr]
            " install one on all (docs/versions.md)"
        )
        step = "Check that all hosts have the same build of the JDK"
        servers.world.fail(step, dict.fromkeys(servers.databases, message))


def _client_mb(servers: ServerSteps, name: str) -> int:
    """Returns the memory of the client on a server's host, in MiB; 0 if there is no client."""
    return Context(servers.world.hosts[name].values).client_mb if name in servers.clients else 0


def _needs(host: Host, system: System) -> list[str]:
    """Returns the paths of the agent and of the administration on a host."""
    return [tool(host), f"{host.values['dohyo_home']}/bundle/{system.binding}"]


def _check_requests(servers: ServerSteps) -> None:
    """Checks the variables of the system, and that the hosts have enough memory and processors."""

    def check(name: str) -> None:
        system, values = servers.system(name), servers.world.hosts[name].values
        reasons = list(system.misfits)
        if not reasons:
            needs = {"host_memory_mb": {system.role: system.planned["memory_mb"]}}
            context = Context(ChainMap(needs, values))  # type: ignore[arg-type] # only read
            reasons = [*(context.shortages if system.serves else []), *system.refusals]
        if reasons:
            raise HostError("; ".join(reasons))

    servers.each(f"Check the settings of {servers.first.title}", check, servers.databases)


def _check_room(servers: ServerSteps) -> None:
    """Checks that the deployed files are on the hosts, and that each has room for its server and its client."""

    def check(name: str) -> None:
        system, host = servers.system(name), servers.world.hosts[name]
        if system.serves:
            carry(
                host, [*_needs(host, system), *system.programs], memory_mb=system.planned["memory_mb"],
                shared_mb=_client_mb(servers, name), disk_mb=system.disk_mb // system.disks,
                disk_by=list(system.disk_by), open={system.role: system.open_address},
            )  # fmt: skip

    servers.each("Check that the host can run the server", check, servers.databases)


def _check_collector(servers: ServerSteps) -> None:
    """Checks that the JDK of every database host supports the collector, and remembers the collector's options."""

    def check(name: str) -> None:
        jvm, values = servers.system(name).jvm, servers.world.hosts[name].values
        if jvm is not None and not (jdk := values["jdk_host"])["java_home"]:
            raise HostError(
                f"no JDK {jvm.jdk} on {name}, only {', '.join(jdk['java_seen'])}; with the same versions, run"
                f" {values['dohyo_playbook']} deploy.yml"
            )

    def choose(name: str) -> None:
        jvm, values = servers.system(name).jvm, servers.world.hosts[name].values
        if jvm is None:
            return
        jdk = values["jdk_host"]
        cores = len(cpus(str(values.get("host_cpus_server", "")))) or jdk["cores"]
        options = collectors.options_of(jvm, cores, huge_pages=jdk["huge_pages"])
        servers.remember(name, jdk_gc_options=options)
        # The JVM that tests the options must not write a log.
        tried = [option for option in options if not option.startswith("-Xlog")]
        output = servers.run(name, ["sh", "-c", TRY, "sh", f"{jdk['java_home']}/bin/java", *tried, "-version"])
        if lines := output.splitlines():
            aside = ("Error: Could not", "Error: A fatal")
            cause = " ".join(line for line in lines[1:] if not line.startswith(aside))
            raise HostError(
                f"JDK {jvm.jdk} in {jdk['java_home']} on {name} rejects {jvm.gc}: {cause}; change collector or JDK"
            )

    servers.each("Check that the host has the JDK", check, servers.databases)
    servers.each("Check that the JDK supports the collector", choose, servers.databases)


def _describe(servers: ServerSteps) -> None:
    """Reads the versions and capabilities of the servers' programs, and checks that they support the conditions."""
    names = [name for name in servers.first.hosts if servers.system(name).look is not None]

    def ask(name: str) -> None:
        if (script := servers.system(name).look) is not None:
            output = servers.run(name, ["bash", "-s", "--", *script.arguments], stdin=script.text)
            servers.answer(name, found=json.loads(output))

    def check(name: str) -> None:
        if problem := servers.system(name).found_problem:
            raise HostError(problem)

    servers.each(f"Run the script of {servers.first.title}", ask, names)
    servers.each("Check that the server supports the requested conditions", check, names)
