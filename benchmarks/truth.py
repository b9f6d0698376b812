"""Simulates experiments to measure the reliability of two kinds of rules: for intervals of ratios, and for stopping.

    .venv/bin/python benchmarks/truth.py [--experiments 10000] [--seconds 80]

An experiment has several systems, each with one rate per round. The scenarios describe how the logarithms of these
rates scatter. Percentages are standard deviations between starts:

start level N %       N % for all systems
unequal N to M %      increases from system to system in equal ratios
one of them 15 %      15 % for one system, 3 % for the others
heavy tails           Student's t with three degrees of freedom, times 4 %
shared spells         3 %; the host is 20 % slower for a quarter of the time, in spells of three trials on average
slow drift            3 %; the host becomes 20 % faster within 40 trials. Rounds rotate the order of the systems
bursts                3 %; one trial in ten is 30 % slower
one outlying round    3 %; one round of one system has half the rate
p99                   2 %; the value is 100 times as high in 15 % of the rounds

A rule for intervals combines a variance and a correction for multiple comparisons. Variances:

own        variance of each system (Welch 1947)
moderated  empirical Bayes: own variances are shrunk towards a prior, which is fitted to them by moments (Smyth 2004)
pooled     one variance for all systems
B = 2, 8   mean of the own variance, weighted with its degrees of freedom, and the pooled variance, weighted with B;
           degrees of freedom of the error as in `statistics.ratios`
apart      like B = …, but the pooled variance omits those that `statistics.alike_in_scatter` excludes

Corrections: none; Tukey (studentised range of all; Kramer 1956, Games and Howell 1976); Bonferroni (the first step of
Holm); best (two-sided Dunnett against the best system, as in Hsu 1984); Ryan (range of the systems that a pair spans).

Sources: Dunnett, J. Am. Stat. Assoc. 50 (1955). Games, Howell, J. Educ. Stat. 1 (1976). Hsu, Ann. Statist. 12 (1984).
Kramer, Biometrics 12 (1956). Smyth, Stat. Appl. Genet. Mol. Biol. 3 (2004). The others are in docs/method.md#sources.
"""

import argparse
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dohyo import statistics
from dohyo.statistics import (
    ALIKE,
    BORROWED,
    CONFIDENCE,
    LATER_LOOK,
    alike_in_scatter,
    logarithms,
    student_t,
    studentised_range,
)

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# Function that draws deviations of logarithms with the shape experiments × systems × rounds.
Draw = Callable[[np.random.Generator, tuple[int, int, int]], Floats]
LEAST, MOST = 3, 10
# Degrees of freedom at which quantiles are computed; quantiles between them are interpolated.
_FREEDOMS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 14, 20, 30, 60, 200)
# Difference between logarithms that is far larger than any scatter, so that systems are always told apart.
_FAR = 9.0


def starts(low: float, high: float) -> Draw:
    """Returns a function that draws normal deviations, whose scales increase in equal ratios from low to high."""
    return lambda generator, shape: generator.normal(size=shape) * np.geomspace(low, high, shape[1])[:, None]


