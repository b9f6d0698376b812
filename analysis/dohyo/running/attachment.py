"""Handles attached systems, whose servers are already running (docs/attach.md): options, effects and consent."""

import json
import math
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from dohyo import folders, plain_yaml, terminal
from dohyo.ansible.playbook import build_client, decrypted, host_variables, play
from dohyo.bad_input import BadInputError, unknown
from dohyo.figures import counted, size
from dohyo.planning import plan
from dohyo.running.experiment import only_one, read_json
from dohyo.scenario import properties
from dohyo.scenario.phases import INSERT, most_again
from dohyo.scenario.scenario import MATRIX, Scenario
from dohyo.scenario.setup import NOT_KNOWN
from dohyo.signals import Signals
from dohyo.sizes import size_bytes
from dohyo.systems import catalogue

# Properties of the bindings that a secrets file may contain.
_ACCESS = (
    r"(.*\.)?(user|username|password|useSSL|ca|localdc|tlsname|tlsca|principal|keytab|krb5conf)"
    r"|hbase\.(security\.authentication|rpc\.protection|client\.netty\.tls\.enabled|rpc\.tls\..*)"
)
# An address with an optional port, but no blanks or shell characters. Some systems allow a name or a path after it.
_HOST = r"([0-9A-Za-z][0-9A-Za-z._-]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
_LAST_PORT = 65535
_HOSTS = rf"{_HOST}(,{_HOST})*"
# Form of the hosts, by the system's folder. A JDBC URL has one host: with several, the driver could use or remove
# Dohyo's database on the wrong one. A path after MySQL's host would name the clients' database.
_PLACES = {
    "mysql": _HOST,
    "postgresql": rf"{_HOST}(/[0-9A-Za-z_.-]+)?",
    "aerospike": rf"{_HOSTS}(/[0-9A-Za-z_.-]+)?",
    "hbase": rf"{_HOSTS}(:?/[0-9A-Za-z_./-]*)?",
}

# For each property, the value that applies only to servers that Dohyo starts.
_OF_SERVERS = {"profile": "tuned", "reuse": "data"}


def overrides(
    assignments: Sequence[str], secrets: str | None, may: Sequence[str], inventory: Path | None
) -> dict[str, str | None]:
    """Converts the options and the inventory to properties of the scenario. Options take precedence.

    :param assignments: arguments of --attach, NAME=HOSTS
    :param secrets: file with credentials
    :param may: actions that are allowed beyond the use of Dohyo's own database
    :raises BadInputError: with the option and what is wrong with it
    """
    of_inventory = _of_inventory(inventory)
    requested: dict[str, str] = {}
    for assignment in assignments:
        name, equals, places = assignment.partition("=")
        if not equals or name in requested:
            raise BadInputError(f"--attach {assignment}: must read --attach SYSTEM=HOSTS, once for each system")
        requested[name] = places
    attached = {**(of_inventory.get("attached") or {}), **requested}
    secrets = secrets or of_inventory.get("attached_secrets")
    may = may or of_inventory.get("attached_may") or ()
    if not attached:
        if secrets or may:
            raise BadInputError("--attach-secrets and --attach-may need --attach SYSTEM=HOSTS")
        return {}
    can = [system.name for system in catalogue.all_systems().values() if system.attaches]
    roles: dict[str, str] = {}
    for name, places in attached.items():
        if name not in can:
            raise unknown("system", name, can, f"those that can be attached are {', '.join(can)}")
        _check_places(name, places)
        role = catalogue.all_systems()[name].role
        if role in roles:
            raise BadInputError(f"attached {roles[role]} and {name} are the same product; measure one after the other")
        roles[role] = name
    if secrets:
        check_secrets(Path(secrets).expanduser().absolute(), list(attached))
    return {
        "attached": json.dumps(attached),
        "attached_secrets": str(Path(secrets).expanduser().absolute()) if secrets else None,
        "attached_may": json.dumps(list(may)) if may else None,
        "systems": ",".join(attached),
    }


