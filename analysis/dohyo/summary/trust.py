"""Judges how far a verdict can be trusted, and states reasons against it. docs/method.md#trust explains the rules."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dohyo import statistics
from dohyo.evidence.accounting import together
from dohyo.evidence.canary import Drift
from dohyo.evidence.hdr_log import BEYOND
from dohyo.evidence.host_metrics import NOTED, busy
from dohyo.figures import percent, rate
from dohyo.metrics import METRICS
from dohyo.scenario.phases import AT_RATE, EQUAL, PROBE, RUN
from dohyo.scenario.setup import NOT_KNOWN
from dohyo.sizes import LETTERS, SIZES, size_bytes
from dohyo.summary.comparison import (
    at_points,
    behind,
    behind_own,
    equal_rate,
    figures,
    has_own_latency,
    is_equal,
    is_paced,
    rounds_of,
    samples,
    searches_of,
)
from dohyo.summary.conditions import Conditions
from dohyo.summary.precision import more_rounds, open_words, undecided, words
from dohyo.summary.ranking import UNITS, Rate, contests, decisive, distance, phases_of
from dohyo.summary.results import Pair, Summary, Trial, without_interval
from dohyo.summary.rounds import differing, listed
from dohyo.summary.validity import at_work

Mark = Literal["solid", "caution", "do not use"]
# Minimum number of rounds for a verdict: Student's t of a mean's interval is 12.7 with two rounds and 4.3 with three.
LEAST_ROUNDS = 3
# Factor within which memory sizes count as alike. Dohyo's defaults on a single host are 1 to 1.5 GiB.
LIKE_MEMORY = 1.5
# Figures of the canary that affect every operation.
COMPUTING = ("cpu_one", "cpu_all")
# Beginning of a note that a server did not settle. CassandraAdmin and AttachedVerbs write it.
UNSETTLED = "not settled: "
MOST_DRIFTS = 2
_MOST_UNCLEAR = 3
# Factor within which rows per scan count as alike, because lengths are random, and scans may reach a table's end.
_ROWS_ALIKE = 1.05
_MOST_SHORT = 4
_MOST_BEHIND = 4


@dataclass(frozen=True)
class Reason:
    """A reason against a verdict.

    :ivar text: the reason as a sentence
    :ivar short: the reason in a few words
    :ivar fatal: whether the verdict must not be used, because conditions differ or the measurement is too weak
    """

    text: str
    short: str
    fatal: bool = False


def mark_of(reasons: Sequence[Reason]) -> Mark:
    """Returns how far a verdict with these reasons against it can be trusted."""
    if any(reason.fatal for reason in reasons):
        return "do not use"
    return "caution" if reasons else "solid"


def doubts(summary: Summary) -> list[Reason]:
    """Returns reasons against the verdict for an experiment, or for logs of other clients, worst first."""
    held = contests(summary)
    pairs = [pair for contest in held for pair in contest]
    nearest = [contest[0] for contest in held]
    hosts, rounds = list(_hosts(summary, nearest, pairs)), list(_rounds(summary, pairs))
    few = rounds or any(pair.tie is None for pair in pairs)
    reasons = [
        *_unequal(summary),
        *_without_numbers(summary),
        *_apart(summary, pairs),
        *_accounted(summary),
        *_noise(summary, pairs),
        *_undecided(summary, pairs),
        *_outliers(summary, pairs),
        *_empty(summary),
        *_scans(summary),
        # With enough rounds, the interval already includes changes of the hosts between trials.
        *(hosts if few else ()),
        *rounds,
        *_inexact(summary),
        *_unmeasured(summary),
        *_served(summary),
        *_uneven(summary),
        *_deviating(summary),
        *_unsettled(summary),
        *_limited(summary),
        *_taken(summary),
        *_about_the_whole(summary),
        *(hosts if not few else ()),
    ]
    # Several points of the matrix may have the same reason.
    return sorted(dict.fromkeys(reasons), key=lambda reason: not reason.fatal)


def _unequal(summary: Summary) -> Iterator[Reason]:
    if summary.unequal:
        names = ", ".join(name.replace("_", " ") for name in summary.unequal)
        values = "; ".join(_by_value(summary, by_trial) for by_trial in summary.unequal.values())
        yield Reason(f"The conditions are not equal: {names} ({values}).", f"unequal {names}", fatal=True)


def _by_value(summary: Summary, values: Mapping[str, str]) -> str:
    """Returns text such as "cassandra memory, hbase disk"."""
    system = {trial.name: trial.system for trial in summary.compared}
    return ", ".join(dict.fromkeys(f"{system.get(name, name)} {value}" for name, value in values.items()))


def _without_numbers(summary: Summary) -> Iterator[Reason]:
    tried = [trial for trial in summary.compared if trial.status != "skipped"]
    valued = {trial.name for trial in tried if decisive(summary, trial)}
    systems = {trial.system for trial in tried}
    fatal = len({trial.system for trial in tried if trial.name in valued}) < min(2, len(systems))
    searches = {trial.name: searches_of(trial, summary.trials) for trial in tried if trial.name not in valued}
    if none := [name for name, group in searches.items() if not group]:
        text = f"{len(none)} of {len(tried)} have no valid numbers: {', '.join(none)}."
        yield Reason(text, f"no valid numbers for {_few(none)}", fatal)
    # If all rounds show that no rate holds, that is a result, but leaves nothing to compare.
    alone = fatal and len(systems) > 1
    bounds = [
        name for name, group in searches.items() if group and (alone or not all(search.in_vain for search in group))
    ]
    if bounds:
        text = f"{len(bounds)} of {len(tried)} have only bounds for the highest rate: {', '.join(bounds)}."
        yield Reason(text, f"no highest rate for {_few(bounds)}", fatal)
    # With several rounds, the valid ones still count, so these reasons are not fatal.
    rounds = {trial.name: rounds_of(trial, summary.trials) for trial in tried if trial.name in valued}
    statuses = {name: [round_.status for round_ in group] for name, group in rounds.items()}
    if cut := [name for name, of_rounds in statuses.items() if "interrupted" in of_rounds]:
        counts = ", ".join(f"{name} {statuses[name].count('interrupted')} of {len(statuses[name])}" for name in cut)
        yield Reason(f"Rounds were interrupted or did not begin: {counts}.", f"interrupted rounds of {_few(cut)}")
    if partly := [name for name, of_rounds in statuses.items() if {*of_rounds} - {"ok", "interrupted"}]:
        text = f"{len(partly)} of {len(tried)} have invalid rounds, which do not count: {', '.join(partly)}."
        yield Reason(text, f"invalid rounds of {_few(partly)}")


def _apart(summary: Summary, pairs: Sequence[Pair]) -> Iterator[Reason]:
    """Yields a reason if the systems with numbers were measured at different points."""
    points = at_points(summary.compared, lambda trial: decisive(summary, trial))
    alone = all(len({trial.system for trial in at_point}) == 1 for at_point in points)
    if alone and not pairs and len({trial.system for at_point in points for trial in at_point}) > 1:
        text = "No two systems were measured at the same point: there is nothing to compare."
        yield Reason(text, "measured at different points", fatal=True)


def _noise(summary: Summary, pairs: Sequence[Pair]) -> Iterator[Reason]:
    """Yields reasons if noise is too large to tell systems from the best one, or if intervals are missing."""
    unclear = [pair for pair in pairs if pair.is_unclear]
    if unclear:
        system = {trial.name: trial.system for trial in summary.compared}
        named = list(dict.fromkeys(f"{system[pair.of]} from {system[pair.to]}" for pair in unclear))
        more = f" and {len(named) - _MOST_UNCLEAR} more" if len(named) > _MOST_UNCLEAR else ""
        counts = [entry.more for entry in undecided(summary) if entry.pair in unclear and entry.more is not None]
        advice = f"measure about {more_rounds(max(counts), summary)}" if counts else "measure more or longer rounds"
        text = f"The noise is too large to tell {', '.join(named[:_MOST_UNCLEAR])}{more}: {advice}."
        yield Reason(text, "too noisy to tell", fatal=len(unclear) == len(pairs))
    unknown = [pair for pair in pairs if pair.tie is None]
    if unknown:
        every = len(unknown) == len(pairs)
        few = any(pair.samples < LEAST_ROUNDS for pair in unknown)
        advice = f"; measure {LEAST_ROUNDS} rounds or more" if few else ""
        some = f"{len(unknown)} of {len(pairs)} comparisons {'is' if len(unknown) == 1 else 'are'}"
        which = "The ranking is" if every else some
        why = f"{without_interval(unknown)} has no interval"
        short = "a preliminary ranking" if every else "some comparisons are preliminary"
        fatal = every or len(unclear) + len(unknown) == len(pairs)
        yield Reason(f"{which} preliminary: {why}{advice}.", short, fatal)


def _undecided(summary: Summary, pairs: Sequence[Pair]) -> Iterator[Reason]:
    """Yields a reason if neighbours in the ranking are undecided, except for those that `_noise` names."""
    unclear = [pair for pair in pairs if pair.is_unclear]
    neighbours = [entry for entry in undecided(summary) if entry.pair.low is not None and entry.pair not in unclear]
    if neighbours:
        text = _shortened([open_words(neighbour, summary) for neighbour in neighbours])
        yield Reason(f"Not decided: {text}{_why_ended(summary)}.", "not decided")


def _outliers(summary: Summary, pairs: Sequence[Pair]) -> Iterator[Reason]:
    """Yields a reason if a figure depends on a single round that differs considerably from the others."""
    texts = []
    for where, values, unit in _samples(summary, pairs):
        if (index := statistics.outlier(values)) is not None:
            rest = statistics.geometric([value for position, value in enumerate(values) if position != index])
            one, count = rate(values[index]), len(values)
            texts.append(f"{where} had {one} {unit} in one of {count} rounds, and {rate(rest)} in the others")
    if texts:
        yield Reason(f"One round decides: {'; '.join(texts)}.", "one round decides")


def _samples(summary: Summary, pairs: Sequence[Pair]) -> Iterator[tuple[str, list[float], str]]:
    """Yields the name, the samples by round and the unit of each deciding figure: all rates, and compared latencies."""

    def name(trial: str, phase: str) -> str:
        return trial if phase in (RUN, PROBE) else f"{trial} {phase}"

    trials = {trial.name: trial for trial in summary.compared}
    for trial in trials.values():
        for (phase, _, figure), mean in decisive(summary, trial).items():
            yield name(trial.name, phase), samples(mean.row, figure), mean.unit
    latencies = [pair for pair in pairs if METRICS[pair.figure].less_is_better]
    sides = [(trial_name, pair.key) for pair in latencies for trial_name in (pair.of, pair.to)]
    for trial_name, key in dict.fromkeys(sides):
        phase, operation, figure = key
        row = figures(trials[trial_name], percentiles=[figure])[key]
        yield f"{name(trial_name, phase)} {operation} {METRICS[figure].head}", samples(row, figure), UNITS[figure]


def _empty(summary: Summary) -> Iterator[Reason]:
    """Yields a reason if a system's operations found or wrote no records."""
    rates = {trial.system: decisive(summary, trial).values() for trial in summary.compared}
    systems = [system for system, values in rates.items() if any(not value.mean for value in values)]
    if systems:
        text = f"The rate is 0 because no record was found or written: {', '.join(systems)}."
        yield Reason(text, f"no records of {_few(systems)}")


