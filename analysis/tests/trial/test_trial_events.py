"""Tests a trial's output: events for the progress display, or lines on the screen if there is no display."""

import json
import os
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail  # type: ignore[import-untyped]

from action import conduct
from support.trial_hosts import fake_trial


def test_events_are_lines_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOHYO_EVENTS", str(tmp_path / "events"))
    conduct.report_event("phase", phase="run", run=1, client_dirs=[])
    conduct.report_event("note", text="run 1: start skew ±1 ms")
    lines = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert [(event["event"], event["time"] > 0) for event in lines] == [("phase", True), ("note", True)]


def test_a_playbook_begins_when_it_is_its_turn_and_not_without_run_sh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOHYO_TURN", raising=False)
    conduct.await_turn()
    turn, gate = os.pipe()
    monkeypatch.setenv("DOHYO_TURN", str(turn))
    os.write(gate, b"\n")
    conduct.await_turn()
    os.close(gate)
    with pytest.raises(AnsibleActionFail, match="the experiment has ended"):
        conduct.await_turn()
    os.close(turn)


def test_without_a_file_phases_and_notes_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DOHYO_EVENTS", raising=False)
    conduct.report_event("phase", phase="run", run=2, client_dirs=[])
    conduct.report_event("task", task="Ask", action="trial", began=1)
    conduct.report_event("note", text="WARNING: a place is left")
    output = capsys.readouterr().out.splitlines()
    assert [line.rstrip("* ") for line in output if line] == ["PHASE [run 2]", "WARNING: a place is left"]


def test_what_clients_did_is_said_when_a_phase_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = fake_trial(tmp_path)
    phase = trial.real().measuring.phase_of({"name": "run"}, 3)
    monkeypatch.setattr(conduct, "Conductor", lambda *_: type("Conductor", (), {"hosts": {}})())
    monkeypatch.setattr(conduct, "Plan", lambda **_: None)
    monkeypatch.setattr(conduct, "conduct", lambda *_: None)
    monkeypatch.setattr(conduct, "faults", lambda *_: None)
    monkeypatch.setattr(conduct, "report", lambda *_, **__: {"clients": {}, "failure": "no client was ready"})
    conduct.drive(trial.world, {"agents": {}}, phase, tmp_path / "run-3")
    assert trial.events == [{"event": "note", "text": "run 3: no client was ready"}]
