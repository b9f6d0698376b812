"""Tests the phases, discarded repeats, matrix and rounds of a scenario, and the trials that result from them."""

import json
from pathlib import Path

import pytest

from dohyo.bad_input import BadInputError
from dohyo.places import ROOT
from dohyo.planning import plan
from dohyo.running import experiment
from dohyo.scenario import loading, phases
from dohyo.scenario.hosts import Hosts
from dohyo.summary import requested_settings
from support.scenarios import again, load

SMALL = "recordcount=1000\noperationcount=1000\nsystems=cassandra,hbase\n"


# ---- phases ---------------------------------------------------------------------------------------------------------


def test_without_phases_a_trial_has_one_run_of_the_scenarios_mix(tmp_path: Path) -> None:
    (trial, _) = plan.trials(load(tmp_path, SMALL))
    variables = plan.variables(trial, tmp_path, keep=False)
    assert [phase["name"] for phase in variables["trial_phases"]] == ["run"]
    assert variables["trial_phases"][0]["properties"] == variables["trial_properties"]
    of_load = {"target": "0", "retries": "15", "operationtimeout": "160000"}
    assert variables["trial_load"]["properties"] == {**variables["trial_properties"], **of_load}


def test_the_name_of_a_phase_says_its_mix(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "phases=insert, update,read,mixed", "readproportion=0.5", "updateproportion=0.5")
    assert chosen.phases == ["update", "read", "mixed"]
    mixes = {name: [chosen.of(name)[key] for key in phases.PROPORTIONS] for name in chosen.phases}
    assert mixes["update"] == ["0", "1", "0", "0", "0"]
    assert mixes["read"] == ["1", "0", "0", "0", "0"]
    assert mixes["mixed"] == ["0.5", "0.5", "0", "0", "0"]


def test_updates_before_the_runs_are_sent_as_the_load_sends_inserts(tmp_path: Path) -> None:
    chosen = load(
        tmp_path, SMALL, "preconditioning=2500", "insert.batchsize=20", "insert.threadcount=3", "duration=30s",
        "target=500", "readbeforewrite=true", "requestdistribution=zipfian", "warmuptime=60", "warmup=steady",
    )  # fmt: skip
    trial = plan.trials(chosen)[0]
    variables = plan.variables(trial, tmp_path, keep=False)
    before, load_, run = (variables[f"trial_{name}"] for name in ("precondition", "load", "phases"))
    properties = before["properties"]
    assert (before["name"], before["threads"], before["warmup"], before["duration"]) == ("precondition", 3, 0, 0)
    # 2,500 updates are sent in 125 batches of 20.
    assert (properties["operationcount"], properties["batchsize"]) == ("125", "20")
    assert [properties[key] for key in phases.PROPORTIONS] == ["0", "1", "0", "0", "0"]
    assert (properties["target"], properties["readbeforewrite"], properties["requestdistribution"]) == (
        "0",
        "false",
        "zipfian",
    )
    assert properties["retries"] == load_["properties"]["retries"]
    assert "operationcount" not in run[0]["properties"]
    # Faults are injected only into runs, not into the load or the updates before the runs.
    disturbed = load(tmp_path, SMALL, "preconditioning=2500", "duration=30s", "faults=kill(any)@3s")
    variables = plan.variables(plan.trials(disturbed)[0], tmp_path, keep=False)
    assert [variables[f"trial_{name}"].get("faults") for name in ("precondition", "load")] == [None, None]
    assert variables["trial_precondition"]["properties"].get("maxerrorrate") is None
    assert variables["trial_phases"][0]["faults"] == "kill(any)@3s"
    # The updates are not part of the load, so trials with and without updates can share a load.
    without = load(tmp_path, SMALL, "insert.batchsize=20", "reuse=data")
    assert "trial_precondition" not in plan.variables(plan.trials(without)[0], tmp_path, keep=False)
    shared = load(tmp_path, SMALL, "insert.batchsize=20", "reuse=data", "preconditioning=1")
    assert plan.load_of(plan.trials(shared)[0], tmp_path) == plan.load_of(plan.trials(without)[0], tmp_path)


