"""Writes the kernel's counters of this host to standard output, once a second; docs/method.md says what they come to.

The kernel counts everything that is wanted, so what stands here does no more than copy: sysstat would have to be
installed by root on hosts without internet, and psutil is compiled for each of them. To hosts on which nothing is deployed
this file and proc.py are sent alone.

Gzip of JSON lines. The first says what the host is: {"cpus": how many, "boot": the kernel's boot id, "sees_all": whether
all processes of the kernel are seen from here, no cgroup bounds ours, and no attached server is here}; each of the others is one sample:
{"time": seconds since 1970, "up": seconds since boot,
 "cpu": [user, nice, system, idle, iowait, irq, softirq, steal],               ticks of all processors together
 "memory": [total, free, available, buffers, cached, reclaimable slab],        bytes
 "disks": {name: [reads, bytes read, writes, bytes written, ms in which it was busy]},
 "networks": {name: [bytes received, bytes sent]},
 "known": [our processes, the kernel's own threads],                           ticks of them; only if it sees all, and not
                                                                               where one of ours has ended unaccounted
 "frequency": of the processors, mean as a share of their highest,              both every ten seconds, and only where
 "celsius": of the hottest sensor of a processor}                               the kernel has them
  agent sample [SECONDS "PID START MACHINE" [SERVERS]]   it ends by itself when nobody is left to read the samples (class Reader);
                                             SERVERS are the addresses of an attached system, whose processes nobody knows

The counters are since boot, as the kernel has them, those of "known" since the first sample: what they grow by is for the
reader to see, reboots and wraps too.
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
FLUSH = 10  # samples after which they are on the disk, whatever happens: each flush costs a few bytes
LIMIT = 200 * 1024 * 1024  # bytes that it writes at most, should nobody end it: some weeks
GZIP = 31  # zlib's number for a gzip stream
SECTOR = 512  # bytes, in /proc/diskstats whatever the disk's own are (Documentation/admin-guide/iostats.rst)
KERNEL_THREAD = 0x00200000  # PF_KTHREAD, of the flags in /proc/PID/stat
SENSORS = ("x86_pkg_temp", "cpu", "soc")  # how the types of thermal zones begin that measure processors
MEMORY = ("MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "SReclaimable")


def read(path):
    return proc.read(path).decode("ascii", "replace")


def processors():
    """Of the first line of /proc/stat: guests' time, which stands behind, is in user and nice already."""
    with open("/proc/stat", encoding="ascii") as file:
        return [int(field) for field in file.readline().split()[1:9]]


def memory():
    fields = dict(line.split(":", 1) for line in read("/proc/meminfo").splitlines())
    return [int(fields[name].split()[0]) * 1024 for name in MEMORY]


def has_device(kind, name):
    """Whether it is hardware, or a virtual machine's idea of it, and nothing that is made of other devices."""
    return os.path.exists(f"/sys/{kind}/{name}/device")


def disks():
    """Whole disks. Partitions are in them already, and so is what loop, ram, dm and md devices do."""
    found = {}
    for line in read("/proc/diskstats").splitlines():
        fields = line.split()
        # In /sys a "/" of a name is a "!".
        if has_device("block", fields[2].replace("/", "!")):
            reads, _, read_sectors, _, writes, _, written_sectors, _, _, busy = map(int, fields[3:13])
            found[fields[2]] = [reads, read_sectors * SECTOR, writes, written_sectors * SECTOR, busy]
    return found


def networks():
    """Network cards, without bonds and bridges that are made of them; in a container, which has none, all there is."""
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
    """Whether other processes can be told from ours: not in a container, where /proc/stat is of the whole machine all the
    same, nor where /proc hides them. A cgroup with a quota is no measure for what others leave."""
    try:
        return read("/proc/2/comm").strip() == "kthreadd" and not has_quota()
    except OSError:
        return False


def has_quota():
    """Of cgroups(7), both versions: cpu.max is "max" or has the quota first, cpu.cfs_quota_us is -1 or the quota."""
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
    """Whether one of the addresses, as in docs/attach.md, is of this host: only such a one can be bound."""
    for place in filter(None, places.split(",")):
        name, plain = re.match(r"\[(.*)\]|([^:/]*)", place).groups()
        with contextlib.suppress(OSError, ValueError):
            for family, *_, address in socket.getaddrinfo(name or plain, 0):
                with contextlib.suppress(OSError), socket.socket(family) as probe:
                    probe.bind(address)
                    return True
    return False


