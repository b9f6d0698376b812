"""Tests the screen: its size, its ranking, lines that do not fit, and its last line."""

import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from dohyo.cli import cli
from dohyo.evidence.load_curve import LoadCurve
from dohyo.foreign import collection
from dohyo.places import DOHYO, RESULTS, ROOT, command
from dohyo.scenario.phases import LOAD
from dohyo.summary import summary_file
from dohyo.summary.comparison import comparisons
from dohyo.summary.results import Summary, Trial
from dohyo.summary.summary import joined, summarise
from dohyo.summary.trust import Reason, doubts
from dohyo.tables import screen, table
from dohyo.tables.remedies import Again, clauses
from support.evidence import STOCK, edit_json, in_rounds, noisy, on_screen, reads, rendered, sample, searched_rounds
from support.pages import two_systems
from support.summaries import SYSTEMS, each_system, failed, measured, of


def table_of(text: str) -> list[str]:
    """Returns the lines of the table between the verdict and the reasons."""
    return text.split("\n\n")[1].splitlines()


def points(count: int) -> Summary:
    return of(
        *(
            measured(system, rate * (1 + number * (system == "scylla") / 2), point={"threadcount": str(number)})
            for system, rate in SYSTEMS.items()
            for number in range(count)
        )
    )


SCENARIOS: dict[str, Callable[[], Summary]] = {
    "sample": lambda: summary_file.read(sample()),
    "noisy": lambda: summary_file.read(noisy()),
    "workloadE": lambda: each_system("INSERT", "SCAN"),
    "workloadF": lambda: each_system("READ", "UPDATE", "READ-MODIFY-WRITE"),
    "four hosts, batches": lambda: each_system("READ", "INSERT", hosts=4, batch=100),
    "phases": lambda: each_system("UPDATE", "READ", phases=("update", "read")),
    "a share of its own maximum": lambda: each_system("READ", "UPDATE", phases=("max", "own")),
    "errors": lambda: each_system("READ", "UPDATE", errors=12345),
    "insert race": lambda: each_system("INSERT", phases=(LOAD,), load_is_measured=True, load=LoadCurve(9, [], 1.8)),
    "three points": lambda: points(3),
    "forty points": lambda: points(40),
    "failures": lambda: of(
        measured("a", 1.0), *(failed(f"b{number}", f"because {number} " * 30) for number in range(9))
    ),
    "nothing": lambda: of(failed("a", "no port")),
    "names": lambda: of(*(measured(f"a/very/long/folder/of/somebody/{number}", 5.0 + number) for number in range(30))),
    "foreign": lambda: collection.collect([STOCK]).summary,
}


@cache
def make(name: str) -> Summary:
    """Creates a summary when a test needs it, rather than when tests are collected."""
    return SCENARIOS[name]()


@cache
def drawn(name: str, width: int = 100) -> str:
    return on_screen(make(name), width)


@pytest.mark.parametrize(("name", "width"), [*product(SCENARIOS, (100, 80)), ("sample", 200), ("failures", 200)])
def test_every_table_fits(name: str, width: int) -> None:
    text = drawn(name, width)
    assert len(table_of(text)) <= screen.MOST_LINES == 25
    assert max(map(len, text.splitlines())) <= min(width, screen.MOST_COLUMNS)
    assert screen.MOST_COLUMNS == 100
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(table_of(text)) or name in ("failures", "names", "foreign")


def test_a_pipe_has_the_whole_verdict_in_its_first_line_and_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    console = Console(file=io.StringIO(), width=80)
    screen.render(make("sample"), console, RESULTS / "x", ["more"])
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[:2] == [
        "mysql-innodb was 1.80× [1.59, 2.04] as fast as cassandra. caution: small data.", ""
    ]  # fmt: skip
    assert lines[2:10] == table_of(on_screen(make("sample")))
    assert lines[-4:] == [
        "everything else: results/x/summary.md",
        "this screen again: ./dohyo show x",
        "more",
        "a page with charts: ./dohyo report x",
    ]


