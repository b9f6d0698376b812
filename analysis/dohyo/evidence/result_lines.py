"""Reads the result lines that YCSB's `TextMeasurementsExporter` writes, including the lines that Dohyo's client adds.

A log may be cut off anywhere. Other lines are skipped. Result lines that cannot be read cause a warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from dohyo.evidence.json_values import Number, Whole
from dohyo.evidence.text_file import Warn, limited, lines
from dohyo.operations import INTENDED, OVERALL, READ_MODIFY_WRITE, calls, is_call, is_known, operation, outcome

# Statuses that mean success; YCSB before 0.2 writes numbers. NOT_FOUND is neither a success nor an error.
OK = frozenset({"OK", "BATCHED_OK", "0"})
NOT_FOUND = "NOT_FOUND"

RESULT = r"\[([A-Za-z][\w%./ -]*)\],\s*([^\s,\[\]][^,\[\]]*),\s*(\S+)\s*$"  # operation type, measurement and value
# A result line, possibly after another program's prefix such as `client-1 | `.
_RESULT = re.compile(rf"(?:^|[\s|]){RESULT}")
_RESULT_START = re.compile(r"\[(OVERALL|[A-Z][A-Za-z]*(?:-[A-Z_]+)*)\],")
_PERCENTILE = re.compile(r"(?:p([\d.]+)|([\d.]+)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\))")
_LATENCY = re.compile(r"(Average|Min|Max)(?:Latency\((us|ms)\))?")
_BUCKET = re.compile(r">?\d+")  # used by measurementtype=histogram and timeseries, and by verbose histograms
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?")
_MOST = 10**18
# YCSB's own statuses; bindings may have others.
_STATUSES = frozenset({
    "FAILED", "ERROR", "NOT_FOUND", "NOT_IMPLEMENTED",
    "UNEXPECTED_STATE", "BAD_REQUEST", "FORBIDDEN", "SERVICE_UNAVAILABLE",
})  # fmt: skip
_NO_VALUE = frozenset({"NaN", "Infinity", "-Infinity"})  # values that Java prints for 0/0 and n/0

# Reason for a wrong count: stock YCSB counts a client's operations in 32 bits.
OVERFLOW = "a 32-bit counter has overflowed"
_NEGATIVE = re.compile(r"-\d[\d.E]*")
_NEVER_NEGATIVE = frozenset({"RunTime(ms)", "Throughput(ops/sec)", "Operations", "Total Operations", "Records"})
_FRACTION = re.compile(r"\d+\.\d*[1-9]\d*")
_BUCKET_US = 1000.0  # tolerance: percentiles and maxima may be rounded to buckets of 1 ms


class Operation(Struct, rename={"returns": "statuses"}):
    """The result lines of one operation type. A value is None if its line is missing in the log. Times are in µs.

    client.json contains only `operations`, `records` and `statuses`.
    """

    operations: Whole | None = None
    records: Whole | None = None
    mean_us: Number | None = None
    max_us: Number | None = None
    percentiles_us: dict[float, Number] = {}
    returns: dict[str, Whole] = {}
    whole_milliseconds: bool = False  # whether percentiles are lower ends of 1 ms buckets (measurementtype=histogram)


@dataclass
class ResultLog:
    """The result lines of one run of one client. A file contains several logs if runs were appended to it."""

    path: Path
    line: int  # number of the first line
    runtime_ms: float | None = None
    throughput: float | None = None  # operations/s, as printed
    throughput_error: float = 0.0  # largest rounding error: Java prints all digits, other clients round
    stated_operations: int | None = None  # value of `[OVERALL], Operations`, a line that only Dohyo's client prints
    overall_records: int | None = None  # value of `[OVERALL], Records`, a line that only Dohyo's client prints
    operations: dict[str, Operation] = field(default_factory=dict)  # by operation type
    cut: str | None = None  # why results are missing; None if the log is complete
    doubts: list[str] = field(default_factory=list)  # impossible numbers, with the line and the reason

    @property
    def has_results(self) -> bool:
        """Returns whether the log contains result lines."""
        return self.runtime_ms is not None or self.throughput is not None or bool(self.operations)

    @property
    def is_empty(self) -> bool:
        """Returns whether the log contains no output of YCSB."""
        return not self.has_results

    @property
    def overall_operations(self) -> int | None:
        """Returns the number of operations of all types. For the stock client, it includes failed operations.

        The stock client prints only the rate, which is exactly 1000 · operations / runtime.
        """
        if self.stated_operations is not None:
            return self.stated_operations
        if self.runtime_ms is None or self.throughput is None:
            return None
        return round(self.throughput * self.runtime_ms / 1000)

    @property
    def rounding(self) -> float:
        """Returns the largest rounding error of `overall_operations`, in operations."""
        return self.throughput_error * (self.runtime_ms or 0) / 1000 + 0.5

    @property
    def counted(self) -> int:
        """Returns the number of attempted operations, summed over the operation types."""
        return calls({name: counts.operations or 0 for name, counts in self.operations.items()})

    @property
    def is_whole(self) -> bool:
        """Returns whether the counts of the operation types add up to the count of all operations."""
        return self.overall_operations is not None and self.counted >= self.overall_operations - self.rounding


Log = TypeVar("Log", bound=ResultLog)


def read_results(path: Path, warn: Warn) -> ResultLog | None:
    """Reads the last run in a file of result lines. Returns None if the file contains no run.

    :param warn: receives each problem as `file:line: what`; bad content never raises an error
    """
    warn = limited(path, warn)
    reader = ResultReader(path, warn, ResultLog)

    def damaged(message: str) -> None:
        warn(message)
        reader.is_damaged = True

    for number, line in lines(path, damaged):
        reader.read(number, line)
    return next(reversed(reader.finish()), None)


class ResultReader(Generic[Log]):
    """Splits the lines of one file into logs, one for each run."""

    def __init__(self, path: Path, warn: Warn, new: Callable[[Path, int], Log]) -> None:
        """:param new: creates a log from the path of the file and the number of the log's first line"""
        self._path = path
        self._warn = warn
        self._new = new
        self._logs = [new(path, 1)]
        self._number = 0
        self._line = ""
        self.is_damaged = False  # whether the file cannot be read to its end

    @property
    def _log(self) -> Log:
        return self._logs[-1]

    def read(self, number: int, line: str) -> None:
        """Reads the next line."""
        self._number, self._line = number, line
        if line.endswith("\n"):  # `finish` handles the last line if it has no newline
            self._understand(line)

    def finish(self) -> list[Log]:
        """Handles the end of the file. Returns the logs of all runs in the file, in order."""
        self._end(self._line if not self._line.endswith("\n") else "")
        if self.is_damaged and not self._log.is_empty:
            self._log.cut = self._log.cut or "the file is damaged"
        logs = [log for log in self._logs if not log.is_empty]
        for log in logs:
            self._check(log)
        return logs

    def _end(self, half: str) -> None:
        """Reports a last line that does not end with a newline, because a number in it may be cut off."""
        if half.strip() and not self._log.is_empty:
            self._cut("the last line has no newline and is left out")

    def _cut(self, why: str) -> None:
        self._log.cut = self._log.cut or why
        self._complain(why)

    def _complain(self, problem: str) -> None:
        self._warn(f"{self._path}:{self._number}: {problem}")

    def _doubt(self, problem: str, log: Log | None = None) -> None:
        """Reports an impossible number in the current line, or numbers of a whole log that contradict each other."""
        line = self._number if log is None else log.line
        (log or self._log).doubts.append(f"{self._path.name}:{line}: {problem}")
        self._warn(f"{self._path}:{line}: {problem}")

    def _next_log(self) -> None:
        if not self._log.is_empty:
            self._logs.append(self._new(self._path, self._number))

    def _understand(self, line: str) -> bool:
        """Reads a result line, or reports that it is incomplete. Returns False for other lines."""
        if (result := _RESULT.search(line)) is not None and "], " not in line[: result.start(1)]:
            self._result(result[1], result[2].strip(), result[3])
        elif _RESULT_START.match(line):
            self._complain(f"incomplete result line: {line.strip()[:80]!r}")
        else:
            return False
        return True

    def _result(self, metric: str, measurement: str, value: str) -> None:
        if _NEGATIVE.fullmatch(value) and measurement in _NEVER_NEGATIVE:
            self._doubt(f"[{metric}], {measurement} is {value}: {OVERFLOW}")
            return
        if _PERCENTILE.fullmatch(measurement) and _FRACTION.fullmatch(value) and measurement.endswith("(us)"):
            why = "so it was computed, not measured (measured ones are whole µs)"
            self._doubt(f"[{metric}], {measurement} is {value}, {why}")
            return
        try:
            if metric == OVERALL:
                self._overall(measurement, value)
            elif (name := operation(metric)) == OVERALL:
                self._doubt(f"[{metric}]: {OVERALL} is not an operation type; it stands for all of them")
            elif name:
                self._operation(name, measurement, value)
        except ValueError as error:
            self._complain(f"[{metric}], {measurement}: {error}")

    def _overall(self, measurement: str, value: str) -> None:
        log = self._log
        if measurement == "RunTime(ms)":
            runtime = decimal_or_fail(value)
            # An identical line belongs to the same run, whose output was collected twice.
            has_overall = log.runtime_ms is not None and log.throughput is not None
            if log.operations or has_overall or log.runtime_ms not in (None, runtime):
                self._next_log()
            self._log.runtime_ms = runtime
        elif measurement == "Throughput(ops/sec)":
            throughput = decimal(value)
            if log.throughput not in (None, throughput) or (log.throughput is not None and log.operations):
                self._next_log()
            self._log.throughput, self._log.throughput_error = throughput, _half_digit(value)
        elif measurement == "Operations":
            self._log.stated_operations = whole_number(value)
        elif measurement == "Records":
            self._log.overall_records = whole_number(value)

    def _operation(self, name: str, measurement: str, value: str) -> None:
        if _BUCKET.fullmatch(measurement):
            return
        parsed = Operation()
        _fill(parsed, measurement, value)
        if parsed == Operation():
            return  # a measurement that Dohyo does not use
        if _contradicts(self._log.operations.get(name, parsed), parsed):
            if not self._log.is_whole:
                self._doubt(f"[{name}], {measurement} has appeared with another value: lines of two runs are mixed")
                return
            self._next_log()  # the start of the next run is cut off
        _fill(self._log.operations.setdefault(name, Operation()), measurement, value)

    def _check(self, log: Log) -> None:
        """Checks that the numbers add up: a log that is cut off between two lines would otherwise seem complete."""
        if not log.has_results:
            return
        _leave_out_views(log.operations)
        self._check_values(log)
        why = None
        if log.overall_operations is None:
            why = "no [OVERALL] run time or throughput"
        elif not log.is_whole and all(is_known(name) for name in log.operations):
            why = f"result lines for {log.counted:,} of {log.overall_operations:,} operations"
        for name, counts in log.operations.items():
            if not is_call(name) or "-" in name:
                continue  # READ-MODIFY-WRITE, READ-FAILED, Intended-READ… may have no return codes
            # There is a return code for each record, so each operation has at least one, whether or not it succeeded.
            outcomes = [kind for kind in log.operations if kind == name or kind.startswith(f"{name}-")]
            attempted = sum(log.operations[kind].operations or 0 for kind in outcomes if READ_MODIFY_WRITE not in kind)
            codes = sum(counts.returns.values())
            if codes < attempted:
                why = why or f"return codes for {codes:,} of {attempted:,} operations of {name}"
                counts.returns.clear()
        self._incomplete(log, why or _breaks_off(log.operations))
        if log.cut and log.operations:
            # Some return codes of the last operation type may be missing, such as those of errors.
            log.operations[list(log.operations)[-1]].returns.clear()

    def _incomplete(self, log: Log, why: str | None) -> None:
        if why and not log.cut:
            log.cut = why
            self._warn(f"{log.path}:{log.line}: {why}: incomplete")

    def _check_values(self, log: Log) -> None:
        for problem in _contradictions(log):
            self._doubt(problem, log)


