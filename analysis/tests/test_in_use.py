"""Tests the notes on a host that say which deployment uses the host."""

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import in_use
from dohyo.places import ANSIBLE
from dohyo.trial.use_notes import others
from failure import AgentError

MINE, THEIRS = "0123456789ab", "ba9876543210"


def change_notes(folder: Path, state: str, *, deployment: str = MINE, pid: int = 7, dry: bool = False) -> list[Any]:
    """Returns the notes after a change: deployment, whether it keeps servers, and whether the caller wrote the note."""
    answer = in_use.answer(state, deployment, {"pid": pid, "start": 1}, str(folder), dry=dry)
    return [(use["deployment"], use["kept"], use["own"]) for use in answer["uses"]]


def test_notes_are_seen_until_they_are_withdrawn(tmp_path: Path) -> None:
    assert change_notes(tmp_path, "taken", deployment=THEIRS) == [(THEIRS, False, True)]
    assert change_notes(tmp_path, "taken") == [(THEIRS, False, False), (MINE, False, True)]
    # A deployment that takes a host again keeps its place in the order.
    assert change_notes(tmp_path, "taken", deployment=THEIRS) == [(THEIRS, False, True), (MINE, False, False)]
    assert change_notes(tmp_path, "seen", pid=8) == [(THEIRS, False, False), (MINE, False, False)]
    assert change_notes(tmp_path, "withdrawn", pid=8) == [(THEIRS, False, False), (MINE, False, False)]
    assert change_notes(tmp_path, "withdrawn") == [(THEIRS, False, False)]


def test_a_note_of_kept_servers_is_withdrawn_by_a_later_trial_and_all_go_in_the_end(tmp_path: Path) -> None:
    change_notes(tmp_path, "taken", deployment=THEIRS)
    change_notes(tmp_path, "taken", pid=8)
    assert change_notes(tmp_path, "kept") == [(THEIRS, False, False), (MINE, False, False), (MINE, True, True)]
    assert change_notes(tmp_path, "free", pid=9) == [(THEIRS, False, False), (MINE, False, False)]
    assert change_notes(tmp_path, "ended", pid=9) == [(THEIRS, False, False)]


def test_a_clock_that_was_set_back_makes_no_note_older_than_the_ones_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_use.time, "time", lambda: 9000.0)
    change_notes(tmp_path, "taken", deployment=THEIRS)
    monkeypatch.setattr(in_use.time, "time", lambda: 5400.0)
    answer = in_use.answer("taken", MINE, {"pid": 8, "start": 1}, str(tmp_path))
    (sentence,) = others(answer["uses"], MINE)
    assert f"deployment {THEIRS}" in sentence


def test_two_playbooks_of_one_shell_are_two_users_of_a_host(tmp_path: Path) -> None:
    """With the pid of their parent, such as xargs -P2, each playbook would take the other's note for its own."""
    playbook = tmp_path / "ansible-playbook"
    program = "import os\nfrom lookup.controller import playbook\nprint(os.getpid(), playbook())\n"
    playbook.write_text(f"#!{sys.executable}\n{program}")
    playbook.chmod(0o755)
    shell = ["sh", "-c", f"'{playbook}' one & '{playbook}' two & wait"]
    modules = {**os.environ, "PYTHONPATH": str(ANSIBLE / "plugins")}
    lines = subprocess.run(shell, env=modules, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 2
    for pid, topmost in map(str.split, lines):
        assert pid == topmost


def takes_and_withdraws(folder: Path) -> None:
    for _ in range(100):
        change_notes(folder, "taken")
        change_notes(folder, "withdrawn")


def test_agents_of_one_playbook_use_a_machine_at_the_same_time(tmp_path: Path) -> None:
    """Two names of the inventory may mean the same machine, whose agents then write the same note."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.map(takes_and_withdraws, [tmp_path] * 4)
    assert not [*tmp_path.iterdir()]


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    assert change_notes(tmp_path, "taken", dry=True) == []
    change_notes(tmp_path, "taken")
    assert change_notes(tmp_path, "ended", dry=True) == [(MINE, False, True)]


def test_notes_of_an_earlier_boot_do_not_count(tmp_path: Path) -> None:
    change_notes(tmp_path, "taken")
    (note,) = tmp_path.iterdir()
    note.write_text(json.dumps({**json.loads(note.read_text()), "boot": "earlier"}))
    assert change_notes(tmp_path, "seen") == []


def test_what_is_no_state_and_no_deployment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="state 'gone': must be one of seen, taken, kept"):
        change_notes(tmp_path, "gone")
    with pytest.raises(AgentError, match=r"deployment '\*': must be twelve hexadecimal digits"):
        change_notes(tmp_path, "ended", deployment="*")
