"""Finds the process that listens on a port of this host, and checks whether Dohyo started it.

Also starts processes that listen in the background.
"""

from __future__ import annotations

import errno
import glob
import os
import signal
import socket
from collections.abc import Callable

LISTENING = "0A"
ANY_ADDRESS = "00000000"


def sockets(address: str, port: int) -> set[str]:
    """Returns the sockets that listen on an address and port. They are named like the links in /proc/PID/fd."""
    # The kernel prints an IPv4 address as a number in this machine's byte order. In tcp6, the number is the end of the address.
    number = socket.inet_aton(socket.gethostbyname(address))[::-1].hex().upper()
    links = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            with open(table, encoding="ascii") as lines:
                rows = [line.split() for line in lines][1:]
            for row in rows:
                host, _, its_port = row[1].partition(":")
                if row[3] == LISTENING and int(its_port, 16) == port and host[-8:] in (number, ANY_ADDRESS):
                    links.add(f"socket:[{row[9]}]")
    return links


def can_listen(address: str, port: int) -> int:
    """Tries to listen on a port. Returns 0 or the error number. Ports of connections that just ended count as free."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError as error:
            return error.errno or errno.EIO
    return 0


def having(links: set[str]) -> list[str]:
    """Returns the pids of the processes that have opened one of these sockets, as far as this user can see them."""
    pids = []
    for link in glob.iglob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(link) in links:
                pids.append(link.split("/")[2])
        except OSError:
            continue
    return pids


def our_mark(secret: str) -> bytes:
    """Returns the beginning of the environment variable that marks Dohyo's processes. Without a secret, no process matches."""
    try:
        with open(secret, encoding="ascii") as file:
            return f"DOHYO_SERVICE={file.read().strip()}:".encode()
    except FileNotFoundError:
        return b"DOHYO_SERVICE=:"


def carries(pid: str, mark: bytes) -> bool:
    """Returns whether the environment of a process contains the mark, which means that Dohyo started the process."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return any(variable.startswith(mark) for variable in environ.read().split(b"\0"))
    except OSError:
        return False


def command_of(pids: list[str]) -> str:
    """Returns the name and pid of the first process."""
    if not pids:
        return "a process of another user"
    try:
        with open(f"/proc/{pids[0]}/comm", encoding="utf-8") as file:
            return f"{file.read().strip()}, process {pids[0]}"
    except OSError:
        return "a process that has ended"


def in_background(lifetime: int, work: Callable[[], None]) -> int:
    """Starts a background process that calls `work`, and returns its pid. The kernel ends it after `lifetime` seconds."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(lifetime)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):  # the caller waits until these streams are closed
                os.dup2(nothing, stream)
            work()
        finally:
            os._exit(0)
    return pid
