"""The parts of Ansible's private API that our plugins use work in the lowest and the highest supported release."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from dohyo.places import ANSIBLE, ROOT
from support.releases import BOTH, play_with

PRIVATE = re.compile(
    r"_build_command|_resolve_option_variables|_play_context|dump_attrs|_ANSIBLE_|get_module_encoder"
    r"|_update_module_args|_parse_returned_data|_variable_manager|\._inventory|get_play\b|TaskExecutor"
    r"|_get_connection|_set_connection_options|_shared_loader_obj"
)
# Program that prints its arguments and exits as ssh does if the host is unreachable.
SSH = '#!/bin/sh\nprintf "%s\\n" "$@" > {words}\nexit 255\n'


@pytest.mark.slow
@BOTH
def test_modules_within_the_process_and_commands_of_agents(lowest: bool, tmp_path: Path) -> None:
    ssh, words, release = tmp_path / "ssh", tmp_path / "words", tmp_path / "release"
    ssh.write_text(SSH.format(words=words))
    ssh.chmod(0o755)
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    far = {
        "ansible_connection": "ssh", "ansible_host": "192.0.2.7", "ansible_user": "me", "ansible_port": 2222,
        "ansible_ssh_executable": str(ssh),
        "ansible_ssh_private_key_file": "/keys/mine", "ansible_ssh_common_args": "-o ProxyJump=gate",
        "dohyo_python": "/opt/python", "dohyo_home": "/srv/dohyo", "host_cpus_client": "",
        "service_host": {"java_home": "/jdk"},
    }  # fmt: skip
    run = {"name": "run", "threads": 1, "warmup": "0", "duration": 1, "properties": {"recordcount": 10}}
    clients: dict[str, Any] = {
        "clients_phases": [run], "clients_prefix": "", "clients_results": str(tmp_path / "results"),
        "clients_measured": True, "client_binding": "noop", "client_heap": "24m",
    }  # fmt: skip
    plays: list[dict[str, Any]] = [
        {
            "hosts": "database",
            "tasks": [
                {"agent": {"do": "host_resources", "path": "/"}, "register": "found"},
                {"assert": {"that": "found.cores > 0"}},
                {"copy": {"dest": str(release), "content": "{{ ansible_version.full }}", "mode": "0644"}},
            ],
        },
        # The inventory's database hosts are not part of this play.
        {
            "hosts": "client",
            "vars": clients,
            "tasks": [
                {"conduct": {"do": "clients"}, "register": "told", "run_once": True},
                {"assert": {"that": "told.failures.keys() | list == ['far']"}, "run_once": True},
                {"assert": {"that": "'far' in told.failures['far']"}, "run_once": True},
            ],
        },
    ]
    play_with(lowest, plays, {"database": {"here": here}, "client": {"far": far}}, tmp_path)
    asked = words.read_text().splitlines()
    assert asked[-2:] == ["192.0.2.7", "exec /srv/dohyo/bin/agent converse"]
    for option in ("ProxyJump=gate", "Port=2222", 'User="me"', 'IdentityFile="/keys/mine"', "ControlPath=none"):
        assert option in asked
    report = json.loads((tmp_path / "results/run-1/clients.json").read_text())
    assert (report["valid"], report["clients"]["far"]["state"]) == (False, "vanished")
    (pinned,) = re.findall(r'"ansible-core>=([\d.]+)', (ROOT / "analysis/pyproject.toml").read_text())
    newest = re.findall(r"^ansible-core==([\d.]+)", (ROOT / "analysis/requirements.txt").read_text(), re.MULTILINE)
    assert [release.read_text()] == ([pinned] if lowest else newest)


def test_private_names_are_in_one_file() -> None:
    files = [path for path in (ANSIBLE / "plugins").rglob("*.py") if PRIVATE.search(path.read_text())]
    assert [path.name for path in files] == ["ansible_private.py"]
