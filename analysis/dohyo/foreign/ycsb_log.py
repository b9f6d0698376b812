"""Parses the output of a YCSB client: result lines (text or JSON), status lines, and the command line.

The formats are those of YCSB's `TextMeasurementsExporter`, `JSONMeasurementsExporter` (a sequence of objects),
`JSONArrayMeasurementsExporter` and `StatusThread`, with all measurement types. YCSB 0.1 (milliseconds, `Return=0`) and
the additions of Dohyo's client (`Records`) are also supported. A log may be cut off anywhere, compressed, and mixed
with lines of other programs, which are skipped. Lines of YCSB that cannot be parsed are reported; their values are not
guessed. A file may contain the output of several clients (see `dohyo.foreign.streams`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from itertools import pairwise
from operator import mul
from pathlib import Path
from typing import cast

from dohyo.evidence.result_lines import (
    OVERFLOW,
    Operation,
    ResultLog,
    ResultReader,
    decimal,
    decimal_or_fail,
    whole_number,
)
from dohyo.evidence.text_file import Warn, blocks, limited
from dohyo.foreign import go_ycsb
from dohyo.foreign.outcomes import failed_calls
from dohyo.foreign.streams import DATE, Sources
from dohyo.operations import FAILED, INTENDED, is_known, operation

_STATUS = re.compile(rf"(?:{DATE}|^)\s*(\d{{1,9}}) sec: (\d{{1,18}}) operations;(?:.*?; (\d{{1,18}}) records;)?")
# The format of numbers depends on the locale of the client's host: 0.19, .19 or 0,19. Possessive quantifiers (`++`)
# avoid backtracking, which is slow.
_STATUS_OPERATION = re.compile(
    r"\[([A-Za-z][\w-]*+): Count=(\d{1,18}+), Max=(\d{1,19}+), Min=\d{1,19}+,"
    r" Avg=(\d{1,19}+(?:[.,]\d++)?+|[.,]\d++)(?=,\s)"
)
# The beginnings of status lines, for a block that contains only status lines.
_STATUS_LINES = re.compile(rf"\n(?:{DATE})?[ \t]*(\d{{1,9}}) sec: (\d{{1,18}}) operations;".encode())
_STATUS_OPERATIONS = re.compile(_STATUS_OPERATION.pattern.encode())
_JSON_TOKEN = re.compile(r'"(metric|measurement|value)"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s,}\]]+)|([{}])')
_JSON_OBJECT = re.compile(r"\{[^{}]*\}")
_JSON_DEPTH = 10
_COMMAND = "Command line:"
_EXCEPTION = re.compile(
    r'(?:Exception in thread "[^"]*" |Caused by: |ERROR: Aborting the test\. )?'
    r"((?:\w+\.)+\w*(?:Exception|Error)\b.*|Unknown DB \S+|No operations completed .*)"
)
_OF_CPP = re.compile(r"(?:Load|Run) throughput\(ops/sec\): |# Transaction throughput \(KTPS\)")

_NEGATIVE_STATUS = re.compile(r"\b\d{1,9} sec: (-\d{1,18}) operations;")
_GO_PERCENTILE = re.compile(r"(\d{1,2}(?:\.\d{1,9})?)th\(us\)")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[:.,]\d")
# If the time of day and the client's count differ by more than this, the clock was set. Less is rounding or delay.
_JUMP_SECONDS = 60.0
_MOST_POINTS = 3600  # one per second in an hour
_MOST_DIGITS = 18  # of a number in a log; neither int() nor float() takes any number of digits


@dataclass
class StatusLines:
    """A client's operations over time, from its status lines. The number of points is bounded."""

    # Seconds since the client began, as the client counts them, and the number of operations until then.
    points: list[tuple[int, int]] = field(default_factory=list)
    _apart: int = 1  # minimum number of seconds between two points
    _next: int = 0

    def add(self, elapsed: int, operations: int | str | bytes) -> None:
        """Adds a status line, unless it is too close to the previous point."""
        if elapsed < self._next:
            return
        self.points.append((elapsed, int(operations)))
        self._next = elapsed + self._apart
        if len(self.points) > _MOST_POINTS:
            self._apart *= 2
            points, self.points, self._next = self.points, [], 0
            for point in points:
                self.add(*point)


