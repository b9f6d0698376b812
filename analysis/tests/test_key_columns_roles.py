"""What the systems reckon with for keycolumns, rendered by Ansible itself without a server."""

import json
import subprocess
import sys
from pathlib import Path

import yaml

from dohyo.places import ANSIBLE

ASKED = {
    "bytes": "{{ trial_key_bytes | int }}",
    "row": "{{ _mysql_row_bytes | int }}",
}


def rendered(folder: Path, **properties: str) -> dict[str, str]:
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [str(ANSIBLE / "group_vars/all.yml")],
        "vars": {
            "ansible_python_interpreter": sys.executable,
            "trial_properties": {"fieldcount": "2", "fieldlength": "10", **properties},
        },
        "tasks": [
            {"copy": {"content": "{{ asked | to_json }}", "dest": str(folder / "answer")}, "vars": {"asked": ASKED}}
        ],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    program = Path(sys.executable).with_name("ansible-playbook")
    run = subprocess.run([program, folder / "play.yml"], cwd=ANSIBLE, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads((folder / "answer").read_text())  # type: ignore[no-any-return]


def test_a_key_of_columns(tmp_path: Path) -> None:
    made = rendered(
        tmp_path, keycolumns="host int 10, user bigint 1000, object text(32) 100, int int 2, when timestamp"
    )
    assert int(made["bytes"]) == 4 + 8 + 32 + 4 + 8
    assert int(made["row"]) == 2 * 12 + 56 + 5 * 2


def test_a_key_of_bytes(tmp_path: Path) -> None:
    made = rendered(tmp_path, zeropadding="30")
    assert int(made["bytes"]) == 36
    assert int(made["row"]) == 2 * 12 + 36 + 2
