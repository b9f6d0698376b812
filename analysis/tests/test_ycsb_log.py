"""Tests reading the output of clients: real logs, logs that were cut off at any byte, and garbage."""

import bz2
import gzip
import lzma
import shutil
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dohyo.evidence.result_lines import Operation
from dohyo.foreign.ycsb_log import ClientLog, read_log
from support.evidence import DATA

STOCK = DATA / "stock"
FORMATS = ["text", "json", "jsonarray", "histogram", "timeseries", "raw", "both", "hdrraw", "hdr", "verbose"]


def read(path: Path) -> tuple[list[ClientLog], list[str]]:
    warnings: list[str] = []
    return read_log(path, warnings.append), warnings


def only(path: Path) -> ClientLog:
    logs, warnings = read(path)
    assert warnings == []
    assert len(logs) == 1
    return logs[0]


def read_bytes(content: bytes, folder: Path) -> tuple[list[ClientLog], list[str]]:
    path = folder / "log.txt"
    path.write_bytes(content)
    return read(path)


@pytest.mark.parametrize("name", FORMATS)
def test_every_exporter_and_measurement_type_is_read_whole_without_warnings(name: str) -> None:
    log = only(STOCK / name / "result.txt")
    assert log.cut is None
    reads, updates = log.operations["READ"], log.operations["UPDATE"]
    assert (reads.operations or 0) + (updates.operations or 0) == log.overall_operations
    assert reads.returns == {"OK": reads.operations}
    assert reads.mean_us is not None
    assert reads.max_us is not None
    assert not {"CLEANUP", "HdrREAD", "BucketREAD", "RawREAD"} & log.operations.keys()


def test_text_and_json_hold_the_printed_values() -> None:
    text = only(STOCK / "text/result.txt")
    assert f"[READ], 99thPercentileLatency(us), {text.operations['READ'].percentiles_us[99]:.0f}\n" in (
        STOCK / "text/result.txt"
    ).read_text(encoding="utf-8")
    hdr = only(STOCK / "hdr/result.txt")
    assert hdr.operations["READ"].percentiles_us.keys() == {50, 90, 95, 99, 99.9, 99.99}
    assert "Intended-READ" in hdr.operations
    assert only(STOCK / "raw/result.txt").operations["READ"].percentiles_us.keys() >= {50, 99.9}
    assert only(STOCK / "histogram/result.txt").operations["READ"].whole_milliseconds


def test_status_lines_alone_tell_counts_and_maxima_of_a_client_that_broke_off() -> None:
    log = only(STOCK / "hdr/status.txt")
    assert not log.has_results
    assert log.status_operations == 2000
    whole = only(STOCK / "hdr/result.txt").operations["READ"]
    partial = log.intervals["READ"]
    assert (partial.operations, partial.max_us) == (whole.operations, whole.max_us)
    assert partial.mean_us == pytest.approx(whole.mean_us, rel=1e-3)
    assert partial.percentiles_us == {}
    assert log.option("-threads") == "2"


def test_status_lines_broken_into_several_by_a_second_measurement_are_put_together() -> None:
    assert only(STOCK / "both/status.txt").intervals["READ"].operations == (
        only(STOCK / "both/result.txt").operations["READ"].operations
    )


def test_load_and_run_are_told_apart(tmp_path: Path) -> None:
    assert only(STOCK / "load/result.txt").is_load
    assert only(STOCK / "load/status.txt").is_load
    assert not only(STOCK / "text/result.txt").is_load
    content = (STOCK / "load/result.txt").read_bytes() + (STOCK / "text/result.txt").read_bytes()
    logs, warnings = read_bytes(content, tmp_path)
    assert [log.is_load for log in logs] == [True, False]
    assert warnings == []


def test_output_of_both_streams_in_one_file_is_one_run(tmp_path: Path) -> None:
    content = (STOCK / "text/status.txt").read_bytes() + (STOCK / "text/result.txt").read_bytes()
    logs, warnings = read_bytes(content + content, tmp_path)
    assert [(log.overall_operations, log.option("-threads")) for log in logs] == [(300, "2"), (300, "2")]
    assert warnings == []


