"""Decides what the clients of one load or run do, and when. Its input is messages and times; its output is messages.

Times are in seconds of the controller's clock, which is never stepped (agents.py). Hosts' times are converted to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .clock import HostClock, Reading
from .warmup import LEAST, LOG, MOST_COMPILING, Progress, compiling, is_steady

Message = dict[str, Any]

# Number of clock readings, each a round trip, before clients may begin; they take about 10 ms in a local network. If
# the error is still too large, because processors are busy, the readings continue up to a maximum.
READINGS = 20
GOOD_ENOUGH_SECONDS = 0.0005
MOST_READINGS = 200
# Seconds between two pings, which also show an agent that its controller is still running.
PING_SECONDS = 1.0
# Seconds without an answer to a ping after which a host counts as vanished.
SILENCE_SECONDS = 10.0
# Timeout for connecting to a host and starting Python there, in seconds.
CONNECT_SECONDS = 30.0
# Seconds to wait for clients to end after the message to stop; the agent kills them after 10 s.
STOP_SECONDS = 14.0
# Seconds to wait for the agents' last messages.
FINISH_SECONDS = 5.0
# Seconds until a single client begins, so that it notices its start file in time.
ALONE_SECONDS = 0.2
# Seconds between two attempts to connect to a host that boots.
RECONNECT_SECONDS = 1.0
# Maximum seconds by which the recorded end of a server process may precede the fault that caused it.
TOGETHER_SECONDS = 1.0
# Maximum difference between the rates of a host's clock and the controller's, as a share of the time, plus seconds. A
# clock that moved by more was set, or slewed by chrony (up to 1/12, its maxslewrate). The host's records are then at
# the wrong time of the run.
MOST_DRIFT, MOST_DRIFT_SECONDS = 0.0005, 0.1
# Minimum seconds from the decision to end the warm-up until the window starts: busy hosts learn of it with a delay.
NOTICE_SECONDS = 1.0


@dataclass(frozen=True)
class Plan:
    """Plan of one load or run. Times are in seconds.

    :ivar agents: first message to each agent, by host: ``tool``, ``client`` (None without one), ``servers``
    :ivar start_delay: time from the readiness of the last of several clients to their common start, which all must know
    :ivar launch_interval: time between the launches of two clients
    :ivar warmup: time from the common start to the measured window
    :ivar steady: whether the window may begin before `warmup` is over, once rate and JIT compilers are steady
    :ivar duration: length of the measured window; None if clients end after a number of operations
    :ivar bound: time after the common start by which a client must have ended
    :ivar patience: time without an answer to a ping after which a host counts as vanished
    :ivar silence: time without new lines in a client's logs, in the window, after which the client counts as hung
    :ivar faults: faults in the order of their times, each with ``kind``, ``target``, ``at``, ``hosts``, …; all but
        ``power`` are prepared on the hosts
    :ivar undo: time after the window for undoing faults and for the servers to become ready
    :ivar boot: time for a host to answer after it was powered on; may be a part of `undo`
    """

    agents: Mapping[str, Message]
    ready_timeout: float = 120
    start_delay: float = 2
    launch_interval: float = 0
    warmup: float = 0
    steady: bool = False
    duration: float | None = None
    bound: float = 21600
    patience: float = SILENCE_SECONDS
    silence: float = 30
    faults: Sequence[Message] = ()
    undo: float = 420
    boot: float = 600


@dataclass
class Client:
    """The client on one host.

    :ivar state: waiting, launched, ready, running, and finally ended, failed, vanished or stopped
    :ivar started: actual start time
    :ivar finished: time of the reply to its last operation; None until reported
    :ivar time: time at which its end was noticed
    :ivar inserted: number of keys that it used for new records in this and earlier runs; None until reported
    """

    state: str = "waiting"
    exit: int | None = None
    reason: str = ""
    started: float | None = None
    finished: float | None = None
    time: float | None = None
    inserted: int | None = None
    launched: float = 0.0
    grew: float = 0.0

    @property
    def is_active(self) -> bool:
        """Whether the client's process may be running."""
        return self.state in ("launched", "ready", "running")

    @property
    def is_over(self) -> bool:
        """Whether the client has reached a final state."""
        return self.state in ("ended", "failed", "vanished", "stopped")


