"""Writes a report into the experiment's folder or to another path."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from pathlib import Path

from dohyo import folders
from dohyo.bad_input import BadInputError
from dohyo.report import chart_data, chart_files, page
from dohyo.report.material import Material
from dohyo.report.page import Report
from dohyo.summary.summary import is_experiment

# Bytes of a page to search for its title, which follows the verdict and the scenario's name.
_LONGEST_HEAD = 64 * 1024


def write(experiment: Path, material: Material | None = None, *, figures: bool = False) -> list[Path]:
    """Writes report.html and, on request, the folder `figures` into an experiment's folder; returns the paths.

    :param material: result of `chart_data.read`, if the experiment has already been read
    """
    report = page.gather(experiment, material or chart_data.read(experiment))
    return write_report(report, experiment / page.FILE, figures=figures)


def write_report(report: Report, path: Path, *, figures: bool) -> list[Path]:
    """Writes a page and, on request, the folder `figures` beside it; returns the paths, the page first."""
    pictures = [chart_files.write(path.parent, report.summary, report.charts)] if figures else []
    # Write the page last, because it links the other files.
    return [page.write(report, path), *pictures]


def is_page(path: Path) -> bool:
    """Returns whether a file is a page that Dohyo wrote, judging by its title."""
    with path.open("rb") as file:
        return b" Dohyo</title>" in file.read(_LONGEST_HEAD)


def place(
    folder: Path,
    out: Path | None,
    name: str = page.FILE,
    is_ours: Callable[[Path], bool] = is_page,
    kind: tuple[str, str] = ("page", "report"),
) -> Path:
    """Returns the path to which a file about a folder, by default its page, is written.

    :param out: path from the user; None: a file in the folder
    :param is_ours: function that returns whether Dohyo wrote an existing file, so that it may be replaced
    :param kind: kind of the file and of its content, for messages
    :raises BadInputError: if nothing can be written to the path
    """
    path = out or (folder if folder.is_dir() else folder.parent) / name
    if path.is_dir():
        raise BadInputError(f"--out {path} is a folder; name the file, such as {path / name}")
    # Writing would replace a FIFO, a device or a socket, even behind /dev/stdout.
    if path.exists() and not path.is_file():
        raise BadInputError(
            f"{path} is {folders.kind(path.resolve())}; remove it, or name another file with --out FILE"
        )
    # Writing replaces a link itself, not its target, so links are not checked.
    if path.is_file() and not path.is_symlink() and not is_ours(path):
        problem = f"{path} is not a {kind[0]} of dohyo and is not replaced"
        raise BadInputError(f"{problem}; name another file with --out FILE")
    if not path.parent.is_dir():
        raise BadInputError(f"--out {path}: there is no folder {path.parent}; make it, or name another file")
    above = path.parent.resolve()
    if any(parent.name == "raw" and is_experiment(parent.parent) for parent in (above, *above.parents)):
        raise BadInputError(f"--out {path}: raw is only for the evidence of an experiment; name another file")
    # A link inside an experiment could lead out of it. Links elsewhere belong to the user and are allowed.
    for link in (above for above in path.absolute().parents if above.is_symlink()):
        if any(is_experiment(above) for above in link.parents):
            raise BadInputError(f"--out {path}: {link} is a link inside an experiment; name another file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise BadInputError(f"no permission to write the {kind[1]} into {path.parent}; --out FILE names another place")
    return path


def open_in_browser(path: Path) -> bool:
    """Opens a page in the desktop's browser. Returns False without a browser, for example over SSH."""
    return webbrowser.open(path.resolve().as_uri())
