"""Tests the end of a warm-up: the rule, and how the conductor applies it to all clients."""

from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conducting.conductor import NOTICE_SECONDS
from conducting.warmup import LEAST, LOG, Progress, compiling, is_steady
from support.agents import AHEAD, Stage

RATES = st.lists(st.floats(1, 1e6), min_size=LEAST, max_size=60)


@given(st.floats(1, 1e6), st.integers(0, 60))
def test_an_even_rate_is_steady_as_soon_as_anything_is(rate: float, seconds: int) -> None:
    assert is_steady([rate] * seconds) == (seconds >= LEAST)


@given(RATES, st.integers(-8, 8))
def test_steadiness_does_not_depend_on_the_unit_of_the_rate(rates: list[float], power: int) -> None:
    # Multiplication by a power of two is exact.
    assert is_steady(rates) == is_steady([rate * 2.0**power for rate in rates])


@given(st.integers(LEAST, 30), st.floats(1, 1e6))
def test_a_rate_that_falls_is_as_unsteady_as_one_that_rises(seconds: int, rate: float) -> None:
    rising = [rate * (1 + 0.05 * second) for second in range(seconds)]
    assert not is_steady(rising)
    assert not is_steady(rising[::-1])


@given(st.integers(LEAST, 29), st.floats(0.3, 1))
def test_a_rate_that_jumps_is_not_steady_though_its_mean_is(seconds: int, jump: float) -> None:
    assert not is_steady([1 + jump * (-1) ** second for second in range(seconds)])


