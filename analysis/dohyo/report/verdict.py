"""Who won, by how much, and whether that is more than noise: in one sentence, made of `Summary.comparisons`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dohyo.evidence.rows import PROBE, Row, Samples
from dohyo.figures import rate
from dohyo.operations import OVERALL
from dohyo.summary.comparison import Key, figures, maximum, samples
from dohyo.summary.results import Figure, Pair, Summary, Trial
from dohyo.tables.comparison_table import samples_words, times

_UNITS: dict[Figure, str] = {"records_per_second": "records/s", "ops_per_second": "operations/s"}


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, and what a reader must know before believing it.

    :ivar caveats: what speaks against trusting it
    """

    sentence: str
    caveats: list[str]


@dataclass(frozen=True)
class Rate:
    """A mean rate of a trial, with its 95 % confidence interval as far as that is known."""

    row: Row
    figure: Figure

    @property
    def mean(self) -> float:
        """Records per second; operations per second where records are not known."""
        return float(getattr(self.row, self.figure))

    @property
    def low(self) -> float | None:
        """Lower end of the interval; None: not known."""
        return self._end("low")

    @property
    def high(self) -> float | None:
        """Upper end of the interval; None: not known."""
        return self._end("high")

    def _end(self, which: str) -> float | None:
        end: float | None = getattr(self.row, f"{self.figure}_{which}")
        return end

    @property
    def unit(self) -> str:
        """Such as "records/s"."""
        return _UNITS[self.figure]

    @property
    def sampled(self) -> tuple[Samples | None, int]:
        """What the interval is over, and how many."""
        return self.row.sampled, len(samples(self.row, self.figure))

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return rate(self.mean)
        return f"{rate(self.mean)} [{rate(self.low)}, {rate(self.high)}]"


# The best system in one phase at one point against each other system, the nearest first.
_Contest = list[Pair]


def verdict(summary: Summary) -> Verdict:
    """The sentence over all phases and points at which at least two systems have numbers."""
    contests = _contests(summary)
    if not contests:
        sentence = _nothing_to_compare(summary)
    elif len(contests) == 1:
        sentence = _one(summary, contests[0])
    else:
        sentence = _several(summary, contests)
    return Verdict(sentence, _caveats(summary))


def _is_valid(summary: Summary, trial: Trial) -> bool:
    """Of several rounds there are numbers of valid ones alone; logs of others have them of invalid runs, too."""
    return trial.status == "ok" or all(trial is not each for each in summary.trials)


def throughput(summary: Summary, trial: Trial, phase: str) -> Rate | None:
    """The mean rate of a trial in a phase; None where it has no valid numbers."""
    if not _is_valid(summary, trial):
        return None
    return next((Rate(row, key[2]) for key, row in figures(trial).items() if key[:2] == (phase, OVERALL)), None)


def phases_of(summary: Summary) -> list[str]:
    """The phases that were to be measured, in order."""
    return list(dict.fromkeys(row.phase for trial in summary.compared for row in trial.rows if not trial.is_aside(row)))


def _phases(summary: Summary, trial: Trial) -> list[str]:
    """The phases whose rates decide: after a search its maximum alone."""
    rounds = (each for each in summary.trials if (each.system, each.point) == (trial.system, trial.point))
    return [PROBE] if any(each.search for each in rounds) else phases_of(summary)


def _rates(summary: Summary, trial: Trial) -> dict[Key, Rate]:
    """What decides, of one trial."""
    if not _is_valid(summary, trial):
        return {}
    found = figures(trial) | maximum(trial, summary.trials)
    phases = _phases(summary, trial)
    return {key: Rate(row, key[2]) for key, row in found.items() if key[0] in phases and key[1] == OVERALL}


def _contests(summary: Summary) -> list[_Contest]:
    system = {trial.name: trial.system for trial in summary.compared}
    decisive = {trial.name: _phases(summary, trial) for trial in summary.compared}
    nearest: dict[tuple[str, Figure, str], dict[str, Pair]] = {}
    for pair in summary.comparisons:
        if pair.phase in decisive[pair.of] and pair.operation == OVERALL and system[pair.of] != system[pair.to]:
            others = nearest.setdefault((pair.phase, pair.figure, pair.of), {})
            # Of variants of one system its best one is compared.
            known = others.setdefault(system[pair.to], pair)
            others[system[pair.to]] = min(known, pair, key=_ratio)
    return [sorted(others.values(), key=_ratio) for others in nearest.values()]


