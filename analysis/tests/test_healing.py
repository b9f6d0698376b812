"""Tests how the healing after a fault is read from logs of killed servers, and what such logs cannot show."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from dohyo.evidence import fault_costs
from dohyo.evidence.fault_costs import FaultCost
from dohyo.evidence.healing import Healing, HealingLogs
from dohyo.evidence.server_log import HEALING
from dohyo.places import ANSIBLE
from dohyo.report import chart_data
from dohyo.report.charts import faults
from dohyo.summary.summary import summarise
from dohyo.systems.catalogue import all_systems
from dohyo.tables import fault_table
from support.evidence import DATA, edit_json, explained, rendered
from support.faults import ACCOUNT, faulted

LOGS = DATA / "servers" / "healing"
# Start of the window of each trial (epoch seconds). The server was killed in second 20 and restarted in second 25.
BEGAN = {
    "cassandra": 1795622295.932, "hbase": 1795622934.847, "aerospike": 1795623290.322,
    "mysql-innodb": 1795620131.702, "postgresql": 1795620798.218, "scylla": 1795853375.309,
}  # fmt: skip


# Folder for copies of recorded logs. It is removed when the process exits.
_COPIES = tempfile.TemporaryDirectory(prefix="dohyo-healing-")


@cache
def recorded(name: str, system: str) -> Path:
    """Returns a copy of logs in tests/data/servers, and of the file that describes the system's log lines."""
    return explained(shutil.copytree(DATA / "servers" / name, Path(_COPIES.name, name)), system, HEALING)


def healing(folder: Path, system: str, since: float = 20, until: float = 80) -> dict[str, Healing]:
    logs = HealingLogs(explained(folder, system, HEALING), pytest.fail)
    return {did.what: did for did in logs.after(since, until, BEGAN[system], {})}


def figures(did: Healing) -> tuple[int | None, float | None, list[float | None]]:
    return (
        did.count,
        did.amount,
        [None if time is None else round(time, 1) for time in (did.begin, did.end, did.seconds)],
    )


@pytest.mark.parametrize(
    ("system", "kind", "expected"),
    [
        # The log itself says 12,003 ms.
        ("cassandra", "commit log replayed", (1, 17066, [49.9, 61.9, 12.0])),
        # The log itself says "in 29.0480 sec", which is measured from another line.
        ("hbase", "server crash handled", (1, None, [57.4, 86.1, 28.7])),
        ("hbase", "write-ahead log split", (4, 17 + 8557 + 4246 + 8858, [61.9, 78.6, 7.9])),
        ("hbase", "region assigned", (6, None, [62.8, 85.9, 9.6])),
        ("aerospike", "index rebuilt from the device", (1, 100002, [24.7, 26.7, 2.0])),
        ("mysql-innodb", "crash recovery", (1, None, [25.3, 26.3, 1.0])),
        ("postgresql", "crash recovery", (1, None, [25.2, 27.2, 2.0])),
        ("scylla", "commit log replayed", (1, 4228, [28.3, 29.3, 1.1])),
    ],
)
def test_a_server_that_was_killed_says_how_it_recovered(
    system: str, kind: str, expected: tuple[int | None, float | None, list[float | None]]
) -> None:
    did = healing(recorded(f"healing/{system}", system), system)[kind]
    assert figures(did) == expected
    assert (did.hosts, did.unfinished) == (["localhost"], 0)


def of_cluster(system: str, killed: float) -> dict[str, Healing]:
    """Returns how a cluster healed, by kind of work. Its second node was killed 20 s after the start of the window."""
    logs = HealingLogs(recorded(f"healing-cluster/{system}", system), pytest.fail)
    return {did.what: did for did in logs.after(20, 100, killed - 20, {})}


def test_a_node_that_returns_gets_hints_of_the_other_one() -> None:
    did = of_cluster("cassandra", 1795637893.352)
    assert figures(did["hints file sent"]) == (1, None, [80.9, 80.9, None])
    assert did["hints file sent"].hosts == ["host1"]
    assert (did["commit log replayed"].count, did["commit log replayed"].hosts) == (1, ["host2"])


