"""Tests ratios and their intervals, between the systems of an experiment and between two experiments."""

import csv
import dataclasses
import io
import itertools
import json
import math
import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
import pytest

from dohyo import cli, statistics
from dohyo.bad_input import BadInputError
from dohyo.evidence.rows import sampled
from dohyo.foreign import tabulate
from dohyo.metrics import Row, Samples
from dohyo.report.charts import latency, ranking
from dohyo.report.material import Material
from dohyo.running import two_experiments
from dohyo.summary import regression
from dohyo.summary.comparison import Key, at_points, pairs, slowest_rates
from dohyo.summary.ranking import contests
from dohyo.summary.results import Figure, Pair, Summary, Trial
from dohyo.summary.summary import summarise
from dohyo.summary.trust import doubts
from dohyo.tables import comparison_table, table
from dohyo.tables.verdict import verdict
from support.evidence import (
    changes_shown,
    compared,
    edit_json,
    in_rounds,
    lasted,
    on_screen,
    reads,
    rendered,
    searched_rounds,
    trial,
    write_json,
)
from support.pages import two_systems


def series(mean: float, seconds: int = 60, relative: float = 0.05, seed: int = 1) -> list[int]:
    rng = random.Random(seed + mean)  # noqa: S311 - only a simulation
    return [max(0, round(rng.gauss(mean, relative * mean))) for _ in range(seconds)]


def measured(
    experiment: Path,
    rates: dict[str, Sequence[int]],
    p99_us: dict[str, Sequence[int]] | None = None,
    target: dict[str, int] | None = None,
) -> Path:
    """Writes an experiment with one round for each rate. Each run lasts 10 s at exactly that rate."""
    for turn, system, folder in in_rounds(experiment, len(next(iter(rates.values()))), rates):
        latency = p99_us[system][turn - 1] if p99_us else 500
        reads(folder / "run-1/node1", [rates[system][turn - 1]] * 10, latency)
        edit_json(folder / "run-1/node1/client.json", target=(target or {}).get(system, 0))
    write_json(experiment / "experiment.json", {"id": experiment.name, "scenario": "workloadA"})
    return experiment


def block(summary: Summary) -> list[str]:
    """Returns the lines of the comparison, with single spaces."""
    text = rendered(summary).partition("Comparison: ")[2].partition("\n\n")[0]
    return [" ".join(line.split()) for line in text.splitlines()]


def test_rounds_are_compared_on_the_scale_of_logarithms(tmp_path: Path) -> None:
    measured(tmp_path, {"cassandra": (1000, 1010, 990), "hbase": (1340, 1320, 1360)})
    summary = summarise(tmp_path)
    (rates,) = summary.comparisons  # latencies are not compared because the rates differ
    assert (rates.phase, rates.operation, rates.figure) == ("run", "OVERALL", "records_per_second")
    assert (rates.of, rates.to, rates.sampled, rates.samples, rates.tie) == ("hbase", "cassandra", "rounds", 3, False)
    # Computed by hand from the deviations of the logarithms, 0.0149 and 0.0100. The difference has a standard error of
    # 0.01037; with 4 degrees of freedom (4.25 by the formula) t is 2.78.
    assert [rates.ratio, rates.low, rates.high] == pytest.approx([1.340, 1.302, 1.379], abs=0.001)
    title, heads, line = block(summary)
    assert title.endswith("intervals over 3 rounds; tie: the interval includes 1")
    assert heads == "figure best ratio 95 % interval other"
    assert line == "rec/s hbase 1.34× [1.30, 1.38] cassandra"
    assert "| rec/s | hbase | 1.34× | [1.30, 1.38] | cassandra |" in table.markdown(summary)
    assert max(map(len, rendered(summary).splitlines())) <= 120
    content = json.loads(summary.json())["comparisons"][0]
    assert (content["of"], content["to"], content["low"]) == ("hbase", "cassandra", rates.low)


def test_a_difference_inside_the_noise_is_a_tie(tmp_path: Path) -> None:
    measured(tmp_path, {"cassandra": (1000, 1100), "hbase": (1050, 1120)})
    summary = summarise(tmp_path)
    pair = summary.comparisons[0]
    assert (pair.of, pair.tie) == ("hbase", True)
    assert block(summary)[2].startswith("rec/s hbase tie [")
    # The mean of the row has its own interval; t is 12.7 for one degree of freedom.
    cassandra = summary.merged[0]
    (row,) = (row for row in cassandra.rows if (row.phase, row.operation) == ("run", "OVERALL"))
    assert [row.ops_per_second, row.ops_per_second_stddev] == pytest.approx([1048.81, 70.71], abs=0.01)
    factor = 1.1 ** (12.706 / 2)
    ends = [1048.81 / factor, 1048.81 * factor]
    assert [row.ops_per_second_low, row.ops_per_second_high] == pytest.approx(ends, abs=0.1)
    assert " 83% " in rendered(summary)
    text = " ".join(rendered(summary).split())
    assert (
        "Rates are geometric means of 2 repeats ± the upper part of their 95 % interval over 2 rounds; p99 ± is the"
        " upper part of the interval of the p99; counts are sums."
    ) in text


