"""Tests the two profiles of server settings: which value has priority, and how it reaches a configuration file."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import pytest
import yaml

from dohyo.bad_input import BadInputError
from dohyo.places import ROOT
from dohyo.systems.catalogue import all_options, all_systems, of_role, profiles
from dohyo.systems.context import Context
from dohyo.systems.option import option
from dohyo.systems.records import DataNeeds, HostNeeds, Tuned
from dohyo.systems.rendering import as_sections, as_yaml
from dohyo.systems.system import System
from support.described import described

ROLES = sorted({system.role for system in all_systems().values()})
TUNED = {"profile": "tuned"}
# Hosts that differ in everything that can affect a setting's value.
HOSTS: list[dict[str, Any]] = [
    {"service_host": {"cores": cores, "disk_kind": disk, "java_home": "/jdk"}, "dohyo_devices": ["x"] * drives,
     "host_memory_budget": budget, "cassandra_version": version, "hbase_distributed": True,
     "aerospike_devices": devices,
     "states": {"node1": {"looked": {"stdout": f"9999\n/asd\nAerospike Community Edition build {build}"}}}}
    for cores, disk, drives, budget, version, devices, build in [
        (2, "ssd", 0, "", "5.0.9", [], "8.1.2.5"), (192, "nvme", 8, "150g", "4.0.1", ["/dev/a"], "7.0.1"),
        (8, "rotational", 1, "8g", "3.11.19", [], "6.1.0"),
    ]
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Small(System):
    """A system with one option of each kind."""

    role = "c"
    name: str = "c"
    title: str = "C"
    a: int = option(1, "The profile has another value.")
    b: str = option("x", "The profile has the same value.")
    c: list[str] = option([], "Both profiles have the same value.")
    d: bool = option(None, "Depends on the host.")
    secret: str = option("", "Nobody sees it.", secret=True)
    some_port: int = option(1, "A port.")
    address: str = option("here", "An address.")
    settings: dict[str, Any] = option({}, "Further settings.")

    installed_version = ""
    command: ClassVar[list[str]] = []
    words: ClassVar[list[str]] = []
    client_properties: ClassVar[dict[str, Any]] = {}

    def needs(self) -> HostNeeds:
        return HostNeeds(0, DataNeeds(0))

    def default_d(self) -> bool:
        """Returns a default that depends on the host."""
        return self.context.cores == 1

    def tuned(self) -> list[Tuned]:
        """Returns two options, one of them with its default value, and two settings, one of them for some hosts."""
        values = {"a": 2, "b": "x", "k": 3, "few": 1 if self.context.cores == 1 else None}
        return [Tuned(name, value, "a book") for name, value in values.items()]


REST = {"c_c": [], "c_d": False}


@pytest.mark.parametrize(
    ("profile", "user_values", "values", "tuned", "settings"),
    [
        ("vanilla", {}, {"c_a": 1, "c_b": "x", **REST}, {}, {}),
        ("tuned", {}, {"c_a": 2, "c_b": "x", **REST, "k": 3}, {"c_a": 2, "k": 3}, {}),
        ("tuned", {"service_host": {"cores": 1}}, {"c_a": 2, "c_b": "x", "c_c": [], "c_d": True, "k": 3, "few": 1},
         {"c_a": 2, "k": 3, "few": 1}, {}),
        ("tuned", {"c_a": "2", "c_b": "y", "c_settings": {"m": "n"}}, {"c_a": 2, "c_b": "y", **REST, "k": 3, "m": "n"},
         {"c_a": 2, "k": 3}, {"c_b": "y", "m": "n"}),
        ("tuned", {"c_a": 1}, {"c_a": 1, "c_b": "x", **REST, "k": 3}, {"k": 3}, {"c_a": 1}),
        ("vanilla", {"c_a": 2, "c_settings": {"k": 4}}, {"c_a": 2, "c_b": "x", **REST, "k": 4}, {}, {"c_a": 2, "k": 4}),
        *((profile, {"c_c": ["-Xint"], "c_d": True, "c_secret": "s", "c_some_port": 5, "c_address": "there", "c_a": 3},
           {"c_a": 3, "c_b": "x", "c_c": ["-Xint"], "c_d": True, **more}, more,
           {"c_c": ["-Xint"], "c_d": True, "c_a": 3})
          for profile, more in (("vanilla", {}), ("tuned", {"k": 3}))),
    ],
)  # fmt: skip
def test_conditions_tell_the_profile_s_values_from_the_user_s(
    profile: str, user_values: dict[str, Any], values: dict[str, Any], tuned: dict[str, Any], settings: dict[str, Any]
) -> None:
    small = Small().on(Context({"dohyo_profile": profile, **user_values}))
    assert small.in_effect == {"profile": profile, "values": values, "tuned": tuned, "settings": settings}


def test_a_system_without_values_of_its_own_is_not_called_tuned() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Plain(Small):
        def tuned(self) -> list[Tuned]:
            return []

    assert Plain().on(Context({"dohyo_profile": "tuned", "c_a": 1})).in_effect["profile"] == "vanilla"


def test_the_scenario_names_the_profile_and_an_inventory_may() -> None:
    for context in ({"trial_conditions": TUNED}, {"dohyo_profile": "tuned"}):
        assert Context(context).tuned
    assert not Context({"trial_conditions": {}}).tuned


def test_the_page_has_every_value_with_its_source() -> None:
    page = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
    assert f"\n{profiles()}\n" in page, "update it with the output of ./dohyo profiles"


@pytest.mark.parametrize("role", ROLES)
def test_every_value_has_its_source_and_words(role: str) -> None:
    """A misspelt option would count as a setting. The table needs the package's default as text."""
    name = of_role(role).name
    by_host = [described(name, **host, conditions=TUNED).tuned() for host in HOSTS]
    for rows in zip(of_role(role).on(Context()).tuned(), *by_host, strict=True):
        first = rows[0]
        assert first.source.strip(), first.name
        assert {row.name for row in rows} == {first.name}
        if len({str(row.value) for row in rows}) > 1 or first.value is None:
            assert first.shown, f"{first.name} has no description of its value"
        if (option_of_role := of_role(role).all_options().get(first.name)) is None:
            assert first.vanilla, f"{first.name} has no description of the package's value"
            of_role(role).all_options()["settings"].check({first.name: "1"})
        else:
            values = [row.value for row in rows if row.value is not None]
            assert [option_of_role.check(value) for value in values] == values


