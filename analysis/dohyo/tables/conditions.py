"""Shows conditions as text: those that all systems share in one line, and different ones side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dohyo.evidence.accounting import together
from dohyo.figures import UNKNOWN
from dohyo.summary.conditions import CONDITIONS, Conditions, shown
from dohyo.summary.results import Trial


@dataclass(frozen=True)
class ConditionText:
    """The text of a condition of a system.

    :ivar fields: fields of ``Conditions`` that the text shows
    """

    label: str
    value: str
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.label} {self.value}"


# Maximum number of values that a condition lists; with more, only the first and the last are shown.
_MOST_VALUES = 3


def readable(trials: Sequence[Trial]) -> list[ConditionText]:
    """Returns the known conditions of a system, in the order of the tables.

    :param trials: the system's trials, one at each point of the matrix
    """
    texts: dict[str, list[ConditionText]] = {}
    # Add up the accounts: with many points, only the first and the last value appear, which could hide a loss.
    accounts = together(trial.accounting for trial in trials)
    for trial in trials:
        system = ConditionText("system", " ".join(filter(None, (trial.title, trial.conditions.version))))
        accounted = [ConditionText("accounting", str(accounts), ("accounting",))] if accounts else []
        for condition in (system, *accounted, *_known(trial.conditions), *_phases(trial)):
            texts.setdefault(condition.label, []).append(condition)
    return [ConditionText(label, _values(group), group[0].fields) for label, group in texts.items()]


def _values(conditions: Sequence[ConditionText]) -> str:
    values = list(dict.fromkeys(condition.value for condition in conditions))
    return " / ".join(values) if len(values) <= _MOST_VALUES else f"{values[0]} … {values[-1]}"


def _phases(trial: Trial) -> Iterator[ConditionText]:
    """Yields a text for each phase, with the conditions that differ between phases."""
    nothing = Conditions()
    for phase, differing in trial.by_phase.items():
        # A condition's text may combine several fields, and some of them may be equal.
        groups = [entry.group for entry in CONDITIONS.values() if entry.label and set(entry.group) & differing.keys()]
        beside = {name: getattr(trial.conditions, name) for group in groups for name in group}
        texts = _known(replace(nothing, **{**beside, **differing}))
        yield ConditionText(f"phase {phase}", ", ".join(map(str, texts)), tuple(differing))


def _known(conditions: Conditions) -> list[ConditionText]:
    return [ConditionText(condition.label, text, condition.group) for condition, text in shown(conditions)]


def common(systems: Sequence[Sequence[Trial]]) -> list[ConditionText]:
    """Returns the conditions that all systems share. Each item of `systems` contains the trials of one system."""
    first, *rest = map(readable, systems)
    return [condition for condition in first if all(condition in texts for texts in rest)]


def different(systems: Sequence[Sequence[Trial]]) -> list[list[ConditionText]]:
    """Returns the conditions that differ: for each condition, a list with one entry per system."""
    same = common(systems)
    rows: dict[str, list[ConditionText]] = {}
    for position, trials in enumerate(systems):
        for condition in readable(trials):
            if condition not in same:
                unknown = ConditionText(condition.label, UNKNOWN, condition.fields)
                rows.setdefault(condition.label, [unknown] * len(systems))[position] = condition
    return list(rows.values())