@dataclass
class ClientLog(ResultLog):
    """The log of one run of one client. A file contains several logs if runs were appended to it."""

    source: str = ""  # text that identifies the client in the file
    last_status: str | None = None  # the last status line, without the counts of each operation type
    elapsed_seconds: int | None = None  # value in the last status line
    status_operations: int | None = None  # value in the last status line
    status_records: int | None = None  # value in the last status line
    intervals: dict[str, Operation] = field(default_factory=dict)  # sums over all status lines, by operation type
    progress: StatusLines = field(default_factory=StatusLines)
    command: str | None = None
    exception: str | None = None  # the first exception, or why YCSB gave up
    is_go: bool = False  # whether go-ycsb wrote the log; it then has properties, but no command line or return codes
    batches: set[str] = field(default_factory=set)  # go-ycsb's operation types that are batches, such as BATCH_INSERT
    properties: dict[str, str] = field(default_factory=dict)  # properties that go-ycsb printed
    # Start and end in seconds of the host's local time, according to the first and the last status line.
    began: float | None = None
    ended: float | None = None

    @property
    def name(self) -> str:
        """Returns the file's name, followed by the client's source if it has one."""
        return f"{self.path.name} ({self.source})" if self.source else self.path.name

    @property
    def is_empty(self) -> bool:
        """Returns whether the log contains no output of YCSB."""
        has_others = self.status_operations is not None or self.command is not None or bool(self.properties)
        return not self.has_results and not has_others

    @property
    def is_load(self) -> bool:
        """Returns whether the client loaded data: its options say so, or it measured only INSERT."""
        if self.command is not None:
            return "-load" in self.command.split()
        if "dotransactions" in self.properties:
            return self.properties["dotransactions"] == "false"
        names = (self.operations or self.intervals).keys()
        return bool(names) and all(name.removeprefix("Intended-").startswith("INSERT") for name in names)

    @property
    def threads(self) -> int | None:
        """Returns the number of threads, or None if it is not given."""
        return whole_setting(self.option("-threads") or self.setting("threadcount"))

    @property
    def batch_size(self) -> int | None:
        """Returns the number of records in a batch of go-ycsb, or None if it is not given."""
        return whole_setting(self.setting("batch.size"))

    @property
    def is_sound(self) -> bool:
        """Returns whether the log is complete and without contradictions."""
        return not self.cut and not self.doubts

    @property
    def target(self) -> str | None:
        """Returns the target rate in operations per second, or None if it is not given."""
        return self.option("-target") or self.setting("target")

    @property
    def target_is_known(self) -> bool:
        """Returns whether it is known if a target was set. Latencies from the intended start suggest that it was."""
        return self.target is not None or bool((self.command and not self.has_intended) or self.properties)

    @property
    def has_intended(self) -> bool:
        """Returns whether the log also contains latencies from the intended start (measurement.interval=both)."""
        return any(name.startswith(INTENDED) for name in self.operations)

    @property
    def latencies_are_intended(self) -> bool:
        """Returns whether latencies of plain types, such as READ, are measured from the intended start."""
        return self.has_intended or self.setting("measurement.interval") == "intended"

    @property
    def planned(self) -> int | None:
        """Returns the planned number of operations or records; None if it is unknown, or if not all of them count."""
        keys = ("insertcount", "recordcount") if self.is_load else ("operationcount",)
        by_time = self.setting("maxexecutiontime") and not self.is_go  # go-ycsb ignores this property
        if by_time or self.go_warmup_seconds:
            return None
        return whole_setting(next(filter(None, map(self.setting, keys)), None))

    @property
    def go_warmup_seconds(self) -> int:
        """Returns the warm-up of a run of go-ycsb. operationcount includes its operations, but the results do not."""
        return 0 if self.is_load else whole_setting(self.properties.get("warmuptime")) or 0

    @property
    def succeeded(self) -> int | None:
        """Returns the number of operations that ended without an error, or None if it is not known."""
        # OVERALL includes failed operations in a run, but not in a load.
        attempted = self.counted if self.has_all_types else self.overall_operations
        return None if attempted is None else max(0, attempted - failed_calls(self.operations))

    @property
    def has_all_types(self) -> bool:
        """Returns whether the meaning of every operation type is known, and their counts add up to all operations."""
        return self.counted != 0 and (self.is_go or (self.is_whole and all(map(is_known, self.operations))))

    def option(self, name: str) -> str | None:
        """Returns the value of an option on the command line, such as `-threads`, or None if it is not given."""
        arguments = (self.command or "").split()
        return arguments[arguments.index(name) + 1] if name in arguments[:-1] else None

    def setting(self, key: str) -> str | None:
        """Returns the value of a property on the command line or in go-ycsb's log, or None if it is not given."""
        arguments = (self.command or "").split()
        stated = [argument.partition("=") for option, argument in pairwise(arguments) if option == "-p"]
        values = [value for name, equals, value in stated if name == key and equals]
        return values[-1] if values else self.properties.get(key)


