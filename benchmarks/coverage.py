"""Measures how reliable intervals and verdicts are, in simulated runs whose true rates are known.

    .venv/bin/python benchmarks/coverage.py [--experiments 1000] [--seconds 60]

The per-second rates of a run scatter around the true rate in ways that occur in real runs:

independent   independent seconds with a standard deviation of 10 %
AR(1) 0.7     the same deviation; each second keeps 0.7 of the previous second's (first-order autoregression)
AR(1) 0.95    each second keeps 0.95 of the previous second's deviation: slow waves
bursts        independent; once a minute on average the rate is halved (a compaction), for 5 s on average
drift         independent; the rate rises by 20 % from the first second to the last; the truth is the window's mean
stalls        independent; once in two minutes on average the rate is 0 for 3 s

The rate also differs between rounds, lognormally with a deviation of 2 %. The rounds are judged as in
a summary, by `statistics.logarithms`, `statistics.ratios`, and the verdict of `dohyo compare` with its margin of 5 %.
A summary gives no interval for a single run. The columns "seconds of one run" show why: they contain the usual
interval for a single run, from batch means.

- There are 20 batches of equal length (Law: Simulation Modeling and Analysis; 10 to 30 are enough, Schmeiser 1982).
- n batches count as n (1 - r) / (1 + r) independent ones (Bayley and Hammersley 1946); r is the lag-1 autocorrelation.
- Estimates of r are too low, so r + (1 + 4 r) / n, but at least 0, is used instead (Marriott and Pope 1954).

The tables show

- the share of 95 % intervals that contain the truth (aim: 93 to 97);
- the share of identical pairs that the table calls different, and that `compare` calls a regression or improvement
  (aim: at most 5 each);
- the share of different pairs that the table and `compare` detect, by number of rounds.

Sources: Bayley, Hammersley: The "effective" number of independent observations in an autocorrelated time series, J. R.
Stat. Soc. Suppl. 8 (1946). Marriott, Pope: Bias in the estimation of autocorrelations, Biometrika 41 (1954). Schmeiser:
Batch size effects in the analysis of simulation output, Operations Research 30 (1982).
"""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from truth import line

from dohyo import statistics
from dohyo.statistics import Estimate, Ratio
from dohyo.summary.regression import MARGIN, verdict
from dohyo.summary.results import Pair

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
BATCHES = 20
# Maximum estimate of the autocorrelation. A larger autocorrelation cannot be distinguished from a trend.
MOST_CORRELATED = 0.95
# Standard deviation of the per-second rates, as a share of the mean rate.
DEVIATION = 0.10
# Standard deviation of the logarithms of the rounds' mean rates.
ROUNDS = 0.02
BURST, STALL, RISE = (1 / 60, 5.0, 0.5), (1 / 120, 3, 0.0), 0.2


def independent(generator: np.random.Generator, seconds: int) -> Floats:
    """Returns independent values with mean 1."""
    return generator.normal(1, DEVIATION, seconds)


def autoregressive(correlation: float) -> Draw:
    """Returns a function that draws autocorrelated values with mean 1 and the standard deviation DEVIATION."""

    def draw(generator: np.random.Generator, seconds: int) -> Floats:
        shocks = generator.normal(0, DEVIATION * math.sqrt(1 - correlation**2), seconds)
        off = generator.normal(0, DEVIATION)
        series = np.empty(seconds)
        for second in range(seconds):
            off = correlation * off + shocks[second]
            series[second] = 1 + off
        return series

    return draw


def bursts(generator: np.random.Generator, seconds: int) -> Floats:
    """Returns values with bursts. The chances that a burst begins or ends are constant (a Markov chain)."""
    begins, length, rate = BURST
    low = generator.random() < begins * length / (1 + begins * length)
    series = independent(generator, seconds)
    for second in range(seconds):
        low = generator.random() >= 1 / length if low else generator.random() < begins
        series[second] *= rate if low else 1
    begun = begins * length / (1 + begins * length)
    return series / (1 - begun * (1 - rate))


def drift(generator: np.random.Generator, seconds: int) -> Floats:
    """Returns values whose mean rises from 1 - RISE / 2 to 1 + RISE / 2."""
    return independent(generator, seconds) * np.linspace(1 - RISE / 2, 1 + RISE / 2, seconds)


def stalls(generator: np.random.Generator, seconds: int) -> Floats:
    """Returns values with stalls. A stall may begin before the window or end after it."""
    begins, length, rate = STALL
    starts = np.flatnonzero(generator.random(seconds + int(length) - 1) < begins)
    series = independent(generator, seconds)
    for start in starts:
        series[max(0, start - int(length) + 1) : start + 1] *= rate
    return series / (1 - begins) ** length


KINDS: dict[str, Draw] = {
    "independent": independent,
    "AR(1) 0.7": autoregressive(0.7),
    "AR(1) 0.95": autoregressive(0.95),
    "bursts": bursts,
    "drift": drift,
    "stalls": stalls,
}


