"""Tests the mark of a verdict: its rule, its description in docs/method.md, and whether all output shows the same."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from dohyo.evidence.canary import DRIFT, Comparison, Drift
from dohyo.evidence.host_metrics import NOTED
from dohyo.evidence.rows import sampled
from dohyo.metrics import Row, Samples
from dohyo.places import ROOT
from dohyo.summary import trust
from dohyo.summary.comparison import comparisons
from dohyo.summary.notes import SMALL_DATA_BYTES, UNSTEADY
from dohyo.summary.results import WIDEST_TIE, Summary, Trial
from dohyo.summary.trust import doubts, mark_of
from support.evidence import on_screen, shorts
from support.summaries import each_system, measured


def summarize(rates: dict[str, list[float]], sampling: Samples | None = "rounds", **about: Any) -> Summary:
    """Returns a summary of systems with these rates, as if no client ran on a server's host."""
    trials = [replace(measured(system, 1.0), rows=[row(of_system, sampling)]) for system, of_system in rates.items()]
    return Summary("x", trials, comparisons=comparisons(trials), **about)


def row(rates: list[float], sampling: Samples | None) -> Row:
    mean = sum(rates) / len(rates)
    plain = Row("run", "OVERALL", len(rates), ops_per_second=mean, records_per_second=mean)
    return sampled(plain, sampling, rates, rates, []) if sampling else plain


FAST, SLOW = [1500.0, 1520.0, 1480.0], [1000.0, 1020.0, 980.0]


def drift(trial: str, figure: str, change: float) -> Drift:
    return Drift(trial, "host1", figure, None, "1/s", 1 + change, 1.0, change, True, f"{figure} {change} {trial}")


def drifted(*drifts: Drift, unsteady: tuple[str, ...] = ()) -> Comparison:
    return Comparison(2, [], list(unsteady), drifts[0] if drifts else drift("a", "memory", 0.01), list(drifts))


def test_single_runs_at_the_very_same_rate_are_not_explained_by_hosts() -> None:
    summary = replace(summarize({"a": [500], "b": [500]}, None), canary=drifted())
    assert summary.comparisons[0].ratio == 1
    assert not [reason for reason in doubts(summary) if reason.text.startswith("Hosts differed as much ")]


def test_the_screen_says_once_that_hosts_differed() -> None:
    drifts = [drift("b", figure, change) for figure, change in (("memory", 0.3), ("disk_read", 0.2), ("rtt", 0.1))]
    summary = replace(summarize({"a": FAST[:1], "b": SLOW[:1]}, None), canary=drifted(*drifts))
    assert shorts(summary).count("the hosts differed") == len(drifts)
    lines = [line for line in on_screen(summary).splitlines() if "osts differed" in line]
    assert lines == ["- Hosts differed: memory 0.3 b. Try: --rounds 5"]
    assert "- 2 more in summary.md" in on_screen(summary)


def test_three_rounds_without_a_reason_are_solid() -> None:
    assert mark_of(doubts(summarize({"a": FAST, "b": SLOW}))) == "solid"
    assert mark_of(doubts(each_system("READ", "UPDATE"))) == "solid"


@pytest.mark.parametrize(
    ("summary", "mark", "short"),
    [
        (summarize({"a": FAST[:2], "b": SLOW[:2]}), "caution", "2 rounds"),
        (summarize({"a": FAST, "b": SLOW}, "runs"), "caution", "one round"),
        (summarize({"a": FAST[:1], "b": SLOW[:1]}, None), "do not use", "a preliminary ranking"),
        (summarize({"a": FAST, "b": SLOW}, notes=["small data: 100 MB"]), "caution", "small data"),
        (summarize({"a": FAST, "b": SLOW}, warnings=["log: cut"]), "caution", "evidence is incomplete"),
        (summarize({"a": FAST, "b": SLOW}, unequal={"durability": {"a": "disk"}}), "do not use", "unequal durability"),
        (summarize({"a": [100.0, 900.0, 500.0], "b": [900.0, 500.0, 90.0]}), "do not use", "too noisy to tell"),
        (summarize({"a": FAST, "b": [1490.0, 1515.0, 1485.0]}), "solid", ""),  # a tie is also a result
    ],
)
def test_the_mark_is_that_of_the_worst_reason(summary: Summary, mark: str, short: str) -> None:
    assert mark_of(doubts(summary)) == mark
    assert shorts(summary)[:1] == ([short] if short else [])


