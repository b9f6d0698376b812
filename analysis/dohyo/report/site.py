"""Writes an index of many experiments. Any web server can serve its folder; it also works without a server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dohyo import claimed_folders, folders
from dohyo.bad_input import BadInputError
from dohyo.evidence import experiment_folder
from dohyo.evidence.text_file import Warn
from dohyo.places import RUN, command
from dohyo.report import chart_data, page
from dohyo.report.material import systems_of
from dohyo.report.page import Report
from dohyo.summary.summary import is_experiment
from dohyo.tables.verdict import verdict

INDEX = "index.html"


def experiments(results: Path) -> list[Path]:
    """Returns the experiments' folders in a results folder, newest name first; trials started by hand come last."""
    paths = [path for path in results.iterdir() if _may_be_one(path)] if results.is_dir() else []
    return sorted(paths, key=lambda path: (os.path.lexists(path / experiment_folder.FACTS), path.name), reverse=True)


def _may_be_one(path: Path) -> bool:
    try:
        return is_experiment(path)
    except OSError:
        return True  # the error is reported later, when the experiment is read


def write(sources: Sequence[Path], site: Path, warn: Warn) -> Path:
    """Writes the index, and a folder for each experiment with its page and the small files next to it, but no evidence.

    An experiment that cannot be read is reported through `warn` and left out.

    :raises BadInputError: if there are no experiments, or if the folder or a subfolder contains other files
    """
    if not sources:
        raise BadInputError(
            f"no experiments found; name their folder with --results, or measure one: {command(RUN, 'workloadA')}"
        )
    site = Path(os.path.realpath(site))
    for folder in (site, *(site / source.name for source in sources)):
        claimed_folders.refuse_foreign(folder)
    folders.check(site)
    claimed_folders.claim(site)
    entries = []
    for folder in sources:
        # Keep the evidence of only one experiment in memory at a time.
        try:
            experiment_folder.read(folder)
            report = page.gather(folder, chart_data.read(folder))
        except BadInputError as error:
            warn(str(error))
            continue
        except OSError as error:
            warn(f"{error.filename or folder}: cannot be read: {error.strerror or error}")
            continue
        into = site / folder.name
        claimed_folders.claim(into)
        folders.write(into / page.FILE, page.html(report, with_evidence=False))
        for name in page.FILES:
            if (folder / name).is_file():
                (into / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(folder / name, into / name)
        entries.append(_entry(report))
    folders.write(site / INDEX, _index(entries))
    return site / INDEX


def _entry(report: Report) -> dict[str, Any]:
    """Returns the cells of an experiment's line. The date is YYYY-MM-DD, or empty if it is unknown."""
    facts, summary = report.facts, report.summary
    statuses = [trial.status for trial in summary.trials]
    under_way = f"; {report.under_way}" if report.under_way else ""
    return {
        "name": summary.name,
        "address": f"{quote(report.experiment.resolve().name)}/{page.FILE}",
        "scenario": str(facts.get("scenario", "")),
        "systems": systems_of(summary.trials),
        "date": str(facts.get("started", ""))[:10],
        "machine": page.machine(facts),
        "status": f"{statuses.count('ok')} of {len(statuses)} trials valid{under_way}",
        "sentence": "Still being measured." if report.under_way else verdict(summary).sentence,
    }


def _index(entries: Sequence[Mapping[str, Any]]) -> str:
    """Returns the page, which contains filters and a line for each experiment."""
    script = (page.TEMPLATES / "index.js").read_text("utf-8")
    return (
        page.environment()
        .get_template("index.html.j2")
        .render(
            entries=entries,
            scenarios=sorted({entry["scenario"] for entry in entries} - {""}),
            systems=sorted({system for entry in entries for system in entry["systems"]}),
            machines=sorted({entry["machine"] for entry in entries} - {""}),
            style=page.style(),
            script=script,
            policy=page.policy(script),
        )
    )
