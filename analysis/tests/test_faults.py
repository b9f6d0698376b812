"""Tests which faults a scenario may request, and what the agent does to real processes."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dohyo.bad_input import BadInputError
from dohyo.scenario import contradictions, faults, loading
from dohyo.scenario.faults import Fault, check_place, on_hosts, parse, plain
from dohyo.trial.measurement import events_of
from support.agent_home import MODULES, install
from support.running_processes import await_end, start_of, until

HOSTS = ["a", "b", "c"]
UPDATES = {"updateproportion": "1", "readproportion": "0", "recordcount": "10", "systems": "cassandra"}

# ---- Faults of a scenario ----


def test_faults_are_in_the_order_of_their_times() -> None:
    assert parse("start(node2)@1m,  kill( node2 )@20s") == [Fault("kill", "node2", 20), Fault("start", "node2", 60)]
    assert plain("start(node2+seed)@1.5m,kill(node2 + seed)@20") == "kill(node2+seed)@20s, start(node2+seed)@90s"
    assert parse(plain("none")) == parse("none") == []
    assert plain("kill(a)@12345.678s, start(a)@1000000s") == "kill(a)@12345.678s, start(a)@1000000s"
    assert plain("pause(a)@0.00001") == "pause(a)@0.00001s"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must be faults such as"),
        ("kill(node2)", "'kill(node2)' must read KIND(TARGET)@TIME"),
        ("kill(node2)@60s start(node2)@80s", "must read KIND(TARGET)@TIME"),
        ("kil(node2)@60s", "unknown fault 'kil': did you mean kill?"),
        ("kill(node2)@soon", "'soon' must be a time in the measured window"),
        ("kill()@60s", "must name any, seed, leader, nodeN"),
        ("kill(node2+node2)@60s", "a host is named twice"),
        ("kill(node2|node1)@60s", "only a partition has groups of hosts; join hosts with +"),
        ("partition(node2|node1+node2)@60s", "a host is named twice"),
        ("slow(node2, 5m)@60s", "'5m' is not a number of bytes per second, such as 500kB or 1MB"),
        ("slow(node2,)@60s", "'' is not a number of bytes per second"),
        ("slow(node2, 0MB)@60s", "'0MB' is not a number of bytes per second"),
        ("pause(node2, 1MB)@60s", "only slow has a rate; join hosts with +"),
        ("heal@60s", "there is no earlier fault that it ends; add a partition before it"),
        ("partition(any)@60s, heal(any)@80s", "heal ends all partitions and has no target; write heal@80s"),
        ("start(node2)@60s", "there is no earlier fault that it ends; add a kill or stop"),
        ("kill(node2)@60s, resume(node2)@80s", "there is no earlier fault that it ends; add a pause before it"),
    ],
)
def test_what_is_not_understood_is_named(text: str, why: str) -> None:
    with pytest.raises(BadInputError) as refused:
        parse(text)
    assert why in str(refused.value)


def test_targets_are_hosts_by_number_name_or_role() -> None:
    def named(target: str, role: str = "mysql") -> Any:
        return on_hosts(f"kill({target})@1s", HOSTS, role)[0]["hosts"]

    assert named("node3") == named("c") == ["c"]
    assert named("seed") == named("leader") == ["a"]
    assert named("any") == ["b"]
    assert on_hosts("kill(any)@1s", ["alone"], "cassandra")[0]["hosts"] == ["alone"]
    assert named("node1+node3") == ["a", "c"]
    for target, role, why in (
        ("node4", "mysql", "node4: not a database host; use a, b, c or node1 to node3"),
        ("leader", "cassandra", "cassandra has no leader, as all nodes are equal"),
        ("a+seed", "mysql", "a host is named twice: a, a"),
    ):
        with pytest.raises(BadInputError) as refused:
            named(target, role)
        assert why in str(refused.value)


def test_a_partition_is_between_groups_or_one_and_all_others() -> None:
    def groups(text: str) -> list[Any]:
        return [fault["groups"] for fault in on_hosts(text, HOSTS, "cassandra")]

    assert plain("partition( node2 | node1+c )@1, heal()@2s") == "partition(node2|node1+c)@1s, heal@2s"
    assert groups("partition(node2|node1+c)@1s, heal@2s") == [[["b"], ["a", "c"]], [["b", "a", "c"]]]
    assert groups("partition(a|b)@1s, heal@2s") == [[["a"], ["b"]], [["a", "b"]]]
    assert groups("partition(any)@1s, heal@2s") == [[["b"], ["a", "c"]], [["b", "a", "c"]]]
    with pytest.raises(BadInputError, match=r"partition\(any\)@1s: it names all hosts"):
        check_place(parse("partition(any)@1s"), "mysql", 1)
    with pytest.raises(BadInputError, match=r"heal@3s: there is no partition at that time"):
        check_place(parse("partition(any)@1s, heal@2s, heal@3s"), "mysql", 2)
    by_host = events_of(on_hosts("partition(a|b)@1s", HOSTS, "x"), "b", {"a": "10.0.0.1", "b": "10.0.0.2"})
    assert by_host == [{"n": 0, "kind": "partition", "at": 1, "rate": None, "apart": ["10.0.0.1"]}]


def test_a_slow_server_has_a_rate() -> None:
    assert plain("slow(b)@1s, normal(b)@2, slow( b+c,500kB )@3") == (
        "slow(b, 1MB)@1s, normal(b)@2s, slow(b+c, 500kB)@3s"
    )
    assert plain(plain("slow(b, 2GB)@1s")) == "slow(b, 2GB)@1s"
    requests = on_hosts("slow(b)@1s, normal(b)@2, slow(b+c, 500kB)@3", HOSTS, "cassandra")
    assert [request["rate"] for request in requests] == [10**6, None, 5 * 10**5]
    [event] = events_of(requests, "c", dict.fromkeys(HOSTS, ""))
    assert (event["kind"], event["rate"], requests[2]["hosts"]) == ("slow", 5 * 10**5, ["b", "c"])


def test_faults_that_cannot_be_are_refused_before_anything_starts() -> None:
    kill = parse("kill(node2)@1s")
    check_place(kill, "mysql", 2)
    with pytest.raises(BadInputError, match=r"there is no node2: there is one database host; node1 is the first"):
        check_place(kill, "mysql", 1)
    with pytest.raises(BadInputError, match=r"not possible on attached servers"):
        check_place(kill, "mysql", 2, attached=True)
    with pytest.raises(BadInputError, match=r"fill\(any\)@1s: this machine allows only.*name hosts with --inventory"):
        check_place(parse("fill(any)@1s"), "mysql", 1, local=True)
    with pytest.raises(BadInputError, match=r"leader: cassandra has no leader"):
        check_place(parse("kill(leader)@1s"), "cassandra", 4)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "kill(node2)@60s, start(node3)@90s",
            r"^start\(node3\)@90s: node3 has no fault to end \(earlier: kill\(node2\)@60s\); name",
        ),
        ("kill(any)@60s, start(node2+seed)@90s", r"node1 has no fault to end \(earlier: kill\(any\)@60s\)"),
        ("kill(b)@60s, start(c)@90s", r"c has no fault to end \(earlier: kill\(b\)@60s\)"),
        (
            "power(any)@1s, partition(seed)@2s",
            r"^partition\(seed\)@2s: node2 is off at that time \(power\(any\)@1s\); start it",
        ),
        (
            "slow(any)@1s, power(node2)@2s",
            r"^power\(node2\)@2s: switching node2 off would end slow\(any, 1MB\)@1s; end",
        ),
        ("power(any)@1s, kill(node2)@2s", r"^kill\(node2\)@2s: node2 is off at that time"),
        (
            "partition(any)@1s, power(any)@2s, heal@3s",
            r"^power\(any\)@2s: .* would end partition\(any\)@1s; .* \(heal\)",
        ),
        ("partition(any)@1s, heal@2s, power(seed)@3s, partition(any)@4s", r"^partition\(any\)@4s: node1 is off at"),
        (
            "stop(node2)@1s, start(node2)@2s, start(node2)@3s",
            r"^start\(node2\)@3s: node2 has no fault to end \(earlier: stop\(node2\)@1s, start\(node2\)@2s\)",
        ),
    ],
)
def test_what_ends_a_fault_is_for_the_same_hosts(text: str, why: str) -> None:
    with pytest.raises(BadInputError, match=why):
        check_place(parse(text), "mysql", 4)
    check_place(parse("kill(any+node3)@60s, start(node2)@90s, start(node3)@91s"), "mysql", 4)
    check_place(parse("kill(seed)@60s, start(any)@90s"), "mysql", 1)
    check_place(parse("kill(any)@1s, power(any)@2s, kill(seed)@3s, start(any+seed)@4s, power(any)@5s"), "mysql", 4)


def test_names_of_hosts_are_known_when_the_trial_begins() -> None:
    check_place(parse("kill(b)@60s, start(node3)@90s"), "mysql", 3)
    with pytest.raises(BadInputError, match=r"start\(node3\)@90s: c has no fault to end \(earlier: kill\(b\)"):
        on_hosts("kill(b)@60s, start(node3)@90s", HOSTS, "mysql")
    assert [fault["hosts"] for fault in on_hosts("kill(b)@60s, start(any)@90s", HOSTS, "mysql")] == [["b"], ["b"]]


def scenario(tmp_path: Path, **values: str) -> Any:
    file = tmp_path / "scenario"
    file.write_text("".join(f"{key}={value}\n" for key, value in {**UPDATES, **values}.items()))
    return loading.load(file, {})


def test_a_fault_is_within_the_window(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"kill\(any\)@30s: the window ends after 30 s"):
        scenario(tmp_path, faults="kill(any)@30s", duration="30s")
    with pytest.raises(BadInputError, match=r"set duration=60s"):
        scenario(tmp_path, faults="kill(any)@30s", duration="0", operationcount="1000")
    with pytest.raises(BadInputError, match=r"leave one out"):
        scenario(tmp_path, faults="kill(any)@3s", duration="30s", search="max", slo="p99<10ms")
    with pytest.raises(BadInputError, match=r"insert\.faults: the load ends .* set faults without a phase"):
        scenario(tmp_path, **{"insert.faults": "kill(any)@3s"})


def test_with_faults_a_client_goes_on_and_what_fails_is_a_result(tmp_path: Path) -> None:
    run = scenario(tmp_path, faults="kill(any)@3s", duration="300s").of("run")
    assert (run["maxerrorrate"], run["maxnotfoundrate"], run["stalltime"]) == ("1", "1", "300")
    assert "faults" not in run.client_properties
    assert scenario(tmp_path, faults="kill(any)@3s", duration="30s").of("run")["stalltime"] == "60"
    assert scenario(tmp_path, duration="300s").of("run")["stalltime"] == "60"
    variants = {"variant.calm.faults": "none", "variant.ill.faults": "kill(any)@3s,start(any)@5s"}
    several = scenario(tmp_path, duration="30s", **{"matrix.variant": "calm,ill", **variants})
    assert [point["faults"] for _, point in several.points] == ["none", "kill(any)@3s, start(any)@5s"]


def test_attached_systems_have_no_faults(tmp_path: Path) -> None:
    faulted = scenario(tmp_path, faults="kill(any)@3s", duration="30s")
    contradictions.check_faults_at(faulted, 1, (), local=True)
    with pytest.raises(BadInputError, match=r"not possible on attached servers"):
        contradictions.check_faults_at(faulted, 1, ("cassandra",), local=True)


def test_the_program_knows_all_kinds() -> None:
    program = (MODULES / "faults.py").read_text(encoding="utf-8")
    # Only the controller switches hosts off and on, so the agent has no such function.
    assert [kind for kind in faults.KINDS if f"def _{kind}(" not in program] == [faults.POWER]


# ---- Faults of real processes ----

# A server whose child works, like a PostgreSQL backend. The server and its child each write a line every few ms.
BEAT = """
import time
while True:
    print("beat", flush=True)
    time.sleep(0.005)