def test_the_p99_of_each_round_is_compared_and_less_is_better(tmp_path: Path) -> None:
    measured(
        tmp_path,
        {"cassandra": (1000,) * 3, "hbase": (1000,) * 3},
        {"cassandra": (2000, 2040, 1960), "hbase": (3000, 3060, 2940)},
        {"cassandra": 1000, "hbase": 1000},
    )
    (p99,) = summarise(tmp_path).comparisons  # rates are not compared because both systems have the same target
    assert (p99.of, p99.to, p99.figure) == ("cassandra", "hbase", "p99_ms")
    assert [p99.ratio, p99.low, p99.high] == pytest.approx([0.667, 0.637, 0.698], abs=0.002)


SLOW: dict[str, Sequence[int]] = {"cassandra": (2000, 2040, 1960), "hbase": (3000, 3060, 2940)}


@pytest.mark.parametrize(
    ("hbase", "target", "heading", "short"),
    [
        (1000, {"cassandra": 1000, "hbase": 1000}, "at equal rate 1,000 op/s", "at 1,000 op/s"),
        (995, {"cassandra": 1000, "hbase": 1000}, "at equal rate 1,000 op/s", "at 1,000 op/s"),
        (980, {"cassandra": 1000, "hbase": 1000}, "at its own rate", "at own rate"),
        (1000, {"cassandra": 1000, "hbase": 900}, "at its own rate", "at own rate"),
        (1000, {"cassandra": 1000}, "at its own rate", "at own rate"),
        (1000, {}, "at its own maximum rate", "at own max"),
    ],
)
def test_latencies_are_ranked_at_an_equal_rate_alone(
    tmp_path: Path, hbase: int, target: dict[str, int], heading: str, short: str
) -> None:
    # A system misses the target if one of its rounds misses it.
    rates: dict[str, Sequence[int]] = {"cassandra": (1000,) * 3, "hbase": (1000, 1000, hbase)}
    summary = summarise(measured(tmp_path, rates, SLOW, target))
    ranked = "equal" in heading
    assert [pair.figure for pair in summary.comparisons] == (
        ["p99_ms"] if ranked else [] if target else ["records_per_second"]
    )
    assert ("READ p99" in table.markdown(summary)) == ranked
    results = table.results_grid(summary)
    assert [head for head in results.heads if "p99 ms" in head] == [f"p99 ms {short}"]
    assert f"Latencies in ms {heading}, of successful" in table.legend(summary)
    head = on_screen(summary).split("\n\n")[1].splitlines()[2]
    assert heading in head or short in head
    (panel,) = latency.chart(Material(summary)).panels
    assert panel.title == f"READ, {heading}"
    compare = [reason.text for reason in doubts(summary) if reason.text.startswith("A target rate was set")]
    assert len(compare) == bool(target)
    assert all(("compare latencies" in text) == ranked for text in compare)


def test_a_p99_has_an_interval_over_rounds_that_is_never_within_a_bucket(tmp_path: Path) -> None:
    p99_us: dict[str, Sequence[int]] = {"cassandra": (2000, 2100, 1900), "hbase": (3000,) * 3}
    summary = summarise(measured(tmp_path, {"cassandra": (1000,) * 3, "hbase": (1000,) * 3}, p99_us))
    by_system = {trial.system: row for trial in summary.merged for row in trial.rows if row.operation == "READ"}
    # Computed by hand: the geometric mean is 1.9987 ms, the deviation of the logarithms 0.0501, t 4.303; the factor is
    # 1.1325. The p99 of the merged rounds, 2.1 ms, is within the interval.
    scattered = by_system["cassandra"]
    assert scattered.p99_ms == pytest.approx(2.1, rel=1e-3)
    assert [scattered.p99_ms_low, scattered.p99_ms_high] == pytest.approx([1.9987 / 1.1325, 1.9987 * 1.1325], rel=2e-3)
    alike = by_system["hbase"]
    assert alike.p99_ms
    assert alike.p99_ms_low
    assert alike.p99_ms_high
    assert alike.p99_ms / alike.p99_ms_low == pytest.approx(alike.p99_ms_high / alike.p99_ms) == pytest.approx(1.001)
    results = table.results_grid(summary)
    column = results.heads.index("p99 \N{PLUS-MINUS SIGN}")
    assert [line[column] for line in results.lines] == ["19%", "0.1%"]
    assert "p99_ms_low,p99_ms_high" in summary.csv().splitlines()[0]
    in_json = [row for row in json.loads(summary.json())["merged"][0]["rows"] if row["operation"] == "READ"]
    assert [row["p99_ms_high"] for row in in_json] == [scattered.p99_ms_high]
    single = summarise(measured(tmp_path / "single", {"cassandra": (1000,)}))
    assert [row.p99_ms_low for trial in single.trials for row in trial.rows] == [None] * len(single.trials[0].rows)
    assert "p99 \N{PLUS-MINUS SIGN}" not in table.results_grid(single).heads


def test_single_runs_have_a_ratio_without_an_interval_everywhere(tmp_path: Path) -> None:
    for number, (system, mean) in enumerate({"cassandra": 1000, "hbase": 1340}.items(), start=1):
        reads(trial(tmp_path, number, system, repeats=1) / "run-1/node1", series(mean))
    summary = summarise(tmp_path)
    (pair,) = summary.comparisons  # no p99 is compared
    assert pair.ratio == pytest.approx(1.34, rel=0.03)
    assert pair == Pair("run", "OVERALL", "records_per_second", "02-hbase", "01-cassandra", pair.ratio)
    for row in summary.trials[0].rows:
        assert (row.sampled, row.ops_per_second_low, row.records_per_second_high) == (None, None, None)
        assert row.ops_per_second_samples == row.records_per_second_samples == []
    assert block(summary)[-1] == "rec/s hbase 1.33× – cassandra"
    text = " ".join(rendered(summary).split())
    assert "no intervals, because a single run provides none; no ratio counts as a tie or a difference" in text
    shown = on_screen(summary)
    assert re.search(r"of the first +(.*\n)? *no interval", shown)
    for output in (text, shown):
        assert "±" not in output
        assert "[" not in output.replace("[OVERALL]", "")
    assert max(map(len, rendered(summary).splitlines())) <= 120
    of_json, of_csv = json.loads(summary.json()), list(csv.DictReader(io.StringIO(summary.csv())))
    assert {key: of_json["comparisons"][0][key] for key in ("low", "high", "tie")} == dict.fromkeys(
        ("low", "high", "tie")
    )
    assert {line["ops_per_second_low"] for line in of_csv} == {""}


