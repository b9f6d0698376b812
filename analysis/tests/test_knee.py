"""Tests the decisions of the search for the highest rate within a bound. A function of the rate replaces the system."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dohyo.scenario.search import Settings
from dohyo.scenario.slo import Bound, bounds
from dohyo.summary import knee
from dohyo.summary.knee import Knee

SETTINGS = Settings("p99<10ms", 8, 30, 0.03)
MEASURES = Callable[[float], tuple[str, ...]]


def search(system: MEASURES, start: float = 10_000, most: int = 10, precision: float = 0.03) -> Knee:
    """Runs the search on a system until it ends, and returns its final state."""
    state = Knee(Settings("p99<10ms", most, 30, precision), start)
    while (target := state.next_target()) is not None:
        state = replace(state, tried=(*state.tried, (target, " and ".join(system(target)))))
        assert len(state.tried) <= most
    return state


def up_to(limit: float) -> MEASURES:
    return lambda rate: () if rate <= limit else ("READ p99 14.0 ms",)


def test_a_bound_is_read_with_its_unit_and_its_operation() -> None:
    assert bounds("p99<10ms") == [Bound(None, "p99", 10)]
    assert bounds("p99.9<1.5s, READ.p50 < 500us,readmodifywrite.p90<2ms") == [
        Bound(None, "p99.9", 1500),
        Bound("READ", "p50", 0.5),
        Bound("READ-MODIFY-WRITE", "p90", 2),
    ]


@pytest.mark.parametrize(
    "text",
    ["", ",", "p99", "p99<", "p99<10", "p99<10m", "p99>10ms", "p99<=10ms", "p98<10ms", "p99<-1ms", "p99<0ms",
     "p99<1e3ms", "verify.p99<1ms", ".p99<1ms", "read.<1ms", "p99<10ms,", "p99.<1ms", "p99<٣ms", "p99x9<1ms"],
)  # fmt: skip
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a bound on a percentile"):
        bounds(text)


LATENCIES: dict[str, dict[str, float | None]] = {
    "READ": {"p50": 1.0, "p90": 4.0, "p95": 5.0, "p99": 9.99, "p99.9": 40.0},
    "UPDATE": {"p50": 2.0, "p90": 4.0, "p95": 5.0, "p99": 10.0, "p99.9": None},
}


@pytest.mark.parametrize(
    ("slo", "reasons"),
    [
        ("p99<11ms", ()),
        ("p99<10ms", ("UPDATE p99 10.0 ms",)),  # the value must be below the bound
        ("read.p99<10ms", ()),
        ("read.p99<5ms,p50<1.5ms", ("READ p99 9.99 ms", "UPDATE p50 2.00 ms")),
        ("p99<9ms", ("READ p99 9.99 ms", "UPDATE p99 10.0 ms")),
        ("read.p50<1ms,p50<1ms", ("READ p50 1.00 ms", "UPDATE p50 2.00 ms")),  # each violation is listed once
        ("read.p99.9<40001us", ()),
    ],
)
def test_every_bound_must_hold_of_every_operation_that_it_is_about(slo: str, reasons: tuple[str, ...]) -> None:
    assert knee.broken(bounds(slo), LATENCIES, 1000, 1000) == reasons


@pytest.mark.parametrize(
    ("achieved", "reasons"), [(1000, ()), (990, ()), (989.9, ("only 990 op/s",)), (500, ("only 500 op/s",)), (1100, ())]
)
def test_a_rate_that_is_not_reached_does_not_hold(achieved: float, reasons: tuple[str, ...]) -> None:
    assert knee.broken(bounds("p50<10ms"), LATENCIES, 1000, achieved) == reasons


@pytest.mark.parametrize(
    ("slo", "latencies", "reason"),
    [
        ("p99.9<1s", LATENCIES, "UPDATE p99.9: fewer than"),
        ("scan.p99<1s", LATENCIES, "p99: fewer than"),
        ("p99<1s", {}, "no latencies"),
    ],
)
def test_an_unknown_latency_is_neither_held_nor_broken(slo: str, latencies: knee.Latencies, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        knee.broken(bounds(slo), latencies, 1000, 1000)


def test_a_search_halves_the_closed_loop_maximum_and_then_the_interval() -> None:
    result = search(up_to(4000))
    targets = [target for target, _ in result.tried]
    assert targets[:4] == [10_000, 5000, 2500, 3536]
    assert targets[3] == pytest.approx(math.sqrt(2500 * 5000), rel=1e-3)


@pytest.mark.parametrize("limit", [2501, 3300, 4000, 4999, 5000, 7000, 9999])
def test_a_monotone_system_is_found_within_the_precision(limit: float) -> None:
    result = search(up_to(limit))
    assert result.held is not None
    assert result.unmet is not None
    assert result.held <= limit < result.unmet
    assert result.apart <= 0.03
    assert len(result.tried) <= 9
    assert result.is_sure
    assert "ended it" not in result.conclusion()


def test_a_finer_precision_takes_more_probes_and_a_coarse_one_fewer() -> None:
    assert len(search(up_to(4000), precision=0.5).tried) == 5
    assert len(search(up_to(4000), precision=1).tried) == 4
    fine = search(up_to(4000), most=20, precision=0.01)
    assert 9 < len(fine.tried) < 13
    assert fine.apart <= 0.01


def test_what_holds_at_the_maximum_is_followed_upwards() -> None:
    result = search(up_to(12_000))
    assert [target for target, _ in result.tried][:3] == [10_000, 12_500, 11_180]
    assert result.held is not None
    assert 12_000 / 1.03 <= result.held <= 12_000


def test_if_no_probe_meets_the_bound_the_lowest_one_is_named() -> None:
    result = search(up_to(0), most=4)
    assert [target for target, _ in result.tried] == [10_000, 5000, 2500, 1250]
    assert result.held is None
    assert result.conclusion() == "no rate met p99<10ms: the lowest tried, 1,250 op/s, had READ p99 14.0 ms"


def test_a_search_ends_far_below_what_the_system_can_do() -> None:
    result = search(up_to(0), most=50)
    assert result.unmet is not None
    assert 10 <= result.unmet < 20
    assert len(result.tried) == 11


def test_if_every_probe_meets_the_bound_the_maximum_is_above_all() -> None:
    result = search(up_to(math.inf), most=3)
    assert [target for target, _ in result.tried] == [10_000, 12_500, 15_620]
    assert result.unmet is None
    assert result.conclusion() == ("every rate tried met p99<10ms, up to 15,620 op/s; set a larger search.probes")


def test_probes_that_are_used_up_end_the_search_and_it_says_how_far_it_came() -> None:
    result = search(up_to(4000), most=4)
    assert len(result.tried) == 4
    assert result.conclusion() == (
        "3,536 op/s met p99<10ms; 5,000 op/s had READ p99 14.0 ms; search.probes=4 ended it with rates 41% apart"
    )
    assert search(up_to(4000), most=1).conclusion() == (
        "no rate met p99<10ms: the lowest tried, 10,000 op/s, had READ p99 14.0 ms"
    )


def test_a_saturated_system_that_answers_in_time_does_not_hold_either() -> None:
    """The latency is within the bound at every rate, but the system does not exceed 9,000 op/s."""

    def saturated(rate: float) -> tuple[str, ...]:
        return knee.broken(bounds("p99<10ms"), {"READ": {"p99": 1.0}}, rate, min(rate, 9000))

    result = search(saturated)
    assert result.held is not None
    assert result.unmet is not None
    assert result.held <= 9000 / 0.99 < result.unmet
    assert "had only 9,000 op/s" in result.conclusion()


def test_a_noisy_system_is_found_where_it_sometimes_holds() -> None:
    """Between 4,000 and 6,000 op/s, chance decides. The maximum must be in this range, or one step below it."""
    for seed in range(200):
        chance = random.Random(seed)  # noqa: S311

        def noisy(rate: float, chance: random.Random = chance) -> tuple[str, ...]:
            return () if rate <= chance.uniform(4000, 6000) else ("READ p99 14.0 ms",)

        result = search(noisy)
        assert result.held is not None
        assert 4000 / 1.03 <= result.held <= 6000


def test_one_bad_probe_does_not_make_the_maximum_smaller() -> None:
    """Any probe may fail by chance. Without a second attempt, this could halve the maximum."""
    for bad in range(1, 8):
        count = 0

        def system(rate: float, bad: int = bad) -> tuple[str, ...]:
            nonlocal count
            count += 1
            return () if rate <= 9000 and count != bad else ("READ p99 14.0 ms",)

        result = search(system, most=30)
        assert result.held is not None
        assert 9000 / 1.03 <= result.held <= 9000


def test_without_the_second_try_there_is_no_maximum() -> None:
    result = search(up_to(4000), most=8)
    assert (result.apart <= 0.03, result.is_sure) == (True, False)
    assert result.conclusion().endswith("; search.probes=8 ended it before a second try")


def test_of_results_that_contradict_each_other_the_lower_rate_counts() -> None:
    """A probe that fails by chance may lower the maximum, but never raise it."""
    state = Knee(SETTINGS, 1000, ((1000, ""), (800, "slow"), (400, "")))
    assert (state.held, state.unmet) == (400, 800)
    assert state.next_target() == pytest.approx(math.sqrt(400 * 800), rel=1e-3)
    only = Knee(SETTINGS, 1000, ((1000, ""), (800, "slow")))
    assert only.held is None
    assert only.next_target() == 400


def test_a_search_without_probes_says_so() -> None:
    assert Knee(SETTINGS, 1000).conclusion() == "no rate was tried"


@given(
    answers=st.lists(st.booleans(), min_size=50, max_size=50),
    start=st.floats(0.01, 1e9),
    most=st.integers(1, 50),
    precision=st.floats(0.01, 1),
)
def test_whatever_a_system_answers_the_search_ends_and_narrows(
    answers: list[bool], start: float, most: int, precision: float
) -> None:
    queue = iter(answers)
    result = search(lambda _: () if next(queue) else ("slow",), start, most, precision)
    assert 1 <= len(result.tried) <= most
    targets = [target for target, _ in result.tried]
    assert all(targets.count(target) <= 2 for target in targets)
    assert all(target > 0 for target in targets)
    if result.held and result.unmet:
        assert result.held < result.unmet
        assert (result.apart <= precision and result.is_sure) or len(result.tried) == most
    if result.held:
        assert not dict(result.tried)[result.held]
    assert result.conclusion()
