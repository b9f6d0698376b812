"""Tests the resources that a scenario needs on its hosts: formulas, defaults, what fits, and the estimated time."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dohyo import figures
from dohyo.ansible.playbook import check_inventory
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, WORKLOADS
from dohyo.planning import plan, sizing
from dohyo.planning.sizing import Sizes
from dohyo.running import experiment
from dohyo.scenario import loading, scenario
from dohyo.scenario.hosts import Hosts
from dohyo.systems import catalogue
from dohyo.systems.records import DataNeeds, HostNeeds
from support.scenarios import shown_plan

GIB = 2**30
# A system with 1 GiB of memory, and 2 kB on disk per copy of a record.
SMALL = HostNeeds(1024, DataNeeds(2000))
BASE = "readproportion=1\nupdateproportion=0\nduration=30\n"


def load(folder: Path, **values: object) -> scenario.Scenario:
    file = folder / "sized"
    file.write_text(BASE)
    count = {} if "matrix.recordcount" in values else {"recordcount": 1000}
    return loading.load(file, {key: str(value) for key, value in {**count, **values}.items()})


def needs_of_one(folder: Path, **values: object) -> HostNeeds:
    """Returns the needs of a scenario's only system on this machine."""
    (needs,) = sizing.ask(load(folder, **values), Hosts(), None).needs.values()
    return needs


@pytest.fixture(scope="module")
def needs_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HostNeeds]:
    """Returns the needs of all systems for records of 1 KB on this machine."""
    scenario_of_all = load(tmp_path_factory.mktemp("asked"), systems=",".join(catalogue.all_systems()))
    return {**sizing.ask(scenario_of_all, Hosts(), None).needs}


def test_every_system_says_what_it_needs(needs_of: dict[str, HostNeeds]) -> None:
    assert list(needs_of) == list(catalogue.all_systems())
    for needs in needs_of.values():
        assert needs.memory_mb > 100
        # Every system needs more disk per record than its 1,000 bytes, but less than ten times as much.
        assert 1000 < needs.size.record_disk < 10_000
        assert 0 <= needs.size.log_mb <= 16 * 1024


def test_sizes_follow_their_sources(needs_of: dict[str, HostNeeds]) -> None:
    """Applies the formulas of docs/sizing.md to 10 fields of 100 bytes (field0 to field9) and keys of 26 bytes."""
    assert needs_of["cassandra"].size.record_disk == 2 * (10 * (100 + 6 + 15) + 23 + 32 + 2 * 26)
    assert needs_of["scylla"].size.record_disk == needs_of["cassandra"].size.record_disk
    assert needs_of["hbase"].size.record_disk == 3 * 10 * (100 + 26 + 6 + 6 + 23)
    assert needs_of["mysql-innodb"].size.record_disk == 2 * (10 * (100 + 2) + 26 + 2 + 18)
    assert needs_of["mysql-myisam"].size.record_disk == pytest.approx(10 * (100 + 2) + 26 + 2 + 20 + 30 / 0.67)
    assert needs_of["postgresql"].size.record_disk == 2 * (10 * (100 + 4) + 26 + 40) + 1.5 * (26 + 16)
    assert needs_of["aerospike"].size.record_disk == 2.5 * (10 * (100 + 20) + 64)
    assert {name: needs.size.record_memory for name, needs in needs_of.items() if needs.size.record_memory} == {
        "aerospike": 64
    }
    assert [name for name, needs in needs_of.items() if not needs.size.spread] == [
        "mysql-innodb",
        "mysql-myisam",
        "postgresql",
    ]


def test_heaps_and_buffers_come_from_role_variables(tmp_path: Path, needs_of: dict[str, HostNeeds]) -> None:
    larger = load(tmp_path, systems="cassandra,hbase,mysql-innodb,scylla", cassandra_heap="3g", hbase_heap="3500m",
                  mysql_buffer_pool="3g", scylla_memory="3584m")  # fmt: skip
    for system, needs in sizing.ask(larger, Hosts(), None).needs.items():
        assert needs.memory_mb - needs_of[system].memory_mb in (2048, 2000)


