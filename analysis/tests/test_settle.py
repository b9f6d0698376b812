"""Tests settling, from the scenario's properties to the evidence and its notes."""

import os
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from dohyo.places import WORKLOADS
from dohyo.planning import plan
from dohyo.scenario import loading
from dohyo.summary.summary import summarise
from dohyo.trial.servers import look_at_page_cache
from dohyo.trial.world import HostError
from support.evidence import trial, write_json
from support.scenarios import load

SMALL = "recordcount=1000\noperationcount=1000\nsystems=cassandra,hbase\n"


# ---- scenarios -------------------------------------------------------------------------------------------------------


def test_the_default_is_to_flush_and_keep_caches(tmp_path: Path) -> None:
    variables = plan.variables(plan.trials(load(tmp_path, SMALL))[0], tmp_path, keep=False)
    assert (variables["trial_settle"], variables["trial_settle_flush"], variables["trial_settle_cache"]) == (
        "load", True, "keep",
    )  # fmt: skip


def test_settle_flush_and_settle_cache_are_dimensions_of_all_systems(tmp_path: Path) -> None:
    trials = plan.trials(load(tmp_path, SMALL, "matrix.settle.flush=true,false", "matrix.settle.cache=keep,drop"))
    assert len(trials) == 8
    last = plan.variables(trials[-1], tmp_path, keep=False)
    assert (last["trial_system"], last["trial_settle_flush"], last["trial_settle_cache"]) == ("hbase", False, "drop")
    assert last["trial_point"] == {"settle.flush": "false", "settle.cache": "drop"}
    # The client does not receive these settings.
    assert not [key for key in last["trial_properties"] if key.startswith("settle")]


def test_region_servers_are_a_dimension_of_hbase_alone(tmp_path: Path) -> None:
    trials = plan.trials(load(tmp_path, SMALL, "matrix.hbase_regionservers_per_host=1,2"))
    assert [trial.label for trial in trials] == [
        "cassandra", "hbase hbase_regionservers_per_host=1", "hbase hbase_regionservers_per_host=2",
    ]  # fmt: skip


@pytest.mark.parametrize("full", [False, True])
def test_the_read_variants_of_hbase(full: bool) -> None:
    chosen = loading.load(WORKLOADS / "hbase-read-variants", full=full)
    settings = {
        planned.scenario.point["variant"]: (planned.scenario["settle.flush"], planned.scenario["compression"])
        for planned in plan.trials(chosen)
    }
    assert settings == {
        "memstore": ("false", "gz" if full else "none"),
        "hfile-gz": ("true", "gz"),
        "hfile": ("true", "none"),
    }


# ---- hosts -----------------------------------------------------------------------------------------------------------


class ThisMachine:
    """Runs programs on this machine as if it were the host of a trial."""

    name = "one"

    def do(self, action: str, *, argv: list[str], **_: Any) -> dict[str, Any]:
        assert action == "program"
        if subprocess.run(argv, check=False).returncode:
            raise HostError("non-zero return code")
        return {"stdout": ""}


def test_hosts_whose_page_cache_cannot_be_emptied_are_refused() -> None:
    refused = ""
    try:
        look_at_page_cache(cast(Any, ThisMachine()))
    except HostError as error:
        refused = str(error)
    # Whether the file is writable depends on the user and the machine.
    writable = os.access("/proc/sys/vm/drop_caches", os.W_OK)
    reason = "settle.cache=drop: cannot write /proc/sys/vm/drop_caches on one (read-only here, as in most containers); "
    assert refused == "" if writable else refused.startswith(reason)


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
