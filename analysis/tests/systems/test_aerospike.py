"""Tests Aerospike's configuration for versions that tests cannot start. A key that a version does not know is fatal."""

import re
from typing import Any

import pytest

from dohyo.places import ROOT
from support.described import described

VERSIONS = ["6.4.0.10", "7.0.0.0", "7.2.0.1", "8.1.0.0"]
STORAGES = ["memory", "file", "device"]
ENTERPRISE = [("6.4.0.10", "memory"), ("6.4.0.10", "file"), ("8.1.0.0", "memory"), ("8.1.0.0", "file")]
CLOSED: dict[str, Any] = {"aerospike_authentication": True, "aerospike_tls": True}
ENTERPRISE_ONLY = {
    *("security", "tls", "feature-key-file", "strong-consistency", "index-type", "commit-to-device", "compression")
}
DEVICES = ["/dev/nvme1n1", "/dev/nvme2n1"]


def aerospike(
    version: str = "8.1.0.0", storage: str = "file", edition: str = "Community", files: int = 100000, **variables: Any
) -> Any:
    """Returns Aerospike on the first of two hosts, with many options. `version` and `edition` are the server's."""
    printed = f"{files}\n/usr/bin/asd\nAerospike {edition} Edition build {version}\n"
    looked = {"looked": {"stdout": printed, "stderr": ""}}
    peer = {"address": "10.0.0.2", "service": 3000, "heartbeat": 4002}
    states = {"node1": looked, "node2": {**looked, "node": peer}}
    defaults: dict[str, Any] = {
        "properties": {"recordcount": 10000000},
        "conditions": {"replication": 2, "durability": "disk", "compression": "lz4"},
        "aerospike_storage": storage,
        "aerospike_devices": DEVICES,
        "aerospike_strong_consistency": True,
        "aerospike_index": "flash",
        "aerospike_feature_key": "/etc/aerospike/features.conf" if edition == "Enterprise" else "",
    }
    return described("aerospike", **{"hosts": 2, "states": states, **defaults, **variables})


def keys(system: Any) -> dict[str, list[str]]:
    """Returns the values of each key, regardless of its section."""
    (file,) = system.files
    assert file.content.count("{") == file.content.count("}"), "a context is not closed"
    written: dict[str, list[str]] = {}
    for line in file.content.splitlines():
        match = re.fullmatch(r"\s*([a-z][a-z0-9-]*)\s*(.*?)\s*\{?", line)
        if match:
            written.setdefault(match[1], []).append(match[2])
    return written


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gets_its_own_keys(version: str, storage: str) -> None:
    """Newer versions removed some keys, and replaced them with others."""
    written = keys(aerospike(version, storage))
    old, older = version < "7.0", version < "7.1"
    in_memory = storage == "memory"
    assert {"memory-size", "stop-writes-pct", "high-water-memory-pct"} & written.keys() == (
        {"memory-size", "stop-writes-pct", "high-water-memory-pct"} if old else set()
    )
    assert ("stop-writes-used-pct" in written) == (not old)
    assert ("data-size" in written) == (in_memory and not old)
    assert ("filesize" in written) == (storage == "file")
    assert ("write-block-size" in written) == (older and not in_memory)
    assert ("flush-size" in written) == (not older and not in_memory)
    # A record of 8 MiB does not fit in a write block of 1 MiB.
    assert ("max-record-size" in written) == (in_memory or not older)
    assert ("admin" in written, "info" in written) == ((True, False) if version >= "8.1" else (False, True))
    # The Community edition rejects these keys even if their value is false.
    assert not ENTERPRISE_ONLY & written.keys()


@pytest.mark.parametrize(("version", "storage"), ENTERPRISE)
def test_the_enterprise_edition_gets_what_was_asked_for(version: str, storage: str) -> None:
    """Some options need a feature key. Data in memory is not committed to a device."""
    written = keys(aerospike(version, storage, "Enterprise"))
    on_disk = {"commit-to-device"} if storage != "memory" else set()
    compressed = set() if storage == "memory" and version < "7.0" else {"compression"}
    always = {"feature-key-file", "strong-consistency", "index-type"}
    assert ENTERPRISE_ONLY & written.keys() == always | on_disk | compressed
    assert ("mounts-size-limit" in written, "mounts-budget" in written) == (version < "7.0", version >= "7.0")
    assert not ENTERPRISE_ONLY & keys(aerospike(version, storage, "Enterprise", aerospike_feature_key="")).keys()


@pytest.mark.parametrize("version", ["6.4.0.10", "8.1.0.0"])
def test_authentication_and_tls(version: str) -> None:
    """With TLS, only the info port of old versions accepts plain text. Both options require the Enterprise edition."""
    written = keys(aerospike(version, "file", "Enterprise", **CLOSED))
    assert "security" in written
    assert written["tls"] == ["dohyo"]
    tls_ports = ["3000", "3001", "3002"] + (["3003"] if version >= "8.1" else [])
    assert written["tls-port"] == tls_ports
    assert written["tls-address"] == ["10.0.0.1"] * len(tls_ports)
    assert written["tls-name"] == ["dohyo"] * len(tls_ports)
    assert written["tls-mesh-seed-address-port"] == ["10.0.0.2 4002"]
    assert written.get("port", []) == ([] if version >= "8.1" else ["3003"])
    assert not {"mesh-seed-address-port", "access-address"} & written.keys()
    assert not ENTERPRISE_ONLY & keys(aerospike(version, **CLOSED)).keys()


