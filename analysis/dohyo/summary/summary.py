"""Computes the summary of an experiment from its evidence (`results/<id>/raw`).

A summary can always be recomputed from the evidence: `summarise` reads nothing else and writes nothing.
A trial has numbers only if all its clients report a valid run and their logs agree with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

from dohyo.evidence import canary, manifest, records
from dohyo.evidence.servers import Window
from dohyo.scenario import published
from dohyo.statistics import ALIKE
from dohyo.summary import differences, trial_evidence, validity
from dohyo.summary.comparison import at_points, comparisons, neighbours
from dohyo.summary.equality import unequal
from dohyo.summary.notes import notes_of
from dohyo.summary.phase import Phase
from dohyo.summary.precision import judged
from dohyo.summary.results import Ended, Summary, Trial
from dohyo.summary.rounds import Counted, Rounds
from dohyo.summary.trial_folder import TrialFolder


def summarise(
    experiment: Path,
    seen: Callable[[Trial, Sequence[Phase]], None] | None = None,
    *,
    only: Container[str] | None = None,
) -> Summary:
    """Summarises all trials of an experiment.

    Unfinished trials, and missing or broken files, lead to reasons and warnings instead of errors.

    :param experiment: the folder with `raw/<trial>/…` and perhaps `published/`
    :param seen: function that receives each trial with its load, runs and probes, before these are freed
    :param only: names of the trials to summarise; None for all
    :raises FileNotFoundError: if there is no `raw` folder
    """
    raw = experiment / "raw"
    warnings: list[str] = []
    folders = {folder.name: folder for folder in raw.iterdir() if folder.is_dir()} if raw.is_dir() else {}
    facts = _facts(experiment, folders, warnings)
    adds_rounds = facts.until_decided or bool(facts.precision)
    planned = facts.rounds if adds_rounds else None
    if not raw.is_dir() and not facts.plan:
        raise FileNotFoundError(f"{experiment} is not the folder of an experiment: it has no folder 'raw'")
    trials: list[Trial] = []
    # Rounds, and a trial's longest part of the duration of a round, for each system and point.
    rounds: dict[str, Rounds] = {}
    longest: dict[str, float] = {}
    # If one trial has several rounds, trials that state only one count as rounds, too.
    several = any(TrialFolder(folder, []).settings.rounds > 1 for folder in folders.values())
    # Properties of each trial that define its workload.
    workloads: dict[str, dict[str, str]] = {}
    runs: dict[str, str] = {}  # runs by the fingerprint of their logs
    windows: dict[str, Window] = {}  # measured windows of the trials, by run
    for name in sorted(name for name in {*folders, *facts.plan} if only is None or name in only):
        if name not in folders:
            lost = _lost(name, facts)
            trials.append(lost)
            warnings.append(f"{raw / name}: {lost.reason}")
            workloads[name] = {}
            if several:
                rounds.setdefault(lost.place, Rounds(planned)).add(lost, {})
            continue
        evidence = TrialFolder(folders[name], warnings)
        trial, measured = _trial(evidence, facts, runs, windows)
        if several:
            trial = replace(trial, round=evidence.settings.round or 1)
            rounds.setdefault(trial.place, Rounds(planned)).add(trial, measured)
        trials.append(trial)
        if seen is not None:
            seen(trial, [*evidence.phases, *evidence.probes])
        workloads[trial.name] = evidence.workload()
        if seconds := evidence.seconds():
            # Trials that take turns last equally long, at the same time.
            share = seconds / (trial.conditions.interleaved or 1)
            longest[trial.place] = max(longest.get(trial.place, 0.0), share)
    warnings += _mixed(trials, workloads)
    merged = [system_rounds.merged() for system_rounds in rounds.values()]
    summary = replace(
        _summary(experiment, facts, trials, merged, warnings), round_seconds=sum(longest.values()) or None
    )
    ended = cast(Ended, facts.rounds_ended) if facts.rounds_ended in get_args(Ended) else None
    return judged(summary, None if facts.until_decided else facts.precision, ended) if adds_rounds else summary


def _summary(
    experiment: Path, facts: records.ExperimentFacts, trials: list[Trial], merged: list[Trial], warnings: list[str]
) -> Summary:
    """Returns the summary of the trials, with their comparisons, notes and warnings."""
    reference = published.kept(experiment / "published", warnings.append)
    return Summary(
        name=experiment.resolve().name,
        trials=trials,
        merged=merged,
        comparisons=comparisons(merged or trials, trials),
        neighbours=neighbours(merged or trials, trials, facts.alike or ALIKE),
        alike=facts.alike or ALIKE,
        unequal=unequal(merged or trials),
        notes=notes_of(merged or trials, trials),
        warnings=warnings,
        canary=canary.compare({trial.name: trial.canary for trial in trials}),
        published=reference,
        differences=differences.of_experiment(reference, trials, facts),
    )


def joined(parts: Sequence[Summary]) -> Summary:
    """Returns a summary with the ranking of the trials so far, which were summarised one by one.

    :param parts: at least one
    """
    trials = [trial for part in parts for trial in part.trials]
    merged = [trial for part in parts for trial in part.merged]
    return Summary(parts[0].name, trials, merged, comparisons(merged or trials, trials))


def is_experiment(folder: Path) -> bool:
    """Returns whether a folder contains an experiment; a folder named raw may also contain logs of other clients."""
    names = ("state.json", "trial.json", "conditions.json", "client.json")
    return (folder / "experiment.json").is_file() or any(
        next((folder / "raw").glob(f"{below}{name}"), None) for name in names for below in ("*/", "*/*/*/")
    )


def read_trial(folder: Path) -> Trial:
    """Returns one trial from its folder in `raw/`; the trial may still be running."""
    return trial_evidence.read(TrialFolder(folder, []))[0]


def _facts(experiment: Path, folders: Mapping[str, Path], warnings: list[str]) -> records.ExperimentFacts:
    """Reads experiment.json, and warns if it is missing or if the scenario's file was changed."""
    facts = records.read(experiment / "experiment.json", records.ExperimentFacts, warnings.append)
    if facts == records.ExperimentFacts() and any(map(manifest.is_there, folders.values())):
        warnings.append(f"{experiment / 'experiment.json'}: is missing")
    stated, file = facts.scenario_sha256, experiment / "scenario.properties"
    if stated and manifest.checksum(file) != stated:
        warnings.append(f"{file}: {'was changed after the experiment began' if file.exists() else 'is missing'}")
    return facts


