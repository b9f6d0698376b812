"""Two experiments compared: before and after an upgrade, or on two machines. Trials are paired by system and point."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from dohyo.evidence.rows import PROBE, Row
from dohyo.figures import point_name
from dohyo.summary.comparison import Key, figures, maximum, pair, searches_of
from dohyo.summary.results import Conditions, Pair, Summary, Trial
from dohyo.summary.summary import FAIR

Verdict = Literal["regression", "improvement", "tie", "unknown"]
BEFORE, AFTER = "before", "after"
# A change below this is none: hosts that are within it count as the same (canary), and a new build moves code about.
MARGIN = 0.05
# Conditions without which the comparison says nothing; others, such as versions and heaps, may be what it is about.
MUST_BE_EQUAL = (*FAIR, "nodes", "target", "scale")
# What the measurement brings with it.
_FIGURES = ("start_skew_ms", "end_skew_ms", "clock_error_ms")


@dataclass(frozen=True)
class Change:
    """One figure of a system at a point, before and after.

    :ivar pair: what it is after by what it was before
    :ivar verdict: regression: worse by more than the margin, with the whole interval; improvement likewise; tie:
        neither of them; unknown: there is no interval
    """

    system: str
    point: dict[str, str]
    before: float
    after: float
    pair: Pair
    verdict: Verdict


@dataclass(frozen=True)
class Difference:
    """A condition that is not the same, in words; of all phases together or of one.

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
    """What two experiments come to.

    :ivar before: name of the first one
    :ivar margin: as given to `compare`
    :ivar problems: trials of which there is nothing to compare, and why
    :ivar single: what is in one of the two experiments alone
    """

    before: str
    after: str
    margin: float
    changes: list[Change] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """3: a regression; 1: something has no valid numbers, or none that can be judged; 0: all is well."""
        verdicts = {change.verdict for change in self.changes}
        if "regression" in verdicts:
            return 3
        return 1 if self.problems or not verdicts or "unknown" in verdicts else 0

    def json(self) -> str:
        """As in docs/summary-json.md."""
        return json.dumps({**asdict(self), "exit_code": self.exit_code}, indent=2, ensure_ascii=False) + "\n"


def compare(before: Summary, after: Summary, margin: float = MARGIN) -> Changes:
    """What has changed from one experiment to the other.

    :param margin: share of a figure that a change must be beyond, with its whole interval
    """
    left, right = _by_place(before), _by_place(after)
    result = Changes(before.name, after.name, margin)
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
        result.changes.extend(_change(first, key, of, margin) for key in common)
        if common:
            result.differences.extend(_differences(first, second))
            result.differences.extend(_other_bounds(first, before, second, after))
        for summary, trial in ((before, first), (after, second)):
            where = f"{_name(trial)} in {summary.name}"
            if trial.status != "ok":
                result.problems.append(f"{where}: {trial.status}: {trial.reason or 'no results'}")
            futile = (each for each in searches_of(trial, summary.trials) if not each.maximum)
            result.problems.extend(f"{where}: {search.conclusion}" for search in futile)
        if first.status == second.status == "ok" and not common:
            result.problems.append(f"{_name(first)}: no phase is in both and has a rate")
    return result


def verdict(of: Pair, margin: float) -> Verdict:
    """What a change is: more is better of rates, less of latencies."""
    if of.low is None or of.high is None:
        return "unknown"
    less, more = of.high < 1 - margin, of.low > 1 + margin
    if not less and not more:
        return "tie"
    return "improvement" if more == (of.figure != "p99_ms") else "regression"


def _by_place(summary: Summary) -> dict[tuple[str, str], Trial]:
    return {(trial.system, point_name(trial.point)): trial for trial in summary.compared}


def _name(trial: Trial) -> str:
    return f"{trial.system} {point_name(trial.point)}".rstrip()


def _change(trial: Trial, key: Key, of: Mapping[str, Mapping[Key, Row]], margin: float) -> Change:
    rows = {name: found[key] for name, found in of.items()}
    ratio = pair(key, AFTER, BEFORE, rows)
    return Change(
        system=trial.system,
        point=trial.point,
        before=getattr(rows[BEFORE], key[2]),
        after=getattr(rows[AFTER], key[2]),
        pair=ratio,
        verdict=verdict(ratio, margin),
    )


def _differences(before: Trial, after: Trial) -> Iterator[Difference]:
    """The conditions that differ."""
    names = [each.name for each in fields(Conditions) if each.name not in _FIGURES]
    left, right = (
        {(None, name): getattr(trial.conditions, name) for name in names}
        | {(phase, name): value for phase, own in trial.by_phase.items() for name, value in own.items()}
        for trial in (before, after)
    )
    for place in dict.fromkeys([*left, *right]):
        phase, name = place
        one, other = _said(name, left.get(place)), _said(name, right.get(place))
        if one != other:
            yield Difference(before.system, before.point, phase, name, one, other, name in MUST_BE_EQUAL)


def _other_bounds(first: Trial, before: Summary, second: Trial, after: Summary) -> Iterator[Difference]:
    """The bounds under which the highest rate was searched for, if they differ; nothing where one has not searched."""
    one, other = (
        " and ".join(dict.fromkeys(search.slo for search in searches_of(trial, summary.trials)))
        for trial, summary in ((first, before), (second, after))
    )
    if one and other and one != other:
        yield Difference(first.system, first.point, PROBE, "slo", one, other, must_be_equal=True)


def _said(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    # A window ends when the operations do that began in it.
    return f"{value:.0f}" if name.endswith("_seconds") else str(value)
