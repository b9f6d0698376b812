"""Tests the agent's verbs for processes, with real processes in a temporary home."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import processes
from support.agent_home import MODULES, install
from support.clock import Clock
from support.running_processes import await_end, start_of, stat, until

# Script of a server that records SIGTERM in a file.
ASKED = 'trap "echo asked > asked-$0; exit 0" TERM; echo up > up-$0; while :; do sleep 0.05; done'


class Host:
    """A home folder with the agent. Its path contains a space, as the path of a user's folder may."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "a home"
        self.work = self.home / "work"
        self.work.mkdir(parents=True)
        self.agent = install(self.home)

    def call(self, *arguments: Any, code: int = 0) -> str:
        """Calls a verb of the agent, checks that it exits with `code`, and returns its output."""
        argv = [str(self.agent), *map(str, arguments)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=self.work)
        assert done.returncode == code, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def start(self, name: str, *command: str, code: int = 0) -> str:
        return self.call("start", name, self.work, "out.txt", "err.txt", *command, code=code)

    def wait(self, name: str) -> None:
        until((self.home / "run" / name / "exit").exists)

    def pid(self, name: str) -> int:
        return int((self.home / "run" / name / "pid").read_text().split()[0])


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.call("stop-all", "1")


def test_stop_all_where_nothing_was_ever_started(host: Host) -> None:
    assert host.call("stop-all", 1) == ""
    assert host.call("status", "one", code=4) == "one was not started\n"


def test_a_process_is_started_once_waited_for_and_stopped(host: Host) -> None:
    assert host.start("one", "bash", "-c", 'trap "exit 7" TERM; echo started; while :; do sleep 0.05; done') == ""
    assert host.call("status", "one") == f"one is running as process {host.pid('one')}\n"
    assert "is already running as process" in host.start("one", "sleep", "60", code=1)
    assert host.call("until", "one", 30, "grep", "-q", "started", host.work / "out.txt") == ""
    pid = host.pid("one")
    assert host.call("stop", "one", 30) == "stopped one\n"
    await_end(pid)
    assert "exit code 7" in host.call("status", "one", code=3)
    assert host.call("stop", "one", 30) == ""


def test_the_end_of_a_process_is_said_with_its_last_words(host: Host) -> None:
    host.start("two", "bash", "-c", 'sleep 0.3; echo "ERROR: no such host nowhere" >&2; exit 3')
    host.wait("two")
    assert "exit code 3: ERROR: no such host nowhere" in host.call("status", "two", code=3)
    host.start("two", "sleep", "60")
    assert "is not ready after 1 s" in host.call("until", "two", 1, "false", code=1)
    host.call("stop", "two", 30)
    host.start("two", "bash", "-c", 'echo "ERROR: bad configuration" >&2; exit 1')
    began = time.monotonic()
    assert "ERROR: bad configuration" in host.call("until", "two", 30, "false", code=1)
    assert time.monotonic() - began < 20, "it went on waiting for a dead process"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("first\nlast\n", "last"),
        ("a [ERROR] b\nmore\nlast\n", "a [ERROR] b more"),
        ("x\njava.lang.Error: y\n  at z\nlast\n", "java.lang.Error: y   at z"),
        ("ERROR: one\nERROR: two\nlast\n", "ERROR: two"),
        ("", ""),
    ],
)
def test_the_last_words_are_the_error_if_there_is_one(host: Host, log: str, message: str) -> None:
    host.start("one", "bash", "-c", f"printf %s {shlex.quote(log)} >&2; exit 1")
    host.wait("one")
    assert host.call("status", "one", code=3) == f"one ended with exit code 1: {message}\n"


def test_a_command_that_cannot_be_started_is_named(host: Host) -> None:
    host.start("one", "/no/such/program")
    host.wait("one")
    assert "exit code 127: ERROR: /no/such/program cannot be started" in host.call("status", "one", code=3)


