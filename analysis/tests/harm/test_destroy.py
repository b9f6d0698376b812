"""Tests the question that destroy.yml asks, with answers that are typed on a terminal."""

import contextlib
import os
import pty
import select
import signal
import sys
from pathlib import Path

import pytest

import folder_marks
from dohyo.places import ANSIBLE, ROOT

MINE = "0123456789ab"


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code", "stays"), [("no", 0, True), ("yes", 0, False), ("", 2, True)])
def test_an_answer_other_than_yes_removes_nothing_and_is_no_failure(
    answer: str, code: int, stays: bool, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    machine = Path("/etc/machine-id")
    mark = {"deployment": MINE, "controller": "here", "checkout": str(ROOT), "at": "now"}
    folder_marks.claim(str(home), {**mark, "machine_id": machine.read_text().strip() if machine.exists() else ""}, MINE)
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ANSIBLE)
        os.execv(program, [program, "destroy.yml", "-e", f"dohyo_control={home}"])  # noqa: S606
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGTERM))
    signal.alarm(240)
    text = ""
    try:
        with contextlib.suppress(OSError):  # the terminal was closed
            while True:
                # Ansible drops input that arrives before Ansible reads it, so answer again while nothing happens.
                while "or no to keep it:" in text and not select.select([terminal], [], [], 1)[0]:
                    os.write(terminal, f"{answer}\r".encode())
                text += os.read(terminal, 4096).decode("utf-8", "replace")
        _, status = os.waitpid(pid, 0)
    finally:
        signal.alarm(0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == code, text
    assert "Type yes" in text
    assert home.exists() == stays
    assert ("nothing was removed" in text.replace("Report that nothing was removed", "")) == stays
    assert ("fatal:" in text or "FAILED" in text) == (code != 0)
