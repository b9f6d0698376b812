"""The report: what is in its charts, that nothing of a log can run in it, its size, its files, the index."""

import base64
import hashlib
import html
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree  # of files that the test has just made

import pytest
from click.testing import CliRunner
from evidence import edit_json, trial, write_json

from dohyo.bad_input import BadInputError
from dohyo.cli import cli
from dohyo.evidence.events import Event
from dohyo.evidence.hdr_log import merge_log
from dohyo.evidence.over_time import OverTime, Slot
from dohyo.evidence.rows import Row, Run
from dohyo.evidence.servers import Background, Server, Span
from dohyo.report import files, grammar, page, site, static
from dohyo.report.charts import charts
from dohyo.report.grammar import Chart, rows
from dohyo.report.material import Material
from dohyo.report.measured import CURVE_PERCENTILES, Curve, Measured, MeasuredRun, read
from dohyo.report.verdict import verdict
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import summarise
from dohyo.tables.cluster_table import Grid

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{7*7}}"
OPERATIONS = ("READ", "UPDATE")


class Elements(HTMLParser):
    """What a browser would find: elements with their attributes, and the text of each script."""

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


def two_systems(experiment: Path, **settings: Any) -> Path:
    trial(experiment, 1, "cassandra", **settings)
    trial(experiment, 2, "hbase", **settings)
    return experiment


def by_name(made: list[Chart]) -> dict[str, Chart]:
    return {chart.name: chart for chart in made}


def of(experiment: Path) -> dict[str, Chart]:
    return by_name(page.gather(experiment, summarise(experiment)).charts)


def shown(chart: Chart, column: str, part: str | None = None) -> list[Any]:
    """The distinct values of a column over the tables of a chart."""
    found = [row[column] for each in chart.tables.values() for row in rows(each, part)]
    return list(dict.fromkeys(found))


def measured(system: str, rates: list[float], point: dict[str, str] | None = None) -> Trial:
    """A trial with a rate for each of its repeats."""
    mean = sum(rates) / len(rates)
    spread = (sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)) ** 0.5 if len(rates) > 1 else None
    row = Row("run", "OVERALL", len(rates), records_per_second=mean, records_per_second_stddev=spread)
    return Trial(name=system, system=system, title=system, status="ok", point=point or {}, rows=[row])


# ---- verdict ---------------------------------------------------------------------------------------------------------


def sentence(*trials: Trial) -> str:
    return verdict(Summary("x", list(trials))).sentence


def test_a_difference_beyond_the_repeats_has_a_winner_and_its_margins() -> None:
    said = sentence(measured("slow", [1000, 1020, 980]), measured("fast", [2000, 2040, 1960]))
    assert said.startswith("fast was 2.00 times as fast as slow, beyond the spread of the repeats")
    assert "fast 2,000 ± 40 records/s, slow 1,000 ± 20 records/s" in said


def test_overlapping_repeats_are_a_tie() -> None:
    assert sentence(measured("a", [1000, 1200]), measured("b", [1050, 1250])).startswith("A tie: b and a")


def test_a_single_run_says_that_its_noise_is_not_known() -> None:
    assert "in a single run, so how much of that is noise is not known" in sentence(
        measured("a", [1]), measured("b", [2])
    )


def test_points_of_a_matrix_are_compared_one_by_one() -> None:
    points = [{"batchsize": "1"}, {"batchsize": "100"}]
    rates = {"a": [[100.0, 101.0], [900.0, 901.0]], "b": [[200.0, 201.0], [300.0, 301.0]]}
    trials = [measured(name, rates[name][at], point) for name in rates for at, point in enumerate(points)]
    said = sentence(*trials)
    assert "b was the fastest in 1 of 2 comparisons (2.00 times the second)" in said
    assert "a was the fastest in 1 of 2 comparisons (3.00 times the second)" in said


def test_without_two_systems_there_is_no_winner() -> None:
    assert sentence() == "No system has valid numbers: there is no winner."
    assert sentence(measured("a", [5])) == "Only a has valid numbers, so there is no comparison: 5 records/s."
    failed = replace(measured("b", [9]), status="failed", rows=[])
    assert sentence(measured("a", [5]), failed).startswith("Only a has valid numbers")
    assert any(
        "have no valid numbers: b" in text for text in verdict(Summary("x", [measured("a", [5]), failed])).caveats
    )


