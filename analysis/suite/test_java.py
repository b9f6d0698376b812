"""The unit tests of the client and the bindings. Maven leaves its own JUnit reports in target/surefire-reports/."""

import pytest

from suite.commands import MAVEN, Commands

# Tests of one of the client's two loops. Their subclasses repeat them on the other: ClientOnEventsTest and so on.
ONE_LOOP = ("ClientTest", "KnownTruthTest")


def test_all_but_one_loop(run: Commands) -> None:
    chosen = ",".join(["*Test", *(f"!{name}" for name in ONE_LOOP)])
    run(*MAVEN, "test", f"-Dtest={chosen}", "-Dsurefire.failIfNoSpecifiedTests=false")


@pytest.mark.slow
def test_one_loop(run: Commands) -> None:
    run(*MAVEN, "test", "-pl", "client", f"-Dtest={','.join(ONE_LOOP)}")
