"""How exactly a geometric mean is known, and a ratio of two. It knows lists of numbers, and nothing of trials and runs.

docs/method.md#statistics has the formulas and where they are from. The standard library has means and deviations, but
no Student's t; SciPy has it, and would bring itself and NumPy, 100 MB, for that one function.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, geometric_mean, stdev
from typing import TypeVar

Number = TypeVar("Number", int, float)
# Share of such intervals that include the true value.
CONFIDENCE = 0.95
# Of the t at every look after the first, where rounds go on until the interval is narrow enough: an interval that was
# waited for is too narrow; with this t 95 of 100 include the true value again (benchmarks/truth.py, docs/method.md).
LATER_LOOK = 0.985
# Nobody waits for more than this.
MOST_MORE = 100
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
    """A ratio of two geometric means, with its interval."""

    value: float
    low: float
    high: float

    @property
    def is_tie(self) -> bool:
        """Whether the difference is within the noise: the interval includes 1."""
        return self.low <= 1 <= self.high


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


def deciding(above: Estimate, below: Estimate, distance: float) -> int | None:
    """How many samples each of two means needs for the interval of their ratio to keep off a bound in 9 of 10 cases, if
    they scatter as they did; None of more than `MOST_MORE`.

    (t + t') √((v + w) / n) is at most the distance (Julious 2004): t is that of the interval, t' the 90 % quantile, v
    and w are the variances of the logarithms.

    :param above: `logarithms` of the samples of one, `below`: of the other
    :param distance: from the logarithm of the ratio to that of the bound
    """
    parts = [each.error**2 * each.n for each in (above, below)]
    confidence = max(above.confidence, below.confidence)

    def decide(n: int) -> bool:
        freedom = (n - 1) * sum(parts) ** 2 / sum(part**2 for part in parts)
        t = student_t(freedom, confidence) + student_t(freedom, 2 * _POWER - 1)
        return t * math.sqrt(sum(parts) / n) <= distance

    if not any(parts):
        return 2
    counts = range(2, MOST_MORE + 1)
    found = bisect_left(counts, True, key=decide)
    return counts[found] if found < len(counts) else None


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


def ratio(above: Estimate, below: Estimate, least: float = 1.0) -> Ratio:
    """The ratio of two geometric means: Welch's interval of the difference of the logarithms, taken back.

    :param least: factor by which the interval reaches at least to either side
    """
    squares = [above.error**2, below.error**2]
    error = math.sqrt(sum(squares))
    weights = sum(square**2 / each.freedom for square, each in zip(squares, (above, below), strict=True))
    # Welch and Satterthwaite; without any deviation there is no interval to be widened.
    confidence = max(above.confidence, below.confidence)
    half = max(math.log(least), student_t(error**4 / weights, confidence) * error if weights else 0.0)
    difference = above.mean - below.mean
    return Ratio(_exp(difference), _exp(difference - half), _exp(difference + half))


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
