"""Tests trials that share a load: how they are chosen, which files a host keeps between them, and their evidence."""

import json
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dohyo.bad_input import BadInputError
from dohyo.planning import plan
from dohyo.planning.sizing import LOAD_RATE, Sizes
from dohyo.running.progress import Forecast
from dohyo.scenario import loading
from dohyo.scenario.hosts import Hosts
from dohyo.summary.summary import summarise
from dohyo.systems.records import DataNeeds, HostNeeds
from dohyo.tables import table
from failure import AgentError
from support.evidence import DATA, rendered, trial, write_json
from support.marked_folders import module
from support.scenarios import shown_plan

TEXT = "recordcount=1000\noperationcount=1000\nsystems=cassandra,mysql-innodb\nreuse=data\n"
OWN = "0123456789ab"


def loads(folder: Path, text: str) -> dict[str, str]:
    """Returns the name of the shared load for each trial."""
    file = folder / "small"
    file.write_text(text)
    return plan.shared_loads(plan.trials(loading.load(file)), folder)


def test_rounds_of_a_system_share_a_load_and_experiments_do_not(tmp_path: Path) -> None:
    shared = loads(tmp_path, TEXT + "rounds=2\n")
    assert list(shared) == ["01-cassandra", "02-mysql-innodb", "03-mysql-innodb", "04-cassandra"]
    assert shared["01-cassandra"] == shared["04-cassandra"] != shared["02-mysql-innodb"] == shared["03-mysql-innodb"]
    (tmp_path / "other").mkdir()
    assert {*loads(tmp_path / "other", TEXT + "rounds=2\n").values()}.isdisjoint(shared.values())


def test_a_load_is_not_that_of_an_inventory_which_was_edited(tmp_path: Path) -> None:
    (tmp_path / "mine" / "group_vars").mkdir(parents=True)
    (tmp_path / "mine" / "hosts.yml").write_text("all: {}\n")
    variables = tmp_path / "mine" / "group_vars" / "all.yml"
    file = tmp_path / "small"
    file.write_text(TEXT + "rounds=2\n")
    trials = plan.trials(loading.load(file))

    def loads_of(inventory: Path) -> set[str]:
        return {*plan.shared_loads(trials, tmp_path, plan.inventory_state(inventory)).values()}

    for inventory in (tmp_path / "mine", tmp_path / "mine" / "hosts.yml"):
        variables.write_text("cassandra_heap: 1g\n")
        before = loads_of(inventory)
        assert loads_of(inventory) == before
        variables.write_text("cassandra_heap: 2g\n")
        assert loads_of(inventory).isdisjoint(before)
    assert plan.inventory_state(None)


@pytest.mark.parametrize("text", ["", "rounds=2\nreuse=none\n", "rounds=2\nreuse=none\nphases=insert\n"])
def test_what_nobody_shares_is_not_kept(tmp_path: Path, text: str) -> None:
    scenario = "\n".join(line for line in TEXT.splitlines() if not ("reuse" in text and "reuse" in line))
    assert loads(tmp_path, f"{scenario}\n{text}") == {}


@pytest.mark.parametrize(
    ("dimension", "loads_of_cassandra"),
    [
        ("target=100,200", 1),
        ("readproportion=0.95", 1),
        ("requestdistribution=uniform,zipfian", 1),
        ("warmuptime=1,2", 1),
        ("run.batchsize=1,10", 1),
        ("batchsize=1,10", 2),
        ("recordcount=1000,2000", 2),
        ("fieldcount=1,2", 2),
        ("dataintegrity=false,true", 2),
        ("durability=memory,disk", 2),
        ("compression=none,lz4", 2),
        ("cassandra_compaction=SizeTieredCompactionStrategy,LeveledCompactionStrategy", 2),
        ("cassandra_heap=1g,2g", 2),
        ("insert.threadcount=1,2", 2),
    ],
)
def test_points_that_differ_in_runs_alone_share_a_load(tmp_path: Path, dimension: str, loads_of_cassandra: int) -> None:
    key = dimension.partition("=")[0]
    text = "".join(f"{line}\n" for line in TEXT.splitlines() if not line.startswith(f"{key}="))
    shared = loads(tmp_path, f"{text}rounds=2\nmatrix.{dimension}\n")
    of_cassandra = {load for name, load in shared.items() if "cassandra" in name.partition("=")[0].partition("-")[2]}
    assert len(of_cassandra) == loads_of_cassandra


@pytest.mark.parametrize("text", ["phases=insert\n", "settle.flush=false\n"])
def test_what_cannot_be_reused_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInputError, match="reuse=data with"):
        loads(tmp_path, TEXT + text)


