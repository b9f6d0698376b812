"""The contract of every binding, against a real server."""

import re
import tempfile
from pathlib import Path

import pytest

from dohyo.ansible import available
from dohyo.places import ANSIBLE, BINDINGS, LOCAL_HOME, ROOT
from dohyo.systems import catalogue
from suite.commands import BIN, MAVEN, Commands
from suite.plugin import SCYLLA_DRIVER


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Chooses the systems: those of --system, else the first one of each binding."""
    if "binding" not in metafunc.fixturenames:
        return
    known = catalogue.all_systems().values()
    cases = {system.name: pytest.param(system.name, system.binding, id=system.name) for system in known}
    # The driver also speaks to Cassandra, which shows that it works where there is no ScyllaDB.
    cases[SCYLLA_DRIVER] = pytest.param("cassandra", "scylla", id=SCYLLA_DRIVER, marks=pytest.mark.slow)
    firsts = {system.binding: system.name for system in reversed(known)}
    names = metafunc.config.getoption("system") or [name for name in cases if name in (*firsts.values(), SCYLLA_DRIVER)]
    metafunc.parametrize(("system", "binding"), [cases[name] for name in names])


@pytest.fixture(scope="module")
def reasons() -> dict[str, str]:
    """Why a system is not available on this machine, by name; "" for one that is."""
    return available.ask(None)


def bindings() -> list[str]:
    """Returns the modules of the Maven reactor that register a binding of their own."""
    modules = re.findall("<module>(.*)</module>", (BINDINGS / "pom.xml").read_text(encoding="utf-8"))
    registered = "src/main/resources/META-INF/services/dohyo.binding.Binding"
    return [name for name in modules if name != "client" and (BINDINGS / name / registered).exists()]


@pytest.mark.parametrize("name", bindings())
def test_a_binding_has_a_contract(name: str) -> None:
    assert list((BINDINGS / name / f"src/test/java/dohyo/{name}").glob("*ContractIT.java"))
    assert name in {system.binding for system in catalogue.all_systems().values()}


def test_contract(system: str, binding: str, reasons: dict[str, str], run: Commands) -> None:
    if reasons[system]:
        pytest.skip(reasons[system])
    reports = BINDINGS / binding / "target/failsafe-reports"
    for report in reports.glob("*.xml"):
        report.unlink()
    # In a folder of its own: no trial would remove what these tests leave in the server.
    with tempfile.TemporaryDirectory(dir=ROOT / ".setup") as data:
        Path(data).chmod(0o755)  # the server may run as another user
        try:
            variables = (f"trial_system={system} trial_until=schema", f"{{dohyo_data: ['{data}']}}")
            _play(run, "deploy.yml", f"{{deploy_systems: [{system}]}}")
            _play(run, "trial.yml", *variables, "@tests/quick_start.yml")
            # The unit tests have their own part.
            tests = ("-Dtest=none", "-Dsurefire.failIfNoSpecifiedTests=false", f"-Dit.test=dohyo/{binding}/**/*IT")
            server = f"-Ddohyo.server={LOCAL_HOME}/run/{system}.properties"
            more = ("-Dfailsafe.failIfNoSpecifiedTests=false", server)
            run(*MAVEN, "verify", "-Pcontract", "-pl", binding, "-am", *tests, *more)
        finally:
            _play(run, "stop.yml")
    assert list(reports.glob(f"TEST-dohyo.{binding}.*ContractIT.xml")), "Maven has run no contract"


def _play(run: Commands, playbook: str, *variables: str) -> None:
    words = [word for each in variables for word in ("-e", each)]
    run(BIN / "ansible-playbook", playbook, *words, cwd=ANSIBLE)
