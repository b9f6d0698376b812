"""The role system and the descriptions that drive it: no name is built from strings, and every answer is checked."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError  # type: ignore[import-untyped]

from dohyo import systems
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, ROOT
from filter.dohyo_filters import answer, answered
from support.playbooks import play

# What the plugin adds to a description.
MADE = {"profiles", "role", "settings", "verbs"}
ROLES = sorted({system.role for system in systems.all_systems().values()})
# A fact or variable whose name is put together.
BUILT = re.compile(
    r"hostvars\[[^]]*\]\[[^]]*~|'extract', hostvars, [^'\[)]*'?[^'\[)]*~|lookup\('ansible\.builtin\.vars', [^)]*~"
    r"|\bvars\[[^]]*~|'regex_replace', '[$^]', '\w+'\) \| map\('extract', hostvars"
    r"|(trial|system|available|plan|deploy|rolling)_role ~ '_"
)


def test_a_refusal_of_a_disk_names_what_needs_so_much(tmp_path: Path) -> None:
    about = yaml.safe_load((ANSIBLE / "systems/postgresql/system.yml").read_text(encoding="utf-8"))
    refused = {
        "include_role": {"name": "service", "tasks_from": "preflight"},
        "vars": {"service_disk_mb": 1 << 40, "service_disk_by": about["disk_by"], "service_needs": []},
    }
    said = {"set_fact": {"said": "{{ ansible_failed_result.msg }}"}}
    names = {"dohyo_home": str(tmp_path), "dohyo_playbook": "ansible-playbook"}
    found = play(tmp_path, [{"block": [refused], "rescue": [said]}], {"node1": {}}, 0, ["said"], **names)
    assert found["said"][0].endswith("or lower postgresql_max_wal_size or dohyo_min_free_gb")


def test_what_a_disk_is_needed_for_is_a_variable_of_the_system() -> None:
    for role in ROLES:
        about = yaml.safe_load((ANSIBLE / f"systems/{role}/system.yml").read_text(encoding="utf-8"))
        assert set(about.get("disk_by", ())) <= set(about["variables"]), role


def sources() -> Iterator[Path]:
    for pattern in ("*.yml", "tasks/*.yml", "roles/**/*.yml", "systems/**/*.yml", "systems/**/*.j2"):
        yield from sorted(ANSIBLE.glob(pattern))


def tasks(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, list):
        for each in content:
            yield from tasks(each)
    elif isinstance(content, dict):
        yield content
        for key in ("tasks", "block", "rescue", "always"):
            yield from tasks(content.get(key, []))


@pytest.mark.parametrize(
    "text",
    [
        "{{ hostvars[groups['database'][0]][trial_role ~ '_conditions'] }}",
        "{{ groups['database'] | map('extract', hostvars, trial_role ~ '_settled') }}",
        "{{ lookup('ansible.builtin.vars', system_role ~ '_port') }}",
        "{{ roles | map('regex_replace', '$', '_needs') | map('extract', hostvars[inventory_hostname]) }}",
    ],
)
def test_a_built_name_is_found(text: str) -> None:
    assert BUILT.search(text)


def test_no_name_of_a_fact_is_built_from_strings() -> None:
    files = list(sources())
    assert len(files) > 50
    assert [f"{file}: {found[0]}" for file in files if (found := BUILT.search(file.read_text(encoding="utf-8")))] == []
    for file in files:
        if file.suffix == ".yml":
            for task in tasks(yaml.safe_load(file.read_text(encoding="utf-8"))):
                names = [*(task.get("ansible.builtin.set_fact") or {}), *filter(None, [task.get("register")])]
                assert all(re.fullmatch(r"\w+", name) for name in names), f"{file}: {names}"


@pytest.mark.parametrize(
    ("verb", "answers", "problem"),
    [
        (
            "available",
            {"unavailble": ""},
            "it answers 'unavailble', which nobody reads; it does not answer 'unavailable'",
        ),
        ("needs", {"needs": {"memory_mb": 1, "size": {}, "ports": {}}}, "'needs' has no 'cache_mb'"),
        ("schema", {"conditions": {}, "server_properties": {"server.pid": 1}}, "'conditions' has no 'replication'"),
        ("settle", {"settled": {"seconds": 1}}, "'settled' has no 'rows'"),
    ],
)
def test_an_answer_that_is_missing_or_misspelt_fails_by_name(verb: str, answers: dict[str, Any], problem: str) -> None:
    with pytest.raises(AnsibleFilterError) as failed:
        answered({}, "h2", verb, answers)
    assert str(failed.value).startswith(f"system h2, verb {verb}: {problem}")


def test_answers_are_kept_by_system_and_the_verb_that_gave_none_is_named() -> None:
    state = answered({"a": {"unavailable": ""}}, "b", "available", {"unavailable": "no"})
    state = answered(state, "b", "settle", {"settled": {"rows": {}}})
    assert state == {"a": {"unavailable": ""}, "b": {"unavailable": "no", "settled": {"rows": {}}}}
    assert answer(state, "b", "unavailable") == "no"
    with pytest.raises(AnsibleFilterError, match="system a: the verb that answers 'settled' is settle"):
        answer(state, "a", "settled")


def test_an_own_verb_without_its_answer_fails_in_the_play(tmp_path: Path) -> None:
    wrong = "{{ {} | answered('still', 'count', {'count': {}}) }}"
    task = {"block": [{"set_fact": {"system_state": wrong}}],
            "rescue": [{"set_fact": {"refused": "{{ ansible_failed_result.msg }}"}}]}  # fmt: skip
    (refused,) = play(tmp_path, [task], {"one": {}}, 0, ["refused"])["refused"]
    assert "system still, verb count: it answers 'count', which nobody reads" in refused


DESCRIPTION = ANSIBLE / "systems/cassandra/system.yml"


@pytest.mark.parametrize(
    ("line", "replacement", "problem"),
    [
        ("title: Apache", "titel: Apache", "unknown key 'titel': did you mean title?"),
        ("\nadmin: .*", "", "no admin; docs/adding-a-system.md#1-the-description says"),
        ("\n  memory_mb:", "\n  memry_mb:", "needs: unknown key 'memry_mb': did you mean memory_mb?"),
        ("{ready: .*, stop:", "{stop:", "timeouts: no ready and no settle; "),
        ("\nvars:", "\nvars: []\nnotes:", "vars: must be a mapping, not '[]'"),
        ("\nunavailable: .*", "", "no available and no unavailable; "),
        ("order: 1", "order: first", "order: 'first': must be a whole number"),
        ("order: 1", "variants: {a: {titel: b}}", "variants: a: unknown key 'titel': did you mean title?"),
        (
            "    default: 5.0.9",
            "    defalt: 5.0.9",
            "variables: cassandra_version: unknown key 'defalt': did you mean default?",
        ),
        (
            "gc_threads: {type: int",
            "gc_threads: {type: integer",
            "variables: cassandra_gc_threads: type: 'integer': must",
        ),
        ("choices: .*big.*]", "choices: big", "variables: cassandra_sstable_format: choices: 'big': must be a list"),
        ("  cassandra_user:", "  casandra_user:", "variables: casandra_user: must begin with cassandra_"),
        (
            r"'\[0-9\]\+\[kKmMgG\]\?'",
            "'[0-9'",
            "variables: cassandra_heap: pattern: '[0-9': no regular expression: ",
        ),
    ],
)
def test_a_description_that_is_wrong_is_refused_by_name(line: str, replacement: str, problem: str) -> None:
    text = DESCRIPTION.read_text("utf-8")
    changed = re.sub(line, lambda _: replacement, text, count=1)
    assert changed != text
    with pytest.raises(BadInputError) as refused:
        systems.check_description("cassandra", yaml.safe_load(changed))
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("content", [b"", b"- a", b"title: [", b"title: \xff", b"a: " + b"[" * 5000])
def test_a_description_that_is_none_names_its_file(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "systems/x").mkdir(parents=True)
    (tmp_path / "systems/x/system.yml").write_bytes(content)
    monkeypatch.setattr(systems, "ANSIBLE", tmp_path)
    with pytest.raises(BadInputError, match=r"^\S*systems/x/system.yml: .+$"):
        systems._descriptions.__wrapped__()


@pytest.mark.parametrize("role", ROLES)
def test_a_description_says_nothing_that_nobody_reads(role: str) -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in sources())
    read = set(re.findall(r"\b(?:system_spec|systems\[\w+\])\.(\w+)", text))
    # In Python, and in the plugin that makes the variable systems.
    read |= {"order", "binding", "inherits", "by_name", "variants", "variant", "variables", "vars", "title"}
    read |= {"tuned"}
    description = yaml.safe_load((ANSIBLE / "systems" / role / "system.yml").read_text(encoding="utf-8"))
    assert set(description) - read - {"peers"} == set()
    assert {*systems.REQUIRED, *systems.OPTIONAL} == (read | {"peers"}) - MADE - {"variant"}


def test_the_page_explains_every_key() -> None:
    files = [*ANSIBLE.glob("systems/*/system.yml"), *ROOT.glob("examples/*/ansible/systems/*/system.yml")]
    assert len(files) > len(ROLES)
    used = {key for file in files for key in yaml.safe_load(file.read_text(encoding="utf-8"))}
    text = "".join(file.read_text(encoding="utf-8") for file in sources())
    used |= set(re.findall(r"\bsystem_spec\.(\w+)", text)) - MADE
    always, perhaps = (ROOT / "docs/adding-a-system.md").read_text(encoding="utf-8").split("It may have these:")
    assert used - rows(always) - rows(perhaps) == {"variant"}
    for file in files:
        missing = rows(always) - set(yaml.safe_load(file.read_text(encoding="utf-8")))
        assert missing in ({"available"}, {"unavailable"}), file


def rows(text: str) -> set[str]:
    """Keys in the first column of the table of a page that names some."""
    return set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE))))


def test_a_system_has_its_own_verb_by_supplying_the_file(tmp_path: Path) -> None:
    task = {"set_fact": {"verbs": "{{ systems['hbase'].verbs }}"}}
    (verbs,) = play(tmp_path, [task], {"one": {}}, 0, ["verbs"])["verbs"]
    assert (verbs["start"], verbs["schema"]) == ("systems/hbase/tasks/start.yml", "schema")
    assert all((ANSIBLE / "roles/system/tasks" / file).with_suffix(".yml").is_file() for file in verbs.values())


@pytest.mark.parametrize(
    ("system", "variables", "refusal"),
    [
        ("cassandra", {"trial_conditions": {"write_acks": "two"}}, "write_acks must be one of: one, quorum, all"),
        ("mysql-innodb", {"mysql_engine": "MyISAM"}, "mysql_engine=MyISAM: the system mysql-innodb has InnoDB. Leave"),
    ],
)
def test_what_an_inventory_or_a_trial_by_hand_may_not_say_is_refused(
    tmp_path: Path, system: str, variables: dict[str, Any], refusal: str
) -> None:
    look = {"include_role": {"name": "system", "tasks_from": "{{ systems[system_name].verbs.preflight }}"}}
    task = {"block": [look], "rescue": [{"set_fact": {"refused": "{{ ansible_failed_result.msg }}"}}]}
    given = {"trial_conditions": {}, "dohyo_home": str(tmp_path), "system_name": system, **variables}
    (refused,) = play(tmp_path, [task], {"one": {}}, 0, ["refused"], **given)["refused"]
    assert refusal in refused


@pytest.mark.parametrize("role", ROLES)
def test_every_variable_is_documented_and_has_a_default(role: str) -> None:
    description = yaml.safe_load((ANSIBLE / "systems" / role / "system.yml").read_text(encoding="utf-8"))
    for name, option in description["variables"].items():
        assert name.startswith(f"{role}_")
        assert option.keys() >= {"default", "description"}, name
        assert option.keys() <= {"type", "elements", "default", "choices", "pattern", "no_log", "description"}, name
    assert all(name.startswith(f"_{role}_") for name in description["vars"])


# Notes that its host's server was started. With the verb until, it succeeds once all COUNT servers were.
BARRIER = """#!/usr/bin/env bash
touch "$0.$1"
if [ "$1" = until ]; then
    for _ in {1..50}; do
        started=("${0%/*/*/*}"/*/bin/service.start)
        [ "${#started[@]}" != COUNT ] || exit 0
        sleep 0.1
    done
    exit 1
fi
"""


@pytest.mark.slow
def test_servers_start_together_on_all_hosts_that_serve(tmp_path: Path) -> None:
    names = ["host1", "host2", "host3", "idle"]
    for name in names:
        (tmp_path / name / "run/mysql").mkdir(parents=True)
        tool = tmp_path / name / "bin/service"
        tool.parent.mkdir()
        tool.write_text(BARRIER.replace("COUNT", "3"))
        tool.chmod(0o755)
    hosts = {
        each: {"dohyo_home": str(tmp_path / each), "dohyo_data": [str(tmp_path / each / "data")]} for each in names
    }
    looked = {"product": "MySQL", "version": "8.4.0", "tables": [], "change": False}
    task = {"include_role": {"name": "system", "tasks_from": "{{ systems['mysql-innodb'].verbs.start }}"}}
    play(
        tmp_path, [task], hosts, 0, [], system_name="mysql-innodb", mysql_server="/bin/true",
        system_looked={"stdout": json.dumps(looked)},
        system_state={"mysql": {"node": {"address": "127.0.0.1", "port": 3306}}}, trial_conditions={"replication": 3},
    )  # fmt: skip
    assert [(tmp_path / name / "bin/service.start").exists() for name in names] == [True, True, True, False]
