"""Running programs that may take long, Ansible's playbooks above all, so that Ctrl-C is answered at once and in order.

Every program gets a session of its own: a Ctrl-C in the terminal reaches only this process, which then ends the
program and has the servers stopped. Output goes to a log; events that Ansible's callback plugin writes are handed on.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, JDK
from dohyo.scenario.hosts import Hosts, of_inventory

Event = dict[str, Any]
# The task of trial.yml that sums up why a trial failed.
VERDICT = "Trial failed"
# Often enough for a fluent display, and it costs the measured window next to nothing.
POLL_SECONDS = 0.25
# How long a program may take to end by itself after SIGTERM.
GRACE_SECONDS = 5
# What of a user's environment would play our playbooks in another way: with other files or other values of variables
# than ansible.cfg says, without some of the tasks, with another log. All the rest is the user's business: how hosts are
# reached (ANSIBLE_SSH_ARGS, ANSIBLE_PRIVATE_KEY_FILE, ANSIBLE_BECOME_METHOD, …), at how many at once, vaults.
_NOT_THE_USERS = frozenset(
    f"ANSIBLE_{name}"
    for name in (
        *("INVENTORY", "INVENTORY_UNPARSED_FAILED", "ROLES_PATH", "LIBRARY", "ACTION_PLUGINS", "FILTER_PLUGINS"),
        *("PRECEDENCE", "HASH_BEHAVIOUR", "GATHERING", "STRATEGY", "RUN_TAGS", "SKIP_TAGS"),
        *("STDOUT_CALLBACK", "CALLBACK_RESULT_FORMAT", "FORCE_COLOR"),
    )
)


class Interruption(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A signal asked for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class Signals:
    """Remembers that a signal asked for the end, so that the program can react at a point of its own choice.

    An exception from within a signal handler could hit any line, also one that stops servers.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._answer = "interrupted: ending what is going on; the servers will be stopped"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # What is ignored (nohup, a background job of a script) was meant to be.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._receive)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._number is None:
            self._number = number
        # After a SIGHUP there is no terminal any more.
        with suppress(OSError):
            os.write(sys.stderr.fileno(), f"\n{self._answer}\n".encode())

    def check(self) -> None:
        """Raises Interruption if a signal has come."""
        if self._number is not None:
            raise Interruption(self._number)

    @contextmanager
    def held_back(self, answer: str) -> Iterator[None]:
        """While something must not be interrupted, the user gets this answer."""
        before, self._answer = self._answer, answer
        try:
            yield
        finally:
            self._answer = before


@dataclass(frozen=True)
class Failure:
    """Why a program failed; task and host are empty where it was none of Ansible's tasks."""

    message: str
    log: Path
    task: str = ""
    host: str = ""

    def __str__(self) -> str:
        where = f"task '{self.task}' on {self.host}: " if self.task else ""
        return f"{where}{self.message}"


