"""Tests a trial's calls to its hosts over Ansible's own connections, with fake ssh and sudo programs.

The oldest and the newest supported release of Ansible run the same plays.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from conducting import hosts as conducting_hosts
from conducting.hosts import at_once
from dohyo.bad_input import BadInputError
from dohyo.places import ANSIBLE, ROOT
from dohyo.trial.world import HostError
from support.releases import play_with

# ---- several hosts at the same time ----------------------------------------------------------------------------------


def meets(folder: Path, name: str, count: int) -> Callable[[], str]:
    """Returns a function that waits until `count` functions with the same folder have started."""

    def call() -> str:
        (folder / name).touch()
        deadline = time.monotonic() + 60
        while len([*folder.iterdir()]) < count:
            assert time.monotonic() < deadline, "the other functions have not started"
            time.sleep(0.01)
        return name

    return call


def test_hosts_are_asked_at_the_same_time(tmp_path: Path) -> None:
    names = ["c", "a", "b"]
    assert at_once({name: meets(tmp_path, name, 3) for name in names}) == dict(zip(names, names, strict=True))


def test_no_more_hosts_are_asked_at_once_than_ansible_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting_hosts, "MOST_AT_ONCE", 2)
    calls = {str(number): meets(tmp_path, str(number), number // 2 * 2 + 2) for number in range(6)}
    assert [*at_once(calls)] == ["0", "1", "2", "3", "4", "5"]


def fails(error: Exception) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


@pytest.mark.parametrize("succeeding", [0, 1])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (HostError("disk full"), "disk full"),
        (BadInputError("cassandra_heap=x: must match"), "cassandra_heap=x: must match"),
        (KeyError("stdout"), "KeyError: 'stdout'"),
    ],
)
def test_one_host_fails_like_one_of_many(error: Exception, message: str, succeeding: int) -> None:
    results = at_once({"a": fails(error), **{f"b{number}": lambda: "well" for number in range(succeeding)}})
    assert isinstance(results["a"], HostError)
    assert str(results["a"]) == message
    assert [*results.values()][1:] == ["well"] * succeeding


# ---- Ansible ---------------------------------------------------------------------------------------------------------

# Action that calls the agents of all hosts at the same time. On each host, it makes the calls in order until one fails.
ASK = """
from pathlib import Path
from ansible.plugins.action import ActionBase
from conducting.hosts import AnsibleHost, at_once
from dohyo.trial.world import HostError

class ActionModule(ActionBase):
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        names = self._task.args.get("hosts") or task_vars["ansible_play_hosts"]
        hosts = {}
        for name in names:
            hosts[name] = AnsibleHost(self, task_vars["hostvars"], name, hosts)
            hosts[name].remember({"kept": name})

        def ask(host):
            values = {name: host.values[name] for name in self._task.args.get("values", [])}
            kinds = {name: type(each).__module__ for name, each in values.items()}
            answers = []
            for call in self._task.args.get("calls", []):
                if call == {"verb": "reset"}:
                    answers.append(host.reset())
                elif call["verb"] == "pull":
                    answers.append(host.pull(call["source"], Path(call["folder"]) / host.name))
                else:
                    answers.append(host.do(**call))
            others = {name: host.values["hostvars"][name]["kept"] for name in hosts}
            return {"values": values, "kinds": kinds, "answers": answers, "others": others}

        found = at_once({name: (lambda host=host: ask(host)) for name, host in hosts.items()})
        return {"found": {n: {"error": str(e)} if isinstance(e, HostError) else e for n, e in found.items()}}
"""
# The fakes of ssh and sudo record their arguments and run the command on this machine.
SSH = """#!/bin/sh
printf '%s\\n' "$@" >"$(mktemp {folder}/ssh-XXXXXX)"
for last; do :; done
case " $* " in
  *" 192.0.2.9 "*) echo "ssh: connect to host 192.0.2.9 port 22: No route to host" >&2; exit 255 ;;
  *" -O "*) exit 0 ;;
esac
if [ "$SSH_ASKPASS_REQUIRE" = force ]; then
  "$SSH_ASKPASS" "me@host's password: " >{folder}/password
  ! "$SSH_ASKPASS" "continue connecting (yes/no)?" || exit 1
