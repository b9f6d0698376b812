"""Simulates a trial: fakes replace the hosts, the clients and the program `dohyo`, and record all calls.

One list contains all calls in order, so that a test can compare a whole small trial.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dohyo.systems.catalogue import all_systems
from dohyo.trial.clients import ClientPhase
from dohyo.trial.evidence import UNDER_WAY
from dohyo.trial.measurement import Measuring
from dohyo.trial.servers import ServerSteps
from dohyo.trial.trial import TrialSteps
from dohyo.trial.world import HostError, World
from support.described import described

ROWS = {"usertable": 1000}
PAGES = {"page_cache_mb_before": 900, "page_cache_mb_after": 90}
ADMIN = ["/jdk17/bin/java", "-Xmx128m"]
# Report of a phase, and the hosts that were lost in it.
Outcome = tuple[Mapping[str, Any], list[str]]
ADMINISTRATION = re.compile(r"dohyo\.\w+\.admin\.")
# Arguments that tell the administration what to do. The other arguments only say how to connect.
SAID = re.compile(r"(?:folder|flush|timeout|recordcount)=")
# Text that identifies each script.
SCRIPTS = {
    "look for faults": "|| echo there", "sample": 'exec "$@"', "set aside": "client/load-server",
    "end logs": "the log ends here", "ask how servers have ended": "status", "try the collector": "exit code $?",
    "look for the server": "$ASD", "detect the platform": "/etc/os-release",
}  # fmt: skip
HOME = "/opt/dohyo"
# Resources that the agent finds on a host.
RESOURCES = {
    "java_home": "/jdk", "java_build": "17.0.15+6", "java_seen": ["/jdk (17)"], "cores": 8, "huge_pages": True,
    "disk_kind": "nvme", "problems": [],
}  # fmt: skip
CONDITIONS = {"write_copies": 1, "read_copies": 1, "replication": 1, "notes": []}


def free_ports(**arguments: Any) -> dict[str, Any]:
    """Replaces the verb free_ports on a host on which all ports are free."""
    return {"address": arguments.get("address"), "ports": arguments.get("preferred"), "moved": [], "notes": []}


@dataclass
class Call:
    """Request to the agent of a host."""

    host: str
    action: str
    root: bool
    arguments: dict[str, Any]

    @property
    def argv(self) -> list[str]:
        """Command line of the program in the request."""
        return list(self.arguments["argv"])

    @property
    def verb(self) -> str:
        """Short name of the call: a verb of the administration program, or the name of another program."""
        if self.action != "program":
            return " ".join(filter(None, [self.action, self.arguments.get("state", "")]))
        if self.administration:
            return self.administration[0]
        argv = self.argv
        if argv[:2] == ["sh", "-c"] and (named := [name for name, part in SCRIPTS.items() if part in argv[2]]):
            return named[0]
        if argv[0] == f"{HOME}/bin/agent":
            return argv[2] if argv[1] == "faults" else " ".join(argv[1 : 2 if argv[1] == "stop-all" else 3])
        if argv[0] == "bash":
            return "empty the page cache" if argv[1] == "-ec" else "run a script"
        return argv[0] if argv[0] == "sync" else " ".join(argv[2:3])

    @property
    def administration(self) -> list[str]:
        """Verb and arguments of a call of the administration program; empty for other programs."""
        argv = list(self.arguments.get("argv", []))
        return next((argv[number + 1 :] for number, word in enumerate(argv) if ADMINISTRATION.match(word)), [])

    def __str__(self) -> str:
        argv = list(self.arguments.get("argv", []))
        if self.administration:
            shown = [self.verb, *filter(SAID.match, self.administration[1:])]
            # Every call contains recordcount. It is shown only for calls that count records, whose values may differ.
            shown = [word for word in shown if "count" in self.verb or not word.startswith("recordcount=")]
            bound = f" within {self.arguments['timeout']} s" if "timeout" in self.arguments else ""
            text = f"{' '.join(shown)}{bound}".replace("/opt/dohyo/run/", "")
        elif self.action == "pull":
            text = f"pull {self.arguments['src']}"
        elif self.verb.startswith("owned") and "inside" in self.arguments:
            text = f"{self.verb} {' '.join(self.arguments['inside'][:1])}"
        elif self.verb == "stop-all":
            text = " ".join(["stop-all", *argv[3:]]).strip()
        else:
            text = self.verb
        return f"{self.host}: {text}{' as root' if self.root else ''}"


@dataclass
class FakeHost:
    """Host of a fake trial."""

    name: str
    values: Mapping[str, Any]
    trial: "FakeTrial"

    def reset(self) -> None:
        self.do("reset")

    def remember(self, facts: Mapping[str, Any]) -> None:
        """Sets variables of the host."""
        self.values = {**self.values, **facts}

    def pull(self, source: str, folder: Path) -> None:
        self.do("pull", src=source, dest=str(folder))

    def do(self, verb: str, *, become: bool = False, **arguments: Any) -> dict[str, Any]:
        """Records the call, and returns its answer from :attr:`FakeTrial.answers`."""
        call = Call(self.name, verb, become, arguments)
        self.trial.calls.append(call)
        self.trial.note(str(call))
        answers = self.trial.answers
        answer = answers.get((self.name, call.verb), answers.get(call.verb, ""))
        if self.trial.fails_at == len(self.trial.calls) - 1:
            answer = HostError(f"{self.name} has no {call.verb}")
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return dict(answer(**arguments))
        if verb != "program" and isinstance(answer, dict):
            return answer
        return {"stdout": answer if isinstance(answer, str) else json.dumps(answer), "stderr": ""}


@dataclass
class FakeTrial:
    """Trial on imaginary hosts.

    :ivar answers: answers by verb, or by host and verb. Exceptions are raised. A function receives the arguments of the
        call, and returns the whole answer
    :ivar fails_at: number of the call that fails, from 0; None: no call fails
    :ivar outcomes: outcomes of phases, by folder; other phases are valid
    :ivar events: events that users see
    :ivar steps: for each step on hosts, the numbers of its first call and of the first call after the step
    """

    world: World = field(init=False)
    part: Measuring = field(init=False)
    folder: Path
    answers: dict[Any, Any] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    phases: list[ClientPhase] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    fails_at: int | None = None

    @property
    def notes(self) -> list[str]:
        """All calls in order. Equal calls of a step to several hosts appear as one line."""
        file = self.folder / "notes"
        lines: list[str] = []
        for line in file.read_text("utf-8").splitlines() if file.exists() else []:
            name, _, text = line.partition(": ")
            before, _, same = lines[-1].partition(": ") if lines else ("", "", "")
            if name in self.world.hosts and text == same:
                lines[-1] = f"{before} {name}: {text}"
            else:
                lines.append(line)
        return lines

    def observe(self, *names: str) -> None:
        """Makes hosts of an attached system reachable, which are not among the hosts of the trial."""
        self.world.reach = {name: FakeHost(name, {}, self) for name in names}.__getitem__

    def note(self, text: str) -> None:
        """Appends a line to the notes."""
        with (self.folder / "notes").open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def event(self, event: str, **fields: Any) -> None:
        """Records the event. The real trial would display it."""
        self.events.append({"event": event, **fields})
        if event == "phase":
            self.note(" ".join(map(str, filter(None, ["phase", fields["phase"], fields["run"]]))))

    def conduct(self, plan: Mapping[str, Any], phase: ClientPhase, folder: Path) -> Outcome:
        """Records the phase, and returns the prepared outcome. The real trial would run clients."""
        self.note(f"clients: {folder.relative_to(self.folder)}")
        self.plans.append(dict(plan))
        self.phases.append(phase)
        return self.outcomes.get(phase.folder, self.outcome())

    def run_all(self) -> list[str]:
        """Loads, settles and measures, and returns the notes."""
        self.part.load()
        self.part.settle_load()
        self.part.measure()
        return self.notes

    def real(
        self, failures: dict[str, str] | None = None, started: bool = False, vanished: Sequence[str] = ()
    ) -> TrialSteps:
        """Returns the steps of a real trial on these hosts.

        :param failures: earlier failures by host
        """
        steps = TrialSteps(self.world, self.conduct)
        steps.failures, steps.started, steps.measuring.vanished = failures or {}, started, list(vanished)
        self.part = steps.measuring
        return steps

    def outcome(self, inserted: Sequence[int | None] = (), failure: str = "", **more: Any) -> Outcome:
        """Returns the outcome of a phase. Without arguments, the outcome is valid.

        :param inserted: number of keys that the client of each host has used
        :param failure: reason why the run does not count
        :param more: ``ended``: hosts whose servers have ended; ``vanished``: hosts that were lost
        """
        numbers = dict(zip(self.world.clients, inserted, strict=False))
        states = {name: "ended" if name in more.get("ended", ()) else "ran" for name in self.world.databases}
        report = {
            "valid": not failure,
            "failure": failure,
            "clients": {name: {"inserted": numbers.get(name)} for name in self.world.clients},
            "nodes": {name: {"state": state} for name, state in states.items()},
        }
        return report, list(more.get("vanished", ()))

    def at_once(self, calls: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """Calls all functions in turn, even if one fails. The real trial calls them at the same time."""
        first = len(self.calls)

        def tried(call: Callable[[], Any]) -> Any:
            try:
                return call()
            except HostError as error:
                return error

        results = {name: tried(call) for name, call in calls.items()}
        self.steps.append((first, len(self.calls)))
        return results

    def property_lines(self, phase: int, host: str) -> list[str]:
        """Returns the lines of a client's properties file in the phase with this number."""
        process = self.plans[phase]["agents"][host]["client"]
        return process["properties"].splitlines()  # type: ignore[no-any-return]

    def json(self, file: str) -> Any:
        """Returns the content of a JSON file of the evidence."""
        return json.loads((self.folder / file).read_text("utf-8"))


