"""Tests evidence that once led to a wrong winner, headline or mark."""

import itertools
import math
import random
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dohyo import statistics
from dohyo.evidence.rows import sampled
from dohyo.metrics import Row
from dohyo.operations import OVERALL
from dohyo.report.charts import ranking
from dohyo.report.material import Material
from dohyo.summary.comparison import comparisons, latencies_at
from dohyo.summary.conditions import Conditions
from dohyo.summary.results import Summary, Trial
from dohyo.summary.rounds import Rounds
from dohyo.summary.summary import summarise
from dohyo.summary.trust import doubts, mark_of
from dohyo.tables import table
from dohyo.tables.verdict import verdict
from support.evidence import (
    DATA,
    as_another,
    canary,
    edit_json,
    in_rounds,
    latencies,
    on_screen,
    reads,
    shorts,
    trial,
    write_json,
    write_log,
)

Rates = Sequence[float]


def make(
    experiment: Path,
    rates: Mapping[str, Rates | Mapping[str, Rates]],
    hook: Callable[[str, Path], None] | None = None,
    seconds: int = 20,
    **settings: Any,
) -> Summary:
    """Creates an experiment with one round for each rate (op/s). `rates` is keyed by system, or by system and phase.

    :param hook: changes the folder of each trial
    """
    phases = next((tuple(rate) for rate in rates.values() if isinstance(rate, Mapping)), ("run",))
    of_first = next(iter(rates.values()))
    rounds = len(next(iter(of_first.values())) if isinstance(of_first, Mapping) else of_first)
    about = {"trial_properties": {"recordcount": "2000000"}, **settings}
    for number, system, folder in in_rounds(experiment, rounds, rates, phases=phases, **about):
        of_system = rates[system]
        for phase in phases:
            rate = (of_system[phase] if isinstance(of_system, Mapping) else of_system)[number - 1]
            base, extra = divmod(round(rate * seconds), seconds)
            reads(folder / f"{phase}-1/node1", [base + (second < extra) for second in range(seconds)])
        if hook:
            hook(system, folder)
    write_json(experiment / "experiment.json", {"format": 2})
    return summarise(experiment)


def target(rate: float, *runs: str) -> Callable[[str, Path], None]:
    def hook(_: str, folder: Path) -> None:
        for run in runs:
            edit_json(folder / run / "node1/client.json", target=rate)

    return hook


# ---- 0: one outlying round ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outlying", [(10, 10, 10, 10, 20000), (10, 10, 30000)])
def test_one_outlying_round_does_not_decide_and_is_named(tmp_path: Path, outlying: Rates) -> None:
    summary = make(tmp_path, {"cassandra": outlying, "hbase": (100,) * len(outlying)})
    (pair,) = summary.comparisons
    assert pair.is_unclear
    assert verdict(summary).brief.startswith("Cannot tell ")
    assert shorts(summary) == ["too noisy to tell", "one round decides"]
    text = doubts(summary)[1].text
    rate = f"{outlying[-1]:,} records/s in one of {len(outlying)} rounds, and 10 in the others"
    assert text == f"One round decides: cassandra had {rate}."


def test_equal_systems_with_bursts_in_some_rounds_are_called_different_in_at_most_5_of_100_cases() -> None:
    """In 15 % of the rounds, the rate is 100 times as high. The delta method would call 51 % of the pairs different."""
    rng = random.Random(37)  # noqa: S311  a simulation

    def rounds() -> list[float]:
        return [math.exp(rng.gauss(0, 0.02)) * (100 if rng.random() < 0.15 else 1) for _ in range(5)]

    different = 0
    for _ in range(400):
        above, below = (statistics.logarithms(rounds()) for _ in range(2))
        assert above
        assert below
        ratio = statistics.ratios([above, below])[0, 1]
        different += not ratio.low <= 1 <= ratio.high
    assert different <= 0.05 * 400


# ---- 1 and 2: undecided systems -------------------------------------------------------------------------------------

ALIKE = {"cassandra": (1010, 1030, 990), "hbase": (1000, 1020, 980)}