"""
SERVER = f"""
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {BEAT!r}], stdout=open("child", "a"))
signal.signal(signal.SIGTERM, lambda *_: (child.terminate(), sys.exit()))
{BEAT}
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    install(tmp_path)
    service(tmp_path, "start", "db", tmp_path, "out", "err", sys.executable, "-c", SERVER)
    service(tmp_path, "ready", "db", "60", "grep", "-q", "beat", tmp_path / "out", tmp_path / "child")
    yield tmp_path
    subprocess.run([tmp_path / "bin/agent", "faults", "undo"], check=True)
    service(tmp_path, "stop-all", "5")


def service(home: Path, *arguments: Any) -> str:
    done = subprocess.run([home / "bin/agent", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or arguments[0] == "status", done.stderr
    return done.stdout


def serve(home: Path, *events: tuple[str, float]) -> Path:
    listed = [{"n": n, "kind": kind, "at": second} for n, (kind, second) in enumerate(events)]
    plan = {"role": "db", "spared": ["db-keys"], "unit": "", "patience": 20, "events": listed}
    subprocess.run([home / "bin/agent", "faults", "serve", "here"], input=json.dumps(plan), text=True, check=True)
    return home / "run/fault-here"


def begin(folder: Path, seconds: float, agent: int | None = None) -> float:
    """Writes the pid of the agent, and the times of a window that begins in 0.1 s."""
    pid = agent or os.getpid()
    (folder / "agent").write_text(f"{pid} {start_of(pid)}\n")
    began = time.time() + 0.1
    (folder / "window.new").write_text(f"{began} {began + seconds}\n")
    (folder / "window.new").rename(folder / "window")
    return began


def done(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "done.jsonl").read_text().splitlines()]


def is_whole(folder: Path) -> bool:
    return any("whole" in entry for entry in done(folder))


def beats(home: Path) -> tuple[int, int]:
    return (home / "out").stat().st_size, (home / "child").stat().st_size


def stands_still(home: Path) -> bool:
    before = beats(home)
    time.sleep(0.2)
    return beats(home) == before


def works(home: Path) -> bool:
    before = beats(home)
    time.sleep(0.2)
    return all(now > then for now, then in zip(beats(home), before, strict=True))


@pytest.mark.slow
def test_a_server_is_killed_with_its_children_and_started_as_it_was(home: Path) -> None:
    service(home, "start", "db-keys", home, "keys", "keys", "sleep", "60")
    spared = service(home, "status", "db-keys")
    # On a busy machine, the checks between the two faults take seconds.
    folder = serve(home, ("kill", 0.3), ("start", 6))
    began = begin(folder, 6.3)
    until(lambda: len(done(folder)) == 1)
    assert "exit code 137" in service(home, "status", "db")
    assert stands_still(home)
    until(lambda: is_whole(folder))
    kill, start, whole = done(folder)
    assert began + 0.3 <= kill["began"] <= kill["done"] < began + 6
    assert "SIGKILL to db (process " in kill["what"]
    assert began + 6 <= start["began"] < began + 9
    assert (kill["error"], start["error"]) == (None, None)
    assert whole["whole"] >= began + 6.3
    until(lambda: works(home))
    assert (home / "err.1").exists()  # the log of the killed process
    assert "beat" in (home / "out.1").read_text()
    assert "db-keys" not in f"{kill['what']} {start['what']}"
    assert service(home, "status", "db-keys") == spared


@pytest.mark.slow
def test_after_a_boot_servers_start_when_the_controller_is_there_and_faults_go_on(home: Path) -> None:
    folder = home / "run/fault-here"
    folder.mkdir()
    events = [("pause", -2), ("power", -1), ("start", -0.5), ("pause", 1), ("resume", 1.2)]  # the window begins at 0
    listed = [{"n": n, "kind": kind, "at": second} for n, (kind, second) in enumerate(events)]
    plan = {"role": "db", "servers": ["db"], "unit": "", "patience": 20, "events": listed}
    (folder / "plan").write_text(json.dumps(plan))
    (folder / "done.jsonl").touch()
    # After a boot, the paused processes and the agent no longer exist.
    (folder / "changed").write_text(json.dumps({"pause": [[1, 0]]}))
    (folder / "agent").write_text("1 0\n")
    (folder / "window").write_text(f"{time.time() + 100} {time.time() + 200}\n")  # on the clock before the boot
    service(home, "stop", "db", 0)
    booted = subprocess.Popen([home / "bin/agent", "faults", "boot", "here"])
    time.sleep(0.5)
    assert "ended" in service(home, "status", "db")
    (folder / "window").unlink()  # the agent also removes this file
    begin(folder, 2)
    until(lambda: is_whole(folder))
    assert [(entry["n"], entry["kind"], entry["error"]) for entry in done(folder)[:-1]] == [
        (2, "start", None), (3, "pause", None), (4, "resume", None),
    ]  # fmt: skip
    assert booted.wait(60) == 0
    until(lambda: works(home))


def test_what_the_scenario_does_not_undo_the_end_of_the_window_does(home: Path) -> None:
    # On a busy machine the start takes seconds. Before its end there is no process to pause.
    folder = serve(home, ("stop", 0.1), ("start", 0.2), ("pause", 4.0), ("kill", 4.2))
    begin(folder, 4.7)
    until(lambda: is_whole(folder))
    assert [(entry["n"], entry["kind"], entry["error"]) for entry in done(folder)[:-1]] == [
        (0, "stop", None), (1, "start", None), (2, "pause", None), (3, "kill", None),
        (None, "resume", None), (None, "start", None),
    ]  # fmt: skip
    stop, start = done(folder)[:2]
    assert start["began"] >= stop["done"]
    until(lambda: works(home))


@pytest.mark.slow
def test_a_paused_server_stands_still_with_its_children_until_it_is_resumed(home: Path) -> None:
    folder = serve(home, ("pause", 0.1), ("resume", 4.0))
    begin(folder, 4.2)
    until(lambda: len(done(folder)) == 1)
    assert stands_still(home)
    until(lambda: is_whole(folder))
    until(lambda: works(home))
    assert [entry["error"] for entry in done(folder)[:-1]] == [None, None]


@pytest.mark.parametrize("end", ["agent", "stop"])
def test_nothing_stays_paused_when_a_run_breaks_off(home: Path, end: str) -> None:
    with subprocess.Popen(["sleep", "60"]) as agent:
        folder = serve(home, ("pause", 0.1), ("resume", 50))
        begin(folder, 60, agent.pid)
        until(lambda: len(done(folder)) == 1)
        assert stands_still(home)
        if end == "stop":
            output = subprocess.run(
                [home / "bin/agent", "faults", "undo"], capture_output=True, text=True, check=True
            ).stdout
            assert "undone: SIGCONT to 1 process" in output
            assert not folder.exists()
        agent.send_signal(signal.SIGKILL)
    if end == "agent":
        until(lambda: len(done(folder)) == 2)
        assert done(folder)[1]["kind"] == "resume"
    until(lambda: works(home))


# Begins to serve a plan, and is killed before it has recorded the pid of the process that carries it out.
DYING = """
import os
import faults, processes
fork = os.fork
def noted():
    if pid := fork():
        print(pid, flush=True)
        os.kill(os.getpid(), 9)
os.fork = noted
faults.main(processes.Processes(), "serve", "here")
"""


def test_no_plan_is_carried_out_by_a_process_that_nobody_can_find(home: Path) -> None:
    plan = {"role": "db", "spared": [], "unit": "", "patience": 60, "events": [{"n": 0, "kind": "pause", "at": 0.1}]}
    modules = {**os.environ, "PYTHONPATH": str(home / "bin/modules")}
    argv = [sys.executable, "-c", DYING]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=modules) as dying:
        assert dying.stdin
        assert dying.stdout
        dying.stdin.write(json.dumps(plan))
        dying.stdin.close()
        child = int(dying.stdout.readline())
    try:
        await_end(child)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def test_what_a_process_has_left_that_was_killed_while_it_wrote_is_removed(home: Path) -> None:
    folder = serve(home)
    killed(folder)
    (folder / "changed.123.new").touch()
    service(home, "faults", "undo")
    assert not folder.exists()