@given(st.integers(10, 40))
def test_a_plateau_counts_only_where_it_is_as_long_as_what_was_before(seconds: int) -> None:
    rise = [100.0 + 100 * second for second in range(seconds)]
    assert not is_steady([*rise, *rise[-1:] * (seconds // 4)])
    assert is_steady([*rise, *rise[-1:] * (seconds + 1)])


def test_a_system_that_does_nothing_is_not_steady() -> None:
    assert not is_steady([0.0] * 30)


def test_clients_are_added_up_by_the_second_though_their_lines_come_late() -> None:
    progress = Progress(["host1", "host2"])
    progress.add("host1", "1.000 100\n2.000 200\n")
    assert progress.seconds == 0
    progress.add("host2", "1.250 125\n")
    assert progress.seconds == 1
    # This line covers two seconds. Its operations are divided evenly between them.
    progress.add("host2", "3.500 350\n")
    progress.add("host1", "3.010 301\n")
    assert progress.rates() == pytest.approx([200, 200, 200])


def test_compilers_are_judged_by_the_last_seconds() -> None:
    assert compiling([]) == compiling([(1000.0, 80.0)]) == 0
    busy = [(1000.0 + second, 80 + 0.5 * second) for second in range(20)]
    assert compiling(busy[:3]) == compiling(busy) == pytest.approx(0.5)
    rest = [(1019.0 + second, busy[-1][1]) for second in range(1, LEAST + 1)]
    assert compiling(busy + rest[:-1]) == pytest.approx(0.5 / LEAST)
    assert compiling(busy + rest) == 0


class Warm(Stage):
    """Simulates clients that report their progress during a warm-up of at most `warmup` seconds."""

    def __init__(self, warmup: float = 30, **also: Any) -> None:
        super().__init__(**{"steady": True, "warmup": warmup, "bound": 1000, **also})
        self.measures: dict[str, dict[str, Any]] = {}
        self.done = dict.fromkeys(("host1", "host2"), 0.0)

    def _answer(self, host: str, message: dict[str, Any]) -> None:
        super()._answer(host, message)
        if message["do"] == "measure":
            self.measures[host] = {**message, "when": self.now}

    def work(self, rates: list[float], which: tuple[str, ...] = ("host1", "host2")) -> None:
        """Makes each of these clients report the given number of operations for each second."""
        for rate in rates:
            second = self.now + 1 - self.conductor.agreed
            self.step(1)
            for host in which:
                self.done[host] += rate
                self.say(host, "log", file=LOG, text=f"{second:.3f} {self.done[host]:.0f}\n")
            self.step()

    def begin(self) -> Self:
        self.ready().step(self.conductor.agreed - self.now)
        return self


def test_all_begin_to_measure_at_one_instant_when_the_rate_is_steady() -> None:
    stage = Warm().begin()
    stage.work([50, 300, 400, 500, 500])
    assert stage.measures == {}
    stage.work([500, 500, 500, 500, 500])
    measure = stage.conductor.measure
    assert set(stage.measures) == set(AHEAD)  # host3 has servers but no client
    for host, plan in stage.measures.items():
        assert plan["window"] == pytest.approx([measure + AHEAD[host], measure + 10 + AHEAD[host]], abs=1e-3)
        assert measure - plan["when"] >= NOTICE_SECONDS
    outcome = stage.report()
    assert outcome["warmup_steady"] is True
    assert LEAST <= outcome["warmup_seconds"] < 13
    # The window is set only once, so later rates do not change it.
    stage.work([10, 1000, 10])
    assert stage.conductor.measure == measure
    assert stage.report()["warmup_steady"] is True


@pytest.mark.parametrize(
    ("host", "share", "rests"), [("host1", 0.5, False), ("host3", 0.11, False), ("host3", 0.09, True)]
)
def test_compilers_that_work_keep_a_steady_rate_warm(host: str, share: float, rests: bool) -> None:
    stage = Warm(warmup=20).begin()
    assert stage.starts[host]["compilers"] is True
    for second in range(30):
        stage.say(host, "compilers", at=5e5 + second, used=70 + share * second)
        stage.work([500])
    outcome = stage.report()
    assert outcome["warmup_steady"] is rests
    assert outcome["warmup_compiling"] == pytest.approx(share)
    assert (outcome["warmup_seconds"] < 20) == bool(stage.measures) == rests


def test_one_client_that_is_not_steady_keeps_all_of_them_warm() -> None:
    stage = Warm(warmup=20).begin()
    for second in range(30):
        stage.work([500], ("host1",))
        stage.done["host2"] += 100 * second
        moment = stage.now - stage.conductor.agreed
        stage.say("host2", "log", file=LOG, text=f"{moment:.3f} {stage.done['host2']:.0f}\n")
    outcome = stage.report()
    assert stage.measures == {}
    assert (outcome["warmup_seconds"], outcome["warmup_steady"]) == (20, False)


@pytest.mark.parametrize(
    ("options", "rates", "seconds", "is_steady"),
    [
        ({"warmup": 20}, [100, 900] * 12, 20, False),
        *(({"warmup": short}, [500] * 8, short, None) for short in (0, 3, LEAST)),  # too short for the rule
        ({"warmup": LEAST + 2}, [500] * 9, LEAST + 2, True),  # the warm-up cannot end earlier
        ({"steady": False}, [500] * 20, 30, None),
    ],
)
def test_a_warm_up_that_does_not_end_earlier_is_as_long_as_it_was_meant_to_be(
    options: dict[str, Any], rates: list[float], seconds: float, is_steady: bool | None
) -> None:
    stage = Warm(**options).begin()
    stage.work(rates)
    outcome = stage.report()
    assert stage.measures == {}
    assert (outcome["warmup_seconds"], outcome["warmup_steady"]) == (seconds, is_steady)
    assert stage.conductor.failure == ""
    if options == {"steady": False}:
        assert (stage.starts["host1"]["compilers"], outcome["warmup_compiling"]) == (False, None)


def test_a_client_that_is_silent_in_its_window_hangs_also_when_that_began_earlier() -> None:
    stage = Warm(warmup=600).begin()
    stage.work([500] * 12)
    stage.step(60)
    assert "hangs: it has sent no report since" in stage.conductor.failure
