"""Looks at the resources of a host for servers and clients, and names every reason why it cannot run them.

It needs no root, changes nothing, and is far quicker than gathering facts.
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

from disks import kind_of, sysfs_of
from listeners import can_listen, carries, command_of, having, our_mark, sockets
from ours import NotOursError, existing, free_mb, links_in, path_of, shown, why_not

# ---- What it offers ----


def version_of(java_home: str, key: str = "JAVA_VERSION") -> str:
    """Version of the JDK in this folder, as "17.0.15" or "1.8.0_504", or its JAVA_RUNTIME_VERSION, or empty."""
    if not os.access(os.path.join(java_home, "bin", "java"), os.X_OK):
        return ""
    release = os.path.join(java_home, "release")
    if os.path.exists(release):
        with open(release, encoding="utf-8", errors="replace") as lines:
            text = lines.read()
    else:  # not every packager adds the release file
        command = [os.path.join(java_home, "bin", "java"), "-XshowSettings:properties", "-version"]
        text = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr
    match = re.search(rf"^{key}=\"([^\"]+)\"|java\.version = (\S+)", text, re.MULTILINE)
    return (match.group(1) or match.group(2)) if match else ""


def major_of(version: str) -> int:
    """Major version, as people call it; 0 if there is none."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match.group(1)) if match else 0


def candidates(java_home: str, major: int) -> list[str]:
    """Folders that may contain a JDK, best first."""
    if java_home:
        return [java_home]
    found = [os.environ.get("JAVA_HOME", ""), *sorted(glob.glob(f"/usr/lib/jvm/*{major}*"))]
    java = shutil.which("java")
    if java:
        found.append(os.path.dirname(os.path.dirname(os.path.realpath(java))))
    return [folder for folder in found if folder]


def memory_mb(field: str) -> int:
    """A field of /proc/meminfo in MiB."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return int(fields[field].split()[0]) // 1024


def carrier(path: str) -> int:
    """The device of the file system of this path, which need not exist."""
    return os.stat(existing(path)).st_dev


def rooms_mb(paths: list[str]) -> list[int]:
    """Free space in MiB for each folder; those on one file system share it."""
    carriers = [carrier(path) for path in paths]
    return [free_mb(path) // carriers.count(carrier(path)) for path in paths]


def whole(sysfs: str) -> str:
    """The kernel's folder of the disk that a partition is part of; that of anything else itself."""
    return os.path.dirname(sysfs) if os.path.exists(f"{sysfs}/partition") else sysfs


def disk_kind(path: str) -> str:
    """What carries a file system: nvme, ssd or rotational; ssd for what is no disk of this host, as in a container."""
    device = carrier(path)
    sysfs = whole(sysfs_of((os.major(device), os.minor(device))))
    # Of an array or a volume, the first of what it is made of.
    while parts := sorted(glob.glob(f"{sysfs}/slaves/*")):
        sysfs = whole(os.path.realpath(parts[0]))
    return kind_of(sysfs)


