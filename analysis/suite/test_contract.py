"""Tests the contract of every binding against a real server."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dohyo.ansible import availability
from dohyo.places import ANSIBLE, BINDINGS, LOCAL_HOME, ROOT
from dohyo.systems import catalogue
from suite.commands import BIN, MAVEN, Commands, without_slow
from suite.conftest import LOGS
from suite.plugin import OTHER_DRIVERS

# Cases that ./test.sh leaves to ./test.sh all: another case has the same kind of binding, or the server starts slowly.
SLOW = (*OTHER_DRIVERS, "postgresql", "hbase")


def cases(config: pytest.Config) -> dict[str, tuple[str, str]]:
    """Returns the system and binding of each case that --system names; by default OTHER_DRIVERS and one per binding."""
    systems = catalogue.all_systems().values()
    # The binding of ScyllaDB is tested with Cassandra, too, because many machines have no ScyllaDB.
    drivers = {system.name: (system.name, system.binding) for system in systems} | OTHER_DRIVERS
    firsts = {system.binding: system.name for system in reversed(systems)}
    names = config.getoption("system") or [name for name in drivers if name in (*firsts.values(), *OTHER_DRIVERS)]
    return {name: drivers[name] for name in names}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "binding" in metafunc.fixturenames:
        chosen = cases(metafunc.config).items()
        parameters = [
            pytest.param(*case, id=name, marks=[pytest.mark.slow] if name in SLOW else []) for name, case in chosen
        ]
        metafunc.parametrize(("system", "binding"), parameters)


@pytest.fixture(scope="module")
def reasons() -> dict[str, str]:
    """Returns the reason why each system is not available on this machine; "" if it is."""
    return availability.ask(None)


@pytest.fixture(scope="module")
def data(pytestconfig: pytest.Config, reasons: dict[str, str]) -> Iterator[Path]:
    """Deploys the systems of all cases, yields a folder for their data, and stops everything at the end."""
    run = Commands(LOGS / "contract.log")
    names = {system for system, _ in cases(pytestconfig).values()}
    with tempfile.TemporaryDirectory(dir=ROOT / ".setup") as folder:
        Path(folder).chmod(0o755)  # the servers may run as another user
        try:
            _play(run, "deploy.yml", json.dumps({"deploy_systems": [name for name in names if not reasons[name]]}))
            yield Path(folder)
        finally:
            _play(run, "stop.yml")


def bindings() -> list[str]:
    """Returns the Maven modules that register a binding."""
    modules = re.findall("<module>(.*)</module>", (BINDINGS / "pom.xml").read_text(encoding="utf-8"))
    registered = "src/main/resources/META-INF/services/dohyo.binding.Binding"
    return [name for name in modules if name != "client" and (BINDINGS / name / registered).exists()]


@pytest.mark.parametrize("name", bindings())
def test_a_binding_has_a_contract(name: str) -> None:
    assert list((BINDINGS / name / f"src/test/java/dohyo/{name}").glob("*ContractIT.java"))
    assert name in {system.binding for system in catalogue.all_systems().values()}


def test_contract(
    system: str, binding: str, reasons: dict[str, str], run: Commands, request: pytest.FixtureRequest
) -> None:
    if reasons[system]:
        pytest.skip(reasons[system])
    reports = BINDINGS / binding / "target/failsafe-reports"
    for report in reports.glob("*.xml"):
        report.unlink()
    # These tests leave data that no trial would remove, so give them a separate folder.
    folder: Path = request.getfixturevalue("data") / f"{system}-{binding}"
    folder.mkdir()
    folder.chmod(0o755)
    # trial.yml also stops the servers of the previous case.
    variables = (f"trial_system={system} trial_until=schema", f"{{dohyo_data: ['{folder}']}}")
    _play(run, "trial.yml", *variables, "@tests/quick_start.yml")
    # These goals build no jars, because setup.sh has already built them and other tests are using them.
    goals = ("test-compile", "failsafe:integration-test", "failsafe:verify", "-Pcontract", "-Dcheckstyle.skip")
    tests = (f"-Dit.test=dohyo/{binding}/**/*IT", "-Dfailsafe.failIfNoSpecifiedTests=false")
    server = f"-Ddohyo.server={LOCAL_HOME}/run/{system}.properties"
    run(*MAVEN, *goals, "-pl", binding, "-am", *tests, server, *without_slow(request.config))
    assert list(reports.glob(f"TEST-dohyo.{binding}.*ContractIT.xml")), "Maven ran no contract test"


def _play(run: Commands, playbook: str, *variables: str) -> None:
    arguments = [word for variable in variables for word in ("-e", variable)]
    run(BIN / "ansible-playbook", playbook, *arguments, cwd=ANSIBLE)
