"""The two profiles of the servers' settings: what wins over what, and how settings reach a configuration file."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError  # type: ignore[import-untyped]

from dohyo import systems
from dohyo.ansible.data import as_data
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, ROOT
from filter.dohyo_filters import as_sections, as_yaml, in_effect
from support.playbooks import play, refused

BOTH = {"c_a": {"vanilla": 1, "tuned": 2}, "c_b": {"vanilla": "x", "tuned": "x"}}
GOOD = {"value": 1, "vanilla": 2, "source": "x"}
PROFILES = {"variables": BOTH, "settings": {"k": 3}, "others": {"c_c": [], "c_d": True}}
REST = {"c_c": [], "c_d": True}


def test_the_page_has_every_value_with_its_source() -> None:
    page = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
    assert f"\n{systems.profiles()}\n" in page, "write it anew: ./dohyo profiles"


def test_conditions_tell_the_profile_s_values_from_the_user_s() -> None:
    assert in_effect(PROFILES, "vanilla", {"c_a": 1, "c_b": "x", **REST}, {}) == {
        "profile": "vanilla", "values": {"c_a": 1, "c_b": "x", **REST}, "tuned": {}, "settings": {},
    }  # fmt: skip
    assert in_effect(PROFILES, "tuned", {"c_a": "2", "c_b": "y", **REST}, {"k": 3, "m": "n"}) == {
        "profile": "tuned", "values": {"c_a": "2", "c_b": "y", **REST, "k": 3, "m": "n"},
        "tuned": {"c_a": "2", "k": 3}, "settings": {"c_b": "y", "m": "n"},
    }  # fmt: skip
    assert in_effect(PROFILES, "vanilla", {"c_a": 2, "c_b": "x"}, {"k": 4})["settings"] == {"c_a": 2, "k": 4}


@pytest.mark.parametrize("profile", ["vanilla", "tuned"])
def test_a_variable_that_is_the_same_in_both_profiles_shows_once_the_user_sets_it(profile: str) -> None:
    found = in_effect(PROFILES, profile, {"c_c": ["-Xint"], "c_d": True}, {})
    assert (found["tuned"], found["settings"]) == ({}, {"c_c": ["-Xint"]})


def test_a_system_without_values_of_its_own_is_not_called_tuned() -> None:
    assert in_effect({"variables": {}, "settings": {}, "others": {}}, "tuned", {}, {"a": 1})["profile"] == "vanilla"


@pytest.mark.parametrize(
    ("name", "entry", "problem"),
    [
        ("a.b", {**GOOD, "source": " "}, "source: must say where the value comes from"),
        ("a.b", {"value": 1, "vanilla": 2}, "no source; "),
        ("a.b", {"value": 1, "source": "x"}, "no vanilla, the value in words"),
        ("a.b", {**GOOD, "value": "{{ 1 }}"}, "no shown, the value in words"),
        ("a.b", {**GOOD, "says": "x"}, "unknown key 'says'"),
        ("cassandra_heep", GOOD, "variables has no cassandra_heep"),
    ],
)
def test_a_value_without_its_source_or_words_is_refused(name: str, entry: dict[str, Any], problem: str) -> None:
    content = yaml.safe_load((ANSIBLE / "systems/cassandra/system.yml").read_text(encoding="utf-8"))
    with pytest.raises(BadInputError, match=f"tuned: {name}: {problem}"):
        systems.check_description("cassandra", {**content, "tuned": {name: entry}})


HOSTILE = ["{{ 1 + 1 }}", "a: b", "- a", "#", "'\"", "!!python/object", "yes", "*a", "&a b", "|", "0x1"]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_setting_in_yaml_is_one_value_whatever_it_is(value: str) -> None:
    rendered = as_yaml("a: 1\nb: {c: [1]}\n", {"b.d.e": value, "a": value})
    assert yaml.safe_load(rendered) == {"a": value, "b": {"c": [1], "d": {"e": value}}}


@pytest.mark.parametrize(
    ("path", "problem"), [("b.c", "keys or elements of its own"), ("b", "keys or"), ("a.b", "a is 1 and has no keys")]
)
def test_a_setting_in_yaml_replaces_no_keys(path: str, problem: str) -> None:
    with pytest.raises(AnsibleFilterError, match=problem):
        as_yaml("a: 1\nb: {c: [1]}\n", {path: 2})


SECTIONS = "service {\n\tx 1\n}\nnamespace ycsb {\n\tr 2\n\tstorage-engine device {\n\t\tf a\n\t}\n}\n"


def test_a_setting_reaches_its_section() -> None:
    settings = {"service.x": 2, "service.y": "3", "namespace.storage-engine.f": "b", "namespace.z": "true"}
    assert as_sections(SECTIONS, settings).split("\n") == [
        "service {", "\tx 2", "\ty 3", "}",
        "namespace ycsb {", "\tr 2", "\tstorage-engine device {", "\t\tf b", "\t}", "\tz true", "}", "",
    ]  # fmt: skip


def test_a_truth_value_is_written_as_aerospike_writes_it() -> None:
    """In Python's own words it is True."""
    assert "\tx true\n" in as_sections(SECTIONS, {"service.x": True})


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [("nosuch.x", 1, "setting nosuch.x: the configuration has no"), ("service.x", "1 }", "setting service.x=1 }: a")],
)
def test_a_setting_of_no_section_or_that_ends_one_is_refused(name: str, value: Any, problem: str) -> None:
    with pytest.raises(AnsibleFilterError, match=problem):
        as_sections(SECTIONS, {name: value})


