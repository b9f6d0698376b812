"""Tests the measurements of a trial: its calls to hosts, clients and `dohyo`, their order, and failures."""

import json
from pathlib import Path
from typing import Any

import pytest

from dohyo.trial.measurement import seconds
from dohyo.trial.world import HostError, StepError
from support.trial_hosts import PAGES, ROWS, FakeTrial, fake_trial

SETTLED = [
    "node1 node2 node3: settle flush=true timeout=300",
    "node1 node2 node3: drop within 900 s",
    "node1 node2 node3: empty the page cache as root",
]
FAULTS = "power(node2)@1s, start(node2)@5s"
# Variables of a trial that has every possible step between the load and the final count.
FULL: dict[str, Any] = {
    "hosts": 3,
    "clients": 2,
    "trial_phases": [{"name": "max", "faults": FAULTS}, {"name": "own", "share": 0.5}],
    "trial_settle": "phases",
    "trial_settle_cache": "drop",
    "trial_precondition": {"name": "precondition", "duration": 0},
    "trial_search": {"probes": 2, "duration": 5},
    "dohyo_systemd": True,
}
OF_DOHYO = ["1234", '{"target": 500}', '{"target": 700.5}', '{"target": null}']


def full(folder: Path) -> FakeTrial:
    """Returns a trial with all steps. Its last probe inserts records."""
    trial = fake_trial(folder, dohyo=OF_DOHYO, **FULL)
    trial.outcomes["probe-2"] = trial.outcome(inserted=[3, 4])
    return trial


# ---- order of the steps ----------------------------------------------------------------------------------------------


