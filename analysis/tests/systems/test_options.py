"""Tests the options of all systems: what they declare, and which values of scenarios and inventories are rejected."""

import datetime
import re
from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped]

from dohyo.bad_input import BadInputError
from dohyo.systems.catalogue import all_options, all_systems, ask, of_role
from dohyo.systems.context import Context
from dohyo.systems.option import Option
from support.described import PASSWORDS, described

SERVER = {"version": "17.6", "product": "MariaDB", "basedir": "/usr", "tables": ["a.sql"]}
FOUND: dict[str, Any] = {"node1": {"found": {"name": "nobody", "uid": 1, "gid": 1, "change": False, **SERVER}}}

ROLES = sorted({system.role for system in all_systems().values()})
OPTIONS = [option for role in ROLES for option in of_role(role).all_options().values()]


def misfits(name: str, value: Any) -> list[str]:
    """Returns the problems that playbooks report for this value of a variable in an inventory."""
    role = next(role for role in ROLES if name.startswith(f"{role}_"))
    return list(of_role(role).on(Context({name: value})).misfits)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_described_and_takes_its_choices(option: Option) -> None:
    """The catalogue checks types, patterns and defaults when it loads a class."""
    assert re.fullmatch(r"[A-Z/~].*[.]", option.about), "a sentence"
    assert all(option.check(choice) == choice for choice in option.choices)


@pytest.mark.parametrize("system", all_systems())
def test_defaults_that_follow_from_others_fit(system: str) -> None:
    server = described(system, 3)
    assert list(server.misfits) == []
    assert [name for name, option in server.all_options().items() if option.check(getattr(server, name)) is None] == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cassandra_concurrent_reads", [-5, 10**9, 1.5, "many", True]),
        ("mysql_buffer_pool", ["1x", "1gb", "", "-1g"]),
        *((f"{name}", ["lots"]) for name in ("mysql_log_file", "postgresql_shared_buffers", "postgresql_max_wal_size")),
        *((f"{name}", ["lots"]) for name in ("scylla_memory", "aerospike_data_size")),
        ("cassandra_java_options", [["a", {"b": 1}], [["a"]], [None], "-Xss1m", ["a\nb"]]),
        ("mysql_settings", [{"a": [1]}, {"a": None}, "x"]),
        ("postgresql_settings", ["x"]),
        ("cassandra_gc", ["Epsilon"]),
        ("hbase_regionservers_per_host", [0, 9]),
        # YAML has types that configuration files do not have.
        ("cassandra_settings", [{"a": datetime.date(2026, 1, 2)}, {"a": b"x"}, {"a": {"a"}}]),
        ("cassandra_heap", [["1g"], {"a": "1g"}, None]),
        ("cassandra_password", [["secret"], {"a": "secret"}, None, "a\nsecret", " secret"]),
        ("cassandra_tls", ["perhaps", 2, None]),
        ("cassandra_cql_port", [0, 65536]),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(name: str, values: list[Any]) -> None:
    for value in values:
        (problem,) = misfits(name, value)
        shown = "(not shown)" if name == "cassandra_password" else value
        assert problem.startswith(f"{name}={shown}: "), problem
        assert ("secret" in problem) == ("secret" in str(shown))


@pytest.mark.parametrize(
    ("name", "value", "end"),
    [
        ("cassandra_cql_port", 0, "must be a port, 1 to 65535"),
        ("cassandra_gc", "Epsilon", "must be one of default, CMS, G1, ZGC, Shenandoah, Parallel"),
        ("cassandra_heap", ["1g"], "must be of type str"),
        ("cassandra_settings", {"a": None}, "each value must be text or a number"),
        ("cassandra_java_options", [["a"]], "each element must be text or a number"),
        ("aerospike_devices", ["/dev/a", "/dev/b }"], r"each element must match [^\s#{}]+, which '/dev/b }' does not"),
        ("cassandra_java_options", ["a\nb"], "contains the control character U+000A; leave it out"),
    ],
)
def test_a_refusal_says_what_is_allowed(name: str, value: Any, end: str) -> None:
    (problem,) = misfits(name, value)
    assert problem == f"{name}={value}: {end}"


def test_of_many_settings_the_wrong_one_is_named() -> None:
    (problem,) = misfits("hbase_settings", {"a": 1, "fs.defaultFS": 2})
    assert problem.endswith(", which 'fs.defaultFS' does not")


@pytest.mark.parametrize("value", ["127.0.0.1;id", "a b", "$(id)"])
@pytest.mark.parametrize("system", all_systems())
def test_a_value_of_the_host_that_a_default_follows_from_is_checked(system: str, value: str) -> None:
    """The address becomes part of configurations and command lines."""
    role = all_systems()[system].role
    (problem,) = all_systems()[system].on(Context({"dohyo_address": value})).misfits
    assert problem.startswith(f"{role}_address={value}: it must match ")


