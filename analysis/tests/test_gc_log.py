"""Tests pauses in logs of real JVMs (tests/data/servers/gc), for all collectors of docs/versions.md in both formats."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dohyo.evidence import gc_log, server_log

DATA = Path(__file__).parent / "data" / "servers" / "gc"


def milliseconds(*paths: Path) -> list[float]:
    warnings: list[str] = []
    log = gc_log.read(paths, warnings.append)
    assert log is not None
    assert warnings == []
    _, pauses = log
    return [round(pause.ms, 3) for pause in pauses]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("g1-17", [5.706, 0.078, 47.332]),
        ("parallel-17", [0.461, 7.294]),
        ("z-17", [0.010, 0.309, 0.008, 0.008, 0.008, 0.006]),
        ("z-25", [0.010, 0.004, 0.002, 0.004, 0.003, 0.001, 0.007, 0.004]),
        ("shenandoah-17", [0.027, 0.060, 0.016, 0.019]),
        # A young collection that includes a full one of 63.653 ms, then a full collection.
        ("cms-11", [63.725, 59.732]),
        ("g1-8", [1.673, 1.402, 0.136, 1.270, 7.775]),
        ("parallel-8", [2.959, 1.639, 6.397]),
        ("serial-8", [1.293, 3.952]),
        # Collections: young, young that became full, full, initial mark, full in a broken line, full, initial mark.
        ("cms-8", [58.720, 9.753, 63.249, 3.545, 44.633, 51.657, 0.551]),
    ],
)
def test_every_collector_is_understood(name: str, expected: list[float]) -> None:
    assert milliseconds(DATA / f"{name}.log") == expected


def test_a_pause_begins_before_the_time_of_its_line_or_at_it() -> None:
    unified = gc_log.read([DATA / "g1-17.log"], pytest.fail)
    jdk8 = gc_log.read([DATA / "cms-8.log"], pytest.fail)
    assert unified is not None
    assert jdk8 is not None
    (begin, pauses), (begin_jdk8, (first, *_)) = unified, jdk8
    assert begin == datetime(2026, 11, 21, 20, 53, 23, 35000, UTC).timestamp()
    assert pauses[-1].end == pytest.approx(datetime(2026, 11, 21, 20, 54, 5, 752000, UTC).timestamp())
    assert pauses[-1].begin == pytest.approx(pauses[-1].end - 0.047332)
    assert first.begin == begin_jdk8 == datetime(2026, 11, 21, 21, 12, 33, 481000, UTC).timestamp()


def test_what_was_rotated_out_of_a_log_belongs_to_it(tmp_path: Path) -> None:
    lines = (DATA / "g1-17.log").read_text(encoding="utf-8").splitlines(keepends=True)
    middle = next(number for number, line in enumerate(lines) if "GC(5) Using" in line)
    (tmp_path / "gc.log.0").write_text("".join(lines[:middle]), encoding="utf-8")
    (tmp_path / "gc.log").write_text("".join(lines[middle:]), encoding="utf-8")
    assert milliseconds(tmp_path / "gc.log", tmp_path / "gc.log.0") == milliseconds(DATA / "g1-17.log")


@pytest.mark.parametrize(
    "content", [None, b"", b"no log\n", b"\0\xff" * 100, b"[2026-99-99T00:00:00.000+0000] GC(0) Pause 1ms\n"]
)
def test_what_is_no_log_is_a_warning(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "gc.log").write_bytes(content)
    warnings: list[str] = []
    assert gc_log.read([tmp_path / "gc.log"], warnings.append) is None
    assert len(warnings) == (2 if content is None else 1)
    assert "gc.log: contains no line of a JVM's" in warnings[-1]


PIECES = st.sampled_from(
    [
        *(
            "[2026-11-21T20:53:23.035+0000]", "2026-11-21T21:12:33.481+0000: ", "[9999-99-99T00] ", "[0.1s] ", "\n",
            "\r\n",
        ),
        *("GC(1) ", "GC(-) ", "Y: ", "Pause ", "1.2.3ms", "4ms", "5.0ms\n", "\0"),
        *("[GC ", "[Full GC ", ", 0.5 secs]", ", .. secs]", " [Times: "),
    ]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=5), max_size=30))
def test_no_log_stops_the_summary(pieces: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gc.log")
        path.write_text("".join(pieces), encoding="utf-8", errors="replace")
        log = gc_log.read([path], lambda _: None)
    assert log is None or all(pause.ms >= 0 for pause in log[1])


def test_a_log_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    text = (DATA / "cms-8.log").read_text(encoding="utf-8")
    (tmp_path / "gc.log").write_text(text[: text.index(" (concurrent mode failure): 27326K")], encoding="utf-8")
    assert milliseconds(tmp_path / "gc.log") == [58.720, 9.753, 63.249, 3.545]


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000])
def test_numbers_of_any_length_end_nothing(number: str, tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    begin = "[2026-11-21T07:00:00.000+0000][info][gc]"
    log.write_text(
        f"{begin} GC({number}) Pause Young (Normal) 1.0ms\n{begin} GC(8) Pause Young (Normal) {number}.0ms\n"
        f"{begin} GC(3) Pause Young (Normal) 2.0ms\n",
        "utf-8",
    )
    began, pauses = gc_log.read([log], pytest.fail) or (0, [])
    assert (began, [pause.ms for pause in pauses]) == (1795244400.0, [2.0])
    log.write_text(f"INFO 2026-11-21 07:00:00,000 Compacted in {number}ms\n", "utf-8")
    lines = server_log.Lines(files="gc.log", end=r" Compacted in (?P<ms>\d+)ms")
    read = server_log.read(log, {"compaction": lines}, pytest.fail)
    assert read is not None
    assert read.work == []
