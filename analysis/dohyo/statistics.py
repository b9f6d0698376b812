"""Computes confidence intervals of geometric means and of their ratios.

docs/method.md#statistics gives the formulas and their sources. The standard library has neither Student's t nor the
studentised range. SciPy has both, but would add 100 MB for these two functions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import permutations
from statistics import fmean, geometric_mean, stdev
from typing import TypeVar

Number = TypeVar("Number", int, float)
# Confidence level: the share of intervals that include the true value.
CONFIDENCE = 0.95
# Confidence level of the second and later checks if rounds are added until the interval is narrow enough. This rule
# for stopping makes intervals too narrow; with this level, 94 to 98 % include the true value (benchmarks/truth.py).
LATER_LOOK = 0.98
# Maximum number of samples to suggest; for `deciding` it includes the present ones.
MOST_MORE = 100
# Weight of the pooled scatter when combined with one system's own, in degrees of freedom (benchmarks/truth.py).
BORROWED = 8
# Significance level of the test for a system whose scatter is too large to be pooled with that of the others.
APART = 0.001
# Default bound of `is_alike`: two systems are alike if the interval of their ratio lies between 1 / 1.15 and 1.15.
ALIKE = 0.15
# Probability that the number of samples that `deciding` returns is enough.
_POWER = 0.9
# Significance level of the test for outliers. A sample within a factor _NEAR of the others' mean is not an outlier.
_OUTLIER, _NEAR = 0.01, 1.2
# Minimum length of a series for `trend`. A third of a shorter one is too short to distinguish a trend from chance.
TREND_LEAST = 15
# Minimum number of starts for `together`: with fewer, each of two systems has less than one degree of freedom.
TOGETHER_LEAST = 3
# Standard error of the difference of two means, by their positions.
Errors = Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Estimate:
    """A mean of logarithms with its standard error.

    :ivar n: number of samples
    :ivar error: standard error of the mean
    :ivar freedom: degrees of freedom of the error; at least 1
    :ivar confidence: confidence level of the interval
    """

    n: int
    mean: float
    error: float
    freedom: float
    confidence: float = CONFIDENCE

    @property
    def factor(self) -> float:
        """Returns the factor of the interval, which extends from exp(mean) / factor to exp(mean) · factor."""
        return _exp(student_t(self.freedom, self.confidence) * self.error)


@dataclass(frozen=True)
class Ratio:
    """A ratio of two geometric means, with its interval.

    :ivar error: standard error of the logarithm
    :ivar freedom: degrees of freedom of the error
    :ivar confidence: level of the intervals of all ratios that are computed together
    """

    value: float
    low: float
    high: float
    error: float
    freedom: float
    confidence: float

    @property
    def half(self) -> float:
        """Returns half of the width of the logarithm's interval."""
        return math.log(self.high / self.value) if self.high > self.value else 0.0


def total(values: Sequence[Number | None]) -> Number | None:
    """Returns the sum of the values; None if there are no values, or if one of them is not known."""
    present = [value for value in values if value is not None]
    return sum(present) if present and len(present) == len(values) else None


def geometric(samples: Sequence[float]) -> float:
    """Returns the geometric mean, or the arithmetic mean if a sample is not above 0.

    :raises statistics.StatisticsError: without samples
    """
    if min(samples, default=1) <= 0:
        return fmean(samples)
    # Rounding must not change the mean of equal samples.
    return min(max(geometric_mean(samples), min(samples)), max(samples))


def logarithms(samples: Sequence[float], confidence: float = CONFIDENCE) -> Estimate | None:
    """Returns the mean of the logarithms of independent samples, such as rounds.

    Returns None for fewer than two samples, or if one is not above 0. An outlier has its full weight in the logarithms.
    The delta method would limit it: the standard deviation of n samples divided by their mean never exceeds √n.
    """
    if len(samples) < 2 or min(samples) <= 0:
        return None
    logs = [math.log(sample) for sample in samples]
    return Estimate(len(logs), fmean(logs), stdev(logs) / math.sqrt(len(logs)), len(logs) - 1, confidence)


