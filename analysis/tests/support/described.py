"""Creates systems as a playbook describes them, on imaginary hosts."""

import difflib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dohyo.systems.catalogue import all_systems
from dohyo.systems.context import Context
from dohyo.systems.system import System

GOLDEN = Path(__file__).parents[1] / "systems" / "golden"
PASSWORDS = {"client": "client-password", "replica": "replica-password"}


def described(system: str, hosts: int = 1, host: int = 1, **variables: Any) -> System:
    """Returns a system on one of its database hosts. The servers use their preferred ports.

    :param host: number of the host, from 1
    :param variables: variables of the hosts, the scenario and the system, and the trial's `properties` and `conditions`
    """
    names = [f"node{number}" for number in range(1, hosts + 1)]
    common: dict[str, Any] = {
        "groups": {"database": names, "client": names},
        "dohyo_home": "/opt/dohyo",
        "dohyo_control": "/control",
        "dohyo_data": ["/data1"],
        "trial_id": "0123456789abcdef",
        "trial_properties": {"recordcount": 1000, **variables.pop("properties", {})},
        "trial_conditions": {"replication": min(hosts, 3), **variables.pop("conditions", {})},
        "jdk_host": {"java_home": "/jdk"},
        "service_host": {"java_home": "/jdk17", "cores": 8, "disk_kind": "nvme"},
        "jdk_gc_options": ["-XX:+UseSomeGC", "-Xlog:gc*:file=gc.log:time,uptime"],
        "certificates_made": {"authority": "QVVUSE9SSVRZ"},
        "environment": {},
        **variables,
    }
    role = all_systems()[system].role
    states = dict(common.pop("states", {}))  # additional state of a host, by the host's name
    host_variables: dict[str, dict[str, Any]] = {
        host_name: {"dohyo_address": f"10.0.0.{number}"} for number, host_name in enumerate(names, start=1)
    }
    secrets = {role: {"passwords": common.pop("passwords", PASSWORDS)}}

    def on(name: str, state: Mapping[str, Any]) -> System:
        values = {**common, **host_variables[name], "inventory_hostname": name, "system_secrets": secrets, **state}
        return all_systems()[system].on(Context(values))

    for name in names:
        bare = {"system_state": {role: states.get(name, {})}}
        bare_system = on(name, bare)
        moved = {"address": bare_system.address, "ports": bare_system.searched_ports, "moved": []}
        node = {**bare_system.searched_ports, "address": bare_system.address}
        first = {"system_state": {role: {"ports": moved, "node": node, **states.get(name, {})}}}
        node |= on(name, first).node_more
        host_variables[name] |= {"system_state": {role: {"ports": moved, "node": node, **states.get(name, {})}}}
    common["hostvars"] = host_variables
    return on(f"node{host}", {})


def compare(name: str, texts: Mapping[str, str], folder: Path = GOLDEN) -> None:
    """Compares texts with the golden files NAME/KEY. If DOHYO_GOLDEN=write is set, writes the files instead."""
    path = folder / name
    if os.environ.get("DOHYO_GOLDEN") == "write":
        path.mkdir(parents=True, exist_ok=True)
        for old in path.iterdir():
            old.unlink()
        for key, text in texts.items():
            (path / key).write_text(text, encoding="utf-8")
    golden = {file.name: file.read_text(encoding="utf-8") for file in path.iterdir()} if path.is_dir() else {}
    changes = difference(golden, texts)
    assert not changes, f"golden/{name}:\n{changes}\nif this is right, run: DOHYO_GOLDEN=write pytest tests/systems"


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Returns the unified diff of texts with the same names, without context and line numbers."""
    lines: list[str] = []
    for key in sorted({*before, *after}):
        old, new = before.get(key, "").splitlines(), after.get(key, "").splitlines()
        lines += difflib.unified_diff(old, new, key, key, lineterm="", n=0)
    return "".join(f"{'@@' if line.startswith('@@') else line}\n" for line in lines)


def texts_of(system: System) -> dict[str, str]:
    """Returns all texts of a system that a trial uses. The keys are the names of the golden files."""
    about = {
        "needs": system.planned,
        "refusals": system.refusals,
        "folders": system.folders,
        "disks": system.disks_in_words,
        "up": system.up,
        "processes": system.processes,
        "words": [*system.admin_words, *system.first_words],
        "schema": [*system.tables_words, *system.schema_words],
        "settle": system.settle_words,
        "client": system.client_properties,
        "server": system.server_properties,
        "notes": system.all_notes,
        "makes": system.makes,
        "reusable": system.is_reusable,
        "secret": [vars(secret) for secret in system.secret_files],
        "profile": {name: value for name, value in system.in_effect.items() if name != "values"},
    }
    texts = {"about.json": json.dumps(about, indent=1, ensure_ascii=False, default=str) + "\n"}
    texts["command"] = "\n".join(system.command) + "\n"
    for file in system.files:
        texts[file.path.removeprefix(system.run + "/").replace("/", "-")] = file.content
    return texts
