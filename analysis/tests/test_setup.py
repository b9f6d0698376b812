"""Tests setup.sh in a checkout that was moved, that belongs to another user, or whose name is not ASCII."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dohyo.places import ROOT

# Functions of the script, without its main part.
FUNCTIONS = (ROOT / "setup.sh").read_text(encoding="utf-8").partition("# ---- main ---")[0]


def setup(root: Path, commands: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs commands that call the functions of setup.sh, in a checkout at `root`."""
    (root / ".setup").mkdir(parents=True, exist_ok=True)
    (root / "setup.sh").write_text(f"{FUNCTIONS}\n{commands}\n", encoding="utf-8")
    command = ["bash", str(root / "setup.sh")]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["été", "it's", "a b", 'say "$HOME"', "back\\slash"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_the_command_works_below_any_path(tmp_path: Path, name: str, locale: str) -> None:
    root = tmp_path / name
    venv = root / ".venv"
    (venv / "bin").mkdir(parents=True)
    (site := tmp_path / "site").mkdir()
    # This Python reports `site` as its folder of packages, so that the real environment receives no second dohyo.pth.
    (venv / "bin/python").write_text(
        f'#!/bin/sh\ncase "$*" in *sysconfig*) echo {site} ;; *) exec {sys.executable} "$@" ;; esac\n'
    )
    (venv / "bin/python").chmod(0o755)
    done = setup(root, 'install_dohyo "$root/.venv"', LC_ALL=locale)
    assert done.returncode == 0, done.stderr
    assert (site / "dohyo.pth").read_text(encoding="utf-8") == f"{root}/analysis\n"
    command, environment = [str(venv / "bin/dohyo"), "properties"], os.environ | {"LC_ALL": locale}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout[:12]) == (0, "# Properties"), result.stderr


@pytest.mark.parametrize("old", ["checkout one", "my/checkout"])
def test_a_venv_of_another_place_is_made_anew(tmp_path: Path, old: str) -> None:
    root = tmp_path / "checkout"
    stamp = root / ".setup/python"
    stamp.parent.mkdir(parents=True)
    digest = "0" * 64
    for path, same in ((str(tmp_path / old), False), (f"{tmp_path}/other{root}", False), (str(root), True)):
        stamp.write_text(f"{path} {digest}  -\n")
        assert (setup(root, 'is_of_here "$state/python"').returncode == 0) == same


@pytest.mark.parametrize("line", ["ERROR: no matching distribution", "[ERROR] no such artifact", "E: no such package"])
def test_the_error_of_a_tool_is_shown(tmp_path: Path, line: str) -> None:
    more = "".join(f"echo noise {number};" for number in range(40))
    done = setup(tmp_path, f"tool() {{ echo '{line}'; {more} return 1; }}; logged tool tool")
    assert done.returncode == 1
    shown = done.stderr.splitlines()
    assert shown[0] == line
    assert not any("noise" in text for text in shown)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("locked", [False, True])
def test_the_checkout_of_somebody_else_is_named(locked: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(ROOT / "setup.sh", folder)
        (folder / "setup.sh").chmod(0o755)
        if locked:
            (folder / ".setup").mkdir(0o777)
            (folder / ".setup").chmod(0o777)
            (folder / ".setup/lock").touch()
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(folder / "setup.sh"), "python"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"setup: ERROR: {folder} belongs to root, and nobody cannot write to it;")
    assert len(done.stderr.splitlines()) == 1