def _ratio(pair: Pair) -> float:
    return pair.ratio


def _one(summary: Summary, contest: _Contest) -> str:
    trials = {trial.name: trial for trial in summary.compared}
    key = _key(contest[0])
    rates = {
        trials[name].system: _rates(summary, trials[name])[key]
        for name in [contest[0].of, *(pair.to for pair in contest)]
    }
    tied = all(pair.tie for pair in contest)
    said = [
        f"{times(pair)}{' (a tie)' if pair.tie and not tied else ''} as fast as {trials[pair.to].system}"
        for pair in contest
    ]
    best, *_ = rates
    numbers = ", ".join(f"{system} {each}" for system, each in rates.items())
    sentence = f"{'A tie: ' if tied else ''}{best} was {_listed(said)}{_noise(contest)}"
    return f"{sentence} ({numbers} {_unit(summary, key)}{_over([contest])})."


def _several(summary: Summary, contests: Sequence[_Contest]) -> str:
    system = {trial.name: trial.system for trial in summary.compared}
    won: dict[str, list[Pair]] = {}
    for nearest, *_ in contests:
        if not nearest.tie:
            won.setdefault(system[nearest.of], []).append(nearest)
    parts = []
    for name, pairs in sorted(won.items(), key=lambda item: -len(item[1])):
        ratios = " to ".join(dict.fromkeys(times(pair) for pair in (min(pairs, key=_ratio), max(pairs, key=_ratio))))
        parts.append(f"{name} was the fastest in {len(pairs)} of {len(contests)} comparisons, {ratios} the second")
    ties = sum(nearest.tie is True for nearest, *_ in contests)
    if ties:
        parts.append(f"{ties} of {len(contests)} {'was a tie' if ties == 1 else 'were ties'}")
    units = " or ".join(dict.fromkeys(_unit(summary, _key(nearest)) for nearest, *_ in contests))
    noise = _noise([nearest for nearest, *_ in contests])
    return f"{'; '.join(parts)}{noise} ({units}{_over(contests)})."


def _noise(pairs: Sequence[Pair]) -> str:
    """What is to be said of those that have no interval."""
    unknown = sum(pair.tie is None for pair in pairs)
    which = "" if unknown == len(pairs) else f" in {unknown} of them"
    return f"; how much of that is noise is not known{which}" if unknown else ""


def _key(pair: Pair) -> Key:
    return pair.phase, pair.operation, pair.figure


def _unit(summary: Summary, key: Key) -> str:
    """Such as "records/s"; of the maxima of searches with their bounds."""
    bounds = dict.fromkeys(trial.search.slo for trial in summary.trials if trial.search and key[0] == PROBE)
    return f"{_UNITS[key[2]]} under {' or '.join(bounds)}" if bounds else _UNITS[key[2]]


def _over(contests: Sequence[_Contest]) -> str:
    """What the intervals are over, if there are any."""
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
        for key, each in _rates(summary, trial).items()
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


def _caveats(summary: Summary) -> list[str]:
    found = []
    if summary.unequal:
        unequal = ", ".join(name.replace("_", " ") for name in summary.unequal)
        found.append(f"The conditions are not equal: {unequal}. They are marked in the table of conditions.")
    bad = [trial for trial in summary.compared if trial.status != "ok"]
    # Of several rounds those that are valid count.
    for partly, what in ((False, "no valid numbers"), (True, "rounds that are not valid and do not count")):
        names = [trial.name for trial in bad if bool(_rates(summary, trial)) == partly]
        if names:
            found.append(f"{len(names)} of {len(summary.compared)} have {what}: {', '.join(names)}.")
    if summary.canary is not None and summary.canary.drifts:
        found.append(f"The hosts were not the same before all trials: {summary.canary.drifts[0].what}.")
    if any(trial.conditions.target for trial in summary.compared):
        found.append("A target rate was set: compare latencies, not throughput.")
    return [*found, *(f"{note[:1].upper()}{note[1:]}." for note in summary.notes)]
