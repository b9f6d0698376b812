"""Compares the setup of a published experiment with ours, key by key.

Before a run, our setup consists of the scenario's requests and known facts about the hosts. After a run, it comes from
the evidence. An unknown value never counts as equal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dohyo.evidence.records import ExperimentFacts
from dohyo.figures import point_name, size
from dohyo.scenario import key_columns, properties, setup
from dohyo.scenario.hosts import THIS_MACHINE, Hosts
from dohyo.scenario.loading import concerns
from dohyo.scenario.phases import LOAD
from dohyo.scenario.properties import plain
from dohyo.scenario.published import Published
from dohyo.scenario.scenario import CONDITIONS
from dohyo.scenario.setup import NOT_PUBLISHED, PHASE, SYSTEM, Setting
from dohyo.summary import requested_settings
from dohyo.summary.results import SetupDifference, SetupDifferences, Trial
from dohyo.systems import catalogue, collectors
from dohyo.systems.records import Jvm

NOT_MEASURED, NOT_SET = "not measured", "not set"
# Keys that are listed even at their defaults if a publication does not state them.
_ALWAYS = {*CONDITIONS, "duration", "warmuptime"} - {"profile"}
_MEMORY = ("java_options", "gc", "heap", "memory", "buffer_pool", "shared_buffers", "bucket_cache_mb")
# Keys that are not listed. Other keys cover them, or they are specific to one server, or the trials show them.
_ASIDE = {"threadcount", "threadcount.of", "keysalt", "maxexecutiontime", "warmup", "workload", "table"}
_ASIDE |= {"phases", "reuse"}
# Variables of a system that are not listed, because keys such as server, jdk and flags cover them.
_OF_A_ROLE = ("version", "jdk", "compression", "gc_threads", "settings", "feature_key")
# Keys that a publication may state instead of the key that is looked up here.
_INSTEAD = {"all_threads": "threadcount"}
# Properties that have a different name in trial.json.
_NAMES = {"threadcount": "threads", "warmuptime": "warmup", "maxexecutiontime": "duration"}
# Value of a system's compression that means the scenario's compression.
_AS_THE_SCENARIO = "scenario"
_OWN_HOSTS, _SHARED = "hosts of their own", "the servers' hosts"
# Fixed values that no setting can change, for each role.
_SQL = {"sessions": "one or more for each thread"}
_AS_IT_IS = {"mysql": _SQL, "postgresql": _SQL, "hbase": {"master": "the first region server's host"}}


@dataclass(frozen=True)
class TrialSetup:
    """The setup of one of our trials; None if unknown.

    :ivar workload: properties by phase, as in `requested_settings.workload`
    :ivar servers: variables of the system, and the server's own settings
    :ivar variables: names of the variables that the scenario sets
    :ivar context: values of `setup.OTHERS`
    """

    system: str
    point: Mapping[str, str]
    workload: Mapping[str, Mapping[str, str]]
    servers: Mapping[str, Any]
    variables: Collection[str]
    context: Mapping[str, str | None]

    @property
    def at(self) -> dict[str, str]:
        """Returns the trial's point in the matrix and its system."""
        return {**self.point, SYSTEM: self.system}

    def has(self, name: str, value: str) -> bool:
        """Returns whether the trial is at this value of a dimension, or contains this phase."""
        return value in self.workload if name == PHASE else value == self.at.get(name)

    def is_at(self, setting: Setting) -> bool:
        """Returns whether the published setting applies to the trial's point, system and phases."""
        matches = all(self.at.get(name) in values for name, values in setting.point.items() if name != PHASE)
        has = setting.key in setup.OTHERS or concerns(self.system, setting.key)
        return matches and has and bool(self._phases(setting))

    def values(self, setting: Setting) -> set[str | None]:
        """Returns our values in all phases to which the setting applies."""
        key = setting.key
        if key in setup.OTHERS:
            return {self.context.get(key)}
        if key in properties.known():
            whole = self.workload.get("", {}).get(key.replace(".", "_"))
            return {self.workload[phase].get(_NAMES.get(key, key), whole) for phase in self._phases(setting)}
        if setup.is_flags(key):
            return {flag for flag in setting.values if flag in self._flags}
        value = self.servers.get(key, None if key in catalogue.all_options() else NOT_SET)
        return {None if value is None else plain(value)}

    def _phases(self, setting: Setting) -> list[str]:
        """Returns the phases that the setting names; if it names none, the measured phases to which it can apply."""
        named = setting.point.get(PHASE, self._measured)
        declared = properties.known().get(setting.key)
        without = {"", *([LOAD] if declared and not declared.load and named is self._measured else [])}
        return [phase for phase in self.workload if phase in named and phase not in without]

    @cached_property
    def _measured(self) -> list[str]:
        measures_load = self.workload.get(LOAD, {}).get("measured") == "true"
        return [phase for phase in self.workload if phase and (phase != LOAD or measures_load)] or [LOAD]

    def unpublished(self, published: Published) -> Iterator[tuple[str, set[str | None]]]:
        """Yields the key and our values of each setting that the publication does not state."""
        settings = [setting for setting in published.setup if self.is_at(setting)]
        silent = {setting.key for setting in settings if setting.is_silent}
        for phase in self._measured:
            stated: dict[str, list[str]] = {}
            for setting in settings:
                if not setting.is_silent and phase in self._phases(setting):
                    stated.setdefault(setting.key, []).extend(setting.values)
            for key in silent | self._chosen[phase]:
                if setup.is_flags(key):
                    names = {flag.split("=")[0] for flag in stated.get(key, ())}
                    # The collector's name determines all other flags.
                    flags = (flag for flag in self._flags if flag in self._own_flags or "GCThreads=" in flag)
                    yield key, {flag for flag in flags if flag.split("=")[0] not in names}
                elif not {key, _INSTEAD.get(key)} & stated.keys():
                    yield key, self.values(Setting("", key, [], {PHASE: [phase]}))

    @cached_property
    def _chosen(self) -> dict[str, set[str]]:
        """Returns, by phase, the keys that differ from their defaults and those that are always listed."""
        role = catalogue.all_systems()[self.system].role
        whose = {*self.variables, *(f"{role}_{name}" for name in _MEMORY)}
        servers = (name for name in self.servers if name in whose or name not in catalogue.all_options())
        common = {*self.context, *servers} - {f"{role}_{name}" for name in _OF_A_ROLE}
        chosen = {}
        for phase in self._measured:
            values = {**self.workload.get("", {}), **self.workload.get(phase, {})}
            keys = set(common)
            for key, entry in properties.known().items():
                value = values.get(_NAMES.get(key, key), values.get(key.replace(".", "_")))
                usual = value in (None, "0", plain(entry.default or ""))
                if (value is not None if key in _ALWAYS else not usual) and (entry.load or phase != LOAD):
                    keys.add(key)
            chosen[phase] = {key for key in keys - _ASIDE if key in setup.OTHERS or concerns(self.system, key)}
        return chosen

    @cached_property
    def _flags(self) -> list[str]:
        """Returns the JVM's flags: the collector's, then all others. A later flag replaces one with the same name."""
        role = catalogue.all_systems()[self.system].role
        settings = {name: self.servers.get(f"{role}_{name}") for name in ("jdk", "gc", "gc_threads")}
        jvm = Jvm(_number(settings["jdk"]), str(settings["gc"] or "default"), _number(settings["gc_threads"]), [])
        options = collectors.options_of(jvm, _number(self.context.get("processors")), huge_pages=True)
        # With 0 threads the collector uses the number of processors, which is unknown here.
        options = [option.replace("Threads=0", "Threads=?") for option in options]
        return [*{flag.split("=")[0]: flag for flag in (*options, *self._own_flags)}.values()]

    @property
    def _own_flags(self) -> list[str]:
        """Returns the flags in the system's variable `java_options`; empty if it is not a list."""
        options = self.servers.get(f"{catalogue.all_systems()[self.system].role}_java_options")
        return [*map(str, options)] if isinstance(options, list) else []