def test_a_tie_stays_one_beside_a_slower_system(tmp_path: Path) -> None:
    summary = make(tmp_path, {**ALIKE, "aerospike": (500, 505, 495)})
    assert verdict(summary).brief == (
        "No difference between cassandra and hbase: 1.01× [0.97, 1.05], a tie; aerospike was slower: 0.50× [0.47, 0.52]"
    )
    assert mark_of(doubts(summary)) == "solid"


@pytest.mark.slow
def test_of_six_identical_systems_the_headline_names_no_winner(tmp_path: Path) -> None:
    rng = random.Random(6)  # noqa: S311  a simulation
    outcomes = []
    for number in range(12):
        rates = {name: [1000 * math.exp(rng.gauss(0, 0.02)) for _ in range(3)] for name in "abcdef"}
        summary = make(tmp_path / str(number), rates)
        outcomes.append((all(pair.tie is False for pair in summary.comparisons), verdict(summary).brief))
    assert all(won or brief.startswith(("No difference between ", "Cannot tell ")) for won, brief in outcomes)


UNCLEAR = {"cassandra": (1200, 1210, 1190), "hbase": (1000, 1005, 995), "aerospike": (500, 990, 1490)}


def test_every_pair_with_the_winner_counts_and_the_one_that_cannot_be_told_is_named(tmp_path: Path) -> None:
    summary = make(tmp_path / "one", UNCLEAR)
    assert verdict(summary).brief.startswith(
        "Cannot tell cassandra from aerospike: 1.33× [0.20, 8.66]; hbase was slower: "
    )
    assert (mark_of(doubts(summary)), shorts(summary)) == ("caution", ["too noisy to tell", "not decided"])
    assert "cassandra from aerospike" in doubts(summary)[0].text
    two = make(tmp_path / "two", {name: {"a": rates, "b": rates} for name, rates in UNCLEAR.items()})
    assert "was the fastest" not in verdict(two).sentence
    assert (mark_of(doubts(two)), verdict(two).brief) == ("caution", "2 of 2 too noisy to tell")


# ---- 3: a rate of 0 is a valid result, and units are never mixed ----------------------------------------------------


def found_nothing(system: str, folder: Path) -> None:
    edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 1.0}])
    if system == "cassandra":
        reads(folder / "run-1/node1", [0] * 20, not_found=[9000] * 20)


def test_a_system_that_found_nothing_is_the_last_everywhere(tmp_path: Path) -> None:
    rates: Mapping[str, Rates | Mapping[str, Rates]] = {
        "cassandra": (1,) * 3,
        "hbase": (900, 920, 880),
        "mysql": (800, 810, 790),
    }
    summary = make(tmp_path, rates, found_nothing)
    assert verdict(summary).brief.startswith("hbase was 1.12× ")
    assert shorts(summary) == ["no records of cassandra"]
    lines = [line.split()[:2] for line in on_screen(summary).splitlines()]
    assert [line[1] for line in lines if line and line[0] in ("1", "2", "3")] == ["hbase", "mysql", "cassandra"]
    (panel,) = ranking.chart(Material(summary)).panels
    assert panel.spec["encoding"]["y"]["sort"] == ["hbase", "mysql", "cassandra"]
    assert panel.spec["layer"][0]["encoding"]["x"]["title"] == "records/s"


def test_two_systems_without_a_record_are_not_compared(tmp_path: Path) -> None:
    summary = make(tmp_path, {"cassandra": (1,) * 3, "hbase": (900,) * 3}, found_nothing)
    assert verdict(summary).sentence == "cassandra found and wrote no records: there is nothing to compare."


def test_all_are_ranked_by_operations_where_the_records_of_one_are_not_known() -> None:
    def trial(name: str, ops: list[float], records: list[float]) -> Trial:
        return Trial(name, name, name, "ok", rows=[sampled(Row("run", "OVERALL", 3), "rounds", ops, records)])

    fewer = [1000.0, 1005.0, 995.0]
    trials = [trial("stock", [1200.0, 1210.0, 1190.0], []), trial("batches", fewer, [100 * rate for rate in fewer])]
    summary = Summary("x", trials, comparisons=comparisons(trials))
    assert [(pair.of, pair.figure) for pair in summary.comparisons] == [("stock", "ops_per_second")]
    assert verdict(summary).sentence.startswith("stock was 1.20× ")
    (panel,) = ranking.chart(Material(summary)).panels
    assert panel.spec["layer"][0]["encoding"]["x"]["title"] == "operations/s"


