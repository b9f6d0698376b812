"""Writes the page of an experiment, `report.html`, as a single self-contained file.

The template engine escapes texts from logs and scenarios, and scripts receive them only as JSON data. The page's
security policy allows only its own two scripts and no requests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from dohyo.evidence import experiment_folder
from dohyo.evidence.json_values import read_object
from dohyo.figures import size
from dohyo.metrics import HEADS, METRICS
from dohyo.report import drawing
from dohyo.report.charts import charts as all_charts
from dohyo.report.grammar import DARK_COLOURS, DASHES, LIGHT_COLOURS, SHAPES, Chart, Table, config
from dohyo.report.material import Material, systems_of
from dohyo.report.matrix import matrix
from dohyo.summary.results import Summary
from dohyo.tables import comparison_table, conditions, published_table, screen, table
from dohyo.tables.grid import Grid
from dohyo.tables.verdict import verdict

FILE = screen.PAGE
TEMPLATES = Path(__file__).parent / "templates"
# Files that the report links to, with their descriptions.
FILES = {
    "summary.md": "the tables as text",
    "summary.csv": "every row of numbers",
    "summary.json": "everything that was computed",
    "load.csv": "inserted rows, second by second",
    "servers.csv": "pauses, compactions and flushes of the servers, one by one",
    "hosts.csv": "resources that the hosts used, second by second",
    "scenario.properties": "the scenario as it was measured",
    "experiment.json": "when, where and with which versions it was measured",
    "figures/results.md": "the tables, including those of the matrix",
}


# A ranking with more rows (including its runs) scrolls, so that the verdict stays visible.
_MOST_ROWS = 60
# With more systems, a title contains their number instead of their names.
_MOST_NAMED = 2
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True)
class Report:
    """Everything that the page shows about an experiment.

    :ivar facts: content of experiment.json
    :ivar folders: for each trial's name, the folder with its evidence
    :ivar unknown: note on the conditions that logs of other clients do not state
    :ivar process: pid of the process that is measuring the experiment; None if it is over
    """

    experiment: Path
    material: Material
    charts: list[Chart]
    facts: Mapping[str, Any]
    folders: Mapping[str, Path] = field(default_factory=dict)
    unknown: str | None = None
    process: int | None = None

    @property
    def summary(self) -> Summary:
        """Returns the experiment's summary."""
        return self.material.summary

    @property
    def title(self) -> str:
        """Returns the scenario, systems and hosts, such as "Workload A: …, four systems on one host"."""
        subject = self.facts.get("title") or self.facts.get("scenario") or self.summary.name
        names = systems_of([trial for trial in self.summary.trials if trial.status != "skipped"])
        systems = " and ".join(names) if len(names) <= _MOST_NAMED else f"{_in_words(len(names))} systems"
        count = self.summary.host_count
        hosts = f" on {_in_words(count)} host{'' if count == 1 else 's'}" if count else ""
        return f"{subject}{';' if ',' in subject else ','} {systems}{hosts}" if systems else subject

    @property
    def under_way(self) -> str:
        """Describes the progress while the experiment is being measured. Returns "" when it is over."""
        if self.process is None:
            return ""
        ended = sum(trial.status not in ("pending", "running") for trial in self.summary.trials)
        return f"still being measured: {ended} of {len(self.summary.trials)} trials are over"