def test_updates_before_the_runs_are_one_number_in_a_comparison(tmp_path: Path) -> None:
    def settings(*assignments: str) -> dict[str, str]:
        trial = plan.trials(load(tmp_path, SMALL, *assignments))[0]
        return requested_settings.workload(plan.variables(trial, tmp_path, keep=False))[""]

    without, with_updates = settings(), settings("preconditioning=4000", "insert.batchsize=20")
    assert with_updates == {**without, "preconditioning": "4000"}
    assert without["preconditioning"] == "0"
    damaged = {"trial_phases": [], "trial_precondition": {"properties": {"operationcount": "many", "batchsize": []}}}
    assert requested_settings.workload(damaged)[""]["preconditioning"] == "0"


def test_a_phase_has_what_is_said_of_it_alone(tmp_path: Path) -> None:
    chosen = load(
        tmp_path, SMALL, "phases=update,read", "threadcount=8", "target=500", "duration=30s",
        "update.readbeforewrite=true", "update.threadcount=16", "read.batchsize=100", "read.duration=5m",
        "read.hbase.client.pause=3", "insert.threadcount=4", "insert.batchsize=10",
    )  # fmt: skip
    variables = plan.variables(plan.trials(chosen)[0], tmp_path, keep=False)
    insert = variables["trial_load"]
    update, read = variables["trial_phases"]
    assert (insert["threads"], update["threads"], read["threads"]) == (4, 16, 8)
    # The servers are configured for the largest number of threads of any phase.
    assert variables["trial_threads"] == 16
    assert (update["duration"], read["duration"]) == (30, 300)
    assert [phase["properties"].get("batchsize") for phase in (insert, update, read)] == ["10", None, "100"]
    assert [phase["properties"].get("readbeforewrite") for phase in (insert, update, read)] == [None, "true", None]
    assert [phase["properties"]["target"] for phase in (insert, update, read)] == ["0", "500", "500"]
    assert read["properties"]["hbase.client.pause"] == "3"
    assert load(tmp_path, SMALL, "insert.target=100").of("insert")["target"] == "100"
    properties = load(tmp_path, SMALL, "retries=2", "insert.retries=3", "operationtimeout=1000").of("insert")
    assert (properties["retries"], properties["operationtimeout"]) == ("3", "4000")
    assert load(tmp_path, SMALL, "insert.operationtimeout=5000").of("insert")["operationtimeout"] == "5000"
    assert load(tmp_path, SMALL, "retries=2", "phases=insert").of("insert")["retries"] == "2"
    assert again(tmp_path, chosen) == chosen


def test_a_count_of_a_phase_ends_it(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "phases=update,read", "duration=30s", "scale=0.1", "read.operationcount=5k")
    assert (chosen.of("read").duration, chosen.of("read").client_properties["operationcount"]) == (0, "500")
    assert chosen.of("update").duration == 30
    assert again(tmp_path, chosen) == chosen
    named = load(tmp_path, SMALL + "phases=read\nread.maxexecutiontime=1m\n")
    assert named.of("read").duration == 60
    assert (
        load(tmp_path, SMALL + "phases=read\nread.maxexecutiontime=1m\n", "read.duration=2m").of("read").duration == 120
    )


def test_the_command_line_may_leave_phases_out(tmp_path: Path) -> None:
    text = SMALL + "phases=update,read\nupdate.batchsize=10\nread.batchsize=100\n"
    assert load(tmp_path, text, "phases=read").phase_values == {"read": {"batchsize": "100"}}
    # A property that has the same name as a dropped phase is kept.
    assert load(tmp_path, SMALL + "phases=target\ntarget=5\n", "phases=read")["target"] == "5"