def _of_inventory(inventory: Path | None) -> dict[str, Any]:
    """Returns the variables of an inventory that attach systems.

    :raises BadInputError: if a type is wrong, or if hosts differ, because Ansible would then attach systems without
        the user's consent
    """
    types = {"attached": dict, "attached_secrets": str, "attached_may": list}
    settings = []
    for host in host_variables(inventory).values():
        for name in types.keys() & host:
            if not isinstance(host[name], types[name]):
                raise BadInputError(f"the inventory {inventory}: {name}={host[name]}: wrong type; see docs/attach.md")
        settings.append({name: host[name] for name in types if host.get(name)})
    for setting in settings:
        if setting != settings[0]:
            names = ", ".join(sorted(setting.keys() | settings[0]))
            raise BadInputError(
                f"the inventory {inventory}: {names}: must be the same for all hosts; set it below 'all: vars:'"
            )
    return settings[0] if settings else {}


def _check_places(name: str, places: Any) -> None:
    """Checks the form of the hosts, because other text could lead to a database that does not belong to Dohyo.

    :raises BadInputError: with the hosts
    """
    form = _PLACES.get(catalogue.all_systems()[name].role, _HOSTS)
    if not isinstance(places, str) or not re.fullmatch(form, places):
        raise BadInputError(f"attached {name}={places}: must be hosts; docs/attach.md shows each system's form")
    for port in re.findall(r"(?:\]|[0-9A-Za-z]):([0-9]+)(?=[,/:]|$)", re.sub(r"\[.*?\]", "]", places)):
        if not 1 <= int(port) <= _LAST_PORT:
            raise BadInputError(f"attached {name}={places}: the port {port} must be a number from 1 to {_LAST_PORT}")


