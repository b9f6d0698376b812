"""Lists the charts of a report in order. A new chart needs a module with a function `chart`, and a line in `CHARTS`.

The function returns None if the chart does not apply to the scenario.
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
    """Returns all charts that apply. If a chart has no data, it states the reason."""
    return [chart for make in CHARTS if (chart := make(material))]
