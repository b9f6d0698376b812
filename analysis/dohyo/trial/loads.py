"""Shares a load between trials of an experiment: the first trial keeps its load, and each later start copies it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dohyo.systems.context import Context
from dohyo.trial.evidence import Evidence
from dohyo.trial.world import Host, World

# MiB to reserve in addition to the size of the data, because systems write a little more.
MORE_MB = 2000


@dataclass
class Load:
    """The load of a trial.

    :ivar evidence: the evidence of the trial
    :ivar is_copy: whether the servers start from a copy of the load
    :ivar kept_by: name of the trial that loaded the data
    :ivar note: message to the user that says why the load is not shared, or not in the way that was requested
    """

    world: World
    evidence: Evidence
    is_copy: bool = False
    kept_by: str = ""
    note: str = ""

    @property
    def id(self) -> str:
        """Name of the load, unique in the experiment; empty if the load is not shared."""
        return str(self.world.first.values["trial_load_id"])

    def _do(self, state: str, step: str, **more: Any) -> dict[str, dict[str, Any]]:
        """Calls the agents' verb kept_load on all database hosts, and returns the results by host."""

        role = self.world.system(self.world.first.name).role

        def do(host: Host) -> dict[str, Any]:
            values = host.values
            of_host = {name: value(host) if callable(value) else value for name, value in more.items()}
            return host.do(
                "kept_load", state=state, data=values["dohyo_data"], role=role, load=self.id,
                experiment=str(self.evidence.experiment), deployment=values["dohyo_deployment"], **of_host,
            )  # fmt: skip

        return self.world.on(self.world.databases, step, do)

    def find(self) -> None:
        """Looks for the load on every database host. Deletes kept loads if the trial needs their space."""
        if not self.id:
            return

        def need(host: Host) -> int:
            needs = self.world.system(host.name).planned
            return int((needs["data_mb"] + MORE_MB) // needs["disks"]) + free_mb(host)

        def who(host: Host) -> Any:
            return host.values["dohyo_controller"]

        trial = self.evidence.folder.name
        loads = list(self._do("found", "Look for the load", need_mb=need, controller=who, trial=trial).values())
        self.is_copy = all(load["found"] for load in loads) and len({load["trial"] for load in loads}) == 1
        self.kept_by = loads[0]["trial"]
        self.note = next((load["note"] for load in loads if load["note"]), "")

    def place(self) -> bool:
        """Copies the load into the empty data folders, and returns whether every host has a copy."""
        placed = self._do(
            "placed", "Put a copy of the load in place", trial=self.evidence.folder.name,
            budget_mb=lambda host: host.values["host_budget_mb"],
        ).values()  # fmt: skip
        self.note = next((result["note"] for result in placed if result["note"]), self.note)
        self.is_copy = all(result["found"] for result in placed)
        return self.is_copy

    def has_room(self) -> bool:
        """Returns whether all hosts have space for a copy."""
        results = self._do("room", "Check the space for a copy", need_mb=free_mb).values()
        self.note = next((result["note"] for result in results if result["note"]), self.note)
        return all(result["found"] for result in results)

    def keep(self) -> None:
        """Keeps the data of the stopped servers as a load for later trials."""
        self._do("kept", "Save the data for later trials", trial=self.evidence.folder.name)
        self.is_copy, self.kept_by = True, self.evidence.folder.name


def free_mb(host: Host) -> int:
    """Returns how many MB must stay free on a disk of a host."""
    return int(float(Context(host.values).get("dohyo_min_free_gb", 2)) * 1000)
