"""Defines the results (trials with their rows of numbers), and formats them for files.

docs/summary-json.md describes the schema of `summary.json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import msgspec

from dohyo.evidence.accounting import Accounting
from dohyo.evidence.canary import Canary, Comparison
from dohyo.evidence.conductor_records import Client, Node
from dohyo.evidence.events import Event
from dohyo.evidence.fault_costs import FaultedRun
from dohyo.evidence.host_metrics import SERIES, HostMetrics, HostUse, Taken
from dohyo.evidence.load_curve import LoadCurve
from dohyo.evidence.servers import Server, Span
from dohyo.figures import point_name, system_at
from dohyo.metrics import Row, Samples
from dohyo.operations import OVERALL
from dohyo.scenario.phases import LOAD, PROBE
from dohyo.scenario.published import Published
from dohyo.statistics import ALIKE
from dohyo.summary.conditions import CONDITIONS, Conditions
from dohyo.summary.probes import Search

SCHEMA_VERSION = 2
# ok: has valid numbers. incomplete: a log of clients other than Dohyo's ends too early. The others have only a reason.
Status = Literal["ok", "incomplete", "invalid", "failed", "interrupted", "skipped", "pending", "running"]

# Outcomes of comparing a figure between two experiments (docs/method.md#two-experiments).
ChangeVerdict = Literal["regression", "improvement", "within", "inconclusive"]
# Compared figures. The rate is in records because batches may differ, or in operations if records are unknown.
Figure = Literal["records_per_second", "ops_per_second", "p50_ms", "p99_ms"]
# Largest factor, up or down, that the interval of a tie may reach; with a wider interval the result is 'cannot tell'.
WIDEST_TIE = 1.5


@dataclass(frozen=True)
class Trial:
    """The result of a system at a point of the matrix: its numbers, or the reason why they are missing."""

    name: str
    system: str
    title: str
    status: Status
    reason: str | None = None
    point: dict[str, str] = field(default_factory=dict)  # point of the matrix: dimension -> value
    round: int | None = None  # from 1; None with a single round, and for merged rounds
    conditions: Conditions = field(default_factory=Conditions)
    # phase -> condition -> value, for conditions that differ between phases
    by_phase: dict[str, dict[str, Any]] = field(default_factory=dict)
    deviations: list[str] = field(default_factory=list)  # settings in which the servers differ from the request
    # condition -> requested value, if the system provides more and cannot provide less
    exceeded: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    accounting: Accounting | None = None  # result of checking acknowledged writes, over all runs
    faults: list[FaultedRun] = field(default_factory=list)  # costs of faults in each valid run with faults
    rows: list[Row] = field(default_factory=list)  # rows of the whole cluster
    load_is_measured: bool = False  # True if the load itself is measured
    target_is_known: bool = True  # False if logs of clients other than Dohyo's do not state a target rate
    trends: dict[str, float] = field(default_factory=dict)  # phase -> throughput of the last third / that of the first
    collapses: list[str] = field(default_factory=list)  # periods of 10 s or more with low throughput
    level_changes: list[str] = field(default_factory=list)  # times at which a long run's throughput changed its level
    system_failed: bool = False  # too many errors, no more successes, or a server that ended under load
    warmups: dict[str, float] = field(default_factory=dict)  # run (run-1, …) -> seconds of its warm-up
    cold: list[str] = field(default_factory=list)  # runs that were still not steady when their warm-up ended
    load: LoadCurve | None = None  # inserted rows over time
    clients: list[Client] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    servers: list[Server] = field(default_factory=list)  # the servers' own figures
    hosts: list[HostUse] = field(default_factory=list)  # use of processors, memory, disks and network
    taken: list[Taken] = field(default_factory=list)  # processor time of other processes in each valid run
    host_metrics: HostMetrics | None = field(default=None, compare=False, repr=False)  # use of hosts in each second
    spans: list[Span] = field(default_factory=list, compare=False, repr=False)  # background work of the servers
    # settings in trial.json: phase -> property -> value, and variables of the system
    asked_workload: dict[str, dict[str, str]] = field(default_factory=dict, compare=False, repr=False)
    asked_servers: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    configured: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # content of conditions.json
    events: list[Event] = field(default_factory=list)
    canary: Canary | None = None  # speed of the hosts before the trial
    search: Search | None = None  # search for the highest rate, even if the trial is not ok

    def is_aside(self, row: Row) -> bool:
        """Returns whether a row is not part of the measurement: a load before runs, or a discarded run."""
        return row.discarded or (row.phase == LOAD and not self.load_is_measured)

    @property
    def place(self) -> str:
        """Returns the system at its point of the matrix, as text."""
        return system_at(self.system, self.point)

    @property
    def compared_as(self) -> str:
        """Returns the name of the trial in `Summary.compared` that contains this one."""
        return self.place if self.round else self.name

    @property
    def measured_rows(self) -> list[Row]:
        """Returns the rows that are part of the measurement."""
        return [row for row in self.rows if not self.is_aside(row)]

    def overall(self, phase: str) -> list[Row]:
        """Returns the row of all operations of a phase, without discarded runs; empty for a phase without rows."""
        return [row for row in self.rows if (row.phase, row.operation, row.discarded) == (phase, OVERALL, False)]

    def usd_per_million(self, ops_per_second: float | None) -> float | None:
        """Returns the price of the servers' hosts in US$ per million operations at this rate; None if unknown."""
        price = self.conditions.usd_per_hour
        return price / 3600 / ops_per_second * 1e6 if price is not None and ops_per_second else None

    @property
    def serving(self) -> set[str]:
        """Returns the hosts on which the trial's servers ran."""
        return {node.host for node in self.nodes if node.memory_mb is not None}


