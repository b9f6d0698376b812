"""Reads and merges HdrHistogram interval logs (`READ.hdr`, `UPDATE.hdr`, …).

A percentile of several clients, threads or repeats is only correct if their histograms are added first. This module
computes every percentile that Dohyo prints. It reads logs line by line and keeps only one merged histogram per
operation type in memory.

The package `hdrhistogram` decodes histograms of HdrHistogram 2.1.5 and later (V2 encoding) in C into an array with
thousands of counters. An interval uses a few hundred of them; numpy selects these, and only these are added. This
module itself decodes the older V1 encoding, which HdrHistogram 2.1.4 in the stock YCSB client 0.17.0 writes.

Dohyo's client records nanoseconds; stock YCSB and older versions of Dohyo's client record microseconds. A comment in
the log names the operation type and the unit (`#[Logging for: READ, nanoseconds]`). The default unit is microseconds.
"""

from __future__ import annotations

import re
import struct
import threading
import zlib
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray
from pyhdrh import decode as decode_v2
from pyhdrh import encode as encode_v2

from dohyo.evidence.text_file import Warn, limited, lines
from dohyo.operations import OVERALL, operation, plain_name

# Upper bound of all histograms in µs: one day. Because they share it, histograms can be added as arrays.
MAX_LATENCY_US = 24 * 3600 * 1_000_000

BEYOND = 10  # minimum number of operations beyond a percentile, see docs/method.md#percentiles-and-rates-in-the-table

_V1_COMPRESSED = 0x1C849302
_V2_COMPRESSED = 0x1C849304
_V2_PAYLOAD = 0x1C849303
_WRITTEN = 0x10  # flag that every library sets when it writes a V2 cookie
_COMPRESSED = struct.Struct(">II")  # cookie, bytes
_HEADER = struct.Struct(">IIIIQQd")  # cookie, payload bytes, index offset, digits, lowest, highest, ratio
_MAX_PAYLOAD = 4 * 1024 * 1024  # maximum bytes after decompression, as in the package `hdrhistogram` for V2
_WORD = 8  # bytes per counter in memory
_MOST_BYTES = 9  # maximum number of bytes of an encoded counter
_STEP = 128  # the ends of an array are rounded to a multiple of this number of counters

_NUMBER = r"\d+(?:\.\d*)?"
# A time may be negative, because the clock may have been set back to before the start.
_INTERVAL = re.compile(rf"(?:Tag=([^,]+),)?(-?{_NUMBER}),({_NUMBER}),{_NUMBER},(HIST[A-Za-z0-9+/]+={{0,2}})")
_TIME = re.compile(rf"#\[(StartTime|BaseTime): *({_NUMBER}) ")
_OPERATION = re.compile(r"#\[Logging for: ([^\],]+)(?:, *([^\]]*))?")
MICROSECONDS = 1000  # number of microseconds in a millisecond
_UNITS = {"microseconds": MICROSECONDS, "nanoseconds": 1_000_000}
# Longest gap between intervals in seconds. A longer gap is a clock jump. Stock YCSB writes an interval every 10 s.
_LONGEST_PAUSE = 600.0
# Longest plausible interval and latest plausible time, in seconds. A damaged log could otherwise exhaust the memory.
_LONGEST_INTERVAL = 3600.0
_LATEST_SECOND = 10_000_000.0
_YEAR_SECONDS = 365 * 24 * 3600.0

Integers = NDArray[np.int64]
Count = TypeVar("Count", int, Integers)


class Layout(HdrHistogram):  # type: ignore[misc]  # the package has no types
    """Converts between counter indexes and values like the package's histogram, but with the common upper bound."""

    def __init__(self, lowest: int, digits: int, per_ms: int) -> None:
        highest = MAX_LATENCY_US * per_ms // MICROSECONDS
        if not 1 <= lowest <= highest // 2:  # otherwise values would exceed 64 bits
            raise ValueError(f"its lowest value, {lowest}, must be from 1 to {highest // 2}")
        super().__init__(lowest, highest, digits)
        self.per_ms = per_ms  # units of the values per millisecond, such as 1000 for µs

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickle to the interned layout, so that equal layouts are identical objects in each process.
        return _layout, (self.lowest_trackable_value, self.significant_figures, self.per_ms)


