"""Runs long programs, mainly Ansible playbooks, and handles Ctrl-C at once and in an orderly way.

Every program runs in its own session. A Ctrl-C in the terminal reaches only this process, which then ends the program
and stops the servers. If this process dies or is killed, the program is terminated too. The program's output and the
events of Ansible's callback plugin arrive through pipes, and this process writes them to files. A full disk therefore
does not end a playbook that still has to stop servers.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import yaml

from dohyo import plain_yaml
from dohyo.ansible.data import as_data, check_path
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, JDK, SETUP
from dohyo.scenario.hosts import Hosts, of_inventory
from dohyo.signals import Signals

Event = dict[str, Any]
# Name of the task in trial.yml that reports why a trial failed.
VERDICT = "Trial failed"
# Name of the task in tasks/conduct.yml that reports a failed step; its message begins with the name of the step.
FAILED_STEP = "Fail on hosts with failures"
# Seconds between two checks of a program: short enough for a smooth display, at almost no cost while measuring.
POLL_SECONDS = 0.25
# Timeout in seconds for an Ansible program that reads an inventory or a file.
ANSWER_SECONDS = 300
# Seconds after SIGTERM within which a program must exit, before it is killed.
GRACE_SECONDS = 5
# Environment variables that Ansible does not receive. They would change how our playbooks run: they override paths or
# precedence in ansible.cfg, skip tasks, or move the log. Users may set all others: connections to hosts
# (ANSIBLE_SSH_ARGS, ANSIBLE_PRIVATE_KEY_FILE, ANSIBLE_BECOME_METHOD, …), the number of forks, vaults.
_NOT_THE_USERS = frozenset(
    f"ANSIBLE_{name}"
    for name in (
        *("INVENTORY", "INVENTORY_UNPARSED_FAILED", "ROLES_PATH", "LIBRARY", "MODULE_UTILS"),
        *("ACTION_PLUGINS", "FILTER_PLUGINS", "LOOKUP_PLUGINS", "VARS_PLUGINS"),
        *("PRECEDENCE", "HASH_BEHAVIOUR", "GATHERING", "STRATEGY", "RUN_TAGS", "SKIP_TAGS"),
        *("STDOUT_CALLBACK", "CALLBACK_RESULT_FORMAT", "FORCE_COLOR"),
    )
)


@dataclass(frozen=True)
class Failure:
    """The reason why a program failed. Task and host are empty if no Ansible task failed."""

    message: str
    log: Path
    task: str = ""
    host: str = ""

    def __str__(self) -> str:
        prefix = f"task '{self.task}' on {self.host}: " if self.task else ""
        return f"{prefix}{self.message}"


class Sink:
    """A pipe to a file, as a context manager. A full disk does not disturb the program that writes to the pipe.

    :ivar writer: descriptor for writing, which the program inherits
    :ivar error: error that left the file incomplete, with the file's name
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_inheritable(self.writer, True)
        self.error: OSError | None = None
        self._append(b"")

    def take(self) -> bytes:
        """Moves the data that is in the pipe to the file, and returns this data."""
        data = b""
        with suppress(BlockingIOError):
            while more := os.read(self.reader, 1 << 16):
                data += more
        if data:
            self._append(data)
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.writer)
        self.take()
        os.close(self.reader)

    def _append(self, data: bytes) -> None:
        # After an error, appending would leave a gap.
        if self.error is not None:
            return
        before = 0
        try:
            # Open the file each time, so that its removal is noticed.
            with self.file.open("r+b" if data else "ab") as file:
                before = file.seek(0, os.SEEK_END)
                file.write(data)
        except OSError as error:
            self.error = OSError(error.errno, error.strerror, str(self.file))
            # Remove a half-written line.
            with suppress(OSError):
                os.truncate(self.file, before)


def execute(
    command: Sequence[str | Path], output: Sink | None, *, check: Callable[[], None], timeout: float = float("inf")
) -> int:
    """Runs a program until it ends, and appends its output to a file or, without a file, to our own output.

    The program inherits the lock of `running.experiment.only_one`, and receives SIGTERM when this process dies.

    :param check: called repeatedly; if it raises an exception, the program and its children are stopped first
    :param timeout: seconds after which the program is ended
    :returns: the exit code, negative for a signal
    """
    process = _begin(command, output)
    return _attend(process, [output] if output else [], check=check, watch=lambda: None, timeout=timeout)


