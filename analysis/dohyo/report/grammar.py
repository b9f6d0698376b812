"""Vega-Lite, the grammar of the page and of the files: the definition of a chart, its colours, and everything that
charts share.

Vega draws the same specification in a browser and, through vl-convert, into SVG and PNG without one. A chart is plain
data: nothing that comes from a log or a scenario is ever in an expression of the grammar, only in its data, its
titles and its domains, which Vega draws as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# One column per field, all of the same length.
Table = dict[str, list[Any]]
Spec = dict[str, Any]

# Okabe and Ito's colours (https://jfly.uni-koeln.de/color/), which people with any colour vision tell apart, without
# their black and yellow. On white they are darkened until each has a contrast of 3 : 1 (WCAG 2.2, 1.4.11).
LIGHT_COLOURS = ["#0072b2", "#d55e00", "#00795a", "#b0508a", "#a06a00", "#3a97d4", "#5f5f5f"]
DARK_COLOURS = ["#3d9be0", "#f0813a", "#2cc295", "#e09cc4", "#e6b422", "#9fdcff", "#b9b9b9"]
# Of what is of no system, or counts nowhere; seen on white and on black.
GREY = "#80868e"
# Systems differ without colours, too.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [12, 3], [4, 4], [1, 3]]
# Beyond this ratio of the largest to the smallest value bars of one hide those of the other.
LOG_FROM = 10.0
_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Panel:
    """One picture of a chart.

    :ivar spec: Vega-Lite without data, size and colours; a layer may name another table of the chart as its data
    :ivar data: name of its table in the chart
    :ivar says: a description in a sentence, for those who cannot see it
    :ivar cursor: x is the time in seconds, under the cursor that all such panels share
    :ivar domains: of scales that differ from part to part: part -> channel -> domain
    :ivar heads: columns of its tables in words, with their units, where they have some
    """

    title: str
    spec: Spec
    data: str
    says: str
    cursor: bool = False
    domains: Mapping[str, Mapping[str, list[Any]]] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> list[str]:
        """Names of the tables that it draws."""
        layers = (layer["data"]["name"] for layer in self.spec.get("layer", []) if "data" in layer)
        return list(dict.fromkeys([self.data, *layers]))


@dataclass(frozen=True)
class Chart:
    """One or more pictures that answer a question.

    :ivar name: of its anchor and its files
    :ivar by_part: the tables have a column `part`, and one part is shown at a time
    :ivar legend: only colour, shape and dashes distinguish systems
    :ivar missing: why there is nothing to draw, if so
    """

    name: str
    title: str
    question: str
    panels: list[Panel] = field(default_factory=list)
    tables: Mapping[str, Table] = field(default_factory=dict)
    by_part: bool = False
    legend: bool = False
    missing: str | None = None

    @property
    def parts(self) -> list[str]:
        """Those that there are, in order."""
        if not self.by_part:
            return []
        return self._distinct("part")

    @property
    def systems(self) -> list[str]:
        """Those that it shows."""
        return self._distinct("system")

    def _distinct(self, column: str) -> list[str]:
        return list(dict.fromkeys(value for table in self.tables.values() for value in table.get(column, [])))


def table(rows: Sequence[Mapping[str, Any]], empty: Sequence[str] = ()) -> Table:
    """Column by column, all rows having the same.

    :param empty: the columns where there may be no row
    """
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else empty)}


def rows(of: Table, part: str | None = None) -> list[dict[str, Any]]:
    """Row by row, as Vega takes them, those of a part alone if one is given."""
    names = list(of)
    lines = (dict(zip(names, values, strict=True)) for values in zip(*of.values(), strict=True))
    return [line for line in lines if part is None or line["part"] == part]


def with_data(panel: Panel, tables: Mapping[str, Table], part: str | None) -> Spec:
    """The panel's specification with the data in it, as a file needs it; the page does the same in its script."""
    spec = {**panel.spec, "data": {"values": rows(tables[panel.data], part)}}
    for channel, domain in panel.domains.get(part or "", {}).items():
        of_channel = spec["encoding"][channel]
        in_common = {**of_channel, "scale": {**of_channel.get("scale", {}), "domain": domain}}
        spec["encoding"] = {**spec["encoding"], channel: in_common}
    if "layer" in spec:
        filled = [
            {**layer, "data": {"values": rows(tables[layer["data"]["name"]], part)}} if "data" in layer else layer
            for layer in spec["layer"]
        ]
        spec["layer"] = [layer for layer in filled if "data" not in layer or layer["data"]["values"]]
    return spec


