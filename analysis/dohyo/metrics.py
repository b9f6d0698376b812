"""Declares all numbers of an operation type as fields of `Row`.

A declaration states the meaning of the number, its unit, its format, and where it appears. The tables, summary.json,
summary.csv, the charts, the bounds of a search (`slo`), published figures, comparisons and docs/summary-json.md follow
from it. A new percentile needs one line here. `python -m dohyo.metrics` prints the table of docs/summary-json.md.
"""

# ruff: noqa: RUF009 - the functions that are called as defaults of `Row` return dataclass fields
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, Literal

from dohyo import statistics
from dohyo.figures import milliseconds, rate, whole

# Kind of the samples from which the interval of a mean is computed: rounds, or the runs of one trial.
Samples = Literal["rounds", "runs"]
# Parts into which the table of results is split if the terminal is too narrow for all columns.
Part = Literal["rates", "latencies", "failures"]
# Relative resolution of HdrHistograms with three significant digits, and resolution (ms) of old logs in whole µs.
_BUCKET, _MICROSECOND_MS = 1e-3, 1e-3


@dataclass(frozen=True)
class Metric:
    """The properties of a metric, without its value.

    :ivar about: meaning, source, and how clients, repeats and rounds are combined; in Markdown
    :ivar unit: unit in docs/summary-json.md; empty for counts and shares
    :ivar head: name in tables, charts and bounds; empty if it appears in none of them
    :ivar write: function that formats the number; it formats None as a dash
    :ivar part: part of the table of results that contains its column; None if it has no column
    :ivar percentile: percentile from 0 to 100 in the merged histogram; None for other numbers
    :ivar less_is_better: whether smaller numbers are better
    :ivar name: name of the field in summary.json and summary.csv
    :ivar kind: JSON type
    """

    about: str
    unit: str = ""
    head: str = ""
    write: Callable[[Any], str] = str
    part: Part | None = None
    percentile: float | None = None
    less_is_better: bool = False
    name: str = ""
    kind: str = ""

    @property
    def title(self) -> str:
        """Returns the head, followed by the unit if the unit is ms."""
        return f"{self.head} ms" if self.unit == "ms" else self.head


def _of(about: str, unit: str = "", **more: Any) -> Any:
    """Declares a field of a row. An unknown value is null."""
    return field(default=None, metadata={"metric": Metric(about, unit, **more)})


def _as(about: str, unit: str = "", **default: Any) -> Any:
    """Declares a field of a row. Its value is never null."""
    return field(metadata={"metric": Metric(about, unit)}, **default)


def _latency(head: str, about: str, part: Part | None = "latencies", percentile: float | None = None) -> Any:
    more = {"write": milliseconds, "part": part, "percentile": percentile, "less_is_better": True}
    return _of(about, "ms", head=head, **more)


def _rate(head: str, about: str) -> Any:
    return _of(about, "1/s", head=head, write=rate, part="rates")


def _count(head: str, part: Part) -> dict[str, Any]:
    return {"head": head, "write": whole, "part": part}


def _percentile(percentile: float, part: Part | None = "latencies") -> Any:
    return _latency(
        f"p{percentile:g}", f"latency within which {percentile:g} % of the operations were answered", part, percentile
    )