@dataclass(frozen=True)
class Pair:
    """The ratio of a figure between two trials at the same point.

    :ivar of: name of the trial in the numerator; `to` names the one in the denominator
    :ivar low: lower end of the confidence interval of the ratio; None if either trial has a single run, or one trial
        has several rounds and the other a single one
    :ivar tie: whether the interval includes 1; None if there is no interval to show a tie or a difference
    :ivar sampled: kind of samples behind the interval; if the trials differ, the weaker kind
    :ivar samples: number of samples of the trial that has fewer
    :ivar confidence: confidence level of the interval; None without an interval
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
    confidence: float | None = None

    @property
    def key(self) -> tuple[str, str, Figure]:
        """Returns the phase, the operation and the figure that are compared."""
        return self.phase, self.operation, self.figure

    @property
    def is_unclear(self) -> bool:
        """Returns whether the interval includes 1 but is too wide for a tie."""
        wide = self.low is not None and self.high is not None and (self.low < 1 / WIDEST_TIE or self.high > WIDEST_TIE)
        return bool(self.tie) and wide

    @property
    def inverse(self) -> Pair:
        """Returns the ratio of the other trial to this one."""
        low, high = (None if end is None else 1 / end if end else math.inf for end in (self.high, self.low))
        return replace(self, of=self.to, to=self.of, ratio=1 / self.ratio, low=low, high=high)


# Outcome for two neighbours in a ranking. faster: the interval of their ratio is above 1 (for latencies, below 1).
# alike: it is within `Summary.alike`. open: neither.
Outcome = Literal["faster", "alike", "open"]


@dataclass(frozen=True)
class Neighbours:
    """Two trials that follow each other in the ranking of a figure at a point.

    :ivar pair: ratio of the first to the second
    :ivar more: estimated number of further rounds that would decide the pair; None if it is decided or unknown
    """

    pair: Pair
    outcome: Outcome
    more: int | None = None


def without_interval(pairs: Sequence[Pair]) -> str:
    """Returns a text that says why these pairs have no interval."""
    if any(pair.samples > 1 for pair in pairs):
        return "a round at a rate of 0"
    if any(pair.sampled == "runs" for pair in pairs):
        return "a single round"
    return "a single search" if all(pair.phase == PROBE for pair in pairs) else "a single run"


@dataclass(frozen=True)
class Shortfall:
    """A rate that is less precise than requested.

    :ivar trial: name of a system at its point
    :ivar half: half-width of the rate's interval as a share of the mean; None without an interval
    :ivar rounds: number of valid rounds
    :ivar more: estimated number of further rounds needed; None if unknown, or more than `statistics.MOST_MORE`
    """

    trial: str
    phase: str
    half: float | None
    rounds: int
    more: int | None


# Why the rounds ended: every rate is precise enough, all neighbours are decided, or a limit was reached.
Ended = Literal["precision", "decided", "budget", "rounds.max"]


@dataclass(frozen=True)
class Precision:
    """The requested precision, and the rates that have not reached it.

    :ivar asked: requested half-width of the interval of every deciding rate, as a share of the mean; None if rounds
        continue until all neighbours in the ranking are decided
    :ivar ended: None if the rounds were not completed
    """

    asked: float | None
    ended: Ended | None = None
    short: list[Shortfall] = field(default_factory=list)


@dataclass(frozen=True)
class SetupDifference:
    """A setting that differs from a publication.

    :ivar at: where the published value applies, such as `system=hbase`; empty for everywhere
    :ivar here: our value as text; None if unknown
    """

    group: str
    what: str
    at: str
    published: str
    here: str | None


@dataclass(frozen=True)
class SetupDifferences:
    """The differences from one published experiment.

    :ivar published: name of the publication
    :ivar settings: number of published settings
    """

    published: str
    settings: int
    found: list[SetupDifference]


@dataclass(frozen=True)
class Summary:
    """All trials of an experiment, or all groups of logs of `dohyo tabulate`."""

    name: str
    trials: list[Trial]
    merged: list[Trial] = field(default_factory=list)  # each system at each point, over several rounds
    comparisons: list[Pair] = field(default_factory=list)  # the best trial at each point compared with the others
    neighbours: list[Neighbours] = field(default_factory=list)  # pairs in each ranking of rates or latencies
    alike: float = ALIKE  # neighbours are alike if the interval of their ratio is within this share
    round_seconds: float | None = None  # duration of a round of all trials; None if unknown
    unequal: dict[str, dict[str, str]] = field(default_factory=dict)  # condition -> trial -> value
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # `file:line: what` for logs that could not be read completely
    canary: Comparison | None = None  # whether the hosts had the same speed before all trials
    precision: Precision | None = None  # None if no precision was requested: the scenario sets the number of rounds
    published: list[Published] = field(
        default_factory=list
    )  # published figures from other hardware, only for reference
    # differences from each published experiment with a known setup
    differences: list[SetupDifferences] = field(default_factory=list)

    @property
    def compared(self) -> list[Trial]:
        """Returns the trials that are compared; with several rounds, the merged ones."""
        return self.merged or self.trials

    @property
    def dimensions(self) -> list[str]:
        """Returns the matrix dimensions, in order of first use."""
        return list(dict.fromkeys(key for trial in self.trials for key in trial.point))

    @property
    def host_count(self) -> int:
        """Returns the largest number of hosts with servers in any trial; 0 if unknown."""
        serving = max((len(trial.serving) for trial in self.trials), default=0)
        return serving or max((trial.conditions.nodes or 0 for trial in self.trials), default=0)

    def is_sound(self, *, skipped: bool = False) -> bool:
        """Returns whether all trials have valid numbers, all searches found a rate, and all evidence could be read.

        :param skipped: as for `has_numbers`
        """
        return self.has_numbers(skipped=skipped) and self.has_found_rates() and not self.warnings

    def has_numbers(self, *, skipped: bool = False) -> bool:
        """Returns whether all trials have valid numbers.

        :param skipped: whether to accept skipped systems if at least one other was measured
        """
        fine = ("ok", "skipped") if skipped else ("ok",)
        statuses = [trial.status for trial in self.trials]
        return "ok" in statuses and all(status in fine for status in statuses)

    def has_found_rates(self) -> bool:
        """Returns whether every search of a valid trial is complete and found a rate at which all bounds held."""
        searches = [trial.search for trial in self.trials if trial.search and trial.status == "ok"]
        return all(search.complete and search.held for search in searches)

    def json(self) -> str:
        """Returns the content of summary.json (docs/summary-json.md)."""
        # Clear large fields first, because asdict would copy them.
        trials = [replace(trial, spans=[], host_metrics=None, configured={}) for trial in self.trials]
        content = {"schema": SCHEMA_VERSION, **asdict(replace(self, trials=trials))}
        for trial in content["trials"] + content["merged"]:
            del trial["host_metrics"]  # hosts.csv contains them
            del trial["spans"]  # servers.csv contains them
            del trial["asked_workload"], trial["asked_servers"], trial["configured"]
            if trial["load"]:
                del trial["load"]["points"]  # load.csv contains them
        # The json module would take several times as long to indent, because it does so in Python.
        compact = json.dumps(content, ensure_ascii=False, default=msgspec.to_builtins)
        return msgspec.json.format(compact, indent=2) + "\n"

    def lines(self) -> list[dict[str, Any]]:
        """Returns rows of the cluster, of each client and node if there are several, and of each probe of a search.

        The key `scope` distinguishes them. A trial without rows of a run has one line with its status and no numbers.
        """
        lines: list[dict[str, Any]] = []
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
                lines.append({**of_trial, **line, **conditions, **trial.by_phase.get(str(line.get("phase")), {})})
        return lines

    def csv(self) -> str:
        """Returns `lines()` as comma-separated values with a header."""
        columns = [*_COLUMNS, *(f"matrix.{key}" for key in self.dimensions)]
        return _csv([columns, *([line.get(column) for column in columns] for line in self.lines())])

    def load_csv(self) -> str:
        """Returns the inserted rows of all loads over time as CSV, with a line for each second and one for the end."""
        lines = [
            (*_which(trial), second, rows) for trial in self.trials if trial.load for second, rows in trial.load.points
        ]
        return _csv([(*_WHICH, "second", "rows"), *lines])

    def hosts_csv(self) -> Iterator[str]:
        """Yields the use of all hosts in all runs as pieces of CSV, with a line for each second and device."""
        yield _csv([(*_WHICH, *SERIES)])
        for trial in self.trials:
            for lines in trial.host_metrics.series() if trial.host_metrics else ():
                yield _csv((*_which(trial), *line) for line in lines)

    def servers_csv(self) -> str:
        """Returns the background work of the servers in all runs, such as compactions, as CSV."""
        lines = [
            (*_which(trial), *(round(value, 4) if isinstance(value, float) else value for value in span))
            for trial in self.trials
            for span in sorted(trial.spans, key=lambda span: (span.phase, span.run or 0, span.begin))
        ]
        return _csv([(*_WHICH, *Span._fields), *lines])


# Columns of a row. Only summary.json also contains the lists of samples.
_OF_ROW = [column.name for column in fields(Row) if not column.name.endswith("_samples")]
_OF_CLIENT = ("host", "state", "start_ms", "end_ms", "offset_ms", "offset_error_ms")
_OF_PROBE = ("slo", "probe", "probe_target", "probe_held", "probe_reason", "probe_maximum")
_OF_NODE = ("host", "state", "cpu_seconds", "cpu_cores", "cpu_us_per_record", "memory_mb")
# Columns of a line. Rows, clients, nodes and conditions share no column except host and state.
_COLUMNS = [
    *("name", "trial", "system", "title", "status", "reason", "round", "scope", "host", "state"),
    *_OF_ROW,
    *_OF_CLIENT[2:],
    *_OF_NODE[2:],
    *_OF_PROBE,
    *CONDITIONS,
]


# Columns that identify a trial in the other files.
_WHICH = ("system", "point", "round")


def _which(trial: Trial) -> tuple[str, str, int]:
    return (trial.system, point_name(trial.point), trial.round or 1)


def _csv(lines: Iterable[Sequence[object]]) -> str:
    """Returns CSV with an empty field for None and "" for an empty string; Python's writer cannot distinguish them."""
    return "".join(",".join(map(_cell, line)) + "\n" for line in lines)


# First characters of texts that a spreadsheet would evaluate as formulas; an apostrophe before them prevents that.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        value = f"'{value}" if value.startswith(_FORMULA) else value
        if not value or any(character in value for character in ',"\r\n'):
            return '"' + value.replace('"', '""') + '"'
    return str(value)


def _lines(trial: Trial, scope: str) -> list[dict[str, Any]]:
    """Returns the lines of a trial in summary.csv, each with the columns that identify it."""
    lines: list[dict[str, Any]] = [{"scope": scope, **_of_row(row)} for row in trial.rows]
    # A failed trial with a good load still needs a line with its status.
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
