"""`dohyo compare A B`: two experiments side by side, with an exit code that can guard a CI."""

from __future__ import annotations

import sys
from typing import Literal

from dohyo.bad_input import BadInputError
from dohyo.evidence import experiment_folder
from dohyo.running import experiment
from dohyo.summary import regression
from dohyo.summary.summary import summarise
from dohyo.tables import changes_table
from dohyo.terminal import Console, printable, warn

Format = Literal["table", "json"]


def compare(before: str, after: str, margin: float, fmt: Format, *, force: bool = False) -> int:
    """Prints what has changed from one experiment to the other; both are summarised anew from their evidence.

    :param before: ID below results/, or the experiment's folder; `after` likewise
    :param margin: share of a figure that a change must be beyond to be one
    :param force: compare different scenarios, too
    :returns: the exit code: 0, 1: something has no valid numbers, 3: a regression
    :raises BadInputError: for an experiment that is none, different scenarios, or nothing that is in both
    """
    folders = [experiment.find(name) for name in (before, after)]
    scenarios = [experiment_folder.read(folder).get("scenario") for folder in folders]
    if scenarios[0] != scenarios[1] and not force:
        raise BadInputError(
            f"{before} is of the scenario {scenarios[0]}, {after} of {scenarios[1]}; --force compares them all the same"
        )
    summaries = [summarise(folder) for folder in folders]
    for warning in (warning for summary in summaries for warning in summary.warnings):
        warn(warning)
    found = regression.compare(summaries[0], summaries[1], margin)
    if not found.changes and not found.problems:
        raise BadInputError(f"nothing to compare: {'; '.join(found.single) or 'there are no trials'}")
    if fmt == "json":
        sys.stdout.write(printable(found.json()))
    else:
        changes_table.render(found, Console())
    return found.exit_code
