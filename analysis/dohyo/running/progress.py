"""Displays the progress: phase, system, elapsed and remaining time, current rate, p99, errors and processors."""

import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from dohyo import host
from dohyo.ansible.playbook import Event
from dohyo.evidence.live_log import IntervalTail, Second
from dohyo.figures import counted
from dohyo.places import LOCAL_HOME
from dohyo.planning.plan import PlannedTrial, canary_seconds, load_of
from dohyo.planning.sizing import LOAD_RATE, UPDATE_RATE
from dohyo.scenario import phases, search
from dohyo.scenario.phases import PROBE
from dohyo.scenario.scenario import Scenario
from dohyo.tables.screen import MOST_COLUMNS

# Seconds between two lines of output without a terminal.
SECONDS_BETWEEN_LINES = 10
# First guesses in seconds, from a machine with two cores; measured times replace them for later trials.
_GUESSES = {"deploy": 30.0, "start": 5.0, "schema": 2.0, "settle": 4.0, "stop": 2.0}
_LOOK = 0.5
# Seconds between the measurements of two phases.
_AROUND_A_RUN = 2.0

# Log of Maven, which is empty unless Maven is fetching servers.
_MAVEN = LOCAL_HOME / "install" / "maven.log"
_FETCHES = re.compile(r"Download(ing|ed) from \S+ \S*/([^/\s]+)(?: \((\d+(?:\.\d+)?) (kB|MB|B))?")
_MB = {"B": 1e-6, "kB": 1e-3, "MB": 1.0}

# Seconds that the sparkline covers. Each of its steps is an eighth of the highest rate.
_SPARKS = 30
_FIRST_BLOCK, _BLOCKS = ord("\N{LOWER ONE EIGHTH BLOCK}"), 8

_WORDS = {
    "deploy": "provisioning",
    "canary": "measuring the hosts (canary)",
    "start": "starting the servers",
    "schema": "creating the tables",
    "load": "loading",
    "settle": "settling (flush, compactions)",
    phases.PRECONDITION: "preconditioning (updates)",
    "count": "counting the rows",
    "stop": "stopping the servers",
}
# Texts of the phases that do other work on attached servers.
_ATTACHED = {"start": "checking the hosts", "settle": "counting the rows", "stop": "removing Dohyo's tables"}


# A phase and the number of its run (0 if the phase is not a run).
_Step = tuple[str, int]
_LOADING: _Step = ("load", 0)


class Forecast:
    """Forecasts the remaining time. Guesses are corrected using the times of the same or of the last system."""

    def __init__(self, trials: Sequence[PlannedTrial]) -> None:
        self._ratios: dict[tuple[str, str], float] = {}  # measured / guessed time, by system ("": last one) and phase
        self._loaded: set[str] = set()  # shared loads that a trial has begun
        # For each trial, its system and the remaining steps; the deployment comes first.
        self._remaining = [("", [(("deploy", 0), _GUESSES["deploy"])]), *self._of_all(trials)]
        self._now = 0  # index of the current trial

    def begin(self, trials: Sequence[PlannedTrial]) -> None:
        """Makes the first of these trials the current one. The others follow it."""
        self._remaining = self._of_all(trials)
        self._loaded.add(load_of(trials[0], Path()))
        self._now = 0

    def turn(self, number: int) -> None:
        """Makes another trial the current one. `number` is its position among the trials of :meth:`begin`."""
        self._now = number

    def _of_all(self, trials: Sequence[PlannedTrial]) -> list[tuple[str, list[tuple[_Step, float]]]]:
        """Returns the system and the steps of each trial. Only the first trial with a shared load performs the load."""
        loaded = set(self._loaded)
        courses = []
        for trial in trials:
            steps, load = _guesses(trial.scenario), load_of(trial, Path())
            trial_steps = [step for step in steps if step[0] != _LOADING or not load or load not in loaded]
            courses.append((trial.system, trial_steps))
            loaded.add(load)
        return courses

    def enter(self, phase: str, run: int) -> None:
        """Begins a phase and drops the steps before it."""
        _, remaining = self._remaining[self._now]
        steps = [step for step, _ in remaining]
        if (phase, run) in steps:
            del remaining[: steps.index((phase, run))]

    def learn(self, phase: str, seconds: float) -> None:
        """Corrects the guesses using the duration of a phase that has ended, if this phase was expected."""
        system, [((expected, _), guess), *_] = self._remaining[self._now]
        if phase == expected:
            self._ratios[system, phase] = self._ratios["", phase] = seconds / guess

    def remaining(self, elapsed: float) -> float:
        """Returns the seconds until the end of the experiment. The current phase began ``elapsed`` seconds ago."""
        expected = [self._expected(system, steps) for system, steps in self._remaining]
        expected[self._now][0] = max(0.0, expected[self._now][0] - elapsed)
        return sum(map(sum, expected))

    def _expected(self, system: str, steps: Iterable[tuple[_Step, float]]) -> list[float]:
        ratios = self._ratios
        return [guess * ratios.get((system, phase), ratios.get(("", phase), 1.0)) for (phase, _), guess in steps]


