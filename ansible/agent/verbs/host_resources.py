"""Reads the resources of a host, and lists every reason why the host cannot run servers or clients.

This verb needs no root, changes nothing, and is much faster than gathering Ansible's facts.
"""

from __future__ import annotations

import errno
import glob
import ipaddress
import os
import platform
import re
import shutil
import socket
import subprocess
from collections.abc import Sequence
from typing import Any

from disks import kind_of, sysfs_of, text
from folder_marks import NotOursError, existing, expanded, free_mb, links_in, path_of, shown, why_not
from listeners import can_listen, carries, command_of, having, our_mark, sockets

# ---- Resources of the host ----


def version_of(java_home: str, key: str = "JAVA_VERSION") -> str:
    """Returns the version of the JDK in a folder, such as "17.0.15" or "1.8.0_504", or an empty string if it is unknown."""
    if not os.access(os.path.join(java_home, "bin", "java"), os.X_OK):
        return ""
    release = os.path.join(java_home, "release")
    if os.path.exists(release):
        with open(release, encoding="utf-8", errors="replace") as lines:
            properties = lines.read()
    else:  # some packages do not contain the file `release`
        command = [os.path.join(java_home, "bin", "java"), "-XshowSettings:properties", "-version"]
        properties = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr
    match = re.search(rf"^{key}=\"([^\"]+)\"|java\.version = (\S+)", properties, re.MULTILINE)
    return (match.group(1) or match.group(2)) if match else ""


def major_of(version: str) -> int:
    """Returns the major version, which is 8 for 1.8. For an empty version, returns 0."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match.group(1)) if match else 0


def candidates(java_home: str, major: int) -> list[str]:
    """Returns folders that may contain a JDK, with the preferred ones first."""
    if java_home:
        return [java_home]
    folders = [os.environ.get("JAVA_HOME", ""), *sorted(glob.glob(f"/usr/lib/jvm/*{major}*"))]
    java = shutil.which("java")
    if java:
        folders.append(os.path.dirname(os.path.dirname(os.path.realpath(java))))
    return [folder for folder in folders if folder]


def memory_mb(field: str) -> int:
    """Returns a field of /proc/meminfo in MiB."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields[field].split()[0]) // 1024


def carrier(path: str) -> int:
    """Returns the device number of the file system that contains a path. The path need not exist."""
    return os.stat(existing(path)).st_dev


