"""Tests the decisions of the conductor, which controls the clients of a run. The tests supply messages and times."""

import pytest

from conducting.clock import HostClock
from conducting.conductor import READINGS, SILENCE_SECONDS, STOP_SECONDS
from conducting.report import faults, sentences
from support.agents import AHEAD, Stage


def test_the_shortest_round_trip_says_what_the_clock_is() -> None:
    clock = HostClock()
    clock.add(10.0, 15.5, 10.2)
    clock.add(20.0, 25.001, 20.002)
    clock.add(30.0, 35.9, 31.0)
    assert clock.best.offset == pytest.approx(5.0)
    assert clock.best.error == pytest.approx(0.001)


def test_all_begin_at_one_instant_of_their_own_clocks() -> None:
    stage = Stage().ready()
    agreed = stage.conductor.agreed
    assert stage.requests["host1"] == ["begin", "launch", "start"]
    assert stage.requests["host3"] == ["begin", "start"]  # database hosts also measure their servers
    assert agreed > stage.now
    for host, start in stage.starts.items():
        assert start["at"] == pytest.approx(agreed + AHEAD[host], abs=1e-3)
        assert start["window"] == pytest.approx([start["at"] + 2, start["at"] + 12])


def test_nobody_begins_before_all_are_ready() -> None:
    stage = Stage()
    for _ in range(READINGS + 2):
        stage.step()
    stage.say("host1", "ready")
    stage.step(50)
    assert stage.conductor.agreed is None
    stage.step(80)
    assert "the client on host2 is not ready after 120 s" in stage.conductor.failure
    assert stage.requests["host1"][-1] == "stop"


def test_skews_are_those_of_the_real_starts_and_ends() -> None:
    stage = Stage().ready()
    stage.step(12)
    stage.end("host1", skew=0.5, finished=12000, inserted=40)
    stage.step()
    assert not stage.conductor.over
    stage.end("host2", skew=4.5, finished=12030)
    outcome = stage.last_report()
    assert outcome["valid"]
    assert outcome["start_skew_ms"] == pytest.approx(4, abs=1.1)
    assert outcome["end_skew_ms"] == pytest.approx(30, abs=1.1)
    assert outcome["clients"]["host2"]["offset_ms"] == pytest.approx(5000, abs=1)
    assert outcome["nodes"]["host1"]["cpu_seconds"] == 3
    # A host without a client also needs the offset, because its files are shifted to the run's time axis.
    assert outcome["nodes"]["host3"]["offset_ms"] == pytest.approx(-3000, abs=1)
    # The next run of each client inserts its records after this number.
    assert [row["inserted"] for row in outcome["clients"].values()] == [40, None]
    assert "run 1: 2 clients, start skew " in sentences("run 1", outcome)[0]
    assert "over client_skew_limit_ms=1; raise" in stage.report(limit=1)["failure"]


def test_the_failure_of_one_client_stops_all() -> None:
    stage = Stage().ready()
    stage.step(5)
    stage.end("host2", code=4, output="client-host2 ended with exit code 4: ERROR: no")
    stage.step()
    assert stage.requests["host1"][-1] == "stop"
    stage.end("host1", code=143)
    outcome = stage.last_report()
    assert outcome["failure"] == "the client on host2 failed: client-host2 ended with exit code 4: ERROR: no"
    assert [row["state"] for row in outcome["clients"].values()] == ["stopped", "failed"]


def test_a_host_that_does_not_answer_has_vanished_and_nobody_waits_for_it() -> None:
    stage = Stage().ready()
    stage.step(5)
    stage.dead.add("host2")
    began = stage.now
    while "stop" not in stage.requests["host1"]:
        stage.step(0.5)
    assert stage.now - began < SILENCE_SECONDS + 2
    stage.end("host1", code=143)
    outcome = stage.last_report()
    assert outcome["clients"]["host2"]["state"] == "vanished"
    assert "host2 vanished" in outcome["failure"]
    assert "s after the start: no answer for 10 s" in outcome["failure"]