def test_partitions_migrate_when_a_node_is_lost_and_when_it_returns() -> None:
    did = of_cluster("aerospike", 1795637891.224)["partitions migrated"]
    # The restarted node migrated partitions once, the other two nodes twice. Migrations without work do not count.
    assert figures(did) == (5, None, [21.8, 49.8, 16.0])
    assert did.hosts == ["host1", "host2", "host3"]


def test_a_replica_that_returns_follows_the_primary_again() -> None:
    did = of_cluster("mysql-innodb", 1795649139.542)
    # The third host did not lose its primary until the end, when all servers were stopped.
    assert figures(did["replica follows again"]) == (1, None, [51.5, 51.5, None])
    assert did["replica follows again"].hosts == ["host2"]
    assert figures(did["crash recovery"]) == (1, None, [45.5, 51.5, 6.0])


def test_a_standby_that_returns_replays_its_log_and_catches_up() -> None:
    did = of_cluster("postgresql", 1795649495.656)
    # A standby accepts connections before it has replayed its log, so its crash recovery ends early.
    assert figures(did["crash recovery"]) == (1, None, [46.2, 48.8, 2.6])
    assert figures(did["standby acknowledges again"]) == (1, None, [49.4, 49.4, None])
    assert did["standby acknowledges again"].hosts == ["host1"]


@pytest.mark.parametrize("system", BEGAN)
def test_a_server_that_was_not_killed_has_not_recovered(system: str) -> None:
    for did in healing(recorded(f"healing/{system}", system), system, since=80, until=100).values():
        # A primary without standbys does not wait for any, so the count is unknown.
        count = None if did.what == "standby acknowledges again" else 0
        assert figures(did) == (count, None, [None, None, None])
        assert did.hosts == []


def test_every_system_whose_lines_are_known_is_tested() -> None:
    with_rules = {path.parent.name for path in (ANSIBLE / "systems").glob(f"*/{HEALING}")}
    assert with_rules == {all_systems()[system].role for system in BEGAN}


def test_what_no_log_tells_is_not_nothing(tmp_path: Path) -> None:
    host = tmp_path / "localhost"
    host.mkdir()
    unknown = (None, None, [None, None, None])
    assert figures(healing(tmp_path, "postgresql")["crash recovery"]) == unknown
    # The log from before the fault is missing, so it is unknown whether the server recovered.
    (host / "log").write_text((LOGS / "postgresql/localhost/log").read_text(encoding="utf-8"), encoding="utf-8")
    assert figures(healing(tmp_path, "postgresql")["crash recovery"]) == unknown


def test_the_log_of_another_product_does_not_tell(tmp_path: Path) -> None:
    host = tmp_path / "localhost"
    host.mkdir()
    for name in ("log", "log.1"):
        text = (LOGS / "mysql-innodb/localhost" / name).read_text(encoding="utf-8")
        (host / name).write_text(text.replace("Starting MariaDB", "Starting mysqld"), encoding="utf-8")
    assert healing(tmp_path, "mysql-innodb")["crash recovery"].count is None


def test_what_has_not_ended_is_said(tmp_path: Path) -> None:
    host = tmp_path / "localhost"
    host.mkdir()
    for name in ("log", "log.1"):
        lines = (LOGS / "postgresql/localhost" / name).read_text(encoding="utf-8").splitlines(keepends=True)
        unfinished = [line for line in lines if name == "log.1" or "ready to accept" not in line]
        (host / name).write_text("".join(unfinished), encoding="utf-8")
    did = healing(tmp_path, "postgresql")["crash recovery"]
    assert (did.count, did.unfinished, did.end, did.seconds) == (0, 1, None, None)
    assert did.begin == pytest.approx(25.2, abs=0.1)


FAULT = FaultCost("kill", "any", ["localhost"], 10.5, None, 50, 0, None, None, None, None, None, None, None)
BEGUN, ENDED = "database system was interrupted", "database system is ready to accept connections"
ZERO = 1795620000.0


