"""Arguments of a system's administration commands, properties of its clients, and its notes for conditions.json."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from dohyo.systems.installation import Installed
from dohyo.systems.records import Attached


@dataclass(frozen=True, kw_only=True)
class Administered(Installed):
    """How administration commands and clients reach the servers of a system, including attached servers."""

    @property
    def effective_compression(self) -> str:
        """Compression of the data on disk: the system's own option if it is set, otherwise the scenario's."""
        compression = str(getattr(self, "compression", "scenario"))
        return str(self.context.conditions.get("compression", "none")) if compression == "scenario" else compression

    @property
    @abstractmethod
    def words(self) -> list[str]:
        """The system's own NAME=VALUE arguments for all administration commands."""

    @property
    def admin_words(self) -> list[str]:
        """All arguments for an administration command."""
        return [*self._words_of_tables(self.is_first), *self.words]

    @property
    def attached_words(self) -> list[str]:
        """All arguments for an administration command on attached servers."""
        attached = self.attached
        return [
            f"place={attached.namespace}",
            f"made={attached.folder}/made",
            f"connection={attached.folder}/connection.properties",
            f"trial={self.context.trial_id}",
            f"write_acks={self.context.write_acks}",
            f"read_acks={self.context.read_acks}",
            *self._words_of_tables(True),
            *attached.arguments,
        ]

    def _words_of_tables(self, counts: bool) -> list[str]:
        return [
            f"tables={','.join(self.context.tables)}",
            f"keycolumns={self.context.keycolumns}",
            f"recordcount={self.context.get('trial_recordcount', self.context.recordcount)}",
            f"countlimit={getattr(self, 'count_limit', 0) if counts else 0}",
        ]

    @property
    def tables_words(self) -> list[str]:
        """Additional arguments for creating the tables, the same for all systems."""
        return [
            f"trial={self.context.trial_id}",
            f"fieldcount={self.context.fieldcount}",
            f"fieldnameprefix={self.context.fieldnameprefix}",
            f"compression={self.effective_compression}",
            f"replication={self.replication}",
            f"write_acks={self.context.write_acks}",
            f"read_acks={self.context.read_acks}",
        ]

    @property
    def first_words(self) -> list[str]:
        """Additional arguments for commands that only the first host runs."""
        return []

    @property
    def schema_words(self) -> list[str]:
        """The system's additional arguments for creating the tables."""
        return []

    @property
    def settle_words(self) -> list[str]:
        """Additional arguments for settling."""
        return []

    @property
    @abstractmethod
    def client_properties(self) -> dict[str, Any]:
        """Properties that clients need to connect."""

    @property
    def server_properties(self) -> dict[str, Any]:
        """Properties that the client needs to read the servers' statistics."""
        return {}

    @property
    def notes(self) -> list[str]:
        """Additional notes about this system for conditions.json."""
        return []

    @property
    def idle(self) -> list[str]:
        """Note for conditions.json if some database hosts have no server."""
        serving, total = len(self.hosts), len(self.context.databases)
        if serving == total:
            return []
        return [
            f"{serving} of {total} database hosts serve, and the others are idle: every server has all data, and the"
            " primary does all the work"
        ]

    @property
    def all_notes(self) -> list[str]:
        """All notes for conditions.json, including those about moved ports and the archive."""
        archive = self.server_archive
        moved = self.context.state(self.role)["ports"]["moved"]
        return [*self.idle, *moved, *(archive.note if archive is not None else []), *self.notes]

    @property
    def disks_in_words(self) -> str:
        """Description of the disks for conditions.json; it is the same for systems on the same disks."""
        context = self.context
        if self.raw_devices:
            stored = f"raw devices, {len(self.raw_devices)}"
        else:
            mounted = [volume["mount_point"] for volume in context.disks.get("volumes", []) if volume["mounted"]]
            on_devices = bool(context.devices) and not set(context.data) - set(mounted)
            count = len(context.disks["devices"]) if on_devices else len(context.data)
            kind = "disk" if on_devices else "folder"
            stored = f"1 {kind}" if count == 1 else f"{'JBOD, ' * on_devices}data on {self.disks} of {count} {kind}s"
            if on_devices and count > 1 and context.get("host_disk_layout") == "raid0":
                stored = f"RAID0 of {count} disks"
        return f"{stored}{', log on a disk of its own' if self.logs else ''}"

    @property
    def attached(self) -> Attached:
        """Attached servers of this system; only systems with ``attaches`` add how to access them."""
        servers = str(self.context.get("attached", {}).get(self.name, ""))
        return Attached(servers, f"dohyo_{self.context.trial_id}", f"{self.context.home}/attached/{self.role}")
