"""Tests the settings of attached systems in an inventory or a scenario, and the input that is rejected."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dohyo import cli
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, ROOT
from dohyo.planning import plan
from dohyo.running import attachment
from dohyo.scenario import loading, phases, properties
from dohyo.scenario.scenario import Scenario
from dohyo.systems import catalogue


@pytest.mark.parametrize(
    ("hosts", "problem"),
    [
        ([{}, {"attached": {"mysql-innodb": "db:3306"}}], "must be the same for all hosts"),
        ([{}, {"attached_may": ["settle"]}], "must be the same for all hosts"),
        ([{}, {"attached_secrets": "/etc/hostname"}], "must be the same for all hosts"),
        ([{"attached": "cassandra=db"}] * 2, r"docs/attach\.md"),
        ([{"attached": ["a"]}] * 2, r"docs/attach\.md"),
        ([{"attached_secrets": 5}] * 2, r"docs/attach\.md"),
        ([{"attached_may": "settle"}] * 2, r"docs/attach\.md"),
        ([{"attached": None}] * 2, r"hosts\.yml: attached=None: wrong type; see docs/attach\.md"),
        ([{}, {"attached_may": None}], r"hosts\.yml: attached_may=None: wrong type; see docs/attach\.md"),
    ],
)
def test_an_inventory_attaches_for_all_hosts_and_in_the_right_type(
    monkeypatch: pytest.MonkeyPatch, hosts: list[dict[str, Any]], problem: str
) -> None:
    monkeypatch.setattr(attachment, "host_variables", lambda _: {"first": hosts[0], "second": hosts[1]})
    with pytest.raises(BadInputError, match=problem):
        attachment.overrides([], None, [], Path("hosts.yml"))


def test_a_list_of_systems_refuses_them_as_a_run_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("all: {children: {database: &host {hosts: {a: {attached: null}}}, client: *host}}")
    assert cli.main(["run", "--list", "--inventory", str(inventory)]) == 2
    assert f"ERROR: the inventory {inventory}: attached=None: wrong type; see docs/attach.md" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("places", "port"),
    [("mysql-innodb=db:99999", "99999"), ("cassandra=a:1,b:0", "0"), ("cassandra=[::1]:70000", "70000")],
)
def test_a_port_that_cannot_be_is_refused(places: str, port: str) -> None:
    with pytest.raises(BadInputError, match=f"the port {port} must be a number from 1 to 65535"):
        attachment.overrides([places], None, [], None)


@pytest.mark.parametrize(
    "places",
    [
        "mysql-innodb=db:3306/theirs", "mysql-innodb=db:3306/theirs?x=", "mysql-innodb=db1,db2",
        "postgresql=db1,db2/postgres", "postgresql=db/a/b", "cassandra=db/../x", "aerospike=db/a/b",
    ],
)  # fmt: skip
def test_hosts_lead_nowhere_but_to_a_place_of_our_own(places: str) -> None:
    name, _, hosts = places.partition("=")
    with pytest.raises(BadInputError, match="must be hosts"):
        attachment.overrides([places], None, [], None)
    # A scenario file or --set can also state the hosts.
    changes = {"attached": f'{{"{name}": "{hosts}"}}', "systems": name}
    with pytest.raises(BadInputError, match="must be hosts"):
        attachment.describe(loading.load(loading.find("workloadA"), changes))


@pytest.mark.parametrize(
    "places",
    ["cassandra=10.0.0.1,db:9042", "cassandra=[::1]:9042", "hbase=zk1,zk2,zk3:2181:/hbase", "hbase=zk1:/hbase/b",
     "postgresql=db.example:5432/admin", "mysql-innodb=db:3306", "aerospike=a:3000,b:3000/test"],
)  # fmt: skip
def test_documented_forms_of_hosts_are_accepted(places: str) -> None:
    assert attachment.overrides([places], None, [], None)["systems"] == places.partition("=")[0]


def test_the_examples_of_the_documentation_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/attach.md").read_text("utf-8"), re.DOTALL)
    authorities = tmp_path / "ca.pem"
    authorities.touch()
    # The examples name files that do not exist on this machine.
    access = re.sub(r"(ca: )/\S+", rf"\1{authorities}", "".join(text for text in examples if "all:" not in text))
    _secrets(tmp_path, access)
    monkeypatch.setenv("HOME", str(tmp_path))
    systems = []
    for number, example in enumerate(text for text in examples if "all:" in text):
        file = tmp_path / f"inventory{number}.yml"
        file.write_text(example, "utf-8")
        systems.append(attachment.overrides([], None, [], file)["systems"])
    assert systems == ["cassandra", "mysql-innodb", "hbase"]


def test_a_trial_attaches_nothing_but_what_was_asked_for(tmp_path: Path) -> None:
    # The variables are passed even though they are empty, because they must override an inventory's variables.
    trial = plan.trials(loading.load(loading.find("workloadA"), {"systems": "mysql-innodb"}))[0]
    variables = plan.variables(trial, tmp_path, keep=False)
    assert (variables["attached"], variables["attached_secrets"], variables["attached_may"]) == ({}, "", [])


def bounded(values: dict[str, str]) -> Scenario:
    """Returns workloadA with these values and `--target 500`."""
    return attachment.loaded(partial(loading.load, loading.find("workloadA")), values, "500")


MYSQL = {"attached": '{"mysql-innodb": "db"}', "systems": "mysql-innodb"}


def test_what_is_read_back_is_not_bounded() -> None:
    chosen = bounded({**MYSQL, "verify": "acknowledged"})
    attachment.check(chosen, None, None, {})
    with pytest.raises(BadInputError, match="verify=acknowledged reads records back"):
        attachment.check(chosen, "500", None, {})


@pytest.mark.parametrize(
    ("values", "rate"), [({}, 25), ({"insert.batchsize": "3"}, 166.666666), ({"matrix.insert.batchsize": "1,50"}, 10)]
)
def test_a_bound_counts_the_records_of_the_load(values: dict[str, str], rate: float) -> None:
    chosen = bounded({**MYSQL, **values})
    attachment.check(chosen, "500", None, {})
    for trial in plan.trials(chosen):
        assert float(trial.scenario.of("insert")["target"]) == rate
        assert float(trial.scenario.of("run")["target"]) == 500
    assert "at most 500 operations and 500 records per second" in " ".join(attachment.describe(chosen))


def test_the_records_of_runs_in_batches_are_told() -> None:
    text = " ".join(attachment.describe(bounded({**MYSQL, "batchsize": "100"})))
    assert "at most 500 operations and 50,000 records per second" in text


@pytest.mark.parametrize(("limit", "repeats"), [({}, 4), ({"max.other.cpu": "100%"}, 2)])
def test_the_data_to_write_includes_disturbed_repeats_that_are_measured_again(
    limit: dict[str, str], repeats: int
) -> None:
    inserts = {"insertproportion": "1", "readproportion": "0", "updateproportion": "0", "repeats": "2"}
    chosen = bounded({**MYSQL, **inserts, "duration": "0", "operationcount": "1M", **limit})
    bytes_most = chosen.data_bytes + repeats * 1_000_000 * 1000
    attachment.check(chosen, None, f"{bytes_most}B", {})
    with pytest.raises(BadInputError, match="01-mysql-innodb would write"):
        attachment.check(chosen, None, f"{bytes_most - 1}B", {})


def test_a_bound_of_servers_that_dohyo_starts_counts_operations() -> None:
    assert bounded({"systems": "mysql-innodb"}).of("insert")["target"] == "500"


def test_servers_in_use_are_preconditioned_only_on_the_command_line() -> None:
    """The scenario updates 800,000 records before its runs. On servers in use, these updates also need a limit."""
    load = partial(loading.load, loading.find("workloadA"))
    assert load({"systems": "scylla"}).preconditions == 800_000
    assert attachment.loaded(load, MYSQL, None).preconditions == bounded(MYSQL).preconditions == 0
    scenario = bounded({**MYSQL, "preconditioning": "1000"})
    updates = scenario.of(phases.PRECONDITION)
    assert float(updates["target"]) * updates.number("batchsize") == 500
    assert updates.number("operationcount") * updates.number("batchsize") == 1000
    assert "updates 1,000 records before the runs" in " ".join(attachment.describe(scenario))


def test_a_rate_of_the_load_counts_by_its_records() -> None:
    with pytest.raises(BadInputError, match=r"insert has target=26 of 20 records; add --set insert\.target=25$"):
        attachment.check(bounded({**MYSQL, "insert.target": "26"}), "500", None, {})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cassandra_version", "4.1.9"),
        ("cassandra_heap", "1g"),
        ("matrix.cassandra_heap", "1g,2g"),
        ("profile", "tuned"),
        ("matrix.profile", "vanilla,tuned"),
        ("reuse", "data"),
    ],
)
def test_settings_of_servers_that_run_already_are_refused(key: str, value: str) -> None:
    changes = {"attached": '{"cassandra": "db"}', "systems": "cassandra", key: value}
    name = key.removeprefix("matrix.")
    with pytest.raises(BadInputError, match=f"^{name}=.*already running.*leave it out"):
        attachment.check(loading.load(loading.find("workloadA"), changes), None, None, changes)


def test_settings_that_concern_our_tables_or_servers_that_dohyo_starts_are_not() -> None:
    changes = {
        "attached": '{"cassandra": "db"}',
        "systems": "cassandra,hbase",
        "cassandra_compaction": "LeveledCompactionStrategy",
        "cassandra_count_limit": "5",
        "hbase_heap": "1g",
        "profile": "tuned",
        "reuse": "data",
    }
    attachment.check(loading.load(loading.find("workloadA"), changes), None, None, changes)


def test_those_of_the_scenario_itself_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine"
    file.write_text(loading.find("workloadA").read_text("utf-8") + "\ncassandra_heap=1g\n", "utf-8")
    changes = {"attached": '{"cassandra": "db"}', "systems": "cassandra"}
    attachment.check(loading.load(file, changes), None, None, changes)
    assert "mine: cassandra_heap=1g only affects servers that Dohyo starts" in " ".join(capsys.readouterr().err.split())


def _secrets(folder: Path, text: str) -> Path:
    file = folder / "secrets.yml"
    file.touch(mode=0o600)
    file.write_text(text, "utf-8")
    return file


def test_the_page_names_every_key_of_the_file_with_secrets() -> None:
    page = (ROOT / "docs/attach.md").read_text("utf-8")
    bindings = {name for system in catalogue.all_systems().values() if system.attaches for name in system.bindings}
    keys_of_bindings = {key for key, entry in properties.known().items() if entry.reader in bindings}
    keys = sorted(key for key in keys_of_bindings if re.fullmatch(attachment._ACCESS, key))
    assert {"postgresql.user", "postgresql.ca"} <= {*keys}
    assert [key for key in keys if key not in page] == []


def _vault(verb: str, file: Path, password: Path) -> None:
    program = Path(sys.executable).with_name("ansible-vault")
    command: list[str | Path] = [program, verb, "--vault-password-file", password, file]
    subprocess.run(command, check=True, capture_output=True, env={"LC_ALL": "C.UTF-8"})


@pytest.mark.parametrize(
    ("kind", "cause"), [("FIFO", "must be a regular file"), ("folder", "Is a directory"), ("sparse", "is too large")]
)
def test_what_is_no_file_with_secrets_is_refused_at_once(kind: str, cause: str, tmp_path: Path) -> None:
    path = tmp_path / "secrets"
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(10**12)
    with pytest.raises(BadInputError, match=f"^--attach-secrets {path}: .*{cause}"):
        attachment.check_secrets(path, ["cassandra"])


def test_an_encrypted_file_is_checked_as_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    password = tmp_path / "password"
    password.write_text("pw", "utf-8")
    file = _secrets(tmp_path, "cassandra: {cassandra.username: ann}\n")
    _vault("encrypt", file, password)
    with pytest.raises(BadInputError, match=r"cannot decrypt .*; set ANSIBLE_VAULT_PASSWORD_FILE"):
        attachment.check_secrets(file, ["cassandra"])
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(password))
    attachment.check_secrets(file, ["cassandra"])
    _vault("decrypt", file, password)
    file.write_text("cassandra: {threadcount: 5}\n", "utf-8")
    _vault("encrypt", file, password)
    with pytest.raises(BadInputError, match="cassandra: threadcount: must be"):
        attachment.check_secrets(file, ["cassandra"])


def test_a_system_is_attached_once() -> None:
    for second in ("cassandra=a", "cassandra=b"):
        with pytest.raises(BadInputError, match=f"{second}.*once for each system"):
            attachment.overrides(["cassandra=a", second], None, [], None)


def test_commands_in_a_folder_of_somebody_else_are_not_executed() -> None:
    """trial/test_trial.py tests this for trials, and trial/test_stop.py for stop.yml and destroy.yml."""
    assert "tasks/ours.yml" in (ANSIBLE / "attached.yml").read_text("utf-8")
