"""Starts, watches and stops all processes that Dohyo runs on this host.

Files of the process NAME in HOME/run/NAME: pid (format: proc.py), exit (exit code), errors (link to ERR),
command (DIR OUT ERR COMMAND…, each followed by a NUL; empty for a systemd unit), probes (commands that succeed when NAME is
ready, one JSON list per line), and for a systemd unit also unit (units.py).

Dohyo marks its processes with an environment variable that contains the secret of this installation and the process name. A
process without this mark is never stopped, even if a pid file names it. A process whose pid file was lost is found by its mark.
"""

import os
import sys
import time

import proc
from failure import AgentError

HERE = os.path.dirname(os.path.abspath(__file__))
SELF = [sys.executable, "-EsSB", os.path.join(HERE, "agent.py")]  # command of this program
HOME = os.path.dirname(os.path.dirname(HERE))  # folder of the deployment, if the modules are in HOME/bin/modules
# Maximum seconds for one check. It is high because ZooKeeper 3.8 never answers a request sent before it has read its database.
LONGEST_CHECK = 150
LONGEST_START = 30  # maximum seconds for a supervisor to start its process
LONGEST_KILL = 10  # maximum seconds for the kernel to end a killed process
LONGEST_EXIT = 30  # maximum seconds for a supervisor to write the exit code; a busy machine or SIGSTOP may delay it
REST = 0.2  # maximum seconds between two checks
MARKED = 2.0  # seconds that a process on a busy host may take until its new program shows the mark
TERM, KILL, STOP_SIGNAL = 15, 9, 19  # numbers instead of the module `signal`, whose import would double the time of a call
RUNS, ENDED, NOT_STARTED = 0, 3, 4  # exit codes of the verb `status`
FIRST_ERROR = rb" \[?(?:ERROR|FATAL|CRITICAL)\]? |^(?:Error: |Exception in |[a-z.]+\.[A-Za-z]*(?:Exception|Error))"


