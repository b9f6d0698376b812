"""Tests the calls with which a system settles, reads statistics and counts rows, and the use of their results."""

from pathlib import Path
from typing import Any

import pytest

from dohyo.trial import servers
from dohyo.trial.servers import ADMIN_SECONDS, with_notes
from dohyo.trial.world import StepError
from support.trial_hosts import ADMIN, PAGES, ROWS, fake_trial

FLUSH = "Flush, wait for background writes, and count the rows"
TABLES = ["tables=usertable", "keycolumns=", "recordcount=1000"]


def test_arguments_of_each_administrative_call(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, system="hbase", trial_settle_cache="drop", hbase_prefetch=True)
    trial.part.settle_load()
    trial.part.servers.count(1234)
    argv_of = {call.verb: call.argv for call in trial.calls if call.host == "node1"}
    bundle = ["-cp", "/opt/dohyo/bundle/hbase/*", "dohyo.hbase.admin.HBaseAdmin"]
    for verb in ("settle", "drop", "stats", "count"):
        assert argv_of[verb][: len(ADMIN) + 4] == [*ADMIN, *bundle, verb]
        # Each call includes the arguments for the connection, the tables and the pages.
        assert {"tables=usertable", "hbase.zookeeper.quorum=10.0.0.1:2181"} <= {*argv_of[verb]}
        (pages,) = [word for word in argv_of[verb] if word.startswith("pages=")]
        assert "datanode-jmx=http://10.0.0.1:9864" in pages
    assert argv_of["settle"][-3:] == ["flush=true", "timeout=1800", "prefetch=true"]
    assert argv_of["stats"][-1] == "folder=/opt/dohyo/run/hbase/stats/load"
    assert {"recordcount=1234", "timeout=1800"} <= {*argv_of["count"]}
    assert not {"recordcount=1000", "flush=true", "prefetch=true", "drop"} & {*argv_of["count"]}
    # The calls of settle and count have no time limit, because their own timeout ends them.
    bounds = {call.verb: call.arguments.get("timeout") for call in trial.calls if call.host == "node1"}
    assert bounds == {"settle": None, "drop": 900, "empty the page cache": None, "stats": 900, "count": None}
    # Statistics are read on each host, but only the first host is asked about the tables.
    assert [call.verb for call in trial.calls if call.host == "node2"] == ["empty the page cache", "stats"]


