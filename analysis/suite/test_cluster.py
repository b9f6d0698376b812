"""Tests clusters of four hosts on this machine (docs/testbed.md). Each script of ansible/tests/cluster/ is a case."""

import contextlib
from collections.abc import Iterator

import pytest

from dohyo.places import ANSIBLE, ROOT
from suite.commands import Commands

SCRIPTS = ANSIBLE / "tests/cluster"
TESTBED = ANSIBLE / "testbed/testbed"
# Scripts that begin without a testbed. The first one needs hosts on which only SSH is installed.
BARE, TESTBED_ITSELF = "bootstrap", "testbed"
# Scripts that share one testbed, and the servers that the first of them deploys.
SHARED = (
    *("deploy", "clients", "cassandra", "faults", "hbase", "mysql", "postgresql", "aerospike"),
    *("harm", "destroy", "clock"),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        named = [name.partition("-")[0] for name in metafunc.config.getoption("system")]
        metafunc.parametrize("name", named or (TESTBED_ITSELF, *SHARED))


@pytest.fixture(scope="session")
def testbed() -> Iterator[None]:
    """Creates four hosts with three disks each. If this fails, the output of each script says why."""
    run = Commands(ROOT / ".setup/reports/testbed.log")
    try:
        with contextlib.suppress(pytest.fail.Exception):
            run(TESTBED, "up", "4", "3")
        yield
    finally:
        run(TESTBED, "down")


def test_hosts(run: Commands) -> None:
    run(SCRIPTS / f"{BARE}_test.sh")


def test_cluster(name: str, run: Commands, request: pytest.FixtureRequest) -> None:
    if name != TESTBED_ITSELF:
        request.getfixturevalue("testbed")
    if not (script := SCRIPTS / f"{name}_test.sh").exists():
        pytest.skip(f"{name} has no test on four hosts")
    run(script)


def test_every_script_is_a_case() -> None:
    names = {BARE, TESTBED_ITSELF, *SHARED}
    assert {f"{name}_test.sh" for name in names} == {script.name for script in SCRIPTS.glob("*.sh")}