def test_a_hanging_check_is_killed_with_its_children_and_repeated(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Covers ZooKeeper 3.8, which never answers a request that arrives before it has read its database."""
    module = host.home / "bin/modules/processes.py"
    text = module.read_text()
    assert "LONGEST_CHECK = 150\n" in text
    mark = f"471.{os.getpid()}"
    hangs = f'echo asked >> "$0"; [[ $(wc -l < "$0") -ge 3 ]] || setsid sleep {mark} | sleep {mark}'
    host.start("one", "sleep", "300")
    began = time.monotonic()
    assert "is not ready after 2 s" in host.call("until", "one", 2, "bash", "-c", f"sleep {mark} | cat", code=1)
    assert time.monotonic() - began < 20, "a check outlasted the limit"
    module.write_text(text.replace("LONGEST_CHECK = 150\n", "LONGEST_CHECK = 1\n"))
    host.call("until", "one", 30, "bash", "-c", hangs, host.work / "asked")
    assert (host.work / "asked").read_text() == "asked\n" * 3
    host.call("ready", "one", 30, "printf", "two\nlines")
    supervisor = processes.Processes(str(host.home))
    assert supervisor.probe("one")
    monkeypatch.setattr(processes, "LONGEST_CHECK", 1)
    host.call("ready", "one", 30, "bash", "-c", f'mkdir "$0" 2> /dev/null || sleep {mark}', host.work / "once")
    assert not supervisor.probe("one")
    assert not supervisor.probe("two")
    pids = subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True, text=True, check=False).stdout
    assert pids == "", "a check was left behind"


def test_an_exit_code_that_is_written_late_is_waited_for(host: Host) -> None:
    """On a busy machine, the supervisor may write the exit code with a delay."""
    host.start("late", "sleep", "300")
    supervisor = int(stat(host.pid("late"))[1])
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(host.pid("late"), signal.SIGKILL)
    await_end(host.pid("late"))
    threading.Timer(2, os.kill, [supervisor, signal.SIGCONT]).start()
    assert "exit code 137 (signal KILL)" in host.call("status", "late", code=3)


@pytest.mark.parametrize(("seconds", "pause"), [(0, 0.02), (1, 0.1), (60, 0.2)])
def test_checks_become_rarer(seconds: float, pause: float) -> None:
    clock = Clock()
    begin = clock.monotonic()
    clock.sleep(seconds)
    assert processes.Processes(clock=clock)._rest(begin) == pytest.approx(pause, abs=0.01)


def test_a_process_that_ignores_term_is_killed_in_the_end(host: Host) -> None:
    host.start("deaf", "bash", "-c", 'trap "" TERM; echo deaf; while :; do sleep 0.05; done')
    host.call("until", "deaf", 30, "grep", "-q", "deaf", host.work / "out.txt")
    pid = host.pid("deaf")
    assert "killed deaf" in host.call("stop", "deaf", 1)
    await_end(pid)


def test_a_process_that_does_not_end_after_a_kill_does_not_count_as_stopped(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that waits for a disk may outlive SIGKILL by minutes. Here, no signal is sent."""
    host.start("stuck", "sleep", "300")
    monkeypatch.setattr(processes.proc, "send", lambda *_: None)
    agent = processes.Processes(str(host.home), Clock())
    with pytest.raises(processes.AgentError, match=rf"still runs as process .*{host.pid('stuck')}.* after SIGKILL"):
        list(agent.stop_all(5))


def test_leftovers_of_a_killed_launcher_are_found_and_stopped_with_their_children(host: Host) -> None:
    host.start("orphan", "bash", "-c", "sleep 300 & wait")
    pid = host.pid("orphan")
    children = Path(f"/proc/{pid}/task/{pid}/children")
    host.call("until", "orphan", 30, "grep", "-q", ".", children)
    os.kill(int(stat(pid)[1]), signal.SIGKILL)
    assert "is running as process" in host.call("status", "orphan")
    assert "already running" in host.start("orphan", "sleep", "1", code=1)
    child = int(children.read_text().split()[0])
    assert re.search("stopped orphan|killed orphan", host.call("stop-all", 2))
    await_end(pid)
    await_end(child)
    assert "vanished without an exit code" in host.call("status", "orphan", code=3)


def test_a_process_whose_pid_file_was_lost_is_found_by_its_mark(host: Host) -> None:
    host.start("lost", "sleep", "300")
    pid = host.pid("lost")
    (host.home / "run/lost/pid").unlink()
    assert "stopped lost" in host.call("stop-all", 30)
    await_end(pid)


def test_agents_that_share_a_home_agree_on_its_secret(tmp_path: Path) -> None:
    # If a second secret existed, an agent would not recognise the processes that it started itself.
    script = f"import sys, processes; sys.stdin.readline(); print(processes.Processes({str(tmp_path)!r}).secret())"
    argv = [sys.executable, "-c", script]
    pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONPATH": str(MODULES)}
    agents = [subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, env=environment) for _ in range(8)]
    time.sleep(0.3)  # until all agents wait for input
    for agent in agents:
        assert agent.stdin
        agent.stdin.write("go\n")
        agent.stdin.flush()
    secrets = {agent.communicate(timeout=60)[0] for agent in agents}
    assert secrets == {(tmp_path / "run/secret").read_text()}
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["secret"]