def _number(value: object) -> int:
    """Returns a value as a number; 0 if it is not a number."""
    return int(str(value)) if str(value).isdecimal() and len(str(value)) <= 9 else 0


def before(
    trials: Iterable[Mapping[str, Any]], values: Mapping[tuple[str, str], Mapping[str, Any]], hosts: Hosts,
    machine: Mapping[str, Any],
) -> list[TrialSetup]:  # fmt: skip
    """Returns the setup of each trial before a run.

    :param trials: future content of each trial.json
    :param values: effective variables by system and point, as far as hosts have reported them
    :param machine: this machine, as `host.hardware` describes it
    """
    setups = []
    for trial in trials:
        system, point, workload = trial["trial_system"], trial["trial_point"], requested_settings.workload(trial)
        role = catalogue.all_systems()[system].role
        chosen = {name: value for name, value in trial.items() if name.startswith(f"{role}_")}
        reported = values.get((system, point_name(point)), {})
        servers = {**catalogue.defaults(role), **chosen, **chosen.get(f"{role}_settings", {}), **reported}
        if servers.get(f"{role}_compression", _AS_THE_SCENARIO) != _AS_THE_SCENARIO:
            workload[""]["compression"] = plain(servers[f"{role}_compression"])
        load = trial["trial_load"]
        measured = [*([load] if load["measured"] else []), *trial["trial_phases"]]
        versions = {"server": servers.get(f"{role}_version"), "jdk": servers.get(f"{role}_jdk")}
        context = {
            **_others(role, workload, hosts, machine),
            **{name: None if value is None else str(value) for name, value in versions.items()},
            "hosts": str(hosts.count),
            "clients": None if hosts.client_count is None else str(hosts.client_count),
            "clients_on": _SHARED if hosts.clients else _OWN_HOSTS,
            "all_threads": _each(_all_threads(phase, hosts.client_count) for phase in measured),
        }
        workload[""] |= {name: plain(value) for name, value in reported.items() if name in workload[""]}
        setups.append(TrialSetup(system, point, workload, servers, chosen, context))
    return setups