def _in_words(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def gather(experiment: Path, material: Material) -> Report:
    """Draws the charts from the data of `chart_data.read`, and reads the files next to the evidence."""
    evidence = {trial.name: experiment / "raw" / trial.name for trial in material.summary.trials}
    facts = read_object(experiment / experiment_folder.FACTS, lambda _: None)
    process = experiment_folder.running(experiment)
    if process == os.getpid():  # this process measures, and writes the page when it has finished
        process = None
    return Report(experiment, material, all_charts(material), facts, evidence, process=process)


def html(report: Report, *, with_evidence: bool = True, folder: Path | None = None) -> str:
    """Returns the page as HTML.

    :param with_evidence: whether to link the evidence
    :param folder: folder of the page; by default the experiment's folder
    """
    summary, systems = report.summary, report.material.systems
    of_matrix = matrix(summary)
    script = (TEMPLATES / "page.js").read_text("utf-8")
    ran = [trial for trial in summary.compared if trial.rows]
    by_system = [(name, [trial for trial in ran if trial.system == name]) for name in systems_of(ran)]
    return environment().get_template("report.html.j2").render(
        report=report,
        measured=screen.what_and_where(summary)[1:],
        machine=machine(report.facts),
        verdict=verdict(summary),
        without_numbers=screen.without_numbers(summary),
        comparisons=_comparisons(report.material),
        summary=summary,
        tall=sum(len(next(iter(columns.values()))) for columns in report.charts[0].tables.values()) > _MOST_ROWS,
        most_reasons=screen.MOST_REASONS,
        most_costs=screen.MOST_COSTS,
        numbers={name: number % len(SHAPES) for number, name in enumerate(systems)},
        symbols=_symbols(),
        results=table.results_grid(summary),
        legend=table.legend(summary),
        grids=table.other_grids(summary),
        warnings=table.warnings(summary),
        settings=table.settings(summary),
        findings=table.findings(summary),
        common=conditions.common([trials for _, trials in by_system]) if by_system else [],
        different=conditions.different([trials for _, trials in by_system]) if by_system else [],
        condition_systems=[name for name, _ in by_system],
        matrix=of_matrix,
        matrix_data=_json(of_matrix),
        files=_files(report, folder or report.experiment, with_evidence),
        published=[
            *(grid for published in summary.published for grid in published_table.grids(published, summary)),
            *map(published_table.differences, summary.differences),
        ],
        data=_json(_data(report.charts, systems)),
        style=style(),
        library=drawing.script(),
        script=script,
        policy=policy(drawing.script(), script),
    )  # fmt: skip


def _comparisons(material: Material) -> list[tuple[str, Grid]]:
    """Returns the tables that compare rates and latencies, each with a note on the samples behind its intervals."""
    pairs = material.summary.comparisons
    tables = []
    for title, of_latency in (("Rates compared", False), ("Latencies compared: less is better", True)):
        shown = [pair for pair in pairs if METRICS[pair.figure].less_is_better == of_latency]
        ranked = material.summary.neighbours
        beside = [neighbour for neighbour in ranked if METRICS[neighbour.pair.figure].less_is_better == of_latency]
        of_kind = replace(material.summary, comparisons=shown, neighbours=beside)
        grids = comparison_table.grids(of_kind, material.label)
        heads = (title, f"{title}: neighbours in the ranking")
        tables += [
            (grid.title, replace(grid, title=f"{head} ({len(grid.lines)})"))
            for head, grid in zip(heads, grids, strict=False)
        ]
    return tables


@cache
def environment() -> Environment:
    """Returns a Jinja environment that escapes everything that a template does not mark as safe."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters["title_of"] = lambda head: HEADS[head].title
    jinja.filters["of"] = lambda key, mapping: mapping[key]
    jinja.filters["transposed"] = lambda columns: zip(*columns, strict=True)
    return jinja


def style() -> str:
    """Returns the style sheet for the pages, including the colours of the charts."""
    colours = [
        *(f":root {{ --c{number}: {light}; }}" for number, light in enumerate(LIGHT_COLOURS)),
        *(f':root[data-theme="dark"] {{ --c{number}: {dark}; }}' for number, dark in enumerate(DARK_COLOURS)),
        *(f".c{number} {{ color: var(--c{number}); }}" for number in range(len(LIGHT_COLOURS))),
    ]
    return "\n".join([(TEMPLATES / "page.css").read_text("utf-8"), *colours])


def policy(*scripts: str) -> str:
    """Returns a content security policy that allows only these scripts and the page's styles."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    fonts_and_forms = "base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; {fonts_and_forms}"


def _data(charts: Sequence[Chart], systems: Sequence[str]) -> dict[str, Any]:
    return {
        "systems": list(systems),
        "themes": {"light": config(dark=False, legend=False), "dark": config(dark=True, legend=False)},
        "charts": {
            chart.name: {
                "parts": chart.parts,
                "tables": {name: _packed(columns) for name, columns in chart.tables.items()},
                "panels": [
                    {"spec": panel.spec, "data": panel.data, "cursor": panel.cursor, "domains": panel.domains}
                    for panel in chart.panels
                ],
            }
            for chart in charts
        },
    }


def _packed(columns: Table) -> dict[str, Any]:
    """Returns a table that stores each text only once, because 35 runs of half an hour have 63,000 rows."""
    packed: dict[str, Any] = {}
    for name, values in columns.items():
        if values and all(isinstance(value, str) for value in values):
            names = list(dict.fromkeys(values))
            positions = {text: position for position, text in enumerate(names)}
            packed[name] = {"names": names, "index": [positions[value] for value in values]}
        else:
            packed[name] = values
    return packed


def _json(content: Any) -> str:
    """Returns JSON for a script element, escaped so that no text can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _symbols() -> list[dict[str, Any]]:
    """Returns each system's symbol in the legend. Its shape and dashes are the same as in the charts."""
    paths = {
        "circle": "M8 3a5 5 0 1 0 .01 0Z",
        "square": "M3.5 3.5h9v9h-9Z",
        "triangle-up": "M8 3l5 9.5h-10Z",
        "diamond": "M8 2l5 6-5 6-5-6Z",
        "cross": "M6 3h4v3h3v4h-3v3h-4v-3h-3v-4h3Z",
        "triangle-down": "M3 3.5h10l-5 9.5Z",
        "triangle-right": "M3.5 3v10l9.5-5Z",
    }
    return [
        {"path": paths[shape], "dash": " ".join(map(str, dash)) if dash[1] else "none"}
        for shape, dash in zip(SHAPES, DASHES, strict=True)
    ]


def machine(facts: Mapping[str, Any]) -> str:
    """Describes the control machine's hardware. Returns "" if it is unknown."""
    host = facts.get("host")
    if not isinstance(host, dict):
        return ""
    memory = host.get("memory_bytes")
    parts = [
        host.get("name"),
        host.get("processor"),
        f"{host['cores']} cores" if host.get("cores") else None,
        size(memory) if isinstance(memory, int) else None,
        host.get("os"),
    ]
    return ", ".join(str(part) for part in parts if part)


def _files(report: Report, folder: Path, with_evidence: bool) -> list[tuple[str, str, str]]:
    """Returns the relative address, the name and a description of each file that the page links to."""
    files = [(report.experiment / name, content) for name, content in FILES.items()]
    if with_evidence:
        statuses = {trial.name: trial.status for trial in report.summary.trials}
        files += [(path, f"evidence of this trial: {statuses[name]}") for name, path in report.folders.items()]
    return [
        (quote(os.path.relpath(path, folder)) + "/" * path.is_dir(), _title(path, report.experiment), content)
        for path, content in files
        if path.exists()
    ]


def _title(path: Path, experiment: Path) -> str:
    return str(path.relative_to(experiment)) if path != experiment else path.resolve().name
