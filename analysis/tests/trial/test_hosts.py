"""Tests the checks of a trial's hosts: their resources, their JDK and the programs of the servers."""

from pathlib import Path
from typing import Any

import pytest

import host_resources
from dohyo.trial.hosts import check_servers, find_availability, find_jdk, report
from dohyo.trial.world import HostError, StepError
from support.trial_hosts import RESOURCES, FakeTrial, fake_trial


def refused(trial: FakeTrial) -> dict[str, str]:
    """Returns the reason why each server host is rejected. The result is empty if all hosts are accepted."""
    try:
        check_servers(trial.part.servers)
    except StepError as error:
        return error.by_host
    return {}


SMALL: dict[str, Any] = {
    "host_memory_budget": "3800m",
    "cassandra_heap": "3500m",
    "host_has": {"memory_mb": 4096, "cpus": [0, 1]},
}


@pytest.mark.parametrize(
    ("system", "variables", "refusal"),
    [
        ("mysql-innodb", {"mysql_engine": "MyISAM"}, "mysql_engine=MyISAM: mysql-innodb has InnoDB; choose the"),
        ("cassandra", {"cassandra_heap": "x"}, "cassandra_heap=x: it must match"),
        (
            "cassandra",
            {"cassandra_password": "a\nsecret"},
            "cassandra_password=(not shown): contains the control character U+000A",
        ),
        ("cassandra", SMALL, "host_memory_budget=3800m is 3800 MiB, its client needs 712, the host has 4096; lower"),
        ("cassandra", SMALL, "cassandra needs 4000 MiB, but host_memory_budget=3800m leaves 3800"),
    ],
)
def test_contradictory_settings_are_refused_before_any_change(
    system: str, variables: dict[str, Any], refusal: str, tmp_path: Path
) -> None:
    trial = fake_trial(tmp_path, 3, system=system, mysql_server="/bin/true", conditions={"replication": 3}, **variables)
    refusals = refused(trial)
    assert [*refusals] == ["node1", "node2", "node3"]
    for message in refusals.values():
        assert message.startswith("Check the settings of ")
        assert refusal in message
        assert "secret" not in message
    assert {call.action for call in trial.calls} <= {"program"}


LOST = {"problem": "/dev/sdb: it is not there", "discards": True}


@pytest.mark.parametrize(
    ("disks", "attached", "problem"),
    [
        ({"devices": [], "volumes": [{"mount_point": "/dohyo/data", "mounted": False}]}, False,
         "/dohyo/data is not mounted"),
        ({"devices": [LOST], "volumes": []}, False, LOST["problem"]),
        ({"devices": [LOST], "volumes": []}, True, ""),
    ],
)  # fmt: skip
def test_disks_that_are_missing_or_not_mounted_are_not_measured(
    tmp_path: Path, disks: dict[str, Any], attached: bool, problem: str
) -> None:
    """Without this check, the trial fails without naming the cause: the empty mount point belongs to root."""
    settings: dict[str, Any] = {
        **dict.fromkeys(("_host_devices", "_host_label", "_host_root", "_host_settings", "_host_queues"), ()),
        **dict.fromkeys(("_host_queue", "_host_kept", "host_open_files", "host_processes"), ""),
        "_host_root_needed": True, "host_tuning": False, "dohyo_playbook": "ansible-playbook",
    }  # fmt: skip
    settings |= {"attached": {"cassandra": "elsewhere"}} if attached else {}
    trial = fake_trial(tmp_path, 2, **settings)
    trial.answers |= {
        "host_devices": {"devices": [], "volumes": []},
        ("node2", "host_devices"): disks,
        "host_settings read": {"settings": [], "absent": [], "differences": []},
    }
    if not problem:
        report(trial.world)
        return
    with pytest.raises(StepError) as error:
        report(trial.world)
    assert error.value.failures == {"node2": f"node2: {problem}; run ansible-playbook deploy.yml"}


def test_hosts_say_themselves_what_they_cannot_carry(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "dohyo_playbook": "ansible-playbook",
        "dohyo_home": str(tmp_path / "home"),
        "dohyo_min_free_gb": 1 << 30,
    }
    trial = fake_trial(tmp_path, 2, system="postgresql", postgresql_server="/bin/true", **settings)
    trial.answers["host_resources"] = host_resources.answer
    refusals = refused(trial)
    assert [*refusals] == ["node1", "node2"]
    missing = f"node1 has no {tmp_path}/home/bin/agent, {tmp_path}/home/bundle/postgresql"
    assert missing in refusals["node1"]
    assert "or lower postgresql_max_wal_size or dohyo_min_free_gb" in refusals["node1"]
    assert not (tmp_path / "home").exists()


def test_a_server_and_the_client_beside_it_need_memory(tmp_path: Path) -> None:
    for clients, shared in ((0, 712), (1, 0)):
        trial = fake_trial(tmp_path / str(clients), 1, clients)
        assert refused(trial) == {}
        carries = trial.calls[0].arguments["carries"]
        assert (carries["host"], carries["shared_mb"]) == ("node1", shared)
        assert carries["memory_mb"] == trial.part.servers.first.planned["memory_mb"]
    assert trial.world.first.values["service_host"] == RESOURCES