@pytest.mark.parametrize(
    ("assignments", "expected"),
    [
        ("phases=read redd.batchsize=1", "unknown phase 'redd': did you mean read?"),
        ("read.batchsize=1", "unknown phase 'read'.*the phases are insert,run"),
        ("run.batchsiz=1", "unknown property 'run.batchsiz': did you mean batchsize?"),
        ("run.recordcount=1", "run.recordcount: all phases use the records of the load; set recordcount without"),
        ("run.replication=1", ": servers start and tables are created with this value"),
        ("run.systems=hbase", ": it applies to all phases of a trial; set systems without a phase"),
        ("run.cassandra_heap=1g", ": a system's variables apply from the start of its servers"),
        ("run.aerospike.layout=bins", "run.aerospike.layout: all phases use the records of the load"),
        ("insert.duration=5", "the load ends when it has inserted every record once"),
        ("insert.readproportion=1", "the load ends when it has inserted every record once"),
        ("run.batchsize=0", "command line: run.batchsize=0: must be a whole number from 1"),
        ("phases=a,b b.readproportion=0.5", r"phase b: the proportions must sum to 1: readproportion=0.5"),
        ("phases=a,b b.batchsize=1001", "phase b: batchsize=1001: must be at most 1000"),
        ("insert.batchsize=1001", "phase insert: batchsize=1001: must be at most 1000"),
        ("phases=read read.duration=0 read.operationcount=0", "phase read: nothing ends a run"),
        ("phases=read requestdistribution=ranges read.threadcount=2", "phase read: threadcount=2 .*set threadcount=1,"),
        ("phases=read,read", "'read' occurs twice"),
        ("phases=read,insert", "insert is the load, which comes first"),
        ("phases=insert repeats=3", "phases=insert with repeats=3: there is only a load; .* rounds=N"),
        ("phases=insert discard=1", "phases=insert with discard=1: there is only a load"),
        ("phases=insert read.batchsize=10", "unknown phase 'read'.*the phases are insert"),
        ("phases=settle", "'settle' is reserved"),
        ("phases=hbase", "'hbase' is reserved"),
        ("phases=Read", "'Read' must be at most 40 characters"),
        ("phases=a/b", "'a/b' must be at most 40 characters"),
        ("discard=2 repeats=2", "discard=2 with repeats=2: no repeat would be left"),
        ("preconditioning=8 scanproportion=1 readproportion=0 updateproportion=0 requestdistribution=next",
         "preconditioning=8 with requestdistribution=next"),
        ("run.settle.flush=false", "it applies to all phases of a trial; set settle.flush without a phase"),
        ("variant.few.tablecount=2", r"no variant is measured; set matrix\.variant=few"),
        ("insert.warmup=steady", "insert.warmup: the load ends when it has inserted every record once"),
    ],
)  # fmt: skip
def test_invalid_phases_are_refused(tmp_path: Path, assignments: str, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected.replace("?", r"\?")):
        load(tmp_path, SMALL, *assignments.split())


def test_the_course_of_a_trial_is_printed(tmp_path: Path) -> None:
    times = ("warmuptime=10", "duration=30", "repeats=2")
    assert plan.course(load(tmp_path, SMALL, *times)) == "2 × (10 s warm-up + 30 s)"
    assert plan.course(load(tmp_path, SMALL, *times, "phases=update,read")) == (
        "2 × (update, read: 10 s warm-up + 30 s each)"
    )
    assert plan.course(load(tmp_path, SMALL, *times, "phases=update,read", "read.operationcount=10k")) == (
        "2 × (update 10 s warm-up + 30 s, read 10 s warm-up + 10,000 operations)"
    )
    assert plan.course(load(tmp_path, SMALL, *times, "phases=update,read", "read.warmup=steady")) == (
        "2 × (update 10 s warm-up + 30 s, read at most 10 s warm-up + 30 s)"
    )


