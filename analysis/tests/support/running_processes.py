"""Observes processes of this machine, and waits for what they do."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def stat(pid: int | str) -> list[str]:
    """Returns the fields of /proc/PID/stat, starting with the state, or only "Z" if the process does not exist."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["Z"]


def start_of(pid: int) -> str:
    """Returns the start time of a process, as in a pid file."""
    return stat(pid)[19]


def until(condition: Callable[[], T], seconds: float = 60) -> T:
    """Waits until a condition holds, and returns its value. Fails after some seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def await_end(pid: int) -> None:
    """Waits until a process has ended, because a busy kernel may need a moment after a kill."""
    until(lambda: stat(pid)[0] == "Z")
