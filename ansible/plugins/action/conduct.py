"""Ansible action plugin: executes a trial, or a part of it, on all hosts of the play from one process.

    conduct:
      do: trial               a trial, from the checks of its hosts to its end
          clients             clients that need no servers, for clients.yml and doctor.yml
          stop                the steps of stop.yml
          halt                stops processes and removes objects on attached systems, for destroy.yml
          doctor              checks of attached systems, for attached.yml
          check               checks of the clients' hosts, for clients.yml and doctor.yml
          available           finds out why a system's servers are not available, and how to get them
          jdk                 finds the JDK of a system's servers
      system: cassandra       the system, for ``available`` and ``jdk``

The plugin opens connections as the inventory says, including those to the clients' agents (docs/clients.md). It runs
once for all hosts. If a step fails, the task itself succeeds, because it would fail only on the first host. It returns
``failures``, the problem of each host, for a later task that fails on all hosts; ``facts`` by host, for ``check``,
``available`` and ``jdk``; and ``reason``, why the trial failed.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
import traceback
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from ansible_private import forget_passwords
from conducting.agents import clock, conduct
from conducting.channel import Way
from conducting.conductor import Conductor, Plan
from conducting.hosts import AnsibleHost, allow_files, at_once, die_with_parent, said_of
from conducting.report import faults, report, sentences
from dohyo.bad_input import BadInputError
from dohyo.systems.context import Context
from dohyo.trial.clients import ClientOptions, ClientPhase, power_of
from dohyo.trial.hosts import ask_attached, check_clients, find_availability, find_jdk, of_system
from dohyo.trial.measurement import Measuring
from dohyo.trial.removal import stop_everything
from dohyo.trial.servers import ServerSteps
from dohyo.trial.trial import run_trial
from dohyo.trial.world import StepError, World

# Options with which ssh notices within ten seconds that a host is dead. Other traffic must not share the connection,
# because the connection ends with the phase. If an option is given twice, ssh uses the first.
SSH_OPTIONS = (
    *("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=5"),
    *("-o", "ControlMaster=no", "-o", "ControlPath=none"),
)

# Steps that change nothing on the hosts; they also run in check mode.
LOOKING = ("check", "available", "jdk")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Executes the task on the controller, once for all hosts."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Executes the task."""
        super().run(tmp, task_vars)
        steps = ["trial", "clients", "stop", "halt", "doctor", *LOOKING]
        accepted = {"do": {"type": "str", "required": True, "choices": steps}, "system": {"type": "str", "default": ""}}
        _, arguments = self.validate_argument_spec(accepted)
        if self._task.check_mode and arguments["do"] not in LOOKING:
            return {"skipped": True, "changed": False, "msg": "it was not run because of check mode"}
        die_with_parent()
        variables = task_vars or {}
        forget_passwords(self, variables)
        world = self._world(variables)
        allow_files(len(world.hosts))
        run_phase = partial(drive, world)
        answer: dict[str, Any] = {"changed": True, "failures": {}}
        try:
            if arguments["do"] == "trial":
                await_turn()
                answer["reason"] = run_trial(world, run_phase)
            elif arguments["do"] == "clients":
                Measuring(world, ServerSteps(world), run_phase).clients_alone()
            elif arguments["do"] in ("stop", "halt"):
                keeps = Context(world.first.values).flag("stop_keeps_loads")
                answer["failures"] = stop_everything(world, keeps_loads=keeps, only_halts=arguments["do"] == "halt")
            elif arguments["do"] in LOOKING:
                answer |= {"changed": False, "facts": look(world, arguments["do"], arguments["system"])}
            else:
                ask_attached(world)
        except StepError as error:
            # Give every host a reason; otherwise the next task would fail without one on the hosts that have no answer.
            failures = dict.fromkeys(world.hosts, str(error)) if arguments["do"] in LOOKING else {}
            answer["failures"] = failures | error.by_host
        except Exception as error:  # an exception would fail the task only on the first host
            answer["failures"] = dict.fromkeys(world.hosts, unforeseen(error))
        if arguments["do"] == "trial" and answer["failures"]:
            answer["reason"] = "; ".join(dict.fromkeys(answer["failures"].values()))
        return answer

    def _world(self, variables: Mapping[str, Any]) -> World:
        """Returns the hosts of the play, and their connections."""
        hostvars, groups = variables["hostvars"], variables["groups"]
        hosts: dict[str, AnsibleHost] = {}
        for name in variables["ansible_play_hosts"]:
            hosts[name] = AnsibleHost(self, hostvars, name, hosts)
        return World(
            hosts,
            [name for name in groups.get("database", []) if name in hosts],
            [name for name in groups.get("client", []) if name in hosts],
            AnsibleHost(self, hostvars, "localhost", hosts),
            report_event,
            lambda name: AnsibleHost(self, hostvars, name, hosts),
            self._decrypted,
            unforeseen,
            at_once,
        )

    def _decrypted(self, file: str) -> str:
        """Returns the text of a file on this machine, decrypted if it was encrypted with Ansible Vault."""
        try:
            real = self._loader.get_real_file(os.path.expanduser(file), decrypt=True)
            return Path(real).read_text(encoding="utf-8")
        except (AnsibleError, OSError) as error:
            raise BadInputError(f"{file}: {error}") from error