def test_one_host_settles_with_its_statistics_in_one_call(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    assert trial.run_all() == [
        "phase load",
        "clients: load",
        "phase settle",
        "node1: settle+stats folder=cassandra/stats/load flush=true timeout=300",
        "node1: sync",
        "phase run 1",
        "clients: run-1",
        "node1: stats folder=cassandra/stats/run-1 within 900 s",
    ]
    assert trial.json("settled.json") == {"seconds": 3, "rows": ROWS, "notes": []}
    assert not (tmp_path / "counted.json").exists()


def test_phases_are_measured_in_turn_and_settle_once(tmp_path: Path) -> None:
    # Ansible passes values given by `-e name=value` as strings.
    trial = fake_trial(tmp_path, 3, 2, trial_phases=[{"name": "a"}, {"name": "b"}], trial_repeats="2")
    stats = "node1 node2 node3: stats folder=cassandra/stats/{} within 900 s".format
    assert trial.run_all() == [
        "phase load", "clients: load",
        "phase settle", SETTLED[0], "node1 node2 node3: sync", stats("load"),
        "phase a 1", "clients: a-1", stats("a-1"), "phase b 1", "clients: b-1", stats("b-1"),
        "phase a 2", "clients: a-2", stats("a-2"), "phase b 2", "clients: b-2", stats("b-2"),
    ]  # fmt: skip
    assert [phase.number for phase in trial.phases] == [0, 1, 1, 2, 2]


def test_all_steps_in_their_order(tmp_path: Path) -> None:
    trial = full(tmp_path)
    stats = "node1 node2 node3: stats folder=cassandra/stats/{} within 900 s".format
    assert trial.run_all() == [
        "phase load", "clients: load",
        "phase settle", *SETTLED, stats("load"),
        "phase precondition 1", "clients: precondition-1",
        "phase max 1", "node1 node2 node3: serve as root", "clients: max-1", "node2: reset", stats("max-1"),
        "phase settle", *SETTLED, stats("own-1-before"),
        "phase precondition 2", "clients: precondition-2",
        "client1 client2: pull /opt/dohyo/client/max-1", "dohyo: own-target",
        "phase own 1", "clients: own-1", stats("own-1"),
        "client1 client2: pull /opt/dohyo/client", "dohyo: next-probe",
        "phase settle", *SETTLED, stats("probe-1-before"),
        "phase precondition 3", "clients: precondition-3",
        "phase probe 1", "node1 node2 node3: serve as root", "clients: probe-1", "node2: reset", stats("probe-1"),
        "client1 client2: pull /opt/dohyo/client/probe-1", "dohyo: next-probe",
        "phase settle", *SETTLED, stats("probe-2-before"),
        "phase precondition 4", "clients: precondition-4",
        "phase probe 2", "node1 node2 node3: serve as root", "clients: probe-2", "node2: reset", stats("probe-2"),
        "client1 client2: pull /opt/dohyo/client/probe-2", "dohyo: next-probe",
        "phase count", "node1: count recordcount=1007 timeout=300",
    ]  # fmt: skip
    assert trial.json("counted.json") == {"rows": ROWS}
    for folder in (".", "own-1", "probe-1", "probe-2"):
        assert trial.json(f"{folder}/settled.json")["dropped"] == {
            "evicted": 7, "hosts": dict.fromkeys(["node1", "node2", "node3"], PAGES),
        }  # fmt: skip


def test_dohyo_states_the_rates_of_own_phases_and_probes(tmp_path: Path) -> None:
    trial = full(tmp_path)
    trial.run_all()
    rates = {phase.folder: phase.properties.get("target") for phase in trial.phases}
    assert (rates["load"], rates["max-1"], rates["own-1"], rates["probe-1"], rates["probe-2"]) == (
        0, None, "1234", 500, 700.5,
    )  # fmt: skip
    assert "target=617" in trial.property_lines(4, "client1")
    # A probe repeats the first phase, but lasts as long as the search specifies.
    probe = trial.phases[6]
    assert (probe.folder, probe.duration, probe.faults_asked, probe.tolerant) == ("probe-1", 5, FAULTS, True)
    assert [phase.tolerant for phase in trial.phases[:6]] == [False] * 6


def test_a_search_ends_when_there_is_no_next_rate(tmp_path: Path) -> None:
    trial = fake_trial(
        tmp_path, trial_search={"probes": "9", "duration": "5"}, dohyo=['{"target": 500}', '{"target": null}']
    )
    assert trial.run_all()[-2:] == ["node1: pull /opt/dohyo/client/probe-1", "dohyo: next-probe"]
    assert [phase.folder for phase in trial.phases] == ["load", "run-1", "probe-1"]


def test_a_disturbed_repeat_is_measured_again_at_most_twice(tmp_path: Path) -> None:
    why = "run-{}: other processes used 40%".format
    trial = fake_trial(tmp_path, 2, 1, trial_max_other_cpu="", trial_repeats=2, dohyo=[why(1), "", why(3)])
    run = ["phase run {0}", "clients: run-{0}", "node1 node2: stats folder=cassandra/stats/run-{0} within 900 s"]
    judge = ["client1: pull /opt/dohyo/client/run-{0}", "node1 node2 client1: pull /opt/dohyo/client/hosts"]
    steps = [*run, *judge, "dohyo: disturbed"] * 3 + run
    numbers = [1] * 6 + [2] * 6 + [3] * 6 + [4] * 3
    expected = [step.format(number) for step, number in zip(steps, numbers, strict=True)]
    assert trial.run_all()[-len(expected) :] == expected
    assert {number: (tmp_path / f"run-{number}/disturbed.json").exists() for number in (1, 2, 3, 4)} == {
        1: True, 2: False, 3: True, 4: False,
    }  # fmt: skip
    assert trial.json("run-1/disturbed.json") == {"why": why(1)}


@pytest.mark.parametrize(
    "variables",
    [{"trial_max_other_cpu": "100%"}, {"trial_discard": 1}, {"trial_turns": {"order": ["01-cassandra"]}}],
)
def test_repeats_that_cannot_be_disturbed_or_do_not_count_are_not_judged(
    tmp_path: Path, variables: dict[str, Any]
) -> None:
    trial = fake_trial(tmp_path, **{"trial_max_other_cpu": "", **variables})
    assert "dohyo: disturbed" not in trial.run_all()


def test_a_trial_where_only_ansible_is_installed_measures_no_repeat_again(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_max_other_cpu="", dohyo_program=str(tmp_path / "nowhere/bin/dohyo"))
    assert trial.run_all()[-1] == "node1: stats folder=cassandra/stats/run-1 within 900 s"


def test_what_clients_wrote_comes_home_to_the_folder_of_the_trial(tmp_path: Path) -> None:
    trial = full(tmp_path)
    trial.run_all()
    pulls = [call.arguments for call in trial.calls if call.action == "pull" and call.host == "client2"]
    assert [(pull["src"], pull["dest"]) for pull in pulls] == [
        ("/opt/dohyo/client/max-1", str(tmp_path / "max-1")),
        ("/opt/dohyo/client", str(tmp_path)),
        ("/opt/dohyo/client/probe-1", str(tmp_path / "probe-1")),
        ("/opt/dohyo/client/probe-2", str(tmp_path / "probe-2")),
    ]


def test_updates_are_written_before_the_first_run_alone_where_servers_settle_once(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_precondition={"name": "precondition"}, trial_repeats=2)
    trial.run_all()
    assert [phase.folder for phase in trial.phases] == ["load", "precondition-1", "run-1", "run-2"]


def test_an_attached_system_is_asked_on_the_first_host_and_flushed_only_where_that_is_allowed(tmp_path: Path) -> None:
    attached: dict[str, Any] = {"attached": {"cassandra": "10.1.0.1"}}
    for may, flush in (([], "false"), (["settle"], "true")):
        trial = fake_trial(tmp_path / flush, 2, 1, attached_may=may, trial_settle_cache="drop", **attached)
        trial.outcomes["run-1"] = trial.outcome(inserted=[5])
        assert trial.run_all() == [
            "phase load",
            "clients: load",
            "phase settle",
            f"node1: settle flush={flush} timeout=300",
            # The hosts' page caches are emptied, but the caches of the attached system are not.
            "node1 node2: empty the page cache as root",
            "node1: stats folder=cassandra/stats/load within 900 s",
            "phase run 1",
            "clients: run-1",
            "node1: stats folder=cassandra/stats/run-1 within 900 s",
            "phase count",
            "node1: count recordcount=1005",
        ]
        classes = {call.argv[call.argv.index("-cp") + 2] for call in trial.calls if "-cp" in call.argv}
        assert classes == {"dohyo.cassandra.admin.AttachedCql"}
        assert {phase.servers for phase in trial.phases} == {""}
        # The evidence must not contain credentials.
        client = trial.plans[0]["agents"]["client1"]["client"]
        assert client["secret_properties"].splitlines() == ["cassandra.password=secret", "cassandra.username=me"]
        assert "hosts=10.1.0.1" in client["properties"].splitlines()


def test_a_system_that_settles_in_one_place_is_asked_there(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 3, system="hbase", trial_settle_cache="drop", trial_settle_flush="False")
    trial.part.settle_load()
    assert trial.notes == [
        "phase settle",
        "node1: settle flush=false timeout=1800",
        "node1: drop within 900 s",
        "node1 node2 node3: empty the page cache as root",
        "node1 node2 node3: stats folder=hbase/stats/load within 900 s",
    ]
    assert trial.json("settled.json")["notes"] == [
        "settle.flush=false has no effect: Apache HBase has no buffer that only a flush would empty",
        "settle.cache=drop: the page caches of the hosts were emptied before the runs",
    ]


def test_the_load_is_measured_where_there_are_no_runs(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_phases=[], properties={"target": 500})
    trial.run_all()
    assert [(phase.folder, phase.measured) for phase in trial.phases] == [("load", True)]
    # The target rate applies to runs, not to loads.
    assert "target=0" in trial.property_lines(0, "node1")


def test_a_load_has_what_the_scenario_says_of_it_and_no_faults(tmp_path: Path) -> None:
    load = {"threads": 4, "properties": {"recordcount": 7}, "faults": "kill(node1)@1s"}
    trial = fake_trial(tmp_path, trial_load=load)
    trial.part.load()
    (phase,) = trial.phases
    assert (phase.threads, phase.properties, phase.measured) == (4, {"recordcount": 7}, False)
    assert (phase.faults_asked, phase.faults) == ("none", [])
    assert trial.events[0] == {
        "event": "phase", "phase": "load", "run": None, "client_dirs": [str(tmp_path / "load/node1")],
    }  # fmt: skip


def test_runs_have_numbers_over_all_phases(tmp_path: Path) -> None:
    verified = {"properties": {"recordcount": 1000, "verify": "acknowledged"}}
    phases = [{"name": "a", **verified}, {"name": "b"}, {"name": "c", **verified}]
    trial = fake_trial(tmp_path, trial_phases=phases, trial_repeats=2, trial_load=verified)
    trial.run_all()
    assert [(phase.folder, phase.of_trial) for phase in trial.phases] == [
        ("load", 1), ("a-1", 1), ("b-1", 2), ("c-1", 3), ("a-2", 4), ("b-2", 5), ("c-2", 6),
    ]  # fmt: skip
    assert "verify.run=6" in trial.property_lines(6, "node1")


def test_numbers_may_be_texts(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_threads="16", trial_warmup="5", trial_duration="7.5", trial_settle_flush="no")
    trial.run_all()
    assert {"threadcount=16", "warmuptime=5", "maxexecutiontime=7.5"} <= {*trial.property_lines(1, "node1")}
    assert (trial.plans[1]["warmup"], trial.plans[1]["duration"]) == (5, 7.5)
    assert "flush=false" in trial.calls[0].argv
    assert (seconds("10"), seconds(10.0), seconds("0.5")) == (10, 10, 0.5)


def test_no_key_number_is_used_twice(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, clients=2, trial_repeats=3)
    trial.outcomes["run-1"] = trial.outcome(inserted=[5, None])
    trial.outcomes["run-2"] = trial.outcome(inserted=[9, 2])
    trial.run_all()
    used = [
        [line for host in ("client1", "client2") for line in trial.property_lines(number, host) if "inserted=" in line]
        for number in (1, 2, 3)
    ]
    assert used == [["inserted=0", "inserted=0"], ["inserted=5", "inserted=0"], ["inserted=9", "inserted=2"]]
    # The clients of the last run did not report their last key, so the expected number of rows is unknown.
    assert "phase count" not in trial.notes


def test_each_database_host_is_told_its_own_faults(tmp_path: Path) -> None:
    names = ["node1", "node2", "node3"]
    faults = "partition(node1|node2+node3)@2s, heal@4s, slow(node3, 2MB)@6s"
    trial = fake_trial(tmp_path, 3, 1, trial_phases=[{"name": "run", "faults": faults}], dohyo_systemd="yes")
    trial.part.measure_phase(trial.part.values["trial_phases"][0], 1, is_first=True)
    serves = [call for call in trial.calls if call.verb == "serve"]
    assert [(call.host, call.root) for call in serves] == [("node1", True), ("node2", True), ("node3", True)]
    assert serves[2].argv == ["/opt/dohyo/bin/agent", "faults", "serve", "node3"]
    parted = {"n": 0, "kind": "partition", "at": 2.0, "rate": None, "apart": ["10.0.0.1"]}
    assert json.loads(serves[2].arguments["stdin"]) == {
        "role": "cassandra", "spared": [], "folders": ["/data1"], "unit": "dohyo-abc-fault.service", "patience": 1200,
        "events": [
            parted, {"n": 1, "kind": "heal", "at": 4.0, "rate": None, "apart": []},
            {"n": 2, "kind": "slow", "at": 6.0, "rate": 2_000_000, "apart": []},
        ],
    }  # fmt: skip
    assert json.loads(serves[0].arguments["stdin"])["events"][0]["apart"] == ["10.0.0.2", "10.0.0.3"]
    agents = trial.plans[0]["agents"]
    assert {name: agent["faults"] for name, agent in agents.items()} == {
        **{name: f"/opt/dohyo/run/fault-{name}" for name in names}, "client1": "",
    }  # fmt: skip


def test_clients_alone_need_no_servers(tmp_path: Path) -> None:
    fields = {"threads": "2", "warmup": "1", "duration": 5, "properties": {"recordcount": 10, "target": "1000"}}
    trial = fake_trial(
        tmp_path,
        hosts=2,
        clients_phases=[{"name": "few", **fields}, {"name": "many", **fields, "threads": 64}],
        clients_prefix="doctor-", clients_results=str(tmp_path / "out"), clients_measured=False, client_binding="noop",
        client_module="client", client_heap="24m",
    )  # fmt: skip
    trial.world.databases = []
    trial.part.clients_alone()
    assert trial.notes == [
        line
        for folder in ("doctor-few-1", "doctor-many-1")
        for line in (f"clients: out/{folder}", f"node1 node2: pull /opt/dohyo/client/{folder}")
    ]
    assert {call.arguments["dest"] for call in trial.calls} == {
        f"{tmp_path}/out/doctor-{name}-1" for name in ("few", "many")
    }
    assert [(phase.threads, phase.measured, phase.servers) for phase in trial.phases] == [
        (2, False, ""),
        (64, False, ""),
    ]
    agent = trial.plans[0]["agents"]["node2"]
    assert (agent["servers"], agent["faults"]) == ("", "")
    command = agent["client"]["command"]
    assert command[command.index("-cp") + 1 : command.index("-P")] == [
        "/opt/dohyo/bundle/client/*", "dohyo.client.Client", "-db", "noop",
    ]  # fmt: skip
    assert {"-Xms24m", "-Xmx24m", "-t"} <= {*command}
    assert {"target=500", "clients=2", "clientnumber=1"} <= {*trial.property_lines(0, "node2")}


# ---- failures --------------------------------------------------------------------------------------------------------

CALLS = 81  # number of calls to hosts in a trial with the variables FULL


def test_the_calls_of_all_steps_are_as_many_as_the_next_test_lets_fail(tmp_path: Path) -> None:
    trial = full(tmp_path)
    trial.run_all()
    assert len(trial.calls) == CALLS


@pytest.mark.parametrize("number", range(CALLS))
def test_nothing_is_done_after_a_step_has_failed(number: int, tmp_path: Path) -> None:
    """Makes one call fail. The other hosts must complete the step, and no further step may begin."""
    whole = full(tmp_path / "whole")
    whole.run_all()
    trial = full(tmp_path / "failing")
    trial.fails_at = number
    with pytest.raises(StepError) as failed:
        trial.run_all()
    call = whole.calls[number]
    assert failed.value.failures == {call.host: f"{call.host} has no {call.verb}"}
    assert str(failed.value) == f"{failed.value.step}: {call.host} has no {call.verb}"
    (_, end) = next(step for step in whole.steps if step[0] <= number < step[1])
    assert [*map(str, trial.calls)] == [*map(str, whole.calls[:end])]
    # Neither the clients nor `dohyo` are called after the failure.
    assert (whole.folder / "notes").read_text("utf-8").startswith((trial.folder / "notes").read_text("utf-8"))
    assert trial.events[-1] == {
        "event": "failed", "task": failed.value.step, "host": call.host,
        "message": f"{call.host} has no {call.verb}", "ignored": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "step"),
    [
        ("settle", "Flush, wait for background writes, and count the rows"),
        ("drop", "Empty the server's caches"),
        ("empty the page cache", "Empty the page cache"),
        ("stats", "Save the server's statistics"),
        ("serve", "Prepare the faults"),
        ("reset", "Close the connections to hosts that were off"),
        ("pull", "Fetch the last output of the clients"),
        ("count", "Count the rows"),
    ],
)
def test_a_failed_step_is_named_with_what_each_host_said(verb: str, step: str, tmp_path: Path) -> None:
    trial = full(tmp_path)
    trial.answers[verb] = HostError("no space left on device")
    trial.answers["node2", verb] = HostError("the host does not answer: timed out")
    trial.answers["client2", verb] = HostError("the host does not answer: timed out")
    with pytest.raises(StepError) as failed:
        trial.run_all()
    assert failed.value.step == step
    hosts = {"reset": ["node2"], "pull": ["client1", "client2"], "count": ["node1"]}
    assert failed.value.failures == {
        name: "the host does not answer: timed out" if name.endswith("2") else "no space left on device"
        for name in hosts.get(verb, ["node1", "node2", "node3"])
    }


