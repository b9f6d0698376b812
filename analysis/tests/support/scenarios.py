"""Scenarios that a test writes down."""

from pathlib import Path

from dohyo.scenario import loading
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.scenario import Scenario


def load(folder: Path, text: str, *assignments: str, hosts: Hosts | None = None, full: bool = False) -> Scenario:
    """Loads a scenario of that text, with assignments as `--set` has them."""
    file = folder / "small"
    file.write_text(text)
    return loading.load(file, loading.overrides(assignments, {}), hosts=hosts, full=full)
