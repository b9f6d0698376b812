"""Compares two experiments: before and after an upgrade, or on two machines. Trials are paired by system and point.

docs/method.md#two-experiments explains what may differ between them, the outcomes and the exit codes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from dohyo import statistics
from dohyo.figures import UNKNOWN, percent, point_name, rate
from dohyo.metrics import METRICS, Row
from dohyo.operations import OVERALL
from dohyo.scenario.phases import AT_RATE, EQUAL, PROBE
from dohyo.scenario.properties import plain
from dohyo.statistics import Estimate
from dohyo.summary import cautions
from dohyo.summary.cautions import Caution
from dohyo.summary.comparison import (
    Key,
    centre,
    change,
    different_rates,
    estimates,
    figures,
    maximum,
    rounds_of,
    same_target,
    samples,
    searches_of,
    target_of,
)
from dohyo.summary.conditions import CONDITIONS
from dohyo.summary.findings import Finding, fault_changes, finding, findings
from dohyo.summary.probes import Search
from dohyo.summary.results import ChangeVerdict, Figure, Pair, Summary, Trial

BEFORE, AFTER = "before", "after"
# Smallest change that counts: hosts may differ that much (canary), and a new build moves code around.
MARGIN = 0.05
# Target rates that are derived from measurements. They may differ between experiments; see `_at_rates`.
_MEASURED = {(phase, "target") for phase in AT_RATE}
# Figure that shows how much of a target rate was reached.
_ASKED: Figure = "ops_per_second"
# A ratio whose resolution is finer than this counts as exact, because the variation between rounds is larger.
_VISIBLE = 0.001
_NO_RATIO = "a round at a rate of 0 has no ratio"
_ENOUGH = "a p99 needs 1,000 operations"
T = TypeVar("T")
_Place = TypeVar("_Place", bound=Hashable)


@dataclass(frozen=True)
class Change:
    """A figure of a system at a point, before and after.

    :ivar pair: ratio of the figure, after / before
    :ivar verdict: "within": the interval is within the margin; "regression", "improvement": it is beyond the
        margin; "inconclusive": none of these, or either experiment has a single round
    :ivar rounds: number of rounds of each experiment that would probably decide; None if it is decided or unknown
    :ivar reason: why it is inconclusive; for a p99, also in how many rounds it is unknown
    :ivar at_rates: op/s before and after at which a latency was measured, if they differ
    """

    system: str
    point: dict[str, str]
    before: float
    after: float
    pair: Pair
    verdict: ChangeVerdict
    rounds: int | None = None
    reason: str | None = None
    at_rates: tuple[float, float] | None = None


@dataclass(frozen=True)
class Difference:
    """A condition or setting that differs, in all phases or in one.

    :ivar condition: name of a condition, a property or a role's variable
    :ivar must_be_equal: whether the difference invalidates the comparison
    """

    system: str
    point: dict[str, str]
    phase: str | None
    condition: str
    before: str
    after: str
    must_be_equal: bool


@dataclass(frozen=True)
class Changes:
    """The comparison of two experiments.

    :ivar before: name of the first experiment
    :ivar margin: margin passed to `compare`
    :ivar forced: True if the comparison ignores differences
    :ivar changes: changes of figures; empty if the experiments cannot be compared
    :ivar faults: changes of the costs of faults; empty if the experiments cannot be compared
    :ivar findings: changes of shares and losses, and figures that one experiment lacks
    :ivar cautions: reasons that put figures in doubt
    :ivar problems: trials that have nothing to compare or are missing in the second experiment, with the reason
    :ivar single: trials that were skipped or are in only one experiment, which is not a problem
    """

    before: str
    after: str
    margin: float
    forced: bool = False
    changes: list[Change] = field(default_factory=list)
    faults: list[Finding] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    cautions: list[Caution] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)

    @property
    def comparable(self) -> bool:
        """Returns whether all required conditions are equal, or the comparison was forced."""
        return self.forced or not any(difference.must_be_equal for difference in self.differences)

    @property
    def exit_code(self) -> int:
        """Returns the exit code from docs/method.md#two-experiments; the first outcome in that list has priority."""
        parts: Sequence[Change | Finding | Caution]
        parts = [*self.changes, *self.faults, *self.findings, *self.cautions]
        verdicts = {part.verdict for part in parts} - {None}
        if not self.comparable:
            return 4
        if "regression" in verdicts:
            return 3
        if self.problems or not verdicts:
            return 1
        return 5 if "inconclusive" in verdicts else 0

    def json(self) -> str:
        """Returns the comparison in the form that docs/summary-json.md describes."""
        content = {**asdict(self), "exit_code": self.exit_code}
        for entry in content["findings"]:
            del entry["fault"]
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def compare(before: Summary, after: Summary, margin: float = MARGIN, *, force: bool = False) -> Changes:
    """Returns the changes between two experiments.

    :param margin: share of a figure within which a change does not count
    :param force: whether to compare even if conditions that must be equal differ
    """
    left, right = _by_place(before), _by_place(after)
    result = Changes(before.name, after.name, margin, force)
    common = [key for key in left if key in right]
    for summary, by_place in ((before, left), (after, right)):
        # Only trials that were started by hand may have the same system and point.
        names = {trial.name for trial in by_place.values()}
        why = "is not compared, as another trial has its system and point"
        others = [trial.name for trial in summary.compared if trial.name not in names]
        result.problems.extend(f"{name} in {summary.name} {why}" for name in others)
    # Without a common trial, the experiments are unrelated, and no trial counts as missing.
    missing = result.problems if common else result.single
    missing.extend(f"{trial.place} is only in {before.name}" for key, trial in left.items() if key not in right)
    result.single.extend(f"{trial.place} is only in {after.name}" for key, trial in right.items() if key not in left)
    sides = {key: (_Side(left[key], before), _Side(right[key], after)) for key in common}
    means = {key: _estimates(*pair) for key, pair in sides.items()}
    for key, (one, other) in sides.items():
        first, second = one.trial, other.trial
        if first.status == "skipped" and second.status in ("skipped", "ok"):
            where = "both" if second.status == "skipped" else before.name
            result.single.append(f"{first.place} was skipped in {where}: {first.reason}")
            continue
        compared = len(result.changes) + len(result.findings)
        # The intervals of all systems at a point are computed together.
        _compare(result, one, other, [means[peer] for peer in common if peer != key and peer[1] == key[1]])
        if first.status == second.status == "ok" and len(result.changes) + len(result.findings) == compared:
            result.problems.append(f"{first.place}: the experiments have no phase with a rate in common")
        other_rates = [phase for phase in AT_RATE if not same_target(first, second, phase)]
        result.faults.extend(fault_changes(one.rounds, other.rounds, margin, other_rates))
        result.findings.extend(findings(one.all_rounds, other.all_rounds, margin, other_rates))
        result.differences.extend(_differences(one, other))
        for side in (one, other):
            where = f"{side.trial.place} in {side.summary.name}"
            if side.trial.status != "ok":
                result.problems.append(f"{where}: {side.trial.status}: {side.trial.reason or 'no results'}")
            futile = (search for search in side.searches if not search.maximum)
            result.problems.extend(f"{where}: {search.conclusion}" for search in futile)
    return result if result.comparable else replace(result, changes=[], faults=[], findings=[], cautions=[])


