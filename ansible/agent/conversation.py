"""Executes the controller's commands on a host during one load or run (docs/clients.md).

The action plugin conduct starts this program over one connection per host. Both sides write JSON lines. The program starts
the client, passes the agreed times to it, and reports its readiness, its end, and new lines of its logs. It also reports
which server processes of the database ended, and the processor time and memory that they used in the measured window. The
client must not keep running if the controller dies or the network fails. The program therefore stops the client at the end
of the input, or after HEARTBEAT seconds without a ping.

In:   {"do": "ping", "sent": …}                 reply with pong
      {"do": "begin", "tool", "servers", "faults", "lane", "client"}    find the servers and prepare the client:
         servers, faults      name of the system, or ""; folder with the faults prepared on this host, or ""
         lane                 role of the trial's system if trials of several systems take turns on the hosts, otherwise ""
         client               {"name", "folder", "properties", "secrets", "secret_properties", "command", "paused"}, or null
         properties, secrets  text of client.properties; path of the file for secret_properties, which the client reads once
         paused               folder of a paused client, which then continues; "" to start a new client
      {"do": "launch"}                          start the client
      {"do": "start", "at": s, "window": [s, s or null], "compilers": bool}      start time and measured window, on this
                                                host's clock; whether to report the JIT compilers' time until the window
      {"do": "measure", "window": [s, s or null]}           new window, which begins earlier because the warm-up has ended
      {"do": "readback"}                        make the client read its records back, now that all faults are undone
      {"do": "stop"}                            stop the client
      {"do": "finish"}                          report what the servers used, and end
Out:  pong, hello, ready, compilers, log, ended, server, fault, finished; comments at the calls of `_send` describe the fields.
"""

import contextlib
import json
import os
import select
import sys
from pathlib import Path

import proc
from client import Client, whole_lines
from processes import ENDED, AgentError
from servers import Compilers, Servers

LOOK = 0.2  # seconds between two checks of processes
LOOK_CLOSELY = 0.02  # seconds between two checks while an event is expected
BACKLOG = 16 * 1024 * 1024  # number of unsent bytes above which the connection counts as broken


class GoneError(Exception):
    """Raised if the connection to the controller was lost or the controller requested the end."""


class Faults:
    """Passes the measured window to faults.py, and reports to the controller which faults faults.py has executed."""

    def __init__(self, send, servers, folder):
        self._send = send
        self._servers = servers
        self._folder = Path(folder)
        self._read = 0  # number of bytes already read from done.jsonl
        # The clock may differ after a boot, so a window that was written before is invalid.
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
            event = json.loads(line)
            if event.get("kind") == "start":
                self._servers.find()
            # `done` is an event with times on this host's clock; the last one says when all servers were ready (see faults.py).
            self._send("fault", done=event)


class Agent:
    """Executes the controller's messages, watches the processes, and reports their events."""

    def __init__(self, processes):
        self._processes = processes
        self._clock = processes.clock
        self._received = b""
        self._unsent = b""
        self._heard = self._clock.monotonic()
        self._client = None
        self._servers = None
        self._compilers = None
        self._faults = None

    def serve(self):
        os.set_blocking(sys.stdout.fileno(), False)
        # Begin with a line break, because the login shell may have printed text that does not end with one.
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
        now = self._clock.monotonic()
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
        self._heard = self._clock.monotonic()
        # `time` is in nanoseconds since 1970, on this host's clock.
        self._send("pong", sent=sent, time=self._clock.time_ns())

    def _do_begin(self, tool, client, servers, faults="", lane=""):
        # This pid file makes the host's sampler count this process as one of Dohyo's.
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
        """Restarts the host's sampler if a power cut ended it."""
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
            parts = [part for part in (self._client, self._servers) if part is not None]
            self._compilers = Compilers(self._send, parts, self._clock)
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
            self._client.tell("readback", self._clock.time())

    def _do_stop(self):
        self._client.stop()

    def _do_finish(self):
        self._servers.finish()
        end = self._clock.monotonic() + 5
        while self._unsent and self._clock.monotonic() < end:
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
