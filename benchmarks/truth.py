"""Which rule ends the rounds: what each costs, and how often its intervals hold the truth, in simulated experiments.

    .venv/bin/python benchmarks/truth.py [--experiments 20000] [--precision 0.05] [--least 3] [--most 10]

In each experiment every system has a true rate, and a round scatters around it lognormally, by so much as its column
says (2 to 15 % from round to round is what real ones do). After each round from ``--least`` on a rule looks at the
intervals of all systems. It ends the rounds when half of each is at most ``--precision`` of the mean; after ``--most``
rounds they end in any case.

The rules differ in the t with which an interval after n rounds is made, m ± t s / √n of the logarithms, for the
decision and for what is shown in the end:

always LEAST   does not look. Student's t, 95 %: what each other rule must be as honest as
naive          Student's t, 95 %, at every look (Chow and Robbins 1965, with t). Rounds end when their scatter happens
               to be small, so that such intervals hold the truth too seldom: the known undershoot (Starr 1966)
naive + 1      the same and one more round (Simons 1968: a constant number more suffices)
ours           95 % at the first look, `statistics.LATER_LOOK` at all later ones: the undershoot corrected by a wider t
98 %           one wider t at all looks, also at the first
Bonferroni     95 % divided among all looks that there may be
Stein          two stages: the number of rounds follows from the first ones alone (Stein 1945); exact
mixture        anytime-valid: the right-Haar t-mixture e-process with a normal prior on the effect size, of a variance
               of 100 (Lai 1976; Wang, Ramdas: Anytime-valid t-tests and confidence sequences for Gaussian means with
               unknown variance, 2023). Holds at all looks at once, however many there are

Columns: the share of intervals of the system that is worst off which hold its true rate, in %; the rounds; half of that
interval in % of the rate; of 100 experiments with two systems those in which the interval of the ratio (Welch, as in
the summary) names a wrong winner: one of two equal systems, or one that is 3 % slower than the other. A last table has
two equal systems; each round is disturbed with a probability of 15 %, and its figure then 100 times as large,
as a p99 may be: how often they are called different.

Sources: Chow, Robbins, Ann. Math. Statist. 36 (1965). Lai, Ann. Statist. 4 (1976). Simons, Ann. Math. Statist. 39
(1968). Starr, Ann. Math. Statist. 37 (1966). Stein, Ann. Math. Statist. 16 (1945). Wang, Ramdas, arXiv:2310.03722.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dohyo.statistics import CONFIDENCE, LATER_LOOK, student_t

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Truths = NDArray[np.bool_]
# Deviation of a system's rounds, as a share of its rate; several systems may scatter unlike.
SCATTERS = (
    (0.02,) * 2,
    (0.04,) * 2,
    (0.07,) * 2,
    (0.15,) * 2,
    (0.02, 0.07),
    (0.05,) * 4,
    (0.05,),
    (0.07,),
    (0.1,),
)
# By how much the second of two is slower, where it is.
SLOWER = 0.03
# Share of rounds that are disturbed in the table of bursts, and the factor by which their figures are then larger.
BURST = (0.15, 100.0)
# Rounds of each experiment in that table.
BURST_ROUNDS = (3, 5, 10)
# Variance of the prior on the effect size.
_PRIOR = 100.0


@dataclass(frozen=True)
class Rule:
    """When rounds end.

    :ivar confidences: of the t at the first look, and at the later ones
    :ivar factors: t by number of rounds, from 0; infinite where nothing can be said
    :ivar further: rounds after the one that would have ended it
    """

    name: str
    confidences: tuple[float, float]
    factors: Floats
    further: int = 0


def factors(least: int, most: int, confidences: tuple[float, float]) -> Floats:
    """Student's t by number of rounds."""
    found = [math.inf, math.inf]
    found += [student_t(n - 1, confidences[n > least]) for n in range(2, most + 1)]
    return np.array(found)


def mixture(n: int) -> float:
    """The t of the mixture after n rounds: that at which the e-process reaches 1 / 0.05."""
    spread = 1 + n * _PRIOR
    bound = (math.sqrt(spread) / (1 - CONFIDENCE)) ** (2 / n) if n > 1 else math.inf
    return math.sqrt((n - 1) * (bound - 1) / (1 - bound / spread)) if bound < spread else math.inf