@dataclass(frozen=True)
class _Side:
    """A system at a point in one of the two experiments."""

    trial: Trial
    summary: Summary

    @property
    def all_rounds(self) -> list[Trial]:
        """Returns all rounds, including invalid ones."""
        return rounds_of(self.trial, self.summary.trials)

    @property
    def rounds(self) -> list[Trial]:
        """Returns the valid rounds. Only their conditions are compared."""
        return [round_ for round_ in self.all_rounds if round_.status == "ok"]

    @property
    def searches(self) -> list[Search]:
        """Returns the searches for the highest rate in the valid rounds."""
        return searches_of(self.trial, self.summary.trials)

    def figures(self, other: Trial) -> dict[Key, Row]:
        """Returns the known figures, and the rates that were reached in phases with a target rate.

        :param other: trial with which this one is compared
        """
        requested = {(row.phase, OVERALL, _ASKED): row for row in self.trial.measured_rows if row.operation == OVERALL}
        reached = {key: row for key, row in requested.items() if key[0] in AT_RATE and row.ops_per_second is not None}
        return figures(self.trial, [other]) | maximum(self.trial, self.summary.trials) | reached

    def due(self, other: Trial) -> dict[Key, Row]:
        """Returns the figures that would be known if every round had enough operations for a p99.

        :param other: trial with which this one is compared
        """
        rows = [
            replace(row, p99_ms=row.p99_ms or 1.0, p99_ms_samples=row.p99_ms_samples or [1.0])
            if row.sampled == "rounds"
            else row
            for row in self.trial.rows
        ]
        return figures(replace(self.trial, rows=rows), [other])

    def p99(self, key: Key) -> tuple[Row | None, str]:
        """Returns a row with the known p99s of the rounds, and text such as "in 1 of 3 rounds" if some are unknown.

        The row is None if fewer than two rounds have a known p99. Without several rounds, it is the trial's only row.
        """
        rows = [row for row in self.trial.measured_rows if (row.phase, row.operation) == key[:2] and row.p99_ms]
        if not rows or rows[0].sampled != "rounds":
            return (rows[0] if rows else None), ""
        by_round = [[row for row in round_.rows if row.phase == key[0] and not row.discarded] for round_ in self.rounds]
        # The p99 is also unknown in a round with the phase but without the operation.
        measured = [round_rows for round_rows in by_round if round_rows]
        values = [row.p99_ms for round_rows in measured for row in round_rows if row.operation == key[1] and row.p99_ms]
        text = f"in {len(measured) - len(values)} of {len(measured)} rounds" if len(values) < len(measured) else ""
        return (replace(rows[0], p99_ms_samples=values) if len(values) > 1 else None), text


