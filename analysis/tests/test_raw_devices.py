"""Tests Aerospike's raw devices, on a loop device of this machine, and the devices that its unit may open."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dohyo.places import ANSIBLE
from dohyo.trial import processes

SCRIPT = ANSIBLE / "systems/aerospike/files/raw-devices"
HEADER = 8 << 20
SIZE = 32 << 20
LABEL = "dohyo-0123ab"
LARGEST = 40  # in MiB; larger devices are partitioned
LARGE = 100 << 20
SURROUNDINGS = {**os.environ, "SYSTEMD": "False", "LABEL": LABEL, "LARGEST": str(LARGEST)}


def attached(file: Path, size: int) -> Iterator[str]:
    with file.open("wb") as disk:
        disk.truncate(size)
    loop = subprocess.run(["losetup", "--show", "--partscan", "-f", file], capture_output=True, text=True, check=False)
    if loop.returncode != 0:
        pytest.skip(f"no loop device: {loop.stderr}")
    yield loop.stdout.strip()
    subprocess.run(["losetup", "-d", loop.stdout.strip()], check=True)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    yield from attached(tmp_path / "disk", SIZE)


@pytest.fixture
def large(tmp_path: Path) -> Iterator[str]:
    """Creates a disk larger than `LARGEST`, which is low here because zeros written to a loop device use disk space."""
    if not shutil.which("sfdisk"):
        pytest.skip("no sfdisk: install the package fdisk")
    yield from attached(tmp_path / "large", LARGE)


def raw_devices(verb: str, home: Path, *devices: str, label: str = LABEL) -> str:
    command: list[str | Path] = ["bash", SCRIPT, verb, home / "note", *devices]
    variables = {**SURROUNDINGS, "LABEL": label}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(device: str, offset: int, data: bytes = b"somebody's") -> None:
    with Path(device).open("r+b") as disk:
        disk.seek(offset)
        disk.write(data)


def test_a_device_with_data_is_refused_unless_a_trial_of_ours_has_left_it(device: str, tmp_path: Path) -> None:
    assert raw_devices("look", tmp_path, device) == ""
    write(device, HEADER - 100)
    assert f"{device} is not empty; if nothing on it is needed, run as root: blkdiscard -z {device}" in raw_devices(
        "look", tmp_path, device
    )
    raw_devices("end", tmp_path, device)
    assert "is not empty" in raw_devices("look", tmp_path, device), "Dohyo must not clear data that it did not write"
    with pytest.raises(AssertionError, match=f"{device} is not empty"):
        raw_devices("clear", tmp_path, device)
    assert b"somebody's" in Path(device).read_bytes()
    write(device, HEADER - 100, bytes(10))
    write(device, SIZE - 100)
    raw_devices("clear", tmp_path, device)
    assert Path(device).read_bytes() == bytes(SIZE)
    write(device, 0)
    assert raw_devices("look", tmp_path, device) == "", "until the trial ends, Dohyo may clear the device"
    raw_devices("end", tmp_path, device)
    assert Path(device).read_bytes()[:HEADER] == bytes(HEADER)
    write(device, 0)
    assert "is not empty" in raw_devices("look", tmp_path, device)


def test_a_device_above_the_limit_gets_equal_partitions_which_are_ours_until_undone(large: str, tmp_path: Path) -> None:
    parts = [f"{large}p{number}" for number in (1, 2, 3)]
    assert raw_devices("parts", tmp_path, large).split() == parts
    assert raw_devices("look", tmp_path, large) == ""
    assert raw_devices("ours", tmp_path) == ""
    raw_devices("clear", tmp_path, large)
    sizes = {Path(f"/sys/class/block/{Path(part).name}/size").read_text() for part in parts}
    assert len(sizes) == 1, sizes
    assert int(sizes.pop()) * 512 == 32 << 20, "each partition has a third of the space between the partition tables"
    write(parts[1], 0)
    assert raw_devices("look", tmp_path, large) == "", "Dohyo may clear partitions that have its label"
    assert "has partitions" in raw_devices("look", tmp_path, large, label="dohyo-456789")
    assert raw_devices("ours", tmp_path, label="dohyo-456789") == ""
    raw_devices("undo", tmp_path, label="dohyo-456789")
    raw_devices("end", tmp_path, large)
    assert Path(parts[1]).read_bytes()[:HEADER] == bytes(HEADER)
    assert raw_devices("ours", tmp_path) == f"{large}\n"
    assert raw_devices("undo", tmp_path) == f"{large}\n"
    assert not any(Path(part).exists() for part in parts)
    assert raw_devices("look", tmp_path, large) == "", "the device must be empty again"


def test_partitions_in_use_are_neither_cleared_nor_undone(large: str, tmp_path: Path) -> None:
    raw_devices("clear", tmp_path, large)
    subprocess.run(["mkfs.ext4", "-q", f"{large}p1", "16M"], check=True)
    mount_point = tmp_path / "place"
    mount_point.mkdir()
    script = 'mount "$1" "$2" && bash "$3" undo "$4" && bash "$3" look "$4" "$5"'
    command: list[str | Path] = [
        *("unshare", "-m", "sh", "-euc", script, "sh", f"{large}p1", mount_point, SCRIPT, tmp_path / "note", large)
    ]
    done = subprocess.run(command, env=SURROUNDINGS, capture_output=True, text=True, check=True)
    assert done.stdout == f"{large} is mounted on {mount_point}; take it out of aerospike_devices\n"
    assert raw_devices("undo", tmp_path) == f"{large}\n"


def test_a_file_system_and_what_is_no_device_are_refused_by_name(device: str, tmp_path: Path) -> None:
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    assert f"{device} is not empty (ext4)" in raw_devices("look", tmp_path, device)
    assert "is not a block device" in raw_devices("look", tmp_path, str(tmp_path / "disk"))


def test_a_device_is_named_once(device: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(device)
    problem = f"{link} is the same device as {device}; name it once in aerospike_devices\n"
    assert raw_devices("look", tmp_path, device, str(link)) == problem


def test_a_device_in_use_is_neither_cleared_nor_to_be_emptied(device: str, tmp_path: Path) -> None:
    subprocess.run(["mkfs.ext4", "-q", device], check=True)
    mount_point = tmp_path / "place"
    mount_point.mkdir()
    command: list[str | Path] = [
        *("unshare", "-m", "sh", "-euc", 'mount "$1" "$2" && exec bash "$3" "$4" "$5" "$1"', "sh"),
        *(device, mount_point, SCRIPT),
    ]
    mounted = f"{device} is mounted on {mount_point}; take it out of aerospike_devices\n"
    for verb, answer in (("look", (0, mounted, "")), ("clear", (1, "", mounted))):
        done = subprocess.run(
            [*command, verb, tmp_path / "note"], env=SURROUNDINGS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == answer
    assert not (tmp_path / "note").exists()
    assert "is not empty (ext4)" in raw_devices("look", tmp_path, device)


def test_a_unit_may_open_its_devices_only_and_has_the_priority_that_it_asks_for() -> None:
    def lines(devices: Sequence[str] = (), capabilities: Sequence[str] = ()) -> set[str]:
        text = processes.unit(
            "x", "/srv", ["/bin/x"], log="log", writes=[], devices=devices, capabilities=capabilities,
            stop_seconds=1, slice_="", cpus="", open_files=1024,
        )  # fmt: skip
        return set(text.splitlines())

    plain, raw, fast = lines(), lines(devices=["/dev/disk/by-id/nvme-A"]), lines(capabilities=["CAP_SYS_NICE"])
    assert raw - plain >= {"SupplementaryGroups=disk", "DevicePolicy=closed", "DeviceAllow=/dev/disk/by-id/nvme-A rw"}
    assert not [line for line in plain if "Device" in line]
    assert "RestrictRealtime=yes" in plain
    assert "RestrictRealtime=no" in fast
