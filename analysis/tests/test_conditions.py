"""Checks that each condition is declared in only one place, which all code that shows or compares conditions uses."""

from pathlib import Path

import pytest

from dohyo.places import ROOT
from dohyo.summary import conditions
from dohyo.summary.conditions import CONDITIONS, Conditions
from dohyo.summary.results import Status, Trial
from dohyo.summary.rounds import Rounds
from support import altered_package
from support.evidence import edit_json, reads, trial

# Program that reads the experiments named by its arguments and prints where the condition `colour` appears.
PROGRAM = """
import json, sys
from pathlib import Path
from dohyo.summary import conditions, regression, summary_file
from dohyo.summary.summary import summarise
from dohyo.tables import files, table

first, second = map(Path, sys.argv[1:])
summary = summarise(first)
files.write(summary, first)
changes = regression.compare(summary, summarise(second))
print(json.dumps({
    "unequal": summary.unequal["colour"],
    "merged": [trial.conditions.colour for trial in summary.merged],
    "kept": [trial.conditions.colour for trial in summary_file.read(first).trials],
    "compared": [[each.system, each.before, each.after, each.must_be_equal]
                 for each in changes.differences if each.condition == "colour"],
    "reference": conditions.reference(),
}))
"""


def test_one_entry_adds_a_condition_everywhere(tmp_path: Path) -> None:
    colours = {"before": {"cassandra": "red", "hbase": "blue"}, "after": {"cassandra": "red", "hbase": "green"}}
    for experiment, of_systems in colours.items():
        for number, (system, colour) in enumerate(2 * [*of_systems.items()]):
            turn = number // 2 + 1
            folder = trial(tmp_path / experiment, number + 1, system, 1, trial_round=turn, trial_rounds=2)
            reads(folder / "run-1/node1", [100] * 4)
            edit_json(folder / "conditions.json", colour=f"{colour}{turn}" if system == "hbase" else colour)
    last = '    gc: str | None = _of("collector of the server, if it is a JVM", label="collector")\n'
    more = '    colour: str | None = _of("of the rack", equal="systems", label="rack")\n'
    folders = [tmp_path / name for name in colours]
    answer = altered_package.run(tmp_path, "summary/conditions.py", last, more, PROGRAM, *folders)
    assert answer["merged"] == ["red", "blue1 and blue2"]
    assert answer["unequal"] == {"cassandra": "red", "hbase": "blue1 and blue2"}
    assert answer["kept"] == ["red", "blue1", "red", "blue2"]
    assert answer["compared"] == [["hbase", "blue1 and blue2", "green1 and green2", True]]
    assert "| `colour` | string | | systems | of the rack |" in answer["reference"]
    for name, label in (("summary.md", "rack"), ("summary.csv", "colour"), ("summary.json", "colour")):
        assert label in (tmp_path / "before" / name).read_text("utf-8"), name


def test_a_condition_that_differs_by_phase_is_shown() -> None:
    shown = {name for condition in CONDITIONS.values() if condition.label for name in condition.group}
    assert {name for name, condition in CONDITIONS.items() if condition.by_phase} <= shown


@pytest.mark.parametrize(("status", "share"), [("ok", 0.31), ("invalid", 0.02)])
def test_a_round_that_is_invalid_because_of_other_processes_is_no_condition(status: Status, share: float) -> None:
    rounds = Rounds()
    rounds.add(Trial("x", "x", "x", "ok", conditions=Conditions(other_cpu=0.02)), {})
    rounds.add(Trial("x", "x", "x", status, conditions=Conditions(other_cpu=0.31)), {})
    assert rounds.merged().conditions.other_cpu == share


def test_no_condition_is_shown_twice() -> None:
    shown = [name for condition in CONDITIONS.values() if condition.label for name in condition.group]
    assert len(shown) == len(set(shown))
    assert set(shown) <= CONDITIONS.keys()


def test_the_documents_have_the_table_that_the_program_prints() -> None:
    written = (ROOT / "docs/summary-json.md").read_text("utf-8")
    assert conditions.reference() in written, "replace it with the output of python -m dohyo.summary.conditions"
