"""Tests how dips and errors are found in counts per second."""

import pytest

from dohyo.evidence.events import DIP_SECONDS, Event, Seconds, dips, in_order
from support.evidence import interval


@pytest.mark.parametrize(
    ("throughput", "expected"),
    [
        ([], []),
        ([100] * 10, []),
        ([100, 100, 0, 0, 100, 100, 100], []),  # two seconds are too few
        ([100, 100, 0, 0, 0, 100, 100, 100], [(2, 5)]),
        ([100, 100, 100, 100, 100, 0, 0, 0], [(5, 8)]),
        ([0, 0, 0, 100, 100, 100, 0, 0, 0, 100, 100, 100, 100], [(0, 3), (6, 9)]),
        ([100, 100, 45, 45, 45, 100, 100], []),  # 45 is more than half of the mean of all seconds, 76
        ([9, 9, 9, 0, 0, 0, 9, 9], []),  # counts are so low that dips may occur by chance
    ],
)
def test_dips_are_found(throughput: list[int], expected: list[tuple[int, int]]) -> None:
    assert [(first, end) for first, end, _ in dips(throughput, DIP_SECONDS)] == expected


def test_a_held_up_client_is_divided_over_the_seconds_that_its_interval_covers() -> None:
    seconds = Seconds()
    seconds.add("a", "READ", interval(0.0, 0.004, 1))
    seconds.add("a", "READ", interval(0.004, 0.997, 99))
    seconds.add("a", "READ", interval(1.001, 3.999, 402))
    seconds.add("a", "READ", interval(5.0, 0.012, 3))
    assert seconds.throughput() == [100, 100, 101, 100, 101]
    assert seconds.throughput(3.0) == [100, 100, 101]


def test_only_seconds_that_all_clients_cover_count_and_a_read_modify_write_counts_once() -> None:
    seconds = Seconds()
    for second in range(4):
        for name in ("READ", "UPDATE", "READ-MODIFY-WRITE", "Intended-READ"):
            seconds.add("a", name, interval(second, 1, 10))
    for second in range(2):
        seconds.add("b", "READ", interval(second, 1, 5))
    assert seconds.throughput() == [15, 15]


def test_errors_close_together_are_one_event_and_scattered_ones_are_summed_up() -> None:
    seconds = Seconds()
    for second in (3, 4, 6, 12):
        seconds.add("a", "READ-FAILED", interval(second, 1, 1000))
    seconds.add("a", "READ-FAILED", interval(8, 1, 0))
    assert [(e.at, e.until, e.what) for e in seconds.events(1, 5, None, "run", DIP_SECONDS)] == [
        (8, 12, "3,000 failed operations, in 3 seconds"),
        (17, 18, "1,000 failed operations"),
    ]
    for second in range(20, 80, 10):
        seconds.add("b", "UPDATE-FAILED", interval(second, 1, 1))
    (event,) = seconds.events(1, 0, None, "run", DIP_SECONDS)
    assert str(event) == "run 1, seconds 3–71: 4,006 failed operations, in 10 seconds"


def test_a_damaged_interval_costs_no_memory() -> None:
    seconds = Seconds()
    seconds.add("a", "READ", interval(1e15, 1, 1))
    seconds.add("a", "READ", interval(0, 1e15, 1))
    assert seconds.throughput() == []


def test_sentences_and_their_order() -> None:
    events = [Event(None, 4.2, None, "ended", "a"), Event(2, None, None, "vanished", "b")]
    assert [str(event) for event in in_order(events)] == [
        "run 2, before the start: b: vanished",
        "load, second 4: a: ended",
    ]
