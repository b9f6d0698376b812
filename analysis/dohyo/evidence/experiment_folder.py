"""Checks an experiment's folder: whether its evidence can be read, and whether the experiment is running."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path
from typing import NoReturn, TypeVar

from msgspec import Struct

from dohyo import folders
from dohyo.bad_input import BadInputError
from dohyo.evidence import json_values, records
from dohyo.evidence.records import FORMAT, ExperimentFacts, TrialState
from dohyo.places import RESULTS

FACTS = "experiment.json"
# File in the results folder that is locked while an experiment runs. It contains the pid and the experiment's folder.
LOCK = ".lock"
R = TypeVar("R", bound=Struct)


def read(experiment: Path) -> ExperimentFacts:
    """Checks the folder of an experiment, which may be untrusted, and reads its experiment.json.

    :returns: its content, or default values if it is missing
    :raises BadInputError: for a link, a special file, or a file that this version of Dohyo cannot have written
    """
    folders.check(experiment)
    for state in sorted((experiment / "raw").glob("*/state.json")):
        strictly(state, TrialState)
    facts = strictly(experiment / FACTS, ExperimentFacts)
    if facts.format > FORMAT:
        needed = f"format {facts.format} needs a later version of dohyo"
        raise BadInputError(f"{experiment / FACTS}: {needed}; this one reads formats up to {FORMAT}")
    return facts


def running(experiment: Path) -> int | None:
    """Returns the pid of the process that is running the experiment, or None if it is not running."""
    for results in dict.fromkeys((experiment.resolve().parent, RESULTS)):
        try:
            # With O_NONBLOCK, opening a named pipe does not wait for its other end.
            lock = os.open(results / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            os.close(lock)
            continue
        with os.fdopen(lock, encoding="utf-8", errors="surrogateescape") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                process, _, folder = file.read(10_000).strip().partition("\n")
                if folder == str(experiment.resolve()) and process.isdecimal() and Path("/proc", process).exists():
                    return int(process)
    return None


def strictly(path: Path, record: type[R]) -> R:
    """Reads a JSON file that Dohyo wrote. Returns default values if the file is missing.

    :raises BadInputError: if Dohyo cannot have written the file
    """

    def broken(problem: str) -> NoReturn:
        raise BadInputError(f"{path}: {problem}; restore the file, or leave out this experiment")

    try:
        return records.decoded(json_values.load(path), record, broken)
    except FileNotFoundError:
        return record()
    except ValueError as error:
        broken(f"cannot be read as JSON: {error}")
