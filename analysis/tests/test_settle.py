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
from filter.dohyo_filters import with_notes
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


def kept(answers: list[dict[str, Any]], flush: bool = True, dropped: dict[str, Any] | None = None) -> dict[str, Any]:
    """What is kept of what the servers of some hosts have answered."""
    pages = {f"host{number}": PAGES for number, _ in enumerate(answers, start=1)}
    found: dict[str, Any] = with_notes(answers[0], answers, "Still DB", flush, dropped, pages)
    return found


def test_what_the_first_host_says_is_kept_with_the_notes_of_all() -> None:
    first = {"seconds": 3, "rows": {"usertable": 5}, "notes": ["a"]}
    assert kept([first, {"seconds": 4, "rows": {}, "notes": ["a", "b"]}]) == {**first, "notes": ["a", "b"]}
    assert kept([first, {}]) == first


def test_a_system_that_can_leave_out_the_flush_says_so_itself() -> None:
    answer = {"seconds": 3, "rows": {}, "flushed": False, "notes": ["in memory"]}
    assert kept([answer], flush=False) == answer


def test_for_one_that_has_nothing_to_flush_it_is_said() -> None:
    assert kept([{"seconds": 3, "rows": {}}], flush=False)["notes"] == [
        "settle.flush=false changes nothing: Still DB has no memory that only a flush empties"
    ]


def test_what_was_emptied_is_kept_and_said() -> None:
    answer: dict[str, Any] = {"seconds": 3, "rows": {}, "flushed": True, "notes": []}
    dropped = {"evicted_blocks": 7, "notes": ["the block caches were emptied"]}
    found = kept([answer, answer], dropped=dropped)
    assert found["dropped"] == {**dropped, "hosts": {"host1": PAGES, "host2": PAGES}}
    assert found["notes"] == [
        "the block caches were emptied",
        "settle.cache=drop: the page caches of the hosts were emptied before the runs",
    ]


def test_a_system_that_cannot_empty_its_caches_keeps_them_and_it_is_said() -> None:
    found = kept([{"seconds": 3, "rows": {}}], dropped={})
    assert found["notes"][-1] == "settle.cache=drop: Still DB keeps its own caches, which only a restart would empty"
    assert found["dropped"] == {"hosts": {"host1": PAGES}}


@pytest.mark.parametrize(
    ("hosts", "cache", "calls"),
    [
        (1, "keep", ["settle+stats folder=/home/run/still/stats/load"]),
        (2, "drop", ["settle", "settle", "stats", "stats"]),
    ],
)
def test_one_call_settles_and_keeps_the_statistics_where_nothing_is_to_be_done_between(
    tmp_path: Path, hosts: int, cache: str, calls: list[str]
) -> None:
    """Ansible, with a system and a page cache that only note that they were called."""
    answer = {"seconds": 3, "rows": {}, "notes": ["a"]}
    note = f'echo "$1" >> {tmp_path}/calls'
    words = {"settle": "{{ trial_settle_words | join(' ') }}", "stats": "stats"}
    verbs: dict[str, list[Any]] = {
        name: [{"command": {"argv": ["sh", "-c", note, "", word]}}] for name, word in words.items()
    }
    verbs["settle"].append({"set_fact": {"system_state": {"still": {"settled": answer, "dropped": {"blocks": 7}}}}})
    emptied = [{"command": {"argv": ["echo", json.dumps(PAGES)]}, "register": "page_cache"}]
    for folder in ("roles/system/tasks", "tasks"):
        (tmp_path / folder).mkdir(parents=True)
    for file, tasks in {**{f"roles/system/tasks/{name}": each for name, each in verbs.items()},
                        "tasks/page_cache": emptied}.items():  # fmt: skip
        (tmp_path / f"{file}.yml").write_text(yaml.safe_dump(tasks))
    for name in ("settle.yml", "stats.yml"):
        shutil.copy(ANSIBLE / "tasks" / name, tmp_path / "tasks")
    own = yaml.safe_load((ANSIBLE / "trial.yml").read_text())[0]["vars"]
    used = ("settled", "dropped", "answers", "is_database", "settle_flush", "settle_words", "settle_with_stats")
    play(
        tmp_path, [{"include_tasks": str(tmp_path / "tasks/settle.yml")}],
        {f"host{number}": {} for number in range(1, hosts + 1)}, 0, [],
        **{f"trial_{name}": own[f"trial_{name}"] for name in used}, trial_settle_cache=cache, trial_role="still",
        trial_system="still", systems={"still": {"title": "Still DB"}}, dohyo_home="/home", trial_stats="stats/load",
        trial_verbs={name: name for name in verbs}, trial_settled_file=str(tmp_path / "kept/settled.json"),
    )  # fmt: skip
    assert (tmp_path / "calls").read_text().splitlines() == calls
    found = json.loads((tmp_path / "kept/settled.json").read_text())
    assert {name: found[name] for name in answer if name != "notes"} == {"seconds": 3, "rows": {}}
    assert found.get("dropped", {}).get("hosts") == ({"host1": PAGES, "host2": PAGES} if cache == "drop" else None)


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
