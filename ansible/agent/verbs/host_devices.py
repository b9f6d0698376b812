"""Classifies block devices: empty, formatted by Dohyo, or in other use.

Needs root, reads only the given devices, and changes nothing. A name with ``*``, ``?`` or ``[`` is a pattern of links, such as
``/dev/disk/by-id/nvme-MODEL_*``; partitions that match are ignored. Several links to one device count once. A device is ``empty``
if it is not in use (mount, RAID, LVM, swap) and has no partition, file system or other signature that libblkid recognises. It is
``ours`` if it contains an XFS with Dohyo's label that is mounted only below ``root``. It is a ``member`` if it belongs to an md
array with that name. Otherwise, or if its mount point is not Dohyo's or it does not fit the requested layout, it is ``refused``.
"""

from __future__ import annotations

import glob
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Sequence
from typing import Any

from disks import kind_of, sysfs_of, text
from failure import AgentError
from folder_marks import NotOursError, decoded, expanded, foreign_in, free_mb, path_of, shown

# libblkid's TYPE of a device in an md array. Dohyo's arrays use version-1 metadata, which contains a name.
MEMBER = "linux_raid_member"
LAYOUTS = ("raid0", "jbod")
# Mount point of the single volume that the layout raid0 creates.
ONE = "data"
# PATH that includes the folders of administrative programs, which root's PATH may lack.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def table(file: str) -> list[list[str]]:
    """Returns the fields of each line of a file like /proc/self/mounts or /etc/fstab."""
    try:
        with open(file, encoding="utf-8") as lines:
            rows = [line.split() for line in lines if not line.startswith("#")]
    except FileNotFoundError:
        return []
    return [[decoded(row[0]), decoded(row[1]), *row[2:]] for row in rows if len(row) >= 4]


def signatures(path: str) -> dict[str, str]:
    """Returns the signatures that libblkid finds on the device when it bypasses its cache. Raises ValueError if blkid fails."""
    probe = subprocess.run(["blkid", "-p", "-o", "export", path], capture_output=True, text=True, check=False)
    if probe.returncode == 2 and not probe.stderr.strip():
        return {}
    if probe.returncode != 0:
        raise ValueError(probe.stderr.strip() or "blkid finds signatures that contradict each other")
    pairs = (line.partition("=") for line in probe.stdout.splitlines())
    # blkid escapes characters that are special in shells, such as the colon in an array's name.
    return {key: re.sub(r"\\(.)", r"\1", value) for key, _, value in pairs}


def number_of(path: str) -> tuple[int, int] | None:
    """Returns the major and minor number of a block device, or None if the path is not one."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (os.major(status.st_rdev), os.minor(status.st_rdev)) if stat.S_ISBLK(status.st_mode) else None


def resolved(names: Sequence[str]) -> list[str]:
    """Returns each device once. A pattern without a match stays in the list and counts as a missing device."""
    devices: dict[tuple[int, int] | str, str] = {}
    for name in names:
        if not glob.has_magic(name):
            devices.setdefault(number_of(name) or name, name)
            continue
        # Take the shortest of several links to one disk; newer versions of udev add links that end with -ns-1 or _1.
        matches = sorted(glob.glob(name), key=lambda path: (len(path), path))
        whole = [(number, path) for path in matches if (number := number_of(path)) and not is_partition(number)]
        for number, path in sorted(whole, key=lambda item: item[1]):
            if number not in devices or len(path) < len(devices[number]):
                devices[number] = path
        if not whole:
            devices[name] = name
    return list(devices.values())


def is_partition(number: tuple[int, int]) -> bool:
    """Returns whether the device is a partition."""
    return os.path.exists(f"{sysfs_of(number)}/partition")


def lasting_name(path: str, folder: str = "/dev/disk/by-id") -> str:
    """Returns udev's link to the disk, which does not change if the kernel renames the disk at a boot, or "" without a link."""
    number = number_of(path)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    links = [link for link in (f"{folder}/{name}" for name in names) if number_of(link) == number]
    # Prefer links with the model and serial number to links with an identifier of the protocol.
    return min(
        links,
        key=lambda link: (bool(re.search(r"/(nvme-(eui|nvme)\.|nvme-uuid|wwn-)", link)), len(link), link),
        default="",
    )


