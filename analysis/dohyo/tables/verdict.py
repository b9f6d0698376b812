"""The verdict in one sentence, made of `Summary.comparisons`: which system won, by how much, and whether that is more
than noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dohyo.evidence.rows import PROBE
from dohyo.summary.comparison import Key
from dohyo.summary.ranking import UNITS, Contest, contests, decisive, ratio
from dohyo.summary.results import Pair, Summary, single
from dohyo.summary.trust import Trust, judged
from dohyo.tables.comparison_table import samples_words, times


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, and what a reader must know before believing it.

    :ivar brief: the same without the numbers that the ratios are of, and without a full stop
    """

    sentence: str
    brief: str
    trust: Trust


def verdict(summary: Summary) -> Verdict:
    """The sentence over all phases and points at which at least two systems have numbers."""
    found = contests(summary)
    if not found:
        brief = sentence = _nothing_to_compare(summary)
    elif len(found) == 1:
        brief, sentence = _shortened(summary, found[0]), _one(summary, found[0])
    else:
        brief = _several(summary, found)
        units = " or ".join(dict.fromkeys(_unit(summary, _key(nearest)) for nearest, *_ in found))
        sentence = f"{brief} ({units}{_over(found)})."
    return Verdict(sentence, brief.rstrip("."), judged(summary))


def _shortened(summary: Summary, contest: Contest) -> str:
    """Of the best and the second alone."""
    system = {trial.name: trial.system for trial in summary.compared}
    first = contest[0]
    return f"{_tied(contest)}{system[first.of]} was {times(first)} as fast as {system[first.to]}{_noise(contest)}"


def _tied(contest: Contest) -> str:
    """That there is no winner, where there is none: nobody can tell who it is, or yet, or all are alike."""
    if contest[0].is_unclear:
        return "Cannot tell: "
    if contest[0].tie is None:
        return "Preliminary: "
    return "A tie: " if all(pair.tie for pair in contest) else ""


def _one(summary: Summary, contest: Contest) -> str:
    trials = {trial.name: trial for trial in summary.compared}
    key = _key(contest[0])
    rates = {
        trials[name].system: decisive(summary, trials[name])[key]
        for name in [contest[0].of, *(pair.to for pair in contest)]
    }
    tied = _tied(contest)
    said = [
        f"{times(pair)}{f' ({_inside(pair)})' if pair.tie and not tied else ''} as fast as {trials[pair.to].system}"
        for pair in contest
    ]
    best, *_ = rates
    numbers = ", ".join(f"{system} {each}" for system, each in rates.items())
    sentence = f"{tied}{best} was {_listed(said)}{_noise(contest)}"
    return f"{sentence} ({numbers} {_unit(summary, key)}{_over([contest])})."


def _inside(pair: Pair) -> str:
    return "cannot tell" if pair.is_unclear else "a tie"


def _several(summary: Summary, found: Sequence[Contest]) -> str:
    system = {trial.name: trial.system for trial in summary.compared}
    won: dict[str, list[Pair]] = {}
    preliminary = [nearest for nearest, *_ in found if nearest.tie is None]
    for nearest, *_ in found:
        if nearest.tie is False or len(preliminary) == len(found):
            won.setdefault(system[nearest.of], []).append(nearest)
    parts = []
    for name, pairs in sorted(won.items(), key=lambda item: -len(item[1])):
        ratios = " to ".join(dict.fromkeys(times(pair) for pair in (min(pairs, key=ratio), max(pairs, key=ratio))))
        parts.append(f"{name} was the fastest in {len(pairs)} of {len(found)} comparisons, {ratios} the second")
    unclear = sum(nearest.is_unclear for nearest, *_ in found)
    if ties := sum(nearest.tie is True for nearest, *_ in found) - unclear:
        parts.append(f"{ties} of {len(found)} {'was a tie' if ties == 1 else 'were ties'}")
    if unclear:
        parts.append(f"{unclear} of {len(found)} cannot be told")
    if len(preliminary) == len(found):
        return f"Preliminary: {'; '.join(parts)}{_noise(preliminary)}"
    if preliminary:
        parts.append(f"{len(preliminary)} of {len(found)} preliminary, as {single(preliminary)} has no interval")
    return "; ".join(parts)


def _noise(pairs: Sequence[Pair]) -> str:
    """A sentence on comparisons without an interval."""
    unknown = [pair for pair in pairs if pair.tie is None]
    which = "" if len(unknown) == len(pairs) else f" ({len(unknown)} of {len(pairs)})"
    return f"; {single(unknown)} has no interval{which}" if unknown else ""


def _key(pair: Pair) -> Key:
    return pair.phase, pair.operation, pair.figure


def _unit(summary: Summary, key: Key) -> str:
    """Such as "records/s"; of the maxima of searches with their bounds."""
    bounds = dict.fromkeys(trial.search.slo for trial in summary.trials if trial.search and key[0] == PROBE)
    return f"{UNITS[key[2]]} under {' or '.join(bounds)}" if bounds else UNITS[key[2]]


def _over(contests: Sequence[Contest]) -> str:
    """The samples of the intervals, if there are any."""
    pairs = [pair for contest in contests for pair in contest if pair.low is not None]
    return (
        f"; 95\N{NO-BREAK SPACE}% intervals over {samples_words((pair.sampled, pair.samples) for pair in pairs)}"
        if pairs
        else ""
    )


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _nothing_to_compare(summary: Summary) -> str:
    measured = [
        (trial.system, each, _unit(summary, key))
        for trial in summary.compared
        for key, each in decisive(summary, trial).items()
    ]
    if not measured:
        return "No system has valid numbers: there is no winner."
    systems = list(dict.fromkeys(system for system, _, _ in measured))
    if len(systems) > 1:
        return f"{', '.join(systems)} were not measured at the same point: there is nothing to compare."
    ordered = sorted((each for _, each, _ in measured), key=lambda each: each.mean)
    units = " or ".join(dict.fromkeys(unit for _, _, unit in measured))
    ends = " to ".join(dict.fromkeys(map(str, (ordered[0], ordered[-1]))))
    over = samples_words(each.sampled for each in ordered if each.low is not None)
    intervals = f"; 95\N{NO-BREAK SPACE}% intervals over {over}" if over else ""
    return (
        f"Only {systems[0]} has valid numbers, so there is no comparison of systems; it reached {ends}"
        f" {units}{intervals}."
    )