def test_unequal_conditions_stand_beside_the_verdict(tmp_path: Path) -> None:
    two_systems(tmp_path)
    edit_json(tmp_path / "raw/02-hbase/conditions.json", durability="disk")
    summary = summarise(tmp_path)
    assert verdict(summary).caveats[0].startswith("The conditions are not equal: durability.")
    written = page.html(page.gather(tmp_path, summary))
    line = next(line for line in written.splitlines() if '<tr class="bad">' in line)
    assert "durability" in line
    assert "disk" in line
    assert "unequal" in line


# ---- what is drawn ---------------------------------------------------------------------------------------------------


def test_every_run_is_a_point_and_every_curve_is_there(tmp_path: Path) -> None:
    found = of(two_systems(tmp_path))
    assert shown(found["throughput"], "run") == ["run 1", "run 2"]
    assert len(rows(found["throughput"].tables["throughput-0"])) == 4
    assert {*shown(found["latency"], "percentile")} == {"p50", "p95", "p99", "p99.9", "max"}
    assert shown(found["latency"], "operation") == ["READ", "Intended-READ", "UPDATE", "Intended-UPDATE"]
    assert shown(found["over-time"], "series", "measured run") == [
        f"{system} run {number}" for system in ("cassandra", "hbase") for number in (1, 2)
    ]
    assert found["over-time"].parts == ["measured run", "load"]
    assert {panel.title for panel in found["percentiles"].panels} >= {
        "READ",
        "UPDATE, from the intended start",
        "INSERT",
    }
    assert [panel.title for panel in found["heat"].panels] == ["cassandra", "hbase"]
    assert shown(found["rows"], "system") == ["cassandra", "hbase"]


def test_points_of_throughput_are_the_rates_of_the_runs(tmp_path: Path) -> None:
    summary = summarise(two_systems(tmp_path))
    overall = next(row for row in summary.trials[0].rows if (row.phase, row.operation) == ("run", "OVERALL"))
    points = [run.rate for run in read(tmp_path, summary, print).runs if run.phase == "run"][:2]
    assert sum(rate for rate in points if rate) / 2 == pytest.approx(overall.records_per_second)


def test_percentile_curves_agree_with_the_table(tmp_path: Path) -> None:
    summary = summarise(two_systems(tmp_path))
    curves = read(tmp_path, summary, print).curves
    found = {(row.phase, row.operation): row for row in summary.trials[0].rows}
    of_first = [curve for curve in curves if curve.trial is summary.trials[0]]
    assert {curve.operation for curve in of_first} >= {*OPERATIONS, "INSERT"}
    for curve in of_first:
        row, at = found[curve.phase, curve.operation], dict(curve.values)
        assert (at[50.0], at[90.0], at.get(99.0)) == (row.p50_ms, row.p90_ms, row.p99_ms)
        assert curve.operations == row.operations
        # Where there are fewer than 10,000 operations nothing is said of the 99.99th percentile.
        assert (99.99 in at) == (curve.operations >= 10_000)
    assert {0.0, 50.0, 90.0, 99.0, 99.9, 99.99} <= set(CURVE_PERCENTILES)


def test_a_discarded_run_is_in_no_chart(tmp_path: Path) -> None:
    found = of(two_systems(tmp_path, trial_discard=1))
    assert shown(found["throughput"], "run") == ["run 2"]
    assert shown(found["over-time"], "series", "measured run") == ["cassandra run 2", "hbase run 2"]


def test_a_run_that_broke_down_is_shown_and_marked(tmp_path: Path) -> None:
    two_systems(tmp_path)
    edit_json(tmp_path / "raw/02-hbase/run-2/node1/client.json", valid=False, reason="errors above the limit")
    found = of(tmp_path)
    assert "hbase run 2 (invalid)" in shown(found["over-time"], "series")
    assert shown(found["throughput"], "system") == ["cassandra"]


