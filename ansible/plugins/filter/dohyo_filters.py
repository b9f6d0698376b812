"""Ansible filters: everything that playbooks compute in Python. Each function is the filter of its name."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleFilterError

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lookup"))
# The package's only modules that need no others: Ansible may be the user's own, without what the package needs.
sys.path.append(str(Path(__file__).resolve().parents[3] / "analysis"))
from controller import machine, start_of

from dohyo.bad_input import BadInputError
from dohyo.scenario import faults
from dohyo.systems.context import UNKNOWN, copies, cpus, named
from dohyo.systems.option import WHOLE, Option
from dohyo.systems.rendering import as_properties


def by_sentence(said: dict[str, list[str]]) -> list[str]:
    """Equal sentences of several hosts merged, as in ``a, b: it rains``; of more than four hosts, three are named.

    :param said: sentences by host
    """
    hosts: dict[str, list[str]] = {}
    for host, sentences in said.items():
        for sentence in sentences:
            hosts.setdefault(sentence, []).append(host)
    return [f"{named(who)}: {sentence}" for sentence, who in hosts.items()]


def no_cpus(text: Any) -> str:
    """What is wrong with a list of processors."""
    return f"{text!r} must be numbers and ranges, as in 0-3,8-11"


def shortages(has: Mapping[str, Any], needs: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Why a host cannot divide its memory and processors as it is asked to, one sentence each.

    :param has: what the module ``host_resources`` has found: ``memory_mb``, ``cpus``; empty where it did not look
    :param needs: MiB that each system needs at least, by its name
    :param given: ``budget`` as it was given, ``budget_mb``, ``client_mb`` of a client beside the servers (else 0),
        ``server_cpus``, ``client_cpus``
    """
    budget, client, memory = int(given["budget_mb"]), int(given["client_mb"]), int(has.get("memory_mb", 0))
    found = []
    if budget and memory and budget + client > memory:
        beside = f", and its client needs {client}" if client else ""
        found.append(
            f"host_memory_budget={given['budget']} is {budget} MiB{beside}, but the host has {memory}; set a smaller"
            " budget" + (", a smaller client_heap, or give the clients hosts of their own" if client else "")
        )
    found += [
        f"{name} needs {mb} MiB, and host_memory_budget={given['budget']} leaves it {budget}; set a larger budget, or"
        " leave out the sizes that an inventory or the scenario sets"
        for name, mb in sorted(needs.items())
        if budget and int(mb) > budget
    ]
    asked: dict[str, set[int]] = {}
    for who in ("server", "client"):
        text = given[f"{who}_cpus"]
        try:
            asked[who] = cpus(str(text))
        except BadInputError:
            # Raised here, nobody would see it among the others.
            found.append(f"host_cpus_{who}: {no_cpus(text)}")
            asked[who] = set()
        if has.get("cpus") and (missing := asked[who] - set(has["cpus"])):
            found.append(
                f"host_cpus_{who}={text}: the host has no processors"
                f" {', '.join(map(str, sorted(missing)))}; lscpu shows those that it has"
            )
    if both := asked["server"] & asked["client"]:
        found.append(
            f"host_cpus_server={given['server_cpus']} and host_cpus_client={given['client_cpus']} share processors"
            f" {', '.join(map(str, sorted(both)))}; give each its own"
        )
    return found


def disk_shortages(needs_mb: dict[str, Any], disks: dict[str, Any], rooms_mb: list[Any]) -> list[str]:
    """Which systems a host has no room for, one sentence each.

    :param needs_mb: MiB for the data on this host, by system
    :param disks: how many of the folders of ``dohyo_data``, from the first on, a system's data is in
    :param rooms_mb: MiB of each of these folders
    """
    rooms = [int(room) for room in rooms_mb]
    return [
        f"{name} needs {mb} MiB for the scenario's data, and {sum(rooms[: int(disks[name])])} MiB are there"
        f" ({min(int(disks[name]), len(rooms))} of {len(rooms)} data folders); load fewer records, or give the"
        " databases more or larger devices (dohyo_devices)"
        for name, mb in needs_mb.items()
        if sum(rooms[: int(disks[name])]) < int(mb)
    ]


