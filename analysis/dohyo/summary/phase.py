"""One run of a phase, or the load, of a trial: what all of its clients did, and whether it counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from dohyo.evidence import client_folder
from dohyo.evidence.client_folder import ClientFolder
from dohyo.evidence.conducted import Conducted
from dohyo.evidence.events import Event, Seconds, in_order
from dohyo.evidence.hdr_log import Interval, Latencies
from dohyo.evidence.json_values import read_object
from dohyo.evidence.load_curve import Inserted
from dohyo.evidence.over_time import MOST_SLOTS, OverTime
from dohyo.evidence.rows import LOAD, Run, together
from dohyo.evidence.servers import Window
from dohyo.evidence.text_file import Warn

# A phase of a trial, and whether these are its first runs, which are discarded. They are added up apart.
Part = tuple[str, bool]


class Phase:
    """One run of a phase of a trial, or its load, over all clients."""

    def __init__(self, folder: Path, discard: int, warn: Warn, most_slots: int = MOST_SLOTS) -> None:
        self.folder = folder
        self.name = folder.name  # load, run-1, update-2, …
        self.kind, _, run = (LOAD, "", "") if self.name == LOAD else self.name.rpartition("-")
        self.number = int(run) if run else None
        self.discarded = self.number is not None and self.number <= discard
        self.part: Part = (self.kind, self.discarded)
        self.conducted = Conducted(read_object(folder / "clients.json", warn))
        self.clients: list[ClientFolder] = []
        self.missing: list[str] = []  # hosts whose client has left nothing
        self.seconds = Seconds()
        self.inserted = Inserted()
        self.over_time = OverTime(most_slots)

    def hosts(self) -> set[str]:
        """Hosts that have, or should have, left results."""
        return {path.name for path in self.folder.iterdir() if path.is_dir()} | set(self.conducted.clients)

    def read(self, host: str, latencies: dict[str, Latencies], warn: Warn) -> None:
        """Reads what the client on a host has left."""
        if (self.folder / host).is_dir():

            def seen(operation: str, interval: Interval) -> None:
                self.seconds.add(host, operation, interval)
                self.over_time.add(operation, interval)
                if self.kind == LOAD:
                    self.inserted.add(operation, interval)

            self.clients.append(client_folder.read(self.folder / host, latencies, seen, warn))
        else:
            self.missing.append(host)

    def add(self, other: Phase) -> None:
        """Adds what another one has read of other hosts."""
        self.clients += other.clients
        self.missing += other.missing
        self.seconds.merge(other.seconds)
        self.inserted.merge(other.inserted)
        self.over_time.merge(other.over_time)

    @cached_property
    def run(self) -> Run:
        """What all clients did together."""
        return together([client.run for client in self.clients])

    @property
    def problems(self) -> list[str]:
        """Why its numbers must not be shown."""
        if self.conducted.failure:
            return [f"{self.name}: {self.conducted.failure}"]  # the clients' own failures follow from it
        found = []
        for client in self.clients:
            # What was seen from outside says more of a client that has left nothing than its folder does.
            reason = self.conducted.reason(client.host) if not client.report else ""
            found += [
                f"{self.name} on {client.host}: {problem}" for problem in ([reason] if reason else client.problems)
            ]
        if not self.clients:
            return [*found, f"{self.name}: no client has left results"]
        return found + [
            f"{self.name} on {host}: {self.conducted.reason(host) or 'the client has left nothing'}"
            for host in self.missing
        ]

    def window(self, warmup: float) -> list[Window]:
        """The measured window; none where it is not known."""
        agreed, seconds = self.conducted.agreed, self.run.seconds
        if agreed is None or not seconds:
            return []
        begin = agreed + warmup
        return [Window(self.kind, self.number, agreed, begin, begin + seconds, self.conducted.offsets_ms())]

    def events(self, warmup: float, of_servers: Sequence[Event], *, measured: bool) -> list[Event]:
        """What happened in it. A load that is not measured has no dips: it may wait for compactions as it likes."""
        events = [*self.conducted.events(self.kind, self.number), *of_servers]
        if measured:
            events += self.seconds.events(self.number, warmup, self.run.seconds, self.kind)
        return in_order(events)


def place(part: Part) -> tuple[bool, bool]:
    """The phases, which are in order already, then what is discarded of them, then the load."""
    kind, discarded = part
    return kind == LOAD, discarded


def parts_of(phases: Sequence[Phase]) -> list[Part]:
    """What is added up apart, in the order of a summary."""
    return sorted(dict.fromkeys(phase.part for phase in phases), key=place)