@dataclass(frozen=True)
class Row:
    """The results of one operation type of one system. An unknown number is None, never an estimate."""

    phase: str = _as(
        "`load`, or the name of a later phase: `run` if the scenario names none ([scenarios.md](scenarios.md)); `probe`"
        " in a search"
    )
    operation: str = _as(
        "YCSB's name: `READ`, `UPDATE`, `INSERT`, `SCAN`, `READ-MODIFY-WRITE`, …; `READ-FAILED` and `READ-NOT_FOUND`"
        " for operations with that outcome; `Intended-READ` for latencies from the intended start; `OVERALL` for all"
        " types together"
    )
    repeats: int = _as("number of repeats in the row")
    operations: int | None = _of(
        "calls to the database, summed over clients and repeats. `READ` contains only successful ones (see below)",
        **_count("operations", "rates"),
    )
    records: int | None = _of(
        "successful records in these operations, summed in the same way", **_count("records", "rates")
    )
    ops_per_second: float | None = _rate(
        "op/s",
        "operations of all clients / measured seconds of the client that took longest, for each repeat; then the"
        " geometric mean over the repeats, and over the rounds if there are several",
    )
    ops_per_second_stddev: float | None = _of("sample standard deviation of the samples; null for a single run", "1/s")
    ops_per_second_low: float | None = _of(
        "lower end of the [confidence interval](method.md#statistics) of the mean, at the level `confidence`; null for"
        " a single run, or if a sample is 0",
        "1/s",
    )
    ops_per_second_high: float | None = _of("upper end of that interval", "1/s")
    records_per_second: float | None = _rate(
        "rec/s", "this and the next three fields are like those of `ops_per_second`, but for records"
    )
    records_per_second_stddev: float | None = _of("", "1/s")
    records_per_second_low: float | None = _of("", "1/s")
    records_per_second_high: float | None = _of("", "1/s")
    sampled: Samples | None = _of(
        "kind of the samples: `rounds`, or `runs` of a single round; null for a single run, which has no samples"
    )
    ops_per_second_samples: list[float] = _as(
        "the samples in chronological order; not in summary.csv", "1/s", default_factory=list
    )
    records_per_second_samples: list[float] = _as("not in summary.csv", "1/s", default_factory=list)
    p50_ms_samples: list[float] = _as(
        "the p50 of each round or run; empty for a single run, or if one of the values is not known; not in"
        " summary.csv",
        "ms",
        default_factory=list,
    )
    p99_ms_samples: list[float] = _as(
        "the p99 of each round or run, like `p50_ms_samples`",
        "ms",
        default_factory=list,
    )
    confidence: float = _as(
        "confidence level with which the intervals are computed: 0.95, or 0.98 if [rounds were added](method.md#rounds)"
        " until the intervals were narrow enough. In both cases, 95 of 100 intervals include the true value",
        default=statistics.CONFIDENCE,
    )
    resolution: float = _as(
        "resolution of the samples as a share of the rate: one operation in the sample with the fewest"
        " operations, or the last step of a search; the interval is at least that wide",
        default=0.0,
    )
    mean_ms: float | None = _latency("mean", "mean latency, weighted by the number of operations")
    p50_ms: float | None = _percentile(50)
    p90_ms: float | None = _percentile(90, part=None)
    p95_ms: float | None = _percentile(95)
    p99_ms: float | None = _percentile(99)
    p99_ms_low: float | None = _of(
        "lower end of the confidence interval of the p99 over the rounds, or over the runs of a single round. The"
        " interval includes `p99_ms` and is at least as wide as a bucket of the histogram; null if there are fewer than"
        " two samples, or if one p99 is not known",
        "ms",
    )
    p99_ms_high: float | None = _of("upper end of that interval", "ms")
    p99_9_ms: float | None = _percentile(99.9)
    max_ms: float | None = _latency("max", "slowest operation")
    errors: int | None = _of("status is neither OK nor NOT_FOUND", "records", **_count("errors", "failures"))
    not_found: int | None = _of(
        "status is NOT_FOUND: neither an error nor a success", "records", **_count("not found", "failures")
    )
    server_cpu_us_per_record: float | None = _of(
        "processor time (user and system) of all server processes in the measured windows; only in `OVERALL`", "µs"
    )
    client_cpu_us_per_record: float | None = _of("processor time of the client processes, in the same way", "µs")
    latency_source: Literal["histograms", "log"] | None = _of("`histograms` or `log`; null without latencies")
    discarded: bool = _as(
        "true: a row for repeats that do not count: the scenario discards them, or they were disturbed; no other row,"
        " client or node includes them",
        default=False,
    )

    def blur(self, figure: str) -> float:
        """Returns the relative resolution of a figure, which limits its precision even if all samples are equal."""
        if METRICS[figure].percentile is None:
            return self.resolution
        value = getattr(self, figure)
        return max(_BUCKET, _MICROSECOND_MS / value) if value else 0.0


# JSON type for each Python type.
KINDS = {"int": "integer", "float": "number", "bool": "boolean", "list[float]": "list of numbers"}


def _named(row_field: Field[Any]) -> Metric:
    declared: Metric = row_field.metadata["metric"]
    return replace(declared, name=row_field.name, kind=KINDS.get(str(row_field.type).removesuffix(" | None"), "string"))


# Metrics by name, in the order of summary.json and of the columns in all tables.
METRICS = {member.name: _named(member) for member in fields(Row)}
# Metrics by the head of their column.
HEADS = {metric.head: metric for metric in METRICS.values() if metric.head}
PERCENTILES = {metric.name: metric.percentile for metric in METRICS.values() if metric.percentile is not None}


def reference() -> str:
    """Returns the table of the fields of a row for docs/summary-json.md."""
    lines = ((f"`{metric.name}`", metric.kind, metric.unit, metric.about) for metric in METRICS.values())
    return table(("key", "type", "unit", "meaning"), lines)


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Formats a table in Markdown."""
    return "".join(" ".join(f"| {cell}".rstrip() for cell in line) + " |\n" for line in (heads, *lines)).replace(
        " |\n", " |\n" + "|---" * len(heads) + "|\n", 1
    )


if __name__ == "__main__":
    print(reference(), end="")
