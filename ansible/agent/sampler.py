"""Writes the kernel's counters of this host to standard output, once a second; docs/method.md describes the metrics.

The kernel counts everything that is needed, so this program only copies. On hosts without internet, root would have to install
sysstat, and psutil would have to be compiled for each host. Hosts without a deployment get only this file and proc.py.

Gzip of JSON lines. The first describes the host, each further line is one sample:
{"cpus": number of processors,  "boot": the kernel's boot id,  "sees_all": sees_all(), and no attached server is here}
{"time": seconds since 1970, "up": seconds since boot,
 "cpu": [user, nice, system, idle, iowait, irq, softirq, steal],               ticks of all processors together
 "memory": [total, free, available, buffers, cached, reclaimable slab],        bytes
 "disks": {name: [reads, bytes read, writes, bytes written, ms in which it was busy]},
 "networks": {name: [bytes received, bytes sent]},
 "known": [our processes, the kernel's own threads],                           their ticks; only if sees_all, and not
                                                                               after one of ours ended unaccounted for
 "frequency": of the processors, mean as a share of their highest,              both every ten seconds, and only if
 "celsius": of the hottest sensor of a processor}                               the kernel has them
  agent sample [SECONDS "PID START MACHINE" [SERVERS [LANE]]]   ends by itself when there is no reader left (class Reader);
                                             SERVERS are the addresses of an attached system, whose processes are unknown;
                                             with a LANE only processes of that trial are ours

The counters are since boot, as in the kernel; "known" is since the first sample. The reader computes the growth, and handles
reboots and wraps.
"""

import contextlib
import glob
import itertools
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
FLUSH = 10  # samples between two flushes to the disk; each flush costs a few bytes
LIMIT = 200 * 1024 * 1024  # bytes after which it ends by itself: some weeks
GZIP = 31  # zlib's number for a gzip stream
SECTOR = 512  # bytes in /proc/diskstats, whatever the disk's sectors are (Documentation/admin-guide/iostats.rst)
KERNEL_THREAD = 0x00200000  # PF_KTHREAD, a flag in /proc/PID/stat
SENSORS = ("x86_pkg_temp", "cpu", "soc")  # beginnings of the types of thermal zones that measure processors
MEMORY = ("MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SReclaimable")


def read(path):
    return proc.read(path).decode("ascii", "replace")


def processors():
    """Reads the first line of /proc/stat, without guests' time at its end, which is in user and nice already."""
    with open("/proc/stat", encoding="ascii") as file:
        return [int(field) for field in file.readline().split()[1:9]]


def memory():
    fields = dict(line.split(":", 1) for line in read("/proc/meminfo").splitlines())
    return [int(fields[name].split()[0]) * 1024 for name in MEMORY]


def has_device(kind, name):
    """Returns whether it is hardware, or a virtual machine's, and not made of other devices."""
    return os.path.exists(f"/sys/{kind}/{name}/device")


def disks():
    """Returns the counters of whole disks, which include those of partitions and of loop, ram, dm and md devices."""
    found = {}
    for line in read("/proc/diskstats").splitlines():
        fields = line.split()
        # /sys replaces a "/" of a name by a "!".
        if has_device("block", fields[2].replace("/", "!")):
            reads, _, read_sectors, _, writes, _, written_sectors, _, _, busy = map(int, fields[3:13])
            found[fields[2]] = [reads, read_sectors * SECTOR, writes, written_sectors * SECTOR, busy]
    return found


def networks():
    """Returns the counters of network cards, without bonds and bridges made of them; in a container without cards, of all."""
    found = {}
    for line in read("/proc/net/dev").splitlines()[2:]:
        name, _, fields = line.partition(":")
        counted = fields.split()
        found[name.strip()] = [int(counted[0]), int(counted[8])]
    cards = {name: counters for name, counters in found.items() if has_device("class/net", name)}
    if not cards:
        return found
    return {name: counters for name, counters in found.items() if name in cards or name == "lo"}


