"""Implements `dohyo compare A B`: compares two experiments, with an exit code for use in CI."""

from __future__ import annotations

import sys
from typing import Literal

from dohyo.bad_input import BadInputError
from dohyo.console import Console
from dohyo.evidence import experiment_folder
from dohyo.running import experiment
from dohyo.summary import regression
from dohyo.summary.summary import summarise
from dohyo.tables import changes_table
from dohyo.terminal import printable, warn

Format = Literal["table", "json"]


def compare(before: str, after: str, margin: float, fmt: Format, *, force: bool = False) -> int:
    """Prints the changes from one experiment to the other, after summarising both again from their evidence.

    :param before: ID below results/, or the experiment's folder
    :param after: ID or folder of the other experiment
    :param margin: share of a value up to which a change does not count
    :param force: whether to compare despite differences in conditions that must be equal
    :returns: the exit code, as in docs/method.md#two-experiments
    :raises BadInputError: if a folder is not an experiment, or if the experiments have nothing in common
    """
    folders = [experiment.find(name) for name in (before, after)]
    for folder in folders:
        experiment_folder.read(folder)
    summaries = [summarise(folder) for folder in folders]
    for warning in (warning for summary in summaries for warning in summary.warnings):
        warn(warning)
    comparison = regression.compare(summaries[0], summaries[1], margin, force=force)
    results = [*comparison.changes, *comparison.findings, *comparison.faults, *comparison.problems]
    if comparison.comparable and not results:
        raise BadInputError(f"nothing to compare: {'; '.join(comparison.single) or 'there are no trials'}")
    if fmt == "json":
        sys.stdout.write(printable(comparison.json()))
    else:
        changes_table.render(comparison, Console())
    return comparison.exit_code