def test_a_call_for_two_things_names_the_folder_right_behind_the_verb(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.part.settle_load()
    call = trial.calls[0]
    arguments = call.argv[call.argv.index("settle+stats") :]
    assert arguments[:5] == ["settle+stats", "folder=/opt/dohyo/run/cassandra/stats/load", *TABLES]


def test_one_host_settles_and_counts_for_the_cluster(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 3, system="postgresql")
    first = trial.world.system("node1").first_words
    assert first
    trial.part.settle_load()
    trial.part.servers.count(1000)
    settle, count = (call for call in trial.calls if call.verb not in ("sync", "stats"))
    assert (settle.host, count.host) == ("node1", "node1")
    assert {*first} <= {*settle.argv}
    assert {*first} <= {*count.argv}


def test_a_count_may_have_another_verb_and_an_attached_system_has_its_own_words(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, system="aerospike")
    trial.part.settle_load()
    assert trial.part.servers.count(1000) == ROWS
    assert trial.calls[-1].verb == "settle"
    trial = fake_trial(tmp_path / "attached", 2, attached={"cassandra": "10.1.0.1"}, attached_may=["settle"])
    trial.part.settle_load()
    trial.part.servers.count(1007)
    for call in trial.calls:
        assert call.host == "node1"
        assert {"place=dohyo_0123456789abcdef", "made=/opt/dohyo/attached/cassandra/made", "host=10.1.0.1"} <= {
            *call.argv
        }
    assert "recordcount=1007" in trial.calls[-1].argv
    assert trial.calls[-1].argv[: len(ADMIN)] == ADMIN


def test_files_are_on_the_disks_of_all_servers_before_the_statistics(tmp_path: Path) -> None:
    """The kernel would otherwise write what MyISAM and Aerospike have left to it during the runs."""
    trial = fake_trial(tmp_path, 3, system="mysql-myisam")
    trial.part.settle_load()
    synced = [call for call in trial.calls if call.verb == "sync"]
    assert [call.host for call in synced] == ["node1", "node2", "node3"]
    assert synced[0].argv == ["sync", "--file-system", "/data1/dohyo/mysql"]
    assert [call.verb for call in trial.calls] == ["settle", *["sync"] * 3, *["stats"] * 3]


def test_the_page_cache_is_emptied_after_dirty_pages_are_written() -> None:
    lines = servers.DROP_PAGE_CACHE.strip().splitlines()
    assert [lines.index(line) for line in ("sync", "echo 1 > /proc/sys/vm/drop_caches")] == [1, 3]


def test_a_call_that_hangs_is_ended(tmp_path: Path) -> None:
    """A call that is repeated until it succeeds may exceed its limit by ADMIN_SECONDS, the limit of one attempt."""
    trial = fake_trial(tmp_path)
    steps = trial.part.servers
    steps.admin("node1", "stats")
    steps.until_admin("node1", "user")
    steps.until("node1", "cassandra", ["true"])
    repeated = steps.system("node1").timeouts["ready"] + ADMIN_SECONDS
    assert [call.arguments["timeout"] for call in trial.calls] == [ADMIN_SECONDS, repeated, repeated]


@pytest.mark.parametrize(
    ("verb", "answer", "step", "message"),
    [
        ("settle", "", FLUSH, "settle: its output is not a JSON object: ''"),
        ("settle", "WARN no log4j\n{}", FLUSH, r"settle: its output is not a JSON object: 'WARN no log4j\n{}'"),
        ("settle", "[]", FLUSH, "settle: its output is not a JSON object: '[]'"),
        ("settle", "{", FLUSH, "settle: its output is not a JSON object: '{'"),
        ("settle", {"seconds": 3}, FLUSH, 'its output contains no row counts: {"seconds": 3}'),
        ("settle", {"rows": [1000]}, FLUSH, 'its output contains no row counts: {"rows": [1000]}'),
        ("settle", {"rows": {"a": "1"}}, FLUSH, 'its output contains no row counts: {"rows": {"a": "1"}}'),
        ("drop", "x" * 999, "Empty the server's caches", f"drop: its output is not a JSON object: '{'x' * 200}'"),
        ("count", {}, "Count the rows", "its output contains no row counts: {}"),
        ("count", "no", "Count the rows", "count: its output is not a JSON object: 'no'"),
    ],
)
def test_an_answer_that_is_none_is_refused(verb: str, answer: Any, step: str, message: str, tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, trial_settle_cache="drop")
    trial.answers["node1", verb] = answer
    trial.outcomes["run-1"] = trial.outcome(inserted=[5])
    with pytest.raises(StepError) as failed:
        trial.run_all()
    assert (failed.value.step, failed.value.failures) == (step, {"node1": message})


# ---- evidence --------------------------------------------------------------------------------------------------------


def settled(answers: list[dict[str, Any]], flush: bool = True, dropped: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns the evidence that is written for these answers of the servers."""
    pages = {f"host{number}": PAGES for number, _ in enumerate(answers, start=1)}
    return with_notes(answers[0], answers, "Still DB", flush, dropped, pages)


def test_what_the_first_host_says_is_kept_with_the_notes_of_all() -> None:
    first = {"seconds": 3, "rows": {"usertable": 5}, "notes": ["a"]}
    assert settled([first, {"seconds": 4, "rows": {}, "notes": ["a", "b"]}]) == {**first, "notes": ["a", "b"]}
    assert settled([first, {}]) == first
    # A system that can leave out the flush says so itself.
    unflushed = {**first, "flushed": False}
    assert settled([unflushed], flush=False) == unflushed
    assert settled([first], flush=False)["notes"] == [
        "a", "settle.flush=false has no effect: Still DB has no buffer that only a flush would empty",
    ]  # fmt: skip


def test_emptied_caches_are_recorded_and_noted() -> None:
    answer: dict[str, Any] = {"seconds": 3, "rows": {}, "flushed": True, "notes": []}
    dropped = {"evicted_blocks": 7, "notes": ["the block caches were emptied"]}
    result = settled([answer, answer], dropped=dropped)
    assert result["dropped"] == {**dropped, "hosts": {"host1": PAGES, "host2": PAGES}}
    assert result["notes"] == [
        "the block caches were emptied",
        "settle.cache=drop: the page caches of the hosts were emptied before the runs",
    ]


def test_a_system_that_cannot_empty_its_caches_is_noted(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, system="mysql-innodb", trial_settle_cache="drop")
    trial.part.settle_load()
    assert "drop" not in [call.verb for call in trial.calls]
    settled = trial.json("settled.json")
    note = "settle.cache=drop: MySQL (InnoDB) keeps its own caches, which only a restart would empty"
    assert (settled["notes"][-1], settled["dropped"]) == (note, {"hosts": {"node1": PAGES, "node2": PAGES}})
