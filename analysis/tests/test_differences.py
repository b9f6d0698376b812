"""Tests differences from a published experiment: all published settings are compared, but equal ones are not listed."""

import dataclasses
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from dohyo.bad_input import BadInputError
from dohyo.evidence.records import ExperimentFacts
from dohyo.figures import point_name
from dohyo.places import WORKLOADS
from dohyo.planning import plan
from dohyo.scenario import loading, properties, published
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.published import FOLDER
from dohyo.scenario.setup import Setting
from dohyo.summary import differences
from dohyo.summary.differences import TrialSetup
from dohyo.summary.results import SetupDifferences
from dohyo.summary.summary import summarise
from dohyo.systems import catalogue
from dohyo.tables import table
from support.evidence import edit_json, rendered, trial, write_json

FILES = sorted(FOLDER.glob("*.yml"))
FOUR_HOSTS = Hosts(4, 192 * 2**30, None, True, "the hosts of four", 4)
FIRST = {"title": "A against B", "hardware": "1 host", "versions": "A 1.0", "facts": ["A won"]}


# Intended differences between --full and the publication: key and place → published value, our value.
DELIBERATE: dict[str, dict[str, tuple[str, str | None]]] = {
    "heavyweights": {
        "JDK system=cassandra": ("1.8.0_111", "8"),
        "server system=hbase": ("1.2.0-cdh5.14.2", "2.5.13-hadoop3"),
        "JDK system=hbase": ("1.8.0_111", "8"),
        # The class belongs to Phoenix, whose jars are not part of HBase.
        "hbase.regionserver.wal.codec system=hbase": (
            "org.apache.hadoop.hbase.regionserver.wal.IndexedWALEditCodec",
            "not set",
        ),
        # Both systems use the salt published for HBase. We store the number as text, which is longer than a bigint.
        "stored key system=cassandra": ("bigint", "2 bytes of its CRC32, text"),
        "stored key system=hbase": ("2 bytes of its CRC32, bigint", "2 bytes of its CRC32, text"),
        "sessions system=cassandra, variant=4-tables|8-tables": ("one for each thread", "one for each client"),
        "sessions system=cassandra, variant=4-tables-g1|8-tables-g1|100-threads|200-threads|ycsb-cassandra": (
            "one for each table",
            "one for each client",
        ),
        # Other commands measure these variants; the scenario's header lists them.
        "replication system=cassandra, variant=4-tables|8-tables": ("1, 3", "3"),
        "replication system=hbase, variant=4-tables|8-tables": ("2, 3", "3"),
        "variant 100-threads": ("measured", "not measured"),
        "variant 200-threads": ("measured", "not measured"),
        "variant ycsb-cassandra": ("measured", "not measured"),
        "variant ycsb-hbase": ("measured", "not measured"),
        "variant row-cache": ("measured", "not measured"),
    },
    "gc-matrix": {
        "JDK variant=c311-cms|c311-g1": ("1.8.0_252", "8"),
        "JDK variant=c311-shenandoah": ("1.8.0, a build with Shenandoah", "8"),
        "JDK variant=c40-cms|c40-g1|c40-zgc": ("11.0.2", "11"),
        "JDK variant=c40-g1-jdk14|c40-zgc-jdk14": ("14.0.1", "14"),
        "JDK variant=c40-shenandoah": ("11.0.8", "11"),
        "client": ("tlp-stress BasicTimeSeries", "Dohyo's"),
        "stored key": ("sensor_id text, timestamp timeuuid (newest first)", "series bigint, time timestamp"),
    },
    "hbase-cache": {"server": ("CDP Private Cloud Base 7.2.2", "2.5.13-hadoop3"), "JDK": ("1.8.0_232", "8")},
    "hbase-read-variants": {
        "server": ("1.2.0-cdh5.14.2", "2.5.13-hadoop3"),
        "JDK": ("1.8.0_111", "8"),
        "stored key": ("2 bytes of its CRC32, bigint", "2 bytes of its CRC32, text"),
        "hbase.regionserver.wal.codec system=hbase": (
            "org.apache.hadoop.hbase.regionserver.wal.IndexedWALEditCodec",
            "not set",
        ),
    },
    "yokozuna": {"operating system": ("Amazon Linux 2; Ubuntu in the rerun of Aerospike", None)},
    "yokozuna-long": {},
    "insert-race": {
        "operating system": ("Ubuntu 14.04", None),
        "JDK system=cassandra": ("7", None),
        "server system=cassandra": ("2.0.9", "3.11.19"),
        "server system=mysql-innodb|mysql-myisam": ("5.5", "11.4.5"),
        "client": ("drivers for Python", "Dohyo's"),
        "form of the table system=cassandra": ("COMPACT STORAGE", "ordinary"),
        "stored key system=mysql-innodb|mysql-myisam": (
            "host int, user int, object varchar(32), when int",
            "host int, user bigint, object text(32), when timestamp",
        ),
    },
}