def test_systems_with_different_batches_are_compared_by_their_records(tmp_path: Path) -> None:
    for number, (system, records) in enumerate({"cassandra": 1, "hbase": 100}.items(), start=1):
        client = trial(tmp_path, number, system, repeats=1) / "run-1/node1"
        counts = series(1000 if records == 1 else 20)
        reads(client, counts)
        carried = records * sum(counts)
        edit_json(client / "client.json", records=carried, operations_by_type={"READ": {"statuses": {"OK": carried}}})
        file = client / "result.txt"
        file.write_text(file.read_text().replace(f"Return=OK, {sum(counts)}", f"Return=OK, {carried}"))
    (pair,) = summarise(tmp_path).comparisons
    assert (pair.of, pair.figure) == ("02-hbase", "records_per_second")
    assert pair.ratio == pytest.approx(2, rel=0.05)


def test_systems_are_compared_within_a_point_and_one_system_with_nobody(tmp_path: Path) -> None:
    number = 0
    for batchsize, factor in (("1", 1), ("100", 3)):
        for system, mean in {"cassandra": 1000, "hbase": 1500}.items():
            number += 1
            folder = trial(tmp_path, number, system, repeats=1, trial_point={"batchsize": batchsize})
            reads(folder / "run-1/node1", series(factor * mean))
    summary = summarise(tmp_path)
    assert [(pair.of, pair.to) for pair in summary.comparisons] == [
        ("02-hbase-batchsize=1", "01-cassandra-batchsize=1"),
        ("04-hbase-batchsize=100", "03-cassandra-batchsize=100"),
    ]
    assert any("hbase batchsize=100 1.5" in line for line in block(summary))
    assert [len(trials) for trials in at_points(summary.trials)] == [2, 2]
    assert at_points([]) == []
    alone = tmp_path / "alone"
    trial(alone, 1, "cassandra")
    assert summarise(alone).comparisons == []
    assert "Comparison" not in rendered(summarise(alone))


def test_a_system_without_a_dimension_is_compared_at_each_of_its_values(tmp_path: Path) -> None:
    rates = {("cassandra", "async"): 1000, ("scylla", "async"): 1200, ("cassandra", "unlogged"): 2500}
    rates |= {("scylla", "unlogged"): 1300, ("hbase", ""): 2000, ("mysql", ""): 1900}
    measured = itertools.product((1, 2, 3), rates.items())
    for number, (turn, ((system, mode), rate)) in enumerate(measured, start=1):
        about: dict[str, Any] = {"trial_round": turn, "trial_rounds": 3, "trial_point": {"mode": mode} if mode else {}}
        reads(trial(tmp_path, number, system, repeats=1, **about) / "run-1/node1", [rate + turn] * 20)
    summary = summarise(tmp_path)
    assert [(pair.of, pair.to) for pair in summary.comparisons] == [
        ("hbase", "cassandra mode=async"),
        ("hbase", "scylla mode=async"),
        ("hbase", "mysql"),
        ("cassandra mode=unlogged", "scylla mode=unlogged"),
        ("cassandra mode=unlogged", "hbase"),
        ("cassandra mode=unlogged", "mysql"),
    ]
    text = " ".join(on_screen(summary).split())
    assert "hbase was the fastest in 1 of 2 comparisons" in text
    assert "mode=async 1 hbase" in text
    assert "mode=unlogged 1 cassandra" in text
    (panel,) = ranking.chart(Material(summary)).panels
    assert [label for label in panel.spec["encoding"]["y"]["sort"] if label == "hbase"] == ["hbase"]
    assert {round(slowest) for slowest in slowest_rates(summary.compared, "run").values()} == {1002}


def test_points_do_not_depend_on_systems_without_numbers(tmp_path: Path) -> None:
    rates = {("cassandra", "async"): 1000, ("scylla", "async"): 1, ("cassandra", "unlogged"): 2500}
    rates |= {("scylla", "unlogged"): 1, ("hbase", ""): 2000}
    for number, ((system, mode), rate) in enumerate(rates.items(), start=1):
        folder = trial(tmp_path, number, system, repeats=1, trial_point={"mode": mode} if mode else {})
        reads(folder / "run-1/node1", [rate] * 20)
        if system == "scylla":
            edit_json(folder / "run-1/node1/client.json", exit=5, valid=False)
    text = " ".join(on_screen(summarise(tmp_path)).split())
    assert "hbase was the fastest in 1 of 2 comparisons" in text
    assert "mode=async 1 hbase" in text
    assert "mode=unlogged 1 cassandra" in text
    for folder in tmp_path.glob("raw/*-scylla-*"):
        shutil.rmtree(folder / "load")
    assert len(contests(summarise(tmp_path))) == 2


