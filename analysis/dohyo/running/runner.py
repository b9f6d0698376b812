"""Carries out an experiment, from a checked scenario to the table: deploys, measures, stops and summarises.

Even after a failure or a signal, it stops the servers that it has started, marks the evidence collected so far, and
prints the table.
"""

import shlex
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dohyo import claimed_folders, folders, host, places
from dohyo.ansible import availability
from dohyo.ansible.playbook import Event, Failure, Playbook, build_client, named, play
from dohyo.bad_input import BadInputError
from dohyo.figures import counted
from dohyo.places import ANSIBLE, RUN, command, shown
from dohyo.planning import sizing
from dohyo.planning.plan import PlannedTrial, course, first_start, inventory_state, shared_loads
from dohyo.report import chart_data, files
from dohyo.report.material import Material
from dohyo.running import interleaving, neighbours, rounds
from dohyo.running.experiment import (
    Experiment,
    Status,
    check_disk,
    create,
    new_folder,
    now,
    only_one,
    read_json,
    reopen,
    write_json,
)
from dohyo.running.preview import check_count
from dohyo.running.progress import Progress, clock
from dohyo.scenario.hosts import Hosts, here
from dohyo.scenario.scenario import Scenario
from dohyo.signals import Interruption, Signals
from dohyo.summary.results import Summary
from dohyo.summary.summary import joined, summarise
from dohyo.systems.catalogue import all_systems, not_attached
from dohyo.tables import screen, table
from dohyo.tables.files import write
from dohyo.tables.remedies import Again

# Timeout of stop.yml in seconds. Cassandra stops within 12 s; HBase takes longer if its memory is full.
STOP_SECONDS = 300.0
# For each beginning of a task's name, the message if the task fails after all servers were stopped.
LEFT = {
    "Fetch the evidence": "the servers are stopped, but evidence was left on the hosts",
    "Remove Dohyo's objects": "some objects of Dohyo are left on an attached system; the numbers are valid",
}


@dataclass(frozen=True)
class Options:
    """The options of ``run`` other than the scenario.

    :ivar inventory: file or folder; None for the default, which is this machine
    :ivar names_systems: whether the user named each system, so that a skipped system is a failure
    :ivar out: folder of the experiment; None for a new folder below results/
    :ivar hosts: facts about the database hosts
    :ivar open_report: whether to open the page with charts at the end
    :ivar details: whether to print all details before the results
    :ivar agreed: whether to measure without asking even if other programs use this machine
    """

    inventory: Path | None = None
    keep: bool = False
    names_systems: bool = False
    out: Path | None = None
    hosts: Hosts = field(default_factory=here)
    open_report: bool = False
    details: bool = False
    agreed: bool = False


def run(scenario: Scenario, options: Options, console: Console) -> int:
    """Measures a scenario and returns the exit code.

    :raises BadInputError: before anything is started
    :raises Interruption: if a signal arrives while the client is built; later signals only change the exit code
    """
    with only_one() as measuring:
        existed = False
        with suppress(OSError):  # new_folder reports the error
            existed = options.out is not None and options.out.exists()
        folder = new_folder(scenario, options.out)
        measuring(folder)
        try:
            check_disk(folder)
            signals = Signals()
            _check_size(scenario, options, signals)
            if options.inventory is None:
                neighbours.agree(scenario, agreed=options.agreed)
            build_client(signals)
        except BaseException:
            # Nothing was started, so remove the folder.
            if not existed:
                claimed_folders.remove_empty(folder)
            raise
        experiment = create(
            scenario,
            folder,
            {
                "inventory": str(options.inventory) if options.inventory else None,
                "keep": options.keep,
                "named": options.names_systems,
                "host": host.hardware(),
                "versions": host.versions(),
            },
            options.hosts,
        )
        return _Measurement(experiment, experiment.trials, options, signals, console).carry_out()


def _check_size(scenario: Scenario, options: Options, signals: Signals) -> None:
    """Rejects a scenario that does not fit on the hosts, if their sizes are known."""
    hosts = options.hosts.stated(scenario.values)
    check_count(scenario, options.hosts)
    checked = options.hosts if options.inventory is None else hosts
    # If nothing is known about the hosts, deploy.yml checks their memory and disks.
    if checked.memory is None and checked.disk is None:
        return
    for sizes in sizing.ask_points(scenario, checked, options.inventory, signals.check):
        sizes.check()


