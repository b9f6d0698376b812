"""Writes this host's kernel counters to standard output once per second. docs/method.md describes the metrics.

This program only copies the kernel's counters. It replaces sysstat, which root would have to install on hosts without internet,
and psutil, which would have to be compiled for each host. Hosts without a deployment receive only this file and proc.py.

The output consists of JSON lines, compressed with gzip. The first line describes the host; each further line is one sample:
{"cpus": number of processors,  "boot": the kernel's boot id,  "sees_all": sees_all(), but false on attached servers' hosts}
{"time": seconds since 1970, "up": seconds since boot,
 "cpu": [user, nice, system, idle, iowait, irq, softirq, steal],               ticks of all processors together
 "memory": [total, free, available, buffers, cached, reclaimable slab],        bytes
 "disks": {name: [reads, bytes read, writes, bytes written, ms in which the disk was busy]},
 "networks": {name: [bytes received, bytes sent]},
 "known": [Dohyo's processes, the kernel's own threads],                       ticks; only if sees_all is true and no
                                                                               ticks of an ended process were lost
 "frequency": mean processor frequency, as a share of the maximum,              every ten seconds, if the kernel
 "celsius": temperature of the hottest processor sensor}                        provides them
  agent sample [SECONDS "PID START MACHINE" [SERVERS [LANE]]]   ends when the reader of the samples has ended (class Reader);
                                             SERVERS: addresses of an attached system, whose processes are unknown;
                                             LANE: only the processes of that trial count as Dohyo's

The counters begin at boot, as in the kernel; "known" begins at the first sample. The reader computes differences and handles
reboots and overflows.
"""

import contextlib
import glob
import json
import os
import re
import signal
import socket
import sys
import time
import zlib
from collections import namedtuple

import proc

PERIOD = 1.0  # seconds between two samples
LIMIT = 200 * 1024 * 1024  # bytes of output after which the sampler ends; this takes a few weeks
GZIP = 31  # zlib's number for a gzip stream
SECTOR = 512  # bytes per sector in /proc/diskstats, for every disk (Documentation/admin-guide/iostats.rst)
SENSORS = ("x86_pkg_temp", "cpu", "soc")  # type prefixes of the thermal zones that measure processors
MEMORY = ("MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SReclaimable")


def read(path):
    return proc.read(path).decode("ascii", "replace")


def processors():
    """Returns the values in the first line of /proc/stat, without the guests' time, which user and nice already include."""
    with open("/proc/stat", encoding="ascii") as file:
        return [int(field) for field in file.readline().split()[1:9]]


def memory():
    fields = dict(line.split(":", 1) for line in read("/proc/meminfo").splitlines())
    return [int(fields[name].split()[0]) * 1024 for name in MEMORY]


def has_device(kind, name):
    """Returns whether a disk or network card is a physical or virtual device that does not consist of other devices."""
    return os.path.exists(f"/sys/{kind}/{name}/device")


def disks():
    """Returns the counters of whole disks. They include the I/O of partitions, and of loop, dm and md devices on the disks."""
    counters = {}
    for line in read("/proc/diskstats").splitlines():
        fields = line.split()
        # In names in /sys, "!" replaces "/".
        if has_device("block", fields[2].replace("/", "!")):
            reads, _, read_sectors, _, writes, _, written_sectors, _, _, busy = map(int, fields[3:13])
            counters[fields[2]] = [reads, read_sectors * SECTOR, writes, written_sectors * SECTOR, busy]
    return counters


def networks():
    """Returns the counters of network cards and the loopback, or of all interfaces if there are no cards (as in a container)."""
    interfaces = {}
    for line in read("/proc/net/dev").splitlines()[2:]:
        name, _, fields = line.partition(":")
        counted = fields.split()
        interfaces[name.strip()] = [int(counted[0]), int(counted[8])]
    cards = {name: counters for name, counters in interfaces.items() if has_device("class/net", name)}
    if not cards:
        return interfaces
    return {name: counters for name, counters in interfaces.items() if name in cards or name == "lo"}


def sees_all():
    """Returns whether the processor time of other processes can be computed. It cannot in a container or with a
    cgroup's processor quota, where /proc/stat covers the whole machine. Nor can it if /proc hides processes."""
    try:
        return read("/proc/2/comm").strip() == "kthreadd" and not has_quota()
    except OSError:
        return False


