"""Tests figures that servers report, on shortened evidence of real servers (tests/data/servers)."""

import json
import re
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dohyo.evidence.server_figures import FILE, Keys, figures_of, pairs
from dohyo.evidence.server_log import LOG
from dohyo.evidence.servers import PhaseFigures, Servers, Step, Window
from dohyo.places import ANSIBLE
from dohyo.summary.summary import summarise
from dohyo.systems.catalogue import all_systems
from dohyo.tables import table
from support.evidence import clients_json, edit_json, explained, keep, rendered, trial, write_json

DATA = Path(__file__).parent / "data" / "servers"
# Time of the first line of each log that `gc_log` returns, in seconds since the epoch.
BEGIN = datetime(2026, 11, 21, 20, 53, 23, tzinfo=UTC).timestamp()


def gc_log(pauses: Iterable[tuple[float, float]]) -> str:
    """Returns a unified GC log that begins at `BEGIN`. A pause has an end (in s after `BEGIN`) and a length (in ms)."""
    lines = ["[2026-11-21T20:53:23.000+0000][0.007s] Using G1"]
    for number, (end, ms) in enumerate(pauses):
        time = datetime.fromtimestamp(BEGIN, UTC) + timedelta(seconds=end)
        stamp = f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03d}+0000"
        lines.append(f"[{stamp}] GC({number}) Pause Young 1M->1M(2M) {ms:.3f}ms")
    return "\n".join(lines) + "\n"


def window(run: int = 1, agreed: float = 10, begin: float = 12, end: float = 22, **offsets: float) -> Window:
    return Window("run", run, BEGIN + agreed, BEGIN + begin, BEGIN + end, offsets)


def figures(folder: Path, system: str) -> dict[str | None, dict[str, float | None]]:
    return {
        server.host: server.figures for server in Servers(explained(folder, system, FILE), [], [], pytest.fail).all()
    }


@pytest.mark.parametrize(
    ("system", "files", "expected"),
    [
        (
            "cassandra",
            ["stats-metrics.json"],
            {
                "pending_compactions": 0,
                "sstables": 1,
                "disk_bytes": 817053,
                "read_p99_ms": 88.148,
                "write_p99_ms": 182.785,
                "timeouts": 0,
                "dropped_messages": 0,
                "hints_written": None,  # the recorded file does not contain this counter
            },
        ),
        (
            "hbase",
            ["stats-jmx.txt"],
            {
                "l1_cache_hit_ratio": 0.9852863899106674,  # from the attribute l1CacheHitRatio of the bean
                "l2_cache_hit_ratio": None,  # the server does not have this cache
                "store_files": 4,
                "disk_bytes": 409444,
                "memstore_bytes": None,  # the recorded page does not contain this counter
                "pending_compactions": 0,
                "pending_flushes": 0,
                "updates_blocked_ms": 0,
                "blocked_requests": 0,
            },
        ),
        (
            "aerospike",
            ["stats-namespace.txt"],
            {
                "objects": 778, "index_bytes": 778 * 64, "data_bytes": 921152, "timeouts": 0, "evicted": 0,
                "stop_writes": 0,
            },
        ),
        (
            "mysql-innodb",
            ["stats-status.txt", "stats-replica.txt"],
            {
                "buffer_pool_hit_ratio": 1 - 159 / 105938, "key_cache_hit_ratio": None, "dirty_bytes": 9666560,
                "row_lock_waits": 0, "buffer_pool_waits": 0, "log_waits": 0, "slow_queries": 0,
                "replica_lag_seconds": 0,
            },
        ),
        (
            "postgresql",
            ["stats-status.txt"],
            {
                "buffer_hit_ratio": 1276444 / 1276756, "wal_bytes": 84776852, "full_page_images": 1409,
                "wal_buffers_full": 0, "deadlocks": 0,
            },
        ),
        (
            "scylla",
            ["stats-metrics.txt"],
            {
                "pending_compactions": 0,
                "row_cache_hit_ratio": 1,
                "row_cache_bytes": 5265667,
                "sstable_reads": 0,
                "blocked_requests": 0,
                "timeouts": 0,  # the page does not contain these counters
                "hints_written": 0,
            },
        ),
    ],
)  # fmt: skip
def test_figures_come_from_what_stats_has_kept(
    tmp_path: Path, system: str, files: list[str], expected: dict[str, float | None]
) -> None:
    (tmp_path / "host1").mkdir()
    for name in files:
        shutil.copy(DATA / system.partition("-")[0] / name, tmp_path / "host1")
    assert figures(tmp_path, system) == {"host1": pytest.approx(expected)}


