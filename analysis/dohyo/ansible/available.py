"""Which systems are available on the hosts, by their descriptions: ansible/list.yml and deploy.yml evaluate these."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dohyo.ansible.playbook import Event, play
from dohyo.bad_input import BadInputError


def watcher(reasons: dict[str, str]) -> Callable[[Event], None]:
    """Watches a playbook's events and keeps why systems are unavailable, by name; "" for an available one."""

    def watch(event: Event) -> None:
        if event["event"] == "system":
            reasons[str(event["system"])] = str(event["unavailable"])

    return watch


def ask(inventory: Path | None, variables: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Asks the hosts about all systems.

    :param inventory: None is the default one, this machine
    :param variables: of the systems, such as where a server's archive is
    :returns: by system "", or why it is not available and how to get it
    :raises BadInputError: if the hosts cannot be asked
    """
    reasons: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        failure = play(
            "list.yml", inventory, Path(folder), check=lambda: None, variables=variables, watch=watcher(reasons)
        )
        if failure is not None:
            raise BadInputError(f"cannot ask the hosts which systems are available: {failure}")
    return reasons