# ---- 4: records that were not found do not count --------------------------------------------------------------------


def probe(folder: Path, number: int, rate: int, counts: Sequence[int], not_found: Sequence[int] = ()) -> None:
    client = folder / f"probe-{number}/node1"
    shutil.copytree(DATA / "dohyo/run", client)
    reads(client, counts, not_found=not_found)
    result = (client / "result.txt").read_text("utf-8")
    for name in ("READ", "READ-NOT_FOUND"):
        if (log := client / f"{name}.hdr").exists():
            text = log.read_text("utf-8").replace(f"for: {name}", f"for: Intended-{name}")
            (client / f"Intended-{name}.hdr").write_text(text, "utf-8")
            count = re.search(rf"^\[{name}\], Operations, (\d+)", result, re.MULTILINE)
            assert count
            result += f"[Intended-{name}], Operations, {count[1]}\n"
    (client / "result.txt").write_text(result, "utf-8")
    edit_json(client / "client.json", target=float(rate))


@pytest.mark.parametrize("allowed", [None, 1.0])
def test_a_probe_that_finds_nothing_does_not_hold(tmp_path: Path, allowed: float | None) -> None:
    def search(system: str, folder: Path) -> None:
        if allowed:
            edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": allowed}])
        if system == "cassandra":
            probe(folder, 1, 1000, [1000] * 20)
            probe(folder, 2, 1020, [900] * 20)
            probe(folder, 3, 1020, [900] * 20)
        else:
            probe(folder, 1, 3000, [150] * 20, [2850] * 20)

    about = {"slo": "p99<10ms", "probes": 10, "duration": 20, "precision": 0.03}
    summary = make(tmp_path, {"cassandra": (1000,) * 3, "hbase": (3000,) * 3}, search, trial_search=about)
    tried = next(trial.search for trial in summary.trials if trial.system == "hbase")
    assert tried
    (first,) = tried.probes
    if allowed:
        assert (first.held, first.reason) == (False, "only 150 op/s")
    else:
        assert first.held is None
        assert "57,000 of 60,000 records (95.00%) were not found" in (first.reason or "")
    assert not [pair for pair in summary.comparisons if pair.phase == "probe"]


def test_what_was_not_found_does_not_reach_a_target(tmp_path: Path) -> None:
    def hook(system: str, folder: Path) -> None:
        edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 1.0}])
        if system == "hbase":
            reads(folder / "run-1/node1", [500] * 20, not_found=[500] * 20)
        target(1000, "run-1")(system, folder)

    summary = make(tmp_path, {"cassandra": (1000,) * 3, "hbase": (1000,) * 3}, hook)
    assert summary.comparisons == []
    assert "nothing is ranked" in doubts(summary)[0].text


# ---- 5 and 6: a target rate, and few operations ---------------------------------------------------------------------


def test_a_phase_with_a_target_ranks_no_throughput_and_says_so(tmp_path: Path) -> None:
    rates: Mapping[str, Rates | Mapping[str, Rates]] = {
        "cassandra": {"a": (1000,) * 3, "b": (1200, 1210, 1190)},
        "hbase": {"a": (998,) * 3, "b": (1500, 1510, 1490)},
    }
    summary = make(tmp_path, rates, target(1000, "a-1"))
    assert verdict(summary).brief.startswith("hbase was 1.25× ")
    assert [pair.figure for pair in summary.comparisons if pair.phase == "a"] == ["p99_ms"]
    assert doubts(summary)[0].text == "A target rate was set in a: compare latencies, not throughput."
    assert "\n– cassandra" in on_screen(summary)  # systems are not ranked in phase a
    panels = ranking.chart(Material(summary)).panels
    assert [panel.title for panel in panels] == ["a with a target rate: no ranking", "b"]
    assert [panel.says.partition(":")[0] for panel in panels] == [
        "Mean rates, with a target rate",
        "Mean rates, the best first",
    ]


