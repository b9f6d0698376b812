"""Tests the plan of a load or a run for the conductor, with the command and the properties of each client."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conducting.conductor import Plan
from dohyo.bad_input import BadInputError
from dohyo.scenario import faults
from dohyo.trial.clients import ClientOptions, ClientPhase, plan_of, power_of
from support.trial_hosts import FakeTrial, fake_trial


def phase(properties: Mapping[str, Any] | None = None, number: int = 1, **more: Any) -> ClientPhase:
    """Returns a run with 8 threads, 10 s of warm-up and a window of 20 s."""
    fields = {"name": "run", "threads": 8, "warmup": 10, "duration": 20, "binding": "cassandra", **more}
    return ClientPhase(number=number, properties={"recordcount": 1000, **(properties or {})}, **fields)


def planned(trial: FakeTrial, client_phase: ClientPhase, inserted: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Returns the plan of a phase, after checking that the conductor accepts it."""
    world = trial.world
    plan = plan_of(client_phase, world.hosts, world.databases, world.clients, inserted or {})
    assert Plan(**plan).agents == plan["agents"]
    return plan


def lines(plan: Mapping[str, Any], key: str, which: str = "properties") -> list[str]:
    """Returns the values of a property in the files of all clients."""
    agents = [agent["client"] for agent in plan["agents"].values() if agent["client"] is not None]
    assignments = [line.partition("=") for agent in agents for line in agent[which].splitlines()]
    return [value for name, _, value in assignments if name == key]


# ---- properties ------------------------------------------------------------------------------------------------------


def test_threads_and_target_of_all_clients_are_divided(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, clients=3)
    plan = planned(trial, phase({"threadcount.of": "all", "target": "3000"}, threads=12))
    assert lines(plan, "threadcount") == ["4", "4", "4"]
    assert lines(plan, "target") == ["1000", "1000", "1000"]
    assert lines(plan, "clientnumber") == ["0", "1", "2"]
    assert lines(plan, "clients") == ["3", "3", "3"]
    assert lines(planned(trial, phase({"target": 1000})), "target") == ["333.3333333333333"] * 3
    assert lines(planned(trial, phase(threads=12)), "threadcount") == ["12", "12", "12"]
    assert lines(planned(trial, phase({"threadcount.of": "all"}, threads=2)), "threadcount") == ["1", "1", "1"]
    assert lines(planned(trial, phase()), "target") == ["0", "0", "0"]


def test_the_clients_divide_the_operations_themselves(tmp_path: Path) -> None:
    plan = planned(fake_trial(tmp_path, clients=3), phase({"operationcount": "1000"}, duration=0))
    assert lines(plan, "operationcount") == ["1000", "1000", "1000"]
    assert (plan["duration"], lines(plan, "maxexecutiontime")) == (None, ["0", "0", "0"])


