"""Runs test scripts: ansible/tests/*.sh, and a script that starts twelve clients on one machine."""

from pathlib import Path

import pytest

from dohyo.places import ANSIBLE, ROOT
from suite.commands import BIN, Commands

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("script", sorted((ANSIBLE / "tests").glob("*.sh")), ids=lambda script: script.stem)
def test_script(script: Path, run: Commands) -> None:
    run(script)


def test_many_clients(run: Commands) -> None:
    options = ("--clients", "12", "--rounds", "1", "--seconds", "5", "--launch-interval", "0.2")
    run(BIN / "python", ROOT / "benchmarks/many_clients.py", *options)
