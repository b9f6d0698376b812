"""What settling does: from the scenario's properties to the evidence and its notes."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, WORKLOADS
from dohyo.planning import plan
from dohyo.scenario import loading
from dohyo.summary.summary import summarise
from support.evidence import trial, write_json
from support.playbooks import play
from support.scenarios import load

SMALL = "recordcount=1000\noperationcount=1000\nsystems=cassandra,hbase\n"


# ---- scenarios -------------------------------------------------------------------------------------------------------


def test_nothing_said_means_a_flush_and_no_empty_caches(tmp_path: Path) -> None:
    variables = plan.variables(plan.trials(load(tmp_path, SMALL))[0], tmp_path, keep=False)
    assert (variables["trial_settle"], variables["trial_settle_flush"], variables["trial_settle_cache"]) == (
        "load", True, "keep",
    )  # fmt: skip


def test_both_are_dimensions_of_all_systems(tmp_path: Path) -> None:
    trials = plan.trials(load(tmp_path, SMALL, "matrix.settle.flush=true,false", "matrix.settle.cache=keep,drop"))
    assert len(trials) == 8
    last = plan.variables(trials[-1], tmp_path, keep=False)
    assert (last["trial_system"], last["trial_settle_flush"], last["trial_settle_cache"]) == ("hbase", False, "drop")
    assert last["trial_point"] == {"settle.flush": "false", "settle.cache": "drop"}
    # The client has nothing to do with it.
    assert not [key for key in last["trial_properties"] if key.startswith("settle")]


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("settle.flush=no", "settle.flush=no: must be true or false"),
        ("settle.cache=prefetch", "settle.cache=prefetch: must be one of keep, drop"),
        ("run.settle.flush=false", "it is one for all phases of a trial; set settle.flush without a phase"),
        ("phases=settle", "'settle' means something else to Dohyo"),
        ("hbase_regionservers_per_host=9", "must be one of 1, 2, 3"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, assignment: str, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected):
        load(tmp_path, SMALL, assignment)


def test_region_servers_are_a_dimension_of_hbase_alone(tmp_path: Path) -> None:
    trials = plan.trials(load(tmp_path, SMALL, "matrix.hbase_regionservers_per_host=1,2"))
    assert [trial.label for trial in trials] == [
        "cassandra", "hbase hbase_regionservers_per_host=1", "hbase hbase_regionservers_per_host=2",
    ]  # fmt: skip


@pytest.mark.parametrize("full", [False, True])
def test_the_read_variants_of_hbase(full: bool) -> None:
    chosen = loading.load(WORKLOADS / "hbase-read-variants", full=full)
    found = {
        each.scenario.point["variant"]: (each.scenario["settle.flush"], each.scenario["compression"])
        for each in plan.trials(chosen)
    }
    assert found == {
        "memstore": ("false", "gz" if full else "none"),
        "hfile-gz": ("true", "gz"),
        "hfile": ("true", "none"),
    }


# ---- ansible/tasks ---------------------------------------------------------------------------------------------------


PAGES = {"page_cache_mb_before": 900, "page_cache_mb_after": 90}


def settle(folder: Path, answers: list[dict[str, Any]], dropped: dict[str, Any] | None = None, **asked: Any) -> Any:
    """Has Ansible settle servers of a system that answers so on each host; gives settled.json."""
    tasks = folder / "roles/system/tasks"
    tasks.mkdir(parents=True)
    names = [f"host{number}" for number, _ in enumerate(answers, start=1)]
    note = f'echo "$1" >> {folder}/calls; echo "$0"'
    words = ["sh", "-c", note, "{{ said | to_json }}", "{{ trial_settle_words | join(' ') }}"]
    said = [
        {"name": "Settle", "command": {"argv": words}, "register": "settled"},
        {"name": "Keep", "set_fact": {"system_state": {"still": "{{ {'settled': said} if said else {} }}"}}},
    ]
    (tasks / "stats.yml").write_text(
        yaml.safe_dump([{"name": "Statistics", "command": {"argv": ["sh", "-c", note, "", "stats"]}}])
    )
    if dropped is not None:
        kept = "{{ system_state | combine({'still': {'dropped': dropped}}, recursive=true) }}"
        said.append({"name": "Drop", "set_fact": {"system_state": kept}, "vars": {"dropped": dropped}})
    (tasks / "settle.yml").write_text(yaml.safe_dump(said))
    # The vars of the playbook, as it has them.
    own = yaml.safe_load((ANSIBLE / "trial.yml").read_text())[0]["vars"]
    variables = {key: own[key] for key in ("trial_settled", "trial_dropped", "trial_answers", "trial_is_database",
                                           "trial_settle_flush", "trial_settle_cache", "trial_settle_words",
                                           "trial_settle_with_stats")}  # fmt: skip
    # Beside it tasks that only say that they have emptied the page cache: other programs of this machine need it.
    (folder / "tasks").mkdir()
    for name in ("settle.yml", "stats.yml"):
        shutil.copy(ANSIBLE / "tasks" / name, folder / "tasks")
    emptied = {"name": "Empty", "command": {"argv": ["echo", json.dumps(PAGES)]}, "register": "page_cache"}
    (folder / "tasks/page_cache.yml").write_text(yaml.safe_dump([emptied]))
    play(
        folder,
        [{"include_tasks": str(folder / "tasks/settle.yml")}],
        {name: {"said": said} for name, said in zip(names, answers, strict=True)},
        0,
        ["system_state"],
        **{**variables, "trial_role": "still", "trial_system": "still", "systems": {"still": {"title": "Still DB"}},
           "trial_verbs": {"settle": "settle", "stats": "stats"},
           "dohyo_home": "/home", "trial_stats": "stats/load",
           "trial_settled_file": str(folder / "kept/settled.json"), **asked},
    )  # fmt: skip
    return json.loads((folder / "kept/settled.json").read_text())


def test_what_the_first_host_says_is_kept_with_the_notes_of_all(tmp_path: Path) -> None:
    answers = [
        {"seconds": 3, "rows": {"usertable": 5}, "notes": ["a"]},
        {"seconds": 4, "rows": {}, "notes": ["a", "b"]},
    ]
    assert settle(tmp_path, answers) == {"seconds": 3, "rows": {"usertable": 5}, "notes": ["a", "b"]}


def test_hosts_that_were_not_asked_say_nothing(tmp_path: Path) -> None:
    first = {"seconds": 3, "rows": {"usertable": 5}, "notes": ["a"]}
    assert settle(tmp_path, [first, {}]) == first


def test_a_system_that_can_leave_out_the_flush_says_so_itself(tmp_path: Path) -> None:
    answer = {"seconds": 3, "rows": {}, "flushed": False, "notes": ["in memory"]}
    assert settle(tmp_path, [answer], trial_settle_flush=False) == answer


def test_for_one_that_has_nothing_to_flush_it_is_said(tmp_path: Path) -> None:
    assert settle(tmp_path, [{"seconds": 3, "rows": {}}], trial_settle_flush=False)["notes"] == [
        "settle.flush=false changes nothing: Still DB has no memory that only a flush empties"
    ]


@pytest.mark.parametrize(
    ("hosts", "cache", "calls"),
    [
        (1, "keep", ["settle+stats folder=/home/run/still/stats/load"]),
        (1, "drop", ["settle", "stats"]),
        (2, "keep", ["settle", "settle", "stats", "stats"]),
    ],
)
def test_one_call_settles_and_keeps_the_statistics_where_nothing_is_to_be_done_between(
    tmp_path: Path, hosts: int, cache: str, calls: list[str]
) -> None:
    settle(tmp_path, [{"seconds": 3, "rows": {}}] * hosts, trial_settle_cache=cache)
    assert (tmp_path / "calls").read_text().splitlines() == calls


def test_what_was_emptied_is_kept_and_said(tmp_path: Path) -> None:
    answer: dict[str, Any] = {"seconds": 3, "rows": {}, "flushed": True, "notes": []}
    dropped = {"evicted_blocks": 7, "notes": ["the block caches were emptied"]}
    found = settle(tmp_path, [answer, answer], dropped, trial_settle_cache="drop")
    assert found["dropped"] == {**dropped, "hosts": {"host1": PAGES, "host2": PAGES}}
    assert found["notes"] == [
        "the block caches were emptied",
        "settle.cache=drop: the page caches of the hosts were emptied before the runs",
    ]


def test_a_system_that_cannot_empty_its_caches_keeps_them_and_it_is_said(tmp_path: Path) -> None:
    found = settle(tmp_path, [{"seconds": 3, "rows": {}}], trial_settle_cache="drop")
    assert found["notes"][-1] == "settle.cache=drop: Still DB keeps its own caches, which only a restart would empty"
    assert found["dropped"] == {"hosts": {"host1": PAGES}}


def test_the_last_count_empties_no_caches(tmp_path: Path) -> None:
    roles = tmp_path / "roles/system/tasks"
    roles.mkdir(parents=True)
    for name in ("settle", "count"):
        answer = {f"{name}ed": {"seconds": 3, "rows": {"usertable": len(name)}}}
        task = {"name": name, "set_fact": {"system_state": {"still": answer}}}
        (roles / f"{name}.yml").write_text(yaml.safe_dump([task]))
    last = {"include_tasks": str(ANSIBLE / "tasks/count.yml")}
    own = yaml.safe_load((ANSIBLE / "trial.yml").read_text())[0]["vars"]
    facts = play(
        tmp_path, [last], {"host1": {}, "host2": {}}, 0, ["system_state", "page_cache"],
        trial_role="still", trial_is_database=True, trial_dir=str(tmp_path), trial_settle_cache="drop",
        page_cache="untouched", trial_verbs={"count": "count"}, trial_answers=own["trial_answers"],
    )  # fmt: skip
    assert json.loads((tmp_path / "counted.json").read_text()) == {"rows": {"usertable": 5}}
    assert [[*state["still"]] for state in facts["system_state"]] == [["counted"], ["counted"]]
    assert facts["page_cache"] == ["untouched", "untouched"]


def test_hosts_whose_page_cache_cannot_be_emptied_are_refused(tmp_path: Path) -> None:
    tasks = [
        {
            "block": [
                {"include_tasks": str(ANSIBLE / "tasks/page_cache.yml"), "vars": {"page_cache_verb": "check"}},
                {"set_fact": {"refused": ""}},
            ],
            "rescue": [{"set_fact": {"refused": "{{ ansible_failed_result.msg }}"}}],
        }
    ]
    (refused,) = play(tmp_path, tasks, {"one": {}}, 0, ["refused"])["refused"]
    # It depends on who runs the tests, and where.
    if os.geteuid() == 0:
        assert (refused == "") == os.access("/proc/sys/vm/drop_caches", os.W_OK)
    if refused:
        assert "/proc/sys/vm/drop_caches cannot be written on one" in refused
        assert "leave out settle.cache=drop" in refused


# ---- summary ---------------------------------------------------------------------------------------------------------


def test_the_summary_says_once_where_reads_came_from(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "hbase")
    write_json(folder / "settled.json", {"seconds": 1, "rows": {}, "notes": ["all records are in memstores"]})
    write_json(
        folder / "run-2/settled.json", {"seconds": 1, "rows": {}, "notes": ["all records are in memstores", "b"]}
    )
    (summarised,) = summarise(tmp_path).trials
    assert [note for note in summarised.notes if note in ("all records are in memstores", "b")] == [
        "all records are in memstores", "b",
    ]  # fmt: skip