def _scans(summary: Summary) -> Iterator[Reason]:
    """Yields a reason if scans returned different numbers of rows, because their rates are then not comparable."""
    for at_point in at_points(summary.compared):
        rows = {
            (trial.name, row.phase): row.records / row.operations
            for trial in at_point
            for row in trial.measured_rows
            if row.operation == "SCAN" and row.operations and row.records is not None
        }
        for phase in phases_of(summary):
            of_phase = {name: ratio for (name, row_phase), ratio in rows.items() if row_phase == phase}
            if of_phase and max(of_phase.values()) > min(of_phase.values()) * _ROWS_ALIKE:
                text = ", ".join(f"{name} {ratio:.3g}" for name, ratio in of_phase.items())
                why = f"Scans returned unequal numbers of rows, so rates are not comparable: {text} per scan."
                yield Reason(why, "unequal rows per scan", fatal=True)
                return


def _rounds(summary: Summary, pairs: Sequence[Pair]) -> Iterator[Reason]:
    """Yields a reason if comparisons have intervals, but fewer rounds than a verdict needs."""
    deciding: Sequence[Pair | Rate] = [pair for pair in pairs if pair.tie is not None]
    if not pairs:
        deciding = [rate for trial in summary.compared for rate in decisive(summary, trial).values()]
    rounds = [figure.samples if figure.sampled == "rounds" else 1 for figure in deciding]
    if rounds and (least := max(1, min(rounds))) < LEAST_ROUNDS:
        text = "One round does not show" if least == 1 else f"{least} rounds hardly show"
        short = "one round" if least == 1 else f"{least} rounds"
        yield Reason(f"{text} how much rounds differ: measure {LEAST_ROUNDS} or more.", short)