def _have_numbers(first: _Side, second: _Side) -> bool:
    """Returns whether both sides have valid rounds; if a system failed in any round, its valid rounds do not count."""
    return bool(first.rounds and second.rounds) and "failed" not in (first.trial.status, second.trial.status)


# For each compared figure, the estimates of its means over the rounds, after and before.
_Estimates = Mapping[Key, tuple[Estimate, Estimate]]


def _estimates(first: _Side, second: _Side) -> _Estimates:
    """Returns the means of one system at one point, for figures with several rounds in both experiments."""
    if not _have_numbers(first, second):
        return {}
    before, after = first.figures(second.trial), second.figures(first.trial)
    rounds = {key: row for key, row in before.items() if key in after and row.sampled == "rounds"}
    pairs = {key: estimates(key[2], after[key], row) for key, row in rounds.items()}
    return {key: means for key, means in pairs.items() if means}


def _compare(result: Changes, first: _Side, second: _Side, rest: Sequence[_Estimates]) -> None:
    """Adds the figures of a system at a point, including those that are known in only one of the experiments.

    :param rest: estimates of the other systems at that point
    """
    if not _have_numbers(first, second):
        return
    sides = {BEFORE: first.figures(second.trial), AFTER: second.figures(first.trial)}
    host_cautions, computed = cautions.of_hosts(first.rounds, second.rounds)
    result.cautions.extend(cautions.of_reasons(first.summary, first.trial, second.summary, second.trial))
    result.cautions.extend(host_cautions)
    keys = [*(sides[BEFORE] | sides[AFTER] | first.due(second.trial) | second.due(first.trial))]
    phases = list(dict.fromkeys(key[0] for key in keys))
    for key in sorted(keys, key=lambda figure_key: (phases.index(figure_key[0]), figure_key[2] == "p99_ms")):
        rows = {name: side[key] for name, side in sides.items() if key in side}
        gaps: dict[str, str] = {}
        if len(rows) < 2 and key[2] == "p99_ms":
            for name, side in ((BEFORE, first), (AFTER, second)):
                row, gap = side.p99(key)
                rows |= {name: row} if row else {}
                gaps |= {name: gap} if gap else {}
        if len(rows) == 2 and not all(centre(row, key[2]) for row in rows.values()):
            result.findings.append(_zero(first.trial, key, rows))
            continue
        if len(rows) == 2:
            if key[0] in AT_RATE and key[2] == _ASKED:
                rows = _of_the_same_rate(first.trial, second.trial, key[0], rows)
            before, after = (getattr(rows[name], key[2]) for name in (BEFORE, AFTER))
            judged = judge(key, rows, result.margin, [family[key] for family in rest if key in family])
            change = Change(first.trial.system, first.trial.point, before, after, *judged)
            change = _at_rates(change, first.trial, second.trial, result.margin)
            if gaps:
                # Slow rounds have fewer operations, so only the faster rounds may have a p99.
                reason = f"not known {' and '.join(f'{gap} {name}' for name, gap in gaps.items())}: {_ENOUGH}"
                change = replace(change, verdict="inconclusive", rounds=None, reason=reason)
            has_target = key[2] != "p99_ms" and target_of(second.trial, key[0]) is not None
            result.changes.append(_beside_hosts(change, computed, result.margin, has_target=has_target))
            continue
        lacking = [side for name, side in ((BEFORE, first), (AFTER, second)) if name not in rows]
        # A search without a result is already reported among the problems.
        if key[0] != PROBE or not all(side.searches for side in lacking):
            result.findings.append(_unknown(first.trial, key, rows, gaps))


