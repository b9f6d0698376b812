"""Reads the interval logs of running clients while they grow, for the live display."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dohyo.evidence.hdr_log import Interval, Latencies, LogParser
from dohyo.operations import READ_MODIFY_WRITE, calls, is_call, is_failure


@dataclass(frozen=True)
class Second:
    """Totals of all clients in one interval of the logs, which is usually a second."""

    failed: int  # failed operations
    records: int  # estimate: successful operations times batchsize; the summary has the exact count
    records_per_second: float
    p99_ms: float | None  # p99 of all successful operations; None if there are none


class IntervalTail:
    """Reads the new intervals of running clients' logs. Call `poll` about once per second.

    Logs may appear late, end in an incomplete line, or not exist at all.
    """

    # Seconds that the display waits for the log of a client that is behind the others or has failed.
    PATIENCE_SECONDS = 3

    def __init__(self, folders: Sequence[Path], batchsize: int = 1) -> None:
        """:param folders: each client's folder for the run
        :param batchsize: number of records per operation (a property of the client)
        """
        self._folders = list(folders)
        self._batchsize = batchsize
        self._logs: dict[Path, _FollowedLog] = {}
        # Second -> intervals that begin in it, each with its log and operation type.
        self._intervals: defaultdict[int, list[tuple[Path, str, Interval]]] = defaultdict(list)
        self._emitted = -1

    def poll(self) -> list[Second]:
        """Returns the seconds that all clients have completed since the last call, oldest first."""
        self._discover()
        for log in self._logs.values():
            for interval in log.new_intervals():
                second = round(interval.start)
                if second > self._emitted:  # otherwise it is too late: the display has already shown this second
                    self._intervals[second].append((log.path, log.parser.operation, interval))
        newest = [log.newest for log in self._logs.values() if log.newest is not None]
        if not newest:
            return []
        complete = max(newest) - self.PATIENCE_SECONDS
        # Once all clients have written, the seconds that the slowest client has written are complete.
        if {log.path.parent for log in self._logs.values() if log.newest is not None} == set(self._folders):
            complete = max(complete, min(newest))
        ready = sorted(second for second in self._intervals if second <= complete)
        if ready:
            self._emitted = ready[-1]
        return [self._second(self._intervals.pop(second)) for second in ready]

    def _discover(self) -> None:
        for folder in self._folders:
            for path in folder.glob("*.hdr"):
                if path not in self._logs and is_call(path.name.removesuffix(".hdr")):
                    self._logs[path] = _FollowedLog(path)

    def _second(self, intervals: Sequence[tuple[Path, str, Interval]]) -> Second:
        counts: Counter[str] = Counter()
        covered: defaultdict[Path, float] = defaultdict(float)  # seconds that each log covers
        latencies = Latencies()
        for path, operation, interval in intervals:
            counts[operation] += interval.histogram.total
            covered[path] += interval.seconds
            if not is_failure(operation) and not operation.startswith(READ_MODIFY_WRITE):
                latencies.add(interval.histogram)
        succeeded = calls({name: count for name, count in counts.items() if not is_failure(name)})
        records = max(0, succeeded) * self._batchsize
        seconds = max(covered.values())
        return Second(
            failed=sum(count for name, count in counts.items() if is_failure(name)),
            records=records,
            records_per_second=records / seconds if seconds else 0.0,
            p99_ms=latencies.percentiles_ms([99]).get(99),
        )


class _FollowedLog:
    """A growing log, and the position up to which it was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parser = LogParser(path.name)
        self._offset = 0
        self.newest: int | None = None

    def new_intervals(self) -> Iterator[Interval]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                fresh = file.read()
        except OSError:
            return  # removed, or not readable yet: the display continues without this log
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            try:
                interval = self.parser.parse(line)
            except ValueError:
                continue  # the summary will warn about the line
            if interval is not None:
                self.newest = round(interval.start)
                yield interval
