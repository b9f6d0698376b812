"""Modules of ours answer the same within Ansible's process as on a host; `program` answers as `command` does."""

import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from dohyo.ansible.playbook import play
from dohyo.places import ANSIBLE
from in_process import answer_of

SECRET = "hunter2-correct-horse"  # noqa: S105 - it is none
# With this there is an interpreter to notice when a module starts on "the host"; it says so in a file.
INTERPRETER = '#!/bin/sh\necho module >> "{calls}"\nexec "{python}" "$@"\n'
DATA = [["WHERE", "data"]]
OWN = {"deployment": "0123456789ab", "controller": {"controller": "here", "user": "me"}}
# Module, arguments, and keywords of the task. WHERE is a folder of its own for each of the two ways.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "look": ("host_resources", {"path": "WHERE", "needs": ["WHERE/none", "/"]}, {}),
    "settings": ("host_settings",
                 {"state": "read", "settings": [{"name": "vm.swappiness", "value": 1}], "kept": "WHERE/kept"}, {}),
    "ports": ("free_ports", {"address": "127.0.0.1", "preferred": {"a": 20517, "b": 20518}}, {}),
    "lost ports": ("free_ports", {"chosen": {"ports": {}, "address": "127.0.0.1"}, "secret": "WHERE/secret"}, {}),
    "mark": ("owned", {"state": "present", "folders": DATA, "experiment": "x", **OWN}, {}),
    "write": ("files", {"folders": ["WHERE/data/conf"], "folder_mode": "0711", "mode": "0600",
                        "files": [{"path": "WHERE/data/conf/a", "content": "{{ '{{ 7 * 7 }} $HOME' }}"}]}, {}),
    "write again": ("files", {"files": [{"path": "WHERE/data/conf/a", "content": "b"}]}, {"diff": True}),
    "only look": ("files",
                  {"files": [{"path": "WHERE/data/conf/c", "content": "c"}]}, {"check_mode": True, "diff": True}),
    "bring home": ("transfer_folder", {"direction": "pull", "src": "WHERE/data/conf", "dest": "WHERE/home"}, {}),
    "look at the mark": ("owned",
                         {"state": "checked", "folders": DATA, "deployment": "ba9876543210"}, {}),
    "remove somebody's": ("owned",
                          {"state": "absent", "folders": DATA, "deployment": "ba9876543210"}, {}),
    "remove": ("owned", {"state": "absent", "folders": DATA, **OWN}, {}),
    "no such option": ("files", {"filess": []}, {}),
    "no such deployment": ("owned", {"state": "absent", "deployment": "x"}, {}),
    "no folder": ("files",
                  {"folders": ["/proc/none"], "files": [{"path": "WHERE/a", "content": SECRET}]}, {"no_log": True}),
}  # fmt: skip
FAIL = {"remove somebody's", "no such option", "no such deployment", "no folder"}


def at(where: Path, value: Any) -> Any:
    """The same value with that folder in it."""
    return json.loads(json.dumps(value).replace("WHERE", str(where)))


def asked(tmp_path: Path, tasks: list[dict[str, Any]], variables: dict[str, Any]) -> str:
    """Plays tasks; what Ansible has printed."""
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "localhost", "tasks": tasks}]))
    failure = play(str(tmp_path / "play.yml"), None, tmp_path, check=lambda: None, variables=variables)
    assert failure is None, failure
    return (tmp_path / "ansible.log").read_text()


def outcomes(tmp_path: Path, way: str) -> dict[str, Any]:
    """What each case has answered in one way, without what differs from call to call."""
    where = tmp_path / way
    where.mkdir()
    calls, interpreter = tmp_path / "calls", tmp_path / "python"
    interpreter.write_text(INTERPRETER.format(calls=calls, python=sys.executable))
    interpreter.chmod(0o755)
    variables = {"ansible_python_interpreter": str(interpreter)} if way == "module" else {}
    tasks: list[dict[str, Any]] = []
    for number, (module, arguments, keywords) in enumerate(CASES.values()):
        task = {
            "name": f"case {number}",
            module: at(where, arguments),
            "register": f"case_{number}",
            "ignore_errors": True,
        }
        tasks.append(task | keywords)
    content = "{{ dict(range(" + str(len(CASES)) + ") | map('string') | zip(cases)) | to_json }}"
    cases = [f"{{{{ case_{number} }}}}" for number in range(len(CASES))]
    tasks.append({"copy": {"content": content, "dest": f"{where}.json"}, "vars": {"cases": cases}})
    log = asked(tmp_path, tasks, variables)
    assert SECRET not in log
    # Ansible's own module for the last task, and all of ours or none.
    started = calls.read_text().count("module") if calls.exists() else 0
    assert (started >= len(CASES)) == (way == "module")
    (tmp_path / "ansible.log").unlink()
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+[+-]\d{4}", "WHEN", Path(f"{where}.json").read_text())
    found = json.loads(text.replace(str(where), "WHERE"))
    answers = dict(zip(CASES, found.values(), strict=True))
    for answer in answers.values():
        for key in ("disk_free_mb", "memory_available_mb", "exception"):
            answer.pop(key, None)
    return answers


@pytest.mark.slow
def test_a_module_answers_the_same_in_both_ways(tmp_path: Path) -> None:
    within, module = outcomes(tmp_path, "within"), outcomes(tmp_path, "module")
    assert within == module
    assert {name for name, answer in within.items() if answer["failed"]} == FAIL
    assert within["write"]["written"] == ["WHERE/data/conf/a"]
    assert (tmp_path / "within/home/a").read_text() == (tmp_path / "module/home/a").read_text() == "b"
    assert not (tmp_path / "within/data").exists()