def together(groups: Sequence[Sequence[float]], confidence: float = CONFIDENCE) -> tuple[list[Estimate], Errors] | None:
    """Returns the means of the logarithms of several systems, and the standard errors of the means' differences.

    The systems were measured at the same starts of their servers. A start affects all systems alike, for example
    through the state of the hosts. This effect cancels out in their ratios. A logarithm is the sum of a system's level,
    a start's level and an error. This is the analysis of variance with two factors (Box, Hunter, Hunter 2005:
    Statistics for Experimenters, chapter 4). The errors of k systems in n starts have (k - 1) (n - 1) degrees of
    freedom, 1/k of them for each mean. With two systems it is a paired t-test.

    :param groups: samples of each system, one for each start, in the order of the starts
    :returns: None for fewer than two systems or `TOGETHER_LEAST` starts, or if a sample is not above 0
    """
    counts = {len(samples) for samples in groups}
    if len(groups) < 2 or len(counts) != 1 or min(counts) < TOGETHER_LEAST or min(map(min, groups)) <= 0:
        return None
    logs = [[math.log(sample) for sample in samples] for samples in groups]
    starts = [fmean(start) for start in zip(*logs, strict=True)]
    size, count = len(groups), len(starts)
    means = []
    for values in logs:
        residuals = [value - start for value, start in zip(values, starts, strict=True)]
        # Subtracting the mean of the k systems has reduced the variance of the errors to (k - 1) / k.
        error = stdev(residuals) * math.sqrt(size / (size - 1) / count)
        means.append(Estimate(count, fmean(values), error, (count - 1) * (size - 1) / size, confidence))
    errors = {
        (one, other): stdev(first - second for first, second in zip(logs[one], logs[other], strict=True))
        / math.sqrt(count)
        for one, other in permutations(range(size), 2)
    }
    return means, errors


def outlier(samples: Sequence[float]) -> int | None:
    """Returns the position of an outlier, a single sample outside the scatter of the others, or None.

    This is Grubbs's test (Grubbs 1969: Procedures for detecting outlying observations in samples) of the logarithms, at
    the significance level `_OUTLIER`. A sample within a factor of `_NEAR` of the others' mean is never an outlier.
    """
    if len(samples) < 3 or min(samples) <= 0:
        return None
    logs = [math.log(sample) for sample in samples]
    n, mean, deviation = len(logs), fmean(logs), stdev(logs)
    furthest = max(range(n), key=lambda position: abs(logs[position] - mean))
    # The distance from the mean of the others is n / (n - 1) times the distance from the mean of all.
    distance = abs(logs[furthest] - mean)
    t = student_t(n - 2, 1 - _OUTLIER / n)
    critical = (n - 1) / math.sqrt(n) * math.sqrt(t**2 / (n - 2 + t**2))
    is_far = distance * n / (n - 1) > math.log(_NEAR) and distance > critical * deviation
    return furthest if is_far else None


def more(samples: Sequence[float], half: float) -> int | None:
    """Estimates how many more samples, with the same scatter, narrow the interval to ± `half` of the mean. Returns None
    if the scatter is not known, or for more than `MOST_MORE` samples.
    """
    estimate = logarithms(samples)
    if estimate is None:
        return None
    n, deviation = estimate.n, estimate.error * math.sqrt(estimate.n)
    counts = range(1, MOST_MORE + 1)
    halves = (student_t(n + count - 1, LATER_LOOK) * deviation / math.sqrt(n + count) for count in counts)
    return next((count for count, reached in zip(counts, halves, strict=True) if reached <= math.log1p(half)), None)


def deciding(
    above: Estimate, below: Estimate, distance: float, rest: Sequence[tuple[Estimate, Estimate]] = ()
) -> int | None:
    """Estimates how many samples each of two means needs so that the interval of their ratio excludes a bound. With
    the same scatter, they suffice in 9 of 10 cases. Returns None for more than `MOST_MORE` samples.

    Half of the interval plus t' times the error is at most the distance (Julious 2004); t' is the 90 % quantile.

    :param above: `logarithms` of the samples in the numerator
    :param below: `logarithms` of the samples in the denominator
    :param distance: difference between the logarithms of the ratio and of the bound
    :param rest: pairs that are tested together with this one, see `changes`
    """

    def decides(n: int) -> bool:
        pairs = ((above, below), *rest)
        family = [(_with(one, n, one.confidence), _with(other, n, other.confidence)) for one, other in pairs]
        ratio = changes(family)[0]
        return ratio.half + student_t(ratio.freedom, 2 * _POWER - 1) * ratio.error <= distance

    return _fewest(2, decides)


