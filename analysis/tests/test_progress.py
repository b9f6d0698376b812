"""Tests the progress display: its content, and the estimated end of the experiment."""

import io
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, Group
from rich.text import Text

from dohyo import host
from dohyo.evidence.live_log import Second
from dohyo.planning import plan
from dohyo.planning.sizing import LOAD_RATE, UPDATE_RATE
from dohyo.running import progress
from dohyo.running.progress import Forecast, Progress, clock
from dohyo.scenario.scenario import Scenario

SCENARIO = Scenario(
    "small",
    {"recordcount": "30000", "repeats": "2", "warmuptime": "5", "duration": "10", "systems": "cassandra,hbase"},
    {},
)
TRIALS = plan.trials(SCENARIO)


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (62.4, "1:02"), (3723, "1:02:03")])
def test_durations_are_printed_as_a_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def left_in_each_step(forecast: Forecast, steps: list[tuple[str, int]]) -> list[float]:
    remaining = []
    for phase, run in steps:
        forecast.enter(phase, run)
        remaining.append(forecast.remaining(0))
    return remaining


def test_the_forecast_shrinks_to_nothing() -> None:
    forecast = Forecast(TRIALS)
    remaining = [forecast.remaining(0)]
    order = [("start", 0), ("schema", 0), ("load", 0), ("settle", 0), ("run", 1), ("run", 2), ("stop", 0)]
    for number in (0, 1):
        forecast.begin(TRIALS[number:])
        remaining += left_in_each_step(forecast, order)
    assert remaining == sorted(remaining, reverse=True)
    assert len(set(remaining)) == len(remaining)
    assert forecast.remaining(3600) == 0


def test_the_forecast_learns() -> None:
    forecast = Forecast(TRIALS)
    before = forecast.remaining(0)
    forecast.begin(TRIALS)
    forecast.enter("run", 1)
    forecast.learn("run", 100)
    forecast.begin(TRIALS)
    expected = before - progress._GUESSES["deploy"] + 4 * (100 - 15 - progress._AROUND_A_RUN)
    assert forecast.remaining(0) == pytest.approx(expected)


def test_the_forecast_learns_each_system_by_itself() -> None:
    values = {**SCENARIO.values, "repeats": "1", "rounds": "2"}
    trials = plan.trials(replace(SCENARIO, values=values))
    forecast = Forecast(trials)
    for trial, seconds in zip(trials, (20, 200), strict=False):
        forecast.begin(trials[trials.index(trial) :])
        forecast.enter("run", 1)
        forecast.learn("run", seconds)
    forecast.begin(trials[2:])
    remaining = forecast.remaining(0)
    forecast.begin(trials[3:])
    # The second round begins with the slow system, whose runs take 180 s longer.
    assert remaining - forecast.remaining(0) == pytest.approx(forecast.remaining(0) + 180)


def test_the_forecast_knows_where_it_is_when_servers_settle_before_every_phase() -> None:
    values = {**SCENARIO.values, "phases": "update,read", "settle": "phases", "systems": "hbase"}
    forecast = Forecast(trials := plan.trials(replace(SCENARIO, values=values)))
    forecast.begin(trials)
    steps = [("start", 0), ("load", 0), ("settle", 0), ("update", 1), ("settle", 0), ("read", 1), ("settle", 0)]
    remaining = left_in_each_step(forecast, [*steps, ("update", 2), ("settle", 0), ("read", 2), ("stop", 0)])
    assert remaining == sorted(remaining, reverse=True)
    assert len(set(remaining)) == len(remaining)


def test_the_forecast_of_a_load_alone() -> None:
    trials = plan.trials(replace(SCENARIO, values={"recordcount": "30000", "phases": "insert", "systems": "hbase"}))
    forecast = Forecast(trials)
    forecast.begin(trials)
    steps = [("start", 0), ("schema", 0), ("load", 0), ("settle", 0), ("stats", 0), ("stop", 0)]
    remaining = left_in_each_step(forecast, steps)
    assert remaining == sorted(remaining, reverse=True)
    assert remaining[2] - remaining[3] == pytest.approx(30_000 / LOAD_RATE)


def test_a_line_every_ten_seconds_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("dohyo.running.progress.time.monotonic", lambda: now)
    output = io.StringIO()
    with Progress(TRIALS, Console(file=output)) as display:
        display.trial(1, TRIALS)
        display.event({"event": "phase", "phase": "run", "run": 2, "client_dirs": [str(tmp_path)]})
        for _ in range(85):
            now += 0.25
            display.tick()
    lines = output.getvalue().splitlines()
    assert len(lines) == 2
    assert "cassandra (trial 1 of 2) · run 2 of 2 (warming up) · 0:10 elapsed, about " in lines[0]
    assert display.activity == "in run 2 of 2"
    with Progress(TRIALS, Console(file=output)) as display:
        display.event({"event": "phase", "phase": "update", "run": 1})
    assert display.activity == "in update, run 1 of 2"


@pytest.mark.parametrize(
    ("may", "settling"), [([], "counting the rows"), (["settle"], "settling (flush, compactions)")]
)
def test_servers_that_run_already_are_not_said_to_be_started_or_stopped(may: list[str], settling: str) -> None:
    variables = {"attached": {"hbase": "zk1"}, "attached_may": may}
    trials = plan.trials(replace(SCENARIO, role_variables=variables))
    display = Progress(trials, Console(file=io.StringIO()))

    def track(number: int) -> list[str]:
        display.trial(number, trials)
        texts = []
        for phase in ("start", "schema", "load", "settle", "stop"):
            display.event({"event": "phase", "phase": phase, "run": None})
            texts.append(display.activity)
        return texts

    starting = ["starting the servers", "creating the tables", "loading", "settling (flush, compactions)"]
    assert track(1) == [*starting, "stopping the servers"]
    assert track(2) == ["checking the hosts", "creating the tables", "loading", settling, "removing Dohyo's tables"]


