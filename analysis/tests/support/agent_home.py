"""Creates a home folder for the agent, as deploy.yml does on a host."""

import shlex
import shutil
import sys
from pathlib import Path

from dohyo.places import ANSIBLE

MODULES = ANSIBLE / "agent"


def install(home: Path, python: str = sys.executable) -> Path:
    """Installs the agent in a home, and returns the path of its program."""
    shutil.copytree(MODULES, home / "bin/modules", ignore=shutil.ignore_patterns("__pycache__"))
    program = home / "bin/agent"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} -EsSB "${{0%/*}}/modules/agent.py" "$@"\n')
    program.chmod(0o755)
    return program
