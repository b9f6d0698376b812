"""Tests how the agent recognises devices and arrays, with real superblocks in files and real links.

Tests that need block devices are in ansible/tests/cluster/deploy_test.sh and destroy_test.sh.
"""

import struct
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped]
from ansible.template import Templar, trust_as_template  # type: ignore[import-untyped]

import host_devices
from dohyo.places import ANSIBLE
from filter.dohyo_filters import disk_shortages
from support.described import described

LABEL = "dohyo-abcdef"
EMPTY: dict[str, Any] = {"kind": "nvme", "size_mb": 10, "discards": True, "state": "empty", "problem": ""}


def superblock(name: str) -> bytes:
    """Returns the md 1.2 superblock of a RAID0 (Linux, include/uapi/linux/raid/md_p.h: mdp_superblock_1)."""
    head = struct.pack("<IIII16s32sQiIQII", 0xA92B4EFC, 1, 0, 0, bytes(range(16)), name.encode(), 0, 0, 0, 0, 2048, 2)
    head = head.ljust(128, b"\0") + struct.pack("<QQQQII16s", 2048, 4096, 8, 0, 0, 0, bytes(16))

    def whole(checksum: int) -> bytes:
        counts = struct.pack("<QQQII", 0, 0, 0, checksum, 128)
        return head.ljust(192, b"\0") + counts + bytes(32) + struct.pack("<128H", 0, 1, *[0xFFFF] * 126)

    total = sum(struct.unpack("<128I", whole(0)))
    return whole((total + (total >> 32)) & 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (LABEL, ""),
        (f"any:{LABEL}", ""),
        ("host1:dohyo-012345", "it is part of another deployment's RAID (host1:dohyo-012345)"),
        ("host1:home", "it is part of another program's RAID (host1:home); take it out of dohyo_devices"),
    ],
)
def test_an_array_is_ours_by_its_name(name: str, problem: str, tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.write_bytes(bytes(4096) + superblock(name) + bytes(2**21))
    tags = host_devices.signatures(str(device))
    assert tags["TYPE"] == host_devices.MEMBER
    assert tags["UUID"]
    message = host_devices.foreign(str(device), str(tmp_path), tags, [], LABEL, "/dohyo")
    assert problem in message
    assert bool(problem) == bool(message)


def test_a_pattern_without_a_device_stays_as_one_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "nvme-file").touch()
    pattern = f"{tmp_path}/nvme-*"
    assert host_devices.resolved([pattern, "/nowhere", "/nowhere"]) == [pattern, "/nowhere"]
    looked = host_devices.Host(LABEL, "/dohyo", "none", "raid0").look([pattern])
    assert "it is not there" in looked["devices"][0]["problem"]
    assert looked["volumes"] == []


@pytest.mark.skipif(not Path("/dev/loop0").is_block_device(), reason="needs a block device to link to")
def test_links_to_one_disk_count_once_by_the_shortest_name(tmp_path: Path) -> None:
    for name in ("nvme-M_1", "nvme-M_1-ns-1", "nvme-M_1_1"):
        (tmp_path / name).symlink_to("/dev/loop0")
    assert host_devices.resolved([f"{tmp_path}/nvme-*"]) == [f"{tmp_path}/nvme-M_1"]
    assert host_devices.lasting_name("/dev/loop0", str(tmp_path)) == f"{tmp_path}/nvme-M_1"
    (tmp_path / "nvme-eui.01").symlink_to("/dev/loop0")
    assert host_devices.lasting_name("/dev/loop0", str(tmp_path)) == f"{tmp_path}/nvme-M_1"


@pytest.mark.parametrize(
    ("devices", "layout", "is_refused"),
    [
        (["/dev/x", "/dev/y*"], "jbod", False), ([], "raid0", False), ([], "raid5", True), ("/dev/x", "jbod", True),
        (None, "raid0", True), ([["/dev/x"]], "raid0", True),
    ],
)  # fmt: skip
def test_devices_are_a_list_and_a_layout_is_known(devices: Any, layout: str, is_refused: bool) -> None:
    plays = yaml.safe_load((ANSIBLE / "deploy.yml").read_text("utf-8"))
    names = ["Check dohyo_devices", "Check host_disk_layout"]
    tasks = [task for play in plays for task in play.get("tasks", []) if task["name"] in names]
    variables = {"inventory_hostname": "node1", "dohyo_devices": devices, "host_disk_layout": layout}
    ansible = Templar(DataLoader(), variables=variables)
    shown = "" if devices is None else devices
    messages = (
        f"node1: dohyo_devices={shown}: must be a list, such",
        f"node1: host_disk_layout={layout}: must be raid0",
    )
    are_met = []
    for task, message in zip(tasks, messages, strict=True):
        check = task["ansible.builtin.assert"]
        conditions = check["that"] if isinstance(check["that"], list) else [check["that"]]
        # Like Ansible's assert, `all` stops at the first condition that is not met.
        are_met.append(all(ansible.evaluate_conditional(trust_as_template(condition)) for condition in conditions))
        assert ansible.template(trust_as_template(check["fail_msg"])).startswith(message)
    assert all(are_met) is not is_refused


def entries(*states: str) -> list[dict[str, Any]]:
    return [{**EMPTY, "path": f"/dev/x{n}", "name": f"x{n}", "state": state} for n, state in enumerate(states, 1)]


