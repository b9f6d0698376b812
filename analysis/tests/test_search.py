"""Tests the search for the highest rate: its settings in a scenario, and its results in the evidence."""

import csv
import io
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from dohyo.bad_input import BadInputError
from dohyo.cli import cli
from dohyo.evidence.records import TrialSettings, decoded
from dohyo.places import ROOT
from dohyo.planning import plan
from dohyo.planning.sizing import Sizes
from dohyo.running import progress
from dohyo.running.progress import Forecast, Progress
from dohyo.scenario import loading, scenario, search
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.search import Settings
from dohyo.summary import precision, probes, ranking, trust
from dohyo.summary.probes import Search
from dohyo.summary.results import Summary
from dohyo.summary.summary import read_trial, summarise
from dohyo.systems.records import DataNeeds, HostNeeds
from dohyo.tables import table
from dohyo.tables.verdict import verdict
from support.evidence import edit_json, lasted, reads, rendered, searched, searched_rounds, trial, write_json
from support.scenarios import again

MIX = {"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0.5", "duration": "30", "warmuptime": "10"}
ASKED = {"search": "max", "slo": "p99<10ms"}


def load(folder: Path, **values: str) -> scenario.Scenario:
    file = folder / "searched"
    file.write_text("".join(f"{key}={value}\n" for key, value in MIX.items()))
    return loading.load(file, {key.replace("__", "."): value for key, value in values.items()})


def test_a_scenario_asks_for_a_search(tmp_path: Path) -> None:
    chosen = load(tmp_path, **ASKED)
    assert search.asked(chosen) == Settings("p99<10ms", 10, 30, 0.03)
    (first, *_) = plan.trials(chosen)
    settings = plan.variables(first, tmp_path, keep=False)["trial_search"]
    assert probes.stated(decoded({"trial_search": settings}, TrialSettings, pytest.fail).search) == search.asked(chosen)
    detailed = load(tmp_path, **ASKED, search__duration="2m", search__probes="3", search__precision="0.1")
    assert search.asked(detailed) == Settings("p99<10ms", 3, 120, 0.1)
    # The client does not receive these settings, but the scenario file contains them.
    assert not [key for key in detailed.client_properties if key.startswith(("search", "slo"))]
    assert search.asked(again(tmp_path, detailed)) == search.asked(detailed)


def test_without_a_search_there_is_none(tmp_path: Path) -> None:
    plain = load(tmp_path)
    assert search.asked(plain) is None
    assert (search.lengths(plain), search.words(plain)) == ([], "")
    (first, *_) = plan.trials(plain)
    assert "trial_search" not in plan.variables(first, tmp_path, keep=False)
    # The command line can turn off the search and keep its other settings.
    assert search.asked(load(tmp_path, search="none", slo="p99<10ms")) is None


def test_bounds_are_kept_in_one_form(tmp_path: Path) -> None:
    assert load(tmp_path, search="max", slo=" READ.p99 < 5ms, p50<500us ")["slo"] == "read.p99<5ms,p50<500us"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"search": "max"}, "search=max: slo is missing; set the bounds on latency, such as slo=p99<10ms"),
        ({"slo": "p99<10ms"}, "slo=p99<10ms: needs search=max; add it, or leave out slo"),
        ({"search__probes": "4"}, "search.probes=4: needs search=max"),
        ({"search": "knee"}, "search=knee: must be one of none, max"),
        ({**ASKED, "slo": "p98<10ms"}, "slo=p98<10ms: must be bounds such as p99<10ms,read.p99.9<500us"),
        ({**ASKED, "slo": "p99<10"}, "slo=p99<10: must be bounds such as"),
        ({**ASKED, "target": "1000"}, "search=max and target=1000: the search begins at the systems' highest rate"),
        ({**ASKED, "slo": "scan.p99<1s"}, "slo=scan.p99<1s: there is no SCAN in the mix, only READ, UPDATE"),
        ({**ASKED, "duration": "0", "operationcount": "10"}, "nothing ends a probe, .*set search.duration=60s"),
        ({**ASKED, "search__probes": "0"}, "search.probes=0: must be a whole number from 1 to 50"),
        ({**ASKED, "search__precision": "0.001"}, "search.precision=0.001: must be a number from 0.01 to 1"),
        ({**ASKED, "phases": "insert,update,read"}, "search=max with phases=insert,update,read: .* set phases=read"),
        ({**ASKED, "phases": "insert"}, "search=max with phases=insert: .* set phases=run"),
        ({**ASKED, "phases": "read", "read__target": "500"}, "search=max and target=500: the search begins"),
        ({**ASKED, "phases": "read", "slo": "update.p99<1s"}, "there is no UPDATE in the mix, only READ;"),
        ({**ASKED, "phases": "read", "read__slo": "p50<1s"}, "read.slo: a search needs a"),
        ({**ASKED, "phases": "probe"}, "'probe' is reserved; choose another name"),
        ({**ASKED, "matrix__target": "0,500"}, "at target=500: search=max and target=500: the search begins"),
    ],
)
def test_what_cannot_be_searched_is_refused(values: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=message):
        load(tmp_path, **values)


