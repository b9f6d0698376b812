"""Tests a whole trial: its parts, their order, and how it ends after each failure."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dohyo.evidence import server_log
from dohyo.trial.evidence import UNDER_WAY
from dohyo.trial.trial import run_trial
from dohyo.trial.world import HostError, StepError
from support.trial_hosts import RESOURCES, FakeTrial, fake_trial, free_ports, note_under_way


def begun(folder: Path, hosts: int = 2, **variables: Any) -> FakeTrial:
    """Returns a trial with a note saying that it is running."""
    trial = fake_trial(folder, hosts, **variables)
    note_under_way(trial, folder)
    return trial


def done(trial: FakeTrial) -> list[str]:
    """Returns all calls. Paths of folders are relative to Dohyo's home."""
    return [line.replace("/opt/dohyo/", "") for line in trial.notes]


# Calls at the end of a successful trial.
ENDED = [
    "phase stop",
    "node1: look for faults",
    "node1: stop-all cassandra",
    "node1: stop host-metrics",
    "node1: pull run/cassandra",
    "node1: pull client",
    "node1: owned absent secret/client-node1.properties",
    "node1: owned absent run/cassandra",
    "node1: in_use free",
]


def tried(trial: FakeTrial) -> str:
    """Runs a trial as the playbook does, and returns why it failed."""
    return run_trial(trial.world, trial.conduct)


# ---- the order -------------------------------------------------------------------------------------------------------

# Calls that check the host: its resources for client and server, its JDK, and the garbage collector.
CHECKED = ["node1 node1 node1: host_resources", "node1: try the collector"]
START = [
    "phase start",
    "node1: owned fresh run/cassandra",
    "node1: free_ports",
    "node1: files",
    "node1: start cassandra",
    "node1: ready cassandra",
    "node1: free_ports",
]
TABLES = ["phase schema", "node1: schema within 900 s", "node1: process_limits", "node1: files"]
SETTLE = ["phase settle", "node1: settle+stats folder=cassandra/stats/load flush=true timeout=300", "node1: sync"]