def _trial(
    evidence: TrialFolder, facts: records.ExperimentFacts, runs: dict[str, str], windows: dict[str, Window]
) -> tuple[Trial, Counted]:
    """Returns a trial with the runs and histograms of its rows.

    It has no numbers if it does not belong to the experiment or is a copy of another trial.
    """
    trial, measured = trial_evidence.read(evidence)
    copied = validity.copied(trial.name, evidence.phases, runs)
    overlapping = validity.overlapping(trial.name, evidence.runs, windows)
    why = next(validity.of_another_experiment(evidence, facts), None)
    if why is None and trial.status == "ok":
        why = copied or overlapping or next(validity.outside_the_experiment(evidence, facts), None)
    if not why:
        return trial, measured
    without_numbers = replace(
        trial, status="invalid", reason=why, rows=[], clients=[], nodes=[], search=None, faults=[], accounting=None
    )
    return without_numbers, {}


def _lost(name: str, experiment: records.ExperimentFacts) -> Trial:
    """Returns an invalid trial to replace a planned one that has no folder."""
    planned = next((planned for planned in experiment.trials if planned.name == name), records.PlannedFacts())
    system = planned.system or name
    point = {key: str(value) for key, value in planned.point.items()}
    return Trial(name, system, system, "invalid", "its evidence is missing", point, planned.round)


def _mixed(trials: Sequence[Trial], workloads: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Returns a warning for each trial whose workload differs from that of the first trial at its point."""
    warnings = []
    for first, *rest in at_points(trials, lambda trial: workloads[trial.name] and trial.rows):
        usual = workloads[first.name]
        for trial in rest:
            workload = workloads[trial.name]
            differs = [key for key in sorted({*usual, *workload}) if usual.get(key) != workload.get(key)]
            if differs:
                text = ", ".join(
                    f"{key} {workload.get(key, 'not given')} instead of {usual.get(key, 'not given')}"
                    for key in differs
                )
                warnings.append(f"raw/{trial.name} ran a different scenario than raw/{first.name}: {text}")
    return warnings