def _inexact(summary: Summary) -> Iterator[Reason]:
    """Yields a reason if rates are less precise than the scenario requests."""
    precision = summary.precision
    if precision is None or precision.asked is None or not precision.short:
        return
    worst = sorted(precision.short, key=lambda short: -(short.half or math.inf))
    imprecise = _shortened([words(short, precision.asked) for short in worst])
    text = f"Not precise enough: {imprecise}{_why_ended(summary)}."
    yield Reason(text, f"less exact than {percent(precision.asked)}")


def _shortened(texts: Sequence[str]) -> str:
    more = len(texts) - _MOST_SHORT
    return "; ".join([*texts[:_MOST_SHORT], *([f"{more} more in summary.json"] if more > 0 else [])])


def _why_ended(summary: Summary) -> str:
    """Returns a text in brackets that says what ended the rounds too early; empty if that is unknown."""
    why = {"budget": "the budget allows no more rounds", "rounds.max": "rounds.max allows no more"}
    ended = summary.precision and summary.precision.ended
    return f" ({why[ended]})" if ended in why else ""


def _hosts(summary: Summary, nearest: Sequence[Pair], pairs: Sequence[Pair]) -> Iterator[Reason]:
    """Yields reasons for changes of the hosts from trial to trial, beginning with those that favoured the winner."""
    if summary.canary is None:
        return
    sides = _Sides(summary, pairs)
    drifts = sorted(summary.canary.drifts, key=lambda drift: (not sides.help_winner(drift), -abs(drift.change)))
    explained = [
        pair for pair in nearest if not pair.tie and (lead := sides.lead(pair)) > 1 and math.log(lead) >= distance(pair)
    ]
    if explained:
        pair = explained[0]
        trials = sides.trials[pair.of] | sides.trials[pair.to]
        worst = next(drift for drift in drifts if drift.trial in trials and drift.figure in COMPUTING)
        drifts.remove(worst)
        names = f"{pair.of} and {pair.to}"
        text = f"Hosts differed as much as the results of {names}"
        fatal = len(explained) == len(nearest)
        yield Reason(f"{text}: {worst.what}.", f"hosts differed as much as {names}", fatal)
    for drift in drifts[:MOST_DRIFTS]:
        helped = sides.help_winner(drift)
        which = "Hosts favoured the winner" if helped else "Hosts differed"
        yield Reason(f"{which}: {drift.what}.", "the hosts favoured the winner" if helped else "the hosts differed")
    if (more := len(drifts) - MOST_DRIFTS) > 0:
        yield Reason(f"{more} other figure{'s' if more > 1 else ''} of the hosts also differed.", "the hosts differed")
    if summary.canary.unsteady:
        which = ", ".join(summary.canary.unsteady)
        text = f"Hosts may have differed between trials in {which}: too unsteady to tell."
        yield Reason(text, f"{which} of the hosts too unsteady to tell")


