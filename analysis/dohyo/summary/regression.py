"""Two experiments compared: before and after an upgrade, or on two machines. Trials are paired by system and point.

docs/method.md#two-experiments says what may differ between them, and what the outcomes and exit codes mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeVar

from dohyo import statistics
from dohyo.figures import percent, point_name
from dohyo.metrics import METRICS, Row
from dohyo.scenario.phases import AT_RATE, EQUAL
from dohyo.scenario.properties import plain
from dohyo.summary.comparison import (
    Key,
    different_rates,
    equal_rate,
    figures,
    maximum,
    pair,
    same_target,
    samples,
    searches_of,
)
from dohyo.summary.fault_changes import FaultChange, fault_changes
from dohyo.summary.results import ChangeVerdict, Conditions, Pair, Summary, Trial
from dohyo.summary.summary import FAIR

BEFORE, AFTER = "before", "after"
# A smaller change counts as none: hosts within it count as the same (canary), and a new build moves code around.
MARGIN = 0.05
# Conditions without which the comparison says nothing, and so is all of the workload; others, such as versions and
# heaps, may be what it is about.
MUST_BE_EQUAL = (*FAIR, "nodes", "target", "scale", "write_copies", "read_copies", "loop", "faults")
# Conditions that the measurement itself causes.
_FIGURES = ("connections", "start_skew_ms", "end_skew_ms", "clock_error_ms", "other_cpu", "stolen_cpu")
# A rate that follows from what was measured may be another one each time: then its latencies are not compared.
_MEASURED = {(phase, "target") for phase in AT_RATE}
_Place = TypeVar("_Place", bound=Hashable)


@dataclass(frozen=True)
class Change:
    """One figure of a system at a point, before and after.

    :ivar pair: what it is after by what it was before
    :ivar verdict: within: the whole interval lies within the margin; regression, improvement: all of it lies beyond, on
        the worse or the better side; inconclusive: neither, or there are no several rounds of both
    :ivar rounds: with so many of each it is likely to be decided; None also where no number of them is known
    :ivar reason: why it is inconclusive, in words
    :ivar at_rates: of a latency, operations per second before and after, where they are not the same
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
    """What was not the same, in words; of all phases together or of one.

    :ivar condition: name of a condition, a property or a role's variable
    :ivar must_be_equal: whether the comparison says nothing because of it
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

    :ivar before: name of the first one
    :ivar margin: as given to `compare`
    :ivar forced: compared all the same
    :ivar changes: none of experiments that cannot be compared
    :ivar faults: what faults cost, in the same way
    :ivar problems: trials with nothing to compare, and why
    :ivar single: what is in one of the two experiments alone, or cannot be compared
    """

    before: str
    after: str
    margin: float
    forced: bool = False
    changes: list[Change] = field(default_factory=list)
    faults: list[FaultChange] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)

    @property
    def comparable(self) -> bool:
        """Whether all is equal that must be, or was to be compared all the same."""
        return self.forced or not any(each.must_be_equal for each in self.differences)

    @property
    def exit_code(self) -> int:
        """As in docs/method.md#two-experiments: what comes first there outranks the others."""
        verdicts = {change.verdict for change in self.changes} | {change.verdict for change in self.faults} - {None}
        if not self.comparable:
            return 4
        if "regression" in verdicts:
            return 3
        if self.problems or not verdicts:
            return 1
        return 5 if "inconclusive" in verdicts else 0

    def json(self) -> str:
        """As in docs/summary-json.md."""
        return json.dumps({**asdict(self), "exit_code": self.exit_code}, indent=2, ensure_ascii=False) + "\n"