def consistency(write_copies: Any, read_copies: Any, replication: Any) -> str:
    """Whether a read is sure to see the last acknowledged write."""
    if write_copies is None or read_copies is None or replication == UNKNOWN:
        return UNKNOWN
    return "strong" if write_copies + read_copies > replication else "eventual"


def judged(found: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The conditions that a role has read back, with ``consistency`` and ``differences`` from those asked for.

    Consistency is strong if every read sees every acknowledged write: write copies + read copies > replication, because
    a reader's and a writer's sets of copies must overlap. A role whose database is different states it itself.

    ``exceeded`` has what was asked for where the server gives more, and the role's ``fixed`` says that it cannot give
    less.
    """
    result = {"consistency": consistency(found["write_copies"], found["read_copies"], found["replication"]), **found}
    wanted = dict(asked)
    if {"replication", "write_acks", "read_acks"} <= asked.keys():
        replication = int(asked["replication"])
        wanted["consistency"] = consistency(
            copies(asked["write_acks"], replication), copies(asked["read_acks"], replication), replication
        )
    differences = [
        f"{name}: asked for {value}, "
        + (UNKNOWN if result.get(name) == UNKNOWN else f"the server has {result.get(name, 'not said which')}")
        for name, value in wanted.items()
        if str(result.get(name)) != str(value)
    ]
    exceeded = {
        name: asked[name]
        for name in found.get("fixed", [])
        if name == "write_acks"
        and found[name] != asked[name]
        and found["write_copies"] >= copies(asked[name], int(asked["replication"]))
    }
    return {**result, "differences": differences, "exceeded": exceeded}


def limits(
    found: Mapping[str, Mapping[str, Any]], budgets: Mapping[str, Any], processors: Mapping[str, Any]
) -> dict[str, str]:
    """What holds the servers of all hosts, in words: ``memory_budget`` and ``server_cpus``, as far as it is known.

    A condition that was asked for on one host is said of all.

    :param found: what the module ``process_limits`` has read back, by host
    :param budgets: MiB that were asked for, by host; 0 for none
    :param processors: those that servers were to be bound to, by host; empty for all
    """
    memory: dict[str, list[str]] = {}
    serving = {host: each for host, each in found.items() if each["processes"]}
    for host, each in serving.items():
        asked, limit = int(budgets[host]), each["memory_mb"]
        if asked and limit is None:
            memory[host] = [f"{asked:,} MiB, which the kernel does not enforce ({each['why']})"]
        elif asked:
            memory[host] = [f"{limit:,} MiB" if limit == asked else f"{limit:,} MiB instead of {asked:,}"]
        elif any(map(int, budgets.values())):
            memory[host] = ["none"]
    bound = {host: [each["cpus"] or "all"] for host, each in serving.items() if any(processors.values())}
    said = {"memory_budget": memory, "server_cpus": bound}
    return {name: _alike(hosts) for name, hosts in said.items() if any(hosts.values())}


def _alike(hosts: dict[str, list[str]]) -> str:
    values = {value for each in hosts.values() for value in each}
    return values.pop() if len(values) == 1 else "; ".join(by_sentence(hosts))


def misfits(values: Mapping[str, Any], options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One sentence for each value that the options of a role's argument specs do not allow, by the rules of Option."""
    found = []
    for name, value in values.items():
        given = options[name]
        kind = {"path": "str"}.get(given.get("type", "str"), given.get("type", "str"))
        pattern = given.get("pattern", WHOLE if kind == "int" else ".*")
        choices = tuple(given.get("choices", ()))
        try:
            Option(name, kind, pattern=pattern, choices=choices, secret=given.get("no_log", False)).check(value)
        except BadInputError as error:
            found.append(str(error))
    return found


def others(
    notes: Sequence[dict[str, Any]], deployment: str, exclusive: bool = True, attaches: bool = False
) -> list[str]:
    """Who else uses a host, one sentence each, oldest first, from the notes of the module ``in_use``.

    A note counts until its process has ended or, if written on another machine, until it is removed or the host boots.
    Of two that were written at the same time the older counts. Servers that this deployment has kept up are its own.

    :param exclusive: other deployments count, too
    :param attaches: nothing may be stopped, so that the servers that this deployment has kept up count, too
    """
    own = next((note["since"] for note in notes if note["own"]), float("inf"))
    rivals = [note for note in notes if not note["own"] and note["since"] <= own]
    return [
        _use(note)
        for note in rivals
        if (exclusive or note["deployment"] == deployment) and _counts(note, note["deployment"] == deployment, attaches)
    ]


def _counts(note: dict[str, Any], ours: bool, attaches: bool) -> bool:
    if note.get("kept"):
        return attaches or not ours
    if note.get("machine") == machine():
        return start_of(note["pid"]) == note["start"]
    # This machine in an earlier boot, in which the process has ended.
    return not (ours and note.get("controller") == socket.gethostname())


def _use(note: dict[str, Any]) -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(note["since"]))
    what = "keeps servers up there" if note.get("kept") else "is at work there"
    text = (
        f"{note.get('user')} {what} since {since}, from {note.get('controller')}:{note.get('checkout')}"
        f" (process {note['pid']}, deployment {note['deployment']}); wait for its end, or play stop.yml there"
        f" (if that machine is gone: here, with -e dohyo_deployment={note['deployment']})"
    )
    return "".join(each if each.isprintable() else "?" for each in text)


