"""Tests `dohyo compare` beyond ratios: if a figure got worse or is unknown, the exit code must not be 0."""

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dohyo.running import two_experiments
from dohyo.summary import findings, regression
from dohyo.summary.summary import summarise
from support.evidence import (
    canary,
    changes_shown,
    compared,
    edit_json,
    in_rounds,
    latencies,
    reads,
    searched_rounds,
    trial,
    write_json,
    write_log,
)

# Function that changes the evidence of a round. Arguments: the round (from 1), its folder, and its client's folder.
Change = Callable[[int, Path, Path], None]
ROUNDS = (1, 2, 3)


def make(
    folder: Path,
    change: Change | None = None,
    phase: str = "run",
    systems: Sequence[str] = ("cassandra",),
    **about: Any,
) -> Path:
    """Writes an experiment with three rounds of 20 s and 1,000 reads per second."""
    for number, _, trial_folder in in_rounds(folder, len(ROUNDS), systems, phases=(phase,), **about):
        client = trial_folder / f"{phase}-1/node1"
        reads(client, [1000] * 20)
        if change:
            change(number, trial_folder, client)
    write_json(folder / "experiment.json", {"id": folder.name, "scenario": "workloadA"})
    return folder


def show(changes: regression.Changes) -> str:
    return " ".join(changes_shown(changes, 400).split())


# ---- Figures that are missing in one experiment ----------------------------------------------------------------------


def few(counts: Sequence[int], latency_us: int = 500, target: float = 50.0) -> Change:
    def change(number: int, _: Path, client: Path) -> None:
        count, more = divmod(counts[number - 1], 20)
        reads(client, [count + (second < more) for second in range(20)], latency_us)
        edit_json(client / "client.json", target=target)

    return change


MANY, SHORT, ONE_SHORT = [1001] * 3, [999] * 3, [1001, 999, 1001]


@pytest.mark.parametrize(
    ("before", "after", "latency_us", "code", "message"),
    [
        (MANY, SHORT, 90_000, 5, "READ p99 0.500 ms – inconclusive: not known in 3 of 3 rounds after"),
        (SHORT, MANY, 90_000, 5, "READ p99 – 90.0 ms inconclusive: not known in 3 of 3 rounds before"),
        (SHORT, SHORT, 90_000, 5, "inconclusive: not known in 3 of 3 rounds before and in 3 of 3 rounds after"),
        (MANY, [999, 1001, 999], 90_000, 5, "inconclusive: not known in 2 of 3 rounds after"),
        # Slow rounds have fewer operations, so the rounds with a p99 may be the better ones.
        (MANY, ONE_SHORT, 90_000, 5, "inconclusive: not known in 1 of 3 rounds after"),
        (ONE_SHORT, MANY, 90_000, 5, "inconclusive: not known in 1 of 3 rounds before"),
        (MANY, ONE_SHORT, 500, 5, "1.00× [1.00, 1.00] inconclusive: not known in 1 of 3 rounds after"),
        (MANY, ONE_SHORT, 100, 5, "inconclusive: not known in 1 of 3 rounds after: a p99 needs 1,000 operations"),
        (MANY, MANY, 500, 0, "within the margin"),
    ],
)
def test_a_p99_that_is_not_known_everywhere_is_named(
    tmp_path: Path, before: list[int], after: list[int], latency_us: int, code: int, message: str
) -> None:
    result = compared(make(tmp_path / "a", few(before)), make(tmp_path / "b", few(after, latency_us)))
    assert result.exit_code == code
    assert message in show(result)


def test_a_phase_or_a_maximum_that_only_one_has_is_named(tmp_path: Path) -> None:
    full = tmp_path / "a"
    for _, _, path in in_rounds(full, 3, ("cassandra",), phases=("read", "update")):
        for phase in ("read", "update"):
            reads(path / f"{phase}-1/node1", [1000] * 20)
    one_phase = make(tmp_path / "b", phase="read", trial_phases=[{"name": "read"}])
    for before, after, when in ((full, one_phase, "after"), (one_phase, full, "before")):
        assert compared(before, after).exit_code == 4
        result = regression.compare(summarise(before), summarise(after), force=True)
        assert result.exit_code == 5
        assert [(finding.phase, finding.figure, finding.reason) for finding in result.findings] == [
            ("update", "rec/s", f"not known {when}"),
            ("update", "READ p99", f"not known {when}: a p99 needs 1,000 operations"),
        ]
    searches = searched_rounds(tmp_path / "c", {"cassandra": [1000] * 3})
    result = regression.compare(summarise(searches), summarise(make(tmp_path / "d")), force=True)
    assert [(finding.figure, finding.reason) for finding in result.findings if finding.phase == "probe"] == [
        ("op/s", "not known after")
    ]


