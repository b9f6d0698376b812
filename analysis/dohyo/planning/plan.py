"""Turns a scenario into an ordered list of trials, and each trial into variables of ansible/trial.yml."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from dohyo.figures import point_name, rate
from dohyo.places import ANSIBLE
from dohyo.scenario import phases, properties, search
from dohyo.scenario.scenario import Scenario
from dohyo.systems import catalogue

# Duration of the canary in seconds on a single host. With several hosts, it takes 3 s more (docs/method.md).
CANARY_SECONDS = 3


@dataclass(frozen=True)
class PlannedTrial:
    """A planned trial: one system is started fresh and loaded once, and its phases are repeated ``repeats`` times.

    :ivar name: name of the trial's folder
    :ivar system: name of the system
    :ivar scenario: the scenario at the trial's point of the matrix
    :ivar round: number of the round, from 1
    """

    name: str
    system: str
    scenario: Scenario
    round: int = 1

    @property
    def system_at_point(self) -> str:
        """The system and its point, without the round."""
        return f"{self.system} {point_name(self.scenario.point)}".rstrip()

    @property
    def label(self) -> str:
        """The trial's label in messages while it runs."""
        return f"{self.system_at_point} round {self.round}" if self.scenario.most_rounds > 1 else self.system_at_point

    @property
    def is_attached(self) -> bool:
        """Whether the trial's servers are attached, in which case it neither starts nor stops them."""
        return self.system in self.scenario.role_variables.get("attached", {})


def canary_seconds(scenario: Scenario) -> int:
    """Returns the duration of a trial's canary in seconds, or 0 if there is no canary."""
    return CANARY_SECONDS if scenario["canary"] == "true" else 0


def trials(scenario: Scenario, rounds: int | None = None) -> list[PlannedTrial]:
    """Returns the trials in the order of measurement. The number in their names sorts the folders in the same order.

    Each round begins with the next system. This way, drift on the hosts during a round does not always favour the same
    system (docs/method.md#rounds).

    :param rounds: number of rounds, at most `most_rounds`; None for the minimum
    """
    once = scenario.points or tuple((system, scenario) for system in scenario.systems)
    turns = range(1, (rounds or scenario.number("rounds")) + 1)
    width = max(2, len(str(len(once) * scenario.most_rounds)))
    points = [list(group) for _, group in groupby(once, key=lambda pair: pair[1].point)]
    planned = [
        (system, point, turn)
        for turn in turns
        for systems in points
        for begin in [(turn - 1) % len(systems)]
        for system, point in [*systems[begin:], *systems[:begin]]
    ]
    return [
        PlannedTrial(_folder(f"{number:0{width}d}-{system}", point), system, point, turn)
        for number, (system, point, turn) in enumerate(planned, start=1)
    ]