def test_servers_without_a_password_name_their_address(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    assert refused(trial) == {}
    assert trial.calls[0].arguments["open"] == {"cassandra": "10.0.0.1"}


@pytest.mark.parametrize("attached", [{}, {"cassandra": "10.1.0.1"}])
def test_attached_servers_need_only_their_administration(attached: dict[str, str], tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, attached=attached)
    assert refused(trial) == {}
    carried = [call for call in trial.calls if "carries" in call.arguments]
    assert [call.host for call in carried] == ["node1"] if attached else ["node1", "node2"]
    paths = ["/opt/dohyo/bin/agent", "/opt/dohyo/bundle/cassandra"]
    assert carried[0].arguments["needs"][:2] == paths
    if attached:
        assert (carried[0].arguments["carries"]["memory_mb"], len(trial.calls)) == (128, 1)


# ---- the JDK ---------------------------------------------------------------------------------------------------------


def test_all_hosts_have_the_same_build_of_the_jdk(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 3)
    trial.answers["node2", "host_resources"] = {**RESOURCES, "java_build": "17.0.16+8"}
    trial.answers["node3", "host_resources"] = {**RESOURCES, "java_home": "", "java_build": ""}
    with pytest.raises(
        StepError, match=r"different builds of JDK 17: 17\.0\.15\+6, 17\.0\.16\+8; install one"
    ) as error:
        find_jdk(trial.part.servers)
    assert [*error.value.failures] == ["node1", "node2", "node3"]


@pytest.mark.parametrize(
    ("homes", "expected"),
    [
        ({}, ("", ["/opt/dohyo/install/jdk/11"])),
        ({"dohyo_java_homes": {11: "/opt/jdk11"}}, ("/opt/jdk11", [])),
        ({"dohyo_java_homes": {"11": "/opt/jdk11"}}, ("/opt/jdk11", [])),
        ({"dohyo_java_home": "/opt/jdk17"}, ("", ["/opt/dohyo/install/jdk/11"])),
        ({"dohyo_java_homes": {11: None}}, ("", ["/opt/dohyo/install/jdk/11"])),
        ({"dohyo_java_homes": None, "dohyo_java_home": None}, ("", ["/opt/dohyo/install/jdk/11"])),
    ],
)
def test_a_jdk_is_looked_for_where_the_user_says(
    homes: dict[str, Any], expected: tuple[str, list[str]], tmp_path: Path
) -> None:
    trial = fake_trial(tmp_path, cassandra_version="4.0.19", cassandra_jdk=11, **homes)
    find_jdk(trial.part.servers)
    (call,) = trial.calls
    assert (call.arguments["java_home"], call.arguments["java_also"]) == expected
    assert call.arguments["java_major"] == 11


def test_a_host_without_the_jdk_is_named(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, dohyo_playbook="ansible-playbook")
    trial.answers["node2", "host_resources"] = {**RESOURCES, "java_home": "", "java_seen": ["/a (11)", "/b (21)"]}
    assert refused(trial) == {
        "node2": "Check that the host has the JDK: no JDK 17 on node2, only /a (11), /b (21); with the same"
        " versions, run ansible-playbook deploy.yml"
    }


def test_a_collector_that_the_jdk_does_not_have_is_refused_in_its_words(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, cassandra_gc="CMS")
    trial.answers["try the collector"] = (
        "exit code 1\nUnrecognized VM option 'UseConcMarkSweepGC'\nError: Could not create the Java Virtual Machine.\n"
        "Error: A fatal exception has occurred. Program will exit."
    )
    assert refused(trial) == {
        "node1": "Check that the JDK supports the collector: JDK 17 in /jdk on node1 rejects CMS:"
        " Unrecognized VM option 'UseConcMarkSweepGC'; change collector or JDK"
    }
    argv = trial.calls[-1].argv
    assert (argv[4], argv[-1]) == ("/jdk/bin/java", "-version")
    assert not [word for word in argv if word.startswith("-Xlog")]
    assert any(word.startswith("-Xlog") for word in trial.world.first.values["jdk_gc_options"])


# ---- programs of the servers -----------------------------------------------------------------------------------------


def test_a_server_describes_itself_where_it_serves(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 3, system="mysql-innodb", conditions={"replication": 2}, mysql_server="/bin/true")
    trial.answers["run a script"] = {"product": "MySQL", "version": "5.1.0", "tables": []}
    refusals = refused(trial)
    assert [call.host for call in trial.calls if call.verb == "run a script"] == ["node1", "node2"]
    assert [*refusals] == ["node1", "node2"]
    assert refusals["node1"].startswith("Check that the server supports the requested conditions: ")
    assert "5.1.0" in refusals["node1"]


def test_why_servers_are_not_available_is_a_fact_of_every_host(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, cassandra_version="2.2.19")
    find_availability(trial.part.servers)
    for name in trial.world.hosts:
        assert "choose one of 3.11.x" in trial.part.servers.system(name).context.state("cassandra")["unavailable"]
    trial = fake_trial(tmp_path, 2, cassandra_version="2.2.19", attached={"cassandra": "10.1.0.1"})
    find_availability(trial.part.servers)
    assert trial.part.servers.system("node2").context.state("cassandra")["unavailable"] == ""
    assert trial.calls == []


def test_a_script_that_cannot_run_is_a_failure_of_its_host(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, system="aerospike")
    trial.answers["node2", "look for the server"] = HostError("sh: not found")
    with pytest.raises(StepError) as error:
        find_availability(trial.part.servers)
    assert error.value.by_host == {"node2": "Run the script of Aerospike: sh: not found"}