def compare(before: Summary, after: Summary, margin: float = MARGIN, *, force: bool = False) -> Changes:
    """The changes from one experiment to the other.

    :param margin: share of a figure within which a change counts as none
    :param force: compare also what differs where it must not
    """
    left, right = _by_place(before), _by_place(after)
    result = Changes(before.name, after.name, margin, force)
    for name, places, others in ((before.name, left, right), (after.name, right, left)):
        result.single.extend(f"{_name(trial)} is in {name} alone" for at, trial in places.items() if at not in others)
    for first, second in ((trial, right[at]) for at, trial in left.items() if at in right):
        if first.status == second.status == "skipped":
            result.single.append(f"{_name(first)} was skipped in both: {second.reason}")
            continue
        of = {
            BEFORE: figures(first) | maximum(first, before.trials),
            AFTER: figures(second) | maximum(second, after.trials),
        }
        common = [key for key in of[BEFORE] if key in of[AFTER]]
        for phase in AT_RATE:
            if any(key[0] == phase for key in common) and equal_rate((first, second), phase) is None:
                why = "they were not at the same rate before and after, or it was not reached"
                result.single.append(f"{_name(first)}: latencies of {phase} are not compared: {why}")
                common = [key for key in common if key[0] != phase]
        for key in common:
            rates = different_rates(first, second, key[0]) if METRICS[key[2]].unit == "ms" else None
            result.changes.append(replace(_change(first, key, of, margin), at_rates=rates))
        rounds = _rounds(first, before), _rounds(second, after)
        other_rates = [phase for phase in AT_RATE if not same_target(first, second, phase)]
        result.faults.extend(fault_changes(*rounds, margin, other_rates))
        result.differences.extend(_differences(first, rounds[0], second, rounds[1]))
        for summary, trial in ((before, first), (after, second)):
            where = f"{_name(trial)} in {summary.name}"
            if trial.status != "ok":
                result.problems.append(f"{where}: {trial.status}: {trial.reason or 'no results'}")
            futile = (each for each in searches_of(trial, summary.trials) if not each.maximum)
            result.problems.extend(f"{where}: {search.conclusion}" for search in futile)
        if first.status == second.status == "ok" and not common:
            result.problems.append(f"{_name(first)}: no phase is in both and has a rate")
    return result if result.comparable else replace(result, changes=[], faults=[])


def verdict(of: Pair, margin: float) -> ChangeVerdict:
    """The verdict of an interval over rounds: for rates more is better, for latencies less."""
    if of.low is None or of.high is None:
        return "inconclusive"
    if 1 - margin <= of.low and of.high <= 1 + margin:
        return "within"
    less, more = of.high < 1 - margin, of.low > 1 + margin
    if not less and not more:
        return "inconclusive"
    return "improvement" if more != METRICS[of.figure].less_is_better else "regression"


def judge(key: Key, rows: Mapping[str, Row], margin: float) -> tuple[Pair, ChangeVerdict, int | None, str | None]:
    """The ratio of a figure after to that before, its verdict, and as `Change` has it, what would decide it, and why.

    Whatever is within one round says nothing of what differs from round to round, so that it decides nothing.

    :param rows: of `BEFORE` and `AFTER`
    """
    ratio = pair(key, AFTER, BEFORE, rows)
    single = {name: row for name, row in rows.items() if row.sampled != "rounds"}
    if single:
        runs = "round" if any(row.sampled == "runs" for row in single.values()) else "run"
        return ratio, "inconclusive", None, f"one {runs} {'each' if len(single) > 1 else next(iter(single))}"
    found = verdict(ratio, margin)
    if found != "inconclusive":
        return ratio, found, None, None
    distance = min(abs(math.log(ratio.ratio) - math.log(bound)) for bound in (1 - margin, 1 + margin))
    known_to = math.prod(1 + row.blur(key[2]) for row in rows.values()) - 1
    if math.log1p(known_to) > distance:
        return (
            ratio,
            found,
            None,
            f"no number of rounds decides, as figures are known to {percent(known_to / 2)} at best",
        )
    above, below = (
        statistics.logarithms(samples(rows[name], key[2]), rows[name].confidence) for name in (AFTER, BEFORE)
    )
    rounds = statistics.deciding(above, below, distance) if above and below else None
    if rounds is None:
        return ratio, found, None, f"more than {statistics.MOST_MORE} rounds each would decide"
    return ratio, found, rounds, f"about {rounds} rounds each would decide"


def _by_place(summary: Summary) -> dict[tuple[str, str], Trial]:
    return {(trial.system, point_name(trial.point)): trial for trial in summary.compared}


