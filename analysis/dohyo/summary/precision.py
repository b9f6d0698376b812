"""Decides whether enough rounds were measured: all rates are precise enough, or all neighbours are decided.

docs/method.md#rounds describes the rules.
"""

from __future__ import annotations

from dataclasses import replace

from dohyo import statistics
from dohyo.figures import about, counted, percent
from dohyo.scenario.phases import PROBE, RUN
from dohyo.summary.comparison import samples, searches_of
from dohyo.summary.ranking import deciding_neighbours, decisive
from dohyo.summary.results import Ended, Neighbours, Precision, Shortfall, Summary


def judged(summary: Summary, goal: float | None, ended: Ended | None) -> Summary:
    """Returns the summary with the rates that are not precise enough. Systems without a valid round are left out.

    :param goal: requested half-width of intervals, as a share of the mean; None if all neighbours must be decided
    """
    short: list[Shortfall] = []
    if goal is None:
        return replace(summary, precision=Precision(None, ended, short))
    for trial in summary.compared:
        rates, searches = decisive(summary, trial), searches_of(trial, summary.trials)
        if searches and not rates and not all(search.in_vain for search in searches):
            short.append(Shortfall(trial.name, PROBE, None, len(searches), None))
        for (phase, _, figure), rate in rates.items():
            of_rounds = samples(rate.row, figure) if rate.row.sampled == "rounds" else []
            half = rate.high / rate.mean - 1 if of_rounds and rate.high is not None else None
            if half is None or half > goal:
                more = statistics.more(of_rounds, goal)
                short.append(Shortfall(trial.name, phase, half, max(1, len(of_rounds)), more))
    return replace(summary, precision=Precision(goal, ended, short))


def words(short: Shortfall, goal: float) -> str:
    """Returns text such as "hbase ± 9 % after 3 rounds, about 4 more for ± 5 %"."""
    name = short.trial if short.phase == RUN else f"{short.trial} {short.phase}"
    rounds = f"{short.rounds} round{'' if short.rounds == 1 else 's'}"
    if short.half is None:
        return f"{name} without an interval after {rounds}"
    half = percent(short.half) if short.half <= 1 else f"beyond {percent(1)}"
    if short.more is not None:
        more = f", about {short.more} more for {percent(goal)}"
    else:
        more = f", over {statistics.MOST_MORE} more for {percent(goal)}"
    return f"{name} {half} after {rounds}{more}"


def is_reached(summary: Summary) -> bool:
    """Returns whether no more rounds are needed."""
    if summary.precision is None or summary.precision.asked is None:
        return not undecided(summary)
    return not summary.precision.short


def undecided(summary: Summary) -> list[Neighbours]:
    """Returns the neighbours in the ranking whose interval shows neither that they differ nor that they are alike."""
    return [pair for pair in deciding_neighbours(summary) if pair.outcome == "open"]


def open_words(neighbours: Neighbours, summary: Summary) -> str:
    """Returns text such as "cassandra and hbase 1.01× [0.85, 1.20], about 3 more rounds (16 min)"."""
    pair = neighbours.pair
    text = f"{pair.of} and {pair.to} {pair.ratio:.2f}\N{MULTIPLICATION SIGN}"
    if pair.low is None or pair.high is None:
        return f"{text} without an interval"
    text += f" [{pair.low:.2f}, {pair.high:.2f}]"
    if neighbours.more is None:
        return f"{text}, over {statistics.MOST_MORE} more rounds"
    return f"{text}, about {more_rounds(neighbours.more, summary)}"


def more_rounds(count: int, summary: Summary) -> str:
    """Returns text such as "3 more rounds (16 min)"."""
    time = f" ({about(count * summary.round_seconds)})" if summary.round_seconds else ""
    return f"{counted(count, 'more round')}{time}"
