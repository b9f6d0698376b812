"""What our plugins use of Ansible's private API works with the lowest and the highest supported release of it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dohyo.places import ANSIBLE, ROOT

# setup.sh test installs the lowest release here; .venv has the highest.
LOWEST = ROOT / ".setup/ansible-lowest"
PRIVATE = re.compile(
    r"_build_command|_resolve_option_variables|_play_context|dump_attrs|_ANSIBLE_|get_module_encoder"
    r"|_update_module_args|_parse_returned_data"
)
# It says what it was called with, and that there is no way to the host.
SSH = '#!/bin/sh\nprintf "%s\\n" "$@" > {words}\nexit 255\n'


def play(tasks: list[dict[str, object]], hosts: dict[str, object], lowest: bool, folder: Path) -> None:
    """Plays tasks with a release of Ansible."""
    (folder / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    environment = os.environ | {
        "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
    }
    if lowest:
        environment["PYTHONPATH"] = str(LOWEST)

    main = "import sys; from ansible.cli import playbook; playbook.main(sys.argv[1:])"
    words = ("ansible-playbook", "-i", str(folder / "hosts.yml"), str(folder / "play.yml"))
    command = [sys.executable, "-c", main, *words]
    played = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ANSIBLE)
    assert played.returncode == 0, played.stdout + played.stderr


@pytest.mark.slow
@pytest.mark.parametrize("lowest", [True, False], ids=["lowest", "highest"])
def test_modules_within_the_process_and_commands_of_agents(lowest: bool, tmp_path: Path) -> None:
    if lowest and not LOWEST.exists():
        pytest.skip("./setup.sh test installs the lowest release of ansible-core")
    ssh, words, release = tmp_path / "ssh", tmp_path / "words", tmp_path / "release"
    ssh.write_text(SSH.format(words=words))
    ssh.chmod(0o755)
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    far = {
        "ansible_connection": "ssh", "ansible_host": "192.0.2.7", "ansible_user": "me", "ansible_port": 2222,
        "ansible_ssh_executable": str(ssh),
        "ansible_ssh_private_key_file": "/keys/mine", "ansible_ssh_common_args": "-o ProxyJump=gate",
        "ansible_python_interpreter": "/opt/python",
    }  # fmt: skip
    agents = {"far": {"tool": "/srv/dohyo/bin/agent", "client": None, "servers": "x"}}
    numbers = (
        "ready_timeout",
        "start_delay_ms",
        "warmup",
        "duration",
        "bound",
        "silence",
        "undo",
        "boot",
        "skew_limit_ms",
    )
    conducting = {"agents": agents, "folder": str(tmp_path), "phase": "run", "measured": True}
    tasks: list[dict[str, object]] = [
        {"host_resources": {"path": "/"}, "register": "found", "when": "inventory_hostname == 'here'"},
        {"assert": {"that": "found.cores > 0"}, "when": "inventory_hostname == 'here'"},
        {"conduct_clients": {**conducting, **dict.fromkeys(numbers, 1)}, "register": "told", "run_once": True},
        {"assert": {"that": "told.vanished == ['far']"}, "run_once": True},
        {"files": {"files": [{"path": str(release), "content": "{{ ansible_version.full }}"}], "mode": "0644"},
         "when": "inventory_hostname == 'here'"},
    ]  # fmt: skip
    play(tasks, {"here": here, "far": far}, lowest, tmp_path)
    asked = words.read_text().splitlines()
    assert asked[-2:] == ["192.0.2.7", "exec /srv/dohyo/bin/agent converse"]
    for option in ("ProxyJump=gate", "Port=2222", 'User="me"', 'IdentityFile="/keys/mine"', "ControlPath=none"):
        assert option in asked
    (pinned,) = re.findall(r'"ansible-core~=([\d.]+)"', (ROOT / "analysis/pyproject.toml").read_text())
    newest = re.findall(r"^ansible-core==([\d.]+)", (ROOT / "analysis/requirements.txt").read_text(), re.MULTILINE)
    assert [release.read_text()] == ([pinned] if lowest else newest)


def test_private_names_are_in_one_file() -> None:
    files = [path for path in (ANSIBLE / "plugins").rglob("*.py") if PRIVATE.search(path.read_text())]
    assert [path.name for path in files] == ["ansible_private.py"]