def test_logs_of_the_first_versions_in_milliseconds_and_with_numbers_as_return_codes(tmp_path: Path) -> None:
    content = b"""\
YCSB Client 0.1
Command line: -db com.yahoo.ycsb.db.CassandraClient10 -load -P workloads/workloada
 0 sec: 0 operations;
 10 sec: 9000 operations; 900.0 current ops/sec; [INSERT AverageLatency(ms)=1.10]
[OVERALL],RunTime(ms), 10110.0
[OVERALL],Throughput(ops/sec), 98.91196834817013
[UPDATE], Operations, 491
[UPDATE], AverageLatency(ms), 0.054989816700611
[UPDATE], MinLatency(ms), 0
[UPDATE], MaxLatency(ms), 1
[UPDATE], 95thPercentileLatency(ms), 1
[UPDATE], 99thPercentileLatency(ms), 1
[UPDATE], Return=0, 491
[UPDATE], 0, 464
[UPDATE], >1000, 0
[READ], Operations, 509
[READ], AverageLatency(us), 54.1
[READ], MaxLatency(us), 900
[READ], 95thPercentileLatency(ms), 0
[READ], 99thPercentileLatency(ms), 0
[READ], Return=0, 500
[READ], Return=-1, 9
"""
    (log,), warnings = read_bytes(content, tmp_path)
    assert warnings == []
    assert (log.runtime_ms, log.overall_operations) == (10110, 1000)
    assert log.operations["UPDATE"].percentiles_us == {95: 1000, 99: 1000}
    assert log.operations["UPDATE"].mean_us == pytest.approx(54.989816700611)
    assert log.operations["READ"].mean_us == 54.1
    assert log.operations["READ"].returns == {"0": 500, "-1": 9}


def test_other_programs_lines_are_passed_over(tmp_path: Path) -> None:
    noise = [
        "2026-11-21 05:06:42,123 INFO  [main], starting, 3 things",
        '{"level":"info","metric":"cpu","value":3}',
        "log4j:WARN No appenders could be found for logger (org.apache.zookeeper.ZooKeeper).",
        "[3], [4, 5, 6]",
        "\tat java.base/java.lang.Thread.run(Thread.java:840)",
        "\x00\xff binary \x1b[31mcolour\x1b[0m",
        "",
    ]
    for name in ("text", "json", "jsonarray"):
        lines = (STOCK / name / "result.txt").read_text(encoding="utf-8").splitlines(keepends=True)
        mixed = "".join(line + noise[number % len(noise)] + "\n" for number, line in enumerate(lines))
        (log,), warnings = read_bytes(mixed.encode(), tmp_path)
        assert warnings == []
        assert log.operations == only(STOCK / name / "result.txt").operations


def test_malformed_lines_are_named_and_never_guessed_at(tmp_path: Path) -> None:
    text = (STOCK / "text/result.txt").read_text(encoding="utf-8")
    number = 1 + text.splitlines().index(next(li for li in text.splitlines() if li.startswith("[READ], Max")))
    for broken in ("[READ], MaxLatency(us), 12x4", "[READ], MaxLatency(us), -4", "[READ], MaxLat[READ], Return=OK, 1"):
        lines = text.splitlines()
        lines[number - 1] = broken
        logs, warnings = read_bytes(("\n".join(lines) + "\n").encode(), tmp_path)
        assert logs[0].operations["READ"].max_us is None
        assert warnings[0].startswith(f"{tmp_path / 'log.txt'}:{number}: ")


