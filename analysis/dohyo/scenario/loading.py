"""Loads a scenario (a property file plus changes from the command line) and checks it before anything starts."""

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
from dohyo.scenario import contradictions, key_columns, phases, properties, published
from dohyo.scenario.hosts import Hosts, here
from dohyo.scenario.scenario import MATRIX, VARIANT, Caches, Scenario, share_of
from dohyo.sizes import size_bytes
from dohyo.systems import catalogue

# Counts that ``scale`` applies to.
SCALED = ("recordcount", "operationcount", "insertstart", "insertcount")
# Prefix of keys that apply only to the full size of a scenario.
FULL = "full."
MOST_TRIALS = 10_000
# Suffixes of keys that change the operations or disturb the servers, so that the title must mention them.
_IN_TITLE = ("proportion", "distribution", "workload", "faults")


def scenario_files() -> dict[str, Path]:
    """Returns the files in the folder workloads by scenario name."""
    return {path.stem: path for path in sorted(WORKLOADS.iterdir()) if path.is_file() and path.name[0] != "."}


def description(path: Path) -> str:
    """Returns the first line of a property file if it is a comment, otherwise an empty string."""
    line = re.split("[\r\n]", properties.text(path), maxsplit=1)[0]
    return line.lstrip("#! ").rstrip() if line[:1] in ("#", "!") else ""


def _title(path: Path, changes: Mapping[str, str]) -> str:
    """Returns a file's description without text in parentheses, plus operations and faults that the user changed."""
    title = re.sub(r" *\([^)]*\)", "", description(path))
    changed = [f"{key}={value}" for key, value in changes.items() if key.endswith(_IN_TITLE)]
    return f"{title}, with {', '.join(changed)}" if title and changed else title


def find(name: str) -> Path:
    """Returns the file of a scenario.

    :param name: name of a scenario, or path of a property file
    :raises BadInputError: if there is no such file
    """
    files = scenario_files()
    if name in files:
        return files[name]
    plain_text.check(name, f"the scenario {name}")
    way_out = "name a property file or a scenario that --list shows"
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
        kind = "a folder" if stat.S_ISDIR(mode) else "a device or a pipe"
        raise BadInputError(f"{name} is {kind}, not a property file; {way_out}")
    raise unknown("scenario", name, files, "--list shows all scenarios; you can also name a file")