def test_reasons_have_one_line_each_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    experiment = noisy()
    console = Console(file=io.StringIO())
    screen.render(make("noisy"), console, experiment)
    assert isinstance(console.file, io.StringIO)
    _, ranked, below = console.file.getvalue().split("\n\n")
    dots, times = "\N{HORIZONTAL ELLIPSIS}", "\N{MULTIPLICATION SIGN}"
    run = "./run.sh workloadA"
    assert ranked.splitlines()[-1] == f"not measured: aerospike, scylla. Try: {run} --fetch aerospike,scylla"
    assert [line for line in below.splitlines() if line.startswith("- ")] == [
        f"- Not precise enough: mysql-myisam ± 33 % after 3 rounds{dots} Try: {run} --rounds 46",
        f"- not steady. Try: {run} --set warmuptime=180",
        f"- Not steady when the warm-up ended{dots} Try: {run} --set warmuptime=180",
        f"- Small data: 100,000 records {times} 1,000 B = 100 MB{dots} Try: {run} --set 'datasize=4*ram'",
        f"- Clients and servers share a host and its processors{dots} Try: a cluster, docs/cluster.md",
        "- 3 more in summary.md",
    ]
    whole = " ".join(table.markdown(make("noisy")).split())
    assert all(f"- {reason.text}" in whole for reason in doubts(make("noisy")))


def test_a_command_measures_the_scenario_as_it_was_or_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    experiment = tmp_path / "it"
    shutil.copytree(noisy(), experiment)
    reason = Reason("The noise is too large to tell a from b: measure more or longer rounds.", "too noisy to tell")

    def suggest(**changes: Any) -> str:
        edit_json(experiment / "experiment.json", **changes)
        return Again(experiment).line(reason, make("noisy"), 200).partition(". Try: ")[2]

    assert suggest() == "./run.sh workloadA --rounds 6"
    open_pair = Reason("Not decided: a and b 1.01\N{MULTIPLICATION SIGN} [0.80, 1.30].", "not decided")
    line = Again(experiment).line(open_pair, make("noisy"), 200)
    assert line.endswith(". Try: ./run.sh workloadA --set budget=54m")
    assert suggest(named=True).startswith("./run.sh workloadA --systems cassandra,hbase,scylla,aerospike,mysql-innodb")
    inventory = ROOT / "ansible/inventories/i3en"
    argv = ["./run.sh", "workloadA", "--inventory", "ansible/inventories/i3en", "--rounds", "6"]
    assert suggest(named=False, inventory=str(inventory)) == " ".join(argv)
    # An inventory may run programs, so a suggested command never names one outside the repository.
    assert suggest(inventory=str(tmp_path)) == "--rounds 6"
    assert suggest(inventory=None) == "./run.sh workloadA --rounds 6"
    file = experiment / "scenario.properties"
    file.write_text(file.read_text("utf-8").replace("threadcount=8", "threadcount=9"), encoding="utf-8")
    assert suggest() == f"./run.sh {file} --rounds 6"
    assert Again(experiment).line(reason, make("noisy"), 100).endswith(". Try: --rounds 6")
    file.write_text("recordcount=?", encoding="utf-8")
    assert suggest() == "--rounds 6"


def test_a_reason_that_does_not_fit_is_said_in_a_few_words(tmp_path: Path) -> None:
    reason = Reason("3 of 3 have rounds that do not count: a, b, c.", "invalid rounds of a and 2 more")
    again, summary = Again(tmp_path), make("noisy")
    whole = again.line(reason, summary, 300)
    message, _, way = whole.partition(". Try: ")
    assert (message, "--resume" in way) == (reason.text.removesuffix("."), True)
    assert again.line(reason, summary, len(whole) - 15) == f"{reason.short}. Try: {way}"
    assert again.line(reason, summary, 40) == reason.short


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("One round decides: a had 1", 30, "One round decides: a had 1"),
        ("Not exact: a ± 33 % after 3 rounds, about 43 more; b", 40, "Not exact: a ± 33 % after 3 rounds"),
        ("Not steady: from the first to the last", 24, ""),
        ("Not steady, and from the first to the last", 24, ""),
    ],
)
def test_a_reason_is_cut_between_clauses_only(text: str, room: int, shown: str) -> None:
    assert clauses(text, room) == shown + ("\N{HORIZONTAL ELLIPSIS}" if shown not in ("", text) else "")


def test_the_result_of_a_trial_is_one_line() -> None:
    assert screen.figures(of(measured("a", 32485.0))) == "32,485 op/s  p99 1.2 ms read, 1.2 ms update"
    assert screen.figures(of(measured("a", 900.0, ["READ"], errors=1))) == "900 op/s  p99 1.2 ms  1 error"
    assert screen.figures(of(measured("a", 900.0, ["READ"], batch=10))) == "900 op/s  9,000 rec/s  p99 1.2 ms"
    phases = screen.figures(of(measured("a", 900.0, phases=("update", "read"))))
    assert phases == "update 900 op/s  p99 1.2 ms; read 900 op/s  p99 1.2 ms"
    assert screen.figures(of(failed("a", "no port"))) == ""


