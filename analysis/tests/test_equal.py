"""Tests the phases max and equal: max compares rates, and equal compares latencies at a rate fixed after round 1."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from dohyo.bad_input import BadInputError
from dohyo.cli import cli
from dohyo.evidence.fault_costs import FaultCost, FaultedRun
from dohyo.figures import UNKNOWN
from dohyo.planning import plan
from dohyo.planning.sizing import Sizes
from dohyo.running import runner
from dohyo.running.experiment import Experiment
from dohyo.scenario import loading
from dohyo.scenario.hosts import Hosts
from dohyo.summary import regression
from dohyo.summary.results import Summary
from dohyo.summary.summary import summarise
from dohyo.summary.trial_evidence import own_target
from dohyo.summary.trust import doubts
from dohyo.systems.records import DataNeeds, HostNeeds
from dohyo.tables import table
from dohyo.tables.verdict import verdict
from support.evidence import edit_json, on_screen, reads, rendered, write_json
from support.rounds import STEADY, Played, Rates, Signals, facts, loaded, measured, played
from support.scenarios import shown_plan

ASKED = "phases=max,equal\nrounds=3\n"
SLOWEST: Rates = {"cassandra": [1000, 2000, 2000], "hbase": [800, 3000, 3000]}


def list_phases(folder: Path) -> list[list[tuple[str, str]]]:
    """Returns the name and the target of each phase of each trial, in order."""
    files = sorted(folder.glob("raw/*/trial.json"))
    return [
        [(phase["name"], phase["properties"]["target"]) for phase in json.loads(file.read_text())["trial_phases"]]
        for file in files
    ]


def resumed(experiment: Experiment, monkeypatch: pytest.MonkeyPatch, rates: Rates) -> Played:
    signals = Signals()
    play = Played(rates, signals)
    todo = [trial for trial in experiment.trials if experiment.state(trial) != "done"]
    with played(monkeypatch, play):
        measurement = runner._Measurement(experiment, todo, runner.Options(), signals, Console(file=io.StringIO()))
        measurement.begin_again()
        measurement.carry_out()
    return play


def reasons(summary: Summary) -> list[str]:
    return [reason.text for reason in doubts(summary)]


def without_manifests(folder: Path) -> Path:
    """Removes the manifests, so that tests can change the evidence."""
    for state in folder.glob("raw/*/state.json"):
        edit_json(state, manifest=None)
        (state.parent / "manifest").unlink()
    return folder


ONLY_MAX, BOTH = [("max", "0")], [("max", "0"), ("equal", "560")]


def test_the_rate_is_fixed_after_the_first_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, _, _, code = measured(tmp_path, monkeypatch, ASKED, SLOWEST)
    assert code == 0
    # The target is 70 % of 800, although both systems are faster in later rounds.
    assert facts(experiment)["equal_targets"] == {"": 560}
    assert list_phases(experiment.folder) == [ONLY_MAX] * 2 + [BOTH] * 4
    # Trials at another rate have no numbers.
    experiment.update(equal_targets={"": 600})
    trials = summarise(experiment.folder).trials
    assert [trial.status for trial in trials] == ["ok"] * 2 + ["invalid"] * 4
    assert trials[2].reason == "trial.json: equal has the target 560 op/s, but experiment.json 600"


@pytest.mark.parametrize("before", ["02", "03", "05"])
def test_a_resumed_experiment_has_the_same_rate(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(tmp_path, monkeypatch, ASKED, {"cassandra": [1000], "hbase": [800]}, before=before)
    assert facts(experiment).get("equal_targets") == (None if before == "02" else {"": 560})
    # Rates of later rounds do not change the target.
    resumed(experiment, monkeypatch, {"cassandra": [1000], "hbase": [800] if before == "02" else [700]})
    assert facts(experiment)["equal_targets"] == {"": 560}
    assert list_phases(experiment.folder) == [ONLY_MAX] * 2 + [BOTH] * 4


def test_without_a_valid_rate_it_waits_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never, *_ = measured(tmp_path, monkeypatch, "phases=max,equal\nrounds=2\n", {"cassandra": [0], "hbase": [0]})
    assert "equal_targets" not in facts(never) or not facts(never)["equal_targets"]
    assert any(text.startswith("No latencies at an equal rate: ") for text in reasons(summarise(never.folder)))
    (tmp_path / "later").mkdir()
    later, *_ = measured(tmp_path / "later", monkeypatch, ASKED, {"cassandra": [0, 900, 1000], "hbase": [0, 800, 1000]})
    assert facts(later)["equal_targets"] == {"": 560}
    assert list_phases(later.folder) == [ONLY_MAX] * 4 + [BOTH] * 2


def test_a_system_that_was_disturbed_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(tmp_path, monkeypatch, ASKED, {"cassandra": [1000], "hbase": [0, 500, 500]})
    assert facts(experiment)["equal_targets"] == {"": 350}
    assert list_phases(experiment.folder)[:4] == [ONLY_MAX] * 4


def test_a_rate_that_is_given_at_a_point_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "phases=max,equal\nrounds=2\nmatrix.equal.target=0,500\n"
    experiment, *_ = measured(tmp_path, monkeypatch, text, {"cassandra": [1000], "hbase": [800]})
    assert facts(experiment)["equal_targets"] == {"equal.target=0": 560}
    assert [trial.status for trial in summarise(experiment.folder).trials] == ["ok"] * 8


def test_every_point_has_its_own_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(
        tmp_path,
        monkeypatch,
        "phases=max,equal\nrounds=2\nmatrix.max.batchsize=1,2\n",
        {"cassandra": [1000, 500], "hbase": [800, 400]},
    )
    assert facts(experiment)["equal_targets"] == {"max.batchsize=1": 560, "max.batchsize=2": 280}
    assert [phases[-1] for phases in list_phases(experiment.folder)] == [("max", "0")] * 4 + [
        *[("equal", "560")] * 2, *[("equal", "280")] * 2
    ]  # fmt: skip


def test_points_that_are_compared_have_one_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # HBase lacks the dimension and has no valid rate in the first round, so it is measured at Cassandra's rate.
    text = "phases=max,equal\nrounds=2\nmatrix.cassandra_gc=G1,ZGC\n"
    experiment, *_ = measured(tmp_path, monkeypatch, text, {"cassandra": [1000, 900], "hbase": [0, 800]})
    assert set(facts(experiment)["equal_targets"].values()) == {630}
    assert len(facts(experiment)["equal_targets"]) == 3


def test_points_that_are_compared_wait_for_one_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{ASKED}matrix.cassandra_gc=G1,ZGC\n"
    experiment, *_ = measured(tmp_path, monkeypatch, text, {"cassandra": [1000, 900, 900], "hbase": [0, 500, 500]})
    assert {*facts(experiment)["equal_targets"].values()} == {350}


def test_conditions_are_those_of_both_also_with_one_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(tmp_path, monkeypatch, ASKED, {"cassandra": [1000], "hbase": [800]})
    for late in experiment.folder.glob("raw/0[3-6]-*"):
        edit_json(late / "trial.json", trial_reuse="x")
        write_json(late / "kept.json", {"load": f"01-{late.name[3:]}"})
        shutil.rmtree(late / "load")
    merged = summarise(without_manifests(experiment.folder)).merged
    assert [trial.by_phase["equal"]["target"] for trial in merged] == [560, 560]


def test_the_screen_has_failures_of_a_phase_in_its_own_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(tmp_path, monkeypatch, ASKED, {"cassandra": [1000], "hbase": [800]})
    summary = summarise(experiment.folder)
    assert "not found" not in " ".join(on_screen(summary).split())
    for merged in summary.merged:
        merged.rows[:] = [
            row if (row.phase, row.operation) != ("equal", "OVERALL") else type(row)(**{**vars(row), "errors": 7})
            for row in merged.rows
        ]
    errors = [line.split()[-1] for line in on_screen(summary).splitlines() if line[2:11] in ("cassandra", "hbase    ")]
    assert errors == ["0", "0", "7", "7"]


def test_who_falls_behind_is_named_and_nothing_is_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(tmp_path, monkeypatch, ASKED, {"cassandra": [1000], "hbase": [800, 800, 500]})
    summary = summarise(experiment.folder)
    assert [pair.phase for pair in summary.comparisons] == ["max"]
    assert "Some systems missed the equal rate (hbase 500 of 560 op/s): latencies are not ranked." in reasons(summary)
    assert "at own max / own rate" in on_screen(summary)


def test_precision_looks_at_max_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(
        tmp_path, monkeypatch, "phases=max,equal\nrounds=3\nprecision=5%\n", {"cassandra": STEADY, "hbase": STEADY}
    )
    # The precision ignores the phase equal, which has one round fewer than max and would need more.
    assert facts(experiment)["rounds_ended"] == "precision"
    experiment, *_ = measured(
        tmp_path / "here", monkeypatch, "phases=max,equal\nrounds=3\nprecision=5%\nrounds.max=4\n",
        {"cassandra": [1000, 1900, 1000], "hbase": STEADY},
    )  # fmt: skip
    precision = summarise(experiment.folder).precision
    assert precision is not None
    (short,) = precision.short
    assert (short.trial, short.phase, short.rounds) == ("cassandra", "max", 4)


def test_a_given_rate_is_measured_in_the_first_round_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, *_ = measured(tmp_path, monkeypatch, "phases=max,equal\nequal.target=300\n", SLOWEST)
    assert list_phases(experiment.folder) == [[("max", "0"), ("equal", "300")]] * 2
    assert "equal_targets" not in facts(experiment)
    assert "at equal rate 300 op/s" in table.legend(summarise(experiment.folder))


def test_compare_has_what_equal_reached_and_its_latencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compared(before: int, after: int) -> regression.Changes:
        summaries = []
        for number, rate in enumerate((before, after)):
            (folder := tmp_path / f"{before}-{after}-{number}").mkdir()
            experiment, *_ = measured(folder, monkeypatch, ASKED, {"cassandra": [rate], "hbase": [rate]})
            summaries.append(summarise(experiment.folder))
        return regression.compare(summaries[0], summaries[1])

    same = compared(1000, 1000)
    assert {change.pair.phase for change in same.changes} == {"max", "equal"}
    figures = {change.pair.figure for change in same.changes if change.pair.phase == "equal"}
    assert figures == {"ops_per_second", "p99_ms"}
    assert not same.differences
    slower = compared(1000, 1020)
    assert slower.comparable
    assert {change.verdict for change in slower.changes if change.pair.phase == "equal"} == {"within"}
    assert (700, 714) in {change.at_rates for change in slower.changes if change.pair.phase == "equal"}
    differences = [
        (line.phase, line.condition, line.before, line.after, line.must_be_equal) for line in slower.differences
    ]
    assert differences == [("equal", "target", "700", "714", False)] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("phases=max,equal", "rounds=1: round 1 determines the rate of equal; .*rounds=2.*equal.target=N"),
        ("phases=equal rounds=2", "phases=equal: equal needs max and no other phase.*set phases=max,equal"),
        ("phases=max,read,equal rounds=2", "equal needs max and no other phase"),
        ("phases=max,equal rounds=2 target=500", "target=500 with .*: max has no target rate; set equal.target=500"),
        ("phases=max,read max.target=500", "max.target=500 with phases=max,read: max has no target rate; leave it out"),
        ("phases=max,equal rounds=2 search=max slo=p99<10ms", "search=max with phases=max,equal: a search sets"),
        ("phases=max,equal equal.target=500 equal.share=50%", "equal.share=50% with equal.target=500: both say"),
        ("phases=max equal.share=50%", "equal.share=50% with phases=max: there is no phase equal"),
        ("phases=max,equal rounds=2 equal.share=0%", "equal.share=0%: must be a percentage from 1 to 100"),
        ("phases=max,read,own", "phases=max,read,own: own needs max and no other phase.*set phases=max,own"),
        ("phases=max,own equal.share=50%", "equal.share=50% with phases=max,own: there is no phase equal"),
        ("phases=max own.share=50%", "own.share=50% with phases=max: there is no phase own"),
        ("phases=max,own own.target=500", "own.target=500: the phase max determines this rate"),
        ("phases=max,own search=max slo=p99<10ms", "search=max with phases=max,own: a search sets"),
        ("phases=max,equal rounds=2 matrix.target=0,500", "at target=500: target=500 with phases=max,equal"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=expected):
        loaded(tmp_path, text.replace(" ", "\n") + "\n")


def test_the_plan_says_which_rounds_have_it(tmp_path: Path) -> None:
    chosen = loaded(tmp_path, ASKED)
    assert plan.course(chosen) == (
        "1 × (max, equal: 1 s warm-up + 3 s each), equal from round 2 on, at 70% of the slowest system's max in round 1"
    )
    fixed = loaded(tmp_path, "phases=max,equal\nequal.target=5000\n")
    assert plan.course(fixed).endswith("equal at 5,000 op/s")
    sizes = Sizes(chosen, Hosts(1, 10**11, 10**12, clients=False, where="x"), {})
    needs = HostNeeds(1000, DataNeeds(1.0, spread=False))
    assert sizes.trial_seconds(needs, 2) == sizes.trial_seconds(needs, 1) + 4
    assert [plan.phases_in(scenario, 1) for scenario in (chosen, fixed)] == [["max"], ["max", "equal"]]


# ---- The phase own: a share of each system's maximum ----

OWN = "phases=max,own\nown.share=50%\nown.duration=6s\n"


@pytest.fixture(scope="module")
def one_round(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of an experiment with the phase own. Tests must not change the folder."""
    rates: Rates = {"cassandra": [1000], "hbase": [800]}
    with pytest.MonkeyPatch.context() as patch:
        return measured(tmp_path_factory.mktemp("own"), patch, OWN, rates)[0].folder


