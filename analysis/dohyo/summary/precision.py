"""Whether the rates are known as exactly as was asked, which ends the rounds. docs/method.md#rounds has the rule."""

from __future__ import annotations

from dataclasses import replace

from dohyo import statistics
from dohyo.evidence.rows import PROBE, RUN
from dohyo.figures import percent
from dohyo.summary.comparison import samples, searches_of
from dohyo.summary.ranking import decisive
from dohyo.summary.results import Ended, Precision, Shortfall, Summary


def judged(summary: Summary, asked: float, ended: Ended | None) -> Summary:
    """The summary, with the rates that are not exact enough. Systems without a valid round have none.

    :param asked: share of the mean
    """
    short = []
    for trial in summary.compared:
        rates, searches = decisive(summary, trial), searches_of(trial, summary.trials)
        if searches and not rates and not all(search.in_vain for search in searches):
            short.append(Shortfall(trial.name, PROBE, None, len(searches), None))
        for (phase, _, figure), rate in rates.items():
            of_rounds = samples(rate.row, figure) if rate.row.sampled == "rounds" else []
            half = rate.high / rate.mean - 1 if of_rounds and rate.high is not None else None
            if half is None or half > asked:
                more = statistics.more(of_rounds, asked)
                short.append(Shortfall(trial.name, phase, half, max(1, len(of_rounds)), more))
    return replace(summary, precision=Precision(asked, ended, short))


def words(short: Shortfall, asked: float) -> str:
    """Such as "hbase ± 9 % after 3 rounds, about 4 more for ± 5 %"."""
    name = short.trial if short.phase == RUN else f"{short.trial} {short.phase}"
    rounds = f"{short.rounds} round{'' if short.rounds == 1 else 's'}"
    if short.half is None:
        return f"{name} without an interval after {rounds}"
    half = percent(short.half) if short.half <= 1 else f"beyond {percent(1)}"
    if short.more is not None:
        more = f", about {short.more} more for {percent(asked)}"
    else:
        more = f", more than {statistics.MOST_MORE} more for {percent(asked)}"
    return f"{name} {half} after {rounds}{more}"
