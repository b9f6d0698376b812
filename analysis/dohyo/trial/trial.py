"""A trial: canary → start → schema → load → settle → (warm-up → measure → stats) × phases × repeats → stop → fetch.

Ansible has looked at the hosts before it, and has refused what cannot be (ansible/trial.yml).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dohyo.systems.context import Context
from dohyo.systems.option import BOOLEANS
from dohyo.systems.rendering import as_properties
from dohyo.trial import attached, canary, processes
from dohyo.trial.conditions import by_sentence, judged, limits
from dohyo.trial.evidence import Evidence
from dohyo.trial.loads import Load
from dohyo.trial.measuring import Conduct, Measuring, fault_facts
from dohyo.trial.refusals import planned_faults
from dohyo.trial.removing import Wiped, note_use
from dohyo.trial.servers import ServerSteps, look_at_page_cache
from dohyo.trial.world import Host, HostError, StepError, World, program, write_json

# How often servers on this machine are started, on other ports each time, before the trial gives up.
MOST_STARTS = 3
NOT_REUSABLE = (
    "its load is not shared: not all of it is in files of the data folders, or its servers have a new password for each"
    " trial"
)


@dataclass
class State:
    """What one part of a trial leaves to the next one, in plain values.

    :ivar is_copy, kept_by, kept_note: of the load, as in :class:`Load`
    :ivar has_folder: the folder of the evidence is ours, and has no earlier evidence
    :ivar started: the servers were being started: from then on, a failure may be theirs
    :ivar vanished: hosts that were lost while clients ran
    :ivar failures: what went wrong, by host
    """

    is_copy: bool = False
    kept_by: str = ""
    kept_note: str = ""
    has_folder: bool = False
    started: bool = False
    vanished: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


class TrialParts:
    """One trial on all hosts. Its parts are begin, run and end; Ansible looks at the hosts after begin."""

    def __init__(self, world: World, conduct: Conduct, state: State) -> None:
        self.world = world
        self.state = state
        self.values = world.first.values
        self.servers = ServerSteps(world)
        self.system = self.servers.first
        self.evidence = Evidence(world)
        self.attached = self.servers.is_attached
        self.measuring = Measuring(world, self.servers, conduct)
        load_id = str(self.values["trial_load_id"])
        self.wiped = Wiped(self.servers, self.evidence.folder, keeps_loads=bool(load_id))
        known = (state.is_copy, state.kept_by, state.kept_note)
        self.load = Load(world, self.evidence, self.system.role, load_id, *known)

    def flag(self, name: str) -> bool:
        """A variable that is true or false; -e on a command line gives it as a text."""
        return BOOLEANS.get(str(self.values[name]).lower(), False)

    # ---- the parts --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Stops what an earlier trial has left running, and looks for a load that was kept."""
        self.world.phase("start")
        self.world.on(self.world.hosts, "Stop what an earlier trial has left running", processes.stop_all)
        self.load.find()  # what is kept may have to make room for the trial
        self._keep_state()

    def run(self) -> None:
        """The trial itself; it leaves the servers up."""
        until, values = self.values["trial_until"], self.values
        try:
            self.look_at_hosts()
            self.evidence.begin(self.system.role)
            if self.attached:
                self._detach_earlier()
            self.evidence.note(self.system.role)
            if until != "schema":
                self.evidence.begin_samples(str(values["attached"].get(values["trial_system"], "")))
                if self.attached:
                    self.evidence.observe("begin")
            if self.flag("trial_canary") and until == "stop":
                measured = canary.measure(self.world, attached=self.attached)
                write_json(self.evidence.folder / "canary.json", measured)
            self.start()
            self.make_tables()
            if until != "schema":
                self._load()
            if until == "stop":
                self.measuring.measure()
        finally:
            self._keep_state()

    def end(self) -> str:
        """Stops the servers, brings home the evidence, and removes the data; returns why the trial failed, or nothing.

        Servers that are to be kept stay up, unless the trial failed.
        """
        failed = bool(self.state.failures)
        stays = not failed and (self.flag("trial_keep") or self.values["trial_until"] != "stop")
        there = [name for name in self.world.hosts if name not in self.state.vanished]
        reason = self._reason(there)
        problems: dict[str, str] = {}

        def attempt(step: str, call: Callable[[], Mapping[str, str] | None]) -> set[str]:
            """Does a step of the end, whatever has failed before it; returns the hosts on which it failed.

            :param call: may return failures by host
            """
            try:
                said = call() or {}
            except StepError as error:
                step, said = error.step, error.failures
            except Exception as error:  # servers must not stay up because a file could not be written
                said = {self.world.first.name: f"{type(error).__name__}: {error}"}
            for name, words in said.items():
                problems.setdefault(name, f"{step}: {words}")
            return {*said}

        def on_hosts(names: list[str], call: Callable[[Host], Any]) -> Callable[[], Mapping[str, str]]:
            return lambda: self.world.attempt(names, call)[1]

        attempt("Report the phase", lambda: self.world.phase("stop"))
        up: set[str] = set()
        if not stays:
            killed = "" if failed or self._logs_matter() else self.system.role
            stop = on_hosts(there, lambda host: processes.stop_all(host, killed))
            up = attempt("Stop the servers and whatever else still runs", stop)
            if self.attached:
                attempt("Remove our tables", lambda: self._detach(there))
        if self.attached and self.values["trial_until"] != "schema":
            attempt("End the samples of the attached system", lambda: self.evidence.observe("end"))
        left = attempt("Bring home the evidence", lambda: self.evidence.bring_home(there))
        stopped = [name for name in there if name not in up]
        if not stays:
            # Where evidence is left, it is in the folders that would be removed, and stop.yml fetches it.
            fetched = [name for name in stopped if name not in left]
            attempt("Remove the data", on_hosts(fetched, lambda host: self.wiped.on_host(host, "absent")))
            if not self.attached:
                names = [name for name in self.world.databases if name in fetched]
                steps = ServerSteps(replace(self.world, databases=names))
                attempt("Remove the data", lambda: self.system.wipe(steps, "absent"))
        use = "kept" if stays and not self.attached else "free"
        attempt("Note that the trial is over", on_hosts(stopped, lambda host: note_use(host, use)))
        if not reason and problems:
            reason = "; ".join(dict.fromkeys(problems.values()))
        if self.state.has_folder and self.evidence.is_by_hand:
            self._write_end(reason)
        return reason

    # ---- what hosts must be able to do ------------------------------------------------------------------------------

    def look_at_hosts(self) -> None:
        """Refuses faults that there cannot be on the hosts, and page caches that cannot be emptied."""
        world, system = self.world, self.system
        planned = planned_faults(self.values["trial_phases"], world.databases, system.role)
        kinds = list(dict.fromkeys(str(fault["kind"]) for fault in planned if fault["rooted"]))

        def look(host: Host) -> None:
            facts = json.dumps(fault_facts(host, system))
            argv = [processes.tool(host), "faults", "check", *kinds]
            if said := program(host, argv, stdin=facts, root=Context(host.values).systemd):
                raise HostError(f"faults on {host.name}: {'; '.join(said.splitlines())}")

        if kinds:
            world.on(world.databases, "Look whether there can be such faults", look)
        if self.values["trial_settle_cache"] == "drop" and self.values["trial_until"] != "schema":
            world.on(world.databases, "Refuse hosts whose page cache cannot be emptied", look_at_page_cache)

    # ---- start ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts fresh servers. On one host, it starts them again on other ports where somebody has taken one.

        Other programs and checkouts may use such a host: one of them may take a port after it was chosen and before our
        server listens on it.
        """
        self.state.started = True
        for attempt in range(1, MOST_STARTS + 1):
            failure: StepError | None = None
            try:
                self._start_once()
            except StepError as error:
                if len(self.world.hosts) > 1:
                    raise
                failure = error
            # Also where all seems well: that may have been somebody else's server.
            try:
                lost = self._lost_ports() if len(self.world.hosts) == 1 else []
            except StepError as error:
                raise failure or error from None
            if not lost and failure is None:
                return
            for note in lost:
                self.servers.note(note)
            if not lost or attempt == MOST_STARTS:
                if failure is not None:
                    raise failure
                self.servers.refuse("Start the servers", "; ".join(lost))
            self.servers.stop()

    def _start_once(self) -> None:
        self.wiped.everywhere("fresh")
        if self.load.is_copy and not self.load.place():
            # Not all hosts have a whole copy: load anew.
            self.wiped.everywhere("fresh")
        self.servers.configure()
        self.servers.start()

    def _lost_ports(self) -> list[str]:
        """Sentences about ports of the only host that another program has taken."""
        name = self.world.first.name
        chosen = self.servers.system(name).context.state(self.system.role).get("ports", {})
        secret = f"{self.world.first.values['dohyo_home']}/run/secret"
        found = self.world.on([name], "Look whose the ports are",
                              lambda host: host.do("free_ports", chosen=chosen, secret=secret))  # fmt: skip
        notes: list[str] = found[name]["notes"]
        return notes

    def make_tables(self) -> None:
        """Makes the tables, and keeps the conditions and how to connect.

        :raises StepError: if strict conditions were asked for and the servers have others
        """
        self.world.phase("schema")
        self.servers.make_tables()
        role, world = self.system.role, self.world
        asked = {**self.values["trial_conditions"]}
        if self.attached:
            asked.pop("profile", None)  # nobody can tell which profile others have chosen for their servers
        found = judged(self._answers["conditions"], asked)

        def look(host: Host) -> dict[str, Any]:
            return host.do("process_limits", run=f"{host.values['dohyo_home']}/run", name=role)

        limited = world.on(world.databases, "Read back what limits the servers", look)
        budgets = {name: world.hosts[name].values["host_budget_mb"] for name in limited}
        bound = {name: world.hosts[name].values["host_cpus_server"] for name in limited}
        of_hosts = {name: host.values.get("host_warnings", []) for name, host in world.hosts.items()}
        notes = [*found["notes"], *by_sentence(of_hosts), *self.values["trial_notes"]]
        content = {
            "system": self.values["trial_system"],
            "title": self.system.title,
            **found,
            **limits(limited, budgets, bound),
            "notes": notes,
            "hosts": {name: host.values.get("host_conditions", {}) for name, host in world.hosts.items()},
            "usd_per_hour": {name: world.hosts[name].values["dohyo_usd_per_hour"] for name in world.databases},
        }
        write_json(self.evidence.folder / "conditions.json", content)
        if self.flag("trial_strict") and found["differences"]:
            words = "; ".join(found["differences"])
            refused = f"{words}; strict conditions were asked for, so it is not measured"
            self.servers.refuse("Refuse other conditions than those asked for", refused)
        connection = self.world.first.values["system_secrets"][role]["client_properties"]
        text = as_properties({**connection, **self._answers["server_properties"]})

        def write(name: str) -> None:
            # The user's own, as it may hold a password.
            home = world.hosts[name].values["dohyo_home"]
            self.servers.write(name, {f"{home}/run/{self.values['trial_system']}.properties": text}, mode="0600")

        self.servers.each("Write down how to connect", write, world.databases)

    @property
    def _answers(self) -> Mapping[str, Any]:
        """What the first server's administration has answered."""
        first = next(name for name in self.world.databases if self.servers.system(name).is_first)
        return self.servers.system(first).context.state(self.system.role)

    # ---- load -------------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Loads, or starts with a load that was kept; keeps a new one for other trials that share it."""
        if not self.load.is_copy:
            self.measuring.load()
        self.measuring.settle_load()
        if self.load.id and not self.load.is_copy and self.load.has_room():
            self._keep_load()
        if self.values["trial_reuse"]:
            note = self.load.note if self.load.id else NOT_REUSABLE
            by = self.load.kept_by if self.load.is_copy else None
            write_json(self.evidence.folder / "kept.json", {"load": by, "note": note})

    def _keep_load(self) -> None:
        """Keeps the load that has settled, and starts the servers again from a copy of it, as other trials will do."""
        world, role = self.world, self.system.role
        world.phase("start")
        self.servers.stop()

        def set_aside(host: Host) -> None:
            # The next start would empty it.
            home = host.values["dohyo_home"]
            script = 'mkdir -p client/load-server && mv -- "run/$0" "client/load-server/$1"'
            program(host, ["sh", "-c", script, role, host.name], chdir=home)

        world.on(world.databases, "Set aside what the servers wrote while they loaded", set_aside)
        self.load.keep()
        self.start()
        if not self.load.is_copy:
            reason = f"the load is gone: {self.load.note}; repeat the trial with --resume"
            self.servers.refuse("Refuse servers without the load", reason)
        self.make_tables()
        self.measuring.settle_load()

    # ---- attached systems -------------------------------------------------------------------------------------------

    def _detach_earlier(self) -> None:
        """Removes what an earlier trial has left on the attached system."""

        def remove(host: Host) -> None:
            if left := attached.detach(host, [self.system.role]):
                raise HostError(left)

        self.world.on(self.world.databases, "Remove what an earlier trial has left on the attached system", remove)

    def _detach(self, there: list[str]) -> None:
        """Removes our tables. What is left is said: stop.yml tries again, and dohyo plays it in the end."""
        names = [name for name in self.world.databases if name in there]
        done, failed = self.world.attempt(names, lambda host: attached.detach(host, [self.system.role]))
        for left in filter(None, [*done.values(), *failed.values()]):
            self.servers.note(f"WARNING: {left}")

    # ---- small things -----------------------------------------------------------------------------------------------

    def _reason(self, there: list[str]) -> str:
        """Why the trial failed, with what became of the servers; empty if it did not fail."""
        if not self.state.failures:
            return ""
        names = [name for name in self.world.databases if name in there]
        deaths: list[str] = []
        if self.state.started and not self.attached:
            said, _ = self.world.attempt(names, lambda host: processes.ended(host, self.system.role))
            deaths = [each for each in said.values() if each]
        words = list(dict.fromkeys(each for each in self.state.failures.values() if each))
        words += [each for each in dict.fromkeys(deaths) if not any(each in word for word in words)]
        return "; ".join(words)

    def _logs_matter(self) -> bool:
        """Servers need time to end, for what their logs will tell.

        Where their data is removed and all went well they may be killed: statistics are there, and logs are written
        line by line, except that of the collector of JDK 8. A log that is read needs the lines of a shutdown: they show
        that it covers the last run.
        """
        buffered = "-Xloggc:gc.log" in Context(self.values).gc_options
        return buffered or (self.evidence.folder / "server/log.yml").is_file()

    def _write_end(self, reason: str) -> None:
        until = self.values["trial_until"]
        if reason:
            self.evidence.state("failed", reason)
        elif until == "stop":
            self.evidence.state("done")
        else:
            self.evidence.state("skipped", f"nothing was to be measured: trial_until={until}")

    def _keep_state(self) -> None:
        self.state.is_copy, self.state.kept_by, self.state.kept_note = (
            self.load.is_copy,
            self.load.kept_by,
            self.load.note,
        )
        self.state.vanished = self.measuring.vanished
        self.state.has_folder = self.evidence.is_ours