def _guesses(scenario: Scenario) -> list[tuple[_Step, float]]:
    """Returns the steps of a trial, with a guess of the seconds for each."""
    runs = {}
    for name in scenario.phases:
        phase = scenario.of(name)
        seconds = phase.duration or phase.number("operationcount") / LOAD_RATE
        runs[name] = phase.expected_warmup + seconds + _AROUND_A_RUN
    load = scenario.records / LOAD_RATE
    fixed = {phase: ((phase, 0), seconds) for phase, seconds in _GUESSES.items()}
    before: list[tuple[_Step, float]] = []
    if updates := scenario.preconditions:
        before = [((phases.PRECONDITION, 0), updates / UPDATE_RATE + _AROUND_A_RUN)]
    measured: list[tuple[_Step, float]] = []
    for run in range(1, scenario.repeats + 1):
        for name, seconds in runs.items():
            # Before the first run, the servers have already settled after the load.
            if scenario["settle"] == "phases" and measured:
                measured.append(fixed["settle"])
            if scenario["settle"] == "phases" or not measured:
                measured += before
            measured.append(((name, run), seconds))
    for number, length in enumerate(search.lengths(scenario), start=1):
        if scenario["settle"] == "phases":
            measured += [fixed["settle"], *before]
        measured.append(((PROBE, number), length + _AROUND_A_RUN))
    # Ansible checks the hosts before the canary and reports this as phase "start".
    canary = canary_seconds(scenario)
    hosts: list[tuple[_Step, float]] = [(("start", 0), _LOOK), (("canary", 0), canary)] if canary else []
    return [*hosts, fixed["start"], fixed["schema"], (_LOADING, load), fixed["settle"], *measured, fixed["stop"]]