fi
ssh_host=yes; export ssh_host
exec /bin/sh -c "$last"
"""
SUDO = """#!/bin/sh
echo "{name}: $*" >>{folder}/sudo
case " $* " in *" -p "*)
  printf '[sudo via ansible, key=%s] password:' "$(echo "$*" | sed 's/.*key=\\([a-z]*\\)].*/\\1/')" >&2
  read -r password
  if [ "$password" != secret ]; then echo "Sorry, try again." >&2; read -r again; exit 1; fi ;;
esac
while [ "$1" != -u ]; do shift; done
user=$2
shift 2
as_user=$user exec "$@"
"""
# Script that waits until it runs on both hosts.
MEET = 'touch "$0/$$"; n=0; while [ "$(ls "$0" | wc -l)" -lt 2 ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done; '
MEET += 'ls "$0" | wc -l; echo "ssh=$ssh_host"'


BOTH_HOSTS = ["here", "far"]


def play_that_asks(tmp_path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns a play that makes many calls to hosts and records the answers; also returns the hosts' variables."""
    (meeting := tmp_path / "meeting").mkdir()
    home = tmp_path / "home"
    # This file is larger than one part of a transfer.
    ((source := tmp_path / "source") / "below").mkdir(parents=True)
    (source / "below/large").write_bytes(os.urandom(6 * 2**20))
    everywhere = {"ansible_python_interpreter": sys.executable, "from_play": "of the inventory", "number": 7}
    ssh = {"ansible_ssh_executable": str(tmp_path / "ssh")}
    hosts: dict[str, dict[str, Any]] = {
        "here": {
            **everywhere, "ansible_connection": "local", "ansible_become_exe": str(tmp_path / "sudo-here"),
            "base": "/here",
        },
        "far": {
            **everywhere, **ssh, "ansible_host": "192.0.2.7", "ansible_user": "me", "ansible_port": 2222,
            "ansible_ssh_private_key_file": "/keys/mine", "ansible_ssh_common_args": "-o ProxyJump=gate",
            "ansible_become_exe": str(tmp_path / "sudo-far"), "base": "{{ root }}/{{ inventory_hostname }}",
            "root": "/over",
        },
        "asked": {
            **everywhere, **ssh, "ansible_host": "192.0.2.8", "ansible_become_exe": str(tmp_path / "sudo-far"),
            "ansible_become_password": "secret", "ansible_password": "knock",
            "ansible_ssh_password_mechanism": "ssh_askpass",
        },
        "mistaken": {
            **everywhere, "ansible_connection": "local", "ansible_become_exe": str(tmp_path / "sudo-here"),
            "ansible_become_password": "wrong",
        },
        "gone": {**everywhere, **ssh, "ansible_host": "192.0.2.9", "base": "{{ no_such_variable }}"},
    }  # fmt: skip
    whoami = {"verb": "program", "argv": ["sh", "-c", 'echo "as $as_user"']}
    calls: dict[str, dict[str, Any]] = {
        "met": {
            "hosts": BOTH_HOSTS,
            "values": ["where", "from_play", "number", "base", "inventory_hostname"],
            "calls": [{"verb": "program", "argv": ["sh", "-c", MEET, str(meeting)]}],
        },
        "rooted": {"hosts": BOTH_HOSTS, "calls": [{**whoami, "become": True}, whoami]},
        "modules": {"hosts": BOTH_HOSTS, "calls": [{"verb": "host_resources", "path": "/"}]},
        "failed": {"hosts": BOTH_HOSTS, "calls": [{"verb": "program", "argv": ["sh", "-c", "echo why >&2; exit 3"]}]},
        "silent": {"hosts": ["far", "gone"], "calls": [whoami]},
        "alone": {"hosts": ["gone"], "calls": [whoami]},
        "undefined": {"hosts": ["gone"], "values": ["base"]},
        "wrong": {"hosts": ["here"], "calls": [{"verb": "program"}]},
        "passwords": {"hosts": ["asked", "mistaken"], "calls": [{**whoami, "become": True}]},
        "pulled": {"hosts": BOTH_HOSTS, "calls": [{"verb": "pull", "source": str(source), "folder": str(home)}]},
        "reset": {"hosts": BOTH_HOSTS, "calls": [{"verb": "reset"}]},
    }
    tasks: list[dict[str, Any]] = [
        {"ask": arguments, "register": name, "run_once": True} for name, arguments in calls.items()
    ]
    answer = {name: f"{{{{ {name}.found }}}}" for name in calls}
    tasks.append({"copy": {"content": answer, "dest": str(tmp_path / "answer")}, "run_once": True})
    play = {
        "hosts": "reached",
        "vars": {"where": "{{ base }}/{{ tail }}", "tail": "end", "from_play": "of the play"},
        "tasks": tasks,
    }
    return play, hosts