@dataclass
class Node:
    """The servers on one host.

    :ivar state: ran, ended (at least one process ended, and no fault caused that) or vanished
    :ivar time: time at which this state was noticed
    :ivar down: time at which a fault took the servers down; None while they are up
    """

    state: str = "ran"
    time: float | None = None
    reason: str = ""
    cpu: float | None = None
    memory: float | None = None
    down: float | None = None


@dataclass
class Host:
    """A host with a client, servers, or both.

    :ivar power: on, off (or being switched off), starting (the power-on command is running), booting (no answer yet)
        or back (its clock is being read again)
    :ivar switched: time at which the host was last switched off or on
    :ivar attempt: time of the next attempt to connect to it
    :ivar was_off: whether the host was off in this run
    :ivar awaits_start: whether its servers have not been started since it was off
    """

    name: str
    client: Client | None
    node: Node | None
    heard: float
    clock: HostClock = field(default_factory=HostClock)
    reading: Reading | None = None  # clock offset when the start was agreed on
    jump: float = 0.0  # seconds by which its clock was set since then
    compilers: list[tuple[float, float]] = field(default_factory=list)  # times; processor seconds used by then
    greeted: bool = False
    lost: bool = False
    finished: bool = False
    pinged: float = 0.0
    power: str = "on"
    switched: float = 0.0
    attempt: float | None = None
    was_off: bool = False
    awaits_start: bool = False
    has_faults: bool = False  # whether faults are prepared on the host
    effects: list[Message] = field(default_factory=list)  # faults that the host has executed
    whole: list[float | None] = field(default_factory=list)  # times when its servers were ready again after faults


