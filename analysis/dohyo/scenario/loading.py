"""Loads a scenario: a property file plus what the command line changes, checked as a whole before a start."""

import itertools
import json
import math
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dohyo import plain_text
from dohyo.bad_input import BadInputError, unknown
from dohyo.figures import point_name
from dohyo.places import WORKLOADS, shown
from dohyo.scenario import key_columns, phases, properties, published, together
from dohyo.scenario.hosts import Hosts, here
from dohyo.scenario.scenario import MATRIX, VARIANT, Caches, Scenario, share_of
from dohyo.sizes import size_bytes
from dohyo.systems import catalogue

# The counts that ``scale`` makes smaller.
SCALED = ("recordcount", "operationcount", "insertstart", "insertcount")
# The prefix of keys for the full size alone.
FULL = "full."
MOST_TRIALS = 10_000
# Ends of the keys that decide what an operation is, and what happens to the servers meanwhile.
_IN_TITLE = ("proportion", "distribution", "workload", "faults")


def scenario_files() -> dict[str, Path]:
    """The scenarios of the workloads folder by name."""
    return {path.stem: path for path in sorted(WORKLOADS.iterdir()) if path.is_file() and path.name[0] != "."}


def description(path: Path) -> str:
    """The first line of a property file, if it is a comment."""
    line = re.split("[\r\n]", properties.text(path), maxsplit=1)[0]
    return line.lstrip("#! ").rstrip() if line[:1] in ("#", "!") else ""


def _title(path: Path, changes: Mapping[str, str]) -> str:
    """A file's description without what it puts in brackets, and with operations and faults that are not the file's."""
    said = re.sub(r" *\([^)]*\)", "", description(path))
    other = [f"{key}={value}" for key, value in changes.items() if key.endswith(_IN_TITLE)]
    return f"{said}, with {', '.join(other)}" if said and other else said


def find(name: str) -> Path:
    """The file of a scenario, which is given by its name or by the path of any property file.

    :raises BadInputError: if there is none
    """
    files = scenario_files()
    if name in files:
        return files[name]
    plain_text.check(name, f"the scenario {name}")
    way_out = "a scenario is such a file or a name from --list"
    try:
        mode = Path(name).stat().st_mode
    except FileNotFoundError as error:
        if "/" in name:
            raise BadInputError(f"the property file {name} does not exist; {way_out}") from error
    except OSError as error:
        raise BadInputError(f"cannot read the property file {name}: {error.strerror}; {way_out}") from error
    else:
        if stat.S_ISREG(mode):
            return Path(name)
        what = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise BadInputError(f"{name} is {what} and no property file; {way_out}")
    raise unknown("scenario", name, files, "--list shows all; the path of a property file works, too")


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
    path: Path,
    changes: Mapping[str, str] | None = None,
    name: str | None = None,
    hosts: Hosts | None = None,
    *,
    full: bool = False,
    caches: Caches | None = None,
) -> Scenario:
    """Reads and checks a scenario.

    :param changes: properties and systems' variables that replace those of the file
    :param full: whether ``full.key=value`` of the file counts, and takes the place of ``key=value``
    :param hosts: what datasize=4*ram is a multiple of; None is this machine
    :param caches: says what datasize=0.6*cache is a multiple of; None refuses it
    :raises BadInputError: naming key, value and what is allowed
    """
    name = name or path.stem
    plain_text.check(name, f"the scenario's name {name}")
    sources, decided = _sources(path, dict(changes or {}), full=full)
    named = phases.split(next((given["phases"] for given in sources.values() if "phases" in given), phases.RUN))
    assignments: dict[str, str] = {}
    matrix: dict[str, tuple[str, ...]] = {}
    variants: dict[str, dict[str, str]] = {}
    replaced: dict[str, dict[str, str]] = {}
    for source, given in sources.items():
        for key, value in given.items():
            try:
                if key.startswith(f"{VARIANT}."):
                    name_of_variant, _, own = key.removeprefix(f"{VARIANT}.").partition(".")
                    of_variant = variants.setdefault(name_of_variant, {})
                    if source != _COMMAND_LINE and _about(own) in decided:
                        of_variant = replaced.setdefault(name_of_variant, {})
                    of_variant[own] = _of_variant(key, own, value, named)
                elif key.startswith(MATRIX):
                    matrix[key.removeprefix(MATRIX)] = _dimension(key.removeprefix(MATRIX), value, named)
                else:
                    assignments[key] = _checked(key, value, named)
            except BadInputError as error:
                raise BadInputError(f"{source}: {error}") from error
    whole = replace(_sorted_out(name, assignments), title=_title(path, changes or {}))
    _check_systems(whole.systems)
    if len(set(whole.systems)) < len(whole.systems):
        raise BadInputError(f"systems={whole['systems']}: a system is named twice; repeats=N measures it again")
    for published_file in whole.published:
        published.load(published_file)  # a broken one must fail before anything is measured
    for variant, values in replaced.items():
        # It stays one of the systems that it was one of.
        given = {**values, **variants[variant]}
        variants[variant].setdefault("systems", ",".join(name for name in catalogue.all_systems() if _has(name, given)))
    _check_variants(variants, matrix)
    if matrix:
        variants = {name: variants[name] for name in matrix.get(VARIANT, ())}
        whole = replace(whole, matrix=matrix, variants=variants)
        return replace(whole, points=_points(whole, assignments, hosts, caches))
    scenario = _resolved(whole, hosts, caches)
    together.check(scenario)
    return scenario


