"""Tests connections to a host's agent, on this machine: how they fail, and which processes end with them."""

import json
import os
import resource
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conducting import channel as conducting_channel
from conducting import sent
from conducting.agents import Conversation
from conducting.channel import Channel, Rise, Way
from conducting.hosts import allow_files
from dohyo.trial.world import HostError
from support.running_processes import until

AGENT = sent.command("python3")


@contextmanager
def channel(script: str = AGENT, rise: Rise | None = None) -> Iterator[Any]:
    connection = Channel(Way(["/bin/sh", "-c", script], rise=rise))
    try:
        yield connection
    finally:
        connection.close()


def test_a_greeting_without_a_line_end_is_no_message() -> None:
    with channel(f"printf 'Welcome '; {AGENT}") as host:
        assert host.ask("program", {"argv": ["echo", "x"]})["stdout"] == "x"


def test_modules_of_the_folder_in_which_it_begins_are_not_taken(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not ours')\n")
    with channel(f"cd {tmp_path}; {AGENT}") as host:
        assert host.ask("program", {"argv": ["pwd"]})["stdout"] == str(tmp_path)


@contextmanager
def at_most(files: int) -> Iterator[None]:
    """Sets this process's limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < files:
        pytest.skip(f"this machine allows only {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_connection_works_beside_a_thousand_others() -> None:
    with at_most(1500):
        others = [os.open(os.devnull, os.O_RDONLY)]
        try:
            while others[-1] < 1024:
                others.append(os.open(os.devnull, os.O_RDONLY))
            with channel() as host:
                assert host.ask("program", {"argv": ["echo", "x"]})["stdout"] == "x"
        finally:
            for other in others:
                os.close(other)


@pytest.mark.parametrize(("hosts", "files"), [(1, 700), (100, 1156)])
def test_many_hosts_may_need_more_open_files_than_the_usual_limit(hosts: int, files: int) -> None:
    with at_most(700):
        allow_files(hosts)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft == min(files, hard)


def test_a_failure_is_in_the_agents_words_and_the_next_request_is_answered() -> None:
    with channel() as host:
        for verb, arguments, message in [
            ("program", {"argv": ["sh", "-c", "echo why >&2; exit 3"]}, "why"),
            ("program", {"argv": ["/no/such/program"]}, "/no/such/program: No such file or directory"),
            ("program", {"argw": []}, "program has no parameter argw; its parameters are argv, "),
            ("fly", {}, "unknown verb 'fly'; the verbs are canary, detach, "),
            ("transfer", {"step": "read"}, "the packed archive no longer exists: the connection was lost"),
        ]:
            with pytest.raises(HostError) as error:
                host.ask(verb, arguments)
            assert str(error.value).startswith(message)
        assert host.ask("program", {"argv": ["echo", "\udcff"]})["stdout"] == "\udcff"


def test_a_program_that_takes_too_long_is_ended_though_a_descendant_keeps_its_output() -> None:
    with channel() as host:
        began = time.monotonic()
        with pytest.raises(HostError, match="sh did not end within 1 s"):
            host.ask("program", {"argv": ["sh", "-c", "setsid sleep 15 & sleep 60"], "timeout": 1})
        assert time.monotonic() < began + 10


def test_an_agent_that_ends_is_told_from_a_greeting() -> None:
    with channel(f"echo 'Authorized use only' >&2; {AGENT}") as host:
        with pytest.raises(HostError, match="does not answer: its connection ended with exit code -9"):
            host.ask("program", {"argv": ["sh", "-c", "kill -9 $PPID"]})
        assert not host.is_open


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'No route to host' >&2; exit 255", "the host does not answer: No route to host"),
        ("exit 7", "the host does not answer: its connection ended with exit code 7"),
        ("exec sed -n d", "the host does not answer: its agent did not start within 1 s"),
    ],
)
def test_an_unreachable_host_is_an_error(script: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting_channel, "OPEN_SECONDS", 1 if "within" in message else 60)
    monkeypatch.setattr(conducting_channel, "SIGN_SECONDS", 0.1)
    monkeypatch.setattr(conducting_channel, "CLOSE_SECONDS", 1)
    with pytest.raises(HostError, match=f"^{message}$"), channel(script):
        pass


def test_a_password_is_in_no_message() -> None:
    """The greeting looks like a prompt, so the password is sent to Python. No message may show the password."""
    rise = Rise(AGENT, "s3cret", lambda data: b"root now" in data, lambda data: b"assword" in data, lambda _: False)
    with (
        pytest.raises(HostError) as error,
        channel(f"echo 'Password lost?' >&2; sleep 1; echo root now; {AGENT}", rise),
    ):
        pass
    assert str(error.value) == "the host does not answer: Password lost?"


def test_programs_of_the_agent_end_with_the_connection(tmp_path: Path) -> None:
    """Uses the verb `detach`, which runs several programs one after the other."""
    for role in ("first", "second"):
        folder = tmp_path / "attached" / role
        folder.mkdir(parents=True)
        (folder / "remove").write_text(f"touch {tmp_path}/{role}\nexec sleep 60\n")
    agent = Channel(Way(["/bin/sh", "-c", AGENT]))
    agent._send(sent.request("detach", {"home": str(tmp_path), "roles": ["first", "second"], "host": "a"}, bound=True))
    until((tmp_path / "first").exists)
    agent.close(60)
    assert agent._process.returncode == 1, "the agent did not end by itself"
    time.sleep(0.3)
    assert not (tmp_path / "second").exists()


@pytest.mark.slow
def test_signs_of_life_keep_programs_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting_channel, "SIGN_SECONDS", 0.2)
    sources = sent.program().replace(b"SILENCE = 60.0", b"SILENCE = 2.00")
    monkeypatch.setattr(sent, "program", lambda: sources)
    with channel() as host:
        assert host.ask("program", {"argv": ["sh", "-c", "sleep 3; echo x"]})["stdout"] == "x"
        monkeypatch.setattr(conducting_channel, "SIGN_SECONDS", 60)
        began = time.monotonic()
        with pytest.raises(HostError):
            host.ask("program", {"argv": ["sleep", "60"]})
        assert time.monotonic() < began + 40


@pytest.mark.slow
def test_an_agent_that_has_answered_waits_for_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request may arrive minutes later, for example after the load."""
    sources = sent.program().replace(b"SILENCE = 60.0", b"SILENCE = 2.00")
    monkeypatch.setattr(sent, "program", lambda: sources)
    with channel() as host:
        # The program is still running when the agent starts to wait for the next request.
        assert host.ask("program", {"argv": ["sh", "-c", "sleep 0.2; echo x"]})["stdout"] == "x"
        time.sleep(3)
        assert host.is_open
        assert host.ask("program", {"argv": ["echo", "y"]})["stdout"] == "y"


def test_a_message_that_is_larger_than_the_pipe_arrives_whole() -> None:
    host = Conversation("node1", Way(["/bin/sh", "-c", "sleep 0.5; head -n 1 | wc -c; exec cat > /dev/null"]))
    host.send({"do": "begin", "properties": "x" * 300_000})
    until = time.monotonic() + 30
    length = b""
    while not length and time.monotonic() < until:
        host.flush()
        if select.select([host.output], [], [], 0.05)[0]:
            length = os.read(host.output, 100)
    host.close()
    assert int(length) == len(json.dumps({"do": "begin", "properties": "x" * 300_000})) + 1


def test_the_last_line_of_stderr_is_the_error() -> None:
    host = Conversation("node1", Way(["/bin/sh", "-c", "seq 200000 >&2; echo >&2 the last"]))
    assert host.why_gone(10) == "the last"
    host.close()