def test_a_node_knows_the_others_and_keeps_to_the_limit_of_open_files() -> None:
    """The mesh seeds are the other hosts. A proto-fd-max above the host's limit would be a fatal error."""
    written = keys(aerospike(storage="device"))
    assert written["mesh-seed-address-port"] == ["10.0.0.2 4002"]
    assert written["device"][-2:] == DEVICES
    assert written["replication-factor"] == ["2"]
    assert written["proto-fd-max"] == ["15000"]
    few = aerospike(files=1024)
    assert keys(few)["proto-fd-max"] == ["1024"]
    assert "proto-fd-max: 1024, the host's limit of open files" in few.notes


def array(disks: int, **variables: Any) -> Any:
    """Returns Aerospike with 5 TiB of data on an array of disks."""
    of_array: dict[str, Any] = {"dohyo_devices": ["/dev/disk/by-id/nvme-X_*"], "host_disks": {"devices": [{}] * disks}}
    return aerospike(aerospike_data_size="5t", **(of_array if disks else {}), **variables)


@pytest.mark.parametrize(("disks", "files", "file_size"), [(0, 3, "1747627M"), (8, 8, "655360M")])
def test_no_file_is_larger_than_the_server_takes_and_an_array_has_one_for_each_disk(
    disks: int, files: int, file_size: str
) -> None:
    """The server uses at most 2 TiB of each file, and writes each file in a separate thread."""
    written = keys(array(disks))
    assert len(set(written["file"])) == files
    assert written["filesize"] == [file_size]


# Cache for each of 24 disks in a budget of 4 GiB, in whole blocks. Other uses are subtracted: 144 and 100 MiB, 64 MiB
# for each file after the first, and 610 MiB for the index. The server's own limit is 256 MiB.
ROOM = (4096 - (144 + 100 + 64 * 23 + 610)) // 24 // 8 * 8
REST = 4096 - (144 + 100 + 64 * 23 + 610) - 24 * ROOM
CACHE = "namespace.storage-engine.post-write-cache"


@pytest.mark.parametrize(
    ("variables", "caches"),
    [
        ({"host_memory_budget": "4096m"}, {"post-write-cache": [f"{ROOM}M"]}),
        ({"host_memory_budget": "4096m", "version": "7.0.0.0"}, {"post-write-queue": [str(ROOM)]}),
        ({"host_memory_budget": "16384m"}, {}),
        ({"host_memory_budget": "4096m", "aerospike_settings": {CACHE: "512M"}}, {"post-write-cache": ["512M"]}),
    ],
)
def test_the_caches_of_all_files_are_a_part_of_the_budget(
    variables: dict[str, Any], caches: dict[str, list[str]]
) -> None:
    system = array(24, **variables)
    written = keys(system)
    if caches:
        cache_mb = int(re.sub("[^0-9]", "", next(iter(caches.values()))[0]))
        assert system.needs().memory_mb == 4096 - 24 * (ROOM - cache_mb) - REST
    assert {name: written[name] for name in ("post-write-cache", "post-write-queue") if name in written} == caches


def test_a_program_that_was_named_is_not_said_to_be_from_a_package() -> None:
    for package in ({"aerospike_fetch": True}, {"aerospike_package": "https://x.invalid/a.tgz"}):
        named = aerospike(**package, aerospike_asd="/bin/true")
        assert (named.archive_source, named.server_archive.note) == ("", [])


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"aerospike_fetch": True}, ""),
        ({"aerospike_package": "https://x.invalid/a.tgz"}, "aerospike_package_sha256 has no value; set it"),
        ({"aerospike_package": "https://x.invalid/a.tgz", "aerospike_package_sha256": "0" * 64}, ""),
        ({"aerospike_package": "http://x.invalid/a.tgz"}, "http://x.invalid/a.tgz: only https:// is accepted"),
        ({"aerospike_package": "/nowhere"}, "aerospike_package=/nowhere: no such file on the control machine; set a"),
        ({"aerospike_package": "~nobody-has-this-name/x"}, "aerospike_package=~nobody-has-this-name/x: no such file"),
        ({"aerospike_package": f"/{'x' * 300}"}, f"aerospike_package=/{'x' * 300}: no such file on the control"),
        ({"environment": {"AEROSPIKE_ASD": "/nowhere"}}, "AEROSPIKE_ASD=/nowhere: no such file on the control"),
    ],
)
def test_why_a_package_cannot_be_had(variables: dict[str, Any], problem: str) -> None:
    system = aerospike(**variables)
    assert system.archive_problem.startswith(problem)
    assert bool(system.archive_problem) == bool(problem)


def test_a_download_comes_before_the_environment_as_the_page_says() -> None:
    named = {"AEROSPIKE_ASD": "/opt/asd"}
    assert aerospike(environment=named).package == "/opt/asd"
    assert aerospike(aerospike_fetch=True, environment=named).package == ""
    page = (ROOT / "docs/aerospike.md").read_text("utf-8")
    places = [page.index(text) for text in ("`aerospike_package`", "--fetch aerospike", "AEROSPIKE_ASD", "on the PATH")]
    assert places == sorted(places)