def run(draw: Draw, generator: np.random.Generator, seconds: int, rate: float) -> Floats:
    """Returns the rate in each second of one run; the mean rate varies between rounds."""
    return rate * math.exp(generator.normal(0, ROUNDS)) * np.maximum(0, draw(generator, seconds))


def batch_means(series: Floats) -> Estimate | None:
    """Returns the estimate from batch means, or None if the series has fewer than `BATCHES` seconds.

    Seconds at the beginning that do not fill a batch are dropped.
    """
    length = len(series) // BATCHES
    if not length:
        return None
    means = [float(batch.mean()) for batch in series[-length * BATCHES :].reshape(BATCHES, length)]
    mean, deviation = fmean(means), stdev(means)
    r = 0.0
    if deviation:
        r = sum((a - mean) * (b - mean) for a, b in pairwise(means)) / ((BATCHES - 1) * deviation**2)
        r = min(max(0.0, r + (1 + 4 * r) / BATCHES), MOST_CORRELATED)
    worth = max(2.0, BATCHES * (1 - r) / (1 + r))
    # The third argument is the standard error of the logarithm of the mean, to first order (delta method).
    return Estimate(BATCHES, math.log(mean), deviation / math.sqrt(worth) / mean, worth - 1)


def of_one(draw: Draw, generator: np.random.Generator, seconds: int, rate: float) -> Estimate | None:
    """Returns the estimate from a single run, which cannot take the differences between rounds into account."""
    return batch_means(run(draw, generator, seconds, rate))


def of_itself(draw: Draw, generator: np.random.Generator, seconds: int, rate: float) -> Estimate | None:
    """Returns the estimate from a single run if rounds do not differ, which is what its interval assumes."""
    return batch_means(rate * np.maximum(0, draw(generator, seconds)))


def of_rounds(draw: Draw, rate: float, generator: np.random.Generator, seconds: int, rounds: int) -> Estimate | None:
    """Returns the estimate from several rounds with one run each."""
    return statistics.logarithms([fmean(run(draw, generator, seconds, rate)) for _ in range(rounds)])


def share(outcomes: Sequence[bool]) -> str:
    """Returns the percentage of values that are true, as text."""
    return f"{100 * sum(outcomes) / len(outcomes):.1f}"


def ratio(one: Estimate | None, other: Estimate | None) -> Ratio:
    """Returns the ratio of two estimates, as the summary computes it.

    :raises ValueError: if an estimate is missing
    """
    if one is None or other is None:
        raise ValueError("runs are too short for 20 batches, or have no operations")
    return statistics.ratios([one, other])[0, 1]


def compared(interval: Ratio) -> bool:
    """Returns whether `dohyo compare` would report a regression or an improvement."""
    pair = Pair(
        "run",
        "OVERALL",
        "ops_per_second",
        "after",
        "before",
        interval.value,
        interval.low,
        interval.high,
    )
    return verdict(pair, MARGIN) in ("regression", "improvement")


def heads(first: str, names: Sequence[str]) -> str:
    """Returns the two header lines of a table."""
    return f"{line(first, names)}\n{line('---', ['---'] * len(names))}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60, help="length of a run")
    options = parser.parse_args()
    count, seconds = options.experiments, options.seconds
    generator = np.random.default_rng(18)
    designs: dict[str, Callable[[Draw, float], Estimate | None]] = {
        "seconds of one run, of itself": lambda draw, rate: of_itself(draw, generator, seconds, rate),
        "seconds of one run": lambda draw, rate: of_one(draw, generator, seconds, rate),
        **{
            f"{rounds} rounds": partial(of_rounds, generator=generator, seconds=seconds, rounds=rounds)
            for rounds in (3, 5, 10)
        },
    }
    print(f"Intervals that contain the truth, in % of {count:,}; runs of {seconds} s\n")
    print(heads("", list(designs)))
    for name, draw in KINDS.items():
        cells = []
        for make in designs.values():
            estimates = [estimate for estimate in (make(draw, 1.0) for _ in range(count)) if estimate]
            cells.append(
                share([1 / estimate.factor <= math.exp(estimate.mean) <= estimate.factor for estimate in estimates])
            )
        print(line(name, cells), flush=True)
    for title, factor in (
        ("Identical pairs", 1.0),
        *((f"Pairs that differ by {percent} %", 1 - percent / 100) for percent in (5, 10, 20)),
    ):
        print(f"\n{title}, in %: called different by the table · called a regression or improvement by `compare`\n")
        print(heads("", list(designs)))
        for name, draw in KINDS.items():
            cells = []
            for design, make in designs.items():
                ratios = [ratio(make(draw, factor), make(draw, 1.0)) for _ in range(count)]
                decides = "–" if design.startswith("seconds") else share([compared(interval) for interval in ratios])
                cells.append(f"{share([not interval.low <= 1 <= interval.high for interval in ratios])} · {decides}")
            print(line(name, cells), flush=True)


if __name__ == "__main__":
    main()
