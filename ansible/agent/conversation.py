"""The conversation with the controller during one load or run (docs/clients.md).

The action plugin conduct starts it over one connection per host and talks with it in JSON lines. It starts the
host's client, reports when that is ready, writes the agreed instants into its gate, and forwards new lines of its logs.
At the end it reports how the client ended. It also reports which of a database's server processes ended, and what they used in the measured
window. Nothing may keep running when the controller dies or the network breaks. The end of the input, or HEARTBEAT
seconds without a ping, stop the client.

In:   {"do": "ping", "sent": …}                 answer at once
      {"do": "begin", "tool", "servers", "faults", "lane", "client"}    find the servers and prepare the client:
         servers, faults      name of the system; folder of the faults that were prepared on this host; each may be ""
         lane                 role of the trial's system if other systems' trials take turns with it, otherwise ""
         client               {"name", "folder", "properties", "secrets", "secret_properties", "command", "paused"}, or null
         properties, secrets  text of client.properties; file for secret_properties, removed when the client has read it
         paused               folder in which the client pauses, which then goes on instead of being started; otherwise ""
      {"do": "launch"}                          start the client
      {"do": "start", "at": s, "window": [s, s or null], "compilers": bool}      instants of this host's clock, measured
                                                window, and whether to report until then what JIT compilers use
      {"do": "measure", "window": [s, s or null]}           the window begins earlier: the warm-up is over
      {"do": "readback"}                        all faults are undone: the client may read its records back
      {"do": "stop"}                            stop the client
      {"do": "finish"}                          say what the servers used, and end
Out:  pong, hello, ready, compilers, log, ended, server, fault, finished; each is described where it is sent.
"""

import contextlib
import json
import os
import select
import sys
import time
from pathlib import Path

import proc
from client import Client, whole_lines
from processes import ENDED, AgentError
from servers import Compilers, Servers

LOOK = 0.2  # seconds between two checks of processes
LOOK_CLOSELY = 0.02  # seconds between two checks while an event is expected
BACKLOG = 16 * 1024 * 1024  # unsent bytes above which a connection counts as broken


class GoneError(Exception):
    """The controller is gone, or has asked for the end."""


class Faults:
    """Faults on this host's servers: tells faults.py the measured window, and reports what faults.py has done."""

    def __init__(self, send, servers, folder):
        self._send = send
        self._servers = servers
        self._folder = Path(folder)
        self._read = 0  # bytes of done.jsonl that were read
        # After a boot, an earlier window is one of another clock.
        (self._folder / "window").unlink(missing_ok=True)
        proc.write_pid(self._folder / "agent", os.getpid())

    def measure(self, window):
        proc.write(self._folder / "window", f"{window[0]} {window[1]}\n")

    def look(self):
        with (self._folder / "done.jsonl").open("rb") as file:
            file.seek(self._read)
            whole = whole_lines(file.read())
        self._read += len(whole)
        for line in whole.splitlines():
            done = json.loads(line)
            if done.get("kind") == "start":
                self._servers.find()
            # Event, and its times by this host's clock; the last one says whether all servers are ready again (format: faults.py).
            self._send("fault", done=done)


class Agent:
    """Reads the controller's messages, watches the processes, and sends what it sees."""

    def __init__(self, processes):
        self._processes = processes
        self._received = b""
        self._unsent = b""
        self._heard = time.monotonic()
        self._client = None
        self._servers = None
        self._compilers = None
        self._faults = None

    def serve(self):
        os.set_blocking(sys.stdout.fileno(), False)
        # The login shell may have printed a line without an end.
        self._unsent = b"\n"
        try:
            while True:
                self._turn()
        except GoneError:
            pass
        finally:
            if self._client is not None:
                self._client.stop_now()

    def _turn(self):
        closely = self._client is not None and self._client.is_awaited
        readable, writable, _ = select.select([sys.stdin], [sys.stdout] if self._unsent else [], [], LOOK_CLOSELY if closely else LOOK)
        if writable:
            self._flush()
        if readable:
            self._receive()
        now = time.monotonic()
        if now - self._heard > proc.HEARTBEAT:
            raise GoneError
        if self._faults is not None:
            self._faults.look()
        if self._servers is not None:
            self._servers.look()
        if self._client is not None:
            self._client.look(now)
        if self._compilers is not None:
            self._compilers.look()

    def _receive(self):
        fresh = os.read(sys.stdin.fileno(), 65536)
        if not fresh:
            raise GoneError
        *lines, self._received = (self._received + fresh).split(b"\n")
        for line in lines:
            message = json.loads(line)
            getattr(self, "_do_" + message.pop("do"))(**message)

    def _do_ping(self, sent):
        self._heard = time.monotonic()
        # Time: nanoseconds since 1970 by this host's clock.
        self._send("pong", sent=sent, time=time.time_ns())

    def _do_begin(self, tool, client, servers, faults="", lane=""):
        # The sampler of the host counts this process as ours.
        folder = self._processes.path(proc.in_lane("agent", lane))
        os.makedirs(folder, exist_ok=True)
        proc.write_pid(os.path.join(folder, "pid"), os.getpid())
        self._servers = Servers(self._processes, self._send, servers)
        if faults:
            self._sample_again()
        self._client = Client(self._processes, self._send, **client) if client else None
        self._faults = Faults(self._send, self._servers, faults) if faults else None
        self._send("hello", servers=self._servers.names)

    def _sample_again(self):
        """Starts the host's sampler again if it ended with the host's power."""
        if self._processes.status("host-metrics")[1] == ENDED:
            with contextlib.suppress(AgentError):
                self._processes.again("host-metrics")

    def _do_launch(self):
        self._client.launch()

    def _do_start(self, at, window, compilers):
        if self._client is not None:
            self._client.tell("start", at)
        self._measure(window)
        if compilers:
            self._compilers = Compilers(self._send, [part for part in (self._client, self._servers) if part is not None])
            self._compilers.watch(window[0])

    def _do_measure(self, window):
        if self._client is not None:
            self._client.tell("measure", window[0])
        self._measure(window)
        self._compilers.watch(window[0])

    def _measure(self, window):
        self._servers.measure(window)
        if self._faults is not None:
            self._faults.measure(window)

    def _do_readback(self):
        if self._client is not None:
            self._client.tell("readback", time.time())

    def _do_stop(self):
        self._client.stop()

    def _do_finish(self):
        self._servers.finish()
        end = time.monotonic() + 5
        while self._unsent and time.monotonic() < end:
            select.select([], [sys.stdout], [], 1)
            self._flush()
        raise GoneError

    def _send(self, kind, **fields):
        self._unsent += json.dumps({"is": kind, **fields}).encode() + b"\n"
        self._flush()

    def _flush(self):
        try:
            self._unsent = self._unsent[os.write(sys.stdout.fileno(), self._unsent) :]
        except BlockingIOError:
            if len(self._unsent) > BACKLOG:
                raise GoneError from None
        except OSError:
            raise GoneError from None