def test_the_load_alone_can_be_what_is_measured(tmp_path: Path) -> None:
    text = SMALL + "phases=insert\nthreadcount=4\ninsert.batchsize=10\nwarmuptime=10\nduration=30\n"
    chosen = load(tmp_path, text, "rounds=3", "repeats=1")
    assert chosen.phases == []
    trials = plan.trials(chosen)
    assert [trial.label for trial in trials] == [
        *("cassandra round 1", "hbase round 1"),
        *("hbase round 2", "cassandra round 2"),
        *("cassandra round 3", "hbase round 3"),
    ]
    variables = plan.variables(trials[0], tmp_path, keep=False)
    assert (variables["trial_phases"], variables["trial_threads"]) == ([], 4)
    assert variables["trial_load"]["properties"]["batchsize"] == "10"
    assert plan.course(chosen) == "the load of 1,000 records"
    assert again(tmp_path, chosen) == chosen
    # If the command line leaves out a phase of the file, the settings of that phase are ignored.
    loaded = load(tmp_path, SMALL + "phases=insert,read\nread.batchsize=10\n", "phases=insert")
    assert (loaded.phases, loaded.phase_values) == ([], {})


def test_a_load_that_phases_name_is_measured_before_the_runs(tmp_path: Path) -> None:
    text = SMALL + "retries=2\noperationtimeout=1000\n"
    named, unnamed = (load(tmp_path, text + f"phases={phase_names}\n") for phase_names in ("insert,read", "read"))
    assert [(loaded.phases, loaded.measures_load) for loaded in (named, unnamed)] == [
        (["read"], True),
        (["read"], False),
    ]
    assert [loaded.of("insert")["retries"] for loaded in (named, unnamed)] == ["2", "15"]
    assert [loaded.of("insert")["operationtimeout"] for loaded in (named, unnamed)] == ["1000", "16000"]
    loads = [plan.variables(plan.trials(loaded)[0], tmp_path, keep=False)["trial_load"] for loaded in (named, unnamed)]
    assert [load_variables["measured"] for load_variables in loads] == [True, False]
    assert plan.course(named) == f"the load of 1,000 records, {plan.course(unnamed)}"
    with pytest.raises(BadInputError, match="reuse=data with phases=insert,read: the load is measured"):
        load(tmp_path, text + "phases=insert,read\nreuse=data\nrounds=2\n")


# ---- matrix and rounds ----------------------------------------------------------------------------------------------


def test_every_combination_is_a_trial_of_every_system(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL + "matrix.batchsize=1,100\nmatrix.tablecount=1,4\n")
    trials = plan.trials(chosen)
    assert [trial.name for trial in trials] == [
        "01-cassandra-batchsize=1-tablecount=1",
        "02-hbase-batchsize=1-tablecount=1",
        "03-cassandra-batchsize=1-tablecount=4",
        "04-hbase-batchsize=1-tablecount=4",
        "05-cassandra-batchsize=100-tablecount=1",
        "06-hbase-batchsize=100-tablecount=1",
        "07-cassandra-batchsize=100-tablecount=4",
        "08-hbase-batchsize=100-tablecount=4",
    ]
    assert trials[7].scenario.client_properties["tablecount"] == "4"
    assert plan.variables(trials[7], tmp_path, keep=False)["trial_point"] == {"batchsize": "100", "tablecount": "4"}
    assert plan.trials(again(tmp_path, chosen)) == trials


def test_a_roles_dimension_is_for_its_systems_alone(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "matrix.cassandra_gc=G1,ZGC", "matrix.replication=1,3", "rounds=2")
    labels = [trial.label for trial in plan.trials(chosen)]
    assert labels[:6] == [
        "cassandra cassandra_gc=G1 replication=1 round 1",
        "hbase replication=1 round 1",
        "cassandra cassandra_gc=G1 replication=3 round 1",
        "hbase replication=3 round 1",
        "cassandra cassandra_gc=ZGC replication=1 round 1",
        "cassandra cassandra_gc=ZGC replication=3 round 1",
    ]
    # Each round runs all trials in order (A B A B), instead of repeating each trial immediately (A A B B).
    assert [label.replace("round 1", "round 2") for label in labels[:6]] == labels[6:]
    zgc, hbase = plan.trials(chosen)[5], plan.trials(chosen)[3]
    assert zgc.scenario.role_variables == {"cassandra_gc": "ZGC"}
    assert hbase.scenario.role_variables == {}
    assert hbase.scenario.conditions["replication"] == 3