def test_a_reason_of_several_points_is_given_once(tmp_path: Path) -> None:
    for number, (system, mode) in enumerate(itertools.product(("cassandra", "hbase"), ("async", "unlogged")), start=1):
        folder = trial(tmp_path, number, system, repeats=1, trial_point={"mode": mode})
        edit_json(folder / "conditions.json", heap="8G" if system == "hbase" else "1G")
    assert [reason.short for reason in doubts(summarise(tmp_path))].count("other memory") == 1


def test_a_point_at_which_a_target_was_missed_has_no_contest(tmp_path: Path) -> None:
    measured = {("cassandra", "async"): (1000, 700), ("cassandra", "unlogged"): (500, 700), ("hbase", ""): (1000, 500)}
    measured |= {("scylla", mode): (1000, 800) for mode in ("async", "unlogged")} | {("mysql", ""): (1000, 600)}
    for number, ((system, mode), (rate, latency_us)) in enumerate(measured.items(), start=1):
        about: dict[str, Any] = {"trial_point": {"mode": mode}} if mode else {}
        folder = trial(tmp_path, number, system, target=1000, **about)
        for run in (1, 2):
            reads(folder / f"run-{run}/node1", [rate] * 20, latency_us)
    (contest,) = contests(summarise(tmp_path))
    assert {pair.to for pair in contest} == {"01-cassandra-mode=async", "04-scylla-mode=async", "06-mysql"}


def test_a_trial_of_the_same_system_and_point_is_not_left_out_in_silence(tmp_path: Path) -> None:
    for side, rates in {"a": (1000, 2000), "b": (1500,)}.items():
        for number, rate in enumerate(rates, start=1):
            reads(trial(tmp_path / side, number, "cassandra", repeats=1) / "run-1/node1", [rate] * 20)
    changes = compared(tmp_path / "a", tmp_path / "b")
    assert [change.before for change in changes.changes] == [2000]
    assert changes.problems == ["01-cassandra in a is not compared, as another trial has its system and point"]


def test_dimensions_of_different_systems_make_the_points_at_which_they_meet() -> None:
    def of(system: str, **point: str) -> Trial:
        return Trial(f"{system}{point}", system, system, "ok", point=point)

    one, other = ([of(system, x=x) for system in "ab"] for x in "12")
    third, alone = [of(system, y="3") for system in "cd"], [of("e", z=z) for z in "45"]
    assert at_points([*one, *other, *third, *alone]) == [[*one, *third, *alone], [*other, *third, *alone]]


def test_the_maxima_of_searches_are_compared_over_the_rounds(tmp_path: Path) -> None:
    searched_rounds(tmp_path, {"cassandra": (1000, 1010, 990), "hbase": (1340, 1320, 1360)})
    summary = summarise(tmp_path)
    (pair,) = (pair for pair in summary.comparisons if pair.phase == "probe")
    assert (pair.of, pair.to, pair.figure, pair.sampled, pair.samples) == (
        "hbase", "cassandra", "ops_per_second", "rounds", 3
    )  # fmt: skip
    # The rounds differ by less than the last steps of the search (2 %), so the interval is as wide as these steps.
    assert [pair.ratio, pair.low, pair.high] == pytest.approx([1.340, 1.340 / 1.02**2, 1.340 * 1.02**2], abs=0.001)
    assert "[under SLO] op/s hbase 1.34× [1.29, 1.39] cassandra" in block(summary)
    assert verdict(summary).sentence.startswith("hbase was 1.34× [1.29, 1.39] as fast as cassandra (hbase 1,340 [")
    # If one round has no rate, there is no comparison.
    lasted(tmp_path / "raw/06-cassandra/probe-1/node1", 10, target=5000)
    assert not [pair for pair in summarise(tmp_path).comparisons if pair.phase == "probe"]


def test_the_load_and_discarded_runs_are_not_compared(tmp_path: Path) -> None:
    summary = summarise(two_systems(tmp_path, repeats=3, trial_discard=1, target=2000))
    assert {pair.phase for pair in summary.comparisons} == {"run"}
    assert {pair.samples for pair in summary.comparisons} == {2}
    # In runs with a target rate, latencies are measured from the intended start.
    assert [pair.operation for pair in summary.comparisons if pair.figure == "p99_ms"] == [
        "Intended-READ", "Intended-UPDATE"
    ]  # fmt: skip


# ---- two experiments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "p99_us", "margin", "verdicts", "code"),
    [
        ((1000, 1010, 990), (500, 500, 500), 0.05, ["within", "within"], 0),
        ((800, 810, 790), (500, 500, 500), 0.05, ["regression", "within"], 3),
        ((800, 810, 790), (500, 500, 500), 0.25, ["within", "within"], 0),
        ((970, 971, 969), (500, 500, 500), 0.05, ["within", "within"], 0),  # exceeds the noise, but not the margin
        ((960, 961, 959), (500, 500, 500), 0.0, ["regression", "inconclusive"], 3),
        ((500, 1500, 700), (500, 500, 500), 0.05, ["inconclusive", "within"], 5),
        # The rate is lower, but the interval contains the margin.
        ((900, 960, 930), (500, 500, 500), 0.05, ["inconclusive", "within"], 5),
        ((500, 1500, 700), (900, 910, 890), 0.05, ["inconclusive", "regression"], 3),
        ((1500, 1510, 1490), (250, 251, 249), 0.05, ["improvement", "improvement"], 0),
        ((1000, 1010, 990), (900, 910, 890), 0.05, ["within", "regression"], 3),
    ],
)
def test_changes_have_a_verdict_and_an_exit_code(
    tmp_path: Path, rates: tuple[int, ...], p99_us: tuple[int, ...], margin: float, verdicts: list[str], code: int
) -> None:
    before = measured(tmp_path / "a", {"cassandra": (1000, 1005, 995)}, {"cassandra": (500, 501, 499)})
    after = measured(tmp_path / "b", {"cassandra": rates}, {"cassandra": p99_us})
    changes = compared(before, after, margin)
    assert [change.verdict for change in changes.changes] == verdicts
    assert (changes.exit_code, changes.problems, changes.single, changes.differences) == (code, [], [], [])