def overrides(assignments: Sequence[str], options: Mapping[str, str | None]) -> dict[str, str]:
    """Returns the properties that the command line sets, by key.

    :param assignments: values of the option --set, as ``key=value``
    :param options: values of options such as --records, by property key; None if the option was not given
    :raises BadInputError: if an assignment is malformed or two values contradict each other
    """
    requested: dict[str, str] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise BadInputError(f"--set {assignment}: must read --set key=value")
        requested[key.strip()] = value.strip()
    for key, named_value in options.items():
        if named_value is None:
            continue
        if requested.get(key, named_value) != named_value:
            raise BadInputError(f"{key} is given twice: as {requested[key]} and as {named_value}; leave one out")
        requested[key] = named_value
    return requested


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

    :param path: property file
    :param changes: properties and systems' variables that replace those in the file
    :param name: name of the scenario; by default the file's name
    :param hosts: hosts whose memory datasize=4*ram refers to; None for this machine
    :param full: whether ``full.key=value`` in the file replaces ``key=value``
    :param caches: function that returns the caches for datasize=0.6*cache; None rejects such a size
    :raises BadInputError: naming key, value and what is allowed
    """
    name = name or path.stem
    plain_text.check(name, f"the scenario's name {name}")
    sources, decided = _sources(path, dict(changes or {}), full=full)
    names = phases.split(next((entry["phases"] for entry in sources.values() if "phases" in entry), phases.RUN))
    assignments: dict[str, str] = {}
    matrix: dict[str, tuple[str, ...]] = {}
    variants: dict[str, dict[str, str]] = {}
    replaced: dict[str, dict[str, str]] = {}
    for source, entries in sources.items():
        for key, value in entries.items():
            try:
                if key.startswith(f"{VARIANT}."):
                    name_of_variant, _, subkey = key.removeprefix(f"{VARIANT}.").partition(".")
                    of_variant = variants.setdefault(name_of_variant, {})
                    if source != _COMMAND_LINE and _about(subkey) in decided:
                        of_variant = replaced.setdefault(name_of_variant, {})
                    of_variant[subkey] = _of_variant(key, subkey, value, names)
                elif key.startswith(MATRIX):
                    matrix[key.removeprefix(MATRIX)] = _dimension(key.removeprefix(MATRIX), value, names)
                else:
                    assignments[key] = _checked(key, value, names)
            except BadInputError as error:
                raise BadInputError(f"{source}: {error}") from error
    whole = replace(_sorted_out(name, assignments), title=_title(path, changes or {}))
    _check_systems(whole.systems)
    if len(set(whole.systems)) < len(whole.systems):
        raise BadInputError(f"systems={whole['systems']}: a system is named twice; to measure it again, set repeats=N")
    for published_file in whole.published:
        published.load(published_file)  # an invalid file must be rejected before the experiment starts
    for variant, values in replaced.items():
        # Without the removed keys, the variant could also apply to other systems.
        union = {**values, **variants[variant]}
        variants[variant].setdefault("systems", ",".join(name for name in catalogue.all_systems() if _has(name, union)))
    _check_variants(variants, matrix)
    if matrix:
        variants = {name: variants[name] for name in matrix.get(VARIANT, ())}
        whole = replace(whole, matrix=matrix, variants=variants)
        return replace(whole, points=_points(whole, assignments, hosts, caches))
    scenario = _resolved(whole, hosts, caches)
    contradictions.check(scenario)
    return scenario


_COMMAND_LINE = "command line"
# Properties that cannot be set together with another one, mapped to that other property.
_SYNONYMS = {"maxexecutiontime": "duration", "datasize": "recordcount", "partitions": "keycolumns"}
_DECIDES = {
    "duration": "how long a run takes (two names for one property)",
    "recordcount": "how many records are loaded",
    "keycolumns": "which columns a key has",
}


def _about(key: str) -> str:
    """Returns the property that a key sets, without the prefix of the matrix and with synonyms replaced."""
    phase, dot, last = key.removeprefix(MATRIX).rpartition(".")
    return phase + dot + _SYNONYMS.get(last, last)


def _sized(values: dict[str, str], full: bool, file: str) -> dict[str, str]:
    """Returns the properties of a file for its small or its full size.

    :raises BadInputError: if the full size is requested and the file has none
    """
    small = {key: value for key, value in values.items() if not key.startswith(FULL)}
    if not full:
        return small
    large = {key.removeprefix(FULL): value for key, value in values.items() if key.startswith(FULL)}
    if not large:
        raise BadInputError(f"--full: {file} has only one size; {FULL}key=value in it would define the full size")
    replaced = {_about(key) for key in large}
    # Keep the order of the dimensions in the matrix.
    return {key: value for key, value in small.items() if key in large or _about(key) not in replaced} | large


def _one_by_one(values: Mapping[str, str], source: str) -> dict[str, str]:
    """Returns the properties with ``variant.NAME,NAME.key`` split into one key per variant.

    :raises BadInputError: if a variant has a key twice
    """
    split: dict[str, str] = {}
    for key, value in values.items():
        several = re.fullmatch(rf"((?:{FULL})?{VARIANT}\.)([^.]*,[^.]*)(\..*)", key)
        names = [name.strip() for name in several[2].split(",")] if several else []
        for single in [f"{several[1]}{name}{several[3]}" for name in names] if several else [key]:
            if single in split:
                raise BadInputError(f"{source}: {single} is set twice: to {split[single]} and {value}; leave one out")
            split[single] = value
    return split


def _sources(path: Path, changes: dict[str, str], *, full: bool) -> tuple[dict[str, dict[str, str]], set[str]]:
    """Returns the properties of the file and of the command line, which overrides the file.

    :return: properties by source, and the properties that the command line overrides in variants
    :raises BadInputError: if a source sets a property twice, or contains a secret
    """
    read = properties.read(path)
    for source, assignments in {shown(path): read, _COMMAND_LINE: changes}.items():
        for key, value in assignments.items():
            option = catalogue.all_options().get(key.rpartition(".")[2])
            if option is not None and option.secret:
                raise BadInputError(
                    f"{source}: {option.name} is secret, and others could read it; set {option.environment} instead"
                )
            plain_text.check(key + value, f"{source}: {key}={value}")
    read, changes = _one_by_one(read, shown(path)), _one_by_one(changes, _COMMAND_LINE)
    # An operationcount on the command line ends the run, even if the file sets a duration.
    decided = {_about(key) for key in changes}
    for key in [key for key in changes if key.rpartition(".")[2] == "operationcount"]:
        duration = key.removeprefix(MATRIX).removesuffix("operationcount") + "duration"
        if duration not in decided:
            changes[duration] = "0"
    # rounds=N on the command line is exact, even if the file sets a precision.
    if "rounds" in changes and "precision" in read:
        changes.setdefault("precision", "none")
    sources = {shown(path): _sized(read, full, shown(path)), _COMMAND_LINE: changes}
    for source, assignments in sources.items():
        keys: dict[str, str] = {}
        for key in assignments:
            about = _about(key)
            if (earlier := keys.setdefault(about, key)) != key:
                one, two = (f"{name}={assignments[name]}" for name in sorted((key, earlier), key=about.__ne__))
                subject = _DECIDES.get(about, about)
                raise BadInputError(f"{source}: {one} and {two} both determine {subject}; leave one out")
        # Files may set duration and operationcount: duration takes precedence; stock YCSB reads only operationcount.
        ends = ("maxexecutiontime",) if assignments is not changes else ("maxexecutiontime", "duration")
        for key in assignments:
            prefix, dot, name = key.rpartition(".")
            count = f"{prefix}{dot}operationcount"
            if name in ends and all(re.search("[1-9]", assignments.get(limit, "")) for limit in (key, count)):
                raise BadInputError(
                    f"{source}: {count}={assignments[count]} and {key}={assignments[key]} both end a run; leave one out"
                )
    file_values = sources[shown(path)]
    decided = {_about(key) for key in changes}
    # The property systems on the command line does not replace a variant's own systems.
    in_variants = decided - {"systems"}
    # Removing a phase on the command line also removes its properties.
    phase_names = phases.split(changes.get("phases", ""))
    left_out = {f"{name}." for name in phases.split(file_values.get("phases", phases.RUN)) if name not in phase_names}
    if "phases" in changes:
        decided |= {_about(key) for key in file_values if _is_of_phase(key.removeprefix(MATRIX), tuple(left_out))}
    return {
        source: {key: value for key, value in entries.items() if entries is changes or _about(key) not in decided}
        for source, entries in sources.items()
    }, in_variants


def _is_of_phase(key: str, prefixes: tuple[str, ...]) -> bool:
    """Returns whether a key belongs to one of these phases; max.other.cpu, for example, does not belong to max."""
    return key.startswith(prefixes) and (properties.find(key) is None or key in phases.SHARES.values())


def _sorted_out(name: str, assignments: Mapping[str, str]) -> Scenario:
    """Returns a scenario with checked assignments, before datasize and scale are applied."""
    values: dict[str, str] = {}
    role_variables: dict[str, Any] = {}
    phase_values: dict[str, dict[str, str]] = {}
    for key, value in assignments.items():
        if (variable := catalogue.all_options().get(key)) is not None:
            role_variables[key] = variable.parse(value)
        elif properties.find(key) is not None:
            values["duration" if key == "maxexecutiontime" else key] = value
        else:
            phase, _, subkey = key.partition(".")
            phase_values.setdefault(phase, {})["duration" if subkey == "maxexecutiontime" else subkey] = value
    return Scenario(name, values, role_variables, phase_values=phase_values)


def _is_of_the_experiment(key: str) -> bool:
    entry = properties.find(key)
    return entry is not None and not entry.matrix


def _dimension(key: str, text: str, phase_names: Sequence[str]) -> tuple[str, ...]:
    """Returns the checked values of a dimension of the matrix.

    :raises BadInputError: naming the dimension and what is wrong with it
    """
    if _is_of_the_experiment(key):
        raise BadInputError(f"{MATRIX}{key}={text}: applies to the whole experiment; set {key} without matrix")
    # Commas in brackets belong to a value, such as a list.
    texts = [value.strip() for value in re.split(r",(?![^\[{]*[\]}])", text)]
    if not all(texts):
        raise BadInputError(f"{MATRIX}{key}={text}: must be values separated by commas")
    try:
        values = tuple(texts if key == VARIANT else (_checked(key, value, phase_names) for value in texts))
    except BadInputError as error:
        raise BadInputError(f"{MATRIX}{key}={text}: {error}") from error
    if len(set(values)) < len(values):
        raise BadInputError(f"{MATRIX}{key}={text}: a value occurs twice; to measure every point again, set rounds=N")
    return values


def _of_variant(key: str, subkey: str, value: str, phase_names: Sequence[str]) -> str:
    """Returns the checked value of a variant's property.

    :raises BadInputError: naming what is wrong with it
    """
    if subkey == "systems":
        names = [name.strip() for name in value.split(",")]
        _check_systems(names)
        return ",".join(names)
    if not subkey or _is_of_the_experiment(subkey):
        raise BadInputError(f"{key}={value}: must be variant.NAME.key=value, with a key that can differ between points")
    try:
        return _checked(subkey, value, phase_names)
    except BadInputError as error:
        raise BadInputError(f"{key}={value}: {error}") from error


def _check_variants(variants: Mapping[str, Mapping[str, str]], matrix: Mapping[str, tuple[str, ...]]) -> None:
    """Checks that the matrix uses variants if there are any, names only defined ones, and sets none of their keys.

    :raises BadInputError: naming the variant or the key
    """
    for name in matrix.get(VARIANT, ()):
        if name not in variants:
            raise unknown("variant", name, variants, f"define it with {VARIANT}.{name}.key=value")
    if variants and VARIANT not in matrix:
        raise BadInputError(f"no variant is measured; set {MATRIX}{VARIANT}={','.join(variants)}")
    for name, entries in variants.items():
        for key in entries:
            if key in matrix:
                raise BadInputError(f"{VARIANT}.{name}.{key} and {MATRIX}{key} both determine {key}; leave one out")


def _has(system: str, entries: Mapping[str, str]) -> bool:
    """Returns whether a variant applies to a system: it lists the system, or all of its keys concern the system."""
    if "systems" in entries:
        return system in entries["systems"].split(",")
    return all(concerns(system, key) for key in entries)


def concerns(system: str, key: str) -> bool:
    """Returns whether a key concerns a system: a variable or property of another system or binding does not."""
    owner = catalogue.all_systems()[system]
    if key in catalogue.all_options():
        return key.startswith(f"{owner.role}_")
    # For PHASE.KEY, only KEY matters.
    entry = properties.find(key) or properties.find(key.partition(".")[2])
    return entry is None or entry.reader in (*owner.bindings, *properties.READERS)


def _points(
    whole: Scenario, assignments: Mapping[str, str], hosts: Hosts | None, caches: Caches | None
) -> tuple[tuple[str, Scenario], ...]:
    """Returns each system at each of its points, in the order of measurement; the first dimension changes slowest.

    :raises BadInputError: naming the point at which the scenario is not valid
    """
    matrix = whole.matrix
    dimensions = {name: _dimensions(name, whole) for name in whole.systems}
    count = sum(math.prod(map(len, of_system.values())) for of_system in dimensions.values())
    if count * whole.most_rounds > MOST_TRIALS:
        raise BadInputError(f"the matrix has {count:,} points × {whole.most_rounds} rounds, more than {MOST_TRIALS:,}"
                            " trials; leave out values")  # fmt: skip
    if "operationcount" in matrix and "duration" not in matrix:
        # An operationcount in the matrix ends the run, as on the command line.
        assignments = {**assignments, "duration": "0"}
    used = [key for key in matrix if any(key in of_system for of_system in dimensions.values())]
    scenarios: dict[str, Scenario] = {}
    points: dict[tuple[str, str], Scenario] = {}
    for values in itertools.product(*(matrix[key] for key in used)):
        combination = dict(zip(used, values, strict=True))
        for name, of_system in dimensions.items():
            point = {key: combination[key] for key in of_system}
            if any(value not in of_system[key] for key, value in point.items()):
                continue  # The variant belongs to other systems.
            label = point_name(point)
            if label not in scenarios:
                of_variant = whole.variants.get(point.get(VARIANT, ""), {})
                of_point = {**{key: _added(key, assignments, value) for key, value in of_variant.items()}, **point}
                changes = {key: value for key, value in of_point.items() if key not in (VARIANT, "systems")}
                scenarios[label] = _at(whole.name, {**assignments, **changes}, point, hosts, caches)
            points.setdefault((name, label), scenarios[label])
    return tuple((name, scenario) for (name, _), scenario in points.items())


def _added(key: str, assignments: Mapping[str, str], value: str) -> str:
    """Returns a variant's value; entries of a dict, such as cassandra_settings, are added to those of the scenario."""
    variable = catalogue.all_options().get(key)
    if variable is None or variable.type != "dict" or key not in assignments:
        return value
    return json.dumps({**variable.parse(assignments[key]), **variable.parse(value)})