def test_updates_before_the_runs_are_a_step_of_their_own() -> None:
    scenario = replace(SCENARIO, values={**SCENARIO.values, "preconditioning": "240000"})
    trials = plan.trials(scenario)
    forecast = Forecast(trials)
    forecast.begin(trials[:1])
    steps = [("load", 0), ("settle", 0), ("precondition", 0), ("run", 1)]
    _, settling, writing, running = left_in_each_step(forecast, steps)
    assert writing - running == pytest.approx(240_000 / UPDATE_RATE + progress._AROUND_A_RUN)
    assert settling > writing
    settled = plan.trials(replace(scenario, values={**scenario.values, "settle": "phases"}))
    forecast = Forecast(settled)
    forecast.begin(settled[:1])
    steps = [
        ("settle", 0), ("precondition", 0), ("run", 1), ("settle", 0), ("precondition", 0), ("run", 2), ("stop", 0),
    ]  # fmt: skip
    remaining = left_in_each_step(forecast, steps)
    assert remaining == sorted(remaining, reverse=True)
    assert len(set(remaining)) == len(remaining)
    display = Progress(trials, Console(file=io.StringIO()))
    display.trial(1, trials)
    display.event({"event": "phase", "phase": "precondition", "run": 1})
    assert display.activity == "preconditioning (updates)"


def test_a_terminal_gets_a_live_display(tmp_path: Path) -> None:
    output = io.StringIO()
    with Progress(TRIALS, Console(file=output, force_terminal=True, width=100)) as display:
        display.trial(2, TRIALS)
        display.event({"event": "phase", "phase": "settle", "run": None})
        display.say("a line that stays")
    shown = output.getvalue()
    assert "hbase (trial 2 of 2)" in shown
    assert "settling" in shown
    assert "a line that stays" in shown


class TwoSeconds:
    """A log of the clients that covers two seconds."""

    def __init__(self, *_: object) -> None:
        self.seconds = [Second(1, 500, 500.0, 3.0), Second(2, 1000, 1000.0, 0.9)]

    def poll(self) -> list[Second]:
        self.seconds, done = [], self.seconds
        return done


class Busy(host.Processors):
    def busy(self) -> float:
        return 0.974


def test_the_live_line_has_rate_p99_errors_processors_and_a_sparkline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "IntervalTail", TwoSeconds)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    for is_terminal, sparks in ((True, " \N{LOWER HALF BLOCK}\N{FULL BLOCK}"), (False, "")):
        output = io.StringIO()
        with Progress(TRIALS, Console(file=output, force_terminal=is_terminal, width=100), Busy()) as display:
            display.trial(1, TRIALS)
            display.event({"event": "phase", "phase": "run", "run": 1, "client_dirs": ["x"]})
            display.tick()
            output.truncate(0)
            shown = display._render()
            line = "\n".join(map(str, shown.renderables)) if isinstance(shown, Group) else ""
            display.tick()
        text = line if is_terminal else output.getvalue()
        assert f"1,000 rec/s{sparks} · p99 0.90 ms · 3 errors · processors 97%" in text
        assert "run 1 of 2" in text
        assert "warming up" not in text


def test_the_processors_of_this_machine_are_looked_at() -> None:
    processors = host.Processors()
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        pass
    busy = processors.busy()
    assert busy is not None
    assert 0 < busy <= 1


def test_a_ranking_grows_on_a_terminal_alone(tmp_path: Path) -> None:
    for is_terminal in (True, False):
        output = io.StringIO()
        with Progress(TRIALS, Console(file=output, force_terminal=is_terminal, width=100)) as display:
            display.grow(lambda width: Text(f"a table of {width}"), "after 1 of 2 trials")
            display.trial(2, TRIALS)
        assert ("after 1 of 2 trials" in output.getvalue()) == is_terminal
        assert ("a table of 100" in output.getvalue()) == is_terminal


# Output of Maven 3.8.
MAVEN = """[INFO] Scanning for projects...
Downloading from central: https://repo.example/m2/org/x/parent/1/parent-1.pom
Downloaded from central: https://repo.example/m2/org/x/parent/1/parent-1.pom (512 B at 2.1 kB/s)
Downloading from central: https://repo.example/m2/org/x/a/1/a-1.jar
Downloaded from central: https://repo.example/m2/org/x/a/1/a-1.jar (7.5 MB at 3.1 MB/s)
Downloading from central: https://repo.example/m2/ch/b/b-2.jar
"""


def test_downloads_of_an_installation_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "maven.log"
    assert progress.fetching(log) == ""
    log.write_text(MAVEN)
    monkeypatch.setattr(progress, "_MAVEN", log)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    output = io.StringIO()
    with Progress(TRIALS, Console(file=output)) as display:
        display.tick()
        assert output.getvalue().endswith(" left · fetching b-2.jar (2 files, 8 MB so far)\n")
        display.trial(1, TRIALS)
        display.tick()
    assert "fetching" not in output.getvalue().splitlines()[-1]
