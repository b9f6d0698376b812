"""Manages an experiment's folder: the request, the evidence of every trial, and the progress.

FOLDER/experiment.json       format of the evidence, scenario, options, plan, versions, hardware, status
FOLDER/scenario.properties   the effective scenario; --resume measures with it
FOLDER/published/            published figures from other hardware, shown below the results
FOLDER/raw/01-cassandra/     evidence of a trial: trial.json (its input), state.json, ansible.log, events.jsonl,
                             canary.json, conditions.json, load/, server/; a folder for each run of each phase
                             (run-1/, update-2/, …) and for each probe of a search (probe-1/, …); manifest with
                             checksums of all files except state.json
FOLDER/attempts/             trials that --resume repeated, as they were before
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from fcntl import LOCK_EX, LOCK_NB, flock
from itertools import count
from pathlib import Path
from typing import IO, Any, Literal, cast

from msgspec import UNSET

from dohyo import folders
from dohyo.ansible.data import check_path
from dohyo.ansible.playbook import check_inventory
from dohyo.bad_input import BadInputError, unknown
from dohyo.evidence import experiment_folder, json_values, manifest, records
from dohyo.evidence.records import FORMAT, ExperimentFacts, TrialState
from dohyo.places import RESULTS
from dohyo.planning import plan, sizing
from dohyo.running import interleaving
from dohyo.scenario import loading
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.scenario import Scenario

Status = Literal["pending", "running", "done", "failed", "invalid", "interrupted", "skipped"]
# Minimum free space. The evidence takes only a few megabytes, but a full disk would ruin the whole measurement.
FREE_BYTES_FOR_EVIDENCE = 200 * 10**6
# Size of a file that reserves space. On a full disk, it is deleted to make room for state, tables and the last logs.
RESERVE_BYTES = 16 * 10**6
# Seconds within which a playbook must end after the run that started it was killed.
ENDING_SECONDS = 10.0


def now() -> str:
    """Returns the current time in ISO 8601, with the time zone."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


@dataclass(frozen=True)
class Experiment:
    """One call of run.sh. Its entire state is in its folder."""

    folder: Path
    scenario: Scenario

    @property
    def facts(self) -> ExperimentFacts:
        """The content of experiment.json."""
        return experiment_folder.strictly(self.folder / experiment_folder.FACTS, ExperimentFacts)

    @property
    def trials(self) -> list[plan.PlannedTrial]:
        """Planned trials in order. Trials of rounds beyond the first `rounds` are added when their round begins."""
        planned = self.facts.plan
        return [trial for trial in self.possible if trial.name in planned] if planned else plan.trials(self.scenario)

    @property
    def possible(self) -> list[plan.PlannedTrial]:
        """All trials that may become necessary, including those of rounds that may be added."""
        return plan.trials(self.scenario, self.scenario.most_rounds)

    def add(self, trials: Sequence[plan.PlannedTrial], **fields: Any) -> None:
        """Appends trials to the plan, and changes further fields of experiment.json."""
        for trial in trials:
            self.trial_folder(trial).mkdir(parents=True, exist_ok=True)
            self.mark(trial, "pending")
        facts = read_json(self.folder / experiment_folder.FACTS)
        planned = [*(facts.get("plan") or []), *(trial.name for trial in trials)]
        # Write all at once: an experiment without its plan could be resumed, but its evidence would count as lost.
        self.update(**fields, plan=planned, trials=[*(facts.get("trials") or []), *map(_facts, trials)])

    @property
    def has_ended(self) -> bool:
        """Whether no more rounds will be added."""
        return not self.scenario.adds_rounds or bool(self.facts.rounds_ended)

    @property
    def equal_targets(self) -> dict[str, float]:
        """Rate of the phase `equal` at each point where it is fixed, in operations per second of all clients."""
        facts = records.read(self.folder / experiment_folder.FACTS, ExperimentFacts, lambda _: None)
        return {point: rate for point, rate in facts.equal_targets.items() if rate > 0}

    def seconds(self, trial: plan.PlannedTrial) -> float | None:
        """Returns the seconds that a trial took, or None if it did not finish."""
        state = self._state(trial)
        try:
            began, ended = (datetime.fromisoformat(moment or "") for moment in (state.started, state.finished))
        except ValueError:
            return None
        return (ended - began).total_seconds() if state.status == "done" else None

    def trial_folder(self, trial: plan.PlannedTrial) -> Path:
        """Returns the folder with the evidence of a trial."""
        return self.folder / "raw" / trial.name

    def state(self, trial: plan.PlannedTrial) -> Status:
        """Returns the state of a trial."""
        return cast(Status, self._state(trial).status)

    def _state(self, trial: plan.PlannedTrial) -> TrialState:
        return experiment_folder.strictly(self.trial_folder(trial) / "state.json", TrialState)

    def mark(self, trial: plan.PlannedTrial, status: Status, reason: str | None = None) -> None:
        """Records the state of a trial and the reason for it."""
        file = self.trial_folder(trial) / "state.json"
        before = read_json(file)
        started = now() if status == "running" else before.get("started")
        finished = now() if status not in ("pending", "running") else None
        state = {"status": status, "reason": reason, "started": started, "finished": finished}
        write_json(file, {**before, **state})

    def seal(self, trial: plan.PlannedTrial) -> None:
        """Writes the manifest of a trial whose evidence is complete."""
        file = self.trial_folder(trial) / "state.json"
        write_json(file, {**read_json(file), "manifest": manifest.write(self.trial_folder(trial))})

    def set_aside(self, trial: plan.PlannedTrial) -> None:
        """Moves the files of an unfinished trial to attempts/, so that its repetition starts with an empty folder."""
        folder = self.trial_folder(trial)
        if (folder / "ansible.log").exists():
            attempts = self.folder / "attempts"
            attempts.mkdir(exist_ok=True)
            # Some numbers may be missing, because users may delete attempts.
            number = next(attempt for attempt in count(1) if not os.path.lexists(attempts / f"{trial.name}.{attempt}"))
            folder.rename(attempts / f"{trial.name}.{number}")
        folder.mkdir(parents=True, exist_ok=True)
        # A trial that never began has a manifest, which would count as evidence.
        (folder / manifest.FILE).unlink(missing_ok=True)

    def reserve(self) -> None:
        """Reserves disk space for the final files, if there is enough."""
        with suppress(OSError), self._reserve.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)

    def release(self) -> None:
        """Releases the reserved disk space."""
        with suppress(OSError):
            self._reserve.unlink()

    @property
    def _reserve(self) -> Path:
        return self.folder / ".reserve"

    def is_there(self) -> bool:
        """Returns whether the folder still belongs to this experiment: users may have deleted it."""
        return self.facts.plan == [trial.name for trial in self.trials] and self.scenario_file.is_file()

    @property
    def scenario_file(self) -> Path:
        """File with the effective scenario."""
        return self.folder / "scenario.properties"

    def variables(
        self, trial: plan.PlannedTrial, keep: bool, load: str = "", start: Sequence[plan.PlannedTrial] = ()
    ) -> dict[str, Any]:
        """Returns Ansible's variables for a trial. Parameters are as in :func:`plan.variables`.

        :param start: the trials that take turns, if this trial is one of them
        """
        variables = plan.variables(trial, self.trial_folder(trial), keep, load, self.equal_targets)
        return {**variables, **interleaving.variables(trial, start, self.folder)}

    def update(self, **fields: Any) -> None:
        """Changes fields of experiment.json."""
        file = self.folder / "experiment.json"
        write_json(file, {**read_json(file), **fields})