def planned(
    name: str, hosts: Hosts = FOUR_HOSTS, changes: dict[str, str] | None = None, *, full: bool = True
) -> list[TrialSetup]:  # fmt: skip
    scenario = loading.load(WORKLOADS / name, changes, full=full)
    trials = (plan.variables(planned_trial, Path(), keep=False) for planned_trial in plan.trials(scenario, 1))
    return differences.before(trials, {}, hosts, {})


@cache
def in_full(name: str) -> list[TrialSetup]:
    """Returns the trials of `--full` on four hosts. Tests must not change these trials."""
    return planned(name)


def file_with(folder: Path, *setup: Any) -> published.Published:
    path = folder / "bout.yml"
    path.write_text(yaml.safe_dump({**FIRST, "setup": list(setup)}), encoding="utf-8")
    return published.load(path)


def lines(result: SetupDifferences) -> dict[str, tuple[str, str | None]]:
    stated = [line for line in result.found if line.published != "not published"]
    return {f"{line.what} {line.at}".strip(): (line.published, line.here) for line in stated}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_key_of_a_published_setup_is_ignored(path: Path) -> None:
    """A published value that no system has must be listed, unless we do not measure that part of the publication."""
    source, setups = published.load(path), in_full(path.stem)
    assert source.setup
    absurd = [
        dataclasses.replace(item, values=[f"-XX:NoSuchValue={number}"]) for number, item in enumerate(source.setup)
    ]
    listed = differences.compare(dataclasses.replace(source, setup=absurd), setups).found
    not_measured = {line.what for line in listed if (line.published, line.here) == ("measured", "not measured")}
    for setting in absurd:
        places = {f"{name} {value}" for name, values in setting.point.items() for value in values}
        assert places & not_measured or setting.values[0] in {line.published for line in listed}, setting


@pytest.mark.parametrize("name", DELIBERATE)
def test_full_is_what_was_published(name: str) -> None:
    """`--full` equals the publication except for `DELIBERATE` and the hosts, which depend on the user."""
    listed = differences.compare(published.load(FOLDER / f"{name}.yml"), in_full(name)).found
    deliberate = [line for line in listed if line.group != "hardware" and line.published != "not published"]
    assert {f"{line.what} {line.at}".strip(): (line.published, line.here) for line in deliberate} == DELIBERATE[name]


def stated(name: str) -> dict[str, str]:
    """Returns our value of each setting that a publication does not state."""
    return further(differences.compare(published.load(FOLDER / f"{name}.yml"), in_full(name)))


def further(result: SetupDifferences) -> dict[str, str]:
    (only,) = (line for line in result.found if line.published == "not published")
    assert result.found[-1] == only
    return dict(setting.split(" = ") for setting in (only.here or "").split("; "))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hbase-cache", {"replication": "3", "hbase_regions": "4", "warmuptime": "0 s", "stored key": "text",
                         "requestdistribution": "zipfian"}),
        ("yokozuna", {"fieldcount": "10", "duration": "1800 s", "write_acks": "all", "client_heap": "4g"}),
        ("yokozuna-long", {"readproportion": "0.5", "aerospike.layout": "bins", "read_acks": "one"}),
        ("hbase-read-variants", {"batchsize": "100", "retries": "15", "durability": "memory"}),
        ("heavyweights", {"cassandra.tokenaware": "true", "batchsize": "100, 200", "hinted_handoff_enabled": "true",
                          "variant": "4-tables-async, 8-tables-async"}),
        ("gc-matrix", {"cassandra_java_options": "-da:net.openhft...", "durability": "memory", "warmuptime": "0 s"}),
        ("insert-race", {"keycolumns": "(host int 10), user bigint 1000, object text(32) 100, when timestamp",
                         "inflight": "50"}),
    ],
)  # fmt: skip
def test_what_was_not_published_is_shown_as_ours_once(name: str, expected: dict[str, str]) -> None:
    values = stated(name)
    assert {key: values.get(key) for key in expected} == expected


