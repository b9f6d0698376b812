"""An experiment's folder: what was asked for, the evidence of every trial, and how far it came.

FOLDER/experiment.json       scenario, options, plan, versions, hardware, status
FOLDER/scenario.properties   the effective scenario; --resume measures with it
FOLDER/published/            figures of others that are shown below ours
FOLDER/raw/01-cassandra/     evidence of a trial: trial.json (its input), state.json, ansible.log, events.jsonl,
                             canary.json, conditions.json, load/, a folder for each run of each phase (run-1/,
                             update-2/, …) and for each probe of a search (probe-1/, …), server/; manifest with the
                             checksum of each of them but state.json
FOLDER/attempts/             trials that --resume repeated, as they were before
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any, Literal

from dohyo import folders
from dohyo.bad_input import BadInputError, unknown
from dohyo.evidence import experiment_folder, json_values, manifest
from dohyo.places import RESULTS
from dohyo.planning import plan, sizing
from dohyo.scenario import scenario
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.scenario import Scenario

Status = Literal["pending", "running", "done", "failed", "invalid", "interrupted", "skipped"]
# Logs of an experiment are a few megabytes; a full disk in the middle would cost the whole measurement.
FREE_BYTES_FOR_EVIDENCE = 200 * 10**6


def now() -> str:
    """The current time with its zone, ISO 8601."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


@dataclass(frozen=True)
class Experiment:
    """One call of run.sh; all state is in its folder."""

    folder: Path
    scenario: Scenario

    @property
    def trials(self) -> list[plan.Trial]:
        """The planned trials in order."""
        return plan.trials(self.scenario)

    def trial_folder(self, trial: plan.Trial) -> Path:
        """Where the evidence of a trial is."""
        return self.folder / "raw" / trial.name

    def state(self, trial: plan.Trial) -> Status:
        """How far a trial came."""
        status: Status = read_json(self.trial_folder(trial) / "state.json").get("status") or "pending"
        return status

    def mark(self, trial: plan.Trial, status: Status, reason: str | None = None) -> None:
        """Writes down how far a trial came, and why not further."""
        file = self.trial_folder(trial) / "state.json"
        before = read_json(file)
        started = now() if status == "running" else before.get("started")
        finished = now() if status not in ("pending", "running") else None
        state = {"status": status, "reason": reason, "started": started, "finished": finished}
        write_json(file, {**before, **state})

    def seal(self, trial: plan.Trial) -> None:
        """Writes the manifest of a trial to whose evidence nothing will be added any more."""
        file = self.trial_folder(trial) / "state.json"
        write_json(file, {**read_json(file), "manifest": manifest.write(self.trial_folder(trial))})

    def set_aside(self, trial: plan.Trial) -> None:
        """Moves what an unfinished trial left to attempts/, so that its repetition starts with an empty folder."""
        folder = self.trial_folder(trial)
        if (folder / "ansible.log").exists():
            attempts = self.folder / "attempts"
            attempts.mkdir(exist_ok=True)
            number = 1 + len(list(attempts.glob(f"{trial.name}.*")))
            folder.rename(attempts / f"{trial.name}.{number}")
        folder.mkdir(parents=True, exist_ok=True)

    def is_there(self) -> bool:
        """Whether the folder is still the one that was made: somebody may have removed it meanwhile."""
        planned = read_json(self.folder / experiment_folder.FACTS).get("plan")
        return planned == [trial.name for trial in self.trials] and self.scenario_file.is_file()

    @property
    def scenario_file(self) -> Path:
        """The effective scenario."""
        return self.folder / "scenario.properties"

    def update(self, **fields: Any) -> None:
        """Changes fields of experiment.json."""
        file = self.folder / "experiment.json"
        write_json(file, {**read_json(file), **fields})


def new_folder(chosen: Scenario, out: Path | None) -> Path:
    """Makes the folder of a new experiment.

    :param out: the folder, which must be new or empty; without it a new one below results/
    :raises BadInputError: if that is impossible
    """
    folder = (out or RESULTS / f"{datetime.now():%Y%m%d-%H%M%S}-{chosen.name}").absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BadInputError(
                f"the folder {folder} is not empty; --out takes a new one (--resume continues an old one)"
            )
        if not os.access(folder, os.W_OK):
            raise BadInputError(f"the folder {folder} cannot be written to; --out DIR chooses another place")
    except OSError as error:
        raise BadInputError(f"cannot write to {folder}: {error.strerror}; --out DIR chooses another place") from error
    return folder


