"""Tests how programs are run: their logs, time limits and signals, and the child processes that they leave behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.plugins.connection import ssh  # type: ignore[import-untyped]

from callback.dohyo_events import refusal
from dohyo.ansible import playbook
from dohyo.ansible.playbook import FAILED_STEP, VERDICT, Events, Failure, Playbook, Sink, check_inventory, execute, play
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE
from dohyo.signals import Interruption, Signals
from dohyo.trial.refusals import STEP
from support.running_processes import await_end


def never() -> None:
    """Simulates a check for signals that finds none."""


def test_output_goes_to_the_log_and_the_exit_code_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert execute(["sh", "-c", "echo out; echo err >&2; exit 3"], Sink(log), check=never) == 3
    assert log.read_text() == "out\nerr\n"


def test_a_time_limit_ends_the_program_and_its_children(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = execute(["sh", "-c", "sleep 60 & echo $!; wait"], Sink(log), check=never, timeout=2)
    assert code == -signal.SIGTERM
    await_end(int(log.read_text()))


def test_a_program_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dohyo.ansible.playbook.GRACE_SECONDS", 0.5)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the program inherits this
    try:
        code = execute(["sleep", "60"], Sink(tmp_path / "log"), check=never, timeout=0.5)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert code == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_program_first(tmp_path: Path, number: signal.Signals) -> None:
    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    log = tmp_path / "log"
    try:
        signal.signal(number, signal.SIG_DFL)
        signals = Signals()

        def check() -> None:
            if log.stat().st_size:
                os.kill(os.getpid(), number)
            signals.check()

        with pytest.raises(Interruption) as interruption:
            execute(["sh", "-c", "echo $$; sleep 60"], Sink(log), check=check)
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    assert interruption.value.exit_code == 128 + number
    assert str(interruption.value) == f"by {number.name}"
    await_end(int(log.read_text()))


def test_signals_are_answered_but_held_back_while_servers_stop(capfd: pytest.CaptureFixture[str]) -> None:
    # A shell may start background processes with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signals = Signals()
        with signals.held_back("already stopping"):
            os.kill(os.getpid(), signal.SIGINT)
            # The handler only records the signal, so this line is reached.
            time.sleep(0)
        with pytest.raises(Interruption):
            signals.check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert capfd.readouterr().err == "\nalready stopping\n"


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        Signals()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_events_are_followed_while_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"event": "end"}\n')
    seen: list[object] = []
    events = Events(file)
    first = {"event": "phase", "phase": "load", "run": None}
    failed = {"event": "failed", "task": "t", "host": "h", "message": "m"}
    with events.sink, open(events.sink.writer, "w", closefd=False) as output:
        output.write(json.dumps(first) + "\n" + json.dumps(failed)[:10])
        output.flush()
        events.poll(seen.append)
        assert seen == [first]
        output.write(json.dumps(failed)[10:] + "\n")
        output.write(json.dumps({**failed, "message": "later"}) + "\n")
        output.flush()
        events.poll(seen.append)
    assert events.failure(file) == Failure("m", file, "t", "h")
    assert [json.loads(line)["event"] for line in file.read_text().splitlines()] == ["end", "phase", "failed", "failed"]


def test_the_verdict_of_a_trial_knows_more_than_the_failed_task(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    events = Events(file)
    failures = [
        ("Ask", "db1", "no answer", True),
        ("Begin", "db2", "no success for 20 s", True),
        (VERDICT, "db1", "Begin: no success for 20 s; killed by 9", False),
        ("Stop", "db2", "unreachable", False),
    ]
    with events.sink:
        for task, host, message, ignored in failures:
            event = {"event": "failed", "task": task, "host": host, "message": message, "ignored": ignored}
            os.write(events.sink.writer, json.dumps(event).encode() + b"\n")
        events.poll(lambda _: None)
    assert str(events.failure(file)) == "task 'Begin' on db2: no success for 20 s; killed by 9"


def test_a_failed_step_of_a_trial_is_named_instead_of_the_task_that_reports_it(tmp_path: Path) -> None:
    tasks = yaml.safe_load((ANSIBLE / "tasks/conduct.yml").read_text())
    assert FAILED_STEP in [task["name"] for task in tasks]
    event = {"event": "failed", "task": FAILED_STEP, "host": "localhost", "message": "Examine it: refused: no"}
    events = Events(tmp_path / "events.jsonl")
    with events.sink:
        os.write(events.sink.writer, json.dumps(event).encode() + b"\n")
        events.poll(lambda _: None)
    assert str(events.failure(tmp_path)) == "task 'Examine it' on localhost: refused: no"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("all: [broken\n", r"cannot read the inventory .*hosts.yml: YAML parsing failed: .* expected ',' or '\]'"),
        ("all: {hosts: {one: }}\n", "hosts.yml has no host in the group 'database'"),
        ("all: {children: {database: {children: {rack: {hosts: {one: }}}}}}\n", "no host in the group 'client'"),
    ],
)
def test_a_broken_inventory_is_explained(tmp_path: Path, content: str, expected: str) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(content)
    with pytest.raises(BadInputError, match=expected):
        check_inventory(inventory)


def test_an_inventory_whose_script_hangs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playbook, "ANSWER_SECONDS", 2)
    inventory = tmp_path / "hosts"
    inventory.write_text("#!/bin/sh\nsleep 60\n")
    inventory.chmod(0o755)
    began = time.monotonic()
    with pytest.raises(BadInputError, match=f"the inventory {inventory}: ansible-inventory did not finish within 2 s"):
        check_inventory(inventory)
    assert time.monotonic() < began + 30


def test_a_host_that_is_silent_is_lost_after_minutes() -> None:
    config = ConfigParser()
    config.read(ANSIBLE / "ansible.cfg")
    arguments = config["ssh_connection"]["ssh_args"]
    options = dict(re.findall(r"(\w+)=(\d+)\b", arguments))
    assert int(options["ServerAliveInterval"]) * int(options["ServerAliveCountMax"]) == 300
    plugin = yaml.safe_load(ssh.DOCUMENTATION)["options"]["ssh_args"]
    assert arguments.startswith(plugin["default"])


def test_the_local_inventory_is_sound() -> None:
    check_inventory(ANSIBLE / "inventories" / "local")


def test_an_inventory_is_read_without_the_descriptions_of_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.run
    answers: list[Any] = []

    def keep(*arguments: Any, **options: Any) -> Any:
        answers.append(run(*arguments, **options))
        return answers[-1]

    monkeypatch.setattr(subprocess, "run", keep)
    playbook._groups.__wrapped__(ANSIBLE / "inventories" / "local")
    (answer,) = answers
    assert "dohyo_data" in answer.stdout
    assert "cassandra_heap" not in answer.stdout


def test_a_missing_playbook_is_explained(tmp_path: Path) -> None:
    failure = play("no-such-playbook.yml", None, tmp_path, check=never)
    assert failure is not None
    assert "no-such-playbook.yml" in failure.message
    assert failure.log == tmp_path / "ansible.log"


THEIR_CALLBACK = """
import os
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = "name: theirs\\ntype: notification\\nshort_description: x\\ndescription: x"