def test_threads_of_a_collector_count() -> None:
    """In heavyweights, the publication states these numbers of threads for the second series, but not for the first."""
    assert "-XX:ConcGCThreads=?" in stated("heavyweights")["cassandra_java_options"]
    assert "GCThreads" not in stated("gc-matrix")["cassandra_java_options"]


def change_value(key: str, value: str) -> str:
    """Returns a different valid value of a property or variable."""
    variable = catalogue.all_options().get(key)
    known_property = properties.find(key)
    choices = variable.choices if variable else known_property.type.choices if known_property else ()
    if other_choices := [str(choice) for choice in choices if str(choice) != value]:
        return other_choices[0]
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    if value.startswith(("[", "{")):
        return value[:-1] + (", -XX:+Another]" if value[0] == "[" else ", another_setting: 4}")
    return re.sub("[0-9]+", lambda digits: str(int(digits[0]) + 1), value, count=1) if key != "scale" else "0.5"


def compared(name: str, changes: dict[str, str]) -> SetupDifferences:
    fewer = {"matrix.batchsize": "100", "matrix.fieldlength": "10"} if name == "heavyweights" else {}
    return differences.compare(published.load(FOLDER / f"{name}.yml"), planned(name, changes={**fewer, **changes}))


@cache
def unchanged(name: str) -> SetupDifferences:
    return compared(name, {})


FULL = [
    (name, key, value)
    for name in DELIBERATE
    for key, value in loading._one_by_one(properties.read(WORKLOADS / name), name).items()
    if key.startswith("full.") and not re.search(r"matrix\.variant|\.(100|200)-threads|ycsb|row-cache", key)
]


@pytest.mark.parametrize(("name", "key", "value"), FULL, ids=lambda text: text.removeprefix("full.")[:60])
def test_whatever_full_changes_is_compared(name: str, key: str, value: str) -> None:
    """If a key of --full is given another value, the differences or the list of unpublished settings must change."""
    key = key.removeprefix("full.")
    short = re.sub(r"^variant\.[^.]*\.|^matrix\.", "", key)
    changed = {
        key: ",".join(change_value(short, part) for part in value.split(","))
        if "matrix." in key
        else change_value(short, value)
    }
    if changed == {"duration": "1"}:  # a duration and passes cannot both end a run
        changed["read.passes"] = "0"
    assert compared(name, changed) != unchanged(name), changed


def test_a_point_that_was_not_published_is_said_to_be_ours(tmp_path: Path) -> None:
    source = file_with(tmp_path, {"at": {"system": "hbase", "variant": "memstore"}, "settings": {"hbase_heap": "1g"}})
    unpublished = further(differences.compare(source, in_full("heavyweights")))
    assert unpublished["system"] == "cassandra"
    assert "8-tables" in unpublished["variant"]
    assert "cassandra_heap" not in unpublished  # the publication does not include cassandra


def test_hbase_s_master_had_a_host_of_its_own() -> None:
    differing = lines(differences.compare(published.load(FOLDER / "hbase-cache.yml"), in_full("hbase-cache")))
    assert differing["master on"] == ("a host of its own", "the first region server's host")


def test_a_key_is_equal_if_its_stored_bytes_are() -> None:
    def stored(name: str, **changes: str) -> set[str | None]:
        return {setup.context["key_type"] for setup in planned(name, changes=changes)}

    assert stored("yokozuna") == {"text"}
    assert stored("heavyweights") == {"2 bytes of its CRC32, text"}
    assert stored("heavyweights", keysalt="none") == {"text"}
    assert stored("gc-matrix") == {"series bigint, time timestamp"}