# ---- Target rates ----------------------------------------------------------------------------------------------------


def at_equal(target: float, rate: int, latency_us: int = 500) -> Change:
    def change(_: int, folder: Path, __: Path) -> None:
        shutil.copytree(folder / "max-1", folder / "equal-1")
        reads(folder / "equal-1/node1", [rate] * 20, latency_us)
        edit_json(folder / "equal-1/node1/client.json", target=target)

    return change


@pytest.mark.parametrize(
    ("before", "after", "verdicts", "code"),
    [
        ((700, 700), (700, 700), ("within", "within"), 0),
        ((700, 700), (700, 300, 900_000), ("regression", "regression"), 3),
        ((700, 700), (700, 300), ("regression", "inconclusive"), 3),
        ((700, 300, 900_000), (700, 700), ("improvement", "improvement"), 0),
        # The targets differ: each is a share of its experiment's maximum. Rates are capped at the lower target.
        ((700, 700), (714, 714), ("within", "within"), 0),
        ((700, 700), (1400, 1300), ("within", "within"), 0),
        ((700, 700), (1400, 500), ("regression", "inconclusive"), 3),
        # Latency rises with the rate. A lower rate can only prove a regression, a higher one only an improvement.
        ((700, 700), (500, 500), ("within", "inconclusive"), 5),
        ((700, 700), (500, 500, 900), ("within", "regression"), 3),
        ((700, 700), (1400, 1400, 900), ("within", "inconclusive"), 5),
        ((700, 700), (1400, 1400, 200), ("within", "improvement"), 0),
    ],
)
def test_the_rate_that_was_asked_for_is_a_figure(
    tmp_path: Path, before: tuple[int, ...], after: tuple[int, ...], verdicts: tuple[str, str], code: int
) -> None:
    first, second = (
        make(tmp_path / name, at_equal(*rates), "max", trial_phases=[{"name": "max"}, {"name": "equal"}])
        for name, rates in (("a", before), ("b", after))
    )
    result = compared(first, second)
    assert [(change.pair.figure, change.verdict) for change in result.changes if change.pair.phase == "equal"] == [
        ("ops_per_second", verdicts[0]), ("p99_ms", verdicts[1])
    ]  # fmt: skip
    assert result.exit_code == code


# ---- Missing systems -------------------------------------------------------------------------------------------------


def test_a_system_or_a_point_that_is_missing_afterwards_is_a_problem(tmp_path: Path) -> None:
    two_systems, one_system = make(tmp_path / "a", systems=("cassandra", "hbase")), make(tmp_path / "b")
    result = compared(two_systems, one_system)
    assert (result.exit_code, result.problems, result.single) == (1, ["hbase is only in a"], [])
    # A new system is not a regression.
    result = compared(one_system, two_systems)
    assert (result.exit_code, result.problems, result.single) == (0, [], ["hbase is only in a"])
    at_points = tmp_path / "c"
    for size in (1, 2):
        for number in ROUNDS:
            point: dict[str, Any] = {"trial_point": {"batchsize": str(size)}, "trial_round": number, "trial_rounds": 3}
            reads(trial(at_points, 3 * size + number, "cassandra", repeats=1, **point) / "run-1/node1", [1000] * 20)
    fewer = summarise(at_points)
    fewer = replace(fewer, merged=fewer.merged[:1], trials=fewer.trials[:3])
    result = regression.compare(summarise(at_points), fewer)
    assert (result.exit_code, result.problems) == (1, ["cassandra batchsize=2 is only in c"])


@pytest.mark.parametrize(("skipped", "code"), [("before", 0), ("after", 1), ("both", 0)])
def test_a_system_that_was_skipped(tmp_path: Path, skipped: str, code: int) -> None:
    folders = {name: make(tmp_path / name, systems=("cassandra", "hbase")) for name in ("before", "after")}
    for name in folders if skipped == "both" else (skipped,):
        for folder in (folders[name] / "raw").glob("*-hbase"):
            write_json(folder / "state.json", {"status": "skipped", "reason": "no server"})
    result = compared(folders["before"], folders["after"])
    assert result.exit_code == code
    expected = (
        "hbase in after: skipped: no server" if skipped == "after" else f"hbase was skipped in {skipped}: no server"
    )
    assert [*result.problems, *result.single] == [expected]


