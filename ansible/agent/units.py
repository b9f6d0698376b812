"""Starts and watches processes that run as systemd units.

The folder HOME/run/NAME (processes.py) also contains the file unit ("UNIT INVOCATION"). HOME/run/slice contains the name of the
units' slice and its properties, one per line. Each unit file contains the mark of processes.py, and runs as the owner of the home.
"""

import glob
import os
import subprocess

import proc
from processes import AgentError

UNITS = "/etc/systemd/system"


def asked(unit, name):
    """Returns a property of a unit, as systemd reports it. The result is empty if the property is not set.

    Raises AgentError if systemd does not answer, because then the unit may be running.
    """
    argv = ["systemctl", "show", "--property", name, "--value", "--", unit]
    answer = subprocess.run(argv, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise AgentError(f"systemd does not say whether {unit} runs: {answer.stderr.strip()}")
    return answer.stdout.strip()


def as_root(*argv, text=None):
    """Runs a program that needs root. Raises AgentError if this process is not root.

    :returns: whether it succeeded
    """
    if os.geteuid():
        raise AgentError(f"'{' '.join(argv)}' needs root")
    return subprocess.run(argv, input=text, text=True, check=False).returncode == 0


def must(*argv):
    """Runs a program as `as_root` does, and raises AgentError if the program fails."""
    if not as_root(*argv):
        raise AgentError(f"'{' '.join(argv)}' failed")


class Unit:
    """The systemd unit of the process NAME."""

    def __init__(self, processes, name):
        self._processes = processes
        self._name = name

    @property
    def unit(self):
        """Name of the unit in systemd."""
        return proc.read(self._processes.path(self._name, "unit")).decode("ascii").split()[0]

    def pid(self):
        """Returns the pid of the unit's main process, or None if that process is not running."""
        pid = int(asked(self.unit, "MainPID") or 0)
        # systemd may still report a process that has just ended.
        return pid if pid and proc.start_time(pid) is not None else None

    def note_exit(self):
        """Writes the exit code if systemd reports one. Returns whether the process has ended."""
        if asked(self.unit, "MainPID") not in ("", "0"):
            return False
        code = asked(self.unit, "ExecMainStatus")
        if code:
            # With the codes CLD_KILLED (2) and CLD_DUMPED (3), the status is the number of a signal.
            number = int(code) + (128 if int(asked(self.unit, "ExecMainCode") or 0) >= 2 else 0)
            file = self._processes.path(self._name, "exit")
            proc.write(file, f"{number}\n")
            self._processes.own(file)
        return True

    def start(self, err, unit, text, slice_words):
        """Starts NAME as that unit. Raises AgentError if it does not start, or if the unit file exists without Dohyo's mark.

        :param text: content of the unit's file
        :param slice_words: name of the unit's slice, and the properties to set on the slice beforehand; empty without a slice
        """
        processes, name = self._processes, self._name
        os.makedirs(processes.path(name), exist_ok=True)
        mark = processes.mark(name)
        processes.own(processes.run, os.path.join(processes.run, "secret"), processes.path(name))
        processes.refuse_second(name)
        file = os.path.join(UNITS, unit)
        if os.path.lexists(file) and not is_ours(processes, file):
            raise AgentError(f"{file} already exists and was not written by {processes.home}/bin/agent; remove or rename it")
        text += f"\n[Service]\nEnvironment={mark}\nUser={owner()}\n"
        # The file must be readable without root, because destroy.yml checks the mark before it becomes root.
        if not as_root("install", "-m", "644", "--", "/dev/stdin", file, text=text):
            raise AgentError(f"{file} cannot be written")
        must("systemctl", "daemon-reload")
        if slice_words:
            proc.write(os.path.join(processes.run, "slice"), "".join(f"{entry}\n" for entry in slice_words))
            processes.own(os.path.join(processes.run, "slice"))
            limit_slice(processes)
        # Record the unit first: systemd starts it even if this program is killed meanwhile, and stop-all must find it.
        proc.write(processes.path(name, "unit"), f"{unit}\n")
        processes.own(processes.path(name, "unit"))
        has_started = as_root("systemctl", "start", "--", unit)
        processes.link_log(name, err)
        if os.path.exists(processes.path(name, "exit")):
            os.unlink(processes.path(name, "exit"))
        proc.write(processes.path(name, "command"), "")
        processes.own(processes.path(name, "command"))
        self._note(unit)
        if not has_started:
            raise AgentError(f"{unit} did not start: {processes.how_it_ended(name)}")

    def again(self):
        """Starts the unit again after it ended. Raises AgentError if the unit does not start."""
        if os.path.exists(self._processes.path(self._name, "exit")):
            os.unlink(self._processes.path(self._name, "exit"))
        limit_slice(self._processes)
        unit = self.unit
        if not as_root("systemctl", "start", "--", unit):
            raise AgentError(f"{unit} did not start: {self._processes.how_it_ended(self._name)}")
        self._note(unit)

    def _note(self, unit):
        pid, path = asked(unit, "MainPID"), self._processes.path
        proc.write(path(self._name, "pid"), f"{pid} {proc.start_time(pid) or ''}\n")
        proc.write(path(self._name, "unit"), f"{unit} {asked(unit, 'InvocationID')}\n")
        self._processes.own(*(path(self._name, file) for file in ("errors", "pid", "unit")))


def owner():
    """Returns the name of the user who owns the home."""
    import pwd

    return pwd.getpwuid(os.stat(proc.__file__).st_uid).pw_name


def is_ours(processes, file):
    """Returns whether a unit file contains the mark of this installation, for any process name."""
    if os.path.islink(file) or not os.path.isfile(file):
        return False
    return f"Environment={processes.mark('')}".encode() in proc.read(file)


def limit_slice(processes):
    """Sets the properties of the slice. They are valid until the next boot."""
    if arguments := _slice(processes):
        must("systemctl", "set-property", "--runtime", "--", *arguments)


def _slice(processes):
    try:
        return proc.read(os.path.join(processes.run, "slice")).decode().splitlines()
    except OSError:
        return []


def files(processes):
    """Returns the paths of the unit files that contain the mark of this installation."""
    if not os.path.exists(os.path.join(processes.run, "secret")):
        return []
    return [file for file in sorted(glob.glob(f"{UNITS}/dohyo-*.service")) if is_ours(processes, file)]


def remove(processes):
    """Removes the unit files with the mark of this installation and the properties of the slice. Raises AgentError on failure."""
    for file in files(processes):
        must("rm", "--", file)
    if arguments := _slice(processes):
        must("systemctl", "revert", "--", arguments[0])