@pytest.mark.slow
def test_hosts_are_reached_as_the_inventory_says(played: Path) -> None:
    answer = json.loads((played / "answer").read_text())
    large = (played / "source/below/large").read_bytes()
    assert [(played / "home" / name / "below/large").read_bytes() == large for name in BOTH_HOSTS] == [True, True]
    values = {"from_play": "of the play", "number": 7}
    assert {name: answer["met"][name]["values"] for name in BOTH_HOSTS} == {
        "here": {**values, "where": "/here/end", "base": "/here", "inventory_hostname": "here"},
        "far": {**values, "where": "/over/far/end", "base": "/over/far", "inventory_hostname": "far"},
    }
    assert {*answer["met"]["far"]["kinds"].values()} == {"builtins"}
    # All hosts can read a variable that was set for one host.
    assert [answer["met"][name]["others"] for name in BOTH_HOSTS] == [{"here": "here", "far": "far"}] * 2

    def outputs(task: str, number: int = 0) -> list[str]:
        return [answer[task][name]["answers"][number]["stdout"] for name in BOTH_HOSTS]

    # Both hosts ran at the same time, and only "far" was reached over ssh.
    assert outputs("met") == ["2\nssh=", "2\nssh=yes"]
    assert outputs("rooted") == ["as root", "as root"]
    assert outputs("rooted", 1) == ["as ", "as "]
    asked_sudo = (played / "sudo").read_text().splitlines()
    assert sorted(line.partition(":")[0] for line in asked_sudo) == ["sudo-far", "sudo-far", "sudo-here", "sudo-here"]
    assert all(" -u root " in line for line in asked_sudo)
    assert [answer["modules"][name]["answers"][0]["cores"] > 0 for name in BOTH_HOSTS] == [True, True]

    assert answer["passwords"]["asked"]["answers"][0]["stdout"] == "as root"
    assert (played / "password").read_text() == "knock\n"
    refused = "it rejects the password for becoming root; see ansible_become_password"
    assert answer["passwords"]["mistaken"] == {"error": refused}

    no_way = "the host does not answer: "
    errors = {task: {name: answers.get("error", "") for name, answers in answer[task].items()} for task in answer}
    assert errors["failed"] == {"here": "why", "far": "why"}
    assert errors["silent"]["far"] == ""
    for task in ("silent", "alone"):
        assert errors[task]["gone"].startswith(no_way)
        assert "No route to host" in errors[task]["gone"]
    assert "no_such_variable" in errors["undefined"]["gone"]
    assert "argv" in errors["wrong"]["here"]

    calls = [file.read_text().splitlines() for file in played.glob("ssh-*")]
    to_far = [argv for argv in calls if "192.0.2.7" in argv]
    assert len(to_far) >= 5
    for argv in to_far:
        for option in ("ProxyJump=gate", "Port=2222", 'User="me"', 'IdentityFile="/keys/mine"'):
            assert option in argv
    of_connection = sorted(argv[argv.index("-O") + 1] for argv in to_far if "-O" in argv)
    assert of_connection == ["stop"]


