"""Tests what docs/secrets.md promises about downloads and root."""

import os
import re
from pathlib import Path

import host_resources
from dohyo.places import ROOT
from support.checkout import tracked

# Expressions that make tasks and Python code run as root.
ROOT_WORDS = re.compile(r"become: *(true|\"|{)|\b(sudo|doas) -n\b|\b(root|become)=(True|[A-Za-z]+[.(])")


def test_the_page_names_every_file_that_becomes_root() -> None:
    page = (ROOT / "docs/secrets.md").read_text("utf-8").split("## Root")[1].split("##")[0]
    named = set(re.findall(r"`([^`]+)`", page))
    files = [
        file
        for file in tracked("ansible", "analysis/dohyo/trial")
        if "tests" not in file.parts and "testbed" not in file.parts
    ]
    becoming = [
        file.relative_to(ROOT) for file in files
        if ROOT_WORDS.search(file.read_text("utf-8", "replace"))
    ]  # fmt: skip
    assert len(becoming) > 10
    assert [file for file in becoming if str(file) not in named and file.name not in named] == []


def test_maven_refuses_what_has_another_checksum() -> None:
    calls = [
        (file, line) for file in tracked("*.sh", "ansible", "analysis/suite")
        for line in file.read_text("utf-8").splitlines()
        if re.search(r"\bmvn\b.*-[qB]\b", line) and "mvn --version" not in line
    ]  # fmt: skip
    assert len(calls) == 3
    assert [call for call in calls if "--strict-checksums" not in call[1]] == []


def test_every_python_package_has_one_version() -> None:
    lines = [line for file in tracked("analysis/requirements*.txt") for line in file.read_text("utf-8").splitlines()]
    packages = [line for line in lines if line and not line.lstrip().startswith(("#", "--"))]
    assert len(packages) > 50
    assert [line for line in packages if not re.match(r"[\w.-]+==[\w.]+ ", line)] == []


def test_preflight_refuses_to_log_in_as_root(tmp_path: Path) -> None:
    checks = {"systems": [], "processors": [], "address": "127.0.0.1", "addresses": {}, "clock": "shared",
              "home": str(tmp_path / "home"), "deployment": "none"}  # fmt: skip

    def refuses(root: bool) -> bool:
        return "the login user is root" in str(host_resources.answer(path="/", checks={**checks, "root": root}))

    assert (refuses(True), refuses(False)) == (False, os.geteuid() == 0)
