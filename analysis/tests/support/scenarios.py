"""Creates scenarios from a text, and shows their plans."""

import io
from pathlib import Path

from rich.console import Console

from dohyo.planning import sizing
from dohyo.scenario import loading
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.scenario import Scenario


def load(folder: Path, text: str, *assignments: str, hosts: Hosts | None = None, full: bool = False) -> Scenario:
    """Loads a scenario from a text, with assignments as in `--set`."""
    file = folder / "small"
    file.write_text(text)
    return loading.load(file, loading.overrides(assignments, {}), hosts=hosts, full=full)


def again(folder: Path, chosen: Scenario) -> Scenario:
    """Returns a scenario as it is read back from the file that an experiment writes of it."""
    file = folder / "again"
    file.write_text(chosen.text(), encoding="utf-8")
    return loading.load(file, name=chosen.name)


def shown_plan(chosen: Scenario, sizes: list[sizing.Sizes], width: int = 300) -> str:
    """Returns the plan of a scenario, as a terminal of this width shows it."""
    output = io.StringIO()
    sizing.show(chosen, sizes, Console(file=output, width=width))
    return output.getvalue()
