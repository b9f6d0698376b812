"""The results: rows of numbers, the trials that they belong to, and their written forms.

The schema of `summary.json` is described in docs/summary-json.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from dohyo.evidence.accounting import Accounting
from dohyo.evidence.canary import Canary, Comparison
from dohyo.evidence.conducted import Client, Node
from dohyo.evidence.events import Event
from dohyo.evidence.host_metrics import SERIES, HostMetrics, HostUse, Taken
from dohyo.evidence.load_curve import LoadCurve
from dohyo.evidence.servers import Server, Span
from dohyo.evidence.under_fault import FaultedRun
from dohyo.figures import point_name
from dohyo.metrics import Row, Samples
from dohyo.scenario.phases import LOAD, PROBE
from dohyo.scenario.published import Published
from dohyo.statistics import ALIKE
from dohyo.summary.asked import Asked
from dohyo.summary.conditions import CONDITIONS, Conditions
from dohyo.summary.probes import Search

SCHEMA_VERSION = 2
# ok: measured. incomplete: a log from elsewhere that breaks off. The others have a reason instead of numbers.
Status = Literal["ok", "incomplete", "invalid", "failed", "interrupted", "skipped", "pending", "running"]

# What a figure of two experiments comes to (docs/method.md#two-experiments).
ChangeVerdict = Literal["regression", "improvement", "within", "inconclusive"]
# The compared rate: records, because systems may have different batches; operations if records are not known.
Figure = Literal["records_per_second", "ops_per_second", "p50_ms", "p99_ms"]
# A tie whose interval reaches beyond this factor, either way, is none: nobody can tell.
WIDEST_TIE = 1.5


@dataclass(frozen=True)
class Trial:
    """One system at one point of the matrix: its numbers or the reason why there are none."""

    name: str
    system: str
    title: str
    status: Status
    reason: str | None = None
    point: dict[str, str] = field(default_factory=dict)  # of the matrix: dimension -> value
    round: int | None = None  # from 1, where there are several; None also for what is merged from all of them
    conditions: Conditions = field(default_factory=Conditions)
    by_phase: dict[str, dict[str, Any]] = field(default_factory=dict)  # what differs: phase -> condition
    deviations: list[str] = field(default_factory=list)  # where the server is not what the scenario asked for
    exceeded: dict[str, str] = field(default_factory=dict)  # condition -> asked, if it gives more and cannot give less
    notes: list[str] = field(default_factory=list)
    accounting: Accounting | None = None  # what became of acknowledged writes, in all runs
    faults: list[FaultedRun] = field(default_factory=list)  # what faults did to each run that counts and has some
    rows: list[Row] = field(default_factory=list)  # of the whole cluster
    load_is_measured: bool = False  # its rows are of what was to be measured
    target_is_known: bool = True  # logs of others may not tell whether there was a target rate
    trends: dict[str, float] = field(default_factory=dict)  # phase -> throughput of its last third by that of its first
    collapses: list[str] = field(default_factory=list)  # when the throughput was low for 10 s or more
    level_changes: list[str] = field(default_factory=list)  # when the throughput of long runs went to another level
    system_failed: bool = False  # under load: too many errors, no success any more, or a server that ended
    warmups: dict[str, float] = field(default_factory=dict)  # run (run-1, …) -> seconds of its warm-up
    cold: list[str] = field(default_factory=list)  # runs that were still not steady when warmuptime ended
    load: LoadCurve | None = None  # rows against seconds
    clients: list[Client] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)  # what they say themselves
    hosts: list[HostUse] = field(default_factory=list)  # processors, memory, disks and network
    taken: list[Taken] = field(default_factory=list)  # of their processors, by others than us, in each run that counts
    host_metrics: HostMetrics | None = field(default=None, compare=False, repr=False)  # where that is read by second
    spans: list[Span] = field(default_factory=list, compare=False, repr=False)  # what the servers were busy with
    asked: Asked = field(default=Asked(), compare=False, repr=False)  # trial.json has it
    configured: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # conditions.json has it
    events: list[Event] = field(default_factory=list)
    canary: Canary | None = None  # what the hosts could do before it
    search: Search | None = None  # for the highest rate under bounds; also what came of it in a trial that is not ok

    def is_aside(self, row: Row) -> bool:
        """Whether a row is beside what was to be measured: of the load before it, or of runs that do not count."""
        return row.discarded or (row.phase == LOAD and not self.load_is_measured)

    def usd_per_million(self, ops_per_second: float | None) -> float | None:
        """US dollars for a million operations at this rate, of the servers' hosts alone; None: not known."""
        price = self.conditions.usd_per_hour
        return price / 3600 / ops_per_second * 1e6 if price is not None and ops_per_second else None

    @property
    def serving(self) -> set[str]:
        """The hosts on which servers of it ran."""
        return {node.host for node in self.nodes if node.memory_mb is not None}