def _name(trial: Trial) -> str:
    return f"{trial.system} {point_name(trial.point)}".rstrip()


def _rounds(trial: Trial, summary: Summary) -> list[Trial]:
    """Those of its rounds that have numbers: what is compared is what all of them were."""
    place = (trial.system, trial.point, "ok")
    return [each for each in summary.trials if (each.system, each.point, each.status) == place]


def _change(trial: Trial, key: Key, of: Mapping[str, Mapping[Key, Row]], margin: float) -> Change:
    rows = {name: found[key] for name, found in of.items()}
    before, after = (getattr(rows[name], key[2]) for name in (BEFORE, AFTER))
    return Change(trial.system, trial.point, before, after, *judge(key, rows, margin))


def _differences(first: Trial, before: Sequence[Trial], second: Trial, after: Sequence[Trial]) -> Iterator[Difference]:
    """The differences between two trials with these rounds; none if one has no round with numbers."""
    if not before or not after:
        return
    told: set[tuple[str, str, str]] = set()
    one, other = _conditions(first, before), _conditions(second, after)
    for (phase, name), values in _unlike(one, other).items():
        told.add((name.replace("_", ""), *values))
        measured = (phase, name) in _MEASURED
        yield Difference(first.system, first.point, phase, name, *values, name in MUST_BE_EQUAL and not measured)
    servers = [_together([each.asked.servers for each in rounds]) for rounds in (before, after)]
    for name, values in _unlike(*servers).items():
        yield Difference(first.system, first.point, None, name, *values, must_be_equal=False)
    for phase, name, values in _workload(before, after):
        # What the clients have reported is a condition already.
        if (name.replace("_", ""), *values) not in told:
            yield Difference(first.system, first.point, phase, name, *values, must_be_equal=True)


def _conditions(trial: Trial, rounds: Sequence[Trial]) -> dict[tuple[str | None, str], str]:
    """The conditions by phase, or None, and name; times are means of all rounds."""
    names = [each.name for each in fields(Conditions) if each.name not in _FIGURES]
    found: list[dict[tuple[str | None, str], str]] = []
    for each in rounds:
        of = {name: trial if name.endswith("_seconds") else each for name in names}
        found.append({(None, name): _said(name, getattr(of[name].conditions, name)) for name in names})
        found[-1] |= {
            (phase, name): _said(name, value) for phase, own in each.by_phase.items() for name, value in own.items()
        }
        if hosts := {use.host: use.cpus for use in each.hosts}:
            said = (f"{host} ({cpus or 'unknown'} CPUs)" for host, cpus in sorted(hosts.items()))
            found[-1][None, "hosts"] = ", ".join(said)
    return _together(found)


def _workload(before: Sequence[Trial], after: Sequence[Trial]) -> Iterator[tuple[str | None, str, tuple[str, str]]]:
    """The settings that differ, in the phases that both have: phase (None: all alike), name and values."""
    one, other = (
        _together(
            [
                {(phase, name): value for phase, own in each.asked.workload.items() for name, value in own.items()}
                for each in rounds
            ]
        )
        for rounds in (before, after)
    )
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
    """The values of all rounds, each once."""
    places = dict.fromkeys(place for each in rounds for place in each)
    values = {
        place: dict.fromkeys(each.get(place, "unknown") for each in rounds if place in each or not _is_of_equal(place))
        for place in places
    }
    return {place: " and ".join(each) for place, each in values.items()}


def _is_of_equal(place: Hashable) -> bool:
    """Whether it is of the phase that the first round may not have."""
    return isinstance(place, tuple) and place[0] == EQUAL


def _unlike(one: Mapping[_Place, str], other: Mapping[_Place, str]) -> dict[_Place, tuple[str, str]]:
    pairs = {place: (one.get(place, "unknown"), other.get(place, "unknown")) for place in dict.fromkeys([*one, *other])}
    return {place: values for place, values in pairs.items() if values[0] != values[1]}


def _said(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    # A window ends when the operations do that began in it.
    return f"{value:.0f}" if name.endswith("_seconds") else plain(value)
