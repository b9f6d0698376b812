"""The files of a report, which stand beside the summary in the experiment's folder."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from dohyo.report import page, static
from dohyo.summary.results import Summary
from dohyo.summary.summary import summarise


def write(experiment: Path, summary: Summary | None = None, *, figures: bool = False) -> list[Path]:
    """Writes report.html and, if asked for, the folder `figures`; returns the paths, the page's first.

    :param summary: of the experiment, if it is known already
    """
    summary = summary or summarise(experiment)
    report = page.gather(experiment, summary)
    others = [static.write(experiment, summary, report.charts)] if figures else []
    # The page last: it links what stands beside it.
    return [page.write(report), *others]


def open_in_browser(path: Path) -> bool:
    """Opens a page in the browser of this desktop; False where there is none, as over SSH."""
    return webbrowser.open(path.resolve().as_uri())
