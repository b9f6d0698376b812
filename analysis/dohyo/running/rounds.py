"""Whether another round is measured: until the rates are exact enough, as far as the scenario's limits allow."""

from __future__ import annotations

from dohyo.figures import percent, point_name
from dohyo.planning.plan import Trial
from dohyo.running.experiment import Experiment
from dohyo.scenario.scenario import Scenario
from dohyo.summary.precision import words
from dohyo.summary.results import Ended, Summary


def further(experiment: Experiment, summary: Summary, elapsed: float = 0.0) -> list[Trial]:
    """The trials of the round that comes next. Without one, why is written down in experiment.json, so that --resume
    does not ask again.

    Only what has a valid round gets another one, and no system that failed in one: it would cost the others their time.

    :param summary: of all planned rounds
    :param elapsed: seconds since the first trial
    """
    good = {(trial.system, point_name(trial.point)) for trial in summary.trials if trial.status == "ok"}
    good -= {(trial.system, point_name(trial.point)) for trial in summary.trials if trial.system_failed}
    if not good:
        return []
    number = 1 + max(trial.round for trial in experiment.trials)
    following = [
        trial
        for trial in experiment.possible
        if trial.round == number and (trial.system, point_name(trial.scenario.point)) in good
    ]
    ended: Ended | None = None
    if summary.precision is None or not summary.precision.short:
        ended = "precision"
    elif not following:
        ended = "rounds.max"
    elif elapsed + _expected(experiment, following) > experiment.scenario.budget:
        ended = "budget"
    if ended:
        experiment.update(rounds_ended=ended)
        return []
    return following


def _expected(experiment: Experiment, following: list[Trial]) -> float:
    """Seconds that trials will take: each what it took at the most until now."""
    longest: dict[tuple[str, str], float] = {}
    for trial in experiment.trials:
        place = (trial.system, point_name(trial.scenario.point))
        longest[place] = max(longest.get(place, 0.0), experiment.seconds(trial) or 0.0)
    return sum(longest[trial.system, point_name(trial.scenario.point)] for trial in following)


def heading(scenario: Scenario, number: int, summary: Summary) -> str:
    """Which round is over, and how far it is to the end, such as "after round 1 of 3"."""
    least, most = scenario.number("rounds"), scenario.most_rounds
    if scenario.precision is None:
        return f"after round {number} of {most}"
    said = f"after round {number} of {least} to {most}, until {percent(scenario.precision)}"
    if summary.precision is None or number < least:
        return said
    return f"{said}: {'; '.join(words(short, scenario.precision) for short in summary.precision.short)}"