def rooms_mb(paths: list[str]) -> list[int]:
    """Returns the free space for each folder in MiB. Folders on the same file system share its space equally."""
    carriers = [carrier(path) for path in paths]
    return [free_mb(path) // carriers.count(carrier(path)) for path in paths]


def whole(sysfs: str) -> str:
    """Returns the folder in /sys of the disk to which a partition belongs. For other devices, returns the given folder."""
    return os.path.dirname(sysfs) if os.path.exists(f"{sysfs}/partition") else sysfs


def disk_kind(path: str) -> str:
    """Returns the kind of disk below a file system: nvme, ssd or rotational. If the disk is hidden, as in a container: ssd."""
    device = carrier(path)
    sysfs = whole(sysfs_of((os.major(device), os.minor(device))))
    # An array or a logical volume is of the same kind as its first disk.
    while parts := sorted(glob.glob(f"{sysfs}/slaves/*")):
        sysfs = whole(os.path.realpath(parts[0]))
    return kind_of(sysfs)


def huge_pages() -> bool:
    """Returns whether processes can use transparent huge pages. The kernel shows the current setting in brackets."""
    choice = text("/sys/kernel/mm/transparent_hugepage/enabled")
    return bool(choice) and "[never]" not in choice


def os_release() -> dict[str, str]:
    """Returns the fields of /etc/os-release."""
    try:
        with open("/etc/os-release", encoding="utf-8") as lines:
            return {key: value.strip().strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    except OSError:
        return {}


def runs(unit: str) -> bool:
    """Returns whether this systemd unit is active."""
    try:
        return subprocess.run(["systemctl", "is-active", "--quiet", unit], check=False, timeout=30).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


# ---- Problems of the host ----


def resolve(name: str) -> list[str]:
    """Returns the addresses of a name, or an empty list if the name does not resolve."""
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):  # an impossible name, such as a..b, raises UnicodeError
        return []


def is_ours(pid: str, mark: bytes, deployment: str) -> bool:
    """Returns whether this process was started by the agent or belongs to a systemd unit of this deployment."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="ascii", errors="replace") as cgroup:
            return f"/dohyo-{deployment}-" in cgroup.read() or carries(pid, mark)
    except OSError:
        return False


def check_system(systems: list[str], processors: list[str]) -> list[str]:
    """Checks that the operating system and the processor are supported."""
    release = os_release()
    problems = []
    if not {release.get("ID", ""), *release.get("ID_LIKE", "").split()} & set(systems):
        problems.append(
            f"it runs {release.get('PRETTY_NAME', platform.system())}, not {' or '.join(systems)};"
            " to try it, add its ID in /etc/os-release to host_systems"
        )
    if platform.machine() not in processors:
        problems.append(
            f"the processor is {platform.machine()}, not {' or '.join(processors)}; to try it anyway, add it to host_processors"
        )
    return problems


def check_names(address: str, addresses: dict[str, str]) -> list[str]:
    """Checks that the addresses of all hosts resolve and differ, and that this host's address belongs to it."""
    problems = [
        f"dohyo_address of {host}, {peer}, does not resolve here; add it to /etc/hosts or to DNS"
        for host, peer in sorted(addresses.items())
        if not resolve(peer)
    ]
    # Hadoop and Cassandra resolve the host's own name.
    if not resolve(socket.gethostname()):
        problems.append(f"its own name {socket.gethostname()} does not resolve; add it to /etc/hosts")
    twins = sorted(host for host, peer in addresses.items() if peer == address)
    if len(twins) > 1:
        problems.append(f"{', '.join(twins)} have the same dohyo_address {address}; set a different one for each in the inventory")
    own_numbers = resolve(address)
    if own_numbers and all(":" in number for number in own_numbers):
        problems.append(f"dohyo_address {address} is an IPv6 address, but servers and clients use IPv4; set an IPv4 address")
    elif own_numbers and all(can_listen(numbers, 0) for numbers in own_numbers):
        problems.append(f"dohyo_address {address} is not an address of this host; to list them: ip address")
    return problems


def check_public(open_to_all: dict[str, str]) -> list[str]:
    """Checks that no server without passwords listens on an address that the whole internet may reach."""
    systems: dict[str, list[str]] = {}
    for system, address in open_to_all.items():
        systems.setdefault(address, []).append(system)
    problems = []
    for address, names in systems.items():
        # Remove the zone of a link-local address, such as %eth0.
        numbers = [number for number in resolve(address) if is_public(number.partition("%")[0])] if address else []
        if numbers:
            shown_address = address if address in numbers else f"{address} ({', '.join(numbers)})"
            problems.append(
                f"{', '.join(names)} on public {shown_address} has no password; set dohyo_address or dohyo_public (docs/secrets.md)"
            )
    return problems


def is_public(number: str) -> bool:
    """Returns whether an address is global according to IANA's registries or is the wildcard address."""
    address = ipaddress.ip_address(number)
    return address.is_global or address.is_unspecified


def check_clock(mode: str) -> list[str]:
    """Checks that the clock is synchronised, regardless of the service that does this."""
    if mode != "synchronised":
        return []
    command = ["timedatectl", "show", "--property", "NTPSynchronized", "--value"]
    try:
        synchronised = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        synchronised = ""
    if synchronised == "yes":
        return []
    return ["the clock is not synchronised; set host_clock=install, or shared for containers of one machine"]


def check_folders(home: str, folders: Sequence[list[str]], deployment: str, *, by_root: bool) -> list[str]:
    """Checks that Dohyo may use the folders, and that its home is writable or can be created by root."""
    problems = []
    for base, below in [[home, ""], *folders]:
        try:
            folder = path_of(base, below)
            problems += filter(None, [why_not(folder, deployment) or links_in(folder)])
        except NotOursError as error:
            problems.append(str(error))
    parent = existing(home)
    if not os.access(parent, os.W_OK | os.X_OK) and (parent == home or not by_root):
        problems.append(f"dohyo_home {home} cannot be made: {parent} is not writable; name another folder, or create it")
    return list(map(shown, problems))


def check_user(given_root: bool) -> list[str]:
    """Checks that the login user, who runs servers and clients, is not root."""
    if given_root or os.geteuid() != 0:
        return []
    return ["the login user is root, who would run the servers; set ansible_user to a user that may become root"]


def check_selinux(home: str, enforce: str = "/sys/fs/selinux/enforce") -> list[str]:
    """Checks that systemd units can start programs in Dohyo's home. SELinux does not permit this below /home."""
    if text(enforce) != "1" or not (os.path.realpath(home) + "/").startswith("/home/"):
        return []
    return [f"SELinux does not let systemd start programs in dohyo_home {home}; set dohyo_home to /opt/dohyo"]


def check_memory(needs: dict[str, int]) -> list[str]:
    """Checks that the host has the memory that its systems need."""
    total = memory_mb("MemTotal")
    return [
        f"{system} needs {mb} MiB of memory, but the host has {total}; set smaller heaps"
        for system, mb in sorted(needs.items())
        if int(mb) > total
    ]


def check_ports(address: str, ports: dict[str, int], home: str, deployment: str) -> list[str]:
    """Checks that each port is free or used by a server that Dohyo started."""
    problems = []
    mark = our_mark(os.path.join(home, "run", "secret"))
    for purpose, port in sorted(ports.items(), key=lambda entry: int(entry[1])):
        # Servers open some ports, such as JMX, on the loopback address.
        for host in dict.fromkeys((address, "127.0.0.1")):
            if can_listen(host, int(port)) == errno.EADDRINUSE:
                pids = having(sockets(host, int(port)))
                if not any(is_ours(pid, mark, deployment) for pid in pids):
                    problems.append(f"port {port} ({purpose}) is taken by {command_of(pids)}; end it, or set another port")
                    break
    return problems


def problems_of(
    systems: list[str],
    processors: list[str],
    address: str,
    addresses: dict[str, str],
    clock: str,
    home: str,
    deployment: str,
    units: bool = False,
    folders: Sequence[list[str]] = (),
    memory_mb: dict[str, int] | None = None,
    root: bool = True,
    ports: dict[str, int] | None = None,
) -> list[str]:
    """Returns a sentence for each problem.

    :param systems: supported operating systems: their IDs in the fields ID or ID_LIKE of /etc/os-release
    :param processors: supported processors, as uname prints them
    :param address: address of this host in the cluster's network
    :param addresses: address of each host, by the host's name
    :param clock: ``synchronised`` if the clock must be synchronised; otherwise it is not checked
    :param home: Dohyo's home folder on this host
    :param deployment: deployment that the marks of Dohyo's folders must name
    :param units: whether servers are systemd units; if so, root may make the home folder
    :param folders: further folders, as for the verb ``owned``
    :param memory_mb: memory in MiB that is needed for each purpose
    :param root: whether the login user may be root
    :param ports: port for each purpose, which must be free or used by one of Dohyo's servers
    """
    home = expanded(home)
    names = check_names(address, addresses)
    return [
        *check_system(systems, processors),
        *names,
        *check_clock(clock),
        *check_folders(home, folders, deployment, by_root=units),
        *(check_selinux(home) if units else []),
        *check_user(root),
        *check_memory(memory_mb or {}),
        *([] if names else check_ports(address, ports or {}, home, deployment)),
    ]


def shortages(
    answered: dict[str, Any],
    path: str,
    host: str,
    memory_mb: int,
    shared_mb: int,
    disk_mb: int,
    disk_by: list[str],
    spare_gb: float,
    playbook: str,
) -> list[str]:
    """Returns a sentence for each reason why the host cannot run a server or client.

    :param answered: the resources, as :func:`answer` returns them
    :param path: folder for the data
    :param host: name of the host
    :param memory_mb: memory that the process needs, in MiB
    :param shared_mb: memory for a client on the same host, in MiB
    :param disk_mb: disk space that the process needs, in MiB
    :param disk_by: variables that reduce the disk space that is needed, for messages
    :param spare_gb: disk space that must stay free, in GB
    :param playbook: beginning of a command that runs a playbook, for messages
    """
    problems = []
    if not answered["java_home"]:
        problems.append(
            f"{host} has no JDK 17 in {', '.join(answered['java_seen']) or 'the usual folders'};"
            " install one, or name its folder: -e dohyo_java_home=FOLDER"
        )
    if answered["missing"]:
        problems.append(f"{host} has no {', '.join(answered['missing'])}: run {playbook} deploy.yml first, with the same versions")
    needed = int(disk_mb) + float(spare_gb) * 1000
    if answered["disk_free_mb"] < needed:
        problems.append(
            f"{host}: {path} has {answered['disk_free_mb']} MiB free and needs {needed:.0f};"
            f" free space, or lower {' or '.join([*disk_by, 'dohyo_min_free_gb'])}"
        )
    if answered["memory_available_mb"] < int(memory_mb) + int(shared_mb):
        wanted = f"{memory_mb} + {shared_mb} for a client" if int(shared_mb) else memory_mb
        problems.append(f"{host} has {answered['memory_available_mb']} MiB of free memory and needs {wanted}; end programs, or lower heaps")
    return problems


def answer(
    path: str,
    java_home: str = "",
    java_major: int = 17,
    java_also: Sequence[str] = (),
    data: Sequence[str] = (),
    needs: Sequence[str] = (),
    open: dict[str, str] | None = None,  # noqa: A002 - name that playbooks use
    checks: dict[str, Any] | None = None,
    carries: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Reads and checks the resources of the host.

    :param path: path on the file system whose free space and kind of disk are returned; it need not exist
    :param java_home: the only folder that is searched for a JDK; if empty, the usual folders are searched
    :param java_major: required version of the JDK
    :param java_also: further folders, which are searched last
    :param data: folders whose free space is returned; they need not exist
    :param needs: paths that should exist
    :param open: addresses on which servers without passwords will listen, by server name; empty addresses are ignored
    :param checks: arguments of :func:`problems_of`; if None, it is not called
    :param carries: further arguments of :func:`shortages`; if None, it is not called
    :returns: ``java_home`` (empty without a JDK of that version), ``java_build`` (its build, like "17.0.15+6-Debian-1deb12u1"),
        ``java_seen`` (searched folders, each as "folder (version)"), ``missing`` (missing paths of `needs`); ``disk_free_mb``,
        ``rooms_mb`` (free MiB by folder of `data`), ``disk_kind`` (of `path`: nvme, ssd, rotational), ``memory_mb`` (total),
        ``memory_available_mb`` (without swapping), ``cores``, ``cpus`` (numbers), ``huge_pages`` (whether a process can get transparent
        ones) and ``public`` (sentences about `open`); with `checks`, ``firewalld`` (whether it runs); with `checks` or `carries`,
        ``problems``, one sentence each, including those of ``public``
    """
    java_major = int(java_major)
    versions = {folder: version_of(folder) for folder in [*candidates(java_home, java_major), *java_also]}
    java_home = next((folder for folder, version in versions.items() if major_of(version) == java_major), "")
    public = check_public(open or {})
    path = os.path.abspath(path)
    answered: dict[str, Any] = {
        "java_home": java_home,
        # JDK 8 does not set JAVA_RUNTIME_VERSION.
        "java_build": (version_of(java_home, "JAVA_RUNTIME_VERSION") or versions[java_home]) if java_home else "",
        "java_seen": [f"{folder} ({version or 'no JDK'})" for folder, version in versions.items()],
        "missing": [needed for needed in map(expanded, needs) if not os.path.exists(needed)],
        "disk_free_mb": free_mb(path),
        "rooms_mb": rooms_mb(list(map(expanded, data))),
        "disk_kind": disk_kind(path),
        "memory_mb": memory_mb("MemTotal"),
        "memory_available_mb": memory_mb("MemAvailable"),
        "cores": len(os.sched_getaffinity(0)),
        "cpus": sorted(os.sched_getaffinity(0)),
        "huge_pages": huge_pages(),
        "firewalld": bool(checks) and runs("firewalld"),
        "public": public,
        "problems": [*public, *problems_of(**checks)] if checks else [],
    }
    return {**answered, "problems": [*public, *shortages(answered, path, **carries)]} if carries else answered