# ---- Shares ----------------------------------------------------------------------------------------------------------


def failing(counts: Sequence[int]) -> Change:
    """Returns a change that adds reads that timed out after 9 s; `counts` is their number in each round."""

    def change(number: int, _: Path, client: Path) -> None:
        if count := counts[number - 1]:
            write_log(client, "READ-FAILED", [(0.0, 1.0, {9_000_000: count})])
            with (client / "result.txt").open("a") as result:
                result.write(f"[READ-FAILED], Operations, {count}\n[READ], Return=TIMEOUT, {count}\n")
            statuses = {"OK": 20_000, "TIMEOUT": count}
            about: dict[str, Any] = {"operations_by_type": {"READ": {"statuses": statuses}}, "first_error": "TIMEOUT"}
            edit_json(client / "client.json", failed_operations=count, **about)

    return change


def looking_up(of_round: Callable[[int], tuple[int, int]]) -> Change:
    """Returns a change that sets how many reads find a record, and how many find none, in each second of a round."""

    def change(number: int, folder: Path, client: Path) -> None:
        hits, misses = of_round(number)
        reads(client, [hits] * 20, not_found=[misses] * 20 if misses else ())
        edit_json(folder / "trial.json", trial_phases=[{"name": "run", "maxnotfoundrate": 1.0}])

    return change


def finding_nothing(share: float) -> Change:
    return looking_up(lambda _: (1000, round(1000 * share / (1 - share))))


ACCOUNT = {"sample": 1, "acknowledged": 1000, "reads": 20_000, "keys": 1000, "read_back": True}


def accounted(of_rounds: Sequence[dict[str, int] | None], consistency: str = "eventual") -> Change:
    def change(number: int, folder: Path, client: Path) -> None:
        account = of_rounds[number - 1]
        if account is not None:
            edit_json(client / "client.json", accounting={**ACCOUNT, **account})
        edit_json(folder / "conditions.json", consistency=consistency)

    return change


def stale(*counts: int) -> Change:
    return accounted([{"stale_reads": count} for count in counts])


@pytest.mark.parametrize(
    ("before", "after", "figure", "verdict", "code"),
    [
        (failing([0] * 3), failing([15] * 3), "errors", "regression", 3),
        (failing([15] * 3), failing([0] * 3), "errors", "improvement", 0),
        (failing([15] * 3), failing([15, 16, 14]), "errors", "inconclusive", 5),
        # One timeout in 60,000 reads is not a change, but 15 timeouts in one of three rounds may be.
        (failing([0] * 3), failing([0, 1, 0]), "errors", "within", 0),
        (failing([0] * 3), failing([15, 0, 0]), "errors", "inconclusive", 5),
        (finding_nothing(0), finding_nothing(0.9), "not found", "regression", 3),
        (finding_nothing(0.9), finding_nothing(0), "not found", "improvement", 0),
        (finding_nothing(0.5), finding_nothing(0.5), "not found", "within", 0),
        (stale(0, 0, 0), stale(19_000, 19_000, 19_000), "stale reads", "regression", 3),
        (stale(9_000, 9_100, 9_050), stale(9_020, 9_000, 9_060), "stale reads", "within", 0),
        (stale(0, 0, 0), stale(0, 19_000, 0), "stale reads", "inconclusive", 5),
        (stale(0, 0, 0), accounted([{}, {}, None]), "stale reads", "inconclusive", 5),
        (stale(0, 0, 0), accounted([None] * 3), "stale reads", "inconclusive", 5),
    ],
)
def test_shares_are_judged(tmp_path: Path, before: Change, after: Change, figure: str, verdict: str, code: int) -> None:
    result = compared(make(tmp_path / "a", before), make(tmp_path / "b", after))
    assert [(finding.figure, finding.verdict) for finding in result.findings] == [(figure, verdict)]
    assert result.exit_code == code
    assert f"cassandra {figure} " in show(result)


def test_the_share_of_scans_that_fail_is_of_scans_and_not_of_their_rows(tmp_path: Path) -> None:
    summary = summarise(make(tmp_path))
    result = summary.trials[0]
    rows = [
        replace(row, operation="SCAN", operations=10, records=1000, errors=10)
        for row in result.rows
        if (row.phase, row.operation) == ("run", "READ")
    ]
    assert findings._records(replace(result, rows=rows), "run", "errors") == (10, 20)


