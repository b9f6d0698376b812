"""Creates scenarios from a text."""

from pathlib import Path

from dohyo.scenario import loading
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.scenario import Scenario


def load(folder: Path, text: str, *assignments: str, hosts: Hosts | None = None, full: bool = False) -> Scenario:
    """Loads a scenario from a text, with assignments as in `--set`."""
    file = folder / "small"
    file.write_text(text)
    return loading.load(file, loading.overrides(assignments, {}), hosts=hosts, full=full)
