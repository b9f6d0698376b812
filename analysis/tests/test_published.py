"""Tests published figures: every file is valid, and the figures are shown separately, below the measured ones."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.bad_input import BadInputError
from dohyo.figures import milliseconds
from dohyo.places import ANSIBLE, WORKLOADS
from dohyo.running import attachment, experiment
from dohyo.scenario import loading, published, scenario
from dohyo.scenario.published import FOLDER
from dohyo.summary.summary import summarise
from dohyo.systems.catalogue import all_options
from dohyo.tables import table
from support.evidence import lasted, rendered, trial

FILES = sorted(FOLDER.iterdir())
GOOD: dict[str, Any] = {
    "title": "A against B",
    "hardware": "1 host",
    "versions": "A 1.0",
    "figures": [{"of": "read", "system": "A", "operations": 5000, "ops_per_second": 50.5, "p50_ms": 1, "p95_ms": 2}],
}


def with_numbers(**numbers: Any) -> dict[str, Any]:
    """Returns the content of a file with a single published figure, which has these numbers."""
    return {**GOOD, "figures": [{"of": "x", "system": "A", **numbers}]}


def write(folder: Path, content: Any, name: str = "bout.yml") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return file


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_valid(path: Path) -> None:
    assert path.suffix == ".yml"
    publication = published.load(path)
    assert publication.name == path.stem
    keys = [(figure.of, figure.system) for figure in publication.figures]
    assert len(set(keys)) == len(keys)


def test_the_example_of_the_page_is_in_the_file() -> None:
    page = (WORKLOADS.parent / "docs/workloads.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"A file looks like this:\n\n```\n(.*?)```", page, re.DOTALL)
    example = {key: value for key, value in yaml.safe_load(text).items() if value != "…"}
    file = yaml.safe_load((FOLDER / "hbase-cache.yml").read_text(encoding="utf-8"))
    assert list(yaml.safe_load(text)) == list(file)
    for key, value in example.items():
        assert file[key][: len(value)] == value


def test_published_files_are_no_scenarios() -> None:
    assert not set(FILES) & set(loading.scenario_files().values())
    assert "published" not in loading.scenario_files()


def test_rates_counts_and_latencies_of_hbase_cache_agree() -> None:
    """Each run took 15 minutes with 40 threads, so rates, counts and latencies can be checked against each other."""
    publication = published.load(FOLDER / "hbase-cache.yml")
    halves = []
    for figure in publication.figures:
        assert figure.operations is not None
        assert figure.ops_per_second is not None
        assert figure.mean_ms is not None
        half = figure.operations / figure.ops_per_second < 600
        halves += [figure.of] if half else []
        assert figure.operations / figure.ops_per_second == pytest.approx(450 if half else 900, abs=0.5)
        if not figure.operation:
            assert figure.ops_per_second * figure.mean_ms / 1000 == pytest.approx(40, abs=0.5)
    assert halves == ["A, 40 GB, its reads", "F, 40 GB, its updates", "A, 1 TB, its reads"]
    assert [entry.values for entry in publication.setup if entry.key == "all_threads"] == [["40"]]
    chosen = loading.load(WORKLOADS / "hbase-cache", full=True)
    assert {(point["threadcount"], point["threadcount.of"]) for _, point in chosen.points} == {("40", "all")}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "the published figures .*: cannot be read: "),
        ("- a", "must be a mapping"),
        ({**GOOD, "hardwar": "x"}, "unknown key 'hardwar': did you mean hardware?"),
        ({**GOOD, "name": "x"}, "unknown key 'name'"),
        ({key: GOOD[key] for key in GOOD if key != "hardware"}, "hardware is missing"),
        ({**GOOD, "versions": 4.0}, "versions: 4.0: must be text"),
        ({**GOOD, "figures": []}, "neither figures nor facts"),
        ({**GOOD, "figures": {"of": "read"}}, "figures: must be a list"),
        ({**GOOD, "facts": [{"ratio": 3}]}, "facts: .*: must be text"),
        ({**GOOD, "figures": [{"of": "read", "system": "A"}]}, "line 1 of the figures: contains no number"),
        ({**GOOD, "figures": [{"of": "read", "ops_per_second": 1}]}, "line 1 of the figures: system is missing"),
        ({**GOOD, "figures": [*GOOD["figures"], {"of": "x", "system": "A", "p99ms": 1}]}, "line 2 .* mean p99_ms?"),
        (with_numbers(p99_ms="1"), "p99_ms: 1: must be a number above 0"),
        (with_numbers(p99_ms=0), "p99_ms: 0: must be a number above 0"),
        (with_numbers(p99_ms=True), "p99_ms: True: must be a number above 0"),
        (with_numbers(p99_ms=float("nan")), "must be a number above 0"),
        (with_numbers(records=1.5), "must be a whole number above 0"),
        (with_numbers(p95_ms=3, p99_ms=2), "p95_ms, p99_ms must ascend in"),
        (with_numbers(mean_ms=3, max_ms=2), "max_ms must ascend in"),
        (with_numbers(l1_cache_hit_ratio=99), "l1_cache_hit_ratio: 99: must be a number from 0 to 1"),
        (with_numbers(l1_cache_hit_ratio=[0.9, 0.8]), "must be a number from 0 to 1, or a list of minimum and maximum"),
        (
            {**GOOD, "figures": [{**GOOD["figures"][0], "at": {"batchsize": 1}}]},
            "line 1 of the figures: at: batchsize: no table has such rows",
        ),
        ({**GOOD, "figures": [{**GOOD["figures"][0], "at": "read"}]}, "at: read: must be a mapping"),
        ({**GOOD, "tables": [{"rows": ["phase"]}]}, "table 1: columns is missing"),
        ({**GOOD, "tables": [{"rows": [], "columns": ["p99_ms"]}]}, "table 1: rows: must not be empty"),
        (
            {**GOOD, "tables": [{"rows": ["phase"], "columns": ["READ p99"]}]},
            "unknown column 'p99': did you mean p99_ms?",
        ),
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
    named = loading.load(WORKLOADS / "workloadC", {"published": "yokozuna, hbase-cache"})
    assert named.published == [FOLDER / "yokozuna.yml", FOLDER / "hbase-cache.yml"]
    assert "published" not in named.client_properties
    with pytest.raises(BadInputError, match=r"unknown published figures 'hbase-cash': did you mean hbase-cache?"):
        loading.load(WORKLOADS / "workloadC", {"published": "hbase-cash"})


def test_a_broken_file_shows_before_anything_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "FOLDER", tmp_path)
    write(tmp_path, "{", "workloadC.yml")
    with pytest.raises(BadInputError, match=r"the published figures .*: cannot be read: "):
        loading.load(WORKLOADS / "workloadC")


def test_an_experiment_keeps_them_and_shows_them_apart(tmp_path: Path) -> None:
    chosen = loading.load(WORKLOADS / "workloadC", {"published": "hbase-cache,yokozuna", "systems": "cassandra"})
    experiment.create(chosen, tmp_path, {})
    (tmp_path / "raw" / "01-cassandra" / "state.json").unlink()
    (tmp_path / "raw" / "01-cassandra").rmdir()
    trial(tmp_path, 1, "cassandra")
    summary = summarise(tmp_path)
    assert [publication.name for publication in summary.published] == ["hbase-cache", "yokozuna"]
    for width in (120, 80):
        text = rendered(summary, width)
        assert max(map(len, text.splitlines())) <= width
        measured_text, *theirs = text.split("published, on other hardware: ")
        assert "Rates are geometric means" in " ".join(measured_text.split())  # our figures come first
        assert "165,063" not in measured_text
        assert len(theirs) == 2
        (line,) = (line for line in theirs[0].splitlines() if line.startswith("C, 40 GB"))
        assert line.split() == ["C,", "40", "GB", "hbase", "148,558,364", "165,063", "0.24", "0.3", "0.48"]
        assert "128 GB, 4 × 2 TB" in " ".join(theirs[0].split())
        assert "99 % with 40 GB, 82 to 84 % with 1 TB" in " ".join(theirs[0].split())
        assert "36,055 op/s in second 10" in " ".join(theirs[1].split())
    page = table.markdown(summary)
    assert "## published, on other hardware: 4 × AWS i3en.6xlarge" in page
    assert "\n| C, 40 GB | hbase | 148,558,364 | 165,063 | 0.24 | 0.3 | 0.48 |\n" in page


def test_published_figures_are_in_no_statistic(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra")
    alone = summarise(tmp_path)
    (tmp_path / "published").mkdir()
    write(tmp_path / "published", GOOD)
    summary = summarise(tmp_path)
    assert (summary.trials, summary.unequal, summary.notes, summary.csv()) == (
        alone.trials,
        alone.unequal,
        alone.notes,
        alone.csv(),
    )
    (shown,) = json.loads(summary.json())["published"]
    assert shown["figures"][0]["ops_per_second"] == 50.5
    assert shown["figures"][0]["p99_ms"] is None


def test_a_file_that_broke_since_is_a_warning(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra")
    (tmp_path / "published").mkdir()
    write(tmp_path / "published", "{")
    summary = summarise(tmp_path)
    assert summary.published == []
    (warning,) = summary.warnings
    assert "bout.yml" in warning


def cells(page: str, title: str) -> list[list[str]]:
    """Returns the rows of a table in a Markdown page, including the header row."""
    _, _, below = page.partition(f"## {title}")
    lines = below.split("\n\n")[1].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|---")]


def experiment_of(folder: Path, name: str) -> None:
    (folder / "published").mkdir()
    shutil.copy(FOLDER / f"{name}.yml", folder / "published")


def test_ours_is_shown_in_the_published_shape(tmp_path: Path) -> None:
    mixes = ("c", "update-only", "a", "f")
    phases = [{"name": mix} for mix in mixes]
    point = {"datasize": "20MB"}
    folder = trial(tmp_path, 1, "hbase", 1, phases=mixes, trial_phases=phases, trial_point=point)
    jmx = (Path(__file__).parent / "data/servers/hbase/stats-jmx.txt").read_text(encoding="utf-8")
    for name, hits in (("load", 1000), ("c-1", 1975)):
        (folder / "server/node1/stats" / name).mkdir(parents=True)
        shutil.copy(ANSIBLE / "systems/hbase/figures.yml", folder / "server")
        text = jmx.replace('"l1CacheHitCount": 1875', f'"l1CacheHitCount": {hits}')
        text = text.replace('"l1CacheMissCount": 28', f'"l1CacheMissCount": {hits // 40}')  # 25, then 49 misses
        (folder / "server/node1/stats" / name / "stats-jmx.txt").write_text(text, encoding="utf-8")
    # This point was not measured, so only its published figures are shown.
    trial(tmp_path, 2, "hbase", 0, phases=mixes, trial_phases=phases, trial_point={"datasize": "500MB"})
    experiment_of(tmp_path, "hbase-cache")
    summary = summarise(tmp_path)
    page = table.markdown(summary)
    heads, *lines = cells(page, "HBase, one cluster and two data sizes: ours, and beside it (publ.)")
    assert heads[:6] == ["datasize phase", "publ.", "operations", "publ.", "op/s", "publ."]
    assert heads[6:] == ["mean", "publ.", "p95", "publ.", "p99", "publ.", "l1 cache hit", "publ."]
    assert [line[:2] for line in lines[:4]] == [
        ["20MB c", "C, 40 GB"],
        ["20MB update-only", "updateOnly, 40 GB"],
        ["20MB a", "A, 40 GB, its reads"],
        ["20MB f", "F, 40 GB, its updates"],
    ]
    (read,) = (row for row in summary.trials[0].rows if (row.phase, row.operation) == ("a", "READ"))
    assert lines[2] == [
        "20MB a", "A, 40 GB, its reads", f"{read.operations:,}", "35,745,710", "2,000", "79,439",
        milliseconds(read.mean_ms), "0.4", milliseconds(read.p95_ms), "0.54", milliseconds(read.p99_ms), "0.66",
        "–", "99%",
    ]  # fmt: skip
    # For workload F with 40 GB, the published count and latencies cover only the updates.
    (update,) = (row for row in summary.trials[0].rows if (row.phase, row.operation) == ("f", "UPDATE"))
    assert [lines[3][column] for column in (2, 6)] == [f"{update.operations:,}", milliseconds(update.mean_ms)]
    assert lines[0][-2:] == ["97.6%", "99%"]  # 975 / (975 + 24)
    assert lines[4] == [
        "1TB c", "C, 1 TB", "–", "2,727,037", "–", "3,030",
        "–", "13.19", "–", "55.5", "–", "110.85", "–", "82–84%",
    ]  # fmt: skip
    assert len(lines) == 8
    # Each published figure is beside the measured one, so no separate list follows. Hardware and facts are shown once.
    assert page.count("published, on other hardware: 1 master + 5 region servers") == 1
    every = ["operations", "op/s", "mean", "p95", "p99", "l1 cache hit"]
    for width, parts in ((160, 1), (100, 2), (70, 4)):
        block = rendered(summary, width).partition("HBase, one cluster")[2]
        assert max(map(len, block.splitlines())) <= width
        headers = [line for line in block.splitlines() if line.startswith("datasize phase")]
        assert len(headers) == parts
        # No column is missing, and each measured figure is followed by the published one.
        assert [column for header in headers for column in re.findall("|".join(every), header)] == every
        for header in headers:
            assert re.fullmatch(rf"datasize phase +publ\.( +({'|'.join(every)}) +publ\.)+", header)


def test_a_count_beside_a_published_one_is_of_one_run(tmp_path: Path) -> None:
    trial(tmp_path, 1, "hbase", 3, phases=("c",), trial_phases=[{"name": "c"}], trial_point={"datasize": "20MB"})
    experiment_of(tmp_path, "hbase-cache")
    _, first, *_ = cells(table.markdown(summarise(tmp_path)), "HBase, one cluster and two data sizes: ours")
    assert first[:4] == ["20MB c", "C, 40 GB", "6,000", "148,558,364"]


def test_where_the_table_says_so_a_row_is_the_highest_rate_of_several_points(tmp_path: Path) -> None:
    for number, (target, seconds) in enumerate((("500", 6), ("1000", 3), ("2000", 6)), 1):
        folder = trial(tmp_path, number, "cassandra", 1, trial_point={"variant": "c40-cms", "target": target})
        lasted(folder / "run-1/node1", seconds)
    experiment_of(tmp_path, "gc-matrix")
    page = table.markdown(summarise(tmp_path))
    title = "Cassandra 3.11 against 4.0 under every collector: ours"
    heads, first, *remaining = cells(page, title)
    assert f"{title}, the highest rate of each target, and beside it" in page
    assert heads == ["variant", "publ.", "op/s", "publ."]
    assert first == ["c40-cms", "most reached · 4.0 CMS JDK 11", "2,000", "51,000"]
    assert remaining[0] == ["c311-cms", "most reached · 3.11.6 CMS JDK 8", "–", "41,000"]
    assert len(remaining) == 8
    heads, *lines = cells(page.partition(title)[2], title)
    assert heads == ["variant target", "publ.", "op/s", "SCAN p99", "INSERT p99"]
    assert [line[:3] for line in lines] == [
        ["c40-cms 500", "–", "1,000"],
        ["c40-cms 1000", "–", "2,000"],
        ["c40-cms 2000", "–", "1,000"],
    ]
    # The list contains the published figures of points that were not measured.
    assert "| read at moderate load | 4.0 Shenandoah JDK 11 | 2.64 |" in page


def test_what_a_load_took_stands_beside_what_it_took_others(tmp_path: Path) -> None:
    for number, copies in enumerate(("1", "3"), 1):
        trial(tmp_path, number, "cassandra", 1, trial_point={"variant": "8-tables", "replication": copies})
    experiment_of(tmp_path, "heavyweights")
    page = table.markdown(summarise(tmp_path))
    # The client's log says that the load took 2,492 ms. No table has a column for the batch size or the value size,
    # because the matrix has no such dimensions.
    assert cells(page, "Cassandra against HBase: ours") == [
        ["variant replication system", "publ.", "seconds", "publ."],
        ["8-tables 1 cassandra", "load 8 tables × 5 threads, RF 1", "2.49", "138"],
        ["8-tables 3 cassandra", "load 8 tables × 5 threads, RF 3", "2.49", "375"],
        ["4-tables 1 cassandra", "load 4 tables × 5 threads, RF 1", "–", "75"],
        ["4-tables 3 cassandra", "load 4 tables × 5 threads, RF 3", "–", "150"],
    ]
    assert "| read, 5 threads, batch 100 | cassandra |" in page


def test_what_is_measured_on_demand_stands_beside_what_was_published_of_it(tmp_path: Path) -> None:
    for number, name in enumerate(("ycsb-cassandra", "8-tables"), 1):
        trial(tmp_path, number, "cassandra", 1, hosts=("node1", "node2"), trial_point={"variant": name})
    experiment_of(tmp_path, "heavyweights")
    summary = summarise(tmp_path)
    page = table.markdown(summary)
    heads, per_client, of_all, *remaining = cells(page, "Cassandra against HBase: ours")
    assert heads[:6] == ["variant system", "publ.", "operations", "publ.", "op/s", "publ."]
    assert per_client[1].startswith("insert per client (YCSB)")
    assert of_all[1].startswith("insert of all 4 clients (YCSB)")
    (load,) = (row for row in summary.trials[0].rows if (row.phase, row.operation) == ("load", "OVERALL"))
    assert load.operations is not None
    assert load.ops_per_second is not None
    assert per_client[2:6] == [f"{round(load.operations / 2):,}", "10,000,000",
                               f"{round(load.ops_per_second / 2):,}", "31,692"]  # fmt: skip
    assert of_all[4:6] == [f"{round(load.ops_per_second):,}", "128,000"]
    # The table has no measured row without a published figure.
    assert [line[0] for line in remaining] == ["ycsb-hbase hbase"]


def test_every_figure_of_heavyweights_has_a_place_beside_ours() -> None:
    publication = published.load(FOLDER / "heavyweights.yml")
    assert [figure.of for figure in publication.figures if not publication.table_of(figure)] == []
    for figure in publication.figures:
        assert ("YCSB" in figure.of) == (publication.table_of(figure) is publication.tables[0])


def test_a_dimension_that_was_not_published_makes_rows_of_its_own(tmp_path: Path) -> None:
    for number, (copies, batch) in enumerate((("1", "100"), ("1", "200"), ("3", "100"), ("3", "200")), 1):
        point = {"variant": "8-tables", "replication": copies, "batchsize": batch, "fieldlength": "10"}
        trial(tmp_path, number, "cassandra", 1, trial_point=point)
    experiment_of(tmp_path, "heavyweights")
    title = "Cassandra against HBase: ours"
    _, _, below = table.markdown(summarise(tmp_path)).partition(f"## {title}")
    heads, *lines = cells(below, title)
    assert heads == ["variant replication system batchsize", "publ.", "seconds", "publ."]
    assert [line[0] for line in lines[:4]] == [
        "8-tables 1 cassandra 100",
        "8-tables 1 cassandra 200",
        "8-tables 3 cassandra 100",
        "8-tables 3 cassandra 200",
    ]
    assert {line[3] for line in lines[:4]} == {"138", "375"}


def test_an_experiment_without_the_dimensions_has_a_list(tmp_path: Path) -> None:
    trial(tmp_path, 1, "hbase")
    experiment_of(tmp_path, "hbase-cache")
    page = table.markdown(summarise(tmp_path))
    assert "ours, and beside it" not in page
    assert "| C, 40 GB | hbase | 148,558,364 |" in page


def test_the_long_run_of_yokozuna_is_of_one_system_and_has_one_phase_after_its_load() -> None:
    chosen = loading.load(WORKLOADS / "yokozuna-long", full=True)
    assert (len(chosen.systems), chosen.phases, chosen.number("recordcount")) == (1, ["mixed"], 3 * 10**9)
    mixed = chosen.of("mixed")
    assert [float(mixed[f"{name}proportion"]) for name in ("read", "update")] == [0.5, 0.5]
    assert mixed["readbeforewrite"] == "true"


def test_moderate_load_of_gc_matrix_is_of_three_collectors() -> None:
    """The source says that 2.64 ms is 85 % below the p99 of CMS on 3.11.6 and 77 % below that of CMS on 4.0."""
    publication = published.load(FOLDER / "gc-matrix.yml")
    p99 = {
        figure.system: figure.p99_ms or 0
        for figure in publication.figures
        if figure.of.startswith("read at moderate load")
    }
    assert p99 == {"4.0 Shenandoah JDK 11": 2.64, "3.11.6 CMS JDK 8": 17, "4.0 CMS JDK 11": 11.5}
    below = [1 - p99["4.0 Shenandoah JDK 11"] / p99[system] for system in ("3.11.6 CMS JDK 8", "4.0 CMS JDK 11")]
    assert below == [pytest.approx(0.85, abs=0.01), pytest.approx(0.77, abs=0.01)]
    assert {figure.ops_per_second for figure in publication.figures if "ZGC" in figure.system} == {41000}
    assert {point.number("recordcount") for _, point in loading.load(WORKLOADS / "gc-matrix", full=True).points} == {
        8 * 200_000
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_published_places_are_those_of_the_scenario(path: Path) -> None:
    """Published rows next to measured ones must use dimensions, phases and systems of the small or full scenario."""
    publication = published.load(path)
    if not publication.tables:
        return
    # Some tables contain dimensions and variants that the scenario measures only on request.
    cases: list[dict[str, str]] = [{}]
    if path.stem == "heavyweights":
        dimensions = {"replication": "1,3", "read.batchsize": "1,10,100", "cassandra.tokenaware": "true,false"}
        cases = [{f"matrix.{name}": values for name, values in dimensions.items()}]
        cases += [{**cases[0], "matrix.variant": "100-threads,ycsb-cassandra,ycsb-hbase"}]
    either = [loading.load(WORKLOADS / path.stem, changes, full=full) for changes in cases for full in (False, True)]
    for shape in publication.tables:
        for chosen in either:
            assert set(shape.rows) <= {*chosen.matrix, "phase", "system"}
        assert set(shape.phases) <= {"load", *(name for chosen in either for name in chosen.phases)}
    for figure in publication.figures:
        for name, values in figure.at.items():
            if name == "phase":
                assert set(values) <= {"load", *either[0].phases}
            elif name == "system":
                assert set(values) <= set(either[0].systems)
            else:
                assert set(values) <= {value for chosen in either for value in chosen.matrix[name]}


def test_aliases_and_endless_numbers_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "bomb.yml"
    file.write_text("a: &a [1]\nfacts: [*a]\n", "utf-8")
    with pytest.raises(BadInputError, match="line 2 contains an alias"):
        published.load(file)
    file.write_text(yaml.safe_dump(with_numbers(records=1)).replace("records: 1", f"records: 0x{'f' * 500}"))
    with pytest.raises(BadInputError, match=r"records: too large: must be a whole number above 0, below 2\^63"):
        published.load(file)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("!!bool x", "no valid bool"), ("!!int ''", "no valid int"), ("!!float x", "no valid float"),
        ("!!timestamp x", "no valid timestamp"), ("2026-99-99", "no valid timestamp"), ("9" * 5000, "no valid int"),
        (f"-0x{'f' * 5000}", "no valid int"), ("{a: 1, a: 2}", "repeats a key"),
    ],
)  # fmt: skip
def test_yaml_that_no_parser_can_construct_is_named_by_its_line(value: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.yml"
    file.write_text(f"title: t\nfacts: {value}\n", "utf-8")
    with pytest.raises(BadInputError, match=rf"bad\.yml: cannot be read: .*line 2 .*{why}|line 2 {why}"):
        published.load(file)
    with pytest.raises(BadInputError, match=rf"^cassandra_settings=.*: .*line 1 .*{why}"):
        all_options()["cassandra_settings"].parse(f"{{x: {value}}}")
    file.write_text(f"cassandra:\n  cassandra.password: {value}\n", "utf-8")
    file.chmod(0o600)
    with pytest.raises(BadInputError, match=rf"^--attach-secrets .*: .*line 2 .*{why}") as error:
        attachment.check_secrets(file, ["cassandra"])
    assert value not in str(error.value)  # it may be a password


def test_a_variable_takes_no_aliases() -> None:
    layers = ", ".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}' if n else 'x'] * 9)}]" for n in range(12))
    with pytest.raises(BadInputError, match="line 1 contains an alias; write the value out"):
        all_options()["cassandra_settings"].parse(f"{{{layers}}}")
