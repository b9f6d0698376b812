"""Estimates the disk space, memory and time that each system of a scenario needs, and checks whether the hosts suffice.

docs/sizing.md contains the formulas and their sources. Figures for individual systems are in their classes (`needs` in
ansible/systems/*/system.py). ansible/plan.yml resolves the variables of an inventory without connecting to a host.
"""

import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dohyo.ansible.playbook import Event, local_inventory, play
from dohyo.bad_input import BadInputError
from dohyo.figures import about, counted, percent, point_name, size
from dohyo.places import LOCAL_HOME, SETUP, command
from dohyo.planning import plan
from dohyo.scenario import properties, search
from dohyo.scenario.hosts import Hosts
from dohyo.scenario.phases import INSERT, PROPORTIONS
from dohyo.scenario.scenario import Caches, Scenario
from dohyo.systems.catalogue import ask as ask_system
from dohyo.systems.context import CLIENT_MIB, MIB, Context
from dohyo.systems.records import HostNeeds
from dohyo.terminal import aligned

# Assumptions, measured with clients and server on 2 cores (docs/sizing.md). They are the seconds that a trial takes
# besides its load and runs, and the 1 KB records that a host loads per second. Larger hosts load faster.
TRIAL_SECONDS = 15
LOAD_RATE = 6000
# Number of updates of one field per second, in batches, on warm servers (docs/method.md#preconditioning).
UPDATE_RATE = 60_000
MOST_RECORDS = 2**62
_ONE_RECORD = {"recordcount": "1", "insertstart": "0", "insertcount": "1"}


