"""Runs commands as a test, and ends the processes that they leave running."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from dohyo.places import BINDINGS, JDK, ROOT
from suite.plugin import SIGNALS

BIN = ROOT / ".venv/bin"
MAVEN = ("mvn", "-q", "-B", "--strict-checksums", "-f", str(BINDINGS / "pom.xml"))
# Seconds that run.sh has to stop its servers.
SECONDS_TO_END = 120


def without_slow(config: pytest.Config) -> tuple[str, ...]:
    """Returns options that make Maven skip tests with the JUnit tag `slow` if pytest skips slow tests."""
    return ("-DexcludedGroups=slow",) if config.getoption("markexpr") == "not slow" else ()


class Commands:
    """Runs commands one after another, and appends their output to one log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")

    def __call__(self, *command: str | Path, cwd: Path = ROOT) -> None:
        """Runs a command in its own process group, and ends this group before it returns.

        If the command fails, the test fails with the whole log. Skips the test if the log contains `skipped: REASON`.
        """
        environment = os.environ | {"JAVA_HOME": str(JDK.resolve())}
        process = None
        try:
            with self._log.open("ab") as output, signals_wait():
                process = subprocess.Popen(
                    command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                    start_new_session=True,
                )  # fmt: skip
            code = process.wait()
        finally:
            if process:
                end_group(process)
        text = self._log.read_text(encoding="utf-8", errors="replace")
        if code:
            pytest.fail(f"{text}\nexit code {code}: {' '.join(map(str, command))}", pytrace=False)
        if skipped := re.search("^skipped: (.*)", text, re.MULTILINE):
            pytest.skip(skipped[1])


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Delays signals until the context ends. Otherwise, a signal during Popen could lose the started process."""
    received: list[int] = []

    def receive(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    handlers = {number: signal.signal(number, receive) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for received_number in received:
            signal.raise_signal(received_number)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and its group with SIGTERM, or with SIGKILL if they are still running after some time."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + SECONDS_TO_END
        if _runs(process.pid):
            os.killpg(process.pid, number)
        while _runs(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
    process.wait()


def _runs(group: int) -> bool:
    """Returns whether a group has running processes. Zombies do not count: their parent may never collect them."""
    result = subprocess.run(["pgrep", "-g", str(group), "-r", "D,R,S,T"], stdout=subprocess.DEVNULL, check=False)
    return result.returncode == 0