@pytest.mark.parametrize(
    ("layout", "states", "places"),
    [
        ("jbod", ["empty", "empty"], ["/dohyo/x1", "/dohyo/x2"]),
        ("jbod", ["ours", "empty"], ["/dohyo/x2"]),
        ("raid0", ["empty"], ["/dohyo/data"]),
        ("raid0", ["ours", "empty"], []),
        ("", ["empty"], []),
    ],
)
def test_what_becomes_of_empty_devices(layout: str, states: list[str], places: list[str]) -> None:
    new_devices = host_devices.Host(LABEL, "/dohyo", "none", layout).new(entries(*states))
    assert [device["mount_point"] for device in new_devices] == places


def test_several_empty_devices_become_an_array_if_possible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_devices, "PATH", str(tmp_path))
    host = host_devices.Host(LABEL, "/dohyo", "none", "raid0")
    (volume,) = host.new(entries("empty", "empty"))
    assert (volume["path"], volume["devices"]) == (f"/dev/md/{LABEL}", ["/dev/x1", "/dev/x2"])
    assert (volume["state"], volume["mount_point"], volume["size_mb"]) == ("absent", "/dohyo/data", 20)
    assert "mdadm is missing: install the package mdadm, or set host_disk_layout=jbod" in volume["problem"]
    for program in ("mdadm", "modprobe"):
        (tmp_path / program).write_text("#!/bin/sh\nexit 0\n")
        (tmp_path / program).chmod(0o700)
    assert host.new(entries("empty", "empty"))[0]["problem"] == ""


def test_a_volume_has_the_room_that_is_free_once_mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = entries("ours")[0]
    host = host_devices.Host(LABEL, "/dohyo", "none", "jbod")
    assert host.volume(device["path"], [device], {"TYPE": "xfs"})["free_mb"] == device["size_mb"]
    mount = [device["path"], str(tmp_path), "xfs", "rw"]
    monkeypatch.setattr(host_devices, "mounts_of", lambda _: [mount])
    monkeypatch.setattr(host_devices, "free_mb", lambda path: {str(tmp_path): 3}[path])
    assert host.volume(device["path"], [device], {"TYPE": "xfs"})["free_mb"] == 3


def test_preflight_compares_the_data_with_the_room_that_is_free() -> None:
    text = yaml.safe_load((ANSIBLE / "roles/host/vars/main.yml").read_text("utf-8"))["_host_rooms_mb"]
    variables = {
        "_host_devices": ["/dev/x1"],
        "host_disks": {"volumes": [{"size_mb": 10_000, "free_mb": 3}]},
        "host_checked": {"rooms_mb": [5]},
    }
    (room,) = Templar(DataLoader(), variables=variables).template(trust_as_template(text))
    assert room == 3
    assert disk_shortages({"mysql": 100}, {"mysql": 1}, [room]) == [
        "mysql needs 100 MiB, has 3 in 1 of 1 folders; load fewer records, or add dohyo_devices"
    ]


@pytest.mark.parametrize(
    ("layout", "states", "refused"),
    [
        ("raid0", ["ours", "ours"], True),
        ("raid0", ["ours", "empty"], True),
        ("raid0", ["ours"], False),
        ("jbod", ["ours", "ours"], True),  # the volumes are mounted on /dohyo/data instead of a folder for each disk
        ("", ["ours", "ours"], False),
    ],
)
def test_another_layout_is_refused_with_the_way_out(layout: str, states: list[str], refused: bool) -> None:
    devices = entries(*states)
    before = host_devices.Host(LABEL, "/dohyo", "none", "raid0")
    volumes = [before.volume(disk["path"], [disk], {"TYPE": "xfs"}) for disk in devices if disk["state"] == "ours"]
    host_devices.Host(LABEL, "/dohyo", "none", layout).refuse_misfits(devices, volumes)
    message = devices[0]["problem"]
    assert bool(message) == refused
    assert not refused or (f"host_disk_layout={layout}" in message and "run destroy.yml, then deploy.yml" in message)
    assert {device["state"] == "refused" for device in devices} == {refused}


def test_the_table_names_the_disks_that_the_data_is_on() -> None:
    """The disks of dohyo_devices are named only if the data is on them."""

    def describe(data: list[str], layout: str, *mounts: str, mounted: bool = True, system: str = "mysql-innodb") -> str:
        volumes = [{"mount_point": mount, "mounted": mounted} for mount in mounts]
        disks = {"devices": [{"path": "/dev/a"}, {"path": "/dev/b"}], "volumes": volumes}
        more: dict[str, Any] = {"dohyo_devices": ["/dev/a", "/dev/b"], "host_disk_layout": layout, "host_disks": disks}
        return described(system, dohyo_data=data, cassandra_commitlog_folder="/mnt/log", **more).disks_in_words

    assert describe(["/dohyo/data"], "raid0", "/dohyo/data") == "RAID0 of 2 disks"
    assert describe(["/srv/slow"], "raid0", "/dohyo/data") == "1 folder"
    assert describe(["/dohyo/data"], "raid0", "/dohyo/data", mounted=False) == "1 folder"
    assert describe(["/dohyo/a", "/dohyo/b"], "jbod", "/dohyo/a", "/dohyo/b") == "JBOD, data on 1 of 2 disks"
    assert describe(["/srv/a", "/srv/b"], "jbod", "/dohyo/a", "/dohyo/b") == "data on 1 of 2 folders"
    on_two = describe(["/dohyo/data"], "raid0", "/dohyo/data", system="cassandra")
    assert on_two == "RAID0 of 2 disks, log on a disk of its own"
