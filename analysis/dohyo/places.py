"""Defines the paths in a checkout, and formats paths and commands for messages."""

import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "workloads"
ANSIBLE = ROOT / "ansible"
BINDINGS = ROOT / "ycsb-bindings"
RESULTS = ROOT / "results"
# Value of dohyo_home in the local inventory: the folder for installed servers, their data and logs.
LOCAL_HOME = ROOT / ".dohyo"
# Programs in commands that messages suggest.
RUN = ROOT / "run.sh"
DOHYO = ROOT / "dohyo"
SETUP = ROOT / "setup.sh"
# Files that setup.sh creates: a link to JDK 17, and the script that draws the charts of a page.
JDK = ROOT / ".setup" / "java"
VEGA = ROOT / ".setup" / "vega.js"


def shown(path: Path) -> str:
    """Returns a path for messages. It is relative if it is below the current directory, unless that is /."""
    current, whole = Path.cwd(), path.resolve()
    return str(whole.relative_to(current)) if whole.is_relative_to(current) and current != current.parent else str(path)


def named(experiment: Path) -> str:
    """Returns the name of an experiment's folder for commands: its ID if it is in results/, otherwise its path."""
    return experiment.name if experiment.parent == RESULTS else str(experiment)


def command(program: Path, *arguments: str) -> str:
    """Returns a command that can be pasted in the current directory.

    :param program: `RUN`, `DOHYO` or `SETUP`, which are not on the PATH
    :param arguments: arguments of the program, without quotes
    """
    name = shown(program)
    return shlex.join([name if "/" in name else f"./{name}", *arguments])
