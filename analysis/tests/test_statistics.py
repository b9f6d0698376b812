"""Tests intervals of means and ratios: textbook values, and how often the intervals contain the true value."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from dohyo import statistics
from dohyo.statistics import BORROWED, CONFIDENCE, LATER_LOOK, Errors, Estimate, Ratio, trend


@pytest.mark.parametrize(
    ("freedom", "expected"),
    # Student's t, 97.5 %: table in NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (19, 2.093), (30, 2.042), (100, 1.984)],
)
def test_quantiles_of_student(freedom: float, expected: float) -> None:
    assert statistics.student_t(freedom) == pytest.approx(expected, abs=0.0006)


def test_quantiles_between_whole_degrees_of_freedom_and_at_their_ends() -> None:
    # The distribution is Cauchy with one degree of freedom, has a closed form with two, and is nearly normal with many.
    assert statistics.student_t(1) == pytest.approx(math.tan(0.475 * math.pi), rel=1e-9)
    assert statistics.student_t(2) == pytest.approx(0.95 * math.sqrt(2 / (1 - 0.95**2)), rel=1e-9)
    assert statistics.student_t(1e6) == pytest.approx(1.959966, abs=1e-5)
    values = [statistics.student_t(1 + tenth / 10) for tenth in range(30)]
    assert values == sorted(values, reverse=True)


def test_the_interval_of_independent_samples() -> None:
    """NIST/SEMATECH e-Handbook 1.3.5.2: 195 heat flows with mean 9.261460 and standard deviation 0.02278881."""
    mean, deviation = 9.261460, 0.02278881
    # 194 logarithms at one deviation from the mean, and one equal to the mean, have this mean and deviation.
    estimate = log([math.exp(x) for x in [mean + deviation, mean - deviation] * 97 + [mean]])
    assert (estimate.n, estimate.freedom) == (195, 194)
    ends = [estimate.mean - math.log(estimate.factor), estimate.mean + math.log(estimate.factor)]
    assert ends == pytest.approx([9.258242, 9.264679], abs=1e-6)
    two = log([90, 110])
    assert [math.exp(two.mean), two.factor] == pytest.approx([99.499, (110 / 90) ** (12.706 / 2)], rel=1e-4)


def test_one_sample_says_nothing_of_the_next_and_zero_has_no_logarithm() -> None:
    assert statistics.logarithms([5.0]) is statistics.logarithms([]) is statistics.logarithms([5.0, 0.0]) is None
    assert statistics.geometric([4.0, 9.0]) == pytest.approx(6)
    assert statistics.geometric([1000.1] * 3) == 1000.1  # the result is exact to the last digit
    assert statistics.geometric([4.0, 0.0]) == 2


def log(samples: Sequence[float]) -> Estimate:
    estimate = statistics.logarithms(samples)
    assert estimate is not None
    return estimate


def test_samples_without_any_deviation() -> None:
    logs = log([3.0, 3.0])
    assert logs.factor == 1
    assert statistics.ratios([logs, logs])[0, 1] == Ratio(1, 1, 1, 0, 2, 0.95)


@pytest.mark.parametrize(
    ("samples", "position"),
    [
        ((10, 10, 10, 10, 20000), 4),
        ((10, 10, 30000), 2),
        ((1000, 3, 1001, 999), 1),
        ((44.4, 44.2, 36.0), None),  # by chance, two of three are often close together
        ((1000, 1000, 1000, 1100), None),  # the other sample is not far away
        ((100, 900, 500), None),
        ((1, 1000), None),
        ((10, 10, 0), None),
    ],
)
def test_an_outlier_is_no_part_of_the_scatter_of_the_others(samples: tuple[float, ...], position: int | None) -> None:
    assert statistics.outlier(samples) == position


def test_grubbs_critical_values() -> None:
    """Grubbs 1969, table 1, two-sided 1 %: 2.482 for n = 10."""
    rest = [-1.0, 1.0] * 4 + [0.0]

    def find_outlier(g: float) -> int | None:
        # Find the value x that, together with these nine, is `g` deviations from the mean of all ten.
        low, high = 0.0, 1e6
        for _ in range(200):
            x = (low + high) / 2
            every = [*rest, x]
            mean = sum(every) / 10
            deviation = math.sqrt(sum((number - mean) ** 2 for number in every) / 9)
            low, high = (x, high) if (x - mean) / deviation < g else (low, x)
        return statistics.outlier([math.exp(number) for number in [*rest, low]])

    assert (find_outlier(2.480), find_outlier(2.485)) == (None, 9)


def test_a_trend_is_that_of_the_thirds_of_all_series() -> None:
    assert trend([[1.0] * 5 + [7.0] * 5 + [2.0] * 5]) == 2
    assert trend([[1.0] * 15, [3.0] * 12 + [5.0] * 6]) == (5 + 30) / (5 + 18)
    assert trend([[1.0] * 7 + [2.0] * 7]) is None  # 14 samples are too few
    assert trend([]) is None
    assert trend([[0.0] * 15]) is None
    # A third without operations counts as if it had one operation.
    assert trend([[4.0] * 10 + [0.0] * 5]) == 1 / 20
    assert trend([[0.0] * 5 + [4.0] * 10]) == 20


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "spreads"), [(2, (1, 1)), (3, (1, 1)), (3, (1, 4)), (5, (1, 2))])
def test_nineteen_of_twenty_ratios_of_few_samples_hold_the_true_one(samples: int, spreads: tuple[int, int]) -> None:
    rng = random.Random(samples)  # noqa: S311  a simulation
    held = 0
    for _ in range(600):
        estimates = [
            log([mean * math.exp(rng.gauss(0, 0.02 * spread)) for _ in range(samples)])
            for mean, spread in zip((1340, 1000), spreads, strict=True)
        ]
        ratio = statistics.ratios(estimates)[0, 1]
        assert not is_tie(ratio) or ratio.high - ratio.low > 0.3
        held += ratio.low <= 1.34 <= ratio.high
    assert 0.93 <= held / 600 <= 0.995


@pytest.mark.parametrize(
    ("count", "freedom", "confidence", "expected"),
    # Studentised range: tables of Harter, Clemm, Guthrie 1959, and R's qtukey.
    [
        (3, 10, 0.95, 3.877), (4, 4, 0.95, 5.757), (4, 8, 0.95, 4.529), (4, 20, 0.95, 3.958), (5, 20, 0.95, 4.232),
        (10, 30, 0.95, 4.824), (4, 120, 0.95, 3.685), (3, 10, 0.99, 5.270), (4, 8, 0.99, 6.204), (3, 1, 0.95, 26.98),
    ],
)  # fmt: skip
def test_quantiles_of_the_studentised_range(count: int, freedom: float, confidence: float, expected: float) -> None:
    assert statistics.studentised_range(count, freedom, confidence) == pytest.approx(expected, abs=0.0006, rel=3e-4)


def test_the_studentised_range_of_two_is_students_t() -> None:
    for freedom in (1, 2.5, 8):
        two = statistics.studentised_range(2, freedom)
        assert two == pytest.approx(math.sqrt(2) * statistics.student_t(freedom), rel=1e-9)
        # The integral for three or more means gives almost the same value for two.
        assert statistics._beyond(two, 2, freedom) == pytest.approx(1 - CONFIDENCE, abs=0.002)


# Rates of the recorded experiment in 1,000 operations per second: InnoDB, Cassandra, MyISAM, HBase.
RECORDED = ((44.4, 44.2, 36.0), (32.5, 31.7, 34.6), (33.4, 31.7, 32.5), (16.6, 18.7, 20.7))


def test_the_rule_of_ratios_by_hand() -> None:
    """Computes the ratio of two systems of the recorded experiment with the formulas in docs/method.md#statistics."""
    ratio = statistics.ratios([log(samples) for samples in RECORDED])[0, 1]
    logs = [[math.log(rate) for rate in rates] for rates in RECORDED]
    means = [sum(row) / 3 for row in logs]
    squares = [sum((x - mean) ** 2 for x in row) / 2 for row, mean in zip(logs, means, strict=True)]
    pooled = sum(squares) / 4
    weight, borrowed = 2 / (2 + BORROWED), BORROWED / (2 + BORROWED)
    error = math.sqrt(sum(weight * squares[index] + borrowed * pooled for index in (0, 1)) / 3)
    # The squared error depends on two variances directly, and on all four through the pooled variance.
    parts = [(2 * borrowed / 4 + (weight if index < 2 else 0)) * squares[index] / 3 for index in range(4)]
    freedom = sum(parts) ** 2 / (sum(part**2 for part in parts) / 3) - 1
    # The confidence of the quantile follows from the ranks of the two systems: first and second of four.
    assert sorted(range(4), key=lambda index: -means[index]) == [0, 1, 2, 3]
    quantile = statistics.student_t(freedom, 0.95 ** (2 / 4))
    assert [ratio.error, ratio.freedom] == pytest.approx([error, freedom])
    assert ratio.half == pytest.approx(quantile * error)
    assert [ratio.value, ratio.low, ratio.high] == pytest.approx([1.256, 1.016, 1.552], abs=0.001)