@pytest.mark.parametrize(
    ("figure", "low", "high", "expected"),
    [
        ("ops_per_second", 0.39, 1.03, "inconclusive"),
        ("ops_per_second", 0.95, 1.05, "within"),
        ("ops_per_second", 0.949, 1.0, "inconclusive"),
        ("ops_per_second", 1.0, 1.051, "inconclusive"),
        ("ops_per_second", 0.9, 0.9499, "regression"),
        ("ops_per_second", 0.9, 0.96, "inconclusive"),
        ("ops_per_second", 1.06, 1.2, "improvement"),
        ("p99_ms", 1.06, 1.2, "regression"),
        ("p99_ms", 0.5, 0.9, "improvement"),
        ("p99_ms", 0.5, 1.2, "inconclusive"),
    ],
)
def test_the_interval_and_the_margin_decide_the_verdict(figure: Figure, low: float, high: float, expected: str) -> None:
    assert regression.verdict(Pair("run", "READ", figure, "a", "b", 1.0, low, high, False), 0.05) == expected


def test_what_is_inconclusive_says_how_many_rounds_would_decide_it(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", {"cassandra": (1000, 1100, 900)})
    (rate, p99) = compared(before, measured(tmp_path / "b", {"cassandra": (1000, 1100, 900)})).changes
    assert (rate.verdict, p99.verdict, p99.rounds, p99.reason) == ("inconclusive", "within", None, None)
    # Computed by hand for two deviations of 10 %. The nearer bound is 1.05; the quantiles of t are 1.97 and 1.29:
    # (1.97 + 1.29) √(0.02 / 90) = 0.0486 < ln 1.05 = 0.0488.
    assert (rate.rounds, rate.reason) == (90, "about 90 rounds of each experiment would be needed")
    near = compared(before, measured(tmp_path / "c", {"cassandra": (950, 1045, 855)}))
    assert (near.changes[0].rounds, near.changes[0].reason) == (
        None,
        "more than 100 rounds of each experiment would be needed",
    )


RATES: Key = ("run", "OVERALL", "ops_per_second")


def drawn(rng: random.Random, between: float, kind: Samples) -> Row:
    """Returns a row near 1000 op/s, sampled from three rounds that scatter by `between`, or from parts of one round."""
    rates = [1000 * rng.lognormvariate(0, between) for _ in range(3)]
    samples = rates if kind == "rounds" else [rng.gauss(rates[0], 0.02 * rates[0]) for _ in range(20)]
    return sampled(Row("run", "OVERALL", 3), kind, samples, [], [])


@pytest.mark.slow
@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["rounds", "runs"])
@pytest.mark.parametrize("between", [0.02, 0.07])
def test_of_identical_pairs_few_are_a_regression(kind: Samples, between: float, margin: float) -> None:
    rng = random.Random(18)  # noqa: S311 - only a simulation
    verdicts: list[str] = []
    for _ in range(400):
        samples = {name: drawn(rng, between, kind) for name in (regression.BEFORE, regression.AFTER)}
        if kind == "rounds":
            # Do not call `judge`, because it also computes the number of rounds that would decide, which is slow.
            verdicts.append(regression.verdict(pairs(RATES, samples)[regression.AFTER, regression.BEFORE], margin))
        else:
            verdicts.append(regression.judge(RATES, samples, margin)[1])
    assert verdicts.count("regression") <= 0.05 * len(verdicts)
    if kind != "rounds":
        assert set(verdicts) == {"inconclusive"}


def test_the_systems_of_a_point_are_judged_together(tmp_path: Path) -> None:
    rates = {
        "cassandra": ((1000, 1040, 980), (930, 960, 900)),
        "mysql-innodb": ((2000, 2090, 1960), (2010, 1950, 2100)),
    }
    before, after = (
        measured(tmp_path / name, {system: pairs_of_rates[side] for system, pairs_of_rates in rates.items()})
        for side, name in enumerate(("before", "after"))
    )
    throughput = {item.system: item for item in compared(before, after).changes if item.pair.figure != "p99_ms"}
    logarithms = [[statistics.logarithms([*map(float, rate)]) for rate in reversed(sides)] for sides in rates.values()]
    family = [(first, second) for first, second in logarithms if first and second]
    for system, expected in zip(rates, statistics.changes(family), strict=True):
        assert (throughput[system].pair.low, throughput[system].pair.high) == pytest.approx(
            (expected.low, expected.high), rel=1e-3
        )
    before, after = (
        measured(tmp_path / name, {"cassandra": rates["cassandra"][side]}) for side, name in enumerate(("a", "b"))
    )
    alone = compared(before, after)
    (change,) = (candidate for candidate in alone.changes if candidate.pair.figure != "p99_ms")
    assert change.pair.low != pytest.approx(throughput["cassandra"].pair.low, rel=1e-3)