def whole_setting(text: str | None) -> int | None:
    """Parses a whole number in a client's settings. Returns None if it is absent, too long or not a number."""
    return int(text) if text and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def read_log(path: Path, warn: Warn) -> list[ClientLog]:
    """Reads all runs in one log file, in order. Returns [] if the file contains no output of YCSB.

    :param warn: receives each problem as `file:line: what`; bad content never raises an error
    """
    file = _File(path, apart=True)
    if len({log.source for log in file.logs}) > 1 and any(not log.is_sound for log in file.logs):
        # Read the file again as one client: the text at the beginning of lines may not be a client's name.
        together = _File(path, apart=False)
        if sum(not log.is_sound for log in together.logs) < sum(not log.is_sound for log in file.logs):
            file = together
    for message in file.messages:
        warn(message)
    return file.logs


class _File:
    """The runs in a file, client by client, and the problems with it. Each client has a separate reader."""

    def __init__(self, path: Path, *, apart: bool) -> None:
        """:param apart: whether text in front of a line names the client"""
        self.messages: list[str] = []
        self._path = path
        self._warn = limited(path, self.messages.append)
        self._apart = apart
        self._sources = Sources()
        self._readers = {"": _Reader(path, self._warn)}
        self._last = self._readers[""]
        for number, block in blocks(path, self._damaged):
            # Remove NULs, which truncated files and UTF-16 without a byte order mark contain.
            self._read(number, block.translate(None, b"\0"))
        self.logs = [log for reader in self._readers.values() for log in reader.finish()]

    def _damaged(self, message: str) -> None:
        """Notes that the file cannot be read to its end."""
        self._warn(message)
        for reader in self._readers.values():
            reader.is_damaged = True

    def _read(self, number: int, block: bytes) -> None:
        """Reads a block of whole lines. Status lines are read together, because long runs have many."""
        last = block.rfind(b"\n", 0, -1) + 1
        if read := self._readers[""].status_lines(block[:last]):
            number += read
            block = block[last:]
        for offset, line in enumerate(BytesIO(block)):
            for source, text in self._sources.lines(line.decode("utf-8", "replace")):
                if source is not None and self._apart:
                    if source not in self._readers:
                        self._readers[source] = _Reader(self._path, self._warn, source)
                    self._last = self._readers[source]
                self._last.read(number + offset, text)