def rules(least: int, most: int) -> list[Rule]:
    """The candidates."""
    looks = most - least + 1
    plain, ours, wide = (CONFIDENCE, CONFIDENCE), (CONFIDENCE, LATER_LOOK), (0.98, 0.98)
    divided = (1 - (1 - CONFIDENCE) / looks,) * 2
    never = np.full(most + 1, math.inf)
    never[least] = 0
    return [
        Rule(f"always {least}", plain, never),
        Rule("naive", plain, factors(least, most, plain)),
        Rule("naive + 1", plain, factors(least, most, plain), 1),
        Rule("ours", ours, factors(least, most, ours)),
        Rule("98 %", wide, factors(least, most, wide)),
        Rule("Bonferroni", divided, factors(least, most, divided)),
        Rule("Stein", plain, never),
        Rule("mixture", plain, np.array([mixture(n) for n in range(most + 1)])),
    ]


@dataclass(frozen=True)
class Simulated:
    """Experiments, by number of rounds: mean logarithms of rates, and their deviations, experiment × system × rounds.

    :ivar true: logarithms of the true rates
    """

    true: Floats
    means: Floats
    deviations: Floats


def simulate(
    generator: np.random.Generator,
    count: int,
    most: int,
    true: Floats,
    scatters: Sequence[float],
    *,
    bursts: bool = False,
) -> Simulated:
    """Experiments with systems of these true rates, whose rounds scatter so much.

    :param bursts: some rounds are disturbed by as much as `BURST` says
    """
    noise = generator.normal(0, 1, (count, len(scatters), most)) * np.array(scatters)[None, :, None]
    if bursts:
        noise += (generator.random(noise.shape) < BURST[0]) * math.log(BURST[1])
    logs = np.log(true)[None, :, None] + noise
    rounds = np.arange(1, most + 1)
    means = np.cumsum(logs, 2) / rounds
    squares = np.cumsum(logs**2, 2) - rounds * means**2
    return Simulated(np.log(true), means, np.sqrt(np.maximum(0, squares) / np.maximum(1, rounds - 1)))


def ended(rule: Rule, of: Simulated, precision: float, least: int) -> Whole:
    """Rounds of each experiment."""
    count, _, most = of.means.shape
    if rule.name == "Stein":
        first = of.deviations[:, :, least - 1]
        wanted = np.ceil((student_t(least - 1) * first / math.log1p(precision)) ** 2).max(1)
        stein: Whole = np.clip(wanted, least, most).astype(np.int64)
        return stein
    rounds = np.arange(1, most + 1)
    with np.errstate(invalid="ignore"):
        halves = rule.factors[1:] * of.deviations / np.sqrt(rounds)
    reached: Truths = np.all(halves <= math.log1p(precision), axis=1)
    reached[:, : least - 1] = False
    reached[:, -1] = True
    if rule.name.startswith("always"):
        return np.full(count, least)
    rounds_of: Whole = np.minimum(reached.argmax(1) + 1 + rule.further, most).astype(np.int64)
    return rounds_of


def halves_in_the_end(rule: Rule, of: Simulated, rounds: Whole, least: int) -> tuple[Floats, Floats]:
    """Means and halves of their intervals as they are shown, experiment × system."""
    at = (rounds - 1)[:, None, None]
    means, deviations = (np.take_along_axis(each, at, 2)[..., 0] for each in (of.means, of.deviations))
    if rule.name == "Stein":
        # Its deviation is that of the first stage.
        deviations, t = (
            of.deviations[:, :, least - 1],
            np.full(len(rounds), student_t(least - 1)),
        )
    elif rule.name == "mixture":
        t = rule.factors[rounds]
    else:
        t = factors(least, of.means.shape[2], rule.confidences)[rounds]
    return means, t[:, None] * deviations / np.sqrt(rounds)[:, None]