@pytest.mark.parametrize("value", ["1g", "1500m", "1.5g", "2GB", "134217728"])
@pytest.mark.parametrize(
    "name", ["mysql_buffer_pool", "postgresql_shared_buffers", "scylla_memory", "aerospike_data_size"]
)
def test_valid_sizes_are_accepted(name: str, value: str) -> None:
    assert misfits(name, value) == []
    assert all_options()[name].parse(value) == value


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        *(("cassandra_heap", *pair) for pair in [("2g", "2g"), (2147483648, "2147483648")]),
        *(("cassandra_concurrent_reads", *pair) for pair in [("64", 64), (64, 64)]),
        *(("cassandra_tls", *pair) for pair in [("yes", True), ("False", False), (True, True)]),
        ("cassandra_settings", {"a.b": 1}, {"a.b": 1}),
        ("cassandra_java_options", ("-Xint", 1), ["-Xint", "1"]),
    ],
)
def test_a_value_of_an_inventory_gets_its_type(name: str, value: Any, typed: Any) -> None:
    """Templates of Ansible return strings, and lists that are instances of Ansible's own classes."""
    system = described("cassandra", **{name: value})
    assert getattr(system, name.removeprefix("cassandra_")) == typed
    assert list(system.misfits) == []


@pytest.mark.parametrize(
    ("variables", "environment", "password"),
    [
        ({}, {"DOHYO_CASSANDRA_PASSWORD": "e"}, "e"),
        ({"cassandra_password": "i"}, {"DOHYO_CASSANDRA_PASSWORD": "e"}, "i"),
        ({}, {}, ""),
    ],
)
def test_a_secret_is_the_inventory_s_or_the_environment_s(
    variables: dict[str, Any], environment: dict[str, str], password: str
) -> None:
    system = described("cassandra", cassandra_authentication=True, environment=environment, **variables)
    client = system.new_passwords["client"]
    assert client == password if password else re.fullmatch("[0-9A-Za-z]{24}", client)


@pytest.mark.parametrize("system", ["cassandra", "hbase", "mysql-innodb", "postgresql"])
def test_numbers_of_an_inventory_reach_a_configuration(system: str) -> None:
    """Ansible has its own classes for numbers, which YAML and JSON libraries cannot write."""
    role = all_systems()[system].role
    settings = DataLoader().load("{some_number: 7, a_ratio: 0.5}")
    server = described(system, **{f"{role}_settings": settings, "passwords": PASSWORDS, "states": FOUND})
    (text,) = [file.content for file in server.files if "some_number" in file.content]
    assert re.search("some_number.*7", text)


@pytest.mark.parametrize("size", ["513m", "4m"])
def test_an_old_mysql_has_the_redo_log_in_two_files(size: str) -> None:
    states = {"node1": {"found": {**FOUND["node1"]["found"], "product": "MySQL", "version": "8.0.29"}}}
    (conf,) = described("mysql-innodb", mysql_log_file=size, states=states, passwords=PASSWORDS).files
    assert f"loose_innodb_redo_log_capacity = {size.upper()}" in conf.content
    assert f"loose_innodb_log_file_size = {max(int(size[:-1]) // 2, 4)}M" in conf.content


def test_a_template_without_a_value_is_a_misfit_and_nothing_else_fails() -> None:
    class Unresolved(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            if name == "aerospike_data_size":
                raise RuntimeError("'nosuch' is undefined")
            return super().__getitem__(name)

    system: Any = of_role("aerospike").on(Context(Unresolved(host_memory_budget="0.8", dohyo_deployment="0123456789")))
    assert list(system.misfits) == ["aerospike_data_size has no value: 'nosuch' is undefined"]
    # destroy.yml reads these values.
    assert (system.log_disks, system.raw_environment["LABEL"]) == ([], "dohyo-012345")


@pytest.mark.parametrize(
    ("system", "variables", "problem"),
    [
        ("cassandra", {"dohyo_profile": "Tuned"}, "dohyo_profile=Tuned: must be one of vanilla, tuned"),
        ("cassandra", {"dohyo_data": None}, "dohyo_data=None: must be a list of paths"),
        ("cassandra", {"dohyo_data": "/data"}, "dohyo_data=/data: must be a list of paths"),
        ("aerospike", {"dohyo_data": []}, r"dohyo_data=\[\]: must be a list of paths"),
        (
            "hbase",
            {"dohyo_devices": "/dev/x", "dohyo_profile": "tuned"},
            "dohyo_devices=/dev/x: must be a list of paths",
        ),
        ("cassandra", {"cassandra_settings": {"row_cache_size": "x"}}, "row_cache_size=x: must be a size, as in 1500m"),
        (
            "hbase",
            {"hbase_settings": {"hbase.wal.provider": "multiwal", "hbase.wal.regiongrouping.numgroups": "x"}},
            "hbase.wal.regiongrouping.numgroups=x: must be a whole number",
        ),
        (
            "aerospike",
            {"aerospike_settings": {"namespace.storage-engine.post-write-queue": "x"}},
            "namespace.storage-engine.post-write-queue=x: must be a whole number",
        ),
        ("cassandra", {"trial_properties": {"recordcount": "x"}}, "cassandra: ValueError: invalid literal for int"),
    ],
)
def test_what_is_wrong_is_said_with_its_name(system: str, variables: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInputError, match=f"^{problem}"):
        ask(system, Context(variables), lambda server: (server.planned, server.settings_of_profile))


def test_a_budget_without_devices_and_a_tiny_block_are_no_division_by_zero() -> None:
    budget = {"host_memory_budget": "8g", "aerospike_storage": "device"}
    assert ask("aerospike", Context(budget), lambda server: server.needs()).memory_mb > 0
    old = {"stdout": "9999\n/asd\nAerospike Community Edition build 7.0.0.0"}
    small = described("aerospike", aerospike_flush_size="0", states={"node1": {"looked": old}})
    assert small.needs().memory_mb > 0
