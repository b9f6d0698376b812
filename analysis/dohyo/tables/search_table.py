"""Builds the tables of the searches for the highest rate, which follow the table of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dohyo.figures import UNKNOWN, milliseconds, rate
from dohyo.operations import order
from dohyo.scenario import slo
from dohyo.summary.probes import Probe, Search, intended
from dohyo.summary.results import Trial
from dohyo.tables.grid import Grid

# Operation and percentile.
_Column = tuple[str, str]


def block(trials: Sequence[Trial], label: Callable[[Trial], str]) -> tuple[list[Grid], list[str]]:
    """Returns tables of the maxima and of all probes, and a sentence for each system; empty without a search.

    Trials that are not valid are left out.
    """
    searches = [(label(trial), trial.search) for trial in trials if trial.search and trial.status == "ok"]
    if not searches:
        return [], []
    columns = _columns([search for _, search in searches])
    heads = [f"{operation} {percentile}" for operation, percentile in columns]
    maxima = [
        [
            system,
            search.slo,
            rate(search.closed_loop),
            _found(search),
            _share(search),
            *_cells(search.best, columns),
            str(len(search.probes)),
        ]
        for system, search in searches
    ]
    probes = [
        [system, str(probe.number), rate(probe.target), rate(probe.achieved), *_cells(probe, columns), _verdict(probe)]
        for system, search in searches
        for probe in search.probes
    ]
    grids = [
        Grid(
            "Maximum under SLO (latencies from the intended start)",
            ["system", "bound", "closed loop op/s", "under SLO op/s", "share", *heads, "probes"],
            maxima,
        ),
        Grid("Probes", ["system", "probe", "target op/s", "achieved op/s", *heads, "held"], probes),
    ]
    return grids, [f"{system}: {search.conclusion}" for system, search in searches]


def _columns(searches: Sequence[Search]) -> list[_Column]:
    """Returns columns for the bounded percentiles, then for the medians: narrow terminals drop the last columns."""
    percentiles = {bound.percentile for search in searches for bound in slo.bounds(search.slo)}
    operations = {name for search in searches for probe in search.probes for name in intended(probe.rows)}
    bounded = [percentile for percentile in slo.PERCENTILES if percentile in percentiles]
    return [
        (operation, percentile)
        for shown in (bounded, [] if "p50" in percentiles else ["p50"])
        for operation in sorted(operations, key=order)
        for percentile in shown
    ]


def _cells(probe: Probe | None, columns: Sequence[_Column]) -> list[str]:
    latencies = intended(probe.rows) if probe else {}
    return [milliseconds(latencies.get(operation, {}).get(percentile)) for operation, percentile in columns]


def _found(search: Search) -> str:
    """Returns the maximum, or the rates between which it lies."""
    if search.maximum is not None or not (search.held or search.unmet):
        return rate(search.maximum)
    if search.held and search.unmet:
        return f"{rate(search.held)} to {rate(search.unmet)}"
    return f"\N{GREATER-THAN OR EQUAL TO} {rate(search.held)}" if search.held else f"< {rate(search.unmet)}"


def _share(search: Search) -> str:
    return f"{search.maximum / search.closed_loop:.0%}" if search.maximum and search.closed_loop else UNKNOWN


def _verdict(probe: Probe) -> str:
    if probe.held is None:
        return "invalid"  # the conclusion of the search says why
    return "yes" if probe.held else f"no: {probe.reason}"
