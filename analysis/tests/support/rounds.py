"""Simulates the trials of an experiment, without Ansible."""

import io
import itertools
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dohyo import signals as os_signals
from dohyo.ansible.playbook import Failure
from dohyo.report.page import FILE
from dohyo.running import experiment, runner
from dohyo.scenario.scenario import Scenario
from support.evidence import CONDITIONS, DATA, TITLES, edit_json, reads, run_of, write_json
from support.scenarios import load

SMALL = (
    "recordcount=10000\nduration=3\nthreadcount=2\nwarmuptime=1\nsystems=cassandra,hbase\n"
    "readproportion=1\nupdateproportion=0\nmax.other.cpu=100%\n"
)
STEADY, UNSTEADY = [1000, 1001, 1002, 1001, 1000], [1000, 1400, 700, 1200, 900]
Rates = dict[str, list[int]]


class Signals(os_signals.Signals):
    """Simulates an interruption by a signal before the trial whose name begins with `before`."""

    def __init__(self, before: str = "") -> None:
        self.before, self.next = before, ""

    def check(self) -> None:
        """Raises Interruption if the next trial is the one to interrupt."""
        if self.before and self.next.startswith(self.before):
            raise os_signals.Interruption(2)

    def held_back(self, answer: str) -> Any:  # noqa: ARG002 - the runner passes it
        return nullcontext()


class Played:
    """Simulates trials. Each trial writes the next rate of its system, or fails if that rate is 0."""

    def __init__(
        self, rates: Rates, signals: Signals, seconds: float = 0.0, saturated: Mapping[str, float] | None = None
    ) -> None:
        self.trials: list[str] = []
        self.stops = 0
        self.trials_kept: list[str] = []
        self.clock = 0.0
        self._rates = {system: itertools.cycle(values) for system, values in rates.items()}
        self._signals, self._seconds = signals, seconds
        self._saturated = saturated or {}  # share of a processor that each system's busiest client thread uses

    def __call__(self, name: str, _: Path | None, log: Path, **options: Any) -> Failure | None:
        if name == "stop.yml":
            self.stops += 1
        if name != "trial.yml":
            return None
        variables = options["variables"]
        self._signals.next = variables["trial_name"]
        options["check"]()
        self.trials.append(variables["trial_name"])
        self.trials_kept += [variables["trial_name"]] if variables["trial_keep"] else []
        self.clock += self._seconds
        rate = next(self._rates[variables["trial_system"]])
        if not rate:
            return Failure("out of memory", log)
        folder = Path(variables["trial_dir"])
        (folder / "ansible.log").touch()  # this file shows that the trial has begun
        conditions = {"system": variables["trial_system"], "title": TITLES[variables["trial_system"]], **CONDITIONS}
        write_json(folder / "conditions.json", conditions)
        run_of(DATA / "dohyo/load", folder / "load/node1")
        for phase in variables["trial_phases"]:
            client = folder / f"{phase['name']}-1/node1"
            target = rate * phase.get("share", 0) or float(phase["properties"].get("target", 0))
            shutil.copytree(DATA / "dohyo/run", client)
            reads(client, [min(rate, round(target) or rate)] * int(phase["duration"] or 3))
            batch = int(phase["properties"].get("batchsize", 1))
            edit_json(client / "client.json", target=target, threads=phase["threads"], batchsize=batch)
            if share := self._saturated.get(variables["trial_system"]):
                edit_json(client / "client.json", busiest_thread_share=share, busiest_thread="io-1")
        return None


def loaded(folder: Path, text: str) -> Scenario:
    return load(folder, SMALL + text)


@contextmanager
def played(monkeypatch: pytest.MonkeyPatch, play: Played, *, page: bool = False) -> Iterator[None]:
    monkeypatch.setattr(runner, "play", play)
    monkeypatch.setattr(runner, "build_client", lambda _: None)
    if not page:
        # Drawing the page takes longer than all trials.
        monkeypatch.setattr("dohyo.report.files.write", lambda folder, *_: [folder / FILE])
    if play._seconds:
        # Make each trial take this many seconds.
        monkeypatch.setattr(time, "monotonic", lambda: play.clock)
        monkeypatch.setattr(experiment.Experiment, "seconds", lambda *_: play._seconds)
    yield


def measured(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    rates: Rates,
    *,
    before: str = "",
    seconds: float = 0.0,
    keep: bool = False,
    page: bool = False,
    saturated: Mapping[str, float] | None = None,
) -> tuple[experiment.Experiment, Played, str, int]:
    """Runs an experiment. Returns the experiment, the simulated trials, the output, and the exit code.

    :param page: whether the page with charts is written
    """
    signals = Signals(before)
    play = Played(rates, signals, seconds, saturated)
    chosen = loaded(folder, text)
    the_experiment = experiment.create(chosen, experiment.new_folder(chosen, folder / "here"), {"inventory": None})
    output = io.StringIO()
    with played(monkeypatch, play, page=page):
        measurement = runner._Measurement(
            the_experiment, the_experiment.trials, runner.Options(keep=keep), signals, Console(file=output)
        )
        code = measurement.carry_out()
    return the_experiment, play, output.getvalue(), code


def facts(the_experiment: experiment.Experiment) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((the_experiment.folder / "experiment.json").read_text())
    return content