def has_quota():
    """Returns whether a cgroup has a processor quota: cpu.max does not begin with "max", or cpu.cfs_quota_us is not -1."""
    for line in read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        root, file = ("cpu", "cpu.cfs_quota_us") if "cpu" in controllers.split(",") else ("", "cpu.max")
        while True:
            with contextlib.suppress(OSError):
                if read(f"/sys/fs/cgroup/{root}{path}/{file}").split()[0] not in ("max", "-1"):
                    return True
            if path in ("", "/"):
                break
            path = os.path.dirname(path)
    return False


def has_servers(places):
    """Returns whether one of the addresses (format: docs/attach.md) belongs to this host. Tests this by binding a socket."""
    for endpoint in filter(None, places.split(",")):
        name, plain = re.match(r"\[(.*)\]|([^:/]*)", endpoint).groups()
        with contextlib.suppress(OSError, ValueError):
            for family, *_, address in socket.getaddrinfo(name or plain, 0):
                with contextlib.suppress(OSError), socket.socket(family) as probe:
                    probe.bind(address)
                    return True
    return False


def clocks(root="/sys"):
    """Returns the frequency and temperature of the processors. Called rarely, because it can interrupt a processor."""
    readings = {}
    # A reported maximum frequency of 0 must not end the sampler.
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        folders = glob.glob(f"{root}/devices/system/cpu/cpufreq/policy*")
        shares = [int(read(f"{folder}/scaling_cur_freq")) / int(read(f"{folder}/cpuinfo_max_freq")) for folder in folders]
        readings |= {"frequency": round(sum(shares) / len(shares), 3)} if shares else {}
    with contextlib.suppress(OSError, ValueError):
        zones = [os.path.dirname(path) for path in glob.glob(f"{root}/class/thermal/thermal_zone*/type")]
        zones = [zone for zone in zones if read(f"{zone}/type").startswith(SENSORS)]
        readings |= {"celsius": max(int(read(f"{zone}/temp")) for zone in zones) / 1000} if zones else {}
    return readings


# Fields of /proc/PID/stat. `used`: ticks of the process; `of_children`: ticks of the children that it has waited for.
Process = namedtuple("Process", "start parent session flags used of_children")


def all_processes():
    processes = {}
    for pid in proc.process_ids():
        # A process may end before it is read.
        with contextlib.suppress(OSError, ValueError):
            fields = proc.stat(pid)
            user, system, of_user, of_system = map(int, fields[11:15])
            processes[pid] = Process(int(fields[19]), int(fields[1]), int(fields[3]), int(fields[6]), user + system, of_user + of_system)
    return processes


class Known:
    """Counts the ticks that Dohyo's processes and the kernel's own threads have used. Other processes used the rest.

    Dohyo's processes are those with a pid file in the folder `run`, all processes in their sessions, conversation.py,
    this process, and all their descendants. Their ancestors (Ansible, dohyo, sshd, a shell) also count, but not
    the ancestors' other descendants, because a shell also starts unrelated programs.
    """

    def __init__(self, run, lane=""):
        self._files = f"{glob.escape(run)}/*/pid" if run else ""
        self._lane = lane
        self._own_ticks = self._kernel = 0
        self._before, self._were = {}, set()

    def look(self):
        """Returns the ticks of Dohyo's processes and of kernel threads, or None if ticks since the previous call were lost."""
        now = all_processes()
        own_pids, starters = self._told_apart(now)
        is_whole = all(self._is_accounted(pid, now, own_pids) for pid in self._were)
        if self._before:
            # When a child ends, its ticks are added to its parent's, so subtract the ticks that were already counted for the child.
            ended = [self._before[pid] for pid in self._were if not self._is_same(pid, now)]
            children = sum(self._growth(now, pid, "of_children") for pid in own_pids)
            children -= sum(process.used + process.of_children for process in ended)
            self._own_ticks += sum(self._growth(now, pid, "used") for pid in own_pids | starters) + max(0, children)
            threads = (pid for pid, process in now.items() if process.flags & proc.KERNEL_THREAD)
            self._kernel += sum(self._growth(now, pid, "used") for pid in threads)
        self._before, self._were = now, own_pids
        return [self._own_ticks, self._kernel] if is_whole else None

    def _told_apart(self, now):
        recorded = {os.getpid()}
        sessions = set()
        for path in glob.glob(self._files):
            pid, start = proc.read_pid(path) or (None, None)
            name = os.path.basename(os.path.dirname(path))
            if pid in now and now[pid].start == start and proc.belongs(name, self._lane):
                recorded.add(pid)
                # conversation.py may share its session with a terminal, in which other programs run.
                sessions |= set() if name.startswith("agent") else {now[pid].session}
        own_pids = recorded | {pid for pid, process in now.items() if process.session in sessions}
        while children := {pid for pid, process in now.items() if process.parent in own_pids} - own_pids:
            own_pids |= children
        starters = set()
        for pid in recorded:
            while (pid := now[pid].parent) > 1 and pid in now:
                starters.add(pid)
        return own_pids, starters - own_pids

    def _is_accounted(self, pid, now, own_pids):
        """Returns whether the process still exists or one of Dohyo's processes has waited for it. If a client and its supervisor
        end within milliseconds, init waits for the client, so the client's ticks since the previous call are lost."""
        while not self._is_same(pid, now):
            if pid not in self._were:
                return False
            pid = self._before[pid].parent
        return pid in own_pids

    def _is_same(self, pid, now):
        return pid in now and pid in self._before and now[pid].start == self._before[pid].start

    def _growth(self, now, pid, figure):
        """Returns the ticks of a process since the previous call of `look`. For a new process, returns all of its ticks."""
        return getattr(now[pid], figure) - (getattr(self._before[pid], figure) if self._is_same(pid, now) else 0)