def test_samples_of_all_shards_are_added_up(tmp_path: Path) -> None:
    # Statistics page of a ScyllaDB server with two shards.
    text = (
        "# HELP scylla_cache_row_hits a help line\n# TYPE scylla_cache_row_hits counter\n"
        'scylla_cache_row_hits{shard="0"} 300\nscylla_cache_row_hits{shard="1"} 600\n'
        'scylla_cache_row_misses{shard="0"} 100\nscylla_cache_row_misses{shard="1"} 0\n'
        'scylla_compaction_manager_pending_compactions{shard="0"} 2.000000\n'
        'scylla_storage_proxy_coordinator_read_timeouts{scheduling_group_name="statement",shard="1"} 3\n'
    )
    keep(tmp_path, "host1", stats___metrics__txt=text)
    servers = Servers(explained(tmp_path, "scylla", FILE), [], [], pytest.fail)
    (server,) = servers.all()
    reported = {name: value for name, value in server.figures.items() if value is not None}
    assert reported == {"pending_compactions": 2, "row_cache_hit_ratio": 0.9, "timeouts": 3}
    assert servers.notes() == ["compactions still pending at the end: host1 2"]


def test_several_hosts_are_summed_up(tmp_path: Path) -> None:
    keep(
        tmp_path, "host1", stats___status__txt="Innodb_buffer_pool_read_requests\t1000\nInnodb_buffer_pool_reads\t10\n"
    )
    keep(
        tmp_path,
        "host2",
        stats___status__txt="Innodb_buffer_pool_read_requests\t3000\nInnodb_buffer_pool_reads\t390\nSlow_queries\t7\n",
        stats___replica__txt="Slave_IO_State=Waiting\tSeconds_Behind_Master=12\tSQL_Delay=0\n",
    )
    by_host = figures(tmp_path, "mysql-innodb")
    assert [values["buffer_pool_hit_ratio"] for values in by_host.values()] == [0.99, 0.87, 0.9]
    assert [values["replica_lag_seconds"] for values in by_host.values()] == [None, 12, 12]
    # If the value of one host is unknown, so is the sum.
    assert [values["slow_queries"] for values in by_host.values()] == [None, 7, None]


def test_region_servers_of_one_host_are_summed_up_and_other_servers_left_out(tmp_path: Path) -> None:
    (tmp_path / "host1").mkdir()
    for name in ("jmx", "jmx-regionserver2", "datanode-jmx"):
        shutil.copy(DATA / "hbase/stats-jmx.txt", tmp_path / "host1" / f"stats-{name}.txt")
    values = figures(tmp_path, "hbase")["host1"]
    assert (values["store_files"], values["disk_bytes"]) == (2 * 4, 2 * 409444)
    assert values["l1_cache_hit_ratio"] == pytest.approx(0.9852863899106674)


def test_old_servers_report_data_in_memory_by_another_name(tmp_path: Path) -> None:
    keep(tmp_path, "host1", stats___namespace__txt="objects=1\nmemory_used_data_bytes=4096\n")
    assert figures(tmp_path, "aerospike")["host1"]["data_bytes"] == 4096


