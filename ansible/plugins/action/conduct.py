"""Ansible action plugin: executes a trial, or a part of it, on all hosts of the play from one process.

    conduct:
      do: check               checks before anything is changed (dohyo.trial.refusals)
          begin               steps before Ansible checks the hosts (dohyo.trial.trial)
          trial               the trial, or only its end if Ansible found a problem with the hosts
          clients             clients that need no servers, for clients.yml and doctor.yml
          stop                the steps of stop.yml
          halt                the first step of stop.yml, with which destroy.yml begins
          doctor              checks of attached systems, for attached.yml
      load: {}                for ``trial``, the ``load`` that ``begin`` returned

Before ``trial``, a problem that Ansible found on a host is in the host's fact trial_failure.

The plugin opens connections as the inventory says, also to the agents of the clients (docs/clients.md). It runs once
for all hosts. If a step fails, the task does not, because it would fail only on the first host. It returns
``failures``, each host's problem, for a task that fails on all of them; ``load``; and ``reason``, why the trial failed.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
import traceback
from collections.abc import Mapping
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
from conducting.hosts import AnsibleHost, at_once, die_with_parent, said_of
from conducting.power import Commands
from conducting.report import faults, report, sentences
from dohyo.bad_input import BadInputError
from dohyo.systems.context import Context
from dohyo.trial.clients import ClientOptions, ClientPhase, power_of
from dohyo.trial.measuring import Measuring, Outcome
from dohyo.trial.refusals import refuse
from dohyo.trial.removing import stop_everything
from dohyo.trial.servers import ServerSteps, ask_attached
from dohyo.trial.trial import TrialSteps, begin
from dohyo.trial.world import StepError, World

# Options with which ssh notices within ten seconds that a host is dead. Other traffic must not share the connection,
# because the connection ends with the phase. If an option is given twice, ssh uses the first.
SSH_OPTIONS = (
    *("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=5"),
    *("-o", "ControlMaster=no", "-o", "ControlPath=none"),
)


class ActionModule(ActionBase):  # type: ignore[misc]
    """Executes the task on the controller, once for all hosts."""

    _requires_connection = False
    _supports_check_mode = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Executes the task."""
        super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(
            {
                "do": {
                    "type": "str",
                    "required": True,
                    "choices": ["check", "begin", "trial", "clients", "stop", "halt", "doctor"],
                },
                "load": {"type": "dict", "default": {}},
            }
        )
        die_with_parent()
        variables = task_vars or {}
        forget_passwords(self, variables)
        world = self._world(variables)
        drive = Drive(world)
        answer: dict[str, Any] = {"changed": True, "failures": {}}
        try:
            if given["do"] == "check":
                await_turn()
                refuse(world)
            elif given["do"] == "begin":
                answer["load"] = begin(world)
            elif given["do"] == "trial":
                answer["reason"] = TrialSteps(world, drive, given["load"]).conduct(failures_of(variables))
            elif given["do"] == "clients":
                Measuring(world, ServerSteps(world), drive).clients_alone()
            elif given["do"] in ("stop", "halt"):
                keeps = Context(world.first.values).flag("stop_keeps_loads")
                answer["failures"] = stop_everything(world, keeps_loads=keeps, only_halts=given["do"] == "halt")
            else:
                ask_attached(world)
        except StepError as error:
            answer["failures"] = error.by_host
        except Exception as error:  # a failed task would skip the rescue section on other hosts
            answer["failures"] = dict.fromkeys(world.hosts, unforeseen(error))
        if given["do"] == "trial" and answer["failures"]:
            said = [*failures_of(variables).values(), *answer["failures"].values()]
            answer["reason"] = "; ".join(dict.fromkeys(filter(None, said)))
        return answer

    def _world(self, variables: Mapping[str, Any]) -> World:
        """Returns the hosts of the play, and their connections."""
        hostvars, groups = variables["hostvars"], variables["groups"]
        hosts: dict[str, AnsibleHost] = {}
        for name in hosts_of(variables):
            hosts[name] = AnsibleHost(self, hostvars, name, hosts)
        return World(
            hosts,
            [name for name in groups.get("database", []) if name in hosts],
            [name for name in groups.get("client", []) if name in hosts],
            AnsibleHost(self, hostvars, "localhost", hosts),
            Events(),
            lambda name: AnsibleHost(self, hostvars, name, hosts),
            self._decrypted,
            unforeseen,
            at_once,
        )

    def _decrypted(self, file: str) -> str:
        """Returns the text of a file on this machine, and decrypts it if Ansible Vault has encrypted it."""
        try:
            real = self._loader.get_real_file(os.path.expanduser(file), decrypt=True)
            return Path(real).read_text(encoding="utf-8")
        except (AnsibleError, OSError) as error:
            raise BadInputError(f"{file}: {error}") from error