def test_with_a_target_for_all_the_headline_is_about_latencies(tmp_path: Path) -> None:
    def slower(system: str, folder: Path) -> None:
        if system == "hbase":
            reads(folder / "run-1/node1", [998] * 20, latency_us=2000)
        target(1000, "run-1")(system, folder)

    rates: Mapping[str, Rates | Mapping[str, Rates]] = {"cassandra": (1000,) * 3, "hbase": (998,) * 3}
    summary = make(tmp_path / "slower", rates, slower)
    assert verdict(summary).brief == "READ p99 of cassandra was 0.25× [0.25, 0.25] that of hbase"
    assert verdict(make(tmp_path / "alike", rates, target(1000, "run-1"))).brief.startswith("No difference between ")


def test_the_target_of_a_load_is_none_of_the_runs_that_others_have(tmp_path: Path) -> None:
    def loads(system: str, folder: Path) -> None:
        edit_json(folder / "load/node1/client.json", target=500.0)
        if system == "aerospike":
            shutil.rmtree(folder / "run-1")
            write_json(folder / "state.json", {"status": "failed", "reason": "no port"})

    rates: Mapping[str, Rates] = {"cassandra": (1200, 1210, 1190), "hbase": (1000, 1005, 995), "aerospike": (1,) * 3}
    summary = make(tmp_path, rates, loads)
    assert verdict(summary).brief.startswith("cassandra was 1.20× ")
    assert shorts(summary) == ["no valid numbers for aerospike"]


def test_a_system_without_a_phase_sets_no_target_in_it(tmp_path: Path) -> None:
    def breaks_off(system: str, folder: Path) -> None:
        target(1000, "a-1")(system, folder)
        if system == "aerospike":
            shutil.rmtree(folder / "b-1")
            write_json(folder / "state.json", {"status": "failed", "reason": "a host was lost"})

    rates: Mapping[str, Rates | Mapping[str, Rates]] = {
        "cassandra": {"a": (1000,) * 3, "b": (1200, 1210, 1190)},
        "hbase": {"a": (1000,) * 3, "b": (1500, 1510, 1490)},
        "aerospike": {"a": (1000,) * 3, "b": (1,) * 3},
    }
    summary = make(tmp_path, rates, breaks_off)
    assert verdict(summary).brief.startswith("hbase was 1.25× ")
    assert latencies_at(summary.compared, ["b"])[0] == "at its own maximum rate"


def test_where_a_target_was_missed_nobody_wins(tmp_path: Path) -> None:
    summary = make(tmp_path, {"cassandra": (1000,) * 3, "hbase": (700, 705, 698)}, target(1000, "run-1"))
    assert summary.comparisons == []
    assert verdict(summary).sentence == (
        "A target rate was set, and not all systems reached the same one, so nothing is ranked"
        " (cassandra 1,000 records/s, hbase 701 records/s)."
    )


def test_a_target_that_differs_between_rounds_is_shown_as_their_mean(tmp_path: Path) -> None:
    for turn, _, folder in in_rounds(tmp_path, 3, ["cassandra"]):
        edit_json(folder / "run-1/node1/client.json", target=2500.0 if turn == 3 else 1000.0)
    (merged,) = summarise(tmp_path).merged
    assert merged.conditions.target == 1500


def test_a_round_without_a_phase_has_no_part_in_the_mean_of_its_target() -> None:
    def measured(number: int, target: float | None, **by_phase: float) -> Trial:
        of_phases = {phase: {"target": value} for phase, value in by_phase.items()}
        rows = [Row(phase, OVERALL, 1) for phase in by_phase or ("a",)]
        return Trial("t", "t", "t", "ok", None, {}, number, Conditions(target=target), of_phases, rows=rows)

    rounds = Rounds()
    for round_ in (measured(1, None, a=9, b=1000), measured(2, None, a=9, b=1200), measured(3, 9)):
        rounds.add(round_, {})
    assert rounds.merged().by_phase["b"]["target"] == 1100


def test_percentiles_without_an_interval_are_named_and_the_p50_is_compared(tmp_path: Path) -> None:
    def few(system: str, folder: Path) -> None:
        reads(folder / "run-1/node1", [20] * 20, latency_us=500 if system == "cassandra" else 50_000)
        target(20, "run-1")(system, folder)

    summary = make(tmp_path, {"cassandra": (20,) * 3, "hbase": (20,) * 3}, few)
    assert verdict(summary).brief == "READ p50 of cassandra was 0.01× [0.01, 0.01] that of hbase"
    assert shorts(summary) == ["a target rate was set", "p99 not compared"]
    assert doubts(summary)[1].text == (
        "The p99 of READ of cassandra and of READ of hbase is not compared: a round has fewer than 1,000 operations."
    )


