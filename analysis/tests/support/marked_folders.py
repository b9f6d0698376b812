"""Creates folders with Dohyo's mark, and calls the agent's verbs that clear them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import answers
import folder_marks
from dohyo.places import ANSIBLE

MINE = "0123456789ab"
SYSTEMS = sorted(folder.name for folder in (ANSIBLE / "systems").iterdir() if folder.is_dir())
# Values for the patterns in the paths of `folder_marks.MADE`.
PATTERNS = [
    ("ARCHIVE", "x.tgz"),
    ("*-COUNT", "run-1"), (".COUNT", ".1"), ("DIGEST", "0123456789abcdef"), ("SHA256", "0a1b" * 16),
    ("r[0-9][0-9]", "r12"), ("r[0-9]", "r2"), ("[0-9][0-9]", "17"),
    ("[0-9]*", "17"),
    ("[0-9]", "8"), ("ROLE", "mysql"), ("*", "x"),
]  # fmt: skip


def sample(name: str) -> str:
    if name == "**":
        return name
    for pattern, value in PATTERNS:
        name = name.replace(pattern, value)
    return name


def make(owner: Path, kind: str) -> None:
    """Creates a marked folder with an example of everything that Dohyo creates in a folder of this kind."""
    mark = {"deployment": MINE, "kind": kind, "systems": SYSTEMS}
    folder_marks.claim(str(owner), mark, MINE)
    for word in folder_marks.MADE[kind].split():
        *way, last = map(sample, word.split("/"))
        folder = owner.joinpath(*way)
        folder.mkdir(parents=True, exist_ok=True)
        if last == "**":
            (folder / "any/thing").mkdir(parents=True)
            (folder / "any/thing/file").write_text("ours")
        elif last == "=":
            (folder / "below").mkdir()
            (folder / "below/file").write_text("ours")
            (folder / folder_marks.MANIFEST).write_text("0  below/file\n")
        elif last:
            (folder / last).write_text("ours")
    if kind == "home":
        for role in SYSTEMS:
            make(owner / "data/dohyo" / role, "data")
        make(owner / "data/dohyo/kept", "kept")


def run_with_own_mounts(script: str) -> None:
    """Runs a Python program with private mounts. It can import `folder_marks`. Skips the test unless root runs it."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", script]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(Path(folder_marks.__file__).parent)}, check=True)


def module(name: str, **arguments: object) -> dict[str, object]:
    """Runs a verb as the agent on a host does. Raises AgentError if the verb fails."""
    answer: dict[str, object] = answers.perform(name, arguments)
    return answer