def after(trials: Sequence[Trial], facts: ExperimentFacts) -> list[TrialSetup]:
    """Returns the setup of each valid trial, as its evidence shows it."""
    setups = []
    systems = catalogue.all_systems()
    for trial in (trial for trial in trials if trial.status == "ok" and trial.system in systems):
        conditions, hosts = trial.conditions, facts.hosts or Hosts(where="")
        threads = [phase["threads"] for phase in trial.by_phase.values() if "threads" in phase] or [conditions.threads]
        uses = [use for use in trial.hosts if use.host in trial.serving]
        sizes = {use.memory_bytes for use in uses if use.memory_bytes}
        workload = dict(trial.asked_workload)
        # Values that the server reported and that differ from the requested ones.
        names = [deviation.partition(":")[0] for deviation in trial.deviations]
        deviating = {name: value for name in names if isinstance(value := getattr(conditions, name, None), str)}
        workload[""] = workload.get("", {}) | deviating
        context = {
            **_others(systems[trial.system].role, workload, hosts, facts.host),
            "server": conditions.version,
            "jdk": conditions.jdk,
            "disks": conditions.disks,
            "hosts": str(len(trial.serving) or conditions.nodes or "") or None,
            "clients": str(conditions.clients or "") or None,
            "clients_on": conditions.client_hosts or _SHARED if hosts.clients else conditions.client_hosts,
            "processors": _each(use.cpus for use in uses if use.cpus),
            "all_threads": _each(count * conditions.clients for count in threads if count and conditions.clients),
            **({"memory": _each(map(size, sorted(sizes)))} if sizes else {}),
            **({"master": None} if conditions.attached else {}),
        }
        servers = trial.configured or trial.asked_servers
        setups.append(TrialSetup(trial.system, trial.point, workload, servers, trial.asked_servers, context))
    return setups


def _key_type(workload: Mapping[str, str]) -> str:
    """Returns the type of a stored key: its columns, or text. An invalid value is returned unchanged."""
    text = workload.get("keycolumns", "")
    try:
        columns = [f"{column.name} {column.type}" for column in key_columns.parse(text)]
    except ValueError:
        return text
    return ", ".join(columns) or ("2 bytes of its CRC32, text" if workload.get("keysalt") == "crc32" else "text")


