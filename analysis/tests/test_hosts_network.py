"""Tests preflight's messages about a host's network and folder, with real sockets and a file like SELinux's."""

import asyncio
import os
import signal
import socket
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


def test_it_listens_where_nobody_does_and_names_what_cannot_be_reached(somebody: int) -> None:
    wanted = {"cql": free_port(), "taken": somebody}
    pid, found = reachable.listen(HERE, {**wanted, "twin": wanted["cql"]})
    try:
        assert {name: found[name] for name in wanted} == wanted
        assert set(found) == {*wanted, reachable.CANARY}
        there = {"address": HERE, "ports": found}
        assert asyncio.run(reachable.attempt({"db1": there})) == []
        closed = free_port()
        (problem,) = asyncio.run(reachable.attempt({"db1": there, "db2": {**there, "ports": {**found, "jmx": closed}}}))
        assert problem.startswith(f"it does not reach db2 ({HERE}) on port {closed} (jmx): Connection refused; let TCP")
        assert "firewall of db2" in problem
    finally:
        os.kill(pid, signal.SIGKILL)  # under xdist, SIGTERM once left the process running for two minutes
        os.waitpid(pid, 0)
    (problem,) = asyncio.run(reachable.attempt({"db1": {"address": HERE, "ports": {"a": closed, "b": wanted["cql"]}}}))
    assert f"db1 ({HERE}) on any of 2 ports: Connection refused" in problem


def test_folders_of_data_on_one_file_system_share_its_room(tmp_path: Path) -> None:
    mine, shared = str(tmp_path / "future" / "a"), "/dev/shm/future"
    if Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("both folders are on one file system")
    whole, other = (host_resources.free_mb(path) for path in (mine, shared))
    found = host_resources.rooms_mb([mine, shared, str(tmp_path)])
    assert found == pytest.approx([whole // 2, other, whole // 2], rel=0.05)


def test_what_a_host_lacks_for_a_server_is_said_with_the_way_out(tmp_path: Path) -> None:
    asked = {
        "host": "db1",
        "memory_mb": 1,
        "shared_mb": 0,
        "disk_mb": 1,
        "disk_by": ["x_log"],
        "spare_gb": 0,
        "playbook": "play",
    }
    found = host_resources.answer(str(tmp_path), carries=asked)
    assert found["problems"] == ([] if found["java_home"] else found["problems"][:1])
    large = {**asked, "memory_mb": "1", "shared_mb": str(1 << 40), "disk_mb": 1, "spare_gb": str(1 << 40)}
    needs = ["/no/jars", str(tmp_path)]
    without_jdk, not_deployed, disk, memory = host_resources.answer(str(tmp_path), "/no", needs=needs, carries=large)[
        "problems"
    ]
    assert without_jdk.startswith("No JDK 17 on db1: searched /no (no JDK). Install one")
    assert not_deployed == "db1 has no /no/jars: run play deploy.yml first, with the same versions"
    assert f"MiB are free at {tmp_path} on db1; 1 MiB are needed and {1 << 40} GB must stay free." in disk
    assert disk.endswith("or lower x_log or dohyo_min_free_gb")
    assert f"available on db1; 1 MiB are needed, and {1 << 40} MiB for a client on the same host" in memory


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *(("8.8.8.8", True), ("2a00:1450:4001::1", True), ("0.0.0.0", True), ("::", True)),  # noqa: S104 - not bound
        *(("10.1.2.3", False), ("100.64.0.1", False), ("127.0.0.1", False), ("fd00::1", False), ("192.0.2.1", False)),
        *(("", False), ("localhost", False)),
    ],
)
def test_a_server_without_passwords_listens_on_no_address_of_the_internet(address: str, public: bool) -> None:
    problems = host_resources.check_public({"hbase": address, "cassandra": address, "mysql": ""})
    assert len(problems) == public
    for problem in problems:
        assert f"hbase, cassandra would listen without a password on {address}, which" in problem
        assert all(way in problem for way in ("dohyo_address", "docs/secrets.md", "dohyo_public=true"))


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("::1", "dohyo_address ::1 is an IPv6 address, but servers and clients use IPv4; set an IPv4 address"),
        ("a..b", "dohyo_address of one, a..b, does not resolve here; add it to /etc/hosts or the name service"),
        ("", "dohyo_address of one, , does not resolve here; add it to /etc/hosts or the name service"),
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