def test_scans_of_another_length_are_inconclusive(tmp_path: Path) -> None:
    (first, *_) = summarise(make(tmp_path)).trials
    (read,) = (row for row in first.rows if (row.phase, row.operation) == ("run", "READ"))

    def scanning(rows: int) -> list[Any]:
        return [replace(first, rows=[replace(read, operation="SCAN", operations=1000, records=1000 * rows)])] * 3

    for rows, verdicts in ((100, []), (97, []), (5, ["inconclusive"]), (200, ["inconclusive"]), (0, ["inconclusive"])):
        results = list(findings.findings(scanning(100), scanning(rows), 0.05))
        assert [(finding.verdict) for finding in results if finding.figure == "rows per scan"] == verdicts


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ([{}] * 3, [{"lost": 900}] * 3, 3),
        ([{}] * 3, [{}, {}, {"missing": 1}], 3),
        ([{"lost": 1}, {}, {}], [{"lost": 900}] * 3, 3),
        ([{}] * 3, [{"corrupt": 1}] * 3, 3),
        ([{}] * 3, [{"unwritten_reads": 1}, {}, {}], 3),
        # The rounds of both experiments are invalid, and the losses did not increase.
        ([{"lost": 900}] * 3, [{"lost": 900}] * 3, 1),
        ([{}] * 3, [{}] * 3, 0),
    ],
)
def test_a_loss_without_faults_is_a_regression_although_the_rounds_are_invalid(
    tmp_path: Path, before: list[dict[str, int]], after: list[dict[str, int]], code: int
) -> None:
    result = compared(make(tmp_path / "a", accounted(before)), make(tmp_path / "b", accounted(after)))
    assert result.exit_code == code
    assert {finding.verdict for finding in result.findings} == ({"regression"} if code == 3 else set())


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.5, 3, 30])
def test_of_identical_counts_few_are_a_regression(mean: float) -> None:
    rng = random.Random(37)  # noqa: S311  a simulation

    def drawn() -> list[tuple[int, int]]:
        # The expected number per 20,000 reads varies, as if some rounds had bursts.
        means = [mean * rng.lognormvariate(0, 0.5) for _ in ROUNDS]
        return [(sum(rng.random() < rate / 2000 for _ in range(2000)), 20_000) for rate in means]

    verdicts = [findings._judged(drawn(), drawn(), 0.05)[0] for _ in range(300)]
    assert verdicts.count("regression") <= 0.05 * len(verdicts)


# ---- Reasons for doubt -----------------------------------------------------------------------------------------------


def served(*counts: int) -> Change:
    """Returns a change that sets the number of reads in each second of every round."""
    return lambda _, __, client: reads(client, counts)


def deviating(_: int, folder: Path, __: Path) -> None:
    edit_json(folder / "conditions.json", differences=["heap: requested '4g', but the server has '1g'"])


def unsettled(_: int, folder: Path, __: Path) -> None:
    edit_json(folder / "conditions.json", notes=["not settled: 3 compactions pending"])


FALLS, STANDS = served(*[1500] * 10, *[500] * 10), served(*[2000] * 10, *[0] * 10)


@pytest.mark.parametrize(
    ("change", "message", "before_alone"),
    [
        (FALLS, "Not steady: ", 0),
        (STANDS, "Collapsed: ", 0),
        # The result improved, but not because of the system.
        (deviating, "Not as the scenario requests: ", 5),
        (unsettled, "Measured before the servers had settled: ", 5),
    ],
)
def test_a_caution_of_one_experiment_is_named(tmp_path: Path, change: Change, message: str, before_alone: int) -> None:
    usual, changed = make(tmp_path / "a"), make(tmp_path / "b", change)
    after = compared(usual, changed)
    assert after.exit_code == 5
    assert f"cassandra, only after: {message}" in show(after)
    before = compared(changed, usual)
    assert before.exit_code == before_alone
    assert f"cassandra, only before: {message}" in show(before)
    twice = compared(changed, changed)
    assert twice.exit_code == 0
    assert show(twice).count(message) == 1


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (served(*[1300] * 10, *[700] * 10), FALLS, 5),
        (FALLS, served(*[1300] * 10, *[700] * 10), 0),
        (STANDS, served(*[3333] * 3, *[0] * 10, *[1428] * 7), 0),
        (served(*[2000] * 20, *[0] * 20), served(*[2000] * 10, *[0] * 10, *[2000] * 10, *[0] * 10), 5),
    ],
)
def test_a_caution_of_both_that_grew_is_inconclusive(tmp_path: Path, before: Change, after: Change, code: int) -> None:
    result = compared(make(tmp_path / "a", before), make(tmp_path / "b", after))
    assert {caution.holds for caution in result.cautions} >= {"both"}
    assert max(caution.verdict == "inconclusive" for caution in result.cautions if caution.holds == "both") == (
        code == 5
    )