@dataclass(frozen=True)
class Pair:
    """A figure of one trial by that of another one at the same point.

    :ivar of: name of the trial whose figure is divided by that of `to`
    :ivar low: 95 % confidence interval of the ratio, from here to `high`; None: either has a single run
    :ivar tie: whether the interval includes 1; None without an interval: neither a tie nor a difference
    :ivar sampled: what the interval is over, of the two trials what says less
    :ivar samples: how many, of the trial that has fewer
    """

    phase: str
    operation: str
    figure: Figure
    of: str
    to: str
    ratio: float
    low: float | None = None
    high: float | None = None
    tie: bool | None = None
    sampled: Samples | None = None
    samples: int = 0

    @property
    def is_unclear(self) -> bool:
        """Whether the interval includes 1 and is too wide to say that the two are alike."""
        wide = self.low is not None and self.high is not None and (self.low < 1 / WIDEST_TIE or self.high > WIDEST_TIE)
        return bool(self.tie) and wide

    @property
    def inverse(self) -> Pair:
        """The other one by this one."""
        low, high = (None if end is None else 1 / end if end else math.inf for end in (self.high, self.low))
        return replace(self, of=self.to, to=self.of, ratio=1 / self.ratio, low=low, high=high)


# What two neighbours in a ranking are: the interval of their ratio is above 1 (of latencies below), within `alike`, or
# neither.
Outcome = Literal["faster", "alike", "open"]


@dataclass(frozen=True)
class Neighbours:
    """Two trials that follow each other in the ranking of a figure at a point.

    :ivar pair: the one that is ahead by the other one
    :ivar more: the number of further rounds that would decide the pair; None: it is decided, or no number is known
    """

    pair: Pair
    outcome: Outcome
    more: int | None = None


def without_interval(pairs: Sequence[Pair]) -> str:
    """Which of their sides has no interval, in words."""
    if any(pair.samples > 1 for pair in pairs):
        return "a round at a rate of 0"
    return "a single search" if all(pair.phase == PROBE for pair in pairs) else "a single run"


@dataclass(frozen=True)
class Shortfall:
    """A rate that is not known as exactly as was asked.

    :ivar trial: name of what is compared: a system at its point
    :ivar half: half of its interval as a share of the mean; None: a single round has none
    :ivar rounds: that are valid
    :ivar more: about so many further ones would do; None: not known, or more than `statistics.MOST_MORE`
    """

    trial: str
    phase: str
    half: float | None
    rounds: int
    more: int | None


# Why no further round was begun: every rate is exact enough, all neighbours are decided, or a limit was reached.
Ended = Literal["precision", "decided", "budget", "rounds.max"]


@dataclass(frozen=True)
class Precision:
    """What was to end the rounds, and which rates are not known as exactly.

    :ivar asked: half of the interval of every rate that decides, as a share of the mean; None: rounds were to go on
        until all neighbours in the ranking are decided
    :ivar ended: None: the rounds were not measured to their end
    """

    asked: float | None
    ended: Ended | None = None
    short: list[Shortfall] = field(default_factory=list)


@dataclass(frozen=True)
class SetupDifference:
    """One thing that is not as it was published.

    :ivar at: where it was so, in words, as in `system=hbase`; empty: everywhere
    :ivar here: ours, in words; None: not known
    """

    group: str
    what: str
    at: str
    published: str
    here: str | None


@dataclass(frozen=True)
class SetupDifferences:
    """What differs from one published experiment.

    :ivar published: its name
    :ivar settings: how much of its setup is published, and so can differ
    """

    published: str
    settings: int
    found: list[SetupDifference]


