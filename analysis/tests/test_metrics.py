"""Tests that each metric is declared in one place, from which all output takes its name, unit and precision."""

from pathlib import Path

import pytest

from dohyo import metrics
from dohyo.metrics import METRICS, PERCENTILES
from dohyo.places import ROOT
from dohyo.report.grammar import SHAPES
from dohyo.tables import table
from dohyo.tables.grid import Grid
from support import altered_package
from support.evidence import reads, trial

# Program that reads the experiment given as its argument and prints where p99.99 appears.
PROGRAM = """
import json, sys
from pathlib import Path
from dohyo import metrics
from dohyo.report import chart_data, page
from dohyo.report.matrix import matrix
from dohyo.scenario import published, slo
from dohyo.summary import summary_file
from dohyo.tables import files, table

experiment = Path(sys.argv[1])
found = chart_data.read(experiment)
summary = found.summary
files.write(summary, experiment)
(bound,) = slo.bounds("read.p99.99<50ms")
report = page.gather(experiment, found)
(latency,) = (chart for chart in report.charts if chart.name == "latency")
theirs = experiment / "theirs.yml"
line = {"of": "A", "system": "x", "p99_9_ms": 8, "p99_99_ms": 9}
theirs.write_text(json.dumps({"title": "t", "hardware": "h", "versions": "v", "figures": [line]}), "utf-8")
print(json.dumps({
    "kept": [row.p99_99_ms for row in summary_file.read(experiment).trials[0].rows if row.operation == "READ"],
    "table": table.results_grid(summary).heads,
    "chart": latency.tables["latency-0"]["percentile"],
    "matrix": matrix(summary)["metrics"],
    "page": page.html(report).count("p99.99 ms"),
    "bound": [bound.percentile, slo.PERCENTILES[bound.percentile]],
    "published": published.load(theirs).figures[0].p99_99_ms,
    "reference": metrics.reference(),
}))
"""


def test_one_line_adds_a_percentile_everywhere(tmp_path: Path) -> None:
    folder = trial(tmp_path / "experiment", 1, "cassandra", repeats=1)
    reads(folder / "run-1/node1", [150_000] * 4)
    last = "    p99_9_ms: float | None = _percentile(99.9)\n"
    more = "    p99_99_ms: float | None = _percentile(99.99)\n"
    output = altered_package.run(tmp_path, "metrics.py", last, more, PROGRAM, tmp_path / "experiment")
    assert output["kept"] == [0.5]
    after = [head.split(" ms")[0] for head in output["table"]]
    assert after[after.index("p99.9") + 1] == "p99.99"
    assert output["chart"] == ["p50", "p95", "p99", "p99.9", "p99.99", "max"]
    assert output["matrix"][-3:] == ["p99.9", "p99.99", "max"]
    assert output["page"] == 1
    assert output["bound"] == ["p99.99", "p99_99_ms"]
    assert output["published"] == 9
    assert "| `p99_99_ms` | number | ms | latency within which 99.99 % " in output["reference"]
    for name in ("summary.csv", "summary.json", "summary.md"):
        text = (tmp_path / "experiment" / name).read_text("utf-8")
        assert ("p99.99" if name == "summary.md" else "p99_99_ms") in text, name


def test_the_name_of_a_percentile_is_its_number() -> None:
    assert {f"p{number:g}".replace(".", "_") + "_ms": number for number in PERCENTILES.values()} == PERCENTILES
    assert [METRICS[name].head for name in PERCENTILES] == [f"p{number:g}" for number in PERCENTILES.values()]


def test_heads_are_told_apart_and_the_chart_of_latencies_has_a_shape_for_each() -> None:
    heads = [metric.head for metric in METRICS.values() if metric.head]
    assert len(heads) == len(set(heads))
    assert len([metric for metric in METRICS.values() if metric.part == "latencies"]) - 1 < len(SHAPES)


def test_a_column_behind_a_metric_that_has_none_fails_by_name() -> None:
    with pytest.raises(KeyError, match="p98_ms"):
        table._columns({"p98_ms": {}})


def test_a_line_that_does_not_have_a_cell_for_each_head_fails_by_name() -> None:
    with pytest.raises(ValueError, match=r"the table 'Nodes': 2 cells .* \['system', 'node', 'cores'\]"):
        Grid("Nodes", ["system", "node", "cores"], [["a", "host1"]])


def test_the_documents_have_the_table_that_the_program_prints() -> None:
    written = (ROOT / "docs/summary-json.md").read_text("utf-8")
    assert metrics.reference() in written, "replace the table of rows with the output of python -m dohyo.metrics"
