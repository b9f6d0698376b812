"""Reads /proc, and reads and writes pid files. All other modules use this one.

The kernel reuses pids, so only the pid and the start time together identify a process. A pid file contains both: "PID START-TIME",
the latter in clock ticks since boot.
"""

import os
import time

HEARTBEAT = 30.0  # seconds without a message after which the connection to the controller counts as lost
EXEC = 0.2  # seconds that a process may take to replace its program
EXITING, KERNEL_THREAD = 0x00000004, 0x00200000  # PF_EXITING and PF_KTHREAD, flags in /proc/PID/stat
LOOK = 0.02  # seconds between two checks of something that is about to happen


def read(path):
    """Returns the content of a file as bytes. Raises OSError if it cannot be read."""
    # os.open is three times as fast as open(), and the sampler reads one file per process every second.
    file = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(file, 65536):
            parts.append(part)
    finally:
        os.close(file)
    return b"".join(parts)


def stat(pid):
    """Returns the fields after the name in /proc/PID/stat; a name may contain spaces and brackets. Raises OSError if the pid is unused."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def start_time(pid):
    """Returns the start time of a process, or None if the process has ended or is a zombie."""
    try:
        fields = stat(pid)
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def is_alive(pid, start):
    """Returns whether a process with this pid and start time is running."""
    return start is not None and start_time(pid) == start


def environment(pid):
    """Returns the environment variables of a process as bytes. Raises OSError if they cannot be read.

    The kernel shows none while a process replaces its program (execve), so this function waits for the new program.
    """
    content = b""

    def is_known():
        nonlocal content
        content = read(f"/proc/{pid}/environ")
        return content or int(stat(pid)[6]) & (EXITING | KERNEL_THREAD)

    waited(is_known, EXEC)
    return content


def process_ids():
    """Returns the pids of all processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def descendants(pids, sessions=()):
    """Returns the pids of these processes' descendants, and of the other processes in these sessions with their descendants."""
    parents, family = {}, list(pids)
    for pid in process_ids():
        try:
            fields = stat(pid)
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(pid)
        if int(fields[3]) in sessions and pid not in family:
            family.append(pid)
    for pid in family:
        family += [child for child in parents.get(pid, []) if child not in family]
    return family[len(pids) :]


def send(number, pids):
    """Sends a signal to each process that is still running. Raises PermissionError if a process belongs to another user."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def read_pid(file):
    """Returns the pid and start time from a pid file, or None if the file is missing or lacks the start time."""
    try:
        pid, start = read(file).split()
        return int(pid), int(start)
    except (OSError, ValueError):
        return None


def write_pid(file, pid):
    """Writes a pid file. The process may be a zombie. Raises OSError if the process no longer exists."""
    write(file, f"{pid} {int(stat(pid)[19])}\n")


def write(file, text, sync=False):
    """Writes a file atomically, so that readers never see a part of it. Raises OSError if this fails."""
    new = f"{file}.{os.getpid()}.new"  # other agents on the same machine may write the same file
    with open(new, "w", encoding="utf-8", errors="surrogateescape") as output:
        output.write(text)
        if sync:
            output.flush()
            os.fsync(output.fileno())
    os.replace(new, file)


def waited(holds, seconds, clock=time):
    """Waits up to `seconds` until `holds()` returns a true value. Returns the last value of `holds()`."""
    end = clock.monotonic() + seconds
    while not (answer := holds()) and clock.monotonic() < end:
        clock.sleep(LOOK)
    return answer


def in_lane(name, lane):
    """Returns the name of a process. The lane is its suffix if trials of several systems take turns on the hosts."""
    return f"{name}.{lane}" if lane else name


def belongs(name, lane):
    """Returns whether the process NAME belongs to the trial of that lane (a system's role). If lane is "", the result is true."""
    return not lane or name == lane or name.startswith(f"{lane}-") or name.endswith(f".{lane}")