def test_trials_that_were_summarised_one_by_one_are_ranked_together(tmp_path: Path) -> None:
    two_systems(tmp_path, trial_round=1, trial_rounds=2)
    parts = [summarise(tmp_path, only={name}) for name in ("01-cassandra", "02-hbase")]
    assert screen.ranking(joined(parts)).plain == screen.ranking(summarise(tmp_path)).plain


def test_hosts_are_counted_and_have_their_processors_each() -> None:
    assert "4 hosts, 16 cores each" in drawn("four hosts, batches")


def test_of_too_many_points_those_with_another_winner_and_close_ones_are_shown() -> None:
    lines = table_of(drawn("forty points"))
    assert lines[-1] == "180 more lines are in summary.md"
    shown = [re.findall(r"^threadcount=(\d+) +(\S+)", line) for line in lines]
    assert [pair for (pair,) in filter(None, shown)][:3] == [("0", "aerospike"), ("1", "aerospike"), ("2", "scylla")]
    assert "of the second" in lines[2]


def test_why_there_are_no_numbers_may_take_three_lines() -> None:
    why = "run-1: other processes used 45% of the processors of localhost; at most 25% is allowed; ann keeps servers up"
    text = on_screen(of(failed("cassandra", why), failed("hbase", "because " * 60)))
    assert why in " ".join(text.split())
    lines = [line for line in text.splitlines() if "because" in line]
    assert len(lines) == 3
    assert lines[-1].endswith("\N{HORIZONTAL ELLIPSIS}")


def test_of_too_many_points_no_best_at_a_rate_that_was_asked_for_is_shown() -> None:
    point = [{"durability": f"d{index}"} for index in range(9)]
    summary = of(
        *(measured(name, rate, phases=("max", "own"), point=item) for name, rate in SYSTEMS.items() for item in point)
    )
    shown = table_of(on_screen(summary))[4:]
    assert [line.split()[0] for line in shown[:9]] == ["max"] * 9
    assert shown[9:] == ["81 more lines are in summary.md"]


def test_reasons_stand_in_one_line_each_and_the_files_have_them_whole() -> None:
    lines = table_of(drawn("failures"))
    assert [line[:20] for line in lines if line.startswith("–")] == [
        *(f"– b{number}  failed: becaus"[:20] for number in range(4)), "– 5 more in summary."
    ]  # fmt: skip
    assert "because 8 " * 30 in table.markdown(make("failures")) + " "