def test_what_cannot_be_asked_for_is_a_difference(tmp_path: Path) -> None:
    """The bindings determine the number of sessions, so no scenario can request a different number."""
    publication = file_with(tmp_path, {"workload": {"sessions": "one for each thread"}})
    by_system = {setup.system: setup for setup in planned("workloadA", full=False)}
    single, many = "one for each client", "one or more for each thread"
    assert {
        system: lines(differences.compare(publication, [setup])).get("sessions", ("", ""))[1]
        for system, setup in by_system.items()
    } == {
        "cassandra": single, "scylla": single, "hbase": single, "aerospike": single, "mysql-innodb": many,
    }  # fmt: skip


def test_where_the_master_of_attached_servers_is_nobody_knows(tmp_path: Path) -> None:
    trial(tmp_path, 1, "hbase")
    (result,) = summarise(tmp_path).trials
    attached = dataclasses.replace(result, conditions=dataclasses.replace(result.conditions, attached="elsewhere"))
    masters = [setup.context["master"] for setup in differences.after([result, attached], ExperimentFacts())]
    assert masters == ["the first region server's host", None]


def test_the_read_variants_of_hbase_are_the_same_in_both_files() -> None:
    alone = {setting.key: setting.values for setting in published.load(FOLDER / "hbase-read-variants.yml").setup}
    whole = [
        item for item in published.load(FOLDER / "heavyweights.yml").setup if "hfile" in item.point.get("variant", [])
    ]
    for setting in whole:
        if setting.key not in ("compression", "settle.flush"):  # these two keys differ
            assert setting.values == alone.get(setting.key, setting.values), setting
    for name in ("hbase-read-variants", "heavyweights"):
        threads = {
            setup.context["all_threads"] for setup in in_full(name) if setup.point["variant"] in ("memstore", "hfile")
        }
        assert threads == {"400"}  # 100 for each of four tables


# Changes for the other commands in the header of heavyweights, in addition to --full.
LARGE = {"fieldlength": "100", "batchsize": "100"}
MORE_THREADS = {**LARGE, "matrix.variant": "100-threads,200-threads", "matrix.read.batchsize": "1,10,100"}
YCSB = {**LARGE, "matrix.variant": "ycsb-cassandra,ycsb-hbase", "phases": "insert"}


def of_heavyweights(changes: dict[str, str]) -> dict[tuple[str, str], TrialSetup]:
    return {(setup.system, setup.point["variant"]): setup for setup in planned("heavyweights", changes=changes)}


def test_what_heavyweights_measures_on_demand_is_what_was_published() -> None:
    """The other commands differ from the publication only where `--full` does, in hardware, and in unmeasured parts."""
    publication = published.load(FOLDER / "heavyweights.yml")
    for changes in (MORE_THREADS, YCSB):
        setups = planned("heavyweights", changes=changes)
        listed = [line for line in differences.compare(publication, setups).found if line.here != "not measured"]
        assert {f"{line.what} {line.at}".strip() for line in listed if line.published != "not published"} <= {
            *DELIBERATE["heavyweights"], "disks", "disks system=cassandra", "processors of a host", "processor",
        }  # fmt: skip


def test_threads_of_heavyweights_are_those_of_every_table() -> None:
    many, ycsb = of_heavyweights(MORE_THREADS), of_heavyweights(YCSB)
    assert {(system, name): setup.context["all_threads"] for (system, name), setup in (many | ycsb).items()} == {
        ("cassandra", "100-threads"): "400", ("hbase", "100-threads"): "400",
        ("cassandra", "200-threads"): "800", ("hbase", "200-threads"): "800",
        ("cassandra", "ycsb-cassandra"): "400", ("hbase", "ycsb-hbase"): "400",
    }  # fmt: skip
    # The four clients insert 10 million records each into Cassandra, and a million batches of 100 each into HBase.
    assert ycsb["cassandra", "ycsb-cassandra"].workload["load"]["recordcount"] == "40000000"
    assert ycsb["hbase", "ycsb-hbase"].workload["load"]["recordcount"] == "400000000"


