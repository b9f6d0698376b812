"""Tests programs that lose the reader of their output, the space on their disk, or their parent while they work."""

import base64
import io
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import transfer
from action.transfer_folder import Archives, manifest_of
from dohyo.ansible.playbook import Sink, execute, play
from dohyo.bad_input import BadInputError
from dohyo.running import experiment
from dohyo.running.experiment import only_one, write_json
from folder_marks import MANIFEST
from support.running_processes import stat

TALK = """
import sys
from rich.console import Console
from dohyo.output import make_last
from dohyo.terminal import set_up

set_up()
make_last()
console = Console(width=80)
console.print("begins")
input()
for number in range(500):
    console.print(f"line {number}")
print("words", file=sys.stderr)
sys.exit(3)
"""
LINES = [f"line {number}" for number in range(500)]


def talk(redirections: str) -> tuple[int, list[str], list[str]]:
    """Runs `TALK` in a shell, and returns its exit code and the lines of its stdout and stderr."""
    shell = subprocess.run(
        ["bash", "-c", f'printf "%s\\n" go | "$0" -c "$1" {redirections}', sys.executable, TALK],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return shell.returncode, shell.stdout.splitlines(), shell.stderr.splitlines()


@pytest.mark.parametrize("redirections", ["> /dev/full", "| false; exit ${PIPESTATUS[1]}"])
def test_what_standard_output_does_not_take_goes_to_standard_error(redirections: str) -> None:
    assert talk(redirections) == (3, [], ["begins", *LINES, "words"])


def test_a_reader_that_goes_away_misses_nothing_but_what_it_did_not_want() -> None:
    code, out, err = talk("| head -n 1; exit ${PIPESTATUS[1]}")
    assert (code, out) == (3, ["begins"])
    # Lines that were still in the pipe when its reader ended are lost.
    assert err == [*LINES, "words"][-len(err) :]
    assert err[-1] == "words"


@pytest.mark.parametrize(
    "redirections", [">&-", ">&- 2>&-", "> /dev/full 2>&1", "2> /dev/full > /dev/full", "> /dev/full 2>&- <&-"]
)
def test_a_program_without_output_works_on(redirections: str) -> None:
    # Keep standard input open, because TALK reads it.
    code, out, _ = talk(redirections.replace(" <&-", ""))
    assert (code, out) == (3, [])


def test_a_terminal_that_is_gone_ends_nothing() -> None:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", TALK], stdin=subprocess.PIPE, stdout=slave, stderr=slave, start_new_session=True
    ) as program:
        os.close(slave)
        assert os.read(master, 100).startswith(b"begins")
        os.close(master)
        program.communicate(b"go\n")
    assert program.returncode == 3