@pytest.mark.parametrize("name", all_systems())
@pytest.mark.parametrize("host", HOSTS, ids=["small", "large", "rotating"])
def test_what_nobody_sets_is_no_setting_of_the_user_s(name: str, host: dict[str, Any]) -> None:
    host_facts = {
        key: value for key, value in host.items() if "_" not in key or key.startswith(("host", "service", "dohyo"))
    }
    for conditions in (TUNED, {}):
        in_effect = described(name, **host_facts, conditions=conditions).in_effect
        assert in_effect["settings"] == {}
        assert in_effect["profile"] == conditions.get("profile", "vanilla")
        assert bool(in_effect["tuned"]) == (conditions == TUNED)


# ---- settings in files -----------------------------------------------------------------------------------------------

HOSTILE = ["{{ 1 + 1 }}", "a: b", "- a", "#", "'\"", "!!python/object", "yes", "*a", "&a b", "|", "0x1"]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_setting_in_yaml_is_one_value_whatever_it_is(value: str) -> None:
    rendered = as_yaml("a: 1\nb: {c: [1]}\n", {"b.d.e": value, "a": value})
    assert yaml.safe_load(rendered) == {"a": value, "b": {"c": [1], "d": {"e": value}}}


@pytest.mark.parametrize(
    ("path", "problem"), [("b.c", "it is a mapping or a list"), ("b", "it is a"), ("a.b", "a is 1 and has no keys")]
)
def test_a_setting_in_yaml_replaces_no_keys(path: str, problem: str) -> None:
    with pytest.raises(BadInputError, match=problem):
        as_yaml("a: 1\nb: {c: [1]}\n", {path: 2})


SECTIONS = "service {\n\tx 1\n}\nnamespace ycsb {\n\tr 2\n\tstorage-engine device {\n\t\tf a\n\t}\n}\n"


def test_a_setting_reaches_its_section() -> None:
    settings = {"service.x": 2, "service.y": True, "namespace.storage-engine.f": "b", "namespace.z": "true"}
    assert as_sections(SECTIONS, settings).split("\n") == [
        "service {", "\tx 2", "\ty true", "}",
        "namespace ycsb {", "\tr 2", "\tstorage-engine device {", "\t\tf b", "\t}", "\tz true", "}", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [("nosuch.x", 1, "setting nosuch.x: the configuration has no"), ("service.x", "1 }", "setting service.x=1 }: a")],
)
def test_a_setting_of_no_section_or_that_ends_one_is_refused(name: str, value: Any, problem: str) -> None:
    with pytest.raises(BadInputError, match=problem):
        as_sections(SECTIONS, {name: value})


@pytest.mark.parametrize(
    "name", ["data_file_directories", "listen_address", "storage_port", "seed_provider", "x y", "a.{{b}}"]
)
def test_settings_that_other_variables_say_are_refused(name: str) -> None:
    with pytest.raises(BadInputError, match="each name must match"):
        all_options()["cassandra_settings"].check({name: 1})


# ---- Cassandra's files -----------------------------------------------------------------------------------------------


