"""The role system in Ansible: its checks come before anything else, and servers start together; in one play."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.places import ANSIBLE
from support.playbooks import DEFAULTS, play

# A fact or variable whose name is put together.
BUILT = re.compile(
    r"hostvars\[[^]]*\]\[[^]]*~|'extract', hostvars, [^'\[)]*'?[^'\[)]*~|lookup\('ansible\.builtin\.vars', [^)]*~"
    r"|\bvars\[[^]]*~|'regex_replace', '[$^]', '\w+'\) \| map\('extract', hostvars"
    r"|(trial|system|available|plan|deploy|rolling)_role ~ '_"
)


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


# ---- one play --------------------------------------------------------------------------------------------------------

# Notes that its host's server was started. With the verb ready, it succeeds once all COUNT servers were.
BARRIER = """#!/usr/bin/env bash
touch "$0.$1"
if [ "$1" = ready ]; then
    for _ in {1..50}; do
        started=("${0%/*/*/*}"/*/bin/agent.start)
        [ "${#started[@]}" != COUNT ] || exit 0
        sleep 0.1
    done
    exit 1
fi
"""
HOSTS = ["host1", "host2", "host3", "idle"]
SMALL_BUDGET = {"host_memory_budget": "3800m", "cassandra_heap": "3500m"}
# By name: the verb, the system, variables.
REFUSED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "condition": ("preflight", "cassandra", {"trial_conditions": {"write_acks": "two"}}),
    "variant": ("preflight", "mysql-innodb", {"mysql_engine": "MyISAM"}),
    "misfit": ("preflight", "cassandra", {"cassandra_password": "a\nsecret", "cassandra_heap": "x"}),
    "planned": ("needs", "cassandra", {"cassandra_password": "a\nsecret", "cassandra_heap": "x"}),
    "budget": ("preflight", "cassandra", SMALL_BUDGET),
    "commitlog": ("configure", "cassandra", {"cassandra_commitlog_folder": "{{ dohyo_home }}/log"}),
}


def including(role: str, file: str, **variables: Any) -> dict[str, Any]:
    return {"include_role": {"name": role, "tasks_from": file}, "vars": variables}


def rescued(name: str, *block: dict[str, Any]) -> dict[str, Any]:
    """Tasks for the first host alone; the message of a failure is kept."""
    answer = {"set_fact": {f"said_{name}": "{{ ansible_failed_result.msg }}"}}
    return {"when": "inventory_hostname == 'host1'", "block": list(block), "rescue": [answer]}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder of the hosts, and what was said on the first one."""
    folder = tmp_path_factory.mktemp("role")
    for name in HOSTS:
        (folder / name / "run/mysql").mkdir(parents=True)
        (tool := folder / name / "bin/agent").parent.mkdir()
        tool.write_text(BARRIER.replace("COUNT", "3"))
        tool.chmod(0o755)
    hosts = {name: {"dohyo_home": f"{folder}/{name}", "dohyo_data": [f"{folder}/{name}/data"]} for name in HOSTS}
    small = {"service_disk_mb": 1 << 40, "service_disk_by": ["postgresql_max_wal_size"], "service_needs": []}
    todo = [
        including("system", "{{ systems['mysql-innodb'].verbs.start }}"),
        rescued("disk", including("service", "preflight", **small)),
    ]
    for name, (verb, system, variables) in REFUSED.items():
        todo.append(
            rescued(
                name,
                including("system", f"{{{{ systems['{system}'].verbs.{verb} }}}}", system_name=system, **variables),
            )
        )
    looked = {"product": "MySQL", "version": "8.4.0", "tables": [], "name": "x", "uid": 0, "gid": 0, "change": False}
    node = {"address": "127.0.0.1", "mysql": 3306}
    given = {
        **DEFAULTS, "system_name": "mysql-innodb", "mysql_server": "/bin/true", "trial_conditions": {"replication": 3},
        "trial_properties": {}, "system_state": {"mysql": {"node": node, "found": looked}},
        "host_has": {"memory_mb": 4096, "cpus": [0, 1]}, "dohyo_deployment": "abc", "jdk_host": {"java_home": "/jdk"},
        "jdk_gc_options": [], "service_host": {"java_home": "/jdk", "cores": 2},
    }  # fmt: skip
    facts = {f"said_{name}": "" for name in ("disk", *REFUSED)}
    found = play(folder, todo, hosts, 1, list(facts), **given, **facts)
    return folder, {name.removeprefix("said_"): str(texts[0]) for name, texts in found.items()}


def test_servers_start_together_on_all_hosts_that_serve(played: tuple[Path, dict[str, str]]) -> None:
    assert [(played[0] / name / "bin/agent.start").exists() for name in HOSTS] == [True, True, True, False]


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("disk", "or lower postgresql_max_wal_size or dohyo_min_free_gb"),
        ("condition", "write_acks must be one of: one, quorum, all"),
        ("variant", "mysql_engine=MyISAM: the system mysql-innodb has InnoDB. Leave"),
        ("misfit", "cassandra_heap=x: it must match"),
        ("misfit", "cassandra_password=(not shown): contains the control character U+000A"),
        ("planned", "cassandra_heap=x: it must match"),
        ("budget", "host_memory_budget=3800m is 3800 MiB, and its client needs 712, but the host has 4096"),
        ("budget", "cassandra needs 4000 MiB, and host_memory_budget=3800m leaves it 3800"),
        ("commitlog", "/host1/log is on the file system of /"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_done(
    name: str, refusal: str, played: tuple[Path, dict[str, str]]
) -> None:
    assert refusal in played[1][name]
    assert "secret" not in played[1][name]
    assert not (played[0] / "host1/run/cassandra").exists()