class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "theirs"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_stats(self, stats):
        open(os.environ["THEIRS"], "w").close()
"""


def test_a_users_own_settings_of_ansible_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "theirs.py").write_text(THEIR_CALLBACK)
    (elsewhere / "hosts.yml").write_text("all: {hosts: {other: {ansible_connection: local}}}\n")
    configuration = ConfigParser()
    configuration.read(ANSIBLE / "ansible.cfg")
    plugins = [key.upper() for key, value in configuration["defaults"].items() if value.startswith("plugins/")]
    assert {"VARS_PLUGINS", "LOOKUP_PLUGINS"} <= {*plugins}
    # The user's callback and the last two settings apply. The others would break the playbook, so they are ignored.
    for name, value in {
        "CALLBACKS_ENABLED": "theirs",
        "INVENTORY": str(elsewhere / "hosts.yml"),
        **dict.fromkeys(("ROLES_PATH", *plugins), str(elsewhere)),
        **dict.fromkeys(("STDOUT_CALLBACK", "STRATEGY"), "nobody.has.this"),
        "HASH_BEHAVIOUR": "merge",
        "SKIP_TAGS": "all",
        "REMOTE_USER": "somebody",
        "FORKS": "7",
    }.items():
        monkeypatch.setenv(f"ANSIBLE_{name}", value)
    monkeypatch.setenv("THEIRS", str(tmp_path / "theirs-was-there"))
    playbook = tmp_path / "playbook.yml"
    playbook.write_text(
        """
