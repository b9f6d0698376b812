"""Measures hosts and the network between them while no server is running (docs/method.md).

The step ``host`` measures processors, memory and disks of this host in about 3 s. ``listen`` starts a listener, and ``end``
stops it. ``network`` measures the paths from this host to the listeners on other hosts in about 3 s. Every figure is measured
in several short slices, and the values of all slices are returned. If a figure cannot be measured, the answer reports a problem,
but the step does not fail. Nothing is left on the host, because the kernel ends a listener after its lifetime.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import random
import re
import socket
import statistics
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from disks import text
from failure import AgentError
from folder_marks import existing, expanded
from listeners import in_background

# Slices per figure. With seven, all values of one canary hardly ever exceed all values of another by chance (docs/method.md).
SLICES = 7
# Seconds for which each figure of a host is measured, including a first slice that does not count.
FIGURE_SECONDS = 0.3
# Factor by which a busy host may exceed these seconds to complete at least the five slices that are needed to show a drift.
MOST_TIMES = 4

# CPU: OpenSSL computes the SHA-256 of these bytes without the interpreter's lock, so threads share only their input. One hash takes
# 2 to 10 ms; if it took less, a hundred threads would wait for the lock.
HASHED = bytes(range(256)) * 2**14
# Memory: each of two buffers is CACHES times the largest cache, within these bounds, but at most 1/MEMORY_SHARE of the memory.
CACHES = 2
LEAST_BUFFER, MOST_BUFFER = 64 * 2**20, 256 * 2**20
MEMORY_SHARE = 32
# Disk: the file is written once before the measurement, so that no slice includes the allocation of blocks.
FILE_NAME = ".dohyo-canary"
FILE_BYTES, PIECE_BYTES, SMALL_BYTES = 64 * 2**20, 8 * 2**20, 4096

# Network: seconds in which a client measures all its servers; maximum seconds per server, a turn; minimum number of servers per
# client, if that many exist. A quarter of each turn is reserved for connecting and for small differences between clocks.
NETWORK_SECONDS = 3.0
TURN_SECONDS = 0.75
LEAST_SERVERS = 4
TURN_MEASURED = 0.75
PATIENCE_SECONDS = 2.0
BLOCK = bytes(64 * 2**10)
LENGTH = struct.Struct("!Q")


def figure(name: str, unit: str, slices: list[float], target: str | None = None) -> dict[str, Any]:
    """Returns a figure. The values of its slices are rounded to four significant digits."""
    return {"name": name, "of": target, "unit": unit, "slices": [float(f"{value:.4g}") for value in slices]}


def sliced(take: Callable[[float], float], seconds: float, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Divides a time into slices and returns the values of `SLICES` of them. The first slice does not count.

    :param take: measures one slice: receives its seconds, which it may exceed, and returns its value
    :returns: at least one value; fewer than `SLICES` if the slices take longer than `MOST_TIMES` times the requested time
    """
    late = clock() + MOST_TIMES * seconds
    values: list[float] = []
    while len(values) <= SLICES and (len(values) < 2 or clock() < late):
        values.append(take(seconds / (SLICES + 1)))
    return values[1:]


