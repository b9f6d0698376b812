"""Ansible module: gives every named purpose a TCP port that is free.

With ``search`` it takes the next free port above one that is taken. It does not let the kernel choose, whose ports are
in the range of outgoing connections: one of these could take the port before the server listens. Without ``search`` a
taken port is an error that names the port and who has it. With ``chosen`` it only looks who has these ports by now.

Returns ``address``, ``ports`` by purpose, and ``moved``, one sentence for each purpose that got another port. With
``chosen``: ``notes``, one sentence for each port on which another program, and no process of ours, listens.
"""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.listeners import can_listen, carries, command_of, having, our_mark, sockets

TRIES = 500


def choose(address: str, preferred: dict[str, int], search: bool) -> tuple[dict[str, int], list[str]]:
    """Ports by purpose, all different, and what was moved; raises ValueError if a port is not free."""
    ports: dict[str, int] = {}
    moved: list[str] = []
    for name, first in preferred.items():
        if not 1 <= first <= 65535:
            raise ValueError(f"port {first} for {name}: a port is a number from 1 to 65535")
        last = min(first + TRIES * search, 65535)
        others = {port: other for other, port in ports.items()}
        port = next((p for p in range(first, last + 1) if p not in others and not can_listen(address, p)), None)
        if port is None and search:
            raise ValueError(f"no free port for {name} on {address} from {first} to {last}: prefer another range")
        if port is None:
            who = others.get(first) or command_of(having(sockets(address, first)))
            raise ValueError(f"port {first} ({name}) on {address} is taken by {who}; end that, or set another port")
        if port != first:
            moved.append(f"{name} port {first} is taken on {address}, using {port}")
        ports[name] = port
    return ports, moved


def lost(chosen: dict[str, Any], secret: str) -> list[str]:
    """Which of the chosen ports another program has taken before our server listened."""
    mark, notes = our_mark(secret), []
    for name, port in chosen.get("ports", {}).items():
        found = sockets(chosen["address"], port)
        pids = having(found)
        if found and not any(carries(pid, mark) for pid in pids):
            notes.append(f"{name} port {port} was chosen while it was free, and then taken by {command_of(pids)}")
    return notes


def main() -> None:
    """Read the parameters, choose or look, answer."""
    module = AnsibleModule(
        argument_spec={
            "address": {"type": "str", "default": "127.0.0.1"},  # to listen on
            "preferred": {"type": "dict"},  # port by purpose
            "search": {"type": "bool", "default": True},  # with `preferred`
            "chosen": {"type": "dict"},  # an earlier answer, or nothing
            # With `chosen`: file with what all our processes' environment carries.
            "secret": {"type": "path", "no_log": False},
        },
        required_one_of=[("preferred", "chosen")],
        mutually_exclusive=[("preferred", "chosen")],
        required_by={"chosen": "secret"},
        supports_check_mode=True,
    )
    if module.params["chosen"] is not None:
        module.exit_json(changed=False, notes=lost(module.params["chosen"], module.params["secret"]))
    try:
        preferred = {name: int(port) for name, port in module.params["preferred"].items()}
        ports, moved = choose(module.params["address"], preferred, module.params["search"])
    except ValueError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, address=module.params["address"], ports=ports, moved=moved)


if __name__ == "__main__":
    main()
