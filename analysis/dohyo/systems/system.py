"""The base class of all systems, with the members that the playbooks and the plan use. Most have a default.

A system is a folder ansible/systems/NAME: a class in ``system.py``, templates of the configuration, and optional tasks.
docs/adding-a-system.md shows how to write one.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, cast

from dohyo.places import ANSIBLE
from dohyo.systems import rendering
from dohyo.systems.administration import Administered
from dohyo.systems.context import MIB
from dohyo.systems.records import ConfigFile, DataNeeds, HostNeeds, Script
from dohyo.systems.steps import Steps

# Command that prints distribution, version and architecture of a host; see System.platform.
PLATFORM = ("sh", "-c", '. /etc/os-release; echo "$ID $VERSION_ID $(uname -m)"')


@dataclass(frozen=True, kw_only=True)
class System(Administered):
    """One database under test.

    The members are evaluated for one host at one moment of a trial; ``context`` contains the values known then.
    """

    # ---- requirements and refusals ----------------------------------------------------------------------------------

    @abstractmethod
    def needs(self) -> HostNeeds:
        """Returns the resources that the system needs on a host, computed only from the scenario."""

    def problems(self) -> list[str]:
        """Returns one sentence for each request that the system cannot meet."""
        return []

    @property
    def refusals(self) -> list[str]:
        """Reasons to refuse a trial: a changed variant, an impossible request, or too few hosts."""
        return [*self._other_variant(), *self.problems()] or self._too_few_hosts()

    def _other_variant(self) -> list[str]:
        """Returns a sentence for each variable that would turn this variant into a different system."""
        return [
            f"{self.role}_{name}={self.user_values[name]}: the system {self.name} has {value};"
            f" leave out {self.role}_{name}, and choose the system with that {name}"
            for name in self.variant
            if name in self.user_values and self.user_values[name] != (value := self.own_variant[name])
        ]

    def _too_few_hosts(self) -> list[str]:
        count = len(self.context.databases)
        if self.replication <= count:
            return []
        return [
            f"replication={self.replication}: needs {self.replication} database hosts, but the inventory has {count};"
            " lower it, or add hosts to the group database"
        ]

    @property
    def data_mb(self) -> int:
        """Disk space for the scenario's data on one host, in MiB."""
        context, hosts = self.context, len(self.context.databases)
        return int(self.needs().size.disk(context.records, context.record_bytes, self.replication, hosts) / MIB) + 1

    @property
    def disk_mb(self) -> int:
        """Disk space that a trial needs in the first folder for data, in MiB."""
        return self.data_mb

    @property
    def planned(self) -> dict[str, Any]:
        """Facts for planning and deployment, known before a host is examined. Attached systems need no resources."""
        is_attached = self.name in self.context.get("attached", {})
        if is_attached:
            nothing = asdict(HostNeeds(0, DataNeeds(0)))
            return {**nothing, "data_mb": 0, "disks": 1, "log_disks": [], "open": "", "ports": {}}
        needs = self.needs()
        values, budget_mb = {**self.values, **needs.instead}, self.context.budget_mb
        unknown = bool(self.context.budget) and budget_mb == 0
        return {
            **asdict(replace(needs, values=values, budget_mb=budget_mb, unknown=unknown)),
            "data_mb": self.data_mb,
            "disks": self.disks,
            "log_disks": self.log_disks,
            "open": self.open_address,
            "ports": {
                f"{self.role}_{'' if name == self.role else name + '_'}port": port for name, port in self.ports.items()
            },
        }

    # ---- configuration and start ------------------------------------------------------------------------------------

    @property
    def files(self) -> list[ConfigFile]:
        """Files of the configuration."""
        return []

    def render(self, template: str, **more: Any) -> str:
        """Renders a template of the system.

        :param template: name in templates/ without .j2
        :param more: variables of the template besides ``system`` and ``context``
        """
        folder = ANSIBLE / "systems" / self.role / "templates"
        return rendering.render(folder / f"{template}.j2", system=self, context=self.context, **more)

    def conf_file(self, name: str, content: str | None = None) -> ConfigFile:
        """Returns a file in the configuration's folder; the default content is the template of the same name."""
        return ConfigFile(f"{self.conf}/{name}", self.render(name) if content is None else content)

    @property
    @abstractmethod
    def command(self) -> list[str]:
        """Command that runs the server in the foreground; it starts in the folder ``run``."""

    @property
    def processes(self) -> list[str]:
        """Names of the server's processes, in the order in which they are stopped."""
        return [self.role]

    @property
    def initialise(self) -> Script | None:
        """Bash script that creates the data before the first start; None if the server creates it."""
        return None

    @property
    def up(self) -> list[str]:
        """Command that succeeds when this host's server is up; the default connects to the port ``opens``."""
        if not self.opens:
            return []
        return ["bash", "-c", f": < /dev/tcp/{self.node['address']}/{self.node[self.opens]}"]

    @property
    def asks_ready(self) -> bool:
        """Whether the administration must confirm that every node knows all others."""
        return False

    @property
    def timeouts(self) -> dict[str, int]:
        """Timeouts in seconds, for the start (ready), for settling (settle) and for the stop (stop)."""
        return {name: int(getattr(self, f"{name}_timeout")) for name in ("ready", "settle", "stop")}

    # ---- steps of a trial that a system can replace; each step is for all hosts -------------------------------------

    def at(self, steps: Steps, host: str) -> Self:
        """Returns the system in the context of another host."""
        return cast(Self, steps.system(host))

    def examine(self, steps: Steps, host: str) -> dict[str, Any]:  # noqa: ARG002 - most systems need nothing
        """Returns further facts about a host without changing it; :attr:`found` contains them afterwards."""
        return {}

    def prepare(self, steps: Steps) -> None:
        """Runs the steps that come before the configuration is written."""

    def start(self, steps: Steps) -> None:
        """Starts the servers."""
        steps.start_nodes()

    def ready(self, steps: Steps) -> None:
        """Waits until the servers accept clients."""
        if self.asks_ready:
            steps.wait_until_all_know()

    def wipe(self, steps: Steps, state: str) -> None:
        """Removes the system's data outside its folders.

        :param state: ``fresh`` before a start, ``absent`` at the end
        """