def test_the_row_cache_of_heavyweights_is_that_of_one_variant() -> None:
    publication = published.load(FOLDER / "heavyweights.yml")
    setups = planned("heavyweights", changes={"matrix.variant": "4-tables,row-cache", "systems": "cassandra"})
    assert {setup.point["variant"]: setup.servers["row_cache_size_in_mb"] for setup in setups} == {
        "4-tables": 0, "row-cache": 2048
    }  # fmt: skip
    assert not [line for line in lines(differences.compare(publication, setups)) if "row_cache" in line]


def test_threads_of_a_measured_load_count() -> None:
    setups = planned("yokozuna", changes={"insert.threadcount": "60"})
    assert {setup.context["all_threads"] for setup in setups} == {"240, 400"}  # the sum of four clients


def test_settings_of_heavyweights_belong_to_one_of_its_two_series() -> None:
    whole = {(setup.system, setup.point["variant"]): setup for setup in in_full("heavyweights")}
    first = [setup for (system, name), setup in whole.items() if system == "cassandra" and not name.endswith("-g1")]
    after = [whole["cassandra", "4-tables-g1"], whole["cassandra", "8-tables-g1"]]
    after += [setup for (system, _), setup in of_heavyweights(MORE_THREADS).items() if system == "cassandra"]
    after += [of_heavyweights(YCSB)["cassandra", "ycsb-cassandra"]]
    assert (len(first), len(after)) == (4, 5)
    for series, gc, heap, optimised in ((first, "CMS", "16g", None), (after, "G1", "32g", "spinning")):
        for setup in series:
            assert [setup.servers[f"cassandra_{key}"] for key in ("gc", "heap")] == [gc, heap]
            assert setup.servers.get("disk_optimization_strategy") == optimised
            assert setup.servers["commitlog_segment_size_in_mb"] == 32
            flags = Setting(
                "settings", "cassandra_java_options", [f"-XX:MaxGCPauseMillis={500 if series is after else 300}"]
            )
            assert bool(setup.values(flags)) == (series is after)
    modes = {setup.point["variant"]: setup.workload["load"]["cassandra.batchmode"] for setup in first + after}
    assert {name for name, mode in modes.items() if mode == "logged"} == {"4-tables", "8-tables"}


@pytest.mark.parametrize("name", ["heavyweights", "hbase-read-variants", "hbase-cache"])
def test_no_hbase_has_a_cache_that_was_not_published(name: str) -> None:
    """An inventory's memory budget adds a cache, unless the scenario turns the cache off."""
    assert {setup.servers["hbase_bucket_cache_mb"] for setup in in_full(name) if setup.system == "hbase"} == {0}


def test_hbase_is_the_same_in_heavyweights_and_in_its_read_variants() -> None:
    first, second = (
        next(
            setup.servers for setup in in_full(name) if (setup.system, setup.point["variant"]) == ("hbase", "memstore")
        )
        for name in ("heavyweights", "hbase-read-variants")
    )
    assert {**second, "hbase_compression": "gz"} == first


def test_a_later_flag_of_the_jvm_replaces_an_earlier_one() -> None:
    setting = Setting(
        "settings", "hbase_java_options", [f"-XX:CMSInitiatingOccupancyFraction={part}" for part in (70, 75)]
    )
    (flags,) = {frozenset(setup.values(setting)) for setup in in_full("hbase-read-variants")}
    assert flags == {"-XX:CMSInitiatingOccupancyFraction=70"}


