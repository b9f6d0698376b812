"""The progress display: what it shows, and when it thinks that the end is near."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from dohyo import progress
from dohyo.progress import Forecast, Progress, clock
from dohyo.scenario import Scenario

SCENARIO = Scenario(
    "small",
    {"recordcount": "30000", "repeats": "2", "warmuptime": "5", "duration": "10", "systems": "cassandra,hbase"},
    {},
)


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (62.4, "1:02"), (3723, "1:02:03")])
def test_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_the_forecast_shrinks_to_nothing() -> None:
    forecast = Forecast(SCENARIO)
    order = [("start", 0), ("schema", 0), ("load", 0), ("settle", 0), ("run", 1), ("run", 2), ("stats", 0), ("stop", 0)]
    left = [forecast.remaining(phase, run, 0, 1) for phase, run in order]
    left += [forecast.remaining(phase, run, 0, 0) for phase, run in order]
    assert left == sorted(left, reverse=True)
    assert forecast.remaining("stop", 0, 3600, 0) == 0
    assert forecast.remaining("deploy", 0, 0, 1) > left[0]


def test_the_forecast_learns() -> None:
    forecast = Forecast(SCENARIO)
    before = forecast.remaining("deploy", 0, 0, 1)
    forecast.learn("run", 100)
    assert forecast.remaining("deploy", 0, 0, 1) == pytest.approx(before + 4 * (100 - 15 - progress._AROUND_A_RUN))


def test_a_line_every_ten_seconds_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("dohyo.progress.time.monotonic", lambda: now)
    output = io.StringIO()
    with Progress(SCENARIO, 2, Console(file=output)) as display:
        display.trial(1, 2, "cassandra")
        display.event({"event": "phase", "phase": "run", "run": 2, "client_dirs": [str(tmp_path)]})
        for _ in range(85):
            now += 0.25
            display.tick()
    lines = output.getvalue().splitlines()
    assert len(lines) == 2
    assert "cassandra (trial 1 of 2) · run 2 of 2 (warming up) · 0:10 elapsed, about " in lines[0]
    assert display.activity == "in run 2 of 2"


def test_a_terminal_gets_a_live_display(tmp_path: Path) -> None:
    output = io.StringIO()
    with Progress(SCENARIO, 2, Console(file=output, force_terminal=True, width=100)) as display:
        display.trial(2, 2, "hbase")
        display.event({"event": "phase", "phase": "settle", "run": None})
        display.say("a line that stays")
    shown = output.getvalue()
    assert "hbase (trial 2 of 2)" in shown
    assert "settling" in shown
    assert "a line that stays" in shown