_COMMAND_LINE = "command line"
# Two names of one thing.
_SYNONYMS = {"maxexecutiontime": "duration", "datasize": "recordcount", "partitions": "keycolumns"}
_DECIDES = {
    "duration": "how long a run takes, as two names of one thing",
    "recordcount": "how many records are loaded",
    "keycolumns": "which columns a key has",
}


def _about(key: str) -> str:
    """The property that a key sets; a dimension of the matrix sets its property."""
    phase, dot, last = key.removeprefix(MATRIX).rpartition(".")
    return phase + dot + _SYNONYMS.get(last, last)


def _sized(given: dict[str, str], full: bool, file: str) -> dict[str, str]:
    """The properties of a file at one of its two sizes.

    :raises BadInputError: if it has only one
    """
    small = {key: value for key, value in given.items() if not key.startswith(FULL)}
    if not full:
        return small
    large = {key.removeprefix(FULL): value for key, value in given.items() if key.startswith(FULL)}
    if not large:
        raise BadInputError(f"--full: {file} has one size only; {FULL}key=value in it is for the full one")
    replaced = {_about(key) for key in large}
    # A dimension keeps its place in the matrix.
    return {key: value for key, value in small.items() if key in large or _about(key) not in replaced} | large


def _one_by_one(given: Mapping[str, str], source: str) -> dict[str, str]:
    """The same with a key of its own for each variant that ``variant.NAME,NAME.key`` names.

    :raises BadInputError: if a variant has a key twice
    """
    found: dict[str, str] = {}
    for key, value in given.items():
        several = re.fullmatch(rf"((?:{FULL})?{VARIANT}\.)([^.]*,[^.]*)(\..*)", key)
        names = [name.strip() for name in several[2].split(",")] if several else []
        for each in [f"{several[1]}{name}{several[3]}" for name in names] if several else [key]:
            if each in found:
                raise BadInputError(f"{source}: {each} is there twice: {found[each]} and {value}; leave one out")
            found[each] = value
    return found


