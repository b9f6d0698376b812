"""Tests histogram logs: both encodings, merging, broken lines, and following a log while it grows."""

import base64
import gzip
import random
import shutil
import struct
import time
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from dohyo.evidence.hdr_log import MAX_LATENCY_US, Latencies, LogParser, decode, is_known, merge_log
from dohyo.evidence.live_log import IntervalTail
from dohyo.foreign.ycsb_log import read_log
from support.evidence import DATA, encoded

RUN = DATA / "dohyo/run"


def merged(*paths: Path) -> tuple[dict[str, Latencies], list[str]]:
    into: dict[str, Latencies] = {}
    warnings: list[str] = []
    for path in paths:
        merge_log(path, into, warnings.append)
    return into, warnings


@pytest.mark.parametrize("folder", ["stock/hdr", "dohyo/run", "dohyo/load", "dohyo/nanoseconds"])
def test_merged_intervals_are_what_the_client_prints(folder: str) -> None:
    """Stock logs use the encoding V1, and Dohyo's use the current one. Dohyo's result lines are rounded down to µs."""
    rounded = 0.001 if folder == "dohyo/nanoseconds" else 0.0
    (log,) = read_log(DATA / folder / "result.txt", pytest.fail)
    latencies, warnings = merged(*sorted((DATA / folder).glob("*.hdr")))
    assert warnings == []
    assert latencies.keys() == log.operations.keys()
    for name, stated in log.operations.items():
        histogram = latencies[name]
        assert stated.mean_us is not None
        assert stated.max_us is not None
        assert histogram.count == stated.operations
        assert histogram.mean_ms == pytest.approx(stated.mean_us / 1000)
        assert histogram.max_ms == pytest.approx(stated.max_us / 1000, abs=rounded)
        percentiles = histogram.percentiles_ms(sorted(stated.percentiles_us))
        if folder.startswith("dohyo"):
            assert percentiles == pytest.approx(
                {key: value / 1000 for key, value in stated.percentiles_us.items()}, abs=rounded
            )
        else:  # HdrHistogram 2.1.4 rounds ranks, so its percentiles may be one operation too low
            assert all(percentiles[key] >= value / 1000 for key, value in stated.percentiles_us.items())


def test_counts_beyond_four_billion_stay_whole() -> None:
    total = Latencies()
    for _ in range(2):
        total.add(decode(encoded({500: 5_000_000_000})))
    assert total.count == 10_000_000_000
    assert total.percentiles_ms([50.0]) == {50.0: 0.5}


