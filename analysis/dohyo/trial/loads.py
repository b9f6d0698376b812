"""Loads that trials of an experiment share: kept when the first has loaded, and copied before each start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dohyo.systems.context import Context
from dohyo.trial.evidence import Evidence
from dohyo.trial.world import Host, World

# MiB beside the size of the data, to which systems add a little.
MORE_MB = 2000


@dataclass
class Load:
    """The load of a trial.

    :ivar is_copy: the servers start from a copy of it
    :ivar kept_by: name of the trial that has loaded
    :ivar note: for people: why it is not shared, or not as asked for
    """

    world: World
    is_copy: bool = False
    kept_by: str = ""
    note: str = ""

    @cached_property
    def evidence(self) -> Evidence:
        """The evidence of the trial."""
        return Evidence(self.world)

    @property
    def id(self) -> str:
        """What tells it from other loads of the experiment; empty for one that is not shared."""
        return str(self.world.first.values["trial_load_id"])

    @property
    def known(self) -> dict[str, Any]:
        """What is known of it, for the rest of the trial, in plain values."""
        return {"is_copy": self.is_copy, "kept_by": self.kept_by, "note": self.note}

    def _do(self, state: str, step: str, **more: Any) -> dict[str, dict[str, Any]]:
        """Asks the agents of all database hosts for something (kept_load)."""

        role = self.world.system(self.world.first.name).role

        def do(host: Host) -> dict[str, Any]:
            values = host.values
            of_host = {name: each(host) if callable(each) else each for name, each in more.items()}
            return host.do(
                "kept_load", state=state, data=values["dohyo_data"], role=role, load=self.id,
                experiment=str(self.evidence.experiment), deployment=values["dohyo_deployment"], **of_host,
            )  # fmt: skip

        return self.world.on(self.world.databases, step, do)

    def find(self) -> None:
        """Looks for the load on every database host. Kept loads go where the trial would not have the room it needs."""
        if not self.id:
            return

        def need(host: Host) -> int:
            needs = self.world.system(host.name).planned
            return int((needs["data_mb"] + MORE_MB) // needs["disks"]) + free_mb(host)

        def who(host: Host) -> Any:
            return host.values["dohyo_controller"]

        found = list(self._do("found", "Look for the load", need_mb=need, controller=who).values())
        self.is_copy = all(each["found"] for each in found) and len({each["trial"] for each in found}) == 1
        self.kept_by = found[0]["trial"]
        self.note = next((each["note"] for each in found if each["note"]), "")

    def place(self) -> bool:
        """Puts a copy into the empty data folders; returns whether every host has one."""
        placed = self._do(
            "placed", "Put a copy of the load in place", trial=self.evidence.folder.name,
            budget_mb=lambda host: host.values["host_budget_mb"],
        ).values()  # fmt: skip
        self.note = next((each["note"] for each in placed if each["note"]), self.note)
        self.is_copy = all(each["found"] for each in placed)
        return self.is_copy

    def has_room(self) -> bool:
        """Returns whether there is room for a copy on all hosts."""
        found = self._do("room", "Look whether there is room for a copy", need_mb=free_mb).values()
        self.note = next((each["note"] for each in found if each["note"]), self.note)
        return all(each["found"] for each in found)

    def keep(self) -> None:
        """Keeps the data of the stopped servers as the load."""
        self._do("kept", "Keep the data", trial=self.evidence.folder.name)
        self.is_copy, self.kept_by = True, self.evidence.folder.name


def free_mb(host: Host) -> int:
    """MB that must be left over on a disk of a host."""
    return int(float(Context(host.values).get("dohyo_min_free_gb", 2)) * 1000)