@pytest.mark.parametrize(
    "name", ["data_file_directories", "listen_address", "storage_port", "seed_provider", "x y", "a.{{b}}"]
)
def test_settings_that_other_variables_say_are_refused(name: str) -> None:
    with pytest.raises(BadInputError, match="each name must match"):
        systems.all_options()["cassandra_settings"].check(json.dumps({name: 1}))


def cassandra(folder: Path, **variables: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the role writes into cassandra.yaml of one host, and what it keeps of the profile as conditions."""
    folder.mkdir(exist_ok=True)
    # As dohyo gives Ansible a scenario's variables: texts are data.
    (folder / "given.yml").write_text(as_data(variables))
    effect = "system_spec.profiles | in_effect(dohyo_profile, system_profiled, system_settings)"
    tasks = [
        {"include_vars": str(folder / "given.yml")},
        {"include_role": {"name": "system", "tasks_from": "{{ systems.cassandra.verbs.configure }}", "public": True}},
        {"set_fact": {"effect": f"{{{{ {effect} }}}}"}},
    ]  # fmt: skip
    hosts = {"one": {"dohyo_home": str(folder), "dohyo_data": [str(folder / "data")], "cassandra_address": "127.9.9.1"}}
    given = {"system_name": "cassandra", "jdk_host": {"java_home": "/jdk"}, "jdk_gc_options": []}
    given["service_host"] = {"cores": 6}
    lib = folder / "install/cassandra" / variables.get("cassandra_version", "5.0.9") / "lib"
    lib.mkdir(parents=True)
    (lib / "jamm-1.jar").touch()
    (found,) = play(folder, tasks, hosts, 0, ["effect"], **given)["effect"]
    return yaml.safe_load((folder / "run/cassandra/conf/cassandra.yaml").read_text()), found


@pytest.mark.slow
def test_the_profile_has_other_defaults_and_the_user_s_values_win(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "trial_conditions": {"profile": "tuned", "replication": 3},
        "cassandra_sstable_format": "big",
    }
    # One pattern that three disks match.
    given |= {"dohyo_devices": ["/dev/disk/by-id/nvme-X_*"], "host_disks": {"devices": [{}, {}, {}]}}
    given["trial_faults"] = [{"kind": "kill"}]
    settings = {"memtable_allocation_type": "heap_buffers", "compression.a": "{{ 1 + 1 }}"}
    given |= {"cassandra_java_options": ["-Xint"], "cassandra_tokens": 1, "cassandra_password": "secret"}
    written, effect = cassandra(tmp_path, **given, cassandra_settings=settings)
    assert written["memtable"]["configurations"]["default"]["inherits"] == "trie"
    assert written["sstable"]["selected_format"] == "big"
    assert written["memtable_allocation_type"] == "heap_buffers"
    assert written["compression"] == {"a": "{{ 1 + 1 }}"}
    assert (written["concurrent_writes"], written["concurrent_reads"], written["concurrent_compactors"]) == (48, 48, 6)
    assert (written["storage_compatibility_mode"], written["commitlog_disk_access_mode"]) == ("NONE", "auto")
    assert (written["trickle_fsync"], written["compaction_throughput"]) == (True, "0MiB/s")
    # Those of other versions, and of a format that the user has not chosen.
    assert not {"compaction_throughput_mb_per_sec", "key_cache_size"} & {*written, *effect["values"]}
    assert written["num_tokens"] == 1
    assert written["hinted_handoff_enabled"] is True
    assert effect["tuned"]["cassandra_memtable"] == "trie"
    of_both: dict[str, Any] = {"cassandra_java_options": ["-Xint"], "cassandra_tokens": 1}
    assert effect["settings"] == {"cassandra_sstable_format": "big", **of_both, **settings}
    assert "cassandra_password" not in effect["values"]


@pytest.mark.slow
def test_the_profile_of_the_package_adds_nothing(tmp_path: Path) -> None:
    written, effect = cassandra(tmp_path)
    assert not {"memtable_allocation_type", "commitlog_disk_access_mode"} & {*written}
    assert written["storage_compatibility_mode"] == "CASSANDRA_4"
    assert written["hinted_handoff_enabled"] is False
    assert written["memtable"]["configurations"]["default"]["inherits"] == "skiplist"
    assert (effect["profile"], effect["tuned"], effect["settings"]) == ("vanilla", {}, {})
    assert (written["num_tokens"], written["allocate_tokens_for_local_replication_factor"]) == (16, 1)
    assert "-Xss256k" in jvm_options(tmp_path)
    of_others = {"-XX:-UseBiasedLocking", "-XX:StringTableSize=1000003", "-XX:+UseCondCardMark", "-ea"}
    assert not of_others & {*jvm_options(tmp_path)}


def jvm_options(folder: Path) -> list[str]:
    text = (folder / "run/cassandra/conf/jvm.options").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line.startswith("-")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heap", "own", "young"), [("16g", ["-Xmn8G"], "-Xmn8G"), ("16g", ["-ea"], "-Xmn600m"), ("1g", [], "-Xmn256m")]
)
def test_the_jvm_is_started_as_the_package_starts_it(tmp_path: Path, heap: str, own: list[str], young: str) -> None:
    """With CMS 100 MB of young generation for each processor, and at most a quarter of the heap; there are 6."""
    cassandra(tmp_path, cassandra_version="3.11.6", cassandra_gc="CMS", cassandra_heap=heap, cassandra_java_options=own)
    found = jvm_options(tmp_path)
    assert [each for each in found if each.startswith("-Xmn")] == [young]
    package = {"-Xss256k", "-XX:+AlwaysPreTouch", "-XX:-UseBiasedLocking", "-XX:+UseNUMA", "-XX:+PerfDisableSharedMem"}
    package |= {"-XX:StringTableSize=1000003", "-XX:ThreadPriorityPolicy=42", "-XX:+UseCondCardMark"}
    assert package <= {*found}
    assert ("-ea" in found) == ("-ea" in own)


@pytest.mark.slow
def test_the_commit_log_and_hints_have_disks_of_their_own_where_those_were_named(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=f"cassandra_commitlog_folder={tmp_path} is on the file system of /"):
        cassandra(tmp_path, cassandra_commitlog_folder=str(tmp_path))
    if Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        hints = str(tmp_path / "hints")
        named = {"cassandra_commitlog_folder": folder, "cassandra_hints_folder": hints}
        written, effect = cassandra(tmp_path / "other", **named)
        assert written["commitlog_directory"] == f"{folder}/dohyo/cassandra/commitlog"
        assert written["data_file_directories"] == [f"{tmp_path}/other/data/dohyo/cassandra/data"]
        assert written["hints_directory"] == f"{hints}/dohyo/cassandra/hints"
        assert written["saved_caches_directory"] == f"{hints}/dohyo/cassandra/saved_caches"
    assert effect["settings"] == named
    (alone := tmp_path / "alone").mkdir()
    said = refused(alone, "cassandra", cassandra_hints_folder=hints)
    assert f"cassandra_hints_folder={hints} without cassandra_commitlog_folder" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{}, {"row_cache_size": "0MiB"}, {"row_cache_size": "64MiB"}, {"row_cache_size_in_mb": 64}]
)
def test_rows_are_kept_only_by_a_row_cache(tmp_path: Path, settings: dict[str, Any]) -> None:
    named: dict[str, Any] = {"cassandra_rows_per_partition": "ALL", "cassandra_settings": settings}
    if "64" in str(settings):
        written, _ = cassandra(tmp_path, **named)
        assert settings.items() <= written.items()
    else:
        said = refused(tmp_path, "cassandra", **named)
        assert "cassandra_rows_per_partition=ALL without a row cache; set row_cache_size in cassandra_settings" in said


LARGE: dict[str, Any] = {
    # One pattern, which eight disks match.
    "dohyo_devices": ["/dev/disk/by-id/nvme-X_*"],
    "host_disks": {"devices": [{}] * 8},
    "service_host": {"cores": 192, "disk_kind": "nvme"},
    "trial_tables": ["usertable"],
    "host_budget_mb": 153600,
}


def settings_of(folder: Path, names: list[str], **variables: Any) -> dict[str, dict[str, Any]]:
    """What the profile tuned sets of each system, on a host."""
    tasks: list[Any] = [{"include_vars": str(ANSIBLE / "roles" / "system" / "defaults" / "main.yml")}]
    facts = [f"settings_{i}" for i in range(len(names))]
    tasks += [
        {"set_fact": {fact: "{{ system_settings }}"}, "vars": {"system_name": name}}
        for fact, name in zip(facts, names, strict=True)
    ]
    # And the logs of an HBase server, whose disk is as much.
    tasks.append({"set_fact": {"logs": "{{ {'number': _hbase_logs} }}"}})
    given = {"trial_conditions": {"profile": "tuned"}, "system_name": "hbase", "hbase_distributed": True, **variables}
    hosts = {"one": {"dohyo_home": str(folder), "dohyo_data": ["/dohyo/data"]}}
    found = play(folder, tasks, hosts, 0, [*facts, "logs"], **given)
    return {name: found[fact][0] for name, fact in zip([*names, "logs"], [*facts, "logs"], strict=True)}


@pytest.mark.slow
def test_an_array_is_as_many_disks_as_it_is_made_of(tmp_path: Path) -> None:
    found = settings_of(tmp_path, ["hbase", "mysql-innodb"], **LARGE)
    assert found["hbase"]["hbase.wal.provider"] == "multiwal"
    names = ("wal.regiongrouping.numgroups", "regionserver.thread.compaction.small", "hstore.flusher.count")
    assert [found["hbase"][f"hbase.{name}"] for name in names] == [8, 4, 4]
    assert int(found["logs"]["number"]) == 8
    # InnoDB takes no more.
    assert found["mysql-innodb"]["innodb_read_io_threads"] == 64


@pytest.mark.slow
def test_a_rotating_disk_gets_what_its_source_says(tmp_path: Path) -> None:
    one = {"host_disks": {"devices": [{}]}, "service_host": {"cores": 8, "disk_kind": "rotational"}}
    found = settings_of(tmp_path, ["hbase", "cassandra", "mysql-innodb"], **LARGE | one)
    assert not {"concurrent_compactors", "trickle_fsync"} & found["cassandra"].keys()
    assert not {"hbase.wal.provider", "hbase.hstore.flusher.count"} & found["hbase"].keys()
    assert found["mysql-innodb"]["innodb_io_capacity"] == 200
    assert int(found["logs"]["number"]) == 1


@pytest.mark.slow
def test_what_nobody_sets_is_no_setting_of_the_user_s_in_any_system(tmp_path: Path) -> None:
    effect = "system_spec.profiles | in_effect(dohyo_profile, system_profiled, {})"
    tasks = [
        {
            "set_fact": {"found": f"{{{{ found | default({{}}) | combine({{system_name: {effect}}}) }}}}"},
            "loop": "{{ systems | list }}",
            "loop_control": {"loop_var": "system_name"},
        },
    ]
    given = yaml.safe_load((ANSIBLE / "roles/system/defaults/main.yml").read_text(encoding="utf-8"))
    looked_for = {"aerospike": {"found": {"version": "8.1.2.5", "edition": "Community"}}}
    given |= {"system_state": looked_for, "trial_conditions": {"profile": "tuned"}, "trial_tables": ["usertable"]}
    (found,) = play(tmp_path, tasks, {"one": {"dohyo_home": str(tmp_path)}}, 0, ["found"], **given)["found"]
    assert len(found) == len(systems.all_systems())
    assert {name: of["settings"] for name, of in found.items() if of["settings"]} == {}