def test_a_latency_at_another_rate_says_so(tmp_path: Path) -> None:
    before = measured(tmp_path / "a", {"cassandra": (1000, 1000, 1000)})
    same, slower = (
        compared(before, measured(tmp_path / name, {"cassandra": (rate,) * 3}))
        for name, rate in (("b", 995), ("c", 800))
    )
    assert [change.at_rates for change in same.changes] == [None, None]
    assert [change.at_rates for change in slower.changes] == [None, (1000, 800)]
    assert "within the margin (at 1,000 op/s before, 800 after)" in changes_shown(slower)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [1.0, 0.97, 0.88, 1.2])
def test_so_many_rounds_decide_in_most_cases(truth: float) -> None:
    rng = random.Random(18)  # noqa: S311 - only a simulation
    row, scatter = Row("run", "OVERALL", 3), 0.07

    def verdict(count: int) -> str:
        samples = {
            name: sampled(row, "rounds", [mean * rng.lognormvariate(0, scatter) for _ in range(count)], [], [])
            for name, mean in ((regression.BEFORE, 1000), (regression.AFTER, 1000 * truth))
        }
        return regression.judge(RATES, samples, 0.05)[1]

    # The standard deviation of these samples is exactly the scatter, 0.07.
    logarithms = statistics.logarithms([1000 * math.exp(deviation) for deviation in (-0.07, 0, 0.07)])
    assert logarithms is not None
    distance = min(abs(math.log(truth / bound)) for bound in (0.95, 1.05))
    rounds = statistics.deciding(logarithms, logarithms, distance)
    if truth == 0.97:
        assert rounds is None
        return
    assert rounds is not None
    verdicts = [verdict(rounds) for _ in range(200)]
    right = {1.0: "within", 0.88: "regression", 1.2: "improvement"}[truth]
    assert verdicts.count(right) >= 0.75 * len(verdicts)


def test_more_rounds_are_never_asked_for_where_rounds_do_not_scatter() -> None:
    steady = statistics.logarithms([1000, 1000])
    assert steady is not None
    assert statistics.deciding(steady, steady, 0.01) == 2


@pytest.mark.parametrize(
    ("repeats", "rounds", "reason"),
    [((1, 1), (1, 1), "one run each"), ((3, 3), (1, 1), "one round each"), ((1, 1), (3, 1), "one run after")],
)
def test_what_is_within_a_round_decides_nothing(
    tmp_path: Path, repeats: tuple[int, int], rounds: tuple[int, int], reason: str
) -> None:
    for name, rate, runs, count in zip("ab", (1000, 500), repeats, rounds, strict=True):
        for number in range(1, count + 1):
            folder = trial(tmp_path / name, number, "cassandra", repeats=runs, trial_round=number, trial_rounds=count)
            for run in range(1, runs + 1):
                reads(folder / f"run-{run}/node1", series(rate, seed=run))
    # The rate is halved, and it varies only a little from second to second.
    changes = compared(tmp_path / "a", tmp_path / "b")
    if repeats[0] != repeats[1]:
        changes = dataclasses.replace(changes, forced=True)
    assert {(change.verdict, change.reason) for change in changes.changes} == {("inconclusive", reason)}
    assert changes.exit_code == 5


MIX = {"readproportion": "0.5", "updateproportion": "0.5", "requestdistribution": "zipfian"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"readproportion": "1", "updateproportion": "0"}, ["readproportion", "updateproportion"]),
        ({"requestdistribution": "uniform"}, ["requestdistribution"]),
        ({"arrival": "poisson"}, ["arrival"]),
        ({"recordcount": "20000"}, ["recordcount"]),
        ({"fieldlength": "1000"}, ["record_bytes", "fieldlength"]),
        ({"keysalt": "crc32"}, ["keysalt"]),
        ({"valueentropy": "0.1"}, ["valueentropy"]),
        ({"hotspotdatafraction": "0.5"}, ["hotspotdatafraction"]),
        ({"operationtimeout": "5"}, ["operationtimeout"]),
        ({"cassandra.batchmode": "logged"}, ["cassandra.batchmode"]),
        ({"what.comes.in.future": "1"}, ["what.comes.in.future"]),
        # The values are equal but written differently; status.interval does not affect the numbers.
        ({"readproportion": "0.50", "keysalt": "none", "batchsize": "1", "status.interval": "5"}, []),
    ],
)
def test_another_workload_cannot_be_compared(tmp_path: Path, changed: dict[str, str], expected: list[str]) -> None:
    before, after = (measured(tmp_path / name, {"cassandra": (1000, 1010, 990)}) for name in "ab")
    for experiment, own_properties in ((before, {}), (after, changed)):
        for folder in (experiment / "raw").iterdir():
            edit_json(folder / "trial.json", trial_properties={"recordcount": "10000", **MIX, **own_properties})
    changes = compared(before, after)
    assert [line.condition for line in changes.differences if line.must_be_equal] == expected
    assert all(line.phase is None for line in changes.differences)
    assert (changes.exit_code, bool(changes.changes)) == ((4, False) if expected else (0, True))
    forced = regression.compare(summarise(before), summarise(after), force=True)
    assert (forced.exit_code, len(forced.changes), forced.differences) == (0, 2, changes.differences)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"trial_warmup": 60}, ("run", "warmup", "1", "60")),
        ({"trial_duration": 300}, ("run", "duration", "unknown", "300")),
        ({"trial_threads": 64}, (None, "threads", "2", "64")),
        ({"trial_discard": 0}, (None, "discard", "unknown", "0")),
        ({"trial_settle_cache": "drop"}, (None, "settle_cache", "unknown", "drop")),
        ({"trial_reuse": "0123456789abcdef"}, (None, "reuse", "false", "true")),
        ({"trial_load": {"threads": 32}}, ("load", "threads", "2", "32")),
        ({"trial_what_comes_in_future": [1]}, (None, "what_comes_in_future", "unknown", "[1]")),
        ({"trial_conditions": {"replication": 3}}, (None, "replication", "1", "3")),
    ],
)
def test_another_way_of_measuring_cannot_be_compared(
    tmp_path: Path, settings: dict[str, Any], expected: tuple[str | None, str, str, str]
) -> None:
    before, after = (measured(tmp_path / name, {"cassandra": (1000, 1010, 990)}) for name in "ab")
    # Change one of three rounds.
    edit_json(after / "raw/02-cassandra/trial.json", **settings)
    client = after / "raw/02-cassandra/run-1/node1"
    lasted(client, settings.get("trial_duration", 3), threads=settings.get("trial_threads", 2))
    changes = compared(before, after)
    single, several = expected[2], f"{expected[2]} and {expected[3]}"
    assert (*expected[:2], single, several, True) in [
        (line.phase, line.condition, line.before, line.after, line.must_be_equal) for line in changes.differences
    ]
    assert changes.exit_code == 4


