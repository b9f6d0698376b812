"""Checks that links and special files in folders from other people are rejected before anything is read or written."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail  # type: ignore[import-untyped]

from action.transfer_folder import files_of
from dohyo import folders
from dohyo.bad_input import BadInputError
from support.command import dohyo, finished, tree
from support.evidence import STOCK

READERS: dict[str, Callable[[Path], list[object]]] = {
    "report": lambda folder: ["report", folder],
    "report --figures": lambda folder: ["report", folder, "--figures"],
    "compare": lambda folder: ["compare", folder, folder],
    "resume": lambda folder: ["run", "--resume", folder],
    "tabulate": lambda folder: ["tabulate", folder],
}
PLACES = (
    "raw", "raw/01-cassandra", "raw/01-cassandra/load", "raw/01-cassandra/load/node1/READ.hdr", "raw/03-mysql",
    "raw/01-cassandra/state.json", "experiment.json", "scenario.properties", "report.html", "summary.json", "figures",
    "attempts", "deploy", "stop", "published", "notes.txt",
)  # fmt: skip


def planted(tmp_path: Path, below: str) -> tuple[Path, Path]:
    """Creates an experiment in which `below` is a link to a foreign folder or file. Returns both paths."""
    experiment = finished(tmp_path / "results" / "it")
    path, theirs = experiment / below, tmp_path / "theirs"
    if path.exists():
        shutil.move(path, theirs)
    elif path.suffix:
        theirs.write_text("mine")
    else:
        theirs.mkdir()
        (theirs / "letter.txt").write_text("mine")
        (theirs / "picture.svg").write_text("mine")
    path.symlink_to(theirs)
    return experiment, theirs


@pytest.mark.parametrize("below", PLACES)
def test_a_link_is_refused_and_nothing_is_read_or_written_through_it(below: str, tmp_path: Path) -> None:
    experiment, _ = planted(tmp_path, below)
    before = tree(tmp_path)
    for name, arguments in READERS.items():
        answer = dohyo(*arguments(experiment))
        assert answer.code == 2, (name, answer)
        assert f"ERROR: {experiment / below} is a link to {tmp_path}/theirs; " in answer.err, name
        assert answer.err.count("\n") == 1
        assert tree(tmp_path) == before, name


@pytest.mark.parametrize("target", ["nowhere", "../it/loop", "loop", "/"])
def test_a_link_to_nowhere_or_to_itself_is_refused(target: str, tmp_path: Path) -> None:
    experiment = finished(tmp_path / "it")
    (experiment / "loop").symlink_to(target)
    for arguments in READERS.values():
        answer = dohyo(*arguments(experiment))
        assert (answer.code, f"{experiment}/loop is a link to {target}; " in answer.err) == (2, True)


@pytest.mark.parametrize("below", ["raw/01-cassandra/conditions.json", "raw/01-cassandra/run-1/node1/x", "report.html"])
@pytest.mark.parametrize("kind", ["a FIFO", "a socket"])
def test_a_special_file_is_refused(kind: str, below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = finished(tmp_path / "it")
    (experiment / below).unlink(missing_ok=True)
    if kind == "a FIFO":
        os.mkfifo(experiment / below)
    else:
        monkeypatch.chdir((experiment / below).parent)  # the absolute path would be too long for a socket
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(Path(below).name)
    for arguments in READERS.values():
        answer = dohyo(*arguments(experiment))
        assert (answer.code, f"{experiment / below} is {kind}; " in answer.err) == (2, True), answer


def test_the_site_leaves_out_an_experiment_with_a_link(tmp_path: Path) -> None:
    experiment, theirs = planted(tmp_path, "report.html")
    finished(tmp_path / "results" / "good")
    answer = dohyo("site", tmp_path / "site", "--results", tmp_path / "results")
    assert answer.code == 1
    assert f"warning: {experiment}/report.html is a link to " in answer.err
    index = (tmp_path / "site/index.html").read_text("utf-8")
    assert ("good/report.html" in index, "it/report.html" in index) == (True, False)
    assert theirs.read_text() == "mine"


@pytest.mark.slow
def test_an_experiment_may_itself_be_named_through_links(tmp_path: Path) -> None:
    finished(tmp_path / "large disk" / "results" / "it")
    (tmp_path / "results").symlink_to(tmp_path / "large disk" / "results")
    (tmp_path / "mine").symlink_to(tmp_path / "results" / "it")
    for folder in (tmp_path / "results" / "it", tmp_path / "mine"):
        for arguments in READERS.values():
            assert dohyo(*arguments(folder)).code in (0, 1, 5), folder
    assert dohyo("site", tmp_path / "site", "--results", tmp_path / "results").code == 0


def test_a_folder_of_logs_is_taken_without_links_and_special_files(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(STOCK / "text", logs)
    (logs / ".hidden").symlink_to("/")
    assert dohyo("tabulate", logs).code == 0
    (logs / "latest.txt").symlink_to("result.txt")
    for command in ("tabulate", "report"):
        answer = dohyo(command, logs)
        assert (answer.code, f"{logs}/latest.txt is a link to result.txt; " in answer.err) == (2, True)
    (logs / "latest.txt").unlink()
    os.mkfifo(logs / "queue")
    for command in ("tabulate", "report"):
        answer = dohyo(command, logs)
        assert (answer.code, f"{logs}/queue is a FIFO; " in answer.err) == (2, True)
        answer = dohyo(command, logs / "queue")
        assert (answer.code, f"{logs}/queue is a FIFO; " in answer.err) == (2, True)


def test_a_report_elsewhere_does_not_go_through_a_link_in_an_experiment(tmp_path: Path) -> None:
    logs = finished(tmp_path / "mine")
    planted_experiment, theirs = planted(tmp_path, "figures")
    before = tree(theirs)
    answer = dohyo("report", logs, "--out", planted_experiment / "figures" / "report.html")
    assert (answer.code, f"{planted_experiment}/figures is a link inside an experiment" in answer.err) == (2, True)
    assert tree(theirs) == before
    # The output may replace a link that has the same name.
    (tmp_path / "profile").write_text("mine")
    (tmp_path / "page.html").symlink_to(tmp_path / "profile")
    assert dohyo("report", logs, "--out", tmp_path / "page.html").code == 0
    assert (tmp_path / "profile").read_text() == "mine"
    assert not (tmp_path / "page.html").is_symlink()


def test_writing_replaces_what_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "the beginning"
        raise ValueError("in the middle")

    theirs, path = tmp_path / "theirs", tmp_path / "file"
    theirs.write_text("mine")
    path.hardlink_to(theirs)
    folders.write(path, ["half a character: \ud800, ", "and more"])
    assert (path.read_text("utf-8"), theirs.read_text()) == ("half a character: ?, and more", "mine")
    with pytest.raises(ValueError, match="in the middle"):
        folders.write(path, broken())
    assert sorted(tree(tmp_path)) == ["file", "theirs"]


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\u202eb", "a\x9bb"])
def test_a_name_that_drives_a_terminal_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(BadInputError, match=r"the name 'a\\") as refused:
        folders.check(tmp_path)
    assert str(refused.value).isprintable()


def test_a_folder_that_goes_to_the_hosts_has_no_link_to_a_file_of_this_machine(tmp_path: Path) -> None:
    """Archives of a JDK contain links, usually within the archive. A link to a file outside would copy that file."""
    (tmp_path / "jdk" / "legal").mkdir(parents=True)
    (tmp_path / "jdk" / "licence").write_text("free")
    (tmp_path / "jdk" / "legal" / "licence").symlink_to("../licence")
    (tmp_path / "jdk" / "all").symlink_to("/etc")
    assert [path.name for path in files_of(tmp_path / "jdk")] == ["licence", "licence"]
    (tmp_path / "secret").write_text("mine")
    (tmp_path / "jdk" / "legal" / "stolen").symlink_to(tmp_path / "secret")
    with pytest.raises(AnsibleActionFail, match=r"legal/stolen: it is a link to .*/secret, outside of .*/jdk; replace"):
        files_of(tmp_path / "jdk")