def test_a_count_may_end_the_runs_where_a_time_ends_the_probes(tmp_path: Path) -> None:
    chosen = load(tmp_path, **ASKED, duration="0", operationcount="1000", search__duration="20")
    assert search.asked(chosen) == Settings("p99<10ms", 10, 20, 0.03)


def test_a_read_modify_write_has_two_halves_that_can_be_bounded(tmp_path: Path) -> None:
    mix = {"readproportion": "0", "updateproportion": "0", "readmodifywriteproportion": "1"}
    assert load(tmp_path, **mix, search="max", slo="update.p99<1ms,readmodifywrite.p99<2ms")


def test_plan_and_progress_count_as_many_probes_as_there_may_be(tmp_path: Path) -> None:
    plain, chosen = load(tmp_path, systems="cassandra"), load(tmp_path, **ASKED, systems="cassandra")
    needs = HostNeeds(1024, DataNeeds(2000))
    times = [Sizes(case, Hosts(), {}).trial_seconds(needs) for case in (plain, chosen)]
    assert times[1] - times[0] == 10 * (10 + 30)
    assert plan.course(chosen) == (
        f"{plan.course(plain)}, at most 10 × (10 s warm-up + 30 s) for the highest rate with p99<10ms"
    )
    assert predict(chosen, ("run", 1))[0] - predict(plain, ("run", 1))[0] == 10 * (10 + 30 + progress._AROUND_A_RUN)
    # The search may end before its last probe. The estimate must handle this.
    remaining = predict(chosen, ("settle", 0), ("run", 1), ("probe", 1), ("probe", 2), ("stop", 0))
    assert remaining == sorted(remaining, reverse=True)
    assert len(set(remaining)) == len(remaining)
    with Progress(plan.trials(chosen), Console(file=io.StringIO())) as display:
        display.trial(1, plan.trials(chosen))
        display.event({"event": "phase", "phase": "probe", "run": 3, "client_dirs": [str(tmp_path)]})
        display.tick()
        assert display.activity == "in probe 3 of at most 10"
        # A disturbed probe was tried again.
        display.event({"event": "phase", "phase": "probe", "run": 11, "client_dirs": [str(tmp_path)]})
        display.tick()
    assert display.activity == "in probe 11 of at most 11"


def test_the_page_says_how_long_the_probes_of_a_scenario_take() -> None:
    chosen = loading.load(loading.find("workloadA"), {"search": "max", "slo": "p99<10ms"})
    probes = search.asked(chosen)
    assert probes is not None
    span = chosen.number("warmuptime") + chosen.number("duration")
    text = f"with workloadA at most {probes.probes} × {span} s, {probes.probes * span / 60:.0f} minutes per system"
    assert text in " ".join((ROOT / "docs/knee.md").read_text("utf-8").split())


def predict(chosen: scenario.Scenario, *steps: tuple[str, int]) -> list[float]:
    forecast = Forecast(trials := plan.trials(chosen))
    forecast.begin(trials)
    times = []
    for step in steps:
        forecast.enter(*step)
        times.append(forecast.remaining(0))
    return times