def clocks(root="/sys"):
    """Frequency and temperature of the processors; asking for a frequency interrupts a processor on some machines."""
    found = {}
    # Of a highest frequency of 0 there is no share; it must not end the samples.
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        folders = glob.glob(f"{root}/devices/system/cpu/cpufreq/policy*")
        shares = [int(read(f"{each}/scaling_cur_freq")) / int(read(f"{each}/cpuinfo_max_freq")) for each in folders]
        found |= {"frequency": round(sum(shares) / len(shares), 3)} if shares else {}
    with contextlib.suppress(OSError, ValueError):
        zones = [os.path.dirname(path) for path in glob.glob(f"{root}/class/thermal/thermal_zone*/type")]
        zones = [zone for zone in zones if read(f"{zone}/type").startswith(SENSORS)]
        found |= {"celsius": max(int(read(f"{zone}/temp")) for zone in zones) / 1000} if zones else {}
    return found


# Of /proc/PID/stat: used are the ticks of the process itself, of_children those of children that it has waited for.
Process = namedtuple("Process", "start parent session flags used of_children")


def all_processes():
    found = {}
    for pid in proc.process_ids():
        # One that ends meanwhile is gone.
        with contextlib.suppress(OSError, ValueError):
            fields = proc.stat(pid)
            user, system, of_user, of_system = map(int, fields[11:15])
            found[pid] = Process(int(fields[19]), int(fields[1]), int(fields[3]), int(fields[6]), user + system, of_user + of_system)
    return found


class Known:
    """What our processes and the kernel's own threads have used since the first look; the rest is somebody else's.

    Ours are the processes with a pid file in the folder `run`, with all in their sessions, the conversation, this process,
    and the descendants of all; of what started them (Ansible, dohyo, sshd, a shell) what these used themselves: a shell starts
    other work, too.
    """

    def __init__(self, run):
        self._files = f"{glob.escape(run)}/*/pid" if run else ""
        self._ours = self._kernel = 0
        self._before, self._were = {}, set()

    def look(self):
        """Both; None where not all that ours have used since the look before is known."""
        now = all_processes()
        ours, starters = self._told_apart(now)
        is_whole = all(self._is_accounted(pid, now, ours) for pid in self._were)
        if self._before:
            # A child that has ended is in its parent's figure from then on; what was counted of it is not counted twice.
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
            if pid in now and now[pid].start == start:
                named.add(pid)
                # The conversation's may be that of a terminal, in which somebody compiles.
                sessions |= set() if path.endswith("/agent/pid") else {now[pid].session}
        ours = named | {pid for pid, each in now.items() if each.session in sessions}
        while children := {pid for pid, each in now.items() if each.parent in ours} - ours:
            ours |= children
        starters = set()
        for pid in named:
            while (pid := now[pid].parent) > 1 and pid in now:
                starters.add(pid)
        return ours, starters - ours

    def _is_accounted(self, pid, now, ours):
        """Whether it is there, or one of ours has waited for it. A client and its supervisor end within milliseconds, and
        init, which is nobody's, waits for them: the kernel forgets what they used since the look before."""
        while not self._is_same(pid, now):
            if pid not in self._were:
                return False
            pid = self._before[pid].parent
        return pid in ours

    def _is_same(self, pid, now):
        return pid in now and pid in self._before and now[pid].start == self._before[pid].start

    def _growth(self, now, pid, what):
        """Since the look before; of a process that is new, all that it has used."""
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
    """Who wants the samples: the controller, PID START as the lookup `controller` has it, if it is of this machine and
    can be seen; else agents, which run in loads and runs alone, so that none may be there for SECONDS."""

    def __init__(self, run, seconds="inf", controller="", _servers=""):
        pid, start, machine = (*controller.split(" ", 2), "", "", "")[:3]
        here = f"{read('/proc/sys/kernel/random/boot_id').strip()} {os.readlink('/proc/self/ns/pid')}"
        is_seen = machine == here and proc.is_alive(pid, int(start))
        self._agent = f"{run}/agent/pid"
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
    # A signal in the middle of writing would spoil the file: it is looked for between two samples only.
    ends = (signal.SIGTERM, signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    reader = Reader(run, *words)
    known = Known(run) if sees_all() and not has_servers("".join(words[2:])) else None
    boot = read("/proc/sys/kernel/random/boot_id").strip()
    output.line({"cpus": os.cpu_count(), "boot": boot, "sees_all": known is not None})
    due = time.monotonic()
    for count in itertools.count():
        output.line(sample(known, clocks() if count % FLUSH == 0 else {}))
        if count % FLUSH == 0:
            output.flush()
        # A host that stood still has no samples of that time; they are not made up for.
        due = max(due + PERIOD, time.monotonic())
        ended = signal.sigtimedwait(ends, max(0, due - time.monotonic()))
        if ended is not None or output.written > LIMIT or reader.is_gone():
            break
    output.flush(zlib.Z_FINISH)


if __name__ == "__main__":
    main("", *sys.argv[1:])