def test_a_contradiction_makes_a_log_doubtful_or_begins_another_run_whose_head_is_cut_off(tmp_path: Path) -> None:
    content = (STOCK / "text/result.txt").read_bytes()
    (log, second), warnings = read_bytes(content + b"[READ], Operations, 7\n", tmp_path)
    assert (log.operations, log.doubts) == (only(STOCK / "text/result.txt").operations, [])
    assert (second.operations["READ"].operations, second.cut) == (7, "no [OVERALL] run time or throughput")
    assert len(warnings) == 1
    middle = content.index(b"[UPDATE]")
    (log,), warnings = read_bytes(content[:middle] + b"[READ], Operations, 7\n" + content[middle:], tmp_path)
    assert log.operations == only(STOCK / "text/result.txt").operations
    assert "has appeared with another value: lines of two runs are mixed" in log.doubts[0]
    assert log.doubts[0].partition(":")[2] in warnings[0]


def test_nothing_of_ycsb_and_no_file_at_all(tmp_path: Path) -> None:
    assert read_bytes(b"", tmp_path) == ([], [])
    assert read_bytes(b"hello\nworld", tmp_path) == ([], [])
    logs, warnings = read(tmp_path / "missing.txt")
    assert logs == []
    assert warnings == [f"{tmp_path / 'missing.txt'}:1: cannot be read: No such file or directory"]