def test_a_search_is_of_the_only_phase_whatever_that_is_called(tmp_path: Path) -> None:
    properties = {"read__duration": "20", "read__warmuptime": "5", "read__batchsize": "10", "systems": "cassandra"}
    chosen = load(tmp_path, **ASKED, phases="insert,read", **properties)
    assert search.asked(chosen) == Settings("p99<10ms", 10, 20, 0.03)
    assert search.lengths(chosen) == [25] * 10
    windows = "1 × (read: 5 s warm-up + 20 s), at most 10 × (5 s warm-up + 20 s)"
    assert plan.course(chosen).startswith(f"the load of 1,000 records, {windows}")
    with Progress(plan.trials(chosen), Console(file=io.StringIO())) as display:
        display.trial(1, plan.trials(chosen))
        display.event({"event": "phase", "phase": "probe", "run": 1, "client_dirs": [str(tmp_path)]})
        assert display._tail is not None
        assert display._tail._batchsize == 10
    # If the servers settle before every run, they also settle before every probe.
    settled = load(tmp_path, **ASKED, phases="read", **properties, settle="phases")
    steps = [("read", 1), ("settle", 0), ("probe", 1), ("settle", 0), ("probe", 2), ("stop", 0)]
    remaining = predict(settled, *steps)
    assert remaining == sorted(remaining, reverse=True)
    assert len(set(remaining)) == len(remaining)


def test_every_point_has_a_search_of_its_own(tmp_path: Path) -> None:
    chosen = load(tmp_path, **ASKED, matrix__batchsize="1,100", matrix__search__duration="20,40", systems="hbase")
    settings = [plan.variables(planned, tmp_path, keep=False)["trial_search"] for planned in plan.trials(chosen)]
    assert [setting["duration"] for setting in settings] == [20, 40, 20, 40]
    # Each trial searches with its own bound. Without search=max, a trial does not search.
    bounds = load(tmp_path, search="max", matrix__slo="p99<10ms,p99<1ms", systems="hbase")
    assert [planned.scenario["slo"] for planned in plan.trials(bounds)] == ["p99<10ms", "p99<1ms"]
    chosen_by_point = load(tmp_path, slo="p99<10ms", matrix__search="none,max", systems="hbase")
    assert [search.asked(planned.scenario) is None for planned in plan.trials(chosen_by_point)] == [True, False]


def came_to(folder: Path) -> Search:
    result = read_trial(folder).search
    assert result is not None
    return result


def test_a_search_begins_at_the_mean_of_the_runs(tmp_path: Path) -> None:
    result = came_to(searched(tmp_path))
    assert result.closed_loop == pytest.approx(2000)
    assert (result.next_target, result.maximum) == (2000, None)
    assert result.conclusion == "the search for p99<10ms is not finished"


def test_a_search_begins_at_what_counts_of_its_phase(tmp_path: Path) -> None:
    folder = searched(tmp_path, (2000, 1500), facts={"repeats": 3, "trial_discard": 2, "phases": ("read",)})
    for discarded in (1, 2):
        lasted(folder / f"read-{discarded}/node1", 0.1)
    result = came_to(folder)
    assert result.closed_loop == pytest.approx(2000)
    # Probes count even if the runs before them are discarded.
    assert [(probe.number, probe.held) for probe in result.probes] == [(1, False)]
    assert {(row.phase, row.discarded) for row in result.probes[0].rows} == {("probe", False)}


def test_a_search_does_not_begin_at_the_rate_of_a_measured_load(tmp_path: Path) -> None:
    folder = searched(tmp_path, facts={"trial_load": {"measured": True}})
    lasted(folder / "load/node1", 0.1)
    result = came_to(folder)
    assert result.closed_loop == pytest.approx(2000)
    assert result.next_target == 2000


def test_every_probe_leads_to_the_next(tmp_path: Path) -> None:
    result = came_to(searched(tmp_path, (2000, 1500), (1000, 999)))
    assert [(probe.target, probe.held, probe.reason) for probe in result.probes] == [
        (2000, False, "only 1,500 op/s"),
        (1000, True, None),
    ]
    assert (result.maximum, result.held, result.unmet, result.next_target) == (None, 1000, 2000, 1414)


@pytest.mark.parametrize("disturbed", [1, 2, 3])
def test_a_disturbed_probe_is_tried_again_at_most_twice(tmp_path: Path, disturbed: int) -> None:
    before = came_to(searched(tmp_path, (2000, 1500)))
    reason = "probe-2: other processes used 40% of the processors of node1"
    again = [replace(before.probes[0], number=number + 2, held=None, reason=reason) for number in range(disturbed)]
    result = probes.result(Settings("p99<10ms", 10, 30, 0.03), before.closed_loop, [], [*before.probes, *again])
    if disturbed < 3:
        assert (result.next_target, result.conclusion) == (before.next_target, before.conclusion)
    else:
        assert (result.next_target, result.complete) == (None, False)
        assert result.conclusion.startswith(f"the search for p99<10ms was ended: {reason}")