def test_each_system_has_a_share_of_its_own_rate_in_the_first_round_too(one_round: Path, tmp_path: Path) -> None:
    assert plan.course(loaded(tmp_path, OWN)).endswith("own at 50% of each system's own max")
    experiment = shutil.copytree(one_round, tmp_path / "copy")
    for system, rate in (("cassandra", 500), ("hbase", 400)):
        [folder] = experiment.glob(f"raw/*-{system}")
        phases = json.loads((folder / "trial.json").read_text())["trial_phases"]
        assert [(phase["name"], phase.get("share")) for phase in phases] == [("max", None), ("own", 0.5)]
        # Simulate a running trial.
        edit_json(folder / "state.json", status="running", manifest=None)
        asked_for = CliRunner().invoke(cli, ["own-target", str(folder)], standalone_mode=False, catch_exceptions=False)
        assert (asked_for.exit_code, asked_for.output) == (0, f"{rate}\n")
    shutil.rmtree(folder / "max-1")
    with pytest.raises(BadInputError, match=r"hbase: own has no rate, as max is not valid: it has no rate"):
        own_target(folder)


def test_each_line_of_the_screen_has_one_phase_also_with_a_share(one_round: Path, tmp_path: Path) -> None:
    experiment = shutil.copytree(one_round, tmp_path / "copy")
    for client in experiment.glob("raw/*/own-1/node1"):
        target = json.loads((client / "client.json").read_text())["target"]
        reads(client, [400] * 6, 200)
        edit_json(client / "client.json", target=target)
    summary = summarise(without_manifests(experiment))
    lines = [line.split() for line in on_screen(summary).splitlines() if line[2:11] in ("cassandra", "hbase    ")]
    assert [line[:3] for line in lines][:2] == [["1", "cassandra", "1,000"], ["2", "hbase", "800"]]
    assert [line[0] for line in lines][2:] == [UNKNOWN, UNKNOWN]
    assert ["0.20" in line for line in lines] == [False, False, True, True]


