"""Tests reading compactions and flushes from real logs (tests/data/servers) and in the formats of other versions."""

import csv
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dohyo.evidence import server_log
from dohyo.evidence.server_log import LOG, Lines, Work, covered, lines_of
from dohyo.evidence.servers import Servers, Window
from dohyo.figures import UNKNOWN
from dohyo.places import ANSIBLE
from dohyo.summary.results import Trial
from dohyo.summary.summary import summarise
from dohyo.systems.catalogue import all_systems
from dohyo.tables import files, server_table, table
from support.evidence import clients_json, explained, keep, trial, write_json

DATA = Path(__file__).parent / "data" / "servers"


def seconds(time: str) -> float:
    return datetime.fromisoformat(f"2026-11-22T{time}").replace(tzinfo=UTC).timestamp()


def patterns(system: str) -> dict[str, Lines]:
    return lines_of(ANSIBLE / "systems" / all_systems()[system].role / LOG, pytest.fail)


def works(system: str, path: Path) -> list[Work]:
    log = server_log.read(path, patterns(system), pytest.fail)
    assert log
    return log.work


def of_line(tmp_path: Path, system: str, *lines: str) -> list[tuple[str, float, float | None]]:
    """Returns the kind, seconds and bytes of each piece of work that these lines report."""
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [(work.kind, round(work.end - work.begin, 3), work.bytes) for work in works(system, path)]


def test_hbase_compacts_with_two_threads_at_once() -> None:
    all_works = works("hbase", DATA / "hbase" / "log")
    compactions = [work for work in all_works if work.kind == "compaction"]
    # Starts and ends of compactions are matched by thread, because one began before three others and ended after them.
    assert [(work.begin, work.end) for work in compactions] == [
        (seconds("04:11:14.547"), seconds("04:11:15.855")),
        (seconds("04:11:15.856"), seconds("04:11:16.206")),
        (seconds("04:11:16.207"), seconds("04:11:16.664")),
        (seconds("04:11:14.220"), seconds("04:11:16.875")),
    ]
    text = (DATA / "hbase" / "log").read_text(encoding="utf-8")
    sizes = re.findall(r"HStore: Completed .*?\(size=([\d.]+) M\)", text)
    assert [work.bytes for work in compactions] == [pytest.approx(float(size) * 2**20) for size in sizes]
    flushes = [work for work in all_works if work.kind == "flush"]
    assert [work.bytes for work in flushes] == [2800410, 2799710, 2800240, 2803620]
    assert flushes[0].end == seconds("04:11:14.208")
    milliseconds = re.findall(r"Finished flush.* in (\d+)ms", text)
    assert [round(1000 * (work.end - work.begin)) for work in flushes] == [int(duration) for duration in milliseconds]


def test_a_major_compaction_is_one() -> None:
    all_works = works("hbase", DATA / "hbase" / "regionserver2.log")
    assert [work.kind for work in all_works] == ["flush"] * 4 + ["compaction"] * 4
    assert all_works[4].bytes == pytest.approx(387.8 * 1024, rel=0.001)


def test_cassandra_flushes() -> None:
    log = server_log.read(DATA / "cassandra" / "log", patterns("cassandra"), pytest.fail)
    assert log
    assert log.work == [
        Work("flush", seconds("04:01:23.200"), seconds("04:01:23.201"), 110),
        Work("flush", seconds("04:01:23.266"), seconds("04:01:23.267"), 46),
        Work("flush", seconds("04:01:23.312"), seconds("04:01:23.313"), 38),
    ]
    assert (log.begin, log.end) == (seconds("04:01:16.666"), seconds("04:01:23.368"))


def test_cassandra_compactions_of_a_real_log() -> None:
    first, second = works("cassandra", DATA / "cassandra" / "compactions.log")
    assert [first.kind, second.kind] == ["compaction", "compaction"]
    assert [first.end, second.end] == [seconds("04:56:05.142"), seconds("04:56:12.247")]
    assert [first.end - first.begin, second.end - second.begin] == pytest.approx([3.701, 4.043])
    assert [first.bytes, second.bytes] == pytest.approx([72.606 * 2**20, 72.698 * 2**20])