def check_secrets(file: Path, names: Sequence[str]) -> None:
    """Checks the file with credentials. Messages do not show its content.

    :raises BadInputError: if it cannot be read, other users may read it, or its form is wrong
    """
    text = _secrets_of(file)
    if text.startswith("$ANSIBLE_VAULT;"):
        text = decrypted(file)
    try:
        secrets = plain_yaml.parse(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        cause = f"line {mark.line + 1} is not YAML" if mark else "is not YAML"
        cause = str(error) if isinstance(error, plain_yaml.RefusedError) else cause
        raise BadInputError(f"--attach-secrets {file}: {cause}; see docs/attach.md") from None
    if not isinstance(secrets, dict):
        raise BadInputError(f"--attach-secrets {file}: must contain 'SYSTEM:' and its properties (docs/attach.md)")
    for name, of_system in secrets.items():
        if name not in catalogue.all_systems():
            raise unknown("system", str(name), catalogue.all_systems(), f"--attach-secrets {file} names systems")
        for key, value in of_system.items() if isinstance(of_system, dict) else [("", None)]:
            entry = properties.find(str(key))
            binding = catalogue.all_systems()[name].bindings
            if (
                entry is None
                or entry.reader not in binding
                or not re.fullmatch(_ACCESS, str(key))
                or not _is_single(value)
            ):
                raise BadInputError(
                    f"--attach-secrets {file}: {name}: {key or 'its value'}: must be one value (docs/attach.md)"
                )
            if str(key).endswith(".ca") and not Path(str(value)).expanduser().is_file():
                raise BadInputError(f"--attach-secrets {file}: {name}: {key}: is not a file with certificates")
    for name in names:
        if name not in secrets:
            terminal.warn(f"--attach-secrets {file} has no entry for {name}: clients connect to it without a user")


def _secrets_of(file: Path) -> str:
    try:
        about = file.stat()
        is_file = stat.S_ISREG(about.st_mode) or file.is_dir()  # opening a FIFO would wait; opening a folder fails
        text = folders.content(file).decode("utf-8") if is_file else ""
    except (OSError, ValueError) as error:
        cause = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is not text, or is too large"
        raise BadInputError(f"--attach-secrets {file}: {cause}; docs/attach.md has an example of such a file") from None
    if not is_file:
        raise BadInputError(f"--attach-secrets {file}: must be a regular file, which is read again for each trial")
    if about.st_mode & 0o077:
        raise BadInputError(f"--attach-secrets {file}: other users may read it; run: chmod 600 {file}")
    return text


def _is_single(value: Any) -> bool:
    return isinstance(value, str | int | bool) and "\n" not in str(value)


def of(scenario: Scenario) -> dict[str, str]:
    """Returns the attached systems that will be measured, with their hosts.

    :raises BadInputError: if the hosts, which may come from a scenario's file, are not valid
    """
    attached = scenario.role_variables.get("attached", {})
    measured = {name: attached[name] for name in scenario.systems if name in attached}
    for name, places in measured.items():
        _check_places(name, places)
    return measured


def check_measured(assignments: Sequence[str], scenario: Scenario) -> None:
    """Rejects the option --attach for a system that will not be measured.

    :param assignments: arguments of --attach, NAME=HOSTS
    :raises BadInputError: with the option
    """
    for assignment in assignments:
        if assignment.partition("=")[0] not in of(scenario):
            among = ",".join(scenario.systems)
            raise BadInputError(f"--attach {assignment}: is not among --systems {among}; add it there")


def check(scenario: Scenario, target: str | None, most: str | None, changes: Mapping[str, str]) -> None:
    """Checks that a run does not exceed the limits that the user set for attached servers.

    :param target: value of --target: maximum operations per second of a phase, and records per second of the load
    :param most: value of --max-data: maximum size of the records to write
    :param changes: properties from the command line
    :raises BadInputError: with the setting that exceeds a limit, has no limit, or would have no effect
    """
    attached = of(scenario)
    if not attached:
        if most is not None:
            raise BadInputError(f"--max-data {most}: limits what is written to attached servers; add --attach")
        return
    _check_settings(scenario, attached, changes)
    bytes_most = size_bytes(most) if most is not None else None
    if most is not None and bytes_most is None:
        raise BadInputError(f"--max-data {most}: must be a size, such as 10GB")
    for trial in plan.trials(scenario):
        if trial.system not in attached:
            continue
        point = trial.scenario
        if point["settle.cache"] == "drop":
            raise BadInputError("settle.cache=drop: Dohyo does not empty the caches of attached servers; leave it out")
        written = _written(point)
        if bytes_most is not None and written is None:
            raise BadInputError(
                f"--max-data {most}: nothing limits the inserts of {point.name}; add --target, or set operationcount"
            )
        if bytes_most is not None and written is not None and written > bytes_most:
            raise BadInputError(
                f"--max-data {most}: {trial.name} would write {size(written)} of records;"
                " lower --records, or allow more"
            )
        if target is not None:
            _check_rates(point, target)


def _check_settings(scenario: Scenario, attached: Mapping[str, str], changes: Mapping[str, str]) -> None:
    """Rejects settings that have no effect on attached servers. Only warns if the file sets them outside a matrix.

    :raises BadInputError: with the setting from the command line or the matrix
    """
    started_roles = {catalogue.all_systems()[name].role for name in scenario.systems if name not in attached}
    idle: dict[str, str] = {}
    for trial in plan.trials(scenario):
        if trial.system not in attached:
            continue
        system = catalogue.all_systems()[trial.system]
        for key, value in trial.scenario.role_variables.items():
            if key.startswith(f"{system.role}_") and key not in system.of_tables and system.role not in started_roles:
                idle[key] = str(value)
        if not started_roles:
            idle |= {key: value for key, value in _OF_SERVERS.items() if trial.scenario[key] == value}
    for key, value in idle.items():
        problem = f"{key}={value} only affects servers that Dohyo starts, but these are already running"
        if key in changes or f"{MATRIX}{key}" in changes:
            raise BadInputError(f"{problem} (--attach {','.join(attached)}); leave it out")
        if key in scenario.matrix:
            raise BadInputError(f"{problem}; measure a copy of the scenario {scenario.name} without {MATRIX}{key}")
        terminal.warn(f"the scenario {scenario.name}: {problem}; it is ignored")


def _check_rates(point: Scenario, target: str) -> None:
    """Rejects phases that exceed the target, which limits operations or, in the load, records.

    :raises BadInputError: with the phase
    """
    if point["search"] != "none" and point["search"]:
        raise BadInputError(f"--target {target}: the search for the highest rate goes beyond it; leave one out")
    if any(point.of(name)["verify"] == "acknowledged" for name in point.phases):
        raise BadInputError(
            f"--target {target}: verify=acknowledged reads records back without a target rate; leave one out"
        )
    for name in (INSERT, *point.phases):
        rate = float(point.of(name)["target"])
        records = point.of(name).number("batchsize") if name == INSERT else 1
        if not 0 < rate * records <= float(target):
            batch = f" of {records} records" if records > 1 else ""
            raise BadInputError(
                f"--target {target}: phase {name} has {f'target={rate:g}{batch}' if rate else 'no target'}; add"
                f" --set {name}.target={_rate(target, records)}"
            )


def _written(point: Scenario) -> float | None:
    """Returns the maximum size of the records that a trial inserts, in bytes without copies; None if unlimited."""
    total = float(point.data_bytes)
    # A repeat that others disturb is measured again.
    repeats = point.repeats + most_again(point["max.other.cpu"])
    for name in point.phases:
        phase = point.of(name)
        if float(phase["insertproportion"]) == 0:
            continue
        rate = float(phase["target"])
        count = rate * (phase.warmup + phase.duration) if phase.duration else float(phase.number("operationcount"))
        if not count:
            return None
        total += repeats * count * phase.number("batchsize") * point.record_bytes
    return total


def describe(scenario: Scenario) -> list[str]:
    """Describes, in sentences, what a run does to the attached systems."""
    attached = of(scenario)
    if not attached:
        return []
    trials = [trial for trial in plan.trials(scenario) if trial.system in attached]
    points = [trial.scenario for trial in trials]
    most = max(points, key=lambda point: point.data_bytes * point.number("replication"))
    written = [_written(point) for point in points]
    bytes_ = (
        "an unlimited number of bytes" if None in written else size(max(map(float, filter(None, written)), default=0))
    )
    phases = [point.of(name) for point in points for name in (INSERT, *point.phases)]
    rates = [float(phase["target"]) for phase in phases]
    records = max(rate * phase.number("batchsize") for rate, phase in zip(rates, phases, strict=True))
    rate = (
        f"at most {max(rates):,.0f} operations and {records:,.0f} records per second"
        if all(rates)
        else "as many operations as the servers can process"
    )
    hosts = " and ".join(f"{name} at {places}" for name, places in attached.items())
    may = scenario.role_variables.get("attached_may", [])
    copies = counted(most.number("replication"), "copy", "copies")
    updates = max(point.preconditions for point in points)
    before = f", updates {counted(updates, 'record')} before the runs" if updates else ""
    return [
        f"attached: {hosts}. Dohyo does not own these servers, and others may depend on them.",
        f"{f'Each of {len(trials)} trials' if len(trials) > 1 else 'The trial'} creates dohyo_<id> (a keyspace,"
        " database or namespace), and removes it.",
        f"It loads {counted(most.records, 'record')} ({size(most.data_bytes)}, with {copies}"
        f" {size(most.data_bytes * most.number('replication'))}){before}.",
        f"In all, it writes {bytes_} of records.",
        f"It sends {rate}.",
        "This takes processor time, disk and network from the servers' other users.",
        "Nothing outside dohyo_<id> is written, and no server is started, stopped or changed.",
        "Dohyo's tables are flushed and compacted." if "settle" in may else "Nothing is flushed or compacted.",
    ]


def agree(scenario: Scenario, *, agreed: bool) -> None:
    """Explains what a run does to attached systems, and asks for consent.

    :param agreed: whether --yes was given
    :raises BadInputError: if the user declines, or if there is no terminal for the question
    """
    sentences = describe(scenario)
    for line in sentences:
        terminal.say(line, err=True)
    if not sentences or agreed:
        return
    if not sys.stdin.isatty():
        raise BadInputError("nothing was started, because there is no terminal for the question; add --yes")
    if not click.confirm("Go on?", err=True):
        raise BadInputError("nothing was started")


def loaded(load: Callable[..., Scenario], changes: Mapping[str, str], target: str | None) -> Scenario:
    """Loads a scenario with the limit --target: for operations in runs, and for records in loads of attached systems.

    Attached servers are in use, so they are preconditioned only if the command line requests it.

    :param load: function that loads the scenario; its parameter `changes` contains properties
    :param changes: properties from the command line, whose rates take precedence
    :raises BadInputError: if the target is not a rate, or if the scenario cannot be loaded
    """
    scenario = load(changes=changes)
    if of(scenario) and scenario.preconditions and "preconditioning" not in changes:
        changes = {**changes, "preconditioning": "0"}
        scenario = load(changes=changes)
    if target is None:
        return scenario
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", target) or float(target) == 0:
        raise BadInputError(f"--target {target}: must be operations per second, above 0")
    of_load = f"{INSERT}.target"
    rates = {"target": target, of_load: target}
    scenario = load(changes={**rates, **changes})
    if of_load in changes or not of(scenario):
        return scenario
    # All points of a matrix have the same rate, so the largest batch size decides.
    most = max(trial.scenario.of(INSERT).number("batchsize") for trial in plan.trials(scenario))
    return load(changes={**rates, of_load: _rate(target, most), **changes}) if most > 1 else scenario


def _rate(target: str, records: int) -> str:
    """Returns the operations per second, rounded down, that keep a load within a target in records per second."""
    return f"{math.floor(float(target) * 1e6 / records) / 1e6:.6f}".rstrip("0").rstrip(".")


def examine(scenario: Scenario, inventory: Path | None) -> int:
    """Examines the attached systems and Dohyo's permissions, and prints the results. Returns the exit code.

    :raises BadInputError: if the client cannot be built
    """
    attached = of(scenario)
    with only_one() as measuring, tempfile.TemporaryDirectory() as name:
        measuring(Path(name))
        signals = Signals()
        build_client(signals)
        point = plan.trials(scenario)[0].scenario
        variables = {
            "deploy_systems": list(attached),
            "doctor_systems": list(attached),
            "doctor_results": name,
            "trial_conditions": point.conditions,
            "trial_properties": {**point.client_properties, "recordcount": "1"},
            "trial_client_heap": point["client_heap"],
            **point.role_variables,
        }
        for playbook in ("deploy.yml", "attached.yml"):
            failure = play(playbook, inventory, Path(name), check=signals.check, variables=variables)
            if failure is not None:
                terminal.say(f"ERROR: {failure}", err=True)
                return 1
        threads = point.number("threadcount")
        return max(_show(system, read_json(Path(name) / f"{system}.json"), threads) for system in attached)


def _show(system: str, data: Mapping[str, Any], threads: int) -> int:
    """Prints the results for one system. Returns 1 if the system cannot be measured."""
    missing = data["missing"]
    nodes = counted(data["nodes"], "node") if isinstance(data.get("nodes"), int) else f"{NOT_KNOWN} how many nodes"
    terminal.say(f"{system}: {data.get('version', NOT_KNOWN)}, {nodes}; {data['what']}")
    most = threads * 1000 / data["median_ms"]
    terminal.say(f"  latency: median {data['median_ms']:.2f} ms, slowest of 21 {data['slowest_ms']:.2f} ms")
    terminal.say(f"  {threads} threads: at most {most:,.0f} operations/s; raise threadcount, inflight or batchsize")
    clock = data["clock_ms"]
    off = f"{clock:+} ms \N{PLUS-MINUS SIGN} {data['clock_error_ms']} ms" if clock is not None else NOT_KNOWN
    terminal.say(f"  clock of the server minus clock of the first database host: {off}")
    for key in ("replication", "write_acks", "durability", "compression"):
        if key in data and data[key] == NOT_KNOWN:
            terminal.say(f"  {key}: {NOT_KNOWN}")
    for note in data.get("notes", []):
        terminal.say(f"  {note}")
    if missing:
        terminal.say(f"  missing permissions, which a run needs: {', '.join(missing)}")
    else:
        terminal.say("  permissions: none missing, as far as can be checked")
    return 1 if missing else 0