def no_room() -> None:
    """Limits the size of files to 4096 bytes. Writing more fails with an error, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))


@contextmanager
def without_room() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.getsignal(signal.SIGXFSZ)
    try:
        no_room()
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_log_without_room_stops_no_program(tmp_path: Path) -> None:
    log = Sink(tmp_path / "log")
    with without_room(), log:
        command = ["bash", "-c", "for ((i = 0; i < 100000; i++)); do echo $i || exit 1; done; exit 7"]
        assert execute(command, log, check=lambda: None) == 7
    assert log.error is not None
    assert log.error.filename == str(tmp_path / "log")
    # The log ends before the first line that did not fit, and no line is cut off.
    lines = log.file.read_text().splitlines(keepends=True)
    assert lines == [f"{number}\n" for number in range(len(lines))]


def test_a_manifest_without_room_is_not_used_later(tmp_path: Path) -> None:
    (folder := tmp_path / "lib").mkdir()
    for number in range(60):
        (folder / f"{number}.jar").write_text("classes")
    archives = Archives(tmp_path / "home", folder)
    with without_room(), pytest.raises(OSError, match="File too large"):
        archives.manifest()
    assert archives.manifest() == manifest_of(folder)


def test_the_tasks_of_two_hosts_seal_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder := tmp_path / "lib").mkdir()
    (folder / "a.jar").write_text("classes")
    rename = Path.rename

    def slow(path: Path, target: Path) -> Path:
        time.sleep(0.2)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", slow)
    with ThreadPoolExecutor() as hosts:
        first = hosts.submit(Archives(tmp_path / "home", folder).seal)
        time.sleep(0.1)
        second = hosts.submit(Archives(tmp_path / "home", folder).seal)
        first.result()
        second.result()
    assert (folder / MANIFEST).read_text() == manifest_of(folder)


def test_evidence_is_fetched_from_a_host_without_room(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(content := os.urandom(100_000))
    with without_room():
        packed = transfer.packed(str(tmp_path))
        part = base64.b64decode(transfer.read(0)["part"])
    assert (packed["files"], packed["bytes"]) == (1, len(part))
    with zipfile.ZipFile(io.BytesIO(part)) as files:
        assert files.read("log") == content


def test_a_log_that_is_removed_is_missed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Sink(log) as sink:
        os.write(sink.writer, b"one\n")
        sink.take()
        log.unlink()
        os.write(sink.writer, b"two\n")
    assert isinstance(sink.error, FileNotFoundError)


def test_a_playbook_whose_evidence_is_lost_has_not_gone_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events.jsonl").symlink_to("/dev/full")
    # `play` runs the ansible-playbook that is in the same folder as Python. In this test, it is a fake.
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    program = tmp_path / "ansible-playbook"

    def ends(code: int, **event: str) -> None:
        program.write_text(f"#!/bin/sh\necho '{json.dumps(event)}' >>$DOHYO_EVENTS\nexit {code}\n")
        program.chmod(0o755)

    ends(0, event="phase", phase="start")
    with pytest.raises(OSError, match=r"No space left on device: '.*events.jsonl'"):
        play("trial.yml", None, tmp_path, check=lambda: None)
    ends(2, event="failed", task="Break", host="localhost", message="on purpose")
    failure = play("trial.yml", None, tmp_path, check=lambda: None)
    assert str(failure) == (
        f"task 'Break' on localhost: on purpose; {tmp_path / 'events.jsonl'}: No space left on device"
    )


def test_a_file_without_room_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    write_json(file, {"status": "running"})
    before = file.read_text()
    code = f"""
from pathlib import Path
from dohyo.running.experiment import write_json
try:
    write_json(Path({str(file)!r}), {{"reason": "x" * 10000}})
except OSError as error:
    print(error.filename)
"""
    message = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, preexec_fn=no_room
    ).stdout  # fmt: skip
    assert message.strip().startswith(str(file))
    assert file.read_text() == before
    assert list(tmp_path.iterdir()) == [file]


RUN = """
from pathlib import Path
from dohyo.ansible.playbook import Sink, execute
from dohyo.running import experiment

experiment.RESULTS = Path("RESULTS_FOLDER")
with experiment.only_one():
    stays = "trap 'until [ -e LOG.end ]; do sleep 0.1; done; exit' TERM; echo $$; while :; do sleep 0.1; done"
    execute(["bash", "-c", stays],
            Sink(Path("LOG")), check=lambda: None)
"""


def test_what_a_killed_run_has_left_ends_and_holds_the_lock_until_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    log = tmp_path / "log"
    code = RUN.replace("RESULTS_FOLDER", str(tmp_path)).replace("LOG", str(log))
    with subprocess.Popen([sys.executable, "-c", code]) as killed:
        while not (log.exists() and log.read_text().endswith("\n")):
            assert killed.poll() is None
            time.sleep(0.02)
        with pytest.raises(BadInputError, match=f"is running .process {killed.pid}"), only_one():
            pass
        killed.kill()
    process = log.read_text().strip()
    monkeypatch.setattr(experiment, "ENDING_SECONDS", 0.2)
    with pytest.raises(BadInputError, match=f"{killed.pid} was killed, .* end it with: kill .*{process}"), only_one():
        pass
    monkeypatch.setattr(experiment, "ENDING_SECONDS", 60)
    log.with_suffix(".end").touch()
    with only_one():
        assert stat(process)[0] == "Z"
