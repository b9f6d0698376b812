"""How the clients of a run are conducted: the decisions alone, with messages and times from here."""

import sys
from typing import Any

import pytest

from dohyo.places import ANSIBLE

sys.path.insert(0, str(ANSIBLE / "plugins"))
from conducting.clock import HostClock  # type: ignore[import-not-found]
from conducting.conductor import READINGS, SILENCE_SECONDS, STOP_SECONDS, Conductor, Plan  # type: ignore[import-not-found]
from conducting.report import report, sentences  # type: ignore[import-not-found]

# Hosts' clocks are ahead of the controller's by that many seconds.
AHEAD = {"host1": 0.0, "host2": 5.0, "host3": -3.0}


class Stage:
    """Plays the agents; every answer takes one millisecond."""

    def __init__(self, clients: str = "host1 host2", servers: str = "host1 host3", **plan: Any) -> None:
        self.now = 1000.0
        self.told: dict[str, list[str]] = {}
        self.starts: dict[str, dict[str, Any]] = {}
        self.dead: set[str] = set()
        agents = {
            host: {
                "tool": "service",
                "client": {"name": "client"} if host in clients else None,
                "servers": "cassandra" if host in servers else "",
            }
            for host in AHEAD
            if host in clients + servers
        }
        self.conductor = Conductor(Plan(agents, **{"warmup": 2, "duration": 10, "bound": 100, **plan}), self.now)

    def step(self, seconds: float = 0.0) -> None:
        """Lets time pass, and all agents that live answer."""
        end = self.now + seconds
        while True:
            for host, message in self.conductor.take_outbox():
                if host not in self.dead:
                    self._answer(host, message)
            self.conductor.tick(self.now)
            if self.now >= end:
                break
            self.now = min(end, self.now + 0.5)

    def _answer(self, host: str, message: dict[str, Any]) -> None:
        if message["do"] == "ping":
            there = (self.now + 0.0005 + AHEAD[host]) * 1e9
            self.say(host, "pong", 0.001, sent=self.now, time=there)
            return
        self.told.setdefault(host, []).append(message["do"])
        if message["do"] == "begin":
            self.say(host, "hello", servers=[])
        elif message["do"] == "start":
            self.starts[host] = message
        elif message["do"] == "finish":
            self.say(host, "finished", cpu=3.0, memory=400.0)

    def say(self, host: str, what: str, after: float = 0.0, **fields: Any) -> None:
        self.now += after
        self.conductor.heard(host, {"is": what, **fields}, self.now)

    def ready(self) -> None:
        for _ in range(READINGS + 2):
            self.step()
        for host in ("host1", "host2"):
            self.say(host, "ready")
        self.step()
        self.step()

    def end(
        self, host: str, code: int = 0, skew: float = 0.1, finished: float = 12000.0, words: str = "", **also: Any
    ) -> None:
        agreed = round(self.starts[host]["at"] * 1000) if host in self.starts else None
        summary = {"agreed_start_ms": agreed, "skew_ms": skew, "finished_ms": finished, **also}
        self.say(host, "ended", exit=code, words=words, at=self.now + AHEAD[host], summary=summary)

    def report(self, limit: float = 10) -> dict[str, Any]:
        outcome: dict[str, Any] = report(self.conductor, limit, measured=True)
        return outcome


def test_the_shortest_round_trip_says_what_the_clock_is() -> None:
    clock = HostClock()
    clock.add(10.0, 15.5, 10.2)
    clock.add(20.0, 25.001, 20.002)
    clock.add(30.0, 35.9, 31.0)
    assert clock.best.offset == pytest.approx(5.0)
    assert clock.best.error == pytest.approx(0.001)


def test_all_begin_at_one_instant_of_their_own_clocks() -> None:
    stage = Stage()
    stage.ready()
    agreed = stage.conductor.agreed
    assert stage.told["host1"] == ["begin", "launch", "start"]
    assert stage.told["host3"] == ["begin", "start"]  # servers only: what they use is measured
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
    assert stage.told["host1"][-1] == "stop"


