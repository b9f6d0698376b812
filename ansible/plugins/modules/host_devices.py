"""Ansible module: tells empty block devices from those that Dohyo has formatted and from anybody else's.

It looks at exactly the given devices, as root, and changes nothing. A device is ``empty`` if it is a whole device
without a partition, a file system or any other signature that libblkid knows, is mounted nowhere, and is not in use
(RAID, LVM, swap). It is ``ours`` if it has an XFS with our label that is mounted only below ``root``. Otherwise it is
``refused``, also if the mount point belongs to somebody else.

Returns ``devices``, each with ``path``, ``name`` (the kernel's), ``kind`` (nvme, ssd, rotational), ``size_mb``,
``state``, ``uuid`` of the file system, ``source`` that names it in /etc/fstab, ``mount_point`` (present or future),
``mounted``, its mount ``options``, ``problem`` (why it was refused) and ``foreign`` (what on ours is not ours).
"""

from __future__ import annotations

import os
import stat
import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.ours import NotOursError, decoded, path_of, shown, why_not


def table(file: str) -> list[list[str]]:
    """Lines of /proc/self/mounts or /etc/fstab, in fields."""
    try:
        with open(file, encoding="utf-8") as lines:
            rows = [line.split() for line in lines if not line.startswith("#")]
    except FileNotFoundError:
        return []
    return [[decoded(row[0]), decoded(row[1]), *row[2:]] for row in rows if len(row) >= 4]


def signatures(path: str) -> dict[str, str]:
    """What libblkid sees on the device itself, without its cache; raises ValueError if it cannot tell."""
    probe = subprocess.run(["blkid", "-p", "-o", "export", path], capture_output=True, text=True, check=False)
    if probe.returncode == 2 and not probe.stderr.strip():
        return {}
    if probe.returncode != 0:
        raise ValueError(probe.stderr.strip() or "blkid finds signatures that contradict each other")
    pairs = (line.partition("=") for line in probe.stdout.splitlines())
    return {key: value for key, _, value in pairs}


def number_of(path: str) -> tuple[int, int] | None:
    """Major and minor number of a block device; None if the path is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (os.major(status.st_rdev), os.minor(status.st_rdev)) if stat.S_ISBLK(status.st_mode) else None


def text(path: str) -> str:
    """Contents of a file of /sys; empty if it is not there."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def foreign(path: str, sysfs: str, found: dict[str, str], places: list[str], label: str, root: str) -> str:
    """Why a device is not for us, or nothing."""
    whole = f"{path}: "
    if os.path.exists(f"{sysfs}/partition"):
        return f"{whole}it is a partition; name a whole device"
    partitions = [name for name in os.listdir(sysfs) if os.path.exists(f"{sysfs}/{name}/partition")]
    way_out = f"if nothing on it is needed: sudo wipefs --all {path}; or take it out of dohyo_devices"
    if partitions or "PTTYPE" in found:
        return f"{whole}it has partitions ({', '.join(sorted(partitions)) or found['PTTYPE']}); {way_out}"
    elsewhere = [place for place in places if not place.startswith(f"{root}/")]
    if elsewhere:
        return f"{whole}it is mounted on {', '.join(elsewhere)}; take it out of dohyo_devices"
    holders = os.listdir(f"{sysfs}/holders") if os.path.isdir(f"{sysfs}/holders") else []
    if holders:
        return f"{whole}it is in use by {', '.join(holders)}; take it out of dohyo_devices"
    if found and (found.get("TYPE"), found.get("LABEL")) != ("xfs", label):
        what = " ".join(filter(None, (found.get("TYPE") or "a signature", found.get("LABEL"))))
        theirs = "belongs to another deployment" if found.get("LABEL", "").startswith("dohyo-") else "is not empty"
        return f"{whole}it {theirs} ({what}); {way_out}"
    return ""