def test_systems_are_not_ranked_by_a_share_of_their_own_rate(one_round: Path) -> None:
    summary = summarise(one_round)
    assert [(pair.phase, pair.operation) for pair in summary.comparisons] == [("max", "OVERALL")]
    assert verdict(summary).brief.startswith("Preliminary: cassandra was 1.25×")


def test_who_does_not_reach_its_share_is_named(one_round: Path) -> None:
    summary = summarise(one_round)
    assert not any("their own rate" in text for text in reasons(summary))
    _, hbase = summary.trials
    for index, row in enumerate(hbase.rows):
        if (row.phase, row.operation) == ("own", "OVERALL"):
            hbase.rows[index] = replace(row, ops_per_second=300)
    reason = "Some systems missed the share of their own rate: hbase 300 of 400 op/s."
    assert reason in reasons(summary)
    # A system need not reach the rate after a fault, but it must reach the rate before the first fault.
    for before, expected in ((380.0, False), (350.0, True), (None, False)):
        hbase.faults[:] = [FaultedRun("own", 1, "kill(any)@1s", before, [], {}, None, 3)]
        assert any("hbase 350 of 400 op/s" in text for text in reasons(summary)) == expected


def test_rounds_at_own_rates_are_not_at_that_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In the first round, both systems run at 500 op/s. In the second round, one of them runs at 1,000 op/s.
    experiment, *_ = measured(tmp_path, monkeypatch, OWN + "rounds=2\n", {"cassandra": [1000, 2000], "hbase": [1000]})
    summary = summarise(experiment.folder)
    assert {pair.phase for pair in summary.comparisons} == {"max"}
    assert [trial.by_phase["own"]["target"] for trial in summary.compared] == [750, 500]
    shown = rendered(summary, 200)
    assert "at its own rate in own" in shown
    assert "target 750 op/s per client" in shown


