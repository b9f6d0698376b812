"""Runs ./run.sh with reuse=data on a real server: several rounds share one load, even if their runs insert records.

A trial loads again after the kept load was damaged. The phase equal begins in the second round.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from dohyo.places import LOCAL_HOME
from e2e.runs import Run, options

KEPT = LOCAL_HOME / "data/dohyo/kept"


def read(file: Path) -> Any:
    return json.loads(file.read_text())


def test_rounds_share_a_load_until_it_is_damaged_and_nothing_is_kept_after_the_end(tmp_path: Path) -> None:
    arguments = ["workloadD", "--systems=mysql-innodb", "--set=reuse=data", "--set=phases=max,equal", "--records=2000"]
    run = Run(tmp_path / "out", *arguments, *options(rounds=3, preconditioning=2000, target=None))
    run.until("max", "02-mysql-innodb")
    (table,) = KEPT.glob("mysql-*/data/ycsb/usertable.ibd")
    os.truncate(table, 4096)
    # The third trial must load again. It has done so when its phase max begins.
    run.until("max", "03-mysql-innodb")
    assert KEPT.is_dir()
    run.signal(signal.SIGINT)
    assert run.end() == 130
    first, second, third = sorted((run.out / "raw").iterdir())
    loaded = [(folder / "load").is_dir() for folder in (first, second, third)]
    assert loaded == [True, False, True]
    for folder, load in ((first, first), (second, first), (third, third)):
        assert read(folder / "kept.json")["load"] == load.name
        # Each trial begins with only the loaded rows, whatever the runs of other trials inserted.
        assert read(folder / "settled.json")["rows"] == {"usertable": 2000}
    for folder in (first, second):
        files = (folder.glob(f"{phase}-1/localhost/client.json") for phase in ("equal", "max"))
        runs = [read(file) for of_phase in files for file in of_phase]
        assert [phase["target"] > 0 for phase in runs] == ([False] if folder == first else [True, False])
        assert {phase["target"] for phase in runs} <= {0, read(run.out / "experiment.json")["equal_targets"][""]}
        inserted = max(phase["inserted"] for phase in runs)
        assert inserted > 0
        assert read(folder / "counted.json")["rows"] == {"usertable": 2000 + inserted}
    assert "the copy is incomplete" in read(third / "kept.json")["note"]
    summary = read(run.out / "summary.json")
    assert [trial["status"] for trial in summary["trials"]] == ["ok", "ok", "interrupted"]
    assert "shared load of 01-mysql-innodb" in (run.out / "summary.md").read_text()
    assert not KEPT.exists()


@pytest.mark.skipif("AEROSPIKE_ASD" not in os.environ, reason="needs an Aerospike server: AEROSPIKE_ASD=FILE")
def test_sets_of_aerospike_are_recognized_on_a_copy(tmp_path: Path) -> None:
    arguments = ["workloadC", "--systems=aerospike", "--set=reuse=data", "--records=2000"]
    run = Run(tmp_path / "out", *arguments, *options(rounds=2))
    assert run.end() == 0
    first, second = sorted((run.out / "raw").iterdir())
    assert [(folder / "load").is_dir() for folder in (first, second)] == [True, False]
    for folder in (first, second):
        assert read(folder / "settled.json")["rows"] == {"usertable": 2000}
