"""Reads the requested settings of a trial's clients and servers from trial.json. Two experiments must share them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dohyo.evidence.json_values import mapping, number
from dohyo.scenario import properties
from dohyo.scenario.phases import EQUAL, LOAD, PROBE, RUN
from dohyo.scenario.properties import plain

# Settings that do not affect the numbers or are compared elsewhere. Trials are paired by system and point, the
# scale is a condition, and rounds are samples. Two experiments must share all other settings, including new ones.
_ASIDE = {
    "system", "name", "dir", "point", "round", "rounds", "strict", "keep", "canary", "scale", "full",
    "properties", "phases", "load", "threads", "warmup", "duration", "conditions", "search", "reuse", "max_other_cpu",
    "precondition",
}  # fmt: skip
# Settings that a load does not have: it has no duration, and is measured from its first record.
_NOT_OF_A_LOAD = {"warmup", "duration"}
# Settings that repeat a field of the phase: its name, `threads` and `warmup`. The field of the phase is used.
_TOLD_TWICE = {"name", "threadcount", "warmuptime"}


def servers(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns the system's variables that trial.json sets."""
    return {key: plain(value) for key, value in settings.items() if not key.startswith("trial_")}


def workload(settings: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Returns the properties in trial.json for each phase, with defaults if they are missing; empty without trial.json.

    The load and the search count as phases. The key "" contains what applies to the whole trial.
    """
    of_trial = {key.removeprefix("trial_"): value for key, value in settings.items() if key.startswith("trial_")}
    if not of_trial:
        return {}
    stated = of_trial.get("phases")
    runs = [mapping(entry) for entry in stated] if isinstance(stated, list) else [{"name": RUN}]
    by_phase = {str(run.get("name")): _phase(of_trial, run) for run in runs}
    load = _phase(of_trial, mapping(of_trial.get("load")))
    by_phase[LOAD] = {key: value for key, value in load.items() if key not in _NOT_OF_A_LOAD}
    if search := mapping(of_trial.get("search")):
        by_phase[PROBE] = {key: plain(value) for key, value in search.items()}
    as_a_whole = {key: value for key, value in of_trial.items() if key not in _ASIDE}
    as_a_whole |= mapping(of_trial.get("conditions"))
    # Leave out `equal`: some rounds lack it, and `equal_share` shows that it was requested.
    names = (name for name in by_phase if name not in (LOAD, PROBE, EQUAL))
    as_a_whole |= {"phases": ", ".join(names), "reuse": bool(of_trial.get("reuse"))}
    # Number of records that are updated before the runs, as preconditioning.
    before_runs = mapping(mapping(of_trial.get("precondition")).get("properties"))
    operations, batch = (number(before_runs.get(key)) for key in ("operationcount", "batchsize"))
    as_a_whole["preconditioning"] = round((operations or 0) * (batch or 1))
    by_phase[""] = {key: plain(value) for key, value in as_a_whole.items()}
    return by_phase


def _phase(of_trial: Mapping[str, Any], phase: Mapping[str, Any]) -> dict[str, str]:
    """Returns the clients' settings in a phase: the phase's own settings override the trial's."""
    of_phase = {name: of_trial.get(name) for name in ("properties", "threads", "warmup", "duration")} | dict(phase)
    requested = mapping(of_phase.pop("properties"))
    entries = {key: entry for key, entry in properties.known().items() if entry.reader not in ("dohyo", "stock")}
    values = {key: entry.default for key, entry in entries.items()} | requested | of_phase
    aside = {key for key, entry in entries.items() if entry.output} | _TOLD_TWICE
    return {key: plain(value) for key, value in values.items() if value is not None and key not in aside}
