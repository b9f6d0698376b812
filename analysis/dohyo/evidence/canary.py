"""Compares the canaries: the measurements of the hosts before each trial. docs/method.md describes them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dohyo.evidence.records import CanaryFile, CanaryReading
from dohyo.figures import listed, milliseconds, rate, size

# Maximum relative difference between a trial's median and that of all trials. A larger difference is a drift.
DRIFT = 0.05
# Minimum number of time slices for `Drift.certain`. With fewer, ranges are disjoint by chance in over 1 % of cases.
LEAST_SLICES = 5
# Largest plausible value, in any unit; its inverse is the smallest one. Values outside are damaged and left out.
_MOST = 1e15
_MOST_TOLD = 8  # maximum number of drifts in the report; summary.json contains all of them

# For each figure: its group, and the beginning of a sentence about a drift.
_WORDS = {
    "cpu_one": ("CPU", "computing on one thread was"),
    "cpu_all": ("CPU", "computing on all threads was"),
    "memory": ("memory", "copying memory was"),
    "disk_write": ("disk", "sequential disk writes were"),
    "disk_fsync": ("disk", "disk writes with fsync were"),
    "disk_read": ("disk", "random disk reads were"),
    "rtt": ("network", "round trips were"),
    "throughput": ("network", "sending was"),
}


@dataclass(frozen=True)
class CanaryFigure:
    """A figure that was measured on a host before a trial."""

    host: str
    name: str  # key of `_WORDS`
    of: str | None  # the measured folder, or the server at the other end of the connection; None if there is only one
    unit: str  # 1/s, B/s or ms
    median: float  # median of the values in the time slices; `low` and `high` are the minimum and the maximum
    low: float
    high: float
    slices: int  # number of time slices

    @property
    def group(self) -> str:
        """Returns the group of the figure: CPU, memory, disk or network."""
        return _WORDS[self.name][0]

    @property
    def where(self) -> str:
        """Describes what was measured: the host and, if there are several, the folder or the host at the other end."""
        if self.of is None:
            return self.host
        return f"{self.host} to {self.of}" if self.group == "network" else f"{self.host} {self.of}"


@dataclass(frozen=True)
class Canary:
    """The measurements of all hosts before one trial."""

    at: str | None  # time at which the measurements ended, in UTC and ISO 8601
    figures: list[CanaryFigure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # measurements that failed, each with its reason


@dataclass(frozen=True)
class Drift:
    """A figure of a host before one trial, compared with its usual value."""

    trial: str
    host: str
    figure: str
    of: str | None
    unit: str
    value: float  # median before the trial
    usual: float  # median over the trials
    change: float  # relative change, `value / usual - 1`
    certain: bool  # whether both values have at least `LEAST_SLICES` time slices, and the slices' ranges are disjoint
    what: str  # a sentence that describes the drift


@dataclass(frozen=True)
class Comparison:
    """The result of comparing the canaries of an experiment's trials."""

    trials: int  # number of trials with a canary
    same: list[str]  # groups of figures (CPU, memory, disk, network) that changed by at most `DRIFT` on all hosts
    unsteady: list[str]  # groups that changed by more than `DRIFT`, but whose time slices vary too much to be certain
    largest: Drift  # largest difference of any figure
    drifts: list[Drift]  # certain differences above `DRIFT`, the largest first

    def headline(self) -> str:
        """Returns a summary of all groups in one line. If there are drifts, `sentences` describes them."""
        group = _WORDS[self.largest.figure][0]
        drifted = list(dict.fromkeys(_WORDS[drift.figure][0] for drift in self.drifts))
        parts = [
            f"{listed(drifted)} not the same" if drifted else "",
            f"{listed(self.same)} the same within {_percent(DRIFT)}" if self.same else "",
            f"{listed(self.unsteady)} too unsteady to tell" if self.unsteady else "",
            "" if drifted else f"largest drift {_percent(self.largest.change, 1)} ({group} of {self.largest.host})",
        ]
        return f"hosts before each trial: {'; '.join(filter(None, parts))}"

    def sentences(self) -> list[str]:
        """Returns a sentence for each of the `_MOST_TOLD` largest drifts, and one with the number of other drifts."""
        sentences = [drift.what for drift in self.drifts[:_MOST_TOLD]]
        rest = len(self.drifts) - len(sentences)
        return [*sentences, f"{rest} smaller drifts are in summary.json"] if rest > 0 else sentences