def cassandra(**variables: Any) -> tuple[dict[str, Any], list[str], dict[str, Any]]:
    """Returns the contents of cassandra.yaml and jvm.options on a host with six processors, and the conditions."""
    cores = {"cores": 6, "disk_kind": "ssd", "java_home": "/jdk"}
    system = described("cassandra", **{"service_host": cores, "jdk_gc_options": [], **variables})
    files = {file.path.rpartition("/")[2]: file.content for file in system.files}
    options = [line for line in files["jvm.options"].splitlines() if line.startswith("-")]
    return yaml.safe_load(files["cassandra.yaml"]), options, system.in_effect


def test_the_profile_has_other_defaults_and_the_user_s_values_win() -> None:
    settings = {"memtable_allocation_type": "heap_buffers", "compression.a": "{{ 1 + 1 }}"}
    of_both: dict[str, Any] = {"cassandra_java_options": ["-Xint"], "cassandra_tokens": 1}
    written, _, effect = cassandra(
        hosts=3, conditions=TUNED, cassandra_sstable_format="big",
        trial_phases=[{"name": "run", "faults": "kill(1)@5s"}],
        cassandra_password="secret",  # noqa: S106 - not a real password
        cassandra_settings=settings, **of_both,
        # This pattern matches three disks.
        dohyo_devices=["/dev/disk/by-id/nvme-X_*"], host_disks={"devices": [{}, {}, {}]},
    )  # fmt: skip
    assert written["memtable"]["configurations"]["default"]["inherits"] == "trie"
    assert written["sstable"]["selected_format"] == "big"
    assert written["memtable_allocation_type"] == "heap_buffers"
    assert written["compression"] == {"a": "{{ 1 + 1 }}"}
    assert (written["concurrent_writes"], written["concurrent_reads"], written["concurrent_compactors"]) == (48, 48, 6)
    assert (written["storage_compatibility_mode"], written["commitlog_disk_access_mode"]) == ("NONE", "auto")
    assert (written["trickle_fsync"], written["compaction_throughput"]) == (True, "0MiB/s")
    assert written["endpoint_snitch"] == "GossipingPropertyFileSnitch"
    # These settings are for other versions, or for a format that the user did not choose.
    assert not {"compaction_throughput_mb_per_sec", "key_cache_size"} & {*written, *effect["values"]}
    assert (written["num_tokens"], written["hinted_handoff_enabled"]) == (1, True)
    assert effect["tuned"]["cassandra_memtable"] == "trie"
    assert effect["settings"] == {"cassandra_sstable_format": "big", **of_both, **settings}
    assert "cassandra_password" not in effect["values"]


@pytest.mark.parametrize(("tokens", "nodes"), [(1, 3), (16, 4)])
def test_every_node_owns_an_equal_part_of_the_ring(tokens: int, nodes: int) -> None:
    owners: dict[int, int] = {}
    for node in range(nodes):
        written, _, _ = cassandra(hosts=nodes, host=node + 1, cassandra_tokens=tokens)
        owners |= {int(token): node for token in written["initial_token"].split(",")}
    assert len(owners) == tokens * nodes
    gaps = {after - before for before, after in pairwise(sorted(owners))}
    assert max(gaps) - min(gaps) <= 1
    # Neighbours are different nodes, so that the copies of a part are on different nodes.
    assert [owners[token] for token in sorted(owners)] == [*range(nodes)] * tokens


def test_tokens_are_random_in_3_11_as_in_the_package() -> None:
    written, _, _ = cassandra(hosts=3, cassandra_version="3.11.19")
    assert (written["num_tokens"], "initial_token" in written) == (256, False)


@pytest.mark.parametrize(("faults", "waits"), [("none", False), ("kill(any)@5s", True)])
def test_a_node_that_returns_waits_for_gossip_as_in_the_package(faults: str, waits: bool) -> None:
    _, options, _ = cassandra(hosts=3, trial_phases=[{"name": "run", "faults": faults}])
    assert ("-Dcassandra.skip_wait_for_gossip_to_settle=0" not in options) == waits


@pytest.mark.parametrize(
    ("heap", "options", "young"), [("16g", ["-Xmn8G"], "-Xmn8G"), ("16g", ["-ea"], "-Xmn600m"), ("1g", [], "-Xmn256m")]
)
def test_the_jvm_is_started_as_the_package_starts_it(heap: str, options: list[str], young: str) -> None:
    """With CMS, the young generation has 100 MB for each of the 6 processors, but at most a quarter of the heap."""
    version: dict[str, Any] = {"cassandra_version": "3.11.6", "cassandra_gc": "CMS"}
    _, arguments, _ = cassandra(**version, cassandra_heap=heap, cassandra_java_options=options)
    assert [argument for argument in arguments if argument.startswith("-Xmn")] == [young]
    package = {"-Xss256k", "-XX:+AlwaysPreTouch", "-XX:-UseBiasedLocking", "-XX:+UseNUMA", "-XX:+PerfDisableSharedMem"}
    package |= {"-XX:StringTableSize=1000003", "-XX:ThreadPriorityPolicy=42", "-XX:+UseCondCardMark"}
    assert package <= {*arguments}
    assert ("-ea" in arguments) == ("-ea" in options)


