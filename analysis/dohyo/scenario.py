"""A scenario: a property file plus what the command line changes, checked as a whole before anything is started."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dohyo import properties, published, search, systems
from dohyo.bad_input import BadInputError, unknown
from dohyo.hosts import Hosts, here
from dohyo.places import WORKLOADS, shown

PROPORTIONS = ("readproportion", "updateproportion", "insertproportion", "scanproportion", "readmodifywriteproportion")
# The counts that ``scale`` makes smaller.
SCALED = ("recordcount", "operationcount")
CONDITIONS = ("replication", "write_acks", "read_acks", "durability", "compression")


@dataclass(frozen=True)
class Scenario:
    """Everything that one comparison is about.

    ``values`` holds the given properties in their checked form, without defaults; ``role_variables`` the given
    variables of the systems' roles, typed. Counts in ``values`` are those that are measured with.
    """

    name: str
    values: Mapping[str, str]
    role_variables: Mapping[str, Any]
    # Counts as they were before ``scale`` made them smaller; empty where it did not.
    full: Mapping[str, str] = field(default_factory=dict)
    # What recordcount was computed from, where it was.
    datasize: str = ""

    def __getitem__(self, key: str) -> str:
        """The effective value of a property: the given one or the default, "" if there is neither."""
        return self.values.get(key, properties.known()[key].default or "")

    def number(self, key: str) -> int:
        """The effective value of a whole-number property."""
        return int(self[key] or 0)

    @property
    def systems(self) -> list[str]:
        """Names of the systems to compare, in the order of their trials."""
        return list(systems.all_systems()) if self["systems"] == "all" else self["systems"].split(",")

    @property
    def published(self) -> list[Path]:
        """Files with published figures to show below ours."""
        return published.files(self.name, self["published"])

    @property
    def repeats(self) -> int:
        """Runs per trial."""
        return self.number("repeats")

    @property
    def warmup(self) -> int:
        """Seconds before the measured window."""
        return self.number("warmuptime")

    @property
    def duration(self) -> int:
        """Seconds of the measured window; 0 where only operationcount ends a run."""
        return self.number("duration")

    @property
    def conditions(self) -> dict[str, str | int]:
        """What must be equal for a comparison to be fair."""
        return {key: self.number(key) if key == "replication" else self[key] for key in CONDITIONS}

    @property
    def client_properties(self) -> dict[str, str]:
        """What the client is given in all phases: nothing that only Dohyo, a role or the stock client reads.

        Ansible adds what differs between load and runs: warm-up, duration, folders.
        """
        known = properties.known()
        elsewhere = {key for key, entry in known.items() if entry.by in ("dohyo", "stock")} | {"warmuptime"}
        # The stock client needs a count also where time is meant to end a run; ours would end at whichever comes first.
        if self.duration:
            elsewhere.add("operationcount")
        return {key: value for key, value in self.values.items() if key not in elsewhere}

    @property
    def ignored(self) -> list[str]:
        """Given properties that only the stock client reads."""
        known = properties.known()
        return [key for key in self.values if key in known and known[key].by == "stock"]

    @property
    def record_bytes(self) -> int:
        """Bytes of a record's values, of the longest where lengths vary."""
        return self.number("fieldcount") * self.number("fieldlength")

    @property
    def data_bytes(self) -> int:
        """Size of the loaded records, in bytes, with the longest values and without the databases' own overhead."""
        return self.number("recordcount") * self.record_bytes

    def text(self) -> str:
        """The scenario as a property file, which :func:`load` reads back."""
        role_variables = {name: _yaml_flow(value) for name, value in self.role_variables.items()}
        # Named one by one, so that --resume finds the same trials also where a system was added since.
        # Counts in full beside the scale, which load() applies again.
        values = {**self.values, **self.full, "systems": ",".join(self.systems)}
        comment = f"scenario {self.name} as it was run" + (f", datasize={self.datasize}" if self.datasize else "")
        return properties.write({**values, **role_variables}, comment)


def _yaml_flow(value: Any) -> str:
    # JSON is YAML too, and a string stands without quotes in a property file.
    return value if isinstance(value, str) else json.dumps(value)


def scenario_files() -> dict[str, Path]:
    """The scenarios of the workloads folder by name."""
    return {path.stem: path for path in sorted(WORKLOADS.iterdir()) if path.is_file() and path.name[0] != "."}


