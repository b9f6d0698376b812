"""Checks after each end-to-end test that no process of this checkout is still running."""

import signal
from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("e2e.runs", "support")

from e2e.runs import find_processes, running  # noqa: E402 - pytest must rewrite its assertions first


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Checks that no process is left running. Ends the runs of a failed test first, so that the next test can begin."""
    assert find_processes() == []
    yield
    for run in list(running):
        run.signal(signal.SIGTERM)
        run.end()
    assert find_processes() == []
