"""What intervals and verdicts are worth: simulated runs whose true rate is known.

    .venv/bin/python benchmarks/coverage.py [--experiments 1000] [--seconds 60]

The seconds of a run are drawn around a true rate in ways that real ones have:

independent   each by itself, with a deviation of 10 %
AR(1) 0.7     the same deviation; each second keeps 0.7 of what the one before was off (first-order autoregression)
AR(1) 0.95    the same with 0.95: slow waves
bursts        a second begins, once a minute on average, a time at half the rate (a compaction), 5 s long on average
drift         independent, and the rate rises by 20 % from the first second to the last; the truth is that of the window
stalls        independent; once in two minutes on average nothing is done for 3 s

Between rounds the rate differs besides, lognormally with a deviation of 2 %. Rounds are judged by the functions of the
summary: `statistics.logarithms`, `statistics.ratios`, and the verdict of `dohyo compare` with its margin of
5 %. A single run has no interval there. The columns "seconds of one run" say why: they have what the usual interval
would be, batch means.

- 20 batches of equal length (Law: Simulation Modeling and Analysis; 10 to 30 are enough, Schmeiser 1982)
- n of them are worth n (1 - r) / (1 + r) independent ones (Bayley and Hammersley 1946), r is the lag-1 autocorrelation
- r is estimated too low, and taken as r + (1 + 4 r) / n (Marriott and Pope 1954), at least 0

Printed are

- the share of 95 % intervals that hold the truth (aim: 93 to 97);
- of identical pairs, those that a table calls different and those that `compare` calls a regression or improvement
  (aim: at most 5 each);
- of pairs that do differ, those that the table and `compare` find, by rounds.

Sources: Bayley, Hammersley: The "effective" number of independent observations in an autocorrelated time series, J. R.
Stat. Soc. Suppl. 8 (1946). Marriott, Pope: Bias in the estimation of autocorrelations, Biometrika 41 (1954). Schmeiser:
Batch size effects in the analysis of simulation output, Operations Research 30 (1982).
"""

import argparse
import math
from collections.abc import Callable, Sequence
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
# An autocorrelation that is estimated above it cannot be told from a trend.
MOST_CORRELATED = 0.95
# Of a second, as a share of the rate.
DEVIATION = 0.10
# Of the rate from round to round.
ROUNDS = 0.02
BURST, STALL, RISE = (1 / 60, 5.0, 0.5), (1 / 120, 3, 0.0), 0.2


def independent(generator: np.random.Generator, seconds: int) -> Floats:
    """Around 1."""
    return generator.normal(1, DEVIATION, seconds)


def autoregressive(kept: float) -> Draw:
    """Around 1, with the deviation of the independent ones."""

    def draw(generator: np.random.Generator, seconds: int) -> Floats:
        shocks = generator.normal(0, DEVIATION * math.sqrt(1 - kept**2), seconds)
        off = generator.normal(0, DEVIATION)
        series = np.empty(seconds)
        for second in range(seconds):
            off = kept * off + shocks[second]
            series[second] = 1 + off
        return series

    return draw


def bursts(generator: np.random.Generator, seconds: int) -> Floats:
    """Of a time at a lower rate the begin is as likely in every other second, and so is the end in every one of it."""
    begins, length, rate = BURST
    low = generator.random() < begins * length / (1 + begins * length)
    series = independent(generator, seconds)
    for second in range(seconds):
        low = generator.random() >= 1 / length if low else generator.random() < begins
        series[second] *= rate if low else 1
    begun = begins * length / (1 + begins * length)
    return series / (1 - begun * (1 - rate))


def drift(generator: np.random.Generator, seconds: int) -> Floats:
    """From 1 - RISE / 2 to 1 + RISE / 2."""
    return independent(generator, seconds) * np.linspace(1 - RISE / 2, 1 + RISE / 2, seconds)


def stalls(generator: np.random.Generator, seconds: int) -> Floats:
    """One may have begun before the window, and another last beyond it."""
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
    """The seconds of a run of a round."""
    return rate * math.exp(generator.normal(0, ROUNDS)) * np.maximum(0, draw(generator, seconds))


