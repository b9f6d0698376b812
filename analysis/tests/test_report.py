"""Tests the report: its charts, its protection against scripts in logs, its size, its files, and the index."""

import base64
import hashlib
import html
import json
import os
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree  # parses only files that the test wrote

import pytest
from click.testing import CliRunner, Result

from dohyo.bad_input import BadInputError
from dohyo.cli import cli
from dohyo.evidence import client_folder
from dohyo.evidence.events import Event
from dohyo.evidence.hdr_log import merge_log
from dohyo.evidence.latency_slots import Slot
from dohyo.evidence.rows import Run, sampled
from dohyo.evidence.servers import Background, Server, Span
from dohyo.figures import milliseconds
from dohyo.metrics import Row
from dohyo.report import chart_files, files, grammar, matrix, page, site
from dohyo.report.chart_data import CURVE_PERCENTILES, read
from dohyo.report.charts import charts, over_time
from dohyo.report.grammar import Chart, rows
from dohyo.report.material import Curve, Material, MeasuredRun
from dohyo.summary.comparison import comparisons
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import summarise
from dohyo.tables import screen
from dohyo.tables.verdict import verdict
from support import golden_cases
from support.evidence import edit_json, in_rounds, reads, searched, trial, write_json
from support.pages import HOSTILE, by_name, hostile, of, of_four, read_page, two_systems

OPERATIONS = ("READ", "UPDATE")


class Elements(HTMLParser):
    """Parses a page as a browser does. Collects the elements with their attributes, and the text of each script."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def shown(chart: Chart, column: str, part: str | None = None) -> list[Any]:
    """Returns the distinct values of a column in the tables of a chart."""
    values = [row[column] for table_rows in chart.tables.values() for row in rows(table_rows, part)]
    return list(dict.fromkeys(values))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of an experiment with two systems. Tests must not change the folder."""
    return two_systems(tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def material(folder: Path) -> Material:
    return read(folder)


Charts = dict[str, Chart]


@pytest.fixture(scope="module")
def charts_of_two(folder: Path, material: Material) -> Charts:
    """Returns the charts of the experiment of two systems."""
    return by_name(page.gather(folder, material).charts)


@pytest.fixture(scope="module")
def text(folder: Path, material: Material) -> str:
    """Returns the page of the experiment of two systems."""
    return page.html(page.gather(folder, material))


def measured(system: str, rates: list[float], point: dict[str, str] | None = None) -> Trial:
    """Returns a trial whose repeats reached these rates."""
    row = sampled(Row("run", "OVERALL", len(rates)), "runs", rates, rates, [])
    name = " ".join([system, *(point or {}).values()])
    return Trial(name=name, system=system, title=system, status="ok", point=point or {}, rows=[row])


def of_trials(*trials: Trial) -> Summary:
    return Summary("x", list(trials), comparisons=comparisons(trials))


# ---- verdict ---------------------------------------------------------------------------------------------------------


def sentence(*trials: Trial) -> str:
    return verdict(of_trials(*trials)).sentence.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("a", "b", "begin"),
    [
        # By hand: rates deviate by 2 %, the logarithms' difference has the error 2 % √(2/3). Times t(4), it is 4.5 %.
        ([1000, 1020, 980], [2000, 2040, 1960],
         "b was 2.00× [1.91, 2.09] as fast as a (b 2,000 [1,903, 2,102], a 1,000 [951, 1,051] records/s; 95 % intervals"
         " over 3 runs)."),
        ([1000, 1050], [1050, 1100],
         "No difference between b and a: 1.05× [0.91, 1.21], a tie (b 1,075 [800, 1,444], a 1,025 ["),
        # Either system may be far ahead.
        ([1000, 1200], [1050, 1250], "Cannot tell b from a: 1.05× [0.61, 1.80] (b 1,146 [378, 3,468], a 1,095 [344, "),
        ([1], [2], "Preliminary: b was 2.00× as fast as a; a single run has no interval (b 2, a 1 records/s)."),
    ],
)  # fmt: skip
def test_a_sentence_says_which_system_won_and_by_how_much(a: list[float], b: list[float], begin: str) -> None:
    assert sentence(measured("a", a), measured("b", b)).startswith(begin)


def test_every_other_system_is_in_the_sentence_and_of_variants_the_best() -> None:
    rates = {"a": [1000.0, 1001.0], "b": [500.0, 501.0], "c": [998.0, 1002.0]}
    text = sentence(*(measured(name, rates[name]) for name in rates))
    slower = r"; b was slower: 0\.50× \[[^]]+\] \(a 1,"
    assert re.match(r"No difference between a and c: 1\.00× \[[^]]+\], a tie" + slower, text)
    variants = [measured("b", [value, value + 1], {"variant": str(value)}) for value in (300.0, 400.0)]
    text = sentence(*(measured(name, rates[name]) for name in ("a", "c")), *variants)
    assert re.match(r"No difference between a and c: 1\.00× \[[^]]+\], a tie; b was slower: 0\.40× ", text)


def test_points_of_a_matrix_are_compared_one_by_one() -> None:
    points = [{"batchsize": "1"}, {"batchsize": "100"}, {"batchsize": "200"}, {"batchsize": "400"}]
    rates = {
        "a": [[100.0, 101.0], [900.0, 901.0], [50.0, 51.0], [70.0]],
        "b": [[200.0, 201.0], [300.0, 301.0], [50.0, 52.0], [210.0]],
    }
    trials = [measured(name, rates[name][index], point) for name in rates for index, point in enumerate(points)]
    text = sentence(*trials)
    assert re.match(r"b was the fastest in 1 of 4 comparisons, 2\.00× \[1\.\d\d, 2\.\d\d\] the second; ", text)
    assert re.search(r"; a was the fastest in 1 of 4 comparisons, 3\.00× \[2\.\d\d, 3\.\d\d\] the second; ", text)
    assert text.endswith(
        "; no difference in 1 of 4 (ties); 1 of 4 preliminary, because a single run has no interval"
        " (records/s; 95 % intervals over 2 runs)."
    )