@pytest.mark.parametrize(
    ("task", "sizes", "took"),
    [
        ("8c2f3a10-e628-11f1-92fd-6915ad9dfb63", "163.250MiB to 120.500MiB", "12,345ms"),  # Cassandra 4.1 and 5.0
        ("task id: 8c2f-1, compaction history id: 8c2f-2", "163.250MiB to 120.500MiB", "12,345ms"),  # 3.11 and 4.0
        ("8c2f3a10", "163,250MiB to 120,500MiB", "12.345ms"),  # a JVM with German number formats
        ("8c2f3a10", "163,250MiB to 120,500MiB", "12\u202f345ms"),  # a JVM with French number formats
    ],
)
def test_cassandra_compacts(tmp_path: Path, task: str, sizes: str, took: str) -> None:
    # Format that CompactionTask writes in these versions
    line = (
        f"2026-11-22 04:01:23,313 INFO  [CompactionExecutor:2] o.a.c.d.c.CompactionTask Compacted ({task}) 4 "
        f"sstables to [/data/usertable/oa-5-big,] to level=0.  {sizes} (~73% of original) in {took}.  "
        "Read Throughput = 13.2MiB/s, Write Throughput = 9.7MiB/s, "
        "Row Throughput = ~81,234/s.  4,000 total partitions merged to 3,000.  "
        "Partition merge counts were {1:2000, 2:1000, }. Time spent writing keys = 11,002ms"
    )
    assert of_line(tmp_path, "cassandra", line) == [("compaction", 12.345, 120.5 * 2**20)]


@pytest.mark.parametrize(
    ("line", "took", "size"),
    [
        # The first two have the format that compaction.cc writes in ScyllaDB 4 and 5, the last is of a real server.
        *((f"04:01:23,313 [shard 0:comp] compaction - [Compact ks.usertable 1b2a7d10-0bad] Compacted 2 sstables to"
           f" {into}. 11MB to {text} (~81% of original) in 123ms = 73MB/s. ~256 total partitions merged to 200.",
           0.123, size)
          for into, text, size in (("[/d/me-3-big-Data.db:level=0]", "9MB", 9e6), ("[]", "36623 bytes", 36623))),
        ("08:05:44,851 [shard 0] compaction - [Compact system.truncated 83224840-eb02-11f1-b8a8-baf0d63c4f53] Compacted"
         " 2 sstables to [/srv/dohyo/data/dohyo/scylla/data/system/truncated-38c19fd0fb863310a4b70d0cc66628aa/"
         "mc-3-big-Data.db:level=0]. 81kB to 40kB (~50% of original) in 68ms = 1MB/s. ~256 total partitions merged to"
         " 7.", 0.068, 40e3),
    ],
)  # fmt: skip
def test_scylla_compacts(line: str, took: float, size: float, tmp_path: Path) -> None:
    assert of_line(tmp_path, "scylla", f"INFO  2026-11-22 {line}") == [("compaction", took, size)]
    # The log does not report flushes, so their number is unknown rather than 0.
    assert list(patterns("scylla")) == ["compaction"]


def test_systems_without_such_lines_are_not_known(tmp_path: Path) -> None:
    for system in ("aerospike", "mysql-innodb"):
        assert patterns(system) == {}
    keep(tmp_path, "host1", log=DATA / "hbase" / "log")
    window = Window("run", 1, seconds("04:11:14"), seconds("04:11:14"), seconds("04:11:20"), {})
    assert Servers(explained(tmp_path, "aerospike", LOG), [window], [], pytest.fail).all() == []
    (server,) = Servers(explained(tmp_path, "hbase", LOG), [window], [], pytest.fail).all()
    assert [work.kind for work in server.background] == ["compaction", "flush"]


def test_every_pattern_can_be_read() -> None:
    for system in all_systems():
        for lines in patterns(system).values():
            groups, begun = (re.compile(pattern or "").groupindex for pattern in (lines.end, lines.begin))
            assert ("ms" in groups) != ("key" in groups and "key" in begun)