def test_a_client_that_does_not_stop_is_not_waited_for_forever() -> None:
    stage = Stage().ready()
    stage.step(1)
    stage.conductor.lost("host2", "Connection closed", stage.now)
    stage.step(STOP_SECONDS + 2)
    assert stage.conductor.over
    assert "did not report" in stage.report()["clients"]["host1"]["reason"]


def test_a_client_without_news_hangs() -> None:
    stage = Stage().ready()
    for _ in range(45):
        stage.step(1)
        stage.say("host1", "log", file="READ.hdr", text="")
    assert "the client on host2 hangs: it has sent no report since" in stage.conductor.failure


def test_a_client_has_a_bound() -> None:
    stage = Stage(silence=1000).ready()
    stage.step(110)
    assert "the client on host1 is still running 10" in stage.conductor.failure


@pytest.mark.parametrize("how", ["vanished", "ended"])
def test_servers_that_go_do_not_end_the_run_but_it_does_not_count(how: str) -> None:
    stage = Stage().ready()
    stage.step(7)
    if how == "vanished":
        stage.conductor.lost("host3", "Connection reset", stage.now)
    else:
        stage.say("host3", "server", name="cassandra", at=stage.now + AHEAD["host3"], words="cassandra ended: no")
    stage.step(5)
    assert stage.requests["host1"][-1] == "start"
    stage.end("host1")
    stage.end("host2")
    outcome = stage.last_report()
    assert outcome["nodes"]["host3"]["state"] == how
    assert 0 < outcome["nodes"]["host3"]["at"] < 7
    assert not outcome["valid"]
    assert "host3" in outcome["failure"]
    assert outcome["events"][0]["host"] == "host3"


def test_without_a_connection_nothing_begins() -> None:
    stage = Stage()
    stage.conductor.lost("host3", "Permission denied (publickey).", stage.now)
    assert stage.last_report()["failure"] == "no agent could be started on host3: Permission denied (publickey)."


def test_one_client_alone_does_not_wait_long_and_has_no_skew() -> None:
    stage = Stage(clients="host1", servers="host1")
    for _ in range(READINGS + 2):
        stage.step()
    stage.say("host1", "ready")
    stage.step()
    assert stage.conductor.agreed - stage.now < 0.3
    stage.step()
    stage.end("host1", skew=50)
    outcome = stage.last_report()
    assert outcome["valid"]
    assert sentences("run 1", outcome) == []


