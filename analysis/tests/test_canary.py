"""Tests whether the canary detects hosts that changed between trials, and what the summary says about them."""

import io
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dohyo.evidence import canary
from dohyo.evidence.canary import Canary, CanaryFigure, Comparison, compare
from dohyo.evidence.records import CanaryFile, decoded
from dohyo.evidence.text_file import Warn
from dohyo.planning import plan, sizing
from dohyo.running.progress import Forecast, Progress
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.scenario import Scenario
from dohyo.summary.summary import summarise
from dohyo.systems.records import DataNeeds, HostNeeds
from dohyo.tables import table
from support.evidence import edit_json, rendered, trial, write_json


def slices(middle: float, spread: float = 0.01) -> list[float]:
    """Returns seven values around `middle`. The lowest and the highest differ by `spread` × `middle`."""
    return [middle * (1 + spread * (number - 3) / 6) for number in range(7)]


def figure(name: str, values: list[float], peer: str | None = None) -> dict[str, Any]:
    units = {"cpu_one": "1/s", "cpu_all": "1/s", "disk_fsync": "1/s", "rtt": "ms"}
    return {"name": name, "of": peer, "unit": units.get(name, "B/s"), "slices": values}


def content(host: str = "host1", network: tuple[dict[str, Any], ...] = (), **figures: list[float]) -> dict[str, Any]:
    """Returns the content of canary.json with the figures of one host."""
    own_figures = [figure(name, values) for name, values in figures.items()]
    return {
        "at": "2026-11-21T20:00:00Z",
        "hosts": {host: {"figures": own_figures, "problems": []}},
        "network": {host: {"figures": list(network), "problems": []}},
    }


def read(content: dict[str, Any], complain: Warn = pytest.fail) -> Canary | None:
    return canary.read(decoded(content, CanaryFile, complain))


def compared(*contents: dict[str, Any]) -> Comparison:
    comparison = compare({f"{number:02d}-{'ab'[number % 2]}": read(values) for number, values in enumerate(contents)})
    assert comparison is not None
    return comparison


def test_hosts_that_are_the_same_need_one_line() -> None:
    comparison = compared(
        content(cpu_one=slices(200), memory=slices(8e9)),
        content(cpu_one=slices(199), memory=slices(8.1e9)),
        content(cpu_one=slices(201), memory=slices(8.17e9)),
    )
    assert comparison.drifts == []
    same = "hosts before each trial: CPU and memory the same within 5 %; largest drift 1.2 % (memory of host1)"
    assert comparison.headline() == same
    assert comparison.sentences() == []


def test_a_drift_names_host_figure_trial_and_values() -> None:
    comparison = compared(*(content("host3", disk_fsync=slices(rate, 0.1)) for rate in (600, 594, 410, 580)))
    (drift,) = comparison.drifts
    assert (drift.trial, drift.host, drift.figure) == ("02-a", "host3", "disk_fsync")
    assert (drift.value, drift.usual) == (410, 594)
    assert drift.change == pytest.approx(410 / 594 - 1)
    assert comparison.headline() == "hosts before each trial: disk not the same"
    assert comparison.sentences() == [
        "host3: disk writes with fsync were 31 % slower before 02-a (410/s) than the median of 4 trials (594/s)"
    ]


def test_of_two_trials_the_slower_one_is_named() -> None:
    comparison = compared(content(cpu_all=slices(400)), content(cpu_all=slices(440)))
    assert comparison.sentences() == [
        "host1: computing on all threads was 9 % slower before 00-a (400/s) than before 01-b (440/s)"
    ]


def test_a_b_a_b_shows_what_differs_with_the_system() -> None:
    comparison = compared(*(content(memory=slices(rate)) for rate in (8e9, 7.5e9, 8e9, 7.5e9)))
    assert {drift.trial: round(drift.change, 4) for drift in comparison.drifts} == {"01-b": -0.0625, "03-b": -0.0625}