def test_a_comparison_without_an_interval_weakens_those_that_have_one() -> None:
    phases = ("read", "update")
    trials = [measured(system, rate, phases=phases) for system, rate in (("a", 1500.0), ("b", 1000.0))]
    single = [
        replace(
            trial,
            rows=[
                replace(line, sampled=None, records_per_second_samples=[]) if line.phase == "read" else line
                for line in trial.rows
            ],
        )
        for trial in trials
    ]
    reasons = doubts(Summary("x", single, comparisons=comparisons(single)))
    assert (mark_of(reasons), reasons[0].short) == ("caution", "some comparisons are preliminary")
    assert reasons[0].text.startswith("1 of 2 comparisons is preliminary: a single run has no interval")


def with_failed(*names: str, skipped: bool = False) -> Summary:
    good = summarize({"a": FAST, "b": SLOW, "c": [500.0, 501.0, 502.0]})
    status: Any = "skipped" if skipped else "invalid"
    trials = [replace(trial, rows=[], status=status) if trial.name in names else trial for trial in good.trials]
    return replace(good, trials=trials, comparisons=comparisons(trials))


def test_systems_without_numbers_weaken_it_until_there_is_nothing_to_compare() -> None:
    assert (mark_of(doubts(with_failed("c"))), shorts(with_failed("c"))) == ("caution", ["no valid numbers for c"])
    assert mark_of(doubts(with_failed("b", "c"))) == "do not use"
    assert mark_of(doubts(with_failed("c", skipped=True))) == "solid"  # a skipped system was not tried


@pytest.mark.parametrize(
    ("status", "short"), [("interrupted", "interrupted rounds of a"), ("invalid", "invalid rounds of a")]
)
def test_a_round_that_was_interrupted_is_not_an_invalid_one(status: Any, short: str) -> None:
    good = summarize({"a": FAST, "b": SLOW})
    merged = replace(good.trials[0], status=status)
    rounds = [good.trials[0], replace(good.trials[0], name="2", rows=[], status=status), good.trials[1]]
    cut = replace(good, trials=rounds, merged=[merged, good.trials[1]])
    assert shorts(cut) == [short]


def test_after_ctrl_c_it_says_how_many_rounds_are_missing() -> None:
    good = summarize({"a": FAST, "b": SLOW})
    a, b = good.trials
    missing = [replace(trial, rows=[], status="interrupted") for trial in (a, b, b)]
    cut = replace(good, trials=[a, b, *missing], merged=[replace(trial, status="interrupted") for trial in (a, b)])
    (reason,) = doubts(cut)
    assert reason.text == "Rounds were interrupted or did not begin: a 1 of 2, b 2 of 3."
    # A second reason names the invalid round.
    invalid = replace(cut, trials=[*cut.trials, replace(a, rows=[], status="invalid")])
    assert shorts(invalid) == ["interrupted rounds of a and 1 more", "invalid rounds of a"]


def test_drifts_against_the_loser_count_as_well_as_those_for_the_winner() -> None:
    slower = summarize(
        {"a": FAST, "b": SLOW}, "runs", canary=drifted(drift("a", "disk_write", -0.3), drift("b", "memory", -0.1))
    )
    first, second, third = doubts(slower)
    assert first.text == "Hosts favoured the winner: memory -0.1 b."
    assert second.text == "Hosts differed: disk_write -0.3 a."
    assert third.short == "one round"
    faster = summarize({"a": FAST, "b": SLOW}, "runs", canary=drifted(drift("a", "memory", 0.1)))
    assert doubts(faster)[0].short == "the hosts favoured the winner"
    unsteady = summarize({"a": FAST, "b": SLOW}, canary=drifted(unsteady=("network", "disk")))
    assert [(mark_of(doubts(unsteady)), *shorts(unsteady))] == [
        ("caution", "network, disk of the hosts too unsteady to tell")
    ]


@pytest.mark.parametrize(
    ("drifts", "mark"),
    [
        ((drift("b", "cpu_all", -0.38),), "do not use"),  # 1 / 0.62 = 1.6 is more than 1.5
        ((drift("b", "cpu_all", -0.2),), "caution"),
        ((drift("a", "cpu_one", 0.25), drift("b", "cpu_one", -0.2)), "do not use"),  # 1.25 / 0.8
        ((drift("a", "cpu_all", -0.38),), "caution"),  # the winner had the slower host
        ((drift("b", "disk_fsync", -0.9),), "caution"),  # operations may not need the disk
    ],
)
def test_computing_that_differs_as_much_as_the_results_explains_them(drifts: tuple[Drift, ...], mark: str) -> None:
    summary = summarize({"a": FAST, "b": SLOW}, "runs", canary=drifted(*drifts))
    assert mark_of(doubts(summary)) == mark
    texts = [reason.text for reason in doubts(summary)]
    assert all(sum(cause.what in text for text in texts) == 1 for cause in drifts)  # each host is named once


