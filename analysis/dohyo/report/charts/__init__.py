"""Charts of a report, in their order. To add one, add a module with a function `chart` here and a line below.

The function returns None if the scenario has nothing of that kind to show.
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
    """Returns all charts; a chart without data says why."""
    return [made for make in CHARTS if (made := make(material))]
