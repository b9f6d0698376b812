"""The fixture that runs commands."""

import pytest

from dohyo.places import ROOT
from suite.commands import Commands

LOGS = ROOT / ".setup/reports"


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Commands:
    """Runs the commands of one test; their output is also in .setup/reports/TEST.log."""
    return Commands(LOGS / f"{request.node.name}.log")