def sees_all():
    """Returns whether other processes can be told from ours. In a container they cannot, as /proc/stat is of the whole
    machine, nor if /proc hides them. A cgroup's quota hides how much time other processes leave."""
    try:
        return read("/proc/2/comm").strip() == "kthreadd" and not has_quota()
    except OSError:
        return False


def has_quota():
    """Returns whether a cgroup has a quota, see cgroups(7): cpu.max begins with it or "max", cpu.cfs_quota_us is it or -1."""
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
    """Returns whether one of the addresses (format: docs/attach.md) is of this host: only such a one can be bound."""
    for place in filter(None, places.split(",")):
        name, plain = re.match(r"\[(.*)\]|([^:/]*)", place).groups()
        with contextlib.suppress(OSError, ValueError):
            for family, *_, address in socket.getaddrinfo(name or plain, 0):
                with contextlib.suppress(OSError), socket.socket(family) as probe:
                    probe.bind(address)
                    return True
    return False


def clocks(root="/sys"):
    """Returns frequency and temperature of the processors; reading a frequency interrupts a processor on some machines."""
    found = {}
    # A highest frequency of 0 must not end the samples.
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        folders = glob.glob(f"{root}/devices/system/cpu/cpufreq/policy*")
        shares = [int(read(f"{each}/scaling_cur_freq")) / int(read(f"{each}/cpuinfo_max_freq")) for each in folders]
        found |= {"frequency": round(sum(shares) / len(shares), 3)} if shares else {}
    with contextlib.suppress(OSError, ValueError):
        zones = [os.path.dirname(path) for path in glob.glob(f"{root}/class/thermal/thermal_zone*/type")]
        zones = [zone for zone in zones if read(f"{zone}/type").startswith(SENSORS)]
        found |= {"celsius": max(int(read(f"{zone}/temp")) for zone in zones) / 1000} if zones else {}
    return found


# From /proc/PID/stat: used are the ticks of the process, of_children those of children that it has waited for.
Process = namedtuple("Process", "start parent session flags used of_children")


def all_processes():
    found = {}
    for pid in proc.process_ids():
        # A process may end meanwhile.
        with contextlib.suppress(OSError, ValueError):
            fields = proc.stat(pid)
            user, system, of_user, of_system = map(int, fields[11:15])
            found[pid] = Process(int(fields[19]), int(fields[1]), int(fields[3]), int(fields[6]), user + system, of_user + of_system)
    return found