def test_a_run_of_some_time_has_no_number_of_operations(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    plan = planned(trial, phase({"operationcount": 500, "passes": 2}))
    assert (lines(plan, "operationcount"), lines(plan, "maxexecutiontime"), plan["duration"]) == (["0"], ["20"], 20)
    assert lines(plan, "passes") == ["0"]
    assert lines(planned(trial, phase({"passes": 2}, duration=0)), "passes") == ["2"]


def test_a_load_has_all_operations_and_no_window(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, clients=2)
    plan = planned(trial, phase({"operationcount": 500, "warmup": "steady"}, 0, name="load"), {"client1": 7})
    assert (lines(plan, "operationcount"), lines(plan, "maxexecutiontime")) == (["500", "500"], ["0", "0"])
    assert not lines(plan, "warmuptime") + lines(plan, "inserted") + lines(plan, "verify.run")
    assert (plan["warmup"], plan["steady"], plan["duration"]) == (0, False, None)
    process = plan["agents"]["client2"]["client"]
    assert process["folder"] == "/opt/dohyo/client/load/client2"
    assert process["command"][-2:] == ["-load", "-s"]


def test_properties_of_every_run(tmp_path: Path) -> None:
    plan = planned(fake_trial(tmp_path, clients=2), phase(of_trial=3), {"client2": 7})
    for key, values in {
        "warmuptime": ["10", "10"],
        "verify.run": ["3", "3"],
        "verify.wait": ["0", "0"],
        "inserted": ["0", "7"],
        "startgate": ["/opt/dohyo/client/run-1/client1", "/opt/dohyo/client/run-1/client2"],
        "startgate.timeout": ["300", "300"],
        "client.summary": [f"/opt/dohyo/client/run-1/{name}/client.json" for name in ("client1", "client2")],
        "hdrhistogram.fileoutput": ["true", "true"],
        "hdrhistogram.output.path": [f"/opt/dohyo/client/run-1/{name}/" for name in ("client1", "client2")],
        "recordcount": ["1000", "1000"],
    }.items():
        assert lines(plan, key) == values, key


def test_connections_count_more_than_the_scenario_and_what_the_trial_says_more_than_both(tmp_path: Path) -> None:
    client_phase = phase({"hosts": "elsewhere", "clients": "99"}, connection={"hosts": "10.0.0.1", "clients": "98"})
    plan = planned(fake_trial(tmp_path), client_phase)
    assert (lines(plan, "hosts"), lines(plan, "clients")) == (["10.0.0.1"], ["1"])


@pytest.mark.parametrize(
    "key", ["cassandra.password", "mysql.PASSWORD", "db.passwd", "aerospike.clientsecret", "hbase.truststore.Password"]
)
def test_secrets_are_in_a_file_that_is_no_evidence(key: str, tmp_path: Path) -> None:
    plan = planned(fake_trial(tmp_path), phase({key: "hidden"}, connection={"passwordless": "yes"}))
    process = plan["agents"]["node1"]["client"]
    assert process["secrets"] == "/opt/dohyo/secret/client-node1.properties"
    assert process["secret_properties"] == f"{key}=hidden\n"
    assert "hidden" not in process["properties"] + " ".join(process["command"])
    assert lines(plan, "passwordless") == ["yes"]
    assert process["command"][process["command"].index("-P") :][:4] == [
        "-P", "client.properties", "-P", process["secrets"],
    ]  # fmt: skip


def test_names_that_do_not_say_that_they_are_secret_are_hidden_where_the_phase_says_so(tmp_path: Path) -> None:
    client_phase = phase(connection={"user": "me", "users": "5"}, hidden=["user", "not.there"])
    plan = planned(fake_trial(tmp_path), client_phase)
    assert (lines(plan, "user"), lines(plan, "users")) == ([], ["5"])
    assert lines(plan, "user", "secret_properties") == ["me"]


# ---- the process -----------------------------------------------------------------------------------------------------


def test_the_command_of_a_client(tmp_path: Path) -> None:
    trial = fake_trial(
        tmp_path,
        clients=2,
        client_heap={"client1": "64m"},
        host_cpus_client={"client1": "", "client2": "2-3"},
        client_java_options=["-Xss256k"],
    )
    plan = planned(trial, phase())
    rest = [
        "-cp", "/opt/dohyo/bundle/cassandra/*", "dohyo.client.Client", "-db", "cassandra", "-P", "client.properties",
    ]  # fmt: skip
    commands = {name: plan["agents"][name]["client"]["command"] for name in ("client1", "client2")}
    assert commands["client1"] == [
        "/jdk17/bin/java", "-Xms64m", "-Xmx64m", "-Xss256k", *rest,
        "-P", "/opt/dohyo/secret/client-client1.properties", "-t", "-s",
    ]  # fmt: skip
    assert commands["client2"][:6] == ["taskset", "-c", "2-3", "/jdk17/bin/java", "-Xms512m", "-Xmx512m"]
    assert plan["agents"]["client1"]["client"]["name"] == "client-client1"


def test_a_client_that_takes_turns_goes_on_after_its_first_window(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_lane="cassandra")
    plans = [planned(trial, phase({"warmup": "steady"}, number=number, warmup=9, windows=3)) for number in (1, 2)]
    first, second = (plan["agents"]["node1"]["client"] for plan in plans)
    assert first["name"] == second["name"] == "client-node1.cassandra"
    assert first["folder"] == "/opt/dohyo/client/cassandra/run-1/node1"
    assert (first["paused"], second["paused"]) == ("", first["folder"])
    assert first["secrets"] == "/opt/dohyo/secret/client-node1.cassandra.properties"
    for line in ("windows=3", "warmuptime.again=2"):
        assert line in first["properties"].splitlines()
    assert [(plan["warmup"], plan["steady"]) for plan in plans] == [(9, True), (2, False)]
    short = planned(trial, phase(number=2, warmup=1, windows=3))
    assert short["warmup"] == 1
    assert "warmuptime.again=1" in short["agents"]["node1"]["client"]["properties"].splitlines()


def test_agents_of_hosts_without_a_client_watch_the_servers_alone(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1)
    agents = planned(trial, phase(servers="cassandra"))["agents"]
    watches = {"servers": "cassandra", "faults": "", "lane": ""}
    assert agents["node2"] == {"tool": "/opt/dohyo/bin/agent", "client": None, **watches}
    assert agents["client1"]["servers"] == ""
    assert [*agents] == ["node1", "node2", "client1"]


# ---- the conductor's plan --------------------------------------------------------------------------------------------


def test_the_plan_of_the_conductor_by_default(tmp_path: Path) -> None:
    plan = planned(fake_trial(tmp_path), phase({"warmup": "steady"}))
    del plan["agents"]
    assert plan == {
        "ready_timeout": 120, "start_delay": 2, "launch_interval": 0, "warmup": 10, "steady": True, "duration": 20,
        "bound": 120, "silence": 70, "faults": (), "undo": 0, "boot": 600,
    }  # fmt: skip


def test_timeouts_and_delays_of_clients_follow_the_variables(tmp_path: Path) -> None:
    trial = fake_trial(
        tmp_path,
        client_ready_timeout="300", client_start_delay=500, client_launch_interval="250", client_grace=5,
        client_count_timeout="99",
    )  # fmt: skip
    plan = planned(trial, phase())
    assert (plan["ready_timeout"], plan["start_delay"], plan["launch_interval"]) == (300, 0.5, 0.25)
    assert plan["bound"] == 35
    assert planned(trial, phase(number=0, measured=False))["start_delay"] == 0
    assert planned(trial, phase(duration=0))["bound"] == planned(trial, phase(number=0))["bound"] == 99


def test_a_client_has_time_for_what_comes_after_the_window(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, client_fault_grace=50, client_boot_timeout=70)
    assert planned(trial, phase({"verify": "acknowledged"}))["bound"] == 10 + 20 + 90 + 600
    assert planned(trial, phase({"verify": "acknowledged", "verify.timeout": "7"}, warmup=0.5))["bound"] == 118
    planned_faults = {
        text: faults.on_hosts(text, ["node1", "node2"], "cassandra") for text in ("kill(node2)@1s", "power(node2)@1s")
    }
    kill, power = (phase(faults=planned_fault) for planned_fault in planned_faults.values())
    for client_phase, undo in ((kill, 50), (power, 120)):
        plan = planned(trial, client_phase)
        assert (plan["undo"], plan["bound"], plan["boot"]) == (undo, 120 + undo, 70)
        assert lines(plan, "verify.wait") == [str(undo)] * 2
        assert plan["agents"]["node1"]["faults"] == "/opt/dohyo/run/fault-node1"
        assert plan["faults"] == client_phase.faults
    assert (kill.switched, power.switched) == ([], ["node2"])


@pytest.mark.parametrize(
    ("properties", "seconds"),
    [
        ({}, 70),
        ({"stalltime": "5"}, 15),
        ({"stalltime": 5, "target": 3}, 20),
        ({"stalltime": 5, "target": 3, "arrival": "poisson"}, 40),
        ({"target": 3000, "arrival": "poisson"}, 70),
    ],
)
def test_a_client_hangs_when_it_is_silent_for_longer_than_it_allows_itself(
    properties: dict[str, Any], seconds: float, tmp_path: Path
) -> None:
    # The target of 3 op/s is divided among three clients.
    assert planned(fake_trial(tmp_path, clients=3), phase(properties))["silence"] == seconds


def test_warmup_is_fixed_unless_steady_is_asked_for(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    assert not planned(trial, phase())["steady"]
    assert not planned(trial, phase({"warmup": "fixed"}))["steady"]


def test_words_of_a_command_that_switches_a_host_are_texts(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, dohyo_power_off=["ipmitool", 5, "off"], dohyo_power_on=["true"])
    assert power_of(trial.world.hosts["node1"]) == {"off": ["ipmitool", "5", "off"], "on": ["true"]}


# ---- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("heap", "64 m", "must match"),
        ("heap", "lots", "must match"),
        ("java_options", "-Xss1m", "must be of type list"),
        ("ready_timeout", "soon", "must be of type int"),
        ("grace", -1, "must match"),
        ("count_timeout", 1.5, "must be of type int"),
        ("start_delay", [], "must be of type int"),
        ("launch_interval", True, "must be of type int"),
        ("skew_limit_ms", "10ms", "must be of type float"),
        ("fault_grace", "7m", "must be of type int"),
        ("boot_timeout", "", "must be of type int"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(name: str, value: Any, message: str, tmp_path: Path) -> None:
    variables = {f"client_{name}": value}
    with pytest.raises(BadInputError) as refused:
        ClientOptions.of(variables)
    assert str(refused.value).startswith(f"client_{name}={value}: ")
    assert message in str(refused.value)
    trial = fake_trial(tmp_path, **variables)
    with pytest.raises(BadInputError, match=f"client_{name}="):
        trial.part.load()
    assert trial.notes == ["phase load"]


def test_options_may_be_texts_and_others_are_left_alone() -> None:
    options = ClientOptions.of({"client_skew_limit_ms": "2.5", "client_grace": "7", "client_binding": "noop", "x": 1})
    assert (options.skew_limit_ms, options.grace, options.module, options.ready_timeout) == (2.5, 7, "", 120)