class _Sides:
    """Trials of winners and losers. A canary belongs to one trial, but a verdict concerns all valid rounds."""

    def __init__(self, summary: Summary, pairs: Sequence[Pair]) -> None:
        self.drifts = summary.canary.drifts if summary.canary else []
        rounds = {trial.name: rounds_of(trial, summary.trials) for trial in summary.compared}
        self.trials = {
            name: {round_.name for round_ in group if round_.status == "ok"} for name, group in rounds.items()
        }
        self.winners = {name for pair in pairs for name in self.trials[pair.of]}
        self.losers = {name for pair in pairs for name in self.trials[pair.to]}

    def help_winner(self, drift: Drift) -> bool:
        """Returns whether the drift favoured a winner: a host of a winner was faster, or a host of a loser slower."""
        return drift.trial in (self.winners if _speed(drift) > 1 else self.losers)

    def lead(self, pair: Pair) -> float:
        """Returns the winner's largest lead in computing speed on any host, as a ratio of means over the rounds."""

        def mean(name: str, host: str, figure: str) -> float:
            speeds = [
                math.log(_speed(drift))
                for drift in self.drifts
                if (drift.host, drift.figure) == (host, figure) and drift.trial in self.trials[name]
            ]
            return sum(speeds) / len(self.trials[name])

        figures = {(drift.host, drift.figure) for drift in self.drifts if drift.figure in COMPUTING}
        leads = (mean(pair.of, *host_figure) - mean(pair.to, *host_figure) for host_figure in figures)
        return math.exp(max(leads, default=0.0))


