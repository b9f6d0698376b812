"""./run.sh with reuse=data on a real server: one load for several rounds, whatever their runs insert, and another one
where the copy is damaged.
"""

import json
import os
import signal
from pathlib import Path
from typing import Any

from test_run import LONG, SMALL, Run, nothing_stays

from dohyo.places import LOCAL_HOME

__all__ = ["nothing_stays"]

ASKED = ["workloadD", "--systems=mysql-innodb", "--set=reuse=data"]
DATA = LOCAL_HOME / "data/dohyo"
KEPT = DATA / "kept"


def read(file: Path) -> Any:
    return json.loads(file.read_text())


def test_rounds_share_a_load_until_it_is_damaged(tmp_path: Path) -> None:
    run = Run(tmp_path / "out", *ASKED, *[each for each in SMALL if "rounds" not in each], "--rounds=3")
    run.until("run", "02-mysql-innodb")
    (table,) = KEPT.glob("mysql-*/data/ycsb/usertable.ibd")
    os.truncate(table, 4096)
    assert run.end() == 0
    first, second, third = sorted((run.out / "raw").iterdir())
    loaded = [(folder / "load").is_dir() for folder in (first, second, third)]
    assert loaded == [True, False, True]
    for folder, load in ((first, first), (second, first), (third, third)):
        assert read(folder / "kept.json")["load"] == load.name
        # Each begins with what was loaded alone, and ends with what its own run has inserted.
        assert read(folder / "settled.json")["rows"] == {"usertable": 2000}
        inserted = read(folder / "run-1/localhost/client.json")["inserted"]
        assert inserted > 0
        assert read(folder / "counted.json")["rows"] == {"usertable": 2000 + inserted}
    assert "is not whole" in read(third / "kept.json")["note"]
    summary = read(run.out / "summary.json")
    assert [(trial["status"], trial["reason"]) for trial in summary["trials"]] == [("ok", None)] * 3
    assert "one load, that of 01-mysql-innodb" in (run.out / "summary.md").read_text()
    assert not KEPT.exists()
    assert not (DATA / "mysql").exists()


def test_nothing_is_kept_after_ctrl_c(tmp_path: Path) -> None:
    run = Run(tmp_path / "out", *ASKED, *[each for each in LONG if "rounds" not in each], "--rounds=2")
    run.until("run", "01-mysql-innodb")
    assert KEPT.is_dir()
    run.signal(signal.SIGINT)
    assert run.end() == 130
    assert not KEPT.exists()