def _sources(path: Path, changes: dict[str, str], *, full: bool) -> tuple[dict[str, dict[str, str]], set[str]]:
    """The properties of the file and of the command line; the file's without those that the command line replaces.

    :return: by source, and what the command line replaces in a variant, too
    :raises BadInputError: if one of them says one thing twice
    """
    read = properties.read(path)
    for source, assignments in {shown(path): read, _COMMAND_LINE: changes}.items():
        for key, value in assignments.items():
            option = catalogue.all_options().get(key.rpartition(".")[2])
            if option is not None and option.secret:
                raise BadInputError(
                    f"{source}: others could read {option.name} there; set {option.environment} instead"
                )
            plain_text.check(key + value, f"{source}: {key}={value}")
    read, changes = _one_by_one(read, shown(path)), _one_by_one(changes, _COMMAND_LINE)
    # A count given by hand is meant to end the run, also where the file bounds runs by time.
    decided = {_about(key) for key in changes}
    for key in [key for key in changes if key.rpartition(".")[2] == "operationcount"]:
        duration = key.removeprefix(MATRIX).removesuffix("operationcount") + "duration"
        if duration not in decided:
            changes[duration] = "0"
    # As many rounds as are given by hand, also where the file goes on until the rates are exact enough.
    if "rounds" in changes and "precision" in read:
        changes.setdefault("precision", "none")
    sources = {shown(path): _sized(read, full, shown(path)), _COMMAND_LINE: changes}
    for source, assignments in sources.items():
        seen: dict[str, str] = {}
        for key in assignments:
            about = _about(key)
            if (other := seen.setdefault(about, key)) != key:
                one, two = (f"{name}={assignments[name]}" for name in sorted((key, other), key=about.__ne__))
                what = _DECIDES.get(about, f"what {about} is")
                raise BadInputError(f"{source}: {one} and {two} both say {what}; leave one out")
        # In a file `duration` wins, as stock YCSB does not know it and takes the count.
        ends = ("maxexecutiontime",) if assignments is not changes else ("maxexecutiontime", "duration")
        for key in assignments:
            of, dot, name = key.rpartition(".")
            count = f"{of}{dot}operationcount"
            if name in ends and all(re.search("[1-9]", assignments.get(each, "")) for each in (key, count)):
                raise BadInputError(
                    f"{source}: {count}={assignments[count]} and {key}={assignments[key]} both end a run, and all"
                    " clients must end together; leave one out"
                )
    given = sources[shown(path)]
    decided = {_about(key) for key in changes}
    # A system that has the variant need not be measured.
    in_variants = decided - {"systems"}
    # Phases that the command line leaves out take what is said of them along.
    named = phases.split(changes.get("phases", ""))
    left_out = {f"{name}." for name in phases.split(given.get("phases", phases.RUN)) if name not in named}
    if "phases" in changes:
        decided |= {_about(key) for key in given if _is_of_phase(key.removeprefix(MATRIX), tuple(left_out))}
    return {
        source: {key: value for key, value in each.items() if each is changes or _about(key) not in decided}
        for source, each in sources.items()
    }, in_variants


def _is_of_phase(key: str, prefixes: tuple[str, ...]) -> bool:
    """Whether a key is about one of these phases; a property such as max.other.cpu is of the experiment."""
    return key.startswith(prefixes) and (properties.find(key) is None or key in phases.SHARES.values())


def _sorted_out(name: str, assignments: Mapping[str, str]) -> Scenario:
    """A scenario from checked assignments, with its sizes as they were given."""
    values: dict[str, str] = {}
    role_variables: dict[str, Any] = {}
    phase_values: dict[str, dict[str, str]] = {}
    for key, value in assignments.items():
        if (variable := catalogue.all_options().get(key)) is not None:
            role_variables[key] = variable.parse(value)
        elif properties.find(key) is not None:
            values["duration" if key == "maxexecutiontime" else key] = value
        else:
            phase, _, own = key.partition(".")
            phase_values.setdefault(phase, {})["duration" if own == "maxexecutiontime" else own] = value
    return Scenario(name, values, role_variables, phase_values=phase_values)


def _is_of_the_experiment(key: str) -> bool:
    known = properties.find(key)
    return known is not None and not known.matrix


def _dimension(key: str, text: str, named: Sequence[str]) -> tuple[str, ...]:
    """The values of a dimension of the matrix, each checked.

    :raises BadInputError: naming the dimension and what is wrong with it
    """
    if _is_of_the_experiment(key):
        raise BadInputError(f"{MATRIX}{key}={text}: {key} applies to the whole experiment; say {key} without matrix")
    # Commas between brackets are those of one value, such as a list of a system.
    given = [value.strip() for value in re.split(r",(?![^\[{]*[\]}])", text)]
    if not all(given):
        raise BadInputError(f"{MATRIX}{key}={text}: must be values separated by commas")
    try:
        values = tuple(given if key == VARIANT else (_checked(key, value, named) for value in given))
    except BadInputError as error:
        raise BadInputError(f"{MATRIX}{key}={text}: {error}") from error
    if len(set(values)) < len(values):
        raise BadInputError(f"{MATRIX}{key}={text}: a value is there twice; rounds=N measures every point again")
    return values


def _of_variant(key: str, own: str, value: str, named: Sequence[str]) -> str:
    """A variant's property, checked.

    :raises BadInputError: naming what is wrong with it
    """
    if own == "systems":
        names = [name.strip() for name in value.split(",")]
        _check_systems(names)
        return ",".join(names)
    if not own or _is_of_the_experiment(own):
        raise BadInputError(
            f"{key}={value}: a variant is variant.NAME.key=value, with a key that may differ from point to point"
        )
    try:
        return _checked(own, value, named)
    except BadInputError as error:
        raise BadInputError(f"{key}={value}: {error}") from error