def look(path: str, label: str, root: str, deployment: str) -> dict[str, Any]:
    """One entry of the answer."""
    entry: dict[str, Any] = {
        "path": path, "name": os.path.basename(path), "kind": "ssd", "size_mb": 0, "state": "refused", "uuid": "",
        "source": "",
        "mount_point": f"{root}/{os.path.basename(path)}", "mounted": False, "options": "", "problem": "",
        "foreign": "",
    }  # fmt: skip
    number = number_of(path)
    if number is None:
        there = "is no block device" if os.path.exists(path) else "is not there"
        return {**entry, "problem": f"{path}: it {there}; lsblk shows the host's devices, dohyo_devices names them"}
    sysfs = os.path.realpath(f"/sys/dev/block/{number[0]}:{number[1]}")
    entry["name"] = os.path.basename(sysfs)
    if entry["name"].startswith("nvme"):
        entry["kind"] = "nvme"
    elif text(f"{sysfs}/queue/rotational") == "1":
        entry["kind"] = "rotational"
    entry["size_mb"] = int(text(f"{sysfs}/size") or 0) * 512 // 2**20
    try:
        found = signatures(path)
    except (ValueError, OSError) as error:
        return {**entry, "problem": f"{path}: what is on it cannot be seen: {error}"}
    mounts = [row for row in table("/proc/self/mounts") if row[0].startswith("/") and number_of(row[0]) == number]
    # A path of a device that is bound into a container is no mount of what is on it.
    mounts = [row for row in mounts if row[1] != path]
    entry["problem"] = foreign(path, sysfs, found, [row[1] for row in mounts], label, root)
    if entry["problem"]:
        return entry
    entry["state"] = "ours" if found else "empty"
    entry["uuid"] = found.get("UUID", "")
    # Names of devices may change at a boot; what fstab says of the file system stays. Without udev (in a container)
    # nobody finds a file system by its UUID.
    entry["source"] = f"UUID={entry['uuid']}" if os.path.isdir("/dev/disk/by-uuid") else path
    for row in table("/etc/fstab"):
        if row[0] == entry["source"] and row[1].startswith(f"{root}/"):
            entry["mount_point"] = row[1]
    for row in mounts:
        entry.update(mounted=True, mount_point=row[1], options=row[3], foreign=foreign_on(row[1], deployment))
    return {**entry, **taken(entry)}


def taken(entry: dict[str, Any]) -> dict[str, str]:
    """What refuses a device whose mount point is somebody else's."""
    place, way_out = entry["mount_point"], "that is not ours; move it, or take the device out of dohyo_devices"
    if entry["mounted"]:
        return {}
    for row in [*table("/proc/self/mounts"), *table("/etc/fstab")]:
        if row[1] == place and row[0] != entry["source"]:
            return {"state": "refused", "problem": f"{entry['path']}: {row[0]} is to be mounted on {place}, {way_out}"}
    if (
        os.path.islink(place)
        or (os.path.lexists(place) and not os.path.isdir(place))
        or (os.path.isdir(place) and os.listdir(place))
    ):
        return {
            "state": "refused",
            "problem": f"{entry['path']}: {place}, where it would be mounted, holds something {way_out}",
        }
    return {}


def foreign_on(place: str, deployment: str) -> str:
    """What on a file system of ours is not ours; empty if nothing is."""
    others = [name for name in sorted(os.listdir(place)) if name != "dohyo"]
    if others:
        return f"{place} holds {', '.join(map(shown, others[:4]))}"
    try:
        data = path_of(place, "dohyo")
        found = [
            why_not(os.path.join(data, name), deployment) for name in (os.listdir(data) if os.path.isdir(data) else [])
        ]
    except NotOursError as error:
        return str(error)
    return shown("; ".join(filter(None, found)))


def main() -> None:
    """Read the parameters, look, answer."""
    module = AnsibleModule(
        argument_spec={
            "devices": {"type": "list", "elements": "str", "required": True},  # paths
            "label": {"type": "str", "required": True},  # of our file systems
            "root": {"type": "path", "required": True},  # the folder of our mount points
            "deployment": {"type": "str", "required": True},  # whose mark the folders on our file systems carry
        },
        supports_check_mode=True,
    )
    label, root, deployment = (module.params[name] for name in ("label", "root", "deployment"))
    module.exit_json(changed=False, devices=[look(path, label, root, deployment) for path in module.params["devices"]])


if __name__ == "__main__":
    main()
