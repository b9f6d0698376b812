"""Injects faults on this host at planned times of a run, and undoes them (docs/faults.md).

  agent faults check KIND...   reads a plan from standard input; prints the reasons why these kinds of fault are impossible here
  agent faults serve HOST      reads a plan from standard input and carries it out in the background
  agent faults boot HOST       continues after the host was switched off; called by a systemd unit that `serve` wrote
  agent faults undo            ends a `serve` that still runs, and undoes its faults; servers that are down stay down

The plan is a JSON object:
  {"role": system, "spared": processes, "events": [{"n", "kind", "at", "apart": addresses, "rate": bytes per second}],
   "folders": data folders,  "unit": unit that runs `boot`, "" if systemd does not start the servers,  "patience": seconds}
The controller switches hosts off and on; an event of kind power marks where to continue after a boot. HOME/run/fault-HOST contains:

  agent        pid file that conversation.py writes. When its process has ended, all faults are undone immediately
  pid          pid file of this process
  window       "BEGIN END" of the measured window, in seconds since 1970 on this host's clock; written by conversation.py
  done.jsonl   one JSON object per event, for conversation.py: {"n": number of the event, null for an undo at the end,
               "kind", "began", "done", "what", "error"}; the last is {"whole": time when all servers were ready, or null}
  changed      changes to undo; each change is recorded before it is made
  plan         the plan, for `undo` and `boot`; also contains "servers", the names of the servers that ran

No fault lasts long even if this process is killed. The kernel removes the addresses of a partition soon after the window.
The file that fills a disk has no name, so it disappears with the process. A systemd timer removes the limits of units.

The faults of a host are executed one after the other, so a slow one, such as an orderly stop, delays the next. Faults on
processes of other users need root; the caller becomes root in the way that the site allows.
"""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import proc
import units
from processes import SELF, AgentError

AHEAD = 1.0  # the preparation of a fault begins this many seconds before its time
STOP = 120  # seconds that an orderly stop of a server may take
KILLED = 10  # seconds that the kernel may take to end a killed process
READY = 300  # the servers must become ready within this many seconds after the window
PROBE = 0.5  # seconds between two checks of whether the servers are ready
FORGOTTEN = 10  # a partition or a unit's limit expires this many seconds after the window
LEAST = 1 << 20  # a disk counts as full if fewer bytes than this are free
TABLE = "inet dohyo_fault"  # table of nftables


