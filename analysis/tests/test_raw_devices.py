"""Aerospike's raw devices on a loop device of this machine, and what its unit may open."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_scylla_role import play

from dohyo.places import ANSIBLE

SCRIPT = ANSIBLE / "systems/aerospike/files/raw-devices"
HEADER = 8 << 20
SIZE = 32 << 20


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    file = tmp_path / "disk"
    with file.open("wb") as disk:
        disk.truncate(SIZE)
    made = subprocess.run(["losetup", "--show", "-f", file], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no loop device: {made.stderr}")
    yield made.stdout.strip()
    subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)


def raw_devices(verb: str, home: Path, *devices: str) -> str:
    command: list[str | Path] = ["bash", SCRIPT, verb, home / "note", *devices]
    done = subprocess.run(command, env={**os.environ, "SYSTEMD": "False"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(device: str, offset: int, data: bytes = b"somebody's") -> None:
    with Path(device).open("r+b") as disk:
        disk.seek(offset)
        disk.write(data)


def test_a_device_with_data_is_refused_unless_a_trial_of_ours_has_left_it(device: str, tmp_path: Path) -> None:
    assert raw_devices("look", tmp_path, device) == ""
    write(device, HEADER - 100)
    assert f"{device} is not empty; if nothing on it is needed, as root: blkdiscard -z {device}" in raw_devices(
        "look", tmp_path, device
    )
    raw_devices("end", tmp_path, device)
    assert "is not empty" in raw_devices("look", tmp_path, device), "it was not ours, and is gone"
    with pytest.raises(AssertionError, match=f"{device} is not empty"):
        raw_devices("clear", tmp_path, device)
    assert b"somebody's" in Path(device).read_bytes()
    write(device, HEADER - 100, bytes(10))
    write(device, SIZE - 100)
    raw_devices("clear", tmp_path, device)
    assert Path(device).read_bytes() == bytes(SIZE)
    write(device, 0)
    assert raw_devices("look", tmp_path, device) == "", "it is ours until the trial has ended"
    raw_devices("end", tmp_path, device)
    assert Path(device).read_bytes()[:HEADER] == bytes(HEADER)
    write(device, 0)
    assert "is not empty" in raw_devices("look", tmp_path, device)


def test_a_file_system_and_what_is_no_device_are_refused_by_name(device: str, tmp_path: Path) -> None:
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    assert f"{device} is not empty (ext4)" in raw_devices("look", tmp_path, device)
    assert "no block device" in raw_devices("look", tmp_path, str(tmp_path / "disk"))


def test_a_device_is_named_once(device: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(device)
    problem = f"{link} is the same device as {device}; name it once in aerospike_devices\n"
    assert raw_devices("look", tmp_path, device, str(link)) == problem


def test_a_device_in_use_is_neither_cleared_nor_to_be_emptied(device: str, tmp_path: Path) -> None:
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    place = tmp_path / "place"
    place.mkdir()
    command: list[str | Path] = [
        *("unshare", "-m", "sh", "-euc", 'mount "$1" "$2" && exec bash "$3" "$4" "$5" "$1"', "sh"),
        *(device, place, SCRIPT),
    ]
    mounted = f"{device} is mounted on {place}; take it out of aerospike_devices\n"
    for verb, answer in (("look", (0, mounted, "")), ("clear", (1, "", mounted))):
        done = subprocess.run(
            [*command, verb, tmp_path / "note"], env={**os.environ, "SYSTEMD": "False"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == answer
    assert not (tmp_path / "note").exists()
    assert "is not empty (ext4)" in raw_devices("look", tmp_path, device)


@pytest.mark.slow
def test_a_unit_may_open_its_devices_only_and_has_the_priority_that_it_asks_for(tmp_path: Path) -> None:
    given = {"service_name": "x", "service_folder": "/srv", "service_command": ["/bin/x"], "service_stop_timeout": 1}
    role = {"include_role": {"name": "service", "tasks_from": "stop", "public": True, "apply": {"when": False}}}
    template = ANSIBLE / "roles/service/templates/unit.service.j2"
    units = {
        "plain": {},
        "raw": {"service_devices": ["/dev/disk/by-id/nvme-A"]},
        "fast": {"service_capabilities": ["CAP_SYS_NICE"]},
    }
    tasks = [role, {"set_fact": {"unit": f"{{{{ lookup('ansible.builtin.template', '{template}') }}}}"}}]
    facts = play(tmp_path, tasks, units, 0, ["unit"], dohyo_home=str(tmp_path), dohyo_deployment="0", **given)
    fast, plain, raw = (set(unit.splitlines()) for unit in facts["unit"])  # in the order of their names
    assert raw - plain >= {"SupplementaryGroups=disk", "DevicePolicy=closed", "DeviceAllow=/dev/disk/by-id/nvme-A rw"}
    assert not [line for line in plain if "Device" in line]
    assert "RestrictRealtime=yes" in plain
    assert "RestrictRealtime=no" in fast
