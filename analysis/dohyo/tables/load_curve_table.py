"""Rows against seconds as a table: one line for each load that was what was to be measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dohyo.evidence.load_curve import TENTHS
from dohyo.figures import formatted, whole
from dohyo.summary.results import Trial
from dohyo.tables.grid import Grid


def grids(trials: Sequence[Trial], label: Callable[[Trial], str]) -> list[Grid]:
    """A table with a line for each measured load; none where loads only come before what is measured."""
    found = [(label(trial), trial.load) for trial in trials if trial.load_is_measured and trial.load]
    if not found:
        return []
    title = (
        "Rows against seconds: seconds elapsed at each tenth of the rows; last/first: the last tenth's time by the"
        " first one's, 1.0 for a straight line"
    )
    # Where there is no room, columns go from the last but one on.
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