def batch_means(series: Floats) -> Estimate | None:
    """What is left over by the division is left out at the beginning; None of a shorter series than `BATCHES`."""
    length = len(series) // BATCHES
    if not length:
        return None
    means = [float(each.mean()) for each in series[-length * BATCHES :].reshape(BATCHES, length)]
    mean, deviation = fmean(means), stdev(means)
    r = 0.0
    if deviation:
        r = sum((a - mean) * (b - mean) for a, b in pairwise(means)) / ((BATCHES - 1) * deviation**2)
        r = min(max(0.0, r + (1 + 4 * r) / BATCHES), MOST_CORRELATED)
    worth = max(2.0, BATCHES * (1 - r) / (1 + r))
    # The logarithm of the mean of one run, to first order (delta method).
    return Estimate(BATCHES, math.log(mean), deviation / math.sqrt(worth) / mean, worth - 1)


def of_one(draw: Draw, generator: np.random.Generator, seconds: int, rate: float) -> Estimate | None:
    """A single run, whose seconds know nothing of what differs between rounds."""
    return batch_means(run(draw, generator, seconds, rate))


def of_itself(draw: Draw, generator: np.random.Generator, seconds: int, rate: float) -> Estimate | None:
    """A single run of a rate that never differs: what its interval claims to be."""
    return batch_means(rate * np.maximum(0, draw(generator, seconds)))


def of_rounds(draw: Draw, generator: np.random.Generator, seconds: int, rate: float, rounds: int) -> Estimate | None:
    """Several rounds of one run each."""
    return statistics.logarithms([fmean(run(draw, generator, seconds, rate)) for _ in range(rounds)])


def share(found: Sequence[bool]) -> str:
    """In percent."""
    return f"{100 * sum(found) / len(found):.1f}"


def ratio(one: Estimate | None, other: Estimate | None) -> Ratio:
    """As of the summary."""
    if one is None or other is None:
        raise ValueError("runs are shorter than a batch for each of 20, or did nothing")
    return statistics.ratios([one, other])[0, 1]


def compared(found: Ratio) -> bool:
    """Whether `dohyo compare` would call it a regression or an improvement."""
    pair = Pair(
        "run",
        "OVERALL",
        "ops_per_second",
        "after",
        "before",
        found.value,
        found.low,
        found.high,
    )
    return verdict(pair, MARGIN) in ("regression", "improvement")


def heads(first: str, names: Sequence[str]) -> str:
    """The two lines above it."""
    return f"{line(first, names)}\n{line('---', ['---'] * len(names))}"


def main() -> None:
    """Prints three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=60, help="of a run")
    options = parser.parse_args()
    count, seconds = options.experiments, options.seconds
    generator = np.random.default_rng(18)
    designs: dict[str, Callable[[Draw, float], Estimate | None]] = {
        "seconds of one run, of itself": lambda draw, rate: of_itself(draw, generator, seconds, rate),
        "seconds of one run": lambda draw, rate: of_one(draw, generator, seconds, rate),
        **{
            f"{rounds} rounds": lambda draw, rate, rounds=rounds: of_rounds(draw, generator, seconds, rate, rounds)
            for rounds in (3, 5, 10)
        },
    }
    print(f"Intervals that hold the truth, in % of {count:,}, runs of {seconds} s\n")
    print(heads("", list(designs)))
    for name, draw in KINDS.items():
        cells = []
        for make in designs.values():
            found = [each for each in (make(draw, 1.0) for _ in range(count)) if each]
            cells.append(share([1 / each.factor <= each.centre <= each.factor for each in found]))
        print(line(name, cells), flush=True)
    for said, factor in (
        ("Of identical pairs", 1.0),
        *((f"Of pairs that differ by {by} %", 1 - by / 100) for by in (5, 10, 20)),
    ):
        print(f"\n{said}, in %: called different by the table · regression or improvement by `compare`\n")
        print(heads("", list(designs)))
        for name, draw in KINDS.items():
            cells = []
            for design, make in designs.items():
                ratios = [ratio(make(draw, factor), make(draw, 1.0)) for _ in range(count)]
                decides = "–" if design.startswith("seconds") else share([compared(each) for each in ratios])
                cells.append(f"{share([not each.low <= 1 <= each.high for each in ratios])} · {decides}")
            print(line(name, cells), flush=True)


if __name__ == "__main__":
    main()