def test_a_faster_system_has_not_more_errors_under_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulted(name: str, rate: int) -> Summary:
        (tmp_path / name).mkdir()
        rates = {"cassandra": [rate], "hbase": [800]}
        summary = summarise(measured(tmp_path / name, monkeypatch, OWN + "rounds=4\n", rates)[0].folder)
        cost = FaultCost("kill", "any", ["node1"], 1, None, 2, 1, 1, True, 1, True, 1, None, None)
        for trial in summary.trials:
            errors = {"ERROR": rate if trial.system == "cassandra" else 800}
            trial.faults.append(FaultedRun("own", 1, "kill(any)@1s", rate / 2, [cost], errors, None, 3))
        return summary

    changes = regression.compare(faulted("before", 1000), faulted("after", 2000), force=True).faults
    assert {(change.system, change.verdict) for change in changes} == {("cassandra", "within"), ("hbase", "within")}
    assert {change.system for change in changes if change.figure == "errors"} == {"hbase"}


def test_repeats_at_rates_of_their_own_have_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(self: Played, name: str, inventory: Path | None, log: Path, **options: Any) -> Any:
        failure = once(self, name, inventory, log, **options)
        if name == "trial.yml":
            folder = Path(options["variables"]["trial_dir"])
            for phase, rate, seconds in (("max", 1200, 3), ("own", 600, 6)):
                shutil.copytree(folder / f"{phase}-1", folder / f"{phase}-2")
                reads(folder / f"{phase}-2/node1", [rate] * seconds)
            edit_json(folder / "own-2/node1/client.json", target=600)
        return failure

    once = Played.__call__
    monkeypatch.setattr(Played, "__call__", again)
    experiment, *_ = measured(tmp_path, monkeypatch, OWN + "repeats=2\n", {"cassandra": [1000], "hbase": [800]})
    summary = summarise(experiment.folder)
    assert [trial.by_phase["own"]["target"] for trial in summary.compared] == [550, 500]
    assert "at its own rate in own" in rendered(summary, 200)