def test_alarming_figures_become_notes(tmp_path: Path) -> None:
    text = (DATA / "aerospike" / "stats-namespace.txt").read_text(encoding="utf-8")
    keep(tmp_path, "host1", stats___namespace__txt=text)
    keep(tmp_path, "host2", stats___namespace__txt=text.replace("\nstop_writes=false", "\nstop_writes=true"))
    assert Servers(explained(tmp_path, "aerospike", FILE), [], [], pytest.fail).notes() == [
        "the namespace refuses writes at the end (stop_writes): host2 1"
    ]


def test_notes_name_the_hosts_with_the_highest_figures(tmp_path: Path) -> None:
    metrics = json.loads((DATA / "cassandra" / "stats-metrics.json").read_text(encoding="utf-8"))
    for host in range(1, 8):
        metrics["org.apache.cassandra.metrics:name=PendingTasks,type=Compaction"]["Value"] = host * 1000
        keep(tmp_path, f"host{host}", stats___metrics__json=json.dumps(metrics))
    assert Servers(explained(tmp_path, "cassandra", FILE), [], [], pytest.fail).notes() == [
        "compactions still pending at the end: host7 7,000, host6 6,000, host5 5,000, host4 4,000, host3 3,000, 2 more"
    ]


# Steps of a trial: a load, three repeats of two phases (the first repeat is discarded), and a probe.
STEPS = [
    Step("load", "load", counts=True),
    *(Step(f"{phase}-{run}", phase, counts=run > 1) for run in (1, 2, 3) for phase in ("c", "update-only")),
    Step("probe-1", "probe", counts=False),
]


def region_server(hits: int, misses: int, files: int) -> str:
    """Returns the statistics page of a region server that reports these counts."""
    text = (DATA / "hbase" / "stats-jmx.txt").read_text(encoding="utf-8")
    for name, was, value in (
        ("l1CacheHitCount", 1875, hits),
        ("l1CacheMissCount", 28, misses),
        ("storeFileCount", 4, files),
    ):
        assert f'"{name}": {was},' in text
        text = text.replace(f'"{name}": {was},', f'"{name}": {value},')
    return text


def kept_after(folder: Path, host: str, **counts: tuple[int, int, int]) -> None:
    """Writes a region server's statistics. Each keyword names the step after (or before) which they were read."""
    for name, (hits, misses, files) in counts.items():
        keep(folder / host / "stats", name.replace("_", "-"), stats___jmx__txt=region_server(hits, misses, files))


def test_a_run_has_what_it_has_added_to_counters_and_what_it_has_left(tmp_path: Path) -> None:
    kept_after(
        tmp_path,
        "host1",
        load=(1000, 1000, 1),
        c_1=(2000, 1000, 1),  # c_1 is discarded
        update_only_1=(2100, 1000, 2),
        c_2=(3000, 1100, 3),  # 900 hits, 100 misses
        update_only_2_before=(3000, 2100, 1),  # settling added 1000 misses, which are not counted for any phase
        update_only_2=(3005, 2105, 4),
        c_3=(3905, 2905, 5),  # 900 hits, 800 misses
        update_only_3=(3910, 2910, 7),
        probe_1=(9910, 2910, 9),
    )
    (server,) = Servers(explained(tmp_path, "hbase", FILE), [], STEPS, pytest.fail).all()
    # The ratio since the start of the server comes from the last statistics, which were read after the probe.
    assert server.figures["l1_cache_hit_ratio"] == pytest.approx(9910 / 12820)
    assert server.figures["store_files"] == 9
    phases = {entry.phase: entry for entry in server.phases}
    assert list(phases) == ["load", "c", "update-only"]
    assert [entry.runs for entry in server.phases] == [1, 2, 2]
    ratios = [entry.figures["l1_cache_hit_ratio"] for entry in server.phases]
    assert ratios == pytest.approx([0.5, 1800 / 2700, 0.5])
    assert [entry.figures["store_files"] for entry in server.phases] == [1, 4, 5.5]