def test_a_dimension_that_no_system_has_makes_no_points(tmp_path: Path) -> None:
    text = SMALL + "matrix.cassandra_gc=G1,ZGC\nmatrix.batchsize=1,10\n"
    chosen = load(tmp_path, text, "systems=hbase")
    assert [trial.name for trial in plan.trials(chosen)] == ["01-hbase-batchsize=1", "02-hbase-batchsize=10"]
    assert chosen.unused == ["cassandra_gc"]
    assert load(tmp_path, text).unused == []


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    page = (ROOT / "docs/scenarios.md").read_text(encoding="utf-8")
    example = next(block for block in page.split("```") if "\nphases=" in block)
    chosen = load(tmp_path, example)
    assert [trial.label for trial in plan.trials(chosen)][:3] == [
        "cassandra batchsize=1 cassandra_gc=G1 round 1",
        "hbase batchsize=1 round 1",
        "cassandra batchsize=1 cassandra_gc=ZGC round 1",
    ]
    assert len(plan.trials(chosen)) == 12
    assert plan.trials(again(tmp_path, chosen)) == plan.trials(chosen)


def test_sizes_follow_from_each_point(tmp_path: Path) -> None:
    text = "duration=10\nsystems=hbase\nmatrix.datasize=1MB,1*ram\nmatrix.replication=1,2\nscale=0.5\n"
    hosts = Hosts(2, 10**9)
    chosen = load(tmp_path, text, hosts=hosts)
    counts = [trial.scenario.number("recordcount") for trial in plan.trials(chosen)]
    assert counts == [500, 500, 1_000_000, 500_000]
    assert plan.trials(chosen)[2].name == "03-hbase-datasize=1_ram-replication=1"
    created = experiment.create(chosen, experiment.new_folder(chosen, tmp_path / "here"), {"inventory": None}, hosts)
    # --resume keeps the sizes that were computed at the start, even if this machine's memory differs.
    reopened, _ = experiment.reopen(str(created.folder))
    assert reopened.trials == created.trials
    about = json.loads((created.folder / "experiment.json").read_text())
    assert about["trials"][2] == {
        "name": "03-hbase-datasize=1_ram-replication=1",
        "system": "hbase",
        "point": {"datasize": "1*ram", "replication": "1"},
        "round": 1,
        "records": 1_000_000,
    }


def test_phases_may_differ_from_point_to_point(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "phases=update,read", "duration=10", "matrix.read.operationcount=10,20")
    assert [trial.scenario.of("read").number("operationcount") for trial in plan.trials(chosen)] == [10, 10, 20, 20]
    counted = load(tmp_path, SMALL, "duration=10", "matrix.operationcount=10,20")
    assert [trial.scenario.duration for trial in plan.trials(counted)] == [0] * 4


def test_names_are_safe_and_sorted(tmp_path: Path) -> None:
    file = tmp_path / "a b"
    file.write_text("100\n")
    many = ",".join(str(count) for count in range(1, 61))
    chosen = load(tmp_path, SMALL, f"matrix.threadcount={many}", f"matrix.hbase.root=/{'x' * 300}")
    names = [trial.name for trial in plan.trials(chosen)]
    assert names[1].startswith("002-hbase-threadcount=1-hbase.root=_xxx")
    assert names == sorted(names)
    assert max(map(len, names)) == 100


def test_a_bindings_property_is_a_dimension_of_the_systems_that_have_it(tmp_path: Path) -> None:
    chosen = load(
        tmp_path,
        SMALL,
        "matrix.cassandra.batchmode=async,unlogged",
        "matrix.read.aerospike.eventloops=1,2",
        "phases=read",
        "systems=hbase,cassandra,scylla,aerospike",
    )
    assert [trial.label for trial in plan.trials(chosen)] == [
        "hbase",
        "cassandra cassandra.batchmode=async",
        "scylla cassandra.batchmode=async",  # the binding of ScyllaDB is based on Cassandra's
        "aerospike read.aerospike.eventloops=1",
        "aerospike read.aerospike.eventloops=2",
        "cassandra cassandra.batchmode=unlogged",
        "scylla cassandra.batchmode=unlogged",
    ]
    assert plan.trials(again(tmp_path, chosen)) == plan.trials(chosen)
    unused = load(tmp_path, SMALL, "matrix.cassandra.batchmode=async,unlogged", "systems=hbase")
    assert (unused.unused, [trial.label for trial in plan.trials(unused)]) == (["cassandra.batchmode"], ["hbase"])
    loaded = load(tmp_path, SMALL, "matrix.scylla.shardawareness=true,false", "systems=cassandra,scylla")
    assert [trial.system for trial in plan.trials(loaded)] == ["cassandra", "scylla", "scylla"]


