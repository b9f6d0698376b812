"""A trial: canary → start → schema → load → settle → (warm-up → measure → stats) × phases × repeats → stop → fetch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dohyo.systems.context import Context
from dohyo.systems.rendering import as_properties
from dohyo.systems.system import System
from dohyo.trial import attached_systems, canary, conditions, processes
from dohyo.trial.evidence import Evidence
from dohyo.trial.hosts import check_clients, check_owner, check_servers, read_resources, report, take
from dohyo.trial.loads import Load
from dohyo.trial.measurement import Conduct, Measuring
from dohyo.trial.refusals import look_at_hosts, refuse
from dohyo.trial.removal import note_use, renew, wipe
from dohyo.trial.servers import ServerSteps
from dohyo.trial.turns import OwnTurns
from dohyo.trial.world import Host, StepError, World, program, write_json

# Maximum number of attempts to start servers on a single host. Each attempt uses other ports.
MOST_STARTS = 3
NOT_REUSABLE = "its load is not shared: some of it is outside the data folders, or each trial has a new password"


def run_trial(world: World, conduct: Conduct) -> str:
    """Runs a trial. Returns why it failed, or an empty string.

    Hosts that belong to other deployments, or that others use, are not changed.
    """
    try:
        refuse(world)
        check_owner(world)
        take(world)
    except StepError as error:
        return "; ".join(dict.fromkeys(error.by_host.values()))
    return TrialSteps(world, conduct).conduct()


class TrialSteps:
    """The steps of one trial on all hosts. :meth:`conduct` carries them out.

    :ivar failures: failures by host
    :ivar started: whether the servers have been started, so that their exit may explain a failure
    """

    def __init__(self, world: World, conduct: Conduct) -> None:
        self.world = world
        self.values = world.first.values
        self.servers = ServerSteps(world)
        self.attached = self.servers.is_attached
        self.turns = OwnTurns(self.values["trial_turns"])
        self.beside = self.values["trial_beside"]
        self.measuring = Measuring(world, self.servers, conduct, self.turns)
        self.evidence = Evidence(world)
        self.load = Load(world, self.evidence)
        self.failures: dict[str, str] = {}
        self.started = False

    @property
    def system(self) -> System:
        """The system in its current state on the first database host."""
        return self.servers.first

    def flag(self, name: str) -> bool:
        """Returns a boolean variable, which ansible-playbook -e passes as text."""
        return Context(self.values).flag(name)

    # ---- from the start to the end ----------------------------------------------------------------------------------

    def conduct(self) -> str:
        """Carries out the trial, and ends it even after failures. Returns why it failed, or an empty string."""
        try:
            self.prepare()
            with self.turns.turn():
                self.run()
            if self.values["trial_until"] == "stop":
                self.measuring.measure()
        except StepError as error:
            self.failures = error.by_host
        except Exception as error:  # the servers must be stopped after any error
            self.failures = dict.fromkeys(self.world.hosts, self.world.unforeseen(error))
        except BaseException:
            self.failures = dict.fromkeys(self.world.hosts, "interrupted")
            raise
        finally:
            reason = self.end()
        return reason

    def prepare(self) -> None:
        """Stops what an earlier trial left running, looks for a kept load, and checks the hosts."""
        world = self.world
        # This comes first, because the room for a load may depend on the memory of the host.
        read_resources(world)
        world.phase("start")
        world.on(world.hosts, "Stop the processes of earlier trials", partial(processes.stop_all, spared=self.beside))
        # This comes before the checks, because kept loads may have to make room for the trial.
        self.load.find()
        if self.values["trial_until"] != "schema":
            check_clients(world, self.system.binding)
        check_servers(self.servers)
        report(world)

    def run(self) -> None:
        """Carries out the steps before the first run, and leaves the servers up."""
        until, values = self.values["trial_until"], self.values
        look_at_hosts(self.world, self.system)
        self.evidence.begin(self.system.role)
        if self.attached:
            attached_systems.detach_earlier(self.world, self.system.role)
        self.evidence.note(self.system.role)
        if until != "schema":
            self.evidence.begin_samples(str(values["attached"].get(values["trial_system"], "")))
            if self.attached:
                self.evidence.begin_observing()
        if self.flag("trial_canary") and until == "stop":
            # If several trials take turns, only the first one finds hosts without servers.
            measured = self.turns.once("canary", lambda: canary.measure(self.world, attached=self.attached))
            write_json(self.evidence.folder / "canary.json", measured)
        self.start()
        self.make_tables()
        if until != "schema":
            self._load()

    def end(self) -> str:
        """Stops the servers, fetches the evidence and removes the data. Returns the failure, or an empty string.

        Servers that the user wants to keep stay up, unless the trial failed.
        """
        failed = bool(self.failures)
        stays = not failed and (self.flag("trial_keep") or self.values["trial_until"] != "stop")
        reachable = [name for name in self.world.hosts if name not in self.measuring.vanished]
        reason = self._reason(reachable)
        problems: dict[str, str] = {}

        attempt = partial(self._attempt, problems)

        def on_hosts(names: list[str], call: Callable[[Host], Any]) -> Callable[[], Mapping[str, str]]:
            return lambda: self.world.attempt(names, call)[1]

        attempt("Report the phase", lambda: self.world.phase("stop"))
        up: set[str] = set()
        if not stays:
            # After a success, the servers' data is removed, so a normal shutdown would be a waste of time.
            needs_shutdown = failed or self.evidence.needs_shutdown or self.system.leaves_shared_memory
            killed = "" if needs_shutdown else self.system.role
            stop = on_hosts(reachable, lambda host: processes.stop_all(host, killed, self.beside))
            up = attempt("Stop the servers and all other processes", stop)
            if killed and self.evidence.logs and not self.attached:
                servers = [name for name in self.world.databases if name in reachable and name not in up]
                attempt("End the servers' logs", on_hosts(servers, lambda host: self.evidence.end_logs(host, killed)))
            if self.attached:
                attempt(
                    "Remove Dohyo's tables",
                    lambda: attached_systems.detach_all(self.world, [self.system.role], reachable),
                )
        # If this trial left no note, the samples belong to an interrupted trial, and stop.yml fetches them.
        if self.attached and self.evidence.trial_note and self.values["trial_until"] != "schema":
            attempt("Stop the sampler of the attached system", self.evidence.end_observing)
        unfetched = attempt("Fetch the evidence", lambda: self.evidence.bring_home(reachable))
        stopped = [name for name in reachable if name not in up]
        if not stays:
            # Keep the data folders of hosts with evidence that was not fetched; stop.yml fetches it later.
            fetched = [name for name in stopped if name not in unfetched]
            attempt("Remove the data", on_hosts(fetched, lambda host: wipe(self.servers, host, "absent")))
            if not self.attached:
                names = [name for name in self.world.databases if name in fetched]
                steps = ServerSteps(replace(self.world, databases=names))
                attempt("Remove the data", lambda: self.system.wipe(steps, "absent"))
        use = "kept" if stays and not self.attached else "free"
        attempt("Record that the trial is over", on_hosts(stopped, lambda host: note_use(host, use)))
        if not reason:
            reason = "; ".join(dict.fromkeys(problems.values()))
        if self.evidence.is_ours and self.evidence.is_by_hand:
            attempt("Record how the trial ended", lambda: self._write_end(reason))
        return reason or "; ".join(dict.fromkeys(problems.values()))

    def _attempt(self, problems: dict[str, str], step: str, call: Callable[[], Mapping[str, str] | None]) -> set[str]:
        """Runs one of the last steps even if earlier steps failed. Returns the hosts on which it failed.

        :param problems: failures of all steps by host, to which those of this step are added
        :param call: function of the step, which may return failures by host
        """
        try:
            failures = call() or {}
        except StepError as error:
            step, failures = error.step, error.failures
        except Exception as error:  # the next steps must still stop the servers, even if a file cannot be written
            failures = dict.fromkeys(self.world.hosts, self.world.unforeseen(error))
        for name, message in failures.items():
            problems.setdefault(name, f"{step}: {message}")
        return {*failures}

    # ---- start ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts fresh servers. On a single host, starts them again on other ports if a program has taken a port.

        Other programs and checkouts may use the same host. One of them may take a port after it was chosen and before
        the server listens on it.
        """
        self.started = True
        for attempt in range(1, MOST_STARTS + 1):
            failure: StepError | None = None
            try:
                self._start_once()
            except StepError as error:
                if len(self.world.hosts) > 1:
                    raise
                failure = error
            # Check the ports even if nothing failed, because another program's server may have responded.
            try:
                lost = self.servers.lost_ports() if len(self.world.hosts) == 1 else []
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
        renew(self.servers)
        if self.load.is_copy and not self.load.place():
            # At least one host has no complete copy, so the trial loads again.
            renew(self.servers)
        self.servers.configure()
        self.servers.start()

    def make_tables(self) -> None:
        """Creates the tables, and saves the conditions and the properties with which clients connect.

        :raises StepError: if strict conditions were requested and the servers do not meet them
        """
        self.world.phase("schema")
        self.servers.make_tables()
        readback = conditions.read_back(self.servers)
        write_json(self.evidence.folder / "conditions.json", readback)
        if self.flag("trial_strict") and readback["differences"]:
            differences = "; ".join(readback["differences"])
            refused = f"{differences}; not measured, because strict conditions were set"
            self.servers.refuse("Check the servers' conditions", refused)
        connection = self.world.first.values["system_secrets"][self.system.role]["client_properties"]
        text = as_properties({**connection, **self.servers.answers["server_properties"]})

        def write(name: str) -> None:
            # Only the user may read the file, because it may contain a password.
            home = self.world.hosts[name].values["dohyo_home"]
            self.servers.write(name, {f"{home}/run/{self.values['trial_system']}.properties": text}, mode="0600")

        self.servers.each("Record how to connect", write, self.world.databases)

    # ---- load -------------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Loads the tables, unless the servers started from a kept load. Keeps a new load for trials that share it."""
        if not self.load.is_copy:
            self.measuring.load()
        self.measuring.settle_load()
        if self.load.id and not self.load.is_copy and self.load.has_room():
            self._keep_load()
        if self.values["trial_reuse"]:
            note = self.load.note if self.load.id else NOT_REUSABLE
            source = self.load.kept_by if self.load.is_copy else None
            write_json(self.evidence.folder / "kept.json", {"load": source, "note": note})

    def _keep_load(self) -> None:
        """Keeps the settled load, and starts the servers again from a copy of it, as other trials will."""
        world, role = self.world, self.system.role
        world.phase("start")
        self.servers.stop()

        def set_aside(host: Host) -> None:
            # The next start would empty the folder of the logs.
            home = host.values["dohyo_home"]
            script = 'mkdir -p client/load-server && mv -- "run/$0" "client/load-server/$1"'
            program(host, ["sh", "-c", script, role, host.name], chdir=home)

        world.on(world.databases, "Set aside the servers' logs of the load", set_aside)
        self.load.keep()
        self.start()
        if not self.load.is_copy:
            reason = f"the load is gone: {self.load.note}; repeat the trial with --resume"
            self.servers.refuse("Check that the load still exists", reason)
        self.make_tables()
        self.measuring.settle_load()

    # ---- result -----------------------------------------------------------------------------------------------------

    def _reason(self, reachable: list[str]) -> str:
        """Returns the failures of the trial, and how its servers ended; empty if the trial did not fail."""
        if not self.failures:
            return ""
        names = [name for name in self.world.databases if name in reachable]
        deaths: list[str] = []
        if self.started and not self.attached:
            endings, _ = self.world.attempt(names, lambda host: processes.ended(host, self.system.role))
            deaths = [ending for ending in endings.values() if ending]
        reasons = list(dict.fromkeys(failure for failure in self.failures.values() if failure))
        reasons += [death for death in dict.fromkeys(deaths) if not any(death in reason for reason in reasons)]
        return "; ".join(reasons)

    def _write_end(self, reason: str) -> None:
        until = self.values["trial_until"]
        if reason:
            self.evidence.state("failed", reason)
        elif until == "stop":
            self.evidence.state("done")
        else:
            self.evidence.state("skipped", f"nothing to measure: trial_until={until}")
