"""Checks with real folders, links, mounts and marks that foreign files are kept, even if a variable names them."""

import json
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import folder_marks
import owned
from support.marked_folders import run_with_own_mounts

MINE, THEIRS = "0123456789ab", "ba9876543210"


def mark(deployment: str = MINE, **more: str) -> dict[str, str]:
    return {"deployment": deployment, "controller": "here", "checkout": "/a", "at": "now", **more}


def digest(folder: Path) -> dict[Path, str]:
    """Returns the kind of everything in a folder, with the target of each link and the content of each file."""
    contents = {}
    for path in folder.rglob("*"):
        kind = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
        content = path.readlink() if kind == "link" else path.read_text("utf-8") if kind == "file" else ""
        contents[path] = f"{kind} {content}"
    return contents


def shop(folder: Path) -> Path:
    """Creates the files of a foreign database."""
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "orders.ibd").write_text("precious", "utf-8")
    (folder / "ibdata1").write_text("precious", "utf-8")
    return folder


# ---- Rejected folders ------------------------------------------------------------------------------------------------


def foreign_folder(folder: Path, _: Path) -> str:
    shop(folder)
    return "lacks Dohyo's mark and contains ibdata1, shop; it looks like MySQL or MariaDB"


def foreign_file(file: Path, _: Path) -> str:
    file.write_text("precious", "utf-8")
    return "is not a folder; remove it, or name another folder"


def link_to_foreign(link: Path, elsewhere: Path) -> str:
    link.symlink_to(shop(elsewhere / "their"))
    return "is a symbolic link to"


def dangling_link(link: Path, elsewhere: Path) -> str:
    link.symlink_to(elsewhere / "nothing")
    return "is a symbolic link to"


def of_another(folder: Path, _: Path) -> str:
    folder_marks.claim(str(shop(folder) / "x"), mark(THEIRS), THEIRS)
    (folder / ".dohyo").write_text(json.dumps(mark(THEIRS)), "utf-8")
    return f"belongs to deployment {THEIRS} (here:/a, now); name another folder, or run destroy.yml there"


def mark_that_is_a_link(folder: Path, elsewhere: Path) -> str:
    folder_marks.claim(str(elsewhere / "mine"), mark(), MINE)
    (shop(folder) / ".dohyo").symlink_to(elsewhere / "mine" / ".dohyo")
    return "lacks Dohyo's mark"


def broken_mark(folder: Path, _: Path) -> str:
    (shop(folder) / ".dohyo").write_text('{"deployment": "x; rm -rf /"}', "utf-8")
    return "lacks Dohyo's mark"


def nested_mark(folder: Path, _: Path) -> str:
    (shop(folder) / ".dohyo").write_text("[" * 60_000, "utf-8")
    return "lacks Dohyo's mark"


def mark_that_is_a_pipe(folder: Path, _: Path) -> str:
    os.mkfifo(shop(folder) / ".dohyo")
    return "lacks Dohyo's mark"


def mark_that_is_a_folder(folder: Path, _: Path) -> str:
    (shop(folder) / ".dohyo").mkdir()
    return "lacks Dohyo's mark"


FOREIGN: list[Callable[[Path, Path], str]] = [
    foreign_folder, foreign_file, link_to_foreign, dangling_link, of_another, mark_that_is_a_link, broken_mark,
    nested_mark, mark_that_is_a_pipe, mark_that_is_a_folder,
]  # fmt: skip


@pytest.mark.parametrize("foreign", FOREIGN)
def test_what_is_not_ours_is_refused_by_name_and_stays(foreign: Callable[[Path, Path], str], tmp_path: Path) -> None:
    base, elsewhere = tmp_path / "base", tmp_path / "elsewhere"
    (base / "dohyo").mkdir(parents=True)
    elsewhere.mkdir()
    refused = base / "dohyo" / "mysql"
    reason = foreign(refused, elsewhere)
    before = os.lstat(refused).st_mtime_ns
    attempts: list[Callable[[str], object]] = [
        lambda path: folder_marks.claim(path, mark(), MINE),
        lambda path: folder_marks.remove(path, MINE),
        lambda path: folder_marks.check(path, MINE),
    ]
    for attempt in attempts:
        with pytest.raises(folder_marks.NotOursError) as raised:
            attempt(folder_marks.path_of(str(base), "dohyo/mysql"))
        assert str(refused) in str(raised.value)
        assert reason in str(raised.value)
        assert os.lstat(refused).st_mtime_ns == before
    if refused.is_dir() and not refused.is_symlink():
        assert (refused / "shop" / "orders.ibd").read_text("utf-8") == "precious"


