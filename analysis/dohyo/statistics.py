"""How exactly a geometric mean is known, and the ratios of several. It knows numbers, and nothing of trials and runs.

docs/method.md#statistics has the formulas and where they are from. The standard library has means and deviations, but
neither Student's t nor the studentised range; SciPy has them, and would bring 100 MB for these two functions.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import permutations
from statistics import fmean, geometric_mean, stdev
from typing import TypeVar

Number = TypeVar("Number", int, float)
# Share of such intervals that include the true value.
CONFIDENCE = 0.95
# Of the t at every look after the first, where rounds go on until the interval is narrow enough: an interval that was
# waited for is too narrow; with this t 95 of 100 include the true value again (benchmarks/truth.py, docs/method.md).
LATER_LOOK = 0.98
# Nobody waits for more than this.
MOST_MORE = 100
# Degrees of freedom with which the scatter of all systems together counts for each of them (benchmarks/truth.py).
BORROWED = 8
# Level of the test for a system whose scatter is no part of that of the others.
APART = 0.001
# Half of the interval within which two systems are alike, as a share.
ALIKE = 0.15
# Probability with which that many samples are to decide.
_POWER = 0.9
# Level of the test for an outlier. Samples within the factor, that of a steady throughput, are no outliers.
_OUTLIER, _NEAR = 0.01, 1.2
# Of a shorter series a third is too few samples to tell a trend from chance.
TREND_LEAST = 15


@dataclass(frozen=True)
class Estimate:
    """A mean of logarithms, and how exactly it is known.

    :ivar n: samples
    :ivar error: standard error of the mean
    :ivar freedom: degrees of freedom of that; at least 1
    :ivar confidence: of the t of the interval
    """

    n: int
    mean: float
    error: float
    freedom: float
    confidence: float = CONFIDENCE

    @property
    def centre(self) -> float:
        """The geometric mean of the samples."""
        return math.exp(self.mean)

    @property
    def factor(self) -> float:
        """The interval of the geometric mean reaches from centre / factor to centre · factor."""
        return _exp(student_t(self.freedom, self.confidence) * self.error)


@dataclass(frozen=True)
class Ratio:
    """A ratio of two geometric means, with its interval.

    :ivar error: standard error of its logarithm
    :ivar freedom: degrees of freedom of that
    """

    value: float
    low: float
    high: float
    error: float
    freedom: float

    @property
    def half(self) -> float:
        """Half of the interval of the logarithm."""
        return math.log(self.high / self.value) if self.high > self.value else 0.0


def total(values: Sequence[Number | None]) -> Number | None:
    """The sum; None where one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def geometric(samples: Sequence[float]) -> float:
    """Returns the geometric mean, or the arithmetic one if a sample has no logarithm, as 0.

    :raises statistics.StatisticsError: without samples
    """
    if min(samples, default=1) <= 0:
        return fmean(samples)
    # Rounding must not move the mean of equal samples.
    return min(max(geometric_mean(samples), min(samples)), max(samples))


def logarithms(samples: Sequence[float], confidence: float = CONFIDENCE) -> Estimate | None:
    """Returns the mean of the logarithms of independent samples, such as rounds.

    None for fewer than two samples, and if one of them is not above 0. The samples' own logarithms show an outlier at
    its full size, which the delta method does not: it takes s / m as their deviation, which never exceeds √n.
    """
    if len(samples) < 2 or min(samples) <= 0:
        return None
    logs = [math.log(each) for each in samples]
    return Estimate(len(logs), fmean(logs), stdev(logs) / math.sqrt(len(logs)), len(logs) - 1, confidence)


def outlier(samples: Sequence[float]) -> int | None:
    """Returns the position of the one sample that lies outside the scatter of the others; None without such a sample.

    Grubbs's test of the logarithms (Grubbs 1969: Procedures for detecting outlying observations in samples), at a level
    of `_OUTLIER`. A sample within `_NEAR` of the mean of the others is not one, however alike they are.
    """
    if len(samples) < 3 or min(samples) <= 0:
        return None
    logs = [math.log(each) for each in samples]
    n, mean, deviation = len(logs), fmean(logs), stdev(logs)
    furthest = max(range(n), key=lambda position: abs(logs[position] - mean))
    # Its distance from the mean of the others is n / (n - 1) times that from the mean of all.
    distance = abs(logs[furthest] - mean)
    t = student_t(n - 2, 1 - _OUTLIER / n)
    critical = (n - 1) / math.sqrt(n) * math.sqrt(t**2 / (n - 2 + t**2))
    is_far = distance * n / (n - 1) > math.log(_NEAR) and distance > critical * deviation
    return furthest if is_far else None


