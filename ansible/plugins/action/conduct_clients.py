"""Ansible action plugin: drives the clients of all hosts through one load or run, together (docs/clients.md).

It opens one connection to each host, with Ansible's own settings for it, and starts the agent there that lies beside
the service tool. It launches the clients, measures the hosts' clocks, agrees with all agents on one instant, follows
the clients' logs, and ends everything on all hosts if one client fails, hangs or vanishes. It writes ``clients.json``,
and the logs as they grow, into ``folder`` on the controller; with faults also ``faults.json``.

It runs once for all hosts, and does not fail if clients do: a task that runs once would fail on the first host alone.
Returns ``clients`` (what clients.json contains; its ``failure`` says why the phase does not count, for a task that
fails on all hosts), ``vanished`` (hosts whose connection was lost; no more is sent to them) and ``notes`` (for people).
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from ansible_private import connection_of, ssh_command
from conducting.agents import clock, conduct
from conducting.conductor import Conductor, Plan
from conducting.power import Commands
from conducting.report import faults, report, sentences

# A dead host is noticed within ten seconds, also where nothing tells ssh so. Of two values ssh takes the first.
SSH_OPTIONS = ("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=5")
# Own connections: other traffic must not share them, and they end when this task does.
OWN_CONNECTION = ("-o", "ControlMaster=no", "-o", "ControlPath=none")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Runs on the controller alone, once for all hosts."""

    _requires_connection = False
    _supports_check_mode = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Entry point."""
        super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                # By host, the first message to its agent: `tool`, the path of the service tool; `client`, null or its
                # `name`, `folder`, `command` and `secrets`, a file that is removed once it was read; `servers`, the
                # system whose processes are watched, or empty; `faults`, the folder of those that
                # are prepared on the host, or empty.
                "agents": {"type": "dict", "required": True},
                "folder": {"type": "path", "required": True},  # of the phase, on the controller
                "phase": {"type": "str", "required": True},  # what people call it
                # A run, or a load that is measured: of others the start skew does not matter.
                "measured": {"type": "bool", "required": True},
                "ready_timeout": {"type": "float", "required": True},  # seconds for a client to be ready
                # How far ahead of now several clients agree to begin.
                "start_delay_ms": {"type": "float", "required": True},
                "launch_interval_ms": {"type": "float", "default": 0},  # between the launches of two clients
                "warmup": {"type": "float", "required": True},  # seconds from the agreed instant to the measured window
                # `warmup` is the most: the window begins once rate and JIT compilers are steady.
                "steady": {"type": "bool", "default": False},
                # Seconds of the window; 0: the clients end by their number of operations.
                "duration": {"type": "float", "required": True},
                # Seconds from the agreed instant until every client must have ended.
                "bound": {"type": "float", "required": True},
                # Seconds in the window without news in its logs after which a client hangs.
                "silence": {"type": "float", "required": True},
                # What is prepared on the hosts to be done in the window (docs/faults.md): as asked for, and as a list.
                "faults_asked": {"type": "str", "default": ""},
                "faults": {"type": "list", "elements": "dict", "default": []},
                # By host that is switched, `off` and `on`: the words of the commands, on the controller.
                "power": {"type": "dict", "default": {}},
                # Seconds after the window for faults to be undone, and for a host to answer after it was switched on.
                "undo": {"type": "float", "required": True},
                "boot": {"type": "float", "required": True},
                # Of the clients' starts, and of what is known of their clocks, for a valid run.
                "skew_limit_ms": {"type": "float", "required": True},
            }
        )
        plan = Plan(
            agents=arguments["agents"],
            ready_timeout=arguments["ready_timeout"],
            start_delay=arguments["start_delay_ms"] / 1e3,
            launch_interval=arguments["launch_interval_ms"] / 1e3,
            warmup=arguments["warmup"],
            steady=arguments["steady"],
            duration=arguments["duration"] or None,
            bound=arguments["bound"],
            silence=arguments["silence"],
            faults=arguments["faults"],
            undo=arguments["undo"],
            boot=arguments["boot"],
        )
        folder = Path(arguments["folder"])
        hosts = (task_vars or {})["hostvars"]
        commands = {name: self._command(hosts[name], begin["tool"]) for name, begin in plan.agents.items()}
        conductor = Conductor(plan, clock())
        power = {name: Commands(**each) for name, each in arguments["power"].items()}
        conduct(conductor, commands, Mirror(folder).keep, power, Display().warning)
        outcome = report(conductor, arguments["skew_limit_ms"], measured=arguments["measured"])
        folder.mkdir(parents=True, exist_ok=True)
        files = {"clients.json": outcome, "faults.json": faults(conductor, arguments["faults_asked"])}
        for name, content in files.items():
            if content is not None:
                text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
                (folder / name).write_text(text, encoding="utf-8")
        return {
            "changed": True,
            "notes": sentences(arguments["phase"], outcome),
            "vanished": [
                name for name, host in conductor.hosts.items() if host.lost or host.power not in ("on", "back")
            ],
            "clients": outcome,
        }

    def _command(self, host: dict[str, Any], tool: str) -> Sequence[str | bytes]:
        """What starts a host's agent from here: Ansible's own way to that host, with all that its variables say."""
        name = host["inventory_hostname"]
        agent = [_python(host), str(Path(tool).with_name("agent"))]
        kind = connection_of(self, host)
        if kind == "local":
            return agent
        if kind not in ("ssh", "smart"):
            raise AnsibleActionFail(f"ansible_connection={kind} of {name}: clients are driven over ssh or local")
        command, has_password = ssh_command(self, host, f"exec {shlex.join(agent)}")
        # With a password: over the connection that Ansible has logged in on, and keeps for a while.
        own = () if has_password else OWN_CONNECTION
        return [command[0], *SSH_OPTIONS, *own, *map(to_text, command[1:])]


def _python(host: dict[str, Any]) -> str:
    """Python on the host: the one that is set, else the one that Ansible has found."""
    given = str(host.get("ansible_python_interpreter", "auto"))
    if not given.startswith("auto"):
        return given
    return str(host.get("ansible_facts", {}).get("discovered_interpreter_python", "python3"))


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