def _contradictions(log: ResultLog) -> Iterator[str]:
    """Yields numbers of a log that contradict each other."""
    if log.overall_operations is not None and log.counted - log.overall_operations >= 2**31:
        stated = f"[OVERALL] states {log.overall_operations:,} operations"
        yield f"{stated}, but its types add up to {log.counted:,}: {OVERFLOW}"
    for name, counts in log.operations.items():
        mean, most, percentiles = counts.mean_us, counts.max_us, sorted(counts.percentiles_us.items())
        if mean is not None and most is not None and mean > most + _BUCKET_US:
            yield f"{name}: the mean, {mean:,.0f} µs, is above the maximum, {most:,.0f} µs"
        if any(low[1] > high[1] for low, high in pairwise(percentiles)):
            yield f"{name}: a higher percentile is below a lower one"
        if percentiles and most is not None and percentiles[-1][1] > most + _BUCKET_US:
            yield f"{name}: percentile {percentiles[-1][0]:g}, {percentiles[-1][1]:,.0f} µs, is above the maximum"


def _fill(into: Operation, measurement: str, value: str) -> None:
    """Stores one measurement, or ignores it if it is unknown. Raises ValueError if the value is not a number."""
    if measurement in ("Operations", "Total Operations"):
        into.operations = whole_number(value)
    elif measurement == "Records":
        into.records = whole_number(value)
    elif measurement.startswith("Return="):
        into.returns[measurement.removeprefix("Return=")] = whole_number(value)
    elif measurement.startswith("LatencyVariance"):
        into.whole_milliseconds = True
    elif latency := _LATENCY.fullmatch(measurement):
        microseconds = _microseconds(value, latency[2])
        if latency[1] == "Average":
            into.mean_us = microseconds
        elif latency[1] == "Max":
            into.max_us = microseconds
    elif percentile := _PERCENTILE.fullmatch(measurement):
        microseconds = _microseconds(value, percentile[3])
        if microseconds is not None:
            into.percentiles_us[float(decimal_or_fail(percentile[1] or percentile[2]))] = microseconds