def test_a_search_is_ranked_by_its_maximum_and_one_without_is_named(tmp_path: Path) -> None:
    summary = summarise(searched_rounds(tmp_path, {"cassandra": [1000.0], "hbase": [1500.0]}, above=2, probes=3))
    text = on_screen(summary)
    assert "under p99<10ms" in text
    assert re.search(r"^1 hbase +1,500 +", text, re.MULTILINE)
    result = CliRunner().invoke(cli, ["show", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (only,) = (trial.search for trial in summary.trials if trial.search and trial.system == "cassandra")
    without = replace(only, maximum=None, held=None, conclusion="no rate met p99<10ms")
    trials = [replace(trial, search=without) if trial.system == "cassandra" else trial for trial in summary.trials]
    vain = replace(summary, trials=trials, comparisons=comparisons(trials))
    assert not vain.is_sound()
    assert "– cassandra  no rate met p99<10ms" in on_screen(vain)


def test_colours_say_how_bad_it_is(tmp_path: Path) -> None:
    two_systems(tmp_path)
    edit_json(tmp_path / "raw/02-hbase/conditions.json", durability="disk", notes=["compaction: none"])
    text = on_screen(summarise(tmp_path), color="standard")
    assert "\x1b[31m- The conditions are not equal: durability (cassandra memory, hbase disk)" in text
    assert "\x1b[33m- Small data: " in text
    assert "\x1b[1;31mdo not use: unequal" in text
    assert "\nhbase: compaction: none\n" in rendered(summarise(tmp_path), color="standard")


def test_what_nobody_can_tell_is_not_a_number_of_percent(tmp_path: Path) -> None:
    rates = {"cassandra": (1000, 100), "hbase": (100, 1000)}
    for turn, system, folder in in_rounds(tmp_path, 2, rates):
        reads(folder / "run-1/node1", [rates[system][turn - 1]] * 10)
    text = on_screen(summarise(tmp_path))
    assert text.count("cannot tell") == 3  # for both rates and their ratio
    brief = "Cannot tell cassandra from hbase: 1.00× [0.00, 1,103]. do not use: too noisy to tell."
    assert brief in text.replace("\n", "")
    assert "do not use" in text
    assert "cannot tell" in rendered(summarise(tmp_path))


def test_tables_of_zeros_are_in_the_files_alone() -> None:
    summary = make("noisy")
    assert "compactions and flushes" in rendered(summary, 150)
    idle = replace(summary, trials=[_without_work(trial) for trial in summary.trials])
    details = rendered(idle, 150)
    assert "compactions and flushes" not in details
    assert "garbage collection" in details
    assert "compactions and flushes" in table.markdown(idle)


_NO_WORK: dict[str, Any] = {
    "count": 0, "total_seconds": 0.0, "longest_seconds": None, "longest_at": None, "bytes": 0.0, "share": 0.0,
}  # fmt: skip


def _without_work(trial: Trial) -> Trial:
    """Returns a copy of the trial in which no server compacted or flushed."""
    servers = [
        replace(server, background=[replace(work, **_NO_WORK) for work in server.background])
        for server in trial.servers
    ]
    return replace(trial, servers=servers)


def test_the_readme_and_the_sample_show_the_screen() -> None:
    lines = [line.rstrip() for line in table_of("\n".join(screen.plain(make("sample"))))]
    text = (ROOT / "README.md").read_text("utf-8")
    # The last line names the skipped systems and ends with a command.
    assert "\n".join(["", *lines]) + ". Try: " in text
    page = (ROOT / "docs/sample/summary.md").read_text("utf-8")
    assert page.splitlines()[4 : 4 + len(lines)] == [f"    {line}".rstrip() for line in lines]


def test_show_reads_evidence_or_else_summary_json(tmp_path: Path) -> None:
    two_systems(tmp_path)
    (tmp_path / "experiment.json").write_text("{}", encoding="utf-8")
    whole = CliRunner().invoke(cli, ["show", str(tmp_path)])
    assert f"this screen again: {command(DOHYO, 'show', str(tmp_path))}\n" in whole.stdout
    (tmp_path / "summary.json").write_text(summarise(tmp_path).json(), encoding="utf-8")
    (tmp_path / "raw").rename(tmp_path / "elsewhere")
    again = CliRunner().invoke(cli, ["show", str(tmp_path)])
    assert (again.exit_code, again.stdout) == (whole.exit_code, whole.stdout)
    details = CliRunner().invoke(cli, ["show", "--details", str(tmp_path)])
    assert "the same for all: " in details.stdout
    assert details.stdout.endswith(again.stdout)


def test_show_refuses_what_is_no_experiment_or_damaged(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["show", str(STOCK)])
    assert "for logs of other clients: " in str(result.exception)
    (tmp_path / "experiment.json").write_text("{}", encoding="utf-8")
    assert "neither evidence" in str(CliRunner().invoke(cli, ["show", str(tmp_path)]).exception)
    content = json.loads((sample() / "summary.json").read_text("utf-8"))
    deep = json.dumps(content).replace('"trials": [', '"trials": [' + "[" * 480 + "]" * 480 + ", ", 1)
    for broken in (json.dumps({**content, "trials": [{"name": 5}]}), "[", "[]", deep):
        (tmp_path / "summary.json").write_text(broken, encoding="utf-8")
        damaged = CliRunner().invoke(cli, ["show", str(tmp_path)])
        assert f"{tmp_path / 'summary.json'}: damaged or edited: " in str(damaged.exception)


def test_missing_percentiles_are_explained(tmp_path: Path) -> None:
    """A log states the p99 of 300 operations, but only three of them are slower."""
    lines = "[{0}], Operations, {1}\n[{0}], 50thPercentileLatency(us), 9\n[{0}], 99thPercentileLatency(us), 99\n"
    for name, count in (("a", 300), ("b", 2000)):
        (tmp_path / name).mkdir()
        overall = f"[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), {count / 2}\n"
        (tmp_path / name / "log.txt").write_text(f"{overall}{lines.format('READ', count)}[READ], Return=OK, {count}\n")
    few = "\N{EN DASH} too few operations of a type: p99 needs 1,000"
    for folders, is_explained in (((tmp_path / "a", tmp_path / "b"), True), ((tmp_path / "b",), False)):
        summary = collection.collect(folders).summary
        assert (few in table_of(on_screen(summary))) == is_explained
        assert (f"{few}, p99.9 needs 10,000." in " ".join(rendered(summary).split())) == is_explained
    assert all(few not in drawn(name) for name in ("sample", "nothing"))