# A line of each system's log.
LINES = {
    "postgresql": "{time:%F %T.%f} UTC [1] LOG:  {rest}\n",
    "hbase": "{time:%F %T},000 INFO  [x] {rest}\n",
    "aerospike": "{time:%b %d %Y %T} GMT: INFO (x): (x.c:1) {{ycsb}} {rest}\n",
}


def written(folder: Path, name: str, lines: Sequence[tuple[float, str]], system: str = "postgresql") -> HealingLogs:
    """Writes a log with the given lines, each at its number of seconds after `ZERO`, and returns the server's logs."""
    (folder / "localhost").mkdir(exist_ok=True)
    times = [(datetime.fromtimestamp(ZERO + second, UTC), rest) for second, rest in lines]
    text = "".join(LINES[system].format(time=time, rest=rest) for time, rest in times)
    (folder / "localhost" / name).write_text(text, encoding="utf-8")
    return HealingLogs(explained(folder, system, HEALING), pytest.fail)


def recovered(healings: Sequence[Healing]) -> Healing:
    (did,) = (item for item in healings if item.what == "crash recovery")
    return did


@pytest.mark.parametrize("late", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(("second", "counts"), [(60.1, [0, 1]), (60.3, [1, 0])])
def test_what_began_before_a_fault_is_that_of_the_one_before(
    tmp_path: Path, late: float, second: float, counts: list[int]
) -> None:
    # The window does not begin on a whole second, so its seconds differ from those of the clock.
    logs = written(tmp_path, "log", [(0, "starting"), (late + 60.2, BEGUN), (late + 60.4, ENDED)])
    kills = [replace(FAULT, at=time, until=time + 9) for time in (10.5, second)]
    healed_faults = fault_costs.healed(kills, logs, ZERO + late, {}, 90.0)
    assert [recovered(fault.healing).count for fault in healed_faults] == counts


@pytest.mark.parametrize(
    ("until", "pause", "counts"),
    [
        (30.0, 15.0, [1, 1]),  # the pause begins while the server is still down
        (30.0, 30.5, [1, 1]),
        (30.0, 31.0, [0, 1]),
        (None, 50.0, [1, 0]),
        (30.0, 70.0, [1, 0]),
    ],
)
def test_what_servers_did_while_faults_overlapped_counts_for_each(
    tmp_path: Path, until: float | None, pause: float, counts: list[int]
) -> None:
    logs = written(tmp_path, "log", [(0, "starting"), (32, BEGUN), (34, ENDED)])
    faults = [replace(FAULT, at=10.0, until=until), replace(FAULT, kind="pause", at=pause, until=pause + 10)]
    healed_faults = fault_costs.healed(faults, logs, ZERO, {}, 90.0)
    assert [recovered(fault.healing).count for fault in healed_faults] == counts


def test_a_shutdown_that_was_interrupted_is_recovered_from(tmp_path: Path) -> None:
    begun = "database system shutdown was interrupted; last known up at 2026-11-25 23:00:00 UTC"
    logs = written(tmp_path, "log", [(0, "starting"), (15, begun), (29, ENDED)])
    did = recovered(logs.after(10, 90, ZERO, {}))
    assert (did.count, did.begin, did.end) == (1, 15, 29)


def test_a_split_that_was_cancelled_is_done_by_another_server(tmp_path: Path) -> None:
    done = "wal.WALSplitter: Processed {} edits across 3 Regions in 900 ms; cancelled={}"
    lines = [(0, "starting"), (20, done.format(9000, "true")), (24, done.format(9100, "false"))]
    healings = written(tmp_path, "regionserver-1.log", lines, "hbase").after(10, 90, ZERO, {})
    assert [(did.count, did.amount) for did in healings if did.what == "write-ahead log split"] == [(1, 9100)]


def test_a_server_that_is_killed_while_it_recovers_has_not_finished(tmp_path: Path) -> None:
    written(tmp_path, "log.1", [(0, "starting")])
    written(tmp_path, "log.2", [(15, BEGUN), (19, "redo starts")])
    logs = written(tmp_path, "log", [(25, BEGUN), (29, ENDED)])
    spans = [(10, 20), (20, 90), (10, 90)]
    healings = [recovered(logs.after(*span, ZERO, {})) for span in spans]
    assert [(did.count, did.unfinished, did.begin, did.end) for did in healings] == [
        (0, 1, 15, None), (1, 0, 25, 29), (1, 0, 25, 29)
    ]  # fmt: skip


def test_a_master_that_is_killed_again_finishes_what_it_has_begun() -> None:
    # The server was killed in seconds 5, 24 and 46. The master began to handle the first crash before the last kill.
    # The log says that this took 40.9650 s.
    logs = HealingLogs(recorded("healing-again/hbase", "hbase"), pytest.fail)
    zero = 1795649971.693
    by_kind = {did.what: did for did in logs.after(24, 46, zero, {})}
    assert figures(by_kind["server crash handled"]) == (1, None, [41.9, 82.4, 40.5])
    assert by_kind["server crash handled"].unfinished == 0
    by_kind = {did.what: did for did in logs.after(46, 99, zero, {})}
    assert figures(by_kind["server crash handled"]) == (1, None, [66.6, 76.1, 9.5])
    # The servers were stopped before the crash of the last kill was handled.
    by_kind = {did.what: did for did in logs.after(99, 120, zero, {})}
    assert (by_kind["server crash handled"].count, by_kind["server crash handled"].unfinished) == (0, 1)


def test_a_number_that_a_master_gives_again_is_not_the_same_crash(tmp_path: Path) -> None:
    scheduled = "AssignmentManager: Scheduled ServerCrashProcedure pid={} for {},16020,1 (carryingMeta=false)"
    finished = "Finished pid={}, state=SUCCESS; ServerCrashProcedure {},16020,1, splitWal=true, meta=false in 1 sec"
    starting = "assignment.TransitRegionStateProcedure: Starting pid={}, ppid=9, state=X; {}"
    assigned = "Finished pid={}, ppid=9, state=SUCCESS; {} in 1.6360 sec"
    region = "TransitRegionStateProcedure table=t, region={}, ASSIGN"
    begun = [(11, scheduled.format(7, "a")), (12, starting.format(8, region.format("0a")))]
    # The kill removed these tasks from the master's store, so the master uses their numbers again.
    again = [(30, scheduled.format(7, "b")), (31, scheduled.format(8, "a")), (35, finished.format(7, "b")),
             (36, starting.format(10, region.format("0a"))), (37, starting.format(12, region.format("0b"))),
             (38, assigned.format(12, region.format("0b"))), (39, assigned.format(10, region.format("0a"))),
             (40, finished.format(8, "a"))]  # fmt: skip
    written(tmp_path, "log.1", [(0, "starting"), *begun], "hbase")
    logs = written(tmp_path, "log", again, "hbase")
    first, then = ({did.what: figures(did) for did in logs.after(*span, ZERO, {})} for span in ((10, 20), (20, 90)))
    assert [done["server crash handled"] for done in (first, then)] == [(1, None, [11, 40, 29]), (1, None, [30, 35, 5])]
    assert [done["region assigned"] for done in (first, then)] == [(1, None, [12, 39, 27]), (1, None, [37, 38, 1])]


def test_a_primary_without_standbys_does_not_tell_when_one_acknowledges_again(tmp_path: Path) -> None:
    name, candidate = "standby acknowledges again", 'standby "host2" is now a candidate for quorum synchronous standby'
    logs = written(tmp_path, "log", [(0, "starting"), (99, "stopping")])
    assert {did.what: did.count for did in logs.after(10, 90, ZERO, {})} == {"crash recovery": 0, name: None}
    logs = written(tmp_path, "log", [(0, "starting"), (3, candidate), (99, "stopping")])
    assert {did.what: did.count for did in logs.after(10, 90, ZERO, {})} == {"crash recovery": 0, name: 0}


def test_a_node_that_returns_while_partitions_migrate_does_not_hide_when_they_began(tmp_path: Path) -> None:
    events = [(22, "rebalanced: expected-migrations (9,8,9)"), (82, "rebalanced: expected-migrations (9,0,8)")]
    events = [(0, "migrations: complete"), *events, (140, "migrations: complete")]
    logs = written(tmp_path, "log", events, "aerospike")
    by_kind = {did.what: figures(did) for did in logs.after(20, 200, ZERO, {})}
    assert by_kind["partitions migrated"] == (2, None, [22, 140, 118])


def test_without_a_log_of_the_host_that_had_the_fault_nothing_is_known(tmp_path: Path) -> None:
    logs = written(tmp_path, "log", [(0, "starting"), (99, "stopping")])
    hosts: list[list[str]] = [["localhost"], ["localhost", "node2"]]
    assert [recovered(logs.after(10, 90, ZERO, {}, host)).count for host in hosts] == [0, None]


def test_a_damaged_description_is_a_warning(tmp_path: Path) -> None:
    """The description is read like that of background work; `test_servers` has more damages."""
    (tmp_path / HEALING).write_text("a b: {files: log, end: x, note: y}\n")
    warnings: list[str] = []
    assert HealingLogs(tmp_path, warnings.append).after(0, 9, 0, {}) == []
    (warning,) = warnings
    assert "unknown field `note`" in warning


def healed(experiment: Path) -> Path:
    """Writes a trial whose server was killed and recovered. The window of the fault contains real log lines."""
    folder = faulted(experiment, account=ACCOUNT)
    edit_json(folder / "run-1/faults.json", window_began=BEGAN["cassandra"] + 30, window_ended=BEGAN["cassandra"] + 60)
    host = explained(folder / "server", "cassandra", HEALING) / "node1"
    host.mkdir(exist_ok=True)
    for name in ("log", "log.1"):
        (host / name).write_text((LOGS / "cassandra/localhost" / name).read_text(encoding="utf-8"), encoding="utf-8")
    return folder


def test_recovery_is_in_the_table_and_in_summary_json(tmp_path: Path) -> None:
    healed(tmp_path)
    summary = summarise(tmp_path)
    shown = rendered(summary, 200)
    assert "how the servers healed" in shown
    (line,) = [line for line in shown.splitlines() if "commit log replayed" in line]
    assert line.split()[-5:] == ["1", "17,066", "9.9", "21.9", "12.0"]
    written, *_ = json.loads(summary.json())["trials"][0]["faults"][0]["faults"][0]["healing"]
    assert list(written) == [field.name for field in fields(Healing)]


def test_the_table_says_of_how_many_runs_it_is_known(tmp_path: Path) -> None:
    healed(tmp_path)
    (trial,) = summarise(tmp_path).trials
    (run,) = trial.faults
    (fault,) = run.faults
    did, *_ = fault.healing
    blank = replace(run, faults=[replace(fault, healing=[replace(did, count=None, amount=None, begin=None, end=None)])])
    *_, grid = fault_table.grids([replace(trial, faults=[run, blank])], lambda result: result.system)
    assert grid.lines[0][3:5] == ["1 (1 of 2 known)", "17,066 (1 of 2 known)"]
    none = replace(run, faults=[replace(fault, healing=[replace(did, count=0, amount=None, begin=None, end=None)])])
    *_, grid = fault_table.grids([replace(trial, faults=[run, none])], lambda result: result.system)
    assert grid.lines[0][4] == "17,066"


def test_recovery_is_drawn_below_the_throughput(tmp_path: Path) -> None:
    healed(tmp_path)
    drawn = chart_data.read(tmp_path)
    chart = faults.chart(drawn)
    assert chart is not None
    table = chart.tables["faults-0-healing"]
    assert [table[name] for name in ("time", "until")] == [[pytest.approx(19.9, abs=0.1)], [30]]
    assert table["what"] == ["cassandra: commit log replayed, second 19.9 to 31.9"]


def test_a_trial_without_the_description_shows_dashes(tmp_path: Path) -> None:
    folder = healed(tmp_path)
    (folder / "server" / HEALING).unlink()
    summary = summarise(tmp_path)
    (line,) = [line for line in rendered(summary, 200).splitlines() if "kill(node1)" in line and " – " in line][-1:]
    assert set(line.split()[2:]) == {"\N{EN DASH}"}
