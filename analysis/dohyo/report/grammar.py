"""Defines charts, and the parts of their Vega-Lite specifications that they share.

Vega draws the same specification in a browser and, through vl-convert, in SVG and PNG files. A chart is plain data.
Texts from logs and scenarios appear only in data, titles and domains, which Vega draws as text, and never in
expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Column name → values; all columns have the same length.
Table = dict[str, list[Any]]
Spec = dict[str, Any]

# The colours of Okabe and Ito (https://jfly.uni-koeln.de/color/) except black and yellow, distinct with any colour
# vision. On white they are darkened to a contrast of 3 : 1 (WCAG 2.2, 1.4.11).
LIGHT_COLOURS = ["#0072b2", "#d55e00", "#00795a", "#b0508a", "#a06a00", "#3a97d4", "#5f5f5f"]
DARK_COLOURS = ["#3d9be0", "#f0813a", "#2cc295", "#e09cc4", "#e6b422", "#9fdcff", "#b9b9b9"]
# Colour of marks that do not belong to a system, or do not count. It is visible on both white and black.
GREY = "#80868e"
# Shapes and dashes distinguish systems without colour.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [12, 3], [4, 4], [1, 3]]
# A scale is logarithmic if max / min exceeds this ratio. Otherwise, small values could not be distinguished.
LOG_FROM = 10.0
_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Panel:
    """One picture of a chart.

    :ivar spec: specification without data, size and colours; a layer may name another table of the chart as its data
    :ivar data: name of the panel's table in the chart
    :ivar says: one-sentence description for people who cannot see the chart
    :ivar cursor: whether x is the time in seconds, and the panel shares its cursor with all panels of this kind
    :ivar domains: domains of scales that differ between parts: part -> channel -> domain
    :ivar heads: titles of table columns with their units: column -> title
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
        """Returns the names of the tables that the panel draws."""
        layers = (layer["data"]["name"] for layer in self.spec.get("layer", []) if "data" in layer)
        return list(dict.fromkeys([self.data, *layers]))


@dataclass(frozen=True)
class Chart:
    """One or more pictures that answer a question.

    :ivar name: name for the page's anchor and for the files
    :ivar by_part: whether the tables have a column `part`; only one part is shown at a time
    :ivar legend: whether the chart needs a legend, because only colour, shape and dashes distinguish systems
    :ivar missing: reason why there is nothing to draw; None if there are panels
    """

    name: str
    title: str
    question: str
    panels: list[Panel] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    by_part: bool = False
    legend: bool = False
    missing: str | None = None

    def add(self, lines: Sequence[Mapping[str, Any]]) -> str:
        """Adds a table with these rows. Returns its name, which contains the number of panels before it."""
        name = f"{self.name}-{len(self.panels)}"
        self.tables[name] = table(lines)
        return name

    @property
    def parts(self) -> list[str]:
        """Returns the parts in the order of the tables, or [] if the chart has no parts."""
        return self._distinct("part") if self.by_part else []

    @property
    def systems(self) -> list[str]:
        """Returns the systems in the tables."""
        return self._distinct("system")

    def _distinct(self, column: str) -> list[str]:
        return list(dict.fromkeys(value for table in self.tables.values() for value in table.get(column, [])))


def table(rows: Sequence[Mapping[str, Any]], empty: Sequence[str] = ()) -> Table:
    """Converts rows, which all have the same columns, to a table.

    :param empty: columns of the table if there are no rows
    """
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else empty)}


def rows(columns: Table, part: str | None = None) -> list[dict[str, Any]]:
    """Returns the rows of a table as Vega reads them, or only the rows of `part`."""
    names = list(columns)
    lines = (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))
    return [line for line in lines if part is None or line["part"] == part]


def with_data(panel: Panel, tables: Mapping[str, Table], part: str | None) -> Spec:
    """Returns the panel's specification with its data, for a file. In the browser, the page's script adds the data."""
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


# Axis whose labels show the system on one line and its point on the next, which saves width on a phone.
ROW_AXIS: Spec = {"labelExpr": "split(datum.label, ' · ')", "labelFontSize": 11, "labelLineHeight": 12}