def read(content: CanaryFile) -> Canary | None:
    """Converts a trial's `canary.json`. Returns None if it is empty."""
    if content == CanaryFile():
        return None
    parts = [*content.hosts.items(), *content.network.items()]
    return Canary(
        at=content.at or None,
        figures=[figure for host, part in parts for figure in _figures(host, part.figures)],
        problems=[f"{host}: {problem}" for host, part in parts for problem in part.problems],
    )


def _figures(host: str, readings: Sequence[CanaryReading]) -> Iterator[CanaryFigure]:
    for reading in readings:
        slices = [value for value in reading.slices if 1 / _MOST < value < _MOST]
        if reading.name in _WORDS and slices:
            extent = (statistics.median(slices), min(slices), max(slices), len(slices))
            yield CanaryFigure(host, reading.name, reading.of or None, reading.unit, *extent)


def compare(canaries: Mapping[str, Canary | None]) -> Comparison | None:
    """Compares each figure of each host across the trials. Returns None if no figure was measured more than once.

    :param canaries: canary of each trial, in the order of the trials
    """
    existing = {trial: canary for trial, canary in canaries.items() if canary is not None}
    figures: dict[tuple[str, str, str | None], dict[str, CanaryFigure]] = {}
    for trial, canary in existing.items():
        for figure in canary.figures:
            figures.setdefault((figure.host, figure.name, figure.of), {})[trial] = figure
    changes = [drift for of_trials in figures.values() if len(of_trials) > 1 for drift in _drifts(of_trials)]
    if not changes:
        return None
    changes.sort(key=lambda drift: -abs(drift.change))
    beyond = [drift for drift in changes if abs(drift.change) > DRIFT]
    drifts = [drift for drift in beyond if drift.certain]
    measured, unsure, drifted = ({_WORDS[drift.figure][0] for drift in some} for some in (changes, beyond, drifts))
    groups = list(dict.fromkeys(group for group, _ in _WORDS.values()))
    return Comparison(
        trials=len(existing),
        same=[group for group in groups if group in measured - unsure],
        unsteady=[group for group in groups if group in unsure - drifted],
        largest=changes[0],
        drifts=drifts,
    )


def _drifts(of_trials: Mapping[str, CanaryFigure]) -> list[Drift]:
    """Compares the values of one host's figure before each trial with its usual value."""
    figures = list(of_trials.values())
    # Use the median, so that one unusual trial neither hides nor causes a drift. If the number of trials is even, use
    # the better of the two middle values: a mean would halve the difference between alternating trials (A B A B).
    middle = statistics.median_low if figures[0].unit == "ms" else statistics.median_high
    extent = {name: middle(getattr(figure, name) for figure in figures) for name in ("median", "low", "high")}
    usual = replace(figures[0], **extent, slices=statistics.median_low(figure.slices for figure in figures))
    return [_drift(trial, figure, usual, list(of_trials)) for trial, figure in of_trials.items()]


def _drift(trial: str, figure: CanaryFigure, usual: CanaryFigure, trials: Sequence[str]) -> Drift:
    change = figure.median / usual.median - 1
    more, less = ("longer", "shorter") if figure.unit == "ms" else ("faster", "slower")
    shift = f"{_percent(change)} {more if change > 0 else less}"
    basis = f"before {trials[1 - trials.index(trial)]}" if len(trials) == 2 else f"the median of {len(trials)} trials"
    value, of_usual = _written(figure.unit, figure.median), _written(figure.unit, usual.median)
    return Drift(
        trial=trial,
        host=figure.host,
        figure=figure.name,
        of=figure.of,
        unit=figure.unit,
        value=figure.median,
        usual=usual.median,
        change=change,
        certain=min(figure.slices, usual.slices) >= LEAST_SLICES
        and (figure.high < usual.low or figure.low > usual.high),
        what=f"{figure.where}: {_WORDS[figure.name][1]} {shift} before {trial} ({value}) than {basis} ({of_usual})",
    )


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * abs(share):.{digits}f} %"


def _written(unit: str, value: float) -> str:
    """Formats the value with its unit."""
    if unit == "ms":
        return f"{milliseconds(value)} ms"
    return f"{size(value)}/s" if unit == "B/s" else f"{rate(value)}/s"