def _unknown(trial: Trial, key: Key, rows: Mapping[str, Row], gaps: Mapping[str, str]) -> Finding:
    """Returns a finding for a figure that one experiment lacks, or that is not known in all rounds of either."""
    phase, operation, figure = key
    metric = METRICS[figure]
    values = [getattr(rows[name], figure) if name in rows else None for name in (BEFORE, AFTER)]
    unit = " ms" if metric.unit == "ms" else ""
    texts = [UNKNOWN if value is None else f"{metric.write(value)}{unit}" for value in values]
    sides = [name if name not in gaps else f"{gaps[name]} {name}" for name in (BEFORE, AFTER) if name not in rows]
    reason = f"not known {' and '.join(sides)}{f': {_ENOUGH}' if figure == 'p99_ms' else ''}"
    samples = [[value] if value is not None else [] for value in values]
    name = metric.head if operation == OVERALL else f"{operation} {metric.head}"
    return finding(trial, phase, name, samples, texts, "inconclusive", reason)


def _zero(trial: Trial, key: Key, rows: Mapping[str, Row]) -> Finding:
    """Returns a finding for a rate that is 0 in all rounds of either experiment and therefore has no ratio."""
    values = [centre(rows[name], key[2]) for name in (BEFORE, AFTER)]
    verdict: ChangeVerdict = "within" if not any(values) else "improvement" if values[1] else "regression"
    reason = _single(rows)
    if not reason and any(values) and not all(samples(rows[AFTER if values[1] else BEFORE], key[2])):
        reason = _NO_RATIO
    names, texts = (key[0], METRICS[key[2]].head), list(map(rate, values))
    return finding(trial, *names, [[value] for value in values], texts, "inconclusive" if reason else verdict, reason)


def _single(rows: Mapping[str, Row]) -> str | None:
    """Returns a reason if `BEFORE` or `AFTER` has only one round or run, which cannot decide; otherwise None."""
    single = {name: row for name, row in rows.items() if row.sampled != "rounds"}
    runs = "round" if any(row.sampled == "runs" for row in single.values()) else "run"
    return f"one {runs} {'each' if len(single) > 1 else next(iter(single))}" if single else None


def _of_the_same_rate(first: Trial, second: Trial, phase: str, rows: Mapping[str, Row]) -> dict[str, Row]:
    """Returns the rows with their rates limited to the lower of the two target rates."""
    lowest = min((target for trial in (first, second) if (target := target_of(trial, phase))), default=math.inf)

    def reached(row: Row) -> Row:
        samples = [min(value, lowest) for value in row.ops_per_second_samples]
        return replace(
            row,
            ops_per_second=statistics.geometric(samples) if samples else min(row.ops_per_second or 0.0, lowest),
            ops_per_second_samples=samples,
        )

    return {name: reached(row) for name, row in rows.items()}