class Host:
    """A host with two data folders, on which the agent's verb `kept_load` is called."""

    def __init__(self, folder: Path) -> None:
        self.data = [folder / "disk1", folder / "disk2"]
        self.arguments: dict[str, Any] = {
            "data": list(map(str, self.data)), "role": "mysql", "load": "0123456789abcdef", "trial": "01-mysql",
            "experiment": "/results/one", "deployment": OWN, "controller": {}, "need_mb": 0, "budget_mb": 0,
        }  # fmt: skip

    def ask(self, state: str, **arguments: Any) -> dict[str, Any]:
        answer = module("kept_load", **{**self.arguments, "state": state, **arguments})
        return {key: answer[key] for key in ("found", "trial", "note")}

    def files(self, folder: str) -> dict[str, str]:
        """Returns the contents of all files in the folder `dohyo/FOLDER` of both disks, without its mark."""
        return {
            f"{disk.name}/{file.relative_to(disk / 'dohyo' / folder)}": file.read_text()
            for disk in self.data
            for file in sorted((disk / "dohyo" / folder).rglob("*"))
            if file.is_file() and file.name != ".dohyo"
        }

    def load(self) -> None:
        """Writes data files, as a server does during a load."""
        for disk in self.data:
            (disk / "dohyo/mysql/ycsb").mkdir(parents=True)
            (disk / "dohyo/mysql/ycsb/table").write_text(f"rows of {disk.name}")
            (disk / "dohyo/mysql/.dohyo").write_text(json.dumps({"deployment": OWN, "experiment": "/r"}))

    def wipe(self) -> None:
        for disk in self.data:
            shutil.rmtree(disk / "dohyo/mysql", ignore_errors=True)
            (disk / "dohyo/mysql").mkdir(parents=True)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Returns a host that stores a copy of a load."""
    created = Host(tmp_path)
    assert created.ask("found") == {"found": False, "trial": "", "note": ""}
    created.load()
    assert created.ask("room")["found"]
    assert created.ask("kept")["found"]
    return created


def test_what_a_trial_changes_is_not_in_the_next_copy(host: Host) -> None:
    expected = {"disk1/ycsb/table": "rows of disk1", "disk2/ycsb/table": "rows of disk2"}
    for _ in range(2):
        # Another trial of the experiment requests the load.
        assert host.ask("found", trial="02-mysql") == {"found": True, "trial": "01-mysql", "note": ""}
        host.wipe()
        assert host.ask("placed", trial="02-mysql")["found"]
        assert host.files("mysql") == expected
        for disk in host.data:
            with (disk / "dohyo/mysql/ycsb/table").open("r+") as file:
                file.write("changed in place")
    assert not host.ask("found", load="f" * 16)["found"]


def in_page_cache(file: Path) -> bool:
    """Returns whether the first page of a file is in the page cache, without reading from the disk."""
    with file.open("rb") as opened:
        try:
            return os.preadv(opened.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT) > 0
        except BlockingIOError:
            return False


@pytest.mark.parametrize("budget", [0, 800])
def test_servers_with_a_budget_find_no_copy_in_a_page_cache_beyond_it(host: Host, budget: int) -> None:
    """The kernel charges a page to the process that uses it first. Here, this is cp and not a server with a budget."""
    table = host.data[0] / "dohyo/mysql/ycsb/table"
    host.wipe()
    assert host.ask("placed", budget_mb=budget)["found"]
    try:
        in_memory = in_page_cache(table)
    except OSError as error:
        pytest.skip(f"the file system of {table} does not say what is in the page cache: {error}")
    assert in_memory == (budget == 0)
    assert table.read_text() == "rows of disk1"


def test_a_load_that_was_interrupted_is_removed(host: Host) -> None:
    # The file with the sizes is written last, so without it the load is incomplete.
    (host.data[1] / "dohyo/kept/mysql-0123456789abcdef.json").unlink()
    assert host.ask("found", trial="02-mysql") == {"found": False, "trial": "", "note": ""}
    assert list(host.files("kept")) == ["disk1/mysql-0123456789abcdef/ycsb/table", "disk1/mysql-0123456789abcdef.json"]


@pytest.mark.parametrize("harm", ["remove", "cut", "add"])
def test_a_damaged_load_is_not_used_again(host: Host, harm: str) -> None:
    copy = host.data[1] / "dohyo/kept/mysql-0123456789abcdef/ycsb"
    if harm == "remove":
        (copy / "table").unlink()
    elif harm == "cut":
        os.truncate(copy / "table", 3)
    else:
        (copy / "more").write_text("")
    assert host.ask("found", trial="02-mysql")["found"]
    host.wipe()
    answer = host.ask("placed", trial="02-mysql")
    assert not answer["found"]
    assert "was copied incompletely" in answer["note"]
    assert host.files("kept") == {}


def test_a_trial_that_is_repeated_does_not_use_the_load_of_its_earlier_attempt(host: Host) -> None:
    """A killed run leaves its loads. The repeated trial has no evidence of that load, so it would be invalid."""
    assert host.ask("found", load="f" * 16, trial="02-mysql")["found"] is False
    assert host.ask("found") == {"found": False, "trial": "", "note": ""}
    assert host.files("kept") == {}


def test_a_load_that_cannot_be_copied_is_used_in_place(host: Host) -> None:
    host.wipe()
    # A file with the name of a folder makes the copy fail, even for root.
    for disk in host.data:
        (disk / "dohyo/mysql/.dohyo").write_text(json.dumps({"deployment": OWN, "experiment": "/r"}))
    (host.data[1] / "dohyo/mysql/ycsb").write_text("")
    answer = host.ask("placed")
    assert answer["found"]
    assert answer["note"].startswith("its load was not kept: cp: ")
    assert host.files("mysql") == {"disk1/ycsb/table": "rows of disk1", "disk2/ycsb/table": "rows of disk2"}
    assert host.files("kept") == {}


def test_another_experiment_removes_loads_of_its_own_deployment_only(host: Host) -> None:
    assert not host.ask("found", experiment="/results/two")["found"]
    assert host.files("kept") == {}
    with pytest.raises(AgentError, match="belongs to deployment 0123456789ab"):
        host.ask("found", experiment="/results/three", deployment="ba9876543210")


def test_where_a_trial_needs_the_room_nothing_is_kept(host: Host) -> None:
    beyond = 2**40
    assert host.ask("found", need_mb=beyond, trial="02-mysql") == {
        "found": False, "trial": "", "note": "loaded again: the kept load was removed, because the disk lacked space",
    }  # fmt: skip
    assert host.files("kept") == {}
    host.load()
    answer = host.ask("room", need_mb=beyond)
    assert not answer["found"]
    assert "not enough space for a second copy" in answer["note"]


def test_the_last_owner_removes_the_created_folders(host: Host) -> None:
    def owned(state: str, name: str) -> None:
        owner = {key: host.arguments[key] for key in ("deployment", "controller")}
        module("owned", state=state, folders=[[str(disk), f"dohyo/{name}"] for disk in host.data], **owner)

    for first, last in (("kept", "hbase"), ("hbase", "kept")):
        host.ask("found")
        owned("present", "hbase")
        owned("absent", first)
        assert [disk.is_dir() for disk in host.data] == [True, True]
        owned("absent", last)
        assert [disk.exists() for disk in host.data] == [False, False]


def rounds(experiment: Path) -> list[Path]:
    """Writes two rounds; the second round used the load of the first."""
    folders = [
        trial(experiment, turn, "cassandra", trial_reuse="0" * 16, trial_round=turn, trial_rounds=2) for turn in (1, 2)
    ]
    shutil.rmtree(folders[1] / "load")
    for folder in folders:
        write_json(folder / "kept.json", {"load": "01-cassandra", "note": ""})
    return folders


def test_a_trial_without_a_load_of_its_own_is_whole(tmp_path: Path) -> None:
    rounds(tmp_path)
    summary = summarise(tmp_path)
    assert [(trial.status, trial.reason) for trial in summary.trials] == [("ok", None)] * 2
    assert [any(row.phase == "load" for row in trial.rows) for trial in summary.trials] == [True, False]
    (merged,) = summary.merged
    (load,) = [row for row in merged.rows if (row.phase, row.operation) == ("load", "INSERT")]
    assert load.records == json.loads((DATA / "dohyo/load/client.json").read_text())["records"]
    (note,) = [text for text in table.settings(summary) if "shared load of 01-cassandra" in text]
    assert "intervals omit load differences" in note
    assert summary.notes == summarise(tmp_path).notes
    assert not [text for _, text in table.warnings(summary) if "shared load" in text]
    rendered(summary)


def test_a_trial_without_any_load_is_invalid(tmp_path: Path) -> None:
    _, second = rounds(tmp_path)
    write_json(second / "kept.json", {"load": None, "note": "its load was not kept: no room"})
    summary = summarise(tmp_path)
    assert [(trial.status, trial.reason) for trial in summary.trials] == [("ok", None), ("invalid", "load: is missing")]
    assert "its load was not kept: no room" in summary.trials[1].notes


def test_the_forecast_and_the_plan_have_a_shared_load_once(tmp_path: Path) -> None:
    file = tmp_path / "small"
    file.write_text(TEXT + "rounds=2\n")
    chosen = loading.load(file)
    trials = plan.trials(chosen)
    forecast = Forecast(trials)
    lengths = []
    for number in range(len(trials)):
        forecast.begin(trials[number:])
        lengths.append(forecast.remaining(0))
    seconds = [before - after for before, after in pairwise([*lengths, 0.0])]
    # The first two trials load records; the last two start from a copy.
    load = chosen.number("recordcount") / LOAD_RATE
    assert seconds == pytest.approx([seconds[2] + load, seconds[2] + load, seconds[2], seconds[2]])
    needs = dict.fromkeys(("cassandra", "mysql-innodb"), HostNeeds(1, DataNeeds(2000.0, spread=False)))
    text = shown_plan(chosen, [Sizes(chosen, Hosts(1, 10**9, 5 * 10**6), needs)])
    assert "reuse=data: 2 loads kept on each host, at most 4 MB of disk: more than available" in text
