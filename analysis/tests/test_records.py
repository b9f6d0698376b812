"""Tests reading evidence into records: values of the wrong type are reported and skipped; missing ones get defaults."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.bad_input import BadInputError
from dohyo.evidence import experiment_folder, records
from dohyo.evidence.conductor_records import Conducted
from dohyo.evidence.records import FORMAT, ClientReport, ExperimentFacts, TrialSettings
from dohyo.places import ROOT
from dohyo.summary.summary import summarise
from dohyo.trial.evidence import ASKED
from support.evidence import clients_json, edit_json, trial, write_json

CLIENT = ROOT / "ycsb-bindings/client/src/main/java/dohyo/client"
REPORT = ROOT / "ansible/plugins/conducting/report.py"


def test_the_records_have_the_fields_that_are_written() -> None:
    sources = "".join((CLIENT / name).read_text("utf-8") for name in ("Results.java", "Footprint.java"))
    written = set(re.findall(r'put\(\s*"(\w+)"', sources))
    assert set(ClientReport.__struct_fields__) <= written
    of_run = set(re.findall(r'^ *"(\w+)": ', REPORT.read_text("utf-8"), re.MULTILINE))
    assert set(Conducted.__struct_encode_fields__) <= of_run


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"threads": "many"}, "threads is 'many': expected `int | null`, got `str`"),
        ({"threads": 2**70}, "threads is 1180591620717411303424: "),
        ({"skew_ms": float("nan")}, "skew_ms is nan: expected `float` "),
        ({"valid": {}}, "valid is an object: "),
        ({"operations_by_type": {"READ": {"statuses": {"OK": []}}}}, "operations_by_type.READ.statuses.OK is a list: "),
        ({"operations_by_type": ["READ"]}, "operations_by_type is a list: "),
    ],
)
def test_a_wrong_type_is_named_and_the_rest_counts(content: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    write_json(file, {**content, "operations": 7, "records": "8", "inserted": None})
    warnings: list[str] = []
    report = records.read(file, ClientReport, warnings.append)
    (warning,) = warnings
    assert warning.startswith(f"{file}: {message}")
    assert (report.operations, report.records, report.threads, report.inserted) == (7, 8, None, None)


def test_what_trial_yml_writes_by_its_defaults_is_read(tmp_path: Path) -> None:
    defaults = yaml.safe_load((ROOT / "ansible/trial.yml").read_text("utf-8"))[0]["vars"]
    # Jinja expressions are skipped because they have a value only in a play.
    written = {key: defaults[key] for key in ASKED if "{{" not in str(defaults[key])}
    write_json(tmp_path / "trial.json", written)
    assert records.read(tmp_path / "trial.json", TrialSettings, pytest.fail).search is None
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    edit_json(folder / "trial.json", **{key: value for key, value in written.items() if value in ({}, "", None)})
    (result,) = summarise(tmp_path).trials
    assert (result.status, result.reason) == ("ok", None)


def test_parts_of_a_list_and_of_an_object_count_alone(tmp_path: Path) -> None:
    file = tmp_path / "trial.json"
    write_json(file, {"trial_phases": [{"name": "a"}, 3, {"name": "b", "warmup": "soon"}], "trial_round": None})
    warnings: list[str] = []
    settings = records.read(file, TrialSettings, warnings.append)
    assert [warning.removeprefix(f"{file}: ").partition(":")[0] for warning in warnings] == [
        "trial_phases[1] is 3", "trial_phases[2].warmup is 'soon'",
    ]  # fmt: skip
    assert [phase.name for phase in settings.phases or ()] == ["a", "b"]


def test_a_missing_file_is_an_empty_record(tmp_path: Path) -> None:
    assert records.read(tmp_path / "none.json", ExperimentFacts, pytest.fail) == ExperimentFacts()
    write_json(tmp_path / "list.json", [])
    warnings: list[str] = []
    assert not records.read(tmp_path / "list.json", ClientReport, warnings.append)
    assert warnings == [f"{tmp_path}/list.json: must contain a JSON object"]


def test_a_hostile_file_says_so_only_so_often(tmp_path: Path) -> None:
    write_json(tmp_path / "f.json", {"plan": [[]] * 1000})
    warnings: list[str] = []
    records.read(tmp_path / "f.json", ExperimentFacts, warnings.append)
    assert len(warnings) == 21


def test_evidence_of_a_summary_is_named_with_field_and_value(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    write_json(folder / "run-1/clients.json", clients_json(("node1",), warmup_seconds="long"))
    edit_json(folder / "conditions.json", nodes="three")
    warnings = summarise(tmp_path).warnings
    assert any("conditions.json: nodes is 'three': " in warning for warning in warnings)
    assert any("run-1/clients.json: warmup_seconds is 'long': " in warning for warning in warnings)


@pytest.mark.parametrize(
    ("file", "field", "value"),
    [
        ("run-1/node1/client.json", "phase", 1),
        ("run-1/node1/client.json", "exit", "none"),
        ("run-1/node1/client.json", "measured_seconds", 1e25),
        ("run-1/node1/client.json", "operations", True),
        ("run-1/node1/client.json", "operations_by_type", {"READ": {"operations": []}}),
        ("trial.json", "trial_name", 1),
        ("trial.json", "trial_repeats", "two"),
    ],
)
def test_a_damaged_value_leaves_no_check_out(file: str, field: str, value: Any, tmp_path: Path) -> None:
    """Without the value, a check would find no problem, so the damage itself must make the trial invalid."""
    folder = trial(tmp_path, 1, "cassandra")
    edit_json(folder / file, **{field: value})
    (result,) = summarise(tmp_path).trials
    assert result.status == "invalid"
    assert f"{Path(file).name}: {field}" in str(result.reason)


def test_a_time_that_no_calendar_has_does_not_crash(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", repeats=1)
    write_json(folder / "run-1/clients.json", clients_json(("node1",), agreed=1e25))
    edit_json(folder / "run-1/node1/client.json", agreed_start_ms=1e300)
    (result,) = summarise(tmp_path).trials
    assert "its run at 1e+25 s after 1970" in str(result.reason)


def test_the_evidence_has_a_format(tmp_path: Path) -> None:
    """The first version did not record a format. A later version may use the same names with different meanings."""
    write_json(tmp_path / "experiment.json", {"plan": ["01-cassandra"]})
    assert experiment_folder.read(tmp_path).format == 1
    write_json(tmp_path / "experiment.json", {"format": FORMAT + 1})
    with pytest.raises(
        BadInputError, match=rf"experiment.json: format {FORMAT + 1} needs .* reads formats up to {FORMAT}"
    ):
        experiment_folder.read(tmp_path)