def test_each_way_of_the_network_is_a_figure_of_its_own_and_more_time_is_longer() -> None:
    def ways(ms: float) -> tuple[dict[str, Any], ...]:
        return figure("rtt", slices(0.1), "host1"), figure("rtt", slices(ms), "host2")

    comparison = compared(*(content(network=ways(ms)) for ms in (0.1, 0.1, 0.25)))
    assert comparison.sentences() == [
        "host1 to host2: round trips were 150 % longer before 02-a (0.250 ms) than the median of 3 trials (0.100 ms)"
    ]


@pytest.mark.parametrize(
    ("before", "after", "unsteady"),
    [
        (slices(100, 0.01), slices(104, 0.01), False),  # the medians differ by less than 5 %
        (slices(100, 0.3), slices(108, 0.3), True),  # this would be a drift if the slices scattered less
        (slices(100, 0.01), [*slices(110, 0.01)[:6], 99.9], True),  # one later slice is within the earlier range
        (slices(100, 0.01)[:4], slices(150, 0.01)[:4], True),  # four slices may differ by chance
    ],
)
def test_what_is_small_or_unsteady_is_no_drift(before: list[float], after: list[float], unsteady: bool) -> None:
    comparison = compared(content(cpu_one=before), content(cpu_one=after))
    assert comparison.drifts == []
    assert comparison.unsteady == (["CPU"] if unsteady else [])
    assert comparison.same == ([] if unsteady else ["CPU"])
    assert ("CPU too unsteady to tell; largest drift " in comparison.headline()) == unsteady


def test_one_odd_trial_among_others_neither_hides_a_drift_nor_makes_others() -> None:
    trials = ((100, 0.01), (60, 2), (100, 0.01), (80, 0.01))
    comparison = compared(*(content(cpu_one=slices(rate, spread)) for rate, spread in trials))
    assert {drift.trial for drift in comparison.drifts} == {"03-b"}


def test_many_drifts_are_told_by_the_largest() -> None:
    def ways(share: float) -> tuple[dict[str, Any], ...]:
        return tuple(figure("throughput", slices(1e9 * share**number), f"host{number}") for number in range(20))

    comparison = compared(content(network=ways(1)), content(network=ways(0.8)))
    assert len(comparison.drifts) == 19
    sentences = comparison.sentences()
    assert len(sentences) == 9
    worst = "host1 to host19: sending was 99 % slower before 01-b (14.41 MB/s) than before 00-a (1 GB/s)"
    assert sentences[0] == worst
    assert sentences[-1] == "11 smaller drifts are in summary.json"


def test_one_canary_has_nothing_to_be_compared_with() -> None:
    assert compare({"a": read(content(cpu_one=slices(1))), "b": read({}), "c": None}) is None
    comparison = compared(content(cpu_one=slices(1), memory=slices(1)), content(memory=slices(1)))
    assert (comparison.trials, comparison.same) == (2, ["memory"])


def test_damaged_evidence_is_left_out() -> None:
    damaged = {"hosts": {"h": {"figures": [{}, 3, {"name": "x", "slices": [1]}, figure("memory", [0, -1])]}, "i": 3}}
    warnings: list[str] = []
    assert read(damaged, warnings.append) == Canary(None)
    assert warnings == [
        "hosts.h.figures[1] is 3: expected `object`, got `int`",
        "hosts.i is 3: expected `object`, got `int`",
    ]
    valid = read(content(memory=[0, 5e9]))
    assert valid is not None
    assert valid.figures == [CanaryFigure("host1", "memory", None, "B/s", 5e9, 5e9, 5e9, 1)]