@dataclass(slots=True, eq=False)
class Histogram:
    """The histogram of one interval, with only the counters that are not 0.

    Logs contain millions of histograms. The package's class would allocate an array of 300 kB for each, and would be
    many times slower to create and to add.
    """

    layout: Layout  # histograms with equal layouts share the object
    indexes: Integers  # indexes of the counters that are not 0, ascending
    counts: Integers  # values of these counters
    total: int  # number of operations

    @property
    def highest_us(self) -> float:
        """Returns the largest latency in µs (the upper end of its bucket), or 0 without operations."""
        if not len(self.indexes):
            return 0.0
        value = self.layout.get_value_from_index(self.indexes.item(-1))
        return float(self.layout.get_highest_equivalent_value(value) * MICROSECONDS / self.layout.per_ms)

    @property
    def lowest_us(self) -> float:
        """Returns the smallest latency in µs (the lower end of its bucket), or 0 without operations."""
        if not len(self.indexes):
            return 0.0
        return float(self.layout.get_value_from_index(self.indexes.item(0)) * MICROSECONDS / self.layout.per_ms)

    def converted(self, layout: Layout) -> Histogram:
        """Converts the histogram to another layout. The lower end of a bucket selects the new bucket."""
        if self.layout is layout:
            return self
        places = _places(self.layout, layout)[self.indexes]
        begins = np.flatnonzero(np.diff(places, prepend=-1))  # several buckets may have become one
        counts = np.add.reduceat(self.counts, begins) if self.total else self.counts
        return Histogram(layout, places[begins], counts, self.total)


def _of_counters(layout: Layout, counters: Integers) -> Histogram:
    """Returns the histogram of an array of counters, which begins with the first counter of the layout."""
    indexes = counters.nonzero()[0]
    counts = counters[indexes]
    return Histogram(layout, indexes, counts, sum(counts.tolist()))


@dataclass(slots=True, eq=False)
class Counters:
    """Sum of histograms of one layout, as an array from the first counter in use to the last one."""

    first: int = 0  # index of the first counter in the array
    counts: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    total: int = 0  # number of operations

    def add(self, indexes: Integers, counts: Integers, total: int) -> None:
        """Adds each count to the counter at its index. Indexes ascend and may repeat; `total` is the sum of counts."""
        if total:
            self._widen(indexes.item(0), indexes.item(-1) + 1)
            np.add.at(self.counts, indexes - self.first, counts)
            self.total += total

    def merge(self, other: Counters) -> None:
        """Adds the counts of another sum of histograms."""
        if other.total:
            self._widen(other.first, other.first + len(other.counts))
            begin = other.first - self.first
            self.counts[begin : begin + len(other.counts)] += other.counts
            self.total += other.total

    def at_ranks(self, ranks: Sequence[int]) -> list[int]:
        """Returns, for each rank (from 1), the index of the counter that contains the operation with this rank."""
        cumulated = self.counts.cumsum()
        # If a log is damaged, the sum of its counts may overflow 64 bits and become smaller than a rank.
        limited_ranks = [min(number, int(cumulated[-1])) for number in ranks]
        return [self.first + int(position) for position in cumulated.searchsorted(limited_ranks)]

    def _widen(self, begin: int, end: int) -> None:
        last = self.first + len(self.counts)
        if self.first <= begin and end <= last:
            return
        if len(self.counts):
            begin, end = min(begin, self.first), max(end, last)
        begin -= begin % _STEP
        wider = np.zeros(end - begin + -(end - begin) % _STEP, np.int64)
        if len(self.counts):
            wider[self.first - begin : last - begin] = self.counts
        self.first, self.counts = begin, wider


@lru_cache
def _layout(lowest: int, digits: int, per_ms: int) -> Layout:
    """Returns the layout with these values. Equal values always give the same object."""
    return Layout(lowest, digits, per_ms)


@lru_cache
def _lowest(layout: Layout) -> Integers:
    """Returns the lower end of each bucket."""
    return np.array([layout.get_value_from_index(index) for index in range(layout.counts_len)], np.int64)


