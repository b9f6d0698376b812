"""Ansible module: which of the ports that were chosen does another program listen on?"""

from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.listeners import carries, command_of, having, our_mark, sockets

DOCUMENTATION = r"""
module: lost_ports
short_description: Say which of the ports that were chosen another program has taken
description:
  - A server's port is chosen before the server listens on it. Changes nothing.
options:
  chosen:
    description: The answer of M(free_ports), or nothing.
    type: dict
    required: true
  secret:
    description: File with the secret that the environment of all our processes carries.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Look whose the ports are
  lost_ports:
    chosen: "{{ mysql_ports }}"
    secret: "{{ dohyo_home }}/run/secret"
  register: lost
"""

RETURN = r"""
notes:
  description: One sentence for each port that another program, and no process of ours, listens on.
  type: list
  elements: str
  returned: success
"""


def main() -> None:
    """Read the parameters, look, answer."""
    module = AnsibleModule(
        argument_spec={
            "chosen": {"type": "dict", "required": True},
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
                who = command_of(pids[0]) if pids else "a process of another user"
                notes.append(f"{name} port {port} was chosen while it was free, and then taken by {who}")
    module.exit_json(changed=False, notes=notes)


if __name__ == "__main__":
    main()