@dataclass(frozen=True)
class Summary:
    """All trials of an experiment, or all groups of logs of `dohyo tabulate`."""

    name: str
    trials: list[Trial]
    merged: list[Trial] = field(default_factory=list)  # with several rounds: a system at a point, over all of them
    comparisons: list[Pair] = field(default_factory=list)  # the best of each point against the others
    neighbours: list[Neighbours] = field(default_factory=list)  # in each ranking of rates or of latencies
    alike: float = ALIKE  # neighbours are alike if the interval of their ratio is within that share
    round_seconds: float | None = None  # how long a round of all trials takes; None: not known
    unequal: dict[str, dict[str, str]] = field(default_factory=dict)  # condition -> trial -> value
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # `file:line: what` of logs that could not be read whole
    canary: Comparison | None = None  # were the hosts the same before all trials?
    precision: Precision | None = None  # None: none was asked for, and the scenario counts the rounds
    published: list[Published] = field(default_factory=list)  # by others, on other hardware: a reference alone
    differences: list[SetupDifferences] = field(default_factory=list)  # from each of these whose setup is known

    @property
    def compared(self) -> list[Trial]:
        """The trials that a reader compares; with several rounds those that merge them."""
        return self.merged or self.trials

    @property
    def dimensions(self) -> list[str]:
        """Those of the matrix, in order."""
        return list(dict.fromkeys(key for trial in self.trials for key in trial.point))

    @property
    def host_count(self) -> int:
        """On how many hosts servers ran, the most of any trial; 0: not known."""
        return max((len(trial.serving) for trial in self.trials), default=0) or max(
            (trial.conditions.nodes or 0 for trial in self.trials), default=0
        )

    def is_sound(self, *, skipped: bool = False) -> bool:
        """Whether there are valid numbers of every trial, every search has found a rate, and everything could be read.

        :param skipped: unavailable systems are fine
        """
        return self.has_numbers(skipped=skipped) and self.has_found_rates() and not self.warnings

    def has_numbers(self, *, skipped: bool = False) -> bool:
        """Whether there are valid numbers of every trial.

        :param skipped: unavailable systems are fine, but not if there is no other
        """
        fine = ("ok", "skipped") if skipped else ("ok",)
        statuses = [trial.status for trial in self.trials]
        return "ok" in statuses and all(status in fine for status in statuses)

    def has_found_rates(self) -> bool:
        """Whether every search of a valid trial came to its end, and to a rate that holds its bounds."""
        searches = [trial.search for trial in self.trials if trial.search and trial.status == "ok"]
        return all(search.complete and search.held for search in searches)

    def json(self) -> str:
        """As in docs/summary-json.md."""
        without = replace(self, trials=[replace(trial, spans=[]) for trial in self.trials])
        content = {"schema": SCHEMA_VERSION, **asdict(without)}
        for trial in content["trials"] + content["merged"]:
            del trial["host_metrics"]  # hosts.csv has it by second
            del trial["spans"]  # servers.csv has them
            del trial["asked"], trial["configured"]
            if trial["load"]:
                del trial["load"]["points"]  # one for each second; load.csv has them
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def lines(self) -> list[dict[str, Any]]:
        """Rows of the whole cluster, then, where there are several, of each client and each node, then of each probe of
        a search; `scope` says which.

        A trial without rows of the run has one line with a status and no numbers.
        """
        found: list[dict[str, Any]] = []
        scopes = [("cluster", trial) for trial in self.trials] + [("rounds", trial) for trial in self.merged]
        for scope, trial in scopes:
            of_trial = {
                "name": self.name,
                "trial": trial.name,
                "system": trial.system,
                "title": trial.title,
                "status": trial.status,
                "reason": trial.reason,
                "round": trial.round,
                **{f"matrix.{key}": value for key, value in trial.point.items()},
            }
            conditions = asdict(trial.conditions)
            for line in _lines(trial, scope):
                found.append({**of_trial, **line, **conditions, **trial.by_phase.get(str(line.get("phase")), {})})
        return found

    def csv(self) -> str:
        """`lines()` as comma-separated values with a header."""
        columns = [*_COLUMNS, *(f"matrix.{key}" for key in self.dimensions)]
        return _csv([columns, *([line.get(column) for column in columns] for line in self.lines())])

    def load_csv(self) -> str:
        """Rows against seconds of all loads as comma-separated values: a line for each second, and one for the end."""
        lines = [
            (*_which(trial), second, rows) for trial in self.trials if trial.load for second, rows in trial.load.points
        ]
        return _csv([(*_WHICH, "second", "rows"), *lines])

    def hosts_csv(self) -> Iterator[str]:
        """The use of all hosts in all runs as comma-separated values, in parts: a line for each second and device."""
        yield _csv([(*_WHICH, *SERIES)])
        for trial in self.trials:
            for lines in trial.host_metrics.series() if trial.host_metrics else ():
                yield _csv((*_which(trial), *line) for line in lines)

    def servers_csv(self) -> str:
        """Every pause, compaction and flush of the servers in all runs as comma-separated values."""
        lines = [
            (*_which(trial), *(round(each, 4) if isinstance(each, float) else each for each in span))
            for trial in self.trials
            for span in sorted(trial.spans, key=lambda span: (span.phase, span.run or 0, span.begin))
        ]
        return _csv([(*_WHICH, *Span._fields), *lines])


