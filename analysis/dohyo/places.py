"""Where things are in a checkout."""

import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "workloads"
ANSIBLE = ROOT / "ansible"
BINDINGS = ROOT / "ycsb-bindings"
RESULTS = ROOT / "results"
# dohyo_home of the local inventory: installed servers, data, logs.
LOCAL_HOME = ROOT / ".dohyo"
# The programs that hints name.
RUN = ROOT / "run.sh"
DOHYO = ROOT / "dohyo"
SETUP = ROOT / "setup.sh"
# setup.sh keeps a link to JDK 17 there, and the script that draws the charts of a page.
JDK = ROOT / ".setup" / "java"
VEGA = ROOT / ".setup" / "vega.js"


def shown(path: Path) -> str:
    """A path as a person would type it: relative to the current directory where it lies below, unless that is /."""
    here, whole = Path.cwd(), path.resolve()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) and here != here.parent else str(path)


def named(experiment: Path) -> str:
    """The name that commands accept for the folder of an experiment: its ID below results/, else its path."""
    return experiment.name if experiment.parent == RESULTS else str(experiment)


def command(program: Path, *words: str) -> str:
    """A command that works when a person pastes it in the current directory.

    :param program: `RUN`, `DOHYO` or `SETUP`; none of them is on the PATH
    """
    name = shown(program)
    return shlex.join([name if "/" in name else f"./{name}", *words])