# Labels of rows: the system in one line, its point in the next, which leaves room on a phone.
ROW_AXIS: Spec = {"labelExpr": "split(datum.label, ' · ')", "labelFontSize": 11, "labelLineHeight": 12}


def rows_high(labels: Sequence[str], lines: int = 1) -> int:
    """Height in pixels of a chart with a row for each label, which has so many lines of text beside it."""
    return (15 + 15 * lines) * len(labels)


def quantity(column: str, title: str | None = None, **more: Any) -> Spec:
    """A channel of numbers: their column, what the axis is called, and what else there is to it, such as `scale`."""
    return {"field": column, "type": "quantitative", **({"title": title} if title else {}), **more}


# The seconds that are shown; the page sets it, for all panels alike.
ZOOM: Spec = {"name": "zoom", "value": None}
SECONDS = quantity(
    "time",
    "seconds",
    scale={"nice": False, "zero": True, "domainRaw": {"expr": "zoom"}},
    axis={"grid": False, "tickMinStep": 1},
)


def rows_of(column: str, order: Sequence[str], title: str | None = None, **axis: Any) -> Spec:
    """A channel with a row, or a column, for each of these texts, and the properties of its axis."""
    return {"field": column, "type": "nominal", "sort": list(order), "title": title, "axis": axis}


def shown(*columns: str, **titles: str) -> list[Spec]:
    """The tooltip of a point: columns under their own names, then those with a name in words."""
    return [
        *({"field": each} for each in columns),
        *({"field": each, "title": words} for each, words in titles.items()),
    ]


def by_system(systems: Sequence[str]) -> Spec:
    """Colour of a system, the same in all charts."""
    return {"field": "system", "type": "nominal", "title": None, "scale": {"domain": list(systems)}}


def shape(systems: Sequence[str]) -> Spec:
    """Shape of a system's points."""
    return {**by_system(systems), "scale": {"domain": list(systems), "range": _cycle(SHAPES, len(systems))}}


def dash(systems: Sequence[str]) -> Spec:
    """Dashes of a system's lines."""
    return {**by_system(systems), "scale": {"domain": list(systems), "range": _cycle(DASHES, len(systems))}}


def _cycle(values: Sequence[Any], count: int) -> list[Any]:
    return [values[position % len(values)] for position in range(count)]


def scale(values: Sequence[float | None]) -> tuple[Spec, str]:
    """The scale of an axis and what to add to its title: logarithmic where values differ by more than `LOG_FROM`."""
    known = [value for value in values if value is not None and value > 0]
    if known and max(known) / min(known) > LOG_FROM:
        # To whole decades half of a chart may be empty.
        return {"type": "log", "nice": False, "padding": 8}, ", log scale"
    return {"type": "linear", "zero": True, "nice": True}, ""


def config(*, dark: bool, legend: bool) -> Spec:
    """Vega-Lite's configuration: colours for light and dark, and whether charts have legends (the page has its own)."""
    text, faint = ("#e6e6e6", "#4a4a4a") if dark else ("#1f2328", "#d8dde3")
    return {
        "background": "transparent" if dark or not legend else "white",
        "font": _FONT,
        # Half of the last label of an axis.
        "padding": {"left": 5, "top": 5, "right": 14, "bottom": 5},
        "view": {"stroke": None},
        "range": {
            "category": DARK_COLOURS if dark else LIGHT_COLOURS,
            # Both ends differ from the page's background; lightness alone tells the order.
            "heatmap": {"scheme": "viridis"},
            "ramp": {"scheme": "viridis"},
        },
        "axis": {
            "labelColor": text, "titleColor": text, "gridColor": faint, "domainColor": faint, "tickColor": faint,
            "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 220,
        },
        "title": {"color": text, "fontSize": 14, "anchor": "start", "fontWeight": 600},
        "text": {"color": text},
        "rule": {"color": text},
        "legend": {"disable": not legend, "orient": "top", "labelColor": text, "titleColor": text, "labelLimit": 300,
                   "symbolOpacity": 1},
    }  # fmt: skip