def _dimensions(system: str, whole: Scenario) -> dict[str, Sequence[str]]:
    """Returns the dimensions that concern a system, with the values that apply to it."""
    dimensions: dict[str, Sequence[str]] = {}
    for key, values in whole.matrix.items():
        applicable = [value for value in values if key != VARIANT or _has(system, whole.variants[value])]
        if applicable and concerns(system, key):
            dimensions[key] = applicable
    return dimensions


def _at(
    name: str, assignments: Mapping[str, str], point: Mapping[str, str], hosts: Hosts | None, caches: Caches | None
) -> Scenario:
    try:
        scenario = replace(_resolved(_sorted_out(name, assignments), hosts, caches), point=point)
        contradictions.check(scenario)
    except BadInputError as error:
        raise BadInputError(f"at {point_name(point)}: {error}" if point else str(error)) from error
    return scenario


def _resolved(scenario: Scenario, hosts: Hosts | None, caches: Caches | None) -> Scenario:
    """Returns the scenario with datasize turned into recordcount, partitions into keycolumns, and ``scale`` applied.

    :raises BadInputError: if partitions and keycolumns are both set, or the size is not known
    """
    values = dict(scenario.values)
    if partitions := int(values.pop("partitions", "0")):
        if "keycolumns" in values:
            raise BadInputError(
                f"partitions={partitions} and keycolumns={values['keycolumns']} both determine"
                f" {_DECIDES['keycolumns']}; leave one out"
            )
        values["keycolumns"] = key_columns.series(partitions)
    datasize = values.pop("datasize", "")
    sized = replace(scenario, values=values, datasize=datasize)
    if datasize:
        effective = hosts or here()
        if datasize.endswith("*cache") and caches is not None:
            sized = replace(sized, caches=caches(sized, effective.stated(values)))
        values["recordcount"] = _records(sized, datasize, effective)
    return _scaled(sized)