def test_a_fault_that_cannot_be_undone_keeps_no_other_one(home: Path) -> None:
    folder = serve(home, ("pause", 0.1))
    begin(folder, 60)
    until(lambda: len(done(folder)) == 1)
    killed(folder)
    changed = json.loads((folder / "changed").read_text())
    (folder / "changed").write_text(json.dumps({"partition": ["10.0.0.9"], **changed}))

    def undo(nft: str) -> tuple[int, str]:
        (home / "nft").write_text(f"#!/bin/sh\n{nft}\n")
        (home / "nft").chmod(0o755)
        path = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}"}
        agent: list[str | Path] = [home / "bin/agent", "faults", "undo"]
        result = subprocess.run(agent, env=path, capture_output=True, text=True, check=False)
        return result.returncode, result.stderr

    assert stands_still(home)
    assert undo("echo no permission >&2; exit 1") == (1, "ERROR: faults are not undone: no permission\n")
    until(lambda: works(home))
    assert json.loads((folder / "changed").read_text()) == {"partition": ["10.0.0.9"]}
    assert undo("exit 0") == (0, "")
    assert not folder.exists()


def test_a_fault_that_cannot_be_is_said_and_the_next_ones_are_done(home: Path) -> None:
    folder = serve(home, ("kill", 0.1), ("pause", 0.3), ("start", 0.5))
    begin(folder, 1)
    until(lambda: is_whole(folder))
    assert [entry["error"] for entry in done(folder)[:-1]] == [None, "no process of db runs here", None]
    until(lambda: works(home))


