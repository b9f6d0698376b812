"""The charts of a report, in their order. Another one is a module here with a function `chart`, and a line below."""

from collections.abc import Callable, Sequence

from dohyo.report.charts import heat, latency, over_time, percentiles, row_curve, throughput
from dohyo.report.grammar import Chart
from dohyo.report.material import Material

CHARTS: Sequence[Callable[[Material], Chart]] = (
    throughput.chart,
    latency.chart,
    over_time.chart,
    percentiles.chart,
    heat.chart,
    row_curve.chart,
)


def charts(material: Material) -> list[Chart]:
    """All of them; one without data says why."""
    return [make(material) for make in CHARTS]
