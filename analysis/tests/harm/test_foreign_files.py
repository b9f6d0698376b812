"""Checks that foreign files in Dohyo's folders are kept and reported, while Dohyo's files beside them are removed."""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import folder_marks
import host_devices
from dohyo.places import ANSIBLE, ROOT
from failure import AgentError
from support.marked_folders import MINE, make, module

# Paths in dohyo_home that playbooks remove, with names of roles and systems.
INSIDE = [
    "client", "client/doctor-*", "run/mysql", "run/hbase-*", "run/mysql-innodb.properties", "secret/mysql",
    "secret/client-host1.properties", "trial-under-way", "install/mysql/11.4.5", "install/jdk/17",
    "install/aerospike/1", "install/scylla", "install/scylla/unpacked",
]  # fmt: skip


def is_free(owner: Path, folder: Path) -> bool:
    """Returns whether Dohyo may write any file into a folder, because a path of `MADE` ends with `/**`."""
    return "any" in folder.relative_to(owner).parts or (folder / "any").exists()


def folders(owner: Path) -> list[Path]:
    """Returns the folders, including `owner` itself, in which only the listed files belong to Dohyo."""
    candidates = [owner, *(path for path in sorted(owner.rglob("*")) if path.is_dir())]
    return [folder for folder in candidates if not is_free(owner, folder)]


def put(folder: Path, kind: str, name: str) -> Path:
    path = folder / name
    if kind == "file":
        path.write_text("precious")
    elif kind == "link":
        path.symlink_to("/nowhere")
    elif folder.name in ("load", "load-server", "run-1"):  # any folder here may belong to the client of a host
        path.write_text("precious")
    else:
        (path / "below").mkdir(parents=True)
        (path / "below/data.db").write_text("precious")
    return path


def everything(owner: Path) -> dict[Path, str]:
    return {
        path: path.read_text() if path.is_file() else f"link {path.readlink()}" if path.is_symlink() else "folder"
        for path in owner.rglob("*")
    }


@pytest.mark.parametrize("kind", sorted(folder_marks.MADE))
def test_one_of_everything_that_we_make_goes_without_a_trace(kind: str, tmp_path: Path) -> None:
    owner = tmp_path / "owner"
    make(owner, kind)
    assert folder_marks.remove(str(owner), MINE) == [str(owner)]
    assert not owner.exists()


