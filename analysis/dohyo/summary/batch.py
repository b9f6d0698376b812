"""Reads some clients of a trial, so that several processes can divide the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dohyo.evidence.hdr_log import Latencies
from dohyo.evidence.rows import rows
from dohyo.metrics import Row
from dohyo.summary.phase import Part, Phase, add_all, parts_of


@dataclass
class Batch:
    """Some hosts of a trial, and their clients' evidence.

    :ivar phases: phases of the trial, before anything was read
    :ivar clients: hosts, each with the rows of its client
    """

    phases: Sequence[Phase]
    hosts: Sequence[str]
    clients: list[tuple[str, list[Row]]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def read(self) -> Batch:
        """Reads the clients' folders one after the other, so that only one client's histograms are in memory."""
        for host in self.hosts:
            own: dict[Part, dict[str, Latencies]] = {}
            for phase in self.phases:
                add_all(own.setdefault(phase.part, {}), phase.read(host, self.warnings.append))
            of_client: list[Row] = []
            for part in parts_of(self.phases):
                kind, discarded = part
                last = [phase.clients[-1] for phase in self.phases if phase.part == part and phase.clients]
                runs = [client.run for client in last if client.host == host]
                of_client += rows(kind, runs, own[part], discarded=discarded) if runs else []
            self.clients.append((host, of_client))
        return self