def more(samples: Sequence[float], half: float) -> int | None:
    """About how many more samples it takes until half of the interval is that share of the mean, if they scatter like
    these; None if that is not known, or more than `MOST_MORE`.
    """
    of = logarithms(samples)
    if of is None:
        return None
    n, deviation = of.n, of.error * math.sqrt(of.n)
    counts = range(1, MOST_MORE + 1)
    halves = (student_t(n + count - 1, LATER_LOOK) * deviation / math.sqrt(n + count) for count in counts)
    return next((count for count, reached in zip(counts, halves, strict=True) if reached <= math.log1p(half)), None)


def deciding(
    above: Estimate, below: Estimate, distance: float, others: Sequence[tuple[Estimate, Estimate]] = ()
) -> int | None:
    """Returns how many samples each of two means needs for the interval of their ratio to keep off a bound in 9 of 10
    cases, if they scatter as they did; None for more than `MOST_MORE`.

    Half of the interval plus t' times the error is at most the distance (Julious 2004); t' is the 90 % quantile.

    :param above: `logarithms` of the samples of one, `below`: of the other
    :param distance: from the logarithm of the ratio to that of the bound
    :param others: pairs that are judged together with this one, as of `changes`
    """

    def decide(n: int) -> bool:
        pairs = ((above, below), *others)
        family = [(_with(one, n, one.confidence), _with(other, n, other.confidence)) for one, other in pairs]
        found = changes(family)[0]
        return found.half + student_t(found.freedom, 2 * _POWER - 1) * found.error <= distance

    counts = range(2, MOST_MORE + 1)
    found = bisect_left(counts, True, key=decide)
    return counts[found] if found < len(counts) else None


def _with(mean: Estimate, n: int, confidence: float) -> Estimate:
    """Returns the estimate as it would be of `n` samples of the same mean and deviation."""
    return replace(mean, n=n, error=mean.error * math.sqrt(mean.n / n), freedom=n - 1, confidence=confidence)


def trend(series: Sequence[Sequence[float]]) -> float | None:
    """How the last third of equally long or short series compares with the first: 1.5 is half as much more.

    None where they have fewer than `TREND_LEAST` samples, or nothing in both thirds.
    """
    first = last = 0.0
    for each in series:
        if len(each) >= TREND_LEAST:
            third = len(each) // 3
            first += sum(each[:third])
            last += sum(each[-third:])
    # A third without an operation has no ratio to another one: it counts as one operation.
    return max(last, 1.0) / max(first, 1.0) if first or last else None


def ratios(means: Sequence[Estimate]) -> dict[tuple[int, int], Ratio]:
    """Returns the ratios of all pairs of geometric means that were measured together, such as the systems of a point.

    95 % of such families of intervals call no two equal means different. The rule has three parts; `x` is the part that
    a mean's variance s² has in the squared error of the ratio, and f its degrees of freedom:

    - The variance of a mean counts with its own degrees of freedom, that of all `alike_in_scatter` with `BORROWED`.
    - The degrees of freedom of the error are (Σ x)² / Σ (x² / (f + 1)) - 1, at most Σ f (Satterthwaite 1946, with half
      of Welch's correction for bias).
    - The quantile is that of the studentised range of as many means as the pair spans in the ranking, p of k, at a
      level of confidence ^ (p / k) (Ryan 1960; Einot, Gabriel 1975; Welsch 1977).

    :param means: one for each system; the widest confidence of them counts
    :returns: by the positions of the two: (0, 1) is the first one by the second one
    """
    pool = _pool(means)
    return {pair: _ratio(means, pool, pair) for pair in permutations(range(len(means)), 2)}