@lru_cache
def _places(layout: Layout, into: Layout) -> Integers:
    """Returns, for each bucket, the bucket of another layout that contains its lower end."""
    return _lowest(into).searchsorted(_lowest(layout) * into.per_ms // layout.per_ms, "right") - 1


@lru_cache
def _middles(layout: Layout) -> NDArray[np.float64]:
    """Returns the middle of each bucket. Cached, because a mean is computed for each client."""
    lowest = _lowest(layout)
    end = layout.get_highest_equivalent_value(lowest.item(-1)) + 1
    middles: NDArray[np.float64] = (lowest + np.append(lowest[1:], end)) // 2.0
    return middles


def standard_layout() -> Layout:
    """Returns the layout of stock YCSB's logs: whole microseconds, three significant digits."""
    return _layout(1, 3, MICROSECONDS)


class Latencies:
    """The latencies of one operation type: the sum of any number of histograms. Results are in ms."""

    def __init__(self) -> None:
        self._layout: Layout | None = None  # layout of the first histogram
        self._counters = Counters()

    def add(self, interval: Histogram) -> None:
        """Adds a histogram from `decode`."""
        if self._layout is None:
            self._layout = interval.layout
        converted = interval.converted(self._layout)
        self._counters.add(converted.indexes, converted.counts, converted.total)

    def add_all(self, other: Latencies) -> None:
        """Adds all histograms that were added to `other`."""
        if other._layout is None:
            return
        if self._layout is None:
            self._layout = other._layout
        if self._layout is other._layout:
            self._counters.merge(other._counters)
        else:
            padded = np.pad(other._counters.counts, (other._counters.first, 0))
            self.add(_of_counters(other._layout, padded))

    @property
    def count(self) -> int:
        """Returns the number of operations."""
        return self._counters.total

    def encoded(self) -> bytes | None:
        """Returns the histogram in HdrHistogram's compressed V2 encoding, which every HdrHistogram library reads.

        Values are converted to ms by the conversion ratio in the header. Returns None if there are no operations, or if
        the counts of a damaged log exceed 64 bits.
        """
        layout, counts = self._layout, self._counters.counts
        if layout is None or not self.count or (counts < 0).any():
            return None
        counters = np.pad(counts[: counts.nonzero()[0][-1] + 1], (self._counters.first, 0))
        written = np.empty(_MOST_BYTES * len(counters), np.uint8)
        length = encode_v2(counters.ctypes.data, len(counters), _WORD, written.ctypes.data, len(written))
        bounds = (layout.lowest_trackable_value, layout.highest_trackable_value)
        header = _HEADER.pack(_V2_PAYLOAD | _WRITTEN, length, 0, layout.significant_figures, *bounds, 1 / layout.per_ms)
        payload = zlib.compress(header + written[:length].tobytes())
        return _COMPRESSED.pack(_V2_COMPRESSED | _WRITTEN, len(payload)) + payload

    def add_encoded(self, encoded: bytes) -> None:
        """Adds a histogram that :meth:`encoded` returned.

        :raises ValueError: if the histogram is damaged or incomplete, or its unit is not known
        """
        self.add(_sound(lambda: _decode(encoded, None)))

    @property
    def mean_ms(self) -> float | None:
        """Returns the mean in ms, computed from the buckets' middles as in HdrHistogram; None without operations."""
        if self._layout is None or not self.count:
            return None
        begin, counts = self._counters.first, self._counters.counts
        middles = _middles(self._layout)[begin : begin + len(counts)]
        # The array may extend beyond the last bucket, because its length is rounded up; the counters there are 0.
        return float(counts[: len(middles)] @ middles / self.count / self._layout.per_ms)

    @property
    def max_ms(self) -> float | None:
        """Returns the largest latency in ms (upper end of its bucket, as in HdrHistogram); None without operations."""
        return self.percentiles_ms([100]).get(100)

    def percentiles_ms(self, percentiles: Sequence[float]) -> dict[float, float]:
        """Returns the values in ms at the given percentiles (0..100), or {} if there are no operations.

        The rank is rounded up, as in HdrHistogram for Java, so that at least p % of all operations took at most this
        long. (The Python package rounds to the nearest rank, so its rank can be too low by one operation.)
        """
        layout = self._layout
        if layout is None or not self.count:
            return {}
        indexes = self._counters.at_ranks([rank(percentile, self.count) for percentile in percentiles])
        highest = (layout.get_highest_equivalent_value(layout.get_value_from_index(index)) for index in indexes)
        return {percentile: value / layout.per_ms for percentile, value in zip(percentiles, highest, strict=True)}


def rank(percentile: float, count: int) -> int:
    """Returns the rank of a percentile (0..100) among `count` operations, rounded up and at least 1."""
    part, whole = _share(percentile)
    return max(1, -(-part * count // whole))


@cache
def _share(percentile: float) -> tuple[int, int]:
    """Returns the numerator and denominator of a percentile as an exact fraction of 1."""
    return (Fraction(str(percentile)) / 100).as_integer_ratio()


def is_known(percentile: float, count: int) -> bool:
    """Returns whether `count` operations are enough to state this percentile: `BEYOND` or more must lie above it."""
    return count - rank(percentile, count) >= BEYOND


class _Scratch(threading.local):
    """An array of counters for each thread, into which histograms are decoded. Between uses, it contains only zeros."""

    def __init__(self) -> None:
        self.clear()

    def address(self, length: int) -> int:
        """Returns the address of an array of at least `length` counters."""
        if length > len(self._counts):
            self.clear(length)
        return self._address

    def clear(self, length: int = 0) -> None:
        """Replaces the array by one of `length` counters."""
        self._counts = np.zeros(length, np.int64)
        self._address = self._counts.ctypes.data

    def take(self, first: int, last: int) -> tuple[Integers, Integers]:
        """Returns the indexes and counts of the counters that are not 0, and resets them to 0."""
        used = self._counts[first : last + 1]
        indexes = (used != 0).nonzero()[0]  # nonzero() is several times as fast on booleans as on numbers
        counts = used[indexes]
        used[indexes] = 0
        indexes += first
        return indexes, counts


_scratch = _Scratch()


def decode(text: str, per_ms: int = MICROSECONDS) -> Histogram:
    """Decodes a base64 histogram in V1 or V2 encoding.

    :param per_ms: units of the values per millisecond, such as 1000 for µs
    :raises ValueError: if it is damaged or incomplete, or contains a value that is not between 0 and `MAX_LATENCY_US`
    """
    return _sound(lambda: _decode(a2b_base64(text, strict_mode=True), per_ms))


def _sound(decoded: Callable[[], Histogram]) -> Histogram:
    try:
        return decoded()
    except Exception as error:  # damaged input raises a dozen types of errors, from zlib.error to OverflowError
        _scratch.clear()
        raise ValueError(f"broken histogram: {error or type(error).__name__}") from error


def _decode(blob: bytes, per_ms: int | None) -> Histogram:
    """Decodes a compressed histogram. If `per_ms` is None, the header's ratio gives the unit."""
    cookie, length = _COMPRESSED.unpack_from(blob)
    if length != len(blob) - _COMPRESSED.size:
        raise ValueError(f"{len(blob) - _COMPRESSED.size} bytes instead of {length}")
    kind = cookie & ~0xF0
    if kind not in (_V1_COMPRESSED, _V2_COMPRESSED):
        raise ValueError(f"unknown encoding {cookie:#x}")
    stream = zlib.decompressobj()
    payload = stream.decompress(blob[_COMPRESSED.size :], _MAX_PAYLOAD)
    if not stream.eof:
        raise ValueError("the histogram is cut off, or too large")
    cookie, length, offset, digits, lowest, _, ratio = _HEADER.unpack_from(payload)
    if per_ms is None and (per_ms := round(1 / ratio)) not in _UNITS.values():
        raise ValueError(f"unknown unit: {ratio} ms")
    if offset:
        raise ValueError("shifted histograms are not supported")
    layout = _layout(lowest, digits, per_ms)
    if kind == _V1_COMPRESSED:
        return _decode_v1(layout, payload[_HEADER.size : _HEADER.size + length], (cookie & 0xF0) >> 4)
    if cookie & ~0xF0 != _V2_PAYLOAD:
        raise ValueError(f"unknown payload {cookie:#x}")
    fields = decode_v2(payload, _HEADER.size, _scratch.address(layout.counts_len), layout.counts_len, _WORD)
    if not fields["total"]:
        return _of_counters(layout, np.zeros(0, np.int64))
    return Histogram(layout, *_scratch.take(fields["min_nonzero_index"], fields["max_nonzero_index"]), fields["total"])


def _decode_v1(layout: Layout, counters: bytes, word: int) -> Histogram:
    """Decodes V1: a big-endian counter of `word` bytes for each bucket up to the last one in use."""
    histogram = _of_counters(layout, np.frombuffer(counters, f">i{word}").astype(np.int64))
    if len(histogram.indexes) and histogram.indexes[-1] >= layout.counts_len:
        raise ValueError(f"a value above {MAX_LATENCY_US} µs")
    if (histogram.counts < 0).any():
        raise ValueError("a negative count")
    return histogram


class Interval(NamedTuple):  # not a dataclass: there are millions, and a NamedTuple is faster to create
    """One line of an interval log."""

    start: float  # seconds since the epoch, or since the start of the log if it has no start time
    seconds: float
    histogram: Histogram
    since_start: float  # seconds from the log's start time to `start`

    def covered(self, per_second: int = 1) -> range:
        """Returns the seconds since the log's start that the interval covers: usually one, more if the client was
        delayed. Returns an empty range if the times are not plausible, as in a damaged log.

        :param per_second: number of parts into which each second is divided; the result is a range of these parts
        """
        if self.seconds > _LONGEST_INTERVAL or not 0 <= self.since_start < _LATEST_SECOND:
            return range(0)
        first = round(self.since_start * per_second)
        return range(first, max(first + 1, round((self.since_start + self.seconds) * per_second)))


def divided(counts: Count, parts: int, rounding: Count | int = 0) -> Iterator[Count]:
    """Divides each count into `parts` whole numbers that are as equal as possible and add up to the count.

    :param rounding: for each count, a number from 0 to parts - 1 that selects which parts receive the remainder
    """
    for part in range(parts):
        yield (counts * (part + 1) + rounding) // parts - (counts * part + rounding) // parts


class LogParser:
    """Parses the lines of one interval log into intervals, and remembers what its comments state."""

    def __init__(self, name: str) -> None:
        """:param name: file name of the log, such as READ.hdr; it gives the operation type if no comment does"""
        self.operation = name.removesuffix(".gz").removesuffix(".hdr")
        self.start_time: float | None = None  # seconds since the epoch
        self._base_time: float | None = None
        self._unit = "microseconds"
        self._untagged = self.operation
        self._ends: dict[str, float] = {}  # end of the last interval of each operation type

    def parse(self, line: str) -> Interval | None:
        """Parses a line. Returns None for comments, the legend and empty lines; raises ValueError for unknown lines."""
        line = line.strip()
        if not line or line.startswith('"StartTimestamp"'):
            return None
        if line.startswith("#"):
            self._comment(line)
            return None
        match = _INTERVAL.fullmatch(line)
        if not match:
            raise ValueError("the line is cut off, or does not belong to a histogram log")
        if self._unit not in _UNITS:
            raise ValueError(f"unit '{self._unit}' is not known; known units: {', '.join(_UNITS)}")
        # In a log with several operation types, a tag on each line names its type.
        self.operation = plain_name(match[1]) if match[1] else self._untagged
        if operation(self.operation) == OVERALL:
            raise ValueError(f"{OVERALL} is not an operation type; it stands for all of them")
        start = self._absolute(float(match[2]))
        return Interval(start, float(match[3]), decode(match[4], _UNITS[self._unit]), start - (self.start_time or 0.0))

    def jump(self, interval: Interval) -> float:
        """Returns the seconds by which the clock jumped before this interval, or 0 if a pause explains the gap."""
        end = self._ends.get(self.operation)
        self._ends[self.operation] = interval.start + interval.seconds
        return interval.start - end if end is not None and not -1 <= interval.start - end <= _LONGEST_PAUSE else 0.0

    def _comment(self, line: str) -> None:
        if time := _TIME.match(line):
            if time[1] == "StartTime":
                self.start_time = float(time[2])
            else:
                self._base_time = float(time[2])
        elif operation := _OPERATION.match(line):
            self.operation = self._untagged = operation[1]
            self._unit = operation[2] or self._unit

    def _absolute(self, stamp: float) -> float:
        # Without a base time, times over a year before the start are relative to the start, as in HdrHistogram.
        if self._base_time is not None:
            return self._base_time + stamp
        if self.start_time is not None and stamp < self.start_time - _YEAR_SECONDS:
            return self.start_time + stamp
        return stamp


def beginning(path: Path) -> tuple[str | None, float | None]:
    """Reads a log's operation type and its start (seconds since 1970) from the first lines. Either may be None."""
    parser = LogParser(path.name)
    for _, line in lines(path, lambda _: None):
        if not line.startswith("#"):
            break
        parser.parse(line)
    return operation(parser.operation), parser.start_time


def merge_log(
    path: Path, merged: dict[str, Latencies], warn: Warn, seen: Callable[[str, Interval], None] | None = None
) -> str:
    """Adds one interval log (plain or gzip) to `merged`, and returns its operation type.

    Leaves out logs that are not about operations (CLEANUP). Lines that cannot be read cause a warning.

    :param merged: latencies by operation type
    :param seen: called for each interval, with the operation type and the interval
    """
    warn = limited(path, warn)
    parser = LogParser(path.name)
    name = parser.operation
    jumped = 0.0
    for number, line in lines(path, warn):
        try:
            interval = parser.parse(line)
        except ValueError as error:
            warn(f"{path}:{number}: {error}")
            continue
        if interval is None:
            continue
        if jump := parser.jump(interval):
            jumped += jump
            warn(f"{path}:{number}: the clock jumped by {jump:+,.0f} s; later times are corrected")
        if jumped:
            interval = interval._replace(start=interval.start - jumped, since_start=interval.since_start - jumped)
        if name := operation(parser.operation) or "":
            if name not in merged:
                merged[name] = Latencies()
            merged[name].add(interval.histogram)
            if seen is not None:
                seen(name, interval)
    return name