# ---- 7: rows of scans -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "unequal"), [((10, 50), True), ((0, 50), True), ((50, 49), False)])
def test_rows_per_scan_are_a_condition(tmp_path: Path, rows: tuple[int, int], unequal: bool) -> None:
    def scans(system: str, folder: Path) -> None:
        client, records = folder / "run-1/node1", rows[system == "hbase"]
        for log in client.glob("*.hdr"):
            log.unlink()
        write_log(client, "SCAN", [(second, 1.0, {500: 1000}) for second in range(20)])
        as_another(client)
        (client / "result.txt").write_text(
            "[OVERALL], RunTime(ms), 20000\n[OVERALL], Operations, 20000\n[SCAN], Operations, 20000\n"
            f"[SCAN], Records, {20000 * records}\n[SCAN], Return=OK, 20000\n",
            "utf-8",
        )
        counts = {"operations": 20000, "records": 20000 * records}
        by_type = {"SCAN": {**counts, "statuses": {"OK": 20000}}}
        edit_json(client / "client.json", measured_seconds=20.0, **counts, operations_by_type=by_type)

    summary = make(tmp_path, {"cassandra": (1000,) * 3, "hbase": (1000,) * 3}, scans)
    assert ("unequal rows per scan" in shorts(summary)) == unequal
    if unequal:
        assert mark_of(doubts(summary)) == "do not use"
        message = f": cassandra {rows[0]}, hbase {rows[1]} per scan."
        assert message in next(reason.text for reason in doubts(summary) if "Scans" in reason.text)


# ---- 8: selection of the pairs to compare ---------------------------------------------------------------------------


def at_point(**points: Mapping[str, str]) -> Callable[[str, Path], None]:
    def hook(system: str, folder: Path) -> None:
        edit_json(folder / "trial.json", trial_system=system.partition("_")[0], trial_point=points.get(system, {}))

    return hook


def test_a_variant_that_cannot_be_told_is_not_hidden_by_one_that_is_nearer(tmp_path: Path) -> None:
    rates = {"cassandra": (1200, 1210, 1190), "hbase_a": (1000, 1005, 995), "hbase_b": (500, 990, 1490)}
    summary = make(tmp_path, rates, at_point(hbase_a={"gc": "g1"}, hbase_b={"gc": "zgc"}))
    assert verdict(summary).brief == "Cannot tell cassandra from hbase: 1.33× [0.20, 8.66]"
    assert mark_of(doubts(summary)) == "do not use"


def test_systems_at_different_points_are_no_comparison(tmp_path: Path) -> None:
    rates = {"cassandra": (1200, 1210, 1190), "hbase": (1000, 1005, 995)}
    summary = make(tmp_path, rates, at_point(cassandra={"batchsize": "1"}, hbase={"batchsize": "9"}))
    assert (mark_of(doubts(summary)), shorts(summary)) == ("do not use", ["measured at different points"])


def test_a_trial_that_lost_its_settings_does_not_mix_the_points_of_others(tmp_path: Path) -> None:
    rates = {
        "cassandra_a": (1200, 1210, 1190), "hbase_a": (1000, 1005, 995), "aerospike_a": (800, 801, 799),
        "cassandra_b": (500, 505, 495), "hbase_b": (900, 905, 895),
    }  # fmt: skip
    to_point = at_point(**{name: {"batchsize": name[-1]} for name in rates})

    def lost(system: str, folder: Path) -> None:
        to_point(system, folder)
        if folder.name == "03-aerospike_a":
            (folder / "trial.json").unlink()

    whole, damaged = make(tmp_path / "whole", rates, to_point), make(tmp_path / "damaged", rates, lost)
    pairs = [[(pair.of, pair.to) for pair in summary.comparisons] for summary in (whole, damaged)]
    assert pairs[0] == pairs[1]
    assert verdict(damaged).brief.startswith("cassandra was the fastest in 1 of 2 comparisons, ")


