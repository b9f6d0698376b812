"""An experiment's folder as a whole: whether its evidence can be read, and whether it is being measured right now."""

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
# In the folder of results: locked while an experiment is carried out. Two lines: the process, the experiment's folder.
LOCK = ".lock"
R = TypeVar("R", bound=Struct)


def read(experiment: Path) -> ExperimentFacts:
    """Checks the folder of an experiment, which may come from anybody, and returns the contents of experiment.json,
    which may be missing.

    :raises BadInputError: for a link or a special file in it, for files that Dohyo cannot have written, and for the
    evidence of a later version
    """
    folders.check(experiment)
    for state in sorted((experiment / "raw").glob("*/state.json")):
        strictly(state, TrialState)
    facts = strictly(experiment / FACTS, ExperimentFacts)
    if facts.format > FORMAT:
        raise BadInputError(
            f"{experiment / FACTS}: format is {facts.format}, of a later version of dohyo; this one reads formats up to"
            f" {FORMAT}; take the newer one"
        )
    return facts


def running(experiment: Path) -> int | None:
    """The process that is measuring the experiment right now; None also for one that was killed."""
    for results in dict.fromkeys((experiment.resolve().parent, RESULTS)):
        try:
            # Without waiting for the other end of what is no file.
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
    """The content of one of our files, with defaults if it is missing.

    :raises BadInputError: for anything that Dohyo cannot have written
    """

    def broken(what: str) -> NoReturn:
        raise BadInputError(f"{path}: {what}; put back the file as dohyo wrote it, or leave out this experiment")

    try:
        return records.decoded(json_values.load(path), record, broken)
    except FileNotFoundError:
        return record()
    except ValueError as error:
        broken(f"cannot be read as JSON: {error}")
