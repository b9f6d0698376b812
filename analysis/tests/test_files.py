"""Tests the agent's verb that writes files."""

import grp
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import files
import folder_marks
from failure import AgentError


def write(path: Path, content: str = "new", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = files.answer(files=[{"path": str(path), "content": content}], **more)
    return answer


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.fixture
def umask() -> Any:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_folders_are_made_with_their_parents_and_get_the_mode(umask: None, tmp_path: Path) -> None:
    below = tmp_path / "a/b"
    assert files.answer(folders=[str(below)], folder_mode="0711")["changed"]
    assert (mode_of(tmp_path / "a"), mode_of(below)) == (0o755, 0o711)
    assert not files.answer(folders=[str(below)], folder_mode="0711")["changed"]
    assert files.answer(folders=[str(below)], folder_mode="0700")["changed"]
    assert mode_of(below) == 0o700


def test_what_was_different_is_written_and_said(tmp_path: Path) -> None:
    for name, content in (("same", "new"), ("other", "old")):
        (tmp_path / name).write_text(content)
    before = (tmp_path / "same").stat()
    requested = [{"path": str(tmp_path / name), "content": "new"} for name in ("same", "other", "missing")]
    answer = files.answer(files=requested)
    assert answer["written"] == [str(tmp_path / "other"), str(tmp_path / "missing")]
    assert [(change["before"], change["after"]) for change in answer["diff"]] == [("old", "new"), ("", "new")]
    assert (tmp_path / "same").stat() == before
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("same", "other", "missing"), "new"
    )
    assert files.answer(files=requested) == {"changed": False, "written": [], "diff": []}


@pytest.mark.parametrize(("mode", "before", "expected"), [
    ("0600", None, 0o600), ("0600", 0o644, 0o600), (None, None, 0o644), (None, 0o640, 0o640), ("0644", 0o600, 0o644),
])  # fmt: skip
def test_a_file_has_its_mode_before_it_has_its_name(
    mode: str | None, before: int | None, expected: int, umask: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.write_text("old")
        path.chmod(before)
    replace: Callable[[str, str], None] = os.replace
    seen: list[tuple[str, int]] = []

    def look(new: str, old: str) -> None:
        seen.append((Path(new).read_text(), mode_of(Path(new))))
        replace(new, old)

    monkeypatch.setattr(os, "replace", look)
    assert write(path, mode=mode)["changed"]
    assert seen == [("new", expected)]
    assert mode_of(path) == expected


def test_a_mode_alone_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, mode="0600")
    assert write(path, mode="0644") == {"changed": True, "written": [], "diff": []}
    assert mode_of(path) == 0o644
    with pytest.raises(AgentError, match=r"mode 'u=rw': must be octal digits, such as 0644"):
        write(path, mode="u=rw")


def test_a_dry_run_says_it_and_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    (tmp_path / "there").chmod(0o600)
    assert write(tmp_path / "there", dry=True)["written"] == [str(tmp_path / "there")]
    assert write(tmp_path / "there", "old", mode="0644", dry=True)["changed"]
    assert write(tmp_path / "missing", dry=True)["changed"]
    assert files.answer(folders=[f"{tmp_path}/folder"], folder_mode="0700", dry=True)["changed"]
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert ((tmp_path / "there").read_text(), mode_of(tmp_path / "there")) == ("old", 0o600)


def test_owners_are_names_or_numbers(tmp_path: Path) -> None:
    user, group = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(os.getegid()).gr_name
    folder = str(tmp_path / "folder")
    for owner, of_group in ((user, group), (str(os.geteuid()), str(os.getegid()))):
        files.answer(folders=[folder], folder_owner=owner, folder_group=of_group)
    with pytest.raises(AgentError, match="there is no user 'no one'"):
        files.answer(folders=[folder], folder_owner="no one")
    with pytest.raises(AgentError, match="there is no user 'no one'"):
        files.answer(files=[{"path": f"{folder}/file", "content": "", "owner": "no one"}])
    assert list(Path(folder).iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_gives_files_away_and_leaves_them_to_their_owner(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.answer(files=[{"path": str(path), "content": "old", "owner": "4321"}])
    assert write(path)["changed"]
    assert path.stat().st_uid == 4321
    assert files.answer(folders=[str(tmp_path / "folder")], folder_owner="4321", folder_group="4322")["changed"]
    assert ((tmp_path / "folder").stat().st_uid, (tmp_path / "folder").stat().st_gid) == (4321, 4322)


def test_links_are_replaced_and_not_followed(tmp_path: Path) -> None:
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    theirs.write_text("theirs")
    theirs.chmod(0o600)
    link.symlink_to(theirs)
    write(link, "theirs", mode="0644")
    assert (link.is_symlink(), mode_of(theirs)) == (True, 0o600)
    write(link, mode="0644")
    assert (link.is_symlink(), link.read_text(), theirs.read_text()) == (False, "new", "theirs")


def test_paths_may_begin_with_a_tilde_or_have_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    files.answer(folders=["~/a"], files=[{"path": "$HOME/a/file", "content": "x"}])
    assert (tmp_path / "a/file").read_text() == "x"


def test_a_failure_names_the_file_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        write(tmp_path / "no/file")
    assert missing.value.filename == f"{tmp_path}/no/file"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        write(tmp_path / "file")
    assert raised.value.filename == f"{tmp_path}/file"
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_agent_has_left_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    folder_marks.claim(str(home), {"deployment": "0123456789ab", "kind": "home"}, "0123456789ab")
    (home / "bin").mkdir()
    monkeypatch.setattr(os, "unlink", lambda _: None)
    monkeypatch.setattr(os, "replace", lambda *_: None)
    write(home / "bin/agent")
    monkeypatch.undo()
    (leftover,) = (home / "bin").iterdir()
    assert leftover.name.startswith(".dohyo-new.")
    folder_marks.remove(str(home), "0123456789ab")
    assert not home.exists()