class Conductor:
    """Conducts a phase. Until `over`, call `heard`, `lost` and, often, `tick`; send what `take_outbox` returns."""

    def __init__(self, plan: Plan, now: float) -> None:
        self.plan = plan
        self.hosts = {
            name: Host(name, Client() if begin["client"] else None, Node() if begin["servers"] else None, heard=now)
            for name, begin in plan.agents.items()
        }
        for name, begin in plan.agents.items():
            self.hosts[name].has_faults = bool(begin.get("faults"))
        self.agreed: float | None = None
        self.measure: float | None = None  # start of the window
        self.steady: bool | None = None  # whether the rate was steady then; None if not requested or unknown
        self.compiling: float | None = None  # number of processors that JIT compilers used then, on the busiest host
        self.failure = ""
        self.events: list[tuple[float, str, str]] = []  # time, host, description
        self.over = False
        self._outbox: list[tuple[str, Message]] = []
        self._began = now
        self._deadline: float | None = None  # for stopping, or for the agents' last messages
        self._finishing = False
        self._next_launch = now
        self._progress = Progress(self._clients())
        self._judged = 0  # number of seconds already checked for steadiness
        self._switched: set[int] = set()  # indexes of the power faults that have begun
        self._undone = not any(host.has_faults for host in self.hosts.values())
        for name, begin in plan.agents.items():
            self._send(name, "begin", **begin)
            self._ping(self.hosts[name], now)

    def take_outbox(self) -> list[tuple[str, Message]]:
        """Returns the messages to send, each with its host, and empties the outbox."""
        messages, self._outbox = self._outbox, []
        return messages

    # ---- Events ----

    def heard(self, name: str, message: Message, now: float) -> None:
        """Handles a message from a host's agent."""
        host = self.hosts[name]
        if host.lost:
            return
        host.heard = now
        match message["is"]:
            case "pong":
                self._clock_read(host, message, now)
            case "hello":
                self._greeted(host, now)
            case "ready":
                if host.client is not None and host.client.state == "launched":
                    host.client.state = "ready"
            case "compilers":
                host.compilers.append((message["at"], message["used"]))
            case "log":
                self._log_grew(host, message, now)
            case "ended":
                self._client_ended(host, message, now)
            case "server":
                self._server_ended(host, message)
            case "fault":
                self._fault_done(host, message["done"])
            case "finished":
                self._finished(host, message)

    def lost(self, name: str, reason: str, now: float) -> None:
        """Handles the loss of the connection to a host."""
        host = self.hosts[name]
        if host.lost or host.finished or host.power in ("off", "starting"):
            return
        if host.power in ("booting", "back") and now - host.switched < self.plan.boot:
            host.power, host.attempt = "booting", now + RECONNECT_SECONDS
            return
        host.lost = True
        if not host.greeted:
            description = f"no agent could be started on {name}: {reason}"
        else:
            description = f"{name} vanished{self._when(host.heard)}: {reason}"
        self.events.append((host.heard, name, description))
        if host.node is not None and host.node.state == "ran":
            host.node.state, host.node.time, host.node.reason = "vanished", host.heard, description
        if host.client is not None and not host.client.is_over:
            host.client.state, host.client.time, host.client.reason = "vanished", host.heard, description
        # A host with only servers may vanish during a run: how the other hosts continue without it is a result.
        if host.client is not None or self.agreed is None:
            self.fail(description, now)

    def switched(self, name: str, on: bool, began: float, ended: float, error: str | None) -> None:
        """Handles the end of the command that switched a host on or off; `error` says why it failed, or is None."""
        host = self.hosts[name]
        action = "power on" if on else "power off"
        if not on:
            offset = self._offset(host)
            times = {"began": began + offset, "done": None if error else ended + offset}
            self._note_fault(
                host, {"n": self._last_power(name), "kind": "power", **times, "what": action, "error": error}
            )
            if error:
                host.power, host.heard, host.awaits_start = "on", ended, False
                if host.node is not None:
                    host.node.down = None
        elif error and host.power == "starting":
            host.power, host.switched = "booting", -self.plan.boot  # so that nothing waits for its boot
            self.lost(name, f"{action} failed: {error}", ended)
        elif host.power == "starting":
            self.events.append((began, name, f"fault: {action}"))
            # Connect only now: an agent from an earlier connection might overwrite the new agent's pid file.
            host.power, host.attempt = "booting", ended

    def fail(self, reason: str, now: float) -> None:
        """Records why the phase failed, and stops all clients."""
        if self.failure:
            return
        self.failure = reason
        self._deadline = now + STOP_SECONDS
        for host in self.hosts.values():
            client = host.client
            if client is not None and client.is_active:
                self._send(host.name, "stop")
            elif client is not None and client.state == "waiting":
                client.state = "stopped"

    def tick(self, now: float) -> None:
        """Makes the decisions that depend on time; must be called at least ten times per second."""
        for host in self._living():
            silent = now - host.heard
            if not host.greeted and silent > CONNECT_SECONDS:
                self.lost(host.name, f"it has sent nothing for {silent:.0f} s", now)
            elif host.greeted and silent > self.plan.patience:
                self.lost(host.name, f"no answer for {silent:.0f} s (powered off, hung, or cut off)", now)
            elif now - host.pinged >= PING_SECONDS:
                self._ping(host, now)
        for host in self.hosts.values():
            if host.power == "booting" and not host.lost:
                self._await_boot(host, now)
        if not self.failure and not self._finishing:
            if self.agreed is None:
                self._prepare(now)
            else:
                self._watch(now)
        self._conclude(now)

    # ---- Steps ----

    def _prepare(self, now: float) -> None:
        """Launches clients on hosts that have answered, and sets the common start when all are ready."""
        for host in self._living():
            client = host.client
            if client is None or not host.greeted:
                continue
            if client.state == "waiting" and now >= self._next_launch:
                self._next_launch = now + self.plan.launch_interval
                client.state, client.launched = "launched", now
                self._send(host.name, "launch")
            elif client.state == "launched" and now - client.launched > self.plan.ready_timeout:
                self.fail(f"the client on {host.name} is not ready after {self.plan.ready_timeout:.0f} s", now)
                return
        if all(
            host.greeted and host.clock.count >= READINGS and (host.client is None or host.client.state == "ready")
            for host in self.hosts.values()
        ):
            self._agree(now)

    def _agree(self, now: float) -> None:
        self.agreed = now + max(self.plan.start_delay if len(self._clients()) > 1 else 0, ALONE_SECONDS)
        self.measure = self.agreed + self.plan.warmup
        for host in self._living():
            self._start(host)
            if host.client is not None:
                host.client.state, host.client.grew = "running", self.measure

    def _start(self, host: Host) -> None:
        assert self.agreed is not None  # noqa: S101 - for the type checker
        host.reading = host.clock.best
        offset = host.reading.offset
        window = self._window(offset)
        self._send(host.name, "start", at=self.agreed + offset, window=window, compilers=self.plan.steady)

    def _window(self, offset: float) -> list[float | None]:
        assert self.measure is not None  # noqa: S101 - for the type checker
        begin = self.measure + offset
        return [begin, begin + self.plan.duration if self.plan.duration is not None else None]

    def _warm_up(self, now: float) -> None:
        """Begins the window early when the rate is steady and JIT compilers are nearly idle."""
        assert self.agreed is not None  # noqa: S101 - for the type checker
        assert self.measure is not None  # noqa: S101 - for the type checker
        latest = self.agreed + self.plan.warmup
        if not self.plan.steady or self.measure < latest or now >= latest or self._progress.seconds <= self._judged:
            return
        self._judged = self._progress.seconds
        if self._judged >= LEAST:
            self.compiling = max(compiling(host.compilers) for host in self.hosts.values())
            self.steady = self.compiling <= MOST_COMPILING and is_steady(self._progress.rates())
        soon = now + max(NOTICE_SECONDS, self.plan.start_delay if len(self._clients()) > 1 else 0)
        if not self.steady or soon >= latest:
            return
        self.measure = soon
        for host in self._living():
            if host.reading is not None:
                self._send(host.name, "measure", window=self._window(host.reading.offset))
            if host.client is not None:
                host.client.grew = soon

    def _watch(self, now: float) -> None:
        assert self.agreed is not None  # noqa: S101 - for the type checker
        self._warm_up(now)
        self._switch(now)
        self._read_back(now)
        for host in self._living():
            client = host.client
            if client is None or client.state != "running":
                continue
            if now > self.agreed + self.plan.bound:
                self.fail(f"the client on {host.name} is still running {now - self.agreed:.0f} s after the start", now)
            elif now - client.grew > self.plan.silence:
                self.fail(f"the client on {host.name} hangs: it has sent no report since{self._when(client.grew)}", now)

    def _switch(self, now: float) -> None:
        """Switches hosts off and on at the planned times, and all hosts on at the end of the window."""
        assert self.measure is not None  # noqa: S101 - for the type checker
        for number, fault in enumerate(self.plan.faults):
            if number not in self._switched and now >= self.measure + fault["at"]:
                self._switched.add(number)
                for name in fault["hosts"]:
                    if fault["kind"] == "power":
                        self._turn_off(self.hosts[name], number, now)
                    elif fault["kind"] == "start" and self.hosts[name].power == "off":
                        self._turn(self.hosts[name], "starting", now)
        for host in self.hosts.values():
            if host.power == "off" and now >= self.measure + (self.plan.duration or 0.0):
                self._turn(host, "starting", now)

    def _turn_off(self, host: Host, number: int, now: float) -> None:
        if host.power == "on":
            self._turn(host, "off", now)
        else:
            entry = {"began": None, "done": None, "what": None, "error": "no answer since it was switched on"}
            self._note_fault(host, {"n": number, "kind": "power", **entry})

    def _turn(self, host: Host, power: str, now: float) -> None:
        host.power, host.switched, host.attempt = power, now, None
        if power == "off":
            host.was_off = host.awaits_start = True
            if host.node is not None:
                host.node.down = now
        self._send(host.name, "power", on=power == "starting")

    def _await_boot(self, host: Host, now: float) -> None:
        waited = now - host.switched
        if waited > self.plan.boot:
            self.lost(host.name, f"it still does not answer, {waited:.0f} s after it was switched on", now)
        elif host.attempt is not None and now >= host.attempt:
            host.attempt = None
            self._send(host.name, "connect")
            self._send(host.name, "begin", **self.plan.agents[host.name])

    def _last_power(self, name: str) -> int:
        """Returns the index in the plan of the last fault that switched the host off."""
        faults = self.plan.faults
        return max(n for n in self._switched if faults[n]["kind"] == "power" and name in faults[n]["hosts"])

    def _read_back(self, now: float) -> None:
        """Lets clients read back their records when all faults have been undone, or can no longer be undone."""
        if self._undone:
            return
        assert self.measure is not None  # noqa: S101 - for the type checker
        late = now > self.measure + (self.plan.duration or 0.0) + self.plan.undo
        if late or all(host.whole or host.lost or not host.has_faults for host in self.hosts.values()):
            self._undone = True
            for host in self._living():
                if host.client is not None:
                    self._send(host.name, "readback")

    def _conclude(self, now: float) -> None:
        """Requests the agents' last messages when all clients have ended; ends when all have arrived or are late."""
        clients = self._clients().values()
        if not self._finishing and all(client.is_over for client in clients) and (self._undone or self.failure):
            self._finishing = True
            self._deadline = now + FINISH_SECONDS
            for host in self._living():
                self._send(host.name, "finish")
        late = self._deadline is not None and now > self._deadline
        if self._finishing:
            self.over = late or all(host.finished or host.lost for host in self.hosts.values())
        elif late:
            for name, client in self._clients().items():
                if not client.is_over:
                    client.state, client.reason = "stopped", f"{name} did not report that its client ended"
            self.over = True

    def _clock_read(self, host: Host, message: Message, now: float) -> None:
        host.clock.add(message["sent"], message["time"] / 1e9, now)
        latest = host.clock.latest
        # A clock may be set soon after a boot (docs/faults.md).
        if host.reading is not None and self.agreed is not None and not host.was_off:
            moved = latest.offset - host.reading.offset
            drift = MOST_DRIFT_SECONDS + MOST_DRIFT * max(now - self.agreed, 0.0)
            if abs(moved) > latest.error + host.reading.error + drift:
                host.jump = max(host.jump, moved, key=abs)
        if self._reads_on(host):
            self._ping(host, now)
        elif host.power == "back":
            host.power = "on"
            self._start(host)

    def _greeted(self, host: Host, now: float) -> None:
        host.greeted = True
        if host.power == "booting":
            host.power, host.clock = "back", HostClock()
            self._ping(host, now)

    def _client_ended(self, host: Host, message: Message, now: float) -> None:
        client = host.client
        if client is None or client.is_over:
            return
        offset = host.clock.best.offset
        client.exit, client.time = message["exit"], message["at"] - offset
        times = message["summary"]
        client.inserted = times.get("inserted")
        if times["agreed_start_ms"] is not None:
            start = times["agreed_start_ms"] / 1e3 - (host.reading.offset if host.reading else offset)
            if times["skew_ms"] is not None:
                client.started = start + times["skew_ms"] / 1e3
            if times.get("finished_ms") is not None:
                client.finished = start + times["finished_ms"] / 1e3
        if self.failure:
            client.state = "stopped"
        elif message["exit"] == 0 and self.agreed is not None:
            client.state = "ended"
        else:
            client.state, client.reason = "failed", message["words"]
            self.events.append((client.time, host.name, f"its client failed: {message['words']}"))
            self.fail(f"the client on {host.name} failed: {message['words']}", now)

    def _log_grew(self, host: Host, message: Message, now: float) -> None:
        if host.client is not None:
            host.client.grew = max(host.client.grew, now)
            if message["file"] == LOG:
                self._progress.add(host.name, message["text"])

    def _finished(self, host: Host, message: Message) -> None:
        host.finished = True
        if host.node is not None:
            # The processor time that servers used before a boot is unknown.
            host.node.cpu, host.node.memory = None if host.was_off else message["cpu"], message["memory"]

    def _fault_done(self, host: Host, outcome: Message) -> None:
        if "whole" in outcome:
            host.whole.append(None if outcome["whole"] is None else outcome["whole"] - self._offset(host))
            return
        if outcome["n"] is not None and any(earlier["n"] == outcome["n"] for earlier in host.effects):
            return  # after a boot, an agent reports all faults again
        if outcome["kind"] == "start" and host.awaits_start:
            outcome = {**outcome, "began": host.switched + self._offset(host)}
        self._note_fault(host, outcome)

    def _note_fault(self, host: Host, outcome: Message) -> None:
        began = outcome["began"] - self._offset(host) if outcome["began"] is not None else None
        host.effects.append({**outcome, "at": began})
        description = outcome["what"] if outcome["error"] is None else f"{outcome['kind']} failed: {outcome['error']}"
        self.events.append((began if began is not None else host.heard, host.name, f"fault: {description}"))
        node = host.node
        if node is None or began is None:
            return
        if outcome["kind"] in ("kill", "stop"):
            node.down = began
            if node.state == "ended" and node.time is not None and node.time >= began - TOGETHER_SECONDS:
                node.state, node.time, node.reason = "ran", None, ""
        elif outcome["kind"] == "start" and outcome["error"] is None:
            node.down, host.awaits_start = None, False

    def _server_ended(self, host: Host, message: Message) -> None:
        if host.awaits_start:
            return  # the process ended when its host was switched off
        moment = message["at"] - self._offset(host)
        text = message["words"]
        self.events.append((moment, host.name, text))
        by_fault = host.node is not None and host.node.down is not None and moment >= host.node.down - TOGETHER_SECONDS
        if host.node is not None and host.node.state == "ran" and not by_fault:
            host.node.state, host.node.time = "ended", moment
            host.node.reason = f"{message['name']} on {host.name} ended{self._when(moment)}: {text}"

    # ---- Helpers ----

    def _reads_on(self, host: Host) -> bool:
        count = host.clock.count
        unsure = self.agreed is None and host.clock.best.error > GOOD_ENOUGH_SECONDS
        return count < READINGS or (unsure and count < MOST_READINGS)

    def _living(self) -> list[Host]:
        reached = (host for host in self.hosts.values() if host.power in ("on", "back"))
        return [host for host in reached if not host.lost and not host.finished]

    def _offset(self, host: Host) -> float:
        return (host.reading or host.clock.best).offset

    def _clients(self) -> dict[str, Client]:
        return {name: host.client for name, host in self.hosts.items() if host.client is not None}

    def _when(self, moment: float) -> str:
        return f" {moment - self.agreed:.1f} s after the start" if self.agreed is not None else " before the start"

    def _ping(self, host: Host, now: float) -> None:
        host.pinged = now
        self._send(host.name, "ping")

    def _send(self, name: str, verb: str, **fields: Any) -> None:
        self._outbox.append((name, {"do": verb, **fields}))