- hosts: database
  vars: {note: "{{ {} | answered('a host', {'is': 'slow'}) | string }}",
         found: "{{ [lookup('config', 'DEFAULT_REMOTE_USER'), lookup('config', 'DEFAULT_FORKS'), how,
                     'mysql-innodb' in systems, lookup('controller') is mapping] }}",
         how: {far: 1}}
  tasks:
    - {import_role: {name: service, tasks_from: jars}, when: false}
    - {agent: {do: files, files: [{path: "{{ playbook_dir }}/written", content: "{{ note }}"}], mode: "0644"}}
    - {name: Phase start, debug: {msg: {phase: "{{ found }}"}}, vars: {how: {near: 2}}}
"""
    )
    seen: list[dict[str, Any]] = []
    assert play(str(playbook), None, tmp_path, check=never, watch=seen.append) is None
    assert [event["event"] for event in seen] == ["task", "task", "phase", "end"]
    assert (seen[0]["task"], seen[0]["action"]) == ("agent", "agent")
    assert seen[0]["began"] < seen[0]["time"] <= seen[1]["began"]
    assert seen[2]["phase"] == ["somebody", 7, {"near": 2}, True, True]
    assert (tmp_path / "written").read_text("utf-8") == "{'a host': {'is': 'slow'}}"
    assert (tmp_path / "theirs-was-there").exists()


@pytest.mark.slow
def test_a_trial_that_has_begun_waits_for_its_turn(tmp_path: Path) -> None:
    variables = {"trial_system": "nobody-has-this", "trial_dir": str(tmp_path / "results")}
    names = ["ansible.log", "events.jsonl"]
    with Playbook("trial.yml", None, tmp_path, variables, waits=True) as begun:
        end = time.monotonic() + 60
        while b"Run the trial" not in (tmp_path / names[0]).read_bytes() and time.monotonic() < end:
            begun._log.take()
            time.sleep(0.1)
        time.sleep(0.5)
        begun._log.take()
        assert begun._process.poll() is None
        assert "nobody-has-this" not in (tmp_path / names[0]).read_text()
        failure = begun.finish(check=never)
    assert failure is not None
    assert failure.task == STEP
    assert failure.message.startswith("trial_system=nobody-has-this: must be one of ")
    assert [(tmp_path / name).exists() for name in names] == [True, True]
    unused = Playbook("trial.yml", None, tmp_path, variables, waits=True)
    unused.discard()
    assert [(tmp_path / name).exists() for name in names] == [False, False]
    await_end(unused._process.pid)


@pytest.mark.slow
def test_a_part_of_the_hosts_can_be_deployed_to(tmp_path: Path) -> None:
    """deploy.yml finds the available systems as list.yml does. Hosts that --limit leaves out have no facts."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "dohyo_home": str(tmp_path)}
    hosts: dict[str, Any] = {"hosts": {"one": {}, "two": {}}}
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"vars": local, "children": {"database": hosts, "client": hosts}}}))
    program = Path(sys.executable).with_name("ansible-playbook")
    command: list[str | Path] = [program, "-i", inventory, "list.yml", "--limit", "one"]
    result = subprocess.run(command, cwd=ANSIBLE, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_host_reads_the_variables_of_all_hosts() -> None:
    """Otherwise, two hundred hosts read the variables of two hundred hosts, for each system."""
    assert "hostvars" not in (ANSIBLE / "roles/host/vars/main.yml").read_text()
    files = [file for file in ANSIBLE.glob("**/tasks/*.yml") if "hostvars" in file.read_text()]
    assert len(files) == 7
    for file in files:
        for task in yaml.safe_load(file.read_text()):
            assert "hostvars" not in str(task) or task.get("run_once"), task["name"]


@pytest.mark.slow
@pytest.mark.parametrize("raw", ["", "here/raw"])
def test_a_trial_in_check_mode_changes_nothing(raw: str, tmp_path: Path) -> None:
    if raw:
        (tmp_path / "here").mkdir()
        (tmp_path / "here/experiment.json").write_text("{}")
    before = sorted(tmp_path.rglob("*"))
    variables = json.dumps({"trial_dir": str(tmp_path / raw / "01-cassandra"), "dohyo_control": str(tmp_path / "home")})
    program = Path(sys.executable).with_name("ansible-playbook")
    command: list[str | Path] = [program, "trial.yml", "--check", "-e", variables]
    result = subprocess.run(command, cwd=ANSIBLE, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("version", "is_refused"),
    [
        ("2.9.27", True), ("2.16.14", True), ("2.17.0rc1", True), ("2.17.0", False), ("2.18.12", False),
        ("2.19.0", True), ("2.19.4", True), ("2.19.5rc1", False), ("2.19.5", False), ("2.21.5", False),
        ("3.0.0", False),
    ],
)  # fmt: skip
def test_the_versions_of_ansible_that_do_not_work(version: str, is_refused: bool) -> None:
    allowed = ">=2.17.0,!=2.19.0,!=2.19.1,!=2.19.2,!=2.19.3,!=2.19.4"
    sentence = f"ansible-core is {version}, not {allowed}: run ../setup.sh"
    assert refusal(version).startswith(sentence) == is_refused
    assert bool(refusal(version)) == is_refused
    versions = "ansible-core 2.17.0 or newer, but not 2.19.0 to 2.19.4"
    assert versions in " ".join((ANSIBLE.parent / "docs/cluster.md").read_text("utf-8").split())


def test_an_ansible_that_does_not_work_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import ansible.release\nansible.release.__version__ = '2.19.3'\n")
    (tmp_path / "play.yml").write_text("- hosts: localhost\n  tasks: [{debug: {msg: x}}]\n")
    result = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), tmp_path / "play.yml"],
        cwd=ANSIBLE, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"ERROR: {refusal('2.19.3')}" in result.stderr
    assert "PLAY" not in result.stdout


