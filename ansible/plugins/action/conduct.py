"""Ansible action plugin: does a part of a trial on all hosts of the play, from this one process.

    conduct:
      do: [words]      load, settle, measure: parts of a trial, in that order (dohyo.trial.measuring); clients: those of
                       clients.yml, which need no servers
      inserted: {}     what an earlier part returned as that

It opens connections as the inventory says, also for the agents of the clients (docs/clients.md). It runs once for all
hosts, and does not fail where a step does: a task that runs once would fail on the first host alone. It returns
``failures``, what went wrong by host, for a task that fails on all of them; ``vanished``, hosts whose connection was
lost, to which nothing more is to be sent; ``inserted``, the key numbers that clients have used; ``notes`` for people.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from ansible_private import connection_of, ssh_command
from conducting.agents import clock, conduct
from conducting.conductor import Conductor, Plan
from conducting.hosts import AnsibleHost, at_once
from conducting.power import Commands
from conducting.report import faults, report, sentences

from dohyo.bad_input import BadInputError
from dohyo.trial.clients import Options, Phase, power_of
from dohyo.trial.measuring import Measuring, Outcome
from dohyo.trial.world import StepError, World

# A dead host is noticed within ten seconds, also where nothing tells ssh so. Of two values ssh takes the first.
SSH_OPTIONS = ("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=5")
# Own connections: other traffic must not share them, and they end with the phase.
OWN_CONNECTION = ("-o", "ControlMaster=no", "-o", "ControlPath=none")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs on the controller alone, once for all hosts."""

    _requires_connection = False
    _supports_check_mode = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Entry point."""
        super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(
            {
                "do": {"type": "list", "elements": "str", "required": True},
                "inserted": {"type": "dict", "default": {}},
            }
        )
        variables = task_vars or {}
        names, groups = variables["ansible_play_hosts"], variables["groups"]
        hosts = {name: AnsibleHost(self, variables["hostvars"], name) for name in names}
        world = World(hosts, groups.get("database", []), groups["client"], Events(), at_once)
        drive = Drive(self, world)
        part = Measuring(world, drive, inserted=given["inserted"])
        steps = {
            "load": part.load,
            "settle": part.settle_load,
            "measure": part.measure,
            "clients": part.clients_alone,
        }
        failures: Mapping[str, str] = {}
        try:
            for word in given["do"]:
                steps[word]()
        except StepError as error:
            failures = {name: f"{error.step}: {each}" for name, each in error.failures.items()}
        except BadInputError as error:
            failures = dict.fromkeys(names, str(error))
        return {
            "changed": True,
            "failures": failures,
            "vanished": part.vanished,
            "inserted": part.inserted,
            "notes": drive.notes,
        }


class Events:
    """Appends what happens to the file of the progress display; where there is none, a phase is shown as Ansible shows a task."""

    def __init__(self) -> None:
        self._path = os.environ.get("DOHYO_EVENTS", "")

    def event(self, event: str, **fields: Any) -> None:
        """Reports an event."""
        if self._path:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"time": time.time(), "event": event, **fields}) + "\n")
        elif event == "phase":
            number = f" {fields['run']}" if fields["run"] else ""
            Display().banner(f"PHASE [{fields['phase']}{number}]")


class Drive:
    """Drives the clients of all hosts through a phase, each by the agent of its host.

    :ivar notes: for people
    """

    def __init__(self, action: ActionBase, world: World) -> None:
        self.notes: list[str] = []
        self._action = action
        self._world = world

    def __call__(self, plan: Mapping[str, Any], phase: Phase, folder: Path) -> Outcome:
        """Returns what came of it; its files are in the folder, on the control machine."""
        hosts = self._world.hosts
        conductor = Conductor(Plan(**plan), clock())
        commands = {name: self._command(hosts[name], begin["tool"]) for name, begin in plan["agents"].items()}
        power = {name: Commands(**power_of(hosts[name])) for name in phase.switched}
        conduct(conductor, commands, Mirror(folder).keep, power, Display().warning)
        limit = Options.of(self._world.first.values).skew_limit_ms
        outcome = report(conductor, limit, measured=phase.measured)
        folder.mkdir(parents=True, exist_ok=True)
        files = {"clients.json": outcome, "faults.json": faults(conductor, phase.faults_asked)}
        for name, content in files.items():
            if content is not None:
                text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
                (folder / name).write_text(text, encoding="utf-8")
        what = "the load" if phase.is_load else f"{phase.name} {phase.number}"
        self.notes += sentences(what, outcome)
        lost = [name for name, host in conductor.hosts.items() if host.lost or host.power not in ("on", "back")]
        return Outcome(outcome, lost)

    def _command(self, host: Any, tool: str) -> Sequence[str | bytes]:
        """What starts a host's agent from here: Ansible's own way to that host, with all that its variables say."""
        agent = [str(host.values["dohyo_python"]), str(Path(tool).with_name("agent"))]
        kind = connection_of(self._action, host.values)
        if kind == "local":
            return agent
        if kind not in ("ssh", "smart"):
            raise AnsibleActionFail(f"ansible_connection={kind} of {host.name}: clients are driven over ssh or local")
        command, has_password = ssh_command(self._action, host.variables, f"exec {shlex.join(agent)}")
        # With a password: over the connection that Ansible has logged in on, and keeps for a while.
        own = () if has_password else OWN_CONNECTION
        return [command[0], *SSH_OPTIONS, *own, *map(to_text, command[1:])]


class Mirror:
    """The clients' growing logs, on the controller: live progress reads them, and they stay if a host does not."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, host: str, log: str, text: str) -> None:
        """Appends what is new in a log."""
        folder = self._folder / host
        folder.mkdir(parents=True, exist_ok=True)
        # The name comes from another machine: it must not lead out of the folder.
        path = folder / Path(log).name
        try:
            with path.open("ab") as file:
                file.write(text.encode("latin-1"))
        except OSError as error:
            raise AnsibleActionFail(f"{path} cannot be written: {error.strerror}") from None