def test_an_end_without_a_begin_is_passed_over(tmp_path: Path) -> None:
    begin, end = (
        line
        for line in (DATA / "hbase" / "log").read_text(encoding="utf-8").splitlines()
        if "longCompactions-0] regionserver.HStore" in line and ("04:11:14,547" in line or "04:11:15,855" in line)
    )
    assert len(of_line(tmp_path, "hbase", begin, end)) == 1
    assert of_line(tmp_path, "hbase", end) == of_line(tmp_path, "hbase", begin) == []
    # The clock was set back between the two lines, so they are ignored.
    assert of_line(tmp_path, "hbase", begin.replace("04:11:14", "04:11:59"), end) == []
    assert server_log.read(tmp_path / "none", patterns("hbase"), lambda _: None) is None


def test_work_counts_in_the_window_on_the_clock_of_its_host(tmp_path: Path) -> None:
    # Both hosts have the same log. The clock of host2 is 2 s ahead, so its work happened 2 s earlier.
    for host in ("host1", "host2"):
        keep(tmp_path, host, log=DATA / "hbase" / "log")
    agreed, begin, end = seconds("04:11:10"), seconds("04:11:14"), seconds("04:11:16")
    servers = Servers(
        explained(tmp_path, "hbase", LOG), [Window("run", 1, agreed, begin, end, {"host2": 2000})], [], pytest.fail
    )
    first, second, together = (server.background for server in servers.all())
    compactions = first[0]
    # Within the window, one thread worked for 1.308 s and for 0.144 s. The other worked for 1.780 s.
    assert (compactions.kind, compactions.run, compactions.count) == ("compaction", 1, 3)
    assert compactions.total_seconds == pytest.approx(1.308 + 0.144 + 1.780)
    assert compactions.share == pytest.approx(1.780 / 2)
    assert (compactions.longest_seconds, compactions.longest_at) == pytest.approx((2.655, 4.220))
    # On the clock of host2, the window is from 04:11:16 to 04:11:18.
    assert second[0].count == 3
    assert second[0].total_seconds == pytest.approx(0.206 + 0.457 + 0.875)
    assert together[0].count == 6
    assert together[0].share == pytest.approx((first[0].share + second[0].share) / 2)
    spans = [span for span in servers.spans() if span.host == "host2" and span.kind == "compaction"]
    assert min(span.begin for span in spans) == pytest.approx(4.220 - 2)


def test_a_log_that_does_not_cover_a_run_says_nothing_of_it(tmp_path: Path) -> None:
    # Cassandra's log ends when the server has started, because the server then closes its output.
    keep(tmp_path, "host1", log=DATA / "cassandra" / "log")
    runs = [
        Window("run", number, begin, begin, begin + 10, {})
        for number, begin in ((1, seconds("04:01:30")), (2, seconds("04:01:50")))
    ]
    warnings: list[str] = []
    assert Servers(explained(tmp_path, "cassandra", LOG), runs, [], warnings.append).all() == []
    assert len(warnings) == 1
    assert "log: the log does not cover run 1, so its compactions and flushes are not known" in warnings[0]


def test_the_earlier_log_of_a_server_that_was_started_again_covers_the_runs_before(tmp_path: Path) -> None:
    text = (DATA / "hbase" / "log").read_text(encoding="utf-8")
    keep(tmp_path, "host1", log="2026-11-22 04:20:00,000 INFO  [main] master.HMaster: STARTING service HMaster\n")
    (tmp_path / "host1/log.1").write_text(text, encoding="utf-8")
    # The last line is from 04:12:05. The server did no work between that time and its restart.
    times = [("04:11:10", "04:11:14", "04:19:00"), ("04:11:20", "04:11:21", "04:20:01")]
    runs = [
        Window("run", number, seconds(agreed), seconds(begin), seconds(end), {})
        for number, (agreed, begin, end) in enumerate(times, 1)
    ]
    warnings: list[str] = []
    (server,) = Servers(explained(tmp_path, "hbase", LOG), runs, [], warnings.append).all()
    # The server was killed during the second run.
    assert [(work.run, work.kind) for work in server.background] == [(1, "compaction"), (1, "flush")]
    assert len(warnings) == 1
    assert "log: the log does not cover run 2" in warnings[0]
    # A fault may have ended the server, so a log without entries does not prove that there was no work.
    ended = replace(runs[0], ill=frozenset({"host1"}))
    assert Servers(explained(tmp_path, "hbase", LOG), [ended], [], pytest.fail).all() == []