def holders(sysfs: str) -> list[str]:
    """Returns the names of the arrays and volumes that use a device."""
    return sorted(os.listdir(f"{sysfs}/holders")) if os.path.isdir(f"{sysfs}/holders") else []


def named(signature: dict[str, str]) -> str:
    """Returns the name in the array's superblock, without the host name that mdadm may prepend."""
    return signature.get("LABEL", "").rpartition(":")[2]


def of_an_array(path: str, signature: dict[str, str], label: str) -> str:
    """Returns why Dohyo must not use this member of an array, or an empty string if the array is Dohyo's."""
    if named(signature) == label:
        return ""
    owner = "another deployment's" if named(signature).startswith("dohyo-") else "another program's"
    return f"{path}: it is part of {owner} RAID ({signature.get('LABEL', 'without a name')}); take it out of dohyo_devices"


def foreign(  # noqa: PLR0911 - one return per reason
    path: str, sysfs: str, signature: dict[str, str], places: list[str], label: str, root: str
) -> str:
    """Returns why Dohyo must not use a device, or an empty string if it may."""
    whole = f"{path}: "
    if os.path.exists(f"{sysfs}/partition"):
        return f"{whole}it is a partition; name a whole device"
    partitions = [name for name in os.listdir(sysfs) if os.path.exists(f"{sysfs}/{name}/partition")]
    way_out = f"if nothing on it is needed, run as root: wipefs --all {path}; or take it out of dohyo_devices"
    if partitions or "PTTYPE" in signature:
        return f"{whole}it has partitions ({', '.join(sorted(partitions)) or signature['PTTYPE']}); {way_out}"
    mounts = [mount for mount in places if not mount.startswith(f"{root}/")]
    if mounts:
        return f"{whole}it is mounted on {', '.join(mounts)}; take it out of dohyo_devices"
    if signature.get("TYPE") == MEMBER:
        return of_an_array(path, signature, label)
    if holders(sysfs):
        return f"{whole}it is in use by {', '.join(holders(sysfs))}; take it out of dohyo_devices"
    if signature and (signature.get("TYPE"), signature.get("LABEL")) != ("xfs", label):
        content = " ".join(filter(None, (signature.get("TYPE") or "a signature", signature.get("LABEL"))))
        state = "belongs to another deployment" if signature.get("LABEL", "").startswith("dohyo-") else "is not empty"
        return f"{whole}it {state} ({content}); {way_out}"
    return ""