def _fewest(least: int, decides: Callable[[int], bool]) -> int | None:
    """Returns the lowest number of samples, from `least` to `MOST_MORE`, that decides; None if no number does."""
    counts = range(least, MOST_MORE + 1)
    index = bisect_left(counts, True, key=decides)
    return counts[index] if index < len(counts) else None


def _with(mean: Estimate, n: int, confidence: float) -> Estimate:
    """Returns the estimate for `n` samples with the same mean and deviation."""
    return replace(
        mean,
        n=n,
        error=mean.error * math.sqrt(mean.n / n),
        freedom=mean.freedom * (n - 1) / (mean.n - 1),
        confidence=confidence,
    )


def trend(series: Sequence[Sequence[float]]) -> float | None:
    """Returns the sum over the last thirds of all series, divided by the sum over their first thirds.

    Series with fewer than `TREND_LEAST` samples are left out. Returns None if both sums are 0.
    """
    first = last = 0.0
    for samples in series:
        if len(samples) >= TREND_LEAST:
            third = len(samples) // 3
            first += sum(samples[:third])
            last += sum(samples[-third:])
    # A sum of 0 operations counts as 1, because a ratio with 0 is meaningless.
    return max(last, 1.0) / max(first, 1.0) if first or last else None


def ratios(means: Sequence[Estimate], errors: Errors | None = None) -> dict[tuple[int, int], Ratio]:
    """Returns the ratios of all pairs of geometric means that are compared with each other, such as those of a point.

    In about 95 % of the cases (90 % if one scatters far more), no two equal means are called different. s² is the
    variance of a mean's samples, f its degrees of freedom, and x its part in the squared error of the ratio:

    - s², with the weight f, is combined with the pooled variance, with the weight `BORROWED`.
    - The degrees of freedom of the error are (Σ x)² / Σ (x² / (f + 1)) - 1, at most Σ f (Satterthwaite 1946, with half
      of the correction in Welch 1947).
    - The quantile is that of the studentised range. For a pair that spans p of the k ranked means, its level is
      confidence ^ (p / k) (Ryan 1960; Einot, Gabriel 1975; Welsch 1977).

    :param means: one mean for each system; the highest confidence level among them applies
    :param errors: standard errors of the differences, from `together`. They apply where they are larger: the pooled
        error is too small for a system that scatters more than the others
    :returns: ratios by position: (0, 1) is the first mean divided by the second one
    """
    pool = _pool(means)
    return {pair: _ratio(means, pool, pair, errors) for pair in permutations(range(len(means)), 2)}


def changes(pairs: Sequence[tuple[Estimate, Estimate]]) -> list[Ratio]:
    """Returns the ratio of each pair of geometric means, such as those of a system after and before an upgrade.

    If no pair has changed, all intervals include 1 in 95 % of the cases. Error and degrees of freedom are as in
    `ratios`. The quantile is Student's t at the level confidence ^ (1 / k) for k pairs (Šidák 1967).
    """
    means = [mean for pair in pairs for mean in pair]
    pool = _pool(means)
    confidence = max((mean.confidence for mean in means), default=CONFIDENCE)
    level = confidence ** (1 / max(len(pairs), 1))
    result = []
    for index, (one, other) in enumerate(pairs):
        error, freedom = _error(means, pool, (2 * index, 2 * index + 1))
        result.append(_between(one, other, error, freedom, student_t(freedom, level), confidence))
    return result


def _pool(means: Sequence[Estimate]) -> set[int]:
    """Returns the positions of the means whose variances are pooled."""
    return alike_in_scatter([mean.freedom for mean in means], [mean.error**2 * mean.n for mean in means])


def _ratio(means: Sequence[Estimate], pool: set[int], pair: tuple[int, int], errors: Errors | None) -> Ratio:
    """Returns the ratio of the two means at the positions in `pair`, see `ratios`."""
    one, other = pair
    error, freedom = _error(means, pool, pair)
    if errors is not None and errors[pair] > error:
        error, freedom = errors[pair], min(freedom, means[one].n - 1)
    ranking = sorted(range(len(means)), key=lambda position: -means[position].mean)
    span = abs(ranking.index(one) - ranking.index(other)) + 1
    confidence = max(mean.confidence for mean in means)
    quantile = studentised_range(span, freedom, confidence ** (span / len(means))) / math.sqrt(2) if error else 0.0
    return _between(means[one], means[other], error, freedom, quantile, confidence)


