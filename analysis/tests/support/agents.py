"""Simulates the hosts' agents for the conductor of the clients."""

from typing import Any, Self

from conducting.conductor import READINGS, Conductor, Plan
from conducting.report import report

# Seconds by which the clock of each host is ahead of the controller's.
AHEAD = {"host1": 0.0, "host2": 5.0, "host3": -3.0}


class Stage:
    """Simulates the agents, and the controller's clock. A reply to a ping takes one millisecond."""

    def __init__(self, clients: str = "host1 host2", servers: str = "host1 host3", **plan: Any) -> None:
        self.now = 1000.0
        self.requests: dict[str, list[str]] = {}
        self.starts: dict[str, dict[str, Any]] = {}
        self.dead: set[str] = set()
        agents = {
            host: {
                "tool": "service",
                "client": {"name": "client"} if host in clients else None,
                "servers": "cassandra" if host in servers else "",
                "faults": "folder" if host in servers and "faults" in plan else "",
            }
            for host in AHEAD
            if host in clients + servers
        }
        self.conductor = Conductor(Plan(agents, **{"warmup": 2, "duration": 10, "bound": 100, **plan}), self.now)

    def step(self, seconds: float = 0.0) -> None:
        """Advances the clock. Agents on hosts that are not in `dead` reply."""
        end = self.now + seconds
        while True:
            for host, message in self.conductor.take_outbox():
                if host not in self.dead:
                    self._answer(host, message)
            self.conductor.tick(self.now)
            if self.now >= end:
                break
            self.now = min(end, self.now + 0.5)

    def until(self, time: float) -> None:
        """Advances the clock to `time`, and delivers the messages that the conductor sends at that time."""
        self.step(time - self.now)
        self.step()

    def _answer(self, host: str, message: dict[str, Any]) -> None:
        if message["do"] == "ping":
            host_time = (self.now + 0.0005 + AHEAD[host]) * 1e9
            self.say(host, "pong", 0.001, sent=self.now, time=host_time)
            return
        self.requests.setdefault(host, []).append(message["do"])
        if message["do"] == "begin":
            self.say(host, "hello", servers=[])
        elif message["do"] == "start":
            self.starts[host] = message
        elif message["do"] == "finish":
            self.say(host, "finished", cpu=3.0, memory=400.0)

    def say(self, host: str, kind: str, after: float = 0.0, **fields: Any) -> None:
        self.now += after
        self.conductor.heard(host, {"is": kind, **fields}, self.now)

    def ready(self) -> Self:
        """Makes all clients ready, so that the conductor sets the time of their start."""
        for _ in range(READINGS + 2):
            self.step()
        for host in ("host1", "host2"):
            self.say(host, "ready")
        self.step()
        self.step()
        return self

    def end(
        self, host: str, code: int = 0, skew: float = 0.1, finished: float = 12000.0, output: str = "", **also: Any
    ) -> None:
        agreed = round(self.starts[host]["at"] * 1000) if host in self.starts else None
        summary = {"agreed_start_ms": agreed, "skew_ms": skew, "finished_ms": finished, **also}
        self.say(host, "ended", exit=code, words=output, at=self.now + AHEAD[host], summary=summary)

    def valid_end(self) -> dict[str, Any]:
        """Ends both clients, and returns the report of the run, which must be valid."""
        for host in ("host1", "host2"):
            self.end(host)
        outcome = self.last_report()
        assert outcome["valid"], outcome["failure"]
        return outcome

    def last_report(self) -> dict[str, Any]:
        """Delivers the last messages, and returns the report of the run, which must be over."""
        self.step()
        self.step()
        assert self.conductor.over
        return self.report()

    def report(self, limit: float = 10) -> dict[str, Any]:
        outcome: dict[str, Any] = report(self.conductor, limit, measured=True)
        return outcome
