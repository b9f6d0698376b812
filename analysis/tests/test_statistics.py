"""Intervals of means and ratios: textbook values, and how often they hold what is known to be true."""

import math
import random
from collections.abc import Sequence

import pytest

from dohyo import statistics
from dohyo.statistics import Estimate, Ratio, trend


@pytest.mark.parametrize(
    ("freedom", "expected"),
    # Tables of Student's t, 97.5 %: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (19, 2.093), (30, 2.042), (100, 1.984)],
)
def test_quantiles_of_student(freedom: float, expected: float) -> None:
    assert statistics.student_t(freedom) == pytest.approx(expected, abs=0.0006)


def test_quantiles_between_whole_degrees_of_freedom_and_at_their_ends() -> None:
    # With one degree it is Cauchy's distribution, with two there is a closed form; with many it is the normal one.
    assert statistics.student_t(1) == pytest.approx(math.tan(0.475 * math.pi), rel=1e-9)
    assert statistics.student_t(2) == pytest.approx(0.95 * math.sqrt(2 / (1 - 0.95**2)), rel=1e-9)
    assert statistics.student_t(1e6) == pytest.approx(1.959966, abs=1e-5)
    values = [statistics.student_t(1 + tenth / 10) for tenth in range(30)]
    assert values == sorted(values, reverse=True)


def test_the_interval_of_independent_samples() -> None:
    """NIST/SEMATECH e-Handbook 1.3.5.2: 195 flows of heat, mean 9.261460, standard deviation 0.02278881."""
    mean, deviation = 9.261460, 0.02278881
    # 194 values that far from the mean and one at it have just these two; here they are the logarithms.
    of = log([math.exp(each) for each in [mean + deviation, mean - deviation] * 97 + [mean]])
    assert (of.n, of.freedom) == (195, 194)
    ends = [math.log(of.centre / of.factor), math.log(of.centre * of.factor)]
    assert ends == pytest.approx([9.258242, 9.264679], abs=1e-6)
    two = log([90, 110])
    assert [two.centre, two.factor] == pytest.approx([99.499, (110 / 90) ** (12.706 / 2)], rel=1e-4)


def test_one_sample_says_nothing_of_the_next_and_zero_has_no_logarithm() -> None:
    assert statistics.logarithms([5.0]) is statistics.logarithms([]) is statistics.logarithms([5.0, 0.0]) is None
    assert statistics.geometric([4.0, 9.0]) == pytest.approx(6)
    assert statistics.geometric([1000.1] * 3) == 1000.1  # to the last digit
    assert statistics.geometric([4.0, 0.0]) == 2


def log(samples: Sequence[float]) -> Estimate:
    of = statistics.logarithms(samples)
    assert of is not None
    return of


def test_samples_without_any_deviation() -> None:
    logs = log([3.0, 3.0])
    assert logs.factor == 1
    assert statistics.ratio(logs, logs) == Ratio(1, 1, 1)
    least = statistics.ratio(logs, logs, 1.02)
    assert [least.low, least.high] == pytest.approx([1 / 1.02, 1.02])


@pytest.mark.parametrize(
    ("samples", "position"),
    [
        ((10, 10, 10, 10, 20000), 4),
        ((10, 10, 30000), 2),
        ((1000, 3, 1001, 999), 1),
        ((44.4, 44.2, 36.0), None),  # of three, two are often close together
        ((1000, 1000, 1000, 1100), None),  # alike, and the other one is near
        ((100, 900, 500), None),
        ((1, 1000), None),
        ((10, 10, 0), None),
    ],
)
def test_an_outlier_is_no_part_of_the_scatter_of_the_others(samples: tuple[float, ...], position: int | None) -> None:
    assert statistics.outlier(samples) == position