def create(chosen: Scenario, folder: Path, about: dict[str, Any], hosts: Hosts | None = None) -> Experiment:
    """Begins a new experiment in an empty folder.

    :param about: what else experiment.json shall hold
    :param hosts: what the scenario's sizes were computed from, for --resume
    """
    experiment = Experiment(folder, chosen)
    first = experiment.trials[0].scenario
    for trial in experiment.trials:
        experiment.trial_folder(trial).mkdir(parents=True)
        experiment.mark(trial, "pending")
    folders.write(experiment.scenario_file, chosen.text())
    for file in chosen.published:
        (folder / "published").mkdir(exist_ok=True)
        shutil.copy(file, folder / "published")
    experiment.update(
        id=folder.name,
        scenario=chosen.name,
        systems=chosen.systems,
        plan=[trial.name for trial in experiment.trials],
        trials=[
            {
                "name": trial.name,
                "system": trial.system,
                "point": dict(trial.scenario.point),
                "round": trial.round,
                "records": trial.scenario.number("recordcount"),
            }
            for trial in experiment.trials
        ],
        matrix={key: list(values) for key, values in chosen.matrix.items()},
        rounds=chosen.number("rounds"),
        # Of the first point, where there are several; each trial's own are in its trial.json.
        records=first.number("recordcount"),
        data_bytes=first.data_bytes,
        datasize=first.datasize or None,
        scale=float(first["scale"]),
        full_records=int(first.full.get("recordcount", first["recordcount"])),
        conditions=first.conditions,
        hosts=asdict(hosts) if hosts else None,
        started=now(),
        finished=None,
        status="running",
        **about,
    )
    return experiment


def find(name: str) -> Path:
    """The folder of an experiment, by its ID below results/ or by the path.

    :raises BadInputError: if there is none
    """
    folder = Path(name).absolute() if "/" in name else RESULTS / name
    if not (folder / "experiment.json").is_file():
        there = sorted((file.parent.name for file in RESULTS.glob("*/experiment.json")), reverse=True)
        raise unknown(
            "experiment", name, there, f"the newest are: {', '.join(there[:3])}" if there else "there are none yet"
        )
    return folder


def reopen(name: str) -> tuple[Experiment, Path | None]:
    """Opens an experiment by its ID below results/, or by the path of its folder; returns it and its inventory.

    :raises BadInputError: if there is none, or it cannot be continued
    """
    folder = find(name)
    about = experiment_folder.read(folder)
    for key in ("scenario", "inventory"):
        if key not in about:
            raise BadInputError(f"{folder}/{experiment_folder.FACTS}: {key} is missing, so it cannot be resumed")
    # Sizes such as 4*ram stay those of then.
    hosts = _hosts(folder, about["hosts"]) if about.get("hosts") else None
    inventory = Path(about["inventory"]) if about["inventory"] else None
    if inventory is not None and not inventory.exists():
        raise BadInputError(f"{name} was measured with the inventory {inventory}, which is not there any more")
    # An inventory may be a program, and this folder may come from somebody else.
    if inventory is not None and inventory.resolve().is_relative_to(folder.resolve()):
        raise BadInputError(f"{name} names an inventory inside its own folder, {inventory}; it is not used")
    file = folder / "scenario.properties"
    chosen = scenario.load(file, name=about["scenario"], hosts=hosts, caches=sizing.caches(inventory))
    return Experiment(folder, chosen), inventory


def _hosts(folder: Path, stated: dict[str, Any]) -> Hosts:
    types = {"count": int, "memory": int | None, "disk": int | None, "clients": bool, "where": str}
    for key, value in stated.items():
        if key not in types or not isinstance(value, types[key]):
            raise BadInputError(f"{folder}/{experiment_folder.FACTS}: hosts: {key} cannot be {value!a:.60}")
    return Hosts(**stated)


def check_disk(folder: Path, needed: int, what: str) -> None:
    """Checks that a file system has room.

    :param folder: may not exist yet
    :param needed: bytes
    :raises BadInputError: naming the folder, what is there and what is needed
    """
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BadInputError(
            f"no room for {what}: {folder} has {free / 10**9:.1f} GB free and about {needed / 10**9:.1f} GB are needed;"
            " make room, or choose fewer or smaller records"
        )


@contextmanager
def only_one() -> Iterator[Callable[[Path], None]]:
    """Holds this checkout's lock: two experiments at once would measure each other.

    What it gives is to be told the experiment's folder, for everybody else who wants to know what is being measured.

    :raises BadInputError: naming the process that has it
    """
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / experiment_folder.LOCK).open("a+", encoding="utf-8", errors="surrogateescape") as lock:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise BadInputError(
                f"another experiment of this checkout is running (process {lock.readline().strip()}); wait for its end"
            ) from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()

        def measuring(folder: Path) -> None:
            lock.write(f"{folder.resolve()}\n")
            lock.flush()

        yield measuring


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Writes a JSON file whole or not at all, also when the power goes."""
    folders.write(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is none.

    :raises BadInputError: if there is something else in it
    """
    try:
        return json_values.mapping(json_values.load(file))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadInputError(f"{file}: cannot be read as JSON: {error}") from error