def test_servers_may_be_set_up_otherwise(tmp_path: Path) -> None:
    before, after = (measured(tmp_path / name, {"cassandra": (1000, 1010, 990)}) for name in "ab")
    for folder in (after / "raw").iterdir():
        edit_json(folder / "conditions.json", version="5.0.7", heap="2g")
        edit_json(folder / "trial.json", cassandra_heap="2g", cassandra_settings={"memtable": "trie"})
    changes = compared(before, after)
    assert [(line.condition, line.before, line.after, line.must_be_equal) for line in changes.differences] == [
        ("version", "5.0.6", "5.0.7", False), ("heap", "1g", "2g", False), ("cassandra_heap", "unknown", "2g", False),
        ("cassandra_settings", "unknown", '{"memtable": "trie"}', False),
    ]  # fmt: skip
    assert changes.exit_code == 0


def test_conditions_that_differ_are_named_and_those_that_must_not_are_told_apart(tmp_path: Path) -> None:
    before, after = (measured(tmp_path / name, {"cassandra": (1000, 1010, 990)}) for name in "ab")
    for folder in (after / "raw").iterdir():
        edit_json(folder / "conditions.json", version="5.0.7", durability="disk")
        edit_json(folder / "run-1/node1/client.json", threads=4, retries=1, connections=40, loop="events")
        properties = {"recordcount": "10000", "batchsize": "1", "retries": "1"}
        edit_json(folder / "trial.json", trial_threads=4, trial_properties=properties)
    for folder in (before / "raw").iterdir():
        edit_json(folder / "run-1/node1/client.json", retries=0, connections=41, loop="threads")
    refused = compared(before, after)
    assert (refused.exit_code, refused.changes) == (4, [])
    forced = regression.compare(summarise(before), summarise(after), force=True)
    assert (forced.exit_code, forced.differences) == (0, refused.differences)
    assert [(line.condition, line.before, line.after, line.must_be_equal) for line in forced.differences] == [
        ("version", "5.0.6", "5.0.7", False), ("durability", "memory", "disk", True), ("threads", "2", "4", True),
        ("retries", "0", "1", True), ("loop", "threads", "events", True),
    ]  # fmt: skip
    text = changes_shown(forced, 100, "standard")
    assert "\x1b[1;31mcassandra: durability: memory before, disk after" in text
    assert "\x1b[33mcassandra: version: 5.0.6 before, 5.0.7 after" in text
    assert "cassandra  rec/s" in text


def test_what_is_invalid_in_one_of_them_is_a_problem(tmp_path: Path) -> None:
    before, after = (measured(tmp_path / name, {"cassandra": (1000, 990), "hbase": (900, 910)}) for name in "ab")
    folder = after / "raw/02-hbase"
    edit_json(folder / "run-1/node1/client.json", valid=False, reason="stalled for 20 s")
    changes = compared(before, after)
    assert changes.problems == ["hbase in b: invalid: round 1: run-1 on node1: stalled for 20 s"]
    assert changes.exit_code == 1
    assert {change.system for change in changes.changes} == {"cassandra", "hbase"}  # the other round of hbase is valid


def test_the_maxima_of_searches_before_and_after(tmp_path: Path) -> None:
    usual = (1000, 1010, 990)
    before = searched_rounds(tmp_path / "a", {"cassandra": usual})
    after = searched_rounds(tmp_path / "b", {"cassandra": (800, 810, 790)})
    changes = compared(before, after)
    (change,) = (candidate for candidate in changes.changes if candidate.pair.phase == "probe")
    assert [change.before, change.after] == pytest.approx([1000, 800], abs=0.05)  # geometric means
    assert change.verdict == "regression"
    assert (change.pair.sampled, change.pair.samples, changes.exit_code) == ("rounds", 3, 3)
    assert (changes.differences, changes.problems) == ([], [])

    differences = compared(before, searched_rounds(tmp_path / "c", {"cassandra": usual}, slo="p99<20ms")).differences
    assert [(line.phase, line.condition, line.before, line.after, line.must_be_equal) for line in differences] == [
        ("probe", "slo", "p99<10ms", "p99<20ms", True)
    ]

    # If one round has no rate, the maximum is unknown.
    lasted(after / "raw/03-cassandra/probe-1/node1", 10, target=5000)
    changes = compared(before, after)
    assert not [candidate for candidate in changes.changes if candidate.pair.phase == "probe"]
    assert changes.problems == ["cassandra in b: the search for p99<10ms is not finished"]
    assert changes.exit_code == 1