def test_grubbs_critical_values() -> None:
    """Grubbs 1969, table 1, two-sided 1 %: n = 10 has 2.482."""
    others = [-1.0, 1.0] * 4 + [0.0]

    def found(g: float) -> int | None:
        # One value x beside these nine lies G deviations from the mean of all ten.
        low, high = 0.0, 1e6
        for _ in range(200):
            x = (low + high) / 2
            every = [*others, x]
            mean = sum(every) / 10
            deviation = math.sqrt(sum((each - mean) ** 2 for each in every) / 9)
            low, high = (x, high) if (x - mean) / deviation < g else (low, x)
        return statistics.outlier([math.exp(each) for each in [*others, low]])

    assert (found(2.480), found(2.485)) == (None, 9)


def test_a_trend_is_that_of_the_thirds_of_all_series() -> None:
    assert trend([[1.0] * 5 + [7.0] * 5 + [2.0] * 5]) == 2
    assert trend([[1.0] * 15, [3.0] * 12 + [5.0] * 6]) == (5 + 30) / (5 + 18)
    assert trend([[1.0] * 7 + [2.0] * 7]) is None  # 14 samples
    assert trend([]) is None
    assert trend([[0.0] * 15]) is None
    # A third without an operation counts as one.
    assert trend([[4.0] * 10 + [0.0] * 5]) == 1 / 20
    assert trend([[0.0] * 5 + [4.0] * 10]) == 20


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "spreads"), [(2, (1, 1)), (3, (1, 1)), (3, (1, 4)), (5, (1, 2))])
def test_nineteen_of_twenty_ratios_of_few_samples_hold_the_true_one(samples: int, spreads: tuple[int, int]) -> None:
    rng = random.Random(samples)  # noqa: S311  a simulation
    held = 0
    for _ in range(600):
        of = [
            log([mean * math.exp(rng.gauss(0, 0.02 * spread)) for _ in range(samples)])
            for mean, spread in zip((1340, 1000), spreads, strict=True)
        ]
        found = statistics.ratio(of[0], of[1])
        assert not found.is_tie or found.high - found.low > 0.3
        held += found.low <= 1.34 <= found.high
    assert 0.93 <= held / 600 <= 0.995


def test_welch() -> None:
    """Welch 1947 as on the page "Welch's t-test" of Wikipedia, example 1: t = -2.46, 25.0 degrees of freedom."""
    one = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    two = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4]
    first, second = (log([math.exp(each) for each in samples]) for samples in (one, two))
    found = statistics.ratio(first, second)
    difference, half = math.log(found.value), math.log(found.high / found.value)
    error = math.hypot(first.error, second.error)
    assert difference / error == pytest.approx(-2.46, abs=0.005)
    assert half / error == pytest.approx(statistics.student_t(25.0), abs=0.001)
    assert not found.is_tie


def test_a_ratio_is_a_tie_where_its_interval_holds_one() -> None:
    def ratio(above: list[float], below: list[float]) -> Ratio:
        return statistics.ratio(log(above), log(below))

    assert ratio([100, 101, 102], [100, 102, 103]).is_tie
    clear = ratio([1340, 1350, 1345], [1000, 1005, 1010])
    assert not clear.is_tie
    assert clear.low < 1.338 < clear.high
    back = ratio([1000, 1005, 1010], [1340, 1350, 1345])
    assert [back.low, back.high] == pytest.approx([1 / clear.high, 1 / clear.low])


def test_one_sample_far_from_the_others_widens_the_interval_by_its_whole_distance() -> None:
    """The delta method took s / m for the deviation, at most √n: 10, 10, 30000 against 100 was [1.36, 7363]."""
    steady = [100.0] * 3
    found = statistics.ratio(log([10, 10, 30000]), log(steady))
    assert found.is_tie
    assert found.value == pytest.approx(1.44, abs=0.01)
    assert statistics.ratio(log([10, 10, 10, 10, 20000]), log([100.0] * 5)).is_tie


def test_an_interval_whose_ends_overflow() -> None:
    wide = statistics.ratio(Estimate(2, 0.0, 1000.0, 1), Estimate(2, 0.0, 1000.0, 1))
    assert wide.low == 0
    assert 1e300 < wide.high < math.inf
