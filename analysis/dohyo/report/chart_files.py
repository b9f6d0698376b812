"""Writes charts and tables as files, for slides and papers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dohyo import claimed_folders, folders
from dohyo.report import drawing, matrix
from dohyo.report.grammar import Chart, Panel, Spec, config, with_data
from dohyo.summary.results import Summary
from dohyo.tables import table

# Width of a picture in pixels: half of a slide. PNG files are three times as wide, which is sharp on paper.
_WIDTH = 640
_PNG_SCALE = 3


def write(beside: Path, summary: Summary, charts: Sequence[Chart]) -> Path:
    """Writes `figures/` below a folder: NAME.svg, NAME.png, results.md. Returns its path.

    A chart with several panels or parts is written to a file for each of them. Earlier figures are removed.

    :raises BadInputError: if Dohyo did not make the existing folder, or if vl-convert cannot be fetched
    """
    vl_convert = drawing.converter()
    folder = beside / "figures"
    claimed_folders.claim(folder)
    claimed_folders.clear(folder)
    files: dict[str, str | bytes] = {}
    for name, spec in specs([*charts, matrix.chart(summary)]):
        svg = vl_convert.vegalite_to_svg(spec)
        files[f"{name}.svg"] = svg
        files[f"{name}.png"] = vl_convert.svg_to_png(svg, scale=_PNG_SCALE)
    files["results.md"] = table.markdown(summary, matrix.grids(summary))
    # List the files before they are written, so that a later call can clean up even after an interruption.
    claimed_folders.note(folder, files)
    for name, content in files.items():
        folders.write(folder / name, content)
    return folder


def specs(charts: Iterable[Chart]) -> Iterable[tuple[str, Spec]]:
    """Yields the name and the complete specification, including data, of each file."""
    for chart in charts:
        for number, panel in enumerate(chart.panels, 1):
            for index, part in enumerate(chart.parts or [None], 1):
                spec = with_data(panel, chart.tables, part)
                if spec["data"]["values"]:
                    ends = [chart.name, *([str(number)] if len(chart.panels) > 1 else [])]
                    ends += [str(index)] if len(chart.parts) > 1 else []
                    yield "-".join(ends), _whole(panel, spec, part, chart)


def _whole(panel: Panel, spec: Spec, part: str | None, chart: Chart) -> Spec:
    shown = part if len(chart.parts) > 1 else None
    title = [" · ".join(filter(None, (chart.title, panel.title))), *([shown] if shown else [])]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {"text": title[0], "subtitle": title[1:]},
        "description": panel.says,
        "width": _WIDTH,
        **spec,
        "config": config(dark=False, legend=True),
    }