def _others(
    role: str, workload: Mapping[str, Mapping[str, str]], hosts: Hosts, machine: Mapping[str, Any]
) -> dict[str, str | None]:
    """Returns the values of `setup.OTHERS` that are determined in the same way before and after a run."""
    any_phase = workload.get(LOAD, {})
    is_local = hosts.where == THIS_MACHINE
    return {
        "memory": size(hosts.memory) if hosts.memory else None,
        "processors": str(machine["cores"]) if is_local and "cores" in machine else None,
        "processor": str(machine["processor"]) if is_local and "processor" in machine else None,
        "os": str(machine["os"]) if is_local and "os" in machine else None,
        "client": "Dohyo's",
        "key_type": _key_type(any_phase),
        "sessions": "one for each client",
        "table": "ordinary",
        **_AS_IT_IS.get(role, {}),
    }


def _all_threads(phase: Mapping[str, Any], clients: int | None) -> int | None:
    """Returns the number of threads of all clients together."""
    if phase["properties"].get("threadcount.of") == "all":
        return int(phase["threads"])
    return None if clients is None else int(phase["threads"]) * clients


def _each(values: Iterable[object]) -> str | None:
    """Returns the distinct values as text; None if there are none, or if any is unknown."""
    distinct = dict.fromkeys(values)
    return None if None in distinct else ", ".join(map(str, distinct)) or None


def _difference(setting: Setting, setups: Sequence[TrialSetup]) -> list[SetupDifference]:
    """Returns the difference, or an empty list for equal values. If `setups` is empty, nothing was measured."""
    values = {value for trial in setups for value in trial.values(setting)}
    where = ", ".join(f"{name}={'|'.join(allowed)}" for name, allowed in setting.point.items())
    theirs, text = setting.says(setting.values), NOT_MEASURED
    if setup.is_flags(setting.key) and setups:
        lacking = [flag for flag in setting.values if not all(flag in trial.values(setting) for trial in setups)]
        if not lacking:
            return []
        theirs, text = " ".join(lacking), NOT_SET
    elif setups:
        if setting.equals(values):
            return []
        text = setting.says(values)
    return [SetupDifference(setting.group, setting.what, where, theirs, None if values == {None} else text)]


def compare(published: Published, setups: Sequence[TrialSetup]) -> SetupDifferences:
    """Returns the differences by group. A published point that we did not measure appears only as not measured."""
    points = dict.fromkeys(
        (name, value) for setting in published.setup for name, values in setting.point.items() for value in values
    )
    missing = [point for point in points if not any(trial.has(*point) for trial in setups)]
    names = {name for name, _ in points}
    further: dict[str, set[str | None]] = {}
    for trial in setups:
        unpublished = [
            (name, {value}) for name, value in trial.at.items() if name in names and (name, value) not in points
        ]
        for name, values in unpublished or trial.unpublished(published):
            further.setdefault(name, set()).update(values)
    result = [SetupDifference("workload", f"{name} {value}", "", "measured", NOT_MEASURED) for name, value in missing]
    stated = [setting for setting in published.setup if not setting.is_silent]
    for setting in stated:
        matching = [trial for trial in setups if trial.is_at(setting)]
        somewhere_missing = any((name, value) in missing for name, values in setting.point.items() for value in values)
        if matching or not somewhere_missing:
            result += _difference(setting, matching)
    result.sort(key=lambda difference: setup.GROUPS.index(difference.group))
    sentences = [f"{setting.what} = {setting.says(values)}" for setting, values in
            ((Setting("", key, []), values) for key, values in further.items() if values - {None})]  # fmt: skip
    if sentences:
        result.append(SetupDifference("other", "other settings", "", NOT_PUBLISHED, "; ".join(sorted(sentences))))
    return SetupDifferences(published.name, len(stated), result)


def of_experiment(
    published: Sequence[Published], trials: Sequence[Trial], facts: ExperimentFacts
) -> list[SetupDifferences]:
    """Returns the differences of a measured experiment from all publications with a known setup."""
    setups = after(trials, facts)
    return [compare(publication, setups) for publication in published if publication.setup and setups]