class Reader:
    """Checks whether the reader of the samples has ended. The reader is the controller (PID START as in the lookup `controller`)
    if it runs on this machine, otherwise the agent. The agent runs only during loads and runs, so it may be missing for SECONDS."""

    def __init__(self, run, seconds, controller, lane, clock):
        pid, start, machine = (*controller.split(" ", 2), "", "", "")[:3]
        this_machine = f"{read('/proc/sys/kernel/random/boot_id').strip()} {os.readlink('/proc/self/ns/pid')}"
        is_seen = machine == this_machine and proc.is_alive(pid, int(start))
        self._agent = f"{run}/{proc.in_lane('agent', lane)}/pid"
        self._controller = (pid, int(start)) if is_seen else None
        self._patience = float(seconds) if self._controller is None else proc.HEARTBEAT
        self._clock = clock
        self._last_seen = clock.monotonic()

    def is_gone(self):
        reader = self._controller or proc.read_pid(self._agent)
        if reader and proc.is_alive(*reader):
            self._last_seen = self._clock.monotonic()
        return self._clock.monotonic() - self._last_seen > self._patience


class Output:
    """Standard output, compressed."""

    def __init__(self):
        self.written = 0
        self._gzip = zlib.compressobj(wbits=GZIP)

    def line(self, content):
        self._write(self._gzip.compress(json.dumps(content, separators=(",", ":")).encode() + b"\n"))

    def flush(self, mode=zlib.Z_SYNC_FLUSH):
        self._write(self._gzip.flush(mode))

    def _write(self, data):
        self.written += len(data)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


class Sampler:
    """Writes the first line, and a sample for each call of `sample`. `clock` is the module `time`; tests pass another."""

    def __init__(self, run, seconds="inf", controller="", servers="", lane="", clock=time):
        self._clock = clock
        self._reader = Reader(run, seconds, controller, lane, clock)
        self._output = Output()
        self._known = Known(run, lane) if sees_all() and not has_servers(servers) else None
        self._samples = 0
        boot = read("/proc/sys/kernel/random/boot_id").strip()
        self._output.line({"cpus": os.cpu_count(), "boot": boot, "sees_all": self._known is not None})

    def sample(self):
        self._output.line(
            {
                "time": round(self._clock.time(), 3),
                "up": round(self._clock.clock_gettime(time.CLOCK_BOOTTIME), 3),
                "cpu": processors(),
                "memory": memory(),
                "disks": disks(),
                "networks": networks(),
                **({"known": ticks} if self._known and (ticks := self._known.look()) else {}),
                **(clocks() if self._samples % 10 == 0 else {}),
            }
        )
        self._output.flush()  # a reader that looks during the trial needs the last sample, too
        self._samples += 1

    def is_over(self):
        """Returns whether the reader of the samples has ended, or the output is too large."""
        return self._output.written > LIMIT or self._reader.is_gone()

    def finish(self):
        self._output.flush(zlib.Z_FINISH)


def main(run="", *arguments):
    # A signal during a write would damage the file, so signals are blocked and checked only between two samples.
    ends = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    sampler = Sampler(run, *arguments)
    due = time.monotonic()
    while True:
        sampler.sample()
        # After a pause of the host, continue with the current time, and do not make up for missed samples.
        due = max(due + PERIOD, time.monotonic())
        if signal.sigtimedwait(ends, max(0, due - time.monotonic())) is not None or sampler.is_over():
            break
    sampler.finish()


if __name__ == "__main__":
    main("", *sys.argv[1:])
