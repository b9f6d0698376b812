"""Paths in a checkout."""

import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "workloads"
ANSIBLE = ROOT / "ansible"
BINDINGS = ROOT / "ycsb-bindings"
RESULTS = ROOT / "results"
# dohyo_home of the local inventory, with installed servers, data and logs.
LOCAL_HOME = ROOT / ".dohyo"
# Programs that messages name.
RUN = ROOT / "run.sh"
DOHYO = ROOT / "dohyo"
SETUP = ROOT / "setup.sh"
# Link to JDK 17 that setup.sh creates, and the script that draws the charts of a page.
JDK = ROOT / ".setup" / "java"
VEGA = ROOT / ".setup" / "vega.js"


def shown(path: Path) -> str:
    """Returns a path for messages: relative if it is below the current directory, unless that is /."""
    here, whole = Path.cwd(), path.resolve()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) and here != here.parent else str(path)


def named(experiment: Path) -> str:
    """Returns the name that commands accept for an experiment's folder: its ID below results/, otherwise its path."""
    return experiment.name if experiment.parent == RESULTS else str(experiment)


def command(program: Path, *words: str) -> str:
    """Returns a command that can be pasted in the current directory.

    :param program: `RUN`, `DOHYO` or `SETUP`; none of them is on the PATH
    """
    name = shown(program)
    return shlex.join([name if "/" in name else f"./{name}", *words])