class _Reader(ResultReader[ClientLog]):
    def __init__(self, path: Path, warn: Warn, source: str = "") -> None:
        super().__init__(path, warn, lambda path, line: ClientLog(path, line, source=source))
        self._object: dict[str, str] = {}
        self._go_finished = False
        self._go_columns: list[str] = []
        self._jumped = 0.0  # sum of the jumps of the host's clock since the run began, in seconds

    def status_lines(self, block: bytes) -> int:
        """Sums the status lines of a block if it contains nothing else, and if all of them are from the current run.

        :returns: number of lines that were read
        """
        lines = _STATUS_LINES.findall(b"\n" + block)
        times = [int(elapsed) for elapsed, _ in lines]
        begin = -1 if self._log.elapsed_seconds is None else self._log.elapsed_seconds
        if not times or len(times) != block.count(b"\n") or self._log.has_results:
            return 0
        if not all(earlier < later for earlier, later in pairwise([begin, *times])):
            return 0
        last = cast(re.Match[str], _STATUS.search(block[block.rfind(b"\n", 0, -1) + 1 :].decode("utf-8", "replace")))
        if self._jump(_began(last)):
            return 0  # the lines are then read one by one, so that the message can name the line
        by_metric: dict[bytes, list[tuple[int, int, float]]] = {}
        for metric, count, maximum, mean in _STATUS_OPERATIONS.findall(block):
            if count != b"0":
                by_metric.setdefault(metric, []).append((int(count), int(maximum), float(mean.replace(b",", b"."))))
        for metric, intervals in by_metric.items():
            counts, maxima, means = zip(*intervals, strict=True)
            self._add_interval(metric.decode(), sum(counts), max(maxima), sum(map(mul, counts, means)))
        self._tell(last)
        for elapsed, (_, operations) in zip(times, lines, strict=True):
            self._log.progress.add(elapsed, operations)
        return len(times)

    def _end(self, half: str) -> None:
        if half.rstrip().endswith(("}", "]")) and (self._object or '"metric"' in half):
            self._understand(half)  # JSON that ends with a bracket is complete
        elif half.strip(" \t}]"):
            super()._end(half)
        if "metric" in self._object:
            self._cut("the JSON results are cut off")

    def _next_log(self) -> None:
        self._go_finished = False
        self._jumped = 0.0
        super()._next_log()

    def _understand(self, line: str) -> bool:
        if (status := _STATUS.search(line)) is not None:
            self._status(status, line)
        elif ": Count=" in line:
            self._status_operations(line)  # with hdrhistogram+histogram, a status line is split over several lines
        elif super()._understand(line):
            pass
        elif line.startswith("[{") and '"Takes(s)"' in line:
            self._go_results(line)
        elif self._object or '"metric"' in line or line.lstrip("[ ").startswith("{"):
            self._json(line)
        elif line.startswith(_COMMAND):
            self._next_log()
            self._log.command = line.removeprefix(_COMMAND).strip()
        elif (overflowed := _NEGATIVE_STATUS.search(line)) is not None:
            self._doubt(f"{overflowed[1]} operations: {OVERFLOW}")
        elif (columns := go_ycsb.columns(line)) is not None:
            self._go_columns = columns
        elif " - Takes(s): " in line or (self._go_columns and line.startswith("|")):
            self._go_results(line)
        elif (thrown := _EXCEPTION.match(line)) is not None:
            self._log.exception = self._log.exception or thrown[1].strip()
        elif _OF_CPP.match(line):
            self._cut("results of YCSB-cpp or YCSB-C are not supported")
        else:
            self._go_run(line)
        return True

    def _go_run(self, line: str) -> None:
        if go_ycsb.HEADER.match(line):
            self._next_log()
            self._log.is_go = True
        elif self._log.is_go and (stated := go_ycsb.PROPERTY.match(line)):
            self._log.properties[stated[1]] = stated[2]
        elif self._log.is_go and (signal := go_ycsb.SIGNAL.match(line)):
            self._cut(f"ended by a signal: {signal[1]}")
        elif (runtime := go_ycsb.finished_ms(line)) is not None:
            if self._go_finished:
                self._next_log()
            self._go_columns = []
            # The results after this line cover the whole run; the results before it are intermediate.
            self._log.operations.clear()
            self._log.batches.clear()
            self._log.is_go, self._log.runtime_ms, self._go_finished = True, runtime, True

    def _go_results(self, line: str) -> None:
        try:
            for name, values in go_ycsb.results(line, self._go_columns):
                if (metric := go_ycsb.operation_type(name)) is not None:
                    self._go_operation(metric, values, is_batch=name.startswith(go_ycsb.BATCH))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._complain(f"incomplete result line of go-ycsb: {error}")

    def _go_operation(self, name: str, values: Mapping[str, str], *, is_batch: bool) -> None:
        if name in self._log.operations and is_batch != (name in self._log.batches):
            if is_batch:
                return  # a fork prints the counts of both batches and records
        elif self._go_finished and name in self._log.operations:
            self._next_log()  # another run, for which the log contains no properties
        (self._log.batches.add if is_batch else self._log.batches.discard)(name)
        self._log.is_go = True
        least = decimal_or_fail(values["Min(us)"])
        count, mean, most = whole_number(values["Count"]), decimal(values["Avg(us)"]), decimal(values["Max(us)"])
        counts = Operation(count, mean_us=mean, max_us=most)
        for key, value in values.items():
            if match := _GO_PERCENTILE.fullmatch(key):
                latency_us = decimal_or_fail(value)
                if latency_us < least:
                    self._doubt(f"{name}: {key} of {value} is below the minimum: it exceeds the last bucket, 1.024 s")
                else:
                    counts.percentiles_us[float(match[1])] = latency_us
        self._log.operations[name] = counts

    def _json(self, line: str) -> None:
        # First read the complete objects in the line, one level of nesting after the other. Another program may have
        # written an object into the middle of an object of YCSB, which has one line per member.
        for _ in range(_JSON_DEPTH):
            whole = _JSON_OBJECT.findall(line)
            for text in whole:
                self._json_object({token[1]: token[2].strip('"') for token in _JSON_TOKEN.finditer(text) if token[1]})
            line = _JSON_OBJECT.sub("", line)
            if not whole:
                break
        for name, value, brace in (token.groups() for token in _JSON_TOKEN.finditer(line)):
            if not brace:
                self._object[name] = value.strip('"')
                continue
            members, self._object = self._object, {}
            self._json_object(members)

    def _json_object(self, members: dict[str, str]) -> None:
        # Only an object with all three keys is a result: other programs' JSON may have a "value" or a "metric".
        if len(members) == 3:
            self._result(members["metric"], members["measurement"], members["value"])
        elif "measurement" in members:
            self._complain("incomplete JSON result")

    def _status(self, status: re.Match[str], line: str) -> None:
        if status[0] == self._log.last_status:
            return  # some measurement types print a status line to both standard output and standard error
        elapsed = int(status[1])
        if self._log.has_results or (self._log.elapsed_seconds is not None and elapsed < self._log.elapsed_seconds):
            self._next_log()
        self._tell(status)
        self._log.progress.add(elapsed, status[2])
        self._status_operations(line)

    def _tell(self, status: re.Match[str]) -> None:
        """Stores the counts of a status line, and the client's start and end according to the line's time of day."""
        log = self._log
        log.last_status = status[0]
        log.elapsed_seconds, log.status_operations = int(status[1]), int(status[2])
        log.status_records = int(status[3]) if status[3] else None
        if (began := _began(status)) is None:
            return
        if log.began is None:
            log.began = began
        elif jump := self._jump(began):
            self._jumped += jump
            self._doubt(f"the clock of the client's host jumped by {jump:+,.0f} s")
        log.ended = began - self._jumped + log.elapsed_seconds

    def _jump(self, began: float | None) -> float:
        """Returns the seconds by which the clock jumped, compared with the seconds that the client counted."""
        if began is None or self._log.began is None:
            return 0.0
        jump = began - self._log.began - self._jumped
        return jump if abs(jump) > _JUMP_SECONDS else 0.0

    def _status_operations(self, line: str) -> None:
        for metric, count, maximum, mean in _STATUS_OPERATION.findall(line):
            self._add_interval(metric, int(count), int(maximum), int(count) * float(mean.replace(",", ".")))

    def _add_interval(self, metric: str, count: int, maximum: int, sum_us: float) -> None:
        name = operation(metric)
        if not name or not count:
            return
        total = self._log.intervals.setdefault(name, Operation(operations=0))
        before = total.operations or 0
        # Means can be combined, weighted by their counts; percentiles cannot.
        total.mean_us = ((total.mean_us or 0.0) * before + sum_us) / (before + count)
        total.operations = before + count
        total.max_us = max(total.max_us or 0.0, float(maximum))

    def _check(self, log: ClientLog) -> None:
        if not log.is_go:
            super()._check(log)
            stated, least = log.overall_operations, log.counted - failed_calls(log.operations)
            is_complete = stated is not None and all(map(is_known, log.operations))
            if stated is not None and is_complete and stated + log.rounding < least < stated + 2**31:
                self._doubt(f"types state {least:,} operations, but OVERALL {stated:,}: two runs are mixed", log)
        elif log.has_results:
            self._check_values(log)
            self._check_go(log)

    def _check_go(self, log: ClientLog) -> None:
        for name in [batch for batch in log.batches if batch + FAILED in log.operations.keys() - log.batches]:
            log.batches.remove(name)  # a fork prints both batches and records, and all failed
            del log.operations[name]
        if log.runtime_ms:
            log.runtime_ms = max(0.0, log.runtime_ms - 1000 * log.go_warmup_seconds)
        if log.runtime_ms is None:
            self._incomplete(log, "the line 'Run finished' is missing, so the numbers may cover only a part of the run")
        elif not log.operations:
            self._incomplete(log, go_ycsb.why_no_results(log.properties))


def _began(status: re.Match[str]) -> float | None:
    """Computes from a status line's time of day and elapsed seconds when the client began, or None if unknown."""
    if not (stamp := _STAMP.match(status[0].strip())):
        return None
    try:
        return datetime.fromisoformat(stamp[1]).replace(tzinfo=UTC).timestamp() - int(status[1])
    except ValueError:
        return None  # not a date
