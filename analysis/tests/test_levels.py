"""Tests the detection of lasting changes in a long run's throughput, and the list of what else changed at that time."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dohyo.evidence.host_metrics import FILE, HostMetrics
from dohyo.evidence.levels import LEAST_SECONDS, LEVEL_SECONDS, LevelChange, changes
from dohyo.evidence.servers import GC_PAUSE, Span, Window
from dohyo.summary import level_changes
from dohyo.summary.summary import summarise
from dohyo.summary.trust import doubts
from support.evidence import clients_json, reads, rendered, trial, write_json

AGREED = 1795266533.14
HOUR = 3600


def seconds(length: int, scatter: float, memory: float = 0.0, seed: int = 1) -> NDArray[np.float64]:
    """Returns a value near 1000 for each second. With `memory`, each value depends on the previous one (AR(1))."""
    random = np.random.default_rng(seed)
    noise = random.normal(0, scatter * np.sqrt(1 - memory**2), length)
    for second in range(1, length):
        noise[second] += memory * noise[second - 1]
    return 1000 * (1 + noise)


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_a_sag_has_a_begin_and_an_end(memory: float) -> None:
    series = seconds(2 * HOUR, 0.1, memory)
    series[3000:4500] *= 0.7
    first, second = changes(series.tolist())
    assert [first.second, second.second] == pytest.approx([3000, 4500], abs=60)
    assert (first.begin, first.end, second.begin, second.end) == (0, second.second, first.second, 2 * HOUR)
    assert [first.before, first.after, second.after] == pytest.approx([1000, 700, 1000], rel=0.03)
    assert second.before == first.after


def dips(every: int, length: int, share: float) -> list[float]:
    series = seconds(2 * HOUR, 0.1)
    for begin in range(100, 2 * HOUR, every):
        series[begin : begin + length] *= share
    return list(series)


@pytest.mark.parametrize(
    "series",
    [
        seconds(2 * HOUR, 0.3).tolist(),
        seconds(2 * HOUR, 0.15, 0.97).tolist(),
        dips(60, 9, 0.4),
        dips(LEVEL_SECONDS, 30, 0.3),
        dips(900, 120, 0.5),
        [1000.0] * HOUR,
        [0.0] * HOUR,
        # A change of less than 10 % does not count.
        [1000.0] * HOUR + [920.0] * HOUR,
        [1000.0] * (LEAST_SECONDS // 2) + [500.0] * (LEAST_SECONDS // 2 - 1),
    ],
    ids=[
        "noise", "slow noise", "flushes", "as often as a level lasts", "compactions", "flat", "zero", "small",
        "short",
    ],
)  # fmt: skip
def test_noise_and_dips_are_no_change_of_level(series: list[float]) -> None:
    assert changes(series) == []


@pytest.mark.parametrize("length", [300, 310, 345, 600])
def test_the_block_of_a_change_belongs_to_neither_level(length: int) -> None:
    series = np.random.default_rng(1).poisson(1000, 2 * HOUR).astype(float)
    series[2010 : 2010 + length] = 50
    first, second = changes(series.tolist())
    assert [first.after, second.before] == pytest.approx([50, 50], abs=5)


def test_a_standstill_is_a_level() -> None:
    assert changes([1000.0] * HOUR + [0.0] * HOUR) == [LevelChange(0, HOUR, 2 * HOUR, 1000.0, 0.0)]


def samples(busy_from: int, length: int) -> Iterator[dict[str, Any]]:
    """Yields samples of a disk that is busy 10 % of the time until second `busy_from`, and 90 % after it."""
    disk = 0
    for second in range(-1, length):
        disk += 900 if second > busy_from else 100
        yield {
            "time": AGREED + second,
            "up": 5000 + second,
            "cpu": [100 * second, 0, 20 * second, 80 * second, 0, 0, 0, 0] if second > 0 else [0] * 8,
            "memory": [10**9, 10**8, 5 * 10**8, 0, 4 * 10**8, 0],
            "disks": {"sda": [0, 0, 0, 0, disk]},
            "networks": {},
            # Every tenth sample has these values.
            **({"frequency": 0.6 if second > busy_from else 1, "celsius": 71.5} if second % 10 == 0 else {}),
            **({"celsius": 98} if second % 10 == 0 and second > busy_from else {}),
        }


def sampled(folder: Path, busy_from: int, length: int) -> None:
    (folder / "node1").mkdir(parents=True)
    with gzip.open(folder / "node1" / FILE, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"cpus": 2}) + "\n")
        file.writelines(json.dumps(sample) + "\n" for sample in samples(busy_from, length))


def test_a_run_names_its_changes_and_what_changed_at_the_same_time(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    counts = [*[1000, 1020, 980] * 800, *[600, 590, 610] * 600]
    reads(folder / "run-1/node1", counts)
    write_json(folder / "run-1/clients.json", clients_json(("node1",)))
    sampled(folder / "hosts", 2400, 4300)
    summary = summarise(tmp_path)
    (result,) = summary.trials
    change = "the throughput level fell from 1,000 to 600 op/s"
    assert result.level_changes == [f"run 1, second 2401 ({change})"]
    assert [str(event) for event in result.events] == [
        f"run 1, second 2401: {change}; at the same time (not necessarily the cause):"
        " node1: busiest disk 10% \N{RIGHTWARDS ARROW} 90%; node1: processors' frequency 100% \N{RIGHTWARDS ARROW} 60%;"
        " node1: processors' temperature 72 °C \N{RIGHTWARDS ARROW} 98 °C"
    ]
    (reason,) = (weakness for weakness in doubts(summary) if weakness.short == "changes of level")
    assert reason.text.startswith(f"Changes of level: cassandra in run 1, second 2401 ({change})")
    assert "busiest disk 10%" in " ".join(rendered(summary).split())


def test_what_a_server_did_is_named_and_the_largest_change_comes_first(tmp_path: Path) -> None:
    sampled(tmp_path / "hosts", 9000, 9000)
    window = Window("run", 1, AGREED, AGREED + 10, AGREED + 10 + 2 * HOUR, {})
    hosts = HostMetrics(tmp_path / "hosts", [window], [], pytest.fail)
    change = LevelChange(0, HOUR, 2 * HOUR, 1000.0, 500.0)
    time = HOUR + 10.0
    spans = [
        *(Span("run", 1, "node1", None, GC_PAUSE, time + second, time + second + 0.2, None) for second in range(300)),
        Span("run", 1, "node2", None, "compaction", time - 30, time + 400, None),
        Span("run", 2, "node1", None, "flush", time, time + 400, None),
        # This flush took the same time before and after the change, so it is not reported.
        Span("run", 1, "node1", None, "flush", time - 100, time + 100, None),
    ]
    (event,) = level_changes.events([change], window, spans, hosts)
    arrow = "\N{RIGHTWARDS ARROW}"
    assert event.what.endswith(
        f"(not necessarily the cause): node2: compactions 10% {arrow} 100%; node1: GC pauses 0% {arrow} 20%"
    )
    assert (event.at, event.phase, event.run) == (time, "run", 1)
    (event,) = level_changes.events([change], window, spans[-1:], hosts)
    assert event.what.endswith("; no sampled figure changed at the same time")
