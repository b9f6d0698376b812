"""Tests trials that take turns while the servers of all trials run (docs/interleaving.md)."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dohyo.bad_input import BadInputError
from dohyo.planning import plan
from dohyo.planning.plan import PlannedTrial, first_start
from dohyo.running import experiment, interleaving, rounds
from dohyo.summary.comparison import took_turns
from dohyo.summary.conditions import Conditions
from dohyo.summary.results import Trial
from dohyo.summary.summary import summarise
from dohyo.trial.turns import OwnTurns, Turns
from support.evidence import edit_json, in_rounds, reads, trial, write_json
from support.scenarios import load

ASKED = "recordcount=100\nduration=5\ninterleave=on\nrepeats=3\nrounds=2\nsystems=cassandra,mysql-innodb,postgresql\n"


def planned(folder: Path, *assignments: str) -> list[PlannedTrial]:
    return plan.trials(load(folder, ASKED, *assignments))


def systems(trials: list[PlannedTrial]) -> list[str]:
    return [trial.system for trial in trials]


@pytest.mark.parametrize(
    ("assignments", "together"),
    [
        ((), ["cassandra", "mysql-innodb", "postgresql"]),
        (("interleave=off",), ["cassandra"]),
        (("matrix.threadcount=1,2",), ["cassandra", "mysql-innodb", "postgresql"]),
    ],
)
def test_the_systems_of_a_round_at_a_point_are_up_together(
    tmp_path: Path, assignments: tuple[str, ...], together: list[str]
) -> None:
    assert systems(first_start(planned(tmp_path, *assignments))) == together


def test_systems_that_take_no_turns_are_named(tmp_path: Path) -> None:
    assert interleaving.apart(planned(tmp_path)) == []
    assert interleaving.apart(planned(tmp_path, "interleave=off")) == []
    assert interleaving.apart(planned(tmp_path, "systems=cassandra", "rounds=1")) == ["cassandra"]


def test_a_start_is_repeated_whole(tmp_path: Path) -> None:
    trials = planned(tmp_path)
    assert interleaving.whole(trials, []) == []
    assert interleaving.whole(trials, [trials[1]]) == trials[:3]
    # If one system is not available, the other systems keep their results.
    assert interleaving.whole(trials, [trials[1], trials[4]], [trials[1], trials[4]]) == [trials[1], trials[4]]
    assert interleaving.whole(trials, trials[:2], trials[1:2]) == trials[:3]
    apart = planned(tmp_path, "interleave=off")
    assert interleaving.whole(apart, [apart[1], apart[4]]) == [apart[1], apart[4]]


def test_a_block_has_a_window_of_each_system_in_random_order(tmp_path: Path) -> None:
    start = first_start(planned(tmp_path, "repeats=9"))
    names = [trial.name for trial in start]
    turns = interleaving.turns_of(start, tmp_path)
    assert turns == interleaving.turns_of(start, tmp_path), "--resume needs the same order"
    assert [*turns.order[:3]] == [*turns.order[-3:]] == names, "all trials load before the runs and end after them"
    blocks = [tuple(turns.order[index : index + 3]) for index in range(3, 30, 3)]
    assert len(blocks) == 9
    assert all(sorted(block) == sorted(names) for block in blocks)
    assert len({*blocks}) > 3


def test_a_trial_knows_its_turns_and_the_lanes_beside_it(tmp_path: Path) -> None:
    start = first_start(planned(tmp_path))
    variables = interleaving.variables(start[1], start, tmp_path)
    assert variables["trial_turns"]["name"] == start[1].name
    assert (variables["trial_lane"], variables["trial_beside"]) == ("mysql", ["cassandra", "postgresql"])
    assert variables["trial_group"] == interleaving.variables(start[0], start, tmp_path)["trial_group"]
    assert interleaving.variables(start[1], start[1:2], tmp_path) == {}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("repeats=1", "interleave=on with repeats=1"),
        ("systems=hbase,mysql-innodb,mysql-myisam", "interleave=on with mysql-innodb and mysql-myisam"),
        ("phases=read,update", "interleave=on with phases=read,update"),
        ("phases=insert", "interleave=on with phases=insert"),
        ("reuse=data", "interleave=on with reuse=data: not possible; set reuse=none"),
        ("settle=phases", "interleave=on with settle=phases"),
        ("verify=acknowledged", "interleave=on with verify=acknowledged"),
        ("faults=kill(node1)@2s", "interleave=on with faults="),
    ],
)
def test_what_cannot_take_turns_is_refused(tmp_path: Path, assignment: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        planned(tmp_path, assignment, *(["repeats=1"] if assignment == "phases=insert" else []))


def test_windows_of_a_single_start_are_no_independent_samples() -> None:
    def trials(rounds: tuple[int, ...], *, interleaved: int | None = 2) -> list[Trial]:
        shared = Conditions(interleaved=interleaved)
        return [Trial(name, name, name, "ok", round=turn, conditions=shared) for name in "ab" for turn in rounds]

    def merged(interleaved: int | None = 2) -> list[Trial]:
        return trials((0,), interleaved=interleaved)

    assert not took_turns(trials((1,)), trials((1,)))
    assert not took_turns(merged(), trials((1, 2)))
    assert took_turns(merged(), trials((1, 2, 3)))
    assert not took_turns(merged(), trials((1, 2, 3))[:-1]), "a round of one system is not valid"
    assert not took_turns(merged(None), trials((1, 2, 3), interleaved=None))


@pytest.mark.parametrize("invalid_rounds", [(1, 2, 3), (2,)])
def test_ratios_stay_paired_beside_a_system_without_numbers(tmp_path: Path, invalid_rounds: tuple[int, ...]) -> None:
    rates = {"cassandra": (1000, 2000, 4000), "hbase": (900, 1805, 3590), "scylla": (500, 1000, 2000)}
    turns = {"order": list(rates)}
    for turn, system, folder in in_rounds(tmp_path, 3, rates, trial_turns=turns):
        reads(folder / "run-1/node1", [rates[system][turn - 1]] * 20)
        if system == "scylla" and turn in invalid_rounds:
            # With exit code 5, the system has failed, and none of its rounds counts.
            edit_json(folder / "run-1/node1/client.json", exit=5, valid=False)
    (pair,) = summarise(tmp_path).comparisons
    assert (pair.of, pair.to, pair.tie) == ("cassandra", "hbase", False)


def test_a_round_of_trials_that_take_turns_lasts_as_long_as_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, system in enumerate("ab", start=1):
        folder = trial(tmp_path, number, system, 1, trial_turns={"order": ["01-a", "02-b"] * 3})
        times = {"started": "2026-11-21T10:00:00", "finished": "2026-11-21T10:05:00"}
        write_json(folder / "state.json", {"status": "done", "reason": None, **times})
    assert summarise(tmp_path).round_seconds == 300
    scenario = load(tmp_path, ASKED)
    begun = experiment.create(scenario, experiment.new_folder(scenario, tmp_path / "here"), {"inventory": None})
    monkeypatch.setattr(experiment.Experiment, "seconds", lambda *_: 300.0)
    assert rounds._expected(begun, [planned for planned in begun.trials if planned.round == 2]) == 300


class Bout:
    """Runs trials in threads, and records when each has a turn. One trial may fail in one of its turns."""

    def __init__(self, folder: Path, order: list[str], fails: tuple[str, int] = ("", 0)) -> None:
        self.turns = Turns(folder / "turns", order)
        self.fails = fails
        self.seen: list[str] = []
        self.working = threading.Lock()

    def carry_out(self, name: str) -> None:
        turns = OwnTurns({"folder": str(self.turns.folder), "order": self.turns.order, "name": name})
        try:
            for turn in range(self.turns.order.count(name) - 1):
                with turns.turn():
                    assert self.working.acquire(blocking=False), "two trials work at the same time"
                    self.seen.append(name)
                    if (name, turn) == self.fails:
                        raise ValueError(name)
                    self.working.release()
            turns.wait()
            assert self.working.acquire(blocking=False), "two trials work at the same time"
        except ValueError:
            time.sleep(0.3)  # simulate stopping the servers, for which the other trials wait
        self.seen.append(f"{name} ends")
        self.working.release()


def held(folder: Path, order: list[str], fails: tuple[str, int] = ("", 0)) -> list[str]:
    """Runs trials with these names in threads, and returns the turns in the order in which the trials took them."""
    bout = Bout(folder, order, fails)
    start = [PlannedTrial(name, name, None) for name in dict.fromkeys(order)]  # type: ignore[arg-type]
    interleaving.measure(start, bout.turns, lambda trial: bout.carry_out(trial.name), lambda: None)
    return bout.seen


def test_only_one_trial_works_at_any_time(tmp_path: Path) -> None:
    order = ["a", "b", "b", "a", "a", "b", "a", "b"]
    assert held(tmp_path, order) == [*order[:6], "a ends", "b ends"]


@pytest.mark.parametrize("turn", [0, 1])
def test_the_others_go_on_when_a_failed_trial_has_stopped_its_servers(tmp_path: Path, turn: int) -> None:
    order = ["a", "b", "c", "a", "b", "c", "c", "b", "a", "a", "b", "c"]
    seen = held(tmp_path, order, ("b", turn))
    expected = [name for name in order[:9] if name != "b"]
    index = order.index("b") if turn == 0 else 4
    failed = [*order[: index + 1], "b ends", *(name for name in order[index + 1 : 9] if name != "b")]
    assert seen == [*failed, "a ends", "c ends"]
    assert [name for name in seen if name in "ac"] == expected


def test_a_trial_does_not_wait_for_a_turn_in_a_folder_that_was_removed(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "turns", ["a", "b"])
    turns.begin()
    waiter = OwnTurns({"folder": str(turns.folder), "order": turns.order, "name": "b"})
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(waiter.wait)
        time.sleep(0.2)
        turns.folder.rmdir()
        try:
            with pytest.raises(FileNotFoundError):
                waiting.result(60)
        finally:
            turns.begin()
            turns.end("a")


def test_hosts_are_measured_once_per_start_before_the_first_system(tmp_path: Path) -> None:
    numbers = iter(range(9))
    base = {"folder": str(tmp_path / "turns"), "order": ["a", "b"]}
    turns = Turns(tmp_path / "turns", ["a", "b"])
    for first in (0, 1):
        turns.begin()
        assert [OwnTurns({**base, "name": name}).once("canary", lambda: next(numbers)) for name in "ab"] == [first] * 2
    assert [OwnTurns({}).once("canary", lambda: next(numbers)) for _ in range(2)] == [2, 3]


def test_no_trial_is_begun_after_an_interruption(tmp_path: Path) -> None:
    begun: list[str] = []
    turns = Turns(tmp_path / "turns", ["a", "b", "a", "b"])
    interruption = threading.Event()

    def interrupted() -> None:
        interruption.set()
        raise KeyboardInterrupt

    def carry_out(trial: PlannedTrial) -> None:
        begun.append(trial.name)
        assert interruption.wait(60)

    start = [PlannedTrial(name, name, None) for name in ("a", "b")]  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        interleaving.measure(start, turns, carry_out, interrupted)
    assert begun == ["a"]