@pytest.mark.parametrize("search", [True, False])
def test_a_taken_port_is_another_one_or_an_error_that_names_who_has_it(search: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        port = theirs.getsockname()[1]
        asked = {"preferred": {"cql": port}, "search": search}
        answer = json.loads(answer_of(ANSIBLE / "plugins/modules/free_ports.py", asked))
    if search:
        assert answer["ports"]["cql"] > port
        assert answer["moved"] == [f"cql port {port} is taken on 127.0.0.1, using {answer['ports']['cql']}"]
    else:
        who = rf"port {port} \(cql\) on 127.0.0.1 is taken by \S+, process \d+; end that, or set another port"
        assert re.fullmatch(who, answer["msg"])


def test_an_unknown_limit_is_refused_by_name(tmp_path: Path) -> None:
    asked = {"state": "read", "limits": {"open files": 1, "open file": 1}, "kept": str(tmp_path / "kept")}
    answer = json.loads(answer_of(ANSIBLE / "plugins/modules/host_settings.py", asked))
    assert answer["msg"] == "limits: open file: must be among open files, processes"


def test_every_link_of_a_module_has_its_module() -> None:
    links = [file for file in (ANSIBLE / "plugins" / "action").iterdir() if file.is_symlink()]
    assert links
    for link in links:
        assert (ANSIBLE / "plugins" / "modules" / link.name).exists()
        assert link.resolve() == ANSIBLE / "plugins" / "in_process.py"


HOSTILE = ["$HOME `id` $(id)", 'it\'s "q" \\ *', "", "{{ 7 * 7 }}", "a\nb", "-n", "ö 日本"]
PROGRAMS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"argv": ["printf", "[%s]", *HOSTILE]}, {}),
    (
        {"argv": ["sh", "-c", 'cat; pwd; echo "$A"; echo >&2 wrong; exit 3'], "stdin": "x $y\n", "chdir": "/"},
        {"environment": {"A": "it's $B; `id`"}},
    ),
    ({"argv": ["cat"]}, {}),
    ({"argv": ["echo", "no"], "removes": "WHERE/it's not there"}, {}),
    ({"argv": ["echo", "no"], "creates": "WHERE"}, {}),
    ({"argv": ["touch", "WHERE/made"]}, {"check_mode": True}),
    ({"argv": ["sh", "-c", "echo $0; exit 1", SECRET]}, {"no_log": True}),
    ({"argv": ["no such program"]}, {}),
    ({"argv": ["pwd"], "chdir": "WHERE/none"}, {}),
]


@pytest.mark.slow
def test_a_program_that_hangs_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    hangs = {"argv": ["sh", "-c", "echo asking >&2; sleep 60 & echo $!; wait"], "timeout": 1}
    quick = {"argv": ["sh", "-c", "cat; echo $A"], "stdin": "in ", "timeout": 60}
    tasks: list[dict[str, Any]] = [
        {"program": hangs, "register": "hung", "ignore_errors": True},
        {"program": quick, "register": "done", "environment": {"A": "a"}},
        {"copy": {"content": "{{ [hung, done] | to_json }}", "dest": f"{tmp_path}/answers"}},
    ]
    asked(tmp_path, tasks, {})
    hung, done = json.loads((tmp_path / "answers").read_text())
    assert (hung["failed"], hung["rc"], hung["stderr"]) == (True, 124, "asking\nit had not ended after 1 s")
    # Its new parent may collect it late.
    stat = Path(f"/proc/{hung['stdout']}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
    assert (done["rc"], done["stdout"]) == (0, "in a")


@pytest.mark.slow
def test_program_is_as_command(tmp_path: Path) -> None:
    as_it_is = {"expand_argument_vars": False, "stdin_add_newline": False}
    tasks: list[dict[str, Any]] = []
    for number, (arguments, keywords) in enumerate(at(tmp_path, PROGRAMS)):
        for module, more in (("program", {}), ("ansible.builtin.command", as_it_is)):
            call = {**arguments, "argv": f"{{{{ given[{number}] }}}}", **more}
            tasks.append({module: call, "register": f"answer_{len(tasks)}", "ignore_errors": True, **keywords})
    registered = [f"{{{{ answer_{number} }}}}" for number in range(len(tasks))]
    tasks.append(
        {"copy": {"content": "{{ answers | to_json }}", "dest": f"{tmp_path}/answers"}, "vars": {"answers": registered}}
    )
    given = [arguments["argv"] for arguments, _ in at(tmp_path, PROGRAMS)]
    log = asked(tmp_path, tasks, {"given": given})
    assert SECRET not in log
    answers = json.loads((tmp_path / "answers").read_text())
    ours, theirs = answers[::2], answers[1::2]
    for mine, other in zip(ours[:2] + ours[6:7], theirs[:2] + theirs[6:7], strict=True):
        keys = ("cmd", "rc", "stdout", "stdout_lines", "stderr", "stderr_lines", "changed", "failed", "msg")
        assert {key: mine.get(key) or "" for key in keys} == {key: other.get(key) or "" for key in keys}
    assert ours[1]["stdout"] == "x $y\n/\nit's $B; `id`"
    assert [(each["rc"], each["stdout"], each["failed"]) for each in ours[2:6]] == [(0, "", False)] * 4
    assert [each["changed"] for each in ours[2:6]] == [True, False, False, False]
    assert [(each["failed"], each["rc"] > 0) for each in ours[7:]] == [(True, True)] * 2
    assert not (tmp_path / "made").exists()