def test_the_recorded_experiment_has_a_winner() -> None:
    """Welch's interval for the first pair was [0.84, 1.88], so there was no winner after 16 minutes."""
    ratios = statistics.ratios([log(samples) for samples in RECORDED])
    ends = {pair: (round(ratio.low, 3), round(ratio.high, 3)) for pair, ratio in ratios.items() if pair[0] < pair[1]}
    assert ends == {
        (0, 1): (1.016, 1.552), (0, 2): (1.003, 1.611), (0, 3): (1.707, 2.896),
        (1, 2): (0.843, 1.215), (1, 3): (1.41, 2.222), (2, 3): (1.426, 2.146),
    }  # fmt: skip
    # The ratio of Cassandra to MyISAM is 1.01. Three more rounds would show that they are practically equal.
    means = [log(samples) for samples in RECORDED]
    assert not statistics.is_alike(*ends[1, 2], statistics.ALIKE)
    assert statistics.more_to_decide(means, (1, 2), statistics.ALIKE) == 3


def test_two_means_are_welchs_but_for_the_degrees_of_freedom() -> None:
    """Example 1 of Wikipedia's page "Welch's t-test" (Welch 1947): t = -2.46 with 25.0 degrees of freedom."""
    first = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
    two = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4]
    ratio = statistics.ratios([log([math.exp(x) for x in samples]) for samples in (first, two)])[0, 1]
    assert math.log(ratio.value) / ratio.error == pytest.approx(-2.46, abs=0.005)
    # Welch: 25.0 = (Σ x)² / Σ (x² / 14). Dohyo's formula uses 15 instead of 14 and subtracts 1, which gives 25.8.
    assert ratio.freedom == pytest.approx(25.0 / 14 * 15 - 1, abs=0.05)
    assert ratio.half / ratio.error == pytest.approx(statistics.student_t(ratio.freedom), abs=0.001)


