"""Tests that the role `system` checks everything first, that servers start together, and that calls have a limit."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.places import ANSIBLE
from dohyo.trial.world import StepError
from support.trial_hosts import fake_trial

# Expressions that build the name of a fact or variable at run time.
BUILT = re.compile(
    r"hostvars\[[^]]*\]\[[^]]*~|'extract', hostvars, [^'\[)]*'?[^'\[)]*~|lookup\('ansible\.builtin\.vars', [^)]*~"
    r"|\bvars\[[^]]*~|'regex_replace', '[$^]', '\w+'\) \| map\('extract', hostvars"
    r"|(trial|system|available|plan|deploy)_role ~ '_"
)


def sources() -> Iterator[Path]:
    for pattern in ("*.yml", "tasks/*.yml", "roles/**/*.yml", "systems/**/*.yml", "systems/**/*.j2"):
        yield from sorted(ANSIBLE.glob(pattern))


def tasks(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, list):
        for task in content:
            yield from tasks(task)
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
    assert [f"{file}: {match[0]}" for file in files if (match := BUILT.search(file.read_text(encoding="utf-8")))] == []
    for file in files:
        if file.suffix == ".yml":
            for task in tasks(yaml.safe_load(file.read_text(encoding="utf-8"))):
                names = [*(task.get("ansible.builtin.set_fact") or {}), *filter(None, [task.get("register")])]
                assert all(re.fullmatch(r"\w+", name) for name in names), f"{file}: {names}"


# ---- in a trial ------------------------------------------------------------------------------------------------------


def test_a_commit_log_without_a_disk_of_its_own_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    hosts = ("node1", "node2")
    folders = {name: f"{tmp_path}/{name}/log" for name in hosts}
    trial = fake_trial(tmp_path, 2, cassandra_commitlog_folder=folders, dohyo_data=[f"{tmp_path}/data"])

    def look(argv: list[str]) -> dict[str, str]:
        return {"stdout": subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()}

    trial.answers[sys.modules[type(trial.part.servers.first).__module__].LOG_DISK] = look
    with pytest.raises(StepError) as refused:
        trial.part.servers.configure()
    for name in hosts:
        message = f"{name}: cassandra_commitlog_folder={folders[name]} is on the file system of /"
        assert refused.value.failures[name].startswith(message)
    assert {call.action for call in trial.calls} == {"program"}


# Facts about a MySQL server, in the form in which the agent returns them.
LOOKED = {"product": "MySQL", "version": "8.4.0", "tables": [], "name": "x", "uid": 0, "gid": 0, "change": False}


def started(folder: Path, hosts: int, system: str, **variables: Any) -> list[str]:
    """Returns a line for each step that starts servers, with the step's hosts and the beginning of its command."""
    trial = fake_trial(folder, hosts, system=system, host_budget_mb=0, host_cpus_server="", **variables)
    servers = trial.part.servers
    for name in trial.world.hosts:
        servers.answer(name, found=LOOKED)
    servers.start_nodes()
    steps = [calls for first, last in trial.steps if (calls := trial.calls[first:last])]
    return [" ".join([*(call.host for call in calls), *calls[0].argv[:3]]) for calls in steps]


def test_servers_start_together_on_all_hosts_that_serve(tmp_path: Path) -> None:
    together = started(tmp_path, 4, "mysql-innodb", mysql_server="/bin/true", conditions={"replication": 3})
    assert together == [
        "node1 node2 node3 bash -s --",
        "node1 node2 node3 /opt/dohyo/bin/agent start mysql",
        "node1 node2 node3 /opt/dohyo/bin/agent ready mysql",
    ]


@pytest.mark.parametrize(
    ("system", "turns"),
    [("cassandra", ["node1", "node2 node3 node4"]), ("scylla", ["node1", "node2", "node3", "node4"])],
)
def test_nodes_start_together_once_they_can_find_each_other(system: str, turns: list[str], tmp_path: Path) -> None:
    """Only one node of ScyllaDB may join at a time."""
    starts = [step for step in started(tmp_path, 4, system) if " start " in step]
    assert starts == [f"{turn} /opt/dohyo/bin/agent start {system}" for turn in turns]
