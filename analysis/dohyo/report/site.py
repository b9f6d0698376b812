"""An index over many experiments, and a folder that any web server (or none) can show."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from dohyo.bad_input import BadInputError
from dohyo.evidence.text_file import Warn
from dohyo.report import measured, page
from dohyo.report.page import Report
from dohyo.summary.summary import is_experiment

INDEX = "index.html"
# Tells a folder that may be written into again from one that holds something else.
_MARK = ".dohyo-site"


@dataclass(frozen=True)
class Entry:
    """One line of the index."""

    name: str
    address: str
    scenario: str
    systems: list[str]
    date: str  # YYYY-MM-DD, empty where it is not known
    machine: str
    status: str
    sentence: str


def experiments(results: Path) -> list[Path]:
    """The folders of experiments in a folder of results, the newest name first."""
    found = [path for path in results.iterdir() if _may_be_one(path)] if results.is_dir() else []
    return sorted(found, key=lambda path: path.name, reverse=True)


def _may_be_one(path: Path) -> bool:
    try:
        return is_experiment(path)
    except OSError:
        return True  # reading it says why it cannot be read


def write(folders: Sequence[Path], site: Path, warn: Warn) -> Path:
    """Writes the index and a folder for each experiment, with its page and the small files beside it; no evidence.

    An experiment that cannot be read is reported through `warn` and left out.

    :raises BadInputError: if there is no experiment, or the folder holds something that is no site
    """
    if not folders:
        raise BadInputError("there are no experiments to show; ./run.sh workloadA makes one")
    if site.exists() and (not site.is_dir() or (any(site.iterdir()) and not (site / _MARK).exists())):
        raise BadInputError(f"{site} holds something that is no site of Dohyo's; name a new or empty folder")
    site.mkdir(parents=True, exist_ok=True)
    (site / _MARK).touch()
    entries = []
    for folder in folders:
        # One experiment's evidence in memory at a time.
        try:
            report = page.gather(folder, *measured.read(folder))
        except OSError as error:
            warn(f"{error.filename or folder}: cannot be read: {error.strerror or error}")
            continue
        into = site / folder.name
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        (into / page.FILE).write_text(page.html(report, with_evidence=False), encoding="utf-8")
        for name in page.linked_files():
            if (folder / name).is_file():
                (into / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(folder / name, into / name)
        entries.append(entry(report))
    (site / INDEX).write_text(index(entries), encoding="utf-8")
    return site / INDEX


def entry(report: Report) -> Entry:
    """What the index says of an experiment."""
    facts, summary = report.facts, report.summary
    statuses = [trial.status for trial in summary.trials]
    good = statuses.count("ok")
    return Entry(
        name=summary.name,
        address=f"{quote(report.experiment.resolve().name)}/{page.FILE}",
        scenario=str(facts.get("scenario", "")),
        systems=list(dict.fromkeys(trial.system for trial in summary.trials)),
        date=str(facts.get("started", ""))[:10],
        machine=page.machine(facts),
        status=f"{good} of {len(statuses)} trials valid",
        sentence=report.sentence,
    )


def index(entries: Sequence[Entry]) -> str:
    """The page with a line for each experiment and the filters."""
    templates = Path(page.__file__).parent / "templates"
    script = (templates / "index.js").read_text("utf-8")
    return (
        page.environment()
        .get_template("index.html.j2")
        .render(
            entries=entries,
            scenarios=sorted({entry.scenario for entry in entries if entry.scenario}),
            systems=sorted({system for entry in entries for system in entry.systems}),
            machines=sorted({entry.machine for entry in entries if entry.machine}),
            style=page.style(),
            script=script,
            policy=page.policy(script),
        )
    )
