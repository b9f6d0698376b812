"""Ansible module: choose a free TCP port for every named purpose."""

from __future__ import annotations

import json
import os
import socket

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: free_ports
short_description: Choose a free TCP port for every named purpose
description:
  - Takes the preferred port where it is free, else the next free one above it, and says which were moved.
  - Ports above the preferred one are tried, not ports of the kernel's choice, because those belong to the range
    from which outgoing connections take theirs before the server gets to listen.
options:
  address:
    description: Address to listen on.
    type: str
    default: 127.0.0.1
  preferred:
    description: Preferred port of each purpose.
    type: dict
    required: true
  kept:
    description:
      - File for the choice. While it is there and was made for the same wishes it is the answer, because the server
        that has been started with these ports occupies them.
    type: path
"""

EXAMPLES = r"""
- name: Choose the ports
  free_ports:
    preferred: {cql: 9042, jmx: 7199}
  register: server_ports
"""

RETURN = r"""
address:
  description: The address that was asked about.
  type: str
  returned: success
ports:
  description: Chosen port of each purpose.
  type: dict
  returned: success
moved:
  description: One sentence for each purpose that could not have its preferred port.
  type: list
  elements: str
  returned: success
"""

TRIES = 500


def is_free(address: str, port: int) -> bool:
    """Can a server listen on this port? Ports of connections that just ended count as free, as they do for servers."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def choose(address: str, preferred: dict[str, int]) -> tuple[dict[str, int], list[str]]:
    """Ports by purpose, all different, and what was moved; raises ValueError when there is none to be had."""
    ports: dict[str, int] = {}
    moved: list[str] = []
    for name, first in preferred.items():
        if not 1 <= first <= 65535:
            raise ValueError(f"port {first} for {name}: a port is a number from 1 to 65535")
        last = min(first + TRIES, 65535)
        taken = set(ports.values())
        port = next((p for p in range(first, last + 1) if p not in taken and is_free(address, p)), None)
        if port is None:
            raise ValueError(f"no free port for {name} on {address} from {first} to {last}: prefer another range")
        if port != first:
            moved.append(f"{name} port {first} is taken on {address}, using {port}")
        ports[name] = port
    return ports, moved


def read_choice(file: str | None, wishes: dict[str, object]) -> tuple[dict[str, int], list[str]] | None:
    """An earlier choice for the same wishes, if there is one."""
    if not file or not os.path.exists(file):
        return None
    with open(file, encoding="utf-8") as lines:
        choice = json.load(lines)
    return (choice["ports"], choice["moved"]) if choice["wishes"] == wishes else None


def keep_choice(file: str, wishes: dict[str, object], ports: dict[str, int], moved: list[str]) -> None:
    """Write down a choice; makes the folder where it is not there yet."""
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w", encoding="utf-8") as lines:
        json.dump({"wishes": wishes, "ports": ports, "moved": moved}, lines)


def main() -> None:
    """Read the parameters, choose, answer."""
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str", "default": "127.0.0.1"},
            "preferred": {"type": "dict", "required": True},
            "kept": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        preferred = {name: int(port) for name, port in module.params["preferred"].items()}
        kept = module.params["kept"]
        wishes = {"address": module.params["address"], "preferred": preferred}
        ports, moved = read_choice(kept, wishes) or choose(module.params["address"], preferred)
        if kept and not module.check_mode:
            keep_choice(kept, wishes, ports, moved)
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, address=module.params["address"], ports=ports, moved=moved)


if __name__ == "__main__":
    main()
