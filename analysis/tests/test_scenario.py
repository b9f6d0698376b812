"""Tests whole scenarios: the file, the command line, and settings that contradict each other."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dohyo import plain_yaml
from dohyo.bad_input import BadInputError
from dohyo.places import JDK, ROOT, WORKLOADS
from dohyo.planning import plan
from dohyo.scenario import loading, phases, properties, scenario
from dohyo.scenario.hosts import Hosts
from dohyo.systems import catalogue
from support.scenarios import again, load

SMALL = "readproportion=1\nupdateproportion=0\nrecordcount=1000\noperationcount=1000\n"


def test_workload_a_says_what_it_promises() -> None:
    chosen = loading.load(WORKLOADS / "workloadA")
    assert chosen.systems == [name for name, system in catalogue.all_systems().items() if not system.by_name]
    assert "postgresql" not in chosen.systems
    assert (chosen.number("rounds"), chosen.repeats, chosen.warmup, chosen.duration) == (3, 1, 60, 20)
    assert chosen.data_bytes == 100_000_000
    assert chosen.conditions == {
        "replication": 1, "write_acks": "all", "read_acks": "one", "durability": "memory", "compression": "none",
        "profile": "vanilla",
    }  # fmt: skip
    # The stock client ends after operationcount operations, Dohyo's client after the measured time.
    assert chosen.client_properties == {
        "workload": "site.ycsb.workloads.CoreWorkload", "readproportion": "0.5", "updateproportion": "0.5",
        "scanproportion": "0", "insertproportion": "0", "readallfields": "true", "requestdistribution": "zipfian",
        "recordcount": "100000", "fieldcount": "10", "fieldlength": "100", "threadcount": "8", "warmup": "steady",
    }  # fmt: skip


@pytest.mark.parametrize("path", loading.scenario_files().values(), ids=lambda path: path.name)
def test_every_scenario_is_valid_and_described(path: Path) -> None:
    loading.load(path)
    assert path.read_text(encoding="utf-8").startswith("# ")
    assert len(loading.description(path)) > 20


def test_the_title_is_what_the_file_says_and_names_other_operations(tmp_path: Path) -> None:
    title = "Workload A: half reads, half updates of single fields, popular records first"
    path = WORKLOADS / "workloadA"
    assert loading.load(path, {"recordcount": "1000", "rounds": "1"}).title == title
    changed = {"readproportion": "0.9", "updateproportion": "0.1"}
    assert loading.load(path, changed).title == f"{title}, with readproportion=0.9, updateproportion=0.1"
    assert load(tmp_path, SMALL, "requestdistribution=uniform").title == ""
    assert load(tmp_path, f"#  My mix (a test)\n{SMALL}").title == "My mix"


WITH_FAULTS = re.compile(r"^((?:\w+\.)?faults)=", re.MULTILINE)


@pytest.mark.parametrize(
    "path",
    [path for path in loading.scenario_files().values() if WITH_FAULTS.search(path.read_text("utf-8"))],
    ids=lambda path: path.name,
)
def test_a_title_is_true_of_other_faults_too(path: Path) -> None:
    title = loading.load(path).title
    # A title must not state the target or the time of a fault, because --set may change it.
    assert not re.search(r"minute|second|sigkill|start|\d", title.lower())
    (key,) = WITH_FAULTS.findall(path.read_text("utf-8"))
    changes = {key: "pause(any)@5s,resume(any)@7s"}
    assert loading.load(path, changes).title == f"{title}, with {key}={changes[key]}"


@pytest.mark.parametrize(
    ("name", "mix", "distribution"),
    [
        ("workloadA", {"read": 0.5, "update": 0.5}, "zipfian"),
        ("workloadB", {"read": 0.95, "update": 0.05}, "zipfian"),
        ("workloadC", {"read": 1}, "zipfian"),
        ("workloadD", {"read": 0.95, "insert": 0.05}, "latest"),
        ("workloadE", {"scan": 0.95, "insert": 0.05}, "zipfian"),
        ("workloadF", {"read": 0.5, "readmodifywrite": 0.5}, "zipfian"),
        ("updateOnly", {"update": 1}, "zipfian"),
    ],
)
def test_the_core_mixes_are_ycsbs(name: str, mix: dict[str, float], distribution: str) -> None:
    chosen = loading.load(WORKLOADS / name)
    shares = {key.removesuffix("proportion"): float(chosen[key]) for key in phases.PROPORTIONS}
    assert {key: share for key, share in shares.items() if share} == mix
    assert chosen["requestdistribution"] == distribution
    if "scan" in mix:
        lengths = (chosen["minscanlength"], chosen["maxscanlength"], chosen["scanlengthdistribution"])
        assert lengths == ("1", "100", "uniform")
    like = loading.load(WORKLOADS / "workloadA")
    assert (chosen.record_bytes, chosen.data_bytes, chosen.conditions) == (1000, like.data_bytes, like.conditions)
    assert chosen["threadcount"] == like["threadcount"]
    assert (chosen.repeats, chosen.duration) == (like.repeats, like.duration)


@pytest.mark.parametrize(
    "name", ["workloadA", "workloadB", "workloadC", "workloadD", "workloadE", "workloadF", "updateOnly"]
)
def test_a_core_mix_says_what_the_stock_client_needs(name: str) -> None:
    text = (WORKLOADS / name).read_text(encoding="utf-8")
    # The stock HBase binding expects the name of a log mode in durability, and fails with "memory".
    assert "\ndurability=" not in text
    for key in ("recordcount", "operationcount", "threadcount", "fieldcount", "fieldlength"):
        assert any(line.removeprefix(f"{key}=").isdigit() for line in text.splitlines() if line.startswith(f"{key}="))


@pytest.mark.parametrize("name", loading.scenario_files())
def test_the_stock_client_takes_every_scenario(name: str) -> None:
    result = subprocess.run(
        [
            JDK / "bin" / "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",  # options for a short run
            "-cp", ROOT / "ycsb-bindings/cassandra/target/bundle/*", "site.ycsb.Client",
            "-t", "-db", "site.ycsb.BasicDB", "-p", "basicdb.verbose=false", "-P", WORKLOADS / name,
            "-p", "operationcount=1000",
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (result.returncode, "Exception" in result.stderr) == (0, False), result.stderr
    counts = dict(re.findall(r"^\[([A-Z-]+)\], Operations, (\d+)$", result.stdout, re.MULTILINE))
    counts.pop("CLEANUP")
    done = sum(map(int, counts.values())) - 2 * int(counts.get("READ-MODIFY-WRITE", 0))
    assert done == 1000, result.stdout


def test_the_command_line_wins(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "recordcount=2k", "batchsize=100", "requestdistribution=latest")
    assert chosen.number("recordcount") == 2000
    assert chosen.client_properties["batchsize"] == "100"


def test_a_count_given_by_hand_ends_the_run(tmp_path: Path) -> None:
    timed = SMALL + "duration=30s\n"
    assert load(tmp_path, timed).client_properties.get("operationcount") is None
    counted = load(tmp_path, timed, "operationcount=500")
    assert (counted.duration, counted.client_properties["operationcount"]) == (0, "500")


@pytest.mark.parametrize(
    ("text", "assignments"),
    [
        ("maxexecutiontime=3600\n", ()),
        ("phases=read\nread.maxexecutiontime=60\nread.operationcount=5\n", ()),
        ("", ("operationcount=5", "duration=60s")),
        ("", ("operationcount=5", "maxexecutiontime=60")),
        ("variant.a.operationcount=5\nvariant.a.maxexecutiontime=60\nmatrix.variant=a\n", ()),
    ],
)
def test_two_ends_of_a_run_are_refused(tmp_path: Path, text: str, assignments: tuple[str, ...]) -> None:
    """YCSB would end at the first limit that it reaches, so the clients could end at different times."""
    with pytest.raises(BadInputError, match=r"operationcount=[0-9,]+ and .*=[0-9s,]+ both end a run"):
        load(tmp_path, SMALL + text, *assignments)


@pytest.mark.parametrize(
    ("text", "assignments", "end"),
    [
        ("duration=60\n", (), (60, 1000)),  # the stock client needs operationcount
        ("maxexecutiontime=0\n", (), (0, 1000)),
        ("operationcount=0\nmaxexecutiontime=9\n", (), (9, 0)),
        ("", ("maxexecutiontime=9",), (9, 1000)),
        ("phases=read\nread.maxexecutiontime=9\n", (), (9, 1000)),
    ],
)
def test_a_run_needs_one_end(tmp_path: Path, text: str, assignments: tuple[str, ...], end: tuple[int, int]) -> None:
    small = SMALL.replace("operationcount=1000\n", "") if "operationcount" in text else SMALL
    chosen = load(tmp_path, small + text, *assignments).of("read")
    assert (chosen.duration, chosen.number("operationcount")) == end


def test_classes_of_old_releases_are_those_of_today(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL + "workload=com.yahoo.ycsb.workloads.CoreWorkload\n")
    assert chosen.client_properties["workload"] == "site.ycsb.workloads.CoreWorkload"


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("# Größe\n".encode("latin-1"), "Größe"),
        ("# 测试\n".encode("gbk"), "²âÊÔ"),  # Java reads Latin-1
        ("\ufeff# Größe\n".encode(), "Größe"),
        (b"\xef\xbb\xbf", ""),
    ],
)
def test_latin_and_byte_order_marks_are_read(tmp_path: Path, content: bytes, title: str) -> None:
    (file := tmp_path / "file").write_bytes(content + SMALL.encode())
    chosen = loading.load(file)
    assert (chosen.title, chosen.records) == (title, 1000)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_unsupported_encodings_are_refused(tmp_path: Path, encoding: str) -> None:
    (file := tmp_path / "file").write_bytes(SMALL.encode(encoding))
    with pytest.raises(BadInputError, match="file: it is UTF-16 or binary; save it as UTF-8"):
        loading.load(file)


def test_both_names_of_the_duration_work(tmp_path: Path) -> None:
    timed = SMALL.replace("operationcount=1000\n", "")
    assert load(tmp_path, timed + "maxexecutiontime=20\n").duration == 20
    assert load(tmp_path, timed + "maxexecutiontime=20\n", "duration=1m").duration == 60
    with pytest.raises(BadInputError, match="two names for one property"):
        load(tmp_path, timed + "maxexecutiontime=20\nduration=20s\n")


def test_a_saved_scenario_loads_the_same_values(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "cassandra_heap=2g", "hbase.client.pause=3", "duration=5m")
    repeated = again(tmp_path, chosen)
    assert repeated.values == {**chosen.values, "systems": ",".join(chosen.systems)}
    assert repeated.role_variables == chosen.role_variables


def test_all_systems_are_those_of_the_list(tmp_path: Path) -> None:
    named = [name for name, system in catalogue.all_systems().items() if system.by_name]
    assert load(tmp_path, SMALL).systems == [name for name in catalogue.all_systems() if name not in named] != []
    assert load(tmp_path, SMALL, f"systems={named[0]}").systems == named[:1]
    assert load(tmp_path, SMALL, "systems=hbase").systems == ["hbase"]


def test_systems_of_a_role_set_the_same_variables() -> None:
    """A system must set all variables of its role. Otherwise, the value set by an earlier system would remain."""
    by_role: dict[str, set[tuple[str, ...]]] = {}
    for system in catalogue.all_systems().values():
        by_role.setdefault(system.role, set()).add(system.variables)
    assert {role: len(different) for role, different in by_role.items()} == dict.fromkeys(by_role, 1)


def test_role_variables_and_hbase_settings_are_handed_on(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "cassandra_heap=2g", "hbase.client.pause=3")
    assert chosen.role_variables == {"cassandra_heap": "2g"}
    assert chosen.client_properties["hbase.client.pause"] == "3"
    assert "cassandra_heap" not in chosen.client_properties


def test_what_only_the_stock_client_reads_is_reported(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL + "measurementtype=timeseries\n")
    assert chosen.ignored == ["measurementtype"]
    assert "measurementtype" not in chosen.client_properties


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("batchsiz=1", "unknown property 'batchsiz': did you mean batchsize?"),
        ("cassandra_hep=1g", "unknown property 'cassandra_hep': did you mean cassandra_heap?"),
        ("Ξ=1", "unknown property 'Ξ' .docs/properties.md"),
        ("batchsize=0", "command line: batchsize=0: must be a whole number from 1"),
        ("batchsize=5000", "batchsize=5000: must be at most 1000"),
        ("updateproportion=0.7", "readproportion=1 . updateproportion=0.7 = 1.7"),
        ("systems=casandra", "unknown system 'casandra': did you mean cassandra?"),
        ("systems=hbase,hbase", "a system is named twice"),
        ("partitions=100", "partitions and keycolumns need insertorder=ordered"),
        ("keycolumns=a int 2, b int", "partitions and keycolumns need insertorder=ordered"),
        ("insertstart=1000", "insertstart=1000: must be at most 999"),
        ("insertcount=1001", "insertcount=1001: must be at most 1000"),
        ("minscanlength=2000", "minscanlength=2000: must be at most 1000"),
        ("tablecount=2000", "tablecount=2000: must be at most 1000"),
        ("published=heavy", "unknown published figures 'heavy': did you mean heavyweights"),
        ("operationcount=0", "nothing ends a run"),
        ("hosts=db1", "Dohyo sets the addresses .*--attach cassandra=HOST"),
        ("as.host=10.0.0.9", "--attach aerospike=HOST:PORT"),
        ("as.timeout=10", "operationtimeout"),
        ("db.url=jdbc:mysql://db1/ycsb", "--attach mysql-innodb=HOST:PORT or postgresql=HOST:PORT"),
        ("db.driver=com.mysql.jdbc.Driver", "^command line: db.driver=com.* your servers, use --attach mysql-inn"),
        ("db.passwd=hunter2", r"db.passwd=\*\*\*: .*mysql.password .*--attach-secrets"),
        ("hbase.zookeeper.quorum=zk1", "--attach hbase=ZOOKEEPER"),
        ("hbase.zookeeper.znode.parent=/hbase", "--attach hbase=ZOOKEEPER"),
        ("cassandra.password=hunter2", r"cassandra.password=\*\*\*: .*use the file of --attach-secrets"),
        ("columnfamily=family", "Dohyo creates the table and its column family"),
        ("mongodb.url=mongodb://db1", "Dohyo has no such system"),
        ("db=com.yahoo.ycsb.db.HBaseClient10", "set systems"),
        ("workload=com.yahoo.ycsb.workloads.RestWorkload", "must be one of site.ycsb.workloads.CoreWorkload"),
        ("db=site.ycsb.BasicDB", "set systems"),
        ("datasize=40", "datasize=40: must be a size such as 40GB"),
        ("datasize=40g", "datasize=40g: must be a size such as 40GB"),
        ("datasize=-1GB", "must be a size"),
        ("datasize=4*rom", "must be a size"),
        ("datasize=0*ram", "must be a size"),
        ("datasize=0*cache", "must be a size"),
        ("datasize=0.6*cache", r"datasize=0\.6\*cache: no read cache of known size \(cassandra, "),
        ("datasize=999B", "is less than one record of 1,000 bytes"),
        ("datasize=9999999999999999999PB", "recordcount=.*: must be a whole number"),
        ("host_memory=much", "host_memory=much: must be a size such as 192g"),
        ("scale=0", "scale=0: must be a number from 1e-09 to 1"),
        ("scale=2", "scale=2: must be a number from 1e-09 to 1"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, assignment: str, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected):
        load(tmp_path, SMALL, assignment)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("readproportion=1\nrecordcount=10\n", r"readproportion=1 \+ updateproportion=0.05 \(default\) = 1.05"),
        ("", "recordcount is missing"),
    ],
)
def test_what_a_file_lacks_is_named(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected):
        load(tmp_path, f"{text}operationcount=1\n")


def test_thirds_sum_to_one(tmp_path: Path) -> None:
    load(tmp_path, SMALL, "readproportion=0.333", "updateproportion=0.333", "scanproportion=0.333")


KEY = ("insertorder=ordered", "keycolumns=host int 10, when timestamp")


@pytest.mark.parametrize(
    ("assignments", "expected"),
    [
        (("readproportion=0.5", "scanproportion=0.5", "batchsize=10"), "a scan is one operation"),
        (("requestdistribution=latest", "tablecount=4"), "=latest: .* set tablecount=1, not 4"),
        (("requestdistribution=exponential", "tablecount=4"), "=exponential: .* set tablecount=1, not 4"),
        (("recordcount=5", "datasize=1GB"), "command line: recordcount=5 and datasize=1GB both determine"),
        (("insertcount=5", "batchsize=6"), "batchsize=6: must be at most 5, which is the number of loaded records"),
        (("insertcount=5", "tablecount=2"), "insertcount=5: using part of the records requires tablecount=1, not 2"),
        ((*KEY, "keysalt=crc32"), r"keysalt=crc32: .* leave no room for a salt"),
        ((*KEY, "cassandra.batchread=in"), r"cassandra.batchread=in with keycolumns=host .* use cassandra.batchread"),
        ((*KEY, "phases=a,b", "b.cassandra.batchread=in"), r"phase b: cassandra.batchread=in with keycolumns"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, assignments: tuple[str, ...], expected: str) -> None:
    with pytest.raises(BadInputError, match=expected):
        load(tmp_path, SMALL, *assignments)


def test_a_size_becomes_a_number_of_records(tmp_path: Path) -> None:
    sized = SMALL.replace("recordcount=1000\n", "datasize=40GB\n")
    chosen = load(tmp_path, sized)
    # A record has 1,000 bytes.
    assert chosen.values["recordcount"] == "40000000"
    assert chosen.datasize == "40GB"
    assert "datasize" not in chosen.client_properties
    assert load(tmp_path, sized, "fieldcount=1", "fieldlength=500").number("recordcount") == 80_000_000
    assert load(tmp_path, sized, "datasize=1.5 TiB").number("recordcount") == 3 * 2**40 // 2 // 1000


def test_count_and_size_replace_each_other(tmp_path: Path) -> None:
    assert load(tmp_path, SMALL, "datasize=5MB").number("recordcount") == 5000
    sized = SMALL.replace("recordcount=1000\n", "datasize=40GB\n")
    assert load(tmp_path, sized, "recordcount=7").number("recordcount") == 7
    assert load(tmp_path, sized, "recordcount=7").datasize == ""
    with pytest.raises(BadInputError, match=r"small: recordcount=1000 and datasize=1GB both determine"):
        load(tmp_path, SMALL + "datasize=1GB\n")


def test_a_multiple_of_the_memory(tmp_path: Path) -> None:
    """The data, including all copies, fill the given multiple of the memory of all database hosts."""
    stated = ("host_memory=192g", "host_count=4", "replication=3")
    assert load(tmp_path, SMALL, "datasize=1*ram", *stated).number("recordcount") == 4 * 192 * 2**30 // 3 // 1000
    assert load(tmp_path, SMALL, "datasize=0.5 * RAM", *stated).number("recordcount") == 2 * 192 * 2**30 // 3 // 1000
    file = tmp_path / "small"
    twice = loading.load(file, {"datasize": "2*ram"}, hosts=Hosts(3, 10**9))
    assert twice.number("recordcount") == 6_000_000
    with pytest.raises(
        BadInputError, match=r"datasize=2\*ram: the memory of the hosts is not known .* host_memory=192g"
    ):
        loading.load(file, {"datasize": "2*ram"}, hosts=Hosts(3))


def test_scale_makes_the_counts_smaller_and_keeps_the_full_ones(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "recordcount=1G", "operationcount=30", "scale=0.01")
    assert (chosen.number("recordcount"), chosen.number("operationcount")) == (10_000_000, 1)
    assert chosen.full == {"recordcount": "1000000000", "operationcount": "30"}
    assert chosen.client_properties["recordcount"] == "10000000"
    assert "scale" not in chosen.client_properties
    assert "recordcount=1000000000\n" in chosen.text()
    repeated = again(tmp_path, chosen)
    assert (repeated.number("recordcount"), repeated.full) == (10_000_000, chosen.full)
    assert load(tmp_path, SMALL, "scale=1").full == {}


def test_a_part_of_the_records_is_all_that_is_loaded(tmp_path: Path) -> None:
    part = SMALL + "requestdistribution=ranges\nfieldcount=1\nfieldlength=10\n"
    assert load(tmp_path, part).records == 1000
    assert load(tmp_path, part, "insertstart=300").records == 700
    chosen = load(tmp_path, part, "insertstart=300", "insertcount=500", "operationcount=0", "passes=2")
    assert (chosen.records, chosen.data_bytes, chosen.of("run").number("operationcount")) == (500, 5000, 1000)
    assert plan.course(replace(chosen, values={**chosen.values, "phases": "insert"})) == "the load of 500 records"


@pytest.mark.parametrize(("start", "count"), [(500, 497), (495, 502), (0, 997), (1, 1), (900, 97)])
def test_scale_takes_a_part_of_the_part(tmp_path: Path, start: int, count: int) -> None:
    text = f"{SMALL.replace('1000', '997', 1)}insertstart={start}\ninsertcount={count}\n"
    for scale in ("0.5", "0.1", "0.01"):
        chosen = load(tmp_path, text, f"scale={scale}")
        assert chosen.full_records == count
        assert chosen.records == pytest.approx(count * float(scale), abs=1)


def test_a_saved_scenario_has_the_computed_size(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "datasize=40GB", "scale=0.5")
    assert "datasize=40GB" in chosen.text().splitlines()[0]
    assert again(tmp_path, chosen).number("recordcount") == 20_000_000


def test_counts_beyond_32_bits(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "recordcount=5000000000")
    assert chosen.number("recordcount") == 5_000_000_000
    assert chosen.data_bytes == 5 * 10**12
    assert chosen.client_properties["recordcount"] == "5000000000"
    assert load(tmp_path, SMALL, "datasize=5TB").values == chosen.values


STATDATA = "host int 10, user bigint 1000, object text(32) 100, when timestamp"


def test_columns_of_a_key(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "insertorder=ordered", f"keycolumns={STATDATA.replace(', ', ' ,  ')} ")
    assert chosen.client_properties["keycolumns"] == STATDATA
    assert again(tmp_path, chosen)["keycolumns"] == STATDATA
    for grouped in ("(host int 10), user text(2) 5, when int", "(host int 10, user text(2) 5), when int"):
        chosen = load(tmp_path, SMALL, "insertorder=ordered", f"keycolumns= {grouped.replace(' ', '  ')}")
        assert chosen.client_properties["keycolumns"] == grouped


def test_partitions_are_the_short_form(tmp_path: Path) -> None:
    series = SMALL + "insertorder=ordered\npartitions=5k\n"
    chosen = load(tmp_path, series)
    assert chosen.client_properties["keycolumns"] == "series bigint 5000, time timestamp"
    assert "partitions" not in chosen.values
    assert load(tmp_path, series, "partitions=0")["keycolumns"] == ""
    # The command line overrides the file, no matter which of the property's two names each of them uses.
    assert load(tmp_path, series, f"keycolumns={STATDATA}")["keycolumns"] == STATDATA
    with pytest.raises(BadInputError, match=r"keycolumns=host .* and partitions=5k both determine which columns"):
        load(tmp_path, series + f"keycolumns={STATDATA}\n")
    with pytest.raises(BadInputError, match=r"at variant=v: partitions=5000 and keycolumns=a int 2, b int both"):
        load(tmp_path, series, "matrix.variant=v", "variant.v.keycolumns=a int 2, b int")
    points = load(tmp_path, SMALL + "insertorder=ordered\n", "matrix.partitions=2,3", "systems=hbase").points
    assert [point["keycolumns"].split(",")[0] for _, point in points] == ["series bigint 2", "series bigint 3"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("when timestamp", "must have 2 to 16 columns, not 1"),
        (",".join(f"a{number} int 2" for number in range(16)) + ", b int", "must have 2 to 16 columns, not 17"),
        ("host int 10, host timestamp", "the name host occurs twice"),
        ("Host int 10, when timestamp", "'Host int 10' must be a name .a-z"),
        ("host int, when timestamp", "'host int' must be a name .* a type and a number of values"),
        ("host int 10, when timestamp 5", "'when timestamp 5' must be a name .* and a type;"),
        ("host int 10, when timestamp,", "'when timestamp' must be .* a number of values"),
        ("host text(0) 10, when timestamp", "'host text.0. 10' must be a name"),
        ("host date 10, when timestamp", "'host date 10' must be a name"),
        ("host int 10k, when timestamp", "'host int 10k' must be a name"),
        ("host int 2147483649, when timestamp", "the type has room for 2147483648 values"),
        ("host text(2) 101, when timestamp", "the type has room for 100 values"),
        ("host text(200) 10, user text(60) 10, when int", "a key has 264 bytes; at most 255 are allowed"),
        ("(host int 10, when timestamp)", "the parenthesis must be closed before the last column"),
        ("host int 10), when timestamp", "'host int 10.' must be a name"),
        ("host int 10, field9 timestamp", "a field is also called field9"),
        ("host int 9, when text(2)", "recordcount=1000: .* allows only 900 keys"),
    ],
)
def test_columns_that_cannot_be(tmp_path: Path, columns: str, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected) as refused:
        load(tmp_path, SMALL, "insertorder=ordered", f"keycolumns={columns}")
    assert f"keycolumns={columns}" in str(refused.value)


def test_options_and_assignments_must_not_contradict() -> None:
    assert loading.overrides(["a=1"], {"a": "1", "b": None}) == {"a": "1"}
    with pytest.raises(BadInputError, match="recordcount is given twice: as 1 and as 2"):
        loading.overrides(["recordcount=1"], {"recordcount": "2"})
    with pytest.raises(BadInputError, match="--set x: must read"):
        loading.overrides(["x"], {})


def test_scenarios_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    assert loading.find("workloadA") == ROOT / "workloads" / "workloadA"
    file = tmp_path / "mine.properties"
    file.write_text(SMALL)
    assert loading.find(str(file)) == file
    with pytest.raises(BadInputError, match="did you mean workloadA"):
        loading.find("worklodA")
    with pytest.raises(BadInputError, match=r"the property file .*missing.* does not exist"):
        loading.find(str(tmp_path / "missing"))
    with pytest.raises(BadInputError, match=f"{tmp_path} is a folder, not a property file"):
        loading.find(str(tmp_path))
    with pytest.raises(BadInputError, match="/dev/null is a device or a pipe, not a property file"):
        loading.find("/dev/null")
    with pytest.raises(BadInputError, match=r"cannot read the property file .*/below: Not a directory"):
        loading.find(f"{file}/below")


def points_of(tmp_path: Path, text: str, *assignments: str) -> dict[str, dict[str, scenario.Scenario]]:
    """Returns the scenarios for each variant and system."""
    points: dict[str, dict[str, scenario.Scenario]] = {}
    for system, point in load(tmp_path, text, *assignments).points:
        points.setdefault(point.point["variant"], {})[system] = point
    return points


FEW_AND_MANY = """recordcount=1000
operationcount=1000
systems=cassandra,hbase
matrix.variant=few,many
variant.few.tablecount=4
variant.many.tablecount=8
variant.many.cassandra_heap=2g
"""


def test_the_command_line_replaces_what_variants_say_also_all_of_it(tmp_path: Path) -> None:
    points = points_of(tmp_path, FEW_AND_MANY, "tablecount=2", "cassandra_heap=1g")
    assert {name: [*group] for name, group in points.items()} == {"few": ["cassandra", "hbase"], "many": ["cassandra"]}
    for point in (point for group in points.values() for point in group.values()):
        assert (point["tablecount"], point.role_variables["cassandra_heap"]) == ("2", "1g")
    # The scenario file that an experiment writes must give the same scenario when it is loaded.
    chosen = load(tmp_path, FEW_AND_MANY, "tablecount=2", "cassandra_heap=1g")
    assert again(tmp_path, chosen).points == chosen.points


def test_published_variants_can_have_other_tables() -> None:
    for full in (False, True):
        chosen = loading.load(loading.find("heavyweights"), {"tablecount": "2"}, full=full)
        assert {point["tablecount"] for _, point in chosen.points} == {"2"}


def test_several_variants_may_share_a_key(tmp_path: Path) -> None:
    text = FEW_AND_MANY + "variant.few,many.fieldlength=7\nfull.variant.few.fieldlength=8\n"
    points = points_of(tmp_path, text)
    assert {point["fieldlength"] for by_system in points.values() for point in by_system.values()} == {"7"}
    (tmp_path / "bout").write_text(text, encoding="utf-8")
    full = loading.load(tmp_path / "bout", full=True)
    assert {point.point["variant"]: point["fieldlength"] for _, point in full.points} == {"few": "8", "many": "7"}
    with pytest.raises(BadInputError, match=r"variant\.few\.tablecount is set twice: to 4 and 5; leave one out"):
        load(tmp_path, FEW_AND_MANY + "variant.few,other.tablecount=5\n")


def test_entries_of_a_variant_s_dict_are_added_to_the_scenario_s(tmp_path: Path) -> None:
    text = FEW_AND_MANY + "cassandra_settings={a: 1, b: 2}\nvariant.many.cassandra_settings={b: 3, c: 4}\n"
    points = points_of(tmp_path, text)
    assert points["few"]["cassandra"].role_variables["cassandra_settings"] == {"a": 1, "b": 2}
    assert points["many"]["cassandra"].role_variables["cassandra_settings"] == {"a": 1, "b": 3, "c": 4}
    replaced = points_of(tmp_path, text, "cassandra_settings={d: 5}")
    assert replaced["many"]["cassandra"].role_variables["cassandra_settings"] == {"d": 5}


@pytest.mark.parametrize("key", ["", "matrix.", "variant.a,b.", "run."])
def test_a_secret_is_no_value_of_a_scenario(key: str, tmp_path: Path) -> None:
    (file := tmp_path / "s").write_text("recordcount=1000\n")
    with pytest.raises(BadInputError, match=r"cassandra_password is secret.*; set DOHYO_CASSANDRA_PASSWORD"):
        loading.load(file, {f"{key}cassandra_password": "secret"})


def test_a_file_too_large_for_a_scenario_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(BadInputError, match=f"^cannot read the property file {path}: it is larger than"):
        properties.read(path)
    with pytest.raises(BadInputError, match="it is larger than"):
        plain_yaml.load(path)