def test_the_summary_compares_the_canaries_of_all_trials(tmp_path: Path) -> None:
    first, second = trial(tmp_path, 1, "cassandra"), trial(tmp_path, 2, "hbase")
    assert "hosts before each trial" not in rendered(summarise(tmp_path), 200)
    write_json(first / "canary.json", content(disk_write=slices(2e9)))
    write_json(second / "canary.json", content(disk_write=slices(1e9)))
    edit_json(second / "state.json", status="failed", reason="it did not start")  # the canary still counts
    summary = summarise(tmp_path)
    sentence = (
        "host1: sequential disk writes were 50 % slower before 02-hbase (1 GB/s) than before 01-cassandra (2 GB/s)"
    )
    assert sentence in rendered(summarise(tmp_path), 200)
    assert f"- {sentence}" in table.markdown(summary)
    written = json.loads(summary.json())
    assert written["canary"]["drifts"][0]["what"] == sentence
    assert written["trials"][0]["canary"]["figures"] == [
        {
            "host": "host1", "name": "disk_write", "of": None, "unit": "B/s",
            "median": 2e9, "low": pytest.approx(1.99e9), "high": pytest.approx(2.01e9), "slices": 7,
        }
    ]  # fmt: skip


def test_what_could_not_be_measured_is_a_note_of_the_trial(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    problem = "the network to node2 (192.0.2.12:40123) was not measured: timed out"
    write_json(folder / "canary.json", {**content(), "network": {"node1": {"figures": [], "problems": [problem]}}})
    assert f"cassandra: node1: {problem}" in rendered(summarise(tmp_path), 200)


def test_rounds_have_a_canary_each_and_what_is_merged_none(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = trial(tmp_path, number, "cassandra", trial_rounds=2, trial_round=number)
        write_json(folder / "canary.json", content(memory=slices(8e9)))
    summary = summarise(tmp_path)
    assert [result.canary is not None for result in summary.trials] == [True, True]
    assert [result.canary for result in summary.merged] == [None]
    assert summary.canary is not None
    assert summary.canary.headline().endswith(": memory the same within 5 %; largest drift 0.0 % (memory of host1)")


WITH = Scenario("small", {"recordcount": "30000", "duration": "10", "systems": "cassandra"}, {})
WITHOUT = Scenario("small", {**WITH.values, "canary": "false"}, {})


def test_a_trial_has_a_canary_unless_the_scenario_does_not_want_it(tmp_path: Path) -> None:
    flags = [plan.variables(plan.trials(chosen)[0], tmp_path, keep=False)["trial_canary"] for chosen in (WITH, WITHOUT)]
    assert flags == [True, False]


def test_its_time_is_in_the_plan_and_in_the_forecast() -> None:
    needs = HostNeeds(0, DataNeeds(0))
    times = [sizing.Sizes(scenario, Hosts(count=1), {}).trial_seconds(needs) for scenario in (WITH, WITHOUT)]
    assert times[0] - times[1] == plan.CANARY_SECONDS
    seconds = [Forecast(plan.trials(scenario)).remaining(0) for scenario in (WITH, WITHOUT)]
    assert seconds[0] - seconds[1] > plan.CANARY_SECONDS
    forecast = Forecast(plan.trials(WITH))
    forecast.begin(plan.trials(WITH))
    steps = []
    for phase in ("start", "canary", "start", "schema"):
        forecast.enter(phase, 0)
        steps.append(forecast.remaining(0))
    assert steps == sorted(set(steps), reverse=True)


def test_progress_says_that_hosts_are_measured() -> None:
    display = Progress(plan.trials(WITH), Console(file=io.StringIO()))
    display.trial(1, plan.trials(WITH))
    display.event({"event": "phase", "phase": "canary", "run": None})
    assert display.activity == "measuring the hosts (canary)"
    display.event({"event": "phase", "phase": "start", "run": None})
    assert display.activity == "starting the servers"


def test_the_words_of_all_figures() -> None:
    units = {"ms": 0.1, "B/s": 1e9, "1/s": 100}
    for name in canary._WORDS:
        base = figure(name, slices(1), "host2")
        result = compared(*(content(network=({**base, "slices": slices(units[base["unit"]] * s)},)) for s in (1, 2)))
        assert re.search(r"host2: .* (50 % slower|100 % longer) before ", result.sentences()[0])
        assert asdict(result)["drifts"][0]["figure"] == name