# ---- Faults that need root ----


@contextlib.contextmanager
def apart(home: Path, kind: str) -> Iterator[Callable[..., str]]:
    """Yields a function that runs a program in a separate namespace of the kind "net" or "mount"."""
    with subprocess.Popen(["unshare", f"--{kind}", "sleep", "60"]) as keeper:
        until(lambda: Path(f"/proc/{keeper.pid}/comm").read_text() == "sleep\n")

        def run(*argv: Any, stdin: Any = "") -> str:
            within = ["nsenter", f"--target={keeper.pid}", f"--{kind}", *map(str, argv)]
            done = subprocess.run(within, input=json.dumps(stdin), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        try:
            yield run
        finally:
            keeper.kill()


def killed(folder: Path) -> None:
    """Kills the process that executes the faults, so that it cannot undo them."""
    pid = int((folder / "pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    await_end(pid)


# Program that prints whether one address of the namespace can connect to the other.
ANSWERS = """
import socket
with socket.create_server(("10.9.9.1", 7)) as server:
    try:
        socket.create_connection(("10.9.9.1", 7), 0.5, ("10.9.9.2", 0))
        print("yes")
    except TimeoutError:
        print("no")
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("nft"), reason="needs root and nft")
def test_parted_hosts_get_no_answer_and_do_again_when_it_is_undone(home: Path) -> None:
    with apart(home, "net") as run:
        for arguments in ("link set lo up", "address add 10.9.9.1/32 dev lo", "address add 10.9.9.2/32 dev lo"):
            run("ip", *arguments.split())
        plan = {"role": "db", "spared": [], "unit": "", "patience": 20, "folders": []}
        assert run(home / "bin/agent", "faults", "check", "partition", stdin=plan) == run("nft", "list", "tables") == ""
        assert run(sys.executable, "-c", ANSWERS) == "yes\n"
        event = {"n": 0, "kind": "partition", "at": 0.1, "apart": ["10.9.9.1", "2001:db8::1"]}
        run(home / "bin/agent", "faults", "serve", "here", stdin={**plan, "events": [event]})
        folder = home / "run/fault-here"
        begin(folder, 50)
        until(lambda: done(folder))
        assert done(folder)[0]["error"] is None
        assert run(sys.executable, "-c", ANSWERS) == "no\n"
        # The rule expires after a minute if nothing removes it.
        [seconds] = re.findall(r"10\.9\.9\.1 timeout 1m expires (\d+)s", run("nft", "list", "ruleset"))
        assert int(seconds) < 60
        killed(folder)
        assert "undone: accepting packets from 10.9.9.1, 2001:db8::1 again" in run(home / "bin/agent", "faults", "undo")
        assert run(sys.executable, "-c", ANSWERS) == "yes\n"
        assert run("nft", "list", "tables") == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a file system")
def test_a_full_disk_has_room_again_however_the_program_ends(home: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with apart(home, "mount") as run:
        plan = {"role": "db", "spared": [], "unit": "", "patience": 20, "folders": [str(disk)]}
        assert "has no file system of its own" in run(home / "bin/agent", "faults", "check", "fill", stdin=plan)
        run("mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", disk)
        assert run(home / "bin/agent", "faults", "check", "fill", stdin=plan) == ""

        def free() -> int:
            blocks, size = map(int, run("stat", "--file-system", "--format=%a %S", disk).split())
            return blocks * size >> 20

        events = [
            {"n": n, "kind": kind, "at": when}
            for n, (kind, when) in enumerate([("fill", 0.1), ("free", 2), ("fill", 4)])
        ]
        run(home / "bin/agent", "faults", "serve", "here", stdin={**plan, "events": events})
        folder = home / "run/fault-here"
        begin(folder, 50)
        for has_ended in (lambda: free() < 2, lambda: free() > 48, lambda: free() < 2):
            until(has_ended)
        until(lambda: len(done(folder)) == 3)
        assert [entry["error"] for entry in done(folder)] == [None] * 3
        killed(folder)
        assert free() > 48
        assert "undone: freed the space on the disks of" in run(home / "bin/agent", "faults", "undo")
        assert run("ls", "-A", disk) == ""


def io_max(unit: str) -> str:
    return Path(f"/sys/fs/cgroup/system.slice/{unit}/io.max").read_text(encoding="ascii")


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/run/systemd/system").exists(), reason="needs root and systemd")
def test_a_slow_unit_is_normal_again_however_the_program_ends(home: Path, tmp_path: Path) -> None:
    plan = {"role": "slow", "spared": [], "unit": "", "patience": 20, "folders": [str(tmp_path)]}

    def run(*arguments: Any, stdin: Any = "") -> str:
        argv = list(map(str, arguments))
        return subprocess.run(argv, input=json.dumps(stdin), stdout=subprocess.PIPE, text=True, check=True).stdout

    check = (home / "bin/agent", "faults", "check", "slow")
    assert "needs systemd units; set dohyo_systemd: true" in run(*check, stdin=plan)
    if why := run(*check, stdin={**plan, "unit": "dohyo-test-fault.service"}):
        pytest.skip(why)
    unit, file = f"dohyo-test-{os.getpid()}.service", tmp_path / "written"
    writes = f"while :; do dd if=/dev/zero of={file} bs=16k count=1 oflag=append,dsync conv=notrunc; done"
    run("systemd-run", "--quiet", "--collect", f"--unit={unit}", "sh", "-c", writes)
    try:
        folder = home / "run/slow"
        folder.mkdir()
        (folder / "command").touch()
        (folder / "unit").write_text(f"{unit} of this test\n")
        event = {"n": 0, "kind": "slow", "at": 0.1, "rate": 32_000}
        run(home / "bin/agent", "faults", "serve", "here", stdin={**plan, "events": [event]})
        begin(home / "run/fault-here", 50)
        until(lambda: done(home / "run/fault-here"))
        assert done(home / "run/fault-here")[0]["error"] is None
        assert "rbps=32000 wbps=32000" in io_max(unit)
        began, size = time.monotonic(), file.stat().st_size
        until(lambda: file.stat().st_size - size > 100_000)
        assert time.monotonic() - began > 1
        killed(home / "run/fault-here")
        timer = f"{unit.removesuffix('.service')}-normal.timer"
        assert timer in run("systemctl", "list-timers", "--no-legend")
        assert f"undone: removed the read and write limits of {unit}" in run(home / "bin/agent", "faults", "undo")
        assert io_max(unit) == ""
        assert timer not in run("systemctl", "list-timers", "--no-legend")
        size = file.stat().st_size
        until(lambda: file.stat().st_size - size > 20 * 32_000)
        assert not Path(f"/run/systemd/system.control/{unit}.d").exists()
    finally:
        run("systemctl", "stop", unit)
