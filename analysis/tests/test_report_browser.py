"""Tests the report in a real browser: it is drawn without errors or requests, and fits the screen of a phone."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from dohyo.foreign import page as foreign
from dohyo.report import files, site
from dohyo.report.grammar import GREY, rows
from support.browser import Browser, browser, chromium
from support.evidence import edit_json, in_rounds, reads, searched, trial, write_json
from support.pages import hostile, of, of_four, two_systems

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="Chromium is not installed; on Debian and Ubuntu: apt-get install chromium"
)

PANELS = "[...document.querySelectorAll('[data-panel]')]"


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def quiet(chrome: Browser) -> Iterator[Browser]:
    """Yields a browser. Afterwards, checks that the page reported no errors and requested no other files."""
    chrome.errors.clear()
    chrome.requests.clear()
    yield chrome
    assert chrome.errors == []
    assert [url for url in chrome.requests if not url.startswith(("file:", "about:", "data:"))] == []


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the page of two systems."""
    (written,) = files.write(two_systems(tmp_path_factory.mktemp("two")))
    return written


@pytest.fixture(scope="module")
def page_with_loads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a page whose charts also show the loads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dohyo.report.chart_data.SHORTEST_SECONDS", 1.0)
        (written,) = files.write(two_systems(tmp_path_factory.mktemp("loads")))
    return written


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the index of a site with one experiment of two systems at two points."""
    folder = tmp_path_factory.mktemp("site")
    of_four(folder / "results/a")
    edit_json(folder / "results/a/raw/02-cassandra-batchsize=100/conditions.json", durability="disk")
    return site.write(site.experiments(folder / "results"), folder / "site", pytest.fail)


def draw(browser: Browser, page: Path, width: int = 1200, scheme: str = "light") -> None:
    """Opens a page with charts, and waits until they are drawn."""
    browser.open(page, width, scheme=scheme)
    browser.wait("document.documentElement.dataset.drawn === 'yes'")


def change(browser: Browser, selector: str, value: object, event: str) -> None:
    """Sets the value of an element, as a user does."""
    browser.value(f"""{{
        const element = document.querySelector('{selector}');
        element.value = '{value}';
        element.dispatchEvent(new Event('{event}', {{bubbles: true}}));
    }}""")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 375])
def test_every_chart_is_drawn_and_fits_on_the_screen(quiet: Browser, page: Path, width: int, scheme: str) -> None:
    draw(quiet, page, width, scheme)
    assert quiet.value(f"{PANELS}.length") > 8
    drawn = f"{PANELS}.filter(panel => !panel.querySelector('svg, canvas') && !panel.closest('figure').hidden).length"
    assert quiet.value(drawn) == 0
    assert quiet.value(f"{PANELS}.filter(panel => panel.querySelector('svg path, canvas')).length") > 8
    assert quiet.value("document.documentElement.scrollWidth") <= width
    assert quiet.value("document.documentElement.dataset.theme") == scheme


@pytest.mark.parametrize("width", [1280, 400])
def test_verdict_mark_and_ranking_stand_on_the_first_screen(quiet: Browser, tmp_path: Path, width: int) -> None:
    """The rates of cassandra vary widely, so a triangle shows that its interval extends beyond the chart."""
    rates = {"cassandra": [800, 900, 2400], "hbase": [500, 520, 480], "mysql-innodb": [990, 1100, 1050]}
    for turn, system, folder in in_rounds(tmp_path, 3, rates):
        reads(folder / "run-1/node1", [rates[system][turn - 1]] * 10)
    write_json(tmp_path / "experiment.json", {"title": "Workload A: half reads, half updates, popular records first"})
    (page,) = files.write(tmp_path)
    draw(quiet, page, width)
    bottom = "document.querySelector('{}').getBoundingClientRect().bottom"
    ends = [quiet.value(bottom.format(selector)) for selector in (".verdict .mark", "#verdict [data-panel]")]
    assert ends == sorted(ends)
    assert ends[-1] <= 800
    # One point for each of the nine runs, and one triangle
    assert quiet.value("document.querySelectorAll('#verdict .mark-symbol.role-mark path').length") == 10


def wide(experiment: Path) -> Path:
    """Writes an experiment with a wide table of results: matrix, batches, long names, large numbers, and prices."""
    for number, batch in enumerate(("1", "1000"), start=1):
        point = {"batchsize": batch, "fieldlength": "1000000", "variant": "uncompressed"}
        folder = trial(experiment, number, "cassandra", trial_point=point, trial_system="mysql-innodb")
        edit_json(folder / "conditions.json", usd_per_hour={"node1": 10.868})
        for run in (1, 2):
            reads(folder / f"run-{run}/node1", [99_000 + run] * 8, 130_000)
    return experiment


def test_the_table_of_results_fits_1280_pixels(quiet: Browser, tmp_path: Path) -> None:
    (page,) = files.write(wide(tmp_path))
    draw(quiet, page, 1280)
    heads = quiet.value("[...document.querySelectorAll('#results thead th')].map(head => head.innerText)")
    assert len(heads) >= 17
    widths = "(table => [table.scrollWidth, table.clientWidth])(document.querySelector('#results .scroll'))"
    needed, available = quiet.value(widths)
    assert needed <= available


def test_charts_without_data_of_a_phase_are_hidden(quiet: Browser, page_with_loads: Path) -> None:
    draw(quiet, page_with_loads)
    seen = (
        "[...document.querySelectorAll('#percentiles figure')].filter(figure => figure.offsetHeight)"
        ".map(figure => figure.querySelector('figcaption').textContent)"
    )
    assert not any("INSERT" in title for title in quiet.value(seen))
    change(quiet, "select[data-chart=percentiles]", 1, "change")
    quiet.wait(f"{seen}.length > 0 && {seen}.every(title => title.includes('INSERT'))")


def test_the_legend_stands_in_each_chart_that_needs_one(quiet: Browser, page_with_loads: Path) -> None:
    quiet.open(page_with_loads)
    where = (
        "[...document.querySelectorAll('.key')].map(key => [key.closest('section').id, key.innerText.split(/\\s+/)])"
    )
    systems = ["cassandra", "hbase"]
    assert quiet.value(where) == [[name, systems] for name in ("over-time", "percentiles", "rows")]


@pytest.mark.usefixtures("short_loads")
def test_every_chart_has_its_series(quiet: Browser, page_with_loads: Path) -> None:
    charts = of(page_with_loads.parent)
    draw(quiet, page_with_loads)

    def marks(chart: str, kind: str) -> list[int]:
        """Returns the number of marks in each panel, without legends."""
        count = f"panel.querySelectorAll('.mark-{kind}.role-mark path').length"
        return list(quiet.value(f"[...document.querySelectorAll('#{chart} [data-panel]')].map(panel => {count})"))

    def expected(chart: str, *columns: str) -> list[int]:
        """Returns, for each panel, the number of distinct values of these columns in the part that is shown first."""
        of_chart = charts[chart]
        part = of_chart.parts[0] if of_chart.parts else None
        tables = [rows(of_chart.tables[panel.data], part) for panel in of_chart.panels]
        return [len({tuple(row[column] for column in columns) for row in table}) for table in tables]

    # One point for each of two runs of two systems
    assert marks("verdict", "symbol") == [4]
    # One bar and one tick for each system
    assert marks("verdict", "rect") == [4]
    assert marks("over-time", "line") == expected("over-time", "series") == [4, 4]
    assert marks("percentiles", "line") == expected("percentiles", "system")
    assert marks("percentiles", "line")[:2] == [2, 2]
    assert marks("rows", "line") == expected("rows", "series") == [2]
    assert marks("latency", "symbol") == expected("latency", "label", "percentile")
    assert max(marks("latency", "symbol")) == 2 * len(("p50", "p95", "p99", "max"))
    assert marks("heat", "rect") == expected("heat", "begin", "low")
    assert min(marks("heat", "rect")) > 5


def barriers(browser: Browser) -> list[str]:
    """Opens all parts of the page, and returns the problems that axe-core finds."""
    # axe-core ignores text on a gradient, such as the shadow of scrolling tables, so the gradient is removed.
    browser.value("for (const each of document.querySelectorAll('.scroll')) each.style.background = 'none'")
    browser.value((resources.files("axe_core_python") / "axe.min.js").read_text("utf-8") + "; null")
    browser.value("for (const each of document.querySelectorAll('details')) each.open = true")
    barriers_of = (
        "results.violations.map(each => `${each.impact} ${each.id}: ${each.nodes.map(node => node.html).join(' ')}`)"
    )
    return list(browser.value(f"axe.run().then(results => {barriers_of})"))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (375, "dark")])
def test_axe_finds_no_barrier(quiet: Browser, index: Path, width: int, scheme: str) -> None:
    for page in (index.parent / "a/report.html", index):
        quiet.open(page, width, scheme=scheme)
        assert barriers(quiet) == []
    quiet.value("document.querySelector('select').setAttribute('aria-label', '')")
    quiet.value("document.querySelector('label').replaceWith(document.querySelector('select'))")
    assert any("critical select-name" in barrier for barrier in barriers(quiet))


def test_discarded_runs_and_probes_are_points(quiet: Browser, tmp_path: Path) -> None:
    for number, system in enumerate(("cassandra", "hbase"), start=1):
        about = {"trial_system": system, "repeats": 3, "trial_discard": 1}
        searched(tmp_path, (1000 * number, 1000 * number), (3000, 2000), number=number, slo="p99<10ms", facts=about)
    (page,) = files.write(tmp_path)
    draw(quiet, page, 375)
    points = "[...document.querySelectorAll('#{} .mark-symbol.role-mark path')].map(path => {})"
    # Each system has one discarded run (grey) and two that count.
    strokes = quiet.value(points.format("verdict", "path.getAttribute('stroke')"))
    assert (len(strokes), strokes.count(GREY)) == (6, 2)
    # A filled point is a probe within all bounds.
    filled = quiet.value(points.format("probes", "path.getAttribute('fill-opacity')"))
    assert sorted(filled) == ["0", "0", "1", "1"]
    assert quiet.value("document.querySelectorAll('#probes .mark-rule.role-mark line').length") == 1
    assert quiet.value("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize("width", [1200, 375])
def test_charts_of_logs_of_others_are_drawn(quiet: Browser, tmp_path: Path, width: int) -> None:
    stock = Path(__file__).parent / "data/stock"
    report = foreign.gather(stock)
    (page,) = files.write_report(report, tmp_path / "page.html", figures=False)
    draw(quiet, page, width)
    assert quiet.value(f"{PANELS}.length") == sum(len(chart.panels) for chart in report.charts)
    assert quiet.value(f"{PANELS}.filter(panel => !panel.querySelector('svg, canvas')).length") == 0
    assert quiet.value("document.documentElement.scrollWidth") <= width


def test_the_cursor_reads_all_charts_at_one_second(quiet: Browser, page: Path) -> None:
    draw(quiet, page)
    change(quiet, "[data-cursor]", 1, "input")
    lines = quiet.value("document.querySelector('[data-readout]').innerText").splitlines()
    assert lines[0].split("\t")[0] == "second 1"
    assert [line.split("\t")[0] for line in lines[1:]] == [
        f"{system} run {number}" for system in ("cassandra", "hbase") for number in (1, 2)
    ]
    shown = quiet.value(
        "[...document.querySelectorAll('.hair')].filter(hair => !hair.hidden).map(hair => hair.style.left)"
    )
    assert len(shown) == 2
    assert all(float(position.removesuffix("px")) > 20 for position in shown)


def test_a_stretch_of_time_is_shown_in_all_charts_over_time(quiet: Browser, tmp_path: Path) -> None:
    two_systems(tmp_path)
    reads(tmp_path / "raw/01-cassandra/run-1/node1", [100] * 21)
    seconds = "".join(f"cassandra,,1,run,1,node1,{1 + second},1.0,,0.25,0.05,0.5\n" for second in range(1, 22))
    heads = "system,point,round,phase,run,host,time,seconds,device,cpu_idle,cpu_iowait,disk_utilisation\n"
    (tmp_path / "hosts.csv").write_text(heads + seconds)
    (page,) = files.write(tmp_path)
    draw(quiet, page)
    over_time = "[...document.querySelectorAll('#over-time [data-panel]')]"
    ends = (
        f"{over_time}.map(panel => [...panel.querySelectorAll('.role-axis-label')]"
        ".map(axis => [...axis.querySelectorAll('text')].map(label => Number(label.textContent)))[0])"
        ".map(seconds => [Math.min(...seconds), Math.max(...seconds)])"
    )
    assert quiet.value(ends) == [[0, 20]] * 4

    # Select the second quarter of the first chart with the mouse.
    left, right, y = quiet.value(
        "(() => { const panel = document.querySelector('#over-time [data-panel]'); panel.scrollIntoView();"
        " const ends = [...panel.querySelector('.role-axis-label').querySelectorAll('text')]"
        ".map(label => label.getBoundingClientRect());"
        " const y = panel.getBoundingClientRect().top + 60;"
        " return [ends[0].left, ends[ends.length - 1].right, y]; })()"
    )
    positions = [left + (right - left) * share for share in (0.25, 0.4, 0.5)]
    mouse(quiet, "mousePressed", positions[0], y)
    mouse(quiet, "mouseMoved", positions[1], y)
    assert quiet.value("[...document.querySelectorAll('#over-time .band')].filter(band => !band.hidden).length") == 4
    mouse(quiet, "mouseMoved", positions[2], y)
    mouse(quiet, "mouseReleased", positions[2], y)
    quiet.wait("document.querySelector('[data-shown]').textContent !== ''")
    assert quiet.value("document.querySelector('[data-shown]').textContent") in {
        f"seconds {first} to {last} of 20" for first in (4, 5) for last in (10, 11)
    }
    quiet.wait(f"{ends}.every(([first, last]) => first >= 4 && last <= 11)")
    assert quiet.value("document.querySelectorAll('#over-time .band:not([hidden])').length") == 0
    for count in (1, 2):
        mouse(quiet, "mousePressed", positions[1], y, clickCount=count)
        mouse(quiet, "mouseReleased", positions[1], y, clickCount=count)
    quiet.wait(f"{ends}.every(([first, last]) => first === 0 && last === 20)")

    # Use the keyboard to choose a place with the slider and to zoom in with a button.
    change(quiet, "[data-cursor]", 10, "input")
    quiet.value("document.querySelector('[data-zoom]').focus()")
    for kind in ("keyDown", "keyUp"):
        quiet.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    quiet.wait("document.querySelector('[data-shown]').textContent === 'seconds 5 to 15 of 20'")
    quiet.wait(f"{ends}.every(([first, last]) => first === 5 && last === 15)")
    assert quiet.value("document.querySelector('[data-cursor]').value") == "10"


def mouse(browser: Browser, kind: str, x: float, y: float, **more: object) -> None:
    browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, **{"clickCount": 1, **more})


def test_hostile_text_runs_nothing(quiet: Browser, tmp_path: Path) -> None:
    (page,) = files.write(hostile(tmp_path / "a<b>"))
    draw(quiet, page)
    assert quiet.value("document.querySelectorAll('img').length") == 0


@pytest.mark.slow
def test_any_dimension_stands_on_either_axis(quiet: Browser, index: Path) -> None:
    quiet.open(index.parent / "a/report.html")
    heads = "[...document.querySelectorAll('#matrix-table thead th')].map(head => head.innerText)"
    assert quiet.value(heads) == ["batchsize", "operation", "cassandra", "hbase"]
    change(quiet, "#matrix-x", "batchsize", "change")
    assert quiet.value(heads) == ["system", "operation", "1", "100"]


@pytest.mark.slow
def test_filters_of_the_index(quiet: Browser, tmp_path: Path) -> None:
    for name, system, day in (("a", "cassandra", "2026-01-02"), ("b", "hbase", "2026-03-04")):
        trial(tmp_path / "results" / name, 1, system)
        facts = {
            "scenario": f"scenario-{name}",
            "started": f"{day}T05:06:07+00:00",
            "host": {"name": f"machine-{name}"},
        }
        write_json(tmp_path / "results" / name / "experiment.json", facts)
    quiet.open(site.write(site.experiments(tmp_path / "results"), tmp_path / "site", pytest.fail), 375)

    def shown(field: str, value: str) -> list[str]:
        """Sets one field of the form to a value, and returns the entries that are still shown."""
        quiet.value("document.querySelector('form').reset()")
        change(quiet, field, value, "input")
        links = "[...document.querySelectorAll('tbody tr:not([hidden]) a')].map(link => link.innerText)"
        texts = list(quiet.value(links))
        assert quiet.value("document.getElementById('shown').textContent") == str(len(texts))
        return texts

    assert shown("[data-filter=systems]", "") == ["b", "a"]
    assert shown("[data-filter=systems]", "cassandra") == ["a"]
    assert shown("[data-filter=scenario]", "scenario-b") == ["b"]
    assert shown("[data-filter=machine]", "machine-a") == ["a"]
    assert shown("[data-from]", "2026-01-03") == ["b"]
    assert shown("[data-to]", "2026-01-02") == ["a"]
    assert quiet.value("document.documentElement.scrollWidth") <= 375