def rows_high(labels: Sequence[str], lines: int = 1) -> int:
    """Returns the height in pixels of a chart with one row per label and `lines` lines of text beside each row."""
    return (15 + 15 * lines) * len(labels)


def quantity(column: str, title: str | None = None, **more: Any) -> Spec:
    """Returns a channel of numbers. `more` sets further properties such as `scale`."""
    return {"field": column, "type": "quantitative", **({"title": title} if title else {}), **more}


def layer(mark: str, encoding: Spec, data: str | None = None, **style: Any) -> Spec:
    """Returns a layer that draws the panel's table, or the table `data`. `style` sets properties of its mark."""
    return {**({"data": {"name": data}} if data else {}), "mark": {"type": mark, **style}, "encoding": encoding}


# Tooltip with the text of the column `what`.
WHAT: Spec = {"field": "what", "type": "nominal"}
# Parameter with the visible range of seconds. The page sets the same range for all panels.
ZOOM: Spec = {"name": "zoom", "value": None}
SECONDS = quantity(
    "time",
    "seconds",
    scale={"nice": False, "zero": True, "domainRaw": {"expr": "zoom"}},
    axis={"grid": False, "tickMinStep": 1},
)


def rows_of(column: str, order: Sequence[str], title: str | None = None, **axis: Any) -> Spec:
    """Returns a channel with a row or column for each text in `order`. `axis` sets properties of its axis."""
    return {"field": column, "type": "nominal", "sort": list(order), "title": title, "axis": axis}


def shown(*columns: str, **titles: str) -> list[Spec]:
    """Returns a tooltip that shows columns under their own names, followed by columns under other titles."""
    return [
        *({"field": column} for column in columns),
        *({"field": column, "title": title} for column, title in titles.items()),
    ]


def by_system(systems: Sequence[str]) -> Spec:
    """Returns the colour of each system, which is the same in all charts."""
    return {"field": "system", "type": "nominal", "title": None, "scale": {"domain": list(systems)}}


def over_seconds(height: int, layers: Sequence[Spec], y: Spec, systems: Sequence[str], **more: Any) -> Spec:
    """Returns the specification of a panel with time on the x axis. `more` sets further channels."""
    encoding = {"x": SECONDS, "y": y, "color": by_system(systems), **more, "detail": {"field": "series"}}
    return {"height": height, "params": [ZOOM], "layer": list(layers), "encoding": encoding}


def shape(systems: Sequence[str]) -> Spec:
    """Returns the shape of each system's points."""
    return {**by_system(systems), "scale": {"domain": list(systems), "range": _cycle(SHAPES, len(systems))}}


def dash(systems: Sequence[str]) -> Spec:
    """Returns the dash pattern of each system's lines."""
    return {**by_system(systems), "scale": {"domain": list(systems), "range": _cycle(DASHES, len(systems))}}


def _cycle(values: Sequence[Any], count: int) -> list[Any]:
    return [values[position % len(values)] for position in range(count)]


def scale(values: Sequence[float | None]) -> tuple[Spec, str]:
    """Returns the scale of an axis, logarithmic beyond the ratio `LOG_FROM`, and a suffix for its title."""
    positive = [value for value in values if value is not None and value > 0]
    if positive and max(positive) / min(positive) > LOG_FROM:
        # Do not round the domain to decades: half of the chart could be empty.
        return {"type": "log", "nice": False, "padding": 8}, ", log scale"
    return {"type": "linear", "zero": True, "nice": True}, ""


def config(*, dark: bool, legend: bool) -> Spec:
    """Returns Vega-Lite's configuration for a light or dark page, and for charts with or without their own legends."""
    text, faint = ("#e6e6e6", "#4a4a4a") if dark else ("#1f2328", "#d8dde3")
    return {
        "background": "transparent" if dark or not legend else "white",
        "font": _FONT,
        # Leave room on the right for half of an axis's last label.
        "padding": {"left": 5, "top": 5, "right": 14, "bottom": 5},
        "view": {"stroke": None},
        "range": {
            "category": DARK_COLOURS if dark else LIGHT_COLOURS,
            # The lightness of viridis rises steadily, so the order is visible without colour.
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
