"""Gathers the data for the report of a folder with logs of other YCSB clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dohyo.bad_input import BadInputError
from dohyo.foreign.collection import UNKNOWN_CONDITIONS, ForeignRun, collect
from dohyo.foreign.tabulate import name_passed_over
from dohyo.report.chart_data import curves
from dohyo.report.charts import charts
from dohyo.report.material import Material
from dohyo.report.page import Report
from dohyo.scenario.phases import LOAD


def gather(folder: Path) -> Report:
    """Reads the logs in a folder, and returns their data for the page.

    :raises BadInputError: if the folder contains no YCSB logs
    """
    collected = collect([folder])
    name_passed_over(collected.passed_over)
    summary = collected.summary
    if not summary.trials:
        warnings = "".join(f"; {warning}" for warning in summary.warnings)
        raise BadInputError(f"{folder} is not an experiment (it has no folder raw) and contains no YCSB log{warnings}")
    trials = {}
    for trial in summary.trials:
        missing = _missing([run for run in collected.runs if run.trial.name == trial.name and not run.latencies])
        trials[trial.name] = replace(trial, notes=[*trial.notes, *missing])
    material = Material(replace(summary, trials=list(trials.values())))
    for run in collected.runs:
        trial = trials[run.trial.name]
        material.runs.append(replace(run, trial=trial))
        if trial.status != "invalid":
            material.curves.extend(curves(trial, run.phase, run.latencies))
    return Report(folder, material, charts(material), {}, collected.folders, UNKNOWN_CONDITIONS)


def _missing(runs: Sequence[ForeignRun]) -> list[str]:
    """Returns a note for each run on its missing charts. The note names the client's options that provide the data."""
    notes = []
    for run in runs:
        which = "load: " if run.phase == LOAD else ""
        if run.slots:
            available = f"throughput only every {run.slots[0].seconds:g} s, from status lines"
        else:
            available = "no throughput over time, which needs status lines (-s)"
        notes.append(f"{which}no percentile curve and no heat map, which need hdrhistogram.fileoutput=true")
        notes.append(f"{which}{available}")
    return notes