def knees(experiment: Path, held: dict[str, float]) -> Summary:
    """Writes an experiment in which the search for each system found this rate."""
    for number, (system, rate) in enumerate(held.items(), start=1):
        # The search reached the rate, but not the rate 2 % above it.
        probes = ((rate, rate), *[(1.02 * rate, rate)] * 2)
        searched(experiment, *probes, number=number, probes=3, facts={"trial_system": system})
    return summarise(experiment)


def test_after_a_search_its_maximum_decides(tmp_path: Path) -> None:
    once = knees(tmp_path / "once", {"cassandra": 1000, "hbase": 1500})
    assert verdict(once).sentence == (
        "Preliminary: hbase was 1.50× as fast as cassandra; a single search has no interval"
        " (hbase 1,500, cassandra 1,000 operations/s under p99<10ms)."
    )
    assert verdict(once).mark == "do not use"
    summary = knees(tmp_path / "one", {"cassandra": 1000})
    assert verdict(summary).sentence.endswith("; it reached 1,000 operations/s under p99<10ms.")


def test_all_comparisons_are_on_the_page_rates_and_latencies_apart(tmp_path: Path) -> None:
    for number, system in enumerate(("cassandra", "hbase"), start=1):
        folder = trial(tmp_path, number, system, phases=("read", "update"))
        for client in folder.glob("update-*/node1/client.json"):
            client.write_text(client.read_text("utf-8").replace('"target" : 0', '"target" : 2000'), "utf-8")
    summary, text = read_page(tmp_path)
    answer = text.partition('<section id="verdict"')[2].partition("</section>")[0]
    rates, latencies = answer.split("<details>")[-2:]
    assert "<summary>Rates compared (1)</summary>" in rates
    assert '<th scope="row">[read] rec/s</th><th scope="row">cassandra</th><td class="n">tie</td>' in rates
    assert "<summary>Latencies compared: less is better (2)</summary>" in latencies
    assert [pair.operation for pair in summary.comparisons][1:] == ["Intended-READ", "Intended-UPDATE"]
    assert latencies.count('<tr><th scope="row">[update] Intended-') == 2
    assert text.count("95 % interval</th>") == 2  # in these two lists only


def test_without_two_systems_there_is_no_winner() -> None:
    assert sentence() == "No system has valid numbers: there is no winner."
    assert sentence(measured("a", [5])) == (
        "Only a has valid numbers, so there is no comparison of systems; it reached 5 records/s."
    )
    reached = " it reached 5.92 [0.698, 50.2] records/s; 95 % intervals over 2 runs."
    assert sentence(measured("a", [5, 7])).endswith(reached)
    failed = replace(measured("b", [9]), status="failed", rows=[])
    assert sentence(measured("a", [5]), failed).startswith("Only a has valid numbers")
    assert any(
        "have no valid numbers: b" in reason.text for reason in verdict(of_trials(measured("a", [5]), failed)).reasons
    )


@pytest.mark.parametrize(("price", "of_all"), [("0.9", 3.6), (None, None), ("", None), ([3], None)])
def test_hosts_have_a_price_if_each_has_one(price: Any, of_all: float | None, tmp_path: Path) -> None:
    """An inventory may set the variable without a value."""
    trial(tmp_path, 1, "cassandra")
    edit_json(tmp_path / "raw/01-cassandra/conditions.json", usd_per_hour={"node1": 2.7, "node2": price})
    assert summarise(tmp_path).trials[0].conditions.usd_per_hour == of_all


# ---- header of the page ----------------------------------------------------------------------------------------------