def _speed(drift: Drift) -> float:
    """Returns the drift as a speed, which is above 1 if the host was faster than usual. A time is inverted."""
    return drift.usual / drift.value if drift.unit == "ms" else drift.value / drift.usual


def _served(summary: Summary) -> Iterator[Reason]:
    """Yields reasons if servers have very different memory without a common budget, or different numbers of copies."""
    for at_point in at_points(summary.compared):
        of_each = {trial.system: trial.conditions for trial in at_point}
        memory = {system: bytes_ for system, conditions in of_each.items() if (bytes_ := _memory_bytes(conditions))}
        if memory and max(memory.values()) > LIKE_MEMORY * min(memory.values()):
            text = ", ".join(f"{system} {of_each[system].heap or of_each[system].memory}" for system in memory)
            text = f"The servers have different memory: {text}; set host_memory_budget."
            yield Reason(text, "other memory")
        writes = {system: conditions.write_copies for system, conditions in of_each.items()}
        # Strongly consistent reads may involve only the primary.
        weak = {system: conditions for system, conditions in of_each.items() if conditions.consistency != "strong"}
        reads = {system: conditions.read_copies for system, conditions in weak.items()}
        for action, copies in (("acknowledge a write", writes), ("answer a read", reads)):
            counts = {system: count for system, count in copies.items() if count is not None}
            acks = {of_each[system].write_acks if "write" in action else of_each[system].read_acks for system in counts}
            # If acknowledgements differ, the unequal conditions or a note on stricter ones already say so.
            if len(set(counts.values())) > 1 and len(acks) == 1:
                text = ", ".join(f"{system} {count}" for system, count in counts.items())
                yield Reason(f"Different numbers of copies {action}: {text}.", "different numbers of copies")


def _memory_bytes(conditions: Conditions) -> int | None:
    """Returns the server's heap or limit on caches or data in bytes; None if unknown, or with a memory budget."""
    match = re.search(r"([0-9.]+) ?([kmgt]i?b?)\b", conditions.heap or conditions.memory or "", re.IGNORECASE)
    return size_bytes(match[0], SIZES | LETTERS) if match and conditions.memory_budget is None else None


def _uneven(summary: Summary) -> Iterator[Reason]:
    """Yields a reason if the rounds of a system had different conditions, so that its mean matches none of them."""
    texts = []
    for trial in summary.merged:
        valid = [round_ for round_ in rounds_of(trial, summary.trials) if round_.status == "ok"]
        differ = (f"{name.replace('_', ' ')} {listed(values)}" for name, values in differing(valid).items())
        texts += [f"{trial.name} {', '.join(differences)}"] if (differences := list(differ)) else []
    if texts:
        yield Reason(f"Rounds had different conditions: {'; '.join(texts)}.", "rounds under different conditions")


def _deviating(summary: Summary) -> Iterator[Reason]:
    texts = [f"{trial.system}: {text}" for trial in summary.compared for text in trial.deviations]
    # Evidence of earlier versions has no deviations for unknown conditions.
    texts += [
        f"{trial.system}: {name.replace('_', ' ')} is {NOT_KNOWN}"
        for trial in summary.compared
        for name, value in vars(trial.conditions).items()
        if value == NOT_KNOWN and not any(text.startswith(f"{name}:") for text in trial.deviations)
    ]
    if texts := list(dict.fromkeys(texts)):
        yield Reason(f"Not as the scenario requests: {'; '.join(texts)}.", "not as the scenario requests")


