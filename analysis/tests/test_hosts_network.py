"""Tests preflight's messages about a host's network and folder, with real sockets and a fake SELinux file."""

import asyncio
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import host_resources
import reachable

HERE = "127.0.0.1"


def free_port() -> int:
    with socket.create_server((HERE, 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def somebody() -> Iterator[int]:
    """Yields a port that is in use."""
    with socket.create_server((HERE, 0)) as server:
        yield server.getsockname()[1]


def test_free_ports_are_listened_on_and_unreachable_ones_are_named(somebody: int) -> None:
    ports = {"cql": free_port(), "taken": somebody}
    pid, bound = reachable.listen(HERE, {**ports, "twin": ports["cql"]})
    try:
        assert {name: bound[name] for name in ports} == ports
        assert set(bound) == {*ports, reachable.CANARY}
        peer = {"address": HERE, "ports": bound}
        assert asyncio.run(reachable.attempt({"db1": peer})) == []
        closed = free_port()
        (problem,) = asyncio.run(reachable.attempt({"db1": peer, "db2": {**peer, "ports": {**bound, "jmx": closed}}}))
        assert problem.startswith(f"it cannot reach db2 ({HERE}) on port {closed} (jmx): Connection refused; allow TCP")
        assert problem.endswith("allow TCP to it in all firewalls")
    finally:
        os.kill(pid, signal.SIGKILL)  # under xdist, SIGTERM once left the process running for two minutes
        os.waitpid(pid, 0)
    (problem,) = asyncio.run(reachable.attempt({"db1": {"address": HERE, "ports": {"a": closed, "b": ports["cql"]}}}))
    assert f"db1 ({HERE}) on any of 2 ports: Connection refused" in problem


def test_folders_of_data_on_one_file_system_share_its_room(tmp_path: Path) -> None:
    private, shared = str(tmp_path / "future" / "a"), "/dev/shm/future"
    if Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("both folders are on one file system")
    whole, shared_room = (host_resources.free_mb(path) for path in (private, shared))
    rooms = host_resources.rooms_mb([private, shared, str(tmp_path)])
    assert rooms == pytest.approx([whole // 2, shared_room, whole // 2], rel=0.05)


def test_what_a_host_lacks_for_a_server_is_said_with_the_way_out(tmp_path: Path) -> None:
    request = {
        "host": "db1", "memory_mb": 1, "shared_mb": 0, "disk_mb": 1, "disk_by": ["x_log"], "spare_gb": 0,
        "playbook": "play",
    }  # fmt: skip
    answer = host_resources.answer(str(tmp_path), carries=request)
    assert answer["problems"] == ([] if answer["java_home"] else answer["problems"][:1])
    large = {**request, "memory_mb": "1", "shared_mb": str(1 << 40), "disk_mb": 1, "spare_gb": str(1 << 40)}
    needs = ["/no/jars", str(tmp_path)]
    without_jdk, not_deployed, disk, memory = host_resources.answer(str(tmp_path), "/no", needs=needs, carries=large)[
        "problems"
    ]
    assert without_jdk.startswith(
        "db1 has no JDK 17 in /no (no JDK); install one, or name its folder: -e dohyo_java_home"
    )
    assert not_deployed == "db1 has no /no/jars: run play deploy.yml first, with the same versions"
    assert re.match(rf"db1: {tmp_path} has \d+ MiB free and needs {1 + (1 << 40) * 1000}; free space", disk)
    assert disk.endswith("or lower x_log or dohyo_min_free_gb")
    assert f"MiB of free memory and needs 1 + {1 << 40} for a client; end programs" in memory


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *(("8.8.8.8", True), ("2a00:1450:4001::1", True), ("0.0.0.0", True), ("::", True)),  # noqa: S104 - only text
        *(("10.1.2.3", False), ("100.64.0.1", False), ("127.0.0.1", False), ("fd00::1", False), ("192.0.2.1", False)),
        *(("", False), ("localhost", False)),
    ],
)
def test_a_server_without_passwords_listens_on_no_address_of_the_internet(address: str, public: bool) -> None:
    problems = host_resources.check_public({"hbase": address, "cassandra": address, "mysql": ""})
    assert len(problems) == public
    for problem in problems:
        assert f"hbase, cassandra on public {address} has no password; set" in problem
        assert all(way in problem for way in ("dohyo_address", "docs/secrets.md", "dohyo_public"))


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("::1", "dohyo_address ::1 is an IPv6 address, but servers and clients use IPv4; set an IPv4 address"),
        ("a..b", "dohyo_address of one, a..b, does not resolve here; add it to /etc/hosts or to DNS"),
        ("", "dohyo_address of one, , does not resolve here; add it to /etc/hosts or to DNS"),
        ("192.0.2.1", "dohyo_address 192.0.2.1 is not an address of this host; to list them: ip address"),
    ],
)
def test_an_address_that_servers_cannot_have_is_named(address: str, problem: str) -> None:
    assert problem in host_resources.check_names(address, {"one": address})


def test_selinux_lets_no_unit_start_programs_below_home(tmp_path: Path) -> None:
    (enforcing := tmp_path / "enforcing").write_text("1")
    (permissive := tmp_path / "permissive").write_text("0")
    (problem,) = host_resources.check_selinux("/home/dohyo/dohyo", str(enforcing))
    assert "set dohyo_home to /opt/dohyo" in problem
    for home, enforce in (
        ("/opt/dohyo", enforcing),
        ("/homes/dohyo", enforcing),
        ("/home/dohyo", permissive),
        ("/home/dohyo", tmp_path / "no SELinux"),
    ):
        assert host_resources.check_selinux(home, str(enforce)) == []


def test_only_the_process_that_listened_is_ended() -> None:
    """The kernel may have ended it after two minutes, and given its pid to another process."""
    listening = reachable.answer("listen", HERE)
    reachable.answer("end", pid=listening["pid"], start=listening["start"] - 1)
    time.sleep(0.2)
    assert os.waitpid(listening["pid"], os.WNOHANG)[0] == 0
    reachable.answer("end", pid=listening["pid"], start=listening["start"])
    assert os.waitpid(listening["pid"], 0)[1] == signal.SIGKILL
