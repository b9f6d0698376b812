"""Creates trials in which a server was killed and restarted during the measured window."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.evidence import edit_json, reads, trial, write_json

ASKED = "kill(node1)@10s, start(node1)@20s"
SERIES = [100] * 10 + [0] * 4 + [100] * 16
ACCOUNT = {"sample": 1, "acknowledged": 3000, "reads": 5000, "keys": 900, "read_back": True}


def faults_json(series: Sequence[int] = SERIES, **changes: Any) -> dict[str, Any]:
    def fault_event(kind: str, time: float) -> dict[str, Any]:
        of_host = {"began": 1795240000 + time, "done": 1795240000 + time, "what": f"{kind} of process 7", "error": None}
        return {
            "kind": kind, "target": "node1", "planned": time, "began": time, "done": time,
            "hosts": {"node1": of_host},
        }  # fmt: skip

    ended = 1795240000.0 + len(series)
    events = [fault_event("kill", 10.0), fault_event("start", 20.0)]
    window = {"window_began": 1795240000.0, "window_ended": ended}
    return {"asked": ASKED, **window, "events": events, "undone": [], "whole": 31.0, **changes}


def faulted(
    experiment: Path,
    number: int = 1,
    series: Sequence[int] = SERIES,
    account: dict[str, Any] | None = None,
    **more: Any,
) -> Path:
    """Creates a trial with one run, during which its server was killed."""
    folder = trial(experiment, number, "cassandra", repeats=1, **more)
    phase = {"name": "run", "maxnotfoundrate": 1, "faults": ASKED}
    edit_json(folder / "trial.json", trial_phases=[phase])
    reads(folder / "run-1/node1", series)
    edit_json(folder / "run-1/node1/client.json", accounting=account)
    write_json(folder / "run-1/faults.json", faults_json(series))
    return folder