def _unsettled(summary: Summary) -> Iterator[Reason]:
    """Yields a reason if notes say that servers were measured before they had finished the work of the load."""
    notes = [(trial.system, text) for trial in summary.compared for text in trial.notes]
    texts = dict.fromkeys(f"{system} {text}" for system, text in notes if text.startswith(UNSETTLED))
    if texts:
        yield Reason(f"Measured before the servers had settled: {'; '.join(texts)}.", "not settled after the load")


def _accounted(summary: Summary) -> Iterator[Reason]:
    """Yields reasons if acknowledged writes were lost, stale or not checked. Faults do not excuse losses. Eventual
    consistency does not excuse stale reads, because a system that answers with old records has less work.
    """
    of_phases = [
        conditions for trial in summary.trials for conditions in (vars(trial.conditions), *trial.by_phase.values())
    ]
    faults = any(conditions.get("faults") for conditions in of_phases)
    under = " under faults" if faults else ""
    trials: dict[str, list[Trial]] = {}
    for trial in summary.trials:
        trials.setdefault(trial.place, []).append(trial)
    accounts = [
        (name, account)
        for name, all_of in trials.items()
        if (account := together(round_.accounting for round_ in all_of))
    ]
    if texts := [f"{name} {account}" for name, account in accounts if account.is_wrong]:
        yield Reason(f"Not as acknowledged{under and f',{under}'}: {'; '.join(texts)}.", f"lost or stale{under}")
    if texts := [
        f"{name} {account}"
        for name, account in accounts
        if not account.is_wrong and (account.unreadable or not account.read_back)
    ]:
        text = f"Not all records were read back{under and f',{under}'}: {'; '.join(texts)}."
        yield Reason(text, f"not read back{under}")
    without = [
        name + (f" in round {', '.join(str(round_.round) for round_ in missing)}" if missing[0].round else "")
        for name, all_of in trials.items()
        if (missing := [round_ for round_ in all_of if round_.status == "ok" and round_.accounting is None])
        and (any(round_.accounting for round_ in all_of) or any(map(_verifies, missing)))
    ]
    if without:
        text = f"Acknowledged writes were not accounted for: {'; '.join(without)}."
        yield Reason(text, "acknowledged writes not accounted for")
    if any(trial.faults for trial in summary.trials):
        text = "Rates and latencies include the seconds of faults: compare what the faults cost."
        yield Reason(text, "faults in the windows")


def _verifies(trial: Trial) -> bool:
    """Returns whether the trial was required to account for acknowledged writes."""
    return any(of_phase.get("verify") == "acknowledged" for of_phase in trial.asked_workload.values())


def _unmeasured(summary: Summary) -> Iterator[Reason]:
    """Yields a reason if the canary of a host is missing before some trials but not before others."""
    hosts = {
        trial.name: {
            figure.host for figure in (trial.canary.figures if trial.canary else ()) if figure.name in COMPUTING
        }
        for trial in summary.trials
        if trial.status == "ok"
    }
    every = set[str]().union(*hosts.values())
    texts = [
        f"{name} ({', '.join(sorted(every - computed))})" if computed else name
        for name, computed in hosts.items()
        if every - computed
    ]
    if texts:
        text = f"Hosts may have differed before {', '.join(texts)}: no canary."
        yield Reason(text, f"no canary before {_few(texts)}")


