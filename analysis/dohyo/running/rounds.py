"""Decides whether to measure another round: until the ranking is decided or the rates are precise enough."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dohyo.figures import percent, point_name
from dohyo.planning.plan import PlannedTrial
from dohyo.running import interleaving
from dohyo.running.experiment import Experiment
from dohyo.scenario import phases
from dohyo.scenario.scenario import Scenario
from dohyo.summary import knee, validity
from dohyo.summary.comparison import slowest_rates
from dohyo.summary.precision import is_reached, open_words, undecided, words
from dohyo.summary.results import Ended, Summary, Trial
from dohyo.summary.summary import summarise


def further(experiment: Experiment, summary: Summary, elapsed: float = 0.0) -> list[PlannedTrial]:
    """Returns the trials of the next round. If the goal or a limit ends the rounds, records which one in
    experiment.json, so that --resume does not decide again.

    A system at a point takes part if it has a valid round and no failed round: failing again would cost time.

    :param summary: summary of all planned rounds
    :param elapsed: seconds since the first trial
    """
    good = {_place(trial) for trial in summary.trials if trial.status == "ok"}
    good -= {_place(trial) for trial in summary.trials if trial.system_failed}
    if not good:
        return []
    number = 1 + max(trial.round for trial in experiment.trials)
    following = [trial for trial in experiment.possible if trial.round == number and _place(trial) in good]
    ended: Ended | None = None
    if is_reached(summary):
        ended = "decided" if experiment.scenario.precision is None else "precision"
    elif not following:
        ended = "rounds.max"
    elif elapsed + _expected(experiment, following) > experiment.scenario.budget:
        ended = "budget"
    if ended:
        experiment.update(rounds_ended=ended)
        return []
    return following


def common_cause(trials: Sequence[Trial], *, observed: bool) -> str | None:
    """Returns the reason why all trials are invalid, or None if one is valid or the reasons differ.

    Reasons that differ only in their numbers count as the same; the result contains the first trial's numbers.

    :param observed: whether the user was warned of other processes before the start; if so, they are no such reason,
        because they may end
    """
    reasons = [re.sub(r" \(and [0-9]+ more\)$", "", trial.reason or "") for trial in trials]
    if any(trial.status != "invalid" for trial in trials) or len({re.sub("[0-9]", "", text) for text in reasons}) != 1:
        return None
    # Only a reason that names a run counts: without one, the trial may have no evidence.
    names_run = re.match("[a-z]+(-[0-9]+)?(:| on )", reasons[0])
    return reasons[0] if names_run and not (observed and validity.may_pass(reasons[0])) else None


def fix_equal_targets(experiment: Experiment, trial: PlannedTrial) -> None:
    """Fixes the rate of the phase `equal` as soon as it is known, and records it in experiment.json. At each point it
    is a share of the rate of the slowest system with valid numbers.

    :param trial: the next trial; only rounds before it count
    """
    scenario = experiment.scenario
    if phases.EQUAL not in scenario.phases or trial.round == 1 or trial.scenario.equal_target is not None:
        return
    targets = experiment.equal_targets
    if point_name(trial.scenario.point) in targets:
        return
    before = {earlier.name for earlier in experiment.trials if earlier.round < trial.round}
    shares = {
        point_name(planned.scenario.point): planned.scenario.share_of_equal
        for planned in experiment.trials
        if planned.scenario.equal_target is None
    }
    summary = summarise(experiment.folder, only=before)
    # Wait until invalid trials have been repeated: without them, the rate could be too high for their systems.
    valid = {_place(result) for result in summary.trials if result.status == "ok"}
    again = [result for result in summary.trials if result.status in ("invalid", "failed") and not result.system_failed]
    disturbed = set(map(_place, again))
    waiting = {point for _, point in disturbed - valid if trial.round < scenario.number("rounds")}
    # Leave out trials whose evidence is lost: they have no point, and would put all points into one group.
    peers = [peer for peer in summary.compared if point_name(peer.point) in shares]
    slowest = slowest_rates(peers, phases.MAX, waiting)
    fixed = {point: knee.rounded(shares[point] * rate) for point, rate in slowest.items()}
    experiment.update(equal_targets=fixed | targets)


def _expected(experiment: Experiment, following: list[PlannedTrial]) -> float:
    """Returns the expected seconds of the trials: for each, the longest time so far of its system at its point. Trials
    that take turns last as long as the longest of them.
    """
    longest: dict[tuple[str, str], float] = {}
    for trial in experiment.trials:
        longest[_place(trial)] = max(longest.get(_place(trial), 0.0), experiment.seconds(trial) or 0.0)
    return sum(max(longest[_place(trial)] for trial in start) for start in interleaving.starts(following))


def _place(trial: Trial | PlannedTrial) -> tuple[str, str]:
    """Returns the system that a trial measures, and its point of the matrix."""
    point = trial.point if isinstance(trial, Trial) else trial.scenario.point
    return trial.system, point_name(point)


def heading(scenario: Scenario, number: int, summary: Summary) -> str:
    """Returns a heading with the progress of the experiment, such as "after round 1 of 3"."""
    least, most = scenario.number("rounds"), scenario.most_rounds
    if not scenario.adds_rounds:
        return f"after round {number} of {most}"
    precision = scenario.precision
    goal = "all neighbours are decided" if precision is None else percent(precision)
    title = f"after round {number} of {least} to {most}, until {goal}"
    if summary.precision is None or number < least:
        return title
    if precision is None:
        lacking = [open_words(pair, summary) for pair in undecided(summary)]
    else:
        lacking = [words(short, precision) for short in summary.precision.short]
    return f"{title}: {'; '.join(lacking)}"
