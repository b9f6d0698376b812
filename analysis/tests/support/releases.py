"""Runs plays with the lowest and the highest supported release of Ansible."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dohyo.places import ANSIBLE, ROOT

# Folder of the lowest release, which `setup.sh test` installs. The highest release is in .venv.
LOWEST = ROOT / ".setup/ansible-lowest"
BOTH = pytest.mark.parametrize("lowest", [True, False], ids=["lowest", "highest"])


def with_lowest() -> str:
    """Returns the PYTHONPATH of the lowest release of Ansible. Skips the test if this release is not installed."""
    if not LOWEST.exists():
        pytest.skip("./setup.sh test installs the lowest release of ansible-core")
    return f"{LOWEST}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"


def play_with(
    lowest: bool, plays: Sequence[Mapping[str, Any]], groups: Mapping[str, Mapping[str, Any]], folder: Path
) -> None:
    """Runs plays with the lowest or the highest release of Ansible, without gathering facts.

    :param groups: variables of the hosts, by group and host
    """
    (folder / "play.yml").write_text(json.dumps([{"gather_facts": False, **play} for play in plays]))
    inventory = {name: {"hosts": dict(hosts)} for name, hosts in groups.items()}
    (folder / "hosts.yml").write_text(json.dumps({"all": {"children": inventory}}))
    environment = os.environ | {
        "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
    }
    if lowest:
        environment["PYTHONPATH"] = with_lowest()

    main = "import sys; from ansible.cli import playbook; playbook.main(sys.argv[1:])"
    arguments = ("ansible-playbook", "-i", str(folder / "hosts.yml"), str(folder / "play.yml"))
    command = [sys.executable, "-c", main, *arguments]
    played = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ANSIBLE)
    assert played.returncode == 0, played.stdout + played.stderr
