"""Measures how well changes in the level of the rate are detected, in simulated runs whose changes are known.

    .venv/bin/python benchmarks/levels.py [--experiments 100]

The per-second rates of a run scatter around 1000 in ways that occur in real runs:

white      independent seconds with a standard deviation of 30 %
AR(1) …    deviation 15 %; each second keeps this share of the previous second's (first-order autoregression)
dips …     white, deviation 10 %, with dips. `9/60 at 40 %`: a dip to 40 % of the rate for 9 s, about every 60 s

The table shows the number of changes found in a run without a change (aim: at most 0.05). For a fall by 20 % or 40 %,
it shows how often exactly one change is found, within two minutes of the fall.
"""

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from truth import line

from dohyo.evidence.levels import changes

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]


def autoregressive(random: np.random.Generator, seconds: int, memory: float, deviation: float) -> Floats:
    """Returns autocorrelated rates that are stationary from the first second."""
    warmup = round(10 / (1 - memory))
    noise = random.normal(0, deviation * np.sqrt(1 - memory**2), seconds + warmup)
    for second in range(1, len(noise)):
        noise[second] += memory * noise[second - 1]
    return 1000 * (1 + noise[warmup:])


def with_dips(random: np.random.Generator, seconds: int, every: float, length: int, share: float) -> Floats:
    """Returns rates with dips; the standard deviation of the intervals between dips is a fifth of their mean."""
    rate = 1000 * (1 + random.normal(0, 0.1, seconds))
    begin = random.uniform(0, every)
    while begin < seconds:
        rate[int(begin) : int(begin) + length] *= share
        begin += every * max(0.2, random.normal(1, 0.2))
    return rate


NOISE: dict[str, Draw] = {
    "white 30 %": lambda random, seconds: autoregressive(random, seconds, 0.0, 0.3),
    "AR(1) 0.9": lambda random, seconds: autoregressive(random, seconds, 0.9, 0.15),
    "AR(1) 0.97": lambda random, seconds: autoregressive(random, seconds, 0.97, 0.15),
    "AR(1) 0.99": lambda random, seconds: autoregressive(random, seconds, 0.99, 0.15),
    "AR(1) 0.997": lambda random, seconds: autoregressive(random, seconds, 0.997, 0.15),
    "dips 9/60 at 40 %": lambda random, seconds: with_dips(random, seconds, 60, 9, 0.4),
    "dips 30/300 at 30 %": lambda random, seconds: with_dips(random, seconds, 300, 30, 0.3),
    "dips 60/600 at 50 %": lambda random, seconds: with_dips(random, seconds, 600, 60, 0.5),
    "dips 120/900 at 50 %": lambda random, seconds: with_dips(random, seconds, 900, 120, 0.5),
}


def count_found(draw: Draw, random: np.random.Generator, seconds: int, share: float, experiments: int) -> float:
    """Returns the changes found per run or, if the rate changes, the share of runs with one correct change."""
    total = 0
    for _ in range(experiments):
        rate = draw(random, seconds)
        rate[seconds // 2 :] *= share
        places = [change.second for change in changes(rate.tolist())]
        total += len(places) if share == 1 else len(places) == 1 and abs(places[0] - seconds // 2) <= 120
    return total / experiments


def main() -> None:
    """Prints a table with one row for each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=100)
    experiments = parser.parse_args().experiments
    lengths = (1, 4, 24)
    fell = {"none": 1, "-20 %": 0.8, "-40 %": 0.6}
    print(line("seconds of a run", [f"{drop}, {hours} h" for drop in fell for hours in lengths]))
    print(line("---", ["---"] * len(fell) * len(lengths)))
    for name, draw in NOISE.items():
        random = np.random.default_rng(1)
        cells = [
            f"{count_found(draw, random, hours * 3600, share, max(1, experiments // hours)):.2f}"
            for share in fell.values()
            for hours in lengths
        ]
        print(line(name, cells), flush=True)


if __name__ == "__main__":
    main()