def _records(scenario: Scenario, datasize: str, hosts: Hosts) -> str:
    """Returns the number of records whose values have a total size of `datasize`.

    :raises BadInputError: if the hosts' memory is not known, no system has a cache, or a record is larger than the size
    """
    factor, _, multiple = datasize.partition("*")
    if multiple == "cache":
        # Use the smallest cache, because all systems must get the same records.
        cache = min(filter(None, scenario.caches.values()), default=None)
        if cache is None:
            raise BadInputError(
                f"datasize={datasize}: no read cache of known size ({', '.join(scenario.systems)});"
                " set a size such as 40GB or 0.6*ram"
            )
        size = int(Fraction(factor) * cache)
    elif multiple:
        stated = hosts.stated(scenario.values)
        if stated.memory is None:
            raise BadInputError(
                f"datasize={datasize}: the memory of {stated.where} is not known yet; set host_memory=192g"
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
    """Returns the scenario with ``scale`` applied to its counts; the minimum is 1, except for insertstart."""
    scale = scenario["scale"]
    full = {key: scenario.values[key] for key in SCALED if scenario.number(key) > 0} if Fraction(scale) != 1 else {}
    if not full:
        return scenario
    counts = {key: share_of(count, scale) for key, count in full.items()}
    if part := [key for key in full if key in ("insertstart", "insertcount")]:
        start, count = (scenario.number(key) for key in ("insertstart", "insertcount"))
        # Round start and end as recordcount is rounded, so that a part that ended with the last record still does so.
        first, end = int(start * Fraction(scale)), int(share_of(str(start + count), scale))
        counts |= {key: str(first if key == "insertstart" else max(1, end - first)) for key in part}
    return replace(scenario, values={**scenario.values, **counts}, full=full)


def _checked(key: str, value: str, phase_names: Sequence[str]) -> str:
    """Returns the value of an assignment in canonical form.

    :param phase_names: names of the trial's runs
    :raises BadInputError: naming key, value and what is allowed
    """
    if apart := [system.name for system in catalogue.all_systems().values() if key in system.variables]:
        raise BadInputError(f"{key}={value}: it distinguishes {', '.join(apart)}; choose with systems=NAME,…")
    if (variable := catalogue.all_options().get(key)) is not None:
        variable.parse(value)
        return value
    if (entry := properties.find(key)) is not None:
        checked = replace(entry, key=key).check(value)
        if key == "phases":
            phases.check(checked)
        return checked
    phase, _, of_phase = key.partition(".")
    if phase in (phases.INSERT, *phase_names) or properties.find(of_phase) or of_phase in catalogue.all_options():
        phase_entry = phases.property_of(phase, of_phase, phase_names)
        # The error message must contain the phase.
        return replace(phase_entry, key=key).check(value)
    raise unknown("property", key, [*properties.known(), *catalogue.all_options()], "docs/properties.md lists all")


def _check_systems(names: Sequence[str]) -> None:
    systems = catalogue.all_systems()
    for name in names:
        if name not in systems:
            raise unknown("system", name, systems)
