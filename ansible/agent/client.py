"""Starts, watches and stops the benchmark client on this host."""

import contextlib
import json
import os
from pathlib import Path

import proc
from processes import KILL, LONGEST_EXIT, LONGEST_START, TERM, AgentError
from servers import Process

STOP = 10  # seconds that a client may take to write its measurements and end
FORWARD = 1.0  # seconds between two reads of the logs, to which the client writes once per second
FORWARDED = ("*.hdr", "warmup.txt", "readback.txt")  # logs that are sent to the controller
CHUNK = 256 * 1024  # bytes of a log per message


class Client:
    """Runs the benchmark client on this host, from its launch to its end."""

    def __init__(self, processes, send, name, folder, properties, secrets, secret_properties, command, paused=""):
        self._processes = processes
        self._send = send
        self._name = name
        self._folder = Path(folder)
        self._secrets = Path(secrets)
        self._command = command
        self._paused = Path(paused) if paused else None
        # The folder becomes evidence, so the secrets are stored outside it. They are removed once the client has read them.
        write_private(self._folder / "client.properties", properties, 0o755)
        if not paused:
            write_private(self._secrets, secret_properties, 0o711)
        self._has_begun = None  # function that returns whether the client has started; None unless a start is under way
        self._process = None
        self._ready = self._stopping = self._ended = False
        self._patience = 0.0  # deadline for a start, a stop or an exit code, according to clock.monotonic()
        self._gone_at = None  # time at which the client's end was noticed, in seconds since 1970
        self._read = {}  # number of bytes already read from each log
        self._next_forward = 0.0

    @property
    def processes(self):
        """List that contains the client's process. It is empty before the start."""
        return [self._process] if self._process is not None else []

    @property
    def is_awaited(self):
        """Whether the client is starting or ending. Its process should then be checked more often."""
        is_starting = self._process is not None and not self._ready
        return not self._ended and (self._has_begun is not None or is_starting or self._gone_at is not None)

    def launch(self):
        if self._paused is not None:
            self._go_on()
            return
        try:
            self._has_begun = self._processes.begin(self._name, str(self._folder), "result.txt", "status.txt", *self._command)
            self._patience = self._processes.clock.monotonic() + LONGEST_START
        except (AgentError, OSError) as failure:
            self._report_end(None, f"ERROR: {failure}")

    def _go_on(self):
        """Tells a client, which paused after its previous window, to begin the next window."""
        self._process = Process(*(proc.read_pid(self._processes.path(self._name, "pid")) or (0, 0)))
        self._processes.link_log(self._name, str(self._folder / "status.txt"))
        proc.write(self._paused / "next", f"{self._folder}\n")

    def tell(self, file, moment):
        """Writes a time to the file `start`, `measure` or `readback`, for which the client waits."""
        proc.write(self._folder / file, f"{round(moment * 1000)}\n")

    def stop(self):
        """Begins to stop the client. `look` reports the end of the client later."""
        self._stopping = True

    def stop_now(self):
        """Stops the client and waits until all of its processes have ended."""
        if self._ended:
            return
        if self._has_begun is not None:
            with contextlib.suppress(AgentError):
                proc.waited(self._has_begun, LONGEST_START, self._processes.clock)
        self._secrets.unlink(missing_ok=True)
        self._processes.stop(self._name, STOP)

    def look(self, now):
        if self._ended:
            return
        if self._has_begun is not None:
            self._look_at_start(now)
        elif self._process is None:
            if self._stopping:
                self._report_end(None, f"{self._name} was not started")
        else:
            self._look_at_process(now)
            if now >= self._next_forward:
                self._next_forward = now + FORWARD
                self._forward()

    def _look_at_start(self, now):
        try:
            if self._has_begun():
                self._has_begun, self._patience = None, 0.0
                self._process = Process(*proc.read_pid(self._processes.path(self._name, "pid")))
            elif now > self._patience:
                raise AgentError(f"{self._name} was not started within {LONGEST_START} s")
        except AgentError as failure:
            self._report_end(None, f"ERROR: {failure}")

    def _look_at_process(self, now):
        self._process.look()
        if not self._process.alive:
            self._look_at_end(now)
        elif (self._folder / "paused").exists():
            # The client has written its results and keeps its connections open for the next window.
            self._report_end(0, "")
        elif self._stopping:
            if not self._patience:
                self._patience = now + STOP
                self._processes.ask_to_end(self._name, self._processes.marked(self._name), TERM)
            elif now > self._patience:
                proc.send(KILL, self._processes.marked(self._name))
        elif not self._ready and (self._folder / "ready").exists():
            self._ready = True
            self._secrets.unlink(missing_ok=True)
            # The client is connected and waits for the start time.
            self._send("ready")

    def _look_at_end(self, now):
        if self._gone_at is None:
            self._gone_at, self._patience = self._processes.clock.time(), now + LONGEST_EXIT
        if self._processes.is_over(self._name) or now > self._patience:
            code, message = self._processes.exit_code(self._name), self._processes.how_it_ended(self._name, 0)
            self._report_end(1 if code is None else code, "" if code == 0 else message)

    def _forward(self):
        for log in sorted(path for name in FORWARDED for path in self._folder.glob(name)):
            with log.open("rb") as file:
                file.seek(self._read.get(log, 0))
                # Send only whole lines, because the controller parses the log while it grows.
                while whole := whole_lines(file.read(CHUNK)):
                    self._read[log] = self._read.get(log, 0) + len(whole)
                    file.seek(self._read[log])
                    # Latin-1 preserves every byte, even of binary data.
                    self._send("log", file=log.name, text=whole.decode("latin-1"))

    def _report_end(self, code, message):
        self._ended = True
        moment = self._gone_at or self._processes.clock.time()
        self._secrets.unlink(missing_ok=True)
        self._forward()
        if code is not None:
            (self._folder / "exit").write_text(f"{code}\n")
        try:
            wrote = json.loads((self._folder / "client.json").read_text("utf-8"))
        except (OSError, ValueError):
            wrote = {}
        summary = {key: wrote.get(key) for key in ("agreed_start_ms", "skew_ms", "finished_ms", "inserted")}
        # `exit` is null if the client never ran; `at` is a time on this host's clock. `summary` contains the times and the number
        # of inserted keys that the client reported.
        self._send("ended", exit=code, words=message, at=moment, summary=summary)


def write_private(file, text, folder_mode):
    """Writes a file that only its owner can read. Creates the file's folder if it is missing, and sets the folder's mode."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.parent.chmod(folder_mode)
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as output:
        output.write(text)


def whole_lines(data):
    return data[: data.rfind(b"\n") + 1]