class Processes:
    """Manages the processes that were started from one home folder.

    All modules of the agent that wait use `clock`: the module `time`, or in tests an object with the same functions.
    """

    def __init__(self, home=HOME, clock=time):
        self.home = home
        self.clock = clock
        self.run = os.path.join(home, "run")
        if os.path.islink(self.run):
            target = os.readlink(self.run)
            raise AgentError(f"{self.run} is a symbolic link to {target}, and links are not followed; remove the link")

    def path(self, name, *file):
        """Returns the path of the folder of NAME, or of a file in that folder."""
        return os.path.join(self.run, name, *file)

    def secret(self):
        """Returns the secret of this installation. Creates the secret if it is missing."""
        file = os.path.join(self.run, "secret")
        try:
            if secret := proc.read(file).decode("ascii").strip():
                return secret
            os.unlink(file)
        except OSError:
            pass
        os.makedirs(self.run, exist_ok=True)
        new = f"{file}.{os.getpid()}.new"
        output = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(output, proc.read("/proc/sys/kernel/random/uuid"))
            # Several agents may share this folder. Linking is atomic and succeeds only once, so all agents use the same secret.
            os.link(new, file)
        except FileExistsError:
            pass
        finally:
            os.close(output)
            os.unlink(new)
        return proc.read(file).decode("ascii").strip()

    def mark(self, name):
        """Returns the environment variable that marks the processes of NAME."""
        return f"DOHYO_SERVICE={self.secret()}:{name}"

    def own(self, *files):
        """Gives files that root created to the owner of the home, who must be able to write and remove them."""
        if os.geteuid() == 0:
            owner = os.stat(proc.__file__)
            for file in files:
                os.chown(file, owner.st_uid, owner.st_gid, follow_symlinks=False)

    def is_unit(self, name):
        """Returns whether NAME was started as a systemd unit."""
        return os.path.exists(self.path(name, "unit"))

    def unit(self, name):
        """Returns the unit of NAME. The module is imported here, because most processes are not units."""
        import units

        return units.Unit(self, name)

    # ---- What runs ----

    def pid(self, name):
        """Returns the pid of NAME if the process that was started is still running, otherwise None."""
        if self.is_unit(name):
            return self.unit(name).pid()
        process = proc.read_pid(self.path(name, "pid"))
        return process[0] if process and proc.is_alive(*process) and self._has_mark(process[0], name) else None

    def _has_mark(self, pid, name):
        """Returns whether a process has the mark of NAME. Waits for it, because it is hidden while the process replaces its program."""
        mark = self.mark(name).encode()
        try:
            return proc.waited(lambda: mark in proc.read(f"/proc/{pid}/environ").split(b"\0"), MARKED)
        except OSError:
            return False

    def marked(self, name):
        """Returns the pids of the process NAME, its supervisor and their children. For a unit, returns only the main pid."""
        if self.is_unit(name):
            pid = self.pid(name)
            return [pid] if pid else []
        mark, pids = self.mark(name).encode(), []
        for pid in proc.process_ids():
            try:
                environment = proc.environment(pid)
            except OSError:  # the process has ended or belongs to another user
                continue
            if mark in environment and mark in environment.split(b"\0") and proc.start_time(pid) is not None:
                pids.append(pid)
        return sorted(pids)

    def _is_supervised(self, name):
        for pid in self.marked(name):
            try:
                if b"supervise" in proc.read(f"/proc/{pid}/cmdline").split(b"\0"):
                    return True
            except OSError:
                pass
        return False

    # ---- How it ended ----

    def exit_code(self, name):
        """Returns the exit code of NAME, or 128 + the signal that ended it, or None if the exit code is unknown."""
        try:
            return int(proc.read(self.path(name, "exit")))
        except (OSError, ValueError):
            return None

    def is_over(self, name):
        """Returns whether NAME has ended and its exit code either is recorded or cannot be recorded any more."""
        if self.is_unit(name):
            return self.unit(name).note_exit()
        has_exit = self.exit_code(name) is not None
        return has_exit or not os.path.exists(self.path(name, "pid")) or not self._is_supervised(name)

    def how_it_ended(self, name, patience=LONGEST_EXIT):
        """Waits up to `patience` seconds for the end of NAME, and returns a sentence that says how NAME ended."""
        proc.waited(lambda: self.is_over(name), patience, self.clock)
        code = self.exit_code(name)
        if code is not None:
            return f"{name} ended with exit code {code}{_signal(code)}: {self.last_words(name)}"
        if os.path.exists(self.path(name, "pid")):
            message = self.last_words(name)
            return f"{name} vanished without an exit code (killed together with its supervisor?): {message}"
        return f"{name} was not started"

    def last_words(self, name):
        """Returns the last ERROR: line of NAME's log, otherwise the first error and the next line, otherwise the last line."""
        import re

        try:
            text = proc.read(self.path(name, "errors"))
        except OSError:
            return ""
        if errors := re.findall(rb"^ERROR: .*", text, re.MULTILINE):
            line = errors[-1]
        elif error := re.search(FIRST_ERROR, text, re.MULTILINE):
            begin = text.rfind(b"\n", 0, error.start()) + 1
            line = b" ".join(text[begin:].split(b"\n", 2)[:2])
        else:
            line = text.rstrip(b"\n").rpartition(b"\n")[2]
        return line.decode("utf-8", "replace")[:600]

    def was_started(self, name):
        """Returns whether NAME was started. NAME may have ended since then."""
        return os.path.exists(self.path(name, "pid")) or self.is_unit(name)

    def status(self, name, patience=LONGEST_EXIT):
        """Returns a sentence that describes the state of NAME, and the state: RUNS, ENDED or NOT_STARTED."""
        if pid := self.pid(name):
            return f"{name} is running as process {pid}", RUNS
        return self.how_it_ended(name, patience), ENDED if self.was_started(name) else NOT_STARTED

    # ---- Starting ----

    def refuse_second(self, name):
        """Raises AgentError if NAME is already running."""
        if pids := self.marked(name):
            listed = ", ".join(map(str, pids))
            way_out = f"{self.home}/bin/agent stop {name} 60"
            raise AgentError(f"{name} is already running as process {listed}; stop it first: {way_out}")

    def start(self, name, folder, out, err, *command):
        """Starts NAME in a folder and a new session, and writes its output to files. Raises AgentError if NAME does not start."""
        has_begun = self.begin(name, folder, out, err, *command)
        if not proc.waited(has_begun, LONGEST_START, self.clock):
            raise AgentError(f"{name} was not started: {self.last_words(name)}")

    def begin(self, name, folder, out, err, *command):
        """Begins to start NAME. Returns a function that returns whether NAME has started. Both raise AgentError on failure."""
        import fcntl
        import subprocess

        os.makedirs(self.path(name), exist_ok=True)
        with open(self.path(name, "lock"), "w", encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise AgentError(f"another process is starting {name}") from None
            self.refuse_second(name)
            log = os.path.join(folder, err)
            with open(os.path.join(folder, out), "w", encoding="ascii"), open(log, "a", encoding="ascii"):
                pass
            self.link_log(name, log)
            for file in ("pid", "exit", "unit"):
                _remove(self.path(name, file))
            proc.write(self.path(name, "command"), "".join(f"{part}\0" for part in (folder, out, err, *command)))
            variable, _, value = self.mark(name).partition("=")
            with open(log, "ab") as errors:
                supervisor = subprocess.Popen(
                    [*SELF, "supervise", name, folder, out, err, *command],
                    env={**os.environ, variable: value},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,
                )

        def has_begun():
            ended = supervisor.poll() is not None
            if os.path.exists(self.path(name, "pid")):
                return True
            if ended:
                raise AgentError(f"{name} was not started: {self.last_words(name)}")
            return False

        return has_begun

    def link_log(self, name, err):
        """Creates the link `errors` to the log of NAME."""
        link = self.path(name, "errors")
        _remove(link)
        os.symlink(os.path.realpath(err), link)

    def supervise(self, name, folder, out, err, *command):
        """Acts as the supervisor in the new session: runs the command, and records its pid and later its exit code."""
        import signal

        os.chdir(folder)
        pid = os.fork()
        if pid == 0:
            try:
                output = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
                is_one = os.path.exists(err) and os.path.samefile(out, err)
                errors = output if is_one else os.open(err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
                os.dup2(output, 1)
                os.dup2(errors, 2)
                for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these signals, and a child would inherit this
                    signal.signal(number, signal.SIG_DFL)
                os.execvp(command[0], command)
            except OSError as error:
                os.write(2, f"ERROR: {command[0]} cannot be started: {error.strerror}\n".encode())
                os._exit(127 if isinstance(error, FileNotFoundError) else 126)
        proc.write_pid(self.path(name, "pid"), pid)
        _, status = os.waitpid(pid, 0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        proc.write(self.path(name, "exit"), f"{code}\n")

    def again(self, name):
        """Starts NAME again with the same command. Renames its earlier output to OUT.N and ERR.N. Raises AgentError on failure."""
        try:
            log = os.readlink(self.path(name, "errors"))
            arguments = proc.read(self.path(name, "command")).decode("utf-8", "surrogateescape").split("\0")[:-1]
        except OSError:
            raise AgentError(f"{name} was not started") from None
        if self.pid(name):
            raise AgentError(f"{name} is already running")
        _keep(log)
        if self.is_unit(name):
            self.unit(name).again()
        else:
            _keep(os.path.join(arguments[0], arguments[1]))
            self.start(name, *arguments)

    # ---- Readiness ----

    def until(self, name, seconds, command):
        """Waits until a command succeeds. Raises AgentError after `seconds`, or as soon as NAME ends."""
        begin = self.clock.monotonic()
        while (remaining := begin + seconds - self.clock.monotonic()) > 0:
            used = _used_by_children()
            if succeeds(command, remaining):
                return
            if not self.pid(name):
                raise AgentError(self.how_it_ended(name))
            # Pause for as long as the check used a processor, so that checks leave processor time to the starting server.
            self.clock.sleep(max(self._rest(begin), _used_by_children() - used))
        if not self.pid(name):
            raise AgentError(self.how_it_ended(name))
        raise AgentError(f"{name} is not ready after {seconds} s: {self.last_words(name)}")

    def ready(self, name, seconds, command):
        """Waits like `until`, and records the command as a readiness check for `probe`."""
        import json

        line = json.dumps(command) + "\n"
        with open(self.path(name, "probes"), "a+", encoding="utf-8") as probes:
            probes.seek(0)
            if line not in probes.readlines():
                probes.write(line)
        self.until(name, seconds, command)

    def probe(self, name):
        """Returns whether NAME is running and all its recorded readiness checks succeed."""
        import json

        if not self.pid(name):
            return False
        try:
            with open(self.path(name, "probes"), encoding="utf-8") as probes:
                return all(succeeds(json.loads(line), LONGEST_CHECK) for line in probes)
        except FileNotFoundError:
            return True

    # ---- Stopping ----

    def stop(self, name, seconds):
        """Sends TERM to NAME, waits, and sends KILL; with 0 seconds, only KILL. Returns a sentence, or "" if NAME did not run.

        Raises AgentError if NAME does not end even then, for example because it waits for a disk.
        """
        pids = self.marked(name)
        if not pids:
            return ""
        self.ask_to_end(name, pids, KILL if seconds == 0 else TERM)
        # Even after KILL, the kernel needs a moment to end the process.
        if self.wait_for_end(name, seconds or LONGEST_KILL):
            return f"stopped {name}"
        proc.send(KILL, self.marked(name))
        if not self.wait_for_end(name, LONGEST_KILL):
            listed = ", ".join(map(str, self.marked(name)))
            raise AgentError(f"{name} still runs as process {listed}, {LONGEST_KILL} s after SIGKILL")
        return f"killed {name}: it did not stop within {seconds or LONGEST_KILL} s"

    def ask_to_end(self, name, pids, number):
        """Sends a signal to the process but not to its supervisor, so that the supervisor can record the exit code."""
        pid = self.pid(name)
        proc.send(number, [pid] if pid else pids)

    def wait_for_end(self, name, seconds):
        """Waits up to `seconds` for all processes of NAME to end. Returns whether they have ended."""
        begin = self.clock.monotonic()
        while self.marked(name):
            if self.clock.monotonic() >= begin + seconds:
                return False
            self.clock.sleep(self._rest(begin))
        return True

    def _rest(self, begin):
        """Returns the seconds until the next check: a tenth of the time since the first check, but at most REST."""
        return min(max((self.clock.monotonic() - begin) / 10, proc.LOOK), REST)

    def stop_all(self, seconds, killed="", *spared):
        """Stops all processes, in reverse order of their start, and removes files with connection settings. Yields what was done.

        :param killed: name of a process that is killed immediately, together with all NAME-PART
        :param spared: lanes whose processes keep running
        :raises AgentError: after all others were stopped, if a process could not be stopped
        """
        started, failures = [], []
        for name in _folders(self.run):
            if any(proc.belongs(name, lane) for lane in spared):
                continue
            for file in ("lock", "unit"):
                try:
                    started.append((os.stat(self.path(name, file)).st_mtime_ns, name))
                except OSError:
                    pass
        roles = {name.partition("-")[0] for name in _folders(self.run) + _folders(os.path.join(self.home, "attached"))}
        roles -= {*spared}
        for file in os.listdir(self.run) if os.path.isdir(self.run) else ():
            path = os.path.join(self.run, file)
            is_ours = file.endswith(".properties") and file[: -len(".properties")].partition("-")[0] in roles
            if is_ours and os.path.isfile(path) and not os.path.islink(path):
                os.unlink(path)
        for _, name in sorted(started, reverse=True):
            is_killed = killed and (name == killed or name.startswith(f"{killed}-"))
            try:
                if sentence := self.stop(name, 0 if is_killed else seconds):
                    yield sentence
            except (AgentError, OSError) as failure:
                failures.append(str(failure))
        if failures:
            raise AgentError("; ".join(failures))


def succeeds(command, seconds):
    """Returns whether a command succeeds within `seconds` (at most LONGEST_CHECK). Kills it with all descendants if it is late."""
    import subprocess

    nothing = subprocess.DEVNULL
    try:
        check = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    except OSError:
        return False
    try:
        return check.wait(min(seconds, LONGEST_CHECK)) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        if check.poll() is None:
            # Stop the process first, so that it cannot start more children.
            proc.send(STOP_SIGNAL, [check.pid])
            children = proc.descendants([check.pid], [check.pid])
            proc.send(STOP_SIGNAL, children)
            proc.send(KILL, [check.pid, *children, *proc.descendants([check.pid], [check.pid])])
            check.wait()


def _used_by_children():
    times = os.times()
    return times.children_user + times.children_system


def _signal(code):
    if code <= 128:
        return ""
    import signal

    try:
        return f" (signal {signal.Signals(code - 128).name[3:]})"
    except ValueError:
        return f" (signal {code - 128})"


def _folders(path):
    try:
        return [entry.name for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _keep(file):
    number = 1
    while os.path.exists(f"{file}.{number}"):
        number += 1
    if os.path.exists(file):
        os.rename(file, f"{file}.{number}")


def _remove(file):
    try:
        os.unlink(file)
    except FileNotFoundError:
        pass