def _between(one: Estimate, other: Estimate, error: float, freedom: float, quantile: float, confidence: float) -> Ratio:
    """Returns the ratio of two means. Half of the interval of its logarithm is the quantile times the error."""
    difference, half = one.mean - other.mean, quantile * error
    return Ratio(_exp(difference), _exp(difference - half), _exp(difference + half), error, freedom, confidence)


def _error(means: Sequence[Estimate], pool: set[int], pair: tuple[int, int]) -> tuple[float, float]:
    """Returns the standard error of the logarithm of the ratio of a pair of means, and its degrees of freedom."""
    squares = [mean.error**2 * mean.n for mean in means]
    of_pool = sum(means[index].freedom for index in pool)
    shares = {
        index: means[index].freedom / (BORROWED + means[index].freedom) if index in pool else 1.0 for index in pair
    }
    borrowed = sum((1 - shares[index]) / means[index].n for index in pair)
    parts = [
        borrowed * mean.freedom / of_pool * square if index in pool else 0.0
        for index, (mean, square) in enumerate(zip(means, squares, strict=True))
    ]
    for index in pair:
        parts[index] += shares[index] * squares[index] / means[index].n
    error = math.sqrt(sum(parts))
    weights = sum(part**2 / (mean.freedom + 1) for part, mean in zip(parts, means, strict=True))
    # A weight may be too small for a float and become 0.
    whole = sum(mean.freedom for index, mean in enumerate(means) if index in pool or index in pair)
    return error, min(whole, error**4 / weights - 1) if weights else whole


def alike_in_scatter(freedoms: Sequence[float], squares: Sequence[float]) -> set[int]:
    """Returns the positions of the variances to pool: all but those that are far above the others.

    Leaves out the largest variance while its share of the sum is improbable (Cochran 1941, at the level `APART`) and
    more than two remain.

    :param freedoms: degrees of freedom of the variances
    :param squares: the variances
    """
    pool = set(range(len(squares)))
    while len(pool) > 2:
        sums = {index: freedoms[index] * squares[index] for index in pool}
        most = max(sums, key=lambda index: squares[index])
        rest = sum(freedoms[index] for index in pool) - freedoms[most]
        share = sums[most] / sum(sums.values()) if sums[most] else 0.0
        if len(pool) * _share_above(share, freedoms[most], rest) > APART:
            break
        pool.remove(most)
    return pool


def _share_above(share: float, freedom: float, rest: float) -> float:
    """Returns the probability that the share of one variance in the sum of squares exceeds `share`.

    It is the upper tail of a beta distribution: ∫ sin^(f-1) cos^(g-1) above φ for share = sin² φ.

    :param freedom: degrees of freedom f of the variance; at least 1
    :param rest: degrees of freedom g of all others together; at least 2
    """
    low = math.asin(math.sqrt(min(1.0, share)))
    integral = _simpson(lambda x: math.sin(x) ** (freedom - 1) * abs(math.cos(x)) ** (rest - 1), low, math.pi / 2, 100)
    log_beta = math.lgamma(freedom / 2) + math.lgamma(rest / 2) - math.lgamma((freedom + rest) / 2)
    return 2 * integral / math.exp(log_beta)


def is_alike(low: float, high: float, alike: float) -> bool:
    """Returns whether the interval of a ratio lies between 1 / (1 + alike) and 1 + alike."""
    return 1 / (1 + alike) <= low and high <= 1 + alike


def more_to_decide(
    means: Sequence[Estimate], pair: tuple[int, int], alike: float, errors: Errors | None = None
) -> int | None:
    """Estimates how many more samples of every mean decide a pair, if all means and their scatter stay the same.

    A pair is decided if its interval excludes 1, or if `is_alike` holds. Returns None for more than `MOST_MORE`.

    :param errors: standard errors of the differences, see :func:`ratios`
    """

    def decides(count: int) -> bool:
        after = [_with(mean, mean.n + count, LATER_LOOK) for mean in means]
        shrunk = math.sqrt(means[0].n / after[0].n)
        ratio = _ratio(after, _pool(after), pair, errors and {key: error * shrunk for key, error in errors.items()})
        return not ratio.low <= 1 <= ratio.high or is_alike(ratio.low, ratio.high, alike)

    return _fewest(1, decides)