def test_the_page_begins_with_a_title_the_verdict_the_ranking_and_what_speaks_against_it(tmp_path: Path) -> None:
    two_systems(tmp_path)
    write_json(tmp_path / "experiment.json", {"scenario": "a", "title": "Workload A: half reads, half updates"})
    edit_json(tmp_path / "raw/02-hbase/conditions.json", durability="disk")
    result = read(tmp_path)
    text = page.html(page.gather(tmp_path, result))
    title = "Workload A: half reads, half updates; cassandra and hbase on one host"
    assert f"<h1>{title}</h1>" in text
    judgement = verdict(result.summary)
    unequal = "The conditions are not equal: durability (cassandra memory, hbase disk)."
    assert judgement.reasons[0].text.startswith(unequal)
    parts = [
        "<h1>",
        f'<p class="verdict">{judgement.brief}. <strong class="mark do-not-use">do not use</strong></p>',
        'data-panel="ranking"',
        f'<li class="bad">{html.escape(judgement.reasons[0].text)}</li>',
        f'<li class="weak">{html.escape(judgement.reasons[1].text)}</li>',
        "<nav ",
        '<section id="results"',
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    line = next(line for line in text.splitlines() if '<tr class="bad">' in line)
    assert [word for word in ("durability", "disk", "unequal") if word not in line] == []


def test_the_page_has_as_many_reasons_as_the_screen_and_the_others_folded(folder: Path, material: Material) -> None:
    summary = replace(material.summary, notes=[f"note {number}" for number in range(9)])
    reasons = [reason.text for reason in verdict(summary).reasons]
    more = len(reasons) - screen.MOST_REASONS
    text = page.html(page.gather(folder, replace(material, summary=summary)))
    answer = text.partition('<section id="verdict"')[2].partition("</section>")[0]
    open_, mark, folded = answer.partition(f"<summary>{more} more</summary>")
    assert mark
    assert [reason in open_ for reason in reasons] == [True] * screen.MOST_REASONS + [False] * more
    assert all(reason in folded for reason in reasons[screen.MOST_REASONS :])


def test_the_reason_of_a_run_without_numbers_stands_below_the_verdict(tmp_path: Path) -> None:
    two_systems(tmp_path)
    write_json(tmp_path / "raw/02-hbase/state.json", {"status": "failed", "reason": "the server ended"})
    _, text = read_page(tmp_path)
    below = text.partition('<p class="verdict">')[2].partition('<ul class="caveats">')[0]
    assert '<p class="reason">\N{EN DASH} hbase  failed: the server ended</p>' in below
    assert below.count('class="reason"') == 1


def test_a_load_that_is_too_short_to_tell_anything_is_in_no_chart(charts_of_two: Charts, tmp_path: Path) -> None:
    assert [part for chart in charts_of_two.values() for part in chart.parts if "load" in part] == []
    assert charts_of_two["rows"].missing == "No load of 10 s or more was recorded second by second."
    # A short load is drawn if it is the only thing that was measured.
    for number, system in enumerate(("cassandra", "hbase"), start=1):
        trial(tmp_path, number, system, repeats=0, trial_repeats=2, trial_phases=[])
    assert {part for chart in of(tmp_path).values() for part in chart.parts} == {"load"}


@pytest.mark.parametrize(
    ("systems", "title"),
    [
        (["cassandra"], "Workload X, cassandra on one host"),
        (["cassandra", "hbase", "scylla"], "Workload X, three systems on one host"),
    ],
)
def test_a_title_counts_systems_and_hosts(tmp_path: Path, systems: list[str], title: str) -> None:
    for number, system in enumerate(systems, start=1):
        trial(tmp_path, number, "cassandra", trial_system=system)
    skipped = trial(tmp_path, 9, "cassandra", trial_system="aerospike")
    write_json(skipped / "state.json", {"status": "skipped", "reason": "no asd"})
    write_json(tmp_path / "experiment.json", {"title": "Workload X"})
    assert page.gather(tmp_path, read(tmp_path)).title == title


def test_warnings_and_settings_are_apart(tmp_path: Path) -> None:
    two_systems(tmp_path)
    edit_json(tmp_path / "raw/01-cassandra/conditions.json", notes=["binary log: OFF"], differences=["RF is 3, not 1"])
    (tmp_path / "raw/02-hbase/run-1/node1/READ.hdr").open("a").write("broken\n")
    text = page.html(page.gather(tmp_path, read(tmp_path)))
    sections = {
        name: text.partition(f'<section id="{name}"')[2].partition("</section>")[0]
        for name in ("warnings", "conditions", "why")
    }
    for note, where in (("RF is 3, not 1", "warnings"), ("READ.hdr:", "warnings"), ("binary log: OFF", "conditions")):
        assert [name for name, section in sections.items() if note in section] == [where]


def test_numbers_have_units(charts_of_two: Charts, text: str) -> None:
    for head in ("mean, records/s", "from, records/s", "ms"):
        assert f'<th scope="col">{head}</th>' in text
    assert '<option value="p99">p99 ms</option>' in text

    def titles(spec: Any) -> list[str]:
        """Returns the titles of all quantitative axes."""
        if isinstance(spec, list):
            return [title for part in spec for title in titles(part)]
        if not isinstance(spec, dict):
            return []
        own_title = [str(spec.get("title"))] if spec.get("type") == "quantitative" and "scale" in spec else []
        return own_title + titles(list(spec.values()))

    units = r"ms|seconds|records/s|operations per second|rows|percentile|share|%"
    all_titles = [title for chart in charts_of_two.values() for panel in chart.panels for title in titles(panel.spec)]
    assert len(all_titles) > 20
    assert [title for title in all_titles if not re.search(units, title) and title != "None"] == []


# ---- content of the charts -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_loads")
def test_percentile_curves_agree_with_the_table(tmp_path: Path) -> None:
    result = read(two_systems(tmp_path))
    (first, _) = result.summary.trials
    rows_of = {(line.phase, line.operation): line for line in first.rows}
    of_first = [curve for curve in result.curves if curve.trial is first]
    assert {curve.operation for curve in of_first} >= {*OPERATIONS, "INSERT"}
    for curve in of_first:
        of_table, values = rows_of[curve.phase, curve.operation], dict(curve.values)
        assert (values[50.0], values[90.0], values.get(99.0)) == (of_table.p50_ms, of_table.p90_ms, of_table.p99_ms)
        # A p99.99 needs at least 10,000 operations.
        assert (99.99 in values) == ((of_table.operations or 0) >= 10_000)
    assert {0.0, 50.0, 90.0, 99.0, 99.9, 99.99} <= set(CURVE_PERCENTILES)


def test_percentile_curves_are_of_what_counts(tmp_path: Path) -> None:
    for turn, system, folder in in_rounds(tmp_path / "failed", 2, ("cassandra", "hbase")):
        if (turn, system) == (2, "hbase"):
            edit_json(folder / "run-1/node1/client.json", valid=False, exit=5, reason="no success for 60 s")
    assert {curve.trial.system for curve in read(tmp_path / "failed").curves} == {"cassandra"}
    load = trial(tmp_path / "load", 1, "cassandra", repeats=0, phases=())
    assert read(tmp_path / "load").curves
    edit_json(load / "load/node1/client.json", valid=False, reason="5 of 5000 records (0.10 %) failed")
    assert read(tmp_path / "load").curves == []


def test_trials_of_one_system_that_were_started_by_hand_are_drawn_apart(tmp_path: Path) -> None:
    for number, rate in enumerate((1000, 1500), start=1):
        reads(trial(tmp_path, number, "cassandra", 1) / "run-1/node1", [rate] * 20, latency_us=number * 1000)
    material = read(tmp_path)
    tables = {name: rows(columns) for chart in charts(material) for name, columns in chart.tables.items()}
    names = ["02-cassandra", "01-cassandra"]
    assert [(row["label"], row["mean"]) for row in tables["ranking-0"]] == list(zip(names, (1500, 1000), strict=True))
    assert [row["label"] for row in tables["ranking-0-runs"]] == names
    assert {row["series"]: row["operations"] for row in tables["time"]} == {
        f"{names[1]} run 1": 1000,
        f"{names[0]} run 1": 1500,
    }
    assert {(row["series"], row["value"]) for row in tables["percentiles-0"]} == {(names[1], 1), (names[0], 2)}


def test_the_slowdown_of_a_load_names_its_point(tmp_path: Path) -> None:
    golden_cases.loads(tmp_path)
    text = next(chart.question for chart in charts(read(tmp_path)) if chart.title == "Rows against seconds")
    assert text.count("cassandra batchsize=1 ") == text.count("cassandra batchsize=100 ") == 1


def test_a_bar_begins_at_0_and_a_wide_interval_does_not_push_it_aside() -> None:
    summary = of_trials(measured("a", [100, 150]), measured("b", [2000, 3000]))
    ranking = by_name(charts(Material(summary)))["ranking"]
    axis = ranking.panels[0].spec["layer"][0]["encoding"]["x"]["scale"]
    assert (axis["type"], axis["domain"], axis["clamp"]) == ("linear", [0, 3673.5], True)
    assert rows(ranking.tables["ranking-0"])[0]["high"] > 3750
    assert "triangle: the interval continues beyond the edge" in ranking.question
    (triangle,) = (layer for layer in ranking.panels[0].spec["layer"] if layer["mark"].get("shape") == "triangle-right")
    assert triangle["transform"] == [{"filter": {"field": "high", "gt": 3673.5}}]


def test_discarded_runs_stay_visible_in_grey(tmp_path: Path) -> None:
    two_systems(tmp_path, repeats=3, trial_discard=1)
    charts_of = of(tmp_path)
    lines = rows(charts_of["ranking"].tables["ranking-0-runs"])
    assert [(line["run"], line["counts"]) for line in lines[:3]] == [
        ("run 1", "no: discarded"),
        ("run 2", "yes"),
        ("run 3", "yes"),
    ]
    grey = [layer for layer in charts_of["ranking"].panels[0].spec["layer"] if layer["mark"].get("color")]
    assert [(layer["mark"]["color"], layer["transform"]) for layer in grey] == [
        (grammar.GREY, [{"filter": {"field": "counts", "equal": "no: discarded"}}])
    ]
    text = page.html(page.gather(tmp_path, read(tmp_path)))
    results = text.partition('<section id="results"')[2].partition("</section>")[0]
    greyed = re.findall(r'<tr class="aside"><th scope="row">([^<]+)<', results)
    assert greyed == ["[discarded] OVERALL"] * 2
    assert len(re.findall(r'<tr class="aside"><td>', text)) == 2  # in the table of the chart's points
    # Discarded runs are not in the chart over time.
    assert shown(charts_of["over-time"], "series", "measured run") == [
        f"{system} run {number}" for system in ("cassandra", "hbase") for number in (2, 3)
    ]


def test_every_probe_of_a_search_is_a_point_beside_its_bound(tmp_path: Path) -> None:
    slo = "p99<10ms,update.p99<300us,p50<1ms"
    searched(tmp_path, (1500, 1500), (1000, 1000), (900, 700), number=1, slo="p99<10ms")
    searched(tmp_path, (1500, 1500), (1600, 1600), number=2, slo=slo, facts={"trial_system": "hbase"})
    broken = searched(tmp_path, (100, 100), number=3, facts={"trial_system": "scylla"})
    edit_json(broken / "run-1/node1/client.json", valid=False, reason="no")
    probes = of(tmp_path)["probes"]
    assert [panel.title for panel in probes.panels] == [
        "p99 of the slowest operation type", "p99 of UPDATE", "p50 of the slowest operation type"
    ]  # fmt: skip
    of_all = rows(probes.tables["probes-0"])
    assert [(line["system"], line["rate"], line["held"]) for line in of_all] == [
        ("cassandra", 1500, "yes"),
        ("cassandra", 1000, "yes"),
        ("cassandra", 900, "no"),  # did not reach its rate, although its latency is within the bound
        ("hbase", 1500, "no"),
        ("hbase", 1600, "no"),
    ]
    assert of_all[2]["reason"] == "only 700 op/s"
    # The values come from the client's log. UPDATE is the slower type.
    assert {(line["operation"], line["value"]) for line in of_all} == {("UPDATE", 0.388)}
    assert shown(replace(probes, tables={"": probes.tables["probes-1"]}), "system") == ["hbase"]
    assert rows(probes.tables["probes-1-bounds"]) == [{"part": "measured run", "limit": 0.3, "bound": "bound: 0.3 ms"}]
    assert f"hbase: the search for {slo} is not finished" in probes.panels[1].says
    assert probes.parts == ["measured run"]


def test_without_a_search_there_are_no_probes(charts_of_two: Charts, tmp_path: Path) -> None:
    assert "probes" not in charts_of_two
    # If a search has no valid probe, the report says why the chart is missing.
    broken = searched(tmp_path, (100, 100), number=3)
    edit_json(broken / "run-1/node1/client.json", valid=False, reason="no")
    assert of(tmp_path)["probes"].missing == "No search has a valid probe."


def test_a_run_that_broke_down_is_shown_and_marked(tmp_path: Path) -> None:
    two_systems(tmp_path)
    edit_json(tmp_path / "raw/02-hbase/run-2/node1/client.json", valid=False, reason="errors above the limit")
    charts_of = of(tmp_path)
    assert "hbase run 2 (invalid)" in shown(charts_of["over-time"], "series")
    assert charts_of["ranking"].systems == ["cassandra"]


def test_a_system_has_one_colour_everywhere(tmp_path: Path) -> None:
    two_systems(tmp_path)
    trial(tmp_path, 3, "hbase")
    edit_json(tmp_path / "raw/01-cassandra/trial.json", trial_system="scylla")
    edit_json(tmp_path / "raw/02-hbase/trial.json", trial_system="cassandra")
    # The first trial is invalid, but the chart still shows its runs.
    edit_json(tmp_path / "raw/01-cassandra/run-1/node1/client.json", valid=False, reason="no")
    report = page.gather(tmp_path, read(tmp_path))
    colours = [panel.spec["encoding"]["color"] for panel in by_name(report.charts)["over-time"].panels]
    assert all(colour["scale"]["domain"] == report.material.systems for colour in colours)
    over_time = page.html(report).partition('<section id="over-time"')[2].partition("</section>")[0]
    key = re.findall(r'class="c(\d)">.*?</svg>([^<]+)</span>', over_time)
    assert key == [("0", "scylla"), ("1", "cassandra"), ("2", "hbase")]


def test_axes_are_logarithmic_where_values_differ_by_more_than_ten_times() -> None:
    assert grammar.scale([1, 10]) == ({"type": "linear", "zero": True, "nice": True}, "")
    assert grammar.scale([1, 10.1])[0]["type"] == "log"
    assert grammar.scale([])[0]["type"] == "linear"


@pytest.mark.parametrize(
    ("colours", "page_colour"), [(grammar.LIGHT_COLOURS, "#ffffff"), (grammar.DARK_COLOURS, "#15181c")]
)
def test_every_colour_has_the_contrast_that_graphics_need(colours: list[str], page_colour: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in colours:
        light, dark = sorted((luminance(colour), luminance(page_colour)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, colour
    assert len(colours) == len(grammar.SHAPES) == len(grammar.DASHES)


def test_charts_without_data_say_why() -> None:
    drawn = charts(Material(Summary("x", [Trial("a", "a", "A", "failed", "no")])))
    assert [chart.panels for chart in drawn] == [[]] * len(drawn)
    assert all(chart.missing for chart in drawn)


@pytest.mark.usefixtures("short_loads")
def test_heat_maps_share_axes_and_colours(tmp_path: Path) -> None:
    two_systems(tmp_path)
    reads(tmp_path / "raw/02-hbase/run-1/node1", [1000] * 5, latency_us=9000)
    heat = of(tmp_path)["heat"]
    cells = [row for columns in heat.tables.values() for row in rows(columns, "measured run")]
    specs = {name: spec for name, spec in chart_files.specs([heat]) if name.endswith("-1")}
    assert list(specs) == ["heat-1-1", "heat-2-1"]
    domains = [
        [spec["encoding"][channel]["scale"]["domain"] for channel in ("x", "y", "color")] for spec in specs.values()
    ]
    assert domains[0] == domains[1] == [
        [0, 5],
        [min(cell["low"] for cell in cells), max(cell["high"] for cell in cells)],
        [min(cell["share"] for cell in cells), max(cell["share"] for cell in cells)],
    ]  # fmt: skip


def test_the_few_calls_after_the_window_have_no_column(folder: Path, material: Material) -> None:
    runs = [run for run in material.runs if run.phase == "run"]
    # A client logs another interval after the last whole second.
    longer = [replace(run, slots=[*run.slots, Slot(float(len(run.throughput)), 1.0, 3, {}, {60: 3})]) for run in runs]
    heat = by_name(page.gather(folder, replace(material, runs=longer)).charts)["heat"]
    assert {row["end"] for row in rows(heat.tables["heat-0"])} == {*range(1, len(runs[0].throughput) + 1)}


@pytest.mark.usefixtures("short_loads")
def test_events_stand_at_their_second_of_the_measured_window(tmp_path: Path) -> None:
    result = read(two_systems(tmp_path))
    first, *rest = result.summary.trials
    happened = [
        Event(1, 3.0, None, "GC pause", "node1"),
        Event(1, None, None, "early"),
        Event(7, 2.0, None, "elsewhere"),
    ]
    summary = replace(result.summary, trials=[replace(first, events=happened), *rest])
    chart = by_name(page.gather(tmp_path, replace(result, summary=summary)).charts)["over-time"]
    assert rows(chart.tables["events"]) == [
        # The event is at second 2, because the one second of warm-up is not part of the window.
        {
            "part": "measured run",
            "system": "cassandra",
            "time": 2,
            "what": "cassandra, run 1, second 3: node1: GC pause",
        }
    ]
    drawn = dict(chart_files.specs([chart]))["over-time-1-1"]["layer"][1]["data"]["values"]
    assert drawn == rows(chart.tables["events"])


def test_hosts_are_drawn_where_they_were_sampled(charts_of_two: Charts, tmp_path: Path) -> None:
    two_systems(tmp_path)
    assert "hosts.csv is missing" in charts_of_two["over-time"].question
    (tmp_path / "hosts.csv").write_text(
        "system,point,round,phase,run,host,time,seconds,device,cpu_idle,cpu_iowait,disk_utilisation\n"
        # This older file lacks the column for other processes. The window lasts from 1 s to 3 s.
        "cassandra,,1,run,1,node1,1.4,1.0,,0.25,0.05,0.5\n"
        "cassandra,,1,run,1,node1,2.2,1.0,,0.25,0.05,0.5\n"
        "cassandra,,1,run,1,node1,3.4,1.0,,0.55,0.05,0.5\n"
        "cassandra,,1,run,1,node1,4.6,1.0,,0.25,0.05,0.5\n"
        "cassandra,,1,run,1,node1,1.0,1.0,vda,,,0.5\n"
    )
    chart = of(tmp_path)["over-time"]
    assert [panel.title for panel in chart.panels][2:] == ["Processors, not idle", "Busiest disk, share of the time"]
    drawn = {"part": "measured run", "system": "cassandra", "series": "cassandra round 1 run 1 on node1", "disk": 50}
    drawn["others"] = None
    assert rows(chart.tables["hosts"]) == [{**drawn, "time": 0.2, "cpu": 70}, {**drawn, "time": 1.4, "cpu": 40}]
    (tmp_path / "hosts.csv").write_text(
        "system,point,round,phase,run,host,time,seconds,device,cpu_idle,cpu_iowait,disk_utilisation,other_cpu\n"
        "cassandra,,1,run,1,node1,2.2,1.0,,0.25,0.05,0.5,0.31\n"
    )
    chart = of(tmp_path)["over-time"]
    assert chart.panels[3].title == "Processors, used by other processes"
    assert [row["others"] for row in rows(chart.tables["hosts"])] == [31]


def test_what_servers_did_has_a_row_for_each_kind_that_there_was(folder: Path, material: Material) -> None:
    summary = material.summary
    first = summary.trials[0]
    # The window begins after one second of warm-up. The logs that two_systems writes cover two seconds of the window.
    spans = [
        Span("run", 1, "node1", None, "compaction", 0.5, 2.25, 7e6),
        Span("run", 1, "node1", None, "compaction", 1.5, 1.75, 1e6),
        Span("run", 1, "node1", None, "GC pause", 1.1, 1.2, None),
        Span("run", 1, "node2", None, "GC pause", 1.1, 1.2, None),
        Span("run", 9, "node1", None, "flush", 1.1, 1.2, 1e6),
        Span("run", 1, "node1", None, "flush", 0.1, 0.2, 1e6),
    ]
    flush = Background("flush", "run", 1, 0, 0, None, None, 0, 0)
    servers = [Server("node1", background=[flush]), Server("node2"), Server(None)]
    changed = replace(first, spans=spans, servers=servers)
    summary = replace(summary, trials=[changed, *summary.trials[1:]])
    runs = [replace(run, trial=changed) if run.trial is first else run for run in material.runs]
    chart = by_name(page.gather(folder, replace(material, summary=summary, runs=runs)).charts)["over-time"]
    drawn = [(row["doing"], row["time"], row["until"], row["share"]) for row in rows(chart.tables["servers"])]
    assert drawn == [
        ("cassandra · compactions", 0, 1, 0.5),
        ("cassandra · compactions", 1, 2, 0.12),
        ("cassandra · GC pauses", 0, 1, 0.1),
    ]
    panel = next(panel for panel in chart.panels if panel.data == "servers")
    # Cassandra's log shows no flushes in the window, so flushes have no row. The other system has no log.
    assert panel.domains == {"measured run": {"y": ["cassandra · GC pauses", "cassandra · compactions"]}}
    assert "no row, and there were no cassandra flushes." in chart.question
    assert "In the rows of the servers, a tick" in chart.question
    assert "node1, node2" in rows(chart.tables["servers"])[2]["what"]
    for image in chart_files.specs([chart]):
        assert image


# ---- hostile texts ---------------------------------------------------------------------------------------------------


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    experiment = hostile(tmp_path / "a<b>")
    text = page.html(page.gather(experiment, read(experiment)))
    assert "49" not in re.findall(r"alert\(1\)&gt;&#34;&#39;&amp;(\S{2})", text)
    elements = Elements(text)
    assert elements.all("img") == []
    assert not [name for _, attributes in elements.elements for name in attributes if name.startswith("on")]
    assert html.escape("<img src=x onerror=alert(1)>", quote=False) in text
    assert len(elements.scripts) == 4
    data = json.loads(elements.scripts[0])
    assert data["systems"] == ["cassandra", "hbase", HOSTILE]
    assert f"{HOSTILE} round 1 run 1 on {HOSTILE}" in json.dumps(data).replace('\\"', '"')
    for link in elements.all("a"):
        assert re.match(r"#|[\w.-]+$|raw/[\w%.-]+/$", link["href"] or "")


@pytest.mark.slow
def test_hostile_text_stays_text_in_files(tmp_path: Path) -> None:
    experiment = hostile(tmp_path / "a<b>")
    (_, figures) = files.write_report(page.gather(experiment, read(experiment)), experiment / page.FILE, figures=True)
    pictures = [ElementTree.parse(path) for path in figures.glob("*.svg")]  # noqa: S314
    assert len(pictures) > 10
    elements = [element for picture in pictures for element in picture.iter()]
    assert {element.tag.rpartition("}")[2] for element in elements} <= {
        *("svg", "g", "path", "rect", "text", "title", "desc", "line", "defs", "clipPath", "linearGradient", "stop"),
        "tspan",
    }
    assert not [name for element in elements for name in element.attrib if name.startswith("on") or "href" in name]
    assert any("<img src=x" in (element.text or "") for element in elements)
    markdown = (figures / "results.md").read_text("utf-8")
    assert "<img" in markdown
    # Indented text is code, so its HTML is not interpreted.
    prose = [line for line in markdown.splitlines() if not line.startswith("    ")]
    assert not [line for line in prose if re.search(r"(?<!\\)<[a-zA-Z/!?]", line)]


def test_the_page_runs_its_own_scripts_alone_and_asks_nobody(text: str) -> None:
    elements = Elements(text)
    policy = next(meta["content"] or "" for meta in elements.all("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    # The licence of the embedded scripts must be included.
    assert "Vega-Lite and vega-embed: Copyright" in text
    assert "unsafe-eval" not in policy
    for script in elements.scripts[2:]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    addresses = [
        value for _, attributes in elements.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert not [value for value in addresses if re.match(r"\w+:|//", value or "")]
    style, _, _ = text.partition("</style>")
    assert "@import" not in style
    assert "url(" not in style


def test_a_page_can_be_used_without_eyes_and_mouse(text: str) -> None:
    elements = Elements(text)
    assert elements.all("html") == [{"lang": "en"}]
    panels = [div for div in elements.all("div") if div.get("data-panel")]
    assert panels
    assert all(panel["role"] == "img" and panel["aria-label"] for panel in panels)
    regions = [div for div in elements.all("div") if div.get("class") == "scroll"]
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions)
    anchors = {link["href"] for link in elements.all("a") if (link["href"] or "").startswith("#")}
    assert anchors <= {f"#{attributes['id']}" for _, attributes in elements.elements if attributes.get("id")}


# ---- size ------------------------------------------------------------------------------------------------------------

SYSTEMS, REPEATS, SECONDS = 7, 5, 1800
HOSTS = ("node1", "node2", "node3", "client1")


def long_run(of_trial: Trial, number: int) -> MeasuredRun:
    # As in real results, the numbers rarely repeat, so the page compresses no better than a real one.
    def slot(second: int) -> Slot:
        noise = (second * 7919 + number * 104_729) % 10_007
        heat = {row: 1 + (noise * row) % 997 for row in range(24, 60)}
        return Slot(float(second), 1.0, 40_000 + noise, {50: 0.5, 99: 1 + noise / 1234.5}, heat)

    run = Run(seconds=float(SECONDS), operations=40_000 * SECONDS, records=40_000 * SECONDS)
    slots = [slot(second) for second in range(SECONDS)]
    return MeasuredRun(of_trial, "run", number, False, run, [entry.operations for entry in slots], slots)


@pytest.mark.slow
def test_seven_systems_for_half_an_hour_stay_below_5_mb(tmp_path: Path) -> None:
    trials = [measured(f"system-{number}", [40_000.0 + number] * REPEATS) for number in range(SYSTEMS)]
    runs = [long_run(of_trial, number) for of_trial in trials for number in range(1, REPEATS + 1)]
    curves = [
        Curve(of_trial, "run", operation, [(percentile, 1 + percentile / 7) for percentile in CURVE_PERCENTILES])
        for of_trial in trials
        for operation in OPERATIONS
    ]
    hosts = [
        {
            "system": run.trial.system, "point": "", "round": "1", "phase": "run", "run": str(run.number),
            "host": host, "time": second + 0.123, "cpu": (second * 7919 % 1009) / 1009, "disk": second % 7 / 7,
            "others": second % 11 / 110,
        }
        for run in runs
        for host in HOSTS
        for second in range(SECONDS)
    ]  # fmt: skip
    summary = Summary("long", trials, comparisons=comparisons(trials))
    material = Material(summary, runs, curves, lambda: hosts)
    report = page.Report(tmp_path, material, charts(material), {})
    charts_of = by_name(report.charts)
    of_hosts = charts_of["over-time"].tables["hosts"]
    assert 30_000 < len(of_hosts["cpu"]) <= 40_000
    assert len(set(of_hosts["series"])) == SYSTEMS * REPEATS * len(HOSTS)
    assert sum(of_hosts["cpu"]) / len(of_hosts["cpu"]) == pytest.approx(50, abs=1)
    # Nothing was left out to make the page smaller.
    assert len(rows(charts_of["over-time"].tables["time"])) == SYSTEMS * REPEATS * SECONDS
    assert len(charts_of["heat"].panels) == SYSTEMS
    size = len(page.html(report).encode())
    assert 1_500_000 < size < 5_000_000


# ---- over time -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_loads")
def test_every_log_is_read_once_and_probes_are_in_no_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = trial(tmp_path, 1, "cassandra")
    shutil.copytree(folder / "run-1", folder / "probe-1")
    settings = {"slo": "read.p99<10ms", "probes": 1, "duration": 2, "precision": 0.1}
    edit_json(folder / "trial.json", trial_search=settings)
    opened: list[Path] = []

    def counting(path: Path, *arguments: Any) -> str:
        opened.append(path)
        return merge_log(path, *arguments)

    monkeypatch.setattr(client_folder, "merge_log", counting)
    result = read(tmp_path)
    assert sorted(opened) == sorted(tmp_path.glob("raw/*/*/*/*.hdr"))
    search = result.summary.trials[0].search
    assert search is not None
    assert [probe.number for probe in search.probes] == [1]
    assert search.probes[0].rows
    assert {run.phase for run in result.runs} == {"load", "run"}


# ---- matrix ----------------------------------------------------------------------------------------------------------


def test_each_two_dimensions_have_a_picture_with_every_cell(tmp_path: Path) -> None:
    summary = summarise(of_four(tmp_path))
    picture = matrix.chart(summary)
    assert [panel.title for panel in picture.panels] == [
        "batchsize by system",
        "operation by system",
        "operation by batchsize",
    ]
    cells = rows(picture.tables["matrix-0"], "records per second")
    assert len(cells) == 2 * 2 * len(("OVERALL", "READ", "UPDATE"))
    row = next(row for row in summary.trials[1].rows if (row.phase, row.operation) == ("run", "READ"))
    matching = next(cell for cell in cells if (cell["across"], cell["down"]) == ("cassandra", "100, READ"))
    assert matching["value"] == pytest.approx(row.records_per_second, rel=1e-3)
    assert {name for name, _ in chart_files.specs([picture])} == {
        f"matrix-{pair}-{metric}" for pair in "123" for metric in "12"
    }


@pytest.mark.slow
def test_the_tables_beside_figures_have_the_matrix(tmp_path: Path) -> None:
    summary = summarise(of_four(tmp_path))
    rates, p99 = matrix.grids(summary)
    assert rates.heads == ["batchsize", "operation", "cassandra", "hbase"]
    assert [line[:2] for line in p99.lines] == [[batch, name] for batch in ("1", "100") for name in OPERATIONS]
    row = next(row for row in summary.trials[2].rows if (row.phase, row.operation) == ("run", "UPDATE"))
    assert p99.lines[1][3] == milliseconds(row.p99_ms)
    (_, figures) = files.write_report(page.gather(tmp_path, read(tmp_path)), tmp_path / page.FILE, figures=True)
    assert "| batchsize | operation | cassandra | hbase |\n|---|---|--:|--:|" in (figures / "results.md").read_text(
        "utf-8"
    )
    assert matrix.grids(Summary("x", [measured("a", [1.0])])) == []


# ---- files and index -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("short_loads")
def test_figures_are_pictures(tmp_path: Path) -> None:
    two_systems(tmp_path)
    (report, figures) = files.write_report(page.gather(tmp_path, read(tmp_path)), tmp_path / page.FILE, figures=True)
    assert report == tmp_path / "report.html"
    names = {path.stem for path in figures.glob("*.svg")}
    assert {"ranking", "latency-1", "over-time-1-1", "percentiles-1-1", "heat-1-1", "rows"} <= names
    for path in figures.glob("*.svg"):
        assert "NaN" not in path.read_text("utf-8")
        ElementTree.parse(path)  # noqa: S314
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "figures/results.md" in report.read_text("utf-8")


def test_the_index_lists_every_experiment_and_its_reports_are_there(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for name, system in (("20260101-a", "cassandra"), ("20260202-b", "hbase")):
        trial(results / name, 1, system)
        write_json(results / name / "experiment.json", {"scenario": name[-1], "started": "2026-01-02T03:04:05+00:00"})
        shutil.copyfile(results / name / "experiment.json", results / name / "summary.json")
    hostile(results / "20260303-c")
    target = tmp_path / "site"
    index = site.write(site.experiments(results), target, pytest.fail)
    elements = Elements(index.read_text("utf-8"))
    assert [link["href"] for link in elements.all("a")] == [
        f"{name}/report.html" for name in ("20260303-c", "20260202-b", "20260101-a")
    ]
    assert elements.all("img") == []
    lines = [line for line in elements.all("tr") if "data-systems" in line]
    assert [json.loads(line["data-systems"] or "") for line in lines][1:] == [["hbase"], ["cassandra"]]
    assert lines[1]["data-date"] == "2026-01-02"
    assert (target / "20260202-b/report.html").is_file()
    assert (target / "20260202-b/summary.json").is_file()
    assert 'href="raw/' not in (target / "20260202-b/report.html").read_text("utf-8")
    # The command may overwrite files that it wrote itself.
    site.write(site.experiments(results)[:1], target, pytest.fail)


def test_a_site_is_never_written_over_something_else(tmp_path: Path) -> None:
    trial(tmp_path / "results/x", 1, "cassandra")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").touch()
    with pytest.raises(BadInputError, match="mine has files that dohyo did not write"):
        site.write(site.experiments(tmp_path / "results"), tmp_path / "mine", pytest.fail)
    with pytest.raises(BadInputError, match="no experiments found; name their folder with --results"):
        site.write([], tmp_path / "new", pytest.fail)


def report(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["report", *map(str, arguments)], standalone_mode=False)


def test_the_command_writes_the_page_of_a_folder(tmp_path: Path) -> None:
    result = report(two_systems(tmp_path))
    assert (result.exception, result.output) == (None, f"{tmp_path}/report.html\n")
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


def test_a_page_replaces_nothing_but_a_page(tmp_path: Path) -> None:
    two_systems(tmp_path / "here")
    (tmp_path / "notes.txt").write_text("mine")
    result = report(tmp_path / "here", "--out", tmp_path / "notes.txt")
    assert "is not a page that dohyo wrote, so it is not replaced; name another file" in str(result.exception)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    os.mkfifo(tmp_path / "fifo")
    for name, why in {"fifo": "is a FIFO", "here/raw/page.html": "raw is only for the evidence"}.items():
        assert why in str(report(tmp_path / "here", "--out", tmp_path / name).exception)
    for _ in range(2):
        assert report(tmp_path / "here", "--out", tmp_path / "page.html").exception is None


def test_what_is_no_experiment_is_bad_input(tmp_path: Path) -> None:
    nothing = f"{tmp_path} is not an experiment (it has no folder raw) and contains no YCSB log"
    for folder, why in {"no-such-experiment": "no-such-experiment is neither an ID in ", tmp_path: nothing}.items():
        error = report(folder).exception
        assert isinstance(error, BadInputError)
        assert str(error).startswith(why)


def test_the_seconds_of_hosts_are_means_where_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_systems(tmp_path)
    counts = [10] * 12
    (client,) = (tmp_path / "raw").glob("*cassandra/run-1/*")
    reads(client, counts)
    head = "system,point,round,phase,run,host,time,seconds,device,cpu_idle,cpu_iowait,disk_utilisation\n"
    lines = [f"cassandra,,1,run,1,node1,{second + 2},1.0,,{second / 10},0,\n" for second in range(10)]
    (tmp_path / "hosts.csv").write_text(head + "".join(lines))
    monkeypatch.setattr(over_time, "_MOST_HOST_POINTS", 4)
    drawn = [(row["time"], row["cpu"], row["disk"]) for row in rows(of(tmp_path)["over-time"].tables["hosts"])]
    assert drawn == [(0, 85, None), (4, 45, None), (8, 15, None)]