def cost(counts: Mapping[str, float], prices: Mapping[str, Any], address: float, hours: float = 1) -> str:
    """What instances cost, or "unknown".

    :param counts: number of instances, or their hours, by type
    :param prices: US dollars per hour of one, by type
    :param address: US dollars per hour of the public address that each has
    """
    if counts.keys() - prices.keys():
        return "unknown"
    return f"{hours * sum(count * (float(prices[kind]) + address) for kind, count in counts.items()):.2f}"


def price_from(
    kind: str, given: Mapping[str, Any], asked: Mapping[str, Any], known: Mapping[str, Any], listed: Mapping[str, Any]
) -> str:
    """Where the price of an instance type comes from, as aws.yml shows it."""
    if kind in given:
        return "aws_price or aws_client_price"
    if kind in asked:
        return "the AWS Price List API"
    return f"{listed['source']}, {listed['date']}" if kind in known else "nowhere, set aws_price or aws_client_price"


def answered(state: Mapping[str, Any], role: str, answers: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of all systems on a host, with more of one of them.

    :param role: of the system
    """
    return {**state, role: {**state.get(role, {}), **answers}}


def attached_properties(text: str, file: str, system: str) -> dict[str, str]:
    """What lets the clients into a system that is attached, by the binding's names; nothing where no file is named.

    Raises AnsibleFilterError where others may read the file, or it is of another form.

    :param text: of the file, in YAML: by system its properties. The file that ``….ca`` names is taken in, in
        Base64, so that clients and administration need no file of it.
    :param file: of the control machine; empty for none
    """
    if not file:
        return {}
    try:
        if os.stat(os.path.expanduser(file)).st_mode & 0o077:
            raise AnsibleFilterError(f"attached_secrets={file}: others may read it; type chmod 600 {file}")
        found = (yaml.safe_load(text) or {}).get(system, {}).items()
        properties = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in found}
        for key in [key for key in properties if key.endswith(".ca")]:
            with open(os.path.expanduser(properties[key]), "rb") as certificates:
                properties[key] = base64.b64encode(certificates.read()).decode()
    except (OSError, AttributeError, yaml.YAMLError) as error:
        # YAML's own error would quote the line.
        known = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else "must be YAML, docs/attach.md"
        raise AnsibleFilterError(f"attached_secrets={file}: {known}") from None
    return properties


def with_notes(
    settled: Mapping[str, Any],
    answers: Sequence[Mapping[str, Any]],
    title: str,
    flush: bool,
    dropped: Mapping[str, Any] | None,
    pages: Mapping[str, Any],
) -> dict[str, Any]:
    """What is kept of settling: what the first host's server has answered, with the notes of all hosts.

    A server that does not say ``flushed`` always flushes; one that does not say ``dropped`` keeps its caches.

    :param answers: what the server of each host has answered; empty where it was not asked
    :param title: of the system
    :param flush: false where the scenario asks for no flush
    :param dropped: what the server said when it emptied its caches; None where the scenario asks for full ones
    :param pages: MiB of the page cache of each host before and after it was emptied
    """
    notes = [note for each in answers for note in each.get("notes", [])] + list((dropped or {}).get("notes", []))
    if not flush and settled.get("flushed", True):
        notes.append(f"settle.flush=false changes nothing: {title} has no memory that only a flush empties")
    if dropped is not None:
        notes.append("settle.cache=drop: the page caches of the hosts were emptied before the runs")
        if not dropped:
            notes.append(f"settle.cache=drop: {title} keeps its own caches, which only a restart would empty")
    emptied = {} if dropped is None else {"dropped": {**dropped, "hosts": dict(pages)}}
    return {**settled, "notes": list(dict.fromkeys(notes)), **emptied}


def faults_on(text: str, hosts: Sequence[str], role: str) -> list[dict[str, Any]]:
    """The faults of a phase, in the order of their times, with the hosts that they are for.

    :param text: as in a scenario
    :param hosts: the group `database`
    :param role: of the system
    """
    try:
        return faults.on_hosts(text, hosts, role)
    except BadInputError as error:
        raise AnsibleFilterError(str(error)) from error


def of_this_machine(addresses: Iterable[str]) -> list[str]:
    """Those of the addresses that are of the machine on which Ansible runs: only they can be listened on."""
    found = []
    for address in addresses:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as each, contextlib.suppress(OSError):
            each.bind((address, 0))
            found.append(address)
    return found


def of_host(planned: Sequence[dict[str, Any]], host: str, addresses: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the program `fault` is to do on a host.

    :param planned: of :func:`faults_on`
    :param addresses: of all database hosts; those that a partition parts from this one are named
    """
    return [
        {
            "n": number,
            "kind": fault["kind"],
            "at": fault["at"],
            "rate": fault["rate"],
            "apart": [addresses[name] for group in fault["groups"] if host not in group for name in group],
        }
        for number, fault in enumerate(planned)
        if host in fault["hosts"]
    ]


def power_problem(off: Any, on: Any) -> str:
    """Why a host cannot be switched by these words of its variables; empty if it can."""
    for name, words in (("dohyo_power_off", off), ("dohyo_power_on", on)):
        if not isinstance(words, list) or not words:
            return f"cannot be switched: {name} is {words!r}; set it to the words of a command, or leave the fault out"
        for word in words:
            # YAML takes on and off without quotes for true and false.
            if isinstance(word, bool) or not isinstance(word, (str, int)) or str(word) == "" or "\0" in str(word):
                return f"cannot be switched: {name} has the word {word!r}; put it in quotes"
        if shutil.which(str(words[0])) is None:
            return (
                f"cannot be switched: the program {words[0]} of {name} is not on the control machine; install it, or"
                " give its path"
            )
    return ""


def power_commands(variables: Mapping[str, Any]) -> dict[str, list[str]]:
    """The words of what switches a host off and on, of its variables."""
    return {verb: list(map(str, variables[f"dohyo_power_{verb}"])) for verb in ("off", "on")}


class FilterModule:
    """The filters, for Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        filters = (
            answered,
            as_properties,
            attached_properties,
            by_sentence,
            cost,
            cpus,
            disk_shortages,
            faults_on,
            judged,
            limits,
            misfits,
            of_host,
            of_this_machine,
            others,
            power_commands,
            power_problem,
            price_from,
            shortages,
            with_notes,
        )
        return {each.__name__: each for each in filters}