def test_a_mount_below_ours_is_not_emptied(tmp_path: Path) -> None:
    script = f"""
import os, subprocess, sys
import folder_marks
mine = {str(tmp_path / "mine with space")!r}
folder_marks.claim(mine, {mark()!r}, {MINE!r})
os.makedirs(mine + "/run/their disk")
subprocess.run(["mount", "-t", "tmpfs", "none", mine + "/run/their disk"], check=True)
open(mine + "/run/their disk/precious", "w").close()
for attempt in (lambda: folder_marks.remove(mine, {MINE!r}), lambda: folder_marks.remove_inside(mine, "run", {MINE!r}),
                lambda: folder_marks.remove_inside(mine, "run/their*", {MINE!r}),
                lambda: folder_marks.remove_path(mine + "/run")):
    try:
        attempt()
        sys.exit("was not refused")
    except folder_marks.NotOursError as error:
        assert "their disk is a mount point" in str(error), error
    assert os.path.exists(mine + "/run/their disk/precious")
"""
    run_with_own_mounts(script)


@pytest.mark.parametrize(
    ("base", "below"),
    [("", ""), (" ", "dohyo/x"), ("relative", ""), ("/", ""), ("/tmp/\0", ""), ("/tmp", "../etc"), ("/tmp", "a//b"),
     ("/tmp", "dohyo/.."), ("/tmp", "."), ("/tmp", "/etc"), ("/tmp", "dohyo/"), ("/tmp/$HOME", ""),
     ("/tmp/${HOME}", "")],
)  # fmt: skip
def test_paths_that_lead_elsewhere_are_refused(base: str, below: str) -> None:
    with pytest.raises(folder_marks.NotOursError):
        folder_marks.path_of(base, below)


# ---- Claims and removals ---------------------------------------------------------------------------------------------


def test_what_was_made_goes_and_what_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    data = str(tmp_path / "disk" / "new" / "dohyo" / "mysql")
    assert folder_marks.claim(data, mark(), MINE)
    assert not folder_marks.claim(data, mark(at="later"), MINE)
    assert folder_marks.claim(data, mark(experiment="/r/raw/01"), MINE)
    assert folder_marks.read_mark(data)["experiment"] == "/r/raw/01"
    (Path(data) / "ibdata1").write_text("ours", "utf-8")
    assert folder_marks.remove(data, MINE)
    assert list((tmp_path / "disk").iterdir()) == []
    assert not folder_marks.remove(data, MINE)
    # If a folder was empty when Dohyo claimed it, its content is removed, but not the folder itself.
    assert folder_marks.claim(str(tmp_path / "disk"), mark(experiment="/r/raw/01"), MINE)
    (tmp_path / "disk" / "x").mkdir()
    assert folder_marks.remove(str(tmp_path / "disk"), MINE)
    assert list((tmp_path / "disk").iterdir()) == []


def test_parents_with_something_of_others_stay(tmp_path: Path) -> None:
    data = tmp_path / "disk" / "dohyo" / "mysql"
    folder_marks.claim(str(data), mark(), MINE)
    (tmp_path / "disk" / "theirs").touch()
    folder_marks.remove(str(data), MINE)
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["theirs"]


def test_links_in_ours_go_others_stay_and_so_does_what_they_name(tmp_path: Path) -> None:
    theirs = shop(tmp_path / "theirs")
    owned = tmp_path / "mine"
    folder_marks.claim(str(owned), mark(), MINE)
    (owned / "run").mkdir()
    (owned / "run" / "mysql").symlink_to(theirs)
    (owned / "run" / "hbase-kdc").mkdir()
    (owned / "run" / "hbase-kdc" / "link").symlink_to(theirs / "shop")
    (owned / "secret").symlink_to(theirs)
    before = digest(theirs)
    with pytest.raises(folder_marks.NotOursError, match="is a symbolic link"):
        folder_marks.remove_inside(str(owned), "secret/shop", MINE)
    with pytest.raises(folder_marks.NotOursError, match=f"{owned}/run/mysql was not made by Dohyo"):
        folder_marks.remove_inside(str(owned), "run/mysql*", MINE)
    assert folder_marks.remove_inside(str(owned), "run/hbase-*", MINE) == [str(owned / "run/hbase-kdc")]
    assert digest(theirs) == before
    stayed: list[str] = []
    folder_marks.remove(str(owned), MINE, foreign=stayed)
    assert digest(theirs) == before
    assert sorted(digest(owned)) == [owned / "run", owned / "run/mysql", owned / "secret"]
    assert [reason.partition(" ")[0] for reason in stayed] == [f"{owned}/run/mysql", f"{owned}/secret"]


def test_the_named_folder_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "big")
    folder = folder_marks.path_of(str(tmp_path / "data"), "dohyo/mysql")
    assert folder == str(tmp_path / "big" / "dohyo" / "mysql")


