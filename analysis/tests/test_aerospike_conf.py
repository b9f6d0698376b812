"""Aerospike's configuration for versions whose servers are not at hand: a key of another version is fatal at start."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dohyo.places import ANSIBLE

VERSIONS = ["6.4.0.10", "7.0.0.0", "7.2.0.1", "8.1.0.0"]
STORAGES = ["memory", "file", "device"]
ENTERPRISE = [("6.4.0.10", "memory"), ("6.4.0.10", "file"), ("8.1.0.0", "memory"), ("8.1.0.0", "file")]
CLOSED = ["6.4.0.10", "8.1.0.0"]
CASES: list[dict[str, Any]] = [
    *({"edition": "Community", "version": version, "storage": storage} for version in VERSIONS for storage in STORAGES),
    *(
        {"edition": "Enterprise", "version": version, "storage": storage, "feature_key": "/etc/aerospike/features.conf"}
        for version, storage in ENTERPRISE
    ),
]
CASES += [
    {**case, "closed": "true"}
    for version in CLOSED
    for case in CASES
    if case["version"] == version and case["storage"] == "file"
]
for case in CASES:
    case["name"] = "-".join(
        (case["edition"], case["version"], case["storage"], *(["closed"] if "closed" in case else []))
    )
CASES.append({"name": "few-files", "edition": "Community", "version": "8.1.0.0", "storage": "file", "files": "1024"})
LARGE = {"edition": "Community", "version": "8.1.0.0", "storage": "file", "data_size": "5t"}
CASES += [{**LARGE, "name": "large"}, {**LARGE, "name": "array", "disks": [{}] * 8}]
# 24 disks of an array in 4 GiB: 144 and 100 MiB, 64 for each file after the first, 610 of index.
FEW = {**LARGE, "disks": [{}] * 24, "budget": 4096}
CACHE = "namespace.storage-engine.post-write-cache"
CASES += [
    {**FEW, "name": "little-memory"},
    {**FEW, "name": "little-memory-before-7.1", "version": "7.0.0.0"},
    {**FEW, "name": "memory-enough", "budget": 16384},
    {**FEW, "name": "a-user-s-cache", "settings": {CACHE: "512M"}},
]

ENTERPRISE_ONLY = {
    *("security", "tls", "feature-key-file", "strong-consistency", "index-type", "commit-to-device", "compression")
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All configurations, written by Ansible as the role does."""
    folder = tmp_path_factory.mktemp("conf")
    variables = json.dumps({"conf_cases": CASES, "conf_folder": str(folder)})
    playbook = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [playbook, "-i", "localhost,", "tests/aerospike_conf.yml", "-e", variables]
    subprocess.run(command, cwd=ANSIBLE, check=True)
    return folder


def keys(conf: Path) -> dict[str, list[str]]:
    """The values of every key, wherever it stands."""
    found: dict[str, list[str]] = {}
    for line in conf.read_text().splitlines():
        match = re.fullmatch(r"\s*([a-z][a-z0-9-]*)\s*(.*?)\s*\{?", line)
        if match:
            found.setdefault(match[1], []).append(match[2])
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_braces_are_closed(folder: Path, case: dict[str, str]) -> None:
    """Every context ends."""
    text = (folder / f"{case['name']}.conf").read_text()
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gets_its_own_keys(folder: Path, version: str, storage: str) -> None:
    """What each version took away and put in its place."""
    found = keys(folder / f"Community-{version}-{storage}.conf")
    old, older = version < "7.0", version < "7.1"
    in_memory = storage == "memory"
    assert {"memory-size", "stop-writes-pct", "high-water-memory-pct"} & found.keys() == (
        {"memory-size", "stop-writes-pct", "high-water-memory-pct"} if old else set()
    )
    assert ("stop-writes-used-pct" in found) == (not old)
    assert ("data-size" in found) == (in_memory and not old)
    assert ("filesize" in found) == (storage == "file")
    assert ("write-block-size" in found) == (older and not in_memory)
    assert ("flush-size" in found) == (not older and not in_memory)
    # A write block of 1 MiB holds no record of 8 MiB.
    assert ("max-record-size" in found) == (in_memory or not older)
    assert ("admin" in found, "info" in found) == ((True, False) if version >= "8.1" else (False, True))


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_community_edition_gets_nothing_of_the_other(folder: Path, version: str, storage: str) -> None:
    """Even switched off it would be refused."""
    assert not ENTERPRISE_ONLY & keys(folder / f"Community-{version}-{storage}.conf").keys()