def test_percentiles_of_merged_clients_are_those_of_all_their_operations() -> None:
    """The percentile is not the mean of the clients' percentiles: one slow client of ten determines the p95."""
    total = Latencies()
    values: list[int] = []
    for client in range(10):
        of_client = [(100 + number * 7919 % 900) * (1000 if client == 9 else 1) for number in range(1000)]
        values += of_client
        total.add(decode(encoded(Counter(of_client))))
    values.sort()
    for percentile in (50, 90, 95, 99, 99.9, 100):
        exact = values[max(0, -(-int(percentile * 10) * len(values) // 1000) - 1)]
        assert total.percentiles_ms([percentile])[percentile] == pytest.approx(exact / 1000, rel=2e-3)
    assert total.count == 10_000
    assert total.mean_ms == pytest.approx(sum(values) / len(values) / 1000, rel=1e-3)


def test_histograms_of_other_ranges_and_digits_can_be_added() -> None:
    total = Latencies()
    for highest, digits in ((2000, 3), (MAX_LATENCY_US, 3), (60_000_000, 2)):
        histogram = HdrHistogram(1, highest, digits)
        histogram.record_value(1500, 3)
        total.add(decode(histogram.encode().decode()))
    assert total.count == 9
    assert total.percentiles_ms([50])[50] == pytest.approx(1.5, rel=1e-2)


def unit_log(path: Path, unit: str, values: list[int]) -> Path:
    histogram = HdrHistogram(1, MAX_LATENCY_US * 1000, 3)
    for value in values:
        histogram.record_value(value)
    path.write_text(f"#[Logging for: READ{unit}]\n0.000,1.000,0.001,{histogram.encode().decode()}\n", encoding="utf-8")
    return path


def test_a_log_says_its_unit(tmp_path: Path) -> None:
    """Dohyo's logs use nanoseconds; its older logs and stock YCSB's use microseconds. Both can be merged."""
    nanoseconds = unit_log(tmp_path / "a.hdr", ", nanoseconds", [15_900] * 9 + [7_000_000_000])
    latencies, warnings = merged(nanoseconds)
    assert warnings == []
    assert latencies["READ"].percentiles_ms([50, 100]) == pytest.approx({50: 0.0159, 100: 7000}, rel=1e-3)
    assert latencies["READ"].mean_ms == pytest.approx((9 * 0.0159 + 7000) / 10, rel=1e-3)
    for microseconds in (unit_log(tmp_path / "b.hdr", ", microseconds", [15]), unit_log(tmp_path / "c.hdr", "", [15])):
        assert merged(microseconds)[0]["READ"].max_ms == 0.015
        for files in ((nanoseconds, microseconds), (microseconds, nanoseconds)):
            histogram = merged(*files)[0]["READ"]
            assert histogram.count == 11
            assert histogram.max_ms == pytest.approx(7000, rel=1e-3)
            assert histogram.percentiles_ms([50])[50] == pytest.approx(0.0159, abs=0.001)


def test_a_log_of_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    latencies, (warning,) = merged(unit_log(tmp_path / "a.hdr", ", hours", [1]))
    assert latencies == {}
    assert warning.endswith("a.hdr:2: unit 'hours' is not known; known units: microseconds, nanoseconds")


def test_no_operations_have_no_latency() -> None:
    empty = Latencies()
    assert (empty.count, empty.mean_ms, empty.max_ms, empty.percentiles_ms([50])) == (0, None, None, {})
    empty.add(decode(HdrHistogram(1, 2000, 3).encode().decode()))
    assert (empty.count, empty.mean_ms, empty.max_ms, empty.percentiles_ms([50])) == (0, None, None, {})


@pytest.mark.parametrize("lowest", [0, 2**41, 2**62, 2**64 - 7])
def test_a_lowest_value_out_of_range_is_refused(lowest: int) -> None:
    blob = base64.b64decode(encoded({5: 3}))
    payload = bytearray(zlib.decompress(blob[8:]))
    struct.pack_into(">Q", payload, 16, lowest)
    packed = zlib.compress(payload)
    text = base64.b64encode(blob[:4] + struct.pack(">I", len(packed)) + packed).decode()
    with pytest.raises(ValueError, match=f"broken histogram: its lowest value, {lowest}, must be from 1 to"):
        decode(text)


def test_broken_lines_are_named_and_left_out(tmp_path: Path) -> None:
    lines = (RUN / "READ.hdr").read_text(encoding="utf-8").splitlines()
    whole, _ = merged(RUN / "READ.hdr")
    broken = lines[5][: len(lines[5]) // 2]
    path = tmp_path / "READ.hdr"
    path.write_text("\n".join([*lines[:5], broken, "other program", "0.1,1.0,2.0,HISTabcd", *lines[6:]]), "utf-8")
    latencies, warnings = merged(path)
    assert [warning.removeprefix(f"{path}:").split(":")[0] for warning in warnings] == ["6", "7", "8"]
    lost = LogParser("READ.hdr").parse(lines[5])
    assert lost is not None
    assert latencies["READ"].count == whole["READ"].count - lost.histogram.total


def test_a_clock_that_jumps_is_named_and_every_operation_counts(tmp_path: Path) -> None:
    lines = (RUN / "READ.hdr").read_text(encoding="utf-8").splitlines()
    stamps = [index for index, line in enumerate(lines) if line[0].isdigit()]
    for index in stamps[3:]:
        lines[index] = f"{float(lines[index].partition(',')[0]) + 7200:.3f},{lines[index].partition(',')[2]}"
    path = tmp_path / "READ.hdr"
    path.write_text("\n".join([*lines, lines[stamps[0]]]) + "\n", encoding="utf-8")
    latencies, warnings = merged(path)
    assert [warning.removeprefix(f"{path}:").split(":")[0] for warning in warnings] == [
        str(stamps[3] + 1),
        str(len(lines) + 1),
    ]
    assert "jumped by +7,200 s" in warnings[0]
    assert latencies["READ"].count > merged(RUN / "READ.hdr")[0]["READ"].count


def test_a_compressed_log_is_read_and_a_missing_one_is_named(tmp_path: Path) -> None:
    packed = tmp_path / "READ.hdr.gz"
    packed.write_bytes(gzip.compress((RUN / "READ.hdr").read_bytes()))
    assert merged(packed)[0]["READ"].count == merged(RUN / "READ.hdr")[0]["READ"].count
    assert merged(tmp_path / "no.hdr") == ({}, [f"{tmp_path / 'no.hdr'}:1: cannot be read: No such file or directory"])


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(["stock/hdr", "dohyo/run"]),
    junk=st.one_of(
        st.binary(max_size=200), st.text(alphabet="HISTA+/=,.0123456789\n#[]", max_size=200).map(str.encode)
    ),
    where=st.floats(0, 1),
    cut=st.floats(0, 1),
)
def test_no_input_raises_and_counts_are_never_invented(
    name: str, junk: bytes, where: float, cut: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    content = (DATA / name / "READ.hdr").read_bytes()
    position = int(where * len(content))
    path = folder / "READ.hdr"
    path.write_bytes((content[:position] + junk + content[position:])[: int(cut * len(content))])
    latencies, _ = merged(path)
    counts = {name: histogram.count for name, histogram in latencies.items()}
    assert sum(counts.values()) <= merged(DATA / name / "READ.hdr")[0]["READ"].count
    IntervalTail([folder]).poll()
    shutil.rmtree(folder)


@pytest.mark.slow
def test_an_hour_of_ten_operation_types_takes_seconds(tmp_path: Path) -> None:
    random.seed(1)
    lines = []
    for second in range(3600):
        if second % 60 == 0:
            blob = encoded(Counter(int(random.lognormvariate(7, 0.7)) for _ in range(2000)))
        lines.append(f"{second}.000,1.000,0.010,{blob}\n")
    path = tmp_path / "READ.hdr"
    path.write_text("".join(lines), encoding="utf-8")
    begin = time.process_time()
    latencies, _ = merged(path)
    latencies["READ"].percentiles_ms([50, 99, 99.9])
    assert latencies["READ"].count == 3600 * 2000
    assert (time.process_time() - begin) * 10 < 30


def grow(log: Path, lines: list[str], count: int, half: bool = False) -> None:
    text = "\n".join(lines[:count]) + "\n"
    if half and count < len(lines):
        text += lines[count][:20]
    log.write_text(text, encoding="utf-8")


def interval_log(start: float, counts: list[int]) -> list[str]:
    lines = ["#[Logging for: READ, microseconds]", f"#[StartTime: {start:.3f} (seconds since epoch), whenever]"]
    for second, count in enumerate(counts):
        lines.append(f"{second}.000,1.000,0.001,{encoded({1000 * (second + 1): count})}")
    return lines


def test_a_tail_gives_each_second_once_when_all_clients_have_it(tmp_path: Path) -> None:
    clients = [tmp_path / "a", tmp_path / "b"]
    tail = IntervalTail(clients, batchsize=100)
    assert tail.poll() == []
    for client in clients:
        client.mkdir()
    logs = [interval_log(1_800_000_000.2, [10, 20, 30]), interval_log(1_800_000_000.2, [1, 2, 3])]
    grow(clients[0] / "READ.hdr", logs[0], 3)
    grow(clients[1] / "READ.hdr", logs[1], 2, half=True)
    assert tail.poll() == []  # the first second of the second client is incomplete
    grow(clients[1] / "READ.hdr", logs[1], 4)
    grow(clients[0] / "READ.hdr", logs[0], 4, half=True)
    first, second = tail.poll()
    assert first.records == 1100
    assert first.records_per_second == pytest.approx(1100)
    assert second.records == 2200
    assert second.p99_ms == pytest.approx(2, rel=1e-3)
    assert tail.poll() == []


def test_a_tail_does_not_wait_for_a_dead_client_and_counts_failures_apart(tmp_path: Path) -> None:
    grow(tmp_path / "READ.hdr", interval_log(1_800_000_000.0, [5] * 20), 22)
    dead = [line.replace("READ", "READ-FAILED") for line in interval_log(1_800_000_000.0, [2])]
    grow(tmp_path / "READ-FAILED.hdr", dead, 3)
    seconds = IntervalTail([tmp_path]).poll()
    assert len(seconds) == 20 - IntervalTail.PATIENCE_SECONDS
    assert (seconds[0].records, seconds[0].failed) == (5, 2)


def test_a_tail_follows_a_real_log() -> None:
    seconds = IntervalTail([RUN]).poll()
    (log,) = read_log(RUN / "result.txt", pytest.fail)
    assert sum(second.records for second in seconds) == log.overall_operations
    assert all(second.records_per_second == pytest.approx(2000, rel=0.05) for second in seconds[:3])


@pytest.mark.parametrize(
    ("percentile", "least"), [(50, 20), (90, 100), (95, 200), (99, 1000), (99.9, 10_000), (99.99, 100_000)]
)
def test_a_percentile_is_known_with_ten_operations_beyond_it(percentile: float, least: int) -> None:
    assert is_known(percentile, least)
    assert not is_known(percentile, least - 1)
    assert not is_known(percentile, 0)