def fake_trial(
    folder: Path,
    hosts: int = 1,
    clients: int = 0,
    system: str = "cassandra",
    dohyo: Sequence[str] = (),
    **variables: Any,
) -> FakeTrial:
    """Returns a trial of one run on this number of database hosts.

    :param clients: number of separate client hosts; 0: the clients run on the database hosts
    :param dohyo: outputs of the program `dohyo`, one for each call; further calls fail
    :param variables: variables of all hosts; in a dict whose keys are hosts, each host has its own value
    """
    databases = [f"node{number}" for number in range(1, hosts + 1)]
    with_clients = [f"client{number}" for number in range(1, clients + 1)] or databases
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "dohyo"
    answers = "".join(f"{answer}\n" for answer in dohyo)
    (folder / "dohyo-answers").write_text(answers, "utf-8")
    program.write_text(PROGRAM.format(folder=shlex.quote(str(folder))), "utf-8")
    program.chmod(0o755)
    trial = FakeTrial(folder)
    trial.answers = {
        "settle": {"seconds": 3, "rows": ROWS},
        "settle+stats": {"seconds": 3, "rows": ROWS},
        "count": {"rows": ROWS},
        "drop": {"evicted": 7},
        "empty the page cache": PAGES,
        "schema": {"conditions": CONDITIONS, "pid": 7},
        **{f"owned {state}": {"removed": [], "problems": []} for state in ("absent", "checked", "fresh")},
        "free_ports": free_ports,
        "host_resources": RESOURCES,
        "in_use taken": {"uses": []},
        "run a script": {"product": "MySQL", "version": "8.4.0", "tables": [], "name": "x", "uid": 0, "gid": 0},
        "detach": {"left": "", "kept": []},
        **{f"observe {state}": {"samples": f"{state}.gz"} for state in ("begin", "end", "leave")},
        "process_limits": {"processes": 1, "memory_mb": None, "cpus": "", "why": ""},
        "canary host": {"measured": {"cores": 8}},
        "canary network": {"measured": {"ms": 1}},
        "canary listen": {"listener": {"port": 4000}},
        **{
            f"kept_load {state}": {"found": True, "trial": "first", "note": ""} for state in ("found", "placed", "room")
        },
        "kept_load kept": {},
    }
    common: dict[str, Any] = {
        "dohyo_admin": ADMIN, "dohyo_program": str(program), "dohyo_python": "python3", "dohyo_systemd": False,
        "dohyo_deployment": "abc",
        "host_cpus_client": "", "attached": {}, "attached_may": [],
        "trial_system": system, "trial_dir": str(folder), "trial_threads": 8, "trial_load": {},
        "trial_phases": [{"name": "run"}], "trial_precondition": {}, "trial_repeats": 1, "trial_discard": 0,
        "trial_settle": "load",
        "trial_settle_flush": True, "trial_settle_cache": "keep", "trial_warmup": 10, "trial_duration": 20,
        "trial_search": {}, "trial_client_heap": "512m",
        "trial_turns": {}, "trial_lane": "", "trial_beside": [], "trial_group": "",
        "systems": {name: {"role": described_system.role} for name, described_system in all_systems().items()},
        "trial_canary": True, "trial_keep": False, "trial_strict": False,
        "trial_reuse": "", "trial_load_id": "", "trial_until": "stop", "trial_notes": [], "trial_max_other_cpu": "100%",
        "dohyo_controller": {"pid": 1, "start": 2, "machine": "m"}, "dohyo_devices": [], "dohyo_observed": [],
        "dohyo_control": str(folder), "dohyo_usd_per_hour": "", "host_budget_mb": 0, "host_cpus_server": "",
        "attached_secrets": "", "host_disk_layout": "", "host_warnings": [], "host_conditions": {},
        "groups": {"database": databases, "client": with_clients},
        **variables,
    }  # fmt: skip
    names = [*dict.fromkeys([*databases, *with_clients])]
    host_variables = {
        key: common.pop(key)
        for key, value in variables.items()
        if isinstance(value, dict) and value and {*value} <= {*names}
    }
    fake_hosts: dict[str, FakeHost] = {}
    for number, name in enumerate(names):
        on = described(system, hosts, min(number, hosts - 1) + 1, **common)
        more = {key: by_host[name] for key, by_host in host_variables.items() if name in by_host}
        connection = on.attached.client_properties if common["attached"] else on.client_properties
        password = {"cassandra.username": "me", "cassandra.password": "secret"} if common["attached"] else {}
        secrets = {on.role: {"client_properties": {**password, **connection}}}
        address = f"10.0.0.{number + 1}"
        values = {**on.context.values, "dohyo_address": address, "system_secrets": secrets, **more}
        fake_hosts[name] = FakeHost(name, {**values, "inventory_hostname": name}, trial)
    control = FakeHost("localhost", fake_hosts[names[0]].values, trial)
    trial.world = World(
        fake_hosts, databases, with_clients, control, trial.event, fake_hosts.__getitem__, lambda _: "",
        lambda error: f"{type(error).__name__}: {error}", trial.at_once,
    )  # fmt: skip
    trial.part = Measuring(trial.world, ServerSteps(trial.world), trial.conduct)
    return trial


PROGRAM = """#!/bin/sh
cd {folder}
name=${{2##*/}}
[ "$name" != "${{PWD##*/}}" ] || name=
echo "dohyo: $1${{name:+ $name}}" >>notes
IFS= read -r answer <dohyo-answers || {{ echo "no such folder" >&2; exit 2; }}
printf '%s\\n' "$answer"
sed -i 1d dohyo-answers
"""


def note_under_way(trial: FakeTrial, folder: Path, **fields: Any) -> None:
    """Writes the note of a trial with Cassandra that is running on these hosts.

    :param folder: folder of the evidence, and of the control machine
    :param fields: fields of the note that differ
    """
    noted = {"role": "cassandra", "dir": str(folder), "deployment": "abc", "hosts": [*trial.world.hosts]}
    (folder / UNDER_WAY).write_text(json.dumps({**noted, **fields}))
