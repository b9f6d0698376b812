"""Runs linters and type checkers. Maven runs checkstyle, and javac treats warnings as errors in every build."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from dohyo.places import ANSIBLE, ROOT
from suite.commands import BIN, MAVEN, Commands

ANALYSIS = ROOT / "analysis"
PYTHON_FOLDERS = {
    "pyproject.toml": (".", "../ansible/plugins", "../benchmarks", "../ycsb-bindings"),
    "../ansible/agent/ruff.toml": ("../ansible/agent",),
    "../ansible/systems/ruff.toml": ("../ansible/systems", "../examples"),
}


def shell_scripts() -> list[Path]:
    """Returns the shell scripts of the checkout, committed or not. Their first line identifies them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [ROOT / name for name in names if Path(name).suffix in ("", ".sh") and (ROOT / name).is_file()]
    return [file for file in files if re.match(rb"#!.*[/ ](ba)?sh\n", file.read_bytes())]


def test_shellcheck(run: Commands) -> None:
    scripts = shell_scripts()
    assert {"test.sh", "run", "testbed", "deploy_test.sh"} < {file.name for file in scripts}
    run(BIN / "shellcheck", *scripts)


def test_ruff_check(run: Commands) -> None:
    # Ansible's modules may run with an old Python, whose pathlib has no advantage over os.path.
    less = ("--extend-per-file-ignores", "../ansible/plugins/**:PTH")
    for config, folders in PYTHON_FOLDERS.items():
        run(BIN / "ruff", "check", "--config", config, *less, *folders, cwd=ANALYSIS)


def test_ruff_format(run: Commands) -> None:
    for config, folders in PYTHON_FOLDERS.items():
        run(BIN / "ruff", "format", "--check", "--config", config, *folders, cwd=ANALYSIS)


def test_mypy(run: Commands) -> None:
    run(BIN / "mypy", cwd=ANALYSIS)


@pytest.mark.slow
def test_ansible_lint(run: Commands) -> None:
    path = f"PATH={BIN}:{os.environ['PATH']}"
    run("env", path, "ansible-lint", "--offline", "--profile", "production", cwd=ANSIBLE)


def test_checkstyle(run: Commands) -> None:
    run(*MAVEN, "validate")