def one_noisy(generator: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Draws normal deviations. The first system scatters more than the others."""
    scales = np.array([0.15, *[0.03] * (shape[1] - 1)])
    deviations: Floats = generator.normal(size=shape) * scales[:, None]
    return deviations


def order(shape: tuple[int, int, int]) -> NDArray[np.int64]:
    """Returns the position in time of each system in each round. The order rotates as in `plan`."""
    _, systems, rounds = shape
    turns = (np.arange(systems)[:, None] - np.arange(rounds)) % systems
    return turns + systems * np.arange(rounds)


def spells(generator: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Draws deviations on a host that is slow for some trials in a row (a Markov chain with two states)."""
    count, systems, rounds = shape
    slow = generator.random(count) < 1 / 4
    host = np.empty((count, systems * rounds))
    for index in range(systems * rounds):
        chance = generator.random(count)
        slow = np.where(slow, chance >= 1 / 3, chance < 1 / 9)
        host[:, index] = slow * math.log(0.8)
    return starts(0.03, 0.03)(generator, shape) + host[:, order(shape)]


def outlying(generator: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Draws deviations with one outlying round of one system in each experiment."""
    count, systems, rounds = shape
    factors = starts(0.03, 0.03)(generator, shape)
    places = np.arange(count), generator.integers(0, systems, count), generator.integers(0, rounds, count)
    factors[places] += math.log(0.5)
    return factors


def sometimes(deviation: float, share: float, factor: float) -> Draw:
    """Returns a function that draws deviations and multiplies the rates of some rounds by a factor."""

    def draw(generator: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
        return generator.normal(size=shape) * deviation + (generator.random(shape) < share) * math.log(factor)

    return draw


SCENARIOS: dict[str, Draw] = {
    "start level 3 %": starts(0.03, 0.03),
    "start level 12 %": starts(0.12, 0.12),
    "unequal 5 to 10 %": starts(0.05, 0.10),
    "unequal 3 to 12 %": starts(0.03, 0.12),
    "one of them 15 %": one_noisy,
    "heavy tails": lambda generator, shape: generator.standard_t(3, shape) * 0.04,
    "shared spells": spells,
    "slow drift": lambda generator, shape: starts(0.03, 0.03)(generator, shape) + 0.2 / 40 * order(shape),
    "bursts": sometimes(0.03, 0.1, 0.7),
    "one outlying round": outlying,
    "p99": sometimes(0.02, 0.15, 100),
}


@dataclass(frozen=True)
class Rule:
    """A rule for intervals.

    :ivar name: name in the tables
    :ivar borrowed: degrees of freedom that a system's variance takes from the pooled one; None to fit them (moderated)
    :ivar account: correction for multiple comparisons: "none", "Tukey", "Bonferroni", "best" or "Ryan"
    :ivar apart: whether variances far above the others are excluded from pooling
    :ivar exact: whether the degrees of freedom of the error assume equal scatter; otherwise as in `statistics.ratios`
    """

    name: str
    borrowed: float | None
    account: str
    apart: bool = False
    exact: bool = False


OURS = Rule(f"**ours: B = {BORROWED}, apart, Ryan**", BORROWED, "Ryan", apart=True)
RULES = (
    Rule("own, none (before)", 0, "none", exact=True),
    Rule("own, Tukey", 0, "Tukey", exact=True),
    Rule("moderated, none", None, "none"),
    Rule("moderated, Tukey", None, "Tukey"),
    Rule("pooled, none", math.inf, "none", exact=True),
    Rule("pooled, Bonferroni", math.inf, "Bonferroni", exact=True),
    Rule("pooled, best", math.inf, "best", exact=True),
    Rule("pooled, Tukey", math.inf, "Tukey", exact=True),
    Rule("pooled, Ryan", math.inf, "Ryan", exact=True),
    Rule("B = 2, Tukey", 2, "Tukey"),
    Rule("B = 2, Ryan", 2, "Ryan"),
    Rule("B = 8, Tukey", 8, "Tukey"),
    Rule("B = 8, Ryan", 8, "Ryan"),
    OURS,
)


@cache
def _quantiles(systems: int, span: int, account: str, confidence: float) -> Floats:
    """Returns the logarithm of the quantile of a difference divided by its error, for each of `_FREEDOMS`."""
    if account == "best":
        return _dunnett(systems, confidence)
    if account in ("none", "Bonferroni"):
        pairs = systems * (systems - 1) // 2 if account == "Bonferroni" else 1
        return np.log([student_t(freedom, 1 - (1 - confidence) / pairs) for freedom in _FREEDOMS])
    means, level = (span, confidence ** (span / systems)) if account == "Ryan" else (systems, confidence)
    return np.log([studentised_range(means, freedom, level) / math.sqrt(2) for freedom in _FREEDOMS])


def _dunnett(systems: int, confidence: float) -> Floats:
    """Estimates the logarithms of two-sided quantiles from 200,000 draws."""
    generator = np.random.default_rng(19)
    means = generator.normal(size=(200_000, systems))
    most = np.abs(means[:, 1:] - means[:, :1]).max(1) / math.sqrt(2)
    chi = (np.sqrt(generator.chisquare(freedom, len(most)) / freedom) for freedom in _FREEDOMS)
    return np.log([np.quantile(most / deviation, confidence) for deviation in chi])


@cache
def _polygamma() -> tuple[Floats, Floats, Floats]:
    """Returns points from 0.001 to 1,000, with their digamma and trigamma values (from differences of log-gamma)."""
    places = np.geomspace(1e-3, 1e3, 2000)
    step = places * 1e-3
    values = np.array(
        [[math.lgamma(x + shift) for x, shift in zip(places, step * offset, strict=True)] for offset in (-1, 0, 1)]
    )
    return places, (values[2] - values[0]) / (2 * step), (values[2] - 2 * values[1] + values[0]) / step**2


def moderated(squares: Floats, freedom: int) -> tuple[Floats, Floats]:
    """Fits the prior variance and its degrees of freedom to the moments of logarithms (Smyth 2004, section 6.2)."""
    places, digamma, trigamma = _polygamma()
    squares = np.maximum(squares, 1e-5 * np.median(squares, 1, keepdims=True))
    logs = np.log(squares) - np.interp(freedom / 2, places, digamma) + math.log(freedom / 2)
    excess = logs.var(1, ddof=1) - np.interp(freedom / 2, places, trigamma)
    half = np.interp(-np.log(np.maximum(excess, 1e-6)), -np.log(trigamma), places)
    fitted = np.exp(logs.mean(1) + np.interp(half, places, digamma) - np.log(half))
    return np.where(excess > 0, fitted, squares.mean(1)), np.where(excess > 0, 2 * half, 1e6)


@cache
def _largest_share(systems: int, freedom: int) -> float:
    """Returns the maximum share of the sum of variances that one variance may have without being excluded."""
    low, high = 1 / systems, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        shares = (systems - 1) * [(1 - middle) / (systems - 1)]
        is_in = len(alike_in_scatter([freedom] * systems, [middle, *shares])) == systems
        low, high = (middle, high) if is_in else (low, middle)
    return high


def pooled(squares: Floats, freedom: int) -> Truths:
    """Returns which variances are pooled according to the rule of `statistics.alike_in_scatter`."""
    pool = np.ones(squares.shape, bool)
    for systems in range(squares.shape[1], 2, -1):
        shares = squares * pool
        is_outlier = (pool.sum(1) == systems) & (shares.max(1) > _largest_share(systems, freedom) * shares.sum(1))
        pool[is_outlier, shares.argmax(1)[is_outlier]] = False
    return pool


@dataclass(frozen=True)
class Pairs:
    """All pairs of systems in all experiments. The arrays have the shape experiments × pairs.

    :ivar which: the two systems of each pair
    :ivar distance: difference of the mean logarithms
    :ivar half: half width of the interval of the difference
    :ivar span: number of systems in the ranking from one system of the pair to the other
    :ivar with_best: whether one system of the pair is the best system
    """

    which: list[tuple[int, int]]
    distance: Floats
    half: Floats
    span: NDArray[np.int64]
    with_best: Truths


def pairs(rule: Rule, logs: Floats, confidence: float = CONFIDENCE) -> Pairs:
    """Computes the intervals of a rule for many experiments, as `statistics.ratios` does for a single one."""
    _, systems, rounds = logs.shape
    freedom, means, squares = rounds - 1, logs.mean(2), logs.var(2, ddof=1)
    pool = pooled(squares, freedom) if rule.apart else np.ones(squares.shape, bool)
    prior = (squares * pool).sum(1) / pool.sum(1)
    if rule.borrowed is None:
        prior, weight = moderated(squares, freedom)
        shares = pool * (weight / (weight + freedom))[:, None]
    else:
        shares = pool * (1.0 if rule.borrowed == math.inf else rule.borrowed / (rule.borrowed + freedom))
        weight = freedom * shares.max(1) / np.maximum(1 - shares.max(1), 1e-9)
    ranks = (-means).argsort(1).argsort(1)
    which = list(itertools.combinations(range(systems), 2))
    halves, spans = [], []
    for pair in which:
        parts = (shares[:, pair].sum(1) / pool.sum(1))[:, None] * pool * squares
        for index in pair:
            parts[:, index] += (1 - shares[:, index]) * squares[:, index]
        if rule.borrowed is None or rule.exact:
            variances = (1 - shares[:, pair]) * squares[:, pair] + shares[:, pair] * prior[:, None]
            error = variances.sum(1)
            freedoms = error**2 / (variances**2).sum(1) * (freedom + weight)
        else:
            error = parts.sum(1)
            freedoms = error**2 / (parts**2).sum(1) * (freedom + 1) - 1
        freedoms = np.clip(freedoms, 1, (parts > 0).sum(1) * freedom)
        span = np.abs(ranks[:, pair[0]] - ranks[:, pair[1]]) + 1
        quantile = np.zeros(len(logs))
        for size in np.unique(span):
            of_span = _quantiles(systems, int(size) if rule.account == "Ryan" else systems, rule.account, confidence)
            quantile = np.where(span == size, np.interp(-1 / freedoms, -1 / np.array(_FREEDOMS), of_span), quantile)
        halves.append(np.exp(quantile) * np.sqrt(error / rounds))
        spans.append(span)
    distance = np.stack([means[:, one] - means[:, other] for one, other in which], 1)
    best = np.stack([(ranks[:, one] == 0) | (ranks[:, other] == 0) for one, other in which], 1)
    return Pairs(which, distance, np.stack(halves, 1), np.stack(spans, 1), best)


def differences(compared: Pairs, true: Floats) -> Floats:
    """Returns the true differences of the pairs."""
    return np.array([true[one] - true[other] for one, other in compared.which])


@dataclass(frozen=True)
class Promises:
    """Reliability of a rule's intervals. Its text form is a cell of the tables.

    :ivar all_hold: share of experiments in which the intervals of all pairs contain the truth
    :ivar worst: share of intervals that contain the truth, for the worst pair
    :ivar false: share of experiments in which equal systems are called different
    :ivar half: median half width of the interval of neighbours in the ranking, as a share
    """

    all_hold: float
    worst: float
    false: float
    half: float

    def __str__(self) -> str:
        figures = [f"{100 * share:.1f}" for share in (self.all_hold, self.worst, self.false)]
        return " · ".join([*figures, f"{min(999.0, 100 * self.half):.0f}"])


def promises(rule: Rule, deviations: Floats) -> Promises:
    """Returns the reliability of a rule for these deviations."""
    systems = deviations.shape[1]
    false = []
    # Test systems that are all equal, and systems that are equal in pairs.
    levels: list[Floats] = [np.zeros(systems), _FAR * (np.arange(systems, dtype=np.float64) // 2)]
    for true in levels:
        compared = pairs(rule, deviations + true[:, None])
        looked = compared.with_best if rule.account == "best" else True
        wrong = (np.abs(compared.distance) > compared.half) & (differences(compared, true) == 0) & looked
        false.append(wrong.any(1).mean())
    true = _FAR * np.arange(systems, dtype=np.float64)
    compared = pairs(rule, deviations + true[:, None])
    looked = compared.with_best if rule.account == "best" else np.ones_like(compared.with_best)
    holds = (np.abs(compared.distance - differences(compared, true)) <= compared.half) | ~looked
    worst = 1 - ((~holds).sum(0) / np.maximum(1, looked.sum(0))).max()
    half = np.median(compared.half[compared.span == 2])
    return Promises(holds.all(1).mean(), float(worst), max(false), float(np.expm1(half)))


TRUTHS = {
    "all equal": (1.0, 1.0, 1.0, 1.0),
    "two equal pairs": (1.0, 1.0, 0.7, 0.7),
    "steps of 10 %": (1.0, 0.9, 0.81, 0.73),
    "steps of 25 %": (1.0, 0.75, 0.56, 0.42),
    "as the example": (1.0, 0.80, 0.79, 0.45),
}


def course(rule: Rule, logs: Floats, true: Floats, confidences: tuple[float, float]) -> tuple[Floats, Truths, Truths]:
    """Returns how many rounds were run, whether all neighbours were decided, and whether any statement is wrong."""
    count = len(logs)
    ended, decided, wrong = np.full(count, MOST), np.zeros(count, bool), np.zeros(count, bool)
    open_ = np.ones(count, bool)
    alike = math.log1p(ALIKE)
    for rounds in range(LEAST, MOST + 1):
        compared = pairs(rule, logs[open_, :, :rounds], confidences[rounds > LEAST])
        differs = np.abs(compared.distance) > compared.half
        same = np.abs(compared.distance) + compared.half <= alike
        done: Truths = np.all(differs | same | (compared.span > 2), axis=1)
        truth = differences(compared, true)
        false: Truths = (differs & (np.sign(compared.distance) != np.sign(np.round(truth, 9)))).any(1)
        false |= (~differs & same & (np.abs(truth) > alike) & (compared.span == 2)).any(1)
        places = np.flatnonzero(open_)
        leaves = done | (rounds == MOST)
        ended[places[leaves]], decided[places[leaves]], wrong[places[leaves]] = rounds, done[leaves], false[leaves]
        open_[places[leaves]] = False
    return ended.astype(np.float64), decided, wrong


def exactness(deviations: Floats, later: float, precision: float = 0.05) -> tuple[float, float]:
    """Returns the lowest coverage of any system's rate, and the mean number of rounds, if they end at `precision`."""
    count, systems, _ = deviations.shape
    held, ended, open_ = np.zeros((count, systems), bool), np.full(count, MOST), np.ones(count, bool)
    for rounds in range(LEAST, MOST + 1):
        shown = deviations[:, :, :rounds]
        t = student_t(rounds - 1, later if rounds > LEAST else CONFIDENCE)
        half = t * shown.std(2, ddof=1) / math.sqrt(rounds)
        leaves = open_ & ((half <= math.log1p(precision)).all(1) | (rounds == MOST))
        held[leaves] = (np.abs(shown.mean(2)) <= half)[leaves]
        ended[leaves] = rounds
        open_ &= ~leaves
    return float(held.mean(0).min()), float(ended.mean())


def check(generator: np.random.Generator) -> None:
    """Compares the vectorised intervals with those of `dohyo.statistics`.

    :raises AssertionError: if they differ by more than 3 %
    """
    logs = outlying(generator, (30, 4, 3))
    compared = pairs(OURS, logs)
    for experiment in range(len(logs)):
        samples = [logarithms(list(np.exp(row))) for row in logs[experiment]]
        ratios = statistics.ratios([sample for sample in samples if sample])
        for index, pair in enumerate(compared.which):
            if not math.isclose(ratios[pair].half, compared.half[experiment, index], rel_tol=0.03):
                raise AssertionError(f"{ratios[pair].half} is not {compared.half[experiment, index]}")


def line(name: str, cells: Sequence[str]) -> str:
    """Returns a line of a Markdown table."""
    return f"| {name} | {' | '.join(cells)} |"


def heads(names: Sequence[str]) -> str:
    """Returns the two header lines of a table."""
    return f"{line('', names)}\n{line('---', ['---'] * len(names))}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=80, help="length of a trial, for figures in minutes")
    options = parser.parse_args()
    generator = np.random.default_rng(17)
    check(generator)
    print("4 systems, 3 rounds: all intervals hold · worst pair holds · equal systems called different · half width\n")
    print(heads([*SCENARIOS]))
    drawn = {name: draw(generator, (options.experiments, 4, 3)) for name, draw in SCENARIOS.items()}
    for rule in RULES:
        print(line(rule.name, [str(promises(rule, deviations)) for deviations in drawn.values()]), flush=True)
    print("\nDohyo's rule for different numbers of systems × rounds\n")
    print(heads([*SCENARIOS]))
    for systems, rounds in ((2, 3), (2, 10), (3, 3), (4, 5), (4, 10), (5, 3), (5, 5)):
        size = (options.experiments, systems, rounds)
        cells = [str(promises(OURS, draw(generator, size))) for draw in SCENARIOS.values()]
        print(line(f"{systems} × {rounds}", cells), flush=True)
    print("\nUntil all neighbours are decided: any statement wrong, % · decided, % · rounds · minutes\n")
    kinds = {f"{name}, {deviation} %": (true, deviation) for name, true in TRUTHS.items() for deviation in (4, 8)}
    print(heads([*kinds]))
    for rule, later in ((RULES[0], LATER_LOOK), *((OURS, later) for later in (0.95, LATER_LOOK, 0.985, 0.99))):
        cells = []
        for true, deviation in kinds.values():
            logs = starts(deviation / 100, deviation / 100)(generator, (options.experiments // 2, 4, MOST))
            truth = np.log(np.array(true))
            ended, decided, wrong = course(rule, logs + truth[:, None], truth, (CONFIDENCE, later))
            figures = f"{100 * wrong.mean():.1f} · {100 * decided.mean():.0f} · {ended.mean():.1f}"
            cells.append(f"{figures} · {ended.mean() * 4 * options.seconds / 60:.0f}")
        print(line(f"{rule.name}, later looks {100 * later:g} %", cells), flush=True)
    print("\nUntil every rate is known to ± 5 %: intervals hold for the worst rate · rounds\n")
    scatters = [(2, 0.02), (2, 0.04), (2, 0.07), (4, 0.05), (1, 0.07)]
    print(heads([f"{systems} × {100 * scatter:.0f} %" for systems, scatter in scatters]))
    for later in (0.95, LATER_LOOK, 0.985):
        samples = [starts(scatter, scatter)(generator, (20_000, systems, MOST)) for systems, scatter in scatters]
        results = [exactness(sample, later) for sample in samples]
        print(line(f"later looks {100 * later:g} %", [f"{100 * held:.1f} · {rounds:.1f}" for held, rounds in results]))


if __name__ == "__main__":
    main()