def test_background_work_of_all_hosts_needs_every_log(tmp_path: Path) -> None:
    keep(tmp_path, "host1", log=DATA / "hbase" / "log")
    keep(tmp_path, "host2", log="2026-11-22 04:11:14,000 INFO  [main] master.HMaster: STARTING service HMaster\n")
    keep(tmp_path, "host2", gc__log="[2026-11-22T04:00:00.000+0000][0.007s] Using G1\n")
    window = Window("run", 1, seconds("04:11:10"), seconds("04:11:14"), seconds("04:11:16"), {})
    recorded, unknown, together = Servers(explained(tmp_path, "hbase", LOG), [window], [], lambda _: None).all()
    assert len(recorded.background) == 2
    assert unknown.background == together.background == []
    result = Trial("hbase", "hbase", "HBase", "ok", servers=[recorded, unknown, together])
    (grid,) = (block for block in server_table.grids([result], lambda trial: trial.name) if "flushes" in block.title)
    assert grid.lines[0] == ["hbase", "compactions", UNKNOWN, UNKNOWN, "2.65 s", "host1", "3.23 s", "89.0%"]


def test_the_table_and_the_files_have_the_background_work(tmp_path: Path) -> None:
    for number, system in enumerate(("hbase", "cassandra"), 1):
        folder = trial(tmp_path, number, system)
        for run in (1, 2):  # the window begins 1 s after `agreed`
            agreed = seconds("04:11:13") if run == 1 else seconds("04:12:00")
            write_json(folder / f"run-{run}" / "clients.json", clients_json(("node1",), agreed=agreed))
    keep(explained(tmp_path / "raw/01-hbase/server", "hbase", LOG), "node1", log=DATA / "hbase" / "log")
    summary = summarise(tmp_path)
    hbase, cassandra = summary.trials
    assert [(work.kind, work.run, work.count) for work in hbase.servers[0].background] == [
        ("compaction", 1, 4),
        ("compaction", 2, 0),
        ("flush", 1, 4),
        ("flush", 2, 0),
    ]
    assert cassandra.servers == []
    page = table.markdown(summary)
    # In two windows of 3 s, one thread worked 1.308 s + 0.350 s + 0.457 s, and the other 2.655 s.
    assert "| hbase | compactions | 4 | 34.71 MB | 2.65 s | node1 | 4.77 s | 44.2% |" in page
    assert "| cassandra | compactions" not in page
    content = json.loads(summary.json())["trials"][0]
    assert "spans" not in content
    assert content["servers"][0]["background"][0]["longest_seconds"] == pytest.approx(2.655)
    files.write(summary, tmp_path)
    lines = list(csv.DictReader((tmp_path / "servers.csv").open(encoding="utf-8")))
    assert sorted(line["kind"] for line in lines) == ["compaction"] * 4 + ["flush"] * 4
    longest = max(lines, key=lambda line: float(line["end"]) - float(line["begin"]))
    assert (longest["host"], longest["run"], longest["begin"], longest["end"]) == ("node1", "1", "1.22", "3.875")


def test_time_with_at_least_one_is_counted_once() -> None:
    assert covered([(3, 5), (0, 1), (4, 6), (4.5, 4.6)]) == 4
    assert covered([]) == 0


@given(st.binary(max_size=300), st.integers(0, 5000))
def test_nothing_in_a_log_ends_the_reading(tmp_path_factory: pytest.TempPathFactory, junk: bytes, cut: int) -> None:
    path = tmp_path_factory.mktemp("junk") / "log"
    content = (DATA / "hbase" / "log").read_bytes()
    path.write_bytes(content[:cut] + junk + content[cut:])
    log = server_log.read(path, patterns("hbase"), lambda _: None)
    assert log is None or all(work.end >= work.begin for work in log.work)