def run(*argv, stdin=""):
    """Runs a program and returns its output. Raises RuntimeError with the program's error output if the program fails."""
    process = subprocess.run(list(map(str, argv)), input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise RuntimeError((process.stderr or process.stdout).strip() or f"{argv[0]} ended with exit code {process.returncode}")
    return process.stdout.strip()


def started(processes, role):
    """Returns the names of a system's processes on this host, in the order in which they were started."""
    names = []
    for folder in Path(processes.run).glob("*"):
        if folder.name == role or folder.name.startswith(f"{role}-"):
            with contextlib.suppress(OSError):
                names.append(((folder / "command").stat().st_mtime_ns, folder.name))
    return [name for _, name in sorted(names)]


class Servers:
    """Controls the processes of a system on this host."""

    def __init__(self, processes, names):
        self._processes = processes
        self._names = names

    def running(self):
        """Returns the name and pid of each running process."""
        return [(name, pid) for name in self._names if (pid := self._processes.pid(name)) is not None]

    def down(self):
        """Returns the names of the processes that are not running."""
        return [name for name in self._names if self._processes.pid(name) is None]

    def units(self):
        """Returns the names of the running processes' systemd units."""
        return [self._processes.unit(name).unit for name, _ in self.running()]

    def stop(self, name):
        return self._processes.stop(name, STOP)

    def start(self, name):
        self._processes.again(name)
        return self._processes.pid(name)

    def are_ready(self):
        with contextlib.suppress(AgentError):  # systemd may be too busy to answer
            return all(map(self._processes.probe, self._names))
        return False


def freeze(pids):
    """Stops processes with SIGSTOP, so that they start no more children, and then their children. Returns all pids."""
    proc.send(signal.SIGSTOP, pids)
    children = proc.descendants(pids)
    proc.send(signal.SIGSTOP, children)
    return [*pids, *children]


class Changed:
    """Records the changes that must be undone in a file. Each change is recorded before it is made."""

    def __init__(self, folder):
        self._file = folder / "changed"
        try:
            self.values = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            self.values = {}

    def note(self, kind, value):
        self.values[kind] = value
        self._write()

    def forget_all(self):
        """Clears the record after a power cut, which undid all changes."""
        self.values = {}
        self._write()

    def forget(self, kind):
        self.values.pop(kind, None)
        self._write()

    def _write(self):
        proc.write(self._file, json.dumps(self.values), sync=True)


class Faults:
    """Implements each kind of fault as a method that prepares an event and returns a function that executes it."""

    def __init__(self, processes, folder, plan):
        self.changed = Changed(folder)
        self._servers = Servers(processes, plan["servers"])
        self._plan = plan
        self._fillers = []
        self.until = time.time()  # end of the window, in seconds since 1970

    def prepare(self, event):
        """Prepares an event. Returns a function that executes the event and returns a description of what was done."""
        return getattr(self, f"_{event['kind']}")(event)

    def _there(self):
        servers = self._servers.running()
        if not servers:
            raise RuntimeError(f"no process of {self._plan['role']} runs here")
        return servers

    def _kill(self, event):
        servers = self._there()

        def do():
            pids = freeze([pid for _, pid in servers])
            proc.send(signal.SIGKILL, pids)
            # Wait until the processes have ended, so that the next fault does not find them.
            proc.waited(lambda: not any(map(proc.start_time, pids)), KILLED)
            return f"SIGKILL to {named(servers)}"

        return do

    def _stop(self, event):
        servers = self._there()

        def do():
            sentences = [self._servers.stop(name) for name, _ in reversed(servers)]
            return "; ".join(filter(None, sentences))

        return do

    def _start(self, event):
        def do():
            down = self._servers.down()
            if not down:
                raise RuntimeError(f"all processes of {self._plan['role']} are already running")
            started = [(name, self._servers.start(name)) for name in down]
            return f"started {named(started)}"

        return do

    def _pause(self, event):
        servers = self._there()
        pids = [pid for _, pid in servers]

        def do():
            # Record only these pids, because the undo finds their children.
            self.changed.note("pause", [[pid, proc.start_time(pid)] for pid in pids])
            freeze(pids)
            return f"SIGSTOP to {named(servers)}"

        return do

    def _resume(self, event):
        def do():
            paused = [pid for pid, start in self.changed.values.get("pause", []) if proc.is_alive(pid, start)]
            proc.send(signal.SIGCONT, [*proc.descendants(paused), *paused])
            self.changed.forget("pause")
            return f"SIGCONT to {len(paused)} process(es)"

        return do

    def _partition(self, event):
        def do():
            apart = sorted({*self.changed.values.get("partition", []), *event["apart"]})
            self.changed.note("partition", apart)
            nft(rules(apart, self.until + FORGOTTEN - time.time()))
            return f"dropping packets from {', '.join(apart)}"

        return do

    def _heal(self, event):
        def do():
            nft(NO_RULES)
            apart = self.changed.values.get("partition", [])
            self.changed.forget("partition")
            return f"accepting packets from {', '.join(apart)} again"

        return do

    def _fill(self, event):
        def do():
            self.changed.note("fill", self._plan["folders"])
            with contextlib.ExitStack() as opened:
                files = [(folder, opened.enter_context(tempfile.TemporaryFile(dir=folder))) for folder in self._plan["folders"]]
                message = "; ".join(f"{fill(file.fileno()):,} bytes on the disk of {folder}" for folder, file in files)
                self._fillers.append(opened.pop_all())
            return message

        return do

    def _free(self, event):
        def do():
            while self._fillers:
                self._fillers.pop().close()
            folders = self.changed.values.get("fill", [])
            self.changed.forget("fill")
            return f"freed the space on the disks of {', '.join(folders)}"

        return do

    def _slow(self, event):
        self._there()
        units = self._servers.units()

        def do():
            self.changed.note("slow", sorted({*self.changed.values.get("slow", []), *units}))
            seconds = self.until + FORGOTTEN - time.time()
            return "; ".join(limit(unit, self._plan["folders"], event["rate"], seconds) for unit in units)

        return do

    def _normal(self, event):
        def do():
            units = self.changed.values.get("slow", [])
            for unit in units:
                end_limit(unit)
            self.changed.forget("slow")
            return f"removed the read and write limits of {', '.join(units)}"

        return do

    def undo(self, starts):
        """Returns the events that undo the remaining changes. If `starts` is true, another event starts the servers that ended."""
        order = {"slow": "normal", "fill": "free", "partition": "heal", "pause": "resume"}
        undone = [kind for changed, kind in order.items() if changed in self.changed.values]
        if starts and self._servers.down():
            undone.append("start")
        return [{"n": None, "kind": kind} for kind in undone]

    def are_ready(self):
        return self._servers.are_ready()


def named(servers):
    return ", ".join(f"{name} (process {pid})" for name, pid in servers)


NO_RULES = f"table {TABLE} {{}}\ndelete table {TABLE}\n"  # without the first line, deleting a missing table would fail


def rules(addresses, seconds):
    """Returns nftables rules that silently drop packets from these addresses. The hosts there drop packets from this host."""
    text = ""
    for version, kind in (("ip", "ipv4_addr"), ("ip6", "ipv6_addr")):
        if members := [address for address in addresses if (":" in address) == (version == "ip6")]:
            elements = ", ".join(f"{address} timeout {max(1, round(seconds))}s" for address in members)
            text += f"set {version}_apart {{ type {kind}; flags timeout; elements = {{ {elements} }}; }}\n"
            text += f"chain {version}_in {{ type filter hook input priority -300; {version} saddr @{version}_apart drop; }}\n"
    return f"{NO_RULES}table {TABLE} {{\n{text}}}\n"


def nft(text, *options):
    run("nft", *options, "-f", "-", stdin=text)


def fill(descriptor):
    """Fills the disk of an open file until fewer than LEAST bytes are free. Returns the size of the file."""
    size, step = 0, 1 << 30
    while step >= LEAST:
        try:
            os.posix_fallocate(descriptor, size, step)
            size += step
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            step //= 2
    return size


LIMITS = ("IOReadBandwidthMax", "IOWriteBandwidthMax")  # properties of systemd units


def limit(unit, folders, rate, seconds):
    """Limits a unit's reads and its writes to `rate` bytes per second on each data disk, for at most `seconds`."""
    allowed = run("systemctl", "show", "--property=DeviceAllow", "--value", unit).split()
    disks = [*folders, *(path for path in allowed if path.startswith("/dev/"))]
    # Before setting the limit, start the timer that removes it.
    stop_timer(unit)
    run("systemd-run", "--quiet", "--collect", f"--unit={timer(unit)}", f"--on-active={max(1, round(seconds))}",
        "--timer-property=AccuracySec=1s", *no_limit(unit))  # fmt: skip
    run("systemctl", "set-property", "--runtime", unit, *(f"{name}={disk} {rate}" for name in LIMITS for disk in disks))
    group = run("systemctl", "show", "--property=ControlGroup", "--value", unit)
    lines = Path(f"/sys/fs/cgroup{group}/io.max").read_text("ascii").split("\n")
    if not any(f"rbps={rate} wbps={rate} " in line for line in lines):
        raise RuntimeError(f"{unit}: systemd did not set a limit for {', '.join(disks)}: io.max is '{', '.join(lines)}'")
    return f"{unit}: at most {rate:,} bytes/s each for reads and writes on {', '.join(disks)} (io.max: {', '.join(lines[:-1])})"


def end_limit(unit):
    stop_timer(unit)
    run(*no_limit(unit))
    # Remove the empty files that systemd leaves behind.
    folder = Path(f"/run/systemd/system.control/{unit}.d")
    for name in LIMITS:
        (folder / f"50-{name}.conf").unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # the folder contains other files or does not exist
        folder.rmdir()


def no_limit(unit):
    return ["systemctl", "set-property", "--runtime", unit, *(f"{name}=" for name in LIMITS)]


def timer(unit):
    return f"{unit.removesuffix('.service')}-normal"


def stop_timer(unit):
    with contextlib.suppress(RuntimeError):  # the timer was never started or has ended
        run("systemctl", "stop", f"{timer(unit)}.timer")


UNIT = """\
# Continues the faults of a run after this host was switched off. Dohyo removes this unit at the end of the run.
[Unit]
Description=Faults of a run of Dohyo
After=network-online.target local-fs.target

[Service]
Type=exec
Environment={mark}
ExecStart={command}
# The servers that this unit starts must outlive it.
KillMode=process

[Install]
WantedBy=multi-user.target
"""


def install_unit(processes, host, unit, folders):
    """Installs the unit that calls `boot`. Syncs the unit's files and the servers' files to disk, because the power will be cut."""
    argv = [*SELF, "faults", "boot", host]
    command = " ".join(json.dumps(argument).replace("%", "%%").replace("$", "$$") for argument in argv)
    Path(units.UNITS, unit).write_text(UNIT.format(mark=processes.mark("fault"), command=command), "utf-8")
    run("systemctl", "enable", "--quiet", unit)
    run("sync", "--file-system", units.UNITS, processes.home, *folders)


def remove_unit(unit):
    if unit and Path(units.UNITS, unit).exists():
        run("systemctl", "disable", "--quiet", unit)
        Path(units.UNITS, unit).unlink()
        run("systemctl", "daemon-reload")


def wrong(kinds, plan):
    """Yields the reasons why these kinds of fault, which all need root, are impossible on this host."""
    if os.geteuid():
        yield f"{', '.join(sorted(kinds))}: needs root; set dohyo_systemd: true in the inventory, so that Ansible becomes root"
        return
    if "partition" in kinds:
        try:
            nft(rules(["192.0.2.1", "2001:db8::1"], 1), "--check")
        except (OSError, RuntimeError) as error:
            yield f"partition: nft does not work ({error}); install nftables, or leave the fault out"
    if "fill" in kinds:
        for folder in plan["folders"]:
            if not os.path.ismount(folder):
                yield f"fill: {folder} has no file system of its own and would fill the system disk; set dohyo_devices"
    if "power" in kinds and not plan["unit"]:
        yield "power: needs systemd units; set dohyo_systemd: true in the inventory, or leave the fault out"
    if "slow" in kinds:
        if not plan["unit"]:
            yield "slow: needs systemd units; set dohyo_systemd: true in the inventory, or leave the fault out"
        try:
            controllers = Path("/sys/fs/cgroup/cgroup.controllers").read_text("ascii").split()
        except OSError:
            controllers = []
        if "io" not in controllers:
            yield "slow: no io controller of cgroup v2; boot with systemd.unified_cgroup_hierarchy=1, or leave it out"
        for folder in plan["folders"]:
            device = os.stat(folder).st_dev
            if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
                yield f"slow: {folder} is not on a block device (Btrfs, ZFS); use XFS or ext4, or leave the fault out"


class Serving:
    """Carries out the plan of one run: waits for the window, executes each event at its time, and undoes all faults."""

    def __init__(self, processes, folder, plan):
        self._folder = folder
        self._clock = processes.clock
        self._faults = Faults(processes, folder, plan)
        self._events = plan["events"]
        self._unit = plan["unit"]
        self._until = self._clock.time() + plan["patience"]
        self._window = None

    def go_on(self):
        """Continues the plan after a boot, once the controller has reconnected."""
        self._faults.changed.forget_all()
        # Check the pid file first, because the agent removes the old window before it writes its pid file.
        while not (self._agent_lives(False) and self._read_window()):
            if self._clock.time() > self._until:
                remove_unit(self._unit)
                return
            self._clock.sleep(proc.LOOK)
        past = [n for n, event in enumerate(self._events) if event["kind"] == "power" and self._due(event) <= self._clock.time()]
        self._events = self._events[max(past, default=-1) + 1 :]
        self.serve()

    def serve(self):
        due = [event for event in self._events if event["kind"] != "power"]
        while self._agent_lives(self._clock.time() < self._until):
            self._read_window()
            if self._window is None:
                if self._clock.time() > self._until:
                    break
            elif due and self._clock.time() >= self._due(due[0]) - AHEAD:
                self._do(due[0], self._due(due[0]))
                del due[0]
                continue
            elif self._clock.time() >= self._window[1]:
                self._end()
                return
            self._clock.sleep(proc.LOOK)
        for event in self._faults.undo(starts=False):
            self._do(event, 0)
        remove_unit(self._unit)

    def _due(self, event):
        return self._window[0] + event["at"]

    def _end(self):
        for event in self._faults.undo(starts=True):
            self._do(event, 0)
        limit = self._clock.time() + READY
        ready = self._faults.are_ready()
        while not ready and self._clock.time() < limit and self._agent_lives(False):
            self._clock.sleep(PROBE)
            ready = self._faults.are_ready()
        self._say({"whole": self._clock.time() if ready else None})
        remove_unit(self._unit)

    def _do(self, event, moment):
        began = finished = effect = error = None
        try:
            carry_out = self._faults.prepare(event)
            while self._clock.time() < moment:
                self._clock.sleep(min(proc.LOOK, max(0.0, moment - self._clock.time())))
            began = self._clock.time()
            effect = carry_out()
            finished = self._clock.time()
        except (OSError, RuntimeError, ValueError, AgentError) as failure:
            error = str(failure)
        self._say({"n": event["n"], "kind": event["kind"], "began": began, "done": finished, "what": effect, "error": error})

    def _say(self, message):
        with (self._folder / "done.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")

    def _read_window(self):
        # Read the window again, because the warm-up may end earlier than planned.
        with contextlib.suppress(OSError, ValueError):
            begin, end = map(float, (self._folder / "window").read_text("ascii").split())
            self._window = begin, end
            self._faults.until = end
        return self._window

    def _agent_lives(self, before):
        """Returns whether conversation.py is running, or `before` if it has not started yet."""
        agent = proc.read_pid(self._folder / "agent")
        return proc.is_alive(*agent) if agent else before


def serve(processes, host, plan):
    undo(processes)
    names = started(processes, plan["role"])
    plan["servers"] = [name for name, _ in Servers(processes, [name for name in names if name not in plan["spared"]]).running()]
    switched = any(event["kind"] == "power" for event in plan["events"])
    if switched and (spared := Servers(processes, [name for name in names if name in plan["spared"]]).running()):
        raise AgentError(f"power: {named(spared)} runs here and must not end; name another host")
    folder = folder_of(processes, host)
    folder.mkdir(exist_ok=True)
    (folder / "done.jsonl").touch()
    (folder / "plan").write_text(json.dumps(plan), "utf-8")
    processes.own(folder, folder / "done.jsonl")
    if switched:
        install_unit(processes, host, plan["unit"], plan["folders"])
    reader, writer = os.pipe()
    if child := os.fork():
        # This pid file makes the host's sampler count the process as one of Dohyo's.
        proc.write_pid(folder / "pid", child)
        os.write(writer, b"\n")
        return
    os.close(writer)
    if not os.read(reader, 1):
        return  # the parent was killed before it wrote the pid file, without which `undo` cannot end this process
    os.setsid()
    with open(os.devnull, "r+b") as nothing:
        for stream in (0, 1, 2):
            os.dup2(nothing.fileno(), stream)
    Serving(processes, folder, plan).serve()


def boot(processes, host):
    folder = folder_of(processes, host)
    proc.write_pid(folder / "pid", os.getpid())
    Serving(processes, folder, json.loads((folder / "plan").read_text("utf-8"))).go_on()


def folder_of(processes, host):
    return Path(processes.run, f"fault-{host}")


def undo(processes):
    failures = []
    for folder in sorted(Path(processes.run).glob("fault-*")):
        if process := proc.read_pid(folder / "pid"):
            while proc.is_alive(*process):
                os.kill(process[0], signal.SIGKILL)
                time.sleep(proc.LOOK)
        plan = {"servers": [], "unit": ""}
        with contextlib.suppress(OSError, ValueError):  # the earlier `serve` may have ended before it wrote its plan
            plan = json.loads((folder / "plan").read_text("utf-8"))
        faults = Faults(processes, folder, plan)
        # Undo as much as possible: another fault, such as a pause, must not stay because one cannot be undone.
        before = len(failures)
        for step in (*map(faults.prepare, faults.undo(starts=False)), lambda unit=plan["unit"]: remove_unit(unit)):
            try:
                if effect := step():
                    sys.stdout.write(f"undone: {effect}\n")
            except (OSError, RuntimeError) as failure:
                failures.append(str(failure))
        if len(failures) > before:
            continue  # the next call tries again
        for file in ("agent", "done.jsonl", "pid", "plan", "window"):
            (folder / file).unlink(missing_ok=True)
        for file in (*folder.glob("changed*"), *folder.glob("*.new")):
            file.unlink(missing_ok=True)  # changed.PID.new, which a killed process leaves, matches both patterns
        with contextlib.suppress(OSError):  # the folder may contain files that this program did not write
            folder.rmdir()
    if failures:
        raise AgentError(f"faults are not undone: {'; '.join(failures)}")


def main(processes, verb="", *arguments):
    if verb == "check":
        for reason in wrong(arguments, json.load(sys.stdin)):
            sys.stdout.write(reason + "\n")
    elif verb == "serve":
        serve(processes, arguments[0], json.load(sys.stdin))
    elif verb == "boot":
        boot(processes, arguments[0])
    elif verb == "undo":
        undo(processes)
    else:
        raise AgentError(f"unknown verb 'faults {verb}'; use check, serve, boot or undo")
