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

import conversation
import proc
import processes
from support.agent_home import install
from support.clock import Clock
from support.running_processes import start_of, stat, until


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    return install(tmp_path)


Agent = subprocess.Popen[str]


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
    """Yields an agent's messages. The agent first writes a line break, because login may leave an unfinished line."""
    lines = iter(lines)
    assert next(lines) == "\n"
    yield from map(json.loads, lines)


def test_a_server_that_was_gone_before_the_clients_began_is_reported(tool: Path) -> None:
    subprocess.run([tool, "start", "db", tool.parent, "out", "err", "sleep", "60"], check=True)
    pid = int((tool.parent.parent / "run/db/pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    # On a busy machine the killed process may exist for a while.
    while b"is running" in subprocess.run([tool, "status", "db"], check=False, stdout=subprocess.PIPE).stdout:
        time.sleep(0.05)
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
    """Children count: PostgreSQL has one for each connection, and a connection may last as long as the server."""
    # Let the child end when its parent does. Otherwise the tool would wait for the child.
    busy = "import os, time\nparent = os.getppid()\nwhile os.getppid() == parent:\n"
    busy += "    end = time.process_time() + 0.05\n    while time.process_time() < end: pass\n"
    busy += "    print(end, flush=True)"
    command = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}], check=True)"
    subprocess.run([tool, "start", "db", tool.parent, "out", "err", sys.executable, "-c", command], check=True)

    def used() -> float:
        lines = (tool.parent / "out").read_text().split("\n")
        return float(lines[-2]) if lines[1:] else 0

    now = time.time()
    try:
        start = {"do": "start", "at": now, "window": [now, None], "compilers": False}
        agent = begun(tool, start, servers="db")
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