@pytest.mark.parametrize(
    ("commitlog", "hints", "folders"),
    [
        ("", "", {"commitlog": "/b", "data": ["/a"]}),
        ("/log", "", {"commitlog": "/log", "data": ["/a", "/b"]}),
        ("/log", "/hints", {"commitlog": "/log", "data": ["/a", "/b"], "hints": "/hints", "saved_caches": "/hints"}),
    ],
)
def test_the_commit_log_and_hints_have_disks_of_their_own_where_those_were_named(
    commitlog: str, hints: str, folders: dict[str, Any]
) -> None:
    named = {"cassandra_commitlog_folder": commitlog, "cassandra_hints_folder": hints}
    written, _, effect = cassandra(dohyo_data=["/a", "/b"], **named)
    key = {name: f"{name}_directory" for name in ("commitlog", "hints", "saved_caches")}
    key["data"] = "data_file_directories"
    assert {key[name] for name in folders} == {*key.values()} & {*written}
    for name, folder in folders.items():
        below = f"/dohyo/cassandra/{name}"
        assert written[key[name]] == ([disk + below for disk in folder] if name == "data" else folder + below)
    assert effect["settings"] == {name: value for name, value in named.items() if value}


def test_hints_alone_have_no_disk_of_their_own() -> None:
    (refusal,) = described("cassandra", cassandra_hints_folder="/hints").refusals
    assert refusal.startswith("cassandra_hints_folder=/hints needs cassandra_commitlog_folder")


@pytest.mark.parametrize(
    "settings", [{}, {"row_cache_size": "0MiB"}, {"row_cache_size": "64MiB"}, {"row_cache_size_in_mb": 64}]
)
def test_rows_are_kept_only_by_a_row_cache(settings: dict[str, Any]) -> None:
    named: dict[str, Any] = {"cassandra_rows_per_partition": "ALL", "cassandra_settings": settings}
    refusals = described("cassandra", **named).refusals
    reason = "cassandra_rows_per_partition=ALL needs a row cache; set row_cache_size in cassandra_settings"
    assert [refusal.startswith(reason) for refusal in refusals] == ([] if "64" in str(settings) else [True])
    assert settings.items() <= cassandra(**named)[0].items()


# ---- disks -----------------------------------------------------------------------------------------------------------


def settings_of(name: str, devices: int, disk_kind: str) -> dict[str, Any]:
    """Returns the profile's settings on a host on which one pattern matches all devices."""
    return described(
        name, conditions=TUNED, hbase_distributed=True, dohyo_devices=["/dev/disk/by-id/nvme-X_*"],
        host_memory_budget="150g", host_disks={"devices": [{}] * devices}, dohyo_data=["/dohyo/data"],
        service_host={"cores": 192, "disk_kind": disk_kind, "java_home": "/jdk"},
    ).settings_of_profile  # fmt: skip


COUNTS: Sequence[tuple[str, str]] = [
    ("hbase", "hbase.wal.regiongrouping.numgroups"), ("hbase", "hbase.regionserver.thread.compaction.small"),
    ("hbase", "hbase.regionserver.thread.compaction.large"), ("hbase", "hbase.hstore.flusher.count"),
    ("hbase", "hbase.wal.provider"), ("mysql-innodb", "innodb_io_capacity"), ("mysql-innodb", "innodb_read_io_threads"),
    ("cassandra", "concurrent_compactors"), ("cassandra", "trickle_fsync"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("devices", "disk_kind", "expected"),
    [
        # An array of disks counts as several disks. InnoDB allows at most 64 threads.
        (8, "nvme", [8, 4, 4, 4, "multiwal", 10000, 64, 192, True]),
        (1, "rotational", [None, None, None, None, None, 200, 64, None, None]),
    ],
)
def test_values_follow_from_the_disks(devices: int, disk_kind: str, expected: list[Any]) -> None:
    values = {name: settings_of(name, devices, disk_kind) for name, _ in COUNTS}
    assert [values[name].get(setting) for name, setting in COUNTS] == expected


@pytest.mark.parametrize(("devices", "logs"), [(8, 8), (1, 1)])
def test_hbase_has_room_for_the_logs_of_all_disks(devices: int, logs: int) -> None:
    """The maximum size of the write-ahead log grows with the number of logs."""
    alone = described("hbase", hbase_distributed=True).needs().size.log_mb
    hbase = described("hbase", hbase_distributed=True, conditions=TUNED, dohyo_devices=["x"] * devices)
    assert hbase.needs().size.log_mb == alone * logs
