"""Tests percentiles and heat maps over time: counts are exact, percentiles nearly exact, and memory is bounded."""

import pickle
import random
from itertools import pairwise

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from dohyo.evidence.events import Seconds
from dohyo.evidence.hdr_log import Interval, Latencies, decode, divided
from dohyo.evidence.latency_slots import OverTime, heat_row_ms


def interval(second: float, values: list[int], digits: int = 3) -> Interval:
    histogram = HdrHistogram(1, 3_600_000_000, digits)
    for value in values:
        histogram.record_value(value)
    return Interval(1_800_000_000 + second, 1.0, decode(histogram.encode().decode()), second)


def lognormal(count: int) -> list[int]:
    return [int(random.lognormvariate(7, 1.5)) for _ in range(count)]


def test_percentiles_of_a_second_are_those_of_all_clients_operations_within_a_hundredth() -> None:
    random.seed(3)
    over_time = OverTime()
    values: dict[int, list[int]] = {second: [] for second in range(3)}
    for _ in range(20):
        for second, all_values in values.items():
            of_client = lognormal(200)
            all_values.extend(of_client)
            over_time.add("READ", interval(second + 0.004, of_client))
    slots = list(over_time.slots([50, 99, 100]))
    assert [(slot.start, slot.seconds, slot.operations) for slot in slots] == [(0, 1, 4000), (1, 1, 4000), (2, 1, 4000)]
    for slot in slots:
        exact = sorted(values[int(slot.start)])
        for percentile, latency in slot.percentiles_ms.items():
            true = exact[int(percentile * 40) - 1] / 1000
            assert true <= latency <= true * 1.01
        assert sum(slot.heat.values()) == 4000
        # The sum of the heat map's rows up to a given row is exactly the number of operations below that row's end.
        for last in slot.heat:
            true = sum(value < round(heat_row_ms(last)[1] * 1000) for value in exact)
            assert sum(n for row, n in slot.heat.items() if row <= last) == true


def test_an_interval_of_a_client_that_was_held_up_is_where_the_throughput_has_it() -> None:
    """The operations of a long interval are spread over all of its seconds, as in the throughput over time."""
    held_up = interval(2.003, [1000] * 599 + [500_000])._replace(seconds=6.0)
    over_time, seconds = OverTime(), Seconds()
    for measured in (interval(0, [1000] * 100), interval(1, [1000] * 100), held_up, interval(8, [1000] * 100)):
        over_time.add("READ", measured)
        seconds.add("node1", "READ", measured)
    slots = list(over_time.slots([100]))
    assert seconds.throughput() == [100] * 9
    # Each counter of the histogram is divided separately, so the sums may differ by one.
    assert [slot.operations for slot in slots] == pytest.approx([100] * 9, abs=2)
    # Exactly one slot contains the slow operation.
    assert sum(slot.percentiles_ms[100] > 400 for slot in slots[2:8]) == 1
    assert sum(sum(slot.heat.values()) for slot in slots) == 900


@given(counts=st.lists(st.integers(0, 10**12), min_size=1), parts=st.integers(1, 100))
def test_counts_are_divided_evenly_and_none_is_lost(counts: list[int], parts: int) -> None:
    whole = np.array(counts)
    divisions = list(divided(whole, parts, np.arange(len(counts)) % parts))
    assert sum(divisions).tolist() == counts  # type: ignore[union-attr]
    assert all((part - whole / parts < 1).all() and (part - whole / parts > -1).all() for part in divisions)


def test_rows_of_a_heat_map_leave_no_stripe_between_them() -> None:
    # Below 100 µs, the histogram is too coarse for rows that are 19 % high, but rows must still have no gaps.
    over_time = OverTime()
    over_time.add("READ", interval(0, [*range(1, 2000), *range(2000, 1_000_000, 50)]))
    (slot,) = over_time.slots()
    rows = [heat_row_ms(row) for row in sorted(slot.heat)]
    assert rows[0][0] == 0.001
    assert all(below[1] == above[0] for below, above in pairwise(rows))
    # The lowest rows are 8 µs high; from 64 µs on, rows are about 19 % high.
    assert [row for row in rows if row[0] < 0.05] == [
        (0.001, 0.008), (0.008, 0.016), (0.016, 0.024), (0.024, 0.032), (0.032, 0.04), (0.04, 0.048), (0.048, 0.064),
    ]  # fmt: skip
    assert all(1.12 < high / low < 1.26 for low, high in rows if low >= 0.064)


def test_long_runs_have_longer_slots_and_lose_nothing() -> None:
    over_time = OverTime(most_slots=10)
    for second in range(100):
        over_time.add("READ", interval(second, [1000] * (second + 1)))
    slots = list(over_time.slots())
    assert {slot.seconds for slot in slots} == {16}
    assert [slot.start for slot in slots] == [0, 16, 32, 48, 64, 80, 96]
    assert [slot.operations for slot in slots] == [sum(range(n + 1, min(n + 17, 101))) for n in range(0, 100, 16)]


def test_parts_of_other_processes_add_up_whatever_their_slots() -> None:
    whole, first, second = OverTime(8), OverTime(8), OverTime(8)
    for number in range(40):
        for part, values in ((first, [500, 700]), (second, [90_000])):
            if part is first and number > 6:
                continue
            part.add("READ", interval(number, values))
            whole.add("READ", interval(number, values))
    first.merge(pickle.loads(pickle.dumps(second)))  # noqa: S301  our own data
    assert list(first.slots()) == list(whole.slots())
    assert {slot.seconds for slot in whole.slots()} == {8}


def test_all_operations_together_count_each_once_and_leave_failures_out() -> None:
    over_time = OverTime()
    for name in ("READ", "UPDATE", "READ-MODIFY-WRITE", "Intended-READ", "READ-FAILED"):
        over_time.add(name, interval(1, [1000]))
    (slot,) = over_time.slots()
    assert slot.operations == 2


def test_other_resolutions_are_converted_and_wild_times_are_left_out() -> None:
    over_time = OverTime()
    over_time.add("READ", interval(0, [1500], digits=2))
    over_time.add("READ", interval(-5, [1500]))
    over_time.add("READ", interval(1e9, [1500]))
    (slot,) = over_time.slots()
    assert slot.operations == 1
    assert slot.percentiles_ms[50] == pytest.approx(1.5, rel=0.02)


def test_latencies_survive_the_way_between_processes() -> None:
    random.seed(4)
    original = Latencies()
    for second in range(5):
        original.add(interval(second, lognormal(50)).histogram)
    two: Latencies = pickle.loads(pickle.dumps(original))  # noqa: S301  our own data
    assert two.percentiles_ms([1, 50, 99]) == original.percentiles_ms([1, 50, 99])
    two.add_all(original)
    assert (two.count, two.mean_ms, two.max_ms) == (500, original.mean_ms, original.max_ms)
