"""Writes a report to the experiment's folder or to another path."""

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

# Number of bytes to search for a page's title. The verdict and the scenario's name come before the title.
_LONGEST_HEAD = 64 * 1024


def write(experiment: Path, material: Material | None = None) -> list[Path]:
    """Writes report.html to an experiment's folder. Returns its path in a list.

    :param material: result of `chart_data.read`, if the experiment has already been read
    """
    report = page.gather(experiment, material or chart_data.read(experiment))
    return write_report(report, experiment / page.FILE, figures=False)


def write_report(report: Report, path: Path, *, figures: bool) -> list[Path]:
    """Writes a page and, on request, the folder `figures` next to it. Returns the paths, the page first."""
    pictures = [chart_files.write(path.parent, report.summary, report.charts)] if figures else []
    # Write the page last, because it links to the other files.
    folders.write(path, page.html(report, folder=path.parent))
    return [path, *pictures]


def is_page(path: Path) -> bool:
    """Returns whether Dohyo wrote a page, judging by the page's title."""
    with path.open("rb") as file:
        return b" Dohyo</title>" in file.read(_LONGEST_HEAD)


def place(
    folder: Path,
    out: Path | None,
    name: str = page.FILE,
    is_ours: Callable[[Path], bool] = is_page,
    kind: tuple[str, str] = ("page", "report"),
) -> Path:
    """Checks and returns the path for a file about a folder; by default, the file is the folder's page.

    :param out: path that the user named; None for a file in the folder
    :param is_ours: function that returns whether Dohyo wrote an existing file, which may then be replaced
    :param kind: words for the file and for its content in messages
    :raises BadInputError: if no file may be written to the path
    """
    path = out or (folder if folder.is_dir() else folder.parent) / name
    if path.is_dir():
        raise BadInputError(f"--out {path} is a folder; name the file, such as {path / name}")
    # Writing would replace a FIFO, a device or a socket, even behind /dev/stdout.
    if path.exists() and not path.is_file():
        raise BadInputError(
            f"{path} is {folders.kind(path.resolve())}; remove it, or name another file with --out FILE"
        )
    # Writing replaces a link instead of its target, so links are not checked.
    if path.is_file() and not path.is_symlink() and not is_ours(path):
        problem = f"{path} is not a {kind[0]} that dohyo wrote, so it is not replaced"
        raise BadInputError(f"{problem}; name another file with --out FILE")
    if not path.parent.is_dir():
        raise BadInputError(f"--out {path}: the folder {path.parent} does not exist; create it, or name another file")
    above = path.parent.resolve()
    if any(parent.name == "raw" and is_experiment(parent.parent) for parent in (above, *above.parents)):
        raise BadInputError(f"--out {path}: raw is only for the evidence of an experiment; name another file")
    # A link inside an experiment could lead out of it. Links elsewhere belong to the user and are allowed.
    for link in (above for above in path.absolute().parents if above.is_symlink()):
        if any(is_experiment(above) for above in link.parents):
            raise BadInputError(f"--out {path}: {link} is a link inside an experiment; name another file")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise BadInputError(f"no permission to write the {kind[1]} to {path.parent}; use another path with --out FILE")
    return path


def open_in_browser(path: Path) -> bool:
    """Opens a page in the desktop's browser. Returns False if there is no browser, for example over SSH."""
    return webbrowser.open(path.resolve().as_uri())
