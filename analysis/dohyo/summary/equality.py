"""Checks that the conditions of an experiment's trials are equal, so that comparing them is fair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from dohyo.scenario.setup import NOT_KNOWN
from dohyo.summary.comparison import at_points
from dohyo.summary.conditions import CONDITIONS, STATED
from dohyo.summary.results import Trial


def unequal(trials: Sequence[Trial]) -> dict[str, dict[str, str]]:
    """Returns the conditions that are unequal or unknown in trials that ran: condition → trial → value.

    Only trials at the same point of the matrix are compared: those that agree in all shared dimensions.
    """
    result: dict[str, dict[str, str]] = {}
    for name, group in differing(trials):
        if not is_exceeded(name, group):
            result.setdefault(name, {}).update({trial.name: stated(trial, name) for trial in group})
    return result


def differing(trials: Sequence[Trial]) -> Iterator[tuple[str, list[Trial]]]:
    """Yields each condition that differs between the trials at a point, together with these trials."""
    # Leave out trials that only loaded: a load before the runs may be repeated and does not affect the runs.
    points = at_points(trials, attrgetter("measured_rows"))
    for name in (name for name, condition in CONDITIONS.items() if condition.equal == "systems"):
        for at_point in points:
            compared = [trial for trial in at_point if _is_compared(trial, name)]
            if len({stated(trial, name) for trial in compared}) > 1:
                yield name, compared


def is_exceeded(name: str, differing: Sequence[Trial]) -> bool:
    """Returns whether trials differ only because some systems cannot be less strict, which gives them no advantage."""
    return len({trial.exceeded.get(name) or stated(trial, name) for trial in differing}) == 1


def _is_compared(trial: Trial, name: str) -> bool:
    """Returns whether this condition of the trial is compared with the same condition of other trials."""
    conditions = trial.conditions
    # Reads from a primary are strongly consistent without a read quorum.
    if name == "read_acks" and conditions.consistency in ("strong", NOT_KNOWN) and conditions.read_acks == "one":
        return False
    # Some attached servers do not state this condition. Their deviations report that, so it is not called unequal.
    value = getattr(conditions, name)
    return value != NOT_KNOWN and not (value is None and name in STATED and conditions.attached)


def stated(trial: Trial, name: str) -> str:
    """Returns a condition as text, with the value of each phase if the phases differ."""
    value = getattr(trial.conditions, name)
    phases = [
        f"{phase} {of_phase[name]}" for phase, of_phase in trial.by_phase.items() if of_phase.get(name) is not None
    ]
    return ", ".join(phases) if value is None and phases else "unknown" if value is None else str(value)