def await_turn() -> None:
    """Waits for the end of the previous trial, during which run.sh started this playbook.

    :raises AnsibleActionFail: if run.sh ends first
    """
    turn = os.environ.get("DOHYO_TURN")
    if turn and not os.read(int(turn), 1):
        raise AnsibleActionFail("the experiment has ended")


def unforeseen(error: Exception) -> str:
    """Prints an error's traceback with -vvv; returns its message."""
    Display().vvv("".join(traceback.format_exception(error)))
    return said_of(error)


def hosts_of(variables: Mapping[str, Any]) -> list[str]:
    """Returns the names of the hosts of a play that answer, in the inventory's order.

    After a failure, ansible_play_hosts has only the hosts that failed, without those that any_errors_fatal sent to the
    rescue section. All hosts of that section have the fact trial_failure.
    """
    hostvars = variables["hostvars"]
    names: list[str] = variables["ansible_play_hosts_all"]
    rescued = [name for name in names if hostvars.raw_get(name).get("trial_failure") is not None]
    return rescued or list(variables["ansible_play_hosts"])


def failures_of(variables: Mapping[str, Any]) -> dict[str, str]:
    """Returns the problem of each host of a play that failed.

    A host that does not answer has no fact trial_failure, and counts as failed.
    """
    hostvars, names = variables["hostvars"], variables["ansible_play_hosts_all"]
    said = {name: hostvars.raw_get(name).get("trial_failure") for name in names}
    if all(each is None for each in said.values()):
        return {}
    return {name: f"no answer from {name}" if each is None else str(each) for name, each in said.items()}


class Events:
    """Appends events to the file of the progress display; without that file, prints phases and notes like Ansible."""

    def __init__(self) -> None:
        self._path = os.environ.get("DOHYO_EVENTS", "")

    def event(self, event: str, **fields: Any) -> None:
        """Writes or prints an event."""
        if self._path:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"time": time.time(), "event": event, **fields}) + "\n")
        elif event == "phase":
            number = f" {fields['run']}" if fields["run"] else ""
            Display().banner(f"PHASE [{fields['phase']}{number}]")
        elif event == "note":
            Display().display(fields["text"])


class Drive:
    """Runs a phase of the clients on all hosts, through the agents."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, plan: Mapping[str, Any], phase: ClientPhase, folder: Path) -> Outcome:
        """Runs a phase and returns its outcome; writes the phase's files to a folder on the control machine."""
        hosts = self._world.hosts
        conductor = Conductor(Plan(**plan), clock())
        ways = {name: self._way(hosts[name], begin["tool"]) for name, begin in plan["agents"].items()}
        power = {name: Commands(**power_of(hosts[name])) for name in phase.switched}
        conduct(conductor, ways, Mirror(folder).keep, power, Display().warning)
        limit = ClientOptions.of(self._world.first.values).skew_limit_ms
        outcome = report(conductor, limit, measured=phase.measured)
        folder.mkdir(parents=True, exist_ok=True)
        files = {"clients.json": outcome, "faults.json": faults(conductor, phase.faults_asked)}
        for name, content in files.items():
            if content is not None:
                text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
                (folder / name).write_text(text, encoding="utf-8")
        what = "the load" if phase.is_load else f"{phase.name} {phase.number}"
        for sentence in sentences(what, outcome):
            self._world.progress.event("note", text=sentence)
        lost = [name for name, host in conductor.hosts.items() if host.lost or host.power not in ("on", "back")]
        return Outcome(outcome, lost)

    @staticmethod
    def _way(host: Any, tool: str) -> Way:
        """Returns the command that starts a host's agent over a connection like Ansible's."""
        way: Way = host.way(f"exec {shlex.join([tool, 'converse'])}")
        if way.is_local:
            return way
        return Way([way.command[0], *SSH_OPTIONS, *map(to_text, way.command[1:])], way.environment)


class Mirror:
    """Copies of the clients' growing logs on the controller, for live progress, and in case a host is lost."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, host: str, log: str, text: str) -> None:
        """Appends new text of a log."""
        folder = self._folder / host
        folder.mkdir(parents=True, exist_ok=True)
        # Use only the last part of the name, which another machine sent: it must not lead out of the folder.
        path = folder / Path(log).name
        try:
            with path.open("ab") as file:
                file.write(text.encode("latin-1"))
        except OSError as error:
            raise AnsibleActionFail(f"{path} cannot be written: {error.strerror}") from None
