"""Checks that output cannot control the terminal, and works with unusual terminals and closed streams."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dohyo.plain_text import CONTROL
from support.command import dohyo, finished
from support.evidence import edit_json

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eeslaf\ud800"
STOCK = Path(__file__).parents[1] / "data" / "stock" / "text"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("original") / "it", sealed=False)


def evil(original: Path, tmp_path: Path) -> Path:
    """Creates an experiment with escape sequences in every foreign text that Dohyo shows."""
    folder = shutil.copytree(original, tmp_path / "it")
    edit_json(folder / "raw/01-cassandra/state.json", status="failed", reason=EVIL)
    edit_json(folder / "raw/02-hbase/conditions.json", title=EVIL, version=EVIL, notes=[EVIL], differences=[EVIL])
    client = folder / "raw/02-hbase/run-1/node1/client.json"
    types = json.loads(client.read_text())["operations_by_type"]
    edit_json(client, operations_by_type={**types, EVIL: {"operations": 1}})
    edit_json(folder / "experiment.json", scenario=EVIL)
    return folder


def test_text_of_others_does_not_drive_it(original: Path, tmp_path: Path) -> None:
    folder = evil(original, tmp_path)
    answers = [dohyo("report", folder), dohyo("compare", folder, folder)]
    shutil.copytree(STOCK, tmp_path / "logs")
    log = tmp_path / "logs/result.txt"
    text = f"[{EVIL}], Operations, 5\n[READ{EVIL}], Return={EVIL}, 5\n".encode("utf-8", "replace")
    log.write_bytes(text + next((tmp_path / "logs").glob("*.txt")).read_bytes())
    answers += [dohyo("tabulate", tmp_path / "logs", "--format", form) for form in ("table", "md", "csv", "json")]
    for answer in answers:
        assert not CONTROL.search((answer.out + answer.err).replace("\n", "")), answer
    assert json.loads(answers[-1].out)["trials"]
    assert "owned" in answers[0].err


def test_a_terminal_gets_colours_of_ours_alone(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    folder = evil(original, tmp_path)
    shown = dohyo("compare", folder, original).out + dohyo("tabulate", folder / "raw").out
    assert "\x1b[1m" in shown
    assert ("\x1b]" in shown, "\x1b[2J" in shown, "\x9b" in shown) == (False, False, False)


@pytest.mark.parametrize("columns", ["0", "-5", "abc", "1", "", "99999"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_a_table_comes_out_on_any_terminal(
    columns: str, encoding: str, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "dumb")
    answer = dohyo("tabulate", STOCK, encoding=encoding)
    assert (answer.code, " text " in answer.out, answer.err) == (0, True, "")
    assert dohyo("compare", original, original, encoding=encoding).out.count("\n") > 3


def test_machine_formats_come_out_in_any_encoding(original: Path) -> None:
    for command in (["tabulate", STOCK], ["compare", original, original]):
        assert json.loads(dohyo(*command, "--format", "json", encoding="ascii").out)


COMMANDS = [
    ["run", "workloadA", "--out"], ["run", "workloadA", "--systems"], ["run", "workloadA", "--inventory"], ["run"],
    ["run", "--resume"], ["run", "workloadA", "--set"], ["report"], ["report", "it", "--out"], ["compare", "it"],
    ["tabulate"], ["tabulate", "it"], ["site"], ["site", "new", "--results"], ["list", "--inventory"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_empty_value_is_refused(command: list[str], original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(original.parent)
    before = sorted(original.parent.rglob("*"))
    empty_values = [[*command, ""]] + ([[*command[:-1], f"{command[-1]}="]] if command[-1].startswith("--") else [])
    for arguments in empty_values:
        answer = dohyo(*arguments)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1), answer
        assert "'': it is empty; give a value, or leave it out" in answer.err
    assert sorted(original.parent.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_failure(closed: str, original: Path, tmp_path: Path) -> None:
    """A file that the command opens may get the descriptor of the closed stream. Output must not go to that file."""
    folder = shutil.copytree(original, tmp_path / "it")
    (folder / "raw/01-cassandra/conditions.json").unlink()
    command = (
        f'"{sys.executable}" -c "import sys; from dohyo.cli import main; sys.exit(main())" report "{folder}" {closed}'
    )
    environment = {**os.environ, "LANG": "C", "LC_ALL": "C", "PYTHONPATH": str(Path(__file__).parents[2])}
    result = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, timeout=120, check=False)
    assert result.returncode == 1
    assert b"Traceback" not in result.stderr
    assert (folder / "report.html").read_bytes().startswith(b"<!DOCTYPE html>")