def _check_variants(variants: Mapping[str, Mapping[str, str]], matrix: Mapping[str, tuple[str, ...]]) -> None:
    """Checks that variants are named where they are described, and the other way round.

    :raises BadInputError: naming the variant, or what is said twice
    """
    for name in matrix.get(VARIANT, ()):
        if name not in variants:
            raise unknown("variant", name, variants, f"say what it is: {VARIANT}.{name}.key=value")
    if variants and VARIANT not in matrix:
        raise BadInputError(f"variants are described and none is measured: say {MATRIX}{VARIANT}={','.join(variants)}")
    for name, own in variants.items():
        for key in own:
            if key in matrix:
                raise BadInputError(
                    f"{VARIANT}.{name}.{key} and {MATRIX}{key} both say what {key} is at a point; leave one out"
                )


def _has(system: str, own: Mapping[str, str]) -> bool:
    """Whether a variant is one of a system: of those that it names, else of those that have all of its keys."""
    if "systems" in own:
        return system in own["systems"].split(",")
    return all(concerns(system, key) for key in own)


def concerns(system: str, key: str) -> bool:
    """Whether a key concerns a system: not another system's variable, nor another binding's property."""
    of = catalogue.all_systems()[system]
    if key in catalogue.all_options():
        return key.startswith(f"{of.role}_")
    # A phase's own is what stands behind the phase.
    known = properties.find(key) or properties.find(key.partition(".")[2])
    return known is None or known.by in (*of.bindings, *properties.READERS)


def _points(
    whole: Scenario, assignments: Mapping[str, str], hosts: Hosts | None, caches: Caches | None
) -> tuple[tuple[str, Scenario], ...]:
    """Every system at every point that there is for it, in the order of measuring; the first dimension changes last.

    :raises BadInputError: naming the point at which the scenario cannot be
    """
    matrix = whole.matrix
    dimensions = {name: _dimensions(name, whole) for name in whole.systems}
    count = sum(math.prod(map(len, of_system.values())) for of_system in dimensions.values())
    if count * whole.most_rounds > MOST_TRIALS:
        raise BadInputError(f"the matrix has {count:,} points in each of {whole.most_rounds} rounds, more than"
                            f" {MOST_TRIALS:,} trials; leave some values out")  # fmt: skip
    if "operationcount" in matrix and "duration" not in matrix:
        # Meant to end the run, as on the command line.
        assignments = {**assignments, "duration": "0"}
    used = [key for key in matrix if any(key in of_system for of_system in dimensions.values())]
    scenarios: dict[str, Scenario] = {}
    found: dict[tuple[str, str], Scenario] = {}
    for values in itertools.product(*(matrix[key] for key in used)):
        at = dict(zip(used, values, strict=True))
        for name, of_system in dimensions.items():
            point = {key: at[key] for key in of_system}
            if any(value not in of_system[key] for key, value in point.items()):
                continue  # a variant of other systems
            place = point_name(point)
            if place not in scenarios:
                of_variant = whole.variants.get(point.get(VARIANT, ""), {})
                of_point = {**{key: _added(key, assignments, value) for key, value in of_variant.items()}, **point}
                own = {key: value for key, value in of_point.items() if key not in (VARIANT, "systems")}
                scenarios[place] = _at(whole.name, {**assignments, **own}, point, hosts, caches)
            found.setdefault((name, place), scenarios[place])
    return tuple((name, scenario) for (name, _), scenario in found.items())


def _added(key: str, assignments: Mapping[str, str], value: str) -> str:
    """A value of a variant: entries of a dict, such as cassandra_settings, are added to those of the scenario."""
    variable = catalogue.all_options().get(key)
    if variable is None or variable.type != "dict" or key not in assignments:
        return value
    return json.dumps({**variable.parse(assignments[key]), **variable.parse(value)})


def _dimensions(system: str, whole: Scenario) -> dict[str, Sequence[str]]:
    """The dimensions that there are for a system, with its values in each."""
    found: dict[str, Sequence[str]] = {}
    for key, values in whole.matrix.items():
        own = [value for value in values if key != VARIANT or _has(system, whole.variants[value])]
        if own and concerns(system, key):
            found[key] = own
    return found


def _at(
    name: str, assignments: Mapping[str, str], point: Mapping[str, str], hosts: Hosts | None, caches: Caches | None
) -> Scenario:
    try:
        scenario = replace(_resolved(_sorted_out(name, assignments), hosts, caches), point=point)
        together.check(scenario)
    except BadInputError as error:
        raise BadInputError(f"at {point_name(point)}: {error}" if point else str(error)) from error
    return scenario