def test_all_steps_of_a_trial_in_their_order(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    assert tried(trial) == ""
    assert done(trial) == [
        "node1: owned checked", "node1: in_use taken",
        "phase start", "node1: look for faults", "node1: stop-all",
        *CHECKED,
        "localhost: owned present", "localhost: owned absent load",
        "node1: owned absent client", "node1: sample",
        "phase canary", "node1: canary host",
        *START, *TABLES, "phase load", "clients: load", *SETTLE,
        "phase run 1", "clients: run-1", "node1: stats folder=cassandra/stats/run-1 within 900 s",
        *ENDED[:3], "node1: end logs", *ENDED[3:],
    ]  # fmt: skip


def test_nodes_start_one_after_another_on_several_hosts_and_their_ports_are_theirs(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1, trial_canary="false")
    assert tried(trial) == ""
    notes = done(trial)
    first = notes.index("node1 node2 client1: owned fresh run/cassandra")
    assert notes[first : first + 8] == [
        "node1 node2 client1: owned fresh run/cassandra",
        "node1 node2: free_ports",
        "node1 node2: files",
        *("node1: start cassandra", "node1: ready cassandra", "node2: start cassandra", "node2: ready cassandra"),
        "node1 node2: ready within 1080 s",
    ]
    # Ports are checked only before the start. On a dedicated host, a port that is in use is an error.
    assert len([call for call in trial.calls if call.action == "free_ports"]) == 2
    assert not [line for line in notes if "canary" in line]


@pytest.mark.parametrize("number", range(51))
def test_whatever_fails_the_servers_are_stopped_and_the_hosts_are_free(number: int, tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    trial.fails_at = number
    reason = trial.real().conduct()
    failed = trial.calls[number]
    # A listener that cannot be stopped ends by itself, so the trial does not fail.
    expected = "" if failed.verb == "canary end" else f"{failed.host} has no {failed.verb}"
    assert reason.endswith(expected)
    assert bool(reason) == bool(expected)
    notes = done(trial)
    assert [line for line in notes if line.startswith("phase stop")] == ["phase stop"]
    end = notes[notes.index("phase stop") :]
    stop = "stop-all" if expected else "stop-all cassandra"
    assert {f"node1: {stop}", f"node2: {stop}"} <= {*end}
    assert end[-2:] == ["node1 node2: owned absent run/cassandra", "node1 node2: in_use free"]
    assert not (tmp_path / UNDER_WAY).exists()


def test_the_calls_above_are_all_before_the_end(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    parts = trial.real()
    parts.prepare()
    parts.run()
    parts.measuring.measure()
    assert len(trial.calls) == 51


# ---- the start -------------------------------------------------------------------------------------------------------


def occupied(times: int) -> Any:
    """Returns a fake of the verb free_ports, in which another program takes the chosen port `times` times."""
    remaining = [times]

    def answer(**arguments: Any) -> dict[str, Any]:
        if "chosen" not in arguments:
            return free_ports(**arguments)
        remaining[0] -= 1
        return {"notes": ["port 9042 is somebody else's"] if remaining[0] >= 0 else []}

    return answer


@pytest.mark.parametrize("seems_well", [True, False])
def test_servers_start_again_on_other_ports_where_one_was_taken(seems_well: bool, tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.answers["free_ports"] = occupied(1)
    answers = ["" if seems_well else HostError("it has ended"), ""]

    def ready(**_: Any) -> dict[str, str]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return {"stdout": answer}

    trial.answers["ready cassandra"] = ready
    trial.real().start()
    assert [line for line in done(trial) if "start" in line or "stop" in line] == [
        *("node1: start cassandra", "node1: stop cassandra", "node1: start cassandra")
    ]
    assert [event["text"] for event in trial.events if event["event"] == "note"] == ["port 9042 is somebody else's"]


@pytest.mark.parametrize(("connection", "searches"), [("local", True), ("ssh", False), (None, False)])
def test_ports_are_searched_on_the_machine_of_ansible_alone(
    connection: str | None, searches: bool, tmp_path: Path
) -> None:
    variables = {"ansible_connection": connection} if connection else {}
    trial = fake_trial(tmp_path, **variables)  # type: ignore[arg-type]
    chosen = trial.real().servers.choose_ports("node1", "10.0.0.1", {"cql": 9042})
    assert chosen == {"address": "10.0.0.1", "ports": {"cql": 9042}, "moved": []}
    (call,) = trial.calls
    assert (call.action, call.arguments["search"]) == ("free_ports", searches)


def test_servers_start_three_times_at_most(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.answers["free_ports"] = occupied(9)
    with pytest.raises(StepError, match=r"^Start the servers: port 9042 is somebody else's$"):
        trial.real().start()
    assert len([line for line in done(trial) if line == "node1: start cassandra"]) == 3


def test_servers_that_fail_for_another_reason_do_not_start_again(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.answers["ready cassandra"] = HostError("out of memory")
    with pytest.raises(StepError, match=r"^Wait for Apache Cassandra: out of memory$"):
        trial.real().start()
    assert len([line for line in done(trial) if line == "node1: start cassandra"]) == 1


# ---- the conditions --------------------------------------------------------------------------------------------------


def test_conditions_are_those_of_servers_and_hosts(tmp_path: Path) -> None:
    trial = fake_trial(
        tmp_path, 2, 1, conditions={"replication": 2}, trial_notes=["another trial is under way"],
        host_warnings={"node1": ["swap is on"], "node2": ["swap is on"], "client1": []},
        host_conditions={"node1": {"a": 1}, "node2": {}, "client1": {}}, dohyo_usd_per_hour="0.5",
        trial_strict="no",
    )  # fmt: skip
    trial.real().make_tables()
    conditions = trial.json("conditions.json")
    assert (conditions["system"], conditions["title"]) == ("cassandra", "Apache Cassandra")
    assert conditions["differences"] == ["replication: requested '2', but the server has '1'"]
    assert conditions["notes"][-2:] == ["node1, node2: swap is on", "another trial is under way"]
    assert conditions["hosts"] == {"node1": {"a": 1}, "node2": {}, "client1": {}}
    assert conditions["usd_per_hour"] == {"node1": "0.5", "node2": "0.5"}
    written = [call for call in trial.calls if call.action == "files"]
    assert [call.host for call in written] == ["node1", "node2"]
    for call in written:
        (file,) = call.arguments["files"]
        assert (call.arguments["mode"], file["path"]) == ("0600", "/opt/dohyo/run/cassandra.properties")


def test_strict_conditions_refuse_other_ones(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, conditions={"replication": 2}, trial_strict="yes")
    reason = (
        "Check the servers' conditions: replication: requested '2', but the server has '1';"
        " not measured, because strict conditions were set"
    )
    assert tried(trial) == reason
    # The evidence lists the differences.
    assert trial.json("conditions.json")["differences"]
    assert "phase load" not in done(trial)


# ---- servers that keep running ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("variables", [{"trial_keep": "true"}, {"trial_until": "schema"}, {"trial_until": "settle"}])
def test_servers_that_are_kept_stay_up_with_their_data(variables: dict[str, Any], tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, **variables)
    assert tried(trial) == ""
    notes = done(trial)
    end = notes[notes.index("phase stop") :]
    assert end == [
        "phase stop", "node1: stop host-metrics", "node1: pull run/cassandra", "node1: pull client",
        "node1: owned absent secret/client-node1.properties", "node1: in_use kept",
    ]  # fmt: skip
    assert ("phase run 1" in notes) == ("trial_keep" in variables)
    assert ("phase load" in notes) == (variables.get("trial_until") != "schema")


def test_servers_of_a_trial_that_failed_do_not_stay_up(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_keep=True)
    trial.outcomes["run-1"] = trial.outcome(failure="no client was ready")
    assert tried(trial) == "Check that the run counts: no client was ready"
    assert done(trial)[-2:] == ["node1: owned absent run/cassandra", "node1: in_use free"]


@pytest.mark.parametrize(
    ("system", "options", "failures", "killed"),
    [
        ("mysql-innodb", [], {}, ["mysql"]),
        ("mysql-innodb", [], {"node1": "Run: no answer"}, []),
        ("mysql-innodb", ["-Xloggc:gc.log"], {}, []),
        ("cassandra", [], {}, ["cassandra"]),
        ("postgresql", [], {}, []),
    ],
)
def test_servers_are_killed_unless_something_is_left_of_them(
    system: str, options: list[str], failures: dict[str, str], killed: list[str], tmp_path: Path
) -> None:
    trial = fake_trial(tmp_path, system=system, jdk_gc_options=options)
    parts = trial.real(failures=failures)
    parts.evidence.begin(parts.system.role)
    parts.end()
    (stopped,) = (call for call in trial.calls if call.verb == "stop-all")
    assert [word for word in stopped.argv[2:] if word] == ["60", *killed]


# ---- reasons of failures ---------------------------------------------------------------------------------------------


def test_the_log_of_a_killed_server_covers_the_time_until_then(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, dohyo_home=str(tmp_path))
    parts = trial.real()
    parts.evidence.begin(parts.system.role)
    (folder := tmp_path / "run/cassandra").mkdir(parents=True)
    (folder / "log").write_text("INFO  [main] 2026-11-25 16:10:20,904 Started\n")
    patterns = "end: 'Flushed (?P<key>.)', begin: 'Flush (?P<key>.)'"
    (tmp_path / "server/log.yml").write_text(f"flush: {{files: [log, 'region*.log'], {patterns}}}")
    parts.end()
    (ended,) = (call for call in trial.calls if call.verb == "end logs")
    before = time.time()
    subprocess.run(ended.arguments["argv"], check=True)
    log = server_log.read(folder / "log", server_log.lines_of(tmp_path / "server/log.yml", pytest.fail), pytest.fail)
    assert log
    assert before - 0.1 < log.end < time.time() + 0.1
    assert [file.name for file in folder.iterdir()] == ["log"]


def test_the_reason_says_what_became_of_the_servers_once_they_were_started(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    died = "cassandra was killed (9)"
    trial.answers["node2", "ask how servers have ended"] = died
    state: dict[str, Any] = {"failures": {"node1": "Run: no answer", "node2": ""}}
    assert trial.real(**state).end() == "Run: no answer"
    assert trial.real(**state, started=True).end() == f"Run: no answer; {died}"
    state["failures"]["node1"] = f"Run: {died}"
    assert trial.real(**state, started=True).end() == f"Run: {died}"


def test_a_host_that_was_lost_is_not_asked_again(tmp_path: Path) -> None:
    trial = begun(tmp_path, 3)
    failures = dict.fromkeys(trial.world.hosts, "Run: node2 was lost")
    assert trial.real(failures, started=True, vanished=["node2"]).end() == "Run: node2 was lost"
    assert {call.host for call in trial.calls} == {"node1", "node3"}


# ---- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(13))
def test_the_end_goes_on_whatever_fails(number: int, tmp_path: Path) -> None:
    trial = begun(tmp_path)
    trial.fails_at = number
    reason = trial.real().end()
    failed = trial.calls[number]
    calls = [call for call in trial.calls if call.host != failed.host]
    assert reason.endswith(f"{failed.host} has no {failed.verb}")
    # On the other host, the servers are stopped and the evidence is fetched. The host is then marked as free.
    assert [call.verb for call in calls][-6:] == [
        *("stop host-metrics", "pull", "pull"),
        *("owned absent", "owned absent", "in_use free"),
    ]  # fmt: skip
    assert (tmp_path / UNDER_WAY).exists() == (4 <= number < 12)


def test_servers_that_could_not_be_stopped_keep_their_data(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    trial.answers["node2", "stop-all"] = HostError("it hangs")
    assert trial.real().end() == "Stop the servers and all other processes: it hangs"
    notes = done(trial)
    assert "node2: pull run/cassandra" in notes
    assert notes[-2:] == ["node1: owned absent run/cassandra", "node1: in_use free"]


def test_devices_are_cleared_where_nothing_uses_them_any_more(tmp_path: Path) -> None:
    trial = begun(tmp_path, 3, system="aerospike", aerospike_storage="device", dohyo_devices=["nvme1n1"])
    trial.answers["node2", "stop-all"] = HostError("it hangs")
    trial.real(failures={"node3": "Run: node3 was lost"}, vanished=["node3"]).end()
    cleared = [call.host for call in trial.calls if "end" in call.arguments.get("argv", []) and call.argv[0] == "bash"]
    assert cleared == ["node1"]


def test_evidence_that_could_not_be_fetched_stays_on_the_host(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    trial.answers["node1", "pull"] = HostError("no space")
    assert trial.real().end() == "Fetch the evidence: no space"
    assert done(trial)[-2:] == ["node2: owned absent run/cassandra", "node1 node2: in_use free"]
    assert (tmp_path / UNDER_WAY).exists()


def test_an_unforeseen_error_keeps_no_server_up(tmp_path: Path) -> None:
    trial = begun(tmp_path)
    (tmp_path / UNDER_WAY).write_text("{")
    assert trial.real().end().startswith("Fetch the evidence: JSONDecodeError: ")
    notes = done(trial)
    assert notes[-1] == "node1 node2: in_use free"
    assert [line for line in notes if "stop-all" in line] == ["node1: stop-all cassandra", "node2: stop-all cassandra"]


def test_an_unforeseen_error_ends_the_trial(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.answers["start cassandra"] = lambda **arguments: arguments["stdout"]
    assert tried(trial) == "KeyError: 'stdout'"
    assert [line for line in done(trial) if "stop-all" in line] == ["node1: stop-all"] * 2
    assert done(trial)[-1] == "node1: in_use free"


def test_a_host_that_cannot_be_measured_ends_the_trial_before_it_begins(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    trial.answers["host_resources"] = {**RESOURCES, "problems": ["node1 has 1 MiB", "node1 has no JDK"]}
    reason = "Check that the host can run the client: node1 has 1 MiB; node1 has no JDK"
    assert tried(trial) == reason
    notes = done(trial)
    assert notes[notes.index("node1: host_resources") + 1 :] == [
        "phase stop", "node1: look for faults", "node1: stop-all", "node1: owned absent run/cassandra",
        "node1: in_use free",
    ]  # fmt: skip


# ---- hosts of others -------------------------------------------------------------------------------------------------


def test_hosts_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, 1, trial_load_id="id")
    theirs = "/opt/dohyo has the mark of another deployment"
    trial.answers["node2", "owned checked"] = {"problems": [theirs, "and more"]}
    assert tried(trial) == f"Check that the folders belong to Dohyo: node2: {theirs}; and more"
    assert done(trial) == ["node1 node2 client1: owned checked"]
    home = ["/opt/dohyo", ""]
    data = [["/data1", "dohyo/cassandra"], ["/data1", "dohyo/kept"]]
    assert [call.arguments["folders"] for call in trial.calls] == [[home, *data], [home, *data], [home]]


def test_hosts_that_do_not_answer_are_left_alone(tmp_path: Path) -> None:
    gone = HostError("the host does not answer: no route")
    trial = fake_trial(tmp_path, 2)
    trial.answers["node2", "owned checked"] = gone
    assert tried(trial) == "Check that the folders belong to Dohyo: the host does not answer: no route"
    assert done(trial) == ["node1 node2: owned checked"]


def test_a_host_that_vanishes_later_keeps_no_other_host_in_use(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    trial.answers["node2", "stop-all"] = HostError("the host does not answer: no route")
    assert tried(trial) == "Stop the processes of earlier trials: the host does not answer: no route"
    assert done(trial)[-2:] == ["node1: owned absent run/cassandra", "node1: in_use free"]


OURS = {"deployment": "abc", "since": 2.0, "own": True, "pid": 1, "start": 2}
THEIRS = {
    "deployment": "0123456789ab", "since": 1.0, "own": False, "user": "eve", "pid": 5, "start": 1,
    "machine": "far", "controller": "far", "checkout": "/d", "group": "one start",
}  # fmt: skip


@pytest.mark.parametrize(
    ("since", "variables", "refused"),
    [
        (1.0, {}, True),
        (3.0, {}, False),
        (1.0, {"dohyo_exclusive": "false"}, False),
        (1.0, {"trial_group": "one start"}, False),
    ],
)
def test_hosts_that_others_use_are_refused_unless_they_are_shared(
    since: float, variables: dict[str, Any], refused: bool, tmp_path: Path
) -> None:
    trial = fake_trial(tmp_path, 2, **variables)
    trial.answers["node1", "in_use taken"] = {"uses": [OURS]}
    trial.answers["node2", "in_use taken"] = {"uses": [{**THEIRS, "since": since}, OURS]}
    reason = tried(trial)
    assert (": eve has been at work there since " in reason) == refused
    assert ("; wait, or run stop.yml there" in reason) == refused
    if refused:
        assert reason.startswith("Check that no other playbook uses the hosts: ")
        assert done(trial) == [f"node1 node2: {line}" for line in ("owned checked", "in_use taken", "in_use withdrawn")]


def test_a_shared_host_is_a_note_of_the_trial(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, dohyo_exclusive=False)
    trial.answers["in_use taken"] = {"uses": [THEIRS, OURS]}
    assert tried(trial) == ""
    (note,) = trial.json("conditions.json")["notes"]
    assert note.startswith("eve has been at work there since ")
    assert note.endswith(" (far:/d, deployment 0123456789ab)")


@pytest.mark.parametrize("attached", [{}, {"cassandra": "10.1.0.1"}])
def test_servers_that_we_have_kept_up_are_in_the_way_of_attached_ones(attached: dict[str, str], tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, attached=attached)
    running = {**THEIRS, "deployment": "abc", "kept": True}
    trial.answers["in_use taken"] = {"uses": [running, OURS]}
    assert ("eve has kept servers running there since " in tried(trial)) == bool(attached)


# ---- the evidence ----------------------------------------------------------------------------------------------------


def test_servers_alone_have_no_evidence_of_clients_of_an_earlier_trial(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, trial_until="schema")
    assert tried(trial) == ""
    notes = done(trial)
    assert notes.index("node1 node2: owned absent client") < notes.index("node1 node2: owned fresh run/cassandra")
    assert "node1: pull client" in notes
    assert not [line for line in notes if "sample" in line or "canary" in line]


def test_evidence_of_a_trial_by_hand_says_how_it_ended(tmp_path: Path) -> None:
    for number, (until, status) in enumerate([("stop", "done"), ("settle", "skipped"), ("schema", "skipped")]):
        trial = fake_trial(tmp_path / str(number), trial_until=until)
        assert tried(trial) == ""
        assert trial.json("state.json")["status"] == status
        assert trial.json("trial.json")["trial_system"] == "cassandra"
    trial = fake_trial(tmp_path / "failed")
    trial.answers["schema"] = HostError("no quorum")
    reason = "Create the tables, and read back the conditions: no quorum"
    assert tried(trial) == reason
    assert trial.json("state.json") == {"status": "failed", "reason": reason}


def test_evidence_of_an_experiment_is_what_dohyo_writes(tmp_path: Path) -> None:
    (tmp_path / "experiment.json").touch()
    trial = fake_trial(folder := tmp_path / "raw/cassandra")
    assert tried(trial) == ""
    assert not (folder / "state.json").exists()
    assert not (folder / "trial.json").exists()


@pytest.mark.parametrize("verb", ["stop-all", "owned present"])
def test_nothing_is_written_to_a_folder_that_is_not_ours_yet(verb: str, tmp_path: Path) -> None:
    trial = fake_trial(tmp_path)
    (tmp_path / "state.json").write_text("of an earlier trial")
    trial.answers[verb] = HostError("no")
    assert tried(trial).endswith(": no")
    assert (tmp_path / "state.json").read_text() == "of an earlier trial"
    assert not (tmp_path / "trial.json").exists()


# ---- kept loads ------------------------------------------------------------------------------------------------------


def test_the_room_for_a_load_follows_from_the_memory_of_the_host(tmp_path: Path) -> None:
    needs: list[int] = []
    for memory in (0, 64000):
        variables: dict[str, Any] = {"trial_load_id": "id", "properties": {"recordcount": 100_000_000}}
        trial = fake_trial(tmp_path / str(memory), system="scylla", host_memory_budget="80%", **variables)
        trial.answers["host_resources"] = {**RESOURCES, "memory_mb": memory}
        tried(trial)
        needs += [call.arguments["need_mb"] for call in trial.calls if call.verb == "kept_load found"]
    assert needs[1] > needs[0] + 20000


def test_memory_is_only_read_where_it_is_divided(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, host_cpus_client={"node2": "1"})
    trial.answers["host_resources"] = HostError("no")
    assert tried(trial) == "Check that the host can run the client: no"
    assert [call.host for call in trial.calls if call.verb == "host_resources"] == ["node2", "node1", "node2"]


def in_turn(trial: FakeTrial) -> list[str]:
    """Returns the calls that handle loads or start and stop servers, without the paths of folders."""
    steps = ("kept_load", "clients", "set aside", "start cassandra", "stop cassandra")
    return [line.removeprefix("node1: ") for line in done(trial) if any(word in line for word in steps)]


def test_a_load_that_is_kept_is_copied_instead_of_loading(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_load_id="id", trial_reuse="id")
    assert tried(trial) == ""
    assert in_turn(trial) == ["kept_load found", "kept_load placed", "start cassandra", "clients: run-1"]
    assert trial.json("kept.json") == {"load": "first", "note": ""}
    # The end of a trial does not remove kept loads.
    (*_, wiped) = (call for call in trial.calls if call.verb == "owned absent")
    assert wiped.arguments["folders"] == [["/data1", "dohyo/cassandra"]]


KEPT = ["kept_load room", "stop cassandra", "set aside", "kept_load kept", "kept_load placed", "start cassandra"]
NONE = {"found": False, "trial": "", "note": ""}


def test_the_first_trial_keeps_its_load_and_measures_on_a_copy(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path / "raw/t1", trial_load_id="id", trial_reuse="id")
    trial.answers["kept_load found"] = NONE
    assert tried(trial) == ""
    assert in_turn(trial) == ["kept_load found", "start cassandra", "clients: load", *KEPT, "clients: run-1"]
    assert trial.json("kept.json") == {"load": "t1", "note": ""}
    assert [line for line in done(trial) if line.startswith("phase")] == [
        *("phase start", "phase canary", "phase start", "phase schema", "phase load", "phase settle"),
        *("phase start", "phase schema", "phase settle", "phase run 1", "phase stop"),
    ]


def test_a_copy_that_is_not_whole_is_loaded_again(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_load_id="id", trial_reuse="id")
    trial.answers["kept_load placed"] = {**NONE, "note": "a file of the load is missing"}
    trial.answers["kept_load room"] = {**NONE, "note": "no room"}
    assert tried(trial) == ""
    assert in_turn(trial) == [
        *("kept_load found", "kept_load placed", "start cassandra", "clients: load", "kept_load room", "clients: run-1")
    ]
    assert len([call for call in trial.calls if call.verb == "owned fresh"]) == 2
    assert trial.json("kept.json") == {"load": None, "note": "no room"}


def test_hosts_with_loads_of_different_trials_load_again(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2, trial_load_id="id")
    trial.answers["node2", "kept_load found"] = {"found": True, "trial": "second", "note": ""}
    parts = trial.real()
    parts.prepare()
    assert not parts.load.is_copy


def test_servers_without_the_load_that_was_just_kept_are_refused(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_load_id="id", trial_reuse="id")
    trial.answers["kept_load found"] = NONE
    trial.answers["kept_load placed"] = {**NONE, "note": "the disk is full"}
    assert tried(trial) == (
        "Check that the load still exists: the load is gone: the disk is full; repeat the trial with --resume"
    )


def test_a_load_that_cannot_be_shared_says_so(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_reuse="id")
    assert tried(trial) == ""
    servers = trial.json("kept.json")
    assert servers["load"] is None
    assert servers["note"].startswith("its load is not shared: ")
    (*_, wiped) = (call for call in trial.calls if call.verb == "owned absent")
    assert wiped.arguments["folders"] == [["/data1", "dohyo/cassandra"], ["/data1", "dohyo/kept"]]


def test_a_stop_elsewhere_during_a_trial_does_not_lose_its_evidence(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    parts = trial.real()
    parts.evidence.begin(parts.system.role)
    parts.evidence.note(parts.system.role)
    (tmp_path / UNDER_WAY).unlink()
    assert parts.end() == ""
    assert "node2: pull run/cassandra" in done(trial)


def test_an_interruption_is_a_failure(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, trial_keep=True)
    trial.answers["start cassandra"] = interrupt
    parts = trial.real()
    with pytest.raises(KeyboardInterrupt):
        parts.conduct()
    assert parts.failures == {"node1": "interrupted"}
    assert done(trial)[-1] == "node1: in_use free"


def interrupt(**_: Any) -> None:
    raise KeyboardInterrupt


def test_a_host_that_cannot_be_noted_leaves_no_note_on_the_others(tmp_path: Path) -> None:
    trial = fake_trial(tmp_path, 2)
    trial.answers["node2", "in_use taken"] = HostError("no space left")
    assert tried(trial) == "Record that the host is in use: no space left"
    assert "node1: in_use withdrawn" in done(trial) or "node1 node2: in_use withdrawn" in done(trial)