def test_another_deployment_in_ours_and_data_of_a_kept_server_stay(tmp_path: Path) -> None:
    owned = tmp_path / "srv" / "dohyo"
    folder_marks.claim(str(owned), mark(), MINE)
    folder_marks.claim(str(tmp_path / "other"), mark(THEIRS), THEIRS)
    (tmp_path / "other").rename(owned / "mysql")
    with pytest.raises(folder_marks.NotOursError, match=f"{owned}/mysql belongs to deployment {THEIRS}"):
        folder_marks.remove(str(owned), MINE)
    with pytest.raises(folder_marks.NotOursError, match=f"which belongs to deployment {MINE}"):
        folder_marks.claim(str(owned / "new"), mark(THEIRS), THEIRS)
    (owned / "mysql").rename(tmp_path / "other")
    makes = {"data": ["mysql", "ycsb"], "data/ycsb/": ["usertable*", "db.opt"]}
    data = owned / "data" / "dohyo" / "mysql"
    folder_marks.claim(str(data), {**mark(), "makes": makes}, MINE)
    for name in ("mysql", "ycsb"):
        (data / "data" / name).mkdir(parents=True)
    (data / "data" / "ycsb" / "usertable.ibd").touch()
    (data / "data" / "ibdata1").touch()
    for foreign in ("data/shop", "data/ycsb/orders.ibd"):
        entry = data / foreign
        entry.touch() if entry.suffix else entry.mkdir()
        for folder in (data, owned):
            with pytest.raises(folder_marks.NotOursError, match=f"{entry} was not made by a trial"):
                folder_marks.remove(str(folder), MINE)
        entry.unlink() if entry.suffix else entry.rmdir()
    folder_marks.remove(str(owned), MINE)
    assert not owned.exists()


def test_octal_escapes_of_mounts_are_undone() -> None:
    assert folder_marks.decoded(r"/a\040b\134c") == r"/a b\c"


def claims_in(claimed: tuple[str, int]) -> bool:
    folder, number = claimed
    try:
        return bool(folder_marks.claim(folder, mark(f"{number:012x}"), f"{number:012x}"))
    except folder_marks.NotOursError:
        return False


@pytest.mark.parametrize("again", [False, True])
def test_a_mark_is_on_the_disk_before_it_has_its_name_and_its_name_before_anything_follows(
    again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    if again:
        folder_marks.claim(str(folder), mark(), MINE)
    calls: list[tuple[str, object]] = []
    named = "replace" if again else "link"
    fsync, name = os.fsync, getattr(os, named)

    def flushed(handle: int) -> None:
        file = Path(f"/proc/self/fd/{handle}")
        calls.append(("flushed", file.resolve() if file.is_dir() else json.loads(file.read_text("utf-8"))["user"]))
        fsync(handle)

    def linked(old: str, new: str) -> None:
        calls.append((named, Path(new).name))
        name(old, new)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, named, linked)
    assert folder_marks.claim(str(folder), mark(user="me"), MINE)
    assert calls == [("flushed", "me"), (named, ".dohyo"), ("flushed", folder)]


def test_a_folder_is_claimed_once(tmp_path: Path) -> None:
    # Spawn the processes: forked ones would inherit locks that threads of a library hold, and wait forever.
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for _ in range(20):
            assert sum(pool.map(claims_in, [(str(tmp_path / "it"), number) for number in range(4)])) == 1
            shutil.rmtree(tmp_path / "it")


def claims_for_all(folder: str) -> bool:
    return bool(folder_marks.claim(folder, mark(), MINE))


def test_agents_of_one_deployment_claim_a_folder_at_the_same_time(tmp_path: Path) -> None:
    """Two names of the inventory may mean the same machine. None may refuse the unfinished mark of another."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for _ in range(20):
            pool.map(claims_for_all, [str(tmp_path / "it")] * 4)
            assert [file.name for file in (tmp_path / "it").iterdir()] == [".dohyo"]
            shutil.rmtree(tmp_path / "it")


def first_deployment_in(folder: str) -> str:
    return str(owned.answer("present", folders=[[folder, ""]], controller={"controller": "here"})["deployment"])


def test_two_first_deployments_at_the_same_time_have_one_id(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        for _ in range(20):
            ids = {*pool.map(first_deployment_in, [str(tmp_path / "it")] * 4)}
            assert ids == {folder_marks.read_mark(str(tmp_path / "it"))["deployment"]}
            shutil.rmtree(tmp_path / "it")


NAMES = st.sampled_from(
    [
        "dohyo",
        "mysql",
        "..",
        ".",
        "",
        "a b",
        "new\nline",
        "über",
        "\u202egnp",
        "*",
        "run",
        "-rf",
        "theirs",
        "link",
        "x'; y",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_nothing_outside_of_ours_changes_whatever_the_path(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        theirs = shop(root / "theirs")
        (root / "base").mkdir()
        (root / "base" / "link").symlink_to(theirs)
        (root / "base" / "theirs").mkdir()
        (root / "base" / "theirs" / "precious").touch()
        before = digest(root)
        for _ in range(data.draw(st.integers(1, 6))):
            below = "/".join(data.draw(st.lists(NAMES, max_size=3)))
            base = data.draw(
                st.sampled_from(
                    [str(root / "base"), f"{root}/base/", f"{root}/base/link", "", str(root / "base" / "no")]
                )
            )
            step = data.draw(st.sampled_from(["claim", "remove", "inside"]))
            try:
                folder = folder_marks.path_of(base, below)
                if step == "claim":
                    folder_marks.claim(folder, mark(), MINE)
                elif step == "remove":
                    folder_marks.remove(folder, MINE)
                else:
                    folder_marks.remove_inside(base, below, MINE)
            except (folder_marks.NotOursError, OSError):
                pass
            # The step may have created a folder for Dohyo. Everything else is unchanged.
            assert before.items() <= digest(root).items()