def execute(
    command: Sequence[str | Path],
    log: Path | None,
    *,
    check: Callable[[], None],
    watch: Callable[[], None] = lambda: None,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = float("inf"),
) -> int:
    """Runs a program to its end, with its output appended to a log (or to our own output without one).

    :param check: called often; when it raises, the program and its children are ended first
    :param watch: called often, and once more after the end
    :param timeout: seconds after which the program is ended
    :returns: the exit code, negative for a signal
    """
    with log.open("ab") if log else nullcontext() as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        deadline = time.monotonic() + timeout
        try:
            while process.poll() is None and time.monotonic() < deadline:
                # In this order, so that the phase which a signal interrupts is known.
                watch()
                check()
                time.sleep(POLL_SECONDS)
        finally:
            _end(process)
    watch()
    return process.returncode


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends a program and what it left in its process group; servers and clients are in sessions of their own."""
    with suppress(ProcessLookupError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Events:
    """Follows the events of one playbook, and keeps its failures."""

    def __init__(self, file: Path, watch: Callable[[Event], None]) -> None:
        self._file = file
        self._watch = watch
        # What an earlier playbook wrote to the same file is not ours.
        self._offset = file.stat().st_size if file.exists() else 0
        self._failures: list[Event] = []

    def poll(self) -> None:
        """Hands on the events that are new."""
        for event in self._new():
            if event["event"] == "failed":
                self._failures.append(event)
            self._watch(event)

    def failure(self, log: Path) -> Failure | None:
        """Why the playbook failed: the task, and the verdict of trial.yml, which also knows how the servers were."""
        final = [event for event in self._failures if not event.get("ignored")]
        if not final:
            return None
        task, host, message = (str(final[0][key]).strip() for key in ("task", "host", "message"))
        if task == VERDICT:
            # The failed task itself was rescued, and counts as ignored therefore.
            for event in self._failures:
                if message.startswith(prefix := f"{event['task']}: "):
                    return Failure(message.removeprefix(prefix), log, str(event["task"]), str(event["host"]))
        return Failure(message, log, task, host)

    def _new(self) -> Iterator[Event]:
        try:
            with self._file.open("rb") as file:
                file.seek(self._offset)
                fresh = file.read()
        except FileNotFoundError:
            return
        # The last line may still be on its way.
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            # Of a file that was removed meanwhile, and begun anew, this may be the rest of a line.
            with suppress(ValueError):
                yield json.loads(line)


def play(
    name: str,
    inventory: Path | None,
    folder: Path,
    *,
    check: Callable[[], None],
    extra_vars: Path | None = None,
    watch: Callable[[Event], None] = lambda _: None,
    tick: Callable[[], None] = lambda: None,
    timeout: float = float("inf"),
) -> Failure | None:
    """Plays one of the playbooks in ansible/.

    :param inventory: without it the default one of ansible.cfg, which is this machine
    :param folder: where ansible.log and events.jsonl go
    :param extra_vars: JSON file with variables
    :param watch: gets each event
    :param tick: called often while it plays
    :returns: why it failed, or None
    """
    log, events_file = folder / "ansible.log", folder / "events.jsonl"
    command: list[str | Path] = [Path(sys.executable).with_name("ansible-playbook"), name]
    if inventory is not None:
        command += ["-i", inventory]
    if extra_vars is not None:
        command += ["-e", f"@{extra_vars}"]
    events = Events(events_file, watch)

    def poll() -> None:
        events.poll()
        tick()

    code = execute(command, log, check=check, watch=poll, env=_environment(events_file), cwd=ANSIBLE, timeout=timeout)
    if code == 0:
        return None
    return events.failure(log) or Failure(_last_error(log) or f"{name} ended with exit code {code}", log)


def check_inventory(inventory: Path) -> Hosts:
    """Checks that Ansible can read an inventory and that it names hosts for databases and for clients.

    :returns: what it says of the database hosts
    :raises BadInputError: saying what is wrong with it
    """
    answer = subprocess.run(
        [Path(sys.executable).with_name("ansible-inventory"), "-i", inventory, "--list"],
        cwd=ANSIBLE,
        env=_environment(None),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        # Ansible tries one format after the other; most inventories are YAML.
        reasons = re.findall(r"Failed to parse inventory with '(\w+)' plugin: (.+)", answer.stderr)
        reason = dict(reasons).get("yaml") or answer.stderr.strip().rpartition("\n")[2]
        raise BadInputError(f"Ansible cannot read the inventory {inventory}: {reason}")
    groups: dict[str, Any] = json.loads(answer.stdout)

    def hosts(group: str) -> list[str]:
        members = groups.get(group, {})
        return [*members.get("hosts", []), *(host for child in members.get("children", []) for host in hosts(child))]

    for group in ("database", "client"):
        if not hosts(group):
            raise BadInputError(f"the inventory {inventory} has no host in the group '{group}'")
    return of_inventory(inventory, groups, hosts("database"), hosts("client"))


def _environment(events_file: Path | None) -> dict[str, str]:
    """Ansible's environment: this venv and JDK 17 first, a UTF-8 locale (it refuses others), a log without colours.

    Callbacks that the user has enabled run beside ours, which writes the events.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_THE_USERS}

    def ours_and(name: str, ours: str, separator: str) -> str:
        return separator.join(filter(None, [ours, environment.get(name)]))

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
        "DOHYO_EVENTS": str(events_file or ""),
    }


def _last_error(log: Path) -> str:
    """What Ansible said where no task failed: a playbook that is none, a killed process."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if re.match(r"(\[?ERROR\]?|fatal)[: ]", line)]
    return errors[-1].strip() if errors else ""
