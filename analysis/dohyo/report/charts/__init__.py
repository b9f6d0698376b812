"""The charts of a report, in their order. Another one is a module here with a function `chart`, and a line below.

It returns None where the scenario has nothing of that kind to show.
"""

from collections.abc import Callable, Sequence

from dohyo.report.charts import faults, heat, latency, over_time, percentiles, probes, ranking, row_curve
from dohyo.report.grammar import Chart
from dohyo.report.material import Material

CHARTS: Sequence[Callable[[Material], Chart | None]] = (
    ranking.chart,
    faults.chart,
    probes.chart,
    latency.chart,
    over_time.chart,
    percentiles.chart,
    heat.chart,
    row_curve.chart,
)


def charts(material: Material) -> list[Chart]:
    """All that there are; one without data says why."""
    return [made for make in CHARTS if (made := make(material))]
