"""Tests the costs of faults: exact results for known rates, reasons for invalid runs, tables and comparisons."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dohyo.evidence import accounting
from dohyo.evidence.accounting import AccountingReport
from dohyo.evidence.fault_costs import FaultCost, FaultedRun, costs, in_window, problems, rate_before
from dohyo.evidence.healing import Healing
from dohyo.evidence.latency_slots import Slot
from dohyo.evidence.records import FaultEvent, FaultOnHost, Faults
from dohyo.report import chart_data, page
from dohyo.report.charts import faults
from dohyo.summary.comparison import at_points
from dohyo.summary.conditions import Conditions
from dohyo.summary.fault_figures import NEVER, OF_FAULTS, OF_RUNS, same_faults
from dohyo.summary.findings import fault_changes
from dohyo.summary.regression import compare
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import summarise
from dohyo.summary.trust import doubts
from dohyo.tables import screen
from dohyo.tables.conditions import readable
from dohyo.tables.fault_table import sentences
from dohyo.tables.verdict import verdict as the_verdict
from support.evidence import (
    changes_shown,
    clients_json,
    edit_json,
    on_screen,
    reads,
    rendered,
    run_of,
    trial,
    write_json,
)
from support.faults import ACCOUNT, ASKED, SERIES, faulted

ON = {"node1": FaultOnHost()}


def event(kind: str, began: float | None, **more: Any) -> FaultEvent:
    values = {"planned": began, "hosts": ON, "target": "node1", **more}
    return FaultEvent(kind=kind, began=began, **values)


def killed(second: float, until: float | None = None) -> Faults:
    ended = [] if until is None else [event("start", until)]
    return Faults(asked=ASKED, events=[event("kill", second), *ended])


def cost(series: Sequence[int], second: float = 10, until: float | None = None) -> FaultCost:
    (fault,) = costs(killed(second, until), series, [])
    return fault


@given(st.integers(0, 60), st.integers(6, 60), st.integers(10, 1000))
def test_a_hole_of_exactly_so_many_seconds_gives_them(hole: int, after: int, rate: int) -> None:
    fault = cost([rate] * 10 + [0] * hole + [rate] * after)
    assert (fault.zero_seconds, fault.low_seconds) == (hole, hole)
    assert (fault.recovered, fault.recovery_seconds) == (True, float(hole))


FULL, NONE = [100], [0]


@pytest.mark.parametrize(
    ("series", "second", "until", "expected"),
    [
        # The rate is full from 90 % of the rate before the fault, for five seconds.
        (FULL * 10 + [40] * 3 + [60] * 4 + [90] * 5, 10, None, {"recovery_seconds": 7}),
        (FULL * 10 + [40] * 3 + [60] * 4 + [89] * 20, 10, None, {"recovered": False}),
        # The outage lasts until the rate stays good: one good second does not end it.
        (FULL * 10 + NONE * 3 + FULL + NONE * 3 + FULL * 9, 10, None, {"recovery_seconds": 7}),
        # A short dip, such as a GC pause, is not a cost of the fault.
        (FULL * 15 + [70, 130] + FULL * 9, 10, None, {"recovery_seconds": 0}),
        # Requests that clients send later do not make seconds without an answer good.
        (FULL * 10 + [0, 0, 300] + FULL * 9, 10, None, {"recovery_seconds": 2}),
        # A rate that falls late is low until it is full again.
        (FULL * 30 + NONE * 4 + FULL * 9, 10, None, {"recovery_seconds": 24}),
        # Times that the window does not reach are unknown.
        (FULL * 10 + NONE * 20, 10, 15,
         {"recovered": False, "recovery_seconds": None, "restored": False, "restore_seconds": None,
          "zero_seconds": 20}),
        # The end of a fault in the last seconds is not seen.
        *((FULL * 30, second, None, {"zero_seconds": 0, "recovered": False, "recovery_seconds": None})
          for second in (28.5, 29.0, 29.99)),
        # Without a rate before the fault there is nothing to compare with.
        (NONE * 10 + FULL * 20, 10, 15, {"low_seconds": None, "recovered": None, "restored": None}),
        (FULL * 30, 0.4, 15, {"low_seconds": None, "recovered": None, "restored": None}),
        (NONE * 30, 10, None, {"zero_seconds": 20}),
        # Times count from the fault, and not from its second.
        (FULL * 10 + [50] + NONE * 4 + FULL * 15, 10.5, 12.25,
         {"recovery_seconds": 4.5, "restore_seconds": 2.75, "zero_seconds": 4}),
        # The fault is survived, but the return disturbs.
        (FULL * 20 + [20] * 6 + FULL * 14, 10, 20, {"recovery_seconds": 0, "restore_seconds": 6}),
        (FULL * 10 + [20] + FULL * 9 + [20] * 6 + FULL * 14, 10, 20, {"recovery_seconds": 1, "restore_seconds": 6}),
        # The server returned after two seconds, but a recovery needs five seconds at the full rate.
        (FULL * 12 + [20] * 6 + FULL * 14, 10, 12, {"recovery_seconds": 8, "restore_seconds": 6}),
        (FULL * 40, 10, 20, {"recovery_seconds": 0, "restore_seconds": 0}),
    ],
)  # fmt: skip
def test_the_cost_of_a_fault_follows_from_the_rate_of_each_second(
    series: list[int], second: float, until: float | None, expected: dict[str, float | bool | None]
) -> None:
    fault = cost(series, second, until)
    assert {name: getattr(fault, name) for name in expected} == expected


def test_two_faults_each_have_their_own_seconds() -> None:
    series = [100] * 10 + [0] * 3 + [100] * 17 + [0] * 5 + [100] * 15
    faults = Faults(events=[event("kill", 10.0), event("start", 12.0), event("kill", 30.0), event("start", 31.0)])
    first, second = costs(faults, series, [])
    assert (first.zero_seconds, first.recovery_seconds, first.until, first.restore_seconds) == (3, 3, 12, 1)
    assert (second.zero_seconds, second.recovery_seconds, second.until, second.restore_seconds) == (5, 5, 31, 4)
    # Two faults in the same second have the same costs, which are counted until the end of the run.
    together = Faults(events=[event("kill", 10.2), event("kill", 10.7)])
    assert [fault.zero_seconds for fault in costs(together, series, [])] == [8, 8]


def test_a_fault_ends_when_the_last_of_its_hosts_is_well_again() -> None:
    two_hosts = {"a": FaultOnHost(), "b": FaultOnHost()}
    faults = [event("pause", 10.0, hosts=two_hosts), event("resume", 12.0, hosts={"b": FaultOnHost()})]
    (fault,) = costs(Faults(events=faults), [100] * 40, [])
    assert (fault.hosts, fault.until) == (["a", "b"], None)
    (fault,) = costs(Faults(events=faults, undone=[event("resume", 41.0, hosts=two_hosts)]), [100] * 40, [])
    assert (fault.until, fault.restored) == (41.0, None)


def test_the_worst_second_is_one_of_the_fault() -> None:
    slots = [Slot(second, 1, 10, {50: 1.0, 99: ms}, {}) for second, ms in ((5, 9_000.0), (12, 3_000.0), (13, 40.0))]
    (fault,) = costs(killed(10.0), [100] * 30, slots)
    assert (fault.worst_p99_ms, fault.worst_p99_at) == (3_000.0, 12)
    assert cost([100] * 30).worst_p99_ms is None


def test_seconds_in_which_nothing_was_sent_any_more_do_not_count() -> None:
    faults = Faults(window_began=1000.0, window_ended=1030.0)
    assert in_window(faults, 42.0) == 30.0
    assert in_window(Faults(), 42.0) == 42.0
    assert in_window(Faults(), None) is None
    assert rate_before(faults, []) is None


@pytest.mark.parametrize(
    ("faults_text", "faults", "why"),
    [
        (ASKED, None, f"faults were requested ({ASKED}), but faults.json is missing"),
        (ASKED, killed(10.0), f"faults.json contains 1 of 2 faults ({ASKED})"),
        ("kill(node1)@10s", Faults(events=[event("kill", None, planned=10.0)]),
         "kill(node1)@10s could not be carried out: nothing was done"),
        ("kill(node1)@10s", Faults(events=[event("kill", 10.0, hosts={"node1": FaultOnHost(error="no process")})]),
         "kill(node1)@10s could not be carried out: node1: no process"),
        ("kill(node1)@10s", Faults(events=[event("kill", 10.0)]), "kill(node1)@10s was not undone on node1"),
        ("kill(node1)@10s", Faults(events=[event("kill", 10.0)], undone=[event("start", None, planned=None)]),
         "kill(node1)@10s was not undone on node1"),
        ("kill(node1)@10s", Faults(events=[event("kill", 31.0, planned=10.0)]),
         "kill(node1)@10s was carried out in second 31, after the window of 30 s"),
        ("kill(node1)@10s", Faults(events=[event("kill", -1.0, planned=10.0)], undone=[event("start", 30.0)]),
         "kill(node1)@10s was carried out before the window"),
        ("kill(node1)@10s", Faults(events=[event("kill", 10.0, hosts={})]),
         "kill(node1)@10s could not be carried out: nothing was done"),
        ("pause(node1)@10s", Faults(events=[event("kill", 10.0)], undone=[event("start", 30.0)]),
         "the faults in faults.json differ from the requested faults (pause(node1)@10s)"),
    ],
)  # fmt: skip
def test_what_was_not_done_or_not_undone_is_said(faults_text: str, faults: Faults | None, why: str) -> None:
    assert next(problems(faults_text, faults, 30.0)) == why


def test_faults_that_were_done_and_undone_are_fine() -> None:
    assert list(problems(ASKED, killed(10.0, 20.0), 30.0)) == []
    assert list(problems("none", None, 30.0)) == []
    undone = Faults(asked="kill(node1)@10s", events=[event("kill", 10.0)], undone=[event("start", 30.4, planned=None)])
    assert list(problems("kill(node1)@10s", undone, 30.0)) == []


# ---- In an experiment ------------------------------------------------------------------------------------------------


def test_a_fault_is_a_result_and_makes_no_run_invalid(tmp_path: Path) -> None:
    lost = {**ACCOUNT, "lost": 3, "missing": 2, "stale_reads": 7, "maybe": 11, "corrupt": 1, "unreadable": 4}
    folder = faulted(tmp_path, account=lost)
    reads(folder / "run-1/node1", SERIES, not_found=[0] * 14 + [60] * 16)  # 60 reads per second find no record
    edit_json(folder / "run-1/node1/client.json", accounting=lost)
    summary = summarise(tmp_path)
    (result,) = summary.trials
    assert (result.status, result.reason) == ("ok", None)
    assert result.collapses == []
    assert result.trends == {}
    (run,) = result.faults
    assert (run.asked, run.before_ops_per_second, run.ready_seconds) == (ASKED, 100, 31)
    assert run.errors == {"NOT_FOUND": 960}
    (fault,) = run.faults
    assert (fault.zero_seconds, fault.recovery_seconds, fault.restore_seconds) == (4, 4, 0)
    texts = [reason.text for reason in doubts(summary) if "faults" in reason.text.lower()]
    assert texts[0].startswith("Not as acknowledged, under faults: cassandra 7 stale of 5,000 reads, 5 lost of 3,000")
    assert "Rates and latencies include" in texts[1]
    (line,) = [condition.value for condition in readable([result]) if condition.label == "faults"]
    assert line == ASKED


def test_a_server_that_ended_by_itself_under_faults_is_in_a_note(tmp_path: Path) -> None:
    folder = faulted(tmp_path, account=ACCOUNT)
    facts = clients_json(("node1",), agreed=1795240000.0, warmup_seconds=1.0)
    facts["nodes"] = {"node2": {"state": "ended", "reason": "cassandra on node2 ended: out of memory"}}
    write_json(folder / "run-1/clients.json", facts)
    (result,) = summarise(tmp_path).trials
    assert (result.status, result.reason) == ("ok", None)
    assert "run-1, under faults: cassandra on node2 ended: out of memory" in result.notes


def test_without_faults_the_same_run_is_invalid_and_there_is_no_table(tmp_path: Path) -> None:
    folder = faulted(tmp_path, account={**ACCOUNT, "lost": 3})
    (folder / "run-1/faults.json").unlink()
    edit_json(folder / "trial.json", trial_phases=[{"name": "run"}])
    summary = summarise(tmp_path)
    assert summary.trials[0].status == "invalid"
    assert "Faults" not in rendered(summary)


def test_a_fault_that_was_not_done_or_whose_evidence_is_damaged_makes_the_run_invalid(tmp_path: Path) -> None:
    folder = faulted(tmp_path)
    (folder / "run-1/faults.json").unlink()
    (result,) = summarise(tmp_path).trials
    why = f"run-1: faults were requested ({ASKED}), but faults.json is missing"
    assert (result.status, result.reason) == ("invalid", why)
    (folder / "run-1/faults.json").write_text("{")
    summary = summarise(tmp_path)
    assert summary.trials[0].status == "invalid"
    assert any("faults.json" in warning for warning in summary.warnings)


@pytest.mark.parametrize("content", ["{", "null", "{}", '{"asked": "garbage"}'])
def test_a_file_that_nobody_asked_for_makes_no_loss_good(content: str, tmp_path: Path) -> None:
    folder = faulted(tmp_path, account={**ACCOUNT, "lost": 5000})
    edit_json(folder / "trial.json", trial_phases=[{"name": "run"}])
    (folder / "run-1/faults.json").write_text(content)
    (result,) = summarise(tmp_path).trials
    assert result.status == "invalid"
    assert "faults.json exists" in (result.reason or "")


def test_a_window_that_no_run_has_is_not_believed(tmp_path: Path) -> None:
    folder = faulted(tmp_path, account={**ACCOUNT, "by_second": [[]]})
    edit_json(folder / "run-1/faults.json", window_began=0, window_ended=1e300)
    summary = chart_data.read(tmp_path).summary
    assert [run.faults[0].zero_seconds for run in summary.trials[0].faults] == [4]


def test_a_fault_after_the_window_is_none_though_clients_still_waited_for_answers(tmp_path: Path) -> None:
    folder = faulted(tmp_path, account=ACCOUNT)
    edit_json(folder / "run-1/faults.json", window_ended=1795240009.5)
    (result,) = summarise(tmp_path).trials
    assert result.reason == "run-1: kill(node1)@10s was carried out in second 10, after the window of 10 s (and 1 more)"


def test_what_several_hosts_return_from_counts_from_the_last_of_them() -> None:
    stop = {"a": FaultOnHost(at=10.0), "b": FaultOnHost(at=10.0)}
    start = {"a": FaultOnHost(at=20.0), "b": FaultOnHost(at=55.0)}
    events = [event("stop", 10.0, target="a+b", hosts=stop), event("start", 20.0, target="a+b", hosts=start)]
    (fault,) = costs(Faults(events=events), [100] * 10 + [0] * 50 + [100] * 30, [])
    assert (fault.until, fault.restore_seconds) == (55, 5)


def test_faults_of_the_same_second_are_told_apart_by_name_and_not_by_milliseconds() -> None:
    a, b = cost(SERIES), replace(cost(SERIES), target="other")
    trials = [
        Trial("t", "t", "t", "ok", faults=[FaultedRun("run", 1, ASKED, 100.0, order, {}, None, None)])
        for order in ([a, b], [b, a])
    ]
    for group in same_faults(trials):
        assert len({str(fault) for _, fault in group.cases}) == 1


def test_faults_of_trials_that_were_started_by_hand_are_not_combined() -> None:
    run = FaultedRun("run", 1, ASKED, 100.0, [cost(SERIES)], {}, None, None)
    trials = [Trial(name, "hbase", "HBase", "ok", faults=[run]) for name in ("01-hbase", "02-hbase")]
    assert [len(group.cases) for group in same_faults(trials)] == [1, 1]
    assert len(sentences(trials)) == 2
    rounds = [replace(trial, round=number) for number, trial in enumerate(trials, start=1)]
    assert [len(group.cases) for group in same_faults(rounds)] == [2]


def test_the_worst_second_may_begin_before_the_fault_where_slots_are_longer() -> None:
    slots = [Slot(8, 4, 100, {99: 9000.0}, {}), Slot(12, 4, 100, {99: 1.0}, {})]
    (fault,) = costs(killed(10.5), [100] * 20, slots)
    assert fault.worst_p99_ms == 9000


def test_a_run_with_faults_is_never_ranked_with_one_without() -> None:
    def create_trial(name: str, **conditions: Any) -> Trial:
        return Trial(name, name, name, "ok", conditions=Conditions(**conditions))

    calm, same, ill = create_trial("a"), create_trial("b"), create_trial("c", faults=ASKED)
    assert at_points([calm, ill, same]) == [[calm, same], [ill]]


def rounds_of_three(experiment: Path, *series: Sequence[int]) -> Summary:
    for number, rates in enumerate(series, start=1):
        faulted(experiment, number, rates, account=ACCOUNT, trial_round=number, trial_rounds=len(series))
    return summarise(experiment)


def test_several_rounds_have_a_median_and_a_range_and_never_is_no_number(tmp_path: Path) -> None:
    never = [100] * 10 + [0] * 20
    summary = rounds_of_three(tmp_path, SERIES, [100] * 10 + [0] * 6 + [100] * 14, never)
    (fault,) = same_faults(summary.trials)
    recovery = OF_FAULTS[2]
    assert sorted(recovery.values(fault.cases)) == [4, 6, NEVER]
    assert recovery.words(recovery.values(fault.cases)) == "6 [4, not in the window]"
    assert recovery.words([NEVER, NEVER, 4]) == "not in the window [4, not in the window]"
    assert recovery.words([NEVER, NEVER]) == "not in the window"
    assert recovery.words([]) == "\N{EN DASH}"
    shown = rendered(summary, 200)
    assert "median [minimum, maximum] of 3 runs" in shown
    assert "6 [4, 20]" in shown


NO_FAULT = FaultCost("kill", "any", [], 1, None, 1, 0, None, None, None, None, None, None, None)


def test_what_was_not_read_back_is_not_called_nothing() -> None:
    lost = next(figure for figure in OF_RUNS if figure.head == "lost")
    run = FaultedRun("run", 1, ASKED, 100.0, [], {}, None, None)
    assert lost.compute(run, NO_FAULT) is None
    for account, text in (
        (AccountingReport(read_back=True, keys=9), 0),
        (AccountingReport(read_back=True, unreadable=9), None),
    ):
        assert lost.compute(replace(run, accounting=accounting.together([account])), NO_FAULT) == text


def verdict(experiment: Path) -> list[str]:
    """Returns the reasons that mention acknowledged records."""
    return [reason.text for reason in doubts(summarise(experiment)) if "acknowledged" in reason.text]


def test_the_verdict_names_losses_of_runs_that_do_not_count_and_none_of_other_experiments(tmp_path: Path) -> None:
    folder = faulted(tmp_path, account=ACCOUNT)
    shutil.copytree(folder / "run-1", folder / "run-2")
    shutil.rmtree(folder / "run-2/node1")
    run_of(folder / "run-1/node1", folder / "run-2/node1")
    edit_json(folder / "trial.json", trial_repeats=2, trial_discard=1)
    assert verdict(tmp_path) == []
    edit_json(folder / "run-1/node1/client.json", accounting={**ACCOUNT, "lost": 500})
    lost = (
        "Not as acknowledged, under faults: cassandra 0 stale of 10,000 reads, 500 lost of 6,000 acknowledged (1,800"
        " records read back)."
    )
    assert verdict(tmp_path) == [lost]
    write_json(folder / "state.json", {"status": "failed", "reason": "a server ended"})
    assert verdict(tmp_path) == [lost]
    unplanned = trial(tmp_path, 2, "hbase")
    write_json(tmp_path / "experiment.json", {"plan": [unplanned.name]})
    assert verdict(tmp_path) == []


def test_the_verdict_names_what_was_not_read_back_and_the_point_of_the_matrix(tmp_path: Path) -> None:
    faulted(tmp_path, 1, account={**ACCOUNT, "unreadable": 900}, trial_point={"acks": "one"})
    faulted(tmp_path, 2, account=ACCOUNT, trial_point={"acks": "all"})
    assert verdict(tmp_path) == [
        "Not all records were read back, under faults: cassandra acks=one 0 stale of 5,000 reads,"
        " 0 lost of 3,000 acknowledged (900 records read back), 900 unreadable."
    ]


# ---- Two experiments -------------------------------------------------------------------------------------------------


def ill(seconds: float | None, lost: int = 0) -> Trial:
    """Returns a round whose rate recovered after `seconds`, or did not recover within the window (None)."""
    fault = replace(cost(SERIES), recovered=seconds is not None, recovery_seconds=seconds)
    account = accounting.together([AccountingReport(lost=lost, read_back=True, keys=9)])
    run = FaultedRun("run", 1, ASKED, 100.0, [fault], {}, account, None)
    return Trial("a", "a", "a", "ok", faults=[run])


def changed(
    before: Sequence[Trial], after: Sequence[Trial], head: str = "fault to 90 % s"
) -> tuple[str | None, str | None]:
    (change,) = [change for change in fault_changes(before, after, 0.05) if change.figure == head]
    return change.verdict, change.reason


def test_counts_under_faults_are_not_compared_at_other_rates_of_own() -> None:
    short, long = [ill(4)] * 4, [ill(9)] * 4
    verdicts = [
        {change.figure: change.verdict for change in fault_changes(short, long, 0.05, other_rates)}
        for other_rates in ((), ("run",))
    ]
    assert set(verdicts[0]) - set(verdicts[1]) >= {"errors"}
    assert verdicts[1]["fault to 90 % s"] == "regression"


def test_ranks_of_four_rounds_tell_two_experiments_apart_and_never_is_the_last_of_them() -> None:
    short, long = [ill(4), ill(5), ill(6), ill(5)], [ill(9), ill(None), ill(11), ill(None)]
    assert changed(short, long) == ("regression", None)
    assert changed(long, short) == ("improvement", None)
    assert changed(short, [ill(5), ill(9), ill(9), ill(9)]) == ("inconclusive", None)
    assert changed(short[:1] * 4, short[1:2] * 4) == ("within", None)  # times are accurate only to a second
    assert changed([ill(None)] * 4, [ill(None)] * 4) == ("within", None)
    assert changed(short[:3], long[:3]) == ("inconclusive", "3 and 3 rounds; 4 in each experiment would be needed")


def test_a_loss_that_was_not_there_before_is_a_regression_whatever_the_rounds() -> None:
    assert changed([ill(4)], [ill(4, lost=1)], "lost") == ("regression", "there were none before")
    assert changed([ill(4, lost=1)], [ill(4)], "lost")[0] == "inconclusive"
    three = replace(ill(4), faults=[run for lost in (0, 0, 5000) for run in ill(4, lost=lost).faults])
    assert changed([ill(4)] * 4, [three] * 4, "lost") == ("regression", "there were none before")


def unread() -> Trial:
    """Returns a round whose records were not read back."""
    (run,) = ill(4).faults
    account = accounting.together([AccountingReport(read_back=False)])
    return replace(ill(4), faults=[replace(run, accounting=account)])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # A loss counts even if earlier losses are unknown or there are fewer than four rounds.
        ([ill(4), ill(4), unread()], [ill(4, lost=900)] * 3, ("regression", "the number before is unknown")),
        ([unread()] * 3, [ill(4, lost=900)] * 3, ("regression", "the number before is unknown")),
        ([ill(4)] * 3, [ill(4), unread(), ill(4, lost=1)], ("regression", "there were none before")),
        ([ill(4, lost=1), ill(4), ill(4)], [ill(4, lost=900)] * 3,
         ("regression", "at most 1 in any round of the earlier experiment")),
        # There were also losses before, so four rounds of each are needed.
        ([ill(4, lost=500)] * 3, [ill(4, lost=900)] * 3,
         ("inconclusive", "3 and 3 rounds; 4 in each experiment would be needed")),
        ([ill(4, lost=500)] * 4, [ill(4, lost=900)] * 4, ("regression", None)),
        ([ill(4, lost=500)] * 5, [unread(), *[ill(4, lost=500)] * 4], ("inconclusive", "not known in all rounds")),
        # The losses before or after are unknown.
        ([ill(4)] * 4, [unread()] * 4, ("inconclusive", "not known after")),
        ([unread()] * 4, [ill(4)] * 4, ("inconclusive", "not known before")),
    ],
)  # fmt: skip
def test_a_loss_is_a_regression_unless_as_much_was_lost_before(
    before: list[Trial], after: list[Trial], expected: tuple[str, str | None]
) -> None:
    assert changed(before, after, "lost") == expected


def test_a_fault_that_only_one_has_is_inconclusive() -> None:
    without = replace(ill(4), faults=[])
    for before, after, when in ((ill(4), without, "after"), (without, ill(4), "before")):
        changes = [change for change in fault_changes([before] * 4, [after] * 4, 0.05) if change.verdict]
        assert {change.figure for change in changes} >= {"no success s", "fault to 90 % s", "lost", "stale"}
        assert {(change.verdict, change.reason) for change in changes} == {("inconclusive", f"not known {when}")}


def healing(count: int, end: float | None, *, without: bool = False) -> Trial:
    """Returns a round whose server recovered `count` times. The last recovery ended at `end`.

    :param end: None if the last recovery did not finish
    :param without: whether the server had nothing to recover from
    """
    trial = ill(4)
    (run,) = trial.faults
    (fault,) = run.faults
    recovery = Healing("recovery", ["a"], count, int(end is None), count, "pages", fault.at + 1, end, end)
    if without:
        recovery = replace(recovery, begin=None, end=None, seconds=None)
    return replace(trial, faults=[replace(run, faults=[replace(fault, healing=[recovery])])])


def test_what_servers_did_to_heal_is_compared_by_its_times_and_not_by_how_much_it_was() -> None:
    short, long = [healing(2, end) for end in (12, 13, 12, 13)], [healing(9, end) for end in (20, None, 21, None)]
    assert changed(short, long, "recovery: last s") == ("regression", None)
    assert changed(long, short, "recovery: last s") == ("improvement", None)
    assert changed(short, long, "recovery: first s") == ("within", None)
    assert changed(short, long, "recovery: times") == (None, None)
    by_figure = {change.figure: change for change in fault_changes(short, long, 0.05)}
    assert by_figure["recovery: amount"].words == ("2", "9")
    assert by_figure["recovery: last s"].words[1] == "not finished [10.0, not finished]"
    # The amount of healing depends on how much was written, so it cannot be compared at different rates.
    assert not [change for change in fault_changes(short, long, 0.05, ("run",)) if change.figure.startswith("recovery")]
    # Without logs, the times are unknown. A server that had nothing to recover from has no times.
    assert changed(short, [ill(4)] * 4, "recovery: last s") == ("inconclusive", "not known after")
    idle = [healing(0, 0, without=True)] * 4
    by_figure = {item.figure: item for item in fault_changes(short, idle, 0.05) if item.figure.startswith("recovery")}
    assert set(by_figure) == {"recovery: times", "recovery: amount"}


def test_what_did_not_finish_or_was_not_done_in_each_round_is_no_improvement() -> None:
    slow, fast = [healing(1, end) for end in (70, 71, 72, 73)], [healing(1, end) for end in (40, 41, 42, 43)]
    assert changed(slow, fast, "recovery: lasted s") == ("improvement", None)
    assert changed(slow, [healing(1, None)] * 4, "recovery: lasted s") == ("regression", None)
    nothing = [healing(0, 0, without=True)] * 4
    assert changed(slow, [*fast, *nothing], "recovery: last s") == ("inconclusive", "not known in all rounds")
    assert changed(slow, [*fast, *nothing], "recovery: times") == (None, None)


def test_compare_has_the_figures_and_refuses_other_faults(tmp_path: Path) -> None:
    for name in ("a", "b"):
        faulted(tmp_path / name, account=ACCOUNT)
    before, after = (summarise(tmp_path / name) for name in ("a", "b"))
    comparison = compare(before, after)
    assert {change.figure for change in comparison.faults} >= {"no success s", "fault to 90 % s", "lost"}
    assert json.loads(comparison.json())["faults"][0]["fault"] == "kill(node1)"
    assert "fault to 90 % s" in changes_shown(comparison)
    edit_json(tmp_path / "b/raw/01-cassandra/run-1/faults.json", asked="kill(node1)@10s, start(node1)@15s")
    edit_json(
        tmp_path / "b/raw/01-cassandra/trial.json",
        trial_phases=[{"name": "run", "maxnotfoundrate": 1, "faults": "kill(node1)@10s, start(node1)@15s"}],
    )
    comparison = compare(before, summarise(tmp_path / "b"))
    assert (comparison.exit_code, comparison.faults) == (4, [])
    assert any(difference.condition == "faults" and difference.must_be_equal for difference in comparison.differences)


# ---- The page and the logs of servers --------------------------------------------------------------------------------


def test_the_chart_has_a_row_for_each_system_and_the_faults_as_bands(tmp_path: Path) -> None:
    for number, series in enumerate((SERIES, [200] * 10 + [0] * 20), start=1):
        stale = {**ACCOUNT, "by_second": [[-3, 9, 0, 0, 0], [14, 2, 0, 1, 5]]}
        folder = faulted(tmp_path, number, series, account=stale)
        edit_json(folder / "trial.json", trial_system=("cassandra", "hbase")[number - 1])
    material = chart_data.read(tmp_path)
    drawn = faults.chart(material)
    assert drawn is not None
    assert [panel.title for panel in drawn.panels] == ["cassandra", "hbase"]  # latencies need a target rate
    assert drawn.tables["faults-0-bands"]["time"] == [10]
    assert drawn.tables["faults-0-bands"]["until"] == [20]
    assert drawn.tables["faults-0-full"]["full"] == [90]
    assert drawn.tables["faults-0"]["operations"] == SERIES
    assert drawn.tables["faults-0-wrong"]["what"] == ["cassandra run 1, second 14: 3 wrong reads"]
    axes = {str(panel.spec["encoding"]["y"]["scale"]) for panel in drawn.panels}
    assert len(axes) == 1
    assert "20 s without success" in drawn.panels[1].says


def test_that_the_log_of_a_killed_server_begins_late_is_no_warning(tmp_path: Path) -> None:
    folder = faulted(tmp_path)
    write_json(folder / "run-1/clients.json", clients_json(("node1",), agreed=1795240000.0, warmup_seconds=1.0))
    edit_json(folder / "run-1/node1/client.json", agreed_start_ms=1795240000000)
    logs = folder / "server/node1"
    logs.mkdir(parents=True)
    (logs / "gc.log").write_text(
        "[2026-11-21T05:47:10.100+0000][0.1s][info][gc] GC(0) Pause Young 1M->1M(9M) 2.000ms\n"
    )
    assert not [warning for warning in summarise(tmp_path).warnings if "gc.log" in warning]
    (folder / "run-1/faults.json").unlink()
    assert [warning for warning in summarise(tmp_path).warnings if "begins after the start of" in warning]


# ---- Costs in one line for each system -------------------------------------------------------------------------------


def of_runs(*runs: FaultedRun, system: str = "cassandra", **point: str) -> list[Trial]:
    """Returns one round for each run."""
    return [Trial(system, system, system, "ok", None, point, turn, faults=[run]) for turn, run in enumerate(runs, 1)]


def faulted_run(series: Sequence[int], until: float | None = 20, lost: int | None = 0, errors: int = 0) -> FaultedRun:
    """Returns a run whose server was killed in second 10.

    :param lost: number of lost records; None if nothing was read back
    """
    account = None if lost is None else accounting.together([AccountingReport(lost=lost, read_back=True, keys=9)])
    faults = [cost(series, 10, until)]
    return FaultedRun("own", 1, ASKED, rate_before(killed(10), series), faults, {"ERROR": errors}, account, None)


NEVER_AGAIN = [100] * 10 + [0] * 20


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (faulted_run(SERIES, errors=1204), "4 s without success, 4 s to 90 % of the rate, 1,204 errors, 0 lost"),
        (faulted_run(NEVER_AGAIN, lost=7),
         "20 s without success, 90 % of the rate not in the window, 0 errors, 7 lost"),
        # A gap that continues after the server's return is mentioned once, as is a gap that only the return caused.
        (faulted_run([100] * 10 + [0] * 13 + [100] * 9),
         "13 s without success, 13 s to 90 % of the rate, 0 errors, 0 lost"),
        (faulted_run([100] * 20 + [0] * 3 + [100] * 9),
         "3 s without success, 0 s to 90 % of the rate, 3 s after the return, 0 errors, 0 lost"),
        # An unknown value is not shown as a number.
        (faulted_run([0] * 10 + [100] * 20, lost=None),
         "0 s without success, time to 90 % not known, 0 errors, losses not known"),
    ],
)  # fmt: skip
def test_a_line_says_what_a_fault_cost_and_what_is_not_known(run: FaultedRun, text: str) -> None:
    assert sentences(of_runs(run)) == [f"cassandra, kill(node1) for 10 s: {text}"]


def test_the_line_of_several_runs_has_medians_and_ranges() -> None:
    longer = [100] * 10 + [0] * 6 + [100] * 14
    runs = [faulted_run(SERIES), faulted_run(longer, lost=5), faulted_run(NEVER_AGAIN, lost=None, errors=9)]
    assert sentences(of_runs(*runs)) == [
        "cassandra, kill(node1) for 10 s in 3 runs: 6 s [4 s, 20 s] without success, 6 s [4 s, not in the window]"
        " to 90 % of the rate, 0 [0, 9] errors, 2 [0, 5] (2 of 3 known) lost"
    ]


def test_systems_and_points_have_lines_of_their_own_and_several_faults_share_one() -> None:
    twice = Faults(events=[event("kill", 10.0), event("start", 12.0), event("pause", 30.0), event("resume", 31.0)])
    series = [100] * 10 + [0] * 3 + [100] * 17 + [0] * 5 + [100] * 15
    run = replace(faulted_run(SERIES, errors=8), faults=costs(twice, series, []))
    lines = sentences([*of_runs(run), *of_runs(faulted_run(SERIES), durability="disk"), *of_runs(run, system="hbase")])
    costs_of_both = (
        "kill(node1) for 2 s: 3 s without success, 3 s to 90 % of the rate;"
        " pause(node1) for 1 s: 5 s without success, 5 s to 90 % of the rate; 8 errors, 0 lost"
    )
    assert lines == [
        f"cassandra, {costs_of_both}",
        "cassandra durability=disk, kill(node1) for 10 s: 4 s without success, 4 s to 90 % of the rate, 0 errors,"
        " 0 lost",
        f"hbase, {costs_of_both}",
    ]
    assert sentences([Trial("a", "a", "a", "ok")]) == []


def test_faults_of_several_phases_are_told_apart() -> None:
    run = faulted_run(SERIES)
    lines = sentences(of_runs(run, replace(run, phase="other")))
    assert [line.partition(":")[0] for line in lines] == [
        "cassandra, kill(node1) [own] for 10 s",
        "cassandra, kill(node1) [other] for 10 s",
    ]


def test_the_cost_is_on_the_page_and_in_the_verdict(tmp_path: Path) -> None:
    for number, system in enumerate(("cassandra", "hbase"), start=1):
        folder = faulted(tmp_path, number, account={**ACCOUNT, "lost": 3 * (number - 1)})
        edit_json(folder / "trial.json", trial_system=system)
    material = chart_data.read(tmp_path)
    lines = [
        f"{system}, kill(node1) for 10 s: 4 s without success, 4 s to 90 % of the rate, 0 errors, {lost} lost"
        for system, lost in (("cassandra", 0), ("hbase", 3))
    ]
    judgement = the_verdict(material.summary)
    assert judgement.costs == lines
    assert judgement.sentence.endswith(f" Under faults: {'; '.join(lines)}.")
    verdict_section = page.html(page.gather(tmp_path, material)).partition('<section id="results"')[0]
    assert all(f"<li>{line}</li>" in verdict_section for line in lines)


def test_of_many_costs_the_screen_shows_some_and_says_so(tmp_path: Path) -> None:
    faulted(tmp_path, account=ACCOUNT)
    material = chart_data.read(tmp_path)
    summary = material.summary
    (result,) = summary.trials
    points = [f"{number:02}" for number in range(20)]
    many = replace(summary, trials=[replace(result, name=point, point={"a": point}) for point in points])
    shown = [line for line in on_screen(many).splitlines() if "without success" in line or "summary.md" in line]
    assert shown[-2] == f"{20 - screen.MOST_COSTS} more in summary.md"
    text = page.html(page.gather(tmp_path, replace(material, summary=many)))
    open_, _, folded = text.partition(f"<summary>{20 - screen.MOST_COSTS} more</summary>")
    assert (open_.count("s without success,"), folded.partition("</ul>")[0].count("s without success,")) == (
        screen.MOST_COSTS,
        20 - screen.MOST_COSTS,
    )