def test_failures_read_well(tmp_path: Path) -> None:
    assert str(Failure("no space", tmp_path, "Copy jars", "db1")) == "task 'Copy jars' on db1: no space"
    assert str(Failure("no inventory", tmp_path)) == "no inventory"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("hosts.yml", b"all: {vars: {cassandra_heap: 2g}}"),
        ("group_vars/database/x", b"a: 1"),
        ("host_vars/localhost.yml", b"a: !vault x"),
        ("host_vars/localhost.yml", b"a: !!bool x"),
        ("host_vars/localhost.yml", b"\xff\xfe"),
        ("host_vars/localhost.yml", b"a: ["),
    ],
)
def test_variables_of_the_local_inventory_count_where_some_are_set(file: str, text: bytes, tmp_path: Path) -> None:
    inventory = Path(shutil.copytree(playbook.LOCAL, tmp_path / "local"))
    assert playbook.local_inventory() is playbook.local_inventory(inventory) is None
    (inventory / file).parent.mkdir(exist_ok=True)
    (inventory / file).write_bytes(text)
    assert playbook.local_inventory(inventory) == inventory


@pytest.mark.parametrize(
    ("file", "name"),
    [("deploy.yml", "Phase "), ("tasks/available.yml", "System "), ("tasks/plan.yml", "Needs of ")],
)
def test_a_task_has_the_name_that_the_callback_plugin_looks_for(file: str, name: str) -> None:
    text = (ANSIBLE / "plugins/callback/dohyo_events.py").read_text()
    assert f'task.name.startswith("{name}")' in text
    assert re.search(f"^ *- name: {name}", (ANSIBLE / file).read_text(), re.MULTILINE)