@pytest.mark.parametrize("kind", sorted({*folder_marks.MADE} - {"data"}))
def test_files_of_others_in_every_folder_at_once_all_stay(kind: str, tmp_path: Path) -> None:
    owner = tmp_path / "owner"
    make(owner, kind)
    placed = [put(folder, "folder", "theirs") for folder in folders(owner)]
    theirs = [path if path.is_file() else path / "below/data.db" for path in placed]
    assert len(theirs) > (30 if kind == "home" else 0)
    before = everything(owner)
    with pytest.raises(folder_marks.NotOursError):
        folder_marks.remove(str(owner), MINE)
    assert everything(owner) == before
    reasons: list[str] = []
    folder_marks.remove(str(owner), MINE, foreign=reasons)
    assert sorted(path for path in everything(owner) if path.is_file()) == sorted(theirs)
    assert len(reasons) == len(theirs)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_is_removed_others_stay_and_are_named(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        owner = Path(directory).resolve() / "owner"
        kind = data.draw(st.sampled_from(["home", "home", "home", "kept", "evidence", "inventory", "settings"]))
        make(owner, kind)
        places = folders(owner)
        theirs = [
            put(places[index % len(places)], foreign_kind, f"{name}{number}")
            for number, (index, foreign_kind, name) in enumerate(
                data.draw(
                    st.lists(
                        st.tuples(
                            st.integers(0, 10_000),
                            st.sampled_from(["file", "link", "folder"]),
                            st.sampled_from(["notes", ".hidden", "a b", "new\nline", "x.jar ", "mysql.bak", "*"]),
                        ),
                        max_size=5,
                    )
                )
            )
        ]
        own_paths = everything(owner).keys() - {below for path in theirs for below in [path, *path.rglob("*")]}
        before = everything(owner)
        reasons: list[str] = []
        leave = data.draw(st.booleans())
        pattern = data.draw(st.sampled_from(["", *INSIDE])) if kind == "home" else ""
        try:
            if pattern:
                folder_marks.remove_inside(str(owner), pattern, MINE, foreign=reasons if leave else None)
            else:
                folder_marks.remove(str(owner), MINE, foreign=reasons if leave else None)
        except folder_marks.NotOursError as error:
            assert not leave
            reasons.append(str(error))
            assert everything(owner) == before
        after = everything(owner)
        # All foreign files are unchanged, and those that prevented a removal are reported.
        for path in theirs:
            for folder in [path, *(below for below in before if path in below.parents)]:
                assert after[folder] == before[folder]
            if not pattern:
                assert any(str(path) in reason for reason in reasons)
        # Dohyo's files are gone. Only folders with foreign files are left.
        if not pattern and (leave or not theirs):
            assert {path for path in own_paths & after.keys() if not path.is_dir()} == set()
            assert all(any(path in file.parents for file in theirs) for path in own_paths & after.keys())


def test_foreign_files_in_a_home_stay_and_are_named(tmp_path: Path) -> None:
    home = tmp_path / ".dohyo"
    make(home, "home")
    (home / "data/dohyo/cassandra-backup").mkdir()
    theirs = [home / name for name in ("data/dohyo/cassandra-backup/data.db", "data/foreign/x", "mynotes.txt")]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    reasons: list[str] = []
    removed = folder_marks.remove(str(home), MINE, dry=True, foreign=reasons)
    assert removed == folder_marks.remove(str(home), MINE, foreign=[])
    assert str(home / "install") in removed
    assert sorted(path for path in home.rglob("*") if path.is_file()) == sorted(theirs)
    assert [re.match(r"\S+", reason)[0] for reason in reasons] == [  # type: ignore[index]
        str(home / name) for name in ("data/dohyo/cassandra-backup", "data/foreign", "mynotes.txt")
    ]


def test_a_database_with_data_of_others_stays_whole_with_the_mark_around_it(tmp_path: Path) -> None:
    home = tmp_path / ".dohyo"
    make(home, "home")
    data = home / "data/dohyo/mysql"
    mark = json.loads((data / ".dohyo").read_text())
    (data / ".dohyo").write_text(json.dumps({**mark, "makes": {"any": ["thing"]}}))
    (data / "any/shop").mkdir()
    before = everything(data)
    notes: list[str] = []
    folder_marks.remove(str(home), MINE, foreign=notes)
    assert everything(data) == before
    assert [data / "any/shop", *notes] == [
        data / "any/shop",
        *[s for s in notes if f"{data}/any/shop was not made" in s],
    ]
    # The mark still contains the deployment's id, so the rest can be removed later.
    assert folder_marks.read_mark(str(home))["deployment"] == MINE
    assert folder_marks.remove(str(home), MINE, foreign=[]) == []


def test_data_folders_that_a_user_has_put_into_ours_go_and_their_parents_stay(tmp_path: Path) -> None:
    home = tmp_path / ".dohyo"
    make(home, "home")
    (home / "disks").mkdir()
    make(home / "disks/dohyo/mysql", "data")
    make(home / "made/by/us/dohyo/mysql", "data")
    reasons: list[str] = []
    folder_marks.remove(str(home), MINE, foreign=reasons)
    assert [path.name for path in home.rglob("*")] == ["disks"]
    assert len(reasons) == 1


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads all")
    home = tmp_path / "home"
    make(home, "home")
    (home / "run/mysql").chmod(0)
    reasons: list[str] = []
    folder_marks.remove(str(home), MINE, foreign=reasons)
    (home / "run/mysql").chmod(0o755)
    assert reasons == [f"{home}/run/mysql cannot be read: Permission denied"]


# ---- Lists of the files that playbooks make and remove ---------------------------------------------------------------


def test_folders_of_systems_are_ours_as_far_as_the_mark_names_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in ("run/h2", "run/notes"):
        (home / folder).mkdir(parents=True)
        (home / folder / "x").touch()

    def list_foreign(systems: list[str]) -> list[str]:
        mark = {**folder_marks.new_mark(MINE, {"systems": systems}), "kind": "home"}
        contents = folder_marks.Contents(str(home), mark)
        contents.sort(str(home / "run"), ("run",))
        return sorted(text.partition(" ")[0].removeprefix(f"{home}/") for text in contents.foreign)

    assert list_foreign(["h2", "mysql"]) == ["run/notes"]
    assert list_foreign(["mysql"]) == ["run/h2", "run/notes"]
    assert list_foreign([]) == []  # an older version wrote the mark


def paths_inside() -> Iterator[tuple[str, str]]:
    """Yields the paths that playbooks and trials remove in dohyo_home and dohyo_control, each with its source file."""
    for file in sorted(ANSIBLE.rglob("*.yml")):
        text = file.read_text("utf-8")
        for match in re.finditer(r"inside: \[(.*)\]", text):
            for word in re.findall(r'"([^"]*)"|([\w./-]+)', match[1]):
                path = re.sub(r"{{ *(\w*).*?}}", lambda placeholder: FILLED.get(placeholder[1], "mysql"), "".join(word))
                yield str(file.relative_to(ANSIBLE)), path
    for file in sorted((ROOT / "analysis/dohyo/trial").glob("*.py")):
        for match in re.finditer(r"inside ?= ?\[(.*)\]", file.read_text("utf-8")):
            for word in re.findall(r'"([^"]*)"', match[1]):
                yield file.name, re.sub(r"{(.*?)}", lambda placeholder: FILLED.get(placeholder[1], "mysql"), word)


FILLED = {
    "inventory_hostname": "host1", "host.name": "host1", "lookup": "install/mysql/1", "jdk_major": "17",
    "service_jars_version": "1",
}  # fmt: skip


def test_what_playbooks_remove_in_our_folders_is_on_the_list(tmp_path: Path) -> None:
    make(tmp_path / "home", "home")
    rules = folder_marks.Rules(str(tmp_path / "home"), {"kind": "home"})
    paths = list(paths_inside())
    assert len(paths) > 10
    for file, path in paths:
        # HBase is the only system with several processes.
        *way, last = path.replace("run/mysql-*", "run/hbase-kdc").replace("*", "x-1").split("/")
        target = (tmp_path / "home").joinpath(*way, last)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.touch() if last.endswith(".properties") else target.mkdir()
        assert (*way, last) in rules, f"{file} removes {path}, which MADE in agent/verbs/folder_marks.py does not list"


# ---- The verbs ------------------------------------------------------------------------------------------------------


def test_the_agent_refuses_before_it_removes_anything(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make(home, "home")
    (home / "client/notes").touch()
    before = everything(home)
    with pytest.raises(AgentError, match=f"^{home}/client/notes was not made by Dohyo; move it away$"):
        module("owned", state="absent", deployment=MINE, home=str(home), inside=["run/mysql", "client"])
    assert everything(home) == before
    answer = module("owned", state="absent", deployment=MINE, home=str(home), inside=["client"], leave=True)
    assert answer["problems"] == [f"{home}/client/notes was not made by Dohyo; move it away"]
    assert sorted((home / "client").rglob("*")) == [home / "client/notes"]


def test_an_installation_with_a_file_of_others_is_not_replaced(tmp_path: Path) -> None:
    home = tmp_path / "home"
    make(home, "home")
    lib = home / "install/mysql/x/lib"
    (lib / "theirs.jar").touch()
    before = everything(home)
    with pytest.raises(AgentError, match=f"{lib}/theirs.jar was not made by Dohyo"):
        module("transfer", step="unpack", folder=str(lib), archive="/nowhere", digest="0")
    assert everything(home) == before


def test_a_load_is_not_kept_with_data_of_others(tmp_path: Path) -> None:
    claimed = tmp_path / "disk/dohyo/mysql"
    folder_marks.claim(str(claimed), {"deployment": MINE, "experiment": "/r", "makes": {"data": ["ycsb"]}}, MINE)
    (claimed / "data/shop").mkdir(parents=True)
    arguments = {"data": [str(tmp_path / "disk")], "role": "mysql", "load": "0123456789abcdef", "experiment": "/r"}
    module("kept_load", state="found", deployment=MINE, **arguments)
    with pytest.raises(AgentError, match=f"{claimed}/data/shop was not made by a trial"):
        module("kept_load", state="kept", deployment=MINE, trial="01-mysql", **arguments)
    assert (claimed / "data/shop").is_dir()
    (tmp_path / "disk/dohyo/kept/notes.txt").touch()
    with pytest.raises(AgentError, match=f"{tmp_path}/disk/dohyo/kept/notes.txt was not made by Dohyo"):
        module("kept_load", state="found", deployment=MINE, **arguments)
    assert (tmp_path / "disk/dohyo/kept/notes.txt").exists()


def test_a_file_system_with_files_of_others_is_not_emptied(tmp_path: Path) -> None:
    make(tmp_path / "dohyo/mysql", "data")
    mark = json.loads((tmp_path / "dohyo/mysql/.dohyo").read_text())
    assert host_devices.foreign_on(str(tmp_path), MINE) == ""
    (tmp_path / "dohyo/mysql/.dohyo").write_text(json.dumps({**mark, "makes": {"any": ["thing"]}}))
    (tmp_path / "dohyo/mysql/any/shop").mkdir()
    assert f"{tmp_path}/dohyo/mysql/any/shop was not made by a trial" in host_devices.foreign_on(str(tmp_path), MINE)