def test_a_difference_beside_a_single_run_is_no_tie(tmp_path: Path) -> None:
    def single(system: str, folder: Path) -> None:
        if system == "aerospike" and not folder.name.startswith("03"):
            write_json(folder / "state.json", {"status": "invalid", "reason": "somebody else"})

    rates = {**ALIKE, "cassandra": (1200, 1210, 1190), "aerospike": (500,) * 3}
    summary = make(tmp_path / "one", rates, single)
    assert verdict(summary).brief == (
        "cassandra was 1.20× [1.15, 1.25] as fast as hbase; aerospike was preliminary: 0.42×, because a single run"
        " has no interval"
    )
    two = make(tmp_path / "two", {name: {"a": figures, "b": figures} for name, figures in rates.items()}, single)
    assert verdict(two).brief == "2 of 2 preliminary, because a single run has no interval"


def test_a_search_in_vain_is_no_rate_to_compare(tmp_path: Path) -> None:
    def search(system: str, folder: Path) -> None:
        if system == "cassandra":
            counts = {1000: 1000, 1020: 900}
        else:
            counts = {1000: 900, 500: 400, 250: 200, 125: 100, 62: 50, 31: 20, 15: 10}
        rates = [*counts, *list(counts)[-1:]]
        for number, rate in enumerate(rates, start=1):
            probe(folder, number, rate, [counts[rate]] * 20)

    about = {"slo": "p50<10ms", "probes": 8, "duration": 20, "precision": 0.03}
    summary = make(tmp_path, {"cassandra": (1000,) * 3, "hbase": (1000,) * 3}, search, trial_search=about)
    assert {trial.search.in_vain for trial in summary.trials if trial.search and trial.system == "hbase"} == {True}
    assert verdict(summary).sentence.startswith("Only cassandra has a highest rate, so there is no comparison")
    assert (mark_of(doubts(summary)), shorts(summary)) == ("do not use", ["no highest rate for hbase"])


# ---- 9: precision of the figures ------------------------------------------------------------------------------------


def test_few_operations_are_no_exact_rate(tmp_path: Path) -> None:
    """The rounds do not differ, but a rate based on ten or eleven operations is only precise to one operation."""
    summary = make(tmp_path, {"cassandra": (0.55,) * 3, "hbase": (0.5,) * 3})
    assert verdict(summary).brief == "No difference between cassandra and hbase: 1.10× [0.92, 1.32], a tie"


def test_a_rate_that_ends_at_0_is_not_steady(tmp_path: Path) -> None:
    def stands(system: str, folder: Path) -> None:
        if system == "cassandra":
            reads(folder / "run-1/node1", [1700] * 13 + [0] * 7)

    summary = make(tmp_path, {"cassandra": (1000,) * 3, "hbase": (900, 901, 899)}, stands)
    assert shorts(summary) == ["not steady"]
    assert "cassandra fell by 100 % in round 1" in doubts(summary)[0].text


def test_more_rounds_are_not_the_advice_where_one_had_no_record(tmp_path: Path) -> None:
    def nothing(system: str, folder: Path) -> None:
        edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 1.0}])
        if folder.name == "03-cassandra":
            reads(folder / "run-1/node1", [0] * 20, not_found=[1000] * 20)

    summary = make(tmp_path, {"cassandra": (1000,) * 3, "hbase": (500, 501, 502)}, nothing)
    (reason,) = doubts(summary)
    assert reason.text.endswith("a round at a rate of 0 has no interval.")


@pytest.mark.parametrize("per_second", [20, 15])
def test_a_p99_that_no_system_knows_is_named(tmp_path: Path, per_second: int) -> None:
    rates: Mapping[str, Rates] = {"cassandra": (per_second,) * 3, "hbase": (per_second,) * 3}
    summary = make(tmp_path, rates, target(per_second, "run-1"))
    assert shorts(summary) == ["a target rate was set", "p99 not compared"]


def test_a_round_that_missed_its_target_is_seen_beside_rounds_that_found_nothing(tmp_path: Path) -> None:
    """In the first two of four rounds, some operations found no record. The last round missed its target."""

    def short(system: str, folder: Path) -> None:
        edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 1.0}])
        number = (int(folder.name[:2]) + 1) // 2
        if system == "hbase" and number != 3:
            reads(folder / "run-1/node1", [975 if number == 4 else 999] * 20, not_found=[number != 4] * 20)
        target(1000, "run-1")(system, folder)

    summary = make(tmp_path, {"cassandra": (1000,) * 4, "hbase": (1000,) * 4}, short)
    assert summary.comparisons == []
    assert "the systems' rates differed or missed the target" in doubts(summary)[0].text