def begun(tool: Path, *messages: dict[str, Any], client: dict[str, Any] | None = None, servers: str = "") -> Agent:
    """Starts an agent, and sends it the message `begin` and these messages."""
    agent = subprocess.Popen([tool, "converse"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert agent.stdin is not None
    for message in ({"do": "begin", "tool": str(tool), "client": client, "servers": servers}, *messages):
        agent.stdin.write(json.dumps(message) + "\n")
        agent.stdin.flush()
    return agent


def until_end(agent: Agent) -> list[dict[str, Any]]:
    """Returns the messages until the client has ended, and finishes the conversation."""
    assert agent.stdout is not None
    messages: list[dict[str, Any]] = []
    for message in messages_of(agent.stdout):
        messages.append(message)
        if message["is"] == "ended":
            break
    agent.communicate('{"do": "finish"}\n', timeout=60)
    return messages


def test_what_a_client_has_inserted_is_handed_on(tool: Path) -> None:
    """The next run inserts its records after those that this run inserted."""
    wrote = {"agreed_start_ms": None, "skew_ms": 0.5, "finished_ms": 9.5, "inserted": 1234, "operations": 7}
    command = f"echo '{json.dumps(wrote)}' > client.json"
    client = client_of(tool.parent.parent, command, properties="inserted=1000\n")
    ended = until_end(begun(tool, LAUNCH, client=client))[-1]
    assert ended["exit"] == 0
    assert ended["summary"] == {key: wrote[key] for key in ("agreed_start_ms", "skew_ms", "finished_ms", "inserted")}


def client_of(home: Path, command: str, run: int = 1, lane: str = "", properties: str = "") -> dict[str, Any]:
    """Returns a client. With a lane, it takes turns with other trials. From run 2 on, the paused client continues."""
    name, folder = f"client-host1.{lane}" if lane else "client-host1", home / "client" / lane
    return {
        "name": name,
        "folder": str(folder / f"run-{run}/host1"),
        "properties": properties,
        "secrets": str(home / f"secret/{name}.properties"),
        "secret_properties": "",
        "command": ["sh", "-c", command],
        "paused": str(folder / f"run-{run - 1}/host1") if run > 1 else "",
    }


LAUNCH = {"do": "launch"}


# Script that pauses after the first window as the client does, continues in the next folder, and ends.
PAUSES = (
    "echo '{\"inserted\": 1}' > client.json; touch ready paused; while [ ! -s next ]; do sleep 0.05; done;"
    ' cd "$(cat next)"; echo \'{"inserted": 2}\' > client.json; touch ready; sleep 0.5; exit 4'
)


def test_a_client_pauses_between_two_conversations_and_goes_on(tool: Path) -> None:
    home = tool.parent.parent
    ended = until_end(begun(tool, LAUNCH, client=client_of(home, PAUSES, lane="cassandra")))[-1]
    assert (ended["exit"], ended["summary"]["inserted"]) == (0, 1)
    pid = (home / "run/client-host1.cassandra/pid").read_text()
    assert Path(f"/proc/{pid.split()[0]}").exists(), "the end of a conversation does not stop it"
    *earlier, ended = until_end(begun(tool, LAUNCH, client=client_of(home, "exit 9", 2, "cassandra")))
    assert "ready" in [message["is"] for message in earlier]
    assert (ended["exit"], ended["summary"]["inserted"]) == (4, 2)
    assert (home / "run/client-host1.cassandra/pid").read_text() == pid
    assert (home / "run/client-host1.cassandra/errors").readlink() == home / "client/cassandra/run-2/host1/status.txt"
    assert (home / "client/cassandra/run-2/host1/exit").read_text() == "4\n"


def test_a_client_that_ended_while_it_paused_fails(tool: Path) -> None:
    home = tool.parent.parent
    first = client_of(home, "touch ready paused; exec sleep 300", lane="cassandra")
    assert until_end(begun(tool, LAUNCH, client=first))[-1]["exit"] == 0
    subprocess.run([tool, "stop", "client-host1.cassandra", "0"], check=True)
    ended = until_end(begun(tool, LAUNCH, client=client_of(home, "exit 9", 2, "cassandra")))[-1]
    assert ended["exit"] == 137
    assert "signal KILL" in ended["words"]


def test_an_exit_code_that_is_written_late_is_that_of_the_client(tool: Path) -> None:
    """On a busy machine, the client's supervisor may be delayed."""
    home = tool.parent.parent
    agent = begun(tool, LAUNCH, client=client_of(home, "exec sleep 60"))
    until((noted := home / "run/client-host1/pid").exists)
    pid = int(noted.read_text().split()[0])
    supervisor = int(stat(pid)[1])
    os.kill(supervisor, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    threading.Timer(2, os.kill, [supervisor, signal.SIGCONT]).start()
    ended = until_end(agent)[-1]
    assert ended["exit"] == 137
    assert "exit code 137 (signal KILL)" in ended["words"]


def test_the_agent_is_noted_for_the_sampler(tool: Path) -> None:
    agent = begun(tool)
    assert agent.stdout is not None
    next(messages_of(agent.stdout))
    assert (tool.parent.parent / "run/agent/pid").read_text() == f"{agent.pid} {start_of(agent.pid)}\n"
    agent.communicate('{"do": "finish"}\n', timeout=60)


def test_an_agent_that_hears_nothing_stops_its_client_and_ends(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, clock = tool.parent.parent, Clock()
    monkeypatch.setattr(processes, "SELF", [sys.executable, "-EsSB", str(tool.parent / "modules/agent.py")])
    heard, says = os.pipe()
    with os.fdopen(heard) as stdin, (home / "said").open("w") as stdout, os.fdopen(says, "w") as controller:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        agent = threading.Thread(target=conversation.Agent(processes.Processes(str(home), clock)).serve)
        agent.start()
        begin = {"do": "begin", "tool": str(tool), "client": client_of(home, "exec sleep 60"), "servers": ""}
        for message in ({"do": "ping", "sent": 1}, begin, LAUNCH):
            controller.write(json.dumps(message) + "\n")
        controller.flush()
        until((noted := home / "run/client-host1/pid").exists)
        pid, start = map(int, noted.read_text().split())
        clock.sleep(proc.HEARTBEAT / 2)
        time.sleep(2 * conversation.LOOK)
        assert agent.is_alive()
        assert proc.is_alive(pid, start)
        clock.sleep(proc.HEARTBEAT / 2)
        agent.join(60)
        assert not agent.is_alive()
        assert not proc.is_alive(pid, start)