def test_several_comparisons_widen_the_intervals_of_all_pairs() -> None:
    estimates = [log([mean, mean * 1.05, mean / 1.05]) for mean in (1000, 1300, 1700, 2200)]
    two, four = statistics.ratios(estimates[:2])[0, 1], statistics.ratios(estimates)
    neighbours, ends = four[0, 1], four[0, 3]
    assert [neighbours.error, ends.error] == pytest.approx([two.error] * 2)
    # More systems give a better estimate of the variance, which outweighs the correction for more comparisons.
    assert neighbours.half < two.half < ends.half
    assert ends.half / ends.error == pytest.approx(statistics.studentised_range(4, 8) / math.sqrt(2))
    assert neighbours.half / neighbours.error == pytest.approx(statistics.student_t(8, 0.95**0.5))


def test_a_system_that_scatters_far_more_than_the_others_leaves_theirs_alone() -> None:
    """Tests the rule that decides which variances are pooled: Cochran's test of the largest variance."""
    # With two degrees of freedom for each of four variances, P(largest share > s) is 4 (1 - s)³: 0.1 % at 0.937.
    critical = 1 - (0.001 / 4) ** (1 / 3)
    for share, pool in ((critical - 0.001, {0, 1, 2, 3}), (critical + 0.001, {1, 2, 3})):
        rest = (1 - share) / 3
        assert statistics.alike_in_scatter([2] * 4, [share, rest, rest, rest]) == pool
    assert statistics.alike_in_scatter([2] * 2, [1.0, 0.0]) == {0, 1}
    assert statistics.alike_in_scatter([2] * 3, [0.0, 0.0, 0.0]) == {0, 1, 2}
    estimates = [log([mean, mean * 1.05, mean / 1.05]) for mean in (1000, 1300, 1700)]
    outlying = log([2200, 2200 * 1.05, 22])
    three, four = statistics.ratios(estimates), statistics.ratios([*estimates, outlying])
    assert four[0, 1].error == pytest.approx(three[0, 1].error)
    assert four[0, 1].freedom == pytest.approx(three[0, 1].freedom)
    assert four[0, 3].freedom == pytest.approx(2, abs=0.05)