def test_skews_are_those_of_the_real_starts_and_ends() -> None:
    stage = Stage()
    stage.ready()
    stage.step(12)
    stage.end("host1", skew=0.5, finished=12000, inserted=40)
    stage.step()
    assert not stage.conductor.over
    stage.end("host2", skew=4.5, finished=12030)
    stage.step()
    stage.step()
    assert stage.conductor.over
    outcome = stage.report()
    assert outcome["valid"]
    assert outcome["start_skew_ms"] == pytest.approx(4, abs=1.1)
    assert outcome["end_skew_ms"] == pytest.approx(30, abs=1.1)
    assert outcome["clients"]["host2"]["offset_ms"] == pytest.approx(5000, abs=1)
    assert outcome["nodes"]["host1"]["cpu_seconds"] == 3
    # Of a host without a client, too: what it has written is put on the run's time axis.
    assert outcome["nodes"]["host3"]["offset_ms"] == pytest.approx(-3000, abs=1)
    # Where the next run of this client goes on.
    assert [row["inserted"] for row in outcome["clients"].values()] == [40, None]
    assert "run 1: 2 clients, start skew " in sentences("run 1", outcome)[0]
    assert "client_skew_limit_ms is 1" in stage.report(limit=1)["failure"]


def test_one_failure_ends_it_for_all() -> None:
    stage = Stage()
    stage.ready()
    stage.step(5)
    stage.end("host2", code=4, words="client-host2 ended with exit code 4: ERROR: no")
    stage.step()
    assert stage.told["host1"][-1] == "stop"
    stage.end("host1", code=143)
    stage.step()
    stage.step()
    outcome = stage.report()
    assert stage.conductor.over
    assert outcome["failure"] == "the client on host2 failed: client-host2 ended with exit code 4: ERROR: no"
    assert [row["state"] for row in outcome["clients"].values()] == ["stopped", "failed"]


def test_a_host_that_does_not_answer_has_vanished_and_nobody_waits_for_it() -> None:
    stage = Stage()
    stage.ready()
    stage.step(5)
    stage.dead.add("host2")
    began = stage.now
    while "stop" not in stage.told["host1"]:
        stage.step(0.5)
    assert stage.now - began < SILENCE_SECONDS + 2
    stage.end("host1", code=143)
    stage.step()
    stage.step()
    outcome = stage.report()
    assert stage.conductor.over
    assert outcome["clients"]["host2"]["state"] == "vanished"
    assert "host2 vanished" in outcome["failure"]
    assert "s after the start: no answer for 10 s" in outcome["failure"]


def test_a_client_that_does_not_stop_is_not_waited_for_forever() -> None:
    stage = Stage()
    stage.ready()
    stage.step(1)
    stage.conductor.lost("host2", "Connection closed", stage.now)
    stage.step(STOP_SECONDS + 2)
    assert stage.conductor.over
    assert "has not said" in stage.report()["clients"]["host1"]["reason"]


def test_a_client_without_news_hangs() -> None:
    stage = Stage()
    stage.ready()
    for _ in range(45):
        stage.step(1)
        stage.say("host1", "log", file="READ.hdr", text="")
    assert "the client on host2 hangs: it has reported nothing since" in stage.conductor.failure


def test_a_client_has_a_bound() -> None:
    stage = Stage(silence=1000)
    stage.ready()
    stage.step(110)
    assert "the client on host1 still runs 10" in stage.conductor.failure


@pytest.mark.parametrize("how", ["vanished", "ended"])
def test_servers_that_go_do_not_end_the_run_but_it_does_not_count(how: str) -> None:
    stage = Stage()
    stage.ready()
    stage.step(7)
    if how == "vanished":
        stage.conductor.lost("host3", "Connection reset", stage.now)
    else:
        stage.say("host3", "server", name="cassandra", at=stage.now + AHEAD["host3"], words="cassandra ended: no")
    stage.step(5)
    assert stage.told["host1"][-1] == "start"
    stage.end("host1")
    stage.end("host2")
    stage.step()
    stage.step()
    outcome = stage.report()
    assert stage.conductor.over
    assert outcome["nodes"]["host3"]["state"] == how
    assert 0 < outcome["nodes"]["host3"]["at"] < 7
    assert not outcome["valid"]
    assert "host3" in outcome["failure"]
    assert outcome["events"][0]["host"] == "host3"


def test_without_a_connection_nothing_begins() -> None:
    stage = Stage()
    stage.conductor.lost("host3", "Permission denied (publickey).", stage.now)
    stage.step()
    stage.step()
    assert stage.conductor.over
    assert stage.report()["failure"] == "no agent could be started on host3: Permission denied (publickey)."


def test_one_client_alone_does_not_wait_long_and_has_no_skew() -> None:
    stage = Stage(clients="host1", servers="host1")
    for _ in range(READINGS + 2):
        stage.step()
    stage.say("host1", "ready")
    stage.step()
    assert stage.conductor.agreed - stage.now < 0.3
    stage.step()
    stage.end("host1", skew=50)
    stage.step()
    stage.step()
    outcome = stage.report()
    assert outcome["valid"]
    assert sentences("run 1", outcome) == []