# Action that calls `report` for hosts whose agents find a disk, and returns the facts and the requests to the agents.
REPORT = """
from conduct import ActionModule as Conduct
from dohyo.trial.hosts import report

DISK = {"name": "nvme0n1", "path": "/dev/nvme0n1", "kind": "nvme", "discards": False, "problem": ""}
VOLUME = {"devices": ["/dev/nvme0n1"], "array": True, "state": "ours", "mount_point": "/dohyo", "options": "noatime",
          "mounted": True}
SAID = {"settings": [{"name": "vm.swappiness", "now": "60"}], "absent": ["CPU governor"], "container": "",
        "differences": ["vm.swappiness 60 instead of 2"]}

class ActionModule(Conduct):
    def run(self, tmp=None, task_vars=None):
        world, calls = self._world(task_vars), {}
        for name, host in world.hosts.items():
            def do(verb, name=name, **arguments):
                calls.setdefault(name, []).append([verb, arguments])
                return {"devices": [DISK], "volumes": [VOLUME]} if verb == "host_devices" else SAID
            host.do = do
        report(world)
        values = {name: host.values for name, host in world.hosts.items()}
        facts = {name: [each["host_conditions"], each["host_warnings"]] for name, each in values.items()}
        return {"calls": calls, "facts": facts}
"""