def _resolved(scenario: Scenario, hosts: Hosts | None, caches: Caches | None) -> Scenario:
    """The scenario with the number of its records instead of their size, of all keys' columns, and ``scale`` applied.

    :raises BadInputError: if it has both of two properties that say one thing, or the size is not known
    """
    values = dict(scenario.values)
    if partitions := int(values.pop("partitions", "0")):
        if "keycolumns" in values:
            raise BadInputError(
                f"partitions={partitions} and keycolumns={values['keycolumns']} both say {_DECIDES['keycolumns']};"
                " leave one out"
            )
        values["keycolumns"] = key_columns.series(partitions)
    datasize = values.pop("datasize", "")
    sized = replace(scenario, values=values, datasize=datasize)
    if datasize:
        known = hosts or here()
        if datasize.endswith("*cache") and caches is not None:
            sized = replace(sized, caches=caches(sized, known.stated(values)))
        values["recordcount"] = _records(sized, datasize, known)
    return _scaled(sized)


def _records(scenario: Scenario, datasize: str, hosts: Hosts) -> str:
    """How many records have that size together.

    :raises BadInputError: if the hosts' memory is not known, no system has a cache, or a record is larger than that
    """
    factor, _, multiple = datasize.partition("*")
    if multiple == "cache":
        # The smallest: all systems of a comparison have the same records.
        cache = min(filter(None, scenario.caches.values()), default=None)
        if cache is None:
            raise BadInputError(
                f"datasize={datasize}: {', '.join(scenario.systems)}: no read cache of a system's own is known, as it"
                " leaves caching to the operating system, or keeps all data in memory; give a size, such as 40GB, or a"
                " multiple of the hosts' memory, such as 0.6*ram"
            )
        size = int(Fraction(factor) * cache)
    elif multiple:
        stated = hosts.stated(scenario.values)
        if stated.memory is None:
            raise BadInputError(
                f"datasize={datasize}: the memory of {stated.where} is not known before they are deployed to;"
                " say host_memory=192g, in the scenario or in the inventory"
            )
        size = int(Fraction(factor) * stated.memory * stated.count / scenario.number("replication"))
    else:
        size = size_bytes(datasize) or 0
    if size < scenario.record_bytes:
        raise BadInputError(
            f"datasize={datasize}: is less than one record of {scenario.record_bytes:,} bytes"
            " (fieldcount × fieldlength)"
        )
    return properties.known()["recordcount"].check(str(size // scenario.record_bytes))


def _scaled(scenario: Scenario) -> Scenario:
    """The scenario with ``scale`` applied to its counts; none falls to 0."""
    scale = scenario["scale"]
    full = {key: scenario.values[key] for key in SCALED if scenario.number(key) > 0} if Fraction(scale) != 1 else {}
    if not full:
        return scenario
    counts = {key: share_of(count, scale) for key, count in full.items()}
    if part := [key for key in full if key in ("insertstart", "insertcount")]:
        start, count = (scenario.number(key) for key in ("insertstart", "insertcount"))
        # Rounded as the record count is, so that a part which ends with the records still does.
        first, end = int(start * Fraction(scale)), int(share_of(str(start + count), scale))
        counts |= {key: str(first if key == "insertstart" else max(1, end - first)) for key in part}
    return replace(scenario, values={**scenario.values, **counts}, full=full)


def _checked(key: str, value: str, named: Sequence[str]) -> str:
    """An assignment's value in the form that all readers understand.

    :param named: the runs of a trial
    """
    if apart := [system.name for system in catalogue.all_systems().values() if key in system.variables]:
        raise BadInputError(f"{key}={value}: it distinguishes {', '.join(apart)}; choose with systems=NAME,…")
    if (variable := catalogue.all_options().get(key)) is not None:
        variable.parse(value)
        return value
    if (found := properties.find(key)) is not None:
        checked = replace(found, key=key).check(value)
        if key == "phases":
            phases.check(checked)
        return checked
    phase, _, of_phase = key.partition(".")
    if phase in (phases.INSERT, *named) or properties.find(of_phase) or of_phase in catalogue.all_options():
        known = phases.property_of(phase, of_phase, named)
        # Its message must name the phase, too.
        return replace(known, key=key).check(value)
    raise unknown("property", key, [*properties.known(), *catalogue.all_options()], "docs/properties.md lists all")


def _check_systems(names: Sequence[str]) -> None:
    there = catalogue.all_systems()
    for name in names:
        if name not in there:
            raise unknown("system", name, there, "there are: " + ", ".join(there))
