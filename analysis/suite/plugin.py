"""A pytest plugin for all tests: no test begins after a given time, and pytest cleans up when it receives a signal."""

import os
import signal
import time
from types import FrameType

import pytest

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Additional contract tests, as system and binding: each of the two CQL drivers with the server of the other driver.
OTHER_DRIVERS = {"scylla-driver": ("cassandra", "scylla"), "cassandra-driver": ("scylla", "cassandra")}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--system", action="append", default=[], help="run only the contract and cluster tests of this system"
    )


def pytest_configure(config: pytest.Config) -> None:
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    if named := config.getoption("system"):
        from dohyo.systems import catalogue  # noqa: PLC0415

        for name in named:
            if name not in (systems := [*catalogue.all_systems(), *OTHER_DRIVERS]):
                raise pytest.UsageError(f'unknown system "{name}"; there are: {" ".join(systems)}')


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Makes pytest clean up and end. Further signals do not interrupt the cleanup."""
    for number in SIGNALS:
        # Do not use SIG_IGN, because the commands that clean up would inherit it.
        signal.signal(number, lambda _number, _frame: None)
    raise KeyboardInterrupt


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skips a test that would begin after DOHYO_UNTIL (epoch seconds)."""
    until = float(os.environ.get("DOHYO_UNTIL", "inf"))
    if time.time() >= until:
        pytest.skip(f"too late to begin: DOHYO_UNTIL was {time.strftime('%H:%M:%S', time.localtime(until))}")
