"""Ansible module: is this host what a cluster needs? Changes nothing."""

from __future__ import annotations

import errno
import os
import platform
import socket
import subprocess

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.listeners import carries, command_of, having, our_mark, sockets
from ansible.module_utils.ours import NotOursError, links_in, path_of, shown, why_not

DOCUMENTATION = r"""
module: host_checks
short_description: List everything for which a host cannot carry servers or clients
description:
  - Needs no root. What an empty parameter would be about is not looked at.
options:
  systems:
    description: Operating systems that are known to do, by ID or ID_LIKE of /etc/os-release.
    type: list
    elements: str
    required: true
  processors:
    description: Processors that are known to do, as uname prints them.
    type: list
    elements: str
    required: true
  address:
    description: Address of this host in the cluster's network.
    type: str
    required: true
  addresses:
    description: Addresses of all hosts by their names.
    type: dict
    required: true
  clock:
    description: C(synchronised) if the clock must be synchronised; other words are not looked at.
    type: str
    required: true
  home:
    description: Folder that shall be ours alone.
    type: path
    required: true
  deployment:
    description: Whose mark our folders carry.
    type: str
    required: true
  folders:
    description: Further folders, as the module C(owned) takes them.
    type: list
    elements: list
    default: []
  memory_mb:
    description: Memory that the largest of the systems needs, in MiB, by what needs it.
    type: dict
    default: {}
  ports:
    description: Ports that must be free, or taken by a server of ours, by what wants them.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Look at the host
  host_checks:
    systems: [debian]
    processors: [x86_64]
    address: 10.0.0.11
    addresses: {a: 10.0.0.11, b: 10.0.0.12}
    clock: synchronised
    home: /srv/dohyo
    deployment: 0123456789ab
  register: found
"""

RETURN = r"""
problems:
  description: One sentence for each.
  type: list
  elements: str
  returned: success
os:
  description: Name and version of the operating system.
  type: str
  returned: success
family:
  description: Whose packages it takes, C(debian) or C(redhat).
  type: str
  returned: success
"""


def os_release() -> dict[str, str]:
    """Fields of /etc/os-release."""
    try:
        with open("/etc/os-release", encoding="utf-8") as lines:
            return {key: value.strip().strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    except OSError:
        return {}


def resolve(name: str) -> list[str]:
    """Addresses of a name; none if it does not resolve."""
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except OSError:
        return []


def can_listen(address: str, port: int) -> int:
    """0, or the error of listening there. Ports of connections that just ended count as free, as for servers."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError as error:
            return error.errno or errno.EIO
    return 0


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
            f"the operating system is {release.get('PRETTY_NAME', platform.system())};"
            f" known to do are {', '.join(known)};"
            " to try it anyway, add its ID of /etc/os-release to host_systems"
        )
    if platform.machine() not in processors:
        problems.append(
            f"the processor is {platform.machine()}; known to do are {', '.join(processors)};"
            " to try it anyway, add it to host_processors"
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
        problems.append(
            f"{', '.join(twins)} have the same dohyo_address {address}; set each host's own in the inventory"
        )
    own = resolve(address)
    if own and all(can_listen(numbers, 0) for numbers in own):
        problems.append(f"dohyo_address {address} is no address of this host; ip address shows those that it has")
    return problems


def check_clock(wanted: str) -> list[str]:
    """The clock is synchronised, whoever does it."""
    if wanted != "synchronised":
        return []
    command = ["timedatectl", "show", "--property", "NTPSynchronized", "--value"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        answer = ""
    if answer == "yes":
        return []
    return [
        "the clock is not synchronised; install and start chrony, or set host_clock=install to have deploy.yml do it;"
        " host_clock=shared if all hosts are containers of one machine"
    ]


def check_folders(home: str, folders: list[list[str]], deployment: str) -> list[str]:
    """The folders are ours, or empty; and ours on the host can be written."""
    problems = []
    for base, below in [[home, ""], *folders]:
        try:
            folder = path_of(base, below)
            problems += filter(None, [why_not(folder, deployment) or links_in(folder)])
        except NotOursError as error:
            problems.append(str(error))
    parent = home
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    if not os.access(parent, os.W_OK | os.X_OK):
        problems.append(
            f"dohyo_home {home} cannot be made: {parent} is not writable; name another folder or make it beforehand"
        )
    return list(map(shown, problems))


def check_memory(needs: dict[str, int]) -> list[str]:
    """Memory of the host beside what its systems need."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        total = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemTotal:"))
    return [
        f"{what} needs {mb} MiB of memory, and the host has {total}; set smaller heaps in the inventory"
        for what, mb in sorted(needs.items())
        if int(mb) > total
    ]


def check_ports(address: str, ports: dict[str, int], home: str, deployment: str) -> list[str]:
    """Ports are free, or in the hands of our own servers."""
    problems = []
    mark = our_mark(os.path.join(home, "run", "secret"))
    for what, port in sorted(ports.items(), key=lambda entry: int(entry[1])):
        # Some ports, JMX above all, are opened on loopback.
        for place in dict.fromkeys((address, "127.0.0.1")):
            if can_listen(place, int(port)) == errno.EADDRINUSE:
                pids = having(sockets(place, int(port)))
                if not any(is_ours(pid, mark, deployment) for pid in pids):
                    who = command_of(pids[0]) if pids else "a process of another user"
                    problems.append(f"port {port} ({what}) is taken by {who}; end that, or set another port")
                    break
    return problems


def main() -> None:
    """Read the parameters, look, answer."""
    module = AnsibleModule(
        argument_spec={
            "systems": {"type": "list", "elements": "str", "required": True},
            "processors": {"type": "list", "elements": "str", "required": True},
            "address": {"type": "str", "required": True},
            "addresses": {"type": "dict", "required": True},
            "clock": {"type": "str", "required": True},
            "home": {"type": "path", "required": True},
            "deployment": {"type": "str", "required": True},
            "folders": {"type": "list", "elements": "list", "default": []},
            "memory_mb": {"type": "dict", "default": {}},
            "ports": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    given = module.params
    problems = check_system(given["systems"], given["processors"])
    names = check_names(given["address"], given["addresses"])
    problems += (
        names
        + check_clock(given["clock"])
        + check_folders(given["home"], given["folders"], given["deployment"])
        + check_memory(given["memory_mb"])
    )
    if not names:
        problems += check_ports(given["address"], given["ports"], given["home"], given["deployment"])
    release = os_release()
    module.exit_json(
        changed=False,
        problems=problems,
        os=release.get("PRETTY_NAME", platform.system()),
        family="debian" if os.path.exists("/etc/debian_version") else "redhat",
    )


if __name__ == "__main__":
    main()