def test_phases_of_several_hosts_are_summed_up(tmp_path: Path) -> None:
    steps = STEPS[:2]
    steps[1] = Step("c-1", "c", counts=True)
    kept_after(tmp_path, "host1", load=(10, 0, 1), c_1=(100, 10, 1))
    kept_after(tmp_path, "host2", load=(0, 10, 2), c_1=(10, 910, 3))
    *_, together = Servers(explained(tmp_path, "hbase", FILE), [], steps, pytest.fail).all()
    assert together.host is None
    assert [entry.figures["l1_cache_hit_ratio"] for entry in together.phases] == pytest.approx([0.5, 100 / 1010])
    assert [entry.figures["store_files"] for entry in together.phases] == [3, 4]


def test_what_a_run_has_added_is_not_known_without_what_was_before(tmp_path: Path) -> None:
    steps = [Step("load", "load", counts=True), Step("c-1", "c", counts=True), Step("f-1", "f", counts=True)]
    kept_after(tmp_path, "host1", load=(100, 0, 1), f_1=(300, 100, 2))
    kept_after(tmp_path, "host2", load=(100, 0, 1), c_1=(50, 5, 2), f_1=(60, 6, 2))  # the server restarted in c
    first, second, _ = Servers(explained(tmp_path, "hbase", FILE), [], steps, pytest.fail).all()
    assert [entry.phase for entry in first.phases] == ["load", "f"]
    assert (first.phases[1].figures["l1_cache_hit_ratio"], first.phases[1].figures["store_files"]) == (None, 2)
    assert [entry.figures["l1_cache_hit_ratio"] for entry in second.phases] == [1, None, pytest.approx(10 / 11)]
    assert second.phases[1].figures["store_files"] == 2


def test_counters_of_a_server_that_a_fault_has_started_again_are_not_known(tmp_path: Path) -> None:
    restarted = Step("c-1", "c", counts=True, restarted=frozenset({"host1"}))
    steps = [Step("load", "load", counts=True), restarted, Step("f-1", "f", counts=True)]
    kept_after(tmp_path, "host1", load=(10, 0, 1), c_1=(100, 10, 2), f_1=(200, 20, 3))  # more than before the restart
    (server,) = Servers(explained(tmp_path, "hbase", FILE), [], steps, pytest.fail).all()
    assert [entry.figures["l1_cache_hit_ratio"] for entry in server.phases] == [1, None, pytest.approx(100 / 110)]
    assert [entry.figures["store_files"] for entry in server.phases] == [1, 2, 3]


def test_counters_are_averaged_over_the_runs(tmp_path: Path) -> None:
    steps = [Step("load", "load", counts=True), *(Step(f"run-{i}", "run", counts=True) for i in (1, 2))]
    for name, waits, bytes_dirty, reads in (("load", 3, 100, 1), ("run-1", 10, 200, 3), ("run-2", 11, 600, 10)):
        status = f"Innodb_row_lock_waits\t{waits}\nInnodb_buffer_pool_bytes_dirty\t{bytes_dirty}\n"
        status += f"Innodb_buffer_pool_reads\t{reads}\nInnodb_buffer_pool_read_requests\t{reads * 10}\n"
        lag = f"Slave_IO_State=Waiting\tSeconds_Behind_Master={waits}\n"
        keep(tmp_path / "host1" / "stats", name, stats___status__txt=status, stats___replica__txt=lag)
    (server,) = Servers(explained(tmp_path, "mysql-innodb", FILE), [], steps, pytest.fail).all()
    assert server.phases[1] == PhaseFigures(
        "run",
        2,
        {
            **dict.fromkeys(server.figures), "row_lock_waits": 4, "dirty_bytes": 400, "buffer_pool_hit_ratio": 0.9,
            "replica_lag_seconds": 11,
        },
    )  # fmt: skip