def test_a_caution_applies_to_its_system_only(tmp_path: Path) -> None:
    """An unsteady system in the first experiment must not excuse another unsteady system in the second."""
    names = ("cassandra", "hbase")

    def only(system: str) -> Change:
        return lambda number, folder, client: FALLS(number, folder, client) if system in folder.name else None

    before, after = (make(tmp_path / name, only(name), systems=names) for name in names)
    result = compared(before, after)
    assert [(caution.system, caution.holds, caution.verdict) for caution in result.cautions] == [
        ("cassandra", "before", None), ("hbase", "after", "inconclusive")
    ]  # fmt: skip
    assert result.exit_code == 5


# ---- Hosts -----------------------------------------------------------------------------------------------------------


def on_hosts(
    speed: float | None,
    rate: int = 1000,
    host: str = "node1",
    figure: str = "cpu_one",
    step: int = 1,
    latency_us: int = 500,
) -> Change:
    def change(number: int, folder: Path, client: Path) -> None:
        reads(client, [rate] * 20, latency_us)
        if speed is not None:
            canary(folder, {figure: [1000 * speed + step * (index + number) for index in range(7)]}, host)

    return change


@pytest.mark.parametrize(
    ("after", "verdict", "code", "text"),
    [
        (on_hosts(1), "within", 0, ""),
        # The slower host may explain the entire difference.
        (on_hosts(0.6, 600), "inconclusive", 5, "computing on one thread was 40 % slower before the second experiment"),
        (on_hosts(0.6, 650), "inconclusive", 5, "inconclusive: the hosts compute at 0.60× their earlier speed"),
        # The slower host explains only a part of the difference.
        (on_hosts(0.6, 300), "regression", 3, "40 % slower"),
        # The faster host may hide a regression.
        (on_hosts(1.6, 1000), "inconclusive", 5, "the hosts compute at 1.60× their earlier speed"),
        (on_hosts(1.6, 1600), "inconclusive", 5, "the hosts compute at 1.60× their earlier speed"),
        (on_hosts(1.6, 2000, latency_us=200), "improvement", 0, "37 % slower before the first experiment"),
        # The result is not worse, although the host is slower.
        (on_hosts(0.6, 1000), "within", 0, "40 % slower"),
        (on_hosts(None), "within", 5, "The hosts have no canary in the second experiment, so they may have differed"),
        (on_hosts(None, 600), "regression", 3, "The hosts have no canary in the second experiment"),
        # The experiments ran on different hosts, so the hosts are part of the comparison.
        (on_hosts(0.6, 600, host="node2"), "regression", 3, "No host has a canary in both"),
        (on_hosts(0.7, 1000, step=80), "within", 0, "too unsteady to tell"),
    ],
)
def test_hosts_are_compared_across_the_two(tmp_path: Path, after: Change, verdict: str, code: int, text: str) -> None:
    result = compared(make(tmp_path / "a", on_hosts(1)), make(tmp_path / "b", after))
    assert [change.verdict for change in result.changes if change.pair.operation == "OVERALL"] == [verdict]
    assert result.exit_code == code
    assert text in show(result)


def test_a_slower_disk_is_named(tmp_path: Path) -> None:
    first, second = (
        make(tmp_path / name, on_hosts(speed, rate, figure="disk_fsync"))
        for name, speed, rate in (("a", 1, 1000), ("b", 0.5, 600))
    )
    result = compared(first, second)
    assert result.exit_code == 3
    assert "disk writes with fsync were 50 % slower before the second experiment" in show(result)


def test_a_latency_that_the_hosts_explain_is_inconclusive(tmp_path: Path) -> None:
    result = compared(make(tmp_path / "a", on_hosts(1)), make(tmp_path / "b", on_hosts(0.6, latency_us=800)))
    assert [change.verdict for change in result.changes] == ["within", "inconclusive"]


# ---- One round -------------------------------------------------------------------------------------------------------