@dataclass(frozen=True)
class Sizes:
    """The needs of a scenario on its hosts, by system."""

    scenario: Scenario
    hosts: Hosts
    needs: Mapping[str, HostNeeds]

    def disk(self, needs: HostNeeds, records: int | None = None) -> float:
        """Returns the disk space per host in bytes, for the scenario's number of records or for another number."""
        count = self.scenario.records if records is None else records
        replication = self.scenario.number("replication")
        return needs.size.disk(count, self.scenario.record_bytes, replication, self.hosts.count)

    def memory(self, needs: HostNeeds, records: int | None = None) -> float:
        """Returns the memory per host in bytes, including a client on the host. `records` is as in :meth:`disk`."""
        count = self.scenario.records if records is None else records
        records_take = needs.size.memory(count, self.scenario.number("replication"), self.hosts.count)
        return needs.memory_mb * MIB + records_take + self._client

    @property
    def _client(self) -> int:
        """Returns the memory of a client on a database host, in bytes."""
        return properties.heap_bytes(self.scenario["client_heap"]) + CLIENT_MIB * MIB if self.hosts.clients else 0

    def fits(self, needs: HostNeeds, records: int | None = None) -> bool:
        """Returns whether a system fits on the hosts, as far as their sizes are known."""
        return not self._lacks(needs, records)

    def largest(self, needs: HostNeeds) -> int:
        """Returns the maximum number of records with which a system fits, or 0 if not even one record fits."""
        low, high = 0, MOST_RECORDS
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.fits(needs, middle) else (low, middle - 1)
        return low

    def check(self) -> None:
        """Checks that all systems fit.

        :raises BadInputError: with the needed, the available and the possible size for each system that does not fit
        """
        problems, hints = [], []
        for system, needs in self.needs.items():
            if lacks := self._lacks(needs):
                most = self.largest(needs)
                would = (
                    f"at most {self._shown(most)} fit" if most else "no record fits; make its heap or buffers smaller"
                )
                problems.append(f"{system} needs {' and '.join(lacks)} on each host; {would}")
                # The advice only saves memory for records.
                has_way = most and needs.way_out and not any(" of disk " in lack for lack in lacks)
                hints.append(needs.way_out if has_way else "take larger hosts")
        if not problems and self.scenario.interleaves:
            self._check_together()
        if problems:
            least = min(map(self.largest, self.needs.values()))
            point = point_name(self.scenario.point)
            hosts = f"{self.hosts.where} at {point}" if point else self.hosts.where
            for_all = f" (all fit with --records {least})" if least and len(self.needs) > 1 else ""
            raise BadInputError(
                f"no room for the databases on {hosts} with"
                f" {self._shown(self.scenario.records)} and replication={self.scenario['replication']}:"
                + "".join(f"\n  {problem}" for problem in problems)
                + f"\nload fewer records{for_all}, choose other --systems, or {' or '.join(dict.fromkeys(hints))}"
            )

    def _check_together(self) -> None:
        """Checks that all systems fit at the same time.

        :raises BadInputError: with the sum of what they need
        """
        memory, disk = (sum(map(needed, self.needs.values())) for needed in (self.memory, self.disk))
        for resource, needed, available in (("memory", memory, self.hosts.memory), ("disk", disk, self.hosts.disk)):
            if available is not None and needed > available:
                raise BadInputError(
                    f"interleave=on: needs {size(needed)} of {resource} per host, of {size(available)};"
                    " reduce --systems or --records"
                )

    def _lacks(self, needs: HostNeeds, records: int | None = None) -> list[str]:
        memory, budget = self.memory(needs, records), needs.budget_mb * MIB
        requirements = (
            ("memory", max(memory, budget + self._client), self.hosts.memory),
            ("host_memory_budget", memory - self._client, budget or None),
            ("disk", self.disk(needs, records), self.hosts.disk),
        )
        return [
            f"{size(needed)} of {resource} ({size(available)} available)"
            for resource, needed, available in requirements
            if available is not None and needed > available
        ]

    def _shown(self, records: int) -> str:
        data = records * self.scenario.record_bytes
        # Round down to four digits: the suggested size must fit.
        data -= data % 10 ** max(0, len(str(data)) - 4)
        return f"{records:,} records (datasize={size(data).replace(',', '').replace(' ', '')})"

    # ---- time -------------------------------------------------------------------------------------------------------

    def load_seconds(self, needs: HostNeeds) -> float:
        """Returns the estimated seconds of the load, which depend on the copies per host and on a target rate."""
        replication = self.scenario.number("replication")
        records = self.scenario.records
        copies = needs.size.copies(records, replication, self.hosts.count)
        return max(copies / LOAD_RATE, self._throttled_seconds(records))

    def _throttled_seconds(self, records: int) -> float:
        load = self.scenario.of(INSERT)
        target = float(load["target"]) * load.number("batchsize")
        return records / target if target else 0.0

    def preconditioning_seconds(self, needs: HostNeeds) -> float:
        """Returns the estimated seconds of the updates before the runs (before each run with settle=phases)."""
        updates = self.scenario.preconditions
        copies = needs.size.copies(updates, self.scenario.number("replication"), self.hosts.count)
        runs = self.scenario.repeats * len(self.scenario.phases) + len(search.lengths(self.scenario))
        seconds = max(copies / UPDATE_RATE, self._throttled_seconds(updates))
        return seconds * (runs if self.scenario["settle"] == "phases" else min(runs, 1))

    def run_seconds(self, number: int = 1) -> float:
        """Returns the total seconds of one run of each phase. A window that ends after an operation count is estimated.

        :param number: number of the round
        """
        seconds = 0.0
        for phase in map(self.scenario.of, plan.phases_in(self.scenario, number)):
            rate = float(phase["target"]) or LOAD_RATE * self.hosts.count
            seconds += phase.expected_warmup + (phase.duration or phase.number("operationcount") / rate)
        return seconds

    def trial_seconds(self, needs: HostNeeds, number: int = 1, *, loads: bool = True) -> float:
        """Returns the estimated seconds of a trial with its canary, start, load, settling, runs, all probes and stop.

        :param number: number of the round
        :param loads: whether the trial loads data instead of using a copy of another trial's load
        """
        runs = self.scenario.repeats * self.run_seconds(number)
        fixed = TRIAL_SECONDS + plan.canary_seconds(self.scenario)
        before = (self.load_seconds(needs) if loads else 0) + self.preconditioning_seconds(needs)
        return fixed + before + runs + sum(search.lengths(self.scenario))