class Host:
    """Describes the devices of a host and the volumes on them."""

    def __init__(self, label: str, root: str, deployment: str, layout: str) -> None:
        """Has the same parameters as `answer`."""
        self._label, self._root, self._deployment, self._layout = (label, root, deployment, layout)

    def device(self, path: str) -> tuple[dict[str, Any], dict[str, str]]:
        """Returns the entry of a device and the device's signatures."""
        entry: dict[str, Any] = {
            "path": path, "name": os.path.basename(path), "kind": "ssd", "size_mb": 0, "state": "refused",
            "discards": False, "problem": "",
        }  # fmt: skip
        number = number_of(path)
        if number is None:
            reason = "is not a block device" if os.path.exists(path) else "is not there"
            hint = "ls -l /dev/disk/by-id shows the host's disks" if os.path.isdir("/dev/disk/by-id") else "lsblk shows the host's devices"
            return {**entry, "problem": f"{path}: it {reason}; {hint} to name in dohyo_devices"}, {}
        sysfs = sysfs_of(number)
        entry.update(measured(sysfs))
        lasting = lasting_name(path) if re.fullmatch(r"/dev/nvme\d+n\d+", path) else ""
        if lasting and self._layout:
            problem = f"{path}: after the next boot another disk may have this number; name {lasting} in dohyo_devices"
            return {**entry, "problem": problem}, {}
        try:
            signature = signatures(path)
        except (ValueError, OSError) as error:
            return {**entry, "problem": f"{path}: its content cannot be identified: {error}"}, {}
        entry["problem"] = foreign(path, sysfs, signature, [row[1] for row in mounts_of(path)], self._label, self._root)
        if not entry["problem"]:
            entry["state"] = "empty" if not signature else "member" if signature["TYPE"] == MEMBER else "ours"
        return entry, signature

    def look(self, paths: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
        """Returns the entries of all devices and volumes."""
        looked = [self.device(path) for path in resolved(paths)]
        devices = [entry for entry, _ in looked]
        members: dict[str, list[dict[str, Any]]] = {}
        for entry, signature in looked:
            if entry["state"] == "member":
                members.setdefault(signature.get("UUID", ""), []).append(entry)
        volumes = [self.array(group) for group in members.values()]
        volumes += [self.volume(entry["path"], [entry], contents) for entry, contents in looked if entry["state"] == "ours"]
        volumes += self.new(devices)
        self.refuse_misfits(devices, volumes)
        for volume in volumes:
            problem = volume.pop("problem") or taken(volume)
            for member in [entry for entry in devices if problem and entry["path"] in volume["devices"]]:
                # Report the problem of an array only once, for its first device.
                member.update(state="refused", problem=problem if member["path"] == volume["devices"][0] else "")
        refused = {entry["path"] for entry in devices if entry["state"] == "refused"}
        return {"devices": devices, "volumes": [item for item in volumes if refused.isdisjoint(item["devices"])]}

    def array(self, members: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns the entry of Dohyo's array to which these devices belong."""
        paths = ", ".join(member["path"] for member in members)
        names = sorted({name for member in members for name in holders(f"/sys/class/block/{member['name']}")})
        if not names:
            return self.volume(f"/dev/md/{self._label}", members, {}, state="stopped")
        path, md = f"/dev/{names[0]}", f"/sys/class/block/{names[0]}/md"
        count, state = text(f"{md}/raid_disks"), text(f"{md}/array_state")
        if count != str(len(members)) or state in ("", "clear", "inactive"):
            problem = (
                f"{paths}: {len(members)} of {count or '?'} devices of RAID0 {path} ({state or 'not running'}); name all in dohyo_devices"
            )
            return {**self.volume(path, members, {}, array=True), "problem": problem}
        try:
            signature = signatures(path)
        except (ValueError, OSError) as error:
            return {
                **self.volume(path, members, {}, array=True),
                "problem": f"{path}: its content cannot be identified: {error}",
            }
        volume = self.volume(path, members, signature, array=True)
        if signature and (signature.get("TYPE"), signature.get("LABEL")) != ("xfs", self._label):
            content = " ".join(filter(None, (signature.get("TYPE") or "a signature", signature.get("LABEL"))))
            volume["problem"] = f"{paths}: Dohyo's RAID0 {path} contains {content}; remove that, or change dohyo_devices"
        elif any(not row[1].startswith(f"{self._root}/") for row in mounts_of(path)):
            volume["problem"] = f"{paths}: {path} is mounted outside {self._root}; unmount it"
        return volume

    def new(self, devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the volumes to create on empty devices. There are none without a layout. An array needs only empty devices."""
        empty = [entry for entry in devices if entry["state"] == "empty"]
        if self._layout == "jbod" or (self._layout and len(devices) == 1):
            return [self.volume(entry["path"], [entry], {}) for entry in empty]
        if self._layout != "raid0" or not empty or len(empty) < len(devices):
            return []
        return [{**self.volume(f"/dev/md/{self._label}", empty, {}, state="absent"), "problem": no_array()}]

    def volume(
        self, path: str, members: list[dict[str, Any]], signature: dict[str, str], *, state: str = "", array: bool = False
    ) -> dict[str, Any]:
        """Returns the entry of a volume, including its current or future mount point."""
        array = array or bool(state)
        entry: dict[str, Any] = {
            "path": path, "name": members[0]["name"], "devices": [member["path"] for member in members], "array": array,
            "kind": "array" if array else members[0]["kind"], "size_mb": sum(member["size_mb"] for member in members),
            "discards": all(member["discards"] for member in members), "uuid": signature.get("UUID", ""),
            "state": state or ("ours" if signature else "empty"), "mount_point": self.place(members[0]["path"]),
            "mounted": False, "options": "", "fstab": "", "owner": "", "foreign": "", "problem": "",
        }  # fmt: skip
        entry["free_mb"] = entry["size_mb"]
        number = number_of(path)
        if array and number:
            entry.update(name=os.path.basename(sysfs_of(number)), discards=measured(sysfs_of(number))["discards"])
        # Device names may change at a boot, so fstab contains the UUID. Without udev, as in a container, the UUID cannot be
        # resolved to a file system.
        entry["source"] = f"UUID={entry['uuid']}" if os.path.isdir("/dev/disk/by-uuid") else path
        for row in table("/etc/fstab"):
            if row[0] == entry["source"] and row[1].startswith(f"{self._root}/"):
                entry.update(mount_point=row[1], fstab=row[3])
        for row in mounts_of(path):
            entry.update(mounted=True, mount_point=row[1], options=row[3], foreign=foreign_on(row[1], self._deployment))
            entry["owner"] = owner_of(row[1])
            entry["free_mb"] = free_mb(row[1])
        return entry

    def place(self, path: str) -> str:
        """Returns the mount point of the volume on this device, or of the array whose first member is this device."""
        return f"{self._root}/{os.path.basename(path) if self._layout == 'jbod' else ONE}"

    def refuse_misfits(self, devices: list[dict[str, Any]], volumes: list[dict[str, Any]]) -> None:
        """Refuses all devices if Dohyo's volumes do not have the requested layout, unless another problem has been reported."""
        if not self._layout or any(entry["problem"] for entry in [*devices, *volumes]):
            return
        together = self._layout == "raid0" and len(devices) > 1
        fit = [
            volume
            for volume in volumes
            if volume["array"] == together
            and len(volume["devices"]) == (len(devices) if together else 1)
            and volume["mount_point"] == self.place(volume["devices"][0])
        ]
        if len(fit) == len(volumes) == (1 if together else len(devices)):
            return
        are = [
            f"{' + '.join(volume['devices'])} {'is a RAID0' if volume['array'] else 'has its own file system'}"
            f"{' on ' + volume['mount_point'] if volume['mounted'] else ''}"
            for volume in volumes
        ]
        are += [f"{entry['path']} is empty" for entry in devices if not any(entry["path"] in volume["devices"] for volume in volumes)]
        devices[0]["problem"] = (
            f"{'; '.join(are)}: not host_disk_layout={self._layout}; run destroy.yml, then deploy.yml, or restore settings"
        )
        for entry in devices:
            entry["state"] = "refused"


def no_array() -> str:
    """Returns why the host cannot create an array, or an empty string if it can."""
    makes = "host_disk_layout=raid0 makes one RAID0 of several devices"
    alternative = "or set host_disk_layout=jbod, which mounts each device separately"
    if not shutil.which("mdadm", path=PATH):
        return f"{makes}, but mdadm is missing: install the package mdadm, {alternative}"
    probe = ["modprobe", "--dry-run", "--quiet", "raid0"]
    if os.path.exists("/proc/mdstat") or (
        shutil.which(probe[0], path=PATH) and not subprocess.run(probe, env={"PATH": PATH}, capture_output=True, check=False).returncode
    ):
        return ""
    return f"{makes}, but this kernel lacks the module raid0: install it, {alternative}"


def measured(sysfs: str) -> dict[str, Any]:
    """Returns what the kernel reports about a device: its kind, its size, and whether it supports discards."""
    return {
        "name": os.path.basename(sysfs),
        "kind": kind_of(sysfs),
        "size_mb": int(text(f"{sysfs}/size") or 0) * 512 // 2**20,
        "discards": text(f"{sysfs}/queue/discard_max_bytes") not in ("", "0"),
    }


def mounts_of(path: str) -> list[list[str]]:
    """Returns the mounts of a device from /proc/self/mounts, except bind mounts of the device file in a container."""
    number = number_of(path)
    rows = [row for row in table("/proc/self/mounts") if row[0].startswith("/") and number_of(row[0]) == number]
    return [row for row in rows if number and row[1] != path]


def owner_of(folder: str) -> str:
    """Returns the user to whom a folder belongs; "" if it has another mode than 0755, or if the user has no name."""
    status = os.stat(folder)
    try:
        return pwd.getpwuid(status.st_uid).pw_name if stat.S_IMODE(status.st_mode) == 0o755 else ""
    except KeyError:
        return ""


def taken(volume: dict[str, Any]) -> str:
    """Returns why Dohyo must not use a volume's mount point, or an empty string if it may."""
    point, paths = volume["mount_point"], ", ".join(volume["devices"])
    way_out = "move that, or take the device out of dohyo_devices"
    # The UUID of a file system on a stopped array is unknown, so its line in /etc/fstab cannot be recognised.
    if volume["mounted"] or volume["state"] == "stopped":
        return ""
    for row in [*table("/proc/self/mounts"), *table("/etc/fstab")]:
        if row[1] == point and row[0] != volume["source"]:
            return f"{paths}: {row[0]} is mounted on {point}, or will be by /etc/fstab; {way_out}"
    if os.path.islink(point) or (os.path.lexists(point) and not os.path.isdir(point)) or (os.path.isdir(point) and os.listdir(point)):
        return f"{paths}: the mount point {point} is not an empty folder; {way_out}"
    return ""


def foreign_on(mount_point: str, deployment: str) -> str:
    """Returns the names of files on one of Dohyo's file systems that Dohyo did not create, or an empty string."""
    extra = [name for name in sorted(os.listdir(mount_point)) if name != "dohyo"]
    if extra:
        return f"{mount_point} contains {', '.join(map(shown, extra[:4]))}"
    try:
        data = path_of(mount_point, "dohyo")
        names = sorted(os.listdir(data)) if os.path.isdir(data) else []
        return shown("; ".join(problem for name in names for problem in foreign_in(os.path.join(data, name), deployment)))
    except NotOursError as error:
        return str(error)


def answer(devices: Sequence[str], label: str, root: str, deployment: str, layout: str = "") -> dict[str, Any]:
    """Classifies devices and describes the volumes on them.

    :param devices: paths or patterns of paths
    :param label: label of Dohyo's file systems and arrays
    :param root: folder of Dohyo's mount points
    :param deployment: deployment that the marks of folders on Dohyo's file systems must name
    :param layout: requested layout; "" accepts every layout, so that it can be removed
    :returns: ``devices``, each with ``path``, ``name`` (the kernel's), ``kind`` (nvme, ssd, rotational), ``size_mb``, ``state``,
        ``discards`` (whether it supports discards) and ``problem`` (why it was refused); and ``volumes``, which have a file system or
        will get one. Each has ``path``, ``name``, ``devices`` (paths), ``array`` (whether it is one), ``kind`` (also ``array``),
        ``size_mb``, ``free_mb`` (of the mounted file system), ``discards``, ``state`` (``empty``, ``ours``; for an array also ``absent``
        or ``stopped``), ``uuid`` (of the file system), ``source`` (its name in /etc/fstab), ``mount_point`` (present or future),
        ``mounted``, ``options`` (of the mount), ``fstab`` (the options in /etc/fstab), ``owner`` (of the mount point with mode 0755) and
        ``foreign`` (files that Dohyo did not make). Refused devices have no volume
    """
    if layout not in (*LAYOUTS, ""):
        raise AgentError(f"layout '{layout}': must be one of {', '.join(LAYOUTS)}")
    return Host(label, expanded(root), deployment, layout).look(devices)
