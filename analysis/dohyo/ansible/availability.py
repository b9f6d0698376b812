"""Finds out which systems are available on the hosts. The class of each system decides whether it is."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dohyo.ansible.playbook import Event, local_inventory, play
from dohyo.bad_input import BadInputError
from dohyo.places import LOCAL_HOME
from dohyo.scenario.scenario import Scenario
from dohyo.systems import catalogue
from dohyo.systems.context import Context
from dohyo.systems.system import PLATFORM, System


def watcher(reasons: dict[str, str]) -> Callable[[Event], None]:
    """Returns a function that receives events, and stores in `reasons` why each system is unavailable, or ""."""

    def watch(event: Event) -> None:
        if event["event"] == "system":
            reasons[str(event["system"])] = str(event["unavailable"])

    return watch


def ask(inventory: Path | None, variables: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Finds out which systems are available on the hosts.

    :param inventory: None for this machine, which is checked without Ansible
    :param variables: variables of the systems, such as the path of a server's archive
    :returns: for each system, "" or the reason why it is unavailable and how to get it
    :raises BadInputError: if the playbook that asks the hosts fails
    """
    inventory = inventory or local_inventory()
    if inventory is None:
        return {name: _here(system, variables or {}) for name, system in catalogue.all_systems().items()}
    reasons: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        failure = play(
            "list.yml", inventory, Path(folder), check=lambda: None, variables=variables, watch=watcher(reasons)
        )
        if failure is not None:
            raise BadInputError(f"cannot ask the hosts which systems are available: {failure}")
    return reasons


def skipped(scenario: Scenario, inventory: Path | None) -> dict[str, str]:
    """Returns the systems that a run of the scenario would skip on these hosts, with the reasons, in its order.

    :raises BadInputError: as `ask` does
    """
    attached = scenario.role_variables.get("attached", {})
    names = [name for name in scenario.systems if name not in attached]
    reasons = ask(inventory, scenario.role_variables) if names else {}
    return {name: reasons[name] for name in names if reasons.get(name)}


def _here(system: System, variables: Mapping[str, Any]) -> str:
    """Returns why a system is unavailable on this machine, or "". Works like dohyo.trial.hosts.find_availability."""
    if system.name in variables.get("attached", {}):
        return ""
    values = {
        "inventory_hostname": "localhost",
        "groups": {"database": ["localhost"], "client": ["localhost"]},
        "dohyo_home": str(LOCAL_HOME),
        "dohyo_control": str(LOCAL_HOME),
        "environment": os.environ,
        **variables,
    }
    if catalogue.ask(system.name, Context(values), lambda instance: instance.downloads):
        values["system_platform"] = _said_by(PLATFORM, {})
    if (script := catalogue.ask(system.name, Context(values), lambda instance: instance.looks_for)) is not None:
        looked = _said_by(["sh", "-c", script.text, "sh", *script.arguments], script.environment)
        values["system_state"] = {system.role: {"looked": looked}}
    return catalogue.ask(system.name, Context(values), lambda instance: instance.unavailable)


def _said_by(command: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    process = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return {"stdout": process.stdout.strip(), "stderr": process.stderr.strip()}