def new_folder(scenario: Scenario, out: Path | None) -> Path:
    """Creates the folder of a new experiment.

    :param out: a new or empty folder; None for a new folder below results/
    :raises BadInputError: if the folder cannot be created or is not empty
    """
    folder = (out or RESULTS / f"{datetime.now():%Y%m%d-%H%M%S}-{plan.shell_safe(scenario.name)[:100]}").absolute()
    check_path(folder, f"the folder {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BadInputError(
                f"the folder {folder} is not empty; name a new one with --out (--resume continues an experiment)"
            )
        if not os.access(folder, os.W_OK):
            raise BadInputError(f"the folder {folder} cannot be written to; use another folder with --out DIR")
    except OSError as error:
        if isinstance(error, FileExistsError):
            raise BadInputError(f"{folder} is a file; use a new or empty folder with --out DIR") from error
        raise BadInputError(f"cannot write to {folder}: {error.strerror}; use another folder with --out DIR") from error
    return folder


def create(scenario: Scenario, folder: Path, about: dict[str, Any], hosts: Hosts | None = None) -> Experiment:
    """Begins a new experiment in an empty folder.

    :param about: further fields of experiment.json
    :param hosts: hosts from which the scenario's sizes were computed; --resume needs them
    """
    experiment = Experiment(folder, scenario)
    trials = plan.trials(scenario)
    first = trials[0].scenario
    folders.write(experiment.scenario_file, scenario.text())
    for file in scenario.published:
        (folder / "published").mkdir(exist_ok=True)
        shutil.copy(file, folder / "published")
    experiment.add(
        trials,
        format=FORMAT,
        id=folder.name,
        scenario=scenario.name,
        title=scenario.title,
        scenario_sha256=manifest.checksum(experiment.scenario_file),
        systems=scenario.systems,
        matrix={key: list(values) for key, values in scenario.matrix.items()},
        # Minimum number of rounds. More may be added, until rounds_ended contains the reason for stopping.
        rounds=scenario.number("rounds"),
        precision=scenario.precision,
        until_decided=scenario.adds_rounds and scenario.precision is None,
        alike=scenario.alike,
        # Number of records at the first point; each trial.json contains the number for its trial.
        records=first.records,
        data_bytes=first.data_bytes,
        datasize=first.datasize or None,
        scale=float(first["scale"]),
        full_records=first.full_records,
        conditions=first.conditions,
        hosts=asdict(hosts) if hosts else None,
        started=now(),
        finished=None,
        status="running",
        **about,
    )
    return experiment