@pytest.mark.parametrize("system", all_systems())
def test_every_role_says_its_figures_in_the_same_way(system: str) -> None:
    path = ANSIBLE / "systems" / all_systems()[system].role / "figures.yml"
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert [figure.name for figure in figures_of(path.parent, pytest.fail)] == list(entries)
    for name, entry in entries.items():
        assert set(entry) <= {"file", "counter", "keys", "less", "per", "scale", "take", "note", "absent"}, name
        assert entry.get("take", "max") == "max", name
        assert entry.get("counter", True) is True, name
        assert "counter" not in entry or "take" not in entry, name
        assert entry["file"].startswith("stats-"), name


def test_a_system_without_figures_is_valid(tmp_path: Path) -> None:
    assert figures_of(tmp_path, pytest.fail) == ()


def test_what_a_trial_has_kept_of_its_figures_is_all_that_counts(tmp_path: Path) -> None:
    keep(
        tmp_path,
        "host1",
        stats___metrics__json=DATA / "cassandra" / "stats-metrics.json",
        log=DATA / "cassandra" / "log",
    )
    (of_today,) = Servers(explained(tmp_path, "cassandra", FILE), [], [], pytest.fail).all()
    key = "*name=LiveDiskSpaceUsed,*type=Table Count"
    (tmp_path / FILE).write_text(f"disk_bytes: {{file: stats-metrics.json, keys: '{key}', scale: 2}}\n")
    begin = datetime(2026, 11, 22, 4, 1, 17, tzinfo=UTC).timestamp()
    window = Window("run", 1, begin, begin, begin + 6, {})
    (server,) = Servers(tmp_path, [window], [], pytest.fail).all()
    assert of_today.figures["disk_bytes"]
    assert server.figures == {"disk_bytes": 2 * of_today.figures["disk_bytes"]}
    # The logs of a trial without log.yml are not read.
    assert server.background == []
    (server,) = Servers(explained(tmp_path, "cassandra", LOG), [window], [], pytest.fail).all()
    assert server.background


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("figures.yml", "[1]", "must be a mapping of names to figures"),
        ("figures.yml", "a: &x [1]\nb: *x", "line 2 contains an alias"),
        ("figures.yml", "a: {file: s}", "a: Object missing required field `keys`"),
        ("figures.yml", "a: {file: ../../../secret, keys: x}", "'../../../secret': must be the name of a file"),
        ("figures.yml", "a: {file: /etc/passwd, keys: x}", "'/etc/passwd': must be the name of a file"),
        ("figures.yml", "a: {file: s, keys: {}}", "must be a pattern of keys, or a list of patterns - at `\\$.keys`"),
        ("figures.yml", "a: {file: s, keys: x, scale: two}", "a: Expected `float`, got `str` - at `\\$.scale`"),
        ("figures.yml", "a: {file: s, keys: x, run: rm}", "a: Object contains unknown field `run`"),
        ("log.yml", "1", "Expected `object`, got `int`"),
        ("log.yml", "flushes: {files: log, end: x}", "Invalid enum value 'flushes'"),
        ("log.yml", "flush: {files: ../host2/log, end: x}", "must be names of files"),
        ("log.yml", "flush: {files: log}", "missing required field `end`"),
        ("log.yml", "flush: 1", r"got `int` - at `\$\[\.\.\.\]`"),
        ("log.yml", "flush: {files: log, end: '('}", "flush: end: '\\(': not a regular expression of RE2: missing"),
        ("log.yml", "flush: {files: log, end: '((a{999}){999}){999}'}", "not a regular expression of RE2"),
        ("log.yml", "flush: {files: log, end: 1}", r"Expected `str`, got `int` - at `\$\[\.\.\.\]\.end`"),
        ("log.yml", 'flush: {files: log, end: "\\ud800"}', "not a regular expression of RE2"),
        ("log.yml", "flush: {files: log, end: '(?P<size>x)'}", "'end' needs a group 'ms', or"),
    ],
)
def test_a_damaged_copy_is_one_warning(tmp_path: Path, name: str, content: str, message: str) -> None:
    keep(tmp_path, "host1", s="x=1\n", log=DATA / "cassandra" / "log")
    (tmp_path / "figures.yml").write_text("{}")
    (tmp_path / name).write_text(content, encoding="utf-8")
    warnings: list[str] = []
    window = Window("run", 1, BEGIN, BEGIN, BEGIN + 10, {})
    assert Servers(tmp_path, [window], [], warnings.append).all() == []
    (warning,) = warnings
    assert warning.startswith(f"{tmp_path / name}: ")
    assert re.search(message, warning)