@pytest.mark.parametrize("folder", ["load", "precondition-1", "max-1", "own-1"])
def test_a_phase_that_does_not_count_ends_the_trial_on_all_hosts(folder: str, tmp_path: Path) -> None:
    trial = full(tmp_path)
    trial.outcomes[folder] = trial.outcome(failure="client1: 5 of 100 operations failed", vanished=["client2"])
    with pytest.raises(StepError, match="Check that the run counts: client1: 5 of 100 operations failed") as failed:
        trial.run_all()
    assert {*failed.value.failures} == {"node1", "node2", "node3", "client1", "client2"}
    assert trial.phases[-1].folder == folder
    # A host that a fault switched off is reconnected, but a host that was lost is not.
    assert trial.notes[-1] == ("node2: reset" if folder == "max-1" else f"clients: {folder}")
    assert trial.part.vanished == ["client2"]


def test_a_host_that_stays_off_is_left_alone(tmp_path: Path) -> None:
    trial = full(tmp_path)
    trial.outcomes["max-1"] = trial.outcome(failure="node2 has not answered", vanished=["node2"])
    with pytest.raises(StepError):
        trial.run_all()
    assert trial.notes[-1] == "clients: max-1"
    assert trial.part.vanished == ["node2"]


def test_a_probe_may_fail_if_the_hosts_are_well(tmp_path: Path) -> None:
    probes: dict[str, Any] = {"trial_search": {"probes": 2, "duration": 5}, "dohyo": OF_DOHYO[1:]}
    trial = fake_trial(tmp_path, 2, **probes)
    trial.outcomes["probe-1"] = trial.outcome(failure="too many errors")
    trial.run_all()
    assert [phase.folder for phase in trial.phases] == ["load", "run-1", "probe-1", "probe-2"]
    ways: list[dict[str, Any]] = [{"ended": ["node2"]}, {"vanished": ["node1"]}]
    for ill in ways:
        trial = fake_trial(tmp_path / next(iter(ill)), 2, **probes)
        trial.outcomes["probe-1"] = trial.outcome(failure="too many errors", **ill)
        with pytest.raises(StepError, match="too many errors"):
            trial.run_all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {"a": 400, "b": 599},
            "only 999 of 1000 records are in the tables, though every insert was acknowledged",
        ),
        ({}, ""),
        ({"usertable": 0}, "only 0 of 1000 records are in the tables, though every insert was acknowledged"),
        ({"usertable": 1001}, ""),
        ({"a": 400, "b": 600}, ""),
    ],
)
def test_a_load_must_be_whole(rows: dict[str, int], message: str, tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    trial.answers["node1", "settle"] = {"seconds": 3, "rows": rows}
    if not message:
        trial.part.settle_load()
        return
    with pytest.raises(StepError) as failed:
        trial.part.settle_load()
    assert failed.value.failures == {"node1": message, "node2": message}
    # The evidence still contains the number of rows.
    assert trial.json("settled.json")["rows"] == rows


def test_a_part_of_the_records_is_a_whole_load_if_no_more_was_asked_for(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, properties={"recordcount": 1000, "insertstart": 10, "insertcount": 50})
    trial.answers["settle+stats"] = {"seconds": 3, "rows": {"usertable": 50}}
    trial.part.settle_load()


def test_a_load_that_was_not_counted_is_not_counted_after_the_runs(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.answers["settle+stats"] = {"seconds": 3, "rows": {}}
    trial.outcomes["run-1"] = trial.outcome(inserted=[5])
    assert "phase count" not in trial.run_all()


@pytest.mark.parametrize("call", [0, 1, 2])
def test_a_failed_call_of_dohyo_ends_the_trial(call: int, tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, dohyo=OF_DOHYO[:call], **FULL)
    with pytest.raises(StepError) as failed:
        trial.run_all()
    verb = "next-probe" if call else "own-target"
    assert failed.value.step == f"Ask dohyo for {verb}"
    assert failed.value.failures == dict.fromkeys(trial.world.hosts, "no such folder")
    assert trial.notes[-1] == f"dohyo: {verb}"
