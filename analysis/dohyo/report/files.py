"""The files of a report, which stand beside the summary in the experiment's folder."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from dohyo.report import measured, page, static
from dohyo.report.measured import Measured
from dohyo.summary.results import Summary


def write(experiment: Path, known: tuple[Summary, Measured] | None = None, *, figures: bool = False) -> list[Path]:
    """Writes report.html and, if asked for, the folder `figures`; returns the paths, the page's first.

    :param known: what `measured.read` has found, if the experiment has been read already
    """
    report = page.gather(experiment, *(known or measured.read(experiment)))
    others = [static.write(experiment, report.summary, report.charts)] if figures else []
    # The page last: it links what stands beside it.
    return [page.write(report), *others]


def open_in_browser(path: Path) -> bool:
    """Opens a page in the browser of this desktop; False where there is none, as over SSH."""
    return webbrowser.open(path.resolve().as_uri())