def test_lists_of_a_role_keep_their_commas(tmp_path: Path) -> None:
    chosen = load(tmp_path, SMALL, "matrix.cassandra_java_options=[-Xss1m, -Da=b],[]", "systems=cassandra")
    options = [trial.scenario.role_variables["cassandra_java_options"] for trial in plan.trials(chosen)]
    assert options == [["-Xss1m", "-Da=b"], []]
    assert again(tmp_path, chosen) == chosen


def test_the_command_line_replaces_a_dimension_and_the_other_way_round(tmp_path: Path) -> None:
    assert load(tmp_path, SMALL + "matrix.batchsize=1,10\n", "batchsize=5").matrix == {}
    assert load(tmp_path, SMALL + "batchsize=5\n", "matrix.batchsize=1,10").matrix == {"batchsize": ("1", "10")}
    assert load(tmp_path, SMALL, "matrix.datasize=1MB,2MB").matrix == {"datasize": ("1MB", "2MB")}


@pytest.mark.parametrize(
    ("assignments", "expected"),
    [
        ("matrix.batchsize=1,5000", "at batchsize=5000: batchsize=5000: must be at most 1000"),
        ("matrix.batchsize=1 matrix.tablecount=1,4 phases=read read.batchsize=300",
         "at batchsize=1 tablecount=4: phase read: batchsize=300"),
        ("matrix.batchsiz=1,2",
         "command line: matrix.batchsiz=1,2: unknown property 'batchsiz': did you mean batchsize"),
        ("matrix.batchsize=1,,2", "must be values separated by commas"),
        ("matrix.batchsize=1,x", "matrix.batchsize=1,x: batchsize=x: must be a whole number"),
        ("matrix.batchsize=1,1", "a value occurs twice"),
        ("matrix.batchsize=1,2 batchsize=3", "batchsize=3 and matrix.batchsize=1,2 both determine batchsize"),
        ("matrix.systems=hbase,cassandra", "matrix.systems=hbase,cassandra: applies to the whole experiment"),
        ("matrix.repeats=1,2", "matrix.repeats=1,2: applies to the whole experiment"),
        ("matrix.replication=1,2,3 rounds=1000 matrix.keysalt=none,crc32", "12 points × 1000 rounds"),
        ("matrix.recordcount=1,2 datasize=1GB", "both determine how many records are loaded"),
        ("matrix.variant=few,fw", "unknown variant 'fw': did you mean few"),
        ("variant.few.batchsiz=3", "variant.few.batchsiz=3: unknown property 'batchsiz': did you mean batchsize"),
        ("variant.few.systems=cassandr", "unknown system 'cassandr': did you mean cassandra"),
        ("variant.few.rounds=3", "with a key that can differ between points"),
        ("variant.few.matrix.batchsize=3", "with a key that can differ between points"),
        ("variant.few=3", "must be variant.NAME.key=value"),
        ("variant.few.batchsize=3 matrix.batchsize=1,2", "both determine batchsize; leave"),
        ("variant.few.batchsize=5000", "at variant=few: phase insert: batchsize=5000: must be at most 500"),
    ],
)  # fmt: skip
def test_a_matrix_that_cannot_be_is_refused(tmp_path: Path, assignments: str, expected: str) -> None:
    with pytest.raises(BadInputError, match=expected):
        load(tmp_path, MANY if "variant" in assignments else SMALL, *assignments.split())


# ---- variants and sizes ----------------------------------------------------------------------------------------------

