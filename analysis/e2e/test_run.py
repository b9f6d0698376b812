"""Runs ./run.sh as users do, with very small servers: the table, failures, Ctrl-C, --resume.

Each core mix has at least one test in this folder. test_scenarios.py runs the other scenarios.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from dohyo.ansible import availability
from dohyo.places import ANSIBLE, LOCAL_HOME, ROOT
from dohyo.systems.catalogue import all_systems
from e2e.runs import LONG, SMALL, Run, find_processes, mix, options, shorten
from support.browser import browser, chromium

DOHYO = ROOT / ".venv/bin/dohyo"


def kill(service: str) -> None:
    """Kills a process that Dohyo started, as the kernel does when memory runs out."""
    for _ in range(300):
        # The pid file may still be that of the previous phase's client, or may not exist yet.
        for pid_file in (LOCAL_HOME / "run").glob(f"{service}*/pid"):
            pid = int((pid_file.read_text().split() or ["0"])[0])
            if pid in find_processes():
                os.kill(pid, signal.SIGKILL)
                return
        time.sleep(0.1)
    pytest.fail(f"{service} does not run")


def test_all_systems_come_out_in_one_table(tmp_path: Path) -> None:
    argv = [
        "--details",
        "--records=2000",
        "--set=verify=acknowledged",
        *options(preconditioning=2000, target=None, without="canary"),
    ]
    run = Run(tmp_path / "out", "workloadA", *argv)
    assert run.end() == 0
    trials = run.trials()
    reasons = {system: reason for system, reason in availability.ask(None).items() if not all_systems()[system].by_name}
    assert {system: (trial["status"], trial["reason"] or "") for system, trial in trials.items()} == {
        system: ("skipped" if reason else "ok", reason) for system, reason in reasons.items()
    }
    assert [system for system in ("cassandra", "hbase", "mysql-innodb") if reasons[system]] == []
    unequal = json.loads((run.out / "summary.json").read_text())["unequal"]
    assert set(unequal) <= (set() if reasons["aerospike"] else {"consistency"})
    for system, trial in trials.items():
        if reasons[system]:
            continue
        rows = {(row["phase"], row["operation"]): row for row in trial["rows"]}
        assert rows["load", "INSERT"]["records"] == 2000
        assert rows["run", "READ"]["errors"] == rows["run", "READ"]["not_found"] == 0
        assert rows["run", "UPDATE"]["operations"] > 0
        account = trial["accounting"]
        assert account["acknowledged"] >= rows["run", "UPDATE"]["operations"]
        assert account["reads"] >= rows["run", "READ"]["operations"]
        assert (account["keys"], account["unknown_reads"], account["stale_reads"], account["lost"]) == (2000, 0, 0, 0)
        assert all_systems()[system].title.split()[-1] in run.text
        names = {"cpu_one", "cpu_all", "memory", "disk_write", "disk_fsync", "disk_read"}
        assert {figure["name"] for figure in trial["canary"]["figures"]} == names
        assert trial["canary"]["problems"] == []
        assert [(use["phase"], use["host"]) for use in trial["hosts"]] == [("load", "localhost"), ("run", "localhost")]
        # A load of a few rows may be too short to be sampled.
        used = [use for use in trial["hosts"] if use["phase"] == "run"]
        assert all(0 < use["figures"]["cpu_user"]["mean"] <= 1 and use["devices"] for use in used)
        assert rows["run", "OVERALL"]["server_cpu_us_per_record"] > 0
        assert rows["run", "OVERALL"]["client_cpu_us_per_record"] > 0
        for evidence in (
            "trial.json",
            "ansible.log",
            "canary.json",
            "conditions.json",
            "load",
            "precondition-1",
            "run-1",
        ):
            assert (run.out / "raw" / trial["name"] / evidence).exists(), evidence
        # The evidence contains the file that explains the figures, so that other checkouts can read them.
        figures = run.out / "raw" / trial["name"] / "server/figures.yml"
        assert figures.read_bytes() == (ANSIBLE / "systems" / all_systems()[system].role / "figures.yml").read_bytes()
    assert re.search(r"accounting +0 stale of [\d,]+ reads, 0 lost of [\d,]+ acknowledged", run.text)
    assert "hosts before each trial: " in run.text
    assert f"dohyo show {run.out}\n" in run.text
    assert run.text.splitlines()[-1] == f"a page with charts: {run.out / 'report.html'}"
    assert (run.out / "summary.csv").exists()
    assert (run.out / "hosts.csv").exists()
    assert (run.out / "summary.md").exists()
    assert json.loads((run.out / "experiment.json").read_text())["status"] == "done"
    subprocess.run([DOHYO, "report", run.out, "--figures"], check=True)
    page = (run.out / "report.html").read_text()
    measured = [system for system in trials if not reasons[system]]
    assert all(f"raw/{trials[system]['name']}/" in page for system in measured)
    assert (run.out / "figures" / "ranking.svg").stat().st_size > 0


def test_a_dead_server_and_ctrl_c_cost_only_their_trials_and_resume_repeats_them(tmp_path: Path) -> None:
    run = Run(tmp_path / "out", "workloadE", "--systems=mysql-innodb,mysql-myisam", *LONG)
    run.until("run", "01-mysql-innodb")
    kill("mysql")
    run.until("run", "02-mysql-myisam")
    run.signal(signal.SIGINT)
    run.until_interrupted("02-mysql-myisam")
    time.sleep(0.5)
    run.signal(signal.SIGINT)
    assert run.end() == 130
    assert "already stopping the servers" in run.text
    assert "--resume" in run.text
    trials = run.trials()
    innodb, myisam = trials["mysql-innodb"], trials["mysql-myisam"]
    assert (innodb["status"], myisam["status"]) == ("failed", "interrupted")
    assert "run-1: the client on localhost failed: " in innodb["reason"]
    assert "mysql ended with exit code 137" in innodb["reason"]
    assert "by SIGINT while in run 1 of 1" in myisam["reason"]
    # The loads of the first attempt were valid, so they are kept.
    assert any(row["operation"] == "INSERT" for row in innodb["rows"])

    # Shorten the experiment's copy of the scenario, because a different scenario file would mean a new experiment.
    shorten(run.out)
    again = Run(run.out, "--resume", str(run.out))
    assert again.end() == 0
    assert [mix(trial) for trial in again.trials().values()] == [{"SCAN", "INSERT"}] * 2
    assert sorted(path.name for path in (run.out / "attempts").iterdir()) == ["01-mysql-innodb.1", "02-mysql-myisam.1"]
    assert not (LOCAL_HOME / "data/dohyo/mysql").exists()

    done = Run(run.out, "--resume", str(run.out))
    assert done.end() == 0
    assert "all trials" in done.text


@pytest.mark.everyday
def test_taken_ports_are_avoided_a_second_run_waits_and_what_was_named_must_be_had(tmp_path: Path) -> None:
    reason = availability.ask(None)["scylla"]
    named = "mysql-innodb,scylla" if reason else "mysql-innodb"
    with contextlib.ExitStack() as sockets:
        with contextlib.suppress(OSError):  # another program may have taken the port
            sockets.enter_context(socket.create_server(("127.0.0.1", 3306)))
        run = Run(tmp_path / "out", "workloadD", f"--systems={named}", *SMALL)
        run.until("start", "01-mysql-innodb")
        second = Run(tmp_path / "second", "workloadA", *SMALL)
        assert second.end() == 2
        assert "another experiment of this checkout is running" in second.text
        assert run.end() == (1 if reason else 0)
    trials = run.trials()
    assert mix(trials["mysql-innodb"]) == {"READ", "INSERT"}
    if reason:
        assert (trials["scylla"]["status"], trials["scylla"]["reason"]) == ("skipped", reason)
    # The exit code is 1 if a system was not measured.
    assert subprocess.run([DOHYO, "report", run.out], check=False).returncode == (1 if reason else 0)
    if chromium():
        with browser(tmp_path / "profile") as chrome:
            chrome.open(run.out / "report.html")
            chrome.wait("document.documentElement.dataset.drawn === 'yes'")
            assert chrome.errors == []


def test_kept_servers_of_the_last_round_answer_and_what_they_cannot_give_is_marked(tmp_path: Path) -> None:
    argv = ("workloadF", "--systems=mysql-innodb", "--set=compression=lz4", "--keep", "--details", "--records=2000")
    run = Run(tmp_path / "out", *argv, *options(rounds=2))
    try:
        assert run.end() == 0
        summary = json.loads((run.out / "summary.json").read_text())
        assert [(trial["name"], trial["round"], mix(trial)) for trial in summary["trials"]] == [
            (f"0{number}-mysql-innodb", number, {"READ", "UPDATE", "READ-MODIFY-WRITE"}) for number in (1, 2)
        ]
        assert "compression: requested 'lz4', but the server has 'none'" in run.text
        (merged,) = summary["merged"]
        rows = {(row["phase"], row["operation"]): row for row in merged["rows"]}
        assert rows["run", "READ"]["repeats"] == 2
        assert rows["load", "INSERT"]["records"] == 4000
        assert "Rounds" in run.text
        (line,) = [line for line in run.text.splitlines() if "keeps running at " in line]
        endpoint, _, command = line.partition("keeps running at ")[2].partition("; stop it with: ")
        host, _, port = endpoint.rpartition(":")
        socket.create_connection((host, int(port)), timeout=5).close()
        # A run on attached servers must not stop these servers.
        process = Path("/proc") / (LOCAL_HOME / "run/mysql/pid").read_text().split()[0]
        attached = Run(
            tmp_path / "attached", "workloadA", "--attach=mysql-innodb=127.0.0.1:1", "--yes", "--records=1000"
        )
        assert attached.end() == 1
        assert "has kept servers running there" in " ".join(attached.text.split())
        assert process.exists()
    finally:
        command = f"cd {shlex.quote(str(ROOT / 'ansible'))} && ../.venv/bin/ansible-playbook stop.yml"
        assert command in run.text
        subprocess.run(["bash", "-c", command], check=True, capture_output=True)
    assert not process.exists()


def test_what_a_server_or_the_jdk_does_not_have_is_refused_in_its_own_words(tmp_path: Path) -> None:
    argv = (
        "--systems=cassandra,mysql-myisam",
        "--set=cassandra_gc=CMS",
        "--set=compression=lz4",
        "--strict-conditions",
    )
    run = Run(tmp_path / "out", "workloadF", *argv, *SMALL)
    assert run.end() == 1
    cassandra, myisam = run.trials().values()
    assert (cassandra["status"], myisam["status"]) == ("failed", "failed")
    assert "starting the servers: task '" in cassandra["reason"]
    assert "JDK 17" in cassandra["reason"]
    assert "Unrecognized VM option 'UseConcMarkSweepGC'" in cassandra["reason"]
    assert "compression: requested 'lz4', but the server has 'none'; not measured" in myisam["reason"]
    assert myisam["rows"] == []