@lru_cache(maxsize=4096)
def studentised_range(count: int, freedom: float, confidence: float = CONFIDENCE) -> float:
    """Returns a quantile of the range of normal means divided by an independent estimate of their deviation.

    :param count: number of means; at least 2
    :param freedom: degrees of freedom of the deviation, not necessarily whole; at least 1
    """
    # For two means the studentised range is √2 times Student's t.
    if count == 2:
        return math.sqrt(2) * student_t(freedom, confidence)
    low, high = 0.0, 4.0
    while _beyond(high, count, freedom) > 1 - confidence:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, count, freedom) > 1 - confidence else (low, middle)
    return high


# Width and number of the steps in the integrals of the studentised range, which end at 12 standard deviations.
_STEP, _STEPS = 0.05, 240


def _beyond(q: float, count: int, freedom: float) -> float:
    """Returns the probability of a studentised range above q: the integral over s of P(range > q s) times the density
    of the deviation s. The integral over w = q s uses the trapezoidal rule, which is nearly exact for such densities.
    """
    # Far above 400 degrees of freedom, the density is narrower than a step. The quantile for 400 is within 0.5 % of it.
    freedom = min(freedom, 400.0)
    scale = math.log(2) + freedom / 2 * math.log(freedom / 2) - math.lgamma(freedom / 2)
    area = 0.0
    for step, tail in enumerate(_tails(count)[1:], 1):
        deviation = step * _STEP / q
        area += tail * math.exp(scale + (freedom - 1) * math.log(deviation) - freedom * deviation**2 / 2)
    # The density at 0 is 0, except with one degree of freedom.
    return (area + (math.exp(scale) / 2 if freedom == 1 else 0.0)) * _STEP / q


@cache
def _tails(count: int) -> list[float]:
    """Returns the probabilities that the range of `count` standard normal values exceeds 0, 1, … steps. For n values
    and a range w the probability is 1 - n ∫ φ(z) (Φ(z) - Φ(z - w))^(n-1) dz.
    """
    positions = range(-_STEPS, _STEPS + 1)
    normal = [math.erfc(-position * _STEP / math.sqrt(2)) / 2 for position in positions]
    density = [math.exp(-((position * _STEP) ** 2) / 2) / math.sqrt(2 * math.pi) for position in positions]
    tails = []
    for width in range(_STEPS + 1):
        below = [0.0] * width + normal
        area = sum(
            weight * (upper - lower) ** (count - 1)
            for weight, upper, lower in zip(density, normal, below, strict=False)
        )
        tails.append(max(0.0, 1 - count * area * _STEP))
    return tails


@lru_cache(maxsize=1024)
def student_t(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Returns the t for which Student's distribution has the probability `confidence` between -t and t.

    :param freedom: degrees of freedom, not necessarily whole; at least 1
    """
    # Newton's method. The probability is concave in t, so each step from below stays below.
    density = 1 / (math.sqrt(freedom) * _whole(freedom))  # density of |T| at 0
    t, step = 0.0, 1.0
    while step > 1e-14 * t:
        step = (confidence - _within(t, freedom)) / density * (1 + t**2 / freedom) ** ((freedom + 1) / 2)
        t += step
    return t


def _within(t: float, freedom: float) -> float:
    """Returns P(|T| ≤ t). With t = √f tan φ this is the integral of cos^(f-1) from 0 to φ divided by that from 0 to π/2
    (Abramowitz and Stegun, 26.7).
    """
    # Integrate up to this angle: beyond it, the power of the cosine is negligible, and the steps become too wide.
    angle = min(math.atan(t / math.sqrt(freedom)), 40 / math.sqrt(freedom))
    return _simpson(lambda x: math.cos(x) ** (freedom - 1), 0.0, angle, 200) / _whole(freedom)


def _simpson(function: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Returns the integral of a function from `low` to `high` by Simpson's rule with an even number of steps."""
    width = (high - low) / steps
    values = [function(low + step * width) for step in range(steps + 1)]
    return (values[0] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]) + values[-1]) * width / 3


def _whole(freedom: float) -> float:
    """Returns the integral of cos^(f-1) from 0 to π/2."""
    return math.sqrt(math.pi) / 2 * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))


def _exp(value: float) -> float:
    """Returns exp(value), at most exp(700): a larger result serves no purpose and could overflow."""
    return math.exp(min(value, 700))