def test_a_search_that_was_ended_has_bounds_and_no_maximum(tmp_path: Path) -> None:
    folder = searched(tmp_path, (2000, 1500), (1000, 1000), (1414, 1414), facts={"trial_round": 1, "trial_rounds": 2})
    searched(tmp_path, (2000, 2000), (2500, 2400), number=2, probes=2, facts={"trial_system": "hbase"})
    write_json(folder / "probe-3/clients.json", {"valid": False, "failure": "clients began 60 ms apart"})
    result = came_to(folder)
    assert (result.maximum, result.held, result.unmet, result.best) == (None, 1000, 2000, None)
    assert result.conclusion == (
        "the search for p99<10ms was ended: probe-3: clients began 60 ms apart; before that, 1,000 op/s met"
        " p99<10ms (50% of the closed-loop maximum of 2,000); 2,000 op/s had only 1,500 op/s"
    )
    summary = summarise(tmp_path)
    assert not [pair for pair in summary.comparisons if pair.phase == "probe"]
    assert not summary.has_found_rates()
    assert "1,000 to 2,000" in rendered(summary)
    reasons = trust.doubts(summary)
    assert trust.mark_of(reasons) == "do not use"
    assert "no highest rate for cassandra and 1 more" in [reason.short for reason in reasons]
    less = precision.judged(summary, 0.05, None).precision
    assert less is not None
    assert ("cassandra", "probe", None) in [(phase.trial, phase.phase, phase.half) for phase in less.short]


def test_that_no_rate_holds_is_a_result(tmp_path: Path) -> None:
    result = came_to(searched(tmp_path, (2000, 1500), (1000, 900), probes=2))
    assert (result.in_vain, result.maximum) == (True, None)
    summary = summarise(tmp_path)
    assert not [reason for reason in trust.doubts(summary) if "highest rate" in reason.text]
    less = precision.judged(summary, 0.05, None).precision
    assert less is not None
    assert less.short == []


def test_where_every_rate_held_the_maximum_is_not_known(tmp_path: Path) -> None:
    result = came_to(searched(tmp_path, (2000, 2000), (2500, 2500), probes=2))
    assert (result.maximum, result.held, result.unmet, result.next_target) == (None, 2500, None, None)
    assert "\N{GREATER-THAN OR EQUAL TO} 2,500" in rendered(summarise(tmp_path))


def test_bounds_are_on_the_latency_from_the_intended_start(tmp_path: Path) -> None:
    """If latencies were measured from the time of sending, their p99 would be 0.002 and 0.004 ms."""
    result = came_to(searched(tmp_path, (2000, 2000), slo="p99<350us"))
    assert result.probes[0].reason == "UPDATE p99 0.388 ms"
    assert probes.intended(result.probes[0].rows)["READ"]["p99"] == pytest.approx(0.327)
    assert came_to(searched(tmp_path / "other", (2000, 2000), slo="read.p99<350us")).probes[0].held


def test_the_shares_of_several_clients_are_one_rate(tmp_path: Path) -> None:
    result = came_to(searched(tmp_path, (7001, 7001), hosts=("node1", "node2", "node3")))
    assert result.probes[0].target == 7001