def test_the_widest_confidence_counts_and_unequal_numbers_of_samples_are_weighed() -> None:
    few, many = log([1000, 1050, 950]), log([1300, 1365, 1235] * 4)
    ratio = statistics.ratios([few, many])[0, 1]
    later = statistics.ratios([few, replace(many, confidence=LATER_LOOK)])[0, 1]
    assert later.half > ratio.half
    assert later.half / later.error == pytest.approx(statistics.student_t(later.freedom, LATER_LOOK))
    assert 2 < ratio.freedom < 13


@pytest.mark.slow
def test_equal_systems_are_called_different_in_at_most_5_of_100_experiments() -> None:
    """Pairwise intervals would call the first and last of four equal systems different in 17 to 20 % of experiments."""
    rng = random.Random(5)  # noqa: S311  a simulation
    different = 0
    for _ in range(400):
        estimates = [log([math.exp(rng.gauss(0, 0.06)) for _ in range(3)]) for _ in range(4)]
        different += any(not is_tie(ratio) for ratio in statistics.ratios(estimates).values())
    # The result is 4.1 %. With 400 experiments, the standard error of a share is 1 %.
    assert different <= 0.05 * 400


def together(groups: Sequence[Sequence[float]]) -> tuple[list[Estimate], Errors]:
    joint = statistics.together(groups)
    assert joint is not None
    return joint


def test_two_systems_that_were_measured_together_have_the_paired_t_test() -> None:
    first, second = [100.0, 150.0, 80.0, 130.0], [110.0, 160.0, 90.0, 141.0]
    differences = [math.log(a / theirs) for a, theirs in zip(first, second, strict=True)]
    mean = sum(differences) / 4
    error = math.sqrt(sum((difference - mean) ** 2 for difference in differences) / 3 / 4)
    ratio = statistics.ratios(*together([first, second]))[0, 1]
    assert math.log(ratio.value) == pytest.approx(mean)
    assert ratio.error == pytest.approx(error)
    assert ratio.freedom == pytest.approx(3)
    assert ratio.half == pytest.approx(statistics.student_t(3) * error)
    apart = statistics.ratios([log(first), log(second)])[0, 1]
    assert ratio.half < apart.half / 5, "the starts differ far more than the systems"


def test_the_level_of_a_start_is_no_error_of_ratios() -> None:
    groups = [[100.0, 102.0, 99.0], [50.0, 51.5, 49.0], [80.0, 79.0, 81.0]]
    shifted = [[sample * level for sample, level in zip(samples, (1, 3, 0.2), strict=True)] for samples in groups]
    (plain, errors), (moved, errors_moved) = together(groups), together(shifted)
    assert [mean.error for mean in moved] == pytest.approx([mean.error for mean in plain])
    assert errors_moved == pytest.approx(errors)
    assert [mean.freedom for mean in plain] == pytest.approx([4 / 3] * 3), "(3 - 1) (3 - 1) for three systems"


@pytest.mark.parametrize(
    "groups", [[[1.0, 2.0, 3.0]], [[1.0, 2.0], [2.0, 3.0]], [[1.0, 2.0, 3.0], [1.0, 2.0]], [[1.0, 2.0, 0.0]] * 2]
)
def test_groups_that_cannot_be_analysed_together(groups: list[list[float]]) -> None:
    assert statistics.together(groups) is None


@pytest.mark.slow
@pytest.mark.parametrize("deviations", [(0.05, 0.05), (0.05, 0.05, 0.05, 0.05), (0.04, 0.04, 0.08)])
def test_equal_systems_measured_together_are_called_different_in_at_most_5_of_100_experiments(
    deviations: tuple[float, ...],
) -> None:
    rng = random.Random(7)  # noqa: S311  a simulation
    different = 0
    for _ in range(400):
        levels = [rng.gauss(0, 0.2) for _ in range(3)]
        group = together([[math.exp(level + rng.gauss(0, sigma)) for level in levels] for sigma in deviations])
        different += any(not is_tie(ratio) for ratio in statistics.ratios(*group).values())
    # With 400 experiments, the standard error of a share of 5 % is 1.1 %.
    assert different <= 0.07 * 400