@pytest.mark.parametrize(("version", "storage"), ENTERPRISE)
def test_the_enterprise_edition_gets_what_was_asked_for(folder: Path, version: str, storage: str) -> None:
    """With a feature key; data in memory is not committed to a device."""
    found = keys(folder / f"Enterprise-{version}-{storage}.conf")
    on_disk = {"commit-to-device"} if storage != "memory" else set()
    compressed = set() if storage == "memory" and version < "7.0" else {"compression"}
    always = {"feature-key-file", "strong-consistency", "index-type"}
    assert ENTERPRISE_ONLY & found.keys() == always | on_disk | compressed
    assert ("mounts-size-limit" in found, "mounts-budget" in found) == (version < "7.0", version >= "7.0")


@pytest.mark.parametrize("version", CLOSED)
def test_authentication_and_tls(folder: Path, version: str) -> None:
    """Nothing listens in plain text beside TLS; the older info port knows no TLS. Only for the Enterprise edition."""
    found = keys(folder / f"Enterprise-{version}-file-closed.conf")
    assert "security" in found
    assert found["tls"] == ["dohyo"]
    tls_ports = ["3000", "3001", "3002"] + (["3003"] if version >= "8.1" else [])
    assert found["tls-port"] == tls_ports
    assert found["tls-address"] == ["192.0.2.1"] * len(tls_ports)
    assert found["tls-name"] == ["dohyo"] * len(tls_ports)
    assert found["tls-mesh-seed-address-port"] == ["192.0.2.2 4002"]
    assert found.get("port", []) == ([] if version >= "8.1" else ["3003"])
    assert not {"mesh-seed-address-port", "access-address"} & found.keys()
    assert not ENTERPRISE_ONLY & keys(folder / f"Community-{version}-file-closed.conf").keys()


def test_a_node_knows_the_others_and_keeps_to_the_limit_of_open_files(folder: Path) -> None:
    """Mesh seeds are the other hosts; proto-fd-max above the limit would be fatal."""
    found = keys(folder / "Community-8.1.0.0-device.conf")
    assert found["mesh-seed-address-port"] == ["192.0.2.2 4002"]
    assert found["device"][-2:] == ["/dev/nvme1n1", "/dev/nvme2n1"]
    assert found["replication-factor"] == ["2"]
    assert found["proto-fd-max"] == ["15000"]
    assert keys(folder / "few-files.conf")["proto-fd-max"] == ["1024"]


@pytest.mark.parametrize(("name", "files", "each"), [("large", 3, "1747627M"), ("array", 8, "655360M")])
def test_no_file_is_larger_than_the_server_takes_and_an_array_has_one_for_each_disk(
    folder: Path, name: str, files: int, each: str
) -> None:
    """Of a file the server takes 2 TiB, and each has a thread that writes."""
    found = keys(folder / f"{name}.conf")
    assert len(set(found["file"])) == files
    assert found["filesize"] == [each]


def test_the_caches_of_all_files_are_a_part_of_the_budget(folder: Path) -> None:
    """Whole blocks of what the budget leaves, at most the server's own 256 MiB; the user's value wins."""
    room = (4096 - (144 + 100 + 64 * 23 + 610)) // 24 // 8 * 8
    assert keys(folder / "little-memory.conf")["post-write-cache"] == [f"{room}M"] == ["72M"]
    assert keys(folder / "little-memory-before-7.1.conf")["post-write-queue"] == ["72"]
    assert not {"post-write-cache", "post-write-queue"} & keys(folder / "memory-enough.conf").keys()
    assert keys(folder / "a-user-s-cache.conf")["post-write-cache"] == ["512M"]
