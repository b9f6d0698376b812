"""What people see while an experiment works: phase, system, elapsed and remaining time, current rate and p99."""

import time
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from dohyo import search
from dohyo.hdr_log import IntervalTail, Second
from dohyo.playbook import Event
from dohyo.scenario import Scenario

# Without a terminal.
SECONDS_BETWEEN_LINES = 10
# First guesses in seconds, from two cores; each phase of a trial replaces them for the trials after it.
_GUESSES = {"deploy": 30.0, "start": 20.0, "schema": 5.0, "settle": 10.0, "stats": 5.0, "stop": 10.0}
_GUESSED_RECORDS_PER_SECOND = 15_000
# Between two phases Ansible needs a moment for its tasks.
_AROUND_A_RUN = 8.0

_WORDS = {
    "deploy": "provisioning",
    "start": "starting the servers",
    "schema": "creating the tables",
    "load": "loading",
    "settle": "settling (flush, compactions)",
    "stats": "gathering evidence",
    "stop": "stopping the servers",
}


class Forecast:
    """How long things take: guesses first, then what was seen."""

    def __init__(self, scenario: Scenario) -> None:
        seconds = scenario.warmup + (
            scenario.duration or scenario.number("operationcount") / _GUESSED_RECORDS_PER_SECOND
        )
        self._expected = {
            **_GUESSES,
            "load": scenario.number("recordcount") / _GUESSED_RECORDS_PER_SECOND,
            "run": seconds + _AROUND_A_RUN,
        }
        probes = []
        if (settings := search.asked(scenario)) is not None:
            # As many as there may be: how many are needed shows only on the way.
            probes = ["probe"] * settings.probes
            self._expected["probe"] = scenario.warmup + settings.duration + _AROUND_A_RUN
        runs = ["run"] * scenario.repeats
        self._trial = ["start", "schema", "load", "settle", *runs, *probes, "stats", "stop"]

    def learn(self, phase: str, seconds: float) -> None:
        """A phase has ended after that time."""
        self._expected[phase] = seconds

    def remaining(self, phase: str, run: int, elapsed: float, trials_after: int) -> float:
        """Seconds to the end of the experiment.

        :param run: number of the run, from 1; 0 outside of runs
        :param elapsed: seconds in this phase
        :param trials_after: trials that are still to come after this one
        """
        done = 0 if phase == "deploy" else self._trial.index(phase) + max(run, 1)
        here = max(0.0, self._expected[phase] - elapsed)
        return here + sum(map(self._expected.__getitem__, self._trial[done:] + self._trial * trials_after))


class Progress:
    """A live display on a terminal, a line every ten seconds elsewhere. Used as a context manager."""

    def __init__(self, scenario: Scenario, trials: int, console: Console) -> None:
        self._scenario = scenario
        self._trials = trials
        self._console = console
        self._forecast = Forecast(scenario)
        self._began = time.monotonic()
        self._next_line = self._began + SECONDS_BETWEEN_LINES
        self._system = "all systems"
        self._trial = 0
        self._phase = "deploy"
        self._run = 0
        self._phase_began = self._began
        self._which = ""
        self._cut_short = False
        self._tail: IntervalTail | None = None
        self._next_poll = self._began
        self._second: Second | None = None
        self._records = 0
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(get_renderable=self._render, console=self._console, transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str, style: str = "") -> None:
        """Prints a line that stays."""
        self._console.print(Text(text, style), soft_wrap=True)

    def trial(self, number: int, trials: int, system: str) -> None:
        """Trial ``number`` of ``trials`` begins."""
        self._trial, self._trials, self._system = number, trials, system
        self._enter("start", 0)
        self._cut_short = False

    def stopping(self, which: str) -> None:
        """Servers are being stopped outside of a trial's own end; ``which`` says which, such as "of cassandra"."""
        self._enter("stop", 0)
        self._which = which

    @property
    def activity(self) -> str:
        """What is going on, to be read after "while"."""
        return f"in {self._doing()}" if self._run else self._doing()

    def _doing(self) -> str:
        if self._phase == "probe":
            return f"probe {self._run} of at most {self._scenario['search.probes']}"
        return f"run {self._run} of {self._scenario.repeats}" if self._phase == "run" else _WORDS[self._phase]

    def event(self, event: Event) -> None:
        """Takes an event of Ansible's callback."""
        if event["event"] == "failed" and not event.get("ignored"):
            self._cut_short = True
        if event["event"] == "note":
            self.say(event["text"])
        if event["event"] == "phase":
            if event["phase"] != self._phase or (event["run"] or 0) != self._run:
                self._enter(event["phase"], event["run"] or 0)
            if folders := event.get("client_dirs"):
                self._tail = IntervalTail([Path(folder) for folder in folders], self._scenario.number("batchsize"))

    def tick(self) -> None:
        """To be called often: reads the clients' logs, and prints the line that is due without a terminal."""
        now = time.monotonic()
        if self._tail is not None and now >= self._next_poll:
            self._next_poll = now + 1
            for second in self._tail.poll():
                self._second = second
                self._records += second.records
        if self._live is None and now >= self._next_line:
            self._next_line = now + SECONDS_BETWEEN_LINES
            self._console.print(
                f"{datetime.now():%H:%M:%S} {self._where()} · {self._times()}{self._rate()}", soft_wrap=True
            )

    def _enter(self, phase: str, run: int) -> None:
        now = time.monotonic()
        if not self._cut_short:
            self._forecast.learn(self._phase, now - self._phase_began)
        self._phase, self._run, self._phase_began, self._which = phase, run, now, ""
        self._tail, self._second, self._records = None, None, 0

    def _where(self) -> str:
        words = self._doing()
        if self._run and self._second is None:
            words += " (warming up)"
        trial = f" (trial {self._trial} of {self._trials})" if self._trial else ""
        return f"{self._system}{trial} · {words} {self._which}".rstrip()

    def _times(self) -> str:
        now = time.monotonic()
        left = self._forecast.remaining(
            self._phase, self._run, now - self._phase_began, self._trials - max(self._trial, 1)
        )
        return f"{clock(now - self._began)} elapsed, about {clock(left)} left"

    def _rate(self) -> str:
        if self._second is None:
            return ""
        p99 = f" · p99 {self._second.p99_ms:.2f} ms" if self._second.p99_ms is not None else ""
        done = self._records / self._scenario.number("recordcount")
        loaded = f" · {min(done, 1):.0%} of the records" if self._phase == "load" else ""
        return f" · {self._second.records_per_second:,.0f} rec/s{p99}{loaded}"

    def _render(self) -> RenderableType:
        return Group(Text(self._where(), "bold cyan"), Text(f"  {self._times()}{self._rate()}"))


def clock(seconds: float) -> str:
    """62 → "1:02", 3723 → "1:02:03"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