def _leave_out_views(operations: dict[str, Operation]) -> None:
    """Removes types such as READ-COMB, whose suffix is not a status, because they count operations of READ twice."""
    for name in list(operations):
        base, status = outcome(name) or ("", "FAILED")
        if status not in _STATUSES and status not in operations.get(base, Operation()).returns:
            del operations[name]


def _breaks_off(operations: dict[str, Operation]) -> str | None:
    """Returns which lines of the last operation type are missing, compared with other types, or None."""
    *earlier, last = operations or [""]
    if not earlier or not operations[last].operations:
        return None
    intended = [name for name in operations if name.startswith(INTENDED)]
    for name in operations:
        if intended and not name.startswith(INTENDED) and INTENDED + name not in operations:
            return f"no result lines for {INTENDED}{name}"
    complete = [operations[name] for name in earlier if operations[name].operations]
    counts = operations[last]
    lost = (
        any(peer.mean_us is not None for peer in complete) and counts.mean_us is None,
        any(peer.max_us is not None for peer in complete) and counts.max_us is None,
        # With measurementtype=histogram, percentiles are missing if too many latencies exceed the last bucket.
        not counts.whole_milliseconds
        and any(peer.percentiles_us.keys() - counts.percentiles_us.keys() for peer in complete),
    )
    return f"result lines of {last} are missing" if any(lost) else None