def test_caches_are_those_of_the_roles_and_some_systems_have_none(
    tmp_path: Path, needs_of: dict[str, HostNeeds]
) -> None:
    """Checks the default sizes of block cache, buffer pool and ScyllaDB's memory against docs/sizing.md."""
    caches = {name: needs.cache_mb for name, needs in needs_of.items()}
    assert caches == {
        "cassandra": 0, "hbase": 600, "scylla": 1536, "aerospike": 0, "mysql-innodb": 1024, "mysql-myisam": 0,
        "postgresql": 1024,
    }  # fmt: skip
    old = {"cassandra_version": "3.11.19", "systems": "cassandra"}

    def ask(**values: object) -> int:
        return needs_of_one(tmp_path, **old, **values).cache_mb

    assert ask(compression="lz4") == 256
    assert ask(compression="lz4", cassandra_heap="8g") == 512
    assert ask() == 0  # uncompressed files are memory-mapped instead


def test_a_multiple_of_the_smallest_cache(tmp_path: Path) -> None:
    """The smallest cache at a point determines the number of records for all systems at that point."""
    file = tmp_path / "sized"
    file.write_text(BASE + "fieldcount=1\nfieldlength=1024\nreplication=2\nsystems=cassandra,hbase,mysql-innodb\n")
    sizes = {"matrix.datasize": "0.5*cache,2*cache", "matrix.hbase_heap": "1000m,4000m", "mysql_buffer_pool": "1000m"}
    chosen = loading.load(file, sizes, hosts=Hosts(3), caches=sizing.caches(None))
    # HBase divides its copies among three hosts; MySQL stores every record on each. hbase_heap is 1500m by default.
    default, at_1000m, at_4000m = (1024 * cache for cache in (600 * 3 // 2, 400 * 3 // 2, 1000))
    assert {(name, *point.point.values()): point.number("recordcount") for name, point in chosen.points} == {
        ("cassandra", "0.5*cache"): default // 2,
        ("mysql-innodb", "0.5*cache"): default // 2,
        ("hbase", "0.5*cache", "1000m"): at_1000m // 2,
        ("hbase", "0.5*cache", "4000m"): at_4000m // 2,
        ("cassandra", "2*cache"): default * 2,
        ("mysql-innodb", "2*cache"): default * 2,
        ("hbase", "2*cache", "1000m"): at_1000m * 2,
        ("hbase", "2*cache", "4000m"): at_4000m * 2,
    }


def test_the_plan_says_whose_cache_it_is(tmp_path: Path) -> None:
    file = tmp_path / "sized"
    file.write_text(BASE + "datasize=2*cache\n")
    chosen = loading.load(file, {"systems": "hbase,cassandra,scylla"}, hosts=Hosts(), caches=sizing.caches(None))
    text = shown_plan(chosen, sizing.ask_points(chosen, Hosts(), None))
    assert "1,258,291 records × 1,000 B = 1.258 GB, from datasize=2*cache; 1 copy\n" in text
    assert "cache = 629.1 MB of hbase, the smallest; 1.611 GB of scylla; without a cache: cassandra\n" in text
    created = experiment.create(chosen, tmp_path, {"inventory": None}, Hosts())
    assert experiment.reopen(str(created.folder))[0].scenario.number("recordcount") == 1_258_291
    with pytest.raises(BadInputError, match=r"datasize=2\*cache: no read .* \(cassandra, aerospike\);.* 0\.6\*ram"):
        loading.load(file, {"systems": "cassandra,aerospike"}, hosts=Hosts(), caches=sizing.caches(None))


def test_mysql_has_memory_for_the_connections_of_a_load_alone(tmp_path: Path) -> None:
    def memory(**values: object) -> int:
        return needs_of_one(tmp_path, systems="mysql-innodb", phases="insert", threadcount=100, **values).memory_mb

    # Each of the 100 threads opens 9 more connections of half a MiB each.
    assert memory(**{"insert.inflight": 10}) - memory() == 450


def test_aerospike_in_memory_on_flash_and_packed(tmp_path: Path) -> None:
    def ask(**values: object) -> HostNeeds:
        return needs_of_one(tmp_path, systems="aerospike", **values)

    packed = ask(**{"aerospike.layout": "packed=10"})
    assert packed.size.record_memory == 7
    in_memory = ask(aerospike_storage="memory")
    assert (in_memory.size.record_disk, in_memory.size.record_memory) == (0, 2.5 * 1264 + 64)
    flash = ask(aerospike_index="flash", aerospike_feature_key="/etc/features.conf")
    assert (flash.size.record_disk, flash.size.record_memory) == (2.5 * 1264 + 128, 0)
    # Without a feature key, the Community edition is used, whose index is always in memory.
    assert ask(aerospike_index="flash").size.record_memory == 64


def test_what_needs_a_feature_key_is_said_before_a_run_and_the_key_is_the_way_out() -> None:
    """The published host of yokozuna-long had 192 GB of memory. The index of three billion records needs all of it."""
    hosts = Hosts(1, 192 * 10**9, 14 * 10**12, where="the published host")

    def ask(name: str, **values: str) -> tuple[list[Sizes], str]:
        chosen = loading.load(WORKLOADS / name, {"systems": "aerospike", **values}, full=True)
        at_points = sizing.ask_points(chosen, hosts, None)
        return at_points, shown_plan(chosen, at_points)

    at_points, text = ask("yokozuna-long")
    why = " is not available: the Enterprise edition needs aerospike_feature_key\n"
    assert text.count("aerospike: aerospike_index=flash" + why) == 1
    assert at_points[0].needs["aerospike"].values["aerospike_index"] == "memory"
    with pytest.raises(BadInputError) as error:
        at_points[0].check()
    # The scenario already requests the index on flash, so only the key is suggested.
    assert str(error.value).endswith(", or set aerospike_feature_key")
    small = replace(at_points[0], hosts=replace(hosts, memory=10**9))
    with pytest.raises(BadInputError, match=r"no record fits.*\n.*, or take larger hosts$"):
        small.check()
    at_points, text = ask("yokozuna-long", aerospike_feature_key="/etc/features.conf")
    assert "not available" not in text
    at_points[0].check()
    # One of four points requests the index on flash, and all request strong consistency. Each setting is named once.
    at_points, text = ask("yokozuna", replication="1", durability="disk")
    for asked_for in ("aerospike_index=flash", "aerospike_strong_consistency", "durability=disk"):
        assert text.count(f"aerospike: {asked_for}{why}") == 1
    assert {sizes.needs["aerospike"].values["aerospike_strong_consistency"] for sizes in at_points} == {False}


def test_a_petabyte_of_small_records_needs_384_tb_for_aerospikes_index(needs_of: dict[str, HostNeeds]) -> None:
    """According to the publication, 1 PB of 500-byte records with 3 copies needs about 400 TB of memory."""
    records, hosts = 10**15 // 500, 1000
    needs = needs_of["aerospike"]
    index = hosts * needs.size.memory(records, 3, hosts)
    assert index == pytest.approx(384 * 10**12)
    assert index == pytest.approx(400 * 10**12, rel=0.05)


def test_copies_are_spread_or_whole() -> None:
    spread, whole = (DataNeeds(2000, 64, 0, spread) for spread in (True, False))
    assert (spread.copies(1000, 3, 4), whole.copies(1000, 3, 4)) == (750, 1000)
    assert (spread.disk(1000, 1000, 3, 4), whole.disk(1000, 1000, 3, 4)) == (1_500_000, 2_000_000)
    assert spread.memory(1000, 3, 4) == 750 * 64


def test_a_log_is_never_larger_than_what_was_written() -> None:
    needs = DataNeeds(2000, log_mb=1)
    assert needs.disk(100, 1000, 1, 1) == 200_000 + 100_000
    assert needs.disk(100_000, 1000, 1, 1) == 200_000_000 + 2**20


def test_what_does_not_fit_is_refused_with_what_would(tmp_path: Path) -> None:
    hosts = Hosts(4, 10 * GIB, 10**12, clients=False, where="the stated hosts")
    needs = {"large": HostNeeds(1024, DataNeeds(2000)), "indexed": HostNeeds(1024, DataNeeds(2000, 64))}
    fitting = Sizes(load(tmp_path, recordcount=10**8), hosts, needs)
    fitting.check()
    assert [fitting.largest(need) for need in needs.values()] == [2 * 10**9, 9 * GIB // 64 * 4]
    too_much = Sizes(load(tmp_path, recordcount=5 * 10**9, replication=1), hosts, needs)
    with pytest.raises(BadInputError) as error:
        too_much.check()
    message = str(error.value)
    assert "on the stated hosts with 5,000,000,000 records (datasize=5TB) and replication=1" in message
    assert (
        "large needs 2.5 TB of disk (1 TB available) on each host; at most 2,000,000,000 records (datasize=2TB)"
        in message
    )
    assert "indexed needs 81.07 GB of memory (10.74 GB available) and 2.5 TB of disk" in message
    assert "(all fit with --records 603979776)" in message
    # The suggested number and size of records are the largest that fit.
    assert Sizes(load(tmp_path, recordcount=603979776), hosts, needs).fits(needs["indexed"])
    assert not Sizes(load(tmp_path, recordcount=603979777), hosts, needs).fits(needs["indexed"])
    assert "at most 603,979,776 records (datasize=603.9GB) fit" in message


def test_too_large_a_heap_is_said(tmp_path: Path) -> None:
    sizes = Sizes(load(tmp_path), Hosts(1, GIB, None), {"a": SMALL})
    with pytest.raises(BadInputError, match="no record fits; make its heap or buffers smaller"):
        sizes.check()


def test_a_client_on_the_same_host_counts(tmp_path: Path) -> None:
    alone = Sizes(load(tmp_path, client_heap="1g"), Hosts(1, clients=False), {"a": SMALL}).memory(SMALL)
    shared = Sizes(load(tmp_path, client_heap="1g"), Hosts(1, clients=True), {"a": SMALL}).memory(SMALL)
    assert (alone, shared - alone) == (GIB, GIB + 200 * 2**20)


def test_nothing_is_refused_on_hosts_that_are_not_known(tmp_path: Path) -> None:
    Sizes(load(tmp_path, recordcount=10**15), Hosts(4), {"a": SMALL}).check()


@pytest.fixture(scope="module")
def answers() -> dict[str, HostNeeds]:
    """Returns an empty cache of needs. Scenarios whose relevant settings are equal share an entry."""
    return {}


@pytest.mark.parametrize("path", loading.scenario_files().values(), ids=lambda path: path.name)
def test_every_scenario_fits_four_large_hosts_at_its_full_size(
    path: Path, answers: dict[str, HostNeeds], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = sizing.ask

    def ask_for_what_is_new(point: scenario.Scenario, *arguments: Any) -> Sizes:
        keys = {name: json.dumps([name, sizing._what_matters(point)], sort_keys=True) for name in point.systems}
        if missing := [name for name, key in keys.items() if key not in answers]:
            new = replace(point, values={**point.values, "systems": ",".join(missing)})
            answers.update((keys[system], needs) for system, needs in ask(new, *arguments).needs.items())
        return Sizes(point, arguments[0], {system: answers[key] for system, key in keys.items()})

    monkeypatch.setattr(sizing, "ask", ask_for_what_is_new)
    full = any(line.startswith("full.") for line in path.read_text().splitlines())
    chosen = loading.load(path, {"host_count": "4", "host_memory": "192g", "host_disk": "15TB"}, full=full)
    measured: set[str] = set()
    for sizes in sizing.ask_points(chosen, Hosts().stated(chosen.values), None):
        sizes.check()
        measured |= sizes.needs.keys()
        assert all(sizes.trial_seconds(needs) > 0 for needs in sizes.needs.values())
    assert measured == set(chosen.systems)


def test_three_billion_records_fit_one_host_with_aerospike_s_index_on_flash_or_packed() -> None:
    def ask(assignments: dict[str, str]) -> Sizes:
        hosts = {"host_count": "1", "host_memory": "154g", "host_disk": "15TB"}  # 80 % of 192 GiB
        chosen = loading.load(WORKLOADS / "yokozuna-long", {**hosts, **assignments}, full=True)
        assert chosen.number("recordcount") == 3 * 10**9
        return sizing.ask(chosen, Hosts().stated(chosen.values), None)

    ask({"aerospike_feature_key": "/etc/aerospike/features.conf"}).check()
    ask({"aerospike_index": "memory", "aerospike.layout": "packed=10"}).check()
    with pytest.raises(BadInputError, match=r"aerospike needs 19\d[.0-9]* GB of memory"):  # for its index
        ask({"systems": "aerospike"}).check()


def test_stated_hosts_are_not_this_machine() -> None:
    hosts = Hosts(1, 8 * GIB, 10**11, True, "this machine")
    assert hosts.stated({}) == hosts
    stated = hosts.stated({"host_count": "4"})
    assert (stated.count, stated.memory, stated.disk) == (4, None, None)
    overridden = Hosts(4, 8 * GIB, 10**11, False, "the hosts of x").stated({"host_memory": str(64 * GIB)})
    assert (overridden.count, overridden.memory, overridden.disk, overridden.clients) == (4, 64 * GIB, 10**11, False)


def test_an_inventory_says_what_its_hosts_have() -> None:
    hosts = check_inventory(ANSIBLE / "inventories" / "i3en")
    assert (hosts.count, hosts.memory, hosts.disk, hosts.clients) == (4, 192 * GIB, 15 * 10**12, False)
    hosts = check_inventory(ANSIBLE / "inventories" / "bare-metal")
    assert (hosts.memory, hosts.clients) == (None, False)


def test_a_wrong_size_in_an_inventory_is_named(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("{all: {children: {database: {hosts: {a: {host_disk: big}}}, client: {hosts: {b: }}}}}")
    with pytest.raises(BadInputError, match=r"hosts.yml, a: host_disk=big: must be a size"):
        check_inventory(inventory)


def test_time_is_load_and_runs_and_what_is_around_them(tmp_path: Path) -> None:
    timed = load(tmp_path, recordcount=6_000_000, repeats=3, warmuptime=60, duration=600, replication=2)
    assert Sizes(timed, Hosts(4), {"a": SMALL}).trial_seconds(SMALL) == plan.CANARY_SECONDS + 15 + 500 + 3 * 660
    counted = load(tmp_path, operationcount=60_000, duration=0)
    assert Sizes(counted, Hosts(2), {"a": SMALL}).run_seconds() == 5
    assert (
        Sizes(load(tmp_path, operationcount=60_000, duration=0, target=100), Hosts(2), {"a": SMALL}).run_seconds()
        == 600
    )


def test_phases_and_a_target_for_the_load_take_their_time(tmp_path: Path) -> None:
    values = {"phases": "update,read", "read.duration": 100, "insert.target": 10, "insert.batchsize": 10, "repeats": 2}
    sizes = Sizes(load(tmp_path, **values), Hosts(1), {"a": SMALL})
    assert sizes.load_seconds(SMALL) == 10
    assert sizes.trial_seconds(SMALL) == plan.CANARY_SECONDS + 15 + 10 + 2 * (30 + 100)


@pytest.mark.parametrize("settings", ["{row_cache_size: 1GiB}", "{row_cache_size_in_mb: 1024}"])
def test_the_row_cache_of_cassandra_needs_memory(tmp_path: Path, needs_of: dict[str, HostNeeds], settings: str) -> None:
    needs = needs_of_one(tmp_path, systems="cassandra", cassandra_settings=settings)
    assert needs.memory_mb - needs_of["cassandra"].memory_mb == 1024


def test_a_load_alone_takes_its_time(tmp_path: Path) -> None:
    # The estimate includes no run and therefore no warm-up.
    loaded = load(tmp_path, phases="insert", recordcount=600_000, warmuptime=60)
    sizes = Sizes(loaded, Hosts(1), {"a": SMALL})
    assert sizes.trial_seconds(SMALL) == plan.CANARY_SECONDS + 15 + 100
    text = shown_plan(replace(loaded, values={**loaded.values, "systems": "a"}), [sizes])
    assert "start, the load of 600,000 records, settle, stop" in text


def test_a_load_that_phases_name_is_the_only_one(tmp_path: Path) -> None:
    chosen = load(tmp_path, systems="hbase", phases="insert,read", recordcount=600_000, warmuptime=0, duration=30)
    sizes = Sizes(chosen, Hosts(1), {"hbase": SMALL})
    steps = "start, the load of 600,000 records, settle, 1 × (read: 0 s warm-up + 30 s), stop"
    assert steps in shown_plan(chosen, [sizes])


def test_each_point_has_its_size_and_roles_are_asked_once_for_points_alike_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[tuple[list[str], dict[str, object]]] = []

    def ask(point: scenario.Scenario, hosts: Hosts, inventory: Path | None, check: object) -> Sizes:
        requests.append((point.systems, dict(point.role_variables)))
        heap = 2 if point.role_variables else 1
        return Sizes(point, hosts, dict.fromkeys(point.systems, HostNeeds(heap * 1024, DataNeeds(2000))))

    monkeypatch.setattr(sizing, "ask", ask)
    values = {
        "matrix.recordcount": "1000,5M",
        "matrix.batchsize": "1,10",
        "matrix.cassandra_heap": "1g,2g",
        "rounds": 2,
    }
    planned = load(tmp_path, systems="cassandra,hbase", **values)
    points = sizing.ask_points(planned, Hosts(1, 4 * GIB, 10**10, clients=False, where="the hosts"), None)
    assert requests == [
        (["cassandra"], {"cassandra_heap": "1g"}), (["hbase"], {}), (["cassandra"], {"cassandra_heap": "2g"})
    ]  # fmt: skip
    assert len(points) == 2 * 2 * 3
    text = shown_plan(planned, points)
    assert "24 trials: cassandra at 8 points, hbase at 4 points, in each of 2 rounds" in text
    assert text.count("start, load, settle, 1 × (0 s warm-up + 30 s), stop") == 1
    assert "12-cassandra-recordcount=5000000-batchsize=10-cassandra_heap=2g  15 min  2.147 GB     10 GB" in text
    assert len(re.findall(r"^[0-9]+-", text, re.M)) == 12, "a line for each round"
    assert "at the largest points 2.147 GB of memory and 10 GB of disk on each host" in text
    larger = Sizes(points[-1].scenario, Hosts(1, GIB), points[-1].needs)
    with pytest.raises(BadInputError, match="on the hosts at recordcount=5000000 batchsize=10 cassandra_heap=2g with"):
        larger.check()


def test_what_a_phase_has_of_its_own_is_asked_for(tmp_path: Path) -> None:
    planned = load(tmp_path, systems="mysql-innodb", phases="update,read", **{"matrix.read.inflight": "1,100"})
    points = sizing.ask_points(planned, Hosts(1, 4 * GIB, 10**10, clients=False, where="the hosts"), None)
    single, hundred = (point.needs["mysql-innodb"].memory_mb for point in points)
    assert hundred > single


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "1 min"), (3540, "59 min"), (5400, "1 h 30 min"), (200_000, "2 d 7 h")]
)
def test_times_are_said_in_two_units(seconds: float, text: str) -> None:
    assert figures.about(seconds) == text