def play_that_reports(tmp_path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns a play that calls `report` and begins a trial with trial.yml's roles; also the hosts' variables."""
    (trial,) = yaml.safe_load((ANSIBLE / "trial.yml").read_text("utf-8"))
    common = {
        "ansible_connection": "local", "ansible_python_interpreter": sys.executable, "dohyo_home": str(tmp_path),
        "dohyo_systemd": False, "dohyo_deployment": "0123456789ab", "dohyo_devices": [], "host_disk_layout": "raid0",
    }  # fmt: skip
    tuned = {**common, "host_tuning": True, "host_sysctls": {"vm.swappiness": 2}, "dohyo_devices": ["/dev/nvme0n1"]}
    write = {"copy": {"content": "{{ [found, ended] }}", "dest": str(tmp_path / "reported")}, "run_once": True}
    tasks: list[dict[str, Any]] = [
        {"report": {}, "register": "found", "run_once": True},
        # The trial fails on all hosts, because no variable names the system.
        {"conduct": {"do": "trial"}, "register": "ended", "run_once": True},
        write,
    ]
    play = {"hosts": "database", "any_errors_fatal": True, "roles": trial["roles"], "tasks": tasks}
    return play, {"plain": common, "tuned": tuned}


@pytest.mark.slow
def test_a_trial_knows_the_variables_of_the_role_host(played: Path) -> None:
    reported, ended = json.loads((played / "reported").read_text())

    assert (ended["reason"], {*ended["failures"]}) == ("KeyError: 'trial_system'", {"plain", "tuned"})
    assert reported["facts"]["plain"] == [{}, []]
    assert reported["facts"]["tuned"] == [
        {"vm.swappiness": "60", "CPU governor": "not there", "/dev/nvme0n1": "RAID0 /dohyo noatime"},
        [
            "not as tuned: vm.swappiness 60 instead of 2",
            "not trimmed after a wipe: /dev/nvme0n1 (no discards): the flash may hold another system's data",
        ],
    ]
    assert {*reported["calls"]} == {"tuned"}
    (_, devices), (verb, settings) = reported["calls"]["tuned"]
    assert (devices["become"], devices["devices"], devices["label"]) == (True, ["/dev/nvme0n1"], "dohyo-012345")
    assert (verb, settings["become"], settings["state"]) == ("host_settings", True, "read")
    # The inventory's value overrides the role's.
    assert settings["settings"][0] == {"name": "vm.swappiness", "value": 2}
    assert settings["disks"][0]["kind"] == "nvme"
    assert settings["queue"]["scheduler"]["array"] == "none"
    assert (settings["limits"]["processes"], settings["kept"]) == (180000, "/var/lib/dohyo/settings.json")


# Program that records its arguments and exits as ssh does if the host is unreachable.
UNREACHABLE = '#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/words\nexit 255\n'


def play_that_starts_clients(tmp_path: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Returns a play that starts clients on a host that does not answer; also returns the variables of that host."""
    run = {"name": "run", "threads": 1, "warmup": "0", "duration": 1, "properties": {"recordcount": 10}}
    host = {
        "ansible_connection": "ssh", "ansible_host": "192.0.2.7", "ansible_user": "me", "ansible_port": 2222,
        "ansible_ssh_executable": str(tmp_path / "unreachable"),
        "ansible_ssh_private_key_file": "/keys/mine", "ansible_ssh_common_args": "-o ProxyJump=gate",
        "dohyo_python": "/opt/python", "dohyo_home": "/srv/dohyo", "host_cpus_client": "",
        "service_host": {"java_home": "/jdk"},
    }  # fmt: skip
    clients = {
        "clients_phases": [run], "clients_prefix": "", "clients_results": str(tmp_path / "results"),
        "clients_measured": True, "client_binding": "noop", "client_heap": "24m",
    }  # fmt: skip
    answer = {"content": "{{ [ansible_version.full, told.failures] }}", "dest": str(tmp_path / "started")}
    tasks: list[dict[str, Any]] = [
        # The inventory's database hosts are not part of this play.
        {"conduct": {"do": "clients"}, "register": "told", "run_once": True},
        {"copy": answer, "run_once": True, "delegate_to": "here"},
    ]
    return {"hosts": "client", "vars": clients, "tasks": tasks}, {"apart": host}


@pytest.mark.slow
def test_clients_are_started_as_the_inventory_says(played: Path, request: pytest.FixtureRequest) -> None:
    release, failures = json.loads((played / "started").read_text())
    assert [*failures] == ["apart"]
    assert "apart" in failures["apart"]
    argv = (played / "words").read_text().splitlines()
    assert argv[-2:] == ["192.0.2.7", "exec /srv/dohyo/bin/agent converse"]
    for option in ("ProxyJump=gate", "Port=2222", 'User="me"', 'IdentityFile="/keys/mine"', "ControlPath=none"):
        assert option in argv
    report = json.loads((played / "results/run-1/clients.json").read_text())
    assert (report["valid"], report["clients"]["apart"]["state"]) == (False, "vanished")

    lowest = re.findall(r'"ansible-core>=([\d.]+)', (ROOT / "analysis/pyproject.toml").read_text())
    highest = re.findall(r"^ansible-core==([\d.]+)", (ROOT / "analysis/requirements.txt").read_text(), re.MULTILINE)
    assert [release] == (lowest if "lowest" in request.node.name else highest)


PRIVATE = re.compile(
    r"_build_command|_resolve_option_variables|_play_context|dump_attrs|_ANSIBLE_|get_module_encoder"
    r"|_update_module_args|_parse_returned_data|_variable_manager|\._inventory|get_play\b|TaskExecutor"
    r"|_get_connection|_set_connection_options|_shared_loader_obj"
)


def test_private_names_of_ansible_are_in_one_file() -> None:
    files = [path for path in (ANSIBLE / "plugins").rglob("*.py") if PRIVATE.search(path.read_text())]
    assert [path.name for path in files] == ["ansible_private.py"]


@pytest.fixture(scope="module", params=[True, False], ids=["lowest", "highest"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs all plays in one call of ansible-playbook, and returns the folder with the answers."""
    folder = tmp_path_factory.mktemp("played")
    # Ansible before 2.19 checks whether sshpass is installed.
    programs = {"ssh": SSH, "sudo-here": SUDO, "sudo-far": SUDO, "sshpass": "#!/bin/sh\n", "unreachable": UNREACHABLE}
    for name, text in programs.items():
        (folder / name).write_text(text.format(folder=folder, name=name))
        (folder / name).chmod(0o755)
    (folder / "action_plugins").mkdir()
    for name, text in {"ask": ASK, "report": REPORT}.items():
        (folder / f"action_plugins/{name}.py").write_text(text)
    asks, reached = play_that_asks(folder)
    reports, reported = play_that_reports(folder)
    starts, started = play_that_starts_clients(folder)
    with pytest.MonkeyPatch.context() as environment:
        # The tests may run as root. Without this setting, Ansible would not use sudo to become the same user.
        environment.setenv("ANSIBLE_BECOME_ALLOW_SAME_USER", "true")
        folders = [ANSIBLE / "plugins", ANSIBLE / "plugins/action", ROOT / "analysis"]
        environment.setenv("PYTHONPATH", ":".join(map(str, folders)))
        environment.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        groups = {"reached": reached, "database": reported, "client": started}
        play_with(request.param, [asks, starts, reports], groups, folder)
    return folder
