"""Reads the results of one client in one run from its folder, `load/<host>` or `<phase>-<n>/<host>`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from msgspec import structs

from dohyo.evidence import records
from dohyo.evidence.hdr_log import Interval, Latencies, merge_log
from dohyo.evidence.records import ClientReport
from dohyo.evidence.result_lines import Operation, read_results
from dohyo.evidence.rows import Run, records_of
from dohyo.evidence.text_file import Warn, lines
from dohyo.operations import INTENDED, READ_MODIFY_WRITE, calls, is_failure

_EXACT = 0.001  # relative rounding error of a number with three significant digits
_INTERVAL_SECONDS = 1.0  # length of the intervals in a client's logs; the last interval ends with the last operation
_TELLING = 100  # with this number of operations, two logs never agree by chance: latencies are in ns, intervals in ms


@dataclass
class HistogramLogs:
    """Facts from a client's histogram logs, to check its other results. Times are in seconds since the window began."""

    counted: dict[str, int] = field(default_factory=dict)  # number of operations of each type
    highest: dict[str, float] = field(default_factory=dict)  # longest latency of each type, in µs
    first: float | None = None  # earliest end of an interval; None without intervals
    end: float = 0.0  # latest end of an interval
    # For each type, a time after which an operation certainly began: the maximum, over all intervals, of the start
    # minus the shortest latency.
    begun: dict[str, float] = field(default_factory=dict)
    digest: blake2b = field(default_factory=lambda: blake2b(digest_size=16))

    def add(self, operation: str, interval: Interval) -> None:
        """Adds an interval."""
        histogram = interval.histogram
        # The digest leaves out the log's header, which contains the date of the run but no measured values.
        self.digest.update(f"{operation} {interval.since_start:.6f} {interval.seconds:.6f}".encode())
        self.digest.update(histogram.indexes.tobytes() + histogram.counts.tobytes())
        self.counted[operation] = self.counted.get(operation, 0) + histogram.total
        self.highest[operation] = max(self.highest.get(operation, 0), histogram.highest_us)
        if operation.startswith(INTENDED) or not interval.covered():
            return
        end = interval.since_start + interval.seconds
        self.first = end if self.first is None else min(self.first, end)
        self.end = max(self.end, end)
        if histogram.total:
            begun = interval.since_start - histogram.lowest_us / 1e6
            self.begun[operation] = max(self.begun.get(operation, 0.0), begun)

    @property
    def fingerprint(self) -> str | None:
        """Returns a digest of the intervals, or None if they contain too few operations to identify the run."""
        return self.digest.hexdigest() if sum(self.counted.values()) >= _TELLING else None

    def problems(self, run: Run) -> Iterator[str]:
        """Yields each contradiction between the logs and the result lines of an operation type."""
        for name, stated in run.by_operation.items():
            count, highest, most = self.counted.get(name), self.highest.get(name, 0.0), stated.max_us
            if count is not None and count != stated.operations:
                yield f"{name}.hdr contains {count} operations, but the result lines state {stated.operations}"
            elif count is None and self.counted and stated.operations:
                yield f"{name}.hdr is missing"
            elif count is not None and differ(highest, most):
                logged = f"{name}.hdr contains latencies up to {highest:,.0f} µs"
                yield f"{logged}, but the result lines state at most {most:,.0f} µs"

    def other_window(self, seconds: float) -> str | None:
        """Returns why the logs contradict a window of `seconds`, or None if they do not.

        An operation counts if it begins in the window, however late it ends. If the window ends after a given number of
        operations, it begins with the first one. After some hours, the two clocks of a client may differ slightly.
        """
        if self.first is None:
            return None
        apart = _EXACT * seconds
        if self.end + _INTERVAL_SECONDS + apart < seconds:
            return f"client.json states {seconds:g} s, but the histogram logs end after {self.end:.1f} s"
        # The UPDATE of a read-modify-write may begin after the window; the READ-MODIFY-WRITE log has the actual start.
        halves = "UPDATE" if any(name.startswith(READ_MODIFY_WRITE) for name in self.begun) else None
        begun = max((second for name, second in self.begun.items() if name.partition("-")[0] != halves), default=0.0)
        if begun > seconds + max(_INTERVAL_SECONDS, self.first) + apart:
            return f"client.json states {seconds:g} s, but operations in the histogram logs began after {begun:.1f} s"
        return None


def differ(logged_us: float, stated_us: float | None) -> bool:
    """Returns whether the maxima of histogram logs and result lines differ by more than the rounding to whole µs and to
    histogram buckets; False if the result lines state none.
    """
    return stated_us is not None and abs(logged_us - stated_us) > 1 + _EXACT * stated_us


@dataclass
class ClientFolder:
    """The results of a client, and the problems that make them unusable."""

    host: str
    report: ClientReport
    number: str = ""  # the client's number in the run; empty if not known
    fingerprint: str | None = None  # digest of its logs; None if they have too few operations
    run: Run = field(default_factory=Run)
    histograms: dict[str, bytes | None] = field(default_factory=dict)  # operation type -> `Latencies.encoded`
    problems: list[str] = field(default_factory=list)


