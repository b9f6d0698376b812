"""Defines the fixture that runs the commands of a test."""

import pytest

from dohyo.places import ROOT
from suite.commands import Commands

LOGS = ROOT / ".setup/reports"


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Commands:
    """Returns a function that runs commands and writes their output to .setup/reports/TEST.log."""
    return Commands(LOGS / f"{request.node.name}.log")