VARIANTS = """matrix.variant=few,many,packed,old
variant.few.tablecount=2
variant.few.threadcount=4
variant.many.tablecount=4
variant.many.read.threadcount=8
variant.packed.aerospike.layout=packed=10
variant.old.cassandra_version=3.11.19
"""
MANY = "recordcount=1000\noperationcount=1000\nphases=read\nsystems=cassandra\n" + VARIANTS


def test_a_variant_is_several_properties_under_one_name_for_the_systems_that_can_have_it(tmp_path: Path) -> None:
    chosen = load(tmp_path, MANY, "systems=cassandra,aerospike", "matrix.batchsize=1,10")
    trials = {trial.label: trial for trial in plan.trials(chosen)}
    assert [label for label in trials if label.endswith("batchsize=1")] == [
        "cassandra variant=few batchsize=1",
        "aerospike variant=few batchsize=1",
        "cassandra variant=many batchsize=1",
        "aerospike variant=many batchsize=1",
        "aerospike variant=packed batchsize=1",
        "cassandra variant=old batchsize=1",
    ]
    many = trials["aerospike variant=many batchsize=10"].scenario
    assert (many["tablecount"], many["batchsize"], many.of("read")["threadcount"], many["threadcount"]) == (
        "4",
        "10",
        "8",
        "1",
    )
    assert trials["aerospike variant=packed batchsize=1"].scenario["aerospike.layout"] == "packed=10"
    assert trials["cassandra variant=old batchsize=1"].scenario.role_variables == {"cassandra_version": "3.11.19"}
    assert trials["cassandra variant=old batchsize=1"].scenario["tablecount"] == "1"
    assert plan.trials(again(tmp_path, chosen)) == plan.trials(chosen)


def test_a_system_without_a_variant_is_measured_without_one(tmp_path: Path) -> None:
    text = (
        SMALL + "matrix.variant=old,new\nvariant.old.cassandra_version=3.11.19\nvariant.new.cassandra_version=5.0.9\n"
    )
    labels = [trial.label for trial in plan.trials(load(tmp_path, text))]
    assert labels == ["cassandra variant=old", "hbase", "cassandra variant=new"]


def test_the_command_line_chooses_among_variants_and_replaces_what_they_say(tmp_path: Path) -> None:
    chosen = load(tmp_path, MANY, "matrix.variant=many,old", "tablecount=3")
    assert [trial.scenario["tablecount"] for trial in plan.trials(chosen)] == ["3", "3"]
    assert list(chosen.variants) == ["many", "old"]


def test_insert_race_measures_loads_alone_at_both_sizes() -> None:
    file = loading.find("insert-race")
    small, full = loading.load(file), loading.load(file, full=True)
    assert {point.number("recordcount") for _, point in small.points} == {90_000, 200_000}
    # Published: with four clients, InnoDB fell behind Cassandra at about 1.2 million rows, between the first two sizes.
    assert {point.number("recordcount") for _, point in full.points} == {900_000, 2_000_000, 10_000_000}
    for chosen in (small, full):
        trials = [trial for trial in plan.trials(chosen) if not trial.scenario.point["variant"].endswith("-10M")]
        assert {trial.scenario["threadcount.of"] for trial in trials} == {"all"}
        shape = [
            (trial.system, *(trial.scenario.of("insert")[key] for key in ("threadcount", "inflight")))
            for trial in trials
        ]
        assert shape == [
            ("cassandra", "1", "50"), ("cassandra", "4", "50"),
            ("cassandra", "1", "1"), ("mysql-innodb", "1", "1"), ("mysql-myisam", "1", "1"),
            ("cassandra", "4", "1"), ("mysql-innodb", "4", "1"), ("mysql-myisam", "4", "1"),
            ("cassandra", "8", "1"),
        ]  # fmt: skip
        assert {trial.scenario["insertorder"] for trial in trials} == {"ordered"}
        assert {len(trial.scenario.phases) for trial in trials} == {0}
        assert {trial.scenario.conditions["replication"] for trial in trials} == {1}
    # At the largest size, where MySQL's throughput drops, each system has one client thread.
    assert [(name, point["threadcount"]) for name, point in full.points if point["recordcount"] == "10000000"] == [
        ("cassandra", "1"), ("cassandra", "1"), ("mysql-innodb", "1"), ("mysql-myisam", "1"),
    ]  # fmt: skip
    sweep = loading.load(
        file, {"systems": "cassandra", "matrix.variant": "async-4,sync-8,sync-16,sync-32,sync-64,sync-128"}, full=True
    )
    assert [point["threadcount"] for _, point in sweep.points] == ["4", "8", "16", "32", "64", "128"]
    assert {loading.load(file, {"recordcount": "10M"}, full=True).points[0][1]["recordcount"]} == {"10000000"}