def test_servers_and_loads_are_the_same_in_all_rounds(tmp_path: Path) -> None:
    chosen = loaded(tmp_path, ASKED + "equal.threadcount=64\nreuse=data\n")
    first, *_, last = plan.trials(chosen)
    early, late = (plan.variables(trial, tmp_path, keep=False, targets={"": 560}) for trial in (first, last))
    assert (early["trial_threads"], late["trial_threads"]) == (64, 64)
    assert [len(variables["trial_phases"]) for variables in (early, late)] == [1, 2]
    same_load = [trial for trial in plan.trials(chosen) if trial.system == "cassandra"]
    assert len({plan.load_of(trial, tmp_path) for trial in same_load}) == 1


def test_a_file_s_phases_take_their_share_along(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("recordcount=10\nduration=3\nphases=max,equal\nequal.share=50%\nrounds=2\nmax.other.cpu=10%\n")
    scenario = loading.load(file, {"phases": "read"})
    assert (scenario["equal.share"], scenario["max.other.cpu"]) == ("70%", "10%")


def test_a_broken_rate_counts_as_none(tmp_path: Path) -> None:
    chosen = loaded(tmp_path, ASKED)
    experiment = Experiment(tmp_path, chosen)
    targets: Any
    assert experiment.equal_targets == {}
    for targets in ({"": -5}, {"": "x"}, {"": None}, [], 5):
        write_json(tmp_path / "experiment.json", {"equal_targets": targets})
        assert experiment.equal_targets == {}


def test_sizing_shows_the_equal_phase(tmp_path: Path) -> None:
    chosen = loaded(tmp_path, ASKED.replace("rounds=3", "rounds=2"))
    needs = dict.fromkeys(("cassandra", "hbase"), HostNeeds(1000, DataNeeds(1.0, spread=False)))
    sizes = Sizes(chosen, Hosts(1, 10**11, 10**12, clients=False, where="x"), needs)
    assert "equal from round 2 on, at 70% of the slowest system's max in round 1" in shown_plan(chosen, [sizes], 500)