def first_start(trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
    """Returns the first trials whose servers run at the same time: only one, unless the scenario interleaves windows.

    An attached system does not start with others, because its hosts may not belong to Dohyo.
    """
    first = trials[0]
    start = [first]
    for trial in trials[1:] if first.scenario.interleaves and not first.is_attached else ():
        together = (trial.round, trial.scenario.point) == (first.round, first.scenario.point)
        if not together or trial.is_attached:
            break
        start.append(trial)
    return start


# Names may be truncated, because their number makes them unique. File systems allow 255 bytes; tools print fewer.
_LONGEST_NAME = 100


def _folder(name: str, scenario: Scenario) -> str:
    """Returns a name followed by the point, using only characters that a shell accepts without quotes."""
    point = "".join(f"-{key}={value}" for key, value in scenario.point.items())
    return name + shell_safe(point)[: _LONGEST_NAME - len(name)]


def shell_safe(text: str) -> str:
    """Replaces characters that file systems, URLs or shells do not accept."""
    return re.sub(r"[^A-Za-z0-9._=+-]+", "_", text)


def phases_in(scenario: Scenario, number: int) -> list[str]:
    """Returns the runs of a trial in a round. The first round omits `equal` if the rate of `equal` is not known yet."""
    too_early = number == 1 and scenario.equal_target is None
    return [name for name in scenario.phases if not (name == phases.EQUAL and too_early)]


def course(scenario: Scenario) -> str:
    """Describes the measured parts of a trial."""
    load = load_words(scenario) if scenario.measures_load else ""
    return ", ".join(filter(None, (load, runs_words(scenario))))


def load_words(scenario: Scenario) -> str:
    """Describes the load."""
    return f"the load of {scenario.records:,} records"


def runs_words(scenario: Scenario) -> str:
    """Describes the runs after the load. Returns "" if there are none."""
    if not scenario.phases:
        return ""
    windows = {}
    for name in scenario.phases:
        phase = scenario.of(name)
        window = f"{phase.duration} s" if phase.duration else f"{phase.number('operationcount'):,} operations"
        disturbed = f" with {phase['faults']}" if phase.faults else ""
        windows[name] = f"{phase.warmup_words} + {window}{disturbed}"
    if scenario.phases == [phases.RUN]:
        runs = windows[phases.RUN]
    elif len(set(windows.values())) == 1:
        runs = f"{', '.join(windows)}: {windows[scenario.phases[0]]}{' each' if len(windows) > 1 else ''}"
    else:
        runs = ", ".join(f"{name} {window}" for name, window in windows.items())
    return ", ".join(filter(None, (f"{scenario.repeats} × ({runs})", _equal_words(scenario), search.words(scenario))))


def _equal_words(scenario: Scenario) -> str:
    """Describes the rate of the phase `equal` or `own`. Returns "" if the scenario has neither phase."""
    if phases.OWN in scenario.phases:
        return f"{phases.OWN} at {scenario[phases.SHARES[phases.OWN]]} of each system's own {phases.MAX}"
    if phases.EQUAL not in scenario.phases:
        return ""
    if scenario.equal_target is not None:
        return f"{phases.EQUAL} at {rate(scenario.equal_target)} op/s"
    return (
        f"{phases.EQUAL} from round 2 on, at {scenario[phases.SHARE]} of the slowest system's {phases.MAX} in round 1"
    )


# Variables of a trial that do not affect its load. A change of any other variable means a different load.
_NOT_OF_THE_LOAD = {
    "trial_name", "trial_point", "trial_round", "trial_rounds", "trial_dir", "trial_phases", "trial_threads",
    "trial_repeats", "trial_discard", "trial_settle", "trial_settle_cache", "trial_warmup", "trial_duration",
    "trial_equal_share", "trial_strict", "trial_keep", "trial_canary", "trial_search", "trial_scale",
    "trial_full", "trial_max_other_cpu", "trial_precondition",
    "trial_turns", "trial_lane", "trial_beside", "trial_group",
    "trial_properties",  # trial_load contains the properties of the load
}  # fmt: skip


def inventory_state(inventory: Path | None) -> str:
    """Returns a digest of an inventory's files. For a single file, it includes the variables in the folders next to it.

    :param inventory: file or folder; None for this machine's inventory
    """
    path = inventory or ANSIBLE / "inventories" / "local"
    below = [path] if path.is_dir() else [path.parent / name for name in ("group_vars", "host_vars")]
    files = {file for folder in below for file in folder.rglob("*") if file.is_file()}
    total = hashlib.sha256()
    for file in sorted(files | ({path} if path.is_file() else set())):
        total.update(f"{file}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def shared_loads(trials: Sequence[PlannedTrial], folder: Path, hosts: str = "") -> dict[str, str]:
    """Returns the identifiers of shared loads, by the names of the trials that share them.

    :param folder: folder of the experiment; two experiments never share a load
    :param hosts: result of :func:`inventory_state`; servers with another configuration may store another load
    """
    # At a point, the trials of all rounds share one scenario object.
    digests: dict[tuple[str, int], str] = {}
    loads = {}
    for trial in trials:
        key = (trial.system, id(trial.scenario))
        if key not in digests:
            load = load_of(trial, folder)
            digests[key] = hashlib.sha256(f"{load} {hosts}".encode()).hexdigest()[:16] if load and hosts else load
        loads[trial.name] = digests[key]
    several = Counter(loads.values())
    return {name: load for name, load in loads.items() if load and several[load] > 1}


def load_of(trial: PlannedTrial, folder: Path) -> str:
    """Returns a digest (16 digits) of everything that a trial's data depends on, or "" if the data is not reused."""
    if trial.scenario["reuse"] != "data" or trial.scenario.measures_load:
        return ""
    values = {key: value for key, value in variables(trial, folder, keep=False).items() if key not in _NOT_OF_THE_LOAD}
    load = values["trial_load"]
    entries = {key: properties.find(key) for key in load["properties"]}
    relevant = {key: load["properties"][key] for key, entry in entries.items() if entry is None or entry.load}
    values["trial_load"] = {"threads": load["threads"], "properties": relevant}
    return hashlib.sha256(json.dumps([str(folder), values], sort_keys=True).encode()).hexdigest()[:16]


def variables(
    trial: PlannedTrial, folder: Path, keep: bool, load: str = "", targets: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Returns the variables for ``ansible-playbook trial.yml``.

    :param folder: folder for the trial's evidence
    :param keep: whether the servers keep running at the end
    :param load: identifier of the load from :func:`shared_loads`; empty if the trial does not share its load
    :param targets: rate of the phase `equal` at each point, in operations per second, if it follows from measured rates
    """
    scenario = trial.scenario
    # The first round measures the rates that determine the target.
    target = (targets or {}).get(point_name(scenario.point)) if trial.round > 1 else None
    return {
        "trial_system": trial.system,
        "trial_name": trial.name,
        "trial_point": dict(scenario.point),
        "trial_round": trial.round,
        "trial_rounds": scenario.most_rounds,
        "trial_dir": str(folder),
        # The systems' classes only read properties that are the same in all phases.
        "trial_properties": scenario.client_properties,
        **phases_of(scenario, target),
        **({"trial_precondition": _phase(scenario, phases.PRECONDITION)} if scenario.preconditions else {}),
        "trial_repeats": scenario.repeats,
        "trial_discard": scenario.number("discard"),
        "trial_settle": scenario["settle"],
        "trial_settle_flush": scenario["settle.flush"] == "true",
        "trial_settle_cache": scenario["settle.cache"],
        "trial_warmup": scenario.warmup,
        "trial_duration": scenario.duration,
        "trial_conditions": scenario.conditions,
        "trial_client_heap": scenario["client_heap"],
        "trial_strict": scenario["strict_conditions"] == "true",
        "trial_max_other_cpu": scenario["max.other.cpu"],
        "trial_keep": keep,
        "trial_canary": scenario["canary"] == "true",
        **({"trial_reuse": load} if load else {}),
        **({"trial_search": asdict(settings)} if (settings := search.asked(scenario)) else {}),
        # Only the summary reads the share and the scale.
        **({"trial_equal_share": scenario[phases.SHARE]} if phases.EQUAL in scenario.phases else {}),
        **({"trial_scale": scenario["scale"], "trial_full": dict(scenario.full)} if scenario.full else {}),
        # These override an inventory's variables: only the scenario, to which the user agreed, attaches systems.
        **catalogue.not_attached(),
        **scenario.role_variables,
    }


def phases_of(scenario: Scenario, target: float | None = None) -> dict[str, Any]:
    """Returns the variables for the clients in the load and in each phase after it.

    :param target: rate of the phase `equal` in operations per second; if neither it nor the scenario sets the rate, the
        phase is left out
    """
    load = {**_phase(scenario, phases.INSERT), "measured": scenario.measures_load}
    runs = [_phase(scenario, name) for name in scenario.phases]
    # Servers reserve memory for the phase with the most threads, even if this trial omits it.
    threads = max(phase["threads"] for phase in [load, *runs])
    if phases.EQUAL in scenario.phases and scenario.equal_target is None:
        equal = runs.pop()
        if target is not None:
            runs.append({**equal, "properties": {**equal["properties"], "target": f"{target:.10g}"}})
    return {"trial_load": load, "trial_phases": runs, "trial_threads": threads}


def _phase(scenario: Scenario, name: str) -> dict[str, Any]:
    """Returns the variables of one phase for trial.yml."""
    phase = scenario.of(name)
    return {
        "name": name,
        "properties": phase.client_properties,
        "threads": phase.number("threadcount"),
        "warmup": phase.warmup,
        "duration": phase.duration,
        # Only the summary reads this limit.
        "maxnotfoundrate": float(phase["maxnotfoundrate"]),
        **({"faults": phase["faults"]} if phase.faults else {}),
        # The trial multiplies its own rate in the phase `max` by this share.
        **({"share": scenario.share_of_max(phases.OWN)} if name == phases.OWN else {}),
    }