def test_somebody_elses_patterns_cannot_hold_up_the_reader(tmp_path: Path) -> None:
    lines = [f"2026-11-21 20:53:{second},000 {'a' * 100_000}b\n" for second in (30, 50)]
    keep(tmp_path, "host1", log="".join(lines), s="a" * 100_000 + "b=1\n")
    (tmp_path / "figures.yml").write_text(f"x: {{file: s, keys: '{'*a' * 1000}*c'}}\ny: {{file: s, keys: '*a*b'}}")
    (tmp_path / "log.yml").write_text("flush: {files: log, end: '(a+)+$(?P<size>.*)(?P<ms>.*)'}")
    (server,) = Servers(tmp_path, [window()], [], pytest.fail).all()
    assert server.figures == {"x": None, "y": 1}


@given(st.lists(st.text("ab*", max_size=6), min_size=1, max_size=3), st.text("ab", max_size=8))
def test_keys_match_as_a_shell_pattern_would(patterns: list[str], key: str) -> None:
    matches = any(fnmatchcase(key, pattern) for pattern in patterns)
    assert Keys(patterns).values([(key, 7.0)]) == [7.0] * matches


def test_broken_statistics_are_a_warning(tmp_path: Path) -> None:
    keep(tmp_path, "host1", stats___metrics__json='{"org.apache.cassandra')
    warnings: list[str] = []
    assert Servers(explained(tmp_path, "cassandra", FILE), [], [], warnings.append).all() == []
    assert len(warnings) == 2
    assert "stats-metrics.json: cannot be read as JSON" in warnings[0]
    assert warnings[1] == f"{tmp_path / 'host1'}: statistics of the servers are missing"
    assert Servers(tmp_path / "none", [], [], pytest.fail).all() == []


def test_numbers_alone_are_figures(tmp_path: Path) -> None:
    path = tmp_path / "stats.txt"
    path.write_text("a=1\tb=x\tc=true\nd\tNULL\ne\t2.5\nwords without a number\n", encoding="utf-8")
    assert pairs(path, pytest.fail) == [("a", 1), ("c", 1), ("e", 2.5)]
    path.write_text('{"beans": [{"name": "B", "x": 1, "y": "no", "z": NaN}, 7], "v": {"w": false}}', encoding="utf-8")
    assert pairs(path, pytest.fail) == [("beans B x", 1), ("beans", 7), ("v w", 0)]


def test_pauses_count_in_the_window_on_the_clock_of_their_host(tmp_path: Path) -> None:
    # The window is from 12 s to 22 s. It contains three pauses, the first one only in part.
    keep(tmp_path, "host1", gc__log=gc_log([(11, 5), (12.05, 100), (15, 30), (21, 40), (22.5, 6)]))
    # Host2 paused at the same times, but its clock is 3 s ahead.
    keep(tmp_path, "host2", gc__log=gc_log([(14, 5), (15.05, 100), (18, 30), (24, 40), (25.5, 6)]))
    servers = Servers(tmp_path, [window(host2=3000)], [], pytest.fail)
    first, second, together = servers.all()
    for server in (first, second):
        (pauses,) = server.pauses
        assert (pauses.process, pauses.run, pauses.count, pauses.p99_ms) == (None, 1, 3, None)
        assert (pauses.total_ms, pauses.longest_ms) == pytest.approx((170, 100))
        assert pauses.longest_at == pytest.approx(1.95, abs=0.001)
        assert pauses.share == pytest.approx(0.017)
    (pauses,) = together.pauses
    assert (together.host, pauses.count) == (None, 6)
    assert (pauses.total_ms, pauses.share) == pytest.approx((340, 0.017))


