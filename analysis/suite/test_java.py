"""Runs the unit tests of the client and the bindings. Maven writes JUnit reports to target/surefire-reports/."""

import pytest

from suite.commands import MAVEN, Commands, without_slow

# Tests of one of the client's two loops. Subclasses such as ClientOnEventsTest repeat them for the other loop.
ONE_LOOP = ("ClientTest", "KnownTruthTest")


@pytest.mark.timeout(1800)
def test_java(run: Commands, pytestconfig: pytest.Config) -> None:
    chosen = ["*Test"]
    if without := without_slow(pytestconfig):
        chosen += [f"!{name}" for name in ONE_LOOP]
    tests = (f"-Dtest={','.join(chosen)}", "-Dsurefire.failIfNoSpecifiedTests=false")
    run(*MAVEN, "test", "-Dcheckstyle.skip", *tests, *without)