def changes(pairs: Sequence[tuple[Estimate, Estimate]]) -> list[Ratio]:
    """Returns the ratio of each pair of geometric means, such as each system's after an upgrade by that before.

    If no pair has changed, all intervals together hold 1 in 95 % of the cases. The error and its degrees of freedom are
    those of `ratios`. The quantile is Student's at a level of confidence ^ (1 / k) for k pairs (Šidák 1967).
    """
    means = [mean for pair in pairs for mean in pair]
    pool = _pool(means)
    level = max((mean.confidence for mean in means), default=CONFIDENCE) ** (1 / max(len(pairs), 1))
    found = []
    for place, (one, other) in enumerate(pairs):
        error, freedom = _error(means, pool, (2 * place, 2 * place + 1))
        found.append(_between(one, other, error, freedom, student_t(freedom, level)))
    return found


def _pool(means: Sequence[Estimate]) -> set[int]:
    """Returns the positions of the means whose variances are pooled."""
    return alike_in_scatter([each.freedom for each in means], [each.error**2 * each.n for each in means])


def _ratio(means: Sequence[Estimate], pool: set[int], pair: tuple[int, int]) -> Ratio:
    """Returns the ratio of two of several means, as `ratios` describes it."""
    one, other = pair
    error, freedom = _error(means, pool, pair)
    ranking = sorted(range(len(means)), key=lambda position: -means[position].mean)
    span = abs(ranking.index(one) - ranking.index(other)) + 1
    level = max(each.confidence for each in means) ** (span / len(means))
    quantile = studentised_range(span, freedom, level) / math.sqrt(2) if error else 0.0
    return _between(means[one], means[other], error, freedom, quantile)


def _between(one: Estimate, other: Estimate, error: float, freedom: float, quantile: float) -> Ratio:
    """Returns the ratio of two means. The interval of its logarithm reaches the quantile times the error either way."""
    difference, half = one.mean - other.mean, quantile * error
    return Ratio(_exp(difference), _exp(difference - half), _exp(difference + half), error, freedom)


def _error(means: Sequence[Estimate], pool: set[int], pair: tuple[int, int]) -> tuple[float, float]:
    """Returns the standard error of the logarithm of a ratio of two of several means, and its degrees of freedom."""
    squares = [each.error**2 * each.n for each in means]
    of_pool = sum(means[at].freedom for at in pool)
    own = {at: means[at].freedom / (BORROWED + means[at].freedom) if at in pool else 1.0 for at in pair}
    borrowed = sum((1 - own[at]) / means[at].n for at in pair)
    parts = [
        borrowed * each.freedom / of_pool * square if at in pool else 0.0
        for at, (each, square) in enumerate(zip(means, squares, strict=True))
    ]
    for at in pair:
        parts[at] += own[at] * squares[at] / means[at].n
    error = math.sqrt(sum(parts))
    weights = sum(part**2 / (each.freedom + 1) for part, each in zip(parts, means, strict=True))
    # A weight that is below the smallest number counts as none.
    whole = sum(each.freedom for at, each in enumerate(means) if at in pool or at in pair)
    return error, min(whole, error**4 / weights - 1) if weights else whole


def alike_in_scatter(freedoms: Sequence[float], squares: Sequence[float]) -> set[int]:
    """Returns the positions of the variances that are pooled: all but those that are far above the others.

    The largest one is left out while its share of the sum is improbable (Cochran 1941, at a level of `APART`), and more
    than two remain.

    :param freedoms: degrees of freedom of the variances
    """
    pool = set(range(len(squares)))
    while len(pool) > 2:
        sums = {at: freedoms[at] * squares[at] for at in pool}
        most = max(sums, key=lambda at: squares[at])
        others = sum(freedoms[at] for at in pool) - freedoms[most]
        share = sums[most] / sum(sums.values()) if sums[most] else 0.0
        if len(pool) * _share_above(share, freedoms[most], others) > APART:
            break
        pool.remove(most)
    return pool


def _share_above(share: float, freedom: float, others: float) -> float:
    """Returns the probability that a variance has more than that share of a sum of squares.

    That is the upper tail of a beta distribution; with share = sin² φ the integral of sin^(f-1) cos^(g-1), by Simpson.

    :param freedom: degrees of freedom of the variance; at least 1
    :param others: of all others together; at least 2
    """
    low = math.asin(math.sqrt(min(1.0, share)))
    steps = 100
    width = (math.pi / 2 - low) / steps
    angles = [low + step * width for step in range(steps + 1)]
    values: list[float] = [math.sin(angle) ** (freedom - 1) * abs(math.cos(angle)) ** (others - 1) for angle in angles]
    integral = (values[0] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]) + values[-1]) * width / 3
    log_beta = math.lgamma(freedom / 2) + math.lgamma(others / 2) - math.lgamma((freedom + others) / 2)
    return 2 * integral / math.exp(log_beta)