def test_probes_are_in_no_mean_and_no_count_of_the_runs(tmp_path: Path) -> None:
    about: dict[str, Any] = {"phases": ("read",), "trial_discard": 1}
    searched(tmp_path / "with", (2000, 1500), (1000, 999), facts=about)
    trial(tmp_path / "without", 1, "cassandra", **about)
    (with_probes,), (without,) = summarise(tmp_path / "with").trials, summarise(tmp_path / "without").trials
    for name in ("status", "rows", "clients", "nodes", "servers", "events", "conditions", "by_phase", "notes"):
        assert getattr(with_probes, name) == getattr(without, name)
    assert (without.search, with_probes.search is None) == (None, False)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"valid": False, "reason": "7 of 6000 records (0.12 %) failed"}, "probe-2 on node1: 7 of 6000 records"),
        ({"target": None}, "probe-2: its rate is not known"),
        ({"target": 0}, "probe-2: its rate is not known"),
        ({"target": -5}, "probe-2: its rate is not known"),
    ],
)
def test_an_invalid_probe_ends_the_search_with_its_reason(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    folder = searched(tmp_path, (2000, 1500), (1000, 1000))
    edit_json(folder / "probe-2/node1/client.json", **changes)
    result = came_to(folder)
    assert (result.next_target, result.maximum, result.probes[1].held) == (None, None, None)
    assert result.conclusion.startswith(f"the search for p99<10ms was ended: {reason}")
    assert result.conclusion.endswith(
        "; before that, no rate met p99<10ms: the lowest tried, 2,000 op/s, had only 1,500 op/s"
    )
    assert summarise(tmp_path).trials[0].status == "ok"  # the runs before the search still count


def test_latencies_that_are_missing_end_the_search(tmp_path: Path) -> None:
    folder = searched(tmp_path, (2000, 2000), slo="p90<1s")
    for log in folder.glob("probe-1/*/*.hdr"):
        log.unlink()
    reason = "READ p90: fewer than 10 operations exceed it; set a longer search.duration"
    assert came_to(folder).conclusion == f"the search for p90<1s was ended: probe-1: {reason}"
    # Only three of 3,000 operations are slower than the p99.9, which is too few for a bound.
    assert "READ p99.9: fewer than" in came_to(searched(tmp_path / "few", (2000, 2000), slo="p99.9<1s")).conclusion


def test_runs_that_do_not_count_are_nothing_to_begin_at(tmp_path: Path) -> None:
    folder = searched(tmp_path)
    edit_json(folder / "run-1/node1/client.json", valid=False, reason="stalled")
    result = came_to(folder)
    assert (result.next_target, result.conclusion) == (
        None,
        "the search for p99<10ms was ended: run-1 on node1: stalled",
    )
    for run in folder.glob("run-*"):
        shutil.rmtree(run)
    assert came_to(folder).conclusion.endswith("the runs before it have no rate, so there is no first rate to try")


def ask(folder: Path) -> Any:
    answer = CliRunner().invoke(cli, ["next-probe", str(folder)], standalone_mode=False)
    if answer.exception is not None:
        raise answer.exception
    return json.loads(answer.output)


def test_ansible_is_told_the_next_rate_or_the_end(tmp_path: Path) -> None:
    folder = searched(tmp_path, (2000, 1500), probes=2)
    write_json(folder / "state.json", {"status": "running", "reason": None})
    assert ask(folder) == {"target": 1000, "conclusion": "the search for p99<10ms is not finished"}
    shutil.copytree(folder / "probe-1", folder / "probe-2")
    lasted(folder / "probe-2/node1", 6, target=1000)
    assert ask(folder) == {
        "target": None,
        "conclusion": "1,000 op/s met p99<10ms; 2,000 op/s had only 1,500 op/s; search.probes=2 ended it with rates"
        " 100% apart",
    }


def test_a_folder_without_a_search_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is not the folder of a trial: trial"):
        ask(tmp_path)
    with pytest.raises(BadInputError, match="the trial has no search; add search=max to its scenario"):
        ask(trial(tmp_path, 1, "cassandra"))
    assert "next-probe" not in CliRunner().invoke(cli, ["--help"]).output


@pytest.fixture
def whole(tmp_path: Path) -> Summary:
    """Writes one system with a finished search and one whose trial failed."""
    folder = searched(tmp_path, (2000, 1500), (1000, 999), (1414, 1000), (1414, 1001), precision=0.5)
    shutil.copytree(folder, folder.with_name("02-hbase"))
    edit_json(folder.with_name("02-hbase") / "trial.json", trial_system="hbase")
    write_json(folder.with_name("02-hbase") / "state.json", {"status": "failed", "reason": "no port"})
    return summarise(tmp_path)


def test_the_table_shows_why_a_trial_failed_instead_of_its_search(whole: Summary) -> None:
    for width in (120, 80):
        text = rendered(whole, width)
        assert max(map(len, text.splitlines())) <= width
        assert "cassandra: 1,000 op/s met" in text
        assert "hbase: 1,000 op/s met" not in text


def test_written_forms_have_every_probe(whole: Summary) -> None:
    content = json.loads(whole.json())["trials"][0]["search"]
    assert (content["maximum"], content["unmet"], len(content["probes"])) == (1000, 1414, 4)
    lines = [line for line in csv.DictReader(io.StringIO(whole.csv())) if line["scope"] == "probe"]
    assert {line["trial"] for line in lines} == {"01-cassandra"}
    overall = [line for line in lines if line["operation"] == "OVERALL"]
    names = ("slo", "probe", "probe_target", "probe_held", "probe_maximum", "phase")
    assert [tuple(line[name] for name in names) for line in overall] == [
        ("p99<10ms", "1", "2000.0", "false", "false", "probe"),
        ("p99<10ms", "2", "1000.0", "true", "true", "probe"),
        ("p99<10ms", "3", "1414.0", "false", "false", "probe"),
        ("p99<10ms", "4", "1414.0", "false", "false", "probe"),
    ]
    assert overall[0]["probe_reason"] == "only 1,500 op/s"
    assert all(float(line["p90_ms"]) > 0 for line in lines if line["operation"] == "Intended-READ")


def test_points_and_rounds_have_a_search_each(tmp_path: Path) -> None:
    number = 0
    for turn in (1, 2):
        for batchsize in (1, 100):
            number += 1
            variables = {"trial_point": {"batchsize": str(batchsize)}, "trial_round": turn, "trial_rounds": 2}
            held = 500 * turn / batchsize
            searched(tmp_path, (2000, 1500), (held, held), (2000, 1500), number=number, facts=variables, probes=3)
    summary = summarise(tmp_path)
    assert [trial.search.maximum if trial.search else None for trial in summary.trials] == [500, 5, 1000, 10]
    # Merged trials have no search, because no rate was tried in all rounds.
    assert [merged.search for merged in summary.merged] == [None, None]
    assert {line["scope"] for line in csv.DictReader(io.StringIO(summary.csv()))} == {"cluster", "rounds", "probe"}
    text = rendered(summary)
    assert max(map(len, text.splitlines())) <= 120
    for turn, batchsize, rate in ((1, 1, "500"), (2, 100, "10")):
        name = f"cassandra batchsize={batchsize} round {turn}"
        assert f"{name}: {rate} op/s met p99<10ms" in " ".join(text.split())
    page = table.markdown(summary)
    assert "| cassandra batchsize=100 round 2 | p99<10ms | 2,000 | 10 | 0% |" in page
    assert "| cassandra batchsize=100 round 1 | 2 | 5 | 5 |" in page
    # The rounds of a point are listed together.
    shown = [re.findall(r"batchsize=(\d+) round (\d)", line) for line in page.splitlines() if "| p99<10ms |" in line]
    assert shown == [[("1", "1")], [("1", "2")], [("100", "1")], [("100", "2")]]


def test_a_system_that_failed_in_a_round_has_no_highest_rate(tmp_path: Path) -> None:
    searched_rounds(tmp_path, {"cassandra": (1000, 1010, 990), "hbase": (1340, 1320, 1360)})
    report = tmp_path / "raw/04-cassandra/run-1/node1/client.json"  # hbase in round 2
    edit_json(report, valid=False, exit=5, reason="7 of 6000 records (0.12 %) failed")
    summary = summarise(tmp_path)
    assert summary.comparisons == []
    assert next(reason.text for reason in trust.doubts(summary)) == "1 of 2 have no valid numbers: hbase."
    assert verdict(summary).sentence.startswith("Only cassandra has a highest rate, so there is no comparison")


def test_a_highest_rate_is_not_compared_with_a_run(tmp_path: Path) -> None:
    searched(tmp_path, (1000, 1000), (1020, 1000), (1020, 1000))
    for run in (trial(tmp_path, 2, "hbase") / "run-1", tmp_path / "raw/02-hbase/run-2"):
        reads(run / "node1", [3000] * 3)
    assert verdict(summarise(tmp_path)).sentence.endswith(": there is nothing to compare.")


@pytest.mark.parametrize("value", [None, "x", -1, 1e999, [], {}, [1]])
def test_settings_of_the_wrong_type_are_no_search(value: Any, tmp_path: Path) -> None:
    folder = searched(tmp_path, (2000, 1500))
    edit_json(folder / "trial.json", trial_search=value)
    assert read_trial(folder).search is None


def test_searches_of_trials_that_were_started_by_hand_are_no_rounds(tmp_path: Path) -> None:
    for number, rate in enumerate((1000, 2000), start=1):
        searched(tmp_path, (rate, rate), *[(1.02 * rate, rate)] * 2, number=number)
    summary = summarise(tmp_path)
    maxima = [mean.mean for trial in summary.trials for mean in ranking.decisive(summary, trial).values()]
    assert maxima == [1000, 2000]