def description(path: Path) -> str:
    """The first comment line of a property file."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("#! ").rstrip()


def find(name: str) -> Path:
    """The file of a scenario, which is given by its name or by the path of any property file.

    :raises BadInputError: if there is none
    """
    files = scenario_files()
    if name in files:
        return files[name]
    if "/" in name or Path(name).is_file():
        if not Path(name).is_file():
            raise BadInputError(
                f"the property file {name} does not exist; a scenario is such a file or a name from --list"
            )
        return Path(name)
    raise unknown("scenario", name, files, "--list shows all; the path of a property file will do too")


def overrides(assignments: Sequence[str], named: Mapping[str, str | None]) -> dict[str, str]:
    """Joins ``--set key=value`` with the options that are short for one (``--records`` for recordcount, …).

    :param named: values by property key, None where the option was not given
    :raises BadInputError: if an assignment is none, or two of them contradict
    """
    given: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise BadInputError(f"--set {assignment}: must read --set key=value")
        given[key.strip()] = value.strip()
    for key, named_value in named.items():
        if named_value is None:
            continue
        if given.get(key, named_value) != named_value:
            raise BadInputError(f"{key} is given twice: as {given[key]} and as {named_value}; leave one out")
        given[key] = named_value
    return given


def load(
    path: Path, changes: Mapping[str, str] | None = None, name: str | None = None, hosts: Hosts | None = None
) -> Scenario:
    """Reads and checks a scenario.

    :param changes: properties and role variables that replace those of the file
    :param hosts: what datasize=4*ram is a multiple of; None is this machine
    :raises BadInputError: naming key, value and what is allowed
    """
    sources = _sources(path, dict(changes or {}))
    values: dict[str, str] = {}
    role_variables: dict[str, Any] = {}
    for source, assignments in sources.items():
        for key, value in assignments.items():
            try:
                if apart := [system.name for system in systems.all_systems().values() if key in system.variables]:
                    raise BadInputError(f"{key}={value}: it tells {', '.join(apart)} apart; choose with systems=NAME,…")
                if (variable := systems.role_variables().get(key)) is not None:
                    role_variables[key] = variable.check(value)
                else:
                    values[key] = _checked(key, value)
            except BadInputError as error:
                raise BadInputError(f"{source}: {error}") from error
    if "maxexecutiontime" in values:
        if "duration" in values:
            raise BadInputError("duration and maxexecutiontime are two names of one thing; leave one out")
        values["duration"] = values.pop("maxexecutiontime")
    datasize = values.pop("datasize", "")
    if datasize:
        values["recordcount"] = _records(Scenario("", values, {}), datasize, hosts or here())
    scenario = _scaled(Scenario(name or path.stem, values, role_variables, {}, datasize))
    _check_together(scenario)
    for published_file in scenario.published:
        published.load(published_file)  # a broken one shall show before anything is measured
    return scenario


def _sources(path: Path, changes: dict[str, str]) -> dict[str, dict[str, str]]:
    """What the file and the command line say, by their names; the file without what the command line replaces.

    :raises BadInputError: if one of them says one thing twice
    """
    given = properties.read(path)
    # A count given by hand is meant to end the run, also where the file bounds runs by time.
    if "operationcount" in changes and not changes.keys() & {"duration", "maxexecutiontime"}:
        changes["duration"] = "0"
    sources = {shown(path): given, "command line": changes}
    for source, assignments in sources.items():
        if {"recordcount", "datasize"} <= assignments.keys():
            raise BadInputError(
                f"{source}: recordcount={assignments['recordcount']} and datasize={assignments['datasize']} both say"
                " how many records are loaded; leave one out"
            )
    # The command line may use either name of the duration and of the size, whichever the file has.
    for names in ({"duration", "maxexecutiontime"}, {"recordcount", "datasize"}):
        if changes.keys() & names:
            for name in names:
                given.pop(name, None)
    return sources


def _records(scenario: Scenario, datasize: str, hosts: Hosts) -> str:
    """How many records have that size together.

    :raises BadInputError: if the hosts' memory is not known, or a record is larger than that
    """
    factor, multiple, _ = datasize.partition("*")
    if multiple:
        stated = hosts.stated(scenario.values)
        if stated.memory is None:
            raise BadInputError(
                f"datasize={datasize}: the memory of {stated.where} is not known before they are deployed to;"
                " say host_memory=192g, in the scenario or in the inventory"
            )
        size = int(Fraction(factor) * stated.memory * stated.count / scenario.number("replication"))
    else:
        size = properties.size_bytes(datasize) or 0
    if size < scenario.record_bytes:
        raise BadInputError(
            f"datasize={datasize}: is less than one record of {scenario.record_bytes:,} bytes"
            " (fieldcount × fieldlength)"
        )
    return properties.known()["recordcount"].check(str(size // scenario.record_bytes))


def _scaled(scenario: Scenario) -> Scenario:
    """The scenario with ``scale`` applied to its counts, of which at least one remains."""
    scale = Fraction(scenario["scale"])
    full = {key: scenario.values[key] for key in SCALED if scenario.number(key) > 0} if scale != 1 else {}
    if not full:
        return scenario
    counts = {key: str(max(1, round(int(count) * scale))) for key, count in full.items()}
    return replace(scenario, values={**scenario.values, **counts}, full=full)


def _checked(key: str, value: str) -> str:
    if (found := properties.find(key)) is not None:
        return found.check(value)
    raise unknown("property", key, [*properties.known(), *systems.role_variables()], "docs/properties.md lists all")


def _check_together(scenario: Scenario) -> None:
    """Checks what no single value can tell."""
    if "recordcount" not in scenario.values:
        raise BadInputError("recordcount is missing; a scenario says how many records are loaded, or datasize=40GB")
    for name in scenario.systems:
        if name not in systems.all_systems():
            raise unknown("system", name, systems.all_systems(), "there are: " + ", ".join(systems.all_systems()))
    if len(set(scenario.systems)) < len(scenario.systems):
        raise BadInputError(f"systems={scenario['systems']}: a system is named twice; repeats=N measures it again")

    shares = {key: float(scenario[key]) for key in PROPORTIONS}
    # 0.333 three times is meant to be one.
    if abs(sum(shares.values()) - 1) > 0.0011:
        summands = " + ".join(
            f"{key}={scenario[key]}" + ("" if key in scenario.values else " (default)")
            for key in PROPORTIONS
            if shares[key] or key in scenario.values
        )
        raise BadInputError(f"the proportions must sum to 1: {summands} = {sum(shares.values()):g}")

    records, tables = scenario.number("recordcount"), scenario.number("tablecount")
    _at_most(scenario, "tablecount", records, "recordcount")
    _at_most(scenario, "batchsize", records // tables, "the records of the smallest table (recordcount / tablecount)")
    _check_keys(scenario, tables)
    _at_most(scenario, "insertstart", records - 1, "recordcount - 1")
    _at_most(scenario, "insertcount", records - scenario.number("insertstart"), "recordcount - insertstart")
    _at_most(scenario, "minscanlength", scenario.number("maxscanlength"), "maxscanlength")
    if scenario["fieldlengthdistribution"] == "constant":
        if "fieldlengthhistogram" in scenario.values:
            raise BadInputError("fieldlengthhistogram needs fieldlengthdistribution=histogram")
    elif scenario["dataintegrity"] == "true":
        raise BadInputError("dataintegrity=true needs fieldlengthdistribution=constant")
    else:
        _at_most(scenario, "minfieldlength", scenario.number("fieldlength"), "fieldlength")
    if scenario.duration == 0 and scenario.number("operationcount") == 0:
        raise BadInputError("nothing ends a run: set duration=60s or operationcount=1000000")
    if scenario.number("batchsize") > 1 and shares["scanproportion"] > 0:
        raise BadInputError("batchsize above 1 with scanproportion above 0: a scan is one operation; leave one out")
    search.check(scenario)


def _check_keys(scenario: Scenario, tables: int) -> None:
    # Also said by the client, but not before the data is loaded.
    if tables > 1 and scenario["requestdistribution"] in ("latest", "exponential"):
        raise BadInputError(
            f"requestdistribution={scenario['requestdistribution']}: has one newest record, so it needs tablecount=1,"
            f" not {tables}"
        )
    if scenario.number("partitions") and scenario["insertorder"] != "ordered":
        raise BadInputError("partitions needs insertorder=ordered: a hashed key has no order of time")


def _at_most(scenario: Scenario, key: str, limit: int, name: str) -> None:
    if scenario.number(key) > limit:
        raise BadInputError(f"{key}={scenario[key]}: must be at most {limit}, which is {name}")