def is_alike(low: float, high: float, alike: float) -> bool:
    """Returns whether an interval of a ratio lies within 1 / (1 + alike) and 1 + alike."""
    return 1 / (1 + alike) <= low and high <= 1 + alike


def more_to_decide(means: Sequence[Estimate], pair: tuple[int, int], alike: float) -> int | None:
    """Returns about how many more samples of all means decide a pair, if they scatter like these.

    A pair is decided when the interval of its ratio does not include 1, or `is_alike`. None for more than `MOST_MORE`.
    """

    def decide(count: int) -> bool:
        after = [_with(each, each.n + count, LATER_LOOK) for each in means]
        of = _ratio(after, _pool(after), pair)
        return not of.low <= 1 <= of.high or is_alike(of.low, of.high, alike)

    counts = range(1, MOST_MORE + 1)
    found = bisect_left(counts, True, key=decide)
    return counts[found] if found < len(counts) else None


@lru_cache(maxsize=4096)
def studentised_range(count: int, freedom: float, confidence: float = CONFIDENCE) -> float:
    """Returns the quantile of the studentised range: that of `count` normal means, divided by an independent deviation.

    :param count: at least 2
    :param freedom: degrees of freedom of the deviation, a whole number or not; at least 1
    """
    # With two means it is √2 times Student's t.
    if count == 2:
        return math.sqrt(2) * student_t(freedom, confidence)
    low, high = 0.0, 4.0
    while _beyond(high, count, freedom) > 1 - confidence:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _beyond(middle, count, freedom) > 1 - confidence else (low, middle)
    return high


# Steps of the integrals of the studentised range, in deviations. Beyond 12 of them no range of normal means remains.
_STEP, _STEPS = 0.05, 240


def _beyond(q: float, count: int, freedom: float) -> float:
    """Returns the probability of a studentised range above q: the integral over s of P(range > q s) times the density
    of the deviation s, by w = q s and the trapezoidal rule, which is nearly exact for such densities.
    """
    # With more degrees of freedom the density is narrower than the steps, and the quantile is the same to 0.5 %.
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
    """Returns the probabilities that the range of `count` standard normal values exceeds 0, 1, … steps: 1 minus n times
    the integral of φ(z) (Φ(z) - Φ(z - w))^(n-1).
    """
    places = range(-_STEPS, _STEPS + 1)
    normal = [math.erfc(-place * _STEP / math.sqrt(2)) / 2 for place in places]
    density = [math.exp(-((place * _STEP) ** 2) / 2) / math.sqrt(2 * math.pi) for place in places]
    found = []
    for width in range(_STEPS + 1):
        below = [0.0] * width + normal
        area = sum(
            each * (upper - lower) ** (count - 1) for each, upper, lower in zip(density, normal, below, strict=False)
        )
        found.append(max(0.0, 1 - count * area * _STEP))
    return found


@lru_cache(maxsize=1024)
def student_t(freedom: float, confidence: float = CONFIDENCE) -> float:
    """The t for which that share of Student's distribution lies between -t and t.

    :param freedom: degrees of freedom, a whole number or not; at least 1
    """
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return high


def _within(t: float, freedom: float) -> float:
    """P(|T| ≤ t): with t = √f tan φ it is the integral of cos^(f-1) up to φ, by that up to π/2 (Abramowitz and Stegun,
    26.7), here by Simpson's rule.
    """
    # Beyond that angle the cosine's power is next to nothing; the steps must be small parts of the angle.
    angle = min(math.atan(t / math.sqrt(freedom)), 40 / math.sqrt(freedom))
    steps = 200
    width = angle / steps
    values: list[float] = [math.cos(step * width) ** (freedom - 1) for step in range(steps + 1)]
    integral = (values[0] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]) + values[-1]) * width / 3
    whole = math.sqrt(math.pi) / 2 * math.exp(math.lgamma(freedom / 2) - math.lgamma((freedom + 1) / 2))
    return integral / whole


def _exp(value: float) -> float:
    """For an interval whose end would overflow, any large number is good enough."""
    return math.exp(min(value, 700))