def _at_rates(change: Change, first: Trial, second: Trial, margin: float) -> Change:
    """Adds the rates to a latency if they differ, and rejects a verdict that a difference in rate may explain.

    In the phases `equal` and `own`, the target is derived from other figures, and latency rises with the rate. Only a
    latency that is worse at a lower rate, or not worse at a higher rate, says something about the system.
    """
    pair = change.pair
    rates = different_rates(first, second, pair.phase) if METRICS[pair.figure].unit == "ms" else None
    change = replace(change, at_rates=rates)
    if rates is None or pair.phase not in AT_RATE or min(rates) >= max(rates) * (1 - margin):
        return change
    if (change.verdict == "regression") == (rates[1] < rates[0]):
        return change
    reason = f"the rate was {'lower' if rates[1] < rates[0] else 'higher'} than before"
    return replace(change, verdict="inconclusive", rounds=None, reason=reason)


_RANKS: tuple[ChangeVerdict, ...] = ("regression", "inconclusive", "within", "improvement")


def _beside_hosts(change: Change, computed: Sequence[float], margin: float, *, has_target: bool) -> Change:
    """Returns the change, marked as inconclusive if a difference in the hosts' computing speed may explain it.

    :param computed: ratios of the hosts' computing speed, after / before
    :param has_target: True for a rate with a target, which does not rise with the hosts' speed
    """
    pair = change.pair
    for factor in computed:
        if pair.low is None or pair.high is None or change.verdict == "inconclusive":
            break
        scale = factor if METRICS[pair.figure].less_is_better else 1 / factor
        with_same_hosts = verdict(replace(pair, low=pair.low * scale, high=pair.high * scale), margin)
        better, worse = (_RANKS.index(text) for text in (with_same_hosts, change.verdict))
        explained = better > worse if change.verdict == "regression" else better < worse and not has_target
        if explained:
            reason = f"the hosts compute at {factor:.2f}\N{MULTIPLICATION SIGN} their earlier speed"
            return replace(change, verdict="inconclusive", rounds=None, reason=reason)
    return change


def verdict(pair: Pair, margin: float) -> ChangeVerdict:
    """Returns the verdict on a change, from the interval of its ratio. Higher rates and lower latencies are better."""
    if pair.low is None or pair.high is None:
        return "inconclusive"
    if 1 - margin <= pair.low and pair.high <= 1 + margin:
        return "within"
    less, more = pair.high < 1 - margin, pair.low > 1 + margin
    if not less and not more:
        return "inconclusive"
    return "improvement" if more != METRICS[pair.figure].less_is_better else "regression"


def judge(
    key: Key, rows: Mapping[str, Row], margin: float, rest: Sequence[tuple[Estimate, Estimate]] = ()
) -> tuple[Pair, ChangeVerdict, int | None, str | None]:
    """Returns the ratio (after / before), its verdict, the rounds that would decide, and the reason, as in `Change`.

    Samples within one round say nothing about the difference between rounds, so they cannot decide.

    :param rows: rows of `BEFORE` and `AFTER`
    :param rest: estimates of the other systems at the point, whose intervals are computed together with this ratio's
    """
    ratio = change(key, AFTER, BEFORE, rows, rest)
    if reason := _single(rows) or (_NO_RATIO if ratio.low is None else None):
        return ratio, "inconclusive", None, reason
    judgement = verdict(ratio, margin)
    if judgement != "inconclusive":
        return ratio, judgement, None, None
    distance = min(abs(math.log(ratio.ratio) - math.log(bound)) for bound in (1 - margin, 1 + margin))
    known_to = math.prod(1 + row.blur(key[2]) for row in rows.values()) - 1
    if math.log1p(known_to) > distance and known_to >= _VISIBLE:
        reason = f"no number of rounds would decide, as figures are known to {percent(known_to / 2)} at best"
        return ratio, judgement, None, reason
    means = estimates(key[2], rows[AFTER], rows[BEFORE])
    rounds = statistics.deciding(*means, distance, rest) if means else None
    count = f"more than {statistics.MOST_MORE}" if rounds is None else f"about {rounds}"
    return ratio, judgement, rounds, f"{count} rounds of each experiment would be needed"


def _by_place(summary: Summary) -> dict[tuple[str, str], Trial]:
    # Sort the dimensions, because scenario files may order them differently.
    return {(trial.system, point_name(dict(sorted(trial.point.items())))): trial for trial in summary.compared}