def test_a_flag_must_be_in_effect_in_every_trial(tmp_path: Path) -> None:
    setting = {"cassandra_java_options": ["-ea", "-XX:MaxGCPauseMillis=500"]}
    publication = file_with(tmp_path, {"at": {"system": "cassandra"}, "settings": setting})
    differing = lines(differences.compare(publication, in_full("heavyweights")))
    assert differing == {"cassandra_java_options system=cassandra": ("-XX:MaxGCPauseMillis=500", "not set")}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("x", "part 1 of the setup: 'x': must be a mapping"),
        ({"hardwar": {}}, "part 1 of the setup: unknown key 'hardwar'"),
        ({"hardware": [1]}, r"hardware: \[1\]: must be a mapping"),
        ({"hardware": {"hostz": 1}}, "unknown key 'hostz': did you mean hosts?"),
        ({"hardware": {"hosts": []}}, r"hosts: \[\]: must be text or a number"),
        ({"hardware": {"hosts": None}}, "hosts: None: must be text or a number"),
        ({"workload": {"recordcount": "many"}}, "recordcount"),
        ({"settings": {"cassandra_heap": "much"}}, "cassandra_heap"),
        ({"settings": {"concurrent_compactors": 4}}, "a server setting needs 'at: {system: …}'"),
        ({"at": {"system": "mysql-innodb"}, "settings": {"Not A Setting!": 4}}, "unknown key 'Not A Setting!'"),
        ({"at": "cassandra", "hardware": {}}, "at: cassandra: must be a mapping"),
    ],
)
def test_a_key_or_value_that_cannot_be_is_refused(tmp_path: Path, part: Any, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected) as error:
        file_with(tmp_path, part)
    assert "bout.yml" in str(error.value)


def test_before_a_run_it_is_what_is_asked_for(tmp_path: Path) -> None:
    publication = file_with(
        tmp_path,
        {
            "hardware": {"hosts": 4, "memory": "192GB", "processors": 64, "clients": 1},
            "workload": {"tablecount": [4, 8], "batchsize": 100, "client": "another"},
        },
        {"at": {"variant": "8-tables"}, "workload": {"all_threads": 40}},
        {"at": {"system": "hbase"}, "settings": {"compression": ["gz", "none"]}},
        {
            "at": {"system": "cassandra"},
            "versions": {"jdk": "1.8.0_111"},
            "settings": {"trickle_fsync": True, "cassandra_java_options": ["-XX:+NoSuchFlag"]},
        },
        {"at": {"system": "riak"}, "hardware": {"hosts": 9}},
    )
    differing = lines(differences.compare(publication, in_full("heavyweights")))
    assert "database hosts" not in differing
    assert "memory of a host" not in differing  # the value differs by less than 10 %
    assert "tablecount" not in differing
    assert differing["processors of a host"] == ("64", None)
    assert differing["client hosts"] == ("1", "4")
    assert differing["batchsize"] == ("100", "100, 200")
    assert differing["client"] == ("another", "Dohyo's")
    assert "threads of all clients together variant=8-tables" not in differing  # the number of clients does not matter
    assert differing["trickle_fsync system=cassandra"] == ("true", "not set")
    assert differing["cassandra_java_options system=cassandra"] == ("-XX:+NoSuchFlag", "not set")
    assert "compression system=hbase" not in differing  # the scenario's compression does not apply
    assert differing["system riak"] == ("measured", "not measured")
    assert "database hosts system=riak" not in differing


def test_what_an_inventory_sets_is_as_it_was_published(tmp_path: Path) -> None:
    scenario = loading.load(WORKLOADS / "heavyweights", {"systems": "cassandra"}, full=True)
    trials = [plan.variables(planned_trial, Path(), keep=False) for planned_trial in plan.trials(scenario, 1)]
    settings = {"cassandra_heap": "17g", "concurrent_compactors": 5}
    values = {("cassandra", point_name(variables["trial_point"])): settings for variables in trials}
    publication = file_with(tmp_path, {"at": {"system": "cassandra"}, "settings": settings})
    assert len(lines(differences.compare(publication, differences.before(trials, {}, FOUR_HOSTS, {})))) == 2
    assert lines(differences.compare(publication, differences.before(trials, values, FOUR_HOSTS, {}))) == {}