def rate(work: Callable[[], int], seconds: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Calls `work` for `seconds`, but at least once. Returns the amount of work per second.

    :param work: does one piece of work and returns its amount
    """
    begin = now = clock()
    amount = 0
    while now < begin + seconds or not amount:
        amount += work()
        now = clock()
    return amount / (now - begin)


# ---- Processors and memory ----


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Pins the thread to the last processor, so that its memory stays local. The first processor handles most interrupts."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(usable)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


def compute() -> int:
    """Computes the hash of bytes that are equal on all hosts. Returns 1."""
    hashlib.sha256(HASHED).digest()
    return 1


def processors(seconds: float) -> list[dict[str, Any]]:
    """Measures computations per second with one thread, and with one thread for each usable processor."""
    with on_one_processor():
        single = sliced(partial(rate, compute), seconds)
    threads = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(threads) as pool:

        def together(of_slice: float) -> float:
            return sum(pool.map(lambda _: rate(compute, of_slice), range(threads)))

        return [figure("cpu_one", "1/s", single), figure("cpu_all", "1/s", sliced(together, seconds))]


def largest_cache() -> int:
    """Returns the size of the first processor's largest cache in bytes, or 0 if the kernel does not report it."""
    sizes = [0]
    folder = "/sys/devices/system/cpu/cpu0/cache"
    for index in os.listdir(folder) if os.path.isdir(folder) else ():
        match = re.match(r"(\d+)K", text(os.path.join(folder, index, "size")))
        sizes += [int(match.group(1)) * 1024] if match else []
    return max(sizes)


def buffer_bytes() -> int:
    """Returns the size of a buffer in bytes. The size does not depend on free memory, so it is the same before all trials."""
    size = min(max(LEAST_BUFFER, CACHES * largest_cache()), MOST_BUFFER)
    return min(size, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEMORY_SHARE)


def memory(seconds: float, size: int) -> list[dict[str, Any]]:
    """Measures how many bytes per second one thread copies from one buffer of `size` bytes to another."""
    with on_one_processor():
        # Write every page first, because all untouched pages map to a single page of zeros, which would stay in a cache.
        source = memoryview(bytes(range(256)) * (size // 256))
        target = memoryview(bytearray(len(source)))

        def copy() -> int:
            target[:] = source
            return len(source)

        return [figure("memory", "B/s", sliced(partial(rate, copy), seconds))]


# ---- Disks ----


class Written:
    """Writes a file repeatedly from beginning to end, in pieces. Each piece is synced to disk."""

    def __init__(self, handle: int, piece: int, size: int) -> None:
        self._handle, self._size, self._offset = handle, size, 0
        self._piece = os.urandom(piece)  # random bytes, which a disk cannot compress

    def write(self) -> int:
        """Writes the next piece and returns its size in bytes. Raises OSError, for example if the disk is full."""
        written = os.pwrite(self._handle, self._piece, self._offset)
        os.fsync(self._handle)
        self._offset = (self._offset + len(self._piece)) % self._size
        return written


class Read:
    """Reads small pieces at random positions of a file, from the disk instead of the page cache."""

    def __init__(self, path: str, size: int) -> None:
        try:
            self._handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: the file system does not support direct reads
                raise
            self._handle = os.open(path, os.O_RDONLY)
        self._pieces, self._random = size // SMALL_BYTES, random.Random(size)  # noqa: S311 - no secret
        # Direct reads need a buffer that begins at a page boundary.
        self._piece = mmap.mmap(-1, SMALL_BYTES)

    def read(self) -> int:
        """Reads one piece and returns 1. Raises OSError if the read fails."""
        offset = self._random.randrange(self._pieces) * SMALL_BYTES
        # If reads are not direct, drop the pages of earlier reads from the cache.
        os.posix_fadvise(self._handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.preadv(self._handle, [self._piece], offset)
        return 1

    def close(self) -> None:
        """Closes the file and frees the memory."""
        os.close(self._handle)
        self._piece.close()


def disk(folder: str, seconds: float, target: str | None, size: int = FILE_BYTES) -> list[dict[str, Any]]:
    """Measures bytes per second of synced sequential writes, synced small writes per second, and random reads per second.

    :param seconds: time for each of the three figures
    :param target: name of the disk in the figures, or None if only one disk is measured
    :param size: bytes of the file, a multiple of PIECE_BYTES
    :raises OSError: if the folder cannot be written to
    """
    path = os.path.join(existing(os.path.abspath(folder)), FILE_NAME)
    # A killed canary may have left the file, which is then replaced and removed.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        large, small = Written(handle, PIECE_BYTES, size), Written(handle, SMALL_BYTES, size)
        for _ in range(size // PIECE_BYTES):
            large.write()
        sequential = sliced(partial(rate, large.write), seconds)
        single = sliced(partial(rate, lambda: small.write() and 1), seconds)
        with closing(Read(path, size)) as pieces:
            random_reads = sliced(partial(rate, pieces.read), seconds)
    finally:
        os.close(handle)
        os.unlink(path)
    return [
        figure("disk_write", "B/s", sequential, target),
        figure("disk_fsync", "1/s", single, target),
        figure("disk_read", "1/s", random_reads, target),
    ]


def host(folders: list[str], seconds: float = FIGURE_SECONDS) -> dict[str, Any]:
    """Returns all figures of this host. The time for the disks is divided among the folders."""
    figures = processors(seconds) + memory(seconds, buffer_bytes())
    problems = []
    for folder in folders:
        try:
            figures += disk(folder, seconds / len(folders), folder if len(folders) > 1 else None)
        except OSError as error:
            problems.append(f"the disk of {folder} was not measured: {error.strerror}")
    return {"figures": figures, "problems": problems}


# ---- Network ----
# The client sends the length of each block, then the block. The listener replies with one byte. A length of 0 ends the listener.


def receive(connection: socket.socket, count: int) -> bytes:
    """Returns the next `count` bytes. Raises ConnectionError if the connection ends earlier."""
    received = b""
    while len(received) < count:
        fresh = connection.recv(count - len(received))
        if not fresh:
            raise ConnectionError("the connection has ended")
        received += fresh
    return received


def serve(listener: socket.socket) -> None:
    """Replies to all clients until one of them ends the listener."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the listener was shut down
            return
        threading.Thread(target=take_blocks, args=(connection, listener), daemon=True).start()


def take_blocks(connection: socket.socket, listener: socket.socket) -> None:
    """Receives blocks until the client or an error ends the connection."""
    buffer = bytearray(2**20)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            (remaining,) = LENGTH.unpack(receive(connection, LENGTH.size))
            if remaining == 0:
                listener.shutdown(socket.SHUT_RDWR)
                return
            while remaining:
                count = connection.recv_into(buffer, min(remaining, len(buffer)))
                if not count:
                    return
                remaining -= count
            connection.sendall(b".")
    except OSError:
        return
    finally:
        connection.close()


def listen(address: str, lifetime: int) -> int:
    """Starts a listener in a new process and returns its port. Raises OSError if the host does not have that address."""
    listener = socket.create_server((address, 0), backlog=1024)
    in_background(lifetime, partial(serve, listener))
    port: int = listener.getsockname()[1]
    listener.close()
    return port


def end(address: str, port: int) -> bool:
    """Ends a listener. Returns whether it could be reached."""
    try:
        with socket.create_connection((address, port), timeout=PATIENCE_SECONDS) as connection:
            connection.sendall(LENGTH.pack(0))
            connection.recv(1)  # wait for the end of the listener
    except OSError:
        return False
    return True


def round_trip(connection: socket.socket, seconds: float) -> float:
    """Returns the median time in ms from sending a byte to receiving the reply."""
    times = []
    begin = now = time.perf_counter()
    while now < begin + seconds or not times:
        connection.sendall(LENGTH.pack(1) + b".")
        receive(connection, 1)
        before, now = now, time.perf_counter()
        times.append(now - before)
    return statistics.median(times) * 1e3


def throughput(connection: socket.socket, seconds: float) -> float:
    """Returns the bytes per second that the listener received. The time ends with the listener's reply to the last block."""
    begin = now = time.perf_counter()
    blocks = 0
    while now < begin + seconds or not blocks:
        connection.sendall(LENGTH.pack(len(BLOCK)) + BLOCK)
        blocks += 1
        now = time.perf_counter()
    receive(connection, blocks)
    return blocks * len(BLOCK) / (time.perf_counter() - begin)


def pair(address: str, port: int, target: str, seconds: float) -> list[dict[str, Any]]:
    """Returns the round-trip time and throughput of the path to one listener. Raises OSError if the listener cannot be reached."""
    with socket.create_connection((address, port), timeout=PATIENCE_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trips = sliced(partial(round_trip, connection), seconds / 2)
        sent = sliced(partial(throughput, connection), seconds / 2)
    return [figure("rtt", "ms", trips, target), figure("throughput", "B/s", sent, target)]


def rotation(client: int, clients: int, servers: int) -> list[int]:
    """Returns the indices of the servers that a client measures, one for each turn.

    In each turn, all clients measure different servers, unless there are more clients than servers. Every server is measured by at
    least one client, and all servers by about the same number of clients.
    """
    count = min(servers, max(LEAST_SERVERS, -(-servers // clients)))
    first = client * servers // clients
    return [(first + turn) % servers for turn in range(count)]


def network(servers: dict[str, dict[str, Any]], client: int, clients: int, seconds: float = NETWORK_SECONDS) -> dict[str, Any]:
    """Returns the round-trip time and throughput to each listener that `rotation` assigns to this client.

    The wall clock determines when a turn begins, so all clients change listeners at the same time without exchanging messages. If
    clocks differ, turns overlap, and the values vary more.

    :param seconds: time for all turns; it may double if servers cannot be reached
    """
    names = list(servers)
    order = rotation(client, clients, len(names))
    length = min(TURN_SECONDS, seconds / len(order))
    figures: list[dict[str, Any]] = []
    problems = []
    first = int(time.time() / length) + 1
    for turn in range(first, first + len(order)):
        name = names[order[turn % len(order)]]
        server = servers[name]
        late = time.time() - turn * length
        if late > seconds:
            problems.append(f"the network to {name} was not measured: not enough time was left")
            continue
        time.sleep(max(0.0, -late))
        try:
            figures += pair(server["address"], int(server["port"]), name, length * TURN_MEASURED)
        except OSError as error:
            reason = error.strerror or str(error)
            problems.append(f"the network to {name} ({server['address']}:{server['port']}) was not measured: {reason}")
    return {"figures": sorted(figures, key=lambda entry: names.index(entry["of"])), "problems": problems}


def answer(
    state: str,
    folders: Sequence[str] = (),
    address: str = "",
    lifetime: int = 60,
    port: int = 0,
    servers: dict[str, dict[str, Any]] | None = None,
    client: int = 0,
    clients: int = 1,
) -> dict[str, Any]:
    """Executes one step.

    :param state: ``host``, ``listen``, ``network`` or ``end``
    :param folders: for ``host``: folders whose disks are measured; the folders need not exist
    :param address: for ``listen`` and ``end``: address of this host
    :param lifetime: for ``listen``: seconds after which the kernel ends the listener
    :param port: for ``end``: port of the listener
    :param servers: for ``network``: address and port of the listener on each host, in the same order on all clients
    :param client: for ``network``: number of this client, from 0
    :param clients: for ``network``: number of all clients
    :returns: for ``host`` and ``network``, ``measured``: ``figures``, each with ``name``, ``of`` (its folder or server, or null),
        ``unit`` and ``slices``, and ``problems``, a list of sentences; for ``listen``, ``listener``: its ``address`` and ``port``
    :raises AgentError: if an argument is wrong, or if listening on the address is impossible
    """
    if state not in ("host", "listen", "network", "end"):
        raise AgentError(f"state '{state}': must be one of host, listen, network, end")
    if state in ("listen", "end") and not address:
        raise AgentError(f"canary {state}: address is missing")
    if state == "host":
        return {"measured": host(list(map(expanded, folders)))}
    if state == "network":
        return {"measured": network(servers or {}, int(client), int(clients))}
    if state == "end":
        end(address, int(port))
        return {}
    try:
        return {"listener": {"address": address, "port": listen(address, int(lifetime))}}
    except OSError as error:
        raise AgentError(f"cannot listen on {address}: {error.strerror}") from error
