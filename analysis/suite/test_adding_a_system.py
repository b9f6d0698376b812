"""Runs all commands of docs/adding-a-system.md in a copy of the checkout."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dohyo.places import ROOT
from e2e.runs import options

PAGE = (ROOT / "docs" / "adding-a-system.md").read_text(encoding="utf-8")
# Each test takes as long as an experiment.
pytestmark = pytest.mark.slow
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yields a copy of the checkout with all files of the working tree, committed or not."""
    folder = tmp_path_factory.mktemp("adding") / "dohyo"
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")
    present = [name.decode() for name in files if name and (ROOT / name.decode()).exists()]
    folder.mkdir()
    subprocess.run(["cp", "--parents", "-a", "-t", folder, *present], cwd=ROOT, check=True)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    yield folder
    if (agent := folder / ".dohyo/bin/agent").exists():  # a failed test may have left processes running
        subprocess.run([agent, "stop-all", "30"], check=True)


def test_the_page_leads_to_a_measured_system(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> None:
    if pytestconfig.getoption("system"):
        pytest.skip("--system selects other systems")
    copy: Path = request.getfixturevalue("copy")
    output = ""
    for block in COMMANDS.findall(PAGE):
        commands = block.replace("--rounds 1", shlex.join(options(target=None)))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}\n{done.stdout}"
        output += done.stdout
    assert re.search(r"test_contract\[h2\] PASSED", output), output
    assert re.search(r"^  h2 +H2: ", output, re.MULTILINE), output
    (summary,) = copy.glob("results/*-workloadA/summary.json")
    (trial,) = json.loads(summary.read_text())["trials"]
    assert (trial["system"], trial["status"], trial["deviations"]) == ("h2", "ok", [])
    assert trial["conditions"]["version"] == "2.4.240"
