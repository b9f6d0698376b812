"""Runs Dohyo's tasks and roles. All hosts are this machine."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from dohyo.places import ANSIBLE


def play(
    folder: Path, tasks: list[Any], hosts: dict[str, dict[str, Any]], clients: int | dict[str, dict[str, Any]],
    facts: list[str], **variables: Any,
) -> dict[str, list[Any]]:  # fmt: skip
    """Runs tasks with Ansible. All hosts are this machine.

    :param clients: client hosts, or the number of database hosts that are also client hosts
    :returns: the values of `facts` on all database hosts
    """
    answer = {fact: f"{{{{ ansible_play_hosts | map('extract', hostvars, '{fact}') }}}}" for fact in facts}
    last = {"copy": {"content": answer, "dest": str(folder / "answer")}, "run_once": True}
    everywhere = {
        "ansible_connection": "local", "ansible_python_interpreter": sys.executable, "dohyo_control": str(folder),
        **dict.fromkeys(("host_memory_budget", "host_cpus_server", "host_cpus_client"), ""), "host_budget_mb": 0,
        "host_shortages": [], "dohyo_data": [str(folder / "data")], "dohyo_devices": [], **variables,
    }  # fmt: skip
    client_hosts = dict.fromkeys([*hosts][:clients]) if isinstance(clients, int) else clients
    groups = {"database": {"hosts": hosts}, "client": {"hosts": client_hosts}}
    # If the inventory were next to the playbook, plugins/vars/systems.py would override its variables.
    (folder / "inventory").mkdir()
    inventory = folder / "inventory" / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"vars": everywhere, "children": groups}}))
    (folder / "play.yml").write_text(yaml.safe_dump([{"hosts": "database", "tasks": [*tasks, last]}]))
    program = Path(sys.executable).with_name("ansible-playbook")
    command: list[str | Path] = [program, "-i", inventory, folder / "play.yml"]
    run = subprocess.run(command, cwd=ANSIBLE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads((folder / "answer").read_text())  # type: ignore[no-any-return]


# Variables that all inventories share, except folders.
DEFAULTS = {
    name: value
    for name, value in yaml.safe_load((ANSIBLE / "group_vars/all.yml").read_text()).items()
    if name not in ("dohyo_control", "dohyo_data")
}