def wrong(rule: Rule, of: Simulated, rounds: Whole, least: int) -> float:
    """Share of experiments whose ratio, by Welch's interval, names the second of two as faster, or either of equals."""
    means, halves = halves_in_the_end(rule, of, rounds, least)
    freedom = (least if rule.name == "Stein" else rounds) - 1
    if rule.name in ("Stein", "mixture"):
        # Neither has degrees of freedom to be put together: both intervals apart.
        half = halves.sum(1)
    else:
        t = factors(least, of.means.shape[2], rule.confidences)[rounds][:, None]
        errors = (halves / t) ** 2
        joint = errors.sum(1) ** 2 / (errors**2 / np.asarray(freedom)[:, None]).sum(1)
        # To a tenth of a degree, so that t is computed some hundred times only.
        looked = np.where(rounds > least, rule.confidences[1], rule.confidences[0])
        pairs = list(zip(np.round(joint, 1), looked, strict=True))
        known = {each: student_t(max(1.0, float(each[0])), float(each[1])) for each in set(pairs)}
        half = np.array([known[each] for each in pairs]) * np.sqrt(errors.sum(1))
    distance = means[:, 1] - means[:, 0]
    equal = of.true[0] == of.true[1]
    return float((np.abs(distance) > half).mean() if equal else (distance > half).mean())


def disturbed(generator: np.random.Generator, count: int, rounds: int) -> float:
    """Share of experiments that call two equal systems different, if rounds are disturbed as `BURST` says."""
    rule = rules(rounds, rounds)[0]
    of = simulate(generator, count, rounds, np.ones(2), (0.02, 0.02), bursts=True)
    return wrong(rule, of, np.full(count, rounds), rounds)


def systems(scatters: Sequence[float]) -> str:
    """Such as "4 × 5 %"."""
    if len(set(scatters)) == 1:
        return f"{len(scatters)} × {100 * scatters[0]:.0f} %"
    return " and ".join(f"{100 * each:.0f} %" for each in scatters)


def line(name: str, cells: Sequence[str]) -> str:
    """A line of a Markdown table."""
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Prints a table for each scatter: a line for each rule."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=20_000)
    parser.add_argument("--precision", type=float, default=0.05)
    parser.add_argument("--least", type=int, default=3)
    parser.add_argument("--most", type=int, default=10)
    options = parser.parse_args()
    generator = np.random.default_rng(17)
    candidates = rules(options.least, options.most)
    lines: dict[str, list[str]] = {rule.name: [] for rule in candidates}
    wrongly: dict[str, list[str]] = {rule.name: [] for rule in candidates}
    pairs = [scatters for scatters in SCATTERS if len(scatters) == 2]
    for scatters in SCATTERS:
        of = simulate(
            generator,
            options.experiments,
            options.most,
            np.ones(len(scatters)),
            scatters,
        )
        slower = np.array([1.0, 1 - SLOWER])
        unequal = (
            simulate(generator, options.experiments, options.most, slower, scatters) if scatters in pairs else None
        )
        for rule in candidates:
            rounds = ended(rule, of, options.precision, options.least)
            means, halves = halves_in_the_end(rule, of, rounds, options.least)
            held = (np.abs(means - of.true) <= halves).mean(0).min()
            worst = float(100 * np.expm1(np.median(halves, 0)).max())
            lines[rule.name].append(f"{100 * held:.1f} · {rounds.mean():.1f} · {worst:.1f}")
            if unequal is not None:
                lost = wrong(
                    rule,
                    unequal,
                    ended(rule, unequal, options.precision, options.least),
                    options.least,
                )
                wrongly[rule.name].append(f"{100 * wrong(rule, of, rounds, options.least):.1f} · {100 * lost:.2f}")
    named = [systems(each) for each in SCATTERS]
    print("Intervals that hold the truth in % · rounds · half of the interval in %, by systems × scatter of rounds\n")
    print(line("", named), line("---", ["---"] * len(named)), sep="\n")
    print("\n".join(line(name, cells) for name, cells in lines.items()))
    print(f"\nOf two equal ones a winner named in % · the one that is {100 * SLOWER:.0f} % slower named in %\n")
    named = [name for name, scatters in zip(named, SCATTERS, strict=True) if scatters in pairs]
    print(line("", named), line("---", ["---"] * len(named)), sep="\n")
    print("\n".join(line(name, cells) for name, cells in wrongly.items()))
    share, factor = BURST
    print(f"\nOf two equal ones called different in %, if {share:.0%} of the rounds are {factor:.0f}-fold\n")
    print(line("rounds", list(map(str, BURST_ROUNDS))), line("---", ["---"] * len(BURST_ROUNDS)), sep="\n")
    print(line("ours", [f"{100 * disturbed(generator, options.experiments, rounds):.1f}" for rounds in BURST_ROUNDS]))


if __name__ == "__main__":
    main()