def test_a_phase_that_missed_its_target_is_named(tmp_path: Path) -> None:
    rates: Mapping[str, Rates | Mapping[str, Rates]] = {
        "cassandra": {"a": (1000,) * 3, "b": (1000,) * 3},
        "hbase": {"a": (1000,) * 3, "b": (700,) * 3},
    }
    summary = make(tmp_path, rates, target(1000, "a-1", "b-1"))
    assert doubts(summary)[0].text == (
        "A target rate was set: compare latencies, not throughput; in b, rates differed or missed the target: no"
        " ranking."
    )


def test_the_latencies_of_a_verdict_are_those_of_its_ratio(tmp_path: Path) -> None:
    """One bad round determines the p99 of the merged rounds, but not the mean of the rounds' p99s."""

    def one_bad(system: str, folder: Path) -> None:
        bad = folder.name == "09-cassandra"
        counts = {1500: 20_000} if system == "hbase" else {1000: 17_000, 3000 if bad else 1001: 3000}
        latencies(folder / "run-1/node1", counts)
        target(1000, "run-1")(system, folder)

    summary = make(tmp_path, {"cassandra": (1000,) * 10, "hbase": (1000,) * 10}, one_bad)
    assert "(cassandra 1.12, hbase 1.50 ms; " in verdict(summary).sentence
    assert doubts(summary)[0].text == (
        "One round decides: cassandra READ p99 had 3 ms in one of 10 rounds, and 1 in the others."
    )


def on_hosts(figures: Mapping[str, float]) -> Callable[[str, Path], None]:
    def hook(system: str, folder: Path) -> None:
        canary(folder, {"cpu_one": [figures[system] * (1 + step / 1000) for step in range(7)]}, "node1")
        if system == "hbase":
            reads(folder / "run-1/node1", [1000] * 20, latency_us=50_000)
        target(1000, "run-1")(system, folder)

    return hook


def test_hosts_do_not_explain_a_latency_that_differs_by_more(tmp_path: Path) -> None:
    rates: Mapping[str, Rates] = {"cassandra": (1000,) * 3, "hbase": (1000,) * 3}
    summary = make(tmp_path / "slower", rates, on_hosts({"cassandra": 1080, "hbase": 1000}))
    assert mark_of(doubts(summary)) == "caution"
    assert not [short for short in shorts(summary) if short.startswith("hosts differed")]
    # Impossible values are treated as unknown.
    assert make(tmp_path / "absurd", rates, on_hosts({"cassandra": 1e300, "hbase": 1e-300})).canary is None


def test_the_recorded_experiment_of_four_systems_is_decided_but_for_one_pair(tmp_path: Path) -> None:
    """The verdict on this experiment of 16 minutes was once "Cannot tell mysql-innodb from cassandra … do not use"."""
    summary = make(
        tmp_path,
        {
            "innodb": (4440, 4420, 3600),
            "cassandra": (3250, 3170, 3460),
            "myisam": (3340, 3170, 3250),
            "hbase": (1660, 1870, 2070),
        },
    )
    won = "innodb was 1.26× [1.02, 1.55] as fast as cassandra"
    assert verdict(summary).brief == f"{won}; cassandra and myisam cannot be told apart"
    assert mark_of(doubts(summary)) == "caution"
    assert [
        (neighbour.pair.of, neighbour.pair.to, neighbour.outcome, neighbour.more) for neighbour in summary.neighbours
    ] == [
        ("innodb", "cassandra", "faster", None),
        ("cassandra", "myisam", "open", 3),
        ("myisam", "hbase", "faster", None),
    ]
    (reason,) = (reason for reason in doubts(summary) if reason.short == "not decided")
    assert reason.text.startswith("Not decided: cassandra and myisam 1.01× [0.84, 1.22], about 3 more rounds")
    page = table.markdown(summary)
    assert "Neighbours in the ranking: faster, alike within ± 15 %, or open" in page
    assert "| rec/s | innodb | 1.26× | [1.02, 1.55] | cassandra | faster | – |" in page
    assert "| rec/s | cassandra | 1.01× | [0.84, 1.22] | myisam | open | 3 |" in page