def build_client(signals: Signals) -> None:
    """Installs JDK 17 and Maven, and builds the client, unless they already exist.

    :raises BadInputError: if this fails; the output shows the cause
    """
    if execute([SETUP, "client"], None, check=signals.check) != 0:
        raise BadInputError("setting up JDK 17, Maven and the client failed, see above; nothing was started")


def _begin(
    command: Sequence[str | Path], output: Sink | None, env: dict[str, str] | None = None, cwd: Path | None = None
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=output.writer if output else None,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=env,
        start_new_session=True,
        # Python itself marks the descriptors that must not be inherited.
        close_fds=False,
    )


def _attend(
    process: "subprocess.Popen[bytes]",
    sinks: Sequence[Sink],
    *,
    check: Callable[[], None],
    watch: Callable[[], None],
    timeout: float,
) -> int:
    """Waits until a program ends. The other parameters are those of :func:`execute`.

    :param watch: called repeatedly, and once more after the end
    :param sinks: the program's pipes: the first one carries its output, and ``watch`` reads the others
    """
    deadline = time.monotonic() + timeout
    readers = [sink.reader for sink in sinks]
    ended = os.pidfd_open(process.pid)
    try:
        while process.poll() is None and time.monotonic() < deadline:
            # Read the events first: if a signal interrupts the program, the current phase is then known.
            watch()
            check()
            select.select([ended, *readers], [], [], POLL_SECONDS)
            for sink in sinks[:1]:
                sink.take()
    finally:
        os.close(ended)
        _end(process)
        for sink in sinks[:1]:
            sink.take()
    watch()
    return process.returncode


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a program and its process group. Servers and clients survive, because they run in other sessions."""
    with suppress(ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Events:
    """Reads the events of one playbook, and remembers the failed tasks.

    :ivar sink: pipe to which the callback plugin writes events
    """

    def __init__(self, file: Path) -> None:
        self.sink = Sink(file)
        self._rest = b""
        self._failures: list[Event] = []

    def poll(self, watch: Callable[[Event], None]) -> None:
        """Passes each new event to ``watch``."""
        # The last line may be incomplete.
        *lines, self._rest = (self._rest + self.sink.take()).split(b"\n")
        for event in map(json.loads, lines):
            if event["event"] == "failed":
                self._failures.append(event)
            watch(event)

    def failure(self, log: Path) -> Failure | None:
        """Returns the failed task and the reason. The verdict of trial.yml is preferred: it says how servers ended."""
        final = [event for event in self._failures if not event.get("ignored")]
        if not final:
            return None
        task, host, message = (str(final[0][key]).strip() for key in ("task", "host", "message"))
        if task == VERDICT:
            # A rescue block has run, so Ansible marks the failed task as ignored.
            for event in self._failures:
                if message.startswith(prefix := f"{event['task']}: "):
                    return Failure(message.removeprefix(prefix), log, str(event["task"]), str(event["host"]))
        if task == FAILED_STEP:
            task, _, message = message.partition(": ")
        return Failure(message, log, task, host)


class Playbook:
    """A running playbook from ansible/. It is a context manager, which ends the playbook on exit.

    :ivar variables: extra variables, which are data to Ansible and never templates
    """

    def __init__(
        self,
        name: str,
        inventory: Path | None,
        folder: Path,
        variables: Mapping[str, Any] | None = None,
        *,
        waits: bool = False,
    ) -> None:
        """Starts the playbook.

        :param inventory: None for the default of ansible.cfg, which contains only this machine
        :param folder: folder for ansible.log and events.jsonl
        :param waits: whether trial.yml waits for :meth:`finish` before its first task
        """
        self.variables = variables
        self._name = name
        self._gate: int | None = None
        with ExitStack() as stack:
            self._log = stack.enter_context(Sink(folder / "ansible.log"))
            self._events = Events(folder / "events.jsonl")
            stack.enter_context(self._events.sink)
            command: list[str | Path] = [Path(sys.executable).with_name("ansible-playbook"), name]
            if inventory is not None:
                command += ["-i", inventory]
            environment = _environment(f"/dev/fd/{self._events.sink.writer}")
            if variables is not None:
                # Only the user can read this folder (it may hold passwords), and Ansible does not change its path.
                file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "variables.yml"
                file.write_text(as_data(variables), encoding="ascii")
                command += ["-e", f"@{file}"]
            if waits:
                turn, self._gate = os.pipe()
                stack.callback(os.close, self._gate)
                stack.callback(os.close, turn)
                os.set_inheritable(turn, True)
                environment["DOHYO_TURN"] = str(turn)
            self._process = _begin(command, self._log, environment, ANSIBLE)
            self._open = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._process)
        self._open.close()

    def discard(self) -> None:
        """Ends a playbook that still waits for :meth:`finish`, and removes its log and events."""
        with self:
            pass
        for sink in (self._log, self._events.sink):
            with suppress(OSError):
                sink.file.unlink()

    def finish(
        self,
        *,
        check: Callable[[], None],
        watch: Callable[[Event], None] = lambda _: None,
        tick: Callable[[], None] = lambda: None,
        timeout: float = float("inf"),
    ) -> Failure | None:
        """Waits until the playbook ends. The parameters and the result are those of :func:`play`."""
        if self._gate is not None:
            os.write(self._gate, b"\n")

        def poll() -> None:
            self._events.poll(watch)
            tick()

        pipes = [self._log, self._events.sink]
        code = _attend(self._process, pipes, check=check, watch=poll, timeout=timeout)
        unwritten = self._log.error or self._events.sink.error
        if code == 0:
            if unwritten is not None:
                raise unwritten
            return None
        log = self._log.file
        failure = self._events.failure(log) or Failure(
            _last_error(log) or f"{self._name} ended with exit code {code}", log
        )
        return failure if unwritten is None else replace(failure, message=f"{failure.message}; {named(unwritten)}")


def play(
    name: str,
    inventory: Path | None,
    folder: Path,
    *,
    check: Callable[[], None],
    variables: Mapping[str, Any] | None = None,
    watch: Callable[[Event], None] = lambda _: None,
    tick: Callable[[], None] = lambda: None,
    timeout: float = float("inf"),
) -> Failure | None:
    """Runs a playbook from ansible/. The other parameters are those of :class:`Playbook`.

    :param check: called repeatedly; if it raises an exception, the playbook is stopped first
    :param watch: called with each event
    :param tick: called repeatedly while the playbook runs
    :param timeout: seconds after which the playbook is ended
    :returns: the failure, or None
    :raises OSError: after the playbook has ended, if ansible.log or events.jsonl is incomplete
    """
    with Playbook(name, inventory, folder, variables) as playbook:
        return playbook.finish(check=check, watch=watch, tick=tick, timeout=timeout)


def named(error: OSError) -> str:
    """Returns an error as text: its file name and its reason."""
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)


def check_inventory(inventory: Path) -> Hosts:
    """Checks that Ansible can read an inventory and that it names hosts for databases and for clients.

    :returns: facts about the database hosts
    :raises BadInputError: with a message that says what is wrong with the inventory
    """
    groups = _groups(inventory)

    def hosts(group: str) -> list[str]:
        members = groups.get(group, {})
        return [*members.get("hosts", []), *(host for child in members.get("children", []) for host in hosts(child))]

    for group in ("database", "client"):
        if not hosts(group):
            raise BadInputError(f"the inventory {inventory} has no host in the group '{group}'")
    return of_inventory(inventory, groups, hosts("database"), hosts("client"))


LOCAL = ANSIBLE / "inventories" / "local"
_SHIPPED = {
    *("all", "vars", "children", "database", "client", "hosts", "localhost"),
    *("ansible_connection", "ansible_python_interpreter", "dohyo_home", "dohyo_exclusive"),
}


def local_inventory(folder: Path = LOCAL) -> Path | None:
    """Returns this machine's inventory if a user has added variables that Ansible must resolve, otherwise None."""

    def keys(value: object) -> set[str]:
        if not isinstance(value, dict):
            return set()
        return {str(key) for key in value}.union(*map(keys, value.values()))

    try:
        contents = [plain_yaml.parse(file.read_text("utf-8")) for file in folder.rglob("*") if file.is_file()]
    except (ValueError, yaml.YAMLError):
        return folder  # Ansible reads more, such as !vault, and names what it cannot read
    return None if set().union(*map(keys, contents)) <= _SHIPPED else folder