@pytest.mark.parametrize(("module", "name"), [(gzip, "gzip"), (bz2, "bz2"), (lzma, "xz")])
def test_packed_whole_cut_and_damaged(module: Any, name: str, tmp_path: Path) -> None:
    packed = module.compress((STOCK / "text/result.txt").read_bytes())
    (log,), warnings = read_bytes(packed, tmp_path)
    assert warnings == []
    assert log.operations == only(STOCK / "text/result.txt").operations
    _, warnings = read_bytes(packed[:-20], tmp_path)
    assert f"the {name} stream is cut off" in warnings[0]
    damaged = bytearray(packed)
    damaged[len(damaged) // 2] ^= 0xFF
    _, warnings = read_bytes(bytes(damaged), tmp_path)
    assert f"{name} stream is damaged" in warnings[0]


@pytest.mark.parametrize(
    ("begin", "repeated", "end"),
    [
        ("[A], b,", " ", ""), ("[A],", " ", ""), ("", " ", "]"), ("", "[", ""), ("", "{", ""), ("", "[READ], ", ""),
        ("", '"metric":"', ""), ("", "1 sec: 1 operations;", ""), ("", "[READ: Count=1, Max=", ""),
    ],
)  # fmt: skip
def test_long_lines_take_linear_time(begin: str, repeated: str, end: str, tmp_path: Path) -> None:
    line = begin + repeated * (10**6 // len(repeated)) + end
    start = time.process_time()
    read_bytes(line.encode() + b"\n", tmp_path)
    assert time.process_time() - start < 5


def test_a_file_that_is_wrong_in_every_line_does_not_flood(tmp_path: Path) -> None:
    _, warnings = read_bytes(b"[READ], Operations, many\n" * 1000, tmp_path)
    assert len(warnings) == 21


def numbers(operation: Operation) -> dict[object, object]:
    return {
        "operations": operation.operations,
        "mean": operation.mean_us,
        "max": operation.max_us,
        **{("p", key): value for key, value in operation.percentiles_us.items()},
        **{("return", key): value for key, value in operation.returns.items()},
    }


@pytest.mark.parametrize("name", ["text", "errors", "hdr", "json", "jsonarray", "histogram", "raw"])
def test_a_log_cut_at_any_byte_says_less_but_nothing_else_and_that_it_is_cut(name: str, tmp_path: Path) -> None:
    content = (STOCK / name / "result.txt").read_bytes()
    whole = only(STOCK / name / "result.txt")
    last = 1 if name == "jsonarray" else 0  # the last byte is only a bracket
    line_ends = [index for index, byte in enumerate(content) if byte == ord("\n")]
    cuts = {*range(0, len(content), 13), *(index + shift for index in line_ends for shift in (-1, 0, 1))}
    for length in sorted(cut for cut in cuts if cut < len(content) - last):
        logs, warnings = read_bytes(content[:length], tmp_path)
        assert len(logs) <= 1
        for log in logs:
            for metric, operation in log.operations.items():
                expected = numbers(whole.operations[metric])
                assert all(expected[key] == value for key, value in numbers(operation).items() if value is not None)
                # Either all return codes are read or none, so that no error is lost.
                assert operation.returns in ({}, whole.operations[metric].returns)
            # A log cut off before its first Intended- line looks like a complete log of a client that writes none.
            missing = {
                metric
                for metric in whole.operations
                if log.operations.get(metric) != whole.operations[metric] and not metric.startswith("Intended-")
            }
            assert bool(log.cut) or not missing
            assert bool(warnings) == bool(log.cut)


garbage = st.one_of(
    st.binary(max_size=400),
    st.text(alphabet='[]{}READ,:. "metricvalu0123456789\n', max_size=400).map(str.encode),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
)


@settings(max_examples=300, deadline=None)
@given(name=st.sampled_from([*FORMATS, "errors", "load"]), junk=garbage, where=st.floats(0, 1), cut=st.floats(0, 1))
def test_no_input_raises(
    name: str, junk: bytes, where: float, cut: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    for file in ("result.txt", "status.txt"):
        content = (STOCK / name / file).read_bytes()
        index = int(where * len(content))
        content = content[:index] + junk + content[index:]
        read_bytes(content[: int(cut * len(content)) + 1], folder)
        packed = bytearray(gzip.compress(content))
        packed[index % len(packed)] ^= 1 + len(junk) % 255
        read_bytes(bytes(packed), folder)
    shutil.rmtree(folder)


def test_a_long_status_log_is_read_in_blocks_and_comes_to_the_same_as_line_by_line(tmp_path: Path) -> None:
    lines = []
    total = 0
    for second in range(1, 3001):
        total += 3 * second
        failed = f" [READ-FAILED: Count={second % 7}, Max=9, Min=1, Avg=,5, 90=1]" if second > 1000 else ""
        lines.append(
            f"2026-11-21 05:{second // 60:02}:{second % 60:02}:195 {second} sec: {total} operations; 3 current ops/sec;"
            f" [READ: Count={2 * second}, Max={second}, Min=0, Avg={second}.25, 90=1]"
            f" [UPDATE: Count={second}, Max=7, Min=0, Avg=0.50, 90=1]"
            f"{failed}\n"
        )
    (log,), warnings = read_bytes("".join(lines).encode(), tmp_path)
    # Another program's line follows each status line, so that status lines are never parsed as a block.
    (slow,), _ = read_bytes("".join(line + "other\n" for line in lines).encode(), tmp_path)
    assert warnings == []
    assert (log.status_operations, log.elapsed_seconds, log.last_status) == (total, 3000, slow.last_status)
    assert log.intervals.keys() == slow.intervals.keys() == {"READ", "UPDATE", "READ-FAILED"}
    for name, interval in log.intervals.items():
        assert (interval.operations, interval.max_us) == (slow.intervals[name].operations, slow.intervals[name].max_us)
        assert interval.mean_us == pytest.approx(slow.intervals[name].mean_us)
    # The file contains two runs. One line of the second run is repeated.
    logs, _ = read_bytes("".join([*lines, *lines[:2000], lines[1999], *lines[2000:]]).encode(), tmp_path)
    assert [entry.intervals["READ"].operations for entry in logs] == [log.intervals["READ"].operations] * 2


@pytest.mark.slow
def test_a_long_status_log_takes_little_memory(tmp_path: Path) -> None:
    line = (
        "{} sec: 4008 operations; 1998.96 current ops/sec; est completion in 1 second [READ: "
        "Count=964, Max=14, Min=0, Avg=0.09, 50=0, 90=0, 99=4, 99.9=14, 99.99=14] [UPDATE: Count=1038, Max=8, Min=0, "
        "Avg=0.13, 50=0, 90=0, 99=4, 99.9=6, 99.99=8] \n"
    )
    path = tmp_path / "status.txt"
    path.write_text("".join(line.format(second) for second in range(60_000)), encoding="utf-8")
    tracemalloc.start()
    logs = read_log(path, pytest.fail)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert logs[0].elapsed_seconds == 59_999
    assert memory < 2_000_000
