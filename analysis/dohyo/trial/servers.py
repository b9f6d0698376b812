"""Configures, starts, administers and stops the servers of a system on all hosts."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dohyo.bad_input import BadInputError
from dohyo.systems.option import BOOLEANS
from dohyo.systems.records import ConfigFile
from dohyo.systems.rendering import as_properties
from dohyo.systems.steps import Steps
from dohyo.systems.system import System
from dohyo.trial import attached_systems, certificates, processes
from dohyo.trial.world import Host, HostError, World, program, write_json

T = TypeVar("T")
# Timeout in seconds of a command that does not wait for background work. A hung server must not block the trial.
ADMIN_SECONDS = 900


class ServerSteps(Steps):
    """The steps of a trial that concern servers. Systems use only the methods that Steps declares and documents."""

    def __init__(self, world: World) -> None:
        self.world = world

    # ---- hosts and programs -----------------------------------------------------------------------------------------

    @property
    def databases(self) -> Sequence[str]:
        return self.world.databases

    @property
    def clients(self) -> Sequence[str]:
        return self.world.clients

    @property
    def first(self) -> System:
        """The system in the context of the first database host."""
        return self.system(self.world.first.name)

    @property
    def is_attached(self) -> bool:
        """Whether the servers are attached: they run already, and do not belong to Dohyo."""
        values = self.world.first.values
        return values["trial_system"] in values["attached"]

    def system(self, host: str, **more: Any) -> System:
        """Returns the system in the context of a host. The parameters are those of World.system."""
        return self.world.system(host, **more)

    def each(self, step: str, call: Callable[[str], T], hosts: Iterable[str]) -> dict[str, T]:
        def on_host(host: Host) -> T:
            try:
                return call(host.name)
            except BadInputError as error:
                raise HostError(str(error)) from error

        return self.world.on(hosts, step, on_host)

    def run(self, host: str, argv: Sequence[str], *, stdin: str | None = None, root: bool = False, **more: Any) -> str:
        return program(self.world.hosts[host], argv, stdin=stdin, root=root, **more)

    def until(self, host: str, process: str, argv: Sequence[str], *, ready: bool = False) -> None:
        verb, seconds = "ready" if ready else "until", self.system(host).timeouts["ready"]
        # The agent does not end a program that hangs, but the timeout does.
        command = [processes.tool(self.world.hosts[host]), verb, process, str(seconds), *argv]
        self.run(host, command, timeout=seconds + ADMIN_SECONDS)

    def admin_words(self, host: str, verb: Sequence[str], arguments: Sequence[str], **more: Any) -> list[str]:
        """Returns the command line of an administration command.

        :param verb: the verb and the arguments that must follow it directly
        :param arguments: further arguments, each as NAME=VALUE
        :param more: variables, as for World.system
        """
        values, system = self.world.hosts[host].values, self.system(host, **more)
        name = system.attached.admin if self.is_attached else system.admin
        connection = system.attached_words if self.is_attached else system.admin_words
        bundle = f"{values['dohyo_home']}/bundle/{system.binding}/*"
        return [*values["dohyo_admin"], "-cp", bundle, name, *verb, *connection, *arguments]

    def admin(self, host: str, verb: str, *arguments: str) -> str:
        """Runs a command of the system's administration, and returns its output.

        Its timeout is ADMIN_SECONDS plus the time allowed for replicas to connect.
        """
        replicas = int(getattr(self.system(host), "replica_timeout", 0))
        return self.run(host, self.admin_words(host, [verb], arguments), timeout=replicas + ADMIN_SECONDS)

    def until_admin(self, host: str, verb: str, *arguments: str, ready: bool = False) -> None:
        self.until(host, self.system(host).role, self.admin_words(host, [verb], arguments), ready=ready)

    def choose_ports(self, host: str, address: str, preferred: dict[str, int]) -> dict[str, Any]:
        # Other programs may already be using a port on this machine. On a dedicated host, a taken port is an error.
        search = str(self.world.hosts[host].values.get("ansible_connection", "ssh")) == "local"
        choice = self.world.hosts[host].do("free_ports", address=address, preferred=preferred, search=search)
        return {name: choice[name] for name in ("address", "ports", "moved")}

    def write(
        self, host: str, files: Mapping[str, str], *, mode: str = "0644", folders: Sequence[str] = (),
        folder_mode: str = "0755", **more: Any,
    ) -> None:  # fmt: skip
        """Creates folders, and writes files. `files` maps paths to contents.

        :param more: ``folder_owner`` and ``folder_group``, as numeric ids
        """
        entries = [{"path": path, "content": content} for path, content in files.items()]
        self.world.hosts[host].do(
            "files", folders=list(folders), folder_mode=folder_mode, files=entries, mode=mode, **more
        )

    def lost_ports(self) -> list[str]:
        """Returns a message for each port of the system that another program has taken; for a single host."""
        name = self.world.first.name
        ports = self.system(name).context.state(self.first.role).get("ports", {})
        secret = f"{self.world.first.values['dohyo_home']}/run/secret"
        result = self.world.on([name], "Check who holds the ports",
                              lambda host: host.do("free_ports", chosen=ports, secret=secret))  # fmt: skip
        notes: list[str] = result[name]["notes"]
        return notes

    def remember(self, host: str, **facts: Any) -> None:
        self.world.hosts[host].remember(facts)

    def answer(self, host: str, **answers: Any) -> None:
        """Records facts about the system on a host for later steps."""
        self._record(host, "system_state", answers)

    def answer_secret(self, **answers: Any) -> None:
        """Records secrets of the system for later steps, for all database hosts."""
        for host in self.databases:
            self._record(host, "system_secrets", answers)

    def _record(self, host: str, variable: str, answers: Mapping[str, Any]) -> None:
        """Adds values to a variable of a host, which contains values by role."""
        recorded, role = self.world.hosts[host].values.get(variable, {}), self.first.role
        self.remember(host, **{variable: {**recorded, role: {**recorded.get(role, {}), **answers}}})

    @property
    def _first_server(self) -> str:
        """Name of the first host with a server."""
        return next(name for name in self.databases if self.system(name).is_first)

    def _on_first_server(self, step: str, call: Callable[[str], T]) -> T:
        """Runs a function on the first host with a server, and returns its result."""
        (result,) = self.each(step, call, [self._first_server]).values()
        return result

    @property
    def answers(self) -> Mapping[str, Any]:
        """Facts that administration commands on the first server returned."""
        return self.system(self._first_server).context.state(self.first.role)

    def note(self, text: str) -> None:
        self.world.event("note", text=text)

    def refuse(self, step: str, reason: str) -> None:
        self.world.refuse(step, reason)

    # ---- configuration and start ------------------------------------------------------------------------------------

    def configure(self) -> None:
        """Chooses passwords and ports, makes certificates, and writes the configuration."""
        if self.is_attached:
            self.each("Record how to connect", self._configure_attached, self.databases)
            return
        self.first.prepare(self)
        self.answer_secret(passwords=self.first.new_passwords)
        choices = self.each("Choose the ports", self._choose, self.first.hosts)
        for host, ports in choices.items():
            self.answer(host, ports=ports, node={**ports["ports"], "address": self.system(host).address})
        for host in self.first.hosts:
            if more := self.system(host).node_more:
                self.answer(host, node={**self.system(host).node, **more})
        if self.first.has_certificates:
            self.certify()
        self.each("Write the configuration", self._write_configuration, self.databases)

    def _choose(self, host: str) -> dict[str, Any]:
        system = self.system(host)
        return self.choose_ports(host, system.address, system.searched_ports)

    def _write_configuration(self, host: str) -> None:
        system = self.system(host)
        if not system.serves:
            self.write(host, {}, folders=[f"{system.run}/conf"])  # the folder is this host's evidence
            return
        owner = system.owner
        if owner is not None:
            self.write(host, {}, folders=[f"{system.run}/conf"])
        if secret := system.secret_files:
            folders = [system.secret.rpartition("/")[0], system.secret]
            self._write_owned(host, secret, mode="0600", folders=folders, folder_mode="0711")
        folders = [*system.folders, *([] if owner is not None else [f"{system.run}/conf"])]
        more = {"folder_owner": str(owner.uid), "folder_group": str(owner.gid)} if owner is not None else {}
        self._write_owned(host, system.files, mode="0644", folders=folders, folder_mode=system.folder_mode, **more)

    def _write_owned(self, host: str, files: Sequence[ConfigFile], **more: Any) -> None:
        entries = [
            {"path": file.path, "content": file.content, **({} if file.owner is None else {"owner": str(file.owner)})}
            for file in files
        ]
        self.world.hosts[host].do("files", files=entries, **more)

    def _configure_attached(self, host: str) -> None:
        """Writes the connection file and the script that removes Dohyo's tables, which stop.yml or a user can run.

        The files are written before anything is created on the attached system.
        """
        system, values = self.system(host), self.world.hosts[host].values
        if system.is_first:
            target = system.attached
            argv = self.admin_words(host, ["remove"], [])
            remove = "\n".join(
                [
                    "#!/bin/sh",
                    f"# Removes {target.namespace} from {target.servers} if this deployment created it.",
                    f"exec {shlex.join(argv)}",
                    "",
                ]
            )
            files = {
                f"{target.folder}/connection.properties": as_properties(self.access()),
                f"{target.folder}/remove": remove,
            }
            folders = [f"{values['dohyo_home']}/attached", target.folder]
            self.write(host, files, mode="0600", folders=folders, folder_mode="0700")
        # The evidence is an empty folder, because an attached server leaves no files there.
        self.write(host, {}, folders=[system.run])

    def access(self) -> dict[str, str]:
        """Returns the properties with which clients log in to an attached system; empty if no file is named.

        :raises BadInputError: if other users may read the file, or its format is wrong
        """
        file = str(self.world.first.values["attached_secrets"])
        return attached_systems.secret_properties(self.world.decrypted(file), file, self.first.name) if file else {}

    def certify(self) -> None:
        """Makes the certificates that are missing, and copies them to the servers and to clients that need one."""
        world, system = self.world, self.first
        apart = [name for name in self.clients if name not in self.databases]
        names = [*self.databases, *(apart if system.clients_have_certificates else [])]
        values = world.first.values
        # Each inventory has its own certificates; destroy.yml removes them with the folder.
        folder = Path(values["dohyo_control"]) / "tls" / Path(values["inventory_dir"]).name
        hosts = {name: [world.hosts[name].values["dohyo_address"], name, "localhost", "127.0.0.1"] for name in names}
        authority = world.here("Create the missing certificates", lambda _: certificates.make(folder, hosts))
        for name in self.databases:
            self.remember(name, certificates_made={"authority": authority})

        def give(host: str) -> None:
            secret = f"{world.hosts[host].values['dohyo_home']}/secret"
            pair = certificates.pair(folder, host).read_text("ascii")
            folders = [secret, f"{secret}/tls"]
            self.write(host, {f"{secret}/tls/host.pem": pair}, mode="0600", folders=folders, folder_mode="0711")
            self.write(host, {f"{secret}/tls/ca.pem": (folder / "ca.pem").read_text("ascii")})

        self.each("Copy the key pair to the host", give, names)

    def start(self) -> None:
        """Starts configured servers, and waits until they accept clients."""
        if not self.is_attached:
            self.first.start(self)
            self.first.ready(self)

    def start_nodes(self, hosts: Iterable[str] | None = None) -> None:
        system = self.first
        names = list(system.starts if hosts is None else hosts)
        if hosts is None:
            self.each("Initialise the data", self._initialise, names)
        for turn in system.start_turns(names):
            self.each(f"Start {system.title}", self._start_node, turn)
            self.each(f"Wait for {system.title}", self._await_node, turn)

    def _initialise(self, host: str) -> None:
        if (script := self.system(host).initialise) is not None:
            more: dict[str, Any] = {"creates": script.creates} if script.creates else {}
            self.run(host, ["bash", "-s", "--", *script.arguments], stdin=script.text, **more)

    def _start_node(self, host: str) -> None:
        system = self.system(host)
        writes = [*system.data, *system.logs]
        more = {"devices": system.raw_devices, "capabilities": system.capabilities}
        self.start_process(host, system.role, system.command, writes=writes, **more)

    def start_process(self, host: str, name: str, command: Sequence[str], **more: Any) -> None:
        system = self.system(host)
        stop_seconds = system.timeouts["stop"]
        processes.start(self.world.hosts[host], name, system.run, command, stop_seconds=stop_seconds, **more)

    def _await_node(self, host: str) -> None:
        system = self.system(host)
        if system.up:
            self.until(host, system.role, system.up, ready=True)

    def wait_until_all_know(self) -> None:
        nodes = f"nodes={len(self.databases)}"
        step = "Wait until every node sees all nodes"
        self.each(step, lambda host: self.until_admin(host, "ready", nodes, ready=True), self.databases)

    def stop(self) -> None:
        """Stops the processes of the servers, in the order that their system defines."""
        if self.is_attached:
            return

        def stop(host: str) -> None:
            system = self.system(host)
            for name in system.processes:
                self.run(host, [processes.tool(self.world.hosts[host]), "stop", name, str(system.timeouts["stop"])])

        self.each(f"Stop {self.first.title}", stop, self.databases)

    def make_tables(self) -> None:
        """Creates missing tables, and records the conditions and the properties with which clients connect."""

        def make(host: str) -> dict[str, Any]:
            system = self.system(host)
            arguments = [*system.tables_words, *system.attached.schema_words] if self.is_attached else [
                *system.first_words, *system.tables_words, *system.schema_words]  # fmt: skip
            return parsed("schema", self.admin(host, "schema", *arguments))

        host, tables = (
            self._first_server,
            self._on_first_server("Create the tables, and read back the conditions", make),
        )
        system, state = self.system(host), tables["conditions"]
        if self.is_attached:
            target = system.attached
            note = (
                f"attached: {target.namespace} on {target.servers}; these servers are not Dohyo's and were not changed"
            )
            title = f"{state.get('product', system.title)} (attached)"
            more = {"title": title, "attached": target.servers, "notes": [note, *state["notes"]]}
            self.answer(host, conditions={**state, **more}, server_properties={"server.pid": ""})
            connection = {**self.access(), **system.attached.client_properties}
        else:
            more = {"notes": [*state["notes"], *system.all_notes], "disks": system.disks_in_words, **system.in_effect}
            properties = {"server.pid": tables["pid"], **system.server_properties}
            self.answer(host, conditions={**state, **more}, server_properties=properties)
            connection = system.client_properties
        self.answer_secret(client_properties=connection)

    def ask(self, file: Path) -> None:
        """Reads facts about an attached system and Dohyo's permissions on it, and writes them to a file.

        :param file: file of the control machine for the result
        """

        def ask(host: str) -> Any:
            system = self.system(host)
            return parsed("doctor", self.admin(host, "doctor", *system.tables_words, *system.attached.schema_words))

        write_json(file, self._on_first_server("Examine the attached system", ask))

    # ---- work and statistics ----------------------------------------------------------------------------------------

    def keep_stats(self, folder: str) -> None:
        """Saves the servers' own statistics as evidence, in a folder below the run folder of each server.

        Most counters begin when a server starts, so a value of a run is the difference between two saved values.
        """
        systems = {name: self.system(name) for name in self.databases}
        hosts = [name for name, node in systems.items() if node.serves and (node.is_first or not self.is_attached)]
        step = "Save the server's statistics"
        self.each(step, lambda host: self.admin(host, "stats", f"folder={self.system(host).run}/{folder}"), hosts)

    def settle(self, folder: str) -> dict[str, Any]:
        """Lets the servers settle, saves their statistics in a folder, and returns the evidence of settling.

        :param folder: as for :meth:`keep_stats`
        """
        values = self.world.first.values
        flush = BOOLEANS.get(str(values["trial_settle_flush"]).lower(), False)
        drops = str(values["trial_settle_cache"]) == "drop"
        # On a single server, one command settles and saves statistics, unless caches must be emptied in between.
        at_once = len(self.databases) == 1 and not drops
        self.world.phase("settle")

        def settle(host: str) -> dict[str, Any]:
            system = self.system(host)
            may_flush = flush and (not self.is_attached or "settle" in values["attached_may"])
            arguments = [f"flush={str(may_flush).lower()}", f"timeout={system.timeouts['settle']}"]
            if not self.is_attached:
                arguments = [*system.first_words, *arguments, *system.settle_words]
            verb = ["settle+stats", f"folder={system.run}/{folder}"] if at_once else ["settle"]
            # Settling lasts while the servers make progress, so only the command's argument `timeout` limits it.
            result = parsed(verb[0], self.run(host, self.admin_words(host, verb, arguments)))
            rows_of(result)
            return result

        hosts = [name for name in self.databases if self._settles(self.system(name))]
        step = "Flush, wait for background writes, and count the rows"
        answers = self.each(step, settle, hosts)
        dropped: dict[str, Any] | None = None
        pages: dict[str, Any] = {}
        if drops:
            # Empty the caches after the rows were counted on all hosts, because counting reads all rows.
            names = [name for name in hosts if self.system(name).drops and not self.is_attached]
            outputs = self.each(
                "Empty the server's caches", lambda host: parsed("drop", self.admin(host, "drop")), names
            )
            dropped = next(iter(outputs.values()), {})
            pages = self.world.on(self.databases, "Empty the page cache", drop_page_cache)
        elif not self.is_attached:
            serving = [name for name in self.databases if self.system(name).serves]
            self.each("Write the page cache to disk", self._sync, serving)
        data = with_notes(next(iter(answers.values())), list(answers.values()), self.first.title, flush, dropped, pages)
        if not at_once:
            self.keep_stats(folder)
        return data

    def _sync(self, host: str) -> str:
        # MyISAM and Aerospike, for example, leave their files to the kernel, which would write them during the runs.
        return self.run(host, ["sync", "--file-system", *self.system(host).data])

    def _settles(self, system: System) -> bool:
        everywhere = system.serves and system.settles_everywhere and not self.is_attached
        return everywhere or system.is_first

    def count(self, records: int) -> dict[str, int]:
        """Counts the rows on the servers, and returns the number of rows in each table.

        :param records: expected number of rows; a system counts rows only up to a limit that it sets
        """
        self.world.phase("count")

        def count(host: str) -> dict[str, int]:
            system = self.system(host)
            arguments = [] if self.is_attached else [*system.first_words, f"timeout={system.timeouts['settle']}"]
            verb = "count" if self.is_attached else system.count_verb
            argv = self.admin_words(host, [verb], arguments, trial_recordcount=records)
            return rows_of(parsed(verb, self.run(host, argv)))

        return self._on_first_server("Count the rows", count)


def parsed(verb: str, answer: str) -> dict[str, Any]:
    """Returns the JSON object that the administration printed.

    :raises HostError: if the output is anything else
    """
    try:
        result = json.loads(answer)
    except ValueError:
        result = None
    if not isinstance(result, dict):
        raise HostError(f"{verb}: its output is not a JSON object: {answer[:200]!r}")
    return result


def rows_of(result: Mapping[str, Any]) -> dict[str, int]:
    """Returns the number of rows in each table.

    :raises HostError: if the output contains no such numbers
    """
    rows = result.get("rows")
    if not isinstance(rows, dict) or not all(isinstance(number, int) for number in rows.values()):
        raise HostError(f"its output contains no row counts: {json.dumps(result)[:200]}")
    return rows


# Emptying the page cache requires root, and most containers forbid it. sync comes first: only clean pages are dropped.
DROP_PAGE_CACHE = """
cached() { awk '$1 == "Cached:" {print int($2 / 1024)}' /proc/meminfo; }
sync
before=$(cached)
echo 1 > /proc/sys/vm/drop_caches
printf '{"page_cache_mb_before": %d, "page_cache_mb_after": %d}\\n' "$before" "$(cached)"
"""


def look_at_page_cache(host: Host) -> None:
    """Fails if the page cache of a host cannot be emptied.

    :raises HostError: if it cannot; the error contains the cause and the remedy
    """
    file = "/proc/sys/vm/drop_caches"
    try:
        program(host, ["test", "-w", file], root=True)
    except HostError as error:
        cause = str(error).removeprefix("non-zero return code") or "read-only here, as in most containers"
        raise HostError(
            f"settle.cache=drop: cannot write {file} on {host.name} ({cause}); become root, or leave it out"
        ) from error


def drop_page_cache(host: Host) -> dict[str, int]:
    """Empties the page cache of a host, and returns its size in MiB before and after."""
    answer: dict[str, int] = json.loads(program(host, ["bash", "-ec", DROP_PAGE_CACHE], root=True))
    return answer


def with_notes(
    settled: Mapping[str, Any],
    answers: Sequence[Mapping[str, Any]],
    title: str,
    flush: bool,
    dropped: Mapping[str, Any] | None,
    pages: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the evidence of settling: the result of the first host's server, with the notes of all hosts.

    Servers that do not report ``flushed`` always flush. If ``dropped`` is empty, the servers kept their caches.

    :param answers: result of each host's server
    :param title: title of the system
    :param flush: whether the scenario asks for a flush
    :param dropped: result of emptying the server's caches; None if the scenario keeps the caches
    :param pages: size of each host's page cache, in MiB, before and after it was emptied
    """
    notes = [note for answer in answers for note in answer.get("notes", [])] + list((dropped or {}).get("notes", []))
    if not flush and settled.get("flushed", True):
        notes.append(f"settle.flush=false has no effect: {title} has no buffer that only a flush would empty")
    if dropped is not None:
        notes.append("settle.cache=drop: the page caches of the hosts were emptied before the runs")
        if not dropped:
            notes.append(f"settle.cache=drop: {title} keeps its own caches, which only a restart would empty")
    emptied = {} if dropped is None else {"dropped": {**dropped, "hosts": dict(pages)}}
    return {**settled, "notes": list(dict.fromkeys(notes)), **emptied}