class Known:
    """Ticks that our processes and the kernel's own threads have used since the first look; the rest is of other processes.

    Our processes are those with a pid file in the folder `run`, all processes in their sessions, the conversation,
    this process, and all their descendants. Their ancestors (Ansible, dohyo, sshd, a shell) count without
    their other descendants: a shell starts other work, too.
    """

    def __init__(self, run, lane=""):
        self._files = f"{glob.escape(run)}/*/pid" if run else ""
        self._lane = lane
        self._ours = self._kernel = 0
        self._before, self._were = {}, set()

    def look(self):
        """Returns both; None if some of our processes' ticks since the look before are unknown."""
        now = all_processes()
        ours, starters = self._told_apart(now)
        is_whole = all(self._is_accounted(pid, now, ours) for pid in self._were)
        if self._before:
            # A child that ended is in its parent's figure from then on, so the ticks that it had already are subtracted.
            ended = [self._before[pid] for pid in self._were if not self._is_same(pid, now)]
            children = sum(self._growth(now, pid, "of_children") for pid in ours)
            children -= sum(each.used + each.of_children for each in ended)
            self._ours += sum(self._growth(now, pid, "used") for pid in ours | starters) + max(0, children)
            threads = (pid for pid, each in now.items() if each.flags & KERNEL_THREAD)
            self._kernel += sum(self._growth(now, pid, "used") for pid in threads)
        self._before, self._were = now, ours
        return [self._ours, self._kernel] if is_whole else None

    def _told_apart(self, now):
        named = {os.getpid()}
        sessions = set()
        for path in glob.glob(self._files):
            pid, start = proc.read_pid(path) or (None, None)
            name = os.path.basename(os.path.dirname(path))
            if pid in now and now[pid].start == start and proc.belongs(name, self._lane):
                named.add(pid)
                # The conversation's session may be that of a terminal with other work.
                sessions |= set() if name.startswith("agent") else {now[pid].session}
        ours = named | {pid for pid, each in now.items() if each.session in sessions}
        while children := {pid for pid, each in now.items() if each.parent in ours} - ours:
            ours |= children
        starters = set()
        for pid in named:
            while (pid := now[pid].parent) > 1 and pid in now:
                starters.add(pid)
        return ours, starters - ours

    def _is_accounted(self, pid, now, ours):
        """Returns whether the process is there, or one of ours has waited for it. A client and its supervisor end within
        milliseconds. Then init waits for them, and the ticks since the look before are lost."""
        while not self._is_same(pid, now):
            if pid not in self._were:
                return False
            pid = self._before[pid].parent
        return pid in ours

    def _is_same(self, pid, now):
        return pid in now and pid in self._before and now[pid].start == self._before[pid].start

    def _growth(self, now, pid, what):
        """Returns the ticks since the look before; all ticks of a new process."""
        return getattr(now[pid], what) - (getattr(self._before[pid], what) if self._is_same(pid, now) else 0)


def sample(known, clock):
    return {
        "time": round(time.time(), 3),
        "up": round(time.clock_gettime(time.CLOCK_BOOTTIME), 3),
        "cpu": processors(),
        "memory": memory(),
        "disks": disks(),
        "networks": networks(),
        **({"known": told} if known and (told := known.look()) else {}),
        **clock,
    }


class Reader:
    """The reader of the samples: the controller (PID START as in the lookup `controller`), if it is visible here,
    otherwise the agents. Agents run only during loads and runs, so for SECONDS there may be none."""

    def __init__(self, run, seconds="inf", controller="", _servers="", lane=""):
        pid, start, machine = (*controller.split(" ", 2), "", "", "")[:3]
        here = f"{read('/proc/sys/kernel/random/boot_id').strip()} {os.readlink('/proc/self/ns/pid')}"
        is_seen = machine == here and proc.is_alive(pid, int(start))
        self._agent = f"{run}/{proc.in_lane('agent', lane)}/pid"
        self._controller = (pid, int(start)) if is_seen else None
        self._patience = float(seconds) if self._controller is None else proc.HEARTBEAT
        self._seen = time.monotonic()

    def is_gone(self):
        reader = self._controller or proc.read_pid(self._agent)
        if reader and proc.is_alive(*reader):
            self._seen = time.monotonic()
        return time.monotonic() - self._seen > self._patience


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


def main(run="", *words):
    output = Output()
    # A signal while writing would spoil the file, so signals are checked only between two samples.
    ends = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    reader = Reader(run, *words)
    servers, lane = (*words[2:], "", "")[:2]
    known = Known(run, lane) if sees_all() and not has_servers(servers) else None
    boot = read("/proc/sys/kernel/random/boot_id").strip()
    output.line({"cpus": os.cpu_count(), "boot": boot, "sees_all": known is not None})
    due = time.monotonic()
    for count in itertools.count():
        output.line(sample(known, clocks() if count % FLUSH == 0 else {}))
        if count % FLUSH == 0:
            output.flush()
        # A host that stood still has no samples of that time; later ones do not catch up.
        due = max(due + PERIOD, time.monotonic())
        ended = signal.sigtimedwait(ends, max(0, due - time.monotonic()))
        if ended is not None or output.written > LIMIT or reader.is_gone():
            break
    output.flush(zlib.Z_FINISH)


if __name__ == "__main__":
    main("", *sys.argv[1:])