def await_turn() -> None:
    """Waits for the previous trial to end, because run.sh starts this playbook before that.

    :raises AnsibleActionFail: if run.sh ends first
    """
    turn = os.environ.get("DOHYO_TURN")
    if turn and not os.read(int(turn), 1):
        raise AnsibleActionFail("the experiment has ended")


def look(world: World, subject: str, system: str) -> dict[str, dict[str, Any]]:
    """Checks whether the hosts have what a system's servers or a client need, and returns the facts by host."""
    if subject == "check":
        check_clients(world, str(world.first.values["client_binding"]))
    elif subject == "available":
        find_availability(of_system(world, system))
    else:
        find_jdk(of_system(world, system))
    names = ("service_host", "system_state", "system_platform", "jdk_host")
    return {
        name: {fact: values[fact] for fact in names if fact in values}
        for name, values in ((name, host.values) for name, host in world.hosts.items())
    }


def unforeseen(error: Exception) -> str:
    """Prints an error's traceback with -vvv; returns its message."""
    Display().vvv("".join(traceback.format_exception(error)))
    return said_of(error)


def report_event(event: str, **fields: Any) -> None:
    """Appends an event to the file of the progress display; without it, prints phases and notes as Ansible does."""
    if path := os.environ.get("DOHYO_EVENTS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"time": time.time(), "event": event, **fields}) + "\n")
    elif event == "phase":
        number = f" {fields['run']}" if fields["run"] else ""
        Display().banner(f"PHASE [{fields['phase']}{number}]")
    elif event == "note":
        Display().display(fields["text"])


def drive(
    world: World, plan: Mapping[str, Any], phase: ClientPhase, folder: Path
) -> tuple[Mapping[str, Any], list[str]]:
    """Runs a phase of the clients on all hosts, through the agents.

    :param folder: folder on the control machine, to which the phase's files are written
    :returns: the content of clients.json, and the hosts whose connection was lost
    """
    hosts = world.hosts
    conductor = Conductor(Plan(**plan), clock())
    ways = {name: way_to_agent(hosts[name], begin["tool"]) for name, begin in plan["agents"].items()}
    power = {name: power_of(hosts[name]) for name in phase.switched}
    conduct(conductor, ways, partial(mirror, folder), power, Display().warning)
    limit = ClientOptions.of(world.first.values).skew_limit_ms
    outcome = report(conductor, limit, measured=phase.measured)
    folder.mkdir(parents=True, exist_ok=True)
    files = {"clients.json": outcome, "faults.json": faults(conductor, phase.faults_asked)}
    for name, content in files.items():
        if content is not None:
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            (folder / name).write_text(text, encoding="utf-8")
    title = "the load" if phase.is_load else f"{phase.name} {phase.number}"
    for sentence in sentences(title, outcome):
        world.event("note", text=sentence)
    lost = [name for name, host in conductor.hosts.items() if host.lost or host.power not in ("on", "back")]
    return outcome, lost


def way_to_agent(host: Any, tool: str) -> Way:
    """Returns the command that starts a host's agent over the kind of connection that Ansible uses."""
    way: Way = host.way(f"exec {shlex.join([tool, 'converse'])}")
    if way.is_local:
        return way
    return Way([way.command[0], *SSH_OPTIONS, *map(to_text, way.command[1:])], way.environment)


def mirror(folder: Path, host: str, log: str, text: str) -> None:
    """Appends new text of a client's log to its copy in a folder, for live progress and in case the host is lost."""
    folder /= host
    folder.mkdir(parents=True, exist_ok=True)
    # Use only the last part of the name, which another machine sent: it must not point outside the folder.
    path = folder / Path(log).name
    try:
        with path.open("ab") as file:
            file.write(text.encode("latin-1"))
    except OSError as error:
        raise AnsibleActionFail(f"{path} cannot be written: {error.strerror}") from None