def test_after_a_run_it_is_what_the_evidence_holds(tmp_path: Path) -> None:
    folder = trial(tmp_path, 1, "cassandra", trial_conditions={"replication": 3, "durability": "memory"})
    write_json(trial(tmp_path, 2, "hbase", 0) / "state.json", {"status": "failed", "reason": "no port"})
    edit_json(
        folder / "conditions.json", version="5.0.8", durability="disk",
        differences=["durability: requested 'memory', but the server has 'disk'"],
        values={"cassandra_heap": "1g", "cassandra_gc": "G1", "concurrent_compactors": 4},
    )  # fmt: skip
    (tmp_path / "published").mkdir()
    publication = file_with(
        tmp_path / "published",
        {
            "versions": {"server": "5.0.8", "jdk": "1.8.0_111"},
            "settings": {"replication": [1, 3], "durability": "memory"},
            "workload": {"recordcount": 10000, "fieldcount": 1},
        },
        {
            "at": {"system": "cassandra"},
            "settings": {"cassandra_heap": "16g", "concurrent_compactors": 4, "commitlog_sync": "periodic"},
        },
        {"at": {"system": "hbase"}, "settings": {"hbase_heap": "32g"}},
    )
    summary = summarise(tmp_path)
    (shown,) = summary.differences
    assert (shown.published, shown.settings) == ("bout", len(publication.setup)) == ("bout", 10)
    differing = lines(shown)
    assert "server" not in differing
    assert "recordcount" not in differing
    assert "concurrent_compactors system=cassandra" not in differing
    assert differing["replication"] == ("1, 3", "3")
    assert differing["durability"] == ("memory", "disk")
    assert differing["fieldcount"] == ("1", "10")
    assert differing["cassandra_heap system=cassandra"] == ("16g", "1g")
    assert differing["commitlog_sync system=cassandra"] == ("periodic", "not set")
    assert differing["system hbase"] == ("measured", "not measured")  # this trial has no numbers
    # The terminal, Markdown and summary.json show the same differences.
    title = f"Differences from the published experiment bout: {len(differing)}, of 10 published settings"
    text = " ".join(rendered(summary).split())
    assert title in text
    assert "cassandra_heap (system=cassandra): published 16g, here 1g" in text
    markdown = table.markdown(summary)
    assert f"## {title}\n" in markdown
    assert "| settings | cassandra_heap (system=cassandra) | 16g | 1g |\n" in markdown
    written = json.loads(summary.json())
    assert {"group": "settings", "what": "durability", "at": "", "published": "memory", "here": "disk"} in (
        written["differences"][0]["found"]
    )
    assert "configured" not in written["trials"][0]
    assert further(shown)["cassandra_gc"] == "G1"
    assert further(shown)["warmuptime"] == "1 s"
    assert "other settings: not published, here cassandra_gc = G1; client = Dohyo's; " in text


def test_of_damaged_evidence_and_of_systems_that_are_gone_the_rest_is_compared(tmp_path: Path) -> None:
    trial(tmp_path, 1, "cassandra")
    (whole,) = summarise(tmp_path).trials
    gone = dataclasses.replace(whole, system="riak")
    text = dataclasses.replace(
        whole, configured={}, asked_workload={}, asked_servers={"cassandra_java_options": '["-ea"]'}
    )
    setups = differences.after([gone, text], ExperimentFacts())
    assert [setup.system for setup in setups] == ["cassandra"]
    publication = file_with(tmp_path, {"at": {"system": "cassandra"}, "workload": {"recordcount": 4}})
    assert "cassandra_java_options" not in further(differences.compare(publication, setups))


@pytest.mark.parametrize(
    ("key", "values", "values_here", "same"),
    [
        ("server", ["3.11.5"], {"3.11.5+b12"}, True),
        ("server", ["3.11.5"], {"3.11.50"}, False),
        ("jdk", ["1.8.0_111"], {None}, False),
        ("memory", ["61GB"], {"62.9 GB"}, True),
        ("memory", ["61GB"], {"31 GB"}, False),
        ("fieldlength", ["10", "100"], {"100", "10"}, True),
        ("fieldlength", ["10", "100"], {"100"}, False),
        ("fieldlength", ["10"], {"10", "100"}, False),
    ],
)
def test_a_published_setting_equals_values_of_the_same_meaning(
    key: str, values: list[str], values_here: set[str | None], same: bool
) -> None:
    assert Setting("workload", key, values).equals(values_here) == same
