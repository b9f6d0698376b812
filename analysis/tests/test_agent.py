"""Tests the agent, which works on a host for the controller, with real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.agent_home import install


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    return install(tmp_path)


def converse(tool: Path, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    agent = subprocess.run(
        [tool, "converse"],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert agent.stderr == ""
    return list(messages_of(agent.stdout.splitlines(keepends=True)))


def messages_of(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yields the messages of an agent. The first line is empty because a login may print text before it."""
    lines = iter(lines)
    assert next(lines) == "\n"
    yield from map(json.loads, lines)


def test_a_server_that_was_gone_before_the_clients_began_is_reported(tool: Path) -> None:
    subprocess.run([tool, "start", "db", tool.parent, "out", "err", "sleep", "60"], check=True)
    pid = int((tool.parent.parent / "run/db/pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    subprocess.run([tool, "status", "db"], check=False)
    begin = {"do": "begin", "tool": str(tool), "client": None, "servers": "db"}
    answers = converse(tool, begin, {"do": "finish"})
    (ended,) = [answer for answer in answers if answer["is"] == "server"]
    assert ended["name"] == "db"
    assert "signal KILL" in ended["words"]


def test_with_faults_a_sampler_that_has_ended_with_the_host_is_started_again(tool: Path) -> None:
    home = tool.parent.parent
    subprocess.run(
        [tool, "start", "host-metrics", home, "samples", "log", "sh", "-c", "echo sample; exec sleep 60"], check=True
    )
    subprocess.run([tool, "stop", "host-metrics", "0"], check=True)
    (home / "run/fault-here").mkdir()
    (home / "run/fault-here/done.jsonl").touch()
    begin = {"do": "begin", "tool": str(tool), "client": None, "servers": "", "faults": str(home / "run/fault-here")}
    try:
        converse(tool, begin, {"do": "finish"})
        assert (
            "is running"
            in subprocess.run([tool, "status", "host-metrics"], capture_output=True, text=True, check=True).stdout
        )
        assert (home / "samples.1").read_text() == "sample\n"
    finally:
        subprocess.run([tool, "stop", "host-metrics", "0"], check=True)


def test_what_a_servers_children_use_is_the_servers(tool: Path) -> None:
    """Child processes count, because PostgreSQL has one for each connection, which may live as long as the server."""
    # Let the child end when its parent does. Otherwise the tool would wait for the child.
    busy = "import os, time\nparent = os.getppid()\nwhile os.getppid() == parent:\n"
    busy += "    end = time.process_time() + 0.05\n    while time.process_time() < end: pass\n"
    busy += "    print(end, flush=True)"
    command = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}], check=True)"
    subprocess.run([tool, "start", "db", tool.parent, "out", "err", sys.executable, "-c", command], check=True)

    def used() -> float:
        lines = (tool.parent / "out").read_text().split("\n")
        return float(lines[-2]) if lines[1:] else 0

    begin = {"do": "begin", "tool": str(tool), "client": None, "servers": "db"}
    agent = subprocess.Popen([tool, "converse"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert agent.stdin is not None
    try:
        now = time.time()
        for message in (begin, {"do": "start", "at": now, "window": [now, None], "compilers": False}):
            agent.stdin.write(json.dumps(message) + "\n")
            agent.stdin.flush()
        # On a busy machine the agent may notice late that the window has begun.
        until = used() + 1
        while used() < until:
            time.sleep(0.1)
        output, _ = agent.communicate('{"do": "finish"}\n', timeout=60)
    finally:
        subprocess.run([tool, "stop", "db", "0"], check=True)
    (finished,) = [answer for answer in messages_of(output.splitlines(keepends=True)) if answer["is"] == "finished"]
    # Starting Python takes less than 0.1 s.
    assert 0.2 < finished["cpu"] < used() + 0.5
    assert 5 < finished["memory"] < 60


def launched(tool: Path, client: dict[str, Any]) -> "subprocess.Popen[str]":
    """Starts an agent that launches a client."""
    agent = subprocess.Popen([tool, "converse"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert agent.stdin is not None
    for message in ({"do": "begin", "tool": str(tool), "client": client, "servers": ""}, {"do": "launch"}):
        agent.stdin.write(json.dumps(message) + "\n")
        agent.stdin.flush()
    return agent


def test_what_a_client_has_inserted_is_handed_on(tool: Path) -> None:
    """The next run inserts its records after those that this run inserted."""
    folder = tool.parent.parent / "client/run-1/host1"
    wrote = {"agreed_start_ms": None, "skew_ms": 0.5, "finished_ms": 9.5, "inserted": 1234, "operations": 7}
    client = {
        "name": "client-host1",
        "folder": str(folder),
        "properties": "inserted=1000\n",
        "secrets": str(tool.parent.parent / "secret/client-host1.properties"),
        "secret_properties": "",
        "command": ["sh", "-c", f"echo '{json.dumps(wrote)}' > client.json"],
    }
    agent = launched(tool, client)
    assert agent.stdout is not None
    ended = next(answer for answer in messages_of(agent.stdout) if answer["is"] == "ended")
    agent.communicate('{"do": "finish"}\n', timeout=60)
    assert ended["exit"] == 0
    assert ended["summary"] == {key: wrote[key] for key in ("agreed_start_ms", "skew_ms", "finished_ms", "inserted")}


def client_of(home: Path, run: int, command: str) -> dict[str, Any]:
    """Returns a client whose windows alternate with those of other trials. After its first run, it is continued."""
    return {
        "name": "client-host1.cassandra",
        "folder": str(home / f"client/cassandra/run-{run}/host1"),
        "properties": "windows=2\n",
        "secrets": str(home / "secret/client-host1.cassandra.properties"),
        "secret_properties": "",
        "command": ["sh", "-c", command],
        "paused": str(home / f"client/cassandra/run-{run - 1}/host1") if run > 1 else "",
    }


# Script that pauses after the first window as the client does, continues in the next folder, and ends.
PAUSES = (
    "echo '{\"inserted\": 1}' > client.json; touch ready paused; while [ ! -s next ]; do sleep 0.05; done;"
    ' cd "$(cat next)"; echo \'{"inserted": 2}\' > client.json; touch ready; sleep 0.5; exit 4'
)


def test_a_client_pauses_between_two_conversations_and_goes_on(tool: Path) -> None:
    home = tool.parent.parent
    agent = launched(tool, client_of(home, 1, PAUSES))
    assert agent.stdout is not None
    ended = next(answer for answer in messages_of(agent.stdout) if answer["is"] == "ended")
    agent.communicate('{"do": "finish"}\n', timeout=60)
    assert (ended["exit"], ended["summary"]["inserted"]) == (0, 1)
    pid = (home / "run/client-host1.cassandra/pid").read_text()
    assert Path(f"/proc/{pid.split()[0]}").exists(), "the end of a conversation does not stop it"
    agent = launched(tool, client_of(home, 2, "exit 9"))
    assert agent.stdout is not None
    answers = messages_of(agent.stdout)
    assert next(answer["is"] for answer in answers if answer["is"] in ("ready", "ended")) == "ready"
    ended = next(answer for answer in answers if answer["is"] == "ended")
    agent.communicate('{"do": "finish"}\n', timeout=60)
    assert (ended["exit"], ended["summary"]["inserted"]) == (4, 2)
    assert (home / "run/client-host1.cassandra/pid").read_text() == pid
    assert (home / "run/client-host1.cassandra/errors").readlink() == home / "client/cassandra/run-2/host1/status.txt"
    assert (home / "client/cassandra/run-2/host1/exit").read_text() == "4\n"


def test_a_client_that_ended_while_it_paused_fails(tool: Path) -> None:
    home = tool.parent.parent
    agent = launched(tool, client_of(home, 1, "touch ready paused; sleep 300"))
    assert agent.stdout is not None
    assert next(answer for answer in messages_of(agent.stdout) if answer["is"] == "ended")["exit"] == 0
    agent.communicate('{"do": "finish"}\n', timeout=60)
    subprocess.run([tool, "stop", "client-host1.cassandra", "0"], check=True)
    agent = launched(tool, client_of(home, 2, "exit 9"))
    assert agent.stdout is not None
    ended = next(answer for answer in messages_of(agent.stdout) if answer["is"] == "ended")
    agent.communicate('{"do": "finish"}\n', timeout=60)
    assert ended["exit"] == 137
    assert "signal KILL" in ended["words"]


def test_an_exit_code_that_is_written_late_is_that_of_the_client(tool: Path) -> None:
    """On a busy machine, the client's supervisor may be delayed."""
    home = tool.parent.parent
    client = {
        "name": "client-host1",
        "folder": str(home / "client/run-1/host1"),
        "properties": "",
        "secrets": str(home / "secret/client-host1.properties"),
        "secret_properties": "",
        "command": ["sleep", "60"],
    }
    agent = launched(tool, client)
    assert agent.stdout is not None
    while not (noted := home / "run/client-host1/pid").exists():
        time.sleep(0.05)
    pid = int(noted.read_text().split()[0])
    supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    threading.Timer(2, os.kill, [supervisor, signal.SIGCONT]).start()
    ended = next(answer for answer in messages_of(agent.stdout) if answer["is"] == "ended")
    agent.communicate('{"do": "finish"}\n', timeout=60)
    assert ended["exit"] == 137
    assert "exit code 137 (signal KILL)" in ended["words"]


def test_the_agent_is_noted_for_the_sampler(tool: Path) -> None:
    agent = subprocess.Popen([tool, "converse"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(json.dumps({"do": "begin", "tool": str(tool), "client": None, "servers": ""}) + "\n")
    agent.stdin.flush()
    next(messages_of(agent.stdout))
    start = Path(f"/proc/{agent.pid}/stat").read_text().rpartition(")")[2].split()[19]
    assert (tool.parent.parent / "run/agent/pid").read_text() == f"{agent.pid} {start}\n"
    agent.communicate('{"do": "finish"}\n', timeout=60)
