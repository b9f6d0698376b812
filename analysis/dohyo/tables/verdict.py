"""Builds the verdict from `Summary.comparisons`: which system won, by how much, and whether that exceeds the noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dohyo.figures import listed, milliseconds, percent, rate
from dohyo.metrics import METRICS
from dohyo.scenario.phases import PROBE
from dohyo.summary import ranking
from dohyo.summary.comparison import Key, centre, figures, is_equal, is_paced
from dohyo.summary.ranking import UNITS, Contest, Rate, contests, deciding_neighbours, decisive, distance, phases_of
from dohyo.summary.results import Pair, Summary, without_interval
from dohyo.summary.trust import Mark, Reason, doubts, mark_of
from dohyo.tables import fault_table
from dohyo.tables.comparison_table import figure, level, level_of_rows, samples_words, times


@dataclass(frozen=True)
class Verdict:
    """The verdict in one sentence, how far it can be trusted, and what faults cost.

    :ivar sentence: the verdict, with the costs of faults
    :ivar brief: the verdict without absolute numbers, costs of faults or the final full stop
    :ivar reasons: reasons against the verdict, worst first
    :ivar costs: costs of faults, a line for each system at a point
    """

    sentence: str
    brief: str
    mark: Mark
    reasons: list[Reason]
    costs: list[str]


def verdict(summary: Summary) -> Verdict:
    """Returns the verdict over all phases and points at which at least two systems have numbers."""
    results = contests(summary)
    pairs = [pair for contest in results for pair in contest]
    over = _over(pairs, level(pair.confidence for pair in pairs))
    if not results:
        brief = sentence = _nothing_to_compare(summary)
    elif len(results) == 1:
        texts = _Words(summary, results[0])
        # The brief form compares a winner only with the second system.
        brief = texts.of_ratios(pairs[:1]) + texts.behind
        sentence = f"{texts.of_ratios(pairs)}{texts.behind} ({texts.numbers}{over})."
    else:
        brief = _several(summary, results)
        units = " or ".join(dict.fromkeys(_unit(summary, contest[0].key) for contest in results))
        sentence = f"{brief} ({units}{over})."
    if costs := fault_table.sentences(summary.trials):
        sentence = f"{sentence} Under faults: {'; '.join(costs)}."
    reasons = doubts(summary)
    return Verdict(sentence, brief.rstrip("."), mark_of(reasons), reasons, costs)


class _Words:
    """The text of one contest: which system won, or which systems cannot be told apart if none won."""

    def __init__(self, summary: Summary, contest: Contest) -> None:
        self.summary = summary
        self.contest = contest
        self.systems = {trial.name: trial.system for trial in summary.compared}
        self.nearest = contest[0]
        self.key = self.nearest.key
        self.best = self.systems[self.nearest.of]
        self.is_latency = METRICS[self.nearest.figure].less_is_better

    def of_ratios(self, pairs: Sequence[Pair]) -> str:
        """Returns the text without absolute numbers. If there is a winner, the text contains the ratios of `pairs`."""
        return self._won(pairs) if ranking.is_won(self.contest) or ranking.is_preliminary(self.contest) else self._open

    @property
    def behind(self) -> str:
        """Returns a text on the systems behind the winner that are alike or cannot be told apart, or ""."""
        ranked = {pair.to for pair in self.contest} if ranking.is_won(self.contest) else set()
        texts = {"alike": f"are alike within {percent(self.summary.alike)}", "open": "cannot be told apart"}
        return "".join(
            f"; {self.systems[entry.pair.of]} and {self.systems[entry.pair.to]} {texts[entry.outcome]}"
            for entry in deciding_neighbours(self.summary)
            if entry.outcome in texts and {entry.pair.of, entry.pair.to} <= ranked and entry.pair.key == self.key
        )

    @property
    def numbers(self) -> str:
        """Returns the numbers, such as "cassandra 1,200, hbase 1,000 records/s"."""
        trials = {trial.name: trial for trial in self.summary.compared}
        names = [self.nearest.of, *(pair.to for pair in self.contest)]
        if self.is_latency:
            # Show the figures behind the ratios, because a single round may determine the percentile of merged rounds.
            rows = [figures(trials[name], percentiles=[self.key[2]])[self.key] for name in names]
            values = [milliseconds(centre(row, self.key[2])) for row in rows]
        else:
            values = [str(decisive(self.summary, trials[name])[self.key]) for name in names]
        text = ", ".join(f"{self.systems[name]} {value}" for name, value in zip(names, values, strict=True))
        return f"{text} {_unit(self.summary, self.key)}"

    def _won(self, pairs: Sequence[Pair]) -> str:
        head = "Preliminary: " if ranking.is_preliminary(self.contest) else ""
        if self.is_latency:
            ratios = [f"{times(pair)} that of {self.systems[pair.to]}" for pair in pairs]
            return f"{head}{figure(self.nearest)} of {self.best} was {listed(ratios)}{_noise(pairs)}"
        ratios = [f"{times(pair)} as fast as {self.systems[pair.to]}" for pair in pairs]
        return f"{head}{self.best} was {listed(ratios)}{_noise(pairs)}"

    @property
    def _open(self) -> str:
        """Returns which systems cannot be told apart, followed by the ratios of the other systems to the best one."""
        end = f" in {figure(self.nearest)}" if self.is_latency else ""
        unclear, alike = (
            [pair for pair in self.contest if pair.tie and pair.is_unclear == wide] for wide in (True, False)
        )
        parts = []
        if not ranking.is_tied(self.contest):
            parts.append(self._won([pair for pair in self.contest if pair.tie is False]))
        if unclear:
            parts.append(f"Cannot tell {self.best} from {self._names(unclear)}{end}: {self._ratios(unclear)}")
        if alike:
            names = listed([self.best, *(self.systems[pair.to] for pair in alike)])
            parts.append(f"{'No' if not parts else 'no'} difference between {names}{end}: {self._ratios(alike)}, a tie")
        for tie, adjective in ((False, "higher" if self.is_latency else "slower"), (None, "preliminary")):
            pairs = [pair.inverse for pair in self.contest if pair.tie is tie]
            if pairs and (tie is None or ranking.is_tied(self.contest)):
                be = "was" if len(pairs) == 1 else "were"
                systems, ratios = [self.systems[pair.of] for pair in pairs], [times(pair) for pair in pairs]
                text = f"{listed(systems)} {be} {adjective}: {listed(ratios)}"
                parts.append(f"{text}, because {without_interval(pairs)} has no interval" if tie is None else text)
        return "; ".join(parts)

    def _names(self, pairs: Sequence[Pair]) -> str:
        return " or ".join(self.systems[pair.to] for pair in pairs)

    def _ratios(self, pairs: Sequence[Pair]) -> str:
        return ", ".join(times(pair) for pair in pairs)


def _several(summary: Summary, results: Sequence[Contest]) -> str:
    system = {trial.name: trial.system for trial in summary.compared}
    every = all(ranking.is_preliminary(contest) for contest in results)
    won: dict[str, list[Pair]] = {}
    for contest in results:
        if ranking.is_won(contest) or every:
            won.setdefault(system[contest[0].of], []).append(contest[0])
    latencies = any(METRICS[contest[0].figure].less_is_better for contest in results)
    best = "had the lowest latency" if latencies else "was the fastest"
    parts = []
    for name, pairs in sorted(won.items(), key=lambda item: -len(item[1])):
        ends = (min(pairs, key=distance), max(pairs, key=distance))
        ratios = " to ".join(dict.fromkeys(times(pair) for pair in ends))
        parts.append(f"{name} {best} in {len(pairs)} of {len(results)} comparisons, {ratios} the second")
    unclear = sum(ranking.is_unclear(contest) for contest in results)
    ties = sum(ranking.is_tied(contest) and not ranking.is_unclear(contest) for contest in results)
    if ties:
        parts.append(f"no difference in {ties} of {len(results)} (ties)")
    if unclear:
        parts.append(f"{unclear} of {len(results)} too noisy to tell")
    if every:
        return f"Preliminary: {'; '.join(parts)}{_noise([contest[0] for contest in results])}"
    if preliminary := [contest for contest in results if not ranking.is_won(contest) and not ranking.is_tied(contest)]:
        reason = without_interval([pair for contest in preliminary for pair in contest if pair.tie is None])
        parts.append(f"{len(preliminary)} of {len(results)} preliminary, because {reason} has no interval")
    return "; ".join(parts)


def _noise(pairs: Sequence[Pair]) -> str:
    """Returns a clause on comparisons without an interval; empty if all have one."""
    unknown = [pair for pair in pairs if pair.tie is None]
    count = "" if len(unknown) == len(pairs) else f" ({len(unknown)} of {len(pairs)})"
    return f"; {without_interval(unknown)} has no interval{count}" if unknown else ""


def _unit(summary: Summary, key: Key) -> str:
    """Returns the unit, such as "records/s". For the maxima of searches, it includes the latency bounds."""
    bounds = dict.fromkeys(trial.search.slo for trial in summary.trials if trial.search and key[0] == PROBE)
    return f"{UNITS[key[2]]} under {' or '.join(bounds)}" if bounds else UNITS[key[2]]


def _over(rates: Iterable[Pair | Rate], confidence: str) -> str:
    """Returns the level of the intervals, and the samples behind them; empty if there are no intervals."""
    over, confidence = samples_words(rates), confidence.replace(" %", "\N{NO-BREAK SPACE}%")
    return f"; {confidence} intervals over {over}" if over else ""


def _nothing_to_compare(summary: Summary) -> str:
    measured = [
        (trial.system, result, _unit(summary, key))
        for trial in summary.compared
        for key, result in decisive(summary, trial).items()
    ]
    missing = "a highest rate" if any(trial.search for trial in summary.trials) else "valid numbers"
    if not measured:
        return f"No system has {missing}: there is no winner."
    systems = list(dict.fromkeys(system for system, _, _ in measured))
    targets = [phase for phase in phases_of(summary) if is_paced(summary.compared, phase)]
    empty = {system for system, result, _ in measured if not result.mean}
    if len(systems) > 1 and len(empty) + 1 >= len(systems):
        return f"{listed(sorted(empty))} found and wrote no records: there is nothing to compare."
    if len(systems) > 1 and targets:
        rates = ", ".join(f"{system} {rate(result.mean)} {unit}" for system, result, unit in measured)
        if not is_equal(summary.compared, targets):
            return f"A target rate was set, and not all systems reached the same one, so nothing is ranked ({rates})."
        return f"All systems reached the target rate, and no latency has an interval: nothing is ranked ({rates})."
    if len(systems) > 1:
        return f"{', '.join(systems)} were not measured at the same point: there is nothing to compare."
    ordered = sorted((result for _, result, _ in measured), key=lambda result: result.mean)
    units = " or ".join(dict.fromkeys(unit for _, _, unit in measured))
    ends = " to ".join(dict.fromkeys(map(str, (ordered[0], ordered[-1]))))
    reached = f"{ends} {units}{_over(ordered, level_of_rows(result.row for result in ordered))}"
    return f"Only {systems[0]} has {missing}, so there is no comparison of systems; it reached {reached}."