def test_a_scenario_file_may_have_a_full_size(tmp_path: Path) -> None:
    text = SMALL + "scale=0.5\nfull.scale=1\nbatchsize=2\nfull.matrix.batchsize=10,20\nfull.replication=3\n"
    small, full = load(tmp_path, text), load(tmp_path, text, full=True)
    assert (small["recordcount"], small["replication"], small.matrix) == ("500", "1", {})
    assert full.matrix == {"batchsize": ("10", "20")}
    assert [(point["recordcount"], point["replication"]) for _, point in full.points] == [("1000", "3")] * 4
    assert load(tmp_path, text, "batchsize=3", full=True).matrix == {}
    with pytest.raises(BadInputError, match="has only one size"):
        load(tmp_path, SMALL, full=True)


def test_warm_ups_are_fixed_unless_a_scenario_says_otherwise(tmp_path: Path) -> None:
    steady = {
        name for name, path in loading.scenario_files().items() if "warmup=steady" in path.read_text(encoding="utf-8")
    }
    assert steady == {"updateOnly", *(f"workload{letter}" for letter in "ABCDEF")}
    chosen = load(tmp_path, SMALL, "phases=update,read", "warmuptime=10", "duration=30", "read.warmup=steady")
    update, read = plan.phases_of(chosen)["trial_phases"]
    assert (update["properties"].get("warmup"), update["warmup"]) == (None, 10)
    assert (read["properties"]["warmup"], read["warmup"]) == ("steady", 10)


def test_next_is_for_inserts_and_scans(tmp_path: Path) -> None:
    mix = "insertproportion=0.8\nreadproportion=0\nupdateproportion=0\nscanproportion=0.2\nrequestdistribution=next\n"
    assert load(tmp_path, SMALL + mix)["requestdistribution"] == "next"
    for change, named in (
        (
            {"scanproportion": "0.1", "updateproportion": "0.1"},
            "next with updateproportion=0.1: its keys have no records",
        ),
        ({"scanproportion": "0", "readproportion": "0.2"}, "next with readproportion=0.2: its keys have no records"),
        ({"verify": "acknowledged"}, "next with verify=acknowledged: its keys have no records"),
        ({"tablecount": "4"}, "needs a single newest record"),
    ):
        with pytest.raises(BadInputError, match=named):
            load(tmp_path, SMALL + mix, *(f"{key}={value}" for key, value in change.items()))


def test_a_run_ends_when_every_record_was_asked_for(tmp_path: Path) -> None:
    text = (
        SMALL
        + "phases=insert,read\nread.requestdistribution=ranges\nread.passes=2\n"
        + "read.batchsize=20\nscale=0.5\nduration=0\n"
    )
    scenario = load(tmp_path, text)
    read = scenario.of("read")
    assert (read["operationcount"], read.duration) == ("50", 0)
    assert read.client_properties["passes"] == "2"
    before = load(tmp_path, text, "read.passes=0", "passes=1", "requestdistribution=ranges", "preconditioning=300")
    assert before.of("precondition").client_properties["passes"] == "0"
    with pytest.raises(BadInputError, match=r"phase read: passes=2 and duration=60 both determine what ends a run"):
        load(tmp_path, text, "duration=60s")
    with pytest.raises(
        BadInputError, match=r"phase read: passes=2 with requestdistribution=uniform: passes need 'ranges'"
    ):
        load(tmp_path, text, "read.requestdistribution=uniform")
