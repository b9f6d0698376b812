"""Tests removals with similar names, second attempts, copies, links, and files that cannot be removed."""

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

import folder_marks
from dohyo.places import ANSIBLE
from dohyo.systems.catalogue import all_systems
from failure import AgentError
from support.described import described
from support.marked_folders import MINE, make, module, run_with_own_mounts


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make(tmp_path / "home", "home")
    return tmp_path / "home"


def precious(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("precious")
    return path


def removed(home: Path) -> list[str]:
    """Removes the home, and returns the messages about everything that was kept."""
    reasons: list[str] = []
    folder_marks.remove(str(home), MINE, foreign=reasons)
    return reasons


@pytest.mark.parametrize(
    "name",
    ["archives/photos.zip", "archives/notes.sha256", "archives/db.lock", "run/notes.properties",
     "run/mysql-backup/dump", "packages/mysql/mine/notes", "packages/mysql/vendor/notes", "bundle/mysql.old/a.jar",
     "install/mysql/x/server.orig/f", "install/mysql/x/lib.bak/f", "install/mysql/x/jars/f",
     "install/aerospike/x/unpacked/f", "client/backup-2026/x/f", "install/jdk/21-mine/bin/java", "install/jdk/17.old/f",
     "install/hbase-native/x.old/f"],
)  # fmt: skip
def test_names_that_resemble_ours_stay_and_are_named(name: str, home: Path) -> None:
    path = precious(home / name)
    reasons = removed(home)
    assert path.read_text() == "precious"
    assert any(str(path_or_parent) in " ".join(reasons) for path_or_parent in (path, path.parent, path.parent.parent))


def test_a_run_folder_that_was_copied_stays_in_the_evidence(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    make(evidence, "evidence")
    copied = precious(evidence / "run-1.bak" / "metrics")
    with pytest.raises(folder_marks.NotOursError, match=r"run-1\.bak"):
        folder_marks.remove_inside(str(evidence), "run-[0-9]*", "")
    assert copied.exists()


def test_the_names_of_hbases_processes_are_on_the_list() -> None:
    every = described("hbase", hbase_authentication=True, hbase_regionservers_per_host=8).processes
    assert len(every) == 13
    assert {f"run/{re.sub('[0-9]', '[0-9]', name)}/**" for name in every} <= set(folder_marks.MADE["home"].split())


def test_every_client_that_is_installed_is_on_the_list() -> None:
    (play, *_) = yaml.safe_load((ANSIBLE / "doctor.yml").read_text("utf-8"))
    alone = play["vars"]["client_module"]
    assert {f"bundle/{alone}/=", f"bundle/{alone}.dohyo-*/**"} <= set(folder_marks.MADE["home"].split())
    # Each binding has the same name as its role, and MADE contains bundle/ROLE.
    assert all(system.binding == system.role for system in all_systems().values())


# ---- Second attempts -------------------------------------------------------------------------------------------------


def test_a_second_removal_knows_the_files_of_others_as_the_first_did(home: Path) -> None:
    data = home / "data/dohyo/mysql"
    mark = json.loads((data / ".dohyo").read_text())
    (data / ".dohyo").write_text(json.dumps({**mark, "makes": {"any": ["thing"]}}))
    (data / "any/shop").mkdir()  # the home keeps its mark because of this folder
    path = precious(home / "install/mysql/x/server/theirs.txt")
    for _ in range(2):
        assert any(str(path) in reason for reason in removed(home))
        assert path.exists()


def dying(last: int) -> Callable[..., None]:
    """Returns a replacement for os.unlink that interrupts the program on call number `last`."""
    calls, unlink = count(1), os.unlink

    def replacement(*args: Any, **more: Any) -> None:
        if next(calls) == last:
            raise KeyboardInterrupt
        unlink(*args, **more)

    return replacement


@pytest.mark.slow
def test_after_an_interruption_at_any_point_files_of_others_stay(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for stop in range(1, 150, 3):
        if not home.exists():
            make(home, "home")
        path = precious(home / "install/mysql/x/server/theirs.txt")
        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            patch.setattr(os, "unlink", dying(stop))
            removed(home)
        marked = folder_marks.read_mark(str(home))
        reasons = removed(home) if marked else []
        assert path.exists()
        assert {reason.partition(" ")[0] for reason in reasons} <= {str(path)}
        shutil.rmtree(home)


@pytest.mark.parametrize("damage", ["dangling", "folder", "fifo", "empty"])
def test_with_a_damaged_manifest_nothing_of_the_folder_goes(damage: str, home: Path) -> None:
    server = home / "install/mysql/x/server"
    path = precious(server / "theirs.txt")
    (server / ".sha256").unlink()
    if damage == "dangling":
        (server / ".sha256").symlink_to("/nowhere")
    elif damage == "fifo":
        os.mkfifo(server / ".sha256")
    else:
        (server / ".sha256").touch() if damage == "empty" else (server / ".sha256").mkdir()
    reasons = removed(home)
    assert path.exists()
    assert any(str(path) in reason for reason in reasons)


# ---- Copies ----------------------------------------------------------------------------------------------------------


def test_copies_of_a_data_folder_stay_and_one_that_was_moved_goes(home: Path) -> None:
    data = home / "data/dohyo/mysql"
    copies = [home / "data/dohyo/mysql-backup", home / "backup/dohyo/mysql"]
    for copy in copies:
        shutil.copytree(data, copy)
        with pytest.raises(folder_marks.NotOursError, match=f"{copy} is a copy of {data} that Dohyo did not make"):
            folder_marks.remove(str(copy), MINE)
        with pytest.raises(folder_marks.NotOursError, match="is a copy"):
            folder_marks.claim(str(copy), {"deployment": MINE, "kind": "data"}, MINE)
    moved = home.rename(home.parent / "moved")
    reasons = removed(moved)
    assert [path.name for path in moved.iterdir()] != []
    assert all((moved / copy.relative_to(home) / "any/thing/file").exists() for copy in copies)
    assert not (moved / "data/dohyo/mysql").exists()
    assert len([reason for reason in reasons if "is a copy" in reason]) == len(copies)


# ---- Links and mounts ------------------------------------------------------------------------------------------------


def test_a_link_is_neither_followed_nor_taken_for_ours(home: Path) -> None:
    (home / "all").symlink_to("/")
    (home / "disk").symlink_to(home / "data")
    reasons = removed(home)
    assert sorted(path.name for path in home.iterdir()) == ["all", "disk"]
    assert [reason.partition(" ")[0] for reason in reasons] == [f"{home}/all", f"{home}/disk"]


def test_a_folder_exchanged_for_a_link_since_the_look_leads_nowhere(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = precious(tmp_path / "theirs/x/pom.xml")
    precious(home / "install/mysql/x/theirs")
    accept = folder_marks._accept

    def exchange(*args: object) -> None:
        accept(*args)
        (home / "install/mysql").rename(tmp_path / "away")
        (home / "install/mysql").symlink_to(tmp_path / "theirs")

    monkeypatch.setattr(folder_marks, "_accept", exchange)
    notes = removed(home)
    assert theirs.read_text() == "precious"
    assert any(f"{home}/install/mysql/x/pom.xml was made by Dohyo and cannot be removed" in reason for reason in notes)


def test_a_link_on_the_way_to_an_installation_is_refused(home: Path, tmp_path: Path) -> None:
    (home / "install/mysql").rename(tmp_path / "elsewhere")
    (home / "install/mysql").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AgentError, match=f"{home}/install/mysql is a symbolic link"):
        module("transfer", step="unpack", folder=f"{home}/install/mysql/x/lib", archive="/no", digest="0")
    assert f"{home}/install/mysql is a symbolic link" in folder_marks.links_in(str(home))


def test_a_mount_above_the_path_is_not_crossed(tmp_path: Path) -> None:
    script = f"""
import os, subprocess, sys
import folder_marks
home = {str(tmp_path / "home")!r}
folder_marks.claim(home, {{"deployment": {MINE!r}}}, {MINE!r})
os.makedirs(home + "/install")
subprocess.run(["mount", "-t", "tmpfs", "none", home + "/install"], check=True)
os.makedirs(home + "/install/mysql/x/server")
open(home + "/install/mysql/x/server/precious", "w").close()
said = []
folder_marks.remove_inside(home, "install/mysql/x", {MINE!r}, foreign=said)
assert [reason.partition(" is a mount point")[0] for reason in said] == [home + "/install"], said
assert os.path.exists(home + "/install/mysql/x/server/precious")
"""
    run_with_own_mounts(script)


# ---- Files that cannot be removed ------------------------------------------------------------------------------------


@contextmanager
def immutable(path: Path) -> Iterator[None]:
    if os.geteuid() != 0 or subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode:
        pytest.skip("needs root, and a file system with immutable files")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


@pytest.mark.parametrize(
    "name", ["install/mysql/x/server/below/file", "run/mysql/any", "bin/agent", "data/dohyo/mysql"]
)
def test_what_cannot_be_removed_is_named_and_still_ours(name: str, home: Path) -> None:
    with immutable(home / name):
        reasons = removed(home)
        assert reasons
        assert all("was made by Dohyo and cannot be removed: Operation not permitted" in reason for reason in reasons)
        assert not (home / "client").exists()
        with pytest.raises(PermissionError):
            folder_marks.remove(str(home), MINE)
    assert removed(home) == []
    assert not home.exists()


def test_folders_too_deep_for_us_are_named(home: Path) -> None:
    deep = home / "run/mysql/deep"
    (deep / "/".join("a" * 700)).mkdir(parents=True)
    reasons = removed(home)
    assert len(reasons) == 1
    assert f"{deep}/a" in reasons[0]
    subprocess.run(["rm", "-r", home], check=True)


def test_names_without_a_character_set_and_special_files_go_and_stay(home: Path) -> None:
    for folder in (home / "run/mysql", home):
        os.mkfifo(folder / "pipe")
        (folder / ("x" * 255)).touch()
        Path(os.fsdecode(os.fsencode(folder) + b"/-\xff\n")).touch()
    answer = module("owned", state="absent", deployment=MINE, folders=[[str(home), ""]], leave=True)
    assert len(answer["problems"]) == 3  # type: ignore[arg-type]
    assert not (home / "run").exists()
    assert stat.S_ISFIFO((home / "pipe").lstat().st_mode)


def test_a_folder_called_like_a_note_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / f"dohyo-in-use-{MINE}-1.json").mkdir()
    note = tmp_path / f"dohyo-in-use-{MINE}-2.json"
    note.touch()
    module("in_use", state="ended", deployment=MINE, folder=str(tmp_path))
    assert not note.exists()
