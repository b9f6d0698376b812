"""Changes a copy of the package, to show what a contributor must change."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from dohyo.places import ROOT


def run(folder: Path, file: str, line: str, more: str, program: str, *arguments: Path) -> Any:
    """Copies the package, inserts lines into one of its files, and runs a program with that copy.

    :param folder: folder for the copy
    :param file: file of the package
    :param line: line after which the new lines are inserted; the file must contain it exactly once
    :param more: lines to insert
    :param program: Python program that prints JSON
    :returns: the parsed output
    :raises AssertionError: if the program fails
    """
    package = folder / "analysis/dohyo"
    shutil.copytree(ROOT / "analysis/dohyo", package)
    for entry in ROOT.iterdir():
        if entry.name != "analysis":
            (folder / entry.name).symlink_to(entry)
    declared = (package / file).read_text("utf-8")
    assert declared.count(line) == 1
    (package / file).write_text(declared.replace(line, line + more), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=package.parent,  # Python searches this folder first
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
