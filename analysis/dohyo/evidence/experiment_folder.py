"""An experiment's folder as a whole: whether its evidence can be read, and whether it is being measured right now."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dohyo import folders
from dohyo.bad_input import BadInputError
from dohyo.evidence import json_values
from dohyo.places import RESULTS

FACTS = "experiment.json"
# In the folder of results: locked while an experiment is carried out. Two lines: the process, the experiment's folder.
LOCK = ".lock"
# What is read of them, and its JSON type; anything of it may be missing.
_OF_FACTS = {
    "id": str, "scenario": str, "title": str, "status": str, "started": str, "inventory": str, "systems": list,
    "plan": list, "trials": list, "matrix": dict, "hosts": dict, "host": dict, "versions": dict, "named": bool,
    "equal_targets": dict,
}  # fmt: skip
_OF_STATE = {"status": str, "reason": str, "started": str, "manifest": str}
_WORDS = {str: "text", list: "a list", dict: "an object", bool: "true or false"}


def read(experiment: Path) -> dict[str, Any]:
    """Checks the folder of an experiment that may come from anybody, and returns the contents of experiment.json,
    which may be missing.

    :raises BadInputError: for a link or a special file in it, and for files of ours that we have not written so
    """
    folders.check(experiment)
    for state in sorted((experiment / "raw").glob("*/state.json")):
        _object(state, _OF_STATE)
    facts = _object(experiment / FACTS, _OF_FACTS)
    for key in ("systems", "plan"):
        if not all(isinstance(name, str) and name for name in facts.get(key) or ()):
            raise _broken(experiment / FACTS, f"{key} must be a list of names")
    return facts


def running(experiment: Path) -> int | None:
    """The process that is measuring the experiment right now; None also for one that ended without a word."""
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


def _object(path: Path, types: Mapping[str, type]) -> dict[str, Any]:
    try:
        content = json_values.load(path)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise _broken(path, f"cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise _broken(path, "must be an object")
    for key, kind in types.items():
        if (value := content.get(key)) is not None and type(value) is not kind:
            raise _broken(path, f"{key} is {value!a:.60}; it must be {_WORDS[kind]}")
    return content


def _broken(path: Path, what: str) -> BadInputError:
    return BadInputError(f"{path}: {what}; put back the file as dohyo wrote it, or leave out this experiment")