def test_a_system_has_one_colour_everywhere(tmp_path: Path) -> None:
    two_systems(tmp_path)
    trial(tmp_path, 3, "hbase")
    edit_json(tmp_path / "raw/01-cassandra/trial.json", trial_system="scylla")
    edit_json(tmp_path / "raw/02-hbase/trial.json", trial_system="cassandra")
    # The first one has no valid numbers, but its runs are drawn.
    edit_json(tmp_path / "raw/01-cassandra/run-1/node1/client.json", valid=False, reason="no")
    report = page.gather(tmp_path, summarise(tmp_path))
    colours = [panel.spec["encoding"]["color"] for panel in by_name(report.charts)["over-time"].panels]
    assert all(colour["scale"]["domain"] == report.systems for colour in colours)
    key = re.findall(r'class="c(\d)">.*?</svg>([^<]+)</span>', page.html(report))
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
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in colours:
        light, dark = sorted((luminance(colour), luminance(page_colour)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, colour
    assert len(colours) == len(grammar.SHAPES) == len(grammar.DASHES)


def test_charts_without_data_say_why() -> None:
    made = charts(Material(Summary("x", [Trial("a", "a", "A", "failed", "no")]), Measured()))
    assert [chart.panels for chart in made] == [[]] * len(made)
    assert all(chart.missing for chart in made)


def test_events_stand_at_their_second_of_the_measured_window(tmp_path: Path) -> None:
    summary = summarise(two_systems(tmp_path))
    happened = [
        Event(1, 3.0, None, "GC pause", "node1"),
        Event(1, None, None, "early"),
        Event(7, 2.0, None, "elsewhere"),
    ]
    summary = replace(summary, trials=[replace(summary.trials[0], events=happened), *summary.trials[1:]])
    found = by_name(page.gather(tmp_path, summary).charts)["over-time"]
    assert rows(found.tables["events"]) == [
        # A second of warm-up is before the window.
        {
            "part": "measured run",
            "system": "cassandra",
            "time": 2,
            "what": "cassandra, run 1, second 3: node1: GC pause",
        }
    ]
    drawn = dict(static.specs([found]))["over-time-1-1"]["layer"][1]["data"]["values"]
    assert drawn == rows(found.tables["events"])


def test_hosts_are_drawn_where_they_were_sampled(tmp_path: Path) -> None:
    two_systems(tmp_path)
    assert "no hosts.csv" in of(tmp_path)["over-time"].question
    (tmp_path / "hosts.csv").write_text(
        "system,point,round,phase,run,host,time,seconds,device,cpu_idle,cpu_iowait,disk_utilisation\n"
        "cassandra,,1,run,1,node1,0.9,1.0,,0.25,0.05,0.5\n"
        "cassandra,,1,run,1,node1,2.0,1.0,,0.25,0.05,0.5\n"
        "cassandra,,1,run,1,node1,1.0,1.0,vda,,,0.5\n"
    )
    found = of(tmp_path)["over-time"]
    assert [panel.title for panel in found.panels][2:] == [
        "Processors, share not idle",
        "Busiest disk, share of the time",
    ]
    assert rows(found.tables["hosts"]) == [
        {
            "part": "measured run", "system": "cassandra", "series": "cassandra round 1 run 1 on node1",
            "time": 1, "cpu": 0.7, "disk": 0.5,
        }
    ]  # fmt: skip


def test_what_servers_did_has_a_row_for_each_kind_that_is_known(tmp_path: Path) -> None:
    summary = summarise(two_systems(tmp_path))
    first = summary.trials[0]
    # A second of warm-up is before the window, which two_systems' logs cover for two seconds.
    spans = [
        Span("run", 1, "node1", None, "compaction", 0.5, 2.25, 7e6),
        Span("run", 1, "node1", None, "compaction", 1.5, 1.75, 1e6),
        Span("run", 1, "node1", None, "GC pause", 1.1, 1.2, None),
        Span("run", 1, "node2", None, "GC pause", 1.1, 1.2, None),
        Span("run", 9, "node1", None, "flush", 1.1, 1.2, 1e6),
        Span("run", 1, "node1", None, "flush", 0.1, 0.2, 1e6),
    ]
    known = Background("flush", "run", 1, 0, 0, None, None, 0, 0)
    servers = [Server("node1", background=[known]), Server("node2"), Server(None)]
    summary = replace(summary, trials=[replace(first, spans=spans, servers=servers), *summary.trials[1:]])
    found = by_name(page.gather(tmp_path, summary).charts)["over-time"]
    drawn = [(row["doing"], row["time"], row["until"], row["share"]) for row in rows(found.tables["servers"])]
    assert drawn == [
        ("cassandra · compactions", 0, 1, 0.5),
        ("cassandra · compactions", 1, 2, 0.12),
        ("cassandra · GC pauses", 0, 1, 0.1),
    ]
    panel = next(panel for panel in found.panels if panel.data == "servers")
    # It is known that there was no flush; of the other system nothing is.
    assert panel.spec["encoding"]["y"]["scale"]["domain"] == [
        "cassandra · GC pauses",
        "cassandra · compactions",
        "cassandra · flushes",
    ]
    assert "cassandra flushes in 0 slots" in panel.says
    assert "tick in the rows of the servers" in found.question
    assert "node1, node2" in rows(found.tables["servers"])[2]["what"]
    for image in static.specs([found]):
        assert image


# ---- nothing of a log runs -------------------------------------------------------------------------------------------


def hostile(experiment: Path) -> Path:
    """An experiment in which everything that others have written tries to become a script."""
    two_systems(experiment, trial_point={"variant": HOSTILE.replace("/", "\\")})
    for folder in sorted((experiment / "raw").iterdir()):
        edit_json(folder / "conditions.json", version=HOSTILE, notes=[HOSTILE], title=HOSTILE)
        (folder / "run-1/node1/READ.hdr").open("a").write(f"{HOSTILE}\n")
    broken = trial(experiment, 3, "cassandra", trial_point={"variant": "failed"})
    write_json(broken / "state.json", {"status": "failed", "reason": HOSTILE})
    write_json(experiment / "experiment.json", {"scenario": HOSTILE, "started": HOSTILE, "host": {"name": HOSTILE}})
    return experiment


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    experiment = hostile(tmp_path / "a<b>")
    text = page.html(page.gather(experiment, summarise(experiment)))
    assert "49" not in re.findall(r"alert\(1\)&gt;&#34;&#39;&amp;(\S{2})", text)
    found = Elements(text)
    assert found.all("img") == []
    assert not [name for _, attributes in found.elements for name in attributes if name.startswith("on")]
    assert html.escape("<img src=x onerror=alert(1)>", quote=False) in text
    assert len(found.scripts) == 4
    assert json.loads(found.scripts[0])["systems"] == ["cassandra", "hbase"]
    for link in found.all("a"):
        assert re.match(r"#|[\w.-]+$|raw/[\w%.-]+/$", link["href"] or "")


def test_the_page_runs_its_own_scripts_alone_and_asks_nobody(tmp_path: Path) -> None:
    text = page.html(page.gather(tmp_path, summarise(two_systems(tmp_path))))
    found = Elements(text)
    policy = next(meta["content"] or "" for meta in found.all("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy
    for script in found.scripts[2:]:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    addresses = [
        value for _, attributes in found.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert not [value for value in addresses if re.match(r"\w+:|//", value or "")]
    assert "@import" not in text.split("</style>")[0]
    assert "url(" not in text.split("</style>")[0]


def test_a_page_can_be_used_without_eyes_and_mouse(tmp_path: Path) -> None:
    found = Elements(page.html(page.gather(tmp_path, summarise(two_systems(tmp_path)))))
    assert found.all("html") == [{"lang": "en"}]
    panels = [each for each in found.all("div") if each.get("data-panel")]
    assert panels
    assert all(each["role"] == "img" and each["aria-label"] for each in panels)
    regions = [each for each in found.all("div") if each.get("class") == "scroll"]
    assert all(each["tabindex"] == "0" and each["aria-label"] for each in regions)
    anchors = {link["href"] for link in found.all("a") if (link["href"] or "").startswith("#")}
    assert anchors <= {f"#{attributes['id']}" for _, attributes in found.elements if attributes.get("id")}


# ---- size ------------------------------------------------------------------------------------------------------------

SYSTEMS, REPEATS, SECONDS = 7, 5, 1800


def long_run(of_trial: Trial, number: int) -> MeasuredRun:
    # Numbers that repeat nowhere, as real ones do.
    def slot(second: int) -> Slot:
        noise = (second * 7919 + number * 104_729) % 10_007
        heat = {2 ** (row / 4) / 1000: 1 + (noise * row) % 997 for row in range(20, 56)}
        return Slot(float(second), 1.0, 40_000 + noise, {50: 0.5, 99: 1 + noise / 1234.5}, heat)

    run = Run(seconds=float(SECONDS), operations=40_000 * SECONDS, records=40_000 * SECONDS)
    slots = [slot(second) for second in range(SECONDS)]
    return MeasuredRun(of_trial, "run", number, False, run, [each.operations for each in slots], slots)


def test_seven_systems_for_half_an_hour_stay_below_5_mb(tmp_path: Path) -> None:
    trials = [measured(f"system-{number}", [40_000.0 + number] * REPEATS) for number in range(SYSTEMS)]
    runs = [long_run(of_trial, number) for of_trial in trials for number in range(1, REPEATS + 1)]
    curves = [
        Curve(of_trial, "run", operation, 10**8, [(each, 1 + each / 7) for each in CURVE_PERCENTILES])
        for of_trial in trials
        for operation in OPERATIONS
    ]
    summary = Summary("long", trials)
    report = page.Report(
        tmp_path, summary, [each.system for each in trials], charts(Material(summary, Measured(runs, curves))), {}
    )
    found = by_name(report.charts)
    # Not smaller because something was left out.
    assert len(rows(found["over-time"].tables["time"])) == SYSTEMS * REPEATS * SECONDS
    assert len(found["heat"].panels) == SYSTEMS
    size = len(page.html(report).encode())
    assert 1_500_000 < size < 5_000_000


# ---- over time -------------------------------------------------------------------------------------------------------


def test_slots_have_the_operations_of_the_logs(tmp_path: Path) -> None:
    summary = summarise(two_systems(tmp_path))
    run = next(run for run in read(tmp_path, summary, print).runs if run.phase == "run")
    assert sum(slot.operations for slot in run.slots) == run.run.operations
    assert run.throughput == [slot.operations for slot in run.slots][: len(run.throughput)]
    assert all(sum(slot.heat.values()) == slot.operations for slot in run.slots)


def test_a_long_run_has_longer_slots(tmp_path: Path) -> None:
    over_time = OverTime(most_slots=4)
    folder = trial(tmp_path, 1, "cassandra")
    added = merge_log(folder / "run-1/node1/READ.hdr", {}, print, over_time.add)[1]
    slots = list(over_time.together())
    assert len(slots) <= 4
    assert sum(slot.operations for slot in slots) == added


# ---- files and index -------------------------------------------------------------------------------------------------


def test_figures_are_pictures_and_the_tables_are_latex(tmp_path: Path) -> None:
    two_systems(tmp_path)
    (report, figures) = files.write(tmp_path, figures=True)
    assert report == tmp_path / "report.html"
    names = {path.stem for path in figures.glob("*.svg")}
    assert {"throughput", "latency-1", "over-time-1-1", "percentiles-1-1", "heat-1-1", "rows"} <= names
    for path in figures.glob("*.svg"):
        assert "NaN" not in path.read_text("utf-8")
        ElementTree.parse(path)  # noqa: S314
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    latex = (figures / "results.tex").read_text("utf-8")
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") > 0
    assert "figures/results.tex" in report.read_text("utf-8")


def test_latex_has_no_character_with_a_meaning_left() -> None:
    made = static.latex([Grid("a_b", ["50%"], [["x & y #1 {z} \\ ~ ^ $"]], keys=1)])
    assert r"\caption{a\_b}" in made
    assert r"50\% \\" in made
    assert r"x \& y \#1 \{z\} \textbackslash{} \textasciitilde{} \textasciicircum{} \$ \\" in made


def test_the_index_lists_every_experiment_and_its_reports_are_there(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for name, system in (("20260101-a", "cassandra"), ("20260202-b", "hbase")):
        trial(results / name, 1, system)
        write_json(results / name / "experiment.json", {"scenario": name[-1], "started": "2026-01-02T03:04:05+00:00"})
        shutil.copyfile(results / name / "experiment.json", results / name / "summary.json")
    hostile(results / "20260303-c")
    target = tmp_path / "site"
    index = site.write(site.experiments(results), target)
    found = Elements(index.read_text("utf-8"))
    assert [link["href"] for link in found.all("a")] == [
        f"{name}/report.html" for name in ("20260303-c", "20260202-b", "20260101-a")
    ]
    assert found.all("img") == []
    lines = [each for each in found.all("tr") if "data-systems" in each]
    assert [json.loads(each["data-systems"] or "") for each in lines][1:] == [["hbase"], ["cassandra"]]
    assert lines[1]["data-date"] == "2026-01-02"
    assert (target / "20260202-b/report.html").is_file()
    assert (target / "20260202-b/summary.json").is_file()
    assert 'href="raw/' not in (target / "20260202-b/report.html").read_text("utf-8")
    # Again, over what it has made itself.
    site.write(site.experiments(results)[:1], target)


def test_a_site_is_never_written_over_something_else(tmp_path: Path) -> None:
    trial(tmp_path / "results/x", 1, "cassandra")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").touch()
    with pytest.raises(BadInputError, match="mine holds something that is no site"):
        site.write(site.experiments(tmp_path / "results"), tmp_path / "mine")
    with pytest.raises(BadInputError, match="there are no experiments"):
        site.write([], tmp_path / "new")


def test_the_command_writes_the_page_of_a_folder(tmp_path: Path) -> None:
    two_systems(tmp_path)
    result = CliRunner().invoke(cli, ["report", str(tmp_path)], standalone_mode=False)
    assert (result.exception, result.output) == (None, f"{tmp_path}/report.html\n")
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


@pytest.mark.parametrize("name", ["no-such-experiment", "/tmp"])
def test_what_is_no_experiment_is_bad_input(name: str) -> None:
    result = CliRunner().invoke(cli, ["report", name], standalone_mode=False)
    assert isinstance(result.exception, BadInputError)
    assert str(result.exception).startswith(f"{name} is neither an ID in ")
