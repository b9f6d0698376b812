"""Measures a trial by hand: deploy.yml, trial.yml with few variables, and `dohyo tabulate`."""

import json
import os
import subprocess
import sys
from pathlib import Path

from dohyo.places import ANSIBLE


def typed(name: str, *arguments: str) -> str:
    """Runs a command as the documentation shows it, and returns its output."""
    program = Path(sys.executable).with_name(name)
    done = subprocess.run(
        [program, *arguments], cwd=ANSIBLE, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        check=False, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_trial_by_hand_has_valid_numbers(tmp_path: Path) -> None:
    # Other work on the machine must not make the trial invalid. The user's own evidence must not be replaced.
    extra = (f"trial_dir={tmp_path}/raw/mysql-innodb", "trial_system=mysql-innodb", "trial_max_other_cpu=100%")
    typed("ansible-playbook", "deploy.yml", "-e", '{"deploy_systems": ["mysql-innodb"]}')
    text = typed(
        "ansible-playbook", "trial.yml", "-e", " ".join(extra), "-e", '{"trial_warmup": 1, "trial_duration": 2}'
    )
    assert f"The results are in {tmp_path}" in text
    table = typed("dohyo", "tabulate", str(tmp_path))
    assert "invalid" not in table
    (trial,) = json.loads(typed("dohyo", "tabulate", str(tmp_path), "--format", "json"))["trials"]
    assert (trial["status"], trial["reason"]) == ("ok", None)