def _limited(summary: Summary) -> Iterator[Reason]:
    phases = [phase for phase in phases_of(summary) if phase not in AT_RATE and is_paced(summary.compared, phase)]
    if phases:
        where = "" if len(phases) == len(phases_of(summary)) else f" in {', '.join(phases)}"
        unlike = [phase for phase in phases if not is_equal(summary.compared, [phase])]
        compare = "compare latencies, not throughput"
        if unlike == phases:
            compare = "the systems' rates differed or missed the target, so nothing is ranked"
        elif unlike:
            compare += f"; in {', '.join(unlike)}, rates differed or missed the target: no ranking"
        yield Reason(f"A target rate was set{where}: {compare}.", "a target rate was set")
    yield from _unknown_percentiles(summary)
    late = dict.fromkeys(missed for together in at_points(summary.compared) for missed in behind(together, EQUAL))
    if late:
        reached = [f"{name} {rate(lowest)} of {rate(target)} op/s" for name, target, lowest in late]
        text = f"Some systems missed the equal rate ({', '.join(reached)}): latencies are not ranked."
        yield Reason(text, "the equal rate was not reached")
    missed = [(trial, *rates) for trial in summary.trials if trial.status == "ok" and (rates := behind_own(trial))]
    if missed:
        reached = [
            f"{trial.system} {rate(mean)} of {rate(target)} op/s{f' in round {trial.round}' if trial.round else ''}"
            for trial, target, mean in sorted(missed, key=lambda entry: entry[2] / entry[1])
        ]
        text = f"Some systems missed the share of their own rate: {'; '.join(reached[:_MOST_BEHIND])}."
        yield Reason(text, "a share of a system's own rate was not reached")
    texts = []
    for trial in summary.trials:
        servers = {node.host for node in trial.nodes if node.cpu_seconds}
        clients = {(use.phase, client.host) for use in trial.hosts for client in trial.clients}
        texts += [f"{trial.system}: {text}" for text in busy(trial.hosts, servers, clients)]
    if texts:
        yield Reason(f"{texts[0]}.", "a client's host was busy")


def _unknown_percentiles(summary: Summary) -> Iterator[Reason]:
    """Yields a reason if percentiles at an equal rate are shown but cannot be compared."""
    unknown: dict[tuple[str, str], None] = {}
    for at_point in at_points(summary.compared):
        for trial in at_point:
            names = {(row.phase, row.operation) for row in trial.rows}
            unknown |= {
                (row.operation, trial.system): None
                for row in trial.measured_rows
                if row.sampled
                and not row.p99_ms_samples
                and has_own_latency(row, names)
                and equal_rate(at_point, row.phase) is not None
            }
    if unknown:
        which = " and of ".join(f"{operation} of {system}" for operation, system in unknown)
        why = f"a round has fewer than {100 * BEYOND:,} operations"
        yield Reason(f"The p99 of {which} is not compared: {why}.", "p99 not compared")


def _taken(summary: Summary) -> Iterator[Reason]:
    """Yields reasons if other processes or the hypervisor took processor time in valid runs, naming the worst case."""
    valid = [(trial, usage) for trial in summary.trials if trial.status == "ok" for usage in trial.taken]
    for who, cases in (
        ("Other processes used", [(usage.other or 0.0, trial, usage.host) for trial, usage in valid]),
        ("The hypervisor took", [(usage.stolen or 0.0, trial, usage.host) for trial, usage in valid]),
    ):
        noted = sorted((case for case in cases if case[0] >= NOTED), key=lambda case: -case[0])
        if noted:
            share, trial, host = noted[0]
            when = f" in round {trial.round}" if trial.round else ""
            rest = f"{len(noted) - 1} other case{'s' if len(noted) > 2 else ''}"  # a case is a run on a host
            more = f" ({rest} of at least {100 * NOTED:.0f} %)" if len(noted) > 1 else ""
            work = "".join(f"; {note}" for note in at_work(trial.notes))
            text = f"{who} {100 * share:.0f} % of {host}{when}, while {trial.system} was measured{more}{work}."
            yield Reason(text, f"{who[:1].lower()}{who[1:]} processors")


def _about_the_whole(summary: Summary) -> Iterator[Reason]:
    if summary.warnings:
        more = f" (and {len(summary.warnings) - 1} more)" if len(summary.warnings) > 1 else ""
        yield Reason(f"Evidence is missing, broken or unclear: {summary.warnings[0]}{more}.", "evidence is incomplete")
    for note in summary.notes:
        yield Reason(f"{note[:1].upper()}{note[1:]}.", note.partition(":")[0])
    if any({client.host for client in trial.clients} & trial.serving for trial in summary.trials):
        text = "Clients and servers share a host and its processors, which limits their rates."
        yield Reason(text, "clients on the servers' host")


def _few(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