@pytest.mark.parametrize(
    ("about", "systems", "expected"),
    [
        ({"scenario": "workloadA"}, ("hbase",), "nothing to compare: cassandra is only in a; hbase is only in b"),
        (None, ("cassandra",), "unknown experiment"),
    ],
)
def test_experiments_that_cannot_be_compared_are_bad_input(
    tmp_path: Path, about: dict[str, Any] | None, systems: tuple[str, ...], expected: str
) -> None:
    before = measured(tmp_path / "a", {"cassandra": (1000, 990)})
    after = measured(tmp_path / "b", dict.fromkeys(systems, (1000, 990)))
    if about is None:
        (after / "experiment.json").unlink()
    else:
        write_json(after / "experiment.json", about)
    with pytest.raises(BadInputError, match=expected):
        two_experiments.compare(str(before), str(after), 0.05, "table")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = measured(tmp_path / "a", {"cassandra": (1000, 1010, 990)})
    after = measured(tmp_path / "b", {"cassandra": (800, 810, 790)})
    for folder in (after / "raw").iterdir():
        edit_json(folder / "trial.json", trial_properties={"recordcount": "10000", "readproportion": "0.5"})

    def dohyo(*arguments: str) -> tuple[int, str]:
        return cli.main(["compare", str(before), str(after), *arguments]), capsys.readouterr().out

    code, out = dohyo()
    assert code == 4, out
    lines = out.splitlines()
    assert lines[2] == "cassandra: readproportion: 0.95 before, 0.5 after"
    assert lines[3].startswith("Not comparable: ")
    assert len(lines) == 4
    code, out = dohyo("--force")
    assert code == 3, out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[3] == "cassandra rec/s 1,000 800 0.80× [0.78, 0.82] regression"
    assert "cassandra: readproportion: 0.95 before, 0.5 after" in lines
    content = json.loads(dohyo("--force", "--format", "json")[1])
    assert (content["exit_code"], content["changes"][0]["verdict"]) == (3, "regression")
    assert dohyo("--force", "--margin", "30")[0] == 0


def test_the_options_of_the_command_are_those_of_the_comparison() -> None:
    """cli.py repeats these values, because it imports a command's module only when the command runs."""
    options = {option.name: option for option in cli.compare_command.params}
    assert options["margin"].default == 100 * regression.MARGIN
    for command, formats in ((cli.compare_command, two_experiments.Format), (cli.tabulate, tabulate.Format)):
        (option,) = (option for option in command.params if option.name == "format_")
        assert isinstance(option.type, click.Choice)
        assert tuple(option.type.choices) == get_args(formats)


def test_a_pair_is_shown_as_figure_ratio_and_interval() -> None:
    def pair(ratio: float, low: float | None, high: float | None, tie: bool | None) -> Pair:
        return Pair("update", "OVERALL", "ops_per_second", "a", "b", ratio, low, high, tie)

    shown = [
        (comparison_table.figure(item), comparison_table.ratio(item), comparison_table.interval(item))
        for item in (
            pair(1.336, 1.284, 1.409, False), pair(14.06, 9.994, 123.4, False), pair(1.02, 0.9, 1.1, True),
            pair(3.5, None, None, None), pair(2, 0.0001, 1e300, True), pair(0.00002, 0.00001, 0.00004, False),
        )
    ]  # fmt: skip
    assert shown == [
        ("[update] op/s", "1.34×", "[1.28, 1.41]"),
        ("[update] op/s", "14.1×", "[9.99, 123]"),
        ("[update] op/s", "tie", "[0.90, 1.10]"),
        ("[update] op/s", "3.50×", "–"),
        ("[update] op/s", "cannot tell", "[0.00, 1e+300]"),
        ("[update] op/s", "2e-05×", "[1e-05, 4e-05]"),
    ]


def test_neighbours_are_open_while_one_of_them_has_a_single_valid_round(tmp_path: Path) -> None:
    """Repeats of one trial differ less than trials do, so a single valid round leaves the comparison open."""
    of_rounds = itertools.product((1, 2), (("cassandra", 1000), ("hbase", 500)))
    for number, (turn, (system, rate)) in enumerate(of_rounds, start=1):
        folder = trial(tmp_path, number, system, repeats=3, trial_round=turn, trial_rounds=2)
        for run in range(1, 4):
            reads(folder / f"run-{run}/node1", [rate + run] * 3)
    rates = [pair for pair in summarise(tmp_path).neighbours if pair.pair.operation == "OVERALL"]
    assert [(pair.outcome, pair.pair.sampled) for pair in rates] == [("faster", "rounds")]
    write_json(folder / "state.json", {"status": "invalid", "reason": "disturbed"})
    rates = [pair for pair in summarise(tmp_path).neighbours if pair.pair.operation == "OVERALL"]
    assert [(pair.outcome, pair.pair.sampled, pair.more) for pair in rates] == [("open", "runs", 1)]