def resume(name: str, scenario_name: str | None, options: Options, console: Console) -> int:
    """Runs the trials of an experiment that are not done yet, and returns the exit code.

    :param scenario_name: must be the name of the experiment's scenario, if given
    :param options: the inventory and the systems that the user named are those of the experiment, not of the options
    :raises BadInputError: before anything is started
    :raises Interruption: like :func:`run`
    """
    with only_one() as measuring:
        experiment, inventory = reopen(name)
        measuring(experiment.folder)
        if scenario_name not in (None, experiment.scenario.name):
            raise BadInputError(f"{name} measured {experiment.scenario.name}, not {scenario_name}; leave this name out")
        missing = [trial for trial in experiment.trials if experiment.state(trial) != "done"]
        skipped = [trial for trial in missing if experiment.state(trial) == "skipped"]
        todo = interleaving.whole(experiment.trials, missing, skipped)
        if not todo and not experiment.has_ended:
            todo = rounds.further(experiment, summarise(experiment.folder))
            experiment.add(todo)
        check_disk(experiment.folder)
        signals = Signals()
        if not todo:
            console.print(Text(f"all trials of {name} are done"))
        else:
            if inventory is None:
                neighbours.agree(experiment.scenario, agreed=options.agreed)
            build_client(signals)
        options = replace(options, inventory=inventory, names_systems=experiment.facts.named)
        measurement = _Measurement(experiment, todo, options, signals, console)
        if todo:
            measurement.begin_again()
        return measurement.carry_out()


def _of_servers(scenario: Scenario) -> dict[str, Any]:
    """Returns the values that an installation of servers depends on: the systems' variables and the profile."""
    return {**scenario.role_variables, "profile": scenario["profile"]}


