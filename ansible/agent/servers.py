"""Watches the server processes of a database on this host during a load or run, and measures their processor time and memory."""

from os import sysconf
from pathlib import Path

import proc
from processes import LONGEST_EXIT

COMPILERS = ("C1 CompilerThre", "C2 CompilerThre", "JVMCI")  # prefixes of the names of HotSpot's compiler threads, from JDK 9 on
LOOK_AT_COMPILERS = 1.0  # seconds between two reads of the compiler threads
AT_THE_END = 5  # seconds to wait at the end until servers that have just ended are reported
TICKS = sysconf("SC_CLK_TCK")
PAGE = sysconf("SC_PAGE_SIZE")


class Process:
    """A process, identified by pid and start time, because the kernel reuses pids."""

    def __init__(self, pid, started=None):
        self.alive = True
        self.cpu = 0.0  # user and system time in seconds, including children that have ended
        self.memory = 0.0  # resident memory, in MiB
        self.pid = pid
        self._started = started
        self.look()

    def look(self):
        """Reads the processor time and memory of the process. After the process has ended, the last values remain."""
        fields = _stat(self.pid)
        if fields is None or fields[0] in (b"Z", b"X") or self._started not in (None, int(fields[19])):
            self.alive = False
            return
        self._started = int(fields[19])
        self.cpu = _used(fields)
        self.memory = int(fields[21]) * PAGE / 2**20

    def with_children(self):
        """Returns the processor seconds and MiB of the process and its children. PostgreSQL runs one process per connection.

        Shared memory, such as a cache, is counted once: the value of the process that uses most of it.
        """
        if not self.alive:
            return self.cpu, self.memory
        cpu, memory, shared = self.cpu, 0, 0
        for pid in [self.pid, *self._children()]:
            fields = _stat(pid)
            try:
                _, resident, common = map(int, proc.read(f"/proc/{pid}/statm").split()[:3])
            except (OSError, ValueError):
                continue
            cpu += 0 if pid == self.pid or fields is None else _used(fields)
            memory += resident - common
            shared = max(shared, common)
        return cpu, (memory + shared) * PAGE / 2**20

    def _children(self):
        for thread in Path(f"/proc/{self.pid}/task").glob("*/children"):
            try:
                yield from map(int, proc.read(thread).split())
            except OSError:
                pass

    def compilers(self):
        """Returns the processor seconds of each running JIT compiler thread."""
        seconds = {}
        for thread in Path(f"/proc/{self.pid}/task").glob("*"):
            try:
                name, _, fields = proc.read(thread / "stat").decode("ascii", "replace").rpartition(")")
            except OSError:
                continue
            if name.partition("(")[2].startswith(COMPILERS):
                seconds[thread] = sum(map(int, fields.split()[11:13])) / TICKS
        return seconds


def _stat(pid):
    try:
        return proc.stat(pid)
    except OSError:
        return None


def _used(fields):
    return sum(map(int, fields[11:15])) / TICKS


class Servers:
    """Watches the server processes of one system on this host."""

    def __init__(self, processes, send, system):
        self._of_host = processes
        self._send = send
        self._system = system
        self._processes = {}
        self._before = []  # processes that ended and were started again, with their last figures
        self._reported = set()
        self._ends = {}  # time at which the end of each process was noticed, in seconds since 1970
        self._window = None
        self._cpu = []  # processor seconds at the beginning and the end of the measured window
        self.find()

    def find(self):
        """Finds all processes of the system, including those that were started again since the last call."""
        for folder in sorted(Path(self._of_host.run).glob("*")) if self._system else []:
            if folder.is_dir() and (folder.name == self._system or folder.name.startswith(f"{self._system}-")):
                process = self._process(folder.name)
                previous = self._processes.get(folder.name)
                if process is None or (previous is not None and (previous.alive or not process.alive)):
                    continue
                if previous is not None:
                    self._before.append(previous)
                    self._reported.discard(folder.name)
                    self._ends.pop(folder.name, None)
                self._processes[folder.name] = process

    def _process(self, name):
        """Returns the process of that name, which may have ended, or None if it was not started."""
        if pid := self._of_host.pid(name):
            return Process(pid)
        # No process has pid 0, so this object counts as ended.
        return Process(0) if self._of_host.was_started(name) else None

    @property
    def names(self):
        return list(self._processes)

    @property
    def processes(self):
        return list(self._processes.values())

    def measure(self, window):
        self._window = window

    def look(self):
        for name, process in self._processes.items():
            process.look()
            if not process.alive and name not in self._reported:
                self._report(name)
        if self._window and self._processes and len(self._cpu) < 2:
            due = self._window[len(self._cpu)]
            if due is not None and self._of_host.clock.time() >= due:
                self._sample()

    def _report(self, name):
        moment = self._ends.setdefault(name, self._of_host.clock.time())
        processes = self._of_host
        if processes.pid(name) or processes.is_over(name) or processes.clock.time() > moment + LONGEST_EXIT:
            self._reported.add(name)
            # A server process has ended. `at` is on this host's clock, and at most LOOK seconds (conversation.py) late.
            self._send("server", name=name, at=moment, words=processes.status(name, 0)[0])

    def _all_are_reported(self):
        self.look()
        return all(process.alive or name in self._reported for name, process in self._processes.items())

    def finish(self):
        proc.waited(self._all_are_reported, AT_THE_END, self._of_host.clock)
        if len(self._cpu) == 1:
            self._sample()
        cpu = memory = None
        if len(self._cpu) == 2:
            cpu = self._cpu[1] - self._cpu[0]
            memory = sum(process.with_children()[1] for process in self._processes.values())
        # `cpu`: processor seconds in the measured window; `memory`: MiB. Both are null without servers or without a window.
        self._send("finished", cpu=cpu, memory=memory)

    def _sample(self):
        self._cpu.append(sum(process.with_children()[0] for process in [*self._before, *self._processes.values()]))


class Compilers:
    """Until the measured window begins, reports the processor time of the JIT compilers in the client's and servers' JVMs."""

    def __init__(self, send, parts, clock):
        self._send = send
        self._parts = parts
        self._clock = clock
        self._until = 0.0
        self._next = 0.0
        self._last = {}  # last known processor seconds of each thread, even if the thread has ended
        self._used = 0.0

    def watch(self, until):
        self._until = until

    def look(self):
        moment = self._clock.time()
        if not self._next <= moment < self._until:
            return
        self._next = moment + LOOK_AT_COMPILERS
        for part in self._parts:
            for process in part.processes:
                for thread, used in process.compilers().items():
                    self._used += max(0.0, used - self._last.get(thread, 0.0))
                    self._last[thread] = used
        # `used` is the processor seconds so far; `at` is the time on this host's clock.
        self._send("compilers", at=moment, used=self._used)