def huge_pages() -> bool:
    """The kernel's setting is the word in brackets."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            return "[never]" not in file.read()
    except OSError:
        return False


def os_release() -> dict[str, str]:
    """Fields of /etc/os-release."""
    try:
        with open("/etc/os-release", encoding="utf-8") as lines:
            return {key: value.strip().strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    except OSError:
        return {}


def runs(unit: str) -> bool:
    """Is this unit of systemd active?"""
    try:
        return subprocess.run(["systemctl", "is-active", "--quiet", unit], check=False, timeout=30).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


# ---- What is wrong with it ----


def resolve(name: str) -> list[str]:
    """Addresses of a name; none if it does not resolve."""
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):  # the latter for what can be no name, as a..b
        return []


def is_ours(pid: str, mark: bytes, deployment: str) -> bool:
    """Was this process started by the tool in our folder, or as a unit of our deployment?"""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="ascii", errors="replace") as cgroup:
            return f"/dohyo-{deployment}-" in cgroup.read() or carries(pid, mark)
    except OSError:
        return False


def check_system(known: list[str], processors: list[str]) -> list[str]:
    """Operating system and processor."""
    release = os_release()
    problems = []
    if not {release.get("ID", ""), *release.get("ID_LIKE", "").split()} & set(known):
        problems.append(
            f"the operating system is {release.get('PRETTY_NAME', platform.system())}; supported are"
            f" {', '.join(known)}; to try it anyway, add its ID of /etc/os-release to host_systems"
        )
    if platform.machine() not in processors:
        problems.append(
            f"the processor is {platform.machine()}; supported are {', '.join(processors)}; to try it anyway, add it to host_processors"
        )
    return problems


def check_names(address: str, addresses: dict[str, str]) -> list[str]:
    """Every address resolves, this host's is its own, and no two are the same."""
    problems = [
        f"dohyo_address of {host}, {other}, does not resolve here; add it to /etc/hosts or the name service"
        for host, other in sorted(addresses.items())
        if not resolve(other)
    ]
    # Hadoop's and Cassandra's Java ask for it.
    if not resolve(socket.gethostname()):
        problems.append(f"its own name {socket.gethostname()} does not resolve; add it to /etc/hosts")
    twins = sorted(host for host, other in addresses.items() if other == address)
    if len(twins) > 1:
        problems.append(f"{', '.join(twins)} have the same dohyo_address {address}; set each host's own in the inventory")
    own = resolve(address)
    if own and all(":" in number for number in own):
        problems.append(f"dohyo_address {address} is an address of IPv6, and servers and clients here speak IPv4; set one of IPv4")
    elif own and all(can_listen(numbers, 0) for numbers in own):
        problems.append(f"dohyo_address {address} is no address of this host; ip address shows those that it has")
    return problems


def check_public(open_to_all: dict[str, str]) -> list[str]:
    """No server without passwords listens on an address that the whole internet may reach."""
    systems: dict[str, list[str]] = {}
    for system, address in open_to_all.items():
        systems.setdefault(address, []).append(system)
    found = []
    for address, names in systems.items():
        # Without the zone of a link-local address.
        numbers = [number for number in resolve(address) if is_public(number.partition("%")[0])] if address else []
        if numbers:
            shown_address = address if address in numbers else f"{address} ({', '.join(numbers)})"
            found.append(
                f"{', '.join(names)} would listen without a password on {shown_address}, which the whole internet may"
                " reach; set dohyo_address to an address of a private network, or switch passwords and TLS on where the"
                " system has them (docs/secrets.md), or set dohyo_public=true if this is meant"
            )
    return found


def is_public(number: str) -> bool:
    """Is it an address of the internet, by IANA's registries, or that of all networks of the host?"""
    address = ipaddress.ip_address(number)
    return address.is_global or address.is_unspecified


def check_clock(wanted: str) -> list[str]:
    """The clock is synchronised, by whatever service."""
    if wanted != "synchronised":
        return []
    command = ["timedatectl", "show", "--property", "NTPSynchronized", "--value"]
    try:
        synchronised = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        synchronised = ""
    if synchronised == "yes":
        return []
    return [
        "the clock is not synchronised; install and start chrony, or set host_clock=install to have deploy.yml do it;"
        " host_clock=shared if all hosts are containers of one machine"
    ]


def check_folders(home: str, folders: Sequence[list[str]], deployment: str, *, by_root: bool) -> list[str]:
    """The folders are ours, or empty; and ours on the host is writable, or root may make it."""
    problems = []
    for base, below in [[home, ""], *folders]:
        try:
            folder = path_of(base, below)
            problems += filter(None, [why_not(folder, deployment) or links_in(folder)])
        except NotOursError as error:
            problems.append(str(error))
    parent = existing(home)
    if not os.access(parent, os.W_OK | os.X_OK) and (parent == home or not by_root):
        problems.append(f"dohyo_home {home} cannot be made: {parent} is not writable; name another folder or make it beforehand")
    return list(map(shown, problems))


def check_user(given_root: bool) -> list[str]:
    """The login user, as whom servers and clients run, is an ordinary one."""
    if given_root or os.geteuid() != 0:
        return []
    return [
        "the login user is root, and servers and clients run as the login user; name an ordinary one that may become root (ansible_user)"
    ]


def check_selinux(home: str, enforce: str = "/sys/fs/selinux/enforce") -> list[str]:
    """Units can start programs in our folder: SELinux lets them start none below /home."""
    try:
        with open(enforce, encoding="ascii") as file:
            enforcing = file.read().strip() == "1"
    except OSError:
        return []
    if not enforcing or not (os.path.realpath(home) + "/").startswith("/home/"):
        return []
    return [f"SELinux is enforcing, and lets no unit start programs in dohyo_home {home}; set dohyo_home to /opt/dohyo"]


