"""Whether the conditions of an experiment's trials are equal, so that comparing them is fair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dohyo.scenario.setup import NOT_KNOWN
from dohyo.summary.comparison import at_points
from dohyo.summary.conditions import CONDITIONS, STATED
from dohyo.summary.results import Trial


def unequal(trials: Sequence[Trial]) -> dict[str, dict[str, str]]:
    """The conditions that are not the same (or not known) for all trials that ran: condition → trial → value.

    Trials are compared within a point of the matrix, that is where they agree in the dimensions that all of them have.
    """
    result: dict[str, dict[str, str]] = {}
    for name, of in differing(trials):
        if not is_exceeded(name, of):
            result.setdefault(name, {}).update({trial.name: stated(trial, name) for trial in of})
    return result


def differing(trials: Sequence[Trial]) -> Iterator[tuple[str, list[Trial]]]:
    """Each condition that is not the same for the trials at a point, with these."""
    # A load before runs may be sent again, and says nothing of the runs.
    points = at_points([trial for trial in trials if any(not trial.is_aside(row) for row in trial.rows)])
    for name in (name for name, condition in CONDITIONS.items() if condition.equal == "systems"):
        for at_point in points:
            compared = [trial for trial in at_point if _is_compared(trial, name)]
            if len({stated(trial, name) for trial in compared}) > 1:
                yield name, compared


def is_exceeded(name: str, differing: Sequence[Trial]) -> bool:
    """Whether a condition would be equal if those that give more than was asked for, and cannot give less, gave that.

    These are then at no advantage.
    """
    return len({trial.exceeded.get(name) or stated(trial, name) for trial in differing}) == 1


def _is_compared(trial: Trial, name: str) -> bool:
    """Whether a condition of a trial can be unequal to that of others."""
    of = trial.conditions
    # What reads from a primary needs no quorum of reads to be strong.
    if name == "read_acks" and of.consistency in ("strong", NOT_KNOWN) and of.read_acks == "one":
        return False
    # Of servers that are not ours nobody can tell. Their deviations say so; that it differs is not known.
    value = getattr(of, name)
    return value != NOT_KNOWN and not (value is None and name in STATED and of.attached)


def stated(trial: Trial, name: str) -> str:
    """A condition in words, phase by phase where it differs from phase to phase."""
    value = getattr(trial.conditions, name)
    phases = [f"{phase} {own[name]}" for phase, own in trial.by_phase.items() if own.get(name) is not None]
    return ", ".join(phases) if value is None and phases else "unknown" if value is None else str(value)