def read(
    folder: Path, latencies: dict[str, Latencies], seen: Callable[[str, Interval], None], warn: Warn
) -> ClientFolder:
    """Reads the folder of a client. If the client or its host failed, histogram logs may be incomplete.

    :param latencies: for each operation type, the sum to which the client's histograms are added
    :param seen: called for each interval, with the operation type and the interval
    """
    broken: list[str] = []

    def not_whole(message: str) -> None:
        broken.append(message.removeprefix(f"{folder}/"))
        warn(message)

    # A damaged report makes the client unusable, because the parts that could not be read cannot be checked.
    report = records.read(folder / "client.json", ClientReport, not_whole)
    cpu_seconds = report.cpu_seconds or None
    run = Run(report.measured_seconds, report.operations, report.records, client_cpu_seconds=cpu_seconds)
    client = ClientFolder(folder.name, report, _number(folder), run=run)
    logs = HistogramLogs()

    def record(operation: str, interval: Interval) -> None:
        logs.add(operation, interval)
        seen(operation, interval)

    try:
        logs_of_time = sorted(path for path in folder.iterdir() if path.suffix == ".hdr")
    except OSError as error:
        warn(f"{folder}: cannot be read: {error.strerror or error}")
        client.problems.append(f"its folder cannot be read: {error.strerror or error}")
        return client
    for path in logs_of_time:
        operation = merge_log(path, latencies, not_whole, record)
        logs.counted.setdefault(operation, 0)
    client.fingerprint = logs.fingerprint
    if (failure := _failure(folder, report)) is not None:
        # The files of a failed client may be cut off, so the checks below would only repeat the failure.
        client.problems.append(failure)
        return client
    client.problems += broken
    log = read_results(folder / "result.txt", warn)
    if log is None or log.cut:
        client.problems.append(log.cut if log and log.cut else "no result lines in result.txt")
        return client
    if run.seconds is None and log.runtime_ms is not None:
        run.seconds = log.runtime_ms / 1000
    if run.seconds and log.runtime_ms and abs(run.seconds * 1000 - log.runtime_ms) > 1:
        of_log = f"the result lines state {log.runtime_ms / 1000:g} s"
        client.problems.append(f"client.json states {run.seconds:g} s, but {of_log}")
    elif run.seconds and (why := logs.other_window(run.seconds)):
        client.problems.append(why)
    run.by_operation = _agreed(log.operations, report, client.problems.append)
    # The counts do not add up after a failed read-modify-write, because its update may be missing.
    if not any(is_failure(name) and name.startswith(READ_MODIFY_WRITE) for name in run.by_operation):
        client.problems += [*_attempted(run.by_operation, report), *_carried(run)]
    client.problems += logs.problems(run)
    return client


def _number(folder: Path) -> str:
    """Reads `clientnumber` from the client's properties. Returns an empty string if it is not set."""
    stated = (line.strip().partition("=") for _, line in lines(folder / "client.properties", lambda _: None))
    return next((value for key, _, value in stated if key == "clientnumber"), "")


def _failure(folder: Path, report: ClientReport) -> str | None:
    """Returns why the client's run is invalid, or None if it is valid."""
    _, code = next(lines(folder / "exit", lambda _: None), (1, ""))
    if report.valid is False:
        return report.reason or "the client reported an invalid run"
    if (code := code.strip()) not in ("", "0"):
        errors = [line for _, line in lines(folder / "status.txt", lambda _: None) if line.startswith("ERROR: ")]
        last_error = f": {errors[-1].removeprefix('ERROR: ').strip()}" if errors else ""
        return f"the client ended with exit code {code}{last_error}"
    if not report:
        return "the client wrote no client.json"
    if report.exit:
        return f"client.json states exit code {report.exit}, but the client ended with 0"
    return None


def _attempted(by_operation: Mapping[str, Operation], report: ClientReport) -> Iterator[str]:
    """Checks that attempted = succeeded + failed over all operation types. Yields the contradiction if there is one."""
    succeeded, failed = report.operations, report.failed_operations
    counts = {name: stated.operations for name, stated in by_operation.items() if stated.operations is not None}
    if succeeded is None or failed is None or len(counts) < len(by_operation):
        return
    if too_few := calls(counts) - succeeded - failed:
        yield (
            f"{calls(counts):,} operations attempted, but {succeeded:,} succeeded, {failed:,} failed:"
            f" {abs(too_few):,} {'missing' if too_few > 0 else 'too many'}"
        )


def _carried(run: Run) -> Iterator[str]:
    """Checks that the records of all types add up to the total. Yields the contradiction if there is one."""
    names = [name for name in run.by_operation if name in run.own or name == READ_MODIFY_WRITE]
    counts = {name: records_of(name, run.by_operation[name]) for name in names}
    reported = {name: count for name, count in counts.items() if count is not None}
    if run.records is None or not reported or len(reported) < len(counts):
        return
    # A read-modify-write is also counted as a read and as an update.
    total = sum(reported[name] for name in run.own if name in reported) - reported.get(READ_MODIFY_WRITE, 0)
    if total != run.records:
        yield f"client.json counts {run.records:,} records, but its operation types add up to {total:,}"


def _agreed(logged: Mapping[str, Operation], report: ClientReport, problem: Warn) -> dict[str, Operation]:
    """Completes a client's result lines with values from its client.json, and passes contradictions to `problem`."""
    result = {name: structs.replace(operation) for name, operation in logged.items()}
    for name, facts in report.operations_by_type.items():
        operation = result.get(name)
        if operation is None:
            problem(f"client.json counts {name}, but the result lines do not")
            continue
        for quantity in ("operations", "records"):
            stated, value = getattr(facts, quantity), getattr(operation, quantity)
            if None not in (stated, value) and stated != value:
                problem(f"client.json counts {stated} {quantity} of {name}, but the result lines state {value}")
        if operation.records is None:
            operation.records = facts.records
        statuses = {status: count for status, count in facts.returns.items() if count}
        if statuses and operation.returns and statuses != {k: v for k, v in operation.returns.items() if v}:
            problem(f"client.json and the result lines differ in the statuses of {name}")
    return result