def ask(scenario: Scenario, hosts: Hosts, inventory: Path | None, check: Callable[[], None] = lambda: None) -> Sizes:
    """Returns the needs of the scenario's systems on the hosts.

    :param inventory: None for this machine, or for ``hosts.count`` hosts that do not exist yet
    :param check: called repeatedly; may raise an exception to cancel
    :raises BadInputError: if a value of the scenario or of the inventory is wrong
    """
    # Ask for a single record, so that `memory` excludes data; DataNeeds adds the records.
    variables = {
        "trial_properties": {**scenario.client_properties, **_ONE_RECORD},
        "trial_conditions": scenario.conditions,
        "host_has": {"memory_mb": (hosts.memory or 0) // MIB},
        **plan.phases_of(scenario),
        **scenario.role_variables,
    }
    if inventory is None and hosts.count == 1:
        inventory = local_inventory()
    if inventory is None:
        needs = _on_paper(scenario.systems, hosts, variables)
    else:
        needs = _of_inventory(scenario.systems, inventory, variables, check)
    # Use the host that needs the most memory, such as the one that also runs HBase's master.
    most = {system: max(needs[system], key=lambda of_host: int(of_host["memory_mb"])) for system in scenario.systems}
    return Sizes(scenario, hosts, {system: HostNeeds.of_plan(planned) for system, planned in most.items()})


def _on_paper(names: Sequence[str], hosts: Hosts, variables: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Returns the needs on each of the first three hosts, which may run HBase's masters and ZooKeepers."""
    database = [f"node{number}" for number in range(1, hosts.count + 1)]
    shared = {
        "groups": {"database": database, "client": database},
        "dohyo_home": str(LOCAL_HOME),
        # With systemd, hosts have a memory budget, but a share of an unknown memory size would not be a limit.
        "dohyo_systemd": hosts.count > 1 and hosts.memory is not None,
        "environment": os.environ,
        **variables,
    }
    needs: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        for host in database[:3]:
            context = Context({**shared, "inventory_hostname": host})
            if misfits := ask_system(name, context, lambda system: system.misfits):
                raise BadInputError(f"cannot find out what {name} needs: {'; '.join(misfits)}")
            needs.setdefault(name, []).append(ask_system(name, context, lambda system: system.planned))
    return needs


def _of_inventory(
    names: Sequence[str], inventory: Path, variables: Mapping[str, Any], check: Callable[[], None]
) -> dict[str, list[dict[str, Any]]]:
    """Returns the needs on the first hosts of an inventory. Ansible resolves the inventory's variables."""
    needs: dict[str, list[dict[str, Any]]] = {}

    def watch(event: Event) -> None:
        if event["event"] == "needs":
            needs[str(event["system"])] = event["needs"]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        failure = play(
            "plan.yml",
            inventory,
            folder,
            check=check,
            variables={**variables, "plan_systems": list(names)},
            watch=watch,
        )
        if failure is not None:
            raise BadInputError(f"cannot find out what the systems need: {failure.task}: {failure.message}")
        if missing := [system for system in names if system not in needs]:
            # If Ansible cannot load the callback plugin that reports the needs, it only warns and exits with 0.
            rows = [
                line for line in (folder / "ansible.log").read_text(errors="replace").splitlines() if "WARN" in line
            ]
            raise BadInputError(
                f"{Path(sys.executable).with_name('ansible-playbook')} did not report what {', '.join(missing)} need"
                f"{': ' * bool(rows)}{' '.join(rows)}; run {command(SETUP, 'python')}"
            )
    return needs


def caches(inventory: Path | None) -> Caches:
    """Returns a function that computes the cache sizes for datasize=N*cache. The function keeps its results.

    :param inventory: as in :func:`ask`
    """
    results: dict[str, dict[str, int]] = {}

    def cached(scenario: Scenario, hosts: Hosts) -> dict[str, int]:
        alike = json.dumps([scenario.systems, hosts.count, _what_matters(scenario)], sort_keys=True)
        if alike not in results:
            replication = scenario.number("replication")
            needs = ask(scenario, hosts, inventory).needs
            if any(entry.unknown for entry in needs.values()):
                raise BadInputError(
                    f"datasize={scenario.datasize}: needs the memory of {hosts.where}, which is not known;"
                    " set host_memory=192g"
                )
            results[alike] = {system: entry.cached(replication, hosts.count) for system, entry in needs.items()}
        return results[alike]

    return cached


# Properties that do not affect the needs. Points that differ only in these properties share one result.
_NO_MATTER = (
    *_ONE_RECORD,
    *("operationcount", "batchsize", "target", "readbeforewrite", "requestdistribution"),
    *PROPORTIONS,
)


def ask_points(
    scenario: Scenario, hosts: Hosts, inventory: Path | None, check: Callable[[], None] = lambda: None
) -> list[Sizes]:
    """Returns the sizes at each point of the matrix for the systems there. Parameters are as in :func:`ask`."""
    points: dict[str, tuple[Scenario, list[str]]] = {}
    for trial in plan.trials(scenario):
        _, names = points.setdefault(point_name(trial.scenario.point), (trial.scenario, []))
        names += [] if trial.system in names else [trial.system]
    cache: dict[tuple[str, str], HostNeeds] = {}
    result = []
    for point, names in points.values():
        alike = json.dumps(_what_matters(point), sort_keys=True)
        if missing := [name for name in names if (alike, name) not in cache]:
            subset = replace(point, values={**point.values, "systems": ",".join(missing)})
            missing_needs = ask(subset, hosts, inventory, check).needs
            cache |= {(alike, system): needs for system, needs in missing_needs.items()}
        result.append(Sizes(point, hosts, {name: cache[alike, name] for name in names}))
    return result


def _what_matters(scenario: Scenario) -> list[Any]:
    # Phases may differ, for example in requests in flight, and each connection takes memory on the server.
    of_phases = [scenario.of(phase).client_properties for phase in (INSERT, *scenario.phases)]
    properties = [
        {key: value for key, value in assignments.items() if key not in _NO_MATTER}
        for assignments in (scenario.client_properties, *of_phases)
    ]
    return [properties, scenario.conditions, scenario.role_variables]


def show(scenario: Scenario, points: Sequence[Sizes], console: Console) -> None:
    """Prints the planned trials in order, each with its time, memory and disk space.

    :param points: the sizes at each point of the matrix
    """
    hosts = points[0].hosts

    def say(text: str) -> None:
        console.print(Text(text), soft_wrap=True)

    resources = ", ".join(
        f"{size(amount)} of {resource}" if amount is not None else f"{resource} not known (set host_{resource}=…)"
        for resource, amount in (("memory", hosts.memory), ("disk", hosts.disk))
    )
    description = f"{counted(hosts.count, 'database host')}, each {resources}"
    say(f"plan of {scenario.name} for {hosts.where}; nothing is started\n{description}")
    if any(needs.unknown for sizes in points for needs in sizes.needs.values()):
        say("heaps and caches are those of a small machine, as host_memory_budget is a share of an unknown memory")
    texts = [text for sizes in points for text in (_data(sizes.scenario), _caches(sizes.scenario)) if text]
    for text in dict.fromkeys(texts):
        say(text)
    sized = {
        (point_name(item.scenario.point), system): (item, needs)
        for item in points
        for system, needs in item.needs.items()
    }
    trials = plan.trials(scenario)
    courses = [_course(trial.scenario) for trial in trials]
    shared = plan.shared_loads(trials, Path())
    if several := len(trials) > len(scenario.systems):
        say(_count_trials(scenario, trials))
    # Show a value that all trials share only once, above their table.
    if once := several and len(set(courses)) == 1:
        say(f"each: {courses[0]}")
    rows = [["trial", *([] if once else ["phases"]), "time", "memory/host", "disk/host"]]
    times: dict[tuple[str, str], list[float]] = {}  # for each system at a point, the seconds of each round
    last = 0.0
    copies: dict[str, float] = {}  # for each shared load, its disk space in bytes
    for trial, course in zip(trials, courses, strict=True):
        sizes, needs = sized[point_name(trial.scenario.point), trial.system]
        fits = "" if sizes.fits(needs) else "  does not fit"
        load = shared.get(trial.name, "")
        took = sizes.trial_seconds(needs, trial.round, loads=load not in copies)
        if load:
            copies[load] = sizes.disk(needs)
        last += took if trial.round == trials[-1].round else 0.0
        times.setdefault((point_name(trial.scenario.point), trial.system), []).append(took)
        if trial.round == 1:
            cells = ["", size(sizes.memory(needs)), size(sizes.disk(needs)) + fits]
            rows.append([trial.name, *([] if once else [course]), *cells])
    # Rounds may differ in their phases, and it may be that only the first round loads data.
    for row, of_rounds in zip(rows[1:], times.values(), strict=True):
        row[-3] = " or ".join(dict.fromkeys(map(about, of_rounds)))
    seconds = sum(map(sum, times.values()))
    for line in aligned(rows):
        say(line)
    if len(points) > 1:
        memory = max(sizes.memory(needs) for sizes, needs in sized.values())
        disk = max(sizes.disk(needs) for sizes, needs in sized.values())
        say(f"at the largest points {size(memory)} of memory and {size(disk)} of disk on each host")
    unmet = (f"{system}: {text}" for item in points for system, needs in item.needs.items() for text in needs.unmet)
    for text in dict.fromkeys(unmet):
        say(text)
    if copies:
        total, most = sum(copies.values()), max(item.disk(needs) for item, needs in sized.values())
        lacks = (
            ""
            if hosts.disk is None or total + most <= hosts.disk
            else ": more than available, so some trials load again"
        )
        say(f"reuse=data: {counted(len(copies), 'load')} kept on each host, at most {size(total)} of disk{lacks}")
    canary = f", {seconds_each} s for its canary" if (seconds_each := plan.canary_seconds(scenario)) else ""
    say(
        f"about {about(seconds)} in all{_at_most(scenario, seconds, last)}\n"
        f"an estimate from windows, half of steady warm-ups, {TRIAL_SECONDS} s per trial for other steps"
        f"{canary},\nand {LOAD_RATE:,} copies of records loaded per second and host"
        " (of 2 cores; larger hosts are faster)"
    )
    say("memory and disk: docs/sizing.md; whether a system is available on the hosts: --list")


def _at_most(scenario: Scenario, least: float, last: float) -> str:
    """Describes the time of the rounds that may be added. Returns "" if none may be added.

    :param least: duration of the first rounds, in seconds
    :param last: duration of the last of these rounds, in seconds
    """
    if not scenario.adds_rounds or scenario.most_rounds == (rounds := scenario.number("rounds")):
        return ""
    most = max(least, min(scenario.budget, least + last * (scenario.most_rounds - rounds)))
    limit = f"at most {scenario.most_rounds} rounds"
    if scenario.budget < math.inf:
        limit += f", budget {about(scenario.budget)}"
    goal = "neighbours in the ranking are decided" if scenario.precision is None else percent(scenario.precision)
    return f" for {counted(rounds, 'round')}\nat most {about(most)} until {goal} ({limit})"


def _course(scenario: Scenario) -> str:
    """Describes the steps of a trial."""
    load = plan.load_words(scenario) if scenario.measures_load else "load"
    before = f"{scenario.preconditions:,} updates" if scenario.preconditions else ""
    return ", ".join(filter(None, ("start", load, "settle", before, plan.runs_words(scenario), "stop")))


def _data(scenario: Scenario) -> str:
    """Describes the size of the load at a point of the matrix."""
    scale = f", scale {scenario['scale']} of {scenario.full_records:,} records" if scenario.full else ""
    computed = f", from datasize={scenario.datasize}" if scenario.datasize else ""
    return (
        f"{scenario.records:,} records × {scenario.record_bytes:,} B = {size(scenario.data_bytes)}"
        f"{computed}{scale}; {counted(scenario.number('replication'), 'copy', 'copies')}"
    )


def _caches(scenario: Scenario) -> str:
    """Describes the cache if the data size is a multiple of a cache. Returns "" for other sizes."""
    cached = sorted((cache, system) for system, cache in scenario.caches.items() if cache)
    if not cached:
        return ""
    least, *rest = (f"{size(cache)} of {system}" for cache, system in cached)
    none = [system for system, cache in scenario.caches.items() if not cache]
    return (
        f"cache = {least}"
        + (f", the smallest; {', '.join(rest)}" if rest else "")
        + (f"; without a cache: {', '.join(none)}" if none else "")
    )


def _count_trials(scenario: Scenario, trials: Sequence[plan.PlannedTrial]) -> str:
    rounds = scenario.number("rounds")
    points = Counter(trial.system for trial in trials)
    suffixes = {
        system: f" at {counted(count // rounds, 'point')}" if scenario.matrix else ""
        for system, count in points.items()
    }
    systems = ", ".join(system + suffix for system, suffix in suffixes.items())
    return f"{counted(len(trials), 'trial')}: {systems}" + (f", in each of {rounds} rounds" if rounds > 1 else "")