@cache
def _groups(inventory: Path) -> dict[str, Any]:
    """Returns the output of ansible-inventory. It is cached, because the call takes half a second of processor time."""
    check_path(inventory, f"the inventory {inventory}")
    if not inventory.exists():
        raise BadInputError(f"the inventory {inventory} does not exist; ansible/inventories/ has examples")
    # Disable plugins/vars, which would add the variables of all systems to each of perhaps hundreds of hosts.
    argv = ("ansible-inventory", "-i", inventory, "--list")
    answer = _answer(f"the inventory {inventory}", argv, {"ANSIBLE_VARS_PLUGINS": os.devnull})
    if answer.returncode != 0:
        # Ansible tries one format after another. Most inventories are YAML, so report the error of that parser.
        reasons = re.findall(r"Failed to parse inventory with '(\w+)' plugin: (.+)", answer.stderr)
        reason = dict(reasons).get("yaml") or answer.stderr.strip().rpartition("\n")[2]
        raise BadInputError(f"Ansible cannot read the inventory {inventory}: {reason}")
    groups: dict[str, Any] = json.loads(answer.stdout)
    return groups


def host_variables(inventory: Path | None) -> dict[str, dict[str, Any]]:
    """Returns the variables of each host in an inventory, or an empty dictionary if there is no inventory.

    :raises BadInputError: like :func:`check_inventory`
    """
    variables: dict[str, dict[str, Any]] = _groups(inventory).get("_meta", {}).get("hostvars", {}) if inventory else {}
    return variables