def _facts(trial: plan.PlannedTrial) -> dict[str, Any]:
    return {
        "name": trial.name,
        "system": trial.system,
        "point": dict(trial.scenario.point),
        "round": trial.round,
        "records": trial.scenario.records,
    }


def find(name: str) -> Path:
    """Finds the folder of an experiment by its ID below results/ or by its path.

    :raises BadInputError: if there is no such experiment
    """
    folder = Path(name).absolute() if "/" in name else RESULTS / name
    if not (folder / "experiment.json").is_file():
        names = sorted((file.parent.name for file in RESULTS.glob("*/experiment.json")), reverse=True)
        raise unknown(
            "experiment", name, names, f"the newest are: {', '.join(names[:3])}" if names else "there are none yet"
        )
    return folder


def reopen(name: str) -> tuple[Experiment, Path | None]:
    """Opens an experiment by its ID below results/ or by its path. Returns it and its inventory.

    :raises BadInputError: if there is no such experiment, or if it cannot be continued
    """
    folder = find(name)
    check_path(folder, f"the folder {folder}")
    about = experiment_folder.read(folder)
    if about.scenario is None or about.inventory is UNSET:
        missing = "scenario" if about.scenario is None else "inventory"
        raise BadInputError(f"{folder}/{experiment_folder.FACTS}: it cannot be resumed, because '{missing}' is missing")
    inventory = _inventory(about.inventory, folder) if about.inventory else None
    file = folder / "scenario.properties"
    # Use the sizes (such as 4*ram) that were computed when the experiment began.
    scenario = loading.load(file, name=about.scenario, hosts=about.hosts, caches=sizing.caches(inventory))
    return Experiment(folder, scenario), inventory


def _inventory(name: str, folder: Path) -> Path:
    """Checks and returns the inventory of an experiment's hosts.

    :raises BadInputError: if it does not exist, or if it may have come with the experiment: an inventory can run code
    """
    inventory = Path(name)
    check_path(inventory, f"{folder}/experiment.json: the inventory {name}")
    if not inventory.is_absolute():
        raise BadInputError(f"{folder}/experiment.json: the inventory {name} must be an absolute path")
    # Check both directions, because Ansible also reads the folders below an inventory.
    path = inventory.resolve()
    if any(path.is_relative_to(root) or root.is_relative_to(path) for root in (RESULTS.resolve(), folder.resolve())):
        raise BadInputError(
            f"{folder}/experiment.json: inventory {name} is in a results folder, but can run code; move it"
        )
    check_inventory(path)
    return path


def check_disk(folder: Path) -> None:
    """Checks that the file system of a folder has enough free space for the evidence.

    :raises BadInputError: with the folder, the available and the needed space
    """
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES_FOR_EVIDENCE:
        raise BadInputError(
            f"no room for the evidence: {folder} has {free / 10**9:.1f} of {FREE_BYTES_FOR_EVIDENCE / 10**9:.1f} GB;"
            " free space, or lower --records"
        )


@contextmanager
def only_one() -> Iterator[Callable[[Path], None]]:
    """Holds this checkout's lock: two experiments at the same time would distort each other's results.

    The playbooks inherit the lock, so that no other experiment begins while the playbook of a killed run is still
    running. Yields a function that writes the experiment's folder to the lock file, where other programs read it.

    :raises BadInputError: with the processes that hold the lock
    """
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / experiment_folder.LOCK).open("a+", encoding="utf-8", errors="surrogateescape") as lock:
        os.set_inheritable(lock.fileno(), True)
        deadline = time.monotonic() + ENDING_SECONDS
        while not _is_locked(lock):
            lock.seek(0)
            owner, having = lock.readline().strip(), _having(lock)
            if owner in having:
                raise BadInputError(
                    f"another experiment of this checkout is running (process {owner}); wait until it ends"
                )
            # The playbook of a killed run may be about to end.
            if time.monotonic() > deadline:
                raise BadInputError(
                    f"the run of process {owner} was killed, but a part of it still runs; end it with:"
                    f" kill {' '.join(having)}"
                )
            time.sleep(0.1)
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()

        def measuring(folder: Path) -> None:
            lock.write(f"{folder.resolve()}\n")
            lock.flush()

        yield measuring


def _is_locked(lock: IO[str]) -> bool:
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _having(file: IO[str]) -> list[str]:
    """Returns the pids of other processes that have the file open."""
    status = os.fstat(file.fileno())

    def has_it(descriptor: Path) -> bool:
        with suppress(OSError):
            return os.path.samestat(status, descriptor.stat())
        return False

    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended, or belongs to another user
            if process.name != str(os.getpid()) and any(map(has_it, (process / "fd").iterdir())):
                pids.append(process.name)
    return pids


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Writes a JSON file atomically and durably. An OSError contains the file's name."""
    folders.write(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_json(file: Path) -> dict[str, Any]:
    """Returns the object in a JSON file, or {} if there is no file.

    :raises BadInputError: if it contains anything else
    """
    try:
        return json_values.mapping(json_values.load(file))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInputError(f"{file}: cannot be read as JSON: {error}") from error