def test_the_change_of_one_system_alone_is_the_ratio_of_two() -> None:
    after, before = log([10.0, 11.0, 12.5]), log([9.0, 9.5, 9.9])
    (change,) = statistics.changes([(after, before)])
    expected = statistics.ratios([after, before])[0, 1]
    assert (change.low, change.high, change.freedom) == pytest.approx((expected.low, expected.high, expected.freedom))
    assert statistics.changes([]) == []


def test_the_changes_of_several_systems_by_hand() -> None:
    """Three systems of equal variance have 12 pooled degrees of freedom, in addition to the borrowed ones."""
    rounds = [math.exp(x) for x in (-0.05, 0.0, 0.05)]
    pairs = [(log([x * 1.1 for x in rounds]), log(rounds)) for _ in range(3)]
    change, *_ = statistics.changes(pairs)
    assert change.value == pytest.approx(1.1)
    assert change.error == pytest.approx(0.05 * math.sqrt(2 / 3))
    quantile = statistics.student_t(change.freedom, 0.95 ** (1 / 3))
    assert change.half == pytest.approx(quantile * change.error)
    assert change.freedom > statistics.changes(pairs[:1])[0].freedom


@pytest.mark.slow
def test_systems_that_did_not_change_are_called_changed_in_at_most_5_of_100_comparisons() -> None:
    rng = random.Random(6)  # noqa: S311  a simulation
    together = alone = 0
    for _ in range(400):
        after, before = ([log([math.exp(rng.gauss(0, 0.06)) for _ in range(3)]) for _ in range(4)] for _ in range(2))
        pairs = [*zip(after, before, strict=True)]
        together += any(not is_tie(change) for change in statistics.changes(pairs))
        alone += any(not is_tie(change) for pair in pairs for change in statistics.changes([pair]))
    # The results are 4.5 and 18.5 %. With 400 experiments, the standard error of a share of 5 % is 1 %.
    assert together <= 0.05 * 400
    assert alone > 0.12 * 400


def is_tie(ratio: Ratio) -> bool:
    return ratio.low <= 1 <= ratio.high


def test_one_sample_far_from_the_others_widens_the_interval_by_its_whole_distance() -> None:
    """The delta method uses deviation / mean (at most √n), so the first interval would be [1.36, 7363], not a tie."""
    ratio = statistics.ratios([log([10, 10, 30000]), log([100.0] * 3)])[0, 1]
    assert is_tie(ratio)
    assert ratio.value == pytest.approx(1.44, abs=0.01)
    assert is_tie(statistics.ratios([log([10, 10, 10, 10, 20000]), log([100.0] * 5)])[0, 1])


def test_an_interval_whose_ends_overflow() -> None:
    wide = statistics.ratios([Estimate(2, 0.0, 1000.0, 1), Estimate(2, 0.0, 1000.0, 1)])[0, 1]
    assert wide.low == 0
    assert 1e300 < wide.high < math.inf


@pytest.mark.parametrize(
    ("low", "high", "alike"), [(0.87, 1.15, True), (0.86, 1.1, False), (0.9, 1.16, False), (1.01, 1.1, True)]
)
def test_alike_is_an_interval_within_the_share_either_way(low: float, high: float, alike: bool) -> None:
    assert statistics.is_alike(low, high, 0.15) == alike


def test_the_number_of_samples_that_decide_a_pair() -> None:
    def means(ratio: float, scatter: float) -> list[Estimate]:
        return [log([mean, mean * scatter, mean / scatter]) for mean in (1000.0, 1000.0 * ratio)]

    steady = means(1.3, 1.02)
    assert statistics.more_to_decide(steady, (1, 0), 0.15) == 1
    # The bounds are 1 and 1.15. The number of rounds is highest halfway between them.
    counts = [statistics.more_to_decide(means(ratio, 1.06), (1, 0), 0.15) for ratio in (1.0, 1.03, 1.072, 1.1, 1.2)]
    assert counts == sorted(counts[:3], key=lambda n: n or 0) + sorted(counts[3:], key=lambda n: -(n or 0))
    assert statistics.more_to_decide(means(1.072, 1.5), (1, 0), 0.15) is None