def decrypted(file: Path) -> str:
    """Decrypts a file of Ansible Vault. Ansible's environment variables name the password file.

    :raises BadInputError: if the password is missing or wrong
    """
    answer = _answer(str(file), ("ansible-vault", "view", file), {})
    if answer.returncode != 0:
        raise BadInputError(
            f"cannot decrypt {file}; set ANSIBLE_VAULT_PASSWORD_FILE to the absolute path of its password"
        )
    return answer.stdout


def _answer(
    about: str, argv: Sequence[str | Path], environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Runs one of Ansible's programs and returns its output and exit code.

    :param about: beginning of the error message, such as the file that the program reads
    :raises BadInputError: after ANSWER_SECONDS, because an inventory script may hang
    """
    try:
        return subprocess.run(
            [Path(sys.executable).with_name(str(argv[0])), *argv[1:]],
            cwd=ANSIBLE,
            env={**_environment(""), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            # In its own session, the program has no terminal and cannot ask for a password.
            start_new_session=True,
            timeout=ANSWER_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise BadInputError(f"{about}: {argv[0]} did not finish within {ANSWER_SECONDS} s") from None


def _environment(events: str) -> dict[str, str]:
    """Returns the environment variables for Ansible.

    PATH begins with JDK 17 and this venv. The locale uses UTF-8, as Ansible requires. The log contains no colours. The
    user's callback plugins run in addition to Dohyo's, which writes the events.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_THE_USERS}

    def ours_and(name: str, value: str, separator: str) -> str:
        return separator.join(filter(None, [value, environment.get(name)]))

    path = [str(Path(sys.executable).parent), environment.get("PATH", os.defpath)]
    if JDK.exists():
        environment["JAVA_HOME"] = str(JDK.resolve())
        path.insert(0, str(JDK.resolve() / "bin"))
    return {
        **environment,
        "PATH": os.pathsep.join(path),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
        "ANSIBLE_CALLBACKS_ENABLED": ours_and("ANSIBLE_CALLBACKS_ENABLED", "dohyo_events", ","),
        "ANSIBLE_CALLBACK_PLUGINS": ours_and(
            "ANSIBLE_CALLBACK_PLUGINS", str(ANSIBLE / "plugins" / "callback"), os.pathsep
        ),
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONUNBUFFERED": "1",
        "DOHYO_EVENTS": events,
    }


def _last_error(log: Path) -> str:
    """Returns the last error in Ansible's log, for failures without a failed task, such as a broken playbook."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    errors = [line for line in lines if re.match(r"(\[?ERROR\]?|fatal)[: ]", line)]
    return errors[-1].strip() if errors else ""
