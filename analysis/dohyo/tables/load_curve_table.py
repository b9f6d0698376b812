"""Table of the load's speed as rows were added, with one line for each measured load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dohyo.evidence.load_curve import TENTHS
from dohyo.figures import formatted, whole
from dohyo.summary.results import Trial
from dohyo.tables.grid import Grid


def grids(trials: Sequence[Trial], label: Callable[[Trial], str]) -> list[Grid]:
    """Returns a table with a line for each measured load; empty if the loads only prepare the runs."""
    found = [(label(trial), trial.load) for trial in trials if trial.load_is_measured and trial.load]
    if not found:
        return []
    title = (
        "Rows against seconds: seconds elapsed at each tenth of the rows; last/first: the last tenth's time by the"
        " first one's, 1.0 for a straight line"
    )
    # The order matters: a narrow terminal drops columns from the last but one backwards.
    heads = ["system", "rows", "last/first", *(f"{10 * tenth} %" for tenth in range(1, TENTHS + 1))]
    lines = [
        [
            name,
            whole(load.rows),
            formatted(load.slowdown, ".2f"),
            *(f"{at:,.1f}" for at in load.tenths),
        ]
        for name, load in found
    ]
    return [Grid(title, heads, lines)]