@pytest.mark.parametrize(("host", "seconds", "shown"), [("host2", -5.0, "-5.0"), ("host3", 0.5, "+0.5")])
def test_a_run_in_which_the_clock_of_a_host_is_set_is_invalid(
    host: str, seconds: float, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage().ready()
    stage.step(4)
    monkeypatch.setitem(AHEAD, host, AHEAD[host] + seconds)
    stage.step(2)
    monkeypatch.undo()
    stage.step(6)
    for client in ("host1", "host2"):
        stage.end(client)
    assert stage.last_report()["failure"] == (
        f"the clock of {host} moved by {shown} s during the run; check its time service"
    )


def test_a_clock_that_runs_a_little_too_fast_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage().ready()
    for second in range(12):
        monkeypatch.setitem(AHEAD, "host2", 5.0 + 0.0003 * second)
        stage.step(1)
    stage.valid_end()


FAULTS = [
    {"kind": "kill", "target": "node2", "at": 2.0, "hosts": ["host3"]},
    {"kind": "start", "target": "node2", "at": 4.0, "hosts": ["host3"]},
]


def done(stage: Stage, host: str, number: int | None, kind: str, time: float, error: str | None = None) -> None:
    """Reports that a fault was executed at a second of the window. The report contains the time on the host's clock."""
    began = stage.conductor.measure + time + AHEAD[host]
    of_host = {"began": began, "done": began + 0.1, "what": f"{kind} of cassandra", "error": error}
    stage.say(host, "fault", done={"n": number, "kind": kind, **of_host})


def test_a_server_that_a_fault_has_ended_is_none_that_has_failed() -> None:
    stage = Stage(faults=FAULTS).ready()
    measure = stage.conductor.measure
    stage.step(4)
    # The agent may report the killed server before the report of the fault arrives.
    stage.say("host3", "server", name="cassandra", words="killed", at=measure + 2.05 + AHEAD["host3"])
    done(stage, "host3", 0, "kill", 2.0)
    stage.step(2)
    done(stage, "host3", 1, "start", 4.0)
    stage.step(6)
    assert "readback" not in stage.requests["host1"]
    done(stage, "host3", None, "resume", 10.2)
    for host, second in (("host1", 10.0), ("host3", 12.5)):
        stage.say(host, "fault", done={"whole": measure + second + AHEAD[host]})
        stage.step()
    stage.step()
    assert stage.requests["host1"][-1] == stage.requests["host2"][-1] == "readback"
    assert "readback" not in stage.requests["host3"]  # host3 has no client
    outcome = stage.valid_end()
    assert outcome["nodes"]["host3"]["state"] == "ran"
    assert [event["what"] for event in outcome["events"]] == [
        "fault: kill of cassandra", "killed", "fault: start of cassandra", "fault: resume of cassandra",
    ]  # fmt: skip
    report = faults(stage.conductor, "as asked")
    assert (report["asked"], report["window_ended"] - report["window_began"]) == ("as asked", 10)
    kill, start = report["events"]
    assert (kill["kind"], kill["planned"], kill["began"], kill["done"]) == ("kill", 2.0, 2.0, 2.1)
    assert kill["hosts"]["host3"]["began"] == pytest.approx(measure + 2 + AHEAD["host3"])
    assert start["began"] == 4.0
    assert [(item["kind"], item["target"], item["began"]) for item in report["undone"]] == [("resume", "host3", 10.2)]
    assert report["whole"] == 12.5


def test_a_server_that_ends_by_itself_in_a_run_with_faults_is_named_and_a_result() -> None:
    stage = Stage(faults=FAULTS).ready()
    measure = stage.conductor.measure
    stage.step(4)
    done(stage, "host3", 0, "kill", 2.0)
    done(stage, "host3", 1, "start", 4.0)
    stage.say("host3", "server", name="cassandra", words="out of memory", at=measure + 7 + AHEAD["host3"])
    stage.say("host1", "server", name="cassandra", words="ended", at=measure + 7)
    for host in ("host1", "host2"):
        stage.end(host)
    outcome = stage.report()
    assert (outcome["valid"], outcome["failure"]) == (True, "")
    assert {outcome["nodes"][host]["state"] for host in ("host1", "host3")} == {"ended"}
    assert "cassandra on host3 ended" in outcome["nodes"]["host3"]["reason"]


POWER = [
    {"kind": "power", "target": "node2", "at": 2.0, "hosts": ["host3"]},
    {"kind": "start", "target": "node2", "at": 4.0, "hosts": ["host3"]},
]


def test_a_host_that_is_switched_off_and_on_is_none_that_has_vanished() -> None:
    stage = Stage(faults=POWER).ready()
    measure = stage.conductor.measure
    stage.until(measure + 2)
    assert stage.requests["host3"] == ["begin", "start", "power"]
    stage.conductor.lost("host3", "Connection reset", stage.now)
    stage.conductor.switched("host3", False, measure + 2, measure + 2.5, None)
    stage.dead.add("host3")
    stage.until(measure + 4)
    assert stage.requests["host3"][-1] == "power"
    # The connection to the old agent may break as late as now. This must not start a second agent.
    stage.conductor.lost("host3", "Connection reset", stage.now)
    stage.step(2)
    assert stage.requests["host3"][-1] == "power"
    stage.conductor.switched("host3", True, measure + 4, measure + 4.5, None)
    stage.step(0.5)
    # The first attempt to connect fails, and is repeated. The boot changed the host's clock.
    stage.conductor.lost("host3", "Connection refused", stage.now)
    stage.dead.remove("host3")
    stage.requests["host3"].clear()
    AHEAD["host3"] += 40
    try:
        stage.step(1.0)
        for _ in range(READINGS + 2):
            stage.step()
        assert stage.requests["host3"] == ["connect", "begin", "start"]
        assert stage.starts["host3"]["window"][0] == pytest.approx(measure + AHEAD["host3"], abs=1e-3)
        # After the boot, the new agent finds none of the servers that ran before.
        stage.say("host3", "server", name="cassandra", words="vanished", at=stage.now + AHEAD["host3"])
        done(stage, "host3", 1, "start", 7.0)
        done(stage, "host3", 1, "start", 7.0)
        for host, second in (("host1", 10.0), ("host3", 12.5)):
            stage.say(host, "fault", done={"whole": measure + second + AHEAD[host]})
    finally:
        AHEAD["host3"] -= 40
    stage.step()
    outcome = stage.valid_end()
    assert (outcome["nodes"]["host3"]["state"], outcome["nodes"]["host3"]["cpu_seconds"]) == ("ran", None)
    assert [event["what"] for event in outcome["events"]] == [
        "fault: power off", "fault: power on", "fault: start of cassandra",
    ]  # fmt: skip
    report = faults(stage.conductor, "as asked")
    power, start = report["events"]
    assert (power["planned"], power["began"], power["done"]) == (2.0, 2.0, 2.5)
    # The fault `start` began when the host was switched on, and ended when its servers were ready.
    assert (start["began"], start["done"]) == (pytest.approx(4.0, abs=2e-3), pytest.approx(7.1, abs=2e-3))
    assert (report["undone"], report["whole"]) == ([], 12.5)


def test_the_end_of_the_window_switches_a_host_on() -> None:
    stage = Stage(faults=POWER[:1], silence=1000.0).ready()
    measure = stage.conductor.measure
    stage.until(measure + 9)
    stage.conductor.switched("host3", False, measure + 2, measure + 2.5, None)
    assert stage.requests["host3"].count("power") == 1
    stage.step(1)
    stage.step()
    assert stage.requests["host3"].count("power") == 2


def test_a_host_that_cannot_be_switched_off_stays_and_the_fault_says_why() -> None:
    stage = Stage(faults=POWER).ready()
    measure = stage.conductor.measure
    stage.until(measure + 3)
    stage.conductor.switched("host3", False, measure + 2, measure + 3, "dohyo_power_off ended with exit code 1: no")
    stage.step(2)
    assert stage.requests["host3"].count("power") == 1
    done(stage, "host3", 1, "start", 4.0, error="all processes run already")
    stage.say("host3", "server", name="cassandra", words="killed", at=stage.now + AHEAD["host3"])
    errors = [event["hosts"]["host3"]["error"] for event in faults(stage.conductor, "as asked")["events"]]
    assert errors == ["dohyo_power_off ended with exit code 1: no", "all processes run already"]
    assert stage.report()["nodes"]["host3"]["state"] == "ended"


@pytest.mark.parametrize("how", ["no answer", "no command"])
def test_a_host_that_stays_off_costs_the_run_its_numbers_and_nobody_waits_for_ever(how: str) -> None:
    stage = Stage(faults=POWER, boot=20, undo=60, bound=1000.0, silence=1000.0).ready()
    measure = stage.conductor.measure
    stage.until(measure + 2)
    stage.conductor.switched("host3", False, measure + 2, measure + 2.5, None)
    stage.dead.add("host3")
    stage.step(2)
    if how == "no answer":
        stage.conductor.switched("host3", True, measure + 4, measure + 4.5, None)
        stage.until(measure + 23)
        why = "it still does not answer"
    else:
        stage.conductor.switched("host3", True, measure + 4, measure + 4.5, "dohyo_power_on ended with exit code 7: no")
        why = "power on failed: dohyo_power_on ended with exit code 7: no"
    assert "readback" not in stage.requests["host1"]
    stage.say("host1", "fault", done={"whole": stage.now})
    stage.step(4)
    assert stage.requests["host1"][-1] == "readback"
    for host in ("host1", "host2"):
        stage.end(host)
    stage.step(1)
    outcome = stage.report()
    assert not outcome["valid"]
    assert why in outcome["failure"]
    assert stage.conductor.hosts["host3"].lost


def test_servers_that_are_not_ready_again_do_not_keep_the_clients_for_ever() -> None:
    stage = Stage(faults=FAULTS, bound=1000.0, silence=1000.0).ready()
    stage.say("host1", "fault", done={"whole": None})
    stage.step(12 + 430)
    assert stage.requests["host1"][-1] == "readback"
    assert faults(stage.conductor, "as asked")["whole"] is None