def test_every_jvm_of_a_host_has_its_own_pauses_in_every_run(tmp_path: Path) -> None:
    keep(tmp_path, "host1", gc__log=gc_log([(15, 30), (45, 50)]), gc___datanode__log=gc_log([(46, 7)]),
         gc___regionserver2__log=gc_log([(16, 20)]))  # fmt: skip
    runs = [window(), window(2, 40, 42, 52)]
    (server,) = Servers(tmp_path, runs, [], pytest.fail).all()
    assert [(pause.process, pause.run, pause.count, pause.longest_ms) for pause in server.pauses] == [
        (None, 1, 1, 30),
        (None, 2, 1, 50),
        ("datanode", 1, 0, None),
        ("datanode", 2, 1, 7),
        ("regionserver2", 1, 1, 20),
        ("regionserver2", 2, 0, None),
    ]


def test_a_p99_takes_a_hundred_pauses(tmp_path: Path) -> None:
    keep(tmp_path, "host1", gc__log=gc_log((12.5 + n / 20, n + 1) for n in range(100)))
    (server,) = Servers(tmp_path, [window()], [], pytest.fail).all()
    assert (server.pauses[0].count, server.pauses[0].p99_ms, server.pauses[0].longest_ms) == (100, 99, 100)


def test_a_log_that_no_longer_covers_a_run_says_nothing_of_it(tmp_path: Path) -> None:
    keep(tmp_path, "host1", gc__log=gc_log([(45, 50)]))
    warnings: list[str] = []
    runs = [window(1, -20, -18, -8), window(2, 40, 42, 52)]
    (server,) = Servers(tmp_path, runs, [], warnings.append).all()
    assert [(pauses.run, pauses.count) for pauses in server.pauses] == [(2, 1)]
    assert len(warnings) == 1
    assert "begins after the start of run 1" in warnings[0]


def test_pauses_that_operations_cannot_have_missed_are_events(tmp_path: Path) -> None:
    keep(tmp_path, "host1", gc__log=gc_log([(15, 30), (18, 80)]), gc___datanode__log=gc_log([(16, 50)]))
    keep(tmp_path, "host2", gc__log=gc_log([(15, 20)]))
    servers = Servers(tmp_path, [window()], [], pytest.fail)
    assert [str(event) for event in servers.events("run", 1, 25, 1000)] == [
        "run 1, second 8: host1: GC pause of 80.0 ms, the longest of 3 above the p99 of 25.0 ms"
    ]
    assert [str(event) for event in servers.events("run", 1, 15, 1000)] == [
        "run 1, second 8: host1: GC pause of 80.0 ms, the longest of 4 on 2 hosts above the p99 of 15.0 ms"
    ]
    assert (
        servers.events("run", 1, 100, 1000)
        == servers.events("run", 1, None, None)
        == servers.events("run", 2, 1, 1)
        == []
    )
    assert [str(event) for event in servers.events("run", 1, 15, 40)] == [
        "run 1, second 8: host1: GC pause of 80.0 ms, longer than an operation may take (40.0 ms)",
        "run 1, second 6: host1: GC pause of the datanode of 50.0 ms, longer than an operation may take (40.0 ms)",
    ]


def measured(tmp_path: Path) -> Path:
    """Writes two trials whose windows begin 1 s after the agreed start time. Cassandra's server pauses in each run."""
    for number, system in enumerate(("cassandra", "aerospike"), 1):
        folder = trial(tmp_path, number, "hbase" if system == "aerospike" else system)
        edit_json(folder / "trial.json", trial_system=system)
        for run in (1, 2):
            write_json(folder / f"run-{run}" / "clients.json", clients_json(("node1",), agreed=BEGIN + 20 * run))
    keep(
        explained(tmp_path / "raw" / "01-cassandra" / "server", "cassandra", FILE),
        "node1",
        gc__log=gc_log([(21.5, 300), (41.6, 100)]),
        stats___metrics__json=DATA / "cassandra" / "stats-metrics.json",
    )
    keep(
        explained(tmp_path / "raw" / "02-hbase" / "server", "aerospike", FILE),
        "node1",
        stats___namespace__txt=DATA / "aerospike" / "stats-namespace.txt",
    )
    return tmp_path