def test_target_rates_that_differ_between_rounds_are_still_targets(tmp_path: Path) -> None:
    def hook(system: str, folder: Path) -> None:
        rate = 1000 if int(folder.name[:2]) <= 4 else 2000 if system == "cassandra" else 1500
        target(rate, "run-1")(system, folder)

    summary = make(tmp_path, {"cassandra": (1000, 1000, 2000), "hbase": (1000, 1000, 1500)}, hook)
    assert summary.comparisons == []
    assert verdict(summary).sentence.startswith("A target rate was set, and not all systems reached the same one")


def test_latencies_of_a_round_without_a_target_are_not_ranked_at_one(tmp_path: Path) -> None:
    def hook(system: str, folder: Path) -> None:
        free = int(folder.name[:2]) <= 2
        reads(folder / "run-1/node1", [2000 if free else 1000] * 20, latency_us=4000 if system == "hbase" else 500)
        target(0 if free else 1000, "run-1")(system, folder)

    summary = make(tmp_path, {"cassandra": (2000, 1000, 1000), "hbase": (2000, 1000, 1000)}, hook)
    assert summary.comparisons == []
    assert verdict(summary).sentence.startswith("A target rate was set, and not all systems reached the same one")


def test_a_system_whose_trials_state_no_rounds_is_ranked(tmp_path: Path) -> None:
    def hook(system: str, folder: Path) -> None:
        if system == "aerospike":
            edit_json(folder / "trial.json", trial_rounds=1)

    summary = make(tmp_path, {**ALIKE, "aerospike": (1500, 1510, 1490)}, hook)
    assert verdict(summary).brief.startswith("aerospike was 1.49× ")
    assert [trial.round for trial in summary.trials] == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_a_system_whose_evidence_is_lost_is_named(tmp_path: Path) -> None:
    make(tmp_path, {**ALIKE, "aerospike": (1500, 1510, 1490)})
    names = sorted(path.name for path in (tmp_path / "raw").iterdir())
    point = {"batchsize": 10}
    trials = [{"name": name, "system": name[3:], "round": index // 3 + 1} for index, name in enumerate(names)]
    facts = [{**trial, "point": point} if trial["system"] == "aerospike" else trial for trial in trials]
    write_json(tmp_path / "experiment.json", {"format": 2, "plan": names, "trials": facts})
    for folder in (tmp_path / "raw").glob("*-aerospike"):
        shutil.rmtree(folder)
    summary = summarise(tmp_path)
    assert "1 of 3 have no valid numbers: aerospike batchsize=10." in [reason.text for reason in doubts(summary)]
    assert "\n– aerospike  invalid: its evidence is missing\n" in on_screen(summary)


def test_runs_of_a_single_round_do_not_narrow_the_intervals_of_rounds(tmp_path: Path) -> None:
    def several(experiment: Path, systems: Mapping[str, Rates]) -> Summary:
        about: Any = {"trial_properties": {"recordcount": "2000000"}, "trial_rounds": 3}
        turns = itertools.product((1, 2, 3), systems)
        for number, (turn, system) in enumerate(turns, start=1):
            folder = trial(experiment, number, system, repeats=5, trial_round=turn, **about)
            for run in range(1, 6):
                reads(folder / f"run-{run}/node1", [round(systems[system][turn - 1])] * 20)
            if system == "aerospike" and turn > 1:
                write_json(folder / "state.json", {"status": "invalid", "reason": "somebody else"})
        return summarise(experiment)

    systems = {"cassandra": (1000, 1035, 965), "hbase": (920, 952, 888)}
    (pair,) = several(tmp_path / "two", systems).comparisons
    summary = several(tmp_path / "three", {**systems, "aerospike": (500, 500, 500)})
    first, second = summary.comparisons
    assert first.low is not None
    assert pair.low is not None
    assert first.low <= pair.low + 1e-9
    assert (second.to, second.low, second.samples) == ("aerospike", None, 1)
    assert verdict(summary).brief.endswith("; aerospike was preliminary: 0.50×, because a single round has no interval")
