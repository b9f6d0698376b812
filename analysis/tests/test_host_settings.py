"""Tests how the agent sets and restores settings of the kernel. Ordinary files replace the kernel's files."""

import json
from pathlib import Path

import pytest

import host_settings
from failure import AgentError


@pytest.fixture
def value(tmp_path: Path) -> Path:
    file = tmp_path / "value"
    file.write_text("60\n")
    return file


def change(state: str, value: Path, *values: int, dry: bool = False) -> tuple[bool, str]:
    """Returns whether the value changed, and the new value as the diff shows it."""
    settings = [{"name": "x", "file": str(value), "value": number} for number in values]
    answer = host_settings.answer(state, str(value.parent / "kept/former"), settings, dry=dry)
    return answer["changed"], answer["diff"]["after"].replace(f"{value} = ", "").strip()


def test_a_value_is_set_once_and_put_back(value: Path) -> None:
    record = value.parent / "kept/former"
    assert change("set", value, 1) == (True, "1")
    assert (value.read_text(), json.loads(record.read_text())) == ("1", {str(value): "60"})
    assert change("set", value, 1) == (False, "")
    assert change("set", value, 2) == (True, "2")
    assert change("restored", value) == (True, "60")
    assert (value.read_text(), record.exists()) == ("60", False)
    assert change("restored", value) == (False, "")


def test_a_setting_that_is_no_longer_asked_for_is_put_back(value: Path) -> None:
    change("set", value, 1)
    assert change("set", value) == (True, "60")
    assert value.read_text() == "60"


def test_a_dry_run_changes_nothing(value: Path) -> None:
    assert change("set", value, 1, dry=True) == (True, "1")
    assert (value.read_text(), list(value.parent.iterdir())) == ("60\n", [value])
    change("set", value, 1)
    assert change("restored", value, dry=True) == (True, "60")
    assert value.read_text() == "1"


def test_what_differs_and_what_the_kernel_does_not_have_is_named(value: Path) -> None:
    disks = [{"name": "no such disk", "path": "/dev/none", "kind": "nvme"}]
    settings = [{"name": "x", "file": str(value), "value": 1}]
    queue = {"scheduler": {"nvme": "none"}}
    answer = host_settings.answer("read", str(value.parent / "kept"), settings, disks, queue)
    assert (answer["changed"], answer["differences"]) == (False, ["x 60 instead of 1"])
    assert answer["absent"] == ["/dev/none scheduler"]


def test_what_cannot_be_meant_is_refused(value: Path) -> None:
    with pytest.raises(AgentError, match="state 'sets': must be one of set, read, restored"):
        host_settings.answer("sets", str(value))
    with pytest.raises(AgentError, match="limits: cores: must be among open files, processes"):
        host_settings.answer("read", str(value), limits={"cores": 1})
