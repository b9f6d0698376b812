"""The report in a real browser: everything is drawn, nothing complains, nothing is asked for, it fits a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, browser, chromium
from evidence import trial
from test_report import hostile, two_systems

from dohyo.report import files, foreign, site

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="no Chromium; Debian and Ubuntu have it: apt-get install chromium"
)

PANELS = "[...document.querySelectorAll('[data-panel]')]"


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def quiet(chrome: Browser) -> Iterator[Browser]:
    """A browser that may not complain in the test, nor ask for anything but the page."""
    chrome.errors.clear()
    chrome.requests.clear()
    yield chrome
    assert chrome.errors == []
    assert [url for url in chrome.requests if not url.startswith(("file:", "about:", "data:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 375])
def test_every_chart_is_drawn_and_nothing_is_wider_than_the_screen(
    quiet: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    (page,) = files.write(two_systems(tmp_path))
    quiet.open(page, width, scheme=scheme)
    quiet.wait("document.documentElement.dataset.drawn === 'yes'")
    assert quiet.value(f"{PANELS}.length") > 8
    drawn = (
        f"{PANELS}.filter(panel => !panel.querySelector('svg, canvas') && !panel.classList.contains('empty')).length"
    )
    assert quiet.value(drawn) == 0
    assert quiet.value(f"{PANELS}.filter(panel => panel.querySelector('svg path, canvas')).length") > 8
    assert quiet.value("document.documentElement.scrollWidth") <= width
    assert quiet.value("document.documentElement.dataset.theme") == scheme


@pytest.mark.parametrize("width", [1200, 375])
def test_charts_of_logs_of_others_are_drawn(quiet: Browser, tmp_path: Path, width: int) -> None:
    stock = Path(__file__).parent / "data/stock"
    report = foreign.gather(stock)
    (page,) = files.write_report(report, tmp_path / "page.html", figures=False)
    quiet.open(page, width)
    quiet.wait("document.documentElement.dataset.drawn === 'yes'")
    assert quiet.value(f"{PANELS}.length") == sum(len(chart.panels) for chart in report.charts)
    assert quiet.value(f"{PANELS}.filter(panel => !panel.querySelector('svg, canvas')).length") == 0
    assert quiet.value("document.documentElement.scrollWidth") <= width


def test_the_cursor_reads_all_charts_at_one_second(quiet: Browser, tmp_path: Path) -> None:
    (page,) = files.write(two_systems(tmp_path))
    quiet.open(page)
    quiet.wait("document.documentElement.dataset.drawn === 'yes'")
    quiet.value("""{
        const slider = document.querySelector('[data-cursor]');
        slider.value = 1;
        slider.dispatchEvent(new Event('input'));
    }""")
    lines = quiet.value("document.querySelector('[data-readout]').innerText").splitlines()
    assert lines[0].split("\t")[0] == "second 1"
    assert [line.split("\t")[0] for line in lines[1:]] == [
        f"{system} run {number}" for system in ("cassandra", "hbase") for number in (1, 2)
    ]
    shown = quiet.value(
        "[...document.querySelectorAll('.hair')].filter(hair => !hair.hidden).map(hair => hair.style.left)"
    )
    assert len(shown) == 2
    assert all(float(left.removesuffix("px")) > 20 for left in shown)


def test_hostile_text_runs_nothing(quiet: Browser, tmp_path: Path) -> None:
    (page,) = files.write(hostile(tmp_path / "a<b>"))
    quiet.open(page)
    quiet.wait("document.documentElement.dataset.drawn === 'yes'")
    assert quiet.value("document.querySelectorAll('img').length") == 0


def test_any_dimension_stands_on_either_axis(quiet: Browser, tmp_path: Path) -> None:
    for number, (system, batch) in enumerate([(s, b) for s in ("cassandra", "hbase") for b in ("1", "100")], 1):
        trial(tmp_path, number, system, trial_point={"batchsize": batch})
    (page,) = files.write(tmp_path)
    quiet.open(page)
    heads = "[...document.querySelectorAll('#matrix-table thead th')].map(head => head.innerText)"
    assert quiet.value(heads) == ["batchsize", "operation", "cassandra", "hbase"]
    quiet.value(
        "{const x = document.getElementById('matrix-x'); x.value = 'batchsize'; x.dispatchEvent(new Event('change'))}"
    )
    assert quiet.value(heads) == ["system", "operation", "1", "100"]


def test_filters_of_the_index(quiet: Browser, tmp_path: Path) -> None:
    for name, system in (("a", "cassandra"), ("b", "hbase")):
        trial(tmp_path / "results" / name, 1, system)
    quiet.open(site.write(site.experiments(tmp_path / "results"), tmp_path / "site", pytest.fail), 375)
    rows = "[...document.querySelectorAll('tbody tr:not([hidden]) a')].map(link => link.innerText)"
    assert quiet.value(rows) == ["b", "a"]
    quiet.value("""{
        const select = document.querySelector('[data-filter=systems]');
        select.value = 'cassandra';
        select.dispatchEvent(new Event('input', {bubbles: true}));
    }""")
    assert quiet.value(rows) == ["a"]
    assert quiet.value("document.documentElement.scrollWidth") <= 375