class _Measurement:
    """Carries out an experiment."""

    def __init__(
        self, experiment: Experiment, todo: list[PlannedTrial], options: Options, signals: Signals, console: Console
    ) -> None:
        self.experiment = experiment
        self.todo = todo
        self.options = options
        self.signals = signals
        self.console = console
        self.failed_while = ""
        # For each system, the reason why it is not available, or "".
        self.unavailable: dict[str, str] = {}
        # The pairs of a system and a reason that have been printed.
        self.reported: set[tuple[str, str]] = set()
        # For each role, the variables with which it was installed.
        self.deployed: dict[str, list[Mapping[str, Any]]] = {}
        # Start of the first trial, on the monotonic clock.
        self.began: float | None = None
        # True if processes or data of this run may be left on the hosts.
        self.leaves = False
        # The last trial, if its servers keep running.
        self.kept_trial: PlannedTrial | None = None
        # Playbook of the next trial, which waits for its turn.
        self.next_playbook: Playbook | None = None
        # Reason why no further trial begins; empty if further trials may begin.
        self.stopped = ""
        # Reason why nothing more can be measured: a file could not be written.
        self.unwritten = ""
        # Summaries of the first round's trials.
        self.measured: list[Summary] = []
        self.loads = shared_loads(experiment.possible, experiment.folder, inventory_state(options.inventory))
        self.progress = Progress(todo, console, host.Processors() if options.inventory is None else None)

    def begin_again(self) -> None:
        """Stops processes that are still running, and moves earlier attempts away, so that trials can be repeated."""
        if any(self.experiment.state(trial) == "running" for trial in self.todo):
            # Stop processes that are still running and writing on the hosts: they belong to the earlier attempt.
            self._stop("of a run that was killed")
        for trial in self.todo:
            self.experiment.set_aside(trial)
            self.experiment.mark(trial, "pending")
        self.experiment.update(status="running", finished=None)

    def carry_out(self) -> int:
        """Measures the trials in `todo`, prints the summary and returns the exit code."""
        interrupted, broken = 0, False
        if self.todo:
            self._announce()
            self.experiment.reserve()
            try:
                with self.progress:
                    self._measure()
            except Interruption as interruption:
                interrupted = interruption.exit_code
            except Exception as error:
                if self.experiment.is_there():
                    self._say(self._unexpected(error))
                    broken = True
        if not self.experiment.is_there():
            folder = shown(self.experiment.folder)
            self.progress.say(f"{folder} was removed during the measurement: its evidence is lost", "red")
            return interrupted or 1
        try:
            valid = self._conclude(interrupted != 0) and not broken
        except Exception as error:
            valid = False
            self.experiment.release()
            self._write(partial(self.experiment.update, status="failed", finished=now()))
            self._say(self._unexpected(error))
        return interrupted or (0 if valid else 1)

    def _announce(self) -> None:
        scenario = self.experiment.scenario
        courses = list(dict.fromkeys(course(trial.scenario) for trial in self.todo))
        systems = ", ".join(dict.fromkeys(trial.system for trial in self.todo))
        counts = sorted({trial.scenario.records for trial in self.todo})
        records = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
        more = " or more" if scenario.most_rounds > scenario.number("rounds") and not self.experiment.has_ended else ""
        several = ""
        if scenario.matrix:
            several = f" · {len(self.todo)}{more} trials"
        elif scenario.most_rounds > 1:
            several = f" · {counted(len({trial.round for trial in self.todo}), 'round')}{more}"
        self.progress.say(
            f"{scenario.name}: {systems}{several} · {records} records · {courses[0]}{', …' if len(courses) > 1 else ''}"
        )
        self.progress.say(f"evidence in {shown(self.experiment.folder)}")
        if apart := interleaving.apart(self.todo):
            self.progress.say(f"{', '.join(apart)}: measured one at a time (docs/interleaving.md)", "yellow")
        for key in scenario.unused:
            self.progress.say(f"matrix.{key}: none of these systems has this property, so it is ignored", "yellow")
        for key in scenario.ignored:
            self.progress.say(f"{key} is read by the stock client only and has no effect here", "yellow")

    def _measure(self) -> None:
        """Provisions and measures. At the end, stops what trials may have left running, except servers to be kept."""
        for trial in self.todo:
            # For a trial that never begins, the summary shows what it would have measured.
            self._write(partial(self._write_variables, trial, keep=False))
        try:
            self._measure_all(self._provisioned())
        except Interruption as interruption:
            for trial in self._in_state("pending", "running"):
                self._mark(trial, "interrupted", f"{interruption} while {self.progress.activity}")
            raise
        except Exception as error:
            for trial in self._in_state("running"):
                self._mark(trial, "failed", str(self._unexpected(error)))
            raise
        finally:
            self._discard()
            # If this run left nothing behind, running servers belong to a user's trial.yml or to another checkout.
            if self.leaves and self.kept_trial is None:
                self._stop()
            # Stopping the servers may still have added files.
            for trial in self._in_state("failed", "interrupted"):
                self._write(partial(self.experiment.seal, trial))
        if self.kept_trial is not None:
            self._show_kept(self.kept_trial)
        self.signals.check()

    def _measure_all(self, ready: list[PlannedTrial]) -> None:
        """Measures one trial after another, including rounds that are added meanwhile."""
        left_by = ""
        # Kept loads, attached systems, and hosts that a fault switches off may leave something even after a success.
        always_leaves = bool(self.loads) or any(
            trial.is_attached or any(trial.scenario.of(phase).faults for phase in trial.scenario.phases)
            for trial in ready
        )
        number = 0
        while number < len(ready) and not self.stopped:
            start = first_start(ready[number:])
            number += len(start)
            last = start[-1]
            keep = self.options.keep and last is ready[-1]
            if left_by:
                # The next system must not share the machine.
                self._stop(f"of {left_by}", keep_loads=True)
            self.progress.trial(number - len(start) + 1, ready)
            if self.began is None:
                self.began = time.monotonic()
            self.leaves = True
            after = first_start(ready[number:]) if number < len(ready) else []
            following = after[0] if len(after) == len(start) == 1 else None
            failed = self._carry_out(start, keep, following)
            self.leaves = bool(failed) or keep or always_leaves
            left_by = failed[0].label if failed else ""
            self.kept_trial = last if keep and not failed else None
            if last is ready[-1]:
                ready += self._after_round(last.round, is_last=True)
                if self.kept_trial and self.kept_trial is not ready[-1]:
                    left_by, self.kept_trial = self.kept_trial.label, None
            elif ready[number].round > last.round:
                self._after_round(last.round, is_last=False)

    def _carry_out(
        self, start: Sequence[PlannedTrial], keep: bool, following: PlannedTrial | None
    ) -> list[PlannedTrial]:
        """Measures a trial, or several at the same time. Returns the trials that have failed.

        :param following: the next trial, if trials are measured one at a time
        """
        failed: list[PlannedTrial] = []

        def one(trial: PlannedTrial) -> None:
            failure = self._whatever_happens(partial(self._trial, trial, keep, start, following))
            if failure is not None:
                self._failed(trial, failure)
                failed.append(trial)

        if len(start) == 1:
            one(start[0])
        else:
            # An installation must not share the hosts with a measurement.
            for trial in start:
                if not self._is_deployed(trial) and (failure := self._whatever_happens(partial(self._deploy, [trial]))):
                    self._failed(trial, failure)
                    failed.append(trial)
            start = [trial for trial in start if trial not in failed]
            if start:
                turns = interleaving.turns_of(start, self.experiment.folder)
                interleaving.measure(start, turns, one, self.signals.check)
        return failed

    def _after_round(self, number: int, *, is_last: bool) -> list[PlannedTrial]:
        """Shows the results so far if another round follows.

        :param is_last: whether it is the last of the planned rounds
        :returns: the trials of a round that is added
        """
        experiment = self.experiment
        if experiment.scenario.most_rounds == 1 or not experiment.is_there():
            return []
        further: list[PlannedTrial] = []
        try:
            complete = {trial.name for trial in experiment.trials if trial.round <= number}
            summary = summarise(experiment.folder, only=complete)
            if is_last and not experiment.has_ended:
                further = rounds.further(experiment, summary, time.monotonic() - (self.began or 0))
                experiment.add(further)
                self.todo += further
            for trial in further:
                self._write_variables(trial, keep=False)
            cause = rounds.common_cause(summary.trials, observed=self.options.inventory is None)
            if number == 1 and not is_last and cause:
                self.stopped = "all trials of the first round are invalid for the same reason"
                self.progress.say(f"no further round begins: {self.stopped}: {cause}", "red")
                for trial in self._in_state("pending"):
                    self._mark(trial, "interrupted", f"not begun: {self.stopped}")
            elif further or not is_last:
                heading = rounds.heading(experiment.scenario, number, summary)
                self.progress.table(partial(screen.ranking, summary), heading)
        except Exception as error:
            self._say(self._unexpected(error))
        return further

    def _in_state(self, *statuses: Status) -> list[PlannedTrial]:
        """Returns the trials in `todo` that are in one of these states."""
        return [trial for trial in self.todo if self.experiment.state(trial) in statuses]

    def _provisioned(self) -> list[PlannedTrial]:
        """Installs what the trials need on the hosts. Returns the trials whose system is available."""
        ready: list[PlannedTrial] = []
        # An installation depends on the systems' variables, which may be dimensions of the matrix.
        by_variables: dict[str, list[PlannedTrial]] = {}
        for trial in self.todo:
            by_variables.setdefault(repr(sorted(_of_servers(trial.scenario).items())), []).append(trial)
        # Install with the first trial's variables last, so that its servers are the ones that remain installed.
        for trials in reversed(by_variables.values()):
            ready += self._installed(trials)
        return [trial for trial in self.todo if trial in ready]

    def _installed(self, trials: list[PlannedTrial]) -> list[PlannedTrial]:
        """Installs the systems of trials with the same variables. Returns the trials for which this succeeded."""
        failure = self._whatever_happens(partial(self._deploy, trials))
        if failure is None:
            return self._available(trials)
        systems = list(dict.fromkeys(trial.system for trial in trials))
        if len(systems) == 1:
            for trial in trials:
                self._failed(trial, failure)
            return []
        # The failure of one system must not prevent the measurement of the others.
        ready = []
        for system in systems:
            ready += self._installed([trial for trial in trials if trial.system == system])
        return ready

    def _available(self, trials: list[PlannedTrial]) -> list[PlannedTrial]:
        """Marks the trials of unavailable systems as skipped. Returns the other trials."""
        skipped: dict[str, str] = {}
        for trial in trials:
            if reason := self.unavailable.get(trial.system):
                self._mark(trial, "skipped", reason)
                if (trial.system, reason) not in self.reported:  # print it once for all rounds and points
                    self.reported.add((trial.system, reason))
                    skipped[trial.system] = reason
        if self.options.names_systems:
            for system, reason in skipped.items():
                self.progress.say(f"{system} skipped: {reason}", "yellow")
        elif skipped:
            self.progress.say(Again(self.experiment.folder).skipped(sorted(skipped), screen.MOST_COLUMNS), "yellow")
        return [trial for trial in trials if not self.unavailable.get(trial.system)]

    def _deploy(self, trials: list[PlannedTrial]) -> Failure | None:
        """Installs the systems of trials that have the same variables."""
        folder = self.experiment.folder / "deploy"
        folder.mkdir(exist_ok=True)
        # The playbook checks the memory and disk space for the largest data.
        largest = max((trial.scenario for trial in trials), key=lambda s: s.data_bytes * s.number("replication"))
        size = {
            "trial_properties": largest.client_properties,
            "trial_conditions": largest.conditions,
            "trial_client_heap": largest["client_heap"],
        }
        names = list(dict.fromkeys(trial.system for trial in trials))
        # The user has agreed to the licences of downloads that the scenario requests, but not to those in an inventory.
        agreed = any(value is True for name, value in largest.role_variables.items() if name.endswith("_fetch"))
        values = {"deploy_systems": names, "fetch_agreed": agreed, **size, **not_attached(), **largest.role_variables}
        write_json(folder / "deploy.json", values)
        failure = self._play("deploy.yml", folder, values)
        for system in map(all_systems().__getitem__, names):
            # After a failure, nothing counts as installed, so the next trial deploys again.
            before = self.deployed.get(system.role, []) if system.keeps_versions and failure is None else []
            self.deployed[system.role] = [*before, _of_servers(largest)] if failure is None else []
        return failure

    def _trial(
        self, trial: PlannedTrial, keep: bool, start: Sequence[PlannedTrial], following: PlannedTrial | None
    ) -> Failure | None:
        folder = self.experiment.trial_folder(trial)
        rounds.fix_equal_targets(self.experiment, trial)
        variables = self._write_variables(trial, keep, start)
        self.experiment.mark(trial, "running")
        began = time.monotonic()
        failure = None
        if not self._is_deployed(trial):
            failure = self._deploy([trial])
        failure = failure or self._play("trial.yml", folder, variables, trial, following)
        if failure is None:
            self.experiment.mark(trial, "done")
            self.experiment.seal(trial)
            self._show_result(trial, time.monotonic() - began)
        return failure

    def _is_deployed(self, trial: PlannedTrial) -> bool:
        return _of_servers(trial.scenario) in self.deployed.get(all_systems()[trial.system].role, [])

    def _begin(self, trial: PlannedTrial) -> None:
        """Starts the playbook of the next trial while the servers of this one are being stopped.

        Loading Ansible and the inventory takes a second. The playbook then waits without touching the hosts.
        """
        if self.next_playbook is None and self._is_deployed(trial):
            # An error must not keep this trial's servers from stopping. The next trial then starts its own playbook.
            with suppress(Exception):
                variables = self._variables(trial, keep=self.options.keep and trial is self.todo[-1])
                folder = self.experiment.trial_folder(trial)
                self.next_playbook = Playbook("trial.yml", self.options.inventory, folder, variables, waits=True)

    def _discard(self) -> None:
        """Ends the playbook that is waiting for its turn."""
        if self.next_playbook is not None:
            self.next_playbook.discard()
            self.next_playbook = None

    def _show_result(self, trial: PlannedTrial, seconds: float) -> None:
        """Prints the result of a trial. In the first round, also extends the ranking on a terminal."""
        planned = self.experiment.trials
        try:
            of_trial = summarise(self.experiment.folder, only={trial.name})
            width = max(len(member.system_at_point) for member in planned)
            prefix = f"round {trial.round}, " if trial.scenario.most_rounds > 1 else ""
            figures = screen.figures(of_trial)
            result = figures or f"no valid numbers: {of_trial.trials[0].reason}"
            text = f"{trial.system_at_point:{width}}  {result}  ({prefix}{clock(seconds)})"
            self.progress.say(text, "green" if figures else "yellow")
            if trial.round == 1:
                self.measured.append(of_trial)
                of_round = sum(member.round == 1 and not self.unavailable.get(member.system) for member in planned)
                heading = f"after {len(self.measured)} of {counted(of_round, 'trial')}"
                heading += " of round 1" if trial.scenario.most_rounds > 1 else ""
                self.progress.grow(partial(screen.ranking, joined(self.measured)), heading)
        except Exception as error:
            self._say(self._unexpected(error))

    def _write_variables(self, trial: PlannedTrial, keep: bool, start: Sequence[PlannedTrial] = ()) -> dict[str, Any]:
        """Stores Ansible's variables. The file is only evidence; it is never passed to Ansible."""
        variables = self._variables(trial, keep, start)
        write_json(self.experiment.trial_folder(trial) / "trial.json", variables)
        return variables

    def _variables(self, trial: PlannedTrial, keep: bool, start: Sequence[PlannedTrial] = ()) -> dict[str, Any]:
        return self.experiment.variables(trial, keep, self.loads.get(trial.name, ""), start)

    def _whatever_happens(self, step: Callable[[], Failure | None]) -> Failure | None:
        """Runs a step. If a file cannot be written, or Dohyo has a bug, the step fails."""
        failure = Failure(f"nothing was started: {self.unwritten}", self.experiment.folder)
        if not self.unwritten:
            try:
                return step()
            except Interruption:
                raise
            except Exception as error:
                failure = self._unexpected(error)
        self.failed_while = self.progress.activity
        return failure

    def _unexpected(self, error: Exception) -> Failure:
        """Converts an exception to a failure with a message for the user."""
        if isinstance(error, OSError):
            return Failure(named(error), self.experiment.folder)
        if isinstance(error, BadInputError):  # for example a script that cannot be fetched
            return Failure(str(error), self.experiment.folder)
        log = self.experiment.folder / "internal-error.log"
        self._write(partial(folders.write, log, "".join(traceback.format_exception(error))))
        return Failure(f"internal error: {type(error).__name__}: {' '.join(str(error).split())}", log)

    def _say(self, failure: Failure, prefix: str = "") -> None:
        """Prints the text ``prefix``, the failure, and the path of its log."""
        self.progress.say(f"{prefix}{failure}", "red")
        self.progress.say(f"  the full log: {shown(failure.log)}")

    def _mark(self, trial: PlannedTrial, status: Status, reason: str | None) -> None:
        self._write(partial(self.experiment.mark, trial, status, reason))

    def _write(self, write: Callable[[], object]) -> None:
        """Writes a file. On a full disk, uses the reserved space."""
        try:
            write()
        except OSError as error:
            self.unwritten = self.unwritten or named(error)
            self.experiment.release()
            try:
                write()
            except OSError as again:
                self.progress.say(f"cannot be written: {named(again)}", "red")

    def _failed(self, trial: PlannedTrial, failure: Failure) -> None:
        self._mark(trial, "failed", f"{self.failed_while}: {failure}")
        self._say(failure, f"{trial.label} failed while {self.failed_while}: ")

    def _play(
        self,
        name: str,
        folder: Path,
        variables: Mapping[str, Any],
        trial: PlannedTrial | None = None,
        following: PlannedTrial | None = None,
    ) -> Failure | None:
        """Runs a playbook.

        :param trial: the trial that the playbook measures
        :param following: the trial after this one
        """
        # Activity during each failed task. The trial's failure is reported only after the servers have been stopped.
        activities: dict[str, str] = {}
        keep_reason = availability.watcher(self.unavailable)

        def watch(event: Event) -> None:
            self.progress.event(event, trial.name if trial else "")
            keep_reason(event)
            if event["event"] == "failed":
                activities[str(event["task"])] = self.progress.activity
            if following is not None and event["event"] == "phase" and event["phase"] == "stop":
                self._begin(following)

        if self.next_playbook is not None and self.next_playbook.variables != variables:
            self._discard()
        playbook, self.next_playbook = self.next_playbook, None
        check, tick = self.signals.check, self.progress.tick
        if playbook is None:
            inventory = self.options.inventory
            failure = play(name, inventory, folder, check=check, variables=variables, watch=watch, tick=tick)
        else:
            with playbook:
                failure = playbook.finish(check=check, watch=watch, tick=tick)
        self.failed_while = activities.get(failure.task if failure else "", self.progress.activity)
        return failure

    def _stop(self, systems: str = "", *, keep_loads: bool = False) -> None:
        """Stops all servers and clients that this checkout has started. Signals are ignored meanwhile.

        :param keep_loads: whether to keep loads that further trials may use
        """
        self.progress.stopping(systems)
        folder = self.experiment.folder / "stop"
        failure = None
        with self.signals.held_back("already stopping the servers, please wait"):
            try:
                # If the folder cannot be created, the log cannot be written either, which is reported.
                with suppress(OSError):
                    folder.mkdir(parents=True, exist_ok=True)
                failure = play(
                    "stop.yml",
                    self.options.inventory,
                    folder,
                    check=lambda: None,
                    variables={"stop_keeps_loads": keep_loads},
                    tick=self.progress.tick,
                    timeout=STOP_SECONDS,
                )
            except Exception as error:
                # An error that does not concern the playbook's log and events kept it from running.
                if isinstance(error, OSError) and Path(str(error.filename)).parent == folder:
                    self.progress.say(f"the servers are stopped, but a file cannot be written: {named(error)}", "red")
                else:
                    failure = self._unexpected(error)
        if failure is not None:
            problem = next(
                (text for task, text in LEFT.items() if failure.task.startswith(task)),
                "the servers could not be stopped",
            )
            self.progress.say(f"{problem}: {failure}", "red")
            self.progress.say(f"  the full log: {shown(failure.log)}; please try again: {self._stop_command()}")

    def _show_kept(self, trial: PlannedTrial) -> None:
        if trial.is_attached:
            self.progress.say(f"{trial.label}: Dohyo's tables stay; remove them with: {self._stop_command()}")
            return
        conditions = read_json(self.experiment.trial_folder(trial) / "conditions.json")
        endpoints = ", ".join(map(str, conditions.get("endpoints", [])))
        self.progress.say(f"{trial.label} keeps running at {endpoints}; stop it with: {self._stop_command()}")

    def _stop_command(self) -> str:
        inventory = f" -i {shlex.quote(str(self.options.inventory))}" if self.options.inventory else ""
        return f"cd {shlex.quote(str(ANSIBLE))} && ../.venv/bin/ansible-playbook stop.yml{inventory}"

    def _conclude(self, interrupted: bool) -> bool:
        """Writes and prints the summary. Returns whether all trials are valid and all searches found a rate."""
        material = chart_data.read(self.experiment.folder)
        summary = material.summary
        # The summary reports folders in raw/ that belong to another experiment. They are not trials of this one.
        results = {result.name: result for result in summary.trials}
        for trial in self.experiment.trials:
            # Contradictory logs are only found now. --resume must also repeat trials with such logs.
            if self.experiment.state(trial) == "done" and results[trial.name].status != "ok":
                self._mark(trial, "invalid", results[trial.name].reason)
        valid = summary.has_numbers(skipped=not self.options.names_systems)
        self.experiment.release()
        self._write(partial(write, summary, self.experiment.folder))
        valid = valid and not self.unwritten
        status = "done" if valid else "interrupted" if interrupted else "failed"
        self._write(partial(self.experiment.update, status=status, finished=now()))
        self._write_page(material)
        resume = command(RUN, "--resume", places.named(self.experiment.folder))
        more = [] if valid else [f"to repeat only what did not finish: {resume}"]
        if self.options.details:
            table.render(summary, self.console)
        screen.render(summary, self.console, self.experiment.folder, more)
        return valid and summary.has_found_rates() and not self.unwritten

    def _write_page(self, material: Material) -> None:
        """Writes the page with charts, and opens it if requested. The numbers are valid even without the page."""
        if self.unwritten:
            return
        try:
            (page,) = files.write(self.experiment.folder, material)
            if self.options.open_report:
                files.open_in_browser(page)
        except Exception as error:
            self._say(self._unexpected(error), "the page was not written: ")
