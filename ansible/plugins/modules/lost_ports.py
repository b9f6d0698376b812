"""Ansible module: says which of the chosen ports another program has taken before our server listened. Changes nothing.

Returns ``notes``, one sentence for each port on which another program, and no process of ours, listens.
"""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.listeners import carries, command_of, having, our_mark, sockets


def main() -> None:
    """Read the parameters, look, answer."""
    module = AnsibleModule(
        argument_spec={
            "chosen": {"type": "dict", "required": True},  # the answer of free_ports, or nothing
            # File with what all our processes' environment carries.
            "secret": {"type": "path", "required": True, "no_log": False},
        },
        supports_check_mode=True,
    )
    chosen = module.params["chosen"]
    notes = []
    if chosen:
        mark = our_mark(module.params["secret"])
        for name, port in chosen["ports"].items():
            found = sockets(chosen["address"], port)
            pids = having(found)
            if found and not any(carries(pid, mark) for pid in pids):
                notes.append(f"{name} port {port} was chosen while it was free, and then taken by {command_of(pids)}")
    module.exit_json(changed=False, notes=notes)


if __name__ == "__main__":
    main()