def test_a_process_that_replaces_its_program_is_running_all_the_time(host: Host) -> None:
    """The kernel shows no environment, and thus no mark, until the new program is loaded."""
    host.start("one", "bash", "-c", 'exec bash -c "$BASH_EXECUTION_STRING"')
    agent = processes.Processes(str(host.home))
    assert {agent.pid("one") for _ in range(3000)} == {host.pid("one")}
    assert all(host.pid("one") in agent.marked("one") for _ in range(50))


def test_processes_without_kept_data_are_killed_at_once(host: Host) -> None:
    for name in ("other", "db", "db-part"):
        host.start(name, "bash", "-c", ASKED, name)
        host.call("until", name, 30, "test", "-e", host.work / f"up-{name}")
    assert host.call("stop-all", 5, "db") == "stopped db-part\nstopped db\nstopped other\n"
    assert (host.work / "asked-other").exists()
    assert not (host.work / "asked-db").exists()
    assert not (host.work / "asked-db-part").exists()
    assert "exit code 137" in host.call("status", "db", code=3)


def test_processes_of_trials_that_take_turns_go_on(host: Host) -> None:
    for name in ("db", "db-part", "client-here.db", "dbx", "client-here", "other"):
        host.start(name, "sleep", "300")
    for name in ("db.properties", "other.properties"):
        (host.home / "run" / name).touch()
    stopped = host.call("stop-all", 30, "", "db")
    assert stopped == "stopped other\nstopped client-here\nstopped dbx\n"
    assert (host.home / "run/db.properties").exists()
    assert not (host.home / "run/other.properties").exists()
    assert host.call("stop-all", 30) == "stopped client-here.db\nstopped db-part\nstopped db\n"


def test_a_foreign_process_behind_a_pid_file_is_never_touched(host: Host) -> None:
    host.start("one", "sleep", "300")
    host.call("stop", "one", 30)
    with subprocess.Popen(["sleep", "300"]) as bystander:
        try:
            # Dohyo did not start this process, so it must survive, even if the start time in the pid file matches.
            for started in ("1", start_of(bystander.pid)):
                (host.home / "run/one/pid").write_text(f"{bystander.pid} {started}\n")
                host.call("status", "one", code=3)
                assert host.call("stop", "one", 1) == ""
                assert host.call("stop-all", 1) == ""
                assert stat(bystander.pid)[0] != "Z"
        finally:
            bystander.kill()
    host.start("one", "sleep", "300")
    host.call("stop", "one", 30)


def test_connection_files_are_removed_with_the_processes(host: Host) -> None:
    host.start("db-part", "sleep", "300")
    run = host.home / "run"
    for name in ("db.properties", "db-two.properties", "dbx.properties", "other.properties"):
        (run / name).touch()
    host.call("stop-all", 30)
    assert sorted(file.name for file in run.glob("*.properties")) == ["dbx.properties", "other.properties"]


def test_a_log_is_printed_and_unknown_verbs_and_links_are_refused(host: Host) -> None:
    host.start("one", "sh", "-c", r"printf '\377\nend\n' >&2")
    host.wait("one")
    assert subprocess.run([host.agent, "log", "one"], capture_output=True, check=True).stdout == b"\xff\nend\n"
    assert "unknown verb" in host.call("restart", "one", code=1)
    (host.home / "run").rename(host.home / "elsewhere")
    (host.home / "run").symlink_to(host.home / "elsewhere")
    assert "links are not followed" in host.call("stop-all", 1, code=1)
    (host.home / "run").unlink()


def test_status_imports_little() -> None:
    """Importing any of these modules would take about as long as running the verb."""
    code = "import sys; before = set(sys.modules); import agent; print(*sorted(set(sys.modules) - before))"
    ran = subprocess.run([sys.executable, "-EsSBc", code], cwd=MODULES, capture_output=True, text=True, check=True)
    assert not {"re", "json", "subprocess", "pathlib", "signal", "typing"} & set(ran.stdout.split())