def _differences(before: _Side, after: _Side) -> Iterator[Difference]:
    """Yields the differences between two trials, or nothing if either has no round with numbers."""
    if not before.rounds or not after.rounds:
        return
    where = before.trial.system, before.trial.point
    listed: set[tuple[str, str, str]] = set()
    for (phase, name), values in _unlike(_conditions(before), _conditions(after)).items():
        listed.add((name.replace("_", ""), *values))
        # Other conditions, such as versions and heaps, may be the subject of the comparison.
        must_be_equal = name in CONDITIONS and bool(CONDITIONS[name].equal) and (phase, name) not in _MEASURED
        yield Difference(*where, phase, name, *values, must_be_equal)
    servers = [_together([round_.asked_servers for round_ in side.rounds]) for side in (before, after)]
    for name, values in _unlike(*servers).items():
        yield Difference(*where, None, name, *values, must_be_equal=False)
    for phase, name, values in _workload(before, after):
        # Skip settings that the clients reported as conditions.
        if (name.replace("_", ""), *values) not in listed:
            yield Difference(*where, phase, name, *values, must_be_equal=True)


def _conditions(of_side: _Side) -> dict[tuple[str | None, str], str]:
    """Returns the conditions by phase (None for all) and name; times are means of all rounds."""
    names = [name for name, condition in CONDITIONS.items() if condition.over_rounds != "most"]
    conditions: list[dict[tuple[str | None, str], str]] = []
    for round_ in of_side.rounds:
        sources = {name: of_side.trial if CONDITIONS[name].over_rounds == "mean" else round_ for name in names}
        conditions.append({(None, name): _said(name, getattr(sources[name].conditions, name)) for name in names})
        conditions[-1] |= {(phase, name): _said(name, value) for (phase, name), value in _flat(round_.by_phase).items()}
        if hosts := {use.host: use.cpus for use in round_.hosts}:
            texts = (f"{host} ({cpus or 'unknown'} CPUs)" for host, cpus in sorted(hosts.items()))
            conditions[-1][None, "hosts"] = ", ".join(texts)
    return _together(conditions)


def _workload(before: _Side, after: _Side) -> Iterator[tuple[str | None, str, tuple[str, str]]]:
    """Yields phase (None for all phases), name and both values of each setting that differs in a common phase."""
    one, other = (_together([_flat(round_.asked_workload) for round_ in side.rounds]) for side in (before, after))
    common = {phase for phase, _ in one} & {phase for phase, _ in other}
    of_names: dict[str, dict[str, tuple[str, str]]] = {}
    for (phase, name), values in _unlike(one, other).items():
        if phase in common and (phase, name) not in _MEASURED:
            of_names.setdefault(name, {})[phase] = values
    for name, of_phases in of_names.items():
        alike = set(of_phases.values())
        if len(alike) == 1 and len(of_phases) > 1:
            yield None, name, alike.pop()
        else:
            yield from ((phase or None, name, values) for phase, values in of_phases.items())


def _together(rounds: Sequence[Mapping[_Place, str]]) -> dict[_Place, str]:
    """Returns the distinct values of each setting in all rounds."""
    values: dict[_Place, str] = {}
    for key in dict.fromkeys(key for settings in rounds for key in settings):
        # The first round may lack the phase `equal`.
        may_lack = isinstance(key, tuple) and key[0] == EQUAL
        texts = dict.fromkeys(settings.get(key, "unknown") for settings in rounds if key in settings or not may_lack)
        values[key] = " and ".join(texts)
    return values


def _flat(of_phases: Mapping[str, Mapping[str, T]]) -> dict[tuple[str, str], T]:
    return {(phase, name): value for phase, values in of_phases.items() for name, value in values.items()}


def _unlike(one: Mapping[_Place, str], other: Mapping[_Place, str]) -> dict[_Place, tuple[str, str]]:
    pairs = {key: (one.get(key, "unknown"), other.get(key, "unknown")) for key in dict.fromkeys([*one, *other])}
    return {key: values for key, values in pairs.items() if values[0] != values[1]}


def _said(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    # A window ends with the last operation that began in it, so fractions of a second vary.
    return f"{value:.0f}" if name.endswith("_seconds") else plain(value)