# summary.json alone has lists.
_OF_ROW = [each.name for each in fields(Row) if not each.name.endswith("_samples")]
_OF_CLIENT = ("host", "state", "start_ms", "end_ms", "offset_ms", "offset_error_ms")
_OF_PROBE = ("slo", "probe", "probe_target", "probe_held", "probe_reason", "probe_maximum")
_OF_NODE = ("host", "state", "cpu_seconds", "cpu_cores", "cpu_us_per_record", "memory_mb")
# Names of rows, clients, nodes and conditions are distinct but for host and state: all are columns of one line.
_COLUMNS = [
    *("name", "trial", "system", "title", "status", "reason", "round", "scope", "host", "state"),
    *_OF_ROW,
    *_OF_CLIENT[2:],
    *_OF_NODE[2:],
    *_OF_PROBE,
    *CONDITIONS,
]


# The columns that identify a trial in the other files.
_WHICH = ("system", "point", "round")


def _which(trial: Trial) -> tuple[str, str, int]:
    return (trial.system, point_name(trial.point), trial.round or 1)


def _csv(lines: Iterable[Sequence[object]]) -> str:
    """Comma-separated values: nothing for what is not known, "" for an empty text; Python's writer mixes them up."""
    return "".join(",".join(map(_cell, line)) + "\n" for line in lines)


# What a spreadsheet would compute; with an apostrophe it is text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        value = f"'{value}" if value.startswith(_FORMULA) else value
        if not value or any(each in value for each in ',"\r\n'):
            return '"' + value.replace('"', '""') + '"'
    return str(value)


def _lines(trial: Trial, scope: str) -> list[dict[str, Any]]:
    """The lines of a trial in summary.csv, each with the columns that identify it."""
    lines: list[dict[str, Any]] = [{"scope": scope, **_of_row(row)} for row in trial.rows]
    # A failed trial with a good load still needs the line that says that it failed.
    if all(row.phase == LOAD for row in trial.rows) and trial.status != "ok":
        lines.insert(0, {"scope": scope})
    if len(trial.clients) > 1:
        for client in trial.clients:
            of_client = {"scope": "client", **{name: getattr(client, name) for name in _OF_CLIENT}}
            lines += [{**of_client, **_of_row(row)} for row in client.rows] or [of_client]
    if len(trial.clients) > 1 or len(trial.nodes) > 1:
        lines += [{"scope": "node", **{name: getattr(node, name) for name in _OF_NODE}} for node in trial.nodes]
    return lines + _probe_lines(trial)


def _of_row(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _OF_ROW}


def _probe_lines(trial: Trial) -> list[dict[str, Any]]:
    search = trial.search
    if search is None or trial.status != "ok":
        return []
    lines = []
    for probe in search.probes:
        values = (search.slo, probe.number, probe.target, probe.held, probe.reason, probe == search.best)
        of_probe = {"scope": "probe", **dict(zip(_OF_PROBE, values, strict=True))}
        lines += [{**of_probe, **_of_row(row)} for row in probe.rows] or [of_probe]
    return lines
