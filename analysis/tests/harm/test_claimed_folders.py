"""Checks that `dohyo report` removes and overwrites only files that Dohyo wrote."""

import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from dohyo import claimed_folders
from dohyo.bad_input import BadInputError
from dohyo.report import drawing
from support.command import dohyo, finished, tree

# Functions of vl-convert that draw. The tests replace them, so the figures are empty.
DRAWS = ("vegalite_to_svg", "svg_to_png")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("results") / "it", sealed=False)


def theirs(folder: Path) -> dict[str, bytes | None]:
    """Creates a foreign folder, and returns its contents."""
    folder.mkdir(parents=True)
    for name in ("picture.svg", "results.md", "report.html", "letter.txt"):
        (folder / name).write_text("mine")
    return tree(folder)


def test_figures_of_somebody_else_are_refused(original: Path, tmp_path: Path) -> None:
    before = theirs(tmp_path / "paper" / "figures")
    answer = dohyo("report", original, "--figures", "--out", tmp_path / "paper" / "page.html")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert f"{tmp_path}/paper/figures has files that dohyo did not write" in answer.err
    assert tree(tmp_path / "paper" / "figures") == before
    assert not (tmp_path / "paper" / "page.html").exists()


@pytest.mark.slow
def test_figures_of_a_former_report_are_removed_and_nothing_else(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "converter", lambda: Mock(**{f"{function}.return_value": "" for function in DRAWS}))
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    assert dohyo("report", original, "--figures", "--out", page).code == 0
    first = tree(figures)
    # One figure is from an earlier report, which had more figures, and one was drawn by hand.
    claimed_folders.note(figures, ["old.svg", *(figures / claimed_folders.MARK).read_text().split()])
    for name in ("old.svg", "by-hand.svg"):
        (figures / name).write_text("mine")
    assert dohyo("report", original, "--figures", "--out", page).code == 0
    assert tree(figures).keys() - first.keys() == {"by-hand.svg"}


def test_a_mark_of_somebody_else_removes_nothing_outside(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    before = theirs(tmp_path / "theirs")
    claimed_folders.claim(folder)
    (folder / "link").symlink_to(tmp_path / "theirs")
    (folder / "below").mkdir()
    names = ["../theirs/letter.txt", f"{tmp_path}/theirs/letter.txt", "link/letter.txt", "..", ".", "link", "below"]
    (folder / claimed_folders.MARK).write_text("\n".join(names))
    claimed_folders.clear(folder)
    assert tree(tmp_path / "theirs") == before
    assert {path.name for path in folder.iterdir()} == {claimed_folders.MARK, "link", "below"}


@pytest.mark.parametrize("names", [b"\xff\xfe\n", b"a\0b\n", b"a" * 5000])
def test_a_mark_may_name_what_no_file_is_called(names: bytes, tmp_path: Path) -> None:
    (tmp_path / claimed_folders.MARK).write_bytes(names + b"\nours.svg\n")
    (tmp_path / "ours.svg").touch()
    claimed_folders.clear(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [claimed_folders.MARK]


def test_a_mark_too_large_to_be_ours_is_none(tmp_path: Path) -> None:
    with (tmp_path / claimed_folders.MARK).open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(BadInputError, match="has files that dohyo did not write"):
        claimed_folders.claim(tmp_path)


def test_a_foreign_folder_in_a_site_is_refused_before_anything_is_written(original: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    arguments = ["site", site, "--results", original.parent]
    assert dohyo(*arguments).code == 0
    assert dohyo(*arguments).code == 0
    shutil.rmtree(site / "it")
    before = theirs(site / "it")
    (site / "index.html").write_text("as it was")
    answer = dohyo(*arguments)
    assert (answer.code, f"{site}/it has files that dohyo did not write" in answer.err) == (2, True)
    assert (tree(site / "it"), (site / "index.html").read_text()) == (before, "as it was")


@pytest.mark.parametrize("below", ["index.html", "it", "it/report.html", "it/summary.json"])
def test_a_link_in_a_site_is_refused(below: str, original: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    arguments = ["site", site, "--results", original.parent]
    assert dohyo(*arguments).code == 0
    before = theirs(tmp_path / "theirs")
    path = site / below
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "theirs" / ("" if below == "it" else "letter.txt"))
    answer = dohyo(*arguments)
    assert (answer.code, f"{path} is a link" in answer.err) == (2, True)
    assert tree(tmp_path / "theirs") == before


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    for name, problem in (("file", "is a file"), ("loop", "is a link")):
        with pytest.raises(BadInputError, match=f"{name} {problem}"):
            claimed_folders.claim(tmp_path / name)
    with pytest.raises(OSError, match="not empty"):
        claimed_folders.remove_empty(tmp_path)