def _contradicts(old: Operation, new: Operation) -> bool:
    """Returns whether the only measurement in `new` differs from that in `old`."""
    names = ("operations", "records", "mean_us", "max_us")
    pairs: list[tuple[object, object]] = [(getattr(old, name), getattr(new, name)) for name in names]
    pairs += [(old.percentiles_us.get(key), value) for key, value in new.percentiles_us.items()]
    pairs += [(old.returns.get(key), value) for key, value in new.returns.items()]
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)


def successes(returns: Mapping[str, int]) -> int:
    """Returns the number of records that succeeded.

    :param returns: number of records for each status
    """
    return sum(count for status, count in returns.items() if status in OK)


def failures(returns: Mapping[str, int]) -> int:
    """Returns the number of records that ended with an error; `returns` is as for :func:`successes`."""
    return sum(count for status, count in returns.items() if status not in OK and status != NOT_FOUND)


def whole_number(value: str) -> int:
    """Parses a whole number of at most 18 digits. Accepts the formats of older clients (`10110.0`, `1.0E7`)."""
    if not _NUMBER.fullmatch(value) or not (number := Decimal(value)) < _MOST or number != int(number):
        raise ValueError(f"{value[:40]!r} is not a count")
    return int(number)


def _half_digit(value: str) -> float:
    """Returns the largest rounding error of a number: half of its last digit, or 0 if Java printed all digits."""
    _, _, decimals = value.partition(".")
    is_of_java = len(decimals) > 6 or decimals == "0" or not value.replace(".", "").isdecimal()
    return 0.0 if is_of_java else 0.5 * 0.1 ** len(decimals)


def decimal(value: str) -> float | None:
    """Parses a decimal number. Returns None for NaN and infinity, which Java prints if there were no operations."""
    return None if value in _NO_VALUE else decimal_or_fail(value)


def decimal_or_fail(value: str) -> float:
    if not _NUMBER.fullmatch(value) or not (number := float(value)) < _MOST:
        raise ValueError(f"{value[:40]!r} is not a number")
    return number


def _microseconds(value: str, unit: str | None) -> float | None:
    number = decimal(value)
    return number * 1000 if number is not None and unit == "ms" else number
