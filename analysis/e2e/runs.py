"""Starts small runs of ./run.sh on small servers, with settings that avoid failures on a busy machine."""

import contextlib
import hashlib
import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.operations import INTENDED, OVERALL
from dohyo.places import ANSIBLE, LOCAL_HOME, ROOT

# Variables of the roles. Tests that call playbooks themselves use them, too.
ROLES = yaml.safe_load((ANSIBLE / "tests/quick_start.yml").read_text(encoding="utf-8"))

# Speed does not matter here: other processes do not make a run invalid, and servers may take long to respond. A single
# client may begin at any time before its window.
SETTINGS = {
    "warmuptime": "1",
    "operationtimeout": "30000",
    "threadcount": "2",
    "canary": "false",
    "max.other.cpu": "100%",
    "client_heap": "128m",
    "cassandra_heap": "512m",
    "hbase_heap": "512m",
    "mysql_buffer_pool": "128m",
    **{name: value if isinstance(value, str) else json.dumps(value) for name, value in ROLES.items()},
}


def options(
    *, rounds: int = 1, duration: int = 3, preconditioning: int = 0, target: int | None = 300, without: str = ""
) -> list[str]:
    """Returns options of run.sh. With preconditioning, each trial starts the client one more time.

    :param target: operations per second. Servers at their maximum would only slow down the tests that run meanwhile.
        None: the scenario's
    """
    chosen = {**SETTINGS, "preconditioning": str(preconditioning)}
    if target is not None:
        chosen["target"] = str(target)
    settings = [f"--set={name}={value}" for name, value in chosen.items() if name != without]
    return [f"--rounds={rounds}", f"--duration={duration}s", *settings]


SMALL = ["--records=2000", *options()]
# Options of a run that lasts long enough to be interrupted by a signal.
LONG = ["--records=2000", *options(duration=60)]


def listen() -> None:
    """Restores the default action of signals that are ignored under nohup or in the background of a script."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def find_processes() -> list[int]:
    """Returns the pids of the processes that this checkout's agent started, and of their supervisors."""
    secret = LOCAL_HOME / "run" / "secret"
    mark = f"DOHYO_SERVICE={secret.read_text().strip() if secret.exists() else ''}:".encode()
    pids = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                pids.append(int(process.name))
        except OSError:
            continue  # the process has ended, or belongs to another user
    return pids


# Runs that have not ended yet.
running: list["Run"] = []


class Run:
    """A background process of run.sh, which receives signals as if it ran in the foreground of a terminal."""

    def __init__(self, out: Path, *arguments: str, within: Sequence[str] = ()) -> None:
        """Starts the run. If `within` is a command, that command starts it."""
        self.out = out
        self.text = ""
        running.append(self)
        self._process = subprocess.Popen(
            [
                *within,
                ROOT / "run.sh",
                *arguments,
                *([] if {"--resume", "--out"} & {*arguments} else ["--out", str(out)]),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=listen,  # noqa: PLW1509
        )

    def until(self, phase: str, trial: str) -> None:
        events = self.out / f"raw/{trial}/events.jsonl"
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and self._process.poll() is None:
            # --resume may be moving the folder of an earlier attempt at this moment.
            with contextlib.suppress(FileNotFoundError):
                if f'"phase": "{phase}"' in events.read_text():
                    return
            time.sleep(0.1)
        pytest.fail(f"{trial} did not reach the phase {phase}: {self.end()}")

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def until_interrupted(self, trial: str) -> None:
        """Waits until the state of a trial shows that the run has handled a signal."""
        deadline = time.monotonic() + 60
        while json.loads((self.out / f"raw/{trial}/state.json").read_text())["status"] != "interrupted":
            assert time.monotonic() < deadline, self.end()
            time.sleep(0.1)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def end(self) -> int:
        """Waits for the run to end, prints its output, and returns its exit code."""
        self.text, _ = self._process.communicate(timeout=900)
        running.remove(self)
        print(self.text)
        return self._process.returncode

    def trials(self) -> dict[str, dict[str, Any]]:
        """Returns the trials of summary.json; the keys are their systems."""
        summary = json.loads((self.out / "summary.json").read_text())
        return {trial["system"]: trial for trial in summary["trials"]}


def shorten(experiment: Path) -> None:
    """Shortens the remaining runs of an experiment, and updates the checksum of its scenario."""
    scenario, facts = experiment / "scenario.properties", experiment / "experiment.json"
    scenario.write_text(scenario.read_text().replace("duration=60", "duration=3"))
    stated = {"scenario_sha256": hashlib.sha256(scenario.read_bytes()).hexdigest()}
    facts.write_text(json.dumps({**json.loads(facts.read_text()), **stated}))


def mix(trial: dict[str, Any]) -> set[str]:
    """Returns the operation types of a trial's runs, after checking that the trial is valid."""
    assert trial["status"] == "ok", trial["reason"]
    rows = (row for row in trial["rows"] if row["phase"] == "run" and row["operation"] != OVERALL)
    # With a target rate, each operation is counted again from its intended start.
    run = [row for row in rows if not row["operation"].startswith(INTENDED)]
    assert all(row["operations"] > 0 and row["errors"] == 0 for row in run), run
    return {row["operation"] for row in run}


def read_back(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns the values that the profile sets for a trial's server, and the values that the server reports."""
    conditions = json.loads((folder / "conditions.json").read_text())
    assert (conditions["profile"], conditions["differences"]) == ("tuned", [])
    return conditions["values"], conditions["server_settings"]
