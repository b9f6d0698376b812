"""Published figures: every file is checked, and they are shown below ours, clearly apart."""

import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from evidence import trial
from rich.console import Console

from dohyo import experiment, published, scenario, table
from dohyo.bad_input import BadInputError
from dohyo.places import WORKLOADS
from dohyo.published import FOLDER, Figure, Published
from dohyo.results import Summary
from dohyo.summary import summarise

FILES = sorted(FOLDER.iterdir())
GOOD: dict[str, Any] = {
    "title": "A against B",
    "hardware": "1 host",
    "versions": "A 1.0",
    "figures": [{"of": "read", "system": "A", "operations": 5000, "ops_per_second": 50.5, "p50_ms": 1, "p95_ms": 2}],
}


def write(folder: Path, content: Any, name: str = "bout.yml") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return file


def rendered(summary: Summary, width: int = 120) -> str:
    console = Console(width=width, force_terminal=True, color_system=None, file=io.StringIO())
    table.render(summary, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_valid(path: Path) -> None:
    assert path.suffix == ".yml"
    found = published.load(path)
    assert found.name == path.stem
    of = [(each.of, each.system) for each in found.figures]
    assert len(set(of)) == len(of)


def test_they_are_no_scenarios() -> None:
    assert not set(FILES) & set(scenario.scenario_files().values())
    assert "published" not in scenario.scenario_files()


def test_rates_and_counts_of_hbase_cache_agree() -> None:
    """Each run took 15 minutes, so that a wrong digit would show; some counts are half of that, as published."""
    halves = []
    for each in published.load(FOLDER / "hbase-cache.yml").figures:
        assert each.operations is not None
        assert each.ops_per_second is not None
        seconds = each.operations / each.ops_per_second
        half = seconds < 600
        halves += [each.of] if half else []
        assert seconds == pytest.approx(450 if half else 900, abs=0.5)
    assert halves == ["A, 40 GB", "F, 40 GB", "A, 1 TB"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "cannot read the published figures"),
        ("- a", "must be a mapping"),
        ({**GOOD, "hardwar": "x"}, "unknown key 'hardwar': did you mean hardware?"),
        ({**GOOD, "name": "x"}, "unknown key 'name'"),
        ({key: GOOD[key] for key in GOOD if key != "hardware"}, "hardware is missing"),
        ({**GOOD, "versions": 4.0}, "versions: 4.0: must be some text"),
        ({**GOOD, "figures": []}, "neither figures nor facts"),
        ({**GOOD, "figures": {"of": "read"}}, "figures: must be a list"),
        ({**GOOD, "facts": [{"ratio": 3}]}, "facts: .*: must be some text"),
        ({**GOOD, "figures": [{"of": "read", "system": "A"}]}, "line 1 of the figures: has no number"),
        ({**GOOD, "figures": [{"of": "read", "ops_per_second": 1}]}, "line 1 of the figures: system is missing"),
        ({**GOOD, "figures": [*GOOD["figures"], {"of": "x", "system": "A", "p99ms": 1}]}, "line 2 .* mean p99_ms?"),
        ({**GOOD, "figures": [{"of": "x", "system": "A", "p99_ms": "1"}]}, "p99_ms: 1: must be a number above 0"),
        ({**GOOD, "figures": [{"of": "x", "system": "A", "p99_ms": 0}]}, "p99_ms: 0: must be a number above 0"),
        ({**GOOD, "figures": [{"of": "x", "system": "A", "p99_ms": True}]}, "p99_ms: True: must be a number above 0"),
        ({**GOOD, "figures": [{"of": "x", "system": "A", "p99_ms": float("nan")}]}, "must be a number above 0"),
        ({**GOOD, "figures": [{"of": "x", "system": "A", "records": 1.5}]}, "must be a whole number above 0"),
        ({**GOOD, "figures": [{"of": "x", "system": "A", "p95_ms": 3, "p99_ms": 2}]}, "p95_ms, p99_ms do not ascend"),
        ({**GOOD, "figures": [{"of": "x", "system": "A", "mean_ms": 3, "max_ms": 2}]}, "max_ms do not ascend"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, content: Any, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected) as error:
        published.load(write(tmp_path, content))
    assert "bout.yml" in str(error.value)


def test_a_scenario_has_those_of_its_name_or_names_others(tmp_path: Path) -> None:
    values = {"recordcount": "10"}
    assert scenario.Scenario("hbase-cache", values, {}).published == [FOLDER / "hbase-cache.yml"]
    assert scenario.Scenario("workloadC", values, {}).published == []
    named = scenario.load(WORKLOADS / "workloadC", {"published": "yokozuna, hbase-cache"})
    assert named.published == [FOLDER / "yokozuna.yml", FOLDER / "hbase-cache.yml"]
    assert "published" not in named.client_properties
    with pytest.raises(BadInputError, match=r"unknown published figures 'hbase-cash': did you mean hbase-cache?"):
        scenario.load(WORKLOADS / "workloadC", {"published": "hbase-cash"})


def test_a_broken_file_shows_before_anything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    write(tmp_path, "{", "workloadC.yml")
    with pytest.raises(BadInputError, match="cannot read the published figures"):
        scenario.load(WORKLOADS / "workloadC")


def test_an_experiment_keeps_them_and_shows_them_apart(tmp_path: Path) -> None:
    chosen = scenario.load(WORKLOADS / "workloadC", {"published": "hbase-cache,yokozuna", "systems": "cassandra"})
    experiment.create(chosen, tmp_path, {})
    (tmp_path / "raw" / "01-cassandra" / "state.json").unlink()
    (tmp_path / "raw" / "01-cassandra").rmdir()
    trial(tmp_path, 1, "cassandra")
    summary = summarise(tmp_path)
    assert [each.name for each in summary.published] == ["hbase-cache", "yokozuna"]
    for width in (120, 80):
        text = rendered(summary, width)
        assert max(map(len, text.splitlines())) <= width
        ours, *theirs = text.split("published, on other hardware: ")
        assert "Rates are means" in ours  # everything of ours comes before
        assert "165,063" not in ours
        assert len(theirs) == 2
        (line,) = (line for line in theirs[0].splitlines() if line.startswith("C, 40 GB"))
        assert line.split() == ["C,", "40", "GB", "hbase", "148,558,364", "165,063", "0.24", "0.3", "0.48"]
        assert "128 GB, 4 × 2 TB" in " ".join(theirs[0].split())
        assert "hit ratio of the block cache: 99 %" in theirs[0]
        assert "36,055 → 33,831 → … → 22,938" in " ".join(theirs[1].split())
    page = table.markdown(summary)
    assert "## published, on other hardware: 4 × AWS i3en.6xlarge" in page
    assert "\n| C, 40 GB | hbase | 148,558,364 | 165,063 | 0.24 | 0.3 | 0.48 |\n" in page


def test_no_statistic_of_ours_takes_them_in(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra")
    alone = summarise(tmp_path)
    (tmp_path / "published").mkdir()
    write(tmp_path / "published", GOOD)
    both = summarise(tmp_path)
    assert (both.trials, both.unequal, both.notes, both.csv()) == (
        alone.trials,
        alone.unequal,
        alone.notes,
        alone.csv(),
    )
    (shown,) = json.loads(both.json())["published"]
    assert shown["figures"][0]["ops_per_second"] == 50.5
    assert shown["figures"][0]["p99_ms"] is None
    documented = (WORKLOADS.parent / "docs" / "summary-json.md").read_text(encoding="utf-8")
    for of in (Published, Figure):
        for each in fields(of):
            assert f"`{each.name}`" in documented


def test_a_file_that_broke_since_is_a_warning(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra")
    (tmp_path / "published").mkdir()
    write(tmp_path / "published", "{")
    summary = summarise(tmp_path)
    assert summary.published == []
    (warning,) = summary.warnings
    assert "bout.yml" in warning
