"""Our processes that are units of systemd.

Files of NAME in HOME/run/NAME, beside those of processes.py: unit ("UNIT INVOCATION"). The slice of the units is named in
HOME/run/slice, with its properties, each on a line. To a unit's file are added our mark and, as its user, the owner of the home.
"""

import glob
import os
import subprocess

import proc
from processes import AgentError

UNITS = "/etc/systemd/system"


def asked(unit, what):
    """Returns what systemd says of a unit; empty where it says nothing."""
    words = ["systemctl", "show", "--property", what, "--value", "--", unit]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def as_root(*words, text=None):
    """Runs a program that takes root; whoever calls this gets root by the means of the site. Raises AgentError without it.

    :returns: whether it succeeded
    """
    if os.geteuid():
        raise AgentError(f"'{' '.join(words)}' takes root")
    return subprocess.run(words, input=text, text=True, check=False).returncode == 0


def must(*words):
    """Runs a program like as_root; raises AgentError if it fails."""
    if not as_root(*words):
        raise AgentError(f"'{' '.join(words)}' failed")


class Unit:
    """The unit of NAME."""

    def __init__(self, processes, name):
        self._processes = processes
        self._name = name

    @property
    def unit(self):
        """Its name in systemd."""
        return proc.read(self._processes.path(self._name, "unit")).decode("ascii").split()[0]

    def pid(self):
        """Returns the pid of its process; None where none runs."""
        pid = int(asked(self.unit, "MainPID") or 0)
        # It may be gone already, and systemd about to notice.
        return pid if pid and proc.start_time(pid) is not None else None

    def note_exit(self):
        """Writes the exit code once systemd has it; returns whether it has."""
        if asked(self.unit, "MainPID") not in ("", "0"):
            return False
        code = asked(self.unit, "ExecMainStatus")
        if code:
            # CLD_KILLED, CLD_DUMPED: the status is a signal.
            number = int(code) + (128 if int(asked(self.unit, "ExecMainCode") or 0) >= 2 else 0)
            file = self._processes.path(self._name, "exit")
            proc.write(file, f"{number}\n")
            self._processes.own(file)
        return True

    def start(self, err, unit, text, slice_words):
        """Starts NAME as that unit; raises AgentError where it does not start, and for a unit of that name which is not ours.

        :param text: of the unit's file
        :param slice_words: its slice, and the properties that this gets before; empty without one
        """
        processes, name = self._processes, self._name
        os.makedirs(processes.path(name), exist_ok=True)
        mark = processes.mark(name)
        processes.own(processes.run, os.path.join(processes.run, "secret"), processes.path(name))
        processes.refuse_second(name)
        file = os.path.join(UNITS, unit)
        if os.path.lexists(file) and not is_ours(processes, file):
            raise AgentError(f"{file} is there already and was not written by {processes.home}/bin/agent; remove or rename it")
        text += f"\n[Service]\nEnvironment={mark}\nUser={owner()}\n"
        # Anybody may read it: by its mark, destroy.yml tells it from others before it asks for root.
        if not as_root("install", "-m", "644", "--", "/dev/stdin", file, text=text):
            raise AgentError(f"{file} cannot be written")
        must("systemctl", "daemon-reload")
        if slice_words:
            proc.write(os.path.join(processes.run, "slice"), "".join(f"{word}\n" for word in slice_words))
            processes.own(os.path.join(processes.run, "slice"))
            limit_slice(processes)
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
        """Starts the unit that has ended; raises AgentError."""
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
    """Returns the name of the user whose the home is."""
    import pwd

    return pwd.getpwuid(os.stat(proc.__file__).st_uid).pw_name


def is_ours(processes, file):
    """Returns whether a unit's file carries our mark, whatever the name."""
    if os.path.islink(file) or not os.path.isfile(file):
        return False
    return f"Environment={processes.mark('')}".encode() in proc.read(file)


def limit_slice(processes):
    """Limits the slice in the running system, as a boot forgets it."""
    if words := _slice(processes):
        must("systemctl", "set-property", "--runtime", "--", *words)


def _slice(processes):
    try:
        return proc.read(os.path.join(processes.run, "slice")).decode().splitlines()
    except OSError:
        return []


def files(processes):
    """Returns the files of the units that were written here."""
    if not os.path.exists(os.path.join(processes.run, "secret")):
        return []
    return [file for file in sorted(glob.glob(f"{UNITS}/dohyo-*.service")) if is_ours(processes, file)]


def remove(processes):
    """Removes these units, and the properties of the slice; raises AgentError."""
    for file in files(processes):
        must("rm", "--", file)
    if words := _slice(processes):
        must("systemctl", "revert", "--", words[0])
