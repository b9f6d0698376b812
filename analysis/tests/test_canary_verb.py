"""Tests the canary's measurements, each for a short time, with a real file or a real listener."""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import canary
from conducting import sent
from failure import AgentError

MOMENT = 0.05


def by_name(figures: list[dict[str, Any]]) -> dict[str, Any]:
    assert all(0 < len(entry["slices"]) <= canary.SLICES and min(entry["slices"]) > 0 for entry in figures)
    return {entry["name"]: (entry["unit"], entry["of"]) for entry in figures}


def test_slices_are_of_equal_length_and_the_first_does_not_count() -> None:
    numbers = iter(range(100))
    durations = []

    def take(seconds: float) -> float:
        durations.append(seconds)
        return next(numbers)

    assert canary.sliced(take, 0.8) == [1, 2, 3, 4, 5, 6, 7]
    assert durations == [pytest.approx(0.1)] * 8


def test_what_takes_too_long_has_fewer_slices_but_one_at_least() -> None:
    now = itertools.count()  # each reading advances the clock by a second
    assert canary.sliced(lambda _: 1.0, 0, now.__next__) == [1.0]
    assert canary.MOST_TIMES == 4
    assert canary.sliced(lambda _: 1.0, 1, now.__next__) == [1.0] * 4
    assert canary.sliced(lambda _: 1.0, 100, now.__next__) == [1.0] * canary.SLICES


def test_a_rate_is_what_was_done_by_the_time_that_it_took() -> None:
    assert canary.rate(lambda: 5, 2, iter((10.0, 10.5, 11.5, 12.5)).__next__) == 15 / 2.5
    assert canary.rate(lambda: 5, 0, iter((10.0, 10.5)).__next__) == 5 / 0.5


def test_processors_and_memory_are_measured_on_all_usable_processors() -> None:
    usable = os.sched_getaffinity(0)
    assert by_name(canary.processors(MOMENT)) == {"cpu_one": ("1/s", None), "cpu_all": ("1/s", None)}
    assert by_name(canary.memory(MOMENT, 2**20)) == {"memory": ("B/s", None)}
    assert os.sched_getaffinity(0) == usable
    assert 0 < canary.buffer_bytes() <= canary.MOST_BUFFER


def test_disk_writes_where_the_folder_will_be_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / canary.FILE_NAME).write_text("left by one that was killed")
    figures = canary.disk(str(folder / "not" / "yet"), MOMENT, "disk1", size=canary.PIECE_BYTES)
    expected = {"disk_write": "B/s", "disk_fsync": "1/s", "disk_read": "1/s"}
    assert by_name(figures) == {name: (unit, "disk1") for name, unit in expected.items()}
    assert list(folder.iterdir()) == []


def test_a_file_behind_a_link_is_not_written(tmp_path: Path) -> None:
    (theirs := tmp_path / "theirs").write_text("precious")
    (folder := tmp_path / "data").mkdir()
    (folder / canary.FILE_NAME).symlink_to(theirs)
    with pytest.raises(OSError, match="symbolic link"):
        canary.disk(str(folder), MOMENT, None, size=canary.PIECE_BYTES)
    assert theirs.read_text() == "precious"


def test_a_disk_that_cannot_be_written_to_is_a_problem_and_the_file_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(canary.os, "pwrite", full)
    monkeypatch.setattr(canary, "MOST_BUFFER", 2**20)
    answer = canary.host([str(tmp_path)], MOMENT)
    assert answer["problems"] == [f"the disk of {tmp_path} was not measured: No space left on device"]
    assert set(by_name(answer["figures"])) == {"cpu_one", "cpu_all", "memory"}
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def listener() -> Iterator[dict[str, Any]]:
    opened = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=canary.serve, args=(opened,))
    thread.start()
    address, port = opened.getsockname()
    yield {"address": address, "port": port}
    canary.end(address, port)
    thread.join(60)
    assert not thread.is_alive()
    opened.close()
    assert not canary.end(address, port)


def test_the_network_is_measured_as_round_trip_and_throughput(
    listener: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "TURN_SECONDS", 0.2)
    answer = canary.network({"node1": listener}, 0, 1)
    assert answer["problems"] == []
    assert by_name(answer["figures"]) == {"rtt": ("ms", "node1"), "throughput": ("B/s", "node1")}


def test_a_server_that_does_not_answer_is_a_problem(listener: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = {"address": "127.0.0.1", "port": closed.getsockname()[1]}
    answer = canary.network({"node1": nobody, "node2": listener}, 0, 1, seconds=2)
    assert answer["problems"] == [
        f"the network to node1 (127.0.0.1:{nobody['port']}) was not measured: Connection refused"
    ]
    assert {entry["of"] for entry in answer["figures"]} == {"node2"}


def test_a_connection_that_ends_early_does_not_harm_the_listener(listener: dict[str, Any]) -> None:
    address = (listener["address"], listener["port"])
    for content in (b"", b"123", canary.LENGTH.pack(10) + b"12345"):
        with socket.create_connection(address) as connection:
            connection.sendall(content)
    assert canary.pair(*address, "node1", MOMENT)


def test_a_listener_has_a_process_of_its_own_until_it_is_told_to_end() -> None:
    port = canary.listen("127.0.0.1", 20)
    assert canary.pair("127.0.0.1", port, "node1", MOMENT)
    assert canary.end("127.0.0.1", port)
    assert not canary.end("127.0.0.1", port)
    assert os.wait()[1] == 0


def test_a_listener_that_nobody_ends_is_ended_by_the_kernel() -> None:
    port = canary.listen("127.0.0.1", 2)
    connection = socket.create_connection(("127.0.0.1", port), timeout=5)
    assert os.wait()[1] == 14  # SIGALRM
    assert connection.recv(1) == b""
    connection.close()


def test_a_listener_does_not_hold_the_connection_of_the_agent_that_was_asked_for_it() -> None:
    request = sent.program() + sent.request("canary", {"state": "listen", "address": "127.0.0.1"}, bound=False)
    command = ["sh", "-c", sent.command(sys.executable)]
    done = subprocess.run(command, input=request, capture_output=True, check=True, timeout=60)
    *_, answer = map(json.loads, filter(None, done.stdout.splitlines()))
    address = answer["answer"]["listener"]
    assert canary.pair(address["address"], address["port"], "node1", MOMENT)
    assert canary.answer("end", **address) == {}
    assert not canary.end(**address)


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(AgentError, match="state 'begin': must be one of host, listen, network, end"):
        canary.answer("begin")
    with pytest.raises(AgentError, match=r"cannot listen on 192\.0\.2\.1: Cannot assign requested address"):
        canary.answer("listen", address="192.0.2.1")


@pytest.mark.parametrize(
    ("clients", "servers", "share"), [(1, 1, 1), (4, 4, 4), (100, 100, 4), (1, 100, 100), (3, 100, 34), (100, 4, 4)]
)
def test_the_rotation_reaches_all_servers_and_no_two_clients_meet(clients: int, servers: int, share: int) -> None:
    turns = [canary.rotation(client, clients, servers) for client in range(clients)]
    assert {len(servers_of_client) for servers_of_client in turns} == {share}
    assert all(len(set(servers_of_client)) == share for servers_of_client in turns)
    often = Counter(server for servers_of_client in turns for server in servers_of_client)
    assert set(often) == set(range(servers))
    at_once = -(-clients // servers)
    for turn in range(share):
        assert max(Counter(servers_of_client[turn] for servers_of_client in turns).values()) <= at_once