def test_one_slow_round_of_five_is_no_regression(tmp_path: Path) -> None:
    def reads_of(slow: Sequence[int]) -> Path:
        folder = tmp_path / "-".join(map(str, slow))
        for number, count in enumerate(slow, start=1):
            path = trial(folder, number, "cassandra", repeats=1, trial_round=number, trial_rounds=len(slow))
            client = path / "run-1/node1"
            latencies(client, {500: 20_000 - count, 60_000: count})
            edit_json(client / "client.json", target=0)
        return folder

    result = compared(reads_of([0] * 5), reads_of([0, 0, 1200, 0, 0]))
    (p99,) = [change for change in result.changes if change.pair.figure == "p99_ms"]
    assert (p99.verdict, result.exit_code) == ("inconclusive", 5)


@pytest.mark.parametrize(("before", "after", "code"), [(1000, 0, 3), (0, 1000, 5), (0, 0, 5)])
def test_a_rate_of_0_has_no_ratio_and_is_compared(tmp_path: Path, before: int, after: int, code: int) -> None:
    # If no read finds a record, there is no p99 either, so the exit code is 5, or 3 for a regression.
    first = make(tmp_path / "a", looking_up(lambda _: (before, 1000)))
    changes = compared(first, make(tmp_path / "b", looking_up(lambda _: (after, 1000))))
    (rates,) = (entry for entry in changes.findings if entry.figure == "rec/s")
    assert (rates.before, rates.after) == ([before], [after])
    assert changes.exit_code == code
    assert two_experiments.compare(str(tmp_path / "a"), str(tmp_path / "b"), 0.05, "table") == code


def found_in(*rounds: int) -> Change:
    """Returns a change after which reads find records only in these rounds."""
    return looking_up(lambda number: (1000, 0) if number in rounds else (0, 1000))


@pytest.mark.parametrize(("before", "after"), [((1,), ()), ((), (1,)), ((1, 2, 3), (1, 3))])
def test_rounds_of_0_in_both_are_inconclusive(tmp_path: Path, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    changes = compared(make(tmp_path / "a", found_in(*before)), make(tmp_path / "b", found_in(*after)))
    rates = [(entry.verdict, entry.reason) for entry in changes.findings if entry.figure == "rec/s"]
    rates += [(change.verdict, change.reason) for change in changes.changes if change.pair.operation == "OVERALL"]
    assert rates == [("inconclusive", "a round at a rate of 0 has no ratio")]
    assert changes.exit_code == 5


@pytest.mark.parametrize(("before", "after"), [((1,), ()), ((), (1,)), ((), ())])
def test_a_single_round_of_0_is_inconclusive(tmp_path: Path, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    for folder, rounds in zip("ab", (before, after), strict=True):
        path = trial(tmp_path / folder, 1, "cassandra", repeats=1)
        found_in(*rounds)(1, path, path / "run-1/node1")
    changes = compared(tmp_path / "a", tmp_path / "b")
    (rates,) = (entry for entry in changes.findings if entry.figure == "rec/s")
    assert (rates.verdict, rates.reason, changes.exit_code) == ("inconclusive", "one run each", 5)


def test_a_round_without_an_operation_does_not_know_its_p99(tmp_path: Path) -> None:
    def skipping(*rounds: int) -> Change:
        def change(number: int, _: Path, client: Path) -> None:
            reads(client, [1000] * 20)
            if number in rounds:
                for name in ("client.json", "result.txt"):
                    file = client / name
                    file.write_text(file.read_text("utf-8").replace("READ", "UPDATE"), "utf-8")
                log = client / "READ.hdr"
                (client / "UPDATE.hdr").write_text(log.read_text("utf-8").replace("READ", "UPDATE"), "utf-8")
                log.unlink()

        return change

    changes = compared(make(tmp_path / "a", skipping()), make(tmp_path / "b", skipping(3)))
    (p99,) = (comparison for comparison in changes.changes if comparison.pair.operation == "READ")
    assert p99.reason == "not known in 1 of 3 rounds after: a p99 needs 1,000 operations"
    assert changes.exit_code == 5


def test_rates_of_few_operations_are_inconclusive(tmp_path: Path) -> None:
    def counting(operations: int) -> Change:
        return served(*[1] * operations, *[0] * (20 - operations))

    changes = compared(make(tmp_path / "a", counting(10)), make(tmp_path / "b", counting(12)))
    assert [change.verdict for change in changes.changes] == ["inconclusive"]


def test_points_are_the_same_in_any_order_of_dimensions(tmp_path: Path) -> None:
    first, second = ({"batchsize": "1", "threadcount": "2"}, {"threadcount": "2", "batchsize": "1"})
    changes = compared(make(tmp_path / "a", trial_point=first), make(tmp_path / "b", trial_point=second))
    assert (changes.problems, changes.exit_code) == ([], 0)