def test_a_drift_explains_each_phase_and_is_told_once() -> None:
    trials = [measured(system, rate, phases=("update", "read")) for system, rate in (("a", 1500.0), ("b", 1000.0))]
    summary = Summary("x", trials, comparisons=comparisons(trials), canary=drifted(drift("b", "cpu_all", -0.38)))
    assert mark_of(doubts(summary)) == "do not use"
    assert shorts(summary) == ["hosts differed as much as a and b"]


def test_a_drift_before_one_round_of_three_is_a_third_of_one() -> None:
    rounds: list[Trial] = []
    for number in range(3):
        rounds += [replace(measured(system, 1.0), name=f"{system}-{number}", round=number + 1) for system in "ab"]
    merged = summarize({"a": FAST, "b": SLOW}, canary=drifted(drift("b-0", "cpu_all", -0.38)))
    summary = replace(merged, trials=rounds, merged=merged.trials)
    assert mark_of(doubts(summary)) == "caution"
    every = drifted(*(drift(f"b-{number}", "cpu_all", -0.38) for number in range(3)))
    assert mark_of(doubts(replace(summary, canary=every))) == "do not use"


def test_a_round_that_does_not_count_is_none_without_a_drift() -> None:
    rounds: list[Trial] = []
    statuses: list[Any] = ["ok", "ok", "interrupted"]
    for number, status in enumerate(statuses):
        about = {"round": number + 1, "status": status}
        rounds += [replace(measured(system, 1.0), name=f"{system}-{number}", **about) for system in "ab"]
    drifts = drifted(*(drift(f"b-{number}", "cpu_all", -0.38) for number in range(2)))
    merged = summarize({"a": FAST, "b": SLOW}, canary=drifts)
    assert mark_of(doubts(replace(merged, trials=rounds, merged=merged.trials))) == "do not use"


def test_clients_beside_servers_a_target_and_deviations_are_named() -> None:
    plain = summarize({"a": FAST, "b": SLOW})

    def changed(**changes: Any) -> Summary:
        return replace(plain, trials=[replace(trial, **changes) for trial in plain.trials])

    nodes = [structs.replace(node, host="client0") for node in plain.trials[0].nodes]
    assert shorts(changed(nodes=nodes)) == ["clients on the servers' host"]
    target = replace(plain.trials[0].conditions, target=100.0)
    assert shorts(changed(conditions=target)) == ["a target rate was set"]
    reasons = doubts(changed(deviations=["durability: requested 'disk', but the server has 'memory'"]))
    assert mark_of(reasons) == "caution"
    assert "b: durability: requested 'disk'" in reasons[0].text


def test_compactions_that_were_left_weaken_a_verdict() -> None:
    plain = summarize({"a": FAST, "b": SLOW})
    note = "not settled: 3 compactions pending and 1 active, without progress for 300 s (cassandra_settle_timeout)"
    trials = [replace(trial, notes=[note, "x"] if trial.system == "b" else []) for trial in plain.trials]
    (reason,) = doubts(replace(plain, trials=trials))
    assert (reason.text, reason.fatal) == (f"Measured before the servers had settled: b {note}.", False)
    java = (ROOT / "ycsb-bindings/cassandra/src/main/java/dohyo/cassandra/admin/CassandraAdmin.java").read_text("utf-8")
    assert f'"{trust.UNSETTLED}%s, without progress' in java


def test_the_documentation_has_the_rule_of_the_code() -> None:
    text = " ".join(
        (ROOT / "docs/method.md").read_text("utf-8").partition("\n## Trust\n")[2].partition("\n## ")[0].split()
    )
    for mark in ("solid", "caution", "do not use"):
        assert f"**{mark}**" in text
    assert f"fewer than {trust.LEAST_ROUNDS} rounds" in text
    # A verdict on one system alone may have valid numbers.
    assert "fewer than two of several systems, or not even the only one, have valid numbers" in text
    assert f"beyond {WIDEST_TIE:g} or 1/{WIDEST_TIE:g}" in text
    assert f"more than {DRIFT:.0%}".replace("%", " %") in text
    assert f"a factor of {UNSTEADY:g}" in text
    assert f"that took {100 * NOTED:.0f} % or more" in text
    assert f"less than {SMALL_DATA_BYTES / 10**9:g} GB" in text
    assert all(f"`{figure}`" in text for figure in trust.COMPUTING)