def test_what_servers_say_is_of_a_round_and_not_of_all(tmp_path: Path) -> None:
    for folder in (measured(tmp_path) / "raw").iterdir():
        edit_json(folder / "trial.json", trial_round=1, trial_rounds=2)
    summary = summarise(tmp_path)
    assert all(trial.servers for trial in summary.trials)
    assert not any(trial.servers for trial in summary.merged)
    assert len(summary.merged) == 2


def test_the_summary_has_the_figures_and_pauses_of_servers(tmp_path: Path) -> None:
    summary = summarise(measured(tmp_path))
    assert summary.warnings == []
    cassandra, aerospike = json.loads(summary.json())["trials"]
    (server,) = cassandra["servers"]
    assert [(pauses["run"], pauses["count"]) for pauses in server["pauses"]] == [(1, 1), (2, 1)]
    assert server["figures"]["sstables"] == 1
    assert aerospike["servers"] == [
        {"host": "node1", "figures": server_figures(aerospike), "phases": [], "pauses": [], "background": []}
    ]
    assert [event["what"][:24] for event in cassandra["events"]] == [
        "GC pause of 300 ms above",
        "GC pause of 100 ms above",
    ]


def server_figures(of_trial: dict[str, list[dict[str, dict[str, float]]]]) -> dict[str, float]:
    return of_trial["servers"][0]["figures"]


def test_the_table_has_a_block_for_each_kind_of_figures(tmp_path: Path) -> None:
    summary = summarise(measured(tmp_path))
    text = rendered(summary, 160)
    assert "Servers: garbage collection in the measured windows" in text
    assert any(line.split()[:6] == ["cassandra", "node1", "2", "400", "ms", "300"] for line in text.splitlines())
    assert "system    node  pending compactions sstables     disk read p99 write p99 timeouts dropped messages" in text
    assert "objects" in text
    page = table.markdown(summary)
    assert "| aerospike | node1 | 778 | 49.79 kB | 921.2 kB | 0 | 0 | 0 |" in page
    assert page.index("## Servers: garbage") < page.index("- cassandra: ")


def test_the_summary_has_a_hit_ratio_for_each_mix(tmp_path: Path) -> None:
    phases = [{"name": "c"}, {"name": "update-only"}]
    folder = trial(tmp_path, 1, "hbase", phases=("c", "update-only"), trial_phases=phases, trial_discard=1)
    kept_after(
        explained(folder / "server", "hbase", FILE),
        "node1",
        load=(0, 100, 4),
        c_1=(10, 190, 4),
        update_only_1=(20, 190, 8),
        c_2=(1010, 200, 6),
        update_only_2=(1014, 201, 7),
    )
    summary = summarise(tmp_path)
    (of_trial,) = json.loads(summary.json())["trials"]
    (server,) = of_trial["servers"]
    assert server["figures"]["l1_cache_hit_ratio"] == pytest.approx(1014 / 1215)
    by_phase = {entry["phase"]: entry["figures"] for entry in server["phases"]}
    assert {phase: figures["l1_cache_hit_ratio"] for phase, figures in by_phase.items()} == pytest.approx(
        {"load": 0, "c": 990 / 1000, "update-only": 0.8}
    )
    assert {phase: figures["store_files"] for phase, figures in by_phase.items()} == {
        "load": 4,
        "c": 6,
        "update-only": 7,
    }
    page = table.markdown(summary)
    assert "## Servers: figures that they report for a run of each phase" in page
    assert "| hbase | c | 99.0% | 6 |" in page
    assert "| hbase | update-only | 80.0% | 7 |" in page
    assert "at the end" not in page  # with a single host, the figures of the last phase are the same