def check_memory(needs: dict[str, int]) -> list[str]:
    """The host has the memory that its systems need."""
    total = memory_mb("MemTotal")
    return [
        f"{what} needs {mb} MiB of memory, and the host has {total}; set smaller heaps in the inventory"
        for what, mb in sorted(needs.items())
        if int(mb) > total
    ]


def check_ports(address: str, ports: dict[str, int], home: str, deployment: str) -> list[str]:
    """Ports are free, or one of our own servers has them."""
    problems = []
    mark = our_mark(os.path.join(home, "run", "secret"))
    for what, port in sorted(ports.items(), key=lambda entry: int(entry[1])):
        # Some ports, JMX above all, are opened on loopback.
        for place in dict.fromkeys((address, "127.0.0.1")):
            if can_listen(place, int(port)) == errno.EADDRINUSE:
                pids = having(sockets(place, int(port)))
                if not any(is_ours(pid, mark, deployment) for pid in pids):
                    problems.append(f"port {port} ({what}) is taken by {command_of(pids)}; end that, or set another port")
                    break
    return problems


def expanded(path: str) -> str:
    """A path in which a begin of ~ and variables of the environment may stand."""
    return os.path.expanduser(os.path.expandvars(path))


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
    """Everything that is wrong, one sentence each.

    :param systems: supported ones, by ID or ID_LIKE of /etc/os-release
    :param processors: supported ones, as uname prints them
    :param address: of this host in the cluster's network
    :param addresses: of all hosts by name
    :param clock: ``synchronised`` if it must be; other words are not checked
    :param home: the folder that is to be ours alone
    :param deployment: whose mark our folders carry
    :param units: whether servers are units of systemd; then root may make that folder, too
    :param folders: further ones, as for ``owned``
    :param memory_mb: what the largest of the systems needs, in MiB, by what needs it
    :param root: whether the login user may be root
    :param ports: those that must be free or a server's of ours, by what wants them
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


def answer(
    path: str,
    java_home: str = "",
    java_major: int = 17,
    java_also: Sequence[str] = (),
    data: Sequence[str] = (),
    needs: Sequence[str] = (),
    open: dict[str, str] | None = None,  # noqa: A002 - as playbooks call it
    checks: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Looks at the host.

    :param path: the free space and the kind of disk are those of its file system; it need not exist
    :param java_home: the only folder in which to look for a JDK; empty for the usual ones
    :param java_major: version of the JDK
    :param java_also: further folders, looked at last
    :param data: folders whose free space is asked for; they need not exist
    :param needs: paths that should exist
    :param open: addresses on which servers without passwords are to listen, by the server's name; empty ones do not count
    :param checks: arguments of :func:`problems_of`; nothing is checked without them
    :returns: ``java_home`` (empty without a JDK of the version asked for), ``java_build`` (its build, as
              "17.0.15+6-Debian-1deb12u1"), ``java_seen`` (what was found instead, "folder (version)" each), ``missing`` (which of
              `needs` do not exist), ``disk_free_mb``, ``rooms_mb`` (those of the folders `data`), ``disk_kind`` (nvme, ssd,
              rotational: what carries `path`), ``memory_mb`` (all of it), ``memory_available_mb`` (without swapping), ``cores``,
              ``cpus`` (their numbers), ``huge_pages`` (may a process ask for transparent ones?), ``public`` (sentences about `open`)
              and, with `checks`, ``firewalld`` (does it run?) and ``problems``, one sentence each, also those of ``public``
    """
    java_major = int(java_major)
    seen = {folder: version_of(folder) for folder in [*candidates(java_home, java_major), *java_also]}
    java_home = next((folder for folder, version in seen.items() if major_of(version) == java_major), "")
    public = check_public(open or {})
    path = os.path.abspath(path)
    return {
        "java_home": java_home,
        # JDK 8 has no JAVA_RUNTIME_VERSION.
        "java_build": (version_of(java_home, "JAVA_RUNTIME_VERSION") or seen[java_home]) if java_home else "",
        "java_seen": [f"{folder} ({version or 'no JDK'})" for folder, version in seen.items()],
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