class Progress:
    """A context manager with a live display on a terminal. Without a terminal, it prints a line every ten seconds."""

    def __init__(
        self, trials: Sequence[PlannedTrial], console: Console, processors: host.Processors | None = None
    ) -> None:
        """`processors`: the processors of this machine, if their use is measured."""
        self._lock = threading.RLock()  # trials that take turns report from several threads
        self._trials = trials
        self._first = 0  # position of the first of the trials that take turns
        self._console = console
        self._processors = processors
        self._busy: float | None = None
        self._forecast = Forecast(trials)
        self._began = time.monotonic()
        self._next_line = self._began + SECONDS_BETWEEN_LINES
        self._number = 0  # number of the trial, from 1
        self._phase = "deploy"
        self._run = 0
        self._phase_began = self._began
        self._systems = ""
        self._cut_short = False
        self._tail: IntervalTail | None = None
        self._next_poll = self._began
        self._second: Second | None = None
        self._records = self._failed = 0
        self._rates: deque[float] = deque(maxlen=_SPARKS)
        self._fetching = ""
        self._live: Live | None = None
        self._table = Text()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(get_renderable=self._render, console=self._console, transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str, style: str = "") -> None:
        """Prints a line that remains on the screen."""
        self._console.print(Text(text, style), soft_wrap=True)

    def table(self, table: Callable[[int], Text], heading: str) -> None:
        """Shows the ranking so far. On a terminal, it replaces the previous ranking.

        :param table: function that formats the ranking for a width in columns
        """
        if self._live is None:
            # A pipe or a file gets the widest table.
            self.say(heading)
            self._console.print(table(MOST_COLUMNS), soft_wrap=True)
        else:
            self._table = Text.assemble((f"\n{heading}\n", "bold cyan"), table(self._console.width))

    def grow(self, table: Callable[[int], Text], heading: str) -> None:
        """Shows the ranking of an unfinished round, only on a terminal, where it replaces the previous ranking.

        :param table: function that formats the ranking for a width in columns
        """
        if self._live is not None:
            self.table(table, heading)

    def trial(self, number: int, trials: Sequence[PlannedTrial]) -> None:
        """Begins the trial with the given number, counted from 1."""
        self._number, self._trials, self._first = number, trials, number - 1
        self._enter("start", 0)
        self._forecast.begin(trials[number - 1 :])
        self._cut_short = False

    def _turn(self, name: str) -> None:
        """Shows the named trial as the current one among the trials that take turns."""
        number = [trial.name for trial in self._trials].index(name)
        if number + 1 != self._number:
            self._forecast.turn(number - self._first)
            self._number, self._cut_short = number + 1, False
            self._phase, self._run = "", 0

    def stopping(self, systems: str) -> None:
        """Shows that servers are stopped before or after a trial. ``systems`` is a text such as "of cassandra"."""
        self._enter("stop", 0)
        self._systems = systems

    @property
    def activity(self) -> str:
        """The current activity, in words that can follow "while"."""
        return f"in {self._doing()}" if self._run else self._doing()

    def event(self, event: Event, trial: str = "") -> None:
        """Handles an event of Ansible's callback.

        :param trial: name of the trial; empty if another playbook sent the event
        """
        with self._lock:
            if trial and event["event"] == "phase":
                self._turn(trial)
            self._handle(event)

    def _handle(self, event: Event) -> None:
        if event["event"] == "failed" and not event.get("ignored"):
            self._cut_short = True
        if event["event"] == "note":
            self.say(event["text"])
        if event["event"] == "phase":
            # Preconditioning is shown without a run number.
            run = 0 if event["phase"] == phases.PRECONDITION else event["run"] or 0
            if (event["phase"], run) != (self._phase, self._run):
                self._enter(event["phase"], run)
            if folders := event.get("client_dirs"):
                name = self._scenario.phases[0] if self._phase == PROBE else self._phase
                phase = self._scenario.of(phases.INSERT if self._phase == "load" else name)
                self._tail = IntervalTail([Path(folder) for folder in folders], phase.number("batchsize"))

    def tick(self) -> None:
        """Reads the clients' logs and, without a terminal, prints a line when it is due. Must be called frequently."""
        with self._lock:
            self._tick()

    def _tick(self) -> None:
        now = time.monotonic()
        if self._phase == "deploy" and now >= self._next_poll:
            self._next_poll = now + 1
            self._fetching = fetching(_MAVEN)
        if self._tail is not None and now >= self._next_poll:
            self._next_poll = now + 1
            for second in self._tail.poll():
                self._second = second
                self._records += second.records
                self._failed += second.failed
                self._rates.append(second.records_per_second)
            self._busy = self._processors.busy() if self._processors else None
        if self._live is None and now >= self._next_line:
            self._next_line = now + SECONDS_BETWEEN_LINES
            self._console.print(
                f"{datetime.now():%H:%M:%S} {' · '.join(filter(None, (self._where(), self._times(), self._rate())))}",
                soft_wrap=True,
            )

    def _enter(self, phase: str, run: int) -> None:
        now = time.monotonic()
        # Do not learn from a trial that has failed, or from the deployment.
        if not self._cut_short and phase != "deploy":
            self._forecast.learn(self._phase, now - self._phase_began)
        self._forecast.enter(phase, run)
        self._phase, self._run, self._phase_began, self._systems = phase, run, now, ""
        self._tail, self._second, self._records, self._failed = None, None, 0, 0
        self._rates.clear()

    @property
    def _trial(self) -> PlannedTrial:
        return self._trials[max(self._number, 1) - 1]

    @property
    def _scenario(self) -> Scenario:
        return self._trial.scenario

    def _doing(self) -> str:
        """Describes the current phase."""
        if not self._run:
            settles = self._phase == "settle" and "settle" in self._scenario.role_variables.get("attached_may", [])
            return (_WORDS | _ATTACHED if self._trial.is_attached and not settles else _WORDS)[self._phase]
        if self._phase == PROBE:
            # A disturbed probe is tried again.
            return f"probe {self._run} of at most {max(self._run, self._scenario.number('search.probes'))}"
        name = "" if self._phase == phases.RUN else f"{self._phase}, "
        # A disturbed repeat is measured again.
        return f"{name}run {self._run} of {max(self._run, self._scenario.repeats)}"

    def _where(self) -> str:
        activity = self._doing()
        if self._run and self._second is None:
            activity += " (warming up)"
        label = f"{self._trial.label} (trial {self._number} of {len(self._trials)})"
        subject = label if self._number else "all systems"
        return f"{subject} · {activity} {self._systems}".rstrip()

    def _times(self) -> str:
        now = time.monotonic()
        remaining = self._forecast.remaining(now - self._phase_began)
        return f"{clock(now - self._began)} elapsed, about {clock(remaining)} left"

    def _rate(self, sparks: str = "") -> str:
        """Describes the clients' current rate or, during the deployment, the download.

        :param sparks: sparkline to show after the rate
        """
        if self._second is None:
            return self._fetching if self._phase == "deploy" else ""
        parts = [f"{self._second.records_per_second:,.0f} rec/s {sparks}".rstrip()]
        if self._second.p99_ms is not None:
            parts.append(f"p99 {self._second.p99_ms:.2f} ms")
        parts.append(counted(self._failed, "error"))
        if self._busy is not None:
            parts.append(f"processors {self._busy:.0%}")
        if self._phase == "load":
            parts.append(f"{min(self._records / self._scenario.records, 1):.0%} of the records")
        return " · ".join(parts)

    def _render(self) -> RenderableType:
        with self._lock:
            # Put the table last, because the terminal cuts off the bottom.
            rate = self._rate(sparkline(self._rates))
            lines = [Text(f"  {line}") for line in (self._times(), rate) if line]
            return Group(Text(self._where(), "bold cyan"), *lines, self._table)


def sparkline(rates: Iterable[float]) -> str:
    """Returns a block character for each rate, on a scale from 0 to the highest rate."""
    values = list(rates)
    highest = max(values, default=0.0) or 1.0
    return "".join(chr(_FIRST_BLOCK + max(math.ceil(_BLOCKS * rate / highest), 1) - 1) for rate in values)


def fetching(log: Path) -> str:
    """Returns what Maven is fetching and how much it has already fetched, or "" if it is not fetching."""
    try:
        fetches = _FETCHES.findall(log.read_text("utf-8", "replace"))
    except OSError:
        return ""
    if not fetches:
        return ""
    sizes = [float(number) * _MB[unit] for state, _, number, unit in fetches if state == "ed" and unit]
    return f"fetching {fetches[-1][1]} ({len(sizes)} files, {sum(sizes):,.0f} MB so far)"


def clock(seconds: float) -> str:
    """Formats seconds: 62 → "1:02", 3723 → "1:02:03"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
